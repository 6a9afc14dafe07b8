//! Energy on a channel that is no frame of the medium: microwave ovens, cameras, foreign networks.
//!
//! An interferer is on and off in turns. While it is on it adds its power, as far as its span lies in a receiver's channel, to the
//! receiver's interference and to what its energy detection sees. One that looks like Wi-Fi also starts with a preamble: radios
//! defer to it from their preamble threshold on, as to a frame that they cannot decode.

use core::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::phy::Span;
use crate::Time;

/// How an interferer's bursts follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Always on.
    Always,
    /// On and off for the same times again and again, beginning with on.
    Periodic {
        /// Time on.
        on: Duration,
        /// Time off.
        off: Duration,
    },
    /// On and off for times drawn from exponential distributions.
    Random {
        /// Mean time on.
        mean_on: Duration,
        /// Mean time off.
        mean_off: Duration,
    },
    /// A microwave oven: on during one half-wave of the mains, a little less than half of the time, each burst a little
    /// different (Kamerman and Erkoçevič, PIMRC 1997; Taher et al., ICC 2008: bursts of 5 to 8 ms at 60 Hz).
    Microwave {
        /// Mains frequency, Hz: 50 or 60.
        mains_hz: u32,
    },
}

/// Why an interferer is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InterfererError {
    /// Bursts of no length.
    #[error("an interferer must be on for some time; give `on` a time above 0")]
    NeverOn,
    /// So short that a run would do nothing else.
    #[error(
        "an interferer that changes more than a million times a second cannot be followed; take 1 us or more"
    )]
    TooFast,
    /// Mains frequency out of range.
    #[error("a mains frequency of {0} Hz is not possible; take 50 or 60")]
    Mains(u32),
}

/// The shortest time on or off.
const SHORTEST: Duration = Duration::from_micros(1);
/// Share of a mains period that a magnetron is on, and by how much each burst's edges vary, as a share of the period.
const MICROWAVE_DUTY: f64 = 0.45;
const MICROWAVE_JITTER: f64 = 0.03;

/// What an interferer is like; where it stands is the medium's to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterfererSpec {
    /// Transmit power, dBm.
    pub power_dbm: f64,
    /// Where its energy lies, evenly.
    pub span: Span,
    /// When it is on.
    pub pattern: Pattern,
    /// Whether it begins its bursts with a Wi-Fi preamble.
    pub wifi_like: bool,
    /// From when on.
    pub start: Time,
    /// Until when; [`Time::NEVER`] for ever.
    pub stop: Time,
}

impl InterfererSpec {
    /// The share of its power that falls into a receiver's span.
    pub fn share(&self, receiver: &Span) -> f64 {
        self.span.overlap(receiver)
    }

    /// Refuses patterns that cannot be.
    pub fn check(&self) -> Result<(), InterfererError> {
        let (on, off) = match self.pattern {
            Pattern::Always => return Ok(()),
            Pattern::Microwave { mains_hz: 40..=70 } => return Ok(()),
            Pattern::Microwave { mains_hz } => return Err(InterfererError::Mains(mains_hz)),
            Pattern::Periodic { on, off } => (on, off),
            Pattern::Random { mean_on, mean_off } => (mean_on, mean_off),
        };
        match () {
            () if on.is_zero() => Err(InterfererError::NeverOn),
            () if on < SHORTEST || (!off.is_zero() && off < SHORTEST) => Err(InterfererError::TooFast),
            () => Ok(()),
        }
    }
}

/// A time during which an interferer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// First instant.
    pub start: Time,
    /// First instant after it.
    pub end: Time,
}

/// The bursts of an interferer, one after the other, without end unless it is switched off. They do not touch.
#[derive(Debug, Clone)]
pub struct Bursts {
    pattern: Pattern,
    /// The end of the last burst's silence; the number of bursts so far.
    next: Time,
    count: u64,
    start: Time,
    stop: Time,
    rng: ChaCha8Rng,
}

impl Bursts {
    /// The bursts of an interferer. The same seed gives the same ones.
    pub fn new(spec: &InterfererSpec, seed: u64) -> Result<Bursts, InterfererError> {
        spec.check()?;
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Bursts {
            pattern: spec.pattern,
            next: spec.start,
            count: 0,
            start: spec.start,
            stop: spec.stop,
            rng,
        })
    }

    /// Starts now if the start is still to come; says so.
    pub(super) fn start_now(&mut self, now: Time) -> bool {
        let early = self.start > now;
        if early {
            (self.start, self.next, self.count) = (now, now, 0);
        }
        early
    }

    /// A draw with this mean from the exponential distribution, at least [`SHORTEST`].
    fn exponential(&mut self, mean: Duration) -> Duration {
        let drawn = -libm::log(1.0 - self.rng.random::<f64>()) * mean.as_nanos() as f64;
        Duration::from_nanos(drawn as u64).max(SHORTEST)
    }

    /// A burst of the magnetron in this mains period.
    fn microwave(&mut self, mains_hz: u32) -> Burst {
        let period_ns = 1e9 / f64::from(mains_hz);
        let mut edge = |share: f64| {
            let moved = share + MICROWAVE_JITTER * (self.rng.random::<f64>() - 0.5);
            Duration::from_nanos(((self.count as f64 + moved) * period_ns) as u64)
        };
        let (on, off) = (edge(0.25 - MICROWAVE_DUTY / 2.0), edge(0.25 + MICROWAVE_DUTY / 2.0));
        Burst { start: self.start + on, end: self.start + off }
    }
}

