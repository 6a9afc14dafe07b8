//! The past of each path of a bond, and its form on disk.

use super::past::{MINUTES, MOST, Past, Ring, Series, Span, Values};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Paths whose past is kept.
pub(super) const PATHS: usize = MOST;

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

/// What its values are called.
const NAMES: [&str; 4] = ["up", "down", "rtt", "loss"];

/// The past of all paths, by peer and path.
#[derive(Debug, Default)]
pub(super) struct Rings(Past<(String, String), 4>);

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
        let kept = |((peer, path), ring): (&(String, String), &Ring<4>)| KeptPath::of(peer, path, ring);
        Kept { version: VERSION, paths: self.0.0.iter().map(kept).collect() }
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
            let of_today = |(t, _): &(u32, Values<4>)| *t < now / 60 && *t + MINUTES as u32 > now / 60;
            let minutes: VecDeque<(u32, Values<4>)> = points.filter(of_today).collect();
            if !minutes.is_empty() {
                rings.0.0.insert((path.peer, path.path), Ring::of_minutes(minutes));
            }
        }
        Ok(rings)
    }

    /// Adds what a path did in the second `now`.
    pub(super) fn add(&mut self, peer: &str, path: &str, now: u32, point: Point) {
        let Point { up, down, rtt, loss } = point;
        self.0.add((peer.to_owned(), path.to_owned()), now, [up, down, rtt, loss]);
    }

    /// The past of a peer's paths.
    pub(super) fn of(&self, peer: &str, span: Span) -> Vec<Series> {
        let own = self.0.0.iter().filter(|((p, _), _)| p == peer);
        own.map(|((_, path), ring)| ring.series(path, NAMES, span)).collect()
    }
}

impl KeptPath {
    fn of(peer: &str, path: &str, ring: &Ring<4>) -> KeptPath {
        // Short numbers: a whole bit per second, a hundredth of a millisecond, of a per cent.
        let rounded = |steps: f32, i: usize| {
            let round = |v: &Values<4>| Some((v[i] * steps).round() / steps).filter(|v| v.is_finite());
            ring.minutes.iter().map(|(_, v)| round(v)).collect()
        };
        KeptPath {
            peer: peer.into(),
            path: path.into(),
            t: ring.minutes.iter().map(|(t, _)| *t).collect(),
            up: rounded(1.0, 0),
            down: rounded(1.0, 1),
            rtt: rounded(100.0, 2),
            loss: rounded(100.0, 3),
        }
    }

    fn points(&self) -> Result<Vec<(u32, Values<4>)>, &'static str> {
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
        let point = |i: usize| (self.t[i], values.map(|of| of[i].unwrap_or(f32::NAN)));
        Ok((0..self.t.len()).map(point).collect())
    }
}
