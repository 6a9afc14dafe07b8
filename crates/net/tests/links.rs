//! Interfaces: finding them, following them, and which endpoint each reaches.

use std::net::SocketAddrV6;
use std::time::Duration;

use crate::common::{Netns, cable, eventually, root};
use ropewalk_net::links::{Advertised, Change, Follower, Unusable, list, route_via};
use ropewalk_net::nat64::Prefix;
use ropewalk_net::poll::{Events, Interest, Poller};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket, sockopt};

#[test]
fn usable_interfaces_and_what_they_reach() {
    if !root() {
        return;
    }
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    cable((&a, "va", &["10.9.0.1/24", "fd09::1/64"]), (&b, "vb", &["10.9.0.2/24", "fd09::2/64"]));
    cable((&a, "wa", &["10.8.0.1/24"]), (&b, "wb", &["10.8.0.2/24"]));
    cable((&a, "down0", &["10.7.0.1/24"]), (&b, "down1", &[]));
    cable((&a, "docker0", &["172.17.0.1/16"]), (&b, "x", &[]));
    cable((&a, "bare", &[]), (&b, "y", &[]));
    a.ip("link set down0 down");
    a.ip("route add default via 10.9.0.2 dev va");
    a.ip("route add 198.51.100.0/24 via 10.8.0.2 dev wa");
    a.ip("route add 203.0.113.0/24 dev va");
    a.ip("route add unreachable 192.0.2.128/25");
    a.ip("-6 route add default via fd09::2 dev va");
    a.inside(|| {
        let links = list().unwrap();
        let find = |name: &str| links.iter().find(|l| l.name == name).unwrap();
        let usable: Vec<_> =
            links.iter().filter(|l| l.unusable(&[]).is_none()).map(|l| l.name.as_str()).collect();
        assert_eq!(usable, ["va", "wa"], "{links:?}");
        assert_eq!(find("lo").unusable(&[]), Some(Unusable::Loopback));
        assert_eq!(find("down0").unusable(&[]), Some(Unusable::Down));
        assert_eq!(find("docker0").unusable(&[]), Some(Unusable::Inside));
        assert_eq!(find("bare").unusable(&[]), Some(Unusable::NoAddress));
        assert_eq!(find("va").unusable(&["va"]), Some(Unusable::Ours));
        assert_eq!((find("va").kind.as_deref(), find("va").mtu), (Some("veth"), 1500));

        let via = |name: &str, to: &str| route_via(find(name).index, to.parse().unwrap()).unwrap();
        let gateway = |name, to| via(name, to).map(|v| v.gateway.map(|g| g.to_string()));
        assert_eq!(gateway("va", "8.8.8.8"), Some(Some("10.9.0.2".into())));
        assert_eq!(gateway("va", "10.9.0.2"), Some(None));
        assert_eq!(gateway("va", "203.0.113.9"), Some(None));
        assert_eq!(gateway("wa", "8.8.8.8"), None, "the default route is another interface's");
        assert_eq!(gateway("wa", "198.51.100.7"), Some(Some("10.8.0.2".into())));
        assert_eq!(gateway("va", "192.0.2.200"), None, "a route that forbids");
        assert_eq!(gateway("va", "2001:db8::1"), Some(Some("fd09::2".into())));
        assert_eq!(gateway("wa", "2001:db8::1"), None);
        assert!(find("va").speaks("2001:db8::1".parse().unwrap()));
        assert!(!find("wa").speaks("2001:db8::1".parse().unwrap()));
    });
}

/// Two interfaces with a default route each: metric decides for everybody else, binding decides for us.
#[test]
fn two_default_routes_are_two_paths() {
    if !root() {
        return;
    }
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    cable((&a, "va", &["10.9.0.1/24"]), (&b, "vb", &["10.9.0.2/24"]));
    cable((&a, "wa", &["10.8.0.1/24"]), (&b, "wb", &["10.8.0.2/24"]));
    a.ip("route add default via 10.9.0.2 dev va metric 100");
    a.ip("route add default via 10.8.0.2 dev wa metric 600");
    a.inside(|| {
        for link in list().unwrap().iter().filter(|l| !l.loopback) {
            assert!(route_via(link.index, [8, 8, 8, 8].into()).unwrap().is_some(), "{}", link.name);
        }
    });
}

