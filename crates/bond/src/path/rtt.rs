//! Round-trip time and one-way delay of a path.

use ropewalk_cc::filter::WindowedMin;
use ropewalk_time::{Duration, Time};

/// Windows of the minima: long enough to survive a stretch of full queues, short enough to follow a route change (BBR uses the same).
const MIN_WINDOW: Duration = Duration::from_secs(10);
/// Before the first sample: RFC 9002 §6.2.2 says 333 ms.
const INITIAL: Duration = Duration::from_millis(333);
/// Kernel timers and scheduling on both ends; RFC 9002's kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Gain of the smoothed one-way delay (RFC 6298's, §2.3).
const GAIN: f64 = 0.125;
/// Of what leaves alone: probes are few, and eight of them find a delay that fell.
const ALONE_GAIN: f64 = 0.25;

/// Estimates from acknowledgements (RFC 9002 §5).
#[derive(Debug)]
pub(crate) struct Rtt {
    srtt: Duration,
    var: Duration,
    latest: Duration,
    samples: u64,
    min: WindowedMin,
    owd: Option<Owd>,
}

/// One-way delays, each with the same unknown offset between the two clocks in it.
#[derive(Debug)]
struct Owd {
    /// Of the first sample of the session, microseconds; the others are kept relative to it.
    min: WindowedMin,
    smooth_us: f64,
    dev_us: f64,
    /// What `smooth_us` was after the last datagram that left alone.
    alone_us: f64,
    /// When `smooth_us` was last set: from then on a queue drains.
    drains_from: Time,
}

impl Owd {
    /// The smoothed delay if nothing was on the way since it was set: what waited has had that time
    /// to drain.
    fn drained_us(&self, now: Time) -> f64 {
        let least = self.smooth_us - self.queued_us();
        let drained = self.smooth_us - now.since(self.drains_from).as_micros() as f64;
        drained.max(self.alone_us.clamp(least, self.smooth_us))
    }

    /// What the smoothed delay is over the least of late, microseconds.
    fn queued_us(&self) -> f64 {
        let least = self.min.get().map_or(self.smooth_us, |m| (m as i64 - OWD_BIAS) as f64);
        (self.smooth_us - least).max(0.0)
    }
}

/// Keeps the windowed filter, which is unsigned, away from zero.
const OWD_BIAS: i64 = 1 << 40;

impl Default for Rtt {
    fn default() -> Self {
        Rtt {
            srtt: INITIAL,
            var: INITIAL / 2,
            latest: INITIAL,
            samples: 0,
            min: WindowedMin::new(MIN_WINDOW),
            owd: None,
        }
    }
}

impl Rtt {
    /// A round trip took `sample`, acknowledgement delay taken off.
    pub(crate) fn on_sample(&mut self, now: Time, sample: Duration) {
        self.latest = sample;
        self.min.update(now, sample.as_nanos() as u64);
        if self.samples == 0 {
            (self.srtt, self.var) = (sample, sample / 2);
        } else {
            let dev = self.srtt.abs_diff(sample);
            self.var = (self.var * 3 + dev) / 4;
            self.srtt = (self.srtt * 7 + sample) / 8;
        }
        self.samples += 1;
    }

    /// A packet leaves while nothing else is on the way.
    pub(crate) fn on_sent_alone(&mut self, now: Time) {
        if let Some(o) = &mut self.owd {
            (o.smooth_us, o.drains_from) = (o.drained_us(now), now);
        }
    }

    /// A packet took `relative_us` from end to end, plus an offset that is the same for all paths of the
    /// session. `is_alone`: nothing else was on the way when it left. Returns its queueing delay: what it
    /// took over the smallest seen lately.
    pub(crate) fn on_one_way(&mut self, now: Time, is_alone: bool, relative_us: i64) -> Duration {
        let owd = self.owd.get_or_insert_with(|| Owd {
            min: WindowedMin::new(MIN_WINDOW),
            smooth_us: relative_us as f64,
            dev_us: 0.0,
            alone_us: relative_us as f64,
            drains_from: now,
        });
        let min = owd.min.update(now, (relative_us + OWD_BIAS) as u64) as i64 - OWD_BIAS;
        let off = relative_us as f64 - owd.smooth_us;
        owd.smooth_us += off * if is_alone { ALONE_GAIN } else { GAIN };
        owd.dev_us += (off.abs() - owd.dev_us) * GAIN;
        owd.alone_us = if is_alone { owd.smooth_us } else { owd.alone_us.min(owd.smooth_us) };
        owd.drains_from = now;
        Duration::from_micros((relative_us - min).max(0) as u64)
    }

    /// How long packets wait on the way of late, smoothed.
    pub(crate) fn queued(&self) -> Duration {
        self.owd.as_ref().map_or(Duration::ZERO, |o| Duration::from_micros(o.queued_us() as u64))
    }

    /// Smoothed round-trip time.
    pub(crate) fn smoothed(&self) -> Duration {
        self.srtt
    }

    /// The last sample.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// Mean deviation.
    pub(crate) fn deviation(&self) -> Duration {
        self.var
    }

    /// Smallest sample of the last ten seconds.
    pub(crate) fn min(&self) -> Duration {
        self.min.get().map_or(self.srtt, Duration::from_nanos)
    }

    /// A sample was taken.
    pub(crate) fn is_known(&self) -> bool {
        self.samples > 0
    }

    /// Smoothed one-way delay, microseconds, with the session's clock offset in it; `None` before
    /// the first sample. `idle`: nothing is on the way, so what waited has had the time since then to
    /// drain.
    pub(crate) fn one_way_us(&self, now: Time, idle: bool) -> Option<f64> {
        let o = self.owd.as_ref()?;
        Some(if idle { o.drained_us(now) } else { o.smooth_us })
    }

    /// The least one-way delay of late, and what most packets stay below, microseconds, with the
    /// session's clock offset in them.
    pub(crate) fn one_way_us_range(&self) -> Option<[i64; 2]> {
        let o = self.owd.as_ref()?;
        let most = (o.smooth_us + 2.0 * o.dev_us) as i64;
        Some([o.min.get().map_or(most, |m| m as i64 - OWD_BIAS), most])
    }

    /// Mean deviation of the one-way delay.
    pub(crate) fn one_way_deviation(&self) -> Duration {
        self.owd.as_ref().map_or(Duration::ZERO, |o| Duration::from_nanos((o.dev_us * 1e3) as u64))
    }

    /// How long an answer may take before its absence means something (RFC 9002 §6.2.1).
    pub(crate) fn probe_timeout(&self, ack_delay: Duration) -> Duration {
        self.srtt + (self.var * 4).max(GRANULARITY) + ack_delay
    }

    /// The route changed: forget.
    pub(crate) fn reset(&mut self) {
        *self = Rtt::default();
    }
}
