//! A small link model to try controllers on: one bottleneck with a byte-limited tail-drop queue, random loss,
//! jitter that keeps order, acknowledgement policies, and any number of senders. Virtual time, seeded.

mod outcome;

use super::filter::WindowedMin;
use super::rate::{RateSampler, Snapshot};
use super::{Ack, Controller, Loss};
use ropewalk_time::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub(super) use outcome::Outcome;
use outcome::bin;

pub(super) const MTU: u64 = 1500;
const BIN_NS: u64 = 10_000_000;

/// The path under test.
#[derive(Clone, Debug)]
pub(super) struct Net {
    /// (from second, bits per second), ascending.
    pub rate: Vec<(f64, f64)>,
    /// (from second, one-way delay in ms), ascending.
    pub owd_ms: Vec<(f64, f64)>,
    /// Standard deviation of a normal jitter on the way there, ms; order is kept.
    pub jitter_ms: f64,
    /// Probability that a packet is lost after the queue.
    pub loss: f64,
    /// Capacity of the queue, bytes.
    pub queue: u64,
    /// Packets that waited longer than this are marked CE, ms.
    pub mark_ms: f64,
    /// Drop at the entrance what exceeds this rate, bit/s, with a bucket of 30 packets, and queue nothing.
    pub policer: Option<f64>,
    /// Acknowledgements are held to the next multiple of this (Wi-Fi), ms.
    pub ack_bunch_ms: f64,
    /// Longest wait for a second packet before acknowledging, ms.
    pub ack_delay_ms: f64,
    /// Now and then the processor is away for 1–4 ms (both ends), every so many ms on average; 0 never.
    pub stall_every_ms: f64,
    /// The link serves nothing for so long, each so often (a radio on another channel, an
    /// acknowledgement that collides), ms; 0 never.
    pub pause_ms: f64,
    pub pause_every_ms: f64,
    /// It is the way back that stands still: acknowledgements wait, packets do not.
    pub pause_is_back: bool,
    /// The sender's timer fires at multiples of this, ms: what is due since leaves as a burst.
    pub tick_ms: f64,
    /// What the receiver says of when packets arrived, if it is not the truth.
    pub lie: Option<Lie>,
    pub seed: u64,
}

/// When a packet is said to have arrived: of its number, when it left, and when it did.
pub(super) type Lie = fn(u64, Time, Time) -> Time;

impl Net {
    pub(super) fn new(mbps: f64, owd_ms: f64) -> Self {
        Net {
            rate: vec![(0.0, mbps * 1e6)],
            owd_ms: vec![(0.0, owd_ms)],
            jitter_ms: 0.0,
            loss: 0.0,
            queue: ((mbps * 1e6 / 8.0 * 0.1) as u64).max(20 * MTU),
            mark_ms: f64::INFINITY,
            policer: None,
            ack_bunch_ms: 0.0,
            ack_delay_ms: 5.0,
            stall_every_ms: 0.0,
            pause_ms: 0.0,
            pause_every_ms: 0.0,
            pause_is_back: false,
            tick_ms: 0.02,
            lie: None,
            seed: 1,
        }
    }
}

fn at(schedule: &[(f64, f64)], t: f64) -> f64 {
    schedule.iter().rev().find(|s| s.0 <= t).unwrap_or(&schedule[0]).1
}

/// One sender.
pub(super) struct Flow {
    pub cc: Box<dyn Controller>,
    /// Seconds at which it starts and stops.
    pub active: (f64, f64),
    /// What the application offers, (from second, bits per second); infinite when backlogged.
    pub offered: Vec<(f64, f64)>,
    /// Probing is allowed in these stretches (from second, allowed).
    pub probe: Vec<(f64, bool)>,
    pub paced: bool,
}

impl Flow {
    pub(super) fn new(cc: Box<dyn Controller>) -> Self {
        let offered = vec![(0.0, f64::INFINITY)];
        Flow { cc, active: (0.0, f64::INFINITY), offered, probe: vec![(0.0, true)], paced: true }
    }
}

