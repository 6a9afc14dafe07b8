//! Tidal, the default controller: a path as full as it can be with a queue as short as it can be.
//!
//! It paces by rate. Once per *monitor interval* (a round trip, or longer where a round trip holds
//! too few packets) it looks at the smallest queue delay of the interval and at the rate that the
//! link served, and sets the next pace:
//!
//! ```text
//! pace = rate · (1 + ½ · (aim − queue) / interval)        a little faster while the queue is short of its target,
//!                                                           a little slower while it is longer
//! rate → served      while there is a queue                 a busy link serves what it can
//! probe = 1, 1, 2, 4, 8 … times the little                   while there is no queue at all: the link has become faster
//! ```
//!
//! So a standing queue of about a millisecond is itself the probe: a link that becomes faster swallows it
//! within a round trip, one that becomes slower makes it grow. There is no separate probing phase that would
//! have to overshoot.
//!
//! * `startup` doubles per round trip until a queue shows, like HyStart++ (RFC 9406).
//! * `delay` measures how much the per-interval minimum scatters and widens the target by it, so
//!   that jitter is not taken for a queue, and more on a path that delivers in lumps (aggregates of
//!   802.11), which a queue of a millisecond would leave half empty.
//! * `drain` lets the queue run dry for a moment every 2.5 s, so that the base delay stays known.
//! * `jitter_probe` probes where the delay jitters by more than the queue that is targeted.
//! * `loss` makes up for random loss and recognises policers.
//! * `competition` recognises longer routes and flows that fill the queue, and competes with the
//!   latter.
//!
//! Relatives: FAST TCP (Wei, Jin, Low, Hegde 2006) has the same equilibrium, Copa (NSDI 2018) the mode switch, BBR
//! (draft-ietf-ccwg-bbr) the rate model and app-limited rule. CE marks lower the gain in proportion to
//! the marked part, as DCTCP does (RFC 8257 §3.3).

mod competition;
mod delay;
mod drain;
mod gaps;
mod jitter_probe;
mod loss;
mod monitor;
mod startup;
mod steady;

use super::{Ack, Controller, Loss, Sibling};
use competition::{Competition, Diagnosis, Suspicion};
use delay::DelaySense;
use gaps::Gaps;
use loss::LossSense;
use monitor::{MonitorInterval, Report};
use ropewalk_time::Time;
use startup::{QueueOnset, Startup};
use steady::{Inputs, Steady};

/// Window before anything is known, datagrams. RFC 6928 has 10 for one flow; a path carries several, and spreads
/// them over a round trip.
const INITIAL_DATAGRAMS: f64 = 16.0;
/// Shortest interval: shorter ones would follow the scheduling of processes, not the network.
/// Seconds.
const MIN_INTERVAL: f64 = 0.004;
/// Datagrams that a monitor interval should hold, so that a minimum and a rate mean something.
const INTERVAL_DATAGRAMS: f64 = 8.0;
/// Queue delay to target when a packet takes `TARGET_PACKET`, which it does at 20 Mb/s. Seconds.
const TARGET: f64 = 0.001;
const TARGET_PACKET: f64 = 0.0006;
/// Least queue delay to target: senders' batches and processes' scheduling make as much. Seconds.
const LEAST_TARGET: f64 = 0.0003;
/// Increase of the target per second of round trip.
const TARGET_PER_RTT: f64 = 10.0;
/// Pauses between acknowledgements that come of our own sending: two of a driver's batches, which last a millisecond; and so many packets,
/// of which an acknowledgement covers two. Seconds, packets.
const OWN_GRAIN: f64 = 0.002;
const OWN_PACKETS: f64 = 4.0;
/// A silence of this long, or of two round trips, is the sender's or an outage, and no part of a
/// monitor interval. Seconds.
const SILENCE: f64 = 0.25;
/// A GSO batch: the window always has room for some.
const BATCH: f64 = 65_536.0;
/// At this rate a batch of 64 KiB lasts 50 µs, less than a timer can be trusted with. Bits per second.
const UNPACED_BPS: f64 = 1e10;
/// Bytes of that room at most: what is in flight beyond the path itself waits in somebody's socket buffer, and those
/// have a few MB.
const MAX_SLACK: f64 = 1_500_000.0;
/// Intervals of which one has to bear out a rate: by chance the acknowledgements of one take longer than its arrivals.
const BORNE_OUT: usize = 2;
/// Room in the window above what pacing uses, so that pacing and not the window is what holds the flow.
const WINDOW_ROOM: f64 = 1.25;

