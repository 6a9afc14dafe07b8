//! Running a bond: who is let in, what happens to paths, what is left behind. Needs root; without it the tests pass and say so.

use crate::common::{
    BINARY, SOON, States, eventually, eventually_within, hears_of_sleep, invite, lab, root, ropewalk, scrape,
    serve, up,
};
use ropewalk_lab::{Namespace, Paths, Ping, Process};
use rustix::process::Signal;
use std::os::unix::net::UnixDatagram;

const INSIDE: &str = "10.77.0.1";
/// Where the system's programs are.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn pings(client: &Namespace) -> bool {
    let report = Ping::new(INSIDE.parse().unwrap()).run(client).unwrap();
    report.received == report.sent
}

fn json(states: &States, end: &str) -> serde_json::Value {
    let (code, out, err) = ropewalk(&["status", "--json", "--state", &states.of(end)]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// `name class state` of the client's paths.
fn paths(states: &States) -> Vec<String> {
    let status = json(states, "client");
    let text = |p: &serde_json::Value, k: &str| p[k].as_str().unwrap().to_owned();
    let mut all: Vec<String> = status["peers"][0]["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| format!("{} {} {}", text(p, "name"), text(p, "class"), text(p, "state")))
        .collect();
    all.sort();
    all
}

fn fingerprint(ns: &Namespace) -> String {
    ns.shell("ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; nft list ruleset; sysctl -n net.ipv4.ip_forward")
        .unwrap()
}

fn ends_with(process: &mut Process, code: i32, words: &str) {
    let status = process.wait(SOON).unwrap();
    assert_eq!(status.code(), Some(code), "{}", process.stderr());
    assert!(process.stderr().contains(words), "{}", process.stderr());
}

#[test]
fn a_token_file_that_is_not_there_is_named() {
    let states = States::new("mistyped");
    let file = states.of("alcie.token");
    let (code, _, said) = ropewalk(&["up", "--token-file", &file, "--state", &states.of("client")]);
    assert!(code != 0 && said.contains(&file), "{said}");
}

#[test]
fn interfaces_are_found_and_paths_can_be_changed() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("paths"));
    let _gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let _client = up(&lab, &states, &token, &[]);
    eventually("both interfaces are used", || paths(&states) == ["wan1 active active", "wan2 active active"]);
    let state = states.of("client");
    let path = |words: &[&str]| ropewalk(&[&["path"], words, &["--state", &state]].concat());
    assert_eq!(path(&["set", "wan2", "--cap", "1GB", "--reset-day", "3"]), (0, String::new(), String::new()));
    assert_eq!(paths(&states), ["wan1 active active", "wan2 metered active"]);
    assert!(pings(&lab.client));
    assert_eq!(path(&["set", "wan1", "--class", "backup"]).0, 0);
    assert_eq!(
        path(&["set", "wan9", "--class", "backup"]).2,
        "ropewalk: there is no path wan9; there are wan1, wan2\n"
    );
    assert_eq!(path(&["remove", "wan1"]).0, 0);
    assert_eq!(paths(&states), ["wan2 metered active"]);
    assert!(pings(&lab.client));
    assert_eq!(path(&["add", "wan1"]).0, 0);
    eventually("the path is back, and is a backup still", || {
        paths(&states) == ["wan1 backup active", "wan2 metered active"]
    });
    // A path with an endpoint of its own goes by its interface, too.
    assert_eq!(path(&["remove", "wan1"]).0, 0);
    let whole = format!("wan1@{}:4500", Paths::SHARED);
    assert_eq!(path(&["add", &whole]).0, 0);
    eventually("it works", || paths(&states).contains(&"wan1 backup active".to_owned()));
    assert_eq!(path(&["remove", "wan1"]).0, 0);
    assert_eq!(paths(&states), ["wan2 metered active"]);
    assert_eq!(path(&["add", "wan1"]).0, 0);
    eventually("the path is back again", || paths(&states).len() == 2);
    // One of two paths by an interface goes; the other is kept when interfaces change.
    assert_eq!(path(&["add", &whole]).0, 0);
    assert_eq!(path(&["remove", &whole]).0, 0);
    // What a path carried until its interface went counts, and at once.
    let usage = || std::fs::read_to_string(states.of("client") + "/usage.json").unwrap_or_default();
    let bytes = || {
        let all: serde_json::Value = serde_json::from_str(&usage()).unwrap_or_default();
        all["wan2"]["used"].as_u64().unwrap_or(0)
    };
    let before = bytes();
    Ping::new(INSIDE.parse().unwrap()).count(10).payload(1000).run(&lab.client).unwrap();
    lab.client.ip(&["link set wan2 down"]).unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(3);
    while bytes() < before + 10_000 {
        assert!(std::time::Instant::now() < until, "{before} bytes before; {}", usage());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    eventually("the other path carries on", || pings(&lab.client));
    assert_eq!(paths(&states), ["wan1 backup active"]);
    lab.client.ip(&["link set wan2 up"]).unwrap();
    lab.client.ip(&["route add 10.9.0.1 via 10.1.2.2 dev wan2 metric 2"]).unwrap();
    eventually("the interface is back", || paths(&states).contains(&"wan2 metered active".to_owned()));
}

#[test]
fn who_may_not_come_in_is_told_why() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("refused"));
    let state = states.of("gateway");
    let args =
        ["serve", "--state", &state, "--listen", "0.0.0.0:4500", "--tun", "rw0", "--address", "10.77.0.1/30"];
    let mut gateway = lab.gateway.start(BINARY, args).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    let (alice, bob) = (invite(&states, "alice"), invite(&states, "bob"));
    let mut client = up(&lab, &states, &alice, &["--path", "wan1"]);
    let try_in = |token: &str, end: &str| {
        let state = states.of(end);
        lab.client.start(BINARY, ["up", token, "--state", &state, "--tun", "rw1", "--path", "wan2"]).unwrap()
    };
    ends_with(&mut try_in(&alice, "second"), 5, "another device already uses this token");
    let mut full = try_in(&bob, "third");
    full.wait_for_line("no free address left", SOON).unwrap();
    assert_eq!(ropewalk(&["revoke", "alice", "--state", &state]).0, 0);
    ends_with(&mut client, 5, "the gateway has revoked this device");
    full.wait_for_line("connected", SOON).unwrap();
    full.stop();
    ends_with(&mut try_in(&alice, "client"), 5, "the gateway has revoked this device");
    let stray = lab.client.shell("ip -o link | grep -c rw || true").unwrap();
    assert_eq!(stray.trim(), "0", "a device was left behind");
}

