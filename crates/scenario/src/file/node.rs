//! A machine: where it stands, its radios and interfaces, and how it forwards.

use super::{NodeMptcp, NodeTcp, Radio};
use crate::units::{Bytes, Position};
use crate::{choice, section};
use indexmap::IndexMap;
use ipnet::Ipv4Net;
use std::net::Ipv4Addr;
use std::time::Duration;

section! {
    /// A machine. A cable's end makes an interface by itself; radios need `interface` tables.
    pub struct NodeSpec {
        /// Make so many of it, called NAME1, NAME2 and so on. In its texts `{n}` becomes the number.
        count: Option<u32>,
        /// With `count`: stand on a circle of this radius in metres around `position`.
        ring: Option<f64>,
        /// With `count`: each stands this far, in metres, from the one before.
        step: Option<Position>,
        /// Where it stands.
        position: Position = Position::default(),
        /// Two corners of a rectangle: it stands somewhere in it, drawn from the seed and its name. Takes the place of `position`.
        within: Vec<Position>,
        /// Where it walks: a straight line from point to point.
        walk: Vec<Waypoint>,
        /// It passes packets on that are not for itself.
        forward: bool = false,
        /// Interfaces behind which it hides the addresses of the others (masquerading).
        nat: Vec<String>,
        /// Its routes. Without any, packets take the way with the fewest hops.
        route: Vec<Route>,
        /// How its TCP is set.
        tcp: NodeTcp,
        /// How its MPTCP is set.
        mptcp: NodeMptcp,
        /// Its TCP proxy, for connections that it forwards.
        pep: NodePep,
        /// Its processor, in the simulator. If not said, packets cost it no time.
        cpu: Option<NodeCpu>,
        /// It is a client of several access points of one channel, in the simulator. If not said, its stations stay with theirs, and it measures nothing.
        roam: Option<Roam>,
        /// Its radios, by name.
        radio: IndexMap<String, Radio>,
        /// Its interfaces, by name.
        interface: IndexMap<String, Interface>,
        /// Its bridges, by name.
        bridge: IndexMap<String, Bridge>,
    }
}

choice! {
    /// What a TCP proxy does.
    pub enum PepPolicy {
        /// It acknowledges in the receiver's name what it has: two connections with a shorter round trip each.
        Split = "split",
        /// It acknowledges nothing, and sends again what is lost behind it.
        Snoop = "snoop",
    }
}

choice! {
    /// How a client of several access points chooses.
    pub enum RoamPolicy {
        /// It is with the few best, and measures how much air a packet takes by each.
        Best = "best",
        /// It is with one, and moves to another that leads by ten beacons in two seconds: it leaves, scans, then joins.
        Handover = "handover",
        /// Its stations stay as they begin; it only measures.
        Fixed = "fixed",
    }
}

section! {
    /// A TCP proxy between the interfaces of a machine that forwards; neither end knows of it. In the simulator only.
    pub struct NodePep {
        /// What it does. If not said, there is none.
        policy: Option<PepPolicy>,
        /// Most bytes that it keeps of each direction of a connection: with `split` the window that it offers, as far as the window scale of the
        /// connection can say it; with `snoop` its copies.
        window: Bytes = Bytes(1 << 20),
        /// Most connections at once; what is too many passes as it came.
        connections: u32 = 1000,
    }
}

section! {
    /// A processor. A packet that comes in by a cable or a radio, and one that a program of the
    /// machine sends by one, waits for it and takes its time. In the simulator only.
    pub struct NodeCpu {
        /// What a packet takes.
        per_packet: Duration,
        /// What each byte of a packet takes besides, in whole nanoseconds.
        per_byte: Duration = Duration::ZERO,
        /// What an interrupt takes. It announces packets that came in; until all that wait are
        /// done, others come without one.
        per_interrupt: Duration = Duration::ZERO,
        /// How long an interrupt waits after the first packet that it announces.
        coalescing: Duration = Duration::ZERO,
        /// Packets that can wait for it; what comes then is dropped.
        queue: u32 = 1000,
    }
}

section! {
    /// A client of several access points of one channel. It has a station interface for each access point's `ssid`, all on one radio, with `join = "idle"` unless its policy is fixed. MPTCP to it has a subflow by each
    /// access point from the time on when it has an address there.
    pub struct Roam {
        /// How it chooses.
        policy: RoamPolicy = RoamPolicy::Best,
        /// best: most access points at once. 3 if not said.
        most: Option<u16>,
        /// best, handover: the time from association to an address (DHCP). 1 s if not said.
        lease: Option<Duration>,
        /// handover: the time from leaving an access point until it asks the next one. 1 s if not said, for eleven channels.
        scan: Option<Duration>,
    }
}

section! {
    /// Interfaces joined to one network, as a switch joins them. There is no spanning tree: they must not close a loop.
    pub struct Bridge {
        /// The interfaces.
        ports: Vec<String>,
        /// The machine's own address on it. If not said, the next free one of the network.
        address: Option<Ipv4Net>,
    }
}

section! {
    /// A point of a walk.
    pub struct Waypoint {
        /// When it is there.
        at: Duration,
        /// Where it is then.
        position: Position,
    }
}

section! {
    /// A route.
    pub struct Route {
        /// To which network; `0.0.0.0/0` is everything.
        to: Ipv4Net,
        /// By which neighbour's address. If not said, the network is on the wire of `interface`.
        via: Option<Ipv4Addr>,
        /// By which interface. If not said, the one that reaches `via`.
        interface: Option<String>,
        /// Among routes to equally large networks the smallest goes first.
        metric: u32 = 0,
    }
}

choice! {
    /// What an interface does on its radio.
    pub enum Mode {
        /// An access point.
        Ap = "ap",
        /// A station of the access point with the same `ssid`.
        Station = "station",
        /// A peer among equals, of all that have the same `ssid`; nobody sends beacons.
        Mesh = "mesh",
    }
}

choice! {
    /// How a station comes to its access point.
    pub enum Join {
        /// It is there from the start, without a frame.
        Associated = "associated",
        /// It listens for beacons and joins the strongest.
        Scan = "scan",
        /// Not before an event says so.
        Idle = "idle",
    }
}

impl Interface {
    /// An interface of which nothing is said.
    pub fn wired() -> Interface {
        // Every key has something that holds without it, or this would not compile as a table's default.
        <Interface as crate::field::Field>::absent().expect("no key of an interface is required")
    }
}

section! {
    /// An interface.
    pub struct Interface {
        /// Its radio; none for a cable's end.
        radio: Option<String>,
        /// What it does on its radio; only with `radio`, and needed there.
        mode: Option<Mode>,
        /// The name of its network; only with `radio`, and needed there.
        ssid: Option<String>,
        /// Its address. If not said, the next free one of the network: 10.1.0.0/16 is cut into a /24 for each network.
        /// Ports of a bridge have none.
        address: Option<Ipv4Net>,
        /// Longest IP packet, bytes. 1500, as Ethernet has it.
        mtu: u16 = 1500,
        /// Access points: time between beacons. 102.4 ms is usual; `"0s"`: none are sent, as in most analyses.
        beacon_interval: Duration = Duration::from_micros(102_400),
        /// Stations: how they come to their access point.
        join: Join = Join::Associated,
        /// Stations: so many beacons missed in a row, and the access point is given up.
        beacon_loss: u8 = 7,
        /// Stations: sleep between beacons from the start, and let the access point keep what comes.
        power_save: bool = false,
    }
}
