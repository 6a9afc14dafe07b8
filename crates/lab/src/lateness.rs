//! How late packets were written, after they were due.

use std::fmt;
use std::time::Duration;

/// Steps in each doubling: values are told within 12.5 %.
const STEPS: u32 = 8;
/// Doublings: up to 2^40 ns, 18 minutes.
const DOUBLINGS: u32 = 40;

/// A histogram of spans of time, with buckets that grow with the span.
#[derive(Debug, Clone)]
pub struct Lateness {
    buckets: Vec<u64>,
    count: u64,
    longest: Duration,
    total: Duration,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness {
            buckets: vec![0; (STEPS * DOUBLINGS) as usize],
            count: 0,
            longest: Duration::ZERO,
            total: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Counts one packet.
    pub fn record(&mut self, late: Duration) {
        self.record_all(late, 1);
    }

    /// Counts packets that were equally late.
    pub fn record_all(&mut self, late: Duration, packets: u64) {
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)] += packets;
        self.count += packets;
        self.longest = self.longest.max(late);
        self.total += Duration::from_nanos(nanos.saturating_mul(packets));
    }

    /// Packets counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all spans.
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        self.longest
    }

    /// The span that a share of `share` (0 to 1) of the packets does not exceed, to the next bucket.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (index, packets) in self.buckets.iter().enumerate() {
            seen += packets;
            if seen >= rank && *packets > 0 {
                return Duration::from_nanos(upper(index)).min(self.longest);
            }
        }
        self.longest
    }

    /// Whether the run kept time: 99 % of the packets were not later than `bound`. Figures of a run that did not are
    /// worth nothing.
    pub fn is_within(&self, bound: Duration) -> bool {
        self.quantile(0.99) <= bound
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |d: Duration| d.as_nanos() as f64 / 1e3;
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| us(self.quantile(q)));
        write!(
            f,
            "late by p50 {p50:.0} µs, p99 {p99:.0} µs, p99.9 {p999:.0} µs, max {:.0} µs ({} packets)",
            us(self.longest),
            self.count
        )
    }
}

/// The bucket of a span: linear below `STEPS`, then `STEPS` to each doubling.
fn bucket(nanos: u64) -> usize {
    if nanos < u64::from(STEPS) {
        return nanos as usize;
    }
    let doubling = nanos.ilog2() - STEPS.ilog2();
    let step = (nanos >> doubling) as u32 - STEPS;
    (((doubling + 1) * STEPS + step) as usize).min((STEPS * DOUBLINGS) as usize - 1)
}

/// The longest span of a bucket.
fn upper(index: usize) -> u64 {
    let (doubling, step) = (index as u32 / STEPS, index as u32 % STEPS);
    if doubling == 0 {
        return u64::from(step);
    }
    (u64::from(STEPS + step + 1) << (doubling - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_line() {
        for nanos in (0..5_000).chain([65_535, 65_536, 1 << 39]) {
            let index = bucket(nanos);
            assert!(nanos <= upper(index), "{nanos}");
            assert!(index == 0 || nanos > upper(index - 1), "{nanos}");
        }
    }

    #[test]
    fn quantiles_are_near() {
        let mut late = Lateness::default();
        (1..=1000).for_each(|us| late.record(Duration::from_micros(us)));
        let near = |share: f64, us: f64| {
            let got = late.quantile(share).as_secs_f64() * 1e6;
            assert!((got / us - 1.0).abs() < 0.13, "{share}: {got}");
        };
        near(0.5, 500.0);
        near(0.99, 990.0);
        assert_eq!(late.quantile(1.0), Duration::from_millis(1));
        assert!(late.is_within(Duration::from_millis(1)) && !late.is_within(Duration::from_micros(800)));
    }
}
