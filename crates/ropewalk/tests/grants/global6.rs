//! Clients whose IPv6 addresses the world sees.
//!
//! ```text
//!   gateway 2001:db8:9::2 ──── 2001:db8:9::1 visitor
//! ```

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use ropewalk_lab::Namespace;

use super::{Net, net, passes, reaches};
use crate::common::{BINARY, SOON, eventually, root};

const ROUTED: [&str; 4] = ["--address", "2001:db8:1::1/64", "--global6", "--masquerade"];
const ON_LINK: [&str; 5] = ["--address", "2001:db8:9::a:1/112", "--global6", "--proxy-ndp", "wan9"];

/// The net, whose visitor has IPv6 towards the gateway.
pub(super) fn net6(name: &str) -> Net {
    let net = net(name, &["alice", "bob"]);
    net.visitor.ip(&["address add 2001:db8:9::1/64 dev wan1 nodad"]).unwrap();
    net.gateway.ip(&["address add 2001:db8:9::2/64 dev wan9 nodad"]).unwrap();
    net
}

/// What a gateway may change of its machine.
pub(super) fn settings(gateway: &Namespace) -> String {
    let keys = "net.ipv4.ip_forward net.ipv6.conf.all.forwarding net.ipv6.conf.all.proxy_ndp \
                net.ipv6.conf.wan9.proxy_ndp net.ipv6.conf.wan9.accept_ra";
    let all = format!("nft list ruleset; ip rule; ip -6 rule; ip -6 neigh show proxy; sysctl {keys}");
    gateway.shell(&all).unwrap()
}

/// Whom the visitor takes a client for that connects to it.
pub(super) fn seen(net: &Net, client: &Namespace, at: &str) -> IpAddr {
    let at: IpAddr = at.parse().unwrap();
    let listener = net.visitor.run(|| TcpListener::bind((at, 0)).unwrap()).unwrap();
    let to = listener.local_addr().unwrap();
    let _stream = client.run(|| TcpStream::connect_timeout(&to, SOON).unwrap()).unwrap();
    listener.accept().unwrap().1.ip()
}

/// The visitor connects; there is time for a refusal of the second try, for the first may come
/// while the socket is busy.
pub(super) fn knock(net: &Net, to: &str) -> io::Result<TcpStream> {
    let to: SocketAddr = to.parse().unwrap();
    net.visitor.run(|| TcpStream::connect_timeout(&to, SOON)).unwrap()
}

pub(super) fn refused(outcome: io::Result<TcpStream>) -> bool {
    outcome.is_err_and(|e| e.kind() == ErrorKind::PermissionDenied)
}

#[test]
fn the_world_sees_a_clients_address_and_reaches_it_where_a_port_is_forwarded() {
    if !root() {
        return;
    }
    let net = net6("global6");
    net.visitor.ip(&["route add 2001:db8:1::/64 via 2001:db8:9::2"]).unwrap();
    let before = settings(&net.gateway);
    let mut gateway = net.serve_with(&ROUTED);
    let _alice = net.up_with(0, &["--route", "::/0"]);
    let alice = &net.clients[0].1;
    assert_eq!(seen(&net, alice, "2001:db8:9::1").to_string(), "2001:db8:1::2", "untranslated");
    assert_eq!(seen(&net, alice, "10.1.9.1").to_string(), "10.1.9.2", "IPv4 is masqueraded all the same");

    // Programs listen; nobody outside reaches them. Echoes pass (RFC 4890).
    let [web, other] = [80, 81].map(|p| alice.run(|| TcpListener::bind(("::", p)).unwrap()).unwrap());
    assert!(refused(knock(&net, "[2001:db8:1::2]:80")), "closed without a forward");
    eventually("echoes pass", || reaches(&net.visitor, "2001:db8:1::2"));
    net.done("forward add alice tcp 8080 --to 80");
    let visitor = knock(&net, "[2001:db8:1::2]:80").unwrap();
    let (client, from) = web.accept().unwrap();
    assert_eq!(from.ip().to_string(), "2001:db8:9::1", "the client sees the visitor");
    assert!(passes(&visitor, &client) && passes(&client, &visitor));
    let by_gateway = knock(&net, "[2001:db8:9::2]:8080").unwrap();
    let (led, _) = web.accept().unwrap();
    assert!(passes(&by_gateway, &led), "the gateway's port leads there as well");
    assert!(refused(knock(&net, "[2001:db8:1::2]:81")), "no other port");
    drop(other);

    // What was open ends with the forward.
    net.done("forward remove tcp 8080");
    assert!(!passes(&client, &visitor), "from the client");
    assert!(!passes(&visitor, &client), "from the visitor");
    assert!(refused(knock(&net, "[2001:db8:1::2]:80")), "closed again");

    // A firewall that somebody flushes opens nothing, and comes back by itself.
    net.flushed(|| {
        assert!(refused(knock(&net, "[2001:db8:1::2]:80")) && !reaches(&net.visitor, "2001:db8:1::2"));
    });
    eventually("echoes pass again", || reaches(&net.visitor, "2001:db8:1::2"));
    let rules = net.gateway.shell("nft list ruleset").unwrap();
    assert!(rules.contains("ip saddr 10.77.0.0/24"), "and the masquerade: {rules}");
    assert!(refused(knock(&net, "[2001:db8:1::2]:80")));

    // So is a rule of routing that somebody takes away, without anybody's doing.
    net.gateway.shell("ip -6 rule del priority 29233").unwrap();
    eventually("the rule is back", || net.gateway.shell("ip -6 rule").unwrap().contains("29233:"));
    assert!(refused(knock(&net, "[2001:db8:1::2]:80")));

    gateway.kill();
    gateway.wait(SOON).unwrap();
    let mut gateway = net.serve_with(&ROUTED);
    // A client that says nothing notices in 20 s that the gateway has forgotten it.
    let both_ways = || reaches(alice, "2001:db8:9::1") && reaches(&net.visitor, "2001:db8:1::2");
    eventually("the client is back", both_ways);
    assert_eq!(seen(&net, alice, "2001:db8:9::1").to_string(), "2001:db8:1::2");
    gateway.stop();
    assert_eq!(settings(&net.gateway), before);
}

