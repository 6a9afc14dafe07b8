//! An access point with several repeaters: whose packets, whose links, who may not come in. Datagrams arrive at once; nothing here is about time.

use core::net::{Ipv4Addr, SocketAddr};
use ipnet::IpNet;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use ropewalk_bond::api::{Admission, EVERYWHERE, Event, Input, Output, PathSpec, Registry};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::feedback::{LinkState, Source};
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::schedule::Kind;
use ropewalk_bond::vnet::Vnet;
use ropewalk_cc::Algorithm;
use ropewalk_session::{
    BackhaulEnd, BackhaulRole, CipherSet, ClientHello, Inner, InviteId, InviteSecret, Layer, PublicKey,
    Refusal, StaticKey,
};
use ropewalk_tests::pair::number;
use ropewalk_time::{Duration, Time};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const AP: usize = 0;

/// The client whose key came as the n-th has the address 10.77.0.(2 + n), the device 100 + n, and the networks that it names.
struct Book(Vec<PublicKey>);

impl Registry for Book {
    fn admit(&mut self, key: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let at = self.0.iter().position(|k| k == key).unwrap_or_else(|| {
            self.0.push(*key);
            self.0.len() - 1
        });
        let client = Ipv4Addr::new(10, 77, 0, 2 + at as u8);
        let networks = BackhaulEnd::of(&hello.extensions).map(|h| h.networks).unwrap_or_default();
        let ipv4 = Inner { client, gateway: GATEWAY, prefix: 24 };
        Ok(Admission { ipv4, ipv6: None, networks, device: 100 + at as u32 })
    }
}

/// Engine 0 is the access point, the others are its repeaters.
struct Site {
    engines: Vec<Engine>,
    /// The access point's.
    key: StaticKey,
    /// The repeaters'.
    who: Vec<ClientConfig>,
    /// Nobody is there to hear what is sent to the access point.
    ap_is_away: bool,
    now: Time,
    /// What each engine had for its devices, and for which.
    delivered: Vec<Vec<(u32, Vec<u8>)>>,
    refused: Vec<Option<Refusal>>,
}

fn backhaul(role: BackhaulRole, layer: Layer, networks: &[&str]) -> Option<BackhaulEnd> {
    Some(BackhaulEnd {
        role,
        layer,
        networks: networks.iter().map(|n| n.parse::<IpNet>().unwrap()).collect(),
    })
}

fn config(backhaul: Option<BackhaulEnd>) -> Config {
    let congestion = Algorithm::None;
    Config {
        backhaul,
        scheduler: Kind::Backpressure,
        congestion,
        memory_bytes: 16 << 20,
        max_packets: 4096,
        ..Config::default()
    }
}

fn remote(engine: usize) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(192, 0, 2, 1 + engine as u8).into(), 4500)
}

fn access_point(backhaul: Option<BackhaulEnd>, key: &StaticKey, now: Time) -> Engine {
    Engine::gateway(
        config(backhaul),
        key.clone(),
        vec![GATEWAY.into()],
        Box::new(Book(Vec::new())),
        Entropy::repeatable([1; 32]),
        now,
    )
}

fn repeater(backhaul: Option<BackhaulEnd>, who: &ClientConfig, seed: u8, now: Time) -> Engine {
    let mut engine = Engine::client(config(backhaul), who.clone(), Entropy::repeatable([seed; 32]), now);
    let route = Route { link: 0, remote: remote(AP), local: None };
    engine.add_path(PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 }, now);
    engine
}

impl Site {
    fn new(ap: Option<BackhaulEnd>, repeaters: Vec<Option<BackhaulEnd>>) -> Site {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let key = StaticKey::generate(&mut rng).unwrap();
        let gateway = key.public();
        let mut engines = vec![access_point(ap, &key, Time::ZERO)];
        let mut who = Vec::new();
        for (i, backhaul) in repeaters.into_iter().enumerate() {
            who.push(ClientConfig {
                key: StaticKey::generate(&mut rng).unwrap(),
                gateway,
                invite: InviteId([i as u8; 16]),
                secret: InviteSecret::generate(&mut rng),
                ciphers: CipherSet::of_this_cpu(),
                routes: EVERYWHERE.to_vec(),
            });
            engines.push(repeater(backhaul, &who[i], 2 + i as u8, Time::ZERO));
        }
        let n = engines.len();
        Site {
            engines,
            key,
            who,
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
                Output::Deliver { device, packet, .. } => self.delivered[i].push((device, packet.to_vec())),
                Output::Event(Event::Refused(refusal)) => self.refused[i] = Some(refusal),
                Output::Event(_) => {}
                Output::Timeout(..) => return out,
            }
        }
    }

    /// The only device of an engine has a packet.
    fn device(&mut self, i: usize, packet: &[u8]) {
        self.port(i, 0, packet);
    }

    /// One of its devices has.
    fn port(&mut self, i: usize, device: u32, packet: &[u8]) {
        self.engines[i].handle(Input::Device { device, vnet: Vnet::default(), packet }, self.now);
        self.settle();
    }

    fn taken(&mut self, i: usize) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.delivered[i]).into_iter().map(|(_, packet)| packet).collect()
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
    let repeater = |network| backhaul(BackhaulRole::Repeater, Layer::Three, &[network]);
    let repeaters = vec![repeater("192.168.0.0/16"), repeater("192.168.8.0/24")];
    let mut site = Site::new(backhaul(BackhaulRole::AccessPoint, Layer::Three, &[]), repeaters);
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
        site.engines[AP].status(now).peers.iter().filter_map(|p| p.paths[0].link.map(|l| l.source)).collect()
    };
    assert_eq!(sources(&site), [Source::Acknowledgements, Source::Link]);
    // Without a name nobody is meant.
    site.engines[AP].handle(Input::Link { peer: None, path: 0, state }, now);
    assert_eq!(sources(&site), [Source::Acknowledgements, Source::Link]);
    assert_eq!(site.engines[AP].status(now).drops.unroutable, 1);
}

