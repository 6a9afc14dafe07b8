//! Taking the default route over, and giving everything back.
//!
//! ```text
//!              va 10.9.0.1 ──── 10.9.0.2 vb
//!   [client] ─┤                             ├─ [world]  192.0.2.1, 2001:db8::1 on lo
//!              wa 10.8.0.1 ──── 10.8.0.2 wb
//! ```

mod lan;
mod shaping;
mod stations;
mod tables;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use crate::common::{Netns, State, cable, eventually, ip, root};
use ipnet::IpNet;
use ropewalk_net::advertise::{Advertisement, RouterSocket};
use ropewalk_net::links::{list, route_via, routes};
use ropewalk_net::nat::masquerade_by;
use ropewalk_net::setup::{
    Capture, Change, DeviceConfig, Exit, Exits, Forward, Grants, Hold, Journal, LAN_TABLE, LanAddress,
    LanRoutes, Limit, MARK, PRIORITY_BASE, Protocol, Quotas, ROUTE_TABLE, Routes, Rule, RuleKind, SetupError,
    StationAddress, StationNetwork, TUNNEL_TABLE, TableWatch, TunnelRoutes, ask_for_marks, capture,
    cleanup_stale, configure, forwarding, grant, guard, hear_routers, hold_back, keep_tables, kill_switch,
    leave_by, let_through, remove_address, reverse_path,
};
use ropewalk_net::tun::Tun;
use ropewalk_net::udp::{Options, RecvBatch, Transmit, UdpSocket};
use ropewalk_session::Layer;
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket, sockopt};

struct World {
    client: Netns,
    world: Netns,
    state: State,
}

fn world() -> World {
    let (client, world) = (Netns::new("client"), Netns::new("world"));
    cable((&client, "va", &["10.9.0.1/24", "fd09::1/64"]), (&world, "vb", &["10.9.0.2/24", "fd09::2/64"]));
    cable((&client, "wa", &["10.8.0.1/24", "fd08::1/64"]), (&world, "wb", &["10.8.0.2/24", "fd08::2/64"]));
    world.ip("address add 192.0.2.1/32 dev lo");
    world.ip("address add 2001:db8::1/128 dev lo nodad");
    for (gateway, device, metric) in [("10.9.0.2", "va", 100), ("10.8.0.2", "wa", 600)] {
        client.ip(&format!("route add default via {gateway} dev {device} metric {metric}"));
    }
    for (gateway, device, metric) in [("fd09::2", "va", 100), ("fd08::2", "wa", 600)] {
        client.ip(&format!("-6 route add default via {gateway} dev {device} metric {metric}"));
    }
    let state = State::new(&client);
    World { client, world, state }
}

/// Opens a journal that was left. A program that another test has just started may hold its lock for a
/// moment.
fn once_free<T>(mut open: impl FnMut() -> Result<T, SetupError>) -> T {
    let mut opened = None;
    eventually("nobody else holds the journal", || {
        opened = match open() {
            Err(SetupError::Running(_)) => None,
            other => Some(other.unwrap()),
        };
        opened.is_some()
    });
    opened.unwrap()
}

fn bond(client: &Netns) -> Tun {
    client.inside(|| {
        let tun = Tun::open(Some("rw0")).unwrap();
        give(&tun, ["10.77.0.2/24", "fd77::2/64"]);
        tun
    })
}

fn give(tun: &Tun, addresses: [&str; 2]) {
    let addresses = addresses.map(|a| a.parse().unwrap());
    let config = DeviceConfig {
        layer: Layer::Three,
        index: tun.index(),
        name: tun.name(),
        mtu: 1400,
        queue: Some(1000),
        addresses: &addresses,
    };
    configure(&config).unwrap();
}

/// Everything that a bond may change and that outlives its device.
fn fingerprint(ns: &Netns) -> String {
    let mut all: String = ["rule", "-6 rule", "route", "-6 route"].iter().map(|w| ns.ip(w)).collect();
    for key in
        ["ipv4.ip_forward", "ipv6.conf.all.forwarding", "ipv4.conf.va.rp_filter", "ipv6.conf.va.accept_ra"]
    {
        all += &ns.run("sysctl", &format!("-n net.{key}"));
    }
    all
}

