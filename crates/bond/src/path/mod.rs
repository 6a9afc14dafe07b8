//! One path: a pair of addresses and everything known about the way between them.
//!
//! ```text
//!              response to our challenge            silence > probe timeout
//! Validating ───────────────────────────▶ Active ───────────────────────────▶ Suspect
//!      ▲                                   ▲   ▲          any acknowledgement    │
//!      │ new address                       │   └────────────────────────────────┤
//!      │               any acknowledgement │                                     │ silence > max(3 RTT, 50 ms)
//!      └──────────────────────────────── Down ◀──────────────────────────────────┘
//! ```

mod id;
pub(crate) mod pacer;
pub(crate) mod pmtu;
pub(crate) mod recv;
pub(crate) mod rtt;
pub(crate) mod sent;
mod state;

pub use id::PathId;
#[cfg(test)]
pub(crate) use id::path_id;
pub use state::{Class, Liveness, State};

use crate::peer::address::Candidate;
use crate::schedule::PathInfo;
use crate::wire::{self, AckFrame, Timestamp};
use core::net::{IpAddr, SocketAddr};
use pacer::Pacer;
use pmtu::{BASE, Mtu};
use recv::RecvLog;
use ropewalk_cc::rate::RateSampler;
use ropewalk_cc::{Ack, Controller, Loss, Sibling};
use ropewalk_session::ReplayWindow;
use ropewalk_time::{Duration, Time};
use rtt::Rtt;
use sent::{AckCheck, Largest, Outcome, Resolved, SentLog};

/// Datagrams over which the loss of a path is averaged: half a per cent shows as two or three.
const LOSS_MEMORY: f64 = 500.0;

/// Bytes received from an unproven address let so many times as many go there (RFC 9000 §8.1).
pub(crate) const AMPLIFICATION: u64 = 3;
/// Header, timestamp, tag, and the short frames: challenge, response, ping, status and close.
const LEAST_DATAGRAM: u64 = 56;

/// Where a path's datagrams go: what the driver needs to send them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The driver's handle of the socket; that of a stream is [`STREAMS`] or more.
    pub link: u32,
    /// The peer's address.
    pub remote: SocketAddr,
    /// This end's address, where the driver must choose one (a gateway reached on one of several).
    pub local: Option<IpAddr>,
}

/// Handles of sockets from this one on are of streams: what goes in comes out in order, or the
/// stream breaks and the driver says so ([`crate::engine::Engine::fail_path`]).
pub const STREAMS: u32 = 1 << 31;

impl Route {
    /// The path goes by a stream (TLS over TCP), which repairs its own losses.
    pub fn is_stream(&self) -> bool {
        self.link >= STREAMS
    }
}

/// Traffic of a path since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent, IP and UDP headers included.
    pub sent_bytes: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Bytes received, IP and UDP headers included.
    pub received_bytes: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams that were held lost.
    pub lost: u64,
    /// Of those, found to have arrived.
    pub spurious: u64,
    /// Datagrams acknowledged.
    pub acked: u64,
}

/// What is proven of a path's address (`peer/address.rs`).
#[derive(Debug, Default)]
pub(crate) struct Validation {
    /// Where the peer may have moved to (NAT rebinding); no data goes there before that is proven.
    pub candidate: Option<Candidate>,
    /// No other address is asked until then.
    pub stays_until: Time,
    /// Bytes that may go to an address that is not proven to be the peer's (RFC 9000 §8.1); `None` where it is, or where this end chose it.
    pub unproven: Option<u64>,
    /// Challenge to send or sent: token and when it was last sent.
    pub challenge: Option<(u64, Time)>,
    /// Token of the peer's challenge, to be answered on this path.
    pub respond: Option<u64>,
}

/// What a path is to tell the peer with its next datagram.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Something that asks for an answer is to be sent now.
    pub ping_due: bool,
    /// The peer is to be told of this path's class.
    pub status_due: bool,
    /// When that was last said; it is said again if the datagram is lost.
    pub status_at: Option<Time>,
    /// The peer is to be told that the session ends.
    pub close_due: bool,
    /// The driver was told that the path does not pass the least size.
    pub too_narrow_told: bool,
    /// The driver was told that the allowance is used up.
    pub exhausted_told: bool,
}

