//! The table: in sets of eight, as a processor's cache is, so that finding, adding and replacing
//! take the same few steps however many connections there are.
//!
//! A connection belongs to one set, by a keyed hash: nobody can aim at another's. In a full set the
//! connection that was silent longest makes room; a peer that has half of the set makes room among
//! its own, so one that opens thousands does not drive the others' out.

use super::entry::{Entry, Key, Whose};
use super::outages::Outage;
use super::pauses::Dead;
use super::{FlowStatus, FlowsStatus};
use crate::inner::Inner;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Connections of a set.
const WAYS: usize = 8;
/// One that was silent for so long is told of no more, and its place is free.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// A set: a part of each hash, and the entries. An empty place has no entry.
#[derive(Debug, Default)]
struct Set {
    hashes: [u32; WAYS],
    entries: [Option<Entry>; WAYS],
}

/// A packet to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Bytes, headers included.
    pub bytes: u32,
    /// It travels, or travelled, in the low-latency class.
    pub low_latency: bool,
}

/// Connections of late, of all peers of an engine.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// Made when the first packet comes.
    sets: Vec<Set>,
    /// How many connections there may be; 0: none are counted.
    most: usize,
    /// Where the connection of the last delivery was.
    delivered: Place,
}

/// A set, and the place in it.
type Place = (usize, usize);

impl Flows {
    /// Counts at most so many connections; fewer than eight are none, and others are rounded down
    /// to eight times a power of two.
    pub(crate) fn new(most: usize) -> Flows {
        let sets = most / WAYS;
        let most = if sets == 0 { 0 } else { WAYS << sets.ilog2() };
        Flows { most, ..Flows::default() }
    }

    /// Bytes that so many connections take at most.
    #[cfg(test)]
    pub(crate) const fn bytes(most: usize) -> usize {
        most.div_ceil(WAYS) * size_of::<Set>()
    }

    /// Whether anything is counted.
    pub(crate) fn counts(&self) -> bool {
        self.most > 0
    }

    /// A packet of the device here goes to `peer`. `hash` is its flow's.
    pub(crate) fn on_sent(&mut self, peer: &PublicKey, hash: u64, inner: &Inner, packet: Packet, now: Time) {
        if self.counts() && inner.is_ip() {
            let place = self.place(Key::of_leaving(Whose::of(peer), inner), hash, now);
            self.at(place).on_sent(packet.bytes.into(), packet.low_latency, now);
        }
    }

    /// A packet of `peer` goes to the device here. `hash_key` is that of flows' hashes.
    pub(crate) fn on_delivered(
        &mut self,
        peer: &PublicKey,
        hash_key: &[u8; 16],
        inner: &Inner,
        packet: Packet,
        now: Time,
    ) {
        if self.counts() && inner.is_ip() {
            let key = Key::of_arriving(Whose::of(peer), inner);
            // Packets of a connection come in runs, and only the first is looked for.
            let (set, way) = self.delivered;
            let last = self.sets.get(set).and_then(|s| s.entries[way].as_ref());
            if last.is_none_or(|e| e.key != key) {
                self.delivered = self.place(key, inner.answer().flow_hash(hash_key), now);
            }
            let place = self.delivered;
            self.at(place).on_delivered(packet.bytes.into(), packet.low_latency, now);
        }
    }

    /// Where a connection is; it is made if it is not there.
    fn place(&mut self, key: Key, hash: u64, now: Time) -> Place {
        if self.sets.is_empty() {
            self.sets.resize_with(self.most / WAYS, Set::default);
        }
        // The queue takes the low bits for its own table.
        let (index, tag) = ((hash >> 16) as usize & (self.sets.len() - 1), (hash >> 32) as u32);
        let set = &mut self.sets[index];
        let is_it = |(h, e): (&u32, &Option<Entry>)| *h == tag && e.as_ref().is_some_and(|e| e.key == key);
        let way = set.hashes.iter().zip(&set.entries).position(is_it).unwrap_or_else(|| {
            let free = set.place_for(key.whose, now);
            (set.hashes[free], set.entries[free]) = (tag, Some(Entry::new(key, now)));
            free
        });
        (index, way)
    }

    fn at(&mut self, (set, way): Place) -> &mut Entry {
        self.sets[set].entries[way].as_mut().expect("a place that was given has an entry")
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.sets.iter().flat_map(|set| set.entries.iter().flatten())
    }

    /// The connections of these peers with the highest rates, `most` of them.
    pub(crate) fn status<'a>(
        &self,
        peers: impl Iterator<Item = &'a PublicKey>,
        most: usize,
        now: Time,
    ) -> FlowsStatus {
        let peers: BTreeMap<Whose, PublicKey> = peers.map(|key| (Whose::of(key), *key)).collect();
        let of_late = self.entries().filter(|e| now.since(e.used) < FORGOTTEN);
        let own = of_late.filter_map(|e| Some(e.status(*peers.get(&e.key.whose)?, now)));
        let mut flows: Vec<FlowStatus> = own.collect();
        let total = flows.len();
        let all = |f: &FlowStatus| f.sent.bytes + f.received.bytes;
        flows.sort_by_key(|f| Reverse((f.sent.bps + f.received.bps, all(f))));
        flows.truncate(most);
        FlowsStatus { counted: self.counts(), total, flows }
    }

    /// For each outage how many connections were delivering when it began, and how many of these
    /// noticed; `no_way` says of each whether the peer cannot be reached now. One look at each
    /// entry.
    pub(crate) fn judge(&self, outages: &[Outage], no_way: &[bool], now: Time) -> Vec<(u32, u32)> {
        let asked: Vec<(Whose, Dead)> = outages
            .iter()
            .zip(no_way)
            .map(|(o, no_way)| (Whose::of(&o.peer), Dead { since: o.since, no_way: *no_way }))
            .collect();
        let mut counts = vec![(0, 0); outages.len()];
        for entry in self.entries() {
            for ((_, dead), (delivering, noticed)) in
                asked.iter().zip(&mut counts).filter(|((whose, _), _)| *whose == entry.key.whose)
            {
                if let Some(did) = entry.pauses.judge(*dead, entry.spoke, now) {
                    *delivering += 1;
                    *noticed += u32::from(did);
                }
            }
        }
        counts
    }
}

impl Set {
    /// Where a new connection of this peer goes.
    fn place_for(&self, whose: Whose, now: Time) -> usize {
        let there = || self.entries.iter().enumerate();
        let is_free = |e: &Option<Entry>| e.as_ref().is_none_or(|e| now.since(e.used) >= FORGOTTEN);
        if let Some((free, _)) = there().find(|(_, e)| is_free(e)) {
            return free;
        }
        let own = there().filter(|(_, e)| e.as_ref().is_some_and(|e| e.key.whose == whose)).count();
        let may_go = |e: &Entry| own < WAYS / 2 || e.key.whose == whose;
        let oldest = there().filter_map(|(i, e)| Some((e.as_ref().filter(|e| may_go(e))?.used, i))).min();
        oldest.map_or(0, |(_, i)| i)
    }
}
