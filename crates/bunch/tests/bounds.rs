//! What one contributor may cost the gateway, and what is left when its memory is full.

use ropewalk_bunch::elide::Elision;
use ropewalk_bunch::gateway::{Config, Gateway, Home, Input, Output, Tunnel};
use ropewalk_bunch::inner;
use ropewalk_bunch::wire::{Data, Heard, List, Message, Register, Run};
use ropewalk_bunch::{Flow, Time};
use ropewalk_packet::{Ecn, Flags, Options, Segment, Timestamps, wire};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

const ISN: u32 = u32::MAX - 50_000;
const PACKETS: u64 = 200;
const LEN: u32 = 1000;

fn ends() -> [SocketAddrV4; 2] {
    ["10.78.0.2:40000".parse().unwrap(), "203.0.113.9:443".parse().unwrap()]
}

fn flow(protocol: u8) -> Flow {
    let [source, destination] = ends();
    Flow { bssid: [1; 6], station: [2; 6], tid: 0, protocol, source, destination }
}

/// A gateway with one tunnel, whose contributor's senders have one address.
fn gateway(memory_bytes: u64) -> Gateway {
    let everywhere = vec![(Ipv4Addr::UNSPECIFIED, None)];
    let mut gateway = Gateway::new(Config { memory_bytes, ..Config::new(everywhere, [7; 16]) });
    let home = Home { address: *ends()[0].ip(), cell: [1; 6] };
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home), Time::ZERO);
    gateway
}

fn say(gateway: &mut Gateway, message: Message, now: Time) {
    say_by(gateway, Tunnel(1), message, now);
}

fn say_by(gateway: &mut Gateway, tunnel: Tunnel, message: Message, now: Time) {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    gateway.handle(Input::FromTunnel(tunnel, &bytes), now);
}

fn home(protocol: u8, boot: u64) -> Message {
    let outer = Some(ends()[0]);
    Message::Register(Register { session: 0, home: true, flow: flow(protocol), outer, boot })
}

fn list(first: u64, count: u64, marks: Vec<(u64, u32)>) -> Message {
    let run = Run { first, count, seq: 0, len: 100, stamp: None };
    Message::List(List { session: 0, room: 0, runs: vec![run], marks })
}

#[test]
fn a_list_above_all_numbers_is_none() {
    let mut gateway = gateway(1 << 20);
    // Another boot: its numbers go on a lap further.
    for boot in 1..3 {
        say(&mut gateway, home(inner::UDP, boot), Time::ZERO);
    }
    say(&mut gateway, list(u64::MAX - 4096 - 100, 200, vec![]), Time::ZERO);
    assert_eq!(gateway.sessions(), 1);
}

/// Whether so many damaged reports of 32,768 numbers each end the tunnel.
fn ends_after(reports: usize) -> bool {
    let mut gateway = gateway(1 << 20);
    let heard = Heard { session: 0, room: 0, numbers: (0..1 << 15).collect(), marks: vec![] };
    let mut bytes = Vec::new();
    Message::Heard(heard).write(&mut bytes);
    // Behind its numbers it is damaged.
    bytes[0] += 1;
    bytes.push(9);
    for _ in 0..reports {
        gateway.handle(Input::FromTunnel(Tunnel(1), &bytes), Time::ZERO);
    }
    std::iter::from_fn(|| Some(gateway.poll_output()))
        .take_while(|o| !matches!(o, Output::Timeout(..)))
        .any(|o| o == Output::Hangup(Tunnel(1)))
}

#[test]
fn damaged_reports_have_the_allowance_of_others() {
    assert!(!ends_after(32) && ends_after(33));
}

