//! Sessions under an attacker who records, repeats and races datagrams: two engines over simulated links.

use rand::{CryptoRng, RngCore};
use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::api::{Event, Input, Output, PathSpec};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_session::{Cipher, CipherSet, InviteId, InviteSecret, KeyLimits, StaticKey};
use ropewalk_tests::pair::{End, Pair, gateway_addr, udp};
use ropewalk_time::{Duration, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn link(mbps: f64, delay_ms: u64) -> LinkSpec {
    LinkSpec::new(mbps, ms(delay_ms))
}

/// Sends a packet each way every `gap` for `lasting`, from `first` on; gives the next number.
fn exchange(p: &mut Pair, first: u32, gap: Duration, lasting: Duration) -> u32 {
    let (end, mut n) = (p.now + lasting, first);
    while p.now < end {
        p.device(End::Client, &udp(End::Client, 7, n, 1200), Vnet::default());
        p.device(End::Gateway, &udp(End::Gateway, 8, n, 1200), Vnet::default());
        n += 1;
        p.run_for(gap);
    }
    n
}

/// How often the client was told that it has a session.
fn connections(p: &Pair) -> usize {
    p.events.iter().filter(|e| matches!(e.2, Event::Connected(_))).count()
}

/// The newest recorded datagram of the gateway on each path.
fn newest_of_the_gateway(captured: &[(End, Vec<u8>)], paths: u8) -> Vec<Vec<u8>> {
    let on = |path: u8| captured.iter().rev().find(|c| c.0 == End::Gateway && c.1[0] == 0x40 | path);
    (0..paths).map(|path| on(path).expect("the gateway sent something there").1.clone()).collect()
}

#[test]
fn a_recorded_datagram_of_the_session_before_does_not_silence_the_client() {
    let mut p = Pair::new(&[link(20.0, 10), link(20.0, 15)], Config::default(), 1);
    p.run_for(ms(1500));
    // Numbers beyond the replay window, so that one of them makes all of the next session too old.
    let next = exchange(&mut p, 0, Duration::from_micros(500), ms(20_000));
    p.capture = Some(Vec::new());
    let next = exchange(&mut p, next, ms(1), ms(500));
    let captured = p.capture.take().unwrap();

    p.restart_gateway();
    p.run_for(ms(3000));
    assert_eq!(connections(&p), 2, "the new gateway was found");
    for (path, mut bytes) in newest_of_the_gateway(&captured, 2).into_iter().enumerate() {
        p.inject(End::Client, path as u32, gateway_addr(), &mut bytes);
    }
    p.at_client.clear();
    let last = exchange(&mut p, next, ms(10), ms(30_000));
    p.run_for(ms(2000));
    assert!(p.at_client.len() as u32 >= last - next, "{} of {}", p.at_client.len(), last - next);
}

#[test]
fn a_client_that_hears_nothing_under_renewed_keys_makes_a_new_session() {
    let mut p = Pair::new(&[link(20.0, 10), link(20.0, 15)], Config::default(), 2);
    p.run_for(ms(1500));
    p.swallow_data = true;
    exchange(&mut p, 0, ms(20), ms(20_000));
    assert_eq!(connections(&p), 2, "after fifteen seconds");
    p.swallow_data = false;
    p.run_for(ms(3000));
    p.at_client.clear();
    exchange(&mut p, 10_000, ms(10), ms(1000));
    p.run_for(ms(500));
    assert!(p.at_client.len() >= 100, "{}", p.at_client.len());
}

#[test]
fn a_gateway_that_has_forgotten_is_found_within_seconds_however_slow_the_path_is() {
    let mut p = Pair::new(&[link(20.0, 4000)], Config::default(), 2);
    p.run_for(ms(40_000));
    exchange(&mut p, 0, ms(100), ms(20_000));
    assert_eq!(connections(&p), 1);
    p.restart_gateway();
    exchange(&mut p, 1000, ms(100), ms(35_000));
    assert_eq!(connections(&p), 2, "15 s, and a handshake of 8 s");
}

#[test]
fn an_outage_of_half_a_minute_does_not_end_the_session() {
    let mut p = Pair::new(&[link(20.0, 300), link(20.0, 400)], Config::default(), 2);
    p.run_for(ms(3000));
    (0..2).for_each(|path| p.set_up(path, false));
    exchange(&mut p, 0, ms(50), ms(30_000));
    (0..2).for_each(|path| p.set_up(path, true));
    exchange(&mut p, 1000, ms(50), ms(10_000));
    assert_eq!(connections(&p), 1, "the gateway had not forgotten it");
}

#[test]
fn a_renewal_of_keys_that_gets_no_answer_is_not_told_as_an_outage() {
    let config = Config { rekey_after: ms(3000), ..Config::default() };
    let mut p = Pair::new(&[link(20.0, 10)], config, 1);
    p.run_for(ms(1500));
    // From now on nobody works on the gateway's handshakes.
    p.gateway.hand_out_handshakes();
    let sent = exchange(&mut p, 0, ms(50), ms(15_000));
    p.run_for(ms(200));
    let is_cut_off = |p: &Pair| p.events.iter().any(|e| matches!(e.2, Event::Unreachable));
    assert_eq!((p.at_gateway.len() as u32, p.at_client.len() as u32), (sent, sent), "data goes on");
    assert!(p.client.status(p.now).peers[0].key_age.is_some_and(|age| age > ms(15_000)), "under old keys");
    assert!(!is_cut_off(&p));
    p.set_up(0, false);
    exchange(&mut p, sent, ms(50), ms(15_000));
    assert!(is_cut_off(&p), "there is no path now");
}

/// A racing copy of every datagram, from an address of the attacker's, from the first one on or later.
fn race(racer: &str, paths: &[LinkSpec], from_the_first: bool) {
    let mut p = Pair::new(paths, Config::default(), 3);
    if from_the_first {
        p.racer = Some(racer.parse().unwrap());
    }
    p.run_for(ms(1500));
    let true_route = p.client_at(0);
    p.racer = Some(racer.parse().unwrap());
    let sent = exchange(&mut p, 0, ms(2), ms(10_000));
    p.run_for(ms(500));
    assert!(p.at_client.len() as u32 > sent - sent / 50, "{} of {sent}", p.at_client.len());
    assert!(p.at_gateway.len() as u32 > sent - sent / 50, "{} of {sent}", p.at_gateway.len());
    assert_eq!(p.gateway.remote_of(0), Some(true_route), "nobody has answered from the other address");
}

#[test]
fn a_racing_copy_of_each_datagram_does_not_keep_a_path_from_carrying_data() {
    race("203.0.113.9:999", &[link(20.0, 10)], false);
    race("203.0.113.9:999", &[link(20.0, 10), link(20.0, 25)], false);
    race("10.1.1.1:999", &[link(20.0, 10)], false);
}

#[test]
fn a_racing_copy_of_each_datagram_does_not_keep_a_new_path_in_validation() {
    race("203.0.113.9:999", &[link(20.0, 10)], true);
    race("203.0.113.9:999", &[link(20.0, 10), link(20.0, 25)], true);
}

#[test]
fn a_racer_who_never_wins_twice_from_one_address_does_not_disturb() {
    let mut p = Pair::new(&[link(20.0, 10)], Config::default(), 6);
    p.run_for(ms(1500));
    let mut sent = 0;
    for n in 0..400u16 {
        p.racer = Some(SocketAddr::from(([203, 0, 113, (n % 250) as u8], 1000 + n)));
        sent = exchange(&mut p, sent, ms(5), ms(25));
    }
    p.run_for(ms(500));
    assert!(p.at_client.len() as u32 > sent - sent / 50, "{} of {sent}", p.at_client.len());
    assert_eq!(p.gateway.remote_of(0), Some(p.client_at(0)));
}

/// Each address was given up for the next one before its answer could be there.
#[test]
fn a_nat_that_alternates_ports_is_followed_over_a_long_way() {
    let mut p = Pair::new(&[link(20.0, 600)], Config::default(), 8);
    p.run_for(ms(6000));
    let mut sent = exchange(&mut p, 0, ms(50), ms(6000));
    let before = p.gateway.remote_of(0);
    assert_eq!(before, Some(p.client_at(0)));
    for n in 0..60 {
        p.ports[0] = 40_001 + n % 2;
        sent = exchange(&mut p, sent, ms(25), ms(100));
    }
    assert_ne!(p.gateway.remote_of(0), before, "nothing reaches the old port");
}

/// Randomness that turns into a constant.
#[derive(Clone, Default)]
struct Drying(Arc<AtomicBool>);

impl RngCore for Drying {
    fn next_u32(&mut self) -> u32 {
        let mut out = [0; 4];
        self.fill_bytes(&mut out);
        u32::from_be_bytes(out)
    }

    fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        if self.0.load(Ordering::Relaxed) {
            return out.fill(0x42);
        }
        // Any bytes that differ from draw to draw will do.
        out.iter_mut().enumerate().for_each(|(i, b)| *b = i as u8 ^ 0x5a);
    }
}

