//! What flows carry, and whether it arrived as it was sent.
//!
//! A stream's byte at an offset is that of a fixed text that repeats after a prime number of bytes, so that a segment that is
//! missing, doubled or misplaced shows as other bytes. A datagram has its own number, the time of its sending and a checksum
//! over all of it.

use std::sync::OnceLock;

use ropewalk_air::Time;

/// After so many bytes a stream's text repeats: a prime, so no segment's or buffer's length fits into it.
const PERIOD: usize = 65_521;
/// Longest piece that is written at once, bytes.
pub(crate) const PIECE: usize = 128 << 10;

/// The text, so long that a piece can begin anywhere in its first period.
fn text() -> &'static [u8] {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    TEXT.get_or_init(|| {
        // A linear congruential generator (Knuth's MMIX constants): any text without short repetitions does.
        let mut state = 0x5eed_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let once: Vec<u8> = (0..PERIOD).map(|_| next()).collect();
        once.iter().copied().cycle().take(PERIOD + PIECE).collect()
    })
}

/// At most [`PIECE`] bytes of a stream from an offset on.
pub(crate) fn stream_piece(offset: u64, len: u64) -> &'static [u8] {
    let start = (offset % PERIOD as u64) as usize;
    &text()[start..start + len.min(PIECE as u64) as usize]
}

/// Whether these are the bytes of a stream at an offset.
pub(crate) fn is_stream(mut offset: u64, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let want = stream_piece(offset, bytes.len() as u64);
        if bytes[..want.len()] != *want {
            return false;
        }
        (offset, bytes) = (offset + want.len() as u64, &bytes[want.len()..]);
    }
    true
}

/// Bytes that a datagram's mark takes.
pub(crate) const MARK: usize = 16;

/// What a datagram says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its number in its flow.
    pub seq: u32,
    /// What the application adds, such as the frame of a video.
    pub tag: u32,
    /// When it was sent, to the microsecond.
    pub sent: Time,
}

impl Mark {
    /// Writes the mark and content of its own into a datagram of this length, at least [`MARK`].
    pub(super) fn write(&self, datagram: &mut [u8]) {
        let (head, body) = datagram.split_at_mut(MARK);
        body.copy_from_slice(stream_piece(u64::from(self.seq) * 7919, body.len() as u64));
        head[..4].copy_from_slice(&self.seq.to_be_bytes());
        head[4..8].copy_from_slice(&self.tag.to_be_bytes());
        head[8..12].copy_from_slice(&micros(self.sent).to_be_bytes());
        let sum = checksum(&head[..12], body);
        head[12..].copy_from_slice(&sum.to_be_bytes());
    }

    /// Reads a datagram that came at `now`; none if it is not as it was sent.
    pub(super) fn read(datagram: &[u8], now: Time) -> Option<Mark> {
        let (head, body) = datagram.split_at_checked(MARK)?;
        let word = |i: usize| u32::from_be_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        if checksum(&head[..12], body) != word(12) {
            return None;
        }
        // The low 32 bits: 71 minutes, longer than anything is on its way.
        let ago = micros(now).wrapping_sub(word(8));
        let sent = Time::from_nanos(now.as_nanos().saturating_sub(u64::from(ago) * 1000));
        Some(Mark { seq: word(0), tag: word(4), sent })
    }
}

fn micros(at: Time) -> u32 {
    (at.as_nanos() / 1000) as u32
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(body);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_at_its_offset_only() {
        for offset in [0, 1, 65_520, 65_521, 1 << 33] {
            let mut bytes = [stream_piece(offset, 1000), stream_piece(offset + 1000, 300_000)].concat();
            assert!(is_stream(offset, &bytes), "{offset}");
            assert!(!is_stream(offset + 1448, &bytes), "{offset}");
            bytes[100_000] ^= 1;
            assert!(!is_stream(offset, &bytes), "{offset}");
        }
    }

    #[test]
    fn a_datagram_says_number_and_time_and_notices_damage() {
        let mut datagram = [0; 1472];
        let now = Time::from_secs(5000);
        let mark = Mark { seq: 70_000, tag: 0xabcd, sent: Time::from_micros(4_999_987_654) };
        mark.write(&mut datagram);
        assert_eq!(Mark::read(&datagram, now), Some(mark));
        for place in [0, 5, 9, 13, 16, 1471] {
            datagram[place] ^= 4;
            assert_eq!(Mark::read(&datagram, now), None, "{place}");
            datagram[place] ^= 4;
        }
        assert_eq!(Mark::read(&datagram[..15], now), None);
    }
}
