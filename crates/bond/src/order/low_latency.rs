//! Low-latency flows: nothing is held, only duplicates are found.

use super::delivered::{Delivered, REMEMBERED};
use crate::wire::seq_after;
use ropewalk_time::Time;

/// The newest packets of one low-latency flow.
#[derive(Debug)]
pub(super) struct Duplicates {
    newest: u32,
    seen: Delivered,
    /// When the last packet came.
    pub used: Time,
}

impl Duplicates {
    /// Nothing has come yet; `first` is about to.
    pub(super) fn new(first: u32, now: Time) -> Duplicates {
        Duplicates { newest: first.wrapping_sub(1) & 0xff_ffff, seen: Delivered::NONE, used: now }
    }

    /// Takes note of a packet. `false`: it came before.
    pub(super) fn is_new(&mut self, seq: u32, now: Time) -> bool {
        self.used = now;
        let ahead = seq_after(seq, self.newest);
        if let Ok(passed) = u32::try_from(ahead)
            && passed > 0
        {
            self.seen.fill(self.newest.wrapping_add(1), passed, false);
            self.newest = seq;
        } else if ahead <= -(REMEMBERED as i32) {
            // Too old to know; late is better than never.
            return true;
        }
        let new = !self.seen.has(seq);
        self.seen.fill(seq, 1, true);
        new
    }
}
