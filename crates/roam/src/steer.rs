//! What a receiver on several access points of one channel decides of a connection's subflows, one
//! by each: which share of their packets is marked ([`mark`](crate::mark)), and which rest
//! ([`priority`](crate::priority)).
//!
//! The simulator marks and sets priorities itself; in the lab a BPF program and the kernel's path
//! manager do. Both go by these decisions.

use crate::mark::{Law, Marker, RoundTrips};
use crate::priority::{Marks, Path, Priorities};
use core::time::Duration;

/// How often rates and priorities are worked out anew (paper 001, §5.1: by packet or by timer).
pub const EVERY: Duration = Duration::from_millis(100);

/// A subflow by an access point, as its receiver sees it.
#[derive(Clone, Copy, Debug)]
pub struct Subflow {
    /// Air of a packet by its access point; none: not measured yet.
    pub packet_time: Option<Duration>,
    /// Its access point is joined.
    pub is_joined: bool,
    /// Round trips.
    pub trips: RoundTrips,
    /// Packets with data that have come by it.
    pub packets: u64,
    /// Marks it, if there are marks.
    pub marker: Marker,
    /// It rests for its packet time.
    rests: bool,
    /// It rests since its access point fades.
    fades: bool,
    /// What the sender was told.
    backup: bool,
}

/// Decides for the subflows of one connection.
#[derive(Clone, Debug)]
pub struct Steer {
    subflows: Vec<Subflow>,
    law: Option<Law>,
    priorities: Option<Priorities>,
}

impl Steer {
    /// For a subflow by each access point, all of them joined.
    pub fn new(packet_times: &[Option<Duration>], marks: Option<Law>, priority: bool) -> Steer {
        let subflow = |time: &Option<Duration>| Subflow::new(*time, true, marks);
        Steer {
            subflows: packet_times.iter().map(subflow).collect(),
            law: marks,
            priorities: priority.then(Priorities::new),
        }
    }

    /// Whether packets are to be marked.
    pub fn has_marks(&self) -> bool {
        self.law.is_some()
    }

    /// A subflow, to tell what came by it.
    pub fn subflow(&mut self, index: usize) -> &mut Subflow {
        &mut self.subflows[index]
    }

    /// An access point was joined or left: nothing is known of its subflow.
    pub fn begin_anew(&mut self, index: usize, is_joined: bool) {
        self.subflows[index] = Subflow::new(self.subflows[index].packet_time, is_joined, self.law);
        if self.priorities.is_some() {
            self.priorities = Some(Priorities::new());
        }
    }

    /// An access point fades ([`fade`](crate::fade)), or no more: its subflow rests meanwhile, and
    /// priorities are of the others.
    pub fn set_fading(&mut self, index: usize, fades: bool) {
        let changes = core::mem::replace(&mut self.subflows[index].fades, fades) != fades;
        if changes && self.priorities.is_some() {
            self.priorities = Some(Priorities::new());
        }
    }

    /// Works rates and priorities out anew, to be called each [`EVERY`]. Gives the subflows that
    /// are to become backups, or none any more; they are named again until [`Steer::on_backup`].
    pub fn decide(&mut self, now: Duration) -> Vec<(usize, bool)> {
        let times = self.subflows.iter().filter(|s| s.is_joined).filter_map(|s| s.packet_time);
        if let Some(best) = times.min() {
            for subflow in &mut self.subflows {
                subflow.marker.update(subflow.packet_time_or(best), best, &subflow.trips);
            }
            self.prioritise(best, now);
        }
        let joined = self.subflows.iter().enumerate().filter(|(_, s)| s.is_joined);
        let wanted = joined.map(|(index, s)| (index, s.rests || s.fades, s.backup));
        wanted
            .filter(|(_, wanted, backup)| wanted != backup)
            .map(|(index, wanted, _)| (index, wanted))
            .collect()
    }

