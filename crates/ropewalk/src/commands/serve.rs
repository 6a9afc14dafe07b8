//! `ropewalk serve`.

use crate::cli::{LogFormat, Serve};
use crate::control::server::Server;
use crate::daemon::{Core, Running, mailbox, run as run_loop};
use crate::gateway::desk::GatewayDesk;
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::gateway::saver::Saver;
use crate::gateway::{Gateway, SharedBook};
use crate::logging;
use crate::state::clients::{Clients, FILE};
use crate::state::pool::Pool;
use crate::state::{StateDir, identity};
use anyhow::Context;
use ipnet::IpNet;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Engine;
use ropewalk_bond::time::Duration;
use ropewalk_net::poll::Signals;
use ropewalk_net::setup::{DeviceConfig, Journal, configure};
use ropewalk_net::tun::Tun;
use ropewalk_net::udp::{OpenError, Options, UdpSocket};
use ropewalk_net::{clock, nat, privileges, service};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

const PORT: u16 = 4500;
/// Packets that wait in the device for us; super-packets count as one.
const DEVICE_QUEUE: u32 = 500;

/// Runs a gateway until it is told to stop.
pub fn run(args: Serve) -> anyhow::Result<()> {
    logging::start(args.daemon.log.as_deref(), args.daemon.log_format.unwrap_or(LogFormat::Text))?;
    let config = Config::default();
    let addresses =
        if args.address.is_empty() { vec!["10.77.0.1/24".parse()?] } else { args.address.clone() };
    let pool = Pool::new(&addresses)?;
    privileges::check()?;
    let dir = StateDir::open(&args.state.dir)?;
    let _lock = dir.lock()?;
    let (mut journal, left_behind) = Journal::open(dir.path())?;
    if left_behind > 0 {
        tracing::info!(changes = left_behind, "took back what an earlier run had left behind");
    }
    let key = identity::load_or_make(&dir)?;
    let sockets = listen(&args.listen)?;
    let tun = Tun::open(args.daemon.tun.as_deref())?;
    let device = DeviceConfig {
        index: tun.index(),
        name: tun.name(),
        mtu: config.tun_mtu.into(),
        queue: Some(DEVICE_QUEUE),
        addresses: &pool.gateway(),
    };
    configure(&device)?;
    if args.masquerade {
        for obstacle in nat::masquerade(&mut journal, tun.name(), &pool.gateway())? {
            tracing::warn!("{obstacle}");
        }
    }
    let listening = Listening {
        listen: sockets.iter().map(UdpSocket::local_addr).collect(),
        endpoints: Vec::new(),
        device: tun.name().into(),
    };
    dir.write_json(GATEWAY_FILE, &listening)?;
    let clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
    let signals = Signals::new().context("signals cannot be caught")?;
    if !args.masquerade {
        privileges::drop_all_but_network()?;
    }

    let book = SharedBook::new(clients, pool, Saver::start(dir.clone())?);
    let now = clock::now();
    let inside = pool.gateway().iter().map(IpNet::addr).collect();
    let registry = Box::new(book.clone());
    let public = key.public();
    let engine = Engine::gateway(config, key, inside, registry, rand::random(), now);
    let (inbox, outbox) = mailbox()?;
    let core = Core::new(engine, tun, true);
    let mut running = Running::new(core, inbox, signals, Duration::ZERO)?;
    for socket in sockets {
        let name = socket.local_addr().to_string();
        tracing::info!(address = name, "listening");
        running.add_socket(socket, name, None)?;
    }
    let desk = GatewayDesk { book: book.clone(), key: public, listening, loop_: outbox };
    let server = Server::start(&dir, desk)?;
    let mut gateway = Gateway::new(book, now);
    service::ready();
    tracing::info!(device = running.core.tun.name(), key = %public, "gateway ready");
    let outcome = run_loop(&mut running, &mut gateway);
    drop(server);
    outcome.and(journal.restore().map_err(Into::into))
}

/// A socket for each address; without any, one for each IP version that this machine has.
fn listen(addresses: &[SocketAddr]) -> anyhow::Result<Vec<UdpSocket>> {
    if !addresses.is_empty() {
        return Ok(addresses.iter().map(|a| UdpSocket::open(&Options::at(*a))).collect::<Result<_, _>>()?);
    }
    let mut sockets = vec![UdpSocket::open(&Options::at((Ipv4Addr::UNSPECIFIED, PORT).into()))?];
    match UdpSocket::open(&Options::at((Ipv6Addr::UNSPECIFIED, PORT).into())) {
        Ok(socket) => sockets.push(socket),
        Err(OpenError::NoFamily(_) | OpenError::NoSuchAddress(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(sockets)
}
