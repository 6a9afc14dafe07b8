//! One flow: what is next, what is there already, what was delivered.

use super::assembly::{Added, Assembly};
use super::delivered::{Delivered, REMEMBERED};
use super::held::{Held, Id, NONE, State};
use super::reassembly::Delivery;
use super::waits::Waits;
use crate::pool::{Buf, Pool};
use crate::wire::{Fragment, seq_after};
use ropewalk_time::Time;
use std::collections::VecDeque;

/// Numbers by which a packet may run ahead of the next expected one.
pub(super) const WINDOW: u32 = 8192;
/// A flow seen for the first time with a number under this began at 0.
const FRESH: u32 = 64;

#[derive(Debug)]
pub(super) struct Flow {
    /// The number to deliver next.
    next: u32,
    /// Its first block in [`Held`]: the one with the least numbers.
    first: Id,
    /// Of the packets that are whole and wait for others, the one that has waited longest.
    oldest: Id,
    /// And the one that became whole last.
    newest: Id,
    /// Where its gap is in the session's list.
    pub gap: Option<u16>,
    delivered: Delivered,
    /// When something last came for it.
    pub used: Time,
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    Kept,
    Duplicate,
    Late,
    NoRoom,
}

impl Flow {
    /// A flow of which number `first` is about to come.
    pub(super) fn new(first: u32, now: Time) -> Flow {
        let next = if first < FRESH { 0 } else { first };
        Flow { delivered: Delivered::NONE, ..Flow::resumed(next, now) }
    }

    /// A flow that was forgotten but for its next number: nothing before that is delivered any more.
    pub(super) fn resumed(next: u32, now: Time) -> Flow {
        let delivered = Delivered::ALL;
        Flow { next, first: NONE, oldest: NONE, newest: NONE, gap: None, delivered, used: now }
    }

    /// The number to deliver next.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// By how much a number is ahead of the next one.
    pub(super) fn ahead(&self, seq: u32) -> i32 {
        seq_after(seq, self.next)
    }

    /// Nothing is held or abandoned.
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Takes a fragment in. `Late`: its packet was given up before; the caller passes it on. `may_hold`: memory may be taken for what waits.
    pub(super) fn add(
        &mut self,
        held: &mut Held,
        pool: &mut Pool,
        c: &Fragment<'_>,
        may_hold: bool,
        now: Time,
    ) -> Took {
        self.used = now;
        let ahead = self.ahead(c.seq);
        let whole = c.total.is_some_and(|t| usize::from(t) == c.data.len());
        if ahead < 0 {
            return self.on_late(c.seq, ahead, whole);
        }
        let id = match held.state(self.first, c.seq) {
            State::Abandoned(_) => return Took::Duplicate,
            State::Held(id) if held.slot(id).packet.is_whole() => return Took::Duplicate,
            State::Held(id) => id,
            State::Missing => {
                let passes = ahead == 0 && whole;
                match self.begin(held, pool, c, may_hold || passes, now) {
                    Some(id) => id,
                    None => return Took::NoRoom,
                }
            }
        };
        let packet = &mut held.slot_mut(id).packet;
        let before = (packet.class(), packet.memory());
        let added = packet.add(pool, c, may_hold, now);
        let after = (packet.class(), packet.memory());
        held.bytes[before.0] -= before.1;
        held.bytes[after.0] += after.1;
        self.after(held, c.seq, id, added)
    }

    /// Where the next bytes of packet `seq` belong: see [`Assembly::end`].
    pub(super) fn end(&self, held: &mut Held, seq: u32) -> Option<(Buf, u32, u32)> {
        match held.state(self.first, seq) {
            State::Held(id) => held.slot(id).packet.end(),
            _ => None,
        }
    }

    /// The `len` bytes after [`Flow::end`] were written to their place.
    pub(super) fn extend(&mut self, held: &mut Held, seq: u32, len: usize, now: Time) {
        self.used = now;
        if let State::Held(id) = held.state(self.first, seq) {
            let added = held.slot_mut(id).packet.extend(len, now);
            self.after(held, seq, id, added);
        }
    }

    /// The sender abandoned packet `seq`. `false`: the session holds too much to note it.
    pub(super) fn abandon(&mut self, held: &mut Held, pool: &mut Pool, seq: u32, now: Time) -> bool {
        self.used = now;
        if !(0..WINDOW as i32).contains(&self.ahead(seq)) {
            return true;
        }
        match held.state(self.first, seq) {
            State::Abandoned(_) => return true,
            // What is whole already is worth having even so.
            State::Held(id) if held.slot(id).packet.is_whole() => return true,
            State::Held(_) => self.drop_packet(held, pool, seq),
            State::Missing => {}
        }
        held.abandon(&mut self.first, seq)
    }

