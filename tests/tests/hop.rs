//! An access point with several repeaters: whose packets, whose links, who may not come in. Datagrams arrive at once; nothing here is about time.

use core::net::{Ipv4Addr, SocketAddr};
use ipnet::IpNet;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use ropewalk_bond::api::{Admission, EVERYWHERE, Event, Input, Output, PathSpec, Registry};
use ropewalk_bond::cc::Algorithm;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::feedback::{LinkState, Source};
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::schedule::Kind;
use ropewalk_bond::session::{
    CipherSet, ClientHello, Hop, HopRole, Inner, InviteId, InviteSecret, Layer, PublicKey, Refusal, StaticKey,
};
use ropewalk_bond::time::{Duration, Time};
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::number;

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const AP: usize = 0;

/// The client whose key came as the n-th has the address 10.77.0.(2 + n), and the networks that it names.
struct Book(Vec<PublicKey>);

impl Registry for Book {
    fn admit(&mut self, key: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let at = self.0.iter().position(|k| k == key).unwrap_or_else(|| {
            self.0.push(*key);
            self.0.len() - 1
        });
        let client = Ipv4Addr::new(10, 77, 0, 2 + at as u8);
        let networks = Hop::of(&hello.extensions).map(|h| h.networks).unwrap_or_default();
        Ok(Admission { ipv4: Inner { client, gateway: GATEWAY, prefix: 24 }, ipv6: None, networks })
    }
}

/// Engine 0 is the access point, the others are its repeaters.
struct Site {
    engines: Vec<Engine>,
    /// The access point's.
    key: StaticKey,
    /// Nobody is there to hear what is sent to the access point.
    ap_is_away: bool,
    now: Time,
    /// What each device got.
    delivered: Vec<Vec<Vec<u8>>>,
    refused: Vec<Option<Refusal>>,
}

fn hop(role: HopRole, layer: Layer, networks: &[&str]) -> Option<Hop> {
    Some(Hop { role, layer, networks: networks.iter().map(|n| n.parse::<IpNet>().unwrap()).collect() })
}

fn config(hop: Option<Hop>) -> Config {
    let congestion = Algorithm::None;
    Config {
        hop,
        scheduler: Kind::Backpressure,
        congestion,
        memory_bytes: 16 << 20,
        records: 4096,
        ..Config::default()
    }
}

fn remote(engine: usize) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(192, 0, 2, 1 + engine as u8).into(), 4500)
}

fn access_point(hop: Option<Hop>, key: &StaticKey, now: Time) -> Engine {
    Engine::gateway(config(hop), key.clone(), vec![GATEWAY.into()], Box::new(Book(Vec::new())), [1; 32], now)
}

