//! How much of a transmission falls into another channel.

use super::decibel::ratio_from_db;
use super::{Format, Width};

/// A stretch of spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Middle, MHz.
    pub centre_mhz: f64,
    /// From end to end, MHz.
    pub width_mhz: f64,
}

impl Span {
    fn ends(&self) -> (f64, f64) {
        (self.centre_mhz - self.width_mhz / 2.0, self.centre_mhz + self.width_mhz / 2.0)
    }

    /// The share of this stretch that `other` covers, 0 to 1.
    pub fn overlap(&self, other: &Span) -> f64 {
        let ((a, b), (c, d)) = (self.ends(), other.ends());
        ((b.min(d) - a.max(c)) / self.width_mhz).clamp(0.0, 1.0)
    }
}

/// Power density of a transmission by distance from its centre: straight lines in dB between points, symmetric, and nothing
/// beyond the last point.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectralMask {
    /// (distance from the centre in MHz, dB below the density in the middle), by growing distance, the first at 0.
    points: Vec<(f64, f64)>,
}

impl SpectralMask {
    /// All power inside the width, evenly.
    pub fn rectangular(width_mhz: f64) -> SpectralMask {
        SpectralMask { points: vec![(0.0, 0.0), (width_mhz / 2.0, 0.0)] }
    }

    /// The mask that a transmitter must stay under (802.11-2020: 15.4.5.5, 17.3.9.3, 19.3.18.1, 21.3.17.1, 20.3.2). Real
    /// transmitters are some dB better, so a neighbour computed with it is a strict one.
    pub fn standard(format: Format, width: Width) -> SpectralMask {
        let points: &[(f64, f64)] = match (format, width) {
            (Format::Dsss, _) => {
                &[(0.0, 0.0), (9.0, 0.0), (11.0, -30.0), (22.0, -30.0), (22.0, -50.0), (33.0, -50.0)]
            }
            (Format::Ofdm, Width::Mhz20) => {
                &[(0.0, 0.0), (9.0, 0.0), (11.0, -20.0), (20.0, -28.0), (30.0, -40.0), (40.0, -40.0)]
            }
            (_, Width::Mhz20) => {
                &[(0.0, 0.0), (9.0, 0.0), (11.0, -20.0), (20.0, -28.0), (30.0, -45.0), (40.0, -45.0)]
            }
            (_, Width::Mhz40) => {
                &[(0.0, 0.0), (19.0, 0.0), (21.0, -20.0), (40.0, -28.0), (60.0, -45.0), (80.0, -45.0)]
            }
            (_, Width::Mhz80) => {
                &[(0.0, 0.0), (39.0, 0.0), (41.0, -20.0), (80.0, -28.0), (120.0, -40.0), (160.0, -40.0)]
            }
            (_, Width::Mhz2160) => &[
                (0.0, 0.0),
                (940.0, 0.0),
                (1200.0, -17.0),
                (2700.0, -22.0),
                (3060.0, -30.0),
                (4320.0, -30.0),
            ],
        };
        SpectralMask { points: points.to_vec() }
    }

    /// A mask of one's own. None unless the first point is at 0, distances do not fall, and every number is finite.
    pub fn new(points: Vec<(f64, f64)>) -> Option<SpectralMask> {
        let starts = points.first().is_some_and(|p| p.0 == 0.0) && points.last().is_some_and(|p| p.0 > 0.0);
        let rises = points.windows(2).all(|w| w[0].0 <= w[1].0);
        let finite = points.iter().all(|p| p.0.is_finite() && p.1.is_finite());
        (starts && rises && finite).then_some(SpectralMask { points })
    }

    /// The share of the power of a transmission centred at `centre_mhz` that a receiver open over `receiver` takes in.
    pub fn share(&self, centre_mhz: f64, receiver: &Span) -> f64 {
        let (low, high) = receiver.ends();
        let (low, high) = (low - centre_mhz, high - centre_mhz);
        // What lies between two distances, on both sides of the centre.
        let inside = self.within(high) - self.within(low);
        (inside / (2.0 * self.one_side(f64::INFINITY))).clamp(0.0, 1.0)
    }