#[derive(Clone, Debug)]
enum Phase {
    Startup(Startup),
    Steady(Steady),
    Competition(Box<Competition>),
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Tidal {
    mtu: f64,
    phase: Phase,
    monitor: Option<MonitorInterval>,
    delay: DelaySense,
    loss: LossSense,
    onset: QueueOnset,
    suspicion: Suspicion,
    probe_allowed: bool,
    /// Rate the path serves, lost packets included, bytes per second.
    rate: f64,
    min_rtt: f64,
    srtt: f64,
    /// Round trip with no more queue than is targeted, smoothed.
    bare_rtt: f64,
    gaps: Gaps,
    last_ack: Option<Time>,
    last_arrived: Time,
    /// Rates of the last intervals by when their acknowledgements came, bytes per second.
    acked_rates: [f64; BORNE_OUT],
    /// The last rate sample was a lower bound.
    app_limited: bool,
}

impl Tidal {
    /// A controller for a path whose datagrams have `mtu` bytes on the wire.
    pub fn new(mtu: u64) -> Self {
        Tidal {
            mtu: mtu as f64,
            phase: Phase::Startup(Startup::new()),
            monitor: None,
            delay: DelaySense::new(),
            loss: LossSense::new(),
            onset: QueueOnset::new(Time::ZERO),
            suspicion: Suspicion::default(),
            probe_allowed: true,
            rate: 0.0,
            min_rtt: 0.0,
            srtt: 0.0,
            bare_rtt: 0.0,
            gaps: Gaps::new(),
            last_ack: None,
            last_arrived: Time::ZERO,
            acked_rates: [0.0; BORNE_OUT],
            app_limited: true,
        }
    }

    /// Queue delay that ends startup. Seconds.
    fn startup_threshold(&self, target: f64) -> f64 {
        target.max(self.min_rtt / 16.0).max(0.001)
    }

    /// Queue delay to target, seconds: a millisecond at 20 Mb/s, and less where packets are
    /// shorter, because more of them smooth each other. It falls with the rate so that equal flows
    /// converge: of two in one queue the slower targets more. It grows with the round trip, in
    /// which the control is blind, and holds most of a packet where one takes long.
    fn base_target(&self) -> f64 {
        let packet = self.mtu / self.rate.max(1.0);
        let root = (packet / TARGET_PACKET).sqrt();
        let shared = TARGET * root * root.sqrt();
        let blind = 1.0 + TARGET_PER_RTT * self.min_rtt.min(0.2);
        (shared.clamp(LEAST_TARGET, 2.0 * TARGET) * blind).max(0.8 * packet)
    }

    /// How much longer a gap between acknowledgements is than batches of the sender's and single
    /// packets make it. Seconds.
    fn beyond_own(&self, gap: f64) -> f64 {
        (gap - OWN_GRAIN - OWN_PACKETS * self.mtu / self.rate.max(1.0)).max(0.0)
    }

    fn ack_gap(&self) -> f64 {
        self.beyond_own(self.gaps.ordinary())
    }

    fn min_interval(&self) -> f64 {
        let packets = INTERVAL_DATAGRAMS * self.mtu / self.rate.max(1.0);
        MIN_INTERVAL.max(packets.min(0.25)).max(2.0 * self.beyond_own(self.gaps.ordinary()))
    }

    fn inputs<'a>(&'a self, report: &'a Report) -> Inputs<'a> {
        Inputs {
            report,
            delay: &self.delay,
            loss: &self.loss,
            base_target: self.base_target(),
            rate: self.rate,
            min_rtt: self.min_rtt,
            probe_allowed: self.probe_allowed,
            borne_out: self.acked_rates.into_iter().fold(0.0, f64::max),
        }
    }

    fn measure(&mut self, ack: &Ack) {
        let rtt = ack.rtt.as_secs_f64();
        self.min_rtt = ack.min_rtt.as_secs_f64();
        // Less what the packet waited beyond the queue that is meant to be there.
        let queue = queue_of(ack) - self.delay.floor() - self.delay.bias() - self.base_target();
        let bare = (rtt - queue.max(0.0)).max(self.min_rtt);
        if self.srtt == 0.0 {
            (self.srtt, self.bare_rtt) = (rtt, bare);
        }
        self.srtt += (rtt - self.srtt) / 8.0;
        self.bare_rtt += (bare - self.bare_rtt) / 8.0;
        let arrived = self.last_arrived.max(ack.arrived());
        let paused = arrived.since(core::mem::replace(&mut self.last_arrived, arrived));
        if let Some(last) = self.last_ack.replace(ack.now)
            && !ack.app_limited
            && !matches!(self.phase, Phase::Startup(_))
        {
            self.gaps.add(ack.now, ack.now.since(last), paused, queue_of(ack));
        }
        self.loss.count(ack.newest_sent, ack.bytes, 0);
    }

