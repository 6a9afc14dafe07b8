//! `ropewalk doctor` with each fault provoked, and `--hooks`, in namespaces. Needs root; without it
//! the tests pass and say so. A wrong clock cannot be provoked here, since it is the machine's:
//! what is made of one is tested beside the code.
//!
//! ```text
//!   client                          gateway
//!   wan1 10.1.1.1 ───────── 10.1.1.2 wan1
//!   wan2 10.1.2.1 ───────── 10.1.2.2 wan2      10.9.9.9 lo: the gateway's address
//! ```

use crate::common::{BINARY, SOON, States, eventually, note, root, ropewalk};
use ropewalk_lab::{End, Namespace, Process, Topology};
use rustix::process::Signal;

struct Net {
    client: Namespace,
    gateway: Namespace,
    states: States,
    _topology: Topology,
}

/// What a doctor says.
struct Says {
    code: Option<i32>,
    text: String,
}

impl Says {
    /// The line about something.
    fn line(&self, check: &str) -> &str {
        let mut lines = self.text.lines();
        lines
            .find(|l| l.get(9..).is_some_and(|l| l.starts_with(check)))
            .unwrap_or_else(|| panic!("{check}: {}", self.text))
    }

    fn is(&self, check: &str, level: &str, found: &str) {
        let line = self.line(check);
        assert!(line.starts_with(level) && line.contains(found), "{check} {level} {found}: {}", self.text);
        assert_eq!(line.contains(" → "), level != "ok", "advice where it is wanted: {line}");
    }
}

fn net(name: &str) -> Net {
    let topology = Topology::new().unwrap();
    let (client, gateway) = (topology.namespace("client").unwrap(), topology.namespace("gateway").unwrap());
    for n in [1, 2] {
        let end = |host| End::new(&format!("wan{n}"), [format!("10.1.{n}.{host}/24")]);
        topology.veth((&client, end(1)), (&gateway, end(2))).unwrap();
    }
    gateway.ip(&["address add 10.9.9.9/32 dev lo"]).unwrap();
    client
        .ip(&[
            "route add default via 10.1.1.2 dev wan1",
            "route add default via 10.1.2.2 dev wan2 metric 200",
        ])
        .unwrap();
    for end in [&client, &gateway] {
        for interface in ["all", "default", "wan1", "wan2"] {
            end.sysctl(&format!("net.ipv4.conf.{interface}.rp_filter"), "0").unwrap();
        }
    }
    Net { client, gateway, states: States::new(&format!("doctor-{name}")), _topology: topology }
}

impl Net {
    fn serve(&self) -> Process {
        let state = self.states.of("gateway");
        let mut gateway = self.gateway.start(BINARY, ["serve", "--state", &state, "--tun", "rw0"]).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap();
        gateway
    }

    /// A token in a file.
    fn invite(&self) -> String {
        self.invite_to("alice", &["10.9.9.9:4500"])
    }

    fn invite_to(&self, name: &str, endpoints: &[&str]) -> String {
        let state = self.states.of("gateway");
        let mut args = vec!["invite", name, "--state", &state];
        args.extend(endpoints.iter().flat_map(|endpoint| ["--endpoint", *endpoint]));
        let (code, token, error) = ropewalk(&args);
        assert_eq!(code, 0, "{error}");
        let file = self.states.of(&format!("token-{name}"));
        std::fs::write(&file, token).unwrap();
        file
    }

    /// What a client is started with whose hooks are in a directory.
    fn hooked(&self, hooks: &str) -> Vec<String> {
        let (token, state) = (self.invite(), self.states.of("client"));
        let args = ["up", "--token-file", &token, "--state", &state, "--tun", "rw0", "--hooks", hooks];
        args.map(str::to_owned).into()
    }

    fn doctor(&self, at: &Namespace, more: &[&str]) -> Says {
        let out = at.command(BINARY).arg("doctor").args(more).output().unwrap();
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        Says { code: out.status.code(), text: text(&out.stdout) + &text(&out.stderr) }
    }
}

