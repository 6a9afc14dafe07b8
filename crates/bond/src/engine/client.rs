//! The client's part: getting in, staying in, getting in again.

use super::{Engine, Role};
use crate::api::Event;
use crate::config::Config;
use crate::path::{Route, State};
use crate::peer::Peer;
use crate::peer::keyring::Epoch;
use core::net::IpAddr;
use ipnet::IpNet;
use ropewalk_session::{
    Accept, BackhaulEnd, CipherSet, ClientHello, Cookie, Extensions, Initiator, InviteId, InviteSecret,
    Outcome, PublicKey, READS_QUEUE, Refusal, SessionKeys, StaticKey,
};
use ropewalk_time::{Duration, Time};
use std::fmt;

/// First wait for an answer to an INIT, and how far it grows.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(4);
/// The same on a backhaul: its other end is one radio away, and those behind it have nobody else to
/// turn to.
const RETRY_MAX_ON_BACKHAUL: Duration = Duration::from_secs(1);
/// All paths silent for this long while nothing else is wrong: the gateway may have forgotten the session.
const FORGOTTEN_AFTER: Duration = Duration::from_millis(400);
/// And if there are paths still to be validated: longer than that takes.
const UNHEARD: Duration = Duration::from_secs(2);
/// Nothing at all was heard for this long since something was sent that asks for an answer: the same, whatever the paths' round trips
/// were (WireGuard's KEEPALIVE_TIMEOUT + REKEY_TIMEOUT).
const UNANSWERED: Duration = Duration::from_secs(15);
/// Nothing has opened under new keys for this long: the gateway does not know them, or no longer (WireGuard's REKEY_TIMEOUT).
const UNHEARD_KEYS: Duration = Duration::from_secs(5);
/// A client whose handshakes succeed for this long while nothing opens under their keys makes a new session.
const DEAF: Duration = Duration::from_secs(15);
/// How often a live session is looked at.
const WATCH: Duration = Duration::from_millis(100);
/// People are told that there is no connection after this.
const COMPLAIN_AFTER: Duration = Duration::from_secs(3);

/// Who a client is and whom it wants to reach.
#[derive(Clone)]
pub struct ClientConfig {
    /// This client's key.
    pub key: StaticKey,
    /// The gateway's key, from the token.
    pub gateway: PublicKey,
    /// The invite, from the token.
    pub invite: InviteId,
    /// Its secret.
    pub secret: InviteSecret,
    /// Ciphers this CPU is good at.
    pub ciphers: CipherSet,
    /// Networks behind the gateway, the one inside among them: it may send from them, and packets for them go to it. [`Engine::set_routes`] changes them.
    pub routes: Vec<IpNet>,
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientConfig(client {}, gateway {})", self.key.public(), self.gateway)
    }
}

#[derive(Debug)]
pub(super) struct Client {
    config: ClientConfig,
    initiator: Option<Initiator>,
    cookie: Option<Cookie>,
    next: Time,
    wait: Duration,
    /// Since when no path works.
    cut_off: Option<Time>,
    complained: bool,
    /// A refusal that no repetition will change.
    refused: bool,
    /// When the first handshake ended of those under whose keys nothing has opened yet.
    unheard_since: Time,
}

impl Client {
    pub(super) fn new(config: ClientConfig) -> Self {
        Client {
            config,
            initiator: None,
            cookie: None,
            next: Time::ZERO,
            wait: RETRY_FIRST,
            cut_off: None,
            complained: false,
            refused: false,
            unheard_since: Time::ZERO,
        }
    }

    fn retry_max(config: &Config) -> Duration {
        if config.backhaul.is_some() { RETRY_MAX_ON_BACKHAUL } else { RETRY_MAX }
    }

    pub(super) fn next_timeout(&self) -> (Time, &'static str) {
        if self.refused { (Time::NEVER, "refused") } else { (self.next, "handshake") }
    }
}

