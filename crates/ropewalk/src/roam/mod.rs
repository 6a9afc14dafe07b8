//! `ropewalk roam`: a station of several access points at once (paper 001; docs/design/roam.md).
//!
//! | file | what |
//! |---|---|
//! | `plan` | which access points are joined, and why the others are not: `ropewalk_roam::choose` on one channel |
//! | `scan` | `ropewalk roam scan`: says that, and changes nothing |
//! | `radio` | the radio, its interfaces, and how many stations it may be |
//! | `daemon` | the loop: listens, joins, leaves |
//! | `rest` | who is not tried for a while |
//! | `station`, `phase` | one interface with one access point, from joining to leaving |
//! | `tunnels` | what an access point would take out of a tunnel of this machine |
//! | `beacons`, `meter` | its beacons, and what a packet costs by its driver |
//! | `paths` | what the rules of priorities are told: one ruler for all access points |
//! | `marks` | CE marks on what arrives by worse access points, by a BPF program |
//! | `monitor` | what a monitor interface hears of them |
//! | `listener` | scans, beside the loop |
//! | `signal` | signals by which access points are chosen |
//! | `portal` | whether somebody else answers for the internet |
//! | `report`, `top` | what it says of itself, and how it is watched |

mod beacons;
mod daemon;
mod listener;
mod marks;
mod meter;
mod monitor;
mod paths;
mod phase;
mod plan;
pub(crate) mod portal;
mod radio;
pub(crate) mod report;
mod rest;
mod scan;
mod signal;
mod station;
pub(crate) mod text;
mod top;
mod tunnels;

use crate::cli::{LogFormat, interface};
use crate::config::{self, File};
use crate::control::ask::Line;
use crate::state::StateDir;
use crate::top::live::{self, View};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// `ropewalk roam`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Roam {
    /// Something else than to run it.
    #[command(subcommand)]
    pub command: Option<RoamCommand>,
    #[command(flatten)]
    pub run: RoamArgs,
    #[command(flatten)]
    pub daemon: DaemonArgs,
}

/// What its daemon alone takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct DaemonArgs {
    /// Measure packet times at this monitor interface; `auto` makes one on the radio
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub monitor: Option<String>,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Run the programs of this directory when access points are joined, used and left
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
}

impl DaemonArgs {
    /// They go before the file.
    fn over(&self, roam: &mut config::Roam) {
        roam.monitor = self.monitor.clone().or(roam.monitor.take());
        roam.hooks = self.hooks.clone().or(roam.hooks.take());
    }
}

/// What `ropewalk roam` takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RoamArgs {
    /// Read settings from this TOML file, section [roam]; the command line goes before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The radio, as `iw list` names it [default: the only one]
    #[arg(long, value_name = "PHY")]
    pub radio: Option<String>,
    /// A station interface of the radio, to listen with [default: its first]
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub interface: Option<String>,
    /// wpa_supplicant's file with the networks to join [default: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there]
    #[arg(long, value_name = "FILE")]
    pub networks: Option<PathBuf>,
    /// State directory [default: /run/ropewalk/roam]
    #[arg(long = "state", value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// What else there is to roaming.
#[derive(Debug, Subcommand)]
pub(crate) enum RoamCommand {
    /// Show which access points would be joined, and why
    Scan {
        #[command(flatten)]
        run: RoamArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the state of the running `ropewalk roam`
    Status {
        /// State directory [default: /run/ropewalk/roam]
        #[arg(long = "state", value_name = "DIR")]
        state: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Watch the running `ropewalk roam` live
    Top {
        /// State directory [default: /run/ropewalk/roam]
        #[arg(long = "state", value_name = "DIR")]
        state: Option<PathBuf>,
    },
}

/// Where the state is if nobody says.
const STATE: &str = "/run/ropewalk/roam";

/// Does what the command line says.
pub(crate) fn run(args: Roam) -> anyhow::Result<()> {
    match args.command {
        None => daemon::run(args.run, args.daemon),
        Some(RoamCommand::Scan { run, json }) => scan::run(&settings(&run)?.roam, json),
        Some(RoamCommand::Status { state, json }) => status(state, json),
        Some(RoamCommand::Top { state }) => live::show(&mut line(state)?, &mut top::App::default()),
    }
}

/// The file with the command line over it.
fn settings(args: &RoamArgs) -> anyhow::Result<File> {
    let mut file = File::read_if_any(args.config.as_deref())?;
    let roam = &mut file.roam;
    roam.state = args.state.clone().or(roam.state.take());
    roam.radio = args.radio.clone().or(roam.radio.take());
    roam.interface = args.interface.clone().or(roam.interface.take());
    roam.networks = args.networks.clone().or(roam.networks.take());
    file.log.level = args.log.clone().or(file.log.level.take());
    file.log.format = args.log_format.or(file.log.format);
    Ok(file)
}

/// Where its daemon keeps its state.
pub(crate) fn state_dir(roam: &config::Roam) -> PathBuf {
    roam.state.clone().unwrap_or_else(|| PathBuf::from(STATE))
}

fn status(state: Option<PathBuf>, json: bool) -> anyhow::Result<()> {
    let status = top::App::ask(&mut line(state)?)?;
    match json {
        true => println!("{}", serde_json::to_string_pretty(&status)?),
        false => print!("{}", report::render(&status)),
    }
    Ok(())
}

fn line(state: Option<PathBuf>) -> anyhow::Result<Line> {
    Line::open(&StateDir::existing(&state.unwrap_or_else(|| PathBuf::from(STATE)))?)
}
