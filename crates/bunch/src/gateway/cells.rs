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
    /// Those of the air that each has claimed, the one that it named last at the end.
    claimed: BTreeMap<u64, Vec<Mac>>,
}

impl Cells {
    /// The cell that stands for this contributor's home, which nobody else can have.
    pub(super) fn give(&mut self, cell: Mac, who: u64) {
        let before = self.all.insert(cell, who);
        let claimed = before.and_then(|before| self.claimed.get_mut(&before));
        claimed.into_iter().for_each(|cells| cells.retain(|c| *c != cell));
    }

    /// A contributor is none any more: its cells may be anybody's.
    pub(super) fn give_back(&mut self, who: u64) {
        self.all.retain(|_, owner| *owner != who);
        self.claimed.remove(&who);
    }

    /// Whether a cell of the air is this contributor's. Nothing proves it: whoever is first has it
    /// until he has named eight others, and anybody else is counted.
    pub(super) fn claim(&mut self, cell: Mac, who: u64) -> bool {
        if self.all.get(&cell).is_some_and(|owner| *owner != who) {
            return false;
        }
        let is_known = self.all.insert(cell, who).is_some();
        let cells = self.claimed.entry(who).or_default();
        match cells.iter().position(|c| *c == cell) {
            Some(i) => cells[i..].rotate_left(1),
            None if is_known => {}
            None => cells.push(cell),
        }
        // Radios change, and frames can be made up: what was named longest ago makes room.
        if cells.len() > MOST {
            self.all.remove(&cells.remove(0));
        }
        true
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
        for n in 10..100 {
            assert!(cells.claim([n; 6], 1), "the newest");
            assert!(cells.claim([10; 6], 1), "the one in use");
        }
        let of_another = (10..100).filter(|n| cells.claim([*n; 6], 3)).count();
        assert_eq!(of_another, 90 - MOST, "the others were given back");
        assert!(!cells.claim([10; 6], 3) && !cells.claim([99; 6], 3) && !cells.claim([0; 6], 3));
        cells.give_back(1);
        assert!(cells.claim([99; 6], 3) && cells.claim([0; 6], 3), "whoever had them is revoked");
        assert!(!cells.claim([9; 6], 3), "another's stays");
        assert_eq!(cells.claimed.get(&1), None);
    }
}
