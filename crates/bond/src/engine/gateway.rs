//! The gateway's part: letting clients in and out.

use super::handshakes::{Handshakes, Offer};
use super::shard::{Answer, Reply, Shard, Visitor};
use super::{Engine, Role};
use crate::api::{Admission, Event, Registry};
use crate::config::Config;
use crate::entropy::Entropy;
use crate::path::{Route, State};
use crate::peer::Peer;
use crate::peer::keyring::{Epoch, OFFERED_FOR, Source, gives_way};
use core::net::IpAddr;
use rand::Rng;
use ropewalk_session::{
    Accept, BackhaulEnd, CipherSet, Extensions, Incoming, PublicKey, READS_QUEUE, Refusal, Responder,
    SessionId, SessionKeys, StaticKey, Verdict,
};
use ropewalk_time::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;

/// How often silent sessions are looked for.
const SWEEP: Duration = Duration::from_secs(2);

pub(super) struct Gateway {
    pub responder: Responder,
    pub handshakes: Handshakes,
    pub shard: Shard,
    /// Clients for other engines, with their numbers, until the driver takes them there.
    pub visitors: VecDeque<(u32, Visitor)>,
    /// Replies for the first engine.
    pub replies: VecDeque<Reply>,
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
    pub(super) fn new(
        entropy: &mut Entropy,
        key: StaticKey,
        inside: Vec<IpAddr>,
        registry: Box<dyn Registry>,
        config: &Config,
        now: Time,
    ) -> Self {
        Gateway {
            responder: Responder::new(entropy, key, &config.responder, now),
            handshakes: Handshakes::default(),
            shard: Shard::WHOLE,
            visitors: VecDeque::new(),
            replies: VecDeque::new(),
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
        let backlog = g.handshakes.backlog();
        match g.responder.handle(&mut self.shared.entropy, datagram, route.remote, backlog, now) {
            Verdict::Drop(_) => self.shared.drops.handshakes += 1,
            Verdict::Cookie(bytes) | Verdict::Again(bytes) => self.queue_handshake(route, bytes),
            Verdict::Wait(tag) => g.handshakes.note_copy(tag, route),
            Verdict::Read(reading) => g.handshakes.read(route, reading),
        }
        self.run_handshakes(now);
    }

    /// An INIT was read: somebody who holds the key it names asks to come in, or who recorded that.
    pub(super) fn on_asked(&mut self, incoming: Box<Incoming>, route: Route, now: Time) {
        if !self.is_ready(&incoming) {
            return self.reply(Answer::Forget(incoming.tag()), now);
        }
        let has_offer = self.has_offer(&incoming.client(), now);
        let admitted = self.admit(&incoming);
        if has_offer && !incoming.proven() {
            // Replays of an INIT must not push out the keys that the true client is about to use.
            return self.reply(Answer::Challenge(incoming, route), now);
        }
        match admitted {
            Ok(admission) => {
                let Some(incoming) = self.pass_on(incoming, &admission, route, now) else { return };
                if self.is_full_for(&incoming.client()) {
                    return self.reply(Answer::Refuse(incoming, Refusal::Busy, route), now);
                }
                self.let_in(incoming, admission, route);
                self.run_handshakes(now);
            }
            Err(refusal) => self.reply(Answer::Refuse(incoming, refusal, route), now),
        }
    }

    /// Keys that this client has not used yet are offered to it.
    fn has_offer(&self, client: &PublicKey, now: Time) -> bool {
        self.peers_of(client).any(|id| self.peers.get(&id).is_some_and(|p| p.session.keys().has_offer(now)))
    }

    fn is_ready(&mut self, incoming: &Incoming) -> bool {
        match (&mut self.role, incoming.hello()) {
            (Role::Gateway(g), Ok(hello)) => g.registry.is_ready(&incoming.client(), hello),
            _ => true,
        }
    }

    fn admit(&mut self, incoming: &Incoming) -> Result<Admission, Refusal> {
        let (client, hello) = (incoming.client(), incoming.hello()?);
        BackhaulEnd::check(
            self.shared.config.backhaul.as_ref(),
            BackhaulEnd::of(&hello.extensions).as_ref(),
        )?;
        // Before the registry notes anything. Of several engines only the client's own knows, and looks later.
        if self.shard() == Shard::WHOLE && self.is_full_for(&client) {
            return Err(Refusal::Busy);
        }
        match &mut self.role {
            Role::Gateway(g) => g.registry.admit(&client, hello),
            Role::Client(_) => Err(Refusal::Busy),
        }
    }

    fn is_full_for(&self, client: &PublicKey) -> bool {
        // Each client counts once: half-open sessions of one, which replays make, keep out nobody.
        self.peers_of(client).next().is_none() && self.clients >= self.shared.config.max_peers
    }

    fn let_in(&mut self, incoming: Box<Incoming>, admission: Admission, route: Route) {
        let Ok(hello) = incoming.hello() else { return };
        let resumed = self.resumed(&incoming.client(), hello.resume);
        let session = match hello.resume.filter(|_| resumed.is_some()) {
            Some(session) => session,
            None => self.shared.entropy.random::<SessionId>(),
        };
        let index = self.fresh_index();
        let Role::Gateway(g) = &mut self.role else { return };
        let accept = Accept {
            session,
            cipher: g.ciphers.choose(hello.ciphers),
            tun_mtu: self.shared.config.tun_mtu,
            ipv4: admission.ipv4,
            ipv6: admission.ipv6,
            extensions: Extensions::with_backhaul(self.shared.config.backhaul.as_ref()),
        };
        let offer = Offer {
            client: incoming.client(),
            client_mtu: hello.tun_mtu.max(1280),
            reads_queue: hello.extensions.get(READS_QUEUE).is_some(),
            proven: incoming.proven(),
            expulsions: g.handshakes.expulsions,
            accept,
            index,
            admission,
            resumed,
        };
        g.handshakes.accept(route, incoming, offer);
    }

    /// Keys were made: they are offered. `false` if the gateway has changed meanwhile so that they may not be; the client asks again.
    pub(super) fn offer(&mut self, keys: SessionKeys, offer: Offer, route: Route, now: Time) -> bool {
        let Role::Gateway(g) = &self.role else { return false };
        let is_gone = offer.resumed.is_some_and(|id| !self.peers.contains_key(&id));
        let is_pushed = !offer.proven && self.has_offer(&offer.client, now);
        let is_taken = self.indices.contains_key(&offer.index.get());
        let is_full = offer.resumed.is_none() && self.is_full_for(&offer.client);
        if offer.expulsions != g.handshakes.expulsions || is_gone || is_pushed || is_taken || is_full {
            return false;
        }
        let own_inside = g.inside.clone();
        let source = offer.proven.then(|| Source::of(route.remote.ip()));
        let epoch = Epoch::new(keys, &self.shared.config, now);
        let index = epoch.local.get();
        let id = match offer.resumed {
            Some(id) => id,
            None => {
                self.make_room(&offer.client, source);
                let (owner, device) = (self.shared.store.add_owner(), offer.admission.device);
                let mut peer = Peer::new(offer.client, false, device, owner, &self.shared.config, now);
                peer.session.set_id(offer.accept.session);
                peer.inside.set_own(own_inside);
                let (v4, v6) = (offer.admission.ipv4.client, offer.admission.ipv6.map(|v6| v6.client));
                peer.inside.set_client([Some(IpAddr::from(v4)), v6.map(IpAddr::from)].into_iter().flatten());
                peer.inside.set_networks(offer.admission.networks);
                peer.inside.set_peer_mtu(offer.client_mtu);
                self.insert(peer)
            }
        };
        self.indices.insert(index, id);
        let Some(peer) = self.peers.get_mut(&id) else { return false };
        if let Some(b) = &mut peer.backhaul {
            b.set_peer_reads(offer.reads_queue);
        }
        if let Some(void) = peer.session.keys_mut().offer(epoch, source) {
            self.indices.remove(&void.get());
        }
        // They are erased if nobody uses them.
        self.mark_ready(id);
        true
    }

    /// A client gets one more half-open session. Its others stay, within a bound: which of their
    /// INITs was no replay shows only when the client uses the keys.
    fn make_room(&mut self, client: &PublicKey, source: Option<Source>) {
        let peers = self.peers_of(client).filter_map(|id| Some((id, self.peers.get(&id)?)));
        let open: Vec<(u32, bool)> = peers
            .filter(|(_, p)| !p.session.is_confirmed())
            .map(|(id, p)| (id, p.session.keys().has_offers_of_only(source)))
            .collect();
        if let Some(i) = gives_way(open.iter().map(|(_, is_same)| *is_same)) {
            self.remove(open[i].0);
        }
    }

    /// A client has used its keys for the first time: an older session of it is over, and packets for it have a way.
    pub(super) fn on_client_confirmed(&mut self, id: u32, route: Route, _now: Time) {
        let Some(peer) = self.peers.get(&id) else { return };
        let (client, device) = (peer.key(), peer.device());
        let (inside, networks) = (peer.inside.client().to_vec(), peer.inside.networks().to_vec());
        let others: Vec<u32> = self.peers_of(&client).filter(|o| *o != id).collect();
        for other in others {
            self.remove(other);
        }
        self.inside.extend(inside.iter().map(|address| (*address, id)));
        self.devices.insert(device, id);
        self.networks.retain(|(n, owner)| *owner != id && !networks.contains(n));
        self.networks.extend(networks.into_iter().map(|n| (n, id)));
        self.networks.sort_by_key(|(n, _)| core::cmp::Reverse(n.prefix_len()));
        let mut new = false;
        if let Some(peer) = self.peers.get_mut(&id) {
            new = peer.session.announce();
            for i in peer.paths.ids() {
                if peer.paths[i].live.state == State::Validating && peer.paths[i].address.challenge.is_none()
                {
                    peer.challenge_path(i, &mut self.shared);
                }
            }
        }
        if new {
            self.event(Event::ClientUp { client, remote: route.remote, device, inside });
        }
    }

    pub(super) fn on_client_closed(&mut self, id: u32) {
        if let Some(peer) = self.peers.get(&id) {
            let client = peer.key();
            self.event(Event::ClientDown { client, why: "it said goodbye" });
        }
        self.remove(id);
    }

    pub(super) fn on_client_cheated(&mut self, id: u32) {
        let Some(client) = self.peers.get(&id).map(Peer::key) else { return };
        self.close_peer(id, 0);
        self.event(Event::ClientDown { client, why: "it acknowledged what was never sent" });
    }

    /// Gateway: a client's addresses inside, while it has a session.
    pub fn inside_of(&self, client: &PublicKey) -> Vec<IpAddr> {
        let peers = self.peers_of(client).filter_map(|id| self.peers.get(&id));
        peers.filter(|p| p.session.is_confirmed()).flat_map(|p| p.inside.client()).copied().collect()
    }

    /// Gateway: a client's right to be here ends now. It is told why.
    pub fn revoke(&mut self, client: &PublicKey) {
        self.end_sessions(client, Refusal::Revoked.code(), "revoked");
    }

    /// Gateway: a client's sessions here end, though it may come in: it is told goodbye, and looks
    /// for another gateway.
    pub fn dismiss(&mut self, client: &PublicKey, why: &'static str) {
        self.end_sessions(client, 0, why);
    }

    /// Gateway: the same for all clients.
    pub fn dismiss_all(&mut self, why: &'static str) {
        // Also whom a handshake on its way was to let in, where nobody is connected.
        if let Role::Gateway(g) = &mut self.role {
            g.handshakes.expulsions += 1;
        }
        let clients: BTreeSet<PublicKey> = self.of_key.iter().map(|(client, _)| *client).collect();
        clients.iter().for_each(|client| self.end_sessions(client, 0, why));
    }

    fn end_sessions(&mut self, client: &PublicKey, code: u8, why: &'static str) {
        if let Role::Gateway(g) = &mut self.role {
            g.handshakes.expulsions += 1;
        }
        let sessions: Vec<u32> = self.peers_of(client).collect();
        for id in sessions {
            self.close_peer(id, code);
            self.event(Event::ClientDown { client: *client, why });
        }
    }

    pub(super) fn sweep(&mut self, now: Time) {
        let idle = self.shared.config.idle_timeout;
        let gone: Vec<u32> = self
            .peers
            .iter()
            .filter(|(_, p)| {
                now.since(p.session.last_heard()) > if p.session.is_confirmed() { idle } else { OFFERED_FOR }
            })
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            if let Some(client) = self.peers.get(&id).filter(|p| p.session.is_confirmed()).map(Peer::key) {
                self.event(Event::ClientDown { client, why: "silent for too long" });
            }
            self.remove(id);
        }
        if let Role::Gateway(g) = &mut self.role {
            g.next_sweep = now + SWEEP;
        }
    }
}
