//! What one contributor may cost: flows, marks, and work for each packet of a list.

use super::super::{Gateway, Input};
use super::*;
use crate::inner::tests::segment;
use crate::wire::Run;
use ropewalk_packet::{Flags, Segment, wire};
use std::net::Ipv4Addr;

fn flow(protocol: u8) -> Flow {
    let (source, destination) = ("192.168.1.2:40000".parse().unwrap(), "10.9.0.2:5201".parse().unwrap());
    Flow { bssid: [1; 6], station: [2; 6], tid: 0, protocol, source, destination }
}

fn say(gateway: &mut Gateway, message: Message) {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    gateway.handle(Input::FromTunnel(Tunnel(1), &bytes), Time::ZERO);
}

fn register(gateway: &mut Gateway, session: u8, flow: Flow) {
    let outer = Some(flow.source);
    say(gateway, Message::Register(Register { session, home: true, flow, outer, boot: 1 }));
}

/// A gateway with a home access point and its session.
fn gateway(protocol: u8) -> Gateway {
    let everywhere = vec![(Ipv4Addr::UNSPECIFIED, None)];
    let mut gateway = Gateway::new(Config::new(everywhere, [7; 16]));
    let address = *flow(protocol).source.ip();
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, address), Time::ZERO);
    register(&mut gateway, 0, flow(protocol));
    gateway
}

/// One whose connection is open; the sender's SYN had number 999.
fn opened() -> Gateway {
    let mut gateway = gateway(TCP);
    let (plain, _) = wire::decode(&segment(999, 0, None)).unwrap();
    let syn = Segment { flags: Flags::SYN, ack: 0, ..plain };
    let Flow { source, destination, .. } = flow(TCP);
    let (flags, ack) = (Flags::SYN | Flags::ACK, 1000);
    let answer = Segment { flags, ack, seq: 5, source: destination, destination: source, ..plain };
    let bytes = |segment: &Segment| {
        let mut out = Vec::new();
        wire::encode(segment, wire::Payload::Zeros, &mut out);
        out
    };
    gateway.handle(Input::FromSender(&bytes(&syn)), Time::ZERO);
    gateway.handle(Input::FromReceiver(&bytes(&answer)), Time::ZERO);
    gateway
}

fn session(gateway: &Gateway) -> &Session {
    let mut all = gateway.sessions.values();
    let one = all.next().unwrap();
    assert!(all.next().is_none(), "one session");
    one
}

fn run(first: u64, count: u64, seq: u32, len: u32) -> Run {
    Run { first, count, seq, len, stamp: None }
}

fn list(gateway: &mut Gateway, runs: Vec<Run>, marks: Vec<(u64, u32)>) {
    say(gateway, Message::List(List { session: 0, room: 0, runs, marks }));
}

#[test]
fn one_flow_stands_for_a_session() {
    let mut gateway = gateway(UDP);
    for i in 0..=255 {
        // One by which it is known already, and one more.
        register(&mut gateway, 0, Flow { station: [i; 6], ..flow(UDP) });
        register(&mut gateway, 1, Flow { bssid: [i; 6], ..flow(UDP) });
    }
    let last = Flow { station: [255; 6], ..flow(UDP) };
    assert_eq!(gateway.by_flow.keys().copied().collect::<Vec<_>>(), [last]);
    assert_eq!(gateway.by_ends.len(), 1);
    assert_eq!(session(&gateway).flow, Some(last));
}

#[test]
fn marks_of_what_is_not_listed_are_not_kept() {
    let mut gateway = gateway(UDP);
    for i in 1..100 {
        let far = (0..1024).map(|n| ((i << 40) + n, 7)).collect();
        list(&mut gateway, vec![], far);
    }
    assert_eq!(session(&gateway).marks.len(), 0);
    list(&mut gateway, vec![run(64, 3, 0, 10)], vec![(64, 7), (66, 8), (67, 9)]);
    assert_eq!(session(&gateway).marks, BTreeMap::from([(64, 7), (66, 8)]));
}

#[test]
fn so_many_marks_are_kept_and_the_newest() {
    let mut gateway = gateway(UDP);
    for i in 0..40 {
        let first = i * 1024;
        list(
            &mut gateway,
            vec![run(first, 1024, 0, 10)],
            (first..first + 1024).map(|n| (n, n as u32)).collect(),
        );
    }
    let marks = &session(&gateway).marks;
    assert_eq!(marks.len(), MAX_MARKS);
    assert_eq!(marks.last_key_value(), Some((&(40 * 1024 - 1), &(40 * 1024 - 1))));
}

#[test]
fn a_repetition_is_known_wherever_the_last_number_lies() {
    let mut gateway = opened();
    list(&mut gateway, vec![run(10, 10, 1000, 100)], vec![]);
    // The first again, so that the last number has an early place, and then the last.
    list(&mut gateway, vec![run(20, 1, 1000, 100)], vec![]);
    list(&mut gateway, vec![run(21, 1, 1900, 100)], vec![]);
    // Other bytes of places that are there.
    list(&mut gateway, vec![run(22, 1, 1050, 100)], vec![]);
    let done = |n: u64| session(&gateway).entries[&n].state == State::Done;
    assert_eq!((10..=22).filter(|n| done(*n)).collect::<Vec<_>>(), [20, 21]);
    assert_eq!(session(&gateway).undone.len(), 11);
}

#[test]
fn what_is_done_may_be_repeated_anew() {
    let mut gateway = opened();
    list(&mut gateway, vec![run(10, 2, 1000, 100)], vec![]);
    gateway.sessions.values_mut().for_each(|s| s.finish(10));
    list(&mut gateway, vec![run(12, 2, 1000, 100)], vec![]);
    let state = |n: u64| session(&gateway).entries[&n].state;
    assert_ne!(state(12), State::Done, "its bytes are not here");
    assert_eq!(state(13), State::Done);
}

/// Before there was an index this took thousands of millions of steps, and as many answers.
#[test]
fn a_list_that_repeats_another_costs_little() {
    let mut gateway = opened();
    for first in [1 << 15, 0] {
        list(&mut gateway, vec![run(first, 1 << 15, 1000, 1)], vec![]);
    }
    assert_eq!(session(&gateway).entries.len(), MAX_ENTRIES);
    assert_eq!(session(&gateway).undone.len(), 1 << 15);
    assert!(gateway.out.len() < 2 * MAX_ANSWERS, "{}", gateway.out.len());
}
