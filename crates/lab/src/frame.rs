//! IP packets on an emulated wire: what the model asks about them, and the harm it orders.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use ropewalk_air::wired::Packet;

/// A packet in a buffer that may be longer.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) buffer: Box<[u8]>,
    pub(crate) len: usize,
}

impl Frame {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }
}

/// How a packet is damaged where the model says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Damage {
    /// A bit of what the IP header carries flips, and the kernel's checksums find it.
    #[default]
    Detectable,
    /// A bit of what UDP or TCP carries flips, and their checksum is made to fit: only the application can find it.
    /// Packets of other protocols are damaged detectably.
    Hidden,
}

/// What a packet's headers say. Anything may be handed in; what is not IP has neither flow nor payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Headers {
    /// 4 or 6; 0 for what is neither.
    version: u8,
    protocol: u8,
    /// Where the IP header ends.
    end: usize,
    /// The six bits of the DS field (RFC 2474) and the two of ECN (RFC 3168).
    traffic_class: u8,
    /// A fragment that is not the first has no ports.
    has_ports: bool,
}

fn headers(packet: &[u8]) -> Headers {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => Headers {
            version: 4,
            protocol: packet[9],
            end: usize::from(packet[0] & 15) * 4,
            traffic_class: packet[1],
            has_ports: packet[6] & 0x1f == 0 && packet[7] == 0,
        },
        Some(6) if packet.len() >= 40 => Headers {
            version: 6,
            protocol: packet[6],
            end: 40,
            traffic_class: (packet[0] << 4) | (packet[1] >> 4),
            has_ports: true,
        },
        _ => Headers::default(),
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Where the checksum and the data of the TCP or UDP packet inside are.
fn transport(packet: &[u8], headers: &Headers) -> Option<(usize, usize)> {
    let at = headers.end;
    let (checksum, data) = match headers.protocol {
        TCP => (at + 16, at + usize::from(packet.get(at + 12)? >> 4) * 4),
        UDP => (at + 6, at + 8),
        _ => return None,
    };
    (headers.has_ports && data < packet.len() && checksum + 2 <= data).then_some((checksum, data))
}

/// What models ask about an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Description {
    /// By addresses, protocol and ports.
    pub(crate) flow: u64,
    /// The six bits of the DS field (RFC 2474).
    pub(crate) dscp: u8,
    /// Whether its sender understands congestion marks (ECT in RFC 3168).
    pub(crate) ecn_capable: bool,
}

impl Description {
    /// The class of a strict-priority queue: precedence 7 is the most urgent, class 0.
    pub(crate) fn class(&self) -> u8 {
        7 - (self.dscp >> 3)
    }
}

/// Looks at a packet; anything may be handed in.
pub(crate) fn describe(bytes: &[u8]) -> Description {
    let headers = headers(bytes);
    let addresses = match headers.version {
        4 => bytes.get(12..20),
        6 => bytes.get(8..40),
        _ => None,
    };
    let ported = headers.has_ports && matches!(headers.protocol, TCP | UDP);
    let ports = if ported { bytes.get(headers.end..headers.end + 4) } else { None };
    let parts = [addresses.unwrap_or(&[]), ports.unwrap_or(&[]), &[headers.protocol]];
    // FNV-1a: the queue stirs it again with its seed.
    let flow = parts.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let (dscp, ecn) = (headers.traffic_class >> 2, headers.traffic_class & 3);
    Description { flow, dscp, ecn_capable: matches!(ecn, 1 | 2) }
}

/// Wraps a frame for a link.
pub(crate) fn packet(frame: Frame) -> Packet<Frame> {
    let described = describe(frame.bytes());
    Packet {
        len: frame.len as u32,
        flow: described.flow,
        class: described.class(),
        ecn_capable: described.ecn_capable,
        payload: frame,
    }
}

/// Sets Congestion Experienced (RFC 3168, section 5) and keeps IPv4's checksum right (RFC 1624).
pub(crate) fn mark(packet: &mut [u8]) {
    match headers(packet).version {
        4 => {
            let old = [packet[0], packet[1]];
            packet[1] |= 3;
            let sum = adjusted([packet[10], packet[11]], old, [packet[0], packet[1]]);
            packet[10..12].copy_from_slice(&sum);
        }
        6 => packet[1] |= 0x30,
        _ => {}
    }
}

