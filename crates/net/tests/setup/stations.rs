//! What access points' networks take out of a bond.

use super::*;

#[test]
fn a_station_s_router_outside_its_network_takes_nothing_out_of_a_bond() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let _bond = bond(client);
    client.run("sysctl", "-qw net.ipv4.conf.all.rp_filter=0");
    let station = world.station();
    let address = "192.168.77.5/24".parse().unwrap();
    let given = StationAddress { address, router: Some("10.77.0.1".parse().unwrap()), metric: 50 };
    client.inside(|| {
        let (mut journal, _) = Journal::open(&world.state).unwrap();
        station.add(&mut journal, &given).unwrap();
        station.open_to_all(&given, true).unwrap();
        // The router is on the link of whoever is bound to the station, and of nobody else.
        let way = |words: &str| ip(&format!("route get {words}"));
        assert!(way("192.0.2.1").contains("via 10.77.0.1 dev wa"), "{}", way("192.0.2.1"));
        assert!(way("192.0.2.1 oif wa").contains("via 10.77.0.1 dev wa"));
        for of_the_bond in ["10.77.0.1", "10.77.0.9"] {
            assert!(way(of_the_bond).contains("dev rw0"), "{}", way(of_the_bond));
        }
        station.remove(&mut journal, &given).unwrap();
        assert!(way("192.0.2.1").contains("dev va"));
        journal.restore().unwrap();
    });
}

/// A network of an access point that lies inside a `--route`.
#[test]
fn a_station_s_network_is_not_opened_to_all_inside_a_bond_s_route() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    client.run("sysctl", "-qw net.ipv4.conf.all.rp_filter=0");
    let station = world.station();
    let address = "10.50.0.5/24".parse().unwrap();
    let given = StationAddress { address, router: Some("10.50.0.1".parse().unwrap()), metric: 50 };
    client.inside(|| {
        let (mut journal, _) = Journal::open(&world.state).unwrap();
        Routes::new(tun.index()).add(&mut journal, "10.0.0.0/8".parse().unwrap()).unwrap();
        let way = |words: &str| ip(&format!("route get {words}"));
        station.add(&mut journal, &given).unwrap();
        // At first, and after the bond has come or gone.
        for (on_link, device) in [(false, "rw0"), (true, "wa"), (false, "rw0"), (true, "wa")] {
            station.open_to_all(&given, on_link).unwrap();
            assert!(way("10.50.0.9").contains(&format!("dev {device}")), "{}", way("10.50.0.9"));
            assert!(way("192.0.2.1").contains("via 10.50.0.1 dev wa"), "{}", way("192.0.2.1"));
            // Whoever is bound to the station, a path of the bond say.
            assert!(way("192.0.2.1 oif wa").contains("via 10.50.0.1 dev wa"));
            assert!(way("10.50.0.9 oif wa").contains("dev wa"), "{}", way("10.50.0.9 oif wa"));
        }
        station.remove(&mut journal, &given).unwrap();
        assert!(way("192.0.2.1").contains("dev va") && way("10.50.0.9").contains("dev rw0"));
        journal.restore().unwrap();
    });
}

/// A router that says of a network that it is on the link (RFC 4861 §4.2, §4.6.2).
fn router_advertisement(network: &str, prefix_len: u8) -> Vec<u8> {
    let mut all = vec![134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
    all.extend([3, 4, prefix_len, 0x80, 0, 1, 0x51, 0x80, 0, 0, 0x38, 0x40, 0, 0, 0, 0]);
    all.extend(network.parse::<Ipv6Addr>().unwrap().octets());
    all
}

/// A world with a bond, and a router on the station's link.
fn world_with_a_router() -> (World, Tun) {
    let world = world();
    let bond = bond(&world.client);
    world.client.run("sysctl", "-qw net.ipv6.conf.wa.accept_ra=2");
    world.world.ip("address add fe80::1/64 dev wb nodad");
    (world, bond)
}

/// The router names a part of the bond's network.
fn advertise(world: &World) {
    world.world.inside(|| {
        let index = list().unwrap().iter().find(|l| l.name == "wb").unwrap().index;
        let socket = socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6)).unwrap();
        sockopt::set_ipv6_multicast_hops(&socket, 255).unwrap();
        let all = SocketAddrV6::new("ff02::1".parse().unwrap(), 0, 0, index);
        let words = router_advertisement("fd77:0:0:0:8000::", 72);
        sendto(&socket, &words, SendFlags::empty(), &all).unwrap();
    });
}

#[test]
fn what_a_station_s_router_announces_takes_nothing_out_of_a_bond() {
    if !root() {
        return;
    }
    let (world, bond) = world_with_a_router();
    let client = &world.client;
    let (inside, network) = ("fd77::8000:0:0:9", "fd77::/64".parse().unwrap());
    let rules = client.ip("-6 rule");
    let left = || client.ip(&format!("-6 route show table {TUNNEL_TABLE}"));
    let begin = || {
        client.inside(|| {
            let (mut journal, _) = once_free(|| Journal::open(&world.state));
            let mut first = TunnelRoutes::begin(&mut journal).unwrap();
            first.set(BTreeMap::from([(network, Some(bond.index()))])).unwrap();
            (journal, first)
        })
    };
    let (journal, mut first) = begin();
    let taken: IpNet = "fd77:0:0:0:8000::/72".parse().unwrap();
    eventually("the kernel believes the router", || {
        advertise(&world);
        client.inside(|| routes().unwrap()).iter().any(|route| route.network == taken)
    });
    assert_eq!(device_towards(client, inside), "rw0");
    assert_eq!(device_towards(client, &format!("{inside} oif wa")), "wa", "who is bound to it");
    assert_eq!(device_towards(client, "2001:db8::1"), "va");

    // Another interface has a part of the bond's network, as before.
    client.ip("-6 route add fd77:0:0:0:4000::/66 dev va");
    let part = "fd77:0:0:0:4000::/66".parse().unwrap();
    let both = BTreeMap::from([(network, Some(bond.index())), (part, None)]);
    client.inside(|| first.set(both.clone()).unwrap());
    assert_eq!(device_towards(client, "fd77::4000:0:0:9"), "va");
    assert_eq!(device_towards(client, inside), "rw0");

    // Others take it away.
    client.ip(&format!("-6 route flush table {TUNNEL_TABLE}"));
    assert_eq!(device_towards(client, inside), "wa", "without it the router has its way");
    client.inside(|| first.set(both).unwrap());
    assert_eq!(device_towards(client, inside), "rw0");
    client.inside(|| first.set(BTreeMap::new()).unwrap());
    assert_eq!((left(), device_towards(client, inside).as_str()), (String::new(), "wa"));

    // The next takes back what a killed one leaves.
    journal.abandon();
    let (journal, _) = begin();
    assert_eq!(device_towards(client, inside), "rw0");
    journal.abandon();
    assert_eq!(client.inside(|| once_free(|| cleanup_stale(&world.state))), 2);
    assert_eq!((left(), client.ip("-6 rule")), (String::new(), rules));
}
