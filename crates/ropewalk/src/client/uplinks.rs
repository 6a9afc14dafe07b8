//! Which interface goes to which endpoint.
//!
//! A [`Uplink`] is one interface that is to carry a path. Its endpoints are tried in order of
//! preference, a quarter of a second apart (RFC 8305 calls that happy eyeballs): the first that the
//! gateway answers on stays, the other attempts are taken away. When the one that stays is dead for
//! a while, the others are tried again beside it. Where UDP is not answered, or does not pass the
//! base MTU, a path over TLS is made ([`super::hindered`]).

use super::hindered::{Hindered, TlsOptions};
use super::resolver::Resolver;
use super::settings::Settings;
use super::targets::Targets;
use crate::cli::PathName;
use crate::config::ClassName;
use crate::daemon::Running;
use ropewalk_bond::api::PathSpec;
use ropewalk_bond::engine::Status;
use ropewalk_bond::path::{Class, Route, State};
use ropewalk_net::links::Link;
use ropewalk_net::nat64::{self, Prefix};
use ropewalk_net::setup::MARK;
use ropewalk_net::udp::{Options, UdpSocket};
use ropewalk_session::Endpoint;
use ropewalk_time::{Duration, Time};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

mod by_tls;
mod status;

/// Between one attempt and the next.
const STAGGER: Duration = Duration::from_millis(250);
/// The same among endpoints that may be different gateways: one that is nearer by more than this
/// answers first.
const RACE: Duration = Duration::from_millis(20);
/// An attempt that has not been answered for this long makes room for others.
const PATIENCE: Duration = Duration::from_secs(4);
/// A path that is dead for this long is not waited for alone.
const DEAD: Duration = Duration::from_secs(5);
/// Attempts at a time on one interface; the engine has sixteen paths for all of them.
const ATTEMPTS: usize = 4;
/// A name is resolved again this often while it leads nowhere.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// A path that the engine knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The socket's number.
    pub link: u32,
    /// The engine's number.
    pub path: u8,
    /// Where it goes.
    pub remote: SocketAddr,
    /// It goes by TLS.
    is_tls: bool,
    /// It is too narrow for data, as far as is known ([`State::TooNarrow`]).
    is_narrow: bool,
    since: Time,
    dead_since: Option<Time>,
    /// What the engine was last told that a metered path may carry.
    granted: u64,
}

/// One interface's way to the gateway.
#[derive(Debug)]
pub(crate) struct Uplink {
    /// As the user or the discovery named it.
    pub name: PathName,
    /// What it may be used for.
    pub settings: Settings,
    /// What it may still carry, if it is metered.
    left: Option<u64>,
    /// What attempts that are gone have carried and nobody has written down yet.
    spent: u64,
    /// A user asked for it, so it stays when its interface goes.
    pub asked_for: bool,
    link: Option<Link>,
    targets: Targets,
    /// How its network translates to IPv4, as its name servers say; `None` before they have.
    nat64: Option<Vec<Prefix>>,
    /// The same as its routers advertise, each with its end.
    advertised: Vec<(Prefix, Time)>,
    attempts: Vec<Attempt>,
    /// The attempt that was answered, by its path.
    chosen: Option<u8>,
    /// That path carries data.
    is_up: bool,
    hindered: Hindered,
    /// TLS carries it, or did last.
    by_tls: bool,
    /// The gateway has said goodbye, or is dead as far as anybody can tell: others may be at the
    /// other endpoints.
    searching: bool,
    next: Time,
    ask_again: Time,
    complained: bool,
}

impl Uplink {
    /// A way by the named interface, to its own endpoint or to those of the token.
    pub(crate) fn new(
        name: PathName,
        (token, tls): (&[Endpoint], &TlsOptions),
        settings: Settings,
        asked_for: bool,
    ) -> Uplink {
        let endpoints = match &name.endpoint {
            Some(own) => std::slice::from_ref(own),
            None => token,
        };
        Uplink {
            targets: Targets::new(endpoints),
            nat64: None,
            advertised: Vec::new(),
            name,
            settings,
            left: None,
            spent: 0,
            asked_for,
            link: None,
            attempts: Vec::new(),
            chosen: None,
            is_up: false,
            hindered: Hindered::new(tls),
            by_tls: false,
            searching: false,
            next: Time::ZERO,
            ask_again: Time::ZERO,
            complained: false,
        }
    }

    /// What the engine knows of it.
    pub(crate) fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Where its gateway may be, by UDP.
    pub(super) fn places(&self) -> impl Iterator<Item = String> {
        self.targets.places()
    }

