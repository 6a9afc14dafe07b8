//! A gateway and many who want in: what a flood of handshakes costs, who goes first, and what a refused one costs.

use rand::SeedableRng;
use rand_chacha::{ChaCha8Rng, ChaCha12Rng};
use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::api::{Admission, Event, Input, Output, Registry};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{Engine, HandshakeResult};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::STREAMS;
use ropewalk_bond::vnet::Vnet;
use ropewalk_bond::wire::{HEADER, Header, TAG, Timestamp, Writer};
use ropewalk_session::{
    CipherSet, ClientHello, Cookie, Extensions, Index, Initiator, InviteId, InviteSecret, Outcome, PublicKey,
    Refusal, ResponderConfig, SessionId, StaticKey,
};
use ropewalk_tests::pair::{End, GATEWAY, OpenDoor, Pair, number, udp};
use ropewalk_time::{Duration, Time};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn hello(resume: Option<SessionId>) -> ClientHello {
    ClientHello {
        ciphers: CipherSet::CHACHA,
        tun_mtu: 1420,
        resume,
        invite: InviteId([1; 16]),
        secret: InviteSecret([2; 16]),
        extensions: Extensions::default(),
    }
}

/// A client's INIT, and how its answer is read.
fn initiator(gateway: PublicKey, client: u8, number: u32) -> Initiator {
    with_cookie(gateway, client, number, None)
}

fn with_cookie(gateway: PublicKey, client: u8, number: u32, cookie: Option<Cookie>) -> Initiator {
    let mut rng = ChaCha12Rng::seed_from_u64(u64::from(number) << 8 | u64::from(client));
    let hello = hello(None);
    let (key, index) = (StaticKey::from_bytes(&[client; 32]).unwrap(), Index::new(number).unwrap());
    Initiator::start(&mut rng, &key, &gateway, index, &hello, cookie, Time::ZERO).unwrap()
}

fn address(n: u32) -> SocketAddr {
    SocketAddr::from((std::net::Ipv4Addr::from(0x0a09_0000 + n), 4000))
}

/// Refuses everybody while the first is set; does not know yet whom to let in while the second is.
#[derive(Clone, Default)]
struct Door(Arc<AtomicBool>, Arc<AtomicBool>);

impl Registry for Door {
    fn is_ready(&mut self, _: &PublicKey, _: &ClientHello) -> bool {
        !self.1.load(Ordering::Relaxed)
    }

    fn admit(&mut self, client: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        if self.0.load(Ordering::Relaxed) { Err(Refusal::Revoked) } else { OpenDoor.admit(client, hello) }
    }
}

/// A gateway whose handshakes are worked on elsewhere, and what it sent.
struct Rig {
    gateway: Engine,
    key: PublicKey,
    door: Door,
    now: Time,
    sent: Vec<(SocketAddr, Vec<u8>)>,
}

impl Rig {
    fn new(responder: ResponderConfig) -> Rig {
        let (key, door, now) =
            (StaticKey::from_bytes(&[9; 32]).unwrap(), Door::default(), Time::from_millis(1000));
        let config = Config { responder, ..Config::default() };
        let (inside, entropy) = (vec![GATEWAY.into()], Entropy::repeatable([3; 32]));
        let public = key.public();
        let mut gateway = Engine::gateway(config, key, inside, Box::new(door.clone()), entropy, now);
        gateway.hand_out_handshakes();
        Rig { gateway, key: public, door, now, sent: Vec::new() }
    }

    fn hear(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.hear_by(0, from, datagram);
    }

    fn hear_by(&mut self, link: u32, from: SocketAddr, datagram: &[u8]) {
        let (mut bytes, segment) = (datagram.to_vec(), datagram.len());
        let input = Input::Datagrams { link, remote: from, local: None, segment, bytes: &mut bytes, ecn: 0 };
        self.gateway.handle(input, self.now);
        self.poll();
    }

    fn poll(&mut self) {
        loop {
            match self.gateway.poll_output(self.now) {
                Output::Transmit(t) => self.sent.push((t.route.remote, t.bytes.to_vec())),
                Output::Timeout(..) => return,
                _ => {}
            }
        }
    }

    fn run_one(&mut self) -> bool {
        let Some(job) = self.gateway.next_handshake() else { return false };
        self.finish(job.run());
        true
    }

