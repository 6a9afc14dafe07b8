//! What a gateway keeps of a path that was silent for long, and who notices that one was.

use ropewalk_air::wired::{Link, LinkSpec};
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::path::{Class, State};
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, udp};
use ropewalk_time::{Duration, Time};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn link() -> LinkSpec {
    LinkSpec::new(20.0, ms(10))
}

/// Some packets a second both ways, for so many seconds.
fn trickle(p: &mut Pair, seconds: u32) {
    for n in 0..seconds * 4 {
        p.device(End::Client, &udp(End::Client, 7, n, 1400), Vnet::default());
        p.device(End::Gateway, &udp(End::Gateway, 8, n, 1400), Vnet::default());
        p.run_for(ms(250));
    }
}

/// What the gateway has sent on path `id`, bytes.
fn sent_on(p: &Pair, id: u8) -> u64 {
    let status = p.gateway.status(p.now);
    status.peers[0].paths.iter().find(|path| path.id == id).map_or(0, |path| path.traffic.sent_bytes)
}

#[test]
fn a_datagram_of_a_path_that_was_long_silent_is_not_taken_twice() {
    let mut p = Pair::new(&[link(), link()], Config::default(), 1);
    p.run_for(ms(1500));
    p.capture = Some(Vec::new());
    for n in 0..2000 {
        p.device(End::Client, &udp(End::Client, 7, n, 1400), Vnet::default());
        p.run_for(Duration::from_micros(300));
    }
    let of_path_1 =
        |(end, bytes): &(End, Vec<u8>)| *end == End::Client && bytes[0] == 0x41 && bytes.len() > 1000;
    let mut recorded: Vec<Vec<u8>> =
        p.capture.take().unwrap().into_iter().filter(of_path_1).map(|c| c.1).collect();
    assert!(recorded.len() > 100, "{}", recorded.len());
    p.run_for(ms(200));
    p.set_up(1, false);
    trickle(&mut p, 70);
    assert!(p.gateway.status(p.now).peers[0].paths.iter().all(|path| path.id != 1), "it is forgotten");
    let before = (p.at_gateway.len(), p.gateway.status(p.now).drops.replayed);
    let unknown = "203.0.113.9:999".parse().unwrap();
    recorded.iter_mut().for_each(|d| p.inject(End::Gateway, 0, unknown, d));
    p.run_for(ms(1000));
    let replayed = p.gateway.status(p.now).drops.replayed - before.1;
    assert_eq!((p.at_gateway.len(), replayed), (before.0, recorded.len() as u64));
    let paths = &p.gateway.status(p.now).peers[0].paths;
    assert!(paths.iter().all(|path| path.route.remote != unknown), "{paths:?}");
}

#[test]
fn a_backup_that_was_long_silent_comes_back_as_a_backup() {
    let mut p = Pair::new(&[link()], Config::default(), 1);
    p.up.push(Link::new(link(), 5).unwrap());
    p.down.push(Link::new(link(), 6).unwrap());
    p.ports.push(40_000);
    let id = p.add_path(1, Class::Backup).unwrap();
    p.run_for(ms(1500));
    p.set_up(1, false);
    trickle(&mut p, 70);
    p.set_up(1, true);
    trickle(&mut p, 5);
    let status = p.gateway.status(p.now);
    let path = status.peers[0].paths.iter().find(|path| path.id == id).unwrap();
    assert_eq!((path.state, path.class), (State::Active, "backup"));
    let before = sent_on(&p, id);
    for n in 0..5000 {
        p.device(End::Gateway, &udp(End::Gateway, 8, n, 1400), Vnet::default());
        p.run_for(Duration::from_micros(400));
    }
    assert!(sent_on(&p, id) - before < 20_000, "{} bytes of bulk", sent_on(&p, id) - before);
}

