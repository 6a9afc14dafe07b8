//! Which packet numbers of one path were seen: a sliding window over 64-bit numbers, and the way from the 32 bits
//! on the wire back to 64.
//!
//! The window is a ring of 64-bit words (the idea of RFC 6479): moving it forward clears whole words and shifts
//! nothing. The newest word is part full, so a ring of `n` bits answers for the newest `n - 63` numbers or more.

/// Bits of a window unless another size is asked for: 1 KiB. At 10 Gb/s of 1440-byte packets 8192 numbers are 9 ms,
/// several times the reordering inside one path.
pub const DEFAULT_WINDOW: usize = 8192;

const WORD: u64 = u64::BITS as u64;

/// Why a packet number is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// It was accepted before.
    #[error("this packet was received before; the copy is dropped")]
    Duplicate,
    /// It is too old to say whether it was accepted before.
    #[error("this packet is older than the replay window; dropped")]
    TooOld,
}

/// The window of one path under one key. Its memory is taken at construction.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    words: Box<[u64]>,
    highest: Option<u64>,
}

impl Default for ReplayWindow {
    fn default() -> ReplayWindow {
        ReplayWindow::new(DEFAULT_WINDOW)
    }
}

impl ReplayWindow {
    /// A window of `bits` bits, rounded up to a power of two and at least 128.
    pub fn new(bits: usize) -> ReplayWindow {
        // A power of two makes the place of a word a mask instead of a division.
        let words = bits.div_ceil(WORD as usize).next_power_of_two().max(2);
        ReplayWindow { words: vec![0; words].into_boxed_slice(), highest: None }
    }

    /// The highest number committed.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// The packet number that ends in `low` and is closest to the next one expected (RFC 9000 appendix A.3).
    #[inline]
    pub fn expand(&self, low: u32) -> u64 {
        nearest(self.highest.map_or(0, |highest| highest.saturating_add(1)), low)
    }

    /// Whether `pn` may be new. Ask before opening a packet: this is cheap, opening is not.
    ///
    /// # Errors
    /// [`ReplayError`] if it is not.
    #[inline]
    pub fn check(&self, pn: u64) -> Result<(), ReplayError> {
        let Some(highest) = self.highest else { return Ok(()) };
        if pn > highest {
            return Ok(());
        }
        if highest / WORD - pn / WORD >= self.words.len() as u64 {
            return Err(ReplayError::TooOld);
        }
        if self.words[self.place(pn / WORD)] & bit(pn) != 0 { Err(ReplayError::Duplicate) } else { Ok(()) }
    }

    /// Marks `pn` as seen. Only for a packet that opened: whoever forges one must not move the window.
    ///
    /// # Errors
    /// As [`ReplayWindow::check`]; nothing changes then.
    #[inline]
    pub fn commit(&mut self, pn: u64) -> Result<(), ReplayError> {
        self.check(pn)?;
        if self.highest.is_none_or(|highest| pn > highest) {
            self.advance(pn);
        }
        let place = self.place(pn / WORD);
        self.words[place] |= bit(pn);
        Ok(())
    }

    /// Moves the front to `pn`, clearing the words it enters.
    fn advance(&mut self, pn: u64) {
        // An empty window is all zeros already.
        if let Some(highest) = self.highest {
            let entered = (pn / WORD - highest / WORD).min(self.words.len() as u64);
            for back in 0..entered {
                let place = self.place(pn / WORD - back);
                self.words[place] = 0;
            }
        }
        self.highest = Some(pn);
    }

    #[inline]
    fn place(&self, word: u64) -> usize {
        word as usize & (self.words.len() - 1)
    }
}

#[inline]
const fn bit(pn: u64) -> u64 {
    1 << (pn % WORD)
}

/// The number ending in `low` that is closest to `expected`.
#[inline]
fn nearest(expected: u64, low: u32) -> u64 {
    const SPAN: u64 = 1 << 32;
    let same = expected & !(SPAN - 1) | u64::from(low);
    let ahead = same.wrapping_sub(expected) as i64;
    if ahead <= -(SPAN as i64 / 2) {
        same.checked_add(SPAN).unwrap_or(same)
    } else if ahead > SPAN as i64 / 2 {
        same.checked_sub(SPAN).unwrap_or(same)
    } else {
        same
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepts_once() {
        let mut window = ReplayWindow::default();
        assert_eq!(window.highest(), None);
        for pn in [0, 5, 3, 100_000, 99_999] {
            assert_eq!(window.check(pn), Ok(()));
            assert_eq!(window.commit(pn), Ok(()));
            assert_eq!(window.commit(pn), Err(ReplayError::Duplicate));
        }
        assert_eq!(window.commit(3), Err(ReplayError::TooOld));
        assert_eq!(window.highest(), Some(100_000));
    }

    #[test]
    fn answers_for_all_but_63_of_its_bits() {
        for front in 10_000..10_064 {
            let mut window = ReplayWindow::new(8192);
            window.commit(front).unwrap();
            assert_eq!(window.check(front - (8192 - 64)), Ok(()));
            assert_eq!(window.check(front - 8192), Err(ReplayError::TooOld));
        }
    }

    #[test]
    fn ends_of_the_number_space() {
        let mut window = ReplayWindow::new(0);
        assert_eq!(window.expand(0), 0);
        assert_eq!(window.expand(u32::MAX), u64::from(u32::MAX));
        window.commit(u64::MAX).unwrap();
        assert_eq!(window.check(u64::MAX), Err(ReplayError::Duplicate));
        assert_eq!(window.check(0), Err(ReplayError::TooOld));
        assert_eq!(window.expand(u32::MAX), u64::MAX);
        assert_eq!(window.expand(0), u64::MAX - u64::from(u32::MAX));
    }

    #[test]
    fn example_of_rfc_9000() {
        // Appendix A.3 has 16 bits on the wire (0xa82f30ea, 0x9b32 -> 0xa82f9b32); ours are 32.
        assert_eq!(nearest(0x7_a82f_30eb, 0x9b32_0000), 0x7_9b32_0000);
        assert_eq!(nearest(0x7_ffff_fff0, 0x0000_0003), 0x8_0000_0003);
        assert_eq!(nearest(0x8_0000_0003, 0xffff_fff0), 0x7_ffff_fff0);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(steps in prop::collection::vec((any::<bool>(), 0u64..400), 1..400)) {
            let mut window = ReplayWindow::new(128);
            let mut seen = BTreeSet::new();
            let mut front = 1000u64;
            for (forward, by) in steps {
                let pn = if forward { front + by / 4 } else { front - by };
                front = front.max(pn);
                let highest = seen.last().copied().unwrap_or(pn).max(pn);
                let expected = if seen.contains(&pn) && highest / 64 - pn / 64 < 2 {
                    Err(ReplayError::Duplicate)
                } else if highest / 64 - pn / 64 >= 2 {
                    Err(ReplayError::TooOld)
                } else {
                    Ok(())
                };
                prop_assert_eq!(window.check(pn), expected);
                prop_assert_eq!(window.commit(pn), expected);
                if expected.is_ok() {
                    seen.insert(pn);
                }
            }
        }

        #[test]
        fn expansion_finds_the_number_within_half_the_span(front: u64, back in 0u64..1 << 31, ahead in 0u64..1 << 31) {
            let front = front >> 1;
            let mut window = ReplayWindow::default();
            window.commit(front).unwrap();
            for pn in [front + 1 + ahead, (front + 1).saturating_sub(back)] {
                prop_assert_eq!(window.expand(pn as u32), pn);
            }
        }
    }
}
