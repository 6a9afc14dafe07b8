//! What a page shows besides a bond's paths.

use super::*;
use crate::common::backhaul::Site;
use crate::common::backhaul::routed::{AP, BEHIND, REPEATER, addresses};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

/// Whose cells hold this text.
const EVIL: &str = "<img src=x onerror=alert(1)>";

fn submit(browser: &mut Browser) {
    browser.eval("[...document.querySelectorAll('dialog')].at(-1).querySelector('[type=submit]').click()");
}

fn text_of(id: &str, what: &str) -> String {
    format!("document.getElementById('{id}')?.textContent.includes({what:?})")
}

/// What a gateway's command lists.
fn listed(states: &States, command: &str) -> Value {
    let (code, out, err) = ropewalk(&[command, "list", "--json", "--state", &states.of("gateway")]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// Opens the dialog of a button by the keyboard.
fn open_dialog(browser: &mut Browser, button: &str) {
    browser.eval(&format!("document.querySelector('[aria-label={button:?}]').focus()"));
    browser.press("Enter", 13);
    browser.wait_for("document.querySelector('dialog[open]')");
}

/// Where the focus is.
pub(super) fn focused(browser: &mut Browser) -> Value {
    let (name, id) = ("document.activeElement.getAttribute('aria-label')", "document.activeElement.id");
    browser.eval(&format!("{name} || {id} || document.activeElement.tagName"))
}

/// Somebody else changes what a dialog was opened from, while it is open. At a gateway whose clients are
/// `alice` and `bob`.
pub(super) fn the_focus_comes_back(browser: &mut Browser, states: &States) {
    let gateway = states.of("gateway");
    let by_another = |args: &[&str]| {
        let (code, _, err) = ropewalk(&[args, &["--state", &gateway]].concat());
        assert_eq!(code, 0, "{args:?}: {err}");
    };
    let closed_by_escape = |browser: &mut Browser| {
        browser.press("Escape", 27);
        browser.wait_for("!document.querySelector('dialog')");
        focused(browser)
    };
    // A column comes, and goes: the table is made anew.
    let quotas: [(&[&str], &str); 2] =
        [(&["quota", "set", "alice", "10GB"], "true"), (&["quota", "remove", "alice"], "false")];
    for (change, has_column) in quotas {
        open_dialog(browser, "Change alice");
        browser.eval("void (window.button = document.querySelector('[aria-label=\"Change alice\"]'))");
        by_another(change);
        browser.wait_for(&format!("Boolean({}) === {has_column}", cell("alice", "quota")));
        assert_eq!(browser.eval("window.button.isConnected"), false, "the table is another");
        assert_eq!(closed_by_escape(browser), "Change alice", "after {change:?}");
    }
    // The row goes, and the table stays.
    invite(states, "carol");
    browser.wait_for(&format!("{} === 'invited'", cell("carol", "state")));
    open_dialog(browser, "Revoke carol");
    by_another(&["revoke", "carol"]);
    browser.wait_for("!document.querySelector('tr[data-key=carol]')");
    assert_eq!(closed_by_escape(browser), "Clients");
    // The last row goes, and its table is hidden.
    by_another(&["forward", "add", "alice", "tcp", "8080"]);
    browser.wait_for("document.querySelector('[aria-label=\"Remove tcp port 8080\"]')");
    open_dialog(browser, "Remove tcp port 8080");
    by_another(&["forward", "remove", "tcp", "8080"]);
    browser.wait_for(&text_of("grants-line", "Nothing: no port is forwarded"));
    assert_eq!(closed_by_escape(browser), "grants");
}

/// Chooses a member of a group in the dialog that is open, or takes it away, by the keyboard.
fn choose(browser: &mut Browser, client: &str) {
    browser.eval(&format!("document.querySelector('dialog .many [value={client}]').focus()"));
    browser.press(" ", 32);
}

/// A group and two exits, given, changed and taken away by hand at a gateway whose clients are
/// `alice` and `bob`.
pub(super) fn groups_and_exits(browser: &mut Browser, states: &States) {
    let list = |command: &str| listed(states, command);
    browser.eval("document.getElementById('group').focus()");
    browser.press("Enter", 13);
    browser.wait_for("document.querySelector('dialog[open] .many')");
    is_accessible_everywhere(browser, "the dialog of a new group");
    // A group without members is none: the gateway says so, and the dialog stays.
    browser.eval("document.querySelector('dialog input[type=text]').value = 'home'");
    submit(browser);
    browser.wait_for(
        "document.querySelector('dialog .wrong').textContent.includes('a client at least joins it')",
    );
    assert_eq!(list("group"), json!({}));
    choose(browser, "alice");
    submit(browser);
    browser.wait_for(&format!("{} === 'alice'", cell("group home", "whose")));
    browser.wait_for("document.activeElement.id === 'group'");

    browser.eval("document.querySelector('[aria-label=\"Change group home\"]').click()");
    browser.wait_for("document.querySelector('dialog .many [value=alice]').checked");
    choose(browser, "bob");
    submit(browser);
    browser.wait_for(&format!("{} === 'alice, bob'", cell("group home", "whose")));
    browser.eval("document.querySelector('[aria-label=\"Change group home\"]').click()");
    browser.wait_for("document.querySelector('dialog .many [value=bob]').checked");
    choose(browser, "alice");
    choose(browser, "bob");
    submit(browser);
    browser.wait_for("document.querySelector('dialog .wrong').textContent.includes('one member at least')");
    choose(browser, "bob");
    submit(browser);
    browser.wait_for(&format!("{} === 'bob'", cell("group home", "whose")));
    assert_eq!(list("group"), json!({"home": ["bob"]}));

    for (whose, key) in [("client alice", "exit alice"), ("group home", "exit group home")] {
        browser.eval("document.getElementById('exit').click()");
        browser.wait_for("document.querySelector('dialog select')?.options.length === 3");
        if whose == "client alice" {
            is_accessible_everywhere(browser, "the dialog of an exit");
            browser.eval("document.querySelector('dialog input[type=text]').value = 'rw0'");
            submit(browser);
            browser.wait_for(
                "document.querySelector('dialog .wrong').textContent.includes('rw0 leads to no other network')",
            );
        }
        browser.eval(&format!("document.querySelector('dialog select').value = '{whose}'"));
        browser.eval("document.querySelector('dialog input[type=text]').value = 'wan1'");
        submit(browser);
        browser.wait_for(&format!("{} === 'leaves by wan1'", cell(key, "how")));
    }
    let wan1 = json!({"interface": "wan1"});
    assert_eq!(list("exit"), json!({"clients": {"alice": wan1}, "groups": {"home": wan1}}));
    is_accessible_everywhere(browser, "a group and two exits");

    browser.eval("document.querySelector('[aria-label=\"Remove the exit of alice\"]').click()");
    browser.wait_for("document.querySelector('dialog h2').textContent === 'Remove the exit of alice?'");
    assert_eq!(list("exit")["clients"]["alice"], wan1, "asked first");
    submit(browser);
    browser.wait_for("!document.querySelector('tr[data-key=\"exit alice\"]')");
    // The group's exit ends with the group.
    browser.eval("document.querySelector('[aria-label=\"Remove group home\"]').click()");
    browser.wait_for("document.querySelector('dialog h2').textContent === 'Remove group home?'");
    submit(browser);
    browser.wait_for(&text_of("grants-line", "Nothing: no port is forwarded"));
    assert_eq!((list("group"), list("exit")), (json!({}), json!({"clients": {}, "groups": {}})));
}

/// A quota, a cap and a forward, set and taken away by hand at a gateway whose client is `alice`.
pub(super) fn what_is_granted(browser: &mut Browser, states: &States) {
    let list = |command: &str| listed(states, command);
    browser.wait_for(&text_of("grants-line", "Nothing: no port is forwarded"));
    assert_eq!(browser.eval("document.getElementById('grants-table').hidden"), true, "nothing is granted");
    assert_eq!(browser.eval(&format!("{} ?? null", cell("alice", "quota"))), Value::Null);

    browser.eval("document.querySelector('[aria-label=\"Change alice\"]').focus()");
    browser.press("Enter", 13);
    browser.wait_for("document.querySelector('dialog[open] input[type=text]')");
    is_accessible_everywhere(browser, "the dialog of a client");
    // What the gateway refuses is said, and the dialog stays.
    browser.eval("document.querySelector('dialog input[type=text]').value = '1kB'");
    // The answer comes after the next frame: that takes the focus from a button that waits.
    browser.eval("void (window.fetch = ((f) => (...a) => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))).then(() => f(...a)))(fetch))");
    browser.eval("document.querySelector('dialog [type=submit]').focus()");
    browser.press("Enter", 13);
    browser
        .wait_for("document.querySelector('dialog .wrong').textContent.includes('a quota is 1MB at least')");
    assert_eq!(browser.eval("document.activeElement.matches('dialog [type=submit]')"), true);
    assert_eq!(list("quota"), json!([]));
    browser.eval("document.querySelector('dialog input[type=text]').value = '10GB'");
    browser.eval("document.querySelectorAll('dialog .pair input')[0].value = '20Mbit'");
    submit(browser);
    browser.wait_for("!document.querySelector('dialog')");
    browser.wait_for(&format!("/ of 10.0 GB this month, .* left$/.test({})", cell("alice", "quota")));
    browser.wait_for(&format!("{} === 'down 20Mbit, up no cap'", cell("cap alice", "how")));
    assert_eq!(
        (&list("quota")[0]["name"], &list("quota")[0]["bytes"]),
        (&json!("alice"), &json!(10_000_000_000_u64))
    );
    assert_eq!(list("limit"), json!({"alice": {"down": "20Mbit"}}));
    browser.wait_for("document.activeElement.getAttribute('aria-label') === 'Change alice'");

    browser.eval("document.getElementById('forward').click()");
    browser.wait_for("document.querySelector('dialog select').value === 'alice'");
    // The gateway's own port, by the dialog's second protocol.
    browser.eval("document.querySelector('dialog [value=udp]').click()");
    browser.eval("document.querySelector('dialog input[type=number]').value = 4500");
    submit(browser);
    browser.wait_for(
        "document.querySelector('dialog .wrong').textContent.includes('listens at udp port 4500: choose another')",
    );
    is_accessible_everywhere(browser, "the dialog of a forward");
    browser.eval("document.querySelector('dialog [value=tcp]').click()");
    browser.eval("document.querySelector('dialog input[type=number]').value = 8080");
    browser.eval("document.querySelectorAll('dialog input[type=number]')[1].value = 80");
    submit(browser);
    browser.wait_for(&format!("{} === 'leads to port 80'", cell("forward tcp 8080", "how")));
    assert_eq!(list("forward")[0]["port"], 8080);
    browser.wait_for(
        "document.querySelector('.timeline').textContent.includes('tcp port 8080 leads to port 80 of alice')",
    );
    is_accessible_everywhere(browser, "what is granted");

    // Who did it, by the kernel's word: the user of the page.
    let audit = std::fs::read_to_string(format!("{}/audit.jsonl", states.of("gateway"))).unwrap();
    let line = audit.lines().find(|l| l.contains("tcp port 8080 leads to port 80 of alice")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(line).unwrap()["uid"], 0, "{line}");

    browser.eval("document.querySelector('[aria-label=\"Remove tcp port 8080\"]').click()");
    browser.wait_for("document.querySelector('dialog h2').textContent === 'Remove tcp port 8080?'");
    assert_eq!(list("forward")[0]["port"], 8080, "asked first");
    submit(browser);
    browser.wait_for(
        "!document.querySelector('tr[data-key=\"forward tcp 8080\"]') && !document.querySelector('dialog')",
    );
    assert_eq!(list("forward"), json!([]));
    // Emptied fields take both away.
    browser.eval("document.querySelector('[aria-label=\"Change alice\"]').click()");
    browser.wait_for("document.querySelector('dialog input[type=text]').value === '10GB'");
    browser.eval("document.querySelectorAll('dialog input[type=text]').forEach((i) => (i.value = ''))");
    submit(browser);
    browser.wait_for(&text_of("grants-line", "Nothing: no port is forwarded"));
    browser.wait_for(&format!("({} ?? null) === null", cell("alice", "quota")));
    assert_eq!((list("quota"), list("limit")), (json!([]), json!({})));
}

/// A daemon that is asked for one thing, `kind`, and what it says. Of its 5,000 clients it tells one.
fn daemon(states: &States, kind: &'static str, status: Value) -> Arc<Mutex<Value>> {
    let dir = states.of("state");
    std::fs::create_dir_all(&dir).unwrap();
    let listener = UnixListener::bind(Path::new(&dir).join("control.sock")).unwrap();
    let status = Arc::new(Mutex::new(status));
    let told = Arc::clone(&status);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, told) = (stream.unwrap(), Arc::clone(&told));
            std::thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let refused = json!({"answer": "refused", "code": 2, "sentence": "this is for another"});
                    let answer = json!({"answer": kind, "status": *told.lock().unwrap()});
                    let clients = json!({"answer": "clients", "total": 5000, "clients": [{"name": "zoe", "came": false, "inside": []}]});
                    let asks = |what: &str| line.contains(&format!("\"{what}\""));
                    let other = if asks("clients") { &clients } else { &refused };
                    let _ = writeln!(writer, "{}", if asks(kind) { &answer } else { other });
                }
            });
        }
    });
    status
}

