//! The past of each path, in bounded memory: a point for each second of 15 minutes, and one for
//! each minute of a day.

use serde::{Deserialize, Serialize};
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

/// The minutes of all paths as they are kept on disk.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Of this layout.
    version: u32,
    paths: Vec<KeptPath>,
}

/// Those of one path. All lists are equally long.
#[derive(Debug, Serialize, Deserialize)]
struct KeptPath {
    peer: String,
    path: String,
    /// Minutes since 1970, ascending.
    t: Vec<u32>,
    up: Vec<Option<f32>>,
    down: Vec<Option<f32>>,
    rtt: Vec<Option<f32>>,
    loss: Vec<Option<f32>>,
}

const VERSION: u32 = 1;
/// Longest name of a path or its peer, bytes.
const NAME: usize = 256;

impl Rings {
    /// The minutes, to be kept.
    pub(super) fn kept(&self) -> Kept {
        let paths = self.0.iter().map(|((peer, path), ring)| ring.kept(peer, path)).collect();
        Kept { version: VERSION, paths }
    }

    /// What was kept, but for what is older than a day or of the future. `now` is seconds since
    /// 1970.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn restore(kept: Kept, now: u32) -> Result<Rings, &'static str> {
        if kept.version != VERSION {
            return Err("it is of another version");
        }
        if kept.paths.len() > PATHS {
            return Err("it has too many paths");
        }
        let mut rings = Rings::default();
        for path in kept.paths {
            let points = path.points()?.into_iter();
            let of_today = |(t, _): &(u32, Point)| *t < now / 60 && *t + MINUTES as u32 > now / 60;
            let minutes: VecDeque<(u32, Point)> = points.filter(of_today).collect();
            if !minutes.is_empty() {
                rings.0.insert((path.peer, path.path), Ring { minutes, ..Ring::default() });
            }
        }
        Ok(rings)
    }

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

impl KeptPath {
    fn points(&self) -> Result<Vec<(u32, Point)>, &'static str> {
        let values = [&self.up, &self.down, &self.rtt, &self.loss];
        if self.t.len() > MINUTES || values.iter().any(|v| v.len() != self.t.len()) {
            return Err("its lists are too long, or not equally long");
        }
        if self.t.windows(2).any(|w| w[0] >= w[1]) || self.t.iter().any(|t| *t > u32::MAX / 60) {
            return Err("its times do not ascend");
        }
        if self.peer.len() > NAME || self.path.len() > NAME {
            return Err("it has a name that is too long");
        }
        if values.iter().flat_map(|v| v.iter().flatten()).any(|v| !v.is_finite() || *v < 0.0) {
            return Err("it has a value that cannot be");
        }
        let value = |of: &[Option<f32>], i: usize| of[i].unwrap_or(f32::NAN);
        let point = |i: usize| {
            let [up, down, rtt, loss] = values.map(|of| value(of, i));
            (self.t[i], Point { up, down, rtt, loss })
        };
        Ok((0..self.t.len()).map(point).collect())
    }
}

impl Ring {
    fn last(&self) -> u32 {
        let minute = self.minutes.back().map_or(0, |(t, _)| *t * 60);
        self.seconds.back().map_or(minute, |(t, _)| *t)
    }

    fn kept(&self, peer: &str, path: &str) -> KeptPath {
        // Short numbers: a whole bit per second, a hundredth of a millisecond, of a per cent.
        let rounded = |steps: f32, value: fn(&Point) -> f32| {
            let round = |p: &Point| Some((value(p) * steps).round() / steps).filter(|v| v.is_finite());
            self.minutes.iter().map(|(_, p)| round(p)).collect()
        };
        KeptPath {
            peer: peer.into(),
            path: path.into(),
            t: self.minutes.iter().map(|(t, _)| *t).collect(),
            up: rounded(1.0, |p| p.up),
            down: rounded(1.0, |p| p.down),
            rtt: rounded(100.0, |p| p.rtt),
            loss: rounded(100.0, |p| p.loss),
        }
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
