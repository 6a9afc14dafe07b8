//! Headers of data from access points to their stations, encrypted or not: nothing behind a
//! header is read.

use super::frame::{bytes, group};
use super::radiotap::{Radiotap, Rate};

/// An address of layer 2.
type Mac = [u8; 6];

/// What a data frame from an access point says before its payload (IEEE 802.11-2020 §9.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The access point.
    pub transmitter: Mac,
    /// The station.
    pub receiver: Mac,
    /// Traffic identifier, below 16; none: the frame has no QoS.
    pub tid: Option<u8>,
    /// Sequence number, 12 bits: repetitions have the same.
    pub sequence: u16,
    /// The access point says that it repeats the frame.
    pub retry: bool,
    /// Its rate, if the driver says it.
    pub rate: Option<Rate>,
    /// The A-MPDU that it was in, by a number that its neighbours in time do not share; none: it
    /// was alone, or the driver does not say.
    pub aggregate: Option<u32>,
}

/// Reads the header of a frame as a monitor interface gives it, which may end behind it. None: it
/// is no data from an access point to one station, or a later part of a packet, or damaged.
pub fn header(frame: &[u8]) -> Option<Header> {
    let (radiotap, frame) = Radiotap::split(frame).ok()?;
    let [kind, control] = bytes(frame, 0).ok()?;
    let with_qos = match kind {
        0x08 => false,
        0x88 => true,
        _ => return None,
    };
    // From the distribution system and not to it.
    if control & 3 != 2 {
        return None;
    }
    let (receiver, transmitter) = (bytes(frame, 4).ok()?, bytes(frame, 10).ok()?);
    let number = u16::from_le_bytes(bytes(frame, 22).ok()?);
    if group(receiver) || group(transmitter) || number & 15 != 0 {
        return None;
    }
    let tid = if with_qos { Some(bytes::<1>(frame, 24).ok()?[0] & 15) } else { None };
    let (sequence, retry) = (number >> 4, control & 8 != 0);
    let (rate, aggregate) = (radiotap.rate(), radiotap.aggregate());
    Some(Header { transmitter, receiver, tid, sequence, retry, rate, aggregate })
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
