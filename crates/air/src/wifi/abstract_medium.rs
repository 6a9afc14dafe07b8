//! A medium without 802.11: access points whose packets take different times, and who win by weight (MA-15, the model of
//! the multi-AP paper's section 5.2).
//!
//! Each access point has a queue, a time that a packet of it occupies the medium, and a weight. One packet at a time is on the
//! medium. When several queues wait, they are served by weighted fair queueing, counted in packets: an access point of weight 4
//! wins four times as often as one of weight 1, whatever the two packet times are. This is what a choice of rates and retries
//! brings about in 802.11, here set by hand. Fair queueing is the self-clocked kind (Golestani, INFOCOM 1994), whose virtual
//! time is the tag of the packet in service.
//!
//! A queue may drop what does not fit, or be managed as Linux's mac80211 does it, which marks packets that can be marked (RFC 3168).
//!
//! It is driven like a [`Link`](crate::wired::Link): [`AbstractMedium::enqueue`], [`AbstractMedium::poll`],
//! [`AbstractMedium::next_timeout`], and [`AbstractMedium::take_dropped`] after the first two; time does not go back.

use core::time::Duration;
use std::collections::VecDeque;

use super::Discipline;
use super::mac::backlog;
use crate::Time;
use crate::wired::queue::FqCodel;
use crate::wired::{Counters, Packet};

/// An access point of the abstract medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightedSource {
    /// How long one packet of it occupies the medium, whatever its length: the paper's T.
    pub packet_time: Duration,
    /// How often it wins when others wait too, 1 to 1024. The paper takes 1, 2, 4, 8 and 16.
    pub weight: u32,
    /// Packets that may wait. The paper's marking rule supposes 200.
    pub buffer_packets: usize,
    /// How they wait.
    pub discipline: Discipline,
}

impl Default for WeightedSource {
    /// A perfect 802.11g link as in the paper: 0.5 ms per packet, weight 1, 200 packets, the newest dropped.
    fn default() -> WeightedSource {
        WeightedSource {
            packet_time: Duration::from_micros(500),
            weight: 1,
            buffer_packets: 200,
            discipline: Discipline::TailDrop,
        }
    }
}

/// Why there is no such medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AbstractMediumError {
    /// Nobody sends.
    #[error("an abstract medium needs at least one access point")]
    Empty,
    /// Packets of no length.
    #[error("access point {0}: the packet time must be above 0")]
    PacketTime(usize),
    /// A weight out of range.
    #[error("access point {0}: the weight must be from 1 to 1024")]
    Weight(usize),
    /// No room.
    #[error("access point {0}: the buffer must hold at least one packet")]
    Buffer(usize),
    /// There is no such access point.
    #[error("there is no access point {0}")]
    NoSource(usize),
}

/// A packet that has crossed the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<T> {
    /// When it was due.
    pub at: Time,
    /// The access point that sent it.
    pub source: usize,
    /// Length in bytes.
    pub len: u32,
    /// The driver is to set Congestion Experienced on it (RFC 3168).
    pub ecn_marked: bool,
    /// What was carried.
    pub payload: T,
}

/// What an access point has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCounters {
    /// Packets put in.
    pub packets_in: u64,
    /// Packets that crossed.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Packets that found the buffer full, or that its management dropped.
    pub dropped: u64,
    /// Packets that its management marked rather than dropped.
    pub marked: u64,
    /// Time that they occupied the medium.
    pub airtime: Duration,
}

/// Packets that wait at one access point.
#[derive(Debug)]
enum Queue<T> {
    TailDrop(VecDeque<Packet<T>>),
    FqCodel(Box<FqCodel<T>>),
}

