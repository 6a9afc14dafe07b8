//! CoDel (RFC 8289): drop when packets have waited too long for too long.
//!
//! One rule is added: a queue that drains by itself is left alone. RFC 8289 aims at *standing* queues (§2.1); a burst that is on its way out, because a path
//! has just found its rate or TCP has just backed off, is none, and dropping from it is loss without a purpose.

use ropewalk_time::{Duration, Time};

/// How long a packet may wait, and for how long it may be so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Acceptable standing delay (RFC 8289 §4.2).
    pub target: Duration,
    /// Time within which the delay must fall under the target once (§4.3).
    pub interval: Duration,
}

/// The control law's state, one per queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Codel {
    /// Since when the wait is over the target and does not shrink, and the wait then.
    above: Option<(Time, Duration)>,
    next_drop: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// Judges the packet at the head: `true` to drop (or mark) it. `waited` is its time in the queue; `little_left` says that under
    /// one packet stays behind it, when a drop would only idle the link (§5.4).
    pub(crate) fn should_drop(
        &mut self,
        now: Time,
        waited: Duration,
        little_left: bool,
        limits: Limits,
    ) -> bool {
        let over = self.is_over(now, waited, little_left, limits);
        if !self.dropping {
            if over {
                self.enter(now, limits.interval);
            }
            return over;
        }
        if !over {
            self.dropping = false;
            return false;
        }
        if now < self.next_drop {
            return false;
        }
        self.count += 1;
        self.next_drop = control_law(self.next_drop, limits.interval, self.count);
        true
    }

    fn is_over(&mut self, now: Time, waited: Duration, little_left: bool, limits: Limits) -> bool {
        if waited < limits.target || little_left {
            self.above = None;
            return false;
        }
        let (since, then) = *self.above.get_or_insert((now, waited));
        // A capacity that is 3 % over what comes in drains this much per interval.
        if waited + limits.interval / 32 < then {
            self.above = Some((now, waited));
            return false;
        }
        now.since(since) >= limits.interval
    }

    /// Starts dropping, near the last rate that worked if that was not long ago (§5.5).
    fn enter(&mut self, now: Time, interval: Duration) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.next_drop) < interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.next_drop = control_law(now, interval, self.count);
    }
}

/// §3.3: the next drop comes after interval / sqrt(count).
fn control_law(t: Time, interval: Duration, count: u32) -> Time {
    t + Duration::from_nanos((interval.as_nanos() as f64 / f64::from(count).sqrt()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const L: Limits = Limits { target: Duration::from_millis(5), interval: Duration::from_millis(100) };

    #[test]
    fn waits_an_interval_then_drops_ever_faster() {
        let mut c = Codel::default();
        let drops: Vec<u64> = (0..1000)
            .filter(|ms| c.should_drop(Time::from_millis(*ms), Duration::from_millis(20), false, L))
            .collect();
        assert_eq!(drops[0], 100);
        assert!(drops.windows(3).all(|w| w[2] - w[1] <= w[1] - w[0] + 1), "{drops:?}");
        assert!(drops.len() > 10);
    }

    #[test]
    fn a_short_queue_is_left_alone() {
        let mut c = Codel::default();
        assert!((0..5000).all(|ms| !c.should_drop(
            Time::from_millis(ms),
            Duration::from_millis(4),
            false,
            L
        )));
        assert!((0..5000).all(|ms| !c.should_drop(
            Time::from_millis(ms),
            Duration::from_millis(40),
            true,
            L
        )));
    }
}
