//! What a flow got.

use super::FlowCounts;
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

    /// How many were no longer than this.
    pub fn within(&self, span: Duration) -> u64 {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1);
        self.0.count_between(1, micros.min(1 << 30))
    }

    /// The span that this share of all does not exceed, milliseconds; none if there are none.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_percentile(percent) as f64 / 1e3)
    }

    /// The least, milliseconds.
    pub fn least_ms(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.min() as f64 / 1e3)
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

/// One flow's record.
#[derive(Clone, Debug, Default)]
pub struct FlowRecord {
    /// Since the start.
    pub counts: FlowCounts,
    /// One way, since the end of the warm-up, as everything below.
    pub delay: Spans,
    /// There and back.
    pub rtt: Spans,
    /// Requests or segments from the first byte asked for to the last byte got.
    pub completion: Spans,
    /// Adaptive streaming: from the first request to the first picture.
    pub startup: Option<Duration>,
    /// Longest time without anything.
    pub longest_gap: Duration,
    /// When something came last.
    pub last: Option<Time>,
    /// When the flow was started.
    pub started: Option<Time>,
    /// When it had done all it had to do.
    pub finished: Option<Time>,
    seen: Seen,
}

impl FlowRecord {
    /// A flow that gets nothing for so long has stalled: people notice.
    pub const STALL: Duration = Duration::from_millis(200);

    /// Forgets spans of time; counters stay, and so do numbers that have arrived.
    pub fn start_measuring(&mut self, now: Time) {
        self.delay.clear();
        self.rtt.clear();
        self.completion.clear();
        self.longest_gap = Duration::ZERO;
        self.last = self.last.map(|_| now);
    }

    /// A packet with so many bytes of payload was sent.
    pub fn on_sent(&mut self, payload: u32) {
        self.counts.sent += 1;
        self.counts.sent_bytes += u64::from(payload);
    }

    /// A numbered packet came that was sent at `sent`. False if it had come before.
    pub fn on_datagram(&mut self, now: Time, seq: u32, sent: Time, payload: u32) -> bool {
        match self.seen.arrive(seq) {
            Arrival::Again => {
                self.counts.duplicates += 1;
                return false;
            }
            Arrival::Late => self.counts.reordered += 1,
            Arrival::InOrder => {}
        }
        self.counts.received += 1;
        self.on_delay(now - sent);
        self.on_bytes(now, u64::from(payload));
        true
    }

    /// A packet took so long, one way.
    pub fn on_delay(&mut self, delay: Duration) {
        self.counts.delay_ns += delay.as_nanos() as u64;
        self.counts.delays += 1;
        self.delay.record(delay);
    }

    /// A round trip took so long.
    pub fn on_rtt(&mut self, rtt: Duration) {
        self.counts.rtt_ns += rtt.as_nanos() as u64;
        self.counts.rtts += 1;
        self.rtt.record(rtt);
    }

    /// A sender's congestion window was looked at.
    pub fn on_window(&mut self, bytes: u64) {
        self.counts.window_bytes += bytes;
        self.counts.windows += 1;
    }

    /// A request was answered in full.
    pub fn on_response(&mut self, took: Duration) {
        self.counts.responses += 1;
        self.completion.record(took);
    }

    /// The application got bytes.
    pub fn on_bytes(&mut self, now: Time, bytes: u64) {
        self.counts.received_bytes += bytes;
        if let Some(last) = self.last.replace(now) {
            let gap = now - last;
            self.longest_gap = self.longest_gap.max(gap);
            self.counts.gaps += u64::from(gap > FlowRecord::STALL);
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
        let counted = |f: &FlowRecord| (f.counts.received, f.counts.reordered, f.counts.duplicates);
        for seq in [0, 1, 3, 2, 2, 3, 5, 4] {
            f.on_datagram(now, seq, Time::ZERO, 100);
        }
        assert_eq!((counted(&f), f.counts.received_bytes), ((6, 2, 2), 600));
        // Far ahead, then back into the window: numbers of the lap before must not be taken for these.
        for seq in [5000, 4500, 4500] {
            f.on_datagram(now, seq, Time::ZERO, 100);
        }
        assert_eq!(counted(&f), (8, 3, 3));
    }

    #[test]
    fn stalls_are_counted_and_forgotten_after_the_warm_up() {
        let mut f = FlowRecord::default();
        f.on_bytes(Time::from_millis(0), 1);
        f.on_bytes(Time::from_millis(300), 1);
        f.on_bytes(Time::from_millis(400), 1);
        assert_eq!((f.counts.gaps, f.longest_gap), (1, Duration::from_millis(300)));
        let before = f.counts;
        f.start_measuring(Time::from_millis(450));
        f.on_bytes(Time::from_millis(500), 7);
        let since = f.counts.since(&before);
        assert_eq!((since.gaps, f.longest_gap, since.received_bytes), (0, Duration::from_millis(50), 7));
    }

    #[test]
    fn windows_of_a_span_are_those_looked_at_in_it() {
        let mut f = FlowRecord::default();
        assert_eq!(f.counts.cwnd_bytes(), None);
        f.on_window(90_000);
        let before = f.counts;
        f.on_window(10_000);
        f.on_window(20_000);
        assert_eq!(f.counts.since(&before).cwnd_bytes(), Some(15_000));
        assert_eq!(f.counts.cwnd_bytes(), Some(40_000));
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