#[test]
fn nobody_answers_and_that_is_said() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("nobody"));
    let state = states.of("gateway");
    let args = ["invite", "alice", "--state", &state, "--endpoint", "10.1.1.2:4500"];
    let token = ropewalk(&args).1;
    let state = states.of("client");
    let mut client =
        lab.client.start(BINARY, ["up", token.trim(), "--state", &state, "--timeout", "5"]).unwrap();
    client.wait_for_line("the gateway does not answer on any path", SOON).unwrap();
    ends_with(&mut client, 6, "the gateway did not answer within 5 s");
}

#[test]
fn everything_goes_through_the_bond_and_comes_back_from_it() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("routes"));
    // The world behind the gateway.
    lab.gateway.ip(&["address add 192.0.2.1/32 dev lo"]).unwrap();
    lab.client.ip(&["route add default via 10.1.1.2 dev wan1"]).unwrap();
    let before = [fingerprint(&lab.client), fingerprint(&lab.gateway)];
    let mut gateway = serve(&lab, &states, &["--masquerade", "--address", "fd77::1/64"]);
    let token = invite(&states, "alice");
    let routes = ["--path", "wan1", "--path", "wan2", "--route", "0.0.0.0/0", "--route", "::/0"];
    let mut client = up(&lab, &states, &token, &routes);
    let way = lab.client.shell("ip route get 192.0.2.1").unwrap();
    assert!(way.contains("dev rw0"), "{way}");
    for inside in ["192.0.2.1", "fd77::1"] {
        let ping = Ping::new(inside.parse().unwrap()).run(&lab.client).unwrap();
        assert_eq!(ping.received, ping.sent, "{inside}");
    }
    let rules = lab.gateway.shell("nft list ruleset").unwrap();
    assert!(rules.contains("masquerade"), "{rules}");
    // A gateway that dies and comes again: the session comes back by itself, and so does what was left behind.
    gateway.kill();
    let mut gateway = serve(&lab, &states, &["--masquerade", "--address", "fd77::1/64"]);
    eventually("the session is back", || pings(&lab.client));
    client.kill();
    let mut client = up(&lab, &states, &token, &routes);
    assert!(client.stderr().contains("took back what an earlier run had left behind"), "{}", client.stderr());
    eventually("the session is back", || pings(&lab.client));
    client.stop();
    gateway.stop();
    assert_eq!([fingerprint(&lab.client), fingerprint(&lab.gateway)], before);
}

