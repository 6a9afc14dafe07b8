//! Captured frames as bytes: a radiotap header and the 802.11 frame, as a monitor interface of Linux hands them out. A driver
//! writes them to a capture file of link type 127 (`LINKTYPE_IEEE802_11_RADIOTAP`), or to a TAP device of that type.
//!
//! The frame check sequence is not part of the bytes (and radiotap says so). Management frames have their fixed fields and,
//! as the model has no contents, the least elements that decoders ask for; the length on the air is that of the model, see [`Captured::air_bytes`].

mod frame;
mod radiotap;

use super::CapturedFrame;

/// The link type of capture files of such frames (tcpdump.org's registry).
pub const LINKTYPE_IEEE802_11_RADIOTAP: u16 = 127;

/// A captured frame as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Radiotap header, 802.11 header, body.
    pub bytes: Vec<u8>,
    /// What the length would be had all of the frame been captured: the "original length" of a capture file's record.
    pub air_bytes: u32,
}

/// Encodes a frame. `write_packet` appends the bytes of a carried packet, from its IP header on; what it leaves out is missing in
/// the capture, as with a short snapshot length.
pub fn encode<T>(frame: &CapturedFrame<T>, write_packet: impl FnMut(&T, &mut Vec<u8>)) -> Captured {
    let mut bytes = Vec::with_capacity(128);
    radiotap::write(frame, &mut bytes);
    let header = bytes.len() as u32;
    frame::write(frame, write_packet, &mut bytes);
    let air_bytes = (header + frame.len_bytes.saturating_sub(FCS_BYTES)).max(bytes.len() as u32);
    Captured { bytes, air_bytes }
}

/// Length of the frame check sequence.
const FCS_BYTES: u32 = 4;

#[cfg(test)]
mod tests;
