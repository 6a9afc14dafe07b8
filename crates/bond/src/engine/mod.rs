//! The engine: all sessions of one process, as a client or as a gateway.

mod backhaul;
mod client;
mod commands;
mod flows;
mod gateway;
mod handshakes;
mod meter;
mod shard;
mod status;

pub use client::ClientConfig;
pub use handshakes::{HandshakeJob, HandshakeResult};
pub use meter::Carried;
pub use shard::{Reply, Shard, Visitor};
pub use status::{Drops, PathStatus, PeerStatus, QueueCounters, Status};

use crate::api::{BATCH_BYTES, Event, Input, Output, Registry};
use crate::backhaul::delivery::DeliveryPacer;
use crate::config::{Config, Profile};
use crate::entropy::Entropy;
use crate::flows::{Flows, Outages};
use crate::inner::Inner;
use crate::order::Delivery;
use crate::path::{PathId, Route};
use crate::peer::receive::{Heard, Origin};
use crate::peer::{Peer, Shared};
use crate::pool::Pool;
use crate::store::{DevicePacket, Store};
use crate::vnet::Vnet;
use crate::wire::Header;
use client::Client;
use core::net::{IpAddr, SocketAddr};
use gateway::Gateway;
use ipnet::IpNet;
use meter::Meter;
use rand::{Rng, RngCore};
use ropewalk_session::{Index, Layer, MessageType, PublicKey, StaticKey};
use ropewalk_time::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Handshake datagrams that may wait for the driver; a flood meets a full queue, not memory.
const HANDSHAKE_QUEUE: usize = 256;

#[derive(Debug)]
enum Role {
    Client(Box<Client>),
    Gateway(Box<Gateway>),
}

/// The bonding engine. See the crate's page for the order of calls.
#[derive(Debug)]
pub struct Engine {
    role: Role,
    peers: BTreeMap<u32, Peer>,
    next_peer: u32,
    /// Which session an index belongs to.
    indices: BTreeMap<u32, u32>,
    /// Sessions by whose they are: several of one client while a new one takes over from the old.
    of_key: BTreeSet<(PublicKey, u32)>,
    /// How many they are of.
    clients: usize,
    /// Which session an inner address belongs to.
    inside: BTreeMap<IpAddr, u32>,
    /// Networks behind peers, the longest prefix first.
    networks: Vec<(IpNet, u32)>,
    /// Which session a device belongs to; only looked at on layer 2.
    devices: BTreeMap<u32, u32>,
    /// Sessions with something to do now.
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// The one timer of each session that counts; others in the heap are stale.
    timer_of: BTreeMap<u32, (Time, &'static str)>,
    handshakes: VecDeque<(Route, Vec<u8>)>,
    handed_out: Option<Delivery>,
    /// Gateway: what clients carry, where that is wanted.
    meter: Meter,
    /// Repeater: what the clients' radio has no room for waits here.
    pacer: Option<Box<DeliveryPacer>>,
    /// What was handed out last besides batches and packets of the store.
    sending: Vec<u8>,
    /// The batch being built. The driver has sent a copy of it before it asks for the next.
    tx: Box<[u8]>,
    shared: Shared,
}

impl Engine {
    /// An engine that reaches one gateway.
    pub fn client(config: Config, client: ClientConfig, entropy: Entropy, now: Time) -> Engine {
        let (gateway, routes) = (client.gateway, client.routes.clone());
        let mut e = Engine::new(config, Role::Client(Box::new(Client::new(client))), entropy);
        let owner = e.shared.store.add_owner();
        let peer = Peer::new(gateway, true, 0, owner, &e.shared.config, now);
        e.insert(peer);
        e.set_routes(&routes);
        e
    }

    /// An engine that clients reach. `inside` are this gateway's inner addresses.
    pub fn gateway(
        config: Config,
        key: StaticKey,
        inside: Vec<IpAddr>,
        registry: Box<dyn Registry>,
        mut entropy: Entropy,
        now: Time,
    ) -> Engine {
        let gateway = Gateway::new(&mut entropy, key, inside, registry, &config, now);
        Engine::new(config, Role::Gateway(Box::new(gateway)), entropy)
    }