#[test]
fn a_cell_of_somebody_who_is_revoked_is_given_back() {
    let mut gateway = gateway(1 << 20);
    let cell = [7; 6];
    let claim = |gateway: &mut Gateway, tunnel: u32, address: Ipv4Addr| {
        let outer = Some(SocketAddrV4::new(address, 40_000));
        let flow = Flow { bssid: cell, ..flow(inner::TCP) };
        let register = Register { session: 3, home: true, flow, outer, boot: 1 };
        let before = gateway.counts().cells_of_others;
        say_by(gateway, Tunnel(tunnel), Message::Register(register), Time::ZERO);
        gateway.counts().cells_of_others == before
    };
    gateway.handle(Input::OnAir(Tunnel(1)), Time::ZERO);
    let address = Ipv4Addr::new(10, 78, 0, 3);
    let home = Home { address, cell: [2; 6] };
    gateway.handle(Input::TunnelUpBehind(Tunnel(2), 2, home), Time::ZERO);
    gateway.handle(Input::OnAir(Tunnel(2)), Time::ZERO);
    assert!(claim(&mut gateway, 1, *ends()[0].ip()));
    assert!(!claim(&mut gateway, 2, address), "another had it first");
    gateway.handle(Input::TunnelDown(Tunnel(1)), Time::ZERO);
    assert!(!claim(&mut gateway, 2, address), "a tunnel that is gone may come again");
    gateway.handle(Input::Revoked(1), Time::ZERO);
    assert!(claim(&mut gateway, 2, address));
}

#[test]
fn no_number_makes_it_panic() {
    for high in [1u64 << 62, 1 << 63, u64::MAX - 4096 - 100, u64::MAX - 40_000] {
        let mut gateway = gateway(1 << 20);
        let mut now = Time::ZERO;
        gateway.handle(Input::TunnelUp(Tunnel(2), 2), now);
        for boot in 1..5 {
            say(&mut gateway, home(inner::UDP, boot), now);
            let neighbour = Register { session: 1, home: false, flow: flow(17), outer: None, boot };
            say_by(&mut gateway, Tunnel(2), Message::Register(neighbour), now);
            for first in [high, high - 300, (1 << 62) - 300] {
                let anchor = first & !63;
                say(&mut gateway, list(first, 200, vec![(first, 1)]), now);
                say(&mut gateway, list(anchor, 200, vec![(anchor, 5), (anchor + 64, 6)]), now);
                let numbers = (anchor..anchor + 200).collect();
                let marks = vec![(anchor, 5), (anchor + 64, 6)];
                let heard = Heard { session: 1, room: 0, numbers, marks };
                say_by(&mut gateway, Tunnel(2), Message::Heard(heard), now);
                let low = Heard { session: 1, room: 0, numbers: vec![0], marks: vec![(anchor % 4096, 5)] };
                say_by(&mut gateway, Tunnel(2), Message::Heard(low), now);
                say(&mut gateway, Message::Data(Data { session: 0, number: first, elided: vec![2] }), now);
            }
            now += Duration::from_millis(50);
            gateway.handle(Input::Timer, now);
        }
        assert_eq!(gateway.sessions(), 1);
    }
}

fn segment(flags: Flags, at: u64, payload_bytes: u32) -> Segment {
    let [source, destination] = ends();
    Segment {
        source,
        destination,
        ecn: Ecn::NotEct,
        flags,
        seq: ISN.wrapping_add(at as u32),
        ack: 6,
        window: 1000,
        urgent: 0,
        options: Options {
            timestamps: Some(Timestamps { value: 7 + at as u32 / 100, echo: 3 }),
            ..Options::default()
        },
        payload_bytes,
    }
}

fn packet(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    wire::encode(segment, wire::Payload::Pattern, &mut out);
    out
}

fn answer(flags: Flags, next: u64) -> Vec<u8> {
    let [destination, source] = ends();
    let syn = flags.has(Flags::SYN);
    let segment = segment(flags, 0, 0);
    let timestamps = Some(Timestamps { value: 3, echo: 7 });
    packet(&Segment {
        source,
        destination,
        seq: if syn { 5 } else { 6 },
        ack: ISN.wrapping_add(next as u32),
        window: 4000,
        options: Options {
            timestamps,
            mss: syn.then_some(1400),
            window_scale: syn.then_some(7),
            ..Options::default()
        },
        ..segment
    })
}

/// A home access point that brings what it is asked for, and a receiver, 10 ms away.
struct Upload {
    gateway: Gateway,
    elision: Elision,
    /// Numbers that it was asked for.
    asked: VecDeque<u64>,
    asked_in_all: usize,
    /// Packets of the receiver's stream, by place, and up to where it is whole.
    had: BTreeMap<u64, Vec<u8>>,
    next: u64,
}

/// The packet with this number, as the sender sent it.
fn sent(number: u64) -> Vec<u8> {
    packet(&segment(Flags::ACK, 1 + (number - 100) * u64::from(LEN), LEN))
}

