//! An access point and a repeater on layer 3: routes, striping, signals, restarts, mistakes. Needs root; without it the tests pass and say so.

use crate::common::backhaul::routed::{AP, BEHIND, CLIENT, REPEATER, SERVER, addresses};
use crate::common::backhaul::{Site, eventually, pings};
use crate::common::listed::commands;
use crate::common::page::{blocks, run, start};
use crate::common::{BINARY, SOON, note, root};
use ropewalk_lab::{Iperf, Process};

fn ends_with(process: &mut Process, code: i32, words: &str) {
    let status = process.wait(SOON).unwrap();
    assert_eq!(status.code(), Some(code), "{}", process.stderr());
    assert!(process.stderr().contains(words), "{}", process.stderr());
}

/// Bytes that the access point has sent by each path.
fn carried(site: &Site) -> Vec<u64> {
    let paths = site.json("ap")["peers"][0]["paths"].as_array().unwrap().clone();
    paths.iter().map(|p| p["sent_bytes"].as_u64().unwrap()).collect()
}

#[test]
fn clients_reach_the_server_over_both_links_through_restarts_and_a_cut() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-routed", [20.0, 20.0]);
    addresses(&site);
    let file = site.file("ap", AP, BEHIND);
    let mut ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let own = site.file("repeater", REPEATER, "");
    let mut repeater = site.start_repeater(&own, &[&token]);
    eventually("both links work", || {
        site.json("ap")["peers"][0]["paths"].as_array().is_some_and(|p| p.len() == 2)
    });
    // Neither end is known to the other but by routes; nothing is translated.
    for to in [SERVER, "fd05::2"] {
        eventually("the client reaches the server", || pings(&site.client, to));
    }
    for to in [CLIENT, "fd08::2"] {
        eventually("the server reaches the client", || pings(&site.server, to));
    }
    let flow =
        Iperf::tcp(SERVER.parse().unwrap()).seconds(4).reverse().run(&site.client, &site.server).unwrap();
    let bytes = carried(&site);
    assert!(bytes.iter().all(|b| *b > 1_000_000), "both links carry: {bytes:?}, {flow:?}");
    let status = site.json("ap");
    let backhaul = &status["peers"][0]["backhaul"];
    assert_eq!(
        (status["role"].as_str(), backhaul["limiter"].as_str()),
        (Some("ap"), Some("balance")),
        "{backhaul}"
    );
    assert!(
        backhaul["increases"].as_u64() > Some(10),
        "the clients' queue is empty and said to be: {backhaul}"
    );
    let paths = status["peers"][0]["paths"].as_array().unwrap();
    let shared: Vec<_> =
        paths.iter().map(|p| (p["name"].as_str().unwrap(), p["shared"].as_bool().unwrap())).collect();
    assert_eq!(shared, [("wlan0", false), ("wlan1", true)]);
    let said = site.json("repeater")["peers"][0]["backhaul"].clone();
    assert!(said["reports_sent"].as_u64() > Some(10) && said["clients"] == 1, "{said}");
    assert!(site.status("ap").contains("wlan1 (shared) holds "), "{}", site.status("ap"));
    // One link is cut while a flow is on its way, then each end dies and comes again.
    let flow = Iperf::tcp(SERVER.parse().unwrap()).seconds(8).interval(0.5).reverse();
    let running = flow.start(&site.client, &site.server).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    site.links[1].set_up(false).unwrap();
    let report = running.finish().unwrap();
    assert!(report.mean_between(6.0, 8.0) > 1.0, "the other link carries on: {report:?}");
    site.links[1].set_up(true).unwrap();
    ap.kill();
    let mut ap = site.start_ap(&file);
    eventually("the access point is back", || pings(&site.client, SERVER));
    repeater.kill();
    let mut repeater = site.start_repeater(&own, &[]);
    eventually("the repeater is back", || pings(&site.client, SERVER));
    eventually("the server reaches the client again", || pings(&site.server, CLIENT));
    repeater.stop();
    ap.stop();
    assert!(!site.repeater.shell("ip rule").unwrap().contains("2930"), "rules are left behind");
}

/// Paths that work, as the access point sees them.
fn active(site: &Site) -> usize {
    let paths = site.json("ap")["peers"][0]["paths"].as_array().cloned().unwrap_or_default();
    paths.iter().filter(|p| p["state"] == "active").count()
}