#[test]
fn who_is_not_the_other_end_is_told_so() {
    let ap = || backhaul(BackhaulRole::AccessPoint, Layer::Three, &[]);
    let cases = [
        (ap(), None, Refusal::NoRepeater),
        (ap(), backhaul(BackhaulRole::Repeater, Layer::Two, &[]), Refusal::OtherLayer),
        (None, backhaul(BackhaulRole::Repeater, Layer::Three, &[]), Refusal::NoAccessPoint),
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
        site.engines[AP] =
            access_point(backhaul(BackhaulRole::AccessPoint, Layer::Three, &[]), &site.key, site.now);
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
    let repeater = || backhaul(BackhaulRole::Repeater, Layer::Two, &[]);
    let mut site = Site::new(
        backhaul(BackhaulRole::AccessPoint, Layer::Two, &[]),
        (0..repeaters).map(|_| repeater()).collect(),
    );
    site.run(50);
    site
}

/// Which engines had something for which of their devices since.
fn got(site: &mut Site) -> Vec<(usize, u32)> {
    let all = site.delivered.iter_mut().map(std::mem::take).enumerate();
    all.flat_map(|(i, packets)| packets.into_iter().map(move |(device, _)| (i, device))).collect()
}

#[test]
fn a_frame_goes_whole_to_the_repeater_whose_device_had_it_whoever_it_is_for() {
    let mut site = bridged(3);
    let tagged = [&STATION[..], &SERVER, &[0x81, 0, 0, 7, 0x88, 0xb5], &[5; 1400]].concat();
    for frame in [frame(STATION, SERVER, "to one"), frame(ALL, SERVER, "to all"), tagged] {
        for n in 0..3 {
            site.port(AP, 100 + n as u32, &frame);
            assert_eq!(site.taken(1 + n), [&frame[..]]);
            assert_eq!(got(&mut site), []);
        }
    }
    let before = site.engines[AP].status(site.now).drops.unroutable;
    site.port(AP, 103, &frame(ALL, SERVER, "to nobody"));
    assert_eq!(got(&mut site), []);
    assert_eq!(site.engines[AP].status(site.now).drops.unroutable, before + 1);
}

#[test]
fn what_a_repeater_sends_comes_out_of_its_own_device_only() {
    let mut site = bridged(3);
    for n in 0..3 {
        for frame in [frame(STATION, SERVER, "to one"), frame(ALL, SERVER, "to all")] {
            site.device(1 + n, &frame);
            assert_eq!(got(&mut site), [(AP, 100 + n as u32)]);
        }
    }
}

#[test]
fn a_repeater_that_starts_anew_keeps_its_device_and_one_that_leaves_has_none() {
    let mut site = bridged(2);
    let hello = frame(ALL, STATION, "hello");
    let again = repeater(backhaul(BackhaulRole::Repeater, Layer::Two, &[]), &site.who[1], 77, site.now);
    site.engines[2] = again;
    site.run(50);
    site.device(2, &hello);
    assert_eq!(got(&mut site), [(AP, 101)]);
    site.port(AP, 101, &hello);
    assert_eq!(got(&mut site), [(2, 0)]);
    // It has said goodbye behind its last frame, which still comes out of its device.
    site.engines[2].handle(Input::Device { device: 0, vnet: Vnet::default(), packet: &hello }, site.now);
    site.engines[2].close();
    site.settle();
    assert_eq!(got(&mut site), [(AP, 101)]);
    site.port(AP, 101, &hello);
    site.port(AP, 100, &hello);
    assert_eq!(got(&mut site), [(1, 0)]);
}

#[test]
fn a_frame_that_is_too_long_is_dropped_and_counted() {
    let mut site = bridged(1);
    let mtu = site.engines[AP].config().tun_mtu as usize;
    let of_length = |payload: usize| [&STATION[..], &SERVER, &[0x88, 0xb5], &vec![0; payload]].concat();
    site.port(AP, 100, &of_length(mtu));
    assert_eq!(got(&mut site), [(1, 0)]);
    site.port(AP, 100, &of_length(mtu + 1));
    assert_eq!(got(&mut site), []);
    assert_eq!(site.engines[AP].status(site.now).drops.too_long, 1);
}
