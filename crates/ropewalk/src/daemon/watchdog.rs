//! Telling systemd that the loop is alive.

use ropewalk_net::service;
use ropewalk_time::{Duration, Time};

/// When the next sign of life is due.
#[derive(Debug)]
pub(crate) struct Watchdog {
    every: Option<Duration>,
    next: Time,
}

impl Watchdog {
    /// As often as systemd asks for in the environment; never if it does not.
    pub(crate) fn new(now: Time) -> Watchdog {
        let every = service::alive_interval();
        Watchdog { every, next: if every.is_some() { now } else { Time::NEVER } }
    }

    /// When [`Watchdog::on_timer`] is due.
    pub(crate) fn due(&self) -> Time {
        self.next
    }

    /// Gives the sign if it is due.
    pub(crate) fn on_timer(&mut self, now: Time) {
        if let Some(every) = self.every.filter(|_| now >= self.next) {
            service::alive();
            self.next = now + every;
        }
    }
}
