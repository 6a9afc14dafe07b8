//! An access point as a host.

use super::link::{self, Link, News, Shared};
use super::{Overheard, SharedCounts, bytes_of, packet_of};
use crate::app::{Context, Endpoint};
use crate::measure::BunchCounts;
use crate::net::Work;
use crate::packet::{Body, FlowId, IfIndex, PacketRef};
use crate::tcp::Segment;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_bunch::ap::{Ap, Config, Frame, Input, Output};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// A tunnel that was lost is tried again after this.
const AGAIN: Duration = Duration::from_millis(500);

/// How an access point is set up.
#[derive(Clone, Debug)]
pub struct Spec {
    /// As of `ropewalk-bunch`.
    pub config: Config,
    /// The gateway's tunnel port.
    pub gateway: SocketAddrV4,
    /// It is the home access point: its tunnel is no background of its uplink.
    pub is_home: bool,
    /// The tunnel's send buffer, bytes.
    pub send_buffer: u64,
    /// Home: the neighbours' endpoints, and the share of packets that each does not hear.
    pub neighbours: Vec<usize>,
    /// See `neighbours`.
    pub monitor_loss: f64,
    /// All chance in it.
    pub seed: u64,
}

/// An access point with the simulated network around it.
#[derive(Debug)]
pub struct ApHost {
    spec: Spec,
    rng: ChaCha8Rng,
    pipes: Shared,
    counts: SharedCounts,
    /// While it is switched on.
    ap: Option<Ap>,
    link: Option<Link>,
    connect_at: Option<Time>,
    timeout: Option<Time>,
    /// 802.11 number of the next frame of the sender.
    sequence: u16,
    up: bool,
    /// What was counted when it was switched off last.
    base: BunchCounts,
}

impl ApHost {
    /// An access point that is switched off.
    pub fn new(spec: Spec, pipes: Shared, counts: SharedCounts) -> ApHost {
        let rng = ChaCha8Rng::seed_from_u64(spec.seed);
        ApHost {
            spec,
            rng,
            pipes,
            counts,
            ap: None,
            link: None,
            connect_at: None,
            timeout: None,
            sequence: 0,
            up: false,
            base: BunchCounts::default(),
        }
    }

    fn put(&mut self, cx: &mut Context<'_>, input: Input<'_>) {
        let now = cx.now();
        if let Some(ap) = &mut self.ap {
            ap.handle(input, now);
        }
        self.pump(cx);
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        while let Some(ap) = &mut self.ap {
            match ap.poll_output() {
                Output::ToTunnel(bytes) => self.link.iter_mut().for_each(|l| l.write(&bytes)),
                Output::Forward(packet) => self.send(cx, &packet),
                Output::ToSender(packet) => self.send(cx, &packet),
                Output::ToNeighbours(message) => {
                    for endpoint in self.spec.neighbours.iter().copied() {
                        let heard = Overheard::Message(message.clone().into());
                        cx.net.work.push_back(Work::Overheard { endpoint, heard });
                    }
                }
                Output::Hangup => self.hang_up(cx),
                Output::Timeout(at, _) => {
                    self.timeout = at;
                    let held = ap.held_bytes() as u64;
                    self.counts.borrow_mut().on_ap(&self.base, &ap.counts(), held);
                    break;
                }
            }
        }
        self.link.iter_mut().for_each(|l| l.send(cx));
    }

    fn send(&self, cx: &mut Context<'_>, bytes: &[u8]) {
        if let Some((packet, _)) = packet_of(bytes, FlowId::NONE) {
            let flow = cx.net.flow_of(packet.dport).or(cx.net.flow_of(packet.sport)).unwrap_or(FlowId::NONE);
            // What finds no way is lost.
            let _ = cx.send(crate::packet::Packet { flow, ..packet });
        }
    }

    fn hang_up(&mut self, cx: &mut Context<'_>) {
        if let Some(mut link) = self.link.take() {
            link.abort();
            link.send(cx);
            link.forget();
        }
        self.connect_at = Some(cx.now() + AGAIN);
        if let Some(ap) = &mut self.ap {
            ap.handle(Input::TunnelDown, cx.now());
        }
    }

    fn connect(&mut self, cx: &mut Context<'_>) {
        let gateway = self.spec.gateway;
        let local = cx.net.source_towards(cx.node, *gateway.ip());
        self.connect_at = None;
        if local == Ipv4Addr::UNSPECIFIED {
            self.connect_at = Some(cx.now() + AGAIN);
            return;
        }
        let (local, isn) = (SocketAddrV4::new(local, cx.port), self.rng.random());
        let dscp = if self.spec.is_home { 0 } else { link::BACKGROUND };
        let out = (self.spec.send_buffer, dscp);
        let mut link = Link::connect(self.pipes.clone(), local, gateway, isn, out);
        link.send(cx);
        self.link = Some(link);
    }

