//! Ports of the kernel's bridge.

use std::io;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridgePort, InfoKind, InfoPortData, InfoPortKind, LinkAttribute, LinkHeader, LinkInfo, LinkMessage,
};

use super::SetupError;
use crate::netlink::Netlink;

/// First byte of a port's own address. A bridge without an address of its own takes the lowest of its ports',
/// and would change it with each port that comes or goes; this one is never the lowest (libvirt does the same).
const HIGH: u8 = 0xfe;

/// The index of the bridge of this name.
///
/// # Errors
/// There is none.
pub fn find_bridge(name: &str) -> Result<u32, SetupError> {
    let system = |e| SetupError::system(format!("looking for the bridge {name}"), e);
    let mut request = LinkMessage::default();
    request.attributes = vec![LinkAttribute::IfName(name.into())];
    let is_bridge = |message: &LinkMessage| {
        let mut infos = message.attributes.iter().filter_map(|a| match a {
            LinkAttribute::LinkInfo(info) => Some(info),
            _ => None,
        });
        infos.any(|info| info.contains(&LinkInfo::Kind(InfoKind::Bridge)))
    };
    match Netlink::open().and_then(|mut n| n.get(RouteNetlinkMessage::GetLink(request))) {
        Ok(Some(RouteNetlinkMessage::NewLink(found))) if is_bridge(&found) => Ok(found.header.index),
        Ok(_) => Err(SetupError::NoBridge(name.into())),
        Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Err(SetupError::NoBridge(name.into())),
        Err(e) => Err(system(e)),
    }
}

/// Makes the device with this index, called `name`, a port of a bridge. An isolated port reaches the other ports
/// but no isolated one. Ends with the device.
///
/// # Errors
/// There is no such bridge, or the kernel refuses.
pub fn join_bridge(index: u32, name: &str, bridge: &str, isolated: bool) -> Result<(), SetupError> {
    let system = |e| SetupError::system(format!("making {name} a port of {bridge}"), e);
    let found = find_bridge(bridge)?;
    let mut netlink = Netlink::open().map_err(system)?;
    let mut attributes = vec![LinkAttribute::Controller(found)];
    if let Some(mut address) = own_address(&mut netlink, index).map_err(system)?
        && let Some(first) = address.first_mut()
    {
        *first = HIGH;
        attributes.insert(0, LinkAttribute::Address(address));
    }
    netlink.change(RouteNetlinkMessage::SetLink(change(index, attributes)), 0).map_err(system)?;
    if isolated {
        let flags = InfoPortData::BridgePort(vec![InfoBridgePort::Isolated(true)]);
        let info = vec![LinkInfo::PortKind(InfoPortKind::Bridge), LinkInfo::PortData(flags)];
        // The kernel reads a port's flags in this message only, which creates nothing without a flag that says so.
        let message = change(index, vec![LinkAttribute::LinkInfo(info)]);
        netlink.change(RouteNetlinkMessage::NewLink(message), 0).map_err(system)?;
    }
    Ok(())
}

fn own_address(netlink: &mut Netlink, index: u32) -> io::Result<Option<Vec<u8>>> {
    let answer = netlink.get(RouteNetlinkMessage::GetLink(change(index, Vec::new())))?;
    let Some(RouteNetlinkMessage::NewLink(link)) = answer else { return Ok(None) };
    Ok(link.attributes.into_iter().find_map(|a| match a {
        LinkAttribute::Address(address) => Some(address),
        _ => None,
    }))
}

fn change(index: u32, attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header = LinkHeader { index, ..LinkHeader::default() };
    message.attributes = attributes;
    message
}
