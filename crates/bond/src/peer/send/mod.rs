//! The walk of a packet out, from the device to the wire.
//!
//! ```text
//!  device ─▶ accept ─▶ Inner::parse ─▶ Ingress (FQ-CoDel, the only queue)
//!                                          │  low-latency, lost and ordered bytes, in this order
//!            Scheduler::next ──allocation──▶ batch ─▶ datagram ─▶ Writer (frames) ─▶ Sealer ─▶ Transmit (one GSO batch)
//!                                          │                     │
//!                                     Path::room            SentLog (until acknowledged or lost)
//! ```
//!
//! Nothing here allocates once the buffers have grown, and nothing locks. What waits is in [`side`], the frames of a datagram are written in
//! [`fill`], and what is sent twice in advance is in [`copies`].

mod copies;
mod fill;
mod side;

use super::paths::PathSet;
use super::{Peer, Shared};
use crate::api::BATCH_BYTES;
use crate::flows::Packet;
use crate::inner::{Inner, edit};
use crate::path::pmtu::BASE;
use crate::path::sent::FragmentRef;
use crate::path::{Class, Path, PathId, State};
use crate::queue;
use crate::schedule::{Allocation, PathInfo};
use crate::store::DevicePacket;
use crate::vnet::Vnet;
use crate::wire::{HEADER, Header, MAX_PATHS, PathStatus, TAG, Timestamp, Writer};
use arrayvec::ArrayVec;
use fill::fragment_data;
use ropewalk_time::Time;
pub(crate) use side::SendSide;

/// Packets that share a datagram at most.
const FRAGMENTS: usize = 64;
/// A lost fragment goes out on the fastest path, or on one that is slower by no more than this.
const RESEND_SLACK_US: f64 = 5_000.0;
/// A path is faster than another if its delay is shorter by this, microseconds: delays are noisy.
const FASTEST_MARGIN_US: f64 = 2_000.0;
/// IPv4 and TCP headers, as MSS counts them (RFC 9293 §3.7.1); 20 more for IPv6.
const TCP_HEADERS: u16 = 40;

/// What a datagram may be filled with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Control,
    LowLatency,
    Resend,
    Ordered(Allocation),
}

/// Datagrams of equal length for one path, sealed at the beginning of the transmit buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// The path.
    pub path: PathId,
    /// Bytes of all datagrams together.
    pub len: usize,
    /// Bytes of each datagram but the last, which may be shorter.
    pub segment: usize,
}

impl Batch {
    pub(crate) fn datagrams(self) -> u32 {
        self.len.div_ceil(self.segment.max(1)) as u32
    }
}

/// The frames of a datagram that refer to packets.
type Fragments = ArrayVec<FragmentRef, FRAGMENTS>;

impl Peer {
    /// Takes a packet of the device into the queue. If it is too big for the peer's device, an ICMP error for its sender is in `shared.icmp_error`.
    pub(crate) fn accept(
        &mut self,
        shared: &mut Shared,
        inner: &Inner,
        packet: DevicePacket<'_>,
        vnet: Vnet,
        now: Time,
    ) {
        self.last_data = now;
        let bytes = shared.store.bytes_of(packet);
        let vnet = vnet.measured(bytes);
        if vnet.gso_type == Vnet::GSO_NONE
            && bytes.len() > self.inside.peer_mtu() as usize + inner.network_at()
        {
            if inner.frame.is_some() {
                // A bridge tells nobody.
                shared.drops.too_long += 1;
                return;
            }
            let from = self.inside.own().iter().find(|a| a.is_ipv4() == inner.src.is_ipv4());
            let mtu = self.inside.peer_mtu();
            if from
                .is_some_and(|a| crate::inner::icmp::too_big(bytes, inner, *a, mtu, &mut shared.icmp_error))
            {
                return;
            }
        }
        let bytes = bytes.len() as u32;
        self.on_queue_changed();
        let hash = inner.flow_hash(&shared.flow_key);
        // What does not fit is counted there.
        if let Ok(class) = self.send.queue.push(&mut shared.store, hash, inner, packet, vnet, now) {
            let counted = Packet { bytes, low_latency: class == queue::Class::LowLatency };
            shared.flows.on_sent(&self.key, hash, inner, counted, now);
        }
    }