/// One path of a session.
#[derive(Debug)]
pub(crate) struct Path {
    /// Which one it is.
    pub id: PathId,
    /// Where its datagrams go.
    pub route: Route,
    /// What is proven of its address.
    pub address: Validation,
    /// What it may be used for.
    pub class: Class,
    /// Whether it works.
    pub live: Liveness,
    /// Datagrams on their way.
    pub sent: SentLog,
    /// What arrived.
    pub recv: RecvLog,
    /// Which numbers were seen.
    pub replay: ReplayWindow,
    /// Delays.
    pub rtt: Rtt,
    /// Largest datagram.
    pub mtu: Mtu,
    /// Congestion controller.
    pub cc: Box<dyn Controller>,
    /// Spreads datagrams over time.
    pub pacer: Pacer,
    /// Delivery rate.
    pub sampler: RateSampler,
    /// What it owes the peer.
    pub control: Control,
    /// Number of the peer's last word on this path's class.
    pub status_seen: Option<u16>,
    /// Newest timestamp of the peer that arrived here.
    pub newest_timestamp: Option<Timestamp>,
    /// No path in use has a clearly shorter delay.
    pub is_fastest: bool,
    /// Counts.
    pub traffic: Traffic,
    /// Share of datagrams lost lately.
    pub loss: f64,
    ce_seen: u16,
    /// When something that asks for an answer last left.
    pub last_eliciting: Time,
    /// When something of the peer last arrived.
    pub heard_at: Time,
}

impl Path {
    /// A path whose address is not validated yet. `in_flight_limit`: datagrams.
    pub(crate) fn new(
        id: PathId,
        route: Route,
        interface_mtu: u16,
        cc: Box<dyn Controller>,
        in_flight_limit: usize,
    ) -> Self {
        Path {
            id,
            route,
            address: Validation::default(),
            class: Class::Active,
            live: Liveness::default(),
            sent: SentLog::new(in_flight_limit),
            recv: RecvLog::default(),
            replay: ReplayWindow::default(),
            rtt: Rtt::default(),
            mtu: Mtu::new(interface_mtu),
            cc,
            pacer: Pacer::default(),
            sampler: RateSampler::new(),
            control: Control::default(),
            status_seen: None,
            newest_timestamp: None,
            is_fastest: false,
            traffic: Traffic::default(),
            loss: 0.0,
            ce_seen: 0,
            last_eliciting: Time::ZERO,
            heard_at: Time::ZERO,
        }
    }

    /// Bytes of IP and UDP header on this path.
    pub(crate) fn overhead(&self) -> usize {
        if self.route.remote.is_ipv6() { wire::IPV6_UDP } else { wire::IPV4_UDP }
    }

    /// Largest datagram, UDP payload bytes.
    pub(crate) fn datagram(&self) -> usize {
        let most = self.mtu.current() as usize - self.overhead();
        self.address.unproven.map_or(most, |u| most.min(u as usize))
    }

    /// A datagram with what a path must say may leave.
    pub(crate) fn may_speak(&self) -> bool {
        self.address.unproven.is_none_or(|u| u >= LEAST_DATAGRAM)
    }

