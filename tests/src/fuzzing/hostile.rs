//! One engine and a peer with real keys that says anything: authentic garbage, absurd acknowledgements, borrowed addresses.
//!
//! Promises: no panic; polling ends; memory stays within what was configured, and comes back at the end; nobody who has not shown
//! that an address is his makes a gateway send there more than three times what came from there; a client sends to its gateway only.

use super::Feed;
use super::rogue::{Rogue, client_key, gateway_key, small};
use crate::pair::{CLIENT, GATEWAY, OpenDoor};
use ropewalk_bond::airtime::Air;
use ropewalk_bond::api::{EVERYWHERE, Input, Output, PathSpec};
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::inner::Inner;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_bond::wire::{
    AckFrame, AirEntry, AirFrame, Frame, Frames, Header, PathStatus, QueueFrame, Timestamp, Writer,
};
use ropewalk_session::{CipherSet, InviteId, InviteSecret, SessionId};
use ropewalk_time::{Duration, Time};
use std::net::SocketAddr;

/// Operations per input.
const STEPS: usize = 200;
/// Outputs after one input: a few batches for each of sixteen paths are usual.
const OUTPUTS: usize = 5000;
/// Addresses of the peer: the first is really his.
const ADDRESSES: usize = 4;

struct Rig {
    engine: Engine,
    rogue: Option<Rogue>,
    session: Option<SessionId>,
    is_gateway: bool,
    now: Time,
    due: Time,
    received: [usize; ADDRESSES],
    sent: [usize; ADDRESSES],
    /// Datagrams of the rogue, to be sent again.
    said: Vec<Vec<u8>>,
    /// Answers to challenges.
    answers: Vec<Vec<u8>>,
}

/// A gateway and a hostile client.
pub(super) fn gateway(data: &[u8]) {
    let now = Time::from_millis(1000);
    let inside = vec![GATEWAY.into()];
    let mut engine = Engine::gateway(
        small(),
        gateway_key(),
        inside,
        Box::new(OpenDoor),
        Entropy::repeatable([1; 32]),
        now,
    );
    let joined = Rogue::join(&mut engine, &gateway_key(), address(0), None, now);
    let (rogue, session) = joined.map_or((None, None), |(r, s)| (Some(r), Some(s)));
    Rig::new(engine, rogue, session, true, now).run(data);
}

/// A client and a hostile gateway.
pub(super) fn client(data: &[u8]) {
    let now = Time::from_millis(1000);
    let config = ClientConfig {
        key: client_key(),
        gateway: gateway_key().public(),
        invite: InviteId([1; 16]),
        secret: InviteSecret([2; 16]),
        ciphers: CipherSet::CHACHA,
        routes: EVERYWHERE.to_vec(),
    };
    let engine = Engine::client(small(), config, Entropy::repeatable([1; 32]), now);
    let mut rig = Rig::new(engine, None, None, false, now);
    rig.add_path(0);
    rig.add_path(1);
    rig.poll();
    rig.run(data);
}

fn address(i: usize) -> SocketAddr {
    match i % ADDRESSES {
        0 => SocketAddr::from(([192, 0, 2, 7], 40_000)),
        3 => SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 3], 7)),
        i => SocketAddr::from(([198, 51, 100, i as u8], 7)),
    }
}

impl Rig {
    fn new(
        engine: Engine,
        rogue: Option<Rogue>,
        session: Option<SessionId>,
        is_gateway: bool,
        now: Time,
    ) -> Rig {
        let (received, sent) = ([0; ADDRESSES], [0; ADDRESSES]);
        let (said, answers) = (Vec::new(), Vec::new());
        Rig { engine, rogue, session, is_gateway, now, due: now, received, sent, said, answers }
    }

    fn run(mut self, data: &[u8]) {
        let mut feed = Feed::new(data);
        for _ in 0..STEPS {
            if feed.is_empty() {
                break;
            }
            self.step(&mut feed);
            self.poll();
            for mut d in std::mem::take(&mut self.answers) {
                self.hear(0, &mut d);
                self.poll();
            }
        }
        self.engine.close();
        self.poll();
        let status = self.engine.status(self.now);
        assert_eq!((status.peers.len(), status.memory_used), (0, 0), "everything is given back");
    }

