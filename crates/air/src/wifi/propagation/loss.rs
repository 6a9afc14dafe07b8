//! The mean loss between two radios.

use super::chance::{Link, Purpose, draw, normal_pair};
use super::{PropagationError, within};
use crate::wifi::phy::Band;

/// Loss grows with the logarithm of distance: reference + 10·exponent·log₁₀(d/1 m).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogDistance {
    /// Path loss exponent: 2 in free space, 3 indoors, up to 5 through walls.
    pub exponent: f64,
    /// Loss at 1 m, dB.
    pub at_1_m_db: f64,
}

impl LogDistance {
    /// Exponent 3 and the free-space loss at 1 m: 46.68 dB in 5 GHz, as ns-3 takes it (at 5.15 GHz); 40.05 dB at 2.4 GHz.
    /// In 60 GHz exponent 2 and 68.0 dB (802.11ad channel models, line of sight: 32.5 + 20·log₁₀(60) dB).
    pub fn of_band(band: Band) -> LogDistance {
        match band {
            Band::Ghz2_4 => LogDistance { exponent: 3.0, at_1_m_db: 40.05 },
            Band::Ghz5 => LogDistance { exponent: 3.0, at_1_m_db: 46.677_7 },
            Band::Ghz60 => LogDistance { exponent: 2.0, at_1_m_db: 68.0 },
        }
    }

    /// Loss over a distance, dB. Nearer than 1 m it is that at 1 m: the law ends there.
    pub fn loss_db(&self, distance_m: f64) -> f64 {
        self.at_1_m_db + 10.0 * self.exponent * libm::log10(distance_m.max(1.0))
    }

    /// The distance, m, at which the loss is `loss_db`.
    pub fn distance_m(&self, loss_db: f64) -> f64 {
        libm::pow(10.0, (loss_db - self.at_1_m_db) / (10.0 * self.exponent))
    }

    /// Refuses an exponent outside 0 (the same loss everywhere) to 10 and a loss outside 0 to 200 dB.
    pub fn check(&self) -> Result<(), PropagationError> {
        within("the path loss exponent", self.exponent, (0.0, 10.0), "from 0 to 10")?;
        within("the path loss at 1 m", self.at_1_m_db, (0.0, 200.0), "from 0 to 200 dB")
    }
}

/// Log-normal shadowing: each link has an extra loss, drawn once, the same in both directions and at all times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shadowing {
    /// Standard deviation, dB; 0 is none. Indoors 3 to 8.
    pub deviation_db: f64,
}

impl Shadowing {
    /// The extra loss of a link, dB, of either sign. Take the link without its frequency ([`Link::new`] with 0 MHz), so that
    /// all channels of a pair share it: walls do not know channels.
    pub fn loss_db(&self, seed: u64, link: Link) -> f64 {
        if self.deviation_db == 0.0 {
            return 0.0;
        }
        self.deviation_db * normal_pair(draw(seed, Purpose::Shadowing, link, 0)).0
    }

    /// Refuses a deviation outside 0 to 30 dB.
    pub fn check(&self) -> Result<(), PropagationError> {
        within("the shadowing's deviation", self.deviation_db, (0.0, 30.0), "from 0 to 30 dB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_distance() {
        let law = LogDistance::of_band(Band::Ghz5);
        // At 16 dBm: 10 m leave −60.7 dBm; −82 dBm are left at 51.37 m.
        assert!((law.loss_db(10.0) - 76.6777).abs() < 1e-9);
        assert!((law.distance_m(98.0) - 51.374).abs() < 0.001, "{}", law.distance_m(98.0));
        assert_eq!(law.loss_db(0.0), law.loss_db(1.0));
        assert!(LogDistance { exponent: f64::NAN, ..law }.check().is_err() && law.check().is_ok());
    }

    #[test]
    fn shadowing_is_normal_over_links_and_constant_on_each() {
        let shadowing = Shadowing { deviation_db: 6.0 };
        let draws: Vec<f64> = (0..300)
            .flat_map(|a| (a + 1..300).map(move |b| Link::new(a, b, 0)))
            .map(|l| shadowing.loss_db(5, l))
            .collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let deviation = (draws.iter().map(|d| d * d).sum::<f64>() / n - mean * mean).sqrt();
        assert!(mean.abs() < 0.1 && (deviation - 6.0).abs() < 0.1, "{mean} {deviation}");
        let beyond = draws.iter().filter(|d| d.abs() > 12.0).count() as f64 / n;
        assert!((beyond - 0.0455).abs() < 0.005, "{beyond}");
        assert_eq!(shadowing.loss_db(5, Link::new(1, 2, 0)), shadowing.loss_db(5, Link::new(2, 1, 0)));
        assert_eq!(Shadowing::default().loss_db(5, Link::new(1, 2, 0)), 0.0);
    }
}
