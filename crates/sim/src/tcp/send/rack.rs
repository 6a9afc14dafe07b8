//! RACK: losses by time (RFC 8985), and how much reordering is waited for.

use super::rtt::RttEstimator;
use super::scoreboard::Sent;
use core::time::Duration;
use ropewalk_air::Time;

/// Recoveries that a widened reordering window lasts (RFC 8985 §6.2, step 4).
const PERSISTENCE: u32 = 16;
/// Segments that may overtake before it counts as loss: RFC 5681's three to begin with.
const INITIAL_REORDERING: u64 = 3;
/// Most segments that are tolerated (Linux's `tcp_max_reordering`).
const MAX_REORDERING: u64 = 300;

#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Latest send time, and end offset, of what has been delivered.
    newest: (Time, u64),
    /// Round trip of that segment.
    rtt: Duration,
    /// A segment was seen to be overtaken.
    pub reordering_seen: bool,
    /// Segments that may overtake.
    pub reordering: u64,
    /// The window in quarters of the smallest round trip.
    steps: u32,
    persist: u32,
    /// Duplicates are counted once per round trip: until this much is delivered.
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            reordering_seen: false,
            reordering: INITIAL_REORDERING,
            steps: 1,
            persist: 0,
            dsack_round: None,
        }
    }
}

impl Rack {
    /// A segment was delivered (§6.2, step 2).
    pub(super) fn on_delivered(&mut self, now: Time, sent: &Sent, min_rtt: Option<Duration>) {
        let rtt = now - sent.sent;
        // Sooner than any round trip: the acknowledgement is for an earlier copy.
        if sent.was_repeated() && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.rtt = rtt;
        self.newest = self.newest.max((sent.sent, sent.end()));
    }

    /// A segment at `low` that was sent once was delivered after one that ends at `high` (step 3).
    pub(super) fn on_reordering(&mut self, low: u64, high: u64, mss: u64) {
        self.reordering_seen = true;
        let segments = high.saturating_sub(low).div_ceil(mss);
        self.reordering = self.reordering.max(segments.min(MAX_REORDERING));
    }

    /// The receiver had a segment twice: the window was too small (step 4). `delivered` counts bytes.
    pub(super) fn on_duplicate(&mut self, delivered: u64, flight: u64) {
        if self.dsack_round.is_some_and(|end| delivered < end) {
            return;
        }
        self.dsack_round = Some(delivered + flight);
        self.steps = (self.steps + 1).min(255);
        self.persist = PERSISTENCE;
    }

    /// A recovery is over.
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// How much later than its successors a segment may arrive (§6.2, step 4).
    fn window(&self, rtt: &RttEstimator, sacked_segments: usize, recovering: bool) -> Duration {
        if !self.reordering_seen && (recovering || sacked_segments as u64 >= self.reordering) {
            return Duration::ZERO;
        }
        let step = rtt.min().unwrap_or_default() / 4;
        (step * self.steps).min(rtt.srtt().unwrap_or_default())
    }

    /// Until when each transmission may still arrive: how long after it was sent, among those sent before what has been
    /// delivered.
    pub(super) fn judge(&self, rtt: &RttEstimator, sacked_segments: usize, recovering: bool) -> Judge {
        let patience = self.rtt + self.window(rtt, sacked_segments, recovering);
        Judge { newest: self.newest, patience }
    }

    /// Sent so recently that a timeout says nothing of it.
    pub(super) fn is_fresh(&self, now: Time, sent: &Sent) -> bool {
        sent.sent + self.rtt > now
    }
}

/// Tells lost from not yet arrived, at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    newest: (Time, u64),
    patience: Duration,
}

impl Judge {
    /// When `sent` will count as lost; none if nothing sent after it has been delivered.
    pub(super) fn lost_at(&self, sent: &Sent) -> Option<Time> {
        ((sent.sent, sent.end()) < self.newest).then(|| sent.sent + self.patience)
    }
}
