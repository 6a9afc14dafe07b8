//! An engine with the simulated network around it.

use super::airtime::SharedFeed;
use super::channel_switcher::SharedMover;
use super::links::Links;
use super::offload::{self, Joined};
use crate::app::{Context, Endpoint, FIRST_PORT};
use crate::net::{SendError, Work};
use crate::packet::{Body, Ecn, FlowId, IfIndex, Packet, PacketRef, UDP_HEADERS};
use crate::wire;
use ropewalk_air::Time;
use ropewalk_bond::api::{Event, Input, Output, PathSpec, Transmit};
use ropewalk_bond::engine::{Engine, Status};
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

/// Engines take times since their machine started; theirs have been up for a second when a run begins.
const UPTIME: Duration = Duration::from_secs(1);
/// The engine is asked what to do after so many bytes, or so many packets of its device, as the daemon asks its.
const TURN_BYTES: usize = 64 << 10;
const DEVICE_READS: u32 = 32;

pub(super) fn engine_time(now: Time) -> Time {
    now + UPTIME
}

pub(super) fn world_time(at: Time) -> Option<Time> {
    (at != Time::NEVER).then(|| at - UPTIME)
}

/// One path of a client.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    /// The client's interface.
    pub interface: IfIndex,
    /// The gateway's address.
    pub to: Ipv4Addr,
    /// What it may be used for.
    pub class: Class,
    /// Its share under the weighted scheduler.
    pub weight: u32,
    /// Its radio is also the access point of the client's own clients.
    pub shared: bool,
}

/// An engine that the world and whoever measures share.
pub type Shared = Rc<RefCell<Engine>>;

/// What client and gateway have in common.
#[derive(Debug)]
struct Host {
    engine: Shared,
    /// The tunnel's device.
    device: IfIndex,
    timeout: Option<Time>,
    /// For packets on their way into the engine.
    scratch: Vec<u8>,
    /// Segments that more may follow at this instant.
    joined: Option<Joined>,
    /// Bytes that the engine was handed since it was last asked what to do.
    taken: usize,
    /// Packets of the device among them.
    reads: u32,
    /// When the session came up first.
    connected: Option<Time>,
    links: Links,
}

impl Host {
    fn new(engine: Engine, device: IfIndex) -> Host {
        let engine = Rc::new(RefCell::new(engine));
        let links = Links::default();
        Host {
            engine,
            device,
            timeout: None,
            scratch: Vec::new(),
            joined: None,
            taken: 0,
            reads: 0,
            connected: None,
            links,
        }
    }

    /// A packet for the device.
    fn device(&mut self, cx: &mut Context<'_>, packet: &Packet, paths: &[Outer]) {
        if !self.joined.as_mut().is_some_and(|j| j.push(packet)) {
            self.flush(cx);
            self.joined = Joined::new(packet);
            if self.joined.is_none() {
                wire::encode(packet, &mut self.scratch);
                self.take(cx, Vnet::default());
            }
        }
        self.end_turn(cx, paths);
    }

    /// Hands the engine what was joined.
    fn flush(&mut self, cx: &Context<'_>) {
        if let Some(joined) = self.joined.take() {
            let vnet = joined.encode(&mut self.scratch);
            self.take(cx, vnet);
        }
    }

    /// Hands the engine the packet in `scratch`.
    fn take(&mut self, cx: &Context<'_>, vnet: Vnet) {
        let input = Input::Device { device: 0, vnet, packet: &self.scratch };
        self.engine.borrow_mut().handle(input, engine_time(cx.now()));
        self.taken += self.scratch.len();
        self.reads += 1;
    }

    /// A datagram of the network. `link` is the client's path, 0 at a gateway.
    fn datagram(
        &mut self,
        cx: &mut Context<'_>,
        mut packet: PacketRef,
        link: u32,
        local: bool,
        paths: &[Outer],
    ) {
        let Body::Datagram = packet.body else { return self.end_turn(cx, paths) };
        let remote = SocketAddr::from((packet.src, packet.sport));
        let local = local.then_some(IpAddr::V4(packet.dst));
        let ecn = packet.ecn.bits();
        let bytes = &mut packet.edit().bytes[..];
        self.taken += bytes.len();
        let input = Input::Datagrams { link, remote, local, segment: bytes.len(), bytes, ecn };
        self.engine.borrow_mut().handle(input, engine_time(cx.now()));
        self.end_turn(cx, paths);
    }

