//! Earliest arrival: bytes go where they will be there first, and a slow path takes from as deep in the queue as it is slow.

use super::{Allocation, PathInfo, Scheduler, may_take};
use crate::path::PathId;
use ropewalk_time::Duration;

/// A path must be faster than the one in use by this to replace it, or by the jitter of either if that is more: delays are noisy, and a flow that
/// changes paths meets the difference. Three packets at 20 Mb/s.
const MARGIN_US: f64 = 2_000.0;
/// Datagrams by one allocation: a GSO batch. Pacing ends most batches sooner.
const BATCH: usize = 44;

/// The default scheduler.
///
/// A byte sent on path *s* now arrives Δ = owd(s) − owd(f) later than on a faster path *f*. During Δ the faster paths carry rate(f) · Δ more
/// bytes. So *s* takes the bytes that lie that deep in the queue: they arrive in their turn. If the queue is
/// shorter, *s* has nothing to add, and takes nothing. Compare ECF (Lim et al., CoNEXT 2017) and OTIAS (Yang et al., 2014), which decide
/// packet by packet when to wait for the fast path; here the queue's depth decides for all paths at once, and the binding is as late as can be.
///
/// Of paths that are about equal, one is the main one: what it can carry alone stays on it, and the others take what is left over.
#[derive(Debug)]
pub struct EarliestArrival {
    max_spread_us: f64,
    copy_low_latency: bool,
    main: PathId,
}

impl EarliestArrival {
    /// `max_spread`: a path slower than the fastest by more than this carries no ordered data while a faster one works. `copy_low_latency`: low-latency
    /// packets go to every path.
    pub fn new(max_spread: Duration, copy_low_latency: bool) -> Self {
        EarliestArrival {
            max_spread_us: max_spread.as_micros() as f64,
            copy_low_latency,
            main: PathId::default(),
        }
    }

    /// One-way delay as it counts here: a path other than the main one has to make up for its uncertainty.
    fn delay(&self, p: &PathInfo) -> f64 {
        let margin = MARGIN_US.max(p.jitter.as_micros() as f64);
        p.one_way_us + if p.id == self.main { 0.0 } else { margin }
    }

    fn find_main(&mut self, paths: &[PathInfo]) -> Option<usize> {
        let best =
            (0..paths.len()).min_by(|a, b| self.delay(&paths[*a]).total_cmp(&self.delay(&paths[*b])))?;
        self.main = paths[best].id;
        Some(best)
    }

    fn skip_bytes(&self, paths: &[PathInfo], i: usize) -> f64 {
        let own = self.delay(&paths[i]);
        let ahead = paths.iter().map(|p| (p.rate_bps as f64 / 8e6, self.delay(p))).filter(|p| p.1 < own);
        ahead.map(|(rate, delay)| rate * (own - delay)).sum()
    }
}

impl Scheduler for EarliestArrival {
    fn name(&self) -> &'static str {
        if self.copy_low_latency { "redundant-low-latency" } else { "earliest-arrival" }
    }

    fn next(&mut self, paths: &[PathInfo]) -> Option<Allocation> {
        let main = self.find_main(paths)?;
        let best = self.delay(&paths[main]);
        let path = may_take(paths)
            .filter(|i| self.delay(&paths[*i]) - best <= self.max_spread_us)
            .min_by(|a, b| self.delay(&paths[*a]).total_cmp(&self.delay(&paths[*b])))?;
        Some(Allocation {
            path,
            skip_bytes: self.skip_bytes(paths, path) as u64,
            datagrams: BATCH,
            copies: false,
        })
    }

    fn copies_low_latency(&self) -> bool {
        self.copy_low_latency
    }

    fn heeds_air(&self) -> bool {
        true
    }
}
