//! A network behind this machine whose addresses a gateway gives: what it sends goes into the bond,
//! wherever this machine's own routes lead.
//!
//! ```text
//! 29290  iif LAN from NETWORK lookup main suppress_prefixlength 0   what it sends to this machine's networks
//! 29291  iif LAN from NETWORK lookup 29290                          the rest leaves by the bond
//! 29292  iif LAN from NETWORK unreachable                           or not at all, where the bond is gone
//! ```
//!
//! They come before the rules of a bond's default route ([`super::Routes`]), and are for IPv6 alone.
//! They name the interface, since this machine's address inside is of the network, too: what it
//! sends itself goes as its own routes say.
//! Anybody may send to the network by the bond, so a table of the firewall drops what comes by the
//! bond for another IPv6 address. It also keeps other interfaces out of the network: what they bring
//! from there or for it is dropped, and no host speaks as this machine.

use std::net::Ipv6Addr;
use std::time::Instant;

use ipnet::{IpNet, Ipv6Net};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use serde::{Deserialize, Serialize};

use super::routes::{delete_route_by, route_by};
use super::rule::{Rule, RuleKind};
use super::sysctl::forward_v6;
use super::{Change, Journal, SetupError, device, remove_address};
use crate::links::index_of;
use crate::netlink::Netlink;
use crate::nft::{LOOP_WAITS, Nft, quoted, table_name};

/// The first of the three rule priorities.
pub const LAN_PRIORITY: u32 = 29_290;
/// The priority of what holds hosts back.
pub(super) const LAN_HELD_BACK: u32 = LAN_PRIORITY + 2;
/// Networks that were given before, at most: a gateway may not change its mind for ever.
const PAST: usize = 8;
/// The table with the way into the bond: the same number.
pub const LAN_TABLE: u32 = LAN_PRIORITY;

/// This machine's address in the network behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanAddress {
    /// The interface that the network is at.
    pub interface: String,
    /// The address, with the network.
    pub address: Ipv6Net,
}

/// The table of the firewall: what comes by the bond is for the network behind this machine, where
/// this machine's address inside is, too; and nobody but its hosts and the bond speaks with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanFilter {
    /// The bond's device.
    pub device: String,
    /// The interface that the network is at.
    pub interface: String,
    /// The network.
    pub network: Ipv6Net,
    /// This machine's address inside, which is of the network.
    pub inside: Ipv6Addr,
}

/// How packets from and for the network behind this machine go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanRoutes {
    /// The bond's device, by its index.
    pub index: u32,
    /// And by its name.
    pub device: String,
    /// The interface that the network is at.
    pub interface: String,
    /// The network.
    pub network: Ipv6Net,
    /// This machine's address inside, which is of the network.
    pub inside: Ipv6Addr,
}

impl LanAddress {
    /// The first address of a network at an interface.
    pub fn first_of(network: Ipv6Net, interface: &str) -> LanAddress {
        let first = Ipv6Addr::from(u128::from(network.network()) + 1);
        let address = Ipv6Net::new(first, network.prefix_len()).unwrap_or(network);
        LanAddress { interface: interface.to_owned(), address }
    }

    /// Gives the interface the address. One that went and came is given it again.
    ///
    /// # Errors
    /// The interface is not there, IPv6 is switched off, or the kernel refuses.
    pub fn give(&self, journal: &mut Journal) -> Result<(), SetupError> {
        journal.make_again(Change::LanAddress(self.clone()))
    }

    pub(super) fn add(&self) -> Result<(), SetupError> {
        let address = IpNet::V6(self.address);
        let index = index_of(&self.interface).map_err(|_| SetupError::NoInterface(self.interface.clone()))?;
        let message = RouteNetlinkMessage::NewAddress(device::message(index, address));
        let added = Netlink::open().and_then(|mut n| n.change(message, NLM_F_CREATE | NLM_F_REPLACE));
        added.map_err(|e| device::failed(&self.interface, address, e))
    }

    /// With its interface it is gone.
    pub(super) fn delete(&self) -> Result<(), SetupError> {
        match index_of(&self.interface) {
            Ok(index) => remove_address(index, self.address.into()),
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Ok(()),
            Err(e) => Err(SetupError::system("looking up an interface", e)),
        }
    }
}

impl LanFilter {
    const NFT: Nft = Nft { purpose: "--lan" };

    pub(super) fn add(&self) -> Result<(), SetupError> {
        Self::NFT.replace_within(LOOP_WAITS, &self.name(), &self.rules())
    }