impl Site {
    fn new(ap: Option<Hop>, repeaters: Vec<Option<Hop>>) -> Site {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let key = StaticKey::generate(&mut rng).unwrap();
        let gateway = key.public();
        let mut engines = vec![access_point(ap, &key, Time::ZERO)];
        for (i, hop) in repeaters.into_iter().enumerate() {
            let who = ClientConfig {
                key: StaticKey::generate(&mut rng).unwrap(),
                gateway,
                invite: InviteId([i as u8; 16]),
                secret: InviteSecret::generate(&mut rng),
                ciphers: CipherSet::of_this_cpu(),
                routes: EVERYWHERE.to_vec(),
            };
            let mut engine = Engine::client(config(hop), who, [2 + i as u8; 32], Time::ZERO);
            let route = Route { link: 0, remote: remote(AP), local: None };
            engine.add_path(
                PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 },
                Time::ZERO,
            );
            engines.push(engine);
        }
        let n = engines.len();
        Site {
            engines,
            key,
            ap_is_away: false,
            now: Time::ZERO,
            delivered: vec![Vec::new(); n],
            refused: vec![None; n],
        }
    }

    /// Hands on what there is, until nothing moves, and again after every millisecond.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            for i in 0..self.engines.len() {
                self.engines[i].handle(Input::Timeout, self.now);
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for i in 0..self.engines.len() {
                for (to, bytes, segment) in self.poll(i) {
                    moved = true;
                    self.arrive(i, to, bytes, segment);
                }
            }
        }
    }

    fn arrive(&mut self, from: usize, to: SocketAddr, mut bytes: Vec<u8>, segment: usize) {
        let Some(engine) = (0..self.engines.len()).find(|e| remote(*e) == to) else { return };
        if engine == AP && self.ap_is_away {
            return;
        }
        let input = Input::Datagrams {
            link: 0,
            remote: remote(from),
            local: None,
            segment,
            bytes: &mut bytes,
            ecn: 0,
        };
        self.engines[engine].handle(input, self.now);
    }

    fn poll(&mut self, i: usize) -> Vec<(SocketAddr, Vec<u8>, usize)> {
        let mut out = Vec::new();
        loop {
            match self.engines[i].poll_output(self.now) {
                Output::Transmit(t) => out.push((t.route.remote, t.bytes.to_vec(), t.segment)),
                Output::Deliver { packet, .. } => self.delivered[i].push(packet.to_vec()),
                Output::Event(Event::Refused(refusal)) => self.refused[i] = Some(refusal),
                Output::Event(_) => {}
                Output::Timeout(..) => return out,
            }
        }
    }

    fn device(&mut self, i: usize, packet: &[u8]) {
        self.engines[i].handle(Input::Device { vnet: Vnet::default(), packet }, self.now);
        self.settle();
    }

    fn taken(&mut self, i: usize) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.delivered[i])
    }
}

/// A UDP packet with a number in its first bytes.
fn udp(src: [u8; 4], dst: [u8; 4], number: u32) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = etherparse::PacketBuilder::ipv4(src, dst, 64).udp(7, 8);
    builder.write(&mut packet, &number.to_be_bytes()).unwrap();
    packet
}

fn ap_and_two() -> Site {
    let repeater = |network| hop(HopRole::Repeater, Layer::Three, &[network]);
    let repeaters = vec![repeater("192.168.0.0/16"), repeater("192.168.8.0/24")];
    let mut site = Site::new(hop(HopRole::AccessPoint, Layer::Three, &[]), repeaters);
    site.run(50);
    site
}

#[test]
fn packets_go_to_the_repeater_that_they_lie_behind_and_the_longest_prefix_wins() {
    let mut site = ap_and_two();
    for (dst, whose) in
        [([192, 168, 8, 9], 2), ([192, 168, 7, 9], 1), ([10, 77, 0, 3], 2), ([10, 77, 0, 2], 1)]
    {
        site.device(AP, &udp([10, 5, 0, 1], dst, 1));
        assert_eq!([1, 2].map(|i| site.taken(i).len()), [1, 2].map(|i| usize::from(i == whose)), "{dst:?}");
    }
    let before = site.engines[AP].status(site.now).drops.unroutable;
    site.device(AP, &udp([10, 5, 0, 1], [172, 16, 0, 1], 1));
    assert_eq!(site.engines[AP].status(site.now).drops.unroutable, before + 1);
}

#[test]
fn a_repeater_sends_from_its_own_networks_only() {
    let mut site = ap_and_two();
    site.device(2, &udp([192, 168, 8, 5], [10, 5, 0, 1], 1));
    site.device(2, &udp([192, 168, 9, 5], [10, 5, 0, 1], 2));
    site.device(1, &udp([192, 168, 9, 5], [10, 5, 0, 1], 3));
    let numbers: Vec<u32> = site.taken(AP).iter().map(|p| number(p)).collect();
    assert_eq!((numbers, site.engines[AP].status(site.now).drops.inner), (vec![1, 3], 1));
}

