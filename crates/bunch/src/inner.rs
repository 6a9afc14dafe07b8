//! What a captured packet is: its flow, and its place in the stream.

use core::ops::Range;
use std::net::{Ipv4Addr, SocketAddrV4};

/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;

/// The fields that count of an IPv4 packet with TCP or UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// [`TCP`] or [`UDP`].
    pub protocol: u8,
    /// From.
    pub source: SocketAddrV4,
    /// To.
    pub destination: SocketAddrV4,
    /// TCP: number of the first byte.
    pub seq: u32,
    /// TCP: control bits.
    pub flags: u8,
    /// TCP: its own timestamp.
    pub stamp: Option<u32>,
    /// Where the payload is.
    pub payload: Range<usize>,
}

/// Two bytes of a packet as a number.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Four bytes of a packet as a number.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// NOP, NOP, and a timestamp of ten bytes: what Linux sends (RFC 7323 appendix A).
pub(crate) const STAMPED: [u8; 4] = [1, 1, 8, 10];

/// Reads a whole, unfragmented packet without IP options. None: something else, which goes its own
/// way.
pub fn parse(packet: &[u8]) -> Option<Inner> {
    let whole = packet.first() == Some(&0x45) && usize::from(half(packet, 2)?) == packet.len();
    let fragment = half(packet, 6)? & 0x3FFF != 0;
    let protocol = *packet.get(9)?;
    let address = |at| word(packet, at).map(Ipv4Addr::from);
    let (source, destination) = (address(12)?, address(16)?);
    let (from, to) = (half(packet, 20)?, half(packet, 22)?);
    let header = match protocol {
        TCP => 20 + usize::from(packet.get(32)? >> 4) * 4,
        UDP => 28,
        _ => return None,
    };
    if !whole || fragment || header > packet.len() || (protocol == TCP && header < 40) {
        return None;
    }
    if protocol == UDP && usize::from(half(packet, 24)?) + 20 != packet.len() {
        return None;
    }
    let tcp = protocol == TCP;
    let stamped = tcp && packet.get(40..44) == Some(&STAMPED) && header >= 52;
    Some(Inner {
        protocol,
        source: SocketAddrV4::new(source, from),
        destination: SocketAddrV4::new(destination, to),
        seq: if tcp { word(packet, 24)? } else { 0 },
        flags: if tcp { packet[33] } else { 0 },
        stamp: if stamped { word(packet, 44) } else { None },
        payload: header..packet.len(),
    })
}

/// The sum of the internet protocols over `bytes`, added to `sum` (RFC 1071).
fn add(sum: u32, bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0)));
    pairs.fold(sum, |all, pair| ((all + pair) & 0xFFFF) + ((all + pair) >> 16))
}

/// Whether the checksum of TCP or UDP fits; a UDP checksum of 0 is none (RFC 768).
pub fn is_intact(packet: &[u8]) -> bool {
    let Some(inner) = parse(packet) else {
        return false;
    };
    if inner.protocol == UDP && packet[26..28] == [0, 0] {
        return true;
    }
    let len = (packet.len() - 20) as u32;
    let pseudo = add(u32::from(inner.protocol) + len, &packet[12..20]);
    add(pseudo, &packet[20..]) == 0xFFFF
}