fn device_towards(ns: &Netns, words: &str) -> String {
    let route = ns.ip(&format!("route get {words}"));
    route.split(" dev ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

const DEFAULTS: [&str; 2] = ["0.0.0.0/0", "::/0"];

fn take_over(client: &Netns, tun: &Tun, journal: &mut Journal) -> Routes {
    client.inside(|| {
        let mut routes = Routes::new(tun.index());
        for network in DEFAULTS {
            routes.add(journal, network.parse().unwrap()).unwrap();
        }
        let addresses = ["10.9.0.1", "10.8.0.1", "fd09::1"].map(|a| a.parse().unwrap());
        routes.keep_replies(journal, &addresses).unwrap();
        routes
    })
}

impl World {
    /// The client's default routes lead into a bond.
    fn taken(&self) -> (Tun, Journal, Routes) {
        let tun = bond(&self.client);
        let mut journal = self.client.inside(|| Journal::open(&self.state).unwrap().0);
        let routes = take_over(&self.client, &tun, &mut journal);
        (tun, journal, routes)
    }

    /// The client's second cable as a station.
    fn station(&self) -> StationNetwork {
        let index = self.client.inside(|| list().unwrap().iter().find(|l| l.name == "wa").unwrap().index);
        StationNetwork { index, name: "wa".into(), number: 0 }
    }
}

#[test]
fn the_default_route_goes_into_the_bond_and_comes_back() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let before = fingerprint(client);
    let (tun, mut journal, mut routes) = world.taken();

    assert_eq!(device_towards(client, "8.8.8.8"), "rw0");
    assert_eq!(device_towards(client, "2001:db8:9::1"), "rw0");
    assert_eq!(device_towards(client, "10.9.0.2"), "va", "neighbours are as before");
    assert_eq!(device_towards(client, &format!("8.8.8.8 mark {MARK}")), "va", "the bond's own packets");
    assert_eq!(device_towards(client, &format!("2001:db8:9::1 mark {MARK}")), "va");
    assert_eq!(device_towards(client, "8.8.8.8 from 10.9.0.1"), "va", "replies leave as they did");
    assert_eq!(device_towards(client, "2001:db8:9::1 from fd09::1"), "va");
    client.inside(|| {
        for link in list().unwrap().iter().filter(|l| l.name == "va" || l.name == "wa") {
            for to in ["192.0.2.1", "2001:db8::1"] {
                let via = route_via(link.index, to.parse().unwrap()).unwrap();
                assert!(via.is_some_and(|v| v.gateway.is_some()), "{} to {to}", link.name);
            }
        }
        // Taking v6 back leaves v4 taken.
        routes.remove(&mut journal, DEFAULTS[1].parse().unwrap()).unwrap();
    });
    assert_eq!(device_towards(client, "2001:db8:9::1"), "va");
    assert_eq!(device_towards(client, "8.8.8.8"), "rw0");

    client.inside(|| journal.restore().unwrap());
    drop(tun);
    assert_eq!(fingerprint(client), before);
    assert_eq!(
        std::fs::read_dir(&*world.state).unwrap().count(),
        0,
        "nothing is left in the state directory"
    );
}

/// A restart of systemd-networkd takes rules away that are not its own.
#[test]
fn what_others_take_away_of_the_default_route_is_put_back() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let (_tun, mut journal, mut routes) = world.taken();
    let ordinary = "198.51.100.0/24".parse().unwrap();
    client.inside(|| routes.add(&mut journal, ordinary).unwrap());
    // Which of several with one priority comes first does not matter.
    let all = || {
        let words = ["rule", "-6 rule", "route", "route show table 29303", "-6 route show table 29303"];
        let mut lines: Vec<String> =
            words.iter().flat_map(|w| client.ip(w).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        lines.sort();
        lines
    };
    let before = all();
    let keep = |routes: &Routes, journal: &Journal| client.inside(|| routes.keep(journal).unwrap());
    assert_eq!(keep(&routes, &journal), 0, "all is there");
    let gone = [
        "rule del priority 29300",
        "rule del priority 29302",
        "-6 rule del priority 29303",
        "route del default table 29303",
        "-6 route del default table 29303",
        "route del 198.51.100.0/24",
    ];
    for words in gone {
        client.ip(words);
    }
    assert_eq!(device_towards(client, "8.8.8.8"), "va", "in the clear");
    assert_eq!(keep(&routes, &journal), gone.len());
    assert_eq!(all(), before);
    assert_eq!(device_towards(client, "8.8.8.8"), "rw0");
    assert_eq!(device_towards(client, "2001:db8:9::1"), "rw0");
    client.inside(|| routes.remove(&mut journal, ordinary).unwrap());
    assert_eq!(keep(&routes, &journal), 0, "not what was removed");
    client.inside(|| journal.restore().unwrap());
}

/// Both paths carry datagrams to one endpoint and back while the default route points into the bond, under
/// strict filters.
#[test]
fn both_paths_work_while_the_default_route_is_taken() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    client.run("sysctl", "-qw net.ipv4.conf.all.rp_filter=1");
    world.world.run("sysctl", "-qw net.ipv4.conf.all.rp_filter=0");
    let (_tun, mut journal, _) = world.taken();
    client.inside(|| {
        for device in ["va", "wa"] {
            reverse_path(&mut journal, device).unwrap();
        }
    });
    for (ip, any) in [("192.0.2.1", "0.0.0.0:0"), ("2001:db8::1", "[::]:0")] {
        let any: SocketAddr = any.parse().unwrap();
        let mut server = world.world.inside(|| UdpSocket::open(&Options::at(any)).unwrap());
        let to = SocketAddr::new(ip.parse().unwrap(), server.local_addr().port());
        for device in ["va", "wa"] {
            let options = Options { device: Some(device), mark: Some(MARK), ..Options::at(any) };
            let mut socket = client.inside(|| UdpSocket::open(&options).unwrap());
            echo(&mut socket, &mut server, to, device);
        }
    }
    client.inside(|| journal.restore().unwrap());
}

