//! Where nobody reads what the program says. No root needed.

use std::io::PipeWriter;
use std::process::Command;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(arguments);
    command
}

/// A pipe of which nobody reads.
fn closed() -> PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn an_error_that_nobody_hears_has_its_exit_code() {
    let arguments = ["check", "/nonexistent/ropewalk.toml"];
    let heard = program(&arguments).output().unwrap();
    let unheard = program(&arguments).stderr(closed()).output().unwrap();
    assert!(!heard.status.success() && !heard.stderr.is_empty());
    assert_eq!(unheard.status.code(), heard.status.code());
}

#[test]
fn completions_that_nobody_reads_end_it_without_a_panic() {
    let done = program(&["completions", "bash"]).stdout(closed()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), said.as_ref()), (Some(141), ""));
}