#[derive(Clone, Copy)]
struct Packet {
    id: u64,
    sent: Time,
    snapshot: Snapshot,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Received {
    id: u64,
    at: Time,
    ce: bool,
}

enum Event {
    Wake,
    Arrive(Received),
    AckTimer,
    AckArrives(Vec<Received>, Time),
}

struct Sender {
    flow: Flow,
    sampler: RateSampler,
    next_id: u64,
    inflight: u64,
    out: VecDeque<Packet>,
    next_send: Time,
    app_tokens: f64,
    app_last: Time,
    min_owd: WindowedMin,
    min_rtt: WindowedMin,
    samples: u32,
    srtt: f64,
    last_progress: Time,
    wake: Time,
    // Receiver side.
    pending: Vec<Received>,
    ack_due: Option<Time>,
    last_arrival: Time,
    last_ack_arrival: Time,
    stall_until: Time,
    next_stall: Time,
}

pub(super) struct Sim {
    net: Net,
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    store: std::collections::HashMap<u64, (usize, Event)>,
    seq: u64,
    senders: Vec<Sender>,
    busy_until: Time,
    queue: VecDeque<(Time, u64)>,
    queued: u64,
    bucket: (f64, Time),
    rng: u64,
    out: Outcome,
}

impl Sim {
    pub(super) fn new(net: Net, flows: Vec<Flow>) -> Self {
        let n = flows.len();
        let rng = net.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let senders = flows.into_iter().map(Sender::new).collect();
        let out = Outcome { served: vec![vec![]; n], delivered: vec![vec![]; n], ..Outcome::default() };
        let mut sim = Sim {
            net,
            now: Time::ZERO,
            events: BinaryHeap::new(),
            store: Default::default(),
            seq: 0,
            senders,
            busy_until: Time::ZERO,
            queue: VecDeque::new(),
            queued: 0,
            bucket: (30.0 * MTU as f64, Time::ZERO),
            rng,
            out,
        };
        for i in 0..n {
            let start = sim.senders[i].flow.active.0;
            sim.senders[i].wake = secs(start);
            sim.push(secs(start), i, Event::Wake);
        }
        sim
    }

    pub(super) fn run(mut self, until_s: f64) -> Outcome {
        let end = secs(until_s);
        while let Some(Reverse((t, id))) = self.events.pop() {
            if t > end {
                break;
            }
            self.now = t;
            let (i, event) = self.store.remove(&id).unwrap();
            self.trace();
            match event {
                Event::Wake => self.wake(i),
                Event::Arrive(r) => self.arrive(i, r),
                Event::AckTimer => self.ack_timer(i),
                Event::AckArrives(list, sent) => self.ack(i, &list, sent),
            }
        }
        self.out
    }

    fn trace(&mut self) {
        let bin = (self.now.as_nanos() / BIN_NS) as usize;
        if self.out.trace.len() <= bin {
            let cc = &self.senders[0].flow.cc;
            let rate = cc.pacing_rate_bps().unwrap_or(0) as f64 / 1e6;
            let row = (rate, cc.bandwidth_bps() as f64 / 1e6, cc.window());
            self.out.trace.resize(bin + 1, row);
        }
    }

    fn push(&mut self, t: Time, i: usize, e: Event) {
        self.seq += 1;
        self.store.insert(self.seq, (i, e));
        self.events.push(Reverse((t.max(self.now), self.seq)));
    }

