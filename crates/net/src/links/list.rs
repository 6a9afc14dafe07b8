//! Listing interfaces with their addresses.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};

use super::LinkError;
use crate::netlink::Netlink;

/// Interfaces whose names start so are the inside of this machine: bridges and tunnels that container and
/// virtual machine managers and other private networks make. What goes out by them goes out by another
/// interface in the end.
const INSIDE: [&str; 16] = [
    "docker",
    "br-",
    "virbr",
    "lxcbr",
    "lxdbr",
    "incusbr",
    "podman",
    "cni",
    "flannel",
    "cali",
    "cilium",
    "kube",
    "vnet",
    "tailscale",
    "zt",
    "wg",
];

/// A network interface. By default it has no address, and is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its index, which no other interface of this namespace gets again soon.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The kernel's word for what it is (`veth`, `tun`, `bridge`, `wireguard`, …); `None` for hardware.
    pub kind: Option<String>,
    /// The largest IP packet it sends, in bytes.
    pub mtu: u32,
    /// It is switched on and has a carrier.
    pub up: bool,
    /// It is the machine talking to itself.
    pub loopback: bool,
    /// It belongs to a bridge or a kernel bond, which has the addresses.
    pub enslaved: bool,
    /// Its addresses, in an order that does not change by itself.
    pub addresses: Vec<Address>,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// How many of its bits are the network's.
    pub prefix_len: u8,
    /// It is finished (not tentative, refused or deprecated) and valid beyond the link.
    pub usable: bool,
    /// Another takes its place within a day or so (RFC 8981).
    pub temporary: bool,
}

impl Address {
    /// One that can be used, and stays.
    pub fn new(ip: IpAddr, prefix_len: u8) -> Address {
        Address { ip, prefix_len, usable: true, temporary: false }
    }
}

/// Why an interface is not used by itself. Most can still be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It is the bond itself, or another bond.
    #[error("it is a bond's own device")]
    Ours,
    /// The loopback interface.
    #[error("it is the loopback interface")]
    Loopback,
    /// Part of a bridge or a kernel bond.
    #[error("it is part of a bridge or of a kernel bond, which is used instead")]
    Enslaved,
    /// A container's bridge or another private network's tunnel.
    #[error("it leads to containers, virtual machines or another tunnel on this machine")]
    Inside,
    /// Switched off, or no cable, or not associated.
    #[error("it is down")]
    Down,
    /// No address to send from.
    #[error("it has no address to send from")]
    NoAddress,
}

impl Link {
    /// Why this interface is not used by itself; `None` if it is. `ours` are the names of the bonds' devices.
    pub fn unusable(&self, ours: &[&str]) -> Option<Unusable> {
        let inside = self.kind.as_deref() == Some("wireguard")
            || INSIDE.iter().any(|start| self.name.starts_with(start));
        let reasons = [
            (ours.contains(&self.name.as_str()), Unusable::Ours),
            (self.loopback, Unusable::Loopback),
            (self.enslaved, Unusable::Enslaved),
            (inside, Unusable::Inside),
            (!self.up, Unusable::Down),
            (!self.addresses.iter().any(|a| a.usable), Unusable::NoAddress),
        ];
        reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
    }

    /// Whether it is used by itself, or will be once it is up and has an address.
    pub fn may_be_used(&self, ours: &[&str]) -> bool {
        matches!(self.unusable(ours), None | Some(Unusable::Down | Unusable::NoAddress))
    }

    /// What others may know it by for longer: usable addresses, temporary ones only where their
    /// network has no other.
    pub fn lasting_addresses(&self) -> Vec<IpAddr> {
        let usable = || self.addresses.iter().filter(|a| a.usable);
        let has_another = |one: &Address| {
            let network = IpNet::new(one.ip, one.prefix_len).ok();
            usable().any(|a| !a.temporary && network.is_some_and(|n| n.contains(&a.ip)))
        };
        usable().filter(|a| !a.temporary || !has_another(a)).map(|a| a.ip).collect()
    }

    /// Whether it has an address to send from to `destination`'s IP version.
    pub fn speaks(&self, destination: IpAddr) -> bool {
        self.addresses.iter().any(|a| a.usable && a.ip.is_ipv4() == destination.is_ipv4())
    }
}

/// All interfaces of the calling thread's network namespace, by index.
pub fn list() -> Result<Vec<Link>, LinkError> {
    list_through(&mut Netlink::open()?)
}

pub(super) fn list_through(netlink: &mut Netlink) -> Result<Vec<Link>, LinkError> {
    let mut links: Vec<Link> = Vec::new();
    for answer in netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
        if let RouteNetlinkMessage::NewLink(message) = answer {
            links.extend(read_link(&message));
        }
    }
    for answer in netlink.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))? {
        if let RouteNetlinkMessage::NewAddress(message) = answer
            && let Some(address) = read_address(&message)
            && let Some(link) = links.iter_mut().find(|l| l.index == message.header.index)
        {
            link.addresses.push(address);
        }
    }
    links.iter_mut().for_each(|link| link.addresses.sort());
    links.sort_by_key(|link| link.index);
    Ok(links)
}

