//! The gateway's part: letting clients in and out.

use super::{Engine, Role};
use crate::api::{Admission, Event, PathSpec, Registry};
use crate::config::Config;
use crate::path::{Class, Route, State};
use crate::peer::Peer;
use crate::peer::keyring::Epoch;
use crate::session::{
    Accept, CipherSet, Extensions, Hop, Incoming, PublicKey, READS_QUEUE, Refusal, Responder, SessionId,
    StaticKey, Verdict,
};
use crate::time::{Duration, Time};
use crate::wire::MAX_PATHS;
use core::net::IpAddr;
use rand::Rng;
use rand_chacha::ChaCha12Rng;
use std::fmt;

/// How often silent sessions are looked for.
const SWEEP: Duration = Duration::from_secs(2);
/// A client that was let in and says nothing under its keys was a replay.
const UNCONFIRMED: Duration = Duration::from_secs(10);
/// Interface MTU a gateway assumes; the search finds what passes.
const INTERFACE_MTU: u16 = 1500;

pub(super) struct Gateway {
    pub responder: Responder,
    registry: Box<dyn Registry>,
    inside: Vec<IpAddr>,
    ciphers: CipherSet,
    pub next_sweep: Time,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gateway({})", self.responder.public())
    }
}

impl Gateway {
    pub fn new(
        rng: &mut ChaCha12Rng,
        key: StaticKey,
        inside: Vec<IpAddr>,
        registry: Box<dyn Registry>,
        config: &Config,
        now: Time,
    ) -> Self {
        Gateway {
            responder: Responder::new(rng, key, &config.responder, now),
            registry,
            inside,
            ciphers: CipherSet::of_this_cpu(),
            next_sweep: now + SWEEP,
        }
    }
}

impl Engine {
    pub(super) fn on_init(&mut self, route: Route, datagram: &[u8], now: Time) {
        let Role::Gateway(g) = &mut self.role else { return };
        match g.responder.handle(&mut self.shared.rng, datagram, route.remote, now) {
            Verdict::Drop(_) => self.shared.drops.handshakes += 1,
            Verdict::Cookie(bytes) | Verdict::Again(bytes) | Verdict::Refused(bytes) => {
                self.queue_handshake(route, bytes)
            }
            Verdict::Hello(incoming) => self.on_hello(*incoming, route, now),
        }
    }

    fn on_hello(&mut self, incoming: Incoming, route: Route, now: Time) {
        let client = incoming.client();
        let is_offered = |id: u32| self.peers.get(&id).is_some_and(|p| p.keys.offered.is_some());
        let waiting = self.peers_of(&client).any(is_offered);
        let full =
            self.peers_of(&client).next().is_none() && self.peers.len() >= self.shared.config.max_peers;
        let Role::Gateway(g) = &mut self.role else { return };
        if waiting && !incoming.proven() {
            // Replays of an INIT must not push out the keys that the true client is about to use.
            let bytes = g.responder.challenge(&mut self.shared.rng, &incoming, route.remote, now);
            return self.queue_handshake(route, bytes);
        }
        let fits =
            Hop::check(self.shared.config.hop.as_ref(), Hop::of(&incoming.hello().extensions).as_ref());
        let admitted = match fits {
            Err(refusal) => Err(refusal),
            Ok(()) if full => Err(Refusal::Busy),
            Ok(()) => g.registry.admit(&incoming.client(), incoming.hello()),
        };
        let tag = incoming.tag();
        let answer = match admitted {
            Ok(admission) => self.let_in(incoming, admission, route, now),
            Err(refusal) => incoming.refuse(refusal).ok(),
        };
        let Some(answer) = answer else { return };
        if let Role::Gateway(g) = &mut self.role {
            g.responder.remember(tag, &answer, now);
        }
        self.queue_handshake(route, answer);
    }

