//! `ropewalk lab`: scenarios on real kernels in real time.

pub mod run;

use clap::{Args, Subcommand};

/// `ropewalk lab`.
#[derive(Debug, Args)]
pub struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What can be done with live scenarios.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run a scenario's own flows and events in real time, and print what every flow and station got, as `sim run` does
    Run(run::Run),
    /// Say which scenario files this machine can run live, and what keeps it from the others
    Check(run::Check),
}

/// Does what the command line says.
pub fn run(args: &Lab) -> anyhow::Result<()> {
    match &args.command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Check(args) => run::check(args),
    }
}
