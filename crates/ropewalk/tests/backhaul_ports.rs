//! An access point on layer 2 with two repeaters: each is a port of the kernel's bridge. Needs root; without it the tests pass and say so.
//!
//! ```text
//!               ┌── tap0 ══ repeater ── client
//!   server ── br0
//!               └── tap1 ══ repeater2 ── client2
//! ```

use crate::common::backhaul::bridged::{
    AP, MORE_LINKS, REPEATER, SERVER, Second, behind, bridges, mac, port_is, revoke, second_token,
};
use crate::common::backhaul::{Site, eventually, pings};
use crate::common::root;
use ropewalk_lab::{End, Namespace, Process};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const CLIENT: &str = "10.6.0.9";
const SECOND: &str = "10.6.0.8";

/// Both repeaters, up, with their clients. The processes are the access point and the two repeaters.
struct Cell {
    site: Site,
    second: Second,
    ap_file: String,
    ap: Process,
    repeaters: [Process; 2],
}

impl Cell {
    fn new(name: &str, keys: &str) -> Cell {
        let site = Site::new(name, [20.0, 20.0]);
        bridges(&site);
        site.client.ip(&[format!("address add {CLIENT}/24 dev eth0")]).unwrap();
        let second = Second::new(&site);
        let ap_file = site.file("ap", &format!("{AP}\n{keys}"), MORE_LINKS);
        let ap = site.start_ap(&ap_file);
        let own = site.file("repeater", REPEATER, "");
        let first = site.start_repeater(&own, &[&site.invite(&ap_file, "attic")]);
        let repeaters = [first, second.start(Some(&second_token(&site, &ap_file)))];
        let cell = Cell { site, second, ap_file, ap, repeaters };
        for client in [&cell.site.client, &cell.second.client] {
            eventually("a client reaches the server", || pings(client, SERVER));
        }
        cell
    }

    fn device(&self, peer: &str) -> String {
        let status = self.site.json("ap");
        let peers = status["peers"].as_array().unwrap();
        let of = peers.iter().find(|p| p["name"] == peer).unwrap_or_else(|| panic!("no {peer}: {status}"));
        of["device"].as_str().unwrap().to_owned()
    }
}

#[test]
fn each_repeater_is_a_port_that_is_unplugged_while_it_is_away_and_gone_once_it_is_revoked() {
    if !root() {
        return;
    }
    let mut cell = Cell::new("backhaul-ports", "");
    let (site, second) = (&cell.site, &cell.second);
    assert!(pings(&site.client, SECOND), "the bridge joins the two repeaters");
    assert_eq!(["attic", "cellar"].map(|name| cell.device(name)), ["tap0", "tap1"]);
    let [client, client2] = [&site.client, &second.client].map(|node| mac(node, "eth0"));
    assert!(behind(site, "tap0").contains(&client) && !behind(site, "tap0").contains(&client2));
    assert!(behind(site, "tap1").contains(&client2) && !behind(site, "tap1").contains(&client));
    // It stops and says so; its port stays without a carrier, and nobody is held to be behind it.
    cell.repeaters[1].stop();
    port_is(site, "tap1", Some("disabled"));
    assert_eq!(behind(site, "tap1"), [""; 0]);
    cell.repeaters[1] = second.start(None);
    port_is(site, "tap1", Some("forwarding"));
    eventually("it is back", || pings(&second.client, SERVER));
    // Killed it says nothing, and its next session takes the port over.
    cell.repeaters[1].kill();
    cell.repeaters[1] = second.start(None);
    eventually("it is back again", || pings(&second.client, SERVER));
    // After a start of the access point each has the name that it had, whoever comes first.
    cell.repeaters[0].stop();
    cell.ap.stop();
    cell.ap = site.start_ap(&cell.ap_file);
    eventually("the second repeater has come first", || pings(&second.client, SERVER));
    assert_eq!(cell.device("cellar"), "tap1");
    cell.repeaters[0] = site.start_repeater(&site.file("repeater", REPEATER, ""), &[]);
    eventually("the first one too", || pings(&site.client, SECOND));
    assert_eq!(cell.device("attic"), "tap0");
    revoke(site, "cellar");
    port_is(site, "tap1", None);
    assert!(pings(&site.client, SERVER), "the other goes on");
    assert!(!pings(&site.client, SECOND));
}

#[test]
fn isolated_repeaters_reach_the_server_and_not_each_other() {
    if !root() {
        return;
    }
    let cell = Cell::new("backhaul-isolated", "isolated = true");
    for _ in 0..2 {
        assert!(!pings(&cell.site.client, SECOND));
        assert!(!pings(&cell.second.client, CLIENT));
        assert!(pings(&cell.site.client, SERVER) && pings(&cell.second.client, SERVER));
    }
}

/// How often the server hears one broadcast of the client within a second.
fn copies(site: &Site) -> usize {
    let open = |node: &Namespace, at: &str| {
        let socket = node.run(|| UdpSocket::bind(at).unwrap()).unwrap();
        socket.set_broadcast(true).unwrap();
        socket
    };
    let (to, from) = (open(&site.server, "0.0.0.0:9000"), open(&site.client, &format!("{CLIENT}:9001")));
    let word = Instant::now().elapsed().as_nanos().to_be_bytes();
    from.send_to(&word, "10.6.0.255:9000").unwrap();
    to.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (until, mut count, mut got) = (Instant::now() + Duration::from_secs(1), 0, [0; 16]);
    while Instant::now() < until {
        count += usize::from(to.recv(&mut got).is_ok_and(|n| got[..n] == word));
    }
    count
}

#[test]
fn a_loop_over_two_repeaters_storms_within_bounds_and_the_spanning_tree_ends_it() {
    if !root() {
        return;
    }
    let cell = Cell::new("backhaul-storm", "");
    let (site, second) = (&cell.site, &cell.second);
    let all = [&site.ap, &site.repeater, &second.node];
    assert_eq!(copies(site), 1, "without a loop");
    let end = |name: &str| End::new(name, [] as [&str; 0]);
    site.topology.veth((&site.repeater, end("across")), (&second.node, end("across"))).unwrap();
    for node in [&site.repeater, &second.node] {
        node.ip(&["link set across master br0"]).unwrap();
    }
    eventually("frames go round", || copies(site) > 20);
    // The storm fills the queues in front of the backhaul, and no more.
    for end in ["ap", "repeater", "second"] {
        let status = site.json(end);
        let (used, limit) = (&status["memory_used"], &status["memory_limit"]);
        assert!(used.as_u64().unwrap() < limit.as_u64().unwrap() / 2, "{end} holds {used} of {limit} bytes");
    }
    for node in all {
        node.ip(&["link set br0 type bridge stp_state 1 forward_delay 200 hello_time 100 max_age 600"])
            .unwrap();
    }
    eventually("the storm is over", || copies(site) == 1);
    eventually("all reach each other", || pings(&site.client, SERVER) && pings(&site.client, SECOND));
    let blocked = |node: &Namespace| node.shell("bridge link").unwrap().matches("state blocking").count();
    assert_eq!(all.map(blocked).iter().sum::<usize>(), 1, "one port of the ring is blocked");
    // The other way is taken once the first is gone.
    site.repeater.ip(&["link delete across"]).unwrap();
    eventually("all reach each other without the cable", || {
        pings(&site.client, SERVER) && pings(&second.client, SERVER) && pings(&site.client, SECOND)
    });
    assert_eq!(copies(site), 1);
}
