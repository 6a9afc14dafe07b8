//! Networks that hinder: UDP dropped, captive portals, reverse proxies, floods at the gateway's
//! TLS. Needs root; without it the tests pass and say so.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::backhaul::eventually;
use crate::common::certificate::certificate;
use crate::common::flow::Flow;
use crate::common::page::blocks;
use crate::common::{BINARY, SOON, States, drop_at, drop_no_more, invite, lab, root, ropewalk, serve, up};
use ropewalk_lab::{Namespace, Paths, Ping, Process};
use rustix::process::Signal;
use serde_json::Value;

const INSIDE: &str = "10.77.0.1";
const TLS: [&str; 2] = ["--tls-listen", "0.0.0.0:443"];

/// The network before the gateway drops UDP that comes by these interfaces.
fn block(lab: &Paths, interfaces: &str) {
    block_port(lab, interfaces, 4500);
}

/// The same for another of the gateway's ports.
fn block_port(lab: &Paths, interfaces: &str, port: u16) {
    drop_at(&lab.gateway, &[&format!("iifname {{ {interfaces} }} udp dport {port}")]);
}

fn json(states: &States, end: &str) -> Value {
    let (code, out, err) = ropewalk(&["status", "--json", "--state", &states.of(end)]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// `interface carrier` of the client's paths that carry data.
fn carriers(states: &States) -> Vec<String> {
    let status = json(states, "client");
    let paths = status["peers"][0]["paths"].as_array().cloned().unwrap_or_default();
    let active = paths.iter().filter(|p| p["state"] == "active");
    let mut all: Vec<String> =
        active.map(|p| format!("{} {}", p["name"], p["carrier"]).replace('"', "")).collect();
    all.sort();
    all
}

fn pings(client: &Namespace) -> bool {
    Ping::new(INSIDE.parse().unwrap()).run(client).is_ok_and(|r| r.received == r.sent)
}

/// A client that goes by TLS on its one path.
fn by_tls(lab: &Paths, states: &States, more: &[&str]) -> (Process, Process) {
    block(lab, "wan1, wan2");
    let gateway = serve(lab, states, &TLS);
    let token = invite(states, "alice");
    let client = up(lab, states, &token, &[&["--path", "wan1"], more].concat());
    eventually("by TLS", || carriers(states) == ["wan1 tls"]);
    (gateway, client)
}

#[test]
fn tls_is_found_and_left_again_and_no_byte_of_a_flow_is_lost() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered"));
    let (_gateway, _client) = by_tls(&lab, &states, &[]);
    // Before anything can be lost.
    let control = || lab.client.shell("ss -tinHO state established dport = :443").unwrap();
    assert!(control().contains(" cubic "), "{}", control());
    assert!(pings(&lab.client));
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    flow.goes_on("over TLS");
    let status = ropewalk(&["status", "--state", &states.of("client")]).1;
    assert!(status.contains("wan1 by TLS"), "{status}");
    let found = ropewalk(&["doctor", "--state", &states.of("client")]).1;
    assert!(found.contains("UDP blocked, TLS works"), "{found}");
    assert_eq!(json(&states, "gateway")["tls"]["streams"], 1);
    drop_no_more(&lab.gateway);
    let loses = "tcp dport 443 numgen random mod 20 == 0";
    drop_at(&lab.gateway, &["iifname { wan1, wan2 } udp dport 4500", loses]);
    flow.goes_on("over a stream that loses");
    if lab.client.shell("cat /proc/sys/net/ipv4/tcp_available_congestion_control").unwrap().contains("bbr") {
        eventually("BBR after a loss", || control().contains(" bbr "));
    } else {
        eprintln!("this kernel has no BBR: what follows a loss was not looked at");
    }
    drop_no_more(&lab.gateway);
    eventually("UDP again", || carriers(&states) == ["wan1 udp"]);
    flow.goes_on("over UDP");
    eventually("the stream is closed", || json(&states, "gateway")["tls"]["streams"] == 0);
    flow.ends_whole();
    // Before any daemon runs, the same is found with the token alone.
    block(&lab, "wan1, wan2");
    let token = states.of("token");
    std::fs::write(&token, invite(&states, "bob")).unwrap();
    let none = states.of("none");
    std::fs::create_dir_all(&none).unwrap();
    let args = ["doctor", "--state", &none, "--token-file", &token];
    let out = lab.client.command(BINARY).args(args).output().unwrap();
    let found = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(found.contains("UDP blocked, TLS works: the gateway at 10.9.0.1:443 answers"), "{found}");
}

/// The gateway's port that the client's only path goes to.
fn port(states: &States) -> Option<u16> {
    let status = json(states, "client");
    let path = status["peers"][0]["paths"].as_array()?.iter().find(|p| p["state"] == "active")?;
    path["remote"].as_str()?.parse::<SocketAddr>().ok().map(|remote| remote.port())
}

#[test]
fn where_one_udp_port_is_blocked_the_client_takes_the_other() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered-port"));
    block(&lab, "wan1, wan2");
    let _gateway = serve(&lab, &states, &[&TLS[..], &["--listen", "0.0.0.0:443"]].concat());
    // Nobody says where the gateway is: the token names both ports of each address.
    let (code, token, err) = ropewalk(&["invite", "alice", "--state", &states.of("gateway")]);
    assert_eq!(code, 0, "{err}");
    let _client = up(&lab, &states, token.trim(), &["--path", "wan1"]);
    let goes_by = |number: u16| carriers(&states) == ["wan1 udp"] && port(&states) == Some(number);
    eventually("UDP by the second port", || goes_by(443));
    assert!(pings(&lab.client));
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    flow.goes_on("by the second port");
    // The other way round, under a connection.
    drop_no_more(&lab.gateway);
    block_port(&lab, "wan1, wan2", 443);
    eventually("UDP by the first port", || goes_by(4500));
    flow.goes_on("by the first port");
    flow.ends_whole();
}

