//! TCP and MPTCP as a host: one connection of [`crate::tcp`] or [`crate::mptcp`], and the application on it.

use super::roaming::Roaming;
use super::steering::Steering;
use super::stream::{Io, StreamApp};
use super::transport::{Stream, StreamConfig, SubflowCounts};
use super::{Context, Endpoint};
use crate::measure::FlowCounts;
use crate::packet::{Body, FlowId, Packet, PacketRef};
use crate::tcp::{Event, Flags, MptcpOption, Segment};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of IPv4 and TCP headers without options, by which the MSS is less than the MTU (RFC 9293 §3.7.1).
const HEADERS: u32 = 40;

/// Which side opens.
#[derive(Clone, Copy, Debug)]
enum Side {
    Opens(SocketAddrV4),
    Waits,
}

/// One end of a connection.
#[derive(Debug)]
pub struct TcpHost {
    flow: FlowId,
    side: Side,
    config: StreamConfig,
    dscp: u8,
    /// Own address; none: that of the interface that leads to the other end.
    local: Option<Ipv4Addr>,
    rng: ChaCha8Rng,
    stream: Option<Stream>,
    /// Further subflows of a connection that this end opens: own address, and the other's.
    more: Vec<(Ipv4Addr, Ipv4Addr)>,
    /// Its client's stations, which its subflows follow.
    roaming: Option<Roaming>,
    started: bool,
    /// The sequence number of the SYN that was answered.
    answered: Option<u32>,
    /// How it steers, as a receiver.
    steering: Option<Steering>,
    app: Box<dyn StreamApp>,
    established: bool,
    /// Bytes that the send buffer had no room for yet.
    pending: u64,
    /// The application has written its last byte; the stream knows of it.
    close: bool,
    closed: bool,
    /// Samples that the flow's record has.
    seen: (std::time::Duration, u64),
}

impl TcpHost {
    /// The end that opens a connection to `to` when it is started.
    pub fn opens(
        flow: FlowId,
        to: SocketAddrV4,
        config: StreamConfig,
        app: Box<dyn StreamApp>,
        dscp: u8,
        seed: u64,
    ) -> TcpHost {
        TcpHost { side: Side::Opens(to), ..TcpHost::waits(flow, config, app, dscp, seed) }
    }

    /// The end that takes one connection.
    pub fn waits(
        flow: FlowId,
        config: StreamConfig,
        app: Box<dyn StreamApp>,
        dscp: u8,
        seed: u64,
    ) -> TcpHost {
        TcpHost {
            flow,
            side: Side::Waits,
            config,
            dscp,
            local: None,
            rng: ChaCha8Rng::seed_from_u64(seed),
            stream: None,
            more: Vec::new(),
            roaming: None,
            started: false,
            answered: None,
            steering: None,
            app,
            established: false,
            pending: 0,
            close: false,
            closed: false,
            seen: Default::default(),
        }
    }

    /// The same from this address.
    pub fn from(self, address: Ipv4Addr) -> TcpHost {
        TcpHost { local: Some(address), ..self }
    }

    /// The same with further subflows between these addresses, once the first stands.
    pub fn subflows(self, more: Vec<(Ipv4Addr, Ipv4Addr)>) -> TcpHost {
        TcpHost { more, ..self }
    }

    /// The same, with subflows that follow a client's stations.
    pub fn roams(self, roaming: Option<Roaming>) -> TcpHost {
        TcpHost { roaming, ..self }
    }

    /// The same, steering the other end.
    pub fn steers(self, steering: Option<Steering>) -> TcpHost {
        TcpHost { steering, ..self }
    }

    /// The configuration for the way to `to`: no segment is longer than the first interface takes.
    fn config_for(&self, cx: &Context<'_>, to: Ipv4Addr) -> StreamConfig {
        let mtu = cx.net.route(cx.node, to, None).map_or(1500, |r| cx.net.interfaces[r.0.index()].mtu);
        self.config.clone().mss_at_most(mtu.saturating_sub(HEADERS).min(u32::from(u16::MAX)) as u16)
    }

    fn open(&mut self, cx: &mut Context<'_>) {
        let Side::Opens(to) = self.side else { return };
        if let Some(roaming) = &mut self.roaming {
            self.local = roaming.first();
            if self.local.is_none() {
                return;
            }
        }
        let local = self.local.unwrap_or_else(|| cx.net.source_towards(cx.node, *to.ip()));
        let local = SocketAddrV4::new(local, cx.port);
        let config = self.config_for(cx, *to.ip());
        self.stream = Some(Stream::connect(config, local, to, self.rng.random()));
    }

    /// The other end gave its first try up before the handshake was over, and opens again. A
    /// subflow that joins may overtake the end of the handshake.
    fn begins_anew(&self, segment: &Segment) -> bool {
        let is_syn = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let joins = matches!(segment.options.mptcp, Some(MptcpOption::Join { .. }));
        is_syn && !joins && self.answered.is_some_and(|seq| seq != segment.seq)
    }

    /// Brings subflows in line with the client's stations.
    fn follow(&mut self, cx: &mut Context<'_>) {
        let (Some(roaming), Side::Opens(to)) = (&mut self.roaming, self.side) else { return };
        match &mut self.stream {
            Some(stream) if self.established => roaming.follow(stream, cx.port, to),
            Some(_) if !roaming.has_lost_first() => {}
            _ if self.started => self.open(cx),
            _ => {}
        }
    }

