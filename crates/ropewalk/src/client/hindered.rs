//! Where UDP does not pass: which way by TLS an uplink has, when it is tried and when it is left,
//! and whether a captive portal stands in the way.
//!
//! ```text
//!   UDP unanswered for PATIENCE ─▶ connect by TLS ─▶ stream ─▶ a path beside the others ─▶ chosen when the gateway answers on it
//!        ▲                          └─ failed: again after a backoff                              │
//!        └───────────── UDP is answered: chosen, the stream is closed ◀── a probe by UDP now and then
//! ```
//!
//! A path by UDP that is too narrow is answered and carries nothing: TLS is tried at once, and the
//! narrow path stays beside it, since its own probes of the base MTU tell when it is wide enough.

use super::resolver::Resolver;
use super::targets::Targets;
use crate::config::TlsMode;
use crate::roam::portal;
use ropewalk_net::tls::Ended;
use ropewalk_session::Endpoint;
use ropewalk_time::{Duration, Time};
use std::net::{IpAddr, SocketAddr};

/// UDP that was not answered for so long does not pass, as far as can be told.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two connections that failed.
const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// Between two probes by UDP of an uplink that goes by TLS.
const PROBE: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(300)];
/// How long a probe waits for its answer.
pub(super) const PROBE_PATIENCE: Duration = Duration::from_secs(4);
/// UDP that worked for less is not trusted more than before.
const WORKED: Duration = Duration::from_secs(60);
/// Between two questions whether there is a portal.
const PORTAL_AGAIN: Duration = Duration::from_secs(30);
/// The beginning of what is said where UDP is answered and carries no data.
const NARROW: &str = "packets of 1280 bytes do not pass by UDP";
/// The same where no datagram is tried: names have no address, or the interface no route.
const UNREACHED: &str = "no endpoint is reached by UDP";
/// The same where UDP is not to be tried.
const ONLY: &str = "only TLS is allowed (`up.tls`, `--tls`)";
/// Longer than this and a stream on which the gateway does not answer makes room for another.
pub(super) const STREAM_PATIENCE: Duration = Duration::from_secs(10);

/// What a client was told of TLS.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsOptions {
    /// When to use it.
    pub mode: TlsMode,
    /// Where the token says that the gateway has it.
    pub endpoints: Vec<Endpoint>,
}

/// How an uplink stands with networks that hinder.
#[derive(Debug, Default)]
pub(super) struct Hindered {
    mode: TlsMode,
    targets: Targets,
    /// UDP is answered, and does not pass the base MTU (RFC 8899 §5.1.2).
    narrow: bool,
    /// Since when UDP has been tried in vain.
    silent: Option<Time>,
    /// Since when endpoints are reached by TLS, and none by UDP.
    unreached: Option<Time>,
    /// When UDP was answered last.
    answered: Option<Time>,
    /// The connection that is being made.
    pending: Option<u32>,
    /// Where the last one went.
    tried: Option<SocketAddr>,
    /// Why the last one is over.
    last: Option<Ended>,
    next: Time,
    backoff: Duration,
    next_probe: Time,
    probe_gap: Duration,
    probe: Option<portal::Redirect>,
    portal: Option<String>,
    next_portal: Time,
}

impl Hindered {
    /// Nothing was tried yet.
    pub(super) fn new(options: &TlsOptions) -> Hindered {
        let endpoints = match options.mode {
            TlsMode::Off => &[][..],
            TlsMode::Auto | TlsMode::Only => &options.endpoints,
        };
        Hindered {
            mode: options.mode,
            targets: Targets::new(endpoints),
            backoff: BACKOFF[0],
            probe_gap: PROBE[0],
            ..Hindered::default()
        }
    }

    /// Whether UDP is to be tried at all.
    pub(super) fn allows_udp(&self) -> bool {
        self.mode != TlsMode::Only
    }

    /// Asks for the addresses of its endpoints.
    pub(super) fn resolve(&mut self, resolver: &Resolver, interface: &str) {
        self.targets.resolve(resolver, interface);
    }

    /// A name was resolved.
    pub(super) fn on_resolved(&mut self, endpoint: &Endpoint, found: &[SocketAddr]) {
        self.targets.on_resolved(endpoint, found);
    }

