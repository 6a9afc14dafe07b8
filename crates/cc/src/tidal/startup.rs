//! Finding the rate of an unknown path: doubling per round trip until a queue shows or the rate stops growing.

use super::monitor::{Report, Swings};
use crate::Ack;
use ropewalk_time::Time;

/// Growth per round trip: pacing at this times the delivered rate. Two is the least that doubles.
pub(super) const GAIN: f64 = 2.0;
/// The same while flows send less than the path would take. TCP in slow start sends each round trip's window as a burst
/// of twice the last; to pace it at twice the rate would delay its end by a round trip, which ends TCP's slow start (HyStart)
/// long before the path is full.
pub(super) const GAIN_SPARSE: f64 = 8.0;

/// A round that grew by less than this has found the rate (BBR, draft-ietf-ccwg-bbr §4.3.1.2).
const GROWTH: f64 = 1.25;

/// On a path that jitters, a queue must exceed this many typical swings of the delay.
const JITTER_ROOM: f64 = 3.0;
/// Rounds before a queue is believed: the first flight leaves as one burst, and is a queue of its own.
const BURST_ROUNDS: u32 = 2;
/// Acknowledgements of a round that must all have met a queue before the round has (HyStart++ wants as many samples). Of a few,
/// each may have been late by chance.
const FULL_ACKS: u32 = 8;
/// A round that loses more than this part, and so many datagrams, has filled the path's queue: random loss is less, or counts less.
const FULL_LOSS: f64 = 0.05;
const FULL_LOST: f64 = 8.0;

/// Rates that differ by less are the same. Sending by so much more than is served makes a queue; intervals of that.
const SAME: f64 = 1.05;
const REFUSED: f64 = 1.1;
const REFUSALS: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct Startup {
    /// Largest delivery rate of the present and of the previous round, bytes per second.
    best: f64,
    previous: f64,
    round_end: Time,
    rounds: u32,
    onset: QueueOnset,
    swings: Swings,
    flat: u32,
    flat_best: f64,
    /// Least queue of the round, and of how many acknowledgements.
    least: f64,
    acks: u32,
    /// Monitor intervals in which the path was sent more and served what it had.
    refused: u32,
    /// Bytes acknowledged and lost in the round.
    acked: f64,
    lost: f64,
}

impl Startup {
    pub(super) fn new() -> Self {
        Startup {
            best: 0.0,
            previous: 0.0,
            round_end: Time::ZERO,
            rounds: 0,
            onset: QueueOnset::new(Time::ZERO),
            swings: Swings::default(),
            flat: 0,
            flat_best: 0.0,
            least: f64::INFINITY,
            acks: 0,
            refused: 0,
            acked: 0.0,
            lost: 0.0,
        }
    }

    /// Rate seen so far, bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.best.max(self.previous)
    }

    /// How much more than the least round trip the window makes room for, seconds. On a path that jitters the least is a lucky one and most
    /// take longer without a queue. A round that did not grow may have been held by the window, and the next gets more.
    pub(super) fn room(&self) -> f64 {
        f64::from(1 + 2 * self.flat) * self.swings.size()
    }

    /// Take in an acknowledgement; true when startup is over. `threshold` is the queue delay, in seconds, that
    /// ends it.
    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64, threshold: f64, mtu: f64) -> bool {
        self.acked += ack.bytes as f64;
        if ack.newest_sent >= self.round_end && self.next_round(ack, threshold, mtu) {
            return true;
        }
        self.least = self.least.min(queue);
        self.acks += 1;
        self.best = self.best.max(ack.delivery_rate_bps as f64 / 8.0);
        self.swings.add(queue);
        let onset = self.onset.on_ack(ack, queue, threshold + JITTER_ROOM * self.swings.size());
        onset && self.rounds > BURST_ROUNDS && !ack.app_limited
    }

    /// Take in a monitor interval; true when startup is over. Flows that are not held back here send in bursts, and each
    /// round begins without a queue. A path that was sent more again and again, and served what it had, is full.
    pub(super) fn on_interval(&mut self, report: &Report, threshold: f64) -> bool {
        let (served, known) = (report.acked / report.span, self.rate());
        if served > known * SAME {
            self.refused = 0;
        } else if served * SAME > known && report.sent_rate > served * REFUSED && report.peak > threshold {
            self.refused += 1;
        }
        self.refused >= REFUSALS
    }

    /// Bytes were lost.
    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.lost += bytes as f64;
    }

    fn next_round(&mut self, ack: &Ack, threshold: f64, mtu: f64) -> bool {
        let grows = self.best >= self.flat_best * GROWTH;
        let lossy = self.lost > FULL_LOST * mtu && self.lost > FULL_LOSS * (self.acked + self.lost);
        let overflows = lossy && !grows && self.rounds >= BURST_ROUNDS;
        // Bursts of flows that are not held back here have queues of their own, but begin without one. A round that never does has
        // filled the path. (Where the path itself sets the pace, the onset tells sooner.)
        let full = ack.app_limited
            && self.acks >= FULL_ACKS
            && self.least > threshold + JITTER_ROOM * self.swings.size();
        (self.least, self.acks) = (f64::INFINITY, 0);
        self.round_end = ack.now;
        self.rounds += 1;
        if self.rounds == BURST_ROUNDS {
            self.swings = Swings::default();
        }
        if grows {
            self.flat_best = self.best;
            self.flat = 0;
        } else if !ack.app_limited {
            self.flat += 1;
        }
        // What was seen before it became too little to send still holds.
        self.previous = if ack.app_limited { self.rate() } else { self.best };
        (self.best, self.acked, self.lost) = (0.0, 0.0, 0.0);
        overflows || full && self.rounds > BURST_ROUNDS
    }
}

