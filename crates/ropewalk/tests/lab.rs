//! `ropewalk lab`, the binary for real. Needs root; says so and passes otherwise.

mod guide;
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
    up_with(name, CELL)
}

fn up_with(name: &str, scenario: &str) -> Option<Up> {
    if !rustix::process::geteuid().is_root() {
        ropewalk_skip::skip(ropewalk_lab::LabError::NotRoot);
        return None;
    }
    let name = format!("{name}-{}", std::process::id());
    let file = std::env::temp_dir().join(format!("{name}.toml"));
    std::fs::write(&file, scenario).unwrap();
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
        ropewalk_skip::skip("in part: there is no ping to ask who is reached");
    }
    let ping = |expected: bool| {
        !has_ping || exec(&["ping", "-c", "2", "-W", "1", "-i", "0.2", &ap]).status.success() == expected
    };
    assert!(ping(true) && exec(&["sh", "-c", "exit 7"]).status.code() == Some(7));
    let set = |what: &str, change: &str| ropewalk(&["lab", "set", "--lab", &lab.name, what, change]);
    assert!(set("sta", "position=9000,0").status.success());
    assert!(ping(false), "nobody hears a station so far away");
    let radio = said(&ropewalk(&["lab", "radio", "sta", "wlan0", "--json", "--lab", &lab.name]));
    assert!(radio.starts_with(r#"[{"interface":"wlan0","source":"lab","#), "{radio}");
    assert!(radio.contains(r#""frequency_mhz":5180,"width_mhz":20"#), "{radio}");
    let none = ropewalk(&["lab", "radio", "server", "lo", "--lab", &lab.name]);
    assert!(!none.status.success() && said(&none).contains("lo has no link feedback"), "{}", said(&none));
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

const BONDED: &str = r#"
duration = "10s"
[node.client]
tcp = { congestion = "newreno", ecn = "ask", send-buffer = "64kB" }
mptcp = { endpoints = ["wan2"], subflows = 1, add-addr-accepted = 3 }
[node.gateway]
tcp = { receive-buffer = "16kB", ecn = "off" }
[[link]]
ends = ["client:wan1", "gateway:wan1"]
[[link]]
ends = ["client:wan2", "gateway:wan2"]
[bond.rw0]
client = "client"
gateway = "gateway"
paths = ["wan1", "wan2"]
"#;

#[test]
fn nodes_are_set_as_the_file_says_and_its_bonds_are_up() {
    let Some(lab) = up_with("bonded", BONDED) else { return };
    let exec = |node: &str, line: &str| {
        said(&ropewalk(&["lab", "exec", node, "--lab", &lab.name, "--", "sh", "-c", line])).trim().to_owned()
    };
    let sysctl = |node: &str, key: &str| exec(node, &format!("cat /proc/sys/net/ipv4/{key}"));
    assert_eq!(sysctl("client", "tcp_ecn"), "1");
    assert_eq!(sysctl("gateway", "tcp_ecn"), "0");
    assert_eq!(sysctl("client", "tcp_wmem"), "4096\t128000\t128000");
    assert!(sysctl("gateway", "tcp_rmem").ends_with("26666"));
    // The default of the namespace, or every route of it.
    for (node, control) in [("client", "reno"), ("gateway", "cubic")] {
        let default = sysctl(node, "tcp_congestion_control");
        let routes = exec(node, "ip -4 route show table all type unicast");
        assert!(routes.contains("rw0"), "{routes}");
        let by_route = routes.lines().all(|route| route.trim_end().ends_with(&format!("congctl {control}")));
        assert!(default == control || by_route, "{node}: {default}; {routes}");
    }
    assert_eq!(
        exec("client", "ip mptcp limits").split_whitespace().collect::<String>(),
        "add_addr_accepted3subflows1"
    );
    let endpoints = exec("client", "ip mptcp endpoint");
    assert!(endpoints.contains("subflow dev wan2") && !endpoints.contains("wan1"), "{endpoints}");
    let daemons = ropewalk(&["lab", "exec", "client", "--lab", &lab.name, "--", "ip", "-o", "-4", "address"]);
    assert!(said(&daemons).contains("rw0    inet 10.77.0.2/24"), "{}", said(&daemons));
}
