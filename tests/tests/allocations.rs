//! What the engine takes from the heap: nothing per packet once it is warm, and little per idle session.
//!
//! One test, because the allocator counts for the whole process.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_bond::api::{Admission, EVERYWHERE, Input, Output, PathSpec, Registry};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_cc::Algorithm;
use ropewalk_session::{
    BackhaulEnd, BackhaulRole, CipherSet, ClientHello, Inner, InviteId, InviteSecret, Layer, PublicKey,
    Refusal, StaticKey,
};
use ropewalk_tests::pair::{End, GATEWAY, OpenDoor, client_addr, gateway_addr, udp};
use ropewalk_time::{Duration, Time};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const STEP: Duration = Duration::from_micros(100);
/// One-way delays of the two paths.
const DELAYS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(12)];
/// One datagram of so many is lost, of each path and direction.
const LOST: u64 = 60;
const SESSIONS: usize = 1000;

#[test]
fn the_heap_is_left_alone() {
    packets_in_steady_state();
    frames_of_repeaters();
    idle_sessions();
}

/// Allocations and reallocations so far.
fn taken() -> usize {
    let s = HEAP.stats();
    s.allocations + s.reallocations
}

/// Bytes now on the heap.
fn live() -> isize {
    let s = HEAP.stats();
    s.bytes_allocated as isize - s.bytes_deallocated as isize + s.bytes_reallocated
}

// --- packets ---

struct Datagram {
    at: Time,
    len: usize,
    bytes: [u8; 1500],
}

/// Two engines and two paths of constant delay, in memory of their own.
struct Rig {
    engines: [Engine; 2],
    /// By receiving end and path.
    wires: [[VecDeque<Datagram>; 2]; 2],
    due: [Time; 2],
    now: Time,
    sent: u64,
    delivered: u64,
    /// Allocations by what the engine was asked to do: a device packet, a datagram, a timeout, an output.
    by_call: [usize; 4],
}

