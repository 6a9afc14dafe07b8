//! All channels of a session.

use super::channel::{Channel, Took};
use super::waits::Waits;
use crate::pool::{Buf, Pool};
use crate::queue::FLOWS;
use crate::record::URGENT;
use crate::time::{Duration, Time};
use crate::vnet::Vnet;
use crate::wire::{Chunk, Stamp, seq_after};
use std::collections::VecDeque;

/// Urgent packets of a flow among which duplicates are found.
const URGENT_WINDOW: i32 = 1024;

/// Records of one session that may be held or missing at once: four full windows. A place is about 300 bytes.
const MAX_PLACES: usize = 32_768;

/// A record that is there in part, with nothing after it, is given up after this: by then the sender has long done so, and its notice was lost.
const ABANDONED_AFTER: Duration = Duration::from_secs(5);

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
}

/// Where the next datagram's data most likely belong: at the end of the record that the last ones went on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growing {
    /// Its channel.
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

/// How long a missing record holds those after it.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// After it is known lost: time for it to be sent again, and once more.
    pub repair: Duration,
    /// In any case: the deadline for when paths are silent.
    pub deadline: Duration,
    /// The deadline is that of the records that wait, however many gaps are before them; otherwise each gap has its own.
    pub of_records: bool,
}

/// What happened at this end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets handed to the device.
    pub delivered: u64,
    /// Records given up.
    pub given_up: u64,
    /// Records passed on after they had been given up.
    pub late: u64,
    /// Chunks that were there already.
    pub duplicates: u64,
    /// Chunks without memory or place, or that contradicted others.
    pub refused: u64,
}

#[derive(Debug)]
struct UrgentSeen {
    newest: u32,
    bits: [u64; URGENT_WINDOW as usize / 64],
}

/// The receiving end's order, for one session. Costs nothing until data comes.
#[derive(Debug, Default)]
pub struct Table {
    channels: Vec<Option<Box<Channel>>>,
    urgent: Vec<Option<Box<UrgentSeen>>>,
    /// Channels with a gap.
    gapped: Vec<u16>,
    /// Memory held in all channels, bytes.
    held: u64,
    counters: Counters,
    waits: Waits,
    /// Records pass as they become whole.
    unordered: bool,
    /// The channel and record of the last chunk, and what would go on with it.
    last: (u16, u32, u32),
    /// That chunk went on with the one before.
    goes_on: bool,
}

impl Table {
    /// A table that keeps no order: every record passes as soon as it is whole, once. For measuring what order is worth (Multifacet, figure 13).
    pub fn unordered() -> Table {
        Table { unordered: true, ..Table::default() }
    }

    /// Totals since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How long records waited for those before them, since the start.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Memory held for order, bytes.
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Channels in which something is missing.
    pub fn gaps(&self) -> usize {
        self.gapped.len()
    }

    /// A chunk came in a datagram that left at `stamp`.
    pub fn on_chunk(
        &mut self,
        pool: &mut Pool,
        c: &Chunk<'_>,
        stamp: Stamp,
        now: Time,
        out: &mut VecDeque<Delivery>,
    ) {
        if c.flow & URGENT != 0 {
            return self.on_urgent(pool, c, out);
        }
        if self.channel(c.flow, c.seq).is_none() {
            self.counters.refused += 1;
            return;
        }
        if !self.has_place(c.flow, c.seq) {
            self.counters.refused += 1;
            return self.give_up(c.flow, pool, now, out);
        }
        let over_share = self.held > pool.free_bytes() as u64;
        let Some(channel) = self.channel(c.flow, c.seq) else { return };
        if c.at_head {
            channel.note_sent_before(c.seq, stamp);
        }
        let before = channel.held_bytes;
        // What one session holds is never more than what it leaves to the others.
        let took = match over_share && channel.would_hold(c) {
            true => Took::NoRoom,
            false => channel.on_chunk(pool, c, now),
        };
        let after = channel.held_bytes;
        self.held = self.held + after - before;
        let end = u32::from(c.offset) + c.data.len() as u32;
        self.goes_on = self.last == (c.flow, c.seq, u32::from(c.offset));
        self.last = (c.flow, c.seq, end);
        match took {
            Took::Kept => {
                self.pass_whole((c.flow, c.seq), pool, out);
                self.settle(c.flow, pool, now, out);
            }
            Took::Late => {
                self.counters.late += 1;
                self.deliver_copy(pool, c, out);
            }
            Took::Duplicate => self.counters.duplicates += 1,
            Took::NoRoom => {
                // Out of window or memory: the front must move, or nothing ever will.
                self.counters.refused += 1;
                self.give_up(c.flow, pool, now, out);
            }
        }
    }

