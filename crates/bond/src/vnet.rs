//! The offload header that travels with a super-packet.
//!
//! Linux hands a TUN reader up to 64 KiB of one TCP or UDP flow as a single "super-packet", with a header that says how
//! it is to be cut (virtio 1.2 §5.1.6, `struct virtio_net_hdr`). Ropewalk carries the super-packet whole and gives
//! the far kernel the same header, so neither end cuts into segments and joins again.

use crate::inner::Inner;

/// The virtio network header of one device packet, in host order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vnet {
    /// [`Vnet::NEEDS_CSUM`] or [`Vnet::DATA_VALID`].
    pub flags: u8,
    /// One of the `GSO_*` constants.
    pub gso_type: u8,
    /// Length of the IP and transport headers, bytes; a hint.
    pub hdr_len: u16,
    /// Payload bytes of each segment.
    pub gso_size: u16,
    /// Where the checksummed part begins, bytes from the start of the IP header.
    pub csum_start: u16,
    /// Where the checksum lies, bytes from `csum_start`.
    pub csum_offset: u16,
}

impl Vnet {
    /// Length of the header in the tunnel, bytes.
    pub const LEN: usize = 10;
    /// The checksum covers only the pseudo header so far.
    pub const NEEDS_CSUM: u8 = 1;
    /// The checksum was verified.
    pub const DATA_VALID: u8 = 2;
    /// Not a super-packet.
    pub const GSO_NONE: u8 = 0;
    /// TCP over IPv4.
    pub const GSO_TCPV4: u8 = 1;
    /// TCP over IPv6.
    pub const GSO_TCPV6: u8 = 4;
    /// UDP datagrams of equal length (USO).
    pub const GSO_UDP_L4: u8 = 5;
    /// Flag on a TCP type: CWR is set, and belongs to the first segment only (RFC 3168 §6.1.2).
    pub const GSO_ECN: u8 = 0x80;
    /// Least payload of each segment but the last, bytes: 536 (RFC 9293 §3.7.1) less options. Where the far exit cuts in software, a segment costs some 0.5 µs.
    pub const LEAST_SEGMENT: u16 = 500;
    /// Most segments of one super-packet.
    pub const MOST_SEGMENTS: usize = 128;

    /// The kind of super-packet, without [`Vnet::GSO_ECN`].
    pub const fn kind(&self) -> u8 {
        self.gso_type & !Self::GSO_ECN
    }

    /// Whether the packet stands for several.
    pub const fn is_super(&self) -> bool {
        self.kind() != Self::GSO_NONE
    }

    /// Whether the transport checksum is still to be completed.
    pub const fn needs_csum(&self) -> bool {
        self.flags & Self::NEEDS_CSUM != 0
    }

    /// Nothing here that the far kernel has to know.
    pub fn is_plain(&self) -> bool {
        self.gso_type == Self::GSO_NONE && !self.needs_csum()
    }

    /// How many segments `len` bytes of packet stand for.
    pub fn segments(&self, len: usize) -> usize {
        if self.gso_type == Self::GSO_NONE || self.gso_size == 0 {
            return 1;
        }
        len.saturating_sub(self.hdr_len as usize).div_ceil(self.gso_size as usize).max(1)
    }

    /// The same with the true length of the headers. The kernel's is what lies in one piece of memory: of a small super-packet that it forwards, all of it.
    #[must_use]
    pub fn measured(self, packet: &[u8]) -> Vnet {
        let start = usize::from(self.csum_start);
        let transport = match self.kind() {
            _ if !self.needs_csum() => None,
            Self::GSO_TCPV4 | Self::GSO_TCPV6 => packet.get(start + 12).map(|b| usize::from(b >> 4) * 4),
            Self::GSO_UDP_L4 => Some(8),
            _ => None,
        };
        let hdr_len = transport.and_then(|len| u16::try_from(start + len).ok());
        Vnet { hdr_len: hdr_len.unwrap_or(self.hdr_len), ..self }
    }

    /// The header as it stands in the tunnel: big endian, fields in order.
    pub fn to_wire(self) -> [u8; Self::LEN] {
        self.bytes(u16::to_be_bytes)
    }

    /// The header as a device takes it: in the order of this machine, which is the kernel's unless `TUNSETVNETLE` or `TUNSETVNETBE` is called.
    pub fn to_device(self) -> [u8; Self::LEN] {
        self.bytes(u16::to_ne_bytes)
    }

    fn bytes(self, order: fn(u16) -> [u8; 2]) -> [u8; Self::LEN] {
        let [[h0, h1], [g0, g1], [s0, s1], [o0, o1]] =
            [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset].map(order);
        [self.flags, self.gso_type, h0, h1, g0, g1, s0, s1, o0, o1]
    }

    /// Reads a header from the tunnel. Whether it fits its packet is for [`Vnet::fits`] to say.
    pub fn from_wire(b: &[u8; Self::LEN]) -> Self {
        Self::read(b, u16::from_be_bytes)
    }

