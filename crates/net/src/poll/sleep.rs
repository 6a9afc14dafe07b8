//! Noticing that the machine was asleep.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

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

#[cfg(test)]
mod tests {
    use super::super::{Events, Interest, Poller};
    use super::*;
    use std::time::Duration;

    /// Neither sleep nor another time of day can be had in a test.
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
