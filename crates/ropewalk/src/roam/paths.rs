//! What the rules of priorities are told of the access points: one ruler for all of them.
//!
//! A packet time that was measured and one that is expected from the signal differ by their kind.
//! An access point that has just come would look worse than those that carry, rest for it, and
//! never be measured. So measured ones count where all are measured; and the rule of floors, which
//! lets an access point rest at once, goes by nothing less. What a monitor interface heard and what
//! the driver counted are two kinds as well.

use ropewalk_roam::priority::{Marks, Path};
use std::time::Duration;

/// What is known of an access point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Air of a packet, as a monitor interface heard it lately, or before it rested.
    pub monitored: Option<Duration>,
    /// The same by the driver's rates and counters.
    pub measured: Option<Duration>,
    /// The same by the signal.
    pub expected: Option<Duration>,
    /// Least round trip of subflows that carry data.
    pub busy_rtt: Option<Duration>,
    /// Packets from it so far, beacons left out.
    pub packets: u64,
    /// What marks do to senders by it.
    pub marks: Marks,
}

/// The same as the rules take it.
pub(super) fn paths(all: &[Seen]) -> Vec<Path> {
    let by = |kind: fn(&Seen) -> Option<Duration>| all.iter().map(kind).collect::<Option<Vec<_>>>();
    let measured = by(|seen| seen.monitored).or_else(|| by(|seen| seen.measured));
    let path = |(n, seen): (usize, &Seen)| Path {
        packet_time: measured.as_ref().map_or(seen.expected.unwrap_or_default(), |times| times[n]),
        least_rtt: seen.busy_rtt.filter(|_| measured.is_some()),
        packets: seen.packets,
        marks: seen.marks,
    };
    all.iter().enumerate().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_roam::priority::Priorities;

    /// Packets of an access point that carries take 200 µs, over a round trip of 3 ms.
    fn carries() -> Seen {
        let us = |us| Some(Duration::from_micros(us));
        Seen { measured: us(200), expected: us(600), busy_rtt: us(3_000), ..Seen::default() }
    }

    fn rest(all: &[Seen]) -> Vec<bool> {
        Priorities::new().decide(&paths(all), Duration::ZERO)
    }

    #[test]
    fn one_that_has_just_come_does_not_rest_for_it() {
        let new = Seen { measured: None, busy_rtt: None, ..carries() };
        // Its first subflow is as fast as the others'.
        for rtt in [None, carries().busy_rtt] {
            assert_eq!(rest(&[carries(), Seen { busy_rtt: rtt, ..new }, carries()]), [false; 3]);
        }
        // The same figures under one ruler: what would have been compared.
        let mixed = Seen { measured: new.expected, ..carries() };
        assert_eq!(rest(&[carries(), mixed, carries()]), [false, true, false]);
    }

    #[test]
    fn a_costly_one_rests_where_all_are_measured() {
        let slow = Seen { measured: Some(Duration::from_millis(1)), ..carries() };
        assert_eq!(rest(&[carries(), slow]), [false, true]);
        // Nobody uses a connection by it: its floor costs nothing.
        assert_eq!(rest(&[carries(), Seen { busy_rtt: None, ..slow }]), [false, false]);
        // A far server: two segments on the way cost little.
        let far = Seen { busy_rtt: Some(Duration::from_millis(100)), ..slow };
        assert_eq!(rest(&[carries(), far]), [false, false]);
    }

    #[test]
    fn what_a_monitor_heard_is_held_beside_its_like_only() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let heard = |time| Seen { monitored: time, ..carries() };
        // It hears that frames come alone, and of all alike.
        assert_eq!(rest(&[heard(ms(1)), heard(ms(1))]), [false; 2]);
        assert_eq!(rest(&[heard(ms(1)), heard(ms(5))]), [false, true]);
        // Of one it hears nothing: the driver's figures count, which are equal.
        assert_eq!(rest(&[heard(ms(5)), carries()]), [false; 2]);
        let times = |all: &[Seen]| paths(all).iter().map(|p| p.packet_time).collect::<Vec<_>>();
        assert_eq!(times(&[heard(ms(5)), carries()]), [Duration::from_micros(200); 2]);
        assert_eq!(
            times(&[heard(ms(5)), heard(ms(1))]),
            [Duration::from_millis(5), Duration::from_millis(1)]
        );
        // And by the signal where the driver says nothing of one.
        let silent = Seen { measured: None, ..carries() };
        assert_eq!(times(&[heard(ms(5)), silent]), [Duration::from_micros(600); 2]);
    }
}
