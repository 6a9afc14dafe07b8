//! TCP segments in IPv4 and IPv6 packets, and back.

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6Header, LaxIpSlice, TcpHeader};
use ropewalk_bond::inner::begins_a_packet;
use ropewalk_packet::{Ecn, Flags, Options, Segment, wire};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// The proxy looks at no address, and `Segment` has none of IPv6.
const NOBODY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// What packets of one end carry besides their segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    hops: u8,
    /// DSCP, without ECN.
    dscp: u8,
    flow_label: u32,
}

/// A packet that holds one whole TCP segment.
#[derive(Debug)]
pub(super) struct Parsed<'a> {
    pub(super) segment: Segment,
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) marks: Marks,
    pub(super) payload: &'a [u8],
}

/// Reads a packet. None for whatever is not a whole, undamaged TCP segment behind a plain header: fragments, IPv4
/// options and IPv6 extension headers among them.
pub(super) fn parse(packet: &[u8]) -> Option<Parsed<'_>> {
    match packet.first()? >> 4 {
        4 => parse_v4(packet),
        6 => parse_v6(packet),
        _ => None,
    }
}

fn parse_v4(packet: &[u8]) -> Option<Parsed<'_>> {
    let (ip, rest) = Ipv4Header::from_slice(packet).ok()?;
    let plain = ip.protocol == IpNumber::TCP && !ip.is_fragmenting_payload() && ip.options.is_empty();
    let rest = rest.get(..usize::from(ip.payload_len().ok()?)).filter(|_| plain)?;
    let (tcp, payload) = TcpHeader::from_slice(rest).ok()?;
    if ip.calc_header_checksum() != ip.header_checksum
        || tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, payload) != Ok(tcp.checksum)
    {
        return None;
    }
    let marks = Marks { hops: ip.time_to_live, dscp: ip.dscp.value(), flow_label: 0 };
    let (source, destination) = ((ip.source, tcp.source_port), (ip.destination, tcp.destination_port));
    let segment = segment(&tcp, Ecn::from_bits(ip.ecn.value()), payload)?;
    Some(Parsed { segment, source: source.into(), destination: destination.into(), marks, payload })
}

fn parse_v6(packet: &[u8]) -> Option<Parsed<'_>> {
    let (ip, rest) = Ipv6Header::from_slice(packet).ok()?;
    let rest = rest.get(..usize::from(ip.payload_length)).filter(|_| ip.next_header == IpNumber::TCP)?;
    let (tcp, payload) = TcpHeader::from_slice(rest).ok()?;
    if tcp.calc_checksum_ipv6_raw(ip.source, ip.destination, payload) != Ok(tcp.checksum) {
        return None;
    }
    let marks = Marks { hops: ip.hop_limit, dscp: ip.traffic_class >> 2, flow_label: ip.flow_label.value() };
    let (source, destination) = ((ip.source, tcp.source_port), (ip.destination, tcp.destination_port));
    let segment = segment(&tcp, Ecn::from_bits(ip.traffic_class), payload)?;
    Some(Parsed { segment, source: source.into(), destination: destination.into(), marks, payload })
}

fn segment(tcp: &TcpHeader, ecn: Ecn, payload: &[u8]) -> Option<Segment> {
    Some(Segment {
        source: NOBODY,
        destination: NOBODY,
        ecn,
        flags: wire::flags(tcp),
        seq: tcp.sequence_number,
        ack: tcp.acknowledgment_number,
        window: tcp.window_size,
        urgent: tcp.urgent_pointer,
        options: Options::from_bytes(tcp.options.as_slice()).ok()?,
        payload_bytes: payload.len() as u32,
    })
}

/// From whom to whom a packet of TCP goes, and its sequence number, where an end may take it though [`parse`] does not:
/// the first fragment of one, or one with IP options, extension headers or odd TCP options. None if it is damaged.
pub(super) fn odd(packet: &[u8]) -> Option<(SocketAddr, SocketAddr, u32)> {
    let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
    let (payload, from, to) = (ip.payload(), ip.source_addr(), ip.destination_addr());
    let body = payload.payload;
    let is_tcp = payload.ip_number == IpNumber::TCP && begins_a_packet(&ip);
    if !is_tcp || !payload.fragmented && !is_intact(from, to, body) {
        return None;
    }
    let half = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let number = u32::from_be_bytes(body.get(4..8)?.try_into().ok()?);
    Some((SocketAddr::new(from, half(0)?), SocketAddr::new(to, half(2)?), number))
}

