//! Reading the queue from delays that also jitter.

use crate::cc::filter::WindowedMin;
use crate::time::{Duration, Time};

/// How long the smallest delay counts as "no queue". Long enough to hold several drains (see
/// [`super::steady`]), short enough to accept a route that became longer.
const FLOOR_WINDOW: Duration = Duration::from_secs(10);
/// How many standard deviations above its smallest value the per-epoch minimum of an *empty* queue lies: the
/// expected distance from the mean to the minimum of the some dozens of epochs that the floor looks back on.
const FLOOR_BIAS: f64 = 2.0;
/// Mean absolute difference of two independent normal samples, to their standard deviation: √π / 2.
const DIFFERENCE_TO_SIGMA: f64 = 0.886;

/// The queue delay as per-epoch minima show it. Seconds.
#[derive(Clone, Debug)]
pub(super) struct DelaySense {
    floor: WindowedMin,
    last: Option<f64>,
    /// Standard deviation of a per-epoch minimum for reasons other than our own sending.
    noise: f64,
    smooth: f64,
    above: f64,
}

impl DelaySense {
    pub(super) fn new() -> Self {
        DelaySense { floor: WindowedMin::new(FLOOR_WINDOW), last: None, noise: 0.0, smooth: 0.0, above: 0.0 }
    }

    /// Take in the smallest queue delay of an epoch. `expected` is the change that our own sending should have
    /// caused; `calm` says that it is a fair guess (no overload, no startup), so the rest is noise.
    pub(super) fn update(&mut self, now: Time, queue: f64, expected: f64, calm: bool, target: f64) {
        let floor = self.floor.update(now, (queue * 1e9) as u64) as f64 * 1e-9;
        let above = (queue - floor).max(0.0);
        if let Some(last) = self.last {
            let guess = (last + expected).max(floor);
            let surprise = (queue - guess).abs() * DIFFERENCE_TO_SIGMA;
            if calm {
                // One surprise is a queue of somebody else's; only repeated ones are noise.
                let bounded = surprise.min(3.0 * self.noise + 0.5 * target);
                self.noise += (bounded - self.noise) / 8.0;
            }
        }
        self.last = Some(queue);
        self.above = above;
        let weight = (target / (target + 2.0 * self.noise)).clamp(0.2, 1.0);
        self.smooth += (above - self.smooth) * if calm { weight } else { 1.0 };
    }

    /// The present queue delay is what an empty queue looks like now: the route has changed.
    pub(super) fn rebase(&mut self, now: Time) {
        if let Some(last) = self.last {
            self.floor.clear();
            self.floor.update(now, (last * 1e9) as u64);
            self.smooth = 0.0;
            self.above = 0.0;
        }
    }

    /// Queue delay, smoothed as far as noise demands.
    pub(super) fn queue(&self) -> f64 {
        self.smooth
    }

    /// Queue delay of the last epoch.
    pub(super) fn latest(&self) -> f64 {
        self.above
    }

    /// What an empty queue reads at least.
    pub(super) fn floor(&self) -> f64 {
        self.floor.get().unwrap_or(0) as f64 * 1e-9
    }

    /// See the field.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// What an empty queue reads on average, because of noise.
    pub(super) fn bias(&self) -> f64 {
        FLOOR_BIAS * self.noise
    }
}
