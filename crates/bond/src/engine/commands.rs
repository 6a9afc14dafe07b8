//! What the driver orders: paths, classes, limits, the end.

use super::{Engine, Role};
use crate::airtime::Air;
use crate::api::PathSpec;
use crate::config::Config;
use crate::flows::{Flows, Outages};
use crate::path::{Class, PathId, Route, State};
use ropewalk_time::Time;

impl Engine {
    /// Ends sessions in an orderly way: the peers are told. Poll afterwards, then stop.
    pub fn close(&mut self) {
        let ids: Vec<u32> = self.peers.keys().copied().collect();
        ids.into_iter().for_each(|id| self.close_peer(id, 0));
    }

    pub(super) fn close_peer(&mut self, id: u32, code: u8) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.session.close(code);
        peer.paths.iter_mut().for_each(|p| p.control.close_due = true);
        self.mark_ready(id);
    }

    /// Client: adds a path; its identifier, or `None` when there are sixteen already.
    pub fn add_path(&mut self, spec: PathSpec, now: Time) -> Option<u8> {
        let (&id, peer) = self.peers.iter_mut().next()?;
        let path = peer.add_path(spec, &self.shared.config)?;
        peer.challenge_path(path, &mut self.shared);
        self.mark_ready(id);
        self.on_path_added(now);
        Some(path.get())
    }

    /// Client: takes a path away; what was on its way there goes elsewhere.
    pub fn remove_path(&mut self, path: u8, now: Time) {
        let (Some((&id, peer)), Some(path)) = (self.peers.iter_mut().next(), PathId::new(path)) else {
            return;
        };
        peer.remove_path(path, now, &mut self.shared);
        peer.on_timers(now, &mut self.shared);
        self.mark_ready(id);
    }

    /// Client: changes what a path may be used for; the gateway follows.
    pub fn set_class(&mut self, path: u8, class: Class) {
        let (Some((&id, peer)), Some(path)) = (self.peers.iter_mut().next(), PathId::new(path)) else {
            return;
        };
        peer.paths.set_class(path, class);
        peer.on_queue_changed();
        self.mark_ready(id);
    }

    /// Client: changes a path's weight for the weighted scheduler.
    pub fn set_weight(&mut self, path: u8, weight: u32) {
        if let (Some(peer), Some(path)) = (self.peers.values_mut().next(), PathId::new(path)) {
            peer.paths.set_weight(path, weight);
        }
    }

    /// Client: the air that packets take on a path, and which paths share it; the gateway is told
    /// ([`crate::airtime`]). `None`: it is not known. Repeat it within ten seconds, or it is
    /// forgotten. Packet times are clamped to 20 µs and 200 ms.
    pub fn set_airtime(&mut self, path: u8, air: Option<Air>, now: Time) {
        let client = self.peers.iter_mut().next().filter(|(_, peer)| peer.is_client());
        let (Some((&id, peer)), Some(path)) = (client, PathId::new(path)) else { return };
        if peer.paths.get(path).is_none() || air.is_none() && peer.airtime.is_none() {
            return;
        }
        peer.airtime.get_or_insert_default().set(now, path, air);
        peer.on_queue_changed();
        self.mark_ready(id);
    }

    /// The interface under a path is gone, or the kernel has no route: use it no more until it
    /// answers. Work is for the sessions that have such a path.
    pub fn fail_path(&mut self, link: u32, now: Time) {
        let mut failed = Vec::new();
        for (id, peer) in &mut self.peers {
            for path in peer.paths.ids() {
                let p = &mut peer.paths[path];
                if p.route.link == link && p.live.state == State::Active {
                    p.live.die(now);
                    peer.declare_all_lost(path, now, &mut self.shared);
                    peer.emit_event(path, now, &mut self.shared);
                    peer.on_queue_changed();
                    failed.push(*id);
                }
            }
        }
        failed.into_iter().for_each(|id| self.mark_ready(id));
    }

    /// Handles of sockets and streams that a session's paths go by.
    pub fn links(&self) -> impl Iterator<Item = u32> + '_ {
        self.peers.values().flat_map(|peer| peer.paths.iter().map(|p| p.route.link))
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

    /// Changes what can be changed while running: scheduler, controller of new paths, limits, how
    /// many connections are counted.
    ///
    /// A scheduler that goes by the links' completions cannot take over from another, or another from it: the one in force stays.
    pub fn reconfigure(&mut self, mut config: Config) {
        let by_completions = self.shared.config.scheduler.counts_completions();
        if config.scheduler.counts_completions() != by_completions {
            config.scheduler = self.shared.config.scheduler;
        }
        let rebuild = config.scheduler != self.shared.config.scheduler
            || config.max_spread != self.shared.config.max_spread;
        if let Role::Gateway(g) = &mut self.role {
            g.responder.set_config(&config.responder);
        }
        for peer in self.peers.values_mut().filter(|_| rebuild) {
            peer.send.set_scheduler(&config);
            peer.airtime.iter_mut().for_each(|a| a.on_other_scheduler());
        }
        self.peers.values_mut().filter_map(|p| p.backhaul.as_mut()).for_each(|b| b.reconfigure(&config));
        if config.flows != self.shared.config.flows {
            // Outages that were noted before have nobody left who could have noticed.
            (self.shared.flows, self.shared.outages) = (Flows::new(config.flows), Outages::default());
        }
        self.shared.config = config;
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }
}
