//! Endpoints: whatever on a node sends packets and takes them in.

mod adaptive;
mod call;
mod ping;
mod roaming;
mod spells;
mod steering;
mod stream;
mod tcp;
mod transport;
mod udp;
mod video;

pub use adaptive::Player;
pub use call::{Caller, UNCALLED};
pub use ping::Ping;
pub use roaming::Roaming;
pub use spells::Spells;
pub use steering::{Steered, Steering};
pub use stream::{
    BulkReceiver, BulkSender, Io, Orders, PacedSender, REQUEST_BYTES, Requester, Server, StreamApp,
};
pub use tcp::TcpHost;
pub use transport::{StreamConfig, StreamFigures, SubflowCounts};
pub use udp::{Pace, UdpSink, UdpSource};
pub use video::{VideoFrames, VideoJudge, VideoPacket, VideoSink, VideoSource, psnr_db};

use crate::bunch::Overheard;
use crate::measure::{FlowCounts, FlowRecord};
use crate::net::{Net, NodeId, SendError};
use crate::packet::{FlowId, IfIndex, Packet, PacketRef};
use ropewalk_air::Time;
use std::fmt::Debug;

/// The port of the first endpoint; the ones after it have the ports after it.
pub const FIRST_PORT: u16 = 1024;
/// Endpoints that a world can have: the ports below those that address translation gives out.
pub const MAX_ENDPOINTS: usize = (crate::net::FIRST_NAT_PORT - FIRST_PORT) as usize;

/// What an endpoint may use while it is called.
#[derive(Debug)]
pub struct Context<'a> {
    /// The network.
    pub net: &'a mut Net,
    /// Records of all flows.
    pub flows: &'a mut [FlowRecord],
    /// The endpoint's node.
    pub node: NodeId,
    /// Its own port.
    pub port: u16,
}

impl Context<'_> {
    /// Present time.
    pub fn now(&self) -> Time {
        self.net.now
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// What the network says at once.
    pub fn send(&mut self, packet: Packet) -> Result<(), SendError> {
        self.net.send(self.node, None, PacketRef::new(packet))
    }

    /// A flow's record.
    pub fn flow(&mut self, flow: FlowId) -> &mut FlowRecord {
        &mut self.flows[flow.index()]
    }
}

/// Something with a port.
pub trait Endpoint: Debug {
    /// Its scenario starts it.
    fn start(&mut self, _cx: &mut Context<'_>) {}
    /// Its scenario stops it: what is on the way may still arrive, nothing new is sent.
    fn stop(&mut self, _cx: &mut Context<'_>) {}
    /// A packet came.
    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef);
    /// A packet was routed into the tunnel that it is the end of.
    fn on_tunnel(&mut self, _cx: &mut Context<'_>, _packet: PacketRef) {}
    /// Its node would pass a packet on that came by this interface.
    fn on_transit(&mut self, cx: &mut Context<'_>, by: IfIndex, packet: PacketRef) {
        cx.net.pass(cx.node, by, packet);
    }
    /// It heard a frame of somebody else's.
    fn on_overheard(&mut self, _cx: &mut Context<'_>, _heard: Overheard) {}
    /// A packet that it had sent has left its radio's queue; `dropped` if that had no room for it.
    fn on_left(&mut self, _cx: &mut Context<'_>, _dropped: bool) {}
    /// The time that it asked for has come.
    fn on_timer(&mut self, _cx: &mut Context<'_>) {}
    /// The run is over: whatever is still to be judged is judged now.
    fn finish(&mut self, _cx: &mut Context<'_>) {}
    /// Its subflows, if it has any.
    fn subflows(&self) -> Vec<SubflowCounts> {
        Vec::new()
    }
    /// Adds what it counts itself to its flow's counts.
    fn account(&self, _counts: &mut FlowCounts) {}
    /// When it wants to be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
}