/// A daemon that roams, and what it says.
fn roaming(states: &States) -> Arc<Mutex<Value>> {
    let access_point = |n: u32| {
        json!({"interface": format!("roam{n}"), "bssid": format!("02:00:00:00:0{n}:00"), "ssid": EVIL, "frequency_mhz": 2437,
            "state": "active", "why": "", "for_s": 1.0, "signal_dbm": -50.0 - f64::from(n), "rate_bps": 65_000_000, "packet_time_us": 206,
            "measured": true, "address": "10.1.0.5/24", "received_bytes": 0, "sent_bytes": 0, "mptcp": true})
    };
    let status = json!({"version": 1, "radio": "phy0", "channel": "6", "stations": 3, "uptime_s": 5.0, "notes": [],
        "access_points": [access_point(0), access_point(1)]});
    daemon(states, "roam", status)
}

/// A client beside `roam` whose gateway is one of two, and is reached by TLS on one path.
fn client_of_two_gateways() -> Value {
    let path = |id: u32, carrier: &str, us: u32| {
        json!({"id": id, "name": format!("roam{id}"), "remote": "10.2.2.2:4500", "carrier": carrier, "state": "active",
            "class": "active", "weight": 1, "rtt_ms": 20.0, "jitter_ms": 1.0, "bandwidth_bps": 1, "window": 1, "inflight": 0, "mtu": 1400,
            "sent_bytes": 1, "sent": 1, "received_bytes": 1, "received": 1, "lost": 0, "spurious": 0, "acked": 1, "deaths": 0,
            "air": {"packet_time_us": us, "channel": 6, "rests": us > 500}})
    };
    let peer = json!({"name": "gateway", "key": "k", "inside": ["10.77.0.2"], "up": true, "silent_s": 0.0,
        "paths": [path(0, "udp", 206), path(1, "tls", 640)], "queue_bytes": 0, "queue_packets": 0, "queue_wait_ms": 0.0, "queue_in": 0,
        "codel_drops": 0, "codel_marks": 0, "overflow_drops": 0, "delivered": 0, "held_bytes": 0, "gaps": 0, "late": 0, "abandoned": 0,
        "duplicates": 0, "resent": 0, "given_up": 0});
    let uplink = |id: u32| json!({"name": format!("roam{id}"), "class": "active", "reset_day": 1, "weight": 1, "paths": [id]});
    let drops = json!({"malformed": 0, "unknown": 0, "forged": 0, "replayed": 0, "handshakes": 0, "inner": 0, "unroutable": 0});
    let io = json!({"device_in": 0, "device_out": 0, "device_refused": 0, "batches": 0, "send_full": 0, "send_too_big": 0,
        "send_unreachable": 0, "overruns": 0, "wakeups": 0});
    let gateways = json!({"here": ["10.2.2.2:4500"], "others": ["10.2.1.2:4500"], "moved": null});
    json!({"version": 1, "role": "client", "device": "rw0", "clock_ns": 1, "uptime_s": 5.0, "peers": [peer], "drops": drops, "io": io,
        "memory_used": 0, "memory_peak": 0, "memory_limit": 0, "notes": [], "uplinks": [uplink(0), uplink(1)], "gateways": gateways})
}

