//! Bunches of uplinks as hosts: `ropewalk-bunch` unchanged, with the simulated network around it.
//!
//! The home access point is a router that is asked about what it would pass on. What it captures the
//! neighbours overhear at the same instant, each packet with its own draw. Their air is not modelled:
//! the numbers of 802.11 are counted here. Tunnels are TCP connections of the simulator ([`link`]).
//! Packets have real bytes, of a pattern that says of each byte where it belongs, and the gateway
//! counts those that come out wrong.

mod ap;
mod gateway;
pub mod link;

pub use ap::{ApHost, Spec};
pub use gateway::GatewayHost;

use crate::measure::BunchCounts;
use crate::packet::{Body, FlowId, Packet};
use crate::wire;
use crate::world::EndpointId;
use ropewalk_bunch as bunch;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What an access point heard: the frame's header and the packet in it, or a message of its
/// neighbour.
#[derive(Clone, Debug)]
pub enum Overheard {
    /// A frame on the air.
    Frame(bunch::ap::Frame, Arc<[u8]>),
    /// A message over the neighbours' own network.
    Message(Arc<[u8]>),
}

/// Counters that a host and whoever measures share.
pub type SharedCounts = Rc<RefCell<BunchCounts>>;

/// A bunch in a world.
#[derive(Clone, Debug)]
pub struct Bunch {
    /// Its name.
    pub name: String,
    /// The node of the gateway, and its counters.
    pub gateway: (String, SharedCounts),
    /// Access points: node, endpoint, counters; the home access point first.
    pub points: Vec<(String, EndpointId, SharedCounts)>,
}

impl Bunch {
    /// The endpoint of the access point on a node.
    pub fn endpoint_of(&self, node: &str) -> Option<EndpointId> {
        self.points.iter().find(|p| p.0 == node).map(|p| p.1)
    }
}

/// A packet as bytes, TCP with the pattern of its place.
fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::with_capacity(packet.len as usize);
    match &packet.body {
        Body::Tcp(s) => {
            let source = std::net::SocketAddrV4::new(packet.src, packet.sport);
            let destination = std::net::SocketAddrV4::new(packet.dst, packet.dport);
            let segment = crate::tcp::Segment { source, destination, ecn: packet.ecn, ..*s };
            crate::tcp::wire::encode(&segment, crate::tcp::wire::Payload::Pattern, &mut out);
        }
        _ => wire::encode(packet, &mut out),
    }
    out
}

/// A packet from bytes, and whether each byte of a TCP payload is where it belongs.
fn packet_of(bytes: &[u8], flow: FlowId) -> Option<(Packet, bool)> {
    let packet = wire::decode(bytes)?;
    let intact = match &packet.body {
        Body::Tcp(_) => crate::tcp::wire::decode(bytes).is_ok_and(|(_, intact)| intact),
        _ => true,
    };
    Some((Packet { flow, ..packet }, intact))
}
