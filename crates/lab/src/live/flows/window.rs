//! A receive window of a given size (trap T-19: the window as set is not the window as sent).
//!
//! `SO_RCVBUF` bounds memory, and the kernel advertises the share of it that, by its estimate, will be payload: a half at first, later
//! whatever the packets that come are like. `TCP_WINDOW_CLAMP` does not hold it either. So the buffer is set, the window that the
//! sender sees is looked at (`tcpi_snd_wnd`), and the buffer is set again until the two agree.

use std::os::fd::AsFd;

use super::socket;

/// Looks after which the buffer may be set again: the largest window among them is the one without data that waits to be read.
const LOOKS: u32 = 10;
/// A window that is this close, as a share of it, is let be: less than a segment of most windows.
const CLOSE: f64 = 0.03;

/// Keeps a window.
#[derive(Debug)]
pub(crate) struct WindowKeeper {
    wanted: usize,
    /// What the buffer is set to.
    buffer: usize,
    largest: u32,
    looks: u32,
}

impl WindowKeeper {
    /// A window of so many bytes.
    pub(super) fn new(wanted: usize) -> WindowKeeper {
        WindowKeeper { wanted, buffer: wanted, largest: 0, looks: 0 }
    }

    /// The receiver's connection stands. Its window scale was chosen for a buffer as large as the window, so there is room above; what
    /// is set first is what comes out right where packets are full.
    pub(super) fn begin(&mut self, receiver: impl AsFd) -> rustix::io::Result<()> {
        self.buffer = self.wanted * 4 / 5;
        socket::set_window(receiver, self.buffer)
    }

    /// The sender sees this window. Gives the largest of the last looks when there have been enough of them.
    pub(super) fn look(&mut self, receiver: impl AsFd, seen: u32) -> Option<u32> {
        self.largest = self.largest.max(seen);
        self.looks += 1;
        if self.looks < LOOKS {
            return None;
        }
        let (largest, buffer) = (self.largest, self.next());
        (self.looks, self.largest) = (0, 0);
        if buffer != self.buffer && socket::set_window(receiver, buffer).is_ok() {
            self.buffer = buffer;
        }
        Some(largest)
    }

    /// The buffer that would make the window what is wanted, if the two go with each other.
    fn next(&self) -> usize {
        let ratio = self.wanted as f64 / f64::from(self.largest);
        if self.largest == 0 || (ratio - 1.0).abs() < CLOSE {
            return self.buffer;
        }
        // A window opens as data comes: one that is still small says little of the buffer, so up goes slower than down.
        let next = self.buffer as f64 * ratio.clamp(0.25, 1.25);
        (next as usize).clamp(self.wanted / 4, self.wanted * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_follows_what_the_sender_sees() {
        let keeper = |buffer, largest| WindowKeeper { wanted: 16_384, buffer, largest, looks: LOOKS };
        assert_eq!(keeper(16_384, 24_576).next(), 10_922);
        assert_eq!(keeper(10_922, 16_300).next(), 10_922);
        assert_eq!(keeper(10_922, 0).next(), 10_922);
        // Bounded both ways.
        assert_eq!(keeper(5_000, 1 << 30).next(), 4_096);
        assert_eq!(keeper(32_000, 100).next(), 32_768);
    }
}
