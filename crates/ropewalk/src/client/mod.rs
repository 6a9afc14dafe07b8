//! The client: what it adds to the loop.

pub(crate) mod airtime;
mod gateways;
mod hindered;
mod lan;
mod metering;
mod network;
mod paths;
mod queue;
mod resolver;
mod routers;
mod settings;
mod targets;
mod uplinks;

pub(crate) use hindered::TlsOptions;
pub(crate) use network::Network;
pub(crate) use queue::{ClientsQueue, RepeaterPart};
pub(crate) use resolver::Resolver;
pub(crate) use settings::{PathSettings, fuzz};
pub(crate) use uplinks::Uplink;

use crate::cli::PathName;
use crate::control::protocol::{Request, Response};
use crate::daemon::{Flow, Lost, Reload, Role, Running};
use crate::exit::{Code, failure};
use crate::hooks::ClientHooks;
use crate::report;
use crate::report::history::What;
use crate::state::meter::Meter;
use gateways::Found;
use lan::Lan;
use ropewalk_bond::airtime::Air;
use ropewalk_bond::api::Event;
use ropewalk_bond::path::State;
use ropewalk_net::links::{Follower, Link};
use ropewalk_net::tls::News;
use ropewalk_net::{clock, service};
use ropewalk_session::{Accept, Endpoint};
use ropewalk_time::{Duration, Time};
use routers::Routers;
use std::collections::BTreeSet;

/// Routes often change many at a time, and so may what routers advertise; they are looked at once.
const ROUTES_SETTLE: Duration = Duration::from_millis(100);
/// When it is tried again to put routes back.
const ROUTES_AGAIN: Duration = Duration::from_secs(1);

/// What a user asked for.
#[derive(Clone, Debug)]
pub(crate) struct ClientOptions {
    /// Endpoints of the token.
    pub endpoints: Vec<Endpoint>,
    /// When to go by TLS, and whereto.
    pub tls: TlsOptions,
    /// Interfaces; empty: all that are usable.
    pub paths: Vec<PathName>,
    /// Routes were named on the command line, which goes before the configuration.
    pub routes_fixed: bool,
    /// Give up if there is no connection after this long.
    pub timeout: Option<Duration>,
}

impl ClientOptions {
    /// Where uplinks without an endpoint of their own lead.
    fn ways(&self) -> (&[Endpoint], &TlsOptions) {
        (&self.endpoints, &self.tls)
    }
}

/// What a client works with besides the loop.
pub(crate) struct Parts {
    /// Interfaces and news of them.
    pub follower: Follower,
    /// Names to addresses.
    pub resolver: Resolver,
    /// What is changed on this machine.
    pub network: Network,
    /// What paths may be used for.
    pub settings: PathSettings,
    /// What metered paths have used.
    pub meter: Meter,
    /// The configuration file.
    pub reload: Reload,
    /// What a repeater adds.
    pub repeater: Option<RepeaterPart>,
    /// Programs that are told what happens.
    pub hooks: Option<ClientHooks>,
}

/// A running client.
pub(crate) struct Client {
    options: ClientOptions,
    uplinks: Vec<Uplink>,
    /// Interfaces that a user took away while all are used.
    excluded: BTreeSet<String>,
    follower: Follower,
    resolver: Resolver,
    routers: Routers,
    network: Network,
    settings: PathSettings,
    meter: Meter,
    reload: Reload,
    repeater: Option<RepeaterPart>,
    hooks: Option<ClientHooks>,
    /// Routes, or what routers advertise, have changed and are to be looked at then.
    routes_due: Time,
    rules_lost: Lost,
    started: Time,
    connected: bool,
    found: Found,
}

impl Client {
    /// A client that has not tried anything yet.
    pub(crate) fn new(options: ClientOptions, parts: Parts, started: Time) -> Client {
        let Parts { follower, resolver, network, settings, meter, reload, repeater, hooks } = parts;
        let uplink = |name: &PathName| Uplink::new(name.clone(), options.ways(), settings.of(name), true);
        let uplinks = options.paths.iter().map(uplink).collect();
        Client {
            options,
            uplinks,
            excluded: BTreeSet::new(),
            follower,
            resolver,
            routers: Routers::default(),
            network,
            settings,
            meter,
            reload,
            repeater,
            hooks,
            routes_due: Time::NEVER,
            rules_lost: Lost::rules(),
            started,
            connected: false,
            found: Found::default(),
        }
    }

