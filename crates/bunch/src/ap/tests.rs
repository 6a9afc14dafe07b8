use super::*;
use crate::inner::tests::{datagram, segment};
use crate::wire::{Heard, List, Run};

const KEY: [u8; 16] = [5; 16];

struct Street {
    ap: Ap,
    now: Time,
    sequence: u16,
}

fn frame(sequence: u16, home: bool) -> Frame {
    Frame { bssid: [1; 6], station: [2; 6], tid: 0, sequence, home }
}

impl Street {
    fn new(memory_bytes: usize) -> Street {
        let serve = vec![("10.9.0.2".parse().unwrap(), Some(5201))];
        let ap = Ap::new(Config { memory_bytes, ..Config::new(7, serve) });
        Street { ap, now: Time::ZERO, sequence: 0 }
    }

    fn put(&mut self, input: Input<'_>) -> Vec<Output> {
        self.ap.handle(input, self.now);
        core::iter::from_fn(|| Some(self.ap.poll_output()))
            .take_while(|o| !matches!(o, Output::Timeout(..)))
            .collect()
    }

    /// Captures, and what came out of it.
    fn capture(&mut self, packet: Vec<u8>, home: bool) -> Vec<Output> {
        self.sequence += 1;
        self.put(Input::Captured(frame(self.sequence, home), packet.into()))
    }

    fn tell(&mut self, m: Message) -> Vec<Message> {
        let mut bytes = Vec::new();
        m.write(&mut bytes);
        let out = self.put(Input::FromTunnel(&bytes));
        messages(&out)
    }

    /// Opened by a SYN, registered, and no longer native.
    fn open(&mut self, home: bool) {
        self.put(Input::TunnelUp { room: 100_000 });
        let mut syn = segment(0, 0, None);
        syn[33] = 2;
        self.capture(syn, home);
        let audit = home.then_some([6; 16]);
        self.tell(Message::Registered { session: 0, apid: 3, key: KEY, audit });
        self.report();
        self.tell(Message::Native { session: 0, on: false });
    }

    fn report(&mut self) -> Vec<Message> {
        self.now += Duration::from_millis(20);
        let out = self.put(Input::Timer);
        messages(&out)
    }
}

fn messages(out: &[Output]) -> Vec<Message> {
    let bytes = |o: &Output| if let Output::ToTunnel(b) = o { b.clone() } else { Vec::new() };
    crate::wire::all(&out.iter().flat_map(bytes).collect::<Vec<_>>()).unwrap()
}

#[test]
fn registers_with_the_first_packet_and_keeps_to_the_ordinary_way() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 1000 });
    let out = s.capture(segment(0, 10, None), true);
    let [Message::Register(register)] = &messages(&out)[..] else { panic!("{out:?}") };
    assert!(register.home && register.boot == 7);
    assert!(matches!(&out[1], Output::Forward(_)), "nobody hears it yet");
    let mut other = segment(0, 10, None);
    other[23] = 9;
    assert!(matches!(&s.capture(other, true)[..], [Output::Forward(_)]), "a port that is not served");
}

#[test]
fn lists_runs_and_forgets_when_the_receiver_has_it() {
    let mut s = Street::new(1 << 20);
    s.open(true);
    for i in 0..3 {
        assert_eq!(s.capture(segment(100 * i, 100, None), true), []);
    }
    let [Message::List(List { runs, .. })] = &s.report()[..] else { panic!() };
    let first = runs[0].first;
    assert_eq!(runs[..], [Run { first, count: 3, seq: 0, len: 100, stamp: None }]);
    let schedule = |apid| Message::Schedule { session: 0, apid, ranges: vec![(first, 2)] };
    assert_eq!(s.tell(schedule(9)), [], "another's");
    let held = s.ap.held_bytes();
    let sent = s.tell(schedule(3));
    assert!(matches!(&sent[..], [Message::Data(a), Message::Data(b)] if a.number + 1 == b.number));
    assert_eq!(s.ap.held_bytes(), held, "a schedule and a write release nothing");
    s.tell(Message::Release { session: 0, below: 150 });
    assert_eq!(s.ap.held_bytes(), 2 * held / 3, "one whole segment lies below");
    s.tell(Message::Close { session: 0 });
    assert_eq!(s.ap.held_bytes(), 0);
}

#[test]
fn a_repetition_on_the_air_is_held_once() {
    let mut s = Street::new(1 << 20);
    s.open(false);
    let packet: Packet = segment(5, 50, None).into();
    for _ in 0..3 {
        s.put(Input::Captured(frame(77, false), packet.clone()));
    }
    assert_eq!((s.ap.counts().captured, s.ap.counts().repeated), (1, 2));
    let [Message::Heard(Heard { numbers, .. })] = &s.report()[..] else { panic!() };
    assert_eq!(numbers.len(), 1);
}

