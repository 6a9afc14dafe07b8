//! The rates of every PHY: what is legal, how many bits a symbol carries.

use core::fmt;

use super::{Band, Standard};

/// The format of a PPDU, with the modulation family that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// DSSS and CCK with the long preamble (802.11-2020, clauses 15 and 16).
    Dsss,
    /// OFDM without HT, ERP-OFDM in 2.4 GHz (clauses 17 and 18).
    Ofdm,
    /// HT-mixed (clause 19).
    Ht,
    /// VHT (clause 21).
    Vht,
    /// DMG control mode, MCS 0 (clause 20.4).
    DmgControl,
    /// DMG single carrier, MCS 1 to 12 (clause 20.6).
    DmgSc,
}

/// Width of a channel or of a PPDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 20 MHz; also stands for the 22 MHz of DSSS.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 2160 MHz, DMG.
    Mhz2160,
}

impl Width {
    /// MHz.
    pub fn mhz(self) -> u32 {
        match self {
            Width::Mhz20 => 20,
            Width::Mhz40 => 40,
            Width::Mhz80 => 80,
            Width::Mhz2160 => 2160,
        }
    }
}

/// The pause between OFDM symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 800 ns.
    Long,
    /// 400 ns.
    Short,
}

/// Why a rate does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// No such rate in 802.11a/g/b.
    #[error(
        "there is no legacy rate of {bps} bit/s; there are 1, 2, 5.5 and 11 (802.11b), 6, 9, 12, 18, 24, 36, 48 and 54 Mb/s"
    )]
    NoLegacyRate {
        /// What was asked for, bits per second.
        bps: u64,
    },
    /// MCS number out of range.
    #[error("there is no {format:?} MCS {mcs}; HT has 0 to 7 per stream, VHT 0 to 9, DMG 0 to 12")]
    NoMcs {
        /// The family.
        format: Format,
        /// What was asked for.
        mcs: u8,
    },
    /// Streams out of range.
    #[error("{streams} spatial streams are not possible; take 1 to 4")]
    Streams {
        /// What was asked for.
        streams: u8,
    },
    /// A width that the format does not have.
    #[error("{format:?} has no PPDU of {} MHz", width.mhz())]
    NoWidth {
        /// The family.
        format: Format,
        /// What was asked for.
        width: Width,
    },
    /// A combination that the standard leaves out, because bits would not fit whole symbols and encoders.
    #[error("VHT MCS {mcs} with {streams} streams in {} MHz does not exist (802.11-2020, 21.5); take another MCS", width.mhz())]
    NotInVht {
        /// MCS.
        mcs: u8,
        /// Streams.
        streams: u8,
        /// Width.
        width: Width,
    },
}

/// A legal rate: format, MCS, streams, width and guard interval. Small, and made only by the checks below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    format: Format,
    mcs: u8,
    streams: u8,
    width: Width,
    gi: GuardInterval,
    /// N_DBPS: data bits per OFDM symbol; for DSSS units of 100 kb/s; for DMG information bits per codeword.
    n_dbps: u16,
    /// N_ES: convolutional encoders, each with its 6 tail bits.
    encoders: u8,
}

/// 100 kb/s units of the DSSS and CCK rates (clauses 15.2.3 and 16.2.3).
const DSSS_100_KBPS: [u16; 4] = [10, 20, 55, 110];
/// N_DBPS of 6 to 54 Mb/s in 20 MHz (table 17-4).
const OFDM_N_DBPS: [u16; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// N_BPSCS, and the code rate as a fraction, of HT and VHT MCS 0 to 9 (tables 19-27 and 21-30).
const MCS_BITS_AND_CODE: [(u32, u32, u32); 10] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
];
/// DMG single carrier MCS 1 to 12 (table 20-19): coded bits per symbol block, information bits per 672-bit codeword.
const DMG_SC: [(u16, u16); 12] = [
    (448, 168), // π/2-BPSK 1/2, each bit twice
    (448, 336),
    (448, 420),
    (448, 504),
    (448, 546),
    (896, 336), // π/2-QPSK
    (896, 420),
    (896, 504),
    (896, 546),
    (1792, 336), // π/2-16QAM
    (1792, 420),
    (1792, 504),
];
/// Control PHY: 27.5 Mb/s (table 20-11).
const DMG_CONTROL_BPS: u64 = 27_500_000;

impl Rate {
    /// How many values [`Rate::index`] takes.
    pub const COUNT: usize = 393;

    /// The legacy rate of so many bits per second, DSSS or OFDM.
    pub fn legacy(bps: u64) -> Result<Rate, RateError> {
        if let Some(mcs) = DSSS_100_KBPS.iter().position(|&r| u64::from(r) * 100_000 == bps) {
            return Ok(Rate::plain(Format::Dsss, mcs as u8, DSSS_100_KBPS[mcs]));
        }
        match OFDM_N_DBPS.iter().position(|&n| u64::from(n) * 250_000 == bps) {
            Some(mcs) => Ok(Rate::plain(Format::Ofdm, mcs as u8, OFDM_N_DBPS[mcs])),
            None => Err(RateError::NoLegacyRate { bps }),
        }
    }

