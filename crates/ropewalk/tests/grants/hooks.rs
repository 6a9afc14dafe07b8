//! Programs that hear of a gateway's clients.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{net, spend};
use crate::common::{BINARY, SOON, eventually, note, root};
use ropewalk_lab::Ping;
use rustix::process::Signal;

#[test]
fn what_a_gateway_changed_is_taken_back_before_the_last_programs_run() {
    if !root() {
        return;
    }
    let net = net("last-hooks-gateway", &["alice"]);
    let (hooks, _) = note(&net.states);
    let (hook, seen) = (format!("{hooks}/20-tables"), net.states.of("tables"));
    fs::write(&hook, format!("#!/bin/sh\nnft list tables >{seen}.$ROPEWALK_EVENT\n")).unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o700)).unwrap();
    let before = net.gateway.shell("nft list tables").unwrap();
    let mut gateway = net.serve_with(&["--hooks", &hooks, "--masquerade"]);
    let _alice = net.up(0);
    let at = |event: &str| fs::read_to_string(format!("{seen}.{event}"));
    eventually("its table", || at("client-connected").is_ok_and(|tables| tables.contains("ropewalk")));
    gateway.signal(Signal::TERM).unwrap();
    gateway.wait(SOON).unwrap();
    assert_eq!(at("client-disconnected").unwrap(), before, "nothing of it is left");
}

#[test]
fn programs_hear_of_clients_their_addresses_and_their_quotas() {
    if !root() {
        return;
    }
    let net = net("hooks", &["alice", "bob"]);
    let (hooks, log) = note(&net.states);
    let mut gateway = net.serve_with(&["--hooks", &hooks]);
    let (mut alice, _bob) = (net.up(0), net.up(1));
    let notes = || fs::read_to_string(&log).unwrap_or_default();
    let heard = |words: &str| eventually(words, || notes().lines().any(|line| line.contains(words)));
    let inside = "ROPEWALK_ADDRESSES=10.77.0.2 ROPEWALK_CLIENT=alice ROPEWALK_DEVICE=rw0 ";
    heard(&format!("{inside}ROPEWALK_EVENT=client-connected ROPEWALK_REMOTE=10.1.1.1 "));
    heard("ROPEWALK_CLIENT=bob ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=client-connected");
    assert!(!notes().contains("client-address"), "each has one: {}", notes());

    // Her provider gives her another address; the gateway sees it by what she sends.
    net.clients[0].1.ip(&["address del 10.1.1.1/24 dev wan1", "address add 10.1.1.7/24 dev wan1"]).unwrap();
    let gateway_inside = "10.77.0.1".parse().unwrap();
    eventually("she reaches the gateway", || {
        Ping::new(gateway_inside).count(1).run(&net.clients[0].1).is_ok_and(|p| p.received == 1)
    });
    heard(&format!("{inside}ROPEWALK_EVENT=client-address ROPEWALK_REMOTE=10.1.1.7 "));

    net.done("quota set alice 1MB --then 2Mbit");
    spend(&net, || notes().contains("quota-reached"));
    heard(&format!("{inside}ROPEWALK_EVENT=quota-reached ROPEWALK_QUOTA=1000000 ROPEWALK_RATE=2000000 "));
    net.done("quota remove alice");
    heard("ROPEWALK_CLIENT=alice ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=quota-lifted ");

    alice.stop();
    heard(&format!("{inside}ROPEWALK_EVENT=client-disconnected "));
    let text = notes();
    assert_eq!(text.matches("CLIENT=bob").count(), 1, "nothing became of bob: {text}");
    let mut moves = text.lines().filter(|line| line.contains("client-address"));
    assert!(moves.all(|line| line.contains("ROPEWALK_REMOTE=10.1.1.7 ")), "she had no third one: {text}");
    // One whose client is no more is called by its name to the end.
    net.done("revoke bob");
    heard("ROPEWALK_CLIENT=bob ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=client-disconnected ");
    gateway.stop();

    // A directory that others may write is refused.
    fs::set_permissions(&hooks, PermissionsExt::from_mode(0o777)).unwrap();
    let state = net.states.of("gateway");
    let args = ["serve", "--state", &state, "--hooks", &hooks];
    let out = net.gateway.command(BINARY).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("others may write"), "{said}");
}
