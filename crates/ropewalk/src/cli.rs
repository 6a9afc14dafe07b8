//! The command line.

use crate::commands::{
    Ap, Check, Completions, Invite, LinkArgs, Mptcp, Pages, PathArgs, PepArgs, Repeater, Restore, Revoke,
    Serve, Status, Up,
};
use crate::config::File;
use crate::roam::Roam;
use crate::top::Top;
use clap::{Args, Parser, Subcommand, ValueEnum};
use ropewalk_session::Endpoint;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// One encrypted link out of every link in reach.
#[derive(Debug, Parser)]
#[command(name = "ropewalk", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a gateway: the end that clients reach
    Serve(Serve),
    /// Make a token that lets one device in, and print it
    Invite(Invite),
    /// Connect this machine to a gateway over every link it has
    Up(Up),
    /// Run the access point of a repeater with two radios
    Ap(Ap),
    /// Run a repeater with two radios
    Repeater(Repeater),
    /// Be a station of several access points at once
    Roam(Roam),
    /// Say how the running bond does
    Status(Status),
    /// Watch the running bond
    Top(Top),
    /// Change the paths of the running bond
    Path(PathArgs),
    /// Say how long interfaces' queues are, what became of packets, and how radios hear their neighbours
    Link(LinkArgs),
    /// Help TCP connections that this router forwards: split them, or repair loss behind it
    Pep(PepArgs),
    /// Let a device in no more, and end its session
    Revoke(Revoke),
    /// Take back what a daemon that was killed, or failed under a kill switch, left on this machine: routes, firewall, settings
    Restore(Restore),
    /// Simulate a scenario: radios, links, TCP and bonds in virtual time
    Sim(crate::sim::Sim),
    /// Put two reports of a scenario side by side, and say whether they agree
    Compare(crate::compare::Compare),
    /// Measure a path: what limits it, what to set, and what that would give
    Probe(crate::probe::Probe),
    /// Run the scenarios of a paper and write what it reported beside what came out
    Reproduce(crate::reproduce::Reproduce),
    /// Make a scenario live: network namespaces whose radios and cables are models
    Lab(crate::lab::Lab),
    /// Coupled congestion control for the kernel's own MPTCP
    Mptcp(Mptcp),
    /// Check a configuration file
    Check(Check),
    /// Print the completions for a shell
    Completions(Completions),
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man(Pages),
    /// Write the reference pages into a directory
    #[command(hide = true)]
    Reference(Pages),
}

/// Where the daemon keeps what it must not forget.
#[derive(Clone, Debug, Args)]
pub(crate) struct State {
    /// Directory for keys and state; made if it is not there
    #[arg(long = "state", value_name = "DIR")]
    pub dir: PathBuf,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// What both daemons take.
#[derive(Clone, Debug, Args)]
pub(crate) struct Daemon {
    /// Read settings from this TOML file; the command line goes before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Name of the network device [default: the first free of rw0, rw1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How log lines look
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
}

impl Daemon {
    /// Puts what both daemons take into the configuration.
    pub(crate) fn merge_into(&self, file: &mut File) {
        file.log.level = self.log.clone().or(file.log.level.take());
        file.log.format = self.log_format.or(file.log.format);
        file.metrics.listen = self.metrics.or(file.metrics.listen);
    }
}

/// How something that changes is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct Show {
    /// Print JSON: one line, and with --watch one each second
    #[arg(long)]
    pub json: bool,
    /// Go on until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

/// An interface's name.
pub(crate) fn interface(name: &str) -> Result<String, String> {
    check_interface(name).map(|()| name.to_owned())
}

/// `IFACE` or `IFACE@HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathName {
    /// The interface.
    pub interface: String,
    /// Its own endpoint; without one, those of the token.
    pub endpoint: Option<Endpoint>,
}

impl std::str::FromStr for PathName {
    type Err = String;

    fn from_str(text: &str) -> Result<PathName, String> {
        let (interface, endpoint) = match text.split_once('@') {
            Some((interface, endpoint)) => {
                (interface, Some(endpoint.parse::<Endpoint>().map_err(|e| e.to_string())?))
            }
            None => (text, None),
        };
        check_interface(interface)?;
        Ok(PathName { interface: interface.into(), endpoint })
    }
}

