//! Both ends in namespaces.

pub(crate) mod backhaul;
pub(crate) mod browser;
pub(crate) mod certificate;
pub(crate) mod flow;
pub(crate) mod listed;
pub(crate) mod page;

use std::io::ErrorKind;
use std::net::{TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Namespace, Paths, Process};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_ropewalk");
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Both ends' state directories; they go with it.
pub(crate) struct States(PathBuf);

impl States {
    pub(crate) fn new(name: &str) -> States {
        let dir = std::env::temp_dir().join(format!("ropewalk-smoke-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        States(dir)
    }

    pub(crate) fn of(&self, end: &str) -> String {
        self.0.join(end).display().to_string()
    }
}

impl Drop for States {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn root() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    if !root {
        ropewalk_skip::skip("needs root");
    }
    root
}

/// Waits until it is so.
pub(crate) fn eventually(what: &str, so: impl FnMut() -> bool) {
    eventually_within(SOON, what, so);
}

/// Waits for so long until it is so.
pub(crate) fn eventually_within(limit: Duration, what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + limit;
    while !so() {
        assert!(Instant::now() < until, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Listens. A program that another test has just started may hold the last listener for a moment.
pub(crate) fn listen(at: impl ToSocketAddrs) -> TcpListener {
    let mut listener = None;
    eventually("nobody else listens there", || {
        listener = match TcpListener::bind(&at) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => None,
            bound => Some(bound.unwrap()),
        };
        listener.is_some()
    });
    listener.unwrap()
}

/// A firewall drops what arrives in a namespace and matches one of these.
pub(crate) fn drop_at(namespace: &Namespace, matches: &[&str]) {
    let rules: String = matches.iter().map(|m| format!("{m} drop; ")).collect();
    let table = format!("table inet hinder {{ chain i {{ type filter hook input priority 0; {rules}}}\n}}");
    namespace.shell(&format!("nft '{table}'")).unwrap();
}

/// Takes away what [`drop_at`] put there.
pub(crate) fn drop_no_more(namespace: &Namespace) {
    namespace.shell("nft delete table inet hinder").unwrap();
}

/// A directory for `--hooks` with a program that notes what it is told, a line each time: the
/// directory, and the notes.
pub(crate) fn note(states: &States) -> (String, String) {
    let (hooks, log) = (states.of("hooks"), states.of("log"));
    std::fs::create_dir(&hooks).unwrap();
    let program = format!("{hooks}/note");
    let text = format!("#!/bin/sh\nenv | grep ^ROPEWALK_ | sort | tr '\\n' ' ' >>{log}\necho >>{log}\n");
    std::fs::write(&program, text).unwrap();
    for path in [&hooks, &program] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    (hooks, log)
}

/// What a daemon serves at `/metrics`; to be called where it runs.
pub(crate) fn scrape(address: &str) -> std::io::Result<String> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address)?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map(|_| text)
}

/// Whether a daemon's poller has a timer that the kernel cancels when the machine wakes
/// (`TFD_TIMER_CANCEL_ON_SET`; proc(5), `/proc/PID/fdinfo`).
pub(crate) fn hears_of_sleep(daemon: &Process) -> bool {
    let all = std::fs::read_dir(format!("/proc/{}/fdinfo", daemon.id())).unwrap();
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        Some((path.file_name()?.to_str()?.to_owned(), std::fs::read_to_string(&path).ok()?))
    };
    let all: Vec<(String, String)> = all.filter_map(read).collect();
    let is_watched = |fd: &str| {
        let watches = |line: &str| line.starts_with("tfd:") && line.split_whitespace().nth(1) == Some(fd);
        all.iter().any(|(_, info)| info.lines().any(watches))
    };
    all.iter().any(|(fd, info)| info.contains("settime flags: 03\n") && is_watched(fd))
}

pub(crate) fn lab() -> Paths {
    let link = || LinkSpec::new(20.0, Duration::from_millis(10));
    Paths::symmetric([link(), link()]).unwrap()
}

pub(crate) fn ropewalk(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(BINARY).args(args).output().unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

pub(crate) fn serve(lab: &Paths, states: &States, more: &[&str]) -> Process {
    let state = states.of("gateway");
    let args =
        ["serve", "--state", &state, "--listen", "0.0.0.0:4500", "--tun", "rw0", "--address", "10.77.0.1/24"];
    let mut gateway = lab.gateway.start(BINARY, args.iter().chain(more)).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    gateway
}

pub(crate) fn invite(states: &States, name: &str) -> String {
    let endpoint = format!("{}:4500", Paths::SHARED);
    let (code, out, err) =
        ropewalk(&["invite", name, "--state", &states.of("gateway"), "--endpoint", &endpoint]);
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 1), "{out}");
    out.trim().to_owned()
}

pub(crate) fn up(lab: &Paths, states: &States, token: &str, more: &[&str]) -> Process {
    let state = states.of("client");
    let args = ["up", token, "--state", &state, "--tun", "rw0"];
    let mut client = lab.client.start(BINARY, args.iter().chain(more)).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    client
}
