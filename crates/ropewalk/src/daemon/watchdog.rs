//! Telling systemd that the loop is alive, and all loops where there are several.

use super::workers::Workers;
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

    /// Gives the sign if it is due, and no other loop stands still.
    pub(crate) fn on_timer(&mut self, now: Time, workers: Option<&Workers>) {
        let Some(every) = self.every.filter(|_| now >= self.next) else { return };
        self.next = now + every;
        if workers.is_none_or(|w| w.is_first() && w.have_turned()) {
            service::alive();
        }
    }
}
