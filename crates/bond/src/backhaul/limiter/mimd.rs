//! The paper's law: the threshold of the shared link is multiplied and divided (MF-13).

use super::{Allowance, CongestionLevel, Law, Report};
use ropewalk_time::{Duration, Time};

/// The paper gives neither factor. Down by more than up, so that what was taken too much is given back within one period more than it took; small, since a
/// period of 200 ms at twice the right share fills the repeater's queue.
const UP: f64 = 1.25;
const DOWN: f64 = 1.5;
/// A product cannot leave zero (T-9): the least threshold is one datagram, and below it is the
/// block, a state of its own.
const FLOOR: f64 = 1.0;
/// A blocked link is tried again after this, even where the queue stays between the thresholds for
/// ever.
const PROBE_AFTER: Duration = Duration::from_secs(1);

/// Multiplicative increase, multiplicative decrease.
#[derive(Debug)]
pub struct Mimd {
    /// Threshold in datagrams; `None`: blocked.
    held: Option<f64>,
    most: f64,
    blocked_at: Time,
}

impl Mimd {
    /// Blocked, as the paper's begins; a link never holds more than `most`.
    pub fn new(most: f64) -> Self {
        Mimd { held: None, most, blocked_at: Time::ZERO }
    }

    fn decrease(&mut self, now: Time) {
        self.held = self.held.map(|h| h / DOWN).filter(|h| *h >= FLOOR);
        if self.held.is_none() {
            self.blocked_at = now;
        }
    }
}

impl Law for Mimd {
    fn name(&self) -> &'static str {
        "mimd"
    }

    fn on_report(&mut self, s: &Report) {
        match (s.level, self.held) {
            (CongestionLevel::High, _) => self.decrease(s.now),
            (CongestionLevel::Low, None) => self.held = Some(FLOOR),
            (CongestionLevel::Low, Some(held)) => self.held = Some((held * UP).min(self.most)),
            (CongestionLevel::Normal, None) if s.now.since(self.blocked_at) >= PROBE_AFTER => {
                self.held = Some(FLOOR)
            }
            (CongestionLevel::Normal, _) => {}
        }
    }

    fn on_silence(&mut self, now: Time) {
        self.decrease(now);
    }

    fn allowance(&self) -> Allowance {
        self.held.map_or(Allowance::Blocked, Allowance::Held)
    }
}
