//! How acknowledgements pause: by the path's nature, and now and then.

use crate::filter::WindowedMax;
use ropewalk_time::{Duration, Time};

/// How long the longest gap counts.
const LONGEST_WINDOW: Duration = Duration::from_secs(2);
/// Longest gap that counts. Seconds.
const MAX_GAP: f64 = 0.05;
/// Seconds of gaps that the usual one is found from, and from how many on.
const MEMORY: f64 = 1.0;
const KNOWN: f64 = 0.3;
/// A gap of so many usual ones, and so many seconds more, is a pause if what came after it had
/// waited for this part of it: the path stood still. What only its acknowledgement was late for
/// had waited in no queue.
const PAUSE: f64 = 4.0;
const PAUSE_LEAST: f64 = 0.002;
const WAITED: f64 = 0.5;

/// Gaps between acknowledgements, and between the arrivals that they tell of. Seconds.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    /// ns.
    longest: WindowedMax,
    /// The same, with pauses cut short.
    ordinary: WindowedMax,
    sum: f64,
    squares: f64,
}

impl Gaps {
    pub(super) fn new() -> Self {
        let lately = WindowedMax::new(LONGEST_WINDOW);
        Gaps { longest: lately, ordinary: lately, sum: 0.0, squares: 0.0 }
    }

    /// A gap between acknowledgements; arrivals `paused` for so long. What came after it had waited
    /// in a queue for `queue` seconds.
    pub(super) fn add(&mut self, now: Time, gap: Duration, paused: Duration, queue: f64) {
        self.longest.update(now, gap.as_nanos() as u64);
        let paused = paused.as_secs_f64();
        let ordinary = gap.as_secs_f64() - self.still(paused, queue);
        self.ordinary.update(now, (ordinary.max(0.0) * 1e9) as u64);
        let kept = libm::exp(-paused / MEMORY);
        self.sum = self.sum * kept + paused;
        self.squares = self.squares * kept + paused * paused;
    }

    /// How much of a gap the path stood still for, beyond what it always does.
    pub(super) fn still(&self, gap: f64, queue: f64) -> f64 {
        if queue < WAITED * gap || self.sum < KNOWN {
            0.0
        } else {
            (gap - PAUSE * self.usual() - PAUSE_LEAST).max(0.0)
        }
    }

    /// The longest lately, pauses and all.
    pub(super) fn longest(&self) -> f64 {
        (self.longest.get().unwrap_or(0) as f64 * 1e-9).min(MAX_GAP)
    }

    /// The longest lately without pauses.
    pub(super) fn ordinary(&self) -> f64 {
        (self.ordinary.get().unwrap_or(0) as f64 * 1e-9).min(MAX_GAP)
    }

    /// The gap that a moment falls into on average. Where deliveries come in lumps it is the time
    /// between two, and a pause now and then hardly moves it.
    fn usual(&self) -> f64 {
        if self.sum > 0.0 { self.squares / self.sum } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gaps of two seconds: `long` each `every` seconds, `queue` for what comes after them, and
    /// `short` ones between them.
    fn seen(short: f64, (long, queue): (f64, f64), every: f64) -> Gaps {
        let (mut gaps, mut now, mut due) = (Gaps::new(), 0.0, every);
        while now < 2.0 {
            let is_due = now >= due;
            let (gap, queue) = if is_due { (long, queue) } else { (short, 0.0) };
            due += if is_due { every } else { 0.0 };
            now += gap;
            let gap = Duration::from_secs_f64(gap);
            gaps.add(Time::from_nanos((now * 1e9) as u64), gap, gap, queue);
        }
        gaps
    }

    #[test]
    fn a_pause_is_longer_than_what_a_path_does_all_the_time() {
        // 20 ms of each half a second are a pause, 18 ms of each 20 are how the path delivers.
        let rare = seen(0.0002, (0.02, 0.02), 0.5);
        assert!(rare.usual() < 0.002 && rare.still(0.02, 0.02) > 0.01, "{rare:?}");
        assert!(rare.longest() > 0.0199 && rare.ordinary() < 0.01, "{rare:?}");
        let lumps = seen(0.0002, (0.018, 0.018), 0.02);
        assert!(lumps.usual() > 0.014 && lumps.still(0.018, 0.018) == 0.0, "{lumps:?}");
    }

    #[test]
    fn acknowledgements_that_were_late_are_no_pause_of_the_path() {
        let late = seen(0.0002, (0.02, 0.001), 0.5);
        assert!(late.still(0.02, 0.001) == 0.0 && late.ordinary() > 0.0199, "{late:?}");
    }
}
