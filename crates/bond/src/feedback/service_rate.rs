//! How fast a link gets rid of what it holds, while it is served.

use ropewalk_time::{Duration, Time};
use std::collections::VecDeque;

/// Completions are counted over this long for a rate: some A-MPDUs.
const WINDOW: Duration = Duration::from_millis(20);
/// The best of the last so many windows is the rate: 16 are 0.3 s, after which a link that became slow is known to be. A mean over the time in which a
/// competitor silences the link would let it hold half an aggregate in the other half.
const WINDOWS: usize = 16;

/// The service rate of one link, in bytes: datagrams are of unlike length, and a rate of short ones would let a link hold too many long ones.
#[derive(Debug, Default)]
pub(super) struct ServiceRate {
    since: Time,
    bytes: u64,
    /// Nothing was outstanding at some moment of the window: its rate is that of what came in.
    starved: bool,
    rates: VecDeque<f64>,
    best: f64,
}

impl ServiceRate {
    /// The link is rid of `bytes` more.
    pub(super) fn on_completed(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// Ends the window if it is over; `is_empty`: the link holds nothing now.
    pub(super) fn update(&mut self, now: Time, is_empty: bool) {
        self.starved |= is_empty;
        let over = now.since(self.since);
        if over < WINDOW {
            return;
        }
        let rate = self.bytes as f64 / over.as_secs_f64();
        if !self.starved || rate > self.best {
            if self.rates.len() == WINDOWS {
                self.rates.pop_front();
            }
            self.rates.push_back(rate);
            self.best = self.rates.iter().copied().fold(0.0, f64::max);
        }
        (self.since, self.bytes, self.starved) = (now, 0, is_empty);
    }

    /// Bytes per second; 0 before anything was served.
    pub(super) fn rate(&self) -> f64 {
        self.best
    }
}
