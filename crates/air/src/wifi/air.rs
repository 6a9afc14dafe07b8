//! The whole medium behind one door: [`Air`].

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::api::{IfaceId, Mac, Output, Packet, RadioId, SendError, Status};
use super::beams::Training;
use super::interferer::Bursts;
use super::mac::access::Access;
use super::mac::backlog::{Discipline, Waiting};
use super::mac::peer::Peer;
use super::mac::{Iface, PeerStats, Radio, RadioStats};
use super::medium::Medium;
use super::spec::AirSpec;
use super::timers::{Cause, Timers};
use crate::Time;

/// All radios of a run, on all channels; `T` is what packets carry.
///
/// [`Air::send`] and [`Air::command`] put things in with their time, [`Air::poll`] gives out what has happened, one by
/// one, until it says none, and [`Air::next_timeout`] says when to poll again. Times never go back; one that does is taken for
/// the latest seen. Outputs carry the time at which they happened, so a driver that polls late loses nothing, but answers to
/// what it is told then come late as well.
#[derive(Debug)]
pub struct Air<T> {
    pub(super) spec: AirSpec,
    pub(super) seed: u64,
    /// Losses by something that stands in the way: (a, b, dB).
    pub(super) blockage: Vec<(u16, u16, f64)>,
    /// Paths whose antennas look for each other.
    pub(super) training: Vec<Training>,
    /// What is left of each interferer's bursts.
    pub(super) bursts: Vec<Bursts>,
    pub(super) now: Time,
    pub(super) medium: Medium,
    pub(super) timers: Timers,
    pub(super) radios: Vec<Radio>,
    pub(super) access: Vec<Access>,
    pub(super) ifaces: Vec<Iface>,
    pub(super) peers: Vec<Peer<T>>,
    /// Interfaces by address, sorted.
    pub(super) addresses: Vec<(Mac, u16)>,
    pub(super) out: VecDeque<Output<T>>,
    /// PPDUs so far.
    pub(super) ppdus: u32,
    /// Reused list of MPDUs that are handed on.
    pub(super) arrived: Vec<super::mac::Arrived<T>>,
    /// Chance of what is neither backoff nor reception: when first beacons go.
    pub(super) rng: ChaCha8Rng,
}

/// The seeds of independent streams.
pub(super) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

impl<T: Clone> Air<T> {
    /// Takes a packet in for `to`, a neighbour's address or a group. What becomes of it is told by a [`Completion`](super::Completion), also when
    /// the queue has no room for it.
    pub fn send(&mut self, now: Time, iface: IfaceId, to: Mac, packet: Packet<T>) -> Result<(), SendError> {
        self.run(now);
        let index = usize::from(iface.0);
        let Some(here) = self.ifaces.get(index) else { return Err(SendError::NoIface(iface.0)) };
        if packet.len_bytes == 0 || packet.len_bytes > MAX_PACKET_BYTES {
            return Err(SendError::Length(packet.len_bytes));
        }
        let peer = self.peer_towards(here, to).ok_or(SendError::NoPeer(to))?;
        let queue = self.radios[usize::from(here.radio)].spec.queue;
        let category = packet.ac as usize;
        let line = match queue.discipline {
            Discipline::TailDrop => self.peers[peer].tx[category].waiting.len(),
            Discipline::Fifo => self.fifo_len(here.radio, category),
            // A managed queue makes room for a packet by dropping another.
            Discipline::FqCodel | Discipline::AirtimeFair => 0,
        };
        let managed = queue.discipline.is_managed();
        let off = !self.radios[usize::from(here.radio)].up;
        let full = off || line >= queue.station_packets || here.queued >= queue.iface_packets;
        let backlog = &mut self.peers[peer].tx[category].waiting;
        self.ifaces[index].outstanding += 1;
        let waiting = Waiting { packet, since: self.now, marked: false };
        if full {
            self.peers[peer].stats.dropped_packets += 1;
            self.complete(peer, &waiting, Status::Dropped, 0, None, 0);
            return Ok(());
        }
        self.ifaces[index].queued += 1;
        if managed {
            let perturbation = self.seed ^ (peer as u64) << 2 ^ category as u64;
            backlog.push_managed(self.now, waiting, queue.station_packets, perturbation);
            self.complete_lost(peer, category);
        } else {
            backlog.push(waiting);
        }
        self.offer(peer, category);
        Ok(())
    }

