//! `ropewalk pep` on a router between two hosts, with the kernel's own TCP. Needs root; without it the tests pass and say so.
//!
//! ```text
//!   client 10.1.0.2 ──── 10.1.0.1 router 10.2.0.1 ──── 10.2.0.2 server
//!            50 Mbit/s, 10 ms                  50 Mbit/s, 2 ms, 1 % lost
//! ```

use crate::common::listed::commands;
use crate::common::page::{blocks, run, start};
use crate::common::{BINARY, SOON, States, eventually, listen, root, ropewalk, scrape};
use ropewalk_air::wired::{LinkSpec, Loss};
use ropewalk_lab::{Cable, CableSpec, End, Namespace, Process, Topology};
use rustix::process::Signal;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

const SERVERS: [&str; 2] = ["10.2.0.2:7000", "[fd02::2]:7000"];
/// Bytes of a transfer, each way.
const BYTES: usize = 1_500_000;
/// How long a socket may stand still.
const PATIENCE: Duration = Duration::from_secs(20);

struct Net {
    client: Namespace,
    router: Namespace,
    server: Namespace,
    states: States,
    _cables: [Cable; 2],
    _topology: Topology,
}

fn net(name: &str) -> Net {
    let topology = Topology::new().unwrap();
    let of = |label| topology.namespace(label).unwrap();
    let (client, router, server) = (of("client"), of("router"), of("server"));
    let spec = |ms| CableSpec::symmetric(LinkSpec::new(50.0, Duration::from_millis(ms)));
    let near =
        (End::new("eth0", ["10.1.0.2/24", "fd01::2/64"]), End::new("lan", ["10.1.0.1/24", "fd01::1/64"]));
    let far =
        (End::new("wan", ["10.2.0.1/24", "fd02::1/64"]), End::new("eth0", ["10.2.0.2/24", "fd02::2/64"]));
    let lossy = || LinkSpec {
        loss: Loss::Random { probability: 0.01 },
        ..LinkSpec::new(50.0, Duration::from_millis(2))
    };
    let cables = [
        topology.cable((&client, near.0), (&router, near.1), spec(10)).unwrap(),
        topology.cable((&router, far.0), (&server, far.1), CableSpec::symmetric(lossy())).unwrap(),
    ];
    for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        router.sysctl(key, "1").unwrap();
    }
    for (host, net) in [(&client, 1), (&server, 2)] {
        let routes = [("0.0.0.0/0", format!("10.{net}.0.1")), ("::/0", format!("fd0{net}::1"))];
        host.ip(&routes.map(|(to, via)| format!("route add {to} via {via}"))).unwrap();
    }
    Net { client, router, server, states: States::new(name), _cables: cables, _topology: topology }
}

impl Net {
    fn start(&self, policy: &str) -> Process {
        let state = self.states.of("pep");
        let args = ["pep", "--state", &state, "--policy", policy, "--metrics", "127.0.0.1:9102"];
        let mut proxy = self.router.start(BINARY, args).unwrap();
        proxy.wait_for_line("proxy ready", SOON).unwrap();
        proxy
    }

    /// The daemon's own count of itself.
    fn says(&self) -> String {
        let (code, out, err) = ropewalk(&["pep", "status", "--state", &self.states.of("pep")]);
        assert_eq!(code, 0, "{err}");
        out.trim_end().to_owned()
    }

    fn rules(&self) -> String {
        self.router.shell("ip rule; ip -6 rule; sysctl -n net.ipv4.conf.all.rp_filter").unwrap()
    }

    fn listener(&self, at: &str) -> TcpListener {
        self.server.run(|| listen(at)).unwrap()
    }

    fn connect(&self, to: &str) -> TcpStream {
        let to: SocketAddr = to.parse().unwrap();
        let stream = self.client.run(|| TcpStream::connect_timeout(&to, PATIENCE)).unwrap().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

fn pattern(seed: u8) -> Vec<u8> {
    (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8 ^ seed).collect()
}

/// Sends all and closes, and reads all of the other's; what came.
fn exchange(stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let mut reader = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut writer = stream;
            writer.write_all(bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all
    })
}

/// Both ends send at once; every byte is looked at.
fn both_ways(net: &Net, at: &str) {
    let listener = net.listener(at);
    let (up, down) = (pattern(1), pattern(2));
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            exchange(stream, &down)
        });
        assert!(exchange(net.connect(at), &up) == down, "what the server sent");
        assert!(there.join().unwrap() == up, "what the client sent");
    });
}

#[test]
fn bytes_are_the_same_both_ways_through_loss_and_nothing_is_left() {
    if !root() {
        return;
    }
    let net = net("pep-both");
    let before = net.rules();
    for policy in ["split", "snoop"] {
        let mut proxy = net.start(policy);
        SERVERS.iter().for_each(|at| both_ways(&net, at));
        let said = net.says();
        println!("{policy}: {said}");
        assert!(said.contains(" of 2, "), "both connections were taken: {said}");
        assert!(!said.contains("sent again 0 B"), "loss was repaired here: {said}");
        assert_eq!(said.contains("acknowledged early 0 B"), policy == "snoop", "{said}");
        proxy.signal(Signal::TERM).unwrap();
        assert!(proxy.wait(SOON).unwrap().success());
        assert!(proxy.stderr().contains(" of 2, "), "what it did is in the log: {}", proxy.stderr());
        assert_eq!(net.rules(), before);
    }
    // The null case: without it the same bytes, and nobody counted them.
    both_ways(&net, SERVERS[0]);
}

