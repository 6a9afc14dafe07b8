//! What is read in inner packets and changed in them: within bounds, and checksums that held go on holding.

use super::Feed;
use core::net::IpAddr;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use ropewalk_bond::inner::{Inner, edit, icmp};
use ropewalk_bond::vnet::Vnet;

/// A choice of what to do, then a packet: raw, or a TCP segment whose options are the rest.
pub(super) fn target(data: &[u8]) {
    let mut feed = Feed::new(data);
    let (kind, mss) = (feed.u8(), feed.u16());
    let vnet: [u8; Vnet::LEN] = std::array::from_fn(|_| feed.u8());
    let rest = feed.bytes(usize::MAX);
    let mut packet = if kind & 1 == 0 { rest.to_vec() } else { segment(kind, rest) };
    let vnet = Vnet::from_wire(&vnet);
    assert_eq!(Vnet::from_wire(&vnet.to_wire()), vnet);
    let Some(inner) = Inner::parse(&packet) else { return };
    if vnet.fits(&inner, &packet) && !vnet.is_plain() {
        let checksum = usize::from(vnet.csum_start) + usize::from(vnet.csum_offset);
        assert!(inner.transport_at == vnet.csum_start && checksum + 2 <= packet.len());
        assert!(vnet.segments(packet.len()) <= Vnet::MOST_SEGMENTS && vnet == vnet.measured(&packet));
    }
    assert!(inner.transport_at as usize <= packet.len() && inner.payload_len as usize <= packet.len());
    let _ = (inner.flow_hash(&[7; 16]), inner.is_bare_tcp(), inner.asks_low_delay());
    let held = checksums(&packet);
    let before = packet.len();
    edit::clamp_mss(&mut packet, &inner, mss, kind & 2 != 0);
    let marked = edit::mark_ce(&mut packet, &inner);
    assert_eq!(packet.len(), before);
    let now = checksums(&packet);
    assert!(held.0 != Some(true) || now.0 == Some(true), "the IP checksum broke");
    assert!(held.1 != Some(true) || now.1 == Some(true) || kind & 2 != 0, "the TCP checksum broke");
    let after = Inner::parse(&packet).expect("a packet stays one");
    assert!(!marked || after.ecn == 3);
    bounce(&packet, &after, mss);
}

/// The ICMP error fits its room, is one, and goes back to the sender.
fn bounce(packet: &[u8], inner: &Inner, mtu: u16) {
    let from = if inner.src.is_ipv4() { IpAddr::from([10, 0, 0, 1]) } else { IpAddr::from([9u8; 16]) };
    let mut out = Vec::new();
    if icmp::too_big(packet, inner, from, mtu, &mut out) {
        let error = Inner::parse(&out).expect("an ICMP error is a packet");
        assert!(error.is_icmp() && error.dst == inner.src && error.src == from);
        assert!(out.len() <= if inner.src.is_ipv4() { 576 } else { 1280 });
        assert!(!icmp::too_big(&out.clone(), &error, from, mtu, &mut out), "an error about an error");
    }
}

fn segment(kind: u8, options: &[u8]) -> Vec<u8> {
    let (options, payload) = options.split_at(options.len().min(40) / 4 * 4);
    let mut out = Vec::new();
    let tcp = match kind & 4 {
        0 => PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 3], 64).tcp(1, 2, 3, 4),
        _ => PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4),
    };
    let tcp = tcp.syn().options_raw(options).expect("forty bytes of options at most");
    tcp.write(&mut out, payload).expect("a vector takes any packet");
    out[1] |= kind >> 6;
    out
}

/// Whether the IPv4 and the TCP checksum hold; `None` where there is none to check.
pub(super) fn checksums(packet: &[u8]) -> (Option<bool>, Option<bool>) {
    let Ok(s) = SlicedPacket::from_ip(packet) else { return (None, None) };
    let (ip, tcp) = match (&s.net, &s.transport) {
        (Some(NetSlice::Ipv4(ip)), t) => {
            let h = ip.header();
            let sum = match t {
                Some(TransportSlice::Tcp(t)) => {
                    t.calc_checksum_ipv4(h.source(), h.destination()).ok().map(|c| c == t.checksum())
                }
                _ => None,
            };
            (Some(h.to_header().calc_header_checksum() == h.header_checksum()), sum)
        }
        (Some(NetSlice::Ipv6(ip)), Some(TransportSlice::Tcp(t))) => {
            let h = ip.header();
            (None, t.calc_checksum_ipv6(h.source(), h.destination()).ok().map(|c| c == t.checksum()))
        }
        _ => (None, None),
    };
    (ip, tcp)
}