/// Whether the checksum of a TCP segment fits, whatever its header has.
fn is_intact(from: IpAddr, to: IpAddr, segment: &[u8]) -> bool {
    let ends = match (from, to) {
        (IpAddr::V4(a), IpAddr::V4(b)) => [a.octets(), b.octets()].concat(),
        (IpAddr::V6(a), IpAddr::V6(b)) => [a.octets(), b.octets()].concat(),
        _ => return false,
    };
    let length = (segment.len() as u32).to_be_bytes();
    let pseudo = Sum16BitWords::new().add_slice(&ends).add_slice(&length).add_2bytes([0, IpNumber::TCP.0]);
    pseudo.add_slice(segment).ones_complement() == 0
}

/// The packet that `segment` is between these two; none if it would be too long for one.
pub(super) fn encode(
    segment: &Segment,
    source: SocketAddr,
    destination: SocketAddr,
    marks: Marks,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let mut tcp = TcpHeader::new(source.port(), destination.port(), segment.seq, segment.window);
    tcp.acknowledgment_number = segment.ack;
    let has = |flag| segment.flags.has(flag);
    (tcp.fin, tcp.syn, tcp.rst, tcp.psh) =
        (has(Flags::FIN), has(Flags::SYN), has(Flags::RST), has(Flags::PSH));
    (tcp.ack, tcp.ece, tcp.cwr) = (has(Flags::ACK), has(Flags::ECE), has(Flags::CWR));
    (tcp.urg, tcp.urgent_pointer) = (has(Flags::URG), segment.urgent);
    tcp.set_options_raw(&segment.options.to_bytes()).ok()?;
    let len = u16::try_from(tcp.header_len() + payload.len()).ok()?;
    let mut out = Vec::with_capacity(usize::from(len) + 40);
    match (source, destination) {
        (SocketAddr::V4(a), SocketAddr::V4(b)) => {
            let (a, b) = (a.ip().octets(), b.ip().octets());
            let mut ip = Ipv4Header::new(len, marks.hops, IpNumber::TCP, a, b).ok()?;
            (ip.ecn, ip.dscp) = (IpEcn::try_new(segment.ecn.bits()).ok()?, marks.dscp.try_into().ok()?);
            ip.dont_fragment = true;
            ip.header_checksum = ip.calc_header_checksum();
            tcp.checksum = tcp.calc_checksum_ipv4_raw(a, b, payload).ok()?;
            out.extend_from_slice(&ip.to_bytes());
        }
        (SocketAddr::V6(a), SocketAddr::V6(b)) => {
            let (a, b) = (a.ip().octets(), b.ip().octets());
            let ip = Ipv6Header {
                traffic_class: marks.dscp << 2 | segment.ecn.bits(),
                flow_label: marks.flow_label.try_into().ok()?,
                payload_length: len,
                next_header: IpNumber::TCP,
                hop_limit: marks.hops,
                source: a,
                destination: b,
            };
            tcp.checksum = tcp.calc_checksum_ipv6_raw(a, b, payload).ok()?;
            out.extend_from_slice(&ip.to_bytes());
        }
        _ => return None,
    }
    out.extend_from_slice(&tcp.to_bytes());
    out.extend_from_slice(payload);
    Some(out)
}