    /// How long a challenge waits for its answer before it is repeated (RFC 9000, section 8.2.1).
    pub(crate) fn challenge_interval(&self) -> Duration {
        (self.rtt.smoothed() * 2).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// May carry data.
    pub(crate) fn is_usable(&self) -> bool {
        self.state() == State::Active && self.class.has_allowance()
    }

    /// What it is to whoever asks.
    pub(crate) fn state(&self) -> State {
        match self.live.state {
            State::Active if self.mtu.is_too_narrow() => State::TooNarrow,
            other => other,
        }
    }

    /// Its last packets met no queue worth the name: there is room that nobody misses.
    pub(crate) fn is_unqueued(&self) -> bool {
        let queue = self.rtt.latest().saturating_sub(self.rtt.min());
        queue < Duration::from_millis(2).max(self.rtt.min() / 16) + self.rtt.deviation()
    }

    /// Rate at which it is paced, bits per second. Of the fastest path nothing is known at first,
    /// and the first window leaves at once; a slower one, which takes what that has no room for, is
    /// paced even then.
    pub(crate) fn pacing_bps(&self) -> Option<u64> {
        self.cc.pacing_rate_bps().filter(|_| !self.is_fastest || self.cc.has_rate())
    }

    /// Bytes on the wire that may leave now, by window and pacing; under one datagram counts as none.
    pub(crate) fn room(&mut self, now: Time) -> u64 {
        let mtu = u64::from(self.mtu.current());
        let window = self.cc.window().saturating_sub(self.sent.inflight());
        let paced = match self.pacing_bps() {
            Some(rate) => self.pacer.budget(now, rate, mtu),
            None => u64::MAX,
        };
        let room = window.min(paced);
        if room < mtu || self.sent.is_full() { 0 } else { room }
    }

    /// Bytes of room from which on a batch is begun. A quarter of the window is always enough, so that nothing waits for room that cannot come.
    fn quantum(&self) -> u64 {
        let mtu = u64::from(self.mtu.current());
        let rate = self.pacing_bps().unwrap_or_else(|| self.cc.bandwidth_bps());
        Pacer::quantum(rate, mtu).min(self.cc.window() / 4).max(mtu)
    }

    /// There is room for a batch that is worth its system call.
    pub(crate) fn is_ready(&mut self, now: Time) -> bool {
        self.room(now) >= self.quantum()
    }

    /// When pacing will let the next batch go, if only pacing holds it.
    pub(crate) fn paced_until(&self) -> Option<Time> {
        let quantum = self.quantum();
        if self.cc.window() < self.sent.inflight() + quantum || self.sent.is_full() {
            return None;
        }
        self.pacing_bps().map(|rate| self.pacer.ready_at(rate, quantum))
    }

    /// Accounts a datagram of `datagram` UDP payload bytes that is about to leave. Returns its bytes on the wire.
    pub(crate) fn on_sent(
        &mut self,
        now: Time,
        datagram: usize,
        eliciting: bool,
        fragments: &[sent::FragmentRef],
        probe: Option<u16>,
    ) -> u32 {
        let bytes = (datagram + self.overhead()) as u32;
        if eliciting && self.sent.inflight() == 0 {
            self.rtt.on_sent_alone(now);
        }
        let timestamp = self.sampler.on_send(now, self.sent.inflight());
        self.sent.on_sent(now, bytes, eliciting, fragments, probe, timestamp);
        if let Some(u) = &mut self.address.unproven {
            *u = u.saturating_sub(datagram as u64);
        }
        if eliciting {
            self.pacer.on_sent(u64::from(bytes));
            self.cc.on_sent(now, u64::from(bytes), self.sent.inflight());
            self.last_eliciting = now;
        }
        self.traffic.sent += 1;
        self.traffic.sent_bytes += u64::from(bytes);
        self.class.spend(u64::from(bytes));
        bytes
    }

    /// Everything on its way counts as lost.
    pub(crate) fn lose_all(&mut self, out: &mut Outcome) {
        self.sent.lose_all(out);
    }

    /// CE marks in total: of what came, and of what left as far as the peer has told.
    pub(crate) fn marks(&self) -> [u16; 2] {
        [self.recv.marks(), self.ce_seen]
    }

    /// It goes on from a path that had its identifier: with this number, and these totals of marks.
    pub(crate) fn begin_at(&mut self, number: u64, [came, left]: [u16; 2]) {
        self.sent.begin_at(number);
        self.recv.begin_at(came);
        self.ce_seen = left;
    }

    /// Accounts an authentic datagram of the peer. `newest`: its timestamp, if none with a higher
    /// number came before.
    pub(crate) fn on_received(&mut self, now: Time, datagram: usize, newest: Option<Timestamp>, from: Route) {
        self.heard_at = now;
        let bytes = (datagram + self.overhead()) as u64;
        self.mtu.on_received(now, u16::try_from(bytes).unwrap_or(u16::MAX));
        self.traffic.received += 1;
        self.traffic.received_bytes += bytes;
        self.class.spend(bytes);
        if let Some(u) = self.address.unproven.as_mut().filter(|_| from == self.route) {
            *u += AMPLIFICATION * datagram as u64;
        }
        self.newest_timestamp = newest.or(self.newest_timestamp);
    }

    /// Handles an acknowledgement of this path's datagrams; what became of them is in `out`.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: &AckFrame,
        clock: &mut ClockOffset,
        siblings: &[Sibling],
        out: &mut Outcome,
    ) -> AckCheck {
        out.clear();
        let check = self.sent.on_ack(now, ack, self.loss_delay(), out);
        if check != AckCheck::Taken {
            return check;
        }
        let mut queue_delay = None;
        if let Some(Largest { at, is_alone, .. }) = out.largest {
            let delay = Duration::from_micros(u64::from(ack.delay_us));
            let sample = now.since(at).saturating_sub(delay).max(Duration::from_micros(1));
            self.rtt.on_sample(now, sample);
            let one_way = clock.relative_us(ack.received_us, at);
            queue_delay = Some(self.rtt.on_one_way(now, is_alone, one_way));
        }
        // The controller hears of marks with news; those that come without wait for some.
        let ce = if out.acked.is_empty() { 0 } else { ack.ce_total.wrapping_sub(self.ce_seen) };
        let ce = if ce < 1 << 15 { ce } else { 0 };
        self.ce_seen = self.ce_seen.wrapping_add(ce);
        self.traffic.spurious += u64::from(out.spurious);
        self.note_loss(out);
        self.on_losses(now, siblings, out);
        self.on_arrivals(now, queue_delay, u64::from(ce), siblings, out);
        check
    }

