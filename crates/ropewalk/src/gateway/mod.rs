//! The gateway: what it adds to the loop.

mod accounts;
pub(crate) mod audit;
mod channel_switcher;
pub(crate) mod control;
pub(crate) mod endpoints;
pub(crate) mod grants;
pub(crate) mod neighbours;
pub(crate) mod ports;
pub(crate) mod quotas;
pub(crate) mod radios;
mod registry;
pub(crate) mod tls;
pub(crate) mod worker;

pub(crate) use registry::SharedClients;

use crate::config::Migrate;
use crate::control::protocol::{Request, Response};
use crate::daemon::{Flow, Reload, Role, Running};
use crate::hooks::GatewayHooks;
use crate::report;
use crate::report::history::What;
use crate::report::quota::QuotaStatus;
use accounts::Accounts;
use audit::{Audit, Entry};
use channel_switcher::ChannelSwitcher;
use grants::Keeper;
use neighbours::Neighbours;
use ports::Ports;
use quotas::Quotas;
use radios::Radios;
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::PeerStatus;
use ropewalk_bond::path::{Route, State};
use ropewalk_net::links;
use ropewalk_net::tls::{FIRST, News};
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};
use std::collections::BTreeSet;
use tls::Certificate;

/// A running gateway.
pub(crate) struct Gateway {
    clients: SharedClients,
    reload: Reload,
    started: Time,
    /// An access point's on layer 2.
    ports: Option<Ports>,
    /// An access point's.
    radios: Option<Radios>,
    /// The search of its dedicated radio, if it may go elsewhere.
    channel_switcher: Option<ChannelSwitcher>,
    /// Paths that the two ends name differently, and when to look again.
    doubted: BTreeSet<(PublicKey, u8)>,
    look: Time,
    /// What TLS is offered with, if it is, and when it is told next which streams sessions use.
    certificate: Option<Certificate>,
    streams_due: Time,
    /// What clients use, and those who may use only so much.
    accounts: Option<Accounts>,
    /// What clients are granted.
    keeper: Keeper,
    /// Who are answered for its clients' IPv6 addresses.
    neighbours: Option<Neighbours>,
    /// Who did what.
    audit: Audit,
    /// Programs of the user's that hear of clients.
    hooks: Option<GatewayHooks>,
}

impl Gateway {
    /// A gateway that knows its clients by `clients`.
    pub(crate) fn new(
        clients: SharedClients,
        reload: Reload,
        ports: Option<Ports>,
        (keeper, audit): (Keeper, Audit),
        started: Time,
    ) -> Gateway {
        Gateway {
            clients,
            reload,
            started,
            ports,
            radios: None,
            channel_switcher: None,
            doubted: BTreeSet::new(),
            look: Time::NEVER,
            certificate: None,
            streams_due: Time::NEVER,
            accounts: None,
            keeper,
            neighbours: None,
            audit,
            hooks: None,
        }
    }

    /// Programs are told of clients.
    pub(crate) fn tells(&mut self, hooks: GatewayHooks) {
        self.hooks = Some(hooks);
    }

    /// The gateway has ended: the programs hear of it.
    pub(crate) fn finish(self) {
        self.hooks.into_iter().for_each(GatewayHooks::finish);
    }

    /// Neighbours of this machine ask it for its clients' IPv6 addresses.
    pub(crate) fn answers(&mut self, neighbours: Neighbours) {
        self.neighbours = Some(neighbours);
    }

    /// Counts what clients use, and holds them to their quotas.
    pub(crate) fn keep_accounts(&mut self, quotas: Quotas, running: &mut Running) {
        let engine = &mut running.core.engine;
        self.accounts = Some(Accounts::new(self.clients.clone(), quotas, engine, self.started));
    }

    /// Notes what was used since the last time.
    fn settle(&mut self, running: &mut Running, now: Time) {
        self.accounts.iter_mut().for_each(|accounts| accounts.settle(&mut running.core.engine, now));
    }

