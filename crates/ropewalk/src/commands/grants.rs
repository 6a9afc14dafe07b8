//! `ropewalk forward`, `group`, `limit` and `exit`: what a gateway grants to its clients.

use super::invite::lock;
use crate::cli::{StoreArgs, Which, interface};
use crate::config::BitRate;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::gateway::audit::{self, Entry};
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::gateway::grants::{
    Change, Circumstances, Exit, FILE, Forward, Grants, Limit, Share, Whose, interfaces, listening as in_use,
};
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE as CLIENTS_FILE};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use ropewalk_net::setup::Protocol;
use std::fmt::Write;
use std::num::NonZeroU16;

/// `ropewalk forward`.
#[derive(Debug, Args)]
pub(crate) struct ForwardArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ForwardCommand,
}

/// What can be done with forwarded ports.
#[derive(Debug, Subcommand)]
pub(crate) enum ForwardCommand {
    /// Forward a port of the gateway to a device
    Add {
        /// Name of the device
        client: String,
        /// Protocol
        #[arg(value_parser = protocol())]
        protocol: Protocol,
        /// Port of the gateway, at all of its addresses
        port: NonZeroU16,
        /// Port of the device [default: the same]
        #[arg(long, value_name = "PORT")]
        to: Option<NonZeroU16>,
        /// Show the device the gateway's inner address as the visitor's: needed where the device
        /// does not route everything through the bond
        #[arg(long)]
        masquerade: bool,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Stop forwarding a port
    Remove {
        /// Protocol
        #[arg(value_parser = protocol())]
        protocol: Protocol,
        /// Port of the gateway
        port: NonZeroU16,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List forwarded ports
    List(ListArgs),
}

/// `ropewalk group`.
#[derive(Debug, Args)]
pub(crate) struct GroupArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: GroupCommand,
}

/// What can be done with groups.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Add devices to a group, whose members reach each other
    Add {
        /// Name of the group; made if it is not there
        group: String,
        /// Names of the devices
        #[arg(required = true)]
        clients: Vec<String>,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove devices from a group, or the group
    Remove {
        /// Name of the group
        group: String,
        /// Names of the devices [default: all, and the group]
        clients: Vec<String>,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List groups
    List(ListArgs),
}

/// `ropewalk limit`.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LimitCommand,
}

/// What can be done with caps and shares.
#[derive(Debug, Subcommand)]
pub(crate) enum LimitCommand {
    /// Cap a device's rates, or set its share of a full line, in place of what is set
    Set {
        /// Name of the device
        client: String,
        /// To the device, such as 20Mbit [default: no cap]
        #[arg(long, value_name = "RATE")]
        down: Option<BitRate>,
        /// From the device, such as 5Mbit [default: no cap]
        #[arg(long, value_name = "RATE")]
        up: Option<BitRate>,
        /// How much it gets of a full line (`serve --down-rate`), from 1 to 100 [default: 1]
        #[arg(long, value_name = "N")]
        share: Option<Share>,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove a device's cap and share
    Remove {
        /// Name of the device
        client: String,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List caps and shares
    List(ListArgs),
}

/// `ropewalk exit`.
#[derive(Debug, Args)]
pub(crate) struct ExitArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ExitCommand,
}

/// What can be done with exits.
#[derive(Debug, Subcommand)]
pub(crate) enum ExitCommand {
    /// Let all that a device sends to other networks leave by an interface, and by no other
    Set {
        /// Name of the device
        name: String,
        /// Interface of the gateway's machine
        #[arg(value_name = "IFACE", value_parser = interface)]
        interface: String,
        /// The name is a group's: for its members without an exit of their own
        #[arg(long)]
        group: bool,
        /// The devices' IPv6 network (`serve --global6`) is routed to the gateway by this interface:
        /// do not translate it
        #[arg(long)]
        global6: bool,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Let it leave as the gateway's own
    Remove {
        /// Name of the device
        name: String,
        /// The name is a group's
        #[arg(long)]
        group: bool,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List exits
    List(ListArgs),
}

/// How what is granted is listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub state: Which,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn protocol() -> impl TypedValueParser<Value = Protocol> {
    let of = |name: String| if name == "udp" { Protocol::Udp } else { Protocol::Tcp };
    PossibleValuesParser::new(["tcp", "udp"]).map(of)
}

/// `ropewalk forward`.
pub(super) fn forward(args: ForwardArgs) -> anyhow::Result<()> {
    match args.command {
        ForwardCommand::Add { client, protocol, port, to, masquerade, state, store } => {
            let to = to.unwrap_or(port);
            change(&state, &store, Change::ForwardAdd(Forward { client, protocol, port, to, masquerade }))
        }
        ForwardCommand::Remove { protocol, port, state, store } => {
            change(&state, &store, Change::ForwardRemove { protocol, port })
        }
        ForwardCommand::List(args) => {
            let forwards = granted(&args)?.forwards;
            let line = |f: &Forward| {
                let how = if f.masquerade { "  (masqueraded)" } else { "" };
                format!("{} {:<5}  {} port {}{how}", f.protocol.name(), f.port, f.client, f.to)
            };
            show(&args, &forwards, forwards.iter().map(line), "no port is forwarded")
        }
    }
}

/// `ropewalk group`.
pub(super) fn group(args: GroupArgs) -> anyhow::Result<()> {
    match args.command {
        GroupCommand::Add { group, clients, state, store } => {
            change(&state, &store, Change::GroupAdd { group, clients })
        }
        GroupCommand::Remove { group, clients, state, store } => {
            change(&state, &store, Change::GroupRemove { group, clients })
        }
        GroupCommand::List(args) => {
            let groups = granted(&args)?.groups;
            let lines = groups.iter().map(|(name, members)| {
                let members: Vec<&str> = members.iter().map(String::as_str).collect();
                format!("{name}  {}", members.join(" "))
            });
            show(&args, &groups, lines, "there is no group: clients do not reach each other")
        }
    }
}

/// `ropewalk limit`.
pub(super) fn limit(args: LimitArgs) -> anyhow::Result<()> {
    match args.command {
        LimitCommand::Set { client, down, up, share, state, store } => {
            change(&state, &store, Change::LimitSet { client, limit: Limit { down, up, share } })
        }
        LimitCommand::Remove { client, state, store } => {
            change(&state, &store, Change::LimitRemove { client })
        }
        LimitCommand::List(args) => {
            let limits = granted(&args)?.limits;
            let rate = |r: Option<BitRate>| r.map_or_else(|| "no cap".into(), |r| r.to_string());
            let share = |s: Option<Share>| s.map_or_else(String::new, |s| format!("  share {s}"));
            let lines = limits.iter().map(|(name, l)| {
                format!("{name}  down {}  up {}{}", rate(l.down), rate(l.up), share(l.share))
            });
            show(&args, &limits, lines, "no client has a cap or a share")
        }
    }
}

/// `ropewalk exit`.
pub(super) fn exit(args: ExitArgs) -> anyhow::Result<()> {
    let whose = |name, group| if group { Whose::Group(name) } else { Whose::Client(name) };
    match args.command {
        ExitCommand::Set { name, interface, group, global6, state, store } => change(
            &state,
            &store,
            Change::ExitSet { whose: whose(name, group), exit: Exit { interface, global6 } },
        ),
        ExitCommand::Remove { name, group, state, store } => {
            change(&state, &store, Change::ExitRemove { whose: whose(name, group) })
        }
        ExitCommand::List(args) => {
            let exits = granted(&args)?.exits;
            let clients = exits.clients.iter().map(|(name, exit)| (Whose::Client(name.clone()), exit));
            let groups = exits.groups.iter().map(|(name, exit)| (Whose::Group(name.clone()), exit));
            let lines = clients.chain(groups).map(|(whose, exit)| {
                let how = if exit.global6 { "  (IPv6 untranslated)" } else { "" };
                format!("{whose}  {}{how}", exit.interface)
            });
            show(&args, &exits, lines, "every client leaves as the gateway does")
        }
    }
}

/// Makes a change in the store, at the running gateway, or on its files.
fn change(state: &Which, store: &StoreArgs, change: Change) -> anyhow::Result<()> {
    if let Some(store) = store.settings()? {
        eprintln!("{}", store.change_grants(&change)?);
        return Ok(());
    }
    let state = state.find()?;
    if let Some(mut daemon) = Line::try_open(&StateDir::existing(&state)?)? {
        if let Response::Done { said } = daemon.ask(&Request::Grant { change })? {
            eprintln!("{said}");
        }
        return Ok(());
    }
    let dir = StateDir::open(&state)?;
    let _lock = lock(&dir)?;
    let listening = dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default();
    listening.check_own()?;
    let clients = dir.read_json::<Clients>(CLIENTS_FILE)?.unwrap_or_default().known();
    let here = Circumstances {
        clients,
        taken: listening.ports().into_iter().chain(in_use()).collect(),
        all_joined: false,
        device: listening.device.clone(),
        interfaces: interfaces(),
        // Only a running gateway knows.
        lets_nobody_out: false,
        has_no_global6: false,
        has_no_down_rate: false,
    };
    let mut grants: Grants = dir.read_json(FILE)?.unwrap_or_default();
    let said = grants.change(change, &here)?;
    dir.write_json(FILE, &grants)?;
    audit::note_done(&dir, &Entry::new("changed").detail(&said).by(rustix::process::getuid().as_raw()));
    eprintln!("{said}");
    Ok(())
}

fn granted(args: &ListArgs) -> anyhow::Result<Grants> {
    if let Some(store) = args.store.settings()? {
        return store.grants();
    }
    let state = args.state.find()?;
    let dir = StateDir::existing(&state)?;
    if let Some(mut daemon) = Line::try_open(&dir)? {
        return match daemon.ask(&Request::Grants {})? {
            Response::Grants { grants } => Ok(*grants),
            other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
        };
    }
    dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default().check_own()?;
    Ok(dir.read_json(FILE)?.unwrap_or_default())
}

fn show(
    args: &ListArgs,
    all: &impl serde::Serialize,
    lines: impl Iterator<Item = String>,
    none: &str,
) -> anyhow::Result<()> {
    if args.json {
        println!("{}", serde_json::to_string_pretty(all)?);
        return Ok(());
    }
    let mut text = String::new();
    lines.for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    print!("{}", if text.is_empty() { format!("{none}\n") } else { text });
    Ok(())
}
