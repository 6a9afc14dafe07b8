//! CoDel: drops, or marks, while packets have waited too long for too long (RFC 8289).

use core::time::Duration;

use super::{Line, Room, Waiting};
use crate::Time;
use crate::wired::{Aqm, Counters, Packet};

/// The controller of one line of packets: the state of RFC 8289, section 5.1.
#[derive(Debug)]
pub(super) struct Control {
    /// When the waiting time will have been above the target for a whole interval, if it is above.
    first_above: Option<Time>,
    /// The next drop, while dropping.
    drop_next: Time,
    /// Drops since dropping began, and what that was when it began last.
    count: u32,
    last_count: u32,
    dropping: bool,
    /// The longest packet seen: a line no longer than this is left alone (section 5.5, `maxpacket`).
    longest: u32,
}

impl Control {
    pub(super) fn new() -> Control {
        Control {
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            longest: 0,
        }
    }

    /// Takes the next packet, after dropping those that must go (section 5.4, `deque`); `lost` gets them.
    pub(super) fn pop<T>(
        &mut self,
        now: Time,
        line: &mut Line<T>,
        aqm: &Aqm,
        count: &mut Counters,
        lost: &mut impl FnMut(Waiting<T>),
    ) -> Option<Waiting<T>> {
        let (mut head, mut too_long) = self.take(now, line, aqm);
        if self.dropping {
            self.dropping = too_long;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let kept = punish(head, aqm, count, lost);
                let marked = kept.is_some();
                (head, too_long) = if marked { (kept, true) } else { self.take(now, line, aqm) };
                self.dropping = too_long;
                if too_long {
                    self.drop_next = later(self.drop_next, aqm.interval, self.count);
                }
                if marked {
                    break;
                }
            }
        } else if too_long {
            head = match punish(head, aqm, count, lost) {
                None => self.take(now, line, aqm).0,
                kept => kept,
            };
            self.begin(now, aqm);
        }
        head
    }

    /// Begins a dropping state: at the rate of the last one if that was not long ago (section 5.4).
    fn begin(&mut self, now: Time, aqm: &Aqm) {
        let recent = now - self.drop_next < 16 * aqm.interval;
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = later(now, aqm.interval, self.count);
        self.dropping = true;
    }

    /// Takes the head, and says whether the line has been too slow for a whole interval (section 5.5, `dodeque`).
    fn take<T>(&mut self, now: Time, line: &mut Line<T>, aqm: &Aqm) -> (Option<Waiting<T>>, bool) {
        let Some(head) = line.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.longest = self.longest.max(head.packet.len);
        if now - head.since < aqm.target || line.bytes() <= u64::from(self.longest) {
            self.first_above = None;
            return (Some(head), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + aqm.interval);
                (Some(head), false)
            }
            Some(at) => (Some(head), now >= at),
        }
    }
}

/// Marks the packet if that is allowed and it can be marked, and gives it back; drops it otherwise.
fn punish<T>(
    head: Option<Waiting<T>>,
    aqm: &Aqm,
    count: &mut Counters,
    lost: &mut impl FnMut(Waiting<T>),
) -> Option<Waiting<T>> {
    let mut head = head?;
    if aqm.ecn && head.packet.ecn_capable {
        head.marked = true;
        count.marked += 1;
        return Some(head);
    }
    count.dropped_queue += 1;
    count.dropped_aqm += 1;
    lost(head);
    None
}

/// The control law: drops come closer with the square root of their number (section 5.3). IEEE square roots and
/// divisions are exact, so machines agree.
fn later(at: Time, interval: Duration, count: u32) -> Time {
    at + Duration::from_nanos((interval.as_nanos() as f64 / f64::from(count).sqrt()) as u64)
}

/// One line under CoDel.
#[derive(Debug)]
pub(crate) struct Codel<T> {
    line: Line<T>,
    control: Control,
    aqm: Aqm,
    pub(super) room: Room,
}

impl<T> Codel<T> {
    pub(super) fn new(aqm: Aqm, room: Room) -> Codel<T> {
        Codel { line: Line::default(), control: Control::new(), aqm, room }
    }

    pub(super) fn push(&mut self, now: Time, packet: Packet<T>, count: &mut Counters) {
        if self.room.has(packet.len, self.line.len(), self.line.bytes()) {
            self.line.push(now, packet);
        } else {
            count.dropped_queue += 1;
        }
    }

    pub(super) fn pop(&mut self, now: Time, count: &mut Counters) -> Option<Waiting<T>> {
        self.control.pop(now, &mut self.line, &self.aqm, count, &mut |_| {})
    }

    pub(super) fn backlog(&self) -> (usize, u64) {
        (self.line.len(), self.line.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { packets: 10_000, bytes: u64::MAX };

    /// Feeds a packet each millisecond and serves one each `gap` µs; the packet numbers that were lost.
    fn served(ecn: bool, gap: u64, until_ms: u64) -> (Vec<u64>, Counters) {
        let mut count = Counters::default();
        let mut queue = Codel::new(Aqm { ecn, ..Aqm::default() }, ROOM);
        let (mut at, mut got) = (0, Vec::new());
        for ms in 0..until_ms {
            let packet = Packet { ecn_capable: true, ..Packet::new(1500, ms) };
            queue.push(Time::from_millis(ms), packet, &mut count);
            while at <= ms * 1000 {
                got.extend(queue.pop(Time::from_micros(at), &mut count).map(|w| w.packet.payload));
                at += gap;
            }
        }
        (got, count)
    }

    #[test]
    fn leaves_a_short_queue_alone() {
        let (got, count) = served(false, 1000, 1000);
        assert_eq!((got.len() as u64, count.dropped_queue), (1000, 0));
    }

    #[test]
    fn first_drop_after_an_interval_then_by_the_root_law() {
        // Service is 2 % too slow: the wait passes 5 ms after about 250 ms, and dropping begins 100 ms later.
        let (got, count) = served(false, 1020, 1000);
        let lost: Vec<u64> = got.windows(2).filter(|w| w[1] > w[0] + 1).map(|w| w[0] + 1).collect();
        assert!((340..380).contains(&lost[0]), "{lost:?}");
        assert!((lost[1] - lost[0]).abs_diff(100) < 5, "{lost:?}");
        assert!((lost[2] - lost[1]).abs_diff(71) < 5, "{lost:?}");
        assert!((lost[3] - lost[2]).abs_diff(58) < 5, "{lost:?}");
        assert!(count.dropped_queue >= 4);
        assert_eq!(count.dropped_aqm, count.dropped_queue);
    }

    #[test]
    fn marks_instead_of_dropping_what_can_be_marked() {
        let (got, count) = served(true, 1020, 1000);
        assert_eq!(count.dropped_queue, 0);
        assert!(count.marked > 5, "{}", count.marked);
        assert!(got.windows(2).all(|w| w[1] == w[0] + 1));
    }
}
