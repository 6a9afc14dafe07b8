//! Waking a poller from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that any thread can make readable (`eventfd(2)`). Share it in an `Arc`.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A waker that nobody has woken yet.
    pub fn new() -> io::Result<Self> {
        Ok(Waker(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // The only failure is a count that would overflow, and then it is readable.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable again; call it before looking at what the wake-up was for.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
