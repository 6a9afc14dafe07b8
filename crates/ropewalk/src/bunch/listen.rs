//! Which uploads a gateway tells access points to listen for: those of cells that they hear.

use super::words::{AUDIBLE, Address, Audible, CELLS};
use ropewalk_bunch::{Flow, Mac, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

/// What has changed is told at most so often: a bound of work.
const EVERY: Duration = Duration::from_millis(50);

/// An access point that overhears.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listener {
    cells: BTreeSet<Mac>,
    told: Vec<Audible>,
}

impl Listener {
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// These cells are in its reach, and no others.
    pub(super) fn hears(&mut self, cells: &[Address]) {
        self.cells = cells.iter().take(CELLS).map(|a| a.0).collect();
    }

    /// What it may listen for, if it was told something else before. Its own home's uploads it
    /// knows. Of too many each home has its first ones, so that none takes the place of all.
    pub(super) fn news(&mut self, uploads: &Uploads, own: Ipv4Addr) -> Option<Vec<Audible>> {
        let of_cells = self.cells.iter().filter_map(|cell| uploads.by_cell.get(cell)).flatten();
        let mut others: Vec<&Upload> = of_cells.filter(|u| u.home != own).collect();
        if others.len() > AUDIBLE {
            others.sort_by_key(|u| u.rank);
            others.truncate(AUDIBLE);
            others.sort_by_key(|u| u.flow);
        }
        let all: Vec<Audible> = others.into_iter().map(|u| Audible::from(u.flow)).collect();
        (self.told != all).then(|| {
            self.told.clone_from(&all);
            all
        })
    }
}

/// One that is helped.
#[derive(Clone, Copy, Debug)]
struct Upload {
    flow: Flow,
    home: Ipv4Addr,
    /// How many its home has before it.
    rank: usize,
}

/// Uploads that are helped, by their cells.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    by_cell: BTreeMap<Mac, Vec<Upload>>,
}

impl Uploads {
    pub(super) fn of(flows: impl Iterator<Item = (Flow, Ipv4Addr)>) -> Uploads {
        let (mut by_cell, mut of_home) = (BTreeMap::<Mac, Vec<Upload>>::new(), BTreeMap::new());
        for (flow, home) in flows {
            let count = of_home.entry(home).or_insert(0);
            by_cell.entry(flow.bssid).or_default().push(Upload { flow, home, rank: *count });
            *count += 1;
        }
        Uploads { by_cell }
    }
}

/// When access points are to be told.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// As the gateway counts changes of its flows.
    seen: u64,
    /// Somebody hears other cells than before.
    moved: bool,
    at: Time,
}

impl Due {
    pub(super) fn moved(&mut self) {
        self.moved = true;
    }

    /// When it is, with so many changes so far.
    pub(super) fn at(&self, changes: u64) -> Option<Time> {
        (self.moved || changes != self.seen).then_some(self.at)
    }

    /// Whether it is now; then not again for a while.
    pub(super) fn is_now(&mut self, changes: u64, now: Time) -> bool {
        if self.at(changes).is_none_or(|at| now < at) {
            return false;
        }
        *self = Due { seen: changes, moved: false, at: now + EVERY };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
    const OTHER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 3);

    fn flow(cell: u8, port: u16) -> Flow {
        Flow {
            bssid: [cell; 6],
            station: [8; 6],
            tid: 0,
            protocol: 6,
            source: std::net::SocketAddrV4::new(Ipv4Addr::new(192, 168, 1, 2), port),
            destination: "203.0.113.9:443".parse().unwrap(),
        }
    }

    #[test]
    fn an_access_point_is_told_of_what_it_can_hear_and_is_not_its_own() {
        let all = Uploads::of([(flow(2, 1), HOME), (flow(4, 2), OTHER), (flow(6, 3), HOME)].into_iter());
        let mut listener = Listener::default();
        assert_eq!(listener.news(&all, OTHER), None, "it hears nobody");
        listener.hears(&[Address([2; 6]), Address([4; 6])]);
        assert_eq!(listener.news(&all, OTHER), Some(vec![flow(2, 1).into()]));
        assert_eq!(listener.news(&all, OTHER), None, "told once");
        assert_eq!(listener.news(&Uploads::default(), OTHER), Some(vec![]), "it has ended");
        let many = Uploads::of((0..1000).map(|port| (flow(2, port), HOME)));
        assert_eq!(listener.news(&many, OTHER).unwrap().len(), AUDIBLE);
        // Somebody has many, before all others' in order.
        let greedy = (0..256).map(|port| (flow(2, port), HOME));
        let small = [(flow(4, 1), Ipv4Addr::new(10, 78, 0, 4)), (flow(4, 2), Ipv4Addr::new(10, 78, 0, 5))];
        let told = listener.news(&Uploads::of(greedy.chain(small)), OTHER).unwrap();
        assert_eq!(told.len(), AUDIBLE);
        assert!(small.iter().all(|(flow, _)| told.contains(&Audible::from(*flow))));
        let cells: Vec<Address> = (0..200).map(|n| Address([n; 6])).collect();
        listener.hears(&cells);
        assert_eq!(listener.cells(), CELLS);
    }

    #[test]
    fn changes_are_told_at_once_and_then_not_too_often() {
        let (mut due, t) = (Due::default(), Time::from_millis);
        assert_eq!(due.at(0), None);
        assert!(due.is_now(1, t(500)));
        assert!(!due.is_now(1, t(900)), "nothing has changed");
        due.moved();
        assert!(due.is_now(1, t(900)));
        assert_eq!(due.at(2), Some(t(900) + EVERY));
        assert!(!due.is_now(2, t(920)) && due.is_now(2, t(950)));
    }
}
