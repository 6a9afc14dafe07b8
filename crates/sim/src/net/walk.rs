//! The walk of a packet through nodes.
//!
//! ```text
//!  endpoint ──▶ send ─▶ route ─▶ processor ─▶ transmit ──▶ cable, air, bridge, tunnel
//!                         ▲ NAT                                   │
//!  endpoint ◀── Work ◀─ take ◀── processor ◀── receive ◀──────────┘
//!                         └─▶ forward (ttl) ─▶ proxy ─▶ pass_on (NAT) ─▶ route …
//! ```

use super::processing::{Origin, Step};
use super::{Attach, Interface, Net, NodeId, Work};
use crate::packet::{Body, Ecn, FlowId, IfIndex, Packet, PacketRef};
use ropewalk_air::wired;
use ropewalk_packet::Flags;
use std::net::Ipv4Addr;

/// Why a packet did not leave its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No route leads there, or none whose interface is up.
    #[error("no route leads there")]
    Unroutable,
    /// Longer than the interface takes.
    #[error("longer than the {0} bytes that the interface takes")]
    TooBig(u32),
}

impl Net {
    /// Sends a packet of an endpoint on `node`; by `bound` only, if the endpoint is bound to an interface. A packet with a
    /// source address leaves by the interface that has it, if that leads to the destination: as hosts with several uplinks are set up
    /// (`ip rule from`). A packet without one gets that of the interface by which it leaves.
    ///
    /// # Errors
    /// What a socket would tell its program. A full queue says nothing, as on Linux for UDP.
    pub fn send(
        &mut self,
        node: NodeId,
        bound: Option<IfIndex>,
        mut packet: PacketRef,
    ) -> Result<(), SendError> {
        if bound.is_none() && self.is_local(node, packet.dst) {
            if packet.src == Ipv4Addr::UNSPECIFIED {
                packet.edit().src = packet.dst;
            }
            self.work.push_back(Work::Deliver(node, packet));
            return Ok(());
        }
        let by_source = || self.route(node, packet.dst, Some(self.interface_with(node, packet.src)?));
        let Some((out, to)) = by_source().or_else(|| self.route(node, packet.dst, bound)) else {
            self.nodes[node.index()].counters.unroutable += 1;
            return Err(SendError::Unroutable);
        };
        let interface = &self.interfaces[out.index()];
        if packet.len > interface.mtu {
            let mtu = interface.mtu;
            self.interfaces[out.index()].counters.dropped += 1;
            return Err(SendError::TooBig(mtu));
        }
        let source = interface.address.map(|a| a.0);
        let p = packet.edit();
        if let (Ipv4Addr::UNSPECIFIED, Some(source)) = (p.src, source) {
            p.src = source;
        }
        (p.from, p.to) = (out, to);
        self.process(Origin::Program, Step::Transmit(out, packet));
        Ok(())
    }

    /// The interface and the neighbour that lead from a node to an address now.
    pub fn route(&self, node: NodeId, dst: Ipv4Addr, bound: Option<IfIndex>) -> Option<(IfIndex, IfIndex)> {
        let usable = |i: IfIndex| self.interfaces[i.index()].up && bound.is_none_or(|b| b == i);
        let route = self.nodes[node.index()].routes.to(dst).find(|r| usable(r.out))?;
        let interface = &self.interfaces[route.out.index()];
        let next = route.via.unwrap_or(dst);
        match interface.attach {
            // Whoever is behind the tunnel, the tunnel takes it.
            Attach::Tunnel(_) => Some((route.out, IfIndex::NONE)),
            _ => Some((route.out, *self.neighbours.get(&(interface.segment, next))?)),
        }
    }

    /// The address by which a node reaches another: that of the interface that leads there; 0.0.0.0 if none does.
    pub fn source_towards(&self, node: NodeId, dst: Ipv4Addr) -> Ipv4Addr {
        if self.is_local(node, dst) {
            return dst;
        }
        let out = self.route(node, dst, None).map(|r| r.0);
        out.and_then(|o| self.interfaces[o.index()].address).map_or(Ipv4Addr::UNSPECIFIED, |a| a.0)
    }

    /// Whether the interface of a node that has `local` leads to `remote`.
    pub fn leads_by(&self, node: NodeId, local: Ipv4Addr, remote: Ipv4Addr) -> bool {
        let by = self.interface_with(node, local);
        by.is_some_and(|by| self.route(node, remote, Some(by)).is_some())
    }

    /// The node's interface with this address.
    pub fn interface_with(&self, node: NodeId, address: Ipv4Addr) -> Option<IfIndex> {
        let mine = &self.nodes[node.index()].interfaces;
        mine.iter().copied().find(|i| self.interfaces[i.index()].address.is_some_and(|a| a.0 == address))
    }

