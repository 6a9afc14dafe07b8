//! What stands on a page of the guide.

use super::listed::text;
use super::{BINARY, SOON};
use ropewalk_lab::{Namespace, Process};
use std::path::Path;

/// Its blocks of a language.
pub(crate) fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text(page).split(fence.as_str()).skip(1).map(|b| b.split("```").next().unwrap().to_owned()).collect()
}

/// What `sh` is told to run a command, which finds this build's program.
pub(crate) fn shell(command: &str) -> [String; 2] {
    let programs = Path::new(BINARY).parent().unwrap().display();
    ["-c".into(), format!("PATH={programs}:$PATH; exec {command}")]
}

/// Runs a command on a machine, and gives what it says.
pub(crate) fn run(at: &Namespace, command: &str) -> String {
    let out = at.command("sh").args(shell(command)).output().unwrap();
    let [said, complaint] = [out.stdout, out.stderr].map(|s| String::from_utf8(s).unwrap());
    assert!(out.status.success(), "{command}\n{said}\n{complaint}");
    said
}

/// Starts a daemon on a machine by a command, and waits until it says so.
pub(crate) fn start(at: &Namespace, command: &str, until: &str) -> Process {
    let mut daemon = at.start("sh", shell(command)).unwrap();
    daemon.wait_for_line(until, SOON).unwrap_or_else(|e| panic!("{command}: {e}"));
    daemon
}
