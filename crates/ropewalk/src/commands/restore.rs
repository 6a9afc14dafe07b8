//! `ropewalk restore`.

use crate::cli::Which;
use crate::state::StateDir;
use clap::Args;
use ropewalk_net::setup::{Journal, refuse_elsewhere};

/// `ropewalk restore`.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub state: Which,
}

/// Takes back what a daemon left behind that did not end in good order.
pub(super) fn run(args: &Restore) -> anyhow::Result<()> {
    StateDir::existing(&args.state.find()?)?;
    let dir = StateDir::open(&args.state.find()?)?;
    let _lock = dir.lock()?;
    refuse_elsewhere(dir.path())?;
    let (journal, changes) = Journal::open_in(dir.handle()?, dir.path(), |_| false)?;
    journal.restore()?;
    match changes {
        0 => eprintln!("nothing was left behind"),
        n => eprintln!("changes taken back: {n}"),
    }
    Ok(())
}