    /// Whether an address is one of the node's own.
    pub fn is_local(&self, node: NodeId, address: Ipv4Addr) -> bool {
        self.interface_with(node, address).is_some()
    }

    /// Puts a packet on what the interface is joined to. Its `from` and `to` are set.
    pub(crate) fn transmit(&mut self, out: IfIndex, packet: PacketRef) {
        let now = self.now;
        let interface = &mut self.interfaces[out.index()];
        if !interface.up {
            interface.counters.dropped += 1;
            return;
        }
        interface.counters.sent += 1;
        interface.counters.sent_bytes += u64::from(packet.len);
        self.captures.packet(now, out, &packet);
        match interface.attach {
            Attach::Nothing => interface.counters.dropped += 1,
            Attach::Cable(direction) => {
                let d = &mut self.directions[direction];
                d.link.enqueue(now, on_cable(packet));
                self.timers.set(d.timer, d.link.next_timeout());
            }
            Attach::Radio(iface) => self.transmit_by_radio(out, iface, packet),
            Attach::Bridge(bridge) => self.bridge_out(bridge, out, packet),
            Attach::Tunnel(tunnel) => self.work.push_back(Work::Tunnel(tunnel, packet)),
        }
    }

    /// A packet has come out of a tunnel by its device. It belongs to the flow of the endpoint that one of its ports names.
    pub(crate) fn deliver_from_tunnel(&mut self, device: IfIndex, mut packet: Packet) {
        packet.flow = self.flow_of(packet.dport).or(self.flow_of(packet.sport)).unwrap_or(FlowId::NONE);
        self.receive(device, PacketRef::new(packet));
    }

    pub(crate) fn flow_of(&self, port: u16) -> Option<FlowId> {
        let endpoint = usize::from(port.checked_sub(crate::app::FIRST_PORT)?);
        self.flow_of_endpoint.get(endpoint).copied().filter(|f| *f != FlowId::NONE)
    }

    /// Takes what has come out of a direction of a cable.
    pub(crate) fn run_direction(&mut self, direction: usize) {
        let now = self.now;
        while let Some(delivery) = self.directions[direction].link.poll(now) {
            let d = &mut self.directions[direction];
            d.wait.record(delivery.waited);
            d.wait_ns += delivery.waited.as_nanos() as u64;
            let to = d.to;
            let mut packet = delivery.payload;
            if delivery.marked {
                packet.edit().ecn = Ecn::Ce;
            }
            if delivery.corrupted {
                packet.edit().damaged = true;
            }
            for _ in 1..delivery.copies {
                self.receive(to, packet.clone());
            }
            self.receive(to, packet);
        }
        let d = &self.directions[direction];
        self.timers.set(d.timer, d.link.next_timeout());
    }

    /// A packet has come in by an interface.
    pub(crate) fn receive(&mut self, by: IfIndex, packet: PacketRef) {
        let interface = &mut self.interfaces[by.index()];
        if !interface.up {
            return;
        }
        interface.counters.received += 1;
        interface.counters.received_bytes += u64::from(packet.len);
        let (node, is_port) = (interface.node, interface.bridge.is_some());
        self.captures.packet(self.now, by, &packet);
        self.trace.arrival(self.now, node, packet.len, packet.flow);
        if is_port || packet.to == by || packet.to == IfIndex::NONE {
            self.process(Origin::Device, Step::Take(by, packet));
        }
    }

    /// Takes a packet from an interface: for the bridge that it is a port of, or for its node.
    pub(super) fn take_from(&mut self, by: IfIndex, packet: PacketRef) {
        let Interface { node, bridge, .. } = self.interfaces[by.index()];
        match bridge {
            Some(bridge) => self.bridge_in(bridge, by, packet),
            None => self.take(node, by, packet),
        }
    }

    /// A frame that a bridge's own node sends.
    fn bridge_out(&mut self, bridge: usize, device: IfIndex, packet: PacketRef) {
        match self.bridges[bridge].port_to(packet.to) {
            Some(port) => self.transmit(port, packet),
            None => self.flood(bridge, device, packet),
        }
    }

    /// A frame that came in by a port of a bridge.
    fn bridge_in(&mut self, bridge: usize, by: IfIndex, packet: PacketRef) {
        let node = self.node_of(by);
        self.bridges[bridge].learn(packet.from, by);
        let own = |i: &IfIndex| self.interfaces[i.index()].attach == Attach::Bridge(bridge);
        let device = self.nodes[node.index()].interfaces.iter().copied().find(own);
        if let Some(device) = device
            && packet.to == device
        {
            return self.take(node, device, packet);
        }
        match self.bridges[bridge].port_to(packet.to) {
            Some(port) if port == by => {}
            Some(port) => self.transmit(port, packet),
            None => self.flood(bridge, by, packet),
        }
    }

