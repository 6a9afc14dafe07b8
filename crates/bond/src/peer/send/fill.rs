//! The frames with data that a datagram is filled with.

use super::{Chunks, Fill, SendSide};
use crate::path::PathId;
use crate::path::sent::ChunkRef;
use crate::peer::{Peer, Shared};
use crate::queue::Taker;
use crate::record::{Record, URGENT};
use crate::schedule::Grant;
use crate::time::{Duration, Time};
use crate::wire::Writer;

/// Urgent packets are not worth more than this many milliseconds of repair.
const URGENT_REPAIR: Duration = Duration::from_millis(250);

impl Peer {
    /// Writes what there is of this kind.
    pub(super) fn fill(
        &mut self,
        path: PathId,
        fill: Fill,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
    ) -> Chunks {
        let mut chunks = Chunks::new();
        match fill {
            Fill::Control => {}
            Fill::Urgent => self.fill_urgent(path, now, shared, w, &mut chunks),
            Fill::Resend => self.fill_resend(now, shared, w, &mut chunks),
            Fill::Ordered(grant) => self.fill_ordered(path, grant, now, shared, w, &mut chunks),
        }
        chunks
    }

    fn fill_urgent(
        &mut self,
        path: PathId,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        chunks: &mut Chunks,
    ) {
        while let Some(len) = self.send.queue.peek_urgent(&shared.store) {
            let fit = w.chunk_fit(0, len, len, true);
            if fit < len || chunks.is_full() {
                break;
            }
            let Some(c) = self.send.queue.take_urgent(&mut shared.store, now) else { break };
            let c = ChunkRef { record: c.record, offset: 0, len: c.len, copy: false };
            self.add(path, c, self.send.scheduler.copies_urgent(), shared, w, chunks);
            self.insure(path, c, now, shared);
        }
    }

    fn fill_resend(&mut self, now: Time, shared: &mut Shared, w: &mut Writer<'_>, chunks: &mut Chunks) {
        let patience = self.paths.repair_time() + self.paths.spread();
        while let Some(&c) = self.send.to_retransmit.front() {
            if chunks.is_full() {
                break;
            }
            let record = shared.store.get(c.record);
            let stale = c.len > 0 && record.is_void();
            let limit = if record.flow & URGENT != 0 { URGENT_REPAIR } else { patience };
            let late = c.len > 0 && !record.queued && now.since(record.first_sent) > limit;
            if stale || late {
                self.send.to_retransmit.pop_front();
                self.send.give_up(c, &mut shared.store);
                continue;
            }
            if !fits(w, shared, &c) {
                // A chunk cut for a path with a larger MTU than this one is cut again.
                if !w.is_empty() || !self.split_front(shared, w) {
                    break;
                }
                continue;
            }
            self.send.to_retransmit.pop_front();
            put(w, shared, &c);
            chunks.push(c);
            self.send.retransmitted += 1;
        }
    }

    /// Cuts the first chunk in line so that its beginning fits an empty datagram.
    fn split_front(&mut self, shared: &mut Shared, w: &Writer<'_>) -> bool {
        let Some(c) = self.send.to_retransmit.front_mut() else { return false };
        let record = shared.store.get_mut(c.record);
        let fit = w.chunk_fit(c.offset, c.len, record.len, !record.vnet.is_plain());
        if fit == 0 || fit >= c.len {
            return false;
        }
        let rest = ChunkRef { offset: c.offset + fit, len: c.len - fit, ..*c };
        c.len = fit;
        record.refs += 1;
        let first = *c;
        self.send.to_retransmit.pop_front();
        self.send.to_retransmit.push_front(rest);
        self.send.to_retransmit.push_front(first);
        true
    }

    fn fill_ordered(
        &mut self,
        path: PathId,
        grant: Grant,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        chunks: &mut Chunks,
    ) {
        let taker = Taker { skip_bytes: grant.skip_bytes };
        while !chunks.is_full() && w.room() > 0 {
            let fit = |r: &Record, left: u32| w.chunk_fit(r.sent, left, r.len, !r.vnet.is_plain());
            let Some(c) = self.send.queue.take(&mut shared.store, taker, fit, now) else { break };
            let head = c.at_head;
            let c = ChunkRef { record: c.record, offset: c.offset, len: c.len, copy: false };
            if c.len == 0 && !w_has_void_room(w) {
                // No room for the notice: it goes with the next datagram.
                shared.store.get_mut(c.record).refs += 1;
                self.send.to_retransmit.push_back(c);
                break;
            }
            shared.store.get_mut(c.record).at_head = head;
            self.add(path, c, grant.copies, shared, w, chunks);
            self.insure(path, c, now, shared);
        }
    }

    /// Writes a chunk for the first time and asks for copies of it on the other paths if wanted.
    fn add(
        &mut self,
        path: PathId,
        c: ChunkRef,
        copies: bool,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        chunks: &mut Chunks,
    ) {
        let others = if copies { self.send.infos.len().saturating_sub(1) as u32 } else { 0 };
        shared.store.get_mut(c.record).refs += 1 + others;
        put(w, shared, &c);
        chunks.push(c);
        if copies {
            let copy = ChunkRef { copy: true, ..c };
            let SendSide { duplicates, infos, .. } = &mut self.send;
            duplicates.extend(infos.iter().filter(|v| v.id != path).map(|v| (v.id, copy)));
        }
    }
}

fn w_has_void_room(w: &Writer<'_>) -> bool {
    w.room() >= 7
}

/// Whether a chunk fits the datagram as it is.
pub(super) fn fits(w: &Writer<'_>, shared: &Shared, c: &ChunkRef) -> bool {
    if c.len == 0 {
        return w_has_void_room(w);
    }
    let r = shared.store.get(c.record);
    w.chunk_fit(c.offset, c.len, r.len, !r.vnet.is_plain()) == c.len
}

/// Writes a chunk, or the notice that its record is void.
pub(super) fn put(w: &mut Writer<'_>, shared: &Shared, c: &ChunkRef) -> bool {
    let r = shared.store.get(c.record);
    if c.len == 0 || r.is_void() {
        return w.void(r.flow, r.seq, r.at_head);
    }
    w.chunk_to_seal(r.flow, r.seq, c.offset, r.len, &r.vnet, r.at_head, chunk_data(shared, c));
    true
}

pub(super) fn chunk_data<'a>(shared: &'a Shared, c: &ChunkRef) -> &'a [u8] {
    &shared.store.packet(c.record)[c.offset as usize..(c.offset + c.len) as usize]
}
