//! Somebody else's queue: telling it from a route that became longer, and holding our own in it.
//!
//! Our own queue empties within a few intervals when we send less. One that does not is either no
//! queue at all (the route has changed; its delay stands still, whatever we do) or is kept up by a
//! flow that only yields to loss. Against the latter a delay-aware controller would starve, so
//! while it lasts the path follows CUBIC, as Copa's competitive mode follows AIMD (Arun and
//! Balakrishnan, NSDI 2018, §2.2). Every few seconds it sends less for a moment (a *yield test*)
//! and looks how the queue answers: only that ends competitive mode, since a queue that is short
//! for a while is what a competing flow's own back-off makes.

use super::steady::Inputs;
use crate::cubic::{Cubic, CubicLaw};
use crate::{Ack, Controller, Loss};
use ropewalk_time::{Duration, Time};

/// Intervals of an excessive queue before a competing flow is suspected.
const PATIENCE_INTERVALS: u32 = 12;
/// Least time of it: shorter disturbances are the machine's.
const PATIENCE: f64 = 0.4;
/// Intervals in a row of an excessive queue that mean a competing flow, however little we held
/// back.
const STUBBORN: u32 = 20;
/// Our restraint must have been enough to drain the queue so many times.
const THOROUGH: f64 = 1.5;
/// A queue that fell by less than this part of what our restraint should have drained is none.
const UNMOVED: f64 = 0.12;
/// Time from one yield test to the next.
const TEST_EVERY: Duration = Duration::from_secs(4);
/// From the beginning of competitive mode to its first yield test: soon, in case the suspicion was
/// wrong. Also the least time between two tests.
const FIRST_TEST: Duration = Duration::from_secs(1);
/// Least sending during a yield test, as a part of the delivered rate.
const TEST_GAIN: f64 = 0.5;
/// A yield test drains so much of the queue in an interval, were it ours alone; and no less than
/// this part of the interval, or it would not show.
const TEST_PART: f64 = 0.5;
const LEAST_PART: f64 = 0.1;
/// Longest yield test, intervals: long enough for another Tidal to follow.
const TEST_INTERVALS: u32 = 5;
/// A queue of our own falls by at least this part of our restraint, interval after interval. Beside
/// a flow with a window it falls once, by less, and stands: that flow is acknowledged faster.
const OURS: f64 = 0.8;
/// So many intervals of that are proof.
const SURE: u32 = 2;
/// Somebody else who yields without a loss is another Tidal in a yield test: a fall of this part of
/// an interval, for no reason of ours. Two that test at once find the queue theirs, and both leave.
const OTHERS: f64 = 0.04;
/// Time with an ordinary queue after which competitive mode is over in any case.
const LOW: Duration = Duration::from_millis(500);

/// A stretch of excessive queue, or a yield test: how the queue answers to our restraint.
#[derive(Clone, Copy, Debug)]
struct Watch {
    since: Time,
    queue: f64,
    /// Seconds of queue that should be gone since its peak, were it ours alone.
    drained: f64,
    /// The same since the beginning.
    total: f64,
    last: f64,
    /// Intervals in a row in which the queue stood still.
    still: u32,
}

/// What a watched stretch turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Diagnosis {
    /// Not known yet.
    Open,
    /// The delay does not depend on us: the route is longer now.
    Longer,
    /// Somebody keeps the queue up.
    Competitor,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Suspicion {
    watch: Option<Watch>,
    intervals: u32,
    /// Of those, intervals in a row with an excessive queue.
    excessive: u32,
}

impl Suspicion {
    /// Take in a monitor interval with a queue longer than we want it.
    pub(super) fn on_long_queue(&mut self, i: &Inputs<'_>) -> Diagnosis {
        let queue = i.delay.latest();
        let now = i.report.now;
        let fresh = Watch { since: now, queue, drained: 0.0, total: 0.0, last: queue, still: 0 };
        let w = self.watch.get_or_insert(fresh);
        self.intervals += 1;
        if queue > w.queue {
            // Judge from the peak on.
            (w.queue, w.drained) = (queue, 0.0);
        }
        let restraint =
            if i.is_restrained() { (1.0 - i.report.sent_rate / i.rate) * i.report.span } else { 0.0 };
        w.drained += restraint;
        w.total += restraint;
        let same = 0.0005 + 0.03 * queue + 2.0 * i.delay.noise();
        w.still = if (queue - w.last).abs() < same { w.still + 1 } else { 0 };
        w.last = queue;
        // Judge only once a lot should have gone.
        let restraint = w.drained.min(w.queue);
        let enough = (0.3 * queue).max(10.0 * i.delay.noise()).max(0.2 * i.interval());
        if w.still >= 2 && restraint > enough && (w.queue - queue) < UNMOVED * restraint {
            return Diagnosis::Longer;
        }
        let thorough = w.total > THOROUGH * (queue - i.target());
        self.excessive = if queue > i.excessive() { self.excessive + 1 } else { 0 };
        if self.excessive >= STUBBORN {
            return Diagnosis::Competitor;
        }
        let patient = self.intervals >= PATIENCE_INTERVALS && now.since(w.since).as_secs_f64() >= PATIENCE;
        if patient && thorough { Diagnosis::Competitor } else { Diagnosis::Open }
    }