    /// Moves everything that is next to `out`, and counts how long it waited, if it did. `true`: something was.
    pub(super) fn release(
        &mut self,
        held: &mut Held,
        now: Time,
        waits: &mut Waits,
        out: &mut VecDeque<Delivery>,
    ) -> bool {
        let before = self.next;
        loop {
            match held.state(self.first, self.next) {
                State::Abandoned(run) => {
                    held.forget(&mut self.first, self.next, run);
                    // Not to be passed on late either.
                    self.advance(run, true);
                }
                State::Held(id) if held.slot(id).packet.is_whole() => {
                    let Some(packet) = self.take(held, self.next) else { break };
                    if packet.since < now {
                        waits.record(now.since(packet.since));
                    }
                    out.push_back(Delivery::of(packet));
                    self.advance(1, true);
                }
                _ => break,
            }
        }
        self.next != before
    }

    /// Packet `seq`, if it is whole, though others before it are not there. Its number counts as done.
    pub(super) fn take_whole(&mut self, held: &mut Held, seq: u32) -> Option<Delivery> {
        let State::Held(id) = held.state(self.first, seq) else { return None };
        if !held.slot(id).packet.is_whole() {
            return None;
        }
        let packet = self.take(held, seq)?;
        held.abandon(&mut self.first, seq);
        Some(Delivery::of(packet))
    }

    /// Gives up the next packet and those after it of which nothing is there, but none from `end` on. One that is there in part may still become
    /// whole. Returns how many packets were given up.
    pub(super) fn give_up(&mut self, held: &mut Held, pool: &mut Pool, end: Option<u32>) -> u32 {
        let partial = matches!(held.state(self.first, self.next), State::Held(_));
        if partial {
            self.drop_packet(held, pool, self.next);
            self.advance(1, false);
        }
        let ahead = |seq: u32| u32::try_from(self.ahead(seq)).unwrap_or(0);
        let missing = held.least(self.first).into_iter().chain(end).map(ahead).min().unwrap_or(0);
        self.advance(missing, false);
        missing + u32::from(partial)
    }

    /// Whether something is there that waits for the next packet.
    pub(super) fn has_gap(&self, held: &Held) -> bool {
        held.has_more_than(self.first, self.next)
    }

    /// Since when the next packet has been there in part.
    pub(super) fn partial_since(&self, held: &mut Held) -> Option<Time> {
        match held.state(self.first, self.next) {
            State::Held(id) => Some(held.slot(id).packet.since),
            _ => None,
        }
    }

    /// Since when the packet that has waited longest has been whole.
    pub(super) fn waiting_since(&self, held: &Held) -> Option<Time> {
        (self.oldest != NONE).then(|| held.slot(self.oldest).packet.since)
    }

    fn begin(
        &mut self,
        held: &mut Held,
        pool: &mut Pool,
        c: &Fragment<'_>,
        may_hold: bool,
        now: Time,
    ) -> Option<Id> {
        let packet = if may_hold { Assembly::new(pool, c, now) } else { None }?;
        held.insert(&mut self.first, pool, c.seq, packet)
    }

    fn after(&mut self, held: &mut Held, seq: u32, id: Id, added: Added) -> Took {
        match added {
            Added::Whole => {
                if seq != self.next {
                    self.wait(held, id);
                }
                Took::Kept
            }
            Added::Partial => Took::Kept,
            Added::Duplicate => Took::Duplicate,
            Added::Refused => Took::NoRoom,
        }
    }

    fn on_late(&mut self, seq: u32, ahead: i32, whole: bool) -> Took {
        if ahead < -(REMEMBERED as i32) || !whole || self.delivered.has(seq) {
            return Took::Duplicate;
        }
        self.delivered.fill(seq, 1, true);
        Took::Late
    }

    fn advance(&mut self, count: u32, delivered: bool) {
        self.delivered.fill(self.next, count, delivered);
        self.next = self.next.wrapping_add(count) & 0xff_ffff;
    }

    /// From now on a packet waits for others.
    fn wait(&mut self, held: &mut Held, id: Id) {
        match self.newest {
            NONE => self.oldest = id,
            newest => {
                held.slot_mut(newest).newer = id;
                held.slot_mut(id).older = newest;
            }
        }
        self.newest = id;
    }

    /// Takes a packet out of the session, and from among those that wait if it is there.
    fn take(&mut self, held: &mut Held, seq: u32) -> Option<Assembly> {
        if let State::Held(id) = held.state(self.first, seq) {
            let (older, newer) = (held.slot(id).older, held.slot(id).newer);
            match older {
                NONE if self.oldest == id => self.oldest = newer,
                NONE => {}
                older => held.slot_mut(older).newer = newer,
            }
            match newer {
                NONE if self.newest == id => self.newest = older,
                NONE => {}
                newer => held.slot_mut(newer).older = older,
            }
        }
        held.take(&mut self.first, seq)
    }

    fn drop_packet(&mut self, held: &mut Held, pool: &mut Pool, seq: u32) {
        if let Some(packet) = self.take(held, seq) {
            packet.drop_into(pool);
        }
    }
}