    fn finish(&mut self, result: HandshakeResult) {
        self.gateway.finish_handshake(result, self.now);
        self.poll();
    }

    fn run_all(&mut self) -> usize {
        (0..).take_while(|_| self.run_one()).count()
    }

    /// What was sent since the last call that begins with this byte.
    fn take(&mut self, kind: u8) -> Vec<(SocketAddr, Vec<u8>)> {
        std::mem::take(&mut self.sent).into_iter().filter(|(_, bytes)| bytes[0] == kind).collect()
    }
}

const RESPONSE: u8 = 0x20;
const COOKIE: u8 = 0x30;

fn unlimited() -> ResponderConfig {
    let limit = 1_000_000;
    ResponderConfig { handshakes_per_second: limit, burst: limit, per_source_per_second: limit }
}

#[test]
fn data_does_not_wait_for_a_flood_of_handshakes() {
    let config = Config { responder: unlimited(), ..Config::default() };
    let mut p = Pair::new(&[LinkSpec::new(20.0, Duration::from_millis(10))], config, 5);
    p.run_for(Duration::from_millis(1500));
    p.gateway.hand_out_handshakes();
    let key = p.gateway_key();
    p.capture = Some(Vec::new());
    for n in 0..1000u32 {
        let init = initiator(key, 1 + (n % 200) as u8, n);
        p.inject(End::Gateway, 0, address(n), &mut init.datagram().to_vec());
        p.device(End::Gateway, &udp(End::Gateway, 8, n, 1000), Vnet::default());
        p.run_for(Duration::from_millis(1));
    }
    p.run_for(Duration::from_millis(100));
    let got: Vec<u32> = p.at_client.iter().map(|(_, packet, _)| number(packet)).collect();
    assert_eq!(got, (0..1000).collect::<Vec<_>>());
    let responses = p.capture.iter().flatten().filter(|c| c.0 == End::Gateway && c.1[0] == RESPONSE);
    assert_eq!(responses.count(), 0, "nobody has worked on them");
    let waiting = (0..).take_while(|_| p.gateway.next_handshake().is_some()).count();
    assert_eq!(waiting, 256, "a bound on what waits; the others were asked for a cookie");
}

#[test]
fn a_proven_source_does_not_wait_for_unproven_ones() {
    let mut rig = Rig::new(unlimited());
    for n in 0..300 {
        let init = initiator(rig.key, 1 + (n % 200) as u8, n);
        rig.hear(address(n), init.datagram());
    }
    let mut honest = initiator(rig.key, 250, 1000);
    let from = address(1000);
    rig.hear(from, honest.datagram());
    let cookies = rig.take(COOKIE);
    let (to, cookie) = cookies.last().expect("the gateway is under load");
    assert_eq!((*to, cookies.len()), (from, 300 - 256 + 1));
    let init = honest.handle_cookie(cookie, rig.now).unwrap().to_vec();
    rig.hear(from, &init);
    assert!(rig.run_one() && rig.run_one(), "to read it and to answer it");
    let answers = rig.take(RESPONSE);
    assert!(answers.len() == 1 && matches!(honest.finish(&answers[0].1), Ok(Outcome::Accepted(..))));
}

#[test]
fn what_waits_of_proven_sources_has_a_bound_too() {
    let mut rig = Rig::new(unlimited());
    for n in 0..256 {
        rig.hear(address(n), initiator(rig.key, 1 + (n % 200) as u8, n).datagram());
    }
    let (mut first, from) = (initiator(rig.key, 250, 1000), address(1000));
    rig.hear(from, first.datagram());
    let (_, asked) = rig.take(COOKIE).pop().expect("the gateway is under load");
    first.handle_cookie(&asked, rig.now).unwrap();
    let cookie = first.cookie().cloned();
    while rig.gateway.next_handshake().is_some() {}
    // The load is over, and whoever has a cookie sends what he likes.
    for n in 2000..3500 {
        rig.hear(from, with_cookie(rig.key, 250, n, cookie.clone()).datagram());
    }
    let waiting = (0..).take_while(|_| rig.gateway.next_handshake().is_some()).count();
    assert_eq!(waiting, 1024);
}

