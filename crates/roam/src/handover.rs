//! When a client of one access point moves to another: the baseline of paper 001 (§6.3, figure 8).
//!
//! It counts beacons over two seconds, and moves when another access point leads by ten. It breaks
//! before it makes: the driver leaves the old access point, then joins the new one.

use core::time::Duration;
use std::collections::VecDeque;

/// Beacons count for this long.
const WINDOW: Duration = Duration::from_secs(2);
/// A lead that makes it move, beacons.
const LEAD: usize = 10;
/// Beacons kept: 64 access points with the usual 102.4 ms.
const MOST_BEACONS: usize = 1_280;

/// Leave this one, then join that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// None: there was none.
    pub from: Option<u32>,
    /// The new access point.
    pub to: u32,
}

/// Counts beacons of access points, which a driver numbers.
#[derive(Clone, Debug, Default)]
pub struct Handover {
    beacons: VecDeque<(Duration, u32)>,
    current: Option<u32>,
}

impl Handover {
    /// A client of no access point.
    pub fn new() -> Handover {
        Handover::default()
    }

    /// The access point that the client is with.
    pub fn current(&self) -> Option<u32> {
        self.current
    }

    /// A beacon was heard; says whether to move.
    pub fn on_beacon(&mut self, access_point: u32, now: Duration) -> Option<Move> {
        if self.beacons.len() == MOST_BEACONS {
            self.beacons.pop_front();
        }
        self.beacons.push_back((now, access_point));
        self.expire(now);
        let is_best = match self.current {
            None => true,
            Some(current) => self.count(access_point) >= self.count(current) + LEAD,
        };
        let to = Some(access_point).filter(|to| is_best && Some(*to) != self.current)?;
        Some(Move { from: self.current.replace(to), to })
    }

    /// Beacons of an access point in the window.
    pub fn count(&self, access_point: u32) -> usize {
        self.beacons.iter().filter(|b| b.1 == access_point).count()
    }

    fn expire(&mut self, now: Duration) {
        while self.beacons.front().is_some_and(|b| now.saturating_sub(b.0) > WINDOW) {
            self.beacons.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEACON: Duration = Duration::from_micros(102_400);

    #[test]
    fn it_takes_the_first_and_moves_at_a_lead_of_ten() {
        let mut client = Handover::new();
        assert_eq!(client.on_beacon(1, Duration::ZERO), Some(Move { from: None, to: 1 }));
        // Both are heard fully: 20 beacons each, no lead.
        for n in 1..60 {
            assert_eq!(client.on_beacon(1, BEACON * n), None);
            assert_eq!(client.on_beacon(2, BEACON * n), None);
        }
        // The first falls silent; ten of its twenty beacons are gone a second later.
        let moved: Vec<_> = (60..80).filter(|n| client.on_beacon(2, BEACON * *n).is_some()).collect();
        assert_eq!(moved, [69]);
        assert_eq!(client.current(), Some(2));
    }

    #[test]
    fn between_two_it_does_not_move_to_and_fro() {
        let mut client = Handover::new();
        client.on_beacon(1, Duration::ZERO);
        // Each is heard two times of three, by turns of two seconds.
        for n in 1..600u32 {
            let missed = 1 + n / 20 % 2;
            for access_point in [1, 2] {
                let heard = access_point != missed || n % 3 != 0;
                assert!(!heard || client.on_beacon(access_point, BEACON * n).is_none());
            }
        }
    }

    #[test]
    fn beacons_are_bounded() {
        let mut client = Handover::new();
        (0..5_000).for_each(|n| {
            client.on_beacon(n, Duration::ZERO);
        });
        assert_eq!(client.beacons.len(), MOST_BEACONS);
    }
}
