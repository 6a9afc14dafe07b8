//! Round-trip times and the retransmission timeout: RFC 6298, in the form of Linux's `tcp_rtt_estimator`, whose
//! variance rises at once and falls once per round trip.

use super::super::RtoRule;
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_cc::filter::WindowedMin;

/// Before the first sample (RFC 6298 §2.1).
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// Never more (Linux's TCP_RTO_MAX).
const MAX_RTO: Duration = Duration::from_secs(120);
/// How long a smallest round trip counts for loss detection (Linux's `tcp_min_rtt_wlen`).
const MIN_RTT_MEMORY: Duration = Duration::from_secs(300);

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    rule: RtoRule,
    srtt: Option<Duration>,
    /// Four times the mean deviation, ns.
    deviation: i64,
    /// The largest `deviation` of this round trip.
    deviation_peak: i64,
    /// What the timeout adds to `srtt`, ns.
    margin: i64,
    /// A round trip ends when this offset is acknowledged.
    round_end: u64,
    backoff: u32,
    min: WindowedMin,
    latest: Duration,
}

fn nanos(d: Duration) -> i64 {
    d.as_nanos() as i64
}

impl RttEstimator {
    pub(crate) fn new(rule: RtoRule) -> Self {
        RttEstimator {
            rule,
            srtt: None,
            deviation: 0,
            deviation_peak: 0,
            margin: 0,
            round_end: 0,
            backoff: 0,
            min: WindowedMin::new(MIN_RTT_MEMORY),
            latest: Duration::ZERO,
        }
    }

    fn margin_floor(&self) -> i64 {
        match self.rule {
            RtoRule::VarianceFloor(floor) => nanos(floor),
            RtoRule::Floor(_) => 0,
        }
    }

    /// Takes in a sample; `una` and `next` are the lowest unacknowledged and the next offset to be sent.
    pub(crate) fn sample(&mut self, rtt: Duration, una: u64, next: u64) {
        let (m, floor) = (nanos(rtt), self.margin_floor());
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.deviation = 2 * m;
            self.margin = self.deviation.max(floor);
            self.deviation_peak = self.margin;
            self.round_end = next;
            return;
        };
        let error = m - nanos(srtt);
        self.srtt = Some(Duration::from_nanos((nanos(srtt) + error / 8).max(1) as u64));
        let mut step = error.abs() - self.deviation / 4;
        if error < 0 && step > 0 {
            // A round trip that falls is no reason for a longer timeout.
            step /= 8;
        }
        self.deviation += step;
        if self.deviation > self.deviation_peak {
            self.deviation_peak = self.deviation;
            self.margin = self.margin.max(self.deviation_peak);
        }
        if una > self.round_end {
            if self.deviation_peak < self.margin {
                self.margin -= (self.margin - self.deviation_peak) / 4;
            }
            self.round_end = next;
            self.deviation_peak = floor;
        }
    }

    /// The freshest round trip, for the smallest and the latest.
    pub(crate) fn freshest(&mut self, now: Time, rtt: Duration) {
        self.latest = rtt;
        self.min.update(now, rtt.as_nanos() as u64);
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Mean deviation of the samples.
    pub(crate) fn deviation(&self) -> Duration {
        Duration::from_nanos(self.deviation.max(0) as u64 / 4)
    }

    /// The freshest sample.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// The smallest of the last five minutes.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min.get().map(Duration::from_nanos)
    }

    /// The timeout, with its backoff.
    pub(crate) fn rto(&self) -> Duration {
        let plain = match (self.srtt, self.rule) {
            (None, _) => INITIAL_RTO,
            (Some(srtt), RtoRule::VarianceFloor(_)) => srtt + Duration::from_nanos(self.margin as u64),
            (Some(srtt), RtoRule::Floor(floor)) => {
                (srtt + Duration::from_nanos(self.margin as u64)).max(floor)
            }
        };
        plain.saturating_mul(1 << self.backoff.min(16)).min(MAX_RTO)
    }

    /// A timeout has run out (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Something new was acknowledged.
    pub(crate) fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The least timeout there can be.
    pub(crate) fn floor(&self) -> Duration {
        self.rule.floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn before_and_after_the_first_sample() {
        let mut rfc = RttEstimator::new(RtoRule::RFC6298);
        assert_eq!(rfc.rto(), ms(1000), "RFC 6298 §2.1");
        rfc.sample(ms(500), 1, 2);
        assert_eq!(rfc.rto(), ms(1500), "§2.2: srtt + 4 · srtt/2");
        let mut linux = RttEstimator::new(RtoRule::LINUX);
        linux.sample(ms(20), 1, 2);
        assert_eq!(linux.rto(), ms(220));
    }

    #[test]
    fn floors_and_backoff() {
        let mut rfc = RttEstimator::new(RtoRule::RFC6298);
        for i in 0..200 {
            rfc.sample(ms(20), i, i + 1);
        }
        assert_eq!(rfc.rto(), ms(1000), "§2.4");
        rfc.back_off();
        rfc.back_off();
        assert_eq!(rfc.rto(), ms(4000), "§5.5");
        rfc.end_backoff();
        assert_eq!(rfc.rto(), ms(1000));
        for _ in 0..40 {
            rfc.back_off();
        }
        assert_eq!(rfc.rto(), MAX_RTO);
    }

    #[test]
    fn variance_rises_at_once_and_falls_slowly() {
        let mut e = RttEstimator::new(RtoRule::VarianceFloor(ms(200)));
        for i in 0..100 {
            e.sample(ms(100), i, i + 1);
        }
        let calm = e.rto();
        e.sample(ms(600), 100, 101);
        let alarmed = e.rto();
        assert!(alarmed > calm + ms(200), "{calm:?} {alarmed:?}");
        e.sample(ms(100), 101, 111);
        assert!(e.rto() > alarmed - ms(150), "{:?}", e.rto());
        for i in 111..300 {
            e.sample(ms(100), i, i + 1);
        }
        assert!(e.rto() < ms(330), "{:?}", e.rto());
    }
}
