//! What one contributor may cost: flows, marks, and work for each packet of a list.

use super::super::{FEW, Gateway, Home, Input, MANY, MAX_ACCOUNTS, MAX_OF_ONE};
use super::*;
use crate::inner::tests::{datagram, segment};
use crate::wire::{Heard, List, Register, Run, all};
use ropewalk_packet::{Flags, Segment, wire};
use ropewalk_pep::Why;
use std::net::Ipv4Addr;

mod deaths;
mod memory;

fn flow(protocol: u8) -> Flow {
    let (source, destination) = ("192.168.1.2:40000".parse().unwrap(), "10.9.0.2:5201".parse().unwrap());
    Flow { bssid: [1; 6], station: [2; 6], tid: 0, protocol, source, destination }
}

fn say(gateway: &mut Gateway, message: Message) {
    say_by(gateway, Tunnel(1), message);
}

fn say_by(gateway: &mut Gateway, tunnel: Tunnel, message: Message) {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    gateway.handle(Input::FromTunnel(tunnel, &bytes), Time::ZERO);
}

fn register(gateway: &mut Gateway, session: u8, flow: Flow) {
    let outer = Some(flow.source);
    say(gateway, Message::Register(Register { session, home: true, flow, outer, boot: 1 }));
}

/// A gateway with a home access point and its session.
fn gateway(protocol: u8) -> Gateway {
    let everywhere = vec![(Ipv4Addr::UNSPECIFIED, None)];
    let mut gateway = Gateway::new(Config::new(everywhere, [7; 16]));
    let home = Home { address: *flow(protocol).source.ip(), cell: [1; 6] };
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home), Time::ZERO);
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
    let answer = Segment { flags, ack, seq: 98, source: destination, destination: source, ..plain };
    let bytes = |segment: &Segment| {
        let mut out = Vec::new();
        wire::encode(segment, wire::Payload::Zeros, &mut out);
        out
    };
    gateway.handle(Input::FromSender(&bytes(&syn)), Time::ZERO);
    gateway.handle(Input::FromReceiver(&bytes(&answer)), Time::ZERO);
    gateway
}

/// A packet of the receiver that acknowledges the SYN, and offers so many bytes.
fn room_for(window: u16) -> Vec<u8> {
    let (plain, _) = wire::decode(&segment(0, 0, None)).unwrap();
    let Flow { source, destination, .. } = flow(TCP);
    let ack = Segment { seq: 99, ack: 1000, window, source: destination, destination: source, ..plain };
    let mut out = Vec::new();
    wire::encode(&ack, wire::Payload::Zeros, &mut out);
    out
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
        register(&mut gateway, 1, Flow { station: [2, 2, 2, 2, 2, i], ..flow(UDP) });
    }
    let last = Flow { station: [2, 2, 2, 2, 2, 255], ..flow(UDP) };
    assert_eq!(gateway.by_flow.keys().copied().collect::<Vec<_>>(), [last]);
    assert_eq!(gateway.by_ends.len(), 1);
    assert_eq!(session(&gateway).flow, Some(last));
}

