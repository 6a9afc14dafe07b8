//! `ropewalk ap`: the access point of a repeater with two radios. It is a gateway that listens on its radios' interfaces.

use super::invite::{self, Invite};
use super::serve;
use crate::cli::{Daemon, LogFormat, StoreArgs, Which};
use crate::config::{BackhaulLink, File};
use crate::daemon::Reload;
use crate::exit::{Code, failure};
use crate::firewall::SharedJournal;
use crate::gateway::radios::{Radios, addresses};
use crate::state::StateDir;
use crate::state::pool::Pool;
use clap::{Args, Subcommand};
use ipnet::IpNet;
use ropewalk_net::links;
use ropewalk_session::{BackhaulEnd, BackhaulRole, Endpoint, Host, Layer};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What both ends of a backhaul take.
#[derive(Clone, Debug, Args)]
pub(crate) struct BackhaulArgs {
    /// Read settings from this TOML file; the command line goes before it
    #[arg(long, value_name = "FILE", required = true)]
    pub config: Option<PathBuf>,
    /// State directory (keys, token, clients); created if missing [default: the file's `state`]
    #[arg(long = "state", value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
}

impl BackhaulArgs {
    /// As other daemons take it.
    pub(crate) fn daemon(&self) -> Daemon {
        let BackhaulArgs { config, log, log_format, metrics, .. } = self.clone();
        Daemon { config, tun: None, log, log_format, metrics }
    }
}

/// `ropewalk ap`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Ap {
    /// Something else than to run it.
    #[command(subcommand)]
    pub command: Option<ApCommand>,
    #[command(flatten)]
    pub backhaul: BackhaulArgs,
}

/// What else there is to an access point.
#[derive(Debug, Subcommand)]
pub(crate) enum ApCommand {
    /// Create a token that lets one repeater in
    Invite {
        /// What to call the repeater, as in [[ap.repeater]]
        name: String,
        /// The access point's file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// State directory [default: the file's `state`]
        #[arg(long = "state", value_name = "DIR")]
        state: Option<PathBuf>,
        /// Where the repeater reaches the access point; give it again for more [default: the addresses of its radios' interfaces]
        #[arg(long = "endpoint", value_name = "HOST:PORT")]
        endpoints: Vec<Endpoint>,
    },
}

/// Runs an access point, or makes a token for a repeater.
pub(super) fn run(args: Ap) -> anyhow::Result<()> {
    if let Some(ApCommand::Invite { name, config, state, endpoints }) = args.command {
        let file = read(&config)?;
        let dir = state_dir(state.or_else(|| file.ap.state.clone()), &config)?;
        let endpoints = if endpoints.is_empty() { own_endpoints(&file)? } else { endpoints };
        return invite::run(&Invite {
            name,
            state: Which { dir: Some(dir) },
            store: StoreArgs::default(),
            endpoints,
            qr: false,
        });
    }
    let Some(path) = args.backhaul.config.clone() else {
        return Err(failure(Code::Usage, "--config FILE is missing"));
    };
    let daemon = args.backhaul.daemon();
    let mut file = read(&path)?;
    let reload = Reload::new(Some(path.clone()), file.clone(), daemon.log.is_some());
    daemon.merge_into(&mut file);
    let state = state_dir(args.backhaul.state.or_else(|| file.ap.state.clone()), &path)?;
    if file.serve.store.is_some() {
        return Err(failure(Code::Usage, "an access point has no store: take `store` out of [serve]"));
    }
    file.serve.hooks = file.ap.hooks.clone();
    let backhaul =
        BackhaulEnd { role: BackhaulRole::AccessPoint, layer: file.ap.layer.0, networks: Vec::new() };
    if backhaul.layer == Layer::Two {
        let pool = Pool::none();
        return serve::start(serve::GatewayOptions {
            file,
            reload,
            state,
            pool,
            backhaul: Some(backhaul),
            behind: Vec::new(),
        });
    }
    let ap = &mut file.ap;
    if ap.address.is_empty() {
        ap.address = vec!["10.77.0.1/24".parse()?];
    }
    let pool = Pool::new(&ap.address)?;
    let behind: Vec<IpNet> = ap.repeater.iter().flat_map(|r| &r.networks).map(IpNet::trunc).collect();
    let clash =
        behind.iter().find(|n| ap.address.iter().any(|a| n.contains(&a.trunc()) || a.trunc().contains(*n)));
    if let Some(network) = clash {
        let words = format!(
            "{network} cannot lie behind a repeater and be the backhaul's own network: change address or networks in ap.toml"
        );
        return Err(failure(Code::Usage, words));
    }
    (file.serve.address, file.serve.tun, file.serve.masquerade) =
        (ap.address.clone(), ap.tun.clone(), ap.masquerade);
    (file.serve.global6, file.serve.proxy_ndp, file.serve.down_rate) = (false, None, None);
    serve::start(serve::GatewayOptions { file, reload, state, pool, backhaul: Some(backhaul), behind })
}

fn read(path: &Path) -> anyhow::Result<File> {
    let file = File::read(path)?;
    if !file.ap.link.is_empty() {
        return Ok(file);
    }
    let what = match file.repeater.link.is_empty() {
        true => "has no section [ap]".to_owned(),
        false => "is a repeater's: run `ropewalk repeater` with it, and `ropewalk ap` on the other machine"
            .to_owned(),
    };
    Err(failure(Code::Usage, format!("{} {what}", path.display())))
}

/// The state directory, or that it is missing.
pub(super) fn state_dir(named: Option<PathBuf>, file: &Path) -> anyhow::Result<PathBuf> {
    named.ok_or_else(|| {
        let words = format!(
            "no state directory is named: set state = \"DIR\" in {}, or give --state DIR",
            file.display()
        );
        failure(Code::Usage, words)
    })
}

fn own_endpoints(file: &File) -> anyhow::Result<Vec<Endpoint>> {
    let names: Vec<&str> = file.ap.link.iter().map(|l| l.interface.as_str()).collect();
    let all = addresses(&links::list()?, &names, file.ap.port);
    if all.is_empty() {
        let words = format!(
            "{} has no address that a repeater could reach: give it one, or name one with --endpoint HOST:PORT",
            names.join(" or ")
        );
        return Err(failure(Code::Usage, words));
    }
    Ok(all.into_iter().map(|a| Endpoint { host: Host::Address(a.ip()), port: a.port() }).collect())
}

/// Opens the sockets on the radios; says which of them nobody can reach yet.
pub(super) fn radios(file: &File, dir: &StateDir, journal: &SharedJournal) -> anyhow::Result<Radios> {
    if dir.read("token")?.is_some() {
        let words = format!(
            "the state directory {} is of a repeater or client: are the roles swapped? Give the access point one of its own",
            dir.path().display()
        );
        return Err(failure(Code::Usage, words));
    }
    let radios = Radios::open(file.ap.port, &file.ap.link, journal)?;
    let there = radios.follower().links();
    for BackhaulLink { interface, .. } in &file.ap.link {
        if there.iter().all(|l| l.name != *interface) {
            tracing::warn!(interface, "there is no such interface yet: it is waited for");
        } else if addresses(there, &[interface], 1).is_empty() {
            tracing::warn!(
                interface,
                "it has no address yet: no repeater can reach it, and tokens do not name it"
            );
        }
    }
    Ok(radios)
}