    /// The daemon takes in what waits at its device or sockets before it asks the engine what to do, so the acknowledgements that an aggregate of the radio
    /// brought travel in one datagram. Here that is what comes at one instant.
    fn end_turn(&mut self, cx: &mut Context<'_>, paths: &[Outer]) {
        let slot = usize::from(cx.port - FIRST_PORT);
        let more = match cx.net.work.front() {
            Some(Work::Tunnel(to, _)) => *to == slot,
            Some(Work::Deliver(node, packet)) => (*node, packet.dport) == (cx.node, cx.port),
            Some(Work::Left { endpoint, .. }) => *endpoint == slot,
            Some(Work::Transit { endpoint, .. } | Work::Overheard { endpoint, .. }) => *endpoint == slot,
            Some(Work::Wake(_)) | None => false,
        };
        if !more || self.taken >= TURN_BYTES || self.reads >= DEVICE_READS {
            self.flush(cx);
            self.pump(cx, paths);
        }
    }

    /// Does what the engine says, until it has nothing more to say.
    fn pump(&mut self, cx: &mut Context<'_>, paths: &[Outer]) {
        let (engine, now) = (self.engine.clone(), engine_time(cx.now()));
        let mut refused = None;
        (self.taken, self.reads) = (0, 0);
        loop {
            let mut engine = engine.borrow_mut();
            if let Some((route, mtu)) = refused.take() {
                engine.on_too_big(route, mtu, now);
            }
            match engine.poll_output(now) {
                Output::Transmit(t) => refused = transmit(cx, &t, paths),
                Output::Deliver { packet, vnet, .. } => {
                    if let Some(packet) = wire::decode(packet) {
                        offload::cut(packet, vnet, |p| cx.net.deliver_from_tunnel(self.device, p));
                    }
                }
                Output::Event(Event::Connected(_) | Event::ClientUp { .. }) => {
                    self.connected.get_or_insert(cx.now());
                }
                Output::Event(_) => {}
                Output::Timeout(at, _) => {
                    self.timeout = world_time(at);
                    return;
                }
            }
        }
    }

    /// Radios report what they have got rid of.
    fn report(&mut self, cx: &mut Context<'_>, paths: &[Outer]) {
        self.links.report(&self.engine, cx, paths);
        self.end_turn(cx, paths);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.timeout.into_iter().chain(self.links.next_word()).min()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, paths: &[Outer]) {
        self.links.tell_of_clients(&self.engine, cx, paths);
        self.engine.borrow_mut().handle(Input::Timeout, engine_time(cx.now()));
        self.pump(cx, paths);
    }
}

/// Sends a batch, datagram by datagram. The route and what its interface takes, if that is too little.
fn transmit(cx: &mut Context<'_>, batch: &Transmit<'_>, paths: &[Outer]) -> Option<(Route, u16)> {
    let SocketAddr::V4(to) = batch.route.remote else { return None };
    let bound = paths.get(batch.route.link as usize).map(|p| p.interface);
    let source = match batch.route.local {
        Some(IpAddr::V4(local)) => local,
        _ => Ipv4Addr::UNSPECIFIED,
    };
    for bytes in batch.bytes.chunks(batch.segment.max(1)) {
        let len = bytes.len() as u32 + UDP_HEADERS;
        let head = Packet::new((source, cx.port), (*to.ip(), to.port()), len, FlowId::NONE, Body::Datagram);
        // ECT(0), as the daemon's sockets are set.
        let mut packet = PacketRef::new(Packet { ecn: Ecn::Ect0, ..head });
        packet.edit().bytes.extend_from_slice(bytes);
        if let Err(SendError::TooBig(mtu)) = cx.net.send(cx.node, bound, packet) {
            return Some((batch.route, mtu.min(u32::from(u16::MAX)) as u16));
        }
    }
    None
}

