//! `ropewalk bunch` between real processes, with the kernel's own TCP. Needs root; without it the
//! tests pass and say so.
//!
//! ```text
//!   sender ── home ─── 4 Mbit/s ──┐
//!              ║ mesh0            │
//!             anna ─── 4 Mbit/s ── gateway ── server
//!              ║                  │
//!             bert ─── 4 Mbit/s ──┘
//! ```

mod accounts;
mod air;
mod cap;
mod classes;
mod guide;
mod hooks;
pub(crate) mod street;
mod udp;
pub(crate) mod watched;

use crate::common::{BINARY, SOON, States, eventually, hears_of_sleep, root, ropewalk, scrape};
use ropewalk_lab::{Namespace, Ping, Process, Topology};
use rustix::process::Signal;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use street::{APS, MBPS, METRICS, Net, PATIENCE, SERVER, build, in_time, net, pattern};

impl Net {
    /// Bytes that left by an access point's uplink so far.
    fn sent(&self, ap: usize) -> u64 {
        let text =
            self.aps[ap].run(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap().unwrap();
        let line = text.lines().find_map(|l| l.trim().strip_prefix("wan0:")).unwrap().to_owned();
        line.split_whitespace().nth(8).unwrap().parse().unwrap()
    }

    fn all_sent(&self) -> Vec<u64> {
        (0..APS.len()).map(|ap| self.sent(ap)).collect()
    }

    /// Connects, and has the server read on a thread.
    fn upload(&self, bytes: usize) -> Upload {
        let listener = self.listener();
        let stream = self.connect();
        let (into, from) = listener.accept().unwrap();
        let gateway = if self.router.is_some() { "10.8.0.1" } else { "10.9.0.1" };
        assert_eq!(from.ip().to_string(), gateway, "the server sees the gateway");
        into.set_read_timeout(Some(PATIENCE)).unwrap();
        let came = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&came);
        let there = std::thread::spawn(move || read_all(into, &count));
        let here = std::thread::spawn(move || write_all(stream, &pattern(bytes)));
        Upload { here, there, bytes, came }
    }
}

struct Upload {
    here: JoinHandle<std::io::Result<()>>,
    there: JoinHandle<(Vec<u8>, Option<ErrorKind>)>,
    bytes: usize,
    /// Bytes that the server has read.
    came: Arc<AtomicUsize>,
}

impl Upload {
    /// Every byte has come, or both ends were told that not. True: every byte.
    fn ends(self) -> bool {
        let (came, error) = self.there.join().unwrap();
        let sent = self.here.join().unwrap();
        let expected = pattern(self.bytes);
        assert!(expected.starts_with(&came), "a wrong byte among {}", came.len());
        let whole = came.len() == self.bytes && error.is_none();
        let silent = |kind: ErrorKind| matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(error.is_none_or(|k| !silent(k)), "the server waits in silence after {} bytes", came.len());
        match &sent {
            Ok(()) => assert!(whole, "acknowledged and lost: {} of {}, {error:?}", came.len(), self.bytes),
            Err(e) => assert!(!silent(e.kind()), "the sender waits in silence"),
        }
        whole
    }
}

fn read_all(mut from: TcpStream, count: &AtomicUsize) -> (Vec<u8>, Option<ErrorKind>) {
    let (mut all, mut part) = (Vec::new(), vec![0; 65_536]);
    loop {
        match from.read(&mut part) {
            Ok(0) => {
                // The sender waits for this: a close that is answered says that all has come.
                let _ = from.write_all(b"!");
                return (all, None);
            }
            Ok(n) => {
                all.extend_from_slice(&part[..n]);
                count.store(all.len(), Ordering::Relaxed);
            }
            // The end of a child, where a read has a timeout.
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return (all, Some(e.kind())),
        }
    }
}

/// Ok: the server says that it has all.
fn write_all(mut to: TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes)?;
    to.shutdown(Shutdown::Write)?;
    to.read_exact(&mut [0])
}

