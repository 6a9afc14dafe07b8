//! Clients that leave by an interface of their own.
//!
//! ```text
//!                  wan9 10.1.9.2 ──── 10.1.9.1 visitor   192.0.2.1, 2001:db8:5::1
//!   clients ── gateway
//!                  wan8 10.1.8.2 ──── 10.1.8.1 other     192.0.2.1, 2001:db8:5::1
//! ```

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use ropewalk_lab::{End, Namespace};

use super::{Net, net, reaches};
use crate::common::{SOON, eventually, listen, root};

/// Where both are, and both wait.
const BOTH: [&str; 2] = ["192.0.2.1", "2001:db8:5::1"];
const PORT: u16 = 7000;
const PATIENCE: Duration = Duration::from_secs(3);

struct Exits {
    net: Net,
    other: Namespace,
}

fn exits(name: &str, clients: &[&'static str]) -> Exits {
    let net = net(name, clients);
    let other = net.topology.namespace("other").unwrap();
    let end = |device: &str, address: &str| End::new(device, [address]);
    net.topology
        .veth((&other, end("wan1", "10.1.8.1/24")), (&net.gateway, end("wan8", "10.1.8.2/24")))
        .unwrap();
    for (at, outside) in [(&net.visitor, "fd09::1/64"), (&other, "fd08::1/64")] {
        let [four, six] = BOTH;
        at.ip(&[
            format!("address add {outside} dev wan1 nodad"),
            format!("address add {four}/32 dev lo"),
            format!("address add {six}/128 dev lo nodad"),
        ])
        .unwrap();
    }
    let first = "ip address add fd09::2/64 dev wan9 nodad; ip route add default via 10.1.9.1; \
                 ip -6 route add default via fd09::1";
    net.gateway.shell(first).unwrap();
    // Answers by wan8 come from where the gateway's own way is another, and are filtered strictly.
    let exits = Exits { net, other };
    exits.second();
    exits
}

impl Exits {
    /// What the gateway's machine has of the second interface while that is up.
    fn second(&self) {
        let all = "ip address replace fd08::2/64 dev wan8 nodad; ip route replace default via 10.1.8.1 dev wan8 metric 500; \
                   ip -6 route replace default via fd08::1 dev wan8 metric 5000";
        self.net.gateway.shell(all).unwrap();
    }

    fn client(&self, number: usize) -> &Namespace {
        &self.net.clients[number].1
    }

    /// Who answers a client, and whom it takes the client for.
    fn leaves(&self, client: usize, at: &str) -> io::Result<(&'static str, String)> {
        let to = SocketAddr::new(at.parse().unwrap(), PORT);
        let listeners = [("wan9", &self.net.visitor), ("wan8", &self.other)].map(|(by, server)| {
            let listener = server.run(|| listen(to)).unwrap();
            listener.set_nonblocking(true).unwrap();
            (by, listener)
        });
        let connect = || TcpStream::connect_timeout(&to, PATIENCE);
        let _stream = self.client(client).run(connect).unwrap()?;
        let mut answered = None;
        eventually("one of them has the connection", || {
            let accept =
                |(by, l): &(&'static str, TcpListener)| Some((*by, l.accept().ok()?.1.ip().to_string()));
            answered = listeners.iter().find_map(accept);
            answered.is_some()
        });
        Ok(answered.unwrap())
    }

    fn is(&self, client: usize, at: &str, by: &str, seen: &str) -> bool {
        self.leaves(client, at).is_ok_and(|(b, s)| (b, s.as_str()) == (by, seen))
    }

    /// A client leaves by the second interface, another by the default one, by both IP versions.
    fn are_apart(&self) {
        for (client, at, by, seen) in [
            (0, BOTH[0], "wan8", "10.1.8.2"),
            (0, BOTH[1], "wan8", "fd08::2"),
            (1, BOTH[0], "wan9", "10.1.9.2"),
            (1, BOTH[1], "wan9", "fd09::2"),
        ] {
            let left = self.leaves(client, at).unwrap();
            assert_eq!((left.0, left.1.as_str()), (by, seen), "client {client} to {at}");
        }
    }
}

/// What exits may change of the gateway's machine.
fn settings(gateway: &Namespace) -> String {
    let all = "nft list ruleset; ip rule; ip -6 rule; ip route show table all | grep 1919221 || true; \
               ip -6 route show table all | grep 1919221 || true; \
               sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding \
               net.ipv4.conf.wan8.rp_filter net.ipv4.conf.all.src_valid_mark";
    gateway.shell(all).unwrap()
}

#[test]
fn a_client_leaves_by_its_exit_and_by_no_other() {
    if !root() {
        return;
    }
    let exits = exits("exits", &["alice", "bob"]);
    let net = &exits.net;
    let serve = || net.serve_with(&["--address", "fd77::1/64", "--masquerade"]);
    let before = settings(&net.gateway);
    let mut gateway = serve();
    let _alice = net.up_with(0, &["--route", "::/0"]);
    for (at, seen) in BOTH.into_iter().zip(["10.1.9.2", "fd09::2"]) {
        assert!(exits.is(0, at, "wan9", seen), "at first by the gateway's own");
    }
    // Somebody has an exit who never came: addresses that nobody has yet may be his.
    net.done("invite dave --endpoint 10.1.1.2:4500");
    net.done("exit set dave wan8");
    assert!(exits.is(0, BOTH[0], "wan9", "10.1.9.2"), "hers is known");
    let _bob = net.up_with(1, &["--route", "::/0"]);
    eventually("his is known soon", || exits.is(1, BOTH[0], "wan9", "10.1.9.2"));
    net.done("revoke dave");
    assert_eq!(net.done("exit list"), "every client leaves as the gateway does\n");
    assert_eq!(net.done("exit set alice wan8"), "alice leaves by wan8\n");
    assert_eq!(net.done("exit list"), "alice  wan8\n");
    exits.are_apart();
    assert!(reaches(exits.client(0), "10.77.0.1"), "the gateway is where it was");
    // Answers to somebody who came by the other interface go back to him.
    net.done("forward add alice tcp 8080 --to 80");
    let web = exits.client(0).run(|| TcpListener::bind("0.0.0.0:80").unwrap()).unwrap();
    assert_eq!(net.visit(&web, 8080).as_deref(), Some("10.1.9.1"));

    // Its router goes, and the way by it, though the interface stays.
    net.gateway.shell("ip route del default dev wan8").unwrap();
    let ways = || net.gateway.shell("ip -4 route show table all | grep 1919221 || true").unwrap();
    eventually("the way goes with its router", || ways().is_empty());
    assert!(exits.leaves(0, BOTH[0]).is_err(), "without her router");
    exits.second();
    eventually("her router is back", || exits.is(0, BOTH[0], "wan8", "10.1.8.2"));

    // The interface goes: nothing of hers leaves by the other, and that is said.
    net.gateway.ip(&["link set wan8 down"]).unwrap();
    for at in BOTH {
        assert!(exits.leaves(0, at).is_err(), "{at} without her exit");
    }
    assert!(exits.is(1, BOTH[0], "wan9", "10.1.9.2"), "his is another");
    eventually("it is said", || net.done("status").contains("exit wan8: this machine has no IPv4 or IPv6"));
    net.gateway.ip(&["link set wan8 up"]).unwrap();
    exits.second();
    for (at, seen) in BOTH.into_iter().zip(["10.1.8.2", "fd08::2"]) {
        eventually("the exit is back", || exits.is(0, at, "wan8", seen));
    }

    // Without the firewall nobody leaves by anything.
    net.flushed(|| assert!(exits.leaves(0, BOTH[0]).is_err() && exits.leaves(1, BOTH[0]).is_err()));
    eventually("it is put back", || exits.is(0, BOTH[0], "wan8", "10.1.8.2"));
    exits.are_apart();

    // Without the rules of routing she leaves by no other interface either, and they come back.
    let all = || net.gateway.shell("(ip rule; ip -6 rule) | sort").unwrap();
    let rules = all();
    net.gateway
        .shell("for v in -4 -6; do for p in 0 0 1 1 2 3; do ip $v rule del priority 2924$p 2>/dev/null || true; done; done")
        .unwrap();
    for at in BOTH {
        assert!(exits.leaves(0, at).map_or(true, |(by, _)| by == "wan8"), "{at} without rules");
    }
    eventually("the rules are back", || all() == rules);
    exits.are_apart();
    // A setting that others set back is set again, and noted once.
    let changes = format!("{}/changes.json", net.states.of("gateway"));
    let noted = || std::fs::read_to_string(&changes).unwrap().matches("wan8/rp_filter").count();
    let before_it = noted();
    net.gateway.sysctl("net.ipv4.conf.wan8.rp_filter", "1").unwrap();
    let value = || net.gateway.shell("cat /proc/sys/net/ipv4/conf/wan8/rp_filter").unwrap();
    eventually("it is set again", || value().trim() == "2");
    assert!(before_it > 0 && noted() == before_it, "{before_it} and {}", noted());

    gateway.kill();
    gateway.wait(SOON).unwrap();
    let mut gateway = serve();
    eventually("it outlasts kill -9", || exits.is(0, BOTH[0], "wan8", "10.1.8.2"));
    eventually("bob is back, too", || exits.is(1, BOTH[0], "wan9", "10.1.9.2"));
    exits.are_apart();
    net.done("exit remove alice");
    for (at, seen) in BOTH.into_iter().zip(["10.1.9.2", "fd09::2"]) {
        assert!(exits.is(0, at, "wan9", seen), "as the gateway does");
    }
    let rest =
        net.gateway.shell("ip rule | grep 2924 || true; ip route show table all | grep 1919221 || true");
    assert_eq!(rest.unwrap(), "");
    net.done("exit set alice wan8");
    net.done("revoke alice");
    assert_eq!(net.done("exit list"), "every client leaves as the gateway does\n");
    gateway.stop();
    assert_eq!(settings(&net.gateway), before);
    assert!(net.done("audit").contains("alice leaves by wan8"));
}

#[test]
fn a_groups_exit_translates_addresses_that_are_not_its_own() {
    if !root() {
        return;
    }
    let exits = exits("exits-group", &["alice", "bob", "carol"]);
    let net = &exits.net;
    net.visitor.ip(&["route add 2001:db8:1::/64 via fd09::2"]).unwrap();
    let mut gateway = net.serve_with(&["--address", "2001:db8:1::1/64", "--global6", "--masquerade"]);
    let _clients = [0, 1, 2].map(|client| net.up_with(client, &["--route", "::/0"]));
    assert_eq!(net.command("exit set home wan8 --group").0, 2, "there is no such group");
    net.done("group add home alice bob");
    net.done("exit set home wan8 --group");
    for (client, by, seen) in [(0, "wan8", "fd08::2"), (1, "wan8", "fd08::2"), (2, "wan9", "2001:db8:1::4")] {
        let left = exits.leaves(client, BOTH[1]).unwrap();
        assert_eq!((left.0, left.1.as_str()), (by, seen), "client {client}");
    }
    assert!(exits.is(0, BOTH[0], "wan8", "10.1.8.2") && exits.is(2, BOTH[0], "wan9", "10.1.9.2"));
    eventually("members reach each other", || reaches(exits.client(0), "10.77.0.3"));
    assert!(!reaches(exits.client(0), "10.77.0.4"));
    // The network may be routed to the gateway by that interface.
    exits.other.ip(&["route add 2001:db8:1::/64 via fd08::2"]).unwrap();
    net.done("exit set alice wan8 --global6");
    assert_eq!(net.done("exit list"), "alice  wan8  (IPv6 untranslated)\ngroup home  wan8\n");
    assert!(exits.is(0, BOTH[1], "wan8", "2001:db8:1::2") && exits.is(1, BOTH[1], "wan8", "fd08::2"));
    for line in ["exit set eve wan8", "exit set alice rw0", "exit remove carol", "exit remove work --group"] {
        assert_eq!(net.command(line).0, 2, "{line}");
    }
    // An interface that never was leads nowhere either.
    net.done("exit set carol wan7");
    assert!(exits.leaves(2, BOTH[0]).is_err() && exits.leaves(2, BOTH[1]).is_err());
    gateway.stop();
    // Where nobody leaves there is no exit.
    let mut gateway = net.serve();
    let (code, said) = net.command("exit set bob wan8");
    assert!(code == 2 && said.contains("no client leaves this machine"), "{code} {said}");
    gateway.stop();
}

/// What a try that failed has not taken back is taken back by the next one.
#[test]
fn an_exit_whose_end_fails_at_first_leaves_nothing_behind() {
    if !root() {
        return;
    }
    let exits = exits("exits-late", &["alice"]);
    let net = &exits.net;
    let mut gateway = net.serve_with(&["--masquerade"]);
    net.done("invite alice --endpoint 10.1.1.2:4500");
    net.done("exit set alice wan8");
    let filter = || net.gateway.shell("cat /proc/sys/net/ipv4/conf/wan8/rp_filter").unwrap();
    eventually("answers by it are let in", || filter().trim() == "2");
    let broken = net.states.of("broken");
    std::fs::write(&broken, "").unwrap();
    let (code, said) = net.command("revoke alice");
    assert!(code == 1 && said.contains("not taken back yet"), "{code} {said}");
    std::fs::remove_file(broken).unwrap();
    eventually("they are filtered as before", || filter().trim() == "1");
    gateway.stop();
}
