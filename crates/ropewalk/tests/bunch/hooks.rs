//! Programs that hear of a bunch: of access points at its gateway, and of the gateway at these.

use super::*;
use crate::common::note;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn programs_hear_of_tunnels_at_both_ends_and_last_when_nothing_is_left_behind() {
    if !root() {
        return;
    }
    let net = net("bunch-hooks");
    let (hooks, log) = note(&net.states);
    let (hook, seen) = (format!("{hooks}/20-tables"), net.states.of("tables"));
    fs::write(&hook, format!("#!/bin/sh\nnft list tables >{seen}.$ROPEWALK_EVENT\n")).unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o700)).unwrap();
    let tables = |event: &str| fs::read_to_string(format!("{seen}.{event}")).unwrap_or_default();
    let notes = || fs::read_to_string(&log).unwrap_or_default();
    let times = |words: &str| notes().lines().filter(|line| line.contains(words)).count();
    let hears = |words: &str, count: usize| eventually(words, || times(words) == count);
    let before = [&net.gateway, &net.aps[0]].map(|machine| machine.shell("nft list tables").unwrap());

    let states = ["gateway", APS[0]].map(|who| net.states.of(who));
    let serve = ["bunch", "gateway", "--state", &states[0], "--listen", "0.0.0.0:4520", "--hooks", &hooks];
    let start_gateway = || {
        let mut gateway = net.gateway.start(BINARY, serve).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap();
        gateway
    };
    let mut gateway = start_gateway();
    let args = ["bunch", "ap", &net.tokens[0], "--state", &states[1], "--uplink", "wan0", "--home", "lan0"];
    let args = args.into_iter().chain(["--hooks", &hooks]);
    let mut home = net.aps[0].start(BINARY, args).unwrap();
    home.wait_for_line("access point ready", SOON).unwrap();
    let inside = net.status("home")["address"].as_str().unwrap().to_owned();
    let inside = format!("ROPEWALK_ADDRESSES={inside} ");
    let connected = format!("{inside}ROPEWALK_DEVICE=bunch0 ROPEWALK_EVENT=connected ");
    let of_home = format!("{inside}ROPEWALK_CLIENT=home ROPEWALK_DEVICE=bunch0 ROPEWALK_EVENT=client-");
    hears(&connected, 1);
    hears(&format!("{of_home}connected ROPEWALK_REMOTE=10.10.0.2 "), 1);
    for event in ["connected", "client-connected"] {
        assert!(tables(event).contains("ropewalk-bunch0"), "{event}: {}", tables(event));
    }
    assert_eq!(notes().lines().count(), 2, "{}", notes());

    // A gateway that stops is told of at both ends, and one that is back, too.
    gateway.signal(Signal::TERM).unwrap();
    assert!(gateway.wait(SOON).unwrap().success());
    assert_eq!(times(&format!("{of_home}disconnected ")), 1, "{}", notes());
    assert_eq!(tables("client-disconnected"), before[0], "nothing of the gateway's is left");
    hears("ROPEWALK_DEVICE=bunch0 ROPEWALK_EVENT=disconnected ", 1);
    let mut gateway = start_gateway();
    hears(&connected, 2);
    hears(&format!("{of_home}connected "), 2);

    home.signal(Signal::TERM).unwrap();
    assert!(home.wait(SOON).unwrap().success());
    assert_eq!(times("ROPEWALK_EVENT=disconnected "), 2, "{}", notes());
    assert_eq!(tables("disconnected"), before[1], "nothing of the home's is left");
    hears(&format!("{of_home}disconnected "), 2);
    gateway.stop();
    assert_eq!(notes().lines().count(), 8, "{}", notes());

    // A directory that others may write is refused.
    fs::set_permissions(&hooks, PermissionsExt::from_mode(0o777)).unwrap();
    let out = net.gateway.command(BINARY).args(serve).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("others may write"), "{said}");
}

#[test]
fn programs_at_an_access_point_hear_of_neighbours_that_come_and_go() {
    if !root() {
        return;
    }
    let net = net("bunch-neighbours");
    let (hooks, log) = note(&net.states);
    let notes = || fs::read_to_string(&log).unwrap_or_default();
    let hears = |what: &str, count: usize| {
        let words = format!("ROPEWALK_EVENT=neighbour-{what} ROPEWALK_REMOTE=10.20.0.2 ");
        eventually(&words, || notes().lines().filter(|line| line.contains(&words)).count() == count);
    };
    let _gateway = net.start_gateway();
    let state = net.states.of(APS[0]);
    let args = ["bunch", "ap", &net.tokens[0], "--state", &state, "--home", "lan0", "--share", "mesh0"];
    let mut home = net.aps[0].start(BINARY, args.into_iter().chain(["--hooks", &hooks])).unwrap();
    home.wait_for_line("access point ready", SOON).unwrap();
    let mut anna = net.start_ap(1);
    hears("connected", 1);
    anna.stop();
    hears("disconnected", 1);
    let _anna = net.start_ap(1);
    hears("connected", 2);
    home.signal(Signal::TERM).unwrap();
    assert!(home.wait(SOON).unwrap().success());
    hears("disconnected", 2);
    // Of the gateway twice, and of nobody else.
    assert_eq!(notes().lines().count(), 6, "{}", notes());
}
