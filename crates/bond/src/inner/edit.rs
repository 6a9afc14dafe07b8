//! Small changes to a packet on its way: a CE mark, a lower MSS. Checksums follow incrementally (RFC 1624 §3, equation 3).

use super::{Inner, tcp_flags};

/// Sets CE on an ECN-capable packet; `false` if it is not one, and then the caller drops instead (RFC 3168 §5).
pub fn mark_ce(packet: &mut [u8], inner: &Inner) -> bool {
    match inner.ecn {
        0 => return false,
        3 => return true,
        _ => {}
    }
    let packet = &mut packet[inner.network_at()..];
    if inner.src.is_ipv4() {
        let old = u16::from_be_bytes([packet[0], packet[1]]);
        packet[1] |= 3;
        let new = u16::from_be_bytes([packet[0], packet[1]]);
        adjust(packet, 10, old, new);
    } else {
        packet[1] |= 0x30;
    }
    true
}

/// Lowers the MSS that a SYN announces to `mss` bytes (RFC 9293 §3.7.1); leaves a smaller one. Needed for TCP that is only forwarded
/// here: its ends do not see the bond's MTU. `partial` says that the checksum does not cover the segment yet.
pub fn clamp_mss(packet: &mut [u8], inner: &Inner, mss: u16, partial: bool) {
    if !inner.is_tcp() || inner.tcp_flags & tcp_flags::SYN == 0 {
        return;
    }
    let tcp = inner.transport_at as usize;
    let Some(end) = packet.get(tcp + 12).map(|b| tcp + (b >> 4) as usize * 4) else { return };
    let mut at = tcp + 20;
    while at + 1 < end.min(packet.len()) {
        let (kind, len) = (packet[at], packet[at + 1] as usize);
        match kind {
            0 => return,
            1 => at += 1,
            2 if len == 4 && at + 4 <= packet.len() => {
                let old = u16::from_be_bytes([packet[at + 2], packet[at + 3]]);
                if old > mss {
                    packet[at + 2..at + 4].copy_from_slice(&mss.to_be_bytes());
                    if !partial {
                        // An option at an odd offset meets the sum with its bytes swapped.
                        let swap = |v: u16| if (at - tcp) % 2 == 1 { v.swap_bytes() } else { v };
                        adjust(packet, tcp + 16, swap(old), swap(mss));
                    }
                }
                return;
            }
            _ if len < 2 => return,
            _ => at += len,
        }
    }
}

/// HC' = ~(~HC + ~m + m').
fn adjust(packet: &mut [u8], at: usize, old: u16, new: u16) {
    let sum = u16::from_be_bytes([packet[at], packet[at + 1]]);
    let mut s = (!sum) as u32 + (!old) as u32 + new as u32;
    while s > 0xffff {
        s = (s & 0xffff) + (s >> 16);
    }
    packet[at..at + 2].copy_from_slice(&(!(s as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};

    fn syn(options: &[TcpOptionElement]) -> Vec<u8> {
        let mut b = Vec::new();
        PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64)
            .tcp(1000, 80, 7, 9)
            .syn()
            .options(options)
            .unwrap()
            .write(&mut b, &[])
            .unwrap();
        b
    }

    fn checksums_hold(packet: &[u8]) -> bool {
        let s = SlicedPacket::from_ip(packet).unwrap();
        let (Some(etherparse::NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (s.net, s.transport)
        else {
            return false;
        };
        let header = ip.header();
        header.to_header().calc_header_checksum() == header.header_checksum()
            && tcp.calc_checksum_ipv4(header.source(), header.destination()).unwrap() == tcp.checksum()
    }

    #[test]
    fn clamps_the_mss_wherever_it_stands() {
        for options in [
            vec![TcpOptionElement::MaximumSegmentSize(1460)],
            vec![TcpOptionElement::Noop, TcpOptionElement::MaximumSegmentSize(1460)],
            vec![TcpOptionElement::WindowScale(7), TcpOptionElement::MaximumSegmentSize(9000)],
        ] {
            let mut p = syn(&options);
            let inner = Inner::parse(&p).unwrap();
            clamp_mss(&mut p, &inner, 1380, false);
            assert!(checksums_hold(&p));
            assert!(p.windows(4).any(|w| w == [2, 4, 0x05, 0x64]));
            let once = p.clone();
            clamp_mss(&mut p, &inner, 1400, false);
            assert_eq!(p, once);
        }
    }

    #[test]
    fn marks_only_what_is_capable() {
        let mut p = syn(&[]);
        let inner = Inner::parse(&p).unwrap();
        assert!(!mark_ce(&mut p, &inner));
        let old = u16::from_be_bytes([p[0], p[1]]);
        p[1] |= 2;
        let new = u16::from_be_bytes([p[0], p[1]]);
        adjust(&mut p, 10, old, new);
        let inner = Inner::parse(&p).unwrap();
        assert!(mark_ce(&mut p, &inner) && checksums_hold(&p) && p[1] & 3 == 3);
    }
}