    fn forget_silence(&mut self, ack: &Ack) {
        let silence = self.last_ack.map_or(0.0, |last| ack.now.since(last).as_secs_f64());
        if silence > SILENCE.max(2.0 * self.srtt) {
            self.monitor = None;
            self.last_ack = None;
        }
    }

    /// Whether the interval should end early: a probe that finds the end of the link is not carried
    /// on, nor is a queue let grow where none should be.
    fn must_react(&mut self, ack: &Ack, queue: f64, target: f64) -> bool {
        let above = queue - self.delay.floor();
        let risen = self.onset.on_ack(ack, above, 3.0 * target + 4.0 * self.delay.noise());
        let old_enough = self.monitor.as_ref().is_some_and(|e| e.span() > 3.0 * self.gaps.longest());
        let unexpected = match &self.phase {
            Phase::Steady(s) => self.is_probing() || s.high == 0 && !self.delay.is_noisy(),
            Phase::Startup(_) | Phase::Competition(_) => false,
        };
        risen && old_enough && unexpected
    }

    fn on_interval(&mut self, report: &Report) {
        self.acked_rates.rotate_right(1);
        self.acked_rates[0] = report.acked / report.acking.max(1e-6);
        let crowded = self.delay.latest() > self.inputs(report).excessive();
        let probing = self.is_probing();
        self.loss.on_interval(report.acked, report.lost, self.mtu, crowded || probing);
        self.loss.step(report.now, self.mtu);
        let target = self.base_target();
        match core::mem::replace(&mut self.phase, Phase::Startup(Startup::new())) {
            Phase::Startup(mut s) => {
                self.delay.update(report, false, target, self.ack_gap());
                self.phase = match s.on_interval(report, self.startup_threshold(target)) {
                    true => Phase::Steady(Steady::new(report.now, self.rate)),
                    false => Phase::Startup(s),
                };
            }
            Phase::Steady(s) => self.steady_interval(s, report, target),
            Phase::Competition(c) => self.competitive_interval(c, report, target),
        }
    }

    fn steady_interval(&mut self, mut s: Steady, report: &Report, target: f64) {
        let calm = s.high == 0 && self.delay.latest() < 2.0 * target + 2.0 * self.delay.bias();
        self.delay.update(report, calm, target, self.ack_gap());
        let mut rate = self.rate;
        s.step(&self.inputs(report), &mut rate);
        self.rate = rate;
        if s.unanswered {
            self.loss.suspect(report.now);
        }
        let mut suspicion = core::mem::take(&mut self.suspicion);
        let inputs = self.inputs(report);
        let diagnosis = match inputs.is_long() {
            true => suspicion.on_long_queue(&inputs),
            false => Diagnosis::Open,
        };
        if !inputs.is_long() || diagnosis != Diagnosis::Open {
            suspicion.clear();
        }
        self.suspicion = suspicion;
        self.phase = match diagnosis {
            Diagnosis::Open => Phase::Steady(s),
            Diagnosis::Longer => {
                self.delay.rebase(report.now);
                Phase::Steady(Steady::new(report.now, self.rate))
            }
            Diagnosis::Competitor => {
                let competition = Competition::new(report.now, self.mtu as u64, self.rate, self.srtt);
                Phase::Competition(Box::new(competition))
            }
        };
    }

    fn competitive_interval(&mut self, mut c: Box<Competition>, report: &Report, target: f64) {
        self.delay.update(report, false, target, self.ack_gap());
        let inputs = self.inputs(report);
        let served = inputs.served();
        let over = c.step(&inputs);
        if !c.is_testing() {
            self.rate += (served - self.rate) / 4.0;
        }
        self.phase =
            if over { Phase::Steady(Steady::new(report.now, self.rate)) } else { Phase::Competition(c) };
    }

    /// The first window in each round trip, bytes per second: the least that a path is taken to
    /// carry.
    fn first_rate(&self) -> f64 {
        INITIAL_DATAGRAMS * self.mtu / self.min_rtt.max(1e-6)
    }

    /// Bytes that may be in flight at `gain` times the rate.
    fn flight(&self, gain: f64) -> f64 {
        let rate = self.rate;
        let batches = 2.0 * (rate * 0.001).clamp(2.0 * self.mtu, BATCH);
        let slack = self.ack_gap() + 2.0 * self.delay.noise();
        // A delay that has come to stay may be a longer route, or at Gb/s the queue of a receiver that is short of processor.
        let on_path = rate * self.bare_rtt.min(self.min_rtt)
            + (rate * (self.bare_rtt - self.min_rtt).max(0.0)).min(MAX_SLACK);
        WINDOW_ROOM * gain.max(1.0) * on_path + (rate * slack).min(MAX_SLACK) + batches
    }
}

/// Queue delay as this acknowledgement shows it, seconds.
fn queue_of(ack: &Ack) -> f64 {
    ack.queue_delay.unwrap_or_else(|| ack.rtt.saturating_sub(ack.min_rtt)).as_secs_f64()
}

impl Controller for Tidal {
    fn name(&self) -> &'static str {
        "tidal"
    }

