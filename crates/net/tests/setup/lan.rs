//! A network behind the client, whose addresses the gateway gives.

use super::*;

#[test]
fn what_a_network_behind_the_client_sends_goes_into_the_bond_and_nothing_else_does() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    // The bond's own address is of the network, as a gateway gives it.
    client.ip("address add 2001:db8:100:5::7277/128 dev rw0 nodad");
    let before = fingerprint(client);
    let hears = |interface: &str| client.run("sysctl", &format!("-n net.ipv6.conf.{interface}.accept_ra"));
    let heard = hears("wa");
    let (index, device) = (tun.index(), tun.name().to_owned());
    let network = "2001:db8:100:5::/64".parse().unwrap();
    let inside = "2001:db8:100:5::7277".parse().unwrap();
    let lan = LanRoutes { index, device, interface: "wa".into(), network, inside };
    let address = LanAddress::first_of(lan.network, "wa");
    assert_eq!(address.address.to_string(), "2001:db8:100:5::1/64");
    let leave = || {
        client.inside(|| {
            let (mut journal, _) = Journal::open(&world.state).unwrap();
            lan.add(&mut journal).unwrap();
            address.give(&mut journal).unwrap();
            address.give(&mut journal).unwrap();
            assert_eq!(journal.changes().iter().filter(|c| matches!(c, Change::LanAddress(_))).count(), 1);
            journal
        })
    };
    let journal = leave();
    let from_behind = "from 2001:db8:100:5::9 iif wa";
    assert_eq!(device_towards(client, &format!("2001:db8::1 {from_behind}")), "rw0");
    assert_eq!(device_towards(client, "2001:db8::1"), "va", "this machine's own goes where it went");
    assert_eq!(device_towards(client, &format!("fd09::7 {from_behind}")), "va", "its networks are near");
    assert_eq!(device_towards(client, "2001:db8:100:5::9 from 2001:db8::1 iif rw0"), "wa");
    assert_eq!(device_towards(client, "2001:db8:100:5::9 from 2001:db8:100:5::1"), "wa");
    let tables = client.run("nft", "list ruleset");
    for rule in [
        "iifname \"rw0\" ip6 daddr != 2001:db8:100:5::/64 drop",
        "} ip6 daddr 2001:db8:100:5::/64 drop",
        "} ip6 saddr 2001:db8:100:5::/64 drop",
        "iifname \"wa\" ip6 saddr { 2001:db8:100:5::1, 2001:db8:100:5::7277 } drop",
        "iifname \"rw0\" oifname != \"wa\" ip6 daddr 2001:db8:100:5::/64 drop",
        "iifname \"wa\" oifname != { ",
    ] {
        assert!(tables.contains(rule), "{rule}: {tables}");
    }

    // Its uplinks hear routers all the same; hosts are none.
    assert_eq!((hears("va").trim(), hears("wa")), ("2", heard));

    // Others take the way away.
    client.inside(|| assert!(!lan.keep().unwrap()));
    client.ip(&format!("-6 route flush table {LAN_TABLE}"));
    client.inside(|| assert!(lan.keep().unwrap()));
    assert_eq!(device_towards(client, &format!("2001:db8::1 {from_behind}")), "rw0");

    // The next takes back what a killed client leaves, and a client what it has changed. Meanwhile
    // nothing leaves in the clear.
    journal.abandon();
    let rules = client.ip("-6 rule");
    let holds_back = |rule: &str| rule.starts_with("29292:") && rule.contains("unreachable");
    assert!(rules.lines().any(holds_back), "{rules}");
    assert_ne!(fingerprint(client), before);
    assert!(client.inside(|| once_free(|| Journal::open(&world.state)).1) > 0);
    assert_eq!((fingerprint(client), client.run("nft", "list ruleset")), (before.clone(), String::new()));
    client.ip(&format!("-6 route flush table {LAN_TABLE}"));
    let mut journal = leave();
    client.inside(|| lan.remove(&mut journal).unwrap());
    // Hosts may still use an address that was taken back: that stays held back, and is once.
    let rules = || client.ip("-6 rule") + &client.run("nft", "list ruleset");
    assert!(!rules().contains("29290:") && !rules().contains("29291:") && !rules().contains("ropewalk"));
    assert!(rules().lines().any(holds_back), "{}", rules());
    client.inside(|| lan.add(&mut journal).unwrap());
    assert_eq!(rules().lines().filter(|rule| holds_back(rule)).count(), 1, "{}", rules());
    client.inside(|| journal.restore().unwrap());
    assert_eq!(fingerprint(client), before);
}

