//! What an end on layer 2 knows of stations: behind which peer each is, and whether frames go round in a loop.
//!
//! Addresses are learnt from what comes through the bond, as a bridge does (IEEE 802.1Q, 8.7). Anybody behind a repeater can send from any address, so the table has
//! a bound, and a peer may only teach so many a second; a frame to a station that is not known goes to all peers.

use crate::inner::frame::Mac;
use crate::time::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Stations known at most.
const STATIONS: usize = 4096;
/// A station that says nothing for this long is forgotten (802.1Q, table 8-6).
const AGE: Duration = Duration::from_secs(300);
/// New and moved addresses that a peer may teach in a second. More is no network of people.
const LESSONS: u32 = 256;
/// A frame to a group that comes back within this long was ours, and goes round.
const ECHO: Duration = Duration::from_secs(1);
/// Such frames remembered.
const ECHOES: usize = 256;
/// While frames go round, a station is not believed to have come to this side.
const CALM: Duration = Duration::from_secs(5);
/// People are told of a loop this often.
const TELL: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
struct Station {
    peer: u32,
    heard: Time,
}

/// How many addresses a peer has taught lately.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lessons {
    second: Time,
    count: u32,
}

impl Lessons {
    fn allow(&mut self, now: Time) -> bool {
        if now.since(self.second) >= Duration::from_secs(1) {
            *self = Lessons { second: now, count: 0 };
        }
        self.count += 1;
        self.count <= LESSONS
    }
}

/// Counts of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Stations known now.
    pub stations: u64,
    /// Stations that were behind one peer and then behind another, or on this side.
    pub moved: u64,
    /// Addresses not learnt: too many at once, or no room.
    pub unlearnt: u64,
    /// Frames dropped because they had gone round in a loop.
    pub looped: u64,
    /// Frames dropped because they were longer than the peer's device takes.
    pub jumbo: u64,
}

/// The table.
#[derive(Debug, Default)]
pub struct Bridge {
    stations: BTreeMap<Mac, Station>,
    echoes: VecDeque<(u64, Time)>,
    last_loop: Option<Time>,
    told: Option<Time>,
    counters: Counters,
}

impl Bridge {
    /// A frame from `mac` came from `peer`.
    pub fn learn(&mut self, now: Time, mac: Mac, peer: u32, lessons: &mut Lessons) {
        let is_group = mac[0] & 1 != 0;
        if let Some(s) = self.stations.get_mut(&mac).filter(|s| s.peer == peer) {
            s.heard = now;
            return;
        }
        let is_known = self.stations.contains_key(&mac);
        if is_group || !lessons.allow(now) || !is_known && !self.has_room(now) {
            self.counters.unlearnt += 1;
            return;
        }
        self.counters.moved += u64::from(is_known);
        self.stations.insert(mac, Station { peer, heard: now });
    }

    fn has_room(&mut self, now: Time) -> bool {
        if self.stations.len() >= STATIONS {
            self.stations.retain(|_, s| now.since(s.heard) < AGE);
        }
        self.stations.len() < STATIONS
    }

    /// The peer that a station is behind.
    pub fn whose(&self, now: Time, mac: &Mac) -> Option<u32> {
        self.stations.get(mac).filter(|s| now.since(s.heard) < AGE).map(|s| s.peer)
    }

    /// A frame from `mac` came from this side: if it was behind a peer, it has moved.
    pub fn on_this_side(&mut self, now: Time, mac: &Mac) {
        if !self.has_loop(now) && self.stations.remove(mac).is_some() {
            self.counters.moved += 1;
        }
    }

    /// A peer is gone, and with it what is known of those behind it.
    pub fn forget(&mut self, peer: u32) {
        self.stations.retain(|_, s| s.peer != peer);
    }

    /// A frame to a group, or any while frames go round, with this hash, goes to the device.
    pub fn note(&mut self, now: Time, hash: u64) {
        if self.echoes.len() >= ECHOES {
            self.echoes.pop_front();
        }
        self.echoes.push_back((hash, now));
    }

