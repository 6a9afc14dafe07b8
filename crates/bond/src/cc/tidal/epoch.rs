//! What one epoch told: about a round trip of sending, acknowledgements and delays.

use crate::cc::Ack;
use crate::time::Time;

/// An epoch that is being measured. Epochs follow each other without a gap, so the error of cutting a stream of
/// packets at an arbitrary one cancels from epoch to epoch.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    start: Time,
    /// Send time of the newest packet acknowledged when the epoch began.
    sent_start: Time,
    acked: f64,
    lost: f64,
    app_limited: f64,
    acks: u32,
    ce: u64,
    packets: f64,
    queue: f64,
}

/// A finished epoch. Seconds, bytes, and bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub now: Time,
    /// How long it took.
    pub span: f64,
    pub acked: f64,
    pub lost: f64,
    /// Rate at which the packets that were acknowledged in it had been sent.
    pub sent_rate: f64,
    /// Smallest queue delay in it.
    pub queue: f64,
    /// Part of the packets that were CE-marked.
    pub ce: f64,
    /// A good part of it was limited by what there was to send.
    pub app_limited: bool,
}

/// An epoch in which more than this part of the bytes was app-limited says nothing about the path's capacity.
const APP_LIMITED_PART: f64 = 0.1;

impl Epoch {
    pub(super) fn begin(now: Time, sent: Time) -> Self {
        Epoch {
            start: now,
            sent_start: sent,
            acked: 0.0,
            lost: 0.0,
            app_limited: 0.0,
            acks: 0,
            ce: 0,
            packets: 0.0,
            queue: f64::INFINITY,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64, mtu: f64) {
        self.acked += ack.bytes as f64;
        self.packets += (ack.bytes as f64 / mtu).max(1.0);
        if ack.app_limited {
            self.app_limited += ack.bytes as f64;
        }
        self.ce += ack.ce_packets;
        self.acks += 1;
        self.queue = self.queue.min(queue);
    }

    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.lost += bytes as f64;
    }

    /// Whether a packet sent in it has come back, and it is `min_span` seconds and four acknowledgements old.
    pub(super) fn is_over(&self, ack: &Ack, min_span: f64) -> bool {
        ack.newest_sent >= self.start && self.acks >= 4 && ack.now.since(self.start).as_secs_f64() >= min_span
    }

    pub(super) fn report(&self, ack: &Ack) -> Report {
        let span = ack.now.since(self.start).as_secs_f64().max(1e-6);
        let sent_span = ack.newest_sent.since(self.sent_start).as_secs_f64().max(1e-6);
        Report {
            now: ack.now,
            span,
            acked: self.acked,
            lost: self.lost,
            sent_rate: (self.acked + self.lost) / sent_span,
            queue: self.queue,
            ce: self.ce as f64 / self.packets.max(1.0),
            app_limited: self.app_limited > APP_LIMITED_PART * self.acked,
        }
    }
}
