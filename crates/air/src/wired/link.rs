//! The link itself: queue, transmitter and wire, one after the other.

use core::time::Duration;
use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::delay::DelayProcess;
use super::loss::LossProcess;
use super::queue::{Queue, Room, Waiting};
use super::random::{Cause, chance, stream};
use super::server::Server;
use super::{Jitter, Limit, LinkSpec, Loss, QueueSpec, Rate, SpecError};
use crate::Time;

/// Packets that may be on the wire at once; more are dropped as by a full queue. 3 Gb/s over a second fit.
pub const MAX_ON_WIRE: usize = 1 << 18;

/// The least that [`Limit::Home`] holds, in bytes.
const HOME_LEAST_BYTES: u64 = 64 * 1024;
/// How much time [`Limit::Home`] holds.
const HOME_TIME: Duration = Duration::from_millis(100);

/// A packet as a link sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<T> {
    /// Length in bytes, IP header included.
    pub len: u32,
    /// The flow, for queues that keep flows apart: any number that packets of one flow share.
    pub flow: u64,
    /// The class, for queues with classes; 0 goes first.
    pub class: u8,
    /// Whether its sender understands congestion marks (ECT in RFC 3168).
    pub ecn_capable: bool,
    /// What is carried.
    pub payload: T,
}

impl<T> Packet<T> {
    /// A packet of `len` bytes, of flow and class 0, that cannot be marked.
    pub fn new(len: u32, payload: T) -> Packet<T> {
        Packet { len, flow: 0, class: 0, ecn_capable: false, payload }
    }
}

/// A packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When it was due, not later than the poll.
    pub at: Time,
    /// Length in bytes.
    pub len: u32,
    /// How long it waited for the transmitter.
    pub waited: Duration,
    /// What was carried.
    pub payload: T,
    /// The driver is to damage it.
    pub corrupted: bool,
    /// The driver is to set Congestion Experienced on it (RFC 3168).
    pub marked: bool,
    /// How often it arrives: 1, or 2 when it was duplicated.
    pub copies: u8,
}

/// What has happened on a link since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets put in.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets that came out, copies not counted.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Dropped by the queue: full, or CoDel's choice.
    pub dropped_queue: u64,
    /// Of these, CoDel's choice.
    pub dropped_aqm: u64,
    /// Lost on the wire.
    pub dropped_loss: u64,
    /// Gone because the link was down, or went down while they were in it.
    pub dropped_down: u64,
    /// Longer than `mtu_blackhole`.
    pub dropped_mtu: u64,
    /// Came out damaged.
    pub corrupted: u64,
    /// Came out twice.
    pub duplicated: u64,
    /// Marked instead of dropped.
    pub marked: u64,
    /// Packets that wait now, the one being sent included.
    pub queued_packets: u64,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Packets on the wire now.
    pub on_wire: u64,
}

/// One direction of a cable; see the [module](super).
#[derive(Debug)]
pub struct Link<T> {
    spec: LinkSpec,
    up: bool,
    now: Time,
    queue: Queue<T>,
    server: Server,
    /// When the transmitter may begin the next packet, once it is free.
    ready: Time,
    /// The packet that is being sent, and when its last bit leaves.
    sending: Option<(Waiting<T>, Time)>,
    wire: VecDeque<Delivery<T>>,
    loss: LossProcess,
    delay: DelayProcess,
    corruption: ChaCha8Rng,
    duplication: ChaCha8Rng,
    count: Counters,
}

