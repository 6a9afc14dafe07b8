//! Classes in strict order: a packet goes only when no packet of a lower class number waits.

use super::{Line, Room, Waiting};
use crate::Time;
use crate::wired::{Counters, Packet};

#[derive(Debug)]
pub(crate) struct Strict<T> {
    bands: Vec<Line<T>>,
    /// Of each band.
    pub(super) room: Room,
}

impl<T> Strict<T> {
    pub(super) fn new(bands: u8, room: Room) -> Strict<T> {
        Strict { bands: (0..bands.max(1)).map(|_| Line::default()).collect(), room }
    }

    pub(super) fn push(&mut self, now: Time, packet: Packet<T>, count: &mut Counters) {
        let last = self.bands.len() - 1;
        let band = &mut self.bands[usize::from(packet.class).min(last)];
        if self.room.has(packet.len, band.len(), band.bytes()) {
            band.push(now, packet);
        } else {
            count.dropped_queue += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        self.bands.iter_mut().find_map(Line::pop)
    }

    pub(super) fn backlog(&self) -> (usize, u64) {
        self.bands.iter().fold((0, 0), |(packets, bytes), b| (packets + b.len(), bytes + b.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_classes_first_and_each_its_own_room() {
        let mut count = Counters::default();
        let mut queue = Strict::new(3, Room { packets: 2, bytes: 10_000 });
        for (class, payload) in [(2, 'x'), (9, 'y'), (2, 'z'), (1, 'b'), (0, 'a')] {
            queue.push(Time::ZERO, Packet { class, ..Packet::new(100, payload) }, &mut count);
        }
        assert_eq!((queue.backlog(), count.dropped_queue), ((4, 400), 1));
        let order: String = std::iter::from_fn(|| queue.pop()).map(|w| w.packet.payload).collect();
        assert_eq!(order, "abxy");
    }
}
