//! Pacing: a token bucket that is asked how much may leave now.

use ropewalk_time::{Duration, Time};

/// What may leave at once, as time at the pacing rate: two quanta, so that a timer that is late by one loses nothing.
const BURST: Duration = Duration::from_millis(1);
/// Four GSO batches: with less, a sender that sleeps while others have the processor loses at Gb/s what it was owed.
const MAX_BURST: u64 = 4 * 65_536;
/// What is worth a wake-up and a system call, as time at the pacing rate: from 50 Mb/s on several datagrams leave together. A
/// queue is longer by half of it; TCP of Linux sends a millisecond's worth (`sk_pacing_shift`).
const QUANTUM: Duration = Duration::from_micros(500);
/// Most of a GSO batch.
const MAX_QUANTUM: u64 = 49_152;

/// Bytes by which packets that did not wait may run ahead.
const MAX_DEBT: f64 = 6000.0;

/// Spreads a path's packets over time.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// Bytes that may leave at `at`; negative after a packet that did not wait.
    tokens: f64,
    at: Time,
}

impl Pacer {
    fn burst(rate_bps: u64, mtu: u64) -> f64 {
        let by_time = rate_bps as f64 / 8.0 * BURST.as_secs_f64();
        by_time.clamp(2.0 * mtu as f64, MAX_BURST as f64)
    }

    /// Bytes that may leave at `now` at `rate_bps`.
    pub(crate) fn budget(&mut self, now: Time, rate_bps: u64, mtu: u64) -> u64 {
        let earned = now.since(self.at).as_secs_f64() * rate_bps as f64 / 8.0;
        self.at = self.at.max(now);
        self.tokens = (self.tokens + earned).min(Self::burst(rate_bps, mtu));
        self.tokens.max(0.0) as u64
    }

    /// Bytes that should be free before a batch is begun: one datagram at low rates, most of a GSO batch at several Gb/s.
    pub(crate) fn quantum(rate_bps: u64, mtu: u64) -> u64 {
        let by_time = rate_bps as f64 / 8.0 * QUANTUM.as_secs_f64();
        (by_time as u64).clamp(mtu, MAX_QUANTUM.max(mtu))
    }

    /// `bytes` left.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        // Packets of the low-latency class do not wait; a debt of more than a few would punish the path for them.
        self.tokens = (self.tokens - bytes as f64).max(-MAX_DEBT);
    }

    /// When `bytes` may leave.
    pub(crate) fn ready_at(&self, rate_bps: u64, bytes: u64) -> Time {
        let missing = bytes as f64 - self.tokens;
        if missing <= 0.0 {
            return self.at;
        }
        let wait = missing * 8.0 / (rate_bps.max(1) as f64);
        self.at + Duration::from_secs_f64(wait.min(10.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_the_rate_whatever_the_timer_does() {
        let mut p = Pacer::default();
        let (mut sent, mut now) = (0u64, Time::ZERO);
        for i in 0..20_000u64 {
            now += Duration::from_micros(100 + (i * 37) % 150);
            while p.budget(now, 20_000_000, 1500) >= 1500 {
                p.on_sent(1500);
                sent += 1500;
            }
        }
        let rate = sent as f64 * 8.0 / now.since(Time::ZERO).as_secs_f64();
        assert!((rate / 20e6 - 1.0).abs() < 0.002, "{rate}");
    }

    #[test]
    fn names_the_time_it_is_ready() {
        let mut p = Pacer::default();
        assert_eq!(p.budget(Time::from_millis(1), 12_000_000, 1500), 1500);
        p.on_sent(3000);
        let at = p.ready_at(12_000_000, 1500);
        assert_eq!(at, Time::from_millis(3));
        p.on_sent(1 << 20);
        assert!(p.ready_at(12_000_000, 1500) < Time::from_millis(7));
        let mut p = Pacer::default();
        p.budget(Time::from_millis(1), 12_000_000, 1500);
        p.on_sent(3000);
        assert_eq!(p.budget(at, 12_000_000, 1500), 1500);
    }
}
