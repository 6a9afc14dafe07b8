//! Cutting a super-packet into the packets it stands for, where the kernel cannot, or the far end would not take it.
//!
//! The rules are those of the kernel's own segmentation: every packet repeats the headers; lengths are its
//! own; an IPv4 identification counts up (RFC 6864 allows any value for packets that may not be fragmented);
//! TCP sequence numbers advance by the payload; FIN and PSH belong to the last packet and CWR to the first
//! (RFC 3168, 6.1.2).

use super::checksum::pseudo_header;
use etherparse::checksum::Sum16BitWords;
use ropewalk_bond::vnet::Vnet;

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Why a super-packet cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The header names a kind of super-packet that is not TCP or UDP over IP.
    #[error("a super-packet of kind {0} cannot be cut: only TCP and UDP segmentation are understood")]
    Kind(u8),
    /// The packet's bytes do not agree with its header.
    #[error("a super-packet's headers do not agree with its virtio header; the packet is dropped")]
    Malformed,
}

/// The packets of one super-packet, cut one at a time into a buffer of the caller's.
///
/// ```
/// # use ropewalk_bond::vnet::Vnet;
/// # use ropewalk_net::tun::Segments;
/// # fn f(header: &Vnet, packet: &[u8]) -> Result<(), ropewalk_net::tun::SegmentError> {
/// let mut buffer = vec![0; 65_535];
/// let mut segments = Segments::new(header, packet)?;
/// while let Some(packet) = segments.next_into(&mut buffer) {
///     // write `packet` somewhere
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Segments<'p> {
    headers: &'p [u8],
    payload: &'p [u8],
    network_at: usize,
    transport_at: usize,
    protocol: u8,
    size: usize,
    index: u32,
    sequence: u32,
}

impl<'p> Segments<'p> {
    /// Checks the headers of `packet`, a super-packet that starts with its IP header.
    pub fn new(header: &Vnet, packet: &'p [u8]) -> Result<Self, SegmentError> {
        Self::behind(0, header, packet)
    }

    /// The same for a super-packet that starts with its Ethernet header, as on a TAP device. Each segment gets all of that.
    pub fn of_frame(header: &Vnet, frame: &'p [u8]) -> Result<Self, SegmentError> {
        Self::behind(network_at(frame).ok_or(SegmentError::Malformed)?, header, frame)
    }

    fn behind(network_at: usize, header: &Vnet, packet: &'p [u8]) -> Result<Self, SegmentError> {
        let ip = packet.get(network_at..).unwrap_or_default();
        let (version, protocol) = match header.kind() {
            Vnet::GSO_TCPV4 => (4, TCP),
            Vnet::GSO_TCPV6 => (6, TCP),
            Vnet::GSO_UDP_L4 => (ip.first().map_or(0, |b| b >> 4), UDP),
            kind => return Err(SegmentError::Kind(kind)),
        };
        let transport_at =
            transport_offset(header, ip, network_at, version).ok_or(SegmentError::Malformed)?;
        let headers_len = match protocol {
            TCP => tcp_header_end(packet, transport_at).ok_or(SegmentError::Malformed)?,
            _ => transport_at + UDP_HEADER,
        };
        let (headers, payload) = packet.split_at_checked(headers_len).ok_or(SegmentError::Malformed)?;
        let size = usize::from(header.gso_size);
        if size == 0 || payload.is_empty() || headers_len + size > usize::from(u16::MAX) {
            return Err(SegmentError::Malformed);
        }
        let sequence = if protocol == TCP { be32(&headers[transport_at + 4..]) } else { 0 };
        Ok(Segments { headers, payload, network_at, transport_at, protocol, size, index: 0, sequence })
    }

    /// The largest packet that will come, in bytes: what the buffer must hold.
    pub fn largest(&self) -> usize {
        self.headers.len() + self.size.min(self.payload.len())
    }

    /// Writes the next packet to the start of `out` and returns it, or `None` when all are out or `out` is
    /// shorter than [`largest`](Self::largest).
    pub fn next_into<'o>(&mut self, out: &'o mut [u8]) -> Option<&'o mut [u8]> {
        if self.payload.is_empty() || out.len() < self.largest() {
            return None;
        }
        let (payload, rest) = self.payload.split_at(self.size.min(self.payload.len()));
        let out = &mut out[..self.headers.len() + payload.len()];
        out[..self.headers.len()].copy_from_slice(self.headers);
        out[self.headers.len()..].copy_from_slice(payload);
        let last = rest.is_empty();
        let (ip, transport) = out[self.network_at..].split_at_mut(self.transport_at - self.network_at);
        self.fix_ip(ip, transport.len());
        self.fix_transport(ip, transport, last);
        self.payload = rest;
        self.index += 1;
        self.sequence = self.sequence.wrapping_add(payload.len() as u32);
        Some(out)
    }

    fn fix_ip(&self, ip: &mut [u8], transport: usize) {
        let length = ip.len() + transport;
        if ip[0] >> 4 == 6 {
            ip[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            return;
        }
        let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(self.index as u16);
        ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        ip[10..12].fill(0);
        let sum = Sum16BitWords::new().add_slice(ip).ones_complement();
        ip[10..12].copy_from_slice(&sum.to_ne_bytes());
    }

    fn fix_transport(&self, ip: &[u8], transport: &mut [u8], last: bool) {
        let length = transport.len() as u16;
        let field = if self.protocol == TCP {
            transport[4..8].copy_from_slice(&self.sequence.to_be_bytes());
            if self.index > 0 {
                transport[13] &= !CWR;
            }
            if !last {
                transport[13] &= !(FIN | PSH);
            }
            16
        } else {
            transport[4..6].copy_from_slice(&length.to_be_bytes());
            6
        };
        transport[field..field + 2].fill(0);
        let sum = pseudo_header(ip, self.protocol, length).add_slice(transport);
        transport[field..field + 2].copy_from_slice(&sum.to_ones_complement_with_no_zero().to_ne_bytes());
    }
}

/// Where the IP header of a frame begins: behind the addresses, at most two tags (802.1Q, 802.1ad) and the type.
fn network_at(frame: &[u8]) -> Option<usize> {
    let is_tag = |at: usize| matches!(frame.get(at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8]));
    let at = [14, 18, 22].into_iter().find(|at| !is_tag(at - 2)).unwrap_or(22);
    (at <= frame.len()).then_some(at)
}

/// Where the transport header starts. The virtio header knows it, extension headers included; only what the
/// IP header, which starts at `network_at`, contradicts is refused.
fn transport_offset(header: &Vnet, ip: &[u8], network_at: usize, version: u8) -> Option<usize> {
    let start = usize::from(header.csum_start).checked_sub(network_at)?;
    let first = *ip.first()?;
    let agrees = match version {
        4 => start >= 20 && start == usize::from(first & 0x0f) * 4,
        6 => start >= 40,
        _ => false,
    };
    (first >> 4 == version && agrees && header.needs_csum() && start <= ip.len())
        .then_some(network_at + start)
}

fn tcp_header_end(packet: &[u8], at: usize) -> Option<usize> {
    let length = usize::from(packet.get(at + 12)? >> 4) * 4;
    (length >= 20).then_some(at + length)
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
