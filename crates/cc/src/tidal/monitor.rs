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
    /// What was newest when the interval began, and is by now.
    from: Newest,
    to: Newest,
    /// It is to end, however short.
    pub stop: bool,
    acked: f64,
    lost: f64,
    app_limited: f64,
    acks: u32,
    ce: u64,
    packets: f64,
    queue: f64,
    peak: f64,
    queue_sum: f64,
    swings: Swings,
    /// Longest gap between acknowledgements, and between arrivals.
    longest_wait: f64,
    longest_gap: f64,
    /// Queue delay of what came after it.
    queue_after: f64,
}

/// Of the newest packet that was acknowledged: when it left and arrived, and when its acknowledgement came.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: Time,
    arrived: Time,
    acked: Time,
}

impl Newest {
    fn and(self, other: Newest) -> Newest {
        let sent = self.sent.max(other.sent);
        Newest { sent, arrived: self.arrived.max(other.arrived), acked: other.acked }
    }
}

/// A finished interval. Seconds, bytes, and bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub now: Time,
    /// How long it took.
    pub span: f64,
    /// How long its acknowledgements took, without what may be a time that the path stood still.
    pub acking: f64,
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
    /// Largest.
    pub peak: f64,
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
    /// The first one, which begins with an acknowledgement. Its packets came before, but what they
    /// waited for counts: it may be the least for long.
    pub(super) fn first(ack: &Ack, queue: f64) -> Self {
        let newest = Newest { sent: ack.newest_sent, arrived: ack.arrived(), acked: ack.now };
        MonitorInterval { queue, ..Self::begin(ack.now, newest) }
    }

    fn begin(now: Time, newest: Newest) -> Self {
        MonitorInterval {
            start: now,
            from: newest,
            to: newest,
            stop: false,
            acked: 0.0,
            lost: 0.0,
            app_limited: 0.0,
            acks: 0,
            ce: 0,
            packets: 0.0,
            queue: f64::INFINITY,
            peak: 0.0,
            queue_sum: 0.0,
            swings: Swings::default(),
            longest_wait: 0.0,
            longest_gap: 0.0,
            queue_after: 0.0,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, queue: f64, mtu: f64) {
        self.acked += ack.bytes as f64;
        let newest = Newest { sent: ack.newest_sent, arrived: ack.arrived(), acked: ack.now };
        let last = self.to;
        self.to = last.and(newest);
        self.longest_wait = self.longest_wait.max(self.to.acked.since(last.acked).as_secs_f64());
        let gap = self.to.arrived.since(last.arrived).as_secs_f64();
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
        self.peak = self.peak.max(queue);
        self.queue_sum += queue;
        self.swings.add(queue);
    }

    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.lost += bytes as f64;
    }

    /// Whether it is over before this acknowledgement: a packet sent in it has come back, and it is
    /// `min_span` seconds and four acknowledgements long.
    pub(super) fn is_over(&self, ack: &Ack, min_span: f64) -> bool {
        let enough = self.to.sent >= self.start && self.acks >= 4 && self.span() >= min_span;
        (enough || self.stop) && ack.arrived() > self.to.arrived
    }

    /// Seconds of arrivals in it.
    pub(super) fn span(&self) -> f64 {
        self.to.arrived.since(self.from.arrived).as_secs_f64()
    }

    /// What it told, and the next one.
    pub(super) fn end(&self, now: Time, gaps: &Gaps) -> (Report, MonitorInterval) {
        (self.report(now, gaps), MonitorInterval::begin(now, self.to))
    }

    fn report(&self, now: Time, gaps: &Gaps) -> Report {
        let span = self.span().max(1e-6);
        let still = gaps.still(self.longest_gap, self.queue_after);
        let sent_span = self.to.sent.since(self.from.sent).as_secs_f64().max(1e-6);
        Report {
            now,
            span,
            acking: self.to.acked.since(self.from.acked).as_secs_f64() - still.min(self.longest_wait),
            gap: self.longest_gap - still,
            still,
            acked: self.acked,
            lost: self.lost,
            sent_rate: (self.acked + self.lost) / sent_span,
            queue: self.queue,
            peak: self.peak,
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