    /// It carries data.
    pub(crate) fn is_up(&self) -> bool {
        self.is_up
    }

    /// No path of it carries data, though one did.
    pub(crate) fn has_lost(&self) -> bool {
        self.chosen.is_some() && !self.is_up
    }

    /// There may be another gateway at its other endpoints: they are tried at once, beside the one
    /// that was.
    pub(crate) fn search(&mut self, now: Time) {
        let by_tls = self.attempts.iter().any(|a| a.is_tls);
        if !self.searching && (by_tls || self.targets.reached().nth(1).is_some()) {
            (self.searching, self.next) = (true, now);
        }
    }

    fn class(&self) -> Class {
        match self.settings.class {
            ClassName::Active => Class::Active,
            ClassName::Backup => Class::Backup,
            ClassName::Metered => Class::Metered { left: self.left.unwrap_or(0) },
        }
    }

    /// What it may be used for from now on; `left` is what it may still carry, if it is metered. Settle first.
    pub(crate) fn set(&mut self, running: &mut Running, settings: Settings, left: u64) {
        (self.settings, self.left) = (settings, Some(left));
        let class = self.class();
        for attempt in &mut self.attempts {
            attempt.granted = left;
            running.core.engine.set_class(attempt.path, class);
            running.core.engine.set_weight(attempt.path, settings.weight);
        }
    }

    /// Bytes that a metered way has carried since the last call.
    pub(crate) fn settle(&mut self, status: &Status) -> u64 {
        let spent = (0..self.attempts.len()).map(|at| self.settle_attempt(at, status)).sum::<u64>();
        let spent = spent + std::mem::take(&mut self.spent);
        self.left = self.left.map(|left| left.saturating_sub(spent));
        spent
    }

    /// What it may still carry; `None` if nobody has looked that up since it is metered.
    pub(crate) fn allowance(&self) -> Option<u64> {
        self.left
    }

    /// The allowance has to be looked up again.
    pub(crate) fn forget_allowance(&mut self) {
        self.left = None;
    }

    fn settle_attempt(&mut self, at: usize, status: &Status) -> u64 {
        let attempt = &mut self.attempts[at];
        let mut paths = status.peers.iter().flat_map(|p| &p.paths);
        let left = paths.find(|p| p.id == attempt.path).and_then(|p| p.allowance);
        let left = left.unwrap_or(attempt.granted);
        std::mem::replace(&mut attempt.granted, left).saturating_sub(left)
    }

    /// When [`Uplink::drive`] is due.
    pub(crate) fn due(&self) -> Time {
        self.next
    }

    /// Asks for the addresses of its endpoints.
    pub(crate) fn resolve(&mut self, resolver: &Resolver, now: Time) {
        self.targets.resolve(resolver, &self.name.interface);
        self.hindered.resolve(resolver, &self.name.interface);
        self.ask_again = now + ASK_AGAIN;
    }

    /// A name was resolved. Without an answer the old addresses stay.
    pub(crate) fn on_resolved(&mut self, endpoint: &Endpoint, found: &[SocketAddr], now: Time) {
        self.targets.on_resolved(endpoint, found);
        self.hindered.on_resolved(endpoint, found);
        self.retarget(now);
    }

    /// An uplink with IPv6 alone asks how its network translates to endpoints with IPv4.
    pub(crate) fn ask_nat64(&self, resolver: &Resolver) {
        let mut known = self.targets.known().chain(self.hindered.known());
        if self.link.as_ref().is_some_and(nat64::is_wanted) && known.any(|a| a.is_ipv4()) {
            resolver.ask_nat64(&self.name.interface);
        }
    }

    /// Its network's name servers have answered, or not.
    pub(crate) fn on_nat64(&mut self, prefixes: Option<&[Prefix]>, now: Time) {
        if prefixes.is_some() || self.nat64.is_none() {
            self.nat64 = Some(prefixes.unwrap_or_default().to_vec());
            self.retarget(now);
        }
    }

    /// What routers of its network advertise now; it counts from the next [`Uplink::retarget`].
    pub(crate) fn set_advertised(&mut self, advertised: Vec<(Prefix, Time)>) {
        self.advertised = advertised;
    }

    /// How its network translates: one source counts, and routers go first (RFC 8781 §5.1).
    fn prefixes(&self, now: Time) -> Vec<Prefix> {
        let holds = self.advertised.iter().filter(|(_, until)| *until > now);
        let advertised: Vec<Prefix> = holds.map(|(prefix, _)| *prefix).collect();
        if advertised.is_empty() { self.nat64.clone().unwrap_or_default() } else { advertised }
    }