#[test]
fn a_well_client_is_well_before_and_after_it_connects_and_the_token_stays_good() {
    if !root() {
        return;
    }
    let net = net("well");
    let _gateway = net.serve();
    let token = net.invite();
    let before = net.doctor(&net.client, &["--token-file", &token]);
    assert_eq!(before.code, Some(0), "{}", before.text);
    for path in ["path wan1", "path wan2"] {
        before.is(path, "ok", "the gateway at 10.9.9.9:4500 answers");
        before.is(path, "ok", "; MTU 1500, no NAT");
    }
    for check in ["kernel", "tun", "rights", "nftables", "other VPN", "rp_filter"] {
        before.is(check, "ok", "");
    }
    // The doctor's handshakes were for nobody: the token lets this machine in.
    let state = net.states.of("client");
    let args = ["up", "--token-file", &token, "--state", &state, "--tun", "rw0"];
    let mut client = net.client.start(BINARY, args).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    eventually("both paths are active", || {
        let says = net.doctor(&net.client, &["--state", &state]);
        says.code == Some(0) && ["path wan1", "path wan2"].iter().all(|p| says.line(p).contains("active to"))
    });
    let says = net.doctor(&net.client, &["--state", &state]);
    says.is("gateway", "ok", "connected, 10.77.0.2");
    says.is("state", "ok", &state);
    says.is("path wan1", "ok", "measured");
    let json = net.client.command(BINARY).args(["doctor", "--state", &state, "--json"]).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(
        all.as_array().unwrap().iter().all(|f| f["check"].is_string() && f["level"] != "failed"),
        "{all}"
    );
    client.stop();
}

/// The kernel's NAT keeps ports, if it is not told to draw them.
///
/// ```text
///   client                   router                                  gateway
///   wan1 192.168.1.2 ─────── wan1 192.168.1.1, out 10.2.1.1 ──────── out 10.2.1.2, lo 10.9.9.9 and 10.9.9.10
/// ```
#[test]
fn a_nat_in_between_is_known_by_what_the_gateway_sees() {
    if !root() {
        return;
    }
    let topology = Topology::new().unwrap();
    let [client, router, gateway] =
        ["client", "router", "gateway"].map(|name| topology.namespace(name).unwrap());
    let end = |interface: &str, address: &str| End::new(interface, [address.to_owned()]);
    let ends = (end("wan1", "192.168.1.2/24"), end("wan1", "192.168.1.1/24"));
    topology.veth((&client, ends.0), (&router, ends.1)).unwrap();
    let ends = (end("out", "10.2.1.1/24"), end("out", "10.2.1.2/24"));
    topology.veth((&router, ends.0), (&gateway, ends.1)).unwrap();
    router.sysctl("net.ipv4.ip_forward", "1").unwrap();
    router.ip(&["route add 10.9.9.0/24 via 10.2.1.2 dev out"]).unwrap();
    gateway
        .ip(&[
            "address add 10.9.9.9/32 dev lo",
            "address add 10.9.9.10/32 dev lo",
            "route add 192.168.1.0/24 via 10.2.1.1 dev out",
        ])
        .unwrap();
    client.ip(&["route add default via 192.168.1.1 dev wan1"]).unwrap();
    let net = Net { client, gateway, states: States::new("doctor-nat"), _topology: topology };
    let _gateway = net.serve();
    let (one, two) = (net.invite(), net.invite_to("bob", &["10.9.9.9:4500", "10.9.9.10:4500"]));
    let doctor = |token: &str| net.doctor(&net.client, &["--token-file", token]);
    doctor(&two).is("path wan1", "ok", "; MTU 1500, no NAT");
    let nat = "nft add table ip t; nft 'add chain ip t out { type nat hook postrouting priority 100; }'; nft add rule ip t out oifname out masquerade";
    router.shell(nat).unwrap();
    doctor(&one).is("path wan1", "ok", "(NAT, port kept)");
    let says = doctor(&two);
    says.is("path wan1", "ok", "; MTU 1500, seen as 10.2.1.1:");
    says.is("path wan1", "ok", "(NAT, port kept)");
    router.shell(&format!("nft delete table ip t; {nat} fully-random")).unwrap();
    doctor(&one).is("path wan1", "ok", "(NAT, port changed)");
    doctor(&two).is("path wan1", "ok", "(NAT, a mapping for each destination)");
}

