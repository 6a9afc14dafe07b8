//! Which packets the wire loses.

use rand_chacha::ChaCha8Rng;

use super::random::chance;

/// How packets get lost on the wire, after they have used it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each packet by itself.
    Random {
        /// Probability that a packet is lost, 0 to 1.
        probability: f64,
    },
    /// In bursts: a chain of a good and a bad state that may change before each packet (Gilbert, BSTJ 39, 1960;
    /// Elliott, BSTJ 42, 1963).
    GilbertElliott {
        /// Probability to change from the good to the bad state, per packet.
        good_to_bad: f64,
        /// Probability to change from the bad to the good state, per packet; bad spells last 1/this packets.
        bad_to_good: f64,
        /// Probability that a packet is lost in the good state.
        loss_in_good: f64,
        /// Probability that a packet is lost in the bad state.
        loss_in_bad: f64,
    },
}

impl Loss {
    /// Random loss of `percent` in a hundred packets.
    pub fn percent(percent: f64) -> Loss {
        if percent == 0.0 { Loss::None } else { Loss::Random { probability: percent / 100.0 } }
    }

    /// Whole bursts of lost packets, `mean_burst` packets long on average (at least 1), so that `probability` (less
    /// than 1) of all packets is lost.
    pub fn bursts(probability: f64, mean_burst: f64) -> Loss {
        let bad_to_good = 1.0 / mean_burst;
        // The share of time in the bad state is g/(g + b), which is to be `probability`.
        let good_to_bad = bad_to_good * probability / (1.0 - probability);
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good: 0.0, loss_in_bad: 1.0 }
    }

    /// The share of packets lost in the long run, 0 to 1.
    pub fn mean(&self) -> f64 {
        match *self {
            Loss::None => 0.0,
            Loss::Random { probability } => probability,
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                let bad = if good_to_bad == 0.0 { 0.0 } else { good_to_bad / (good_to_bad + bad_to_good) };
                loss_in_good * (1.0 - bad) + loss_in_bad * bad
            }
        }
    }

    /// All the probabilities in it, for the check of a spec.
    pub(super) fn probabilities(&self) -> [f64; 4] {
        match *self {
            Loss::None => [0.0; 4],
            Loss::Random { probability } => [probability, 0.0, 0.0, 0.0],
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                [good_to_bad, bad_to_good, loss_in_good, loss_in_bad]
            }
        }
    }
}

/// A loss process at work: the model with its state and its chance.
#[derive(Debug)]
pub(super) struct LossProcess {
    pub(super) model: Loss,
    bad: bool,
    rng: ChaCha8Rng,
}

impl LossProcess {
    pub(super) fn new(model: Loss, rng: ChaCha8Rng) -> LossProcess {
        LossProcess { model, bad: false, rng }
    }

    /// Whether the next packet is lost.
    pub(super) fn loses(&mut self) -> bool {
        match self.model {
            Loss::None => false,
            Loss::Random { probability } => chance(&mut self.rng, probability),
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                let leave = if self.bad { bad_to_good } else { good_to_bad };
                self.bad ^= chance(&mut self.rng, leave);
                chance(&mut self.rng, if self.bad { loss_in_bad } else { loss_in_good })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Cause, stream};
    use super::*;

    fn lost(model: Loss, packets: usize) -> Vec<bool> {
        let mut process = LossProcess::new(model, stream(3, Cause::Loss));
        (0..packets).map(|_| process.loses()).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&l| l).count() as f64 / lost.len() as f64
    }

    #[test]
    fn random_loss_has_its_frequency_and_no_memory() {
        let lost = lost(Loss::percent(2.0), 500_000);
        assert!((share(&lost) - 0.02).abs() < 0.001, "{}", share(&lost));
        let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count() as f64 / lost.len() as f64;
        assert!((pairs - 0.0004).abs() < 0.0001, "{pairs}");
    }

    #[test]
    fn bursts_have_their_length_and_frequency() {
        let model = Loss::bursts(0.05, 8.0);
        assert!((model.mean() - 0.05).abs() < 1e-12);
        let lost = lost(model, 1_000_000);
        assert!((share(&lost) - 0.05).abs() < 0.003, "{}", share(&lost));
        let bursts: Vec<usize> =
            lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len()).collect();
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((mean - 8.0).abs() < 0.3, "{mean}");
        // Lengths of a chain are geometric: the share longer than 8 is (7/8)^8.
        let long = bursts.iter().filter(|&&b| b > 8).count() as f64 / bursts.len() as f64;
        assert!((long - 0.3436).abs() < 0.03, "{long}");
    }

    #[test]
    fn mean_of_the_full_chain() {
        let model = Loss::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.2,
            loss_in_good: 0.001,
            loss_in_bad: 0.4,
        };
        assert!((share(&lost(model, 1_000_000)) - model.mean()).abs() < 0.001);
    }
}
