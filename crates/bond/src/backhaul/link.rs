//! What the backhaul knows of the link under one path.

use super::utilisation::Utilisation;
use crate::feedback::{Completions, LinkState, Source};
use crate::path::Path;
use crate::path::recv::{SPARSE, SPARSE_GAP};
use crate::schedule::DeviceThreshold;
use ropewalk_time::{Duration, Time};

/// A peer that acknowledges seldom is asked for an acknowledgement this often, where nobody else says what became of the datagrams.
const ASK: Duration = Duration::from_millis(10);

/// A link holds some milliseconds of work. Datagrams that wait longer wait behind it: in a modem or an adapter at its end, of which completions say nothing.
const QUEUED: Duration = Duration::from_millis(24);

/// The link under one path: its completions, and what follows from them.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// How many datagrams are still in front of the link or on the air.
    pub completions: Completions,
    /// How much of the time it has work.
    pub utilisation: Utilisation,
    /// When the peer was last asked to acknowledge.
    asked: Time,
    /// Number of the last datagram with packets of the low-latency class.
    pub last_low_latency: Option<u64>,
    /// It is changing its channel: it is used while no other works.
    pub is_away: bool,
}

impl Link {
    /// The link under a path whose next datagram has this number.
    pub(super) fn starting_at(number: u64) -> Link {
        Link { completions: Completions::starting_at(number), ..Link::default() }
    }

    /// A datagram of `bytes` on the wire left, the last one that `path` knows.
    pub(super) fn on_sent(&mut self, now: Time, path: &Path, bytes: u32) {
        self.completions.on_sent(bytes);
        self.note_utilisation(now, path);
    }

    /// The link reports.
    pub(super) fn on_link(&mut self, now: Time, path: &Path, state: LinkState) {
        self.completions.on_link(now, state, path.sent.next_number());
        self.note_utilisation(now, path);
    }

    /// The peer acknowledged the datagram with this number, the highest so far.
    pub(super) fn on_acked(&mut self, now: Time, path: &Path, number: u64) {
        self.completions.on_acked(now, number, path.sent.next_number());
        self.note_utilisation(now, path);
    }

    /// All that was in flight is declared lost.
    pub(super) fn on_all_lost(&mut self, path: &Path) {
        self.completions.on_all_lost(path.sent.next_number());
        self.utilisation = Utilisation::default();
    }

    fn note_utilisation(&mut self, now: Time, path: &Path) {
        let waits = path.sent.inflight() > 0 && path.rtt.queued() > QUEUED;
        self.utilisation.note(now, self.outstanding(path) > 0 || waits);
    }

    /// Datagrams without a completion.
    pub(super) fn outstanding(&self, path: &Path) -> u64 {
        self.completions.outstanding(path.sent.next_number())
    }

    /// The same in datagrams of full length. Of the smallest, four count as one at least: each takes its turn on the air.
    pub(super) fn outstanding_full(&self, path: &Path) -> u64 {
        let full = self.completions.held_bytes().div_ceil(u64::from(path.mtu.current()));
        full.max(self.outstanding(path) / 4)
    }

    /// Datagrams of full length that it completes per second while it is served.
    pub(super) fn completed_pps(&self, path: &Path) -> f64 {
        self.completions.rate() / f64::from(path.mtu.current())
    }

    /// How many datagrams of full length it may hold.
    pub(super) fn threshold(&self, now: Time, path: &Path, limits: &DeviceThreshold) -> u32 {
        // Acknowledgements are late by a round trip and the time between two requests; the link's own report is not.
        let late = match self.completions.source(now) {
            Source::Acknowledgements if path.rtt.is_known() => path.rtt.min() + ASK,
            _ => Duration::ZERO,
        };
        limits.of(self.completed_pps(path), late.as_secs_f64())
    }

    /// The link reports that it still holds the last datagram of the low-latency class, and another one.
    pub(super) fn holds_low_latency(&self, now: Time, path: &Path) -> bool {
        let outstanding = self.outstanding(path);
        self.completions.source(now) == Source::Link
            && outstanding > 1
            && self.last_low_latency.is_some_and(|number| number >= path.sent.next_number() - outstanding)
    }

    /// Whether the datagram that leaves now is to ask for an acknowledgement; notes that it does. `fills`: nothing leaves behind it until the link is
    /// known to hold less, so that nothing could ask later.
    pub(super) fn asks(&mut self, now: Time, path: &Path, fills: bool) -> bool {
        let silent = self.completions.source(now) == Source::Acknowledgements;
        let due = fills && silent || now.since(self.asked) >= ASK;
        let asks = due && (silent || path.cc.listens());
        if asks {
            self.asked = now;
        }
        asks
    }

    /// By how much the peer's acknowledgements are later than on other bonds.
    pub(super) fn ack_delay(&self, now: Time) -> Duration {
        match self.completions.source(now) {
            Source::Link => SPARSE.1,
            Source::Acknowledgements => ASK + SPARSE_GAP,
        }
    }
}
