//! What TCP puts around a congestion controller of [`ropewalk_cc`]: the way down to a smaller window (RFC 6937),
//! the rebuilding of the window after a timeout or an idle time (RFC 5681), and pacing. The controller itself is the
//! bond's, unchanged; its bytes are payload bytes and its datagrams are segments of one MSS.

use super::super::{Pacing, TcpConfig};
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_cc::filter::WindowedMin;
use ropewalk_cc::rate::{RateSampler, Snapshot};
use ropewalk_cc::{Ack, Algorithm, Controller, Loss, Sibling};

/// How long a smallest round trip counts for a controller ([`Ack::min_rtt`]).
const MIN_RTT_MEMORY: Duration = Duration::from_secs(10);
/// Initial window, segments (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;

/// Proportional rate reduction (RFC 6937), with the slow-start reduction bound as in Linux's `tcp_cwnd_reduction`.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// The window to arrive at, bytes.
    target: u64,
    /// The window it began with, bytes.
    prior: u64,
    delivered: u64,
    sent: u64,
    window: u64,
}

impl Reduction {
    fn on_ack(&mut self, mss: u64, now: &Progress) {
        self.delivered += now.delivered;
        let quota = if now.flight > self.target {
            (self.target * self.delivered).div_ceil(self.prior).saturating_sub(self.sent)
        } else {
            let bonus = if now.advanced && now.lost == 0 { mss } else { 0 };
            let bound = self.delivered.saturating_sub(self.sent).max(now.delivered) + bonus;
            bound.min(self.target - now.flight)
        };
        // The first retransmission leaves whatever the proportion says.
        let least = if self.sent == 0 { mss } else { 0 };
        self.window = now.flight + quota.max(least);
    }
}

/// What one acknowledgement, or timer, did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Bytes newly delivered.
    pub delivered: u64,
    /// Bytes newly believed lost.
    pub lost: u64,
    /// In the network now, bytes.
    pub flight: u64,
    /// The lowest unacknowledged offset has moved.
    pub advanced: bool,
}

#[derive(Debug)]
pub(crate) struct Control {
    cc: Box<dyn Controller>,
    sampler: RateSampler,
    min_rtt: WindowedMin,
    mss: u64,
    prr: bool,
    reduction: Option<Reduction>,
    /// The window is being rebuilt in slow start up to the controller's, and is here now.
    rebuilt: Option<u64>,
    paced: bool,
    next_send: Time,
    /// Reported lost in the present event; given back when it proves mistaken.
    reported: u64,
    /// The other subflows, for coupled controllers.
    pub siblings: Vec<Sibling>,
}

impl Control {
    pub(crate) fn new(config: &TcpConfig, mss: u64) -> Self {
        let paced = match config.pacing {
            Pacing::Always => true,
            Pacing::Never => false,
            Pacing::IfNeeded => config.congestion_control == Algorithm::Tidal,
        };
        Control {
            cc: config.controller(mss),
            sampler: RateSampler::new(),
            min_rtt: WindowedMin::new(MIN_RTT_MEMORY),
            mss,
            prr: config.prr,
            reduction: None,
            rebuilt: None,
            paced,
            next_send: Time::ZERO,
            reported: 0,
            siblings: Vec::new(),
        }
    }

    /// How many bytes may be in the network.
    pub(crate) fn window(&self) -> u64 {
        match (self.reduction, self.rebuilt) {
            (Some(reduction), _) => reduction.window,
            (None, Some(window)) => window.min(self.cc.window()),
            (None, None) => self.cc.window(),
        }
    }

    pub(crate) fn controller(&self) -> &dyn Controller {
        &*self.cc
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.sampler.delivered()
    }

    /// The segment size was agreed on.
    pub(crate) fn set_mss(&mut self, mss: u64) {
        if mss != self.mss {
            self.mss = mss;
            self.cc.set_mtu(mss);
        }
    }

    /// When the next segment may leave.
    pub(crate) fn release(&self) -> Time {
        if self.paced { self.next_send } else { Time::ZERO }
    }

    /// A segment leaves, with `flight` bytes in the network before it.
    pub(crate) fn on_send(&mut self, now: Time, bytes: u64, flight: u64) -> Snapshot {
        let snapshot = self.sampler.on_send(now, flight);
        self.cc.on_sent(now, bytes, flight + bytes);
        if let Some(reduction) = &mut self.reduction {
            reduction.sent += bytes;
        }
        if let Some(bps) = self.cc.pacing_rate_bps() {
            let gap =
                Duration::from_nanos((u128::from(bytes) * 8_000_000_000 / u128::from(bps.max(1))) as u64);
            self.next_send = self.next_send.max(now) + gap;
        }
        snapshot
    }

    /// There is room in the window, and nothing that may be sent.
    pub(crate) fn on_idle_room(&mut self, flight: u64) {
        self.sampler.mark_app_limited(flight);
    }

    /// A segment of `bytes` that left at `sent` was delivered.
    pub(crate) fn on_delivered(&mut self, now: Time, bytes: u64, sent: Time, snapshot: &Snapshot) {
        self.sampler.on_acked(now, now, bytes, sent, snapshot);
    }

    /// Bytes are believed lost; true if the controller made its window smaller for it.
    pub(crate) fn on_loss(&mut self, now: Time, bytes: u64, newest_sent: Time, flight: u64) -> bool {
        let before = self.cc.window();
        let loss = Loss { now, bytes, newest_sent, inflight: flight };
        self.cc.on_loss(&loss, &self.siblings);
        self.reported += bytes;
        self.begin_reduction(before)
    }