    /// Moving average over about [`LOSS_MEMORY`] datagrams.
    fn note_loss(&mut self, out: &Outcome) {
        let lost = out.lost.iter().filter(|s| s.probe.is_none()).count() as f64 - f64::from(out.spurious);
        let all = out.acked.len() as f64 + lost.max(0.0);
        if all > 0.0 {
            let weight = (all / LOSS_MEMORY).min(1.0);
            self.loss += (lost.max(0.0) / all - self.loss) * weight;
        }
    }

    fn on_arrivals(
        &mut self,
        now: Time,
        queue_delay: Option<Duration>,
        ce_packets: u64,
        siblings: &[Sibling],
        out: &Outcome,
    ) {
        if out.acked.is_empty() {
            return;
        }
        let newest_sent = out.acked.iter().map(|s| s.at).max().unwrap_or(now);
        let mut ack = Ack {
            now,
            bytes: out.acked.iter().map(|s| u64::from(s.bytes)).sum(),
            lost_bytes: out.lost.iter().map(|s| u64::from(s.bytes)).sum(),
            newest_sent,
            rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            queue_delay,
            delivery_rate_bps: 0,
            app_limited: false,
            round_start: false,
            ce_packets,
            inflight: self.sent.inflight(),
        };
        for s in &out.acked {
            self.sampler.on_acked(now, ack.arrived(), u64::from(s.bytes), s.at, &s.snapshot);
            if let Some(size) = s.probe
                && self.mtu.on_probe_acked(size)
            {
                self.cc.set_mtu(u64::from(size));
            }
        }
        self.traffic.acked += out.acked.len() as u64;
        ack.round_start = self.sampler.take_round_start();
        let Some(rate) = self.sampler.sample(self.rtt.min()) else { return };
        (ack.delivery_rate_bps, ack.app_limited) = (rate.bps, rate.app_limited);
        self.cc.on_ack(&ack, siblings);
    }