#[test]
fn news_of_interfaces_addresses_and_routes() {
    if !root() {
        return;
    }
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    let mut follower = a.inside(|| Follower::new().unwrap());
    assert_eq!(follower.links().len(), 1, "only loopback");
    let poller = Poller::new().unwrap();
    poller.add(&follower, 1, Interest::Read).unwrap();
    let mut events = Events::new(1);
    let mut changes = Vec::new();
    let mut routes = false;

    cable((&a, "va", &["10.9.0.1/24"]), (&b, "vb", &["10.9.0.2/24"]));
    eventually("the interface to be usable", || {
        poller.wait(&mut events, Some(std::time::Duration::from_millis(50))).unwrap();
        let news = follower.poll().unwrap();
        routes |= news.routes;
        changes.extend(news.links);
        follower.links().iter().any(|l| l.name == "va" && l.unusable(&[]).is_none())
    });
    assert!(routes, "the network of the address is a route");
    assert!(matches!(&changes[0], Change::Added(link) if link.name == "va"));

    b.ip("link set vb down");
    eventually("the carrier to go", || {
        follower.poll().unwrap();
        follower.links().iter().any(|l| l.name == "va" && l.unusable(&[]) == Some(Unusable::Down))
    });

    a.ip("link del va");
    let mut removed = false;
    eventually("the interface to go", || {
        let news = follower.poll().unwrap();
        removed |= news.links.iter().any(|c| matches!(c, Change::Removed(link) if link.name == "va"));
        removed
    });
    assert!(follower.poll().unwrap().is_empty(), "no news is none");
    poller.wait(&mut events, Some(std::time::Duration::ZERO)).unwrap();
    assert_eq!(events.iter().count(), 0, "all news was taken");

    for words in ["rule add priority 100 lookup 100", "-6 rule del priority 32766"] {
        a.ip(words);
        let news = follower.poll().unwrap();
        assert!(news.routes && news.links.is_empty(), "{words}: {news:?}");
    }
}

/// A router that is no way out names a NAT64 prefix for half an hour (RFC 4861 §4.2, RFC 8781 §4).
#[test]
fn what_a_router_says_of_nat64_is_heard() {
    if !root() {
        return;
    }
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    cable((&a, "va", &["fd09::1/64"]), (&b, "vb", &["fd09::2/64"]));
    a.run("sysctl", "-qw net.ipv6.conf.va.accept_ra=2");
    b.ip("address add fe80::2/64 dev vb nodad");
    let mut follower = a.inside(|| Follower::new().unwrap());
    let index = follower.links().iter().find(|l| l.name == "va").unwrap().index;
    let mut words: Vec<u8> = vec![134, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    words.extend([38, 2, 0x07, 0x08, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]);
    let advertise = || {
        let of_router = list().unwrap().iter().find(|l| l.name == "vb").unwrap().index;
        let socket = socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6)).unwrap();
        sockopt::set_ipv6_multicast_hops(&socket, 255).unwrap();
        let all = SocketAddrV6::new("ff02::1".parse().unwrap(), 0, 0, of_router);
        sendto(&socket, &words, SendFlags::empty(), &all).unwrap();
    };
    let mut heard = Vec::new();
    eventually("the kernel to hand it on", || {
        b.inside(advertise);
        heard.extend(follower.poll().unwrap().advertised);
        !heard.is_empty()
    });
    let prefix = Prefix::new("64:ff9b::".parse().unwrap(), 96).unwrap();
    assert_eq!(heard[0], Advertised { index, prefix, lifetime: Duration::from_secs(1800) });
}
