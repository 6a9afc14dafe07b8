//! The one list of what happens next: an indexed heap of timers.
//!
//! Every component that may want to be called (a direction of a cable, the air, an endpoint, a bond engine) owns one
//! timer and moves it; nothing is allocated after the world is built. Timers due at the same instant fire in the order
//! in which they were made, so that a run depends on the scenario and the seed alone.

use ropewalk_air::Time;

/// Children per node: four keep the heap shallow, and one cache line holds them.
const ARITY: usize = 4;
/// Place of a timer that is not set.
const NOWHERE: u32 = u32::MAX;

/// A timer of [`Timers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerId(pub(crate) u32);

impl TimerId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// All timers of a world, and which is due first.
#[derive(Debug, Default)]
pub struct Timers {
    heap: Vec<(Time, u32)>,
    /// Where in the heap each timer stands.
    place: Vec<u32>,
}

impl Timers {
    /// No timer yet.
    pub fn new() -> Timers {
        Timers::default()
    }

    /// A new timer, not set. Earlier made ones win ties.
    pub fn add(&mut self) -> TimerId {
        self.place.push(NOWHERE);
        self.heap.reserve(self.place.len());
        TimerId(self.place.len() as u32 - 1)
    }

    /// How many timers there are, set or not.
    pub fn len(&self) -> usize {
        self.place.len()
    }

    /// Whether there is no timer at all.
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// Sets a timer, or clears it with `None`.
    pub fn set(&mut self, timer: TimerId, at: Option<Time>) {
        let place = self.place[timer.index()];
        match (at, place) {
            (None, NOWHERE) => {}
            (None, place) => self.remove(place as usize),
            (Some(at), NOWHERE) => {
                self.heap.push((at, timer.0));
                self.rise(self.heap.len() - 1);
            }
            (Some(at), place) => {
                let place = place as usize;
                let old = self.heap[place].0;
                if at < old {
                    self.heap[place].0 = at;
                    self.rise(place);
                } else if at > old {
                    self.heap[place].0 = at;
                    self.sink(place);
                }
            }
        }
    }

    /// When a timer is due, if it is set.
    pub fn get(&self, timer: TimerId) -> Option<Time> {
        let place = self.place[timer.index()];
        (place != NOWHERE).then(|| self.heap[place as usize].0)
    }

    /// The timer that is due first.
    pub fn first(&self) -> Option<(Time, TimerId)> {
        self.heap.first().map(|&(at, id)| (at, TimerId(id)))
    }

    fn remove(&mut self, place: usize) {
        let (_, gone) = self.heap.swap_remove(place);
        self.place[gone as usize] = NOWHERE;
        if place < self.heap.len() {
            // The last timer stands there now, and may belong above or below; one of the two calls does nothing.
            self.rise(place);
            self.sink(place);
        }
    }

    fn rise(&mut self, mut i: usize) {
        let item = self.heap[i];
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.heap[parent] <= item {
                break;
            }
            self.put(i, self.heap[parent]);
            i = parent;
        }
        self.put(i, item);
    }

    fn sink(&mut self, mut i: usize) {
        let item = self.heap[i];
        loop {
            let first = i * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            let Some(least) = (first..end).min_by_key(|&c| self.heap[c]) else { break };
            if self.heap[least] >= item {
                break;
            }
            self.put(i, self.heap[least]);
            i = least;
        }
        self.put(i, item);
    }

    fn put(&mut self, i: usize, item: (Time, u32)) {
        self.heap[i] = item;
        self.place[item.1 as usize] = i as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    #[test]
    fn ties_go_to_the_earlier_made() {
        let mut t = Timers::new();
        let ids: Vec<TimerId> = (0..9).map(|_| t.add()).collect();
        for id in ids.iter().rev() {
            t.set(*id, Some(Time::from_millis(5)));
        }
        for id in &ids {
            assert_eq!(t.first(), Some((Time::from_millis(5), *id)));
            t.set(*id, None);
        }
        assert_eq!(t.first(), None);
    }

    #[test]
    fn agrees_with_a_plain_search() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let mut t = Timers::new();
        let ids: Vec<TimerId> = (0..40).map(|_| t.add()).collect();
        let mut plain: Vec<Option<Time>> = vec![None; ids.len()];
        for _ in 0..20_000 {
            let k = rng.random_range(0..ids.len());
            let at = rng.random_bool(0.7).then(|| Time::from_nanos(rng.random_range(0..50)));
            t.set(ids[k], at);
            plain[k] = at;
            assert_eq!(t.get(ids[k]), at);
            let least = (0..ids.len()).filter_map(|i| Some((plain[i]?, ids[i]))).min();
            assert_eq!(t.first(), least);
        }
    }
}
