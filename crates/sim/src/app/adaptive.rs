//! HTTP adaptive streaming: segments of video, each at the quality that the last ones allowed (MF-32).
//!
//! The rule is rate-based, with a bound by the buffer: the best quality whose bit rate is at most 0.8 times the harmonic mean of the
//! last five segments' download rates (the estimator of FESTIVE, Jiang et al., CoNEXT 2012); the lowest at the beginning
//! and while less than a third of a segment is buffered. A segment is asked for when the one before is complete and at most
//! [`BUFFER_SEGMENTS`] are buffered. Playing begins with the first complete segment; a buffer that runs empty is a stall, which
//! ends with the next complete one.

use super::stream::{Io, Orders, REQUEST_BYTES, StreamApp};
use ropewalk_air::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Segments that a player keeps ahead at most.
pub(super) const BUFFER_SEGMENTS: u32 = 2;
/// Share of the estimated rate that is used.
const SAFETY: f64 = 0.8;
/// Downloads that the estimate looks back on.
const HISTORY: usize = 5;

/// The player.
#[derive(Debug)]
pub struct Player {
    orders: Orders,
    /// Bit rates on offer, ascending.
    qualities: Vec<u64>,
    segment: Duration,
    history: VecDeque<f64>,
    quality: usize,
    left: u64,
    asked: Option<Time>,
    first: Option<Time>,
    /// When the buffer will be empty; none before playing has begun.
    empty_at: Option<Time>,
    next: Option<Time>,
    stopped: bool,
}

impl Player {
    /// A player of segments of this length at these bit rates, bits per second.
    pub fn new(orders: Orders, mut qualities: Vec<u64>, segment: Duration) -> Player {
        qualities.sort_unstable();
        Player {
            orders,
            qualities,
            segment,
            history: VecDeque::with_capacity(HISTORY),
            quality: 0,
            left: 0,
            asked: None,
            first: None,
            empty_at: None,
            next: None,
            stopped: false,
        }
    }

    fn buffered(&self, now: Time) -> Duration {
        self.empty_at.map_or(Duration::ZERO, |at| at - now)
    }

    fn choose(&self, now: Time) -> usize {
        if self.history.is_empty() || self.buffered(now) < self.segment / 3 {
            return 0;
        }
        let inverse: f64 = self.history.iter().map(|bps| 1.0 / bps).sum();
        let allowed = SAFETY * self.history.len() as f64 / inverse;
        self.qualities.iter().rposition(|q| *q as f64 <= allowed).unwrap_or(0)
    }

    fn segment_bytes(&self) -> u64 {
        let bits = u128::from(self.qualities[self.quality]) * self.segment.as_nanos() / 1_000_000_000;
        (bits / 8) as u64
    }

    fn ask(&mut self, io: &mut Io<'_>) {
        let quality = self.choose(io.now);
        io.record.counts.switches += u64::from(self.first.is_some() && quality != self.quality);
        self.quality = quality;
        self.first.get_or_insert(io.now);
        (self.asked, self.left, self.next) = (Some(io.now), self.segment_bytes(), None);
        self.orders.borrow_mut().push_back(self.left);
        io.write += REQUEST_BYTES;
        io.record.last = Some(io.now);
    }

    fn complete(&mut self, io: &mut Io<'_>, asked: Time) {
        let took = (io.now - asked).max(Duration::from_nanos(1));
        io.record.on_response(took);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(self.segment_bytes() as f64 * 8.0 / took.as_secs_f64());
        let counts = &mut io.record.counts;
        counts.segments += 1;
        counts.bitrate_sum += self.qualities[self.quality];
        match self.empty_at {
            None => io.record.startup = self.first.map(|first| io.now - first),
            Some(empty) if empty < io.now => {
                counts.freezes += 1;
                counts.frozen_ns += (io.now - empty).as_nanos() as u64;
            }
            Some(_) => {}
        }
        self.empty_at = Some(self.empty_at.unwrap_or(io.now).max(io.now) + self.segment);
        // The next is asked for as soon as there is room for it.
        let full = self.segment * BUFFER_SEGMENTS;
        let wait = (self.buffered(io.now) + self.segment).saturating_sub(full);
        self.next = Some(io.now + wait);
    }
}

impl StreamApp for Player {
    fn on_progress(&mut self, io: &mut Io<'_>) {
        if io.got > 0 {
            io.record.on_bytes(io.now, io.got);
        }
        if let Some(asked) = self.asked {
            self.left = self.left.saturating_sub(io.got);
            if self.left == 0 {
                self.asked = None;
                self.complete(io, asked);
            }
        }
        let due = self.next.is_none_or(|at| at <= io.now);
        if io.established && self.asked.is_none() && due && !self.stopped {
            self.ask(io);
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next.filter(|_| !self.stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::FlowRecord;

    /// Plays for `seconds` over a pipe whose rate is a function of time.
    fn play(seconds: u64, rate_bps: impl Fn(u64) -> u64) -> FlowRecord {
        let mut record = FlowRecord::default();
        let qualities = [5, 10, 15, 20].map(|m| m * 1_000_000).to_vec();
        let mut player = Player::new(Orders::default(), qualities, Duration::from_secs(30));
        let mut waiting = 0;
        for tenth in 0..seconds * 10 {
            let got = (rate_bps(tenth / 10) / 80).min(waiting);
            waiting -= got;
            let now = Time::from_millis(tenth * 100);
            let mut io =
                Io { now, established: true, got, write: 0, close: false, abort: false, record: &mut record };
            player.on_progress(&mut io);
            if io.write > 0 {
                waiting += player.orders.borrow_mut().pop_front().unwrap();
            }
        }
        record
    }

    #[test]
    fn quality_follows_the_rate() {
        let r = play(600, |_| 16_000_000);
        let w = r.counts;
        // 0.8 · 16 = 12.8 Mb/s allows 10 Mb/s; the first segment is the lowest.
        assert_eq!((w.switches, w.freezes), (1, 0));
        assert_eq!(w.bitrate_sum, 5_000_000 + (w.segments - 1) * 10_000_000);
        assert!(r.startup.unwrap() > Duration::from_secs(9));
    }

    #[test]
    fn a_collapse_freezes_the_picture_and_lowers_the_quality() {
        let w = play(600, |s| if (100..300).contains(&s) { 2_000_000 } else { 40_000_000 }).counts;
        assert!(w.freezes >= 1 && w.frozen_ns > 20_000_000_000, "{w:?}");
        assert!(w.switches >= 3, "{w:?}");
    }
}