impl<T> Queue<T> {
    /// `source` spreads the flows of a managed queue: which share a line is another question at each access point.
    fn new(spec: &WeightedSource, source: usize) -> Queue<T> {
        match spec.discipline {
            Discipline::TailDrop | Discipline::Fifo => Queue::TailDrop(VecDeque::new()),
            Discipline::FqCodel | Discipline::AirtimeFair => {
                Queue::FqCodel(Box::new(backlog::managed(spec.buffer_packets, source as u64)))
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Queue::TailDrop(line) => line.len(),
            Queue::FqCodel(managed) => managed.backlog().0,
        }
    }

    fn push(&mut self, now: Time, packet: Packet<T>, room: usize, count: &mut Counters, lost: &mut Vec<T>) {
        match self {
            Queue::TailDrop(line) if line.len() >= room => {
                count.dropped_queue += 1;
                lost.push(packet.payload);
            }
            Queue::TailDrop(line) => line.push_back(packet),
            Queue::FqCodel(managed) => {
                managed.push(now, packet, count, &mut |gone| lost.push(gone.packet.payload));
            }
        }
    }

    /// The next packet, and whether it is marked.
    fn pop(&mut self, now: Time, count: &mut Counters, lost: &mut Vec<T>) -> Option<(Packet<T>, bool)> {
        match self {
            Queue::TailDrop(line) => line.pop_front().map(|packet| (packet, false)),
            Queue::FqCodel(managed) => {
                let next = managed.pop(now, count, &mut |gone| lost.push(gone.packet.payload))?;
                Some((next.packet, next.marked))
            }
        }
    }

    /// How many may wait from now on.
    fn set_room(&mut self, packets: usize) {
        if let Queue::FqCodel(managed) = self {
            managed.set_room(packets);
        }
    }
}

#[derive(Debug)]
struct Station<T> {
    spec: WeightedSource,
    queue: Queue<T>,
    /// What the queue has dropped and marked.
    queued: Counters,
    /// Virtual time at which the head of the queue would be done with, were it served by its share.
    tag: u64,
    count: SourceCounters,
}

/// Virtual time that a packet of weight 1 takes: divisible by every weight up to 16.
const VIRTUAL_PACKET: u64 = 720_720 << 10;
const MAX_WEIGHT: u32 = 1024;

/// Access points on one abstract medium.
#[derive(Debug)]
pub struct AbstractMedium<T> {
    stations: Vec<Station<T>>,
    virtual_time: u64,
    now: Time,
    sending: Option<Sending<T>>,
    arrived: VecDeque<Arrival<T>>,
    dropped: Vec<T>,
}

/// What is on the medium.
#[derive(Debug)]
struct Sending<T> {
    packet: Packet<T>,
    marked: bool,
    source: usize,
    /// When it is through.
    done: Time,
}

impl<T> AbstractMedium<T> {
    /// A medium, idle and empty. There is no chance in it.
    pub fn new(sources: &[WeightedSource]) -> Result<AbstractMedium<T>, AbstractMediumError> {
        if sources.is_empty() {
            return Err(AbstractMediumError::Empty);
        }
        for (i, source) in sources.iter().enumerate() {
            check(i, source)?;
        }
        let station = |(i, spec): (usize, &WeightedSource)| Station {
            spec: *spec,
            queue: Queue::new(spec, i),
            queued: Counters::default(),
            tag: 0,
            count: SourceCounters::default(),
        };
        let stations = sources.iter().enumerate().map(station).collect();
        Ok(AbstractMedium {
            stations,
            virtual_time: 0,
            now: Time::ZERO,
            sending: None,
            arrived: VecDeque::new(),
            dropped: Vec::new(),
        })
    }

    /// Puts a packet into an access point's queue. It is dropped if there is no room, or another one is for it.
    pub fn enqueue(
        &mut self,
        now: Time,
        source: usize,
        packet: Packet<T>,
    ) -> Result<(), AbstractMediumError> {
        self.advance(now);
        let virtual_time = self.virtual_time;
        let station = self.stations.get_mut(source).ok_or(AbstractMediumError::NoSource(source))?;
        station.count.packets_in += 1;
        let was_empty = station.queue.len() == 0;
        station.queue.push(now, packet, station.spec.buffer_packets, &mut station.queued, &mut self.dropped);
        if was_empty && station.queue.len() > 0 {
            // A share that was not used is lost; one that was is not given again.
            station.tag = station.tag.max(virtual_time) + VIRTUAL_PACKET / u64::from(station.spec.weight);
        }
        self.advance(now);
        Ok(())
    }

    /// The next packet that has crossed by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Arrival<T>> {
        self.advance(now);
        self.arrived.pop_front()
    }

    /// What queues have dropped since this was last asked. To be asked for after [`AbstractMedium::enqueue`] and [`AbstractMedium::poll`]: it is
    /// kept until then.
    pub fn take_dropped(&mut self) -> Vec<T> {
        core::mem::take(&mut self.dropped)
    }

    /// When to poll again; none while the medium is idle.
    pub fn next_timeout(&self) -> Option<Time> {
        let waiting = self.arrived.front().map(|a| a.at);
        waiting.or_else(|| self.sending.as_ref().map(|sending| sending.done))
    }

