//! The changes that outlive the process that made them.

use std::borrow::Cow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::SetupError;
use super::capture::Capture;
use super::classes::Classes;
use super::exits::ExitMarks;
use super::firewall::{Guard, KillSwitch};
use super::global::GlobalNetwork;
use super::grants::Grants;
use super::lan::{LAN_HELD_BACK, LanAddress, LanFilter};
use super::neighbours::NeighbourProxies;
use super::quotas::Quotas;
use super::rts::{RtsThreshold, Tries};
use super::rule::{Rule, RuleKind};
use super::sysctl::Sysctl;
use super::uploads::UploadCaps;
use super::ways::RouteTable;

/// A change that can be made and taken back. Taking back what is not there (any more) is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A policy routing rule.
    Rule(Rule),
    /// A kernel setting.
    Sysctl(Sysctl),
    /// The RTS threshold of a radio.
    RtsThreshold(RtsThreshold),
    /// How often a radio tries a frame.
    Tries(Tries),
    /// A table of the firewall; see [`crate::nat`].
    NatTable(crate::nat::Table),
    /// The resolver of a network device; see [`crate::dns`].
    Resolver(crate::dns::Resolver),
    /// An address from which MPTCP opens subflows; see [`crate::mptcp`].
    MptcpEndpoint(crate::mptcp::Endpoint),
    /// How many of them a connection may have.
    MptcpLimits(crate::mptcp::Limits),
    /// A station of our own; see [`crate::wifi`].
    StationInterface(crate::wifi::StationInterface),
    /// A monitor of our own.
    MonitorInterface(crate::wifi::MonitorInterface),
    /// An interface that was off.
    SwitchedOn(crate::wifi::SwitchedOn),
    /// What NetworkManager keeps off.
    Unmanaged(crate::wifi::Unmanaged),
    /// Connections that go through a device of ours.
    Capture(Capture),
    /// Classes of an uplink.
    Classes(Classes),
    /// A table of the firewall.
    Guard(Guard),
    /// Another.
    KillSwitch(KillSwitch),
    /// Another: what a gateway grants.
    Grants(Grants),
    /// Another: caps of what clients send.
    UploadCaps(UploadCaps),
    /// Another: whose quota is used up.
    Quotas(Quotas),
    /// Another: whose addresses the world sees.
    GlobalNetwork(GlobalNetwork),
    /// Addresses that this machine answers for.
    NeighbourProxies(NeighbourProxies),
    /// A table of the firewall: by which exit clients leave.
    ExitMarks(ExitMarks),
    /// The routes of an exit, or of tunnels.
    #[serde(rename = "exit_table")]
    RouteTable(RouteTable),
    /// An address of the interface behind this machine.
    LanAddress(LanAddress),
    /// A table of the firewall: what may come by the bond for what is behind this machine.
    LanFilter(LanFilter),
}

impl Change {
    pub(super) fn make(&self) -> Result<(), SetupError> {
        match self {
            Change::Rule(rule) => rule.add(),
            Change::Sysctl(sysctl) => sysctl.set(),
            Change::RtsThreshold(radio) => radio.set(),
            Change::Tries(radio) => radio.set(),
            Change::NatTable(table) => table.add(),
            Change::Resolver(resolver) => resolver.set(),
            Change::MptcpEndpoint(endpoint) => endpoint.add(),
            Change::MptcpLimits(limits) => limits.set(),
            Change::StationInterface(station) => station.add(),
            Change::MonitorInterface(monitor) => monitor.add(),
            Change::SwitchedOn(interface) => interface.set(),
            Change::Unmanaged(interfaces) => interfaces.add(),
            Change::Capture(capture) => capture.add(),
            Change::Classes(classes) => classes.add(),
            Change::Guard(guard) => guard.add(),
            Change::KillSwitch(switch) => switch.add(),
            Change::Grants(grants) => grants.add(),
            Change::UploadCaps(uploads) => uploads.add(),
            Change::Quotas(quotas) => quotas.add(),
            Change::GlobalNetwork(network) => network.add(),
            Change::NeighbourProxies(proxies) => proxies.add(),
            Change::ExitMarks(marks) => marks.add(),
            Change::RouteTable(table) => table.add(),
            Change::LanAddress(address) => address.add(),
            Change::LanFilter(filter) => filter.add(),
        }
    }