#[test]
fn a_reload_and_metrics() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("reload"));
    let file = states.of("client.toml");
    let settings = |class: &str, mtu: u32| {
        let text = format!(
            "[engine]\ntun-mtu = {mtu}\n[metrics]\nlisten = \"127.0.0.1:9101\"\n[[up.path]]\ninterface = \"wan1\"\n\
             [[up.path]]\ninterface = \"wan2\"\nclass = \"{class}\"\n"
        );
        std::fs::write(&file, text).unwrap();
    };
    settings("active", 1420);
    let _gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let mut client = up(&lab, &states, &token, &["--config", &file]);
    eventually("both paths work", || paths(&states) == ["wan1 active active", "wan2 active active"]);
    settings("backup", 1300);
    client.signal(Signal::HUP).unwrap();
    client.wait_for_line("engine.tun-mtu is fixed while the daemon runs", SOON).unwrap();
    eventually("the class has changed", || paths(&states) == ["wan1 active active", "wan2 backup active"]);
    std::fs::write(&file, "[engine]\nscheduller = 1\n").unwrap();
    client.signal(Signal::HUP).unwrap();
    client.wait_for_line("did you mean `scheduler`?; the old configuration stays in force", SOON).unwrap();
    assert!(pings(&lab.client));
    let text = lab.client.run(|| scrape("127.0.0.1:9101")).unwrap().unwrap();
    assert!(text.contains("ropewalk_path_usable{peer=\"gateway\",id=\"0\",path=\"wan1\"} 1"), "{text}");
}

#[test]
fn each_time_that_the_device_is_set_down_is_said() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("down"));
    let _gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let client = up(&lab, &states, &token, &[]);
    let arrives = || {
        let ping = Ping::new("10.77.0.2".parse().unwrap()).count(1);
        ping.run(&lab.gateway).is_ok_and(|report| report.received == 1)
    };
    eventually("the client is reached", arrives);
    for times in 1..=2 {
        lab.client.ip(&["link set rw0 down"]).unwrap();
        eventually("that is said", || {
            !arrives() && client.stderr().matches("network device is down").count() == times
        });
        lab.client.ip(&["link set rw0 up"]).unwrap();
        eventually("the client is reached again", arrives);
    }
}

/// A directory with an `nft` that does something first.
fn nft(states: &States, first: &str) -> String {
    let programs = states.of("bin");
    std::fs::create_dir(&programs).unwrap();
    let nft = format!("{programs}/nft");
    std::fs::write(&nft, format!("#!/bin/sh\n{first}\nPATH={PATH} exec nft \"$@\"\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(nft, mode).unwrap();
    programs
}

#[test]
fn a_guard_that_fails_at_first_is_told_and_tried_again() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("guard"));
    let _gateway = serve(&lab, &states, &[]);
    let (token, refuses) = (invite(&states, "alice"), states.of("refuses"));
    std::fs::write(&refuses, "").unwrap();
    let programs = nft(&states, &format!("[ -e {refuses} ] && exit 1"));
    let (path, state) = (format!("PATH={programs}:{PATH}"), states.of("client"));
    let args = [path.as_str(), BINARY, "up", &token, "--state", &state, "--tun", "rw0"];
    let mut client = lab.client.start("env", args).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    let is_told = || json(&states, "client")["notes"].to_string().contains("CVE-2019-14899");
    let tables = || lab.client.shell("nft list tables").unwrap();
    assert!(is_told() && !tables().contains("ropewalk-rw0-guard"), "{}", tables());
    std::fs::remove_file(refuses).unwrap();
    // The next try is after five seconds, and the one after that ten seconds later.
    eventually_within(SOON * 2, "it is there", || tables().contains("ropewalk-rw0-guard"));
    eventually("nothing is missed", || !is_told());
    assert_eq!(client.stderr().matches("CVE-2019-14899").count(), 1, "{}", client.stderr());
}

