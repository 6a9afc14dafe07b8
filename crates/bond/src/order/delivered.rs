//! Which of a flow's newest numbers were delivered.

/// Numbers that are remembered.
pub(super) const REMEMBERED: u32 = 1024;
const WORD: u32 = u64::BITS;

/// A bit for each of [`REMEMBERED`] numbers in a row, as a ring: 2^24 is a multiple of its length.
#[derive(Debug)]
pub(super) struct Delivered([u64; (REMEMBERED / WORD) as usize]);

impl Delivered {
    /// None was delivered.
    pub(super) const NONE: Delivered = Delivered([0; (REMEMBERED / WORD) as usize]);
    /// Each was delivered, or counts as if it were.
    pub(super) const ALL: Delivered = Delivered([u64::MAX; (REMEMBERED / WORD) as usize]);

    /// Whether this number was delivered; the caller knows that it is among those remembered.
    pub(super) fn has(&self, seq: u32) -> bool {
        let (word, bit) = place(seq);
        self.0[word] & 1 << bit != 0
    }

    /// Notes for `count` numbers from `first` on whether they were delivered: word by word, at most [`REMEMBERED`] of them.
    pub(super) fn fill(&mut self, first: u32, count: u32, delivered: bool) {
        let (mut at, mut left) = (first, count.min(REMEMBERED));
        while left > 0 {
            let (word, bit) = place(at);
            let run = left.min(WORD - bit);
            let mask = (u64::MAX >> (WORD - run)) << bit;
            match delivered {
                true => self.0[word] |= mask,
                false => self.0[word] &= !mask,
            }
            (at, left) = (at.wrapping_add(run), left - run);
        }
    }
}

fn place(seq: u32) -> (usize, u32) {
    let i = seq % REMEMBERED;
    ((i / WORD) as usize, i % WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn filling_by_words_is_filling_one_by_one(
            runs in prop::collection::vec((any::<u32>(), 0u32..3000, any::<bool>()), 1..20))
        {
            let (mut words, mut ones) = (Delivered::NONE, vec![false; REMEMBERED as usize]);
            for (first, count, delivered) in runs {
                words.fill(first, count, delivered);
                (0..count).for_each(|k| ones[(first.wrapping_add(k) % REMEMBERED) as usize] = delivered);
            }
            (0..REMEMBERED).for_each(|seq| assert_eq!(words.has(seq), ones[seq as usize]));
        }
    }
}
