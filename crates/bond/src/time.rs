//! Time as the engine sees it: integer nanoseconds on one monotonic clock that the driver reads.

use core::ops::{Add, AddAssign, Sub};
pub use core::time::Duration;

/// A point on the driver's monotonic clock, in nanoseconds since an epoch of the driver's choice.
///
/// The engine never reads a clock. A driver passes `Time` in and must never pass one smaller than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The driver's epoch.
    pub const ZERO: Time = Time(0);
    /// Later than any time a driver can pass: "no timer is set".
    pub const NEVER: Time = Time(u64::MAX);

    /// The time `ns` nanoseconds after the epoch.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }

    /// The time `us` microseconds after the epoch.
    pub const fn from_micros(us: u64) -> Self {
        Time(us * 1_000)
    }

    /// The time `ms` milliseconds after the epoch.
    pub const fn from_millis(ms: u64) -> Self {
        Time(ms * 1_000_000)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.as_nanos() as u64))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, d: Duration) -> Time {
        Time(self.0.saturating_sub(d.as_nanos() as u64))
    }
}
