//! What the driver tells an engine of the radio links under its paths ([`crate::backhaul`]).

use super::Engine;
use crate::feedback::LinkState;
use crate::path::PathId;
use crate::peer::Peer;
use ropewalk_session::PublicKey;
use ropewalk_time::Time;

impl Engine {
    /// A repeater's client side: whether a path's channel is also the one that the repeater's own clients need. What the peer sends there is limited
    /// ([`crate::backhaul::limiter`]), as far as [`crate::api::Input::ClientQueue`] is fed.
    pub fn set_shared(&mut self, path: u8, shared: bool) {
        let backhaul = self.peers.values_mut().next().and_then(|p| p.backhaul.as_mut());
        if let (Some(b), Some(path)) = (backhaul, PathId::new(path)) {
            b.set_shared(path, shared);
        }
    }

    /// The link under these paths is about to change its channel, or has: while it is away, they are used only where no other works
    /// ([`crate::backhaul::channel_search`]). Once it is back, they are tried whatever they were before.
    pub fn set_link_away(&mut self, link: u32, away: bool, now: Time) {
        let ids: Vec<u32> = self.peers.keys().copied().collect();
        for id in ids {
            let Some(peer) = self.peers.get_mut(&id) else { continue };
            for path in peer.paths.ids() {
                if peer.paths[path].route.link != link {
                    continue;
                }
                let is_back = peer.backhaul.as_mut().is_some_and(|b| b.set_away(path, away));
                if is_back && peer.paths[path].live.begin_anew(now) {
                    peer.emit_event(path, now, &mut self.shared);
                }
            }
            peer.on_queue_changed();
            self.mark_ready(id);
        }
    }

    /// Bytes carried over this link, as the link reports or its peers acknowledge, and whether it is what limits somebody who can be reached by it: data
    /// waits, or the link holds half of what it may.
    pub fn link_load(&self, link: u32, now: Time) -> (u64, bool) {
        let mut load = (0, false);
        for peer in self.peers.values() {
            let waits = !peer.send.queue().is_empty();
            for p in peer.paths.iter().filter(|p| p.route.link == link) {
                let (carried, is_full) = match &peer.backhaul {
                    Some(b) => b.link_load(now, p),
                    None => (p.sampler.delivered(), false),
                };
                load = (load.0 + carried, load.1 || is_full || waits);
            }
        }
        load
    }

    pub(super) fn on_link(&mut self, of: Option<PublicKey>, path: u8, state: LinkState, now: Time) {
        let first = self.peers.values().next().map(Peer::key);
        let alone = self.peers.values().all(|p| Some(p.key()) == first);
        let Some(key) = of.or(first.filter(|_| alone)) else {
            self.shared.drops.unroutable += u64::from(first.is_some());
            return;
        };
        // The newest session of the peer; an older one is about to end.
        let newest = self
            .peers_of(&key)
            .filter(|id| self.peers.get(id).is_some_and(|p| p.session.is_confirmed()))
            .last();
        let Some((id, peer)) = newest.and_then(|id| Some((id, self.peers.get_mut(&id)?))) else { return };
        let path = PathId::new(path).and_then(|id| peer.paths.get(id));
        if let (Some(b), Some(p)) = (&mut peer.backhaul, path) {
            b.on_link(now, p, state);
            self.mark_ready(id);
        }
    }

    pub(super) fn on_client_queue(&mut self, client: u32, state: LinkState, now: Time) {
        let Some(pacer) = &mut self.pacer else { return };
        let mut first = Vec::new();
        for (id, peer) in &mut self.peers {
            let Some(b) = peer.backhaul.as_mut().filter(|b| b.peer_reads()) else { continue };
            if b.on_client_queue(now, client, state) {
                first.push(*id);
            }
            pacer.on_report(now, b.clients(), self.shared.config.limiter.low);
        }
        first.into_iter().for_each(|id| self.wake(id, now));
    }
}
