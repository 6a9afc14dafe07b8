//! Two endpoints and the cable between them, for tests and for the comparison with the kernel: a bulk transfer, or
//! whatever the caller writes, in virtual time.

use super::{Event, Segment, TcpConfig, TcpEndpoint};
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_air::wired::{Link, LinkSpec, Packet, SpecError};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// What is to happen to a segment before it comes to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    Pass,
    /// It vanishes.
    Drop,
    /// It comes to the link twice.
    Twice,
    /// It comes to the link later, and others may overtake it.
    Late(Duration),
    /// It passes with a congestion mark.
    Mark,
}

/// Decides about each segment: when, from client to server or back, the segment, its number in that direction.
pub type Filter = Box<dyn FnMut(Time, bool, &Segment, u64) -> Fate>;

/// Client and server, and a link each way.
pub struct Pair {
    /// Connects, and writes.
    pub client: TcpEndpoint,
    /// There once the SYN has come.
    pub server: Option<TcpEndpoint>,
    /// Whether the server's application reads what comes, at once.
    pub server_reads: bool,
    /// What has happened at the client.
    pub client_events: Vec<Event>,
    /// What has happened at the server.
    pub server_events: Vec<Event>,
    links: [Link<Segment>; 2],
    late: BTreeMap<(Time, u64), (bool, Segment)>,
    counts: [u64; 2],
    filter: Filter,
    server_config: TcpConfig,
    now: Time,
    /// FNV-1a over all segments and their times.
    hash: u64,
    /// Time by bytes in the forward queue, for the mean delay.
    queued: Queued,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queued {
    since: Time,
    bytes: u64,
    byte_ns: u128,
}

/// The addresses of a pair.
const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 40_000);
const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 5201);

impl Pair {
    /// A pair with the same configuration at both ends, over a link with `forward` from client to server.
    pub fn new(
        config: TcpConfig,
        forward: LinkSpec,
        backward: LinkSpec,
        seed: u64,
    ) -> Result<Pair, SpecError> {
        let isn = (seed as u32).wrapping_mul(0x9E37_79B9);
        Ok(Pair {
            client: TcpEndpoint::connect(config.clone(), CLIENT, SERVER, isn),
            server: None,
            server_reads: true,
            client_events: Vec::new(),
            server_events: Vec::new(),
            links: [
                Link::new(forward, seed.wrapping_mul(2))?,
                Link::new(backward, seed.wrapping_mul(2) + 1)?,
            ],
            late: BTreeMap::new(),
            counts: [0; 2],
            filter: Box::new(|_, _, _, _| Fate::Pass),
            server_config: config,
            now: Time::ZERO,
            hash: 0xCBF2_9CE4_8422_2325,
            queued: Queued::default(),
        })
    }

    /// The same with another configuration at the server.
    pub fn server_config(mut self, config: TcpConfig) -> Pair {
        self.server_config = config;
        self
    }

    /// The same with something that decides about each segment.
    pub fn filter(mut self, filter: impl FnMut(Time, bool, &Segment, u64) -> Fate + 'static) -> Pair {
        self.filter = Box::new(filter);
        self
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A fingerprint of everything that was sent, and when.
    pub fn trace_hash(&self) -> u64 {
        self.hash
    }

    /// Mean number of bytes in the forward queue so far.
    pub fn mean_queue_bytes(&self) -> f64 {
        self.queued.byte_ns as f64 / self.now.as_nanos().max(1) as f64
    }

    /// Segments dropped by the forward link's queue, and lost on its wire.
    pub fn drops(&self) -> (u64, u64) {
        let counters = self.links[0].counters();
        (counters.dropped_queue, counters.dropped_loss)
    }

    /// Data bytes that the server has got in order.
    pub fn received(&self) -> u64 {
        self.server.as_ref().map_or(0, |server| server.stats().received_bytes)
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Time) {
        self.run_while(end, |_| true);
    }

    /// Runs until `end`, or until `go_on` says no after an event.
    pub fn run_while(&mut self, end: Time, mut go_on: impl FnMut(&Pair) -> bool) {
        self.flush();
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.step();
            if !go_on(self) {
                return;
            }
        }
        self.now = self.now.max(end);
    }

