//! The past of each path, in bounded memory: a point for each second of 15 minutes, and one for
//! each minute of a day.

use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Points of a second each.
pub(super) const SECONDS: usize = 15 * 60;
/// Points of a minute each.
pub(super) const MINUTES: usize = 24 * 60;
/// Paths whose past is kept; beyond, one that nothing was heard of for [`SECONDS`] makes room.
pub(super) const PATHS: usize = 64;

/// What a path did in a second, or on average in a minute. Not known: NaN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Bits per second that went out.
    pub up: f32,
    /// Bits per second that came in.
    pub down: f32,
    /// Round trip, milliseconds.
    pub rtt: f32,
    /// Datagrams lost, per cent of those whose fate became known.
    pub loss: f32,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// The last 15 minutes.
    Seconds,
    /// The last day.
    Minutes,
}

/// One path's past. Times are seconds, or minutes, since 1970.
#[derive(Debug, Default)]
struct Ring {
    seconds: VecDeque<(u32, Point)>,
    minutes: VecDeque<(u32, Point)>,
    /// The minute that is under way.
    minute: u32,
    sums: [(f32, u32); 4],
}

/// The past of all paths, by peer and path.
#[derive(Debug, Default)]
pub(super) struct Rings(BTreeMap<(String, String), Ring>);

/// One path's past as the page has it.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    path: String,
    /// Seconds since 1970.
    t: Vec<u64>,
    up: Vec<Option<f32>>,
    down: Vec<Option<f32>>,
    rtt: Vec<Option<f32>>,
    loss: Vec<Option<f32>>,
}

impl Rings {
    /// Adds what a path did in the second `now`.
    pub(super) fn add(&mut self, peer: &str, path: &str, now: u32, point: Point) {
        let key = (peer.to_owned(), path.to_owned());
        if !self.0.contains_key(&key) && self.0.len() >= PATHS && !self.make_room(now) {
            return;
        }
        self.0.entry(key).or_default().add(now, point);
    }

    /// Forgets the path that was silent longest, if any was silent for long.
    fn make_room(&mut self, now: u32) -> bool {
        let oldest = self.0.iter().map(|(key, ring)| (ring.last(), key)).min();
        let Some((last, key)) = oldest else { return false };
        let key = key.clone();
        now.saturating_sub(last) > SECONDS as u32 && self.0.remove(&key).is_some()
    }

    /// The past of a peer's paths.
    pub(super) fn of(&self, peer: &str, span: Span) -> Vec<Series> {
        let own = self.0.iter().filter(|((p, _), _)| p == peer);
        own.map(|((_, path), ring)| ring.series(path, span)).collect()
    }
}

impl Ring {
    fn last(&self) -> u32 {
        self.seconds.back().map_or(0, |(t, _)| *t)
    }

    fn add(&mut self, now: u32, point: Point) {
        // Where the machine's clock was set back, what lies in the future goes.
        while self.seconds.back().is_some_and(|(t, _)| *t >= now) {
            self.seconds.pop_back();
        }
        while self.minutes.back().is_some_and(|(t, _)| *t >= now / 60) {
            self.minutes.pop_back();
        }
        push(&mut self.seconds, SECONDS, (now, point));
        if now / 60 < self.minute {
            self.sums = Default::default();
        } else if now / 60 > self.minute {
            self.end_minute();
        }
        self.minute = now / 60;
        for (sum, value) in self.sums.iter_mut().zip([point.up, point.down, point.rtt, point.loss]) {
            if !value.is_nan() {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }

    fn end_minute(&mut self) {
        let sums = std::mem::take(&mut self.sums);
        let [up, down, rtt, loss] = sums.map(|(sum, n)| if n == 0 { f32::NAN } else { sum / n as f32 });
        if sums.iter().any(|(_, n)| *n > 0) {
            push(&mut self.minutes, MINUTES, (self.minute, Point { up, down, rtt, loss }));
        }
    }

    fn series(&self, path: &str, span: Span) -> Series {
        let (points, step) = match span {
            Span::Seconds => (&self.seconds, 1),
            Span::Minutes => (&self.minutes, 60),
        };
        let known = |value: fn(&Point) -> f32| {
            points.iter().map(|(_, p)| Some(value(p)).filter(|v| v.is_finite())).collect()
        };
        Series {
            path: path.into(),
            t: points.iter().map(|(t, _)| u64::from(*t) * step).collect(),
            up: known(|p| p.up),
            down: known(|p| p.down),
            rtt: known(|p| p.rtt),
            loss: known(|p| p.loss),
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

    fn point(up: f32) -> Point {
        Point { up, down: 0.0, rtt: f32::NAN, loss: 1.0 }
    }

    /// Whatever comes for however long, there are never more points than this.
    #[test]
    fn memory_is_bounded() {
        let mut rings = Rings::default();
        for second in 0..2 * 86_400 {
            rings.add("gateway", "wan1", second, point(1.0));
        }
        for path in 0..1000 {
            for second in 0..20 {
                rings.add(&format!("client{path}"), "0", 2 * 86_400 + second, point(1.0));
            }
        }
        assert_eq!(rings.0.len(), PATHS);
        for ring in rings.0.values() {
            assert!(ring.seconds.len() <= SECONDS && ring.minutes.len() <= MINUTES);
            assert!(ring.seconds.capacity() <= 2 * SECONDS && ring.minutes.capacity() <= 2 * MINUTES);
        }
        let whole = &rings.of("gateway", Span::Minutes)[0];
        assert_eq!(
            (whole.t.len(), whole.t[0], whole.up[0], whole.rtt[0]),
            (MINUTES, 86_340, Some(1.0), None)
        );
        let long_after = 2 * 86_400 + 10_000;
        rings.add("new", "0", long_after, point(1.0));
        assert_eq!(
            (rings.0.len(), rings.of("new", Span::Seconds).len()),
            (PATHS, 1),
            "a silent one makes room"
        );
    }

    #[test]
    fn minutes_are_means_and_a_clock_that_is_set_back_is_followed() {
        let mut ring = Ring::default();
        for second in 0..=120 {
            ring.add(second, point(second as f32));
        }
        let minutes: Vec<_> = ring.minutes.iter().map(|(t, p)| (*t, p.up, p.loss)).collect();
        assert_eq!(minutes, [(0, 29.5, 1.0), (1, 89.5, 1.0)]);
        ring.add(30, point(7.0));
        assert_eq!((ring.seconds.len(), ring.last()), (31, 30));
        assert!(ring.minutes.is_empty() && ring.minute == 0);
    }
}
