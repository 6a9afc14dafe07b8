//! The control law: once per epoch, from the queue and the delivered rate to the next pacing rate.

use super::delay::DelaySense;
use super::epoch::Report;
use super::loss::LossSense;
use super::swell::Swell;
use crate::time::{Duration, Time};

/// Part of the missing queue that one control interval makes good. The answer to a change shows two epochs
/// later; an integrator with that delay is stable, without ringing, up to about 0.37.
const REFILL: f64 = 0.3;
/// Part of the excess queue that one control interval takes away.
const RELIEF: f64 = 0.8;
/// Slower sending when every packet is marked CE. A mark says that there is a queue, and the marker is quick: little
/// by little is enough.
const MARK_RELIEF: f64 = 0.15;
/// Slowest sending while a queue is drained, as a part of the estimated rate.
const LEAST_GAIN: f64 = 0.5;
/// The same, when the queue has not moved for several epochs.
const LEAST_GAIN_STUBBORN: f64 = 0.25;
/// Fastest probing.
const MOST_PUSH: f64 = 0.5;
/// Fastest probing while the session lets another path probe, or while a policer is believed in.
const HELD_PUSH: f64 = 0.02;
/// From this push on the path counts as probing.
pub(super) const PROBING_PUSH: f64 = 0.05;
/// Epochs without a queue before the push doubles from epoch to epoch; the effect of a push needs two to show.
const DRY_EPOCHS: u32 = 2;
/// Memory of the rate, in control intervals.
const RATE_MEMORY: f64 = 3.5;
/// Time between drains, which let the floor of the delay be seen; in that time the floor cannot drift by more
/// than one standing queue.
const DRAIN_EVERY: Duration = Duration::from_millis(2_500);
/// The same in epochs, so that long paths do not drain all the time.
const DRAIN_EVERY_EPOCHS: u32 = 10;

#[derive(Clone, Debug)]
pub(super) struct Steady {
    /// Pacing rate as a part of `rate`; the present one and the two before it.
    gains: [f64; 3],
    pub dry: u32,
    /// Epochs in a row with an excessive queue.
    pub high: u32,
    drain: Drain,
    last_served: f64,
    swell: Swell,
}

/// What the law looks at.
pub(super) struct Inputs<'a> {
    pub report: &'a Report,
    pub delay: &'a DelaySense,
    pub loss: &'a LossSense,
    /// Queue delay to aim for, without noise, seconds.
    pub target: f64,
    /// Estimated rate before this epoch, bytes per second.
    pub rate: f64,
    pub min_rtt: f64,
    pub probe_allowed: bool,
}

