//! How acknowledgements pause: by the path's nature, and now and then.

use crate::filter::WindowedMax;
use ropewalk_time::{Duration, Time};

/// How long the longest gap counts.
const LONGEST_WINDOW: Duration = Duration::from_secs(2);
/// Longest gap that the window makes room for. Seconds.
const MAX_GAP: f64 = 0.05;
/// Seconds of gaps that the usual one is found from.
const MEMORY: f64 = 1.0;
/// A gap of so many usual ones, and so many seconds more, is a pause: the path stood still, and
/// what it served meanwhile does not say what it can.
const PAUSE: f64 = 4.0;
const PAUSE_LEAST: f64 = 0.002;

/// Gaps between acknowledgements. Seconds.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    /// ns.
    longest: WindowedMax,
    sum: f64,
    squares: f64,
}

impl Gaps {
    pub(super) fn new() -> Self {
        Gaps { longest: WindowedMax::new(LONGEST_WINDOW), sum: 0.0, squares: 0.0 }
    }

    pub(super) fn add(&mut self, now: Time, gap: Duration) {
        self.longest.update(now, gap.as_nanos() as u64);
        let gap = gap.as_secs_f64();
        let kept = libm::exp(-gap / MEMORY);
        self.sum = self.sum * kept + gap;
        self.squares = self.squares * kept + gap * gap;
    }

    /// The longest lately, pauses and all.
    pub(super) fn longest(&self) -> f64 {
        (self.longest.get().unwrap_or(0) as f64 * 1e-9).min(MAX_GAP)
    }

    /// The gap that a moment falls into on average. Where deliveries come in lumps it is the time
    /// between two, and a pause now and then hardly moves it.
    fn usual(&self) -> f64 {
        if self.sum > 0.0 { self.squares / self.sum } else { 0.0 }
    }

    /// The longest lately that are no pauses.
    pub(super) fn ordinary(&self) -> f64 {
        self.longest().min(self.pause())
    }

    /// From which gap on the path stood still.
    pub(super) fn pause(&self) -> f64 {
        PAUSE * self.usual() + PAUSE_LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gaps of two seconds: `long` each `every` seconds, and `short` between them.
    fn seen(short: f64, long: f64, every: f64) -> Gaps {
        let (mut gaps, mut now, mut due) = (Gaps::new(), 0.0, 0.0);
        while now < 2.0 {
            let gap = if now >= due { long } else { short };
            due = if now >= due { now + every } else { due };
            now += gap;
            gaps.add(Time::from_nanos((now * 1e9) as u64), Duration::from_secs_f64(gap));
        }
        gaps
    }

    #[test]
    fn a_pause_is_longer_than_what_a_path_does_all_the_time() {
        // 20 ms of each half a second are a pause, 18 ms of each 20 are how the path delivers.
        let (rare, lumps) = (seen(0.0002, 0.02, 0.5), seen(0.0002, 0.018, 0.02));
        assert!(rare.usual() < 0.002 && rare.pause() < 0.01, "{rare:?}");
        assert!(lumps.usual() > 0.014 && lumps.pause() > 0.05, "{lumps:?}");
        assert_eq!((rare.longest() * 1e4).round(), 200.0);
    }
}