    /// HT MCS `mcs` (0 to 7, counted per stream: the standard's MCS 15 is `mcs` 7 of 2 streams).
    pub fn ht(mcs: u8, streams: u8, width: Width, gi: GuardInterval) -> Result<Rate, RateError> {
        // 320 Mb/s per encoder: table 19-38 and following give two from 324 Mb/s on.
        Rate::mimo(Format::Ht, (mcs, 7), streams, width, gi, 320_000_000)
    }

    /// VHT MCS `mcs` (0 to 9).
    pub fn vht(mcs: u8, streams: u8, width: Width, gi: GuardInterval) -> Result<Rate, RateError> {
        // 600 Mb/s with the short guard interval per encoder: N_ES in tables 21-30 and following.
        let rate = Rate::mimo(Format::Vht, (mcs, 9), streams, width, gi, 540_000_000)?;
        let (bits, numerator, denominator) = MCS_BITS_AND_CODE[usize::from(mcs)];
        let coded = data_tones(Format::Vht, width).unwrap_or(0) * bits * u32::from(streams);
        // 21.3.10.5.4: every encoder gets whole bits, and whole puncturing patterns.
        let encoders = u32::from(rate.encoders);
        let whole = coded.is_multiple_of(encoders)
            && (coded * numerator).is_multiple_of(denominator * encoders)
            && (coded / encoders).is_multiple_of(denominator);
        if whole { Ok(rate) } else { Err(RateError::NotInVht { mcs, streams, width }) }
    }

    /// DMG MCS 0 (control) or 1 to 12 (single carrier).
    pub fn dmg(mcs: u8) -> Result<Rate, RateError> {
        let (format, n_dbps) = match mcs {
            0 => (Format::DmgControl, 168),
            1..=12 => (Format::DmgSc, DMG_SC[usize::from(mcs) - 1].1),
            _ => return Err(RateError::NoMcs { format: Format::DmgSc, mcs }),
        };
        Ok(Rate { width: Width::Mhz2160, ..Rate::plain(format, mcs, n_dbps) })
    }

    fn plain(format: Format, mcs: u8, n_dbps: u16) -> Rate {
        Rate { format, mcs, streams: 1, width: Width::Mhz20, gi: GuardInterval::Long, n_dbps, encoders: 1 }
    }

    fn mimo(
        format: Format,
        (mcs, highest): (u8, u8),
        streams: u8,
        width: Width,
        gi: GuardInterval,
        bps_per_encoder: u32,
    ) -> Result<Rate, RateError> {
        let tones = data_tones(format, width).ok_or(RateError::NoWidth { format, width })?;
        if mcs > highest {
            return Err(RateError::NoMcs { format, mcs });
        }
        if !(1..=4).contains(&streams) {
            return Err(RateError::Streams { streams });
        }
        let (bits, numerator, denominator) = MCS_BITS_AND_CODE[usize::from(mcs)];
        let n_dbps = tones * bits * u32::from(streams) * numerator / denominator;
        let encoders = (n_dbps * 250_000).div_ceil(bps_per_encoder) as u8;
        Ok(Rate { format, mcs, streams, width, gi, n_dbps: n_dbps as u16, encoders })
    }

    /// The lowest rate of a band: every station there understands it.
    pub fn lowest(standard: Standard, band: Band) -> Rate {
        match (standard, band) {
            (Standard::B, _) => Rate::plain(Format::Dsss, 0, DSSS_100_KBPS[0]),
            (_, Band::Ghz60) => Rate { width: Width::Mhz2160, ..Rate::plain(Format::DmgControl, 0, 168) },
            _ => Rate::plain(Format::Ofdm, 0, OFDM_N_DBPS[0]),
        }
    }

    /// The format of the PPDU that carries it.
    pub fn format(self) -> Format {
        self.format
    }

    /// MCS, counted per stream; for legacy rates their rank from 0.
    pub fn mcs(self) -> u8 {
        self.mcs
    }

    /// Spatial streams.
    pub fn streams(self) -> u8 {
        self.streams
    }

    /// Width of the PPDU.
    pub fn width(self) -> Width {
        self.width
    }

    /// Guard interval of the data field.
    pub fn guard_interval(self) -> GuardInterval {
        self.gi
    }

    /// N_DBPS, data bits per OFDM symbol. OFDM, HT and VHT only; none for DSSS and DMG, which have no such symbols.
    pub fn bits_per_symbol(self) -> Option<u32> {
        matches!(self.format, Format::Ofdm | Format::Ht | Format::Vht).then_some(u32::from(self.n_dbps))
    }

    pub(super) fn n_dbps(self) -> u64 {
        u64::from(self.n_dbps)
    }

    /// N_ES, the number of convolutional encoders.
    pub fn encoders(self) -> u8 {
        self.encoders
    }