    /// Who rests for its packet time, among those that do not fade.
    fn prioritise(&mut self, best: Duration, now: Duration) {
        let Some(priorities) = &mut self.priorities else { return };
        let path = |s: &Subflow| Path {
            packet_time: s.packet_time_or(best),
            least_rtt: s.trips.least(),
            packets: s.packets,
            marks: Marks::None,
        };
        let mut carrying: Vec<&mut Subflow> =
            self.subflows.iter_mut().filter(|s| s.is_joined && !s.fades).collect();
        let paths: Vec<Path> = carrying.iter().map(|s| path(s)).collect();
        let rests = priorities.decide(&paths, now);
        carrying.iter_mut().zip(rests).for_each(|(subflow, rests)| subflow.rests = rests);
    }

    /// A subflow has become a backup, or is none any more.
    pub fn on_backup(&mut self, index: usize, backup: bool) {
        self.subflows[index].backup = backup;
    }
}

impl Subflow {
    fn new(packet_time: Option<Duration>, is_joined: bool, law: Option<Law>) -> Subflow {
        Subflow {
            packet_time,
            is_joined,
            trips: RoundTrips::default(),
            packets: 0,
            marker: Marker::new(law.unwrap_or_default()),
            rests: false,
            fades: false,
            backup: false,
        }
    }

    /// One that was not measured yet is left alone, as one that is as good as the best.
    fn packet_time_or(&self, best: Duration) -> Duration {
        self.packet_time.unwrap_or(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const HALF: Duration = Duration::from_micros(500);

    /// Packets of the first take 3 ms, those of the second 0.5; both have a queue of 300 ms over a
    /// path of 25.
    fn steer(marks: Option<Law>, priority: bool) -> Steer {
        let mut steer = Steer::new(&[Some(ms(3)), Some(HALF)], marks, priority);
        for index in 0..2 {
            let trips = &mut steer.subflow(index).trips;
            trips.on_sample(ms(25), ms(0));
            (0..60).for_each(|_| trips.on_sample(ms(325), ms(1)));
        }
        steer
    }

    #[test]
    fn the_worse_one_is_marked_and_nobody_rests_by_marks_alone() {
        let mut steer = steer(Some(Law::Corrected), false);
        assert!(steer.has_marks());
        assert!(steer.decide(ms(100)).is_empty());
        assert!((steer.subflow(0).marker.rate() - 0.02863).abs() < 1e-4);
        assert_eq!(steer.subflow(1).marker.rate(), 0.0);
    }

    #[test]
    fn a_costly_one_rests_and_is_named_until_it_does() {
        let mut steer = steer(None, true);
        assert!(!steer.has_marks());
        for step in 1..4 {
            assert_eq!(steer.decide(ms(100 * step)), [(0, true)]);
        }
        steer.on_backup(0, true);
        assert!(steer.decide(ms(500)).is_empty());
    }

    #[test]
    fn one_that_fades_rests_without_priorities_too() {
        for priority in [false, true] {
            let mut steer = steer(None, priority);
            steer.set_fading(1, true);
            // The costly one is the only one that carries: it does not rest.
            assert_eq!(steer.decide(ms(100)), [(1, true)]);
            steer.on_backup(1, true);
            assert!(steer.decide(ms(200)).is_empty());
            steer.set_fading(1, false);
            assert!(steer.decide(ms(300)).contains(&(1, false)));
        }
    }

    #[test]
    fn one_that_is_not_measured_or_not_joined_is_left_alone() {
        let mut steer = steer(Some(Law::Corrected), true);
        steer.subflow(0).packet_time = None;
        assert!(steer.decide(ms(100)).is_empty());
        assert_eq!(steer.subflow(0).marker.rate(), 0.0);
        steer.subflow(0).packet_time = Some(ms(3));
        // The better one is left: the other is the best of those that are there.
        steer.begin_anew(1, false);
        assert!(steer.decide(ms(200)).is_empty());
        assert_eq!(steer.subflow(0).marker.rate(), 0.0);
        assert!(Steer::new(&[None, None], Some(Law::Corrected), true).decide(ms(100)).is_empty());
    }
}
