//! `ropewalk quota`: what a client may use in a day or a month.

use super::clients::{Clients as ClientsArgs, list as list_clients};
use super::invite::lock;
use crate::cli::{StoreArgs, Which};
use crate::config::{Amount, BitRate};
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::gateway::audit::{self, Entry};
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::gateway::quotas::{Allowed, QuotaChange};
use crate::report::quota::QuotaStatus;
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE as CLIENTS_FILE};
use crate::state::quotas::{QUOTAS, Quotas};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use ropewalk_fleet::Period;
use serde::Serialize;

/// `ropewalk quota`.
#[derive(Debug, Args)]
pub(crate) struct QuotaArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: QuotaCommand,
}

/// What can be done with quotas.
#[derive(Debug, Subcommand)]
pub(crate) enum QuotaCommand {
    /// Give a device a quota, in place of the one that it has
    Set {
        /// Name of the device
        client: String,
        /// What it may use, both directions together, such as 100GB
        amount: Amount,
        /// In a month or a day of the calendar, in UTC
        #[arg(long, value_name = "PERIOD", value_parser = period(), default_value = "month")]
        per: Period,
        /// Slow it to this rate once that is used up, such as 1Mbit [default: stop it]
        #[arg(long, value_name = "RATE")]
        then: Option<BitRate>,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove a device's quota
    Remove {
        /// Name of the device
        client: String,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List quotas, and what is used of them
    List(ClientsArgs),
}

fn period() -> impl TypedValueParser<Value = Period> {
    let of = |name: String| if name == "day" { Period::Day } else { Period::Month };
    PossibleValuesParser::new(["month", "day"]).map(of)
}

/// A line of the list.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(flatten)]
    quota: &'a QuotaStatus,
}

/// `ropewalk quota`.
pub(super) fn run(args: QuotaArgs) -> anyhow::Result<()> {
    match args.command {
        QuotaCommand::Set { client, amount, per, then, state, store } => {
            let to = Some(Allowed { amount, per, then });
            change(&state, &store, QuotaChange { client, to })
        }
        QuotaCommand::Remove { client, state, store } => {
            change(&state, &store, QuotaChange { client, to: None })
        }
        QuotaCommand::List(args) => list(&args),
    }
}

/// Makes a change in the store, at the running gateway, or on its files.
fn change(state: &Which, store: &StoreArgs, change: QuotaChange) -> anyhow::Result<()> {
    let quota = change.quota()?;
    let said = change.said();
    if let Some(store) = store.settings()? {
        store.set_quota(&change.client, quota)?;
        eprintln!("{said}");
        return Ok(());
    }
    let state = state.find()?;
    if let Some(mut daemon) = Line::try_open(&StateDir::existing(&state)?)? {
        if let Response::Done { said } = daemon.ask(&Request::Quota { change })? {
            eprintln!("{said}");
        }
        return Ok(());
    }
    let dir = StateDir::open(&state)?;
    let _lock = lock(&dir)?;
    dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default().check_own()?;
    let clients = dir.read_json::<Clients>(CLIENTS_FILE)?.unwrap_or_default().known();
    let mut quotas = Quotas::read(&dir)?;
    quotas.set(&change.client, quota, &clients)?;
    dir.write_json(QUOTAS, quotas.quotas())?;
    audit::note_done(&dir, &Entry::new("changed").detail(&said).by(rustix::process::getuid().as_raw()));
    eprintln!("{said}");
    Ok(())
}

fn list(args: &ClientsArgs) -> anyhow::Result<()> {
    let clients = list_clients(args)?;
    let rows: Vec<Row<'_>> =
        clients.iter().filter_map(|c| Some(Row { name: &c.name, quota: c.quota.as_ref()? })).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    if rows.is_empty() {
        println!("no client has a quota");
    }
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0);
    rows.iter().for_each(|r| println!("{:<width$}  {}", r.name, r.quota.line()));
    Ok(())
}
