//! What arrived on a path, and when the peer is to hear of it.

use crate::wire::{AckFrame, MAX_RANGES};
use arrayvec::ArrayVec;
use ropewalk_time::{Duration, Time};

/// Datagrams after which an acknowledgement is due at once (RFC 9000 §13.2.2 has 2), unless they come faster than that is worth.
const EVERY: u32 = 2;
/// An acknowledgement waits for more datagrams at most this long, and at most an eighth of a round trip.
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(5);
/// And at least this long: waking up sooner costs a near peer more than the news is worth, and something may come that it can ride on.
const MIN_DELAY: Duration = Duration::from_micros(500);
/// Acknowledgements closer together than [`spacing`], within these bounds, tell a sender nothing new and cost the way back.
const SPACING: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(2)];
/// The same where the sender goes by its link's completions: datagrams and time. Each acknowledgement contends for the channel with the aggregate that it would
/// answer, and every so many collide with one: at 10 ms they cost 3 % of a link of 200 Mb/s. A sender that has to know sooner asks.
pub(crate) const SPARSE: (u32, Duration) = (512, Duration::from_millis(40));
/// And a gap, or an answer to one that asks, no sooner than this after the last: links repeat what they lose themselves, so gaps are few, but where they are many
/// each costs as much.
pub(crate) const SPARSE_GAP: Duration = Duration::from_millis(4);

/// What lies so far below the newest number was reported dozens of times: a gap there, as of a number that was left out, is no news.
const OLD: u64 = 16_384;

/// A sixteenth of a round trip, and on paths of more than 5 ms up to nearly a quarter. On radios each acknowledgement contends with the aggregate that it
/// answers: with a sixteenth, those of one flow over five hops (`scenarios/003/bond.toml`, 14 ms) were two of three datagrams there, now nearly all ride on the
/// flow's own. Near peers at Gb/s are told as often as memory is to be given back.
fn spacing(rtt: Duration) -> Duration {
    let far = (rtt / 4).saturating_sub(Duration::from_millis(1));
    far.max(rtt / 16).clamp(SPACING[0], SPACING[1])
}

/// What arrived on one path.
#[derive(Debug, Default)]
pub(crate) struct RecvLog {
    /// Ranges [first, last] of packet numbers, newest first.
    ranges: ArrayVec<(u64, u64), MAX_RANGES>,
    largest_at: Time,
    unacked: u32,
    due: Option<Time>,
    last_ack: Time,
    ce_total: u16,
    last_any: Time,
    sparse: bool,
    /// The peer asks for an answer in the datagram at hand.
    asked: bool,
}

impl RecvLog {
    /// One that acknowledges no more often than [`SPARSE`] while nothing is missing.
    #[cfg(test)]
    fn sparse() -> Self {
        RecvLog { sparse: true, ..RecvLog::default() }
    }

    /// Whether it acknowledges no more often than [`SPARSE`] while nothing is missing.
    pub(crate) fn set_sparse(&mut self, sparse: bool) {
        self.sparse = sparse;
    }

    /// CE marks of what arrived, in total.
    pub(crate) fn marks(&self) -> u16 {
        self.ce_total
    }

    /// The total goes on from here.
    pub(crate) fn begin_at(&mut self, marks: u16) {
        self.ce_total = marks;
    }

    /// Packet `n` arrived. `eliciting`: it wants to be acknowledged. `rtt` is this path's, as this end measures it.
    pub(crate) fn on_packet(&mut self, n: u64, now: Time, eliciting: bool, ce: bool, rtt: Duration) {
        let in_order = self.ranges.first().is_none_or(|r| n == r.1 + 1);
        let largest = self.ranges.first().is_none_or(|r| n > r.1);
        self.insert(n);
        self.last_any = now;
        if largest {
            self.largest_at = now;
        }
        self.ce_total = self.ce_total.wrapping_add(u16::from(ce));
        if !eliciting {
            return;
        }
        self.unacked += 1;
        // A gap is told at once: the sender repairs it the sooner (RFC 9000 §13.2.1).
        let (every, least, spacing, soonest) = match self.sparse {
            true => (SPARSE.0, SPARSE.1, SPARSE.1, SPARSE_GAP),
            false => (EVERY, MIN_DELAY, spacing(rtt), SPACING[0]),
        };
        let asked = std::mem::take(&mut self.asked) && self.sparse;
        let delay = match self.unacked >= every || !in_order || ce || asked {
            true => Duration::ZERO,
            false => (rtt / 8).clamp(least, MAX_ACK_DELAY.max(least)),
        };
        let full = self.sparse && self.unacked >= every;
        let spacing = if !in_order || asked || full { soonest } else { spacing };
        let at = (now + delay).max(self.last_ack + spacing);
        self.due = Some(self.due.map_or(at, |d| d.min(at)));
    }

