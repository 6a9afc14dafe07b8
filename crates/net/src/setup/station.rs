//! An interface of ours among several whose networks may overlap: each has a table of its own, and is asked by whoever is bound to it or to its address.
//!
//! ```text
//! 29310 + N  oif INTERFACE lookup TABLE     sockets that are bound to the interface: paths of a bond, subflows of MPTCP
//! 29310 + N  from ADDRESS lookup TABLE      answers, and sockets that are bound to the address
//! ```
//!
//! They come behind the rules of a bond's default route ([`super::Routes`]), whose own packets are let by. The main table has the same routes with a metric,
//! for whoever is bound to nothing; without the one to the network where that is a part of what goes into a tunnel. IPv6 is the kernel's, which puts what
//! routers announce into the main table ([`super::TunnelRoutes`]).

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeader, AddressMessage, AddressScope,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::rule::{Rule, RuleKind};
use super::{Change, Journal, SetupError, sysctl};
use crate::netlink::Netlink;

/// The first rule's priority: behind those of a bond.
const PRIORITY: u32 = super::PRIORITY_BASE + 10;
/// The first table.
const TABLE: u32 = super::ROUTE_TABLE + 0x100;
const MAIN: u32 = 254;

/// Answers that came by another interface of the same network are let in, and neighbours are told of an interface's own addresses only: several stations may
/// be on one network.
const SETTINGS: [(&str, &str); 3] =
    [("ipv4/conf/{}/rp_filter", "2"), ("ipv4/conf/{}/arp_ignore", "1"), ("ipv4/conf/{}/arp_announce", "2")];

/// An interface of ours with a number, which no other has at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationNetwork {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u32,
}

/// What an interface got, and how its routes in the main table stand to others'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationAddress {
    /// Its address, with the network around it.
    pub address: Ipv4Net,
    /// The way to everywhere else.
    pub router: Option<Ipv4Addr>,
    /// The less, the sooner it is taken.
    pub metric: u32,
}

impl StationNetwork {
    /// The kernel's settings of the interface, which end with it.
    pub fn prepare(&self) {
        for (key, value) in SETTINGS {
            sysctl::insist(&key.replace("{}", &self.name), value);
        }
    }

