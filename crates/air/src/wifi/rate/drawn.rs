//! A rate control known only by what it chose: the usual rate, and in some steps of time another.

use core::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{RateChain, RateControl, SelectCtx, TxReport};
use crate::Time;
use crate::wifi::phy::Rate;

/// How a drawn rate control chooses: a log of rates gives the share and the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// The rate of most steps.
    pub usual: Rate,
    /// The rate of the others.
    pub other: Rate,
    /// The share of steps with the other rate, 0 to 1.
    pub share: f64,
    /// How long a step lasts; above zero.
    pub step: Duration,
}

/// Each step of time has one of two rates, drawn by itself; the MAC's retry limit decides how often a frame is sent.
#[derive(Debug, Clone)]
pub struct Drawn {
    draw: Draw,
    rng: ChaCha8Rng,
    /// The present step, counted from the start, and its rate.
    present: Option<(u64, Rate)>,
}

impl Drawn {
    /// The same seed draws the same steps.
    pub fn new(draw: Draw, seed: u64) -> Drawn {
        Drawn { draw, rng: ChaCha8Rng::seed_from_u64(seed), present: None }
    }

    /// Time never goes back, so each step is drawn once, whether frames are sent in it or not.
    fn rate(&mut self, now: Time) -> Rate {
        let step = u64::try_from(u128::from(now.as_nanos()) / self.draw.step.as_nanos().max(1))
            .expect("a 64-bit number divided by one of at least 1");
        let (mut at, mut rate) = self.present.unwrap_or((u64::MAX, self.draw.usual));
        while at != step {
            let is_other = self.rng.random::<f64>() < self.draw.share;
            rate = if is_other { self.draw.other } else { self.draw.usual };
            at = at.wrapping_add(1);
        }
        self.present = Some((step, rate));
        rate
    }
}

impl RateControl for Drawn {
    fn name(&self) -> &'static str {
        "drawn"
    }

    fn select(&mut self, now: Time, _: &SelectCtx) -> RateChain {
        RateChain::single(self.rate(now), u8::MAX)
    }

    fn report(&mut self, _: Time, _: &TxReport) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(150);

    fn rates(share: f64, seed: u64, every: Duration) -> Vec<u64> {
        let mcs = |n| Rate::dmg(n).unwrap();
        let mut control = Drawn::new(Draw { usual: mcs(6), other: mcs(7), share, step: STEP }, seed);
        let ctx = SelectCtx { mpdu_bytes: 1538, mpdus: 1, snr_db: None };
        let steps = Duration::from_secs(300).as_nanos() / every.as_nanos();
        let rate = |i| control.select(Time::ZERO + every * i, &ctx).stages()[0].rate.bps();
        (0..steps as u32).map(rate).collect()
    }

    #[test]
    fn the_share_of_steps_is_as_said_and_a_step_has_one_rate() {
        let all = rates(0.11, 1, STEP / 10);
        assert!(all.chunks(10).all(|step| step.iter().all(|rate| *rate == step[0])));
        let other = all.iter().filter(|rate| **rate == 1_925_000_000).count() as f64 / all.len() as f64;
        assert!((other - 0.11).abs() < 0.03, "{other}");
        assert!(all.iter().all(|rate| [1_540_000_000, 1_925_000_000].contains(rate)));
    }

    #[test]
    fn the_steps_are_those_of_the_seed_however_often_it_is_asked() {
        let seldom = rates(0.5, 2, STEP);
        assert!(rates(0.5, 2, STEP / 10).iter().step_by(10).eq(&seldom));
        assert!(rates(0.5, 2, STEP * 3).iter().eq(seldom.iter().step_by(3).take(666)));
        assert_ne!(rates(0.5, 3, STEP), seldom);
    }

    #[test]
    fn a_share_of_zero_is_one_rate() {
        assert!(rates(0.0, 4, STEP).iter().all(|rate| *rate == 1_540_000_000));
    }
}
