//! Real time, told as the time of a scenario.

use std::time::{Duration, Instant};

use ropewalk_air::Time;

/// A run's clock: zero is when the scenario begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begin: Instant,
}

impl Clock {
    /// Zero is `begin`, which may still be to come.
    pub(super) fn new(begin: Instant) -> Clock {
        Clock { begin }
    }

    /// The present; zero before the beginning.
    pub(super) fn now(&self) -> Time {
        Time::ZERO + self.begin.elapsed()
    }

    /// How long until then; zero if that is past.
    pub(super) fn until(&self, at: Time) -> Duration {
        let since_begin = at - Time::ZERO;
        (self.begin + since_begin).saturating_duration_since(Instant::now())
    }
}
