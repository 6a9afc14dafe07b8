//! `ropewalk revoke`.

use super::invite::lock;
use crate::cli::{StoreArgs, Which};
use crate::control::ask::Line;
use crate::control::protocol::Request;
use crate::gateway::audit::{self, Entry};
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::gateway::grants;
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE};
use crate::state::quotas;
use clap::Args;

/// `ropewalk revoke`.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Name of the device
    pub name: String,
    #[command(flatten)]
    pub state: Which,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Ends a device's right to come in, and its session if it has one.
pub(crate) fn run(args: &Revoke) -> anyhow::Result<()> {
    if let Some(store) = args.store.settings()? {
        store.revoke(&args.name)?;
    } else if let Some(mut daemon) = Line::try_open(&StateDir::existing(&args.state.find()?)?)? {
        daemon.ask(&Request::Revoke { name: args.name.clone() })?;
    } else {
        let dir = StateDir::open(&args.state.find()?)?;
        let _lock = lock(&dir)?;
        dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default().check_own()?;
        let mut clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
        clients.revoke(&args.name)?;
        dir.write_json(FILE, &clients)?;
        grants::forget_in(&dir, &args.name)?;
        quotas::forget_in(&dir, &args.name)?;
        let by = rustix::process::getuid().as_raw();
        audit::note_done(&dir, &Entry::new("revoked").client(&args.name).by(by));
    }
    eprintln!("{} is revoked", args.name);
    Ok(())
}
