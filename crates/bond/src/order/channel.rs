//! The channel of one flow: what is next, what is there already, since when something is missing.

use super::assembly::{Added, Assembly};
use super::table::Delivery;
use super::waits::Waits;
use crate::pool::{Buf, Pool};
use crate::time::Time;
use crate::vnet::Vnet;
use crate::wire::{Chunk, Stamp, seq_after};
use std::collections::VecDeque;

/// Records by which one may run ahead of the next expected one.
pub(super) const WINDOW: usize = 8192;
/// Empty places that a channel keeps: what a flow of hundreds of Mb/s needs in the ordinary way.
const KEPT_PLACES: usize = 2048;
/// Places behind a gap among which the first whole record is sought.
const SOUGHT: usize = 64;
/// A channel seen for the first time with a number under this began at 0.
const FRESH: u32 = 64;
/// Numbers for which a channel remembers whether they were delivered.
const HISTORY: u32 = 1024;

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each record that comes in parts"
)]
enum Slot {
    Missing,
    Partial(Assembly),
    /// Whole, since then.
    Ready(Buf, u32, Vnet, Time),
    Void,
}

impl Slot {
    fn is_missing(&self) -> bool {
        matches!(self, Slot::Missing)
    }

    fn memory(&self, pool: &Pool) -> u64 {
        match self {
            Slot::Missing | Slot::Void => 0,
            Slot::Partial(a) => a.held_bytes(),
            Slot::Ready(buf, ..) => pool.bytes(*buf).len() as u64,
        }
    }

    fn free(self, pool: &mut Pool) {
        match self {
            Slot::Missing | Slot::Void => {}
            Slot::Partial(a) => a.drop_into(pool),
            Slot::Ready(buf, ..) => pool.free(buf),
        }
    }

    /// Adds a chunk where the record stands: one in parts is too large to be moved about for each of them.
    fn add(&mut self, pool: &mut Pool, c: &Chunk<'_>, now: Time) -> Took {
        if let Slot::Missing = self {
            match Assembly::new(pool, c, now) {
                Some(assembly) => *self = Slot::Partial(assembly),
                None => return Took::NoRoom,
            }
        }
        let Slot::Partial(assembly) = self else { return Took::Duplicate };
        let added = assembly.add(pool, c);
        self.after(added, now)
    }

    /// The next bytes were written to their place.
    fn grow(&mut self, len: u32, now: Time) -> Took {
        let Slot::Partial(assembly) = self else { return Took::Duplicate };
        let added = assembly.grow(len);
        self.after(added, now)
    }

    fn after(&mut self, added: Added, now: Time) -> Took {
        match (added, &self) {
            (Added::Whole, Slot::Partial(assembly)) => {
                let (buf, len, vnet) = assembly.finish();
                *self = Slot::Ready(buf, len, vnet, now);
                Took::Kept
            }
            (Added::Whole | Added::Partial, _) => Took::Kept,
            (Added::Duplicate, _) => Took::Duplicate,
            (Added::Refused, _) => Took::NoRoom,
        }
    }
}

/// Which of the last numbers were delivered.
#[derive(Debug)]
struct History([u64; HISTORY as usize / 64]);

impl History {
    fn bit(seq: u32) -> (usize, u64) {
        let i = seq % HISTORY;
        (i as usize / 64, 1 << (i % 64))
    }

    fn set(&mut self, seq: u32, delivered: bool) {
        let (w, b) = Self::bit(seq);
        if delivered { self.0[w] |= b } else { self.0[w] &= !b }
    }

    fn has(&self, seq: u32) -> bool {
        let (w, b) = Self::bit(seq);
        self.0[w] & b != 0
    }
}

#[derive(Debug)]
pub(super) struct Channel {
    next: u32,
    slots: VecDeque<Slot>,
    /// Slots that are not missing.
    filled: usize,
    history: History,
    /// Memory in `slots`.
    pub held_bytes: u64,
    /// Since when something after `next` is there and `next` is not whole.
    pub gap_since: Option<Time>,
    /// With a gap: since when the first record behind it has been whole, which may be from before an earlier gap was over.
    pub waiting_since: Option<Time>,
    /// Everything before the gap's end was sent when this was.
    pub sent_before: Option<Stamp>,
    /// When the gap became known lost.
    pub lost_since: Option<Time>,
}