#[test]
fn what_carries_a_path_its_air_and_its_gateway_as_they_are_seen() {
    let Some((chromium, axe)) = tools() else { return };
    let (lab, states) = (lab(), States::new("web-carrier"));
    let status = daemon(&states, "status", client_of_two_gateways());
    let (_web, link) = web(&lab.client, &states.of("state"));
    let mut browser = Browser::start(&lab.client, &chromium, Path::new(&states.of("browser")));
    browser.look(1200, 900, "light");
    browser.open(&link);
    browser.wait_for(&format!("{} === 'roam0'", cell("roam0", "path")));
    browser.wait_for(&format!("{} === 'roam1 by TLS'", cell("roam1", "path")));
    let air = "Air of roam1: 640 us a packet, shares its channel with roam0, rests: a better path fills the channel.";
    browser.wait_for(&text_of("air-line", air));
    browser.wait_for(&text_of("sums", "at 10.2.2.2:4500; other endpoints: 10.2.1.2:4500"));
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "a path by TLS, the air and two gateways");
    // Where nothing is known of either there is no line.
    let mut now = status.lock().unwrap();
    now["gateways"] = Value::Null;
    (0..2).for_each(|n| now["peers"][0]["paths"][n]["air"] = Value::Null);
    drop(now);
    browser.wait_for("document.getElementById('air-line').hidden");
    browser.wait_for(&format!("!({})", text_of("sums", "other endpoints")));
}

