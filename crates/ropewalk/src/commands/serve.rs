//! `ropewalk serve`.

use crate::cli::{Daemon, FleetArgs, LogFormat, State, StoreArgs, interface};
use crate::config::{BitRate, File, Name, dedicated};
use crate::control::protocol::Request;
use crate::control::server::Server;
use crate::daemon::{
    DEVICE_QUEUE, Devices, Mailbox, Reload, Running, Workers, mailboxes, run as run_loop, take_precedence,
    workers,
};
use crate::exit::{Code, failure};
use crate::firewall::{self, Kept, SharedJournal, TakesBack, open_journal, with};
use crate::gateway::audit::{Audit, Entry};
use crate::gateway::control::GatewayControl;
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::gateway::grants::{Keeper, Machine};
use crate::gateway::neighbours::Neighbours;
use crate::gateway::ports::{self, Ports};
use crate::gateway::quotas::Quotas;
use crate::gateway::radios::{Radios, protect_frames};
use crate::gateway::tls::{self, Certificate};
use crate::gateway::worker::{Common, LoopParts};
use crate::gateway::{Gateway, fleet};
use crate::hooks::GatewayHooks;
use crate::state::StateDir;
use crate::state::pool::Pool;
use crate::store::StoreSettings;
use crate::{logging, metrics};
use anyhow::Context;
use clap::Args;
use ipnet::IpNet;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Shard;
use ropewalk_net::poll::Signals;
use ropewalk_net::setup::{
    DeviceConfig, Journal, NeighbourProxies, Protocol, Routes, configure, forwarding, let_through,
    prepare_answers,
};
use ropewalk_net::tls::{Identity, Listeners, Tls};
use ropewalk_net::tun::Tun;
use ropewalk_net::udp::{OpenError, Options, UdpSocket};
use ropewalk_net::{clock, nat, privileges, service};
use ropewalk_session::{BackhaulEnd, Endpoint, Layer};
use ropewalk_time::Duration;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// `ropewalk serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub state: State,
    #[command(flatten)]
    pub daemon: Daemon,
    /// UDP address to listen on; give it again for more [default: 0.0.0.0:4500 and, with IPv6, [::]:4500]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Vec<SocketAddr>,
    /// TCP address to offer TLS at, for clients where UDP does not pass, such as 0.0.0.0:443; give it again for more [default: none]
    #[arg(long, value_name = "ADDR:PORT")]
    pub tls_listen: Vec<SocketAddr>,
    /// Show the certificate of this PEM file there [default: one of the gateway's own]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Inner address of the gateway, with the network of its clients; once for IPv4, once for IPv6 [default: 10.77.0.1/24]
    #[arg(long, value_name = "CIDR")]
    pub address: Vec<IpNet>,
    /// Let clients reach the internet through this gateway (nftables, forwarding)
    #[arg(long)]
    pub masquerade: bool,
    /// The IPv6 network of --address is global: the world sees clients' addresses there, and opens
    /// no connection to them but where `ropewalk forward` says so
    #[arg(long)]
    pub global6: bool,
    /// That network is on the link of this interface, not routed to this machine: answer neighbour
    /// solicitations for clients there
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub proxy_ndp: Option<String>,
    /// Give each client a /64 of the network of --global6 for the hosts behind it (`ropewalk up --lan`); that network has to be a /32 to /63 that is routed to this machine
    #[arg(long)]
    pub delegate: bool,
    /// Let clients reach each other through the bond
    #[arg(long)]
    pub client_to_client: bool,
    /// The rate that all clients together get at most, such as 450Mbit: a little less than the line carries. They share it, equally or as `ropewalk limit set --share` says [default: no bound, no shares]
    #[arg(long, value_name = "RATE")]
    pub down_rate: Option<BitRate>,
    /// Threads that carry packets, each for a part of the clients [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=Shard::MOST.into()))]
    pub workers: Option<u32>,
    /// Run the programs of this directory when clients come and go, or have used their quota up
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    #[command(flatten)]
    pub fleet: FleetArgs,
}

const PORT: u16 = 4500;
/// How long the end of workers may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs a gateway until it is told to stop.
pub(super) fn run(args: Serve) -> anyhow::Result<()> {
    let file = File::read_if_any(args.daemon.config.as_deref())?;
    start(merge(args, file)?)
}

