//! The flow queues and the round between them.

use super::budget::Budget;
use super::codel::Limits;
use super::flow::{Class, FLOWS, Flow, URGENT_BYTES_PER_S};
use crate::inner::{Inner, edit};
use crate::store::{DevicePacket, Full, LOW_LATENCY, NIL, Owner, Store, StoredPacket, UNNUMBERED};
use crate::vnet::Vnet;
use ropewalk_session::Layer;
use ropewalk_time::{Duration, Time};
use std::collections::VecDeque;

/// Bytes a flow may send before the next has its turn (RFC 8290 §5.2.4).
const QUANTUM: i64 = 1514;
/// Low-latency bytes that may wait; what comes beyond is treated as ordered.
const LOW_LATENCY_QUEUE_BYTES: u64 = 65_536;
/// RFC 8290 §4.1.4: packets dropped at once from the fattest flow when the queue is full.
const OVERFLOW_BATCH: u32 = 64;
/// And bytes at once: as many full-size ones (RFC 8290 §4.1.4 has 64 packets; a super-packet is up to 45 of them).
const OVERFLOW_BYTES: u64 = OVERFLOW_BATCH as u64 * 1500;

/// Packets that an access point's queue holds at least (MF-3).
const LEAST: u64 = 200;
/// And what leaves in this time, if that is more: 200 were 100 ms of the paper's 25 Mb/s, and are 8 ms of two links of 190. A TCP that halves its window leaves
/// such a queue empty. How long packets wait is CoDel's to say.
const ROOM: Duration = Duration::from_millis(100);
/// The rate is measured over this.
const DRAIN: Duration = Duration::from_millis(20);

/// How many packets left lately.
#[derive(Clone, Copy, Debug, Default)]
struct Drain {
    since: Time,
    left: u64,
    most: u64,
}

impl Drain {
    fn on_left(&mut self, now: Time, segments: u64) {
        self.left += segments;
        let over = now.since(self.since);
        if over < DRAIN {
            return;
        }
        let rate = self.left as f64 / over.as_secs_f64();
        // A stall of the links is no reason to drop what is here; a lower rate is, in a while.
        self.most = ((rate * ROOM.as_secs_f64()) as u64).max(self.most * 7 / 8);
        (self.since, self.left) = (now, 0);
    }

    /// How many leave in [`ROOM`].
    fn most(&self) -> u64 {
        self.most
    }
}

/// A part of a packet, for one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The packet.
    pub packet: u32,
    /// Its first byte within the packet.
    pub offset: u32,
    /// Bytes; 0 for an abandoned packet.
    pub len: u32,
    /// Everything before it in its flow was sent at least once.
    pub no_gap_before: bool,
}

/// What a path that takes from the queue is like.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taker {
    /// Bytes that faster paths will have taken, all flows together, before something sent now on this path arrives. 0 for the fastest.
    pub skip_bytes: u64,
}

/// What happened to packets here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came in.
    pub packets: u64,
    /// Dropped by CoDel.
    pub codel_drops: u64,
    /// Marked CE by CoDel.
    pub marks: u64,
    /// Dropped because the queue or the memory was full.
    pub overflow_drops: u64,
}

/// One bond's FQ-CoDel.
#[derive(Debug)]
pub(crate) struct Ingress {
    flows: Vec<Flow>,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    low_latency: VecDeque<u32>,
    low_latency_bytes: u64,
    /// What all flows together may send as low-latency while others wait, and its rate in bytes per
    /// second.
    low_latency_budget: Budget,
    low_latency_rate: u64,
    /// Of the packets of the low-latency class, those that are no bare acknowledgements of TCP.
    urgent_non_acks: usize,
    bytes: u64,
    packets: u64,
    /// Segments of the packets that wait.
    segments: u64,
    limit_bytes: u64,
    limit_segments: u64,
    /// The limit is never less than what leaves in [`ROOM`].
    grows: bool,
    drain: Drain,
    limits: Limits,
    layer: Layer,
    owner: Owner,
    waited: Duration,
    counters: Counters,
}

