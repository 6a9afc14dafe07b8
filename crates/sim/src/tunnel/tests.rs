use super::*;
use crate::app::{Pace, Ping, UdpSink, UdpSource};
use crate::net::Route;
use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::path::{Class, State};
use std::time::Duration;

const INSIDE: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 1, 2), Ipv4Addr::new(10, 77, 1, 1)];
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// `client ═(links)═ gateway — server`; with `nat`, each link passes a router that hides the client.
fn world(links: &[LinkSpec], nat: bool, seed: u64) -> (World, Bond, [NodeId; 2]) {
    let mut w = World::new();
    let client = w.net.add_node("client", false);
    let gateway = w.net.add_node("gateway", true);
    let server = w.net.add_node("server", false);
    let mut paths = Vec::new();
    for (i, link) in links.iter().enumerate() {
        let n = i as u8;
        let at = |host| Some((Ipv4Addr::new(10, 1, n, host), 24));
        let c = w.net.add_interface(client, &format!("up{i}"), at(2));
        let g = w.net.add_interface(gateway, &format!("in{i}"), Some((Ipv4Addr::new(192, 0, n, 1), 24)));
        let router = w.net.add_node(&format!("router{i}"), true);
        let lan = w.net.add_interface(router, "lan", at(1));
        let wan = w.net.add_interface(router, "wan", Some((Ipv4Addr::new(192, 0, n, 2), 24)));
        w.net.interfaces[wan.index()].masquerade = nat;
        w.net.add_cable([c, lan], [LinkSpec::default(), LinkSpec::default()], seed).unwrap();
        w.net.add_cable([wan, g], [link.clone(), link.clone()], seed).unwrap();
        let to = Ipv4Addr::new(192, 0, n, 1);
        paths.push(Outer { interface: c, to, class: Class::Active, weight: 1, shared: false });
    }
    let g = w.net.add_interface(gateway, "lan", Some((Ipv4Addr::new(198, 51, 100, 1), 24)));
    let s = w.net.add_interface(server, "eth0", Some((SERVER, 24)));
    w.net.add_cable([g, s], [LinkSpec::default(), LinkSpec::default()], seed).unwrap();
    let spec = BondSpec {
        name: "rope".into(),
        client,
        gateway,
        client_address: INSIDE[0],
        gateway_address: INSIDE[1],
        prefix: 24,
        paths,
        config: Config::default(),
        channel_switcher: None,
        seed,
    };
    let bond = add(&mut w, &spec).unwrap();
    w.net.settle();
    let all = Route { prefix: SERVER, len: 24, out: bond.devices[0], via: None, metric: 0 };
    w.net.nodes[client.index()].routes.add(all);
    w.start(bond.ends[1]);
    w.start(bond.ends[0]);
    (w, bond, [client, server])
}

fn two_links() -> [LinkSpec; 2] {
    [LinkSpec::new(30.0, Duration::from_millis(10)), LinkSpec::new(20.0, Duration::from_millis(25))]
}

/// 40 Mb/s each way for some seconds: more than either link carries.
fn load(w: &mut World, [client, server]: [NodeId; 2]) -> [FlowId; 2] {
    let gap = Pace::Constant(Duration::from_micros(256));
    let mut flows = Vec::new();
    for (from, to, address) in [(client, server, SERVER), (server, client, INSIDE[0])] {
        let flow = w.add_flow();
        let sink = w.add_endpoint(to, flow, Box::new(UdpSink::new(flow))).unwrap();
        let source = UdpSource::new(flow, (address, sink.port()), 1280, gap, 0, 3);
        let source = w.add_endpoint(from, flow, Box::new(source)).unwrap();
        w.run_until(ropewalk_air::Time::from_secs(1));
        w.start(source);
        flows.push(flow);
    }
    [flows[0], flows[1]]
}

#[test]
fn two_links_carry_what_neither_could_through_address_translation() {
    let (mut w, bond, ends) = world(&two_links(), true, 5);
    let flows = load(&mut w, ends);
    w.run_until(ropewalk_air::Time::from_secs(3));
    let before: Vec<u64> = w.flows.iter().map(|f| f.counts.received_bytes).collect();
    w.run_until(ropewalk_air::Time::from_secs(8));
    for flow in flows {
        let f = &w.flows[flow.index()];
        let mbps = (f.counts.received_bytes - before[flow.index()]) as f64 * 8.0 / 5e6;
        assert!(mbps > 38.0, "{mbps} Mb/s");
        assert_eq!(f.counts.reordered, 0);
    }
    let status = status(&bond.engines[0], w.net.now);
    assert_eq!(status.peers[0].paths.len(), 2);
    assert!(status.peers[0].paths.iter().all(|p| p.state == State::Active && p.traffic.sent > 1000));
}

#[test]
fn ping_and_the_same_seed_give_the_same_trace() {
    let run = |seed| {
        let links = two_links().map(|l| l.loss_percent(0.5));
        let (mut w, _, ends) = world(&links, false, seed);
        let flow = w.add_flow();
        let ping = Ping::new(flow, SERVER, 84, Duration::from_millis(50), 0);
        let ping = w.add_endpoint(ends[0], flow, Box::new(ping)).unwrap();
        w.start(ping);
        load(&mut w, ends);
        w.run_until(ropewalk_air::Time::from_secs(3));
        assert!(w.flows[flow.index()].counts.received > 50);
        (w.net.trace.hash(), w.net.trace.arrivals())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
