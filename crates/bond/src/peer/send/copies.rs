//! What is sent twice in advance: copies that the scheduler asks for, and insurance in room that nobody needs.

use super::fill::{fits, put};
use super::{Batch, Chunks};
use crate::path::sent::ChunkRef;
use crate::path::{Class, Path, PathId};
use crate::peer::{Peer, Shared};
use crate::record::URGENT;
use crate::schedule::PathInfo;
use crate::time::Time;
use crate::wire::Writer;

/// Loss from which on spare room is used for copies: repairs of less are rare enough.
const INSURE_LOSS: f64 = 0.002;
/// Copies that may wait for spare room.
const SPARE_LIMIT: usize = 256;

impl Peer {
    /// Copies of what another path carries, one path at a time.
    pub(super) fn send_copy(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        let (path, c) = loop {
            let (id, c) = *self.send.duplicates.front()?;
            match self.paths.get(id).is_some_and(Path::is_usable) {
                true => break (id, c),
                false => shared.store.release(c.record),
            }
            self.send.duplicates.pop_front();
        };
        let urgent = shared.store.get(c.record).flow & URGENT != 0;
        if !urgent && self.paths[path].room(now) == 0 {
            return None;
        }
        self.send.duplicates.pop_front();
        let len = self.datagram(path, now, shared, tx, |_, shared, w| {
            let mut chunks = Chunks::new();
            if fits(w, shared, &c) && put(w, shared, &c) {
                chunks.push(c);
            } else {
                shared.store.release(c.record);
            }
            chunks
        })?;
        Some(Batch { path, len, segment: len })
    }

    /// Room that nobody needs insures against loss: what a lossy path carries goes out once more, on another path if there is one. A repair
    /// takes a round trip and more, in which the whole flow is held; a copy takes nothing that is missed.
    pub(super) fn send_spare(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        while let Some(&(id, at, c)) = self.send.spare.front() {
            let worth = self.is_worth_insuring(id, at, now) && !shared.store.get(c.record).is_void();
            let path = self
                .path_for_spare(id)
                .filter(|_| worth && self.send.queue.is_empty() && self.send.to_retransmit.is_empty());
            if worth && path.is_none() {
                return None;
            }
            self.send.spare.pop_front();
            let Some(path) = path else {
                shared.store.release(c.record);
                continue;
            };
            let len = self.datagram(path, now, shared, tx, |peer, shared, w| peer.fill_spare(c, shared, w));
            if let Some(len) = len {
                return Some(Batch { path, len, segment: len });
            }
        }
        None
    }

    fn fill_spare(&mut self, c: ChunkRef, shared: &mut Shared, w: &mut Writer<'_>) -> Chunks {
        let mut chunks = Chunks::new();
        if fits(w, shared, &c) && put(w, shared, &c) {
            chunks.push(c);
        } else {
            shared.store.release(c.record);
        }
        chunks
    }

    /// After half a round trip the first copy has arrived, or its loss will be known sooner than a copy could help.
    fn is_worth_insuring(&self, id: PathId, at: Time, now: Time) -> bool {
        self.paths.iter().any(|p| p.id == id && now.since(at) < p.rtt.smoothed() / 2)
    }

    /// The fastest path with room, another one than `id` if possible. A metered path is not for copies.
    fn path_for_spare(&self, id: PathId) -> Option<PathId> {
        let free = |v: &&PathInfo| {
            let active = |p: &Path| p.id == v.id && p.class == Class::Active && p.is_unqueued();
            v.has_room && self.paths.iter().any(active)
        };
        let other = self.send.infos.iter().filter(free).filter(|v| v.id != id);
        let own = self.send.infos.iter().filter(free).find(|v| v.id == id);
        let best = other.min_by(|a, b| a.one_way_us.total_cmp(&b.one_way_us)).or(own)?;
        Some(best.id)
    }

    /// Remembers a chunk for [`Peer::send_spare`] if its path loses enough for that to be worth it.
    pub(super) fn insure(&mut self, path: PathId, c: ChunkRef, now: Time, shared: &mut Shared) {
        if self.paths[path].loss < INSURE_LOSS
            || c.len == 0
            || !shared.config.recovery
            || self.send.spare.len() >= SPARE_LIMIT
        {
            return;
        }
        shared.store.get_mut(c.record).refs += 1;
        self.send.spare.push_back((path, now, ChunkRef { copy: true, ..c }));
    }
}
