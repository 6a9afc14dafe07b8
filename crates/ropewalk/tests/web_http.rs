//! `ropewalk web` as hostile and clumsy HTTP clients see it, over a daemon that is a thread of the
//! test. No root needed.

mod others;

use crate::common::{BINARY, States, ropewalk};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// The longest that anything may take: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that answers, and writes down what it is asked to change.
fn daemon(states: &States, peers: usize) -> Arc<Mutex<Vec<String>>> {
    let dir = states.of("state");
    std::fs::create_dir_all(&dir).unwrap();
    let listener = UnixListener::bind(Path::new(&dir).join("control.sock")).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, log) = (stream.unwrap(), Arc::clone(&log));
            std::thread::spawn(move || converse(stream, &log, peers));
        }
    });
    asked
}

fn converse(stream: UnixStream, log: &Mutex<Vec<String>>, peers: usize) {
    let began = Instant::now();
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let request: Value = serde_json::from_str(&line).unwrap();
        let clock = began.elapsed().as_nanos() as u64;
        let answer = match request["ask"].as_str().unwrap() {
            "status" => json!({"answer": "status", "status": status(clock, peers)}),
            "history" => json!({"answer": "history", "clock_ns": clock, "events": []}),
            "clients" if request["most"] == 1024 => {
                json!({"answer": "clients", "total": 5000, "clients": [{"name": "alice", "came": true, "inside": ["10.77.0.2"]}]})
            }
            "flows" => {
                json!({"answer": "flows", "flows": {"counted": true, "total": 1, "flows": [{"peer": "alice", "protocol": "tcp", "here": "192.0.2.9:443",
                    "there": "10.77.0.2:50000", "class": "bulk", "sent_bytes": 9, "sent": 1, "sent_bps": 8, "received_bytes": 7, "received": 1,
                    "received_bps": 6, "age_s": 1.0, "idle_s": 0.5, "longest_gap_ms": 20.0}]}})
            }
            "grants" => {
                json!({"answer": "grants", "grants": {"forwards": [{"client": "alice", "protocol": "tcp", "port": 8080, "to": 80}],
                    "ended": [{"protocol": "tcp", "port": 9, "to": 9}], "groups": {}, "limits": {"alice": {"down": "20Mbit"}}}})
            }
            "grant" if line.contains("\"port\":22,") => {
                json!({"answer": "refused", "code": 4, "sentence": "a program of this machine listens at tcp port 22: choose another"})
            }
            "revoke" => json!({"answer": "refused", "code": 2, "sentence": "there is no such client"}),
            "invite" => {
                log.lock().unwrap().push(line);
                json!({"answer": "token", "token": "rw1_secret"})
            }
            _ => {
                log.lock().unwrap().push(line);
                json!({"answer": "done", "said": "it is done"})
            }
        };
        if writeln!(writer, "{answer}").is_err() {
            return;
        }
    }
}

fn status(clock: u64, peers: usize) -> Value {
    let path = |id: u64| {
        json!({"id": id, "name": format!("wan{id}"), "remote": "192.0.2.1:4500", "state": "active", "class": "active", "allowance": null, "weight": 1,
            "rtt_ms": 20.0, "min_rtt_ms": 19.0, "jitter_ms": 0.1, "bandwidth_bps": 1, "pacing_bps": null, "window": 1, "inflight": 1, "mtu": 1400,
            "sent_bytes": clock / 1000, "sent": 1, "received_bytes": clock / 2000, "received": 1, "lost": 0, "spurious": 0, "acked": 1, "deaths": 0, "link": null})
    };
    let peer = |n: usize| {
        json!({"name": format!("client{n}"), "key": n.to_string(), "inside": ["10.77.0.2"], "up": true, "cipher": "AES-128-GCM", "key_age_s": 1.0,
            "silent_s": 0.1, "paths": [path(1), path(2)], "queue_bytes": 0, "queue_packets": 0, "queue_wait_ms": 0.0, "queue_in": 0, "codel_drops": 0,
            "codel_marks": 0, "overflow_drops": 0, "delivered": 0, "held_bytes": 0, "gaps": 0, "late": 0, "abandoned": 0, "duplicates": 0, "resent": 0,
            "given_up": 0})
    };
    let peers: Vec<Value> = (0..peers).map(peer).collect();
    json!({"version": 1, "role": "gateway", "device": "rw0", "clock_ns": clock, "uptime_s": clock as f64 / 1e9, "peers": peers,
        "drops": {"malformed": 0, "unknown": 0, "forged": 0, "replayed": 0, "handshakes": 0, "inner": 0, "unroutable": 0},
        "io": {"device_in": 0, "device_out": 0, "device_refused": 0, "batches": 0, "send_full": 0, "send_too_big": 0, "send_unreachable": 0,
            "overruns": 0, "wakeups": 0},
        "memory_used": 0, "memory_peak": 0, "memory_limit": 0, "notes": []})
}

