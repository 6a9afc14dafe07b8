//! What was, in bounded memory: a point for each second of 15 minutes, and one for each minute of a
//! day.

use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Points of a second each.
pub(super) const SECONDS: usize = 15 * 60;
/// Points of a minute each.
pub(super) const MINUTES: usize = 24 * 60;
/// Things whose past is kept; beyond, one that nothing was heard of for [`SECONDS`] makes room.
pub(super) const MOST: usize = 64;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// The last 15 minutes.
    Seconds,
    /// The last day.
    Minutes,
}

/// What a thing did in a second, or on average in a minute. Not known: NaN.
pub(super) type Values<const N: usize> = [f32; N];

/// One thing's past. Times are seconds, or minutes, since 1970.
#[derive(Debug)]
pub(super) struct Ring<const N: usize> {
    seconds: VecDeque<(u32, Values<N>)>,
    /// The minutes that are over, the oldest first.
    pub minutes: VecDeque<(u32, Values<N>)>,
    /// The minute that is under way.
    minute: u32,
    sums: [(f32, u32); N],
}

/// The past of things, each called `K`.
#[derive(Debug)]
pub(super) struct Past<K, const N: usize>(pub BTreeMap<K, Ring<N>>);

/// One thing's past as the page has it.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    path: String,
    /// Seconds since 1970.
    t: Vec<u64>,
    /// By what is kept of it.
    #[serde(flatten)]
    values: BTreeMap<&'static str, Vec<Option<f32>>>,
}

impl<K, const N: usize> Default for Past<K, N> {
    fn default() -> Past<K, N> {
        Past(BTreeMap::new())
    }
}

impl<K: Clone + Ord, const N: usize> Past<K, N> {
    /// Adds what a thing did in the second `now`.
    pub(super) fn add(&mut self, key: K, now: u32, values: Values<N>) {
        if !self.0.contains_key(&key) && self.0.len() >= MOST && !self.make_room(now) {
            return;
        }
        self.0.entry(key).or_default().add(now, values);
    }

    /// Forgets the thing that was silent longest, if any was silent for long.
    fn make_room(&mut self, now: u32) -> bool {
        let oldest = self.0.iter().map(|(key, ring)| (ring.last(), key)).min();
        let Some((last, key)) = oldest else { return false };
        let key = key.clone();
        now.saturating_sub(last) > SECONDS as u32 && self.0.remove(&key).is_some()
    }
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Ring<N> {
        Ring { seconds: VecDeque::new(), minutes: VecDeque::new(), minute: 0, sums: [(0.0, 0); N] }
    }
}

impl<const N: usize> Ring<N> {
    /// With these minutes, and no second.
    pub(super) fn of_minutes(minutes: VecDeque<(u32, Values<N>)>) -> Ring<N> {
        Ring { minutes, ..Ring::default() }
    }

    fn last(&self) -> u32 {
        let minute = self.minutes.back().map_or(0, |(t, _)| *t * 60);
        self.seconds.back().map_or(minute, |(t, _)| *t)
    }

    fn add(&mut self, now: u32, values: Values<N>) {
        // Where the machine's clock was set back, what lies in the future goes.
        while self.seconds.back().is_some_and(|(t, _)| *t >= now) {
            self.seconds.pop_back();
        }
        while self.minutes.back().is_some_and(|(t, _)| *t >= now / 60) {
            self.minutes.pop_back();
        }
        push(&mut self.seconds, SECONDS, (now, values));
        if now / 60 < self.minute {
            self.sums = [(0.0, 0); N];
        } else if now / 60 > self.minute {
            self.end_minute();
        }
        self.minute = now / 60;
        for (sum, value) in self.sums.iter_mut().zip(values) {
            if !value.is_nan() {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }

    fn end_minute(&mut self) {
        let sums = std::mem::replace(&mut self.sums, [(0.0, 0); N]);
        let means = sums.map(|(sum, n)| if n == 0 { f32::NAN } else { sum / n as f32 });
        if sums.iter().any(|(_, n)| *n > 0) {
            push(&mut self.minutes, MINUTES, (self.minute, means));
        }
    }

    /// As the page has it; `names` are those of the values.
    pub(super) fn series(&self, path: &str, names: [&'static str; N], span: Span) -> Series {
        let (points, step) = match span {
            Span::Seconds => (&self.seconds, 1),
            Span::Minutes => (&self.minutes, 60),
        };
        let known = |i: usize| points.iter().map(|(_, v)| Some(v[i]).filter(|v| v.is_finite())).collect();
        Series {
            path: path.into(),
            t: points.iter().map(|(t, _)| u64::from(*t) * step).collect(),
            values: names.into_iter().enumerate().map(|(i, name)| (name, known(i))).collect(),
        }
    }
}

fn push<T>(ring: &mut VecDeque<T>, most: usize, point: T) {
    if ring.len() >= most {
        ring.pop_front();
    }
    ring.push_back(point);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["up", "rtt", "loss"];

    fn point(up: f32) -> Values<3> {
        [up, f32::NAN, 1.0]
    }

    /// Whatever comes for however long, there are never more points than this.
    #[test]
    fn memory_is_bounded() {
        let mut past = Past::default();
        for second in 0..2 * 86_400 {
            past.add("wan1".to_owned(), second, point(1.0));
        }
        for path in 0..1000 {
            for second in 0..20 {
                past.add(format!("client{path}"), 2 * 86_400 + second, point(1.0));
            }
        }
        assert_eq!(past.0.len(), MOST);
        for ring in past.0.values() {
            assert!(ring.seconds.len() <= SECONDS && ring.minutes.len() <= MINUTES);
            assert!(ring.seconds.capacity() <= 2 * SECONDS && ring.minutes.capacity() <= 2 * MINUTES);
        }
        let whole = past.0["wan1"].series("wan1", NAMES, Span::Minutes);
        let first = |name: &str| whole.values[name][0];
        assert_eq!(
            (whole.t.len(), whole.t[0], first("up"), first("rtt")),
            (MINUTES, 86_340, Some(1.0), None)
        );
        past.add("new".to_owned(), 2 * 86_400 + 10_000, point(1.0));
        assert!(past.0.len() == MOST && past.0.contains_key("new"), "a silent one makes room");
    }

    #[test]
    fn minutes_are_means_and_a_clock_that_is_set_back_is_followed() {
        let mut ring = Ring::default();
        for second in 0..=120 {
            ring.add(second, point(second as f32));
        }
        let minutes: Vec<_> = ring.minutes.iter().map(|(t, p)| (*t, p[0], p[2])).collect();
        assert_eq!(minutes, [(0, 29.5, 1.0), (1, 89.5, 1.0)]);
        ring.add(30, point(7.0));
        assert_eq!((ring.seconds.len(), ring.last()), (31, 30));
        assert!(ring.minutes.is_empty() && ring.minute == 0);
    }
}