impl<T> Link<T> {
    /// A link, up and empty. The same `seed` gives the same fate to the same packets.
    pub fn new(spec: LinkSpec, seed: u64) -> Result<Link<T>, SpecError> {
        spec.check()?;
        let perturbation = stream(seed, Cause::Hash).random();
        Ok(Link {
            up: true,
            now: Time::ZERO,
            queue: Queue::new(&spec.queue, room(&spec.queue, &spec.rate), perturbation),
            server: Server::new(&spec.rate),
            ready: Time::ZERO,
            sending: None,
            wire: VecDeque::new(),
            loss: LossProcess::new(spec.loss, stream(seed, Cause::Loss)),
            delay: DelayProcess::new(spec.delay, spec.jitter, stream(seed, Cause::Jitter)),
            corruption: stream(seed, Cause::Corruption),
            duplication: stream(seed, Cause::Duplication),
            count: Counters::default(),
            spec,
        })
    }

    /// Puts a packet in at `now`.
    pub fn enqueue(&mut self, now: Time, packet: Packet<T>) {
        self.advance(now);
        self.count.packets_in += 1;
        self.count.bytes_in += u64::from(packet.len);
        if !self.up {
            self.count.dropped_down += 1;
        } else if self.spec.mtu_blackhole.is_some_and(|mtu| packet.len > mtu) {
            self.count.dropped_mtu += 1;
        } else {
            if self.sending.is_none() && self.ready <= self.now {
                // Idle: the transmitter begins now, or at the trace's next opportunity.
                self.ready = self.server.ready(self.now);
            }
            self.queue.push(self.now, packet, &mut self.count);
            self.advance(now);
        }
    }

