//! A set of stream offsets, as few ordered ranges.

use core::ops::Range;

/// Disjoint ranges in ascending order; neighbours that touch are one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Adds `range`. False if that would make more than `limit` ranges; then nothing is added.
    pub fn insert(&mut self, range: Range<u64>, limit: usize) -> bool {
        if range.is_empty() {
            return true;
        }
        let first = self.0.partition_point(|r| r.end < range.start);
        let past = self.0.partition_point(|r| r.start <= range.end);
        if first == past && self.0.len() >= limit {
            return false;
        }
        let touched = &self.0[first..past];
        let start = touched.first().map_or(range.start, |r| r.start.min(range.start));
        let end = touched.last().map_or(range.end, |r| r.end.max(range.end));
        self.0.splice(first..past, core::iter::once(start..end));
        true
    }

    /// Forgets all offsets below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        self.0.retain_mut(|r| {
            r.start = r.start.max(offset);
            !r.is_empty()
        });
    }

    /// The end of the range that has `offset`; none if no range has it.
    pub fn end_from(&self, offset: u64) -> Option<u64> {
        let i = self.0.partition_point(|r| r.end <= offset);
        self.0.get(i).filter(|r| r.start <= offset).map(|r| r.end)
    }

    /// What of `range` is here, in ascending order.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self.0.partition_point(|r| r.end <= range.start);
        let some = self.0[first..].iter().map(move |r| r.start.max(range.start)..r.end.min(range.end));
        some.take_while(|r| !r.is_empty())
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Range<u64>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set(ops in proptest::collection::vec((0u64..40, 0u64..8), 0..30), below in 0u64..40) {
            let (mut set, mut plain) = (Ranges::default(), BTreeSet::new());
            for (start, len) in ops {
                prop_assert!(set.insert(start..start + len, 100));
                plain.extend(start..start + len);
            }
            set.remove_below(below);
            plain.retain(|o| *o >= below);
            let flat: Vec<u64> = set.iter().cloned().flatten().collect();
            prop_assert_eq!(flat, plain.iter().copied().collect::<Vec<_>>());
            for (a, b) in [(0, 60), (7, 7), (10, 30)] {
                let some: Vec<u64> = set.within(a..b).flatten().collect();
                prop_assert_eq!(some, plain.range(a..b).copied().collect::<Vec<_>>());
            }
            for o in 0..60 {
                let end = plain.contains(&o).then(|| (o..).find(|e| !plain.contains(e)).unwrap());
                prop_assert_eq!(set.end_from(o), end);
            }
        }
    }

    #[test]
    fn the_limit_holds() {
        let mut set = Ranges::default();
        assert!(set.insert(0..1, 2) && set.insert(4..5, 2));
        assert!(!set.insert(8..9, 2), "a third range");
        assert!(set.insert(5..9, 2), "one that joins takes no room");
        assert_eq!(set.iter().cloned().collect::<Vec<_>>(), [0..1, 4..9]);
    }
}