/// The data loop may wait for whoever puts tables back: together they take as long as one.
#[test]
fn tables_are_put_back_within_the_time_of_one_where_nft_hangs() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hangs"));
    let _gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let (hangs, log) = (states.of("hangs"), states.of("log"));
    let programs = nft(&states, &format!("[ -e {hangs} ] && sed -n 1p >>{log} && exec sleep 60"));
    let (path, state) = (format!("PATH={programs}:{PATH}"), states.of("client"));
    let args = [path.as_str(), BINARY, "up", &token, "--state", &state, "--tun", "rw0"];
    let more = ["--kill-switch", "--route", "0.0.0.0/0"];
    let mut client = lab.client.start("env", args.iter().chain(&more)).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    let tables = || lab.client.shell("nft list tables inet").unwrap();
    let before = tables();
    assert_eq!(before.lines().count(), 2, "{before}");
    std::fs::write(&hangs, "").unwrap();
    lab.client.shell("nft flush ruleset").unwrap();
    let tried = || std::fs::read_to_string(&log).unwrap_or_default();
    eventually("it is tried twice", || tried().lines().count() >= 2);
    assert!(tried().lines().all(|line| line.contains("kill-switch")), "{}", tried());
    std::fs::remove_file(&hangs).unwrap();
    eventually("both are back", || tables() == before);
}

/// A test cannot sleep.
#[test]
fn both_ends_hear_that_the_machine_has_slept() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("slept"));
    let gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let client = up(&lab, &states, &token, &[]);
    assert!(hears_of_sleep(&gateway) && hears_of_sleep(&client));
}

/// What systemd hears (`sd_notify(3)`).
#[test]
fn a_reload_before_the_client_is_connected_does_not_end_its_start() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("ready"));
    let mut gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    gateway.stop();
    let at = states.of("notify");
    let systemd = UnixDatagram::bind(&at).unwrap();
    systemd.set_read_timeout(Some(SOON)).unwrap();
    let (told, state) = (format!("NOTIFY_SOCKET={at}"), states.of("client"));
    let args = [told.as_str(), BINARY, "up", &token, "--state", &state, "--tun", "rw0"];
    let mut client = lab.client.start("env", args).unwrap();
    client.wait_for_line("found an interface", SOON).unwrap();
    client.signal(Signal::HUP).unwrap();
    client.wait_for_line("there is no configuration file to read again", SOON).unwrap();
    let _gateway = serve(&lab, &states, &[]);
    client.wait_for_line("connected", SOON).unwrap();
    let mut heard = String::new();
    while !heard.contains("READY=1") {
        let mut buffer = [0; 1024];
        let length = systemd.recv(&mut buffer).unwrap();
        heard += &String::from_utf8_lossy(&buffer[..length]);
        heard.push('\n');
    }
    assert!(heard.contains("STATUS=connected"), "{heard}");
}

#[test]
fn a_gateway_address_is_found_by_itself() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("addresses"));
    let _gateway = serve(&lab, &states, &["--listen", "[::]:4500"]);
    let (code, token, err) = ropewalk(&["invite", "alice", "--state", &states.of("gateway")]);
    assert_eq!(code, 0, "{err}");
    let _client = up(&lab, &states, token.trim(), &["--path", "wan1", "--path", "wan2"]);
    eventually("one path for each interface", || {
        paths(&states) == ["wan1 active active", "wan2 active active"]
    });
    assert!(pings(&lab.client));
    let status = json(&states, "gateway");
    assert_eq!(status["peers"][0]["name"], "alice");
}
