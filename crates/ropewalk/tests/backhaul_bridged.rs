//! What goes between bridges: a backhaul on layer 2 with groups, a client that moves, frames that
//! are too long. Needs root; without it the tests pass and say so.

use crate::common::backhaul::bridged::{SERVER, backhaul, behind, bridges};
use crate::common::backhaul::{Site, eventually, pings};
use crate::common::flow::Flow;
use crate::common::root;
use ropewalk_lab::{End, Namespace, Ping};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const CLIENT: &str = "10.6.0.9";
/// The client's address as bridges know it.
const STATION: &str = "02:00:00:00:00:99";
/// Datagrams to each group from each side.
const COUNT: u32 = 40;
/// So long after the last one nothing more is expected.
const QUIET: Duration = Duration::from_millis(800);

/// mDNS in both IP versions, a group of nobody's, and everybody.
fn groups() -> [IpAddr; 4] {
    [
        Ipv4Addr::new(224, 0, 0, 251).into(),
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfb).into(),
        Ipv4Addr::new(239, 7, 7, 7).into(),
        Ipv4Addr::BROADCAST.into(),
    ]
}

fn interface_index(node: &Namespace, name: &str) -> u32 {
    let line = node.shell(&format!("ip -o link show dev {name}")).unwrap();
    line.split(':').next().unwrap().parse().unwrap()
}

/// A socket in a group, by its own address.
fn member(node: &Namespace, group: IpAddr, own: Ipv4Addr) -> UdpSocket {
    let index = interface_index(node, "eth0");
    node.run(|| {
        let any: IpAddr =
            if group.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, port(group))).unwrap();
        match group {
            IpAddr::V4(g) if g.is_multicast() => socket.join_multicast_v4(&g, &own).unwrap(),
            IpAddr::V6(g) => socket.join_multicast_v6(&g, index).unwrap(),
            IpAddr::V4(_) => socket.set_broadcast(true).unwrap(),
        }
        socket
    })
    .unwrap()
}

fn port(group: IpAddr) -> u16 {
    9000 + groups().iter().position(|g| *g == group).unwrap() as u16
}

/// Says the numbers from 0 to a group.
fn say(node: &Namespace, group: IpAddr, own: Ipv4Addr) {
    let index = interface_index(node, "eth0");
    let socket = node
        .run(|| match group {
            IpAddr::V4(_) => UdpSocket::bind((own, 0)).unwrap(),
            IpAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap(),
        })
        .unwrap();
    socket.set_broadcast(true).unwrap();
    let to = match group {
        IpAddr::V4(_) => SocketAddr::new(group, port(group)),
        IpAddr::V6(g) => std::net::SocketAddrV6::new(g, port(group), 0, index).into(),
    };
    for number in 0..COUNT {
        socket.send_to(&number.to_be_bytes(), to).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The numbers that came from others, until it is quiet.
fn heard(socket: &UdpSocket, own: Ipv4Addr) -> Vec<u32> {
    socket.set_read_timeout(Some(QUIET)).unwrap();
    let (mut all, mut word) = (Vec::new(), [0; 4]);
    // A storm does not fall quiet.
    let until = Instant::now() + QUIET * 5;
    while let Ok((4, from)) = socket.recv_from(&mut word) {
        if from.ip() != IpAddr::V4(own) {
            all.push(u32::from_be_bytes(word));
        }
        if Instant::now() > until {
            break;
        }
    }
    all
}

fn addresses(site: &Site) -> [(&Namespace, Ipv4Addr); 2] {
    site.client.ip(&[format!("address add {CLIENT}/24 dev eth0")]).unwrap();
    for (node, gateway) in [(&site.client, SERVER), (&site.server, CLIENT)] {
        // 255.255.255.255 needs a way out.
        node.ip(&[format!("route add default via {gateway}")]).unwrap();
    }
    [(&site.server, SERVER.parse().unwrap()), (&site.client, CLIENT.parse().unwrap())]
}

#[test]
fn groups_hear_everything_once_and_in_order_both_ways() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-groups", [20.0, 20.0]);
    bridges(&site);
    let ends = addresses(&site);
    let _hop = backhaul(&site);
    // Neighbour discovery is the first group traffic.
    eventually("the client finds the server by IPv6", || pings(&site.client, "fd06::1"));
    eventually("and by IPv4", || pings(&site.client, SERVER));
    let all: Vec<u32> = (0..COUNT).collect();
    for snooping in [false, true] {
        if snooping {
            // Bridges that look at memberships (IGMP, MLD) see the reports of those behind the
            // backhaul.
            for node in [&site.ap, &site.repeater] {
                node.ip(&["link set br0 type bridge mcast_snooping 1 mcast_querier 1"]).unwrap();
            }
        }
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            for group in groups() {
                let socket = member(to.0, group, to.1);
                // Of the others each bridge knows that they are for all.
                if snooping && matches!(group, IpAddr::V4(g) if g.octets()[0] == 239) | group.is_ipv6() {
                    // Towards the member this bridge's port is the backhaul.
                    let bridge = if to.1 == ends[1].1 { &site.ap } else { &site.repeater };
                    eventually("the membership is known across the backhaul", || {
                        let table = bridge.shell("bridge mdb show dev br0").unwrap();
                        table.lines().any(|l| l.contains("port tap0") && l.contains(&group.to_string()))
                    });
                }
                say(from.0, group, from.1);
                assert_eq!(heard(&socket, to.1), all, "{group} to {}, snooping {snooping}", to.1);
            }
        }
    }
    for end in ["ap", "repeater"] {
        assert_eq!(site.json(end)["drops"]["too_long"], 0, "{end}");
    }
}