impl CryptoRng for Drying {}

/// Were there a generator in the engine, its state would tell whoever gets hold of it which keys were made before.
#[test]
fn ephemeral_keys_are_made_of_the_drivers_randomness_and_of_nothing_that_the_engine_keeps() {
    let source = Drying::default();
    let who = ClientConfig {
        key: StaticKey::from_bytes(&[1; 32]).unwrap(),
        gateway: StaticKey::from_bytes(&[2; 32]).unwrap().public(),
        invite: InviteId([1; 16]),
        secret: InviteSecret([2; 16]),
        ciphers: CipherSet::CHACHA,
        routes: Vec::new(),
    };
    let mut now = Time::from_millis(1000);
    let mut engine = Engine::client(Config::default(), who, Entropy::new(source.clone()), now);
    let route = Route { link: 0, remote: gateway_addr(), local: None };
    engine.add_path(PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 }, now);
    let mut inits: Vec<Vec<u8>> = Vec::new();
    while inits.len() < 3 {
        match engine.poll_output(now) {
            Output::Transmit(t)
                if inits.last().is_none_or(|last| last != t.bytes) || now > at(inits.len()) =>
            {
                inits.push(t.bytes.to_vec());
                source.0.store(true, Ordering::Relaxed);
            }
            Output::Timeout(due, _) => {
                now = now.max(due);
                engine.handle(Input::Timeout, now);
            }
            _ => {}
        }
    }
    assert_ne!(inits[0], inits[1], "a new INIT after ten seconds");
    assert!(inits[1] == inits[2], "the same draws, the same keys");
}

