//! One session with one peer: its keys, its paths, its queue and its order.
//!
//! The packet's walk out is in `crate::send`, its walk in is in `crate::receive`; what happens by the clock is in [`timers`].

pub(crate) mod address;
pub mod keyring;
pub mod timers;

use crate::api::{Event, PathSpec};
use crate::backhaul::Backhaul;
use crate::cc::Sibling;
use crate::config::{Config, Profile};
use crate::entropy::Entropy;
use crate::order::{Delivery, Reassembly};
use crate::path::recv::RecvLog;
use crate::path::sent::{ChunkRef, Outcome};
use crate::path::{Class, ClockOffset, Path, Route, State};
use crate::queue::Ingress;
use crate::record::Store;
use crate::schedule::{PathInfo, Scheduler};
use crate::session::{PublicKey, ReplayWindow, SessionId};
use crate::time::{Duration, Time};
use crate::wire::MAX_PATHS;
use core::net::IpAddr;
use ipnet::IpNet;
use keyring::Keyring;
use std::collections::{BTreeMap, VecDeque};

/// Lost chunks that may wait to be sent again; more than this many are not worth it.
const RESEND_LIMIT: usize = 16_384;

/// What all peers of an engine share.
#[derive(Debug)]
pub struct Shared {
    /// Limits and choices.
    pub config: Config,
    /// Packet memory.
    pub store: Store,
    /// Packets for the device.
    pub deliveries: VecDeque<Delivery>,
    /// News.
    pub events: VecDeque<Event>,
    /// An ICMP error for the sender of a packet of the device; empty: none.
    pub icmp_error: Vec<u8>,
    /// Result of the acknowledgement being handled.
    pub outcome: Outcome,
    /// Randomness that was handed in.
    pub entropy: Entropy,
    /// Key of the flow hash.
    pub flow_key: [u8; 16],
    /// Datagrams that were dropped, by reason.
    pub drops: Drops,
}

/// Datagrams dropped on arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Too short, of no known type, or with a frame that makes no sense.
    pub malformed: u64,
    /// Of no session here.
    pub unknown: u64,
    /// Not authentic.
    pub forged: u64,
    /// Seen before, or too old to tell.
    pub replayed: u64,
    /// Handshakes dropped.
    pub handshakes: u64,
    /// Inner packets from an address that is not the peer's or of no other link than its own, or with an offload header that does not fit.
    pub inner: u64,
    /// Device packets without a peer to go to, or that no router hands on.
    pub unroutable: u64,
    /// Layer 2: frames of the device that are longer than the peer's device takes.
    pub too_long: u64,
}

/// What outlives a path. The next one with its identifier goes on from there: a number sealed twice under one key would be a nonce used twice, one opened twice a
/// replay, and what a gateway may use the path for is the client's to say.
#[derive(Debug)]
struct Retired {
    next_number: u64,
    replay: ReplayWindow,
    class: Class,
    status_seen: Option<u16>,
}

