//! A street in simulated time: one sender, access points, a gateway and a receiver, all of the crate
//! but for the two ends, which are a plain TCP that keeps a window full.

use ropewalk_bunch::Time;
use ropewalk_bunch::ap::{self, Ap, Frame};
use ropewalk_bunch::gateway::{self, Gateway, Tunnel};
use ropewalk_packet::{Ecn, Flags, Options, Segment, Timestamps, seq, wire};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const MSS: u64 = 1350;
const ISN: u32 = u32::MAX - 40_000;
const RECEIVER_ISN: u32 = 5000;
/// Bytes that go along with each piece of a tunnel: TCP, IP and Ethernet, for each 1448.
const FRAMING: f64 = 1514.0 / 1448.0;
/// What the sender begins with, as Linux does.
const FIRST_WINDOW: u64 = 10 * MSS;
/// Bytes that the tunnel takes at once.
const ROOM: u64 = 65_536;

fn addresses() -> [SocketAddrV4; 2] {
    ["192.168.1.2:40000".parse().unwrap(), "10.9.0.2:5201".parse().unwrap()]
}

/// How a street is.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) points: usize,
    pub(crate) rate_bps: f64,
    /// One way.
    pub(crate) delay: Duration,
    /// Share of packets that a neighbour does not hear.
    pub(crate) monitor_loss: f64,
    /// Bytes that the sender uploads, then it closes.
    pub(crate) upload: u64,
    pub(crate) custody: ap::Custody,
    /// How many holders are enough where the home access point is none.
    pub(crate) holders: u8,
    pub(crate) grace: Duration,
    pub(crate) seed: u64,
}

impl Spec {
    pub(crate) fn new(points: usize, rate_bps: f64, upload: u64) -> Spec {
        Spec {
            points,
            rate_bps,
            delay: Duration::from_millis(16),
            monitor_loss: 0.0,
            upload,
            custody: ap::Custody::UntilAcknowledged,
            holders: 2,
            grace: Duration::from_secs(3),
            seed: 1,
        }
    }
}

enum Event {
    Up(usize, u32, Vec<u8>),
    Down(usize, u32, Vec<u8>),
    ToSender(Vec<u8>),
    ToGateway(Vec<u8>),
    ToReceiver(Vec<u8>),
    FromReceiver(Vec<u8>),
    Switch(usize, bool),
    Hangup(usize, u32),
    ApTimer(usize),
    GatewayTimer,
    Resend,
}

struct Point {
    ap: Option<Ap>,
    /// Number of its tunnel; another each time.
    tunnel: u32,
    connected: bool,
    free_at: Time,
    queued: u64,
    timer: Option<Time>,
}

/// The sender's end: everything in it is a place of the stream, the SYN at 0.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    pub(crate) acked: u64,
    next: u64,
    edge: u64,
    window: u64,
    progress_at: Time,
    pub(crate) reset: Option<Time>,
    timeouts: u32,
    peer: u32,
}

/// The receiver's end.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    pub(crate) next: u64,
    ahead: BTreeMap<u64, u64>,
    pub(crate) wrong: u64,
    pub(crate) closed: bool,
    pub(crate) reset: Option<Time>,
    pub(crate) progress_at: Time,
}

pub(crate) struct Street {
    spec: Spec,
    pub(crate) now: Time,
    points: Vec<Point>,
    gateway: Gateway,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    rng: u64,
    frame: u16,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    base: Vec<ap::Counts>,
    timer: Option<Time>,
}

fn config_of(spec: &Spec, boot: u64) -> ap::Config {
    let serve = vec![(*addresses()[1].ip(), None)];
    ap::Config { custody: spec.custody, ..ap::Config::new(boot, serve) }
}

impl Street {
    pub(crate) fn new(spec: Spec) -> Street {
        let serve = vec![(*addresses()[1].ip(), None)];
        let broadcast = spec.custody == ap::Custody::UntilScheduled;
        let variant = gateway::Variant::ProactiveAck { custody: spec.holders };
        let config =
            gateway::Config { variant, grace: spec.grace, broadcast, ..gateway::Config::new(serve, [9; 16]) };
        let point =
            || Point { ap: None, tunnel: 0, connected: false, free_at: Time::ZERO, queued: 0, timer: None };
        let mut street = Street {
            now: Time::ZERO,
            points: (0..spec.points).map(|_| point()).collect(),
            gateway: Gateway::new(config),
            events: BTreeMap::new(),
            order: 0,
            rng: spec.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            frame: 0,
            sender: Sender::default(),
            receiver: Receiver { next: 1, ..Receiver::default() },
            base: vec![ap::Counts::default(); spec.points],
            timer: None,
            spec,
        };
        (0..street.points.len()).for_each(|i| street.at(Time::ZERO, Event::Switch(i, true)));
        street.at(Time::from_millis(100), Event::Resend);
        street
    }