#[test]
fn without_memory_nothing_is_reported_and_home_sends_it_on() {
    let mut s = Street::new(300);
    s.open(true);
    let outs: Vec<_> = (0..4).map(|i| s.capture(segment(100 * i, 100, None), true)).collect();
    assert!(outs[1].is_empty() && matches!(outs[3][..], [Output::Forward(_)]), "{outs:?}");
    assert!(s.ap.held_bytes() <= 300);
    let [Message::List(List { runs, .. })] = &s.report()[..] else { panic!() };
    assert_eq!(runs.iter().map(|r| r.count).sum::<u64>(), 2);
}

#[test]
fn a_new_tunnel_hears_of_all_that_is_held() {
    let mut s = Street::new(1 << 20);
    s.open(true);
    s.capture(segment(0, 100, None), true);
    assert_eq!(s.report().len(), 1);
    s.put(Input::TunnelDown);
    assert!(matches!(s.capture(segment(100, 100, None), true)[..], [Output::Forward(_)]), "no tunnel");
    s.put(Input::TunnelUp { room: 1000 });
    s.tell(Message::Registered { session: 0, apid: 4, key: KEY, audit: None });
    let again = s.report();
    assert!(matches!(&again[..], [Message::List(l)] if l.runs[0].count == 1), "{again:?}");
}

#[test]
fn datagrams_go_stale_and_the_first_opens_the_way() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 1000 });
    let out = s.capture(datagram(1, 40), true);
    assert!(out.iter().any(|o| matches!(o, Output::Forward(_))));
    s.tell(Message::Registered { session: 0, apid: 1, key: KEY, audit: None });
    s.tell(Message::Native { session: 0, on: false });
    assert_eq!(s.capture(datagram(2, 40), true), []);
    s.report();
    s.now += Duration::from_secs(3);
    s.capture(datagram(3, 40), true);
    s.report();
    assert_eq!(s.ap.held_bytes(), 68, "the old one is gone");
}

#[test]
fn datagrams_go_stale_when_no_more_come() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 1000 });
    s.capture(datagram(1, 40), true);
    s.tell(Message::Registered { session: 0, apid: 1, key: KEY, audit: None });
    s.tell(Message::Native { session: 0, on: false });
    s.capture(datagram(2, 40), true);
    assert_eq!((s.report().len(), s.ap.held_bytes()), (1, 68));
    // Signs of life alone.
    s.now += Duration::from_secs(3);
    s.put(Input::Timer);
    assert_eq!(s.ap.held_bytes(), 0);
}

#[test]
fn a_neighbour_that_cannot_hear_is_handed_packets() {
    let mut home = Street::new(1 << 20);
    home.ap.config.share = true;
    home.open(true);
    let out = home.capture(segment(0, 100, None), true);
    let [Output::ToNeighbours(bytes)] = &out[..] else { panic!("{out:?}") };
    let mut other = Street::new(1 << 20);
    other.put(Input::TunnelUp { room: 1000 });
    other.put(Input::FromNeighbour(Some([1; 6]), bytes));
    other.tell(Message::Registered { session: 0, apid: 1, key: KEY, audit: None });
    let [Message::Heard(heard)] = &other.report()[..] else { panic!() };
    let [Message::List(list)] = &home.report()[..] else { panic!() };
    assert_eq!(heard.numbers, [list.runs[0].first], "by the home access point's number");
}

#[test]
fn a_translation_that_is_known_first_is_told_first() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 100_000 });
    let inner = inner::parse(&segment(0, 0, None)).unwrap();
    let (source, destination) = (inner.source, inner.destination);
    let flow = Flow { bssid: [1; 6], station: [2; 6], tid: 0, protocol: TCP, source, destination };
    let outer = "10.78.0.2:40000".parse().unwrap();
    let out = s.put(Input::Outer(flow, outer));
    let [Message::Register(register)] = &messages(&out)[..] else { panic!("{out:?}") };
    assert!(register.home && register.outer == Some(outer));
    s.capture(segment(0, 0, None), true);
    assert_eq!(s.ap.sessions(), 1, "it is the same session");
    let elsewhere = Flow { destination: "10.9.0.3:1".parse().unwrap(), ..flow };
    assert_eq!(s.put(Input::Outer(elsewhere, outer)), [], "nobody is helped there");
}