/// A packet that [`parse`] has read, without its SACK blocks and otherwise as it came.
pub(super) fn without_blocks(packet: &[u8]) -> Option<Vec<u8>> {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const SACK: u8 = 5;
    let mut out = packet.to_vec();
    let start = if packet.first()? >> 4 == 4 { 20 } else { 40 };
    let data = start + 4 * usize::from(packet.get(start + 12)? >> 4);
    let mut at = start + 20;
    while at < data {
        let len = match *out.get(at)? {
            END => break,
            NOP => 1,
            _ => usize::from(*out.get(at + 1)?).max(2),
        };
        if out[at] == SACK {
            out.get_mut(at..at + len)?.fill(NOP);
        }
        at += len;
    }
    let (tcp, payload) = TcpHeader::from_slice(out.get(start..)?).ok()?;
    let sum = if start == 20 {
        let (ip, _) = Ipv4Header::from_slice(&out).ok()?;
        let whole = usize::from(ip.payload_len().ok()?).checked_sub(data - start)?;
        tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, payload.get(..whole)?).ok()?
    } else {
        let (ip, _) = Ipv6Header::from_slice(&out).ok()?;
        let whole = usize::from(ip.payload_length).checked_sub(data - start)?;
        tcp.calc_checksum_ipv6_raw(ip.source, ip.destination, payload.get(..whole)?).ok()?
    };
    out.get_mut(start + 16..start + 18)?.copy_from_slice(&sum.to_be_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ropewalk_packet::{SackBlocks, Timestamps};

    const ENDS: [(&str, &str); 2] = [("10.0.0.1:1000", "10.0.0.2:80"), ("[fd00::1]:1000", "[fd00::2]:80")];

    fn sample() -> Segment {
        let mut sack = SackBlocks::default();
        sack.push((1, 5));
        let timestamps = Some(Timestamps { value: 7, echo: 9 });
        Segment {
            source: NOBODY,
            destination: NOBODY,
            ecn: Ecn::Ect0,
            flags: Flags::ACK | Flags::PSH,
            seq: u32::MAX,
            ack: 3,
            window: 500,
            urgent: 0,
            options: Options { sack, timestamps, ..Options::default() },
            payload_bytes: 5,
        }
    }

    #[test]
    fn segments_come_back() {
        let marks = Marks { hops: 61, dscp: 10, flow_label: 0 };
        for (a, b) in ENDS.map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())) {
            let packet = encode(&sample(), a, b, marks, b"hello").unwrap();
            let parsed = parse(&packet).unwrap();
            assert_eq!((parsed.segment, parsed.source, parsed.destination), (sample(), a, b));
            assert_eq!((parsed.marks, parsed.payload), (marks, &b"hello"[..]));
            let bare = without_blocks(&packet).unwrap();
            let parsed = parse(&bare).expect("the checksum fits");
            assert_eq!(parsed.segment.options, Options { sack: SackBlocks::default(), ..sample().options });
            let mut damaged = packet.clone();
            *damaged.last_mut().unwrap() ^= 1;
            assert!(parse(&damaged).is_none());
        }
    }

    #[test]
    fn packets_that_are_not_read_are_known_by_their_ends() {
        for (a, b) in ENDS.map(|(a, b)| (a.parse::<SocketAddr>().unwrap(), b.parse().unwrap())) {
            let tcp = if a.is_ipv4() { 20 } else { 40 };
            let whole = encode(&sample(), a, b, Marks::default(), b"hello").unwrap();
            // The length of the SACK option is more than there is; the window makes up for the sum.
            let mut bad = whole.clone();
            bad[tcp + 35] += 40;
            bad[tcp + 15] -= 40;
            assert!(parse(&bad).is_none());
            assert_eq!(odd(&bad), Some((a, b, u32::MAX)));
            bad[tcp + 45] ^= 1;
            assert_eq!(odd(&bad), None, "damaged");
        }
        let (a, b) = (ENDS[0].0.parse().unwrap(), ENDS[0].1.parse().unwrap());
        let mut first = encode(&sample(), a, b, Marks::default(), b"hello").unwrap();
        first[6] = 0x20;
        assert_eq!(odd(&first), Some((a, b, u32::MAX)));
        first[7] = 5;
        assert_eq!(odd(&first), None, "a later fragment has no ports");
    }

    proptest! {
        #[test]
        fn no_packet_is_a_panic(v6: bool, at in 0usize..90, byte: u8, cut in 0usize..90) {
            let (a, b) = ENDS[usize::from(v6)];
            let mut packet = encode(&sample(), a.parse().unwrap(), b.parse().unwrap(), Marks::default(), b"hello").unwrap();
            if let Some(place) = packet.get_mut(at) {
                *place = byte;
            }
            packet.truncate(cut);
            let _ = (parse(&packet), without_blocks(&packet), odd(&packet));
        }
    }
}
