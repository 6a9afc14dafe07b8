//! Extremes over a sliding window of time.
//!
//! Three candidates are kept, each the best of the part of the window that follows the one before it, so a
//! window costs three words however many samples it saw. The idea is Kathleen Nichols's (as used by Linux
//! `lib/minmax.c` and by draft-ietf-ccwg-bbr §2.4); the answer is exact for the best, and late by at most a
//! part of the window when a best expires.

use ropewalk_time::{Duration, Time};

/// A value and when it was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    value: u64,
    at: Time,
}

/// Best, second best and third best of a window, by a caller-supplied order.
#[derive(Clone, Copy, Debug)]
struct Top3 {
    best: [Sample; 3],
    empty: bool,
}

impl Top3 {
    const fn new() -> Self {
        Top3 { best: [Sample { value: 0, at: Time::ZERO }; 3], empty: true }
    }

    fn update(&mut self, at: Time, value: u64, window: Duration, not_worse: fn(u64, u64) -> bool) -> u64 {
        let new = Sample { value, at };
        let stale = at.since(self.best[2].at) > window;
        if self.empty || stale || not_worse(value, self.best[0].value) {
            self.best = [new; 3];
            self.empty = false;
            return value;
        }
        if not_worse(value, self.best[1].value) {
            self.best[1] = new;
            self.best[2] = new;
        } else if not_worse(value, self.best[2].value) {
            self.best[2] = new;
        }
        self.age(new, window);
        self.best[0].value
    }

    /// Drop what fell out of the window, and refresh runners-up that are as old as the best: a runner-up from
    /// the same moment would expire together with it.
    fn age(&mut self, new: Sample, window: Duration) {
        let age = new.at.since(self.best[0].at);
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if new.at.since(self.best[0].at) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at == self.best[1].at && age > window / 2 {
            self.best[2] = new;
        }
    }
}

macro_rules! windowed {
    ($(#[$doc:meta])* $name:ident, $op:tt) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            window: Duration,
            top: Top3,
        }

        impl $name {
            /// A filter that remembers for `window`.
            pub const fn new(window: Duration) -> Self {
                $name { window, top: Top3::new() }
            }

            /// Take in a sample seen at `now` and return the extreme of the window. Time must not go back.
            pub fn update(&mut self, now: Time, value: u64) -> u64 {
                self.top.update(now, value, self.window, |new, old| new $op old)
            }

            /// The extreme as of the last update; `None` before the first.
            pub fn get(&self) -> Option<u64> {
                (!self.top.empty).then_some(self.top.best[0].value)
            }

            /// Change how long samples count, from the next update on.
            pub fn set_window(&mut self, window: Duration) {
                self.window = window;
            }

            /// Forget everything.
            pub fn clear(&mut self) {
                self.top = Top3::new();
            }
        }
    };
}

windowed!(
    /// The largest value of the last `window`.
    WindowedMax, >=
);
windowed!(
    /// The smallest value of the last `window`.
    WindowedMin, <=
);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn empty_has_no_answer() {
        assert_eq!(WindowedMax::new(Duration::from_secs(1)).get(), None);
    }

    #[test]
    fn best_is_kept_for_the_window_and_no_longer() {
        let mut f = WindowedMax::new(Duration::from_millis(100));
        f.update(ms(0), 10);
        for t in 1..=100 {
            assert_eq!(f.update(ms(t), 5), 10, "at {t} ms");
        }
        assert_eq!(f.update(ms(101), 5), 5);
    }

    #[test]
    fn never_wrong_by_more_than_the_window_allows() {
        // Against the plain definition, on a pseudo-random walk: the filter may forget early runners-up, so it
        // must lie between the extreme of the last quarter window and that of the whole window.
        let mut f = WindowedMin::new(Duration::from_millis(40));
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let mut x = 12_345u64;
        for t in 0..5_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let v = (x >> 33) % 1_000;
            seen.push((t, v));
            let got = f.update(ms(t), v);
            let min_over = |span: u64| seen.iter().filter(|s| s.0 + span >= t).map(|s| s.1).min().unwrap();
            assert!(got >= min_over(40) && got <= min_over(10), "at {t}: {got}");
        }
    }

    #[test]
    fn long_silence_forgets_all() {
        let mut f = WindowedMin::new(Duration::from_millis(10));
        f.update(ms(0), 1);
        assert_eq!(f.update(ms(500), 9), 9);
        f.clear();
        assert_eq!(f.get(), None);
    }
}