/// Whether a text can name a network interface.
pub(crate) fn check_interface(name: &str) -> Result<(), String> {
    if (1..=15).contains(&name.len()) && !name.bytes().any(|b| b == b'/' || b.is_ascii_whitespace()) {
        return Ok(());
    }
    Err(format!("`{name}` cannot name a network interface: 1 to 15 bytes, no slash, no space"))
}

impl std::fmt::Display for PathName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.endpoint {
            Some(endpoint) => write!(f, "{}@{endpoint}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_lines_of_the_contract_are_taken() {
        for line in [
            "ropewalk serve --state d --listen 0.0.0.0:4500 --tun rw0 --address 10.77.0.1/24",
            "ropewalk serve --state d --listen [::]:4500 --listen 0.0.0.0:1 --address 10.0.0.1/8 --address fd77::1/64 --masquerade",
            "ropewalk invite alice --state d --endpoint gw.example.org:4500 --endpoint [2001:db8::1]:4500",
            "ropewalk up - --state d --kill-switch --route 0.0.0.0/0",
            "ropewalk up --token-file f --state d",
            "ropewalk restore --state d",
            "ropewalk serve --state d --client-to-client",
            "ropewalk up rw1_x --state d --tun rw0 --path wan0 --path wan1@192.0.2.1:4500 --route 0.0.0.0/0 --route ::/0 --dns 10.77.0.1",
            "ropewalk ap --config f",
            "ropewalk ap --config f --state d --log debug --metrics 127.0.0.1:9100",
            "ropewalk ap invite attic --config f --endpoint 192.0.2.1:4500",
            "ropewalk repeater --config f",
            "ropewalk repeater rw1_x --config f --state d --lan eth0 --timeout 5",
            "ropewalk roam",
            "ropewalk roam --radio phy0 --interface wlan0 --networks f --config g --state d --log debug",
            "ropewalk roam scan --interface wlan0 --json",
            "ropewalk roam status --state d --json",
            "ropewalk status --state d --json",
            "ropewalk top --state d",
            "ropewalk path add wan0@gw:1 --state d --class backup",
            "ropewalk path remove wan0 --state d",
            "ropewalk path set wan0 --class metered --cap 10GB --reset-day 1 --weight 3 --state d",
            "ropewalk revoke alice --state d",
            "ropewalk check file.toml",
            "ropewalk serve --config f --state d",
            "ropewalk sim run f.toml --seed 3 --set a.b=1 --set c=2 --out d --pcap ap:wlan0 --pcap sta:r0 --json",
            "ropewalk sim sweep f.toml --jobs 2 --out d --resume",
            "ropewalk sim check f.toml g.toml",
            "ropewalk lab run f.toml --seed 3 --set a.b=1 --out d --json",
            "ropewalk lab check f.toml g.toml",
            "ropewalk compare sim-out lab-out/report.json --all",
            "ropewalk probe --serve --listen 0.0.0.0:4510 --key-file f",
            "ropewalk probe host:4510 --key k --seconds 2 --streams 4 --window 16KiB --json",
            "ropewalk reproduce 003 --sim --quick --out d --runs e --resume",
            "ropewalk lab up f.toml --name n --seed 3 --set a.b=1",
            "ropewalk lab exec ap --lab n -- iperf3 -s",
            "ropewalk lab shell ap",
            "ropewalk lab set sta position=1,2 --lab n",
            "ropewalk lab capture ap wlan0 --write f.pcapng",
            "ropewalk lab down --lab n",
            "ropewalk mptcp cc load olia balia",
            "ropewalk mptcp cc status --json",
            "ropewalk mptcp cc unload",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in [
            "ropewalk serve",
            "ropewalk ap",
            "ropewalk repeater",
            "ropewalk ap invite attic",
            "ropewalk repeater --config f --lan a-name-that-is-too-long",
            "ropewalk up rw1_x --token-file f --state d",
            "ropewalk up rw1_x --state d --path wan0@nowhere",
            "ropewalk up rw1_x --state d --path a-name-that-is-too-long",
            "ropewalk path set wan0 --state d --reset-day 32",
            "ropewalk path set wan0 --state d --cap lots",
            "ropewalk invite alice --state d --endpoint 192.0.2.1",
            "ropewalk roam --interface a-name-that-is-too-long",
            "ropewalk mptcp cc load",
            "ropewalk mptcp cc load cubic",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
