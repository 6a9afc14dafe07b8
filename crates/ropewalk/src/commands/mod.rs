//! The commands, one file each.

mod invite;
mod serve;
mod status;
mod up;

use crate::cli::{Cli, Command};

/// Does what the command line says.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Invite(args) => invite::run(&args),
        Command::Up(args) => up::run(args),
        Command::Status(args) => status::run(&args),
    }
}
