//! Policy routing rules (`ip rule`, `ip-rule(8)`).

use std::io;
use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleHeader, RuleMessage};
use netlink_packet_route::{AddressFamily, IpProtocol, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use super::{Change, Journal, SetupError};
use crate::netlink::Netlink;

/// The table that holds the machine's ordinary routes.
const MAIN: u32 = 254;

/// A rule, for one IP version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// IPv6, else IPv4.
    pub v6: bool,
    /// Its place: lower numbers are looked at first.
    pub priority: u32,
    /// What it does.
    pub does: RuleKind,
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Packets without the mark look into the table.
    UnmarkedToTable {
        /// The mark.
        mark: u32,
        /// The table.
        table: u32,
    },
    /// Packets with the mark look into the table.
    MarkToTable {
        /// The mark.
        mark: u32,
        /// The table.
        table: u32,
    },
    /// The main table answers, but not with its default route.
    MainWithoutDefault,
    /// Packets from the address go on at the rule with the given priority.
    FromGoto {
        /// The source address.
        source: IpAddr,
        /// The priority of the rule to go on at.
        target: u32,
    },
    /// Packets from the address look into the table.
    FromToTable {
        /// The source address.
        source: IpAddr,
        /// The table.
        table: u32,
    },
    /// Packets from the network that came in by the interface look into the main table, but not at
    /// its default route.
    InFromMainWithoutDefault {
        /// The interface's name.
        interface: String,
        /// The network.
        network: IpNet,
    },
    /// Packets from the network that came in by the interface look into the table.
    InFromToTable {
        /// The interface's name.
        interface: String,
        /// The network.
        network: IpNet,
        /// The table.
        table: u32,
    },
    /// Packets from the network that came in by the interface go nowhere, and whoever sent them is told.
    InFromToUnreachable {
        /// The interface's name.
        interface: String,
        /// The network.
        network: IpNet,
    },
    /// Packets that have to leave by the interface look into the table.
    ByToTable {
        /// The interface's name.
        interface: String,
        /// The table.
        table: u32,
    },
    /// Packets that came in by the interface go on at the rule with the given priority; `lo` are those that the machine
    /// sends itself.
    ByGoto {
        /// The interface's name.
        interface: String,
        /// The priority of the rule to go on at.
        target: u32,
    },
    /// Packets with the mark that came in by the interface look into the main table.
    InMarkToMain {
        /// The interface's name.
        interface: String,
        /// The mark.
        mark: u32,
    },
    /// Packets with the mark that came in by the interface go on at the rule with the given
    /// priority.
    InMarkGoto {
        /// The interface's name.
        interface: String,
        /// The mark.
        mark: u32,
        /// The priority of the rule to go on at.
        target: u32,
    },
    /// Packets that came in by the interface go nowhere, and whoever sent them is told.
    InToUnreachable {
        /// The interface's name.
        interface: String,
    },
    /// Packets to the network that came in by the interface go nowhere, and nobody is told.
    InToNowhere {
        /// The interface's name.
        interface: String,
        /// The network.
        network: IpNet,
    },
    /// Packets to the network go nowhere, and whoever sent them is told that it is forbidden.
    ToProhibited {
        /// The network.
        network: IpNet,
    },
    /// All packets look into the table.
    ToTable {
        /// The table.
        table: u32,
    },
    /// TCP looks into the table.
    TcpToTable {
        /// The table.
        table: u32,
    },
    /// Nothing; a place to go to.
    Nop,
}

impl Rule {
    pub(super) fn add(&self) -> Result<(), SetupError> {
        self.add_through(&mut Netlink::open().map_err(failed)?)
    }

    fn add_through(&self, netlink: &mut Netlink) -> Result<(), SetupError> {
        let message = RouteNetlinkMessage::NewRule(self.message());
        let added = netlink.change(message, NLM_F_CREATE | NLM_F_EXCL);
        added.map_err(|e| match e.raw_os_error() {
            Some(libc::EEXIST) => SetupError::RuleTaken,
            Some(libc::EAFNOSUPPORT) if self.v6 => SetupError::NoIpv6("a routing rule".into()),
            _ => failed(e),
        })
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        let message = RouteNetlinkMessage::DelRule(self.message());
        match Netlink::open().and_then(|mut n| n.change(message, 0)) {
            Err(e) if !is_absent(&e) => Err(SetupError::system("deleting a policy routing rule", e)),
            _ => Ok(()),
        }
    }

