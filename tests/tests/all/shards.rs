//! A gateway of several engines against clients of one engine each, over fixed delays in virtual time.
//!
//! ```text
//!  INIT ──▶ engine 0 ──Visitor──▶ engine n      DATA ──▶ the engine that its index names
//!       ◀──          ◀───Reply───               gateway's device ──▶ the engine of the address
//! ```

use ropewalk_bond::api::{Admission, EVERYWHERE, Event, Input, Output, PathSpec, Registry};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine, Shard};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_session::{
    CipherSet, ClientHello, Inner, InviteId, InviteSecret, PublicKey, Refusal, StaticKey,
};
use ropewalk_tests::pair::{GATEWAY, gateway_addr};
use ropewalk_time::{Duration, Time};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

/// First bytes of handshake datagrams.
const INIT: u8 = 0x10;
const RESPONSE: u8 = 0x20;
const COOKIE: u8 = 0x30;
/// The number of the gateway among keys; clients have those from 0.
const SERVER: usize = 98;
/// Somebody who records and repeats datagrams.
const REPLAYER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9)), 999);
/// How long a datagram is on its way, milliseconds.
const DELAY: u64 = 10;
/// How long a visitor or a reply is on its way between two engines, microseconds.
const HOP: u64 = 50;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn key(number: usize) -> StaticKey {
    StaticKey::from_bytes(&[number as u8 + 1; 32]).unwrap()
}

/// A client's address inside; they are consecutive.
fn address(client: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, client as u8 + 2)
}

/// A client's address outside, on one of its two paths.
fn outer(client: usize, path: usize) -> SocketAddr {
    SocketAddr::from(([10, 1, client as u8, path as u8 + 1], 40_000))
}

/// A UDP packet that differs from all with other numbers.
fn packet(src: Ipv4Addr, dst: Ipv4Addr, number: u32) -> Vec<u8> {
    let (mut out, mut payload) = (Vec::new(), [0; 200]);
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let builder = etherparse::PacketBuilder::ipv4(src.octets(), dst.octets(), 64).udp(7, 9);
    builder.write(&mut out, &payload).expect("a vector takes any packet");
    out
}

fn small() -> Config {
    Config { memory_bytes: 8 << 20, max_packets: 4096, ..Config::default() }
}

/// The clients that all engines know, each with its address; `None`: it is revoked.
#[derive(Clone, Default)]
struct Guests(Arc<Mutex<BTreeMap<PublicKey, Option<Ipv4Addr>>>>);

impl Registry for Guests {
    fn admit(&mut self, client: &PublicKey, _: &ClientHello) -> Result<Admission, Refusal> {
        let known = *self.0.lock().unwrap().get(client).ok_or(Refusal::UnknownInvite)?;
        let ipv4 = Inner { client: known.ok_or(Refusal::Revoked)?, gateway: GATEWAY, prefix: 24 };
        Ok(Admission { ipv4, ipv6: None, networks: Vec::new(), device: 0 })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Gateway(u32),
    Client(usize),
}

/// What is heard of a client: a new session with this address, or from an engine of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Connected(Ipv4Addr),
    Refused(Refusal),
    Up(u32),
    Down(u32, &'static str),
}

use News::{Connected, Down, Refused, Up};

/// Something that is on its way to an engine.
type Arrival = Box<dyn FnOnce(&mut Engine, Time)>;

fn datagram(link: u32, remote: SocketAddr, mut bytes: Vec<u8>) -> Arrival {
    Box::new(move |engine: &mut Engine, now: Time| {
        let (segment, bytes) = (bytes.len(), &mut bytes[..]);
        engine.handle(Input::Datagrams { link, remote, local: None, segment, bytes, ecn: 0 }, now);
    })
}

#[derive(Default)]
struct Net {
    engines: BTreeMap<Who, Engine>,
    /// When each engine wants to be called.
    next: BTreeMap<Who, Time>,
    /// Engines of the gateway.
    of: u32,
    clients: usize,
    guests: Guests,
    config: Config,
    now: Time,
    /// One-way delay of each path, and between two engines of the gateway.
    delays: [Duration; 2],
    hop: Duration,
    flights: BTreeMap<(Time, u64), (Who, Arrival)>,
    /// Flights, packets and client engines so far.
    launched: u64,
    packets: u32,
    made: u16,
    delivered: Vec<(Who, Vec<u8>)>,
    news: Vec<(usize, News)>,
    inits: Vec<Vec<u8>>,
    /// What the gateway answered to INITs, and to where.
    answers: Vec<(SocketAddr, Vec<u8>)>,
    /// Visitors and replies so far.
    mail: (usize, usize),
}

impl Net {
    fn new(of: u32, config: Config, clients: usize) -> Net {
        let (now, delays, hop) = (Time::from_millis(1000), [ms(DELAY); 2], Duration::from_micros(HOP));
        let mut net = Net { of, config, now, delays, hop, ..Net::default() };
        for number in 0..of {
            let (inside, registry) = (vec![GATEWAY.into()], Box::new(net.guests.clone()));
            let entropy = Entropy::repeatable([200 - number as u8; 32]);
            let mut engine = Engine::gateway(net.config.clone(), key(SERVER), inside, registry, entropy, now);
            engine.set_shard(Shard::new(number, of).unwrap());
            net.engines.insert(Who::Gateway(number), engine);
            net.poll(Who::Gateway(number));
        }
        (0..clients).for_each(|_| net.add_client());
        net
    }