    fn next_event(&self) -> Option<Time> {
        let links = self.links.iter().filter_map(Link::next_timeout);
        let ends = [self.client.next_timeout(), self.server.as_ref().and_then(TcpEndpoint::next_timeout)];
        let late = self.late.first_key_value().map(|((at, _), _)| *at);
        links.chain(ends.into_iter().flatten()).chain(late).min()
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(entry) = self.late.first_entry().filter(|e| e.key().0 <= now) {
            let (forward, segment) = entry.remove();
            self.enqueue(forward, segment);
        }
        for direction in 0..2 {
            while let Some(delivery) = self.links[direction].poll(now) {
                let mut segment = delivery.payload;
                if delivery.marked {
                    segment.ecn = super::Ecn::Ce;
                }
                for _ in 0..delivery.copies {
                    self.deliver(direction == 0, &segment);
                }
            }
        }
        self.client.on_timer(now);
        if let Some(server) = &mut self.server {
            server.on_timer(now);
        }
        self.flush();
    }

    fn deliver(&mut self, forward: bool, segment: &Segment) {
        match (forward, &mut self.server) {
            (false, _) => self.client.on_segment(self.now, segment),
            (true, Some(server)) => server.on_segment(self.now, segment),
            (true, None) => {
                let isn = segment.seq ^ 0x5A5A_5A5A;
                self.server = TcpEndpoint::accept(self.server_config.clone(), isn, self.now, segment);
            }
        }
        if self.server_reads
            && let Some(server) = &mut self.server
        {
            server.read(self.now, u64::MAX);
        }
        self.client.read(self.now, u64::MAX);
        self.flush();
    }

    /// Sends what the ends have to send. To be called after writing, reading or closing from outside.
    pub fn flush(&mut self) {
        while let Some(segment) = self.client.poll_transmit(self.now) {
            self.offer(true, segment);
        }
        while let Some(segment) = self.server.as_mut().and_then(|server| server.poll_transmit(self.now)) {
            self.offer(false, segment);
        }
        self.client_events.extend(core::iter::from_fn(|| self.client.poll_event()));
        if let Some(server) = &mut self.server {
            self.server_events.extend(core::iter::from_fn(|| server.poll_event()));
        }
        self.note_queue();
    }

    fn note_queue(&mut self) {
        let span = (self.now - self.queued.since).as_nanos();
        self.queued.byte_ns += span * u128::from(self.queued.bytes);
        self.queued.since = self.now;
        self.queued.bytes = self.links[0].counters().queued_bytes;
    }

    fn offer(&mut self, forward: bool, mut segment: Segment) {
        let count = &mut self.counts[usize::from(!forward)];
        *count += 1;
        let number = *count;
        self.note(&segment);
        match (self.filter)(self.now, forward, &segment, number) {
            Fate::Drop => return,
            Fate::Twice => self.enqueue(forward, segment),
            Fate::Late(wait) => {
                self.late.insert((self.now + wait, 2 * number + u64::from(forward)), (forward, segment));
                return;
            }
            Fate::Mark => segment.ecn = super::Ecn::Ce,
            Fate::Pass => {}
        }
        self.enqueue(forward, segment);
    }

    fn enqueue(&mut self, forward: bool, segment: Segment) {
        let ecn_capable = segment.is_ecn_capable();
        let packet = Packet { len: segment.ip_bytes(), flow: 1, class: 0, ecn_capable, payload: segment };
        self.links[usize::from(!forward)].enqueue(self.now, packet);
    }

    fn note(&mut self, segment: &Segment) {
        let words = [
            self.now.as_nanos(),
            u64::from(segment.seq) << 32 | u64::from(segment.ack),
            u64::from(segment.payload_bytes) << 32
                | u64::from(segment.window) << 8
                | u64::from(segment.flags.0),
            segment
                .options
                .sack
                .as_slice()
                .iter()
                .fold(0, |h: u64, b| h.rotate_left(7) ^ u64::from(b.0 ^ b.1)),
        ];
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
        }
    }
}
