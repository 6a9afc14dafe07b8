//! How an allowance becomes datagrams: how many may leave now, and if none, when.

use ropewalk_time::{Duration, Time};

/// What shared links may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Nothing but control.
    Blocked,
    /// Hold so many datagrams, on average over time. Fewer than a burst of them means: a burst, and then a pause that is as much longer. Without that a
    /// whole number would be the least, and one datagram always on the way already has a station's full share of the air.
    Held(f64),
    /// Send so many datagrams per second.
    Rate(f64),
}

/// A pause is never longer: the repeater's report on the next burst is what the limiter lives on.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The gate of one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstGate {
    /// Datagrams left of the burst.
    left: u32,
    began: Time,
    /// The burst is on its way, and the pause after it not worked out.
    under_way: bool,
    resume: Time,
    tokens: f64,
    tokens_at: Time,
    /// When the gate opens, if it is closed by the clock alone.
    opens: Option<Time>,
}

impl BurstGate {
    /// What the path may hold and take now.
    pub fn slots(
        &mut self,
        now: Time,
        allowance: Allowance,
        burst: u32,
        outstanding: u32,
        most: u32,
    ) -> (u32, u32) {
        self.opens = None;
        match allowance {
            Allowance::Blocked => {
                self.left = 0;
                (0, 0)
            }
            Allowance::Held(held) if held >= f64::from(burst) => {
                let held = (held as u32).min(most);
                (held, held.saturating_sub(outstanding))
            }
            Allowance::Held(held) => {
                self.take_turns(now, held, burst, outstanding);
                (burst.min(most), self.left.min(most.saturating_sub(outstanding)))
            }
            Allowance::Rate(pps) => {
                self.earn(now, pps, burst);
                (most, self.left.min(most.saturating_sub(outstanding)))
            }
        }
    }

    fn take_turns(&mut self, now: Time, held: f64, burst: u32, outstanding: u32) {
        if self.left > 0 {
            return;
        }
        if outstanding > 0 {
            // Its completion opens the gate, or begins the pause.
            return;
        }
        if self.under_way {
            let whole = now.since(self.began).mul_f64(f64::from(burst) / held.max(0.01));
            (self.resume, self.under_way) = ((self.began + whole).min(now + LONGEST_PAUSE), false);
        }
        if now >= self.resume {
            self.left = burst;
        } else {
            self.opens = Some(self.resume);
        }
    }

    fn earn(&mut self, now: Time, pps: f64, burst: u32) {
        let burst_f = f64::from(burst);
        self.tokens = (self.tokens + now.since(self.tokens_at).as_secs_f64() * pps).min(2.0 * burst_f);
        self.tokens_at = now;
        if self.left > 0 {
            return;
        }
        if self.tokens >= burst_f {
            self.tokens -= burst_f;
            self.left = burst;
        } else if pps > 0.0 {
            let wait = Duration::from_secs_f64(((burst_f - self.tokens) / pps).clamp(50e-6, 1.0));
            self.opens = Some(now + wait);
        }
    }

    /// Datagrams left.
    pub fn on_sent(&mut self, now: Time, datagrams: u32) {
        if !self.under_way {
            (self.began, self.under_way) = (now, true);
        }
        self.left = self.left.saturating_sub(datagrams);
    }

    /// When the gate opens, if the clock alone keeps it closed.
    pub fn ready_at(&self) -> Option<Time> {
        self.opens
    }
}