#[test]
fn marks_of_what_is_not_listed_are_not_kept() {
    let mut gateway = gateway(UDP);
    for i in 1..20 {
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
    for i in 0..10 {
        let first = i * 1024;
        list(
            &mut gateway,
            vec![run(first, 1024, 0, 10)],
            (first..first + 1024).map(|n| (n, n as u32)).collect(),
        );
    }
    let marks = &session(&gateway).marks;
    assert_eq!(marks.len(), MAX_MARKS);
    assert_eq!(marks.last_key_value(), Some((&(10 * 1024 - 1), &(10 * 1024 - 1))));
}

#[test]
fn datagrams_of_one_run_are_what_was_listed() {
    let mut gateway = gateway(UDP);
    list(&mut gateway, vec![run(10, 3, 0, 200)], vec![]);
    for number in 10..13 {
        let elided = [&[1], &datagram(number as u8, 200)[..]].concat();
        say(&mut gateway, Message::Data(Data { session: 0, number, elided }));
    }
    let account = gateway.account(1).unwrap();
    assert_eq!((account.packets, account.damaged), (3, 0));
    let elided = [&[1], &datagram(9, 199)[..]].concat();
    list(&mut gateway, vec![run(13, 1, 0, 200)], vec![]);
    say(&mut gateway, Message::Data(Data { session: 0, number: 13, elided }));
    assert_eq!(gateway.account(1).unwrap().damaged, 1, "null case: another length");
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

fn asked(gateway: &Gateway, wire: u8) -> Vec<u64> {
    let member = session(gateway).members.iter().find(|m| m.wire == wire).unwrap();
    member.delivery.asked_for().collect()
}

/// What the gateway said to a tunnel since the last call.
fn told(gateway: &mut Gateway, tunnel: Tunnel) -> Vec<Message> {
    let mut bytes = Vec::new();
    for output in core::mem::take(&mut gateway.out) {
        if let Output::ToTunnel(to, part) = output
            && to == tunnel
        {
            bytes.extend(part);
        }
    }
    all(&bytes).unwrap()
}

#[test]
fn who_registers_anew_keeps_what_it_was_asked_for() {
    let mut gateway = gateway(UDP);
    list(&mut gateway, vec![run(64, 3, 0, 10)], vec![]);
    assert_eq!(asked(&gateway, 0), [64, 65, 66]);
    told(&mut gateway, Tunnel(1));
    // Another port of its address translation.
    let source = SocketAddrV4::new(*flow(UDP).source.ip(), 40_001);
    let flow = flow(UDP);
    say(
        &mut gateway,
        Message::Register(Register { session: 0, home: true, flow, outer: Some(source), boot: 1 }),
    );
    assert!(matches!(told(&mut gateway, Tunnel(1))[..], [Message::Registered { apid: 0, .. }]));
    assert_eq!((asked(&gateway, 0), session(&gateway).outer), (vec![64, 65, 66], source));
}

#[test]
fn what_was_asked_of_one_that_starts_anew_is_asked_again() {
    let mut gateway = gateway(UDP);
    list(&mut gateway, vec![run(64, 3, 0, 10)], vec![(64, 7)]);
    told(&mut gateway, Tunnel(1));
    let again = Register { session: 5, home: true, flow: flow(UDP), outer: Some(flow(UDP).source), boot: 2 };
    say(&mut gateway, Message::Register(again));
    assert_eq!(session(&gateway).members.len(), 1, "one place");
    let pending = session(&gateway).pending.iter().copied().collect::<Vec<_>>();
    assert_eq!((asked(&gateway, 5), pending), (vec![], vec![64, 65, 66]));
    // Its own count begins anew: the first lies above all there were, marks included.
    say(
        &mut gateway,
        Message::List(List { session: 5, room: 0, runs: vec![run(1, 1, 0, 10)], marks: vec![] }),
    );
    assert!(session(&gateway).entries.contains_key(&4097));
    // In a new tunnel of the same start numbers mean what they meant.
    let home = Home { address: *flow(UDP).source.ip(), cell: [1; 6] };
    gateway.handle(Input::TunnelDown(Tunnel(1)), Time::ZERO);
    gateway.handle(Input::TunnelUpBehind(Tunnel(2), 1, home), Time::ZERO);
    let again = Register { session: 0, home: true, flow: flow(UDP), outer: Some(flow(UDP).source), boot: 2 };
    say_by(&mut gateway, Tunnel(2), Message::Register(again));
    assert_eq!(session(&gateway).members[0].shift, Some(4096));
}

/// The sender repeats what it does not see acknowledged, under another number.
#[test]
fn what_a_home_has_lost_is_asked_for_when_it_is_repeated() {
    let mut gateway = opened();
    list(&mut gateway, vec![run(10, 1, 1000, 100)], vec![]);
    gateway.handle(Input::TunnelDown(Tunnel(1)), Time::ZERO);
    let home = Home { address: *flow(TCP).source.ip(), cell: [1; 6] };
    gateway.handle(Input::TunnelUpBehind(Tunnel(2), 1, home), Time::ZERO);
    let outer = Some(flow(TCP).source);
    let register = Register { session: 0, home: true, flow: flow(TCP), outer, boot: 2 };
    say_by(&mut gateway, Tunnel(2), Message::Register(register));
    for (own, what) in [(1, "it has them anew"), (2, "null case: they are on their way")] {
        let list = List { session: 0, room: 0, runs: vec![run(own, 1, 1000, 100)], marks: vec![] };
        say_by(&mut gateway, Tunnel(2), Message::List(list));
        assert_eq!(asked(&gateway, 0), [4097], "{what}");
    }
}

/// A neighbour's registration by this tunnel.
fn neighbour(gateway: &mut Gateway, tunnel: Tunnel, wire: u8) {
    let m = Register { session: wire, home: false, flow: flow(TCP), outer: None, boot: 1 };
    say_by(gateway, tunnel, Message::Register(m));
}

#[test]
fn one_contributor_is_one_holder_whatever_it_calls_the_session() {
    let mut gateway = opened();
    for (tunnel, who) in [(2, 7), (3, 7), (4, 8)] {
        gateway.handle(Input::TunnelUp(Tunnel(tunnel), who), Time::ZERO);
    }
    let members = |gateway: &Gateway| {
        let of = |m: &Member| (m.tunnel.0, m.wire, m.apid);
        session(gateway).members.iter().map(of).collect::<Vec<_>>()
    };
    (0..3).for_each(|wire| neighbour(&mut gateway, Tunnel(2), wire));
    assert_eq!(members(&gateway), [(1, 0, 0), (2, 2, 1)]);
    neighbour(&mut gateway, Tunnel(3), 0);
    assert_eq!(members(&gateway), [(1, 0, 0), (3, 0, 1)], "nor by another tunnel");
    neighbour(&mut gateway, Tunnel(4), 0);
    assert_eq!(members(&gateway), [(1, 0, 0), (3, 0, 1), (4, 0, 2)], "null case: another's");
}

#[test]
fn a_number_that_means_another_session_means_the_first_no_more() {
    let mut gateway = opened();
    gateway.handle(Input::TunnelUp(Tunnel(2), 7), Time::ZERO);
    neighbour(&mut gateway, Tunnel(2), 9);
    register(&mut gateway, 1, flow(UDP));
    let m = Register { session: 9, home: false, flow: flow(UDP), outer: None, boot: 1 };
    say_by(&mut gateway, Tunnel(2), Message::Register(m));
    let members = |protocol| {
        let id = gateway.by_flow[&flow(protocol)];
        gateway.sessions[&id].members.iter().map(|m| m.tunnel.0).collect::<Vec<_>>()
    };
    assert_eq!((members(TCP), members(UDP)), (vec![1], vec![1, 2]));
}

/// A packet is what was listed, of this flow: anything else would be another's word.
#[test]
fn what_is_brought_is_the_packet_that_was_asked_for() {
    let mut gateway = opened();
    list(&mut gateway, vec![run(10, 9, 1000, 100)], vec![]);
    let whole = |packet: &[u8]| [&[1], packet].concat();
    let bring = |gateway: &mut Gateway, number, packet: &[u8]| {
        gateway.out.clear();
        let before = gateway.accounts[&1].damaged;
        say(gateway, Message::Data(Data { session: 0, number, elided: whole(packet) }));
        let went = gateway.out.iter().filter(|o| matches!(o, Output::ToReceiver(p) if p.len() > 100)).count();
        (went, gateway.accounts[&1].damaged - before)
    };
    let right = segment(1000, 100, None);
    let changed = |flags, from: &str| {
        let (plain, _) = wire::decode(&right).unwrap();
        let (flags, source) = (plain.flags | flags, from.parse().unwrap());
        let mut out = Vec::new();
        wire::encode(&Segment { flags, source, ..plain }, wire::Payload::Pattern, &mut out);
        out
    };
    let own = "192.168.1.2:40000";
    for (what, packet) in [
        ("another's address", changed(Flags::ACK, "192.168.1.3:40000")),
        ("another's port", changed(Flags::ACK, "192.168.1.2:40001")),
        ("a reset", changed(Flags::RST, own)),
        ("a SYN", changed(Flags::SYN, own)),
        ("another place", segment(1100, 100, None)),
        ("another length", segment(1000, 101, None)),
    ] {
        assert_eq!(bring(&mut gateway, 10, &packet), (0, 1), "{what}");
    }
    assert_eq!(bring(&mut gateway, 10, &right), (1, 0), "null case");
}

/// What such a contributor brings is taken all the same.
#[test]
fn who_comes_when_there_are_too_many_accounts_has_none() {
    let mut gateway = opened();
    gateway.accounts.extend((10..9 + MAX_ACCOUNTS as u64).map(|who| (who, Account::default())));
    gateway.handle(Input::TunnelUp(Tunnel(2), 7), Time::ZERO);
    neighbour(&mut gateway, Tunnel(2), 5);
    gateway.sessions.values_mut().flat_map(|s| &mut s.members).for_each(|m| m.shift = Some(0));
    list(&mut gateway, vec![run(10, 1, 1000, 100)], vec![]);
    let bring = |gateway: &mut Gateway, elided| {
        say_by(gateway, Tunnel(2), Message::Data(Data { session: 5, number: 10, elided }));
    };
    bring(&mut gateway, vec![2]);
    bring(&mut gateway, [&[1], &segment(1000, 100, None)[..]].concat());
    assert!(gateway.out.iter().any(|o| matches!(o, Output::ToReceiver(p) if p.len() > 100)));
    assert_eq!((gateway.accounts.len(), gateway.account(7)), (MAX_ACCOUNTS, None));
}

/// The home may have handed it another packet than the one that it listed.
#[test]
fn a_packet_that_was_not_listed_costs_trust_in_its_session_alone() {
    let mut gateway = opened();
    gateway.handle(Input::TunnelUp(Tunnel(2), 7), Time::ZERO);
    neighbour(&mut gateway, Tunnel(2), 5);
    gateway.sessions.values_mut().flat_map(|s| &mut s.members).for_each(|m| m.shift = Some(0));
    list(&mut gateway, vec![run(64, 3, 1000, 100)], vec![]);
    let window = |gateway: &Gateway| session(gateway).members[1].delivery.window(Time::ZERO);
    let before = window(&gateway);
    say_by(&mut gateway, Tunnel(2), Message::Data(Data { session: 5, number: 64, elided: vec![2] }));
    assert_eq!(window(&gateway), before / 2.0);
    gateway.handle(Input::TunnelDown(Tunnel(2)), Time::ZERO);
    assert_eq!(gateway.account(7).map(|a| (a.damaged, a.score)), Some((1, 1.0)));
}

/// Ten bytes of rubbish would have another's uplink send a whole packet once more, each time.
#[test]
fn rubbish_of_one_member_asks_no_other_again() {
    let mut gateway = opened();
    gateway.handle(Input::TunnelUp(Tunnel(2), 7), Time::ZERO);
    neighbour(&mut gateway, Tunnel(2), 5);
    list(&mut gateway, vec![run(64, 3, 1000, 100)], vec![(64, 7)]);
    assert_eq!(asked(&gateway, 0), [64, 65, 66]);
    let (session, room, numbers, marks) = (5, 0, vec![64], vec![(64, 7)]);
    let heard = Heard { session, room, numbers, marks };
    say_by(&mut gateway, Tunnel(2), Message::Heard(heard));
    told(&mut gateway, Tunnel(1));
    for number in [64, 65, 66, 65] {
        let rubbish = Data { session, number, elided: vec![2] };
        say_by(&mut gateway, Tunnel(2), Message::Data(rubbish));
    }
    assert_eq!((told(&mut gateway, Tunnel(1)), gateway.account(7).unwrap().damaged), (vec![], 4));
    // The null case: what the home access point was asked for, and brings wrongly.
    say(&mut gateway, Message::Data(Data { session: 0, number: 65, elided: vec![2] }));
    assert!(matches!(told(&mut gateway, Tunnel(1))[..], [Message::Schedule { apid: 0, .. }]));
}

#[test]
fn ten_bytes_do_not_name_packets_without_end() {
    let mut gateway = gateway(UDP);
    let mut lists = 0;
    while gateway.peers.contains_key(&Tunnel(1)) {
        list(&mut gateway, vec![run(64, 1 << 15, 0, 0)], vec![]);
        lists += 1;
        assert!(lists < 100);
    }
    assert_eq!(lists, (1 << 20 >> 15) + 1);
    assert!(gateway.out.contains(&Output::Hangup(Tunnel(1))));
    // Nor in the next tunnel.
    gateway.handle(Input::TunnelUp(Tunnel(2), 1), Time::ZERO);
    let heard = Heard { session: 0, room: 0, numbers: (0..9).collect(), marks: vec![] };
    say_by(&mut gateway, Tunnel(2), Message::Heard(heard));
    assert!(!gateway.peers.contains_key(&Tunnel(2)));
}

#[test]
fn where_too_many_packets_are_listed_a_session_may_list_few() {
    let mut gateway = gateway(UDP);
    list(&mut gateway, vec![run(64, 2000, 0, 10)], vec![]);
    assert_eq!((session(&gateway).entries.len(), gateway.listed), (2000, 2000));
    gateway.listed = MANY;
    list(&mut gateway, vec![run(5000, 2000, 0, 10)], vec![]);
    assert_eq!(session(&gateway).entries.len(), 2000, "it has its share");
    let mut gateway = self::gateway(UDP);
    gateway.listed = MANY;
    list(&mut gateway, vec![run(64, 100, 0, 10)], vec![]);
    assert_eq!(session(&gateway).entries.len(), 100, "who has little is given more");
}

/// Nobody would ever be asked for the rest, and it would count as held.
#[test]
fn what_a_neighbour_hears_beyond_its_bound_is_no_promise() {
    let mut gateway = opened();
    gateway.handle(Input::FromReceiver(&room_for(60_000)), Time::ZERO);
    for (tunnel, who) in [(2, 7), (3, 8)] {
        gateway.handle(Input::TunnelUp(Tunnel(tunnel), who), Time::ZERO);
        neighbour(&mut gateway, Tunnel(tunnel), 0);
    }
    gateway.sessions.values_mut().flat_map(|s| &mut s.members).for_each(|m| m.shift = Some(0));
    // The second run says that the first was not the last.
    list(&mut gateway, vec![run(64, 1500, 1000, 10), run(1564, 1, 16_000, 10)], vec![]);
    gateway.listed = MANY;
    for tunnel in [2, 3] {
        let heard = Heard { session: 0, room: 0, numbers: (64..1565).collect(), marks: vec![] };
        say_by(&mut gateway, Tunnel(tunnel), Message::Heard(heard));
    }
    let held: Vec<usize> = session(&gateway).members.iter().map(|m| m.held.len()).collect();
    assert_eq!(held, [0, FEW, FEW]);
    gateway.handle(Input::TunnelDown(Tunnel(1)), Time::ZERO);
    let mut alive = Vec::new();
    Message::Alive { room: 0 }.write(&mut alive);
    for now in (0..32).map(|n| Time::from_millis(100 * n)) {
        for n in [2, 3] {
            gateway.handle(Input::FromTunnel(Tunnel(n), &alive), now);
        }
        gateway.handle(Input::Timer, now);
    }
    let why = |o: &Output| if let Output::Ended { why, .. } = o { Some(*why) } else { None };
    assert_eq!(gateway.out.iter().find_map(why), Some(Why::Orphaned), "known to be nobody's at once");
}

#[test]
fn a_neighbour_that_is_early_fills_his_own_places_alone() {
    let mut gateway = Gateway::new(Config::new(vec![(Ipv4Addr::UNSPECIFIED, None)], [7; 16]));
    for tunnel in [1, 2, 3] {
        gateway.handle(Input::TunnelUp(Tunnel(tunnel), tunnel.into()), Time::ZERO);
    }
    neighbour(&mut gateway, Tunnel(2), 0);
    for station in 0..=255 {
        let flow = Flow { station: [station; 6], ..flow(UDP) };
        let m = Register { session: station, home: false, flow, outer: None, boot: 1 };
        say_by(&mut gateway, Tunnel(3), Message::Register(m));
    }
    assert_eq!(gateway.waiting.len(), 65);
    register(&mut gateway, 0, flow(TCP));
    assert_eq!(session(&gateway).members.iter().map(|m| m.tunnel.0).collect::<Vec<_>>(), [1, 2]);
    gateway.handle(Input::TunnelDown(Tunnel(3)), Time::ZERO);
    assert!(gateway.waiting.is_empty());
}

#[test]
fn ports_that_are_used_again_are_another_connection() {
    let mut gateway = opened();
    // The second report says that the first was not the last.
    list(&mut gateway, vec![run(10, 3, 1000, 100)], vec![]);
    list(&mut gateway, vec![run(13, 1, 1300, 100)], vec![]);
    let open = |gateway: &mut Gateway, seq| {
        let (plain, _) = wire::decode(&segment(seq, 0, None)).unwrap();
        let mut syn = Vec::new();
        let opens = Segment { flags: Flags::SYN, ack: 0, ..plain };
        wire::encode(&opens, wire::Payload::Zeros, &mut syn);
        gateway.handle(Input::FromSender(&syn), Time::ZERO);
        (session(gateway).entries.len(), session(gateway).stream.as_ref().unwrap().number(0))
    };
    assert_eq!(open(&mut gateway, 77_000), (4, Some(999)), "acknowledged bytes are held");
    let mut gateway = opened();
    assert_eq!(open(&mut gateway, 77_000), (0, Some(77_000)));
}

/// A packet of the receiver that resets the connection.
fn reset() -> Vec<u8> {
    let (plain, _) = wire::decode(&segment(0, 0, None)).unwrap();
    let Flow { source, destination, .. } = flow(TCP);
    let mut out = Vec::new();
    let rst = Segment { flags: Flags::RST, seq: 99, source: destination, destination: source, ..plain };
    wire::encode(&rst, wire::Payload::Zeros, &mut out);
    out
}

#[test]
fn a_session_that_is_over_keeps_nothing_and_makes_room() {
    let mut gateway = opened();
    list(&mut gateway, vec![run(10, 3, 1000, 100)], vec![(10, 7)]);
    gateway.handle(Input::FromReceiver(&reset()), Time::ZERO);
    let over = session(&gateway);
    assert_eq!((over.members.len(), over.listed(), over.marks.len(), over.pending.len()), (0, 0, 0, 0));
    assert!(gateway.out.contains(&Output::Ended { destination: flow(TCP).destination, why: Why::ByAnEnd }));
    let other = |port| Flow { source: SocketAddrV4::new(*flow(UDP).source.ip(), port), ..flow(UDP) };
    for port in 1..=MAX_OF_ONE as u16 {
        register(&mut gateway, 1, other(port));
    }
    assert_eq!((gateway.sessions.len(), gateway.by_flow.get(&flow(TCP))), (MAX_OF_ONE, None));
    register(&mut gateway, 1, other(9999));
    assert_eq!(gateway.by_flow.get(&other(9999)), None, "null case: none is over");
}

/// A home has 256 sessions and its access point 64, and a connection is soon over.
#[test]
fn a_session_whose_upload_has_ended_is_forgotten_soon() {
    let mut gateway = opened();
    let (plain, _) = wire::decode(&segment(1000, 0, None)).unwrap();
    let Flow { source, destination, .. } = flow(TCP);
    let bytes = |segment: Segment| {
        let mut out = Vec::new();
        wire::encode(&segment, wire::Payload::Zeros, &mut out);
        out
    };
    let fin = bytes(Segment { flags: Flags::FIN | Flags::ACK, ..plain });
    gateway.handle(Input::FromSender(&fin), Time::ZERO);
    let soon = Time::ZERO + DEAD;
    assert!(!session(&gateway).is_over(soon), "null case: the receiver may miss it");
    let ack = Segment { seq: 99, ack: 1001, source: destination, destination: source, ..plain };
    gateway.handle(Input::FromReceiver(&bytes(ack)), Time::ZERO);
    assert!(session(&gateway).is_over(soon));
    assert_eq!(session(&gateway).dead_since(), Some(Time::ZERO), "and makes room at once");
}

#[test]
fn a_session_that_holds_acknowledged_bytes_is_not_forgotten() {
    let mut gateway = opened();
    let minutes = Time::ZERO + IDLE + DEAD;
    assert!(session(&gateway).is_over(minutes), "null case");
    list(&mut gateway, vec![run(10, 3, 1000, 100)], vec![]);
    list(&mut gateway, vec![run(13, 1, 1300, 100)], vec![]);
    assert!(!session(&gateway).is_over(minutes));
}

#[test]
fn what_is_repeated_after_it_was_released_is_released_again() {
    let mut gateway = opened();
    let step = |gateway: &mut Gateway, ms: u64, input: Input<'_>| {
        let now = Time::from_millis(ms);
        gateway.handle(input, now);
        gateway.handle(Input::Timer, now);
        let told = told(gateway, Tunnel(1));
        let released = told.iter().filter_map(|m| match m {
            Message::Release { below, .. } => Some(*below),
            _ => None,
        });
        released.collect::<Vec<_>>()
    };
    let bytes = |message: Message| {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        bytes
    };
    let listed = |number| {
        bytes(Message::List(List {
            session: 0,
            room: 0,
            runs: vec![run(number, 1, 1000, 100)],
            marks: vec![],
        }))
    };
    let brought = Data { session: 0, number: 10, elided: [&[1], &segment(1000, 100, None)[..]].concat() };
    step(&mut gateway, 100, Input::FromTunnel(Tunnel(1), &listed(10)));
    step(&mut gateway, 200, Input::FromTunnel(Tunnel(1), &bytes(Message::Data(brought))));
    let (plain, _) = wire::decode(&segment(0, 0, None)).unwrap();
    let Flow { source, destination, .. } = flow(TCP);
    let mut ack = Vec::new();
    let segment = Segment { seq: 99, ack: 1100, source: destination, destination: source, ..plain };
    wire::encode(&segment, wire::Payload::Zeros, &mut ack);
    assert_eq!(step(&mut gateway, 300, Input::FromReceiver(&ack)), [1100]);
    assert_eq!((session(&gateway).entries.len(), session(&gateway).listed()), (0, 0));
    let alive = bytes(Message::Alive { room: 0 });
    assert_eq!(step(&mut gateway, 400, Input::FromTunnel(Tunnel(1), &alive)), [0; 0], "null case: once");
    assert_eq!(step(&mut gateway, 500, Input::FromTunnel(Tunnel(1), &listed(11))), [1100]);
    assert_eq!(session(&gateway).entries.len(), 0);
}