    /// A number below `n`.
    pub(crate) fn draw(&mut self, n: u64) -> u64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        (self.rng >> 11) % n
    }

    fn at(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    /// Switches an access point off or on at this time.
    pub(crate) fn switch(&mut self, i: usize, on: bool, at: Time) {
        self.at(at, Event::Switch(i, on));
    }

    pub(crate) fn run_until(&mut self, end: Time) {
        while let Some(entry) = self.events.first_entry().filter(|e| e.key().0 <= end) {
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            self.step(event);
        }
        self.now = end;
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Up(i, tunnel, bytes) => {
                self.points[i].queued = self.points[i].queued.saturating_sub(bytes.len() as u64);
                if self.points[i].tunnel == tunnel && self.points[i].connected {
                    let room = ROOM - self.points[i].queued.min(ROOM);
                    self.ap(i, ap::Input::Room(room));
                    self.gateway(gateway::Input::FromTunnel(Tunnel(tunnel), &bytes));
                }
            }
            Event::Down(i, tunnel, bytes) if self.points[i].tunnel == tunnel => {
                self.ap(i, ap::Input::FromTunnel(&bytes));
            }
            Event::Down(..) => {}
            Event::ToSender(packet) => self.on_sender(&packet),
            Event::ToGateway(packet) => self.gateway(gateway::Input::FromSender(&packet)),
            Event::ToReceiver(packet) => self.on_receiver(&packet),
            Event::FromReceiver(packet) => self.gateway(gateway::Input::FromReceiver(&packet)),
            Event::Switch(i, on) => self.on_switch(i, on),
            Event::Hangup(i, tunnel) if self.points[i].tunnel == tunnel && self.points[i].connected => {
                self.points[i].connected = false;
                self.ap(i, ap::Input::TunnelDown);
                self.connect(i);
            }
            Event::Hangup(..) => {}
            Event::ApTimer(i) => {
                self.points[i].timer = None;
                self.ap(i, ap::Input::Timer);
            }
            Event::GatewayTimer => {
                self.timer = None;
                self.gateway(gateway::Input::Timer);
            }
            Event::Resend => {
                self.on_clock();
                self.at(self.now + Duration::from_millis(100), Event::Resend);
            }
        }
    }

    fn on_switch(&mut self, i: usize, on: bool) {
        if on && self.points[i].ap.is_none() {
            let boot = self.draw(u64::MAX);
            self.points[i].ap = Some(Ap::new(config_of(&self.spec, boot)));
            self.connect(i);
        } else if !on {
            if let Some(ap) = self.points[i].ap.take() {
                self.base[i] = add(&self.base[i], &ap.counts());
            }
            self.points[i].connected = false;
        }
    }

    fn connect(&mut self, i: usize) {
        self.order += 1;
        let tunnel = self.order as u32;
        (self.points[i].tunnel, self.points[i].connected, self.points[i].queued) = (tunnel, true, 0);
        self.gateway(gateway::Input::TunnelUp(Tunnel(tunnel), i as u64));
        self.ap(i, ap::Input::TunnelUp { room: ROOM });
    }

    fn ap(&mut self, i: usize, input: ap::Input<'_>) {
        let Some(ap) = &mut self.points[i].ap else { return };
        ap.handle(input, self.now);
        loop {
            let Some(ap) = &mut self.points[i].ap else { return };
            match ap.poll_output() {
                ap::Output::ToTunnel(bytes) => self.carry_up(i, bytes),
                ap::Output::Forward(packet) => {
                    let at = self.occupy(i, packet.len() as f64 + 14.0);
                    self.at(at, Event::ToGateway(packet.to_vec()));
                }
                ap::Output::ToSender(packet) => {
                    self.at(self.now + Duration::from_millis(1), Event::ToSender(packet))
                }
                ap::Output::Timeout(at, _) => {
                    if let Some(at) = at.filter(|at| self.points[i].timer.is_none_or(|t| *at < t)) {
                        self.points[i].timer = Some(at);
                        self.at(at.max(self.now), Event::ApTimer(i));
                    }
                    return;
                }
                ap::Output::ToNeighbours(_) | ap::Output::Hangup => {}
            }
        }
    }

    /// The uplink takes bytes; when they are at its other end.
    fn occupy(&mut self, i: usize, bytes: f64) -> Time {
        let point = &mut self.points[i];
        point.free_at =
            point.free_at.max(self.now) + Duration::from_secs_f64(bytes * 8.0 / self.spec.rate_bps);
        point.free_at + self.spec.delay
    }

    fn carry_up(&mut self, i: usize, bytes: Vec<u8>) {
        self.points[i].queued += bytes.len() as u64;
        let at = self.occupy(i, bytes.len() as f64 * FRAMING);
        let tunnel = self.points[i].tunnel;
        if self.points[i].connected {
            self.at(at, Event::Up(i, tunnel, bytes));
        }
    }

    fn gateway(&mut self, input: gateway::Input<'_>) {
        self.gateway.handle(input, self.now);
        loop {
            match self.gateway.poll_output() {
                gateway::Output::ToTunnel(Tunnel(tunnel), bytes) => {
                    if let Some(i) = self.points.iter().position(|p| p.tunnel == tunnel) {
                        self.at(self.now + self.spec.delay, Event::Down(i, tunnel, bytes));
                    }
                }
                gateway::Output::Hangup(Tunnel(tunnel)) => {
                    if let Some(i) = self.points.iter().position(|p| p.tunnel == tunnel) {
                        self.at(self.now + self.spec.delay, Event::Hangup(i, tunnel));
                    }
                }
                gateway::Output::ToReceiver(p) => {
                    self.at(self.now + Duration::from_micros(100), Event::ToReceiver(p))
                }
                gateway::Output::ToSender(p) => {
                    if self.points[0].ap.is_some() {
                        self.at(self.now + self.spec.delay, Event::ToSender(p));
                    }
                }
                gateway::Output::Ended { .. } => {}
                gateway::Output::Timeout(at, _) => {
                    if let Some(at) = at.filter(|at| self.timer.is_none_or(|t| *at < t)) {
                        self.timer = Some(at);
                        self.at(at.max(self.now), Event::GatewayTimer);
                    }
                    return;
                }
            }
        }
    }

    fn stamp(&self, echo: u32) -> Option<Timestamps> {
        Some(Timestamps { value: (self.now.as_micros() / 1000) as u32 + 1, echo })
    }

    fn segment(&self, flags: Flags, at: u64, payload_bytes: u32) -> Segment {
        let [source, destination] = addresses();
        Segment {
            source,
            destination,
            ecn: Ecn::NotEct,
            flags,
            seq: seq::wire(ISN, at),
            ack: self.sender.peer,
            window: 1000,
            urgent: 0,
            options: Options { timestamps: self.stamp(0), ..Options::default() },
            payload_bytes,
        }
    }

    /// A frame of the sender: everybody hears it who hears it.
    fn transmit(&mut self, s: Segment) {
        let mut bytes = Vec::new();
        wire::encode(&s, wire::Payload::Pattern, &mut bytes);
        let packet: Arc<[u8]> = bytes.into();
        self.frame = (self.frame + 1) % 4096;
        let frame = Frame { bssid: [1; 6], station: [2; 6], tid: 0, sequence: self.frame, home: true };
        for i in 1..self.points.len() {
            if self.draw(1000) as f64 >= self.spec.monitor_loss * 1000.0 {
                self.ap(i, ap::Input::Captured(Frame { home: false, ..frame }, packet.clone()));
            }
        }
        self.ap(0, ap::Input::Captured(frame, packet));
    }

    /// Sends what the window takes.
    fn fill(&mut self) {
        let end = 1 + self.spec.upload;
        while self.sender.acked > 0 && self.sender.reset.is_none() {
            let at = self.sender.next;
            let burst = self.sender.acked + self.sender.window;
            if at < end && at + MSS.min(end - at) <= self.sender.edge.min(burst) {
                let len = MSS.min(end - at);
                self.sender.next += len;
                let s = self.segment(Flags::ACK, at, len as u32);
                self.transmit(s);
            } else if at == end {
                self.sender.next += 1;
                let s = self.segment(Flags::ACK | Flags::FIN, at, 0);
                self.transmit(s);
            } else {
                return;
            }
        }
    }

    fn on_sender(&mut self, packet: &[u8]) {
        let Ok((s, _)) = wire::decode(packet) else { return };
        if self.sender.reset.is_some() || self.points[0].ap.is_none() {
            return;
        }
        if s.flags.has(Flags::RST) {
            self.sender.reset = Some(self.now);
            return;
        }
        if s.flags.has(Flags::SYN) {
            self.sender.peer = s.seq.wrapping_add(1);
        }
        let scale = if s.flags.has(Flags::SYN) { 0 } else { 6 };
        if let Some(ack) = seq::offset(ISN, self.sender.acked, s.ack).filter(|a| *a >= self.sender.acked) {
            if ack > self.sender.acked {
                self.sender.window = (self.sender.window + ack - self.sender.acked).min(512 * 1024);
                self.sender.next = self.sender.next.max(ack);
                (self.sender.acked, self.sender.progress_at, self.sender.timeouts) = (ack, self.now, 0);
                if ack == 1 {
                    (self.sender.next, self.sender.window) = (1, FIRST_WINDOW);
                    let s = self.segment(Flags::ACK, 1, 0);
                    self.transmit(s);
                }
            }
            self.sender.edge = self.sender.edge.max(ack + (u64::from(s.window) << scale));
        }
        self.fill();
    }

    /// Timeouts: SYN, or the first segment that is not acknowledged.
    fn on_clock(&mut self) {
        let backoff = Duration::from_millis(400) * (1 << self.sender.timeouts.min(5));
        if self.sender.reset.is_some() || self.now < self.sender.progress_at + backoff {
            return self.fill();
        }
        let end = 2 + self.spec.upload;
        if self.sender.acked == 0 {
            self.sender.progress_at = self.now;
            let s = self.segment(Flags::SYN, 0, 0);
            let options = Options { mss: Some(MSS as u16), window_scale: Some(7), ..s.options };
            self.transmit(Segment { options, ack: 0, ..s });
        } else if self.sender.acked < end {
            // What is not acknowledged, or a probe of a closed window.
            self.sender.timeouts += 1;
            self.sender.progress_at = self.now;
            // RFC 9293 §3.8.3: a sender gives up; 15 s here, so that a run is short.
            if self.sender.timeouts > 6 {
                self.sender.reset = Some(self.now);
                return;
            }
            // From there again, a few at first.
            (self.sender.window, self.sender.next) = (FIRST_WINDOW, self.sender.acked);
            if self.sender.acked >= self.sender.edge {
                let s =
                    self.segment(Flags::ACK, self.sender.acked, MSS.min(end - 1 - self.sender.acked) as u32);
                self.transmit(s);
            }
        }
        self.fill();
    }

    fn on_receiver(&mut self, packet: &[u8]) {
        let Ok((s, intact)) = wire::decode(packet) else {
            self.receiver.wrong += 1;
            return;
        };
        self.receiver.wrong += u64::from(!intact);
        if s.flags.has(Flags::RST) {
            self.receiver.reset.get_or_insert(self.now);
        }
        if self.receiver.reset.is_some() {
            return;
        }
        if let Some(at) = seq::offset(ISN, self.receiver.next, s.seq) {
            let end = at + u64::from(s.sequence_bytes());
            if end > at && !s.flags.has(Flags::SYN) {
                self.receiver.ahead.insert(at, end);
                while let Some(e) =
                    self.receiver.ahead.first_entry().filter(|e| *e.key() <= self.receiver.next)
                {
                    let end = e.remove();
                    if end > self.receiver.next {
                        (self.receiver.next, self.receiver.progress_at) = (end, self.now);
                    }
                }
            }
        }
        self.receiver.closed |= self.receiver.next == 2 + self.spec.upload;
        let [source, destination] = addresses();
        let syn = s.flags.has(Flags::SYN);
        if !syn
            && s.payload_bytes == 0
            && !s.flags.has(Flags::FIN)
            && s.seq == seq::wire(ISN, self.receiver.next)
        {
            return;
        }
        let reply = Segment {
            source: destination,
            destination: source,
            flags: if syn { Flags::SYN | Flags::ACK } else { Flags::ACK },
            seq: if syn { RECEIVER_ISN } else { RECEIVER_ISN + 1 },
            ack: seq::wire(ISN, self.receiver.next),
            window: if syn { 60_000 } else { 16_000 },
            options: Options {
                mss: syn.then_some(MSS as u16),
                window_scale: syn.then_some(6),
                timestamps: self.stamp(s.options.timestamps.map_or(0, |t| t.value)),
                ..Options::default()
            },
            payload_bytes: 0,
            ..s
        };
        let mut out = Vec::new();
        wire::encode(&reply, wire::Payload::Zeros, &mut out);
        self.at(self.now + Duration::from_micros(100), Event::FromReceiver(out));
    }

    /// What each access point counted.
    pub(crate) fn counts(&self) -> Vec<ap::Counts> {
        let now = |i: usize| self.points[i].ap.as_ref().map(Ap::counts).unwrap_or_default();
        (0..self.points.len()).map(|i| add(&self.base[i], &now(i))).collect()
    }

    pub(crate) fn accounts(&self) -> Vec<gateway::Account> {
        self.gateway.accounts().map(|a| *a.1).collect()
    }
}

fn add(a: &ap::Counts, b: &ap::Counts) -> ap::Counts {
    ap::Counts {
        captured: a.captured + b.captured,
        repeated: a.repeated + b.repeated,
        refused: a.refused + b.refused,
        beyond_allowance: a.beyond_allowance + b.beyond_allowance,
        report_bytes: a.report_bytes + b.report_bytes,
        forwarded: a.forwarded + b.forwarded,
        data_bytes: a.data_bytes + b.data_bytes,
        carried_packets: a.carried_packets + b.carried_packets,
        carried_bytes: a.carried_bytes + b.carried_bytes,
        own_bytes: a.own_bytes + b.own_bytes,
        payload_bytes: a.payload_bytes + b.payload_bytes,
    }
}