#[test]
fn a_ninth_network_is_too_many() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    let before = fingerprint(client);
    let mut journal = client.inside(|| Journal::open(&world.state).unwrap().0);
    let lan = |n: u32| LanRoutes {
        index: tun.index(),
        device: tun.name().to_owned(),
        interface: "wa".into(),
        network: format!("2001:db8:100:{n}::/64").parse().unwrap(),
        inside: format!("2001:db8:100:{n}::7277").parse().unwrap(),
    };
    for n in 1..10 {
        assert_eq!(lan(n).is_too_many(&journal), n == 9, "{n}");
        client.inside(|| lan(n).add(&mut journal).and_then(|()| lan(n).remove(&mut journal)).unwrap());
    }
    assert!(!lan(1).is_too_many(&journal), "it was here before");
    // Its client fails, and the next one ends.
    client.inside(|| drop(journal));
    assert!(client.ip("-6 rule").contains("29292:"));
    client.inside(|| Journal::open(&world.state).unwrap().0.restore().unwrap());
    assert_eq!(fingerprint(client), before);
}

/// An uplink that is plugged in while hosts have a network, and has its first address from a router.
#[test]
fn an_uplink_that_comes_later_hears_routers_all_the_same() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    let hears = |interface: &str| client.run("sysctl", &format!("-n net.ipv6.conf.{interface}.accept_ra"));
    let plug_in = |interface: &str, other: &str| {
        cable((client, interface, &[]), (&world.world, other, &["fe80::1/64"]));
        client.run("sysctl", &format!("-qw net.ipv6.conf.{interface}.accept_ra=1"));
    };
    let (index, device) = (tun.index(), tun.name().to_owned());
    let network = "2001:db8:100:5::/64".parse().unwrap();
    let inside = "2001:db8:100:5::7277".parse().unwrap();
    let lan = LanRoutes { index, device, interface: "wa".into(), network, inside };
    let mut journal = client.inside(|| {
        let (mut journal, _) = Journal::open(&world.state).unwrap();
        hear_routers(&mut journal, "va").unwrap();
        assert!(journal.changes().is_empty(), "without more a machine hears routers by itself");
        lan.add(&mut journal).unwrap();
        journal
    });
    plug_in("ua", "ub");
    client.run("sysctl", "-qw net.ipv6.conf.wa.accept_ra=0");
    client.inside(|| {
        hear_routers(&mut journal, "ua").unwrap();
        hear_routers(&mut journal, "wa").unwrap();
    });
    assert_eq!((hears("ua").trim(), hears("wa").trim()), ("2", "0"), "who hears none by default hears none");
    let says = Advertisement { network: "2001:db8:9::/64".parse().unwrap(), mtu: 1400, servers: Vec::new() };
    let advertise = || {
        world.world.inside(|| {
            let index = list().unwrap().iter().find(|link| link.name == "ub").unwrap().index;
            let socket = RouterSocket::open(index, "fe80::1".parse().unwrap()).unwrap();
            socket.send(&says.message()).unwrap();
        });
    };
    eventually("it has an address and a router", || {
        advertise();
        client.ip("-6 address show dev ua").contains("2001:db8:9:")
            && client.ip("-6 route show dev ua").contains("default via fe80::1")
    });

    // It is pulled out and plugged in again.
    client.ip("link delete ua");
    plug_in("ua", "ub");
    client.inside(|| hear_routers(&mut journal, "ua").unwrap());
    assert_eq!(hears("ua").trim(), "2");
    client.inside(|| journal.restore().unwrap());
    assert_eq!(hears("ua").trim(), "1");

    // A machine that passes IPv6 on by itself hears none, and is not to.
    client.run("sysctl", "-qw net.ipv6.conf.all.forwarding=1");
    client.ip(&format!("-6 route flush table {LAN_TABLE}"));
    client.inside(|| {
        let (mut journal, _) = Journal::open(&world.state).unwrap();
        lan.add(&mut journal).unwrap();
        hear_routers(&mut journal, "ua").unwrap();
        journal.restore().unwrap();
    });
    assert_eq!(hears("ua").trim(), "1");
}
