use super::*;
use crate::app::{Pace, Ping, UdpSink, UdpSource};
use ropewalk_air::wired::{Limit, LinkSpec, QueueSpec};
use std::net::Ipv4Addr;
use std::time::Duration;

fn ip(a: u8, b: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, a, b)
}

/// `host — router — server`, the router hiding the host.
fn nat_chain(rate_mbps: f64, masquerade: bool) -> (World, [NodeId; 3]) {
    let mut w = World::new();
    let host = w.net.add_node("host", false);
    let router = w.net.add_node("router", true);
    let server = w.net.add_node("server", false);
    let h = w.net.add_interface(host, "eth0", Some((ip(1, 2), 24)));
    let lan = w.net.add_interface(router, "lan", Some((ip(1, 1), 24)));
    let wan = w.net.add_interface(router, "wan", Some((ip(2, 1), 24)));
    let s = w.net.add_interface(server, "eth0", Some((ip(2, 2), 24)));
    w.net.interfaces[wan.index()].masquerade = masquerade;
    let link = LinkSpec::new(rate_mbps, Duration::from_millis(5));
    w.net.add_cable([h, lan], [LinkSpec::default(), LinkSpec::default()], 1).unwrap();
    w.net.add_cable([wan, s], [link.clone(), link], 1).unwrap();
    w.net.settle();
    (w, [host, router, server])
}

fn udp(w: &mut World, from: NodeId, to: (NodeId, Ipv4Addr), len: u32, pace: Pace) -> (FlowId, EndpointId) {
    let flow = w.add_flow();
    let sink = w.add_endpoint(to.0, flow, Box::new(UdpSink::new(flow))).unwrap();
    let source = UdpSource::new(flow, (to.1, sink.port()), len, pace, 0, 7);
    (flow, w.add_endpoint(from, flow, Box::new(source)).unwrap())
}

#[test]
fn udp_at_a_rate_crosses_a_router() {
    let (mut w, [host, router, server]) = nat_chain(10.0, false);
    let pace = Pace::Constant(Duration::from_millis(2));
    let (flow, source) = udp(&mut w, host, (server, ip(2, 2)), 1250, pace);
    w.start(source);
    w.run_until(Time::from_secs(10));
    let f = &w.flows[flow.index()];
    // One every 2 ms from 0 to 10 s, both included; the last three are on the way still (1 ms to send, 5 ms delay).
    assert_eq!((f.counts.sent, f.counts.received, f.counts.reordered), (5001, 4998, 0));
    assert_eq!(f.delay.percentile_ms(50.0).map(f64::round), Some(6.0));
    assert_eq!(w.net.nodes[router.index()].counters.forwarded, 5001);
}

#[test]
fn poisson_traffic_has_its_mean_and_its_spread() {
    let (mut w, [host, router, server]) = nat_chain(1000.0, false);
    let pace = Pace::Poisson(Duration::from_millis(1));
    let (flow, source) = udp(&mut w, host, (server, ip(2, 2)), 100, pace);
    w.start(source);
    let (mut before, mut counts) = (0, Vec::new());
    for tenth in 1..=1000 {
        w.run_until(Time::from_millis(100 * tenth));
        let now = w.flows[flow.index()].counts.sent;
        counts.push((now - before) as f64);
        before = now;
    }
    let mean = counts.iter().sum::<f64>() / 1000.0;
    let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 1000.0;
    // Of a Poisson process both are 100; the bands are five standard errors.
    assert!((mean - 100.0).abs() < 1.6 && (variance - 100.0).abs() < 23.0, "{mean}, {variance}");
    assert!(w.net.nodes[router.index()].counters.forwarded > 0);
}

#[test]
fn a_queue_drops_what_is_too_much() {
    let (mut w, [host, _, server]) = nat_chain(10.0, false);
    let pace = Pace::Constant(Duration::from_micros(500));
    let (flow, source) = udp(&mut w, host, (server, ip(2, 2)), 1250, pace);
    w.start(source);
    w.run_until(Time::from_secs(10));
    let f = &w.flows[flow.index()];
    assert!((9_900..=10_000).contains(&f.counts.received), "{}", f.counts.received);
}