    /// The first look at the interfaces. Fails if everything that was asked for is impossible.
    pub(crate) fn start(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        running.watch_news(&self.follower)?;
        self.look_at_links(running, now);
        if self.uplinks.is_empty() {
            tracing::warn!("no network interface of this machine can carry a path yet; waiting for one");
        }
        let obstacles: Vec<String> = self.uplinks.iter().filter_map(Uplink::obstacle).collect();
        // A repeater's radios come at a boot, and it waits for them.
        let is_final = self.repeater.is_none() && !self.options.paths.is_empty();
        if is_final && obstacles.len() == self.uplinks.len() {
            return Err(failure(Code::Unreachable, obstacles.join("; ")));
        }
        self.drive(running, now)
    }

    /// Ends the client: what it changed on this machine is taken back, but for the kill switch of a client that failed.
    pub(crate) fn finish(mut self, running: &mut Running, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        self.settle(running, clock::now());
        self.network.lan.iter_mut().for_each(Lan::end);
        let Client { network, hooks, .. } = self;
        // Before the hooks, which may take seconds: routes lead into a bond that carries no more.
        let outcome = match outcome {
            Ok(()) => network.restore().map_err(Into::into),
            Err(error) => {
                drop(network);
                Err(error)
            }
        };
        if let Some(hooks) = hooks {
            hooks.finish();
        }
        outcome
    }

    fn look_at_links(&mut self, running: &mut Running, now: Time) {
        let ours = running.core.devices.name().to_owned();
        let links: Vec<Link> = self.follower.links().to_vec();
        if self.options.paths.is_empty() {
            self.discover(running, &links, &ours, now);
        }
        self.hear_routers(&links, &ours);
        self.routers.follow(&links);
        for uplink in &mut self.uplinks {
            let link = links.iter().find(|l| l.name == uplink.name.interface);
            uplink.set_advertised(self.routers.of(link));
            if let Some(link) = link {
                self.network.admit_answers(&link.name);
                let mut radios = self.repeater.iter().flat_map(|r| &r.protected);
                let radio = radios.find(|r| r.interface == link.name).filter(|_| uplink.is_new(link));
                if let Some(radio) = radio {
                    self.network.protect_frames(radio);
                }
            }
            uplink.resolve(&self.resolver, now);
            uplink.on_link(running, link, now);
            uplink.ask_nat64(&self.resolver);
        }
        self.settle(running, now);
        self.follow_links();
        self.follow_lan(running, now);
        self.tell_hooks();
    }

    /// Where this machine passes IPv6 on for the network behind it, uplinks hear routers all the same: also
    /// one that has no address before.
    fn hear_routers(&mut self, links: &[Link], ours: &str) {
        let Some(lan) = self.network.lan.as_ref().map(|lan| lan.interface().to_owned()) else { return };
        let not = [ours, lan.as_str()];
        let all = self.options.paths.is_empty();
        let is_uplink = |link: &&Link| {
            let is_known = self.uplinks.iter().any(|uplink| uplink.name.interface == link.name);
            is_known || (all && !self.excluded.contains(&link.name) && link.may_be_used(&not))
        };
        let uplinks: Vec<&Link> = links.iter().filter(is_uplink).filter(|link| link.name != lan).collect();
        self.network.hear_routers(&uplinks);
    }

    /// The network behind this machine, and who asks there.
    fn follow_lan(&mut self, running: &mut Running, now: Time) {
        if !self.network.follow_lan(self.follower.links(), now) {
            return;
        }
        running.core.engine.set_routes(&self.network.behind());
        let socket = self.network.lan.as_ref().and_then(Lan::socket);
        if let Some(Err(error)) = socket.map(|socket| running.watch_news(socket)) {
            tracing::warn!(
                "{error:#}: hosts that ask for their network are not heard: they wait up to ten minutes for the next advertisement"
            );
        }
    }

    /// Routers have said how their networks translate to IPv4. They may say so as often as they like: it is
    /// looked at as seldom as routes are.
    fn follow_routers(&mut self, now: Time) {
        for uplink in &mut self.uplinks {
            let link = self.follower.links().iter().find(|l| l.name == uplink.name.interface);
            uplink.set_advertised(self.routers.of(link));
        }
        self.routes_due = self.routes_due.min(now + ROUTES_SETTLE);
    }

    fn follow_links(&mut self) {
        if self.connected {
            self.network.follow(self.follower.links());
        }
    }