#[test]
fn a_proxy_that_runs_says_how_it_does() {
    if !root() {
        return;
    }
    let net = net("pep-status");
    let state = net.states.of("pep");
    let (code, _, err) = ropewalk(&["pep", "status", "--state", &state]);
    assert_ne!(code, 0, "none runs: {err}");
    let mut proxy = net.start("split");
    both_ways(&net, SERVERS[0]);
    // A terminal that closes is no reason to end.
    proxy.signal(Signal::HUP).unwrap();
    let (code, out, err) = ropewalk(&["pep", "status", "--json", "--state", &state]);
    assert_eq!(code, 0, "{err}");
    let status: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(status["taken"] == 1 && status["early_bytes"].as_u64() > Some(0), "{status}");
    assert!(status["resets"] == serde_json::json!({}) && status["uptime_s"].as_f64() > Some(0.0), "{status}");
    let said = net.says();
    assert!(said.starts_with("up ") && said.ends_with("\nreset 0"), "{said}");
    // Who takes it for a bond is told better.
    let (code, _, err) = ropewalk(&["status", "--state", &state]);
    assert!(code == 2 && err.contains("ask `ropewalk pep status`"), "{code} {err}");
    proxy.stop();
    assert_ne!(ropewalk(&["pep", "status", "--state", &state]).0, 0, "it runs no more");
}

#[test]
fn a_way_behind_the_router_that_gets_shorter_stops_no_connection() {
    if !root() {
        return;
    }
    let net = net("pep-mtu");
    let _proxy = net.start("split");
    let listener = net.listener(SERVERS[0]);
    let (up, down) = (pattern(5), pattern(6));
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            exchange(stream, &down)
        });
        let stream = net.connect(SERVERS[0]);
        let mut reader = stream.try_clone().unwrap();
        let back = scope.spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let (first, rest) = up.split_at(BYTES / 2);
        (&stream).write_all(first).unwrap();
        net.router.ip(&["link set wan mtu 1300"]).unwrap();
        (&stream).write_all(rest).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(back.join().unwrap().unwrap() == down, "what the server sent");
        assert!(there.join().unwrap() == up, "what the client sent");
    });
    let said = net.says();
    assert!(!said.contains("sent again 0 B") && said.ends_with("reset 0"), "{said}");
}

/// Says a byte every so often until the other closes; what came.
fn talk(mut stream: TcpStream) -> Vec<u8> {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (begun, mut all, mut part) = (Instant::now(), Vec::new(), vec![0; 65_536]);
    loop {
        assert!(begun.elapsed() < PATIENCE, "{} bytes came", all.len());
        stream.write_all(b".").unwrap();
        match stream.read(&mut part) {
            Ok(0) => return all,
            Ok(n) => all.extend_from_slice(&part[..n]),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)),
        }
    }
}

#[test]
fn a_long_packet_that_no_longer_passes_is_cut_while_short_ones_do() {
    if !root() {
        return;
    }
    let net = net("pep-talk");
    let _proxy = net.start("split");
    let listener = net.listener(SERVERS[0]);
    let bytes = pattern(7);
    let (long, short) = bytes[..1650].split_at(1400);
    std::thread::scope(|scope| {
        let there = scope.spawn(|| talk(listener.accept().unwrap().0));
        let mut stream = net.connect(SERVERS[0]);
        stream.set_nodelay(true).unwrap();
        net.router.ip(&["link set wan mtu 1300"]).unwrap();
        stream.write_all(long).unwrap();
        // The server selects these, and says so in each byte of its own.
        short.chunks(50).for_each(|part| stream.write_all(part).unwrap());
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(there.join().unwrap() == bytes[..1650], "what the client sent");
    });
}

#[test]
fn rules_that_others_take_away_are_back_and_connections_go_through_the_proxy_again() {
    if !root() {
        return;
    }
    let net = net("pep-rules");
    let mut proxy = net.start("split");
    let before = net.rules();
    // As a restart of systemd-networkd does.
    let gone = "ip rule del priority 29200; ip rule del priority 29202; ip -6 rule del priority 29201";
    net.router.shell(gone).unwrap();
    eventually("the rules are back", || net.rules() == before);
    both_ways(&net, SERVERS[0]);
    let said = net.says();
    assert!(said.contains(" of 1, "), "it was taken: {said}");
    proxy.stop();
    assert!(!net.rules().contains("2920"), "{}", net.rules());
}

