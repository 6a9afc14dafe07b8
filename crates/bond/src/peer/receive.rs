//! The walk of a packet in, from the wire to the device.
//!
//! ```text
//!  Datagrams (one GRO batch) ─▶ Header::decode ─▶ Keyring::opener ─▶ replay check ─▶ open ─▶ replay commit
//!                                                     (most data: straight into their packet, `crate::in_place`)
//!                                                                                      │
//!        RecvLog (what to acknowledge) ◀── Frames ─▶ Ack ─▶ SentLog ─▶ lost: resend    │
//!                                            │                                         ▼
//!                                            └─▶ Data ─▶ Reassembly (order per flow) ─▶ inspect ─▶ Deliver
//! ```

use super::{Peer, Shared, send};
use crate::api::PathSpec;
use crate::config::Config;
use crate::flows::Packet;
use crate::in_place::{DatagramOpener, Opened};
use crate::inner::Inner;
use crate::order::{Delivery, Reassembly};
use crate::path::sent::{AckCheck, Largest};
use crate::path::{Class, PathId, Route, State};
use crate::pool::Pool;
use crate::wire::{AckFrame, AirFrame, Frame, Frames, Header, PathStatus, TIMESTAMP, Timestamp};
use rand::Rng;
use ropewalk_session::Index;
use ropewalk_time::{Duration, Time};

/// Interface MTU that a gateway assumes of a path; the search finds what really passes.
const GATEWAY_INTERFACE_MTU: u16 = 1500;
/// How often packets are looked for that nobody completes.
const SWEEP: Duration = Duration::from_secs(1);

/// What became of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It was authentic and new.
    Fresh,
    /// It was dropped, and counted.
    Dropped,
    /// It was sealed with keys that had only been offered: they are in force now. Indices may have
    /// fallen out of use.
    Confirmed,
    /// The peer ended the session, with this code.
    Closed(u8),
    /// The peer acknowledged what it cannot have received.
    Cheated,
}

fn index_of(header: Header) -> Index {
    Index::new(header.index).unwrap_or_default()
}

/// Where a datagram came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub route: Route,
    pub ce: bool,
}

/// The order of what arrives.
#[derive(Debug)]
pub(crate) struct ReceiveSide {
    order: Reassembly,
    /// When its gaps are to be looked at.
    due: Option<Time>,
    /// When packets that nobody completes were last looked for.
    swept: Time,
}

impl ReceiveSide {
    pub(super) fn new(config: &Config, now: Time) -> ReceiveSide {
        let order = if config.ordered { Reassembly::default() } else { Reassembly::unordered() };
        ReceiveSide { order, due: None, swept: now }
    }

    pub(crate) fn order(&self) -> &Reassembly {
        &self.order
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due.is_none_or(|t| t <= now)
    }

    pub(super) fn is_sweep_due(&self, now: Time) -> bool {
        now.since(self.swept) >= SWEEP
    }

    pub(super) fn clear(&mut self, pool: &mut Pool) {
        self.order.clear(pool);
    }
}

impl Peer {
    /// Opens and handles one data datagram.
    pub(crate) fn on_datagram(
        &mut self,
        header: Header,
        datagram: &mut [u8],
        from: Origin,
        now: Time,
        shared: &mut Shared,
    ) -> Heard {
        let Some(id) = PathId::new(header.path) else { return Heard::Dropped };
        let is_known = self.paths.get(id).is_some();
        let window = self.paths.replay_of(id);
        let number = window.map_or(u64::from(header.number), |w| w.expand(header.number));
        if window.is_some_and(|w| w.check(number).is_err()) {
            shared.drops.replayed += 1;
            if is_known {
                self.on_copy(id, (header, number), datagram, from.route, now, shared);
            }
            return Heard::Dropped;
        }
        let len = datagram.len();
        let Some((opened, offered)) = self.open(header, number, datagram, now, shared) else {
            return Heard::Dropped;
        };
        if !is_known && !self.accept_path(id, from.route, shared) {
            return Heard::Dropped;
        }
        let path = id;
        if offered {
            self.session.confirm(index_of(header), now);
        }
        let newest = self.paths[path].replay.highest().is_none_or(|h| number > h);
        // Checked above; a second datagram of the same number cannot have come in between.
        let _ = self.paths[path].replay.commit(number);
        if newest {
            self.follow_address(path, from.route, len, now, shared);
        }
        self.session.on_heard(now);
        let timestamp = match &opened {
            Opened::Here(plain) => Timestamp::from_bytes([plain[0], plain[1], plain[2]]),
            Opened::InPlace(c, ..) => c.timestamp,
        };
        self.paths[path].on_received(now, len, newest.then_some(timestamp), from.route);
        let (first, rtt) = (shared.deliveries.len(), self.paths[path].rtt.smoothed());
        let (eliciting, end) = match &opened {
            Opened::Here(plain) => self.on_frames(path, timestamp, &plain[TIMESTAMP..], now, shared),
            Opened::InPlace(c, target, len) => {
                let before = c.no_gap_before.then_some(c.timestamp);
                self.receive.order.on_in_place(target, *len, before, now, &mut shared.deliveries);
                self.last_data = now;
                (true, None)
            }
        };
        self.paths[path].recv.on_packet(number, now, eliciting, from.ce, rtt);
        self.inspect(first, now, shared);
        end.unwrap_or(if offered { Heard::Confirmed } else { Heard::Fresh })
    }