#[test]
fn one_upload_takes_all_uplinks_and_nothing_is_left() {
    if !root() {
        return;
    }
    let net = net("bunch-all");
    let rules = || net.aps[0].shell("ip rule; nft list ruleset; sysctl -n net.ipv4.ip_forward").unwrap();
    let before = rules();
    let mut gateway = net.start_gateway();
    let mut aps = net.start_aps(3);
    assert!(hears_of_sleep(&aps[0]), "it dials at once when the machine wakes");
    let start = net.all_sent();
    let bytes = 6_000_000;
    assert!(net.upload(bytes).ends());
    let carried: Vec<u64> = net.all_sent().iter().zip(start).map(|(now, then)| now - then).collect();
    println!("{bytes} bytes over uplinks: {carried:?}; {}", net.status("gateway"));
    assert!(carried.iter().all(|c| *c > bytes as u64 / 10), "{carried:?}");
    assert_eq!(net.status("gateway")["resets"], 0);
    for (who, wanted) in [
        (&net.gateway, "ropewalk_bunch_contributor_connected{contributor=\"anna\"} 1"),
        (&net.gateway, "ropewalk_bunch_contributor_report_bytes_total{contributor=\"home\"} "),
        (&net.aps[0], "ropewalk_bunch_ap_helped_connections{} 1"),
    ] {
        let text = who.run(|| scrape(METRICS)).unwrap().unwrap();
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let status = net.status("gateway");
    assert!(status["contributors"].as_array().unwrap().iter().all(|c| c["report_bytes"].as_u64() > Some(0)));
    assert_eq!(status["uploads"][0]["receiver"], SERVER, "{status}");
    eventually("nobody holds what was delivered", || net.status("anna")["held_bytes"] == 0);
    for mut ap in aps.drain(..).rev() {
        ap.signal(Signal::TERM).unwrap();
        assert!(ap.wait(SOON).unwrap().success());
    }
    assert_eq!(rules(), before);
    gateway.signal(Signal::TERM).unwrap();
    assert!(gateway.wait(SOON).unwrap().success());
}

#[test]
fn alone_the_home_carries_it_and_small_connections_are_not_helped() {
    if !root() {
        return;
    }
    let net = net("bunch-alone");
    let _gateway = net.start_gateway();
    let _ap = net.start_aps(1);
    assert!(net.upload(5_000).ends());
    assert_eq!(net.status("home")["helped"], 0);
    let start = net.all_sent();
    assert!(net.upload(1_000_000).ends());
    let carried: Vec<u64> = net.all_sent().iter().zip(start).map(|(now, then)| now - then).collect();
    assert!(carried[0] > 1_000_000 && carried[1] < 50_000 && carried[2] < 50_000, "{carried:?}");
}

#[test]
fn a_neighbour_that_is_killed_costs_no_byte() {
    if !root() {
        return;
    }
    let net = net("bunch-neighbour");
    let _gateway = net.start_gateway();
    let mut aps = net.start_aps(3);
    let upload = net.upload(8_000_000);
    in_time("a neighbour helps", || net.is_helped());
    aps[1].kill();
    // The home access point holds all: neighbours alone cost nothing but time.
    assert!(upload.ends(), "the upload was reset");
    // It comes again, and what it had left behind is taken back.
    aps[1] = net.start_ap(1);
}

#[test]
fn a_home_that_is_killed_is_no_silence() {
    if !root() {
        return;
    }
    let net = net("bunch-home");
    let _gateway = net.start_gateway();
    let mut aps = net.start_aps(2);
    let upload = net.upload(8_000_000);
    in_time("a neighbour helps", || net.is_helped());
    aps[0].kill();
    // Its sender is somebody else's at once, for the rules that are left lead nowhere. Here nobody
    // else reaches the server, so it is a start that tells it.
    aps[0] = net.start_ap(0);
    println!("whole: {}", upload.ends());
    assert!(net.upload(200_000).ends());
}

#[test]
fn a_gateway_that_is_killed_is_told_to_both_ends() {
    if !root() {
        return;
    }
    let net = net("bunch-gateway");
    let mut gateway = net.start_gateway();
    let _aps = net.start_aps(2);
    let upload = net.upload(8_000_000);
    in_time("a neighbour helps", || net.is_helped());
    gateway.kill();
    in_time("the sender is told", || upload.here.is_finished());
    let _gateway = net.start_gateway();
    assert!(!upload.ends(), "nobody could have delivered it");
    in_time("the tunnel is back", || net.status("home")["captures"] == true);
    in_time("the neighbour is back", || net.status("home")["neighbours"] == 1);
    assert!(net.upload(1_000_000).ends());
}

#[test]
fn who_is_revoked_is_out_and_garbage_does_no_harm() {
    if !root() {
        return;
    }
    let net = net("bunch-revoked");
    let _gateway = net.start_gateway();
    let mut aps = net.start_aps(3);
    let upload = net.upload(4_000_000);
    let to: SocketAddr = "10.12.0.1:4520".parse().unwrap();
    let mut outsiders = Vec::new();
    for n in 0u32..300 {
        let mut outsider = net.aps[2].run(|| TcpStream::connect_timeout(&to, PATIENCE)).unwrap().unwrap();
        let length = [0u8, 80, 255][n as usize % 3];
        let garbage: Vec<u8> = [length, length].into_iter().chain((0..400).map(|i| (i * n) as u8)).collect();
        // The gateway may hang up in the middle of it.
        let _ = outsider.write_all(&garbage);
        outsiders.push(outsider);
    }
    let (code, _, err) = ropewalk(&["bunch", "revoke", "bert", "--state", &net.states.of("gateway")]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(aps[2].wait(PATIENCE).unwrap().code(), Some(5), "{}", aps[2].stderr());
    assert!(aps[2].stderr().contains("revoked"), "{}", aps[2].stderr());
    let bert = net.status("gateway")["contributors"].as_array().unwrap().clone();
    assert!(bert.iter().any(|c| c["name"] == "bert" && c["remote"].is_null()), "{bert:?}");
    assert!(upload.ends(), "the others carry on");
    in_time("outsiders are turned away", || net.status("gateway")["turned_away"].as_u64() >= Some(290));
    let (code, _, err) = ropewalk(&[
        "bunch",
        "invite",
        "bert",
        "--state",
        &net.states.of("gateway"),
        "--endpoint",
        "10.12.0.1:4520",
    ]);
    assert_eq!(code, 0, "{err}");
}

/// Packets that the router could not pass on because they were too long.
fn too_long(router: &Namespace) -> u64 {
    let text = router.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp")).unwrap().unwrap();
    let mut lines = text.lines().filter(|l| l.starts_with("Ip:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let found =
        names.split_whitespace().zip(values.split_whitespace()).find(|(name, _)| *name == "FragFails");
    found.unwrap().1.parse().unwrap()
}

#[test]
fn a_way_behind_the_gateway_that_gets_shorter_stops_no_upload() {
    if !root() {
        return;
    }
    let net = build("bunch-mtu", true, MBPS);
    let router = net.router.as_ref().unwrap();
    let _gateway = net.start_gateway();
    let _aps = net.start_aps(2);
    let begun = || {
        let upload = net.upload(4_000_000);
        in_time("it is under way", || net.is_helped() && upload.came.load(Ordering::Relaxed) > 500_000);
        upload
    };
    // While the gateway does not hear what the router says, silence tells it.
    let upload = begun();
    let deaf = "table ip deaf { chain early { type filter hook prerouting priority raw; icmp type destination-unreachable drop; }; }";
    net.gateway.shell(&format!("nft '{deaf}'")).unwrap();
    router.ip(&["link set far mtu 1300"]).unwrap();
    in_time("packets are too long", || too_long(router) > 0);
    assert!(upload.ends(), "{}", net.status("gateway"));
    let status = net.status("gateway");
    assert!(status["too_long"] == 0 && status["cut_packets"] == 0 && status["resets"] == 0, "{status}");
    // Where it hears, it cuts anew at once what it has acknowledged.
    router.ip(&["link set far mtu 1500"]).unwrap();
    let upload = begun();
    net.gateway.shell("nft delete table ip deaf").unwrap();
    router.ip(&["link set far mtu 1300"]).unwrap();
    assert!(upload.ends(), "{}", net.status("gateway"));
    let status = net.status("gateway");
    assert!(status["cut_packets"].as_u64() > Some(0) && status["resets"] == 0, "{status}");
    // What nobody has acknowledged early its sender hears of, at its home.
    assert!(net.upload(300_000).ends());
    let route = net.sender.shell("ip route get 10.9.0.2").unwrap();
    assert!(route.contains("mtu 1300"), "{route}");
}

#[test]
fn nobody_behind_the_gateway_connects_to_a_home() {
    if !root() {
        return;
    }
    let net = net("bunch-closed");
    let _gateway = net.start_gateway();
    let _home = net.start_ap(0);
    let home = net.status("home")["address"].as_str().unwrap().to_owned();
    let to: SocketAddr = format!("{home}:80").parse().unwrap();
    let connect = || net.server.run(|| TcpStream::connect_timeout(&to, SOON)).unwrap().unwrap_err();
    assert_eq!(connect().kind(), ErrorKind::HostUnreachable, "the gateway says no");
    assert!(net.upload(200_000).ends(), "answers pass");
    let own = || net.gateway.run(|| TcpStream::connect_timeout(&to, SOON)).unwrap().unwrap_err();
    let refused = [ErrorKind::HostUnreachable, ErrorKind::PermissionDenied];
    assert!(refused.contains(&own().kind()), "nor does the gateway's machine itself: {:?}", own());
    // Somebody flushes both machines' firewalls.
    for machine in [&net.gateway, &net.aps[0]] {
        let tables = || machine.shell("nft list tables").unwrap();
        let before = tables();
        assert!(before.contains("ropewalk-bunch0"), "{before}");
        machine.shell("nft flush ruleset").unwrap();
        eventually("the tables are back", || tables() == before);
    }
    assert_eq!(connect().kind(), ErrorKind::HostUnreachable, "the gateway says no again");
    assert!(net.upload(200_000).ends(), "the home's connections are taken again");
    // The null case: without the rules a connection is carried to the home, where nobody answers. What is
    // added to a table of ours stays.
    for chain in ["forward", "output"] {
        net.gateway.shell(&format!("nft insert rule inet ropewalk-bunch0 {chain} accept")).unwrap();
    }
    assert_ne!(connect().kind(), ErrorKind::HostUnreachable);
    assert!(!refused.contains(&own().kind()));
}

#[test]
fn an_uplink_that_nobody_uses_is_found() {
    let states = States::new("harvest");
    let run = |args: &[&str]| {
        let (code, out, err) = ropewalk(&[&["bunch", "harvest"], args].concat());
        assert_eq!(code, 0, "{err}");
        out
    };
    let made_up = states.of("made-up");
    run(&["trace", "--out", &made_up, "--days", "2"]);
    let text = run(&["report", &made_up]);
    assert!(text.contains("made-up: 48.0 h of an uplink of 4 Mbit/s") && text.contains("2 Mbit/s"), "{text}");
    let (code, _, err) = ropewalk(&["bunch", "harvest", "report", &states.of("none")]);
    assert_eq!(code, 2, "{err}");
    if !root() {
        return;
    }
    let topology = Topology::new().unwrap();
    let home = topology.namespace("home").unwrap();
    let record = states.of("record");
    let args = ["bunch", "harvest", "record", "--uplink", "lo", "--uplink-rate", "5", "--out", &record];
    let mut recorder = home.start(BINARY, args.into_iter().chain(["--every", "1"])).unwrap();
    recorder.wait_for_line("recording", SOON).unwrap();
    let sent = home.run(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:9").unwrap();
        (0..250).map(|_| socket.send_to(&[0; 1000], "127.0.0.1:9").unwrap()).sum::<usize>()
    });
    recorder.signal(Signal::TERM).unwrap();
    assert!(recorder.wait(SOON).unwrap().success());
    let report: serde_json::Value = serde_json::from_str(&run(&["report", &record, "--json"])).unwrap();
    let [seen, used] = ["seen_h", "used_mbps"].map(|key| {
        let hours = report[0]["by_hour"].as_array().unwrap();
        hours
            .iter()
            .map(|h| {
                h[key].as_f64().unwrap() * if key == "seen_h" { 1.0 } else { h["seen_h"].as_f64().unwrap() }
            })
            .sum::<f64>()
    });
    // Megabits over hours are bits over time: what was sent is what was counted, with headers of 28
    // bytes.
    let counted = used * 3600.0 * 1e6 / 8.0;
    assert!(seen > 0.0 && (counted - (sent.unwrap() + 250 * 28) as f64).abs() < 20_000.0, "{report}");
}
