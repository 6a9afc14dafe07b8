//! Two honest engines and a network that loses, repeats, reorders, damages and delays as the input says. The gateway may be restarted, and
//! somebody records datagrams and sends them again, into later sessions too.
//!
//! Promises: what comes out was put in, nothing comes out twice, a good network delivers in the end, memory comes back.

use super::Feed;
use super::rogue::{client_key, gateway_key, small};
use crate::pair::{CLIENT, End, GATEWAY, OpenDoor, number, udp};
use ropewalk_bond::api::{EVERYWHERE, Event, Input, Output, PathSpec};
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_session::{CipherSet, InviteId, InviteSecret};
use ropewalk_time::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

const STEPS: usize = 200;
const OUTPUTS: usize = 5000;
/// Datagrams on the way in one direction; more are lost.
const ON_THE_WAY: usize = 256;
/// Datagrams recorded in one direction; the newest take the places of others.
const RECORDED: usize = 64;

struct Rig {
    engines: [Engine; 2],
    /// Datagrams to the client and to the gateway, with their path.
    wires: [VecDeque<(u32, Vec<u8>)>; 2],
    /// Datagrams that arrived once, with their path, and how many did.
    records: [Vec<(u32, Vec<u8>)>; 2],
    arrived: usize,
    restarts: u8,
    due: [Time; 2],
    now: Time,
    v6: bool,
    next_number: u32,
    seen: [BTreeSet<u32>; 2],
}

/// Operations.
pub(super) fn target(data: &[u8]) {
    let mut feed = Feed::new(data);
    let v6 = feed.u8() & 1 == 1;
    let mut rig = Rig::new(v6);
    rig.settle(40);
    for _ in 0..STEPS {
        if feed.is_empty() {
            break;
        }
        rig.step(&mut feed);
    }
    rig.finish();
}

fn outside(v6: bool, i: u32) -> SocketAddr {
    match v6 {
        true => SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, i as u16], 4500)),
        false => SocketAddr::from(([192, 0, 2, i as u8], 4500)),
    }
}

fn gateway(seed: u8, now: Time) -> Engine {
    let (inside, entropy) = (vec![GATEWAY.into()], Entropy::repeatable([seed; 32]));
    Engine::gateway(small(), gateway_key(), inside, Box::new(OpenDoor), entropy, now)
}

impl Rig {
    fn new(v6: bool) -> Rig {
        let now = Time::from_millis(1000);
        let config = ClientConfig {
            key: client_key(),
            gateway: gateway_key().public(),
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            ciphers: CipherSet::CHACHA,
            routes: EVERYWHERE.to_vec(),
        };
        let mut client = Engine::client(small(), config, Entropy::repeatable([1; 32]), now);
        for link in 0..2 {
            let route = Route { link, remote: outside(v6, 9), local: None };
            client.add_path(PathSpec { route, interface_mtu: 1280, class: Class::Active, weight: 1 }, now);
        }
        let mut rig = Rig {
            engines: [client, gateway(2, now)],
            wires: Default::default(),
            records: Default::default(),
            arrived: 0,
            restarts: 0,
            due: [now; 2],
            now,
            v6,
            next_number: 0,
            seen: Default::default(),
        };
        rig.poll(0);
        rig.poll(1);
        rig
    }

    fn step(&mut self, feed: &mut Feed<'_>) {
        let what = feed.u8();
        let end = usize::from(what >> 7);
        match what & 15 {
            0..=3 => self.send(end, feed),
            4..=7 => (0..1 + feed.u8() % 16).for_each(|_| self.arrive(end, 0)),
            8 => self.arrive(end, feed.u8() as usize),
            9 => {
                for _ in 0..1 + feed.u8() % 8 {
                    self.wires[end].pop_front();
                }
            }
            10 => {
                let copy = self.wires[end].front().cloned();
                self.wires[end].extend(copy);
            }
            11 => self.damage(end, feed),
            12 | 13 => self.pass(Duration::from_micros(feed.scaled(24))),
            14 => self.settle(feed.u8() as usize % 32),
            _ if what & 0x30 == 0x10 => self.restart(),
            _ if what & 0x30 == 0x20 => self.replay(end, feed.u8() as usize),
            _ => {
                self.engines[0].fail_path(u32::from(feed.u8() & 1), self.now);
                self.poll(0);
            }
        }
    }

