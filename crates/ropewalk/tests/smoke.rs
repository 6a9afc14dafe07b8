//! The real binary at both ends, in namespaces. Needs root; without it the tests pass and say so.
//!
//! ```text
//!   client                          gateway
//!   wan1 10.1.1.1 ──── 20 Mb/s ──── 10.1.1.2 wan1
//!   wan2 10.1.2.1 ──── 20 Mb/s ──── 10.1.2.2 wan2
//!                                   10.9.0.1 lo, reached by both
//!   rw0  10.77.0.2 ══════ bond ════ 10.77.0.1 rw0
//! ```

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Iperf, Paths, Ping, Process};

const BINARY: &str = env!("CARGO_BIN_EXE_ropewalk");
const SOON: Duration = Duration::from_secs(10);

/// Both ends' state directories; they go with it.
struct States(PathBuf);

impl States {
    fn new(name: &str) -> States {
        let dir = std::env::temp_dir().join(format!("ropewalk-smoke-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        States(dir)
    }

    fn of(&self, end: &str) -> String {
        self.0.join(end).display().to_string()
    }
}

impl Drop for States {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn root() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    if !root {
        eprintln!("not root: skipped");
    }
    root
}

fn lab() -> Paths {
    let link = || LinkSpec::new(20.0, Duration::from_millis(10));
    Paths::symmetric([link(), link()]).unwrap()
}

fn ropewalk(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(BINARY).args(args).output().unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

fn serve(lab: &Paths, states: &States, more: &[&str]) -> Process {
    let state = states.of("gateway");
    let args =
        ["serve", "--state", &state, "--listen", "0.0.0.0:4500", "--tun", "rw0", "--address", "10.77.0.1/24"];
    let mut gateway = lab.gateway.start(BINARY, args.iter().chain(more)).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    gateway
}

fn invite(states: &States, name: &str) -> String {
    let endpoint = format!("{}:4500", Paths::SHARED);
    let (code, out, err) =
        ropewalk(&["invite", name, "--state", &states.of("gateway"), "--endpoint", &endpoint]);
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 1), "{out}");
    out.trim().to_owned()
}

fn up(lab: &Paths, states: &States, token: &str, more: &[&str]) -> Process {
    let state = states.of("client");
    let args = ["up", token, "--state", &state, "--tun", "rw0"];
    let mut client = lab.client.start(BINARY, args.iter().chain(more)).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    client
}

#[test]
fn a_ping_and_a_flow_pass_through_the_bond() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("bond"));
    let mut gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let mut client = up(&lab, &states, &token, &["--path", "wan1", "--path", "wan2"]);
    let inside = "10.77.0.1".parse().unwrap();
    let ping = Ping::new(inside).run(&lab.client).unwrap();
    assert_eq!(ping.received, ping.sent, "{ping:?}\n{}", client.stderr());
    let flow = Iperf::tcp(inside).seconds(5).start(&lab.client, &lab.gateway).unwrap().finish().unwrap();
    println!("{}", ropewalk(&["status", "--state", &states.of("client")]).1);
    println!("{}", ropewalk(&["status", "--state", &states.of("gateway")]).1);
    println!("{:.1} Mb/s, ping {:?}", flow.received_mbps, ping.median());
    assert!(flow.received_mbps > 25.0, "{:.1} Mb/s: not more than one path", flow.received_mbps);
    client.stop();
    gateway.stop();
    println!("{}\n{}", client.stderr(), gateway.stderr());
}
