//! The control law: once per interval, from the queue and the delivered rate to the next pacing
//! rate.

use super::delay::DelaySense;
use super::drain::Drain;
use super::jitter_probe::JitterProbe;
use super::loss::LossSense;
use super::monitor::Report;
use ropewalk_time::Time;

/// Part of the missing queue that one control interval makes good. The answer to a change shows two
/// intervals later, an integrator with that delay rings from about 0.37 on; what is on its way is
/// counted (`pending`), which allows a little more, and equal flows share the sooner the larger it
/// is.
const REFILL: f64 = 0.5;
/// Part of the excess queue that one control interval takes away: more than is refilled, since a queue delays
/// everybody, and an empty moment costs only itself.
const RELIEF: f64 = 0.8;
/// Slower sending when every packet is marked CE. A mark says that there is a queue, and the marker is quick: little
/// by little is enough.
const MARK_RELIEF: f64 = 0.15;
/// Sending at less than this part of the rate is restraint: more than the control does around its
/// target.
const RESTRAINED: f64 = 0.96;
/// Slowest sending while a queue is drained, as a part of the estimated rate.
const LEAST_GAIN: f64 = 0.5;
/// Fastest probing: the queue shows a round trip late, and half a round trip of it is enough.
const MAX_PROBE_GAIN: f64 = 0.5;
/// Fastest probing while the session lets another path probe, or while a policer is believed in.
const HELD_PROBE_GAIN: f64 = 0.02;
/// From this probe on the path counts as probing; the control around its target stays below.
pub(super) const PROBING_GAIN: f64 = 0.05;
/// Intervals without a queue before the probe doubles from interval to interval; the effect of a
/// probe needs two to show.
const DRY_INTERVALS: u32 = 2;
/// Memory of the rate, in control intervals: intervals join without a gap, so little averaging is
/// needed.
const RATE_MEMORY: f64 = 1.0;
/// Sending faster than is served, by so much, means a growing queue (and the reverse), beyond what the measure allows.
const SKEW: f64 = 1.03;
/// A link that drops what a probe adds takes nothing of it and queues nothing: loss of this part of the probe, and at
/// least `DROPPED_LEAST` of all.
const DROPPED: f64 = 0.4;
const DROPPED_LEAST: f64 = 0.03;

#[derive(Clone, Debug)]
pub(super) struct Steady {
    /// Pacing rate as a part of `rate`; the present one and the two before it.
    gains: [f64; 3],
    /// Intervals in a row without a queue.
    pub dry: u32,
    /// Intervals in a row with an excessive queue.
    pub high: u32,
    drain: Drain,
    /// Rate served in the interval before.
    last_served: f64,
    /// A probe was neither taken nor queued, but dropped.
    pub unanswered: bool,
    jitter_probe: JitterProbe,
}

/// What the law looks at.
pub(super) struct Inputs<'a> {
    pub report: &'a Report,
    pub delay: &'a DelaySense,
    pub loss: &'a LossSense,
    /// Queue delay to target, without noise, seconds.
    pub base_target: f64,
    /// Estimated rate before this interval, bytes per second.
    pub rate: f64,
    pub min_rtt: f64,
    pub probe_allowed: bool,
    /// Rate that acknowledgements bear out, bytes per second.
    pub borne_out: f64,
}

impl Inputs<'_> {
    /// Queue delay at which a monitor interval's minimum should lie on average.
    pub(super) fn target(&self) -> f64 {
        self.base_target + self.delay.bias()
    }

    /// Queue delay that our own control would not have caused.
    pub(super) fn excessive(&self) -> f64 {
        let own = self.target() + self.base_target.max(0.03 * self.interval().min(0.2));
        own + 3.0 * self.delay.noise()
    }

    /// The queue is longer than our control wants it.
    pub(super) fn is_long(&self) -> bool {
        self.delay.latest() > self.target() + 0.5 * self.base_target + 3.0 * self.delay.noise()
    }

    /// We send less than the path can, so what it serves does not say what it can.
    pub(super) fn is_restrained(&self) -> bool {
        self.report.sent_rate < RESTRAINED * self.rate
    }

    /// Seconds over which a correction is spread.
    pub(super) fn interval(&self) -> f64 {
        self.report.span.max(self.min_rtt)
    }

    /// Part of the packets lost in this interval.
    pub(super) fn loss_now(&self) -> f64 {
        self.report.lost / (self.report.acked + self.report.lost).max(1.0)
    }

    /// Rate that the link served in the interval, while it did. Only the receiver says when packets
    /// arrived, so what it says may lower the rate, and raises it as far as acknowledgements bear it out.
    pub(super) fn served(&self) -> f64 {
        let arrived = self.report.acked / (self.report.span - self.report.still).max(1e-6);
        let with_lost = |rate: f64| rate / (1.0 - self.loss.made_up());
        with_lost(arrived).min(with_lost(self.borne_out).max(self.rate))
    }
}

impl Steady {
    pub(super) fn new(now: Time, rate: f64) -> Self {
        Steady {
            gains: [1.0; 3],
            dry: 0,
            high: 0,
            drain: Drain::new(now),
            last_served: rate,
            unanswered: false,
            jitter_probe: JitterProbe::new(),
        }
    }

