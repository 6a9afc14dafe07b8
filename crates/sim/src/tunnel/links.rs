//! What radios tell the engines: completions towards the other end, and queues towards a repeater's own clients.

use super::host::{Outer, Shared, engine_time};
use crate::app::Context;
use crate::net::{Heard, Net};
use crate::packet::IfIndex;
use ropewalk_air::Time;
use ropewalk_bond::api::Input;
use ropewalk_bond::feedback::LinkState;
use ropewalk_bond::path::Route;
use ropewalk_bond::schedule::Kind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A driver tells of its queues this often.
const WORD: Duration = Duration::from_millis(2);
/// How often it is looked which interface a path uses.
const LOOK: Duration = Duration::from_millis(100);

/// The radios under an engine.
#[derive(Debug, Default)]
pub(super) struct Links {
    paths: Vec<Link>,
    epoch: u32,
    looked: Option<Time>,
    next_word: Option<Time>,
}

/// The link under one path.
#[derive(Clone, Copy, Debug)]
struct Link {
    path: u8,
    out: IfIndex,
    neighbour: IfIndex,
    /// Another with each link that the path leads over: their counters have nothing to do with each other.
    epoch: u32,
}

impl Links {
    /// Only the backpressure scheduler asks for completions, and only a repeater with a shared path has clients to speak of.
    pub(super) fn start(&mut self, engine: &Shared, cx: &mut Context<'_>, paths: &[Outer]) {
        if engine.borrow().config().scheduler == Kind::Backpressure {
            let endpoint = usize::from(cx.port - crate::app::FIRST_PORT);
            cx.net.tell_when_left(endpoint);
        }
        self.next_word = paths.iter().any(|p| p.shared).then(|| cx.now());
    }

    pub(super) fn next_word(&self) -> Option<Time> {
        self.next_word
    }

    /// Hands every path's counts to the engine.
    pub(super) fn report(&mut self, engine: &Shared, cx: &mut Context<'_>, paths: &[Outer]) {
        let now = cx.now();
        if self.looked.is_none_or(|at| at + LOOK <= now) {
            self.looked = Some(now);
            self.look(engine, cx, paths);
        }
        for u in &self.paths {
            // An abstract medium tells nothing.
            let Some(heard) = heard(cx.net, u.out, u.neighbour).filter(|h| h.handed > 0) else { continue };
            let state = LinkState { epoch: u.epoch, ..state_of(&heard) };
            engine.borrow_mut().handle(Input::Link { peer: None, path: u.path, state }, engine_time(now));
        }
    }

    fn look(&mut self, engine: &Shared, cx: &Context<'_>, paths: &[Outer]) {
        let status = super::host::status(engine, cx.now());
        let net = &*cx.net;
        let by_address = |a: IpAddr| {
            let is_it = |i: &crate::net::Interface| i.address.is_some_and(|own| IpAddr::V4(own.0) == a);
            net.interfaces.iter().position(is_it).map(|i| IfIndex(i as u32))
        };
        let out = |r: &Route| match paths.get(r.link as usize) {
            Some(path) => Some(path.interface),
            None => r.local.and_then(by_address),
        };
        let Some(peer) = status.peers.last() else { return };
        let known = peer.paths.iter().filter_map(|p| {
            let SocketAddr::V4(remote) = p.route.remote else { return None };
            let (out, neighbour) = (out(&p.route)?, by_address(IpAddr::V4(*remote.ip()))?);
            let same = |u: &&Link| (u.path, u.out, u.neighbour) == (p.id, out, neighbour);
            let fresh = || {
                self.epoch += 1;
                Link { path: p.id, out, neighbour, epoch: self.epoch }
            };
            Some(self.paths.iter().find(same).copied().unwrap_or_else(fresh))
        });
        self.paths = known.collect();
    }

    /// The queues of the access points that share a radio with a path, towards each of their stations.
    pub(super) fn tell_of_clients(&mut self, engine: &Shared, cx: &Context<'_>, paths: &[Outer]) {
        let now = cx.now();
        if self.next_word.is_none_or(|at| at > now) {
            return;
        }
        self.next_word = Some(now + WORD);
        let Some(radios) = &cx.net.radios else { return };
        for path in paths.iter().filter(|p| p.shared) {
            let Some(own) = cx.net.iface_of(path.interface) else { continue };
            for ap in radios.access_points_beside(own) {
                for (station, heard) in radios.neighbours(ap) {
                    let input = Input::ClientQueue { client: station.0, state: state_of(&heard) };
                    engine.borrow_mut().handle(input, engine_time(now));
                }
            }
        }
    }
}

fn heard(net: &Net, out: IfIndex, neighbour: IfIndex) -> Option<Heard> {
    Some(net.radios.as_ref()?.heard(net.iface_of(out)?, neighbour))
}

fn state_of(h: &Heard) -> LinkState {
    let waiting = h.handed.saturating_sub(h.delivered + h.failed);
    LinkState {
        delivered: h.delivered,
        failed: h.failed,
        backlog_packets: u32::try_from(waiting).unwrap_or(u32::MAX),
        tx_rate_bps: h.rate_bps.checked_div(h.acknowledged).unwrap_or(0),
        ..LinkState::default()
    }
}
