//! A set of packet numbers that are close together, as bits.

use std::collections::VecDeque;

const BITS: u64 = u64::BITS as u64;

/// Which of the numbers from the oldest to the newest pushed are in the set.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The oldest number, and the one after the newest.
    base: u64,
    next: u64,
    /// Bit `n % 64` of the word of `n`; the first word is that of `base`.
    words: VecDeque<u64>,
    /// Words that were looked at, for a test of the work.
    #[cfg(test)]
    pub(super) looked_at: std::cell::Cell<usize>,
}

impl Numbers {
    /// An empty set whose first number this will be.
    pub(super) fn begin_at(&mut self, number: u64) {
        self.words.clear();
        (self.base, self.next) = (number, number);
    }

    /// The next number, in the set or not.
    pub(super) fn push(&mut self, is_in: bool) {
        if self.words.is_empty() || self.next.is_multiple_of(BITS) {
            self.words.push_back(0);
        }
        self.next += 1;
        if is_in {
            let (word, bit) = self.place(self.next - 1);
            self.words[word] |= bit;
        }
    }

    /// Forgets the oldest number.
    pub(super) fn pop(&mut self) {
        self.remove(self.base);
        self.base += 1;
        if self.base.is_multiple_of(BITS) || self.base == self.next {
            self.words.pop_front();
        }
    }

    pub(super) fn contains(&self, n: u64) -> bool {
        let (word, bit) = self.place(n);
        (self.base..self.next).contains(&n) && self.words[word] & bit != 0
    }

    /// Takes a number out; whether it was in.
    pub(super) fn remove(&mut self, n: u64) -> bool {
        let was_in = self.contains(n);
        if was_in {
            let (word, bit) = self.place(n);
            self.words[word] &= !bit;
        }
        was_in
    }

    /// The lowest number.
    pub(super) fn first(&self) -> Option<u64> {
        self.first_in(self.base, self.next)
    }

    /// The lowest number of `from..end`.
    pub(super) fn first_in(&self, from: u64, end: u64) -> Option<u64> {
        let (from, end) = (from.max(self.base), end.min(self.next));
        let mut n = from;
        while n < end {
            let rest = self.word_of(n) >> (n % BITS);
            if rest != 0 {
                return Some(n + u64::from(rest.trailing_zeros())).filter(|n| *n < end);
            }
            n = (n / BITS + 1) * BITS;
        }
        None
    }

    /// The highest number of `from..end`.
    pub(super) fn last_in(&self, from: u64, end: u64) -> Option<u64> {
        let (from, mut end) = (from.max(self.base), end.min(self.next));
        while end > from {
            let last = end - 1;
            let rest = self.word_of(last) << (BITS - 1 - last % BITS);
            if rest != 0 {
                return Some(last - u64::from(rest.leading_zeros())).filter(|n| *n >= from);
            }
            end = last / BITS * BITS;
        }
        None
    }

    fn word_of(&self, n: u64) -> u64 {
        #[cfg(test)]
        self.looked_at.set(self.looked_at.get() + 1);
        self.words[self.place(n).0]
    }

    fn place(&self, n: u64) -> (usize, u64) {
        ((n / BITS).wrapping_sub(self.base / BITS) as usize, 1 << (n % BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug)]
    enum Step {
        Push(bool),
        Pop,
        Remove(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => any::<bool>().prop_map(Step::Push),
            1 => Just(Step::Pop),
            1 => (0u64..300).prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn answers_as_a_tree_does(first in 0u64..200, steps in prop::collection::vec(step(), 0..400)) {
            let (mut bits, mut tree) = (Numbers::default(), BTreeSet::new());
            bits.begin_at(first);
            let (mut base, mut next) = (first, first);
            for s in steps {
                match s {
                    Step::Push(is_in) => {
                        bits.push(is_in);
                        if is_in {
                            tree.insert(next);
                        }
                        next += 1;
                    }
                    Step::Pop if base < next => {
                        bits.pop();
                        tree.remove(&base);
                        base += 1;
                    }
                    Step::Pop => {}
                    Step::Remove(k) => prop_assert_eq!(bits.remove(first + k), tree.remove(&(first + k))),
                }
                for (a, b) in [(0, next + 9), (base + 3, next), (base + 1, base + 70), (next, base)] {
                    let range = || tree.iter().copied().filter(|n| (a..b).contains(n));
                    prop_assert_eq!(bits.first_in(a, b), range().min());
                    prop_assert_eq!(bits.last_in(a, b), range().max());
                }
                prop_assert_eq!(bits.first(), tree.first().copied());
            }
        }
    }
}
