//! What goes into an engine and what comes out.

use crate::feedback::LinkState;
use crate::path::{Class, Route, State};
use crate::vnet::Vnet;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use ropewalk_session::{Accept, ClientHello, Inner, PublicKey, Refusal};
use ropewalk_time::Time;

/// All addresses: the routes of a client that sends everything to its gateway.
pub const EVERYWHERE: [IpNet; 2] = [
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0)),
];

/// Something that happened outside.
#[derive(Debug)]
pub enum Input<'a> {
    /// A device has a packet to send.
    Device {
        /// The driver's number of the device ([`Admission::device`]); only a gateway on layer 2 has several and looks at it.
        device: u32,
        /// Its offload header.
        vnet: Vnet,
        /// The IP packet, or the frame, up to 64 KiB.
        packet: &'a [u8],
    },
    /// The same, where the packet was read into the buffer of [`crate::engine::Engine::device_buffer`].
    DeviceInBuffer {
        /// The driver's number of the device.
        device: u32,
        /// Its offload header.
        vnet: Vnet,
        /// Bytes of the packet.
        len: usize,
    },
    /// Datagrams arrived on a socket: one, or several of equal length that the kernel joined (UDP GRO; the last may be shorter).
    Datagrams {
        /// The driver's handle of the socket.
        link: u32,
        /// Where they came from.
        remote: SocketAddr,
        /// The address they were sent to, where the socket has several.
        local: Option<IpAddr>,
        /// Length of each, bytes.
        segment: usize,
        /// Their bytes; opened in place.
        bytes: &'a mut [u8],
        /// The ECN field of their IP header.
        ecn: u8,
    },
    /// A link reports what became of the datagrams of a path, after every few completions or every millisecond or two. A path whose link never reports is
    /// known by the peer's acknowledgements alone.
    Link {
        /// Whose path it is; `None`: the only peer's. Without it the report of a gateway with several clients is dropped, and counted as unroutable.
        peer: Option<PublicKey>,
        /// The path's identifier.
        path: u8,
        /// What the link says, cumulative.
        state: LinkState,
    },
    /// A repeater's radio reports its queue towards one of its clients; the peer is told of the longest ([`crate::backhaul`]).
    ClientQueue {
        /// The driver's number of the client.
        client: u32,
        /// The queue, cumulative.
        state: LinkState,
    },
    /// The time of the last [`Output::Timeout`] has come, or a turn of the driver's loop ends: everything that could be read was handed in.
    Timeout,
}

/// Something to do. Poll until [`Output::Timeout`].
#[derive(Debug)]
pub enum Output<'a> {
    /// Send datagrams.
    Transmit(Transmit<'a>),
    /// Write a packet to a device.
    Deliver {
        /// The driver's number of the device; 0 at a client.
        device: u32,
        /// Its offload header.
        vnet: Vnet,
        /// The IP packet, or the frame.
        packet: &'a [u8],
    },
    /// Tell people, or the driver.
    Event(Event),
    /// Nothing more now. Come back at this time, or sooner with an input.
    Timeout(Time, &'static str),
}

/// Datagrams for one path, ready for UDP GSO.
#[derive(Debug)]
pub struct Transmit<'a> {
    /// Where they go.
    pub route: Route,
    /// Length of each but the last, bytes.
    pub segment: usize,
    /// Their bytes.
    pub bytes: &'a [u8],
}

/// Bytes of the longest batch. The kernel takes 64 datagrams and 64 KiB with headers at once; the largest super-packet of our own
/// device, cut and sealed, is one batch (`net::setup` limits it to that).
pub const BATCH_BYTES: usize = 65_487;

/// News for the driver and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Client: the session is up; the first time, or anew after the gateway had forgotten it.
    Connected(Accept),
    /// Client: the gateway refused. The engine goes on trying only where the refusal is temporary.
    Refused(Refusal),
    /// Client: no path leads to the gateway now.
    Unreachable,
    /// Client: the gateway said goodbye. The engine tries to get in again.
    Dismissed,
    /// Gateway: a client came in.
    ClientUp {
        /// Its key.
        client: PublicKey,
        /// Where it came from.
        remote: SocketAddr,
        /// The driver's number of its device.
        device: u32,
        /// Its addresses inside.
        inside: Vec<IpAddr>,
    },
    /// Gateway: a client is gone.
    ClientDown {
        /// Its key.
        client: PublicKey,
        /// Why.
        why: &'static str,
    },
    /// A path changed its state.
    Path {
        /// The peer's key.
        peer: PublicKey,
        /// The path's identifier.
        path: u8,
        /// Where it leads.
        remote: SocketAddr,
        /// What it is now.
        state: State,
    },
    /// A path was dead, or is, and it is known who noticed ([`crate::flows`]). It comes some time
    /// after the path's return.
    Outage {
        /// The peer's key.
        peer: PublicKey,
        /// The path's identifier.
        path: u8,
        /// Where it led when that was noticed.
        remote: SocketAddr,
        /// Since when nothing had come by it.
        since: Time,
        /// When it worked again; `None`: it is dead still.
        until: Option<Time>,
        /// Connections that were delivering when it died.
        connections: u32,
        /// Of these, those that noticed.
        noticed: u32,
    },
    /// A metered path has used its allowance up.
    Exhausted {
        /// The path's identifier.
        path: u8,
    },
}

/// A path as the driver asks for it.
#[derive(Clone, Copy, Debug)]
pub struct PathSpec {
    /// Where it goes.
    pub route: Route,
    /// MTU of its interface, bytes.
    pub interface_mtu: u16,
    /// What it may be used for.
    pub class: Class,
    /// Its weight for the weighted scheduler.
    pub weight: u32,
}

/// What a gateway gives to a client that may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Addresses inside.
    pub ipv4: Inner<Ipv4Addr>,
    /// The same for IPv6.
    pub ipv6: Option<Inner<Ipv6Addr>>,
    /// Networks that lie behind the client: it may send from them, and packets for them go to it.
    pub networks: Vec<IpNet>,
    /// The driver's number of the device that its packets go to. On layer 2 each client has its own, and what comes from that device goes to this client; on layer 3
    /// the destination decides, and all have device 0.
    pub device: u32,
}

/// A gateway's knowledge of its clients. The driver keeps it on disk; the engine asks.
pub trait Registry: Send {
    /// Whether it is known yet if this client may come in. If not, its INIT is dropped, and the
    /// next copy of it, which a client sends within half a second, asks again: for a registry that
    /// is kept elsewhere.
    fn is_ready(&mut self, client: &PublicKey, hello: &ClientHello) -> bool {
        let _ = (client, hello);
        true
    }

    /// May this client come in? The first contact binds its key to the invite.
    ///
    /// # Errors
    /// The refusal that the client is told.
    fn admit(&mut self, client: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal>;
}
