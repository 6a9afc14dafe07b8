//! Packets as bytes, for what looks into them: tunnels, and capture files.
//!
//! Payloads are zeros, but for the mark by which a traffic generator knows its datagrams again ([`UdpMark`]). What comes out of
//! a tunnel is read back by [`decode`], so a mark of congestion or a smaller MSS that the tunnel wrote into a packet counts.

use crate::packet::{
    Body, ECHO_HEADERS, Ecn, FlowId, IP_HEADER, Packet, UDP_HEADERS, UDP_MARK, UdpMark, protocol,
};
use crate::tcp::{self, Segment};
use ropewalk_air::Time;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Writes a packet to `out`, which is cleared before.
pub fn encode(packet: &Packet, out: &mut Vec<u8>) {
    out.clear();
    if let Body::Tcp(segment) = &packet.body {
        return encode_tcp(packet, segment, out);
    }
    out.resize(packet.len as usize, 0);
    ip_header(packet, out);
    let (ports, rest) = ((packet.sport.to_be_bytes(), packet.dport.to_be_bytes()), IP_HEADER as usize);
    match &packet.body {
        Body::Tcp(_) => {}
        Body::Udp(mark) => {
            udp_header(packet, ports, &mut out[rest..]);
            write_mark(mark, &mut out[UDP_HEADERS as usize..]);
        }
        Body::Datagram => {
            udp_header(packet, ports, &mut out[rest..]);
            out[UDP_HEADERS as usize..].copy_from_slice(&packet.bytes);
        }
        Body::Echo { request, seq, sent } => {
            let icmp = &mut out[rest..];
            icmp[0] = if *request { 8 } else { 0 };
            icmp[4..6].copy_from_slice(&ports.1);
            icmp[6..8].copy_from_slice(&(*seq as u16).to_be_bytes());
            write_mark(&UdpMark { seq: *seq, tag: 0, sent: *sent }, &mut icmp[8..]);
            let sum = checksum(icmp);
            icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

fn encode_tcp(packet: &Packet, segment: &Segment, out: &mut Vec<u8>) {
    let source = SocketAddrV4::new(packet.src, packet.sport);
    let destination = SocketAddrV4::new(packet.dst, packet.dport);
    let segment = Segment { source, destination, ecn: packet.ecn, ..*segment };
    tcp::wire::encode(&segment, tcp::wire::Payload::Zeros, out);
    // A segment knows nothing of hops and classes.
    (out[1], out[8]) = (packet.dscp << 2 | packet.ecn.bits(), packet.ttl);
    out[10..12].fill(0);
    let sum = checksum(&out[..IP_HEADER as usize]);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn ip_header(packet: &Packet, out: &mut [u8]) {
    out[0] = 0x45;
    out[1] = packet.dscp << 2 | packet.ecn.bits();
    out[2..4].copy_from_slice(&(packet.len as u16).to_be_bytes());
    // Don't Fragment, as everything sent today has.
    out[6] = 0x40;
    out[8] = packet.ttl;
    out[9] = packet.protocol();
    out[12..16].copy_from_slice(&packet.src.octets());
    out[16..20].copy_from_slice(&packet.dst.octets());
    let sum = checksum(&out[..IP_HEADER as usize]);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Without a checksum, which IPv4 allows (RFC 768).
fn udp_header(packet: &Packet, ports: ([u8; 2], [u8; 2]), out: &mut [u8]) {
    out[..2].copy_from_slice(&ports.0);
    out[2..4].copy_from_slice(&ports.1);
    out[4..6].copy_from_slice(&((packet.len - IP_HEADER) as u16).to_be_bytes());
}

fn write_mark(mark: &UdpMark, out: &mut [u8]) {
    out[..4].copy_from_slice(&mark.seq.to_be_bytes());
    out[4..8].copy_from_slice(&mark.tag.to_be_bytes());
    out[8..16].copy_from_slice(&mark.sent.as_nanos().to_be_bytes());
}

fn read_mark(bytes: &[u8]) -> Option<UdpMark> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let sent = u64::from(word(8)?) << 32 | u64::from(word(12)?);
    Some(UdpMark { seq: word(0)?, tag: word(4)?, sent: Time::from_nanos(sent) })
}

/// The checksum of the internet protocols (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Reads a packet that [`encode`] wrote and a tunnel has carried. What is no such packet (an ICMP error that a tunnel sent
/// back, for one) is none: no endpoint here reads those.
pub fn decode(bytes: &[u8]) -> Option<Packet> {
    if bytes.len() < UDP_HEADERS as usize || bytes[0] != 0x45 {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (mut ports, rest) = ((half(20), half(22)), &bytes[UDP_HEADERS as usize..]);
    let body = match bytes[9] {
        protocol::UDP if rest.len() >= UDP_MARK as usize => Body::Udp(read_mark(rest)?),
        protocol::ICMP if matches!(bytes[20], 0 | 8) => {
            ports = (half(24), half(24));
            let mark = read_mark(&bytes[ECHO_HEADERS as usize..])?;
            Body::Echo { request: bytes[20] == 8, seq: mark.seq, sent: mark.sent }
        }
        protocol::TCP => Body::Tcp(tcp::wire::decode(bytes).ok()?.0),
        _ => return None,
    };
    let len = bytes.len() as u32;
    let mut packet = Packet::new((address(12), ports.0), (address(16), ports.1), len, FlowId::NONE, body);
    (packet.dscp, packet.ecn, packet.ttl) = (bytes[1] >> 2, Ecn::from_bits(bytes[1]), bytes[8]);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 1030);
    const B: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 1, 2), 1031);

    fn there_and_back(packet: Packet) {
        let mut bytes = vec![7; 3];
        encode(&packet, &mut bytes);
        assert_eq!(bytes.len(), packet.len as usize);
        assert_eq!(decode(&bytes), Some(packet));
        let ip = etherparse::SlicedPacket::from_ip(&bytes).expect("others can read it too");
        assert!(ip.transport.is_some());
        assert_eq!(checksum(&bytes[..20]), 0);
    }

    #[test]
    fn udp_and_echo_survive_being_bytes() {
        let sent = Time::from_nanos(0x0102_0304_0506_0708);
        let udp = Body::Udp(UdpMark { seq: 70_000, tag: 9, sent });
        there_and_back(Packet { ecn: Ecn::Ce, dscp: 34, ..Packet::new(A, B, 1400, FlowId::NONE, udp) });
        let echo = Body::Echo { request: true, seq: 70_000, sent };
        there_and_back(Packet { ttl: 3, ..Packet::new((A.0, 5), (B.0, 5), 85, FlowId::NONE, echo) });
    }

    #[test]
    fn tcp_keeps_its_options_and_the_headers_of_the_packet() {
        use crate::tcp::{Flags, Options, SackBlocks, Timestamps};
        let mut sack = SackBlocks::default();
        assert!(sack.push((7, 1400)));
        let options =
            Options { timestamps: Some(Timestamps { value: 5, echo: 9 }), sack, ..Options::default() };
        let segment = Segment {
            source: SocketAddrV4::new(A.0, A.1),
            destination: SocketAddrV4::new(B.0, B.1),
            ecn: Ecn::Ect0,
            flags: Flags::ACK,
            seq: 1,
            ack: 2,
            window: 3,
            urgent: 0,
            options,
            payload_bytes: 1000,
        };
        let head = Packet::new(A, B, segment.ip_bytes(), FlowId::NONE, Body::Tcp(segment));
        there_and_back(Packet { ecn: Ecn::Ect0, dscp: 46, ttl: 7, ..head });
    }

    #[test]
    fn garbage_is_no_packet() {
        let mut bytes = Vec::new();
        let udp = Body::Udp(UdpMark { seq: 1, tag: 0, sent: Time::ZERO });
        encode(&Packet::new(A, B, 60, FlowId::NONE, udp), &mut bytes);
        for cut in 0..UDP_HEADERS as usize + 15 {
            assert_eq!(decode(&bytes[..cut]), None);
        }
        bytes[9] = 50;
        assert_eq!(decode(&bytes), None);
    }
}