impl Rig {
    fn new() -> Rig {
        let now = Time::from_millis(1000);
        let (client, gateway) =
            (StaticKey::from_bytes(&[1; 32]).unwrap(), StaticKey::from_bytes(&[2; 32]).unwrap());
        let config = ClientConfig {
            key: client,
            gateway: gateway.public(),
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            ciphers: CipherSet::CHACHA,
            routes: EVERYWHERE.to_vec(),
        };
        let mut client = Engine::client(Config::default(), config, Entropy::repeatable([1; 32]), now);
        for link in 0..2 {
            let route = Route { link, remote: gateway_addr(), local: None };
            client.add_path(PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 }, now);
        }
        let inside = vec![GATEWAY.into()];
        let gateway = Engine::gateway(
            Config::default(),
            gateway,
            inside,
            Box::new(OpenDoor),
            Entropy::repeatable([2; 32]),
            now,
        );
        let wire = || VecDeque::with_capacity(4096);
        let wires = [[wire(), wire()], [wire(), wire()]];
        Rig { engines: [client, gateway], wires, due: [now; 2], now, sent: 0, delivered: 0, by_call: [0; 4] }
    }

    fn input(&mut self, end: usize, input: Input<'_>) {
        let kind = match input {
            Input::Device { .. } | Input::DeviceInBuffer { .. } => 0,
            Input::Datagrams { .. } => 1,
            Input::Timeout | Input::Link { .. } | Input::ClientQueue { .. } => 2,
        };
        let before = taken();
        self.engines[end].handle(input, self.now);
        self.by_call[kind] += taken() - before;
        self.poll(end);
    }

    /// As the data loop does it: the packet is read into the engine's buffer.
    fn device(&mut self, end: usize, vnet: Vnet, packet: &[u8]) {
        let room = self.engines[end].device_buffer().unwrap();
        room[..packet.len()].copy_from_slice(packet);
        self.input(end, Input::DeviceInBuffer { device: 0, vnet, len: packet.len() });
    }

    fn poll(&mut self, end: usize) {
        loop {
            let before = taken();
            let output = self.engines[end].poll_output(self.now);
            self.by_call[3] += taken() - before;
            match output {
                Output::Transmit(t) => {
                    let path = if end == 0 {
                        t.route.link as usize
                    } else {
                        usize::from(t.route.remote == client_addr(1))
                    };
                    for d in t.bytes.chunks(t.segment) {
                        self.sent += 1;
                        let wire = &mut self.wires[1 - end][path];
                        if self.sent.is_multiple_of(LOST) || wire.len() == wire.capacity() {
                            continue;
                        }
                        let mut bytes = [0; 1500];
                        bytes[..d.len()].copy_from_slice(d);
                        wire.push_back(Datagram { at: self.now + DELAYS[path], len: d.len(), bytes });
                    }
                }
                Output::Deliver { .. } => self.delivered += 1,
                Output::Event(_) => {}
                Output::Timeout(at, _) => {
                    self.due[end] = at;
                    return;
                }
            }
        }
    }

    /// A step of time: what is due arrives, timers run.
    fn step(&mut self) {
        self.now += STEP;
        for end in 0..2 {
            for path in 0..2 {
                while self.wires[end][path].front().is_some_and(|d| d.at <= self.now) {
                    let Some(mut d) = self.wires[end][path].pop_front() else { break };
                    let remote = if end == 0 { gateway_addr() } else { client_addr(path) };
                    let (link, bytes) = (if end == 0 { path as u32 } else { 0 }, &mut d.bytes[..d.len]);
                    self.input(
                        end,
                        Input::Datagrams { link, remote, local: None, segment: d.len, bytes, ecn: 0 },
                    );
                }
            }
            if self.due[end] <= self.now {
                self.input(end, Input::Timeout);
            }
        }
    }

    /// Runs for so many steps with packets both ways: 28 Mb/s of single ones, as much again in super-packets, and some small ones.
    fn run(&mut self, steps: u32, packets: &[[Vec<u8>; 3]; 2]) {
        let gso = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1372, csum_start: 20, csum_offset: 6 };
        for k in 0..steps {
            for (end, [full, large, small]) in packets.iter().enumerate() {
                if k % 4 == 0 {
                    self.device(end, Vnet::default(), full);
                }
                if k % 80 == 0 {
                    self.device(end, gso, large);
                }
                if k % 50 == 0 {
                    self.device(end, Vnet::default(), small);
                }
            }
            self.step();
        }
    }
}

fn packets_in_steady_state() {
    let packets =
        [End::Client, End::Gateway].map(|e| [udp(e, 7, 0, 1400), udp(e, 8, 0, 28_000), udp(e, 9, 0, 100)]);
    let mut rig = Rig::new();
    rig.run(60_000, &packets);
    (rig.sent, rig.delivered, rig.by_call) = (0, 0, [0; 4]);
    let before = taken();
    rig.run(60_000, &packets);
    let after = taken();
    let resent: u64 = rig.engines.iter().flat_map(|e| e.status(rig.now).peers).map(|p| p.resent).sum();
    println!(
        "{} packets in {} datagrams, {resent} parts sent again: {} allocations {:?}",
        rig.delivered,
        rig.sent,
        after - before,
        rig.by_call
    );
    assert!(rig.delivered > 30_000 && resent > 500);
    assert_eq!(after - before, 0, "by device packet, datagram, timeout, output: {:?}", rig.by_call);
}

// --- frames ---

