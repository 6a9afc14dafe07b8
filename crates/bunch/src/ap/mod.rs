//! An access point: what it captures, holds, reports and forwards.
//!
//! ```text
//!  captured ─▶ repetition? ─▶ held ─▶ report ─▶ tunnel
//!                              │ ▲
//!              schedule ─▶ forwarded    release ─▶ forgotten
//! ```
//!
//! A copy is forgotten when the gateway says that the receiver has acknowledged it, and for no other
//! reason. What there is no memory for is not reported, so nobody counts on it.

mod allowance;
mod bounds;
mod session;

use crate::inner::{self, TCP};
use crate::wire::{Data, Message, Share, Splitter};
use crate::{Flow, Mac, Served, Time, is_served};
use allowance::Allowance;
use core::time::Duration;
use session::{Held, Session};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::sync::Arc;

/// A whole IPv4 packet. Access points that overhear the same one may share it.
pub type Packet = Arc<[u8]>;

/// Sessions at once: one a flow, and a home uploads few.
pub const MAX_SESSIONS: usize = 64;
/// Of these, sessions of neighbours: they leave room for the own home's.
const MAX_OF_OTHERS: usize = MAX_SESSIONS / 2;
/// One neighbour may have so many times what is left for all of them, of sessions and of memory: it
/// never has all, and where nobody else is it has most.
const SHARE: usize = 2;
/// So many bytes of memory for each packet at least: one takes some 150 besides its own.
const PACKET: usize = 256;
/// And so many packets at least.
const FEW: usize = 16;
/// The own home's packets go before the neighbours', but for one of so many: a floor.
const OWN_IN_A_ROW: u8 = 7;
/// A sign of life after so long without another message.
const ALIVE: Duration = Duration::from_millis(250);
/// A session of which so long nothing was heard is forgotten, unless it holds something.
const IDLE: Duration = Duration::from_secs(300);

/// When a copy is forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Custody {
    /// When the receiver has acknowledged it.
    #[default]
    UntilAcknowledged,
    /// When somebody is told to forward it: as paper 002 §3.1 allows. It loses data; here to show
    /// that.
    UntilScheduled,
}

/// How an access point is set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Drawn anew at each start.
    pub boot: u64,
    /// Destinations that are helped.
    pub serve: Served,
    /// Most bytes of captured packets; 32 MB was all that the paper's routers had.
    pub memory_bytes: usize,
    /// Time between reports. 20 ms: a report is then 1 % of a 2 Mb/s uplink, and a tenth of a long round trip.
    pub report_every: Duration,
    /// When a copy is forgotten.
    pub custody: Custody,
    /// Neighbours cannot overhear: hand them what was captured.
    pub share: bool,
}

impl Config {
    /// An access point that helps uploads to `serve`.
    pub fn new(boot: u64, serve: Served) -> Config {
        Config {
            boot,
            serve,
            memory_bytes: 32_000_000,
            report_every: Duration::from_millis(20),
            custody: Custody::UntilAcknowledged,
            share: false,
        }
    }
}

/// The 802.11 header of a captured frame, as far as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its cell.
    pub bssid: Mac,
    /// Its transmitter.
    pub station: Mac,
    /// Traffic identifier.
    pub tid: u8,
    /// Sequence number, 12 bits.
    pub sequence: u16,
    /// It was sent to this access point; else it was overheard.
    pub home: bool,
}

/// What a driver tells.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// The tunnel is there, and takes so many bytes at once.
    TunnelUp {
        /// Bytes.
        room: u64,
    },
    /// The tunnel is gone.
    TunnelDown,
    /// Bytes of the tunnel's stream.
    FromTunnel(&'a [u8]),
    /// The tunnel's send buffer has room for so many bytes.
    Room(u64),
    /// A packet of a station.
    Captured(Frame, Packet),
    /// A message of a neighbour, with its length, over a network that keeps it whole. The
    /// neighbour's cell, if that is known: it hands on packets of no other.
    FromNeighbour(Option<Mac>, &'a [u8]),
    /// The home's address translation sends packets of this flow as from here. Before the flow's
    /// first packet was captured, it makes the session.
    Outer(Flow, SocketAddrV4),
    /// The time of [`Output::Timeout`] has come.
    Timer,
}

/// What a driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Write all of this into the tunnel.
    ToTunnel(Vec<u8>),
    /// Send this packet as a router would.
    Forward(Packet),
    /// Send this packet to the sender, in the home.
    ToSender(Vec<u8>),
    /// Give this message to each neighbour.
    ToNeighbours(Vec<u8>),
    /// End the tunnel: the other end speaks something else.
    Hangup,
    /// Nothing more now: call with [`Input::Timer`] at this time, if there is one.
    Timeout(Option<Time>, &'static str),
}

/// What an access point did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets captured and held.
    pub captured: u64,
    /// Repetitions on the air.
    pub repeated: u64,
    /// Packets for which there was no memory.
    pub refused: u64,
    /// Packets of neighbours for which the allowance had no bytes.
    pub beyond_allowance: u64,
    /// Bytes of reports.
    pub report_bytes: u64,
    /// Packets forwarded.
    pub forwarded: u64,
    /// Bytes of messages with packets.
    pub data_bytes: u64,
    /// Packets forwarded for others' senders.
    pub carried_packets: u64,
    /// Their bytes, without headers that were left out.
    pub carried_bytes: u64,
    /// Of the messages with packets, bytes of the own home's.
    pub own_bytes: u64,
    /// Payload in them, bytes.
    pub payload_bytes: u64,
}

