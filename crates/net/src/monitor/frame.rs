//! Frames behind a radiotap header (<https://www.radiotap.org>): IEEE 802.11-2020 §9.3.2 data
//! frames, in them LLC and SNAP (RFC 1042), in them IPv4.

use super::radiotap::{PADDED, Radiotap};

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

/// LLC and SNAP before an IPv4 packet.
const IPV4: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

pub(super) fn bytes<const N: usize>(of: &[u8], at: usize) -> Result<[u8; N], Left> {
    of.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Left::Malformed)
}

/// The address is one of many.
pub(super) fn group(address: [u8; 6]) -> bool {
    address[0] & 1 != 0
}

/// Reads a frame as a monitor interface gives it.
///
/// # Errors
/// The first reason why it is left.
pub fn read(frame: &[u8]) -> Result<Overheard<'_>, Left> {
    let (radiotap, frame) = Radiotap::split(frame)?;
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
