//! `ropewalk probe` as a user meets it: on loopback, and along a lab's cables (root; without it those
//! tests pass and say so).
//!
//! ```text
//!   client 10.1.1.1 ──── 40 Mb/s, 10 ms ──── 10.1.1.2 gateway
//! ```

use crate::common::listed::commands;
use crate::common::{BINARY, SOON, root, ropewalk};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Cable, CableSpec, End, Namespace, Paths, Topology};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const KEY: &str = "a key for tests";

/// A server on loopback; it ends with this.
struct Server {
    child: Child,
    at: String,
}

impl Server {
    fn start(key: &[&str]) -> (Server, String) {
        // Nobody reads what else it says.
        let (server, line, _) = Server::heard(key);
        (server, line)
    }

    fn heard(key: &[&str]) -> (Server, String, BufReader<ChildStdout>) {
        let mut command = Command::new(BINARY);
        command.args(["probe", "--serve", "--listen", "127.0.0.1:0"]).args(key);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut said, mut line) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        said.read_line(&mut line).unwrap();
        let at = line.split_whitespace().nth(2).unwrap().trim_end_matches(';').to_owned();
        (Server { child, at }, line, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn a_path_is_measured_with_the_key_that_the_server_prints() {
    let (server, line) = Server::start(&[]);
    let key = line.trim().rsplit(' ').next().unwrap();
    let (code, out, err) =
        ropewalk(&["probe", &server.at, "--key", key, "--seconds", "0.5", "--streams", "2", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let found = json(&out);
    assert_eq!(found["hops"], 1, "{out}");
    for direction in ["up", "down"] {
        assert!(found[direction]["one"]["mbps"].as_f64().unwrap() > 0.0, "{out}");
        assert_eq!(found[direction]["several"]["streams"], 2);
        assert!(found[format!("limit_{direction}")]["set"].is_string());
    }
    assert_eq!(found["idle"]["sent"], found["idle"]["received"], "{out}");
    assert_eq!(found["mptcp"], Value::Null, "nobody asked for it");
    // And again, for people: one session does not spoil the next.
    let (code, out, _) = ropewalk(&["probe", &server.at, "--key", key, "--seconds", "0.5"]);
    assert_eq!(code, 0);
    assert!(out.contains("1 hop\n") && out.contains("\nup: ") && out.contains("  set: "), "{out}");
}

#[test]
fn the_commands_of_the_page_say_what_binds() {
    let all = commands("probe.md");
    let [serve, ask, mptcp] = &all[..] else { panic!("no rule for {all:?}: say what they do") };
    // As the page has it, but at a port of its own.
    assert_eq!(serve, "ropewalk probe --serve");
    let (server, line) = Server::start(&[]);
    let key = line.trim().rsplit(' ').next().unwrap();
    let has_mptcp = std::fs::read_to_string("/proc/sys/net/mptcp/enabled").is_ok_and(|e| e.trim() == "1");
    for command in [ask, mptcp] {
        let line = command.replace("HOST", &server.at).replace("KEY", key) + " --seconds 0.5";
        let (code, out, err) = ropewalk(&line.split(' ').skip(1).collect::<Vec<_>>());
        if command == mptcp && !has_mptcp {
            assert!(code != 0 && err.contains("MPTCP"), "{line}: {err}");
            continue;
        }
        assert_eq!(code, 0, "{line}: {err}");
        assert!(out.contains("\nup: ") && out.contains("\ndown: "), "{out}");
        assert_eq!(out.contains("mptcp"), command == mptcp, "{out}");
    }
}

#[test]
fn who_does_not_know_the_key_gets_nothing() {
    let (server, _) = Server::start(&["--key", KEY]);
    let (code, _, err) = ropewalk(&["probe", &server.at, "--key", "another key"]);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("the key is wrong"), "{err}");
    // A key may begin with a hyphen: one in 64 of those that the server makes does.
    let (code, _, err) = ropewalk(&["probe", &server.at, "--key", "-cXk2Jrr0dd1bD8_xyz"]);
    assert_eq!(code, 5, "{err}");
    // Neither an unknown sender's datagrams nor its bytes are answered with more than the greeting.
    let unknown = UdpSocket::bind("127.0.0.1:0").unwrap();
    unknown.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    unknown.send_to(&[0; 1400], &server.at).unwrap();
    assert!(unknown.recv(&mut [0; 2048]).is_err());
    let mut stream = TcpStream::connect(&server.at).unwrap();
    stream.write_all(&[b'x'; 5000]).unwrap();
    let mut said = Vec::new();
    // The server closes with unread bytes, which TCP tells as a reset.
    let _ = stream.read_to_end(&mut said);
    assert!(said.len() < 200, "{}", said.len());
    // And it still serves.
    let (code, _, err) = ropewalk(&["probe", &server.at, "--key", KEY, "--seconds", "0.5", "--json"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn the_server_waits_for_descriptors() {
    let (server, _, said) = Server::heard(&["--key", KEY]);
    let (pid, usual) = (Pid::from_child(&server.child), getrlimit(Resource::Nofile));
    let bound = |limit: Rlimit| prlimit(Some(pid), Resource::Nofile, limit).unwrap();
    bound(Rlimit { current: Some(0), maximum: usual.maximum });
    // It may have a descriptor for this one already.
    drop(TcpStream::connect(&server.at).unwrap());
    let mut lines = said.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("no connection can be accepted")), "it ended");
    bound(usual);
    drop(TcpStream::connect(&server.at).unwrap());
    let line = lines.next().unwrap();
    assert!(line.starts_with("127.0.0.1: "), "{line}");
}

#[test]
fn what_cannot_be_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    for (args, exit, words) in [
        (&["probe"][..], 2, "required"),
        (&["probe", "host", "--serve"][..], 2, "cannot be used with"),
        (&["probe", "--serve", "--mptcp"][..], 2, "cannot be used with"),
        (&["probe", "127.0.0.1"][..], 2, "the key is missing"),
        (&["probe", "127.0.0.1", "--key", "short"][..], 2, "too short"),
        (&["probe", "127.0.0.1", "--key-file", "/nowhere"][..], 2, "cannot be read"),
        (&["probe", "127.0.0.1", "--key", KEY, "--seconds", "0"][..], 2, "0.5 to"),
        (&["probe", "127.0.0.1", "--key", KEY, "--window", "16"][..], 2, "such as 16KiB"),
        (&["probe", "127.0.0.1:1", "--key", KEY][..], 6, "start `ropewalk probe --serve` there"),
        (&["probe", "--serve", "--listen", &at][..], 4, "is taken"),
        (&["probe", "--serve", "--listen", "192.0.2.1:0"][..], 2, "no address of this machine"),
    ] {
        let (code, out, err) = ropewalk(args);
        assert_eq!(code, exit, "{args:?}: {out}{err}");
        assert!(err.contains(words), "{args:?}: {err}");
    }
}

/// The mesh paper's case: a window too small for rate and round trip. It is found, in both directions.
#[test]
fn a_window_that_binds_is_found() {
    if !root() {
        return;
    }
    let lab = Paths::symmetric([LinkSpec::new(40.0, Duration::from_millis(10))]).unwrap();
    let mut server = lab.gateway.start(BINARY, ["probe", "--serve", "--key", KEY]).unwrap();
    server.wait_for_line("listening", SOON).unwrap();
    let args = ["probe", "10.1.1.2", "--key", KEY, "--seconds", "2", "--window", "16KiB", "--json"];
    let output = lab.client.exec(BINARY, args).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}");
    server.stop();
    let found = json(&text);
    assert_eq!(found["hops"], 1, "{text}");
    for direction in ["limit_up", "limit_down"] {
        assert_eq!(found[direction]["limit"], "window", "{text}");
        assert!(found[direction]["gain"].as_f64().unwrap() > 2.0, "{text}");
        // 40 Mbit/s in 20 ms are 100 kB; with the margin, and with what the machine's own load adds, more.
        assert!(found[direction]["window_bytes"].as_u64().unwrap() > 64 << 10, "{text}");
        assert!(found[direction]["streams"].as_u64().unwrap() >= 3, "{text}");
    }
}

/// A cable that loses one packet of a hundred, whatever the machine's congestion control makes of it.
#[test]
fn losses_that_bind_are_found() {
    if !root() {
        return;
    }
    let lab = Paths::symmetric([LinkSpec::new(40.0, Duration::from_millis(10)).loss_percent(1.0)]).unwrap();
    let mut server = lab.gateway.start(BINARY, ["probe", "--serve", "--key", KEY]).unwrap();
    server.wait_for_line("listening", SOON).unwrap();
    let output = lab.client.exec(BINARY, ["probe", "10.1.1.2", "--key", KEY, "--json"]).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}");
    server.stop();
    let found = json(&text);
    for direction in ["limit_up", "limit_down"] {
        assert_eq!(found[direction]["limit"], "loss", "{text}");
        assert!(found[direction]["set"].as_str().unwrap().contains("`ropewalk up`"), "{text}");
        assert!(found[direction]["streams"].as_u64().unwrap() >= 3, "{text}");
    }
}

/// A link that is full and keeps a tenth of a second waiting; what a user reads of it.
#[test]
fn a_long_queue_is_found() {
    if !root() {
        return;
    }
    let lab = Paths::symmetric([LinkSpec::new(20.0, Duration::from_millis(10))]).unwrap();
    let mut server = lab.gateway.start(BINARY, ["probe", "--serve", "--key", KEY]).unwrap();
    server.wait_for_line("listening", SOON).unwrap();
    let output = lab.client.exec(BINARY, ["probe", "10.1.1.2", "--key", KEY]).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}");
    server.stop();
    for direction in ["up", "down"] {
        assert!(text.contains(&format!("\n{direction}: the link, with a long queue, binds: ")), "{text}");
    }
    assert!(text.contains("cake bandwidth"), "{text}");
}

