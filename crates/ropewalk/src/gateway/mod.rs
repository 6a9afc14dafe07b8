//! The gateway: what it adds to the loop.

pub mod desk;
pub mod endpoints;
mod registry;

pub use registry::SharedBook;

use crate::control::protocol::{Request, Response};
use crate::daemon::{Flow, Reload, Role, Running};
use crate::report;
use ropewalk_bond::api::Event;
use ropewalk_bond::path::Route;
use ropewalk_bond::session::PublicKey;
use ropewalk_bond::time::Time;
use ropewalk_net::links;

/// A running gateway.
pub struct Gateway {
    book: SharedBook,
    reload: Reload,
    started: Time,
}

impl Gateway {
    /// A gateway that knows its clients by `book`.
    pub fn new(book: SharedBook, reload: Reload, started: Time) -> Gateway {
        Gateway { book, reload, started }
    }

    /// What a client is called.
    fn name(&self, key: &PublicKey) -> String {
        self.book.read(|clients| clients.name_of(key).map_or_else(|| key.to_string(), str::to_owned))
    }
}

impl Role for Gateway {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        if running.core.links.is_eager() {
            watch_links(running, now);
        }
        match event {
            Event::ClientUp { client, remote } => {
                tracing::info!(client = self.name(&client), %remote, "client connected");
            }
            Event::ClientDown { client, why } => {
                tracing::info!(client = self.name(&client), why, "client disconnected");
            }
            Event::Path { peer, path, remote, state } => {
                tracing::info!(client = self.name(&peer), path, %remote, state = state.name(), "path");
            }
            Event::Exhausted { .. } | Event::Connected(_) | Event::Refused(_) | Event::Unreachable => {}
        }
        Ok(Flow::Continue)
    }

    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response {
        match request {
            Request::Status {} => {
                let name = |key: &PublicKey| self.name(key);
                let status = Box::new(report::take("gateway", &running.core, self.started, now, name));
                Response::Status { status }
            }
            Request::Expel { client } => {
                running.core.engine.revoke(&client);
                Response::Done { said: String::new() }
            }
            _ => Response::wrong_end("client"),
        }
    }

    fn on_news(&mut self, _running: &mut Running, _now: Time) -> anyhow::Result<()> {
        Ok(())
    }

    fn on_timer(&mut self, _running: &mut Running, _now: Time) -> anyhow::Result<Flow> {
        Ok(Flow::Continue)
    }

    fn on_reload(&mut self, running: &mut Running, _now: Time) {
        self.reload.again(running);
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}

/// Links that are watched at most: beyond, the gateway is no access point, and reading them would be all that it does.
const LINKS: usize = 32;

/// Watches the links of the paths that there are: the interfaces by which answers leave.
fn watch_links(running: &mut Running, now: Time) {
    let status = running.core.engine.status(now);
    let paths: Vec<(u8, Route)> =
        status.peers.iter().flat_map(|p| &p.paths).map(|p| (p.id, p.route)).take(LINKS).collect();
    let routes: Vec<Route> = paths.iter().map(|(_, route)| *route).collect();
    running.core.links.keep(&routes);
    let fresh: Vec<_> = paths.into_iter().filter(|(_, route)| !running.core.links.knows(route)).collect();
    for (path, route) in fresh {
        match links::interface_towards(route.remote.ip()) {
            Ok(Some(interface)) => running.core.links.watch(&route, path, &interface, now),
            Ok(None) => {}
            Err(error) => tracing::debug!(remote = %route.remote, "{error}"),
        }
    }
}
