//! A bonding tunnel.

use crate::field::{Field, Form, Reader};
use crate::tree::{Node, Value};
use crate::units::{BitRate, Bytes};
use crate::{choice, section};
use ipnet::Ipv4Net;
use std::time::Duration;

choice! {
    /// Which path takes the next bytes.
    pub enum Scheduler {
        /// The one by which they arrive first.
        EarliestArrival = "earliest-arrival",
        /// The same, and packets of the low-latency class go to every path.
        RedundantLowLatency = "redundant-low-latency",
        /// The one with the shortest round trip that has room.
        MinRtt = "min-rtt",
        /// In turn.
        RoundRobin = "round-robin",
        /// In turn, by weight.
        Weighted = "weighted",
        /// All of them.
        Redundant = "redundant",
        /// As the links complete (Multifacet).
        Backpressure = "backpressure",
    }
}

choice! {
    /// How much a path of a bond may carry.
    pub enum CongestionControl {
        /// Keeps the queue of the path short.
        Tidal = "tidal",
        /// RFC 9438.
        Cubic = "cubic",
        /// RFC 5681.
        NewReno = "newreno",
        /// RFC 6356, coupled.
        Lia = "lia",
        /// Coupled.
        Olia = "olia",
        /// Coupled.
        Balia = "balia",
        /// No control, for links whose completions limit what is on the way (scheduler `backpressure`).
        None = "none",
    }
}

choice! {
    /// How links on the channel of a repeater's clients are limited.
    pub enum Limiter {
        /// Not at all.
        Off = "off",
        /// The Multifacet paper's: by factors, every 200 ms.
        Mimd = "mimd",
        /// By the clients' queue, every 10 ms.
        Balance = "balance",
    }
}

choice! {
    /// How channels are gone through.
    pub enum Search {
        /// The first that carries more than the link carried before.
        Adequate = "adequate",
        /// All, then the best.
        Best = "best",
    }
}

section! {
    /// When the gateway's dedicated radio looks for another channel, and how. As the daemon's
    /// `[ap.migrate]`.
    pub struct Migrate {
        /// Channels to try, by number, in this order.
        channels: Vec<u16>,
        /// The first that carries more than before, or the best of all.
        search: Search = Search::Adequate,
        /// Search when the link carries less than this, though data waits for it.
        least: BitRate = BitRate { bps: 5_000_000 },
        /// For so long.
        window: Duration = Duration::from_secs(1),
        /// How long a channel is tried; in the lab always this long.
        test: Duration = Duration::from_millis(20),
        /// So long after a search there is no other.
        rest: Duration = Duration::from_secs(30),
        /// Beacons that announce a switch.
        beacons: u8 = 2,
    }
}

section! {
    /// A bonding tunnel: one link out of several, with the engine that the daemon runs. Its name is the name of its device.
    pub struct Bond {
        /// The node that has several ways.
        client: String,
        /// The node at the other end.
        gateway: String,
        /// Interfaces of the client that it uses, by name or as tables.
        paths: Vec<BondPath>,
        /// The client's address inside, with the network. If not said, 10.77.N.2/24 for the N-th bond; the gateway has the first of it.
        address: Option<Ipv4Net>,
        /// What the client sends into it. If not said, everything that is for the gateway or beyond it.
        route: Vec<Ipv4Net>,
        /// Which path takes the next bytes. As the daemon has it.
        scheduler: Scheduler = Scheduler::EarliestArrival,
        /// How much each path may carry. As the daemon has it.
        congestion: CongestionControl = CongestionControl::Tidal,
        /// Lost datagrams are sent again.
        recovery: bool = true,
        /// Packets of a flow come out in order. False shows what the reordering buffer is worth.
        ordered: bool = true,
        /// A path slower than the fastest by more than this carries no ordered data. As the daemon has it.
        max_spread: Duration = Duration::from_millis(200),
        /// MTU of its device. As the daemon has it.
        tun_mtu: u16 = 1420,
        /// Most bytes in its queue. As the daemon has it.
        queue: Bytes = Bytes(32_000_000),
        /// Most packets in its queue. If not said, bytes alone count; under `backpressure` 200, or what leaves in 100 ms if that is more.
        queue_packets: Option<u32>,
        /// No packet waits longer than this for missing ones before it. If not said, for each of
        /// them as long as a repair takes; a repeater a wireless backhaul away waits 100 ms, that
        /// of the Multifacet paper 10.
        order_deadline: Option<Duration>,
        /// How the shared paths of a repeater are limited. As the daemon has it.
        limiter: Limiter = Limiter::Mimd,
        /// Radios of shared paths, at both ends, send an RTS before frames and aggregates of more than 500 bytes, if they are 802.11n or newer and have no `rts-threshold` of their own. As the daemon has it.
        rts: bool = true,
        /// The client tells its gateway each path's packet time and channel, so that a slow access
        /// point takes no air from a fast one: as `ropewalk up` does beside a `ropewalk roam`. On
        /// 802.11 the client measures it (`node.NAME.roam`).
        airtime: bool = false,
        /// The gateway's radio under the one path that is not shared may leave its channel.
        migrate: Option<Migrate>,
    }
}

choice! {
    /// What a path may be used for.
    pub enum PathClass {
        /// Always.
        Active = "active",
        /// While no other works.
        Backup = "backup",
    }
}

/// A path of a bond.
#[derive(Clone, Debug, PartialEq)]
pub struct BondPath {
    /// The client's interface.
    pub interface: String,
    /// The gateway's interface that it goes to; none: the one that routes lead to.
    pub to: Option<String>,
    /// What it may be used for.
    pub class: PathClass,
    /// Its share under the weighted scheduler.
    pub weight: u32,
    /// Its radio is also the access point of the client's own clients (a repeater's).
    pub shared: bool,
}

section! {
    /// A path with its settings.
    pub(super) struct PathTable {
        /// The client's interface.
        interface: String,
        /// The gateway's interface that it goes to. If not said, the nearest.
        to: Option<String>,
        /// What it may be used for.
        class: PathClass = PathClass::Active,
        /// Its share under the weighted scheduler.
        weight: u32 = 1,
        /// Its radio is also the access point of the client's own clients: what comes by it is
        /// limited, so that they go first.
        shared: bool = false,
    }
}

impl Field for BondPath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Value::Text(interface) = &node.value {
            let (interface, class) = (interface.clone(), PathClass::Active);
            return Some(BondPath { interface, to: None, class, weight: 1, shared: false });
        }
        let PathTable { interface, to, class, weight, shared } = PathTable::read(node, reader)?;
        Some(BondPath { interface, to, class, weight, shared })
    }
    fn write(&self) -> Option<toml::Value> {
        let BondPath { interface, to, class, weight, shared } = self.clone();
        PathTable { interface, to, class, weight, shared }.write()
    }
    fn form() -> Form {
        Form::Either(Box::new(Form::one("an interface")), Box::new(PathTable::form()))
    }
}
