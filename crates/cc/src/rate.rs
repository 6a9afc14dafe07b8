//! Delivery-rate estimation, after draft-cheng-iccrg-delivery-rate-estimation.
//!
//! Each packet carries a [`Snapshot`] of what had been delivered when it was sent. When it is acknowledged, the
//! bytes delivered in between, over the longest of the times it took to *send* them, to *acknowledge* them, and for them
//! to *arrive*, is a rate the path really sustained. Taking the longest keeps bunched acknowledgements (Wi-Fi, interrupt
//! coalescing) from looking like a fast path (§2.2.3 there), and what a receiver says of arrivals from raising a rate.

use ropewalk_time::{Duration, Time};

/// State of the connection when a packet left; kept in the path's record of that packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes delivered on this path until then.
    pub delivered: u64,
    /// When the last of them arrived: [`RateSampler::on_acked`].
    pub delivered_time: Time,
    /// When the last of them was acknowledged.
    pub acked_time: Time,
    /// Send time of the first packet of the flight this one belongs to.
    pub first_sent: Time,
    /// The sender had too little to send, so a sample from this packet is only a lower bound.
    pub app_limited: bool,
}

/// What one acknowledgement says about the path's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bits per second.
    pub bps: u64,
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longest of the times to send them, to acknowledge them, and for them to arrive.
    pub interval: Duration,
    /// Only a lower bound: see [`Snapshot::app_limited`].
    pub app_limited: bool,
}

/// Delivery-rate estimator of one path. Calls: [`on_send`](Self::on_send) per packet, then per acknowledgement
/// [`on_acked`](Self::on_acked) for each packet it newly confirms, then one [`sample`](Self::sample).
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    delivered: u64,
    delivered_time: Time,
    acked_time: Time,
    first_sent: Time,
    /// Samples are app-limited until this much is delivered; 0 when they are not.
    app_limited_until: u64,
    round_end: u64,
    round_started: bool,
    newest: Option<(Time, Snapshot)>,
}

impl RateSampler {
    /// An estimator that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A packet is about to leave with `inflight` bytes already on the way. Keep the snapshot with the packet.
    pub fn on_send(&mut self, now: Time, inflight: u64) -> Snapshot {
        if inflight == 0 {
            // A fresh flight: idle time before it must not count (draft §3.2).
            self.first_sent = now;
            self.delivered_time = now;
            self.acked_time = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            acked_time: self.acked_time,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until != 0,
        }
    }

    /// The path has room, and nothing is there to send: until all that is on the way (`inflight` bytes) has
    /// been delivered, samples are lower bounds (draft §3.4).
    pub fn mark_app_limited(&mut self, inflight: u64) {
        self.app_limited_until = (self.delivered + inflight).max(1);
    }

    /// A packet of `bytes` that left at `sent` with `snapshot` is newly acknowledged. `arrived`: now, or earlier by what
    /// the acknowledgement is known to have waited for on its way ([`super::Ack::arrived`]).
    pub fn on_acked(&mut self, now: Time, arrived: Time, bytes: u64, sent: Time, snapshot: &Snapshot) {
        self.delivered += bytes;
        self.delivered_time = self.delivered_time.max(arrived);
        self.acked_time = now;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if snapshot.delivered >= self.round_end {
            self.round_end = self.delivered;
            self.round_started = true;
        }
        // The packet sent last gives the freshest view (draft §3.3, `IsNewestPacket`).
        if self.newest.is_none_or(|(t, s)| (sent, snapshot.delivered) > (t, s.delivered)) {
            self.newest = Some((sent, *snapshot));
        }
    }