/// What two repeaters' stations send to each other comes out of the one's device at the access point, and the bridge there puts it into the other's.
fn frames_of_repeaters() {
    let mut now = Time::from_millis(1000);
    let key = StaticKey::from_bytes(&[2; 32]).unwrap();
    let config = |role| Config {
        backhaul: Some(BackhaulEnd { role, layer: Layer::Two, networks: Vec::new() }),
        congestion: Algorithm::None,
        ..Config::default()
    };
    let door = Box::new(Counting::default());
    let ap = config(BackhaulRole::AccessPoint);
    let mut ap =
        Engine::gateway(ap, key.clone(), vec![GATEWAY.into()], door, Entropy::repeatable([3; 32]), now);
    let mut repeaters = [1u8, 2].map(|n| {
        let who = ClientConfig {
            key: StaticKey::from_bytes(&[10 + n; 32]).unwrap(),
            gateway: key.public(),
            invite: InviteId([n; 16]),
            secret: InviteSecret([n; 16]),
            ciphers: CipherSet::CHACHA,
            routes: EVERYWHERE.to_vec(),
        };
        let mut repeater =
            Engine::client(config(BackhaulRole::Repeater), who, Entropy::repeatable([n; 32]), now);
        let route = Route { link: 0, remote: gateway_addr(), local: None };
        repeater.add_path(PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 }, now);
        (repeater, client_addr(usize::from(n) - 1))
    });
    let station = |n: usize| [2, 0, 0, 0, 0, n as u8];
    let frame = |to: [u8; 6], from: usize| [&to[..], &station(from), &[0x88, 0xb5], &[7; 1000]].concat();
    let mut dealt = [0; 2];
    let mut of_the_heap = 0;
    for round in 0..4_000 {
        for (n, (repeater, _)) in repeaters.iter_mut().enumerate() {
            let to = if round % 4 == 0 { [0xff; 6] } else { station(1 - n) };
            let packet = frame(to, n);
            repeater.handle(Input::Device { device: 0, vnet: Vnet::default(), packet: &packet }, now);
        }
        if round == 2_000 {
            (dealt, of_the_heap) = ([0; 2], 0);
        }
        for _ in 0..3 {
            for (repeater, remote) in &mut repeaters {
                of_the_heap += bring(repeater, &mut ap, *remote, now);
            }
            of_the_heap += deal(&mut ap, &mut repeaters, &mut dealt, now);
        }
        now += Duration::from_millis(1);
        repeaters.iter_mut().for_each(|(r, _)| r.handle(Input::Timeout, now));
        let before = taken();
        ap.handle(Input::Timeout, now);
        of_the_heap += taken() - before;
    }
    println!("{dealt:?} datagrams to two repeaters: {of_the_heap} allocations at the access point");
    assert!(dealt.iter().all(|n| *n >= 2_000), "{dealt:?}");
    assert_eq!(of_the_heap, 0);
}

/// Gives the access point what a repeater has for it, and says what the access point took from the heap for that.
fn bring(repeater: &mut Engine, ap: &mut Engine, remote: std::net::SocketAddr, now: Time) -> usize {
    let mut of_the_heap = 0;
    loop {
        match repeater.poll_output(now) {
            Output::Transmit(t) => {
                let (segment, mut bytes) = (t.segment, t.bytes.to_vec());
                let bytes = &mut bytes[..];
                let before = taken();
                ap.handle(Input::Datagrams { link: 0, remote, local: None, segment, bytes, ecn: 0 }, now);
                of_the_heap += taken() - before;
            }
            Output::Timeout(at, _) if at > now => return of_the_heap,
            Output::Timeout(..) => repeater.handle(Input::Timeout, now),
            _ => {}
        }
    }
}