/// Flips one bit, as `damage` says.
pub(crate) fn harm(packet: &mut [u8], damage: Damage, rng: &mut ChaCha8Rng) {
    let headers = headers(packet);
    let inside = transport(packet, &headers);
    let from = match (damage, inside) {
        (Damage::Hidden, Some((_, data))) => data,
        _ if headers.end < packet.len() => headers.end,
        _ => return,
    };
    let at = rng.random_range(from..packet.len());
    // Checksums sum words that begin at even distances from the transport header.
    let word = at - (at - headers.end) % 2;
    let read = |packet: &[u8]| [packet[word], packet.get(word + 1).copied().unwrap_or(0)];
    let old = read(packet);
    packet[at] ^= 1 << rng.random_range(0..8u32);
    if let (Damage::Hidden, Some((checksum, _))) = (damage, inside) {
        let sum = [packet[checksum], packet[checksum + 1]];
        // A UDP checksum of zero says that there is none (RFC 768).
        if headers.protocol != UDP || sum != [0, 0] {
            let mut sum = adjusted(sum, old, read(packet));
            if headers.protocol == UDP && sum == [0, 0] {
                sum = [0xff, 0xff];
            }
            packet[checksum..checksum + 2].copy_from_slice(&sum);
        }
    }
}

/// A checksum after one of the words it sums has changed: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).
fn adjusted(sum: [u8; 2], old: [u8; 2], new: [u8; 2]) -> [u8; 2] {
    let [sum, old, new] = [sum, old, new].map(|w| u32::from(u16::from_be_bytes(w)));
    let mut total = (!sum & 0xffff) + (!old & 0xffff) + new;
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    (!total as u16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// A UDP packet over IPv4 with right checksums.
    fn udp(payload: &[u8]) -> Vec<u8> {
        let total = 28 + payload.len();
        let mut packet =
            vec![0x45, 0x02, 0, total as u8, 0, 0, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([0x10, 0, 0x20, 0, 0, (8 + payload.len()) as u8, 0, 0]);
        packet.extend(payload);
        let header = sum(&packet[..20], 0);
        packet[10..12].copy_from_slice(&header.to_be_bytes());
        let body = sum(&packet[12..], u32::from(UDP) + 8 + payload.len() as u32);
        packet[26..28].copy_from_slice(&body.to_be_bytes());
        packet
    }

    fn sum(bytes: &[u8], start: u32) -> u16 {
        let word = |w: &[u8]| u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0));
        let mut total = bytes.chunks(2).map(word).sum::<u32>() + start;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        !total as u16
    }

    fn udp_is_right(packet: &[u8]) -> bool {
        sum(&packet[12..], u32::from(UDP) + packet.len() as u32 - 20) == 0
    }

    #[test]
    fn marks_keep_the_checksum() {
        let mut packet = udp(b"hello");
        mark(&mut packet);
        assert_eq!((packet[1] & 3, sum(&packet[..20], 0)), (3, 0));
    }

    #[test]
    fn damage_is_found_or_hidden_as_told() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for round in 0..500 {
            let before = udp(&b"some bytes that matter"[..1 + round % 22]);
            let mut packet = before.clone();
            harm(&mut packet, Damage::Hidden, &mut rng);
            assert!(udp_is_right(&packet) && packet[28..] != before[28..] && packet[..26] == before[..26]);
            let mut packet = before.clone();
            harm(&mut packet, Damage::Detectable, &mut rng);
            assert!(packet[..20] == before[..20] && packet[20..] != before[20..] && !udp_is_right(&packet));
        }
    }

    #[test]
    fn flows_differ_by_ports_and_nonsense_is_no_trouble() {
        let flow = |bytes: &[u8]| packet(Frame { buffer: bytes.into(), len: bytes.len() }).flow;
        let (one, mut two) = (udp(b"x"), udp(b"x"));
        assert_eq!(flow(&one), flow(&two));
        two[21] = 9;
        assert_ne!(flow(&one), flow(&two));
        assert!(packet(Frame { buffer: one.clone().into(), len: one.len() }).ecn_capable);
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..20_000 {
            let mut bytes = vec![0; rng.random_range(0..64)];
            rng.fill(&mut bytes[..]);
            flow(&bytes);
            harm(&mut bytes, Damage::Hidden, &mut rng);
            mark(&mut bytes);
        }
    }
}