fn echo(socket: &mut UdpSocket, server: &mut UdpSocket, to: SocketAddr, device: &str) {
    let mut batch = RecvBatch::new(1);
    let ask = Transmit { to, from: None, tos: 0, segment_size: 4, data: b"ping" };
    assert_eq!(socket.send(&ask).unwrap(), 4);
    eventually(&format!("a question by {device} to {to}"), || server.recv(&mut batch).unwrap() > 0);
    let datagrams = batch.iter_mut().next().unwrap();
    let answer = Transmit { to: datagrams.from, from: datagrams.to, tos: 0, segment_size: 4, data: b"pong" };
    assert_eq!(server.send(&answer).unwrap(), 4);
    eventually(&format!("an answer by {device} from {to}"), || socket.recv(&mut batch).unwrap() > 0);
    let datagrams = batch.iter_mut().next().unwrap();
    assert_eq!((datagrams.from, &*datagrams.data), (to, &b"pong"[..]));
}

/// The process that is killed: this program again, told by its environment what to do. Without that it is no
/// test.
#[test]
fn victim() {
    let (Ok(name), Ok(state)) = (std::env::var("RW_VICTIM_NETNS"), std::env::var("RW_VICTIM_STATE")) else {
        return;
    };
    // Not the owner: the namespace must outlive it.
    let client = std::mem::ManuallyDrop::new(Netns { name });
    let tun = bond(&client);
    let (mut journal, _) = client.inside(|| Journal::open(state.as_ref()).unwrap());
    take_over(&client, &tun, &mut journal);
    client.inside(|| {
        forwarding(&mut journal, true, true).unwrap();
        reverse_path(&mut journal, "va").unwrap();
    });
    std::fs::write(std::path::Path::new(&state).join("ready"), "").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn what_a_killed_process_left_is_taken_back() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    client.run("sysctl", "-qw net.ipv4.conf.va.rp_filter=1");
    let before = fingerprint(client);
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "setup::victim"])
        .env("RW_VICTIM_NETNS", &client.name)
        .env("RW_VICTIM_STATE", &*world.state)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let ready = world.state.join("ready");
    eventually("the victim to be ready", || ready.exists());
    std::fs::remove_file(ready).unwrap();
    assert_eq!(device_towards(client, "8.8.8.8"), "rw0");
    let running = client.inside(|| Journal::open(&world.state).unwrap_err());
    assert!(matches!(running, SetupError::Running(_)), "{running}");

    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_ne!(fingerprint(client), before, "rules and settings are left behind");
    // It might have been killed in the middle of a line.
    let mut file = std::fs::OpenOptions::new().append(true).open(world.state.join("changes.json")).unwrap();
    std::io::Write::write_all(&mut file, b"{\"made\":{\"rule\":{\"v6\":fal").unwrap();

    let count = client.inside(|| cleanup_stale(&world.state).unwrap());
    assert!(count >= 10, "{count}");
    assert_eq!(fingerprint(client), before);
    assert_eq!(client.inside(|| cleanup_stale(&world.state).unwrap()), 0);
    assert_eq!(std::fs::read_dir(&*world.state).unwrap().count(), 0);
}