    fn flood(&mut self, bridge: usize, not: IfIndex, packet: PacketRef) {
        for i in 0..self.bridges[bridge].ports.len() {
            let port = self.bridges[bridge].ports[i];
            if port != not {
                self.transmit(port, packet.clone());
            }
        }
    }

    /// A packet that is for this node, or for it to pass on.
    fn take(&mut self, node: NodeId, by: IfIndex, mut packet: PacketRef) {
        let outer = self.interfaces[by.index()].masquerade;
        if outer && self.interfaces[by.index()].address.is_some_and(|a| a.0 == packet.dst) {
            // A port that no mapping has is the router's own.
            let now = self.now;
            self.nodes[node.index()].nat.inbound(now, packet.edit());
        }
        if !self.is_local(node, packet.dst) {
            return self.forward(node, by, packet);
        }
        if packet.damaged {
            self.nodes[node.index()].counters.damaged += 1;
            return;
        }
        match packet.body {
            Body::Echo { request: true, .. } => self.echo(node, packet),
            _ => self.work.push_back(Work::Deliver(node, packet)),
        }
    }

    /// Answers an ICMP echo request (RFC 792).
    fn echo(&mut self, node: NodeId, mut packet: PacketRef) {
        let p = packet.edit();
        std::mem::swap(&mut p.src, &mut p.dst);
        p.ttl = 64;
        if let Body::Echo { request, .. } = &mut p.body {
            *request = false;
        }
        // An answer that finds no way is counted where it was lost.
        let _ = self.send(node, None, packet);
    }

    /// A packet that is for somebody else (RFC 1812 §5.2).
    fn forward(&mut self, node: NodeId, by: IfIndex, packet: PacketRef) {
        if !self.nodes[node.index()].forward {
            self.nodes[node.index()].counters.not_mine += 1;
            return;
        }
        match self.nodes[node.index()].transit {
            Some(endpoint) => self.work.push_back(Work::Transit { endpoint, by, packet }),
            None => self.pass(node, by, packet),
        }
    }

    /// The rest of it, when nobody on the node wants the packet.
    pub(crate) fn pass(&mut self, node: NodeId, by: IfIndex, packet: PacketRef) {
        if packet.ttl <= 1 {
            self.nodes[node.index()].counters.expired += 1;
            return;
        }
        if !self.take_by_proxy(node, &packet) {
            self.pass_on(node, by, packet);
        }
    }

    /// Sends on what came in `by` an interface, or what the node's proxy made of it.
    pub(super) fn pass_on(&mut self, node: NodeId, by: IfIndex, mut packet: PacketRef) {
        let now = self.now;
        let Some((out, to)) = self.route(node, packet.dst, None) else {
            self.nodes[node.index()].counters.unroutable += 1;
            return;
        };
        let interface = &self.interfaces[out.index()];
        if packet.len > interface.mtu {
            self.interfaces[out.index()].counters.dropped += 1;
            return;
        }
        let p = packet.edit();
        p.ttl -= 1;
        p.continued = false;
        if let (true, Some((outer, _))) = (interface.masquerade && out != by, interface.address)
            && !self.nodes[node.index()].nat.outbound(now, p, outer)
        {
            self.nodes[node.index()].counters.nat_full += 1;
            return;
        }
        (p.from, p.to) = (out, to);
        self.nodes[node.index()].counters.forwarded += 1;
        self.transmit(out, packet);
    }
}

/// A packet as a cable sees it.
fn on_cable(packet: PacketRef) -> wired::Packet<PacketRef> {
    wired::Packet {
        len: packet.len,
        flow: packet.flow_hash(),
        class: if is_bare_ack(&packet) { 0 } else { strict_class(packet.dscp) },
        ecn_capable: packet.ecn != Ecn::NotEct,
        payload: packet,
    }
}

/// An acknowledgement that carries nothing: what waits for it may be a whole download. One of the
/// background stays there.
fn is_bare_ack(packet: &PacketRef) -> bool {
    let is_bare = matches!(&packet.body, Body::Tcp(s) if s.payload_bytes == 0 && s.flags.0 == Flags::ACK.0);
    is_bare && strict_class(packet.dscp) != BACKGROUND
}

/// The last class.
const BACKGROUND: u8 = 3;

/// The class of a strict-priority queue that a DSCP belongs to: network control and voice first, then video, then the rest,
/// then background (the four access categories of RFC 8325 §4.3).
pub(crate) fn strict_class(dscp: u8) -> u8 {
    match dscp >> 3 {
        6 | 7 => 0,
        5 => 0,
        3 | 4 => 1,
        1 => BACKGROUND,
        _ => 2,
    }
}
