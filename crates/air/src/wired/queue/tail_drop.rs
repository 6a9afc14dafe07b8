//! First in, first out; what does not fit is dropped.

use super::{Line, Room, Waiting};
use crate::Time;
use crate::wired::{Counters, Packet};

#[derive(Debug)]
pub(crate) struct TailDrop<T> {
    line: Line<T>,
    pub(super) room: Room,
}

impl<T> TailDrop<T> {
    pub(super) fn new(room: Room) -> TailDrop<T> {
        TailDrop { line: Line::default(), room }
    }

    pub(super) fn push(&mut self, now: Time, packet: Packet<T>, count: &mut Counters) {
        if self.room.has(packet.len, self.line.len(), self.line.bytes()) {
            self.line.push(now, packet);
        } else {
            count.dropped_queue += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        self.line.pop()
    }

    pub(super) fn backlog(&self) -> (usize, u64) {
        (self.line.len(), self.line.bytes())
    }
}
