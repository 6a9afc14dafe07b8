//! Two engines over simulated links: order, loss, content and bounds.

use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::path::{Class, State};
use ropewalk_bond::schedule::Kind;
use ropewalk_bond::vnet::Vnet;
use ropewalk_cc::Algorithm;
use ropewalk_tests::pair::{End, Pair, air, number, udp};
use ropewalk_time::Duration;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn link(mbps: f64, delay_ms: u64) -> LinkSpec {
    LinkSpec::new(mbps, ms(delay_ms))
}

/// Sends a packet every `gap` for `lasting`; `each` may interfere before each. Returns what was sent.
fn load(p: &mut Pair, gap: Duration, lasting: Duration, mut each: impl FnMut(&mut Pair, u32)) -> u32 {
    let end = p.now + lasting;
    let mut n = 0;
    while p.now < end {
        each(p, n);
        p.device(End::Client, &udp(End::Client, 7, n, 1400), Vnet::default());
        p.device(End::Gateway, &udp(End::Gateway, 8, n, 1400), Vnet::default());
        n += 1;
        p.run_for(gap);
    }
    p.run_for(ms(3000));
    n
}

/// Whether numbers only ever grow, and every packet is as it was sent.
fn intact(got: &[(ropewalk_time::Time, Vec<u8>, Vnet)], from: End, port: u16) -> bool {
    got.windows(2).all(|w| number(&w[0].1) < number(&w[1].1))
        && got.iter().all(|g| g.1 == udp(from, port, number(&g.1), g.1.len()))
}

/// Sends `count` packets of `len` bytes at `mbps` and lets everything arrive. Returns the numbers as delivered.
fn stream(p: &mut Pair, end: End, count: u32, len: usize, mbps: f64) -> Vec<u32> {
    let gap = Duration::from_secs_f64(len as f64 * 8.0 / (mbps * 1e6));
    for n in 0..count {
        let packet = udp(end, 7, n, len);
        p.device(end, &packet, Vnet::default());
        p.run_for(gap);
    }
    p.run_for(ms(2000));
    let got = match end {
        End::Client => &p.at_gateway,
        End::Gateway => &p.at_client,
    };
    got.iter().map(|(_, b, _)| number(b)).collect()
}

fn started(links: &[LinkSpec]) -> Pair {
    let mut p = Pair::new(links, Config::default(), 1);
    p.run_for(ms(1500));
    p
}

#[test]
fn a_packet_too_large_for_the_peers_device_is_answered_and_the_others_pass() {
    let mut p = Pair::new(&[link(40.0, 5), link(20.0, 15)], Config::default(), 9);
    p.run_for(ms(1500));
    let sent = load(&mut p, ms(1), ms(1500), |p, n| {
        if n % 64 == 0 {
            let mut large = udp(End::Client, 9, n, 9000);
            large[6] |= 0x40;
            p.device(End::Client, &large, Vnet::default());
        }
    });
    assert!(sent > 500 && intact(&p.at_gateway, End::Client, 7));
    assert!(p.at_client.iter().any(|(_, packet, _)| packet[9] == 1), "ICMP");
}

#[test]
fn comes_up_and_all_paths_become_active() {
    let p = started(&[link(20.0, 10), link(50.0, 40)]);
    assert!(p.events.iter().any(|e| matches!(e.2, Event::Connected(_))));
    assert!(p.events.iter().any(|e| matches!(e.2, Event::ClientUp { .. })));
    for e in [&p.client, &p.gateway] {
        let s = e.status(p.now);
        assert_eq!(s.peers.len(), 1);
        assert!(s.peers[0].up);
        assert!(s.peers[0].paths.iter().all(|p| p.state == State::Active), "{s:#?}");
        assert!(s.peers[0].paths.iter().all(|p| p.mtu == 1500), "{s:#?}");
    }
}