impl Iterator for Bursts {
    type Item = Burst;

    fn next(&mut self) -> Option<Burst> {
        if self.next >= self.stop {
            return None;
        }
        let from = self.next;
        let (burst, silent) = match self.pattern {
            Pattern::Always => (Burst { start: from, end: self.stop }, Duration::ZERO),
            Pattern::Periodic { off, .. } if off.is_zero() => {
                (Burst { start: from, end: self.stop }, Duration::ZERO)
            }
            Pattern::Periodic { on, off } => (Burst { start: from, end: from + on }, off),
            Pattern::Random { mean_on, mean_off } => {
                // It begins with silence, so that not all interferers of a run begin together.
                let start = from + self.exponential(mean_off);
                (Burst { start, end: start + self.exponential(mean_on) }, Duration::ZERO)
            }
            Pattern::Microwave { mains_hz } => (self.microwave(mains_hz), Duration::ZERO),
        };
        self.count += 1;
        self.next = burst.end + silent;
        (burst.start < self.stop).then_some(Burst { end: burst.end.min(self.stop), ..burst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(pattern: Pattern) -> InterfererSpec {
        let span = Span { centre_mhz: 2450.0, width_mhz: 40.0 };
        InterfererSpec {
            power_dbm: 16.0,
            span,
            pattern,
            wifi_like: false,
            start: Time::ZERO,
            stop: Time::NEVER,
        }
    }

    /// Share of time on, and mean burst in seconds, until `secs`.
    fn duty(pattern: Pattern, secs: u64) -> (f64, f64) {
        let bursts = Bursts::new(&spec(pattern), 3).unwrap().take_while(|b| b.end < Time::from_secs(secs));
        let (mut on, mut count, mut last) = (Duration::ZERO, 0, Time::ZERO);
        for burst in bursts {
            assert!(
                burst.start < burst.end && (count == 0 || burst.start > last),
                "{burst:?} after {last:?}"
            );
            on += burst.end - burst.start;
            (count, last) = (count + 1, burst.end);
        }
        (on.as_secs_f64() / secs as f64, on.as_secs_f64() / f64::from(count))
    }

    #[test]
    fn patterns_have_their_duty() {
        let ms = Duration::from_millis;
        let near = |(share, mean): (f64, f64), expected_share: f64, expected_mean: f64| {
            let close = (share - expected_share).abs() < 0.01 && (mean / expected_mean - 1.0).abs() < 0.02;
            assert!(close, "{share} for {expected_share}, {mean} for {expected_mean}");
        };
        near(duty(Pattern::Periodic { on: ms(2), off: ms(8) }, 10), 0.2, 0.002);
        near(duty(Pattern::Random { mean_on: ms(5), mean_off: ms(15) }, 1_000), 0.25, 0.005);
        near(duty(Pattern::Microwave { mains_hz: 60 }, 10), 0.45, 0.45 / 60.0);
    }

    #[test]
    fn random_bursts_are_exponential() {
        let pattern =
            Pattern::Random { mean_on: Duration::from_millis(10), mean_off: Duration::from_millis(10) };
        let lengths: Vec<f64> = Bursts::new(&spec(pattern), 8)
            .unwrap()
            .take(50_000)
            .map(|b| (b.end - b.start).as_secs_f64())
            .collect();
        let longer = |x: f64| lengths.iter().filter(|l| **l > x).count() as f64 / lengths.len() as f64;
        assert!((longer(0.01) - 0.3679).abs() < 0.01 && (longer(0.03) - 0.0498).abs() < 0.005);
    }

    #[test]
    fn switched_on_and_off() {
        let always =
            InterfererSpec { start: Time::from_secs(2), stop: Time::from_secs(5), ..spec(Pattern::Always) };
        let bursts: Vec<Burst> = Bursts::new(&always, 1).unwrap().collect();
        assert_eq!(bursts, [Burst { start: Time::from_secs(2), end: Time::from_secs(5) }]);
        let pattern = Pattern::Periodic { on: Duration::from_secs(1), off: Duration::from_millis(900) };
        let bursts: Vec<Burst> = Bursts::new(&InterfererSpec { pattern, ..always }, 1).unwrap().collect();
        assert_eq!(bursts.len(), 2);
        assert_eq!(bursts[1].end, Time::from_millis(4_900));
        let pattern = Pattern::Periodic { on: Duration::from_secs(1), off: Duration::ZERO };
        assert_eq!(Bursts::new(&InterfererSpec { pattern, ..always }, 1).unwrap().count(), 1);
    }

    #[test]
    fn impossible_patterns_are_refused() {
        let told = |pattern| spec(pattern).check().unwrap_err();
        let us = Duration::from_micros;
        assert_eq!(told(Pattern::Periodic { on: Duration::ZERO, off: us(5) }), InterfererError::NeverOn);
        assert_eq!(
            told(Pattern::Random { mean_on: Duration::from_nanos(3), mean_off: us(5) }),
            InterfererError::TooFast
        );
        assert_eq!(told(Pattern::Microwave { mains_hz: 0 }), InterfererError::Mains(0));
    }

    #[test]
    fn energy_spreads_over_its_span() {
        let oven = spec(Pattern::Always);
        assert_eq!(oven.share(&Span { centre_mhz: 2437.0, width_mhz: 20.0 }), 17.0 / 40.0);
        assert_eq!(oven.share(&Span { centre_mhz: 2412.0, width_mhz: 20.0 }), 0.0);
    }
}