    /// The interface, or its routes, changed: what was found out may not hold any more.
    pub(super) fn retarget(&mut self, reached_as: impl Fn(SocketAddr) -> Option<SocketAddr>, now: Time) {
        if self.targets.retarget(reached_as) {
            (self.next, self.backoff) = (now, BACKOFF[0]);
            (self.next_probe, self.probe_gap) = (now, PROBE[0]);
        }
    }

    /// Everything begins anew; returns the connection that is not wanted any more.
    pub(super) fn reset(&mut self) -> Option<u32> {
        (self.silent, self.answered, self.last, self.portal, self.probe) = (None, None, None, None, None);
        (self.narrow, self.unreached) = (false, None);
        (self.next, self.backoff) = (Time::ZERO, BACKOFF[0]);
        (self.next_probe, self.probe_gap) = (Time::ZERO, PROBE[0]);
        self.pending.take()
    }

    /// UDP is being tried, or a path by it is silent.
    pub(super) fn on_silence(&mut self, now: Time) {
        self.silent.get_or_insert(now);
    }

    /// Whether an endpoint is reached by UDP at all, as far as names and routes are known now.
    pub(super) fn on_reached(&mut self, by_udp: bool, now: Time) {
        if !by_udp && self.is_reached() {
            self.unreached.get_or_insert(now);
        } else if self.unreached.take().is_some() {
            (self.next_probe, self.probe_gap) = (now, PROBE[0]);
        }
    }

    /// Whether an endpoint is reached by TLS.
    pub(super) fn is_reached(&self) -> bool {
        self.targets.reached().next().is_some()
    }

    /// All addresses that are known of its endpoints.
    pub(super) fn known(&self) -> impl Iterator<Item = IpAddr> {
        self.targets.known()
    }

    /// UDP is answered on a path that is too narrow for data.
    pub(super) fn on_narrow(&mut self, now: Time) {
        if !std::mem::replace(&mut self.narrow, true) {
            (self.next, self.backoff) = (now, BACKOFF[0]);
        }
    }