    /// Whether it has had no interface so far, or another one.
    pub(crate) fn is_new(&self, link: &Link) -> bool {
        self.link.as_ref().is_none_or(|old| old.index != link.index)
    }

    /// The interface as it is now; `None` if there is none.
    pub(crate) fn on_link(&mut self, running: &mut Running, link: Option<&Link>, now: Time) {
        let replaced = match (&self.link, link) {
            (Some(old), Some(new)) => old.index != new.index,
            (Some(_), None) => true,
            _ => false,
        };
        if replaced {
            // The sockets belong to the interface that was.
            self.abandon_all(running, now);
            self.begin_anew(running);
        }
        let went_down = self.link.as_ref().is_some_and(|l| l.up) && link.is_some_and(|l| !l.up);
        if went_down {
            self.attempts.iter().for_each(|a| running.core.engine.fail_path(a.link, now));
            self.begin_anew(running);
        }
        self.link = link.cloned();
        self.retarget(now);
    }

    /// Routes changed: some endpoints may be reachable now that were not.
    pub(crate) fn retarget(&mut self, now: Time) {
        let Some(link) = self.link.as_ref().filter(|l| l.up) else {
            self.targets.retarget(|_| None);
            return;
        };
        let prefixes = self.prefixes(now);
        let reached_as = |a: SocketAddr| nat64::reached_as(link, &prefixes, a);
        self.hindered.retarget(reached_as, now);
        if self.targets.retarget(|a| reached_as(a).filter(|_| self.hindered.allows_udp())) {
            self.next = now;
        }
        self.hindered.on_reached(self.targets.reached().next().is_some(), now);
    }