impl Inputs<'_> {
    /// Queue delay at which an epoch's minimum should lie on average.
    pub(super) fn aim(&self) -> f64 {
        self.target + self.delay.bias()
    }

    /// Queue delay that our own control would not have caused.
    pub(super) fn excessive(&self) -> f64 {
        let own = self.aim() + self.target.max(0.03 * self.interval().min(0.2));
        own + 3.0 * self.delay.noise()
    }

    /// Seconds over which a correction is spread.
    pub(super) fn interval(&self) -> f64 {
        self.report.span.max(self.min_rtt)
    }

    /// Part of the packets lost in this epoch.
    pub(super) fn loss_now(&self) -> f64 {
        self.report.lost / (self.report.acked + self.report.lost).max(1.0)
    }

    /// Rate that the link served in the epoch.
    pub(super) fn served(&self) -> f64 {
        self.report.acked / self.report.span / (1.0 - self.loss.made_up())
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
            swell: Swell::new(),
        }
    }

    pub(super) fn gain(&self) -> f64 {
        self.gains[0]
    }

    /// Change of the queue delay that our sending should have caused in an epoch of `span` seconds: what is
    /// acknowledged in it was sent in the epoch before.
    pub(super) fn expected_change(&self, span: f64) -> f64 {
        (self.gains[1] - 1.0) * span
    }

    /// The last pushes were taken by the link without a queue.
    pub(super) fn found_room(&self) -> bool {
        self.dry > DRY_EPOCHS || self.swell.has_room()
    }

    pub(super) fn step(&mut self, i: &Inputs<'_>, rate: &mut f64) {
        let queue = i.delay.queue();
        self.high = if i.delay.latest() > i.excessive() { self.high + 1 } else { 0 };
        self.update_rate(i, queue, rate);
        // What was sent in this epoch is still on its way, and will change the queue by so much.
        let pending = (self.gains[0] - 1.0) * i.report.span;
        let gain = self.next_gain(i, queue, pending);
        self.gains = [gain, self.gains[0], self.gains[1]];
    }

    fn update_rate(&mut self, i: &Inputs<'_>, queue: f64, rate: &mut f64) {
        let served = i.served();
        let last = core::mem::replace(&mut self.last_served, served);
        if self.high > 0 {
            return self.update_rate_in_overload(i, served, last, rate);
        }
        let unrestrained = i.report.sent_rate > 0.97 * *rate;
        let filled = queue > 0.3 * i.target + i.delay.bias() || i.delay.is_noisy() && unrestrained;
        let busy = filled && !i.report.app_limited;
        // A push that finds something is followed at once; else the average of a few epochs counts, of more if it scatters.
        let found = served > *rate && self.found_room();
        let (memory, looseness) = if found { (0.3, 3.0) } else { (RATE_MEMORY, 30.0) };
        let scatter = i.delay.noise() / i.interval();
        let weight = 1.0 - (-i.report.span / (i.interval() * (memory + looseness * scatter))).exp();
        if served > *rate || busy {
            // A link that was busy all the time served what it can.
            *rate += (served - *rate) * weight;
        }
    }

    /// With a queue that does not come from our control, the link is slower than believed if the queue is
    /// growing, and as fast as it looks if it is shrinking; if it stands, it may not be a queue.
    fn update_rate_in_overload(&mut self, i: &Inputs<'_>, served: f64, last: f64, rate: &mut f64) {
        let noise = 2.0 * i.delay.noise() / i.interval();
        // With noise one epoch may be short of arrivals by chance; the better of two is not.
        let seen = if noise > 0.02 { served.max(last) } else { served };
        let sent = i.report.sent_rate;
        if sent > served * (1.03 + noise) {
            *rate = rate.min(seen);
        } else if served > sent * (1.03 + noise) && self.high > 1 {
            *rate = seen;
        }
    }

    fn next_gain(&mut self, i: &Inputs<'_>, queue: f64, pending: f64) -> f64 {
        let (aim, interval) = (i.aim(), i.interval());
        let marks = MARK_RELIEF * i.report.ce;
        if self.high > 0 {
            self.swell.interrupt();
        } else if i.delay.is_noisy()
            && let Some(gain) = self.swell.step(i)
        {
            self.dry = 0;
            self.drain = Drain::new(i.report.now);
            return gain - marks;
        }
        if queue > aim {
            self.dry = 0;
            let least = if self.high > 4 { LEAST_GAIN_STUBBORN } else { LEAST_GAIN };
            let excess = queue + pending - aim;
            return (1.0 - RELIEF * excess / interval - marks).clamp(least, 1.0);
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
        (1.0 + self.push(i, queue, pending) - marks).max(LEAST_GAIN)
    }

    fn push(&mut self, i: &Inputs<'_>, queue: f64, pending: f64) -> f64 {
        let missing = i.aim() - queue;
        let is_dry = queue < 0.5 * i.target + 0.5 * i.delay.bias() && i.report.ce == 0.0;
        self.dry = if is_dry && !i.report.app_limited { self.dry + 1 } else { 0 };
        if i.delay.is_noisy() {
            // Then a missing queue may be noise, and finding room is the swell's business.
            self.dry = 0;
            return (REFILL * missing.clamp(0.0, 2.0 * i.target) / i.interval()).min(HELD_PUSH);
        }
        let doublings = self.dry.saturating_sub(DRY_EPOCHS).min(16);
        let most = if i.probe_allowed && !i.loss.is_policed() { MOST_PUSH } else { HELD_PUSH };
        // While dry, what is pending did not help so far.
        let counted = if doublings > 0 { missing } else { missing - pending };
        let base = REFILL * counted.min(2.0 * i.target) / i.interval();
        (base * f64::from(1u32 << doublings)).min(most)
    }
}

/// Letting the queue run dry for a moment, so that the delay of an empty path stays known. If that shows a shorter path
/// than was known, the queue was longer than it seemed, and the next drain comes soon and goes twice as deep.
#[derive(Clone, Copy, Debug)]
struct Drain {
    last: Time,
    epochs: u32,
    /// Floor of the delay and round trip before the last drain.
    floor: f64,
    min_rtt: f64,
    /// How far beyond the queue's apparent end the last drain went, in targets.
    depth: f64,
}

/// Epochs after which a drain has shown what it can.
const DRAIN_SHOWS: u32 = 4;
/// Deepest drain, in targets.
const MAX_DEPTH: f64 = 32.0;

impl Drain {
    fn new(now: Time) -> Self {
        Drain { last: now, epochs: 0, floor: 0.0, min_rtt: 0.0, depth: 1.0 }
    }

    /// End of an epoch; how far to drain beyond the apparent end of the queue if a drain is due, in seconds.
    fn step(&mut self, i: &Inputs<'_>) -> Option<f64> {
        self.epochs += 1;
        let fell = (self.floor - i.delay.floor()).max(self.min_rtt - i.min_rtt);
        let hidden = self.epochs == DRAIN_SHOWS && fell > 0.5 * self.depth * i.target;
        let due = i.report.now.since(self.last) >= DRAIN_EVERY && self.epochs >= DRAIN_EVERY_EPOCHS;
        if !due && !hidden {
            return None;
        }
        let depth = if hidden { (2.0 * self.depth).min(MAX_DEPTH) } else { 1.0 };
        let (floor, min_rtt) = (i.delay.floor(), i.min_rtt);
        *self = Drain { last: i.report.now, epochs: 0, floor, min_rtt, depth };
        Some(depth * i.target + i.delay.noise())
    }
}