    /// Changes an access point, for packets that do not yet occupy the medium. A smaller buffer drops nothing that waits; the discipline
    /// stays what it was.
    pub fn set_source(
        &mut self,
        now: Time,
        source: usize,
        spec: WeightedSource,
    ) -> Result<(), AbstractMediumError> {
        check(source, &spec)?;
        self.advance(now);
        let station = self.stations.get_mut(source).ok_or(AbstractMediumError::NoSource(source))?;
        station.spec = WeightedSource { discipline: station.spec.discipline, ..spec };
        station.queue.set_room(spec.buffer_packets);
        Ok(())
    }

    /// What an access point has done so far; none if there is no such one.
    pub fn counters(&self, source: usize) -> Option<SourceCounters> {
        let queued = |s: &Station<T>| SourceCounters {
            dropped: s.queued.dropped_queue,
            marked: s.queued.marked,
            ..s.count
        };
        self.stations.get(source).map(queued)
    }

    /// Packets that wait at an access point, the one on the medium not counted.
    pub fn backlog(&self, source: usize) -> usize {
        self.stations.get(source).map_or(0, |s| s.queue.len())
    }

    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        let mut free = self.now;
        loop {
            match self.sending.take() {
                Some(Sending { packet, marked, source, done }) if done <= self.now => {
                    let station = &mut self.stations[source];
                    station.count.packets_out += 1;
                    station.count.bytes_out += u64::from(packet.len);
                    self.arrived.push_back(Arrival {
                        at: done,
                        source,
                        len: packet.len,
                        ecn_marked: marked,
                        payload: packet.payload,
                    });
                    free = done;
                }
                Some(busy) => {
                    self.sending = Some(busy);
                    return;
                }
                None => {}
            }
            if self.sending.is_none() && !self.begin(free) {
                return;
            }
        }
    }

    /// Puts the packet with the least tag on the medium; of equals the access point with the lowest number goes.
    fn begin(&mut self, at: Time) -> bool {
        let waiting = self.stations.iter_mut().enumerate().filter(|(_, s)| s.queue.len() > 0);
        let Some((source, station)) = waiting.min_by_key(|(_, s)| s.tag) else { return false };
        // CoDel drops no flow's last packet, so a queue that holds something gives something.
        let next = station.queue.pop(at, &mut station.queued, &mut self.dropped);
        let Some((packet, marked)) = next else { return false };
        self.virtual_time = station.tag;
        if station.queue.len() > 0 {
            station.tag += VIRTUAL_PACKET / u64::from(station.spec.weight);
        }
        station.count.airtime += station.spec.packet_time;
        self.sending = Some(Sending { packet, marked, source, done: at + station.spec.packet_time });
        true
    }
}

