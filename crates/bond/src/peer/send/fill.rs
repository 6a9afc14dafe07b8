//! The frames with data that a datagram is filled with.

use super::{Fill, Fragments, SendSide};
use crate::path::PathId;
use crate::path::sent::FragmentRef;
use crate::peer::{Peer, Shared};
use crate::queue::Taker;
use crate::schedule::Allocation;
use crate::store::{LOW_LATENCY, StoredPacket};
use crate::wire::Writer;
use ropewalk_time::{Duration, Time};

/// Packets of the low-latency class are not worth more than this many milliseconds of repair.
const LOW_LATENCY_REPAIR: Duration = Duration::from_millis(250);
/// So long a lost packet may wait to be sent again. Where the line is longer, TCP has to learn that
/// little is left of the rate, and learns it sooner by these losses than by a queue that long.
const PATIENCE: Duration = Duration::from_millis(200);

impl Peer {
    /// Writes what there is of this kind.
    pub(super) fn fill(
        &mut self,
        path: PathId,
        fill: Fill,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
    ) -> Fragments {
        let mut fragments = Fragments::new();
        match fill {
            Fill::Control => {}
            Fill::LowLatency => self.fill_low_latency(path, now, shared, w, &mut fragments),
            Fill::Resend => self.fill_resend(now, shared, w, &mut fragments),
            Fill::Ordered(allocation) => self.fill_ordered(path, allocation, now, shared, w, &mut fragments),
        }
        fragments
    }

    fn fill_low_latency(
        &mut self,
        path: PathId,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        fragments: &mut Fragments,
    ) {
        while let Some(len) = self.send.queue.peek_low_latency(&shared.store) {
            let fit = w.fragment_fit(0, len, len, true);
            if fit < len || fragments.is_full() {
                break;
            }
            let Some(c) = self.send.queue.take_low_latency(&mut shared.store, now) else { break };
            let c = FragmentRef { packet: c.packet, offset: 0, len: c.len, copy: false };
            self.add(path, c, self.send.scheduler.copies_low_latency(), shared, w, fragments);
            self.keep_for_duplicate(path, c, now, shared);
        }
    }

    fn fill_resend(&mut self, now: Time, shared: &mut Shared, w: &mut Writer<'_>, fragments: &mut Fragments) {
        while let Some(&c) = self.send.to_retransmit.front() {
            if fragments.is_full() {
                break;
            }
            let packet = shared.store.get(c.packet);
            let stale = c.len > 0 && packet.is_abandoned();
            let (since, limit) = match packet.flow & LOW_LATENCY {
                0 => (packet.lost_at, PATIENCE),
                _ => (packet.first_sent, LOW_LATENCY_REPAIR),
            };
            let late = c.len > 0 && !packet.queued && now.since(since) > limit;
            if stale || late {
                self.send.to_retransmit.pop_front();
                self.send.give_up(c, &mut shared.store);
                continue;
            }
            if !fits(w, shared, &c) {
                // A fragment cut for a path with a larger MTU than this one is cut again.
                if !w.is_empty() || !self.split_front(shared, w) {
                    break;
                }
                continue;
            }
            self.send.to_retransmit.pop_front();
            put(w, shared, &c);
            fragments.push(c);
            self.send.retransmitted += 1;
        }
    }

    /// Cuts the first fragment in line so that its beginning fits an empty datagram.
    fn split_front(&mut self, shared: &mut Shared, w: &Writer<'_>) -> bool {
        let Some(c) = self.send.to_retransmit.front_mut() else { return false };
        let Some(rest) = cut(c, shared, w) else { return false };
        self.send.to_retransmit.insert(1, rest);
        true
    }

    fn fill_ordered(
        &mut self,
        path: PathId,
        allocation: Allocation,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        fragments: &mut Fragments,
    ) {
        let taker = Taker { skip_bytes: allocation.skip_bytes };
        while !fragments.is_full() && w.room() > 0 {
            let fit = |r: &StoredPacket, left: u32| w.fragment_fit(r.sent, left, r.len, !r.vnet.is_plain());
            let Some(c) = self.send.queue.take(&mut shared.store, taker, fit, now) else { break };
            let head = c.no_gap_before;
            let c = FragmentRef { packet: c.packet, offset: c.offset, len: c.len, copy: false };
            if c.len == 0 && !has_skip_room(w) {
                // No room for the notice: it goes with the next datagram.
                shared.store.get_mut(c.packet).refs += 1;
                self.send.to_retransmit.push_back(c);
                break;
            }
            shared.store.get_mut(c.packet).no_gap_before = head;
            self.add(path, c, allocation.copies, shared, w, fragments);
            self.keep_for_duplicate(path, c, now, shared);
        }
    }

    /// Writes a fragment for the first time and asks for copies of it on the other paths if wanted.
    fn add(
        &mut self,
        path: PathId,
        c: FragmentRef,
        copies: bool,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        fragments: &mut Fragments,
    ) {
        let others = if copies { self.send.infos.len().saturating_sub(1) as u32 } else { 0 };
        shared.store.get_mut(c.packet).refs += 1 + others;
        put(w, shared, &c);
        fragments.push(c);
        if copies {
            let copy = FragmentRef { copy: true, ..c };
            let SendSide { duplicates, infos, .. } = &mut self.send;
            duplicates.extend(infos.iter().filter(|v| v.id != path).map(|v| (v.id, copy)));
        }
    }
}

fn has_skip_room(w: &Writer<'_>) -> bool {
    w.room() >= 7
}

/// Cuts a fragment so that its beginning fits the datagram; gives the rest, which refers to the
/// packet, too.
pub(super) fn cut(c: &mut FragmentRef, shared: &mut Shared, w: &Writer<'_>) -> Option<FragmentRef> {
    let packet = shared.store.get_mut(c.packet);
    let fit = match c.len {
        0 => 0,
        len => w.fragment_fit(c.offset, len, packet.len, !packet.vnet.is_plain()),
    };
    if fit == 0 || fit >= c.len {
        return None;
    }
    let rest = FragmentRef { offset: c.offset + fit, len: c.len - fit, ..*c };
    c.len = fit;
    packet.refs += 1;
    Some(rest)
}

/// Whether a fragment fits the datagram as it is.
pub(super) fn fits(w: &Writer<'_>, shared: &Shared, c: &FragmentRef) -> bool {
    if c.len == 0 {
        return has_skip_room(w);
    }
    let r = shared.store.get(c.packet);
    w.fragment_fit(c.offset, c.len, r.len, !r.vnet.is_plain()) == c.len
}

/// Writes a fragment, or the notice that its packet is abandoned.
pub(super) fn put(w: &mut Writer<'_>, shared: &Shared, c: &FragmentRef) -> bool {
    let r = shared.store.get(c.packet);
    if c.len == 0 || r.is_abandoned() {
        return w.skip(r.flow, r.seq, r.no_gap_before);
    }
    w.fragment_to_seal(r.flow, r.seq, c.offset, r.len, &r.vnet, r.no_gap_before, fragment_data(shared, c));
    true
}

pub(super) fn fragment_data<'a>(shared: &'a Shared, c: &FragmentRef) -> &'a [u8] {
    &shared.store.packet(c.packet)[c.offset as usize..(c.offset + c.len) as usize]
}
