//! Reading the queue from delays that also jitter.

use super::monitor::Report;
use crate::filter::WindowedMin;
use ropewalk_time::{Duration, Time};

/// How long the smallest delay counts as "no queue". Long enough to hold several drains (see
/// [`super::steady`]), short enough to accept a route that became longer.
const FLOOR_WINDOW: Duration = Duration::from_secs(10);
/// An empty path's per-interval minimum lies this many times its scatter above the smallest of the
/// last seconds.
const BIAS: f64 = 1.4;
/// The same, in parts of the lumps' delay (see [`DelaySense::update`]), where the path delivers in lumps. A radio that aggregates is full only
/// while an aggregate waits beside the one that is on the air, and so is each of several hops: by
/// `ropewalk sim sweep scenarios/003/bond.toml` (five hops) 3 is just enough, and 7 only adds delay.
const LUMPS: f64 = 5.0;
/// Mean absolute second difference of independent normal samples to their standard deviation: 1 / (√6 · √(2/π)). A queue
/// that grows or shrinks evenly has no second difference, so only what is not a trend counts.
const CURVATURE_TO_SIGMA: f64 = 0.51;

/// The queue delay as per-interval minima show it. Seconds.
#[derive(Clone, Debug)]
pub(super) struct DelaySense {
    floor: WindowedMin,
    /// Readings of the last two intervals.
    last: [Option<f64>; 2],
    /// Standard deviation of a per-interval minimum for reasons other than our own sending.
    noise: f64,
    /// Typical swing of the delay within a monitor interval.
    jitter: f64,
    jitters: bool,
    /// The part of it that comes of deliveries in lumps.
    lumps: f64,
    above: f64,
}

impl DelaySense {
    pub(super) fn new() -> Self {
        DelaySense {
            floor: WindowedMin::new(FLOOR_WINDOW),
            last: [None; 2],
            noise: 0.0,
            jitter: 0.0,
            jitters: false,
            lumps: 0.0,
            above: 0.0,
        }
    }

    /// Take in the smallest queue delay of a monitor interval. `calm`: there was no overload and no
    /// startup, so a change that is not a trend is noise. `ack_gap`: how much longer arrivals
    /// paused than the sender's own grain makes them, seconds. A delay that swings on a path whose
    /// arrivals pause comes in lumps: of links that gather packets and send them as one.
    pub(super) fn update(&mut self, report: &Report, calm: bool, target: f64, ack_gap: f64) {
        let (now, queue) = (report.now, report.queue);
        self.sense_jitter(report.jitter, target);
        self.lumps = self.jitter.min(ack_gap);
        let floor = self.floor.update(now, (queue * 1e9) as u64) as f64 * 1e-9;
        let above = (queue - floor).max(0.0);
        if let [Some(last), Some(before)] = self.last
            && calm
        {
            let curvature = (queue - 2.0 * last + before).abs() * CURVATURE_TO_SIGMA;
            // One surprise is a queue of somebody else's; only repeated ones are noise.
            let bounded = curvature.min(target + self.jitter);
            self.noise += (bounded - self.noise) / 8.0;
        }
        self.last = [Some(queue), self.last[0]];
        self.above = above;
    }

    fn sense_jitter(&mut self, jitter: f64, target: f64) {
        let weight = match jitter > self.jitter {
            true if self.last[0].is_none() => 1.0,
            true => 0.3,
            false => 0.1,
        };
        self.jitter += (jitter - self.jitter) * weight;
        self.jitters = self.jitter > 2.0 * target;
    }

    /// The present queue delay is what an empty queue looks like now: the route has changed.
    pub(super) fn rebase(&mut self, now: Time) {
        if let Some(last) = self.last[0] {
            self.floor.clear();
            self.floor.update(now, (last * 1e9) as u64);
            self.above = 0.0;
        }
    }

    /// Queue delay of the last interval.
    pub(super) fn latest(&self) -> f64 {
        self.above
    }

    /// What an empty queue reads at least.
    pub(super) fn floor(&self) -> f64 {
        self.floor.get().unwrap_or(0) as f64 * 1e-9
    }

    /// How far a monitor interval's minimum may lie from where our sending puts it.
    pub(super) fn noise(&self) -> f64 {
        self.noise.max(self.jitter)
    }

    /// The noise hides a queue of the size that is targeted.
    pub(super) fn is_noisy(&self) -> bool {
        self.jitters
    }

    /// What an empty queue reads on average, because of noise, or has to hold to keep a path of lumps full.
    pub(super) fn bias(&self) -> f64 {
        (BIAS * self.noise()).max(LUMPS * self.lumps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: f64 = 0.0003;

    /// After some seconds of intervals whose delays swing by `jitter` and whose arrivals pause by
    /// `ack_gap`, seconds.
    fn seen(jitter: f64, ack_gap: f64) -> DelaySense {
        let mut sense = DelaySense::new();
        for k in 0..100 {
            let report = Report {
                now: Time::from_millis(20 * k),
                span: 0.02,
                acking: 0.02,
                gap: 0.0,
                still: 0.0,
                acked: 1.0,
                lost: 0.0,
                sent_rate: 1.0,
                queue: 0.001,
                peak: 0.001,
                jitter,
                ce: 0.0,
                app_limited: false,
            };
            sense.update(&report, true, TARGET, ack_gap);
        }
        sense
    }

    #[test]
    fn room_is_left_for_lumps_where_delays_swing_and_arrivals_pause() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-5;
        assert!(near(seen(0.0007, 0.006).bias(), LUMPS * 0.0007));
        // A sender's bursts swing the delay and leave no pause; acknowledgements that come bunched do the reverse.
        assert!(near(seen(0.0007, 0.0).bias(), BIAS * 0.0007));
        assert!(near(seen(0.0, 0.018).bias(), 0.0));
    }
}
