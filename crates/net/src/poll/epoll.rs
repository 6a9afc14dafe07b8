//! epoll with nanosecond timeouts.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

/// What to wait for on a descriptor. Level triggered: it is reported again until it is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Something to read, or room to write.
    ReadWrite,
    /// Room to write.
    Write,
    /// Nothing but its end.
    Nothing,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Interest::Read => EventFlags::IN,
            Interest::ReadWrite => EventFlags::IN | EventFlags::OUT,
            Interest::Write => EventFlags::OUT,
            Interest::Nothing => EventFlags::empty(),
        }
    }
}

/// A descriptor that has something for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The number it was added with.
    pub token: u64,
    /// It can be read; also set on an error, which the read then reports.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
}

/// Room for the answers to one wait.
pub struct Events {
    list: Vec<libc::epoll_event>,
    filled: usize,
}

impl Events {
    /// Room for `capacity` descriptors at a time, at least one; more than that wait for the next call.
    pub fn new(capacity: usize) -> Self {
        Events { list: vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)], filled: 0 }
    }

    /// What the last wait found.
    pub fn iter(&self) -> impl Iterator<Item = Ready> + '_ {
        const READABLE: u32 = (libc::EPOLLIN | libc::EPOLLERR | libc::EPOLLHUP) as u32;
        self.list[..self.filled].iter().map(|event| Ready {
            token: event.u64,
            readable: event.events & READABLE != 0,
            writable: event.events & libc::EPOLLOUT as u32 != 0,
        })
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Whether the kernel knows `epoll_pwait2` (5.11) and its sandbox lets us call it.
    precise: AtomicBool,
}

impl Poller {
    /// A new instance. Also tells the kernel that this thread's timers may not be late for the sake of saving
    /// power: the usual slack is 50 µs, more than the spacing of paced packets. Threads started by this one
    /// inherit that.
    pub fn new() -> io::Result<Self> {
        // Where a sandbox forbids it, timers are late and everything still works.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)?, precise: AtomicBool::new(true) })
    }

    /// Starts to watch `fd`, reporting it as `token`. Dropping the descriptor ends the watch.
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), interest.flags())?)
    }

    /// Changes what is waited for.
    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(token), interest.flags())?)
    }

    /// Stops watching `fd`.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits until a descriptor is ready or `timeout` has passed; without a timeout for as long as it takes.
    /// A signal ends the wait early, with no events.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.filled = 0;
        if self.precise.load(Ordering::Relaxed) {
            match self.wait_precisely(events, timeout) {
                // A sandbox that does not know the call answers EPERM.
                Err(Errno::NOSYS | Errno::PERM) => self.precise.store(false, Ordering::Relaxed),
                outcome => return finish(events, outcome),
            }
        }
        let outcome = self.wait_coarsely(events, timeout);
        finish(events, outcome)
    }

    fn wait_precisely(&self, events: &mut Events, timeout: Option<Duration>) -> Result<usize, Errno> {
        let limit = timeout.map(|t| rustix::time::Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: t.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the list has room for as many events as we say; `limit` is null or points to the kernel's
        // 64-bit timespec, which rustix's type is on every platform; a null signal mask is allowed.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                events.list.as_mut_ptr(),
                events.list.len() as libc::c_int,
                limit,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        usize::try_from(n).map_err(|_| last_error())
    }

    /// Milliseconds, rounded up so that a timer has run out when we return.
    fn wait_coarsely(&self, events: &mut Events, timeout: Option<Duration>) -> Result<usize, Errno> {
        let millis = timeout.map_or(-1, |t| {
            libc::c_int::try_from(t.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
        });
        // SAFETY: the list has room for as many events as we say.
        let n = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.list.as_mut_ptr(),
                events.list.len() as libc::c_int,
                millis,
            )
        };
        usize::try_from(n).map_err(|_| last_error())
    }
}

fn finish(events: &mut Events, outcome: Result<usize, Errno>) -> io::Result<()> {
    match outcome {
        Ok(n) => events.filled = n,
        Err(Errno::INTR) => {}
        Err(e) => return Err(e.into()),
    }
    Ok(())
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::super::Waker;
    use super::*;
    use crate::clock::now;

    fn waits(poller: &Poller, time: Duration) -> Duration {
        let mut events = Events::new(4);
        let before = now();
        poller.wait(&mut events, Some(time)).unwrap();
        assert_eq!(events.iter().count(), 0);
        now().since(before)
    }

    #[test]
    fn timeouts_are_finer_than_a_millisecond() {
        let poller = Poller::new().unwrap();
        let shortest = (0..50).map(|_| waits(&poller, Duration::from_micros(200))).min().unwrap();
        assert!(shortest >= Duration::from_micros(200), "{shortest:?}");
        assert!(shortest < Duration::from_micros(900), "{shortest:?}");
    }

    #[test]
    fn the_old_call_rounds_up() {
        let poller = Poller::new().unwrap();
        poller.precise.store(false, Ordering::Relaxed);
        assert!(waits(&poller, Duration::from_micros(200)) >= Duration::from_micros(200));
    }

    #[test]
    fn a_waker_wakes_once_however_often_it_is_asked() {
        let (poller, waker) = (Poller::new().unwrap(), Waker::new().unwrap());
        poller.add(&waker, 7, Interest::Read).unwrap();
        waker.wake();
        waker.wake();
        let mut events = Events::new(4);
        poller.wait(&mut events, None).unwrap();
        let expected = Ready { token: 7, readable: true, writable: false };
        assert_eq!(events.iter().collect::<Vec<_>>(), [expected]);
        waker.clear();
        assert!(waits(&poller, Duration::ZERO) < Duration::from_secs(1));
    }
}