#[test]
fn many_clients_and_several_workers_as_they_are_seen() {
    let Some((chromium, axe)) = tools() else { return };
    let (lab, states) = (lab(), States::new("web-many"));
    let mut gateway = client_of_two_gateways();
    (gateway["role"], gateway["uplinks"], gateway["gateways"]) = ("gateway".into(), json!([]), Value::Null);
    let worker = json!({"sessions": 4, "processor_s": 1.0, "handed_on": 70, "handed_on_lost": 3});
    gateway["workers"] = json!([worker, worker]);
    let status = daemon(&states, "status", gateway);
    let (_web, link) = web(&lab.client, &states.of("state"));
    let mut browser = Browser::start(&lab.client, &chromium, Path::new(&states.of("browser")));
    browser.look(1200, 900, "light");
    browser.open(&link);
    browser.wait_for(&format!("{} === 'invited'", cell("zoe", "state")));
    browser.wait_for(&text_of("notes-list", "1 of 5000 clients are listed, by name"));
    for (title, text) in [("sessions", "4"), ("handed on", "70"), ("dropped", "3")] {
        browser.wait_for(&format!("{} === '{text}'", cell("worker 1", title)));
    }
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "some clients of many, and workers");
    status.lock().unwrap()["workers"] = json!([]);
    browser.wait_for("document.getElementById('workers').hidden");
}

