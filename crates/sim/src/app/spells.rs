//! Spells of sending and of silence of a source.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use std::time::Duration;

/// When a source sends, and when it is silent.
#[derive(Debug)]
pub struct Spells {
    on: Duration,
    off: Duration,
    /// Draws lengths; none: all are alike.
    rng: Option<ChaCha8Rng>,
    /// The present spell of sending ends, and the next one begins.
    ends: Time,
    next: Time,
}

impl Spells {
    /// Spells of these lengths.
    pub fn fixed(on: Duration, off: Duration) -> Spells {
        Spells { on, off, rng: None, ends: Time::ZERO, next: Time::ZERO }
    }

    /// Spells of exponentially distributed lengths with these means.
    pub fn exponential(on: Duration, off: Duration, seed: u64) -> Spells {
        Spells { rng: Some(ChaCha8Rng::seed_from_u64(seed)), ..Spells::fixed(on, off) }
    }

    /// The source starts, with a spell of sending.
    pub(super) fn begin(&mut self, now: Time) {
        self.turn(now);
    }

    /// When the next spell of sending begins, if this time is in one of silence.
    pub(super) fn resumes(&mut self, at: Time) -> Option<Time> {
        while at >= self.next {
            self.turn(self.next);
        }
        (at >= self.ends).then_some(self.next)
    }

    /// A spell of sending begins.
    fn turn(&mut self, at: Time) {
        self.ends = at + self.draw(self.on);
        // Both together are never nothing, or time would stand still.
        self.next = (self.ends + self.draw(self.off)).max(at + Duration::from_nanos(1));
    }

    fn draw(&mut self, mean: Duration) -> Duration {
        match &mut self.rng {
            None => mean,
            // 1 − u is never zero. The logarithm is libm's, so that every machine draws the same.
            Some(rng) => mean.mul_f64(-libm::log(1.0 - rng.random::<f64>())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Milliseconds in which it sends.
    fn sends(spells: &mut Spells, until_ms: u64) -> Vec<u64> {
        spells.begin(Time::ZERO);
        (0..until_ms).filter(|at| spells.resumes(Time::from_millis(*at)).is_none()).collect()
    }

    #[test]
    fn fixed_spells_come_at_equal_distances() {
        let mut spells = Spells::fixed(ms(20), ms(80));
        let sent = sends(&mut spells, 1_000);
        assert_eq!(sent, (0..1_000).filter(|at| at % 100 < 20).collect::<Vec<_>>());
        assert_eq!(spells.resumes(Time::from_millis(1_050)), Some(Time::from_millis(1_100)));
        // Without silence it always sends.
        assert_eq!(sends(&mut Spells::fixed(ms(20), ms(0)), 1_000).len(), 1_000);
    }

    #[test]
    fn drawn_spells_have_their_means_and_are_the_seeds() {
        let of = |seed| sends(&mut Spells::exponential(ms(2_000), ms(6_000), seed), 4_000_000);
        let sent = of(1);
        let share = sent.len() as f64 / 4e6;
        assert!((0.22..0.28).contains(&share), "{share}");
        let spells = 1 + sent.windows(2).filter(|w| w[1] > w[0] + 1).count();
        assert!((430..570).contains(&spells), "{spells}");
        assert_eq!(sent, of(1));
        assert_ne!(sent, of(2));
    }
}