/// Runs a gateway, or the access point of a backhaul.
pub(super) fn start(options: GatewayOptions) -> anyhow::Result<()> {
    logging::start(options.file.log.level.as_deref(), options.file.log.format.unwrap_or(LogFormat::Text))?;
    privileges::keep_secrets()?;
    privileges::check()?;
    let dir = StateDir::open(&options.state)?;
    let _lock = dir.lock()?;
    let journal = open_journal(&dir, |_| false)?;
    serve(options, &dir, TakesBack::new(journal))
}

/// What is wanted, from the command line and the file.
pub(super) struct GatewayOptions {
    /// The file, with what the command line says.
    pub file: File,
    /// How it is read again.
    pub reload: Reload,
    /// The state directory.
    pub state: PathBuf,
    /// Addresses inside.
    pub pool: Pool,
    /// It is an access point.
    pub backhaul: Option<BackhaulEnd>,
    /// Networks that lie behind its repeaters.
    pub behind: Vec<IpNet>,
}

/// The command line goes before the file.
fn merge(args: Serve, mut file: File) -> anyhow::Result<GatewayOptions> {
    let reload = Reload::new(args.daemon.config.clone(), file.clone(), args.daemon.log.is_some());
    args.daemon.merge_into(&mut file);
    let serve = &mut file.serve;
    if !args.listen.is_empty() {
        serve.listen = args.listen;
    }
    if !args.tls_listen.is_empty() {
        serve.tls_listen = args.tls_listen;
    }
    if args.tls_cert.is_some() {
        (serve.tls_cert, serve.tls_key) = (args.tls_cert, args.tls_key);
    }
    if !args.address.is_empty() {
        serve.address = args.address;
    }
    if serve.address.is_empty() {
        serve.address = vec!["10.77.0.1/24".parse()?];
    }
    serve.masquerade |= args.masquerade;
    serve.global6 |= args.global6;
    serve.proxy_ndp = args.proxy_ndp.or(serve.proxy_ndp.take());
    serve.delegate |= args.delegate;
    serve.client_to_client |= args.client_to_client;
    serve.down_rate = args.down_rate.or(serve.down_rate);
    serve.workers = args.workers.or(serve.workers);
    serve.hooks = args.hooks.or(serve.hooks.take());
    serve.tun = args.daemon.tun.or(serve.tun.take());
    let FleetArgs { store: StoreArgs { store, store_ca, store_cert, store_key }, name } = args.fleet;
    serve.store = store.map(Name).or(serve.store.take());
    serve.store_ca = store_ca.or(serve.store_ca.take());
    serve.store_cert = store_cert.or(serve.store_cert.take());
    serve.store_key = store_key.or(serve.store_key.take());
    serve.name = name.or(serve.name.take());
    let pool = Pool::new(&serve.address)?;
    serve.check_global6().map_err(|(_, why)| failure(Code::Usage, why))?;
    let pool = if serve.delegate { pool.delegating() } else { pool };
    file.check_workers().map_err(|(_, why)| failure(Code::Usage, why))?;
    Ok(GatewayOptions { file, reload, state: args.state.dir, pool, backhaul: None, behind: Vec::new() })
}

