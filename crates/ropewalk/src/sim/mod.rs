//! `ropewalk sim`: scenarios in virtual time.
//!
//! The simulation itself is `ropewalk-sim`, the file and the report are `ropewalk-scenario`. Here
//! is what a user meets: options, progress, tables, files, and exit codes.

mod check;
pub(crate) mod driver;
pub(crate) mod figure;
pub(crate) mod format;
pub(crate) mod identity;
pub(crate) mod interrupt;
pub(crate) mod once;
pub(crate) mod output;
mod runner;
mod seeds;
pub(crate) mod show;
mod stale;
pub(crate) mod store;
mod sweep;
pub(crate) mod workers;

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `ropewalk sim`.
#[derive(Debug, Args)]
pub(crate) struct Sim {
    /// What to do.
    #[command(subcommand)]
    pub command: SimCommand,
}

/// What can be done with scenarios.
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Run a scenario once and print its results
    Run(Run),
    /// Run a scenario at every point of its sweep
    Sweep(Sweep),
    /// Check scenario files and count the runs of their sweeps
    Check(Check),
}

/// A scenario with changes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// The scenario file (TOML)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Seed of all chance, in place of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

/// `ropewalk sim run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub which: Which,
    /// Run it with so many seeds, from the scenario's or `--seed` on, and print the mean and
    /// standard error of each figure
    #[arg(long, value_name = "N", conflicts_with_all = ["out", "format", "pcap", "json"])]
    pub seeds: Option<std::num::NonZeroU32>,
    /// Write report.json, a file for each table, and charts into this directory; made if it is not
    /// there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Form of the tables' files
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, requires = "out")]
    pub format: format::Format,
    /// Write what an interface carries, or all that a radio hears, to NODE-NAME.pcap, in the output directory or here; give it again for more
    #[arg(long, value_name = "NODE:NAME")]
    pub pcap: Vec<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ropewalk sim sweep`.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    #[command(flatten)]
    pub which: Which,
    /// How many runs at once [default: one for each core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Directory for results; made if it is not there [default: FILE without its ending, and -sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Form of the tables' files
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: format::Format,
    /// Keep what is finished in the directory, and run the rest
    #[arg(long)]
    pub resume: bool,
}

/// `ropewalk sim check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The scenario files
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Does what the command line says.
pub(crate) fn run(args: &Sim) -> anyhow::Result<()> {
    match &args.command {
        SimCommand::Run(args) => match args.seeds {
            Some(seeds) => seeds::run(args, seeds.get()),
            None => once::run(args),
        },
        SimCommand::Sweep(args) => sweep::run(args),
        SimCommand::Check(args) => check::run(args),
    }
}

impl Which {
    /// The file with its changes.
    pub(crate) fn document(&self) -> anyhow::Result<ropewalk_scenario::Document> {
        let mut document = ropewalk_scenario::Document::read(&self.file)?;
        if let Some(seed) = self.seed {
            document.set_text(&format!("seed={seed}"))?;
        }
        for setting in &self.settings {
            document.set_text(setting)?;
        }
        Ok(document)
    }
}