#[test]
fn one_flow_goes_by_udp_and_tls_at_once_and_outlives_either_end() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered-both"));
    block(&lab, "wan2");
    let mut gateway = serve(&lab, &states, &TLS);
    let token = invite(&states, "alice");
    let mut client = up(&lab, &states, &token, &["--path", "wan1", "--path", "wan2"]);
    let both = || carriers(&states) == ["wan1 udp", "wan2 tls"];
    eventually("one path each", both);
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    let sent = || -> Vec<u64> {
        let status = json(&states, "client");
        let paths = status["peers"][0]["paths"].as_array().cloned().unwrap_or_default();
        paths.iter().map(|p| p["sent_bytes"].as_u64().unwrap_or(0)).collect()
    };
    eventually("both carry it", || sent().iter().filter(|bytes| **bytes > 1_000_000).count() == 2);
    flow.goes_on("over both");
    // The gateway is killed: TCP breaks, UDP falls silent, and both come again.
    gateway.signal(Signal::KILL).unwrap();
    gateway.wait(SOON).unwrap();
    let mut gateway = serve(&lab, &states, &TLS);
    eventually("both again", both);
    flow.goes_on("over both again");
    flow.ends_whole();
    // So is the client: the gateway hears of the end of its stream, and lets it in again.
    client.signal(Signal::KILL).unwrap();
    client.wait(SOON).unwrap();
    eventually("the stream is closed", || json(&states, "gateway")["tls"]["streams"] == 0);
    let mut client = up(&lab, &states, &token, &["--path", "wan1", "--path", "wan2"]);
    eventually("both once more", both);
    assert!(pings(&lab.client));
    client.stop();
    gateway.stop();
}

#[test]
fn floods_at_the_tls_port_do_no_harm() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered-floods"));
    let (_gateway, _client) = by_tls(&lab, &states, &["--tls", "only"]);
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    flow.goes_on("before");
    let at = SocketAddr::new(Paths::SHARED, 443);
    // From another address than the client's: each has its bounds.
    lab.gateway.ip(&["address add 10.8.0.1/32 dev lo"]).unwrap();
    let idle = lab
        .gateway
        .run(move || {
            let mut idle: Vec<TcpStream> = (0..2000)
                .filter_map(|_| TcpStream::connect_timeout(&at, Duration::from_secs(2)).ok())
                .collect();
            for (n, stream) in idle.iter_mut().enumerate() {
                // A hello that stays unfinished, requests without TLS, noise.
                let says: &[u8] = match n % 3 {
                    0 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                    1 => b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                    _ => &[0xff; 64],
                };
                let _ = stream.write_all(says);
            }
            idle
        })
        .unwrap();
    flow.goes_on("during");
    assert!(pings(&lab.client));
    eventually("most were refused", || json(&states, "gateway")["tls"]["refused"].as_u64() > Some(1000));
    // A slow one: a byte now and then, until it is cut off.
    let mut slow = lab.gateway.run(move || TcpStream::connect(at)).unwrap().unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    eventually("the slow one is cut off", || {
        let is_over = |e: &std::io::Error| {
            use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
            !matches!(e.kind(), Interrupted | TimedOut | WouldBlock)
        };
        slow.write_all(b"\x16").is_err_and(|e| is_over(&e))
            || slow.read(&mut [0; 64]).map_or_else(|e| is_over(&e), |n| n == 0)
    });
    drop(idle);
    flow.goes_on("after");
    flow.ends_whole();
    assert_eq!(json(&states, "gateway")["tls"]["streams"], 1);
    assert_eq!(carriers(&states), ["wan1 tls"]);
}