fn serve(options: GatewayOptions, dir: &StateDir, changes: TakesBack) -> anyhow::Result<()> {
    let journal = &Arc::clone(changes.shared());
    let file = &options.file;
    let is_ap = options.backhaul.is_some();
    let radios = is_ap.then(|| super::ap::radios(file, dir, journal)).transpose()?;
    if is_ap {
        with(journal, |journal| file.ap.link.iter().for_each(|link| protect_frames(link, journal)))?;
    }
    let (client_to_client, backhaul) = (file.serve.client_to_client, options.backhaul.clone());
    let config = Config { backhaul, client_to_client, ..file.engine.to_config() };
    let count = if is_ap { 1 } else { file.serve.workers.unwrap_or(1) };
    let (inboxes, outbox) = mailboxes(count)?;
    let ends = inboxes.into_iter().zip(workers(count, options.pool)?);
    let name = file.serve.name.clone();
    let (fleet, key) = fleet::join(store(file)?, name, options.pool, &outbox, dir)?;
    let (public, in_fleet) = (key.public(), fleet.is_some());
    let opened = open(&options, (config.layer(), count), radios.as_ref(), dir, journal)?;
    let machine = machine(&options, &opened, config.joins_clients(), in_fleet);
    let Opened { each, tls, ports, listening, signals, .. } = opened;
    let GatewayOptions { file, reload, pool, .. } = options;

    let clients = fleet::registry(fleet, dir, pool, &listening)?.with_networks(&file.ap.repeater);
    let now = clock::now();
    let inside = pool.gateway().iter().map(IpNet::addr).collect();
    let busy_poll = file.engine.busy_poll();
    let common = Common { config, key, inside, clients: clients.clone(), busy_poll, started: now };
    let mut loops = parts_of_each(each, ends);
    let first = loops.remove(0);
    let mut running = common.running(first, Some(signals), file.engine.lives_on_completions())?;
    if let Some(address) = file.metrics.listen {
        let outbox = outbox.clone();
        metrics::serve(address, move || outbox.ask(Request::Status {}))?;
    }
    let layer_3 = ports.is_none();
    let device = layer_3.then(|| running.core.devices.name().to_owned());
    let without_rules = Some("clients reach, and are reached by, more than is granted");
    let without_tables = "nothing of theirs is translated, forwarded or capped";
    firewall::keep(journal, Kept { device, without_rules, without_tables })?;
    let keeper = Keeper::start(dir, journal, clients.clone(), outbox.clone(), machine)?;
    let (audit, _written) = Audit::start(dir)?;
    audit.note(Entry::new("started"));
    let noted = (keeper.clone(), audit.clone());
    let leaving = clients.clone();
    let mut gateway = Gateway::new(clients.clone(), reload, ports, noted, now);
    if let Some(proxies) = proxies(&file) {
        gateway.answers(Neighbours::start(journal, clients.clone(), proxies)?);
    }
    let device = running.core.devices.name();
    let hooks = file.serve.hooks.as_deref().map(|dir| GatewayHooks::start(dir, device)).transpose()?;
    let told = hooks.as_ref().map(GatewayHooks::quotas);
    let bond = (device, pool.gateway());
    let quotas = layer_3.then(|| Quotas::start(clients.clone(), journal, bond, told)).transpose()?;
    hooks.into_iter().for_each(|hooks| gateway.tells(hooks));
    match quotas.clone() {
        Some(quotas) => gateway.keep_accounts(quotas, &mut running),
        None if clients.meters() => tracing::warn!("on layer 2 clients are not held to their quotas"),
        None => {}
    }
    let (worker_keeper, worker_quotas) = (keeper.clone(), quotas.clone());
    let handler = GatewayControl { clients, key: public, listening, loop_: outbox, keeper, quotas, audit };
    let _server = Server::start(dir, handler)?;
    let streams = equip(&mut gateway, &mut running, &file, tls, radios)?;
    let threads = common.start(loops, streams.into_iter(), &worker_keeper, worker_quotas.as_ref());
    let threads = threads.inspect_err(|_| running.stop_others())?;
    service::ready();
    let what = if is_ap { "access point ready" } else { "gateway ready" };
    tracing::info!(device = running.core.devices.name(), key = %public, "{what}");
    let outcome = run_loop(&mut running, &mut gateway);
    wait_for(&threads);
    leaving.leave();
    // Before the hooks, which may take seconds: a supervisor may kill this process meanwhile.
    let restored = changes.restore();
    gateway.finish();
    outcome.and(restored.map_err(Into::into))
}

