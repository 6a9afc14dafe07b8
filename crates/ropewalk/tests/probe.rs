//! `ropewalk probe` as a user meets it: on loopback, and along a lab's cable (root; without it that
//! test passes and says so).
//!
//! ```text
//!   client 10.1.1.1 ──── 40 Mb/s, 10 ms ──── 10.1.1.2 gateway
//! ```

mod common;

use common::{BINARY, SOON, root, ropewalk};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::Paths;
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
    // And again, for people: one session does not spoil the next.
    let (code, out, _) = ropewalk(&["probe", &server.at, "--key", key, "--seconds", "0.5"]);
    assert_eq!(code, 0);
    assert!(out.contains("1 hop\n") && out.contains("\nup: ") && out.contains("  set: "), "{out}");
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