    fn insert(&mut self, n: u64) {
        // Almost always the first range grows.
        let at = self.ranges.iter().position(|r| n >= r.0).unwrap_or(self.ranges.len());
        let below = self.ranges.get(at).copied();
        if below.is_some_and(|r| n <= r.1) {
            return;
        }
        let joins_below = below.is_some_and(|r| r.1 + 1 == n);
        let joins_above = at > 0 && self.ranges[at - 1].0 == n + 1;
        match (joins_below, joins_above) {
            (true, true) => {
                self.ranges[at - 1].0 = self.ranges[at].0;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at].1 = n,
            (false, true) => self.ranges[at - 1].0 = n,
            (false, false) => {
                if self.ranges.is_full() {
                    if at == self.ranges.len() {
                        return;
                    }
                    self.ranges.pop();
                }
                self.ranges.insert(at, (n, n));
            }
        }
    }

    /// The peer asks for an answer in the datagram that [`RecvLog::on_packet`] is told of next. One that acknowledges seldom gives it soon.
    pub(crate) fn on_asked(&mut self) {
        self.asked = true;
    }

    /// When an acknowledgement is due.
    pub(crate) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Something waits to be acknowledged, due or not, and is worth taking along. Where acknowledgements are seldom, not before half of the time: in each
    /// datagram of a busy way back they would be a per cent of its bytes.
    pub(crate) fn may_ride(&self, now: Time) -> bool {
        self.due.is_some_and(|due| !self.sparse || due <= now + SPARSE.1 / 2)
    }

    /// When the last packet arrived; `Time::ZERO` if none did.
    pub(crate) fn last_arrival(&self) -> Time {
        self.last_any
    }