impl Engine {
    fn parts(&mut self) -> Option<(&mut Client, u32)> {
        let id = *self.peers.keys().next()?;
        match &mut self.role {
            Role::Client(c) => Some((c, id)),
            Role::Gateway(_) => None,
        }
    }

    pub(super) fn on_path_added(&mut self, now: Time) {
        let up = self.peers.values().any(|p| p.session.is_up());
        if let Some((c, _)) = self.parts()
            && !up
        {
            (c.next, c.wait) = (now, RETRY_FIRST);
        }
    }

    /// Starts, repeats or renews a handshake when one is needed.
    pub(super) fn drive_handshake(&mut self, now: Time) {
        let config = self.shared.config.clone();
        let gone = self.peers.is_empty();
        if let Role::Client(c) = &mut self.role {
            c.next = if gone { Time::NEVER } else { now + WATCH };
        }
        let Some((c, id)) = self.parts() else { return };
        if c.initiator.is_some() {
            return self.retry(id, now);
        }
        let Some(peer) = self.peers.get(&id) else { return };
        let up = peer.session.is_up();
        let worn = peer.session.keys().is_worn(now, config.rekey_after)
            || peer.session.keys().unheard(now) >= UNHEARD_KEYS;
        let cut_off = up && self.is_cut_off(id, now);
        if (!up || worn || cut_off) && self.peers.get(&id).is_some_and(|p| !p.paths.is_empty()) {
            self.start(id, now);
        }
    }

    /// There is no session, or no path has answered for a while, though asked. People are told.
    fn is_cut_off(&mut self, id: u32, now: Time) -> bool {
        let dead = self.peers.get(&id).is_some_and(|p| {
            if !p.session.is_up() {
                return true;
            }
            // A path that is new, but that the gateway says nothing on, is no hope either.
            let unheard = now.since(p.session.last_heard()) > UNHEARD;
            let asked = p.paths.iter().filter_map(|p| p.sent.oldest_in_flight()).map(|(_, at)| at).min();
            asked.is_some_and(|at| now.since(at.max(p.session.last_heard())) >= UNANSWERED)
                || p.paths
                    .iter()
                    .all(|p| p.live.state == State::Down || unheard && p.live.state == State::Validating)
        });
        let Some((c, _)) = self.parts() else { return false };
        if !dead {
            (c.cut_off, c.complained) = (None, false);
            return false;
        }
        let since = *c.cut_off.get_or_insert(now);
        let complain = !c.complained && now.since(since) >= COMPLAIN_AFTER;
        c.complained |= complain;
        if complain {
            self.event(Event::Unreachable);
        }
        now.since(since) >= FORGOTTEN_AFTER
    }

    /// The gateway renews the keys, but nothing opens under them: the two ends no longer have the same session in mind.
    fn is_deaf(&self, peer: &Peer, now: Time) -> bool {
        let Role::Client(c) = &self.role else { return false };
        !peer.session.keys().unheard(now).is_zero() && now.since(c.unheard_since) >= DEAF
    }

    fn start(&mut self, id: u32, now: Time) {
        let index = self.fresh_index();
        let tun_mtu = self.shared.config.tun_mtu;
        let resume = self.peers.get(&id).filter(|p| !self.is_deaf(p, now)).and_then(|p| p.session.id());
        let Role::Client(c) = &mut self.role else { return };
        let hello = ClientHello {
            ciphers: c.config.ciphers,
            tun_mtu,
            resume,
            invite: c.config.invite,
            secret: c.config.secret.clone(),
            extensions: Extensions::with_backhaul(self.shared.config.backhaul.as_ref()),
        };
        let cookie = c.cookie.clone();
        let (key, gateway) = (c.config.key.clone(), c.config.gateway);
        match Initiator::start(&mut self.shared.entropy, &key, &gateway, index, &hello, cookie, now) {
            Ok(i) => {
                let init = i.datagram().to_vec();
                c.initiator = Some(i);
                (c.next, c.wait) = (now + RETRY_FIRST, RETRY_FIRST);
                self.indices.insert(index.get(), id);
                self.send_init(id, init);
            }
            Err(_) => c.next = now + Client::retry_max(&self.shared.config),
        }
    }

