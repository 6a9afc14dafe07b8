//! An uplink with IPv6 alone and a gateway with IPv4 alone: NAT64 (RFC 7050, RFC 8781, RFC 6052). The
//! kernel has none, so a relay of the test's translates. Needs root; without it the tests pass and say so.
//!
//! ```text
//!   client                     network                            gateway
//!   wan1 fd64:1::1 ─────────── fd64:1::2, name server, routes ────── fd64:2::2
//!                              64:ff9b::198.51.100.2:4500 relay ── 198.51.100.2
//!   wan2 192.0.2.2 ─────────── 192.0.2.1 routes ──────────────────┘
//! ```

use std::net::{SocketAddr, SocketAddrV6, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::backhaul::eventually;
use crate::common::{BINARY, SOON, States, root, ropewalk};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket, sockopt};

const GATEWAY: &str = "198.51.100.2:4500";
const TRANSLATED: &str = "[64:ff9b::c633:6402]:4500";

struct Net {
    client: Namespace,
    gateway: Namespace,
    states: States,
    /// The name server knows of NAT64.
    has_nat64: Arc<AtomicBool>,
    /// Questions that it was asked.
    asked: Arc<AtomicUsize>,
    network: Namespace,
    _topology: Topology,
}

fn net(name: &str) -> Net {
    let topology = Topology::new().unwrap();
    let [client, network, gateway] =
        ["client", "network", "gateway"].map(|name| topology.namespace(name).unwrap());
    let end = |interface: &str, address: &str| End::new(interface, [address.to_owned()]);
    topology.veth((&client, end("wan1", "fd64:1::1/64")), (&network, end("wan1", "fd64:1::2/64"))).unwrap();
    topology.veth((&client, end("wan2", "192.0.2.2/24")), (&network, end("wan2", "192.0.2.1/24"))).unwrap();
    let world = |four: &str, six: &str| End::new("world", [four.to_owned(), six.to_owned()]);
    let ends = (world("198.51.100.1/24", "fd64:2::1/64"), world("198.51.100.2/24", "fd64:2::2/64"));
    topology.veth((&network, ends.0), (&gateway, ends.1)).unwrap();
    network.ip(&["address add 64:ff9b::c633:6402/128 dev lo nodad"]).unwrap();
    for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        network.sysctl(key, "1").unwrap();
    }
    gateway
        .ip(&[
            "route add 192.0.2.0/24 via 198.51.100.1 dev world",
            "route add fd64:1::/64 via fd64:2::1 dev world",
        ])
        .unwrap();
    client
        .ip(&["route add ::/0 via fd64:1::2 dev wan1", "route add default via 192.0.2.1 dev wan2"])
        .unwrap();
    let states = States::new(&format!("nat64-{name}"));
    std::fs::write(states.of("resolv.conf"), "nameserver fd64:1::2\n").unwrap();
    let (has_nat64, asked) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    name_server(&network, Arc::clone(&has_nat64), Arc::clone(&asked));
    relay(&network);
    Net { client, gateway, states, has_nat64, asked, network, _topology: topology }
}

fn bound(network: &Namespace, at: &str) -> UdpSocket {
    let at: SocketAddr = at.parse().unwrap();
    network.run(move || UdpSocket::bind(at)).unwrap().unwrap()
}

/// DNS64's answer about ipv4only.arpa (RFC 7050 §3), or that there is no address.
fn name_server(network: &Namespace, has_nat64: Arc<AtomicBool>, asked: Arc<AtomicUsize>) {
    let socket = bound(network, "[fd64:1::2]:53");
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            asked.fetch_add(1, Ordering::Relaxed);
            let mut answer = buffer[..length].to_vec();
            answer[2..4].copy_from_slice(&[0x81, 0x80]);
            if has_nat64.load(Ordering::Relaxed) {
                answer[7] = 2;
                for last in [170, 171] {
                    answer.extend([0xc0, 12, 0, 0x1c, 0, 1, 0, 0, 0, 60, 0, 16]);
                    answer.extend([0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 0, last]);
                }
            }
            let _ = socket.send_to(&answer, from);
        }
    });
}

