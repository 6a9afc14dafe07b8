//! What the driver orders: paths, classes, limits, the end.

use super::{Engine, Role};
use crate::api::PathSpec;
use crate::config::Config;
use crate::path::{Class, Route};
use crate::time::Time;

impl Engine {
    /// Ends sessions in an orderly way: the peers are told. Poll afterwards, then stop.
    pub fn close(&mut self) {
        let ids: Vec<u32> = self.peers.keys().copied().collect();
        ids.into_iter().for_each(|id| self.close_peer(id, 0));
    }

    pub(super) fn close_peer(&mut self, id: u32, code: u8) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.closing = Some(code);
        peer.paths.iter_mut().for_each(|p| p.close_due = true);
        self.mark_ready(id);
    }

    /// Client: adds a path; its identifier, or `None` when there are sixteen already.
    pub fn add_path(&mut self, spec: PathSpec, now: Time) -> Option<u8> {
        let (&id, peer) = self.peers.iter_mut().next()?;
        let path = peer.add_path(spec, &self.shared.config)?;
        let index = peer.paths.len() - 1;
        peer.challenge_path(index, &mut self.shared);
        self.mark_ready(id);
        self.on_path_added(now);
        Some(path)
    }

    /// Client: takes a path away; what was on its way there goes elsewhere.
    pub fn remove_path(&mut self, path: u8, now: Time) {
        let Some((&id, peer)) = self.peers.iter_mut().next() else { return };
        peer.remove_path(path, now, &mut self.shared);
        peer.on_timers(now, &mut self.shared);
        self.mark_ready(id);
    }

    /// Client: changes what a path may be used for; the gateway follows.
    pub fn set_class(&mut self, path: u8, class: Class) {
        let Some((&id, peer)) = self.peers.iter_mut().next() else { return };
        peer.status_seq = peer.status_seq.wrapping_add(1);
        if let Some(p) = peer.path_mut(path) {
            (p.class, p.status_due, p.exhausted_told) = (class, true, false);
        }
        peer.on_queue_changed();
        self.mark_ready(id);
    }

    /// Client: changes a path's weight for the weighted scheduler.
    pub fn set_weight(&mut self, path: u8, weight: u32) {
        if let (Some(peer), true) = (self.peers.values_mut().next(), path < 16) {
            peer.weights[path as usize] = weight.max(1);
        }
    }

    /// A repeater's client side: whether a path's channel is also the one that the repeater's own clients need. What the peer sends there is throttled
    /// ([`crate::throttle`]), as far as [`crate::api::Input::ClientQueue`] is fed.
    pub fn set_shared(&mut self, path: u8, shared: bool) {
        if let (Some(peer), true) = (self.peers.values_mut().next(), path < 16) {
            peer.shared_paths = peer.shared_paths & !(1 << path) | u16::from(shared) << path;
        }
    }

    /// The link under these paths is about to change its channel, or has: while it is held, they are used only where no other works
    /// ([`crate::migrate`]). Once it is not, they are tried whatever they were before.
    pub fn hold_link(&mut self, link: u32, held: bool, now: Time) {
        let ids: Vec<u32> = self.peers.keys().copied().collect();
        for id in ids {
            let Some(peer) = self.peers.get_mut(&id) else { continue };
            for i in 0..peer.paths.len() {
                let p = &mut peer.paths[i];
                if p.route.link != link {
                    continue;
                }
                let is_let_go = core::mem::replace(&mut p.is_held, held) && !held;
                if is_let_go && p.live.begin_anew(now) {
                    peer.announce(i, &mut self.shared);
                }
            }
            peer.on_queue_changed();
            self.mark_ready(id);
        }
    }

    /// Bytes carried over this link, by the link's word or its peers' acknowledgements, and whether it is what limits somebody who can be reached by it: data waits, or the link holds half
    /// of what it may, as under a flow that keeps its own queue short.
    pub fn link_load(&self, link: u32, now: Time) -> (u64, bool) {
        let limits = &self.shared.config.device_threshold;
        // Bare acknowledgements, which nobody acknowledges, are not what a flow has on the way.
        let on_the_way = |p: &crate::path::Path| p.outstanding().min(u64::from(p.sent.flying()));
        let is_full = |p: &crate::path::Path| 2 * on_the_way(p) >= u64::from(p.device_threshold(now, limits));
        let mut load = (0, false);
        for peer in self.peers.values() {
            let on_it = || peer.paths.iter().filter(|p| p.route.link == link);
            let carried =
                |p: &crate::path::Path| p.completions.carried_bytes().unwrap_or(p.sampler.delivered());
            load.0 += on_it().map(carried).sum::<u64>();
            load.1 |= on_it().any(|p| is_full(p) || !peer.ingress.is_empty());
        }
        load
    }

    /// The interface under a path is gone, or the kernel has no route: use it no more until it answers.
    pub fn fail_path(&mut self, link: u32, now: Time) {
        let ids: Vec<u32> = self.peers.keys().copied().collect();
        for id in ids {
            let Some(peer) = self.peers.get_mut(&id) else { continue };
            for i in 0..peer.paths.len() {
                if peer.paths[i].route.link == link && peer.paths[i].live.state == crate::path::State::Active
                {
                    peer.paths[i].live.die(now);
                    peer.evacuate(i, now, &mut self.shared);
                    peer.announce(i, &mut self.shared);
                    peer.on_queue_changed();
                }
            }
            self.mark_ready(id);
        }
    }

    /// The kernel refused a datagram of a path as too long: an IP packet of `mtu` bytes does not pass.
    pub fn on_too_big(&mut self, route: Route, mtu: u16, now: Time) {
        for peer in self.peers.values_mut() {
            for p in peer.paths.iter_mut().filter(|p| p.route == route) {
                p.mtu.on_too_big(now, mtu);
                p.cc.set_mtu(u64::from(p.mtu.current()));
            }
        }
    }

    /// Changes what can be changed while running: scheduler, controller of new paths, limits.
    pub fn reconfigure(&mut self, config: Config) {
        let rebuild = config.scheduler != self.shared.config.scheduler
            || config.max_spread != self.shared.config.max_spread;
        if let Role::Gateway(g) = &mut self.role {
            g.responder.set_config(&config.responder);
        }
        for peer in self.peers.values_mut().filter(|_| rebuild) {
            peer.scheduler = config.scheduler.scheduler(config.max_spread);
        }
        if config.throttle != self.shared.config.throttle {
            // Made anew by the repeater's next word.
            self.peers.values_mut().for_each(|p| p.throttled = None);
        }
        self.shared.config = config;
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }
}
