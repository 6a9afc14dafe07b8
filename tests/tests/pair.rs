//! Two engines over simulated links: order, loss, content and bounds.

use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::path::State;
use ropewalk_bond::time::Duration;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, number, udp};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn link(mbps: f64, delay_ms: u64) -> LinkSpec {
    LinkSpec::new(mbps, ms(delay_ms))
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
