//! The network below the endpoints: nodes, their interfaces, routes, bridges, address translation, and what joins them.
//!
//! A [`Net`] moves packets and knows no application. What it cannot do itself (a packet for a local endpoint, or for a
//! tunnel's device) it hands out as [`Work`]. The walk of a packet is in `walk.rs`.

mod bridge;
mod cable;
mod nat;
mod processing;
mod proxy;
mod radio;
mod route;
mod segments;
mod walk;
mod weighted;

pub use bridge::Bridge;
pub use cable::{Cable, Direction};
pub use nat::{FIRST_PORT as FIRST_NAT_PORT, Nat};
pub use processing::Processor;
pub use proxy::NodeProxy;
pub use radio::{Heard, Radios, interface_of, mac_of};
pub use route::{Route, Table, same_prefix};
pub use segments::Prefix;
pub use walk::SendError;

use crate::bunch::Overheard;
use crate::clock::{TimerId, Timers};
use crate::measure::{Captures, Spans, Trace};
use crate::packet::{FlowId, IfIndex, PacketRef};
use ropewalk_air::Time;
use ropewalk_air::wifi::IfaceId;
use ropewalk_air::wired::{Link, LinkSpec, SpecError};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

/// A node, in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an interface is joined to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// Nothing yet.
    Nothing,
    /// A cable; its packets go by this [`Direction`].
    Cable(usize),
    /// The air; this is its number there.
    Radio(IfaceId),
    /// The ports of a bridge of its node.
    Bridge(usize),
    /// A tunnel: packets become [`Work::Tunnel`] with this number.
    Tunnel(usize),
}

/// How a sender that wants to keep an interface busy finds out whether it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The queue of this direction of a cable, which empties at this rate.
    Cable {
        /// The direction.
        direction: usize,
        /// Bits per second.
        bps: u64,
    },
    /// A radio's, which holds so many packets and tells when each has left.
    Radio {
        /// Packets.
        packets: u32,
    },
    /// It has no queue of its own.
    None,
}

/// Packets and bytes of an interface since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfCounters {
    /// Packets sent.
    pub sent: u64,
    /// Their bytes, IP headers included.
    pub sent_bytes: u64,
    /// Packets received.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets that were to leave, but it was down, they were too long, or nobody was there to take them.
    pub dropped: u64,
}

impl IfCounters {
    /// What has been added since `earlier`.
    pub fn since(&self, earlier: &IfCounters) -> IfCounters {
        IfCounters {
            sent: self.sent - earlier.sent,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            received: self.received - earlier.received,
            received_bytes: self.received_bytes - earlier.received_bytes,
            dropped: self.dropped - earlier.dropped,
        }
    }
}

/// A network interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Address and length of its prefix.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Longest IP packet, bytes.
    pub mtu: u32,
    /// Packets that leave take its address as their source (masquerade).
    pub masquerade: bool,
    /// Whether other nodes learn that its network is behind its node.
    pub announced: bool,
    /// Whether it is switched on.
    pub up: bool,
    /// What it is joined to.
    pub attach: Attach,
    /// The bridge of its node that it is a port of.
    pub bridge: Option<usize>,
    /// Counters.
    pub counters: IfCounters,
    /// The segment: interfaces that frames reach without a router.
    segment: u32,
}

/// What became of packets at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Packets passed on as a router.
    pub forwarded: u64,
    /// No route, or it led nowhere.
    pub unroutable: u64,
    /// Too many hops.
    pub expired: u64,
    /// Came for somebody else, and the node does not forward.
    pub not_mine: u64,
    /// Every port of its address translation was taken.
    pub nat_full: u64,
    /// Damaged under way.
    pub damaged: u64,
    /// For a port that nobody has.
    pub unclaimed: u64,
}

/// A host or a router.
#[derive(Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its interfaces.
    pub interfaces: Vec<IfIndex>,
    /// Its routes.
    pub routes: Table,
    /// Whether it passes packets on.
    pub forward: bool,
    /// Whether [`Net::settle`] works routes out for it, beyond those to its own networks.
    pub finds_routes: bool,
    /// Its address translation, used on interfaces that masquerade.
    pub nat: Nat,
    /// Its processor; none: packets take it no time.
    pub cpu: Option<Processor>,
    /// Its TCP proxy, through which goes what it forwards.
    pub proxy: Option<NodeProxy>,
    /// The endpoint that is asked about packets that the node would pass on.
    pub transit: Option<usize>,
    /// Counters.
    pub counters: NodeCounters,
}