/// What the client said of the path before comes late, as it may by a network that reorders.
#[test]
fn a_path_that_is_used_up_stays_so_whatever_was_said_before() {
    let mut p = Pair::new(&[link(), link()], Config::default(), 1);
    p.run_for(ms(1500));
    p.capture = Some(Vec::new());
    p.set_up(1, false);
    p.client.set_class(1, Class::Metered { left: 1 });
    p.poll(End::Client);
    p.set_up(1, true);
    let of_path_1 = |(end, bytes): &(End, Vec<u8>)| *end == End::Client && bytes[0] == 0x41;
    let late: Vec<Vec<u8>> = p.capture.take().unwrap().into_iter().filter(of_path_1).map(|c| c.1).collect();
    assert!(!late.is_empty(), "it was said");
    trickle(&mut p, 3);
    let left = |p: &Pair| {
        let paths = p.gateway.status(p.now).peers[0].paths.clone();
        paths.iter().find(|path| path.id == 1).and_then(|path| path.allowance)
    };
    assert_eq!(left(&p), Some(0));
    let from = p.client_at(1);
    late.into_iter().for_each(|mut datagram| p.inject(End::Gateway, 0, from, &mut datagram));
    assert_eq!(left(&p), Some(0));
}

/// Each ping costs what a provider takes for bytes beyond the allowance.
#[test]
fn a_path_that_is_used_up_is_asked_nothing_while_another_works() {
    let mut p = Pair::new(&[link(), link()], Config::default(), 1);
    p.run_for(ms(1500));
    p.client.set_class(1, Class::Metered { left: 1 });
    p.poll(End::Client);
    trickle(&mut p, 3);
    let sent = |p: &Pair| {
        [&p.client, &p.gateway].map(|engine| {
            let status = engine.status(p.now);
            status.peers[0].paths.iter().find(|path| path.id == 1).map(|path| path.traffic.sent)
        })
    };
    let before = sent(&p);
    trickle(&mut p, 60);
    assert_eq!(sent(&p), before);
    // The session has no other path.
    p.set_up(0, false);
    trickle(&mut p, 30);
    assert!(sent(&p) > before);
    // The gateway has forgotten the session, and the client makes another one.
    let told = |p: &Pair, event: fn(&Event) -> bool| p.events.iter().filter(|e| event(&e.2)).count();
    p.set_up(0, true);
    p.restart_gateway();
    trickle(&mut p, 30);
    assert_eq!(told(&p, |e| matches!(e, Event::Connected(_))), 2);
    assert_eq!(told(&p, |e| matches!(e, Event::Exhausted { .. })), 1, "once for each allowance");
}

/// A second line that is dead for an hour costs no memory, and its probes are no loss.
#[test]
fn probes_of_a_dead_path_are_not_kept_for_ever() {
    let mut p = Pair::new(&[link(), link()], Config::default(), 1);
    p.run_for(ms(1500));
    p.set_up(1, false);
    trickle(&mut p, 3);
    p.run_for(Duration::from_secs(3600));
    let of = |p: &Pair| p.client.status(p.now).peers[0].paths.iter().find(|q| q.id == 1).unwrap().clone();
    let dead = of(&p);
    assert!(dead.state == State::Down && dead.inflight < 3000, "{} bytes in flight", dead.inflight);
    p.set_up(1, true);
    trickle(&mut p, 5);
    let back = of(&p);
    assert_eq!(back.state, State::Active);
    assert!(back.traffic.lost < dead.traffic.lost + 50, "{} lost", back.traffic.lost - dead.traffic.lost);
}

#[test]
fn the_gateway_keeps_to_the_device_mtu_that_the_client_says_later() {
    let mut p = Pair::new(&[link()], Config::default(), 1);
    p.run_for(ms(1500));
    p.client.reconfigure(Config { tun_mtu: 1300, ..Config::default() });
    p.client.set_class(0, Class::Active);
    p.poll(End::Client);
    p.run_for(ms(200));
    p.device(End::Gateway, &udp(End::Gateway, 8, 1, 1400), Vnet::default());
    p.run_for(ms(200));
    assert_eq!(
        (p.at_client.len(), p.at_gateway.len()),
        (0, 1),
        "an ICMP error goes back to the gateway's device"
    );
}

const FLOWS: u16 = 14;

