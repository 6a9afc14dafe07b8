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

/// Clients that a daemon is asked for at a time: as many as fit a line, since a gateway without a store looks at all of them each time.
const PAGE: u16 = u16::MAX;

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
        return all(&mut daemon, PAGE);
    }
    let dir = StateDir::open(&state)?;
    let _lock = lock(&dir)?;
    dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default().check_own()?;
    let (mut known, _) = dir.read_json::<Registry>(FILE)?.unwrap_or_default().page(None, usize::MAX);
    Quotas::read(&dir)?.tell(&mut known);
    Ok(known)
}

/// Those who may come in, by name after this one, so many at most; and how many there are in all.
pub(crate) fn page(
    daemon: &mut Line,
    after: Option<String>,
    most: u16,
) -> anyhow::Result<(Vec<KnownClient>, u64)> {
    match daemon.ask(&Request::Clients { after, most })? {
        Response::Clients { clients, total } => Ok((clients, total)),
        other => anyhow::bail!(
            "the daemon gave an answer to another question ({other:?}): restart it if it is of another version"
        ),
    }
}

/// All who may come in: `most` with each question, since an answer has to be a line.
fn all(daemon: &mut Line, most: u16) -> anyhow::Result<Vec<KnownClient>> {
    let mut all = Vec::<KnownClient>::new();
    loop {
        let (some, _) = page(daemon, all.last().map(|client| client.name.clone()), most)?;
        let is_last = some.len() < usize::from(most);
        all.extend(some);
        if is_last {
            return Ok(all);
        }
    }
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
        if let Some(network) = &c.network {
            let _ = write!(out, "  network {network}");
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
    use crate::control::server::{ControlHandler, Server};
    use crate::report::quota::tests::quota;
    use crate::state::tests::Scratch;
    use ropewalk_fleet::Period;
    use ropewalk_session::{InviteId, InviteSecret};

    impl ControlHandler for Registry {
        fn answer(&self, request: Request, _: u32) -> Response {
            let Request::Clients { after, most } = request else { panic!("{request:?}") };
            let (clients, total) = self.page(after.as_deref(), most.into());
            Response::Clients { clients, total: total as u64 }
        }
    }

    #[test]
    fn all_are_told_once_however_many_a_question_brings() {
        let (scratch, mut registry) = (Scratch::new(), Registry::default());
        for n in (0..6).rev() {
            registry.invite(&format!("c{n}"), InviteId([n; 16]), &InviteSecret([n; 16])).unwrap();
        }
        let _server = Server::start(&scratch.0, registry).unwrap();
        let mut daemon = Line::open(&scratch.0).unwrap();
        for most in [1, 3, 4, 6, 7] {
            let names: Vec<_> = all(&mut daemon, most).unwrap().into_iter().map(|c| c.name).collect();
            assert_eq!(names, ["c0", "c1", "c2", "c3", "c4", "c5"], "{most} at a time");
        }
        let (some, total) = page(&mut daemon, None, 2).unwrap();
        assert_eq!((some.len(), total), (2, 6));
    }

    #[test]
    fn a_line_for_each() {
        let client = |name: &str, came: bool, used: Option<u64>| KnownClient {
            name: name.into(),
            came,
            inside: if came { vec!["10.77.0.2".parse().unwrap()] } else { Vec::new() },
            gateway: used.map(|_| "g1".into()),
            used_bytes: used,
            quota: None,
            network: None,
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
        let network = "2001:db8:100:5::/64".parse().ok();
        assert_eq!(
            table(&[KnownClient { network, ..client("alice", true, None) }]),
            "alice  10.77.0.2         network 2001:db8:100:5::/64\n"
        );
        let fleet = table(&[client("alice", true, Some(2_000_000))]);
        assert!(fleet.starts_with("alice  10.77.0.2         at g1") && fleet.contains("MB"), "{fleet}");
    }
}