    fn let_in(
        &mut self,
        incoming: Incoming,
        admission: Admission,
        route: Route,
        now: Time,
    ) -> Option<Vec<u8>> {
        let (client, hello) = (incoming.client(), incoming.hello().clone());
        let resumed = hello.resume.and_then(|s| {
            let is_it = |id: &u32| self.peers.get(id).is_some_and(|p| p.session == Some(s));
            self.peers_of(&client).find(is_it).map(|id| (id, s))
        });
        let session = resumed.map_or_else(|| self.shared.rng.random::<SessionId>(), |r| r.1);
        let index = self.fresh_index();
        let Role::Gateway(g) = &self.role else { return None };
        let accept = Accept {
            session,
            cipher: g.ciphers.choose(hello.ciphers),
            max_paths: MAX_PATHS as u8,
            tun_mtu: self.shared.config.tun_mtu,
            ipv4: admission.ipv4,
            ipv6: admission.ipv6,
            extensions: Extensions::with_hop(self.shared.config.hop.as_ref()),
        };
        let own_inside = g.inside.clone();
        let (answer, keys) = incoming.accept(accept, index).ok()?;
        let id = match resumed {
            Some((id, _)) => id,
            None => {
                self.drop_unconfirmed(&client);
                let mut peer = Peer::new(client, false, &self.shared.config, now);
                (peer.session, peer.own_inside) = (Some(session), own_inside);
                peer.inside = vec![admission.ipv4.client.into()];
                peer.inside.extend(admission.ipv6.map(|v6| IpAddr::from(v6.client)));
                (peer.networks, peer.device) = (admission.networks, admission.device);
                peer.peer_mtu = hello.tun_mtu.max(1280);
                let spec = PathSpec { route, interface_mtu: INTERFACE_MTU, class: Class::Active, weight: 1 };
                peer.insert_path(hello.path & 15, spec, &self.shared.config);
                self.insert(peer)
            }
        };
        self.indices.insert(index.get(), id);
        let reads_queue = hello.extensions.get(READS_QUEUE).is_some();
        let void = self.peers.get_mut(&id).and_then(|p| {
            p.reads_queue = reads_queue;
            p.keys.offer(Epoch::new(keys, now))
        });
        if let Some(void) = void {
            self.indices.remove(&void.get());
        }
        Some(answer)
    }

    /// One half-open session per client is enough.
    fn drop_unconfirmed(&mut self, client: &PublicKey) {
        let is_unconfirmed = |id: &u32| self.peers.get(id).is_some_and(|p| !p.confirmed);
        let unconfirmed: Vec<u32> = self.peers_of(client).filter(is_unconfirmed).collect();
        unconfirmed.into_iter().for_each(|id| self.remove(id));
    }

    /// A client has used its keys for the first time: an older session of it is over, and packets for it have a way.
    pub(super) fn on_client_confirmed(&mut self, id: u32, route: Route, _now: Time) {
        let Some(peer) = self.peers.get(&id) else { return };
        let (client, device) = (peer.key, peer.device);
        let (inside, networks) = (peer.inside.clone(), peer.networks.clone());
        let others: Vec<u32> = self.peers_of(&client).filter(|o| *o != id).collect();
        for other in others {
            self.remove(other);
        }
        for a in inside {
            self.inside.insert(a, id);
        }
        self.devices.insert(device, id);
        self.networks.retain(|(n, owner)| *owner != id && !networks.contains(n));
        self.networks.extend(networks.into_iter().map(|n| (n, id)));
        self.networks.sort_by_key(|(n, _)| core::cmp::Reverse(n.prefix_len()));
        let mut new = false;
        if let Some(peer) = self.peers.get_mut(&id) {
            new = !core::mem::replace(&mut peer.announced, true);
            for i in 0..peer.paths.len() {
                if peer.paths[i].live.state == State::Validating && peer.paths[i].challenge.is_none() {
                    peer.challenge_path(i, &mut self.shared);
                }
            }
        }
        if new {
            self.event(Event::ClientUp { client, remote: route.remote, device });
        }
    }

    pub(super) fn on_client_closed(&mut self, id: u32) {
        if let Some(peer) = self.peers.get(&id) {
            let client = peer.key;
            self.event(Event::ClientDown { client, why: "it said goodbye" });
        }
        self.remove(id);
    }

    /// Gateway: a client's right to be here ends now. It is told why.
    pub fn revoke(&mut self, client: &PublicKey) {
        let sessions: Vec<u32> = self.peers_of(client).collect();
        for id in sessions {
            self.close_peer(id, Refusal::Revoked.code());
            self.event(Event::ClientDown { client: *client, why: "revoked" });
        }
    }

    pub(super) fn sweep(&mut self, now: Time) {
        let idle = self.shared.config.idle_timeout;
        let gone: Vec<u32> = self
            .peers
            .iter()
            .filter(|(_, p)| now.since(p.last_heard) > if p.confirmed { idle } else { UNCONFIRMED })
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            if let Some(client) = self.peers.get(&id).filter(|p| p.confirmed).map(|p| p.key) {
                self.event(Event::ClientDown { client, why: "silent for too long" });
            }
            self.remove(id);
        }
        if let Role::Gateway(g) = &mut self.role {
            g.next_sweep = now + SWEEP;
        }
    }
}
