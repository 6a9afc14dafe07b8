//! `ropewalk mptcp`.

use crate::report::count;
use clap::{Args, Subcommand, ValueEnum};
use ropewalk_kern::{CONNECTIONS, Law, SLOTS, Status};
use serde::Serialize;
use std::fmt::Write;

/// `ropewalk mptcp`.
#[derive(Debug, Args)]
pub(crate) struct Mptcp {
    /// What of it.
    #[command(subcommand)]
    pub command: MptcpCommand,
}

/// What there is to MPTCP.
#[derive(Debug, Subcommand)]
pub(crate) enum MptcpCommand {
    /// Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and
    /// HighSpeed TCP
    #[command(subcommand)]
    Cc(CcCommand),
}

/// What can be done with the kernel's controllers.
#[derive(Debug, Subcommand)]
pub(crate) enum CcCommand {
    /// Load controllers until `unload` or a reboot
    Load {
        /// Which; the kernel lists them as rw_lia, rw_olia, rw_balia, rw_hstcp
        #[arg(value_name = "NAME", required = true)]
        names: Vec<Controller>,
    },
    /// List loaded controllers and their connections
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Unload controllers; open connections keep theirs
    Unload {
        /// Which [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<Controller>,
    },
}

/// A controller for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Controller {
    /// Linked increases, RFC 6356.
    Lia,
    /// Opportunistic linked increases.
    Olia,
    /// Balanced linked adaptation.
    Balia,
    /// HighSpeed TCP, RFC 3649; couples nothing.
    Hstcp,
}

impl From<Controller> for ropewalk_kern::Law {
    fn from(controller: Controller) -> ropewalk_kern::Law {
        match controller {
            Controller::Lia => ropewalk_kern::Law::Lia,
            Controller::Olia => ropewalk_kern::Law::Olia,
            Controller::Balia => ropewalk_kern::Law::Balia,
            Controller::Hstcp => ropewalk_kern::Law::Hstcp,
        }
    }
}

/// A controller, for a program.
#[derive(Serialize)]
struct Line {
    name: &'static str,
    kernel_name: &'static str,
    registered: bool,
    default: bool,
    connections: Option<usize>,
    joined: Option<u64>,
    left: Option<u64>,
    map_full: Option<u64>,
    subflows_full: Option<u64>,
}

/// Does what the command line says.
pub(super) fn run(args: &Mptcp) -> anyhow::Result<()> {
    let MptcpCommand::Cc(command) = &args.command;
    match command {
        CcCommand::Load { names } => names.iter().try_for_each(|name| load((*name).into())),
        CcCommand::Status { json } => status(*json),
        CcCommand::Unload { names } => {
            for law in Law::ALL {
                if names.is_empty() || names.iter().any(|n: &Controller| Law::from(*n) == law) {
                    unload(law, !names.is_empty())?;
                }
            }
            Ok(())
        }
    }
}

fn load(law: Law) -> anyhow::Result<()> {
    // First: a run that ends now would unload it.
    #[cfg(feature = "lab")]
    crate::lab::leave_loaded(law)?;
    let loaded = ropewalk_kern::load(law)?;
    if loaded.mounted {
        eprintln!("mounted a BPF file system at /sys/fs/bpf");
    }
    let name = law.kernel_name();
    match loaded.already {
        true => eprintln!("{name} is loaded already"),
        false => eprintln!(
            "{name} is loaded; sysctl -w net.ipv4.tcp_congestion_control={name} gives it to new connections"
        ),
    }
    Ok(())
}

fn unload(law: Law, is_named: bool) -> anyhow::Result<()> {
    let name = law.kernel_name();
    let is_default = default() == name;
    let unloaded = ropewalk_kern::unload(law)?;
    if !unloaded.was_loaded {
        if is_named {
            eprintln!("{name} is not loaded");
        }
        return Ok(());
    }
    match unloaded.connections {
        0 => eprintln!("{name} is unloaded"),
        n => {
            eprintln!("{name} is unloaded; MPTCP connections that go on under it until they are closed: {n}")
        }
    }
    if is_default {
        eprintln!(
            "{name} is still what new connections here get: sysctl -w net.ipv4.tcp_congestion_control=cubic"
        );
    }
    Ok(())
}

