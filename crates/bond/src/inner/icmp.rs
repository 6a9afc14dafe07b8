//! "Packet too big", said to the sender of a packet that the far device cannot take (RFC 1191 §4, RFC 8201 §4).

use super::Inner;
use core::net::IpAddr;
use etherparse::{
    Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type, IpNumber, Ipv4Header, Ipv6Header, icmpv4,
};

/// Writes the ICMP error for `packet` into `out`, at most 1280 bytes. `false` where no error may be sent: the packet may be fragmented, or is
/// itself an ICMP error (RFC 1122 §3.2.2). `from` is the address the error comes from.
pub fn too_big(packet: &[u8], inner: &Inner, from: IpAddr, mtu: u16, out: &mut Vec<u8>) -> bool {
    out.clear();
    write(packet, inner, from, mtu, out).is_some()
}

fn write(packet: &[u8], inner: &Inner, from: IpAddr, mtu: u16, out: &mut Vec<u8>) -> Option<()> {
    if inner.is_icmp() && !is_echo(packet, inner) {
        return None;
    }
    match (inner.src, from) {
        (IpAddr::V4(to), IpAddr::V4(from)) => {
            let may_fragment = packet[6] & 0x40 == 0;
            if may_fragment {
                return None;
            }
            // RFC 1812 §4.3.2.3: as much as fits 576 bytes.
            let quote = &packet[..packet.len().min(576 - 28)];
            let icmp = Icmpv4Header::with_checksum(
                Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::FragmentationNeeded {
                    next_hop_mtu: mtu,
                }),
                quote,
            );
            let ip =
                Ipv4Header::new((8 + quote.len()) as u16, 64, IpNumber::ICMP, from.octets(), to.octets())
                    .ok()?;
            let mut ip = ip;
            ip.header_checksum = ip.calc_header_checksum();
            put(out, [&ip.to_bytes()[..], &icmp.to_bytes()[..], quote]);
            Some(())
        }
        (IpAddr::V6(to), IpAddr::V6(from)) => {
            // RFC 4443 §3.2: as much as fits the minimum MTU.
            let quote = &packet[..packet.len().min(1280 - 48)];
            let icmp = Icmpv6Header::with_checksum(
                Icmpv6Type::PacketTooBig { mtu: mtu as u32 },
                from.octets(),
                to.octets(),
                quote,
            )
            .ok()?;
            let ip = Ipv6Header {
                payload_length: (8 + quote.len()) as u16,
                next_header: IpNumber::IPV6_ICMP,
                hop_limit: 64,
                source: from.octets(),
                destination: to.octets(),
                ..Default::default()
            };
            put(out, [&ip.to_bytes()[..], &icmp.to_bytes()[..], quote]);
            Some(())
        }
        _ => None,
    }
}

fn is_echo(packet: &[u8], inner: &Inner) -> bool {
    matches!(packet.get(inner.transport_at as usize), Some(0 | 8 | 128 | 129))
}

fn put(out: &mut Vec<u8>, parts: [&[u8]; 3]) {
    parts.iter().for_each(|p| out.extend_from_slice(p));
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn answers_df_packets_in_both_families_and_never_an_error() {
        let mut out = Vec::new();
        let mut udp = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2).write(&mut udp, &[0; 1400]).unwrap();
        let inner = Inner::parse(&udp).unwrap();
        let from = IpAddr::from([10, 0, 0, 9]);
        let df = udp[6] & 0x40 != 0;
        assert_eq!(too_big(&udp, &inner, from, 1280, &mut out), df);
        udp[6] |= 0x40;
        assert!(too_big(&udp, &inner, from, 1280, &mut out));
        let answer = Inner::parse(&out).unwrap();
        assert!(answer.is_icmp() && answer.dst == inner.src);
        assert_eq!(&out[20..28][6..], &1280u16.to_be_bytes());
        let error = out.clone();
        assert!(!too_big(&error, &answer, from, 1280, &mut out));

        let mut v6 = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(1, 2).write(&mut v6, &[0; 1400]).unwrap();
        let inner = Inner::parse(&v6).unwrap();
        assert!(too_big(&v6, &inner, IpAddr::from([9u8; 16]), 1300, &mut out));
        assert!(Inner::parse(&out).unwrap().is_icmp());
    }
}