impl Ingress {
    /// An empty queue that holds at most `limit_bytes`. Its flow table is made when the first packet comes.
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Ingress {
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            low_latency: VecDeque::new(),
            low_latency_bytes: 0,
            low_latency_budget: Budget::full(LOW_LATENCY_QUEUE_BYTES),
            low_latency_rate: u64::MAX,
            urgent_non_acks: 0,
            bytes: 0,
            packets: 0,
            segments: 0,
            limit_bytes,
            limit_segments: u64::MAX,
            grows: false,
            drain: Drain::default(),
            limits: Limits { target: Duration::from_millis(5), interval: Duration::from_millis(100) },
            layer: Layer::Three,
            owner: Owner::default(),
            waited: Duration::ZERO,
            counters: Counters::default(),
        }
    }

    /// The same, holding at most so many packets; of a super-packet every segment counts (T-12).
    #[must_use]
    pub(crate) fn with_packets(mut self, limit: Option<u32>) -> Self {
        self.limit_segments = limit.map_or(u64::MAX, u64::from);
        self
    }

    /// The same for an access point that stripes over Wi-Fi links: 200 packets, or 100 ms of what leaves if that is more.
    #[must_use]
    pub(crate) fn for_a_backhaul(mut self) -> Self {
        (self.limit_segments, self.grows) = (LEAST, true);
        self
    }

    /// The same, of this owner's packets.
    #[must_use]
    pub(crate) fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// The same, of what this layer carries.
    #[must_use]
    pub(crate) fn on_layer(mut self, layer: Layer) -> Self {
        self.layer = layer;
        self
    }

    /// Whose packets these are.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Sets CoDel's target and interval.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The low-latency class takes half of `rate`, the paths' bits per second, while others wait,
    /// and what a single flow may have at least.
    pub(crate) fn share_with_low_latency(&mut self, rate: u64) {
        self.low_latency_rate = (rate / 16).max(URGENT_BYTES_PER_S);
    }

    /// Bytes waiting, low-latency ones included.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.low_latency_bytes
    }

    /// Packets waiting.
    pub(crate) fn packets(&self) -> u64 {
        self.packets + self.low_latency.len() as u64
    }

    /// How long the last packet taken from the head had waited.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0 && self.low_latency.is_empty()
    }

    /// Flows that have packets waiting.
    pub(crate) fn backlogged_flows(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// Totals since the start.
    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes in a packet of the device, of the flow with this `hash`; `store` keeps it. How it
    /// travels.
    pub(crate) fn push(
        &mut self,
        store: &mut Store,
        hash: u64,
        inner: &Inner,
        packet: DevicePacket<'_>,
        vnet: Vnet,
        now: Time,
    ) -> Result<Class, Full> {
        if self.flows.is_empty() {
            self.flows.resize_with(FLOWS, Flow::default);
        }
        self.counters.packets += 1;
        let len = store.bytes_of(packet).len() as u64;
        if self.bytes + len > self.limit_bytes {
            self.drop_from_fattest(store, OVERFLOW_BATCH, |_, _| true);
        }
        if !store.has_share(self.owner, len as usize) {
            self.drop_from_fattest(store, OVERFLOW_BATCH, |store, i| store.is_in_the_way(i, len as usize));
            if !store.has_share(self.owner, len as usize) {
                self.counters.overflow_drops += 1;
                return Err(Full);
            }
        }
        let segments = vnet.segments(len as usize) as u64;
        let limit = if self.grows { self.limit_segments.max(self.drain.most()) } else { self.limit_segments };
        while self.segments + segments > limit && self.drop_from_fattest(store, 1, |_, _| true) > 0 {}
        let packet = match store.insert(self.owner, packet, vnet, now) {
            Ok(r) => r,
            Err(full) => {
                self.counters.overflow_drops += 1;
                return Err(full);
            }
        };
        let id = (hash as usize % FLOWS) as u16;
        let flow = &mut self.flows[id as usize];
        let (budget, rate, others_wait) =
            (&mut self.low_latency_budget, self.low_latency_rate, self.packets > 0);
        let all_may = || budget.take(now, len, rate, LOW_LATENCY_QUEUE_BYTES) || !others_wait;
        let class = flow.classify(inner, len as u32, now, all_may);
        if class == Class::LowLatency && self.low_latency_bytes + len <= LOW_LATENCY_QUEUE_BYTES {
            let r = store.get_mut(packet);
            (r.flow, r.seq, r.queued) = (id | LOW_LATENCY, flow.next_low_latency_seq, true);
            flow.next_low_latency_seq = (flow.next_low_latency_seq + 1) & 0xff_ffff;
            self.low_latency.push_back(packet);
            self.urgent_non_acks += usize::from(!inner.is_bare_ack());
            self.low_latency_bytes += len;
            Ok(Class::LowLatency)
        } else {
            store.get_mut(packet).flow = id;
            flow.push(store, packet);
            self.bytes += len;
            self.packets += 1;
            self.segments += segments;
            if !flow.listed {
                (flow.listed, flow.deficit) = (true, QUANTUM);
                self.new.push_back(id);
            }
            Ok(Class::Ordered)
        }
    }

    /// The oldest packet of the low-latency class and its length, if any waits.
    pub(crate) fn peek_low_latency(&self, store: &Store) -> Option<u32> {
        self.low_latency.front().map(|&i| store.get(i).len)
    }

    /// No packet of the low-latency class waits but bare acknowledgements of TCP.
    pub(crate) fn has_only_acks(&self) -> bool {
        self.urgent_non_acks == 0
    }

    /// Takes the oldest packet of the low-latency class.
    pub(crate) fn take_low_latency(&mut self, store: &mut Store, now: Time) -> Option<Fragment> {
        let i = self.low_latency.pop_front()?;
        // Which they were is not kept: those that wait leave together.
        self.urgent_non_acks = if self.low_latency.is_empty() { 0 } else { self.urgent_non_acks };
        let r = store.get_mut(i);
        (r.queued, r.sent, r.first_sent) = (false, r.len, now);
        self.low_latency_bytes -= u64::from(r.len);
        Some(Fragment { packet: i, offset: 0, len: r.len, no_gap_before: false })
    }

    /// The next bytes for a path; `None` if no flow has any for a path like this one. `fit(packet, left)` says how many
    /// of the bytes left in a packet the datagram takes, 0 for none.
    pub(crate) fn take(
        &mut self,
        store: &mut Store,
        taker: Taker,
        fit: impl Fn(&StoredPacket, u32) -> u32,
        now: Time,
    ) -> Option<Fragment> {
        let share = taker.skip_bytes / self.backlogged_flows().max(1) as u64;
        // Each flow is met at most twice: once to renew its deficit, once to be served.
        let mut at = 0;
        for _ in 0..2 * self.backlogged_flows() + 2 {
            let from_new = at < self.new.len();
            let index = if from_new { at } else { at - self.new.len() };
            let list = if from_new { &mut self.new } else { &mut self.old };
            let &id = list.get(index)?;
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                list.remove(index);
                self.old.push_back(id);
                continue;
            }
            if flow.head == NIL {
                self.retire(from_new, index, id);
                continue;
            }
            if share > 0 && flow.bytes <= share {
                at += 1;
                continue;
            }
            if let Some(fragment) = self.take_from(store, id, share, &fit, now) {
                return Some(fragment);
            }
            at += 1;
        }
        None
    }

    /// RFC 8290 §4.2: an empty new flow passes through the old list once, so that it cannot jump the queue with each packet.
    fn retire(&mut self, from_new: bool, index: usize, id: u16) {
        if from_new {
            self.new.remove(index);
            self.old.push_back(id);
        } else {
            self.old.remove(index);
            self.flows[id as usize].listed = false;
        }
    }

    fn take_from(
        &mut self,
        store: &mut Store,
        id: u16,
        skip: u64,
        fit: &impl Fn(&StoredPacket, u32) -> u32,
        now: Time,
    ) -> Option<Fragment> {
        if skip == 0 {
            self.apply_codel(store, id, now);
        }
        let flow = &mut self.flows[id as usize];
        let i = find_after(store, flow.head, skip)?;
        let no_gap_before = i == flow.head;
        let r = store.get_mut(i);
        if no_gap_before && r.sent == 0 {
            self.waited = now.since(r.queued_at);
        }
        let len = if r.is_abandoned() { 0 } else { fit(r, r.unsent()) };
        if len == 0 && !r.is_abandoned() {
            return None;
        }
        flow.number_up_to(store, i);
        let r = store.get_mut(i);
        let fragment = Fragment { packet: i, offset: r.sent, len, no_gap_before };
        if r.sent == 0 {
            r.first_sent = now;
        }
        r.sent += len;
        let done = r.sent == r.len;
        flow.bytes -= u64::from(len);
        self.bytes -= u64::from(len);
        flow.deficit -= i64::from(len);
        if done {
            let r = store.get(i);
            let segments = if r.is_abandoned() { 0 } else { segments_of(r) };
            self.segments -= segments;
            self.drain.on_left(now, segments);
            flow.unlink(store, i);
            self.packets -= 1;
        }
        Some(fragment)
    }

    /// Drops or marks at the head of a flow as CoDel says.
    fn apply_codel(&mut self, store: &mut Store, id: u16, now: Time) {
        let mut i = self.flows[id as usize].head;
        while i != NIL {
            let flow = &mut self.flows[id as usize];
            let r = store.get(i);
            if r.is_abandoned() {
                i = r.next;
                continue;
            }
            if r.sent > 0 {
                return;
            }
            let little_left = flow.bytes <= u64::from(r.len).max(QUANTUM as u64);
            let (waited, next) = (now.since(r.queued_at), r.next);
            if !flow.codel.should_drop(now, waited, little_left, self.limits) {
                return;
            }
            if mark(self.layer, store, i) {
                self.counters.marks += 1;
                return;
            }
            self.counters.codel_drops += 1;
            self.drop_whole(store, id, i);
            i = next;
        }
    }

    /// RFC 8290 §4.1.4: makes room at the head of the flow with the most bytes, by at most `most` packets or half of it, and only by such
    /// as `helps` says. Returns how many.
    fn drop_from_fattest(
        &mut self,
        store: &mut Store,
        most: u32,
        helps: impl Fn(&Store, u32) -> bool,
    ) -> u32 {
        let Some(&id) = self.new.iter().chain(&self.old).max_by_key(|id| self.flows[**id as usize].bytes)
        else {
            return 0;
        };
        let flow = &self.flows[id as usize];
        let (half, mut dropped, mut seen, mut i) = (flow.bytes / 2, 0, 0, flow.head);
        let enough = flow.bytes.saturating_sub(OVERFLOW_BYTES).max(half);
        while i != NIL
            && dropped < most
            && seen < 2 * OVERFLOW_BATCH
            && self.flows[id as usize].bytes > enough
        {
            seen += 1;
            let (next, whole) = (store.get(i).next, store.get(i).sent == 0);
            if whole && !store.get(i).is_abandoned() && helps(store, i) {
                self.drop_whole(store, id, i);
                dropped += 1;
                self.counters.overflow_drops += 1;
            }
            i = next;
        }
        dropped
    }

    /// Drops packet `i`, of which nothing was sent. One that has a number stays, abandoned, since the peer must learn that it is not coming; of one that has
    /// none the peer need never hear. Most have none: under overload by UDP the notices took a seventh of a link at 11a (28.8 instead of 33.1 Mb/s).
    fn drop_whole(&mut self, store: &mut Store, id: u16, i: u32) {
        let flow = &mut self.flows[id as usize];
        let r = store.get(i);
        let len = u64::from(r.len);
        self.segments -= segments_of(r);
        flow.bytes -= len;
        self.bytes -= len;
        if r.seq == UNNUMBERED {
            flow.unlink(store, i);
            self.packets -= 1;
            store.reap(i);
        } else {
            store.abandon(i);
        }
    }

    /// Forgets everything that waits.
    pub(crate) fn clear(&mut self, store: &mut Store) {
        while let Some(i) = self.low_latency.pop_front() {
            store.get_mut(i).queued = false;
            store.reap(i);
        }
        self.urgent_non_acks = 0;
        for id in self.new.drain(..).chain(self.old.drain(..)) {
            let flow = &mut self.flows[id as usize];
            while flow.head != NIL {
                let i = flow.head;
                flow.unlink(store, i);
                store.reap(i);
            }
            (flow.bytes, flow.listed) = (0, false);
        }
        (self.bytes, self.packets, self.segments, self.low_latency_bytes) = (0, 0, 0, 0);
    }
}

fn segments_of(r: &StoredPacket) -> u64 {
    r.vnet.segments(r.len as usize) as u64
}

/// The first packet that begins `skip` unsent bytes or more behind the head.
fn find_after(store: &Store, head: u32, skip: u64) -> Option<u32> {
    let (mut i, mut before) = (head, 0u64);
    while i != NIL {
        if before >= skip {
            return Some(i);
        }
        let r = store.get(i);
        before += u64::from(r.unsent());
        i = r.next;
    }
    None
}

fn mark(layer: Layer, store: &mut Store, i: u32) -> bool {
    let Some(inner) = Inner::of(layer, store.packet(i)) else { return false };
    edit::mark_ce(store.packet_mut(i), &inner)
}

#[cfg(test)]
#[path = "ingress_tests.rs"]
mod tests;