    pub(super) fn gain(&self) -> f64 {
        self.gains[0]
    }

    pub(super) fn step(&mut self, i: &Inputs<'_>, rate: &mut f64) {
        let queue = i.delay.latest();
        self.high = if i.delay.latest() > i.excessive() { self.high + 1 } else { 0 };
        self.update_rate(i, queue, rate);
        // What was sent in this interval is still on its way, and will change the queue by so much.
        let pending = (self.gains[0] - 1.0) * i.report.span;
        self.unanswered = false;
        let gain = self.next_gain(i, queue, pending);
        self.gains = [gain, self.gains[0], self.gains[1]];
    }

    fn update_rate(&mut self, i: &Inputs<'_>, queue: f64, rate: &mut f64) {
        let served = i.served();
        let last = core::mem::replace(&mut self.last_served, served);
        if self.high > 0 {
            return self.update_rate_in_overload(i, served, last, rate);
        }
        let filled =
            queue > 0.3 * i.base_target + i.delay.bias() || i.delay.is_noisy() || i.loss.is_policed();
        let busy = filled && !i.report.app_limited && !i.is_restrained();
        let weight = 1.0 - libm::exp(-i.report.span / (i.interval() * RATE_MEMORY));
        if served > *rate || busy {
            // A link that was busy all the time served what it can.
            *rate += (served - *rate) * weight;
        }
    }

    /// With a queue that does not come from our control, the link is slower than believed if the queue is
    /// growing, and as fast as it looks if it is shrinking; if it stands, it may not be a queue.
    fn update_rate_in_overload(&mut self, i: &Inputs<'_>, served: f64, last: f64, rate: &mut f64) {
        let noise = 2.0 * i.delay.noise() / i.interval() + i.report.gap / i.report.span;
        let noisy = i.delay.is_noisy();
        if noisy && i.report.span < 0.7 * i.min_rtt {
            return; // cut short by a probe's end: too few arrivals to count
        }
        // With noise one monitor interval may be short of arrivals by chance; the better of two,
        // and half of the way, is safer.
        let (seen, weight) = if noisy { (served.max(last), 0.5) } else { (served, 1.0) };
        let sent = i.report.sent_rate;
        let growing = sent > served * (SKEW + noise) && seen < *rate;
        let shrinking = served > sent * (SKEW + noise) && self.high > 1;
        if growing || shrinking {
            *rate += (seen - *rate) * weight;
        } else if !i.is_restrained() && !i.report.app_limited {
            *rate += (served.min(*rate) - *rate) * 0.5;
        }
    }

    fn next_gain(&mut self, i: &Inputs<'_>, queue: f64, pending: f64) -> f64 {
        let (target, interval) = (i.target(), i.interval());
        let marks = MARK_RELIEF * i.report.ce;
        if self.high > 0 {
            self.jitter_probe.interrupt();
        } else if i.delay.is_noisy()
            && let Some(gain) = self.jitter_probe.step(i)
        {
            self.dry = 0;
            self.drain = Drain::new(i.report.now);
            return (gain - marks).max(LEAST_GAIN);
        }
        if queue > target {
            self.dry = 0;
            let excess = queue + pending - target;
            return (1.0 - RELIEF * excess / interval - marks).clamp(LEAST_GAIN, 1.0);
        }
        if self.dry == 0
            && let Some(margin) = self.drain.step(i)
        {
            return (1.0 - (queue + margin) / interval).max(LEAST_GAIN);
        }
        let trial = i.loss.trial_depth();
        if trial > 0.0 {
            return 1.0 - trial;
        }
        (1.0 + self.probe_gain(i, queue, pending) - marks).max(LEAST_GAIN)
    }

    fn probe_gain(&mut self, i: &Inputs<'_>, queue: f64, pending: f64) -> f64 {
        let missing = i.target() - queue;
        let is_dry = queue < 0.5 * i.base_target + 0.5 * i.delay.bias() && i.report.ce == 0.0;
        self.dry = if is_dry && !i.report.app_limited { self.dry + 1 } else { 0 };
        if i.delay.is_noisy() {
            // Then a missing queue may be noise, and finding room is the jitter probe's business.
            self.dry = 0;
            return (REFILL * missing.clamp(0.0, 2.0 * i.base_target) / i.interval()).min(HELD_PROBE_GAIN);
        }
        self.unanswered = self.dry > DRY_INTERVALS
            && i.loss_now() > i.loss.made_up() + (DROPPED * (self.gains[1] - 1.0)).max(DROPPED_LEAST);
        if self.unanswered {
            self.dry = 0;
        }
        let doublings = self.dry.saturating_sub(DRY_INTERVALS).min(16);
        let most = if i.probe_allowed && !i.loss.is_policed() { MAX_PROBE_GAIN } else { HELD_PROBE_GAIN };
        // While dry, what is pending did not help so far.
        let counted = if doublings > 0 { missing } else { missing - pending };
        let base = REFILL * counted.min(2.0 * i.base_target) / i.interval();
        (base * f64::from(1u32 << doublings)).min(most)
    }
}
