//! All flows of a session.

use super::assembly::Assembly;
use super::flow::{Flow, Took, WINDOW};
use super::gap::{Gap, Hold};
use super::held::Held;
use super::low_latency::Duplicates;
use super::waits::Waits;
use crate::pool::{Buf, CLASS_BYTES, Pool};
use crate::queue::FLOWS;
use crate::store::LOW_LATENCY;
use crate::vnet::Vnet;
use crate::wire::{Fragment, Timestamp};
use ropewalk_time::{Duration, Time};
use std::collections::VecDeque;

/// A packet that is there in part, with nothing after it, is given up after this: by then the sender has long done so, and its notice was lost.
const ABANDONED_AFTER: Duration = Duration::from_secs(5);
/// Of a flow that is silent for so long only the next number is kept: nothing that old is still on its way.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// A packet for the device. Its buffer is the receiver's to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where it lies.
    pub buf: Buf,
    /// Its length, bytes.
    pub len: u32,
    /// Its offload header.
    pub vnet: Vnet,
    /// The driver's number of the device that it is for; set when it is inspected.
    pub device: u32,
    /// It came in the low-latency class.
    pub low_latency: bool,
}

impl Delivery {
    pub(super) fn of(packet: Assembly) -> Delivery {
        let (buf, len, vnet) = packet.finish();
        Delivery { buf, len, vnet, device: 0, low_latency: false }
    }
}

/// Where the next datagram's data most likely belong: at the end of the packet that the last ones went on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its flow.
    pub flow: u16,
    /// Its number.
    pub seq: u32,
    /// Where it lies.
    pub buf: Buf,
    /// Bytes that are there, from its beginning.
    pub at: u32,
    /// Bytes that it may have.
    pub room: u32,
}

/// What happened at this end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets handed to the device.
    pub delivered: u64,
    /// Packets given up.
    pub given_up: u64,
    /// Packets passed on after they had been given up.
    pub late: u64,
    /// Fragments that were there already.
    pub duplicates: u64,
    /// Fragments and notices without memory or place, or that contradicted others.
    pub refused: u64,
    /// What its work grows with: blocks of numbers and gaps looked at.
    pub steps: u64,
}

/// What is known of a flow.
#[derive(Debug)]
enum Entry {
    Unheard,
    /// It was silent for long. Its next number.
    Silent(u32),
    Live(Box<Flow>),
}

/// The receiving end's order, for one session. Costs nothing until data comes.
#[derive(Debug, Default)]
pub struct Reassembly {
    flows: Vec<Entry>,
    low_latency: Vec<Option<Box<Duplicates>>>,
    gaps: Vec<Gap>,
    held: Held,
    counters: Counters,
    waits: Waits,
    /// Packets pass as they become whole.
    unordered: bool,
    /// The flow and number of the last fragment, and the offset of what would go on with it.
    last: (u16, u32, u32),
    /// That fragment went on with the one before.
    goes_on: bool,
}

impl Reassembly {
    /// Bytes of the heap that a session can make this take, packet memory and histogram aside: about 4 MB. What a session that is used in the
    /// ordinary way takes is far less.
    pub const MOST_HEAP: usize = Held::MOST_HEAP
        + FLOWS * (size_of::<Entry>() + size_of::<Flow>())
        + FLOWS * (size_of::<Option<Box<Duplicates>>>() + size_of::<Duplicates>())
        + FLOWS * size_of::<Gap>();

    /// One that keeps no order: every packet passes as soon as it is whole, once. For measuring what order is worth (Multifacet, figure 13).
    pub fn unordered() -> Reassembly {
        Reassembly { unordered: true, ..Reassembly::default() }
    }

    /// Totals since the start.
    pub fn counters(&self) -> Counters {
        Counters { steps: self.held.steps, ..self.counters }
    }

    /// How long packets waited for those before them, since the start.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Packet memory held for order, bytes.
    pub fn held_bytes(&self) -> u64 {
        self.held.bytes.iter().sum()
    }

    /// Flows in which something is missing.
    pub fn gaps(&self) -> usize {
        self.gaps.len()
    }