#[test]
fn nonsense_ends_the_tunnel() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 1000 });
    assert_eq!(s.put(Input::FromTunnel(&[0xFF, 0xFF, 0xFF, 0x7F])), [Output::Hangup]);
}

/// What a neighbour hands on: a packet of a flow of this station.
fn shared(station: u8, seq: u32) -> Vec<u8> {
    shared_by([1; 6], station, seq, 100)
}

fn shared_by(bssid: Mac, station: u8, seq: u32, len: u32) -> Vec<u8> {
    let packet = segment(seq, len, None);
    let inner = inner::parse(&packet).unwrap();
    let (source, destination) = (inner.source, inner.destination);
    let flow = Flow { bssid, station: [station; 6], tid: 0, protocol: TCP, source, destination };
    let mut bytes = Vec::new();
    Message::Share(Box::new(Share { flow, number: 5000 + u64::from(seq), packet })).write(&mut bytes);
    bytes
}

#[test]
fn a_neighbour_hands_on_packets_of_its_own_cell() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 100_000 });
    s.put(Input::FromNeighbour(Some([9; 6]), &shared(2, 0)));
    assert_eq!((s.ap.sessions(), s.ap.held_bytes()), (0, 0), "another's");
    for cell in [Some([1; 6]), None] {
        s.put(Input::FromNeighbour(cell, &shared(2, u32::from(cell.is_none()) * 100)));
    }
    assert_eq!((s.ap.sessions(), s.ap.held_bytes()), (1, 280), "null case");
}

#[test]
fn neighbours_leave_room_for_the_own_home() {
    let mut s = Street::new(28_000);
    s.open(true);
    for cell in 0..=255 {
        s.put(Input::FromNeighbour(None, &shared_by([cell; 6], 2, 0, 100)));
    }
    assert_eq!(s.ap.sessions(), 1 + MAX_OF_OTHERS);
    for seq in 1..300 {
        s.put(Input::FromNeighbour(None, &shared_by([seq as u8 % 32; 6], 2, 400 * seq, 400)));
    }
    let held = s.ap.held_bytes();
    assert!((10_000..=14_000).contains(&held), "half of it: {held}");
    for seq in 0..60 {
        assert_eq!(s.capture(segment(100 * seq, 100, None), true), [], "held");
    }
    assert_eq!(s.ap.held_bytes(), held + 60 * 140);
    // One that has no home of its own is there for others alone.
    let mut s = Street::new(28_000);
    for seq in 0..300 {
        s.put(Input::FromNeighbour(None, &shared_by([1; 6], 0, 400 * seq, 400)));
    }
    assert!(s.ap.held_bytes() > 17_000, "{}", s.ap.held_bytes());
}

#[test]
fn one_neighbour_leaves_room_for_another() {
    let mut s = Street::new(28_000);
    s.open(true);
    for station in 0..=255 {
        s.put(Input::FromNeighbour(None, &shared(station, 0)));
    }
    let greedy = s.ap.sessions() - 1;
    assert!((MAX_OF_OTHERS / 2..MAX_OF_OTHERS - 4).contains(&greedy), "{greedy}");
    for seq in 1..300 {
        s.put(Input::FromNeighbour(None, &shared_by([1; 6], 0, 400 * seq, 400)));
    }
    let held = s.ap.held_bytes();
    assert!((8_000..10_000).contains(&held), "two thirds of half: {held}");
    // Another one comes later, and still finds both.
    for seq in 0..4 {
        s.put(Input::FromNeighbour(None, &shared_by([9; 6], 2, 100 * seq, 100)));
    }
    assert_eq!((s.ap.sessions(), s.ap.held_bytes()), (2 + greedy, held + 4 * 140));
    // Nor do small packets take all that may be held in number.
    let mut s = Street::new(100_000);
    for seq in 0..2000 {
        let mut out = Vec::new();
        let flow = Flow { bssid: [1; 6], ..flow_of(&segment(seq, 1, None)) };
        let share = Share { flow, number: 5000 + u64::from(seq), packet: segment(seq, 1, None) };
        Message::Share(Box::new(share)).write(&mut out);
        s.put(Input::FromNeighbour(None, &out));
    }
    let most = 100_000 / PACKET + FEW;
    assert!(s.ap.held_bytes() / 41 < most * 3 / 4, "{}", s.ap.held_bytes());
}

fn flow_of(packet: &[u8]) -> Flow {
    let inner = inner::parse(packet).unwrap();
    let (source, destination) = (inner.source, inner.destination);
    Flow { bssid: [1; 6], station: [2; 6], tid: 0, protocol: TCP, source, destination }
}

