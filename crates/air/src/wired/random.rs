//! Seeded randomness: one independent stream per cause, so that switching one cause on leaves the others as they were.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A cause of chance on a link; each draws from its own ChaCha stream of the link's seed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cause {
    Jitter = 1,
    Loss = 2,
    Corruption = 3,
    Duplication = 4,
    Hash = 5,
}

/// The generator for `cause` on the link seeded with `seed`.
pub(super) fn stream(seed: u64, cause: Cause) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(cause as u64);
    rng
}

/// True with probability `p`. Draws nothing when the answer is certain.
pub(super) fn chance(rng: &mut ChaCha8Rng, p: f64) -> bool {
    p > 0.0 && (p >= 1.0 || rng.random::<f64>() < p)
}

/// A draw from the normal distribution with mean 0 and deviation 1: Marsaglia's polar method (SIAM Review 6(3),
/// 1964). `sqrt` is exact by IEEE 754 and the logarithm is our own, so that every machine draws the same numbers.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    loop {
        let (x, y) = (rng.random::<f64>() * 2.0 - 1.0, rng.random::<f64>() * 2.0 - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_has_its_moments_and_tails() {
        let mut rng = stream(7, Cause::Jitter);
        let draws: Vec<f64> = (0..200_000).map(|_| normal(&mut rng)).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n;
        let beyond_two = draws.iter().filter(|d| d.abs() > 2.0).count() as f64 / n;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.015, "{variance}");
        assert!((beyond_two - 0.0455).abs() < 0.002, "{beyond_two}");
    }

    #[test]
    fn causes_do_not_share_a_stream() {
        let first = |cause| stream(1, cause).random::<u64>();
        assert_ne!(first(Cause::Loss), first(Cause::Jitter));
        assert_eq!(first(Cause::Loss), first(Cause::Loss));
    }
}
