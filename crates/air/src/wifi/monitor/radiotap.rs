//! The radiotap header (radiotap.org): what the receiver knows of a frame that is not in it.

use crate::wifi::CapturedFrame;
use crate::wifi::phy::{Band, Format, GuardInterval, Width};

/// Numbers of the fields, which are their bits in the present word and their order in the header.
mod field {
    pub(super) const TSFT: u32 = 0;
    pub(super) const FLAGS: u32 = 1;
    pub(super) const RATE: u32 = 2;
    pub(super) const CHANNEL: u32 = 3;
    pub(super) const SIGNAL: u32 = 5;
    pub(super) const NOISE: u32 = 6;
    pub(super) const MCS: u32 = 19;
    pub(super) const AMPDU: u32 = 20;
    pub(super) const VHT: u32 = 21;
}

const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const CHANNEL_2_GHZ: u16 = 0x0080;
const CHANNEL_5_GHZ: u16 = 0x0100;
const CHANNEL_DYNAMIC: u16 = 0x0400;
/// Known: bandwidth, MCS index, guard interval, format, FEC type, STBC, extension streams.
const MCS_KNOWN: u8 = 0x7f;
/// Known: STBC, guard interval, bandwidth.
const VHT_KNOWN: u16 = 0x0045;
/// The last subframe of the A-MPDU is known, and this is it.
const AMPDU_LAST_KNOWN: u16 = 0x0004;
const AMPDU_IS_LAST: u16 = 0x0008;

/// Appends the header of a frame; `out` must be empty, as fields are aligned from its start.
pub(super) fn write<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    let format = frame.rate.format();
    let how = match format {
        Format::Dsss | Format::Ofdm => 1 << field::RATE,
        Format::Ht => 1 << field::MCS,
        Format::Vht => 1 << field::VHT,
        // Radiotap has no field for DMG.
        Format::DmgControl | Format::DmgSc => 0,
    };
    let ampdu = if frame.ampdu.is_some() { 1 << field::AMPDU } else { 0 };
    let always: u32 =
        1 << field::TSFT | 1 << field::FLAGS | 1 << field::CHANNEL | 1 << field::SIGNAL | 1 << field::NOISE;
    // Version 0, padding, the length (set at the end), fields present.
    out.extend([0, 0, 0, 0]);
    out.extend((always | how | ampdu).to_le_bytes());
    out.extend((frame.at.as_nanos() / 1_000).to_le_bytes());
    // Flags: long preamble, no FCS at the end.
    out.push(0);
    if how == 1 << field::RATE {
        out.push((frame.rate.bps() / 500_000) as u8);
    }
    channel(frame, out);
    out.push(dbm(frame.signal_dbm));
    out.push(dbm(frame.noise_dbm));
    match format {
        Format::Ht => mcs(frame, out),
        Format::Vht => {
            a_mpdu(frame, out);
            vht(frame, out);
        }
        _ => {}
    }
    if format != Format::Vht {
        a_mpdu(frame, out);
    }
    let len = (out.len() as u16).to_le_bytes();
    out[2..4].copy_from_slice(&len);
}

/// Fields begin at multiples of their own size.
fn align(to: usize, out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(to), 0);
}

/// Power in whole dBm, as a signed byte.
fn dbm(power: f64) -> u8 {
    (libm::round(power).clamp(-128.0, 127.0) as i8) as u8
}

fn channel<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    align(2, out);
    let flags = match (frame.channel.band(), frame.rate.format()) {
        (Band::Ghz2_4, Format::Dsss) => CHANNEL_2_GHZ | CHANNEL_CCK,
        (Band::Ghz2_4, Format::Ofdm) => CHANNEL_2_GHZ | CHANNEL_OFDM,
        (Band::Ghz2_4, _) => CHANNEL_2_GHZ | CHANNEL_DYNAMIC,
        (Band::Ghz5, _) => CHANNEL_5_GHZ | CHANNEL_OFDM,
        (Band::Ghz60, _) => 0,
    };
    out.extend((frame.channel.primary_mhz() as u16).to_le_bytes());
    out.extend(flags.to_le_bytes());
}

fn short_guard<T>(frame: &CapturedFrame<T>) -> bool {
    frame.rate.guard_interval() == GuardInterval::Short
}

fn mcs<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    let bandwidth = u8::from(frame.rate.width() == Width::Mhz40);
    // Mixed format, BCC, and no STBC or extension streams are all zero.
    out.extend([
        MCS_KNOWN,
        bandwidth | u8::from(short_guard(frame)) << 2,
        frame.rate.mcs() + 8 * (frame.rate.streams() - 1),
    ]);
}

fn a_mpdu<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    let Some((reference, last)) = frame.ampdu else { return };
    align(4, out);
    out.extend(reference.to_le_bytes());
    let flags = AMPDU_LAST_KNOWN | if last { AMPDU_IS_LAST } else { 0 };
    out.extend(flags.to_le_bytes());
    // Delimiter CRC unknown, reserved.
    out.extend([0, 0]);
}

fn vht<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    align(2, out);
    let bandwidth = match frame.rate.width() {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        _ => 4,
    };
    out.extend(VHT_KNOWN.to_le_bytes());
    out.push(u8::from(short_guard(frame)) << 2);
    out.push(bandwidth);
    // User 0: MCS in the upper half, streams in the lower; three more users, coding, group, partial AID.
    out.push(frame.rate.mcs() << 4 | frame.rate.streams());
    out.extend([0; 7]);
}