fn check(source: usize, spec: &WeightedSource) -> Result<(), AbstractMediumError> {
    match () {
        () if spec.packet_time.is_zero() => Err(AbstractMediumError::PacketTime(source)),
        () if !(1..=MAX_WEIGHT).contains(&spec.weight) => Err(AbstractMediumError::Weight(source)),
        () if spec.buffer_packets == 0 => Err(AbstractMediumError::Buffer(source)),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(packet_us: u64, weight: u32) -> WeightedSource {
        WeightedSource { packet_time: Duration::from_micros(packet_us), weight, ..WeightedSource::default() }
    }

    /// Keeps all of `backlogged` full until `end`; gives packets that crossed.
    fn saturate(medium: &mut AbstractMedium<u32>, backlogged: &[usize], from: Time, end: Time) -> Vec<u64> {
        let before: Vec<u64> =
            (0..medium.stations.len()).map(|s| medium.counters(s).unwrap().packets_out).collect();
        let mut now = from;
        while now < end {
            for &s in backlogged {
                while medium.backlog(s) < 50 {
                    medium.enqueue(now, s, Packet::new(1500, 0)).unwrap();
                }
            }
            now = medium.next_timeout().unwrap();
            while medium.poll(now).is_some() {}
        }
        before.iter().enumerate().map(|(s, b)| medium.counters(s).unwrap().packets_out - b).collect()
    }

    #[test]
    fn wins_by_weight_and_occupies_by_packet_time() {
        for weight in [1, 2, 4, 8, 16] {
            // The far access point: 3 ms per packet; the near one 0.5 ms.
            let mut medium = AbstractMedium::new(&[source(3_000, weight), source(500, 1)]).unwrap();
            let end = Time::from_secs(100);
            let got = saturate(&mut medium, &[0, 1], Time::ZERO, end);
            let round_us = 3_000.0 * f64::from(weight) + 500.0;
            let rounds = 100e6 / round_us;
            assert!(
                (got[0] as f64 / (rounds * f64::from(weight)) - 1.0).abs() < 0.01,
                "weight {weight}: {got:?}"
            );
            assert!((got[1] as f64 / rounds - 1.0).abs() < 0.01, "weight {weight}: {got:?}");
            let airtime = medium.counters(0).unwrap().airtime + medium.counters(1).unwrap().airtime;
            assert!(airtime >= end - Time::ZERO && airtime < end - Time::ZERO + Duration::from_millis(10));
        }
    }

    #[test]
    fn alone_it_has_the_medium_for_itself() {
        // 22 Mb/s were 0.5 ms per packet; 24 Mb/s of IP packets of 1500 bytes are.
        let mut medium = AbstractMedium::new(&[source(500, 1), source(3_000, 16)]).unwrap();
        assert_eq!(saturate(&mut medium, &[0], Time::ZERO, Time::from_secs(1)), [2_000, 0]);
        // What it was given while the other was silent is not held against it.
        let got = saturate(&mut medium, &[0, 1], Time::from_secs(1), Time::from_secs(11));
        assert!((got[1] as f64 / got[0] as f64 - 16.0).abs() < 0.5, "{got:?}");
    }

    #[test]
    fn order_times_and_limits() {
        let spec = WeightedSource { buffer_packets: 3, ..source(1_000, 1) };
        let mut medium = AbstractMedium::new(&[spec]).unwrap();
        for n in 0..6 {
            medium.enqueue(Time::from_micros(10), 0, Packet::new(100, n)).unwrap();
        }
        assert_eq!((medium.backlog(0), medium.counters(0).unwrap().dropped), (3, 2));
        assert_eq!(medium.take_dropped(), [4, 5]);
        assert_eq!(medium.next_timeout(), Some(Time::from_micros(1_010)));
        assert_eq!(medium.poll(Time::from_micros(1_009)), None);
        // A late driver changes nothing.
        let late = Time::from_millis(9);
        let arrivals: Vec<(u64, u32)> =
            core::iter::from_fn(|| medium.poll(late)).map(|a| (a.at.as_nanos() / 1_000, a.payload)).collect();
        assert_eq!(arrivals, [(1_010, 0), (2_010, 1), (3_010, 2), (4_010, 3)]);
        assert_eq!(medium.next_timeout(), None);
    }

    /// Fills a managed queue of 200 packets faster than it drains; gives what crossed, what of it was marked, and what was dropped.
    fn overfill(ecn_capable: bool) -> (u64, u64, u64) {
        let spec = WeightedSource { discipline: Discipline::FqCodel, ..source(1_000, 1) };
        let mut medium = AbstractMedium::new(&[spec]).unwrap();
        let (mut marked, mut dropped) = (0, Vec::new());
        for n in 0..2_000 {
            let now = Time::from_micros(n * 900);
            medium.enqueue(now, 0, Packet { ecn_capable, ..Packet::new(1500, n) }).unwrap();
            while let Some(arrival) = medium.poll(now) {
                marked += u64::from(arrival.ecn_marked);
            }
            dropped.append(&mut medium.take_dropped());
        }
        let count = medium.counters(0).unwrap();
        assert_eq!((count.marked, count.dropped), (marked, dropped.len() as u64));
        let left = medium.backlog(0) as u64 + u64::from(medium.next_timeout().is_some());
        assert_eq!(count.packets_out + count.dropped + left, 2_000);
        (count.packets_out, marked, count.dropped)
    }

    #[test]
    fn a_managed_queue_marks_what_can_be_marked_and_drops_the_rest() {
        let (crossed, marked, dropped) = overfill(true);
        assert!(crossed >= 1_790 && marked > 5 && dropped == 0, "{crossed} {marked} {dropped}");
        let (crossed, marked, dropped) = overfill(false);
        assert!(crossed >= 1_790 && marked == 0 && dropped > 5, "{crossed} {marked} {dropped}");
    }

    #[test]
    fn changes_and_refusals() {
        let mut medium = AbstractMedium::<u32>::new(&[source(1_000, 1)]).unwrap();
        assert_eq!(medium.enqueue(Time::ZERO, 1, Packet::new(1, 0)), Err(AbstractMediumError::NoSource(1)));
        assert_eq!(medium.set_source(Time::ZERO, 0, source(1_000, 0)), Err(AbstractMediumError::Weight(0)));
        assert_eq!(medium.set_source(Time::ZERO, 0, source(0, 1)), Err(AbstractMediumError::PacketTime(0)));
        medium.set_source(Time::ZERO, 0, source(250, 1)).unwrap();
        assert_eq!(saturate(&mut medium, &[0], Time::ZERO, Time::from_secs(1)), [4_000]);
        assert!(matches!(AbstractMedium::<u32>::new(&[]), Err(AbstractMediumError::Empty)));
    }
}