#[test]
fn a_registry_that_does_not_know_yet_is_asked_again_by_the_next_copy() {
    let mut rig = Rig::new(unlimited());
    rig.door.1.store(true, Ordering::Relaxed);
    let mut client = initiator(rig.key, 7, 1);
    for _ in 0..3 {
        rig.hear(address(1), client.datagram());
        rig.run_all();
        assert!(rig.take(RESPONSE).is_empty(), "neither yes nor no");
    }
    rig.door.1.store(false, Ordering::Relaxed);
    rig.hear(address(1), client.datagram());
    rig.run_all();
    let answers = rig.take(RESPONSE);
    assert!(answers.len() == 1 && matches!(client.finish(&answers[0].1), Ok(Outcome::Accepted(..))));
}

#[test]
fn a_revoked_key_costs_no_answers_but_a_few() {
    let mut rig = Rig::new(unlimited());
    rig.door.0.store(true, Ordering::Relaxed);
    let mut answers = 0;
    for n in 0..1000 {
        rig.hear(address(n), initiator(rig.key, 7, n).datagram());
        rig.run_all();
        answers += rig.take(RESPONSE).len();
    }
    assert!((1..=21).contains(&answers), "{answers} of 1000");
    rig.now += Duration::from_secs(1);
    let mut told = initiator(rig.key, 7, 5000);
    rig.hear(address(1), told.datagram());
    rig.run_all();
    let answer = rig.take(RESPONSE).pop().expect("a user who tries again is told");
    assert!(matches!(told.finish(&answer.1), Ok(Outcome::Refused(Refusal::Revoked))));
}

/// By a stream nobody is: the connection's far end may be a proxy.
#[test]
fn who_asks_is_told_its_address_whether_it_may_come_in_or_not() {
    let mut hello = hello(None);
    hello.extensions.ask_address();
    let mut number = 0;
    let mut ask = |is_refused: bool, link: u32| {
        let mut rig = Rig::new(ResponderConfig::default());
        rig.door.0.store(is_refused, Ordering::Relaxed);
        number += 1;
        let mut rng = ChaCha12Rng::seed_from_u64(number);
        let (key, index) = (StaticKey::from_bytes(&[7; 32]).unwrap(), Index::new(1).unwrap());
        let mut client = Initiator::start(&mut rng, &key, &rig.key, index, &hello, None, Time::ZERO).unwrap();
        rig.hear_by(link, address(1), client.datagram());
        rig.run_all();
        let (_, answer) = rig.take(RESPONSE).pop().expect("an answer");
        let is_right = match client.finish(&answer).unwrap() {
            Outcome::Accepted(..) => !is_refused,
            Outcome::Refused(refusal) => is_refused && refusal == Refusal::Revoked,
        };
        assert!(is_right);
        (client.observed(), answer.len())
    };
    let [yes, no] = [false, true].map(|is_refused| ask(is_refused, 0));
    assert!(yes == no && yes.0 == Some(address(1)), "{yes:?} {no:?}");
    let [yes, no] = [false, true].map(|is_refused| ask(is_refused, STREAMS));
    assert!(yes == no && yes.0.is_none(), "{yes:?} {no:?}");
}

#[test]
fn copies_of_one_init_are_read_once_and_all_answered() {
    let mut rig = Rig::new(ResponderConfig::default());
    let init = initiator(rig.key, 7, 1);
    for _ in 0..3 {
        (0..4).for_each(|path| rig.hear(address(path), init.datagram()));
    }
    assert_eq!(rig.run_all(), 2, "one to read, one to answer");
    let mut answers = rig.take(RESPONSE);
    answers.sort();
    assert_eq!(answers.iter().map(|a| a.0).collect::<Vec<_>>(), [0, 1, 2, 3].map(address));
    assert!(answers.windows(2).all(|w| w[0].1 == w[1].1));
    rig.hear(address(9), init.datagram());
    assert_eq!((rig.run_all(), rig.take(RESPONSE).len()), (0, 1), "later ones get the same again");
}