/// The page's server; it ends with this.
struct Web {
    child: Child,
    address: String,
    token: String,
}

impl Web {
    fn start(states: &States, more: &[&str]) -> Web {
        let state = states.of("state");
        let mut command = Command::new(BINARY);
        command.args(["web", "--state", &state]).args(more).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let link = lines.find_map(|l| l.ok().filter(|l| l.starts_with("http://"))).unwrap();
        let (address, token) = link.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        Web { child, address: address.to_owned(), token: token.to_owned() }
    }

    fn on_a_port(states: &States) -> Web {
        Web::start(states, &["--listen", "127.0.0.1:0"])
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn ask(&self, head: &str, body: &str) -> Answer {
        ask(self.connect(), head, &format!("host: {}\r\n", self.address), body)
    }

    /// A request of the page itself.
    fn post(&self, path: &str, more: &str, body: &str) -> Answer {
        let (own, length) = (&self.address, body.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\norigin: http://{own}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}"
        );
        self.ask(&head, body)
    }

    fn open(&self) -> Session {
        let answer = self.post("/api/open", "", &json!({"token": self.token}).to_string());
        assert_eq!(answer.code, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        let (pair, attributes) = cookie.split_once(';').unwrap();
        assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Strict");
        let key = serde_json::from_str::<Value>(&answer.body).unwrap()["key"].as_str().unwrap().to_owned();
        Session { cookie: format!("cookie: {pair}\r\n"), key: format!("ropewalk-key: {key}\r\n") }
    }

    /// A line of its `/proc/PID/status`.
    fn process(&self, name: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|l| l.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    }

    fn resident_kib(&self) -> u64 {
        self.process("VmRSS:").parse().unwrap()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Header lines of a browser that was let in.
struct Session {
    cookie: String,
    key: String,
}

#[derive(Debug)]
struct Answer {
    code: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|l| l.split_once(": "));
        lines.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn ask(mut stream: impl Read + Write, head: &str, host: &str, body: &str) -> Answer {
    let text = format!("{head}{host}connection: close\r\n\r\n{body}");
    // What is too long may be refused before all of it is sent.
    let _ = stream.write_all(text.as_bytes());
    read(stream)
}

fn read(mut stream: impl Read) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let code = head.split(' ').nth(1).and_then(|c| c.parse().ok()).unwrap_or(0);
    Answer { code, head: head.to_owned(), body: body.to_owned() }
}

#[test]
fn a_link_opens_one_browser_and_changes_need_its_key() {
    let states = States::new("web-token");
    let asked = daemon(&states, 1);
    let web = Web::on_a_port(&states);
    assert_eq!(web.post("/api/open", "", r#"{"token":"wrong"}"#).code, 403);
    let session = web.open();
    let again = web.post("/api/open", "", &json!({"token": web.token}).to_string());
    assert_eq!(again.code, 403, "{again:?}");

    let history = "GET /api/history?span=seconds&peer=client0 HTTP/1.1\r\n";
    assert_eq!(web.ask(history, "").code, 401);
    let answer = web.ask(&format!("{history}{}", session.cookie), "");
    assert_eq!(answer.code, 200);
    let series: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(series[0]["path"], "1", "{series}");
    assert_eq!(web.ask("GET /api/live HTTP/1.1\r\n", "").code, 401);
    assert_eq!(web.ask("GET /api/clients HTTP/1.1\r\n", "").code, 401);
    assert_eq!(
        web.ask("GET /api/flows HTTP/1.1\r\n", "").code,
        401,
        "who has what is for who opened the page"
    );
    let flows = web.ask(&format!("GET /api/flows HTTP/1.1\r\n{}", session.cookie), "");
    let flows: Value = serde_json::from_str(&flows.body).unwrap();
    assert_eq!((&flows["total"], &flows["flows"][0]["peer"]), (&json!(1), &json!("alice")));
    let known = web.ask(&format!("GET /api/clients HTTP/1.1\r\n{}", session.cookie), "");
    let known: Value = serde_json::from_str(&known.body).unwrap();
    assert_eq!((&known["total"], &known["clients"][0]["name"]), (&json!(5000), &json!("alice")));

    let act = r#"{"do":"path-set","name":"wan1","options":{"class":"backup"}}"#;
    assert_eq!(web.post("/api/act", "", act).code, 401);
    assert_eq!(web.post("/api/act", &session.cookie, act).code, 403, "the cookie alone may look");
    assert_eq!(web.post("/api/act", &session.key, act).code, 401);
    let both = format!("{}{}", session.cookie, session.key);
    assert!(asked.lock().unwrap().is_empty());
    assert_eq!(web.post("/api/act", &both, act).code, 200);
    let said = asked.lock().unwrap().pop().unwrap();
    assert!(
        said.contains(r#""ask":"path-set","name":"wan1""#) && said.contains(r#""class":"backup""#),
        "{said}"
    );
    let token = web.post("/api/act", &both, r#"{"do":"invite","name":"bob"}"#);
    assert!(token.body.contains("rw1_secret") && token.body.contains("\"qr\""), "{token:?}");
    let refused = web.post("/api/act", &both, r#"{"do":"revoke","name":"eve"}"#);
    assert_eq!((refused.code, refused.body.as_str()), (409, "there is no such client\n"));
    for wrong in
        ["", "{}", r#"{"do":"expel","name":"x"}"#, r#"{"do":"path-set","name":"w","options":{"weight":0}}"#]
    {
        let code = web.post("/api/act", &both, wrong).code;
        assert!(code == 400 || code == 409, "{wrong}: {code}");
    }
}

#[test]
fn other_names_other_pages_and_other_methods_are_refused() {
    let states = States::new("web-origin");
    daemon(&states, 1);
    let web = Web::on_a_port(&states);
    let session = web.open();
    let both = format!("{}{}", session.cookie, session.key);
    for host in ["evil.example", "127.0.0.1.evil.example:80", "192.0.2.1"] {
        let answer = ask(web.connect(), "GET / HTTP/1.1\r\n", &format!("host: {host}\r\n"), "");
        assert_eq!(answer.code, 421, "{host}");
    }
    assert!(matches!(ask(web.connect(), "GET / HTTP/1.1\r\n", "", "").code, 400 | 421));
    let act = r#"{"do":"path-remove","name":"wan1"}"#;
    let post = |origin: &str, more: &str| {
        let head = format!(
            "POST /api/act HTTP/1.1\r\n{origin}content-type: application/json\r\ncontent-length: {}\r\n{both}{more}",
            act.len()
        );
        web.ask(&head, act).code
    };
    assert_eq!(post("", ""), 403, "a change without an origin");
    assert_eq!(post("origin: http://127.0.0.1:1\r\n", ""), 403, "another port is another page");
    assert_eq!(post("origin: http://evil.example\r\n", ""), 403);
    let own = format!("origin: http://{}\r\n", web.address);
    assert_eq!(post(&own, "sec-fetch-site: cross-site\r\n"), 403);
    assert_eq!(post(&own, "sec-fetch-site: same-origin\r\n"), 200);
    let form = format!(
        "POST /api/act HTTP/1.1\r\n{own}content-type: text/plain\r\ncontent-length: {}\r\n{both}",
        act.len()
    );
    assert_eq!(web.ask(&form, act).code, 415, "what a form of another page could send");
    assert_eq!(web.ask(&format!("GET /api/act HTTP/1.1\r\n{both}"), "").code, 405);
    assert_eq!(web.ask(&format!("DELETE / HTTP/1.1\r\n{own}{both}"), "").code, 405);
    assert_eq!(web.ask("GET /../../etc/passwd HTTP/1.1\r\n", "").code, 404);
}

#[test]
fn any_loopback_address_can_be_listened_at() {
    let states = States::new("web-address");
    daemon(&states, 1);
    let web = Web::start(&states, &["--listen", "127.0.0.2:0"]);
    assert!(web.address.starts_with("127.0.0.2:"), "{}", web.address);
    assert_eq!(web.ask("GET / HTTP/1.1\r\n", "").code, 200);
    web.open();
    let answer = ask(web.connect(), "GET / HTTP/1.1\r\n", "host: 127.0.0.3\r\n", "");
    assert_eq!(answer.code, 421, "{answer:?}");
}

#[test]
fn every_answer_has_the_headers_that_keep_others_out() {
    let states = States::new("web-headers");
    daemon(&states, 1);
    let web = Web::on_a_port(&states);
    for (path, code) in [
        ("/", 200),
        ("/main.js", 200),
        ("/style.css", 200),
        ("/uplot.js", 200),
        ("/none", 404),
        ("/api/live", 401),
    ] {
        let answer = web.ask(&format!("GET {path} HTTP/1.1\r\n"), "");
        assert_eq!(answer.code, code, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        let parts = [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
        ];
        assert!(parts.iter().all(|p| policy.contains(p)) && !policy.contains("unsafe"), "{policy}");
        let others = [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ];
        assert!(others.iter().all(|(name, value)| answer.header(name) == Some(value)), "{answer:?}");
    }
}

#[test]
fn long_slow_and_many_requests_hold_nobody_up() {
    let states = States::new("web-limits");
    daemon(&states, 200);
    let web = Web::on_a_port(&states);
    let session = web.open();
    let before = web.resident_kib();
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n", "x".repeat(64 * 1024));
    let many = format!("GET / HTTP/1.1\r\n{}", (0..200).map(|n| format!("x{n}: y\r\n")).collect::<String>());
    for head in [long, many] {
        let code = web.ask(&head, "").code;
        assert!(code == 431 || code == 0, "{code}");
    }
    let both = format!("{}{}", session.cookie, session.key);
    assert_eq!(web.post("/api/act", &both, &"x".repeat(5000)).code, 413);
    // Whoever is slow with its head, or with its body, is let go.
    let mut slow = web.connect();
    slow.write_all(b"GET / HTT").unwrap();
    read(slow);
    let mut slow = web.connect();
    let own = &web.address;
    write!(slow, "POST /api/act HTTP/1.1\r\nhost: {own}\r\norigin: http://{own}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n{both}\r\n{{").unwrap();
    assert_eq!(read(slow).code, 408);
    // Pages that take nothing of what they are sent.
    let deaf: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = web.connect();
            write!(stream, "GET /api/live HTTP/1.1\r\nhost: {own}\r\n{}\r\n", session.cookie).unwrap();
            stream
        })
        .collect();
    // More connections than there is room for, all silent: whoever comes has an answer all the
    // same, if not at once.
    let silent: Vec<TcpStream> = (0..60).map(|_| web.connect()).collect();
    let until = Instant::now() + PATIENCE;
    while web.ask("GET / HTTP/1.1\r\n", "").code != 200 {
        assert!(Instant::now() < until, "no answer within {PATIENCE:?}");
    }
    std::thread::sleep(Duration::from_secs(3));
    let grown = web.resident_kib().saturating_sub(before);
    println!("{grown} KiB more, with {} deaf pages and {} silent connections", deaf.len(), silent.len());
    assert!(grown < 64 * 1024, "{grown} KiB more");
}

#[test]
fn live_news_come_each_second() {
    let states = States::new("web-live");
    daemon(&states, 2);
    let web = Web::on_a_port(&states);
    let session = web.open();
    let mut stream = web.connect();
    write!(stream, "GET /api/live HTTP/1.1\r\nhost: {}\r\n{}\r\n", web.address, session.cookie).unwrap();
    let mut views = Vec::new();
    for line in BufReader::new(stream).lines() {
        if let Some(view) = line.unwrap().strip_prefix("data: {") {
            views.push(serde_json::from_str::<Value>(&format!("{{{view}")).unwrap());
        }
        if views.len() == 4 {
            break;
        }
    }
    let path = &views[3]["peers"][0]["paths"][0];
    // The daemon of the test sends a megabyte each second.
    let rate = path["up_bps"].as_f64().unwrap();
    assert!((7e6..9e6).contains(&rate), "{path}");
    assert_eq!((&path["state"], &path["queue_ms"]), (&json!("active"), &json!(1.0)));
}

#[test]
fn a_day_outlives_the_page_s_process() {
    let states = States::new("web-day");
    daemon(&states, 1);
    let file = Path::new(&states.of("state")).join("web.json");
    let minute = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 60;
    let path = json!({"peer": "client0", "path": "1", "t": [minute - 90, minute - 5], "up": [5, 6], "down": [7, 8], "rtt": [20.5, null], "loss": [0, 0]});
    std::fs::write(&file, json!({"version": 1, "paths": [path]}).to_string()).unwrap();
    let minutes = |web: &Web| -> Value {
        let cookie = web.open().cookie;
        let answer = web.ask(&format!("GET /api/history?span=minutes&peer=client0 HTTP/1.1\r\n{cookie}"), "");
        serde_json::from_str(&answer.body).unwrap()
    };
    for round in 0..2 {
        let mut web = Web::on_a_port(&states);
        let all = minutes(&web);
        let series = all.as_array().unwrap().iter().find(|s| s["path"] == "1").unwrap();
        assert_eq!(series["t"][0], (minute - 90) * 60, "{round}: {all}");
        assert_eq!((&series["up"][1], &series["rtt"][1]), (&json!(6.0), &json!(null)), "{round}: {all}");
        kill_process(Pid::from_child(&web.child), Signal::TERM).unwrap();
        assert!(web.child.wait().unwrap().success());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{round}");
    }
    // What is damaged is put aside, and the page is there all the same.
    std::fs::write(&file, "{").unwrap();
    let web = Web::on_a_port(&states);
    let all = minutes(&web);
    let mut times = all.as_array().unwrap().iter().flat_map(|s| s["t"].as_array().unwrap());
    assert!(times.all(|t| t.as_u64() >= Some(minute * 60)), "{all}");
    assert_eq!(std::fs::read_to_string(file.with_extension("json.bad")).unwrap(), "{");
}

#[test]
fn a_unix_socket_is_for_its_user_alone() {
    let states = States::new("web-socket");
    daemon(&states, 1);
    let socket = states.of("page.sock");
    let mut web = Web::start(&states, &["--socket", &socket]);
    let file = std::fs::metadata(&socket).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    for rights in ["CapEff:", "CapPrm:", "CapInh:"] {
        assert_eq!(web.process(rights), "0000000000000000", "{rights} of root are given up");
    }
    let answer = ask(UnixStream::connect(&socket).unwrap(), "GET / HTTP/1.1\r\n", "host: localhost\r\n", "");
    assert_eq!(answer.code, 200);
    let another = States::new("web-socket-another");
    daemon(&another, 1);
    let (code, _, err) = ropewalk(&["web", "--state", &another.of("state"), "--socket", &socket]);
    assert!(code == 4 && err.contains("is there already"), "{code} {err}");
    kill_process(Pid::from_child(&web.child), Signal::TERM).unwrap();
    assert!(web.child.wait().unwrap().success());
    assert!(!Path::new(&socket).exists(), "the socket goes with its server");
    // One that a killed server left is no obstacle, a file of somebody else is.
    drop(UnixListener::bind(&socket).unwrap());
    drop(Web::start(&states, &["--socket", &socket]));
    let _ = std::fs::remove_file(&socket);
    std::fs::write(&socket, "mine").unwrap();
    assert_eq!(ropewalk(&["web", "--state", &states.of("state"), "--socket", &socket]).0, 4);
    assert_eq!(std::fs::read(&socket).unwrap(), b"mine");
}

#[test]
fn what_cannot_be_is_said() {
    let states = States::new("web-refused");
    daemon(&states, 1);
    let (code, out, err) = ropewalk(&["web", "--state", &states.of("state"), "--listen", "0.0.0.0:4580"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("listen on 127.0.0.1") && err.contains("ssh -L 4580:"), "{err}");
    let web = Web::on_a_port(&states);
    let another = States::new("web-refused-another");
    daemon(&another, 1);
    let (code, _, err) = ropewalk(&["web", "--state", &another.of("state"), "--listen", &web.address]);
    assert!(code == 4 && err.contains("cannot be served at"), "{code} {err}");
    let (code, _, err) = ropewalk(&["web", "--state", &states.of("nothing")]);
    assert_eq!(code, 7, "{err}");
}