    /// Whether a frame that the device hands us is one that it got from us.
    pub fn came_back(&mut self, now: Time, hash: u64) -> bool {
        while self.echoes.front().is_some_and(|(_, at)| now.since(*at) >= ECHO) {
            self.echoes.pop_front();
        }
        let came = self.echoes.iter().any(|(h, _)| *h == hash);
        if came {
            self.last_loop = Some(now);
            self.counters.looped += 1;
        }
        came
    }

    /// Whether frames go round: one came back a short while ago.
    pub fn has_loop(&self, now: Time) -> bool {
        self.last_loop.is_some_and(|at| now.since(at) < CALM)
    }

    /// Whether a frame from a peer is one that the device has got already, on its next lap. The loop may be such that no copy of it comes back to this device: so
    /// while there is one, each frame is given to it once.
    pub fn is_another_lap(&mut self, now: Time, hash: u64) -> bool {
        self.has_loop(now) && self.came_back(now, hash)
    }

    /// Whether people are to be told of a loop now.
    pub fn is_to_be_told(&mut self, now: Time) -> bool {
        let due = self.told.is_none_or(|at| now.since(at) >= TELL);
        if due {
            self.told = Some(now);
        }
        due
    }

    /// A frame was too long.
    pub fn on_jumbo(&mut self) {
        self.counters.jumbo += 1;
    }

    /// Totals, and how many stations there are.
    pub fn counters(&self) -> Counters {
        Counters { stations: self.stations.len() as u64, ..self.counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(n: u32) -> Mac {
        let [a, b, c, d] = n.to_be_bytes();
        [2, 0, a, b, c, d]
    }

    #[test]
    fn a_station_is_where_it_was_heard_last_and_is_forgotten() {
        let (mut b, mut l) = (Bridge::default(), Lessons::default());
        let t = Time::from_millis;
        b.learn(t(0), mac(1), 7, &mut l);
        assert_eq!(b.whose(t(1), &mac(1)), Some(7));
        b.learn(t(2), mac(1), 8, &mut l);
        assert_eq!((b.whose(t(3), &mac(1)), b.counters().moved), (Some(8), 1));
        b.on_this_side(t(4), &mac(1));
        assert_eq!((b.whose(t(5), &mac(1)), b.counters().moved), (None, 2));
        b.learn(t(6), mac(1), 8, &mut l);
        assert_eq!(b.whose(t(6) + AGE, &mac(1)), None);
        b.forget(8);
        assert_eq!(b.counters().stations, 0);
    }

    #[test]
    fn a_peer_that_invents_addresses_fills_nothing() {
        let (mut b, mut l, mut honest) = (Bridge::default(), Lessons::default(), Lessons::default());
        (0..100_000).for_each(|n| b.learn(Time::from_millis(1), mac(n), 1, &mut l));
        assert_eq!(
            (b.counters().stations, b.counters().unlearnt),
            (u64::from(LESSONS), 100_000 - u64::from(LESSONS))
        );
        b.learn(Time::from_millis(1), mac(1 << 30), 2, &mut honest);
        assert_eq!(b.whose(Time::from_millis(1), &mac(1 << 30)), Some(2));
        (0..20_000u32).for_each(|n| b.learn(Time::from_millis(u64::from(n) * 10), mac(n), 1, &mut l));
        assert!(b.counters().stations <= STATIONS as u64);
        b.learn(Time::from_millis(1), [0xff; 6], 2, &mut honest);
        assert_eq!(b.whose(Time::from_millis(1), &[0xff; 6]), None, "a group is no station");
    }

    #[test]
    fn a_loop_is_found_and_told_once_and_moves_nobody() {
        let (mut b, mut l) = (Bridge::default(), Lessons::default());
        let t = Time::from_millis;
        b.learn(t(0), mac(1), 7, &mut l);
        b.note(t(0), 99);
        assert!(!b.came_back(t(1), 98) && b.came_back(t(2), 99) && b.came_back(t(3), 99));
        assert!(b.is_to_be_told(t(3)) && !b.is_to_be_told(t(4)));
        b.on_this_side(t(4), &mac(1));
        assert_eq!(b.whose(t(5), &mac(1)), Some(7));
        assert!(!b.came_back(t(1001), 99), "whoever says the same a second later means it");
        (0..10_000).for_each(|n| b.note(t(2000), n));
        assert_eq!((b.echoes.len(), b.counters().looped), (ECHOES, 2));
    }
}
