//! The probability that bits arrive, by rate and signal-to-interference-and-noise ratio (SINR).
//!
//! OFDM, HT and VHT follow the NIST model (Miller, *Validation of 802.11a/UWB Coexistence Simulation*, NIST 2003; Pei and
//! Henderson, *Validation of OFDM error rate model in ns-3*, 2010): Gray-mapped QAM in white noise, hard decisions, and
//! the union bound of the punctured convolutional code. 802.11b uses the textbook formulas for DBPSK and DQPSK and a union
//! bound over the CCK words. DMG has no closed form: a codeword's error follows a normal curve in dB, placed so that the
//! standard's sensitivity comes out.
//!
//! # Speed
//! The probability per bit is tabulated by SINR, 32 pieces per factor of two, each a cubic of its logarithm; the index comes
//! from the float's own bits. A look-up and two exponentials answer; far above or below the threshold not even these.

use std::sync::LazyLock;

use super::cck::Distances;
use super::decibel::{db_from_ratio, ratio_from_db};
use super::{Format, Rate};

/// The least SNR at which a receiver notices a preamble, dB (ns-3's threshold model).
pub const PREAMBLE_MIN_SNR_DB: f64 = 4.0;

/// Weight spectra of the K = 7 (133, 171) code and its punctured kin: from the free distance on, the number of bit errors
/// on paths of that distance (Haccoun and Bégin, IEEE Trans. Commun. 37(11), 1989, tables I to III; Conan, 1984, for 1/2).
struct Code {
    /// Information bits per puncturing period, by which the bound is divided.
    period: f64,
    free_distance: i32,
    /// Distance from one term to the next: the full code has even distances only.
    step: i32,
    weights: [f64; 10],
}

