//! `ropewalk drain`.

use crate::cli::Which;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::state::StateDir;
use clap::Args;

/// `ropewalk drain`.
#[derive(Debug, Args)]
pub(crate) struct Drain {
    #[command(flatten)]
    pub state: Which,
    /// Take sessions again
    #[arg(long)]
    pub off: bool,
}

/// Sends a gateway's clients elsewhere.
pub(super) fn run(args: &Drain) -> anyhow::Result<()> {
    let mut daemon = Line::open(&StateDir::existing(&args.state.find()?)?)?;
    if let Response::Done { said } = daemon.ask(&Request::Drain { off: args.off })? {
        eprintln!("{said}");
    }
    Ok(())
}