/// Whose timer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A direction of a cable.
    Direction(usize),
    /// The air.
    Air,
    /// An endpoint.
    Endpoint(usize),
    /// The TCP proxy of a node.
    Proxy(NodeId),
    /// The processor of a node.
    Cpu(NodeId),
}

/// Something for the layer above.
#[derive(Debug)]
pub enum Work {
    /// A packet for an endpoint on this node; its destination port says which.
    Deliver(NodeId, PacketRef),
    /// A packet was routed into this tunnel.
    Tunnel(usize, PacketRef),
    /// A packet that a node would pass on, for the endpoint that its node asks.
    Transit {
        /// The endpoint.
        endpoint: usize,
        /// The interface by which it came.
        by: IfIndex,
        /// The packet.
        packet: PacketRef,
    },
    /// A frame of somebody else's that an access point of a bunch heard, or was handed.
    Overheard {
        /// The endpoint.
        endpoint: usize,
        /// What it heard.
        heard: Overheard,
    },
    /// A datagram of an endpoint that wants to know has left its radio's queue.
    Left {
        /// The endpoint.
        endpoint: usize,
        /// The queue had no room for it.
        dropped: bool,
    },
    /// What this endpoint follows has changed: its timer is called.
    Wake(usize),
}

/// Nodes and what joins them.
#[derive(Debug, Default)]
pub struct Net {
    /// Present time.
    pub now: Time,
    /// Everybody's timers.
    pub timers: Timers,
    /// Whose they are.
    pub owners: Vec<Owner>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Interfaces of all nodes.
    pub interfaces: Vec<Interface>,
    /// Cables.
    pub cables: Vec<Cable>,
    /// Directions of cables.
    pub directions: Vec<Direction>,
    /// The air, if anybody is on it.
    pub radios: Option<Radios>,
    /// Bridges of all nodes.
    pub bridges: Vec<Bridge>,
    /// Hash over everything that arrived.
    pub trace: Trace,
    /// Capture files that are written.
    pub captures: Captures,
    /// What the layer above has to do, in order.
    pub work: VecDeque<Work>,
    /// Clients of several access points, which hear what their radios do.
    pub(crate) roaming: Vec<crate::roam::Shared>,
    /// The flow of each endpoint, for packets that come out of tunnels.
    pub(crate) flow_of_endpoint: Vec<FlowId>,
    /// Who has an address on a segment.
    neighbours: BTreeMap<(u32, Ipv4Addr), IfIndex>,
}

impl Net {
    /// An empty world.
    pub fn new() -> Net {
        Net::default()
    }

    /// Endpoints are to be called.
    pub(crate) fn wake(&mut self, endpoints: &[usize]) {
        self.work.extend(endpoints.iter().map(|e| Work::Wake(*e)));
    }

    /// A new timer; earlier made ones win ties.
    pub fn add_timer(&mut self, owner: Owner) -> TimerId {
        self.owners.push(owner);
        self.timers.add()
    }