    /// Why nothing can be tried, if so.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let name = &self.name.interface;
        let Some(link) = &self.link else {
            return Some(format!("there is no network interface named `{name}`"));
        };
        if !link.up {
            return Some(format!("interface {name} is down"));
        }
        if let Some(why) = self.hindered.only_in_vain(&format!("interface {name}")) {
            return Some(why);
        }
        let is_reached = self.targets.reached().next().is_some() || self.hindered.is_reached();
        if is_reached || !self.hindered.allows_udp() {
            return None;
        }
        let known = self.targets.known_as_words()?;
        if nat64::is_wanted(link) && self.targets.known().all(|a| a.is_ipv4()) {
            // Its name servers may still say how it translates.
            let words =
                format!("interface {name} has IPv6 alone, and its network names no NAT64 for {known}");
            return self.nat64.is_some().then_some(words);
        }
        Some(format!("interface {name} has no route to {known}: give it one, or leave the interface out"))
    }

    /// Starts and ends attempts as time goes by. `true` if an attempt was started.
    pub(crate) fn drive(
        &mut self,
        running: &mut Running,
        resolver: &Resolver,
        now: Time,
    ) -> anyhow::Result<bool> {
        let mut alive = self.attempts.iter().filter(|a| !is_dead(a, now));
        let is_narrow = alive.clone().any(|a| a.is_narrow) && !self.searching;
        let settled = alive.find(|a| Some(a.path) == self.chosen && !a.is_narrow);
        if let Some(is_tls) = settled.map(|a| a.is_tls).filter(|_| !self.searching) {
            self.next = Time::NEVER;
            return if is_tls { self.probe_udp(running, resolver, now) } else { Ok(false) };
        }
        if now >= self.ask_again {
            self.resolve(resolver, now);
            self.ask_nat64(resolver);
            self.retarget(now);
        }
        self.complain();
        if is_narrow {
            // Another endpoint by UDP would be no wider, as far as anybody knows.
            self.drop_hopeless_stream(running, now);
            self.try_tls(running, now);
            self.next = now + STAGGER;
            return Ok(false);
        }
        self.next = now + self.stagger();
        self.drop_the_hopeless(running, now);
        self.try_tls(running, now);
        if self.attempts.len() >= ATTEMPTS {
            self.next = now + STAGGER;
            return Ok(false);
        }
        let attempts = &self.attempts;
        let next = self.targets.take(|t| attempts.iter().all(|a| a.remote != t)).map(|(remote, _)| remote);
        let Some(target) = next else {
            self.next = now + STAGGER * 4;
            return Ok(false);
        };
        self.attempt(running, target, now)
    }

    /// Says once why nothing can be tried.
    fn complain(&mut self) {
        let obstacle = self.obstacle();
        // Whoever allows only TLS has asked for it on each interface.
        let is_asked_for = self.asked_for || !self.hindered.allows_udp();
        if let (Some(words), false, true) = (&obstacle, self.complained, is_asked_for) {
            tracing::warn!("{words}");
        }
        self.complained = obstacle.is_some();
    }

    /// Attempts that lead nowhere make room where there is something else to try.
    fn drop_the_hopeless(&mut self, running: &mut Running, now: Time) {
        let others = self.targets.reached().any(|t| self.attempts.iter().all(|a| a.remote != t));
        self.drop_hopeless_stream(running, now);
        let gone = |a: &Attempt| self.targets.reached().all(|t| t != a.remote);
        let old: Vec<u8> = self
            .attempts
            .iter()
            .filter(|a| Some(a.path) != self.chosen && !a.is_tls)
            .filter(|a| gone(a) || others && now.since(a.since) > PATIENCE)
            .map(|a| a.path)
            .collect();
        old.into_iter().for_each(|path| self.abandon(running, path, now));
    }

    fn attempt(&mut self, running: &mut Running, remote: SocketAddr, now: Time) -> anyhow::Result<bool> {
        let Some(link) = &self.link else { return Ok(false) };
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let options =
            Options { device: Some(&link.name), mark: Some(MARK), ..Options::at(SocketAddr::new(any, 0)) };
        let socket = match UdpSocket::open(&options) {
            Ok(socket) => socket,
            Err(error) => {
                // The interface may have gone this moment; the news of that is on its uplink.
                tracing::warn!("{:#}", anyhow::Error::new(error));
                return Ok(false);
            }
        };
        let mtu = link.mtu.min(u32::from(u16::MAX)) as u16;
        let socket = running.add_socket(socket, link.name.clone(), Some(mtu))?;
        let is_made = self.make_path(running, (socket, remote), mtu, now);
        if is_made {
            self.hindered.on_silence(now);
        } else {
            running.remove_socket(socket);
        }
        Ok(is_made)
    }

    /// Makes a path by a socket or stream; `false` if the engine has no room for it.
    fn make_path(
        &mut self,
        running: &mut Running,
        (link, remote): (u32, SocketAddr),
        mtu: u16,
        now: Time,
    ) -> bool {
        let route = Route { link, remote, local: None };
        let spec = PathSpec { route, interface_mtu: mtu, class: self.class(), weight: self.settings.weight };
        let Some(path) = running.core.engine.add_path(spec, now) else { return false };
        running.core.links.watch(&route, (None, path), &self.name.interface, now);
        let is_tls = route.is_stream();
        tracing::debug!(path = %self.name, %remote, is_tls, "trying");
        let granted = self.left.unwrap_or(0);
        let (is_narrow, since, dead_since) = (false, now, None);
        self.attempts.push(Attempt { link, path, remote, is_tls, is_narrow, since, dead_since, granted });
        if self.searching {
            running.core.engine.ask_again(now);
        }
        true
    }

    /// Where several endpoints are of one kind, the nearest is to win; where one is IPv6 and the
    /// other IPv4, the preferred one (RFC 8305).
    fn stagger(&self) -> Duration {
        let mut kinds = [0; 2];
        self.targets.reached().for_each(|t| kinds[usize::from(t.is_ipv6())] += 1);
        if kinds.iter().any(|n| *n > 1) { RACE } else { STAGGER }
    }

    /// One of its paths changed its state. `false` if the path is not this way's.
    pub(crate) fn on_state(&mut self, running: &mut Running, path: u8, state: State, now: Time) -> bool {
        let chosen = self.attempts.iter().find(|a| Some(a.path) == self.chosen).copied();
        let Some(attempt) = self.attempts.iter_mut().find(|a| a.path == path) else { return false };
        let is_tls = attempt.is_tls;
        attempt.dead_since = if state == State::Down { attempt.dead_since.or(Some(now)) } else { None };
        match state {
            State::Active => attempt.is_narrow = false,
            State::TooNarrow => attempt.is_narrow = true,
            _ => {}
        }
        let does = |c: Attempt| !c.is_tls && !c.is_narrow && c.dead_since.is_none();
        let by_udp = !self.searching && chosen.is_some_and(does);
        if state == State::Active && is_tls && by_udp {
            // UDP was answered meanwhile.
            self.abandon(running, path, now);
            return true;
        }
        let found = self.searching && state == State::Active;
        self.searching &= !found;
        self.is_up = carries(state, self.chosen == Some(path)).unwrap_or(self.is_up);
        match state {
            State::Active if found || self.chosen != Some(path) => {
                self.chosen = Some(path);
                // One that is too narrow tells when it is wide enough.
                let stays = |a: &Attempt| a.path == path || is_tls && a.is_narrow && !found;
                let others = self.attempts.iter().filter(|a| !stays(a)).map(|a| a.path);
                let others: Vec<u8> = others.collect();
                others.into_iter().for_each(|p| self.abandon(running, p, now));
                self.next = Time::NEVER;
                self.on_chosen(running, is_tls, now);
            }
            State::Active if !is_tls => self.cancel_tls(running, now),
            State::Down if self.chosen == Some(path) => {
                self.hindered.on_silence(now);
                self.next = now + DEAD;
            }
            State::TooNarrow => {
                self.hindered.on_narrow(now);
                self.next = now;
            }
            _ => {}
        }
        true
    }

    /// Whether a path of it only waits to be wide enough, while another carries.
    pub(crate) fn is_aside(&self, path: u8) -> bool {
        self.attempts.iter().any(|a| a.path == path && a.is_narrow) && self.chosen != Some(path)
    }

    /// Takes all of its paths away.
    pub(crate) fn abandon_all(&mut self, running: &mut Running, now: Time) {
        let all: Vec<u8> = self.attempts.iter().map(|a| a.path).collect();
        all.into_iter().for_each(|path| self.abandon(running, path, now));
        self.next = now;
    }

    fn abandon(&mut self, running: &mut Running, path: u8, now: Time) {
        let Some(at) = self.attempts.iter().position(|a| a.path == path) else { return };
        self.spent += self.settle_attempt(at, &running.core.engine.status(now));
        let attempt = self.attempts.remove(at);
        running.core.engine.remove_path(path, now);
        match attempt.is_tls {
            true => running.close_stream(attempt.link),
            false => running.remove_socket(attempt.link),
        }
        if self.chosen == Some(path) {
            (self.chosen, self.is_up) = (None, false);
        }
    }
}

