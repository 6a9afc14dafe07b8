//! A segment as the bytes of an IPv4 packet, and back.
//!
//! The payload is zeros, or a pattern in which each byte follows from its place in the stream, so that whoever receives
//! it sees whether the right bytes came to the right place.

use crate::options::{self, BadOptions};
use crate::segment::{Ecn, Flags, MptcpOption, Segment};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Hops that a packet may make.
const TTL: u8 = 64;

/// What the payload of an encoded segment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Zeros: what generators send that do not look.
    Zeros,
    /// Each byte follows from its place: in the data stream if the segment is mapped there, else in its own.
    #[default]
    Pattern,
}

/// Why bytes are no segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not IPv4, too short, or a length that does not fit.
    #[error("no IPv4 packet: {0}")]
    Ip(String),
    /// Another protocol, or a fragment.
    #[error("an IPv4 packet that holds no whole TCP segment")]
    NotTcp,
    /// Too short, or a data offset that does not fit.
    #[error("no TCP segment: {0}")]
    Tcp(String),
    /// Damaged under way.
    #[error("the checksum of the {0} header does not fit: the packet was damaged")]
    Checksum(&'static str),
    /// Options that do not end.
    #[error(transparent)]
    Options(#[from] BadOptions),
}

/// The byte at a place of the stream.
const fn pattern(place: u32) -> u8 {
    (place.wrapping_mul(0x9E37_79B1) >> 24) as u8
}

/// Place of the first byte of the payload.
fn place(segment: &Segment) -> u32 {
    match segment.options.mptcp {
        Some(MptcpOption::Dss { mapping: Some(mapping), .. }) => mapping.data_sequence as u32,
        _ => segment.seq.wrapping_add(u32::from(segment.flags.has(Flags::SYN))),
    }
}

/// Appends the IPv4 packet that `segment` is to `out`.
///
/// # Panics
/// If the options are longer than 40 bytes or the packet longer than 65535, which no endpoint makes.
pub fn encode(segment: &Segment, payload: Payload, out: &mut Vec<u8>) {
    let first = place(segment);
    let len = segment.payload_bytes as usize;
    let data: Vec<u8> = match payload {
        Payload::Zeros => vec![0; len],
        Payload::Pattern => (0..len as u32).map(|i| pattern(first.wrapping_add(i))).collect(),
    };
    encode_with(segment, &data, out);
}

/// The same with these bytes as payload, whatever length `segment` says.
///
/// # Panics
/// As [`encode`].
pub fn encode_with(segment: &Segment, data: &[u8], out: &mut Vec<u8>) {
    let (mut tcp, len) = (tcp_header(segment), data.len());
    let (source, destination) = (segment.source.ip().octets(), segment.destination.ip().octets());
    let total = u16::try_from(tcp.header_len() + len).expect("segments are shorter than 64 KiB");
    let mut ip = Ipv4Header::new(total, TTL, IpNumber::TCP, source, destination).expect("checked above");
    ip.ecn = IpEcn::try_new(segment.ecn.bits()).expect("two bits");
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    tcp.checksum = tcp.calc_checksum_ipv4_raw(source, destination, data).expect("checked above");
    out.extend_from_slice(&ip.to_bytes());
    out.extend_from_slice(&tcp.to_bytes());
    out.extend_from_slice(data);
}

fn tcp_header(segment: &Segment) -> TcpHeader {
    let (from, to) = (segment.source.port(), segment.destination.port());
    let mut tcp = TcpHeader::new(from, to, segment.seq, segment.window);
    tcp.acknowledgment_number = segment.ack;
    let has = |flag| segment.flags.has(flag);
    (tcp.fin, tcp.syn, tcp.rst, tcp.psh) =
        (has(Flags::FIN), has(Flags::SYN), has(Flags::RST), has(Flags::PSH));
    (tcp.ack, tcp.ece, tcp.cwr) = (has(Flags::ACK), has(Flags::ECE), has(Flags::CWR));
    (tcp.urg, tcp.urgent_pointer) = (has(Flags::URG), segment.urgent);
    tcp.set_options_raw(&options::encode(&segment.options)).expect("at most 40 bytes");
    tcp
}

/// Reads an IPv4 packet; true if each byte of the payload is what [`Payload::Pattern`] puts there.
pub fn decode(packet: &[u8]) -> Result<(Segment, bool), WireError> {
    let (ip, rest) = Ipv4Header::from_slice(packet).map_err(|e| WireError::Ip(e.to_string()))?;
    if ip.calc_header_checksum() != ip.header_checksum {
        return Err(WireError::Checksum("IPv4"));
    }
    if ip.protocol != IpNumber::TCP || ip.is_fragmenting_payload() {
        return Err(WireError::NotTcp);
    }
    let len = usize::from(ip.payload_len().map_err(|e| WireError::Ip(e.to_string()))?);
    let rest = rest.get(..len).ok_or_else(|| WireError::Ip("cut short".to_owned()))?;
    let (tcp, data) = TcpHeader::from_slice(rest).map_err(|e| WireError::Tcp(e.to_string()))?;
    if tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, data) != Ok(tcp.checksum) {
        return Err(WireError::Checksum("TCP"));
    }
    let segment = Segment {
        source: SocketAddrV4::new(Ipv4Addr::from(ip.source), tcp.source_port),
        destination: SocketAddrV4::new(Ipv4Addr::from(ip.destination), tcp.destination_port),
        ecn: Ecn::from_bits(ip.ecn.value()),
        flags: flags(&tcp),
        seq: tcp.sequence_number,
        ack: tcp.acknowledgment_number,
        window: tcp.window_size,
        urgent: tcp.urgent_pointer,
        options: options::decode(tcp.options.as_slice())?,
        payload_bytes: data.len() as u32,
    };
    let first = place(&segment);
    let intact = data.iter().zip(0u32..).all(|(byte, i)| *byte == pattern(first.wrapping_add(i)));
    Ok((segment, intact))
}

