//! `ropewalk up`.

use crate::cli::{Daemon, LogFormat, PathName, State, interface};
use crate::client::{
    Client, ClientOptions, Network, Parts, PathSettings, RepeaterPart, Resolver, TlsOptions, airtime,
};
use crate::config::{self, Domain, File as Settings, Name, PathEntry, TlsMode};
use crate::control::protocol::Request;
use crate::control::server::Server;
use crate::daemon::{
    Core, Devices, Links, Reload, Running, Tap, entropy, mailbox, run as run_loop, take_precedence,
};
use crate::exit::{Code, failure};
use crate::firewall::open_journal;
use crate::hooks::ClientHooks;
use crate::state::meter::Meter;
use crate::state::usage::Ledger;
use crate::state::{StateDir, identity};
use crate::wireguard::{self, Imported};
use crate::{logging, metrics, roam};
use anyhow::Context;
use clap::Args;
use ipnet::IpNet;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_net::links::Follower;
use ropewalk_net::poll::Signals;
use ropewalk_net::setup::{Change, Journal, forwarding, kill_switch};
use ropewalk_net::tun::Tun;
use ropewalk_net::{clock, privileges};
use ropewalk_session::{BackhaulEnd, CipherSet, Host, Layer, Token};
use ropewalk_time::Duration;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// `ropewalk up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// What `ropewalk invite` printed; `-` reads it from standard input, where no list of processes shows it [default: the one used last with this state]
    #[arg(value_name = "TOKEN")]
    pub token: Option<String>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub state: State,
    #[command(flatten)]
    pub daemon: Daemon,
    /// Use this interface, to this endpoint if one is given; give it again for more [default: every usable interface]
    #[arg(long = "path", value_name = "IFACE[@HOST:PORT]")]
    pub paths: Vec<PathName>,
    /// Route this network through the bond; 0.0.0.0/0 and ::/0 route everything; give it again for more
    #[arg(long = "route", value_name = "CIDR")]
    pub routes: Vec<IpNet>,
    /// Use this name server through the bond; give it again for more
    #[arg(long = "dns", value_name = "ADDR")]
    pub dns: Vec<IpAddr>,
    /// Ask these name servers only about this domain, such as corp.example; give it again for more
    #[arg(long = "dns-domain", value_name = "DOMAIN")]
    pub dns_domains: Vec<Domain>,
    /// Take routes, name servers, MTU and keepalive from this file of wg-quick, beside those of --route and --dns
    #[arg(long, value_name = "FILE")]
    pub from_wg: Option<PathBuf>,
    /// Give the hosts at this interface global IPv6 addresses, of the network that the gateway gives (`ropewalk serve --delegate`)
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub lan: Option<String>,
    /// Block all traffic outside the bond until the client is stopped; needs --route 0.0.0.0/0. `ropewalk restore` unblocks after a crash
    #[arg(long)]
    pub kill_switch: bool,
    /// When to go by TLS on TCP, which works where UDP does not [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub tls: Option<TlsMode>,
    /// Run the programs of this directory when paths and the connection come and go
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    /// Give up if there is no connection after this long
    #[arg(long, value_name = "SECS")]
    pub timeout: Option<u64>,
}

const TOKEN_FILE: &str = "token";
/// Bytes; a token has 4096 at most.
const TOKEN_MAX: u64 = 8192;

/// Connects to a gateway until told to stop.
pub(super) fn run(mut args: Up) -> anyhow::Result<()> {
    let mut file = Settings::read_if_any(args.daemon.config.as_deref())?;
    let imported = args.from_wg.as_deref().map(wireguard::from_file).transpose()?.unwrap_or_default();
    imported.set_engine(&mut file.engine);
    args.add(&imported);
    let options = Options {
        token_given: args.token.is_some(),
        routes_fixed: !args.routes.is_empty(),
        backhaul: None,
        notes: imported.said.clone(),
    };
    let reload = Reload::new(args.daemon.config.clone(), file.clone(), args.daemon.log.is_some());
    let state = args.state.dir.clone();
    start(merge(args, file), reload.beside(imported), &state, options)
}

