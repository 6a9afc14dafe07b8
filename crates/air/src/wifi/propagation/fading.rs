//! Fading of a narrow channel: Rayleigh and Rician, correlated in time, constant within blocks.
//!
//! # The process
//! Every T (see [`Fading::coherence`]) each link has an independent complex Gaussian anchor, a hash of its number. Between
//! two anchors the field turns from one into the other: z = cos(πu/2)·z_k + sin(πu/2)·z_k+1, 0 ≤ u < 1. As cos² + sin² = 1, z is
//! a complex Gaussian of unit power *at every instant*, so its power is exactly exponential (Rayleigh), or, with a steady
//! part added, exactly Rician. Averaged over u, its correlation over a lag of τ·T is
//!
//! ρ(τ) = (1 − τ/2)·cos(πτ/2) + sin(πτ/2)/π for τ ≤ 2, and 0 beyond,
//!
//! which falls to one half at τ = 0.79. There is no state, and a value costs two logarithms and two sines.

use core::time::Duration;

use super::chance::{Link, Purpose, draw, normal_pair, unit};
use super::{PropagationError, within};
use crate::Time;
use crate::wifi::phy::decibel::ratio_from_db;

/// How the power of a link varies around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum FadingKind {
    /// Not at all.
    #[default]
    None,
    /// Many paths, none of them prominent.
    Rayleigh,
    /// A steady path among others.
    Rician {
        /// Power of the steady path over that of all others, dB.
        k_db: f64,
    },
}

/// Fading of all links of a medium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// The distribution.
    pub kind: FadingKind,
    /// The time over which a link changes: the correlation of its field is one half after this.
    pub coherence: Duration,
}

/// ρ(0.7868) = 1/2, see the module.
const HALF_LAG: f64 = 0.786_8;
/// Blocks per anchor interval: from one to the next the field is correlated by 0.98.
const BLOCKS_PER_ANCHOR: u64 = 16;

impl Default for Fading {
    /// None; if a kind is set, 50 ms: a person walking, in 5 GHz (0.423·c/(f·v) with 1.5 m/s is 17 ms, in 2.4 GHz 35 ms;
    /// indoor links with people about are slower, 802.11n's TGn models take 1.2 km/h).
    fn default() -> Fading {
        Fading { kind: FadingKind::None, coherence: Duration::from_millis(50) }
    }
}

impl Fading {
    /// Refuses a K outside −30 to 40 dB, and a coherence outside 100 µs to 1 h.
    pub fn check(&self) -> Result<(), PropagationError> {
        if let FadingKind::Rician { k_db } = self.kind {
            within("the Rician K", k_db, (-30.0, 40.0), "from -30 to 40 dB")?;
        }
        within(
            "the fading's coherence time",
            self.coherence.as_secs_f64(),
            (1e-4, 3600.0),
            "from 100 us to 1 h",
        )
    }

    /// The time between anchors, T.
    fn anchor_ns(&self) -> u64 {
        ((self.coherence.as_nanos() as f64 / HALF_LAG) as u64).max(BLOCKS_PER_ANCHOR)
    }

    /// How long a value lasts.
    pub fn block(&self) -> Duration {
        Duration::from_nanos(self.anchor_ns() / BLOCKS_PER_ANCHOR)
    }

    /// The block that `now` is in; equal numbers give equal [`Fading::gain`]s.
    pub fn block_index(&self, now: Time) -> u64 {
        now.as_nanos() / (self.anchor_ns() / BLOCKS_PER_ANCHOR)
    }

    /// The power of a link in a block over its mean, as a ratio with mean 1.
    pub fn gain(&self, seed: u64, link: Link, block: u64) -> f64 {
        let (steady, scattered) = match self.kind {
            FadingKind::None => return 1.0,
            FadingKind::Rayleigh => (0.0, 1.0),
            FadingKind::Rician { k_db } => {
                let k = ratio_from_db(k_db);
                (k / (k + 1.0), 1.0 / (k + 1.0))
            }
        };
        let (re, im) = field(seed, link, block);
        let (sin, cos) = if steady > 0.0 {
            libm::sincos(core::f64::consts::TAU * unit(draw(seed, Purpose::LineOfSight, link, 0)))
        } else {
            (0.0, 0.0)
        };
        let (re, im) =
            (steady.sqrt() * cos + scattered.sqrt() * re, steady.sqrt() * sin + scattered.sqrt() * im);
        re * re + im * im
    }
}

/// The scattered field in a block, of unit mean power.
fn field(seed: u64, link: Link, block: u64) -> (f64, f64) {
    let anchor = |k| normal_pair(draw(seed, Purpose::Fading, link, k));
    let (k, part) = (block / BLOCKS_PER_ANCHOR, block % BLOCKS_PER_ANCHOR);
    let (a, b) = (anchor(k), anchor(k + 1));
    let (sin, cos) = libm::sincos(core::f64::consts::FRAC_PI_2 * part as f64 / BLOCKS_PER_ANCHOR as f64);
    // Each part of a complex Gaussian of unit power has variance one half.
    let scale = core::f64::consts::FRAC_1_SQRT_2;
    (scale * (cos * a.0 + sin * b.0), scale * (cos * a.1 + sin * b.1))
}

#[cfg(test)]
#[path = "fading_tests.rs"]
mod tests;
