//! Nothing stays behind: not after the end, not after Ctrl-C, and not for long after a kill -9. Needs root; says so and
//! passes otherwise.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{LabError, Paths, Topology, clean_on_interrupt};
use rustix::process::{Pid, Signal, kill_process};

/// Set in the environment of a copy of this program that is to build a lab and wait for its end.
const VICTIM: &str = "ROPEWALK_LAB_VICTIM";

fn possible() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        ropewalk_skip::skip(LabError::NotRoot);
    }
    root
}

fn lab() -> Paths {
    Paths::symmetric([LinkSpec::new(50.0, Duration::from_millis(1))]).unwrap()
}

fn exists(namespace: &str) -> bool {
    Path::new("/run/netns").join(namespace).exists()
}

fn runs(pid: u32) -> bool {
    // A zombie has ended; whoever adopted it has not looked yet.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + limit;
    while !done() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn dropping_removes_namespaces_processes_and_files() {
    if !possible() {
        return;
    }
    let lab = lab();
    let (name, logs) = (lab.client.name().to_owned(), lab.topology.logs().to_owned());
    let sleeper = lab.client.start("sleep", ["1000"]).unwrap();
    let cable = lab.cables[0].clone();
    // A daemon that nobody holds, as a program under test might leave.
    lab.gateway.shell("setsid sleep 1000 >/dev/null 2>&1 &").unwrap();
    let inside = Command::new("ip").args(["netns", "pids", lab.gateway.name()]).output().unwrap();
    let daemon: u32 = String::from_utf8_lossy(&inside.stdout).trim().parse().unwrap();
    let gateway = lab.gateway.name().to_owned();
    assert!(exists(&name) && exists(&gateway) && logs.is_dir() && runs(daemon));
    drop(lab);
    assert!(!exists(&name) && !exists(&gateway) && !logs.exists());
    assert!(within(Duration::from_secs(2), || !runs(daemon) && !runs(sleeper.id())));
    assert!(matches!(cable.set_up(true), Err(LabError::EmulatorGone)));
}

#[test]
fn processes_end_with_their_handles() {
    if !possible() {
        return;
    }
    let lab = lab();
    let mut script = lab.client.start("sh", ["-c", "echo ready; echo oops >&2; exec sleep 1000"]).unwrap();
    let patience = Duration::from_secs(5);
    assert_eq!(script.wait_for_line("ready", patience).unwrap(), "ready");
    assert_eq!(script.wait_for_line("oops", patience).unwrap(), "oops");
    let pid = script.id();
    drop(script);
    assert!(!runs(pid));
    let mut short = lab.client.start("sh", ["-c", "echo so long; exit 3"]).unwrap();
    let silent = short.wait_for_line("hello", patience).unwrap_err().to_string();
    assert!(silent.contains("exit status: 3") && silent.contains("so long"), "{silent}");
    let missing = lab.client.start("no-such-program", [""; 0]).unwrap_err().to_string();
    assert!(missing.contains("is it installed"), "{missing}");
    let failed = lab.client.exec("ip", ["route", "add", "nonsense"]).unwrap_err().to_string();
    assert!(failed.starts_with("`ip route add nonsense` failed"), "{failed}");
}

/// Not a test by itself: what the victims below run.
#[test]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    clean_on_interrupt().unwrap();
    let lab = lab();
    let _sleeper = lab.client.start("sleep", ["1000"]).unwrap();
    println!("\nvictim {}", lab.client.name());
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts a copy of this program that builds a lab; gives it with the name of its client's namespace.
fn start_victim() -> (std::process::Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::victim", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let name = lines.map_while(Result::ok).find_map(|l| l.strip_prefix("victim ").map(str::to_owned));
    (child, name.expect("the victim tells its namespace"))
}

fn pids(namespace: &str) -> Vec<u32> {
    let said = Command::new("ip").args(["netns", "pids", namespace]).output().unwrap();
    String::from_utf8_lossy(&said.stdout).lines().filter_map(|l| l.trim().parse().ok()).collect()
}

#[test]
fn an_interrupted_run_cleans_up() {
    if !possible() {
        return;
    }
    let (mut child, name) = start_victim();
    let inside = pids(&name);
    assert!(exists(&name) && inside.len() == 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
    assert!(!exists(&name) && !exists(&name.replace("client", "gateway")));
    assert!(within(Duration::from_secs(2), || !runs(inside[0])));
}

#[test]
fn the_next_run_cleans_up_after_a_killed_one() {
    if !possible() {
        return;
    }
    let (mut child, name) = start_victim();
    let inside = pids(&name);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(exists(&name), "a killed run cannot clean up");
    // Not who removed it is asked: another run on this machine may have been faster.
    Topology::cleanup_stale();
    assert!(!exists(&name) && !exists(&name.replace("client", "gateway")));
    assert!(within(Duration::from_secs(2), || !runs(inside[0])));
}