    /// Signed integral of the density from the centre to `at`.
    fn within(&self, at: f64) -> f64 {
        if at < 0.0 { -self.one_side(-at) } else { self.one_side(at) }
    }

    /// Integral of the density from 0 to `distance`.
    fn one_side(&self, distance: f64) -> f64 {
        let pieces = self.points.windows(2).filter(|w| w[0].0 < distance && w[0].0 < w[1].0);
        pieces.map(|w| integral(w[0], w[1], distance)).sum()
    }
}

/// Integral over a straight line in dB from `from` to the nearer of `to` and `end`: exponential in closed form.
fn integral(from: (f64, f64), to: (f64, f64), end: f64) -> f64 {
    let slope = (to.1 - from.1) / (to.0 - from.0) * core::f64::consts::LN_10 / 10.0;
    let length = to.0.min(end) - from.0;
    let area = if slope == 0.0 { length } else { libm::expm1(slope * length) / slope };
    ratio_from_db(from.1) * area
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::phy::decibel::db_from_ratio;

    fn channel(number: u32) -> Span {
        Span { centre_mhz: f64::from(2407 + 5 * number), width_mhz: 20.0 }
    }

    #[test]
    fn rectangles_overlap_as_rectangles() {
        let mask = SpectralMask::rectangular(20.0);
        for (other, share) in [(6, 1.0), (7, 0.75), (8, 0.5), (9, 0.25), (10, 0.0), (2, 0.0), (3, 0.25)] {
            assert!((mask.share(channel(6).centre_mhz, &channel(other)) - share).abs() < 1e-12, "{other}");
            assert!((channel(6).overlap(&channel(other)) - share).abs() < 1e-12, "{other}");
        }
        let wide = Span { centre_mhz: 2447.0, width_mhz: 40.0 };
        assert_eq!((mask.share(2437.0, &wide), wide.overlap(&channel(6))), (1.0, 0.5));
    }

    #[test]
    fn a_mask_leaks_into_its_neighbours() {
        let mask = SpectralMask::standard(Format::Ofdm, Width::Mhz20);
        let into = |other| db_from_ratio(mask.share(channel(1).centre_mhz, &channel(other)));
        // The own channel keeps nearly all; the adjacent one (20 MHz) gets about −27 dB, channel 6 less again.
        assert!(into(1) > -0.1, "{}", into(1));
        assert!((-28.0..-20.0).contains(&into(5)), "{}", into(5));
        assert!(into(6) < into(5) && into(5) < into(3) && into(3) < into(1));
        assert_eq!(into(11), f64::NEG_INFINITY);
    }

    #[test]
    fn shares_agree_with_a_sum_of_small_steps() {
        let mask = SpectralMask::standard(Format::Ht, Width::Mhz40);
        let density = |at: f64| {
            let at = at.abs();
            let w = mask.points.windows(2).find(|w| at < w[1].0)?;
            Some(ratio_from_db(w[0].1 + (w[1].1 - w[0].1) * (at - w[0].0) / (w[1].0 - w[0].0)))
        };
        let sum = |from: i32, to: i32| -> f64 {
            (from * 1000..to * 1000).filter_map(|k| density((f64::from(k) + 0.5) / 1000.0)).sum()
        };
        let expected = sum(15, 35) / sum(-80, 80);
        let got = mask.share(100.0, &Span { centre_mhz: 125.0, width_mhz: 20.0 });
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} {expected}");
    }

    #[test]
    fn odd_masks_are_refused() {
        assert!(SpectralMask::new(vec![(0.0, 0.0), (10.0, -3.0)]).is_some());
        for points in
            [vec![], vec![(0.0, 0.0)], vec![(1.0, 0.0), (2.0, 0.0)], vec![(0.0, 0.0), (5.0, f64::NAN)]]
        {
            assert_eq!(SpectralMask::new(points), None);
        }
    }
}