    /// What the next datagram will most likely go on with. A guess: chunks of one record may come by several paths.
    pub fn growing(&self) -> Option<Growing> {
        let (flow, seq, _) = self.last;
        let channel = self.channels.get(flow as usize).filter(|_| self.goes_on)?.as_ref()?;
        let (buf, at, room) = channel.grown(seq)?;
        Some(Growing { flow, seq, buf, at, room })
    }

    /// The guess was right, and the next `len` bytes were written to their place.
    pub fn on_grown(
        &mut self,
        pool: &Pool,
        g: &Growing,
        len: usize,
        before: Option<Stamp>,
        now: Time,
        out: &mut VecDeque<Delivery>,
    ) {
        let Some(channel) = self.channel(g.flow, g.seq) else { return };
        if let Some(stamp) = before {
            channel.note_sent_before(g.seq, stamp);
        }
        channel.grow(g.seq, len as u32, now);
        self.last = (g.flow, g.seq, g.at + len as u32);
        self.pass_whole((g.flow, g.seq), pool, out);
        self.settle(g.flow, pool, now, out);
    }

    /// The sender gave up a record.
    pub fn on_void(&mut self, pool: &mut Pool, flow: u16, seq: u32, now: Time, out: &mut VecDeque<Delivery>) {
        if flow & URGENT != 0 {
            return;
        }
        if self.channel(flow, seq).is_none() || !self.has_place(flow, seq) {
            self.counters.refused += 1;
            return;
        }
        let Some(channel) = self.channel(flow, seq) else { return };
        let before = channel.held_bytes;
        channel.on_void(pool, seq);
        let after = channel.held_bytes;
        self.held = self.held + after - before;
        self.settle(flow, pool, now, out);
    }

    /// Whether the session's places suffice for record `seq`: numbers far ahead cost places, whoever sends them.
    fn has_place(&self, flow: u16, seq: u32) -> bool {
        let places =
            |f: u16| self.channels.get(f as usize).and_then(Option::as_ref).map_or(0, |c| c.places());
        let Some(channel) = self.channels.get(flow as usize).and_then(Option::as_ref) else { return false };
        let more = channel.places_for(seq).saturating_sub(channel.places());
        more == 0 || self.gapped.iter().map(|f| places(*f)).sum::<usize>() + more <= MAX_PLACES
    }

    fn channel(&mut self, flow: u16, seq: u32) -> Option<&mut Channel> {
        if self.channels.is_empty() {
            self.channels.resize_with(FLOWS, || None);
        }
        let slot = self.channels.get_mut(flow as usize)?;
        Some(slot.get_or_insert_with(|| Box::new(Channel::new(seq))))
    }

    /// Without order: a record that is whole now waits for no other.
    fn pass_whole(&mut self, (flow, seq): (u16, u32), pool: &Pool, out: &mut VecDeque<Delivery>) {
        if !self.unordered {
            return;
        }
        let Some(channel) = &mut self.channels[flow as usize] else { return };
        let held = channel.held_bytes;
        let whole = channel.take_whole(pool, seq);
        self.held -= held - channel.held_bytes;
        self.counters.delivered += u64::from(whole.is_some());
        out.extend(whole);
    }

    /// Delivers what can be and keeps the list of gaps.
    fn settle(&mut self, flow: u16, pool: &Pool, now: Time, out: &mut VecDeque<Delivery>) {
        let Some(channel) = &mut self.channels[flow as usize] else { return };
        let (before, held) = (out.len(), channel.held_bytes);
        channel.release(pool, now, &mut self.waits, out);
        self.held -= held - channel.held_bytes;
        self.counters.delivered += (out.len() - before) as u64;
        let listed = self.gapped.iter().position(|f| *f == flow);
        match (channel.gap_since.is_some(), listed) {
            (true, None) => self.gapped.push(flow),
            (false, Some(i)) => {
                self.gapped.swap_remove(i);
            }
            _ => {}
        }
    }