#[test]
fn a_stream_faster_than_one_path_arrives_whole_and_in_order_both_ways() {
    let mut p = started(&[link(20.0, 10), link(20.0, 30)]);
    for end in [End::Client, End::Gateway] {
        // Until the paths' rates are found, the queue may drop.
        stream(&mut p, end, 2000, 1400, 34.0);
        p.at_gateway.clear();
        p.at_client.clear();
        let got = stream(&mut p, end, 5000, 1400, 34.0);
        let want: Vec<u32> = (0..5000).collect();
        assert_eq!(got.len(), want.len(), "{end:?} {:#?}", p.gateway.status(p.now));
        assert_eq!(got, want);
    }
}

#[test]
fn loss_on_both_paths_is_repaired_in_order() {
    let lossy = |d| link(20.0, d).loss_percent(2.0);
    let mut p = started(&[lossy(10), lossy(15)]);
    let got = stream(&mut p, End::Client, 5000, 1400, 30.0);
    assert!(got.windows(2).all(|w| w[0] < w[1]), "order");
    assert!(got.len() > 4990, "{} {:#?}", got.len(), p.client.status(p.now));
}

#[test]
fn a_path_dies_and_nothing_is_lost() {
    let mut p = started(&[link(20.0, 10), link(20.0, 10)]);
    let mut got_before = 0;
    for n in 0..4000u32 {
        p.device(End::Client, &udp(End::Client, 7, n, 1400), Vnet::default());
        p.run_for(Duration::from_micros(800));
        if n == 2000 {
            let now = ropewalk_air::Time::from_nanos(p.now.as_nanos());
            p.up[0].set_up(now, false);
            p.down[0].set_up(now, false);
            got_before = p.at_gateway.len();
        }
    }
    p.run_for(ms(1000));
    let got: Vec<u32> = p.at_gateway.iter().map(|g| number(&g.1)).collect();
    assert!(got.len() == 4000 && got.windows(2).all(|w| w[0] < w[1]), "{} {got_before}", got.len());
    let times: Vec<_> = p.at_gateway.iter().map(|g| g.0).collect();
    let stall = times.windows(2).map(|w| w[1].since(w[0])).max().unwrap();
    assert!(stall < ms(150), "{stall:?}");
    let s = p.client.status(p.now);
    assert_eq!(s.peers[0].paths[0].state, State::Down);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let run = |seed| {
        let lossy = |d| link(20.0, d).loss_percent(3.0).jitter(ms(4));
        let mut p = Pair::new(&[lossy(10), lossy(35)], Config::default(), seed);
        p.run_for(ms(1000));
        load(&mut p, ms(1), ms(1500), |_, _| {});
        (p.trace, p.at_gateway.len(), p.at_client.len())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

#[test]
fn a_gateway_that_forgot_everything_is_found_again() {
    let mut p = started(&[link(20.0, 10), link(20.0, 15)]);
    let mut before = 0;
    let sent = load(&mut p, ms(2), ms(6000), |p, n| {
        if n == 1000 {
            before = p.at_gateway.len();
            p.restart_gateway();
        }
    });
    assert!(p.at_gateway.len() > before + 1500, "{} {before} {sent}", p.at_gateway.len());
    assert!(p.at_client.len() > 2000);
    assert!(intact(&p.at_gateway, End::Client, 7));
}

#[test]
fn both_paths_gone_for_half_a_minute() {
    let mut p = started(&[link(20.0, 10), link(20.0, 15)]);
    let start = p.now;
    load(&mut p, ms(5), ms(45_000), |p, n| {
        if n == 1000 {
            p.set_up(0, false);
            p.set_up(1, false);
        }
        if p.now.since(start) > ms(35_000) {
            p.set_up(0, true);
            p.set_up(1, true);
        }
    });
    let last = p.at_gateway.last().unwrap();
    assert!(number(&last.1) > 7000, "{}", number(&last.1));
    assert!(intact(&p.at_gateway, End::Client, 7) && intact(&p.at_client, End::Gateway, 8));
    assert!(p.client.status(p.now).memory_used < 16 << 20);
}

#[test]
fn a_path_that_flaps_ten_times_a_second_does_no_harm() {
    let mut p = started(&[link(20.0, 10), link(20.0, 10)]);
    let start = p.now;
    let sent = load(&mut p, ms(1), ms(60_000), |p, _| {
        let up = p.now.since(start).as_millis() / 100 % 2 == 0;
        if p.up[1].is_up() != up {
            p.set_up(1, up);
        }
    });
    assert!(intact(&p.at_gateway, End::Client, 7) && intact(&p.at_client, End::Gateway, 8));
    let missing = sent as usize - p.at_gateway.len();
    assert!(missing * 1000 < sent as usize, "{missing} of {sent}");
    let stall = p.at_gateway.windows(2).map(|w| w[1].0.since(w[0].0)).max().unwrap();
    assert!(stall < ms(300), "{stall:?}");
}

#[test]
fn a_tenth_of_the_datagrams_damaged() {
    let damaged = |d| LinkSpec { corruption: 0.1, ..link(20.0, d) };
    let mut p = started(&[damaged(10), damaged(20)]);
    let sent = load(&mut p, ms(2), ms(5000), |_, _| {});
    assert!(intact(&p.at_gateway, End::Client, 7) && intact(&p.at_client, End::Gateway, 8));
    assert!(p.at_gateway.len() as u32 > sent - sent / 50, "{} of {sent}", p.at_gateway.len());
    assert!(p.gateway.status(p.now).drops.forged > 100);
}

#[test]
fn keys_are_renewed_under_load_without_a_gap() {
    let config = Config { rekey_after: ms(300), ..Config::default() };
    let mut p = Pair::new(&[link(20.0, 10), link(20.0, 25)], config, 3);
    p.run_for(ms(1000));
    let sent = load(&mut p, ms(1), ms(5000), |_, _| {});
    assert_eq!((p.at_gateway.len() as u32, p.at_client.len() as u32), (sent, sent));
    assert!(intact(&p.at_gateway, End::Client, 7));
    assert!(p.gateway.status(p.now).peers[0].key_age.unwrap() < ms(2000));
    assert_eq!(p.gateway.status(p.now).peers.len(), 1);
}

#[test]
fn a_nat_that_changes_the_port_is_followed() {
    let mut p = started(&[link(20.0, 10), link(20.0, 25)]);
    let sent = load(&mut p, ms(2), ms(4000), |p, n| {
        if n == 500 {
            p.ports[0] = 41_000;
        }
        if n == 1000 {
            p.ports = vec![42_000, 42_001];
        }
    });
    assert!(intact(&p.at_gateway, End::Client, 7) && intact(&p.at_client, End::Gateway, 8));
    assert!(p.at_client.len() as u32 >= sent - 5, "{} of {sent}", p.at_client.len());
    let s = p.gateway.status(p.now);
    assert_eq!(s.peers[0].paths[0].route.remote.port(), 42_000);
    assert!(s.peers[0].paths.iter().all(|p| p.state == State::Active));
}

#[test]
fn replays_and_noise_from_strangers_are_dropped_and_draw_no_answer() {
    let mut p = started(&[link(20.0, 10), link(20.0, 25)]);
    p.capture = Some(Vec::new());
    load(&mut p, ms(2), ms(1000), |_, _| {});
    let captured = p.capture.take().unwrap();
    let (delivered, sent) = (p.at_gateway.len(), p.sent_bytes[1]);
    let before = p.gateway.status(p.now).peers[0].paths[0].route;
    let unknown = "203.0.113.9:999".parse().unwrap();
    let mut injected = 0;
    for (k, (end, bytes)) in captured.iter().filter(|c| c.0 == End::Client).enumerate() {
        let mut b = bytes.clone();
        match k % 3 {
            0 => {}
            1 => b.truncate(b.len() * (k % 7) / 7),
            _ => b[k % bytes.len()] ^= 0x55,
        }
        assert_eq!(*end, End::Client);
        injected += b.len() as u64;
        p.inject(End::Gateway, 0, unknown, &mut b);
    }
    p.run_for(ms(100));
    assert!(injected > 500_000);
    assert_eq!(p.at_gateway.len(), delivered);
    assert_eq!(p.gateway.status(p.now).peers[0].paths[0].route, before);
    // Ordinary keep-alives only.
    assert!(p.sent_bytes[1] - sent < 2_000, "{}", p.sent_bytes[1] - sent);
}

#[test]
fn super_packets_travel_whole() {
    let mut p = started(&[link(50.0, 10), link(20.0, 30)]);
    let vnet = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1372, csum_start: 20, csum_offset: 6 };
    let sizes: Vec<usize> = (0..300).map(|i| 1500 + i * 211 % 60_000).collect();
    for (n, size) in sizes.iter().enumerate() {
        p.device(End::Client, &udp(End::Client, 7, n as u32, *size), vnet);
        p.run_for(ms(8));
    }
    p.run_for(ms(2000));
    let got: Vec<usize> = p.at_gateway.iter().map(|g| g.1.len()).collect();
    assert_eq!(got, sizes);
    assert!(p.at_gateway.iter().all(|g| g.2 == vnet));
    assert!(intact(&p.at_gateway, End::Client, 7));
}

#[test]
fn a_path_that_swallows_large_datagrams_is_found_out() {
    let narrow = LinkSpec { mtu_blackhole: Some(1400), ..link(20.0, 10) };
    let mut p = started(&[narrow, link(20.0, 10)]);
    p.run_for(ms(3000));
    let sent = load(&mut p, ms(1), ms(2000), |_, _| {});
    assert_eq!(p.at_gateway.len() as u32, sent);
    let mtu = p.client.status(p.now).peers[0].paths[0].mtu;
    assert!((1380..=1400).contains(&mtu), "{mtu}");
}

/// Neither at the start nor under load does a path that passes less than IPv6's least take data
/// with it.
#[test]
fn a_path_that_does_not_pass_the_least_size_carries_no_data_and_says_so() {
    let state = |p: &Pair, path: usize| p.client.status(p.now).peers[0].paths[path].state;
    let narrow = LinkSpec { mtu_blackhole: Some(1200), ..link(20.0, 10) };
    let mut p = started(&[narrow, link(20.0, 10)]);
    p.run_for(ms(3000));
    assert_eq!((state(&p, 0), state(&p, 1)), (State::TooNarrow, State::Active));
    let sent = load(&mut p, ms(1), ms(2000), |_, _| {});
    assert_eq!((p.at_gateway.len() as u32, p.at_client.len() as u32), (sent, sent));
    assert!(intact(&p.at_gateway, End::Client, 7));

    let mut p = started(&[link(20.0, 10), link(20.0, 10)]);
    p.run_for(ms(3000));
    let sent = load(&mut p, Duration::from_micros(400), ms(3000), |p, n| {
        if n == 1000 {
            let now = air(p.now);
            p.up[0].set_mtu_blackhole(now, Some(1100));
        }
    });
    let got = p.at_gateway.len() as u32;
    assert!(got > sent / 100 * 95, "what it swallowed came by the other path: {got} of {sent}");
    assert_eq!((state(&p, 0), state(&p, 1)), (State::TooNarrow, State::Active));
    let now = air(p.now);
    p.up[0].set_mtu_blackhole(now, None);
    p.run_for(ms(6000));
    assert_eq!(state(&p, 0), State::Active, "a probe passes again");
}

/// A super-packet for an idle bond: its fragments fit one path's datagrams and not the other's.
#[test]
fn copies_go_by_a_path_of_a_smaller_mtu_too_and_nothing_waits_for_them() {
    let narrow = LinkSpec { mtu_blackhole: Some(1280), ..link(20.0, 15) };
    let config = Config { scheduler: Kind::Redundant, ..Config::default() };
    let mut p = Pair::new(&[link(20.0, 10), narrow], config, 1);
    p.run_for(ms(8000));
    let paths = |p: &Pair| p.client.status(p.now).peers[0].paths.clone();
    assert_eq!(paths(&p).iter().map(|path| path.mtu).collect::<Vec<_>>(), [1500, 1280]);
    let (at, before) = (p.now, paths(&p)[1].traffic.sent_bytes);
    let vnet = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1372, csum_start: 20, csum_offset: 6 };
    p.device(End::Client, &udp(End::Client, 7, 1, 60_000), vnet);
    p.run_for(ms(2000));
    let took = p.at_gateway.first().expect("it came").0.since(at);
    assert!(took < ms(300), "{took:?}");
    let copies = paths(&p)[1].traffic.sent_bytes - before;
    assert!(copies > 60_000, "{copies} bytes of copies");
}

