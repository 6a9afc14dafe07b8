//! Timestamps of segments that wait for their acknowledgement (RFC 7323 §4.3).
//!
//! An acknowledgement echoes the newest timestamp below it. So one that is no newer than that of an
//! earlier place is never asked for, and what is kept rises with the places.

use std::collections::BTreeMap;

/// Different ones that are kept; more are not echoed. At one a millisecond these are four seconds.
const MOST: usize = 4096;

/// The later of two timestamps (RFC 7323 §5.2).
pub(crate) fn newer(old: u32, new: u32) -> u32 {
    if new.wrapping_sub(old) as i32 > 0 { new } else { old }
}

/// Timestamps by the places where their segments start. The first for a place stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stamps(BTreeMap<u64, u32>);

impl Stamps {
    /// A segment at `start` has this timestamp.
    pub(crate) fn note(&mut self, start: u64, value: u32) {
        let before = self.0.range(..=start).next_back();
        if before.is_some_and(|(at, old)| *at == start || newer(*old, value) == *old) {
            return;
        }
        while let Some((at, _)) = self.0.range(start..).next().filter(|(_, t)| newer(value, **t) == value) {
            let at = *at;
            self.0.remove(&at);
        }
        if self.0.len() < MOST {
            self.0.insert(start, value);
        }
    }

    /// The newest of segments that start below `offset`.
    pub(crate) fn newest_below(&self, offset: u64) -> Option<u32> {
        self.0.range(..offset).next_back().map(|(_, value)| *value)
    }

    /// Those below `offset` were acknowledged.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        while self.0.first_key_value().is_some_and(|(at, _)| *at < offset) {
            self.0.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a list of all of them would answer, across the wrap of 32 bits.
        #[test]
        fn the_newest_below_is_the_newest(
            all in proptest::collection::btree_map(0u64..200, 0u32..50, 0..60),
            order in any::<u64>(),
            acked in 0u64..200,
        ) {
            let base = u32::MAX - 20;
            let mut noted: Vec<(u64, u32)> = all.into_iter().map(|(at, t)| (at, base.wrapping_add(t))).collect();
            noted.sort_by_key(|(at, _)| at.wrapping_mul(order | 1));
            let mut stamps = Stamps::default();
            noted.iter().for_each(|(at, t)| stamps.note(*at, *t));
            for below in acked..=200 {
                let list = noted.iter().filter(|(at, _)| *at < below).map(|(_, t)| *t).reduce(newer);
                prop_assert_eq!(stamps.newest_below(below), list);
            }
            stamps.remove_below(acked);
            prop_assert!(stamps.0.keys().all(|at| *at >= acked));
            prop_assert!(stamps.0.values().is_sorted_by(|a, b| newer(**a, **b) == **b && a != b));
        }
    }

    #[test]
    fn there_is_a_bound_and_equal_ones_take_no_room() {
        let mut stamps = Stamps::default();
        (0..100_000).for_each(|at| stamps.note(at, 7));
        assert_eq!(stamps.0.len(), 1);
        (0..100_000).for_each(|at| stamps.note(at, 8 + at as u32));
        assert_eq!(stamps.0.len(), MOST);
        assert_eq!(stamps.newest_below(u64::MAX), Some(7 + MOST as u32), "what has no room is not echoed");
    }

    #[test]
    fn a_repetition_changes_nothing() {
        let mut stamps = Stamps::default();
        stamps.note(10, 5);
        stamps.note(10, 9);
        assert_eq!(stamps.newest_below(11), Some(5));
        stamps.note(20, 4);
        assert_eq!(stamps.newest_below(21), Some(5), "an old one");
    }
}