/// A packet without its offer of AccECN (RFC 9768 §3.1.1): that of classic ECN is left. None if it offers no AccECN.
///
/// For whoever makes acknowledgements anew, and has no counter of marks to put into them.
pub fn without_accecn(packet: &[u8]) -> Option<Vec<u8>> {
    const AE: u8 = 0x01;
    let first = *packet.first()?;
    let tcp = if first >> 4 == 4 { usize::from(first & 0x0F) * 4 } else { 40 };
    let offers = packet.get(tcp + 12)? & AE != 0 && packet.get(tcp + 13)? & Flags::SYN.0 != 0;
    let mut out = offers.then(|| packet.to_vec())?;
    out[tcp + 12] &= !AE;
    let sum = out.get_mut(tcp + 16..tcp + 18)?;
    // RFC 1624, equation 3: what is covered is less by 0x0100.
    let covered = u32::from(!u16::from_be_bytes([sum[0], sum[1]])) + 0xFEFF;
    let covered = (covered & 0xFFFF) + (covered >> 16);
    sum.copy_from_slice(&(!(covered as u16)).to_be_bytes());
    Some(out)
}

/// The flags of a header (RFC 9293 §3.1).
pub fn flags(tcp: &TcpHeader) -> Flags {
    let bits = [
        (tcp.fin, Flags::FIN),
        (tcp.syn, Flags::SYN),
        (tcp.rst, Flags::RST),
        (tcp.psh, Flags::PSH),
        (tcp.ack, Flags::ACK),
        (tcp.urg, Flags::URG),
        (tcp.ece, Flags::ECE),
        (tcp.cwr, Flags::CWR),
    ];
    bits.into_iter().filter(|(set, _)| *set).fold(Flags::default(), |all, (_, flag)| all | flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Mapping, Options, SackBlocks, Timestamps};
    use proptest::prelude::*;

    fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
        let mut all = SackBlocks::default();
        blocks.iter().for_each(|b| assert!(all.push(*b)));
        all
    }

    fn segment(options: Options, payload_bytes: u32) -> Segment {
        Segment {
            source: "10.0.0.1:40000".parse().unwrap(),
            destination: "10.0.0.2:5201".parse().unwrap(),
            ecn: Ecn::Ect0,
            flags: Flags::ACK | Flags::PSH | Flags::ECE,
            seq: u32::MAX - 100,
            ack: 77,
            window: 5000,
            urgent: 0,
            options,
            payload_bytes,
        }
    }

    fn samples() -> Vec<Options> {
        let timestamps = Some(Timestamps { value: 1, echo: u32::MAX });
        let data_ack = Some(1 << 40);
        let mapping = Some(Mapping { data_sequence: u64::MAX - 3, length: 1400, subflow_sequence: 9 });
        let mptcp = [
            MptcpOption::Capable { sender: None, receiver: None },
            MptcpOption::Capable { sender: Some(5), receiver: None },
            MptcpOption::Capable { sender: Some(5), receiver: Some(u64::MAX) },
            MptcpOption::Join { address_id: 3, backup: true, token: 9, nonce: 8 },
            MptcpOption::Dss { data_ack, mapping, data_fin: false },
            MptcpOption::Dss { data_ack, mapping: None, data_fin: true },
            MptcpOption::Priority { backup: true },
            MptcpOption::RemoveAddress { address_id: 2 },
        ];
        let syn =
            Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::default() };
        let mut all = vec![
            Options::default(),
            syn,
            Options { timestamps, ..syn },
            Options { timestamps, ..Options::default() },
            Options { sack: sack(&[(1, 2), (3, 4), (5, 6), (7, 8)]), ..Options::default() },
            Options { timestamps, sack: sack(&[(1, 2), (u32::MAX, 4), (5, 6)]), ..Options::default() },
        ];
        all.extend(mptcp.map(|m| Options { mptcp: Some(m), ..Options::default() }));
        all
    }

    #[test]
    fn what_is_encoded_is_decoded_and_as_long_as_it_says() {
        for options in samples() {
            for payload_bytes in [0, 1, 1400] {
                let sent = segment(options, payload_bytes);
                let mut bytes = Vec::new();
                encode(&sent, Payload::Pattern, &mut bytes);
                assert_eq!(bytes.len() as u32, sent.ip_bytes(), "{options:?}");
                assert_eq!(decode(&bytes), Ok((sent, true)));
            }
        }
    }

    #[test]
    fn damage_and_wrong_content_are_seen() {
        let sent = segment(Options::default(), 100);
        let mut bytes = Vec::new();
        encode(&sent, Payload::Pattern, &mut bytes);
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0x10;
            assert!(decode(&bad).is_err(), "byte {i}");
        }
        let mut zeros = Vec::new();
        encode(&sent, Payload::Zeros, &mut zeros);
        assert_eq!(decode(&zeros), Ok((sent, false)));
    }

    #[test]
    fn the_same_data_is_the_same_bytes_in_any_subflow() {
        let mapped = |seq, data_sequence| {
            let mapping = Some(Mapping { data_sequence, length: 50, subflow_sequence: 1 });
            let mptcp = Some(MptcpOption::Dss { data_ack: Some(1), mapping, data_fin: false });
            let mut bytes = Vec::new();
            let options = Options { mptcp, ..Options::default() };
            encode(&Segment { seq, ..segment(options, 50) }, Payload::Pattern, &mut bytes);
            bytes.split_off(bytes.len() - 50)
        };
        assert_eq!(mapped(1, 1000), mapped(999, 1000));
        assert_ne!(mapped(1, 1000), mapped(1, 1001));
    }

    #[test]
    fn of_an_offer_of_accecn_that_of_classic_ecn_is_left() {
        let ecn = Flags::ECE | Flags::CWR;
        for (n, flags) in (0..2000u32).zip([ecn | Flags::SYN, ecn | Flags::ACK].into_iter().cycle()) {
            let mut classic = Vec::new();
            // The sums take all kinds of values.
            let sent = Segment { flags, ack: n * 33, ..segment(Options::default(), 0) };
            encode(&sent, Payload::Zeros, &mut classic);
            assert_eq!(without_accecn(&classic), None);
            let mut accurate = classic.clone();
            accurate[32] |= 1;
            let (tcp, _) = TcpHeader::from_slice(&accurate[20..]).unwrap();
            let (from, to) = (sent.source.ip().octets(), sent.destination.ip().octets());
            let sum = tcp.calc_checksum_ipv4_raw(from, to, &[]).unwrap();
            accurate[36..38].copy_from_slice(&sum.to_be_bytes());
            let left = flags.has(Flags::SYN).then_some(classic);
            assert_eq!(without_accecn(&accurate), left, "{n}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = decode(&bytes);
            let _ = without_accecn(&bytes);
            let _ = options::decode(&bytes);
        }

        #[test]
        fn damaged_options_do_not_panic(at in 40usize..80, with in any::<u8>()) {
            let mut bytes = Vec::new();
            encode(&segment(samples()[5], 0), Payload::Zeros, &mut bytes);
            let last = bytes.len() - 1;
            bytes[at.min(last)] = with;
            let _ = options::decode(&bytes[40..]);
        }
    }
}
