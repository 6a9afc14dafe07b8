//! `lab exec`, `lab shell`, `lab radio`, `lab capture`.

use super::{Capture, Exec, Radio, Shell};
use crate::exit::{Code, failure};
use anyhow::Context;
use ropewalk_lab::live::daemon::{Request, command};
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(super) fn exec(args: &Exec) -> anyhow::Result<()> {
    let about = args.name.open()?.about()?;
    let (program, rest) = args.words.split_first().context("no program is named")?;
    become_it(command(&about, &args.node, program)?.args(rest))
}

pub(super) fn shell(args: &Shell) -> anyhow::Result<()> {
    let about = args.name.open()?.about()?;
    let program = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let mut shell = command(&about, &args.node, program)?;
    // What a prompt may show.
    shell.env("ROPEWALK_NODE", &args.node).env("debian_chroot", &args.node);
    become_it(&mut shell)
}

/// `ropewalk link` inside the node.
pub(super) fn radio(args: &Radio) -> anyhow::Result<()> {
    let about = args.name.open()?.about()?;
    let own = std::env::current_exe().context("this program cannot be found")?;
    let mut link = command(&about, &args.node, own)?;
    link.arg("link").args(&args.iface);
    link.args(args.show.json.then_some("--json")).args(args.show.watch.then_some("--watch"));
    become_it(&mut link)
}

/// This process becomes the program, so that signals, terminal and exit code are its own.
fn become_it(command: &mut Command) -> anyhow::Result<()> {
    let error = command.exec();
    let program = command.get_program().to_string_lossy().into_owned();
    Err(failure(Code::Failure, format!("cannot run {program}: {error}; is it installed and in PATH?")))
}

pub(super) fn capture(args: &Capture) -> anyhow::Result<()> {
    if let Some(device) = &args.device {
        return monitor(args, device);
    }
    let mut client = args.name.open()?;
    if args.write.is_none() && std::io::stdout().is_terminal() {
        return Err(failure(
            Code::Usage,
            "a capture is not for a terminal: name a file with --write, or pipe it on",
        ));
    }
    client.ask(&Request::Capture(format!("{}:{}", args.node, args.iface)))?;
    let mut from = client.into_reader();
    let mut out = match &args.write {
        Some(path) => File::create(path).with_context(|| format!("{} cannot be written", path.display()))?,
        // Not by way of std's stdout, which keeps what comes after the last newline.
        None => File::from(std::io::stdout().as_fd().try_clone_to_owned()?),
    };
    // Ctrl-C ends it: what has come is in the file already.
    std::io::copy(&mut from, &mut out).context("the capture cannot be written")?;
    Ok(())
}

/// Keeps a monitor interface there until it is interrupted or the lab ends.
fn monitor(args: &Capture, device: &str) -> anyhow::Result<()> {
    let mut client = args.name.open()?;
    let (node, iface, name) = (&args.node, &args.iface, device.to_owned());
    client.ask(&Request::Monitor { node: node.clone(), iface: iface.clone(), device: name })?;
    println!(
        "{device} in {node} is what {iface} hears: ropewalk lab exec {node} -- tcpdump -ni {device}; Ctrl-C ends it"
    );
    std::io::copy(&mut client.into_reader(), &mut std::io::sink()).context("the lab does not answer")?;
    Ok(())
}
