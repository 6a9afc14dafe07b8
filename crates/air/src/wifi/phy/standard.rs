//! Amendments, bands and their timing.

use core::time::Duration;

use super::{Rate, duration};

/// What a radio implements. Each one also sends and understands what its band's older ones send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// 802.11b: DSSS and CCK in 2.4 GHz.
    B,
    /// 802.11g: OFDM in 2.4 GHz.
    G,
    /// 802.11a: OFDM in 5 GHz.
    A,
    /// 802.11n, HT: 2.4 and 5 GHz, 20 and 40 MHz, up to 4 streams.
    N,
    /// 802.11ac, VHT: 5 GHz, up to 80 MHz and 4 streams here.
    Ac,
    /// 802.11ad, DMG: 60 GHz, control and single-carrier PHY.
    Ad,
}

impl Standard {
    /// The bands it works in.
    pub fn bands(self) -> &'static [Band] {
        match self {
            Standard::B | Standard::G => &[Band::Ghz2_4],
            Standard::A | Standard::Ac => &[Band::Ghz5],
            Standard::N => &[Band::Ghz2_4, Band::Ghz5],
            Standard::Ad => &[Band::Ghz60],
        }
    }

    /// Whether frames carry QoS control and may be aggregated: 802.11n and later.
    pub fn has_aggregation(self) -> bool {
        matches!(self, Standard::N | Standard::Ac | Standard::Ad)
    }
}

/// A frequency band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2_4,
    /// 5 GHz.
    Ghz5,
    /// 60 GHz.
    Ghz60,
}

/// Whether a 2.4 GHz cell uses the 20 µs slot that 802.11b needs. Elsewhere it has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SlotLength {
    /// 9 µs: no 802.11b station around.
    #[default]
    Short,
    /// 20 µs.
    Long,
}

/// How long stations wait, and the contention window's bounds for legacy access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Slot.
    pub slot: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// The time of an ACK at the lowest mandatory rate, which EIFS adds.
    pub ack_at_lowest_rate: Duration,
    /// aCWmin, in slots.
    pub cw_min: u16,
    /// aCWmax, in slots.
    pub cw_max: u16,
}

impl Timing {
    /// The timing of a cell. 802.11-2020: table 15-5 and 16-4 (b), 17-21 (a, n, ac), 18-5 (g), 20-26 (ad).
    pub fn new(standard: Standard, band: Band, slots: SlotLength) -> Timing {
        let us = Duration::from_micros;
        let (slot, sifs, cw_min) = match (band, standard) {
            (Band::Ghz2_4, Standard::B) => (us(20), us(10), 31),
            // 19.3.3 and 18.4.5: SIFS is 10 µs, the 6 µs that a decoder needs more are the signal extension of the PPDU.
            (Band::Ghz2_4, _) if slots == SlotLength::Long => (us(20), us(10), 15),
            (Band::Ghz2_4, _) => (us(9), us(10), 15),
            (Band::Ghz5, _) => (us(9), us(16), 15),
            (Band::Ghz60, _) => (us(5), us(3), 15),
        };
        let lowest = Rate::lowest(standard, band);
        let ack_at_lowest_rate = duration::ack(lowest, band);
        Timing { slot, sifs, ack_at_lowest_rate, cw_min, cw_max: 1023 }
    }

    /// DIFS: SIFS + 2 slots (10.3.2.3.5).
    pub fn difs(&self) -> Duration {
        self.sifs + 2 * self.slot
    }

    /// AIFS\[AC\]: SIFS + AIFSN slots (10.3.2.3.6).
    pub fn aifs(&self, aifsn: u8) -> Duration {
        self.sifs + u32::from(aifsn) * self.slot
    }

    /// EIFS of legacy access, after a frame that was not understood (10.3.2.3.7): SIFS + ACK at the lowest rate + DIFS.
    pub fn eifs(&self) -> Duration {
        self.eifs_extra() + self.difs()
    }

    /// What EIFS is longer than DIFS, or an access category's than its AIFS (10.23.2.4: EIFS − DIFS + AIFS).
    pub fn eifs_extra(&self) -> Duration {
        self.sifs + self.ack_at_lowest_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(timing: Duration) -> u128 {
        timing.as_micros()
    }

    #[test]
    fn five_ghz() {
        let t = Timing::new(Standard::Ac, Band::Ghz5, SlotLength::Short);
        assert_eq!((us(t.difs()), us(t.aifs(3)), us(t.eifs())), (34, 43, 16 + 44 + 34));
    }

    #[test]
    fn the_short_slot_gives_g_the_waits_of_a_but_for_the_extension() {
        let t = Timing::new(Standard::G, Band::Ghz2_4, SlotLength::Short);
        // 6 µs of every difference are signal extensions at the end of the frames.
        assert_eq!((us(t.difs()), us(t.sifs), us(t.eifs())), (28, 10, 10 + 50 + 28));
        assert_eq!(us(Timing::new(Standard::G, Band::Ghz2_4, SlotLength::Long).difs()), 50);
    }

    #[test]
    fn b_and_ad() {
        let b = Timing::new(Standard::B, Band::Ghz2_4, SlotLength::Short);
        assert_eq!((us(b.difs()), b.cw_min, us(b.eifs())), (50, 31, 10 + 192 + 112 + 50));
        let ad = Timing::new(Standard::Ad, Band::Ghz60, SlotLength::Short);
        assert_eq!((us(ad.slot), us(ad.sifs), us(ad.difs())), (5, 3, 13));
    }
}
