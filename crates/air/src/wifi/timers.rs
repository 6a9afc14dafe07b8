//! Timers of all radios: one place per radio and cause, and the earliest always at hand.
//!
//! A tournament tree over a fixed set of places: changing one costs a walk to the root that stops where nothing
//! changes, and nothing is allocated. Of equal times the place with the lowest number wins, so places are ordered by
//! what must happen first within an instant.

use crate::Time;

/// What a radio waits for. Of causes due at one instant the earlier in this list goes first, over all radios: what
/// ends makes room before anything begins, and everything that begins sees the state before the others began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The radio's transmission ends, or MPDUs of it that its receiver hands on.
    TransmitEnd = 0,
    /// The answer that it awaited did not come.
    AnswerMissing = 1,
    /// Beacons, scans, announcements, power save: whatever is not in a hurry.
    Housekeeping = 2,
    /// It is to answer, or to go on, a SIFS after a frame.
    Respond = 3,
    /// Its backoff ends.
    Access = 4,
}

const CAUSES: usize = 5;

/// The timers.
#[derive(Debug)]
pub(crate) struct Timers {
    /// Nodes of the tree, root at 1, leaves from `leaves` on. `u64::MAX` is never.
    nodes: Vec<u64>,
    leaves: usize,
    radios: usize,
}

impl Timers {
    pub(crate) fn new(radios: usize) -> Timers {
        let leaves = (radios * CAUSES).max(2).next_power_of_two();
        Timers { nodes: vec![u64::MAX; 2 * leaves], leaves, radios }
    }

    /// Sets a timer; [`Time::NEVER`] clears it.
    #[inline]
    pub(crate) fn set(&mut self, radio: usize, cause: Cause, at: Time) {
        let mut node = self.leaves + cause as usize * self.radios + radio;
        let mut value = at.as_nanos();
        while self.nodes[node] != value {
            self.nodes[node] = value;
            if node == 1 {
                return;
            }
            value = value.min(self.nodes[node ^ 1]);
            node /= 2;
        }
    }

    /// Clears a timer.
    #[inline]
    pub(crate) fn clear(&mut self, radio: usize, cause: Cause) {
        self.set(radio, cause, Time::NEVER);
    }

    /// When a timer is due.
    #[inline]
    pub(crate) fn get(&self, radio: usize, cause: Cause) -> Time {
        Time::from_nanos(self.nodes[self.leaves + cause as usize * self.radios + radio])
    }

    /// When the earliest is due.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        Time::from_nanos(self.nodes[1])
    }

    /// The earliest, taken out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, usize, Cause)> {
        let first = self.nodes[1];
        if first == u64::MAX {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.nodes[node] != first);
        }
        let place = node - self.leaves;
        let (cause, radio) = (place / self.radios, place % self.radios);
        let cause = match cause {
            0 => Cause::TransmitEnd,
            1 => Cause::AnswerMissing,
            2 => Cause::Housekeeping,
            3 => Cause::Respond,
            _ => Cause::Access,
        };
        self.clear(radio, cause);
        Some((Time::from_nanos(first), radio, cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_of_equals_by_cause_then_radio() {
        let mut timers = Timers::new(3);
        timers.set(2, Cause::Access, Time::from_micros(5));
        timers.set(0, Cause::Access, Time::from_micros(5));
        timers.set(1, Cause::TransmitEnd, Time::from_micros(5));
        timers.set(2, Cause::Respond, Time::from_micros(4));
        timers.set(0, Cause::Housekeeping, Time::from_micros(1));
        timers.clear(0, Cause::Housekeeping);
        assert_eq!(timers.next(), Time::from_micros(4));
        let order: Vec<_> =
            core::iter::from_fn(|| timers.pop()).map(|(_, radio, cause)| (radio, cause)).collect();
        let expected = [(2, Cause::Respond), (1, Cause::TransmitEnd), (0, Cause::Access), (2, Cause::Access)];
        assert_eq!(order, expected);
        assert_eq!(timers.next(), Time::NEVER);
    }

    #[test]
    fn a_timer_set_twice_is_due_once() {
        let mut timers = Timers::new(250);
        for us in [9, 3, 7] {
            timers.set(249, Cause::Access, Time::from_micros(us));
        }
        assert_eq!(timers.get(249, Cause::Access), Time::from_micros(7));
        assert_eq!(timers.pop(), Some((Time::from_micros(7), 249, Cause::Access)));
        assert_eq!(timers.pop(), None);
    }
}