/// Translates for one client.
fn relay(network: &Namespace) {
    let (inside, outside) = (bound(network, TRANSLATED), bound(network, "198.51.100.1:0"));
    let [inside_too, outside_too] = [&inside, &outside].map(|s| s.try_clone().unwrap());
    let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
    let last = Arc::clone(&client);
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = inside.recv_from(&mut buffer) {
            *last.lock().unwrap() = Some(from);
            let _ = outside.send_to(&buffer[..length], GATEWAY);
        }
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, _)) = outside_too.recv_from(&mut buffer) {
            let Some(to) = *client.lock().unwrap() else { continue };
            let _ = inside_too.send_to(&buffer[..length], to);
        }
    });
}

impl Net {
    /// The gateway, and a token in a file.
    fn serve(&self, more: &[&str]) -> (Process, String) {
        let state = self.states.of("gateway");
        let args = ["serve", "--state", &state, "--tun", "rw0", "--address", "10.77.0.1/24"];
        let mut gateway = self.gateway.start(BINARY, args.iter().chain(more)).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap();
        let (code, token, error) = ropewalk(&["invite", "alice", "--state", &state, "--endpoint", GATEWAY]);
        assert_eq!(code, 0, "{error}");
        let file = self.states.of("token");
        std::fs::write(&file, token).unwrap();
        (gateway, file)
    }

    /// What a shell runs where the network's name server is this machine's.
    fn line(&self, words: &str) -> [String; 4] {
        let file = self.states.of("resolv.conf");
        let line = format!("mount --bind {file} /etc/resolv.conf && exec {BINARY} {words}");
        ["--mount".into(), "sh".into(), "-c".into(), line]
    }

    fn up(&self, token: &str, more: &str) -> Process {
        let state = self.states.of("client");
        let words = format!("up --token-file {token} --state {state} --tun rw0 {more}");
        self.client.start("unshare", self.line(&words)).unwrap()
    }

    /// Where the client's active paths lead.
    fn leads(&self) -> Vec<String> {
        let out = ropewalk(&["status", "--json", "--state", &self.states.of("client")]).1;
        let status: serde_json::Value = serde_json::from_str(&out).unwrap_or_default();
        let paths = status["peers"][0]["paths"].as_array().cloned().unwrap_or_default();
        let active = paths.iter().filter(|p| p["state"] == "active");
        let mut all: Vec<String> =
            active.map(|p| format!("{} {}", p["name"], p["remote"]).replace('"', "")).collect();
        all.sort();
        all
    }

    /// The network's router is no way out, and names the prefix for half an hour (RFC 8781 §4).
    fn advertise(&self) {
        let shown = self.network.shell("ip -o link show dev wan1 | cut -d: -f1").unwrap();
        let index = shown.trim().parse().unwrap();
        let send = move || {
            let socket = socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6)).unwrap();
            sockopt::set_ipv6_multicast_hops(&socket, 255).unwrap();
            let all = SocketAddrV6::new("ff02::1".parse().unwrap(), 0, 0, index);
            let mut words: Vec<u8> = vec![134, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            words.extend([38, 2, 0x07, 0x08, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]);
            sendto(&socket, &words, SendFlags::empty(), &all).unwrap();
        };
        self.network.run(send).unwrap();
    }

    fn pings(&self) -> bool {
        let ping = Ping::new("10.77.0.1".parse().unwrap()).run(&self.client);
        ping.is_ok_and(|r| r.received == r.sent)
    }
}

