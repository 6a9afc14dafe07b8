//! 60 GHz: directional antennas, blockage by people, and the time that finding each other takes.

use core::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{PropagationError, within};
use crate::Time;
use crate::wifi::phy::{Band, Rate, Standard, duration};

/// An antenna of equal sectors around the full circle, one used at a time. Each has the pattern of the IEEE 802.15.3c reference
/// antenna (Toyoda et al., 15-06-0474-00-003c): a Gaussian main lobe and flat side lobes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectorAntenna {
    /// Number of sectors, 1 (no direction) to 64.
    pub sectors: u8,
    /// Direction of sector 0, degrees in the plane of x and y, anticlockwise from x.
    pub boresight_deg: f64,
}

impl SectorAntenna {
    /// Refuses 0 sectors, more than 64, and a direction that is no number.
    pub fn check(&self) -> Result<(), PropagationError> {
        within("the number of sectors", f64::from(self.sectors), (1.0, 64.0), "from 1 to 64")?;
        within("the boresight", self.boresight_deg, (-360.0, 360.0), "from -360 to 360 degrees")
    }

    /// Width of a sector between its half-power points, degrees.
    pub fn beam_width_deg(&self) -> f64 {
        360.0 / f64::from(self.sectors)
    }

    /// Gain of a sector towards an azimuth, dBi. With a single sector 0.
    pub fn gain_dbi(&self, sector: u8, azimuth_deg: f64) -> f64 {
        if self.sectors <= 1 {
            return 0.0;
        }
        let width = self.beam_width_deg();
        let off = self.off_axis_deg(sector, azimuth_deg);
        // The main lobe is 2.6 half-power widths wide, from null to null.
        let side_lobe_db = -0.4111 * libm::log(width) - 10.579;
        if off > 1.3 * width {
            return side_lobe_db;
        }
        let half_rad = width.min(179.0).to_radians() / 2.0;
        let peak_db = 20.0 * libm::log10(1.6162 / libm::sin(half_rad));
        (peak_db - 3.01 * (2.0 * off / width) * (2.0 * off / width)).max(side_lobe_db)
    }

    /// The sector that looks most towards an azimuth.
    pub fn best_sector(&self, azimuth_deg: f64) -> u8 {
        let turned = (azimuth_deg - self.boresight_deg).rem_euclid(360.0);
        ((turned / self.beam_width_deg() + 0.5) as u64 % u64::from(self.sectors.max(1))) as u8
    }

    /// Degrees between a sector's axis and an azimuth, 0 to 180.
    fn off_axis_deg(&self, sector: u8, azimuth_deg: f64) -> f64 {
        let axis = self.boresight_deg + f64::from(sector) * self.beam_width_deg();
        let apart = (azimuth_deg - axis).rem_euclid(360.0);
        apart.min(360.0 - apart)
    }
}

/// Azimuth of `to` as seen from `from`, degrees in the plane of x and y.
pub fn azimuth_deg(from: [f64; 3], to: [f64; 3]) -> f64 {
    libm::atan2(to[1] - from[1], to[0] - from[0]).to_degrees()
}

/// How a link is cut by people who walk through it: clear and blocked times take turns, both exponentially distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockageSpec {
    /// Mean time without anybody in the way.
    pub mean_clear: Duration,
    /// Mean time with somebody in the way. Measured: 0.2 to 0.4 s for one walker (MacCartney et al., VTC 2017).
    pub mean_blocked: Duration,
    /// What a body takes away, dB: 15 to 30 (IEEE 802.11-09/0334r8, section 3.3.8).
    pub loss_db: f64,
}

impl BlockageSpec {
    /// Refuses times of zero and losses outside 0 to 100 dB.
    pub fn check(&self) -> Result<(), PropagationError> {
        let range = (1e-6, 1e9);
        within("the mean clear time", self.mean_clear.as_secs_f64(), range, "1 us or more")?;
        within("the mean blocked time", self.mean_blocked.as_secs_f64(), range, "1 us or more")?;
        within("the loss by a body", self.loss_db, (0.0, 100.0), "from 0 to 100 dB")
    }
}

/// Blockage of one link as it goes on.
#[derive(Debug, Clone)]
pub struct Blockage {
    spec: BlockageSpec,
    blocked: bool,
    until: Time,
    rng: ChaCha8Rng,
}

impl Blockage {
    /// A link that begins clear or blocked as the means have it.
    pub fn new(spec: BlockageSpec, seed: u64) -> Result<Blockage, PropagationError> {
        spec.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let share = spec.mean_blocked.as_secs_f64() / (spec.mean_blocked + spec.mean_clear).as_secs_f64();
        let blocked = rng.random::<f64>() < share;
        let mut process = Blockage { spec, blocked, until: Time::ZERO, rng };
        process.until = Time::ZERO + process.spell();
        Ok(process)
    }

    /// A draw of how long the present state lasts.
    fn spell(&mut self) -> Duration {
        let mean = if self.blocked { self.spec.mean_blocked } else { self.spec.mean_clear };
        let unit = 1.0 - self.rng.random::<f64>();
        let ns = -libm::log(unit) * mean.as_nanos() as f64;
        Duration::from_nanos((ns as u64).max(1))
    }

    /// The loss at `now`, dB. Time does not go back.
    pub fn loss_db(&mut self, now: Time) -> f64 {
        while self.until <= now {
            self.blocked = !self.blocked;
            let spell = self.spell();
            self.until += spell;
        }
        if self.blocked { self.spec.loss_db } else { 0.0 }
    }

