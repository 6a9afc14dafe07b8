//! A gateway's workers, and one snapshot of them all.

use super::{Drops, Io, Snapshot};
use crate::daemon::Core;
use ropewalk_net::clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One of a gateway's workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerStatus {
    /// Sessions that it has.
    pub sessions: u64,
    /// Processor time that it has used, seconds.
    pub processor_s: f64,
    /// Packets and datagrams that came to it and were another's.
    pub handed_on: u64,
    /// Of these, those that were dropped since too many waited there.
    pub handed_on_lost: u64,
}

impl WorkerStatus {
    /// The one whose loop asks.
    pub(super) fn of(sessions: usize, core: &Core) -> WorkerStatus {
        WorkerStatus {
            sessions: sessions as u64,
            processor_s: clock::processor_time().as_secs_f64(),
            handed_on: core.counters.handed_on,
            handed_on_lost: core.counters.handed_on_lost,
        }
    }

    /// Share of a processor that it has used since `earlier`, so many seconds ago, per cent.
    pub(crate) fn busy_percent(&self, earlier: &WorkerStatus, seconds: f64) -> f64 {
        100.0 * (self.processor_s - earlier.processor_s).max(0.0) / seconds.max(1e-3)
    }
}

impl Snapshot {
    /// Another loop of the same gateway, too.
    pub(crate) fn absorb(&mut self, other: Snapshot) {
        self.peers.extend(other.peers);
        self.workers.extend(other.workers);
        self.drops.absorb(&other.drops);
        self.io.absorb(&other.io);
        self.memory_used += other.memory_used;
        self.memory_peak += other.memory_peak;
        self.memory_limit += other.memory_limit;
        self.notes.extend(other.notes);
        let mut seen = BTreeSet::new();
        self.notes.retain(|note| seen.insert(note.clone()));
    }
}

impl Drops {
    fn absorb(&mut self, other: &Drops) {
        let Drops { malformed, unknown, forged, replayed, handshakes, inner, unroutable, too_long } = self;
        *malformed += other.malformed;
        *unknown += other.unknown;
        *forged += other.forged;
        *replayed += other.replayed;
        *handshakes += other.handshakes;
        *inner += other.inner;
        *unroutable += other.unroutable;
        *too_long += other.too_long;
    }
}

impl Io {
    fn absorb(&mut self, other: &Io) {
        let Io {
            device_in,
            device_out,
            device_refused,
            batches,
            send_full,
            send_too_big,
            send_unreachable,
            overruns,
            wakeups,
        } = self;
        *device_in += other.device_in;
        *device_out += other.device_out;
        *device_refused += other.device_refused;
        *batches += other.batches;
        *send_full += other.send_full;
        *send_too_big += other.send_too_big;
        *send_unreachable += other.send_unreachable;
        *overruns += other.overruns;
        *wakeups += other.wakeups;
    }
}
