//! When slow start ends without a loss: HyStart++ (RFC 9406), which leaves when round trips lengthen, before the queue
//! overflows; the older HyStart of Linux's CUBIC; or never.

use super::Ack;
use ropewalk_time::{Duration, Time};

/// How a loss-based controller finds the end of slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SlowStart {
    /// RFC 9406.
    #[default]
    HyStartPlusPlus,
    /// Ha and Rhee 2011 as in Linux's `tcp_cubic.c`: longer round trips, or an acknowledgement train as long as half a
    /// round trip. For models of Linux senders, which are not paced.
    HyStart,
    /// At the first loss or mark only (RFC 5681).
    Standard,
}

/// Smallest growth of the round-trip time that counts (RFC 9406 §4.3, MIN_RTT_THRESH).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Largest growth that is waited for (MAX_RTT_THRESH).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Growth waited for, as a part of the round-trip time (MIN_RTT_DIVISOR).
const MIN_RTT_DIVISOR: u32 = 8;
/// Samples in a round before its minimum is believed (N_RTT_SAMPLE).
const N_RTT_SAMPLE: u32 = 8;
/// Conservative slow start grows by this part of slow start (CSS_GROWTH_DIVISOR).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of conservative slow start before slow start is over (CSS_ROUNDS).
const CSS_ROUNDS: u32 = 5;

/// What slow start should do with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Grow by what was acknowledged, divided by this.
    By(u64),
    /// Slow start is over: continue with congestion avoidance from the present window.
    Done,
}

/// State of one slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    last_round_min: Duration,
    round_min: Duration,
    samples: u32,
    /// Conservative slow start: the minimum it began with, and rounds spent in it.
    conservative: Option<(Duration, u32)>,
}

impl HyStart {
    pub(super) const fn new() -> Self {
        HyStart { last_round_min: Duration::MAX, round_min: Duration::MAX, samples: 0, conservative: None }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) -> Growth {
        if ack.round_start && self.next_round() {
            return Growth::Done;
        }
        self.round_min = self.round_min.min(ack.rtt);
        self.samples += 1;
        if self.samples >= N_RTT_SAMPLE {
            self.compare();
        }
        Growth::By(if self.conservative.is_some() { CSS_GROWTH_DIVISOR } else { 1 })
    }

    /// Start a round; true when conservative slow start has lasted long enough.
    fn next_round(&mut self) -> bool {
        self.last_round_min = self.round_min;
        self.round_min = Duration::MAX;
        self.samples = 0;
        match &mut self.conservative {
            Some((_, rounds)) => {
                *rounds += 1;
                *rounds >= CSS_ROUNDS
            }
            None => false,
        }
    }

    fn compare(&mut self) {
        match self.conservative {
            // The growth was a passing one (RFC 9406 §4.2): back to slow start.
            Some((baseline, _)) if self.round_min < baseline => self.conservative = None,
            Some(_) => {}
            None if self.last_round_min != Duration::MAX => {
                let thresh = (self.last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.round_min >= self.last_round_min + thresh {
                    self.conservative = Some((self.round_min, 0));
                }
            }
            None => {}
        }
    }
}

/// Longest gap between acknowledgements of one train (`hystart_ack_delta_us`).
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// What batching of acknowledgements may add to a train (`hystart_ack_delay`, as it is below 2 Gb/s).
const TRAIN_SLACK: Duration = Duration::from_millis(1);
/// Windows below this many datagrams are not looked at (`hystart_low_window`).
const LOW_WINDOW: u64 = 16;

/// State of one slow start under the HyStart of Linux.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    round_start: Time,
    last_ack: Time,
    round_min: Duration,
    samples: u32,
    /// The smallest round trip of the connection.
    min: Duration,
}

impl Train {
    const fn new() -> Self {
        Train {
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_min: Duration::MAX,
            samples: 0,
            min: Duration::MAX,
        }
    }

    fn on_ack(&mut self, ack: &Ack, window_datagrams: u64) -> Growth {
        self.min = self.min.min(ack.rtt);
        if ack.round_start {
            (self.round_start, self.last_ack) = (ack.now, ack.now);
            (self.round_min, self.samples) = (Duration::MAX, 0);
        }
        if window_datagrams < LOW_WINDOW || !(self.train_is_long(ack.now) | self.round_trips_grew(ack.rtt)) {
            return Growth::By(1);
        }
        Growth::Done
    }

