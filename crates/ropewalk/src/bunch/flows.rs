//! A home's connections as they are called at the gateway: address translation at the access point,
//! since homes' addresses are alike.
//!
//! What is kept of a connection is also what it takes to end it: numbers of the sender's last
//! segment, with which a reset counts at both ends.

use super::overhear::Label;
use ropewalk_bunch::inner::{self, Inner, TCP};
use ropewalk_bunch::{Mac, Time};
use ropewalk_packet::{Flags, Options, Segment, wire};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Connections at once; the one that was silent longest makes room.
const MOST: usize = 4096;
/// A connection is helped when it has sent so much: most send less, and have nothing to gain.
const HELP_AFTER: u64 = 32 << 10;
/// Ports that are given out.
const FIRST_PORT: u16 = 1024;

/// Protocol, and who speaks with whom, as in the home.
type Ends = (u8, SocketAddrV4, SocketAddrV4);

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Its source at the gateway.
    pub outer: SocketAddrV4,
    /// The number of its last packet, 12 bits: its own, or that of the air where frames are
    /// overheard.
    pub sequence: u16,
    /// Cell, station and traffic identifier of its frames, where those are overheard.
    pub on_air: Option<(Mac, Mac, u8)>,
    /// It is handed to the bunch.
    pub helped: bool,
    /// It ended for a reason that is not its own: whoever speaks in it is reset.
    pub dead: bool,
    sent: u64,
    heard_at: Time,
    /// One past the sender's last byte, and what it acknowledged last.
    next: u32,
    acked: u32,
}