    /// A fragment came in a datagram that left at `timestamp`.
    pub fn on_fragment(
        &mut self,
        pool: &mut Pool,
        c: &Fragment<'_>,
        timestamp: Timestamp,
        now: Time,
        out: &mut VecDeque<Delivery>,
    ) {
        if c.flow & LOW_LATENCY != 0 {
            return self.on_low_latency(pool, c, now, out);
        }
        let Some(flow) = live(&mut self.flows, c.flow, c.seq, now) else {
            self.counters.refused += 1;
            return;
        };
        if flow.ahead(c.seq) >= WINDOW as i32 {
            self.slide(c.flow, c.seq, pool, now, out);
        }
        let may_hold = self.may_hold(pool, c);
        let Some(flow) = live(&mut self.flows, c.flow, c.seq, now) else { return };
        let took = flow.add(&mut self.held, pool, c, may_hold, now);
        let end = u32::from(c.offset) + c.data.len() as u32;
        self.goes_on = self.last == (c.flow, c.seq, u32::from(c.offset));
        self.last = (c.flow, c.seq, end);
        match took {
            Took::Kept => self.settle((c.flow, c.seq), now, out),
            Took::Late => {
                self.counters.late += 1;
                self.deliver_copy(pool, c, out);
            }
            Took::Duplicate => self.counters.duplicates += 1,
            Took::NoRoom => {
                // Out of memory: the front must move, or nothing ever will.
                self.counters.refused += 1;
                self.give_up(c.flow, pool, now, out);
            }
        }
        if c.no_gap_before {
            self.note_sent_before(c.flow, c.seq, timestamp);
        }
    }

    /// Of buffers in which a packet of this length fits, one session holds no more than it leaves
    /// to the others.
    fn may_hold(&self, pool: &Pool, c: &Fragment<'_>) -> bool {
        let len = c.total.map_or(usize::from(c.offset) + c.data.len(), usize::from);
        let fitting = CLASS_BYTES.iter().position(|size| *size >= len).unwrap_or(CLASS_BYTES.len());
        self.held.bytes[fitting..].iter().sum::<u64>() <= pool.free_bytes_from(fitting) as u64
    }

    /// What the next datagram will most likely go on with. A guess: fragments of one packet may come by several paths.
    pub fn in_place_target(&mut self) -> Option<Target> {
        let (flow, seq, _) = self.last;
        let Some(Entry::Live(f)) = self.flows.get(usize::from(flow)).filter(|_| self.goes_on) else {
            return None;
        };
        let (buf, at, room) = f.end(&mut self.held, seq)?;
        Some(Target { flow, seq, buf, at, room })
    }

    /// The guess was right, and the next `len` bytes were written to their place. `before`: everything before that packet left before this.
    pub fn on_in_place(
        &mut self,
        t: &Target,
        len: usize,
        before: Option<Timestamp>,
        now: Time,
        out: &mut VecDeque<Delivery>,
    ) {
        let Some(flow) = live(&mut self.flows, t.flow, t.seq, now) else { return };
        flow.extend(&mut self.held, t.seq, len, now);
        self.last = (t.flow, t.seq, t.at + len as u32);
        self.settle((t.flow, t.seq), now, out);
        if let Some(timestamp) = before {
            self.note_sent_before(t.flow, t.seq, timestamp);
        }
    }

    /// The sender abandoned a packet. `before`: everything before it left before this.
    pub fn on_skip(
        &mut self,
        pool: &mut Pool,
        (flow, seq): (u16, u32),
        before: Option<Timestamp>,
        now: Time,
        out: &mut VecDeque<Delivery>,
    ) {
        if flow & LOW_LATENCY != 0 {
            return;
        }
        let noted =
            live(&mut self.flows, flow, seq, now).is_some_and(|f| f.abandon(&mut self.held, pool, seq, now));
        match noted {
            true => self.settle((flow, seq), now, out),
            false => self.counters.refused += 1,
        }
        if let Some(timestamp) = before {
            self.note_sent_before(flow, seq, timestamp);
        }
    }

