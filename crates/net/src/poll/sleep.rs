//! Noticing that the machine was asleep.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::{Interest, Poller};
use crate::clock;

/// Readable once the machine has slept, or somebody has set the time of day. A poller's timeouts stand
/// still in sleep (`CLOCK_MONOTONIC`), so a timer that ran out meanwhile would be late by what was left.
///
/// It is a timer that never runs out and is cancelled by such a jump (`TFD_TIMER_CANCEL_ON_SET`,
/// timerfd_create(2)): unlike one on `CLOCK_BOOTTIME` it is set once and not at each wait.
#[derive(Debug)]
pub struct SleepWatch(OwnedFd);

impl SleepWatch {
    /// Notices from now on.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        let never = Timespec { tv_sec: i64::MAX, tv_nsec: 0 };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: never };
        let is_cancelled = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&timer, is_cancelled, &once)?;
        Ok(SleepWatch(timer))
    }

    /// The same, told to `poller` under this number; none where the kernel has no such thing.
    pub fn told_to(poller: &Poller, token: u64) -> Option<Self> {
        let watch = SleepWatch::new();
        let watch = watch.and_then(|watch| poller.add(&watch, token, Interest::Read).map(|()| watch));
        if let Err(error) = &watch {
            tracing::debug!(%error, "timers are late after the machine has slept");
        }
        watch.ok()
    }

    /// Makes the descriptor unreadable again, until the next time.
    pub fn clear(&self) {
        // Reading says that the timer was cancelled, as an error.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for SleepWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Counts how long the machine sleeps, which somebody who sets the time of day does not change.
#[derive(Debug)]
pub struct Slept(Duration);

impl Slept {
    /// Counts from now on.
    pub fn from_now() -> Self {
        Slept(clock::asleep())
    }

    /// How long that was since it was asked last.
    pub fn take(&mut self) -> Duration {
        self.count(clock::asleep())
    }

    fn count(&mut self, asleep: Duration) -> Duration {
        let slept = asleep.saturating_sub(self.0);
        self.0 = self.0.max(asleep);
        slept
    }
}

#[cfg(test)]
mod tests {
    use super::super::Events;
    use super::*;
    use std::os::fd::AsRawFd;

    /// A test cannot sleep, nor set the time of day: what the kernel was asked for is what it does
    /// then.
    #[test]
    fn the_kernel_is_to_cancel_the_timer_when_the_machine_wakes() {
        let watch = SleepWatch::new().unwrap();
        let at = format!("/proc/self/fdinfo/{}", watch.as_fd().as_raw_fd());
        let timer = std::fs::read_to_string(at).unwrap();
        // CLOCK_REALTIME, and TFD_TIMER_ABSTIME with TFD_TIMER_CANCEL_ON_SET.
        assert!(timer.contains("clockid: 0\n") && timer.contains("settime flags: 03\n"), "{timer}");
    }

    #[test]
    fn a_sleep_counts_once_and_a_clock_that_is_read_late_does_not() {
        let (mut slept, ms) = (Slept(Duration::from_secs(100)), Duration::from_millis);
        let counted = [100_000, 99_999, 100_000, 160_000, 159_000, 160_001].map(|at| slept.count(ms(at)));
        assert_eq!(counted, [0, 0, 0, 60_000, 0, 1].map(ms));
    }

    #[test]
    fn a_machine_that_stays_awake_wakes_nobody() {
        let (poller, watch) = (Poller::new().unwrap(), SleepWatch::new().unwrap());
        poller.add(&watch, 1, Interest::Read).unwrap();
        let mut events = Events::new(1);
        for _ in 0..2 {
            poller.wait(&mut events, Some(Duration::from_millis(1))).unwrap();
            assert_eq!(events.iter().count(), 0);
            watch.clear();
        }
    }
}