/// One session.
#[derive(Debug)]
pub struct Peer {
    /// The engine's number of the session.
    pub id: u32,
    /// The driver's number of the device that its packets go to.
    pub device: u32,
    /// Who it is.
    pub key: PublicKey,
    /// Keys of the session.
    pub keys: Keyring,
    /// Its name across renewals of the keys; `None` at a client before the first handshake.
    pub session: Option<SessionId>,
    /// A datagram of the peer has been opened: the handshake was no replay.
    pub confirmed: bool,
    /// This end is the client.
    pub is_client: bool,
    /// Its paths.
    pub paths: Vec<Path>,
    /// Of paths taken away or forgotten, by identifier.
    retired: BTreeMap<u8, Retired>,
    /// Weights of the paths, by identifier.
    pub weights: [u32; MAX_PATHS],
    /// In what the session differs where its paths are the links of a wireless backhaul; none over the internet.
    pub backhaul: Option<Box<Backhaul>>,
    /// What waits to be sent.
    pub ingress: Ingress,
    /// What is to be sent again.
    pub resend: VecDeque<ChunkRef>,
    /// Copies for further paths.
    pub copies: VecDeque<(u8, ChunkRef)>,
    /// What lossy paths carry, for sending once more while there is room: the path that had it, and when.
    pub spare: VecDeque<(u8, Time, ChunkRef)>,
    /// Order of what arrives.
    pub order: Reassembly,
    /// Who sends next.
    pub scheduler: Box<dyn Scheduler>,
    /// Makes one-way delays comparable.
    pub clock: ClockOffset,
    /// A client's inner addresses, from which it may send.
    pub inside: Vec<IpAddr>,
    /// Networks behind the peer, from which it may send too.
    pub networks: Vec<IpNet>,
    /// The driver was told that the client is here.
    pub announced: bool,
    /// This end's inner addresses, for ICMP errors.
    pub own_inside: Vec<IpAddr>,
    /// The peer's TUN MTU.
    pub peer_mtu: u16,
    /// Last authentic datagram.
    pub last_heard: Time,
    /// Last device packet, either way.
    pub last_data: Time,
    /// Ends the session: the code to tell the peer.
    pub closing: Option<u8>,
    /// Which path may probe for more bandwidth.
    pub(crate) probe_turn: usize,
    pub(crate) probe_since: Time,
    /// When the gaps in the order are to be looked at.
    pub(crate) order_due: Option<Time>,
    /// When records that nobody completes were last looked for.
    pub(crate) order_swept: Time,
    /// By path identifier: what waits was offered to it, and none of it was for it, since the queue last changed.
    pub(crate) nothing_to_send: u16,
    /// What the scheduler sees: the paths that may carry data now.
    pub(crate) infos: Vec<PathInfo>,
    pub(crate) siblings: Vec<Sibling>,
    pub(crate) status_seq: u16,
    /// Chunks sent again.
    pub resent: u64,
    /// Chunks sent twice in advance, on lossy paths with room to spare.
    pub insured: u64,
    /// Records given up by this end.
    pub given_up: u64,
}

impl Peer {
    /// A session that has no keys and no paths yet.
    pub fn new(key: PublicKey, is_client: bool, config: &Config, now: Time) -> Self {
        Peer {
            id: 0,
            device: 0,
            key,
            keys: Keyring::default(),
            session: None,
            confirmed: is_client,
            is_client,
            paths: Vec::new(),
            retired: BTreeMap::new(),
            weights: [1; MAX_PATHS],
            backhaul: (config.profile() == Profile::Backhaul).then(|| Box::new(Backhaul::new(config))),
            ingress: ingress(config),
            resend: VecDeque::new(),
            copies: VecDeque::new(),
            spare: VecDeque::new(),
            order: if config.ordered { Reassembly::default() } else { Reassembly::unordered() },
            scheduler: config.scheduler.scheduler(config.max_spread),
            clock: ClockOffset::default(),
            inside: Vec::new(),
            networks: Vec::new(),
            announced: false,
            own_inside: Vec::new(),
            peer_mtu: config.tun_mtu,
            last_heard: now,
            last_data: Time::ZERO,
            closing: None,
            probe_turn: 0,
            probe_since: now,
            order_due: None,
            order_swept: now,
            nothing_to_send: 0,
            infos: Vec::new(),
            siblings: Vec::new(),
            status_seq: 0,
            resent: 0,
            insured: 0,
            given_up: 0,
        }
    }

    /// Keys are in force.
    pub fn is_up(&self) -> bool {
        self.keys.current().is_some()
    }

    /// Adds a path; `None` if all identifiers are taken.
    pub fn add_path(&mut self, spec: PathSpec, config: &Config) -> Option<u8> {
        let id = (0..MAX_PATHS as u8).find(|id| self.paths.iter().all(|p| p.id != *id))?;
        self.insert_path(id, spec, config);
        Some(id)
    }

    /// Adds a path with a given identifier.
    pub fn insert_path(&mut self, id: u8, spec: PathSpec, config: &Config) {
        let controller = config.congestion.controller(u64::from(crate::path::pmtu::BASE));
        let mut path = Path::new(id, spec.route, spec.interface_mtu, controller, config.in_flight);
        path.class = spec.class;
        let before = self.retired.remove(&id);
        let again = before.is_some();
        if let Some(before) = before {
            path.begin_at(before.next_number);
            path.replay = before.replay;
            if !self.is_client {
                (path.class, path.status_seen) = (before.class, before.status_seen);
            }
        }
        if let Some(b) = &mut self.backhaul {
            b.on_path_added(id, path.sent.next_number());
            path.recv = if b.acknowledges_seldom() { RecvLog::sparse() } else { RecvLog::default() };
        }
        path.unproven = (!self.is_client).then_some(0);
        // The gateway may know the identifier with another class.
        path.status_due = self.is_client && (spec.class != Default::default() || again);
        self.weights[id as usize] = spec.weight;
        self.paths.push(path);
    }

