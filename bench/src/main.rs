//! `bench`: the figures Ropewalk has to reach, beside its peers, measured in the same run.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use ropewalk_bench::against;
use ropewalk_bench::bench::Bench;
use ropewalk_bench::machine::Machine;
use ropewalk_bench::plan::Plan;
use ropewalk_bench::progress::Progress;
use ropewalk_bench::report::{self, Comparison, Report, RowReport};
use ropewalk_bench::rows::{ALL, Row};
use ropewalk_bench::system::{self, Programs};
use ropewalk_bench::{flow, quic, relay, soak};
use ropewalk_lab::Topology;

#[derive(Parser)]
#[command(version, about = "Measures Ropewalk beside kernel MPTCP and wireguard-go. Needs root.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the rows of the table
    List,
    /// Measure rows; all of them if none is named
    Run(RunArgs),
    /// Check every byte of twenty flows while paths come, go and change, and watch the daemons' memory
    Soak(SoakArgs),
    #[command(hide = true)]
    FlowSend {
        #[arg(long)]
        to: SocketAddr,
        #[arg(long)]
        seconds: u32,
        #[arg(long)]
        mptcp: bool,
        #[arg(long)]
        congestion: String,
    },
    #[command(hide = true)]
    FlowReceive {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        seconds: u32,
        #[arg(long)]
        mptcp: bool,
    },
    #[command(hide = true)]
    Relay {
        #[arg(long)]
        local: SocketAddr,
        #[arg(long)]
        remote: SocketAddr,
    },
    #[command(hide = true)]
    QuicServer {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        certificate: PathBuf,
    },
    #[command(hide = true)]
    QuicClient {
        #[arg(long)]
        to: SocketAddr,
        #[arg(long)]
        certificate: PathBuf,
        #[arg(long)]
        seconds: u32,
    },
}

#[derive(Args)]
struct RunArgs {
    /// Names of rows, as `bench list` gives them
    rows: Vec<String>,
    /// Shorter runs and fewer of them: to see whether things work, not to quote
    #[arg(long)]
    quick: bool,
    /// Make each measurement so often and take the median
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Only these environments, in the rows that have sixteen and in `pages`
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Write report.md and report.json into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Before each measurement, wait so long for other programs on the machine to be done
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Keep what the contenders' programs say in this directory
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    /// Measure nothing but Ropewalk, with this binary as well, and compare: fails if a median is worse than this
    /// binary's by more than 3 % (`./run bench --against REV` builds it from a commit)
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// The ropewalk binary [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    ropewalk: Option<PathBuf>,
    /// Where wireguard-go is built [default: peers/, in the target directory]
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
}

#[derive(Args)]
struct SoakArgs {
    /// How long, for each cipher: 90s, 10m, 8h
    #[arg(long = "for", value_name = "DURATION", default_value = "1m", value_parser = duration)]
    span: Duration,
    /// Only this cipher
    #[arg(long)]
    cipher: Option<soak::Cipher>,
    /// Transfers at a time
    #[arg(long, value_name = "N", default_value_t = 20)]
    flows: usize,
    /// Of sizes, content, losses and changes of the paths
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The ropewalk binary [default: the one beside this program]; one of a debug build overwrites packet memory that
    /// is free
    #[arg(long, value_name = "PATH")]
    ropewalk: Option<PathBuf>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("give a number and s, m or h: 10m".to_owned()),
    };
    let number = number.parse::<u64>().ok().filter(|number| *number > 0);
    let span = number.and_then(|number| number.checked_mul(seconds)).map(Duration::from_secs);
    span.ok_or_else(|| format!("{text:?} is no duration: give a number and s, m or h"))
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::List => {
            ALL.iter().for_each(|row| println!("{:<13} {}", row.name, row.what));
            Ok(())
        }
        Command::Run(args) => run(args),
        Command::Soak(args) => soak(args),
        Command::FlowSend { to, seconds, mptcp, congestion } => flow::send(to, seconds, mptcp, &congestion),
        Command::FlowReceive { listen, seconds, mptcp } => flow::receive(listen, seconds, mptcp),
        Command::Relay { local, remote } => relay::run(local, remote),
        Command::QuicServer { listen, certificate } => quic::server(listen, &certificate),
        Command::QuicClient { to, certificate, seconds } => quic::client(to, seconds, &certificate),
    }
}

