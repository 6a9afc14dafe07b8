//! The client: what it adds to the loop.

mod network;
mod resolver;
mod ways;

pub use network::Network;
pub use resolver::Resolver;
pub use ways::Way;

use crate::cli::PathName;
use crate::control::protocol::{Request, Response};
use crate::daemon::{Flow, Role, Running};
use crate::exit::{Code, failure};
use crate::report;
use ropewalk_bond::api::Event;
use ropewalk_bond::path::State;
use ropewalk_bond::session::{Accept, Endpoint};
use ropewalk_bond::time::{Duration, Time};
use ropewalk_net::links::{Change, Follower, Link};
use ropewalk_net::service;

/// What a person asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Endpoints of the token.
    pub endpoints: Vec<Endpoint>,
    /// Interfaces; empty: all that are usable.
    pub paths: Vec<PathName>,
    /// Give up if there is no connection after this long.
    pub timeout: Option<Duration>,
}

/// A running client.
pub struct Client {
    wish: Wish,
    ways: Vec<Way>,
    follower: Follower,
    resolver: Resolver,
    network: Network,
    started: Time,
    connected: bool,
}

impl Client {
    /// A client that has not tried anything yet.
    pub fn new(
        wish: Wish,
        follower: Follower,
        resolver: Resolver,
        network: Network,
        started: Time,
    ) -> Client {
        let ways = wish.paths.iter().map(|name| Way::new(name.clone(), &wish.endpoints, true)).collect();
        Client { wish, ways, follower, resolver, network, started, connected: false }
    }

    /// The first look at the interfaces. Fails if everything that was asked for is impossible.
    pub fn start(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        running.watch_news(&self.follower)?;
        self.look_at_links(running, now);
        if self.ways.is_empty() {
            tracing::warn!("no network interface of this machine can carry a path yet; waiting for one");
        }
        let obstacles: Vec<String> = self.ways.iter().filter_map(Way::obstacle).collect();
        if !self.wish.paths.is_empty() && obstacles.len() == self.ways.len() {
            return Err(failure(Code::Unreachable, obstacles.join("; ")));
        }
        self.drive(running, now)
    }

    /// Ends the client: what it changed on this machine is taken back.
    pub fn restore(self) -> anyhow::Result<()> {
        Ok(self.network.restore()?)
    }

    fn look_at_links(&mut self, running: &mut Running, now: Time) {
        let ours = running.core.tun.name().to_owned();
        let links: Vec<Link> = self.follower.links().to_vec();
        if self.wish.paths.is_empty() {
            self.discover(running, &links, &ours, now);
        }
        for way in &mut self.ways {
            let link = links.iter().find(|l| l.name == way.name.interface);
            if let Some(link) = link {
                self.network.admit_answers(&link.name);
            }
            way.resolve(&self.resolver, now);
            way.on_link(running, link, now);
        }
        if self.connected {
            self.network.follow(&links);
        }
    }

    /// Keeps a way for each usable interface.
    fn discover(&mut self, running: &mut Running, links: &[Link], ours: &str, now: Time) {
        let usable = |name: &str| links.iter().any(|l| l.name == name && l.unusable(&[ours]).is_none());
        for way in self.ways.iter_mut().filter(|w| !w.asked_for && !usable(&w.name.interface)) {
            tracing::info!(interface = way.name.interface, "interface is of no use any more");
            way.abandon_all(running, now);
        }
        self.ways.retain(|w| w.asked_for || usable(&w.name.interface));
        for link in links.iter().filter(|l| l.unusable(&[ours]).is_none()) {
            if !self.ways.iter().any(|w| w.name.interface == link.name) {
                tracing::info!(interface = link.name, "found an interface");
                let name = PathName { interface: link.name.clone(), endpoint: None };
                self.ways.push(Way::new(name, &self.wish.endpoints, false));
            }
        }
    }

    fn drive(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        for way in self.ways.iter_mut().filter(|w| now >= w.due()) {
            way.drive(running, &self.resolver, now)?;
        }
        Ok(())
    }

    fn on_connected(&mut self, running: &mut Running, accept: &Accept) -> anyhow::Result<()> {
        let again = self.connected;
        self.network.connect(&running.core.tun, accept, self.follower.links())?;
        self.connected = true;
        let inside: Vec<String> = self.network.addresses().iter().map(ToString::to_string).collect();
        let words = if again { "connected again" } else { "connected" };
        tracing::info!(device = running.core.tun.name(), address = inside.join(" "), "{words}");
        service::status(&format!("{words}, {}", inside.join(" ")));
        if !again {
            service::ready();
        }
        Ok(())
    }

    fn on_state(&mut self, running: &mut Running, path: u8, state: State, now: Time) {
        for way in &mut self.ways {
            if way.on_state(running, path, state, now) {
                tracing::info!(path = %way.name, state = state.name(), "path");
                return;
            }
        }
    }
}

impl Role for Client {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        match event {
            Event::Connected(accept) => self.on_connected(running, &accept)?,
            Event::Refused(refusal) if refusal.is_temporary() => tracing::warn!("{refusal}"),
            Event::Refused(refusal) => return Err(refusal.into()),
            Event::Unreachable => {
                let tried: Vec<String> =
                    self.ways.iter().flat_map(Way::attempts).map(|a| a.remote.to_string()).collect();
                tracing::warn!(tried = tried.join(" "), "the gateway does not answer on any path; trying on");
                service::status("the gateway does not answer on any path; trying on");
            }
            Event::Path { path, state, .. } => self.on_state(running, path, state, now),
            Event::Exhausted { path } => tracing::warn!(path, "a metered path has used its allowance up"),
            Event::ClientUp { .. } | Event::ClientDown { .. } => {}
        }
        Ok(Flow::Continue)
    }

    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response {
        match request {
            Request::Status {} => {
                let status = report::take("client", &running.core, self.started, now, |_| "gateway".into());
                Response::Status { status: Box::new(status) }
            }
            Request::Resolved { endpoint, addresses } => {
                self.ways.iter_mut().for_each(|w| w.on_resolved(&endpoint, &addresses, now));
                Response::Done { said: String::new() }
            }
            _ => Response::wrong_end("this command", "gateway"),
        }
    }

    fn on_news(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        let changes = self.follower.poll()?;
        for change in &changes.links {
            if let Change::Removed(link) = change {
                link.addresses.iter().for_each(|a| self.network.forget(a.ip));
            }
        }
        if !changes.links.is_empty() {
            self.look_at_links(running, now);
        } else if changes.routes {
            self.ways.iter_mut().for_each(|w| w.retarget(now));
        }
        Ok(())
    }

    fn on_timer(&mut self, running: &mut Running, now: Time) -> anyhow::Result<Flow> {
        if !self.connected
            && let Some(limit) = self.wish.timeout.filter(|t| now.since(self.started) >= *t)
        {
            let words = format!("the gateway did not answer within {} s", limit.as_secs());
            return Err(failure(Code::Unreachable, words));
        }
        self.drive(running, now)?;
        Ok(Flow::Continue)
    }

    fn on_reload(&mut self, _running: &mut Running, _now: Time) {}

    fn due(&self) -> Time {
        let ways = self.ways.iter().map(Way::due).min().unwrap_or(Time::NEVER);
        match self.wish.timeout {
            Some(limit) if !self.connected => ways.min(self.started + limit),
            _ => ways,
        }
    }
}