/// The end that has several ways.
#[derive(Debug)]
pub struct BondClient {
    host: Host,
    paths: Vec<Outer>,
    /// The gateway's port.
    port: u16,
    /// What is known of the air under its paths.
    air: SharedFeed,
}

impl BondClient {
    /// A client that reaches its gateway's `port` by `paths`; `device` is its tunnel's device.
    pub fn new(engine: Engine, device: IfIndex, paths: Vec<Outer>, port: u16) -> BondClient {
        BondClient { host: Host::new(engine, device), paths, port, air: SharedFeed::default() }
    }

    /// The same, told of the air under its paths by `air`.
    pub fn hearing_of_air(self, air: SharedFeed) -> BondClient {
        BondClient { air, ..self }
    }

    /// The engine, for looking at.
    pub fn engine(&self) -> Shared {
        self.host.engine.clone()
    }
}

impl Endpoint for BondClient {
    fn start(&mut self, cx: &mut Context<'_>) {
        for (link, path) in self.paths.iter().enumerate() {
            let remote = SocketAddr::from((path.to, self.port));
            let route = Route { link: link as u32, remote, local: None };
            let interface_mtu = cx.net.interfaces[path.interface.index()].mtu.min(u32::from(u16::MAX)) as u16;
            let spec = PathSpec { route, interface_mtu, class: path.class, weight: path.weight };
            let mut engine = self.host.engine.borrow_mut();
            let id = engine.add_path(spec, engine_time(cx.now()));
            id.into_iter().for_each(|id| engine.set_shared(id, path.shared));
            id.into_iter().for_each(|id| self.air.borrow_mut().start(link, id, cx.now()));
        }
        self.host.links.start(&self.host.engine, cx, &self.paths);
        self.host.pump(cx, &self.paths);
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let address = |p: &Outer| cx.net.interfaces[p.interface.index()].address.map(|a| a.0);
        let Some(link) = self.paths.iter().position(|p| address(p) == Some(packet.dst)) else {
            return self.host.end_turn(cx, &self.paths);
        };
        self.host.datagram(cx, packet, link as u32, false, &self.paths);
    }

    fn on_tunnel(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        self.host.device(cx, &packet, &self.paths);
    }

    fn on_left(&mut self, cx: &mut Context<'_>, _: bool) {
        self.host.report(cx, &self.paths);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.air.borrow_mut().tell(&self.host.engine, cx.now());
        self.host.on_timer(cx, &self.paths);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout().into_iter().chain(self.air.borrow().due()).min()
    }
}

/// The end that is reached.
#[derive(Debug)]
pub struct BondGateway {
    host: Host,
    channel_switcher: Option<SharedMover>,
}

impl BondGateway {
    /// A gateway; `device` is its tunnel's device. `channel_switcher` looks for a better channel.
    pub fn new(engine: Engine, device: IfIndex, channel_switcher: Option<SharedMover>) -> BondGateway {
        BondGateway { host: Host::new(engine, device), channel_switcher }
    }

    /// The engine, for looking at.
    pub fn engine(&self) -> Shared {
        self.host.engine.clone()
    }
}

impl Endpoint for BondGateway {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.host.links.start(&self.host.engine, cx, &[]);
        self.host.pump(cx, &[]);
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        // As the daemon of an access point has a socket at each interface.
        let link = cx.net.interface_with(cx.node, packet.dst).map_or(0, |i| i.0);
        self.host.datagram(cx, packet, link, true, &[]);
    }

    fn on_tunnel(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        self.host.device(cx, &packet, &[]);
    }

    fn on_left(&mut self, cx: &mut Context<'_>, _: bool) {
        self.host.report(cx, &[]);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if let Some(channel_switcher) = &self.channel_switcher {
            channel_switcher.borrow_mut().look(&self.host.engine, cx.net);
        }
        self.host.on_timer(cx, &[]);
    }

    fn next_timeout(&self) -> Option<Time> {
        let look = self.channel_switcher.as_ref().map(|m| m.borrow().due());
        self.host.next_timeout().into_iter().chain(look).min()
    }
}

/// An engine's account of itself at a time of the world.
pub fn status(engine: &Shared, now: Time) -> Status {
    engine.borrow().status(engine_time(now))
}