    fn message(&self) -> RuleMessage {
        let mut header = RuleHeader {
            family: if self.v6 { AddressFamily::Inet6 } else { AddressFamily::Inet },
            action: RuleAction::ToTable,
            ..RuleHeader::default()
        };
        let mut attributes = vec![RuleAttribute::Priority(self.priority)];
        match &self.does {
            RuleKind::UnmarkedToTable { mark, table } => {
                header.flags = RuleFlags::Invert;
                attributes.extend([
                    RuleAttribute::FwMark(*mark),
                    RuleAttribute::FwMask(u32::MAX),
                    RuleAttribute::Table(*table),
                ]);
            }
            RuleKind::MarkToTable { mark, table } => {
                attributes.extend([
                    RuleAttribute::FwMark(*mark),
                    RuleAttribute::FwMask(u32::MAX),
                    RuleAttribute::Table(*table),
                ]);
            }
            RuleKind::MainWithoutDefault => {
                attributes.extend([RuleAttribute::Table(MAIN), RuleAttribute::SuppressPrefixLen(0)]);
            }
            RuleKind::FromGoto { source, target } => {
                header.action = RuleAction::Goto;
                header.src_len = if self.v6 { 128 } else { 32 };
                attributes.extend([RuleAttribute::Source(*source), RuleAttribute::Goto(*target)]);
            }
            RuleKind::FromToTable { source, table } => {
                header.src_len = if self.v6 { 128 } else { 32 };
                attributes.extend([RuleAttribute::Source(*source), RuleAttribute::Table(*table)]);
            }
            RuleKind::InFromMainWithoutDefault { interface, network } => {
                header.src_len = network.prefix_len();
                attributes.extend(in_from(interface, *network));
                attributes.extend([RuleAttribute::Table(MAIN), RuleAttribute::SuppressPrefixLen(0)]);
            }
            RuleKind::InFromToTable { interface, network, table } => {
                header.src_len = network.prefix_len();
                attributes.extend(in_from(interface, *network));
                attributes.push(RuleAttribute::Table(*table));
            }
            RuleKind::InFromToUnreachable { interface, network } => {
                header.action = RuleAction::Unreachable;
                header.src_len = network.prefix_len();
                attributes.extend(in_from(interface, *network));
            }
            RuleKind::ByToTable { interface, table } => {
                attributes.extend([RuleAttribute::Oifname(interface.clone()), RuleAttribute::Table(*table)]);
            }
            RuleKind::ByGoto { interface, target } => {
                header.action = RuleAction::Goto;
                attributes.extend([RuleAttribute::Iifname(interface.clone()), RuleAttribute::Goto(*target)]);
            }
            RuleKind::InMarkToMain { interface, mark } => attributes.extend([
                RuleAttribute::Iifname(interface.clone()),
                RuleAttribute::FwMark(*mark),
                RuleAttribute::FwMask(u32::MAX),
                RuleAttribute::Table(MAIN),
            ]),
            RuleKind::InMarkGoto { interface, mark, target } => {
                header.action = RuleAction::Goto;
                attributes.extend([
                    RuleAttribute::Iifname(interface.clone()),
                    RuleAttribute::FwMark(*mark),
                    RuleAttribute::FwMask(u32::MAX),
                    RuleAttribute::Goto(*target),
                ]);
            }
            RuleKind::InToUnreachable { interface } => {
                header.action = RuleAction::Unreachable;
                attributes.push(RuleAttribute::Iifname(interface.clone()));
            }
            RuleKind::InToNowhere { interface, network } => {
                header.action = RuleAction::Blackhole;
                header.dst_len = network.prefix_len();
                attributes.extend([
                    RuleAttribute::Iifname(interface.clone()),
                    RuleAttribute::Destination(network.addr()),
                ]);
            }
            RuleKind::ToProhibited { network } => {
                header.action = RuleAction::Prohibit;
                header.dst_len = network.prefix_len();
                attributes.push(RuleAttribute::Destination(network.addr()));
            }
            RuleKind::ToTable { table } => attributes.push(RuleAttribute::Table(*table)),
            RuleKind::TcpToTable { table } => {
                attributes.extend([RuleAttribute::IpProtocol(IpProtocol::Tcp), RuleAttribute::Table(*table)]);
            }
            RuleKind::Nop => header.action = RuleAction::Nop,
        }
        let mut message = RuleMessage::default();
        message.header = header;
        message.attributes = attributes;
        message
    }
}

/// Adds rules of the journal again that others have taken away, as a restart of systemd-networkd
/// does, in the order in which they were made: what holds back comes before what lets through.
/// Says how many. To be asked now and then.
///
/// # Errors
/// The first that there was; what else can be done is done.
pub fn keep_rules(journal: &Journal) -> Result<usize, SetupError> {
    let mut netlink = Netlink::open().map_err(failed)?;
    let (mut back, mut outcome) = (0, Ok(()));
    for change in journal.changes() {
        let Change::Rule(rule) = change else { continue };
        match rule.add_through(&mut netlink) {
            Ok(()) => back += 1,
            Err(SetupError::RuleTaken) => {}
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome.map(|()| back)
}

/// Selects what came in by the interface from the network.
fn in_from(interface: &str, network: IpNet) -> [RuleAttribute; 2] {
    [RuleAttribute::Iifname(interface.to_owned()), RuleAttribute::Source(network.addr())]
}

fn failed(error: io::Error) -> SetupError {
    SetupError::system("adding a policy routing rule", error)
}

/// The kernel's ways to say that there is no such rule.
fn is_absent(error: &io::Error) -> bool {
    let codes = [libc::ENOENT, libc::ESRCH, libc::EAFNOSUPPORT];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