    /// Accounts losses, and losses that were none.
    pub(crate) fn on_losses(&mut self, now: Time, siblings: &[Sibling], out: &Outcome) {
        let (mut bytes, mut newest) = (0u64, Time::ZERO);
        for s in out.acked.iter().filter(|s| s.probe.is_none()) {
            self.mtu.on_arrived(s.at, size_of(s));
        }
        self.repeat_status(out);
        self.note_lost_sizes(now, out);
        // An MTU probe that is lost says nothing of congestion (RFC 8899 §3, item 7).
        for s in out.lost.iter().filter(|s| s.probe.is_none()) {
            bytes += u64::from(s.bytes);
            newest = newest.max(s.at);
        }
        if out.spurious_bytes > 0 {
            self.cc.on_spurious_loss(now, out.spurious_bytes);
        }
        // What was to show whether the path works is itself among what was lost: ask again.
        self.control.ping_due |=
            self.live.state == State::Suspect && self.sent.datagrams_in_flight() == 0 && !out.lost.is_empty();
        self.traffic.lost += out.lost.len() as u64;
        if bytes > 0 {
            let loss = Loss { now, bytes, newest_sent: newest, inflight: self.sent.inflight() };
            self.cc.on_loss(&loss, siblings);
        }
    }

    /// The search for the MTU hears what was lost, of a path that fell silent too: one that
    /// swallows all that is long is silent while it carries nothing else.
    pub(crate) fn note_lost_sizes(&mut self, now: Time, out: &Outcome) {
        for s in &out.lost {
            match s.probe {
                // What followed it was swallowed, too: the path is silent, and not narrow.
                Some(size) if size <= BASE && self.live.state != State::Active => self.mtu.forget_probe(now),
                Some(size) => self.mtu.on_probe_lost(now, size),
                None if self.mtu.on_lost(now, s.at, size_of(s), self.rtt.smoothed()) => {
                    self.cc.set_mtu(u64::from(self.mtu.current()));
                }
                None => {}
            }
        }
    }

    /// What was said of the class may be among what was lost.
    pub(crate) fn repeat_status(&mut self, out: &Outcome) {
        self.control.status_due |= out.lost.iter().any(|s| Some(s.at) == self.control.status_at);
    }

    /// Time that an overtaken datagram is given: the larger of smoothed and latest RTT (RFC 9002 §6.1.2), and the path's jitter.
    pub(crate) fn loss_delay(&self) -> Duration {
        self.rtt.smoothed().max(self.rtt.latest()) + self.rtt.deviation()
    }

    /// What its datagrams take, microseconds, with the session's clock offset in it; half a round
    /// trip before the first was acknowledged.
    pub(crate) fn one_way_us(&self, now: Time) -> f64 {
        let is_idle = self.sent.inflight() == 0;
        self.rtt.one_way_us(now, is_idle).unwrap_or(self.rtt.smoothed().as_micros() as f64 / 2.0)
    }

    /// What schedulers see of this path.
    pub(crate) fn info(&mut self, now: Time, weight: u32) -> PathInfo {
        PathInfo {
            id: self.id,
            has_room: self.is_ready(now),
            one_way_us: self.one_way_us(now),
            jitter: self.rtt.one_way_deviation(),
            srtt: self.rtt.smoothed(),
            rate_bps: self.cc.bandwidth_bps(),
            weight,
            mtu: self.mtu.current(),
            ..PathInfo::default()
        }
    }

    /// What coupled controllers see of this path.
    pub(crate) fn as_sibling(&self) -> Sibling {
        Sibling {
            window: self.cc.window(),
            srtt: self.rtt.smoothed(),
            bytes_since_loss: self.cc.bytes_since_loss(),
            is_self: false,
        }
    }
}

/// Bytes on the wire.
fn size_of(datagram: &Resolved) -> u16 {
    u16::try_from(datagram.bytes).unwrap_or(u16::MAX)
}

/// Turns the peer's clock into numbers that can be compared between the paths of a session: the first sample is zero, and the unknown
/// offset of the two clocks is in all of them alike.
#[derive(Debug, Default)]
pub struct ClockOffset {
    first: Option<u32>,
}

impl ClockOffset {
    /// One-way delay, microseconds, relative to the session's first sample.
    pub fn relative_us(&mut self, received_us: u32, sent: Time) -> i64 {
        let sample = received_us.wrapping_sub(sent.as_micros() as u32);
        let first = *self.first.get_or_insert(sample);
        i64::from(sample.wrapping_sub(first) as i32)
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
