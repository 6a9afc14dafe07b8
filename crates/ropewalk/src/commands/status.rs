//! `ropewalk status`.

use crate::cli::Which;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::report::{Snapshot, table};
use crate::state::StateDir;
use clap::Args;
use std::time::Duration;

/// `ropewalk status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub state: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Rates are measured over this long.
const APART: Duration = Duration::from_millis(250);

/// Prints how the daemon does.
pub(super) fn run(args: &Status) -> anyhow::Result<()> {
    let mut daemon = Line::open(&StateDir::existing(&args.state.find()?)?)?;
    let first = snapshot(&mut daemon)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&first)?);
        return Ok(());
    }
    std::thread::sleep(APART);
    print!("{}", table::render(Some(&first), &snapshot(&mut daemon)?));
    Ok(())
}

/// How the daemon does now.
pub(crate) fn snapshot(daemon: &mut Line) -> anyhow::Result<Snapshot> {
    match daemon.ask(&Request::Status {})? {
        Response::Status { status } => Ok(*status),
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    }
}
