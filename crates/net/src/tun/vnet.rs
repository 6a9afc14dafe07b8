//! The virtio-net header that stands before every packet of a TUN device opened with `IFF_VNET_HDR`.
//!
//! Layout and meaning: VIRTIO 1.2, section 5.1.6, in its legacy form: ten bytes, integers in the byte order
//! of this machine (the kernel's order unless `TUNSETVNETLE` or `TUNSETVNETBE` is called, which we never do).

/// Bytes that the header takes on the device.
pub const VNET_HDR_LEN: usize = 10;

/// Flag: the checksum at `csum_start + csum_offset` covers only the pseudo-header; the receiver of the header
/// is to sum from `csum_start` to the end of the packet and store the result there.
pub const NEEDS_CSUM: u8 = 1;
/// Flag: whoever wrote the header has verified the transport checksum.
pub const DATA_VALID: u8 = 2;

/// `gso_type`: an ordinary packet.
pub const GSO_NONE: u8 = 0;
/// `gso_type`: a TCP super-packet over IPv4.
pub const GSO_TCPV4: u8 = 1;
/// `gso_type`: a UDP datagram to be cut into IP fragments (the retired UFO; never negotiated here).
pub const GSO_UDP: u8 = 3;
/// `gso_type`: a TCP super-packet over IPv6.
pub const GSO_TCPV6: u8 = 4;
/// `gso_type`: a UDP super-packet, each segment a datagram of its own (USO, Linux 6.2).
pub const GSO_UDP_L4: u8 = 5;
/// Added to a TCP `gso_type`: CWR is set and belongs to the first segment only (RFC 3168, 6.1.2).
pub const GSO_ECN: u8 = 0x80;

/// What the kernel says about a packet it hands out, and wants to know about one that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHdr {
    /// [`NEEDS_CSUM`] and [`DATA_VALID`].
    pub flags: u8,
    /// One of the `GSO_*` kinds, with [`GSO_ECN`] added where it applies.
    pub gso_type: u8,
    /// Bytes of IP and transport headers; a hint, not to be trusted.
    pub hdr_len: u16,
    /// Payload bytes of each segment but the last, which may be shorter. Zero for ordinary packets.
    pub gso_size: u16,
    /// Where the transport header starts, in bytes from the start of the IP header.
    pub csum_start: u16,
    /// Where the checksum field lies, in bytes from `csum_start`: 16 for TCP, 6 for UDP.
    pub csum_offset: u16,
}

impl VnetHdr {
    /// Reads the header from the device's bytes.
    pub const fn decode(bytes: &[u8; VNET_HDR_LEN]) -> Self {
        VnetHdr {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: field(bytes, 2),
            gso_size: field(bytes, 4),
            csum_start: field(bytes, 6),
            csum_offset: field(bytes, 8),
        }
    }

    /// The header as the device takes it.
    pub const fn encode(&self) -> [u8; VNET_HDR_LEN] {
        let [h0, h1] = self.hdr_len.to_ne_bytes();
        let [g0, g1] = self.gso_size.to_ne_bytes();
        let [s0, s1] = self.csum_start.to_ne_bytes();
        let [o0, o1] = self.csum_offset.to_ne_bytes();
        [self.flags, self.gso_type, h0, h1, g0, g1, s0, s1, o0, o1]
    }

    /// The kind of super-packet without the ECN bit.
    pub const fn gso_kind(&self) -> u8 {
        self.gso_type & !GSO_ECN
    }

    /// Whether the packet stands for several.
    pub const fn is_super(&self) -> bool {
        self.gso_kind() != GSO_NONE
    }

    /// Whether the transport checksum is still to be completed.
    pub const fn needs_csum(&self) -> bool {
        self.flags & NEEDS_CSUM != 0
    }
}

const fn field(bytes: &[u8; VNET_HDR_LEN], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_survives_its_bytes() {
        let header = VnetHdr {
            flags: NEEDS_CSUM,
            gso_type: GSO_TCPV6 | GSO_ECN,
            hdr_len: 72,
            gso_size: 1388,
            csum_start: 40,
            csum_offset: 16,
        };
        assert_eq!(VnetHdr::decode(&header.encode()), header);
        assert_eq!(header.gso_kind(), GSO_TCPV6);
        assert!(header.is_super() && header.needs_csum());
    }
}
