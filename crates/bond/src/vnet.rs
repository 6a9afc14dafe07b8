//! The offload header that travels with a super-packet.
//!
//! Linux hands a TUN reader up to 64 KiB of one TCP or UDP flow as a single "super-packet", with a header that says how
//! it is to be cut (virtio 1.2 §5.1.6, `struct virtio_net_hdr`). Ropewalk carries the super-packet whole and gives
//! the far kernel the same header, so neither end cuts into segments and joins again.

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
    /// Flag on a TCP type: the flow uses ECN.
    pub const GSO_ECN: u8 = 0x80;

    /// Nothing here that the far kernel has to know.
    pub fn is_plain(&self) -> bool {
        self.gso_type == Self::GSO_NONE && self.flags & Self::NEEDS_CSUM == 0
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
        let transport = match self.gso_type & !Self::GSO_ECN {
            _ if self.flags & Self::NEEDS_CSUM == 0 => None,
            Self::GSO_TCPV4 | Self::GSO_TCPV6 => packet.get(start + 12).map(|b| usize::from(b >> 4) * 4),
            Self::GSO_UDP_L4 => Some(8),
            _ => None,
        };
        let hdr_len = transport.and_then(|len| u16::try_from(start + len).ok());
        Vnet { hdr_len: hdr_len.unwrap_or(self.hdr_len), ..self }
    }

    /// The header as it stands in the tunnel: big endian, fields in order.
    pub fn to_wire(self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        b[0] = self.flags;
        b[1] = self.gso_type;
        for (i, v) in [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset].into_iter().enumerate()
        {
            b[2 + 2 * i..4 + 2 * i].copy_from_slice(&v.to_be_bytes());
        }
        b
    }

    /// Reads a header from the tunnel. Whether it fits its packet is for [`Vnet::fits`] to say.
    pub fn from_wire(b: &[u8; Self::LEN]) -> Self {
        let at = |i: usize| u16::from_be_bytes([b[i], b[i + 1]]);
        Vnet {
            flags: b[0],
            gso_type: b[1],
            hdr_len: at(2),
            gso_size: at(4),
            csum_start: at(6),
            csum_offset: at(8),
        }
    }

    /// Whether the kernel would take this header for a packet of `len` bytes: a peer may send anything.
    pub fn fits(&self, len: usize) -> bool {
        let csum = self.flags & Self::NEEDS_CSUM == 0
            || self.csum_start as usize + self.csum_offset as usize + 2 <= len;
        let gso = match self.gso_type & !Self::GSO_ECN {
            Self::GSO_NONE => true,
            Self::GSO_TCPV4 | Self::GSO_TCPV6 | Self::GSO_UDP_L4 => {
                self.gso_size > 0
                    && self.flags & Self::NEEDS_CSUM != 0
                    && (self.hdr_len as usize) < len
                    && self.hdr_len >= 28
            }
            _ => false,
        };
        csum && gso
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_the_wire() {
        let v = Vnet { flags: 1, gso_type: 4, hdr_len: 72, gso_size: 1368, csum_start: 40, csum_offset: 16 };
        assert_eq!(Vnet::from_wire(&v.to_wire()), v);
        assert_eq!(v.segments(72 + 1368 * 3 + 1), 4);
    }

    #[test]
    fn headers_are_as_long_as_the_packet_says() {
        let mut packet = [0; 2948];
        packet[32] = 8 << 4;
        // Forwarded from a TAP device: both segments in one piece of memory.
        let v =
            Vnet { flags: 1, gso_type: 1, hdr_len: 2948, gso_size: 1448, csum_start: 20, csum_offset: 16 };
        assert!(!v.fits(packet.len()));
        let measured = v.measured(&packet);
        assert_eq!((measured, measured.segments(2948)), (Vnet { hdr_len: 52, ..v }, 2));
        assert!(measured.fits(packet.len()));
        let udp = Vnet { gso_type: Vnet::GSO_UDP_L4, ..v };
        assert_eq!(udp.measured(&packet).hdr_len, 28);
        // What says nothing of its headers stays as it is.
        for odd in [Vnet { flags: 0, ..v }, Vnet { gso_type: 0, ..v }, Vnet { csum_start: 2940, ..v }] {
            assert_eq!(odd.measured(&packet), odd);
        }
    }

    #[test]
    fn refuses_headers_that_point_outside() {
        let v = Vnet { flags: 1, gso_type: 1, hdr_len: 52, gso_size: 1448, csum_start: 20, csum_offset: 16 };
        assert!(v.fits(4000));
        assert!(!v.fits(37));
        assert!(!Vnet { gso_size: 0, ..v }.fits(4000));
        assert!(!Vnet { gso_type: 77, ..v }.fits(4000));
    }
}