    pub(super) fn take_back(&self) -> Result<(), SetupError> {
        match self {
            Change::Rule(rule) => rule.delete(),
            Change::Sysctl(sysctl) => sysctl.restore(),
            Change::RtsThreshold(radio) => radio.restore(),
            Change::Tries(radio) => radio.restore(),
            Change::NatTable(table) => table.delete(),
            Change::Resolver(resolver) => resolver.revert(),
            Change::MptcpEndpoint(endpoint) => endpoint.delete(),
            Change::MptcpLimits(limits) => limits.restore(),
            Change::StationInterface(station) => station.delete(),
            Change::MonitorInterface(monitor) => monitor.delete(),
            Change::SwitchedOn(interface) => interface.restore(),
            Change::Unmanaged(interfaces) => interfaces.delete(),
            Change::Capture(capture) => capture.delete(),
            Change::Classes(classes) => classes.delete(),
            Change::Guard(guard) => guard.delete(),
            Change::KillSwitch(switch) => switch.delete(),
            Change::Grants(grants) => grants.delete(),
            Change::UploadCaps(uploads) => uploads.delete(),
            Change::Quotas(quotas) => quotas.delete(),
            Change::GlobalNetwork(network) => network.delete(),
            Change::NeighbourProxies(proxies) => proxies.delete(),
            Change::ExitMarks(marks) => marks.delete(),
            Change::RouteTable(table) => table.delete(),
            Change::LanAddress(address) => address.delete(),
            Change::LanFilter(filter) => filter.delete(),
        }
    }

    /// The table of the firewall that it is, or has.
    pub(super) fn table(&self) -> Option<String> {
        Some(match self {
            Change::NatTable(table) => table.name(),
            Change::Capture(capture) => capture.name(),
            Change::Classes(classes) => classes.table(),
            Change::Guard(guard) => guard.name(),
            Change::KillSwitch(switch) => switch.name(),
            Change::Grants(grants) => grants.name(),
            Change::UploadCaps(uploads) => uploads.name(),
            Change::Quotas(quotas) => quotas.name(),
            Change::GlobalNetwork(network) => network.name(),
            Change::ExitMarks(marks) => marks.name(),
            Change::LanFilter(filter) => filter.name(),
            _ => return None,
        })
    }

    /// The text of that table.
    pub(super) fn table_rules(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Change::NatTable(table) => table.rules().into(),
            Change::Capture(capture) => capture.rules().into(),
            Change::Classes(classes) => classes.rules().into(),
            Change::Guard(guard) => guard.rules().into(),
            Change::KillSwitch(switch) => switch.rules().into(),
            Change::Grants(grants) => grants.rules().into(),
            Change::UploadCaps(uploads) => uploads.rules().into(),
            Change::Quotas(quotas) => quotas.rules().into(),
            Change::GlobalNetwork(network) => network.rules().into(),
            Change::ExitMarks(marks) => marks.rules().into(),
            Change::LanFilter(filter) => filter.rules().into(),
            _ => return None,
        })
    }

    /// Adds that table again, where somebody has taken it away; one that a data loop waits for by
    /// this time at most.
    pub(super) fn add_table(&self, until: Instant) -> Result<(), SetupError> {
        match self {
            Change::Classes(classes) => classes.add_table(),
            Change::Guard(guard) => guard.add_table(until),
            Change::KillSwitch(switch) => switch.add_table(until),
            Change::LanFilter(filter) => filter.add_table(until),
            whole => whole.make(),
        }
    }

    /// It stays when its bond fails.
    pub fn is_kill_switch(&self) -> bool {
        matches!(self, Change::KillSwitch(_))
    }

    /// It holds back what hosts at the interface send with addresses of a network that is, or was, behind
    /// this machine ([`super::LanRoutes`]).
    pub fn holds_hosts_back(&self, interface: &str) -> bool {
        let Change::Rule(Rule { does, .. }) = self else { return false };
        let is_its = matches!(does, RuleKind::InFromToUnreachable { interface: at, .. } if at == interface);
        is_its && self.holds_any_host_back()
    }

    pub(super) fn holds_any_host_back(&self) -> bool {
        matches!(self, Change::Rule(Rule { priority: LAN_HELD_BACK, .. }))
    }
}
