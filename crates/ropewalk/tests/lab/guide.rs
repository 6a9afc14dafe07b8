//! The commands of docs/guide/lab.md and link.md, in their order, each as it stands there, but that each
//! lab has a name of its own and programs measure for a second.

use super::*;
use crate::common::listed::commands;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A scenario for where a page has FILE.
const CABLE: &str = r#"
duration = "1500ms"
warmup = "500ms"
[node.a]
[node.b]
[[link]]
name = "wan"
ends = ["a:eth0", "b:eth0"]
rate = "10Mbit/s"
[[flow]]
name = "down"
kind = "udp"
from = "a"
to = "b"
rate = "2Mbit/s"
"#;

/// Runs a command where `scenarios` is.
fn run(command: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_ropewalk")).parent().unwrap().display();
    let line = format!("PATH={programs}:$PATH; exec {command}");
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new("sh").args(["-c", &line]).current_dir(place).output().unwrap()
}

/// A program that was started before may not be ready yet.
fn run_soon(command: &str) -> Output {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let done = run(command);
        if done.status.success() || Instant::now() > until {
            return done;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_commands_of_the_pages_do_what_they_say() {
    if !rustix::process::geteuid().is_root() {
        ropewalk_skip::skip(ropewalk_lab::LabError::NotRoot);
        return;
    }
    let scratch = std::env::temp_dir().join(format!("ropewalk-lab-guide-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let file = scratch.join("cable.toml");
    std::fs::write(&file, CABLE).unwrap();
    let has_ping = Command::new("ping").arg("-V").output().is_ok();
    let (mut lab, mut seen): (Option<Up>, usize) = (None, 0);
    for command in [commands("lab.md"), commands("link.md")].concat() {
        seen += 1;
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        if words[..2] == ["lab", "up"] {
            let name = format!("guide-{seen}-{}", std::process::id());
            // The one before goes first. The scenario stays, so it has no file to remove.
            drop(lab.take());
            lab = Some(Up { name, file: PathBuf::new() });
        }
        let name = lab.as_ref().map_or("", |lab| lab.name.as_str());
        let line = match words[..] {
            ["lab", "up", ..] => command.replace("lab up", &format!("lab up --name {name}")),
            ["lab", "run", ..] | ["sim", ..] | ["compare", ..] => command
                .replace("/tmp/", &format!("{}/", scratch.display()))
                .replace("FILE", &file.display().to_string()),
            ["lab", what, ..] => command.replacen(what, &format!("{what} --lab {name}"), 1),
            _ => panic!("no rule for {command:?}: say what it does"),
        };
        if line.contains(" -- ping ") && !has_ping {
            ropewalk_skip::skip("in part: there is no ping");
            continue;
        }
        let line = line.trim_end_matches(" &").replace(" -c 10.", " -t 1 -c 10.");
        let done = if line.contains(" iperf3 -t ") { run_soon(&line) } else { run(&line) };
        // Figures of a busy machine may be worth nothing (10), or be apart (8).
        let well: &[i32] = match words[..] {
            ["lab", "run", ..] => &[0, 10],
            ["compare", ..] => &[0, 8, 10],
            _ => &[0],
        };
        assert!(done.status.code().is_some_and(|c| well.contains(&c)), "{line}\n{}", said(&done));
        if words[..2] == ["lab", "radio"] {
            assert!(said(&done).starts_with("wlan0 (lab), 5180 MHz"), "{}", said(&done));
        }
    }
    drop(lab);
    let _ = std::fs::remove_dir_all(&scratch);
    assert!(seen >= 15, "{seen}");
}
