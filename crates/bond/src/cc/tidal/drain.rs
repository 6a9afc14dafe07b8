//! Emptying the queue now and then, so that the delay of an empty path stays known.

use super::steady::Inputs;
use crate::time::{Duration, Time};

/// Time between drains. A base delay that holds for ten seconds then rests on several of them, and cannot creep up by the
/// standing queue itself.
const DRAIN_EVERY: Duration = Duration::from_millis(2_500);
/// The same in intervals, so that long paths do not drain all the time.
const DRAIN_EVERY_INTERVALS: u32 = 10;
/// Intervals after which a drain has shown what it can.
const DRAIN_SHOWS: u32 = 4;
/// Deepest drain, in targets.
const MAX_DEPTH: f64 = 32.0;

/// Letting the queue run dry for a moment, so that the delay of an empty path stays known. If that shows a shorter path
/// than was known, the queue was longer than it seemed, and the next drain comes soon and goes twice as deep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    last: Time,
    intervals: u32,
    /// Floor of the delay and round trip before the last drain.
    floor: f64,
    min_rtt: f64,
    /// How far beyond the queue's apparent end the last drain went, in targets.
    depth: f64,
}

impl Drain {
    pub(super) fn new(now: Time) -> Self {
        Drain { last: now, intervals: 0, floor: 0.0, min_rtt: 0.0, depth: 1.0 }
    }

    /// End of a monitor interval; how far to drain beyond the apparent end of the queue if a drain is due, in seconds.
    pub(super) fn step(&mut self, i: &Inputs<'_>) -> Option<f64> {
        self.intervals += 1;
        let fell = (self.floor - i.delay.floor()).max(self.min_rtt - i.min_rtt);
        let hidden = self.intervals == DRAIN_SHOWS && fell > 0.5 * self.depth * i.base_target;
        let due = i.report.now.since(self.last) >= DRAIN_EVERY && self.intervals >= DRAIN_EVERY_INTERVALS;
        if !due && !hidden {
            return None;
        }
        let depth = if hidden { (2.0 * self.depth).min(MAX_DEPTH) } else { 1.0 };
        let (floor, min_rtt) = (i.delay.floor(), i.min_rtt);
        *self = Drain { last: i.report.now, intervals: 0, floor, min_rtt, depth };
        Some(depth * i.base_target + i.delay.noise())
    }
}
