//! UDP at a rate, and the end that counts it.

use super::call::{Caller, UNCALLED};
use super::spells::Spells;
use super::{Context, Endpoint};
use crate::net::Room;
use crate::packet::{Body, Ecn, FlowId, Packet, PacketRef, UDP_HEADERS, UDP_MARK, UdpMark};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use std::net::Ipv4Addr;
use std::time::Duration;

/// When the next datagram goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At equal distances.
    Constant(Duration),
    /// At exponentially distributed ones with this mean: a Poisson process.
    Poisson(Duration),
    /// So many are kept waiting at the interface by which they leave, at all times. A cable without a rate has no queue:
    /// nothing is sent into it.
    Saturating(u32),
}

/// Sends datagrams.
#[derive(Debug)]
pub struct UdpSource {
    flow: FlowId,
    to: (Ipv4Addr, u16),
    /// IP length of each, bytes.
    len: u32,
    pace: Pace,
    dscp: u8,
    rng: ChaCha8Rng,
    next: Option<Time>,
    seq: u32,
    /// Datagrams that wait at a radio.
    waiting: u32,
    /// Datagrams to be sent at most.
    limit: Option<u64>,
    from: Ipv4Addr,
    running: bool,
    /// When it sends and is silent; none: it always sends.
    spells: Option<Spells>,
}

impl UdpSource {
    /// Datagrams of `len` bytes, IP header included; to [`UNCALLED`]: to whoever calls first, from then on. At least the mark must fit ([`UDP_MARK`]); shorter ones are made that long.
    pub fn new(flow: FlowId, to: (Ipv4Addr, u16), len: u32, pace: Pace, dscp: u8, seed: u64) -> UdpSource {
        UdpSource {
            flow,
            to,
            len: len.max(UDP_HEADERS + UDP_MARK),
            pace,
            dscp,
            rng: ChaCha8Rng::seed_from_u64(seed),
            next: None,
            seq: 0,
            waiting: 0,
            limit: None,
            from: Ipv4Addr::UNSPECIFIED,
            running: false,
            spells: None,
        }
    }

    /// The same from this address.
    pub fn from(self, address: Ipv4Addr) -> UdpSource {
        UdpSource { from: address, ..self }
    }

    /// The same with so many datagrams at most.
    pub fn limit(self, datagrams: Option<u64>) -> UdpSource {
        UdpSource { limit: datagrams, ..self }
    }

    /// The same with spells of sending and of silence.
    pub fn spells(self, spells: Option<Spells>) -> UdpSource {
        UdpSource { spells, ..self }
    }

    /// False if nothing could be sent.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        if self.to == UNCALLED {
            return false;
        }
        if self.limit == Some(0) {
            (self.running, self.next) = (false, None);
            return false;
        }
        self.limit = self.limit.map(|l| l - 1);
        let body = Body::Udp(UdpMark { seq: self.seq, tag: 0, sent: cx.now() });
        let from = (self.from, cx.port);
        let packet = Packet { dscp: self.dscp, ..Packet::new(from, self.to, self.len, self.flow, body) };
        self.seq = self.seq.wrapping_add(1);
        cx.flow(self.flow).on_sent(self.len - UDP_HEADERS);
        cx.send(packet).is_ok()
    }

    /// Tops the queue of a cable up, and says when half of it will have left.
    fn fill_cable(&mut self, cx: &mut Context<'_>, places: u32, direction: usize, bps: u64) -> Duration {
        // A packet put in also brings the link to the present, so the count after it is true.
        while self.running && self.send(cx) {
            if cx.net.directions[direction].link.counters().queued_packets >= u64::from(places) {
                break;
            }
        }
        Duration::from_nanos(u64::from(self.len * places / 2) * 8_000_000_000 / bps)
    }

    /// Tops a radio's queue up; the radio tells when a packet has left.
    fn fill_radio(&mut self, cx: &mut Context<'_>, places: u32) {
        while self.running && self.waiting < places && self.send(cx) {
            self.waiting += 1;
        }
    }

    fn gap(&mut self) -> Duration {
        match self.pace {
            Pace::Constant(gap) => gap,
            // 1 − u is never zero. The logarithm is libm's, so that every machine draws the same.
            Pace::Poisson(mean) => mean.mul_f64(-libm::log(1.0 - self.rng.random::<f64>())),
            Pace::Saturating(_) => Duration::ZERO,
        }
    }

    fn fill(&mut self, cx: &mut Context<'_>) {
        let Pace::Saturating(places) = self.pace else { return };
        let again = match cx.net.route(cx.node, self.to.0, None).map(|r| cx.net.room_at(r.0)) {
            Some(Room::Cable { direction, bps }) => self.fill_cable(cx, places, direction, bps),
            Some(Room::Radio { .. }) => return self.fill_radio(cx, places),
            Some(Room::None) => return,
            // No way now: look again soon.
            None => Duration::from_millis(10),
        };
        self.next = Some(cx.now() + again);
    }
}

impl Endpoint for UdpSource {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.running = true;
        self.spells.iter_mut().for_each(|spells| spells.begin(cx.now()));
        match self.pace {
            Pace::Saturating(_) => self.fill(cx),
            _ => self.next = Some(cx.now()),
        }
    }

    fn stop(&mut self, _: &mut Context<'_>) {
        (self.running, self.next) = (false, None);
    }

    fn on_packet(&mut self, _: &mut Context<'_>, packet: PacketRef) {
        if self.to == UNCALLED {
            self.to = (packet.src, packet.sport);
        }
    }

    fn on_left(&mut self, cx: &mut Context<'_>, dropped: bool) {
        // A source with a rate goes by its clock: what becomes of its datagrams does not slow it.
        if !matches!(self.pace, Pace::Saturating(_)) {
            return;
        }
        self.waiting = self.waiting.saturating_sub(1);
        if dropped {
            // Not at once, or a queue that others keep full would be asked for ever at one instant.
            self.next = Some(cx.now() + Duration::from_millis(1));
        } else {
            self.fill(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let Some(due) = self.next.take() else { return };
        if matches!(self.pace, Pace::Saturating(_)) {
            return self.fill(cx);
        }
        if let Some(at) = self.spells.as_mut().and_then(|spells| spells.resumes(due)) {
            self.next = Some(at);
            return;
        }
        self.next = Some(due + self.gap());
        self.send(cx);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }
}

/// Takes datagrams in and counts them.
#[derive(Debug)]
pub struct UdpSink {
    flow: FlowId,
    caller: Caller,
}

impl UdpSink {
    /// The end of a flow.
    pub fn new(flow: FlowId) -> UdpSink {
        UdpSink { flow, caller: Caller::default() }
    }

    /// The same behind address translation.
    pub fn calls(self, caller: Caller) -> UdpSink {
        UdpSink { caller, ..self }
    }
}

impl Endpoint for UdpSink {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.caller.call(cx, self.flow);
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let now = cx.now();
        self.caller.answered();
        if let Body::Udp(mark) = packet.body {
            let record = cx.flow(self.flow);
            record.counts.ce_marks += u64::from(packet.ecn == Ecn::Ce);
            record.on_datagram(now, mark.seq, mark.sent, packet.len - UDP_HEADERS);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.caller.call(cx, self.flow);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.caller.next()
    }
}
