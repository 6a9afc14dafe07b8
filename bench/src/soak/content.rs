//! What flows carry: each eight bytes name their flow and their place, so that a byte that is not where it belongs
//! says where it comes from.

use std::fmt;

/// Odd, so that multiplying by them can be undone.
const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];
/// How far a product's upper bits are mixed into its lower ones: half of it undoes itself.
const MIX: u32 = 32;
/// Of the place, in words of eight bytes: transfers of up to 32 GiB.
const PLACE_BITS: u32 = 32;
/// A place beyond this is no transfer's: what is read there by chance is told from what was sent.
const PLACES: u64 = super::LARGEST / 8 + 1;

/// Which bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// Of this run.
    pub key: u64,
    /// The transfer's number.
    pub flow: u64,
    /// From the server to the client.
    pub down: bool,
}

/// Bytes that are not what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Where the first of them should have been another.
    pub at: u64,
    /// How many in this block.
    pub bytes: u64,
    /// Whose they are, if they are of this run: flow, direction, and place.
    pub origin: Option<(Content, u64)>,
    /// The first of them.
    pub first: [u8; 16],
}

/// A permutation of 64 bits.
fn scramble(word: u64, key: u64) -> u64 {
    FACTORS.iter().fold(word ^ key, |x, factor| {
        let x = x.wrapping_mul(*factor);
        x ^ (x >> MIX)
    })
}

fn unscramble(word: u64, key: u64) -> u64 {
    FACTORS.iter().rev().fold(word, |x, factor| (x ^ (x >> MIX)).wrapping_mul(inverse(*factor))) ^ key
}

/// Of an odd number, modulo 2⁶⁴: Newton's step doubles the digits that are right, and three are to begin with.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))))
}

impl Content {
    fn word(self, place: u64) -> [u8; 8] {
        let name = self.flow << (PLACE_BITS + 1) | u64::from(self.down) << PLACE_BITS | place;
        scramble(name, self.key).to_le_bytes()
    }

    /// Writes the bytes from `at` on.
    pub(super) fn fill(self, at: u64, block: &mut [u8]) {
        let skip = (at % 8) as usize;
        let (head, rest) = block.split_at_mut(block.len().min((8 - skip) % 8));
        head.copy_from_slice(&self.word(at / 8)[skip..][..head.len()]);
        for (place, word) in (at.div_ceil(8)..).zip(rest.chunks_mut(8)) {
            word.copy_from_slice(&self.word(place)[..word.len()]);
        }
    }

    /// Compares what came at `at`; `scratch` is as long.
    pub(super) fn check(self, at: u64, came: &[u8], scratch: &mut [u8]) -> Option<Wrong> {
        self.fill(at, scratch);
        if came == scratch {
            return None;
        }
        let differs = |i: &usize| came[*i] != scratch[*i];
        let index = (0..came.len()).find(differs)?;
        let bytes = (index..came.len()).filter(differs).count() as u64;
        let mut first = [0; 16];
        let len = first.len().min(came.len() - index);
        first[..len].copy_from_slice(&came[index..][..len]);
        Some(Wrong { at: at + index as u64, bytes, origin: self.origin(&came[index..]), first })
    }

    /// Where bytes come from that are not the ones of this place.
    fn origin(self, bytes: &[u8]) -> Option<(Content, u64)> {
        (0..8).find_map(|skip| {
            let word = bytes.get(skip..skip + 8)?.try_into().ok()?;
            let name = unscramble(u64::from_le_bytes(word), self.key);
            let content =
                Content { key: self.key, flow: name >> (PLACE_BITS + 1), down: name >> PLACE_BITS & 1 == 1 };
            let place = name & ((1 << PLACE_BITS) - 1);
            // Flows are numbered from 0, and a few thousand more are under way than this one at most.
            let is_ours = content.flow < self.flow + 4096 && place < PLACES;
            is_ours.then(|| (content, (place * 8).saturating_sub(skip as u64)))
        })
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.down { "download" } else { "upload" }, self.flow)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} wrong bytes from byte {} on", self.bytes, self.at)?;
        match &self.origin {
            Some((content, place)) => write!(f, ": they are byte {place} of {content} and what follows"),
            None => write!(f, ", and of no flow: {:02x?}", self.first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Content = Content { key: 0x1234_5678_9abc_def0, flow: 7, down: true };

    fn bytes(content: Content, at: u64, len: usize) -> Vec<u8> {
        let mut block = vec![0; len];
        content.fill(at, &mut block);
        block
    }

    #[test]
    fn scrambling_is_undone() {
        for word in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(unscramble(scramble(word, 99), 99), word);
        }
    }

    #[test]
    fn any_part_of_a_stream_is_the_same_bytes() {
        let whole = bytes(ONE, 0, 100);
        for (at, len) in [(0, 1), (3, 2), (3, 5), (3, 40), (8, 8), (9, 91), (99, 1), (64, 0)] {
            assert_eq!(bytes(ONE, at, len), whole[at as usize..][..len], "{at}, {len}");
        }
    }

    #[test]
    fn what_is_right_is_not_wrong() {
        assert_eq!(ONE.check(5, &bytes(ONE, 5, 50), &mut [0; 50]), None);
    }

    #[test]
    fn bytes_of_another_flow_say_whose_they_are() {
        let other = Content { flow: 3, down: false, ..ONE };
        let mut came = bytes(ONE, 1000, 64);
        came[10..40].copy_from_slice(&bytes(other, 4321, 30));
        let wrong = ONE.check(1000, &came, &mut [0; 64]).unwrap();
        assert_eq!((wrong.at, wrong.origin), (1010, Some((other, 4321))));
        assert!(wrong.bytes > 25 && wrong.bytes <= 30, "{}", wrong.bytes);
    }

    #[test]
    fn bytes_of_the_same_flow_at_another_place_are_wrong() {
        let wrong = ONE.check(1000, &bytes(ONE, 2000, 64), &mut [0; 64]).unwrap();
        assert_eq!((wrong.at, wrong.origin), (1000, Some((ONE, 2000))));
    }

    #[test]
    fn bytes_of_nobody_are_shown() {
        let mut came = bytes(ONE, 0, 64);
        came[20..50].fill(0xdb);
        let wrong = ONE.check(0, &came, &mut [0; 64]).unwrap();
        assert_eq!((wrong.at, wrong.origin.is_none(), wrong.first), (20, true, [0xdb; 16]));
    }
}