    fn step(&mut self, feed: &mut Feed<'_>) {
        match feed.u8() % 16 {
            0 => {
                let (from, mut raw) = (feed.u8(), feed.short().to_vec());
                self.hear(from, &mut raw);
            }
            1 | 2 => {
                let frames = feed.short();
                self.say(feed, frames);
            }
            3 | 4 => self.acknowledge(feed),
            5 | 6 => self.send_chunk(feed),
            7 => {
                let (flow, seq, what) = (feed.scaled(10), feed.scaled(24), feed.u8());
                self.write(feed, |w| w.skip(flow as u16, seq as u32, what & 1 == 1));
            }
            8 | 9 => self.device(feed),
            10 => self.pass(Duration::from_micros(feed.scaled(27))),
            11 => {
                for _ in 0..feed.u8() % 64 {
                    self.pass(self.due.since(self.now));
                    self.poll();
                }
            }
            12 => {
                let (from, which) = (feed.u8(), feed.u8() as usize);
                if let Some(mut d) = self.said.get(which).cloned() {
                    self.hear(from, &mut d);
                }
            }
            13 => self.handshake(feed),
            14 => {
                let s = PathStatus {
                    path: feed.u8() & 15,
                    seq: feed.u16(),
                    state: feed.u8() % 6,
                    mtu: feed.u16(),
                };
                self.write(feed, |w| w.status(&s));
            }
            _ => self.control(feed),
        }
    }

    fn pass(&mut self, d: Duration) {
        self.now += d;
        self.engine.handle(Input::Timeout, self.now);
    }

    fn hear(&mut self, from: u8, datagram: &mut [u8]) {
        let from = from as usize % ADDRESSES;
        self.received[from] += datagram.len();
        let (remote, segment) = (address(if self.is_gateway { from } else { 0 }), datagram.len());
        let ecn = datagram.last().map_or(0, |b| b & 3);
        let input = Input::Datagrams { link: 0, remote, local: None, segment, bytes: datagram, ecn };
        self.engine.handle(input, self.now);
    }

    /// Seals frames on a path, with a number that is mostly the next, and sends them from some address.
    fn say(&mut self, feed: &mut Feed<'_>, frames: &[u8]) {
        let (path, from, late, skip) = (feed.u8() & 15, feed.u8(), feed.scaled(24), feed.scaled(31));
        let Some(r) = &mut self.rogue else { return };
        let number = r.next[path as usize].wrapping_add(skip);
        r.next[path as usize] = number + 1;
        let at = Timestamp::of(self.now - Duration::from_micros(late));
        let mut d = r.seal(path, number, at, frames);
        self.said.insert(0, d.clone());
        self.said.truncate(256);
        // Most come from the address that is his.
        let from = if from & 0xc0 == 0xc0 { from } else { 0 };
        self.hear(from, &mut d);
    }

