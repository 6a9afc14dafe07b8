//! What a flow got.

use hdrhistogram::Histogram;
use ropewalk_air::Time;
use std::time::Duration;

/// Datagrams behind the newest in which one that comes twice is told from one that comes late.
const WINDOW: u32 = 1024;

/// Spans of time, each told within 1 %, at most 17 minutes.
#[derive(Clone, Debug)]
pub struct Spans(Histogram<u64>);

impl Default for Spans {
    fn default() -> Spans {
        // 1 µs to 2^30 µs with two digits: 40 KB, whatever the length of the run. The bounds are valid by themselves.
        Spans(Histogram::new_with_bounds(1, 1 << 30, 2).expect("1 ≤ 2^30 / 2, and two digits are allowed"))
    }
}

impl Spans {
    /// Counts one.
    pub fn record(&mut self, span: Duration) {
        self.0.saturating_record(u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1));
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The span that this share of all does not exceed, milliseconds; none if there are none.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_percentile(percent) as f64 / 1e3)
    }

    /// Their mean, milliseconds.
    pub fn mean_ms(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.mean() / 1e3)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.reset();
    }
}

/// Numbers that have arrived: new, late or again?
#[derive(Clone, Debug, Default)]
struct Seen {
    next: u32,
    /// One bit for each of the last [`WINDOW`] numbers.
    bits: [u64; (WINDOW / 64) as usize],
}

#[derive(Debug, PartialEq, Eq)]
enum Arrival {
    InOrder,
    Late,
    Again,
}

impl Seen {
    fn mark(&mut self, seq: u32) -> bool {
        let (word, bit) = ((seq % WINDOW / 64) as usize, 1u64 << (seq % 64));
        let old = self.bits[word] & bit != 0;
        self.bits[word] |= bit;
        old
    }

    fn arrive(&mut self, seq: u32) -> Arrival {
        if seq >= self.next {
            if seq - self.next >= WINDOW {
                self.bits = [0; (WINDOW / 64) as usize];
            } else {
                for skipped in self.next..seq {
                    self.bits[(skipped % WINDOW / 64) as usize] &= !(1 << (skipped % 64));
                }
            }
            self.next = seq + 1;
            let (word, bit) = ((seq % WINDOW / 64) as usize, 1u64 << (seq % 64));
            self.bits[word] |= bit;
            return Arrival::InOrder;
        }
        let old = self.next - seq <= WINDOW && self.mark(seq);
        if old { Arrival::Again } else { Arrival::Late }
    }
}

/// One flow's record since the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub struct FlowRecord {
    /// Packets sent.
    pub sent: u64,
    /// Bytes of payload sent.
    pub sent_bytes: u64,
    /// Packets received, copies not counted.
    pub received: u64,
    /// Bytes of payload that the application got.
    pub received_bytes: u64,
    /// Packets that came after one sent later (RFC 4737 §3.3).
    pub reordered: u64,
    /// Packets that came again.
    pub duplicates: u64,
    /// Packets that came with Congestion Experienced (RFC 3168).
    pub ce_marks: u64,
    /// One way.
    pub delay: Spans,
    /// There and back.
    pub rtt: Spans,
    /// Requests or segments from the first byte asked for to the last byte got.
    pub completion: Spans,
    /// Longest time without anything.
    pub longest_gap: Duration,
    /// Times that nothing came for longer than [`FlowRecord::STALL`].
    pub stalls: u64,
    /// When something came last.
    pub last: Option<Time>,
    /// When the flow had done all it had to do.
    pub finished: Option<Time>,
    seen: Seen,
}

impl FlowRecord {
    /// A flow that gets nothing for so long has stalled: people notice.
    pub const STALL: Duration = Duration::from_millis(200);

    /// Forgets what was counted; numbers that have arrived stay known.
    pub fn start_measuring(&mut self, now: Time) {
        let seen = std::mem::take(&mut self.seen);
        *self = FlowRecord { seen, last: self.last.map(|_| now), ..FlowRecord::default() };
    }

    /// A packet with so many bytes of payload was sent.
    pub fn on_sent(&mut self, payload: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(payload);
    }

    /// A numbered packet came that was sent at `sent`.
    pub fn on_datagram(&mut self, now: Time, seq: u32, sent: Time, payload: u32) {
        match self.seen.arrive(seq) {
            Arrival::Again => {
                self.duplicates += 1;
                return;
            }
            Arrival::Late => self.reordered += 1,
            Arrival::InOrder => {}
        }
        self.received += 1;
        self.delay.record(now - sent);
        self.on_bytes(now, u64::from(payload));
    }

    /// The application got bytes.
    pub fn on_bytes(&mut self, now: Time, bytes: u64) {
        self.received_bytes += bytes;
        if let Some(last) = self.last.replace(now) {
            let gap = now - last;
            self.longest_gap = self.longest_gap.max(gap);
            self.stalls += u64::from(gap > FlowRecord::STALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_late_from_again() {
        let mut f = FlowRecord::default();
        let now = Time::from_millis(10);
        for seq in [0, 1, 3, 2, 2, 3, 5, 4] {
            f.on_datagram(now, seq, Time::ZERO, 100);
        }
        assert_eq!((f.received, f.reordered, f.duplicates, f.received_bytes), (6, 2, 2, 600));
        // Far ahead, then back into the window: numbers of the lap before must not be taken for these.
        for seq in [5000, 4500, 4500] {
            f.on_datagram(now, seq, Time::ZERO, 100);
        }
        assert_eq!((f.received, f.reordered, f.duplicates), (8, 3, 3));
    }

    #[test]
    fn stalls_are_counted_and_forgotten_after_the_warm_up() {
        let mut f = FlowRecord::default();
        f.on_bytes(Time::from_millis(0), 1);
        f.on_bytes(Time::from_millis(300), 1);
        f.on_bytes(Time::from_millis(400), 1);
        assert_eq!((f.stalls, f.longest_gap), (1, Duration::from_millis(300)));
        f.start_measuring(Time::from_millis(450));
        f.on_bytes(Time::from_millis(500), 7);
        assert_eq!((f.stalls, f.longest_gap, f.received_bytes), (0, Duration::from_millis(50), 7));
    }

    #[test]
    fn percentiles_are_within_a_hundredth() {
        let mut s = Spans::default();
        assert_eq!(s.percentile_ms(50.0), None);
        (1..=1000).for_each(|ms| s.record(Duration::from_millis(ms)));
        for (percent, ms) in [(50.0, 500.0), (99.0, 990.0)] {
            let told = s.percentile_ms(percent).unwrap();
            assert!((told / ms - 1.0).abs() < 0.01, "{percent} %: {told}");
        }
    }
}