    fn add_client(&mut self) {
        let client = self.clients;
        self.clients += 1;
        self.guests.0.lock().unwrap().insert(key(client).public(), Some(address(client)));
        self.start(client);
    }

    /// Starts a client that knows nothing. One with the same key before it is killed.
    fn start(&mut self, client: usize) {
        self.made += 1;
        let mut seed = [0; 32];
        seed[..2].copy_from_slice(&self.made.to_be_bytes());
        let (entropy, now) = (Entropy::repeatable(seed), self.now);
        let config = ClientConfig {
            key: key(client),
            gateway: key(SERVER).public(),
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            ciphers: CipherSet::CHACHA,
            routes: EVERYWHERE.to_vec(),
        };
        let mut engine = Engine::client(self.config.clone(), config, entropy, now);
        for link in 0..2 {
            let route = Route { link, remote: gateway_addr(), local: None };
            let spec = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
            engine.add_path(spec, now).expect("a path");
        }
        self.engines.insert(Who::Client(client), engine);
        self.poll(Who::Client(client));
    }

    fn run_for(&mut self, lasting: Duration) {
        let until = self.now + lasting;
        let first = |net: &Net| net.next.values().copied().chain(net.flights.keys().map(|at| at.0)).min();
        while let Some(at) = first(self).filter(|at| *at <= until) {
            self.now = self.now.max(at);
            while self.flights.keys().next().is_some_and(|at| at.0 <= self.now) {
                let (_, (who, arrival)) = self.flights.pop_first().unwrap();
                self.act(who, arrival);
            }
            let due: Vec<Who> = self.next.iter().filter(|n| *n.1 <= self.now).map(|n| *n.0).collect();
            due.into_iter().for_each(|who| self.act(who, |engine, now| engine.handle(Input::Timeout, now)));
        }
        self.now = until;
    }

    fn engine(&mut self, who: Who) -> &mut Engine {
        self.engines.get_mut(&who).unwrap()
    }

    fn act(&mut self, who: Who, deed: impl FnOnce(&mut Engine, Time)) {
        let now = self.now;
        deed(self.engine(who), now);
        self.poll(who);
    }

    /// The engine of the gateway that a datagram is for.
    fn is_for(&self, bytes: &[u8]) -> Who {
        Who::Gateway(Shard::new(0, self.of).unwrap().number_for(bytes))
    }

    /// Somebody repeats a datagram, and the gateway answers.
    fn replay(&mut self, bytes: &[u8]) {
        self.act(self.is_for(bytes), datagram(0, REPLAYER, bytes.to_vec()));
        self.run_for(ms(1));
    }