    /// Takes a path away; what was on it goes elsewhere.
    pub fn remove_path(&mut self, id: u8, now: Time, shared: &mut Shared) {
        let Some(i) = self.paths.iter().position(|p| p.id == id) else { return };
        self.evacuate(i, now, shared);
        let path = self.paths.remove(i);
        let next_number = path.sent.next_number();
        let (replay, class, status_seen) = (path.replay, path.class, path.status_seen);
        self.retired.insert(id, Retired { next_number, replay, class, status_seen });
        self.copies.retain(|(p, c)| {
            let keep = *p != id;
            if !keep {
                shared.store.release(c.record);
            }
            keep
        });
    }

    /// Which numbers of this path, or of one before it with the same identifier, were seen.
    pub(crate) fn replay_of(&self, id: u8) -> Option<&ReplayWindow> {
        let retired = || self.retired.get(&id).map(|r| &r.replay);
        self.paths.iter().find(|p| p.id == id).map(|p| &p.replay).or_else(retired)
    }

    /// The path with this identifier.
    pub fn path_mut(&mut self, id: u8) -> Option<&mut Path> {
        self.paths.iter_mut().find(|p| p.id == id)
    }

    /// Everything on its way on path `i` counts as lost there and is sent again elsewhere.
    pub(crate) fn evacuate(&mut self, i: usize, now: Time, shared: &mut Shared) {
        let mut out = std::mem::take(&mut shared.outcome);
        out.clear();
        let p = &mut self.paths[i];
        p.lose_all(&mut out);
        if let Some(b) = &mut self.backhaul {
            b.on_all_lost(p);
        }
        p.repeat_status(&out);
        out.lost.iter().filter_map(|s| s.probe).for_each(|size| p.mtu.on_probe_lost(now, size));
        self.requeue(&out.missing, shared);
        shared.outcome = out;
    }

    /// Puts lost chunks in line to be sent again.
    pub(crate) fn requeue(&mut self, missing: &[ChunkRef], shared: &mut Shared) {
        for c in missing {
            if c.copy || !shared.config.recovery || self.resend.len() >= RESEND_LIMIT {
                self.drop_chunk(*c, shared);
            } else {
                self.resend.push_back(*c);
            }
        }
    }

    /// A chunk will not be sent again. If its record is incomplete because of it, the peer is told.
    pub(crate) fn drop_chunk(&mut self, c: ChunkRef, shared: &mut Shared) {
        let record = shared.store.get(c.record);
        let urgent = record.flow & crate::record::URGENT != 0;
        if c.copy || urgent || record.is_void() || record.queued {
            shared.store.release(c.record);
            return;
        }
        shared.store.void(c.record);
        self.given_up += 1;
        self.resend.push_back(ChunkRef { len: 0, offset: 0, ..c });
    }

    /// How long a record may take from its first chunk to its last: past that the receiver no longer waits.
    pub(crate) fn repair_time(&self) -> Duration {
        let best = self
            .paths
            .iter()
            .filter(|p| p.is_usable())
            .map(|p| p.rtt.smoothed() + p.rtt.deviation() * 2)
            .min();
        let best = best.unwrap_or(Duration::from_millis(100));
        (best * 4 + Duration::from_millis(30)).clamp(Duration::from_millis(60), Duration::from_millis(500))
    }

    /// Difference of delay between the slowest and the fastest path in use.
    pub(crate) fn spread(&self) -> Duration {
        let usable = || self.paths.iter().filter(|p| p.is_usable() && p.rtt.is_known());
        let one_way = |p: &Path| p.rtt.smoothed() / 2 + p.rtt.deviation() * 2;
        let slowest = usable().map(one_way).max().unwrap_or_default();
        slowest.saturating_sub(usable().map(|p| p.rtt.min() / 2).min().unwrap_or_default())
    }

