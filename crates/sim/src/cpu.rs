//! A processor: packets wait for it in one queue, and each takes its time.
//!
//! ```text
//!  received ──▶ ring ──interrupt──▶ ready ──▶ one that is worked on ──▶ poll
//!  sent by a program ──────────────▶
//! ```
//!
//! A packet that was received waits in a ring for an interrupt. After it packets are taken without
//! another one until none is left, as Linux does (NAPI). A program's packets need none. What is
//! worked on is finished first. `docs/models/processor.md` says what this was held against.

use crate::measure::CpuCounts;
use ropewalk_air::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// What a processor's work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSpec {
    /// A packet.
    pub per_packet: Duration,
    /// Each of its bytes, besides.
    pub per_byte: Duration,
    /// An interrupt.
    pub per_interrupt: Duration,
    /// From the first packet that an interrupt announces to the interrupt.
    pub coalescing: Duration,
    /// Packets that can wait, ring and queue together.
    pub queue: usize,
}

/// A packet that waits.
#[derive(Debug)]
struct Waiting<T> {
    packet: T,
    bytes: u32,
    since: Time,
}

/// What is worked on.
#[derive(Debug)]
struct Task<T> {
    /// None: an interrupt.
    packet: Option<T>,
    since: Time,
    until: Time,
}

/// A processor, with the packets that wait for it.
#[derive(Debug)]
pub struct Cpu<T> {
    spec: CpuSpec,
    ring: VecDeque<Waiting<T>>,
    /// When the interrupt for the ring comes.
    interrupt: Option<Time>,
    /// Packets that come in need no interrupt now.
    polls: bool,
    ready: VecDeque<Waiting<T>>,
    task: Option<Task<T>>,
    counts: CpuCounts,
}

impl<T> Cpu<T> {
    /// One that has nothing to do.
    pub fn new(spec: CpuSpec) -> Cpu<T> {
        Cpu {
            spec,
            ring: VecDeque::new(),
            interrupt: None,
            polls: false,
            ready: VecDeque::new(),
            task: None,
            counts: CpuCounts::default(),
        }
    }

    /// Takes a packet that was received. It is dropped if there is no place for it.
    pub fn receive(&mut self, now: Time, packet: T, bytes: u32) {
        if !self.has_place() {
            return;
        }
        let waiting = Waiting { packet, bytes, since: now };
        if self.polls {
            self.ready.push_back(waiting);
        } else {
            self.ring.push_back(waiting);
            self.interrupt.get_or_insert(now + self.spec.coalescing);
        }
        self.begin(now);
    }

    /// Takes a packet that a program sends. It is dropped if there is no place for it.
    pub fn send(&mut self, now: Time, packet: T, bytes: u32) {
        if self.has_place() {
            self.ready.push_back(Waiting { packet, bytes, since: now });
            self.begin(now);
        }
    }

    /// A packet whose work is done.
    pub fn poll(&mut self, now: Time) -> Option<T> {
        loop {
            let Some(task) = self.task.take_if(|task| task.until <= now) else {
                // Either it works still, or it is idle until an interrupt.
                let at = self.interrupt.filter(|at| self.task.is_none() && *at <= now)?;
                self.begin(at);
                continue;
            };
            self.counts.busy_ns += (task.until - task.since).as_nanos() as u64;
            // What follows began when this was done, however late the driver is.
            self.begin(task.until);
            if task.packet.is_some() {
                self.counts.packets += 1;
                return task.packet;
            }
        }
    }

    /// When to poll.
    pub fn next_timeout(&self) -> Option<Time> {
        self.task.as_ref().map(|task| task.until).or(self.interrupt)
    }

    /// What it did until now, the part of its present work that is done included.
    pub fn counts(&self, now: Time) -> CpuCounts {
        let begun = self.task.as_ref().map_or(Duration::ZERO, |task| now.min(task.until) - task.since);
        CpuCounts { busy_ns: self.counts.busy_ns + begun.as_nanos() as u64, ..self.counts }
    }

    fn has_place(&mut self) -> bool {
        let has_place = self.ring.len() + self.ready.len() < self.spec.queue;
        self.counts.dropped += u64::from(!has_place);
        has_place
    }

    /// Takes up what is next, if it is idle: an interrupt that is due, then a packet.
    fn begin(&mut self, now: Time) {
        if self.task.is_some() {
            return;
        }
        if self.interrupt.take_if(|at| *at <= now).is_some() {
            self.polls = true;
            self.ready.append(&mut self.ring);
            self.counts.interrupts += 1;
            self.task = Some(Task { packet: None, since: now, until: now + self.spec.per_interrupt });
        } else if let Some(Waiting { packet, bytes, since }) = self.ready.pop_front() {
            self.counts.wait_ns += (now - since).as_nanos() as u64;
            let until = now + self.spec.per_packet + self.spec.per_byte * bytes;
            self.task = Some(Task { packet: Some(packet), since: now, until });
        } else {
            self.polls = false;
        }
    }
}

#[cfg(test)]
mod tests;