    /// Polls an engine and does what it says, then carries its mail.
    fn poll(&mut self, who: Who) {
        let now = self.now;
        let next = loop {
            match self.engine(who).poll_output(now) {
                Output::Transmit(t) => {
                    let (route, segment, bytes) = (t.route, t.segment, t.bytes.to_vec());
                    bytes.chunks(segment).for_each(|datagram| self.send(who, route, datagram.to_vec()));
                }
                Output::Deliver { packet, .. } => {
                    let got = (who, packet.to_vec());
                    self.delivered.push(got);
                }
                Output::Event(event) => self.note(who, event),
                Output::Timeout(at, _) => break at,
            }
        };
        self.next.insert(who, next);
        while let Some((number, visitor)) = self.engine(who).next_visitor() {
            assert!(who == Who::Gateway(0) && number != 0, "only the first engine sends clients on");
            self.mail.0 += 1;
            self.launch(self.hop, Who::Gateway(number), Box::new(move |e, now| e.on_visitor(visitor, now)));
        }
        while let Some(reply) = self.engine(who).next_reply() {
            assert_ne!(who, Who::Gateway(0), "the first engine replies to nobody");
            self.mail.1 += 1;
            self.launch(self.hop, Who::Gateway(0), Box::new(move |e, now| e.on_reply(reply, now)));
        }
    }

    fn send(&mut self, who: Who, route: Route, bytes: Vec<u8>) {
        if let Who::Client(client) = who {
            if bytes[0] == INIT {
                self.inits.push(bytes.clone());
            }
            let (path, to) = (route.link as usize, self.is_for(&bytes));
            return self.launch(self.delays[path], to, datagram(0, outer(client, path), bytes));
        }
        if bytes[0] == RESPONSE || bytes[0] == COOKIE {
            assert_eq!(who, Who::Gateway(0), "the first engine says all answers");
            self.answers.push((route.remote, bytes.clone()));
        }
        let mut ways = (0..self.clients).flat_map(|client| [(client, 0), (client, 1)]);
        if let Some((client, path)) = ways.find(|(client, path)| outer(*client, *path) == route.remote) {
            let arrival = datagram(path as u32, gateway_addr(), bytes);
            self.launch(self.delays[path], Who::Client(client), arrival);
        }
    }

    fn launch(&mut self, delay: Duration, who: Who, arrival: Arrival) {
        self.flights.insert((self.now + delay, self.launched), (who, arrival));
        self.launched += 1;
    }

    fn note(&mut self, who: Who, event: Event) {
        let of = |whose: PublicKey| (0..self.clients).find(|client| key(*client).public() == whose).unwrap();
        let news = match (who, event) {
            (Who::Client(client), Event::Connected(accept)) => (client, Connected(accept.ipv4.client)),
            (Who::Client(client), Event::Refused(refusal)) => (client, Refused(refusal)),
            (Who::Gateway(number), Event::ClientUp { client, inside, .. }) => {
                assert_eq!(inside, [IpAddr::from(address(of(client)))]);
                (of(client), Up(number))
            }
            (Who::Gateway(number), Event::ClientDown { client, why }) => (of(client), Down(number, why)),
            _ => return,
        };
        self.news.push(news);
    }

    /// The operator revokes a client: the registry knows it, and each engine is told.
    fn revoke(&mut self, client: usize) {
        let key = key(client).public();
        self.guests.0.lock().unwrap().insert(key, None);
        (0..self.of).for_each(|n| self.act(Who::Gateway(n), |engine, _| engine.revoke(&key)));
    }

    /// Sends a packet each way for each of these clients: all arrive where they should, and nothing else.
    fn exchange(&mut self, clients: &[usize]) {
        self.delivered.clear();
        let mut due = Vec::new();
        for &client in clients {
            let (home, it, inside) = (Who::Gateway(self.home(client)), Who::Client(client), address(client));
            for (from, to, src, dst) in [(it, home, inside, GATEWAY), (home, it, GATEWAY, inside)] {
                self.packets += 1;
                let packet = packet(src, dst, self.packets);
                let input = Input::Device { device: 0, vnet: Vnet::default(), packet: &packet };
                self.act(from, |engine, now| engine.handle(input, now));
                due.push((to, packet));
            }
        }
        self.run_for(ms(300));
        let at: Vec<Who> = self.delivered.iter().map(|got| got.0).collect();
        assert!(due.iter().all(|packet| self.delivered.contains(packet)), "{clients:?}: arrived at {at:?}");
        assert_eq!(at.len(), due.len(), "{clients:?}: arrived at {at:?}");
    }

    /// The engine that a client's address names.
    fn home(&self, client: usize) -> u32 {
        u32::from(address(client)) % self.of
    }

