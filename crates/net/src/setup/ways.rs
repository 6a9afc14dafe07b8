//! The ways out of exits ([`super::Exits`]): for each a table with a default route by its
//! interface, as this machine's own routes have it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteFlags, RouteMessage, RouteScope};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use super::exits::{Exit, Exits};
use super::routes::message;
use super::{Journal, SetupError, sysctl};
use crate::links::{self, Link, LinkError, Via};
use crate::netlink::Netlink;

/// Somewhere that only a default route leads to: of networks that nobody has (RFC 1112 §4, RFC
/// 9637).
const ANYWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(240, 0, 0, 1)), IpAddr::V6(Ipv6Addr::new(0x3fff, 0xffff, 0, 0, 0, 0, 0, 1))];

/// A table of routes of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteTable {
    /// Its number.
    pub table: u32,
}

/// Whether an exit leads anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The exit's interface.
    pub interface: String,
    /// For IPv4 and IPv6: it does. `None` where no client has such an address.
    pub leads: [Option<bool>; 2],
}

/// Gives each exit the way that this machine has by its interface now, and takes away what it has
/// no more. To be asked again now and then: the kernel drops a route with its interface and brings
/// none back.
///
/// # Errors
/// The first that the kernel gave; the other exits have their ways. Those that there are not lead
/// nowhere.
pub fn find_ways(journal: &mut Journal, exits: &Exits) -> Result<Vec<Way>, SetupError> {
    let links = links::list().map_err(failed)?;
    let link = |exit: &Exit| links.iter().find(|l| l.name == exit.interface && l.up);
    // Answers come in where this machine's own way to the other end is another.
    let admit = |exit: &Exit| match link(exit) {
        Some(_) => sysctl::reverse_path(journal, &exit.interface),
        None => Ok(()),
    };
    update_each(exits, admit, |exit, anywhere| put(exit, link(exit), anywhere))
}

/// Lets answers in for each exit, and brings its tables up to date. What fails keeps nothing else
/// back.
fn update_each(
    exits: &Exits,
    mut admit: impl FnMut(&Exit) -> Result<(), SetupError>,
    mut put: impl FnMut(&Exit, IpAddr) -> Result<bool, SetupError>,
) -> Result<Vec<Way>, SetupError> {
    let (mut ways, mut outcome) = (Vec::new(), Ok(()));
    for exit in &exits.exits {
        outcome = outcome.and(admit(exit));
        let mut leads = [None; 2];
        for (family, lead) in leads.iter_mut().enumerate().filter(|(family, _)| exits.families()[*family]) {
            let is_there = put(exit, ANYWHERE[family]);
            *lead = Some(*is_there.as_ref().unwrap_or(&false));
            outcome = outcome.and(is_there.map(drop));
        }
        ways.push(Way { interface: exit.interface.clone(), leads });
    }
    outcome.map(|()| ways)
}

/// Brings a table up to date for one IP version; says whether there is a way.
fn put(exit: &Exit, link: Option<&Link>, anywhere: IpAddr) -> Result<bool, SetupError> {
    let via = link.map(|link| way_by(exit, link, anywhere)).transpose().map_err(failed)?.flatten();
    let wanted = link.zip(via).map(|(link, via)| (link.index, via.gateway));
    let now = links::route_of(exit.mark(), anywhere).map_err(failed)?;
    let now = now.filter(|(table, ..)| *table == exit.mark()).map(|(_, index, gateway)| (index, gateway));
    if now == wanted {
        return Ok(wanted.is_some());
    }
    let what = |e| SetupError::system(format!("changing the route of the exit {}", exit.interface), e);
    let mut netlink = Netlink::open().map_err(what)?;
    match (wanted, now) {
        (Some((index, gateway)), _) => {
            let route = RouteNetlinkMessage::NewRoute(default_route(exit.mark(), index, gateway, anywhere));
            netlink.change(route, NLM_F_CREATE | NLM_F_REPLACE).map_err(what)?;
            tracing::info!(interface = exit.interface, ?gateway, "an exit leads out");
        }
        (None, Some((index, gateway))) => {
            let route = RouteNetlinkMessage::DelRoute(default_route(exit.mark(), index, gateway, anywhere));
            gone(netlink.change(route, 0)).map_err(what)?;
            tracing::warn!(interface = exit.interface, "an exit leads nowhere any more");
        }
        (None, None) => {}
    }
    Ok(wanted.is_some())
}

