//! What one monitor interval told: about a round trip of sending, acknowledgements and delays.

use super::gaps::Gaps;
use crate::Ack;
use ropewalk_time::Time;

/// A monitor interval that is being measured. Intervals follow each other without a gap, so the
/// error of cutting a stream of packets at an arbitrary one cancels from interval to interval.
#[derive(Clone, Debug)]
pub(super) struct MonitorInterval {
    start: Time,
    /// Send time of the newest packet acknowledged when the interval began.
    sent_start: Time,
    acked: f64,
    lost: f64,
    app_limited: f64,
    acks: u32,
    ce: u64,
    packets: f64,
    queue: f64,
    queue_sum: f64,
    swings: Swings,
    last: Time,
    longest_gap: f64,
    /// Queue delay of what came after it.
    queue_after: f64,
}

/// A finished interval. Seconds, bytes, and bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub now: Time,
    /// How long it took.
    pub span: f64,
    /// Longest gap between acknowledgements, without `still`.
    pub gap: f64,
    /// How long the path stood still in it.
    pub still: f64,
    pub acked: f64,
    pub lost: f64,
    /// Rate at which the packets that were acknowledged in it had been sent.
    pub sent_rate: f64,
    /// Smallest queue delay in it.
    pub queue: f64,
    /// How much the queue delay moved up and down, and came back.
    pub jitter: f64,
    /// Part of the packets that were CE-marked.
    pub ce: f64,
    /// A good part of it was limited by what there was to send.
    pub app_limited: bool,
}

/// A monitor interval in which more than this part of the bytes was app-limited says nothing about
/// the path's capacity.
const APP_LIMITED_PART: f64 = 0.1;

impl MonitorInterval {
    pub(super) fn begin(now: Time, sent: Time) -> Self {
        MonitorInterval {
            start: now,
            sent_start: sent,
            acked: 0.0,
            lost: 0.0,
            app_limited: 0.0,
            acks: 0,
            ce: 0,
            packets: 0.0,
            queue: f64::INFINITY,
            queue_sum: 0.0,
            swings: Swings::default(),
            last: now,
            longest_gap: 0.0,
            queue_after: 0.0,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64, mtu: f64) {
        self.acked += ack.bytes as f64;
        let last = core::mem::replace(&mut self.last, ack.now);
        let gap = ack.now.since(last).as_secs_f64();
        if gap > self.longest_gap {
            (self.longest_gap, self.queue_after) = (gap, queue);
        }
        self.packets += (ack.bytes as f64 / mtu).max(1.0);
        if ack.app_limited {
            self.app_limited += ack.bytes as f64;
        }
        self.ce += ack.ce_packets;
        self.acks += 1;
        self.queue = self.queue.min(queue);
        self.queue_sum += queue;
        self.swings.add(queue);
    }

    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.lost += bytes as f64;
    }

    /// Whether a packet sent in it has come back, and it is `min_span` seconds and four acknowledgements old.
    pub(super) fn is_over(&self, ack: &Ack, min_span: f64) -> bool {
        ack.newest_sent >= self.start && self.acks >= 4 && ack.now.since(self.start).as_secs_f64() >= min_span
    }

    /// Seconds since it began.
    pub(super) fn age(&self, ack: &Ack) -> f64 {
        ack.now.since(self.start).as_secs_f64()
    }

    pub(super) fn report(&self, ack: &Ack, gaps: &Gaps) -> Report {
        let span = ack.now.since(self.start).as_secs_f64().max(1e-6);
        let still = gaps.still(self.longest_gap, self.queue_after);
        let sent_span = ack.newest_sent.since(self.sent_start).as_secs_f64().max(1e-6);
        Report {
            now: ack.now,
            span,
            gap: self.longest_gap - still,
            still,
            acked: self.acked,
            lost: self.lost,
            sent_rate: (self.acked + self.lost) / sent_span,
            queue: self.queue,
            jitter: self.jitter(),
            ce: self.ce as f64 / self.packets.max(1.0),
            app_limited: self.app_limited > APP_LIMITED_PART * self.acked,
        }
    }

    /// A ramp has a mean far above its minimum, but does not swing; a rare hiccup of the machine swings far, but
    /// hardly moves the mean. Jitter does both.
    fn jitter(&self) -> f64 {
        (self.queue_sum / f64::from(self.acks.max(1)) - self.queue).min(self.swings.size())
    }
}

/// Typical size of up-and-down swings in a series: each swing counts as the smaller of a rise and the fall next to it,
/// so a ramp, which only rises or only falls, counts nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Swings {
    last: Option<f64>,
    /// Sum of the present run of rises, or (negative) of falls, and the run before it.
    run: f64,
    before: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl Swings {
    pub(super) fn add(&mut self, value: f64) {
        let Some(last) = self.last.replace(value) else { return };
        let step = value - last;
        if step * self.run >= 0.0 {
            self.run += step;
            return;
        }
        let swing = self.run.abs().min(self.before.abs());
        self.sum += swing;
        self.sum_of_squares += swing * swing;
        self.before = core::mem::replace(&mut self.run, step);
    }

    /// The mean swing, each weighted by itself, so that fine grain does not hide the large ones.
    pub(super) fn size(&self) -> f64 {
        if self.sum > 0.0 { self.sum_of_squares / self.sum } else { 0.0 }
    }
}