impl Upload {
    fn new(memory_bytes: u64) -> Upload {
        let (mut gateway, now) = (gateway(memory_bytes), Time::ZERO);
        say(&mut gateway, home(inner::TCP, 1), now);
        let syn = segment(Flags::SYN, 0, 0);
        let options = Options { mss: Some(1400), window_scale: Some(7), ..syn.options };
        gateway.handle(Input::FromSender(&packet(&Segment { options, ack: 0, ..syn })), now);
        gateway.handle(Input::FromReceiver(&answer(Flags::SYN | Flags::ACK, 1)), now);
        gateway.handle(Input::FromSender(&packet(&segment(Flags::ACK, 1, 0))), now);
        gateway.handle(Input::FromReceiver(&answer(Flags::ACK, 1)), now);
        let (asked, had) = (VecDeque::new(), BTreeMap::new());
        let mut upload =
            Upload { gateway, elision: Elision::default(), asked, asked_in_all: 0, had, next: 1 };
        let run = Run { first: 100, count: PACKETS, seq: ISN.wrapping_add(1), len: LEN, stamp: Some(7) };
        let list = List { session: 0, room: 65_536, runs: vec![run], marks: vec![] };
        say(&mut upload.gateway, Message::List(list), now);
        upload
    }

    fn step(&mut self, now: Time, acknowledges: bool) {
        for number in core::mem::take(&mut self.asked) {
            let mut elided = Vec::new();
            self.elision.encode(&flow(inner::TCP), number, &sent(number), &mut elided);
            say(&mut self.gateway, Message::Data(Data { session: 0, number, elided }), now);
        }
        say(&mut self.gateway, Message::Alive { room: 65_536 }, now);
        if acknowledges {
            self.gateway.handle(Input::FromReceiver(&answer(Flags::ACK, self.next)), now);
        }
        self.gateway.handle(Input::Timer, now);
        loop {
            match self.gateway.poll_output() {
                Output::ToTunnel(_, bytes) => self.on_tunnel(&bytes),
                Output::ToReceiver(packet) => self.on_receiver(&packet),
                Output::Timeout(..) => return,
                Output::Ended { why, .. } => panic!("{why:?} at {now:?}"),
                _ => {}
            }
        }
    }

    fn on_tunnel(&mut self, bytes: &[u8]) {
        // One message, behind its length of one byte or, if it is long, two.
        let body = &bytes[if bytes[0] < 0x80 { 1 } else { 2 }..];
        if let Some(Message::Schedule { ranges, .. }) = Message::read(body) {
            let numbers: Vec<u64> = ranges.iter().flat_map(|(first, count)| *first..first + count).collect();
            self.asked_in_all += numbers.len();
            self.asked.extend(numbers);
        }
    }

    fn on_receiver(&mut self, packet: &[u8]) {
        let inner = inner::parse(packet).unwrap();
        let at = u64::from(inner.seq.wrapping_sub(ISN));
        self.had.insert(at, packet[inner.payload].to_vec());
        while let Some(payload) = self.had.get(&self.next).filter(|p| !p.is_empty()) {
            self.next += payload.len() as u64;
        }
    }
}

#[test]
fn what_comes_when_memory_is_full_damages_nothing() {
    let mut upload = Upload::new(100_000);
    let end = 1 + PACKETS * u64::from(LEN);
    let mut now = Time::ZERO;
    while upload.next < end && now < Time::from_secs(20) {
        now += Duration::from_millis(10);
        // The receiver is slow at first, so that all of the memory is taken.
        upload.step(now, now > Time::from_millis(500));
        assert!(upload.gateway.kept_bytes() <= 100_000 + u64::from(LEN), "{}", upload.gateway.kept_bytes());
        if now == Time::from_millis(500) {
            // A part is what goes with the packets.
            assert!(upload.gateway.kept_bytes() >= 80_000, "{}", upload.gateway.kept_bytes());
        }
    }
    assert_eq!(upload.next, end, "all came");
    let account = *upload.gateway.accounts().next().unwrap().1;
    assert_eq!((account.damaged, account.failed, account.packets), (0, 0, PACKETS));
    // What was on its way when memory was full is asked for once more, not again and again.
    assert!(upload.asked_in_all < 2 * PACKETS as usize, "{}", upload.asked_in_all);
    for number in 100..100 + PACKETS {
        let payload = inner::parse(&sent(number)).unwrap().payload;
        assert_eq!(upload.had[&(1 + (number - 100) * u64::from(LEN))], sent(number)[payload], "{number}");
    }
}
