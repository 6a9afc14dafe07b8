//! When to acknowledge: Linux's quick and delayed acknowledgements, with its adaptive timer (`tcp_event_data_recv`,
//! `__tcp_ack_snd_check`), and the thinning of acknowledgements for segments out of order.

use super::super::AckPolicy;
use super::hold::Hold;
use core::time::Duration;
use ropewalk_air::Time;

/// Fewest segments that are acknowledged at once after quick mode begins.
const MIN_QUICK: u32 = 2;
/// Longest wait after a segment out of order.
const SACK_DELAY: Duration = Duration::from_millis(1);
/// Segments of a new gap that are acknowledged at once before thinning begins, as seen of Linux 6.18.
const UNTHINNED: u32 = 4;
/// The same once a gap was filled and another is left: `dup_ack_counter` begins anew with the segment that filled it.
const UNTHINNED_LATER: u32 = 2;
/// Most segments that one thinned acknowledgement stands for (`tcp_comp_sack_nr`).
const MAX_THINNED: u32 = 44;

#[derive(Clone, Debug)]
pub(crate) struct Acks {
    policy: AckPolicy,
    hold: Option<Hold>,
    due: Option<Time>,
    /// The same for segments out of order.
    thinned_due: Option<Time>,
    now: bool,
    /// Segments left that are acknowledged at once.
    quick: u32,
    /// The adaptive wait; none before the first data.
    wait: Option<Duration>,
    last_data: Time,
    /// Data flows both ways: acknowledgements can ride on it.
    interactive: bool,
    /// Segments out of order that still go without thinning.
    unthinned: u32,
    /// Segments that a thinned acknowledgement stands for by now.
    thinned: u32,
}

impl Acks {
    pub(super) fn new(policy: AckPolicy) -> Self {
        Acks {
            hold: policy.hold.map(Hold::new),
            policy,
            due: None,
            thinned_due: None,
            now: false,
            quick: 0,
            wait: None,
            last_data: Time::ZERO,
            interactive: false,
            unthinned: UNTHINNED,
            thinned: 0,
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        [self.due, self.thinned_due].into_iter().flatten().min()
    }

    pub(super) fn is_due(&self) -> bool {
        self.now
    }

    /// An acknowledgement must leave at once.
    pub(super) fn at_once(&mut self) {
        self.now = true;
    }

    /// A segment in order; `unacknowledged` bytes have come since the last acknowledgement, `window_segments` fit the
    /// window, `rto` is our own timeout.
    pub(super) fn on_in_order(
        &mut self,
        now: Time,
        unacknowledged: u64,
        mss: u64,
        window_segments: u64,
        rto: Duration,
    ) {
        self.adapt(now, window_segments, rto);
        self.unthinned = UNTHINNED;
        let held = self.hold.as_mut().and_then(|hold| hold.segments(now));
        let enough = held.map_or(mss, |segments| mss * u64::from(segments - 1));
        if unacknowledged > enough || (self.quick > 0 && !self.interactive && held.is_none()) {
            return self.at_once();
        }
        let wait = self.wait.unwrap_or(self.policy.delay).min(self.policy.delay.max(Duration::from_nanos(1)));
        if self.policy.delay.is_zero() {
            return self.at_once();
        }
        let at = now + wait;
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn adapt(&mut self, now: Time, window_segments: u64, rto: Duration) {
        let least = self.policy.delay;
        let gap = now - self.last_data;
        self.wait = Some(match self.wait {
            None => {
                self.begin_quick(window_segments, self.policy.quick);
                least
            }
            Some(wait) if gap <= least / 2 => wait / 2 + least / 2,
            Some(wait) if gap < wait => (wait / 2 + gap).min(rto),
            Some(wait) => {
                if gap > rto {
                    self.begin_quick(window_segments, self.policy.quick);
                }
                wait
            }
        });
        self.last_data = now;
    }

    fn begin_quick(&mut self, window_segments: u64, most: u32) {
        if most > 0 {
            let half = (window_segments / 2).min(u64::from(most)) as u32;
            self.quick = self.quick.max(half.max(MIN_QUICK));
        }
    }

    /// A segment filled a gap, and another is left: acknowledged at once (RFC 5681 §4.2).
    pub(super) fn on_filled_one_of_several(&mut self) {
        self.unthinned = UNTHINNED_LATER;
        self.at_once();
    }

    /// A mark came: the sender should hear of it soon.
    pub(super) fn on_mark(&mut self) {
        if self.policy.quick > 0 {
            (self.quick, self.interactive) = (self.quick.max(MIN_QUICK), false);
        }
    }

    /// A segment that leaves a gap before it, or repeats what is there beyond a gap (RFC 5681 §4.2: at once).
    pub(super) fn on_early(&mut self, now: Time, srtt: Option<Duration>) {
        self.last_data = now;
        if !self.policy.compress_sack || self.unthinned > 0 || self.thinned >= MAX_THINNED {
            self.unthinned = self.unthinned.saturating_sub(1);
            return self.at_once();
        }
        self.thinned += 1;
        let wait = srtt.map_or(SACK_DELAY, |srtt| (srtt / 20).min(SACK_DELAY));
        self.thinned_due.get_or_insert(now + wait);
    }

    /// Our own data left: if it answers what came just now, the connection is interactive.
    pub(super) fn on_data_sent(&mut self, now: Time) {
        if self.wait.is_some_and(|wait| now - self.last_data < wait) {
            self.interactive = true;
        }
    }

    /// The timer: an acknowledgement is due. Data did not come to carry it, so the next wait is longer.
    pub(super) fn on_timer(&mut self, now: Time, rto: Duration) {
        if self.thinned_due.is_some_and(|due| due <= now) {
            self.now = true;
        }
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        self.now = true;
        if self.interactive {
            (self.interactive, self.wait) = (false, Some(self.policy.delay));
        } else {
            self.wait = self.wait.map(|wait| (wait * 2).min(rto));
        }
    }

    /// An acknowledgement left, by itself or on data.
    pub(super) fn on_ack_sent(&mut self) {
        (self.due, self.thinned_due, self.now, self.thinned) = (None, None, false, 0);
        self.hold.iter_mut().for_each(Hold::on_ack_sent);
        self.quick = self.quick.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the next segments out of order are acknowledged at once, half a millisecond apart.
    fn at_once(acks: &mut Acks, from: Time) -> u32 {
        let srtt = Some(Duration::from_millis(100));
        let early = |i: &u32| {
            acks.on_early(from + Duration::from_micros(500) * *i, srtt);
            let goes = acks.is_due();
            if goes {
                acks.on_ack_sent();
            }
            goes
        };
        (0..100).take_while(early).count() as u32
    }

    #[test]
    fn a_new_gap_is_told_of_four_times_and_one_that_is_left_with_its_filling_three_times() {
        let mut acks = Acks::new(AckPolicy::default());
        assert_eq!(at_once(&mut acks, Time::from_secs(1)), 4);
        assert_eq!(
            acks.next_timeout(),
            Some(Time::from_secs(1) + Duration::from_millis(3)),
            "the fifth waits"
        );
        acks.on_filled_one_of_several();
        assert!(acks.is_due());
        acks.on_ack_sent();
        assert_eq!(at_once(&mut acks, Time::from_secs(2)), 2);
        acks.on_in_order(Time::from_secs(3), 3000, 1448, 100, Duration::from_secs(1));
        acks.on_ack_sent();
        assert_eq!(at_once(&mut acks, Time::from_secs(3)), 4);
    }
}
