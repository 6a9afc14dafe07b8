//! Routes into the bond, and the default route with care.
//!
//! An ordinary route goes into the main table. A default route must not catch the bond's own packets, nor
//! what the machine reaches directly, nor answers to those who reached the machine at another interface's
//! address. So it goes into a table of its own, and these rules decide who looks there, first match first:
//!
//! ```text
//! 29300  from ADDRESS goto 29303     for each address of a path: answers leave as they would without us
//! 29301  lookup main suppress_prefixlength 0     neighbours and specific routes are as before; defaults are not
//! 29302  not fwmark 0x7277 lookup 29303          everybody but the bond's own sockets
//! 29303  nop                                     where the first goes on; then comes what was there before us
//! ```
//!
//! Without routes and rules all leaves in the clear, so what others take away of them is put back
//! ([`Routes::keep`]).

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::rule::{Rule, RuleKind, keep_rules};
use super::{Change, Journal, SetupError};
use crate::netlink::Netlink;

/// The mark (`SO_MARK`) of the bond's own packets: "rw" in ASCII.
pub const MARK: u32 = 0x7277;
/// The table of the default route into the bond: the same number.
pub const ROUTE_TABLE: u32 = 0x7277;
/// The first of the four rule priorities.
pub const PRIORITY_BASE: u32 = 29_300;

/// The routes into one bond.
#[derive(Debug)]
pub struct Routes {
    index: u32,
    /// Where they lead.
    networks: Vec<IpNet>,
}

/// The table that is asked where no rule says otherwise (rt_tables).
const MAIN: u32 = 254;

impl Routes {
    /// Routes into the device with interface index `index`; none so far.
    pub fn new(index: u32) -> Self {
        Routes { index, networks: Vec::new() }
    }

    /// Sends `network` into the bond. `0.0.0.0/0` and `::/0` take the default route of their IP version over.
    ///
    /// The routes themselves vanish with the device; the rules are journaled.
    ///
    /// # Errors
    /// The first that the kernel gave. Nothing of it stands then: it may be asked again.
    pub fn add(&mut self, journal: &mut Journal, network: IpNet) -> Result<(), SetupError> {
        let network = network.trunc();
        route_by(self.index, network, table(network))?;
        let ruled = if network.prefix_len() == 0 { add_rules(journal, network) } else { Ok(()) };
        if let Err(error) = ruled {
            let gone = self.delete_route(network);
            gone.unwrap_or_else(|error| tracing::warn!(%network, %error, "a route is left behind"));
            return Err(error);
        }
        self.networks.push(network);
        Ok(())
    }

    /// The default route of an IP version leads into the bond.
    fn is_taken(&self, v6: bool) -> bool {
        self.networks.iter().any(|n| n.prefix_len() == 0 && n.addr().is_ipv6() == v6)
    }

    /// Lets what the machine answers from `sources`, the addresses of its other interfaces, leave as
    /// before; no other address any more. Does nothing, and may be asked again, for an IP version
    /// whose default route is not taken.
    ///
    /// # Errors
    /// The first that the kernel gave; what else can be done is done.
    pub fn keep_replies(&self, journal: &mut Journal, sources: &[IpAddr]) -> Result<(), SetupError> {
        let wanted: Vec<Change> =
            sources.iter().filter(|s| self.is_taken(s.is_ipv6())).map(|s| keep(*s)).collect();
        let is_kept = |c: &&Change| matches!(c, Change::Rule(rule) if rule.priority == PRIORITY_BASE);
        let gone: Vec<Change> =
            journal.changes().iter().filter(is_kept).filter(|c| !wanted.contains(c)).cloned().collect();
        let mut outcome = Ok(());
        for change in &gone {
            outcome = outcome.and(journal.undo(change));
        }
        for change in wanted {
            if !journal.changes().contains(&change) {
                outcome = outcome.and(journal.make(change));
            }
        }
        outcome
    }

