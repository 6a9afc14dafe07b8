//! What a page shows besides a bond's paths, and who gets a link to it.

use super::*;
use crate::common::root;
use std::net::TcpListener;

/// A daemon that is no bond: it answers requests of the kind `ask` with what `status` makes of
/// their number, and refuses all others.
fn no_bond(states: &States, ask: &'static str, status: impl Fn(u32) -> Value + Send + Clone + 'static) {
    let dir = states.of("state");
    std::fs::create_dir_all(&dir).unwrap();
    let listener = UnixListener::bind(Path::new(&dir).join("control.sock")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, status) = (stream.unwrap(), status.clone());
            std::thread::spawn(move || {
                let (mut writer, mut requests) = (stream.try_clone().unwrap(), 0);
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let request: Value = serde_json::from_str(&line).unwrap();
                    let answer = if request["ask"] == ask {
                        requests += 1;
                        json!({"answer": ask, "status": status(requests)})
                    } else {
                        json!({"answer": "refused", "code": 2, "sentence": "this is for a bond"})
                    };
                    let _ = writeln!(writer, "{answer}");
                }
            });
        }
    });
}

/// What the page is told, event by event, with their names.
fn live(web: &Web, session: &Session) -> impl Iterator<Item = (String, Value)> {
    let mut stream = web.connect();
    write!(stream, "GET /api/live HTTP/1.1\r\nhost: {}\r\n{}\r\n", web.address, session.cookie).unwrap();
    let mut name = String::new();
    BufReader::new(stream).lines().map_while(Result::ok).filter_map(move |line| {
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.to_owned();
        }
        let data = line.strip_prefix("data: ")?;
        Some((name.clone(), serde_json::from_str(data).unwrap()))
    })
}

/// Waits until a view, or the lines of what happened, are so.
fn wait_for(web: &Web, session: &Session, event: &str, so: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + PATIENCE;
    for (name, data) in live(web, session) {
        if name == event && so(&data) {
            return data;
        }
        assert!(Instant::now() < until, "{event}: not within {PATIENCE:?}, the last is {data}");
    }
    panic!("the page's server has ended");
}

fn has_line(text: &'static str) -> impl Fn(&Value) -> bool {
    move |lines| lines.as_array().unwrap().iter().any(|l| l["text"].as_str().unwrap().contains(text))
}

