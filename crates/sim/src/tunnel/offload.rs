//! Super-packets: what a Linux machine hands to a tunnel's device, and takes from it.
//!
//! A kernel cuts a TCP flow as late as it can (TSO, `tcp_output.c`): a tunnel's device gets up to 64 KiB of one flow at once, or what the flow sends in a
//! millisecond if that is less, behind one pair of headers, and gives the far kernel the same back, which acknowledges it as one segment (GRO). Here segments that a machine hands over at
//! one instant are joined, and what comes out of a tunnel is cut again for the endpoints of this crate.

use crate::packet::{Body, Packet};
use crate::tcp::Segment;
use crate::wire;
use ropewalk_bond::vnet::Vnet;

/// Longest IP packet: its length is a 16-bit field (RFC 791 §3.1).
const MAX_BYTES: u32 = 65_535;
/// Where the checksum lies in a TCP header, bytes (RFC 9293 §3.1).
const TCP_CHECKSUM: u16 = 16;
/// Length of an IPv4 header without options, bytes.
const IP_HEADER: u16 = 20;

/// Segments of one flow on their way into a tunnel, joined.
#[derive(Debug)]
pub(super) struct Joined {
    packet: Packet,
    /// Payload of each segment but the last, bytes.
    size: u32,
    /// Payload of the last, bytes.
    last: u32,
}

impl Joined {
    /// A segment with data that others may follow; none if it is of another kind.
    pub(super) fn new(packet: &Packet) -> Option<Joined> {
        let Body::Tcp(s) = &packet.body else { return None };
        (s.payload_bytes > 0 && s.sequence_bytes() == s.payload_bytes).then(|| Joined {
            packet: packet.clone(),
            size: s.payload_bytes,
            last: s.payload_bytes,
        })
    }

    /// Takes the segment that continues these. `false`: it does not, or no more fits.
    pub(super) fn push(&mut self, next: &Packet) -> bool {
        let (Body::Tcp(whole), Body::Tcp(s)) = (&mut self.packet.body, &next.body) else { return false };
        let follows = Segment { seq: s.seq, payload_bytes: s.payload_bytes, ..*whole } == *s
            && whole.seq.wrapping_add(whole.payload_bytes) == s.seq;
        let same = (next.dscp, next.ecn, next.ttl) == (self.packet.dscp, self.packet.ecn, self.packet.ttl)
            && (next.src, next.dst) == (self.packet.src, self.packet.dst);
        let fits = !self.packet.is_last
            && self.size >= u32::from(Vnet::LEAST_SEGMENT)
            && whole.payload_bytes + s.payload_bytes <= self.size * Vnet::MOST_SEGMENTS as u32
            && (1..=self.size).contains(&s.payload_bytes)
            && self.last == self.size
            && self.packet.len + s.payload_bytes <= MAX_BYTES;
        if !(follows && same && fits) {
            return false;
        }
        whole.payload_bytes += s.payload_bytes;
        self.packet.len += s.payload_bytes;
        self.packet.is_last = next.is_last;
        self.last = s.payload_bytes;
        true
    }

    /// Writes it to `out`, and says how it is to be cut.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Vnet {
        wire::encode(&self.packet, out);
        let payload = if let Body::Tcp(s) = &self.packet.body { s.payload_bytes } else { 0 };
        if payload <= self.size {
            return Vnet::default();
        }
        Vnet {
            flags: Vnet::NEEDS_CSUM,
            gso_type: Vnet::GSO_TCPV4,
            hdr_len: (self.packet.len - payload) as u16,
            gso_size: self.size as u16,
            csum_start: IP_HEADER,
            csum_offset: TCP_CHECKSUM,
        }
    }
}

