//! The gateway: reports in, schedules out, the connection put together again.
//!
//! ```text
//!  reports ─▶ session ─▶ schedule ─▶ tunnels
//!               │
//!  packets ─▶ order, custody (pep) ─▶ receiver
//!               └── acknowledgements ─▶ home AP ─▶ sender
//! ```
//!
//! | file | question |
//! |---|---|
//! | `session` | what the members' reports say together |
//! | `register` | who takes part in which session |
//! | `member` | what one access point holds, and how fast it delivers |
//! | `schedule` | who forwards what |
//! | `stream` | what of a TCP connection goes on, and what is acknowledged |
//! | `allowance` | how many packets a contributor may name |
//! | `views` | what it says of contributors, connections and itself |

mod allowance;
mod cells;
mod member;
mod register;
mod schedule;
mod session;
mod stream;
mod views;

pub use schedule::Scheduling;
pub use views::{Account, Counts, SessionView};

use crate::hash::Key;
use crate::icmp::{self, Trouble};
use crate::inner::{self, Inner};
use crate::wire::{Message, Names, Register, Splitter};
use crate::{Flow, Mac, Served, Time, is_served};
use allowance::Allowance;
use cells::Cells;
use core::time::Duration;
use session::{Context, Session};
use siphasher::sip::SipHasher24;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Sessions at once.
pub const MAX_SESSIONS: usize = 1024;
/// Of these, sessions whose sender has one address here: an access point's share.
const MAX_OF_ONE: usize = 256;
/// A session that has less is given more, even where all together have too much.
const MODEST: u64 = 64 << 10;
/// A session that has fewer packets listed may list more, even where all together have too many.
const FEW: usize = 1024;
/// Packets that all sessions together have listed and heard, at some 128 bytes each.
const MANY: usize = 1 << 20;
/// A mark is looked for, where a number is only noted: it counts as so many.
const MARK: u64 = 32;
/// Registrations of one neighbour that came before their home access points': as many as it has
/// sessions.
const MAX_WAITING: usize = 64;
/// Contributors whose account is kept.
const MAX_ACCOUNTS: usize = 4096;
/// Releases, timeouts and modes are looked at each so often.
const TICK: Duration = Duration::from_millis(50);
/// A tunnel in which so long nothing came is dead; signs of life come each 250 ms.
const SILENCE: Duration = Duration::from_millis(1500);

/// A tunnel, by the driver's number. A number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tunnel(pub u32);

/// What is done for TCP (paper 002 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Nothing: packets go on as they come.
    Plain,
    /// They go on in order.
    SimpleBuffer,
    /// They are acknowledged when the home access point, or so many live holders, have them.
    ProactiveAck {
        /// How many.
        custody: u8,
    },
}

/// How a gateway is set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Destinations that are helped.
    pub serve: Served,
    /// What is done for TCP.
    pub variant: Variant,
    /// Who forwards.
    pub scheduling: Scheduling,
    /// Where the keys of sessions come from; random.
    pub secret: Key,
    /// Every member is told every schedule, as in the paper. Ours need not know: a schedule
    /// releases nothing.
    pub broadcast: bool,
    /// Most bytes of memory that payload takes which is kept for receivers, all sessions together.
    /// Beyond, sessions that have much are given nothing more.
    pub memory_bytes: u64,
    /// How long acknowledged bytes may have no holder, or not come, before both ends are reset.
    pub grace: Duration,
}

impl Config {
    /// ProactiveAck by expected delivery, one holder beside the home access point not needed.
    pub fn new(serve: Served, secret: Key) -> Config {
        Config {
            serve,
            variant: Variant::ProactiveAck { custody: 2 },
            scheduling: Scheduling::ExpectedDelivery,
            secret,
            broadcast: false,
            memory_bytes: 512 << 20,
            grace: Duration::from_secs(3),
        }
    }
}