    /// The engine of each session of a client, half-open ones included.
    fn sessions(&self, client: usize) -> Vec<u32> {
        let key = key(client).public();
        let peers = |number| self.engines[&Who::Gateway(number)].status(self.now).peers;
        let count = |number| peers(number).iter().filter(|peer| peer.key == key).count();
        (0..self.of).flat_map(|number| vec![number; count(number)]).collect()
    }

    /// What was heard of a client so far.
    fn news(&self, client: usize) -> Vec<News> {
        self.news.iter().filter(|news| news.0 == client).map(|news| news.1).collect()
    }

    /// What is heard of a client that comes in so many times.
    fn ins(&self, client: usize, times: usize) -> Vec<News> {
        [Connected(address(client)), Up(self.home(client))].repeat(times)
    }

    /// A client has come in so many times and has one session, in its own engine.
    fn assert_in(&self, client: usize, times: usize) {
        assert_eq!(self.news(client), self.ins(client, times), "client {client}");
        assert_eq!(self.sessions(client), [self.home(client)], "client {client}");
    }

    /// First bytes of what somebody was answered.
    fn kinds_to(&self, remote: SocketAddr) -> Vec<u8> {
        self.answers.iter().filter(|answer| answer.0 == remote).map(|answer| answer.1[0]).collect()
    }
}

/// Six clients come in at a gateway of so many engines, and packets pass both ways.
fn six_clients(engines: u32) -> Net {
    let mut net = Net::new(engines, small(), 6);
    net.run_for(ms(2000));
    (0..6).for_each(|client| net.assert_in(client, 1));
    net.exchange(&[0, 1, 2, 3, 4, 5]);
    net
}

#[test]
fn each_client_is_served_by_the_engine_that_its_address_names() {
    let net = six_clients(3);
    let share = |engine: u32| (0..6).filter(|client| net.sessions(*client) == [engine]).count();
    assert_eq!([0, 1, 2].map(share), [2, 2, 2]);
    assert_eq!(net.mail, (4, 4), "two clients are the first engine's own");
}

#[test]
fn one_engine_alone_does_the_same_and_has_no_mail() {
    let net = six_clients(1);
    assert!((0..6).all(|client| net.sessions(client) == [0]));
    assert_eq!(net.mail, (0, 0));
}

#[test]
fn renewed_keys_lead_to_the_same_engine_and_the_session_goes_on() {
    let mut net = Net::new(3, Config { rekey_after: ms(1500), ..small() }, 3);
    net.run_for(ms(1000));
    (0..25).for_each(|_| net.exchange(&[0, 1, 2]));
    for client in 0..3 {
        net.assert_in(client, 1);
        assert!(net.kinds_to(outer(client, 0)).len() >= 4, "new keys at least three times");
    }
}

#[test]
fn a_client_that_restarts_replaces_its_session_in_the_same_engine() {
    let mut net = Net::new(3, small(), 3);
    net.run_for(ms(2000));
    for client in 0..3 {
        net.start(client);
        net.run_for(ms(2000));
        net.assert_in(client, 2);
        net.exchange(&[0, 1, 2]);
    }
}

/// A client of another engine than the first, and an INIT of it that the gateway remembers no longer.
fn recorded() -> (Net, Vec<u8>) {
    let mut net = Net::new(3, small(), 1);
    net.run_for(ms(20_000));
    assert_ne!(net.home(0), 0);
    let init = net.inits[0].clone();
    (net, init)
}

#[test]
fn a_replay_does_not_push_out_keys_that_another_engine_offered() {
    let (mut net, init) = recorded();
    net.start(0);
    // The answer to its new INIT is on its way.
    net.run_for(ms(DELAY + DELAY / 2));
    assert_eq!(net.sessions(0), [net.home(0); 2]);
    net.replay(&init);
    assert_eq!(net.kinds_to(REPLAYER), [COOKIE]);
    net.run_for(ms(2000));
    net.assert_in(0, 2);
    net.exchange(&[0]);
    // Now that it has used its keys, a replay may lead to others, which change nothing.
    net.replay(&init);
    assert_eq!(net.kinds_to(REPLAYER), [COOKIE, RESPONSE]);
    net.exchange(&[0]);
}

#[test]
fn a_client_comes_in_beside_an_offer_that_another_engine_made_to_a_replayer() {
    let (mut net, init) = recorded();
    net.replay(&init);
    assert_eq!(net.kinds_to(REPLAYER), [RESPONSE]);
    net.answers.clear();
    net.start(0);
    net.run_for(ms(2000));
    assert_eq!(net.kinds_to(outer(0, 0)), [COOKIE, RESPONSE], "it shows where it is");
    net.assert_in(0, 2);
    net.exchange(&[0]);
}

#[test]
fn a_revoked_client_is_told_so_whichever_engine_serves_it() {
    let mut net = Net::new(3, small(), 6);
    net.run_for(ms(2000));
    for client in 0..3 {
        net.revoke(client);
        net.run_for(ms(500));
        let gone = [Down(net.home(client), "revoked"), Refused(Refusal::Revoked)];
        let mut news = [&net.ins(client, 1)[..], &gone[..]].concat();
        assert_eq!((net.news(client), net.sessions(client)), (news.clone(), vec![]));
        let mail = net.mail;
        net.start(client);
        net.run_for(ms(2000));
        news.push(Refused(Refusal::Revoked));
        assert_eq!((net.news(client), net.sessions(client)), (news, vec![]));
        assert_eq!(net.mail, mail, "the first engine refuses it");
    }
    net.exchange(&[3, 4, 5]);
}

#[test]
fn a_client_that_is_revoked_on_its_way_to_its_engine_is_refused() {
    let mut net = Net::new(3, small(), 1);
    net.hop = ms(DELAY / 2);
    net.run_for(ms(DELAY + 2));
    assert_eq!(net.mail, (1, 0));
    net.revoke(0);
    net.run_for(ms(500));
    assert_eq!((net.news(0), net.sessions(0)), (vec![Refused(Refusal::Revoked)], vec![]));
}

#[test]
fn copies_of_an_init_are_answered_by_both_paths_whichever_engine_serves_the_client() {
    // The second copy comes while the client's engine is being asked, or after it has replied.
    for second in [DELAY, 6 * DELAY] {
        let mut net = Net::new(3, small(), 1);
        (net.delays[1], net.hop) = (ms(second), ms(DELAY / 2));
        net.run_for(ms(200));
        assert_eq!([0, 1].map(|path| net.kinds_to(outer(0, path))), [[RESPONSE], [RESPONSE]], "{second} ms");
        assert_eq!(net.answers[0].1, net.answers[1].1, "{second} ms");
        assert_eq!((net.inits.len(), net.mail), (2, (1, 1)), "it was asked once");
    }
}

#[test]
fn a_client_whose_engine_is_full_is_told_busy_and_disturbs_nobody() {
    let busy = Refused(Refusal::Busy);
    let mut net = Net::new(3, Config { max_peers: 1, ..small() }, 3);
    net.run_for(ms(2000));
    for late in 3..6 {
        net.add_client();
        net.run_for(ms(100));
        assert_eq!((net.news(late), net.sessions(late)), (vec![busy], vec![]));
    }
    net.exchange(&[0, 1, 2]);
    // Who is in may come again.
    net.start(0);
    net.run_for(ms(2000));
    net.assert_in(0, 2);
    // One goes, and who waits for its engine asks again within four seconds.
    net.act(Who::Client(0), |engine, _| engine.close());
    net.run_for(ms(4000));
    assert_eq!(net.news(0).last(), Some(&Down(net.home(0), "it said goodbye")));
    assert_eq!(net.news(3), [&[busy][..], &net.ins(3, 1)[..]].concat());
    assert_eq!([4, 5].map(|late| net.news(late)), [[busy; 2], [busy; 2]]);
    (1..3).for_each(|client| net.assert_in(client, 1));
    net.exchange(&[1, 2, 3]);
}

/// What waits for keys at an engine whose handshakes nobody works on.
fn waiting(net: &mut Net, who: Who) -> usize {
    std::iter::from_fn(|| net.engine(who).next_handshake()).count()
}

#[test]
fn clients_that_an_engine_has_no_time_for_ask_again_and_fill_no_memory() {
    let mut net = Net::new(2, small(), 2);
    net.run_for(ms(100));
    net.engine(Who::Gateway(1)).hand_out_handshakes();
    for _ in 0..400 {
        net.start(1);
        net.run_for(ms(30));
    }
    assert_eq!(waiting(&mut net, Who::Gateway(1)), 256);
    // The null case: now there is time for one.
    net.start(1);
    net.run_for(ms(30));
    assert_eq!(waiting(&mut net, Who::Gateway(1)), 1);
}
