//! Earliest arrival: bytes go where they will be there first, and a slow path takes from as deep in the queue as it is slow.

use super::{Grant, Scheduler, View, may_take};
use crate::time::Duration;

/// Differences of delay under this are noise; taking from the head is simpler then. Three packets at 20 Mb/s.
const EQUAL_US: f64 = 2_000.0;
/// Datagrams by one grant: a GSO batch. Pacing ends most batches sooner.
const BATCH: usize = 44;

/// The default scheduler.
///
/// A byte sent on path *s* now arrives Δ = owd(s) − owd(f) later than on a faster path *f*. During Δ the faster paths carry rate(f) · Δ more
/// bytes. So *s* takes the bytes that lie that deep in the queue: they arrive in their turn. If the queue is
/// shorter, *s* has nothing to add, and takes nothing. Compare ECF (Lim et al., CoNEXT 2017) and OTIAS (Yang et al., 2014), which decide
/// packet by packet when to wait for the fast path; here the queue's depth decides for all paths at once, and the binding is as late as can be.
#[derive(Debug)]
pub struct EarliestArrival {
    max_spread_us: f64,
    copy_urgent: bool,
}

impl EarliestArrival {
    /// `max_spread`: a path slower than the fastest by more than this carries no ordered data while a faster one works. `copy_urgent`: urgent
    /// packets go to every path.
    pub fn new(max_spread: Duration, copy_urgent: bool) -> Self {
        EarliestArrival { max_spread_us: max_spread.as_micros() as f64, copy_urgent }
    }

    fn skip_bytes(paths: &[View], i: usize) -> f64 {
        let own = paths[i].one_way_us;
        let ahead = paths.iter().filter(|p| p.one_way_us + EQUAL_US < own);
        ahead.map(|p| p.rate_bps as f64 / 8.0 * (own - p.one_way_us) / 1e6).sum()
    }
}

impl Scheduler for EarliestArrival {
    fn name(&self) -> &'static str {
        if self.copy_urgent { "redundant-urgent" } else { "earliest-arrival" }
    }

    fn next(&mut self, paths: &[View], declined: u16) -> Option<Grant> {
        let best = paths.iter().map(|p| p.one_way_us).min_by(f64::total_cmp)?;
        let path = may_take(paths, declined)
            .filter(|i| paths[*i].one_way_us - best <= self.max_spread_us)
            .min_by(|a, b| paths[*a].one_way_us.total_cmp(&paths[*b].one_way_us))?;
        Some(Grant { path, skip_bytes: Self::skip_bytes(paths, path) as u64, datagrams: BATCH, copies: false })
    }

    fn copies_urgent(&self) -> bool {
        self.copy_urgent
    }
}
