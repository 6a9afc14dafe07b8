//! What may cross a bond on layer 3, and what ends at its devices.

use etherparse::{Icmpv6Type, PacketBuilder};
use ipnet::IpNet;
use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::config::Config;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{CLIENT, End, GATEWAY, Pair};
use ropewalk_time::Duration;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A pair whose client has these routes into the bond besides the network inside.
fn pair(routes: &[&str]) -> Pair {
    let mut p = Pair::new(&[LinkSpec::new(50.0, Duration::from_millis(5))], Config::default(), 1);
    set_routes(&mut p, routes);
    p.run_for(Duration::from_millis(500));
    p
}

fn set_routes(p: &mut Pair, routes: &[&str]) {
    let all: Vec<IpNet> = ["10.77.0.0/24"].iter().chain(routes).map(|t| t.parse().unwrap()).collect();
    p.client.set_routes(&all);
}

/// Hands a packet to one end's device; whether it comes out at the other.
fn crosses(p: &mut Pair, end: End, packet: &[u8]) -> bool {
    let count = |p: &Pair| p.at_client.len() + p.at_gateway.len();
    let before = count(p);
    p.device(end, packet, Vnet::default());
    p.run_for(Duration::from_millis(100));
    count(p) > before
}

fn udp(src: Ipv4Addr, dst: Ipv4Addr) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(src.octets(), dst.octets(), 64).udp(1000, 53).write(&mut out, &[7; 40]).unwrap();
    out
}

fn icmp4(src: Ipv4Addr, dst: Ipv4Addr, kind: u8) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(src.octets(), dst.octets(), 64)
        .icmpv4_raw(kind, 0, [0; 4])
        .write(&mut out, &[7; 40])
        .unwrap();
    out
}

fn icmp6(src: &str, dst: &str, kind: u8) -> Vec<u8> {
    let address = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
    let mut out = Vec::new();
    let kind = Icmpv6Type::Unknown { type_u8: kind, code_u8: 0, bytes5to8: [0; 4] };
    PacketBuilder::ipv6(address(src), address(dst), 255).icmpv6(kind).write(&mut out, &[0; 40]).unwrap();
    out
}

/// 133 to 137: router solicitation and advertisement, neighbour solicitation and advertisement, redirect (RFC 4861 §4).
#[test]
fn a_router_advertisement_crosses_no_bond() {
    let mut p = pair(&["0.0.0.0/0", "::/0"]);
    for kind in 133..=137 {
        for (src, dst) in [("fe80::1", "ff02::1"), ("2001:db8::1", "2001:db8::2")] {
            assert!(!crosses(&mut p, End::Client, &icmp6(src, dst, kind)), "type {kind} from {src}");
        }
    }
    assert_eq!(p.client.status(p.now).drops.unroutable, 10, "counted");
}

#[test]
fn a_redirect_crosses_no_bond() {
    let mut p = pair(&["0.0.0.0/0"]);
    // 5: redirect (RFC 792); 9 and 10: router advertisement and solicitation (RFC 1256).
    for kind in [5, 9, 10] {
        assert!(!crosses(&mut p, End::Client, &icmp4(CLIENT, GATEWAY, kind)), "type {kind} up");
        assert!(!crosses(&mut p, End::Gateway, &icmp4(GATEWAY, CLIENT, kind)), "type {kind} down");
    }
    // Echo, and an error about a packet that is too big.
    for kind in [8, 3] {
        assert!(crosses(&mut p, End::Client, &icmp4(CLIENT, GATEWAY, kind)), "type {kind} up");
        assert!(crosses(&mut p, End::Gateway, &icmp4(GATEWAY, CLIENT, kind)), "type {kind} down");
    }
}

#[test]
fn a_later_fragment_that_looks_like_a_redirect_crosses() {
    let mut p = pair(&[]);
    let mut packet = icmp4(CLIENT, GATEWAY, 5);
    // Offset 185 · 8 bytes.
    (packet[6], packet[7]) = (0, 185);
    assert!(crosses(&mut p, End::Client, &packet));
}

#[test]
fn a_hostile_gateway_does_not_reach_a_split_tunnel_client_from_elsewhere() {
    let mut p = pair(&["192.0.2.0/24"]);
    let lan = Ipv4Addr::new(192, 168, 1, 1);
    for from in [lan, Ipv4Addr::LOCALHOST, Ipv4Addr::new(8, 8, 8, 8)] {
        assert!(!crosses(&mut p, End::Gateway, &udp(from, CLIENT)), "{from}");
    }
    assert_eq!(p.client.status(p.now).drops.inner, 3, "counted");
    for from in [GATEWAY, Ipv4Addr::new(192, 0, 2, 9)] {
        assert!(crosses(&mut p, End::Gateway, &udp(from, CLIENT)), "{from}");
    }
}

#[test]
fn what_no_route_leads_into_the_bond_is_not_sent() {
    let mut p = pair(&["192.0.2.0/24"]);
    for (to, may) in [("192.0.2.9", true), ("10.77.0.1", true), ("8.8.8.8", false), ("224.0.0.251", false)] {
        assert_eq!(crosses(&mut p, End::Client, &udp(CLIENT, to.parse().unwrap())), may, "{to}");
    }
    assert_eq!(p.client.status(p.now).drops.unroutable, 2, "counted");
}

#[test]
fn other_routes_count_at_once() {
    let mut p = pair(&["192.0.2.0/24"]);
    let (old, new) = (Ipv4Addr::new(192, 0, 2, 9), Ipv4Addr::new(198, 51, 100, 9));
    set_routes(&mut p, &["198.51.100.0/24"]);
    assert!(
        !crosses(&mut p, End::Gateway, &udp(old, CLIENT)) && crosses(&mut p, End::Gateway, &udp(new, CLIENT))
    );
    assert!(
        !crosses(&mut p, End::Client, &udp(CLIENT, old)) && crosses(&mut p, End::Client, &udp(CLIENT, new))
    );
}