#[test]
fn a_captive_portal_is_told_from_a_dead_link() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered-portal"));
    // Whoever has not logged in gets a page for every web request, and nothing else.
    block(&lab, "wan1, wan2");
    let at = SocketAddr::new(Paths::SHARED, 80);
    let portal = lab.gateway.run(move || TcpListener::bind(at)).unwrap().unwrap();
    std::thread::spawn(move || {
        for stream in portal.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: http://login.example/?from=you\r\nConnection: close\r\n\r\n");
        }
    });
    let state = states.of("gateway");
    let token = ropewalk(&["invite", "alice", "--state", &state, "--endpoint", "10.9.0.1:4500"]).1;
    let (client_state, line) = (states.of("client"), token.trim().to_owned());
    let mut client =
        lab.client.start(BINARY, ["up", &line, "--state", &client_state, "--path", "wan1"]).unwrap();
    client.wait_for_line("a captive portal answers", SOON * 3).unwrap();
    let status = ropewalk(&["status", "--state", &client_state]).1;
    assert!(status.contains("wan1: a captive portal answers here"), "{status}");
    assert!(status.contains("http://login.example/?from=you"), "{status}");
    client.stop();
    // A link that is dead says so: nobody answers at all.
    lab.gateway
        .shell("nft 'table inet dead { chain i { type filter hook input priority 0; drop; }\n}'")
        .unwrap();
    let mut client = lab.client.start(BINARY, ["up", "--state", &client_state, "--path", "wan1"]).unwrap();
    eventually("it is said", || {
        let (code, out, _) = ropewalk(&["status", "--state", &client_state]);
        code == 0 && out.contains("wan1: no answer by UDP, and the token names no way by TLS")
    });
    client.stop();
}

/// nginx, if it is here or Debian has it: only unpacked, so that no service of it starts.
fn nginx() -> Option<PathBuf> {
    let there = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].map(PathBuf::from);
    if let Some(found) = there.into_iter().find(|p| p.is_file()) {
        return Some(found);
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nginx");
    let program = dir.join("x/usr/sbin/nginx");
    if !program.is_file() {
        std::fs::create_dir_all(&dir).ok()?;
        let line = "apt-get -o APT::Sandbox::User=root download -q nginx && dpkg -x nginx_*.deb x";
        Command::new("sh").args(["-c", line]).current_dir(&dir).output().ok()?;
    }
    program.is_file().then_some(program)
}

#[test]
fn an_ordinary_reverse_proxy_passes_it() {
    if !root() {
        return;
    }
    let Some(nginx) = nginx() else { return ropewalk_skip::skip("needs nginx") };
    let (lab, states) = (lab(), States::new("hindered-proxy"));
    block(&lab, "wan1, wan2");
    let (cert, key) = certificate(&states);
    // As the guide has it.
    let location = &blocks("hindered.md", "nginx")[0];
    let dir = states.of("nginx");
    std::fs::create_dir_all(&dir).unwrap();
    let config = format!(
        "daemon off; user root; pid {dir}/pid; error_log stderr; worker_processes 1;
         events {{ worker_connections 64; }}
         http {{
           access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
           server {{
             listen 10.9.0.1:443 ssl; ssl_certificate {cert}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
             location / {{ return 200 'a web site'; }}
             {location}
           }}
         }}"
    );
    let file = states.of("nginx.conf");
    std::fs::write(&file, config).unwrap();
    let gateway_file = states.of("gateway.toml");
    let settings = format!(
        "[serve]\ntls-listen = [\"127.0.0.1:8443\"]\ntls-endpoints = [\"10.9.0.1:443\"]\ntls-cert = \"{cert}\"\ntls-key = \"{key}\"\n"
    );
    std::fs::write(&gateway_file, settings).unwrap();
    let mut gateway = serve(&lab, &states, &["--config", &gateway_file]);
    let _proxy = lab.gateway.start(nginx.to_str().unwrap(), ["-c", &file, "-p", &dir]).unwrap();
    let token = invite(&states, "alice");
    let _client = up(&lab, &states, &token, &["--path", "wan1"]);
    eventually("by TLS", || carriers(&states) == ["wan1 tls"]);
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    flow.goes_on("through the proxy");
    // The certificate is renewed under way.
    certificate(&states);
    gateway.signal(Signal::HUP).unwrap();
    gateway.wait_for_line("the certificate was read again", SOON).unwrap();
    flow.goes_on("with another certificate");
    flow.ends_whole();
}

