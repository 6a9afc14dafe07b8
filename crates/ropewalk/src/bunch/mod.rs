//! `ropewalk bunch`: neighbours' uplinks for one sender (paper 002; docs/design/bunch.md).
//!
//! | file | what |
//! |---|---|
//! | `gateway` | the gateway's loop |
//! | `greeting` | how many connections there may be, and how many of them anybody's |
//! | `conn` | a connection at its port: anybody's, then an access point's tunnel |
//! | `ap` | the access point's loop |
//! | `flows` | a home's connections, and what they are called at the gateway |
//! | `share` | what neighbours hand each other |
//! | `overhear` | what an access point hears on the air |
//! | `listen` | which uploads the gateway tells it to listen for |
//! | `hello` | the access point's end of the handshake |
//! | `tunnel`, `cork`, `record` | a tunnel: its TCP connection, when and what is written |
//! | `accounts` | who carried how much, signed by both ends |
//! | `harvest` | how much of an uplink nobody uses |
//! | `words` | what the daemons tell each other besides the bunch protocol |
//! | `report`, `top` | what they say of themselves, and how it is watched |

mod accounts;
mod ap;
mod args;
mod conn;
mod cork;
mod flows;
mod gateway;
mod greeting;
#[cfg(feature = "parquet")]
mod harvest;
mod hello;
mod listen;
mod overhear;
mod record;
pub(crate) mod report;
mod share;
mod top;
mod tunnel;
mod words;

