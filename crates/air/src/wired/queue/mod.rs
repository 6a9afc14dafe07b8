//! What waits for the wire, and which of it goes next.
//!
//! Four disciplines, chosen by [`QueueSpec`]: [`TailDrop`] as in most home routers, [`Codel`] and [`FqCodel`] as in the
//! better ones, [`Strict`] classes as a shaper gives them. Each is bounded, and each counts what it drops or marks.

mod codel;
mod fq_codel;
mod strict;
mod tail_drop;

use core::time::Duration;
use std::collections::VecDeque;

pub(super) use codel::Codel;
pub(crate) use fq_codel::FqCodel;
pub(super) use strict::Strict;
pub(super) use tail_drop::TailDrop;

use super::{Counters, Packet, QueueSpec};
use crate::Time;

/// A packet that waits, and since when.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) packet: Packet<T>,
    pub(super) since: Time,
    /// How long it had waited when its turn came.
    pub(super) waited: Duration,
    /// Congestion Experienced is to be set on it (RFC 3168).
    pub(crate) marked: bool,
}

/// A line of packets that knows its length.
#[derive(Debug)]
pub(super) struct Line<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: u64,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Line<T> {
    pub(super) fn push(&mut self, now: Time, packet: Packet<T>) {
        self.bytes += u64::from(packet.len);
        self.packets.push_back(Waiting { packet, since: now, waited: Duration::ZERO, marked: false });
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.packet.len);
        Some(waiting)
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The most that may wait: whichever is reached first. Bytes come from the spec and the rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
}

impl Room {
    /// Whether a packet of `len` bytes fits behind `packets` packets of `bytes` in all.
    pub(super) fn has(&self, len: u32, packets: usize, bytes: u64) -> bool {
        // An empty queue takes any packet, or a limit below one packet would stop the link for good.
        packets == 0 || (packets < self.packets && bytes + u64::from(len) <= self.bytes)
    }
}

/// A queue of one of the four kinds.
#[derive(Debug)]
pub(super) enum Queue<T> {
    TailDrop(TailDrop<T>),
    Codel(Codel<T>),
    FqCodel(FqCodel<T>),
    Strict(Strict<T>),
}

impl<T> Queue<T> {
    pub(super) fn new(spec: &QueueSpec, room: Room, perturbation: u64) -> Queue<T> {
        match *spec {
            QueueSpec::TailDrop { .. } => Queue::TailDrop(TailDrop::new(room)),
            QueueSpec::Codel { aqm, .. } => Queue::Codel(Codel::new(aqm, room)),
            QueueSpec::FqCodel { aqm, flows, quantum_bytes, .. } => {
                Queue::FqCodel(FqCodel::new(aqm, flows, quantum_bytes, room, perturbation))
            }
            QueueSpec::Strict { bands, floor_bps, .. } => Queue::Strict(Strict::new(bands, floor_bps, room)),
        }
    }

    /// Takes a packet in, or drops it or others for it.
    pub(super) fn push(&mut self, now: Time, packet: Packet<T>, count: &mut Counters) {
        match self {
            Queue::TailDrop(q) => q.push(now, packet, count),
            Queue::Codel(q) => q.push(now, packet, count),
            Queue::FqCodel(q) => q.push(now, packet, count, &mut |_| {}),
            Queue::Strict(q) => q.push(now, packet, count),
        }
    }

    /// The packet to send at `now`; none only if the queue is empty.
    pub(super) fn pop(&mut self, now: Time, count: &mut Counters) -> Option<Waiting<T>> {
        match self {
            Queue::TailDrop(q) => q.pop(),
            Queue::Codel(q) => q.pop(now, count),
            Queue::FqCodel(q) => q.pop(now, count, &mut |_| {}),
            Queue::Strict(q) => q.pop(now),
        }
    }

    /// Changes how much may wait. What waits already stays.
    pub(super) fn set_room(&mut self, room: Room) {
        match self {
            Queue::TailDrop(q) => q.room = room,
            Queue::Codel(q) => q.room = room,
            Queue::FqCodel(q) => q.room = room,
            Queue::Strict(q) => q.room = room,
        }
    }

    /// Packets and bytes that wait.
    pub(super) fn backlog(&self) -> (usize, u64) {
        match self {
            Queue::TailDrop(q) => q.backlog(),
            Queue::Codel(q) => q.backlog(),
            Queue::FqCodel(q) => q.backlog(),
            Queue::Strict(q) => q.backlog(),
        }
    }
}