#[test]
fn a_walk_as_it_is_seen() {
    let Some((chromium, axe)) = tools() else { return };
    let (lab, states) = (lab(), States::new("web-walk"));
    let status = roaming(&states);
    let (_web, link) = web(&lab.client, &states.of("state"));
    let mut browser = Browser::start(&lab.client, &chromium, Path::new(&states.of("browser")));
    browser.look(1200, 900, "light");
    browser.open(&link);
    browser.wait_for(&format!("{} === '-51 dBm'", cell("roam1", "signal")));
    browser.wait_for("document.querySelectorAll('figure canvas').length === 3");
    browser.wait_for(
        "document.querySelector('figure .legend').textContent.includes('roam1 02:00:00:00:01:00 -51 dBm')",
    );
    // Whoever has a transmitter chooses the name.
    let name = browser.eval("document.querySelector('#roam-table [data-title=network]').textContent");
    assert_eq!((name, browser.eval("document.images.length")), (json!(EVIL), json!(0)));
    for (hidden, why) in
        [("bond", "there is no session"), ("bunch", "there is no bunch"), ("grants", "nobody grants")]
    {
        assert_eq!(
            browser.eval(&format!("document.getElementById('{hidden}').checkVisibility()")),
            false,
            "{why}"
        );
    }
    // One is lost: its line says why, and its curve stays.
    let mut lost = status.lock().unwrap();
    lost["access_points"][1]["state"] = "left".into();
    lost["access_points"][1]["why"] = "the association is lost".into();
    drop(lost);
    browser.wait_for(&text_of("timeline", "roam1 left 02:00:00:00:01:00"));
    browser.wait_for(&text_of("timeline", "the association is lost"));
    status.lock().unwrap()["access_points"].as_array_mut().unwrap().pop();
    browser.wait_for("!document.querySelector('tr[data-key^=roam1]')");
    assert_eq!(browser.eval("document.querySelectorAll('figure .legend')[0].children.length"), 2);
    for span in [900, 86_400, 300] {
        browser.eval(&format!("document.querySelector('[data-span=\"{span}\"]').click()"));
        browser.wait_for("document.querySelectorAll('figure canvas').length === 3");
    }
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "the page of a walk");
}

