//! The data datagram, byte by byte. `docs/protocol.md` is the prose of this module.
//!
//! ```text
//!  0               1               2               3
//! +-------+-------+---------------+---------------+---------------+
//! | type 4| path  |              receiver index                   |
//! +-------+-------+---------------+---------------+---------------+
//! |                 packet number, low 32 bits                    |
//! +---------------------------------------------------------------+   } sealed from here on
//! |         send time, 16 µs units, low 24 bits   | frames ...    |
//! +-----------------------------------------------+---------------+
//! | ...                            | tag, 16 bytes                |
//! ```

mod frame;
mod reader;
mod writer;

pub use frame::{
    AckFrame, AirEntry, AirFrame, Continuation, Fragment, Frame, FrameError, Frames, GOES_ON, MAX_RANGES,
    PathStatus, QueueFrame, seq_after,
};
pub use writer::Writer;

use ropewalk_time::Time;

/// Bytes before the sealed part; they are the AEAD's associated data.
pub const HEADER: usize = 8;
/// Bytes of the AEAD's tag.
pub const TAG: usize = 16;
/// Bytes of the send time that begins the sealed part.
pub const TIMESTAMP: usize = 3;
/// Upper half of the first byte of a data datagram.
pub const TYPE_DATA: u8 = 4;
/// Most paths that a session can have: the path's identifier has four bits.
pub const MAX_PATHS: usize = 16;
/// Bytes of an IPv4 and UDP header.
pub const IPV4_UDP: usize = 28;
/// Bytes of an IPv6 and UDP header.
pub const IPV6_UDP: usize = 48;

/// The readable part of a data datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Path identifier, 0 to 15.
    pub path: u8,
    /// Index that the receiver gave to its keys, 24 bits.
    pub index: u32,
    /// Low 32 bits of the packet number.
    pub number: u32,
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER] {
        let [_, i0, i1, i2] = self.index.to_be_bytes();
        let [n0, n1, n2, n3] = self.number.to_be_bytes();
        [TYPE_DATA << 4 | self.path, i0, i1, i2, n0, n1, n2, n3]
    }

    /// Reads the header of a data datagram; `None` if it is of another type or too short to hold a timestamp and a tag.
    pub fn decode(datagram: &[u8]) -> Option<Header> {
        if datagram.len() < HEADER + TIMESTAMP + TAG || datagram[0] >> 4 != TYPE_DATA {
            return None;
        }
        let d = datagram;
        Some(Header {
            path: d[0] & 15,
            index: u32::from_be_bytes([0, d[1], d[2], d[3]]),
            number: u32::from_be_bytes([d[4], d[5], d[6], d[7]]),
        })
    }
}

/// A send time as a datagram carries it: units of 16.384 µs (2^14 ns), modulo 2^24 (275 s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Timestamp(u32);

impl Timestamp {
    /// Nanoseconds of one unit, as a power of two.
    pub const SHIFT: u32 = 14;

    /// The timestamp of `t`.
    pub fn of(t: Time) -> Timestamp {
        Timestamp((t.as_nanos() >> Self::SHIFT) as u32 & 0xff_ffff)
    }

    /// From the wire.
    pub fn from_bytes(b: [u8; TIMESTAMP]) -> Timestamp {
        Timestamp(u32::from_be_bytes([0, b[0], b[1], b[2]]))
    }

    /// To the wire.
    pub fn to_bytes(self) -> [u8; TIMESTAMP] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    /// Units by which this is later than `other`, as a serial number (RFC 1982): half the range either way.
    pub fn later_than(self, other: Timestamp) -> i32 {
        sign_extend24(self.0.wrapping_sub(other.0))
    }
}

/// A 24-bit difference as a signed number.
pub fn sign_extend24(v: u32) -> i32 {
    ((v << 8) as i32) >> 8
}

#[cfg(test)]
#[path = "tests.rs"]
mod frame_tests;

#[cfg(test)]
mod vectors;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_round_trip() {
        let h = Header { path: 9, index: 0xabcdef, number: 0xdead_beef };
        let mut d = [0; 40];
        d[..HEADER].copy_from_slice(&h.encode());
        assert_eq!(Header::decode(&d), Some(h));
        assert_eq!(Header::decode(&d[..26]), None);
    }

    #[test]
    fn stamps_compare_across_the_wrap() {
        let a = Timestamp::of(Time::from_nanos(((1 << 24) - 2) << 14));
        let b = Timestamp::of(Time::from_nanos(((1 << 24) + 3) << 14));
        assert_eq!((b.later_than(a), a.later_than(b)), (5, -5));
        assert_eq!(Timestamp::from_bytes(a.to_bytes()), a);
    }
}