#[test]
fn an_uplink_with_ipv6_alone_reaches_an_ipv4_gateway_and_one_with_ipv4_goes_straight() {
    if !root() {
        return;
    }
    let net = net("both");
    let (_gateway, token) = net.serve(&[]);
    let doctor = net.line(&format!("doctor --token-file {token}"));
    let out = net.client.command("unshare").args(doctor).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains(&format!("the gateway at {TRANSLATED} answers")), "{said}");
    assert!(said.contains(&format!("the gateway at {GATEWAY} answers")), "{said}");
    assert!(said.contains("seen as 198.51.100.1:") && said.contains("(NAT64, port "), "{said}");
    // A setup knows it as well.
    let place = net.states.of("setup");
    let setup = format!("setup client --yes --root {place} --token-file {token} --path wan1");
    let out = net.client.command("unshare").args(net.line(&setup)).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let wan1 = said.lines().find(|l| l.contains("wan1")).unwrap_or_else(|| panic!("{said}"));
    assert!(wan1.contains("used") && !wan1.contains("not used"), "{said}");
    let mut client = net.up(&token, "--path wan1 --path wan2");
    client.wait_for_line("connected", SOON).unwrap();
    let want = [format!("wan1 {TRANSLATED}"), format!("wan2 {GATEWAY}")];
    eventually("each by its own way", || net.leads() == want);
    client.stop();
    // The first alone, too.
    let mut client = net.up(&token, "--path wan1");
    client.wait_for_line("connected", SOON).unwrap();
    eventually("by translation", || net.leads() == want[..1]);
    assert!(net.pings());
    client.stop();
    // Where IPv4 is there, nobody asks.
    let before = net.asked.load(Ordering::Relaxed);
    assert!(before > 0);
    let mut client = net.up(&token, "--path wan2");
    client.wait_for_line("connected", SOON).unwrap();
    eventually("straight", || net.leads() == want[1..]);
    assert_eq!(net.asked.load(Ordering::Relaxed), before);
    client.stop();
}

#[test]
fn a_network_without_nat64_is_said_and_asked_again() {
    if !root() {
        return;
    }
    let net = net("none");
    let (_gateway, token) = net.serve(&[]);
    net.has_nat64.store(false, Ordering::Relaxed);
    let doctor = net.line(&format!("doctor --token-file {token}"));
    let out = net.client.command("unshare").args(doctor).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let none = format!("it has IPv6 alone, and its network names no NAT64 for {GATEWAY}");
    assert!(said.contains(&none), "{said}");
    let mut client = net.up(&token, "--path wan1");
    client.wait_for_line("names no NAT64 for 198.51.100.2", SOON).unwrap();
    net.has_nat64.store(true, Ordering::Relaxed);
    client.wait_for_line("connected", SOON * 3).unwrap();
    eventually("by translation", || net.leads() == [format!("wan1 {TRANSLATED}")]);
    client.stop();
}

#[test]
fn an_uplink_that_goes_by_tls_asks_again_how_its_network_translates() {
    if !root() {
        return;
    }
    let net = net("tls");
    // Only its TLS has an IPv6 address.
    let file = net.states.of("gateway.toml");
    std::fs::write(&file, "[serve]\ntls-listen = [\"[::]:443\"]\ntls-endpoints = [\"[fd64:2::2]:443\"]\n")
        .unwrap();
    let (_gateway, token) = net.serve(&["--config", &file]);
    net.has_nat64.store(false, Ordering::Relaxed);
    let mut client = net.up(&token, "--path wan1");
    client.wait_for_line("connected", SOON).unwrap();
    eventually("by TLS", || net.leads() == ["wan1 [fd64:2::2]:443"]);
    net.has_nat64.store(true, Ordering::Relaxed);
    // It asks when it would look whether UDP passes, 15 s later.
    eventually("by translation", || net.leads() == [format!("wan1 {TRANSLATED}")]);
    assert!(net.pings());
    client.stop();
}

#[test]
fn a_prefix_that_only_the_router_names_is_used() {
    if !root() {
        return;
    }
    let net = net("router");
    net.client.sysctl("net.ipv6.conf.wan1.accept_ra", "2").unwrap();
    net.network.ip(&["address add fe80::2/64 dev wan1 nodad"]).unwrap();
    let (_gateway, token) = net.serve(&[]);
    net.has_nat64.store(false, Ordering::Relaxed);
    let mut client = net.up(&token, "--path wan1");
    client.wait_for_line("names no NAT64 for 198.51.100.2", SOON).unwrap();
    eventually("by translation", || {
        net.advertise();
        net.leads() == [format!("wan1 {TRANSLATED}")]
    });
    assert!(net.pings());
    client.stop();
}