    fn give_up(&mut self, flow: u16, pool: &mut Pool, now: Time, out: &mut VecDeque<Delivery>) {
        let Some(channel) = &mut self.channels[flow as usize] else { return };
        let held = channel.held_bytes;
        self.counters.given_up += channel.give_up(pool);
        self.held -= held - channel.held_bytes;
        self.settle(flow, pool, now, out);
    }

    /// Gives up what has been missing for too long. `oldest_newest`: of the newest stamps of all live paths, the oldest; what was sent before
    /// it and is not here is lost. Returns when to ask again.
    pub fn check(
        &mut self,
        pool: &mut Pool,
        now: Time,
        oldest_newest: Option<Stamp>,
        hold: Hold,
        out: &mut VecDeque<Delivery>,
    ) -> Option<Time> {
        let mut next: Option<Time> = None;
        let mut i = 0;
        while let Some(&flow) = self.gapped.get(i) {
            let at =
                self.channels[flow as usize].as_mut().and_then(|c| deadline(c, now, oldest_newest, hold));
            match at {
                // Then it is off the list, or has another gap, which is looked at next.
                Some(at) if at <= now => self.give_up(flow, pool, now, out),
                at => {
                    next = next.into_iter().chain(at).min();
                    i += 1;
                }
            }
        }
        next
    }

    /// Gives up records that have been there in part for long, with nothing after them. To be called now and then.
    pub fn expire(&mut self, pool: &mut Pool, now: Time, out: &mut VecDeque<Delivery>) {
        let before = Time::from_nanos(now.as_nanos().saturating_sub(ABANDONED_AFTER.as_nanos() as u64));
        for flow in 0..self.channels.len() {
            if self.channels[flow].as_ref().is_some_and(|c| c.is_abandoned(before)) {
                self.give_up(flow as u16, pool, now, out);
            }
        }
    }

    fn on_urgent(&mut self, pool: &mut Pool, c: &Chunk<'_>, out: &mut VecDeque<Delivery>) {
        let whole = c.total.is_some_and(|t| t as usize == c.data.len());
        let flow = (c.flow & !URGENT) as usize;
        if self.urgent.is_empty() {
            self.urgent.resize_with(FLOWS, || None);
        }
        let Some(slot) = self.urgent.get_mut(flow).filter(|_| whole) else {
            self.counters.refused += 1;
            return;
        };
        let seen = slot.get_or_insert_with(|| {
            Box::new(UrgentSeen { newest: c.seq.wrapping_sub(1) & 0xff_ffff, bits: [0; 16] })
        });
        if !seen.is_new(c.seq) {
            self.counters.duplicates += 1;
            return;
        }
        self.deliver_copy(pool, c, out);
    }

    fn deliver_copy(&mut self, pool: &mut Pool, c: &Chunk<'_>, out: &mut VecDeque<Delivery>) {
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
        });
    }

    /// Frees everything.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.channels.iter_mut().flatten().for_each(|c| c.clear(pool));
        self.channels.clear();
        self.urgent.clear();
        self.gapped.clear();
        self.held = 0;
    }
}

/// When the gap of a channel is over, whatever happens.
fn deadline(c: &mut Channel, now: Time, oldest_newest: Option<Stamp>, hold: Hold) -> Option<Time> {
    let since = c.gap_since?;
    if c.lost_since.is_none() {
        let passed = |s: Stamp| oldest_newest.is_some_and(|o| o.later_than(s) > 0);
        if c.sent_before.is_some_and(passed) {
            c.lost_since = Some(now);
        }
    }
    let waiting = c.waiting_since.filter(|_| hold.of_records).unwrap_or(since);
    let latest = since.min(waiting) + hold.deadline;
    Some(c.lost_since.map_or(latest, |l| (l + hold.repair).min(latest)))
}

impl UrgentSeen {
    fn is_new(&mut self, seq: u32) -> bool {
        let ahead = seq_after(seq, self.newest);
        let place = |s: u32| ((s % URGENT_WINDOW as u32) as usize / 64, 1u64 << (s % 64));
        if ahead > 0 {
            for k in 1..=ahead.min(URGENT_WINDOW) as u32 {
                let (w, b) = place(self.newest.wrapping_add(k) & 0xff_ffff);
                self.bits[w] &= !b;
            }
            self.newest = seq;
        } else if ahead <= -URGENT_WINDOW {
            // Too old to know; late is better than never.
            return true;
        }
        let (w, b) = place(seq);
        let new = self.bits[w] & b == 0;
        self.bits[w] |= b;
        new
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