fn history(web: &Web, session: &Session, of: &str) -> Value {
    let head = format!("GET /api/history?span=seconds&of={of} HTTP/1.1\r\n");
    assert_eq!(web.ask(&head, "").code, 401, "the past is for who opened the page");
    let answer = web.ask(&format!("{head}{}", session.cookie), "");
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn a_walk_past_access_points_is_shown() {
    let states = States::new("web-roam");
    let status = |requests: u32| {
        let state = if requests < 8 { "active" } else { "left" };
        json!({"version": 1, "radio": "phy0", "channel": "6", "stations": 3, "uptime_s": requests, "notes": [], "access_points": [
            {"interface": "roam0", "bssid": "02:00:00:00:01:00", "ssid": "<b>home</b>", "frequency_mhz": 2437, "state": state, "why": "", "for_s": 0.1,
                "signal_dbm": -52.0, "rate_bps": 65000000, "packet_time_us": 206, "measured": true, "address": null,
                "received_bytes": 0, "sent_bytes": 0, "mptcp": false}]})
    };
    no_bond(&states, "roam", status);
    let web = Web::on_a_port(&states);
    let session = web.open();
    let view = wait_for(&web, &session, "now", |v| v["role"] == "roam");
    assert_eq!((&view["roam"]["radio"], &view["bunch"]), (&json!("phy0"), &json!(null)), "{view}");
    wait_for(&web, &session, "timeline", has_line("roam0 is with 02:00:00:00:01:00 (<b>home</b>)"));
    wait_for(&web, &session, "timeline", has_line("roam0 left 02:00:00:00:01:00"));
    let past = history(&web, &session, "roam");
    assert_eq!((&past[0]["path"], &past[0]["signal"][0]), (&json!("02:00:00:00:01:00"), &json!(-52.0)));
    assert_eq!((&past[0]["rate"][0], &past[0]["packet"][0]), (&json!(65e6), &json!(206.0)), "{past}");
    assert_eq!(history(&web, &session, "bunch"), json!([]), "the null case: there is no bunch");
}

#[test]
fn a_bunch_is_shown_with_what_each_brings() {
    let states = States::new("web-bunch");
    let status = |requests: u32| {
        let remote = if requests < 12 { json!("192.0.2.1:4000") } else { json!(null) };
        json!({"role": "gateway", "device": "bunch0", "uptime_s": requests, "sessions": 1, "resets": 0, "kept_bytes": 0, "bypassed": {"mptcp": 2},
            "unhelped_packets": 0, "cells_of_others": 0, "too_long": 0, "cut_packets": 0, "delivered_packets": 1, "delivered_bytes": 1,
            "refused_packets": 0, "turned_away": 0, "uploads": [], "contributors": [
            {"name": "anna", "remote": remote, "address": null, "neighbours": 1, "hears_cells": null, "packets": 1, "bytes": requests * 1000,
                "failed": 0, "late": 0, "damaged": 0, "data_bytes": 1, "report_bytes": 0, "score": 1.0}]})
    };
    no_bond(&states, "bunch", status);
    let web = Web::on_a_port(&states);
    let session = web.open();
    // Its clock goes a second on with each look.
    let view = wait_for(&web, &session, "now", |v| v["bunch"]["rates"]["anna"] == 8000.0);
    assert_eq!(
        (&view["role"], &view["bunch"]["status"]["device"]),
        (&json!("bunch gateway"), &json!("bunch0"))
    );
    wait_for(&web, &session, "timeline", has_line("anna disconnected"));
    let past = history(&web, &session, "bunch");
    assert_eq!(past[0]["path"], "anna", "{past}");
    assert!(past[0]["brought"].as_array().unwrap().contains(&json!(8000.0)), "{past}");
    assert_eq!(history(&web, &session, "roam"), json!([]), "the null case: nobody walks");
}

#[test]
fn what_is_granted_is_shown_and_changed_by_the_commands_requests() {
    let states = States::new("web-grants");
    let requests = daemon(&states, 1);
    let web = Web::on_a_port(&states);
    let session = web.open();
    let head = "GET /api/grants HTTP/1.1\r\n";
    assert_eq!(web.ask(head, "").code, 401);
    let answer = web.ask(&format!("{head}{}", session.cookie), "");
    let grants: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (&grants["forwards"][0]["port"], &grants["limits"]["alice"]["down"]),
        (&json!(8080), &json!("20Mbit"))
    );
    assert_eq!(grants.get("ended"), None, "what was granted once is nobody's matter");
    let both = format!("{}{}", session.cookie, session.key);
    let quota = json!({"do": "quota", "change": {"client": "alice", "to": {"amount": "10GB", "per": "day", "then": null}}});
    assert_eq!(web.post("/api/act", &session.cookie, &quota.to_string()).code, 403);
    assert!(requests.lock().unwrap().is_empty());
    let answer = web.post("/api/act", &both, &quota.to_string());
    assert_eq!((answer.code, answer.body.contains("it is done")), (200, true), "{answer:?}");
    let line = requests.lock().unwrap().pop().unwrap();
    assert!(line.contains(r#""ask":"quota""#) && line.contains("10000000000"), "{line}");
    wait_for(&web, &session, "timeline", has_line("it is done"));
    let forward = |port: u16| {
        let forward =
            json!({"client": "alice", "protocol": "tcp", "port": port, "to": 80, "masquerade": false});
        json!({"do": "grant", "change": {"forward-add": forward}}).to_string()
    };
    assert_eq!(web.post("/api/act", &both, &forward(8081)).code, 200);
    assert!(requests.lock().unwrap().pop().unwrap().contains(r#""ask":"grant""#));
    let refused = web.post("/api/act", &both, &forward(22));
    let sentence = "a program of this machine listens at tcp port 22: choose another\n";
    assert_eq!((refused.code, refused.body.as_str()), (409, sentence));
    for wrong in [
        r#"{"do":"quota","change":{"client":"alice","to":{"amount":"much","per":"day"}}}"#,
        r#"{"do":"grant","change":{"limit-set":{"client":"alice","limit":{"down":"fast"}}}}"#,
    ] {
        let answer = web.post("/api/act", &both, wrong);
        assert!(answer.code == 400 && answer.body.contains("write a number with"), "{wrong}: {answer:?}");
    }
    assert!(requests.lock().unwrap().is_empty(), "what is refused here does not reach the daemon");
}

#[test]
fn one_page_serves_a_directory_and_hands_out_links() {
    let states = States::new("web-links");
    daemon(&states, 1);
    let state = states.of("state");
    let none = ropewalk(&["web", "--link", "--state", &state]);
    assert!(none.0 == 7 && none.1.is_empty() && none.2.contains("no page of"), "{none:?}");
    let web = Web::on_a_port(&states);
    let second = ropewalk(&["web", "--state", &state, "--listen", "127.0.0.1:0"]);
    assert!(second.0 == 4 && second.2.contains("another `ropewalk web`"), "{second:?}");
    let socket = Path::new(&state).join("web.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);

    let fresh = |web: &Web| {
        let (code, out, err) = ropewalk(&["web", "--link", "--state", &state]);
        assert_eq!((code, err.as_str()), (0, ""));
        let base = format!("http://{}/#", web.address);
        out.trim().strip_prefix(&base).unwrap_or_else(|| panic!("{out} {base}")).to_owned()
    };
    let token = fresh(&web);
    let open = |token: &str| web.post("/api/open", "", &json!({"token": token}).to_string()).code;
    assert_eq!(open(&web.token), 403, "a new link takes the place of the one before");
    assert_eq!([open(&token), open(&token)], [200, 403], "it is good once");

    // A killed page leaves its socket, which is no obstacle; one that ends takes it along.
    drop(web);
    assert!(socket.exists());
    assert_eq!(ropewalk(&["web", "--link", "--state", &state]).0, 7);
    let mut command = Command::new(BINARY);
    command.args(["web", "--state", &state, "--listen", "127.0.0.1:0", "--no-link"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while ropewalk(&["web", "--link", "--state", &state]).0 != 0 {
        assert!(Instant::now() < until, "no link within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(printed, "", "no secret goes into a log");
    assert!(!socket.exists());
}

#[test]
fn a_page_to_which_nobody_could_get_a_link_is_not_served() {
    if !root() {
        return;
    }
    let states = States::new("web-other");
    daemon(&states, 1);
    let state = states.of("state");
    std::os::unix::fs::chown(&state, Some(65534), None).unwrap();
    // A page that was served after all would end because of its port.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let (code, out, err) = ropewalk(&["web", "--state", &state, "--listen", &at, "--no-link"]);
    assert!(code == 2 && out.is_empty() && err.contains("another user's"), "{code} {out} {err}");
}
