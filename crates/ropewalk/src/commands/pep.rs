//! `ropewalk pep`: forwarded TCP through the proxies of crate `pep`.

use crate::cli::{Existing, LogFormat};
use crate::control::ask;
use crate::control::protocol::{Request, Response};
use crate::control::server::Server;
use crate::daemon::{Mailbox, mailbox};
use crate::exit::{Code, failure};
use crate::firewall::{self, Kept, SharedJournal, TakesBack, open_journal, with};
use crate::report::pep::PepStatus;
use crate::state::StateDir;
use crate::{logging, metrics};
use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::pep::Relay;
use ropewalk_net::poll::{Events, Interest, Poller, Signal, Signals};
use ropewalk_net::setup::{
    DeviceConfig, Journal, configure, divert, is_forwarding, reverse_path, translates_addresses,
};
use ropewalk_net::tun::{Offloads, Tun};
use ropewalk_net::{links, privileges, service};
use ropewalk_pep::{Config, Policy};
use ropewalk_session::Layer;
use ropewalk_time::Time;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

/// What a TCP proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PepPolicy {
    /// Acknowledge in the receiver's name what is here: two connections with a shorter round trip each.
    Split,
    /// Acknowledge nothing, and send again what is lost behind this machine.
    Snoop,
}

/// `ropewalk pep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct PepArgs {
    /// Something else than to run it.
    #[command(subcommand)]
    pub command: Option<PepCommand>,
    #[command(flatten)]
    pub daemon: Option<PepDaemon>,
}