#[test]
fn forwarding_stays_on_until_the_last_bond_that_needs_it_ends() {
    if !root() {
        return;
    }
    let world = world();
    let (client, second) = (&world.client, State::new(&world.world));
    let before = fingerprint(client);
    let forwards = |ns: &Netns| ns.run("sysctl", "-n net.ipv4.ip_forward net.ipv6.conf.all.forwarding");
    let begin = |ns: &Netns, state: &State| {
        ns.inside(|| {
            let (mut journal, left) = Journal::open(state).unwrap();
            assert_eq!(left, 0);
            forwarding(&mut journal, true, true).unwrap();
            // Asked for again, as after a reload, it is noted once.
            forwarding(&mut journal, true, true).unwrap();
            journal
        })
    };
    let end = |ns: &Netns, journal: Journal| ns.inside(|| journal.restore().unwrap());
    for order in [[0, 1], [1, 0]] {
        let mut both = [begin(client, &world.state), begin(client, &second)].map(Some);
        assert_eq!(forwards(client).split_whitespace().collect::<Vec<_>>(), ["1", "1"]);
        end(client, both[order[0]].take().unwrap());
        assert_eq!(forwards(client).split_whitespace().collect::<Vec<_>>(), ["1", "1"], "the other needs it");
        end(client, both[order[1]].take().unwrap());
        assert_eq!(forwards(client).split_whitespace().collect::<Vec<_>>(), ["0", "0"]);
        // So do interfaces that were told to listen on.
        assert_eq!(fingerprint(client), before);
    }
    // What the administrator has switched on stays, and another namespace is another machine.
    client.run("sysctl", "-qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
    let (first, other) = (begin(client, &world.state), begin(&world.world, &second));
    end(client, first);
    assert_eq!(forwards(client).split_whitespace().collect::<Vec<_>>(), ["1", "1"]);
    assert_eq!(forwards(&world.world).split_whitespace().collect::<Vec<_>>(), ["1", "1"]);
    end(&world.world, other);
    assert_eq!(forwards(&world.world).split_whitespace().collect::<Vec<_>>(), ["0", "0"]);
}

#[test]
fn settings_stay_until_the_last_bond_that_needs_them_ends() {
    if !root() {
        return;
    }
    let world = world();
    let (client, second) = (&world.client, State::new(&world.world));
    client.run("sysctl", "-qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.va.rp_filter=1 net.ipv4.tcp_ecn=2");
    let settings = || {
        let all = client.run("sysctl", "-n net.ipv4.conf.va.rp_filter net.ipv4.tcp_ecn");
        all.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let begin = |state: &State| {
        client.inside(|| {
            let mut journal = Journal::open(state).unwrap().0;
            for _ in 0..2 {
                reverse_path(&mut journal, "va").unwrap();
                ask_for_marks(&mut journal).unwrap();
            }
            assert_eq!(journal.changes().len(), 2);
            journal
        })
    };
    for order in [[0, 1], [1, 0]] {
        let mut both = [begin(&world.state), begin(&second)].map(Some);
        for (which, expected) in order.into_iter().zip([["2", "1"], ["1", "2"]]) {
            let journal = both[which].take().unwrap();
            client.inside(|| journal.restore().unwrap());
            assert_eq!(settings(), expected, "{order:?}");
        }
    }
    // What the administrator has set stays.
    client.run("sysctl", "-qw net.ipv4.conf.va.rp_filter=2 net.ipv4.tcp_ecn=1");
    client.inside(|| {
        let mut journal = Journal::open(&second).unwrap().0;
        reverse_path(&mut journal, "va").unwrap();
        ask_for_marks(&mut journal).unwrap();
        journal.restore().unwrap();
    });
    assert_eq!(settings(), ["2", "1"]);
}

#[test]
fn journals_of_another_boot_or_namespace_are_forgotten() {
    if !root() {
        return;
    }
    let world = world();
    let file = world.state.join("changes.json");
    let rule = r#"{"made":{"sysctl":{"key":"ipv4/ip_forward","before":"1","after":"0"}}}"#;
    std::fs::write(&file, format!("{{\"boot\":\"other\",\"namespace\":1}}\n{rule}\n")).unwrap();
    assert_eq!(world.client.inside(|| cleanup_stale(&world.state).unwrap()), 0);
    assert_eq!(world.client.run("sysctl", "-n net.ipv4.ip_forward").trim(), "0");
    assert!(!file.exists());
}

#[test]
fn a_second_bond_is_told_and_does_no_harm() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let (_tun, first, _) = world.taken();
    let rules = client.ip("rule");
    let other = world.state.join("other");
    std::fs::create_dir(&other).unwrap();
    client.inside(|| {
        let second = Tun::open(Some("rw1")).unwrap();
        configure(&DeviceConfig {
            layer: Layer::Three,
            index: second.index(),
            name: "rw1",
            mtu: 1400,
            queue: None,
            addresses: &[],
        })
        .unwrap();
        let mut journal = Journal::open(&other).unwrap().0;
        let mut routes = Routes::new(second.index());
        let error = routes.add(&mut journal, DEFAULTS[0].parse().unwrap()).unwrap_err();
        assert!(matches!(error, SetupError::RuleTaken), "{error}");
        journal.restore().unwrap();
    });
    assert_eq!(client.ip("rule"), rules, "the first one's rules stand");
    client.inside(|| first.restore().unwrap());
}

/// What was in its way may go; then it is asked again.
#[test]
fn a_default_route_that_cannot_be_had_leaves_nothing_behind() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    let other = world.state.join("other");
    std::fs::create_dir(&other).unwrap();
    client.inside(|| {
        let does = RuleKind::UnmarkedToTable { mark: MARK, table: ROUTE_TABLE };
        let rule = Rule { v6: false, priority: PRIORITY_BASE + 2, does };
        let mut others = Journal::open(&other).unwrap().0;
        others.make(Change::Rule(rule)).unwrap();
        let mut journal = Journal::open(&world.state).unwrap().0;
        let mut routes = Routes::new(tun.index());
        let mut add = |journal: &mut Journal| routes.add(journal, DEFAULTS[0].parse().unwrap());
        let error = add(&mut journal).unwrap_err();
        assert!(matches!(error, SetupError::RuleTaken), "{error}");
        assert!(journal.changes().is_empty(), "{:?}", journal.changes());
        others.restore().unwrap();
        add(&mut journal).unwrap();
        assert_eq!(device_towards(client, "8.8.8.8"), "rw0");
        journal.restore().unwrap();
    });
}