    /// Says in a snapshot how clients stand, and what they are granted.
    fn tell_clients(&self, status: &mut report::Snapshot) {
        let granted = self.keeper.granted_to();
        for peer in &mut status.peers {
            peer.granted = granted.get(&peer.name).cloned();
        }
        let Some(accounts) = &self.accounts else { return };
        let latest = accounts.quotas().latest();
        for peer in &mut status.peers {
            peer.quota = latest.accounts.get(&peer.name).map(QuotaStatus::new);
        }
        status.notes.extend(latest.trouble);
    }

    /// Takes no sessions from now on, and sends away those that there are; or takes them again.
    fn drain(&mut self, running: &mut Running, off: bool, now: Time) -> Response {
        self.settle(running, now);
        self.clients.drain(!off);
        if !off {
            running.core.engine.dismiss_all(DRAINED);
        }
        let said =
            if off { "sessions are taken again" } else { "clients are sent elsewhere, and none are taken" };
        tracing::info!("{said}");
        Response::Done { said: said.into() }
    }

    /// Listens on an access point's radios.
    pub(crate) fn listen_on(&mut self, mut radios: Radios, running: &mut Running) -> anyhow::Result<()> {
        radios.attach(running)?;
        running.watch_news(radios.follower())?;
        (self.radios, self.look) = (Some(radios), self.started + LOOK);
        Ok(())
    }

    /// TLS is offered with this certificate.
    pub(crate) fn offers_tls(&mut self, certificate: Certificate) {
        self.certificate = Some(certificate);
        self.streams_due = self.started;
    }

    /// Lets the radio of `interface` leave its channel when it carries too little.
    pub(crate) fn let_move(&mut self, interface: &str, keys: &Migrate) -> anyhow::Result<()> {
        self.channel_switcher = Some(ChannelSwitcher::start(interface, keys, self.started)?);
        Ok(())
    }

    /// Says it once when the repeater and this end do not agree on which radio the clients need
    /// too: what the repeater says counts, for it limits.
    fn compare_shared(&mut self, running: &Running, now: Time) {
        let Some(radios) = &self.radios else { return };
        let status = running.core.engine.status(now);
        for peer in status.peers.iter().filter(|p| p.backhaul.is_some_and(|b| b.limiter.is_some())) {
            for path in &peer.paths {
                let Some((interface, here)) = radios.shared(path.route.link) else { continue };
                if here != path.link.is_some_and(|l| l.is_shared) && self.doubted.insert((peer.key, path.id))
                {
                    let repeater = self.name(&peer.key);
                    let there = path.link.is_some_and(|l| l.is_shared);
                    tracing::warn!(
                        interface,
                        repeater,
                        "ap.toml says shared = {here}, the repeater says shared = {there} and is believed: mend one of the files"
                    );
                }
            }
        }
    }

    /// What a client is called.
    fn name(&self, key: &PublicKey) -> String {
        self.clients.name_of(key).unwrap_or_else(|| key.to_string())
    }
}