/// Cuts what came out of a tunnel, and hands the packets to `take`. All but the last are marked as such ([`Packet::continued`]).
pub(super) fn cut(packet: Packet, vnet: Vnet, mut take: impl FnMut(Packet)) {
    let Body::Tcp(whole) = &packet.body else { return take(packet) };
    let size = u32::from(vnet.gso_size);
    if vnet.gso_type & !Vnet::GSO_ECN != Vnet::GSO_TCPV4 || size == 0 {
        return take(packet);
    }
    let (whole, headers) = (*whole, packet.len - whole.payload_bytes);
    for offset in (0..whole.payload_bytes).step_by(size as usize) {
        let payload_bytes = size.min(whole.payload_bytes - offset);
        let segment = Segment { seq: whole.seq.wrapping_add(offset), payload_bytes, ..whole };
        take(Packet {
            len: headers + payload_bytes,
            continued: offset + payload_bytes < whole.payload_bytes,
            body: Body::Tcp(segment),
            ..packet.clone()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::tcp::{Ecn, Flags, Options};
    use std::net::{Ipv4Addr, SocketAddrV4};

    const A: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 1030);
    const B: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 1, 2), 1031);

    fn segment(seq: u32, payload_bytes: u32) -> Packet {
        let segment = Segment {
            source: SocketAddrV4::new(A.0, A.1),
            destination: SocketAddrV4::new(B.0, B.1),
            ecn: Ecn::NotEct,
            flags: Flags::ACK,
            seq,
            ack: 2,
            window: 3,
            urgent: 0,
            options: Options::default(),
            payload_bytes,
        };
        Packet::new(A, B, segment.ip_bytes(), FlowId::NONE, Body::Tcp(segment))
    }

    fn cut_again(joined: &Joined) -> Vec<Packet> {
        let mut bytes = Vec::new();
        let vnet = joined.encode(&mut bytes);
        let inner = ropewalk_bond::inner::Inner::parse(&bytes).unwrap();
        assert!(vnet.fits(&inner, &bytes));
        let mut out = Vec::new();
        cut(wire::decode(&bytes).unwrap(), vnet, |p| out.push(p));
        out
    }

    #[test]
    fn joined_segments_come_out_as_they_went_in() {
        let all = [segment(u32::MAX - 5, 1400), segment(1394, 1400), segment(2794, 700)];
        let mut joined = Joined::new(&all[0]).unwrap();
        assert!(joined.push(&all[1]) && joined.push(&all[2]));
        assert!(!joined.push(&segment(3494, 700)), "nothing follows a short one");
        let out = cut_again(&joined);
        assert_eq!(out.iter().map(|p| p.continued).collect::<Vec<_>>(), [true, true, false]);
        for (out, sent) in out.into_iter().zip(&all) {
            assert_eq!(&Packet { continued: false, ..out }, sent);
        }
    }

    #[test]
    fn a_super_packet_ends_where_its_sender_ended_it() {
        let mut joined = Joined::new(&segment(0, 1400)).unwrap();
        assert!(joined.push(&Packet { is_last: true, ..segment(1400, 1400) }));
        assert!(!joined.push(&segment(2800, 1400)));
        assert!(
            !Joined::new(&Packet { is_last: true, ..segment(0, 1400) }).unwrap().push(&segment(1400, 1400))
        );
    }

    #[test]
    fn one_segment_is_an_ordinary_packet() {
        let alone = segment(7, 1400);
        assert_eq!(cut_again(&Joined::new(&alone).unwrap()), [alone]);
    }

    #[test]
    fn what_does_not_follow_is_not_joined() {
        let mut joined = Joined::new(&segment(0, 1400)).unwrap();
        let marked = Packet { ecn: Ecn::Ce, ..segment(1400, 1400) };
        for other in [segment(1401, 1400), segment(1400, 1401), segment(1400, 0), marked] {
            assert!(!joined.push(&other));
        }
        assert!(Joined::new(&segment(0, 0)).is_none());
    }

    #[test]
    fn a_super_packet_ends_at_64_kib() {
        let mut joined = Joined::new(&segment(0, 1400)).unwrap();
        let taken = (1..100).take_while(|k| joined.push(&segment(k * 1400, 1400))).count() as u32;
        assert_eq!(taken + 1, (MAX_BYTES - 40) / 1400);
    }
}