/// Two cables between a client and a server. The client's kernel opens a subflow by each, if it may.
struct TwoCables {
    client: Namespace,
    server: Namespace,
    _cables: Vec<Cable>,
    _topology: Topology,
}

impl TwoCables {
    /// None, which is said: root or MPTCP is missing.
    fn new() -> Option<TwoCables> {
        if !root() {
            return None;
        }
        if !std::fs::exists("/proc/sys/net/mptcp/enabled").unwrap() {
            ropewalk_skip::skip("needs a kernel with MPTCP");
            return None;
        }
        let topology = Topology::new().unwrap();
        let (client, server) = (topology.namespace("client").unwrap(), topology.namespace("server").unwrap());
        let cables = [1, 2].map(|n| {
            let near = End::new(&format!("eth{n}"), [format!("10.{n}.0.2/24")]);
            let far = End::new(&format!("eth{n}"), [format!("10.{n}.0.1/24")]);
            let spec = CableSpec::symmetric(LinkSpec::new(20.0, Duration::from_millis(5)));
            topology.cable((&client, near), (&server, far), spec).unwrap()
        });
        for at in [&client, &server] {
            at.sysctl("net.ipv4.conf.all.rp_filter", "0").unwrap();
            at.sysctl("net.ipv4.tcp_congestion_control", "reno").unwrap();
            at.shell("ip mptcp limits set subflows 2").unwrap();
        }
        client.ip(&["rule add from 10.2.0.2 table 2", "route add default via 10.2.0.1 table 2"]).unwrap();
        client.shell("ip mptcp endpoint add 10.2.0.2 dev eth2 subflow").unwrap();
        Some(TwoCables { client, server, _cables: cables.into(), _topology: topology })
    }

