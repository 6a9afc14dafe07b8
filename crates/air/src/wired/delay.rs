//! When a packet that has left arrives: propagation, jitter, and order.

use core::time::Duration;

use rand_chacha::ChaCha8Rng;

use super::Jitter;
use super::random::normal;
use crate::Time;

/// Jitter at work, with the two draws between which it wanders.
#[derive(Debug)]
pub(super) struct DelayProcess {
    pub(super) delay: Duration,
    pub(super) jitter: Jitter,
    rng: ChaCha8Rng,
    /// The number of the coherence interval that `from` and `to` belong to.
    interval: Option<u64>,
    from: f64,
    to: f64,
    /// The latest arrival so far: nothing may come before it.
    last: Time,
}

impl DelayProcess {
    pub(super) fn new(delay: Duration, jitter: Jitter, rng: ChaCha8Rng) -> DelayProcess {
        DelayProcess { delay, jitter, rng, interval: None, from: 0.0, to: 0.0, last: Time::ZERO }
    }

    /// When the packet that left at `sent` arrives.
    pub(super) fn arrival(&mut self, sent: Time) -> Time {
        let std_dev = self.jitter.std_dev.as_nanos() as f64;
        let mut delay = self.delay;
        if std_dev > 0.0 {
            let deviation = self.deviation(sent) * std_dev;
            delay = Duration::from_nanos((delay.as_nanos() as f64 + deviation).max(0.0) as u64);
        }
        self.last = self.last.max(sent + delay);
        self.last
    }

    /// The deviation at `at`, in standard deviations.
    fn deviation(&mut self, at: Time) -> f64 {
        let step = u64::try_from(self.jitter.coherence.as_nanos()).unwrap_or(u64::MAX);
        if step == 0 {
            return normal(&mut self.rng);
        }
        let (interval, within) = (at.as_nanos() / step, (at.as_nanos() % step) as f64 / step as f64);
        if self.interval != Some(interval) {
            let next = self.interval.is_some_and(|i| i + 1 == interval);
            self.from = if next { self.to } else { normal(&mut self.rng) };
            self.to = normal(&mut self.rng);
            self.interval = Some(interval);
        }
        // Between two draws the variance falls to (1-w)² + w²; dividing by its root keeps it at 1 throughout.
        let (a, b) = (1.0 - within, within);
        (self.from * a + self.to * b) / (a * a + b * b).sqrt()
    }

    /// Forgets the order of what was on the wire: nothing of it will arrive.
    pub(super) fn cut(&mut self) {
        self.last = Time::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Cause, stream};
    use super::*;

    const MS: f64 = 1e6;

    /// Mean and deviation of the delay, in ms, of packets `gap_us` apart on a path of 50 ± 5 ms.
    fn moments(coherence_ms: u64, gap_us: u64) -> (f64, f64) {
        let jitter =
            Jitter { std_dev: Duration::from_millis(5), coherence: Duration::from_millis(coherence_ms) };
        let mut process = DelayProcess::new(Duration::from_millis(50), jitter, stream(1, Cause::Jitter));
        let mut last = Time::ZERO;
        let delays: Vec<f64> = (0..200_000)
            .map(|i| {
                let sent = Time::from_micros(i * gap_us);
                let arrival = process.arrival(sent);
                assert!(arrival >= last, "order");
                last = arrival;
                (arrival - sent).as_nanos() as f64 / MS
            })
            .collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / delays.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn sparse_packets_see_the_distribution() {
        let (mean, deviation) = moments(0, 100_000);
        assert!((mean - 50.0).abs() < 0.1 && (deviation - 5.0).abs() < 0.1, "{mean} ± {deviation}");
    }

    #[test]
    fn dense_packets_see_the_envelope_unless_the_jitter_wanders() {
        let (mean, _) = moments(0, 240);
        assert!((57.0..66.0).contains(&mean), "{mean}");
        let (mean, deviation) = moments(25, 240);
        assert!((mean - 50.0).abs() < 0.5 && (deviation - 5.0).abs() < 0.4, "{mean} ± {deviation}");
    }

    #[test]
    fn a_shorter_delay_does_not_overtake() {
        let mut process =
            DelayProcess::new(Duration::from_millis(50), Jitter::default(), stream(1, Cause::Jitter));
        let first = process.arrival(Time::ZERO);
        process.delay = Duration::from_millis(10);
        assert_eq!(process.arrival(Time::from_millis(1)), first);
        assert_eq!(process.arrival(Time::from_millis(45)), Time::from_millis(55));
    }
}