/// Gives each repeater what the access point has for it, and says what the access point took from the heap for that.
fn deal(
    ap: &mut Engine,
    repeaters: &mut [(Engine, std::net::SocketAddr); 2],
    dealt: &mut [u32; 2],
    now: Time,
) -> usize {
    let mut of_the_heap = 0;
    loop {
        let before = taken();
        let output = ap.poll_output(now);
        of_the_heap += taken() - before;
        match output {
            Output::Transmit(t) => {
                let n = usize::from(t.route.remote != repeaters[0].1);
                dealt[n] += t.bytes.len().div_ceil(t.segment) as u32;
                let (segment, mut bytes) = (t.segment, t.bytes.to_vec());
                let remote = gateway_addr();
                let bytes = &mut bytes[..];
                let input = Input::Datagrams { link: 0, remote, local: None, segment, bytes, ecn: 0 };
                repeaters[n].0.handle(input, now);
            }
            Output::Deliver { device, vnet, packet } => {
                let frame = packet.to_vec();
                let before = taken();
                let room = ap.device_buffer().unwrap();
                room[..frame.len()].copy_from_slice(&frame);
                // The first repeater has device 1, the second 2.
                ap.handle(Input::DeviceInBuffer { device: 3 - device, vnet, len: frame.len() }, now);
                of_the_heap += taken() - before;
            }
            Output::Timeout(at, _) if at > now => return of_the_heap,
            Output::Timeout(..) => ap.handle(Input::Timeout, now),
            _ => {}
        }
    }
}

// --- idle sessions ---

/// Lets everybody in, each with an address and a device of its own.
#[derive(Debug, Default)]
struct Counting(u32);

impl Registry for Counting {
    fn admit(&mut self, _: &PublicKey, _: &ClientHello) -> Result<Admission, Refusal> {
        self.0 += 1;
        let client = Ipv4Addr::from(0x0a4d_0000 + self.0 + 1);
        Ok(Admission {
            ipv4: Inner { client, gateway: GATEWAY, prefix: 16 },
            ipv6: None,
            networks: Vec::new(),
            device: self.0,
        })
    }
}

/// Takes everything that an engine has to send; `true` if there was something.
fn exchange(from: &mut Engine, to: &mut Engine, remote: std::net::SocketAddr, now: Time) -> bool {
    let mut any = false;
    loop {
        match from.poll_output(now) {
            Output::Transmit(t) => {
                any = true;
                let (segment, mut bytes) = (t.segment, t.bytes.to_vec());
                to.handle(
                    Input::Datagrams { link: 0, remote, local: None, segment, bytes: &mut bytes, ecn: 0 },
                    now,
                );
            }
            Output::Timeout(at, _) if at > now => return any,
            Output::Timeout(..) => from.handle(Input::Timeout, now),
            _ => {}
        }
    }
}

fn idle_sessions() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut now = Time::from_millis(1000);
    let key = StaticKey::generate(&mut rng).unwrap();
    let config = Config { memory_bytes: 1 << 20, ..Config::default() };
    let inside = vec![GATEWAY.into()];
    let mut gateway = Engine::gateway(
        config.clone(),
        key.clone(),
        inside,
        Box::new(Counting::default()),
        Entropy::repeatable(rng.random()),
        now,
    );
    let before = live();
    for n in 0..SESSIONS {
        let client = ClientConfig {
            key: StaticKey::generate(&mut rng).unwrap(),
            gateway: key.public(),
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            ciphers: CipherSet::CHACHA,
            routes: EVERYWHERE.to_vec(),
        };
        let mut client = Engine::client(config.clone(), client, Entropy::repeatable(rng.random()), now);
        let route = Route { link: 0, remote: gateway_addr(), local: None };
        client.add_path(PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 }, now);
        let from = std::net::SocketAddr::from((Ipv4Addr::from(0xc633_6400 + n as u32), 40_000));
        for _ in 0..8 {
            exchange(&mut client, &mut gateway, from, now);
            exchange(&mut gateway, &mut client, gateway_addr(), now);
            now += Duration::from_millis(2);
            client.handle(Input::Timeout, now);
            gateway.handle(Input::Timeout, now);
        }
    }
    let up = gateway.status(now).peers.iter().filter(|p| p.up).count();
    let bytes = live() - before;
    println!("{up} idle sessions: {} KiB of heap, {} bytes each", bytes >> 10, bytes / SESSIONS as isize);
    assert_eq!(up, SESSIONS);
    assert!(bytes < 10 << 20, "{bytes} bytes");
}
