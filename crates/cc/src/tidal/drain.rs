//! Emptying the queue now and then, so that the delay of an empty path stays known.

use super::steady::Inputs;
use ropewalk_time::{Duration, Time};

/// Time between drains. A base delay that holds for ten seconds then rests on several of them, and cannot creep up by the
/// standing queue itself.
const DRAIN_EVERY: Duration = Duration::from_millis(2_500);
/// The same in intervals, so that long paths do not drain all the time.
const DRAIN_EVERY_INTERVALS: u32 = 10;
/// Letting the queue run dry for a moment, so that the delay of an empty path stays known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    last: Time,
    intervals: u32,
}

impl Drain {
    pub(super) fn new(now: Time) -> Self {
        Drain { last: now, intervals: 0 }
    }

    /// End of a monitor interval; how far to drain beyond the apparent end of the queue if a drain
    /// is due, in seconds.
    pub(super) fn step(&mut self, i: &Inputs<'_>) -> Option<f64> {
        self.intervals += 1;
        let due = i.report.now.since(self.last) >= DRAIN_EVERY && self.intervals >= DRAIN_EVERY_INTERVALS;
        due.then(|| {
            *self = Drain::new(i.report.now);
            i.base_target + i.delay.noise()
        })
    }
}