/// The network passes no longer packets in either direction, nor says so; TCP passes if its
/// segments are short from the beginning.
fn narrow(lab: &Paths) {
    let table = |own: &str, syn: &str| {
        format!(
            "nft 'table inet narrow {{ chain p {{ type filter hook prerouting priority -300; iifname wan1 udp {own} 4500 meta length > 1200 drop; {syn} }}\n}}'"
        )
    };
    let syn = "iifname wan1 tcp dport 443 tcp flags & (syn | ack) == syn tcp option maxseg size > 1100 drop;";
    lab.gateway.shell(&table("dport", syn)).unwrap();
    lab.client.shell(&table("sport", "")).unwrap();
}

fn widen(lab: &Paths) {
    for end in [&lab.gateway, &lab.client] {
        end.shell("nft delete table inet narrow").unwrap();
    }
}

#[test]
fn an_only_path_that_is_too_narrow_goes_by_tls_until_it_is_wide_enough() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered-narrow"));
    narrow(&lab);
    let _gateway = serve(&lab, &states, &TLS);
    let token = invite(&states, "alice");
    let _client = up(&lab, &states, &token, &["--path", "wan1"]);
    eventually("by TLS", || carriers(&states) == ["wan1 tls"]);
    assert!(pings(&lab.client));
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    flow.goes_on("over TLS");
    let status = ropewalk(&["status", "--state", &states.of("client")]).1;
    assert!(status.contains("wan1 goes by TLS: packets of 1280 bytes do not pass by UDP"), "{status}");
    let found = ropewalk(&["doctor", "--state", &states.of("client")]).1;
    assert!(found.contains("UDP does not pass packets of 1280 bytes, TLS works"), "{found}");
    assert_eq!(found.matches("path wan1").count(), 1, "one line: {found}");
    // The stream breaks: it comes again, and the narrow path is not taken for a way meanwhile.
    lab.gateway.shell("nft 'table inet cut { chain i { type filter hook input priority 0; tcp dport 443 reject with tcp reset; }\n}'").unwrap();
    eventually("the stream is gone", || carriers(&states).is_empty());
    lab.gateway.shell("nft delete table inet cut").unwrap();
    eventually("by TLS again", || carriers(&states) == ["wan1 tls"]);
    flow.goes_on("over TLS again");
    widen(&lab);
    eventually("UDP again", || carriers(&states) == ["wan1 udp"]);
    flow.goes_on("over UDP");
    eventually("the stream is closed", || json(&states, "gateway")["tls"]["streams"] == 0);
    flow.ends_whole();
}

#[test]
fn a_narrow_interface_goes_by_tls_and_a_wide_one_never_tries_it() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("hindered-mtu"));
    lab.gateway
        .shell("nft 'table inet count { chain i { type filter hook input priority 0; tcp dport 443 tcp flags & (syn | ack) == syn counter; }\n}'")
        .unwrap();
    let tries = || lab.gateway.shell("nft list table inet count").unwrap();
    let _gateway = serve(&lab, &states, &TLS);
    let token = invite(&states, "alice");
    let mut client = up(&lab, &states, &token, &["--path", "wan1"]);
    let flow = Flow::start(&lab.client, &lab.gateway, INSIDE);
    flow.goes_on("over a wide path");
    // Longer than UDP is waited for before TLS is tried, and than three probes of the MTU take.
    std::thread::sleep(Duration::from_secs(6));
    flow.ends_whole();
    assert_eq!(carriers(&states), ["wan1 udp"]);
    assert!(tries().contains("counter packets 0 "), "{}", tries());
    client.stop();
    lab.client.ip(&["link set wan1 mtu 1200"]).unwrap();
    let mut client = up(&lab, &states, &token, &["--path", "wan1"]);
    eventually("by TLS", || carriers(&states) == ["wan1 tls"]);
    assert!(pings(&lab.client) && !tries().contains("counter packets 0 "));
    client.stop();
    // Without a way by TLS it is said, once and in one line.
    let mut client = up(&lab, &states, &token, &["--path", "wan1", "--tls", "off"]);
    eventually("it is said", || {
        let status = ropewalk(&["status", "--state", &states.of("client")]).1;
        status.contains("wan1: packets of 1280 bytes do not pass by UDP, and TLS is switched off")
    });
    client.stop();
}
