//! What the low-latency class may send ahead of all else.

use ropewalk_time::Time;

/// A token bucket.
#[derive(Debug)]
pub(super) struct Budget {
    tokens: u64,
    at: Time,
}

impl Budget {
    /// A full one, of `burst` bytes.
    pub(super) fn full(burst: u64) -> Self {
        Budget { tokens: burst, at: Time::ZERO }
    }

    /// Takes `len` bytes, if there are so many: it fills at `rate`, bytes per second, and holds `burst` at most.
    pub(super) fn take(&mut self, now: Time, len: u64, rate: u64, burst: u64) -> bool {
        let idle = now.since(self.at).as_micros().min(1_000_000) as u64;
        let refill = idle.saturating_mul(rate) / 1_000_000;
        // What is less than a byte is left for the next time.
        if refill > 0 {
            (self.tokens, self.at) = ((self.tokens + refill).min(burst), now);
        }
        let enough = self.tokens >= len;
        if enough {
            self.tokens -= len;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_its_burst_and_then_its_rate_however_often_it_is_asked() {
        let mut budget = Budget::full(3000);
        let taken =
            (0..1_000_000).filter(|us| budget.take(Time::from_micros(*us), 100, 50_000, 3000)).count();
        assert!((525..=530).contains(&taken), "3,000 bytes and 50,000: {taken}");
    }
}