    fn write(&mut self, feed: &mut Feed<'_>, what: impl FnOnce(&mut Writer<'_>) -> bool) {
        let mut room = [0; 1500];
        let header = Header { path: 0, index: 0, number: 0 };
        let mut w = Writer::new(&mut room, header, Timestamp::default());
        what(&mut w);
        let end = w.len();
        self.say(feed, &room[11..end]);
    }

    fn acknowledge(&mut self, feed: &mut Feed<'_>) {
        let path = feed.u8() & 15;
        let heard = self.rogue.as_ref().map_or(0, |r| r.heard[path as usize]);
        let mut ack = AckFrame {
            path,
            largest: heard.wrapping_sub(feed.scaled(32) as u32),
            received_us: (self.now.as_micros() as u32).wrapping_sub(feed.scaled(32) as u32),
            delay_us: feed.scaled(24) as u32,
            ce_total: feed.scaled(16) as u16,
            ..AckFrame::default()
        };
        for k in 0..1 + feed.u8() % 5 {
            let gap = if k == 0 { 0 } else { feed.scaled(16) as u16 };
            ack.ranges.push((gap, 1 + feed.scaled(15) as u16));
        }
        self.write(feed, |w| w.ack(&ack));
    }

    fn send_chunk(&mut self, feed: &mut Feed<'_>) {
        let (flow, seq, what) = (feed.scaled(16) as u16, feed.scaled(24) as u32, feed.u8());
        let packet = packet(feed, if what & 1 == 0 { self.is_gateway } else { what & 2 == 0 });
        let total = packet.len() as u32;
        let from = if what & 4 == 0 { 0 } else { u32::from(feed.u16()) % total };
        let len = if what & 8 == 0 { 1200 } else { 1 + feed.u32() % 1200 };
        let data = &packet[from as usize..(from + len).min(total) as usize];
        let vnet = Vnet {
            flags: what >> 7,
            gso_type: [0, 1, 5, 4][usize::from(what >> 5 & 3)],
            gso_size: u16::from(feed.u8()) * 8,
            hdr_len: 28,
            csum_start: 20,
            csum_offset: 6,
        };
        self.write(feed, |w| {
            w.fragment(flow, seq & 0xff_ffff, from, total, &vnet, what & 16 != 0, data);
            true
        });
    }

    fn device(&mut self, feed: &mut Feed<'_>) {
        let what = feed.u8();
        let packet = if what & 3 == 3 { feed.short().to_vec() } else { packet(feed, !self.is_gateway) };
        let flags = what >> 7;
        let vnet = Vnet {
            flags,
            gso_type: what >> 4 & 5,
            gso_size: feed.u16(),
            hdr_len: feed.u16(),
            ..Vnet::default()
        };
        for _ in 0..1 + (what >> 2 & 3) * 8 {
            self.engine.handle(Input::Device { device: 0, vnet, packet: &packet }, self.now);
        }
    }

    fn handshake(&mut self, feed: &mut Feed<'_>) {
        let what = feed.u8();
        if self.is_gateway {
            let resume = if what & 1 == 0 { self.session } else { SessionId::new(what.into()) };
            let joined = Rogue::join(&mut self.engine, &gateway_key(), address(0), resume, self.now);
            if let (Some((rogue, session)), 0) = (joined, what & 2) {
                (self.rogue, self.session) = (Some(rogue), Some(session));
            }
        }
    }

    /// What the driver may ask of an engine.
    fn control(&mut self, feed: &mut Feed<'_>) {
        let (what, path) = (feed.u8(), feed.u8() & 15);
        let route = Route { link: path.into(), remote: address(0), local: None };
        match what % 7 {
            0 if !self.is_gateway => self.add_path(path),
            1 if !self.is_gateway => self.engine.remove_path(path, self.now),
            2 if !self.is_gateway => {
                let class = [Class::Active, Class::Backup, Class::Metered { left: feed.scaled(20) }]
                    [what as usize % 3];
                self.engine.set_class(path, class);
                let air = Air { packet_time: Duration::from_nanos(feed.scaled(40)), channel: what & 1 };
                self.engine.set_airtime(path, Some(air), self.now);
            }
            3 => self.engine.fail_path(path.into(), self.now),
            4 => self.engine.on_too_big(route, feed.u16(), self.now),
            5 => {
                let scheduler = ropewalk_bond::schedule::Kind::ALL
                    [what as usize % ropewalk_bond::schedule::Kind::ALL.len()];
                let config = self.engine.config().clone();
                self.engine.reconfigure(ropewalk_bond::config::Config { scheduler, ..config });
            }
            6 if self.is_gateway && what > 200 => self.engine.revoke(&client_key().public()),
            6 if what & 16 != 0 => {
                let entry = |path| AirEntry { path, channel: path & 1, packet_time: feed.u16() };
                let air = AirFrame { seq: u16::from(what) << 8, paths: (0..path).map(entry).collect() };
                self.write(feed, |w| w.air(&air));
            }
            6 => {
                let (seq, shared, every_ms, packets) =
                    (feed.u16(), feed.scaled(16) as u16, feed.scaled(16) as u16, feed.scaled(16) as u16);
                let word = QueueFrame { seq, shared, every_ms, packets, verdict: path & 3 };
                self.write(feed, |w| w.queue(&word));
            }
            _ => {}
        }
    }

    fn add_path(&mut self, link: u8) {
        let route = Route { link: link.into(), remote: address(0), local: None };
        let spec = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
        self.engine.add_path(spec, self.now);
    }

    fn poll(&mut self) {
        // Some of what a driver asks for leaves something to be done by the clock, at once.
        for _ in 0..3 {
            if self.poll_once() > self.now {
                return self.check();
            }
            self.engine.handle(Input::Timeout, self.now);
        }
        panic!("the engine wants to be called in the past");
    }

    /// Polls until there is nothing more now; when there will be.
    fn poll_once(&mut self) -> Time {
        for _ in 0..OUTPUTS {
            match self.engine.poll_output(self.now) {
                Output::Transmit(t) => {
                    let (route, datagrams) =
                        (t.route, t.bytes.chunks(t.segment).map(<[u8]>::to_vec).collect::<Vec<_>>());
                    datagrams.into_iter().for_each(|d| self.on_sent(route, d));
                }
                Output::Deliver { vnet, packet, .. } => {
                    let inner = Inner::parse(packet).expect("what a device gets was looked at");
                    assert!(vnet.fits(&inner, packet));
                }
                Output::Event(_) => {}
                Output::Timeout(at, _) => {
                    self.due = at.min(self.now + Duration::from_secs(10));
                    return at;
                }
            }
        }
        panic!("poll_output does not end");
    }

    fn check(&self) {
        let status = self.engine.status(self.now);
        assert!(status.memory_used <= status.memory_limit && status.peers.len() <= 2);
        if self.is_gateway {
            for i in 1..ADDRESSES {
                let (sent, received) = (self.sent[i], self.received[i]);
                assert!(sent <= 3 * received, "{sent} bytes sent to an address that sent {received}");
            }
        }
    }

    fn on_sent(&mut self, route: Route, mut datagram: Vec<u8>) {
        let to = (0..ADDRESSES).find(|i| address(*i) == route.remote).expect("a peer's address");
        self.sent[to] += datagram.len();
        assert!(self.is_gateway || to == 0);
        if !self.is_gateway && datagram[0] >> 4 == 1 {
            return self.on_init(&datagram);
        }
        let Some(r) = self.rogue.as_mut().filter(|_| to == 0) else { return };
        let Some((path, frames)) = r.open(&mut datagram) else { return };
        let mut answer = [0; 64];
        let mut w = Writer::new(&mut answer, Header { path, index: 0, number: 0 }, Timestamp::default());
        for frame in Frames::new(frames) {
            match frame.expect("an engine writes what can be read") {
                Frame::Challenge(token) => _ = w.response(token),
                _ => continue,
            }
        }
        let end = w.len();
        if end > 11 {
            let number = r.next[path as usize];
            r.next[path as usize] += 1;
            self.answers.push(r.seal(path, number, Timestamp::of(self.now), &answer[11..end]));
        }
    }

    fn on_init(&mut self, init: &[u8]) {
        let session = self.session.or(SessionId::new(5)).expect("not zero");
        if let Some((response, rogue)) = Rogue::answer(&gateway_key(), init, session, self.now) {
            (self.rogue, self.session) = (Some(rogue), Some(session));
            self.answers.push(response);
        }
    }
}

/// A UDP packet between the inner addresses, up to 64 KiB.
fn packet(feed: &mut Feed<'_>, from_client: bool) -> Vec<u8> {
    let (src, dst) = if from_client { (CLIENT, GATEWAY) } else { (GATEWAY, CLIENT) };
    let (port, len, tos) = (feed.u8(), 28 + feed.scaled(16) as usize, feed.u8());
    let mut packet = vec![port; len.min(65_600)];
    let total = (packet.len() as u16).to_be_bytes();
    packet[..12].copy_from_slice(&[0x45, tos, total[0], total[1], 0, 0, tos & 0x40, 0, 64, 17, 0, 0]);
    packet[12..16].copy_from_slice(&src.octets());
    packet[16..20].copy_from_slice(&dst.octets());
    packet
}