/// By then the client has made INIT number `n` anew: it repeats each for ten seconds.
fn at(n: usize) -> Time {
    Time::from_millis(1000 + 14_000 * n as u64)
}

#[test]
fn neither_end_uses_keys_for_longer_than_three_minutes() {
    // A client that would not renew its keys.
    let config = Config { rekey_after: Duration::from_secs(3600), ..Config::default() };
    let mut p = Pair::new(&[link(20.0, 10)], config, 4);
    p.run_for(ms(1500));
    let mut oldest = [Duration::ZERO; 2];
    let sent = (0..2000u32).inspect(|n| {
        p.device(End::Client, &udp(End::Client, 7, *n, 500), Vnet::default());
        p.device(End::Gateway, &udp(End::Gateway, 8, *n, 500), Vnet::default());
        p.run_for(ms(100));
        for (k, engine) in [&p.client, &p.gateway].into_iter().enumerate() {
            oldest[k] = oldest[k].max(engine.status(p.now).peers[0].key_age.unwrap_or_default());
        }
    });
    let sent = sent.count();
    let most = Duration::from_secs(180);
    assert!(oldest.iter().all(|age| *age <= most && *age > most / 2), "{oldest:?}");
    assert!(p.at_client.len() > sent - 20 && p.at_gateway.len() > sent - 20, "new keys take their place");
}

/// What a batch had beyond the limit was lost: the peer does not open it.
#[test]
fn a_batch_ends_where_its_keys_do() {
    let limit = 200;
    let key_limits = KeyLimits { blocks: limit, ..KeyLimits::NONE };
    let mut p = Pair::new(&[link(20.0, 10)], Config { key_limits, ..Config::default() }, 7);
    p.run_for(ms(1500));
    p.capture = Some(Vec::new());
    // A super-packet: what the path has room for of it leaves as one batch.
    let gso = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1372, csum_start: 20, csum_offset: 6 };
    p.device(End::Client, &udp(End::Client, 7, 0, 28 + 30 * 1372), gso);
    p.run_for(ms(1000));
    let mut sealed = BTreeMap::<[u8; 3], u64>::new();
    for (end, d) in p.capture.take().unwrap() {
        if end == End::Client && d[0] & 0xf0 == 0x40 {
            *sealed.entry([d[1], d[2], d[3]]).or_default() += Cipher::blocks(d.len() - 8);
        }
    }
    let most = sealed.values().copied().max().unwrap_or_default();
    assert!((limit..limit + Cipher::blocks(1500)).contains(&most), "{most} blocks by one set of keys");
}

/// What a gateway counts for its client, and what it sent to it in truth, with headers.
#[test]
fn what_a_client_carries_is_counted_once_however_often_its_session_begins_anew() {
    let mut p = Pair::new(&[link(20.0, 10), link(20.0, 15)], Config::default(), 2);
    p.gateway.meter(true);
    p.capture = Some(Vec::new());
    p.run_for(ms(1500));
    let next = exchange(&mut p, 0, ms(5), ms(2000));
    let mut counted = vec![p.gateway.take_carried()];
    assert!(p.gateway.take_carried().is_empty(), "told once");
    // The client hears nothing, and makes another session; the last of the old one counts.
    p.swallow_data = true;
    let next = exchange(&mut p, next, ms(20), ms(20_000));
    p.swallow_data = false;
    assert_eq!(connections(&p), 2);
    exchange(&mut p, next, ms(5), ms(1000));
    counted.push(p.gateway.take_carried());
    assert!(counted.iter().all(|c| c.len() == 1), "one client: {counted:?}");
    let counted: u64 = counted.iter().flatten().map(|(_, carried)| carried.sent).sum();
    let is_data = |(end, bytes): &&(End, Vec<u8>)| *end == End::Gateway && bytes[0] & 0xf0 == 0x40;
    let sent = p.capture.take().unwrap();
    let sent: u64 = sent.iter().filter(is_data).map(|(_, bytes)| bytes.len() as u64 + 28).sum();
    assert!(counted <= sent && counted * 100 >= sent * 99, "{counted} of {sent} bytes");
    // What was carried while nobody wanted to know is never told.
    p.gateway.meter(false);
    exchange(&mut p, 50_000, ms(5), ms(500));
    assert!(p.gateway.take_carried().is_empty());
    p.gateway.meter(true);
    assert!(p.gateway.take_carried().is_empty());
    exchange(&mut p, 60_000, ms(5), ms(500));
    let after = p.gateway.take_carried();
    assert!(after.len() == 1 && after[0].1.sent < sent / 4 && after[0].1.received > 0, "{after:?}");
}
