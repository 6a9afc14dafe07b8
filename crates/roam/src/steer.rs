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

    /// Works rates and priorities out anew, to be called each [`EVERY`]. Gives the subflows that
    /// are to become backups, or none any more; they are named again until [`Steer::on_backup`].
    pub fn decide(&mut self, now: Duration) -> Vec<(usize, bool)> {
        let times = self.subflows.iter().filter(|s| s.is_joined).filter_map(|s| s.packet_time);
        let Some(best) = times.min() else { return Vec::new() };
        // One that was not measured yet is left alone, as one that is as good as the best.
        let time = |s: &Subflow| s.packet_time.unwrap_or(best);
        for subflow in &mut self.subflows {
            subflow.marker.update(time(subflow), best, &subflow.trips);
        }
        let Some(priorities) = &mut self.priorities else { return Vec::new() };
        let path = |s: &Subflow| Path {
            packet_time: time(s),
            least_rtt: s.trips.least(),
            packets: s.packets,
            marks: Marks::None,
        };
        let joined: Vec<usize> = (0..self.subflows.len()).filter(|i| self.subflows[*i].is_joined).collect();
        let paths: Vec<Path> = joined.iter().map(|i| path(&self.subflows[*i])).collect();
        let wanted = joined.iter().copied().zip(priorities.decide(&paths, now));
        wanted.filter(|(index, backup)| self.subflows[*index].backup != *backup).collect()
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
            backup: false,
        }
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
