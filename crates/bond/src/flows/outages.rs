//! Which paths are dead, or were a moment ago, and when it is known which connections noticed.
//!
//! An outage is judged some time after its end: what stood still goes on when its sender tries
//! again, and TCP doubles the time between two tries (RFC 6298 §5.5), so that is within the length
//! of the outage. One that lasts is judged while it does.

use crate::path::{Path, PathId, State};
use crate::wire::MAX_PATHS;
use core::net::SocketAddr;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};

/// Outages that are watched at a time; of more, as when all clients of a gateway lose it at once,
/// it is not known who noticed.
const MOST: usize = 64;
/// Of these, outages of one peer: who lets paths flap takes no other's place.
const MOST_OF_ONE: usize = MAX_PATHS;
/// An outage that lasts is judged after so long.
const JUDGED_AFTER: Duration = Duration::from_secs(10);
/// The least time for connections to go on after a path's return.
const SETTLE: Duration = Duration::from_millis(500);
/// Connections are looked through no more often than this, however paths flap.
const APART: Duration = Duration::from_secs(1);
/// A path that had been silent for longer when its silence was noticed was not used.
const UNUSED: Duration = Duration::from_secs(2);

/// A path that does not answer, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub peer: PublicKey,
    pub path: PathId,
    /// Where it led when that was noticed.
    pub remote: SocketAddr,
    /// Since when nothing has come by it.
    pub since: Time,
    /// When it worked again.
    pub until: Option<Time>,
    /// It was given up: silence alone is no outage.
    pub was_down: bool,
}

impl Outage {
    fn due(&self) -> Time {
        match self.until {
            None => self.since + JUDGED_AFTER,
            Some(until) => {
                let lasted = until.since(self.since);
                until + (lasted * 5 / 4).clamp(SETTLE, JUDGED_AFTER)
            }
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Outages {
    watched: Vec<Outage>,
    judged: Option<Time>,
}

impl Default for Outages {
    fn default() -> Outages {
        // A path that falls silent takes nothing from the heap.
        Outages { watched: Vec::with_capacity(MOST), judged: None }
    }
}

impl Outages {
    /// A path has another state. One that is too narrow answers: it is not dead.
    pub(crate) fn on_state(&mut self, peer: PublicKey, path: &Path, now: Time) {
        let (id, state, heard) = (path.id, path.live.state, path.recv.last_arrival());
        self.note((peer, id, path.route.remote), state, heard, now);
    }

    fn note(
        &mut self,
        (peer, path, remote): (PublicKey, PathId, SocketAddr),
        state: State,
        heard: Time,
        now: Time,
    ) {
        let is_it = |o: &Outage| (o.peer, o.path) == (peer, path) && o.until.is_none();
        let at = self.watched.iter().position(is_it);
        match (state, at) {
            (State::Suspect | State::Down, None) if self.has_room(&peer) => {
                let (since, was_down) = (heard.max(now - UNUSED), state == State::Down);
                self.watched.push(Outage { peer, path, remote, since, until: None, was_down });
            }
            (State::Down, Some(i)) => self.watched[i].was_down = true,
            (State::Active | State::Validating, Some(i)) => {
                if self.watched[i].was_down {
                    self.watched[i].until = Some(now);
                } else {
                    self.watched.swap_remove(i);
                }
            }
            _ => {}
        }
    }

    fn has_room(&self, peer: &PublicKey) -> bool {
        let own = self.watched.iter().filter(|o| o.peer == *peer).count();
        self.watched.len() < MOST && own < MOST_OF_ONE
    }

    /// When [`Outages::take_due`] has something.
    pub(crate) fn due(&self) -> Time {
        let first = self.watched.iter().map(Outage::due).min().unwrap_or(Time::NEVER);
        first.max(self.judged.map_or(Time::ZERO, |at| at + APART))
    }

    /// Those that can be judged now.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<Outage> {
        self.judged = Some(now);
        let due = self.watched.extract_if(.., |o| o.due() <= now);
        due.filter(|o| o.was_down).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: PublicKey = PublicKey([1; 32]);

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    fn tell(outages: &mut Outages, path: u8, state: State, at: u64) {
        tell_of(PEER, outages, path, state, at);
    }

    fn tell_of(peer: PublicKey, outages: &mut Outages, path: u8, state: State, at: u64) {
        let remote = SocketAddr::from(([192, 0, 2, 1], 4500));
        let path = PathId::new(path).unwrap();
        outages.note((peer, path, remote), state, ms(at - 20), ms(at));
    }

    #[test]
    fn an_outage_is_judged_once_what_stood_still_has_gone_on() {
        let mut outages = Outages::default();
        assert_eq!(outages.due(), Time::NEVER);
        tell(&mut outages, 1, State::Suspect, 20_020);
        tell(&mut outages, 1, State::Down, 20_050);
        tell(&mut outages, 1, State::Active, 21_000);
        assert_eq!(outages.due(), ms(22_250));
        let judged = outages.take_due(ms(22_250));
        assert_eq!((judged.len(), judged[0].since, judged[0].until), (1, ms(20_000), Some(ms(21_000))));
        assert_eq!(outages.due(), Time::NEVER);
        // One that lasts.
        tell(&mut outages, 2, State::Down, 30_020);
        assert_eq!(outages.due(), ms(40_000));
        assert_eq!(outages.take_due(ms(40_000))[0].until, None);
        tell(&mut outages, 2, State::Active, 50_000);
        assert_eq!(outages.due(), Time::NEVER, "it was told already");
    }

    #[test]
    fn a_blink_is_no_outage_and_paths_that_flap_cost_little() {
        let mut outages = Outages::default();
        tell(&mut outages, 1, State::Suspect, 1000);
        tell(&mut outages, 1, State::Active, 1030);
        assert!(outages.watched.is_empty());
        let flap = |outages: &mut Outages, peer: u8| {
            for n in 0..100 {
                tell_of(PublicKey([peer; 32]), outages, 1, State::Down, 2000 + 20 * n);
                tell_of(PublicKey([peer; 32]), outages, 1, State::Active, 2010 + 20 * n);
            }
        };
        flap(&mut outages, 2);
        assert_eq!(outages.watched.len(), MOST_OF_ONE, "there is room for others");
        (1..9).for_each(|peer| flap(&mut outages, peer));
        assert_eq!(outages.watched.len(), MOST);
        assert_eq!(outages.take_due(ms(5000)).len(), MOST);
        tell(&mut outages, 1, State::Down, 5010);
        tell(&mut outages, 1, State::Active, 5020);
        assert_eq!(outages.due(), ms(6000), "no sooner than a second after the last");
    }
}
