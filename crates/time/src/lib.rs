//! The time of engines and models: whole nanoseconds since a beginning that the driver chooses.
//!
//! Pure crates never read a clock. A driver hands in [`Time`], and never one smaller than before.
#![forbid(unsafe_code)]

mod bucket;

pub use bucket::{Bucket, Rate};
use core::fmt;
use core::ops::{Add, AddAssign, Sub};
pub use core::time::Duration;

/// An instant, in whole nanoseconds since the driver's beginning (room for 584 years).
///
/// Arithmetic saturates: [`Time::NEVER`] stands for "no timer is set", and adding to it stays there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the beginning.
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// The instant `us` microseconds after the beginning.
    pub const fn from_micros(us: u64) -> Time {
        Time(us.saturating_mul(1_000))
    }

    /// The instant `ms` milliseconds after the beginning.
    pub const fn from_millis(ms: u64) -> Time {
        Time(ms.saturating_mul(1_000_000))
    }

    /// The instant `s` seconds after the beginning.
    pub const fn from_secs(s: u64) -> Time {
        Time(s.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the beginning.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds since the beginning, for people and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(nanos(span)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(nanos(span)))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// As [`Time::since`].
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturates_at_both_ends() {
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Time::from_secs(1) + Duration::MAX, Time::NEVER);
        assert_eq!(Time::ZERO - Time::from_secs(1), Duration::ZERO);
        assert_eq!(Time::ZERO - Duration::from_secs(1), Time::ZERO);
        assert_eq!(Time::from_millis(1500) - Time::from_secs(1), Duration::from_millis(500));
        assert_eq!(format!("{:?}", Time::from_micros(1_000_001)), "1.000001000s");
    }
}
