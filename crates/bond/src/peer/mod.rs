//! One session with one peer.
//!
//! ```text
//!  Peer ── session   keys, its name, whether it is in use
//!      ├── inside    addresses and networks inside the tunnel
//!      ├── paths     each with its congestion, its loss and its life
//!      ├── send      the queue, what is to be sent again, the scheduler: a packet's walk out
//!      ├── receive   the order of what arrives: a packet's walk in
//!      ├── airtime   only where paths are known to share the air of a radio channel
//!      └── backhaul  only between an access point and a repeater
//! ```
//!
//! What happens by the clock is in `timers`, the peer's address on a path in `address`.

pub(crate) mod address;
mod inside;
pub(crate) mod keyring;
mod paths;
pub(crate) mod receive;
mod send;
mod session;
mod timers;

use crate::airtime::Airtime;
use crate::api::{Event, PathSpec};
use crate::backhaul::Backhaul;
use crate::config::{Config, Profile};
use crate::entropy::Entropy;
use crate::flows::{Flows, Outages};
use crate::order::Delivery;
use crate::path::sent::Outcome;
use crate::path::{Path, PathId};
use crate::store::{Owner, Store};
use inside::Inside;
use paths::PathSet;
use receive::ReceiveSide;
use ropewalk_session::PublicKey;
use ropewalk_time::Time;
use send::SendSide;
use session::SessionState;
use std::collections::VecDeque;

/// What all peers of an engine share.
#[derive(Debug)]
pub(crate) struct Shared {
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
    /// Connections of late.
    pub flows: Flows,
    /// Paths that are dead, until it is known which connections noticed.
    pub outages: Outages,
    /// Datagrams that were dropped, by reason.
    pub drops: Drops,
}

#[cfg(test)]
impl Shared {
    /// Of an engine in which nothing happened yet, and which counts no connections.
    pub(crate) fn for_tests(config: Config) -> Shared {
        Shared {
            store: Store::new(crate::pool::Pool::new(config.memory_bytes), 64),
            config,
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
            icmp_error: Vec::new(),
            outcome: Outcome::default(),
            entropy: Entropy::repeatable([1; 32]),
            flow_key: [0; 16],
            flows: Flows::new(0),
            outages: Outages::default(),
            drops: Drops::default(),
        }
    }
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

/// One session.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The driver's number of the device that its packets go to.
    device: u32,
    /// Who it is.
    key: PublicKey,
    /// This end is the client.
    is_client: bool,
    pub(crate) session: SessionState,
    pub(crate) inside: Inside,
    pub(crate) paths: PathSet,
    pub(crate) send: SendSide,
    pub(crate) receive: ReceiveSide,
    /// In what the session differs where its paths are the links of a wireless backhaul; none over the internet.
    pub(crate) backhaul: Option<Box<Backhaul>>,
    /// The air under the paths; none until somebody has told of it.
    pub(crate) airtime: Option<Box<Airtime>>,
    /// Last device packet, either way.
    last_data: Time,
}

impl Peer {
    /// A session that has no keys and no paths yet. Its packets go to the driver's `device`, and are `owner`'s in packet memory.
    pub(crate) fn new(
        key: PublicKey,
        is_client: bool,
        device: u32,
        owner: Owner,
        config: &Config,
        now: Time,
    ) -> Self {
        Peer {
            device,
            key,
            is_client,
            session: SessionState::new(is_client, now),
            inside: Inside::new(config.tun_mtu),
            paths: PathSet::new(now),
            send: SendSide::new(config, owner),
            receive: ReceiveSide::new(config, now),
            backhaul: (config.profile() == Profile::Backhaul).then(|| Box::new(Backhaul::new(config))),
            airtime: None,
            last_data: Time::ZERO,
        }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.key
    }

    pub(crate) fn device(&self) -> u32 {
        self.device
    }

    pub(crate) fn is_client(&self) -> bool {
        self.is_client
    }

    /// Adds a path; `None` if all identifiers are taken.
    pub(crate) fn add_path(&mut self, spec: PathSpec, config: &Config) -> Option<PathId> {
        let id = self.paths.free_id()?;
        self.insert_path(id, spec, config);
        Some(id)
    }

    fn insert_path(&mut self, id: PathId, spec: PathSpec, config: &Config) {
        let path = self.paths.insert(id, spec, self.is_client, config);
        set_up(path, &mut self.backhaul);
        self.on_other_path(id);
    }

    fn on_other_path(&mut self, id: PathId) {
        if let Some(airtime) = &mut self.airtime {
            airtime.on_other_path(id, self.is_client);
        }
    }

    /// Takes a path away; what was on it goes elsewhere.
    pub(crate) fn remove_path(&mut self, id: PathId, now: Time, shared: &mut Shared) {
        if self.paths.get(id).is_some() {
            self.declare_all_lost(id, now, shared);
            self.paths.retire(id);
            self.send.drop_duplicates_for(id, &mut shared.store);
            self.on_other_path(id);
        }
    }

    /// Everything on its way on a path counts as lost there and is sent again elsewhere.
    pub(crate) fn declare_all_lost(&mut self, id: PathId, now: Time, shared: &mut Shared) {
        let mut out = std::mem::take(&mut shared.outcome);
        out.clear();
        let p = &mut self.paths[id];
        p.lose_all(&mut out);
        if let Some(b) = &mut self.backhaul {
            b.on_all_lost(p);
        }
        p.repeat_status(&out);
        p.note_lost_sizes(now, &out);
        self.send.retransmit(&out.to_retransmit, now, shared);
        shared.outcome = out;
    }

    /// The queue changed: every path may look again.
    pub(crate) fn on_queue_changed(&mut self) {
        self.send.on_queue_changed();
    }

    /// The session begins anew (the peer had forgotten it): numbers and order start over, what was not acknowledged is sent again.
    pub(crate) fn restart(&mut self, shared: &mut Shared, now: Time) {
        for id in self.paths.ids() {
            self.declare_all_lost(id, now, shared);
        }
        let backhaul = &mut self.backhaul;
        self.paths.restart(self.is_client, &shared.config, |path| set_up(path, backhaul));
        if let Some(b) = backhaul {
            b.restart();
        }
        if let Some(airtime) = &mut self.airtime {
            airtime.restart();
        }
        self.receive.clear(&mut shared.store.pool);
        self.session.on_heard(now);
        self.on_queue_changed();
    }

    /// Gives all memory back.
    pub(crate) fn dispose(&mut self, shared: &mut Shared) {
        let store = &mut shared.store;
        for p in self.paths.iter_mut() {
            let mut out = Outcome::default();
            p.sent.lose_all(&mut out);
            out.to_retransmit.iter().for_each(|c| store.release(c.packet));
        }
        self.send.clear(store);
        self.receive.clear(&mut store.pool);
    }

    /// Tells the driver that a path changed.
    pub(crate) fn emit_event(&self, id: PathId, now: Time, shared: &mut Shared) {
        let p = &self.paths[id];
        if shared.flows.counts() {
            shared.outages.on_state(self.key, p, now);
        }
        let (path, remote, state) = (p.id.get(), p.route.remote, p.state());
        shared.events.push_back(Event::Path { peer: self.key, path, remote, state });
    }
}

/// A path is new: its links are counted from its first number, and acknowledgements are as its profile has them.
fn set_up(path: &mut Path, backhaul: &mut Option<Box<Backhaul>>) {
    if let Some(b) = backhaul {
        b.on_path_added(path.id, path.sent.next_number());
        path.recv.set_sparse(b.acknowledges_seldom());
    }
}