#[test]
fn what_a_link_says_reaches_the_path_of_the_peer_that_is_named() {
    let mut site = ap_and_two();
    let now = site.now;
    let keys: Vec<PublicKey> = site.engines[AP].status(now).peers.iter().map(|p| p.key).collect();
    let state = LinkState { epoch: 1, ..LinkState::default() };
    site.engines[AP].handle(Input::Link { peer: Some(keys[1]), path: 0, state }, now);
    let sources = |site: &Site| -> Vec<Source> {
        site.engines[AP].status(now).peers.iter().map(|p| p.paths[0].held.source).collect()
    };
    assert_eq!(sources(&site), [Source::Acknowledgements, Source::Link]);
    // Without a name nobody is meant.
    site.engines[AP].handle(Input::Link { peer: None, path: 0, state }, now);
    assert_eq!(sources(&site), [Source::Acknowledgements, Source::Link]);
    assert_eq!(site.engines[AP].status(now).drops.unroutable, 1);
}

#[test]
fn who_is_not_the_other_end_is_told_so() {
    let ap = || hop(HopRole::AccessPoint, Layer::Three, &[]);
    let cases = [
        (ap(), None, Refusal::NoRepeater),
        (ap(), hop(HopRole::Repeater, Layer::Two, &[]), Refusal::OtherLayer),
        (None, hop(HopRole::Repeater, Layer::Three, &[]), Refusal::NoAccessPoint),
    ];
    for (gateway, client, refusal) in cases {
        let mut site = Site::new(gateway, vec![client]);
        site.run(50);
        assert_eq!(site.refused[1], Some(refusal));
        assert!(site.engines[AP].status(site.now).peers.is_empty());
    }
}

/// The repeater asks at ever longer intervals, but not longer than its clients wait.
#[test]
fn an_access_point_that_was_away_is_found_again_within_a_second() {
    for away_ms in [100, 3_000, 4_700, 20_000] {
        let mut site = ap_and_two();
        site.ap_is_away = true;
        site.run(away_ms);
        site.engines[AP] = access_point(hop(HopRole::AccessPoint, Layer::Three, &[]), &site.key, site.now);
        site.ap_is_away = false;
        let is_back = |site: &Site| {
            let peers = site.engines[AP].status(site.now).peers;
            peers.len() == 2 && peers.iter().all(|p| p.up)
        };
        let since = site.now;
        while !is_back(&site) {
            site.run(10);
            // Until the silence is noticed, and a second more.
            assert!(site.now.since(since) < Duration::from_millis(2_500), "away for {away_ms} ms");
        }
    }
}

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];
const SERVER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ALL: [u8; 6] = [0xff; 6];

/// A frame of a type that nobody knows.
fn frame(dst: [u8; 6], src: [u8; 6], text: &str) -> Vec<u8> {
    [&dst[..], &src, &[0x88, 0xb5], text.as_bytes(), &[0; 46]].concat()
}

fn bridged(repeaters: usize) -> Site {
    let repeater = || hop(HopRole::Repeater, Layer::Two, &[]);
    let mut site =
        Site::new(hop(HopRole::AccessPoint, Layer::Two, &[]), (0..repeaters).map(|_| repeater()).collect());
    site.run(50);
    site
}

/// Who got something since.
fn got(site: &mut Site) -> Vec<usize> {
    let engines = 0..site.engines.len();
    engines.filter(|i| !site.taken(*i).is_empty()).collect()
}

#[test]
fn frames_pass_whole_and_find_the_repeater_of_their_station() {
    let mut site = bridged(3);
    // To nobody known: to all.
    site.device(AP, &frame(STATION, SERVER, "where"));
    assert_eq!(got(&mut site), [1, 2, 3]);
    let here = frame(SERVER, STATION, "here");
    site.device(2, &here);
    assert_eq!(site.taken(AP), [here]);
    got(&mut site);
    site.device(AP, &frame(STATION, SERVER, "there"));
    assert_eq!(got(&mut site), [2]);
    // A tag stays where it is.
    let tagged = [&STATION[..], &SERVER, &[0x81, 0, 0, 7, 0x88, 0xb5], &[5; 1500 - 6]].concat();
    site.device(AP, &tagged[..1400]);
    assert_eq!(site.taken(2), [&tagged[..1400]]);
    // It moves, and then to the access point's own side.
    site.device(3, &frame(ALL, STATION, "moved"));
    assert_eq!(got(&mut site), [0, 1, 2], "a broadcast goes everywhere but back");
    site.device(AP, &frame(STATION, SERVER, "there"));
    assert_eq!(got(&mut site), [3]);
    site.device(AP, &frame(ALL, STATION, "home"));
    got(&mut site);
    let bridge = site.engines[AP].status(site.now).bridge.unwrap();
    assert_eq!((bridge.moved, bridge.looped), (2, 0));
}