/// What a driver knows of a contributor's own senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Their address here.
    pub address: Ipv4Addr,
    /// Their cell: neighbours, who know its flows, cannot register them as their own.
    pub cell: Mac,
}

/// What a driver tells.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// A tunnel of this contributor is there.
    TunnelUp(Tunnel, u64),
    /// The same, of one that is the home access point of these senders alone, whatever it says.
    TunnelUpBehind(Tunnel, u64, Home),
    /// It overhears: its flows are of cells of the air.
    OnAir(Tunnel),
    /// It is gone.
    TunnelDown(Tunnel),
    /// A contributor is revoked: its cells may be anybody's. Its tunnels end by themselves, its
    /// account stays.
    Revoked(u64),
    /// Bytes of its stream.
    FromTunnel(Tunnel, &'a [u8]),
    /// A packet for a receiver that is helped, on its ordinary way.
    FromSender(&'a [u8]),
    /// A packet of a receiver that is helped.
    FromReceiver(&'a [u8]),
    /// The time of [`Output::Timeout`] has come.
    Timer,
}

/// What a driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Write all of this into a tunnel.
    ToTunnel(Tunnel, Vec<u8>),
    /// End a tunnel: it is silent, speaks something else, or names more packets than anybody has.
    Hangup(Tunnel),
    /// Send this packet to the receiver.
    ToReceiver(Vec<u8>),
    /// Send this packet to the sender as a router would.
    ToSender(Vec<u8>),
    /// Both ends of a connection were reset.
    Ended {
        /// The receiver.
        destination: SocketAddrV4,
        /// Why.
        why: ropewalk_pep::Why,
    },
    /// Nothing more now: call with [`Input::Timer`] at this time, if there is one.
    Timeout(Option<Time>, &'static str),
}

#[derive(Debug)]
struct Peer {
    who: u64,
    /// The only senders whose home access point it may be, if there is such a rule.
    behind: Option<Home>,
    /// Its flows may be of cells of the air, too.
    on_air: bool,
    splitter: Splitter,
    heard_at: Time,
    /// Its sessions, by its own numbers.
    sessions: BTreeMap<u8, u32>,
    /// Those of its own home, as it says: nobody thanks it for them.
    own: BTreeSet<u8>,
    /// Flows that it registered before their home access points did, the oldest first.
    waiting: VecDeque<Flow>,
}

type Ends = (u8, SocketAddrV4, SocketAddrV4);

/// A gateway.
#[derive(Debug)]
pub struct Gateway {
    config: Config,
    peers: BTreeMap<Tunnel, Peer>,
    sessions: BTreeMap<u32, Session>,
    by_ends: BTreeMap<Ends, u32>,
    by_flow: BTreeMap<Flow, u32>,
    waiting: BTreeMap<(Flow, Tunnel), Register>,
    cells: Cells,
    accounts: BTreeMap<u64, Account>,
    allowances: BTreeMap<u64, Allowance>,
    counts: Counts,
    next: u32,
    flow_changes: u64,
    tick: Option<Time>,
    /// Bytes of memory that the payload of all sessions takes.
    memory: u64,
    /// Packets that all sessions have listed, and heard.
    listed: usize,
    out: VecDeque<Output>,
}

impl Gateway {
    /// A gateway without tunnels yet.
    pub fn new(config: Config) -> Gateway {
        Gateway {
            config,
            peers: BTreeMap::new(),
            sessions: BTreeMap::new(),
            by_ends: BTreeMap::new(),
            by_flow: BTreeMap::new(),
            waiting: BTreeMap::new(),
            cells: Cells::default(),
            accounts: BTreeMap::new(),
            allowances: BTreeMap::new(),
            counts: Counts::default(),
            next: 0,
            flow_changes: 0,
            tick: None,
            memory: 0,
            listed: 0,
            out: VecDeque::new(),
        }
    }

    /// Sessions at present.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Each of them.
    pub fn views(&self) -> impl Iterator<Item = SessionView> {
        self.sessions.values().map(Session::view)
    }

    /// Flows that a home access point has registered and that are helped, each with the address
    /// that its sender has here: what others may listen for.
    pub fn flows(&self) -> impl Iterator<Item = (Flow, Ipv4Addr)> {
        self.by_flow.iter().filter_map(|(flow, id)| {
            let session = self.sessions.get(id).filter(|s| s.bypassed.is_none())?;
            Some((*flow, *session.outer.ip()))
        })
    }

    /// Goes up whenever a flow comes or goes.
    pub fn flow_changes(&self) -> u64 {
        self.flow_changes
    }

    /// Bytes of payload that are kept for receivers, all sessions together.
    pub fn kept_bytes(&self) -> u64 {
        self.sessions.values().map(Session::stored).sum()
    }

    /// What happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What each contributor did.
    pub fn accounts(&self) -> impl Iterator<Item = (u64, &Account)> {
        self.accounts.iter().map(|(who, account)| (*who, account))
    }

    /// What one of them did; none if it never came, or has no account.
    pub fn account(&self, who: u64) -> Option<&Account> {
        self.accounts.get(&who)
    }

    /// Takes in. Time never goes back.
    pub fn handle(&mut self, input: Input<'_>, now: Time) {
        match input {
            Input::TunnelUp(tunnel, who) => self.on_tunnel_up(tunnel, who, None, now),
            Input::TunnelUpBehind(tunnel, who, home) => self.on_tunnel_up(tunnel, who, Some(home), now),
            Input::OnAir(tunnel) => self.peers.get_mut(&tunnel).into_iter().for_each(|p| p.on_air = true),
            Input::TunnelDown(tunnel) => self.on_tunnel_down(tunnel, now),
            Input::Revoked(who) => self.cells.give_back(who),
            Input::FromTunnel(tunnel, bytes) => self.on_bytes(tunnel, bytes, now),
            Input::FromSender(packet) => match self.session_of(packet, now) {
                Some(id) => self.with(id, now, |s, cx| s.on_native(cx, packet.to_vec())),
                None => self.out.push_back(Output::ToReceiver(packet.to_vec())),
            },
            Input::FromReceiver(packet) => {
                if let Some(trouble) = icmp::read(packet) {
                    self.on_trouble(&trouble, now);
                }
                let ends = inner::parse(packet).map(|i| (i.protocol, i.destination, i.source));
                match ends.and_then(|e| self.by_ends.get(&e).copied()) {
                    Some(id) => self.with(id, now, |s, cx| s.on_receiver(cx, packet.to_vec())),
                    None => self.out.push_back(Output::ToSender(packet.to_vec())),
                }
            }
            Input::Timer => self.on_timer(now),
        }
        if self.tick.is_none() && !(self.sessions.is_empty() && self.peers.is_empty()) {
            self.tick = Some(now + TICK);
        }
    }

    /// Gives out.
    pub fn poll_output(&mut self) -> Output {
        if let Some(next) = self.out.pop_front() {
            return next;
        }
        let proxies = self.sessions.values().filter_map(Session::timeout).map(|at| (at, "a proxy's clock"));
        match proxies.chain(self.tick.map(|at| (at, "releases and timeouts"))).min() {
            Some((at, why)) => Output::Timeout(Some(at), why),
            None => Output::Timeout(None, "nobody is there"),
        }
    }

    fn with(&mut self, id: u32, now: Time, what: impl FnOnce(&mut Session, &mut Context<'_>)) {
        if let Some(session) = self.sessions.get_mut(&id) {
            let (config, out, accounts) = (&self.config, &mut self.out, &mut self.accounts);
            let before = (session.memory(), session.listed());
            let full = self.memory >= config.memory_bytes && before.0 >= MODEST;
            let crowded = self.listed >= MANY && before.1 >= FEW;
            what(
                session,
                &mut Context { config, out, accounts, counts: &mut self.counts, full, crowded, now },
            );
            self.memory = (self.memory + session.memory()).saturating_sub(before.0);
            self.listed = (self.listed + session.listed()).saturating_sub(before.1);
        }
    }

    fn on_tunnel_up(&mut self, tunnel: Tunnel, who: u64, behind: Option<Home>, now: Time) {
        let (splitter, sessions, waiting) = (Splitter::default(), BTreeMap::new(), VecDeque::new());
        let (on_air, heard_at) = (false, now);
        let own = BTreeSet::new();
        self.peers.insert(tunnel, Peer { who, behind, on_air, splitter, heard_at, sessions, own, waiting });
        if self.accounts.len() < MAX_ACCOUNTS {
            behind.into_iter().for_each(|home| self.cells.give(home.cell, who));
            self.accounts.entry(who).or_default();
            self.allowances.entry(who).or_default();
        }
    }

    fn on_tunnel_down(&mut self, tunnel: Tunnel, now: Time) {
        let Some(peer) = self.peers.remove(&tunnel) else {
            return;
        };
        for flow in peer.waiting {
            self.waiting.remove(&(flow, tunnel));
        }
        for id in peer.sessions.into_values() {
            self.with(id, now, |s, cx| s.leave(cx, tunnel));
        }
    }

    fn hang_up(&mut self, tunnel: Tunnel, now: Time) {
        self.out.push_back(Output::Hangup(tunnel));
        self.on_tunnel_down(tunnel, now);
    }

    /// A router says that a packet was too long. It goes on to the sender as any other message
    /// does; bytes that were acknowledged already only this gateway can cut anew.
    fn on_trouble(&mut self, trouble: &Trouble, now: Time) {
        let Some(mtu) = trouble.mtu else { return };
        let ends = (trouble.protocol, trouble.source, trouble.destination);
        if let Some(id) = self.by_ends.get(&ends).copied() {
            self.with(id, now, |s, cx| s.on_too_long(cx, mtu, trouble.seq));
        }
    }

    fn on_bytes(&mut self, tunnel: Tunnel, bytes: &[u8], now: Time) {
        let Some(peer) = self.peers.get_mut(&tunnel) else {
            return;
        };
        peer.heard_at = now;
        peer.splitter.push(bytes);
        // It may end on the way.
        while let Some(peer) = self.peers.get_mut(&tunnel) {
            let before = peer.splitter.counts();
            // Beyond the bound of accounts one allowance is for all.
            let known = Some(peer.who).filter(|who| self.allowances.contains_key(who));
            let allowance = self.allowances.entry(known.unwrap_or_default()).or_default();
            let may = |names: Names| allowance.take(names.numbers + MARK * names.marks, now);
            let message = peer.splitter.next_message_if(may);
            let (data, other) = peer.splitter.counts();
            if let Some(account) = self.accounts.get_mut(&peer.who) {
                account.data_bytes += data - before.0;
                account.report_bytes += other - before.1;
            }
            match message {
                Ok(Some(message)) => self.on_message(tunnel, message, now),
                Ok(None) => return,
                Err(_) => self.hang_up(tunnel, now),
            }
        }
    }

    fn on_message(&mut self, tunnel: Tunnel, message: Message, now: Time) {
        let session = |me: &Gateway, n: u8| me.peers.get(&tunnel).and_then(|p| p.sessions.get(&n)).copied();
        match message {
            Message::Register(m) => self.on_register(tunnel, m, now),
            Message::List(m) => {
                if let Some(id) = session(self, m.session) {
                    self.with(id, now, |s, cx| s.on_list(cx, tunnel, &m));
                }
            }
            Message::Heard(m) => {
                if let Some(id) = session(self, m.session) {
                    self.with(id, now, |s, cx| s.on_heard(cx, tunnel, &m));
                }
            }
            Message::Data(m) => {
                let peer = self.peers.get(&tunnel).filter(|p| !p.own.contains(&m.session));
                let who = peer.map(|p| p.who);
                if let Some(account) = who.and_then(|who| self.accounts.get_mut(&who)) {
                    account.carried_packets += 1;
                    account.carried_bytes += m.elided.len() as u64;
                }
                if let Some(id) = session(self, m.session) {
                    self.with(id, now, |s, cx| s.on_data(cx, tunnel, &m));
                }
            }
            // What only a gateway says, and signs of life, of which the time was noted.
            _ => {}
        }
    }

    /// The session of a packet of a sender; a new one if it is for a receiver that is helped.
    fn session_of(&mut self, packet: &[u8], now: Time) -> Option<u32> {
        let inner = inner::parse(packet)?;
        if is_served(&self.config.serve, inner.destination) { self.session_with(&inner, now) } else { None }
    }

    fn session_with(&mut self, inner: &Inner, now: Time) -> Option<u32> {
        let ends = (inner.protocol, inner.source, inner.destination);
        if let Some(id) = self.by_ends.get(&ends) {
            return Some(*id);
        }
        if !self.make_room(*inner.source.ip()) {
            self.counts.unhelped_packets += 1;
            return None;
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        let keys = (self.key(id, 0), self.key(id, 1));
        self.sessions.insert(id, Session::new(inner, keys, &self.config, now));
        self.by_ends.insert(ends, id);
        Some(id)
    }

    /// Whether there is room for a session of senders with this address: one that is over makes it.
    fn make_room(&mut self, of: Ipv4Addr) -> bool {
        let same = |s: &&Session| *s.outer.ip() == of;
        let has_many = self.sessions.values().filter(same).count() >= MAX_OF_ONE;
        if !has_many && self.sessions.len() < MAX_SESSIONS {
            return true;
        }
        let dead = self.sessions.iter().filter(|(_, s)| !has_many || same(s));
        let oldest = dead.filter_map(|(id, s)| Some((s.dead_since()?, *id))).min();
        oldest.into_iter().for_each(|(_, id)| self.forget(id));
        oldest.is_some()
    }

    fn key(&self, id: u32, which: u8) -> Key {
        let half = |part: u8| {
            let [a, b, c, d] = id.to_be_bytes();
            SipHasher24::new_with_key(&self.config.secret).hash(&[a, b, c, d, which, part]).to_be_bytes()
        };
        let mut key = [0; 16];
        key[..8].copy_from_slice(&half(0));
        key[8..].copy_from_slice(&half(1));
        key
    }

    fn on_timer(&mut self, now: Time) {
        let ids: Vec<u32> = self.sessions.keys().copied().collect();
        for id in &ids {
            self.with(*id, now, |s, cx| s.on_timer(cx));
        }
        if self.tick.is_none_or(|at| now < at) {
            return;
        }
        self.tick = None;
        let silent = self.peers.iter().filter(|(_, p)| now >= p.heard_at + SILENCE).map(|(t, _)| *t);
        for tunnel in silent.collect::<Vec<_>>() {
            self.hang_up(tunnel, now);
        }
        for id in ids {
            self.with(id, now, |s, cx| s.on_tick(cx));
            if self.sessions.get(&id).is_some_and(|s| s.is_over(now)) {
                self.forget(id);
            }
        }
    }

    fn forget(&mut self, id: u32) {
        let Some(session) = self.sessions.remove(&id) else {
            return;
        };
        self.memory = self.memory.saturating_sub(session.memory());
        self.listed = self.listed.saturating_sub(session.listed());
        for m in &session.members {
            let mut bytes = Vec::new();
            Message::Close { session: m.wire }.write(&mut bytes);
            self.out.push_back(Output::ToTunnel(m.tunnel, bytes));
        }
        self.by_ends.retain(|_, i| *i != id);
        self.by_flow.retain(|_, i| *i != id);
        self.flow_changes += 1;
        self.peers.values_mut().for_each(|p| p.sessions.retain(|_, i| *i != id));
    }
}