    /// Adds it again while the bond runs.
    pub(super) fn add_table(&self, until: Instant) -> Result<(), SetupError> {
        Self::NFT.replace_until(until, &self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        Self::NFT.delete_within(LOOP_WAITS, &self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("lan", &self.device)
    }

    pub(super) fn rules(&self) -> String {
        let (bond, lan, network) = (quoted(&self.device), quoted(&self.interface), self.network);
        let own = LanAddress::first_of(network, &self.interface).address.addr();
        let inside = self.inside;
        format!(
            "  chain prerouting {{\n\
             \x20   type filter hook prerouting priority raw; policy accept;\n\
             \x20   iifname {bond} ip6 daddr != {network} drop\n\
             \x20   iifname != {{ {bond}, {lan}, \"lo\" }} ip6 daddr {network} drop\n\
             \x20   iifname != {{ {lan}, \"lo\" }} ip6 saddr {network} drop\n\
             \x20   iifname {lan} ip6 saddr {{ {own}, {inside} }} drop\n\
             \x20 }}\n\
             \x20 chain forward {{\n\
             \x20   type filter hook forward priority filter; policy accept;\n\
             \x20   iifname {bond} oifname != {lan} ip6 daddr {network} drop\n\
             \x20   iifname {lan} oifname != {{ {bond}, {lan} }} ip6 saddr {network} drop\n\
             \x20 }}\n"
        )
    }
}

impl LanRoutes {
    /// Leads packets into the bond and out of it, and lets this machine pass IPv6 on. The route
    /// vanishes with the device; the rest is journaled.
    ///
    /// # Errors
    /// The first that there was; then nothing of it stands but that IPv6 is passed on, and what holds
    /// hosts back.
    pub fn add(&self, journal: &mut Journal) -> Result<(), SetupError> {
        forward_v6(journal, Some(&self.interface))?;
        let held_back = self.held_back();
        let mut make = |change| match change == held_back && journal.changes().contains(&change) {
            true => Ok(()),
            false => journal.make(change),
        };
        let added = route_by(self.index, everywhere(), LAN_TABLE)
            .and_then(|()| self.changes().into_iter().try_for_each(&mut make));
        if added.is_err() {
            let gone = self.remove(journal);
            gone.unwrap_or_else(|error| tracing::warn!(%error, "rules are left behind: stop the client, then `ropewalk restore` takes them back"));
        }
        added
    }

    /// Whether hosts are held back from eight other networks already.
    pub fn is_too_many(&self, journal: &Journal) -> bool {
        let all = journal.changes();
        let known = all.iter().filter(|c| c.holds_hosts_back(&self.interface)).count();
        known >= PAST && !all.contains(&self.held_back())
    }

    /// Takes the route and rules back, but not what holds hosts back: they may use an address for two
    /// hours after it was taken back (RFC 4862 §5.5.3), and not in the clear.
    ///
    /// # Errors
    /// The first that there was; what else can be done is done.
    pub fn remove(&self, journal: &mut Journal) -> Result<(), SetupError> {
        let mut outcome = Ok(());
        let held_back = self.held_back();
        for change in self.changes().iter().rev().filter(|c| **c != held_back) {
            if journal.changes().contains(change) {
                outcome = outcome.and(journal.undo(change));
            }
        }
        outcome.and(delete_route_by(self.index, everywhere(), LAN_TABLE))
    }

    /// Puts the route back where others took it away; says whether it was so. The rules are kept with
    /// the journal's others.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn keep(&self) -> Result<bool, SetupError> {
        match route_by(self.index, everywhere(), LAN_TABLE) {
            Ok(()) => Ok(true),
            Err(SetupError::RuleTaken) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn held_back(&self) -> Change {
        let does = RuleKind::InFromToUnreachable {
            interface: self.interface.clone(),
            network: IpNet::V6(self.network),
        };
        Change::Rule(Rule { v6: true, priority: LAN_HELD_BACK, does })
    }

    /// What holds back comes first, and the exception before the rule.
    fn changes(&self) -> [Change; 4] {
        let (device, interface) = (self.device.clone(), self.interface.clone());
        let filter = LanFilter { device, interface, network: self.network, inside: self.inside };
        let rule = |place, does| Change::Rule(Rule { v6: true, priority: LAN_PRIORITY + place, does });
        let (network, interface) = (IpNet::V6(self.network), || self.interface.clone());
        [
            Change::LanFilter(filter),
            self.held_back(),
            rule(0, RuleKind::InFromMainWithoutDefault { interface: interface(), network }),
            rule(1, RuleKind::InFromToTable { interface: interface(), network, table: LAN_TABLE }),
        ]
    }
}

fn everywhere() -> IpNet {
    IpNet::V6(Ipv6Net::default())
}