    /// Why UDP does not do.
    pub(super) fn in_vain(&self) -> &'static str {
        match (self.allows_udp(), self.narrow, self.unreached) {
            (false, ..) => ONLY,
            (_, true, _) => NARROW,
            (.., Some(_)) => UNREACHED,
            _ => "no answer by UDP",
        }
    }

    /// UDP is answered; returns the connection that is not wanted any more.
    pub(super) fn on_udp(&mut self, now: Time) -> Option<u32> {
        self.answered = Some(now);
        (self.silent, self.portal, self.last, self.narrow) = (None, None, None, false);
        self.pending.take()
    }

    /// The gateway is reached by TLS.
    pub(super) fn on_tls(&mut self, now: Time) {
        let worked = self.silent.zip(self.answered).map(|(silent, answered)| silent.since(answered));
        if worked.is_some_and(|time| time > WORKED) {
            self.probe_gap = PROBE[0];
        }
        self.next_probe = now + self.probe_gap;
        (self.backoff, self.last, self.portal) = (BACKOFF[0], None, None);
    }

    /// Where to connect to now, if at all.
    pub(super) fn target(&mut self, now: Time) -> Option<(SocketAddr, String)> {
        if !self.is_in_vain(now) && self.allows_udp() || self.pending.is_some() || now < self.next {
            return None;
        }
        let (remote, endpoint) = self.targets.take(|_| true)?;
        let host = host(endpoint);
        self.tried = Some(remote);
        Some((remote, host))
    }

    /// UDP was tried, or was not reached, for long enough, or is known not to do.
    fn is_in_vain(&self, now: Time) -> bool {
        let is_over = |since: Option<Time>| since.is_some_and(|since| now.since(since) >= PATIENCE);
        self.narrow || is_over(self.silent) || is_over(self.unreached)
    }

    /// Another gateway is looked for: the next is tried at once.
    pub(super) fn search(&mut self, now: Time) {
        self.silent.get_or_insert(now);
        (self.next, self.backoff) = (now, BACKOFF[0]);
    }

    /// A connection is being made.
    pub(super) fn on_connecting(&mut self, id: u32) {
        self.pending = Some(id);
    }

    /// Whether this is the connection that is being made; it is not any more.
    pub(super) fn settles(&mut self, id: u32) -> bool {
        self.pending.take_if(|pending| *pending == id).is_some()
    }

    /// A connection failed, or broke.
    pub(super) fn on_failed(&mut self, why: Ended, now: Time) {
        self.last = Some(why);
        self.next = now + self.backoff;
        self.backoff = (self.backoff * 2).min(BACKOFF[1]);
    }

    /// When UDP is to be probed by an uplink that goes by TLS.
    pub(super) fn next_probe(&self) -> Time {
        if self.allows_udp() { self.next_probe } else { Time::NEVER }
    }

    /// A probe was not answered.
    pub(super) fn on_probe_failed(&mut self, now: Time) {
        self.probe_gap = (self.probe_gap * 2).min(PROBE[1]);
        self.next_probe = now + self.probe_gap;
    }

    /// Looks for a portal where nothing is answered; returns where one wants a browser to go, once.
    pub(super) fn look_for_portal(&mut self, interface: &str, by_udp: &Targets, now: Time) -> Option<String> {
        if let Some(found) = self.probe.as_ref().and_then(portal::Redirect::poll) {
            self.probe = None;
            let is_new = found.is_some() && self.portal.is_none();
            self.portal = found;
            return self.portal.clone().filter(|_| is_new);
        }
        let is_silent = self.silent.is_some_and(|since| now.since(since) >= PATIENCE);
        let gateway = by_udp.intercepted();
        if let Some(gateway) =
            gateway.filter(|_| is_silent && self.probe.is_none() && now >= self.next_portal)
        {
            self.next_portal = now + PORTAL_AGAIN;
            let own = by_udp.names().chain(self.targets.names());
            let own = own.filter_map(|e| e.to_string().rsplit_once(':').map(|(host, _)| host.to_owned()));
            self.probe = Some(portal::Redirect::start(interface, gateway, own.collect()));
        }
        None
    }

    /// What stands in the way, of an uplink that carries nothing.
    pub(super) fn obstacle(&self, now: Time) -> Option<String> {
        if let Some(at) = &self.portal {
            return Some(format!("a captive portal answers here: log in to it with a browser ({at})"));
        }
        let is_known = self.is_in_vain(now) || !self.allows_udp();
        let in_vain = self.in_vain();
        if let Some(why) = self.without_tls("the interface").filter(|_| is_known) {
            return Some(format!("{in_vain}, and {why}"));
        }
        let at = self.tried.map_or(String::new(), |remote| format!(" at {remote}"));
        match &self.last {
            Some(why) if !self.allows_udp() => Some(format!("the gateway is not reached: by TLS{at}, {why}")),
            Some(why) if self.narrow => Some(format!("{in_vain}; by TLS{at}, {why}")),
            Some(why) => Some(format!("the gateway is not reached: {in_vain}; by TLS{at}, {why}")),
            None if is_known && self.allows_udp() => Some(format!("{in_vain}; trying TLS")),
            None => None,
        }
    }

    /// Why nothing can be tried at all, where only TLS is allowed. A name that is not resolved yet
    /// may still be.
    pub(super) fn only_in_vain(&self, interface: &str) -> Option<String> {
        let is_final = self.targets.names().next().is_none() || self.targets.known().next().is_some();
        let why = self.without_tls(interface).filter(|_| is_final && !self.allows_udp())?;
        Some(format!("{ONLY}, and {why}"))
    }

    /// Why nothing can be tried by TLS, if so.
    fn without_tls(&self, interface: &str) -> Option<String> {
        if self.mode == TlsMode::Off {
            return Some("TLS is switched off (`up.tls`, `--tls`)".into());
        }
        if self.targets.names().next().is_none() {
            return Some("the token names no way by TLS".into());
        }
        if self.is_reached() {
            return None;
        }
        Some(self.targets.known_as_words().map_or_else(
            || format!("no address is known of {}, where the gateway has TLS", self.targets.names_as_words()),
            |known| format!("{interface} has no route to {known}, where the gateway has TLS"),
        ))
    }
}

