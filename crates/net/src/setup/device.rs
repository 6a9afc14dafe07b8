//! Addresses, MTU and state of the bond's device.

use std::io;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeader, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkHeader, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use ropewalk_session::Layer;

use super::{SetupError, sysctl};
use crate::netlink::Netlink;

/// The largest super-packet that the kernel builds for the device, in bytes. Cut into datagrams, with their headers and tags, it still is one batch
/// of UDP GSO (65,487 bytes) on every path whose MTU is 1280 or more; 64 KiB would be a batch and a small remainder.
const SUPER_PACKET: u32 = 62_000;

/// What a kernel does on a link with neighbours and routers. A layer-3 bond has neither, so whoever speaks like one there is hostile.
/// The first is for layer 2, too: without a link-local address the kernel solicits no routers over the bond.
const NO_NEIGHBOURS: [(&str, &str); 9] = [
    ("ipv6/conf/{}/addr_gen_mode", "1"),
    ("ipv6/conf/{}/accept_ra", "0"),
    ("ipv6/conf/{}/autoconf", "0"),
    ("ipv6/conf/{}/accept_redirects", "0"),
    ("ipv6/conf/{}/accept_source_route", "0"),
    ("ipv4/conf/{}/accept_redirects", "0"),
    ("ipv4/conf/{}/send_redirects", "0"),
    ("ipv4/conf/{}/accept_source_route", "0"),
    // A second address of a network outlives the first, and the device's routes with it.
    ("ipv4/conf/{}/promote_secondaries", "1"),
];

/// How a TUN or TAP device should be.
#[derive(Clone, Debug)]
pub struct DeviceConfig<'a> {
    /// What it carries: on layer 3 the kernel is told that the device has no neighbours.
    pub layer: Layer,
    /// Its interface index.
    pub index: u32,
    /// Its name.
    pub name: &'a str,
    /// The largest IP packet, in bytes; 1280 at least if it is to speak IPv6 (RFC 8200, 5).
    pub mtu: u32,
    /// Packets (super-packets count as one) that wait in the device for us; `None` leaves the kernel's 500.
    pub queue: Option<u32>,
    /// Its addresses with the networks that lie behind it.
    pub addresses: &'a [IpNet],
}

/// Sets the device up and brings it up. Everything vanishes with the device.
pub fn configure(config: &DeviceConfig<'_>) -> Result<(), SetupError> {
    let mut netlink = Netlink::open().map_err(|e| SetupError::system("opening a netlink socket", e))?;
    let settings = if config.layer == Layer::Three { &NO_NEIGHBOURS[..] } else { &NO_NEIGHBOURS[..1] };
    for (key, value) in settings {
        sysctl::insist(&key.replace("{}", config.name), value);
    }
    netlink
        .change(RouteNetlinkMessage::SetLink(link(config)), 0)
        .map_err(|e| SetupError::system(format!("bringing {} up", config.name), e))?;
    // Only speed hangs on it, and not every emulated kernel knows it.
    let _ = netlink.change(RouteNetlinkMessage::SetLink(super_packets(config)), 0);
    for address in config.addresses {
        netlink
            .change(
                RouteNetlinkMessage::NewAddress(message(config.index, *address)),
                NLM_F_CREATE | NLM_F_REPLACE,
            )
            .map_err(|e| failed(config.name, *address, e))?;
    }
    Ok(())
}

/// Takes an address from the device; no error if it is not there.
pub fn remove_address(index: u32, address: IpNet) -> Result<(), SetupError> {
    let request = RouteNetlinkMessage::DelAddress(message(index, address));
    match Netlink::open().and_then(|mut n| n.change(request, 0)) {
        Err(e) if e.raw_os_error() != Some(libc::EADDRNOTAVAIL) => {
            Err(SetupError::system(format!("taking the address {address} away"), e))
        }
        _ => Ok(()),
    }
}

/// Why the interface called `name` was not given an address.
pub(super) fn failed(name: &str, address: IpNet, error: io::Error) -> SetupError {
    let what = format!("giving {name} the address {address}");
    let off = || {
        let all = std::fs::read_to_string("/proc/sys/net/ipv6/conf/all/disable_ipv6");
        let own = std::fs::read_to_string(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"));
        !matches!((all, own), (Ok(all), Ok(own)) if all.trim() == "0" && own.trim() == "0")
    };
    // With IPv6 switched off the kernel says "permission denied", which would send people the wrong way.
    if matches!(address, IpNet::V6(_)) && off() {
        return SetupError::NoIpv6(what);
    }
    SetupError::system(what, error)
}

fn link(config: &DeviceConfig<'_>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header = LinkHeader {
        index: config.index,
        flags: LinkFlags::Up,
        change_mask: LinkFlags::Up,
        ..LinkHeader::default()
    };
    message.attributes = vec![LinkAttribute::Mtu(config.mtu)];
    message.attributes.extend(config.queue.map(LinkAttribute::TxQueueLen));
    message
}

fn super_packets(config: &DeviceConfig<'_>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header = LinkHeader { index: config.index, ..LinkHeader::default() };
    message.attributes = vec![LinkAttribute::GsoMaxSize(SUPER_PACKET)];
    message
}

/// An address for the interface with this index.
pub(super) fn message(index: u32, address: IpNet) -> AddressMessage {
    let ip = address.addr();
    let mut message = AddressMessage::default();
    message.header = AddressHeader {
        family: if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 },
        prefix_len: address.prefix_len(),
        scope: AddressScope::Universe,
        index,
        ..AddressHeader::default()
    };
    message.attributes = vec![AddressAttribute::Local(ip), AddressAttribute::Address(ip)];
    if ip.is_ipv6() {
        // Nobody else has an address of the network whom duplicate detection could ask.
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
    }
    message
}