    /// Without the bond's rules all leaves in the clear: others may have taken them away.
    fn keep_routes(&mut self, now: Time) {
        let kept = self.network.keep_routes();
        if kept.is_err() {
            self.routes_due = self.routes_due.min(now + ROUTES_AGAIN);
        }
        self.rules_lost.say(kept, "what is to go through the bond leaves in the clear", now);
    }

    /// Programs of the user's hear which paths work.
    fn tell_hooks(&mut self) {
        if let Some(hooks) = &mut self.hooks {
            hooks.paths(self.uplinks.iter().filter(|u| u.is_up()).map(|u| u.name.to_string()).collect());
        }
    }

    /// Keeps a way for each usable interface.
    fn discover(&mut self, running: &mut Running, links: &[Link], ours: &str, now: Time) {
        let excluded = std::mem::take(&mut self.excluded);
        // No path goes to the network behind this machine.
        let lan = self.network.lan.as_ref().map(|lan| lan.interface().to_owned());
        let not: Vec<&str> = lan.as_deref().into_iter().chain([ours]).collect();
        let usable = |name: &str| {
            !excluded.contains(name) && links.iter().any(|l| l.name == name && l.unusable(&not).is_none())
        };
        for uplink in self.uplinks.iter_mut().filter(|w| !w.asked_for && !usable(&w.name.interface)) {
            tracing::info!(interface = uplink.name.interface, "interface is of no use any more");
            uplink.abandon_all(running, now);
        }
        // What they carried counts.
        self.settle(running, now);
        self.uplinks.retain(|w| w.asked_for || usable(&w.name.interface));
        for link in links.iter().filter(|l| usable(&l.name)) {
            if !self.uplinks.iter().any(|w| w.name.interface == link.name) {
                tracing::info!(interface = link.name, "found an interface");
                let name = PathName { interface: link.name.clone(), endpoint: None };
                let settings = self.settings.of(&name);
                self.uplinks.push(Uplink::new(name, self.options.ways(), settings, false));
            }
        }
        self.excluded = excluded;
    }

    fn drive(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        let mut started = false;
        for uplink in self.uplinks.iter_mut().filter(|w| now >= w.due()) {
            started |= uplink.drive(running, &self.resolver, now)?;
        }
        if let (true, Some(repeater)) = (started, &self.repeater) {
            for uplink in &self.uplinks {
                let shared = repeater.shared.contains(&uplink.name.interface);
                uplink.attempts().iter().for_each(|a| running.core.engine.set_shared(a.path, shared));
            }
        }
        Ok(())
    }

    /// The air that packets take by some interfaces; of all others it is not known.
    fn on_air(&mut self, running: &mut Running, interfaces: &[(String, Air)], now: Time) {
        for uplink in &self.uplinks {
            let air = interfaces.iter().find(|(name, _)| *name == uplink.name.interface).map(|(_, air)| *air);
            for attempt in uplink.attempts() {
                running.core.engine.set_airtime(attempt.path, air, now);
            }
        }
    }