    /// Reads a header from a device.
    pub fn from_device(b: &[u8; Self::LEN]) -> Self {
        Self::read(b, u16::from_ne_bytes)
    }

    fn read(b: &[u8; Self::LEN], order: fn([u8; 2]) -> u16) -> Self {
        let at = |i: usize| order([b[i], b[i + 1]]);
        Vnet {
            flags: b[0],
            gso_type: b[1],
            hdr_len: at(2),
            gso_size: at(4),
            csum_start: at(6),
            csum_offset: at(8),
        }
    }

    /// Whether a far end takes a packet of `len` bytes cut so finely: see [`Vnet::LEAST_SEGMENT`]. One that is cut finer is cut before it is sent.
    pub fn is_too_fine(&self, len: usize) -> bool {
        self.gso_type != Self::GSO_NONE
            && (self.gso_size < Self::LEAST_SEGMENT
                || len.div_ceil(self.gso_size.into()) > Self::MOST_SEGMENTS)
    }

    /// Whether this header may go to the kernel with this packet. A peer may send anything, and the kernel writes a checksum where the header says, and
    /// cuts as finely as it says, after all that was looked at before. So it has to say what the packet itself does.
    pub fn fits(&self, inner: &Inner, packet: &[u8]) -> bool {
        if self.flags & !(Self::NEEDS_CSUM | Self::DATA_VALID) != 0 {
            return false;
        }
        if self.is_plain() {
            return true;
        }
        let Some((checksum_at, header)) = transport(inner, packet) else { return false };
        let headers = usize::from(inner.transport_at) + header;
        let checksum = self.needs_csum()
            && (self.csum_start, self.csum_offset) == (inner.transport_at, checksum_at)
            && headers <= packet.len();
        let kind = match self.kind() {
            Self::GSO_NONE => return checksum && self.gso_type == Self::GSO_NONE,
            Self::GSO_TCPV4 => inner.is_tcp() && inner.src.is_ipv4(),
            Self::GSO_TCPV6 => inner.is_tcp() && inner.src.is_ipv6(),
            Self::GSO_UDP_L4 => inner.is_udp() && self.gso_type == Self::GSO_UDP_L4,
            _ => false,
        };
        // A fragment has no transport header to go by, and its payload begins before the end of the one that it seems to have.
        let lengths = usize::from(self.hdr_len) == headers
            && inner.payload_len > 0
            && headers + inner.payload_len as usize == packet.len();
        checksum
            && kind
            && lengths
            && self.gso_size >= Self::LEAST_SEGMENT
            && self.segments(packet.len()) <= Self::MOST_SEGMENTS
    }
}

