//! ACK aggregation: when the small backlog of one end takes a turn on the air, while bulk comes in from the other.
//!
//! TCP's acknowledgements come by the hundred while the other direction is full of data. On a wireless backhaul each frame with some of them contends with
//! the aggregate that it answers: without aggregation it costs nearly as much as one of data, and every so many collide with a whole aggregate. So they wait
//! for each other, a little, and only while bulk comes in. Packets of the low-latency class of other kinds wait for nothing, and take along those that do. Wi-Fi and cable
//! drivers thin acknowledgements for the same reason; here none is dropped.

use ropewalk_time::{Duration, Time};

/// Turns are no closer together than this while bulk comes in: two aggregates. Over two links of
/// 11n with 20 MHz (`./run bench backhaul`) TCP got 0.93 of what each alone carries without turns,
/// 0.945 with 2 ms, 0.97 with 4, 0.99 with 6 and 1.01 with 8.
const SPACING: Duration = Duration::from_millis(6);
/// A backlog is small under so many bytes: the acknowledgements of 600 Mb/s in the time of a turn, and some full datagrams.
pub(super) const SMALL_BACKLOG: u64 = 16_384;
/// Datagrams received since the last turn from which on they are bulk, if they are four times those sent: with fewer, a turn has cost nobody any.
const BULK: u64 = 8;
/// Packets of the low-latency class wait no longer than this for the link to be rid of the last of them: it may be held up for long, and then some more make no difference.
const LONGEST: Duration = Duration::from_millis(20);

/// Decides whose turn it is.
#[derive(Debug, Default)]
pub(super) struct AckAggregation {
    /// All that waits may leave.
    open: bool,
    last: Time,
    /// Datagrams received and sent by then.
    before: (u64, u64),
    opens_at: Option<Time>,
}

/// What is known when something waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// Nothing in it is low-latency for another reason than being an acknowledgement.
    pub deferrable: bool,
    /// The link still holds the last that left, and something else.
    pub held: bool,
    /// Datagrams received from the peer, in total.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
}

impl AckAggregation {
    /// Nothing waits.
    pub(super) fn end(&mut self) {
        (self.open, self.opens_at) = (false, None);
    }

    /// Whether what waits may leave now.
    pub(super) fn may_leave(&mut self, now: Time, b: Backlog) -> bool {
        let (received, sent) =
            (b.received.saturating_sub(self.before.0), b.sent.saturating_sub(self.before.1));
        let bulk = received >= BULK.max(sent * 4);
        let until = match (b.held, bulk) {
            (true, _) => self.last + LONGEST,
            (false, true) => self.last + SPACING,
            (false, false) => now,
        };
        if !self.open && b.deferrable && now < until {
            self.opens_at = Some(until);
            return false;
        }
        if !self.open {
            (self.open, self.last, self.before) = (true, now, (b.received, b.sent));
        }
        self.opens_at = None;
        true
    }

    /// When what waits may leave, unless the link is rid of the last that left before.
    pub(super) fn opens_at(&self) -> Option<Time> {
        self.opens_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_micros(1_000_000 + n)
    }

    fn waiting(received: u64) -> Backlog {
        Backlog { deferrable: true, held: false, received, sent: 0 }
    }

    #[test]
    fn where_little_comes_in_acknowledgements_leave_at_once() {
        let mut t = AckAggregation::default();
        for k in 0..100 {
            assert!(t.may_leave(us(300 * k), waiting(2 * k)));
            t.end();
        }
    }

    #[test]
    fn where_much_comes_in_they_leave_together() {
        let mut t = AckAggregation::default();
        let (mut turns, mut longest, mut since) = (0, Duration::ZERO, None);
        for k in 0..1000 {
            let now = us(100 * k);
            let first = *since.get_or_insert(now);
            if t.may_leave(now, waiting(10 * k)) {
                // A second datagram of the same turn.
                assert!(t.may_leave(now, waiting(10 * k)));
                t.end();
                turns += 1;
                longest = longest.max(now.since(first));
                since = None;
            } else {
                assert!(t.opens_at().is_some_and(|at| at > now && at <= now + SPACING));
            }
        }
        assert_eq!((turns, longest), (17, SPACING - Duration::from_micros(100)));
    }

    #[test]
    fn who_sends_as_much_as_it_receives_waits_for_nobody() {
        let mut t = AckAggregation::default();
        for k in 0..100 {
            assert!(t.may_leave(us(100 * k), Backlog { sent: 5 * k, ..waiting(10 * k) }));
            t.end();
        }
    }

    #[test]
    fn one_that_is_in_a_hurry_takes_all_along() {
        let mut t = AckAggregation::default();
        assert!(t.may_leave(us(0), waiting(0)));
        t.end();
        assert!(!t.may_leave(us(10), waiting(100)));
        assert!(t.may_leave(us(20), Backlog { deferrable: false, ..waiting(100) }));
        assert!(t.may_leave(us(20), waiting(100)), "the rest of the turn");
        t.end();
        assert_eq!(t.opens_at(), None);
    }

    #[test]
    fn a_link_that_is_held_up_is_not_waited_for_for_ever() {
        let mut t = AckAggregation::default();
        assert!(t.may_leave(us(0), waiting(0)));
        t.end();
        let held = Backlog { held: true, ..waiting(0) };
        assert!(!t.may_leave(us(100), held));
        assert_eq!(t.opens_at(), Some(us(0) + LONGEST));
        assert!(t.may_leave(us(0) + LONGEST, held));
        t.end();
        assert!(t.may_leave(us(30_000), waiting(0)), "its completion opens it");
    }
}