#[test]
fn radios_that_come_after_the_daemons_carry_as_soon_as_they_are_there() {
    if !root() {
        return;
    }
    const RADIOS: [&str; 2] = ["wlan0", "wlan1"];
    let site = Site::new("backhaul-late", [20.0, 20.0]);
    addresses(&site);
    let ends = [&site.ap, &site.repeater];
    // Interfaces of other names are not there for either end.
    for (end, name) in ends.into_iter().flat_map(|end| RADIOS.map(|name| (end, name))) {
        end.ip(&[format!("link set {name} down"), format!("link set {name} name late-{name}")]).unwrap();
    }
    let file = site.file("ap", AP, BEHIND);
    let mut ap = site.start_ap(&file);
    let waits =
        |name: &str| site.json("ap")["notes"].to_string().contains(&format!("nothing listens at {name} yet"));
    assert!(RADIOS.into_iter().all(waits), "{}", site.status("ap"));
    let endpoints = ["--endpoint", "10.1.1.1:4500", "--endpoint", "10.1.2.1:4500"];
    let args = ["ap", "invite", "attic", "--config", &file].into_iter().chain(endpoints);
    let token = String::from_utf8(site.ap.exec(BINARY, args).unwrap().stdout).unwrap();
    let own = site.file("repeater", REPEATER, "");
    let args = ["repeater", "--config", &own, token.trim()];
    let mut repeater = site.repeater.start(BINARY, args).unwrap();
    for name in RADIOS {
        let missing = format!("there is no network interface named `{name}`");
        repeater.wait_for_line(&missing, SOON).unwrap();
    }
    for (n, name) in RADIOS.into_iter().enumerate() {
        for end in ends {
            end.ip(&[format!("link set late-{name} name {name}"), format!("link set {name} up")]).unwrap();
        }
        eventually("its link carries", || active(&site) == n + 1);
        assert!(!waits(name), "{}", site.status("ap"));
    }
    eventually("the client reaches the server", || pings(&site.client, SERVER));
    repeater.stop();
    ap.stop();
}

#[test]
fn a_source_that_does_not_lie_behind_the_repeater_is_dropped() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-source", [20.0, 20.0]);
    addresses(&site);
    let file = site.file("ap", AP, BEHIND);
    let _ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let _repeater = site.start_repeater(&site.file("repeater", REPEATER, ""), &[&token]);
    eventually("the client reaches the server", || pings(&site.client, SERVER));
    let before = site.json("ap")["drops"]["inner"].as_u64().unwrap();
    site.client
        .ip(&["address add 192.168.9.2/32 dev eth0", "route add 10.5.0.2 via 192.168.8.1 src 192.168.9.2"])
        .unwrap();
    assert!(!pings(&site.client, SERVER));
    assert!(site.json("ap")["drops"]["inner"].as_u64().unwrap() >= before + 10);
}

#[test]
fn programs_hear_of_the_other_end_at_both() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-hooks", [20.0, 20.0]);
    addresses(&site);
    let (hooks, log) = note(&site.states);
    let with = |keys: &str| format!("{keys}\nhooks = \"{hooks}\"");
    let file = site.file("ap", &with(AP), BEHIND);
    let mut ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let mut repeater = site.start_repeater(&site.file("repeater", &with(REPEATER), ""), &[&token]);
    let hears = |words: &str| {
        eventually(words, || std::fs::read_to_string(&log).is_ok_and(|text| text.contains(words)));
    };
    hears("ROPEWALK_CLIENT=attic ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=client-connected");
    hears("ROPEWALK_EVENT=path-up ROPEWALK_INTERFACE=wlan1");
    repeater.stop();
    hears("ROPEWALK_CLIENT=attic ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=client-disconnected");
    ap.stop();
}