    /// Gives up what has been missing for too long. `oldest_newest`: of the newest timestamps of all live paths, the oldest; what was sent before
    /// it and is not here is lost. Returns when to ask again.
    pub fn check(
        &mut self,
        pool: &mut Pool,
        now: Time,
        oldest_newest: Option<Timestamp>,
        hold: Hold,
        out: &mut VecDeque<Delivery>,
    ) -> Option<Time> {
        let mut next: Option<Time> = None;
        let mut i = 0;
        while let Some(gap) = self.gaps.get_mut(i) {
            self.held.steps += 1;
            match (gap.over_at(now, oldest_newest, hold), gap.flow) {
                // Then it is off the list, or the flow has another gap, which is looked at next.
                (at, flow) if at <= now => self.give_up(flow, pool, now, out),
                (at, _) => {
                    next = next.into_iter().chain([at]).min();
                    i += 1;
                }
            }
        }
        next
    }

    /// Gives up packets that have been there in part for long, with nothing after them, and what flows that fell silent need no more. To be
    /// called about once a second.
    pub fn expire(&mut self, pool: &mut Pool, now: Time, out: &mut VecDeque<Delivery>) {
        for i in 0..self.flows.len() {
            let Entry::Live(flow) = &mut self.flows[i] else { continue };
            let is_idle = now.since(flow.used) >= FORGET_AFTER;
            if flow.is_empty() && is_idle {
                self.flows[i] = Entry::Silent(flow.next());
            } else if flow.gap.is_none()
                && flow.partial_since(&mut self.held).is_some_and(|t| now.since(t) >= ABANDONED_AFTER)
            {
                self.give_up(i as u16, pool, now, out);
            }
        }
        for duplicates in &mut self.low_latency {
            if duplicates.as_ref().is_some_and(|d| now.since(d.used) >= FORGET_AFTER) {
                *duplicates = None;
            }
        }
        self.held.give_back();
    }