    /// Puts back what others took away of the routes into the bond and of rules, as a restart of
    /// systemd-networkd does. Returns how many those were. To be asked when routes or rules have
    /// changed.
    ///
    /// # Errors
    /// The first that the kernel gave; what else can be done is done.
    pub fn keep(&self, journal: &Journal) -> Result<usize, SetupError> {
        let (mut back, mut outcome) = (0, Ok(()));
        for network in &self.networks {
            match route_by(self.index, *network, table(*network)) {
                Ok(()) => back += 1,
                // It is there, or another program's, which counts as when it was added.
                Err(SetupError::RuleTaken | SetupError::RouteTaken(_)) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        let rules = keep_rules(journal);
        outcome.and(rules).map(|rules| back + rules)
    }

    /// Takes a route out again. For a default route the rules go too.
    pub fn remove(&mut self, journal: &mut Journal, network: IpNet) -> Result<(), SetupError> {
        let network = network.trunc();
        let v6 = network.addr().is_ipv6();
        self.networks.retain(|n| *n != network);
        if network.prefix_len() == 0 {
            let places = PRIORITY_BASE..=PRIORITY_BASE + 3;
            let ours =
                |c: &&Change| matches!(c, Change::Rule(r) if r.v6 == v6 && places.contains(&r.priority));
            let rules: Vec<Change> = journal.changes().iter().filter(ours).cloned().collect();
            rules.iter().rev().try_for_each(|rule| journal.undo(rule))?;
        }
        self.delete_route(network)
    }

    /// Deletes the route alone; no error if it is not there.
    fn delete_route(&self, network: IpNet) -> Result<(), SetupError> {
        delete_route_by(self.index, network, table(network))
    }
}

/// Adds the rules of a default route. If one cannot be had, the others are taken back.
fn add_rules(journal: &mut Journal, network: IpNet) -> Result<(), SetupError> {
    let v6 = network.addr().is_ipv6();
    let unmarked = RuleKind::UnmarkedToTable { mark: MARK, table: ROUTE_TABLE };
    let mut made = Vec::new();
    // From the last to the first, so that no packet goes the wrong way in between.
    for (place, does) in [(3, RuleKind::Nop), (1, RuleKind::MainWithoutDefault), (2, unmarked)] {
        let rule = Change::Rule(Rule { v6, priority: PRIORITY_BASE + place, does });
        if let Err(error) = journal.make(rule.clone()) {
            let gone = made.iter().rev().try_for_each(|rule| journal.undo(rule));
            gone.unwrap_or_else(|error| tracing::warn!(%error, "rules are left behind"));
            return Err(error);
        }
        made.push(rule);
    }
    Ok(())
}

/// The table that a route to `network` belongs in.
fn table(network: IpNet) -> u32 {
    if network.prefix_len() == 0 { ROUTE_TABLE } else { MAIN }
}

/// Adds a route to `network` by the interface with this index.
pub(super) fn route_by(index: u32, network: IpNet, table: u32) -> Result<(), SetupError> {
    let message = RouteNetlinkMessage::NewRoute(message(index, network, table));
    let added = Netlink::open().and_then(|mut n| n.change(message, NLM_F_CREATE | NLM_F_EXCL));
    added.map_err(|e| match e.raw_os_error() {
        Some(libc::EEXIST) if table != MAIN => SetupError::RuleTaken,
        Some(libc::EEXIST) => SetupError::RouteTaken(network),
        _ => SetupError::system(format!("adding a route to {network}"), e),
    })
}

/// Deletes a route to `network` by the interface with this index; no error if it is not there.
pub(super) fn delete_route_by(index: u32, network: IpNet, table: u32) -> Result<(), SetupError> {
    let message = RouteNetlinkMessage::DelRoute(message(index, network, table));
    match Netlink::open().and_then(|mut n| n.change(message, 0)) {
        Err(e) if e.raw_os_error() != Some(libc::ESRCH) => {
            Err(SetupError::system(format!("removing the route to {network}"), e))
        }
        _ => Ok(()),
    }
}

/// A route to `network` by the interface with this index.
pub(super) fn message(index: u32, network: IpNet, table: u32) -> RouteMessage {
    let v4 = network.addr().is_ipv4();
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: if v4 { AddressFamily::Inet } else { AddressFamily::Inet6 },
        destination_prefix_length: network.prefix_len(),
        protocol: RouteProtocol::Static,
        scope: if v4 { RouteScope::Link } else { RouteScope::Universe },
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Destination(network.addr().into()),
        RouteAttribute::Oif(index),
        RouteAttribute::Table(table),
    ];
    message
}

fn keep(source: IpAddr) -> Change {
    let does = RuleKind::FromGoto { source, target: PRIORITY_BASE + 3 };
    Change::Rule(Rule { v6: source.is_ipv6(), priority: PRIORITY_BASE, does })
}
