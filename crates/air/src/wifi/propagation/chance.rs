//! Chance without state: a hash of seed, link and index.

/// A link between two radios, for models of chance. Both directions are one link, as radio waves do not mind (reciprocity).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link(u64);

impl Link {
    /// The link between radios `a` and `b` at a frequency: on another channel the same radios fade independently.
    pub fn new(a: u16, b: u16, mhz: u32) -> Link {
        let (low, high) = (a.min(b), a.max(b));
        Link(u64::from(low) << 48 | u64::from(high) << 32 | u64::from(mhz))
    }

    pub(super) fn key(self) -> u64 {
        self.0
    }
}

/// What is drawn: each model has numbers of its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Shadowing = 1,
    Fading = 2,
    LineOfSight = 3,
}

/// One step of SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 64 random bits for this purpose, link and index.
pub(super) fn draw(seed: u64, purpose: Purpose, link: Link, index: u64) -> u64 {
    mix(mix(mix(seed ^ (purpose as u64) << 56) ^ link.key()) ^ index)
}

/// Uniform in (0, 1].
pub(super) fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Two independent draws of the normal distribution with mean 0 and deviation 1 (Box and Muller, 1958).
pub(super) fn normal_pair(bits: u64) -> (f64, f64) {
    let radius = (-2.0 * libm::log(unit(bits))).sqrt();
    let (sin, cos) = libm::sincos(core::f64::consts::TAU * unit(mix(bits)));
    (radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_one_link_and_channels_are_not() {
        assert_eq!(Link::new(1, 2, 5180), Link::new(2, 1, 5180));
        assert_ne!(Link::new(1, 2, 5180), Link::new(1, 2, 5200));
        assert_ne!(Link::new(1, 2, 5180), Link::new(1, 3, 5180));
    }

    #[test]
    fn pairs_are_normal_and_independent() {
        let n = 200_000;
        let link = Link::new(0, 1, 5180);
        let pairs: Vec<(f64, f64)> = (0..n).map(|i| normal_pair(draw(1, Purpose::Fading, link, i))).collect();
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n as f64;
        assert!(mean(&|p| p.0).abs() < 0.01 && mean(&|p| p.1).abs() < 0.01);
        assert!((mean(&|p| p.0 * p.0) - 1.0).abs() < 0.015 && (mean(&|p| p.1 * p.1) - 1.0).abs() < 0.015);
        assert!(mean(&|p| p.0 * p.1).abs() < 0.01);
        assert!((mean(&|p| p.0.powi(4)) - 3.0).abs() < 0.1);
        // Neighbouring indices have nothing to do with each other.
        let neighbours = pairs.windows(2).map(|w| w[0].0 * w[1].0).sum::<f64>() / n as f64;
        assert!(neighbours.abs() < 0.01, "{neighbours}");
    }
}