fn run(args: RunArgs) -> Result<()> {
    let rows = chosen(&args)?;
    let alone = args.against.is_some();
    let repeat = args.repeat.or(alone.then_some(against::REPEATS));
    let plan = Plan { quick: args.quick, repeat, only: args.only.clone(), alone, rounds_before: 0 };
    if let Some(name) = plan.unknown() {
        bail!("there is no environment \"{name}\"");
    }
    let own = std::env::current_exe().context("this program does not know where it is")?;
    clean_up()?;
    let (programs, version) = programs(&args, &own);
    let machine = Machine::now(programs.ropewalk.as_deref(), version.as_deref());
    let builds = if plan.alone { 2 } else { 1 };
    let progress = Progress::new(rows.iter().map(|row| builds * row.measurements(&plan)).sum());
    let bench =
        Bench { plan, programs, own, progress, logs: args.logs, wait: Duration::from_secs(args.wait) };
    if let Some(before) = &args.against {
        let comparison = against::run(bench, machine, &rows, &before.canonicalize()?)?;
        return told(&comparison, args.out.as_deref());
    }
    let wanted = rows.len();
    let rows = measure(&bench, &rows);
    bench.progress.finish();
    let report = Report { machine, quick: args.quick, rows };
    print!("{}", report::text(&report));
    if let Some(directory) = args.out {
        report::write(&report, &directory)?;
    }
    match wanted - report.rows.len() {
        0 => Ok(()),
        failed => bail!("{failed} of {wanted} rows could not be measured, for the reasons above"),
    }
}

/// Prints a comparison; fails if a figure is worse.
fn told(comparison: &Comparison, out: Option<&Path>) -> Result<()> {
    print!("{}", comparison.text());
    if let Some(directory) = out {
        comparison.write(directory)?;
    }
    match comparison.failed().count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} figures are worse, or were not measured", comparison.figures.len()),
    }
}

fn soak(args: SoakArgs) -> Result<()> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let ropewalk = ropewalk_binary(args.ropewalk.as_deref(), &own)?;
    clean_up()?;
    let ciphers = args.cipher.map_or(vec![soak::Cipher::Aes, soak::Cipher::Chacha20], |cipher| vec![cipher]);
    soak::run(&soak::Options { ropewalk, span: args.span, flows: args.flows, seed: args.seed, ciphers })
}

/// Removes what killed runs left, and sees to it that this one leaves nothing.
fn clean_up() -> Result<()> {
    ropewalk_lab::clean_on_interrupt()?;
    for stale in Topology::cleanup_stale() {
        eprintln!("removed {stale}, left behind by a killed run");
    }
    Ok(())
}

fn chosen(args: &RunArgs) -> Result<Vec<&'static Row>> {
    let names = &args.rows;
    if names.is_empty() {
        return Ok(ALL.iter().filter(|row| args.against.is_none() || row.by_binary).collect());
    }
    let row = |name: &String| {
        Row::named(name).with_context(|| format!("there is no row \"{name}\"; `bench list` names them"))
    };
    names.iter().map(row).collect()
}

/// Runs the rows; one that cannot be run is told of, and the others are run all the same.
fn measure(bench: &Bench, rows: &[&'static Row]) -> Vec<RowReport> {
    let mut reports = Vec::new();
    for row in rows {
        match row.run(bench) {
            Ok(report) => reports.push(report),
            Err(error) => bench.progress.say(&format!("{error:#}")),
        }
    }
    reports
}

/// Finds the contenders' programs, and the version of wireguard-go. What is missing is said and left out.
fn programs(args: &RunArgs, own: &Path) -> (Programs, Option<String>) {
    let ropewalk = ropewalk_binary(args.ropewalk.as_deref(), own);
    if args.against.is_some() {
        return (Programs { ropewalk: ropewalk.ok(), wireguard: None, relay: None }, None);
    }
    let cache = args.peers.clone().or_else(|| Some(own.parent()?.parent()?.join("peers")));
    let wireguard = cache.context("no target directory").and_then(|cache| system::install_wireguard(&cache));
    let complain = |what: &str, error: &anyhow::Error| eprintln!("{what} is left out: {error:#}");
    ropewalk.as_ref().err().into_iter().for_each(|error| complain("ropewalk", error));
    wireguard.as_ref().err().into_iter().for_each(|error| complain("wireguard-go", error));
    let (wireguard, version) = wireguard.ok().unzip();
    (Programs { ropewalk: ropewalk.ok(), wireguard, relay: Some(own.to_owned()) }, version)
}

fn ropewalk_binary(named: Option<&Path>, own: &Path) -> Result<PathBuf> {
    let beside = own.with_file_name("ropewalk");
    let path = named.unwrap_or(&beside);
    if !path.is_file() {
        bail!(
            "there is no {}; `cargo build --release -p ropewalk` makes it, or name it with --ropewalk",
            path.display()
        );
    }
    Ok(path.canonicalize()?)
}