    /// How many more packets the hardware queue towards this interface takes. A driver that pushes only while there is
    /// room keeps no queue in software.
    pub fn room(&self, iface: IfaceId) -> usize {
        let Some(iface) = self.ifaces.get(usize::from(iface.0)) else { return 0 };
        let limit = usize::from(self.radios[usize::from(iface.radio)].spec.hardware_queue);
        limit.saturating_sub(iface.outstanding)
    }

    /// The latest time seen.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The next thing that has happened by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Output<T>> {
        loop {
            if let Some(output) = self.out.pop_front() {
                return Some(output);
            }
            // Each thing happens at its own time: one that waited for a late driver delays nothing that follows from it.
            if self.timers.next() > now {
                self.now = self.now.max(now);
                return None;
            }
            self.step();
        }
    }

    /// When to poll again; none if nothing will happen without input.
    pub fn next_timeout(&self) -> Option<Time> {
        if !self.out.is_empty() {
            return Some(self.now);
        }
        let next = self.timers.next();
        (next != Time::NEVER).then_some(next)
    }
}

impl<T: Clone> Air<T> {
    /// Everything that is due before or at `now` happens.
    pub(super) fn run(&mut self, now: Time) {
        while self.timers.next() < now {
            self.step();
        }
        self.now = self.now.max(now);
    }

    /// The next thing happens.
    fn step(&mut self) {
        let Some((at, radio, cause)) = self.timers.pop() else { return };
        self.now = self.now.max(at);
        if radio >= self.radios.len() {
            return self.on_interferer(radio, cause);
        }
        match cause {
            Cause::TransmitEnd => self.on_transmit_end(radio),
            Cause::AnswerMissing => self.on_answer_missing(radio),
            Cause::Housekeeping => self.on_housekeeping(radio),
            Cause::Respond => self.on_respond(radio),
            Cause::Access => self.on_access(radio),
        }
    }

    /// A transmission, or a part of it, has ended: its receivers make of it what they can, then its sender goes on.
    fn on_transmit_end(&mut self, emitter: usize) {
        if self.medium.signals[emitter].end > self.now {
            return self.on_mpdus_ended(emitter);
        }
        self.end_signal(emitter);
        self.on_sent(emitter);
    }

    /// A signal has ended; who finds the medium idle counts again.
    pub(super) fn end_signal(&mut self, emitter: usize) {
        let now = self.now;
        self.medium.end(now, emitter);
        for place in 0..self.medium.touched.len() {
            let touch = self.medium.touched[place];
            let rx = usize::from(touch.rx);
            if touch.flipped {
                self.access[rx].on_idle(now);
            }
            if touch.heard {
                self.on_heard(rx, emitter);
            }
            if touch.flipped {
                self.arm(rx);
            }
        }
    }

    /// Who receives what an interface sends to this address.
    fn peer_towards(&self, here: &Iface, to: Mac) -> Option<usize> {
        let other = if to.is_group() { super::mac::frame::GROUP } else { self.iface_of(to)? };
        // A station sends to groups through its access point.
        let other = match &here.role {
            super::mac::Role::Station(..) if to.is_group() => here.peers.first()?.0,
            _ => other,
        };
        let peer = here.peer(other)?;
        let p = &self.peers[peer];
        (p.joined || p.other == super::mac::frame::GROUP).then_some(peer)
    }

    /// Counters of a radio as of the last call.
    pub fn radio_stats(&self, radio: RadioId) -> Option<RadioStats> {
        let index = usize::from(radio.0);
        let stats = self.radios.get(index)?.stats;
        Some(RadioStats { busy_ns: self.medium.receivers[index].busy_ns(self.now), ..stats })
    }

    /// Counters of an interface towards each of its peers (a group's under [`Mac::BROADCAST`]), by the order of interfaces.
    pub fn peer_stats(&self, iface: IfaceId) -> impl Iterator<Item = (Mac, &PeerStats)> {
        let peers = self.ifaces.get(usize::from(iface.0)).map_or(&[][..], |i| &i.peers[..]);
        peers.iter().map(|&(other, peer)| {
            let mac = self.ifaces.get(usize::from(other)).map_or(Mac::BROADCAST, |i| i.mac);
            (mac, &self.peers[peer as usize].stats)
        })
    }
}

/// The longest packet that fits an MSDU with LLC and SNAP (9.2.4.8.1: 2304 bytes).
pub const MAX_PACKET_BYTES: u32 = 2304 - super::mac::frame::LLC_BYTES;
