//! What waits to be sent, and who decides by which path it goes.

use crate::config::Config;
use crate::path::PathId;
use crate::path::sent::FragmentRef;
use crate::peer::Shared;
use crate::queue::Ingress;
use crate::queue::codel::Limits;
use crate::schedule::{PathInfo, Scheduler};
use crate::store::{LOW_LATENCY, Owner, Store};
use ropewalk_time::Time;
use std::collections::VecDeque;

/// Lost fragments that may wait to be sent again; more than this many are not worth it.
const RESEND_LIMIT: usize = 16_384;

/// What waits to be sent, and who decides by which path it goes.
#[derive(Debug)]
pub(crate) struct SendSide {
    pub(super) queue: Ingress,
    pub(super) to_retransmit: VecDeque<FragmentRef>,
    /// Copies that the scheduler asked for, and the path of each.
    pub(super) duplicates: VecDeque<(PathId, FragmentRef)>,
    /// What lossy paths carry, for sending once more while there is room: the path that had it, and when.
    pub(super) opportunistic: VecDeque<(PathId, Time, FragmentRef)>,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// The paths that may carry data now, as the scheduler sees them.
    pub(super) infos: Vec<PathInfo>,
    /// A bit for each path to which what waits was offered, and none of it was for it, since the queue last changed.
    pub(super) nothing_to_send: u16,
    pub(super) retransmitted: u64,
    pub(super) abandoned: u64,
}

impl SendSide {
    pub(in crate::peer) fn new(config: &Config, owner: Owner) -> SendSide {
        let queue = Ingress::new(config.queue_bytes).on_layer(config.layer()).owned_by(owner);
        let queue = match config.queue_packets {
            None if config.scheduler.counts_completions() => queue.for_a_backhaul(),
            limit => queue.with_packets(limit),
        };
        SendSide {
            queue,
            to_retransmit: VecDeque::new(),
            duplicates: VecDeque::new(),
            opportunistic: VecDeque::new(),
            scheduler: config.scheduler.scheduler(config.max_spread),
            infos: Vec::new(),
            nothing_to_send: 0,
            retransmitted: 0,
            abandoned: 0,
        }
    }

    pub(crate) fn queue(&self) -> &Ingress {
        &self.queue
    }

    /// Fragments sent again.
    pub(crate) fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// Packets that this end gave up.
    pub(crate) fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Whether the scheduler leaves air to better paths.
    pub(in crate::peer) fn heeds_air(&self) -> bool {
        self.scheduler.heeds_air()
    }

    /// Another scheduler, or another setting of it.
    pub(crate) fn set_scheduler(&mut self, config: &Config) {
        self.scheduler = config.scheduler.scheduler(config.max_spread);
    }

    pub(in crate::peer) fn set_limits(&mut self, limits: Limits, rate: Option<u64>) {
        self.queue.set_limits(limits);
        rate.into_iter().for_each(|rate| self.queue.share_with_low_latency(rate));
    }

    /// Something waits for room on a path.
    pub(in crate::peer) fn waits(&self) -> bool {
        !self.queue.is_empty() || !self.to_retransmit.is_empty() || !self.duplicates.is_empty()
    }

    pub(in crate::peer) fn on_queue_changed(&mut self) {
        self.nothing_to_send = 0;
    }

    /// What the scheduler sees of a path; none while it may not carry data.
    pub(super) fn info(&self, id: PathId) -> Option<&PathInfo> {
        self.infos.iter().find(|v| v.id == id)
    }

    /// Only pacing, or the window, keeps the path from carrying something. One with room that carries nothing waits for neither: its
    /// scheduler or its class keeps it out, and no timer changes that; nor does one whose link is full, which its next completion changes.
    pub(in crate::peer) fn waits_for_pacing(&self, id: PathId) -> bool {
        let is_done = |v: &PathInfo| self.to_retransmit.is_empty() && v.nothing_to_send;
        self.info(id).is_some_and(|v| !v.has_room && v.slots > 0 && !is_done(v))
    }

    /// Puts lost fragments in line to be sent again.
    pub(in crate::peer) fn retransmit(&mut self, lost: &[FragmentRef], now: Time, shared: &mut Shared) {
        for c in lost {
            if c.copy || !shared.config.recovery || self.to_retransmit.len() >= RESEND_LIMIT {
                self.give_up(*c, &mut shared.store);
            } else {
                shared.store.get_mut(c.packet).lost_at = now;
                self.to_retransmit.push_back(*c);
            }
        }
    }

    /// A fragment will not be sent again. If its packet is incomplete because of it, the peer is told.
    pub(super) fn give_up(&mut self, c: FragmentRef, store: &mut Store) {
        let packet = store.get(c.packet);
        let urgent = packet.flow & LOW_LATENCY != 0;
        if c.copy || urgent || packet.is_abandoned() || packet.queued {
            store.release(c.packet);
            return;
        }
        store.abandon(c.packet);
        self.abandoned += 1;
        self.to_retransmit.push_back(FragmentRef { len: 0, offset: 0, ..c });
    }

    /// A path is gone.
    pub(in crate::peer) fn drop_duplicates_for(&mut self, id: PathId, store: &mut Store) {
        self.duplicates.retain(|(path, c)| {
            if *path == id {
                store.release(c.packet);
            }
            *path != id
        });
    }

    /// Forgets everything that waits; the owner of all this is gone.
    pub(in crate::peer) fn clear(&mut self, store: &mut Store) {
        self.to_retransmit.drain(..).for_each(|c| store.release(c.packet));
        self.duplicates.drain(..).for_each(|(_, c)| store.release(c.packet));
        self.opportunistic.drain(..).for_each(|(_, _, c)| store.release(c.packet));
        self.queue.clear(store);
        store.remove_owner(self.queue.owner());
    }
}