/// Acknowledgements whose minimum is believed to be a queue (HyStart++ wants eight samples; an acknowledgement
/// covers two packets or more here).
const ONSET_ACKS: u32 = 4;
/// Part of a round trip that the same must span.
const ONSET_SPAN: f64 = 0.125;

/// Sees a queue rise within a round trip, while the path is sending faster than it knows the link to be.
#[derive(Clone, Debug)]
pub(super) struct QueueOnset {
    since: Time,
    least: f64,
    acks: u32,
}

impl QueueOnset {
    pub(super) fn new(now: Time) -> Self {
        QueueOnset { since: now, least: f64::INFINITY, acks: 0 }
    }

    /// True when not one of the last few acknowledgements showed less queue than `threshold` seconds.
    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64, threshold: f64) -> bool {
        self.least = self.least.min(queue);
        self.acks += 1;
        let span = ack.now.since(self.since).as_secs_f64();
        if self.acks < ONSET_ACKS || span < ONSET_SPAN * ack.min_rtt.as_secs_f64() {
            return false;
        }
        let risen = self.least > threshold;
        *self = QueueOnset::new(ack.now);
        risen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_time::Duration;

    const RTT_MS: u64 = 40;

    fn ack(ms: u64, mbps: u64) -> Ack {
        Ack {
            now: Time::from_millis(ms),
            bytes: 1500,
            lost_bytes: 0,
            newest_sent: Time::from_millis(ms - RTT_MS),
            rtt: Duration::from_millis(RTT_MS),
            min_rtt: Duration::from_millis(RTT_MS),
            queue_delay: None,
            delivery_rate_bps: mbps * 1_000_000,
            app_limited: true,
            round_start: false,
            ce_packets: 0,
            inflight: 1500,
        }
    }

    /// Rounds of `acks` acknowledgements each, all of them `queue_ms` late; in which round startup ended.
    fn ends(acks: u64, queue_ms: f64) -> Option<u64> {
        let mut s = Startup::new();
        (0..20).find(|round| {
            (0..acks).any(|k| {
                let at = 100 + round * (RTT_MS + 1) + k * RTT_MS / acks;
                s.on_ack(&ack(at, 4), queue_ms * 1e-3, 0.0025, 1500.0)
            })
        })
    }

    /// At which interval startup is over for a path that is known for 10 MB/s, is `sent` and has `served` MB/s.
    fn refusals(sent: f64, served: impl Fn(u32) -> f64, peak: f64) -> Option<u32> {
        let mut s = Startup::new();
        s.best = 10e6;
        let report = |k| Report {
            now: Time::ZERO,
            span: 0.1,
            acking: 0.1,
            gap: 0.0,
            still: 0.0,
            acked: served(k) * 1e5,
            lost: 0.0,
            sent_rate: sent * 1e6,
            queue: 0.0,
            peak,
            jitter: 0.0,
            ce: 0.0,
            app_limited: true,
        };
        (1..50).find(|k| s.on_interval(&report(*k), 0.004))
    }

    #[test]
    fn a_path_that_serves_no_more_though_it_is_sent_more_is_full() {
        assert_eq!(refusals(13.0, |_| 10.0, 0.03), Some(REFUSALS));
        // Null cases: no more is sent, no queue comes of it, less is served than the path can, or more each time.
        assert_eq!(refusals(10.0, |_| 10.0, 0.03), None);
        assert_eq!(refusals(13.0, |_| 10.0, 0.002), None);
        assert_eq!(refusals(13.0, |_| 9.0, 0.03), None);
        assert_eq!(refusals(13.0, |k| 10.0 * (1.0 + f64::from(k % 3) / 10.0), 0.03), None);
    }

    #[test]
    fn a_few_late_probes_are_no_queue_and_a_round_of_late_acknowledgements_is() {
        assert_eq!(ends(2, 30.0), None);
        assert_eq!(ends(20, 0.5), None);
        assert!(ends(20, 30.0).is_some_and(|round| round < 5));
    }

    #[test]
    fn losing_what_was_added_ends_it_and_a_few_losses_do_not() {
        let over = |lost: u64| {
            let mut s = Startup::new();
            (0..400).any(|k| {
                if k % 40 == 0 {
                    s.on_loss(lost * 1500);
                }
                s.on_ack(&ack(100 + k, 4), 0.0, 0.0025, 1500.0)
            })
        };
        assert!(over(20) && !over(1));
    }
}