    /// Paths that carry data now. Backups, and those that flap, do only where nothing better works.
    pub(in crate::peer) fn taking_part(&self, now: Time) -> ArrayVec<PathId, MAX_PATHS> {
        let is_away = |p: &Path| self.backhaul.as_ref().is_some_and(|b| b.is_away(p.id));
        let rank = |p: &Path| (p.live.is_damped(now), is_away(p) || p.class == Class::Backup);
        let best = self.paths.iter().filter(|p| p.is_usable()).map(rank).min();
        self.paths.iter().filter(|p| p.is_usable() && Some(rank(p)) == best).map(|p| p.id).collect()
    }

    /// Fills `infos` with the paths that may carry data now: of those that work, the ones that nothing is held against. A backup is the
    /// next best, a path that flaps the last.
    fn update_infos(&mut self, now: Time) {
        let taking_part = self.taking_part(now);
        let Peer { send, paths, backhaul, airtime, .. } = self;
        send.infos.clear();
        let unlimited =
            backhaul.as_ref().is_some_and(|b| b.is_unlimited(taking_part.iter().map(|id| &paths[*id])));
        let fastest = fastest_of(paths, &taking_part, now);
        for id in taking_part {
            let weight = paths.weight(id);
            let p = &mut paths[id];
            p.is_fastest = Some(id) == fastest;
            let mut info = p.info(now, weight);
            info.nothing_to_send = send.nothing_to_send & id.bit() != 0;
            if let Some(b) = backhaul {
                b.adjust(now, p, unlimited, &mut info);
            }
            send.infos.push(info);
        }
        if let Some(airtime) = airtime.as_mut().filter(|_| send.scheduler.heeds_air()) {
            airtime.apply(now, paths.as_slice(), send.queue.is_empty(), &mut send.infos);
        }
    }

    /// The MSS that TCP through this bond should use.
    pub(crate) fn mss(&self, inner: &Inner, own_mtu: u16) -> u16 {
        let headers = if inner.src.is_ipv6() { TCP_HEADERS + 20 } else { TCP_HEADERS };
        self.inside.peer_mtu().min(own_mtu).saturating_sub(headers)
    }

    /// The next batch to send, if any may leave now: it is built at the beginning of `tx`.
    pub(crate) fn poll_transmit(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        if !self.session.keys.may_seal(now) {
            return None;
        }
        self.update_infos(now);
        let sent = self
            .send_low_latency(now, shared, tx)
            .or_else(|| self.send_again(now, shared, tx))
            .or_else(|| self.send_ordered(now, shared, tx))
            .or_else(|| self.send_redundant_duplicate(now, shared, tx))
            .or_else(|| self.send_control(now, shared, tx))
            .or_else(|| self.send_opportunistic_duplicate(now, shared, tx));
        if sent.is_none() {
            self.mark_app_limited();
        }
        sent
    }

    /// Packets of the low-latency class leave at once, whatever the window and the pacer say: they are few.
    fn send_low_latency(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        let waits = self.send.queue.peek_low_latency(&shared.store).is_some();
        let info = if waits { self.send.scheduler.low_latency(&self.send.infos) } else { None };
        let path = info.map(|i| self.send.infos[i].id);
        if let Some(b) = &mut self.backhaul {
            let Some(p) = path.map(|id| &self.paths[id]) else {
                b.no_low_latency();
                return None;
            };
            if !b.may_send_low_latency(now, p, self.send.queue.has_only_acks(), self.paths.as_slice()) {
                return None;
            }
        }
        let path = path?;
        self.batch(path, Fill::LowLatency, now, shared, tx)
    }

