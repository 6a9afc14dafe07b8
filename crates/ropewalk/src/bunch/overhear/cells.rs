//! Cells whose stations are heard: by them the gateway knows which uploads to tell us of.

use crate::bunch::words::CELLS;
use ropewalk_bunch::{Mac, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The gateway is told at most so often.
const EVERY: Duration = Duration::from_secs(1);
/// A cell in which nobody was heard for so long is out of reach.
const SILENT: Duration = Duration::from_secs(60);
/// So often it is looked for those.
const LOOK: Duration = Duration::from_secs(10);

/// Those in reach.
#[derive(Debug)]
pub(super) struct Cells {
    heard: BTreeMap<Mac, Time>,
    told: BTreeSet<Mac>,
    /// The gateway has to be told, whatever it is.
    say: bool,
    at: Time,
}

impl Default for Cells {
    fn default() -> Cells {
        Cells { heard: BTreeMap::new(), told: BTreeSet::new(), say: true, at: Time::ZERO }
    }
}

impl Cells {
    /// Somebody was heard in a cell. Where there are too many, those that were there first stay.
    pub(super) fn hear(&mut self, bssid: Mac, now: Time) {
        if let Some(at) = self.heard.get_mut(&bssid) {
            *at = now;
        } else if self.heard.len() < CELLS {
            self.heard.insert(bssid, now);
            self.say = true;
        }
    }

    /// What was told is forgotten at the other end.
    pub(super) fn say_again(&mut self) {
        (self.say, self.at) = (true, Time::ZERO);
    }

    pub(super) fn count(&self) -> usize {
        self.heard.len()
    }

    pub(super) fn due(&self) -> Option<Time> {
        match (self.say, self.heard.is_empty()) {
            (true, _) => Some(self.at),
            (false, false) => Some(self.at + LOOK),
            (false, true) => None,
        }
    }

    /// All of them, if the gateway is to be told now.
    pub(super) fn news(&mut self, now: Time) -> Option<Vec<Mac>> {
        if self.due().is_none_or(|at| now < at) {
            return None;
        }
        self.heard.retain(|_, at| now < *at + SILENT);
        let all: BTreeSet<Mac> = self.heard.keys().copied().collect();
        let is_news = std::mem::take(&mut self.say) || all != self.told;
        // With `say` the wait is the rest of EVERY, without it until the next look.
        self.at = now + if is_news { EVERY } else { Duration::ZERO };
        self.told = all;
        is_news.then(|| self.told.iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_is_told_of_changes_and_not_too_often() {
        let (mut cells, t) = (Cells::default(), Time::from_millis);
        assert_eq!(cells.news(t(0)), Some(vec![]), "that we overhear at all");
        assert_eq!((cells.news(t(5000)), cells.due()), (None, None));
        cells.hear([1; 6], t(5000));
        assert_eq!(cells.news(t(5000)), Some(vec![[1; 6]]));
        cells.hear([2; 6], t(5100));
        assert_eq!((cells.news(t(5100)), cells.due()), (None, Some(t(6000))));
        assert_eq!(cells.news(t(6000)), Some(vec![[1; 6], [2; 6]]));
        cells.hear([2; 6], t(60_000));
        assert_eq!(cells.news(t(66_000)), Some(vec![[2; 6]]), "nobody speaks in the first any more");
        assert_eq!(cells.news(t(90_000)), None, "nothing new");
        cells.say_again();
        assert_eq!(cells.news(t(90_001)), Some(vec![[2; 6]]), "a new tunnel");
    }

    #[test]
    fn who_makes_cells_up_drives_none_out() {
        let mut cells = Cells::default();
        cells.hear([1; 6], Time::ZERO);
        (0..200u8).for_each(|n| cells.hear([2, 0, 0, 0, 0, n], Time::ZERO));
        assert_eq!(cells.count(), CELLS);
        assert!(cells.news(Time::ZERO).unwrap().contains(&[1; 6]));
    }
}