impl Role for Gateway {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        if running.core.links.is_eager() {
            watch_links(running, now);
        }
        if self.certificate.is_some() && matches!(event, Event::ClientUp { .. } | Event::Path { .. }) {
            self.streams_due = self.streams_due.min(now + STREAMS_SOON);
        }
        match event {
            Event::ClientUp { client, remote, device, inside } => {
                tracing::info!(client = self.name(&client), %remote, "client connected");
                self.clients.came(&client);
                let name = self.name(&client);
                if let Some(hooks) = &mut self.hooks {
                    hooks.came(client, self.clients.name_of(&client), &inside, remote.ip());
                }
                self.keeper.came(&name);
                self.accounts.iter().for_each(|accounts| accounts.quotas().look());
                self.neighbours.iter().for_each(Neighbours::look);
                self.audit.note(Entry::new("came").client(&name).address(remote.to_string()));
                running.history.note(now, What::ClientUp { peer: self.name(&client) });
                if let Some(Err(error)) = self.ports.as_mut().map(|p| p.plug(running, client, device)) {
                    tracing::error!(
                        client = self.name(&client),
                        "{error:#}: it has no device until it connects again"
                    );
                }
            }
            Event::ClientDown { client, why } => {
                tracing::info!(client = self.name(&client), why, "client disconnected");
                self.clients.went(&client);
                self.hooks.iter_mut().for_each(|hooks| hooks.went(&client));
                self.keeper.went(&self.name(&client));
                self.audit.note(Entry::new("left").client(&self.name(&client)).detail(why));
                running.history.note(now, What::ClientDown { peer: self.name(&client), why: why.into() });
                if let Some(Err(error)) = self.ports.as_mut().map(|p| p.unplug(running, &client)) {
                    tracing::warn!(client = self.name(&client), "{error:#}");
                }
            }
            Event::Path { peer, path, remote, state } => {
                tracing::info!(client = self.name(&peer), path, %remote, state = state.name(), "path");
                if let (Some(hooks), State::Active) = (&mut self.hooks, state) {
                    hooks.comes_from(&peer, path, remote.ip());
                }
                let (peer, name) = (self.name(&peer), remote.to_string());
                running.history.note(now, What::Path { peer, name, state: state.name().into() });
            }
            Event::Outage { peer, remote, since, connections, noticed, .. } => {
                let (peer, name, since_ns) = (self.name(&peer), remote.to_string(), since.as_nanos());
                tracing::info!(
                    client = peer,
                    path = name,
                    connections,
                    noticed,
                    "who noticed that the path was dead"
                );
                running.history.note(now, What::Outage { peer, name, since_ns, connections, noticed });
            }
            Event::Exhausted { .. }
            | Event::Connected(_)
            | Event::Refused(_)
            | Event::Unreachable
            | Event::Dismissed => {}
        }
        Ok(Flow::Continue)
    }

    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response {
        match request {
            Request::Status {} => {
                let name = |key: &PublicKey| self.name(key);
                let role = if self.radios.is_some() { "ap" } else { "gateway" };
                let mut status = report::take(role, &running.core, self.started, now, name);
                (status.draining, status.fleet) = (self.clients.is_draining(), self.clients.fleet_status());
                self.tell_clients(&mut status);
                status.outages = running.history.outages();
                status.notes.extend(self.keeper.notes());
                status.notes.extend(self.radios.iter().flat_map(Radios::notes));
                status.channel_switcher = self.channel_switcher.as_ref().map(ChannelSwitcher::report);
                Response::Status { status: Box::new(status) }
            }
            Request::History { since } => running.history.since(since, now),
            Request::Flows { most } => report::flows::take(&running.core, most, now, |key| self.name(key)),
            Request::Expel { client } => {
                running.core.engine.revoke(&client);
                self.ports.iter_mut().for_each(|p| p.remove(running, &client));
                self.neighbours.iter().for_each(Neighbours::look);
                Response::Done { said: String::new() }
            }
            Request::Dismiss { client } => {
                running.core.engine.dismiss(&client, ELSEWHERE);
                Response::Done { said: String::new() }
            }
            Request::JoinClients { on } => {
                let now = running.core.engine.config().clone();
                running.core.engine.reconfigure(Config { client_to_client: on, ..now });
                Response::Done { said: String::new() }
            }
            Request::Drain { off } => self.drain(running, off, now),
            _ => Response::wrong_end("client"),
        }
    }

    fn on_news(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        match &mut self.radios {
            Some(radios) => radios.on_news(running, now),
            None => Ok(()),
        }
    }

    fn on_timer(&mut self, running: &mut Running, now: Time) -> anyhow::Result<Flow> {
        if self.look <= now {
            self.look = now + LOOK;
            self.compare_shared(running, now);
        }
        if self.streams_due <= now {
            self.streams_due = now + STREAMS;
            let used = running.core.engine.links().filter(|link| *link >= FIRST).collect();
            if let Some(tls) = running.core.streams.tls() {
                tls.keep(used);
            }
        }
        if self.accounts.as_ref().is_some_and(|accounts| accounts.due() <= now) {
            self.settle(running, now);
        }
        if let (Some(channel_switcher), Some(radios)) = (&mut self.channel_switcher, &self.radios)
            && channel_switcher.due() <= now
        {
            let sockets = radios.sockets(channel_switcher.interface()).to_vec();
            channel_switcher.look(running, &sockets, now);
        }
        Ok(Flow::Continue)
    }

    fn on_stream(&mut self, running: &mut Running, news: News, now: Time) {
        match news {
            News::Open { remote, .. } => tracing::debug!(%remote, "a stream by TLS"),
            News::Over { id, why } => {
                tracing::debug!(stream = id, %why, "a stream has ended");
                running.core.engine.fail_path(id, now);
            }
        }
    }

    fn on_reload(&mut self, running: &mut Running, _now: Time) {
        if self.reload.again(running).is_some() {
            self.audit.note(Entry::new("reloaded"));
        }
        self.keeper.again();
        self.accounts.iter().for_each(|accounts| accounts.quotas().again());
        self.neighbours.iter().for_each(Neighbours::again);
        let read = self.certificate.as_ref().and_then(Certificate::again);
        match (read, running.core.streams.tls()) {
            (Some(Ok(identity)), Some(tls)) => {
                tls.show(identity);
                tracing::info!("the certificate was read again");
            }
            (Some(Err(error)), _) => tracing::error!("{error:#}; the old certificate stays in use"),
            _ => {}
        }
    }

    fn on_stop(&mut self, running: &mut Running, now: Time) {
        self.settle(running, now);
    }

    fn due(&self) -> Time {
        let accounts = self.accounts.as_ref().map_or(Time::NEVER, Accounts::due);
        self.channel_switcher
            .as_ref()
            .map_or(self.look, |m| self.look.min(m.due()))
            .min(accounts)
            .min(self.streams_due)
    }
}

