//! What the bond changes on a machine, and how it takes it back.
//!
//! Two kinds of change. Addresses and routes that belong to the bond's TUN device vanish with it, even after
//! `kill -9`. Everything else (policy rules, sysctls, firewall tables, the resolver) is a [`Change`], and
//! every change goes through the [`Journal`]: it is written down before it is made and taken back in reverse
//! order at exit, or at the next start if there was no proper exit.

mod bridge;
mod capture;
mod change;
mod classes;
pub(crate) mod conntrack;
mod device;
mod divert;
mod exits;
mod firewall;
mod global;
mod grants;
mod journal;
mod lan;
mod neighbours;
mod quotas;
mod routes;
mod rts;
mod rule;
mod shaping;
mod station;
mod sysctl;
mod tables;
mod tunnels;
mod uploads;
mod ways;
mod within;

pub use bridge::{find_bridge, join_bridge};
pub use capture::{CAPTURE_MARK, CAPTURE_PRIORITY, CAPTURE_TABLE, Capture, capture, release};
pub use change::Change;
pub(crate) use classes::BACKGROUND;
pub use classes::{Classes, classes};
pub use device::{DeviceConfig, configure, remove_address};
pub use divert::{DIVERT_PRIORITY, DIVERT_TABLE, divert, is_forwarding, translates_addresses};
pub use exits::{EXIT_MARK, EXIT_PRIORITY, Exit, ExitMarks, Exits, leave_by};
pub use firewall::{Guard, KillSwitch, guard, kill_switch};
pub use global::{GLOBAL_MARK, GLOBAL_PRIORITY, GlobalNetwork, let_through};
pub use grants::{Forward, GROUP_MARK, GROUP_PRIORITY, Grants, Limit, Protocol, grant, keep_held_back};
pub(crate) use journal::read_any;
pub use journal::{Journal, cleanup_stale, refuse_elsewhere};
pub use lan::{LAN_PRIORITY, LAN_TABLE, LanAddress, LanFilter, LanRoutes};
pub use neighbours::{Answers, NeighbourProxies, prepare_answers};
pub use quotas::{Hold, Quotas, hold_back};
pub use routes::{MARK, PRIORITY_BASE, ROUTE_TABLE, Routes};
pub use rts::{RtsThreshold, Tries, is_worth_protecting, protect};
pub use rule::{Rule, RuleKind, keep_rules};
pub use station::{StationAddress, StationNetwork};
pub use sysctl::{Sysctl, ask_for_marks, forwarding, hear_routers, liberal_tracking, reverse_path};
pub use tables::{TableWatch, keep_tables};
pub use tunnels::{TUNNEL_TABLE, TunnelRoutes};
pub use uploads::UploadCaps;
pub use ways::{RouteTable, Way, find_ways};

use std::io;
use std::path::PathBuf;

/// What can go wrong when a machine is set up or restored.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Another process works with the same state directory.
    #[error("another ropewalk runs with the state directory {}: stop it, or choose another with --state", .0.display())]
    Running(PathBuf),
    /// A list of changes of this boot that were made in another network namespace.
    #[error(
        "what {} lists was changed in another network namespace: run this there (`ip netns exec NAME …`, or `nsenter \
         --net=FILE …`). If that namespace is gone, so are the changes: remove the file", .0.display()
    )]
    Elsewhere(PathBuf),
    /// The journal cannot be written, so nothing may be changed.
    #[error("cannot write {}, where changes to this machine are noted so that they can be taken back", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A route that is to be added is there already.
    #[error("this machine has a route to {0} already: remove it, or leave out --route {0}")]
    RouteTaken(ipnet::IpNet),
    /// The bridge is not there.
    #[error("there is no bridge named `{0}`: make it (`ip link add {0} type bridge`), or leave the key out")]
    NoBridge(String),
    /// An interface is not there.
    #[error("there is no network interface named `{0}`")]
    NoInterface(String),
    /// Clients' addresses are to be answered for at an interface that is on the whole of their
    /// network.
    #[error(
        "{interface} is on {network}, which has no addresses left for clients: give --address a part of it, with a longer prefix"
    )]
    SameNetwork {
        /// The interface.
        interface: String,
        /// Its network.
        network: ipnet::Ipv6Net,
    },
    /// Another bond has such rules, or such a route in a table of its own.
    #[error(
        "policy rules of another bond are in the way (`ip rule` shows them from {DIVERT_PRIORITY} on): only one on a \
         machine can have the default route, exits, --global6, --lan, a home's connections, a proxy, or access points"
    )]
    RuleTaken,
    /// IPv6 is switched off.
    #[error("{0} needs IPv6, which is switched off on this machine (sysctl net.ipv6.conf.all.disable_ipv6)")]
    NoIpv6(String),
    /// The capability is missing.
    #[error("{0} needs CAP_NET_ADMIN: run as root, or grant that capability")]
    NotPermitted(String),
    /// There is no resolver that could be told.
    #[error(
        "--dns needs systemd-resolved, which does not run here: set the name server by hand, or leave out --dns"
    )]
    NoResolver,
    /// A program that does the work failed.
    #[error(transparent)]
    Command(#[from] crate::command::CommandError),
    /// Anything else.
    #[error("{what} failed")]
    System {
        /// The operation.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl SetupError {
    pub(crate) fn system(what: impl Into<String>, source: io::Error) -> Self {
        let what = what.into();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => SetupError::NotPermitted(what),
            _ => SetupError::System { what, source },
        }
    }
}
