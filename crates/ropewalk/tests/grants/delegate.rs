//! A network behind a client.
//!
//! ```text
//!   host ──── lan0 alice wan1 ──── gateway 2001:db8:9::2 ──── 2001:db8:9::1 visitor
//!                  alice up1 ──── 2001:db8:7::2 neighbour
//! ```

use std::net::{TcpListener, UdpSocket};

use ropewalk_lab::{End, Namespace};

use super::global6::{knock, net6, refused, seen, settings};
use super::{Net, reaches};
use crate::common::{BINARY, SOON, eventually, root};

const DELEGATING: [&str; 4] = ["--address", "2001:db8:100::1/56", "--global6", "--delegate"];
/// Alice's machine itself reaches no more than the clients' network by IPv6.
const LAN: [&str; 4] = ["--route", "2001:db8:100::/56", "--lan", "lan0"];
const OUTSIDE: &str = "2001:db8:9::1";

/// What a client may change of its machine for the network behind it.
fn lan_settings(client: &Namespace) -> String {
    let keys = "net.ipv6.conf.all.forwarding net.ipv6.conf.lan0.accept_ra net.ipv6.conf.wan1.accept_ra";
    client.shell(&format!("ip -6 rule; ip -6 address show dev lan0 scope global; sysctl {keys}")).unwrap()
}

/// Whose datagram comes first to the visitor, when the host sends from each of these in turn.
fn first_heard(net: &Net, host: &Namespace, from: [&str; 2]) -> String {
    let [foreign, _] = from;
    host.ip(&[format!("address add {foreign}/128 dev eth0 nodad")]).unwrap();
    let visitor = net.visitor.run(|| UdpSocket::bind((OUTSIDE, 0)).unwrap()).unwrap();
    visitor.set_read_timeout(Some(SOON)).unwrap();
    let to = visitor.local_addr().unwrap();
    for address in from {
        let socket = host.run(|| UdpSocket::bind((address, 0)).unwrap()).unwrap();
        socket.send_to(b"?", to).unwrap();
    }
    let (_, first) = visitor.recv_from(&mut [0; 9]).unwrap();
    host.ip(&[format!("address delete {foreign}/128 dev eth0")]).unwrap();
    first.ip().to_string()
}

/// An uplink that the client shares with somebody, to whom its default route leads.
fn shared_uplink(net: &Net, client: &Namespace) -> Namespace {
    let neighbour = net.topology.namespace("neighbour").unwrap();
    let (up1, eth0) = (End::new("up1", ["2001:db8:7::1/64"]), End::new("eth0", ["2001:db8:7::2/64"]));
    net.topology.veth((client, up1), (&neighbour, eth0)).unwrap();
    neighbour.shell("ip -6 route add default via 2001:db8:7::1").unwrap();
    client.shell("ip -6 route add default via 2001:db8:7::2").unwrap();
    neighbour
}

/// The host's address that it has made of an advertisement.
fn global_address(host: &Namespace) -> Option<String> {
    let all = host.shell("ip -6 -oneline address show dev eth0 scope global").unwrap();
    let address = all.split_whitespace().find_map(|word| word.strip_suffix("/64"))?;
    Some(address.to_owned())
}

