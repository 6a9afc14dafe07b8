//! How long things are on the air.

use core::time::Duration;

use super::{Band, Format, GuardInterval, Rate, Standard};

/// Bytes of an ACK or CTS (802.11-2020, 9.3.1.3 and 9.3.1.4).
pub const ACK_BYTES: u32 = 14;
/// Bytes of an RTS (9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// Bytes of a compressed Block Ack with a 64-bit bitmap (9.3.1.8.2).
pub const BLOCK_ACK_BYTES: u32 = 32;
/// Bytes of a compressed Block Ack request (9.3.1.7).
pub const BLOCK_ACK_REQUEST_BYTES: u32 = 24;

/// aPPDUMaxTime of HT and VHT (tables 19-25 and 21-29).
pub const MAX_PPDU: Duration = Duration::from_micros(5484);
/// aPPDUMaxTime of DMG (table 20-4).
pub const MAX_DMG_PPDU: Duration = Duration::from_millis(2);
/// The longest MPDU of an HT A-MPDU under Block Ack (10.12.3: the delimiter's 12 bits).
pub const MAX_HT_AMPDU_MPDU_BYTES: u32 = 4095;
/// MPDUs that one compressed Block Ack answers.
pub const BLOCK_ACK_WINDOW: u16 = 64;

/// What decoding OFDM in 2.4 GHz needs more, and a PPDU there is longer by (aSignalExtension, 18.3.2.4 and 19.3.11.11.8).
const SIGNAL_EXTENSION_NS: u64 = 6_000;
/// Long preamble and header of DSSS: 144 + 48 bits at 1 Mb/s (16.2.2).
const DSSS_LONG_PLCP_NS: u64 = 192_000;
/// L-STF 8, L-LTF 8, L-SIG 4 µs (17.3.2.1).
const LEGACY_PREAMBLE_NS: u64 = 20_000;
/// SERVICE field and tail bits per encoder (17.3.5.2 and 17.3.5.3).
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
const SYMBOL_NS: u64 = 4_000;
const SHORT_SYMBOL_NS: u64 = 3_600;
/// Chips of the DMG fields, at 1.76 GHz (tables 20-4, 20-12 and 20-17).
const DMG_CHIPS_PER_US: u64 = 1760;
const DMG_SC_PREAMBLE_CHIPS: u64 = 17 * 128 + 9 * 128;
const DMG_SC_HEADER_CHIPS: u64 = 2 * 512;
const DMG_CONTROL_PREAMBLE_CHIPS: u64 = 50 * 128 + 9 * 128;
/// The control PHY's first codeword: 5 bytes of header, 6 of data, 168 of parity, each bit 32 chips (20.4.3.3): 4.654 µs.
const DMG_CONTROL_HEADER_BITS: u64 = 88 + 168;

/// From the start of a PPDU to its data field: training fields and headers.
pub fn preamble(rate: Rate) -> Duration {
    Duration::from_nanos(preamble_ns(rate))
}