    /// Fills `infos` with the paths that may carry data now: of those that work, the ones that nothing is held against. A backup is the next best, a path
    /// that flaps the last.
    pub(crate) fn update_infos(&mut self, now: Time) {
        self.infos.clear();
        let (paths, backhaul) = (&mut self.paths, &mut self.backhaul);
        let is_away = |p: &Path| backhaul.as_ref().is_some_and(|b| b.is_away(p.id));
        let rank = |p: &Path| (p.live.is_damped(now), is_away(p) || p.class == Class::Backup);
        let best = paths.iter().filter(|p| p.is_usable()).map(rank).min();
        let usable = || paths.iter().filter(|p| p.is_usable() && Some(rank(p)) == best);
        let unlimited = backhaul.as_ref().is_some_and(|b| b.is_unlimited(usable()));
        let taking_part = usable().fold(0u16, |mask, p| mask | 1 << p.id);
        for p in paths.iter_mut().filter(|p| taking_part & 1 << p.id != 0) {
            let mut info = p.info(now, self.weights[p.id as usize]);
            info.nothing_to_send = self.nothing_to_send & 1 << p.id != 0;
            if let Some(b) = backhaul {
                b.adjust(now, p, unlimited, &mut info);
            }
            self.infos.push(info);
        }
    }

    /// Fills `siblings` for the coupled controllers; entry `own` is the path being called.
    pub(crate) fn look_at_siblings(&mut self, own: usize) {
        self.siblings.clear();
        for (i, p) in self.paths.iter().enumerate().filter(|(_, p)| p.is_usable()) {
            self.siblings.push(Sibling { is_self: i == own, ..p.as_sibling() });
        }
    }

    /// The queue changed: every path may look again.
    pub(crate) fn on_queue_changed(&mut self) {
        self.nothing_to_send = 0;
    }

    /// The session begins anew (the peer had forgotten it): numbers and order start over, what was not acknowledged is sent again.
    pub fn restart(&mut self, shared: &mut Shared, now: Time) {
        self.retired.clear();
        for i in 0..self.paths.len() {
            self.evacuate(i, now, shared);
            let old = &self.paths[i];
            let (id, spec) = (
                old.id,
                PathSpec {
                    route: old.route,
                    interface_mtu: old.mtu.interface(),
                    class: old.class,
                    weight: 1,
                },
            );
            let weight = self.weights[id as usize];
            self.paths.remove(i);
            self.insert_path(id, PathSpec { weight, ..spec }, &shared.config);
            if let Some(new) = self.paths.pop() {
                self.paths.insert(i, new);
            }
        }
        if let Some(b) = &mut self.backhaul {
            b.restart();
        }
        self.order.clear(&mut shared.store.pool);
        self.clock = ClockOffset::default();
        self.last_heard = now;
        self.on_queue_changed();
    }

    /// Gives all memory back.
    pub fn dispose(&mut self, shared: &mut Shared) {
        let store = &mut shared.store;
        for p in &mut self.paths {
            let mut out = Outcome::default();
            p.sent.lose_all(&mut out);
            out.missing.iter().for_each(|c| store.release(c.record));
        }
        self.resend.drain(..).for_each(|c| store.release(c.record));
        self.copies.drain(..).for_each(|(_, c)| store.release(c.record));
        self.spare.drain(..).for_each(|(_, _, c)| store.release(c.record));
        self.ingress.clear(store);
        store.remove_owner(self.ingress.owner());
        self.order.clear(&mut store.pool);
    }

    /// Tells the world that path `i` changed.
    pub(crate) fn announce(&self, i: usize, shared: &mut Shared) {
        let p = &self.paths[i];
        let (path, remote, state) = (p.id, p.route.remote, p.live.state);
        shared.events.push_back(Event::Path { peer: self.key, path, remote, state });
    }

    /// A path with this route, whichever its identifier.
    pub fn has_route(&self, route: &Route) -> bool {
        self.paths.iter().any(|p| p.route == *route)
    }

    /// Some path works, or might.
    pub fn has_live_path(&self) -> bool {
        self.paths.iter().any(|p| matches!(p.live.state, State::Active | State::Suspect))
    }
}

/// The queue at the entrance.
fn ingress(config: &Config) -> Ingress {
    let queue = Ingress::new(config.queue_bytes).on_layer(config.layer());
    match config.queue_packets {
        None if config.scheduler.counts_completions() => queue.for_a_backhaul(),
        limit => queue.with_packets(limit),
    }
}