    /// The queue is ordinary again.
    pub(super) fn clear(&mut self) {
        *self = Suspicion::default();
    }
}

/// Sending less for a moment to see whose queue it is.
#[derive(Clone, Copy, Debug)]
struct YieldTest {
    /// Delivered rate before it.
    rate: f64,
    /// Sending, as a part of that.
    gain: f64,
    intervals: u32,
    /// Intervals running in which the queue fell as one of our own does. From [`SURE`] on it is
    /// emptied.
    ours: u32,
}

/// Holding our own against a competing flow.
#[derive(Clone, Debug)]
pub(super) struct Competition {
    cubic: Cubic,
    next_test: Time,
    test: Option<YieldTest>,
    /// When it last was in a test.
    tested: Time,
    /// When the queue was last longer than our control would make it.
    low_since: Time,
    /// Of the interval before.
    last_queue: f64,
    last_lost: bool,
}

impl Competition {
    pub(super) fn new(now: Time, mtu: u64, rate: f64, rtt: f64) -> Self {
        let mut cubic = Cubic::new(CubicLaw::default(), mtu);
        cubic.start_at((rate * rtt) as u64, Duration::from_secs_f64(rtt));
        Competition {
            cubic,
            next_test: now + FIRST_TEST,
            test: None,
            tested: now,
            low_since: now,
            last_queue: 0.0,
            last_lost: true,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if self.test.is_none() {
            self.cubic.on_ack(ack, &[]);
        }
    }

    pub(super) fn on_loss(&mut self, loss: &Loss) {
        self.cubic.on_loss(loss, &[]);
    }

    /// It sends less on purpose, so what it is served is not its share.
    pub(super) fn is_testing(&self) -> bool {
        self.test.is_some()
    }

    /// End of a monitor interval; true when the queue is ours again, and empty.
    pub(super) fn step(&mut self, i: &Inputs<'_>) -> bool {
        let (queue, now) = (i.delay.latest(), i.report.now);
        let fell = core::mem::replace(&mut self.last_queue, queue) - queue;
        let lost = i.report.lost > 0.0;
        let no_loss = !core::mem::replace(&mut self.last_lost, lost) && !lost;
        if i.is_long() {
            self.low_since = now;
        }
        let Some(test) = &mut self.test else {
            let others = no_loss && fell > OTHERS * i.interval() + 4.0 * i.delay.noise();
            let follows = others && now.since(self.tested) > FIRST_TEST;
            if now.since(self.low_since) > LOW {
                self.test = Some(YieldTest { rate: i.served(), gain: TEST_GAIN, intervals: 0, ours: SURE });
            } else if (now >= self.next_test || follows) && !lost {
                self.begin_test(i, queue);
            }
            return false;
        };
        self.tested = now;
        let restraint = (1.0 - i.report.sent_rate / test.rate) * i.report.span;
        let shows = restraint > 0.5 * (1.0 - test.gain) * i.report.span;
        if test.ours >= SURE {
            // The queue is emptied, so that the base delay is known.
            test.gain = TEST_GAIN;
            return shows && fell < 0.5 * restraint;
        }
        test.intervals += 1;
        test.ours = if shows && fell > OURS * restraint { test.ours + 1 } else { 0 };
        if test.intervals >= TEST_INTERVALS && test.ours < SURE {
            self.test = None;
            self.next_test = now + TEST_EVERY;
        }
        false
    }

    /// A queue too short to be drained for two intervals tells nothing.
    fn begin_test(&mut self, i: &Inputs<'_>, queue: f64) {
        let part = TEST_PART * queue / i.interval();
        if part > LEAST_PART {
            let gain = 1.0 - part.min(1.0 - TEST_GAIN);
            self.test = Some(YieldTest { rate: i.served(), gain, intervals: 0, ours: 0 });
        }
    }

    pub(super) fn window(&self) -> u64 {
        self.cubic.window()
    }

    /// Pacing rate in bytes per second; `None` when the window alone should rule.
    pub(super) fn pace(&self) -> Option<f64> {
        match self.test {
            Some(test) => Some(test.gain * test.rate),
            None => self.cubic.pacing_rate_bps().map(|bps| bps as f64 / 8.0),
        }
    }
}
