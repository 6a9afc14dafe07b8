//! What one monitor interval told: about a round trip of sending, acknowledgements and delays.

use super::gaps::Gaps;
use crate::Ack;
use ropewalk_time::Time;

/// A monitor interval that is being measured. Its time is that of arrivals ([`Ack::arrived`]): many
/// acknowledgements that come at once after a wait are no fast path. It ends before what arrives
/// later than all before, so it counts whole lumps.
#[derive(Clone, Debug)]
pub(super) struct MonitorInterval {
    start: Time,
    /// Arrival and send time of the newest packet acknowledged when the interval began, and by now.
    arrived_start: Time,
    arrived: Time,
    sent_start: Time,
    sent: Time,
    /// It is to end, however short.
    pub stop: bool,
    acked: f64,
    lost: f64,
    app_limited: f64,
    acks: u32,
    ce: u64,
    packets: f64,
    queue: f64,
    queue_sum: f64,
    swings: Swings,
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
    /// Longest gap between arrivals, without `still`.
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
    pub(super) fn begin(now: Time, arrived: Time, sent: Time) -> Self {
        MonitorInterval {
            start: now,
            arrived_start: arrived,
            arrived,
            sent_start: sent,
            sent,
            stop: false,
            acked: 0.0,
            lost: 0.0,
            app_limited: 0.0,
            acks: 0,
            ce: 0,
            packets: 0.0,
            queue: f64::INFINITY,
            queue_sum: 0.0,
            swings: Swings::default(),
            longest_gap: 0.0,
            queue_after: 0.0,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64, mtu: f64) {
        self.acked += ack.bytes as f64;
        self.sent = self.sent.max(ack.newest_sent);
        let last = self.arrived;
        self.arrived = last.max(ack.arrived());
        let gap = self.arrived.since(last).as_secs_f64();
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

    /// Whether it is over before this acknowledgement: a packet sent in it has come back, and it is
    /// `min_span` seconds and four acknowledgements long.
    pub(super) fn is_over(&self, ack: &Ack, min_span: f64) -> bool {
        let enough = self.sent >= self.start && self.acks >= 4 && self.span() >= min_span;
        (enough || self.stop) && ack.arrived() > self.arrived
    }

    /// Seconds of arrivals in it.
    pub(super) fn span(&self) -> f64 {
        self.arrived.since(self.arrived_start).as_secs_f64()
    }

    /// What it told, and the next one.
    pub(super) fn end(&self, now: Time, gaps: &Gaps) -> (Report, MonitorInterval) {
        (self.report(now, gaps), MonitorInterval::begin(now, self.arrived, self.sent))
    }

    fn report(&self, now: Time, gaps: &Gaps) -> Report {
        let span = self.span().max(1e-6);
        let still = gaps.still(self.longest_gap, self.queue_after);
        let sent_span = self.sent.since(self.sent_start).as_secs_f64().max(1e-6);
        Report {
            now,
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
