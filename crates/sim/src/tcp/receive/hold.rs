//! Spells in which a receiver acknowledges seldom ([`AckHold`]).

use super::super::AckHold;
use core::time::Duration;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;

#[derive(Clone, Debug)]
pub(super) struct Hold {
    spec: AckHold,
    /// Of the spells alone, so that they are the same for all subflows.
    spells: ChaCha8Rng,
    counts: ChaCha8Rng,
    /// The present spell, and when it ends.
    held: bool,
    until: Time,
    /// What the next acknowledgement waits for.
    wanted: Option<u32>,
}

impl Hold {
    pub(super) fn new(spec: AckHold) -> Hold {
        let mut hold = Hold {
            spec,
            spells: ChaCha8Rng::seed_from_u64(spec.seed),
            counts: ChaCha8Rng::seed_from_u64(spec.seed.wrapping_add(1)),
            held: false,
            until: Time::ZERO,
            wanted: None,
        };
        hold.until = Time::ZERO + hold.drawn(spec.clear);
        hold
    }

    /// From 0 to twice the mean, and never nothing: spells end.
    fn drawn(&mut self, mean: Duration) -> Duration {
        (2 * mean).mul_f64(self.spells.random::<f64>()).max(Duration::from_micros(1))
    }

    /// How many segments an acknowledgement waits for now; none outside held spells.
    pub(super) fn segments(&mut self, now: Time) -> Option<u32> {
        while self.until <= now {
            self.held = !self.held;
            let mean = if self.held { self.spec.held } else { self.spec.clear };
            let lasts = self.drawn(mean);
            self.until += lasts;
        }
        if !self.held {
            return None;
        }
        let most = self.spec.segments.max(2);
        Some(*self.wanted.get_or_insert_with(|| self.counts.random_range(2..=most)))
    }

    /// The next one waits for another number.
    pub(super) fn on_ack_sent(&mut self) {
        self.wanted = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: AckHold =
        AckHold { clear: Duration::from_secs(3), held: Duration::from_secs(1), segments: 100, seed: 5 };

    fn spells(hold: &mut Hold, every_ms: u64) -> Vec<bool> {
        (0..4_000_000 / every_ms).map(|i| hold.segments(Time::from_millis(i * every_ms)).is_some()).collect()
    }

    #[test]
    fn a_quarter_of_the_time_is_held_whoever_asks_and_however_often() {
        let often = spells(&mut Hold::new(SPEC), 10);
        let share = often.iter().filter(|held| **held).count() as f64 / often.len() as f64;
        assert!((share - 0.25).abs() < 0.02, "{share}");
        let mut other = Hold::new(SPEC);
        let seldom: Vec<bool> = spells(&mut other, 100);
        assert!(seldom.iter().eq(often.iter().step_by(10)));
    }

    #[test]
    fn a_count_stays_until_its_acknowledgement_has_left() {
        let mut hold = Hold::new(AckHold { clear: Duration::ZERO, held: Duration::from_secs(1000), ..SPEC });
        let now = Time::from_secs(1);
        let first = hold.segments(now).unwrap();
        assert_eq!(hold.segments(now), Some(first));
        let mut all: Vec<u32> = Vec::new();
        for _ in 0..1000 {
            hold.on_ack_sent();
            all.extend(hold.segments(now));
        }
        let mean = f64::from(all.iter().sum::<u32>()) / 1000.0;
        assert!(all.iter().all(|n| (2..=100).contains(n)) && (mean - 51.0).abs() < 3.0, "{mean}");
    }
}
