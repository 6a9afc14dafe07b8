//! `ropewalk`: one link out of every link in reach.
//!
//! The binary is a driver: it opens what the engine of `ropewalk-bond` works on, through `ropewalk-net`, and decides nothing about
//! packets. Its modules:
//!
//! * `cli`: the command line, and `commands`: one file per command.
//! * `daemon`: the data loop that both ends share; `gateway` and `client`: what each end adds to it.
//! * `state`: what is kept on disk: keys, clients, used bytes.
//! * `sim`: the simulator: runs, sweeps, their results; `lab`: the same scenarios live; `compare`: both side by side; `reproduce`:
//!   papers, claim by claim; `experiments`: these as commands, which the feature `lab` has.
//! * `setup`: a gateway or client by a conversation; `doctor`: what is wrong with one.
//! * `address`: what kind of address one is.
//! * `firewall`: puts back what others took away of tables and rules.
//! * `hooks`: programs of the user's that are told what happens.
//! * `roam`: a station of several access points; `bunch`: neighbours' uplinks for one sender.
//! * `probe`: what limits a path.
//! * `web`: a page to look at, in a process of its own.
//! * `wireguard`: settings out of a file of wg-quick.
//! * `control`: the socket by which other commands talk to a running daemon; `report`: what it says of itself.
//!
//! It is a library only so that the fuzzer reaches what it reads ([`fuzzing`]).
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "doc comments of arguments are help texts, where [::] is an address"
)]
#![forbid(unsafe_code)]

/// In the place of std's, which panics where nobody reads standard error: work would end half done.
macro_rules! eprint {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stderr(), $($words)*);
    }};
}

/// The same with the line's end.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod address;
mod bunch;
mod cli;
mod client;
mod commands;
#[cfg(feature = "lab")]
mod compare;
mod config;
mod control;
mod daemon;
mod doctor;
mod exit;
#[cfg(feature = "lab")]
mod experiments;
mod firewall;
#[doc(hidden)]
pub mod fuzzing;
mod gateway;
mod hooks;
#[cfg(feature = "lab")]
mod lab;
mod logging;
mod metrics;
mod probe;
mod qr;
mod report;
#[cfg(feature = "lab")]
mod reproduce;
mod roam;
mod setup;
#[cfg(feature = "lab")]
mod sim;
mod state;
mod store;
mod top;
#[cfg(feature = "web")]
mod web;
mod wireguard;

use std::process::ExitCode;

/// What shells say of a program that a closed pipe has ended: 128 and the number of SIGPIPE.
const CLOSED_PIPE: i32 = 141;

/// Whoever reads no further, as `head` does, is not told of it by a panic, and a full disk below the output is one sentence.
fn end_where_nothing_can_be_printed() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        match said.strip_prefix("failed printing to stdout: ") {
            Some(why) if why.contains("Broken pipe") => std::process::exit(CLOSED_PIPE),
            Some(why) => {
                eprintln!("ropewalk: the output cannot be written: {why}; send it elsewhere");
                std::process::exit(exit::Code::Unwritable as i32);
            }
            None => usual(panic),
        }
    }));
}

/// The program.
pub fn main() -> ExitCode {
    end_where_nothing_can_be_printed();
    let cli = cli::parse();
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ropewalk: {error:#}");
            exit::code_of(&error)
        }
    }
}