/// What else there is to a proxy.
#[derive(Debug, Subcommand)]
pub(crate) enum PepCommand {
    /// Show the state of the running `ropewalk pep`
    Status {
        #[command(flatten)]
        state: Existing,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What its daemon takes. Without a flattened part: clap would not see whether it is there.
#[derive(Debug, Args)]
pub(crate) struct PepDaemon {
    /// State directory (keys, token, clients); created if missing
    #[arg(long = "state", value_name = "DIR")]
    pub state: PathBuf,
    /// What to do for connections
    #[arg(long)]
    pub policy: PepPolicy,
    /// Most kilobytes (1024 bytes) to keep of each direction of a connection
    #[arg(long, value_name = "KIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=65_536))]
    pub window: u64,
    /// Most connections at once; what is too many passes as it came
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: u32,
    /// Network device name [default: the first free of pep0, pep1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// Packets that wait in the device for us.
const QUEUE: u32 = 1000;
/// Packets in a row before timers and signals are looked at.
const BATCH: usize = 64;
const DEVICE: u64 = 0;
const SIGNALS: u64 = 1;
const MAIL: u64 = 2;

/// Runs a proxy, or says how one does.
pub(super) fn run(args: &PepArgs) -> anyhow::Result<()> {
    match (&args.command, &args.daemon) {
        (Some(PepCommand::Status { state, json }), _) => status(&StateDir::existing(&state.dir)?, *json),
        (None, Some(args)) => start(args),
        (None, None) => Err(failure(Code::Usage, "a proxy needs --state and --policy")),
    }
}

fn status(dir: &StateDir, json: bool) -> anyhow::Result<()> {
    let status = match ask(dir, &Request::Pep {})? {
        Response::Pep { status } => status,
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    };
    match json {
        true => println!("{}", serde_json::to_string_pretty(&status)?),
        false => print!("{}", status.render()),
    }
    Ok(())
}

/// Runs until told to stop.
fn start(args: &PepDaemon) -> anyhow::Result<()> {
    logging::start(args.log.as_deref(), args.log_format)?;
    privileges::check()?;
    let versions: Vec<bool> = [false, true].into_iter().filter(|v6| is_forwarding(*v6)).collect();
    if versions.is_empty() {
        let words =
            "this machine forwards nothing, so no connection passes here: sysctl -w net.ipv4.ip_forward=1";
        return Err(failure(Code::Usage, words));
    }
    refuse_translation()?;
    let dir = StateDir::open(&args.state)?;
    let _lock = dir.lock()?;
    let journal = TakesBack::new(open_journal(&dir, |_| false)?);
    let outcome = work(args, &dir, &versions, journal.shared());
    service::stopping();
    outcome.and(journal.restore().map_err(Into::into))
}

fn refuse_translation() -> anyhow::Result<()> {
    match translates_addresses() {
        Some(false) => Ok(()),
        Some(true) => Err(failure(
            Code::Usage,
            "the firewall of this machine translates addresses (`nft list ruleset`, `iptables-legacy -t nat -S`), and \
             connections cannot pass that twice: run this on a router that does not, such as an access point behind it",
        )),
        // Forwarded connections would break one by one, and nobody would look here for the cause.
        None => Err(failure(
            Code::Rights,
            "whether this machine translates addresses cannot be seen: `nft list ruleset` does not work, and the kernel \
             has nftables. Install nft (package nftables)",
        )),
    }
}

/// The device, with what is forwarded led into it.
fn set_up(args: &PepDaemon, versions: &[bool], journal: &mut Journal) -> anyhow::Result<Tun> {
    let tun = Tun::open_with(Some(args.tun.as_deref().unwrap_or("pep%d")), Offloads::default())?;
    // What passes an interface passes the device too.
    let others = links::list()?.into_iter().filter(|l| !l.loopback && l.index != tun.index());
    let mtu = others.map(|l| l.mtu).max().unwrap_or(1500).clamp(1280, 65_535);
    configure(&DeviceConfig {
        layer: Layer::Three,
        index: tun.index(),
        name: tun.name(),
        mtu,
        queue: Some(QUEUE),
        addresses: &[],
    })?;
    reverse_path(journal, tun.name())?;
    for v6 in versions {
        divert(journal, tun.index(), tun.name(), *v6)?;
    }
    Ok(tun)
}

fn work(args: &PepDaemon, dir: &StateDir, versions: &[bool], journal: &SharedJournal) -> anyhow::Result<()> {
    let mut signals = Signals::new().context("signals cannot be caught")?;
    let tun = with(journal, |journal| set_up(args, versions, journal))??;
    let policy = match args.policy {
        PepPolicy::Split => Policy::Split,
        PepPolicy::Snoop => Policy::Snoop,
    };
    let config = Config { memory_bytes: args.window * 1024, ..Config::new(policy) };
    // All that needs more is done.
    privileges::drop_all_but_network()?;
    let without_tables = "connections pass by the proxy, and those that it has stand still";
    firewall::keep(journal, Kept { device: None, without_rules: Some(without_tables), without_tables })?;
    let (inbox, outbox) = mailbox()?;
    if let Some(address) = args.metrics {
        let outbox = outbox.clone();
        metrics::serve(address, move || outbox.ask(Request::Pep {}))?;
    }
    let _server = Server::start(dir, outbox)?;
    let relay = Relay::new(config, args.connections as usize);
    let (started, packet) = (Instant::now(), vec![0; 65_535]);
    let mut daemon = Daemon { relay, tun, started, out: Vec::new(), packet, mailbox: inbox };
    tracing::info!("proxy ready: TCP that this machine forwards goes through {}", daemon.tun.name());
    service::ready();
    let outcome = daemon.serve(&mut signals);
    daemon.close();
    outcome
}

struct Daemon {
    relay: Relay,
    tun: Tun,
    started: Instant,
    out: Vec<Vec<u8>>,
    packet: Vec<u8>,
    mailbox: Mailbox,
}

impl Daemon {
    /// It stands still while the machine sleeps, as packets do: no round trip is longer for that.
    fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    fn serve(&mut self, signals: &mut Signals) -> anyhow::Result<()> {
        let poller = Poller::new().context("epoll")?;
        poller.add(&self.tun, DEVICE, Interest::Read).context("watching the device")?;
        poller.add(&*signals, SIGNALS, Interest::Read).context("watching for signals")?;
        poller.add(self.mailbox.waker(), MAIL, Interest::Read)?;
        let mut events = Events::new(3);
        loop {
            let wait = self.relay.next_timeout().map(|at| at.since(self.now()));
            poller.wait(&mut events, wait).context("waiting")?;
            if signals.pending().any(|signal| signal == Signal::Stop) {
                return Ok(());
            }
            self.answer();
            for _ in 0..BATCH {
                let Some(received) = self.tun.recv(&mut self.packet)? else { break };
                let now = self.now();
                self.relay.handle(&self.packet[..received.len], now, &mut self.out);
                self.send()?;
            }
            let now = self.now();
            if self.relay.next_timeout().is_some_and(|at| at <= now) {
                self.relay.on_timer(now, &mut self.out);
                self.send()?;
            }
        }
    }

    fn send(&mut self) -> anyhow::Result<()> {
        let mut scratch = Vec::new();
        std::mem::swap(&mut scratch, &mut self.out);
        for packet in scratch.drain(..) {
            match self.tun.send(&Vnet::default(), &[&packet]) {
                Err(error) if !error.loses_packets_only() => return Err(error.into()),
                _ => {}
            }
        }
        self.out = scratch;
        Ok(())
    }

    fn status(&self) -> PepStatus {
        PepStatus::of(&self.relay, self.now().as_secs_f64())
    }

    /// Answers those who ask how it does.
    fn answer(&self) {
        self.mailbox.waker().clear();
        while let Some(post) = self.mailbox.next() {
            let answer = match post.request {
                Request::Pep {} => Response::Pep { status: Box::new(self.status()) },
                Request::Status {} => Response::wrong_end("bond: ask `ropewalk pep status`"),
                _ => Response::wrong_end("bond"),
            };
            // Who asked may be gone.
            let _ = post.reply.send(answer);
        }
    }

    /// Says what it did, and tells ends whose bytes are here that their connection is over.
    fn close(&mut self) {
        tracing::info!("{}", self.status().line());
        let now = self.now();
        self.relay.close(now, &mut self.out);
        if let Err(error) = self.send() {
            tracing::warn!("connections could not be told that the proxy ends: {error:#}");
        }
    }
}