    fn uniform(&mut self) -> f64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        (self.rng >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform().max(1e-12), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Until when this end's processor is away.
    fn stalled(&mut self, i: usize) -> Time {
        if self.net.stall_every_ms > 0.0 && self.now >= self.senders[i].next_stall {
            let (len, gap) = (1.0 + 3.0 * self.uniform(), self.net.stall_every_ms * 2.0 * self.uniform());
            let s = &mut self.senders[i];
            s.stall_until = self.now + ms(len);
            s.next_stall = s.stall_until + ms(gap);
        }
        self.senders[i].stall_until
    }

    fn wake(&mut self, i: usize) {
        if self.now != self.senders[i].wake {
            return; // a later wake-up replaced this one
        }
        let stall = self.stalled(i);
        if stall > self.now {
            self.senders[i].wake = stall;
            return self.push(stall, i, Event::Wake);
        }
        self.senders[i].timeouts(self.now);
        self.send(i);
    }

    fn send(&mut self, i: usize) {
        let now = self.now;
        let t = now.as_nanos() as f64 / 1e9;
        loop {
            let s = &mut self.senders[i];
            let allowed = s.flow.probe.iter().rev().find(|p| p.0 <= t).is_none_or(|p| p.1);
            s.flow.cc.allow_probe(allowed);
            if t >= s.flow.active.1 || s.inflight + MTU > s.flow.cc.window() {
                break;
            }
            let offered = at(&s.flow.offered, t);
            if offered.is_finite() {
                s.app_tokens += offered / 8.0 * now.since(s.app_last).as_secs_f64();
                s.app_tokens = s.app_tokens.min(64.0 * 1024.0);
                s.app_last = now;
                if s.app_tokens < MTU as f64 {
                    s.sampler.mark_app_limited(s.inflight);
                    break;
                }
            }
            let pace = s.flow.cc.pacing_rate_bps().filter(|_| s.flow.paced).map(|r| r as f64 / 8.0);
            if let Some(rate) = pace {
                // Bursts of a millisecond, as a driver that sends batches would.
                let quantum = (rate * 1e-3).clamp(2.0 * MTU as f64, 65_536.0);
                if now < s.next_send {
                    break;
                }
                let credit = Duration::from_secs_f64((quantum / rate).min(1.0));
                s.next_send = s.next_send.max(now - credit);
                s.next_send += Duration::from_secs_f64(MTU as f64 / rate);
            }
            if offered.is_finite() {
                s.app_tokens -= MTU as f64;
            }
            self.transmit(i);
        }
        let s = &mut self.senders[i];
        let pto = s.last_progress + s.pto();
        let mut next = if s.inflight > 0 { pto.max(now + ms(1.0)) } else { now + ms(20.0) };
        if s.inflight + MTU <= s.flow.cc.window() {
            let tick = (self.net.tick_ms * 1e6) as u64;
            let due = s.next_send.max(now + ms(0.001)).as_nanos();
            let hold = Time::from_nanos(due.div_ceil(tick) * tick);
            next = next.min(if at(&s.flow.offered, t).is_finite() { now + ms(0.2) } else { hold });
        }
        if t < s.flow.active.1 {
            s.wake = next;
            self.push(next, i, Event::Wake);
        }
    }

    fn transmit(&mut self, i: usize) {
        let now = self.now;
        let s = &mut self.senders[i];
        let id = s.next_id;
        s.next_id += 1;
        if s.inflight == 0 {
            s.last_progress = now;
        }
        let snapshot = s.sampler.on_send(now, s.inflight);
        s.inflight += MTU;
        s.out.push_back(Packet { id, sent: now, snapshot, bytes: MTU });
        s.flow.cc.on_sent(now, MTU, s.inflight);
        self.enqueue(i, id);
    }

    fn enqueue(&mut self, i: usize, id: u64) {
        let t = self.now.as_nanos() as f64 / 1e9;
        while self.queue.front().is_some_and(|q| q.0 <= self.now) {
            self.queued -= self.queue.pop_front().unwrap().1;
        }
        if let Some(rate) = self.net.policer {
            let filled = self.bucket.0 + rate / 8.0 * self.now.since(self.bucket.1).as_secs_f64();
            self.bucket = (filled.min(30.0 * MTU as f64), self.now);
            if self.bucket.0 < MTU as f64 {
                return self.out.drops.push(t);
            }
            self.bucket.0 -= MTU as f64;
        }
        if self.queued + MTU > self.net.queue {
            return self.out.drops.push(t);
        }
        let mut start = self.busy_until.max(self.now);
        if !self.net.pause_is_back {
            start = self.serving(start);
        }
        let wait_ms = start.since(self.now).as_secs_f64() * 1e3;
        let tx = Duration::from_secs_f64(MTU as f64 * 8.0 / at(&self.net.rate, t));
        self.busy_until = start + tx;
        self.queue.push_back((self.busy_until, MTU));
        self.queued += MTU;
        self.out.delays.push((t, wait_ms, i));
        bin(&mut self.out.served[i], self.busy_until);
        if self.uniform() < self.net.loss {
            return;
        }
        let jitter = if self.net.jitter_ms > 0.0 { self.normal() * self.net.jitter_ms } else { 0.0 };
        let owd = (at(&self.net.owd_ms, t) + jitter).max(0.01);
        let when = (self.busy_until + ms(owd)).max(self.senders[i].last_arrival);
        self.senders[i].last_arrival = when;
        bin(&mut self.out.delivered[i], when);
        let ce = wait_ms > self.net.mark_ms;
        self.push(when, i, Event::Arrive(Received { id, at: when, ce }));
    }

    /// The first moment from `t` on at which the link serves.
    fn serving(&self, t: Time) -> Time {
        if self.net.pause_every_ms == 0.0 {
            return t;
        }
        let into = t.as_nanos() % ((self.net.pause_every_ms * 1e6) as u64);
        t + ms(self.net.pause_ms).saturating_sub(Duration::from_nanos(into))
    }

    fn arrive(&mut self, i: usize, mut r: Received) {
        let stall = self.stalled(i);
        r.at = r.at.max(stall);
        let s = &mut self.senders[i];
        s.pending.push(r);
        if stall > self.now {
            s.ack_due = Some(stall);
            return self.push(stall, i, Event::AckTimer);
        }
        if s.pending.len() >= 2 {
            return self.send_ack(i);
        }
        let due = self.now + ms(self.net.ack_delay_ms);
        s.ack_due = Some(due);
        self.push(due, i, Event::AckTimer);
    }

    fn ack_timer(&mut self, i: usize) {
        let s = &self.senders[i];
        if s.ack_due.is_some_and(|d| d <= self.now) && !s.pending.is_empty() {
            self.send_ack(i);
        }
    }

    fn send_ack(&mut self, i: usize) {
        let t = self.now.as_nanos() as f64 / 1e9;
        let list = std::mem::take(&mut self.senders[i].pending);
        self.senders[i].ack_due = None;
        let mut when = self.now + ms(at(&self.net.owd_ms, t));
        if self.net.ack_bunch_ms > 0.0 {
            let bunch = (self.net.ack_bunch_ms * 1e6) as u64;
            when = Time::from_nanos(when.as_nanos().div_ceil(bunch) * bunch);
        }
        if self.net.pause_is_back {
            when = self.serving(when);
        }
        when = when.max(self.senders[i].last_ack_arrival);
        self.senders[i].last_ack_arrival = when;
        self.push(when, i, Event::AckArrives(list, self.now));
    }

    fn ack(&mut self, i: usize, list: &[Received], ack_sent: Time) {
        let stall = self.stalled(i);
        if stall > self.now {
            return self.push(stall, i, Event::AckArrives(list.to_vec(), ack_sent));
        }
        self.senders[i].on_ack(self.now, list, ack_sent, self.net.lie);
        let tick = (self.net.tick_ms * 1e6) as u64;
        let next = match self.net.tick_ms < 0.1 {
            true => self.now,
            false => Time::from_nanos(self.now.as_nanos().div_ceil(tick) * tick),
        };
        if self.senders[i].wake > next || next == self.now {
            self.senders[i].wake = next;
            self.push(next, i, Event::Wake);
        }
    }
}

impl Sender {
    fn new(flow: Flow) -> Self {
        Sender {
            flow,
            sampler: RateSampler::new(),
            next_id: 0,
            inflight: 0,
            out: VecDeque::new(),
            next_send: Time::ZERO,
            app_tokens: 0.0,
            app_last: Time::ZERO,
            min_owd: WindowedMin::new(Duration::from_secs(10)),
            min_rtt: WindowedMin::new(Duration::from_secs(10)),
            samples: 0,
            srtt: 0.0,
            last_progress: Time::ZERO,
            wake: Time::ZERO,
            pending: vec![],
            ack_due: None,
            last_arrival: Time::ZERO,
            last_ack_arrival: Time::ZERO,
            stall_until: Time::ZERO,
            next_stall: Time::ZERO,
        }
    }

