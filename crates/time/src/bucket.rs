//! A token bucket, for what anybody may ask of a gateway.

use crate::{Duration, Time};

/// Tokens per time, and how many may be taken at once.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    interval: Duration,
    burst: Duration,
}

impl Rate {
    /// So many tokens a second, and so many at once; each at least one.
    pub const fn new(per_second: u32, burst: u32) -> Rate {
        let interval = 1_000_000_000 / at_least_one(per_second);
        let burst = interval * at_least_one(burst);
        Rate { interval: Duration::from_nanos(interval), burst: Duration::from_nanos(burst) }
    }
}

const fn at_least_one(n: u32) -> u64 {
    if n == 0 { 1 } else { n as u64 }
}

/// A token bucket as one point in time, which each token taken moves on by the time that one takes
/// to come. There is one to take while the point is at most a burst ahead of now. It begins full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket(Time);

impl Bucket {
    /// Takes a token.
    ///
    /// # Errors
    /// There is none; when there will be one.
    pub fn take(&mut self, rate: Rate, now: Time) -> Result<(), Time> {
        let next = self.0.max(now) + rate.interval;
        if next.since(now) > rate.burst {
            return Err(next - rate.burst);
        }
        self.0 = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_a_burst_and_then_the_rate_and_is_told_when() {
        let (rate, mut bucket) = (Rate::new(100, 200), Bucket::default());
        let (mut now, until) = (Time::from_secs(1), Time::from_secs(11));
        let mut taken = 0;
        while now < until {
            match bucket.take(rate, now) {
                Ok(()) => taken += 1,
                Err(at) => {
                    assert!(at > now);
                    now = at;
                }
            }
        }
        assert_eq!(taken, 200 + 100 * 10 - 1, "the last would come at the end");
        assert!(Bucket::default().take(Rate::new(0, 0), now).is_ok());
    }
}
