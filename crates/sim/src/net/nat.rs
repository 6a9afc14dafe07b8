//! Network address and port translation, as a home router masquerades.
//!
//! Mapping and filtering do not depend on the far end (RFC 4787, REQ-1 and REQ-8, the most transparent kind).

use crate::packet::{Packet, protocol};
use ropewalk_air::Time;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Outer ports that are given out. Endpoints on the router itself use lower ones.
pub const FIRST_PORT: u16 = 32_768;
/// How many there are: the bound of the table.
pub(super) const PORTS: usize = 1 << 15;

/// An inner address and port.
type Inner = (u8, Ipv4Addr, u16);

#[derive(Clone, Copy, Debug)]
struct Mapping {
    inner: Inner,
    used: Time,
}

/// How long an idle mapping lives: UDP two minutes (RFC 4787 REQ-5), ICMP one (RFC 5508 REQ-2), TCP two hours and four
/// minutes (RFC 5382 REQ-5).
fn lifetime(protocol: u8) -> Duration {
    match protocol {
        protocol::UDP => Duration::from_secs(120),
        protocol::ICMP => Duration::from_secs(60),
        _ => Duration::from_secs(7440),
    }
}

/// The table of one router.
#[derive(Debug, Default)]
pub struct Nat {
    port_of: BTreeMap<Inner, u16>,
    mappings: Vec<Option<Mapping>>,
    next: usize,
}

impl Nat {
    /// Rewrites the source of a packet that leaves; false when every port is taken.
    pub fn outbound(&mut self, now: Time, packet: &mut Packet, outer: Ipv4Addr) -> bool {
        let inner = (packet.protocol(), packet.src, packet.sport);
        let port = match self.port_of.get(&inner) {
            Some(&port) if self.alive(now, port).is_some() => port,
            _ => match self.open(now, inner) {
                Some(port) => port,
                None => return false,
            },
        };
        self.touch(now, port);
        (packet.src, packet.sport) = (outer, port);
        if packet.protocol() == protocol::ICMP {
            packet.dport = port;
        }
        true
    }

    /// Rewrites the destination of a packet that came to the outer address, if its port is mapped.
    pub fn inbound(&mut self, now: Time, packet: &mut Packet) -> bool {
        let Some(inner) = self.alive(now, packet.dport).filter(|i| i.0 == packet.protocol()) else {
            return false;
        };
        self.touch(now, packet.dport);
        (packet.dst, packet.dport) = (inner.1, inner.2);
        if packet.protocol() == protocol::ICMP {
            packet.sport = inner.2;
        }
        true
    }

    /// Forgets everything, as a router that restarts.
    pub fn clear(&mut self) {
        *self = Nat::default();
    }

    fn alive(&self, now: Time, port: u16) -> Option<Inner> {
        let m = (*self.mappings.get(slot(port)?)?)?;
        (now.since(m.used) <= lifetime(m.inner.0)).then_some(m.inner)
    }

    fn touch(&mut self, now: Time, port: u16) {
        if let Some(Some(m)) = slot(port).and_then(|s| self.mappings.get_mut(s)) {
            m.used = now;
        }
    }

    /// The next port in turn that nobody uses.
    fn open(&mut self, now: Time, inner: Inner) -> Option<u16> {
        for step in 0..PORTS {
            let slot = (self.next + step) % PORTS;
            let port = FIRST_PORT + slot as u16;
            if self.alive(now, port).is_some() {
                continue;
            }
            if self.mappings.len() <= slot {
                self.mappings.resize(slot + 1, None);
            }
            if let Some(old) = self.mappings[slot].replace(Mapping { inner, used: now })
                && self.port_of.get(&old.inner) == Some(&port)
            {
                self.port_of.remove(&old.inner);
            }
            self.port_of.insert(inner, port);
            self.next = slot + 1;
            return Some(port);
        }
        None
    }
}

fn slot(port: u16) -> Option<usize> {
    port.checked_sub(FIRST_PORT).map(usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Body, FlowId};

    const OUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 51, 100, 7), 80);

    fn from(host: u8, port: u16) -> Packet {
        Packet::new((Ipv4Addr::new(10, 0, 0, host), port), SERVER, 100, FlowId(0), Body::Datagram)
    }

    fn answer(p: &Packet) -> Packet {
        Packet::new(SERVER, (p.src, p.sport), 100, FlowId(0), Body::Datagram)
    }

    #[test]
    fn answers_find_the_way_back_and_ports_do_not_collide() {
        let (mut nat, now) = (Nat::default(), Time::ZERO);
        let (mut a, mut b) = (from(2, 5000), from(3, 5000));
        assert!(nat.outbound(now, &mut a, OUTER) && nat.outbound(now, &mut b, OUTER));
        assert_eq!((a.src, b.src), (OUTER, OUTER));
        assert_ne!(a.sport, b.sport);
        for (out, host) in [(a, 2), (b, 3)] {
            let mut back = answer(&out);
            assert!(nat.inbound(now, &mut back));
            assert_eq!((back.dst, back.dport), (Ipv4Addr::new(10, 0, 0, host), 5000));
        }
    }

    #[test]
    fn a_mapping_is_kept_while_used_and_forgotten_when_idle() {
        let mut nat = Nat::default();
        let mut first = from(2, 5000);
        nat.outbound(Time::ZERO, &mut first, OUTER);
        let mut later = from(2, 5000);
        nat.outbound(Time::from_secs(119), &mut later, OUTER);
        assert_eq!(first.sport, later.sport);
        assert!(nat.inbound(Time::from_secs(230), &mut answer(&first)));
        assert!(!nat.inbound(Time::from_secs(351), &mut answer(&first)));
        let mut anew = from(2, 5000);
        nat.outbound(Time::from_secs(351), &mut anew, OUTER);
        assert_ne!(anew.sport, first.sport, "ports go round before they are used again");
    }

    #[test]
    fn the_table_is_bounded_and_idle_ports_come_back() {
        let mut nat = Nat::default();
        for i in 0..PORTS {
            let mut p = from((i >> 12) as u8, (i & 4095) as u16);
            assert!(nat.outbound(Time::ZERO, &mut p, OUTER));
        }
        assert!(!nat.outbound(Time::from_secs(1), &mut from(200, 1), OUTER), "all ports are taken");
        assert!(nat.outbound(Time::from_secs(500), &mut from(200, 1), OUTER));
        assert!(nat.port_of.len() <= PORTS && nat.mappings.len() <= PORTS);
    }
}