    /// Lets the application see what there is, and sends what follows.
    fn pump(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        let Some(stream) = &mut self.stream else { return };
        while let Some(event) = stream.poll_event() {
            if event != Event::Connected || std::mem::replace(&mut self.established, true) {
                continue;
            }
            if let Side::Opens(to) = self.side {
                for (i, (local, remote)) in self.more.drain(..).enumerate() {
                    let (local, remote) =
                        (SocketAddrV4::new(local, cx.port), SocketAddrV4::new(remote, to.port()));
                    stream.add_subflow(local, remote, i as u8 + 1);
                }
            }
        }
        let got = stream.read(now);
        let mut io = Io {
            now,
            established: self.established,
            got,
            write: 0,
            close: false,
            abort: false,
            record: &mut cx.flows[self.flow.index()],
        };
        self.app.on_progress(&mut io);
        let (write, close, abort) = (io.write, io.close, io.abort);
        self.pending += write;
        self.close |= close;
        if self.pending > 0 {
            self.pending -= stream.write(self.pending);
        }
        if self.close && self.pending == 0 && !self.closed {
            self.closed = true;
            stream.close();
        }
        if abort {
            stream.abort();
        }
        let most = stream.super_packet_bytes();
        let mut bytes = 0;
        while let Some(segment) = stream.poll_transmit(now) {
            bytes += segment.payload_bytes;
            let is_last = bytes + segment.payload_bytes > most.max(2 * segment.payload_bytes);
            if is_last {
                bytes = 0;
            }
            send(cx, self.flow, self.dscp, segment, is_last);
        }
    }
}

/// Sends a segment as a packet.
fn send(cx: &mut Context<'_>, flow: FlowId, dscp: u8, segment: Segment, is_last: bool) {
    let (from, to) = (segment.source, segment.destination);
    let (from, to) = ((*from.ip(), from.port()), (*to.ip(), to.port()));
    let packet = Packet::new(from, to, segment.ip_bytes(), flow, Body::Tcp(segment));
    // What finds no way is lost; the endpoint will notice.
    let _ = cx.send(Packet { dscp, ecn: segment.ecn, is_last, ..packet });
}

/// The segment in a packet, with what happened to it on the way: address translation, and marks.
fn segment_of(packet: &Packet) -> Option<Segment> {
    let Body::Tcp(segment) = packet.body else { return None };
    let source = SocketAddrV4::new(packet.src, packet.sport);
    let destination = SocketAddrV4::new(packet.dst, packet.dport);
    Some(Segment { source, destination, ecn: packet.ecn, ..segment })
}

impl Endpoint for TcpHost {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.started = true;
        self.open(cx);
        self.pump(cx);
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        self.app.stop();
        self.started = false;
        self.pump(cx);
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let Some(segment) = segment_of(&packet) else { return };
        let continued = packet.continued;
        drop(packet);
        let now = cx.now();
        let segment = match &mut self.steering {
            Some(steering) => steering.mark(now, segment),
            None => segment,
        };
        if !self.established && self.begins_anew(&segment) {
            self.stream = None;
        }
        match &mut self.stream {
            Some(stream) => {
                stream.on_segment(now, &segment);
                if let Some(steering) = &mut self.steering {
                    steering.on_measured(now, stream);
                }
                let figures = stream.figures();
                let (sum, count) = (figures.rtt_sum - self.seen.0, figures.rtt_samples - self.seen.1);
                if count > 0 {
                    cx.flow(self.flow).on_rtt(sum / count as u32);
                    self.seen = (figures.rtt_sum, figures.rtt_samples);
                }
                if let Some(window) = stream.window_bytes() {
                    cx.flow(self.flow).on_window(window);
                }
            }
            None => {
                self.answered = Some(segment.seq);
                let config = self.config_for(cx, *segment.source.ip());
                self.stream = Stream::accept(config, self.rng.random(), now, &segment);
            }
        }
        // A super-packet is answered as a whole.
        if !continued {
            self.pump(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.follow(cx);
        if let Some(stream) = &mut self.stream {
            stream.on_timer(cx.now());
            if let Some(steering) = &mut self.steering {
                steering.on_timer(cx.now(), stream);
            }
        }
        self.pump(cx);
    }

    fn account(&self, counts: &mut FlowCounts) {
        if let Some(figures) = self.stream.as_ref().map(Stream::figures) {
            counts.sent += figures.segments;
            counts.retransmissions += figures.retransmissions;
            counts.timeouts += figures.timeouts;
        }
    }

    fn subflows(&self) -> Vec<SubflowCounts> {
        self.stream.as_ref().map(Stream::subflows).unwrap_or_default()
    }

    fn next_timeout(&self) -> Option<Time> {
        let stream = self.stream.as_ref().and_then(Stream::next_timeout);
        let app = self.app.next_timeout().filter(|_| self.established);
        let steering =
            self.steering.as_ref().filter(|_| self.stream.is_some()).and_then(Steering::next_timeout);
        [stream, app, steering].into_iter().flatten().min()
    }
}
