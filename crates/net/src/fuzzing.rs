//! The bodies of the fuzz targets `netlink`, `cmsg` and `journal` (`fuzz/`). Each takes any bytes and panics only where this crate breaks a promise.

use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;

/// A datagram of netlink: interfaces, addresses, routes, neighbours, queueing disciplines; and the same bytes as one of nl80211.
pub fn netlink(data: &[u8]) {
    for message in crate::netlink::messages::<RouteNetlinkMessage>(data) {
        if let NetlinkPayload::InnerMessage(inner) = message.payload {
            crate::links::read_any(&inner);
            crate::feedback::read_any(&inner);
        }
    }
    crate::feedback::read_any_nl80211(data);
}

/// The sender's address and the ancillary data of received datagrams: 28 bytes and what follows.
pub fn cmsg(data: &[u8]) {
    crate::udp::read_any(data);
}

/// The file of changes to take back: what is read is written the same.
pub fn journal(data: &[u8]) {
    crate::setup::read_any(data);
}