#[test]
fn blocked_udp_a_closed_port_and_a_missing_route_are_told_apart() {
    if !root() {
        return;
    }
    let net = net("blocked");
    let mut gateway = net.serve();
    let token = net.invite();
    let doctor = || net.doctor(&net.client, &["--token-file", &token]);
    // The network behind wan1 swallows UDP.
    let block = "nft add table ip t; nft 'add chain ip t input { type filter hook input priority 0; }'; nft add rule ip t input iifname wan1 udp dport 4500 drop";
    net.gateway.shell(block).unwrap();
    let says = doctor();
    assert_eq!(says.code, Some(1), "{}", says.text);
    says.is("path wan1", "FAILED", "no answer from 10.9.9.9:4500 (UDP)");
    says.is("path wan2", "ok", "answers");
    net.gateway.shell("nft delete table ip t").unwrap();
    // This machine's own firewall.
    let block = "nft add table ip t; nft 'add chain ip t output { type filter hook output priority 0; }'; nft add rule ip t output oifname wan2 udp dport 4500 reject";
    net.client.shell(block).unwrap();
    let says = doctor();
    says.is("path wan2", "FAILED", "");
    says.is("path wan1", "ok", "answers");
    net.client.shell("nft delete table ip t").unwrap();
    // No route by one interface.
    net.client.ip(&["route del default via 10.1.2.2 dev wan2 metric 200"]).unwrap();
    let says = doctor();
    says.is("path wan2", "FAILED", "no route to 10.9.9.9:4500");
    gateway.stop();
    doctor().is("path wan1", "FAILED", "nobody listens at 10.9.9.9:4500");
    // Another gateway than the token's is as silent as none.
    let other = net.states.of("other");
    let mut serving = net.gateway.start(BINARY, ["serve", "--state", &other, "--tun", "rw0"]).unwrap();
    serving.wait_for_line("gateway ready", SOON).unwrap();
    doctor().is("path wan1", "FAILED", "no answer");
    serving.stop();
}

#[test]
fn a_path_is_tried_to_its_own_endpoint_and_one_without_an_interface_is_said() {
    if !root() {
        return;
    }
    let net = net("own");
    let _gateway = net.serve();
    let (token, config) = (net.invite(), net.states.of("client.toml"));
    let path = |interface: &str, more: &str| format!("[[up.path]]\ninterface = \"{interface}\"\n{more}\n");
    let own = path("wan2", "endpoint = \"10.1.2.2:4500\"");
    std::fs::write(&config, path("wan1", "") + &own + &path("wwan0", "")).unwrap();
    let says = net.doctor(&net.client, &["--config", &config, "--token-file", &token]);
    says.is("path wan1", "ok", "the gateway at 10.9.9.9:4500 answers");
    says.is("path wan2", "ok", "the gateway at 10.1.2.2:4500 answers");
    says.is("path wwan0", "FAILED", "there is no network interface named `wwan0`");
}

#[test]
fn what_is_wrong_with_a_machine_is_found() {
    if !root() {
        return;
    }
    let net = net("machine");
    let says = net.doctor(&net.client, &[]);
    assert_eq!(says.code, Some(0), "{}", says.text);
    net.client.sysctl("net.ipv4.conf.wan2.rp_filter", "1").unwrap();
    net.doctor(&net.client, &[]).is("rp_filter", "warning", "strict on wan2");
    // Another VPN has the default route.
    net.client
        .ip(&["tuntap add mode tun dev vpn0", "link set vpn0 up", "route add 128.0.0.0/1 dev vpn0"])
        .unwrap();
    net.doctor(&net.client, &[]).is("other VPN", "warning", "of IPv4 leads into vpn0");
    // One for IPv6 alone, as wg-quick makes it: a table of its own, and a rule that leads there.
    let commands = [
        "route del 128.0.0.0/1 dev vpn0",
        "route add ::/0 dev vpn0 table 51820",
        "-6 rule add not fwmark 51820 table 51820",
    ];
    net.client.shell(&commands.map(|c| format!("ip {c}")).join(" && ")).unwrap();
    net.doctor(&net.client, &[]).is("other VPN", "warning", "of IPv6 leads into vpn0");
    net.client.ip(&["link del vpn0"]).unwrap();
    net.doctor(&net.client, &[]).is("other VPN", "ok", "");
    // No TUN driver.
    let line = format!("mount -t tmpfs tmpfs /dev/net && exec {BINARY} doctor");
    let out = net.client.command("unshare").args(["--mount", "sh", "-c", &line]).output().unwrap();
    let says = Says { code: out.status.code(), text: String::from_utf8_lossy(&out.stdout).into_owned() };
    assert_eq!(says.code, Some(1), "{}", says.text);
    says.is("tun", "FAILED", "/dev/net/tun is not there");
    // A name that leads nowhere, and a file that is none.
    let bad = net.states.of("bad.toml");
    std::fs::write(&bad, "[up]\ncolour = 1\n").unwrap();
    let says = net.doctor(&net.client, &["--config", &bad]);
    assert_eq!(says.code, Some(1));
    says.is("configuration", "FAILED", "colour");
}