fn preamble_ns(rate: Rate) -> u64 {
    // N_LTF for 1 to 4 streams (tables 19-13 and 21-13).
    let training_fields = match rate.streams() {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    match rate.format() {
        Format::Dsss => DSSS_LONG_PLCP_NS,
        Format::Ofdm => LEGACY_PREAMBLE_NS,
        // HT-SIG 8, HT-STF 4, HT-LTFs 4 µs each (19.3.3).
        Format::Ht => LEGACY_PREAMBLE_NS + 12_000 + 4_000 * training_fields,
        // VHT-SIG-A 8, VHT-STF 4, VHT-LTFs 4 each, VHT-SIG-B 4 µs (21.3.3).
        Format::Vht => LEGACY_PREAMBLE_NS + 16_000 + 4_000 * training_fields,
        Format::DmgControl => dmg_ns(DMG_CONTROL_PREAMBLE_CHIPS + 32 * DMG_CONTROL_HEADER_BITS),
        Format::DmgSc => dmg_ns(DMG_SC_PREAMBLE_CHIPS + DMG_SC_HEADER_CHIPS),
    }
}

/// Nanoseconds of so many chips, to the nearest.
fn dmg_ns(chips: u64) -> u64 {
    (chips * 1000 + DMG_CHIPS_PER_US / 2) / DMG_CHIPS_PER_US
}

/// A whole PPDU that carries `psdu_bytes`, with the signal extension where there is one (TXTIME: 15.3.4, 16.3.4,
/// 17.4.3, 19.4.3, 21.4.3, 20.12.3).
pub fn ppdu(rate: Rate, psdu_bytes: u32, band: Band) -> Duration {
    let bits = 8 * u64::from(psdu_bytes);
    let data_ns = match rate.format() {
        Format::Dsss => (bits * 10_000).div_ceil(rate.n_dbps()).next_multiple_of(1_000),
        Format::Ofdm | Format::Ht | Format::Vht => {
            let coded = SERVICE_BITS + bits + TAIL_BITS * u64::from(rate.encoders());
            symbols_ns(rate, coded.div_ceil(rate.n_dbps()))
        }
        Format::DmgControl | Format::DmgSc => return Duration::from_nanos(dmg_ns(dmg_chips(rate, bits))),
    };
    Duration::from_nanos(preamble_ns(rate) + data_ns + extension_ns(rate, band))
}

/// So many symbols; with the short guard interval the sum is rounded up to 4 µs (19.4.3, 21.4.3).
fn symbols_ns(rate: Rate, symbols: u64) -> u64 {
    match rate.guard_interval() {
        GuardInterval::Long => symbols * SYMBOL_NS,
        GuardInterval::Short => (symbols * SHORT_SYMBOL_NS).next_multiple_of(SYMBOL_NS),
    }
}

fn extension_ns(rate: Rate, band: Band) -> u64 {
    if band == Band::Ghz2_4 && rate.format() != Format::Dsss { SIGNAL_EXTENSION_NS } else { 0 }
}

/// How long the end of a PPDU is silent: decoders in 2.4 GHz need it, energy there is none.
pub fn signal_extension(rate: Rate, band: Band) -> Duration {
    Duration::from_nanos(extension_ns(rate, band))
}

/// Chips of a whole DMG PPDU.
fn dmg_chips(rate: Rate, bits: u64) -> u64 {
    if rate.format() == Format::DmgControl {
        // The first codeword holds 6 bytes of data; the others at most 168 bits, and 168 of parity (20.4.3.3.3).
        let more = bits.saturating_sub(48);
        let codewords = more.div_ceil(168);
        return DMG_CONTROL_PREAMBLE_CHIPS + 32 * (DMG_CONTROL_HEADER_BITS + more + 168 * codewords);
    }
    let (block_bits, information_bits) = rate.dmg_block();
    let codewords = bits.div_ceil(information_bits).max(1);
    let blocks = (codewords * 672).div_ceil(block_bits);
    // The last block is closed by one more guard interval of 64 chips (20.6.3.2.5).
    DMG_SC_PREAMBLE_CHIPS + DMG_SC_HEADER_CHIPS + 512 * blocks + 64
}

/// The longest PSDU that a format can carry: LENGTH of the legacy SIGNAL field, HT-SIG, VHT and DMG headers.
pub fn max_psdu_bytes(rate: Rate) -> u32 {
    match rate.format() {
        Format::Dsss | Format::Ofdm => 4095,
        Format::Ht => 65_535,
        Format::Vht => 1_048_575,
        Format::DmgControl => 1023,
        Format::DmgSc => 262_143,
    }
}

/// The longest PPDU of a format, if its standard names one besides the length.
pub fn max_ppdu(rate: Rate) -> Duration {
    match rate.format() {
        Format::Ht | Format::Vht => MAX_PPDU,
        Format::DmgControl | Format::DmgSc => MAX_DMG_PPDU,
        // LENGTH bounds them: 4095 bytes at 1 Mb/s.
        Format::Dsss | Format::Ofdm => Duration::from_millis(33),
    }
}

/// The most bytes of PSDU that fit a PPDU no longer than `limit` at this rate; 0 if none.
pub fn psdu_bytes_within(rate: Rate, limit: Duration, band: Band) -> u32 {
    let limit = limit.min(max_ppdu(rate));
    let most = max_psdu_bytes(rate);
    if ppdu(rate, most, band) <= limit {
        return most;
    }
    // Durations grow with length, so bisect: `low` fits (or is 0), `high` does not.
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if ppdu(rate, middle, band) <= limit { low = middle } else { high = middle }
    }
    low
}