    /// What the client says.
    fn probe(&self, more: &[&str]) -> String {
        let mut server = self.server.start(BINARY, ["probe", "--serve", "--key", KEY]).unwrap();
        server.wait_for_line("listening", SOON).unwrap();
        let args = ["probe", "10.1.0.1", "--key", KEY, "--seconds", "1", "--streams", "2", "--mptcp"];
        let output = self.client.exec(BINARY, args.iter().chain(more)).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{text}");
        server.stop();
        text
    }
}

/// A user who has MPTCP sees that it is in use, and how.
#[test]
fn subflows_controller_and_scheduler_of_mptcp_are_said() {
    let Some(cables) = TwoCables::new() else { return };
    let scheduler = cables.client.run(ropewalk_net::mptcp::scheduler).unwrap();
    // Each end's is its own. A namespace may have those alone that anybody may.
    let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    let other = all.split_whitespace().find(|name| *name != "reno").unwrap_or("reno");
    cables.server.sysctl("net.ipv4.tcp_congestion_control", other).unwrap();
    let found = json(&cables.probe(&["--json"]));
    for way in ["up", "down"] {
        let connection = &found["mptcp"][way];
        assert_eq!((&connection["state"], &connection["set"]), (&"mptcp".into(), &Value::Null), "{way}");
        for (end, controller) in [("client", "reno"), ("server", other)] {
            let end = &connection[end];
            assert_eq!(end["controller"], controller, "{end}");
            assert_eq!(end["scheduler"].as_str(), scheduler.as_deref(), "{end}");
            let bytes: Vec<u64> =
                end["subflows"].as_array().unwrap().iter().map(|s| s["bytes"].as_u64().unwrap()).collect();
            assert!(bytes.len() == 2 && bytes.iter().all(|b| *b > 10_000), "{end}");
        }
        let second = &connection["client"]["subflows"][1];
        assert!(second["local"].as_str().unwrap().starts_with("10.2.0.2:"), "{second}");
        assert_eq!(second["remote"], "10.1.0.1:4510");
    }
}

