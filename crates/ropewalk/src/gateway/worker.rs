//! What each loop of a gateway does for the clients that it has, and the loops beyond the first: threads that do nothing else.
//!
//! All news go to the first loop, which is the gateway. What is asked of a worker is asked of all loops.

use super::SharedClients;
use super::accounts::Accounts;
use super::grants::Keeper;
use super::quotas::Quotas;
use crate::control::protocol::{Request, Response};
use crate::daemon::{Core, Devices, Flow, Links, Mailbox, Message, Role, Running, Workers, entropy, run};
use crate::report::quota::QuotaStatus;
use crate::report::{self, Snapshot};
use anyhow::Context;
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{Engine, Shard};
use ropewalk_net::poll::Signals;
use ropewalk_net::tls::{FIRST, News, Tls};
use ropewalk_net::udp::UdpSocket;
use ropewalk_session::{PublicKey, StaticKey};
use ropewalk_time::{Duration, Time};
use std::net::IpAddr;
use std::thread::JoinHandle;

/// How soon after news of a path, and how often, TLS is told which streams sessions use.
const STREAMS_SOON: Duration = Duration::from_millis(50);
const STREAMS: Duration = Duration::from_secs(5);
/// Why clients' sessions end here, though they may come in.
const DRAINED: &str = "this gateway is drained";
const ELSEWHERE: &str = "another gateway serves it";

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
pub(crate) struct LoopParts {
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
    /// A loop with its part of the clients.
    pub(crate) fn running(
        &self,
        parts: LoopParts,
        signals: Option<Signals>,
        is_eager: bool,
    ) -> anyhow::Result<Running> {
        let shard = parts.workers.as_ref().map_or(Shard::WHOLE, Workers::shard);
        let config = self.config.clone().part(shard.of());
        let (key, inside, clients) = (self.key.clone(), self.inside.clone(), Box::new(self.clients.clone()));
        let mut engine = Engine::gateway(config, key, inside, clients, entropy(), self.started);
        engine.set_shard(shard);
        let core = Core::new(engine, parts.devices, true, Links::new(is_eager)).among(parts.workers);
        let mut running = Running::new(core, parts.mailbox, signals, self.busy_poll)?;
        running.hand_out_handshakes()?;
        for socket in parts.sockets {
            let name = socket.local_addr().to_string();
            running.add_socket(socket, name, None)?;
        }
        Ok(running)
    }

    /// Starts the loops beyond the first.
    pub(crate) fn start(
        &self,
        loops: Vec<LoopParts>,
        mut streams: impl Iterator<Item = Tls>,
        keeper: &Keeper,
        quotas: Option<&Quotas>,
    ) -> anyhow::Result<Vec<JoinHandle<()>>> {
        let mut start = |parts: LoopParts| {
            let (common, tls) = (self.clone(), streams.next());
            let (keeper, quotas) = (keeper.clone(), quotas.cloned());
            let number = parts.workers.as_ref().map_or(0, |workers| workers.shard().number());
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            thread.spawn(move || common.run(parts, tls, keeper, quotas)).context("a thread cannot be started")
        };
        loops.into_iter().map(&mut start).collect()
    }

    fn run(self, parts: LoopParts, tls: Option<Tls>, keeper: Keeper, quotas: Option<Quotas>) {
        let last_words = parts.workers.as_ref().map(Workers::last_words);
        let outcome = self.work(parts, tls, keeper, quotas);
        if let (Err(error), Some(last_words)) = (outcome, last_words) {
            last_words.failed(&error);
        }
    }

    fn work(
        &self,
        parts: LoopParts,
        tls: Option<Tls>,
        keeper: Keeper,
        quotas: Option<Quotas>,
    ) -> anyhow::Result<()> {
        let mut running = self.running(parts, None, false)?;
        let mut worker = Worker::new(self.clients.clone(), keeper, self.started);
        if let Some(tls) = tls {
            running.offer_tls(tls)?;
            worker.offers_tls();
        }
        quotas.into_iter().for_each(|quotas| worker.keep_accounts(quotas, &mut running));
        run(&mut running, &mut worker)
    }
}

/// What a loop of a gateway does for the clients that it has.
pub(super) struct Worker {
    /// All clients of the gateway.
    pub clients: SharedClients,
    /// What clients are granted.
    pub keeper: Keeper,
    /// What clients use, and those who may use only so much.
    pub accounts: Option<Accounts>,
    started: Time,
    /// When TLS is told next which streams sessions use.
    streams_due: Time,
}

impl Worker {
    pub(super) fn new(clients: SharedClients, keeper: Keeper, started: Time) -> Worker {
        Worker { clients, keeper, accounts: None, started, streams_due: Time::NEVER }
    }

    /// Counts what clients use, and holds them to their quotas.
    pub(super) fn keep_accounts(&mut self, quotas: Quotas, running: &mut Running) {
        let engine = &mut running.core.engine;
        self.accounts = Some(Accounts::new(self.clients.clone(), quotas, engine, self.started));
    }

    /// TLS is offered.
    pub(super) fn offers_tls(&mut self) {
        self.streams_due = self.started;
    }

    /// What a client is called.
    pub(super) fn name(&self, key: &PublicKey) -> String {
        self.clients.name_of(key).unwrap_or_else(|| key.to_string())
    }

    /// Notes what was used since the last time.
    fn settle(&mut self, running: &mut Running, now: Time) {
        self.accounts.iter_mut().for_each(|accounts| accounts.settle(&mut running.core.engine, now));
    }

    /// A session's streams may have changed.
    pub(super) fn note(&mut self, event: &Event, now: Time) {
        let is_news = matches!(event, Event::ClientUp { .. } | Event::Path { .. });
        if is_news && self.streams_due != Time::NEVER {
            self.streams_due = self.streams_due.min(now + STREAMS_SOON);
        }
    }

    /// How the loop does, how its clients stand, and what they are granted.
    pub(super) fn status(&self, role: &str, running: &Running, now: Time) -> Snapshot {
        let mut status = report::take(role, &running.core, self.started, now, |key| self.name(key));
        let granted = self.keeper.granted_to();
        for peer in &mut status.peers {
            peer.granted = granted.get(&peer.name).cloned();
        }
        if let Some(accounts) = &self.accounts {
            let latest = accounts.quotas().latest();
            for peer in &mut status.peers {
                peer.quota = latest.accounts.get(&peer.name).map(QuotaStatus::new);
            }
            status.notes.extend(latest.trouble);
        }
        status
    }
}

impl Role for Worker {
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow> {
        self.note(&event, now);
        if let Some(workers) = &running.core.workers {
            workers.send(0, Message::Event(event));
        }
        Ok(Flow::Continue)
    }

    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response {
        let engine = &mut running.core.engine;
        match request {
            Request::Status {} => {
                return Response::Status { status: Box::new(self.status("gateway", running, now)) };
            }
            Request::Flows { most } => {
                return report::flows::take(&running.core, most, now, |key| self.name(key));
            }
            Request::Expel { client } => engine.revoke(&client),
            Request::Dismiss { client } => engine.dismiss(&client, ELSEWHERE),
            Request::JoinClients { on } => {
                let now = engine.config().clone();
                engine.reconfigure(Config { client_to_client: on, ..now });
            }
            Request::Drain { off } => {
                self.settle(running, now);
                if !off {
                    running.core.engine.dismiss_all(DRAINED);
                }
            }
            _ => return Response::wrong_end("client"),
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
