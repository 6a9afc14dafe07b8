//! `ropewalk flows`.

use crate::cli::Which;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::report::flows::{Flows, MOST};
use crate::state::StateDir;
use clap::Args;

/// `ropewalk flows`.
#[derive(Debug, Args)]
pub(crate) struct FlowsArgs {
    #[command(flatten)]
    pub state: Which,
    /// Most connections to list: those with the highest rates
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST)))]
    pub limit: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints which connections there are.
pub(super) fn run(args: &FlowsArgs) -> anyhow::Result<()> {
    let mut daemon = Line::open(&StateDir::existing(&args.state.find()?)?)?;
    let flows = flows(&mut daemon, args.limit)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&flows)?);
    } else {
        print!("{}", flows.render());
    }
    Ok(())
}

/// The `most` connections with the highest rates.
pub(crate) fn flows(daemon: &mut Line, most: u16) -> anyhow::Result<Flows> {
    match daemon.ask(&Request::Flows { most })? {
        Response::Flows { flows } => Ok(*flows),
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    }
}
