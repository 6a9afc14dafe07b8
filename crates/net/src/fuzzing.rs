//! The bodies of the fuzz targets `segments`, `netlink`, `cmsg`, `journal` and `monitor`
//! (`tests/fuzz/`). Each takes any bytes and panics only where this crate breaks a promise.

use crate::tun::{Segments, checksum};
use etherparse::checksum::Sum16BitWords;
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;
use ropewalk_bond::vnet::Vnet;

/// A super-packet of the device: whether it is a frame (bit 0), its virtio header as the device writes it, its bytes.
///
/// Cut, it is its headers and its payload in pieces of the size that was said, each with its length and its checksums.
pub fn segments(data: &[u8]) {
    let Some((header, packet)) = data.get(1..).and_then(|rest| rest.split_first_chunk::<{ Vnet::LEN }>())
    else {
        return;
    };
    let header = Vnet::from_device(header);
    assert_eq!(Vnet::from_device(&header.to_device()), header);
    let (is_frame, mut finished) = (data[0] & 1 != 0, packet.to_vec());
    checksum::finish(&header, &mut finished);
    assert_eq!(finished.len(), packet.len());
    let cut = if is_frame { Segments::of_frame } else { Segments::new };
    let Ok(mut segments) = cut(&header, packet) else { return };
    let (largest, size) = (segments.largest(), usize::from(header.gso_size));
    // What fits one segment whole says nothing of where its payload begins.
    let headers = if largest == packet.len() { 0 } else { largest - size };
    let mut room = vec![0xdb; largest];
    let mut at = headers;
    while let Some(segment) = segments.next_into(&mut room) {
        assert!(segment.len() > headers && segment.len() <= largest);
        if headers > 0 {
            let payload = &segment[headers..];
            assert!(packet[at..].starts_with(payload), "a payload was changed");
            assert!(payload.len() == size || at + payload.len() == packet.len(), "a segment is too short");
        }
        at += segment.len() - headers;
        if !is_frame && header.kind() != Vnet::GSO_UDP_L4 {
            let start = usize::from(header.csum_start);
            check_segment(segment, start, header.kind() == Vnet::GSO_TCPV4);
        }
    }
    assert_eq!(at, packet.len(), "bytes are missing");
}

/// A TCP segment's lengths and checksums are right.
fn check_segment(segment: &[u8], start: usize, is_v4: bool) {
    let field = |at: usize| usize::from(u16::from_be_bytes([segment[at], segment[at + 1]]));
    let length = (segment.len() - start) as u16;
    let addresses = if is_v4 { &segment[12..20] } else { &segment[8..40] };
    if is_v4 {
        assert_eq!(field(2), segment.len());
        assert_eq!(Sum16BitWords::new().add_slice(&segment[..start]).ones_complement(), 0);
    } else {
        assert_eq!(field(4) + 40, segment.len());
    }
    let sum = Sum16BitWords::new().add_slice(addresses).add_2bytes([0, 6]).add_2bytes(length.to_be_bytes());
    assert_eq!(sum.add_slice(&segment[start..]).ones_complement(), 0, "the TCP checksum is wrong");
}

/// A datagram of netlink: interfaces, addresses, routes, neighbours, queueing disciplines, options of
/// router advertisements; and the same bytes as one of nl80211 and of mac80211_hwsim.
pub fn netlink(data: &[u8]) {
    for message in crate::netlink::messages::<RouteNetlinkMessage>(data) {
        if let NetlinkPayload::InnerMessage(inner) = message.payload {
            crate::links::read_any(&inner);
            crate::feedback::read_any(&inner);
        }
    }
    crate::netlink::split(data).for_each(|message| drop(crate::links::read_advertised(message)));
    crate::feedback::read_any_nl80211(data);
    crate::hwsim::read_any(data);
}

/// The sender's address and the ancillary data of received datagrams: 28 bytes and what follows.
pub fn cmsg(data: &[u8]) {
    crate::udp::read_any(data);
}

/// The file of changes to take back: what is read is written the same.
pub fn journal(data: &[u8]) {
    crate::setup::read_any(data);
}

/// A frame as a monitor interface gives it: read for what a station sends, and for the header of
/// what an access point sends. It is never both.
pub fn monitor(data: &[u8]) {
    use crate::monitor::{header, read};
    let (station, access_point) = (read(data), header(data));
    assert!(station.is_err() || access_point.is_none());
    if let Ok(heard) = station {
        assert!(heard.tid < 8 && heard.sequence < 4096);
        let said = usize::from(u16::from_be_bytes([heard.packet[2], heard.packet[3]]));
        assert_eq!(heard.packet.len(), said);
        assert!(said >= 20 && heard.packet[0] >> 4 == 4);
    }
    if let Some(heard) = access_point {
        assert!(heard.tid.is_none_or(|tid| tid < 16) && heard.sequence < 4096);
        assert!(heard.rate.is_none_or(|rate| rate.bps > 0 && rate.bps < 10_000_000_000));
        assert!((heard.receiver[0] | heard.transmitter[0]) & 1 == 0, "a group");
    }
}