/// CVE-2019-14899: also when the gateway gives another address, and when somebody flushed the
/// firewall.
#[test]
fn neighbours_do_not_reach_the_address_inside() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    world.world.ip("route add 10.77.0.0/24 via 10.9.0.1");
    let reached = |address: &str| {
        let words = format!("netns exec {} ping -c 2 -i 0.2 -W 1 {address}", world.world.name);
        std::process::Command::new("ip").args(words.split(' ')).output().unwrap().status.success()
    };
    let _tun = bond(client);
    client.ip("address add 10.77.0.9/24 dev rw0");
    let mut journal = client.inside(|| Journal::open(&world.state).unwrap().0);
    let mut set = |address: &str| {
        client.inside(|| guard(&mut journal, "rw0", vec![address.parse().unwrap()])).unwrap();
    };
    assert!(reached("10.77.0.2") && reached("10.77.0.9"), "without it they do");
    set("10.77.0.2");
    assert!(!reached("10.77.0.2") && reached("10.77.0.9"));
    set("10.77.0.9");
    assert!(!reached("10.77.0.9") && reached("10.77.0.2"), "the guard goes with the address");
    client.run("nft", "flush ruleset");
    set("10.77.0.9");
    assert!(!reached("10.77.0.9"));
    client.inside(|| journal.restore().unwrap());
    assert_eq!(client.run("nft", "list ruleset"), "");
}