#[test]
fn hosts_behind_a_client_have_addresses_that_the_world_sees_and_does_not_open() {
    if !root() {
        return;
    }
    let net = net6("delegate");
    net.visitor.ip(&["route add 2001:db8:100::/56 via 2001:db8:9::2"]).unwrap();
    let [alice, bob] = [0, 1].map(|n| &net.clients[n].1);
    let host = net.topology.namespace("host").unwrap();
    let (lan0, eth0) = (End::new("lan0", ["192.168.9.1/24"]), End::new("eth0", ["192.168.9.2/24"]));
    net.topology.veth((alice, lan0), (&host, eth0)).unwrap();
    let neighbour = shared_uplink(&net, alice);
    let (before, gateway_before) = (lan_settings(alice), settings(&net.gateway));
    let mut gateway = net.serve_with(&DELEGATING);
    let mut client = net.up_with(0, &LAN);

    // The host is told its network and the bond's MTU, and goes out with its own address.
    eventually("the host has an address", || global_address(&host).is_some());
    let address = global_address(&host).unwrap();
    assert!(address.starts_with("2001:db8:100:1:"), "{address}");
    let mtu = host.shell("cat /proc/sys/net/ipv6/conf/eth0/mtu").unwrap();
    assert_eq!(mtu.trim(), "1420");
    eventually("the host reaches the world", || reaches(&host, OUTSIDE));
    assert_eq!(seen(&net, &host, OUTSIDE).to_string(), address);
    assert!(!reaches(alice, OUTSIDE), "alice's own routes are as she said");

    // Echoes come in (RFC 4890), connections do not.
    let _web = host.run(|| TcpListener::bind(("::", 80)).unwrap()).unwrap();
    assert!(reaches(&net.visitor, &address));
    assert!(refused(knock(&net, &format!("[{address}]:80"))), "closed");

    // Whoever shares an uplink with alice reaches alice, not the host; the host speaks only for itself.
    eventually("the neighbour reaches alice", || reaches(&neighbour, "2001:db8:7::1"));
    assert!(!reaches(&neighbour, &address));
    assert_eq!(first_heard(&net, &host, ["2001:db8:100:1::7277", &address]), address);

    // Somebody takes the router's address away.
    alice.ip(&["address delete 2001:db8:100:1::1/64 dev lan0"]).unwrap();
    eventually("it is back", || lan_settings(alice).contains("2001:db8:100:1::1/64"));

    // Other clients, and networks behind them, are out of reach.
    let _bob = net.up_with(1, &["--route", "::/0"]);
    eventually("bob is there", || reaches(bob, OUTSIDE));
    assert!(!reaches(bob, &address) && !reaches(&host, "2001:db8:100:2::7277"));

    // All who ask are told.
    let network = "2001:db8:100:1::/64";
    assert!(net.done("clients").contains(&format!("network {network}")));
    assert!(net.done("status").contains(&format!("networks behind it: {network}")));
    let state = net.states.of("alice");
    let status = alice.shell(&format!("{BINARY} status --state {state}")).unwrap();
    assert!(status.contains(&format!("network {network} at lan0")), "{status}");

    // A client that was killed leaves what the next takes back; the network is the same. Meanwhile
    // nothing of the host leaves by the uplink.
    let way_out = format!("ip -6 route get {OUTSIDE} from {address} iif lan0");
    assert!(alice.shell(&way_out).unwrap().contains("dev rw0"));
    client.kill();
    client.wait(SOON).unwrap();
    assert!(alice.shell(&way_out).is_err());
    assert!(lan_settings(alice).contains("2001:db8:100:1::1/64"));
    let line = format!("up --state {state} --tun rw0 --path wan1 --path wan7 --route ::/0 --lan lan0");
    let mut client = alice.start(BINARY, line.split(' ')).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    eventually("the host reaches the world again", || reaches(&host, OUTSIDE));
    let rules = alice.shell("ip -6 rule").unwrap();
    assert!(rules.contains("from 2001:db8:7::1 goto"), "answers leave as they came: {rules}");
    assert!(!rules.contains("from 2001:db8:100:1::1 goto"), "but for the network's: {rules}");
    assert_eq!(global_address(&host), Some(address));

    // An uplink comes, which may have its first address from a router.
    alice.ip(&["link add wan7 type veth peer name wan7-far"]).unwrap();
    let hears = || alice.shell("sysctl -n net.ipv6.conf.wan7.accept_ra").unwrap();
    eventually("it hears routers", || hears().trim() == "2");
    client.stop();
    assert_eq!(lan_settings(alice), before, "nothing is left");
    assert_eq!(hears().trim(), "1");
    assert_eq!(alice.shell("nft list ruleset").unwrap(), "");
    let has_router = || host.shell("ip -6 route").unwrap().contains("default");
    eventually("the host has no router any more", || !has_router());
    let addresses = || host.shell("ip -6 address show dev eth0").unwrap();
    eventually("its address is for what there is", || addresses().contains("deprecated"));
    gateway.stop();
    assert_eq!(settings(&net.gateway), gateway_before);
}

#[test]
fn a_client_of_a_gateway_that_gives_no_network_says_so_and_goes_on() {
    if !root() {
        return;
    }
    let net = net6("delegate-none");
    let alice = &net.clients[0].1;
    alice.ip(&["link add lan0 type veth peer name lan1", "link set lan0 up"]).unwrap();
    let before = lan_settings(alice);
    let mut gateway = net.serve_with(&["--address", "2001:db8:100::1/56", "--global6"]);
    let mut client = net.up_with(0, &LAN);
    let state = net.states.of("alice");
    let status = alice.shell(&format!("{BINARY} status --state {state}")).unwrap();
    assert!(status.contains("no network at lan0: the gateway gives none"), "{status}");
    assert_eq!(lan_settings(alice), before);
    client.stop();
    gateway.stop();
}
