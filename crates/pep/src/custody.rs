//! Who holds which bytes, and up to where an acknowledgement may speak for them.

use crate::ranges::Ranges;
use crate::{Holder, MAX_HOLDERS, MAX_RANGES};
use core::ops::Range;

/// What live holders reported, in the order of their first reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Custody {
    holders: Vec<(Holder, Ranges)>,
    gone: Vec<Holder>,
}

impl Custody {
    /// `holder` has `range`. False if it is known to be gone, or a bound is reached: the report
    /// then counts for nothing.
    pub(crate) fn add(&mut self, range: Range<u64>, holder: Holder) -> bool {
        if self.gone.contains(&holder) {
            return false;
        }
        if let Some((_, ranges)) = self.holders.iter_mut().find(|(h, _)| *h == holder) {
            return ranges.insert(range, MAX_RANGES);
        }
        if self.holders.len() + self.gone.len() >= MAX_HOLDERS {
            return false;
        }
        let mut ranges = Ranges::default();
        ranges.insert(range, MAX_RANGES);
        self.holders.push((holder, ranges));
        true
    }

    /// All that `holder` had is lost. A late report of it, still under way, is not believed.
    pub(crate) fn remove(&mut self, holder: Holder) {
        self.holders.retain(|(h, _)| *h != holder);
        if !self.gone.contains(&holder) && self.gone.len() < MAX_HOLDERS {
            self.gone.push(holder);
        }
    }

    /// `holder` is there anew: its reports count again.
    pub(crate) fn restore(&mut self, holder: Holder) {
        self.gone.retain(|h| *h != holder);
    }

    pub(crate) fn remove_below(&mut self, offset: u64) {
        self.holders.iter_mut().for_each(|(_, ranges)| ranges.remove_below(offset));
    }

    /// No holder has anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.starts().next().is_none()
    }

    /// Where ranges of live holders start, in no order.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        self.holders.iter().flat_map(|(_, ranges)| ranges.iter()).map(|r| r.start)
    }

    /// The first live holder of `offset` but `except`, and up to where it holds; a holder of
    /// `except` alone if no other.
    pub(crate) fn holder_of(&self, offset: u64, except: Option<Holder>) -> Option<(Holder, u64)> {
        let having = || self.holders.iter().filter_map(|(h, r)| r.end_from(offset).map(|end| (*h, end)));
        having().find(|(h, _)| Some(*h) != except).or_else(|| having().next())
    }

    /// Up to where every byte from `from` on is safe: in `copy`, with the home access point, or
    /// with `enough` live holders.
    pub(crate) fn safe_until(&self, from: u64, copy: &Ranges, enough: usize) -> u64 {
        let mut at = from;
        loop {
            #[cfg(test)]
            tests::STEPS.set(tests::STEPS.get() + 1);
            let mut ends: Vec<u64> =
                self.holders.iter().filter_map(|(_, ranges)| ranges.end_from(at)).collect();
            ends.sort_unstable_by(|a, b| b.cmp(a));
            let home = self.holders.iter().find(|(h, _)| *h == Holder::HOME);
            let alone = [copy.end_from(at), home.and_then(|(_, ranges)| ranges.end_from(at))];
            let together = ends.get(enough.saturating_sub(1)).copied();
            match alone.into_iter().chain([together]).flatten().max() {
                Some(end) if end > at => at = end,
                _ => return at,
            }
        }
    }

    /// Ranges above `from` that are safe, for SACK blocks: at most `limit`.
    pub(crate) fn safe_above(
        &self,
        from: u64,
        copy: &Ranges,
        enough: usize,
        limit: usize,
    ) -> Vec<Range<u64>> {
        let mut starts: Vec<u64> = self.starts().collect();
        starts.extend(copy.iter().map(|r| r.start));
        starts.sort_unstable();
        let mut found: Vec<Range<u64>> = Vec::new();
        let mut at = from;
        for start in starts.into_iter().filter(|s| *s > from) {
            // What lies within the one before was walked with it: each is walked once.
            if start < at || found.len() >= limit {
                continue;
            }
            let end = self.safe_until(start, copy, enough);
            if end > start {
                found.push(start..end);
                at = end;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    std::thread_local! {
        /// Of walks over what is safe.
        pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    #[test]
    fn home_alone_or_enough_others() {
        let (mut custody, none) = (Custody::default(), Ranges::default());
        assert!(custody.add(1..30, Holder(1)));
        assert_eq!(custody.safe_until(1, &none, 2), 1, "one neighbour is not two");
        assert_eq!(custody.safe_until(1, &none, 1), 30);
        assert!(custody.add(1..10, Holder(2)));
        assert!(custody.add(10..20, Holder::HOME));
        assert_eq!(custody.safe_until(1, &none, 2), 20, "two neighbours, then the home access point");
        custody.remove(Holder(2));
        assert_eq!(custody.safe_until(1, &none, 2), 1);
        assert!(!custody.add(1..10, Holder(2)), "a late report of the dead");
        custody.restore(Holder(2));
        assert!(custody.add(1..10, Holder(2)), "it is there anew");
    }

    #[test]
    fn the_copy_is_safe() {
        let (mut custody, mut copy) = (Custody::default(), Ranges::default());
        copy.insert(1..5, 9);
        copy.insert(8..9, 9);
        assert!(custody.add(5..6, Holder(3)));
        assert_eq!(custody.safe_until(1, &copy, 2), 5);
        let selected = core::slice::from_ref(&(8..9));
        assert_eq!(custody.safe_above(5, &copy, 2, 3), selected, "what one neighbour has is not selected");
        assert_eq!(custody.safe_above(5, &copy, 1, 3), selected);
    }

    /// Bytes that are here and with a holder in turn: a walk from each of them to the end would be 33
    /// million steps.
    #[test]
    fn a_patchwork_costs_one_walk() {
        let (mut custody, mut copy) = (Custody::default(), Ranges::default());
        for i in 1..MAX_RANGES as u64 {
            assert!(copy.insert(2 * i..2 * i + 1, MAX_RANGES));
            assert!(custody.add(2 * i + 1..2 * i + 2, Holder::HOME));
        }
        let whole = 2..2 * MAX_RANGES as u64;
        STEPS.set(0);
        let found = custody.safe_above(1, &copy, 2, MAX_RANGES);
        assert_eq!(found, core::slice::from_ref(&whole));
        assert!(STEPS.get() <= 2 * MAX_RANGES as u64, "{} steps", STEPS.get());
    }

    #[test]
    fn bounds_hold() {
        let mut custody = Custody::default();
        for i in 0..MAX_HOLDERS as u8 {
            assert!(custody.add(1..2, Holder(i)));
        }
        assert!(!custody.add(1..2, Holder(200)));
        for i in 1..MAX_RANGES as u64 {
            assert!(custody.add(3 * i..3 * i + 1, Holder(1)));
        }
        assert!(!custody.add(90_000..90_001, Holder(1)));
    }
}