    fn new(config: Config, role: Role, mut entropy: Entropy) -> Engine {
        let mut flow_key = [0; 16];
        entropy.fill_bytes(&mut flow_key);
        let backhaul = config.profile() == Profile::Backhaul;
        let pacer = backhaul.then(|| Box::new(DeliveryPacer::new(config.limiter.high * 2)));
        let store = Store::new(Pool::new(config.memory_bytes), config.max_packets);
        let flows = Flows::new(config.flows);
        let shared = Shared {
            config,
            store,
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
            icmp_error: Vec::new(),
            outcome: Default::default(),
            entropy,
            flow_key,
            flows,
            outages: Outages::default(),
            drops: Drops::default(),
        };
        Engine {
            role,
            peers: BTreeMap::new(),
            next_peer: 0,
            indices: BTreeMap::new(),
            of_key: BTreeSet::new(),
            clients: 0,
            inside: BTreeMap::new(),
            networks: Vec::new(),
            devices: BTreeMap::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            timer_of: BTreeMap::new(),
            handshakes: VecDeque::new(),
            handed_out: None,
            meter: Meter::default(),
            pacer,
            sending: Vec::new(),
            tx: vec![0; BATCH_BYTES].into(),
            shared,
        }
    }

    /// Takes in something that happened; `now` never goes back. Poll afterwards.
    pub fn handle(&mut self, input: Input<'_>, now: Time) {
        match input {
            Input::Device { device, vnet, packet } => {
                self.on_device(device, vnet, DevicePacket::Borrowed(packet), now)
            }
            Input::DeviceInBuffer { device, vnet, len } => {
                self.on_device(device, vnet, DevicePacket::InBuffer(len), now)
            }
            Input::Datagrams { link, remote, local, segment, bytes, ecn } => {
                let route = Route { link, remote, local };
                for datagram in bytes.chunks_mut(segment.max(1)) {
                    self.on_datagram(Origin { route, ce: ecn == 3 }, datagram, now);
                }
            }
            Input::ClientQueue { client, state } => self.on_client_queue(client, state, now),
            Input::Link { peer, path, state } => self.on_link(peer, path, state, now),
            // Only here, and not after every input: when the process was held up, what the sockets hold is read before silence is judged.
            Input::Timeout => self.run_timers(now),
        }
    }

    /// Room of 64 KiB for the next packet of the device: read there, a super-packet need not be copied. Then call with
    /// [`Input::DeviceInBuffer`]. `None` when packet memory is short.
    pub fn device_buffer(&mut self) -> Option<&mut [u8]> {
        self.shared.store.device_buffer()
    }

    /// Gives out one thing to do. Call until it answers [`Output::Timeout`].
    pub fn poll_output(&mut self, now: Time) -> Output<'_> {
        if let Some(d) = self.handed_out.take() {
            self.shared.store.pool.free(d.buf);
        }
        if let Some(d) = self.next_delivery(now) {
            self.handed_out = Some(d);
            let packet = &self.shared.store.pool.bytes(d.buf)[..d.len as usize];
            return Output::Deliver { device: d.device, vnet: d.vnet, packet };
        }
        if !self.shared.icmp_error.is_empty() {
            std::mem::swap(&mut self.sending, &mut self.shared.icmp_error);
            self.shared.icmp_error.clear();
            return Output::Deliver { device: 0, vnet: Vnet::default(), packet: &self.sending };
        }
        if let Some(event) = self.shared.events.pop_front() {
            return Output::Event(event);
        }
        if let Some((route, bytes)) = self.handshakes.pop_front() {
            self.sending = bytes;
            let (segment, bytes) = (self.sending.len(), &self.sending[..]);
            return Output::Transmit(crate::api::Transmit { route, segment, bytes });
        }
        self.poll_peers(now)
    }

    fn next_delivery(&mut self, now: Time) -> Option<Delivery> {
        let kept = self.shared.deliveries.len();
        // Packet memory is for what is under way.
        let has_room = kept > 0 && self.pacer.as_mut().is_none_or(|p| p.has_room(now, kept));
        if kept == 0 || !has_room && !self.shared.store.pool.is_tight() {
            return None;
        }
        let d = self.shared.deliveries.pop_front()?;
        if let Some(p) = &mut self.pacer {
            p.on_handed(d.vnet.segments(d.len as usize), kept - 1);
        }
        Some(d)
    }

