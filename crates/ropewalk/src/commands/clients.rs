//! `ropewalk clients`.

use super::invite::lock;
use crate::cli::{StoreArgs, Which};
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::report::table::bytes;
use crate::state::StateDir;
use crate::state::clients::{Clients as Registry, FILE, KnownClient};
use crate::state::quotas::Quotas;
use clap::Args;
use std::fmt::Write;

/// `ropewalk clients`.
#[derive(Debug, Args)]
pub(crate) struct Clients {
    #[command(flatten)]
    pub state: Which,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints who may come in.
pub(super) fn run(args: &Clients) -> anyhow::Result<()> {
    let clients = list(args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&clients)?);
    } else {
        print!("{}", table(&clients));
    }
    Ok(())
}

pub(super) fn list(args: &Clients) -> anyhow::Result<Vec<KnownClient>> {
    if let Some(store) = args.store.settings()? {
        return store.clients();
    }
    let state = args.state.find()?;
    if let Some(mut daemon) = Line::try_open(&StateDir::existing(&state)?)? {
        return match daemon.ask(&Request::Clients {})? {
            Response::Clients { clients } => Ok(clients),
            other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
        };
    }
    let dir = StateDir::open(&state)?;
    let _lock = lock(&dir)?;
    dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default().check_own()?;
    let mut known = dir.read_json::<Registry>(FILE)?.unwrap_or_default().known();
    Quotas::read(&dir)?.tell(&mut known);
    Ok(known)
}

fn table(clients: &[KnownClient]) -> String {
    let in_fleet = clients.iter().any(|c| c.used_bytes.is_some());
    let width = clients.iter().map(|c| c.name.len()).max().unwrap_or(0).max(4);
    let mut out = String::new();
    if clients.is_empty() {
        out.push_str("nobody was invited: `ropewalk invite NAME`\n");
    }
    for c in clients {
        let inside: Vec<String> = c.inside.iter().map(ToString::to_string).collect();
        let state = if c.came { inside.join(" ") } else { "has not come yet".into() };
        let _ = write!(out, "{:<width$}  {state:<16}", c.name);
        if in_fleet {
            let gateway = c.gateway.as_ref().map_or_else(|| "not connected".into(), |g| format!("at {g}"));
            let _ = write!(out, "  {gateway:<16}  {}", bytes(c.used_bytes.unwrap_or(0)));
        }
        if let Some(quota) = &c.quota {
            let _ = write!(out, "  {}", quota.line());
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::quota::tests::quota;
    use ropewalk_fleet::Period;

    #[test]
    fn a_line_for_each() {
        let client = |name: &str, came: bool, used: Option<u64>| KnownClient {
            name: name.into(),
            came,
            inside: if came { vec!["10.77.0.2".parse().unwrap()] } else { Vec::new() },
            gateway: used.map(|_| "g1".into()),
            used_bytes: used,
            quota: None,
        };
        assert!(table(&[]).starts_with("nobody was invited"));
        assert_eq!(
            table(&[client("alice", true, None), client("b", false, None)]),
            "alice  10.77.0.2\nb      has not come yet\n"
        );
        let limited = KnownClient {
            quota: Some(quota(100_000_000, Period::Month, None)),
            ..client("alice", true, None)
        };
        assert_eq!(
            table(&[limited]),
            "alice  10.77.0.2         100 MB of 100 MB this month, stopped until 2026-12-01\n"
        );
        let fleet = table(&[client("alice", true, Some(2_000_000))]);
        assert!(fleet.starts_with("alice  10.77.0.2         at g1") && fleet.contains("MB"), "{fleet}");
    }
}
