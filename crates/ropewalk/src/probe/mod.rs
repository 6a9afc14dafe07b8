//! `ropewalk probe`: what limits a path, and what to set.
//!
//! One machine serves, another asks. [`wire`] is how they speak, [`stream`] and [`echo`] measure, [`diagnose`] says what the figures mean.
//! [`mptcp`] says whether a connection of MPTCP is one, and why not.

mod client;
mod diagnose;
mod echo;
mod mptcp;
mod serve;
mod show;
mod stream;
mod wire;

use crate::config::Amount;
use crate::exit::{Code, failure};
use anyhow::Result;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens: TCP and UDP.
pub(crate) const PORT: u16 = 4510;

/// `ropewalk probe`.
#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// The machine at the other end, where `ropewalk probe --serve` runs
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "serve", conflicts_with = "serve")]
    pub host: Option<String>,
    /// Be the other end: listen, and serve who knows the key
    #[arg(long)]
    pub serve: bool,
    /// Where to listen, TCP and UDP [default: 0.0.0.0:4510]
    #[arg(long, value_name = "ADDR:PORT", requires = "serve")]
    pub listen: Option<SocketAddr>,
    /// The key that both ends share [default with --serve: a new one, which is printed]
    // A key that the server makes may begin with a hyphen.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub key: Option<String>,
    /// Read the key from this file
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub key_file: Option<PathBuf>,
    /// How long each of the five tests takes, and the two of --mptcp, seconds
    #[arg(long, value_name = "SECS", default_value_t = 3.0, value_parser = seconds)]
    pub seconds: f64,
    /// How many connections the tests with several have
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=16))]
    pub streams: u8,
    /// Give receivers of the tests a buffer of this size, such as 16KiB: what would a program with it get?
    #[arg(long, value_name = "SIZE")]
    pub window: Option<Window>,
    /// Test a connection of MPTCP each way, too: is it MPTCP or did it fall back to TCP, and by which
    /// subflows, congestion controller and scheduler?
    #[arg(long, conflicts_with = "serve")]
    pub mptcp: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A receiver's buffer, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window(pub u32);

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let bytes = text.parse::<Amount>().ok().map(|a| a.0).filter(|b| (2048..=64 << 20).contains(b));
        bytes.map(|b| Window(b as u32)).ok_or_else(|| "write a size from 2KiB to 64MiB, such as 16KiB".into())
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let fits = text.parse().ok().filter(|s: &f64| (0.5..=wire::MAX_SECONDS).contains(s));
    fits.ok_or_else(|| format!("write a number of seconds from 0.5 to {}", wire::MAX_SECONDS))
}

/// Does what the command line says.
pub(crate) fn run(args: &Probe) -> Result<()> {
    match &args.host {
        None => serve::run(args),
        Some(host) => client::run(args, host),
    }
}

/// The key that was given.
fn key(args: &Probe) -> Result<Option<String>> {
    let text = match (&args.key, &args.key_file) {
        (Some(text), _) => text.clone(),
        (None, None) => return Ok(None),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map_err(|e| failure(Code::Usage, format!("{} cannot be read: {e}", file.display())))?,
    };
    // Shorter ones can be tried through.
    if text.trim().len() < 8 {
        return Err(failure(Code::Usage, "the key is too short; give at least 8 characters"));
    }
    Ok(Some(text))
}