    /// What the other end is called.
    fn other(&self) -> &'static str {
        if self.repeater.is_some() { "ap" } else { "gateway" }
    }

    fn queue_due(&self) -> Time {
        self.repeater.as_ref().and_then(|r| r.queue.as_ref()).map_or(Time::NEVER, ClientsQueue::due)
    }

    fn on_connected(&mut self, running: &mut Running, accept: &Accept, now: Time) -> anyhow::Result<()> {
        let again = self.connected;
        self.network.connect(accept, self.follower.links(), now)?;
        self.network.give_lan(accept);
        self.follow_lan(running, now);
        running.core.engine.set_routes(&self.network.behind());
        self.connected = true;
        let inside: Vec<String> = self.network.addresses().iter().map(ToString::to_string).collect();
        if let Some(hooks) = &mut self.hooks {
            hooks.connected(self.network.addresses());
        }
        let words = if again { "connected again" } else { "connected" };
        tracing::info!(device = running.core.devices.name(), address = inside.join(" "), "{words}");
        service::status(&format!("{words}, {}", inside.join(" ")));
        if !again {
            service::ready();
        }
        Ok(())
    }

    fn on_state(&mut self, running: &mut Running, path: u8, state: State, now: Time) {
        let other = self.other();
        if state == State::Active {
            self.on_answered(running, path, now);
        }
        for uplink in &mut self.uplinks {
            let is_aside = uplink.is_aside(path);
            if uplink.on_state(running, path, state, now) {
                if is_aside && state != State::Active {
                    break;
                }
                tracing::info!(path = %uplink.name, state = state.name(), "path");
                let name = uplink.name.to_string();
                running
                    .history
                    .note(now, What::Path { peer: other.into(), name, state: state.name().into() });
                break;
            }
        }
        if state == State::Down {
            self.search(now, false);
        }
        self.tell_hooks();
    }

    /// A path works: another gateway than before may be at its end. A repeater has one access point.
    fn on_answered(&mut self, running: &mut Running, path: u8, now: Time) {
        if self.repeater.is_some() {
            return;
        }
        let of = self.uplinks.iter().flat_map(Uplink::attempts).find(|a| a.path == path);
        let Some(remote) = of.map(|a| a.remote) else { return };
        if let Some(what) = self.found.answered(remote, now) {
            tracing::info!(%remote, "another gateway has the session");
            running.history.note(now, what);
        }
    }

    /// Where nothing works any more, or the gateway has said goodbye, another gateway of the token
    /// may do.
    fn search(&mut self, now: Time, dismissed: bool) {
        let tried = || self.uplinks.iter().filter(|u| u.is_up() || u.has_lost());
        if dismissed || tried().all(Uplink::has_lost) {
            self.found.search(dismissed);
            self.uplinks.iter_mut().for_each(|u| u.search(now));
        }
    }
}

