//! Somebody else's queue: telling it from a route that became longer, and holding our own in it.
//!
//! Our own queue empties within a few epochs when we send less. One that does not is either no queue at all
//! (the route has changed; its delay stands still, whatever we do) or is kept up by a flow that only yields to
//! loss. Against the latter a delay-aware controller would starve, so while it lasts the path follows CUBIC, as
//! Copa's competitive mode follows AIMD (Arun and Balakrishnan, NSDI 2018, §2.2), and every few seconds it sends
//! less for a moment (an *ebb*) to see whether the queue empties now.

use super::steady::Inputs;
use crate::cc::cubic::{Cubic, CubicLaw};
use crate::cc::{Ack, Controller, Loss};
use crate::time::{Duration, Time};

/// Epochs of an excessive queue before a rival is suspected.
const PATIENCE_EPOCHS: u32 = 8;
/// Least time of it: shorter disturbances are the machine's.
const PATIENCE: f64 = 0.1;
/// A queue that fell by less than this part of what our restraint should have drained is none.
const UNMOVED: f64 = 0.12;
/// Time from one ebb to the next.
const EBB_EVERY: Duration = Duration::from_secs(3);
/// Sending during an ebb, as a part of the delivered rate.
const EBB_GAIN: f64 = 0.5;
/// Longest ebb, epochs.
const EBB_EPOCHS: u32 = 6;

/// A stretch of excessive queue, or an ebb: how the queue answers to our restraint.
#[derive(Clone, Copy, Debug)]
struct Watch {
    since: Time,
    queue: f64,
    /// Seconds of queue that should be gone by now, were it ours alone.
    drained: f64,
    last: f64,
    /// Epochs in a row in which the queue stood still.
    still: u32,
}

/// What a watched stretch turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not known yet.
    Open,
    /// The delay does not depend on us: the route is longer now.
    Longer,
    /// Somebody keeps the queue up.
    Rival,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Suspicion {
    watch: Option<Watch>,
    epochs: u32,
}

impl Suspicion {
    /// Take in an epoch with an excessive queue.
    pub(super) fn on_high(&mut self, i: &Inputs<'_>) -> Verdict {
        let queue = i.delay.latest();
        let now = i.report.now;
        let fresh = Watch { since: now, queue, drained: 0.0, last: queue, still: 0 };
        let w = self.watch.get_or_insert(fresh);
        self.epochs += 1;
        if queue > w.queue {
            // Judge from the peak on.
            (w.queue, w.drained) = (queue, 0.0);
        }
        w.drained += (1.0 - i.report.sent_rate / i.rate).max(0.0) * i.report.span;
        let same = 0.0005 + 0.03 * queue + 2.0 * i.delay.noise();
        w.still = if (queue - w.last).abs() < same { w.still + 1 } else { 0 };
        w.last = queue;
        // Judge only once a lot should have gone.
        let restraint = w.drained.min(w.queue);
        let enough = (0.3 * queue).max(10.0 * i.delay.noise()).max(0.2 * i.interval());
        if w.still >= 2 && restraint > enough && (w.queue - queue) < UNMOVED * restraint {
            return Verdict::Longer;
        }
        let long = now.since(w.since).as_secs_f64() >= PATIENCE;
        if self.epochs >= PATIENCE_EPOCHS && long { Verdict::Rival } else { Verdict::Open }
    }

    /// The queue is ordinary again.
    pub(super) fn clear(&mut self) {
        *self = Suspicion::default();
    }
}

/// Holding our own against a rival.
#[derive(Clone, Debug)]
pub(super) struct Contest {
    cubic: Cubic,
    last_ebb: Time,
    ebb: Option<u32>,
    /// Largest queue delay seen lately, seconds.
    peak: f64,
    low: u32,
}

impl Contest {
    pub(super) fn new(now: Time, mtu: u64, rate: f64, rtt: f64) -> Self {
        let mut cubic = Cubic::new(CubicLaw::default(), mtu);
        cubic.start_at((rate * rtt) as u64, Duration::from_secs_f64(rtt));
        // The first ebb comes soon, in case the suspicion was wrong.
        Contest { cubic, last_ebb: now - EBB_EVERY * 2 / 3, ebb: None, peak: 0.0, low: 0 }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64) {
        self.peak = self.peak.max(queue);
        if self.ebb.is_none() {
            self.cubic.on_ack(ack, &[]);
        }
    }

    pub(super) fn on_loss(&mut self, loss: &Loss, queue: f64) {
        // With half the usual queue nothing overflows: a random loss.
        if queue > 0.5 * self.peak || loss.persistent {
            self.cubic.on_loss(loss, &[]);
        }
    }

    /// End of an epoch; true when the queue is ours again.
    pub(super) fn step(&mut self, i: &Inputs<'_>) -> bool {
        let empty = i.delay.latest() < i.aim() + 0.5 * (i.excessive() - i.aim());
        self.low = if empty { self.low + 1 } else { 0 };
        self.peak *= 0.98;
        match &mut self.ebb {
            Some(epochs) => {
                *epochs += 1;
                if *epochs > EBB_EPOCHS {
                    self.ebb = None;
                    self.last_ebb = i.report.now;
                }
            }
            None if i.report.now.since(self.last_ebb) >= EBB_EVERY => self.ebb = Some(0),
            None => {}
        }
        self.low >= 2 || (empty && self.ebb.is_some())
    }

    pub(super) fn window(&self) -> u64 {
        self.cubic.window()
    }

    /// Pacing rate in bytes per second, given the rate at which the path delivers.
    pub(super) fn pace(&self, delivered: f64) -> f64 {
        match self.ebb {
            Some(_) => EBB_GAIN * delivered,
            None => self.cubic.pacing_rate_bps().map_or(delivered, |bps| bps as f64 / 8.0),
        }
    }
}