    /// What was lost leaves before anything new.
    fn send_again(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        if self.send.to_retransmit.is_empty() {
            return None;
        }
        // A link on the clients' channel is idle while it is limited: nothing waits for it because of that.
        let key = |v: &PathInfo| (v.is_shared, v.one_way_us);
        let best = self.send.infos.iter().map(key).min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))?.1;
        let info = self.send.infos.iter().find(|v| v.has_room && v.one_way_us <= best + RESEND_SLACK_US)?;
        let path = info.id;
        let sent = self.batch(path, Fill::Resend, now, shared, tx)?;
        self.note_batch(now, sent);
        Some(sent)
    }

    fn send_ordered(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        // A redundant scheduler must not run ahead of the slowest copy.
        if !self.send.duplicates.is_empty() {
            return None;
        }
        if let Some(b) = &mut self.backhaul {
            if self.send.queue.is_empty() {
                b.no_queued();
            } else if !b.may_send_queued(now, self.send.queue.bytes(), self.paths.as_slice()) {
                return None;
            }
        }
        while let Some(allocation) = self.send.scheduler.next(&self.send.infos) {
            let path = self.send.infos[allocation.path].id;
            let sent = if self.send.queue.is_empty() {
                None
            } else {
                self.batch(path, Fill::Ordered(allocation), now, shared, tx)
            };
            if let Some(sent) = sent {
                self.send.scheduler.on_sent(&self.send.infos, allocation.path, sent.len as u64);
                self.note_batch(now, sent);
                return Some(sent);
            }
            let info = &mut self.send.infos[allocation.path];
            info.nothing_to_send = true;
            self.send.nothing_to_send |= info.id.bit();
        }
        None
    }

    /// Whoever has room and nothing to fill it with is limited by what there is to send: its rate samples are lower bounds. So is one that is not to
    /// carry data now.
    fn mark_app_limited(&mut self) {
        let send = &self.send;
        for p in self.paths.iter_mut() {
            let limited =
                send.info(p.id).is_none_or(|v| v.has_room && (v.nothing_to_send || send.queue.is_empty()));
            if limited {
                p.sampler.mark_app_limited(p.sent.inflight());
            }
        }
    }

    /// Acknowledgements, challenges and probes that found no data to ride on.
    fn send_control(&mut self, now: Time, shared: &mut Shared, tx: &mut [u8]) -> Option<Batch> {
        for path in self.paths.ids() {
            if let Some(size) = self.probe_size(path, now) {
                return self.send_probe(path, size, now, tx);
            }
            if self.paths[path].may_speak() && self.wants_control(path, now) {
                return self.batch(path, Fill::Control, now, shared, tx);
            }
        }
        None
    }

    fn wants_control(&self, path: PathId, now: Time) -> bool {
        let p = &self.paths[path];
        let is_due = |q: &Path| q.recv.due().is_some_and(|d| d <= now);
        self.paths.iter().any(|q| is_due(q) && self.ack_path(q.id, now) == path)
            || p.address.respond.is_some()
            || p.control.ping_due
            || p.control.status_due
            || p.control.close_due
            || self.backhaul.as_ref().is_some_and(|b| b.wants_turn(now, p))
            || self.air_due(now).is_some_and(|at| at <= now && p.live.state == State::Active)
            || self.challenge_due(path, now)
    }

    /// When the gateway is to be told of the air under the paths, though nothing else leaves.
    pub(in crate::peer) fn air_due(&self, now: Time) -> Option<Time> {
        let told = self.airtime.as_ref().filter(|_| self.is_client && self.session.reads_air())?;
        // Without a path that takes it the timer would come at once, again and again.
        self.paths.iter().find(|p| p.live.state == State::Active && p.may_speak())?;
        told.next_frame(self.is_flowing(now))
    }

    /// The path by which acknowledgements of `path` leave.
    fn ack_path(&self, path: PathId, now: Time) -> PathId {
        self.backhaul.as_ref().map_or(path, |b| b.ack_path(now, path, self.paths.as_slice()))
    }

    pub(crate) fn challenge_due(&self, path: PathId, now: Time) -> bool {
        let p = &self.paths[path];
        p.address.challenge.is_some_and(|(_, at)| at <= now)
    }

    fn probe_size(&mut self, path: PathId, now: Time) -> Option<u16> {
        let rests = self.rests(&self.paths[path]);
        let p = &mut self.paths[path];
        if rests || p.live.state != State::Active || !p.rtt.is_known() {
            return None;
        }
        let guard = p.rtt.smoothed() * 2;
        p.mtu.poll_probe(now, guard)
    }

    /// RFC 8899 §5: a padded PING that risks no data.
    fn send_probe(&mut self, path: PathId, size: u16, now: Time, tx: &mut [u8]) -> Option<Batch> {
        let len = size as usize - self.paths[path].overhead();
        let (header, number) = self.header(path, now)?;
        let mut w = Writer::new(&mut tx[..len], header, Timestamp::of(now));
        w.ping();
        w.pad_to(len);
        let end = w.len();
        let done = self.seal(path, number, &mut tx[..end + TAG], &[])?;
        self.account(path, now, done, true, &[], Some(size));
        // What follows is answered where this is swallowed, so that the path is not taken for
        // silent.
        self.paths[path].control.ping_due |= size <= BASE;
        Some(Batch { path, len: done, segment: done })
    }

    /// Builds datagrams of equal length for one path until the path's room, the allocation or what there is to send ends.
    fn batch(
        &mut self,
        path: PathId,
        fill: Fill,
        now: Time,
        shared: &mut Shared,
        tx: &mut [u8],
    ) -> Option<Batch> {
        let size = self.paths[path].datagram();
        let limit = match fill {
            Fill::Ordered(g) => g.datagrams.min(self.air_of(path)),
            Fill::Resend => self.slots_of(path).min(8).min(self.air_of(path)),
            _ => 1,
        };
        // Packets of the low-latency class and what a path must say wait for nothing; a batch of the others uses up the room that there is at its beginning.
        let bound = matches!(fill, Fill::Ordered(_) | Fill::Resend);
        let threshold = self.send.info(path).map_or(u32::MAX, |v| v.threshold);
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
                p.control.ping_due |= b.asks(now, p, threshold);
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
        path: PathId,
        now: Time,
        shared: &mut Shared,
        tx: &mut [u8],
        fill: impl FnOnce(&mut Peer, &mut Shared, &mut Writer<'_>) -> Fragments,
    ) -> Option<usize> {
        let size = self.paths[path].datagram();
        // Links count datagrams by their numbers.
        if self.backhaul.is_none() {
            self.paths[path].sent.skip_number(now, &mut shared.entropy);
        }
        let (header, number) = self.header(path, now)?;
        let mut w = Writer::new(&mut tx[..size], header, Timestamp::of(now));
        let asked = self.put_control(path, now, shared.config.tun_mtu, &mut w);
        let fragments = fill(self, shared, &mut w);
        let (end, left_out) = (w.len(), w.left_out());
        if w.is_empty() {
            return None;
        }
        // The last fragment's data goes from the packet to the datagram by being sealed.
        let tail = fragments.last().filter(|_| left_out > 0).map_or(&[][..], |c| fragment_data(shared, c));
        let len = self.seal(path, number, &mut tx[..end + TAG], tail)?;
        self.account(path, now, len, asked || !fragments.is_empty(), &fragments, None);
        Some(len)
    }

    /// A datagram of `len` bytes is about to leave.
    fn account(
        &mut self,
        path: PathId,
        now: Time,
        len: usize,
        eliciting: bool,
        fragments: &[FragmentRef],
        probe: Option<u16>,
    ) {
        let p = &mut self.paths[path];
        let bytes = p.on_sent(now, len, eliciting, fragments, probe);
        if let Some(b) = &mut self.backhaul {
            b.on_sent(now, p, bytes);
        }
        if let Some(airtime) = &mut self.airtime {
            airtime.on_sent(path, bytes);
        }
    }

    /// Datagrams of flows are about to leave.
    fn note_batch(&mut self, now: Time, sent: Batch) {
        if let Some(b) = &mut self.backhaul {
            b.on_batch(now, sent.path, sent.datagrams());
        }
    }

    /// The next datagram's header and number; none where the keys may seal no more.
    pub(crate) fn header(&self, path: PathId, now: Time) -> Option<(Header, u64)> {
        let p = &self.paths[path];
        // Each datagram of a batch asks: the peer opens nothing beyond the limit.
        let epoch = self.session.keys.current().filter(|_| self.session.keys.may_seal(now))?;
        let number = p.sent.next_number();
        Some((Header { path: p.id.get(), index: epoch.remote.get(), number: number as u32 }, number))
    }

    pub(crate) fn seal(
        &mut self,
        path: PathId,
        number: u64,
        datagram: &mut [u8],
        tail: &[u8],
    ) -> Option<usize> {
        let epoch = self.session.keys.sealing()?;
        let (head, body) = datagram.split_at_mut(HEADER);
        epoch.sealer.seal_with_tail(path.get(), number, head, body, tail).ok()?;
        epoch.on_sealed(body.len());
        Some(HEADER + body.len())
    }

    /// Writes what the path owes the peer, `mtu` of this end's device too. `true` if some of it asks for an acknowledgement.
    fn put_control(&mut self, path: PathId, now: Time, mtu: u16, w: &mut Writer<'_>) -> bool {
        let mut asks = false;
        let due = self.challenge_due(path, now);
        let (seq, closing) = (self.paths.status_seq(), self.session.closing());
        let pending = self.paths.iter().filter(|q| q.recv.may_ride(now)).map(|q| q.id);
        let owed: ArrayVec<PathId, MAX_PATHS> =
            pending.filter(|q| *q == path || self.ack_path(*q, now) == path).collect();
        let p = &mut self.paths[path];
        let again = p.challenge_interval();
        if let Some(token) = p.address.respond.take() {
            w.response(token);
            asks = true;
        }
        if due && let Some((token, at)) = &mut p.address.challenge {
            w.challenge(*token);
            *at = now + again;
            asks = true;
        }
        if std::mem::take(&mut p.control.ping_due) {
            asks |= w.ping();
        }
        if std::mem::take(&mut p.control.status_due) {
            let state = p.class.code();
            p.control.status_at = Some(now);
            asks |= w.status(&PathStatus { path: p.id.get(), seq, state, mtu });
        }
        if let Some(report) = self.backhaul.as_mut().and_then(|b| b.take_report(p)) {
            // The next one is as good if there is no room now.
            w.queue(&report);
        }
        let reads_air = self.is_client && self.session.reads_air() && p.live.state == State::Active;
        if let Some(airtime) = self.airtime.as_mut().filter(|a| reads_air && a.rides(now))
            && w.air(&airtime.frame(now))
        {
            airtime.on_said(now);
        }
        if std::mem::take(&mut p.control.close_due) {
            w.close(closing.unwrap_or(0));
        }
        for q in owed {
            let q = &mut self.paths[q];
            if let Some(ack) = q.recv.acknowledge(q.id.get(), now) {
                w.ack(&ack);
            }
        }
        asks
    }

    /// How many datagrams the air of the path's channel has room for.
    fn air_of(&self, path: PathId) -> usize {
        self.airtime.as_ref().map_or(usize::MAX, |a| a.datagrams(path))
    }

    /// How many datagrams the path's link takes, as the scheduler was told.
    fn slots_of(&self, path: PathId) -> usize {
        self.send.info(path).map_or(usize::MAX, |v| v.slots as usize)
    }
}

/// Of these paths the one with the least delay; the one of before, if it is hardly slower.
fn fastest_of(paths: &PathSet, ids: &[PathId], now: Time) -> Option<PathId> {
    let delay = |id: &PathId| paths[*id].one_way_us(now);
    let least = ids.iter().copied().min_by(|a, b| delay(a).total_cmp(&delay(b)))?;
    let before = ids.iter().copied().find(|id| paths[*id].is_fastest);
    Some(before.filter(|id| delay(id) <= delay(&least) + FASTEST_MARGIN_US).unwrap_or(least))
}

/// Lowers the MSS of a SYN to what the bond carries; `packet` is a copy that may be changed.
pub(crate) fn clamp(packet: &mut [u8], inner: &Inner, mss: u16, vnet: Vnet) {
    edit::clamp_mss(packet, inner, mss, vnet.flags & Vnet::NEEDS_CSUM != 0);
}