#[test]
fn stations_of_two_repeaters_reach_each_other_and_the_device_hears_only_what_concerns_it() {
    let mut site = bridged(2);
    let other = [2, 0, 0, 0, 0, 8];
    site.device(1, &frame(ALL, STATION, "hello"));
    site.device(2, &frame(ALL, other, "hello"));
    got(&mut site);
    site.device(1, &frame(other, STATION, "psst"));
    assert_eq!(got(&mut site), [2]);
    site.device(1, &frame(STATION, STATION, "me"));
    assert_eq!(got(&mut site), [] as [usize; 0], "both are behind one repeater");
}

/// The two bridges are joined by a cable besides, on which a frame takes `late` milliseconds; how often the device of each end got the station's one frame.
fn round_a_cable(site: &mut Site, frame: &[u8], late: u64) -> [usize; 2] {
    let mut got = [0; 2];
    // The bridges flood: what comes from a device or a station goes by the cable, and what comes by the cable goes to the device.
    let mut cable = vec![(site.now + Duration::from_millis(late), AP)];
    site.device(1, frame);
    for _ in 0..3000 {
        site.run(1);
        for end in [AP, 1] {
            let copies = site.taken(end).iter().filter(|f| *f == frame).count();
            got[end] += copies;
            let at = site.now + Duration::from_millis(late);
            cable.extend(std::iter::repeat_n((at, 1 - end), copies));
        }
        let now = site.now;
        let due: Vec<usize> = cable.extract_if(.., |c| c.0 <= now).map(|c| c.1).collect();
        due.into_iter().for_each(|end| site.device(end, frame));
    }
    got
}

#[test]
fn a_loop_is_broken_even_if_the_other_way_is_slower_or_faster() {
    for late in [1, 3, 40, 300] {
        for dst in [ALL, [0x33, 0x33, 0, 0, 0, 0xfb], STATION] {
            let mut site = bridged(1);
            // The loop is known by what goes to a group; frames to a station that nobody knows go round with it.
            let mut got = round_a_cable(&mut site, &frame(ALL, SERVER, "hello"), late);
            if dst != ALL {
                got = round_a_cable(&mut site, &frame(dst, SERVER, "round"), late);
            }
            assert!(got.iter().sum::<usize>() <= 4, "{dst:?} by a cable of {late} ms: {got:?} times");
            let looped = |end: usize| site.engines[end].status(site.now).bridge.unwrap().looped;
            assert!(looped(AP) + looped(1) > 0);
        }
    }
}

#[test]
fn what_comes_back_and_what_is_too_long_is_dropped_and_counted() {
    let mut site = bridged(1);
    let hello = frame(ALL, STATION, "hello");
    site.device(1, &hello);
    assert_eq!(got(&mut site), [AP]);
    site.device(AP, &hello);
    assert_eq!(got(&mut site), [] as [usize; 0]);
    site.run(1001);
    site.device(AP, &hello);
    assert_eq!(got(&mut site), [1], "a second later it is meant");
    let config = site.engines[AP].config().tun_mtu as usize;
    site.device(AP, &[frame(STATION, SERVER, "long"), vec![0; config]].concat());
    assert_eq!(got(&mut site), [] as [usize; 0]);
    let bridge = site.engines[AP].status(site.now).bridge.unwrap();
    assert_eq!((bridge.looped, bridge.jumbo), (1, 1));
}