impl Role for Client {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        match event {
            Event::Connected(accept) => {
                self.on_connected(running, &accept, now)?;
                self.found.connected();
                running.history.note(now, What::Connected {});
            }
            Event::Refused(refusal) if refusal.is_temporary() => {
                tracing::warn!("{refusal}");
                running.history.note(now, What::Refused { why: refusal.to_string() });
            }
            Event::Refused(refusal) => return Err(refusal.into()),
            Event::Unreachable => {
                let tried: Vec<String> =
                    self.uplinks.iter().flat_map(Uplink::attempts).map(|a| a.remote.to_string()).collect();
                // Who does not know the key that the token names is silent, as against anybody.
                let other = if self.repeater.is_some() { "access point" } else { "gateway" };
                let words = format!("the {other} does not answer on any path; trying on");
                tracing::warn!(tried = tried.join(" "), "{words}. If it runs, is the token its own?");
                running.history.note(now, What::Unreachable {});
                service::status(&words);
            }
            Event::Dismissed => {
                tracing::info!("the {} said goodbye; looking for it, or for another", self.other());
                self.search(now, true);
            }
            Event::Path { path, state, .. } => self.on_state(running, path, state, now),
            Event::Outage { path, since, connections, noticed, .. } => {
                let of = self.uplinks.iter().find(|u| u.attempts().iter().any(|a| a.path == path));
                if let Some(name) = of.map(|u| u.name.to_string()) {
                    tracing::info!(path = name, connections, noticed, "who noticed that the path was dead");
                    let peer = self.other().to_owned();
                    let outage =
                        What::Outage { peer, name, since_ns: since.as_nanos(), connections, noticed };
                    running.history.note(now, outage);
                }
            }
            Event::Exhausted { path } => self.on_exhausted(running, path, now),
            Event::ClientUp { .. } | Event::ClientDown { .. } => {}
        }
        Ok(Flow::Continue)
    }

    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response {
        match request {
            Request::Status {} => {
                let own = if self.repeater.is_some() { "repeater" } else { "client" };
                let mut status = report::take(own, &running.core, self.started, now, |_| self.other().into());
                let refused = |socket| running.core.sockets.get(socket).and_then(|s| s.refused);
                status.uplinks = self.uplinks.iter().map(|u| u.report(refused, now)).collect();
                status.outages = running.history.outages();
                let known = self.uplinks.iter().flat_map(Uplink::places);
                status.gateways = self.repeater.is_none().then(|| self.found.report(known, now));
                status.notes.extend(self.network.note());
                status.lan = self.network.lan.as_ref().map(Lan::status);
                Response::Status { status: Box::new(status) }
            }
            Request::History { since } => running.history.since(since, now),
            Request::Flows { most } => report::flows::take(&running.core, most, now, |_| self.other().into()),
            Request::Resolved { endpoint, addresses } => {
                self.uplinks.iter_mut().for_each(|w| w.on_resolved(&endpoint, &addresses, now));
                Response::Done { said: String::new() }
            }
            Request::Translated { interface, prefixes } => {
                let by_it = self.uplinks.iter_mut().filter(|w| w.name.interface == interface);
                by_it.for_each(|w| w.on_nat64(prefixes.as_deref(), now));
                Response::Done { said: String::new() }
            }
            Request::Air { interfaces } => {
                self.on_air(running, &interfaces, now);
                Response::Done { said: String::new() }
            }
            Request::PathAdd { name, options } => respond(self.add_path(running, &name, &options, now)),
            Request::PathRemove { name } => respond(self.remove_path(running, &name, now)),
            Request::PathSet { name, options } => respond(self.set_path(running, &name, &options, now)),
            Request::PathReset { name } => respond(self.reset_path(running, &name, now)),
            _ => Response::wrong_end("gateway"),
        }
    }

    fn on_news(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        let changes = self.follower.poll()?;
        self.routers.take(&changes.advertised, now);
        if !changes.links.is_empty() {
            self.look_at_links(running, now);
        } else if !changes.advertised.is_empty() {
            self.follow_routers(now);
        }
        if changes.routes {
            self.routes_due = self.routes_due.min(now + ROUTES_SETTLE);
        }
        self.network.lan.iter_mut().for_each(|lan| lan.hear(now));
        Ok(())
    }

    fn on_timer(&mut self, running: &mut Running, now: Time) -> anyhow::Result<Flow> {
        if !self.connected
            && let Some(limit) = self.options.timeout.filter(|t| now.since(self.started) >= *t)
        {
            let other = if self.repeater.is_some() { "access point" } else { "gateway" };
            let words = format!("the {other} did not answer within {} s", limit.as_secs());
            return Err(failure(Code::Unreachable, words));
        }
        if now >= self.routes_due {
            self.routes_due = Time::NEVER;
            self.uplinks.iter_mut().for_each(|w| w.retarget(now));
            self.keep_routes(now);
        }
        self.network.keep_guard(now);
        if self.network.lan.as_ref().is_some_and(|lan| now >= lan.due()) {
            self.follow_lan(running, now);
            self.network.lan.iter_mut().for_each(|lan| lan.drive(now));
        }
        if now >= self.meter.due() {
            self.settle(running, now);
        }
        if let Some(queue) = self.repeater.as_mut().and_then(|r| r.queue.as_mut()) {
            queue.read(&mut running.core.engine, now);
        }
        self.drive(running, now)?;
        self.tell_hooks();
        Ok(Flow::Continue)
    }

    fn on_stream(&mut self, running: &mut Running, news: News, now: Time) {
        for uplink in &mut self.uplinks {
            let is_its = match &news {
                News::Open { id, remote } => uplink.on_stream(running, *id, *remote, now),
                News::Over { id, why } => uplink.on_stream_over(running, *id, why.clone(), now),
            };
            if is_its {
                return;
            }
        }
        if let News::Open { id, .. } = news {
            // Nobody wants it any more.
            running.close_stream(id);
        }
    }

    fn on_reload(&mut self, running: &mut Running, now: Time) {
        let Some(new) = self.reload.again(running) else { return };
        self.settings.configure(&new.up.path);
        self.apply_settings(running, now);
        if !self.options.routes_fixed && !self.network.can_route(&new.up.route) {
            tracing::error!("the kill switch needs a default route into the bond: the routes of before stay");
        } else if !self.options.routes_fixed
            && let Err(error) = self.network.set_routes(&new.up.route)
        {
            tracing::error!("{error:#}");
        }
        // A default route may be new.
        self.follow_links();
        running.core.engine.set_routes(&self.network.behind());
    }

    fn due(&self) -> Time {
        let uplinks = self.uplinks.iter().map(Uplink::due).min().unwrap_or(Time::NEVER);
        let uplinks = uplinks.min(self.meter.due()).min(self.routes_due).min(self.queue_due());
        let uplinks = uplinks.min(self.network.guard_due());
        let uplinks = self.network.lan.iter().map(Lan::due).fold(uplinks, Time::min);
        match self.options.timeout {
            Some(limit) if !self.connected => uplinks.min(self.started + limit),
            _ => uplinks,
        }
    }

    fn is_ready(&self) -> bool {
        self.connected
    }
}

/// A word about it, or why not.
fn respond(outcome: anyhow::Result<String>) -> Response {
    outcome.map_or_else(|e| Response::refused(&e), |said| Response::Done { said })
}
