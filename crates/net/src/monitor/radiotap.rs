//! The header that a monitor interface puts before a frame: its flags, its rate, the aggregate
//! that it was in (<https://www.radiotap.org/fields/defined>).

use super::frame::{Left, bytes};
use std::time::Duration;

/// Flags of radiotap's field of that name.
pub(super) const FCS_AT_END: u8 = 0x10;
pub(super) const PADDED: u8 = 0x20;
pub(super) const BAD_FCS: u8 = 0x40;
/// Bits of the first word, of fields that are read here.
const FLAGS: u32 = 1;
const RATE: u32 = 2;
const MCS: u32 = 19;
const AMPDU: u32 = 20;
const VHT: u32 = 21;
const HE: u32 = 23;
const MORE_WORDS: u32 = 1 << 31;
/// Alignment and length of each field before `HE` and of itself, by its bit. Fields behind it
/// are not read.
const FIELDS: [(usize, usize); 24] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (2, 4),
    (2, 2),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (4, 8),
    (1, 3),
    (4, 8),
    (2, 12),
    (8, 12),
    (2, 12),
];

/// How a frame was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// 802.11b: DSSS and CCK.
    Dsss,
    /// 802.11a and g.
    Ofdm,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
}

impl Modulation {
    /// Preamble and headers of the physical layer, for one spatial stream (IEEE 802.11-2020
    /// §16.2.2, §17.3.2, §19.3.2, §21.3.2; 802.11ax-2021 §27.3.4).
    pub fn preamble(self) -> Duration {
        Duration::from_micros(match self {
            Modulation::Dsss => 192,
            Modulation::Ofdm => 20,
            Modulation::Ht => 36,
            Modulation::Vht => 40,
            Modulation::He => 44,
        })
    }
}

/// The rate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bits of a frame's bytes in a second; never 0.
    pub bps: u64,
    /// How it was sent.
    pub modulation: Modulation,
}

/// The header, and where its fields are.
pub(super) struct Radiotap<'a> {
    header: &'a [u8],
    present: u32,
    fields: usize,
    pub(super) flags: u8,
}

impl<'a> Radiotap<'a> {
    /// Of a frame as a monitor interface gives it; and what is behind it, without a checksum.
    pub(super) fn split(frame: &'a [u8]) -> Result<(Radiotap<'a>, &'a [u8]), Left> {
        let length = usize::from(u16::from_le_bytes(bytes(frame, 2)?));
        let header = frame.get(..length).filter(|h| h.len() >= 8 && h[0] == 0).ok_or(Left::Malformed)?;
        let present = u32::from_le_bytes(bytes(header, 4)?);
        // Words of further name spaces stand before the fields of the first one.
        let (mut fields, mut word) = (8, present);
        while word & MORE_WORDS != 0 {
            word = u32::from_le_bytes(bytes(header, fields)?);
            fields += 4;
        }
        let mut radiotap = Radiotap { header, present, fields, flags: 0 };
        if present & (1 << FLAGS) != 0 {
            radiotap.flags = radiotap.field::<1>(FLAGS).ok_or(Left::Malformed)?[0];
        }
        if radiotap.flags & BAD_FCS != 0 {
            return Err(Left::BadChecksum);
        }
        let checksum = if radiotap.flags & FCS_AT_END != 0 { 4 } else { 0 };
        let all = &frame[length..];
        Ok((radiotap, &all[..all.len().saturating_sub(checksum)]))
    }

    /// A field of the first name space; none: it is not there, or not whole.
    fn field<const N: usize>(&self, bit: u32) -> Option<[u8; N]> {
        if self.present & (1 << bit) == 0 {
            return None;
        }
        let mut at = self.fields;
        for (n, (align, length)) in FIELDS.iter().enumerate().take(bit as usize) {
            if self.present & (1 << n) != 0 {
                at = at.next_multiple_of(*align) + length;
            }
        }
        at = at.next_multiple_of(FIELDS[bit as usize].0);
        bytes(self.header, at).ok()
    }

