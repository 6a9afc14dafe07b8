//! What a gateway grants to its clients: ports, groups, caps, shares; and their quotas. Needs root;
//! without it the tests pass and say so.
//!
//! ```text
//!   alice 10.1.1.1 ──┐
//!   bob   10.1.2.1 ──┼── gateway 10.1.x.2, rw0 10.77.0.1
//!   carol 10.1.3.1 ──┘        10.1.9.2 ──── 10.1.9.1 visitor
//! ```

mod delegate;
mod exits;
mod global6;
mod hooks;
mod shares;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::common::{BINARY, SOON, States, eventually, root, ropewalk};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};

const PATIENCE: Duration = Duration::from_secs(1);
/// Where the system's programs are.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

struct Net {
    gateway: Namespace,
    visitor: Namespace,
    clients: Vec<(&'static str, Namespace)>,
    states: States,
    topology: Topology,
}

fn net(name: &str, clients: &[&'static str]) -> Net {
    let topology = Topology::new().unwrap();
    let (gateway, visitor) = (topology.namespace("gateway").unwrap(), topology.namespace("visitor").unwrap());
    // The filter is strict at all interfaces that come, the bond's among them, as on many machines.
    gateway.sysctl("net.ipv4.conf.default.rp_filter", "1").unwrap();
    let cable = |other: &Namespace, n: usize| {
        let (device, at) = (format!("wan{n}"), |end: u8| format!("10.1.{n}.{end}/24"));
        topology.veth((other, End::new("wan1", [at(1)])), (&gateway, End::new(&device, [at(2)]))).unwrap();
    };
    cable(&visitor, 9);
    let clients: Vec<_> = clients.iter().map(|name| (*name, topology.namespace(name).unwrap())).collect();
    clients.iter().enumerate().for_each(|(i, (_, client))| cable(client, i + 1));
    Net { gateway, visitor, clients, states: States::new(name), topology }
}

impl Net {
    fn serve(&self) -> Process {
        self.serve_with(&[])
    }

    fn serve_with(&self, more: &[&str]) -> Process {
        let state = self.states.of("gateway");
        let path = format!("PATH={}:{PATH}", self.programs());
        let args =
            [path.as_str(), BINARY, "serve", "--state", &state, "--tun", "rw0", "--address", "10.77.0.1/24"];
        let mut gateway = self.gateway.start("env", args.iter().chain(more)).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap();
        gateway
    }

    /// A directory with an `nft` that fails as long as there is a file.
    fn programs(&self) -> String {
        let (dir, broken) = (self.states.of("bin"), self.states.of("broken"));
        if std::fs::create_dir(&dir).is_ok() {
            let text = format!("#!/bin/sh\n[ -e {broken} ] && exit 1\nPATH={PATH} exec nft \"$@\"\n");
            std::fs::write(format!("{dir}/nft"), text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(format!("{dir}/nft"), mode).unwrap();
        }
        dir
    }

    /// Somebody flushes the firewall, and the gateway cannot put it back until this is over.
    fn flushed(&self, meanwhile: impl FnOnce()) {
        let broken = self.states.of("broken");
        std::fs::write(&broken, "").unwrap();
        self.gateway.shell("nft flush ruleset").unwrap();
        meanwhile();
        std::fs::remove_file(broken).unwrap();
    }

    /// Invites the client with this number, and connects it; everything goes through the bond.
    fn up(&self, number: usize) -> Process {
        self.up_with(number, &[])
    }

    fn up_with(&self, number: usize, more: &[&str]) -> Process {
        let (name, namespace) = &self.clients[number];
        let endpoint = format!("10.1.{}.2:4500", number + 1);
        let (code, token, error) =
            ropewalk(&["invite", name, "--state", &self.states.of("gateway"), "--endpoint", &endpoint]);
        assert_eq!(code, 0, "{error}");
        let state = self.states.of(name);
        let args =
            ["up", token.trim(), "--state", &state, "--tun", "rw0", "--path", "wan1", "--route", "0.0.0.0/0"];
        let mut client = namespace.start(BINARY, args.iter().chain(more)).unwrap();
        client.wait_for_line("connected", SOON).unwrap();
        client
    }

    /// A command with the gateway's state directory, in its namespace.
    fn command(&self, line: &str) -> (i32, String) {
        let state = self.states.of("gateway");
        let words = line.split(' ').chain(["--state", &state]);
        let out = self.gateway.command(BINARY).args(words).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        (out.status.code().unwrap_or(-1), text)
    }

    fn done(&self, line: &str) -> String {
        let (code, said) = self.command(line);
        assert_eq!(code, 0, "{line}: {said}");
        said
    }

    /// What a visitor reads at the gateway's port, and whom the server takes it for.
    fn visit(&self, listener: &TcpListener, port: u16) -> Option<String> {
        let to = SocketAddr::from(([10, 1, 9, 2], port));
        let visit = || {
            let mut stream = TcpStream::connect_timeout(&to, PATIENCE).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).ok()?;
            Some(text)
        };
        listener.set_nonblocking(true).unwrap();
        std::thread::scope(|s| {
            let visitor = s.spawn(|| self.visitor.run(visit).unwrap());
            while !visitor.is_finished() {
                if let Ok((mut stream, from)) = listener.accept() {
                    stream.write_all(from.ip().to_string().as_bytes()).unwrap();
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            visitor.join().unwrap()
        })
    }

    /// A connection from the visitor through the gateway's port to the first client's: both ends.
    fn connect(&self, port: u16, to: u16) -> (TcpStream, TcpStream) {
        let listener = self.clients[0].1.run(|| TcpListener::bind(("0.0.0.0", to)).unwrap()).unwrap();
        let at = SocketAddr::from(([10, 1, 9, 2], port));
        let visitor = self.visitor.run(|| TcpStream::connect_timeout(&at, SOON).unwrap()).unwrap();
        (visitor, listener.accept().unwrap().0)
    }
}

/// Whether bytes come from one end of a connection to the other.
fn passes(mut from: &TcpStream, mut to: &TcpStream) -> bool {
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    from.write_all(b"?").is_ok() && to.read_exact(&mut [0]).is_ok()
}

/// Whether a datagram comes from a visitor through the gateway's port.
fn comes(visitor: &UdpSocket, port: u16, to: &UdpSocket) -> bool {
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    visitor.send_to(b"?", ("10.1.9.2", port)).unwrap();
    to.recv(&mut [0; 9]).is_ok()
}

fn reaches(from: &Namespace, to: &str) -> bool {
    let ping = Ping::new(to.parse().unwrap()).count(2).timeout(Duration::from_millis(300));
    ping.run(from).is_ok_and(|report| report.received > 0)
}

#[test]
fn a_port_leads_to_a_client_until_it_is_taken_back_or_the_client_is_revoked() {
    if !root() {
        return;
    }
    let net = net("forward", &["alice", "bob"]);
    let mut gateway = net.serve();
    let _alice = net.up(0);
    let inside = &net.clients[0].1;
    net.visitor.ip(&["route add 10.77.0.0/24 via 10.1.9.2"]).unwrap();
    let web = inside.run(|| TcpListener::bind("0.0.0.0:80").unwrap()).unwrap();
    assert_eq!(net.visit(&web, 8080), None, "nothing is forwarded by itself");
    let said = net.done("forward add alice tcp 8080 --to 80");
    assert_eq!(said, "tcp port 8080 leads to port 80 of alice\n");
    assert_eq!(net.visit(&web, 8080).as_deref(), Some("10.1.9.1"), "the client sees the visitor");
    let status = net.done("status");
    assert!(status.contains("\n  granted port tcp 8080 to 80\n"), "{status}");
    for (line, code) in [
        ("forward add alice tcp 8080", 4),
        ("forward add alice udp 4500", 4),
        ("forward add eve tcp 81", 2),
        ("forward remove tcp 81", 2),
    ] {
        assert_eq!(net.command(line).0, code, "{line}");
    }
    // Datagrams, and a client that shall not see who comes.
    net.done("forward add alice udp 5353 --masquerade");
    let echo = inside.run(|| UdpSocket::bind("0.0.0.0:5353").unwrap()).unwrap();
    echo.set_read_timeout(Some(SOON)).unwrap();
    let asks = net.visitor.run(|| UdpSocket::bind("10.1.9.1:0").unwrap()).unwrap();
    asks.send_to(b"who", "10.1.9.2:5353").unwrap();
    let (_, from) = echo.recv_from(&mut [0; 9]).unwrap();
    assert_eq!(from.ip().to_string(), "10.77.0.1");

    // A flushed firewall comes back by itself, and everything after kill -9.
    net.flushed(|| {
        assert_eq!(net.visit(&web, 8080), None);
        assert!(!reaches(inside, "10.1.9.1"), "it opens nothing to clients");
    });
    eventually("it is put back", || net.visit(&web, 8080).is_some());
    net.gateway.shell("nft delete table inet ropewalk-rw0-grants").unwrap();
    eventually("one table as well", || net.visit(&web, 8080).is_some());
    gateway.kill();
    gateway.wait(SOON).unwrap();
    let mut gateway = net.serve();
    eventually("it outlasts kill -9", || net.visit(&web, 8080).is_some());

    // The client's way out is as narrow as before: this machine forwards for the port's sake only.
    assert!(!reaches(inside, "10.1.9.1") && !reaches(&net.visitor, "10.77.0.2"));
    net.done("forward remove tcp 8080");
    assert_eq!(net.visit(&web, 8080), None, "taken back");
    assert!(!net.done("status").contains("tcp 8080"), "and not shown");
    assert!(!reaches(inside, "10.1.9.1"), "the other forward needs forwarding");
    net.done("forward remove udp 5353");
    assert_eq!(net.gateway.shell("cat /proc/sys/net/ipv4/ip_forward").unwrap().trim(), "0");
    assert!(!reaches(inside, "10.1.9.1") && !reaches(&net.visitor, "10.77.0.2"));
    net.done("forward add alice tcp 8080 --to 80");
    net.done("revoke alice");
    assert_eq!(net.done("forward list"), "no port is forwarded\n");
    assert_eq!(net.gateway.shell("nft list ruleset; ip rule | grep 2922 || true").unwrap(), "");
    // It was this gateway that kept the way shut: the wires would carry it.
    let bob = net.up(1);
    assert!(!reaches(&net.clients[1].1, "10.1.9.1"));
    net.gateway.shell("sysctl -w net.ipv4.ip_forward=1").unwrap();
    eventually("a machine that forwards", || reaches(&net.clients[1].1, "10.1.9.1"));
    net.gateway.shell("sysctl -w net.ipv4.ip_forward=0").unwrap();
    drop(bob);
    gateway.stop();
    assert_eq!(net.gateway.shell("nft list ruleset; cat /proc/sys/net/ipv4/ip_forward").unwrap().trim(), "0");
    let log = net.done("audit");
    for words in [
        "invited  alice  by user 0",
        "came  alice  from 10.1.1.1:",
        "leads to port 80 of alice",
        "revoked  alice  by user 0",
    ] {
        assert!(log.contains(words), "{words}\n{log}");
    }
}

/// What goes through a port ends when the port is taken back, and with its client; what goes
/// through another port goes on.
fn flows_end_with_their_port(name: &str, more: &[&str]) {
    if !root() {
        return;
    }
    let net = net(name, &["alice", "bob"]);
    let mut gateway = net.serve_with(more);
    let alice = net.up(0);
    for port in ["tcp 8080", "tcp 8081", "udp 5353", "udp 5354"] {
        net.done(&format!("forward add alice {port}"));
    }
    let (first, second) = (net.connect(8080, 8080), net.connect(8081, 8081));
    let bind = |at: &Namespace, port: u16| at.run(|| UdpSocket::bind(("0.0.0.0", port)).unwrap()).unwrap();
    let echoes = [5353, 5354].map(|port| bind(&net.clients[0].1, port));
    let asks = bind(&net.visitor, 0);
    for (visitor, client) in [&first, &second] {
        assert!(passes(visitor, client) && passes(client, visitor));
    }
    assert!(comes(&asks, 5353, &echoes[0]) && comes(&asks, 5354, &echoes[1]));
    net.done("forward remove tcp 8080");
    net.done("forward remove udp 5353");
    // The client's end first: a masquerade would give it the same port again.
    assert!(!passes(&first.1, &first.0), "from the client");
    assert!(!passes(&first.0, &first.1), "from the visitor");
    assert!(!comes(&asks, 5353, &echoes[0]), "a datagram");
    assert!(passes(&second.0, &second.1) && passes(&second.1, &second.0), "the other goes on");
    assert!(comes(&asks, 5354, &echoes[1]), "and so do its datagrams");
    net.done("revoke alice");
    drop(alice);
    let _bob = net.up(1);
    let bob = &net.clients[1].1;
    let address = bob.shell("ip -o address show dev rw0").unwrap();
    assert!(address.contains("10.77.0.2"), "what was hers is his: {address}");
    let echo = bind(bob, 5354);
    assert!(!comes(&asks, 5354, &echo), "but not her visitors");
    gateway.stop();
}

#[test]
fn flows_end_with_their_port_where_nothing_else_is_forwarded() {
    flows_end_with_their_port("withdrawn", &[]);
}

#[test]
fn flows_end_with_their_port_where_clients_are_masqueraded() {
    flows_end_with_their_port("withdrawn-masquerade", &["--masquerade"]);
}

#[test]
fn clients_of_a_group_reach_each_other_and_no_others() {
    if !root() {
        return;
    }
    let net = net("groups", &["alice", "bob", "carol"]);
    let mut gateway = net.serve();
    let _clients: Vec<Process> = (0..3).map(|n| net.up(n)).collect();
    let [alice, bob, carol] = [0, 1, 2].map(|n| &net.clients[n].1);
    assert!(reaches(alice, "10.77.0.1") && !reaches(alice, "10.77.0.3"), "by default not");
    net.done("group add home alice bob");
    eventually("members reach each other", || reaches(alice, "10.77.0.3") && reaches(bob, "10.77.0.2"));
    assert!(!reaches(carol, "10.77.0.2") && !reaches(alice, "10.77.0.4"), "carol is none");
    // Without the firewall nobody reaches anybody.
    assert_ne!(net.gateway.shell("nft list ruleset").unwrap(), "");
    net.flushed(|| assert!(!reaches(alice, "10.77.0.3") && !reaches(carol, "10.77.0.2")));
    eventually("it is put back", || reaches(alice, "10.77.0.3"));
    // So are rules of routing that somebody takes away, without anybody's doing.
    let rules = || net.gateway.shell("ip rule | grep 2922").unwrap_or_default();
    let before = rules();
    assert!(before.contains("29220:") && before.contains("29221:"), "{before}");
    net.gateway.ip(&["rule del priority 29220", "rule del priority 29221"]).unwrap();
    // Another gateway of this machine takes the setting back when it ends.
    net.gateway.sysctl("net.ipv4.conf.all.src_valid_mark", "0").unwrap();
    eventually("the rules are back", || rules() == before);
    let by_mark = || net.gateway.shell("cat /proc/sys/net/ipv4/conf/all/src_valid_mark").unwrap();
    eventually("the setting is back", || by_mark().trim() == "1");
    assert!(reaches(alice, "10.77.0.3") && !reaches(carol, "10.77.0.2"));
    net.done("group add work bob carol");
    eventually("bob is of two", || reaches(bob, "10.77.0.4") && reaches(bob, "10.77.0.2"));
    assert!(!reaches(alice, "10.77.0.4"), "but joins nobody");
    net.done("group remove home bob");
    assert!(!reaches(alice, "10.77.0.3") && reaches(bob, "10.77.0.4"));
    gateway.kill();
    gateway.wait(SOON).unwrap();
    let mut gateway = net.serve();
    eventually("it outlasts kill -9", || reaches(bob, "10.77.0.4"));
    assert!(!reaches(alice, "10.77.0.3"));
    net.done("group remove work");
    net.done("group remove home");
    assert!(!reaches(bob, "10.77.0.4"));
    assert_eq!(net.gateway.shell("nft list ruleset; ip rule | grep 2922 || true").unwrap(), "");
    gateway.stop();
}

/// How long bytes take from the gateway to the client.
fn download(net: &Net, bytes: usize) -> Duration {
    let inside = &net.clients[0].1;
    let sink = inside.run(|| TcpListener::bind("10.77.0.2:9000").unwrap()).unwrap();
    let sent = net.gateway.run(|| TcpStream::connect_timeout(&"10.77.0.2:9000".parse().unwrap(), SOON));
    let (mut sent, (mut got, _)) = (sent.unwrap().unwrap(), sink.accept().unwrap());
    let started = Instant::now();
    std::thread::scope(|s| {
        s.spawn(|| sent.write_all(&vec![7; bytes]).and_then(|()| sent.shutdown(Shutdown::Write)));
        assert_eq!(got.read_to_end(&mut Vec::new()).unwrap(), bytes);
    });
    started.elapsed()
}

/// How many of 900 kB of datagrams from the client come to the gateway, and how many a cap of 2
/// Mbit/s would let through in that time.
fn upload(net: &Net) -> (usize, usize) {
    let sink = net.gateway.run(|| UdpSocket::bind("10.77.0.1:9001").unwrap()).unwrap();
    let source = net.clients[0].1.run(|| UdpSocket::bind("10.77.0.2:0").unwrap()).unwrap();
    sink.set_read_timeout(Some(PATIENCE)).unwrap();
    let started = Instant::now();
    std::thread::scope(|s| {
        s.spawn(|| {
            for _ in 0..90 {
                (0..10).for_each(|_| drop(source.send_to(&[7; 1000], "10.77.0.1:9001")));
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let (mut got, mut last) = (0, started);
        while let Ok(length) = sink.recv(&mut [0; 1500]) {
            (got, last) = (got + length, Instant::now());
        }
        (got, 450_000 + (250_000.0 * (last - started).as_secs_f64()) as usize)
    })
}

#[test]
fn a_cap_is_a_class_of_the_device_and_a_limit_of_the_firewall() {
    if !root() {
        return;
    }
    let net = net("limits", &["alice"]);
    let mut gateway = net.serve();
    let _alice = net.up(0);
    // No rate of this machine can be more than the cap, and most are without it.
    let bytes = 1_500_000;
    let least = Duration::from_secs_f64(bytes as f64 * 8.0 / 4e6 * 0.8);
    eventually("without a cap it is quick", || download(&net, bytes) < least);
    eventually("without a cap more comes", || {
        let (got, most) = upload(&net);
        got > most
    });
    let (code, said) = net.command("limit set alice --share 4");
    assert!(code == 2 && said.contains("start it with --down-rate"), "{code} {said}");
    net.done("limit set alice --down 4Mbit --up 2Mbit");
    let rules = net.gateway.shell("nft list ruleset").unwrap();
    assert!(rules.contains("250000 bytes/second") && rules.contains("map { 10.77.0.2 : "), "{rules}");
    let time = download(&net, bytes);
    assert!(time > least, "{time:?} for {bytes} bytes at 4 Mbit/s");
    let class = net.gateway.shell("tc -s class show dev rw0 classid 628:1").unwrap();
    let through = class.split("Sent ").nth(1).and_then(|t| t.split(' ').next()?.parse::<usize>().ok());
    assert!(through >= Some(bytes), "{class}");
    let (got, most) = upload(&net);
    // Headers count, so payload comes to less.
    assert!(got > 0 && got <= most, "{got} of {most} bytes");
    net.done("limit remove alice");
    let left = net.gateway.shell("nft list ruleset; tc qdisc show dev rw0 | grep htb || true").unwrap();
    assert_eq!(left, "");
    gateway.stop();
}

/// The first client sends until it is so.
fn spend(net: &Net, mut enough: impl FnMut() -> bool) {
    let source = net.clients[0].1.run(|| UdpSocket::bind("10.77.0.2:0").unwrap()).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !enough() {
        assert!(Instant::now() < until, "it is not used up");
        // Once the client is stopped, it is told so.
        (0..100).for_each(|_| drop(source.send_to(&[7; 1000], "10.77.0.1:9002")));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the gateway's disk has of the first client, bytes of this month.
fn written(net: &Net) -> u64 {
    let text = std::fs::read_to_string(format!("{}/used.json", net.states.of("gateway"))).unwrap_or_default();
    let used: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    used["alice"]["month"]["bytes"].as_u64().unwrap_or(0)
}

fn rules(net: &Net) -> String {
    net.gateway.shell("nft list ruleset").unwrap()
}

#[test]
fn a_client_is_stopped_or_slowed_at_its_quota_until_that_is_raised() {
    if !root() {
        return;
    }
    let net = net("quotas", &["alice", "bob"]);
    let mut gateway = net.serve_with(&["--masquerade"]);
    let (_alice, _bob) = (net.up(0), net.up(1));
    let [alice, bob] = [0, 1].map(|n| &net.clients[n].1);
    for (line, code) in [("quota set eve 1GB", 2), ("quota set alice 1kB", 2), ("quota remove bob", 2)] {
        assert_eq!(net.command(line).0, code, "{line}");
    }
    assert_eq!(net.done("quota list"), "no client has a quota\n");
    let said = net.done("quota set alice 1GB");
    assert_eq!(said, "alice may use 1.0 GB a month, and is stopped then\n");
    eventually("she goes on", || reaches(alice, "10.1.9.1"));
    assert!(!rules(&net).contains("quotas"), "she has not used it");
    eventually("nothing slows her", || {
        let (got, most) = upload(&net);
        got > most
    });
    net.done("quota set alice 2MB");
    spend(&net, || net.done("quota list").contains("2.0 MB this month, stopped until"));
    eventually("she is stopped", || !reaches(alice, "10.1.9.1") && !reaches(alice, "10.77.0.1"));
    eventually("and nobody else is", || reaches(bob, "10.1.9.1"));
    let refused = alice.run(|| TcpStream::connect_timeout(&"10.1.9.1:80".parse().unwrap(), SOON)).unwrap();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::HostUnreachable, "she is told");
    let status = net.done("status");
    assert!(status.contains("2.0 MB this month, stopped until"), "{status}");

    // A gateway that is killed goes on from what it had written.
    spend(&net, || written(&net) >= 2_000_000);
    gateway.kill();
    gateway.wait(SOON).unwrap();
    let mut gateway = net.serve_with(&["--masquerade"]);
    eventually("it outlasts kill -9", || rules(&net).contains("ropewalk-rw0-quotas"));
    eventually("bob is back", || reaches(bob, "10.1.9.1"));
    assert!(!reaches(alice, "10.1.9.1"));
    net.gateway.shell("nft flush ruleset").unwrap();
    eventually("it is put back", || rules(&net).contains("ropewalk-rw0-quotas"));
    eventually("and so is the masquerade", || reaches(bob, "10.1.9.1"));
    assert!(!reaches(alice, "10.1.9.1"), "with it she is stopped still");

    net.done("quota set alice 1GB --per day");
    eventually("raised, it is over", || !rules(&net).contains("quotas") && reaches(alice, "10.77.0.1"));
    net.done("quota set alice 1MB --then 2Mbit");
    eventually("she is slowed", || rules(&net).contains("250000 bytes/second"));
    let (got, most) = upload(&net);
    assert!(got > 0 && got <= most, "{got} of {most} bytes");
    assert!(net.done("clients").contains("slowed to 2Mbit until"));
    net.done("quota remove alice");
    eventually("without a quota nobody asks", || !rules(&net).contains("quotas"));
    net.done("quota set alice 1MB");
    eventually("what she used is not forgotten", || rules(&net).contains("quotas"));
    net.done("revoke alice");
    assert_eq!(net.done("quota list"), "no client has a quota\n", "it ends with its client");
    assert!(net.done("audit").contains("alice may use 2.0 MB a month, and is stopped then"));
    gateway.stop();
    assert_eq!(rules(&net), "");
}