impl Flow {
    /// Whether a packet with this label is of its session, which is of one cell and class, and
    /// comes after those before. A label may be made up, by a frame that somebody else sent: with a
    /// number that was there already the packet would be taken for a repetition.
    pub(super) fn takes(&mut self, label: &Label) -> bool {
        let on_air = (label.bssid, label.station, label.tid);
        let ahead = label.sequence.wrapping_sub(self.sequence) % 4096;
        let is_next = match self.on_air {
            None => true,
            Some(own) => own == on_air && (1..2048).contains(&ahead),
        };
        if is_next {
            (self.on_air, self.sequence) = (Some(on_air), label.sequence);
        }
        is_next
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Flows {
    address: Ipv4Addr,
    all: BTreeMap<Ends, Flow>,
    /// Who has a port at the gateway.
    ports: BTreeMap<(u8, u16, SocketAddrV4), SocketAddrV4>,
}

fn word(packet: &[u8], at: usize) -> u32 {
    packet.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// A segment without data between two ends.
fn bare(from: SocketAddrV4, to: SocketAddrV4, flags: Flags, seq: u32, ack: u32) -> Vec<u8> {
    let segment = Segment {
        source: from,
        destination: to,
        ecn: ropewalk_packet::Ecn::NotEct,
        flags,
        seq,
        ack,
        window: 0,
        urgent: 0,
        options: Options::default(),
        payload_bytes: 0,
    };
    let mut out = Vec::new();
    wire::encode_with(&segment, &[], &mut out);
    out
}

/// A reset between two ends; `seq` is what the one that gets it waits for.
fn reset(from: SocketAddrV4, to: SocketAddrV4, seq: u32) -> Vec<u8> {
    bare(from, to, Flags::RST, seq, 0)
}

/// A segment of long ago: who gets it says what it waits for (RFC 9293 §3.10.7.4), and then it can
/// be reset.
fn question(flow: &Flow, to: SocketAddrV4) -> Vec<u8> {
    bare(flow.outer, to, Flags::ACK, flow.next.wrapping_sub(1 << 30), flow.acked)
}

/// The reset that answers a segment, for who sent it; none for a reset.
pub(super) fn answer(packet: &[u8], inner: &Inner) -> Option<Vec<u8>> {
    let ends = inner.flags & (Flags::RST.0 | Flags::ACK.0);
    (inner.protocol == TCP && ends == Flags::ACK.0)
        .then(|| reset(inner.destination, inner.source, word(packet, 28)))
}

impl Flows {
    /// None yet, of senders that have this address at the gateway.
    pub(super) fn new(address: Ipv4Addr) -> Flows {
        Flows { address, all: BTreeMap::new(), ports: BTreeMap::new() }
    }

    pub(super) fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Connections that are handed to the bunch.
    pub(super) fn helped(&self) -> usize {
        self.all.values().filter(|f| f.helped && !f.dead).count()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The connection of a packet of the home, with the packet counted. None: there is no port for
    /// it.
    pub(super) fn out(&mut self, packet: &[u8], inner: &Inner, now: Time) -> Option<&mut Flow> {
        let ends = (inner.protocol, inner.source, inner.destination);
        let opens = inner.protocol == TCP && inner.flags & (Flags::SYN.0 | Flags::ACK.0) == Flags::SYN.0;
        if !self.all.contains_key(&ends) {
            self.make_room();
            let port = self.free_port(&ends)?;
            self.ports.insert((ends.0, port, ends.2), ends.1);
            let outer = SocketAddrV4::new(self.address, port);
            let flow = Flow {
                outer,
                sequence: 0,
                on_air: None,
                helped: false,
                dead: false,
                sent: 0,
                heard_at: now,
                next: 0,
                acked: 0,
            };
            self.all.insert(ends, flow);
        }
        let flow = self.all.get_mut(&ends)?;
        if opens {
            // The same ports again: a new connection.
            (flow.dead, flow.helped, flow.sent, flow.on_air) = (false, false, 0, None);
        }
        flow.heard_at = now;
        flow.sent += inner.payload.len() as u64;
        if inner.protocol == TCP {
            let control =
                u32::from(inner.flags & Flags::SYN.0 != 0) + u32::from(inner.flags & Flags::FIN.0 != 0);
            flow.next = inner.seq.wrapping_add(inner.payload.len() as u32).wrapping_add(control);
            flow.acked = word(packet, 28);
        }
        Some(flow)
    }

    /// What the sender of a packet of the home is called at the gateway.
    pub(super) fn outer(&self, inner: &Inner) -> Option<SocketAddrV4> {
        self.all.get(&(inner.protocol, inner.source, inner.destination)).map(|f| f.outer)
    }

    /// Who at home a packet to this machine's address at the gateway is for, and whether their
    /// connection lives.
    pub(super) fn back(&self, inner: &Inner) -> Option<(SocketAddrV4, bool)> {
        self.home_of(inner.protocol, inner.destination, inner.source)
    }

    /// The same by what the ends are called at the gateway: `here` is this machine's.
    pub(super) fn home_of(
        &self,
        protocol: u8,
        here: SocketAddrV4,
        there: SocketAddrV4,
    ) -> Option<(SocketAddrV4, bool)> {
        if *here.ip() != self.address {
            return None;
        }
        let source = *self.ports.get(&(protocol, here.port(), there))?;
        let flow = self.all.get(&(protocol, source, there))?;
        Some((source, !flow.dead))
    }

    /// Ends all TCP connections: the resets for senders, and what ends them at receivers, as
    /// packets of the gateway's side.
    pub(super) fn end_all(&mut self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut home, mut away) = (Vec::new(), Vec::new());
        for ((_, source, destination), flow) in self.all.iter_mut().filter(|(e, f)| e.0 == TCP && !f.dead) {
            flow.dead = true;
            home.push(reset(*destination, *source, flow.acked));
            // Where bytes are missing, or the window is full, this counts for nothing; the answer
            // to the question does.
            away.push(reset(flow.outer, *destination, flow.next));
            away.push(question(flow, *destination));
        }
        (home, away)
    }

    fn make_room(&mut self) {
        while self.all.len() >= MOST {
            let Some(oldest) = self.all.iter().min_by_key(|(_, f)| f.heard_at).map(|(e, _)| *e) else {
                return;
            };
            if let Some(flow) = self.all.remove(&oldest) {
                self.ports.remove(&(oldest.0, flow.outer.port(), oldest.2));
            }
        }
    }

    /// The sender's own port if nobody else has it towards this destination, as most home routers
    /// do it.
    fn free_port(&self, ends: &Ends) -> Option<u16> {
        let wanted = ends.1.port().max(FIRST_PORT);
        let all = (wanted..=u16::MAX).chain(FIRST_PORT..wanted);
        all.take(2 * MOST).find(|port| !self.ports.contains_key(&(ends.0, *port, ends.2)))
    }
}

impl Flow {
    /// It has sent so much that help is worth it.
    pub(super) fn is_worth_help(&self) -> bool {
        self.sent >= HELP_AFTER
    }
}

/// The packet as the gateway calls its sender.
pub(super) fn translated(mut packet: Vec<u8>, source: bool, to: SocketAddrV4) -> Vec<u8> {
    inner::readdress(&mut packet, source, to);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "203.0.113.9:443";

    fn segment(from: &str, flags: Flags, bytes: u32) -> Vec<u8> {
        let segment = Segment {
            source: from.parse().unwrap(),
            destination: SERVER.parse().unwrap(),
            ecn: ropewalk_packet::Ecn::NotEct,
            flags,
            seq: 1000,
            ack: 77,
            window: 9,
            urgent: 0,
            options: Options::default(),
            payload_bytes: bytes,
        };
        let mut out = Vec::new();
        wire::encode(&segment, wire::Payload::Pattern, &mut out);
        out
    }

    fn sent(flows: &mut Flows, packet: &[u8], second: u64) -> Flow {
        let inner = inner::parse(packet).unwrap();
        flows.out(packet, &inner, Time::from_secs(second)).unwrap().clone()
    }

    #[test]
    fn a_number_of_the_air_counts_once_and_forwards() {
        let mut flows = Flows::new("10.78.0.2".parse().unwrap());
        let mut flow = sent(&mut flows, &segment("192.168.1.2:40000", Flags::SYN, 0), 1);
        let label = |sequence| Label { bssid: [1; 6], station: [2; 6], tid: 0, sequence };
        assert!([4000, 4001, 4095, 0, 7, 1007].iter().all(|n| flow.takes(&label(*n))));
        // Made up by somebody who heard the frames before; then the next one of the home.
        assert!([1007, 7, 4000, 3055].iter().all(|n| !flow.takes(&label(*n))));
        assert!(flow.takes(&label(1008)));
        assert!(!flow.takes(&Label { tid: 5, ..label(1009) }), "another class");
        let mut flow = sent(&mut flows, &segment("192.168.1.2:40000", Flags::SYN, 0), 2);
        assert!(flow.takes(&Label { tid: 5, ..label(3) }), "a new connection");
    }

    #[test]
    fn two_homes_of_one_port_get_two_and_answers_find_back() {
        let mut flows = Flows::new("10.78.0.2".parse().unwrap());
        let (a, b) = ("192.168.1.2:40000", "192.168.1.3:40000");
        let outer = |flows: &mut Flows, from| sent(flows, &segment(from, Flags::SYN, 0), 1).outer;
        let (first, second) = (outer(&mut flows, a), outer(&mut flows, b));
        assert_eq!((first.port(), second.port()), (40000, 40001));
        let mut back = segment(a, Flags::ACK, 0);
        inner::readdress(&mut back, true, SERVER.parse().unwrap());
        inner::readdress(&mut back, false, second);
        assert_eq!(flows.back(&inner::parse(&back).unwrap()), Some((b.parse().unwrap(), true)));
        inner::readdress(&mut back, false, "10.78.0.2:9".parse().unwrap());
        assert_eq!(flows.back(&inner::parse(&back).unwrap()), None);
    }

    #[test]
    fn what_ends_is_reset_with_numbers_that_count_and_a_new_one_lives() {
        let mut flows = Flows::new("10.78.0.2".parse().unwrap());
        let from = "192.168.1.2:40000";
        let flow = sent(&mut flows, &segment(from, Flags::ACK, 40_000), 1);
        assert!(flow.is_worth_help());
        let (home, away) = flows.end_all();
        let numbers = |p: &[u8]| (inner::parse(p).unwrap().flags, inner::parse(p).unwrap().seq);
        assert_eq!(numbers(&home[0]), (Flags::RST.0, 77));
        assert_eq!(numbers(&away[0]), (Flags::RST.0, 41_000));
        assert_eq!(numbers(&away[1]), (Flags::ACK.0, 41_000_u32.wrapping_sub(1 << 30)));
        assert!(away.iter().all(|p| inner::parse(p).unwrap().source == flow.outer));
        assert!(inner::is_intact(&home[0]));
        assert!(sent(&mut flows, &segment(from, Flags::ACK, 1), 2).dead);
        assert!(flows.end_all().0.is_empty(), "once");
        assert!(!sent(&mut flows, &segment(from, Flags::SYN, 0), 3).dead);
    }

    #[test]
    fn a_reset_answers_all_but_resets_and_what_acknowledges_nothing() {
        let of = |flags| {
            let packet = segment("192.168.1.2:40000", flags, 0);
            answer(&packet, &inner::parse(&packet).unwrap())
        };
        assert_eq!(inner::parse(&of(Flags::ACK).unwrap()).unwrap().seq, 77);
        assert_eq!((of(Flags::RST | Flags::ACK), of(Flags::SYN)), (None, None));
    }

    #[test]
    fn the_table_has_a_bound() {
        let mut flows = Flows::new("10.78.0.2".parse().unwrap());
        for n in 0..MOST as u64 + 50 {
            let from = format!("192.168.{}.{}:4000", n / 200, n % 200);
            sent(&mut flows, &segment(&from, Flags::SYN, 0), n);
        }
        assert_eq!((flows.len(), flows.ports.len()), (MOST, MOST));
    }
}