/// The null case: MPTCP is switched off, at either end.
#[test]
fn a_fallback_is_said_and_why() {
    let Some(cables) = TwoCables::new() else { return };
    cables.server.sysctl("net.mptcp.enabled", "0").unwrap();
    let text = cables.probe(&[]);
    let verdict = "\nmptcp: fell back to TCP: MPTCP is switched off at the other end";
    assert!(text.contains(verdict) && text.contains("sysctl -w net.mptcp.enabled=1"), "{text}");
    assert_eq!(text.matches(" Mbit/s by TCP; controller reno\n").count(), 2, "{text}");
    cables.client.sysctl("net.mptcp.enabled", "0").unwrap();
    let args = ["probe", "10.1.0.1", "--key", KEY, "--mptcp"];
    let output = cables.client.command(BINARY).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("MPTCP is switched off here"), "{said}");
}

/// A middlebox that does not know MPTCP's option and takes it out.
#[test]
fn a_middlebox_is_told_from_a_server_without_mptcp() {
    let Some(cables) = TwoCables::new() else { return };
    let rules = "add table inet box; \
                 add chain inet box cut { type filter hook prerouting priority -300; }; \
                 add rule inet box cut reset tcp option mptcp";
    if cables.server.exec("nft", [rules]).is_err() {
        ropewalk_skip::skip("needs nftables that take out TCP's options (Linux 5.18, nft 1.0.2)");
        return;
    }
    let found = json(&cables.probe(&["--json"]));
    for way in ["up", "down"] {
        let connection = &found["mptcp"][way];
        assert_eq!(connection["state"], "fallback", "{connection}");
        assert!(connection["because"].as_str().unwrap().contains("without MPTCP's option"), "{connection}");
        let asked = |end: &str| connection[end]["asked"].as_bool();
        assert_eq!((asked("client"), asked("server")), (Some(true), Some(false)), "{connection}");
    }
}

const CELL: &str = r#"
duration = "60s"
[node.ap]
radio.r0 = { standard = "11a", channel = 36, rate-control = { fixed = "24Mbit/s" } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "cell" }
[node.sta]
position = [2.0, 0.0]
radio.r0 = { standard = "11a", channel = 36, rate-control = { fixed = "24Mbit/s" } }
interface.wlan0 = { radio = "r0", mode = "station", ssid = "cell" }
"#;

/// A lab, and a server in it, that end with the test.
struct Cell {
    name: String,
    file: std::path::PathBuf,
    server: Option<Child>,
}

impl Drop for Cell {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        ropewalk(&["lab", "down", "--lab", &self.name]);
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A radio cell: what goes up takes air from what comes down.
#[test]
fn air_that_both_directions_share_is_found() {
    if !root() {
        return;
    }
    let name = format!("probe-{}", std::process::id());
    let file = std::env::temp_dir().join(format!("{name}.toml"));
    std::fs::write(&file, CELL).unwrap();
    let mut cell = Cell { name, file, server: None };
    let (code, out, err) = ropewalk(&["lab", "up", cell.file.to_str().unwrap(), "--name", &cell.name]);
    assert_eq!(code, 0, "{out}{err}");
    let mut serve = Command::new(BINARY);
    serve.args(["lab", "exec", "ap", "--lab", &cell.name, "--", BINARY, "probe", "--serve", "--key", KEY]);
    let child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let child = cell.server.insert(child);
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let (_, ap, _) = ropewalk(&[
        "lab",
        "exec",
        "sta",
        "--lab",
        &cell.name,
        "--",
        "sh",
        "-c",
        "ip neighbour | cut -d' ' -f1",
    ]);
    let probe = ["probe", ap.trim(), "--key", KEY, "--seconds", "3", "--json"];
    let exec = ["lab", "exec", "sta", "--lab", &cell.name, "--", BINARY];
    let (code, text, err) = ropewalk(&[&exec[..], &probe].concat());
    println!("{text}");
    assert_eq!(code, 0, "{text}{err}");
    let found = json(&text);
    for direction in ["limit_up", "limit_down"] {
        assert_eq!(found[direction]["limit"], "airtime", "{text}");
        assert!(found[direction]["set"].as_str().unwrap().contains("another channel"), "{text}");
    }
}
