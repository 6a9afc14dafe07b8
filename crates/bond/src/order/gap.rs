//! A gap: the next packet of a flow is not whole, and something behind it is there.

use crate::wire::Timestamp;
use ropewalk_time::{Duration, Time};

/// How long a missing packet holds those after it.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// After it is known lost: time for it to be sent again, and once more.
    pub repair: Duration,
    /// In any case: the deadline for when paths are silent.
    pub deadline: Duration,
    /// The deadline is that of the packets that wait, however many gaps are before them; otherwise each gap has its own.
    pub of_packets: bool,
}

/// The gap of one flow.
#[derive(Debug)]
pub(super) struct Gap {
    pub flow: u16,
    /// The packet that the others wait for.
    pub next: u32,
    /// Since when it has been one.
    since: Time,
    /// Since when a packet behind it has waited, which may be from before an earlier gap was over.
    waiting: Option<Time>,
    /// Everything before the gap's end was sent when this was: the first such word counts.
    sent_before: Option<Timestamp>,
    /// When it became known lost.
    lost_since: Option<Time>,
}

impl Gap {
    /// A gap of which this is known since `since`; a packet behind it has been `waiting`.
    pub(super) fn new(flow: u16, next: u32, since: Time, waiting: Option<Time>) -> Gap {
        Gap { flow, next, since, waiting, sent_before: None, lost_since: None }
    }

    /// A packet behind the gap left at `timestamp`, after everything before it.
    pub(super) fn note_sent_before(&mut self, timestamp: Timestamp) {
        self.sent_before.get_or_insert(timestamp);
    }

    /// When it is over, whatever happens. `oldest_newest`: of the newest timestamps of all live paths, the oldest.
    pub(super) fn over_at(&mut self, now: Time, oldest_newest: Option<Timestamp>, hold: Hold) -> Time {
        let passed = |s: Timestamp| oldest_newest.is_some_and(|o| o.later_than(s) > 0);
        if self.lost_since.is_none() && self.sent_before.is_some_and(passed) {
            self.lost_since = Some(now);
        }
        let waiting = self.waiting.filter(|_| hold.of_packets).unwrap_or(self.since);
        let latest = self.since.min(waiting) + hold.deadline;
        self.lost_since.map_or(latest, |lost| (lost + hold.repair).min(latest))
    }
}
