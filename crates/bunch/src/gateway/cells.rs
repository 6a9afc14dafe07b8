//! Which contributor may register flows of which cell as their home.
//!
//! Neighbours know each other's flows by name. Without a rule one of them could be there first, and
//! the home's session would be his.

use crate::Mac;
use std::collections::BTreeMap;

/// Cells of the air that one contributor may have: an access point has a few radios.
const MOST: usize = 8;

/// Cells, and whose they are. Each REGISTER asks, so nothing is looked through.
#[derive(Debug, Default)]
pub(super) struct Cells {
    all: BTreeMap<Mac, u64>,
    /// How many each has.
    counts: BTreeMap<u64, usize>,
}

impl Cells {
    /// The cell that stands for this contributor's home, which nobody else can have.
    pub(super) fn give(&mut self, cell: Mac, who: u64) {
        *self.counts.entry(who).or_default() += 1;
        if let Some(before) = self.all.insert(cell, who) {
            self.counts.entry(before).and_modify(|count| *count -= 1);
        }
    }

    /// Whether a cell of the air is this contributor's. Nothing proves it: whoever is first has it
    /// for as long as the gateway runs, and anybody else is counted.
    pub(super) fn claim(&mut self, cell: Mac, who: u64) -> bool {
        if let Some(owner) = self.all.get(&cell) {
            return *owner == who;
        }
        let has_room = self.counts.get(&who).is_none_or(|count| *count <= MOST);
        if has_room {
            self.give(cell, who);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_of_whoever_claims_it_first_and_nobody_has_many() {
        let mut cells = Cells::default();
        cells.give([0; 6], 1);
        assert!(cells.claim([0; 6], 1) && !cells.claim([0; 6], 2), "what stands for a home");
        assert!(cells.claim([9; 6], 2) && cells.claim([9; 6], 2) && !cells.claim([9; 6], 1));
        // Once more for each of its tunnels.
        (0..100).for_each(|_| cells.give([0; 6], 1));
        assert_eq!((10..100).filter(|n| cells.claim([*n; 6], 1)).count(), MOST);
    }
}