    /// The acknowledgement for path `path`, and notes that it is being sent.
    pub(crate) fn acknowledge(&mut self, path: u8, now: Time) -> Option<AckFrame> {
        let first = *self.ranges.first()?;
        let mut ack = AckFrame {
            path,
            largest: first.1 as u32,
            received_us: self.largest_at.as_micros() as u32,
            delay_us: now.since(self.largest_at).as_micros().min(0xff_ffff) as u32,
            ce_total: self.ce_total,
            ranges: ArrayVec::new(),
        };
        let mut above = None;
        for (lo, hi) in self.ranges.iter().take_while(|(_, hi)| hi + OLD > first.1) {
            let gap = above.map_or(0, |a: u64| a - hi - 1);
            let (Ok(gap), len) = (u16::try_from(gap), (hi - lo + 1).min(u64::from(u16::MAX)) as u16) else {
                break;
            };
            ack.ranges.push((gap, len));
            // A range cut short ends the list: what lies below cannot be placed.
            if u64::from(len) < hi - lo + 1 {
                break;
            }
            above = Some(*lo);
        }
        (self.unacked, self.due, self.last_ack) = (0, None, now);
        Some(ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn ranges_merge_whatever_the_order() {
        let mut r = RecvLog::default();
        for n in [1, 2, 5, 4, 9, 3, 9, 7] {
            r.on_packet(n, Time::from_millis(n), true, false, RTT);
        }
        let a = r.acknowledge(2, Time::from_millis(10)).unwrap();
        assert_eq!((a.largest, a.path, a.delay_us), (9, 2, 1000));
        assert_eq!(&a.ranges[..], [(0, 1), (1, 1), (1, 5)]);
    }

    #[test]
    fn gaps_are_told_sooner_than_progress() {
        let mut r = RecvLog::default();
        let t = Time::from_millis(100);
        r.on_packet(0, t, true, false, RTT);
        assert_eq!(r.due(), Some(t + Duration::from_millis(5)));
        r.on_packet(2, t, true, false, RTT);
        assert_eq!(r.due(), Some(t));
        r.acknowledge(0, t);
        assert_eq!(r.due(), None);
        r.on_packet(3, t, false, false, RTT);
        assert_eq!(r.due(), None);
    }

    #[test]
    fn progress_is_told_seldom_where_the_round_trip_is_long() {
        let acks_of = |rtt_us: u64| {
            let (mut r, mut acks) = (RecvLog::default(), 0);
            // 12 datagrams in a millisecond, for 200 ms.
            for n in 0..2400 {
                let now = Time::from_micros(100_000 + n * 1000 / 12);
                r.on_packet(n, now, true, false, Duration::from_micros(rtt_us));
                if r.due().is_some_and(|due| due <= now) {
                    acks += u32::from(r.acknowledge(0, now).is_some());
                }
            }
            acks
        };
        assert!((95..=100).contains(&acks_of(40_000)), "2 ms at most");
        assert!((180..=200).contains(&acks_of(8_000)), "a quarter less a millisecond");
        assert!((700..=800).contains(&acks_of(4_000)), "a sixteenth");
        assert!((1100..=1200).contains(&acks_of(200)), "100 µs at least, and one for two datagrams at most");
    }

    #[test]
    fn a_sparse_record_tells_progress_seldom_and_gaps_sooner() {
        let mut r = RecvLog::sparse();
        let us = |n: u64| Time::from_micros(100_000 + n);
        let mut acks = 0;
        for n in 0..1000 {
            r.on_packet(n, us(250 * n), true, false, RTT / 10);
            if r.due().is_some_and(|due| due <= us(250 * n)) {
                acks += u32::from(r.acknowledge(0, us(250 * n)).is_some());
            }
        }
        // 250 ms.
        assert!((5..=7).contains(&acks), "{acks}");
        r.acknowledge(0, us(250_000));
        r.on_packet(1001, us(250_100), true, false, RTT / 10);
        assert_eq!(r.due(), Some(us(254_000)));
        r.acknowledge(0, us(254_000));
        r.on_packet(1003, us(260_000), true, false, RTT / 10);
        assert_eq!(r.due(), Some(us(260_000)));
    }

    #[test]
    fn a_sparse_record_answers_who_asks_and_a_long_row_soon() {
        let mut r = RecvLog::sparse();
        let us = |n: u64| Time::from_micros(100_000 + n);
        r.on_packet(0, us(0), true, false, RTT);
        assert!(r.due().is_some_and(|due| due >= us(40_000)));
        assert!(!r.may_ride(us(10_000)) && r.may_ride(us(20_000)));
        r.on_asked();
        r.on_packet(1, us(100), true, false, RTT);
        assert_eq!(r.due(), Some(us(100)));
        r.acknowledge(0, us(100));
        r.on_asked();
        r.on_packet(2, us(1000), true, false, RTT);
        assert_eq!(r.due(), Some(us(4100)));
        r.acknowledge(0, us(4100));
        (3..3 + 511).for_each(|n| r.on_packet(n, us(4200), true, false, RTT));
        assert_eq!(r.due(), Some(us(44_200)));
        r.on_packet(514, us(4200), true, false, RTT);
        assert_eq!(r.due(), Some(us(8100)));
    }

    #[test]
    fn memory_is_bounded_and_the_newest_kept() {
        let mut r = RecvLog::default();
        (0..10_000).step_by(2).for_each(|n| r.on_packet(n, Time::ZERO, true, false, RTT));
        let a = r.acknowledge(0, Time::ZERO).unwrap();
        assert_eq!((a.largest, a.ranges.len()), (9998, MAX_RANGES));
    }
}