/// What a request calls it: without the port that is everybody's.
fn host(endpoint: &Endpoint) -> String {
    let whole = endpoint.to_string();
    whole.strip_suffix(":443").map_or_else(|| whole.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hindered(mode: TlsMode) -> Hindered {
        let endpoints = vec!["192.0.2.1:443".parse().unwrap(), "192.0.2.2:8443".parse().unwrap()];
        let mut it = Hindered::new(&TlsOptions { mode, endpoints });
        for endpoint in it.targets.names().cloned().collect::<Vec<_>>() {
            it.on_resolved(&endpoint, &[endpoint.to_string().parse().unwrap()]);
        }
        it.retarget(Some, Time::ZERO);
        it
    }

    fn at(seconds: u64) -> Time {
        Time::from_millis(1000 * seconds)
    }

    #[test]
    fn tls_is_tried_where_udp_is_silent_in_turns_and_with_a_backoff() {
        let mut it = hindered(TlsMode::Auto);
        assert_eq!(it.target(at(100)), None, "nothing was tried");
        it.on_silence(at(100));
        it.on_silence(at(101));
        assert_eq!((it.target(at(102)), it.obstacle(at(102))), (None, None));
        let (first, host) = it.target(at(103)).unwrap();
        assert_eq!((first.port(), host.as_str()), (443, "192.0.2.1"));
        it.on_connecting(7);
        assert_eq!(it.target(at(104)), None, "one at a time");
        assert!(!it.settles(8) && it.settles(7));
        it.on_failed(Ended::Closed, at(104));
        assert_eq!(it.target(at(104)), None);
        assert_eq!(it.target(at(105)).unwrap().1, "192.0.2.2:8443");
        it.on_failed(Ended::Closed, at(105));
        assert!(it.target(at(106)).is_none() && it.target(at(107)).is_some());
        assert!(it.obstacle(at(107)).unwrap().contains("closed the connection"));
        it.on_connecting(9);
        assert_eq!(it.on_udp(at(108)), Some(9));
        assert_eq!((it.target(at(200)), it.obstacle(at(200))), (None, None));
    }

    #[test]
    fn tls_is_tried_at_once_where_udp_is_too_narrow_and_not_any_more_when_it_is_wide() {
        let mut it = hindered(TlsMode::Auto);
        assert_eq!(it.on_udp(at(1)), None);
        assert_eq!((it.target(at(100)), it.obstacle(at(100))), (None, None), "it is wide");
        it.on_narrow(at(100));
        assert_eq!(it.obstacle(at(100)).unwrap(), format!("{NARROW}; trying TLS"));
        assert!(it.target(at(100)).is_some());
        it.on_connecting(7);
        assert!(it.settles(7));
        it.on_failed(Ended::Closed, at(100));
        it.on_narrow(at(100));
        assert_eq!(it.target(at(100)), None, "said again, it changes no backoff");
        let words = it.obstacle(at(101)).unwrap();
        assert!(words.starts_with(NARROW) && words.contains("closed the connection"), "{words}");
        assert!(it.target(at(101)).is_some());
        it.on_connecting(8);
        assert_eq!(it.on_udp(at(102)), Some(8), "wide enough");
        assert_eq!((it.target(at(200)), it.obstacle(at(200))), (None, None));
        let mut off = hindered(TlsMode::Off);
        off.on_narrow(at(1));
        assert_eq!(off.target(at(2)), None);
        let words = off.obstacle(at(2)).unwrap();
        assert_eq!(words, format!("{NARROW}, and TLS is switched off (`up.tls`, `--tls`)"));
    }

    #[test]
    fn tls_is_tried_where_no_endpoint_is_reached_by_udp() {
        let mut it = hindered(TlsMode::Auto);
        it.on_reached(false, at(1));
        it.on_reached(false, at(3));
        assert_eq!((it.target(at(3)), it.obstacle(at(3))), (None, None), "a name may be resolved soon");
        assert_eq!(it.obstacle(at(4)).unwrap(), format!("{UNREACHED}; trying TLS"));
        assert!(it.target(at(4)).is_some());
        it.on_tls(at(4));
        it.on_reached(true, at(5));
        assert_eq!(it.next_probe(), at(5));
        assert_eq!((it.target(at(100)), it.obstacle(at(100))), (None, None), "UDP is tried first");
        // Where neither is reached, what is said of the endpoints themselves says more.
        it.retarget(|_| None, at(101));
        it.on_reached(false, at(101));
        assert_eq!((it.target(at(200)), it.obstacle(at(200))), (None, None));
        let mut off = hindered(TlsMode::Off);
        off.on_reached(false, at(1));
        assert_eq!((off.target(at(100)), off.obstacle(at(100))), (None, None));
    }

    #[test]
    fn udp_is_probed_less_and_less_often_until_it_has_worked_for_long() {
        let mut it = hindered(TlsMode::Auto);
        it.on_silence(at(0));
        it.on_tls(at(10));
        let mut gaps = Vec::new();
        let mut now = it.next_probe();
        for _ in 0..7 {
            it.on_probe_failed(now);
            gaps.push(it.next_probe().since(now).as_secs());
            now = it.next_probe();
        }
        assert_eq!(gaps, [30, 60, 120, 240, 300, 300, 300]);
        it.on_udp(now);
        it.on_silence(now + Duration::from_secs(10));
        it.on_tls(now);
        assert_eq!(it.next_probe().since(now).as_secs(), 300, "it worked for ten seconds");
        it.on_udp(now);
        it.on_silence(now + Duration::from_secs(100));
        it.on_tls(now);
        assert_eq!(it.next_probe().since(now).as_secs(), 15);
    }

    #[test]
    fn only_and_off_are_what_they_say() {
        let mut only = hindered(TlsMode::Only);
        assert!(!only.allows_udp() && only.target(at(1)).is_some() && only.next_probe() == Time::NEVER);
        let mut off = hindered(TlsMode::Off);
        off.on_silence(at(1));
        assert!(off.allows_udp() && off.target(at(100)).is_none());
        assert_eq!(off.obstacle(at(2)), None, "UDP may still be answered");
        let words = off.obstacle(at(100)).unwrap();
        assert_eq!(words, "no answer by UDP, and TLS is switched off (`up.tls`, `--tls`)");
    }

    #[test]
    fn only_tls_that_cannot_be_tried_says_why() {
        let mut it = hindered(TlsMode::Only);
        assert_eq!((it.only_in_vain("interface wan1"), it.obstacle(at(100))), (None, None));
        it.retarget(|_| None, at(1));
        let words = it.only_in_vain("interface wan1").unwrap();
        assert!(words.starts_with("only TLS is allowed"), "{words}");
        assert!(words.contains("interface wan1 has no route to 192.0.2.1 or 192.0.2.2"), "{words}");
        assert!(it.obstacle(at(1)).unwrap().contains("the interface has no route to 192.0.2.1"));
        let none = Hindered::new(&TlsOptions { mode: TlsMode::Only, endpoints: Vec::new() });
        assert!(none.only_in_vain("interface wan1").unwrap().ends_with("the token names no way by TLS"));
        // The name may be resolved in a moment.
        let endpoints = vec!["gw.example.org:443".parse().unwrap()];
        let named = Hindered::new(&TlsOptions { mode: TlsMode::Only, endpoints });
        assert_eq!(named.only_in_vain("interface wan1"), None);
        let words = named.obstacle(at(1)).unwrap();
        assert!(words.contains("no address is known of gw.example.org:443"), "{words}");
    }

    #[test]
    fn tls_is_not_tried_without_a_route_and_that_is_said() {
        let mut it = hindered(TlsMode::Auto);
        it.on_silence(at(1));
        assert_eq!(it.obstacle(at(100)).unwrap(), "no answer by UDP; trying TLS");
        it.on_failed(Ended::Closed, at(100));
        it.retarget(|_| None, at(101));
        let words = it.obstacle(at(101)).unwrap();
        assert!(words.starts_with("no answer by UDP, and the interface has no route to 192"), "{words}");
        assert_eq!((it.target(at(200)), it.only_in_vain("interface wan1")), (None, None));
        let mut none = Hindered::new(&TlsOptions { mode: TlsMode::Auto, endpoints: Vec::new() });
        none.on_silence(at(1));
        let words = none.obstacle(at(100)).unwrap();
        assert_eq!(words, "no answer by UDP, and the token names no way by TLS");
    }
}