impl Up {
    /// Takes what a file of wg-quick says as if options had said it.
    fn add(&mut self, imported: &Imported) {
        let new: Vec<IpNet> = imported.routes.iter().filter(|r| !self.routes.contains(r)).copied().collect();
        self.routes.extend(new);
        self.dns.extend(&imported.dns);
    }
}

/// What a client is asked for besides its file.
pub(super) struct Options {
    /// The token was given on the command line.
    pub token_given: bool,
    /// A reload does not change the routes.
    pub routes_fixed: bool,
    /// It is a repeater.
    pub backhaul: Option<BackhaulEnd>,
    /// What became of a file of wg-quick, to be logged.
    pub notes: Vec<String>,
}

/// Runs a client, or the repeater of a backhaul.
pub(super) fn start(file: Settings, reload: Reload, state: &Path, options: Options) -> anyhow::Result<()> {
    logging::start(file.log.level.as_deref(), file.log.format.unwrap_or(LogFormat::Text))?;
    options.notes.iter().for_each(|note| tracing::info!("wg-quick: {note}"));
    privileges::keep_secrets()?;
    let token = given_token(&file.up, options.token_given)?;
    privileges::check()?;
    let dir = StateDir::open(state)?;
    let _lock = dir.lock()?;
    // Before the token is written: in the state directory of an access point it would be taken for a repeater's.
    let part = options.backhaul.is_some().then(|| super::repeater::part(&file, &dir)).transpose()?;
    if let (Some(token), true) = (&token, options.backhaul.is_some()) {
        super::repeater::check_token(token)?;
    }
    let token = remembered(&dir, token)?;
    let has_kill_switch = file.up.kill_switch;
    if has_kill_switch {
        check_kill_switch(&file.up, &token).map_err(|words| failure(Code::Usage, words))?;
    }
    let lan = file.up.lan.as_deref();
    let stays = |change: &Change| {
        has_kill_switch && change.is_kill_switch() || lan.is_some_and(|lan| change.holds_hosts_back(lan))
    };
    let journal = open_journal(&dir, stays)?;
    connect(&file, &token, &dir, (journal, reload), options, part)
}

/// The command line goes before the file.
fn merge(args: Up, mut file: Settings) -> Settings {
    args.daemon.merge_into(&mut file);
    let up = &mut file.up;
    if args.token.is_some() || args.token_file.is_some() {
        (up.token, up.token_file) = (args.token, args.token_file);
    }
    up.lan = args.lan.or(up.lan.take());
    up.kill_switch |= args.kill_switch;
    up.tun = args.daemon.tun.or(up.tun.take());
    up.timeout_s = args.timeout.or(up.timeout_s);
    up.tls = args.tls.unwrap_or(up.tls);
    up.hooks = args.hooks.or(up.hooks.take());
    if !args.routes.is_empty() {
        up.route = args.routes;
    }
    if !args.dns.is_empty() {
        up.dns = args.dns;
    }
    if !args.dns_domains.is_empty() {
        up.dns_domains = args.dns_domains.into_iter().map(Name).collect();
    }
    if !args.paths.is_empty() {
        // What the file says about the same paths still counts.
        let old = std::mem::take(&mut up.path);
        let entry = |name: &PathName| {
            let same =
                |e: &&PathEntry| e.interface == name.interface && (e.endpoint.is_none() || e.name() == *name);
            let known = old.iter().find(same).cloned().unwrap_or_else(|| PathEntry::new(&name.interface));
            PathEntry { endpoint: name.endpoint.clone().map(Name), ..known }
        };
        up.path = args.paths.iter().map(entry).collect();
    }
    file
}