    /// When it changes next.
    pub fn next_change(&self) -> Time {
        self.until
    }
}

/// Bytes of a sector sweep frame, and of its feedback and acknowledgement (802.11-2020, 9.3.1.16 to 9.3.1.18).
const SSW_BYTES: u32 = 26;
const SSW_FEEDBACK_BYTES: u32 = 28;
/// Short and medium beamforming interframe spaces (table 20-4): 1 µs, and three SIFS.
const SBIFS: Duration = Duration::from_micros(1);
const MBIFS: Duration = Duration::from_micros(9);

/// How long a sector-level sweep takes (10.42.2): every sector of the initiator, every one of the responder, feedback and
/// its acknowledgement, all at the control rate. While it lasts the pair carries no data.
pub fn sweep_time(initiator_sectors: u8, responder_sectors: u8) -> Duration {
    let control = Rate::lowest(Standard::Ad, Band::Ghz60);
    let frame = |bytes| duration::ppdu(control, bytes, Band::Ghz60);
    let sweep = |sectors: u8| {
        let n = u32::from(sectors.max(1));
        n * frame(SSW_BYTES) + (n - 1) * SBIFS
    };
    sweep(initiator_sectors) + sweep(responder_sectors) + 2 * frame(SSW_FEEDBACK_BYTES) + 3 * MBIFS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_share_the_circle() {
        let antenna = SectorAntenna { sectors: 8, boresight_deg: 10.0 };
        assert_eq!(antenna.beam_width_deg(), 45.0);
        for (azimuth, sector) in
            [(10.0, 0), (32.0, 0), (33.0, 1), (55.0, 1), (-10.0, 0), (-13.0, 7), (190.0, 4), (370.0, 0)]
        {
            assert_eq!(antenna.best_sector(azimuth), sector, "{azimuth}");
        }
        // The best sector is never more than half a width off, so never more than 3.01 dB below the peak.
        let peak = antenna.gain_dbi(0, 10.0);
        for azimuth in 0..360 {
            let azimuth = f64::from(azimuth);
            let gain = antenna.gain_dbi(antenna.best_sector(azimuth), azimuth);
            assert!(gain <= peak && gain >= peak - 3.011, "{azimuth}: {gain}");
        }
        assert!((antenna.gain_dbi(0, 32.5) - (peak - 3.01)).abs() < 1e-9);
    }

    #[test]
    fn gains_of_the_reference_antenna() {
        let antenna = SectorAntenna { sectors: 12, boresight_deg: 0.0 };
        // 30 degrees: 20·log10(1.6162/sin 15°) = 15.91 dBi; side lobes −0.4111·ln 30 − 10.579 = −11.98 dBi.
        assert!((antenna.gain_dbi(0, 0.0) - 15.91).abs() < 0.01, "{}", antenna.gain_dbi(0, 0.0));
        assert!((antenna.gain_dbi(0, 180.0) + 11.98).abs() < 0.01);
        assert_eq!(SectorAntenna { sectors: 1, boresight_deg: 0.0 }.gain_dbi(0, 77.0), 0.0);
        assert!(SectorAntenna { sectors: 0, boresight_deg: 0.0 }.check().is_err());
    }

    #[test]
    fn azimuths() {
        assert_eq!(azimuth_deg([0.0; 3], [1.0, 1.0, 5.0]), 45.0);
        assert_eq!(azimuth_deg([1.0, 0.0, 0.0], [0.0, 0.0, 0.0]), 180.0);
    }

    #[test]
    fn blockage_has_its_share_and_spells() {
        let spec = BlockageSpec {
            mean_clear: Duration::from_millis(700),
            mean_blocked: Duration::from_millis(300),
            loss_db: 20.0,
        };
        let mut process = Blockage::new(spec, 4).unwrap();
        let (mut now, mut blocked, mut spells) = (Time::ZERO, Duration::ZERO, 0u32);
        while now < Time::from_secs(20_000) {
            let loss = process.loss_db(now);
            let next = process.next_change();
            assert!(next > now);
            if loss > 0.0 {
                assert_eq!(loss, 20.0);
                blocked += next - now;
                spells += 1;
            }
            now = next;
        }
        let share = blocked.as_secs_f64() / now.as_secs_f64();
        assert!((share - 0.3).abs() < 0.01, "{share}");
        let mean = blocked.as_secs_f64() / f64::from(spells);
        assert!((mean - 0.3).abs() < 0.01, "{mean}");
    }

    #[test]
    fn blockage_does_not_depend_on_who_looks() {
        let spec = BlockageSpec {
            mean_clear: Duration::from_millis(10),
            mean_blocked: Duration::from_millis(5),
            loss_db: 15.0,
        };
        let (mut often, mut seldom) = (Blockage::new(spec, 9).unwrap(), Blockage::new(spec, 9).unwrap());
        for ms in 0..5_000 {
            let loss = often.loss_db(Time::from_millis(ms));
            if ms % 50 == 0 {
                assert_eq!(loss, seldom.loss_db(Time::from_millis(ms)));
            }
        }
    }

    #[test]
    fn sweeps_take_milliseconds() {
        // 26 bytes at MCS 0: 7552 + 32·(256 + 160 + 168) chips = 14.909 µs.
        let one = sweep_time(1, 1).as_nanos();
        let more = sweep_time(33, 1).as_nanos();
        assert_eq!((more - one) / 32, 14_909 + 1_000);
        assert!((1_000_000..1_200_000).contains(&sweep_time(32, 32).as_nanos()), "{:?}", sweep_time(32, 32));
    }
}
