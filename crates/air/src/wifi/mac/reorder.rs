//! The receiver's side of a Block Ack agreement: MPDUs are handed on in order (802.11-2020, 10.25.6.6).

use std::collections::VecDeque;

use super::frame::{seq_add, seq_diff};
use super::queue::Content;
use crate::Time;
use crate::wifi::phy::Rate;
use crate::wifi::phy::duration::BLOCK_ACK_WINDOW;

/// An MPDU that has come.
#[derive(Debug, Clone)]
pub(crate) struct Arrived<T> {
    pub(crate) content: Content<T>,
    pub(crate) rate: Rate,
    pub(crate) signal_dbm: f64,
}

/// Puts MPDUs of one sender and category in order.
#[derive(Debug)]
pub(crate) struct Reorder<T> {
    /// The next sequence number to hand on.
    start: u16,
    /// What has come of `start`, `start` + 1, …
    held: VecDeque<Option<Arrived<T>>>,
    /// Since when the head has been missing while others waited.
    pub(crate) waiting_since: Option<Time>,
    /// A chore watches over it.
    pub(crate) is_watched: bool,
    /// Without an agreement: the last sequence number, by which retries are told from new frames (10.3.2.14).
    pub(crate) last_seq: Option<u16>,
    /// The same for management frames.
    pub(crate) last_management: Option<u16>,
}

impl<T> Default for Reorder<T> {
    fn default() -> Reorder<T> {
        Reorder {
            start: 0,
            held: VecDeque::new(),
            waiting_since: None,
            is_watched: false,
            last_seq: None,
            last_management: None,
        }
    }
}

impl<T> Reorder<T> {
    /// Whether this MPDU has come already, or is not waited for any more.
    pub(crate) fn has(&self, seq: u16) -> bool {
        match usize::try_from(seq_diff(seq, self.start)) {
            Ok(ahead) => self.held.get(ahead).is_some_and(Option::is_some),
            Err(_) => true,
        }
    }

    /// Takes an MPDU that has not come before. `out` gets what may be handed on now, in order.
    pub(crate) fn insert(&mut self, now: Time, seq: u16, arrived: Arrived<T>, out: &mut Vec<Arrived<T>>) {
        let mut ahead = seq_diff(seq, self.start);
        if ahead < 0 {
            return;
        }
        if ahead >= i32::from(BLOCK_ACK_WINDOW) {
            self.move_to(now, seq_add(seq, 4096 + 1 - BLOCK_ACK_WINDOW), out);
            ahead = seq_diff(seq, self.start);
        }
        if ahead == 0 {
            out.push(arrived);
            self.start = seq_add(self.start, 1);
            self.held.pop_front();
        } else {
            let place = ahead as usize;
            if self.held.len() <= place {
                self.held.resize_with(place + 1, || None);
            }
            self.held[place] = Some(arrived);
        }
        self.drain(now, out);
    }

    /// The sender does not go back before `start`: what is missing before it is given up.
    pub(crate) fn move_to(&mut self, now: Time, start: u16, out: &mut Vec<Arrived<T>>) {
        for _ in 0..seq_diff(start, self.start).max(0) {
            out.extend(self.held.pop_front().flatten());
            self.start = seq_add(self.start, 1);
        }
        self.drain(now, out);
    }

    /// Gives up the head that is missing, up to the first that has come.
    pub(crate) fn skip_missing(&mut self, now: Time, out: &mut Vec<Arrived<T>>) {
        let missing = self.held.iter().take_while(|slot| slot.is_none()).count();
        self.move_to(now, seq_add(self.start, missing as u16), out);
    }

    fn drain(&mut self, now: Time, out: &mut Vec<Arrived<T>>) {
        while let Some(Some(_)) = self.held.front() {
            out.extend(self.held.pop_front().flatten());
            self.start = seq_add(self.start, 1);
        }
        if self.held.iter().all(Option::is_none) {
            self.held.clear();
            self.waiting_since = None;
        } else if !out.is_empty() || self.waiting_since.is_none() {
            self.waiting_since = Some(now);
        }
    }

    /// Which of 64 MPDUs from `start` on have come (9.3.1.8.2).
    pub(crate) fn bitmap(&self, start: u16) -> u64 {
        (0..BLOCK_ACK_WINDOW).filter(|&n| self.has(seq_add(start, n))).fold(0, |bits, n| bits | 1 << n)
    }
}
