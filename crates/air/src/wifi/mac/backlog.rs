//! Packets that wait for one station in one category, in one of four disciplines.

use core::time::Duration;
use std::collections::VecDeque;

use crate::Time;
use crate::wifi::api::Packet;
use crate::wired::queue::{FqCodel, Room};
use crate::wired::{self, Aqm, Counters};

/// What a station's queue does besides being limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discipline {
    /// First in, first out; the newest is dropped when it is full.
    #[default]
    TailDrop,
    /// Flows take turns, each under CoDel, which marks what can be marked (RFC 8290), as in Linux's mac80211: a target of
    /// 20 ms, an interval of 100 ms, a quantum of 300 bytes. When it is full, the longest flow loses.
    FqCodel,
    /// The same, and stations take turns by airtime: deficit round robin with 256 µs a turn, as `ieee80211_next_txq` in Linux since 5.1.
    AirtimeFair,
    /// One line per category for all stations, those packets included that are not acknowledged yet: the station whose oldest
    /// packet came first is served (ns-3's `FcfsWifiQueueScheduler`).
    Fifo,
}

impl Discipline {
    /// Whether a queue drops others than the newest.
    pub(crate) fn is_managed(self) -> bool {
        matches!(self, Discipline::FqCodel | Discipline::AirtimeFair)
    }
}

/// mac80211's parameters (`ieee80211_txq_setup_flows`): the target is four times the internet's, as an aggregate takes milliseconds.
const AQM: Aqm = Aqm { target: Duration::from_millis(20), interval: Duration::from_millis(100), ecn: true };
const QUANTUM_BYTES: u32 = 300;
/// Lines that flows are spread over, per station and category; mac80211 has 4096 for all stations together.
const LINES: u16 = 128;

/// A queue as mac80211 manages it, with room for so many packets; `perturbation` spreads its flows.
pub(crate) fn managed<T>(packets: usize, perturbation: u64) -> FqCodel<T> {
    FqCodel::new(AQM, LINES, QUANTUM_BYTES, Room { packets, bytes: u64::MAX }, perturbation)
}

/// A packet that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiting<T> {
    pub(crate) packet: Packet<T>,
    pub(crate) since: Time,
    /// Congestion Experienced is to be set on it.
    pub(crate) marked: bool,
}

/// The packets.
#[derive(Debug)]
pub(crate) struct Backlog<T> {
    /// All of them, or the one that the managed queue has given out.
    head: VecDeque<Waiting<T>>,
    managed: Option<Box<FqCodel<Waiting<T>>>>,
    /// What the managed queue has dropped, until somebody completes it.
    pub(crate) lost: Vec<Waiting<T>>,
    count: Counters,
}

impl<T> Default for Backlog<T> {
    fn default() -> Backlog<T> {
        Backlog { head: VecDeque::new(), managed: None, lost: Vec::new(), count: Counters::default() }
    }
}

impl<T> Backlog<T> {
    /// Packets, those included that were dropped and not completed yet.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.lost.len() + self.managed.as_ref().map_or(0, |m| m.backlog().0)
    }

    /// Whether nothing is left to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.managed.as_ref().is_none_or(|m| m.backlog().0 == 0)
    }

    /// Since when the packet that will go next has waited, or one that was given out already.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.head.front().map(|w| w.since)
    }

    /// Takes a packet into the line.
    pub(crate) fn push(&mut self, waiting: Waiting<T>) {
        self.head.push_back(waiting);
    }

    /// Takes a packet into a managed queue of so many packets; `perturbation` spreads its flows.
    pub(crate) fn push_managed(&mut self, now: Time, waiting: Waiting<T>, packets: usize, perturbation: u64) {
        let managed = self.managed.get_or_insert_with(|| Box::new(managed(packets, perturbation)));
        let packet = wired::Packet {
            len: waiting.packet.len_bytes,
            flow: waiting.packet.flow,
            class: 0,
            ecn_capable: waiting.packet.ecn_capable,
            payload: waiting,
        };
        let lost = &mut self.lost;
        managed.push(now, packet, &mut self.count, &mut |gone| lost.push(gone.packet.payload));
    }

    /// The next packet. A managed queue decides which it is when it is first asked for.
    pub(crate) fn front(&mut self, now: Time) -> Option<&Waiting<T>> {
        if self.head.is_empty()
            && let Some(managed) = &mut self.managed
        {
            let lost = &mut self.lost;
            let next = managed.pop(now, &mut self.count, &mut |gone| lost.push(gone.packet.payload));
            self.head.extend(next.map(|next| Waiting { marked: next.marked, ..next.packet.payload }));
        }
        self.head.front()
    }

    pub(crate) fn pop_front(&mut self, now: Time) -> Option<Waiting<T>> {
        self.front(now)?;
        self.head.pop_front()
    }

    /// Everything, in the order in which it lies; the queue is empty afterwards.
    pub(crate) fn take_all(&mut self, now: Time) -> Vec<Waiting<T>> {
        let mut all = Vec::new();
        while let Some(next) = self.pop_front(now) {
            all.push(next);
        }
        all.append(&mut self.lost);
        all
    }
}
