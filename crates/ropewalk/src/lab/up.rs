//! `lab up`: the daemon that holds a scenario up.

use super::Up;
use super::run::{located, too_fast};
use crate::exit::{Code, failure};
use anyhow::Context;
use ropewalk_lab::Topology;
use ropewalk_lab::live::daemon::{Claim, Client, own_namespaces, serve};
use ropewalk_lab::live::{Forecast, Lab, Options};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the daemon says when everything is there.
const READY: &str = "ready";

pub(super) fn run(args: &Up) -> anyhow::Result<()> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => args.which.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    if args.foreground {
        return hold(&name, args);
    }
    // A wrong file is told here, where its colours and its exit code are.
    args.which.document()?.scenario()?;
    start(&name, args)?;
    let about = Client::open(Some(&name))?.about()?;
    println!("lab {name} is up, process {}", about.pid);
    for node in &about.nodes {
        let all: Vec<String> = node.interfaces.iter().map(|(i, address)| format!("{i} {address}")).collect();
        println!("  {:<12} {}", node.name, all.join(", "));
    }
    for d in &about.daemons {
        println!("  {:<12} ropewalk lab exec {} -- ropewalk status --state {}", d.bond, d.node, d.state);
    }
    println!("ropewalk lab exec NODE -- CMD…, shell NODE, map, top, set …, down");
    Ok(())
}

/// Starts this program again in the background, without root in namespaces of its own, and waits until it is ready.
fn start(name: &str, args: &Up) -> anyhow::Result<()> {
    let which = &args.which;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let mut command = Command::new(program);
    command.args(["lab", "up", "--foreground", "--name", name]).arg(&which.file);
    if let Some(seed) = which.seed {
        command.arg("--seed").arg(seed.to_string());
    }
    if args.strict {
        command.arg("--strict");
    }
    command.args(which.settings.iter().flat_map(|setting| ["--set", setting]));
    command.env("ROPEWALK_LAB_DIR", ropewalk_lab::live::daemon::directory());
    if !rustix::process::geteuid().is_root() {
        own_namespaces(&mut command);
    }
    // Out of reach of the terminal's Ctrl-C.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| no_namespaces(&e))?;
    for line in BufReader::new(child.stdout.take().context("a pipe")?).lines() {
        match line?.trim() {
            READY => return Ok(()),
            warning => eprintln!("ropewalk: {warning}"),
        }
    }
    let output = child.wait_with_output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    let sentence = error.trim().trim_start_matches("ropewalk: ").to_owned();
    Err(failure(
        Code::from_number(output.status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1)),
        sentence,
    ))
}

/// What to say when the kernel refuses namespaces to somebody who is not root.
pub(super) fn no_namespaces(error: &std::io::Error) -> anyhow::Error {
    let sentence = format!(
        "the lab cannot have namespaces of its own without root ({error}): run it as root, or allow unprivileged user namespaces \
         (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    );
    failure(Code::Rights, sentence)
}

/// Holds the lab up until it is told to end.
fn hold(name: &str, args: &Up) -> anyhow::Result<()> {
    let ended = Arc::new(AtomicBool::new(false));
    // Also SIGHUP: a terminal that closes ends what is in its foreground; the background is in no terminal's.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ended)).context("a signal cannot be watched")?;
    }
    let document = args.which.document()?;
    let scenario = document.scenario()?;
    let claim = Claim::new(name)?;
    Topology::cleanup_stale();
    let forecast =
        Forecast::of(&scenario, &document.directory()).map_err(|error| located(&document, error))?;
    if let Some(warning) = too_fast(&forecast, args.strict)? {
        println!("{warning}");
    }
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    let ready = || {
        let mut lab = Lab::start(&scenario, &Options::new(&document.directory()))?;
        lab.start_bonds(&program)?;
        Ok(lab)
    };
    let lab = ready().map_err(|error| located(&document, error))?;
    println!("{READY}");
    serve(claim, lab, document, || ended.load(Ordering::Relaxed))?;
    Ok(())
}