#[test]
fn who_is_expelled_while_its_answer_is_made_does_not_come_in() {
    let mut rig = Rig::new(ResponderConfig::default());
    let mut init = initiator(rig.key, 7, 1);
    rig.hear(address(1), init.datagram());
    assert!(rig.run_one());
    let answering = rig.gateway.next_handshake().unwrap();
    let client = StaticKey::from_bytes(&[7; 32]).unwrap().public();
    rig.door.0.store(true, Ordering::Relaxed);
    rig.gateway.revoke(&client);
    rig.finish(answering.run());
    assert_eq!((rig.take(RESPONSE).len(), rig.gateway.status(rig.now).peers.len()), (0, 0));
    // Its next copy is read again, and refused.
    rig.hear(address(1), init.datagram());
    rig.run_all();
    let answer = rig.take(RESPONSE).pop().expect("an answer");
    assert!(matches!(init.finish(&answer.1), Ok(Outcome::Refused(Refusal::Revoked))));
}

#[test]
fn an_offer_that_nobody_has_confirmed_is_not_pushed_out_by_one_that_was_made_beside_it() {
    let mut rig = Rig::new(ResponderConfig::default());
    let (mut first, second) = (initiator(rig.key, 7, 1), initiator(rig.key, 7, 2));
    rig.hear(address(1), first.datagram());
    rig.hear(address(2), second.datagram());
    // Both are read before either is answered.
    let (a, b) = (rig.gateway.next_handshake().unwrap(), rig.gateway.next_handshake().unwrap());
    rig.finish(a.run());
    rig.finish(b.run());
    rig.run_all();
    let answers = rig.take(RESPONSE);
    assert_eq!(answers.len(), 1);
    assert!(matches!(first.finish(&answers[0].1), Ok(Outcome::Accepted(..))));
}

#[test]
fn copies_of_an_init_that_gets_no_answer_do_not_take_the_place_of_others() {
    let mut rig = Rig::new(unlimited());
    rig.door.0.store(true, Ordering::Relaxed);
    for n in 0..30 {
        rig.hear(address(n), initiator(rig.key, 7, n).datagram());
        rig.run_all();
    }
    assert!(rig.take(RESPONSE).len() < 30, "the last ones were not even refused");
    (0..1000).for_each(|n| rig.hear(address(n), initiator(rig.key, 7, 29).datagram()));
    assert_eq!(rig.run_all(), 0, "all of them wait");
    rig.door.0.store(false, Ordering::Relaxed);
    let init = initiator(rig.key, 8, 1);
    (0..4).for_each(|path| rig.hear(address(path), init.datagram()));
    rig.run_all();
    assert_eq!(rig.take(RESPONSE).len(), 4, "by each path");
}

