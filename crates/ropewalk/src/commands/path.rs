//! `ropewalk path`.

use crate::cli::{PathName, Which};
use crate::config::{Amount, ClassName};
use crate::control::ask;
use crate::control::protocol::{Request, Response};
use crate::state::StateDir;
use clap::{Args, Subcommand};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// `ropewalk path`.
#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PathCommand,
}

/// What can be done with paths.
#[derive(Debug, Subcommand)]
pub(crate) enum PathCommand {
    /// Add a path: an interface, or another endpoint by it
    Add {
        /// The path
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        options: PathOptions,
    },
    /// Remove a path until the daemon starts again
    Remove {
        /// The path; the interface is enough where only one path uses it
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: Which,
    },
    /// Set what a path is used for; it is remembered
    Set {
        /// The path; the interface is enough where only one path uses it
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: Which,
        #[command(flatten)]
        options: PathOptions,
    },
    /// Forget what was set for a path: the configuration counts again
    Reset {
        /// The path; the interface is enough where only one path uses it
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: Which,
    },
}

/// What a path may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathOptions {
    /// active: always used; backup: while no other works; metered: until its cap is used up
    #[arg(long)]
    pub class: Option<ClassName>,
    /// What a metered path may carry in a month, both directions together, such as 10GB
    #[arg(long, value_name = "AMOUNT")]
    pub cap: Option<Amount>,
    /// The day of the month on which a new allowance begins
    #[arg(long, value_name = "DAY", value_parser = clap::value_parser!(u8).range(1..=31))]
    #[serde(default, deserialize_with = "day")]
    pub reset_day: Option<u8>,
    /// Its share under the weighted scheduler
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[serde(default, deserialize_with = "weight")]
    pub weight: Option<u32>,
}

/// A day of the month: what comes by the control socket or a page has the ranges of the command line.
fn day<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u8>, D::Error> {
    within(Option::deserialize(from)?, 1..=31, "the day on which an allowance begins is 1 to 31")
}

fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    within(Option::deserialize(from)?, 1..=1000, "a weight is 1 to 1000")
}

fn within<T: PartialOrd, E: Error>(
    value: Option<T>,
    range: RangeInclusive<T>,
    otherwise: &str,
) -> Result<Option<T>, E> {
    match value {
        Some(value) if !range.contains(&value) => Err(E::custom(otherwise)),
        value => Ok(value),
    }
}

/// Changes the paths of a running client.
pub(super) fn run(args: PathArgs) -> anyhow::Result<()> {
    let (state, request) = match args.command {
        PathCommand::Add { name, state, options } => {
            (state, Request::PathAdd { name: name.to_string(), options })
        }
        PathCommand::Remove { name, state } => (state, Request::PathRemove { name: name.to_string() }),
        PathCommand::Set { name, state, options } => {
            (state, Request::PathSet { name: name.to_string(), options })
        }
        PathCommand::Reset { name, state } => (state, Request::PathReset { name: name.to_string() }),
    };
    if let Response::Done { said } = ask(&StateDir::existing(&state.find()?)?, &request)?
        && !said.is_empty()
    {
        eprintln!("{said}");
    }
    Ok(())
}