#[test]
fn a_bunch_as_it_is_seen() {
    let Some((chromium, axe)) = tools() else { return };
    let (lab, states) = (lab(), States::new("web-bunch"));
    let (gateway, member) = (states.of("gateway"), states.of("anna"));
    let at = format!("{}:4520", Paths::SHARED);
    let (code, token, err) = ropewalk(&["bunch", "invite", "anna", "--state", &gateway, "--endpoint", &at]);
    assert_eq!(code, 0, "{err}");
    let args = ["bunch", "gateway", "--state", &gateway, "--listen", "0.0.0.0:4520"];
    let mut serving = lab.gateway.start(BINARY, args).unwrap();
    serving.wait_for_line("gateway ready", SOON).unwrap();
    lab.client
        .ip(&["link add home0 type bridge", "link set home0 up", "addr add 192.168.9.1/24 dev home0"])
        .unwrap();
    let args = ["bunch", "ap", token.trim(), "--state", &member, "--home", "home0"];
    let mut ap = lab.client.start(BINARY, args).unwrap();
    ap.wait_for_line("access point ready", SOON).unwrap();

    let (_web, link) = web(&lab.gateway, &gateway);
    let mut browser = Browser::start(&lab.gateway, &chromium, Path::new(&states.of("browser")));
    browser.look(1200, 900, "light");
    browser.open(&link);
    browser.wait_for(&format!("{} === 'connected'", cell("anna", "state")));
    browser.wait_for(&format!("{} === '0 B'", cell("anna", "brought")));
    browser.wait_for("document.querySelectorAll('figure canvas').length === 1");
    for hidden in ["bond", "roam", "grants"] {
        assert_eq!(browser.eval(&format!("document.getElementById('{hidden}').checkVisibility()")), false);
    }
    browser.eval("document.getElementById('invite-member').click()");
    browser.eval("document.querySelector('dialog input').value = 'bert'");
    submit(&mut browser);
    browser.wait_for("/^rw1_/.test(document.querySelector('dialog textarea')?.value)");
    browser.wait_for("document.querySelector('dialog code').textContent.startsWith('ropewalk bunch ap -')");
    browser.press("Escape", 27);
    browser.wait_for(&format!("{} === 'invited'", cell("bert", "state")));
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "the page of a bunch");

    // The other end has a page of its own.
    let (_own, link) = web(&lab.client, &member);
    let mut other = Browser::start(&lab.client, &chromium, Path::new(&states.of("other")));
    other.look(1200, 900, "light");
    other.open(&link);
    other.wait_for(&text_of("bunch-line", "connected to"));
    other.wait_for(&text_of("bunch-line", "helps its home"));
    other.wait_for("document.querySelectorAll('figure canvas').length === 1");
    assert_eq!(other.eval("document.getElementById('members').hidden"), true);
    other.eval(&axe);
    is_accessible_everywhere(&mut other, "the page of a bunch's access point");

    ap.stop();
    browser.wait_for(&text_of("timeline", "anna disconnected"));
    browser.wait_for(&format!("{} === 'not connected'", cell("anna", "state")));
    browser.eval("document.querySelector('[aria-label=\"Revoke bert\"]').click()");
    submit(&mut browser);
    browser.wait_for("!document.querySelector('tr[data-key=bert]')");
}

