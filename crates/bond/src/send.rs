//! The walk of a packet out, from the device to the wire.
//!
//! ```text
//!  device ─▶ accept ─▶ Inner::parse ─▶ Ingress (FQ-CoDel, the only queue)
//!                                          │  urgent, lost and ordered bytes, in this order
//!            Scheduler::next ──grant──▶ batch ─▶ datagram ─▶ Writer (frames) ─▶ Sealer ─▶ Transmit (one GSO batch)
//!                                          │                     │
//!                                     Path::room            SentLog (until acknowledged or lost)
//! ```
//!
//! Nothing here allocates once the buffers have grown, and nothing locks. What is sent twice in advance is in [`copies`].

mod copies;

use crate::api::BATCH_BYTES;
use crate::inner::{Inner, edit};
use crate::path::State;
use crate::path::sent::ChunkRef;
use crate::peer::{Peer, Shared};
use crate::queue::Taker;
use crate::record::{Packet, URGENT};
use crate::schedule::{Grant, PathInfo};
use crate::time::{Duration, Time};
use crate::vnet::Vnet;
use crate::wire::{HEADER, Header, MAX_PATHS, PathStatus, Stamp, TAG, Writer};
use arrayvec::ArrayVec;

/// Records that share a datagram at most.
const CHUNKS: usize = 64;
/// A lost chunk goes out on the fastest path, or on one that is slower by no more than this.
const RESEND_SLACK_US: f64 = 5_000.0;
/// Urgent packets are not worth more than this many milliseconds of repair.
const URGENT_REPAIR: Duration = Duration::from_millis(250);
/// IPv4 and TCP headers, as MSS counts them (RFC 9293 §3.7.1); 20 more for IPv6.
const TCP_HEADERS: u16 = 40;

/// What a datagram may be filled with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Control,
    Urgent,
    Resend,
    Ordered(Grant),
}

/// Datagrams of equal length for one path, sealed at the beginning of the transmit buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// Position of the path in the session's list.
    pub path: usize,
    /// Bytes of all datagrams together.
    pub len: usize,
    /// Bytes of each datagram but the last, which may be shorter.
    pub segment: usize,
}

impl Batch {
    pub fn datagrams(self) -> u32 {
        self.len.div_ceil(self.segment.max(1)) as u32
    }
}

/// The frames of a datagram that refer to records.
type Chunks = ArrayVec<ChunkRef, CHUNKS>;

impl Peer {
    /// Takes a packet of the device into the queue. If it is too big for the peer's device, an ICMP error for its sender is in `shared.icmp_error`.
    pub(crate) fn accept(
        &mut self,
        shared: &mut Shared,
        inner: &Inner,
        packet: Packet<'_>,
        vnet: Vnet,
        now: Time,
    ) {
        self.last_data = now;
        let bytes = shared.store.bytes_of(packet);
        let vnet = vnet.measured(bytes);
        if vnet.gso_type == Vnet::GSO_NONE && bytes.len() > self.peer_mtu as usize + inner.network_at() {
            if inner.frame.is_some() {
                // A bridge tells nobody.
                shared.drops.too_long += 1;
                return;
            }
            let from = self.own_inside.iter().find(|a| a.is_ipv4() == inner.src.is_ipv4());
            let mtu = self.peer_mtu;
            if from
                .is_some_and(|a| crate::inner::icmp::too_big(bytes, inner, *a, mtu, &mut shared.icmp_error))
            {
                return;
            }
        }
        self.on_queue_changed();
        let _full_is_counted =
            self.ingress.push(&mut shared.store, &shared.flow_key, inner, packet, vnet, now);
    }

    /// The MSS that TCP through this bond should use.
    pub(crate) fn mss(&self, inner: &Inner, own_mtu: u16) -> u16 {
        let headers = if inner.src.is_ipv6() { TCP_HEADERS + 20 } else { TCP_HEADERS };
        self.peer_mtu.min(own_mtu).saturating_sub(headers)
    }

    /// The next batch to send, if any may leave now: it is built at the beginning of `tx`.
    pub(crate) fn poll_transmit(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        if !self.keys.may_seal(now) {
            return None;
        }
        self.update_infos(now);
        let sent = self
            .send_urgent(now, shared, tx)
            .or_else(|| self.send_again(now, shared, tx))
            .or_else(|| self.send_ordered(now, shared, tx))
            .or_else(|| self.send_copy(now, shared, tx))
            .or_else(|| self.send_control(now, shared, tx))
            .or_else(|| self.send_spare(now, shared, tx));
        if sent.is_none() {
            self.mark_app_limited();
        }
        sent
    }