    fn pto(&self) -> Duration {
        ms(if self.srtt == 0.0 { 1000.0 } else { (self.srtt * 2000.0).max(100.0) })
    }

    /// Everything is declared lost after two smoothed round trips of silence.
    fn timeouts(&mut self, now: Time) {
        let pto = self.pto();
        let Some(newest) = self.out.back() else { return };
        if now.since(self.last_progress) < pto || self.inflight == 0 {
            return;
        }
        let (newest_sent, bytes) = (newest.sent, self.inflight);
        self.out.clear();
        self.inflight = 0;
        let loss = Loss { now, bytes, newest_sent, inflight: 0 };
        self.flow.cc.on_loss(&loss, &[]);
    }

    fn on_ack(&mut self, now: Time, list: &[Received], ack_sent: Time, lie: Option<Lie>) {
        let Some(first) = self.out.front().map(|p| p.id) else { return };
        let (mut bytes, mut ce, mut newest, mut acked) = (0, 0, None, vec![]);
        for r in list {
            let Some(index) = r.id.checked_sub(first) else { continue };
            let Some(p) = self.out.get_mut(index as usize) else { continue };
            if p.bytes == 0 {
                continue;
            }
            acked.push(*p);
            bytes += p.bytes;
            ce += u64::from(r.ce);
            p.bytes = 0;
            newest = Some((p.id, p.sent, r.at));
        }
        let Some((newest_id, newest_sent, received)) = newest else { return };
        self.inflight -= bytes;
        self.last_progress = now;
        let lost = self.detect_losses(now, newest_id);
        let rtt = now.since(newest_sent).saturating_sub(ack_sent.since(received));
        self.srtt =
            if self.srtt == 0.0 { rtt.as_secs_f64() } else { 0.875 * self.srtt + 0.125 * rtt.as_secs_f64() };
        let min_rtt = Duration::from_nanos(self.min_rtt.update(now, rtt.as_nanos() as u64));
        let owd = lie.map_or(received, |lie| lie(newest_id, newest_sent, received)).since(newest_sent);
        let owd = owd.as_nanos() as u64;
        let base = self.min_owd.update(now, owd);
        self.samples += 1;
        let mut ack = Ack {
            now,
            bytes,
            lost_bytes: lost,
            newest_sent,
            rtt,
            min_rtt,
            queue_delay: (self.samples > 4).then(|| Duration::from_nanos(owd - base)),
            delivery_rate_bps: 0,
            app_limited: false,
            round_start: false,
            ce_packets: ce,
            inflight: self.inflight,
        };
        for p in &acked {
            self.sampler.on_acked(now, ack.arrived(), p.bytes, p.sent, &p.snapshot);
        }
        let Some(sample) = self.sampler.sample(Duration::ZERO) else { return };
        (ack.delivery_rate_bps, ack.app_limited) = (sample.bps, sample.app_limited);
        ack.round_start = self.sampler.take_round_start();
        self.flow.cc.on_ack(&ack, &[]);
    }

    fn detect_losses(&mut self, now: Time, newest_id: u64) -> u64 {
        let (mut lost, mut newest_sent) = (0, Time::ZERO);
        while let Some(p) = self.out.front().copied() {
            if p.bytes > 0 && p.id + 3 > newest_id {
                break;
            }
            if p.bytes > 0 {
                lost += p.bytes;
                newest_sent = p.sent;
            }
            self.out.pop_front();
        }
        if lost > 0 {
            self.inflight -= lost;
            let loss = Loss { now, bytes: lost, newest_sent, inflight: self.inflight };
            self.flow.cc.on_loss(&loss, &[]);
        }
        lost
    }
}

fn ms(x: f64) -> Duration {
    Duration::from_nanos((x * 1e6) as u64)
}

fn secs(x: f64) -> Time {
    Time::from_nanos((x * 1e9) as u64)
}