    fn train_is_long(&mut self, now: Time) -> bool {
        let together = now.since(self.last_ack) <= TRAIN_GAP;
        if together {
            self.last_ack = now;
        }
        together && now.since(self.round_start) > (self.min + TRAIN_SLACK) / 2
    }

    fn round_trips_grew(&mut self, rtt: Duration) -> bool {
        self.round_min = self.round_min.min(rtt);
        self.samples += 1;
        let thresh = (self.min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
        self.samples > N_RTT_SAMPLE && self.round_min > self.min + thresh
    }
}

/// The rule in force, with its state.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlowStartExit {
    PlusPlus(HyStart),
    Train(Train),
    Never,
}

impl SlowStartExit {
    pub(super) const fn new(rule: SlowStart) -> Self {
        match rule {
            SlowStart::HyStartPlusPlus => SlowStartExit::PlusPlus(HyStart::new()),
            SlowStart::HyStart => SlowStartExit::Train(Train::new()),
            SlowStart::Standard => SlowStartExit::Never,
        }
    }

    pub(super) const fn rule(&self) -> SlowStart {
        match self {
            SlowStartExit::PlusPlus(_) => SlowStart::HyStartPlusPlus,
            SlowStartExit::Train(_) => SlowStart::HyStart,
            SlowStartExit::Never => SlowStart::Standard,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, window_datagrams: u64) -> Growth {
        match self {
            SlowStartExit::PlusPlus(hystart) => hystart.on_ack(ack),
            SlowStartExit::Train(train) => train.on_ack(ack, window_datagrams),
            SlowStartExit::Never => Growth::By(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(now_us: u64, rtt_us: u64, round_start: bool) -> Ack {
        Ack {
            now: Time::from_micros(now_us),
            bytes: 1500,
            lost_bytes: 0,
            newest_sent: Time::from_micros(now_us - rtt_us),
            rtt: Duration::from_micros(rtt_us),
            min_rtt: Duration::from_micros(rtt_us),
            queue_delay: None,
            delivery_rate_bps: 0,
            app_limited: false,
            round_start,
            ce_packets: 0,
            inflight: 0,
        }
    }

    #[test]
    fn an_acknowledgement_train_of_half_a_round_trip_ends_slow_start() {
        let mut exit = SlowStartExit::new(SlowStart::HyStart);
        // One acknowledgement per 250 µs of a path of 40 ms: half of it and the slack are over at 20.5 ms.
        let ended =
            (0..200).find(|i| exit.on_ack(&ack(100_000 + 250 * i, 40_000, *i == 0), 100) == Growth::Done);
        assert_eq!(ended, Some(83));
        let mut slow = SlowStartExit::new(SlowStart::HyStart);
        let train = |i: &u64| slow.on_ack(&ack(100_000 + 2500 * i, 40_000, *i == 0), 100) == Growth::Done;
        assert_eq!((0..200).find(train), None, "gaps of more than 2 ms are no train");
        let mut small = SlowStartExit::new(SlowStart::HyStart);
        let train = |i: &u64| small.on_ack(&ack(100_000 + 250 * i, 40_000, *i == 0), 15) == Growth::Done;
        assert_eq!((0..200).find(train), None, "a small window is not looked at");
    }

    #[test]
    fn longer_round_trips_end_it_after_eight_samples() {
        let mut exit = SlowStartExit::new(SlowStart::HyStart);
        exit.on_ack(&ack(100_000, 40_000, true), 100);
        // Each 3 ms after the last: no train. An eighth of 40 ms is 5.
        let later = |i: u64, rtt| ack(140_000 + 3_000 * i, rtt, i == 0);
        let ended = (0..20).find(|i| exit.on_ack(&later(*i, 46_000), 100) == Growth::Done);
        assert_eq!(ended, Some(8));
        let mut exit = SlowStartExit::new(SlowStart::HyStart);
        exit.on_ack(&ack(100_000, 40_000, true), 100);
        assert_eq!((0..20).find(|i| exit.on_ack(&later(*i, 44_000), 100) == Growth::Done), None);
    }

    #[test]
    fn standard_slow_start_has_no_such_end() {
        let mut exit = SlowStartExit::new(SlowStart::Standard);
        assert!(
            (1..1000).all(|i| exit.on_ack(&ack(50_000 * i, 40_000 + 10 * i, false), 100) == Growth::By(1))
        );
    }
}
