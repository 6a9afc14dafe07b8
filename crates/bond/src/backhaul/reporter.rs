//! The repeater's queue report: what waits for its clients, told to the access point (MF-12).

use super::limiter::{self, ClientQueues};
use crate::feedback::LinkState;
use crate::path::PathId;
use crate::wire::QueueFrame;
use ropewalk_time::{Duration, Time};

/// A report waits no longer than this for its link to be rid of what it holds.
const LATEST: Duration = Duration::from_millis(50);

/// When the next report leaves, by which path, and what it says.
#[derive(Debug, Default)]
pub(super) struct Reporter {
    /// What waits for each client.
    pub queues: ClientQueues,
    /// Reports sent.
    pub sent: u64,
    seq: u16,
    /// When the next one is due; `None` while there is nobody to speak of.
    due: Option<Time>,
    /// The path that is to take the report that is due, and since when it waits.
    waiting: Option<(PathId, Time)>,
    /// Path and number of the datagram that took the last one along.
    last: Option<(PathId, u64)>,
}

impl Reporter {
    /// The radio reports its queue towards a client. `true`: the first of all, of which the peer is to be told at once.
    pub(super) fn on_client_queue(&mut self, now: Time, client: u32, state: LinkState) -> bool {
        self.queues.on_queue(now, client, state);
        let first = self.due.is_none();
        self.due.get_or_insert(now);
        first
    }

    /// Whether a report is due. Without clients, or a peer that reads it (`is_read`), none is until a client is heard of again.
    pub(super) fn poll(&mut self, now: Time, every: Duration, is_read: bool) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        self.queues.expire(now);
        let speaks = is_read && !self.queues.is_empty();
        self.due = speaks.then(|| now + every);
        speaks
    }

    /// The report that is due leaves by this path; one that still waited is superseded.
    pub(super) fn queue(&mut self, now: Time, path: PathId) {
        self.seq = self.seq.wrapping_add(1);
        self.sent += 1;
        self.waiting = Some((path, self.waiting.map_or(now, |(_, since)| since)));
    }

    /// A path is gone, or is another one now: a report that was to leave by it waits for the next period.
    pub(super) fn on_path_removed(&mut self, path: PathId) {
        self.waiting.take_if(|(id, _)| *id == path);
    }

    /// The last report is in front of the link of this path or on it; `settled` is the number of the first datagram there.
    pub(super) fn is_held_by(&self, path: PathId, settled: u64) -> bool {
        self.last.is_some_and(|(id, number)| id == path && settled <= number)
    }

    /// Whether the report takes a turn on the air for itself: behind what the link still holds it would only grow old.
    pub(super) fn wants_turn(&self, now: Time, path: PathId, link_is_empty: bool) -> bool {
        self.waiting.is_some_and(|(id, since)| id == path && (link_is_empty || now >= since + LATEST))
    }

    /// The report, if it leaves by this path, whose next datagram has this number.
    pub(super) fn take(
        &mut self,
        path: PathId,
        number: u64,
        shared: u16,
        config: &limiter::Config,
    ) -> Option<QueueFrame> {
        self.waiting.take_if(|(id, _)| *id == path)?;
        self.last = Some((path, number));
        let (level, packets) = self.queues.congestion(config);
        Some(QueueFrame {
            seq: self.seq,
            shared,
            every_ms: u16::try_from(config.every().as_millis()).unwrap_or(u16::MAX).max(1),
            packets: u16::try_from(packets).unwrap_or(u16::MAX),
            verdict: level.code(),
        })
    }

    /// When something is to be done, by the clock alone.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let turn = self.waiting.map(|(_, since)| since + LATEST);
        [self.due, turn].into_iter().flatten().min()
    }
}