const HALF: Code = Code {
    period: 1.0,
    free_distance: 10,
    step: 2,
    weights: [
        36.0,
        211.0,
        1404.0,
        11_633.0,
        77_433.0,
        502_690.0,
        3_322_763.0,
        21_292_910.0,
        134_365_911.0,
        0.0,
    ],
};
const TWO_THIRDS: Code = Code {
    period: 2.0,
    free_distance: 6,
    step: 1,
    weights: [3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0],
};
const THREE_QUARTERS: Code = Code {
    period: 3.0,
    free_distance: 5,
    step: 1,
    weights: [
        42.0,
        201.0,
        1492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};
const FIVE_SIXTHS: Code = Code {
    period: 5.0,
    free_distance: 4,
    step: 1,
    weights: [
        92.0,
        528.0,
        8694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
};

/// The coded modulations that share a table: constellation size and code.
const CONVOLUTIONAL: [(f64, &Code); 11] = [
    (2.0, &HALF),
    (2.0, &THREE_QUARTERS),
    (4.0, &HALF),
    (4.0, &THREE_QUARTERS),
    (16.0, &HALF),
    (16.0, &THREE_QUARTERS),
    (64.0, &TWO_THIRDS),
    (64.0, &THREE_QUARTERS),
    (64.0, &FIVE_SIXTHS),
    (256.0, &THREE_QUARTERS),
    (256.0, &FIVE_SIXTHS),
];
/// Where HT and VHT MCS 0 to 9 stand in it; OFDM rates stand at their own rank.
const MCS_CLASS: [u8; 10] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const DSSS_CLASS: u8 = 11;
const DMG_CLASS: u8 = 15;
const CLASSES: usize = 28;

/// Receiver sensitivity of DMG MCS 0 to 12, dBm: 5 % loss of 256 bytes at MCS 0, 1 % of 4096 bytes otherwise
/// (table 20-3).
const DMG_SENSITIVITY_DBM: [f64; 13] =
    [-78.0, -68.0, -66.0, -65.0, -64.0, -62.0, -63.0, -62.0, -61.0, -59.0, -55.0, -54.0, -53.0];
/// Noise in 2160 MHz at 290 K, the noise figure and the implementation loss that the table supposes (20.3.3.9), dB.
const DMG_NOISE_DBM: f64 = -80.63 + 10.0 + 5.0;
/// Width of the fall of a 672-bit LDPC code's codeword errors, dB: our choice, 10⁻¹ to 10⁻⁴ within 0.6 dB.
const DMG_DEVIATION_DB: f64 = 0.25;
/// Deviations between half of the codewords lost and the sensitivity's loss: Q(2.64) = 0.42 % is 5 % of 256 bytes in
/// codewords of 168 bits, Q(3.7) = 0.01 % is 1 % of 4096 bytes in codewords of about 400.
const DMG_DEVIATIONS: [f64; 2] = [2.64, 3.7];

/// Bits of the headers (17.3.4, 19.3.9.4.3, 21.3.8.3, 16.2.3, 20.4.3.2, 20.6.3.1).
const SIGNAL_BITS: f64 = 24.0;
const HT_SIG_BITS: f64 = 48.0;
const VHT_SIG_BITS: f64 = 48.0 + 29.0;
const PLCP_HEADER_BITS: f64 = 48.0;
const DMG_HEADER_BITS: f64 = 88.0;

/// Error rates of every PHY. A handle: copies cost nothing.
#[derive(Debug, Clone, Copy)]
pub struct ErrorModel {
    shared: &'static Shared,
}

/// Tables, and the table of each rate.
#[derive(Debug)]
struct Shared {
    tables: Vec<Table>,
    class_of: Vec<u8>,
}

/// Constants, but for the milliseconds that it takes to work them out: once in a process, whoever asks first.
static SHARED: LazyLock<Shared> = LazyLock::new(|| Shared { tables: tables(), class_of: class_of_rates() });

impl Default for ErrorModel {
    fn default() -> Self {
        ErrorModel::new()
    }
}

fn tables() -> Vec<Table> {
    let (five, eleven) = (Distances::at_5_5_mbps(), Distances::at_11_mbps());
    let dmg = |mcs| move |sinr| dmg_bit_error(mcs, sinr);
    let mut tables: Vec<Table> = CONVOLUTIONAL
        .iter()
        .map(|(size, code)| Table::new(|sinr| decoded_bit_error(*size, code, sinr)))
        .collect();
    tables.push(Table::new(|sinr| 0.5 * libm::exp(-20.0 * sinr)));
    tables.push(Table::new(|sinr| dqpsk_bit_error(10.0 * sinr)));
    for code in [&five, &eleven] {
        tables.push(Table::new(|sinr| code.word_error(sinr) / f64::from(code.bits)));
    }
    tables.extend((0..13).map(|mcs| Table::new(dmg(mcs))));
    debug_assert_eq!(tables.len(), CLASSES);
    tables
}

impl ErrorModel {
    /// The model. The first call of a process works the tables out, which takes some milliseconds.
    pub fn new() -> ErrorModel {
        ErrorModel { shared: &SHARED }
    }

    #[inline]
    fn table(&self, rate: Rate) -> &'static Table {
        &self.shared.tables[usize::from(self.shared.class_of[rate.index()])]
    }

    /// How quickly bits are lost at this rate and linear SINR: λ ≥ 0 such that `bits` of them arrive with probability
    /// exp(−λ·bits). Infinite where nothing arrives, 0 where nothing is lost. Where the SINR changes within a frame, sum λ·bits
    /// over its pieces and take one exponential.
    pub fn loss_per_bit(&self, rate: Rate, sinr: f64) -> f64 {
        self.table(rate).loss_per_bit(sinr)
    }

    /// The same as [`ErrorModel::loss_per_bit`], for several looks at one rate.
    #[inline]
    pub(crate) fn at(&self, rate: Rate) -> AtRate {
        AtRate(self.table(rate))
    }

    /// Whether neither the headers nor any length of data at this rate can lose a bit at this linear SINR.
    #[inline]
    pub fn is_lossless(&self, rate: Rate, sinr: f64) -> bool {
        let header = &self.shared.tables[usize::from(header_class(rate.format()).0)];
        sinr >= self.table(rate).perfect.max(header.perfect)
    }

    /// The probability that `bits` bits (24 or more) sent at this rate arrive without error at this linear SINR.
    pub fn success(&self, rate: Rate, sinr: f64, bits: u32) -> f64 {
        survival(self.loss_per_bit(rate, sinr) * f64::from(bits))
    }

    /// The probability that the headers before the data field arrive: SIGNAL, HT-SIG and VHT-SIG, PLCP, DMG header. The
    /// preamble's detection is not in it, see [`PREAMBLE_MIN_SNR_DB`].
    pub fn header_success(&self, rate: Rate, sinr: f64) -> f64 {
        let (class, bits) = header_class(rate.format());
        survival(self.shared.tables[usize::from(class)].loss_per_bit(sinr) * bits)
    }

    /// The SINR, dB, at which `bits` bits arrive with probability `success` (above 0, below 1).
    pub fn sinr_db_for(&self, rate: Rate, bits: u32, success: f64) -> f64 {
        let (mut low, mut high) = (-30.0, 45.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.success(rate, ratio_from_db(middle), bits) < success {
                low = middle
            } else {
                high = middle
            }
        }
        high
    }
}

/// The error rates of one rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtRate(&'static Table);

impl AtRate {
    /// λ at this linear SINR.
    #[inline]
    pub(crate) fn loss_per_bit(self, sinr: f64) -> f64 {
        self.0.loss_per_bit(sinr)
    }

    /// Whether λ is 0 at this linear SINR.
    #[inline]
    pub(crate) fn loses_nothing(self, sinr: f64) -> bool {
        sinr >= self.0.perfect
    }
}

/// The table of a format's headers, and their bits.
fn header_class(format: Format) -> (u8, f64) {
    match format {
        Format::Dsss => (DSSS_CLASS, PLCP_HEADER_BITS),
        Format::Ofdm => (0, SIGNAL_BITS),
        Format::Ht => (0, SIGNAL_BITS + HT_SIG_BITS),
        Format::Vht => (0, SIGNAL_BITS + VHT_SIG_BITS),
        Format::DmgControl => (DMG_CLASS, DMG_HEADER_BITS),
        Format::DmgSc => (DMG_CLASS + 1, DMG_HEADER_BITS),
    }
}

/// exp(−x), without the exponential where it cannot matter.
fn survival(exponent: f64) -> f64 {
    match exponent {
        e if e <= 0.0 => 1.0,
        e if e > 40.0 => 0.0,
        e => libm::exp(-e),
    }
}

fn class_of_rates() -> Vec<u8> {
    use super::{Band, Standard, Width, legacy_rates, mcs_rates};
    let mut classes = vec![0; Rate::COUNT];
    let mut rates = legacy_rates(Standard::G, Band::Ghz2_4);
    rates.extend(mcs_rates(Standard::N, Width::Mhz40, 4, true));
    rates.extend(mcs_rates(Standard::Ac, Width::Mhz80, 4, true));
    rates.extend((0..=12).filter_map(|mcs| Rate::dmg(mcs).ok()));
    for rate in rates {
        classes[rate.index()] = match rate.format() {
            Format::Ofdm => rate.mcs(),
            Format::Ht | Format::Vht => MCS_CLASS[usize::from(rate.mcs())],
            Format::Dsss => DSSS_CLASS + rate.mcs(),
            Format::DmgControl | Format::DmgSc => DMG_CLASS + rate.mcs(),
        };
    }
    classes
}

/// Bit error rate of Gray-mapped BPSK (`size` 2) or square QAM at a symbol's SINR (Proakis, *Digital Communications*, 5.2).
fn raw_bit_error(size: f64, sinr: f64) -> f64 {
    if size == 2.0 {
        return 0.5 * libm::erfc(sinr.sqrt());
    }
    let side = size.sqrt();
    let bits = libm::log2(size);
    2.0 * (1.0 - 1.0 / side) / bits * libm::erfc((1.5 * sinr / (size - 1.0)).sqrt())
}

/// Bit errors after the Viterbi decoder, by the union bound with D = √(4p(1−p)); may exceed 1 where all is lost anyway.
fn decoded_bit_error(size: f64, code: &Code, sinr: f64) -> f64 {
    let p = raw_bit_error(size, sinr);
    let d = (4.0 * p * (1.0 - p)).sqrt();
    let (mut power, ratio) = (powi(d, code.free_distance), powi(d, code.step));
    let mut sum = 0.0;
    for weight in code.weights {
        sum += weight * power;
        power *= ratio;
    }
    sum / (2.0 * code.period)
}

/// A product of `n` factors: `f64::powi` may differ between machines.
fn powi(x: f64, n: i32) -> f64 {
    (0..n).fold(1.0, |product, _| product * x)
}

/// Bit errors of Gray-mapped DQPSK at E_b/N_0, asymptotic (Proakis, 5.2-70; within a tenth of a dB where frames survive).
fn dqpsk_bit_error(eb_n0: f64) -> f64 {
    use core::f64::consts::{PI, SQRT_2};
    let front = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt();
    front / eb_n0.sqrt() * libm::exp(-(2.0 - SQRT_2) * eb_n0)
}

/// Codeword errors per information bit.
fn dmg_bit_error(mcs: u8, sinr: f64) -> f64 {
    let information = if mcs == 0 { 168.0 } else { Rate::dmg(mcs).map_or(168.0, |r| r.dmg_block().1 as f64) };
    let needed_db = DMG_SENSITIVITY_DBM[usize::from(mcs)] - DMG_NOISE_DBM;
    let half_db = needed_db - DMG_DEVIATIONS[usize::from(mcs > 0)] * DMG_DEVIATION_DB;
    let deviations = (db_from_ratio(sinr) - half_db) / DMG_DEVIATION_DB;
    0.5 * libm::erfc(deviations / core::f64::consts::SQRT_2) / information
}

/// Pieces per factor of two, as a power of two.
const PIECES_LOG2: u32 = 5;
const SHIFT: u32 = 52 - PIECES_LOG2;
/// Above this bit error rate even 24 bits hardly ever arrive (6·10⁻⁸); below the other a megabyte always does.
const HOPELESS: f64 = 0.5;
const PERFECT: f64 = 1e-17;
/// SINRs looked at: −30 to +45 dB.
const SINR_RANGE: (f64, f64) = (1e-3, 32_000.0);

/// ln of the bit error rate over SINR.
#[derive(Debug, Clone)]
struct Table {
    /// At or below this SINR nothing arrives, at or above the other everything does.
    hopeless: f64,
    perfect: f64,
    first_piece: u64,
    /// Cubic in the fraction of a piece, constant first.
    pieces: Vec<[f64; 4]>,
}

impl Table {
    fn new(bit_error: impl Fn(f64) -> f64) -> Table {
        // The error rate falls as the SINR grows.
        let crossing = |level: f64| {
            let (mut low, mut high) = SINR_RANGE;
            for _ in 0..100 {
                let middle = (low * high).sqrt();
                if bit_error(middle) > level { low = middle } else { high = middle }
            }
            high
        };
        let (hopeless, perfect) = (crossing(HOPELESS), crossing(PERFECT));
        let (first_piece, last_piece) = (hopeless.to_bits() >> SHIFT, perfect.to_bits() >> SHIFT);
        let pieces = (first_piece..=last_piece).map(|piece| {
            let start = f64::from_bits(piece << SHIFT);
            let width = f64::from_bits((piece + 1) << SHIFT) - start;
            cubic([0.0, 1.0, 2.0, 3.0].map(|third| libm::log(bit_error(start + third / 3.0 * width))))
        });
        Table { hopeless, perfect, first_piece, pieces: pieces.collect() }
    }

    fn loss_per_bit(&self, sinr: f64) -> f64 {
        if sinr >= self.perfect {
            return 0.0;
        }
        // A NaN, which no medium should make, loses the frame.
        if sinr <= self.hopeless || sinr.is_nan() {
            return f64::INFINITY;
        }
        let bits = sinr.to_bits();
        let piece = (bits >> SHIFT) - self.first_piece;
        let fraction = (bits & ((1 << SHIFT) - 1)) as f64 * (1.0 / (1u64 << SHIFT) as f64);
        let [a, b, c, d] = self.pieces[piece as usize];
        let error = libm::exp(a + fraction * (b + fraction * (c + fraction * d)));
        // −ln(1 − error), by its series where that is exact enough.
        if error < 1e-4 { error * (1.0 + error * (0.5 + error / 3.0)) } else { -libm::log1p(-error.min(0.5)) }
    }
}

/// The cubic through four values at 0, 1/3, 2/3 and 1.
fn cubic([y0, y1, y2, y3]: [f64; 4]) -> [f64; 4] {
    let b = -5.5 * y0 + 9.0 * y1 - 4.5 * y2 + y3;
    let c = 9.0 * y0 - 22.5 * y1 + 18.0 * y2 - 4.5 * y3;
    let d = -4.5 * y0 + 13.5 * y1 - 13.5 * y2 + 4.5 * y3;
    [y0, b, c, d]
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
