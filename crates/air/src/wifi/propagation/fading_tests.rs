//! Distributions and correlation against their formulas.

use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);

fn fading(kind: FadingKind) -> Fading {
    Fading { kind, coherence: 20 * MILLISECOND }
}

fn gains(kind: FadingKind, links: u16, draws: u64) -> Vec<f64> {
    let fading = fading(kind);
    // 35 blocks are more than two anchors, so draws are independent, and fall on all places between anchors.
    let of = |peer| (0..draws).map(move |i| fading.gain(11, Link::new(0, peer, 5180), 35 * i));
    (1..=links).flat_map(of).collect()
}

/// The largest distance between the distribution of `draws` and `cdf` (Kolmogorov–Smirnov).
fn distance(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    draws.iter().enumerate().map(|(i, x)| ((i as f64 + 0.5) / n - cdf(*x)).abs()).fold(0.0, f64::max)
}

#[test]
fn rayleigh_power_is_exponential() {
    let draws = gains(FadingKind::Rayleigh, 100, 2_000);
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    let square = draws.iter().map(|g| g * g).sum::<f64>() / n;
    assert!((mean - 1.0).abs() < 0.01 && (square - 2.0).abs() < 0.06, "{mean} {square}");
    // Deep fades: 1 % of the time 20 dB down.
    let deep = draws.iter().filter(|g| **g < 0.01).count() as f64 / n;
    assert!((deep - 0.00995).abs() < 0.001, "{deep}");
    let worst = distance(draws, |x| 1.0 - (-x).exp());
    assert!(worst < 0.006, "{worst}");
}

#[test]
fn rician_power_has_its_moments_and_distribution() {
    for k_db in [-3.0, 3.0, 6.0, 10.0] {
        let k = ratio_from_db(k_db);
        let draws = gains(FadingKind::Rician { k_db }, 50, 2_000);
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n;
        let expected = (1.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k));
        assert!((mean - 1.0).abs() < 0.01, "K {k_db} dB: mean {mean}");
        assert!((variance / expected - 1.0).abs() < 0.05, "K {k_db} dB: {variance} for {expected}");
        let worst = distance(draws, |x| rician_cdf(k, x));
        assert!(worst < 0.008, "K {k_db} dB: {worst}");
    }
}

/// Distribution of Rician power: a Poisson mixture of Erlang distributions (non-central χ² with two degrees).
fn rician_cdf(k: f64, x: f64) -> f64 {
    let (mut weight, mut term, mut tail, mut cdf) = ((-k).exp(), 1.0, 0.0, 0.0);
    let y = (1.0 + k) * x;
    for j in 0..120 {
        // P(Erlang of j + 1 stages > y) = e^−y Σ_{i ≤ j} y^i/i!.
        tail += term * (-y).exp();
        cdf += weight * (1.0 - tail);
        weight *= k / f64::from(j + 1);
        term *= y / f64::from(j + 1);
    }
    cdf
}

#[test]
fn correlation_follows_its_formula() {
    let links = 1_000;
    let blocks = 16 * 3;
    for lag in [0, 1, 4, 8, 12, 16, 24, 31, 32, 48] {
        let mut sum = 0.0;
        for peer in 1..=links {
            let link = Link::new(0, peer, 2412);
            for b in 0..blocks {
                let (x, y) = (field(3, link, b), field(3, link, b + lag));
                sum += x.0 * y.0 + x.1 * y.1;
            }
        }
        let got = sum / (f64::from(links) * blocks as f64);
        let tau = lag as f64 / BLOCKS_PER_ANCHOR as f64;
        let angle = core::f64::consts::FRAC_PI_2 * tau;
        let formula = if tau >= 2.0 {
            0.0
        } else {
            (1.0 - tau / 2.0) * angle.cos() + angle.sin() / core::f64::consts::PI
        };
        assert!((got - formula).abs() < 0.03, "lag {lag}: {got} for {formula}");
    }
}

#[test]
fn coherence_is_where_the_correlation_is_one_half() {
    let angle = core::f64::consts::FRAC_PI_2 * HALF_LAG;
    let rho = (1.0 - HALF_LAG / 2.0) * angle.cos() + angle.sin() / core::f64::consts::PI;
    assert!((rho - 0.5).abs() < 1e-3, "{rho}");
    let fading = fading(FadingKind::Rayleigh);
    let blocks = fading.coherence.as_nanos() / fading.block().as_nanos();
    assert_eq!(blocks, 12);
}

#[test]
fn constant_within_a_block_and_the_same_for_everybody() {
    let fading = fading(FadingKind::Rayleigh);
    let at = |us| fading.block_index(Time::from_micros(us));
    let block_us = u64::try_from(fading.block().as_micros()).unwrap();
    assert_eq!(at(3 * block_us + 10), at(4 * block_us - 10));
    assert_ne!(at(3 * block_us), at(5 * block_us));
    let gain = |a, b, block| fading.gain(1, Link::new(a, b, 5180), block);
    assert_eq!(gain(4, 9, 77).to_bits(), gain(9, 4, 77).to_bits());
    assert_ne!(gain(4, 9, 77), gain(4, 8, 77));
    // The very bits, on every machine.
    assert_eq!(gain(4, 9, 77).to_bits(), GOLDEN);
}

/// Printed by this test once; libm computes the same on every machine.
const GOLDEN: u64 = 4_610_696_995_349_801_986;

#[test]
fn none_is_one_and_nonsense_is_refused() {
    assert_eq!(Fading::default().gain(1, Link::new(0, 1, 0), 5), 1.0);
    assert!(fading(FadingKind::Rician { k_db: f64::NAN }).check().is_err());
    assert!(Fading { coherence: Duration::ZERO, ..Fading::default() }.check().is_err());
    assert!(fading(FadingKind::Rician { k_db: 6.0 }).check().is_ok());
}
