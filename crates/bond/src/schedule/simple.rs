//! The schedulers that others have, for comparison and for those who want them.

use super::{Allocation, PathInfo, Scheduler, may_take};
use crate::path::PathId;

/// One datagram at a time on the path of least round-trip time that has room (the default of kernel MPTCP up to 5.18).
#[derive(Debug)]
pub struct MinRtt;

impl Scheduler for MinRtt {
    fn name(&self) -> &'static str {
        "min-rtt"
    }

    fn next(&mut self, paths: &[PathInfo]) -> Option<Allocation> {
        let path = may_take(paths).min_by_key(|i| paths[*i].srtt)?;
        Some(Allocation { path, skip_bytes: 0, datagrams: 1, copies: false })
    }
}

/// Each path in turn, passing over those without room. Turns are even in bytes: what is left of a packet that did not fit a datagram
/// is no turn of its own, or one path would have all long datagrams and the other all rests.
#[derive(Debug, Default)]
pub struct RoundRobin {
    last: PathId,
    /// Bytes ahead of the path that has had the least, by path identifier.
    ahead: [u64; crate::wire::MAX_PATHS],
}

impl Scheduler for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn next(&mut self, paths: &[PathInfo]) -> Option<Allocation> {
        // Of those that had the least the next identifier after the last, cyclically.
        let turn = |i: &usize| (self.ahead[paths[*i].id.index()], paths[*i].id.turn_after(self.last));
        let path = may_take(paths).min_by_key(turn)?;
        Some(Allocation { path, skip_bytes: 0, datagrams: 1, copies: false })
    }

    fn on_sent(&mut self, paths: &[PathInfo], path: usize, bytes: u64) {
        self.last = paths[path].id;
        let before = self.ahead[self.last.index()];
        // Whoever could not take its turn is not owed it.
        let passed_over = (0..paths.len()).filter(|i| *i != path && !paths[*i].may_take());
        for i in passed_over {
            let ahead = &mut self.ahead[paths[i].id.index()];
            *ahead = (*ahead).max(before + bytes);
        }
        self.ahead[self.last.index()] = before + bytes;
        let least = paths.iter().map(|p| self.ahead[p.id.index()]).min().unwrap_or(0);
        self.ahead.iter_mut().for_each(|a| *a = a.saturating_sub(least));
    }
}

/// Shares bytes by the weights that a user gave, whatever the paths can do (smooth weighted round
/// robin).
#[derive(Debug, Default)]
pub struct Weighted {
    /// Bytes over weight, by path identifier.
    used: [f64; crate::wire::MAX_PATHS],
}

impl Scheduler for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }

    fn next(&mut self, paths: &[PathInfo]) -> Option<Allocation> {
        // Strict: if the one whose turn it is has no room, all wait.
        let turn = (0..paths.len())
            .filter(|i| !paths[*i].nothing_to_send)
            .min_by(|a, b| self.used[paths[*a].id.index()].total_cmp(&self.used[paths[*b].id.index()]))?;
        paths[turn].has_room.then_some(Allocation { path: turn, skip_bytes: 0, datagrams: 1, copies: false })
    }

    fn on_sent(&mut self, paths: &[PathInfo], path: usize, bytes: u64) {
        self.used[paths[path].id.index()] += bytes as f64 / f64::from(paths[path].weight.max(1));
        // Whoever was away is not owed the time it was away.
        let least = paths.iter().map(|p| self.used[p.id.index()]).fold(f64::INFINITY, f64::min);
        self.used.iter_mut().for_each(|u| *u = (*u - least).max(0.0));
    }
}

/// Everything on every path: the first copy counts. The paths' least rate is the bond's.
#[derive(Debug)]
pub struct Redundant;

impl Scheduler for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }

    fn next(&mut self, paths: &[PathInfo]) -> Option<Allocation> {
        let path = may_take(paths).min_by(|a, b| paths[*a].one_way_us.total_cmp(&paths[*b].one_way_us))?;
        Some(Allocation { path, skip_bytes: 0, datagrams: 1, copies: true })
    }

    fn copies_low_latency(&self) -> bool {
        true
    }
}