    fn poll_peers(&mut self, now: Time) -> Output<'_> {
        while let Some(&id) = self.ready.front() {
            // The borrow of a transmission ends the loop, so whether there is one is found out first.
            let Some(peer) = self.peers.get_mut(&id) else {
                self.ready.pop_front();
                continue;
            };
            if let Some((route, len)) = peer.challenge_candidate(now, &mut self.tx) {
                let bytes = &self.tx[..len];
                return Output::Transmit(crate::api::Transmit { route, segment: len, bytes });
            }
            if let Some(batch) = peer.poll_transmit(now, &mut self.shared, &mut self.tx) {
                let (route, bytes) = (peer.paths[batch.path].route, &self.tx[..batch.len]);
                return Output::Transmit(crate::api::Transmit { route, segment: batch.segment, bytes });
            }
            self.ready.pop_front();
            self.schedule(id, now);
            self.remove_if_closed(id);
        }
        let mut own = self.role_timeout().min((self.shared.outages.due(), "outage"));
        let opens_at = self.pacer.as_ref().and_then(|p| p.opens_at());
        if let (false, Some(at)) = (self.shared.deliveries.is_empty(), opens_at) {
            own = own.min((at.max(now + Duration::from_micros(20)), "delivery"));
        }
        match self.timers.peek() {
            Some(Reverse((at, id))) if *at <= own.0 => {
                let why = self.timer_of.get(id).map_or("stale", |t| t.1);
                Output::Timeout(*at, why)
            }
            _ => Output::Timeout(own.0, own.1),
        }
    }

    fn schedule(&mut self, id: u32, now: Time) {
        let Some(peer) = self.peers.get(&id) else { return };
        let (mut at, why) = peer.next_timeout(now, self.shared.config.keepalive);
        // A timer that is due and could do nothing must not spin.
        at = at.max(now + Duration::from_micros(20));
        if self.timer_of.insert(id, (at, why)).is_none_or(|old| old.0 != at) {
            self.timers.push(Reverse((at, id)));
        }
        // Stale entries go when they come up; a heap of mostly stale ones is rebuilt.
        if self.timers.len() > 64 + 4 * self.peers.len() {
            self.timers = self.timer_of.iter().map(|(id, (at, _))| Reverse((*at, *id))).collect();
        }
    }

    fn run_timers(&mut self, now: Time) {
        while let Some(&Reverse((at, id))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            if self.timer_of.get(&id).is_some_and(|t| t.0 == at) {
                self.timer_of.remove(&id);
                self.wake(id, now);
            }
        }
        if self.shared.outages.due() <= now {
            self.judge_outages(now);
        }
        if self.role_timeout().0 <= now {
            self.on_role_timer(now);
        }
    }

    /// Puts a session in line to be polled, its timers done first.
    fn wake(&mut self, id: u32, now: Time) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.on_timers(now, &mut self.shared);
        for index in peer.session.keys_mut().expire(now) {
            self.indices.remove(&index.get());
        }
        self.mark_ready(id);
    }

    fn mark_ready(&mut self, id: u32) {
        if self.ready.back() != Some(&id) && !self.ready.contains(&id) {
            self.ready.push_back(id);
        }
    }

    fn on_device(&mut self, device: u32, vnet: Vnet, packet: DevicePacket<'_>, now: Time) {
        let layer = self.shared.config.layer();
        let inner = Inner::of(layer, self.shared.store.bytes_of(packet));
        let inner = inner.filter(|i| layer == Layer::Two || !i.is_of_one_link());
        let id = match (&self.role, &inner, layer) {
            (_, None, _) => None,
            (Role::Client(_), Some(_), Layer::Two) => self.peers.keys().next().copied(),
            (Role::Gateway(_), Some(_), Layer::Two) => self.devices.get(&device).copied(),
            (_, Some(i), Layer::Three) => self.whose(i.dst).filter(|_| self.may_reach_a_client(i.src)),
        };
        let (Some(inner), Some(id)) = (inner, id) else {
            self.shared.drops.unroutable += 1;
            return;
        };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.accept(&mut self.shared, &inner, packet, vnet, now);
        self.mark_ready(id);
    }

    /// Gateway: clients do not reach each other unless told to.
    fn may_reach_a_client(&self, from: IpAddr) -> bool {
        matches!(self.role, Role::Client(_))
            || self.shared.config.joins_clients()
            || self.whose(from).is_none()
    }

    /// The session of the peer that an address inside belongs to, or lies behind.
    fn whose(&self, address: IpAddr) -> Option<u32> {
        let behind = || self.networks.iter().find(|(n, _)| n.contains(&address)).map(|(_, id)| *id);
        self.inside.get(&address).copied().or_else(behind)
    }

    fn on_datagram(&mut self, from: Origin, datagram: &mut [u8], now: Time) {
        match MessageType::of(datagram) {
            Some(MessageType::Data) => self.on_data(from, datagram, now),
            Some(kind) => self.on_handshake(kind, from, datagram, now),
            None => self.shared.drops.malformed += 1,
        }
    }

    fn on_data(&mut self, from: Origin, datagram: &mut [u8], now: Time) {
        let Some(header) = Header::decode(datagram) else {
            self.shared.drops.malformed += 1;
            return;
        };
        let Some((id, peer)) =
            self.indices.get(&header.index).and_then(|id| Some((*id, self.peers.get_mut(id)?)))
        else {
            self.shared.drops.unknown += 1;
            return;
        };
        let is_new = !peer.session.is_confirmed();
        match peer.on_datagram(header, datagram, from, now, &mut self.shared) {
            Heard::Fresh => {}
            Heard::Dropped => return,
            Heard::Confirmed => {
                for old in peer.session.keys_mut().take_void() {
                    self.indices.remove(&old.get());
                }
                self.on_confirmed(id, from.route, now);
            }
            Heard::Closed(code) => {
                // The client has used its keys: its older sessions end, though this one does, too.
                if is_new {
                    self.on_confirmed(id, from.route, now);
                }
                return self.on_closed(id, code, now);
            }
            Heard::Cheated => return self.on_cheated(id, now),
        }
        if let Some(peer) = self.peers.get_mut(&id)
            && peer.receive.order().gaps() > 0
        {
            peer.check_order(now, &mut self.shared);
        }
        self.mark_ready(id);
    }

    fn insert(&mut self, peer: Peer) -> u32 {
        let id = self.next_peer;
        self.next_peer += 1;
        let is_first = self.peers_of(&peer.key()).next().is_none();
        self.clients += usize::from(is_first);
        self.of_key.insert((peer.key(), id));
        self.peers.insert(id, peer);
        id
    }

    /// An index that no session uses, and that leads to this engine.
    fn fresh_index(&mut self) -> Index {
        loop {
            let i = self.shard().own_index(self.shared.entropy.random_range(1..=Index::MAX));
            if i != 0 && !self.indices.contains_key(&i) {
                return Index::new(i).unwrap_or_default();
            }
        }
    }

    fn remove(&mut self, id: u32) {
        let Some(mut peer) = self.peers.remove(&id) else { return };
        for i in peer.session.keys().indices() {
            self.indices.remove(&i.get());
        }
        self.of_key.remove(&(peer.key(), id));
        let was_last = self.peers_of(&peer.key()).next().is_none();
        self.clients -= usize::from(was_last);
        for address in peer.inside.client() {
            // Another session of the same client may have it by now.
            if self.inside.get(address) == Some(&id) {
                self.inside.remove(address);
            }
        }
        self.networks.retain(|(_, owner)| *owner != id);
        if self.devices.get(&peer.device()) == Some(&id) {
            self.devices.remove(&peer.device());
        }
        self.timer_of.remove(&id);
        self.meter.on_over(id, peer.key(), peer.paths.carried());
        peer.dispose(&mut self.shared);
    }

    fn remove_if_closed(&mut self, id: u32) {
        if self.peers.get(&id).is_some_and(|p| p.session.closing().is_some()) {
            self.remove(id);
        }
    }

    fn role_timeout(&self) -> (Time, &'static str) {
        match &self.role {
            Role::Client(c) => c.next_timeout(),
            Role::Gateway(g) => (g.next_sweep, "sweep"),
        }
    }

    fn on_role_timer(&mut self, now: Time) {
        match &self.role {
            Role::Client(_) => self.drive_handshake(now),
            Role::Gateway(_) => self.sweep(now),
        }
    }

    fn on_handshake(&mut self, kind: MessageType, from: Origin, datagram: &[u8], now: Time) {
        match (&self.role, kind) {
            (Role::Gateway(_), MessageType::Init) => self.on_init(from.route, datagram, now),
            (Role::Client(_), MessageType::Response) => self.on_response(datagram, now),
            (Role::Client(_), MessageType::Cookie) => self.on_cookie(from.route, datagram, now),
            _ => self.shared.drops.malformed += 1,
        }
    }

    fn queue_handshake(&mut self, route: Route, bytes: Vec<u8>) {
        if self.handshakes.len() < HANDSHAKE_QUEUE {
            self.handshakes.push_back((route, bytes));
        }
    }

    fn event(&mut self, e: Event) {
        self.shared.events.push_back(e);
    }

    fn on_closed(&mut self, id: u32, code: u8, now: Time) {
        match self.role {
            Role::Client(_) => self.on_gateway_closed(code, now),
            Role::Gateway(_) => self.on_client_closed(id),
        }
    }

    /// The peer acknowledged what was never sent, to be sent more than it can take. That ends the session.
    fn on_cheated(&mut self, id: u32, now: Time) {
        match self.role {
            Role::Client(_) => self.on_gateway_closed(0, now),
            Role::Gateway(_) => self.on_client_cheated(id),
        }
    }

    fn on_confirmed(&mut self, id: u32, route: Route, now: Time) {
        if matches!(self.role, Role::Gateway(_)) {
            self.on_client_confirmed(id, route, now);
        }
    }

    /// The sessions of the client with this key, the oldest first.
    fn peers_of(&self, key: &PublicKey) -> impl Iterator<Item = u32> {
        self.of_key.range((*key, 0)..=(*key, u32::MAX)).map(|(_, id)| *id)
    }

    /// Where datagrams of a route would go now, for tests.
    pub fn remote_of(&self, path: u8) -> Option<SocketAddr> {
        self.peers.values().next()?.paths.get(PathId::new(path)?).map(|p| p.route.remote)
    }
}
