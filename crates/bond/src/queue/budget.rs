//! What the low-latency class may send ahead of all else.

use ropewalk_time::Time;

/// Parts of a byte that are counted: a rate in bytes per second is one in parts per microsecond.
const PARTS: u64 = 1_000_000;

/// A token bucket.
#[derive(Debug)]
pub(super) struct Budget {
    parts: u64,
    at: Time,
}

impl Budget {
    /// A full one, of `burst` bytes.
    pub(super) fn full(burst: u64) -> Self {
        Budget { parts: burst * PARTS, at: Time::ZERO }
    }

    /// Takes `len` bytes, if there are so many: it fills at `rate`, bytes per second, and holds
    /// `burst` at most.
    pub(super) fn take(&mut self, now: Time, len: u64, rate: u64, burst: u64) -> bool {
        let idle = now.since(self.at).as_micros().min(1_000_000) as u64;
        // What is less than a microsecond is left for the next time.
        if idle > 0 {
            let refilled = self.parts.saturating_add(idle.saturating_mul(rate));
            (self.parts, self.at) = (refilled.min(burst * PARTS), now);
        }
        let left = self.parts.checked_sub(len * PARTS);
        self.parts = left.unwrap_or(self.parts);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_its_burst_and_then_its_rate_however_often_it_is_asked() {
        // Of the second rate a microsecond brings three tenths of a byte.
        for (rate, want) in [(50_000, 525..=530), (300_000, 3025..=3030)] {
            let mut budget = Budget::full(3000);
            let taken =
                (0..1_000_000).filter(|us| budget.take(Time::from_micros(*us), 100, rate, 3000)).count();
            assert!(want.contains(&taken), "3,000 bytes and {rate}: {taken}");
        }
    }
}