#[test]
fn neighbours_are_answered_for_clients_on_the_link() {
    if !root() {
        return;
    }
    let net = net6("proxy-ndp");
    // Answers for others wait for up to 0.8 s by default (RFC 4861 §7.2.8).
    net.gateway.shell("sysctl -w net.ipv6.neigh.wan9.proxy_delay=0").unwrap();
    let before = settings(&net.gateway);
    let proxies = || net.gateway.shell("ip -6 neigh show proxy").unwrap();
    let mut gateway = net.serve_with(&ON_LINK);
    assert_eq!(proxies(), "", "there is no client yet");
    let alice = net.up_with(0, &["--route", "::/0"]);
    eventually("her address has an entry", || proxies().contains("2001:db8:9::a:2 dev wan9"));
    eventually("the visitor finds her", || reaches(&net.visitor, "2001:db8:9::a:2"));
    assert!(!reaches(&net.visitor, "2001:db8:9::a:9"), "nobody is answered for who is not there");
    assert_eq!(seen(&net, &net.clients[0].1, "2001:db8:9::1").to_string(), "2001:db8:9::a:2");

    // A visitor who asks her address itself whether she is still there is answered, too.
    let entry = || net.visitor.shell("ip -6 neigh show 2001:db8:9::a:2 dev wan1").unwrap();
    let known = entry();
    let mac = known.split(' ').skip_while(|w| *w != "lladdr").nth(1).unwrap();
    let probe = format!("ip -6 neigh replace 2001:db8:9::a:2 lladdr {mac} dev wan1 nud probe");
    net.visitor.shell(&probe).unwrap();
    eventually("the probe is answered", || entry().contains("REACHABLE"));

    // An entry goes with its client, and comes with the next.
    net.done("revoke alice");
    drop(alice);
    eventually("her entry is gone", || proxies().is_empty());
    let _bob = net.up_with(1, &["--route", "::/0"]);
    eventually("his is there", || proxies().contains("2001:db8:9::a:2 dev wan9"));
    // Who came is written within a tenth of a second; before that a killed gateway knows nothing of
    // him.
    let registry = format!("{}/clients.json", net.states.of("gateway"));
    let written = || std::fs::read_to_string(&registry).unwrap();
    eventually("he is written down", || written().contains("2001:db8:9::a:2"));
    gateway.kill();
    gateway.wait(SOON).unwrap();
    assert_ne!(proxies(), "", "what a killed gateway leaves");
    net.serve_with(&ON_LINK[..2]).stop();
    assert_eq!(settings(&net.gateway), before, "the next takes it back");
    let mut gateway = net.serve_with(&ON_LINK);
    eventually("who is known has an entry at once", || proxies().contains("2001:db8:9::a:2"));
    gateway.stop();
    assert_eq!(settings(&net.gateway), before, "and so does a proper end");
}

#[test]
fn networks_that_cannot_be_global_are_refused() {
    if !root() {
        return;
    }
    let net = net6("global6-refused");
    let before = settings(&net.gateway);
    for (args, code, words) in [
        (&["--global6"][..], 2, "needs an IPv6 network"),
        (&["--address", "2001:db8:1::1/64", "--proxy-ndp", "wan9"], 2, "set global6"),
        (&["--address", "2001:db8:1::1/64", "--global6", "--delegate"], 2, "delegate needs a global"),
        // It may come yet.
        (
            &["--address", "2001:db8:1::1/112", "--global6", "--proxy-ndp", "wan7"],
            1,
            "no network interface named",
        ),
        // The whole of the link's network.
        (&["--address", "2001:db8:9::a:1/64", "--global6", "--proxy-ndp", "wan9"], 2, "a longer prefix"),
        (
            &["--address", "2001:db8:1::1/64", "--global6", "--store", "etcd://127.0.0.1:1/x"],
            2,
            "not for a gateway of a fleet",
        ),
    ] {
        let state = net.states.of("refused");
        let mut command = net.gateway.command(BINARY);
        let out = command.args(["serve", "--state", &state, "--tun", "rw1"]).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert_eq!(settings(&net.gateway), before, "{args:?}");
    }
}