    /// The A-MPDU that the frame was in: neighbours in time have other numbers.
    pub(super) fn aggregate(&self) -> Option<u32> {
        self.field(AMPDU).map(u32::from_le_bytes)
    }

    /// None: the header does not say it, or in a way that is not known here.
    pub(super) fn rate(&self) -> Option<Rate> {
        let coded = self.field(HE).map(he).or_else(|| self.field(VHT).map(vht));
        let coded = coded.or_else(|| self.field(MCS).map(ht));
        let rate = coded.unwrap_or_else(|| self.field(RATE).map(|[half]: [u8; 1]| legacy(half)));
        rate.filter(|rate| rate.bps > 0)
    }
}

fn legacy(half_mbps: u8) -> Rate {
    let modulation = match half_mbps {
        2 | 4 | 11 | 22 => Modulation::Dsss,
        _ => Modulation::Ofdm,
    };
    Rate { bps: u64::from(half_mbps) * 500_000, modulation }
}

/// Bits of a data subcarrier in a symbol, twelfths, by the number of modulation and coding.
const TWELFTHS: [u64; 12] = [6, 12, 18, 24, 36, 48, 54, 60, 72, 80, 90, 100];

/// The rate of `streams` over so many data subcarriers, symbols being so long, ns.
fn coded(modulation: Modulation, mcs: u8, streams: u8, subcarriers: u64, symbol_ns: u64) -> Option<Rate> {
    let twelfths = TWELFTHS.get(usize::from(mcs)).filter(|_| (1..=8).contains(&streams))?;
    let bits = subcarriers * u64::from(streams) * twelfths;
    Some(Rate { bps: bits * 1_000_000_000 / (12 * symbol_ns), modulation })
}

/// Symbols of HT and VHT.
fn symbol_ns(is_short: bool) -> u64 {
    if is_short { 3600 } else { 4000 }
}

fn ht([known, flags, mcs]: [u8; 3]) -> Option<Rate> {
    // The number itself has to be known, and 32 (both halves of 40 MHz alike) nobody sends.
    if known & 2 == 0 || mcs > 31 {
        return None;
    }
    let subcarriers = if flags & 3 == 1 { 108 } else { 52 };
    coded(Modulation::Ht, mcs % 8, mcs / 8 + 1, subcarriers, symbol_ns(flags & 4 != 0))
}

fn vht(field: [u8; 12]) -> Option<Rate> {
    let [_, _, flags, bandwidth, user, ..] = field;
    // Parts of wider channels have numbers of their own.
    let subcarriers = match bandwidth {
        1 | 5 | 6 | 14..=17 => 108,
        4 | 12 | 13 => 234,
        11 => 468,
        0..=25 => 52,
        _ => return None,
    };
    let mcs = Some(user >> 4).filter(|mcs| *mcs < 10)?;
    coded(Modulation::Vht, mcs, user & 15, subcarriers, symbol_ns(flags & 4 != 0))
}

fn he(field: [u8; 12]) -> Option<Rate> {
    let data = |n: usize| u16::from_le_bytes([field[2 * n], field[2 * n + 1]]);
    let (known, mcs, wide, streams) = (data(0), data(2) >> 8 & 15, data(4) & 15, data(5) & 15);
    // Modulation, and width or resource unit.
    if known & 0x4020 != 0x4020 {
        return None;
    }
    let subcarriers = [234, 468, 980, 1960, 24, 48, 102, 234, 468, 980, 1960].get(usize::from(wide))?;
    let guard = [800, 1600, 3200].get(usize::from(data(4) >> 4 & 3))?;
    coded(Modulation::He, mcs as u8, streams as u8, *subcarriers, 12_800 + guard)
}

#[cfg(test)]
#[path = "radiotap_tests.rs"]
mod tests;