#[test]
fn a_route_that_narrows_under_load_is_found_out_and_a_full_queue_is_not_taken_for_it() {
    let mut p = started(&[link(20.0, 10), link(20.0, 10)]);
    p.run_for(ms(3000));
    let mtu = |p: &Pair, path: usize| p.client.status(p.now).peers[0].paths[path].mtu;
    assert_eq!((mtu(&p, 0), mtu(&p, 1)), (1500, 1500));
    // More than one path carries, so that both have some.
    let sent = load(&mut p, Duration::from_micros(400), ms(3000), |p, n| {
        if n == 1000 {
            let now = air(p.now);
            p.up[0].set_mtu_blackhole(now, Some(1400));
        }
    });
    let got = p.at_gateway.len() as u32;
    assert!(got > sent / 100 * 97, "what it swallowed came by the other path: {got} of {sent}");
    assert!((1380..=1400).contains(&mtu(&p, 0)), "{}", mtu(&p, 0));
    assert_eq!(mtu(&p, 1), 1500);

    // More than a path carries, and nobody who holds back: its queue drops bursts, but the length passes.
    let config = Config { scheduler: Kind::RoundRobin, congestion: Algorithm::None, ..Config::default() };
    let mut p = Pair::new(&[link(20.0, 10), link(2.0, 10)], config, 1);
    p.run_for(ms(4500));
    load(&mut p, Duration::from_micros(500), ms(3000), |_, _| {});
    let lost: u64 = p.client.status(p.now).peers[0].paths.iter().map(|path| path.traffic.lost).sum();
    assert!(lost > 100, "{lost}");
    assert_eq!((mtu(&p, 0), mtu(&p, 1)), (1500, 1500));
}

