//! `ropewalk lab`, the binary for real. Needs root; says so and passes otherwise.

use std::process::{Command, Output};

const CELL: &str = r#"
duration = "10s"
[node.ap]
[node.ap.radio.r0]
standard = "11n"
channel = 36
[node.ap.interface.wlan0]
radio = "r0"
mode = "ap"
ssid = "cell"
[node.sta]
position = [2.0, 0.0]
[node.sta.radio.r0]
standard = "11n"
channel = 36
[node.sta.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "cell"
[node.server]
[[link]]
name = "wire"
ends = ["ap:eth0", "server:eth0"]
"#;

/// A lab that is taken down at the end of its test, however it ends.
struct Up {
    name: String,
    file: std::path::PathBuf,
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = ropewalk(&["lab", "down", "--lab", &self.name]);
        let _ = std::fs::remove_file(&self.file);
    }
}

fn ropewalk(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ropewalk")).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// None, with the reason on standard error, where the lab cannot work.
fn up(name: &str) -> Option<Up> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: {}", ropewalk_lab::LabError::NotRoot);
        return None;
    }
    let name = format!("{name}-{}", std::process::id());
    let file = std::env::temp_dir().join(format!("{name}.toml"));
    std::fs::write(&file, CELL).unwrap();
    let done = ropewalk(&["lab", "up", file.to_str().unwrap(), "--name", &name]);
    assert!(done.status.success(), "{}", said(&done));
    assert!(said(&done).contains("is up"));
    Some(Up { name, file })
}

fn namespaces_of(pid: &str) -> usize {
    let all = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    all.filter(|e| e.file_name().to_string_lossy().starts_with(&format!("rw-{pid}-"))).count()
}

/// Until the process is gone, or is one that only its parent's wait is missing for.
fn wait_for_the_end_of(pid: &str) {
    while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z ")) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn pid_of(up: &Up) -> String {
    let twice = ropewalk(&["lab", "up", up.file.to_str().unwrap(), "--name", &up.name]);
    assert_eq!(twice.status.code(), Some(4), "{}", said(&twice));
    assert!(said(&twice).contains("is up already"));
    let node = ropewalk(&["lab", "exec", "sta", "--lab", &up.name, "--", "ip", "netns", "identify"]);
    said(&node).split('-').nth(1).unwrap().to_owned()
}

#[test]
fn a_lab_goes_up_carries_changes_and_goes_down_without_a_trace() {
    let Some(lab) = up("cell") else { return };
    let exec = |words: &[&str]| {
        let mut all = vec!["lab", "exec", "sta", "--lab", &lab.name, "--"];
        all.extend(words);
        ropewalk(&all)
    };
    let ap = exec(&["sh", "-c", "ip neighbour | cut -d' ' -f1"]);
    let ap = said(&ap).trim().to_owned();
    let has_ping = Command::new("ping").arg("-V").output().is_ok();
    if !has_ping {
        eprintln!("skipped in part: there is no ping to ask who is reached");
    }
    let ping = |expected: bool| {
        !has_ping || exec(&["ping", "-c", "2", "-W", "1", "-i", "0.2", &ap]).status.success() == expected
    };
    assert!(ping(true) && exec(&["sh", "-c", "exit 7"]).status.code() == Some(7));
    let set = |what: &str, change: &str| ropewalk(&["lab", "set", "--lab", &lab.name, what, change]);
    assert!(set("sta", "position=9000,0").status.success());
    assert!(ping(false), "nobody hears a station so far away");
    let map = said(&ropewalk(&["lab", "map", "--lab", &lab.name]));
    assert!(map.contains("~ap:r0") && map.contains("wire"), "{map}");
    let wrong = set("wire", "rate=fast");
    assert!(!wrong.status.success() && said(&wrong).contains("rate"), "{}", said(&wrong));
    assert!(set("wire", "down").status.success());
    let pid = pid_of(&lab);
    assert_eq!(namespaces_of(&pid), 3);
    let down = ropewalk(&["lab", "down", "--lab", &lab.name]);
    assert!(down.status.success(), "{}", said(&down));
    assert_eq!(namespaces_of(&pid), 0);
    wait_for_the_end_of(&pid);
    let gone = ropewalk(&["lab", "map", "--lab", &lab.name]);
    assert_eq!(gone.status.code(), Some(7), "{}", said(&gone));
}

#[test]
fn the_next_start_cleans_up_after_a_lab_that_was_killed() {
    let Some(lab) = up("killed") else { return };
    let pid = pid_of(&lab);
    let killed = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    wait_for_the_end_of(&pid);
    let again = ropewalk(&["lab", "up", lab.file.to_str().unwrap(), "--name", &lab.name]);
    assert!(again.status.success(), "{}", said(&again));
    assert_eq!(namespaces_of(&pid), 0);
}