fn connect(
    file: &Settings,
    token: &Token,
    dir: &StateDir,
    (mut journal, reload): (Journal, Reload),
    options: Options,
    part: Option<RepeaterPart>,
) -> anyhow::Result<()> {
    if let Some(BackhaulEnd { layer: Layer::Three, networks, .. }) = &options.backhaul {
        forwarding(&mut journal, true, networks.iter().any(|n| n.addr().is_ipv6()))?;
    }
    let lan = file.up.lan.clone().filter(|_| options.backhaul.is_none());
    let config = Config { backhaul: options.backhaul, ..file.engine.to_config() };
    let key = identity::load_or_make(dir)?;
    let tun = open_device(file, &config, &mut journal)?;
    let signals = Signals::new().context("signals cannot be caught")?;
    let follower = Follower::new()?;
    take_precedence(file.engine.nice);
    privileges::drop_all_but_network()?;

    let (inbox, outbox) = mailbox()?;
    if part.is_none() {
        airtime::follow(roam::state_dir(&file.roam), outbox.clone())?;
    }
    let hooks = file.up.hooks.as_deref().map(|dir| ClientHooks::start(dir, tun.name())).transpose()?;
    let domains = file.up.dns_domains.iter().map(|d| d.0.0.clone()).collect();
    // The bond's name servers are asked about the gateway's name, too.
    let has_all_names = !file.up.dns.is_empty() && file.up.dns_domains.is_empty();
    let (routes, dns) = (file.up.route.clone(), (file.up.dns.clone(), domains));
    let parts = Parts {
        follower,
        // A kill switch lets nobody ask for a name outside the bond.
        resolver: Resolver::start(outbox.clone(), has_all_names, !file.up.kill_switch)?,
        network: Network::new(journal, &tun, routes, dns, config.tun_mtu.into(), lan)?,
        settings: PathSettings::open(dir, &file.up.path)?,
        meter: Meter::new(Ledger::open(dir)?),
        reload,
        repeater: part,
        hooks,
    };
    let now = clock::now();
    let who = ClientConfig {
        key,
        gateway: token.gateway,
        invite: token.invite,
        secret: token.secret.clone(),
        ciphers: if file.up.chacha20 { CipherSet::CHACHA } else { CipherSet::of_this_cpu() },
        // None before the gateway has said what is inside.
        routes: Vec::new(),
    };
    let engine = Engine::client(config, who, entropy(), now);
    let core = Core::new(engine, Devices::one(tun), false, Links::new(file.engine.lives_on_completions()));
    let mut running = Running::new(core, inbox, Some(signals), file.engine.busy_poll())?;
    let options = ClientOptions {
        endpoints: token.endpoints().to_vec(),
        tls: tls_options(&file.up, token),
        paths: file.up.path.iter().map(PathEntry::name).collect(),
        routes_fixed: options.routes_fixed,
        timeout: file.up.timeout_s.map(Duration::from_secs),
    };
    if let Some(address) = file.metrics.listen {
        let outbox = outbox.clone();
        metrics::serve(address, move || outbox.ask(Request::Status {}))?;
    }
    let mut client = Client::new(options, parts, now);
    let _server = Server::start(dir, outbox)?;
    let outcome = client.start(&mut running, clock::now());
    let outcome = outcome.and_then(|()| run_loop(&mut running, &mut client));
    client.finish(&mut running, outcome)
}

/// What the file says goes before the token.
fn tls_options(up: &config::Up, token: &Token) -> TlsOptions {
    let own: Vec<_> = up.tls_endpoints.iter().map(|e| e.0.clone()).collect();
    let endpoints = if own.is_empty() { token.tls_endpoints().to_vec() } else { own };
    TlsOptions { mode: up.tls, endpoints }
}

/// The device, and the kill switch around it if asked for.
fn open_device(file: &Settings, config: &Config, journal: &mut Journal) -> anyhow::Result<Tun> {
    let name = file.up.tun.as_deref();
    let tun = match config.layer() {
        Layer::Two => {
            let bridge = file.repeater.bridge.clone();
            Tap { mtu: config.tun_mtu, bridge, isolated: false }.open(name)?
        }
        Layer::Three => Tun::open(name)?,
    };
    if file.up.kill_switch {
        kill_switch(journal, tun.name())?;
    }
    Ok(tun)
}