/// What became of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    Kept,
    Duplicate,
    Late,
    NoRoom,
}

impl Channel {
    pub fn new(first: u32) -> Self {
        Channel {
            next: if first < FRESH { 0 } else { first },
            slots: VecDeque::new(),
            filled: 0,
            history: History([0; HISTORY as usize / 64]),
            held_bytes: 0,
            gap_since: None,
            waiting_since: None,
            sent_before: None,
            lost_since: None,
        }
    }

    /// Takes a chunk in. `Late`: its record was given up before; the caller passes it on if it is whole.
    pub fn on_chunk(&mut self, pool: &mut Pool, c: &Chunk<'_>, now: Time) -> Took {
        let ahead = seq_after(c.seq, self.next);
        if ahead < 0 {
            return self.on_late(c, ahead);
        }
        if ahead as usize >= WINDOW {
            return Took::NoRoom;
        }
        let slot = self.slot_mut(ahead as usize);
        let before = slot.memory(pool);
        let was_missing = slot.is_missing();
        let took = slot.add(pool, c, now);
        let newly = was_missing && !slot.is_missing();
        let after = slot.memory(pool);
        self.filled += usize::from(newly);
        self.held_bytes += after;
        self.held_bytes -= before;
        took
    }

    /// Where the next bytes of record `seq` belong, if all before them are there: its buffer, how many are there, how many it may have.
    pub fn grown(&self, seq: u32) -> Option<(Buf, u32, u32)> {
        let ahead = usize::try_from(seq_after(seq, self.next)).ok()?;
        match self.slots.get(ahead) {
            Some(Slot::Partial(assembly)) => assembly.grown(),
            _ => None,
        }
    }

    /// The `len` bytes after [`Channel::grown`] were written to their place.
    pub fn grow(&mut self, seq: u32, len: u32, now: Time) {
        let slot =
            usize::try_from(seq_after(seq, self.next)).ok().and_then(|ahead| self.slots.get_mut(ahead));
        slot.map(|slot| slot.grow(len, now));
    }

    /// The sender gave record `seq` up.
    pub fn on_void(&mut self, pool: &mut Pool, seq: u32) {
        let ahead = seq_after(seq, self.next);
        if !(0..WINDOW as i32).contains(&ahead) {
            return;
        }
        let slot = self.slot_mut(ahead as usize);
        // What is whole already is worth having even so.
        if !matches!(slot, Slot::Ready(..)) {
            let (before, newly) = (slot.memory(pool), slot.is_missing());
            std::mem::replace(slot, Slot::Void).free(pool);
            self.held_bytes -= before;
            self.filled += usize::from(newly);
        }
    }

    /// Moves everything that is next to `out`, and counts how long it waited, if it did.
    pub fn release(&mut self, pool: &Pool, now: Time, waits: &mut Waits, out: &mut VecDeque<Delivery>) {
        let mut moved = false;
        loop {
            match self.slots.front() {
                Some(Slot::Ready(..)) => {
                    let Some(slot) = self.slots.pop_front() else { return };
                    self.held_bytes -= slot.memory(pool);
                    self.filled -= 1;
                    if let Slot::Ready(buf, len, vnet, since) = slot {
                        if since < now {
                            waits.record(now.since(since));
                        }
                        out.push_back(Delivery { buf, len, vnet, device: 0 });
                    }
                    self.advance(true);
                }
                Some(Slot::Void) => {
                    self.slots.pop_front();
                    self.filled -= 1;
                    // Not to be passed on late either.
                    self.advance(true);
                }
                _ => break,
            }
            moved = true;
        }
        if moved {
            (self.gap_since, self.sent_before, self.lost_since) = (None, None, None);
        }
        // What one long gap needed is not kept for ever.
        if self.slots.is_empty() && self.slots.capacity() > KEPT_PLACES {
            self.slots.shrink_to(0);
        }
        let front = usize::from(self.slots.front().is_some_and(|s| !s.is_missing()));
        if self.filled > front && self.gap_since.is_none() {
            self.gap_since = Some(now);
            self.waiting_since = self.first_waiting();
        }
    }