/// An access point.
#[derive(Debug)]
pub struct Ap {
    config: Config,
    /// The tunnel's room, while there is one.
    room: Option<u64>,
    splitter: Splitter,
    sessions: Vec<Session>,
    next_id: u8,
    /// It has had senders of its own.
    has_home: bool,
    held_bytes: usize,
    /// Packets forwarded in a row that were the own home's while neighbours' waited.
    own_in_a_row: u8,
    report_at: Option<Time>,
    said_at: Time,
    allowance: Allowance,
    counts: Counts,
    out: VecDeque<Output>,
}

impl Ap {
    /// An access point without a tunnel yet.
    pub fn new(config: Config) -> Ap {
        Ap {
            config,
            room: None,
            splitter: Splitter::default(),
            sessions: Vec::new(),
            next_id: 0,
            has_home: false,
            held_bytes: 0,
            own_in_a_row: 0,
            report_at: None,
            said_at: Time::ZERO,
            allowance: Allowance::default(),
            counts: Counts::default(),
            out: VecDeque::new(),
        }
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether there are neighbours to hand packets to, from now on.
    pub fn set_share(&mut self, share: bool) {
        self.config.share = share;
    }

    /// Bytes that may be carried for neighbours from now on; none: as many as there are. What is
    /// held for them stays, and is brought.
    pub fn set_allowance(&mut self, bytes: Option<u64>) {
        self.allowance.set(bytes);
    }

    /// Bytes that were carried for neighbours since this was asked last, with what is around them.
    pub fn take_spent(&mut self) -> u64 {
        self.allowance.take_spent()
    }

    /// The allowance has no bytes for a full packet of a neighbour any more.
    pub fn is_used_up(&self) -> bool {
        self.allowance.is_used_up()
    }

    /// Sessions at present.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Bytes of packets that it holds.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Takes in. Time never goes back.
    pub fn handle(&mut self, input: Input<'_>, now: Time) {
        match input {
            Input::TunnelUp { room } => self.on_tunnel_up(room, now),
            Input::TunnelDown => {
                self.room = None;
                self.sessions.iter_mut().for_each(Session::unregister);
            }
            Input::FromTunnel(bytes) => self.on_bytes(bytes, now),
            Input::Room(room) => self.room = self.room.map(|_| room),
            Input::Captured(frame, packet) => self.on_captured(frame, packet, now),
            Input::FromNeighbour(cell, bytes) => {
                let mut splitter = Splitter::default();
                splitter.push(bytes);
                // One datagram is one message.
                if let Ok(Some(Message::Share(share))) = splitter.next_message()
                    && cell.is_none_or(|cell| cell == share.flow.bssid)
                {
                    self.on_shared(*share, now);
                }
            }
            Input::Outer(flow, outer) => self.on_outer(flow, outer, now),
            Input::Timer => self.on_timer(now),
        }
        self.forward(now);
    }

    /// Gives out.
    pub fn poll_output(&mut self) -> Output {
        if let Some(next) = self.out.pop_front() {
            return next;
        }
        let alive = self.room.map(|_| self.said_at + ALIVE);
        match (self.report_at.filter(|_| self.room.is_some()), alive) {
            (Some(at), Some(alive)) if at <= alive => Output::Timeout(Some(at), "a report"),
            (_, Some(at)) => Output::Timeout(Some(at), "a sign of life"),
            _ => Output::Timeout(None, "no tunnel"),
        }
    }

    fn say(&mut self, message: &Message, now: Time) -> u64 {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        let len = bytes.len() as u64;
        self.room = self.room.map(|room| room.saturating_sub(len));
        self.said_at = now;
        self.out.push_back(Output::ToTunnel(bytes));
        len
    }

    /// Says something about a session: for a neighbour's it costs of the allowance.
    fn say_for(&mut self, i: usize, message: &Message, now: Time) -> u64 {
        let len = self.say(message, now);
        if !self.sessions[i].home {
            self.allowance.spend(len);
        }
        len
    }

    fn on_bytes(&mut self, bytes: &[u8], now: Time) {
        self.splitter.push(bytes);
        loop {
            match self.splitter.next_message() {
                Ok(Some(message)) => self.on_message(message, now),
                Ok(None) => return,
                Err(_) => return self.out.push_back(Output::Hangup),
            }
        }
    }

    fn on_tunnel_up(&mut self, room: u64, now: Time) {
        (self.room, self.splitter) = (Some(room), Splitter::default());
        for i in 0..self.sessions.len() {
            self.sessions[i].unregister();
            self.register(i, now);
        }
        self.say(&Message::Alive { room }, now);
    }

    fn register(&mut self, i: usize, now: Time) {
        if self.room.is_some() {
            let message = Message::Register(self.sessions[i].register(self.config.boot));
            self.say_for(i, &message, now);
        }
    }

    fn serves(&self, to: SocketAddrV4) -> bool {
        is_served(&self.config.serve, to)
    }

    /// The session of a flow; a new one if there is room.
    fn session(&mut self, flow: Flow, home: bool, now: Time) -> Option<usize> {
        self.session_behind(flow, home, None, now)
    }

    fn session_behind(
        &mut self,
        flow: Flow,
        home: bool,
        outer: Option<SocketAddrV4>,
        now: Time,
    ) -> Option<usize> {
        if let Some(i) = self.sessions.iter().position(|s| s.flow == flow) {
            return Some(i);
        }
        self.forget_idle(now);
        let others = self.of_others(None).count();
        let own = self.of_others(Some(flow.bssid)).count();
        let has_share = own < SHARE * MAX_OF_OTHERS.saturating_sub(others);
        if self.sessions.len() >= MAX_SESSIONS || !home && (!has_share || self.allowance.is_used_up()) {
            return None;
        }
        while self.sessions.iter().any(|s| s.id == self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let mut session = Session::new(self.next_id, flow, home, now);
        session.outer = outer;
        self.has_home |= home;
        self.sessions.push(session);
        self.next_id = self.next_id.wrapping_add(1);
        let i = self.sessions.len() - 1;
        self.register(i, now);
        Some(i)
    }

    /// What nobody has sent for long, and the gateway does not know: whoever would release it is
    /// gone.
    fn forget_idle(&mut self, now: Time) {
        let held_bytes = &mut self.held_bytes;
        self.sessions.retain(|s| {
            let stays = now < s.heard_at + IDLE || s.is_registered() && !s.held.is_empty();
            if !stays {
                *held_bytes -= s.held_bytes();
            }
            stays
        });
    }

    fn on_captured(&mut self, frame: Frame, packet: Packet, now: Time) {
        let inner = inner::parse(&packet).filter(|i| self.serves(i.destination));
        let flow = inner.as_ref().map(|i| Flow {
            bssid: frame.bssid,
            station: frame.station,
            tid: frame.tid & 7,
            protocol: i.protocol,
            source: i.source,
            destination: i.destination,
        });
        let session = flow.and_then(|f| self.session(f, frame.home, now));
        let (Some(inner), Some(i)) = (inner, session) else {
            return self.natively(frame.home, packet);
        };
        let session = &mut self.sessions[i];
        let fresh = core::mem::replace(&mut session.heard_at, now) == now && session.is_new();
        let Some(number) = session.numbers.take(frame.sequence, now) else {
            self.counts.repeated += 1;
            return;
        };
        // SYN, FIN, RST and URG, what has no payload, and a flow's first datagram open and close
        // mappings on their ordinary way (paper 002 §3.1, steps 1 and 3).
        let ordinary = match inner.protocol {
            TCP => inner.flags & 0x27 != 0 || inner.payload.is_empty(),
            _ => fresh,
        };
        // Neighbours that cannot hear the sender show up only when they are handed something.
        let natively = session.goes_natively() && !(self.config.share && session.is_registered());
        if ordinary || (frame.home && natively) {
            return self.natively(frame.home, packet);
        }
        self.hold(i, number, &inner, packet, now);
    }

    fn natively(&mut self, home: bool, packet: Packet) {
        if home {
            self.out.push_back(Output::Forward(packet));
        }
    }

    fn hold(&mut self, i: usize, number: u64, inner: &inner::Inner, packet: Packet, now: Time) {
        if !self.may_be_brought(i, packet.len()) {
            self.counts.beyond_allowance += 1;
            return;
        }
        if self.is_full_for(i, packet.len()) {
            self.counts.refused += 1;
            return self.natively(self.sessions[i].home, packet);
        }
        let session = &mut self.sessions[i];
        if session.home && self.config.share {
            let share = Share { flow: session.flow, number, packet: packet.to_vec() };
            let mut bytes = Vec::new();
            Message::Share(Box::new(share)).write(&mut bytes);
            self.out.push_back(Output::ToNeighbours(bytes));
        }
        self.held_bytes += packet.len();
        self.counts.captured += 1;
        let len = inner.payload.len() as u32;
        let held = Held { packet, seq: inner.seq, len, stamp: inner.stamp, at: now };
        self.held_bytes -= session.hold(number, held);
        self.report_at.get_or_insert(now + self.config.report_every);
    }

    /// A neighbour that hears the sender hands a packet on, with its number.
    fn on_shared(&mut self, share: Share, now: Time) {
        let Some(inner) = inner::parse(&share.packet).filter(|i| self.serves(i.destination)) else {
            return;
        };
        let Some(i) = self.session(share.flow, false, now) else {
            return;
        };
        let session = &mut self.sessions[i];
        session.heard_at = now;
        if !session.home && !session.held.contains_key(&share.number) {
            self.hold(i, share.number, &inner, share.packet.into(), now);
        }
    }

    fn on_outer(&mut self, flow: Flow, outer: SocketAddrV4, now: Time) {
        let same = |s: &Session| s.home && s.flow == flow && s.outer != Some(outer);
        if let Some(i) = self.sessions.iter().position(same) {
            self.sessions[i].outer = Some(outer);
            self.register(i, now);
        } else if self.serves(flow.destination) {
            self.session_behind(flow, true, Some(outer), now);
        }
    }

    fn on_message(&mut self, message: Message, now: Time) {
        let (id, found) = match &message {
            Message::Registered { session, .. }
            | Message::Schedule { session, .. }
            | Message::Release { session, .. }
            | Message::Native { session, .. }
            | Message::Close { session } => (*session, true),
            _ => (0, false),
        };
        if let Message::Down { packet } = message {
            return self.out.push_back(Output::ToSender(packet));
        }
        let Some(i) = self.sessions.iter().position(|s| found && s.id == id) else {
            return;
        };
        let session = &mut self.sessions[i];
        let freed = match message {
            Message::Registered { apid, key, audit, .. } => {
                session.registered(apid, key, audit);
                self.report_at.get_or_insert(now);
                0
            }
            Message::Schedule { apid, ranges, .. } => session.schedule(apid, &ranges, self.config.custody),
            Message::Release { below, .. } => session.release(below),
            Message::Native { on, .. } => {
                session.native = on;
                0
            }
            _ => self.sessions.remove(i).held_bytes(),
        };
        self.held_bytes -= freed;
    }

    /// Writes what is scheduled while there is room.
    fn forward(&mut self, now: Time) {
        while self.room.is_some_and(|room| room > 0) {
            let Some((i, number, held)) = self.next_scheduled() else { return };
            let session = &mut self.sessions[i];
            let mut elided = Vec::with_capacity(held.packet.len());
            session.elision.encode(&session.flow, number, &held.packet, &mut elided);
            let (id, home) = (session.id, session.home);
            if self.config.custody == Custody::UntilScheduled {
                self.held_bytes -= session.forget(number);
            }
            if !home {
                self.counts.carried_packets += 1;
                self.counts.carried_bytes += elided.len() as u64;
            }
            let data = Message::Data(Data { session: id, number, elided });
            let said = self.say_for(i, &data, now);
            self.counts.data_bytes += said;
            self.counts.own_bytes += if home { said } else { 0 };
            self.counts.forwarded += 1;
            self.counts.payload_bytes += u64::from(held.len);
        }
    }

    /// The next packet to write, with its session and number.
    fn next_scheduled(&mut self) -> Option<(usize, u64, Held)> {
        let own_first = self.own_in_a_row < OWN_IN_A_ROW;
        for home in [own_first, !own_first] {
            for (i, session) in self.sessions.iter_mut().enumerate().filter(|(_, s)| s.home == home) {
                if let Some((number, held)) = session.next_scheduled() {
                    self.own_in_a_row = if home { (self.own_in_a_row + 1).min(OWN_IN_A_ROW) } else { 0 };
                    return Some((i, number, held));
                }
            }
        }
        None
    }

    fn on_timer(&mut self, now: Time) {
        self.forget_idle(now);
        let Some(room) = self.room else {
            return;
        };
        // Also where no more are captured: no report is due then.
        self.held_bytes -= self.sessions.iter_mut().map(|s| s.expire(now)).sum::<usize>();
        if self.report_at.is_some_and(|at| at <= now) {
            self.report_at = None;
            for i in 0..self.sessions.len() {
                while let Some(report) = self.sessions[i].report(room) {
                    self.counts.report_bytes += self.say_for(i, &report, now);
                }
            }
        }
        if now >= self.said_at + ALIVE {
            self.counts.report_bytes += self.say(&Message::Alive { room }, now);
        }
    }
}

#[cfg(test)]
mod tests;
