//! What routers say of packets that they did not pass on (RFC 792, RFC 1191).

use crate::inner::{TCP, UDP, half, icmp_sum, seal_header, word};
use std::net::{Ipv4Addr, SocketAddrV4};

const ICMP: u8 = 1;
const UNREACHABLE: u8 = 3;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER: u8 = 12;
/// Code of [`UNREACHABLE`]: the packet must not be cut, and is too long.
const TOO_LONG: u8 = 4;
/// Where the quoted packet begins.
const QUOTE: usize = 28;

/// A message about a packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Protocol of the packet.
    pub protocol: u8,
    /// Who sent the packet.
    pub source: SocketAddrV4,
    /// Who was to get it.
    pub destination: SocketAddrV4,
    /// TCP: number of its first byte.
    pub seq: Option<u32>,
    /// It was too long: what the next link takes, bytes; 0 from routers that do not say it.
    pub mtu: Option<u16>,
}

/// Reads a message; none if it is something else, damaged, or not for the sender of the packet.
pub fn read(packet: &[u8]) -> Option<Trouble> {
    let whole = packet.first() == Some(&0x45) && usize::from(half(packet, 2)?) == packet.len();
    let fragment = half(packet, 6)? & 0x3FFF != 0;
    let kind = *packet.get(20)?;
    let error = *packet.get(9)? == ICMP && matches!(kind, UNREACHABLE | TIME_EXCEEDED | PARAMETER);
    if !whole || fragment || !error || icmp_sum(&packet[20..]) != 0 {
        return None;
    }
    let quote = packet.get(QUOTE..QUOTE + 28).filter(|q| q[0] == 0x45)?;
    let protocol = quote[9];
    if !matches!(protocol, TCP | UDP) || half(quote, 6)? & 0x1FFF != 0 {
        return None;
    }
    let end =
        |address, port| Some(SocketAddrV4::new(Ipv4Addr::from(word(quote, address)?), half(quote, port)?));
    let source = end(12, 20)?;
    if Ipv4Addr::from(word(packet, 16)?) != *source.ip() {
        return None;
    }
    Some(Trouble {
        protocol,
        source,
        destination: end(16, 22)?,
        seq: if protocol == TCP { word(quote, 24) } else { None },
        mtu: if kind == UNREACHABLE && packet[21] == TOO_LONG { half(packet, 26) } else { None },
    })
}

/// The same message for the packet's sender by another name, as an address translation makes it.
/// What [`read`] does not understand stays as it is.
pub fn readdress(packet: &mut [u8], to: SocketAddrV4) {
    if read(packet).is_none() {
        return;
    }
    let (address, port) = (to.ip().octets(), to.port().to_be_bytes());
    packet[16..20].copy_from_slice(&address);
    packet[QUOTE + 12..QUOTE + 16].copy_from_slice(&address);
    packet[QUOTE + 20..QUOTE + 22].copy_from_slice(&port);
    seal_header(&mut packet[QUOTE..]);
    packet[22..24].fill(0);
    let sum = icmp_sum(&packet[20..]);
    packet[22..24].copy_from_slice(&sum.to_be_bytes());
    seal_header(packet);
}

/// A message that a packet is too long, as the router `from` makes it.
#[cfg(test)]
pub(crate) fn too_long(packet: &[u8], from: Ipv4Addr, mtu: u16) -> Vec<u8> {
    let quote = &packet[..packet.len().min(68)];
    let length = (QUOTE + quote.len()) as u16;
    let mut out = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, ICMP, 0, 0];
    out[2..4].copy_from_slice(&length.to_be_bytes());
    out.extend(from.octets());
    out.extend(&packet[12..16]);
    out.extend([UNREACHABLE, TOO_LONG, 0, 0, 0, 0]);
    out.extend(mtu.to_be_bytes());
    out.extend(quote);
    let sum = icmp_sum(&out[20..]);
    out[22..24].copy_from_slice(&sum.to_be_bytes());
    seal_header(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner;
    use crate::inner::tests::segment;

    #[test]
    fn a_message_is_read_and_finds_its_sender_by_another_name() {
        let packet = segment(77, 1400, Some(3));
        let parsed = inner::parse(&packet).unwrap();
        let mut message = too_long(&packet, [10, 9, 9, 9].into(), 1300);
        let trouble = read(&message).unwrap();
        let want = Trouble {
            protocol: TCP,
            source: parsed.source,
            destination: parsed.destination,
            seq: Some(77),
            mtu: Some(1300),
        };
        assert_eq!(trouble, want);
        let home: SocketAddrV4 = "192.168.7.7:1234".parse().unwrap();
        readdress(&mut message, home);
        assert_eq!(read(&message), Some(Trouble { source: home, ..want }));
        let (mut header, mut quoted) = (message[..20].to_vec(), message[QUOTE..QUOTE + 20].to_vec());
        for bytes in [&mut header, &mut quoted] {
            let said = bytes.clone();
            seal_header(bytes);
            assert_eq!(*bytes, said, "checksums fit");
        }
    }

    #[test]
    fn what_is_cut_off_damaged_or_something_else_is_nothing() {
        let message = too_long(&segment(77, 1400, None), [10, 9, 9, 9].into(), 1300);
        for at in 0..message.len() {
            assert_eq!(read(&message[..at]), None, "{at} bytes");
            let mut damaged = message.clone();
            damaged[at] ^= 0x40;
            // Of the outer header only what says how to read it is looked at: the kernel has
            // checked the rest.
            assert!(read(&damaged).is_none() || at < 20, "byte {at}");
        }
        assert_eq!(read(&segment(1, 10, None)), None);
        let mut other = segment(1, 10, None);
        let same = other.clone();
        readdress(&mut other, "1.2.3.4:5".parse().unwrap());
        assert_eq!(other, same);
    }
}
