//! What is sent twice in advance: copies that the scheduler asks for, and duplicates in room that nobody needs.

use super::fill::{cut, fits, put};
use super::{Batch, Fragments};
use crate::path::sent::FragmentRef;
use crate::path::{Class, Path, PathId};
use crate::peer::{Peer, Shared};
use crate::schedule::PathInfo;
use crate::store::LOW_LATENCY;
use crate::wire::Writer;
use ropewalk_time::Time;

/// Loss from which on spare room is used for copies: repairs of less are rare enough.
const DUPLICATE_LOSS: f64 = 0.002;
/// Copies that may wait for spare room.
const OPPORTUNISTIC_LIMIT: usize = 256;

impl Peer {
    /// Copies of what another path carries, one path at a time.
    pub(super) fn send_redundant_duplicate(
        &mut self,
        now: Time,
        shared: &mut Shared,
        tx: &mut [u8],
    ) -> Option<Batch> {
        let (path, c) = loop {
            let (id, c) = *self.send.duplicates.front()?;
            match self.paths.get(id).is_some_and(Path::is_usable) {
                true => break (id, c),
                false => shared.store.release(c.packet),
            }
            self.send.duplicates.pop_front();
        };
        let urgent = shared.store.get(c.packet).flow & LOW_LATENCY != 0;
        if !urgent && self.paths[path].room(now) == 0 {
            return None;
        }
        self.send.duplicates.pop_front();
        let len = self.datagram(path, now, shared, tx, |peer, shared, w| {
            peer.fill_redundant_duplicate(path, c, shared, w)
        })?;
        Some(Batch { path, len, segment: len })
    }

    /// A copy that is longer than the path's datagrams is cut, but for one of the low-latency
    /// class, which is never put together.
    fn fill_redundant_duplicate(
        &mut self,
        path: PathId,
        mut c: FragmentRef,
        shared: &mut Shared,
        w: &mut Writer<'_>,
    ) -> Fragments {
        let does_fit = fits(w, shared, &c);
        if !does_fit && !w.is_empty() {
            // What the path has to say fills this datagram; the copy goes with the next.
            self.send.duplicates.push_front((path, c));
            return Fragments::new();
        }
        let may_be_cut = shared.store.get(c.packet).flow & LOW_LATENCY == 0;
        if !does_fit
            && may_be_cut
            && let Some(rest) = cut(&mut c, shared, w)
        {
            self.send.duplicates.push_front((path, rest));
        }
        fill_duplicate(c, shared, w)
    }

    /// Room that nobody needs guards against loss: what a lossy path carries goes out once more, on another path if there is one. A repair
    /// takes a round trip and more, in which the whole flow is held; a copy takes nothing that is missed.
    pub(super) fn send_opportunistic_duplicate(
        &mut self,
        now: Time,
        shared: &mut Shared,
        tx: &mut [u8],
    ) -> Option<Batch> {
        while let Some(&(id, at, c)) = self.send.opportunistic.front() {
            let worth = self.is_worth_duplicating(id, at, now) && !shared.store.get(c.packet).is_abandoned();
            let path = self
                .path_for_duplicate(id)
                .filter(|_| worth && self.send.queue.is_empty() && self.send.to_retransmit.is_empty());
            if worth && path.is_none() {
                return None;
            }
            self.send.opportunistic.pop_front();
            let Some(path) = path else {
                shared.store.release(c.packet);
                continue;
            };
            let len = self.datagram(path, now, shared, tx, |_, shared, w| fill_duplicate(c, shared, w));
            if let Some(len) = len {
                return Some(Batch { path, len, segment: len });
            }
        }
        None
    }

    /// After half a round trip the first copy has arrived, or its loss will be known sooner than a copy could help.
    fn is_worth_duplicating(&self, id: PathId, at: Time, now: Time) -> bool {
        self.paths.iter().any(|p| p.id == id && now.since(at) < p.rtt.smoothed() / 2)
    }

    /// The fastest path with room, another one than `id` if possible. A metered path is not for copies.
    fn path_for_duplicate(&self, id: PathId) -> Option<PathId> {
        let free = |v: &&PathInfo| {
            let active = |p: &Path| p.id == v.id && p.class == Class::Active && p.is_unqueued();
            v.has_room && self.paths.iter().any(active)
        };
        let other = self.send.infos.iter().filter(free).filter(|v| v.id != id);
        let own = self.send.infos.iter().filter(free).find(|v| v.id == id);
        let best = other.min_by(|a, b| a.one_way_us.total_cmp(&b.one_way_us)).or(own)?;
        Some(best.id)
    }

    /// Remembers a fragment for [`Peer::send_opportunistic_duplicate`] if its path loses enough for that to be worth it.
    pub(super) fn keep_for_duplicate(
        &mut self,
        path: PathId,
        c: FragmentRef,
        now: Time,
        shared: &mut Shared,
    ) {
        if self.paths[path].loss < DUPLICATE_LOSS
            || c.len == 0
            || !shared.config.recovery
            || self.send.opportunistic.len() >= OPPORTUNISTIC_LIMIT
        {
            return;
        }
        shared.store.get_mut(c.packet).refs += 1;
        self.send.opportunistic.push_back((path, now, FragmentRef { copy: true, ..c }));
    }
}

fn fill_duplicate(c: FragmentRef, shared: &mut Shared, w: &mut Writer<'_>) -> Fragments {
    let mut fragments = Fragments::new();
    if fits(w, shared, &c) && put(w, shared, &c) {
        fragments.push(c);
    } else {
        shared.store.release(c.packet);
    }
    fragments
}