    /// Coded bits per DMG symbol block and information bits per codeword.
    pub(super) fn dmg_block(self) -> (u64, u64) {
        let (block, information) = DMG_SC[usize::from(self.mcs.clamp(1, 12)) - 1];
        (u64::from(block), u64::from(information))
    }

    /// Bits per second in the data field.
    pub fn bps(self) -> u64 {
        match self.format {
            Format::Dsss => self.n_dbps() * 100_000,
            Format::DmgControl => DMG_CONTROL_BPS,
            // Of 512 chips at 1.76 GHz, 448 carry symbols.
            Format::DmgSc => {
                let (block, information) = self.dmg_block();
                1_760_000_000 / 512 * block * information / 672
            }
            _ => match self.gi {
                GuardInterval::Long => self.n_dbps() * 250_000,
                GuardInterval::Short => self.n_dbps() * 10_000_000 / 36,
            },
        }
    }

    /// Mb/s, for people.
    pub fn mbps(self) -> f64 {
        self.bps() as f64 / 1e6
    }

    /// The non-HT rate that has the same modulation and the nearest code rate (802.11-2020, table 10-10), bits per
    /// second; what the choice of a control response's rate is made by. For other formats the rate itself.
    pub fn reference_bps(self) -> u64 {
        const MBPS: [u64; 10] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54];
        match self.format {
            Format::Ht | Format::Vht => MBPS[usize::from(self.mcs)] * 1_000_000,
            _ => self.bps(),
        }
    }

    /// A number below [`Rate::COUNT`], different for each rate: for tables.
    pub fn index(self) -> usize {
        let mcs = usize::from(self.mcs);
        let stream = usize::from(self.streams) - 1;
        let gi = usize::from(self.gi == GuardInterval::Short);
        let width = match self.width {
            Width::Mhz40 => 1,
            Width::Mhz80 => 2,
            _ => 0,
        };
        match self.format {
            Format::Dsss => mcs,
            Format::Ofdm => 4 + mcs,
            Format::Ht => 12 + ((mcs * 4 + stream) * 2 + width) * 2 + gi,
            Format::Vht => 140 + ((mcs * 4 + stream) * 3 + width) * 2 + gi,
            Format::DmgControl | Format::DmgSc => 380 + mcs,
        }
    }
}

/// N_SD: data tones of a PPDU (tables 19-6 and 21-5).
fn data_tones(format: Format, width: Width) -> Option<u32> {
    match (format, width) {
        (Format::Ht | Format::Vht, Width::Mhz20) => Some(52),
        (Format::Ht | Format::Vht, Width::Mhz40) => Some(108),
        (Format::Vht, Width::Mhz80) => Some(234),
        _ => None,
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gi = if self.gi == GuardInterval::Short { " SGI" } else { "" };
        match self.format {
            Format::Dsss | Format::Ofdm => write!(f, "{} Mb/s", self.mbps()),
            Format::Ht => write!(f, "HT{} MCS{}{gi}", self.width.mhz(), self.mcs + 8 * (self.streams - 1)),
            Format::Vht => write!(f, "VHT{} MCS{} x{}{gi}", self.width.mhz(), self.mcs, self.streams),
            Format::DmgControl | Format::DmgSc => write!(f, "DMG MCS{}", self.mcs),
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The legacy rates that a standard has in a band, lowest first. In 2.4 GHz those of 802.11b come with the OFDM rates.
pub fn legacy_rates(standard: Standard, band: Band) -> Vec<Rate> {
    let dsss = DSSS_100_KBPS.iter().enumerate().map(|(i, &n)| Rate::plain(Format::Dsss, i as u8, n));
    let ofdm = OFDM_N_DBPS.iter().enumerate().map(|(i, &n)| Rate::plain(Format::Ofdm, i as u8, n));
    match (standard, band) {
        (Standard::B, _) => dsss.collect(),
        (_, Band::Ghz60) => vec![Rate::lowest(Standard::Ad, Band::Ghz60)],
        (_, Band::Ghz5) => ofdm.collect(),
        (_, Band::Ghz2_4) => dsss.chain(ofdm).collect(),
    }
}

/// The MCS rates of a standard up to a width and a number of streams, by width, streams, guard interval and MCS.
/// Empty for a, b and g.
pub fn mcs_rates(standard: Standard, width: Width, streams: u8, short_gi: bool) -> Vec<Rate> {
    if standard == Standard::Ad {
        return (1..=12).filter_map(|mcs| Rate::dmg(mcs).ok()).collect();
    }
    let make = match standard {
        Standard::N => Rate::ht,
        Standard::Ac => Rate::vht,
        _ => return Vec::new(),
    };
    let guards: &[GuardInterval] =
        if short_gi { &[GuardInterval::Long, GuardInterval::Short] } else { &[GuardInterval::Long] };
    let mut rates = Vec::new();
    for w in [Width::Mhz20, Width::Mhz40, Width::Mhz80].into_iter().filter(|&w| w <= width) {
        for s in 1..=streams {
            for &gi in guards {
                rates.extend((0..=9).filter_map(|mcs| make(mcs, s, w, gi).ok()));
            }
        }
    }
    rates
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
