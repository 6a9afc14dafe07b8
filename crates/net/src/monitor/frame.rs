//! Frames behind a radiotap header (<https://www.radiotap.org>): IEEE 802.11-2020 §9.3.2 data
//! frames, in them LLC and SNAP (RFC 1042), in them IPv4.

/// A packet of a station to its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheard<'a> {
    /// The cell, which is also the receiver's address.
    pub bssid: [u8; 6],
    /// The transmitter.
    pub station: [u8; 6],
    /// To whom the access point is to pass it on.
    pub destination: [u8; 6],
    /// Traffic identifier, 0 to 7; 0 for a frame without one.
    pub tid: u8,
    /// Sequence number, 12 bits: repetitions have the same.
    pub sequence: u16,
    /// The station says that it repeats the frame.
    pub retry: bool,
    /// An IPv4 packet, as long as it says that it is.
    pub packet: &'a [u8],
}

/// Why a frame was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is no radiotap or 802.11, or it ends too early.
    Malformed,
    /// Its checksum was wrong on the air.
    BadChecksum,
    /// No data from a station to an access point.
    NotToAccessPoint,
    /// Its payload is encrypted.
    Encrypted,
    /// A part of a packet.
    Fragment,
    /// Several packets in one frame (A-MSDU), which has one number for all.
    Aggregate,
    /// It carries something else than IPv4.
    NotIpv4,
}

/// What of radiotap counts: its length, and the flags of the frame behind it.
struct Radiotap {
    length: usize,
    flags: u8,
}

/// Flags of radiotap's field of that name.
const FCS_AT_END: u8 = 0x10;
const PADDED: u8 = 0x20;
const BAD_FCS: u8 = 0x40;
/// Bits of radiotap's first word of fields.
const TSFT: u32 = 1;
const FLAGS: u32 = 1 << 1;
const MORE_WORDS: u32 = 1 << 31;
/// LLC and SNAP before an IPv4 packet.
const IPV4: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

fn bytes<const N: usize>(of: &[u8], at: usize) -> Result<[u8; N], Left> {
    of.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Left::Malformed)
}

fn radiotap(frame: &[u8]) -> Result<Radiotap, Left> {
    let length = usize::from(u16::from_le_bytes(bytes(frame, 2)?));
    let header = frame.get(..length).filter(|h| h.len() >= 8 && h[0] == 0).ok_or(Left::Malformed)?;
    let first = u32::from_le_bytes(bytes(header, 4)?);
    // Words of further name spaces stand before the fields of the first one.
    let (mut at, mut word) = (8, first);
    while word & MORE_WORDS != 0 {
        word = u32::from_le_bytes(bytes(header, at)?);
        at += 4;
    }
    if first & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if first & FLAGS != 0 { bytes::<1>(header, at)?[0] } else { 0 };
    Ok(Radiotap { length, flags })
}

/// Reads a frame as a monitor interface gives it.
///
/// # Errors
/// The first reason why it is left.
pub fn read(frame: &[u8]) -> Result<Overheard<'_>, Left> {
    let radiotap = radiotap(frame)?;
    if radiotap.flags & BAD_FCS != 0 {
        return Err(Left::BadChecksum);
    }
    let checksum = if radiotap.flags & FCS_AT_END != 0 { 4 } else { 0 };
    let all = &frame[radiotap.length..];
    let frame = &all[..all.len().saturating_sub(checksum)];
    let [kind, control] = bytes(frame, 0)?;
    let with_qos = match kind {
        0x08 => false,
        0x88 => true,
        _ => return Err(Left::NotToAccessPoint),
    };
    // To the distribution system and not from it.
    if control & 3 != 1 {
        return Err(Left::NotToAccessPoint);
    }
    if control & 0x40 != 0 {
        return Err(Left::Encrypted);
    }
    let number = u16::from_le_bytes(bytes(frame, 22)?);
    if control & 4 != 0 || number & 15 != 0 {
        return Err(Left::Fragment);
    }
    let (mut length, mut tid) = (24_usize, 0);
    if with_qos {
        let qos = u16::from_le_bytes(bytes(frame, 24)?);
        if qos & 0x80 != 0 {
            return Err(Left::Aggregate);
        }
        // HT control follows where the order bit is set.
        length = if control & 0x80 != 0 { 30 } else { 26 };
        tid = (qos & 15) as u8;
    }
    if radiotap.flags & PADDED != 0 {
        length = length.next_multiple_of(4);
    }
    let (bssid, station) = (bytes(frame, 4)?, bytes(frame, 10)?);
    let group = |address: [u8; 6]| address[0] & 1 != 0;
    // Identifiers of 8 and above are of reserved streams, which nobody uses.
    if group(bssid) || group(station) || tid > 7 {
        return Err(Left::Malformed);
    }
    let packet = ipv4(frame, length)?;
    let (sequence, retry) = (number >> 4, control & 8 != 0);
    Ok(Overheard { bssid, station, destination: bytes(frame, 16)?, tid, sequence, retry, packet })
}

/// The packet behind a header of `length` bytes.
fn ipv4(frame: &[u8], length: usize) -> Result<&[u8], Left> {
    if bytes::<8>(frame, length)? != IPV4 {
        return Err(Left::NotIpv4);
    }
    let rest = &frame[length + IPV4.len()..];
    let said = usize::from(u16::from_be_bytes(bytes(rest, 2)?));
    if rest[0] >> 4 != 4 {
        return Err(Left::NotIpv4);
    }
    rest.get(..said).filter(|packet| packet.len() >= 20).ok_or(Left::Malformed)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