    /// An event of loss begins: what is reported from here on can be given back.
    pub(crate) fn begin_event(&mut self) {
        self.reported = 0;
    }

    fn begin_reduction(&mut self, before: u64) -> bool {
        let target = self.cc.window();
        let reduced = target < before;
        if reduced && self.prr && self.rebuilt.is_none() {
            let prior = before.max(1);
            self.reduction = Some(Reduction { target, prior, delivered: 0, sent: 0, window: before });
        }
        reduced
    }

    /// An acknowledgement that delivered something; true if the controller answered its marks with a smaller window.
    pub(crate) fn on_ack(&mut self, now: Time, ack: Feedback, progress: &Progress) -> bool {
        let min = self.min_rtt.update(now, ack.rtt.as_nanos() as u64);
        let min_rtt = Duration::from_nanos(min);
        let sample = self.sampler.sample(min_rtt);
        let before = self.cc.window();
        let rebuilding = self.rebuild(progress.delivered);
        let told = Ack {
            now,
            bytes: progress.delivered,
            lost_bytes: progress.lost,
            newest_sent: ack.newest_sent,
            rtt: ack.rtt,
            min_rtt,
            queue_delay: None,
            delivery_rate_bps: sample.map_or(0, |s| s.bps),
            // While the window is being rebuilt or cut it is not the controller's window that limits.
            app_limited: ack.app_limited || rebuilding || self.reduction.is_some(),
            round_start: self.sampler.take_round_start(),
            ce_packets: u64::from(ack.marked),
            inflight: if rebuilding { 0 } else { progress.flight },
        };
        self.cc.on_ack(&told, &self.siblings);
        ack.marked && self.begin_reduction(before)
    }

    /// The proportional part of an acknowledgement, after losses are known.
    pub(crate) fn reduce(&mut self, progress: &Progress) {
        if let Some(reduction) = &mut self.reduction {
            reduction.on_ack(self.mss, progress);
        }
    }

    fn rebuild(&mut self, delivered: u64) -> bool {
        let Some(window) = &mut self.rebuilt else { return false };
        *window += delivered;
        if *window >= self.cc.window() {
            self.rebuilt = None;
        }
        self.rebuilt.is_some()
    }

    /// The reduction has reached its end.
    pub(crate) fn end_reduction(&mut self) {
        self.reduction = None;
    }

    /// A timeout: the window is rebuilt from one segment more than there is in the network (RFC 5681 §3.1).
    pub(crate) fn collapse(&mut self, flight: u64) {
        self.reduction = None;
        self.rebuilt = Some(flight + self.mss);
    }

    /// Nothing was sent for `idle`, with a timeout of `rto` (RFC 5681 §4.1): half is forgotten per timeout.
    pub(crate) fn restart_after(&mut self, idle: Duration, rto: Duration) {
        let timeouts = (idle.as_nanos() / rto.as_nanos().max(1)).min(32) as u32;
        let kept = (self.cc.window() >> timeouts).max(INITIAL_SEGMENTS * self.mss);
        if self.rebuilt.is_none() && timeouts > 0 && kept < self.cc.window() {
            self.rebuilt = Some(kept);
        }
    }

    /// Makes the window smaller as if a segment had just been lost.
    pub(crate) fn penalise(&mut self, now: Time, flight: u64) {
        self.on_loss(now, self.mss, now, flight);
        self.reduction = None;
    }

    /// The event was a mistake: nothing was lost.
    pub(crate) fn undo(&mut self, now: Time) {
        self.cc.on_spurious_loss(now, self.reported);
        self.reported = 0;
        self.reduction = None;
        self.rebuilt = None;
    }
}

/// What an acknowledgement says to a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// Latest send time among the segments delivered.
    pub newest_sent: Time,
    pub rtt: Duration,
    /// The sender had too little to send when that segment left.
    pub app_limited: bool,
    /// The acknowledgement echoes a mark that is not answered yet.
    pub marked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn progress(flight: u64) -> Progress {
        Progress { delivered: MSS, lost: 0, flight, advanced: false }
    }

    #[test]
    fn half_of_what_is_delivered_is_sent_while_above_the_target() {
        // RFC 6937 §3 with 20 segments in flight and a target of 10: after n deliveries, n/2 may have been sent.
        let mut r = Reduction { target: 10 * MSS, prior: 20 * MSS, delivered: 0, sent: 0, window: 20 * MSS };
        let mut flight = 19 * MSS;
        let mut sent = 0;
        for n in 1..=16u64 {
            flight -= MSS;
            r.on_ack(MSS, &progress(flight));
            while flight + MSS <= r.window {
                (r.sent, flight, sent) = (r.sent + MSS, flight + MSS, sent + 1);
            }
            assert!(sent <= n.div_ceil(2) && sent + 1 >= n / 2, "{sent} after {n}");
        }
        assert!((10 * MSS..=12 * MSS).contains(&flight), "{flight}");
    }

    #[test]
    fn below_the_target_the_flight_is_rebuilt_with_what_is_delivered() {
        let mut r = Reduction { target: 10 * MSS, prior: 20 * MSS, delivered: 5000, sent: 2000, window: 0 };
        r.on_ack(MSS, &Progress { delivered: MSS, lost: 0, flight: 4 * MSS, advanced: true });
        // delivered − sent = 4 segments, one more as the acknowledgement advanced without a loss.
        assert_eq!(r.window, 4 * MSS + 5 * MSS);
        r.on_ack(MSS, &Progress { delivered: MSS, lost: MSS, flight: 9 * MSS, advanced: true });
        assert_eq!(r.window, 10 * MSS, "never beyond the target");
    }
}
