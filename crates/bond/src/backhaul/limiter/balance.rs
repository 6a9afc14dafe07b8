//! A law that follows the clients' queue itself: the rate of the shared link changes by what makes the queue stand still, and a little more or less to
//! bring it to its target.
//!
//! With *r* the rate of the shared link, *q* the queue, *q\** its target, the law is
//!
//! ```text
//!   T · dr/dt = (q* − q)/τ − dq/dt
//! ```
//!
//! Packets come to the queue at p + r (p by the dedicated links) and leave at D(1 − r/U): the more
//! air the shared link takes, the less is left. So dq/dt = g (r − K), where K is that of the
//! paper's equation 2 and g = 1 + D/U, and the loop is q″ + (g/T) q′ + (g/Tτ) q = 0 about it: it
//! comes to rest at K without knowing p, D or U, and without overshoot for gτ ≥ 4T. What interferes
//! for a moment lengthens the queue and lets it shrink again: dq/dt adds up to nothing, so a
//! transient changes *r* by the small term alone. What stays takes effect within T/g.

use super::{Allowance, CongestionLevel, Law, Report};
use ropewalk_time::{Duration, Time};

/// T. What is late on one link holds up the order, and then hundreds of packets come to the queue at once: at 15 ms the rate followed these, and was nothing half of
/// the time and twice the right one in the other half (`scenarios/000/placements.toml`).
const SMOOTH_S: f64 = 0.05;
/// τ: four times T, for then the loop does not swing for any g ≥ 1.
const SETTLE_S: f64 = 0.2;
/// The queue's change is measured over this: some aggregates of the clients' radio.
const TREND: Duration = Duration::from_millis(20);
/// A queue of more than so many times its target counts as this: it cannot be shorter than none, and one burst would outweigh all the time in which it was.
const CLAMP: f64 = 2.0;
/// A report counts for no longer than this: what was not reported is not known.
const LONGEST_S: f64 = 0.05;
/// Reports kept for it.
const KEPT: usize = 16;
/// A link that does not use its leave gets no more than this many times what it uses: demand, not
/// air, is short, and what was right before need not be when it has some again. Where the dedicated
/// link stands still now and then the queue swings and the rate with it; twice cuts off the upper
/// half of each swing, and the mean falls.
const HEADROOM: f64 = 3.0;
/// And always enough to be seen: a burst every 50 ms.
const LEAST_PPS: f64 = 320.0;
/// More than any link carries, datagrams per second.
const MOST_PPS: f64 = 200_000.0;

/// Rate control by the clients' queue.
#[derive(Debug)]
pub struct Balance {
    target: f64,
    rate: f64,
    /// The repeater's clock: how long it has spoken.
    clock: Time,
    /// Time by that clock, and length, oldest first.
    seen: arrayvec::ArrayVec<(Time, f64), KEPT>,
    used: f64,
}

impl Balance {
    /// Towards a queue of `target` packets.
    pub fn new(target: f64) -> Self {
        Balance { target, rate: 0.0, clock: Time::ZERO, seen: arrayvec::ArrayVec::new(), used: 0.0 }
    }

    /// Packets per second by which the queue grows.
    fn trend(&mut self, now: Time, packets: f64) -> f64 {
        while self.seen.is_full() || self.seen.len() > 1 && now.since(self.seen[1].0) >= TREND {
            self.seen.remove(0);
        }
        let trend = self.seen.first().map_or(0.0, |(at, q)| {
            (packets - q) / now.since(*at).max(Duration::from_millis(1)).as_secs_f64()
        });
        self.seen.push((now, packets));
        trend
    }
}

impl Law for Balance {
    fn name(&self) -> &'static str {
        "balance"
    }

    fn on_report(&mut self, s: &Report) {
        let q = f64::from(s.packets).min(CLAMP * self.target);
        self.clock += s.over;
        let over = s.over.as_secs_f64().min(LONGEST_S);
        let trend = self.trend(self.clock, q);
        self.used += (s.sent_pps - self.used) * (over / LONGEST_S).min(1.0);
        let aim = (self.target - q) / SETTLE_S - trend;
        let next = self.rate + aim * (over / SMOOTH_S).min(1.0);
        let most = (self.used * HEADROOM).max(LEAST_PPS);
        self.rate = next.clamp(0.0, most.min(MOST_PPS));
        // The repeater may have been given lower thresholds than this end.
        if s.level == CongestionLevel::High && q < self.target {
            self.rate *= 1.0 - (over / SMOOTH_S).min(0.5);
        }
    }

    fn on_silence(&mut self, _now: Time) {
        self.rate /= 2.0;
        self.seen.clear();
    }

    fn allowance(&self) -> Allowance {
        if self.rate < 1.0 { Allowance::Blocked } else { Allowance::Rate(self.rate) }
    }
}