    /// Adds a node.
    pub fn add_node(&mut self, name: &str, forward: bool) -> NodeId {
        self.nodes.push(Node {
            name: name.to_owned(),
            interfaces: Vec::new(),
            routes: Table::default(),
            forward,
            finds_routes: true,
            nat: Nat::default(),
            cpu: None,
            proxy: None,
            transit: None,
            counters: NodeCounters::default(),
        });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds an interface to a node, joined to nothing, with an MTU of 1500 bytes.
    pub fn add_interface(&mut self, node: NodeId, name: &str, address: Option<(Ipv4Addr, u8)>) -> IfIndex {
        let index = IfIndex(self.interfaces.len() as u32);
        self.interfaces.push(Interface {
            node,
            name: name.to_owned(),
            address,
            mtu: 1500,
            masquerade: false,
            announced: true,
            up: true,
            attach: Attach::Nothing,
            bridge: None,
            counters: IfCounters::default(),
            segment: index.0,
        });
        self.nodes[node.index()].interfaces.push(index);
        index
    }

    /// Joins two interfaces by a cable, `there` from the first to the second and `back`.
    ///
    /// # Errors
    /// What no link can be.
    pub fn add_cable(
        &mut self,
        ends: [IfIndex; 2],
        [there, back]: [LinkSpec; 2],
        seed: u64,
    ) -> Result<usize, SpecError> {
        let first = self.directions.len();
        for (i, spec) in [there, back].into_iter().enumerate() {
            let link = Link::new(spec, crate::seed::of(seed, "cable", (first + i) as u64))?;
            let timer = self.add_timer(Owner::Direction(first + i));
            self.directions.push(Direction {
                link,
                to: ends[1 - i],
                wait: Spans::default(),
                wait_ns: 0,
                timer,
            });
            self.interfaces[ends[i].index()].attach = Attach::Cable(first + i);
        }
        self.cables.push(Cable { ends, first });
        Ok(self.cables.len() - 1)
    }

    /// Adds a bridge over interfaces of a node, and returns the interface by which the node itself is on it.
    pub fn add_bridge(
        &mut self,
        node: NodeId,
        name: &str,
        address: Option<(Ipv4Addr, u8)>,
        ports: &[IfIndex],
    ) -> IfIndex {
        let device = self.add_interface(node, name, address);
        let bridge = self.bridges.len();
        self.bridges.push(Bridge::new(ports));
        self.interfaces[device.index()].attach = Attach::Bridge(bridge);
        for port in ports {
            self.interfaces[port.index()].bridge = Some(bridge);
        }
        device
    }

    /// Who an interface belongs to.
    pub fn node_of(&self, interface: IfIndex) -> NodeId {
        self.interfaces[interface.index()].node
    }

    /// Who else is on the segment of an interface, by address: its neighbours without a router between.
    pub fn neighbours(&self, interface: IfIndex) -> impl Iterator<Item = (Ipv4Addr, IfIndex)> + '_ {
        let segment = self.interfaces[interface.index()].segment;
        let all = self.neighbours.iter().filter(move |((s, _), who)| *s == segment && **who != interface);
        all.map(|((_, address), who)| (*address, *who))
    }

    /// Switches an interface on or off. A cable notices at once: what is in it, both ways, is lost.
    pub fn set_interface_up(&mut self, interface: IfIndex, up: bool) {
        self.interfaces[interface.index()].up = up;
        if let Attach::Cable(direction) = self.interfaces[interface.index()].attach
            && let Some(cable) =
                self.cables.iter().position(|c| c.first == direction || c.first + 1 == direction)
        {
            let ends = self.cables[cable].ends;
            let both_up = ends.iter().all(|e| self.interfaces[e.index()].up);
            self.set_cable_up(cable, both_up);
        }
    }

    /// Switches a cable, silently for the interfaces at its ends.
    pub fn set_cable_up(&mut self, cable: usize, up: bool) {
        for direction in self.cables[cable].first..self.cables[cable].first + 2 {
            self.change_direction(direction, |link, now| link.set_up(now, up));
        }
    }

    /// Where packets wait that leave by an interface. A processor hides that from programs.
    pub fn room_at(&self, interface: IfIndex) -> Room {
        if self.nodes[self.node_of(interface).index()].cpu.is_some() {
            return Room::None;
        }
        match self.interfaces[interface.index()].attach {
            Attach::Cable(direction) => {
                let rate = self.directions[direction].link.spec().rate.mean_bps();
                rate.map_or(Room::None, |bps| Room::Cable { direction, bps })
            }
            Attach::Radio(iface) if self.waits_for_air(iface) => {
                Room::Radio { packets: self.queue_of_radio(iface) }
            }
            _ => Room::None,
        }
    }

    /// Changes a direction of a cable, and looks anew when it wants to be called.
    pub fn change_direction<R>(
        &mut self,
        direction: usize,
        change: impl FnOnce(&mut Link<PacketRef>, Time) -> R,
    ) -> R {
        let d = &mut self.directions[direction];
        let result = change(&mut d.link, self.now);
        self.timers.set(d.timer, d.link.next_timeout());
        result
    }
}