pub(super) fn read_link(message: &LinkMessage) -> Option<Link> {
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        kind: None,
        mtu: 0,
        up: flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
        loopback: flags.contains(LinkFlags::Loopback),
        enslaved: false,
        addresses: Vec::new(),
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::LinkInfo(info) => link.kind = info.iter().find_map(kind),
            // A VRF's members have addresses of their own.
            LinkAttribute::Controller(index) => link.enslaved = *index != 0 && !in_vrf(message),
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

fn kind(info: &LinkInfo) -> Option<String> {
    match info {
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    }
}

fn in_vrf(message: &LinkMessage) -> bool {
    message.attributes.iter().any(|attribute| match attribute {
        LinkAttribute::LinkInfo(info) => info
            .iter()
            .any(|i| matches!(i, LinkInfo::PortKind(k) if k.to_string() == InfoKind::Vrf.to_string())),
        _ => false,
    })
}

pub(super) fn read_address(message: &AddressMessage) -> Option<Address> {
    let (mut local, mut remote) = (None, None);
    let mut flags = AddressFlags::from_bits_retain(message.header.flags.bits().into());
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(ip) => local = Some(*ip),
            AddressAttribute::Address(ip) => remote = Some(*ip),
            // The same flags in full width.
            AddressAttribute::Flags(all) => flags = *all,
            _ => {}
        }
    }
    // On a point-to-point link "address" is the other end's.
    let ip = local.or(remote)?;
    let unfinished = AddressFlags::Tentative | AddressFlags::Dadfailed | AddressFlags::Deprecated;
    let link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    // An optimistic address may be used while it is tentative (RFC 4429).
    let finished = !flags.intersects(unfinished) || flags.contains(AddressFlags::Optimistic);
    // IFA_F_TEMPORARY is the same bit as IPv4's for a second address of a network.
    let temporary = ip.is_ipv6() && flags.contains(AddressFlags::Secondary);
    let prefix_len = message.header.prefix_len;
    Some(Address { ip, prefix_len, usable: finished && !link_local, temporary })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str) -> Link {
        let address = Address::new([192, 0, 2, 1].into(), 24);
        Link { index: 5, name: name.into(), up: true, addresses: vec![address], ..Link::default() }
    }

    #[test]
    fn reasons() {
        assert_eq!(link("eth0").unusable(&["rw0"]), None);
        assert_eq!(link("rw0").unusable(&["rw0"]), Some(Unusable::Ours));
        assert_eq!(link("docker0").unusable(&[]), Some(Unusable::Inside));
        assert_eq!(link("br-0a1b2c3d4e5f").unusable(&[]), Some(Unusable::Inside));
        assert_eq!(link("br0").unusable(&[]), None, "an ordinary bridge may carry the machine's own address");
        let veth = Link { kind: Some("veth".into()), ..link("veth0") };
        assert_eq!(veth.unusable(&[]), None);
        assert_eq!(Link { up: false, ..veth.clone() }.unusable(&[]), Some(Unusable::Down));
        let mut bare = veth;
        bare.addresses[0].usable = false;
        assert_eq!(bare.unusable(&[]), Some(Unusable::NoAddress));
        let may_be_used =
            |name: &str| Link { name: name.into(), up: false, ..bare.clone() }.may_be_used(&["rw0"]);
        assert_eq!(["eth0", "rw0", "docker0"].map(may_be_used), [true, false, false]);
    }

    #[test]
    fn versions() {
        assert!(link("eth0").speaks([8, 8, 8, 8].into()));
        assert!(!link("eth0").speaks(IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)));
    }

    /// An address as the kernel tells of it.
    fn told(ip: &str, prefix_len: u8, flags: AddressFlags) -> Address {
        let mut message = AddressMessage::default();
        message.header.prefix_len = prefix_len;
        message.attributes =
            vec![AddressAttribute::Address(ip.parse().unwrap()), AddressAttribute::Flags(flags)];
        read_address(&message).unwrap()
    }

    #[test]
    fn temporary_addresses_do_not_last_where_another_does() {
        let (none, temporary) = (AddressFlags::empty(), AddressFlags::Secondary);
        let addresses = vec![
            told("192.0.2.1", 24, none),
            told("192.0.2.2", 24, temporary),
            told("2001:db8::1", 128, none),
            told("2001:db8::aaaa", 64, temporary),
            told("2001:db8::dead", 64, AddressFlags::Deprecated),
            told("2001:db8::beef", 64, AddressFlags::Tentative),
            told("2001:db8:0:1::bbbb", 64, temporary),
            told("fe80::1", 64, none),
        ];
        assert!(addresses[3].temporary && !addresses[1].temporary);
        let lasting = Link { addresses, ..Link::default() }.lasting_addresses();
        let lasting: Vec<String> = lasting.iter().map(ToString::to_string).collect();
        assert_eq!(lasting, ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::bbbb"]);
    }
}