/// Whether an uplink carries data now that a path of it, the chosen one or another, has this state;
/// none: as before.
fn carries(state: State, is_chosen: bool) -> Option<bool> {
    match state {
        State::Active => Some(true),
        State::Down | State::TooNarrow if is_chosen => Some(false),
        _ => None,
    }
}

fn is_dead(a: &Attempt, now: Time) -> bool {
    a.dead_since.is_some_and(|since| now.since(since) >= DEAD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TlsMode;
    use ropewalk_net::links::Address;

    /// An interface with an IPv4 address alone.
    fn only_tls(endpoints: Vec<Endpoint>) -> Uplink {
        let name = PathName { interface: "wan1".into(), endpoint: None };
        let options = TlsOptions { mode: TlsMode::Only, endpoints };
        let mut up = Uplink::new(name, (&[], &options), Settings::default(), true);
        let address = Address::new([192, 0, 2, 9].into(), 24);
        up.link = Some(Link {
            index: 5,
            name: "wan1".into(),
            up: true,
            addresses: vec![address],
            ..Link::default()
        });
        up
    }

    #[test]
    fn an_uplink_whose_path_is_dead_or_too_narrow_carries_nothing() {
        assert_eq!(carries(State::Active, false), Some(true));
        assert_eq!([State::Down, State::TooNarrow].map(|s| carries(s, true)), [Some(false); 2]);
        assert_eq!([State::Down, State::TooNarrow].map(|s| carries(s, false)), [None; 2]);
        assert_eq!(
            [State::Validating, State::Suspect].map(|s| carries(s, true)),
            [None; 2],
            "it may be back"
        );
    }

    #[test]
    fn only_tls_that_leads_nowhere_is_an_obstacle() {
        let mut up = only_tls(Vec::new());
        let words = up.obstacle().unwrap();
        assert!(words.ends_with("the token names no way by TLS"), "{words}");
        up.complain();
        assert!(up.complained);
        let six: Endpoint = "[2001:db8::1]:443".parse().unwrap();
        let mut up = only_tls(vec![six.clone()]);
        up.complain();
        assert!(up.obstacle().is_none() && !up.complained, "its address is not known yet");
        up.on_resolved(&six, &["[2001:db8::1]:443".parse().unwrap()], Time::ZERO);
        let words = up.report(|_| None, Time::ZERO).obstacle.unwrap();
        assert!(words.contains("interface wan1 has no route to 2001:db8::1"), "{words}");
        up.complain();
        assert!(up.complained);
    }
}
