//! Paths that share the air of a radio channel, engine against engine.

use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::airtime::Air;
use ropewalk_bond::config::Config;
use ropewalk_bond::schedule::Kind;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, udp};
use ropewalk_time::{Duration, Time};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Two links of 20 Mb/s: 1500 bytes take 0.6 ms there.
fn pair(config: Config) -> Pair {
    let mut p = Pair::new(&[LinkSpec::new(20.0, ms(10)), LinkSpec::new(20.0, ms(10))], config, 7);
    p.run_for(ms(1000));
    p
}

/// Packet times of both paths, microseconds, on these channels.
fn tell(p: &mut Pair, times: [u64; 2], channels: [u8; 2]) {
    for (path, (us, channel)) in times.into_iter().zip(channels).enumerate() {
        let air = Air { packet_time: Duration::from_micros(us), channel };
        p.client.set_airtime(path as u8, Some(air), p.now);
    }
    p.poll(End::Client);
}

/// Sends 24 Mb/s from one end for so long, telling twice a second.
fn flood(p: &mut Pair, from: End, time: Duration, told: Option<([u64; 2], [u8; 2])>) {
    let end = p.now + time;
    let mut n = 0;
    while p.now < end {
        if let (0, Some((times, channels))) = (n % 1000, told) {
            tell(p, times, channels);
        }
        p.device(from, &udp(from, 7, n, 1400), Vnet::default());
        p.run_for(Duration::from_micros(460));
        n += 1;
    }
}

/// What an end has sent on each path, bytes.
fn sent(p: &Pair, end: End) -> [u64; 2] {
    let engine = if end == End::Client { &p.client } else { &p.gateway };
    let status = engine.status(p.now);
    [0, 1].map(|id| {
        let path = status.peers[0].paths.iter().find(|path| path.id == id);
        path.map_or(0, |path| path.traffic.sent_bytes)
    })
}

/// What `from` sends on each path in ten seconds, after five.
fn carried(from: End, told: Option<([u64; 2], [u8; 2])>, config: Config) -> [u64; 2] {
    let mut p = pair(config);
    flood(&mut p, from, ms(5000), told);
    let before = sent(&p, from);
    flood(&mut p, from, ms(10_000), told);
    let after = sent(&p, from);
    [0, 1].map(|i| after[i] - before[i])
}

#[test]
fn both_ends_leave_the_air_to_the_better_path() {
    for from in [End::Client, End::Gateway] {
        let none = carried(from, None, Config::default());
        // The other path's packets take five times the air, and the first fills the channel.
        let told = carried(from, Some(([3000, 600], [6, 6])), Config::default());
        assert!(told[0] * 20 < told[1] && none.iter().all(|b| *b > 2_000_000), "{from:?}: {told:?} {none:?}");
        // On another channel it costs nobody anything.
        let apart = carried(from, Some(([3000, 600], [1, 6])), Config::default());
        assert!(apart.iter().all(|b| *b > 2_000_000), "{from:?}: {apart:?}");
    }
}

#[test]
fn a_path_has_the_air_that_the_better_one_does_not_need() {
    // 20 Mb/s are half of the air of the better one, and what is left of the channel is 3.9 Mb/s.
    let told = carried(End::Gateway, Some(([1500, 300], [6, 6])), Config::default());
    let mbps = told.map(|bytes| bytes as f64 * 8.0 / 10e6);
    assert!(mbps[1] > 18.0 && (2.5..4.5).contains(&mbps[0]), "{mbps:?}");
}

#[test]
fn a_scheduler_that_uses_every_path_does_so() {
    let config = Config { scheduler: Kind::RoundRobin, ..Config::default() };
    let told = carried(End::Gateway, Some(([3000, 600], [6, 6])), config);
    assert!(told.iter().all(|b| *b > 2_000_000), "{told:?}");
}

#[test]
fn what_is_told_of_no_path_changes_no_byte() {
    let trace = |tell: &dyn Fn(&mut Pair)| {
        let mut p = pair(Config::default());
        tell(&mut p);
        flood(&mut p, End::Gateway, ms(1000), None);
        p.trace
    };
    let none = trace(&|_| {});
    assert_eq!(none, trace(&|p| p.client.set_airtime(0, None, p.now)));
    let air = Some(Air { packet_time: ms(1), channel: 6 });
    assert_eq!(none, trace(&|p| p.client.set_airtime(9, air, p.now)), "there is no such path");
    assert_eq!(none, trace(&|p| p.gateway.set_airtime(0, air, p.now)), "a gateway is told by its client");
}

#[test]
fn a_better_path_that_dies_is_replaced_as_soon_as_ever() {
    // The longest time in which nothing arrives, from its death on.
    let gap = |told| {
        let mut p = pair(Config::default());
        flood(&mut p, End::Gateway, ms(5000), told);
        p.at_client.clear();
        let died = p.now;
        p.set_up(1, false);
        flood(&mut p, End::Gateway, ms(3000), told);
        let times: Vec<Time> =
            [died].into_iter().chain(p.at_client.iter().map(|c| c.0)).chain([p.now]).collect();
        times.windows(2).map(|w| w[1].since(w[0])).max().unwrap()
    };
    let (none, told) = (gap(None), gap(Some(([3000, 600], [6, 6]))));
    // Untold the other path carries on meanwhile, but what is in order waits for the dead one.
    assert!(told < ms(600) && told < none + ms(250), "{told:?} {none:?}");
}

#[test]
fn a_path_that_rests_stays_known_and_the_status_says_so() {
    let mut p = pair(Config::default());
    // Multiples of the wire's unit.
    let told = ([3000, 648], [6, 6]);
    flood(&mut p, End::Gateway, ms(6000), Some(told));
    for engine in [&p.client, &p.gateway] {
        let status = engine.status(p.now);
        let path = |id: u8| status.peers[0].paths.iter().find(|path| path.id == id).unwrap();
        assert_eq!([0, 1].map(|id| path(id).air.unwrap().air.packet_time.as_micros()), [3000, 648]);
        assert!(path(0).rtt.is_some_and(|rtt| rtt < ms(100)), "{:?}", path(0).rtt);
    }
    let status = p.gateway.status(p.now);
    assert!(status.peers[0].paths.iter().all(|path| path.air.unwrap().rests == (path.id == 0)));
    // Nobody says it again: the gateway goes on as ever.
    flood(&mut p, End::Gateway, ms(12_500), None);
    assert!(p.gateway.status(p.now).peers[0].paths.iter().all(|path| path.air.is_none()));
}

#[test]
fn a_gateway_that_was_restarted_is_told_again() {
    let mut p = pair(Config::default());
    let told = ([3000, 650], [6, 6]);
    flood(&mut p, End::Gateway, ms(3000), Some(told));
    p.restart_gateway();
    flood(&mut p, End::Client, ms(6000), Some(told));
    let paths = &p.gateway.status(p.now).peers[0].paths;
    assert!(paths.len() == 2 && paths.iter().all(|path| path.air.is_some()), "{paths:?}");
}
