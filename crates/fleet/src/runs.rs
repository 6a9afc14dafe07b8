//! Numbers that are taken, as runs of neighbours: the next free one is found without a walk along
//! all of them.

use std::collections::BTreeMap;

/// Runs that do not touch, by their first number, with their last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(BTreeMap<u128, u128>);

impl Runs {
    /// This number is taken.
    pub fn insert(&mut self, n: u128) {
        let before = self.before(n);
        if before.is_some_and(|(_, last)| last >= n) {
            return;
        }
        let first = before.filter(|(_, last)| *last + 1 == n).map_or(n, |(first, _)| first);
        let last = n.checked_add(1).and_then(|next| self.0.remove(&next)).unwrap_or(n);
        self.0.insert(first, last);
    }

    /// This number is free again.
    pub fn remove(&mut self, n: u128) {
        let Some((first, last)) = self.before(n).filter(|(_, last)| *last >= n) else { return };
        if first == n {
            self.0.remove(&first);
        } else {
            self.0.insert(first, n - 1);
        }
        if n < last {
            self.0.insert(n + 1, last);
        }
    }

    /// Whether this number is taken.
    pub fn contains(&self, n: u128) -> bool {
        self.before(n).is_some_and(|(_, last)| last >= n)
    }

    /// The first free number from `n` on.
    pub fn next_free(&self, n: u128) -> Option<u128> {
        match self.before(n) {
            Some((_, last)) if last >= n => last.checked_add(1),
            _ => Some(n),
        }
    }

    /// The run that begins at `n`, or last before it.
    fn before(&self, n: u128) -> Option<(u128, u128)> {
        self.0.range(..=n).next_back().map(|(first, last)| (*first, *last))
    }
}

impl FromIterator<u128> for Runs {
    fn from_iter<I: IntoIterator<Item = u128>>(all: I) -> Runs {
        let mut runs = Runs::default();
        all.into_iter().for_each(|n| runs.insert(n));
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeSet;

    #[test]
    fn runs_say_what_a_plain_set_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        for base in [0, u128::MAX - 19] {
            let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
            for _ in 0..2000 {
                let n = base + rng.random_range(0..20);
                if rng.random_bool(0.6) {
                    runs.insert(n);
                    set.insert(n);
                } else {
                    runs.remove(n);
                    set.remove(&n);
                }
                for n in (0..20).map(|n| base + n) {
                    assert_eq!(runs.contains(n), set.contains(&n));
                    let free = (0..=20).filter_map(|more| n.checked_add(more)).find(|n| !set.contains(n));
                    assert_eq!(runs.next_free(n), free, "{runs:?} from {n}");
                }
                let touch =
                    runs.0.iter().filter(|(_, last)| last.checked_add(1).is_some_and(|n| set.contains(&n)));
                assert_eq!(touch.count(), 0, "{runs:?}");
            }
        }
    }

    #[test]
    fn neighbours_are_one_run_whatever_their_order() {
        let mut all: Vec<u128> = (2..10_002).collect();
        all.shuffle(&mut ChaCha8Rng::seed_from_u64(2026));
        let runs: Runs = all.into_iter().collect();
        assert_eq!((runs.0.len(), runs.next_free(2), runs.next_free(1)), (1, Some(10_002), Some(1)));
    }
}