    /// Urgent packets leave at once, whatever the window and the pacer say: they are few.
    fn send_urgent(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        let waits = self.ingress.peek_urgent(&shared.store).is_some();
        let info = if waits { self.scheduler.urgent(&self.infos) } else { None };
        let path = info.and_then(|i| self.index_of(self.infos[i].id));
        if let Some(b) = &mut self.backhaul {
            let Some(p) = path.map(|i| &self.paths[i]) else {
                b.no_urgent();
                return None;
            };
            if !b.may_send_urgent(now, p, self.ingress.has_only_acks(), &self.paths) {
                return None;
            }
        }
        let path = path?;
        self.batch(path, Fill::Urgent, now, shared, tx)
    }

    /// What was lost leaves before anything new.
    fn send_again(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        if self.resend.is_empty() {
            return None;
        }
        // A link on the clients' channel is idle while it is limited: nothing waits for it because of that.
        let key = |v: &PathInfo| (v.is_shared, v.one_way_us);
        let best = self.infos.iter().map(key).min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))?.1;
        let info = self.infos.iter().find(|v| v.has_room && v.one_way_us <= best + RESEND_SLACK_US)?;
        let path = self.index_of(info.id)?;
        let sent = self.batch(path, Fill::Resend, now, shared, tx)?;
        self.note_batch(now, sent);
        Some(sent)
    }

    fn send_ordered(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        // A redundant scheduler must not run ahead of the slowest copy.
        if !self.copies.is_empty() {
            return None;
        }
        if let Some(b) = &mut self.backhaul {
            if self.ingress.is_empty() {
                b.no_queued();
            } else if !b.may_send_queued(now, self.ingress.bytes(), &self.paths) {
                return None;
            }
        }
        while let Some(grant) = self.scheduler.next(&self.infos) {
            let path = self.index_of(self.infos[grant.path].id)?;
            let sent = if self.ingress.is_empty() {
                None
            } else {
                self.batch(path, Fill::Ordered(grant), now, shared, tx)
            };
            if let Some(sent) = sent {
                self.scheduler.on_sent(&self.infos, grant.path, sent.len as u64);
                self.note_batch(now, sent);
                return Some(sent);
            }
            let info = &mut self.infos[grant.path];
            info.nothing_to_send = true;
            self.nothing_to_send |= 1 << info.id;
        }
        None
    }

    /// Whoever has room and nothing to fill it with is limited by what there is to send: its rate samples are lower bounds. So is one that is not to
    /// carry data now.
    fn mark_app_limited(&mut self) {
        for p in &mut self.paths {
            let limited = match self.infos.iter().position(|v| v.id == p.id) {
                Some(i) => {
                    self.infos[i].has_room && (self.infos[i].nothing_to_send || self.ingress.is_empty())
                }
                None => true,
            };
            if limited {
                p.sampler.mark_app_limited(p.sent.inflight());
            }
        }
    }

    /// Acknowledgements, challenges and probes that found no data to ride on.
    fn send_control(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        for path in 0..self.paths.len() {
            if let Some(size) = self.probe_size(path, now) {
                return self.send_probe(path, size, now, tx);
            }
            if self.paths[path].may_speak() && self.wants_control(path, now) {
                return self.batch(path, Fill::Control, now, shared, tx);
            }
        }
        None
    }

    fn wants_control(&self, path: usize, now: Time) -> bool {
        let p = &self.paths[path];
        let is_due = |q: &usize| self.paths[*q].recv.due().is_some_and(|d| d <= now);
        (0..self.paths.len()).any(|q| is_due(&q) && self.ack_path(q, now) == path)
            || p.respond.is_some()
            || p.ping_due
            || p.status_due
            || p.close_due
            || self.backhaul.as_ref().is_some_and(|b| b.wants_turn(now, p))
            || self.challenge_due(path, now)
    }

    /// The path by which acknowledgements of `path` leave.
    fn ack_path(&self, path: usize, now: Time) -> usize {
        self.backhaul.as_ref().map_or(path, |b| b.ack_path(now, path, &self.paths))
    }

    pub(crate) fn challenge_due(&self, path: usize, now: Time) -> bool {
        let p = &self.paths[path];
        p.challenge.is_some_and(|(_, at)| at <= now)
    }

    fn probe_size(&mut self, path: usize, now: Time) -> Option<u16> {
        let p = &mut self.paths[path];
        if p.live.state != State::Active || !p.rtt.is_known() {
            return None;
        }
        let guard = p.rtt.smoothed() * 2;
        p.mtu.poll_probe(now, guard)
    }

    /// RFC 8899 §5: a padded PING that risks no data.
    fn send_probe(&mut self, path: usize, size: u16, now: Time, tx: &mut [u8]) -> Option<Batch> {
        let len = size as usize - self.paths[path].overhead();
        let (header, number) = self.header(path)?;
        let mut w = Writer::new(&mut tx[..len], header, Stamp::of(now));
        w.ping();
        w.pad_to(len);
        let end = w.len();
        let done = self.seal(path, number, &mut tx[..end + TAG], &[])?;
        self.account(path, now, done, true, &[], Some(size));
        Some(Batch { path, len: done, segment: done })
    }

    /// Builds datagrams of equal length for one path until the path's room, the grant or what there is to send ends.
    fn batch(
        &mut self,
        path: usize,
        fill: Fill,
        now: Time,
        shared: &mut Shared,
        tx: &mut [u8],
    ) -> Option<Batch> {
        let size = self.paths[path].datagram();
        let limit = match fill {
            Fill::Ordered(g) => g.datagrams,
            Fill::Resend => self.slots_of(path).min(8),
            _ => 1,
        };
        // Urgent packets and what a path must say wait for nothing; a batch of the others uses up the room that there is at its beginning.
        let bound = matches!(fill, Fill::Ordered(_) | Fill::Resend);
        let threshold = self.info_of(path).map_or(u32::MAX, |v| v.threshold);
        let room = if bound { self.paths[path].room(now) as usize } else { usize::MAX };
        let overhead = self.paths[path].overhead();
        let (mut at, mut segment) = (0, 0);
        for k in 0..limit {
            let used = at + (k + 1) * overhead + size;
            if at + size > BATCH_BYTES || used > room || (bound && self.paths[path].sent.is_full()) {
                break;
            }
            if let Some(b) = self.backhaul.as_mut().filter(|_| bound) {
                let p = &mut self.paths[path];
                p.ping_due |= b.asks(now, p, threshold);
            }
            let len = self.datagram(path, now, shared, &mut tx[at..], |peer, shared, w| {
                peer.fill(path, fill, now, shared, w)
            });
            let Some(len) = len else { break };
            at += len;
            if k == 0 {
                segment = len;
            }
            if len < segment || len < size {
                break;
            }
        }
        (at > 0).then_some(Batch { path, len: at, segment })
    }

    /// Builds, seals and accounts one datagram at the beginning of `tx`. `fill` writes the frames with data.
    fn datagram(
        &mut self,
        path: usize,
        now: Time,
        shared: &mut Shared,
        tx: &mut [u8],
        fill: impl FnOnce(&mut Peer, &mut Shared, &mut Writer<'_>) -> Chunks,
    ) -> Option<usize> {
        let size = self.paths[path].datagram();
        // Links count datagrams by their numbers.
        if self.backhaul.is_none() {
            self.paths[path].sent.skip_number(now, &mut shared.entropy);
        }
        let (header, number) = self.header(path)?;
        let mut w = Writer::new(&mut tx[..size], header, Stamp::of(now));
        let asked = self.put_control(path, now, shared.config.tun_mtu, &mut w);
        let chunks = fill(self, shared, &mut w);
        let (end, left_out) = (w.len(), w.left_out());
        if w.is_empty() {
            return None;
        }
        // The last chunk's data goes from the record to the datagram by being sealed.
        let tail = chunks.last().filter(|_| left_out > 0).map_or(&[][..], |c| chunk_data(shared, c));
        let len = self.seal(path, number, &mut tx[..end + TAG], tail)?;
        self.account(path, now, len, asked || !chunks.is_empty(), &chunks, None);
        Some(len)
    }

    /// A datagram of `len` bytes is about to leave.
    fn account(
        &mut self,
        path: usize,
        now: Time,
        len: usize,
        eliciting: bool,
        chunks: &[ChunkRef],
        probe: Option<u16>,
    ) {
        let p = &mut self.paths[path];
        let bytes = p.on_sent(now, len, eliciting, chunks, probe);
        if let Some(b) = &mut self.backhaul {
            b.on_sent(now, p, bytes);
        }
    }

    /// Datagrams of flows are about to leave.
    fn note_batch(&mut self, now: Time, sent: Batch) {
        if let Some(b) = &mut self.backhaul {
            b.on_batch(now, self.paths[sent.path].id, sent.datagrams());
        }
    }

    pub(crate) fn header(&self, path: usize) -> Option<(Header, u64)> {
        let p = &self.paths[path];
        let epoch = self.keys.current()?;
        let number = p.sent.next_number();
        Some((Header { path: p.id, index: epoch.remote.get(), number: number as u32 }, number))
    }

    pub(crate) fn seal(
        &mut self,
        path: usize,
        number: u64,
        datagram: &mut [u8],
        tail: &[u8],
    ) -> Option<usize> {
        let epoch = self.keys.sealing()?;
        let (head, body) = datagram.split_at_mut(HEADER);
        epoch.sealer.seal_with_tail(self.paths[path].id, number, head, body, tail).ok()?;
        epoch.on_sealed(body.len());
        Some(HEADER + body.len())
    }

    /// Writes what the path owes the peer, `mtu` of this end's device too. `true` if some of it asks for an acknowledgement.
    fn put_control(&mut self, path: usize, now: Time, mtu: u16, w: &mut Writer<'_>) -> bool {
        let mut asks = false;
        let due = self.challenge_due(path, now);
        let (seq, closing) = (self.status_seq, self.closing);
        let pending = |q: &usize| self.paths[*q].recv.may_ride(now);
        let owed: ArrayVec<usize, MAX_PATHS> = (0..self.paths.len())
            .filter(pending)
            .filter(|q| *q == path || self.ack_path(*q, now) == path)
            .collect();
        let p = &mut self.paths[path];
        let again = p.challenge_interval();
        if let Some(token) = p.respond.take() {
            w.response(token);
            asks = true;
        }
        if due && let Some((token, at)) = &mut p.challenge {
            w.challenge(*token);
            *at = now + again;
            asks = true;
        }
        if std::mem::take(&mut p.ping_due) {
            asks |= w.ping();
        }
        if std::mem::take(&mut p.status_due) {
            let state = p.class.code();
            p.status_at = Some(now);
            asks |= w.status(&PathStatus { path: p.id, seq, state, mtu });
        }
        if let Some(report) = self.backhaul.as_mut().and_then(|b| b.take_report(p)) {
            // The next one is as good if there is no room now.
            w.queue(&report);
        }
        if std::mem::take(&mut p.close_due) {
            w.close(closing.unwrap_or(0));
        }
        for q in owed {
            let q = &mut self.paths[q];
            if let Some(ack) = q.recv.acknowledge(q.id, now) {
                w.ack(&ack);
            }
        }
        asks
    }

    fn fill(
        &mut self,
        path: usize,
        fill: Fill,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
    ) -> Chunks {
        let mut chunks = Chunks::new();
        match fill {
            Fill::Control => {}
            Fill::Urgent => self.fill_urgent(path, now, shared, w, &mut chunks),
            Fill::Resend => self.fill_resend(now, shared, w, &mut chunks),
            Fill::Ordered(grant) => self.fill_ordered(path, grant, now, shared, w, &mut chunks),
        }
        chunks
    }

    fn fill_urgent(
        &mut self,
        path: usize,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        chunks: &mut Chunks,
    ) {
        while let Some(len) = self.ingress.peek_urgent(&shared.store) {
            let fit = w.chunk_fit(0, len, len, true);
            if fit < len || chunks.is_full() {
                break;
            }
            let Some(c) = self.ingress.take_urgent(&mut shared.store, now) else { break };
            let c = ChunkRef { record: c.record, offset: 0, len: c.len, copy: false };
            self.add(path, c, self.scheduler.copies_urgent(), shared, w, chunks);
            self.insure(path, c, now, shared);
        }
    }

    fn fill_resend(&mut self, now: Time, shared: &mut Shared, w: &mut Writer<'_>, chunks: &mut Chunks) {
        let patience = self.repair_time() + self.spread();
        while let Some(&c) = self.resend.front() {
            if chunks.is_full() {
                break;
            }
            let record = shared.store.get(c.record);
            let stale = c.len > 0 && record.is_void();
            let limit = if record.flow & URGENT != 0 { URGENT_REPAIR } else { patience };
            let late = c.len > 0 && !record.queued && now.since(record.first_sent) > limit;
            if stale || late {
                self.resend.pop_front();
                self.drop_chunk(c, shared);
                continue;
            }
            if !fits(w, shared, &c) {
                // A chunk cut for a path with a larger MTU than this one is cut again.
                if !w.is_empty() || !self.split_front(shared, w) {
                    break;
                }
                continue;
            }
            self.resend.pop_front();
            put(w, shared, &c);
            chunks.push(c);
            self.resent += 1;
        }
    }

    /// Cuts the first chunk in line so that its beginning fits an empty datagram.
    fn split_front(&mut self, shared: &mut Shared, w: &Writer<'_>) -> bool {
        let Some(c) = self.resend.front_mut() else { return false };
        let record = shared.store.get_mut(c.record);
        let fit = w.chunk_fit(c.offset, c.len, record.len, !record.vnet.is_plain());
        if fit == 0 || fit >= c.len {
            return false;
        }
        let rest = ChunkRef { offset: c.offset + fit, len: c.len - fit, ..*c };
        c.len = fit;
        record.refs += 1;
        let first = *c;
        self.resend.pop_front();
        self.resend.push_front(rest);
        self.resend.push_front(first);
        true
    }

    fn fill_ordered(
        &mut self,
        path: usize,
        grant: Grant,
        now: Time,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        chunks: &mut Chunks,
    ) {
        let taker = Taker { skip_bytes: grant.skip_bytes };
        while !chunks.is_full() && w.room() > 0 {
            let fit =
                |r: &crate::record::Record, left: u32| w.chunk_fit(r.sent, left, r.len, !r.vnet.is_plain());
            let Some(c) = self.ingress.take(&mut shared.store, taker, fit, now) else { break };
            let head = c.at_head;
            let c = ChunkRef { record: c.record, offset: c.offset, len: c.len, copy: false };
            if c.len == 0 && !w_has_void_room(w) {
                // No room for the notice: it goes with the next datagram.
                shared.store.get_mut(c.record).refs += 1;
                self.resend.push_back(c);
                break;
            }
            shared.store.get_mut(c.record).at_head = head;
            self.add(path, c, grant.copies, shared, w, chunks);
            self.insure(path, c, now, shared);
        }
    }

    /// Writes a chunk for the first time and asks for copies of it on the other paths if wanted.
    fn add(
        &mut self,
        path: usize,
        c: ChunkRef,
        copies: bool,
        shared: &mut Shared,
        w: &mut Writer<'_>,
        chunks: &mut Chunks,
    ) {
        let others = if copies { self.infos.len().saturating_sub(1) as u32 } else { 0 };
        shared.store.get_mut(c.record).refs += 1 + others;
        put(w, shared, &c);
        chunks.push(c);
        if copies {
            let own = self.paths[path].id;
            let copy = ChunkRef { copy: true, ..c };
            self.copies.extend(self.infos.iter().filter(|v| v.id != own).map(|v| (v.id, copy)));
        }
    }

    /// How many datagrams the path's link takes, as the scheduler was told.
    fn slots_of(&self, path: usize) -> usize {
        self.info_of(path).map_or(usize::MAX, |v| v.slots as usize)
    }

    fn info_of(&self, path: usize) -> Option<&PathInfo> {
        let id = self.paths[path].id;
        self.infos.iter().find(|v| v.id == id)
    }

    pub(crate) fn index_of(&self, id: u8) -> Option<usize> {
        self.paths.iter().position(|p| p.id == id)
    }
}

