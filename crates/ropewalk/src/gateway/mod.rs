//! The gateway: what it adds to the loop.

mod accounts;
pub(crate) mod audit;
mod channel_switcher;
pub(crate) mod control;
pub(crate) mod endpoints;
pub(crate) mod fleet;
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
use crate::report::history::What;
use audit::{Audit, Entry};
use channel_switcher::ChannelSwitcher;
use grants::Keeper;
use neighbours::Neighbours;
use ports::Ports;
use quotas::Quotas;
use radios::Radios;
use ropewalk_bond::api::Event;
use ropewalk_bond::engine::PeerStatus;
use ropewalk_bond::path::{Route, State};
use ropewalk_net::links;
use ropewalk_net::tls::News;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};
use std::collections::BTreeSet;
use tls::Certificate;
use worker::Worker;

/// A running gateway.
pub(crate) struct Gateway {
    /// What each loop does.
    worker: Worker,
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
    /// What TLS is offered with, if it is.
    certificate: Option<Certificate>,
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
            worker: Worker::new(clients, keeper, started),
            reload,
            started,
            ports,
            radios: None,
            channel_switcher: None,
            doubted: BTreeSet::new(),
            look: Time::NEVER,
            certificate: None,
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
        self.worker.keep_accounts(quotas, running);
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
        self.worker.offers_tls();
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
                    let repeater = self.worker.name(&peer.key);
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
}

impl Role for Gateway {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        if running.core.links.is_eager() {
            watch_links(running, now);
        }
        self.worker.note(&event, now);
        match event {
            Event::ClientUp { client, remote, device, inside } => {
                let name = self.worker.name(&client);
                tracing::info!(client = name, %remote, "client connected");
                self.worker.clients.came(&client);
                if let Some(hooks) = &mut self.hooks {
                    hooks.came(client, self.worker.clients.name_of(&client), &inside, remote.ip());
                }
                self.worker.keeper.came(&name);
                self.worker.accounts.iter().for_each(|accounts| accounts.quotas().look());
                self.neighbours.iter().for_each(Neighbours::look);
                self.audit.note(Entry::new("came").client(&name).address(remote.to_string()));
                if let Some(Err(error)) = self.ports.as_mut().map(|p| p.plug(running, client, device)) {
                    tracing::error!(client = name, "{error:#}: it has no device until it connects again");
                }
                running.history.note(now, What::ClientUp { peer: name });
            }
            Event::ClientDown { client, why } => {
                let name = self.worker.name(&client);
                tracing::info!(client = name, why, "client disconnected");
                self.worker.clients.went(&client);
                self.hooks.iter_mut().for_each(|hooks| hooks.went(&client));
                self.worker.keeper.went(&name);
                self.audit.note(Entry::new("left").client(&name).detail(why));
                if let Some(Err(error)) = self.ports.as_mut().map(|p| p.unplug(running, &client)) {
                    tracing::warn!(client = name, "{error:#}");
                }
                running.history.note(now, What::ClientDown { peer: name, why: why.into() });
            }
            Event::Path { peer, path, remote, state } => {
                tracing::info!(client = self.worker.name(&peer), path, %remote, state = state.name(), "path");
                if let (Some(hooks), State::Active) = (&mut self.hooks, state) {
                    hooks.comes_from(&peer, path, remote.ip());
                }
                let (peer, name) = (self.worker.name(&peer), remote.to_string());
                running.history.note(now, What::Path { peer, name, state: state.name().into() });
            }
            Event::Outage { peer, remote, since, connections, noticed, .. } => {
                let (peer, name, since_ns) = (self.worker.name(&peer), remote.to_string(), since.as_nanos());
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
                let role = if self.radios.is_some() { "ap" } else { "gateway" };
                let mut status = self.worker.status(role, running, now);
                let clients = &self.worker.clients;
                (status.draining, status.fleet) = (clients.is_draining(), clients.fleet_status());
                status.outages = running.history.outages();
                status.notes.extend(self.worker.keeper.notes());
                status.notes.extend(self.radios.iter().flat_map(Radios::notes));
                status.channel_switcher = self.channel_switcher.as_ref().map(ChannelSwitcher::report);
                Response::Status { status: Box::new(status) }
            }
            Request::History { since } => running.history.since(since, now),
            Request::Expel { client } => {
                let done = self.worker.on_request(running, request, now);
                self.ports.iter_mut().for_each(|p| p.remove(running, &client));
                self.neighbours.iter().for_each(Neighbours::look);
                done
            }
            other => self.worker.on_request(running, other, now),
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
        self.worker.on_timer(running, now)?;
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
        self.worker.keeper.again();
        self.worker.accounts.iter().for_each(|accounts| accounts.quotas().again());
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
        self.worker.on_stop(running, now);
    }

    fn due(&self) -> Time {
        let switcher = self.channel_switcher.as_ref().map_or(Time::NEVER, ChannelSwitcher::due);
        self.look.min(switcher).min(self.worker.due())
    }
}

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