    /// The sample of this acknowledgement. `None` if it confirmed nothing, or if the interval is shorter than
    /// `min_rtt`, which only happens when the record of the flight was lost (spurious retransmission, draft §3.3).
    pub fn sample(&mut self, min_rtt: Duration) -> Option<RateSample> {
        let (sent, snapshot) = self.newest.take()?;
        self.first_sent = sent;
        let send_span = sent.since(snapshot.first_sent);
        let arrival_span = self.delivered_time.since(snapshot.delivered_time);
        let ack_span = self.acked_time.since(snapshot.acked_time);
        let interval = send_span.max(arrival_span).max(ack_span);
        if interval.is_zero() || interval < min_rtt {
            return None;
        }
        let delivered = self.delivered - snapshot.delivered;
        let bps = u128::from(delivered) * 8 * 1_000_000_000 / interval.as_nanos();
        Some(RateSample { bps: bps as u64, delivered, interval, app_limited: snapshot.app_limited })
    }

    /// Whether a round trip ended with what was acknowledged since the last call: a packet sent after the last
    /// round's end has come back.
    pub fn take_round_start(&mut self) -> bool {
        core::mem::take(&mut self.round_started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    /// One packet of 1000 B per ms, each acknowledged 40 ms later, in bunches of `bunch` ms.
    fn last_sample(bunch: u64) -> RateSample {
        let mut s = RateSampler::new();
        let mut sent = Vec::new();
        let mut acked = 0;
        let mut last = None;
        for t in 0..400u64 {
            let inflight = (sent.len() - acked) as u64 * 1000;
            sent.push((ms(t), s.on_send(ms(t), inflight)));
            if t >= 40 && t % bunch == 0 {
                while acked + 40 <= t as usize {
                    s.on_acked(ms(t), ms(t), 1000, sent[acked].0, &sent[acked].1);
                    acked += 1;
                }
                last = s.sample(RTT).or(last);
            }
        }
        last.unwrap()
    }

    #[test]
    fn steady_flow_gives_its_rate() {
        let bps = last_sample(1).bps;
        assert!((7_800_000..=8_200_000).contains(&bps), "{bps}");
    }

    #[test]
    fn bunched_acknowledgements_do_not_inflate() {
        let bps = last_sample(20).bps;
        assert!(bps <= 8_250_000, "{bps}");
        assert!(bps >= 5_000_000, "{bps}");
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut s = RateSampler::new();
        let a = s.on_send(ms(0), 0);
        s.on_acked(ms(40), ms(40), 1000, ms(0), &a);
        assert_eq!(s.sample(RTT).unwrap().bps, 200_000);
        let b = s.on_send(ms(9_000), 0);
        s.on_acked(ms(9_040), ms(9_040), 1000, ms(9_000), &b);
        assert_eq!(s.sample(RTT).unwrap().bps, 200_000);
    }

    #[test]
    fn app_limited_until_the_flight_is_delivered() {
        let mut s = RateSampler::new();
        s.mark_app_limited(0);
        let a = s.on_send(ms(0), 0);
        s.mark_app_limited(1000);
        assert!(a.app_limited);
        s.on_acked(ms(40), ms(40), 1000, ms(0), &a);
        assert!(s.sample(RTT).unwrap().app_limited);
        let b = s.on_send(ms(41), 0);
        s.on_acked(ms(81), ms(81), 1000, ms(41), &b);
        let c = s.on_send(ms(82), 0);
        s.on_acked(ms(122), ms(122), 1000, ms(82), &c);
        assert!(!s.sample(RTT).unwrap().app_limited);
    }

    #[test]
    fn rounds_follow_the_data() {
        let mut s = RateSampler::new();
        let a = s.on_send(ms(0), 0);
        let b = s.on_send(ms(1), 1000);
        s.on_acked(ms(40), ms(40), 1000, ms(0), &a);
        assert!(s.take_round_start());
        s.on_acked(ms(41), ms(41), 1000, ms(1), &b);
        assert!(!s.take_round_start(), "sent before the round began");
        let c = s.on_send(ms(42), 0);
        s.on_acked(ms(82), ms(82), 1000, ms(42), &c);
        assert!(s.take_round_start());
    }

    #[test]
    fn shorter_than_min_rtt_is_no_sample() {
        let mut s = RateSampler::new();
        let a = s.on_send(ms(0), 0);
        s.on_acked(ms(10), ms(10), 1000, ms(0), &a);
        assert_eq!(s.sample(RTT), None);
    }
}
