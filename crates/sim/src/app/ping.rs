//! ICMP echo at regular times.

use super::{Context, Endpoint};
use crate::packet::{Body, ECHO_HEADERS, FlowId, Packet, PacketRef};
use ropewalk_air::Time;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Asks again and again, and counts the answers.
#[derive(Debug)]
pub struct Ping {
    flow: FlowId,
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// IP length, bytes.
    len: u32,
    every: Duration,
    dscp: u8,
    seq: u32,
    next: Option<Time>,
}

impl Ping {
    /// Requests of `len` bytes, IP header included, one per `every`.
    pub fn new(flow: FlowId, to: Ipv4Addr, len: u32, every: Duration, dscp: u8) -> Ping {
        let len = len.max(ECHO_HEADERS + crate::packet::UDP_MARK);
        Ping { flow, from: Ipv4Addr::UNSPECIFIED, to, len, every, dscp, seq: 0, next: None }
    }

    /// The same from this address, and by the interface that has it.
    pub fn from(self, address: Ipv4Addr) -> Ping {
        Ping { from: address, ..self }
    }
}

impl Endpoint for Ping {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.next = Some(cx.now());
    }

    fn stop(&mut self, _: &mut Context<'_>) {
        self.next = None;
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let now = cx.now();
        if let Body::Echo { request: false, seq, sent } = packet.body {
            let record = cx.flow(self.flow);
            if record.on_datagram(now, seq, sent, packet.len - ECHO_HEADERS) {
                record.on_rtt(now - sent);
            }
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let Some(due) = self.next else { return };
        self.next = Some(due + self.every);
        let body = Body::Echo { request: true, seq: self.seq, sent: cx.now() };
        // Address translation and the endpoint's own number stand in the identifier.
        let (from, to) = ((self.from, cx.port), (self.to, cx.port));
        let packet = Packet { dscp: self.dscp, ..Packet::new(from, to, self.len, self.flow, body) };
        self.seq += 1;
        cx.flow(self.flow).on_sent(self.len - ECHO_HEADERS);
        // What finds no way is lost, and missing from the answers.
        let _ = cx.send(packet);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }
}