    /// Opens a datagram with the keys that its index names; and whether they were only offered so
    /// far.
    fn open<'d>(
        &mut self,
        header: Header,
        number: u64,
        datagram: &'d mut [u8],
        now: Time,
        shared: &mut Shared,
    ) -> Option<(Opened<'d>, bool)> {
        let Some((epoch, offered)) = self.session.keys.opening(index_of(header), now) else {
            shared.drops.unknown += 1;
            return None;
        };
        let len = datagram.len();
        let opener = DatagramOpener { key: &epoch.opener, path: header.path, number };
        let target = self.receive.order.in_place_target();
        let opened = opener.open(datagram, target, &mut shared.store.pool);
        epoch.on_arrived(len, opened.is_ok());
        if opened.is_err() {
            shared.drops.forged += 1;
        }
        opened.ok().map(|opened| (opened, offered))
    }

    /// A gateway learns a client's further path.
    fn accept_path(&mut self, id: PathId, route: Route, shared: &mut Shared) -> bool {
        if self.is_client {
            // A path that this end has taken away.
            shared.drops.unknown += 1;
            return false;
        }
        let spec = PathSpec { route, interface_mtu: GATEWAY_INTERFACE_MTU, class: Class::Active, weight: 1 };
        self.insert_path(id, spec, &shared.config);
        self.challenge_path(id, shared);
        true
    }

    pub(crate) fn challenge_path(&mut self, path: PathId, shared: &mut Shared) {
        self.paths[path].address.challenge = Some((shared.entropy.random(), Time::ZERO));
    }

    /// Whether one of them asks for an acknowledgement, and how the session ends, if it does.
    fn on_frames(
        &mut self,
        path: PathId,
        timestamp: Timestamp,
        bytes: &[u8],
        now: Time,
        shared: &mut Shared,
    ) -> (bool, Option<Heard>) {
        let (mut eliciting, mut end) = (false, None);
        for frame in Frames::new(bytes) {
            let Ok(frame) = frame else {
                shared.drops.malformed += 1;
                break;
            };
            eliciting |= !matches!(frame, Frame::Ack(_) | Frame::Close(_) | Frame::Queue(_) | Frame::Air(_));
            match frame {
                Frame::Ping => self.paths[path].recv.on_asked(),
                Frame::Ack(ack) => end = self.on_ack(&ack, now, shared).or(end),
                Frame::Challenge(token) => self.paths[path].address.respond = Some(token),
                Frame::Response(token) => self.on_response(path, token, now, shared),
                Frame::Status(s) => self.on_status(&s),
                Frame::Queue(report) => {
                    if let Some(b) = &mut self.backhaul {
                        b.on_report(now, &report);
                        self.on_queue_changed();
                    }
                }
                Frame::Air(air) => self.on_air(&air, now),
                Frame::Close(code) => end = Some(Heard::Closed(code)),
                Frame::Skip { flow, seq, no_gap_before } => {
                    let before = no_gap_before.then_some(timestamp);
                    self.receive.order.on_skip(
                        &mut shared.store.pool,
                        (flow, seq),
                        before,
                        now,
                        &mut shared.deliveries,
                    );
                }
                Frame::Data(c) => {
                    self.receive.order.on_fragment(
                        &mut shared.store.pool,
                        &c,
                        timestamp,
                        now,
                        &mut shared.deliveries,
                    );
                    self.last_data = now;
                }
            }
        }
        (eliciting, end)
    }

    fn on_ack(&mut self, ack: &AckFrame, now: Time, shared: &mut Shared) -> Option<Heard> {
        let id = PathId::new(ack.path).filter(|id| self.paths.get(*id).is_some())?;
        let mut out = std::mem::take(&mut shared.outcome);
        let check = self.paths.on_ack(id, now, ack, &mut out);
        let p = &mut self.paths[id];
        if check != AckCheck::Taken {
            shared.drops.malformed += 1;
            shared.outcome = out;
            return (check == AckCheck::Invented).then_some(Heard::Cheated);
        }
        if let (Some(b), Some(Largest { number, .. })) = (&mut self.backhaul, out.largest) {
            b.on_acked(now, p, number);
        }
        // Where a link's completions say what it has taken, lateness is in `owed_since` already.
        if out.spurious > 0 && self.backhaul.is_none() {
            p.live.on_late_answer(now);
        }
        if (!out.acked.is_empty() || out.spurious > 0) && p.live.on_progress(now) {
            self.emit_event(id, now, shared);
            self.on_queue_changed();
        }
        // Which path is the fastest may have changed since one declined as a slow one; a busy one is asked by its next acknowledgement.
        if self.paths[id].sent.inflight() == 0 {
            self.on_queue_changed();
        }
        for c in &out.arrived {
            shared.store.release(c.packet);
        }
        self.send.retransmit(&out.to_retransmit, now, shared);
        shared.outcome = out;
        None
    }

    fn on_status(&mut self, s: &PathStatus) {
        let Some(class) = Class::from_code(s.state).filter(|_| !self.is_client) else { return };
        let Some(p) = PathId::new(s.path).and_then(|id| self.paths.get_mut(id)) else { return };
        if p.status_seen.is_some_and(|seen| (s.seq.wrapping_sub(seen) as i16) < 0) {
            return;
        }
        (p.class, p.status_seen) = (class, Some(s.seq));
        self.inside.set_peer_mtu(s.mtu);
        self.on_queue_changed();
    }

    /// A gateway hears of the air under its client's paths.
    fn on_air(&mut self, air: &AirFrame, now: Time) {
        if !self.is_client {
            self.airtime.get_or_insert_default().on_frame(now, air);
            self.on_queue_changed();
        }
    }

    /// Gives up what has been missing for too long; sets when to look again.
    pub(crate) fn check_order(&mut self, now: Time, shared: &mut Shared) {
        if self.receive.order.gaps() == 0 {
            self.receive.due = None;
            return;
        }
        let first = shared.deliveries.len();
        let live = self.paths.iter().filter(|p| p.live.state == State::Active);
        let oldest =
            live.filter_map(|p| p.newest_timestamp).reduce(|a, b| if a.later_than(b) < 0 { a } else { b });
        let repair = if shared.config.recovery { self.paths.repair_time() } else { Duration::ZERO };
        let deadline = repair + self.paths.spread() + Duration::from_millis(60);
        let deadline = shared.config.order_deadline.map_or(deadline, |d| d.min(deadline));
        let of_packets = shared.config.order_deadline.is_some();
        let hold = crate::order::Hold { repair: repair.min(deadline), deadline, of_packets };
        self.receive.due =
            self.receive.order.check(&mut shared.store.pool, now, oldest, hold, &mut shared.deliveries);
        self.inspect(first, now, shared);
    }

    /// Gives up what came in part, long ago, and was never completed.
    pub(crate) fn sweep_order(&mut self, now: Time, shared: &mut Shared) {
        self.receive.swept = now;
        let first = shared.deliveries.len();
        self.receive.order.expire(&mut shared.store.pool, now, &mut shared.deliveries);
        self.inspect(first, now, shared);
    }

    /// Last look at packets for the device: a peer sends from its own networks only, the kernel must be able to take the offload header, and
    /// TCP learns what fits.
    fn inspect(&mut self, first: usize, now: Time, shared: &mut Shared) {
        let layer = shared.config.layer();
        // What stays moves up, each packet once: thousands may wait behind one that goes.
        let mut kept = first;
        for i in first..shared.deliveries.len() {
            let d = Delivery { device: self.device, ..shared.deliveries[i] };
            let packet = &mut shared.store.pool.bytes_mut(d.buf)[..d.len as usize];
            let inner = Inner::of(layer, packet)
                .filter(|inner| self.inside.may_send(inner) && d.vnet.fits(inner, packet));
            match inner {
                Some(inner) => {
                    let mss = self.mss(&inner, shared.config.tun_mtu);
                    send::clamp(packet, &inner, mss, d.vnet);
                    let counted = Packet { bytes: d.len, low_latency: d.low_latency };
                    shared.flows.on_delivered(&self.key, &shared.flow_key, &inner, counted, now);
                    shared.deliveries[kept] = d;
                    kept += 1;
                }
                None => {
                    shared.drops.inner += 1;
                    shared.store.pool.free(d.buf);
                }
            }
        }
        shared.deliveries.truncate(kept);
    }
}

#[cfg(test)]
#[path = "receive_tests.rs"]
mod tests;