/// Fourteen calls each way for some seconds, while path 0 is dead for one of them: of each end how
/// many connections were delivering, and how many noticed.
fn who_notices(links: &[LinkSpec]) -> [(u32, u32); 2] {
    let mut p = Pair::new(links, Config::default(), 1);
    p.run_for(ms(1500));
    for n in 0..550 {
        match n {
            200 => p.set_up(0, false),
            250 => p.set_up(0, true),
            _ => {}
        }
        for port in 1..=FLOWS {
            p.device(End::Client, &udp(End::Client, port, n, 1000), Vnet::default());
            p.device(End::Gateway, &udp(End::Gateway, 100 + port, n, 1000), Vnet::default());
        }
        p.run_for(ms(20));
    }
    [End::Client, End::Gateway].map(|of| {
        let noticed = |(end, _, event): &(End, Time, Event)| match event {
            Event::Outage { path: 0, connections, noticed, since, .. } if *end == of => {
                assert!(since.since(Time::from_millis(6400)) < ms(300), "{event:?}");
                Some((*connections, *noticed))
            }
            _ => None,
        };
        let told: Vec<_> = p.events.iter().filter_map(noticed).collect();
        assert_eq!(told.len(), 1, "{of:?}: {told:?}");
        told[0]
    })
}

#[test]
fn nobody_notices_that_one_of_two_paths_was_dead() {
    assert_eq!(who_notices(&[link(), LinkSpec::new(20.0, ms(15))]), [(14, 0); 2]);
}

#[test]
fn everybody_notices_that_the_only_path_was_dead() {
    assert_eq!(who_notices(&[link()]), [(14, 14); 2]);
}

/// A path of 20 Mb/s that passes little packets.
fn narrow() -> LinkSpec {
    LinkSpec { mtu_blackhole: Some(1100), ..link() }
}

/// Downloads that nobody answers, and that end with a path: they are at their end, or nothing can
/// come.
#[test]
fn a_path_that_is_too_narrow_is_no_way_on() {
    for (other, noticed) in [(narrow(), FLOWS), (link(), 0)] {
        let mut p = Pair::new(&[link(), other], Config::default(), 1);
        p.run_for(ms(3000));
        for n in 0..800 {
            if n == 150 {
                p.set_up(0, false);
            }
            // What the client sends keeps both paths in use.
            p.device(End::Client, &udp(End::Client, 7, n, 1000), Vnet::default());
            for port in (1..=FLOWS).filter(|_| n < 152) {
                p.device(End::Gateway, &udp(End::Gateway, 100 + port, n, 1000), Vnet::default());
            }
            p.run_for(ms(20));
        }
        let told: Vec<_> = p
            .events
            .iter()
            .filter_map(|(end, _, event)| match event {
                Event::Outage { path: 0, connections, noticed, .. } if *end == End::Client => {
                    Some((*connections, *noticed))
                }
                _ => None,
            })
            .collect();
        assert_eq!(told, [(u32::from(FLOWS), u32::from(noticed))]);
    }
}

#[test]
fn each_state_of_a_path_that_is_too_narrow_is_told_once() {
    let mut p = Pair::new(&[narrow(), link()], Config::default(), 1);
    p.run_for(ms(3000));
    for n in 0..400 {
        match n {
            100 => p.set_up(0, false),
            250 => p.set_up(0, true),
            _ => {}
        }
        p.device(End::Client, &udp(End::Client, 7, n, 1000), Vnet::default());
        p.run_for(ms(20));
    }
    let told: Vec<State> = p
        .events
        .iter()
        .filter_map(|(end, _, event)| match event {
            Event::Path { path: 0, state, .. } if *end == End::Client => Some(*state),
            _ => None,
        })
        .collect();
    let mut once = told.clone();
    once.dedup();
    assert_eq!(told, once);
    assert!(told.ends_with(&[State::TooNarrow, State::Suspect, State::Down, State::TooNarrow]), "{told:?}");
}

#[test]
fn both_ends_count_a_connection_alike() {
    let mut p = Pair::new(&[link()], Config::default(), 1);
    p.run_for(ms(1500));
    for n in 0..100 {
        p.device(End::Client, &udp(End::Client, 7, n, 1000), Vnet::default());
        p.run_for(ms(20));
    }
    let (client, gateway) = (p.client.flows(9, p.now), p.gateway.flows(9, p.now));
    assert_eq!((client.total, gateway.total), (1, 1));
    let (sent, received) = (&client.flows[0], &gateway.flows[0]);
    assert_eq!((sent.sent.bytes, received.received.bytes), (100_000, 100_000));
    assert_eq!((sent.here, sent.there, sent.protocol), (received.there, received.here, 17));
    assert!((received.received.bps as f64 / 400e3 - 1.0).abs() < 0.1 && !received.low_latency);
    assert_eq!((sent.peer, p.gateway.status(p.now).peers[0].key), (p.gateway_key(), received.peer));
}