/// The first datagram under the keys that a RESPONSE leads to.
fn first_datagram(
    client: &mut Initiator,
    response: &[u8],
    frame: impl FnOnce(&mut Writer<'_>) -> bool,
) -> Vec<u8> {
    let Ok(Outcome::Accepted(_, keys)) = client.finish(response) else { panic!("it is let in") };
    let index = keys.peer_index.get();
    let (sealer, _) = keys.into_ends();
    let mut datagram = vec![0; 64];
    let mut w = Writer::new(&mut datagram, Header { path: 0, index, number: 0 }, Timestamp::default());
    assert!(frame(&mut w));
    let end = w.len();
    datagram.truncate(end + TAG);
    let (head, body) = datagram.split_at_mut(HEADER);
    sealer.seal(0, 0, head, body).unwrap();
    datagram
}

/// A client that was killed comes again, and goes before anything but its goodbye has arrived.
#[test]
fn a_session_that_begins_with_a_goodbye_ends_the_ones_before() {
    let mut rig = Rig::new(ResponderConfig::default());
    for (number, goes) in [(1, false), (2, true)] {
        let mut client = initiator(rig.key, 7, number);
        rig.hear(address(1), client.datagram());
        rig.run_all();
        let (_, response) = rig.take(RESPONSE).pop().expect("an answer");
        let first = first_datagram(&mut client, &response, |w| if goes { w.close(0) } else { w.ping() });
        rig.hear(address(1), &first);
        assert_eq!(rig.gateway.status(rig.now).peers.len(), usize::from(!goes));
    }
}

/// Sends INITs that the client of a [`Pair`] made at some time, from three addresses of his own
/// with cookies for them. He cannot read what they lead to.
struct Replayer {
    client: StaticKey,
    resume: Option<SessionId>,
    cookies: [Option<Cookie>; 3],
    sent: u32,
    answered: u32,
}

impl Replayer {
    /// `seed` is the one of the pair, which makes its client's key of it first.
    fn new(seed: u64, resume: Option<SessionId>) -> Replayer {
        let client = StaticKey::generate(&mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
        Replayer { client, resume, cookies: [const { None }; 3], sent: 0, answered: 0 }
    }

    fn replay(&mut self, p: &mut Pair) {
        self.sent += 1;
        let place = self.sent as usize % self.cookies.len();
        let from = SocketAddr::from(([203, 0, 113, place as u8], 4000));
        let mut rng = ChaCha12Rng::seed_from_u64(u64::from(self.sent));
        let (hello, index) = (hello(self.resume), Index::new(self.sent).unwrap());
        let (gateway, cookie, now) = (p.gateway_key(), self.cookies[place].clone(), p.now);
        let mut init =
            Initiator::start(&mut rng, &self.client, &gateway, index, &hello, cookie, now).unwrap();
        let mut answers = |datagram: &[u8]| {
            p.capture = Some(Vec::new());
            p.inject(End::Gateway, 0, from, &mut datagram.to_vec());
            p.capture.take().unwrap_or_default()
        };
        let mut got = answers(init.datagram());
        if let Some((_, cookie)) = got.iter().find(|c| c.1[0] == COOKIE) {
            let proven = init.handle_cookie(cookie, now).unwrap().to_vec();
            self.cookies[place] = init.cookie().cloned();
            got = answers(&proven);
        }
        self.answered += u32::from(got.iter().any(|c| c.1[0] == RESPONSE));
    }
}

#[test]
fn a_replayer_who_has_cookies_does_not_keep_a_client_out() {
    // The client's INIT arrives after 50 ms; he begins after it, or before it, so that the client
    // is asked for a cookie, too.
    for begin in [60, 10] {
        let mut p = Pair::new(&[LinkSpec::new(20.0, Duration::from_millis(50))], Config::default(), 7);
        let mut replayer = Replayer::new(7, None);
        p.run_for(Duration::from_millis(begin));
        while p.now < Time::from_millis(1300) {
            replayer.replay(&mut p);
            p.run_for(Duration::from_millis(2));
            assert!(p.gateway.status(p.now).peers.len() <= 5, "a bound on half-open sessions");
        }
        assert_eq!(replayer.answered, replayer.sent);
        let key = replayer.client.public();
        let is_up = |e: &Event| matches!(e, Event::ClientUp { client, .. } if *client == key);
        assert!(p.events.iter().any(|(_, _, e)| is_up(e)), "within three round trips");
        assert_eq!(p.gateway.status(p.now).peers.iter().filter(|peer| peer.key_age.is_some()).count(), 1);
        p.device(End::Client, &udp(End::Client, 7, 1, 100), Vnet::default());
        p.device(End::Gateway, &udp(End::Gateway, 8, 1, 100), Vnet::default());
        p.run_for(Duration::from_millis(200));
        assert_eq!((p.at_gateway.len(), p.at_client.len()), (1, 1));
    }
}

#[test]
fn a_replayer_who_has_cookies_does_not_disturb_the_renewal_of_keys() {
    let config = Config { rekey_after: Duration::from_secs(5), ..Config::default() };
    let mut p = Pair::new(&[LinkSpec::new(20.0, Duration::from_millis(50))], config, 7);
    p.run_for(Duration::from_secs(4));
    let session = p.events.iter().find_map(|(_, _, e)| match e {
        Event::Connected(accept) => Some(accept.session),
        _ => None,
    });
    let mut replayer = Replayer::new(7, Some(session.expect("the client is in")));
    let mut sent = 0;
    while p.now < Time::from_millis(8000) {
        replayer.replay(&mut p);
        p.device(End::Client, &udp(End::Client, 7, sent, 100), Vnet::default());
        p.run_for(Duration::from_millis(5));
        sent += 1;
    }
    assert_eq!(replayer.answered, replayer.sent);
    let peers = p.gateway.status(p.now).peers;
    let age = peers[0].key_age.expect("keys are in force");
    assert!(peers.len() == 1 && age < Duration::from_secs(2), "renewed at once: {age:?}");
    p.run_for(Duration::from_millis(100));
    assert_eq!(p.at_gateway.len() as u32, sent, "without a gap");
}