    /// Frees everything.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.held.clear(pool);
        self.flows.clear();
        self.low_latency.clear();
        self.gaps.clear();
    }

    /// Bytes of the heap that it holds, packet memory aside.
    pub fn heap_bytes(&self) -> usize {
        let flows = self.flows.iter().filter(|e| matches!(e, Entry::Live(_))).count();
        let low_latency = self.low_latency.iter().flatten().count();
        self.held.heap_bytes()
            + self.flows.capacity() * size_of::<Entry>()
            + flows * size_of::<Flow>()
            + self.low_latency.capacity() * size_of::<Option<Box<Duplicates>>>()
            + low_latency * size_of::<Duplicates>()
            + self.gaps.capacity() * size_of::<Gap>()
    }

    fn on_low_latency(&mut self, pool: &mut Pool, c: &Fragment<'_>, now: Time, out: &mut VecDeque<Delivery>) {
        let whole = c.total.is_some_and(|t| usize::from(t) == c.data.len());
        let flow = usize::from(c.flow & !LOW_LATENCY);
        if self.low_latency.is_empty() {
            self.low_latency.resize_with(FLOWS, || None);
        }
        let Some(entry) = self.low_latency.get_mut(flow).filter(|_| whole) else {
            self.counters.refused += 1;
            return;
        };
        let duplicates = entry.get_or_insert_with(|| Box::new(Duplicates::new(c.seq, now)));
        match duplicates.is_new(c.seq, now) {
            true => self.deliver_copy(pool, c, out),
            false => self.counters.duplicates += 1,
        }
    }

    fn deliver_copy(&mut self, pool: &mut Pool, c: &Fragment<'_>, out: &mut VecDeque<Delivery>) {
        let Some(buf) = pool.alloc(c.data.len()) else {
            self.counters.refused += 1;
            return;
        };
        pool.bytes_mut(buf)[..c.data.len()].copy_from_slice(c.data);
        self.counters.delivered += 1;
        out.push_back(Delivery {
            buf,
            len: c.data.len() as u32,
            vnet: c.vnet.unwrap_or_default(),
            device: 0,
            low_latency: c.flow & LOW_LATENCY != 0,
        });
    }

    /// Packet `seq` of a flow is beyond its window. The window moves until that is its last; what is left behind is delivered, or given up.
    fn slide(&mut self, flow: u16, seq: u32, pool: &mut Pool, now: Time, out: &mut VecDeque<Delivery>) {
        let first = seq.wrapping_sub(WINDOW - 1) & 0xff_ffff;
        while let Some(Entry::Live(f)) = self.flows.get_mut(usize::from(flow))
            && f.ahead(first) > 0
        {
            let given_up = f.give_up(&mut self.held, pool, Some(first));
            self.counters.given_up += u64::from(given_up);
            self.release(flow, None, now, out);
        }
    }

    fn give_up(&mut self, flow: u16, pool: &mut Pool, now: Time, out: &mut VecDeque<Delivery>) {
        let Some(Entry::Live(f)) = self.flows.get_mut(usize::from(flow)) else { return };
        let given_up = f.give_up(&mut self.held, pool, None);
        self.counters.given_up += u64::from(given_up);
        // A packet that is there in part is the next gap, and has been one since its first fragment came.
        let since = f.partial_since(&mut self.held);
        self.release(flow, since, now, out);
    }

    /// Delivers what can be after something came for packet `seq`.
    fn settle(&mut self, (flow, seq): (u16, u32), now: Time, out: &mut VecDeque<Delivery>) {
        if self.unordered
            && let Some(Entry::Live(f)) = self.flows.get_mut(usize::from(flow))
        {
            let whole = f.take_whole(&mut self.held, seq);
            self.counters.delivered += u64::from(whole.is_some());
            out.extend(whole);
        }
        self.release(flow, None, now, out);
    }

    /// Delivers what is next in a flow, and keeps the list of gaps: one that begins has been one `since` then, or now.
    fn release(&mut self, flow: u16, since: Option<Time>, now: Time, out: &mut VecDeque<Delivery>) {
        let Some(Entry::Live(f)) = self.flows.get_mut(usize::from(flow)) else { return };
        let before = out.len();
        let released = f.release(&mut self.held, now, &mut self.waits, out);
        self.counters.delivered += (out.len() - before) as u64;
        let since = since.filter(|_| !released).unwrap_or(now);
        match (f.gap.map(usize::from), f.has_gap(&self.held)) {
            // The same gap as before.
            (Some(i), true) if self.gaps[i].next == f.next() => {}
            (None, false) => {}
            (Some(i), true) => self.gaps[i] = Gap::new(flow, f.next(), since, f.waiting_since(&self.held)),
            (None, true) => {
                f.gap = Some(self.gaps.len() as u16);
                self.gaps.push(Gap::new(flow, f.next(), since, f.waiting_since(&self.held)));
            }
            (Some(i), false) => {
                f.gap = None;
                self.gaps.swap_remove(i);
                let moved = self.gaps.get(i).and_then(|gap| self.flows.get_mut(usize::from(gap.flow)));
                if let Some(Entry::Live(moved)) = moved {
                    moved.gap = Some(i as u16);
                }
            }
        }
    }

    /// Packet `seq` was sent after all that were sent before it at `timestamp`.
    fn note_sent_before(&mut self, flow: u16, seq: u32, timestamp: Timestamp) {
        if let Some(Entry::Live(f)) = self.flows.get(usize::from(flow))
            && f.ahead(seq) > 0
            && let Some(gap) = f.gap.and_then(|i| self.gaps.get_mut(usize::from(i)))
        {
            gap.note_sent_before(timestamp);
        }
    }
}

/// The state of a flow that something has come for; `None` if there is no such flow.
fn live(flows: &mut Vec<Entry>, flow: u16, seq: u32, now: Time) -> Option<&mut Flow> {
    if flows.is_empty() {
        flows.resize_with(FLOWS, || Entry::Unheard);
    }
    let entry = flows.get_mut(usize::from(flow))?;
    match entry {
        Entry::Live(_) => {}
        Entry::Unheard => *entry = Entry::Live(Box::new(Flow::new(seq, now))),
        Entry::Silent(next) => *entry = Entry::Live(Box::new(Flow::resumed(*next, now))),
    }
    match entry {
        Entry::Live(flow) => Some(flow),
        _ => None,
    }
}

#[cfg(test)]
#[path = "reassembly_tests.rs"]
mod tests;
