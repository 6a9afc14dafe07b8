//! Whether an interface leads to an endpoint, and where all interfaces lead.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::LinkError;
use crate::netlink::Netlink;
use crate::setup::MARK;

/// How an endpoint is reached through an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// The next hop; `None` if the endpoint is on the link.
    pub gateway: Option<IpAddr>,
    /// The source address that the route prefers, if it says.
    pub source: Option<IpAddr>,
}

/// How `destination` is reached by a marked packet that has to leave by interface `index`; `None` if it is
/// not.
///
/// The kernel is asked which entry of its tables matches (`RTM_F_FIB_MATCH`), because a plain lookup bound to
/// an IPv4 interface never fails: without a route the kernel guesses that the destination is a neighbour.
pub fn route_via(index: u32, destination: IpAddr) -> Result<Option<Via>, LinkError> {
    let request = lookup(index, destination);
    match Netlink::open()?.get(RouteNetlinkMessage::GetRoute(request)) {
        Ok(Some(RouteNetlinkMessage::NewRoute(route))) => Ok(read(&route, index)),
        Ok(_) => Ok(None),
        Err(error) if means_no_route(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The entry of the kernel's tables that a packet with `mark` to `destination` goes by: its table,
/// its interface's index, and the next hop. `None` if there is none.
pub(crate) fn route_of(
    mark: u32,
    destination: IpAddr,
) -> Result<Option<(u32, u32, Option<IpAddr>)>, LinkError> {
    let mut request = lookup(0, destination);
    // Without it IPv4 names the main table, whichever it was (net/ipv4/route.c,
    // `inet_rtm_getroute`).
    request.header.flags |= RouteFlags::LookupTable;
    request.attributes.truncate(1);
    request.attributes.push(RouteAttribute::Mark(mark));
    let route = match Netlink::open()?.get(RouteNetlinkMessage::GetRoute(request)) {
        Ok(Some(RouteNetlinkMessage::NewRoute(route))) => route,
        Ok(_) => return Ok(None),
        Err(error) if means_no_route(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let number = |wanted: fn(&RouteAttribute) -> Option<u32>| route.attributes.iter().find_map(wanted);
    let index = number(|a| if let RouteAttribute::Oif(index) = a { Some(*index) } else { None });
    let table = number(|a| if let RouteAttribute::Table(table) = a { Some(*table) } else { None });
    let gateway = index.and_then(|index| read(&route, index)).and_then(|via| via.gateway);
    Ok(table.zip(index).map(|(table, index)| (table, index, gateway)))
}

/// A route of the main table, by one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it leads.
    pub network: IpNet,
    /// The interface's index.
    pub index: u32,
}

/// The routes of the main table, of both IP versions.
///
/// # Errors
/// The kernel does not answer, or the table keeps changing.
pub fn routes() -> Result<Vec<Route>, LinkError> {
    Ok(of_all_tables()?.iter().flat_map(of_main).collect())
}

/// Networks to which any table has a route: rules may lead to others than the main table first.
///
/// # Errors
/// As of [`routes`].
pub fn routed_networks() -> Result<Vec<IpNet>, LinkError> {
    let all = of_all_tables()?;
    let mut networks: Vec<IpNet> = all.iter().filter_map(leads_to).map(|(_, network)| network).collect();
    networks.sort_unstable();
    networks.dedup();
    Ok(networks)
}

fn of_all_tables() -> Result<Vec<RouteMessage>, LinkError> {
    let mut netlink = Netlink::open()?;
    let mut all = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut request = RouteMessage::default();
        request.header.address_family = family;
        for answer in netlink.dump(RouteNetlinkMessage::GetRoute(request))? {
            match answer {
                // Where IPv6 is missing the kernel tells of all others instead.
                RouteNetlinkMessage::NewRoute(route) if route.header.address_family == family => {
                    all.push(route);
                }
                _ => {}
            }
        }
    }
    Ok(all)
}

/// The routes of one message: none if it is of another table, or leads nowhere.
pub(super) fn of_main(route: &RouteMessage) -> Vec<Route> {
    let is_main = |table: u32| table == u32::from(RouteHeader::RT_TABLE_MAIN);
    let Some((_, network)) = leads_to(route).filter(|(table, _)| is_main(*table)) else { return Vec::new() };
    let by = route.attributes.iter().flat_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => vec![*index],
        RouteAttribute::MultiPath(hops) => hops.iter().map(|hop| hop.interface_index).collect(),
        _ => Vec::new(),
    });
    by.map(|index| Route { network, index }).collect()
}

/// The table of a route, and the network that it leads to; `None` if it leads nowhere.
fn leads_to(route: &RouteMessage) -> Option<(u32, IpNet)> {
    let (header, mut table, mut to) = (&route.header, u32::from(route.header.table), None);
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Destination(address) => to = ip(address),
            _ => {}
        }
    }
    let everywhere: IpAddr = match header.address_family {
        AddressFamily::Inet => Ipv4Addr::UNSPECIFIED.into(),
        _ => Ipv6Addr::UNSPECIFIED.into(),
    };
    let network = IpNet::new(to.unwrap_or(everywhere), header.destination_prefix_length).ok()?;
    let leads = header.kind == RouteType::Unicast && !header.flags.contains(RouteFlags::Cloned);
    leads.then_some((table, network))
}