fn w_has_void_room(w: &Writer<'_>) -> bool {
    w.room() >= 7
}

/// Whether a chunk fits the datagram as it is.
fn fits(w: &Writer<'_>, shared: &Shared, c: &ChunkRef) -> bool {
    if c.len == 0 {
        return w_has_void_room(w);
    }
    let r = shared.store.get(c.record);
    w.chunk_fit(c.offset, c.len, r.len, !r.vnet.is_plain()) == c.len
}

/// Writes a chunk, or the notice that its record is void.
fn put(w: &mut Writer<'_>, shared: &Shared, c: &ChunkRef) -> bool {
    let r = shared.store.get(c.record);
    if c.len == 0 || r.is_void() {
        return w.void(r.flow, r.seq, r.at_head);
    }
    w.chunk_to_seal(r.flow, r.seq, c.offset, r.len, &r.vnet, r.at_head, chunk_data(shared, c));
    true
}

fn chunk_data<'a>(shared: &'a Shared, c: &ChunkRef) -> &'a [u8] {
    &shared.store.packet(c.record)[c.offset as usize..(c.offset + c.len) as usize]
}

/// Lowers the MSS of a SYN to what the bond carries; `packet` is a copy that may be changed.
pub(crate) fn clamp(packet: &mut [u8], inner: &Inner, mss: u16, vnet: Vnet) {
    edit::clamp_mss(packet, inner, mss, vnet.flags & Vnet::NEEDS_CSUM != 0);
}