/// Waits until the workers have ended. One that hangs does not keep the gateway from taking its changes back.
fn wait_for(threads: &[JoinHandle<()>]) {
    let until = clock::now() + PATIENCE;
    while threads.iter().any(|thread| !thread.is_finished()) && clock::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What each loop has for itself.
fn parts_of_each(
    each: Vec<(Devices, Vec<UdpSocket>)>,
    ends: impl Iterator<Item = (Mailbox, Option<Workers>)>,
) -> Vec<LoopParts> {
    let all = each.into_iter().zip(ends);
    all.map(|((devices, sockets), (mailbox, workers))| LoopParts { devices, sockets, mailbox, workers })
        .collect()
}

/// What a gateway opens while it has the rights to.
struct Opened {
    /// For each loop: its devices, or its queue of the one, and its sockets.
    each: Vec<(Devices, Vec<UdpSocket>)>,
    tls: Option<(Listeners, Identity, Certificate)>,
    ports: Option<Ports>,
    listening: Listening,
    signals: Signals,
    /// This machine forwarded IPv4, and IPv6, before.
    forwarded: [bool; 2],
}

/// Opens it, and gives up the rights.
fn open(
    options: &GatewayOptions,
    (layer, loops): (Layer, u32),
    radios: Option<&Radios>,
    dir: &StateDir,
    journal: &SharedJournal,
) -> anyhow::Result<Opened> {
    let GatewayOptions { file, pool, behind, .. } = options;
    let forwarded = forwards();
    let groups = if radios.is_some() { Vec::new() } else { listen(&file.serve.listen, loops)? };
    let wants_tls = radios.is_none() && !file.serve.tls_listen.is_empty();
    let tls = wants_tls.then(|| open_tls(file, dir)).transpose()?;
    let (devices, ports) = match layer {
        Layer::Two => (vec![Devices::to_come(ports::prefix(file))], Some(Ports::new(file)?)),
        Layer::Three => {
            let queues = with(journal, |journal| set_up(file, (pool, behind), loops, journal))??;
            (queues.into_iter().map(Devices::one).collect(), None)
        }
    };
    let own = || groups.iter().filter_map(|group| group.first()).map(UdpSocket::local_addr).collect();
    let listen = radios.map_or_else(own, Radios::addresses);
    let tls_port = tls.as_ref().and_then(|(l, ..)| l.addresses().first().map(SocketAddr::port));
    let listening = record(file, dir, (listen, tls_port), devices[0].name());
    let signals = Signals::new().context("signals cannot be caught")?;
    take_precedence(file.engine.nice);
    privileges::drop_all_but_network()?;
    let mut each: Vec<_> = devices.into_iter().map(|devices| (devices, Vec::new())).collect();
    for group in groups {
        each.iter_mut().zip(group).for_each(|((_, sockets), socket)| sockets.push(socket));
    }
    Ok(Opened { each, tls, ports, listening, signals, forwarded })
}

/// What grants to clients are judged by.
fn machine(options: &GatewayOptions, opened: &Opened, all_joined: bool, in_fleet: bool) -> Machine {
    let GatewayOptions { file, pool, behind, .. } = options;
    let device = || (opened.each[0].0.name().to_owned(), pool.gateway());
    let forwards_anyway = file.serve.masquerade || !behind.is_empty();
    let global = file.serve.global_network();
    let forwards_anyway = [forwards_anyway, forwards_anyway || global.is_some()];
    let closed = [0, 1].map(|v| !opened.forwarded[v] && !forwards_anyway[v]);
    Machine {
        device: opened.ports.is_none().then(device),
        own: own_ports(&opened.listening, file),
        all_joined,
        in_fleet,
        closed,
        global,
        down_rate: file.serve.down_rate,
    }
}

/// Gives it what else it receives by; the streams are for the other loops.
fn equip(
    gateway: &mut Gateway,
    running: &mut Running,
    file: &File,
    tls: Option<(Listeners, Identity, Certificate)>,
    radios: Option<Radios>,
) -> anyhow::Result<Vec<Tls>> {
    let mut streams = Vec::new();
    if let Some((listeners, identity, certificate)) = tls {
        streams = tls::offer(listeners, identity, running.core.engine.shard())?;
        running.offer_tls(streams.remove(0))?;
        gateway.offers_tls(certificate);
    }
    if let Some(radios) = radios {
        gateway.listen_on(radios, running)?;
        if let Some(keys) = &file.ap.migrate {
            let own = dedicated(&file.ap.link).next();
            own.map_or(Ok(()), |link| gateway.let_move(&link.interface, keys))?;
        }
    }
    Ok(streams)
}

/// Whether this machine forwards IPv4, and IPv6, without our doing.
fn forwards() -> [bool; 2] {
    let on = |key: &str| std::fs::read_to_string(key).is_ok_and(|value| value.trim() == "1");
    ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"].map(on)
}

/// Ports of the gateway's own, which lead to no client.
fn own_ports(listening: &Listening, file: &File) -> BTreeSet<(Protocol, u16)> {
    let tcp = file.serve.tls_listen.iter().chain(&file.metrics.listen);
    // Also while its radios are waited for.
    let ap = (!file.ap.link.is_empty()).then_some((Protocol::Udp, file.ap.port));
    let udp = listening.ports().into_iter().chain(ap);
    udp.chain(tcp.map(|address| (Protocol::Tcp, address.port()))).collect()
}

/// TLS's sockets, while a low port can be had, and what it shows.
fn open_tls(file: &File, dir: &StateDir) -> anyhow::Result<(Listeners, Identity, Certificate)> {
    let listeners = Listeners::open(&file.serve.tls_listen)?;
    let certificate = Certificate::new(&file.serve);
    let identity = certificate.load(dir)?;
    Ok((listeners, identity, certificate))
}

/// The store of its fleet, if the gateway is to be in one.
fn store(file: &File) -> anyhow::Result<Option<StoreSettings>> {
    let s = &file.serve;
    let address = s.store.as_ref().map(|name| name.0.clone());
    StoreSettings::new(address, s.store_ca.clone(), s.store_cert.clone(), s.store_key.clone())
}

/// Writes down where the gateway listens, for `ropewalk invite` while it does not run.
fn record(
    file: &File,
    dir: &StateDir,
    (listen, tls): (Vec<SocketAddr>, Option<u16>),
    device: &str,
) -> Listening {
    let text = |all: &[Name<Endpoint>]| all.iter().map(|e| e.0.to_string()).collect();
    let (endpoints, tls_endpoints) = (text(&file.serve.endpoints), text(&file.serve.tls_endpoints));
    let store = file.serve.store.as_ref().map(|store| store.0.to_string());
    let listening = Listening { listen, endpoints, tls, tls_endpoints, device: device.into(), store };
    if let Err(error) = dir.write_json(GATEWAY_FILE, &listening) {
        tracing::warn!(
            "{error:#}: `ropewalk invite` will not know where this gateway listens while it does not run"
        );
    }
    listening
}

/// The device with its addresses, a queue for each loop, and the firewall if asked for.
fn set_up(
    file: &File,
    (pool, behind): (&Pool, &[IpNet]),
    loops: u32,
    journal: &mut Journal,
) -> anyhow::Result<Vec<Tun>> {
    let queues = Tun::open_queues(file.serve.tun.as_deref(), loops)?;
    let tun = &queues[0];
    configure(&DeviceConfig {
        layer: Layer::Three,
        index: tun.index(),
        name: tun.name(),
        mtu: file.engine.tun_mtu.into(),
        queue: Some(DEVICE_QUEUE),
        addresses: &pool.gateway(),
    })?;
    let mut routes = Routes::new(tun.index());
    behind.iter().try_for_each(|network| routes.add(journal, *network))?;
    if !behind.is_empty() {
        let v6 = |n: &IpNet| n.addr().is_ipv6();
        forwarding(journal, !behind.iter().all(v6), behind.iter().any(v6))?;
    }
    if file.serve.masquerade {
        let own = pool.gateway().into_iter().filter(|n| n.addr().is_ipv4() || !file.serve.global6);
        let networks: Vec<IpNet> = own.chain(behind.iter().copied()).collect();
        for obstacle in nat::masquerade(journal, tun.name(), &networks)? {
            tracing::warn!("{obstacle}");
        }
    }
    if let Some(network) = file.serve.global_network() {
        for obstacle in let_through(journal, tun.name(), network)? {
            tracing::warn!("{obstacle}");
        }
    }
    if let Some(proxies) = proxies(file) {
        prepare_answers(journal, &proxies)?;
    }
    Ok(queues)
}

/// Where this machine answers for clients' addresses that the world sees.
fn proxies(file: &File) -> Option<NeighbourProxies> {
    let (network, interface) = (file.serve.global_network()?, file.serve.proxy_ndp.clone()?);
    Some(NeighbourProxies { interface, network })
}

/// For each address a socket for each loop; without any, for each IP version that this machine has.
fn listen(addresses: &[SocketAddr], loops: u32) -> anyhow::Result<Vec<Vec<UdpSocket>>> {
    let shard = Shard::new(0, loops).unwrap_or(Shard::WHOLE);
    let group = |address: SocketAddr| {
        let group = UdpSocket::open_group(&Options::at(address), shard)?;
        group.first().into_iter().for_each(|s| tracing::info!(address = %s.local_addr(), "listening"));
        Ok::<_, OpenError>(group)
    };
    if !addresses.is_empty() {
        return Ok(addresses.iter().map(|a| group(*a)).collect::<Result<_, _>>()?);
    }
    let mut groups = vec![group((Ipv4Addr::UNSPECIFIED, PORT).into())?];
    match group((Ipv6Addr::UNSPECIFIED, PORT).into()) {
        Ok(group) => groups.push(group),
        Err(OpenError::NoFamily(_) | OpenError::NoSuchAddress(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(groups)
}