    fn retry(&mut self, id: u32, now: Time) {
        // Where only the renewal of its keys gets no answer, the session goes on.
        let _ = self.is_cut_off(id, now);
        let Role::Client(c) = &mut self.role else { return };
        c.wait = (c.wait * 2).min(Client::retry_max(&self.shared.config));
        c.next = now + c.wait;
        let init = c
            .initiator
            .as_mut()
            .and_then(|i| i.retry(&mut self.shared.entropy, now).ok().map(<[u8]>::to_vec));
        if let Some(init) = init {
            self.send_init(id, init);
        }
    }

    /// Client: asks on all paths now, those of the last moment included. Another gateway with the
    /// same key may be at the end of one; the session goes on if the old one answers first.
    pub fn ask_again(&mut self, now: Time) {
        let Some((c, id)) = self.parts() else { return };
        if c.refused {
            return;
        }
        c.wait = RETRY_FIRST / 2;
        if c.initiator.is_some() { self.retry(id, now) } else { self.start(id, now) }
    }

    /// Every path carries the INIT: the first answer counts, and a dead path does not delay it. The gateway answers copies from memory.
    fn send_init(&mut self, id: u32, init: Vec<u8>) {
        let routes: Vec<Route> =
            self.peers.get(&id).map_or(Vec::new(), |p| p.paths.iter().map(|p| p.route).collect());
        for route in routes {
            self.queue_handshake(route, init.clone());
        }
    }

    pub(super) fn on_cookie(&mut self, route: Route, datagram: &[u8], now: Time) {
        let Role::Client(c) = &mut self.role else { return };
        let Some(i) = &mut c.initiator else { return };
        match i.handle_cookie(datagram, now).map(<[u8]>::to_vec) {
            Ok(init) => {
                c.cookie = i.cookie().cloned();
                self.queue_handshake(route, init);
            }
            Err(_) => self.shared.drops.handshakes += 1,
        }
    }

    pub(super) fn on_response(&mut self, datagram: &[u8], now: Time) {
        let Role::Client(c) = &mut self.role else { return };
        let Some(i) = &mut c.initiator else {
            self.shared.drops.handshakes += 1;
            return;
        };
        let index = i.index();
        match i.finish(datagram) {
            Ok(Outcome::Accepted(accept, keys)) => {
                if let Err(refusal) = check(&self.shared.config, &accept) {
                    (c.initiator, c.refused) = (None, true);
                    self.indices.remove(&index.get());
                    return self.event(Event::Refused(refusal));
                }
                (c.initiator, c.cut_off, c.complained) = (None, None, false);
                c.next = now + WATCH;
                self.on_accepted(accept, keys, now);
            }
            Ok(Outcome::Refused(refusal)) => {
                c.initiator = None;
                c.refused = !refusal.is_temporary();
                c.next = now + Client::retry_max(&self.shared.config);
                self.indices.remove(&index.get());
                self.event(Event::Refused(refusal));
            }
            Err(_) => self.shared.drops.handshakes += 1,
        }
    }

    fn on_accepted(&mut self, accept: Accept, keys: SessionKeys, now: Time) {
        let Some((&id, peer)) = self.peers.iter_mut().next() else { return };
        let same = peer.session.id() == Some(accept.session);
        let epoch = Epoch::new(keys, &self.shared.config, now);
        let Role::Client(c) = &mut self.role else { return };
        if !same || peer.session.keys().unheard(now).is_zero() {
            c.unheard_since = now;
        }
        if same {
            if let Some(old) = peer.session.keys_mut().renew(epoch, now) {
                self.indices.remove(&old.get());
            }
        } else {
            // Old keys end with their session: beside new replay windows a recorded datagram would pass.
            let local = epoch.local;
            peer.session.keys().indices().filter(|old| *old != local).for_each(|old| {
                self.indices.remove(&old.get());
            });
            peer.session.keys_mut().begin(epoch);
            peer.restart(&mut self.shared, now);
            peer.session.set_id(accept.session);
        }
        if let Some(b) = &mut peer.backhaul {
            b.set_peer_reads(accept.extensions.get(READS_QUEUE).is_some());
        }
        peer.session.set_reads_air(accept.extensions.reads_air());
        peer.inside.set_peer_mtu(accept.tun_mtu);
        let own = [Some(accept.ipv4.client.into()), accept.ipv6.map(|v6| IpAddr::from(v6.client))];
        peer.inside.set_own(own.into_iter().flatten());
        for i in peer.paths.ids() {
            if same {
                // Something must be sealed with the new keys soon: the gateway waits for it.
                peer.paths[i].control.ping_due = true;
            } else {
                peer.challenge_path(i, &mut self.shared);
            }
        }
        if !same {
            self.event(Event::Connected(accept));
        }
        self.mark_ready(id);
    }