#[test]
fn what_is_wrong_with_a_gateway_is_found() {
    if !root() {
        return;
    }
    let net = net("gateway");
    let (config, state) = (net.states.of("gateway.toml"), net.states.of("gateway"));
    std::fs::write(&config, "[serve]\naddress = [\"10.77.0.1/24\"]\n").unwrap();
    let doctor = || net.doctor(&net.gateway, &["--state", &state, "--config", &config]);
    let says = doctor();
    assert_eq!(says.code, Some(0), "{}", says.text);
    says.is("port", "ok", "is free");
    let holder = net.gateway.run(|| std::net::UdpSocket::bind("0.0.0.0:4500").unwrap()).unwrap();
    let says = doctor();
    assert_eq!(says.code, Some(1), "{}", says.text);
    says.is("port", "FAILED", "is taken by another program");
    drop(holder);
    // A gateway that is told no address has one of each IP version.
    let holder = net.gateway.run(|| std::net::UdpSocket::bind("[::1]:4500").unwrap()).unwrap();
    doctor().is("port", "FAILED", "UDP [::]:4500 is taken by another program");
    drop(holder);
    let mut gateway = net.serve();
    let says = doctor();
    assert_eq!(says.code, Some(0), "{}", says.text);
    says.is("port", "ok", "the gateway runs");
    says.is("clients", "ok", "0 connected");
    gateway.stop();
    std::fs::write(&config, "[serve]\naddress = [\"10.1.1.77/24\"]\n").unwrap();
    doctor().is("routes", "FAILED", "is also 10.1.1.0/24 of wan1");
    std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    doctor().is("state", "FAILED", "others may write into");
}

#[test]
fn what_was_changed_is_taken_back_before_the_last_hooks() {
    if !root() {
        return;
    }
    let net = net("last-hooks");
    let _gateway = net.serve();
    let (hooks, _) = note(&net.states);
    let (hook, seen) = (format!("{hooks}/20-rules"), net.states.of("rules"));
    let lines = format!("#!/bin/sh\n[ $ROPEWALK_EVENT = path-up ] || ip rule >{seen}.$ROPEWALK_EVENT\n");
    std::fs::write(&hook, lines).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let rules = || net.client.shell("ip rule").unwrap();
    let before = rules();
    let everything = ["--route", "0.0.0.0/0"].map(str::to_owned);
    let mut client = net.client.start(BINARY, net.hooked(&hooks).iter().chain(&everything)).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    eventually("the bond's rules", || rules() != before);
    let at = |event: &str| std::fs::read_to_string(format!("{seen}.{event}")).unwrap_or_default();
    eventually("the connection", || !at("connected").is_empty());
    client.signal(Signal::TERM).unwrap();
    client.wait(SOON).unwrap();
    assert_eq!(at("disconnected"), before, "nothing leads into a bond that carries no more");
}

#[test]
fn hooks_hear_of_paths_and_the_connection() {
    if !root() {
        return;
    }
    let net = net("hooks");
    let _gateway = net.serve();
    let (hooks, log) = note(&net.states);
    let args = net.hooked(&hooks);
    let mut client = net.client.start(BINARY, &args).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    let heard =
        |words: &str| std::fs::read_to_string(&log).is_ok_and(|t| t.lines().any(|l| l.contains(words)));
    eventually("the connection", || {
        heard("ROPEWALK_ADDRESSES=10.77.0.2/24 ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=connected ")
    });
    for path in ["wan1", "wan2"] {
        let words = format!(
            "ROPEWALK_DEVICE=rw0 ROPEWALK_EVENT=path-up ROPEWALK_INTERFACE={path} ROPEWALK_PATH={path} "
        );
        eventually("a path", || heard(&words));
    }
    net.client.ip(&["link set wan2 down"]).unwrap();
    eventually("a path that is gone", || heard("EVENT=path-down ROPEWALK_INTERFACE=wan2"));
    assert!(!heard("EVENT=disconnected"), "one path is left");
    client.stop();
    eventually("the end", || heard("EVENT=disconnected"));
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("rw1_"), "{text}");
    // A directory that others may write is refused.
    std::fs::set_permissions(&hooks, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let out = net.client.command(BINARY).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("others may write"), "{said}");
}
