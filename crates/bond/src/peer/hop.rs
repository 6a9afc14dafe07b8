//! A hop between an access point and a repeater: the repeater's word on its clients' queues, and what the access point makes of it.

use super::Peer;
use crate::config::Config;
use crate::feedback::LinkState;
use crate::path::{Path, State};
use crate::send::Batch;
use crate::throttle::Throttled;
use crate::time::{Duration, Time};
use crate::wire::QueueFrame;

/// A word waits no longer than this for the link to be rid of what it holds.
const LATEST_WORD: Duration = Duration::from_millis(50);

impl Peer {
    /// The radio reports its queue towards a client. `true`: the peer is to be told at once, for it has not been told of any.
    pub(crate) fn on_client_queue(&mut self, client: u32, state: LinkState, now: Time) -> bool {
        self.clients.on_queue(now, client, state);
        let first = self.word.1.is_none();
        if first {
            self.word.1 = Some(now);
        }
        first
    }

    /// What is due on the hop: the repeater's word, and the access point's notice that it has not come.
    pub(crate) fn tend_hop(&mut self, now: Time, config: &Config) {
        if self.throttled.as_mut().is_some_and(|t| t.on_timer(now)) {
            self.on_queue_changed();
        }
        if self.word.1.is_none_or(|due| due > now) {
            return;
        }
        self.clients.expire(now);
        // Nobody to speak of, or nobody who listens: the next report begins anew.
        let speaks = self.reads_queue && !self.clients.is_empty();
        self.word.1 = speaks.then(|| now + config.throttle.every());
        let way =
            (0..self.paths.len()).filter(|i| self.paths[*i].live.state == State::Active).min_by_key(|i| {
                let p = &self.paths[*i];
                (self.holds_word(p), self.shared_paths & 1 << p.id, p.rtt.smoothed())
            });
        if let (true, Some(i)) = (speaks, way) {
            self.word.0 = self.word.0.wrapping_add(1);
            self.words_sent += 1;
            if !self.paths.iter().any(|p| p.queue_due) {
                self.word_since = Some(now);
            }
            self.paths.iter_mut().for_each(|p| p.queue_due = false);
            self.paths[i].queue_due = true;
        }
    }

    /// The last word is still in front of this link or on it: after some collisions it may stay there for hundreds of milliseconds.
    fn holds_word(&self, p: &Path) -> bool {
        self.word_in
            .is_some_and(|(id, number)| id == p.id && p.sent.next_number() - p.outstanding() <= number)
    }

    /// A word takes a turn of its own, unless something else goes there anyway: not while the link still holds what was sent before, behind which it would
    /// only grow old.
    pub(crate) fn wants_word(&self, path: usize, now: Time) -> bool {
        let p = &self.paths[path];
        p.queue_due && (p.outstanding() == 0 || self.word_since.is_none_or(|at| now >= at + LATEST_WORD))
    }

    /// When a word goes out that waits for the link, at the latest.
    pub(crate) fn word_at(&self) -> Option<Time> {
        self.word_since.filter(|_| self.paths.iter().any(|p| p.queue_due)).map(|at| at + LATEST_WORD)
    }

    /// The repeater's word, as it stands now.
    pub(crate) fn queue_frame(&self, config: &Config) -> QueueFrame {
        let (verdict, packets) = self.clients.verdict(&config.throttle);
        QueueFrame {
            seq: self.word.0,
            shared: self.shared_paths,
            every_ms: u16::try_from(config.throttle.every().as_millis()).unwrap_or(u16::MAX).max(1),
            packets: u16::try_from(packets).unwrap_or(u16::MAX),
            verdict: verdict.code(),
        }
    }

    /// The repeater speaks.
    pub(crate) fn on_queue_frame(&mut self, frame: &QueueFrame, now: Time, config: &Config) {
        if self.throttled.is_none() {
            let throttled = Throttled::new(&config.throttle, config.device_threshold.most, now);
            self.throttled = throttled.map(Box::new);
        }
        if let Some(t) = &mut self.throttled {
            t.on_frame(now, frame);
            self.on_queue_changed();
        }
    }

    /// A batch left on the path of view `view`: .
    pub(crate) fn note_throttled(&mut self, now: Time, view: usize, sent: Batch) {
        let id = self.views[view].id;
        if let Some(t) = self.throttled.as_mut().filter(|t| t.is_shared(id)) {
            t.on_sent(now, id, sent.datagrams());
        }
    }
}