/// The controller of new connections in this network namespace.
fn default() -> String {
    let key = "/proc/sys/net/ipv4/tcp_congestion_control";
    std::fs::read_to_string(key).unwrap_or_default().trim().to_owned()
}

fn status(json: bool) -> anyhow::Result<()> {
    let (all, default) = (ropewalk_kern::status(), default());
    match json {
        true => {
            let lines: Vec<Line> = all.iter().map(|s| line(s, &default)).collect();
            println!("{}", serde_json::to_string(&lines)?);
        }
        false => print!("{}", table(&all, &default)),
    }
    Ok(())
}

fn line(status: &Status, default: &str) -> Line {
    let counters = status.figures.map(|(_, counters)| counters);
    Line {
        name: status.law.name(),
        kernel_name: status.law.kernel_name(),
        registered: status.is_registered,
        default: default == status.law.kernel_name(),
        connections: status.figures.map(|(n, _)| n),
        joined: counters.map(|c| c.joined),
        left: counters.map(|c| c.left),
        map_full: counters.map(|c| c.map_full),
        subflows_full: counters.map(|c| c.slots_full),
    }
}

fn table(all: &[Status], default: &str) -> String {
    let mut out = String::new();
    for status in all {
        let name = status.law.kernel_name();
        let _ = match (status.is_registered, status.figures) {
            (false, None) => writeln!(out, "{name:<9} not loaded"),
            (false, Some(_)) => writeln!(
                out,
                "{name:<9} not loaded; pins of it are left: ropewalk mptcp cc unload {}",
                status.law.name()
            ),
            (true, None) => {
                writeln!(out, "{name:<9} loaded; for figures run this as root where it was loaded")
            }
            (true, Some((connections, c))) => {
                let given = if name == default { ", given to new connections here" } else { "" };
                let coupled = match status.law {
                    Law::Hstcp => "couples nothing".to_owned(),
                    _ => format!(
                        "{} coupled, {} joined, {} left",
                        count(connections, "connection"),
                        count(c.joined as usize, "subflow"),
                        c.left
                    ),
                };
                let _ = writeln!(out, "{name:<9} loaded{given}; {coupled}");
                if c.map_full > 0 {
                    let _ = writeln!(
                        out,
                        "          more than {CONNECTIONS} connections: uncoupled subflows asked {} in vain",
                        count(c.map_full as usize, "time")
                    );
                }
                if c.slots_full > 0 {
                    let _ = writeln!(
                        out,
                        "          more than {SLOTS} subflows in a connection: uncoupled ones asked {} in vain",
                        count(c.slots_full as usize, "time")
                    );
                }
                Ok(())
            }
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_kern::Counters;

    #[test]
    fn controllers_read_like_this() {
        let counters = Counters { joined: 5, left: 3, map_full: 0, slots_full: 2 };
        let of = |law, is_registered, figures| Status { law, is_registered, figures };
        let all = [
            of(Law::Lia, false, None),
            of(Law::Olia, true, Some((1, counters))),
            of(Law::Balia, true, None),
            of(Law::Hstcp, true, Some((0, Counters::default()))),
        ];
        let want = "\
rw_lia    not loaded
rw_olia   loaded, given to new connections here; 1 connection coupled, 5 subflows joined, 3 left
          more than 10 subflows in a connection: uncoupled ones asked 2 times in vain
rw_balia  loaded; for figures run this as root where it was loaded
rw_hstcp  loaded; couples nothing
";
        assert_eq!(table(&all, "rw_olia"), want);
    }
}