#[test]
fn ping_goes_through_address_translation_and_back() {
    let (mut w, [host, _, server]) = nat_chain(10.0, true);
    let flow = w.add_flow();
    let ping = Ping::new(flow, ip(2, 2), 84, Duration::from_millis(100), 0);
    let ping = w.add_endpoint(host, flow, Box::new(ping)).unwrap();
    let (hidden, into) =
        udp(&mut w, server, (host, ip(1, 2)), 100, Pace::Constant(Duration::from_millis(100)));
    w.start(ping);
    w.start(into);
    w.run_until(Time::from_secs(1));
    let f = &w.flows[flow.index()];
    assert_eq!((f.counts.sent, f.counts.received), (11, 10));
    assert_eq!(f.rtt.percentile_ms(50.0).map(f64::round), Some(10.0));
    assert_eq!(w.flows[hidden.index()].counts.received, 0, "nothing is routed to what is hidden");
    assert_eq!(w.net.nodes[server.index()].counters.unroutable, 11);
}

#[test]
fn a_bridge_learns_and_joins_segments() {
    let mut w = World::new();
    let switch = w.net.add_node("switch", false);
    let hosts: Vec<NodeId> = (0..3).map(|i| w.net.add_node(&format!("h{i}"), false)).collect();
    let mut ports = Vec::new();
    for (i, host) in hosts.iter().enumerate() {
        let end = w.net.add_interface(*host, "eth0", Some((ip(0, i as u8 + 1), 24)));
        let port = w.net.add_interface(switch, &format!("p{i}"), None);
        w.net.add_cable([end, port], [LinkSpec::default(), LinkSpec::default()], 1).unwrap();
        ports.push(port);
    }
    w.net.add_bridge(switch, "br0", Some((ip(0, 100), 24)), &ports);
    w.net.settle();
    let flow = w.add_flow();
    let ping = Ping::new(flow, ip(0, 2), 84, Duration::from_millis(100), 0);
    let ping = w.add_endpoint(hosts[0], flow, Box::new(ping)).unwrap();
    let own = w.add_flow();
    let to_switch = Ping::new(own, ip(0, 100), 84, Duration::from_millis(100), 0);
    let to_switch = w.add_endpoint(hosts[2], own, Box::new(to_switch)).unwrap();
    w.start(ping);
    w.start(to_switch);
    w.run_until(Time::from_millis(950));
    assert_eq!((w.flows[flow.index()].counts.received, w.flows[own.index()].counts.received), (10, 10));
    // Only the first request was flooded; what was learnt from its answer holds.
    let third = &w.net.interfaces[w.net.nodes[hosts[2].index()].interfaces[0].index()];
    assert_eq!(third.counters.received, 11);
}

#[test]
fn saturating_keeps_a_cable_full_and_memory_flat() {
    let (mut w, [host, _, server]) = nat_chain(10.0, false);
    let queue = QueueSpec::TailDrop { limit: Limit::Packets(50) };
    for d in 0..2 {
        w.net.change_direction(d, |link, _| {
            *link =
                ropewalk_air::wired::Link::new(LinkSpec::new(20.0, Duration::ZERO).queue(queue), 1).unwrap();
        });
    }
    let (flow, source) = udp(&mut w, host, (server, ip(2, 2)), 1250, Pace::Saturating(20));
    w.start(source);
    w.run_until(Time::from_secs(5));
    let pooled = crate::packet::pooled();
    w.run_until(Time::from_secs(50));
    let f = &w.flows[flow.index()];
    assert!((49_800..=50_000).contains(&f.counts.received), "{}", f.counts.received);
    assert_eq!(crate::packet::pooled(), pooled);
}