/// The page of one end of a backhaul.
fn page_of(node: &Namespace, site: &Site, end: &str, chromium: &str) -> (Process, Browser) {
    let (server, link) = web(node, &site.states.of(end));
    let dir = site.states.of(&format!("browser-{end}"));
    let mut browser = Browser::start(node, chromium, Path::new(&dir));
    browser.look(1200, 900, "light");
    browser.open(&link);
    browser.wait_for(&format!("document.getElementById('who')?.textContent.startsWith('{end} rw0, up ')"));
    (server, browser)
}

/// That these parts of the page are not to be seen.
fn lacks(browser: &mut Browser, parts: &[&str]) {
    for part in parts {
        let is_seen = format!("document.getElementById('{part}').checkVisibility()");
        assert_eq!(browser.eval(&is_seen), false, "{part}");
    }
}

#[test]
fn a_backhaul_as_it_is_seen_at_both_ends() {
    let Some((chromium, axe)) = tools() else { return };
    let site = Site::new("web-backhaul", [20.0, 20.0]);
    addresses(&site);
    let file = site.file("ap", AP, BEHIND);
    let _ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let mut repeater = site.start_repeater(&site.file("repeater", REPEATER, ""), &[&token]);
    let behind =
        |what: &str| format!("{} && {}", text_of("sums", "clients behind it"), text_of("sums", what));

    // The access point lets repeaters in, and grants nothing.
    let (_web, mut browser) = page_of(&site.ap, &site, "ap", &chromium);
    browser.wait_for(&format!("{} === 'connected'", cell("attic", "state")));
    let paths = "[...document.querySelectorAll('#paths-table [data-title=path]')].map((e) => e.textContent)";
    browser.wait_for(&format!("{paths}.sort().join() === 'wlan0,wlan1'"));
    browser.wait_for(&behind("balance: "));
    lacks(&mut browser, &["grants", "roam", "bunch", "add-path"]);
    let buttons = "[...document.querySelectorAll('[data-key=attic] button')].map((b) => b.ariaLabel)";
    assert_eq!(browser.eval(buttons), json!(["Show attic", "Revoke attic"]));
    browser.eval("document.getElementById('invite').click()");
    browser.wait_for("document.querySelector('dialog h2')?.textContent === 'Invite a repeater'");
    browser.eval("document.querySelectorAll('dialog input')[0].value = 'cellar'");
    browser.eval("document.querySelectorAll('dialog input')[1].value = '10.1.1.1:4500'");
    submit(&mut browser);
    browser.wait_for("/^rw1_/.test(document.querySelector('dialog textarea')?.value)");
    browser.wait_for("document.querySelector('dialog code').textContent.startsWith('ropewalk repeater -')");
    browser.press("Escape", 27);
    browser.wait_for(&format!("{} === 'invited'", cell("cellar", "state")));
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "the page of an access point");

    // The repeater is a client: each link is a row that can be changed.
    let (_own, mut other) = page_of(&site.repeater, &site, "repeater", &chromium);
    for link in ["wlan0", "wlan1"] {
        other.wait_for(&format!("{} === 'active'", cell(link, "state")));
        other.wait_for(&format!("document.querySelector('[aria-label^=\"Change path {link}\"]')"));
    }
    other.wait_for(&behind("reports sent"));
    lacks(&mut other, &["clients", "grants", "roam", "bunch"]);
    assert_eq!(other.eval("document.getElementById('add-path').checkVisibility()"), true);
    other.eval(&axe);
    is_accessible_everywhere(&mut other, "the page of a repeater");

    repeater.stop();
    other.wait_for("document.getElementById('link-state').textContent === 'no daemon'");
    browser.wait_for(&text_of("timeline", "attic disconnected"));
    browser.wait_for(&format!("{} === 'not connected'", cell("attic", "state")));
}
