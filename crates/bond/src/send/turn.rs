//! When the little that one end of a hop has to say takes a turn on the air, while the other end has much.
//!
//! TCP's acknowledgements come by the hundred while the other way is full of data. On a wireless hop each frame with some of them contends with the aggregate
//! that it answers: where links do not aggregate it costs nearly as much as one of data, and every so many collide with a whole aggregate. So they wait for
//! each other, a little, and only while much comes in; urgent packets of other kinds wait for nothing, and take along those that do.

use crate::time::{Duration, Time};

/// Turns are no closer together than this while much comes in: two aggregates, and little beside the queue that a full hop has. Over two links of 11n with
/// 20 MHz (`./run bench hop`) TCP got 0.93 of what each alone carries without turns, 0.945 with 2 ms, 0.97 with 4, 0.99 with 6 and 1.01 with 8.
const SPACING: Duration = Duration::from_millis(6);
/// What waits is little under so many bytes: the acknowledgements of 600 Mb/s in the time of a turn, and some full datagrams.
pub const LITTLE: u64 = 16_384;
/// Datagrams that came since the last turn from which on it is much, if four times as many came as left: with fewer, a turn has cost nobody any.
const MUCH: u64 = 8;
/// What is urgent waits no longer than this for the link to be rid of the last of them: it may be held up for long, and then some more make no difference.
const LONGEST: Duration = Duration::from_millis(20);

/// Whose turn it is.
#[derive(Debug, Default)]
pub struct Turn {
    /// What waits may leave, all of it.
    open: bool,
    last: Time,
    /// Datagrams that had come and gone then.
    before: (u64, u64),
    opens: Option<Time>,
}

/// What is known when some wait.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// It may wait: nothing is in a hurry.
    pub patient: bool,
    /// The link still holds the last that left, and it is not all that it holds.
    pub held: bool,
    /// Datagrams of the peer that came, in total.
    pub received: u64,
    /// Datagrams that left.
    pub sent: u64,
}

impl Turn {
    /// Nothing waits.
    pub fn end(&mut self) {
        (self.open, self.opens) = (false, None);
    }

    /// Whether what waits may leave now.
    pub fn may_leave(&mut self, now: Time, w: Waiting) -> bool {
        let (came, left) = (w.received.saturating_sub(self.before.0), w.sent.saturating_sub(self.before.1));
        let much = came >= MUCH.max(left * 4);
        let until = match (w.held, much) {
            (true, _) => self.last + LONGEST,
            (false, true) => self.last + SPACING,
            (false, false) => now,
        };
        if !self.open && w.patient && now < until {
            self.opens = Some(until);
            return false;
        }
        if !self.open {
            (self.open, self.last, self.before) = (true, now, (w.received, w.sent));
        }
        self.opens = None;
        true
    }

    /// When those that wait may leave, unless the link is rid of the last ones before.
    pub fn opens(&self) -> Option<Time> {
        self.opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_micros(1_000_000 + n)
    }

    fn waiting(received: u64) -> Waiting {
        Waiting { patient: true, held: false, received, sent: 0 }
    }

    #[test]
    fn where_little_comes_in_acknowledgements_leave_at_once() {
        let mut t = Turn::default();
        for k in 0..100 {
            assert!(t.may_leave(us(300 * k), waiting(2 * k)));
            t.end();
        }
    }

    #[test]
    fn where_much_comes_in_they_leave_together() {
        let mut t = Turn::default();
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
                assert!(t.opens().is_some_and(|at| at > now && at <= now + SPACING));
            }
        }
        assert_eq!((turns, longest), (17, SPACING - Duration::from_micros(100)));
    }

    #[test]
    fn who_sends_as_much_as_it_receives_waits_for_nobody() {
        let mut t = Turn::default();
        for k in 0..100 {
            assert!(t.may_leave(us(100 * k), Waiting { sent: 5 * k, ..waiting(10 * k) }));
            t.end();
        }
    }

    #[test]
    fn one_that_is_in_a_hurry_takes_all_along() {
        let mut t = Turn::default();
        assert!(t.may_leave(us(0), waiting(0)));
        t.end();
        assert!(!t.may_leave(us(10), waiting(100)));
        assert!(t.may_leave(us(20), Waiting { patient: false, ..waiting(100) }));
        assert!(t.may_leave(us(20), waiting(100)), "the rest of the turn");
        t.end();
        assert_eq!(t.opens(), None);
    }

    #[test]
    fn a_link_that_is_held_up_is_not_waited_for_for_ever() {
        let mut t = Turn::default();
        assert!(t.may_leave(us(0), waiting(0)));
        t.end();
        let held = Waiting { held: true, ..waiting(0) };
        assert!(!t.may_leave(us(100), held));
        assert_eq!(t.opens(), Some(us(0) + LONGEST));
        assert!(t.may_leave(us(0) + LONGEST, held));
        t.end();
        assert!(t.may_leave(us(30_000), waiting(0)), "its completion opens it");
    }
}