    /// Gives the interface an address, the routes of its own table, and the rules: it is there for whoever is bound to it. The rules are journaled; all else
    /// ends with the interface.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn add(&self, journal: &mut Journal, given: &StationAddress) -> Result<(), SetupError> {
        let what = format!("giving {} an address", self.name);
        let address = RouteNetlinkMessage::NewAddress(self.address(given.address));
        let added = Netlink::open().and_then(|mut n| n.change(address, NLM_F_CREATE | NLM_F_REPLACE));
        added.map_err(|e| SetupError::system(what, e))?;
        self.add_routes(given, TABLE + self.number, true)?;
        self.rules(given).into_iter().try_for_each(|rule| match journal.changes().contains(&rule) {
            true => Ok(()),
            false => journal.make(rule),
        })
    }

    /// Adds its routes to the main table, for whoever is bound to nothing: the way by the router, and,
    /// where it is to be `on_link`, that to its network, which goes before wider routes of others.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open_to_all(&self, given: &StationAddress, on_link: bool) -> Result<(), SetupError> {
        if !on_link {
            for route in self.routes(given, MAIN, true).into_iter().take(1) {
                self.delete(route)?;
            }
        }
        self.add_routes(given, MAIN, on_link)
    }

    /// Deletes a route; no error if it is not there.
    fn delete(&self, route: RouteMessage) -> Result<(), SetupError> {
        match Netlink::open().and_then(|mut n| n.change(RouteNetlinkMessage::DelRoute(route), 0)) {
            Err(e) if e.raw_os_error() != Some(libc::ESRCH) => {
                Err(SetupError::system(format!("deleting a route by {}", self.name), e))
            }
            _ => Ok(()),
        }
    }

    fn add_routes(&self, given: &StationAddress, table: u32, on_link: bool) -> Result<(), SetupError> {
        let failed = |e| SetupError::system(format!("adding a route by {}", self.name), e);
        let mut netlink = Netlink::open().map_err(failed)?;
        for route in self.routes(given, table, on_link) {
            match netlink.change(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL) {
                // It was there before: a lease that was given again.
                Err(e) if e.raw_os_error() != Some(libc::EEXIST) => return Err(failed(e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes all of that away.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn remove(&self, journal: &mut Journal, given: &StationAddress) -> Result<(), SetupError> {
        for rule in self
            .rules(given)
            .iter()
            .rev()
            .filter(|r| journal.changes().contains(r))
            .cloned()
            .collect::<Vec<_>>()
        {
            journal.undo(&rule)?;
        }
        // The kernel takes the routes whose source it was along.
        super::remove_address(self.index, given.address.into())
    }

    fn rules(&self, given: &StationAddress) -> [Change; 2] {
        let (priority, table) = (PRIORITY + self.number, TABLE + self.number);
        let rule = |does| Change::Rule(Rule { v6: false, priority, does });
        [
            rule(RuleKind::ByToTable { interface: self.name.clone(), table }),
            rule(RuleKind::FromToTable { source: IpAddr::V4(given.address.addr()), table }),
        ]
    }

    fn address(&self, address: Ipv4Net) -> AddressMessage {
        let mut message = AddressMessage::default();
        message.header = AddressHeader {
            family: AddressFamily::Inet,
            prefix_len: address.prefix_len(),
            scope: AddressScope::Universe,
            index: self.index,
            ..AddressHeader::default()
        };
        let ip = IpAddr::V4(address.addr());
        message.attributes = vec![
            AddressAttribute::Local(ip),
            AddressAttribute::Address(ip),
            AddressAttribute::Broadcast(address.broadcast()),
            // The route to its network has a metric, so it is added by hand.
            AddressAttribute::Flags(AddressFlags::Noprefixroute),
        ];
        message
    }

    /// To the network, if that is `on_link`, and by the router to everywhere else.
    fn routes(&self, given: &StationAddress, table: u32, on_link: bool) -> Vec<RouteMessage> {
        let route = |network: Ipv4Net, router: Option<Ipv4Addr>| {
            let mut message = RouteMessage::default();
            message.header = RouteHeader {
                address_family: AddressFamily::Inet,
                destination_prefix_length: network.prefix_len(),
                protocol: RouteProtocol::Dhcp,
                scope: if router.is_some() { RouteScope::Universe } else { RouteScope::Link },
                kind: RouteType::Unicast,
                ..RouteHeader::default()
            };
            message.attributes = vec![
                RouteAttribute::Destination(network.addr().into()),
                RouteAttribute::Oif(self.index),
                RouteAttribute::Table(table),
                RouteAttribute::Priority(given.metric),
                RouteAttribute::PrefSource(given.address.addr().into()),
            ];
            message.attributes.extend(router.map(|r| RouteAttribute::Gateway(r.into())));
            message
        };
        let everywhere = Ipv4Net::default();
        let network = on_link.then(|| route(given.address.trunc(), None));
        let onward = given.router.map(|router| {
            let mut onward = route(everywhere, Some(router));
            // Some servers name a router outside the network (RFC 3442 leaves it open). A route to it would
            // go before a bond's, if it is an address inside one.
            if !on_link || !given.address.contains(&router) {
                onward.header.flags = RouteFlags::Onlink;
            }
            onward
        });
        network.into_iter().chain(onward).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_outside_the_network_gets_no_route_of_its_own() {
        let station = StationNetwork { index: 7, name: "roam0".into(), number: 0 };
        for (router, flags) in [("192.168.1.1", RouteFlags::empty()), ("10.77.0.1", RouteFlags::Onlink)] {
            let address = "192.168.1.5/24".parse().unwrap();
            let given = StationAddress { address, router: Some(router.parse().unwrap()), metric: 1 };
            let routes = station.routes(&given, MAIN, true);
            let lengths: Vec<u8> = routes.iter().map(|r| r.header.destination_prefix_length).collect();
            assert_eq!(lengths, [24, 0], "{router}");
            assert_eq!(routes[1].header.flags, flags, "{router}");
            let routes = station.routes(&given, MAIN, false);
            assert_eq!((routes.len(), routes[0].header.flags), (1, RouteFlags::Onlink), "{router}");
        }
    }
}