    /// Record `seq`, if it is whole, though others before it are not there. Its place stays and counts as done.
    pub fn take_whole(&mut self, pool: &Pool, seq: u32) -> Option<Delivery> {
        let ahead = usize::try_from(seq_after(seq, self.next)).ok()?;
        let slot = self.slots.get_mut(ahead).filter(|slot| matches!(slot, Slot::Ready(..)))?;
        self.held_bytes -= slot.memory(pool);
        match std::mem::replace(slot, Slot::Void) {
            Slot::Ready(buf, len, vnet, _) => Some(Delivery { buf, len, vnet, device: 0 }),
            _ => None,
        }
    }

    /// Gives up the record at the front and those after it of which nothing is there. One that is there in part may still become whole:
    /// it is the next gap, and has been one since its first chunk came. Returns how many records were given up.
    pub fn give_up(&mut self, pool: &mut Pool) -> u64 {
        let mut given_up = 0;
        while let Some(Slot::Missing | Slot::Partial(_)) = self.slots.front() {
            if given_up > 0 && !self.slots.front().is_some_and(Slot::is_missing) {
                break;
            }
            let Some(slot) = self.slots.pop_front() else { break };
            self.held_bytes -= slot.memory(pool);
            self.filled -= usize::from(!slot.is_missing());
            slot.free(pool);
            self.advance(false);
            given_up += 1;
        }
        let next_gap = self.partial_front().filter(|_| self.filled > 1);
        (self.gap_since, self.sent_before, self.lost_since) = (next_gap, None, None);
        self.waiting_since = next_gap.and(self.first_waiting());
        given_up
    }

    /// When the first record behind the gap that is whole became so.
    fn first_waiting(&self) -> Option<Time> {
        let since = |slot: &Slot| match slot {
            Slot::Ready(.., since) => Some(*since),
            _ => None,
        };
        self.slots.iter().skip(1).take(SOUGHT).find_map(since)
    }

    /// Since when the next record has been there in part.
    fn partial_front(&self) -> Option<Time> {
        match self.slots.front() {
            Some(Slot::Partial(a)) => Some(a.since),
            _ => None,
        }
    }

    /// The next record has been there in part since `before` or longer, and nothing after it has come that would make this a gap.
    pub fn is_abandoned(&self, before: Time) -> bool {
        self.gap_since.is_none() && self.partial_front().is_some_and(|since| since <= before)
    }

    /// Whether a chunk would begin a record that is not delivered at once.
    pub fn would_hold(&self, c: &Chunk<'_>) -> bool {
        let ahead = seq_after(c.seq, self.next);
        let whole = c.total.is_some_and(|t| t as usize == c.data.len());
        ahead >= 0 && !(ahead == 0 && whole) && self.slots.get(ahead as usize).is_none_or(Slot::is_missing)
    }

    /// Notes that everything before `seq` left before `stamp`; the earliest such word about the gap counts.
    pub fn note_sent_before(&mut self, seq: u32, stamp: Stamp) {
        if seq_after(seq, self.next) > 0 && self.sent_before.is_none() {
            self.sent_before = Some(stamp);
        }
    }

    fn advance(&mut self, delivered: bool) {
        self.history.set(self.next, delivered);
        self.next = (self.next + 1) & 0xff_ffff;
    }

    /// Records held or missing here.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Places needed for record `seq`; none for one that is too old or too far ahead.
    pub fn places_for(&self, seq: u32) -> usize {
        let ahead = seq_after(seq, self.next);
        if (0..WINDOW as i32).contains(&ahead) { ahead as usize + 1 } else { 0 }
    }

    /// Frees everything.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.slots.drain(..).for_each(|s| s.free(pool));
        (self.held_bytes, self.filled) = (0, 0);
    }

    fn on_late(&mut self, c: &Chunk<'_>, ahead: i32) -> Took {
        let whole = c.total.is_some_and(|t| t as usize == c.data.len());
        if ahead < -(HISTORY as i32) || !whole || self.history.has(c.seq) {
            return Took::Duplicate;
        }
        self.history.set(c.seq, true);
        Took::Late
    }

    fn slot_mut(&mut self, i: usize) -> &mut Slot {
        while self.slots.len() <= i {
            self.slots.push_back(Slot::Missing);
        }
        &mut self.slots[i]
    }
}