/// The interface by which this machine's packets to `destination` leave; `None` if there is no way.
pub fn interface_towards(destination: IpAddr) -> Result<Option<String>, LinkError> {
    let mut request = lookup(0, destination);
    request.header.flags = RouteFlags::empty();
    request.attributes.truncate(1);
    let mut netlink = Netlink::open()?;
    let index = match netlink.get(RouteNetlinkMessage::GetRoute(request)) {
        Ok(Some(RouteNetlinkMessage::NewRoute(route))) => route.attributes.iter().find_map(|a| match a {
            RouteAttribute::Oif(index) => Some(*index),
            _ => None,
        }),
        Ok(_) => None,
        Err(error) if means_no_route(&error) => None,
        Err(error) => return Err(error.into()),
    };
    let links = super::list::list_through(&mut netlink)?;
    Ok(links.into_iter().find(|l| Some(l.index) == index).map(|l| l.name))
}

fn lookup(index: u32, destination: IpAddr) -> RouteMessage {
    let mut request = RouteMessage::default();
    request.header = RouteHeader {
        address_family: if destination.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 },
        destination_prefix_length: if destination.is_ipv4() { 32 } else { 128 },
        flags: RouteFlags::FibMatch,
        ..RouteHeader::default()
    };
    request.attributes = vec![
        RouteAttribute::Destination(destination.into()),
        RouteAttribute::Oif(index),
        RouteAttribute::Mark(MARK),
    ];
    request
}

pub(super) fn read(route: &RouteMessage, index: u32) -> Option<Via> {
    let mut via = Via::default();
    let mut leaves_by_us = false;
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(oif) => leaves_by_us |= *oif == index,
            RouteAttribute::Gateway(address) => via.gateway = ip(address),
            RouteAttribute::PrefSource(address) => via.source = ip(address),
            RouteAttribute::MultiPath(hops) => {
                let Some(hop) = hops.iter().find(|hop| hop.interface_index == index) else { continue };
                leaves_by_us = true;
                via.gateway = hop.attributes.iter().find_map(|a| match a {
                    RouteAttribute::Gateway(address) => ip(address),
                    _ => None,
                });
            }
            // A nexthop object: the lookup was bound to the interface, so it is one of the object's.
            RouteAttribute::NhId(_) => leaves_by_us = true,
            _ => {}
        }
    }
    (leaves_by_us && route.header.kind == RouteType::Unicast).then_some(via)
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some((*ip).into()),
        RouteAddress::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}

fn means_no_route(error: &io::Error) -> bool {
    // A kernel without IPv6 (`ipv6.disable=1`) does not know the question.
    let unknown = libc::EOPNOTSUPP;
    let none = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::ENODEV, libc::EACCES, libc::EINVAL, unknown];
    error.raw_os_error().is_some_and(|code| none.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::route::RouteNextHop;

    #[test]
    fn a_kernel_without_ipv6_has_no_route_there() {
        for code in [libc::ENETUNREACH, libc::EOPNOTSUPP] {
            assert!(means_no_route(&io::Error::from_raw_os_error(code)), "{code}");
        }
        assert!(!means_no_route(&io::Error::from_raw_os_error(libc::EPERM)));
    }

    #[test]
    fn a_route_with_several_hops_leads_by_each_of_them() {
        let hop = |index, gateway: [u8; 4]| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = index;
            hop.attributes = vec![RouteAttribute::Gateway(RouteAddress::Inet(gateway.into()))];
            hop
        };
        let mut route = RouteMessage::default();
        route.header.kind = RouteType::Unicast;
        route.attributes =
            vec![RouteAttribute::MultiPath(vec![hop(2, [192, 0, 2, 1]), hop(3, [198, 51, 100, 1])])];
        let gateway = |index| read(&route, index).and_then(|via| via.gateway);
        assert_eq!(gateway(3), Some(IpAddr::from([198, 51, 100, 1])));
        assert_eq!(gateway(2), Some(IpAddr::from([192, 0, 2, 1])));
        assert_eq!(read(&route, 4), None);
    }

    #[test]
    fn a_route_of_the_main_table_leads_by_each_of_its_interfaces() {
        let mut route = RouteMessage::default();
        route.header.kind = RouteType::Unicast;
        route.header.address_family = AddressFamily::Inet;
        route.header.table = RouteHeader::RT_TABLE_MAIN;
        let by = |index| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = index;
            hop
        };
        route.attributes = vec![RouteAttribute::MultiPath(vec![by(2), by(3)])];
        let read = |route: &RouteMessage| {
            of_main(route).iter().map(|r| format!("{} by {}", r.network, r.index)).collect::<Vec<_>>()
        };
        assert_eq!(read(&route), ["0.0.0.0/0 by 2", "0.0.0.0/0 by 3"]);
        route.header.destination_prefix_length = 24;
        let to = RouteAttribute::Destination(RouteAddress::Inet([10, 77, 0, 0].into()));
        route.attributes = vec![to.clone(), RouteAttribute::Oif(7)];
        assert_eq!(read(&route), ["10.77.0.0/24 by 7"]);
        route.attributes.push(RouteAttribute::Table(0x7277));
        assert!(read(&route).is_empty(), "another table");
        let network = leads_to(&route).map(|(table, network)| (table, network.to_string()));
        assert_eq!(network, Some((0x7277, "10.77.0.0/24".into())));
        route.attributes = vec![to, RouteAttribute::Oif(7)];
        route.header.destination_prefix_length = 33;
        assert!(read(&route).is_empty(), "no such network");
    }
}