#[test]
fn small_packets_have_a_bound_in_number() {
    let mut s = Street::new(100_000);
    s.open(true);
    (0..2000).for_each(|seq| drop(s.capture(segment(seq, 1, None), true)));
    assert_eq!(s.ap.held_bytes(), (100_000 / PACKET + FEW) * 41);
}

#[test]
fn what_nobody_will_ever_release_is_forgotten() {
    let mut s = Street::new(1 << 20);
    s.put(Input::TunnelUp { room: 100_000 });
    s.put(Input::FromNeighbour(None, &shared(2, 0)));
    s.now += IDLE - Duration::from_secs(1);
    s.put(Input::Timer);
    assert_eq!(s.ap.held_bytes(), 140);
    // The gateway knows it: it will say when.
    s.tell(Message::Registered { session: 0, apid: 1, key: KEY, audit: None });
    s.now += Duration::from_secs(2);
    s.put(Input::Timer);
    assert_eq!(s.ap.held_bytes(), 140);
    s.put(Input::TunnelDown);
    s.put(Input::Timer);
    assert_eq!((s.ap.sessions(), s.ap.held_bytes()), (0, 0));
}

#[test]
fn the_own_home_goes_before_neighbours_who_keep_an_eighth() {
    let mut s = Street::new(1 << 20);
    s.open(true);
    for seq in 0..40 {
        assert_eq!(s.capture(segment(100 * seq, 100, None), true), []);
        s.put(Input::FromNeighbour(None, &shared_by([9; 6], 2, 100 * seq, 100)));
    }
    s.tell(Message::Registered { session: 1, apid: 4, key: KEY, audit: None });
    let reports = s.report();
    let list =
        reports.iter().find_map(|m| if let Message::List(l) = m { Some(l.runs[0].first) } else { None });
    s.put(Input::Room(0));
    // The neighbour's were asked for first.
    assert_eq!(s.tell(Message::Schedule { session: 1, apid: 4, ranges: vec![(5000, 4000)] }), []);
    assert_eq!(s.tell(Message::Schedule { session: 0, apid: 3, ranges: vec![(list.unwrap(), 40)] }), []);
    let out = s.put(Input::Room(1 << 20));
    let of = |m: &Message| if let Message::Data(d) = m { d.session } else { 9 };
    let order: Vec<u8> = messages(&out).iter().map(of).collect();
    assert_eq!(order.len(), 80);
    assert_eq!(order[..16], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(order.iter().rev().take(30).sum::<u8>(), 30, "then the neighbour has all");
    assert!(s.ap.counts().own_bytes * 3 > s.ap.counts().data_bytes);
    assert!(s.ap.counts().own_bytes < s.ap.counts().data_bytes);
    assert_eq!(s.ap.counts().carried_packets, 40, "what it carries for others");
}

#[test]
fn an_allowance_bounds_what_is_held_for_neighbours_and_the_home_goes_on() {
    let run = |allowance: Option<u64>| {
        let mut s = Street::new(1 << 20);
        s.open(true);
        s.ap.set_allowance(allowance);
        for seq in 0..40 {
            assert_eq!(s.capture(segment(100 * seq, 100, None), true), [], "the home's is held");
            s.put(Input::FromNeighbour(None, &shared_by([9; 6], 2, 100 * seq, 100)));
        }
        s
    };
    let held = |s: &Street| s.ap.held_bytes() / 140 - 40;
    assert_eq!(held(&run(None)), 40, "null case");
    // REGISTER takes 38 bytes and what is around it, and each packet 140 and that.
    let mut s = run(Some(3_100));
    assert_eq!((held(&s), s.ap.counts().beyond_allowance), (10, 30));
    // What is held is brought, and what it cost is told once.
    s.tell(Message::Registered { session: 1, apid: 4, key: KEY, audit: None });
    s.report();
    s.tell(Message::Schedule { session: 1, apid: 4, ranges: vec![(5000, 4000)] });
    assert_eq!(s.ap.counts().carried_packets, 10);
    let spent = s.ap.take_spent();
    assert!((2_500..=3_100).contains(&spent), "{spent}");
    assert_eq!(s.ap.take_spent(), 0);
    s.ap.set_allowance(Some(0));
    s.put(Input::FromNeighbour(None, &shared_by([8; 6], 3, 0, 100)));
    assert_eq!(s.ap.sessions(), 2, "nobody new is helped");
    assert_eq!(s.capture(segment(4000, 100, None), true), []);
    s.ap.set_allowance(Some(10_000));
    s.put(Input::FromNeighbour(None, &shared_by([8; 6], 3, 0, 100)));
    assert_eq!(s.ap.sessions(), 3, "its day has come");
}