/// The token on the command line, on standard input, or in a file.
fn given_token(up: &config::Up, on_command_line: bool) -> anyhow::Result<Option<Token>> {
    match up.token.as_deref() {
        // In a file a dash is no more than a wrong token.
        Some("-") if !on_command_line => Ok(Some("-".parse()?)),
        token => read_token(token, up.token_file.as_deref()),
    }
}

/// The token itself, or with `-` from standard input, or from a file.
pub(crate) fn read_token(token: Option<&str>, file: Option<&Path>) -> anyhow::Result<Option<Token>> {
    let text = match (token, file) {
        (Some("-"), _) => {
            let mut all = String::new();
            std::io::stdin().take(TOKEN_MAX).read_to_string(&mut all).context("the token cannot be read")?;
            all
        }
        (Some(text), _) => text.to_owned(),
        (None, Some(path)) => {
            let unreadable = || format!("the token file {} cannot be read", path.display());
            let mut all = String::new();
            let file = match File::open(path) {
                // It was read once, and is remembered; or its name is mistyped.
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    let words = "there is no such token file: the token used last counts";
                    tracing::info!(file = %path.display(), "{words}");
                    return Ok(None);
                }
                file => file.with_context(unreadable)?,
            };
            file.take(TOKEN_MAX).read_to_string(&mut all).with_context(unreadable)?;
            all
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(text.parse::<Token>()?))
}

/// What a kill switch needs, before it cuts anything off.
fn check_kill_switch(up: &config::Up, token: &Token) -> Result<(), String> {
    if !up.route.iter().any(|r| r.prefix_len() == 0) {
        return Err("--kill-switch needs a default route into the bond: add --route 0.0.0.0/0, and --route ::/0 for IPv6".into());
    }
    let own = up.path.iter().filter_map(|p| p.endpoint.as_ref()).map(|e| &e.0);
    if own.chain(token.endpoints()).all(|e| matches!(e.host, Host::Name(_))) {
        return Err("--kill-switch lets nobody ask for the gateway's name while the bond is down: name an address, in the token (`ropewalk invite NAME --endpoint \
                    ADDR:PORT`) or as --path IFACE@ADDR:PORT"
            .into());
    }
    Ok(())
}

/// The token to use: a given one, which is remembered, or the remembered one.
pub(crate) fn remembered(dir: &StateDir, given: Option<Token>) -> anyhow::Result<Token> {
    let kept = dir.read(TOKEN_FILE)?;
    if let Some(token) = given {
        let text = token.to_text();
        if kept.as_deref() != Some(text.as_str()) {
            dir.write(TOKEN_FILE, text.as_bytes())?;
        }
        return Ok(token);
    }
    let text = kept.ok_or_else(|| {
        let words = "there is no token: put the line that `ropewalk invite` printed on the gateway into a file, and give that with --token-file FILE, or on \
                     standard input: `ropewalk up - …`";
        failure(Code::Usage, words)
    })?;
    Ok(text.parse::<Token>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        up: Up,
    }

    #[test]
    fn a_file_of_wg_quick_adds_to_options_and_goes_before_the_configuration() {
        let nets = |all: &[&str]| all.iter().map(|n| n.parse().unwrap()).collect::<Vec<IpNet>>();
        let file = config::Up { route: nets(&["10.9.0.0/16"]), ..config::Up::default() };
        let file = Settings { up: file, ..Settings::default() };
        let wg = Imported { routes: nets(&["10.0.0.0/24", "10.1.0.0/16"]), ..Imported::default() };
        let merged = |options: &[&str], wg: &Imported| {
            let mut up = Line::parse_from([&["up", "--state", "d"][..], options].concat()).up;
            up.add(wg);
            merge(up, file.clone()).up.route
        };
        assert_eq!(merged(&[], &wg), nets(&["10.0.0.0/24", "10.1.0.0/16"]));
        let with_options = merged(&["--route", "10.2.0.0/16", "--route", "10.1.0.0/16"], &wg);
        assert_eq!(with_options, nets(&["10.2.0.0/16", "10.1.0.0/16", "10.0.0.0/24"]));
        assert_eq!(merged(&[], &Imported::default()), nets(&["10.9.0.0/16"]), "it names no network");
    }
}
