//! Internet checksums (RFC 1071) for packets that the kernel left unfinished.

use etherparse::checksum::Sum16BitWords;

use ropewalk_bond::vnet::Vnet;

/// Completes the transport checksum of a packet whose header says `Vnet::NEEDS_CSUM`, in place.
///
/// Returns `false`, and changes nothing, if the header points outside the packet. A packet whose checksum is
/// complete is left as it is.
pub fn finish(header: &Vnet, packet: &mut [u8]) -> bool {
    if !header.needs_csum() {
        return true;
    }
    let start = usize::from(header.csum_start);
    let field = start + usize::from(header.csum_offset);
    if field + 2 > packet.len() {
        return false;
    }
    // The field holds the sum of the pseudo-header already, so it takes part in the sum.
    let sum = Sum16BitWords::new().add_slice(&packet[start..]);
    // etherparse sums in this machine's byte order (RFC 1071, 2B), hence native bytes here and below. A
    // transport checksum of zero is sent as its other form: for UDP zero means "none" (RFC 768), TCP takes
    // either.
    packet[field..field + 2].copy_from_slice(&sum.to_ones_complement_with_no_zero().to_ne_bytes());
    true
}

/// The sum of the pseudo-header for `length` bytes of `protocol` between the addresses in `ip`, an IPv4 (RFC
/// 9293, 3.1) or IPv6 (RFC 8200, 8.1) header that is at least 20 or 40 bytes long.
pub(super) fn pseudo_header(ip: &[u8], protocol: u8, length: u16) -> Sum16BitWords {
    let addresses = if ip[0] >> 4 == 4 { &ip[12..20] } else { &ip[8..40] };
    Sum16BitWords::new().add_slice(addresses).add_2bytes([0, protocol]).add_2bytes(length.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};

    fn partial_udp(payload: &[u8]) -> (Vnet, Vec<u8>) {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(9, 10).write(&mut packet, payload).unwrap();
        let length = u16::from_be_bytes([packet[24], packet[25]]);
        let partial = !pseudo_header(&packet, 17, length).ones_complement();
        packet[26..28].copy_from_slice(&partial.to_ne_bytes());
        let header = Vnet { flags: Vnet::NEEDS_CSUM, csum_start: 20, csum_offset: 6, ..Vnet::default() };
        (header, packet)
    }

    #[test]
    fn finishing_gives_the_full_checksum() {
        for length in [0, 1, 2, 7, 8, 1399, 1400] {
            let (header, mut packet) = partial_udp(&vec![0xa5; length]);
            assert!(finish(&header, &mut packet));
            let sliced = SlicedPacket::from_ip(&packet).unwrap();
            let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("no UDP header") };
            let expected =
                udp.to_header().calc_checksum_ipv4_raw([10, 0, 0, 1], [10, 0, 0, 2], udp.payload()).unwrap();
            assert_eq!(udp.checksum(), expected, "payload of {length}");
        }
    }

    #[test]
    fn a_header_that_points_outside_changes_nothing() {
        let (mut header, mut packet) = partial_udp(b"x");
        header.csum_start = 28;
        let before = packet.clone();
        assert!(!finish(&header, &mut packet));
        assert_eq!(packet, before);
    }
}