#[test]
fn a_backup_waits_and_a_metered_path_stops_at_its_cap() {
    let mut p = started(&[link(20.0, 10)]);
    p.up.push(ropewalk_air::wired::Link::new(link(20.0, 10), 5).unwrap());
    p.down.push(ropewalk_air::wired::Link::new(link(20.0, 10), 6).unwrap());
    p.ports.push(40_000);
    let id = p.add_path(1, Class::Backup).unwrap();
    p.run_for(ms(1000));
    load(&mut p, ms(1), ms(1000), |_, _| {});
    let bytes = |p: &Pair| p.client.status(p.now).peers[0].paths[1].traffic.sent_bytes;
    assert!(bytes(&p) < 20_000, "{}", bytes(&p));
    p.set_up(0, false);
    p.at_gateway.clear();
    let sent = load(&mut p, ms(1), ms(1000), |_, _| {});
    assert!(
        p.at_gateway.len() as u32 > sent - 100,
        "{} of {sent} {:#?}",
        p.at_gateway.len(),
        p.client.status(p.now)
    );
    p.set_up(0, true);
    p.client.set_class(id, Class::Metered { left: 300_000 });
    p.poll(End::Client);
    p.run_for(ms(2500));
    let (before, down) = (bytes(&p), p.client.status(p.now).peers[0].paths[1].traffic.received_bytes);
    load(&mut p, Duration::from_micros(400), ms(3000), |_, _| {});
    let used = bytes(&p) - before + p.client.status(p.now).peers[0].paths[1].traffic.received_bytes - down;
    // What was on its way when the cap was met still counts: a window each way.
    assert!((250_000..550_000).contains(&used), "{used}");
    assert!(p.events.iter().any(|e| matches!(e.2, Event::Exhausted { .. })));
}

#[test]
fn a_goodbye_frees_everything() {
    let mut p = started(&[link(20.0, 10), link(20.0, 15)]);
    load(&mut p, ms(1), ms(500), |_, _| {});
    p.client.close();
    p.poll(End::Client);
    p.run_for(ms(200));
    assert_eq!(p.gateway.status(p.now).peers.len(), 0);
    assert_eq!(p.gateway.status(p.now).memory_used, 0);
    assert!(p.events.iter().any(|e| matches!(e.2, Event::ClientDown { .. })));
}
