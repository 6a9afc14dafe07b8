//! The other loops of a gateway that has several: each a thread that carries packets for a part of the clients.
//!
//! All news go to the first loop, which is the gateway. What is asked of a worker is asked of all loops.

use super::SharedClients;
use super::accounts::Accounts;
use super::quotas::Quotas;
use crate::control::protocol::{Request, Response};
use crate::daemon::{Core, Devices, Flow, Links, Mail, Mailbox, Role, Running, Workers, entropy, part, run};
use crate::report;
use anyhow::Context;
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Engine;
use ropewalk_net::tls::{FIRST, News, Tls};
use ropewalk_net::udp::UdpSocket;
use ropewalk_session::{PublicKey, StaticKey};
use ropewalk_time::{Duration, Time};
use std::net::IpAddr;
use std::thread::JoinHandle;

/// How often TLS is told which streams sessions use.
const STREAMS: Duration = Duration::from_secs(2);

/// What all loops of a gateway have in common.
#[derive(Clone)]
pub(crate) struct Common {
    /// Settings of the whole gateway.
    pub config: Config,
    /// The gateway's key.
    pub key: StaticKey,
    /// Its addresses inside.
    pub inside: Vec<IpAddr>,
    /// The clients.
    pub clients: SharedClients,
    /// How long to look for work before sleeping.
    pub busy_poll: Duration,
    /// When the gateway started.
    pub started: Time,
}

/// What each loop has for itself.
pub(crate) struct Own {
    /// Its queue of the device.
    pub devices: Devices,
    /// Its sockets.
    pub sockets: Vec<UdpSocket>,
    /// Where it is asked.
    pub mailbox: Mailbox,
    /// Its end of what loops hand each other, if there are several.
    pub workers: Option<Workers>,
}

impl Common {
    /// An engine with its part of the clients, and what it carries packets between.
    pub(crate) fn core(
        &self,
        devices: Devices,
        workers: Option<Workers>,
        is_eager: bool,
    ) -> anyhow::Result<Core> {
        let config = match &workers {
            Some(workers) => part(self.config.clone(), workers.shard().of()),
            None => self.config.clone(),
        };
        let (key, inside, clients) = (self.key.clone(), self.inside.clone(), Box::new(self.clients.clone()));
        let mut engine = Engine::gateway(config, key, inside, clients, entropy(), self.started);
        workers.iter().for_each(|workers| engine.set_shard(workers.shard()));
        Ok(Core::new(engine, devices, true, Links::new(is_eager)).among(workers))
    }

    /// Starts a worker.
    pub(crate) fn start(
        &self,
        own: Own,
        tls: Option<Tls>,
        quotas: Option<Quotas>,
    ) -> anyhow::Result<JoinHandle<()>> {
        let common = self.clone();
        let number = own.workers.as_ref().map_or(0, |workers| workers.shard().number());
        let thread = std::thread::Builder::new().name(format!("worker-{number}"));
        thread.spawn(move || common.run(own, tls, quotas)).context("a thread cannot be started")
    }

    fn run(self, own: Own, tls: Option<Tls>, quotas: Option<Quotas>) {
        let last_words = own.workers.as_ref().map(Workers::last_words);
        let outcome = self.work(own, tls, quotas);
        if let (Err(error), Some(last_words)) = (outcome, last_words) {
            last_words.say(format!("{error:#}"));
        }
    }

    fn work(&self, own: Own, tls: Option<Tls>, quotas: Option<Quotas>) -> anyhow::Result<()> {
        let core = self.core(own.devices, own.workers, false)?;
        let mut running = Running::new(core, own.mailbox, None, self.busy_poll)?;
        running.hand_out_handshakes()?;
        for socket in own.sockets {
            let name = socket.local_addr().to_string();
            running.add_socket(socket, name, None)?;
        }
        let streams_due = if tls.is_some() { self.started } else { Time::NEVER };
        tls.map_or(Ok(()), |tls| running.offer_tls(tls))?;
        let engine = &mut running.core.engine;
        let accounts = quotas.map(|quotas| Accounts::new(self.clients.clone(), quotas, engine, self.started));
        let (clients, started) = (self.clients.clone(), self.started);
        run(&mut running, &mut Worker { clients, accounts, started, streams_due })
    }
}

/// What a worker adds to the loop.
struct Worker {
    clients: SharedClients,
    accounts: Option<Accounts>,
    started: Time,
    /// When TLS is told next which streams sessions use.
    streams_due: Time,
}

impl Worker {
    fn settle(&mut self, running: &mut Running, now: Time) {
        self.accounts.iter_mut().for_each(|accounts| accounts.settle(&mut running.core.engine, now));
    }
}

impl Role for Worker {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        let is_news = matches!(event, Event::ClientUp { .. } | Event::Path { .. });
        if is_news && self.streams_due != Time::NEVER {
            self.streams_due = self.streams_due.min(now + super::STREAMS_SOON);
        }
        if let Some(workers) = &running.core.workers {
            workers.send(0, Mail::Event(event));
        }
        Ok(Flow::Continue)
    }

    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response {
        let name = |key: &PublicKey| self.clients.name_of(key).unwrap_or_else(|| key.to_string());
        let engine = &mut running.core.engine;
        match request {
            Request::Status {} => {
                let status = Box::new(report::take("gateway", &running.core, self.started, now, name));
                return Response::Status { status };
            }
            Request::Flows { most } => return report::flows::take(&running.core, most, now, name),
            Request::Expel { client } => engine.revoke(&client),
            Request::Dismiss { client } => engine.dismiss(&client, super::ELSEWHERE),
            Request::JoinClients { on } => {
                let now = engine.config().clone();
                engine.reconfigure(Config { client_to_client: on, ..now });
            }
            Request::Drain { off } => {
                self.settle(running, now);
                if !off {
                    running.core.engine.dismiss_all(super::DRAINED);
                }
            }
            _ => return Response::wrong_end("gateway"),
        }
        Response::Done { said: String::new() }
    }

    fn on_news(&mut self, _running: &mut Running, _now: Time) -> anyhow::Result<()> {
        Ok(())
    }

    fn on_timer(&mut self, running: &mut Running, now: Time) -> anyhow::Result<Flow> {
        if self.accounts.as_ref().is_some_and(|accounts| accounts.due() <= now) {
            self.settle(running, now);
        }
        if self.streams_due <= now {
            self.streams_due = now + STREAMS;
            let used = running.core.engine.links().filter(|link| *link >= FIRST).collect();
            if let Some(tls) = running.core.streams.tls() {
                tls.keep(used);
            }
        }
        Ok(Flow::Continue)
    }

    fn on_stream(&mut self, running: &mut Running, news: News, now: Time) {
        if let News::Over { id, .. } = news {
            running.core.engine.fail_path(id, now);
        }
    }

    fn on_reload(&mut self, _running: &mut Running, _now: Time) {}

    fn due(&self) -> Time {
        self.accounts.as_ref().map_or(Time::NEVER, Accounts::due).min(self.streams_due)
    }

    fn on_stop(&mut self, running: &mut Running, now: Time) {
        self.settle(running, now);
    }
}
