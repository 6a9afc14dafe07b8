//! Classes in strict order: a packet goes only when no packet of a lower class number waits. The
//! last class may have a floor, as a class of HTB has a rate.

use super::{Line, Room, Waiting};
use crate::Time;
use crate::wired::{Counters, Packet};

/// Bits of a long packet.
const PACKET: f64 = 1514.0 * 8.0;

#[derive(Debug)]
pub(crate) struct Strict<T> {
    bands: Vec<Line<T>>,
    floor_bps: f64,
    /// Bits that the last class is owed: at most a packet, and at least a packet too many.
    owed: f64,
    owed_at: Time,
    /// Of each band.
    pub(super) room: Room,
}

impl<T> Strict<T> {
    pub(super) fn new(bands: u8, floor_bps: u64, room: Room) -> Strict<T> {
        let bands = (0..bands.max(1)).map(|_| Line::default()).collect();
        Strict { bands, floor_bps: floor_bps as f64, owed: 0.0, owed_at: Time::ZERO, room }
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

    pub(super) fn pop(&mut self, now: Time) -> Option<Waiting<T>> {
        let gained = now.since(self.owed_at).as_secs_f64() * self.floor_bps;
        (self.owed, self.owed_at) = ((self.owed + gained).min(PACKET), now);
        let last = self.bands.len() - 1;
        let by_right = if self.owed > 0.0 { self.bands[last].pop() } else { None };
        if let Some(first) = by_right {
            self.owed -= f64::from(first.packet.len) * 8.0;
            return Some(first);
        }
        let (band, next) =
            self.bands.iter_mut().enumerate().find_map(|(band, line)| Some((band, line.pop()?)))?;
        if band == last {
            // It has its floor already.
            self.owed = (self.owed - f64::from(next.packet.len) * 8.0).max(-PACKET);
        }
        Some(next)
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
        let mut queue = Strict::new(3, 0, Room { packets: 2, bytes: 10_000 });
        for (class, payload) in [(2, 'x'), (9, 'y'), (2, 'z'), (1, 'b'), (0, 'a')] {
            queue.push(Time::ZERO, Packet { class, ..Packet::new(100, payload) }, &mut count);
        }
        assert_eq!((queue.backlog(), count.dropped_queue), ((4, 400), 1));
        let order: String = std::iter::from_fn(|| queue.pop(Time::ZERO)).map(|w| w.packet.payload).collect();
        assert_eq!(order, "abxy");
    }

    #[test]
    fn the_last_class_has_its_floor_and_no_more_while_others_wait() {
        let last_of = |floor_bps: u64| {
            let mut count = Counters::default();
            let mut queue = Strict::new(2, floor_bps, Room { packets: 20_000, bytes: 1 << 30 });
            for class in [0, 1].repeat(4000) {
                queue.push(Time::ZERO, Packet { class, ..Packet::new(1250, class) }, &mut count);
            }
            // 4 Mb/s for 8 s: a packet each 2.5 ms.
            let sent = (0..3200).map(|i| queue.pop(Time::from_micros(2500 * i)).unwrap());
            sent.filter(|w| w.packet.payload == 1).count()
        };
        assert_eq!(last_of(0), 0, "strict");
        let packets = last_of(500_000);
        assert!((395..=405).contains(&packets), "{packets} of 400");
    }
}