/// Writes the checksum of the IPv4 header.
pub(crate) fn seal_header(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = !(add(0, &packet[..20]) as u16);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1624 equation 3: a checksum after a part of what it covers was changed.
fn changed(sum: u16, old: &[u8], new: &[u8]) -> u16 {
    let inverse: Vec<u8> = old.iter().map(|b| !b).collect();
    !(add(add(u32::from(!sum), &inverse), new) as u16)
}

/// Puts another address and port at the source or, if not `source`, at the destination, as an
/// address translation does. A wrong checksum stays wrong.
pub fn readdress(packet: &mut [u8], source: bool, to: SocketAddrV4) {
    let Some(inner) = parse(packet) else {
        return;
    };
    let (address, port) = if source { (12, 20) } else { (16, 22) };
    let old = [&packet[address..address + 4], &packet[port..port + 2]].concat();
    let new = [&to.ip().octets()[..], &to.port().to_be_bytes()].concat();
    let at = if inner.protocol == TCP { 36 } else { 26 };
    let sum = u16::from_be_bytes([packet[at], packet[at + 1]]);
    if inner.protocol == TCP || sum != 0 {
        packet[at..at + 2].copy_from_slice(&changed(sum, &old, &new).to_be_bytes());
    }
    packet[address..address + 4].copy_from_slice(&new[..4]);
    packet[port..port + 2].copy_from_slice(&new[4..]);
    seal_header(packet);
}

/// A TCP packet in pieces of at most `mtu` bytes, as a network card cuts what is too long for a
/// link. Anything else, what opens a connection, is urgent, or is damaged stays whole.
pub(crate) fn cut(packet: Vec<u8>, mtu: usize) -> Vec<Vec<u8>> {
    const FIN_PSH: u8 = 0x01 | 0x08;
    const SYN_URG: u8 = 0x02 | 0x20;
    const CWR: u8 = 0x80;
    let fits = |i: &Inner| i.protocol == TCP && i.flags & SYN_URG == 0 && i.payload.start + 8 <= mtu;
    let Some(inner) = parse(&packet).filter(|i| fits(i) && packet.len() > mtu && is_intact(&packet)) else {
        return vec![packet];
    };
    let (head, payload) = packet.split_at(inner.payload.start);
    let pieces = payload.chunks(mtu - head.len());
    let last = pieces.len() - 1;
    let (mut seq, id) = (inner.seq, half(head, 4).unwrap_or(0));
    let mut all = Vec::new();
    for (n, bytes) in pieces.enumerate() {
        let mut piece = [head, bytes].concat();
        let length = piece.len() as u16;
        piece[2..4].copy_from_slice(&length.to_be_bytes());
        piece[4..6].copy_from_slice(&id.wrapping_add(n as u16).to_be_bytes());
        piece[24..28].copy_from_slice(&seq.to_be_bytes());
        piece[33] &= if n < last { !FIN_PSH } else { u8::MAX } & if n > 0 { !CWR } else { u8::MAX };
        piece[36..38].fill(0);
        let pseudo = add(u32::from(TCP) + u32::from(length) - 20, &piece[12..20]);
        let sum = !(add(pseudo, &piece[20..]) as u16);
        piece[36..38].copy_from_slice(&sum.to_be_bytes());
        seal_header(&mut piece);
        seq = seq.wrapping_add(bytes.len() as u32);
        all.push(piece);
    }
    all
}

/// The checksum of a message of ICMP.
pub(crate) fn icmp_sum(message: &[u8]) -> u16 {
    !(add(0, message) as u16)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use ropewalk_packet::{Ecn, Flags, Options, Segment, Timestamps, wire};

    /// A segment of TCP as bytes.
    pub(crate) fn segment(seq: u32, payload_bytes: u32, stamp: Option<u32>) -> Vec<u8> {
        let timestamps = stamp.map(|value| Timestamps { value, echo: 5 });
        let s = Segment {
            source: "192.168.1.2:40000".parse().unwrap(),
            destination: "10.9.0.2:5201".parse().unwrap(),
            ecn: Ecn::NotEct,
            flags: Flags::ACK,
            seq,
            ack: 99,
            window: 500,
            urgent: 0,
            options: Options { timestamps, ..Options::default() },
            payload_bytes,
        };
        let mut out = Vec::new();
        wire::encode(&s, wire::Payload::Pattern, &mut out);
        out
    }

    /// A datagram of UDP as bytes, without a checksum.
    pub(crate) fn datagram(fill: u8, payload: usize) -> Vec<u8> {
        let mut p = vec![fill; 28 + payload];
        p[..28].fill(0);
        (p[0], p[6], p[8], p[9]) = (0x45, 0x40, 64, UDP);
        p[2..4].copy_from_slice(&(28 + payload as u16).to_be_bytes());
        p[12..20].copy_from_slice(&[192, 168, 1, 2, 10, 9, 0, 2]);
        p[20..24].copy_from_slice(&[0x9C, 0x40, 0x14, 0x51]);
        p[24..26].copy_from_slice(&(8 + payload as u16).to_be_bytes());
        seal_header(&mut p);
        p
    }

    #[test]
    fn reads_what_it_is_for() {
        let s = segment(77, 100, Some(9));
        let inner = parse(&s).unwrap();
        assert_eq!((inner.seq, inner.stamp, inner.payload), (77, Some(9), 52..152));
        let d = parse(&datagram(1, 50)).unwrap();
        assert_eq!((d.protocol, d.source.port(), d.payload), (UDP, 40_000, 28..78));
        let mut fragment = datagram(1, 50);
        fragment[6] = 0x20;
        assert_eq!(parse(&fragment), None);
    }

    #[test]
    fn damage_is_seen() {
        let good = segment(77, 101, Some(9));
        assert!(is_intact(&good));
        for at in [12, 25, 60, 152] {
            let mut bad = good.clone();
            bad[at] ^= 4;
            assert!(!is_intact(&bad), "{at}");
        }
        assert!(is_intact(&datagram(3, 9)), "a checksum of 0 is none");
    }

    #[test]
    fn translation_keeps_a_right_checksum_right_and_a_wrong_one_wrong() {
        let to = "203.0.113.7:1234".parse().unwrap();
        let mut p = segment(77, 101, None);
        readdress(&mut p, true, to);
        assert!(is_intact(&p) && parse(&p).unwrap().source == to);
        assert!(wire::decode(&p).is_ok(), "the header's too");
        p[60] ^= 1;
        readdress(&mut p, false, to);
        assert!(!is_intact(&p) && parse(&p).unwrap().destination == to);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..90), tcp in any::<bool>()) {
            let mut b = bytes;
            if let [first, _, _, len, .., _] = &mut b[..] {
                *first = 0x45;
                let _ = len;
            }
            if b.len() > 10 {
                let n = (b.len() as u16).to_be_bytes();
                b[2..4].copy_from_slice(&n);
                (b[6], b[7], b[9]) = (0, 0, if tcp { TCP } else { UDP });
            }
            let _ = (parse(&b), is_intact(&b));
            readdress(&mut b, true, "1.2.3.4:5".parse().unwrap());
        }
    }

    #[test]
    fn a_packet_is_cut_as_a_card_would_cut_it() {
        let mut whole = segment(u32::MAX - 100, 1400, Some(9));
        whole[33] = 0x80 | 0x10 | 0x08 | 0x01;
        whole[36..38].fill(0);
        let length = (whole.len() - 20) as u32;
        let sum = !(add(add(6 + length, &whole[12..20]), &whole[20..]) as u16);
        whole[36..38].copy_from_slice(&sum.to_be_bytes());
        let payload = whole[parse(&whole).unwrap().payload].to_vec();
        let pieces = cut(whole.clone(), 576);
        assert!(pieces.iter().all(|p| p.len() <= 576 && is_intact(p)), "{pieces:?}");
        let read: Vec<Inner> = pieces.iter().map(|p| parse(p).unwrap()).collect();
        let flags: Vec<u8> = read.iter().map(|i| i.flags).collect();
        assert_eq!(flags, [0x90, 0x10, 0x19]);
        let mut at = u32::MAX - 100;
        for i in &read {
            assert_eq!((i.seq, i.stamp), (at, Some(9)));
            at = at.wrapping_add(i.payload.len() as u32);
        }
        let together: Vec<u8> = pieces.iter().zip(read).flat_map(|(p, i)| p[i.payload].to_vec()).collect();
        assert_eq!(together, payload);
        assert_eq!(cut(whole.clone(), 1500), [whole.clone()]);
        assert_eq!(cut(whole.clone(), 50), [whole.clone()], "no room for a payload");
        whole[500] ^= 1;
        assert_eq!(cut(whole.clone(), 576), [whole], "a wrong checksum is not mended");
    }
}