    /// The next packet that has arrived by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Delivery<T>> {
        self.advance(now);
        if self.wire.front()?.at > self.now {
            return None;
        }
        let arrived = self.wire.pop_front()?;
        self.count.packets_out += 1;
        self.count.bytes_out += u64::from(arrived.len);
        self.count.corrupted += u64::from(arrived.corrupted);
        self.count.duplicated += u64::from(arrived.copies > 1);
        Some(arrived)
    }

    /// When something will arrive, or when the transmitter needs attention; none while the link is empty.
    pub fn next_timeout(&self) -> Option<Time> {
        let arrival = self.wire.front().map(|d| d.at);
        // An arrival is due before what is behind it, so only an empty wire makes the transmitter matter to a driver.
        arrival.or_else(|| self.sending.as_ref().map(|(_, done)| *done)).or_else(|| {
            let (waiting, _) = self.queue.backlog();
            (waiting > 0).then_some(self.ready)
        })
    }

    /// Brings queue and transmitter to `now`: everything that should have begun or ended by then does, at its time.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        loop {
            match self.sending.take() {
                Some((sent, done)) if done <= self.now => {
                    self.ready = self.server.ready(done);
                    self.launch(sent, done);
                }
                Some(busy) => {
                    self.sending = Some(busy);
                    return;
                }
                None if self.ready > self.now => return,
                None => match self.queue.pop(self.ready, &mut self.count) {
                    Some(mut next) => {
                        next.waited = self.ready - next.since;
                        let bytes = u64::from(next.packet.len) + u64::from(self.spec.overhead_bytes);
                        let done = self.server.serve(self.ready, bytes);
                        self.sending = Some((next, done));
                    }
                    None => return,
                },
            }
        }
    }

    /// Puts a packet on the wire whose last bit left at `sent`.
    fn launch(&mut self, waited: Waiting<T>, sent: Time) {
        if self.loss.loses() {
            self.count.dropped_loss += 1;
        } else if self.wire.len() >= MAX_ON_WIRE {
            self.count.dropped_queue += 1;
        } else {
            let at = self.delay.arrival(sent);
            self.wire.push_back(Delivery {
                at,
                len: waited.packet.len,
                waited: waited.waited,
                payload: waited.packet.payload,
                corrupted: chance(&mut self.corruption, self.spec.corruption),
                marked: waited.marked,
                copies: 1 + u8::from(chance(&mut self.duplication, self.spec.duplication)),
            });
        }
    }

    /// Switches the link. Going down drops, without a word, everything that waits or is on the wire.
    pub fn set_up(&mut self, now: Time, up: bool) {
        self.advance(now);
        if self.up && !up {
            let waiting = self.queue.backlog().0 + usize::from(self.sending.is_some());
            self.count.dropped_down += (waiting + self.wire.len()) as u64;
            let mut ignored = Counters::default();
            while self.queue.pop(self.now, &mut ignored).is_some() {}
            self.sending = None;
            self.server = Server::new(&self.spec.rate);
            self.ready = self.now;
            self.wire.clear();
            self.delay.cut();
        }
        self.up = up;
    }

    /// Changes the rate; the packet that is being sent goes on at the new one.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> Result<(), SpecError> {
        LinkSpec { rate: rate.clone(), ..LinkSpec::default() }.check()?;
        self.advance(now);
        let mut server = Server::new(&rate);
        self.ready = server.ready(self.now);
        if let Some((sent, done)) = &mut self.sending {
            let bytes = u64::from(sent.packet.len) + u64::from(self.spec.overhead_bytes);
            *done = server.serve(self.ready, self.server.remaining(self.now, *done, bytes));
        }
        self.server = server;
        self.queue.set_room(room(&self.spec.queue, &rate));
        self.spec.rate = rate;
        self.advance(now);
        Ok(())
    }

    /// Changes the delay and its jitter, for packets that leave from now on. Order stays.
    pub fn set_delay(&mut self, now: Time, delay: Duration, jitter: Jitter) {
        self.advance(now);
        (self.spec.delay, self.spec.jitter) = (delay, jitter);
        (self.delay.delay, self.delay.jitter) = (delay, jitter);
    }

    /// Changes the loss, for packets that leave from now on.
    pub fn set_loss(&mut self, now: Time, loss: Loss) -> Result<(), SpecError> {
        LinkSpec { loss, ..LinkSpec::default() }.check()?;
        self.advance(now);
        self.spec.loss = loss;
        self.loss.model = loss;
        Ok(())
    }

    /// Changes the probabilities of damage and of a copy, for packets that leave from now on.
    pub fn set_damage(&mut self, now: Time, corruption: f64, duplication: f64) -> Result<(), SpecError> {
        LinkSpec { corruption, duplication, ..LinkSpec::default() }.check()?;
        self.advance(now);
        (self.spec.corruption, self.spec.duplication) = (corruption, duplication);
        Ok(())
    }

    /// Changes the length beyond which packets vanish.
    pub fn set_mtu_blackhole(&mut self, now: Time, mtu: Option<u32>) {
        self.advance(now);
        self.spec.mtu_blackhole = mtu;
    }

    /// What the link is like now.
    pub fn spec(&self) -> &LinkSpec {
        &self.spec
    }

    /// Whether the link is up.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// What has happened so far, and what is inside now, as of the last call.
    pub fn counters(&self) -> Counters {
        let (packets, bytes) = self.queue.backlog();
        let sending = self.sending.as_ref().map_or(0, |(sent, _)| u64::from(sent.packet.len));
        Counters {
            queued_packets: packets as u64 + u64::from(self.sending.is_some()),
            queued_bytes: bytes + sending,
            on_wire: self.wire.len() as u64,
            ..self.count
        }
    }
}

/// How much a queue holds on a link of this rate.
fn room(queue: &QueueSpec, rate: &Rate) -> Room {
    let within = |span: Duration| {
        let bps = rate.mean_bps().unwrap_or(u64::MAX);
        u64::try_from(u128::from(bps) * span.as_nanos() / 8_000_000_000).unwrap_or(u64::MAX)
    };
    match queue.limit() {
        Limit::Home => Room { packets: usize::MAX, bytes: within(HOME_TIME).max(HOME_LEAST_BYTES) },
        Limit::Bytes(bytes) => Room { packets: usize::MAX, bytes },
        Limit::Packets(packets) => Room { packets, bytes: u64::MAX },
        Limit::Time(span) => Room { packets: usize::MAX, bytes: within(span) },
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
