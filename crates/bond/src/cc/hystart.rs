//! HyStart++ (RFC 9406): leave slow start when round trips lengthen, before the queue overflows.

use super::Ack;
use crate::time::Duration;

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