    /// Client: other networks than before lie behind the gateway ([`ClientConfig::routes`]).
    pub fn set_routes(&mut self, networks: &[IpNet]) {
        let Some((&id, peer)) = self.peers.iter_mut().next().filter(|(_, p)| p.is_client()) else { return };
        peer.inside.set_networks(IpNet::aggregate(&networks.to_vec()));
        self.networks = peer.inside.networks().iter().map(|n| (*n, id)).collect();
    }

    pub(super) fn on_gateway_closed(&mut self, code: u8, now: Time) {
        let Some((&id, peer)) = self.peers.iter_mut().next() else { return };
        for i in peer.session.forget() {
            self.indices.remove(&i.get());
        }
        let Role::Client(c) = &mut self.role else { return };
        if let Some(asked) = c.initiator.take() {
            self.indices.remove(&asked.index().get());
        }
        c.next = now + if code == 0 { RETRY_FIRST } else { Client::retry_max(&self.shared.config) };
        if code != 0 {
            let refusal = Refusal::from_code(code);
            c.refused = !refusal.is_temporary();
            self.event(Event::Refused(refusal));
        } else {
            self.event(Event::Dismissed);
        }
        self.mark_ready(id);
    }
}

/// An older gateway lets in whom it does not understand: this end looks, too.
fn check(own: &Config, accept: &Accept) -> Result<(), Refusal> {
    BackhaulEnd::check(BackhaulEnd::of(&accept.extensions).as_ref(), own.backhaul.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::PathSpec;
    use crate::entropy::Entropy;
    use crate::path::Class;

    const START: Time = Time::from_secs(1);

    /// A client with one path.
    fn client() -> Engine {
        let key = |byte: u8| StaticKey::from_bytes(&[byte; 32]).unwrap();
        let who = ClientConfig {
            key: key(1),
            gateway: key(2).public(),
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            ciphers: CipherSet::CHACHA,
            routes: Vec::new(),
        };
        let mut engine = Engine::client(Config::default(), who, Entropy::repeatable([3; 32]), START);
        let route = Route { link: 0, remote: "192.0.2.1:4500".parse().unwrap(), local: None };
        let spec = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
        engine.add_path(spec, START).expect("the first path");
        engine
    }

    #[test]
    fn a_handshake_that_a_goodbye_ends_leaves_nothing() {
        let (mut engine, mut now) = (client(), START);
        for _ in 0..10 {
            now += Duration::from_secs(1);
            engine.drive_handshake(now);
            assert_eq!(engine.indices.len(), 1, "one is under way");
            engine.on_gateway_closed(0, now);
            assert!(engine.indices.is_empty());
        }
    }

    #[test]
    fn a_goodbye_with_a_code_is_answered_as_a_refusal_is() {
        let wait = |code| {
            let mut engine = client();
            engine.on_gateway_closed(code, START);
            engine.role_timeout().0.since(START)
        };
        assert_eq!(wait(0), RETRY_FIRST, "the gateway restarts");
        assert_eq!(wait(Refusal::Busy.code()), RETRY_MAX);
        assert!(wait(Refusal::Revoked.code()) > Duration::from_secs(1_000_000), "until a user acts");
    }
}
