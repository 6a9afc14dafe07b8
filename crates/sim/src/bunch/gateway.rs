//! The gateway as a host.

use super::link::{Link, News, Shared};
use super::{SharedCounts, bytes_of, packet_of};
use crate::app::{Context, Endpoint};
use crate::packet::{Body, FlowId, IfIndex, Packet, PacketRef};
use crate::tcp::{Flags, Segment};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_bunch::gateway::{Config, Gateway, Input, Output, Tunnel};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// A gateway with the simulated network around it.
#[derive(Debug)]
pub struct GatewayHost {
    gateway: Gateway,
    serve: Vec<Ipv4Addr>,
    pipes: Shared,
    counts: SharedCounts,
    /// Who a tunnel's address belongs to, as its key would say.
    who: BTreeMap<Ipv4Addr, (u64, SharedCounts)>,
    links: BTreeMap<Tunnel, Link>,
    /// Tunnels by the far end.
    by_remote: BTreeMap<SocketAddrV4, Tunnel>,
    next: u32,
    send_buffer: u64,
    rng: ChaCha8Rng,
    timeout: Option<Time>,
}

impl GatewayHost {
    /// A gateway; `who` says whose each access point is, by its node's addresses.
    pub fn new(
        config: Config,
        pipes: Shared,
        counts: SharedCounts,
        who: BTreeMap<Ipv4Addr, (u64, SharedCounts)>,
        send_buffer: u64,
        seed: u64,
    ) -> GatewayHost {
        GatewayHost {
            serve: config.serve.iter().map(|s| s.0).collect(),
            gateway: Gateway::new(config),
            pipes,
            counts,
            who,
            links: BTreeMap::new(),
            by_remote: BTreeMap::new(),
            next: 0,
            send_buffer,
            rng: ChaCha8Rng::seed_from_u64(seed),
            timeout: None,
        }
    }

    fn put(&mut self, cx: &mut Context<'_>, input: Input<'_>) {
        self.gateway.handle(input, cx.now());
        self.pump(cx);
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        loop {
            match self.gateway.poll_output() {
                Output::ToTunnel(tunnel, bytes) => {
                    self.links.get_mut(&tunnel).into_iter().for_each(|l| l.write(&bytes));
                }
                Output::Hangup(tunnel) => self.drop_link(cx, tunnel),
                Output::ToReceiver(bytes) => self.deliver(cx, &bytes, true),
                Output::ToSender(bytes) => self.deliver(cx, &bytes, false),
                Output::Ended { .. } => self.counts.borrow_mut().resets += 1,
                Output::Timeout(at, _) => {
                    self.timeout = at;
                    break;
                }
            }
        }
        for (who, counts) in self.who.values() {
            if let Some((_, account)) = self.gateway.accounts().find(|a| a.0 == *who) {
                counts.borrow_mut().on_account(account);
            }
        }
        self.links.values_mut().for_each(|l| l.send(cx));
    }

    fn deliver(&self, cx: &mut Context<'_>, bytes: &[u8], to_receiver: bool) {
        let Some((packet, intact)) = packet_of(bytes, FlowId::NONE) else {
            return;
        };
        if to_receiver {
            let mut counts = self.counts.borrow_mut();
            counts.packets += 1;
            counts.bytes += bytes.len() as u64;
            counts.damaged += u64::from(!intact);
        }
        let flow = cx.net.flow_of(packet.dport).or(cx.net.flow_of(packet.sport)).unwrap_or(FlowId::NONE);
        // What finds no way is lost.
        let _ = cx.send(Packet { flow, ..packet });
    }

    fn drop_link(&mut self, cx: &mut Context<'_>, tunnel: Tunnel) {
        if let Some(mut link) = self.links.remove(&tunnel) {
            link.abort();
            link.send(cx);
            link.forget();
        }
        self.by_remote.retain(|_, t| *t != tunnel);
    }

    fn look(&mut self, cx: &mut Context<'_>, tunnel: Tunnel, from: Ipv4Addr) {
        let Some(link) = self.links.get_mut(&tunnel) else { return };
        let (bytes, news) = link.read(cx.now());
        for n in news {
            match n {
                News::Up => {
                    let who = self.who.get(&from).map_or(u64::MAX, |w| w.0);
                    self.put(cx, Input::TunnelUp(tunnel, who));
                }
                News::Down => {
                    self.drop_link(cx, tunnel);
                    return self.put(cx, Input::TunnelDown(tunnel));
                }
            }
        }
        if !bytes.is_empty() {
            self.put(cx, Input::FromTunnel(tunnel, &bytes));
        }
        self.links.get_mut(&tunnel).into_iter().for_each(|l| l.send(cx));
    }
}

impl Endpoint for GatewayHost {
    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let Body::Tcp(segment) = packet.body else { return };
        let (from, to) =
            (SocketAddrV4::new(packet.src, packet.sport), SocketAddrV4::new(packet.dst, packet.dport));
        let segment = Segment { source: from, destination: to, ecn: packet.ecn, ..segment };
        let known = self.by_remote.get(&from).copied();
        let tunnel = match known {
            Some(t)
                if !segment.flags.has(Flags::SYN)
                    || self.links.get(&t).is_some_and(|l| l.is_of(&segment)) =>
            {
                t
            }
            _ => {
                // A new connection from the same place: the old one's access point has started anew.
                if let Some(old) = known {
                    self.drop_link(cx, old);
                    self.put(cx, Input::TunnelDown(old));
                }
                let (isn, now, buffer) = (self.rng.random(), cx.now(), self.send_buffer);
                let Some(link) = Link::accept(self.pipes.clone(), isn, now, &segment, buffer) else { return };
                let tunnel = Tunnel(self.next);
                self.next += 1;
                self.links.insert(tunnel, link);
                self.by_remote.insert(from, tunnel);
                tunnel
            }
        };
        if let Some(link) = self.links.get_mut(&tunnel) {
            link.on_segment(cx.now(), &segment);
        }
        self.look(cx, tunnel, packet.src);
    }

    fn on_transit(&mut self, cx: &mut Context<'_>, by: IfIndex, packet: PacketRef) {
        let carried = matches!(packet.body, Body::Tcp(_) | Body::Udp(_)) && !packet.damaged;
        if carried && self.serve.contains(&packet.dst) {
            let bytes = bytes_of(&packet);
            self.put(cx, Input::FromSender(&bytes));
        } else if carried && self.serve.contains(&packet.src) {
            let bytes = bytes_of(&packet);
            self.put(cx, Input::FromReceiver(&bytes));
        } else {
            cx.net.pass(cx.node, by, packet);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        let due = self
            .by_remote
            .iter()
            .map(|(from, t)| (*t, *from.ip()))
            .filter(|(t, _)| self.links.get(t).and_then(Link::next_timeout).is_some_and(|at| at <= now));
        for (tunnel, from) in due.collect::<Vec<_>>() {
            self.links.get_mut(&tunnel).into_iter().for_each(|l| l.on_timer(now));
            self.look(cx, tunnel, from);
        }
        if self.timeout.is_some_and(|at| at <= now) {
            self.put(cx, Input::Timer);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.links.values().filter_map(Link::next_timeout).chain(self.timeout).min()
    }
}
