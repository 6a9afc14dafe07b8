//! What is read in frames of layer 2 and changed in them: within bounds, behind the Ethernet header, and checksums that
//! held go on holding.

use super::Feed;
use super::inner::checksums;
use etherparse::PacketBuilder;
use ropewalk_bond::inner::{Inner, edit};
use ropewalk_bond::vnet::Vnet;

/// A choice of what to do, then a frame: raw, or a TCP segment behind tags whose options are the rest.
pub(super) fn target(data: &[u8]) {
    let mut feed = Feed::new(data);
    let (kind, mss) = (feed.u8(), feed.u16());
    let vnet: [u8; Vnet::LEN] = std::array::from_fn(|_| feed.u8());
    let (vnet, rest) = (Vnet::from_wire(&vnet), feed.bytes(usize::MAX));
    let mut bytes = if kind & 1 == 0 { rest.to_vec() } else { frame(kind, rest) };
    let Some(inner) = Inner::parse_frame(&bytes) else {
        assert!(bytes.len() < 22, "a frame with all its headers was not read");
        return;
    };
    let header = inner.frame.expect("what is read as a frame is one");
    let at = inner.network_at();
    assert!((14..=22).contains(&at) && at <= bytes.len() && at == usize::from(header.len));
    assert!(usize::from(inner.transport_at) <= bytes.len() && inner.payload_len as usize <= bytes.len());
    let _ = (inner.flow_hash(&[7; 16]), inner.is_bare_tcp(), inner.asks_low_delay());
    let _ = inner.sets_up_a_station();
    if vnet.fits(&inner, &bytes) && !vnet.is_plain() {
        let checksum = usize::from(vnet.csum_start) + usize::from(vnet.csum_offset);
        assert!(vnet.csum_start == inner.transport_at && checksum + 2 <= bytes.len());
        assert!(vnet.segments(bytes.len()) <= Vnet::MOST_SEGMENTS && vnet == vnet.measured(&bytes));
    }
    let (before, held) = (bytes.clone(), checksums(&bytes[at..]));
    edit::clamp_mss(&mut bytes, &inner, mss, kind & 0x20 != 0);
    let marked = edit::mark_ce(&mut bytes, &inner);
    assert!(bytes.len() == before.len() && bytes[..at] == before[..at], "the Ethernet header was changed");
    let now = checksums(&bytes[at..]);
    assert!(held.0 != Some(true) || now.0 == Some(true), "the IP checksum broke");
    assert!(held.1 != Some(true) || now.1 == Some(true) || kind & 0x20 != 0, "the TCP checksum broke");
    let after = Inner::parse_frame(&bytes).expect("a frame stays one");
    assert!(after.frame == inner.frame && (!marked || after.ecn == 3));
}

/// Bits 1 and 2 say how many tags, bit 3 which IP, the upper two its ECN.
fn frame(kind: u8, options: &[u8]) -> Vec<u8> {
    let (options, payload) = options.split_at(options.len().min(40) / 4 * 4);
    let tags = [&[0x88, 0xa8, 0, 7][..], &[0x81, 0, 0, 8]];
    let tags = &tags[2 - usize::from(kind >> 1 & 3).min(2)..];
    let (builder, ether_type) = match kind & 8 {
        0 => (PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 3], 64), [0x08, 0x00]),
        _ => (PacketBuilder::ipv6([1; 16], [2; 16], 64), [0x86, 0xdd]),
    };
    let mut packet = Vec::new();
    let tcp = builder.tcp(1, 2, 3, 4).syn().options_raw(options).expect("forty bytes of options at most");
    tcp.write(&mut packet, payload).expect("a vector takes any packet");
    packet[1] |= kind >> 6;
    [&[2; 12], &tags.concat()[..], &ether_type, &packet].concat()
}
