//! Ancillary data and socket addresses as the kernel lays them out, written and read without raw pointers.
//!
//! A control message (`cmsg(3)`) is a length as wide as a pointer, two ints (level and type), the data, and
//! padding to the width of a pointer. Length counts the header and the data but not the padding.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

const fn padded(len: usize) -> usize {
    len.next_multiple_of(WORD)
}

/// Space for `N` bytes of control messages, aligned as the kernel wants them.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Control<N> {
    pub(crate) const fn new() -> Self {
        Control { bytes: [0; N], len: 0 }
    }

    /// What the kernel might have written: as much as there is room for; for the fuzzer.
    pub(super) fn of(data: &[u8]) -> Self {
        let mut control = Self::new();
        control.len = data.len().min(N);
        control.bytes[..control.len].copy_from_slice(&data[..control.len]);
        control
    }

    /// Appends a message. The callers' constants guarantee the room.
    pub(super) fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        let (start, end) = (self.len, self.len + HEADER + data.len());
        self.bytes[start..start + WORD].copy_from_slice(&(HEADER + data.len()).to_ne_bytes());
        self.bytes[start + WORD..start + WORD + 4].copy_from_slice(&level.to_ne_bytes());
        self.bytes[start + WORD + 4..start + HEADER].copy_from_slice(&kind.to_ne_bytes());
        self.bytes[start + HEADER..end].copy_from_slice(data);
        self.len = start + padded(HEADER + data.len());
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    /// The messages in the first `len` bytes, which the kernel has written: (level, type, data).
    pub(crate) fn messages(&self, len: usize) -> Messages<'_> {
        Messages { rest: &self.bytes[..len.min(N)] }
    }
}

/// Walks over control messages; stops at the first that is cut off.
pub(crate) struct Messages<'c> {
    rest: &'c [u8],
}

impl<'c> Iterator for Messages<'c> {
    type Item = (libc::c_int, libc::c_int, &'c [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let len = usize::from_ne_bytes(self.rest.first_chunk().copied()?);
        let level = int(self.rest.get(WORD..)?)?;
        let kind = int(self.rest.get(WORD + 4..)?)?;
        let data = self.rest.get(HEADER..len)?;
        self.rest = self.rest.get(padded(len)..).unwrap_or(&[]);
        Some((level, kind, data))
    }
}

/// The native-endian int at the start of `bytes`.
pub(crate) fn int(bytes: &[u8]) -> Option<libc::c_int> {
    bytes.first_chunk().map(|b| libc::c_int::from_ne_bytes(*b))
}

/// Bytes of the longest address, `sockaddr_in6`.
pub(super) const NAME_LEN: usize = 28;

/// A socket address as the kernel lays it out: `sockaddr_in` or `sockaddr_in6`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Name {
    bytes: [u8; NAME_LEN],
    len: u32,
}

impl Name {
    pub(super) const fn empty() -> Self {
        Name { bytes: [0; NAME_LEN], len: 0 }
    }

    /// What the kernel might have written; for the fuzzer.
    pub(super) fn of(data: &[u8]) -> Self {
        let mut name = Self::empty();
        let len = data.len().min(NAME_LEN);
        name.bytes[..len].copy_from_slice(&data[..len]);
        name
    }

    pub(super) fn new(address: &SocketAddr) -> Self {
        let mut name = Self::empty();
        let bytes = &mut name.bytes;
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let (family, len) = match address {
            SocketAddr::V4(v4) => {
                bytes[4..8].copy_from_slice(&v4.ip().octets());
                (libc::AF_INET, 16)
            }
            SocketAddr::V6(v6) => {
                bytes[4..8].copy_from_slice(&v6.flowinfo().to_be_bytes());
                bytes[8..24].copy_from_slice(&v6.ip().octets());
                bytes[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
                (libc::AF_INET6, NAME_LEN as u32)
            }
        };
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        name.len = len;
        name
    }

    /// The address that the kernel wrote here.
    pub(super) fn decode(&self) -> Option<SocketAddr> {
        let b = &self.bytes;
        let port = u16::from_be_bytes([b[2], b[3]]);
        match libc::c_int::from(u16::from_ne_bytes([b[0], b[1]])) {
            libc::AF_INET => {
                Some(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(b[4], b[5], b[6], b[7]), port)))
            }
            libc::AF_INET6 => {
                let ip: [u8; 16] = *b[8..24].first_chunk()?;
                let scope = u32::from_ne_bytes(*b[24..28].first_chunk()?);
                Some(SocketAddr::V6(SocketAddrV6::new(ip.into(), port, 0, scope)))
            }
            _ => None,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }
}

/// The data of `IP_PKTINFO` or `IPV6_PKTINFO` that makes the kernel send from `source`, by whatever interface
/// the routes say; with its level, type and length.
pub(super) fn packet_info(source: IpAddr) -> (libc::c_int, libc::c_int, [u8; 20], usize) {
    let mut data = [0; 20];
    match source {
        IpAddr::V4(ip) => {
            // in_pktinfo: interface, address to use, address in the header (which sending ignores).
            data[4..8].copy_from_slice(&ip.octets());
            (libc::IPPROTO_IP, libc::IP_PKTINFO, data, 12)
        }
        IpAddr::V6(ip) => {
            // in6_pktinfo: address, interface.
            data[..16].copy_from_slice(&ip.octets());
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, data, 20)
        }
    }
}

/// The local address and the interface that a received packet-info message names.
pub(super) fn parse_packet_info(level: libc::c_int, data: &[u8]) -> Option<(IpAddr, u32)> {
    if level == libc::IPPROTO_IP {
        let interface = int(data)?;
        let address: [u8; 4] = *data.get(8..)?.first_chunk()?;
        return Some((IpAddr::from(address), interface as u32));
    }
    let address: [u8; 16] = *data.first_chunk()?;
    Some((IpAddr::from(address), int(data.get(16..)?)? as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_their_bytes() {
        for text in ["192.0.2.7:4500", "[2001:db8::7]:4500", "[fe80::1%3]:9"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Name::new(&address).decode(), Some(address));
        }
        assert_eq!(Name::empty().decode(), None);
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut control = Control::<128>::new();
        control.push(1, 2, &[9]);
        control.push(3, 4, &7i32.to_ne_bytes());
        let all: Vec<_> = control.messages(control.len()).collect();
        assert_eq!(all, [(1, 2, &[9][..]), (3, 4, &7i32.to_ne_bytes()[..])]);
        assert_eq!(control.messages(control.len() - 8).count(), 1, "the second is cut off");
        assert_eq!(control.messages(3).count(), 0);
    }

    /// libc's own idea of the layout, so that a platform where it differs is found.
    #[test]
    fn layout_is_the_platforms() {
        assert_eq!(HEADER, size_of::<libc::cmsghdr>());
        assert_eq!(NAME_LEN, size_of::<libc::sockaddr_in6>());
        assert_eq!(16, size_of::<libc::sockaddr_in>());
        assert_eq!(12, size_of::<libc::in_pktinfo>());
        assert_eq!(20, size_of::<libc::in6_pktinfo>());
    }

    #[test]
    fn packet_info_round_trip() {
        let (level, _, data, len) = packet_info("2001:db8::1".parse().unwrap());
        assert_eq!(parse_packet_info(level, &data[..len]), Some(("2001:db8::1".parse().unwrap(), 0)));
        assert_eq!(parse_packet_info(libc::IPPROTO_IP, &[0; 5]), None);
    }
}
