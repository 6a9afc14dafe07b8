//! Packets of many connections through one proxy.

use super::codec::{self, Marks, Parsed};
use super::store::{Packets, Store};
use ropewalk_packet::{SackBlocks, Segment, seq, wire};
use ropewalk_pep::{Config, Counts, Effect, End, Event, Policy, Proxy, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Both ends of a connection, the smaller first: that one is [`End::A`].
type Key = [SocketAddr; 2];

/// What is kept of what one end sent.
#[derive(Debug)]
enum Kept {
    Bytes(Store),
    Packets(Packets),
}

impl Kept {
    fn near(&self) -> u64 {
        match self {
            Kept::Bytes(store) => store.near(),
            Kept::Packets(packets) => packets.near(),
        }
    }
}

#[derive(Debug)]
struct Side {
    marks: Marks,
    kept: Kept,
}

/// A proxy for packets.
#[derive(Debug)]
pub struct Relay {
    config: Config,
    proxy: Proxy<Key>,
    connections: BTreeMap<Key, [Side; 2]>,
}

impl Relay {
    /// At most `limit` connections. Memory is bounded by 2 · `limit` · `config.memory_bytes`, and
    /// what goes with at most [`MAX_RANGES`](ropewalk_pep::MAX_RANGES) separate parts of each
    /// stream.
    pub fn new(config: Config, limit: usize) -> Relay {
        Relay { proxy: Proxy::new(config.clone(), limit), config, connections: BTreeMap::new() }
    }

    /// Takes a packet; what is to be sent is added to `out`.
    pub fn handle(&mut self, packet: &[u8], now: Time, out: &mut Vec<Vec<u8>>) {
        let Some(parsed) = codec::parse(packet) else {
            let passes = codec::odd(packet).is_none_or(|(source, destination, number)| {
                let (key, end) = key(source, destination);
                self.proxy.leave_alone(key, end, number)
            });
            self.run(None, out);
            out.extend(passes.then(|| packet.to_vec()));
            return;
        };
        let (key, end) = key(parsed.source, parsed.destination);
        if !self.proxy.handle(key, end, parsed.segment, now) {
            self.run(None, out);
            out.push(packet.to_vec());
            return;
        }
        // What is acknowledged here has no counter of marks: the ends are to agree on classic ECN.
        let classic = if self.config.policy == Policy::Snoop { None } else { wire::without_accecn(packet) };
        let packet = classic.as_deref().unwrap_or(packet);
        let config = &self.config;
        let sides = self.connections.entry(key).or_insert_with(|| [side(config), side(config)]);
        sides[index(end)].marks = parsed.marks;
        self.keep(key, end, &parsed, packet);
        self.run(Some((end.other(), &parsed.segment, packet)), out);
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Vec<u8>>) {
        self.proxy.on_timer(now);
        self.run(None, out);
    }

    /// When it wants to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        self.proxy.next_timeout()
    }

    /// Nothing goes through here any more: ends whose bytes are held learn that the connection is over.
    pub fn close(&mut self, now: Time, out: &mut Vec<Vec<u8>>) {
        self.proxy.close(now);
        self.run(None, out);
    }

    /// What happened so far.
    pub fn counts(&self) -> &Counts {
        self.proxy.counts()
    }

    /// Connections now, and the bytes that would be lost with them.
    pub fn holds(&self) -> (usize, u64) {
        self.proxy.holds()
    }

    /// Keeps what the proxy took in, before anything is done with it. Bytes that it refused may be
    /// forged, and would stay in the place of the real ones.
    fn keep(&mut self, key: Key, end: End, parsed: &Parsed<'_>, packet: &[u8]) {
        let isn = self.proxy.sender_isn(key, end).filter(|_| parsed.segment.sequence_bytes() > 0);
        let (Some(isn), Some(sides)) = (isn, self.connections.get_mut(&key)) else { return };
        let kept = &mut sides[index(end)].kept;
        let Some(at) = seq::offset(isn, kept.near(), parsed.segment.seq).filter(|at| *at > 0) else { return };
        match kept {
            Kept::Bytes(store) => {
                let whole = at..at + parsed.payload.len() as u64;
                let taken = self.proxy.kept(key, end).into_iter();
                for part in taken.flat_map(|kept| kept.within(whole.clone())) {
                    let bytes = (part.start - at) as usize..(part.end - at) as usize;
                    store.insert(part.start, &parsed.payload[bytes]);
                }
            }
            Kept::Packets(packets) => packets.insert(at, packet),
        }
    }

    /// `hand`: to whom the packet in hand goes, what it says, and its bytes.
    fn run(&mut self, hand: Option<(End, &Segment, &[u8])>, out: &mut Vec<Vec<u8>>) {
        while let Some(event) = self.proxy.poll_output() {
            match event {
                // Its port may be another connection's by now.
                Event::Forget(key) if self.proxy.is_taken(key) => {
                    self.connections.insert(key, [side(&self.config), side(&self.config)]);
                }
                Event::Forget(key) => drop(self.connections.remove(&key)),
                Event::Effect(key, Effect::Release { from, range }) => {
                    if let Some(sides) = self.connections.get_mut(&key) {
                        match &mut sides[index(from)].kept {
                            Kept::Bytes(store) => store.release(range.end),
                            Kept::Packets(packets) => packets.release(range.end),
                        }
                    }
                }
                Event::Effect(key, Effect::Send { to, segment }) => {
                    let whole = hand.filter(|(end, ..)| *end == to);
                    let packet = match whole {
                        Some((_, same, packet)) if *same == segment => Some(packet.to_vec()),
                        Some((_, s, packet)) if without_blocks(s) == segment => codec::without_blocks(packet),
                        _ => self.packet(key, to, &segment),
                    };
                    out.extend(packet);
                }
                // It is remembered for minutes, and its bytes are nobody's any more.
                Event::Effect(key, Effect::Reset(_)) => {
                    if let Some(sides) = self.connections.get_mut(&key) {
                        let empty = || side(&self.config).kept;
                        sides.iter_mut().for_each(|side| side.kept = empty());
                    }
                }
                Event::Effect(_, Effect::Bypass(_)) => {}
            }
        }
    }

    /// A packet that was not in hand. None if its bytes are not here, which the proxy then finds lost.
    fn packet(&self, key: Key, to: End, segment: &Segment) -> Option<Vec<u8>> {
        let side = &self.connections.get(&key)?[index(to.other())];
        let (source, destination) = (key[index(to.other())], key[index(to)]);
        if segment.sequence_bytes() == 0 || segment.payload_bytes == 0 && self.config.policy != Policy::Snoop
        {
            return codec::encode(segment, source, destination, side.marks, &[]);
        }
        let isn = self.proxy.sender_isn(key, to.other())?;
        let at = seq::offset(isn, side.kept.near(), segment.seq)?;
        match &side.kept {
            Kept::Packets(packets) => packets.get(at).map(<[u8]>::to_vec),
            Kept::Bytes(store) => {
                let bytes = store.read(at..at + u64::from(segment.payload_bytes))?;
                codec::encode(segment, source, destination, side.marks, &bytes)
            }
        }
    }
}

/// The connection of a packet, and which end sent it.
fn key(source: SocketAddr, destination: SocketAddr) -> (Key, End) {
    match source < destination {
        true => ([source, destination], End::A),
        false => ([destination, source], End::B),
    }
}

fn side(config: &Config) -> Side {
    let kept = match config.policy {
        Policy::Snoop => Kept::Packets(Packets::new(config.memory_bytes as usize)),
        // The window of a SYN-ACK stands, however little memory there is.
        _ => Kept::Bytes(Store::new(config.memory_bytes.max(1 << 16))),
    };
    Side { marks: Marks::default(), kept }
}

fn index(end: End) -> usize {
    usize::from(end == End::B)
}

fn without_blocks(s: &Segment) -> Segment {
    let mut s = *s;
    s.options.sack = SackBlocks::default();
    s
}

#[cfg(test)]
mod tests;
