//! The code words of complementary code keying, and how far they lie apart (802.11-2020, 16.3.6.5 and 16.3.6.6).

/// Chips of a code word.
const CHIPS: usize = 8;
/// Chips per second over the 20 MHz in which noise is counted: E_c/N_0 is the SINR times its inverse.
const CHIP_RATE_PER_BANDWIDTH: f64 = 11.0 / 20.0;

/// Squared Euclidean distances from one word of a code to the others, in units of a chip's energy, with their numbers.
/// The code is the image of a group of phases, so every word sees the same.
pub(super) struct Distances {
    /// Bits that a word carries.
    pub(super) bits: u32,
    pairs: Vec<(f64, f64)>,
}

impl Distances {
    /// 11 Mb/s: 8 bits choose four phases of four.
    pub(super) fn at_11_mbps() -> Distances {
        let words = (0..256u32).map(|w| [w & 3, w >> 2 & 3, w >> 4 & 3, w >> 6 & 3]);
        Distances::new(8, words)
    }

    /// 5.5 Mb/s: φ₁ of four, φ₂ and φ₄ of two, φ₃ fixed.
    pub(super) fn at_5_5_mbps() -> Distances {
        let words = (0..16u32).map(|w| [w & 3, 1 + 2 * (w >> 2 & 1), 0, 2 * (w >> 3 & 1)]);
        Distances::new(4, words)
    }

    fn new(bits: u32, mut words: impl Iterator<Item = [u32; 4]>) -> Distances {
        let first = words.next().map(word).unwrap_or_default();
        // A chip differs by 0, a quarter or half a turn, which is 0, 2 or 4 in squared distance.
        let squared = |other: [u32; CHIPS]| -> u32 {
            first.iter().zip(other).map(|(a, b)| [0, 2, 4, 2][((b + 4 - a) % 4) as usize]).sum()
        };
        let mut counts = [0u32; 4 * CHIPS + 1];
        words.for_each(|w| counts[squared(word(w)) as usize] += 1);
        let pairs = counts
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(d, &n)| (d as f64, f64::from(n)))
            .collect();
        Distances { bits, pairs }
    }

    /// Union bound on the probability that a word is taken for another: Σ A_d·Q(√(d·E_c/2N_0)).
    pub(super) fn word_error(&self, sinr: f64) -> f64 {
        let chip_energy = sinr / CHIP_RATE_PER_BANDWIDTH;
        self.pairs.iter().map(|(d, n)| n * 0.5 * libm::erfc((d * chip_energy).sqrt() / 2.0)).sum()
    }
}

/// The chips of a word as quarter turns.
fn word([p1, p2, p3, p4]: [u32; 4]) -> [u32; CHIPS] {
    [p1 + p2 + p3 + p4, p1 + p3 + p4, p1 + p2 + p4, p1 + p4 + 2, p1 + p2 + p3, p1 + p3, p1 + p2 + 2, p1]
        .map(|p| p % 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spectra() {
        // Complementary words: 24 neighbours at 8 chips' energy, as Pursley and Royster count them for 11 Mb/s
        // (IEEE Trans. Commun. 57(2), 2009), and one opposite word.
        let fast = Distances::at_11_mbps();
        assert_eq!(fast.pairs.iter().map(|p| p.1).sum::<f64>(), 255.0);
        assert_eq!(fast.pairs[0], (8.0, 24.0));
        assert_eq!(fast.pairs.last(), Some(&(32.0, 1.0)));
        let slow = Distances::at_5_5_mbps();
        assert_eq!(slow.pairs, [(16.0, 14.0), (32.0, 1.0)]);
    }
}