/// Why clients' sessions end here, though they may come in.
const DRAINED: &str = "this gateway is drained";
const ELSEWHERE: &str = "another gateway serves it";

/// How soon after news of a path, and how often, TLS is told which streams sessions use.
const STREAMS_SOON: Duration = Duration::from_millis(50);
const STREAMS: Duration = Duration::from_secs(5);

/// How often an access point compares what the repeaters say of shared radios with its own file.
const LOOK: Duration = Duration::from_secs(5);
/// Links that are watched at most: beyond, the gateway is no access point, and reading them would be all that it does.
const LINKS: usize = 32;

/// Watches the links of the paths that there are: the interfaces by which answers leave.
fn watch_links(running: &mut Running, now: Time) {
    let status = running.core.engine.status(now);
    let of = |p: &PeerStatus| p.paths.iter().map(|path| (p.key, path.id, path.route)).collect::<Vec<_>>();
    let paths: Vec<(PublicKey, u8, Route)> = status.peers.iter().flat_map(of).take(LINKS).collect();
    let routes: Vec<Route> = paths.iter().map(|(_, _, route)| *route).collect();
    running.core.links.keep(&routes);
    let fresh: Vec<_> = paths.into_iter().filter(|(.., route)| !running.core.links.knows(route)).collect();
    for (peer, path, route) in fresh {
        let bound = running.core.sockets.get(route.link).and_then(|l| l.socket.device().map(str::to_owned));
        match bound.map_or_else(|| links::interface_towards(route.remote.ip()), |own| Ok(Some(own))) {
            Ok(Some(interface)) => running.core.links.watch(&route, (Some(peer), path), &interface, now),
            Ok(None) => {}
            Err(error) => tracing::debug!(remote = %route.remote, "{error}"),
        }
    }
}
