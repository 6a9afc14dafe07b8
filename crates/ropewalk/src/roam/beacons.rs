//! Beacons of an access point: for how long there was none.

use std::time::Duration;

/// A look is late after this long: the loop goes round every 200 ms.
const LATE: Duration = Duration::from_millis(400);
/// Beacons that have to be counted before their absence says anything.
const LEAST_BEACONS: u64 = 5;
/// A report of the kernel that beacons or packets are lost counts for this long.
const REPORTED: Duration = Duration::from_secs(2);

/// Beacons that were counted.
#[derive(Debug, Default)]
pub(super) struct Beacons {
    first: Option<u64>,
    last: u64,
    at: Duration,
    looked: Duration,
    /// When the kernel last reported by itself that something is lost.
    reported: Option<Duration>,
}

impl Beacons {
    /// From now on some are to come.
    pub(super) fn begin(&mut self, now: Duration) {
        self.at = now;
    }

    /// The kernel reports by itself that beacons or packets are lost.
    pub(super) fn on_loss(&mut self, now: Duration) {
        self.reported = Some(now);
    }

    /// Takes the driver's counter; none: it does not count them.
    pub(super) fn count(&mut self, beacons: Option<u64>, now: Duration) {
        // Time in which nobody looked is no silence: this process stood still, or the machine.
        let gap = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        if gap > LATE {
            self.at = (self.at + gap).min(now);
        }
        let Some(count) = beacons else { return };
        self.first.get_or_insert(count);
        if count != self.last {
            (self.last, self.at) = (count, now);
        }
    }

    pub(super) fn are_reported_lost(&self, now: Duration) -> bool {
        self.reported.is_some_and(|at| now.saturating_sub(at) < REPORTED)
    }

    /// Since the last one; nothing where they are not counted.
    pub(super) fn silence(&self, now: Duration) -> Duration {
        let counted = self.first.is_some_and(|first| self.last.saturating_sub(first) >= LEAST_BEACONS);
        if counted { now.saturating_sub(self.at) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn silence_counts_only_where_beacons_were_counted() {
        let mut beacons = Beacons::default();
        let mut look = |from: u64, to: u64, count: fn(u64) -> Option<u64>| {
            (from / 100..to / 100).for_each(|n| beacons.count(count(n), ms(n * 100)));
            beacons.silence(ms(to)).as_millis()
        };
        assert_eq!(look(0, 9_000, |_| None), 0);
        assert_eq!(look(9_000, 10_000, Some), 100);
        assert_eq!(look(10_000, 10_800, |_| Some(99)), 900);
        assert_eq!(look(10_800, 10_900, Some), 100);
        // Nobody looked for five seconds: the silence of 200 ms goes on.
        assert_eq!(look(10_900, 11_000, |_| Some(108)), 200);
        assert_eq!(look(16_000, 16_100, |_| Some(108)), 200);
    }

    #[test]
    fn a_loss_that_the_kernel_reports_counts_for_a_while_also_where_nothing_is_counted() {
        let mut beacons = Beacons::default();
        assert!(!beacons.are_reported_lost(ms(0)));
        beacons.reported = Some(ms(5_000));
        let lost = [5_000, 6_900, 7_000, 60_000].map(|at| beacons.are_reported_lost(ms(at)));
        assert_eq!(lost, [true, true, false, false]);
        assert_eq!(beacons.silence(ms(60_000)), ms(0));
    }
}