/// How this machine would send to anywhere by an interface: as its default route there has it, or
/// directly where there is but one neighbour.
fn way_by(exit: &Exit, link: &Link, anywhere: IpAddr) -> Result<Option<Via>, LinkError> {
    let keeps_address = anywhere.is_ipv6() && !exit.untranslated.is_empty();
    if !link.speaks(anywhere) && !keeps_address {
        return Ok(None);
    }
    match links::route_via(link.index, anywhere)? {
        Some(via) => Ok(Some(via)),
        None => Ok(has_one_neighbour(link.index)?.then(Via::default)),
    }
}

/// The interface is a tunnel, or a line, that asks for no hardware address.
fn has_one_neighbour(index: u32) -> io::Result<bool> {
    let mut request = LinkMessage::default();
    request.header.index = index;
    let answer = Netlink::open()?.get(RouteNetlinkMessage::GetLink(request))?;
    let Some(RouteNetlinkMessage::NewLink(link)) = answer else { return Ok(false) };
    Ok(link.header.flags.intersects(LinkFlags::Pointopoint | LinkFlags::Noarp))
}

fn default_route(table: u32, index: u32, gateway: Option<IpAddr>, of: IpAddr) -> RouteMessage {
    let everywhere = match of {
        IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
        IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
    };
    let mut route = message(index, everywhere, table);
    if let Some(gateway) = gateway {
        route.header.scope = RouteScope::Universe;
        // The main table says so; this one has no route to the router's network.
        route.header.flags = RouteFlags::Onlink;
        route.attributes.push(RouteAttribute::Gateway(gateway.into()));
    }
    route
}

impl RouteTable {
    /// Routes come one by one; there is nothing to do before.
    pub(super) fn add(self) -> Result<(), SetupError> {
        Ok(())
    }

    /// Deletes all routes of the table.
    pub(super) fn delete(self) -> Result<(), SetupError> {
        let what = |e| SetupError::system("deleting the routes of a table", e);
        let mut netlink = Netlink::open().map_err(what)?;
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            for answer in netlink.dump(RouteNetlinkMessage::GetRoute(request)).map_err(what)? {
                match answer {
                    RouteNetlinkMessage::NewRoute(route)
                        if route.attributes.contains(&RouteAttribute::Table(self.table)) =>
                    {
                        gone(netlink.change(RouteNetlinkMessage::DelRoute(route), 0)).map_err(what)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// A route that is not there any more is as good as deleted.
fn gone(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(e) if ![Some(libc::ESRCH), Some(libc::ENODEV)].contains(&e.raw_os_error()) => Err(e),
        _ => Ok(()),
    }
}

fn failed(error: LinkError) -> SetupError {
    SetupError::system("asking for the way of an exit", io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_a_default_route_of_its_table() {
        let gateway = Some("192.0.2.1".parse().unwrap());
        let route = default_route(7, 3, gateway, ANYWHERE[0]);
        assert_eq!(route.header.destination_prefix_length, 0);
        assert!(route.header.flags.contains(RouteFlags::Onlink));
        assert!(route.attributes.contains(&RouteAttribute::Table(7)));
        assert!(route.attributes.contains(&RouteAttribute::Oif(3)));
        let direct = default_route(7, 3, None, ANYWHERE[1]);
        assert!(direct.header.flags.is_empty() && direct.header.address_family == AddressFamily::Inet6);
        assert!(!direct.attributes.iter().any(|a| matches!(a, RouteAttribute::Gateway(_))));
    }

    #[test]
    fn an_exit_that_fails_keeps_no_other_back() {
        let exit = |interface: &str, number| Exit {
            interface: interface.into(),
            number,
            networks: vec![],
            untranslated: vec![],
        };
        let inside = vec!["10.77.0.0/24".parse().unwrap()];
        let exits = Exits { inside, exits: vec![exit("wan0", 1), exit("wan1", 2)], ..Exits::default() };
        let admit = |exit: &Exit| match exit.number {
            1 => Err(SetupError::NotPermitted("setting a filter".into())),
            _ => Ok(()),
        };
        let mut led = Vec::new();
        let put = |exit: &Exit, _: IpAddr| -> Result<bool, SetupError> {
            led.push(exit.number);
            Ok(true)
        };
        let outcome = update_each(&exits, admit, put);
        assert!(matches!(outcome, Err(SetupError::NotPermitted(_))), "{outcome:?}");
        assert_eq!(led, [1, 2]);
    }

    #[test]
    fn the_loopback_interface_leads_nowhere() {
        let lo = links::list().unwrap().into_iter().find(|l| l.loopback).unwrap();
        let exit = Exit { interface: lo.name.clone(), number: 1, networks: vec![], untranslated: vec![] };
        assert_eq!(way_by(&exit, &lo, ANYWHERE[1]).unwrap(), None);
    }
}
