//! What docs/guide/trouble.md shows, and what it has people do: its command, how a wrong token is told
//! from a closed port, and how a machine is itself again after a crash. Needs root; without it the tests
//! pass and say so.

use std::time::Duration;

use crate::common::backhaul::eventually;
use crate::common::listed::{commands, text};
use crate::common::page::{blocks, run, shell};
use crate::common::{BINARY, SOON, States, drop_at, drop_no_more, invite, lab, root, ropewalk, serve, up};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Paths, Ping};

const PAGE: &str = "trouble.md";

#[test]
fn doctor_says_what_the_page_shows() {
    if !root() {
        return;
    }
    let link = || LinkSpec::new(20.0, Duration::from_millis(10));
    let lab = Paths::symmetric([link(), link(), link()]).unwrap();
    let states = States::new("guide-trouble");
    drop_at(&lab.gateway, &["iifname wan2", "iifname wan3 udp dport 4500"]);
    let _gateway = serve(&lab, &states, &["--tls-listen", "0.0.0.0:443"]);
    let (token, none) = (states.of("token"), states.of("none"));
    std::fs::write(&token, invite(&states, "alice")).unwrap();
    std::fs::create_dir(&none).unwrap();
    let all = commands(PAGE);
    assert_eq!(all, ["ropewalk doctor"]);
    // A machine that was set up knows its token and its state directory.
    let command = format!("{} --state {none} --token-file {token}", all[0]);
    let out = lab.client.command("sh").args(shell(&command)).output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1), "a check failed: {said}");
    let shown = blocks(PAGE, "text")[0].replace("198.51.100.1", &Paths::SHARED.to_string());
    assert_eq!(shown.lines().count(), 3);
    for line in shown.lines() {
        let (level, rest) = line.split_once(' ').unwrap();
        let (check, sentence) = rest.trim_start().split_once("  ").unwrap();
        let (found, advice) = sentence.split_once(" → ").unwrap_or((sentence, ""));
        // What follows an address here is this network's.
        let found = found.split(" answers in ").next().unwrap();
        let is_it =
            |l: &&str| l.starts_with(level) && [check, found, advice].into_iter().all(|w| l.contains(w));
        assert_eq!(said.lines().filter(is_it).count(), 1, "{line}\n{said}");
    }
}

#[test]
fn dropped_handshakes_tell_a_token_of_another_gateway_from_a_closed_port() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("guide-trouble-count"));
    let _gateway = serve(&lab, &states, &[]);
    drop_at(&lab.gateway, &["udp dport 4500"]);
    // Another gateway's, with the address of this one.
    let (another, endpoint) = (states.of("another"), format!("{}:4500", Paths::SHARED));
    let (code, token, words) = ropewalk(&["invite", "alice", "--state", &another, "--endpoint", &endpoint]);
    assert_eq!(code, 0, "{words}");
    let count = || {
        let said = run(&lab.gateway, &format!("ropewalk status --json --state {}", states.of("gateway")));
        let status: serde_json::Value = serde_json::from_str(&said).unwrap();
        status["drops"]["handshakes"].as_u64().unwrap()
    };
    let state = states.of("client");
    let mut client =
        lab.client.start(BINARY, ["up", token.trim(), "--state", &state, "--path", "wan1"]).unwrap();
    client.wait_for_line("the gateway does not answer on any path", SOON * 3).unwrap();
    assert_eq!(count(), 0, "the port is closed");
    drop_no_more(&lab.gateway);
    eventually("packets arrive", || count() > 0);
    client.stop();
}

#[test]
fn a_machine_is_itself_again_after_a_crash_by_a_command_and_by_hand() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("guide-trouble-crash"));
    let _gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let standing = || {
        let line = "ip rule; ip -6 rule; nft list ruleset; ip -oneline link show dev rw0 2>/dev/null; true";
        lab.client.shell(line).unwrap()
    };
    let before = standing();
    let crashes = || {
        let everything = ["--route", "0.0.0.0/0", "--kill-switch"];
        up(&lab, &states, &token, &everything).kill();
        let left = standing();
        assert!(left.contains("29302:") && left.contains("ropewalk-rw0-kill-switch"), "{left}");
    };
    let is_online = || Ping::new(Paths::SHARED).count(1).run(&lab.client).is_ok_and(|p| p.received == 1);
    assert!(is_online());
    crashes();
    assert!(!is_online(), "the null case");
    let restore = "ropewalk restore --state DIR";
    assert!(text(PAGE).contains(&format!("`{restore}`")));
    run(&lab.client, &restore.replace("DIR", &states.of("client")));
    assert_eq!(standing(), before);
    // By hand: there is one rule for each address of a path.
    crashes();
    let page = text(PAGE);
    assert!(page.contains("priorities 29300 to 29303") && page.contains("the tables `ropewalk-…`"));
    for (family, priority) in ["-4", "-6"].into_iter().flat_map(|f| (29300..=29303).map(move |p| (f, p))) {
        while lab.client.shell(&format!("ip {family} rule delete priority {priority}")).is_ok() {}
    }
    let tables = lab.client.shell("nft list tables").unwrap();
    for table in tables.lines().filter(|l| l.contains(" ropewalk-")) {
        lab.client.shell(&format!("nft delete {table}")).unwrap();
    }
    // The kernel deletes the device of a daemon that is gone.
    assert_eq!(standing(), before);
    assert!(is_online());
}