#[test]
fn the_files_and_commands_of_the_page_make_a_backhaul() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-page", [20.0, 20.0]);
    addresses(&site);
    let files = blocks("repeater.md", "toml");
    for (end, text) in ["ap", "repeater"].into_iter().zip(&files) {
        let text = text.replace("/var/lib/ropewalk/backhaul", &site.states.of(end));
        std::fs::write(site.states.of(&format!("{end}.toml")), text).unwrap();
    }
    let token = site.states.of("token");
    let mut daemons: Vec<Process> = Vec::new();
    for command in commands("repeater.md").iter().filter(|c| c.starts_with("ropewalk ")) {
        let line = command.replace("<token", &format!("<{token}"));
        let file = |end: &str| format!("{end}.toml");
        let config = |end: &str| line.replace(&file(end), &site.states.of(&file(end)));
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        match words[..] {
            ["ap", "invite", ..] => std::fs::write(&token, run(&site.ap, &config("ap"))).unwrap(),
            ["ap", ..] => daemons.push(start(&site.ap, &config("ap"), "access point ready")),
            ["repeater", ..] => daemons.push(start(&site.repeater, &config("repeater"), "connected")),
            _ => panic!("no rule for {command:?}: say what it does"),
        }
    }
    assert_eq!(daemons.len(), 2);
    eventually("the client reaches the server", || pings(&site.client, SERVER));
    daemons.iter_mut().rev().for_each(Process::stop);
}

#[test]
fn mistakes_are_one_sentence() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-mistakes", [20.0, 20.0]);
    addresses(&site);
    let ap_file = site.file("ap", AP, BEHIND);
    let _ap = site.start_ap(&ap_file);
    let token = site.invite(&ap_file, "attic");
    let own = site.file("repeater", REPEATER, "");
    let run = |args: &[&str]| site.repeater.start(BINARY, args.iter()).unwrap();
    // Roles: two access points, two repeaters, a file or a state directory of the other end.
    ends_with(&mut run(&["ap", "--config", &own]), 2, "is a repeater's: run `ropewalk repeater` with it");
    ends_with(
        &mut run(&["repeater", "--config", &ap_file]),
        2,
        "is an access point's: run `ropewalk ap` with it",
    );
    let state = site.states.of("was-an-ap");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(format!("{state}/gateway.json"), "{\"listen\":[]}").unwrap();
    ends_with(
        &mut run(&["repeater", &token, "--config", &own, "--state", &state]),
        2,
        "are the roles swapped?",
    );
    let state = site.states.of("plain");
    let mut plain = run(&["up", &token, "--state", &state]);
    ends_with(
        &mut plain,
        5,
        "the other end is an access point (`ropewalk ap`): run `ropewalk repeater` here",
    );
    // Networks that the access point was not told of.
    let other = site.file("repeater", &REPEATER.replace("192.168.8.0/24", "192.168.7.0/24"), "");
    ends_with(
        &mut run(&["repeater", &token, "--config", &other]),
        5,
        "name them there, under [[ap.repeater]] in ap.toml",
    );
    // The key of another access point, which is never answered.
    let state = site.states.of("other-ap");
    let foreign =
        site.ap.exec(BINARY, ["ap", "invite", "attic", "--config", &ap_file, "--state", &state]).unwrap();
    let foreign = String::from_utf8(foreign.stdout).unwrap();
    let state = site.states.of("unknown");
    let mut unknown = run(&["repeater", foreign.trim(), "--config", &own, "--state", &state]);
    let words = "the access point does not answer on any path; trying on. If it runs, is the token its own?";
    unknown.wait_for_line(words, SOON).unwrap();
    unknown.stop();
    assert!(site.json("ap")["drops"]["handshakes"].as_u64() > Some(0), "and counted there");
    let text = std::fs::read_to_string(site.file("repeater", REPEATER, "")).unwrap();
    std::fs::write(&own, text.replace("shared = true\n", "")).unwrap();
    let words = "no link is said to share the channel of wlan2: set shared = true for wlan0 or wlan1";
    ends_with(&mut run(&["repeater", &token, "--config", &own]), 2, words);
    // With the clients on a cable nothing is shared, and nothing need be said of it.
    let mut lan = site.start_repeater(&own, &[&token, "--lan", "wlan2"]);
    assert_eq!(site.json("repeater")["peers"][0]["backhaul"], serde_json::Value::Null);
    // A second repeater with the same token, on the same machine but with a device of its own.
    let second = site.states.of("second");
    let text = std::fs::read_to_string(&own).unwrap();
    let file = site.states.of("second.toml");
    std::fs::write(&file, text.replace("tun = \"rw0\"", "tun = \"rw1\"")).unwrap();
    let mut twin = run(&["repeater", &token, "--config", &file, "--lan", "wlan2", "--state", &second]);
    ends_with(&mut twin, 5, "another device already uses this token");
    lan.stop();
}
