use super::codec::encode;
use super::*;
use proptest::prelude::*;
use ropewalk_packet::{Ecn, Flags, ForeignOptions, Options, Timestamps};
use ropewalk_pep::MAX_RANGES;
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
fn a_connection_that_is_over_keeps_no_bytes() {
    let mut relay = opened(Policy::Split);
    put(&mut relay, Time::ZERO, &packet(true, &segment(Flags::ACK, 100, 500, 1000), &[1; 1000]));
    assert_eq!(store(&relay).parts(), 1);
    let reset = packet(false, &segment(Flags::RST, 500, 0, 0), &[]);
    assert_eq!(put(&mut relay, Time::ZERO, &reset), [reset]);
    assert_eq!((store(&relay).parts(), relay.holds()), (0, (1, 0)), "it is remembered all the same");
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

/// The first fragment of a packet (RFC 8200 §4.5).
fn first_fragment(packet: &[u8]) -> Vec<u8> {
    let header: [u8; 8] = [6, 0, 0, 1, 0, 0, 0, 7];
    let mut out = [&packet[..40], &header, &packet[40..120]].concat();
    out[4..6].copy_from_slice(&88u16.to_be_bytes());
    out[6] = 44;
    out
}

/// The receiver acknowledged what had passed beside the proxy, which took that for a guess: it stood.
#[test]
fn a_connection_that_goes_over_to_fragments_is_left_alone() {
    let mut relay = opened(Policy::Split);
    let at = |number| packet(true, &segment(Flags::ACK, number, 500, 1000), &[7; 1000]);
    let guess = first_fragment(&at(1 << 30));
    assert_eq!(put(&mut relay, Time::ZERO, &guess), std::slice::from_ref(&guess));
    assert_eq!(put(&mut relay, Time::ZERO, &at(100)).len(), 1, "null case: another's number changes nothing");
    assert_eq!(relay.holds(), (1, 1000));
    let odd = first_fragment(&at(1100));
    assert!(put(&mut relay, Time::ZERO, &odd).is_empty(), "bytes are held: it is repeated");
    let ack = packet(false, &segment(Flags::ACK, 500, 1100, 0), &[]);
    put(&mut relay, Time::ZERO, &ack);
    assert_eq!(put(&mut relay, Time::ZERO, &odd), std::slice::from_ref(&odd));
    assert_eq!(relay.holds(), (0, 0));
    assert_eq!(put(&mut relay, Time::ZERO, &at(2100)), [at(2100)]);
}

/// An offer of AccECN: the bit that was NS is set, too.
fn accurate(mut packet: Vec<u8>) -> Vec<u8> {
    packet[52] |= 1;
    let covered = u32::from(!u16::from_be_bytes([packet[56], packet[57]])) + 0x0100;
    let covered = (covered & 0xFFFF) + (covered >> 16);
    packet[56..58].copy_from_slice(&(!(covered as u16)).to_be_bytes());
    packet
}

#[test]
fn ends_of_a_split_connection_agree_on_classic_ecn() {
    let syn = segment(Flags::SYN | Flags::ECE | Flags::CWR, 99, 0, 0);
    let classic = packet(true, &syn, &[]);
    let offer = accurate(classic.clone());
    assert!(codec::parse(&offer).is_some(), "its checksum fits");
    let first = |policy, p: &[u8]| put(&mut Relay::new(Config::new(policy), 10), Time::ZERO, p);
    assert_eq!(first(Policy::Split, &offer), [classic]);
    assert_eq!(first(Policy::Snoop, &offer), std::slice::from_ref(&offer), "null case: nothing is made anew");
    let mptcp = Some(ropewalk_packet::MptcpOption::Capable { sender: None, receiver: None });
    let other = accurate(packet(true, &Segment { options: Options { mptcp, ..syn.options }, ..syn }, &[]));
    assert_eq!(first(Policy::Split, &other), std::slice::from_ref(&other), "null case: left alone");
}

/// A connection with timestamps: the client's begin with 1000.
fn stamped_relay() -> Relay {
    let mut relay = Relay::new(Config { memory_bytes: 100_000, ..Config::new(Policy::Split) }, 10);
    put(&mut relay, Time::ZERO, &packet(true, &stamped(segment(Flags::SYN, 99, 0, 0), 1000), &[]));
    let answer = stamped(segment(Flags::SYN | Flags::ACK, 499, 100, 0), 50);
    put(&mut relay, Time::ZERO, &packet(false, &answer, &[]));
    relay
}

fn stamped(s: Segment, value: u32) -> Segment {
    let timestamps = Some(Timestamps { value, echo: 0 });
    Segment { options: Options { timestamps, ..s.options }, ..s }
}

/// Payload that goes to the server, by number.
fn to_server(out: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    let read = out.iter().filter_map(|p| codec::parse(p));
    let there = read.filter(|p| p.destination == B.parse().unwrap() && !p.payload.is_empty());
    there.map(|p| (p.segment.seq, p.payload.to_vec())).collect()
}

/// What is kept of the client's stream.
fn store(relay: &Relay) -> &Store {
    match &relay.connections.values().next().unwrap()[0].kept {
        Kept::Bytes(store) => store,
        Kept::Packets(_) => panic!("whole packets"),
    }
}

#[test]
fn bytes_that_are_refused_never_go_on() {
    let of = |flags, ack| segment(flags, 110, ack, 10);
    let forged = [
        ("an old timestamp", stamped(of(Flags::ACK, 500), 900)),
        ("no timestamp", of(Flags::ACK, 500)),
        ("no acknowledgement", stamped(of(Flags::PSH, 500), 1000)),
        ("an acknowledgement of what was never sent", stamped(of(Flags::ACK, 501), 1000)),
        ("one of long ago", stamped(of(Flags::ACK, 500u32.wrapping_sub(1 << 30)), 1000)),
        ("a SYN in the window", stamped(of(Flags::SYN | Flags::ACK, 500), 1000)),
        ("a reset in the window", stamped(of(Flags::RST | Flags::ACK, 500), 1000)),
    ];
    for (why, forged) in forged {
        let mut relay = stamped_relay();
        let real = |i: u32| stamped(segment(Flags::ACK, 100 + 10 * i, 500, 10), 1001);
        put(&mut relay, Time::ZERO, &packet(true, &real(0), &[1; 10]));
        assert_eq!(to_server(&put(&mut relay, Time::ZERO, &packet(true, &forged, &[9; 10]))), [], "{why}");
        let mut out = put(&mut relay, Time::ZERO, &packet(true, &real(1), &[1; 10]));
        relay.on_timer(Time::from_secs(3), &mut out);
        let bytes = to_server(&out);
        assert!(bytes.contains(&(110, vec![1; 10])), "{why}: {bytes:?}");
        assert!(bytes.iter().all(|(_, b)| b.iter().all(|b| *b == 1)), "{why}: {bytes:?}");
    }
}

#[test]
fn many_small_segments_are_few_parts() {
    for step in [1, 2] {
        let mut relay = opened(Policy::Split);
        let mut told = 100;
        let mut put_in = |relay: &mut Relay, at: u32, payload: &[u8]| {
            let s = segment(Flags::ACK, 100 + at, 500, payload.len() as u32);
            for p in put(relay, Time::ZERO, &packet(true, &s, payload)) {
                let p = codec::parse(&p).unwrap();
                if p.destination == A.parse().unwrap() {
                    told = told.max(p.segment.ack);
                }
            }
        };
        // The first bytes are missing.
        (0..6000).for_each(|i| put_in(&mut relay, 10 + step * i, &[7]));
        let parts = store(&relay).parts();
        assert!(parts <= if step == 1 { 10 } else { MAX_RANGES }, "{parts} parts");
        // Now they come, and fill some gaps: what is acknowledged is here.
        put_in(&mut relay, 0, &[7; 1000]);
        put_in(&mut relay, 1000, &[7; 1000]);
        put_in(&mut relay, 20_000, &[7; 10]);
        let acked = 1 + u64::from(told - 100);
        assert!(acked > 1000, "{acked}");
        assert_eq!(store(&relay).read(1..acked), Some(vec![7; acked as usize - 1]));
    }
}

proptest! {
    /// Whatever comes: what the client sees acknowledged or selected is kept, and is its own.
    #[test]
    fn nothing_is_acknowledged_that_is_not_kept(
        ops in proptest::collection::vec((0u32..300, 1u32..40, 0u8..5), 1..60),
    ) {
        let stream: Vec<u8> = (0..400u32).map(|o| (o % 100) as u8).collect();
        let mut relay = stamped_relay();
        for (at, len, kind) in ops {
            let data = segment(Flags::ACK, 100 + at, 500, len);
            let (s, real) = match kind {
                0 => (stamped(data, 900), false),
                1 => (data, false),
                2 => (stamped(Segment { ack: 501, ..data }, 1000), false),
                _ => (stamped(data, 1000), true),
            };
            let bytes = &stream[at as usize..(at + len) as usize];
            let forged = vec![200; len as usize];
            let out = put(&mut relay, Time::ZERO, &packet(true, &s, if real { bytes } else { &forged }));
            for (seq, bytes) in to_server(&out) {
                let from = (seq - 100) as usize;
                prop_assert_eq!(&bytes, &stream[from..from + bytes.len()]);
            }
            for p in out.iter().filter_map(|p| codec::parse(p)) {
                if p.destination != A.parse().unwrap() {
                    continue;
                }
                let blocks = p.segment.options.sack.as_slice().iter().copied();
                for (a, b) in [(100, p.segment.ack)].into_iter().chain(blocks) {
                    let read = store(&relay).read(u64::from(a - 99)..u64::from(b - 99));
                    let real = stream[(a - 100) as usize..(b - 100) as usize].to_vec();
                    prop_assert_eq!(read, Some(real));
                }
            }
        }
    }
}
