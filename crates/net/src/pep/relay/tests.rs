use super::codec::encode;
use super::*;
use ropewalk_packet::{Ecn, Flags, ForeignOptions, Options};
use std::net::{Ipv4Addr, SocketAddrV4};

const A: &str = "[fd00::1]:1000";
const B: &str = "[fd00::2]:80";

fn segment(flags: Flags, seq: u32, ack: u32, payload_bytes: u32) -> Segment {
    let nobody = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let mss = flags.has(Flags::SYN).then_some(1000);
    let options = Options { mss, ..Options::default() };
    let (ecn, window, urgent) = (Ecn::NotEct, 60_000, 0);
    Segment {
        source: nobody,
        destination: nobody,
        ecn,
        flags,
        seq,
        ack,
        window,
        urgent,
        options,
        payload_bytes,
    }
}

/// A packet of the client, or of the server.
fn packet(from_a: bool, s: &Segment, payload: &[u8]) -> Vec<u8> {
    let (a, b) = (A.parse().unwrap(), B.parse().unwrap());
    let (source, destination) = if from_a { (a, b) } else { (b, a) };
    encode(s, source, destination, Marks::default(), payload).unwrap()
}

fn put(relay: &mut Relay, at: Time, packet: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    relay.handle(packet, at, &mut out);
    out
}

fn opened(policy: Policy) -> Relay {
    let mut relay = Relay::new(Config { memory_bytes: 100_000, ..Config::new(policy) }, 10);
    let syn = packet(true, &segment(Flags::SYN, 99, 0, 0), &[]);
    assert_eq!(put(&mut relay, Time::ZERO, &syn), [syn]);
    let answer = packet(false, &segment(Flags::SYN | Flags::ACK, 499, 100, 0), &[]);
    assert_eq!(put(&mut relay, Time::ZERO, &answer), [answer]);
    relay
}

#[test]
fn split_sends_the_bytes_on_and_again() {
    let mut relay = opened(Policy::Split);
    let mut out = Vec::new();
    for i in 0..4u8 {
        let data = packet(true, &segment(Flags::ACK, 100 + 1000 * u32::from(i), 500, 1000), &[i; 1000]);
        out.extend(put(&mut relay, Time::from_millis(1), &data));
    }
    let read: Vec<_> = out.iter().map(|p| codec::parse(p).expect("its checksum fits")).collect();
    let bytes: Vec<u8> = read
        .iter()
        .filter(|p| p.destination == B.parse().unwrap())
        .flat_map(|p| p.payload)
        .copied()
        .collect();
    assert_eq!(bytes, [[0; 1000], [1; 1000], [2; 1000], [3; 1000]].concat());
    let told: Vec<u32> =
        read.iter().filter(|p| p.destination == A.parse().unwrap()).map(|p| p.segment.ack).collect();
    assert_eq!(told, [2100], "every second segment, and never the newest");
    assert_eq!((relay.counts().early_bytes, relay.holds()), (2000, (1, 4000)));
    // Nobody answers: the first goes again, byte for byte.
    let mut again = Vec::new();
    relay.on_timer(Time::from_secs(3), &mut again);
    let again =
        codec::parse(again.first().expect("a repetition")).map(|p| (p.segment.seq, p.payload.to_vec()));
    assert_eq!(again, Some((100, vec![0; 1000])));
    // The box goes away: both ends are told.
    let mut last = Vec::new();
    relay.close(Time::from_secs(4), &mut last);
    let ends: Vec<_> = last
        .iter()
        .filter_map(|p| codec::parse(p))
        .filter(|p| p.segment.flags.has(Flags::RST))
        .map(|p| p.destination)
        .collect();
    assert_eq!(ends, [A.parse().unwrap(), B.parse().unwrap()]);
}

#[test]
fn the_first_bytes_for_a_place_stay() {
    let mut relay = opened(Policy::Split);
    put(&mut relay, Time::ZERO, &packet(true, &segment(Flags::ACK, 100, 500, 10), &[1; 10]));
    let other = packet(true, &segment(Flags::ACK, 100, 500, 10), &[9; 10]);
    put(&mut relay, Time::ZERO, &other);
    let mut again = Vec::new();
    relay.on_timer(Time::from_secs(3), &mut again);
    assert!(again.iter().filter_map(|p| codec::parse(p)).all(|p| p.payload.iter().all(|b| *b == 1)));
}

#[test]
fn snoop_repeats_the_senders_own_packet() {
    let mut relay = opened(Policy::Snoop);
    // An option that nobody here knows: RFC 3692's experiment.
    let data = |i: u32| {
        let mut p = packet(true, &segment(Flags::ACK, 100 + 10 * i, 500, 10), &[i as u8; 10]);
        p[7] ^= 0x20;
        p
    };
    for i in 0..3 {
        assert_eq!(put(&mut relay, Time::ZERO, &data(i)), [data(i)], "as it came");
    }
    let ack = packet(false, &segment(Flags::ACK, 500, 100, 0), &[]);
    assert_eq!(
        put(&mut relay, Time::from_millis(5), &ack),
        std::slice::from_ref(&ack),
        "the first says nothing"
    );
    assert_eq!(put(&mut relay, Time::from_millis(6), &ack), [data(0)], "its hop limit with it");
    let mut out = Vec::new();
    relay.close(Time::from_secs(1), &mut out);
    assert!(out.is_empty(), "nothing is held");
}

#[test]
fn what_is_left_alone_comes_out_as_it_came() {
    let mut relay = Relay::new(Config::new(Policy::Split), 10);
    let foreign = ForeignOptions::default();
    let mptcp = Some(ropewalk_packet::MptcpOption::Capable { sender: None, receiver: None });
    let syn = segment(Flags::SYN, 99, 0, 0);
    let syn = Segment { options: Options { mptcp, foreign, ..syn.options }, ..syn };
    let mut damaged = packet(true, &segment(Flags::ACK, 1, 1, 4), b"abcd");
    *damaged.last_mut().unwrap() ^= 1;
    let udp = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0][..], &[10; 16]].concat();
    let half_way = packet(true, &segment(Flags::ACK, 7, 1, 4), b"abcd");
    for p in [packet(true, &syn, &[]), damaged, udp, half_way, vec![], vec![0x60]] {
        assert_eq!(put(&mut relay, Time::ZERO, &p), [p]);
    }
    assert_eq!(relay.holds(), (0, 0));
}
