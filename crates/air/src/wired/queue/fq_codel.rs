//! FQ-CoDel: flows take turns by bytes, new ones first, each under CoDel (RFC 8290).

use std::collections::VecDeque;

use super::codel::Control;
use super::{Line, Room, Waiting};
use crate::Time;
use crate::wired::{Aqm, Counters, Packet};

/// At most so many packets go at once when the queue is full, so that the search for the longest flow stays cheap
/// (Linux's `drop_batch`).
const DROP_BATCH: usize = 64;

#[derive(Debug)]
struct Flow<T> {
    line: Line<T>,
    control: Control,
    /// Bytes that the flow may still send in this turn (RFC 8290, section 4.2, "credits").
    credits: i64,
    listed: bool,
}

/// Flows in turn, each under CoDel.
#[derive(Debug)]
pub(crate) struct FqCodel<T> {
    flows: Vec<Flow<T>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    aqm: Aqm,
    quantum: i64,
    perturbation: u64,
    packets: usize,
    bytes: u64,
    pub(super) room: Room,
}

impl<T> FqCodel<T> {
    pub(crate) fn new(aqm: Aqm, flows: u16, quantum: u32, room: Room, perturbation: u64) -> FqCodel<T> {
        let flow = || Flow { line: Line::default(), control: Control::new(), credits: 0, listed: false };
        FqCodel {
            flows: (0..flows.max(1)).map(|_| flow()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            aqm,
            quantum: i64::from(quantum.max(1)),
            perturbation,
            packets: 0,
            bytes: 0,
            room,
        }
    }

    /// Section 4.1. `lost` gets what is dropped.
    pub(crate) fn push(
        &mut self,
        now: Time,
        packet: Packet<T>,
        count: &mut Counters,
        lost: &mut impl FnMut(Waiting<T>),
    ) {
        let index = self.index(packet.flow);
        let full = !self.room.has(packet.len, self.packets, self.bytes);
        let flow = &mut self.flows[index];
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        flow.line.push(now, packet);
        if !flow.listed {
            flow.listed = true;
            flow.credits = self.quantum;
            self.new.push_back(index as u32);
        }
        if full {
            self.shorten(count, lost);
        }
    }

    /// Which line a flow's packets wait in: the caller's hash, stirred so that neighbours in value spread out
    /// (the finaliser of SplitMix64).
    fn index(&self, flow: u64) -> usize {
        let mut x = flow ^ self.perturbation;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % self.flows.len() as u64) as usize
    }

    /// Drops from the head of the flow with the most bytes, up to half of it (section 4.1, last paragraph).
    fn shorten(&mut self, count: &mut Counters, lost: &mut impl FnMut(Waiting<T>)) {
        let Some(longest) = self.flows.iter_mut().max_by_key(|f| f.line.bytes()) else { return };
        let goal = longest.line.bytes() / 2;
        for _ in 0..DROP_BATCH {
            let Some(dropped) = longest.line.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(dropped.packet.len);
            count.dropped_queue += 1;
            lost(dropped);
            if longest.line.bytes() <= goal {
                break;
            }
        }
    }

    /// Section 4.2. `lost` gets what is dropped.
    pub(crate) fn pop(
        &mut self,
        now: Time,
        count: &mut Counters,
        lost: &mut impl FnMut(Waiting<T>),
    ) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index as usize];
            if flow.credits <= 0 {
                flow.credits += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (packets, bytes) = (flow.line.len(), flow.line.bytes());
            let head = flow.control.pop(now, &mut flow.line, &self.aqm, count, lost);
            self.packets -= packets - flow.line.len();
            self.bytes -= bytes - flow.line.bytes();
            if let Some(head) = head {
                flow.credits -= i64::from(head.packet.len);
                return Some(head);
            }
            list.pop_front();
            // An empty new flow goes through the old ones once, or it could starve them by coming back as new.
            if is_new {
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }

    /// Changes how many packets may wait; what waits stays.
    pub(crate) fn set_room(&mut self, packets: usize) {
        self.room.packets = packets;
    }

    pub(crate) fn backlog(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(packets: usize) -> FqCodel<u64> {
        FqCodel::new(Aqm::default(), 1024, 1514, Room { packets, bytes: u64::MAX }, 9)
    }

    fn packet(flow: u64, len: u32) -> Packet<u64> {
        Packet { flow, ..Packet::new(len, flow) }
    }

    #[test]
    fn flows_share_by_bytes_and_a_new_one_goes_first() {
        let (mut queue, mut count) = (queue(10_000), Counters::default());
        for _ in 0..900 {
            queue.push(Time::ZERO, packet(1, 1500), &mut count, &mut |_| {});
            (0..3).for_each(|_| queue.push(Time::ZERO, packet(2, 500), &mut count, &mut |_| {}));
        }
        let mut bytes = [0u64; 3];
        for _ in 0..1000 {
            let head = queue.pop(Time::ZERO, &mut count, &mut |_| {}).unwrap();
            bytes[head.packet.payload as usize] += u64::from(head.packet.len);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 3000, "{bytes:?}");
        queue.push(Time::ZERO, packet(3, 100), &mut count, &mut |_| {});
        assert_eq!(queue.pop(Time::ZERO, &mut count, &mut |_| {}).unwrap().packet.payload, 3);
    }

    #[test]
    fn a_full_queue_takes_from_the_longest_flow() {
        let (mut queue, mut count) = (queue(100), Counters::default());
        for _ in 0..10 {
            queue.push(Time::ZERO, packet(5, 1000), &mut count, &mut |_| {});
        }
        for _ in 0..500 {
            queue.push(Time::ZERO, packet(6, 1000), &mut count, &mut |_| {});
        }
        assert!(queue.backlog().0 <= 100);
        let mut left = [0; 7];
        while let Some(head) = queue.pop(Time::ZERO, &mut count, &mut |_| {}) {
            left[head.packet.payload as usize] += 1;
        }
        assert_eq!(left[5], 10);
        assert_eq!(left[5] + left[6] + count.dropped_queue, 510);
        assert_eq!(queue.backlog(), (0, 0));
    }
}