/// A client with a cable to either bridge uses one of them, and then the other, as one who walks from cell to cell does. Its address stays.
#[test]
fn a_client_that_moves_takes_its_flow_along() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-moves", [20.0, 20.0]);
    bridges(&site);
    let end = |name: &str| End::new(name, [] as [&str; 0]);
    site.topology.veth((&site.ap, end("cell")), (&site.client, end("eth1"))).unwrap();
    site.ap.ip(&["link set cell master br0"]).unwrap();
    let client = &site.client;
    client
        .ip(&[
            &format!("link add station address {STATION} type bridge forward_delay 0 mcast_snooping 0"),
            "link set eth1 nomaster",
            "link set eth0 master station",
            "link set station up",
            &format!("address add {CLIENT}/24 dev station"),
        ])
        .unwrap();
    let _hop = backhaul(&site);
    eventually("the client reaches the server", || pings(client, SERVER));
    let flow = Flow::start(&site.server, client, CLIENT);
    flow.goes_on("behind the repeater");
    let is_behind = |port: &str| behind(&site, port).contains(&STATION.to_owned());
    for (leaves, joins, place, port) in [
        ("eth0", "eth1", "at the access point", "cell"),
        ("eth1", "eth0", "behind the repeater again", "tap0"),
    ] {
        client
            .ip(&[format!("link set {leaves} nomaster"), format!("link set {joins} master station")])
            .unwrap();
        // Frames to all, as access points send one for a station that has joined them (the update frame of IEEE 802.11F). The kernel may take a second to see that
        // the new port has a carrier.
        client.exec("busybox", ["arping", "-U", "-c", "3", "-I", "station", CLIENT]).ok();
        flow.goes_on(place);
        eventually(&format!("the bridge knows it {place}"), || is_behind(port));
    }
    flow.ends_whole();
}

#[test]
fn frames_that_are_too_long_are_dropped_and_tcp_does_not_notice() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-long-frames", [20.0, 20.0]);
    bridges(&site);
    let _ends = addresses(&site);
    let _hop = backhaul(&site);
    eventually("the client reaches the server", || pings(&site.client, SERVER));
    for (node, interface) in
        [(&site.server, "eth0"), (&site.ap, "eth0"), (&site.repeater, "wlan2"), (&site.client, "eth0")]
    {
        node.ip(&[format!("link set {interface} mtu 9000")]).unwrap();
    }
    let long = Ping::new(SERVER.parse().unwrap()).payload(8000).timeout(Duration::from_millis(500));
    let report = long.run(&site.client).unwrap();
    assert_eq!(report.received, 0, "a bridge does not cut");
    // What TCP sends fits, since the backhaul lowers the MSS that both tell each other.
    let down = Flow::start(&site.server, &site.client, CLIENT);
    let up = Flow::start(&site.client, &site.server, SERVER);
    down.goes_on("downwards");
    up.goes_on("upwards");
    down.ends_whole();
    up.ends_whole();
}
