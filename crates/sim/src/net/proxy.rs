//! A node that is a TCP proxy for what it forwards: it drives crate `pep`. Payloads are lengths here, so nothing
//! has to be stored.

use super::{Net, NodeId};
use crate::clock::TimerId;
use crate::packet::{Body, FlowId, IfIndex, Packet, PacketRef};
use ropewalk_packet::Segment;
use ropewalk_pep::{Config, Counts, Effect, End, Event, Proxy};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// An end of a connection, as packets that this node forwards call it.
type Address = (Ipv4Addr, u16);
/// Both ends, the smaller first: that one is [`End::A`].
type Key = [Address; 2];

/// The proxy of a node.
#[derive(Debug)]
pub struct NodeProxy {
    proxy: Proxy<Key>,
    timer: TimerId,
    /// Flow, and the traffic class of what each end sends.
    marks: BTreeMap<Key, (FlowId, [u8; 2])>,
}

impl NodeProxy {
    pub(super) fn new(config: Config, connections: usize, timer: TimerId) -> NodeProxy {
        NodeProxy { proxy: Proxy::new(config, connections), timer, marks: BTreeMap::new() }
    }

    /// What happened so far.
    pub fn counts(&self) -> &Counts {
        self.proxy.counts()
    }
}

impl Net {
    /// Makes a node a proxy for the TCP that it forwards.
    pub fn add_proxy(&mut self, node: NodeId, config: Config, connections: usize) {
        let timer = self.add_timer(super::Owner::Proxy(node));
        self.nodes[node.index()].proxy = Some(NodeProxy::new(config, connections, timer));
    }

    /// True if the node's proxy took the packet.
    pub(super) fn take_by_proxy(&mut self, node: NodeId, packet: &Packet) -> bool {
        let now = self.now;
        let Some(this) = &mut self.nodes[node.index()].proxy else { return false };
        let Body::Tcp(segment) = &packet.body else { return false };
        if packet.damaged {
            return false;
        }
        let (from, to) = ((packet.src, packet.sport), (packet.dst, packet.dport));
        let (key, end) = if from < to { ([from, to], End::A) } else { ([to, from], End::B) };
        // Address translation changes packets, not the segments in them.
        let socket = |(ip, port): Address| SocketAddrV4::new(ip, port);
        let segment = Segment { source: socket(from), destination: socket(to), ecn: packet.ecn, ..*segment };
        let marks = this.marks.entry(key).or_insert((packet.flow, [packet.dscp; 2]));
        marks.1[usize::from(end == End::B)] = packet.dscp;
        let took = this.proxy.handle(key, end, segment, now);
        if !took {
            this.marks.remove(&key);
        }
        self.run_proxy_outputs(node);
        took
    }

    pub(crate) fn run_proxy(&mut self, node: NodeId) {
        let now = self.now;
        if let Some(this) = &mut self.nodes[node.index()].proxy {
            this.proxy.on_timer(now);
        }
        self.run_proxy_outputs(node);
    }

    fn run_proxy_outputs(&mut self, node: NodeId) {
        loop {
            let Some(this) = &mut self.nodes[node.index()].proxy else { return };
            let packet = match this.proxy.poll_output() {
                None => break,
                Some(Event::Forget(key)) => {
                    if !this.proxy.is_taken(key) {
                        this.marks.remove(&key);
                    }
                    continue;
                }
                Some(Event::Effect(key, Effect::Send { to, segment })) => {
                    let (flow, classes) = this.marks.get(&key).copied().unwrap_or((FlowId::NONE, [0; 2]));
                    let [src, dst] = if to == End::B { key } else { [key[1], key[0]] };
                    let dscp = classes[usize::from(to == End::A)];
                    let body = Body::Tcp(segment);
                    Packet { dscp, ecn: segment.ecn, ..Packet::new(src, dst, segment.ip_bytes(), flow, body) }
                }
                Some(Event::Effect(..)) => continue,
            };
            self.pass_on(node, IfIndex::NONE, PacketRef::new(packet));
        }
        if let Some(this) = &mut self.nodes[node.index()].proxy {
            let (timer, at) = (this.timer, this.proxy.next_timeout());
            self.timers.set(timer, at);
        }
    }
}
