//! What goes into tunnels of this machine, whatever routers of access points announce of IPv6: the
//! kernel puts that into the main table, where the narrower network wins.
//!
//! ```text
//! 29280  lookup 29280     networks of tunnels; parts of them that other interfaces have go on (`throw`)
//! ```
//!
//! Whoever is bound to another interface finds nothing there, and goes on as well.

use std::collections::BTreeMap;

use ipnet::Ipv6Net;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};

use super::routes::message;
use super::rule::{Rule, RuleKind};
use super::ways::RouteTable;
use super::{Change, Journal, SetupError};
use crate::netlink::Netlink;

/// The priority of the rule: before those of a bond, and of a network behind this machine.
const TUNNEL_PRIORITY: u32 = 29_280;
/// The table: the same number.
pub const TUNNEL_TABLE: u32 = TUNNEL_PRIORITY;

/// The routes that go before the main table.
#[derive(Debug, Default)]
pub struct TunnelRoutes {
    /// By network: the index of its tunnel, or none where it goes on to the main table.
    stand: BTreeMap<Ipv6Net, Option<u32>>,
}

impl TunnelRoutes {
    /// Has packets look there first. That is journaled, and with it goes what will be there.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn begin(journal: &mut Journal) -> Result<TunnelRoutes, SetupError> {
        let does = RuleKind::ToTable { table: TUNNEL_TABLE };
        match journal.make(Change::Rule(Rule { v6: true, priority: TUNNEL_PRIORITY, does })) {
            // Then no router is heard.
            Err(SetupError::NoIpv6(_)) => {}
            made => made?,
        }
        journal.make(Change::RouteTable(RouteTable { table: TUNNEL_TABLE }))?;
        Ok(TunnelRoutes::default())
    }

    /// These networks go before the main table, and no others: each into the tunnel with this index, or
    /// on to the main table. To be asked again when routes have changed.
    ///
    /// # Errors
    /// The first that the kernel gave; what else can be done is done.
    pub fn set(&mut self, wanted: BTreeMap<Ipv6Net, Option<u32>>) -> Result<(), SetupError> {
        let failed = |e| SetupError::system("keeping networks in a tunnel", e);
        let mut netlink = Netlink::open().map_err(failed)?;
        let (mut outcome, mut left) = (Ok(()), BTreeMap::new());
        for (network, by) in self.stand.iter().filter(|(network, by)| wanted.get(*network) != Some(*by)) {
            match netlink.change(RouteNetlinkMessage::DelRoute(route(*network, *by)), 0) {
                Err(e) if e.raw_os_error() != Some(libc::ESRCH) => {
                    outcome = outcome.and(Err(failed(e)));
                    left.insert(*network, *by);
                }
                _ => {}
            }
        }
        for (network, by) in &wanted {
            let new = RouteNetlinkMessage::NewRoute(route(*network, *by));
            match netlink.change(new, NLM_F_CREATE | NLM_F_EXCL) {
                Err(e) if e.raw_os_error() != Some(libc::EEXIST) => outcome = outcome.and(Err(failed(e))),
                _ => {}
            }
        }
        self.stand = wanted;
        // The next call tries these again.
        self.stand.extend(left);
        outcome
    }
}

fn route(network: Ipv6Net, by: Option<u32>) -> RouteMessage {
    let mut route = message(by.unwrap_or_default(), network.into(), TUNNEL_TABLE);
    if by.is_none() {
        route.header.kind = RouteType::Throw;
        route.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::Oif(_)));
    }
    route
}