/// Bytes of an A-MPDU of `mpdus` equal MPDUs: 4 of delimiter each, and all but the last padded to 4 (9.7.1).
pub fn ampdu_bytes(mpdu_bytes: u32, mpdus: u32) -> u32 {
    match mpdus {
        0 => 0,
        n => (n - 1) * ampdu_subframe_bytes(mpdu_bytes) + 4 + mpdu_bytes,
    }
}

/// Bytes of an A-MPDU subframe that is not the last: delimiter, MPDU, padding.
pub fn ampdu_subframe_bytes(mpdu_bytes: u32) -> u32 {
    4 + mpdu_bytes.next_multiple_of(4)
}

/// An ACK at this rate.
pub fn ack(rate: Rate, band: Band) -> Duration {
    ppdu(rate, ACK_BYTES, band)
}

/// A CTS at this rate.
pub fn cts(rate: Rate, band: Band) -> Duration {
    ppdu(rate, ACK_BYTES, band)
}

/// An RTS at this rate.
pub fn rts(rate: Rate, band: Band) -> Duration {
    ppdu(rate, RTS_BYTES, band)
}

/// A compressed Block Ack at this rate.
pub fn block_ack(rate: Rate, band: Band) -> Duration {
    ppdu(rate, BLOCK_ACK_BYTES, band)
}

/// A Block Ack request at this rate.
pub fn block_ack_request(rate: Rate, band: Band) -> Duration {
    ppdu(rate, BLOCK_ACK_REQUEST_BYTES, band)
}

/// The basic rates that access points take unless told otherwise, lowest first: 1, 2, 5.5 and 11 Mb/s for 802.11b cells,
/// 6, 12 and 24 for all others (hostapd's defaults), MCS 1 to 4 for DMG (mandatory, 20.3.2).
pub fn default_basic_rates(standard: Standard, band: Band) -> Vec<Rate> {
    let legacy = |bps: &[u64]| bps.iter().filter_map(|&b| Rate::legacy(b).ok()).collect();
    match (standard, band) {
        (_, Band::Ghz60) => (0..=4).filter_map(|mcs| Rate::dmg(mcs).ok()).collect(),
        (Standard::B, _) => legacy(&[1_000_000, 2_000_000, 5_500_000, 11_000_000]),
        _ => legacy(&[6_000_000, 12_000_000, 24_000_000]),
    }
}

/// The rate of the ACK, CTS or Block Ack to a frame that came at `data`: the highest basic rate of the same family not
/// above the frame's reference rate, or else the family's lowest (10.6.6.5.2).
pub fn response_rate(data: Rate, basic: &[Rate]) -> Rate {
    let family = |format| match format {
        Format::Dsss => 0,
        Format::Ofdm | Format::Ht | Format::Vht => 1,
        Format::DmgControl | Format::DmgSc => 2,
    };
    let own = family(data.format());
    let fallback = match data.format() {
        Format::Dsss => Rate::lowest(Standard::B, Band::Ghz2_4),
        Format::DmgControl | Format::DmgSc => Rate::lowest(Standard::Ad, Band::Ghz60),
        _ => Rate::lowest(Standard::A, Band::Ghz5),
    };
    let fitting = basic.iter().filter(|b| family(b.format()) == own && b.bps() <= data.reference_bps());
    fitting.copied().max_by_key(|b| b.bps()).unwrap_or(fallback)
}

#[cfg(test)]
#[path = "duration_tests.rs"]
mod tests;