#[test]
fn multipath_tcp_is_left_alone() {
    if !root() {
        return;
    }
    let net = net("pep-mptcp");
    let _proxy = net.start("split");
    let listener = net.listener(SERVERS[0]);
    let mptcp = NonZeroU32::new(262).map(rustix::net::Protocol::from_raw);
    let to: SocketAddr = SERVERS[0].parse().unwrap();
    let stream = net.client.run(|| {
        use rustix::net::{AddressFamily, SocketType, connect, socket};
        let fd = socket(AddressFamily::INET, SocketType::STREAM, mptcp)?;
        connect(&fd, &to)?;
        Ok::<_, rustix::io::Errno>(TcpStream::from(fd))
    });
    let Ok(mut stream) = stream.unwrap() else {
        ropewalk_skip::skip("needs a kernel with MPTCP");
        return;
    };
    stream.write_all(b"hello").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"hello");
    let said = net.says();
    assert!(said.contains("mptcp 1") && said.contains("connections 0 of 0"), "{said}");
    let text = net.router.run(|| scrape("127.0.0.1:9102")).unwrap().unwrap();
    for line in
        ["ropewalk_pep_bypassed_total{reason=\"mptcp\"} 1", "ropewalk_pep_taken_connections_total{} 0"]
    {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn a_device_that_is_set_down_does_not_end_the_proxy() {
    if !root() {
        return;
    }
    let net = net("pep-down");
    let mut proxy = net.start("split");
    let listener = net.listener(SERVERS[0]);
    let stream = net.connect(SERVERS[0]);
    let (mut server, _) = listener.accept().unwrap();
    let short = Some(Duration::from_secs(3));
    stream.set_write_timeout(short).unwrap();
    server.set_read_timeout(short).unwrap();
    // The log says no more than thirty of such lines a minute.
    let count = |name: &str| {
        let text = net.router.run(|| scrape("127.0.0.1:9102")).unwrap().unwrap();
        let line = text.lines().find(|l| l.starts_with(name)).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    std::thread::scope(|scope| {
        // More than goes by in three seconds, so that something is always on the way.
        scope.spawn(|| (&stream).write_all(&vec![0; 40_000_000]).is_ok());
        scope.spawn(|| {
            let mut part = vec![0; 65_536];
            while let Ok(1..) = server.read(&mut part) {}
        });
        // At the start of a stream there are moments when nothing is on the way.
        eventually("the stream is under way", || count("ropewalk_pep_early_bytes_total") > 1e6);
        net.router.ip(&["link set pep0 down"]).unwrap();
        // What nobody has acknowledged goes into the device again, which takes nothing.
        let before = count("ropewalk_pep_repaired_bytes_total");
        eventually("it sends again", || count("ropewalk_pep_repaired_bytes_total") > before);
    });
    proxy.signal(Signal::TERM).unwrap();
    assert!(proxy.wait(SOON).unwrap().success());
}

#[test]
fn a_daemon_that_is_killed_leaves_no_wrong_byte_and_lets_others_pass() {
    if !root() {
        return;
    }
    let net = net("pep-killed");
    let before = net.rules();
    for policy in ["split", "snoop"] {
        let mut proxy = net.start(policy);
        let listener = net.listener(SERVERS[0]);
        let bytes = pattern(3);
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
                let (mut all, mut part) = (Vec::new(), vec![0; 65_536]);
                // An end, an error and silence are all visible to a program that has a timeout.
                while let Ok(n @ 1..) = stream.read(&mut part) {
                    all.extend_from_slice(&part[..n]);
                }
                all
            });
            let stream = net.connect(SERVERS[0]);
            stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
            let (first, rest) = bytes.split_at(200_000);
            (&stream).write_all(first).unwrap();
            proxy.kill();
            let _ = (&stream).write_all(rest);
            let _ = stream.shutdown(Shutdown::Write);
            let came = there.join().unwrap();
            assert!(bytes.starts_with(&came), "{policy}: a wrong byte among {}", came.len());
            // Snoop keeps nothing that anybody was told of: its connections go on.
            assert!(policy == "split" || came.len() == BYTES, "{policy}: {} of {BYTES}", came.len());
        });
        drop(listener);
        both_ways(&net, SERVERS[0]);
        assert_ne!(net.rules(), before, "the rules are still there, and send nobody anywhere");
        let state = net.states.of("pep");
        let mut restore = net.router.start(BINARY, ["restore", "--state", &state]).unwrap();
        assert!(restore.wait(SOON).unwrap().success());
        assert_eq!(net.rules(), before);
    }
}

#[test]
fn the_commands_of_the_page_print_what_it_shows() {
    if !root() {
        return;
    }
    let net = net("pep-page");
    let state = net.states.of("pep");
    let all = commands("pep.md");
    let all: Vec<String> = all.iter().map(|c| c.replace("/var/lib/ropewalk/pep", &state)).collect();
    let [proxy, status] = &all[..] else { panic!("no rule for {all:?}: say what they do") };
    let shown = blocks("pep.md", "text");
    let mut proxy = start(&net.router, proxy, shown[0].trim());
    let said = run(&net.router, status);
    let words = |text: &str| -> Vec<String> {
        text.lines().filter_map(|l| l.split(' ').next()).map(str::to_owned).collect()
    };
    assert_eq!(words(&said), words(&shown[1]), "{said}");
    proxy.stop();
}