/// Where the checksum lies in a packet's transport header, and how long that header is.
fn transport(inner: &Inner, packet: &[u8]) -> Option<(u16, usize)> {
    if inner.is_tcp() {
        let header = usize::from(packet.get(usize::from(inner.transport_at) + 12)? >> 4) * 4;
        return (header >= 20).then_some((16, header));
    }
    inner.is_udp().then_some((6, 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    const PAYLOAD: usize = 4000;

    #[test]
    fn a_header_survives_the_wire_and_the_device() {
        let v =
            Vnet { flags: 1, gso_type: 0x84, hdr_len: 72, gso_size: 1388, csum_start: 40, csum_offset: 16 };
        assert_eq!((Vnet::from_wire(&v.to_wire()), Vnet::from_device(&v.to_device())), (v, v));
        assert_eq!(v.to_wire(), [1, 0x84, 0, 72, 5, 108, 0, 40, 0, 16]);
        assert!(v.kind() == Vnet::GSO_TCPV6 && v.is_super() && v.needs_csum());
    }

    /// A super-packet as the kernel hands it out, and its header.
    fn super_packet(v6: bool, tcp: bool) -> (Vnet, Vec<u8>) {
        let ip = match v6 {
            false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            true => PacketBuilder::ipv6([1; 16], [2; 16], 64),
        };
        let mut packet = Vec::new();
        let payload = [7; PAYLOAD];
        match tcp {
            true => ip.tcp(1, 2, 3, 4).write(&mut packet, &payload).unwrap(),
            false => ip.udp(1, 2).write(&mut packet, &payload).unwrap(),
        }
        let (csum_start, kind) = match (v6, tcp) {
            (false, true) => (20, Vnet::GSO_TCPV4),
            (true, true) => (40, Vnet::GSO_TCPV6),
            (v6, false) => (20 + 20 * u16::from(v6), Vnet::GSO_UDP_L4),
        };
        let (csum_offset, header) = if tcp { (16, 20) } else { (6, 8) };
        let hdr_len = csum_start + header;
        (Vnet { flags: 1, gso_type: kind, hdr_len, gso_size: 1448, csum_start, csum_offset }, packet)
    }

    fn fits(vnet: Vnet, packet: &[u8]) -> bool {
        vnet.fits(&Inner::parse(packet).expect("a packet"), packet)
    }

    #[test]
    fn survives_the_wire() {
        let v = Vnet { flags: 1, gso_type: 4, hdr_len: 72, gso_size: 1368, csum_start: 40, csum_offset: 16 };
        assert_eq!(Vnet::from_wire(&v.to_wire()), v);
        assert_eq!(v.segments(72 + 1368 * 3 + 1), 4);
    }

    #[test]
    fn headers_are_as_long_as_the_packet_says() {
        let (v, packet) = super_packet(false, true);
        // Forwarded from a TAP device: all segments in one piece of memory.
        let forwarded = Vnet { hdr_len: packet.len() as u16, ..v };
        assert!(!fits(forwarded, &packet));
        assert_eq!((forwarded.measured(&packet), v.segments(packet.len())), (v, 3));
        let (udp, packet) = super_packet(true, false);
        assert_eq!(Vnet { hdr_len: 0, ..udp }.measured(&packet), udp);
        // What says nothing of its headers stays as it is.
        for odd in [Vnet { flags: 0, ..v }, Vnet { gso_type: 0, ..v }, Vnet { csum_start: 4039, ..v }] {
            assert_eq!(odd.measured(&packet), odd);
        }
    }

    #[test]
    fn what_the_kernel_hands_out_fits() {
        for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
            let (v, packet) = super_packet(v6, tcp);
            assert!(fits(v, &packet) && !v.is_too_fine(packet.len()), "{v:?}");
            assert!(fits(Vnet { gso_type: 0, gso_size: 0, ..v }, &packet) && fits(Vnet::default(), &packet));
            assert_eq!(fits(Vnet { gso_type: v.gso_type | Vnet::GSO_ECN, ..v }, &packet), tcp);
        }
        // A frame with a tag, whose offsets count from its start.
        let (v, packet) = super_packet(false, true);
        let frame = [&[2; 12][..], &[0x81, 0, 0, 7, 8, 0], &packet].concat();
        let inner = Inner::parse_frame(&frame).unwrap();
        let shifted = Vnet { hdr_len: v.hdr_len + 18, csum_start: v.csum_start + 18, ..v };
        assert!(shifted.fits(&inner, &frame) && !v.fits(&inner, &frame));
    }

    #[test]
    fn segments_of_one_byte_are_refused() {
        let (v, packet) = super_packet(false, true);
        for (gso_size, good) in [(0, false), (1, false), (499, false), (500, true), (u16::MAX, true)] {
            let v = Vnet { gso_size, ..v };
            assert_eq!((fits(v, &packet), v.is_too_fine(packet.len())), (good, !good), "{gso_size}");
        }
        let v = Vnet { gso_size: 510, ..v };
        assert!(!v.is_too_fine(128 * 510) && v.is_too_fine(128 * 510 + 1));
    }

    #[test]
    fn a_header_of_another_kind_than_its_packet_is_refused() {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        for (v6, tcp) in kinds {
            let (v, packet) = super_packet(v6, tcp);
            for gso_type in 1..=255u8 {
                let ecn = tcp && gso_type == v.gso_type | Vnet::GSO_ECN;
                let good = gso_type == v.gso_type || ecn;
                assert_eq!(fits(Vnet { gso_type, ..v }, &packet), good, "{gso_type} on {v6} {tcp}");
            }
            (2..=255).filter(|f| *f != 3).for_each(|flags| assert!(!fits(Vnet { flags, ..v }, &packet)));
        }
    }

    /// The kernel writes a checksum there, after the source address was looked at.
    #[test]
    fn a_checksum_goes_where_the_packet_has_one() {
        let (v, packet) = super_packet(false, true);
        for super_packet in [true, false] {
            let v = if super_packet { v } else { Vnet { gso_type: 0, gso_size: 0, hdr_len: 0, ..v } };
            assert!(fits(v, &packet));
            for (csum_start, csum_offset) in [(12, 0), (0, 12), (20, 6), (24, 12), (20, 4018), (u16::MAX, 16)]
            {
                assert!(!fits(Vnet { csum_start, csum_offset, ..v }, &packet), "{csum_start} {csum_offset}");
            }
        }
        // Of a packet without a transport that has one, and of one that is cut short.
        let mut other = packet.clone();
        other[9] = 1;
        assert!(!fits(Vnet { gso_type: 0, ..v }, &other));
        assert!(!fits(Vnet { gso_type: 0, ..v }, &packet[..38]));
        // A fragment, though its bytes look like a header.
        let mut fragment = packet.clone();
        fragment[6] = 0x20;
        assert!(!fits(v, &fragment));
    }

    #[test]
    fn lengths_agree() {
        let (v, packet) = super_packet(false, true);
        for hdr_len in [0, 28, 39, 41, packet.len() as u16] {
            assert!(!fits(Vnet { hdr_len, ..v }, &packet));
        }
        let longer = [&packet[..], &[0; 9]].concat();
        assert!(!fits(v, &longer), "the IP header says less");
        let mut short_header = packet.clone();
        short_header[32] = 4 << 4;
        assert!(!fits(Vnet { hdr_len: 36, ..v }, &short_header));
        assert!(!fits(v, &packet[..40]), "no payload");
    }
}