    fn send(&mut self, end: usize, feed: &mut Feed<'_>) {
        let (flow, what, count) = (feed.u8() & 3, feed.u8(), 1 + feed.u8() % 8);
        let len = 32 + (feed.scaled(16) as usize).min(60_000);
        let gso = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1000, csum_start: 20, csum_offset: 6 };
        let csum = Vnet { gso_type: 0, gso_size: 0, ..gso };
        let vnet = if len > 1400 { gso } else { [Vnet::default(), csum][usize::from(what & 1)] };
        for _ in 0..count {
            let mut packet = udp([End::Client, End::Gateway][end], flow.into(), self.next_number, len);
            packet[1] = what & 0xfc;
            packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            self.next_number += 1;
            self.engines[end].handle(Input::Device { device: 0, vnet, packet: &packet }, self.now);
            self.poll(end);
        }
    }

    /// The datagram at `place` on the wire to `end` arrives.
    fn arrive(&mut self, end: usize, place: usize) {
        let wire = &mut self.wires[end];
        let Some((link, mut bytes)) = wire.remove(place % wire.len().max(1)) else { return };
        let (records, at) = (&mut self.records[end], self.arrived % RECORDED);
        self.arrived += 1;
        match records.get_mut(at) {
            Some(place) => *place = (link, bytes.clone()),
            None => records.push((link, bytes.clone())),
        }
        self.hand_in(end, link, &mut bytes);
    }

    /// A recorded datagram comes again.
    fn replay(&mut self, end: usize, which: usize) {
        let records = &self.records[end];
        if let Some((link, mut bytes)) = records.get(which % records.len().max(1)).cloned() {
            self.hand_in(end, link, &mut bytes);
        }
    }

    /// The gateway forgets everything.
    fn restart(&mut self) {
        self.restarts = self.restarts.wrapping_add(1);
        self.engines[1] = gateway(2 + self.restarts, self.now);
        self.poll(1);
    }

    fn hand_in(&mut self, end: usize, link: u32, bytes: &mut [u8]) {
        let segment = bytes.len();
        let (remote, link) =
            if end == 0 { (outside(self.v6, 9), link) } else { (outside(self.v6, 7 + link), 0) };
        self.engines[end]
            .handle(Input::Datagrams { link, remote, local: None, segment, bytes, ecn: 0 }, self.now);
        self.poll(end);
    }

    fn damage(&mut self, end: usize, feed: &mut Feed<'_>) {
        let (place, bit) = (feed.u16() as usize, feed.u8());
        if let Some((_, d)) = self.wires[end].front_mut() {
            let at = place % d.len();
            d[at] ^= 1 << (bit & 7);
        }
    }

    fn pass(&mut self, d: Duration) {
        self.now += d;
        for end in 0..2 {
            self.engines[end].handle(Input::Timeout, self.now);
            self.poll(end);
        }
    }

    /// Everything arrives for a few rounds of timers.
    fn settle(&mut self, rounds: usize) {
        for _ in 0..rounds {
            for end in 0..2 {
                (0..self.wires[end].len()).for_each(|_| self.arrive(end, 0));
            }
            self.pass(self.due[0].min(self.due[1]).since(self.now).min(Duration::from_millis(50)));
        }
    }

    fn poll(&mut self, end: usize) {
        for _ in 0..3 {
            if self.poll_once(end) > self.now {
                return;
            }
            self.engines[end].handle(Input::Timeout, self.now);
        }
        panic!("the engine wants to be called in the past");
    }

    fn poll_once(&mut self, end: usize) -> Time {
        for _ in 0..OUTPUTS {
            match self.engines[end].poll_output(self.now) {
                Output::Transmit(t) => {
                    let wire = &mut self.wires[1 - end];
                    let link =
                        if end == 0 { t.route.link } else { u32::from(last_octet(t.route.remote)) - 7 };
                    wire.extend(t.bytes.chunks(t.segment).map(|d| (link, d.to_vec())));
                    wire.truncate(ON_THE_WAY);
                }
                Output::Deliver { packet, .. } => {
                    let n = number(packet);
                    let len = packet.len();
                    assert_eq!(packet[28..], udp(End::Client, 0, n, len)[28..], "not what was sent");
                    assert!(n < self.next_number && self.seen[end].insert(n), "{n} came twice");
                    let dst = [CLIENT, GATEWAY][end].octets();
                    assert_eq!(packet[16..20], dst);
                }
                // A new session knows no duplicates of the one before: the client sends again what was not acknowledged.
                Output::Event(Event::ClientUp { .. }) => self.seen[1].clear(),
                Output::Event(_) => {}
                Output::Timeout(at, _) => {
                    self.due[end] = at;
                    return at;
                }
            }
        }
        panic!("poll_output does not end");
    }

    fn finish(&mut self) {
        // An idle client finds out by its next keepalive that its gateway has forgotten it.
        let well = self.now + Duration::from_secs(if self.restarts > 0 { 40 } else { 12 });
        while self.now < well {
            self.settle(1);
        }
        let first = self.next_number;
        for end in 0..2 {
            self.send(end, &mut Feed::new(&[3, 0, 3, 9, 0, 0, 0, 0]));
            self.send(end, &mut Feed::new(&[3, 0xb8, 3, 11, 0, 0, 0, 0]));
        }
        self.settle(400);
        for end in 0..2 {
            let got = self.seen[end].range(first..).count();
            assert_eq!(got, 8, "a good network delivers: {:#?}", self.engines[1 - end].status(self.now));
        }
        for end in 0..2 {
            self.engines[end].close();
            self.poll(end);
            let status = self.engines[end].status(self.now);
            assert_eq!((status.peers.len(), status.memory_used), (0, 0), "everything is given back");
        }
    }
}

fn last_octet(a: SocketAddr) -> u8 {
    match a {
        SocketAddr::V4(a) => a.ip().octets()[3],
        SocketAddr::V6(a) => a.ip().octets()[15],
    }
}