    fn on_sent(&mut self, _now: Time, _bytes: u64, _inflight: u64) {}

    fn on_ack(&mut self, ack: &Ack, _siblings: &[Sibling]) {
        self.forget_silence(ack);
        self.measure(ack);
        self.app_limited = ack.app_limited;
        let queue = queue_of(ack);
        let target = self.base_target();
        let threshold = self.startup_threshold(target);
        let mut over = false;
        match &mut self.phase {
            Phase::Startup(s) => {
                over = s.on_ack(ack, queue, threshold + 4.0 * self.delay.noise(), self.mtu);
                self.rate = s.rate();
            }
            Phase::Competition(c) => c.on_ack(ack),
            Phase::Steady(_) => {}
        }
        if over {
            self.phase = Phase::Steady(Steady::new(ack.now, self.rate));
        }
        let stop = self.must_react(ack, queue, target);
        let Some(mut monitor) = self.monitor.take() else {
            self.monitor = Some(MonitorInterval::first(ack, queue));
            return;
        };
        monitor.stop |= stop;
        if monitor.is_over(ack, self.min_interval()) {
            let (report, next) = monitor.end(ack.now, &self.gaps);
            monitor = next;
            self.on_interval(&report);
        }
        monitor.on_ack(ack, queue, self.mtu);
        self.monitor = Some(monitor);
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &[Sibling]) {
        self.loss.count(loss.newest_sent, 0, loss.bytes);
        if let Some(e) = &mut self.monitor {
            e.on_loss(loss.bytes);
        }
        match &mut self.phase {
            Phase::Startup(s) => s.on_loss(loss.bytes),
            Phase::Competition(c) => c.on_loss(loss),
            Phase::Steady(_) => {}
        }
    }

    fn reset(&mut self, _now: Time) {
        let allowed = self.probe_allowed;
        *self = Tidal::new(self.mtu as u64);
        self.probe_allowed = allowed;
    }

    fn set_mtu(&mut self, bytes: u64) {
        self.mtu = bytes.max(1) as f64;
    }

    fn window(&self) -> u64 {
        let least = INITIAL_DATAGRAMS * self.mtu;
        let bytes = match &self.phase {
            Phase::Startup(s) => {
                let rtt = self.srtt.min(self.min_rtt + s.room()).max(self.min_rtt);
                let gain = startup::GAIN;
                gain * self.rate * rtt + (gain * self.rate * self.gaps.ordinary()).min(MAX_SLACK) + least
            }
            Phase::Steady(s) => self.flight(s.gain()),
            Phase::Competition(c) => c.window() as f64 + (self.rate * self.gaps.ordinary()).min(MAX_SLACK),
        };
        bytes.max(4.0 * self.mtu) as u64
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        let bytes_per_s = match &self.phase {
            Phase::Startup(_) if self.rate == 0.0 => return None,
            // An app-limited trickle says nothing of the path: at least the initial window may leave per round trip.
            Phase::Startup(_) => {
                let gain = if self.app_limited { startup::GAIN_SPARSE } else { startup::GAIN };
                (self.rate * gain).max(self.first_rate())
            }
            Phase::Steady(s) => self.rate * s.gain(),
            Phase::Competition(c) => c.pace().unwrap_or(self.rate),
        };
        let bps = bytes_per_s * 8.0;
        (bps < UNPACED_BPS).then_some(bps.max(8.0 * self.mtu) as u64)
    }

    fn bandwidth_bps(&self) -> u64 {
        let rate = if self.has_rate() { self.rate } else { self.first_rate() };
        (rate * 8.0) as u64
    }

    fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Startup(_))
    }

    fn has_rate(&self) -> bool {
        !self.is_starting() || startup::GAIN_SPARSE * self.rate >= self.first_rate()
    }

    fn allow_probe(&mut self, allowed: bool) {
        self.probe_allowed = allowed;
    }

    fn is_probing(&self) -> bool {
        match &self.phase {
            Phase::Startup(_) => true,
            Phase::Steady(s) => s.gain() > 1.0 + steady::PROBING_GAIN,
            Phase::Competition(..) => false,
        }
    }
}