/// Another address of the same network, and one of another.
#[test]
fn routes_outlive_the_address_that_was_there_first() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let (tun, mut journal, mut routes) = world.taken();
    client.inside(|| routes.add(&mut journal, "198.51.100.0/24".parse().unwrap()).unwrap());
    for (old, new) in [("10.77.0.2/24", "10.77.0.9/24"), ("10.77.0.9/24", "10.99.0.2/24")] {
        client.inside(|| {
            give(&tun, [new, "fd77::2/64"]);
            remove_address(tun.index(), old.parse().unwrap()).unwrap();
        });
        let addresses = client.ip("-4 address show dev rw0");
        assert!(addresses.contains(new) && !addresses.contains(old), "{addresses}");
        for towards in ["192.0.2.1", "198.51.100.9", "2001:db8::1"] {
            assert_eq!(device_towards(client, towards), "rw0", "{new}: {towards}");
        }
    }
    client.inside(|| journal.restore().unwrap());
}

#[test]
fn ordinary_routes() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    client.inside(|| {
        let mut journal = Journal::open(&world.state).unwrap().0;
        let mut routes = Routes::new(tun.index());
        routes.add(&mut journal, "198.51.100.7/24".parse().unwrap()).unwrap();
        routes.add(&mut journal, "2001:db8:5::/48".parse().unwrap()).unwrap();
        for taken in ["198.51.100.0/24", "10.9.0.0/24"] {
            let error = routes.add(&mut journal, taken.parse().unwrap()).unwrap_err();
            assert!(matches!(error, SetupError::RouteTaken(_)), "{error}");
        }
        assert!(journal.changes().is_empty(), "they vanish with the device");
        journal.restore().unwrap();
    });
    assert_eq!(device_towards(client, "198.51.100.9"), "rw0");
    assert_eq!(device_towards(client, "2001:db8:5::1"), "rw0");
    drop(tun);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(device_towards(client, "198.51.100.9"), "va");
}

#[test]
fn ipv6_switched_off_is_said() {
    if !root() {
        return;
    }
    let ns = Netns::new("v4");
    ns.run("sysctl", "-qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
    ns.inside(|| {
        let tun = Tun::open(None).unwrap();
        let addresses = ["10.77.0.2/24".parse().unwrap(), "fd77::2/64".parse().unwrap()];
        let config = DeviceConfig {
            layer: Layer::Three,
            index: tun.index(),
            name: tun.name(),
            mtu: 1400,
            queue: None,
            addresses: &addresses,
        };
        let error = configure(&config).unwrap_err();
        assert!(matches!(error, SetupError::NoIpv6(_)), "{error}");
        let address: IpAddr = [10, 77, 0, 2].into();
        assert!(list().unwrap().iter().any(|l| l.addresses.iter().any(|a| a.ip == address)));
    });
}
