//! `ropewalk lab`: scenarios on real kernels in real time.
//!
//! The lab itself is `ropewalk-lab`: its daemon holds a scenario up, and the commands here talk to it.

mod controllers;
mod hwsim;
mod inside;
pub(crate) mod machine;
mod map;
pub(crate) mod run;
mod set;
mod top;
mod up;

pub(crate) use controllers::leave_loaded;

use crate::cli::Show;
use crate::exit::{Code, failure};
use crate::sim::Which;
use clap::{Args, Subcommand};
use ropewalk_lab::live::daemon::{Client, Request};
use std::ffi::OsString;
use std::path::PathBuf;

/// `ropewalk lab`.
#[derive(Debug, Args)]
pub(crate) struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What can be done with live scenarios.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a scenario's own flows and events in real time, and print what every flow and station got, as `sim run` does
    Run(run::Run),
    /// Run a scenario's flows over the kernel's own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)
    Hwsim(hwsim::Hwsim),
    /// Check whether this machine can run scenario files live
    Check(run::Check),
    /// Start a lab and keep it running
    Up(Up),
    /// Stop a lab
    Down(Name),
    /// Open a shell in a node
    Shell(Shell),
    /// Run a program in a node
    Exec(Exec),
    /// Show where nodes are and which hear each other
    Map(Name),
    /// Change a running lab: move a station, cut a link, set a radio, start an interferer
    Set(Set),
    /// Watch stations, radios, paths of bonds and links
    Top(Name),
    /// Show queues, completions, stations and channel of a node's radios
    Radio(Radio),
    /// Capture what a radio hears, as pcapng or by a monitor interface
    Capture(Capture),
    /// The first process of a machine in virtual time
    #[command(hide = true)]
    Machine,
}

/// Which lab.
#[derive(Clone, Debug, Args)]
pub(crate) struct Name {
    /// The lab's name; not needed if only one is up
    #[arg(long = "lab", value_name = "NAME")]
    pub lab: Option<String>,
}

impl Name {
    fn open(&self) -> anyhow::Result<Client> {
        Ok(Client::open(self.lab.as_deref())?)
    }
}

/// `ropewalk lab up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub which: Which,
    /// What to call the lab [default: the file's name without its ending]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Stay in the foreground until Ctrl-C
    #[arg(long)]
    pub foreground: bool,
    /// Refuse a scenario whose own flows are too fast for this machine, instead of warning of it
    #[arg(long)]
    pub strict: bool,
}

/// `ropewalk lab shell`.
#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// The node
    pub node: String,
    #[command(flatten)]
    pub name: Name,
}

/// `ropewalk lab exec`.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The node
    pub node: String,
    #[command(flatten)]
    pub name: Name,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub words: Vec<OsString>,
}

/// `ropewalk lab set`.
#[derive(Debug, Args)]
#[command(after_long_help = set::EXAMPLES)]
pub(crate) struct Set {
    /// What to change: a node, `node:radio`, `node:interface`, a link, an interferer, or two radios with a comma between
    pub what: String,
    /// How: up, down, on, off, associate, disassociate, doze, awake, or KEY=VALUE with the keys of a scenario's events
    #[arg(required = true, value_name = "CHANGE")]
    pub changes: Vec<String>,
    #[command(flatten)]
    pub name: Name,
}

/// `ropewalk lab radio`.
#[derive(Debug, Args)]
pub(crate) struct Radio {
    /// The node
    pub node: String,
    /// Its interface [default: all on air]
    pub iface: Option<String>,
    #[command(flatten)]
    pub show: Show,
    #[command(flatten)]
    pub name: Name,
}

/// `ropewalk lab capture`.
#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The node
    pub node: String,
    /// Its interface, or its radio
    pub iface: String,
    #[command(flatten)]
    pub name: Name,
    /// The file [default: standard output, for `| wireshark -k -i -`]
    #[arg(long, short, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Instead of a file, a radiotap monitor interface of this name in the node, for `ropewalk lab exec NODE -- tcpdump -i NAME`; it is there until
    /// Ctrl-C, or until the lab ends
    #[arg(long, value_name = "NAME", conflicts_with = "write")]
    pub device: Option<String>,
}

/// Does what the command line says.
pub(crate) fn run(args: &Lab) -> anyhow::Result<()> {
    match &args.command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Hwsim(args) => hwsim::run(args),
        LabCommand::Check(args) => run::check(args),
        LabCommand::Up(args) => up::run(args),
        LabCommand::Down(name) => {
            name.open()?.ask(&Request::Stop)?;
            Ok(())
        }
        LabCommand::Shell(args) => inside::shell(args),
        LabCommand::Exec(args) => inside::exec(args),
        LabCommand::Map(name) => map::run(name),
        LabCommand::Set(args) => set::run(args),
        LabCommand::Top(name) => top::run(name),
        LabCommand::Radio(args) => inside::radio(args),
        LabCommand::Capture(args) => inside::capture(args),
        LabCommand::Machine if ropewalk_lab::machine::is_inside() => ropewalk_lab::machine::inside::run(),
        LabCommand::Machine => Err(failure(
            Code::Usage,
            "this is for the first process of a machine; see `ropewalk lab run --virtual`",
        )),
    }
}
