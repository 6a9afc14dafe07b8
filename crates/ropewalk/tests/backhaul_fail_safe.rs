//! A backhaul on layer 3 of which parts fail while flows go on, each byte of which is looked at:
//! ends that are killed, radios that go, a control loop that is dead, packets that are too long,
//! ends that are set up the wrong way round. Needs root; without it the tests pass and say so.

use crate::common::backhaul::routed::{AP, BEHIND, CLIENT, REPEATER, SERVER, addresses};
use crate::common::backhaul::{Site, eventually, pings};
use crate::common::flow::Flow;
use crate::common::{BINARY, SOON, root};
use ropewalk_lab::{Ping, Process};
use serde_json::Value;

/// Both ends, with both links working, and their files.
fn backhaul(site: &Site) -> (Process, Process, [String; 2]) {
    addresses(site);
    let file = site.file("ap", AP, BEHIND);
    let ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let own = site.file("repeater", REPEATER, "");
    let repeater = site.start_repeater(&own, &[&token]);
    both_work(site);
    eventually("the client reaches the server", || pings(&site.client, SERVER));
    (ap, repeater, [file, own])
}

fn both_work(site: &Site) {
    eventually("both links work", || {
        let status = site.json("ap");
        let paths = status["peers"][0]["paths"].as_array().cloned().unwrap_or_default();
        paths.len() == 2 && paths.iter().all(|p| p["state"] == "active")
    });
}

/// What the access point says of the repeater's signals.
fn word(site: &Site) -> Value {
    site.json("ap")["peers"][0]["backhaul"].clone()
}

fn count(word: &Value, keys: &[&str]) -> u64 {
    keys.iter().map(|k| word[k].as_u64().unwrap_or(0)).sum()
}

#[test]
fn flows_go_on_through_cuts_and_kills_and_every_byte_is_right() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-kills", [20.0, 20.0]);
    let (mut ap, mut repeater, [file, own]) = backhaul(&site);
    let down = Flow::start(&site.server, &site.client, CLIENT);
    let up = Flow::start(&site.client, &site.server, SERVER);
    let both = |what: &str| {
        down.goes_on(&format!("{what}, downwards"));
        up.goes_on(&format!("{what}, upwards"));
    };
    both("at first");
    for (link, name) in [(1, "shared"), (0, "dedicated")] {
        site.links[link].set_up(false).unwrap();
        both(&format!("without the {name} radio"));
        site.links[link].set_up(true).unwrap();
        both_work(&site);
        both(&format!("with the {name} radio again"));
    }
    ap.kill();
    let _ap = site.start_ap(&file);
    both("with another access point's daemon");
    repeater.kill();
    let _repeater = site.start_repeater(&own, &[]);
    both("with another repeater's daemon");
    both_work(&site);
    down.ends_whole();
    up.ends_whole();
}

#[test]
fn a_dead_control_loop_leaves_the_shared_link_to_the_clients_unless_nothing_else_is_left() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-loopless", [20.0, 20.0]);
    let _ends = backhaul(&site);
    let heard = ["increases", "unchanged", "decreases"];
    eventually("the repeater speaks", || count(&word(&site), &heard) > 20);
    let flow = Flow::start(&site.server, &site.client, CLIENT);
    flow.goes_on("at first");
    // Its queue cannot be read any more, so it says nothing.
    site.repeater.shell("tc qdisc del dev wlan2 root").unwrap();
    eventually("its silence is noticed and chokes the shared link", || {
        let word = word(&site);
        word["blocked"] == true && count(&word, &["silences"]) > 2
    });
    flow.goes_on("over the dedicated link alone");
    site.links[0].set_up(false).unwrap();
    flow.goes_on("over the shared link, since there is no other");
    site.links[0].set_up(true).unwrap();
    site.repeater.shell("tc qdisc add dev wlan2 root tbf rate 100mbit burst 64kb limit 1mb").unwrap();
    let silent = count(&word(&site), &heard);
    eventually("it speaks again, and is believed", || {
        let word = word(&site);
        count(&word, &heard) > silent + 20 && word["blocked"] == false
    });
    flow.goes_on("as at first");
    flow.ends_whole();
    assert_eq!(count(&word(&site), &["invalid_reports"]), 0);
}

#[test]
fn packets_longer_than_the_hop_are_answered_or_cut_by_the_kernel_and_lost_by_nobody() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-jumbo", [20.0, 20.0]);
    let _ends = backhaul(&site);
    for (node, interface) in
        [(&site.server, "eth0"), (&site.ap, "eth0"), (&site.repeater, "wlan2"), (&site.client, "eth0")]
    {
        node.ip(&[format!("link set {interface} mtu 9000")]).unwrap();
    }
    for (from, to) in [(&site.client, SERVER), (&site.client, "fd05::2"), (&site.server, CLIENT)] {
        // The first is too long, and the router says so; from then on the kernel cuts them.
        let ping = Ping::new(to.parse().unwrap()).payload(8000);
        eventually(&format!("echoes of 8000 bytes come back from {to}"), || {
            ping.run(from).is_ok_and(|r| r.received == r.sent)
        });
    }
    let down = Flow::start(&site.server, &site.client, CLIENT);
    let up = Flow::start(&site.client, &site.server, SERVER);
    down.goes_on("downwards");
    up.goes_on("upwards");
    down.ends_whole();
    up.ends_whole();
}

fn ends_with(process: &mut Process, code: i32, words: &str) {
    let status = process.wait(SOON).unwrap();
    assert_eq!(status.code(), Some(code), "{}", process.stderr());
    assert!(process.stderr().contains(words), "{}", process.stderr());
}

#[test]
fn roles_that_are_swapped_are_one_sentence_and_spoil_nothing() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-swapped", [20.0, 20.0]);
    let (mut ap, mut repeater, [file, own]) = backhaul(&site);
    // The token at the machine that it came from.
    let token = site.invite(&file, "cellar");
    let state = site.states.of("cellar");
    let text = std::fs::read_to_string(&own).unwrap().replace("clients = \"wlan2\"", "lan = \"eth0\"");
    let here = site.states.of("cellar.toml");
    std::fs::write(&here, text).unwrap();
    let args = ["repeater", &token, "--config", &here, "--state", &state];
    ends_with(&mut site.ap.start(BINARY, args).unwrap(), 2, "the token's access point is this machine");
    assert!(!std::path::Path::new(&state).join("token").exists(), "and is not remembered");
    // Each end in the other's state directory. It is as it was before.
    ap.stop();
    repeater.stop();
    let args = ["repeater", &token, "--config", &own, "--state", &site.states.of("ap")];
    ends_with(
        &mut site.repeater.start(BINARY, args).unwrap(),
        2,
        "is of an access point or gateway: are the roles swapped?",
    );
    let args = ["ap", "--config", &file, "--state", &site.states.of("repeater")];
    ends_with(
        &mut site.ap.start(BINARY, args).unwrap(),
        2,
        "is of a repeater or client: are the roles swapped?",
    );
    let _ap = site.start_ap(&file);
    let _repeater = site.start_repeater(&own, &[]);
    eventually("the client reaches the server as before", || pings(&site.client, SERVER));
}