use crate::control::ask::Line;
use crate::control::protocol::Request;
use crate::control::server::Server;
use crate::daemon::{Outbox, entropy, mailbox};
use crate::exit::{Code, failure};
use crate::firewall::{self, Kept, SharedJournal, TakesBack, open_journal, with};
use crate::gateway::audit::{Audit, AuditEnd};
use crate::gateway::control::GatewayControl;
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::gateway::grants::{Keeper, Machine};
use crate::gateway::{SharedClients, fleet};
use crate::hooks::{BunchHooks, GatewayHooks};
use crate::state::pool::Pool;
use crate::state::{StateDir, identity};
use crate::top::live::{self, View};
use crate::{commands, logging, metrics};
use anyhow::Context;
pub(crate) use args::Bunch;
use args::{BunchAp, BunchGateway, BunchStatus, BunchTop};
use ipnet::IpNet;
use rand::Rng;
use ropewalk_net::poll::Signals;
use ropewalk_net::setup::{
    DeviceConfig, Journal, classes, configure, forwarding, liberal_tracking, reverse_path,
};
use ropewalk_net::tun::{Offloads, Tun};
use ropewalk_net::{nat, privileges, service};
use ropewalk_session::{Layer, PublicKey};
use std::io::{ErrorKind, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Packets that wait in the device for us.
const QUEUE: u32 = 1000;
/// Bytes of the longest packet.
const MTU: u32 = 1500;
/// Between two looks of `status --watch`.
const EVERY: Duration = Duration::from_secs(1);
/// Clears a terminal and goes to its top.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Does what the command line says.
pub(crate) fn run(args: Bunch) -> anyhow::Result<()> {
    match args {
        Bunch::Gateway(args) => run_gateway(args),
        Bunch::Invite(args) => commands::invite(&args.into()),
        Bunch::Ap(args) => run_ap(args),
        Bunch::Status(args) => status(&args),
        Bunch::Top(args) => watch(&args),
        Bunch::Accounts(args) => accounts::run(&args),
        #[cfg(feature = "parquet")]
        Bunch::Harvest(args) => harvest::run(&args),
        Bunch::Revoke(args) => commands::revoke(&args.into()),
    }
}

fn status(args: &BunchStatus) -> anyhow::Result<()> {
    let dir = StateDir::existing(&args.state.dir)?;
    let mut daemon = Line::open(&dir)?;
    loop {
        let status = top::App::ask(&mut daemon)?;
        let clear = if args.show.watch && std::io::stdout().is_terminal() { CLEAR } else { "" };
        match args.show.json {
            true => println!("{}", serde_json::to_string(&status)?),
            false => print!("{clear}{}", report::render(&status)),
        }
        if !args.show.watch {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

fn watch(args: &BunchTop) -> anyhow::Result<()> {
    let mut daemon = Line::open(&StateDir::existing(&args.state.dir)?)?;
    live::show(&mut daemon, &mut top::App::default())
}

/// The body of the fuzz target `bunch`: what comes by a tunnel's connection, the first byte says in what
/// steps. Frames are the same however the stream is cut, and a word means the same when it is written again.
pub(crate) fn fuzz(data: &[u8]) {
    let Some((step, bytes)) = data.split_first() else { return };
    let frames = |step: usize| {
        let (mut frames, mut out) = (record::Frames::default(), Vec::new());
        for part in bytes.chunks(step.max(1)) {
            frames.push(part);
            loop {
                match frames.next(record::FRAME_MAX - 2) {
                    Ok(Some(body)) => out.push(body),
                    Ok(None) => break,
                    Err(error) => return (out, Some(error)),
                }
            }
        }
        (out, None)
    };
    let whole = frames(bytes.len());
    assert_eq!(frames(usize::from(*step)), whole, "cut into parts of {step}");
    let taken: Vec<u8> = whole.0.iter().flat_map(|body| record::framed(body)).collect();
    assert!(bytes.starts_with(&taken), "what is taken out stood there");
    for text in whole.0.iter().map(Vec::as_slice).chain([bytes]) {
        if let Some(word) = words::Word::read(text) {
            assert_eq!(words::Word::read(&word.to_bytes()).as_ref(), Some(&word), "written again");
        }
    }
}

/// Starts to serve metrics where the command line asks for them.
fn serve_metrics(address: Option<SocketAddr>, outbox: &Outbox) -> anyhow::Result<()> {
    let outbox = outbox.clone();
    address.map_or(Ok(()), |at| metrics::serve(at, move || outbox.ask(Request::Bunch {})))
}

/// A device, up.
fn open_device(name: Option<&str>, addresses: &[IpNet], journal: &mut Journal) -> anyhow::Result<Tun> {
    let tun = Tun::open_with(Some(name.unwrap_or("bunch%d")), Offloads::default())?;
    configure(&DeviceConfig {
        layer: Layer::Three,
        index: tun.index(),
        name: tun.name(),
        mtu: MTU,
        queue: Some(QUEUE),
        addresses,
    })?;
    reverse_path(journal, tun.name())?;
    forwarding(journal, true, false)?;
    Ok(tun)
}

fn run_gateway(args: BunchGateway) -> anyhow::Result<()> {
    logging::start(args.observed.log.as_deref(), args.observed.log_format)?;
    privileges::keep_secrets()?;
    privileges::check()?;
    let dir = StateDir::open(&args.state.dir)?;
    let _lock = dir.lock()?;
    let journal = TakesBack::new(open_journal(&dir, |_| false)?);
    let mut hooks = None;
    let outcome = serve(args, &dir, journal.shared(), &mut hooks);
    service::stopping();
    // Before the last hooks, which may take seconds: a supervisor may kill this process meanwhile.
    let restored = journal.restore();
    hooks.into_iter().for_each(GatewayHooks::finish);
    outcome.and(restored.map_err(Into::into))
}

/// `hooks` are started here, and outlive it: the last of them are for the end.
fn serve(
    args: BunchGateway,
    dir: &StateDir,
    journal: &SharedJournal,
    hooks: &mut Option<GatewayHooks>,
) -> anyhow::Result<()> {
    let IpNet::V4(_) = args.address else {
        return Err(failure(Code::Usage, "--address takes an IPv4 network: a bunch carries IPv4"));
    };
    let pool = Pool::new(&[args.address])?;
    let (inbox, outbox) = mailbox()?;
    let settings = args.fleet.store.settings()?;
    let store = settings.as_ref().map(ToString::to_string);
    let (fleet, key) = fleet::join(settings, args.fleet.name.clone(), pool, &outbox, dir)?;
    let listener = listen(args.listen)?;
    let signals = Signals::new().context("signals cannot be caught")?;
    let tun = with(journal, |journal| let_out(&args, &pool, journal))??;
    let listening = Listening {
        listen: vec![listener.local_addr()?],
        device: tun.name().to_owned(),
        store,
        ..Listening::default()
    };
    dir.write_json(GATEWAY_FILE, &listening)?;
    privileges::drop_all_but_network()?;
    let without_rules = Some("what contributors bring goes nowhere");
    let without_tables = "what contributors bring leaves untranslated, and their homes are open";
    firewall::keep(journal, Kept { device: None, without_rules, without_tables })?;
    *hooks = args.hooks.as_deref().map(|dir| GatewayHooks::start(dir, tun.name())).transpose()?;
    let clients = fleet::registry(fleet, dir, pool, &listening)?;
    serve_metrics(args.observed.metrics, &outbox)?;
    let _answering = answer(dir, &clients, (key.public(), listening), outbox)?;
    tracing::info!(
        device = tun.name(),
        address = %listener.local_addr()?,
        key = %key.public(),
        "gateway ready"
    );
    service::ready();
    let serve = if args.serve.is_empty() { vec!["0.0.0.0/0".parse()?] } else { args.serve.clone() };
    let accounts = (accounts::AccountFiles::new(dir), accounts::Keeper::start(dir)?);
    let leaving = clients.clone();
    let outcome = gateway::run(gateway::Parts {
        args,
        serve,
        key,
        clients,
        accounts,
        listener,
        tun,
        hooks: hooks.as_mut(),
        mailbox: inbox,
        signals,
    });
    leaving.leave();
    outcome
}

/// Answers at the control socket of a gateway with this key, until what is returned is dropped.
fn answer(
    dir: &StateDir,
    clients: &SharedClients,
    (key, listening): (PublicKey, Listening),
    loop_: Outbox,
) -> anyhow::Result<(Server, AuditEnd)> {
    let (unused, nothing) = (SharedJournal::default(), Machine::that_grants_nothing());
    let keeper = Keeper::start(dir, &unused, clients.clone(), loop_.clone(), nothing)?;
    let (audit, written) = Audit::start(dir)?;
    let clients = clients.clone();
    let handler = GatewayControl { clients, key, listening, loop_, keeper, quotas: None, audit };
    Ok((Server::start(dir, accounts::BunchControl(handler))?, written))
}

/// A gateway's device, whose access points' connections leave by this machine.
fn let_out(args: &BunchGateway, pool: &Pool, journal: &mut Journal) -> anyhow::Result<Tun> {
    let tun = open_device(args.tun.as_deref(), &pool.gateway(), journal)?;
    for obstacle in nat::masquerade_by(journal, tun.name(), &pool.gateway(), args.deliver.as_deref())? {
        tracing::warn!("{obstacle}");
    }
    liberal_tracking(journal)?;
    Ok(tun)
}

fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|e| match e.kind() {
        ErrorKind::AddrInUse => {
            failure(Code::Taken, format!("{address} is taken: choose another with --listen"))
        }
        // It may come yet: the service's manager has to try again.
        ErrorKind::AddrNotAvailable => {
            failure(Code::Failure, format!("this machine has no address {}", address.ip()))
        }
        _ => anyhow::Error::from(e).context(format!("{address} cannot be listened at")),
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn run_ap(args: BunchAp) -> anyhow::Result<()> {
    logging::start(args.observed.log.as_deref(), args.observed.log_format)?;
    privileges::keep_secrets()?;
    ap::check(&args)?;
    let given = commands::read_token(args.token.as_deref(), args.token_file.as_deref())?;
    privileges::check()?;
    let dir = StateDir::open(&args.state.dir)?;
    let _lock = dir.lock()?;
    let token = commands::remembered_token(&dir, given)?;
    let journal = TakesBack::new(open_journal(&dir, |_| false)?);
    let mut hooks = None;
    let outcome = help(args, &dir, token, journal.shared(), &mut hooks);
    service::stopping();
    // Before the last hooks, as a gateway does.
    let restored = journal.restore();
    hooks.into_iter().for_each(BunchHooks::finish);
    outcome.and(restored.map_err(Into::into))
}

/// As [`serve`] has it, `hooks` outlive it.
fn help(
    args: BunchAp,
    dir: &StateDir,
    token: ropewalk_session::Token,
    journal: &SharedJournal,
    hooks: &mut Option<BunchHooks>,
) -> anyhow::Result<()> {
    let key = identity::load_or_make(dir)?;
    let share = args.share.as_deref().map(|i| share::Share::open(i, args.miss)).transpose()?;
    let hears = |i: &str| overhear::Overhear::open(i, args.home.is_some(), entropy().random());
    let overhear = args.monitor.as_deref().map(hears).transpose()?;
    let signals = Signals::new().context("signals cannot be caught")?;
    let tun = with(journal, |journal| take_in(&args, journal))??;
    privileges::drop_all_but_network()?;
    let without_tables = "a home's connections go as if nobody were here";
    firewall::keep(journal, Kept { device: None, without_rules: Some(without_tables), without_tables })?;
    *hooks = args.hooks.as_deref().map(|dir| BunchHooks::start(dir, tun.name())).transpose()?;
    let (inbox, outbox) = mailbox()?;
    serve_metrics(args.observed.metrics, &outbox)?;
    let _server = Server::start(dir, outbox)?;
    let accounts = (accounts::AccountFiles::new(dir), accounts::Keeper::start(dir)?);
    let metered = ap::Metered::open(&args, dir)?;
    let (hooks, mailbox) = (hooks.as_mut(), inbox);
    let parts =
        ap::Parts { args, key, token, tun, share, overhear, accounts, metered, hooks, mailbox, signals };
    ap::run(parts, Arc::clone(journal))
}

/// An access point's device, and the classes of its uplink.
fn take_in(args: &BunchAp, journal: &mut Journal) -> anyhow::Result<Tun> {
    let tun = open_device(args.tun.as_deref(), &[], journal)?;
    liberal_tracking(journal)?;
    if let (Some(uplink), Some(mbps)) = (&args.uplink, args.uplink_rate) {
        classes(journal, uplink, (mbps * 1e6) as u64)?;
    }
    Ok(tun)
}