    /// Takes what the tunnel has, and tells what room it has then.
    fn look(&mut self, cx: &mut Context<'_>) {
        let Some(link) = &mut self.link else { return };
        let (bytes, news) = link.read(cx.now());
        let room = link.room();
        for n in news {
            match n {
                News::Up => self.put(cx, Input::TunnelUp { room }),
                News::Down => return self.hang_up(cx),
            }
        }
        if !bytes.is_empty() {
            self.put(cx, Input::FromTunnel(&bytes));
        }
        self.link.iter_mut().for_each(|l| l.send(cx));
        let room = self.link.as_ref().map_or(0, Link::room);
        self.put(cx, Input::Room(room));
    }

    /// A packet of a station came: the frame as it was on the air, heard here and perhaps elsewhere.
    fn capture(&mut self, cx: &mut Context<'_>, station: IfIndex, packet: &PacketRef) {
        let mac = |i: u32| [2, 0, (i >> 24) as u8, (i >> 16) as u8, (i >> 8) as u8, i as u8];
        self.sequence = (self.sequence + 1) % 4096;
        let frame = Frame {
            bssid: mac(cx.node.0),
            station: mac(station.0),
            tid: 0,
            sequence: self.sequence,
            home: true,
        };
        let bytes: std::sync::Arc<[u8]> = bytes_of(packet).into();
        for endpoint in self.spec.neighbours.iter().copied() {
            if !self.spec.config.share && !self.rng.random_bool(self.spec.monitor_loss) {
                let heard = Overheard::Frame(Frame { home: false, ..frame }, bytes.clone());
                cx.net.work.push_back(Work::Overheard { endpoint, heard });
            }
        }
        self.put(cx, Input::Captured(frame, bytes));
    }
}

/// Whether a bunch can carry it: fragments and echoes go as ever.
fn is_carried(packet: &PacketRef) -> bool {
    matches!(packet.body, Body::Tcp(_) | Body::Udp(_)) && !packet.damaged
}

impl Endpoint for ApHost {
    fn start(&mut self, cx: &mut Context<'_>) {
        if !std::mem::replace(&mut self.up, true) {
            let boot = self.rng.random();
            self.ap = Some(Ap::new(Config { boot, ..self.spec.config.clone() }));
            self.connect(cx);
        }
    }

    /// It is switched off, with all that it holds.
    fn stop(&mut self, _: &mut Context<'_>) {
        self.up = false;
        self.base = *self.counts.borrow();
        self.link.take().iter().for_each(Link::forget);
        (self.ap, self.connect_at, self.timeout) = (None, None, None);
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let Body::Tcp(segment) = packet.body else { return };
        let ends = (SocketAddrV4::new(packet.src, packet.sport), SocketAddrV4::new(packet.dst, packet.dport));
        let segment = Segment { source: ends.0, destination: ends.1, ecn: packet.ecn, ..segment };
        if let Some(link) = &mut self.link {
            link.on_segment(cx.now(), &segment);
        }
        self.look(cx);
    }

    fn on_transit(&mut self, cx: &mut Context<'_>, by: IfIndex, packet: PacketRef) {
        if !self.up {
            return;
        }
        let served = self.spec.config.serve.iter().any(|(ip, _)| *ip == packet.dst);
        if served && is_carried(&packet) {
            self.capture(cx, packet.from, &packet);
        } else {
            cx.net.pass(cx.node, by, packet);
        }
    }

    fn on_overheard(&mut self, cx: &mut Context<'_>, heard: Overheard) {
        if self.up {
            match heard {
                Overheard::Frame(frame, packet) => self.put(cx, Input::Captured(frame, packet)),
                Overheard::Message(bytes) => self.put(cx, Input::FromNeighbour(None, &bytes)),
            }
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.connect_at.is_some_and(|at| at <= now) {
            self.connect(cx);
        }
        if let Some(link) = self.link.as_mut().filter(|l| l.next_timeout().is_some_and(|at| at <= now)) {
            link.on_timer(now);
        }
        self.look(cx);
        if self.timeout.is_some_and(|at| at <= now) {
            self.put(cx, Input::Timer);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let link = self.link.as_ref().and_then(Link::next_timeout);
        [link, self.connect_at, self.timeout].into_iter().flatten().min()
    }
}
