//! What a radio makes of a frame that it heard.

use super::exchange::after;
use super::frame::{GROUP, Kind};
use super::queue::Content;
use super::radio::{Chore, Reply, Role, Step};
use super::reorder::Arrived;
use crate::wifi::air::Air;
use crate::wifi::api::{IfaceId, Mac, Output, Received};
use crate::wifi::medium::Wanted;
use crate::wifi::phy::decibel::dbm_from_mw;
use crate::wifi::phy::duration;
use crate::wifi::timers::Cause;

/// How long MPDUs wait for a missing one before they are handed on without it (Linux's reorder timeout).
const REORDER_TIMEOUT_NS: u64 = 100_000_000;

impl<T: Clone> Air<T> {
    /// `rx` has heard a frame from `emitter` to its end.
    pub(crate) fn on_heard(&mut self, rx: usize, emitter: usize) {
        let clean = self.medium.beyond_doubt(rx, emitter);
        if !self.header_decoded(rx, emitter, clean) {
            // The PHY never said that a frame had begun, so no EIFS follows (10.3.2.3.7; ns-3 does the same).
            self.radios[rx].stats.headers_broken += 1;
            return;
        }
        let Some(sender) = self.radios.get(emitter) else {
            // An interferer that looked like Wi-Fi.
            self.radios[rx].stats.frames_broken += 1;
            return self.access[rx].on_frame(self.now, true);
        };
        let to = sender.ppdu.to;
        let mine = to != GROUP && usize::from(self.ifaces[usize::from(to)].radio) == rx;
        let monitors = self.radios[rx].spec.monitor;
        let wanted = if mine || monitors { Wanted::All } else { Wanted::Any };
        let count = sender.ppdu.parts.len();
        let decoded = self.decode(rx, emitter, wanted, count, clean);
        self.access[rx].on_frame(self.now, decoded == 0);
        if decoded == 0 {
            self.radios[rx].stats.frames_broken += 1;
            return;
        }
        self.radios[rx].stats.frames_heard += 1;
        if monitors {
            self.capture(rx, emitter, decoded);
        }
        if mine || to == GROUP {
            self.on_addressed(rx, emitter, decoded);
        } else {
            self.on_overheard(rx, emitter);
        }
    }

    /// A frame for others: its Duration sets the NAV.
    fn on_overheard(&mut self, rx: usize, emitter: usize) {
        let ppdu = &self.radios[emitter].ppdu;
        let (kind, rate) = (ppdu.kind, ppdu.rate);
        if ppdu.nav_until > self.access[rx].nav_until() {
            // Answers go to the holder of the transmit opportunity.
            let answers = matches!(kind, Kind::Cts | Kind::Ack | Kind::BlockAck { .. });
            let (until, holder) = (ppdu.nav_until, if answers { ppdu.to } else { ppdu.from });
            self.access[rx].set_nav(until);
            self.radios[rx].nav_holder = holder;
        }
        if kind == Kind::Rts {
            self.watch_rts(rx, rate);
        }
    }

    /// If nothing follows an RTS, its NAV may be forgotten after 2 SIFS, a CTS, a preamble and 2 slots (10.3.2.4).
    fn watch_rts(&mut self, rx: usize, rts_rate: crate::wifi::phy::Rate) {
        let r = &self.radios[rx];
        let cts = r.answer_rate(rts_rate);
        let wait = 2 * r.sifs_ns
            + r.ppdu_ns(cts, duration::ACK_BYTES)
            + duration::preamble(cts).as_nanos() as u64
            + 2 * r.slot_ns;
        self.schedule(rx, after(self.now, wait), Chore::NavAfterRts { since: self.now });
    }

    /// A frame for this radio, or for a group.
    fn on_addressed(&mut self, rx: usize, emitter: usize, decoded: u64) {
        let (kind, to) = (self.radios[emitter].ppdu.kind, self.radios[emitter].ppdu.to);
        if kind == Kind::Data && to != GROUP {
            return self.on_data(rx, emitter, decoded);
        }
        let from = self.radios[emitter].ppdu.from;
        match kind {
            Kind::Rts => self.on_rts(rx, emitter),
            Kind::CfEnd => self.access[rx].reset_nav(self.now),
            Kind::Cts => self.on_cts(rx, from),
            Kind::Ack => self.on_ack(rx, from),
            Kind::BlockAck { start, bitmap } => self.on_block_ack_frame(rx, from, start, bitmap),
            Kind::BlockAckRequest { start } => self.on_request(rx, emitter, start),
            Kind::Data => self.on_group_data(rx, emitter),
            Kind::Beacon => self.on_beacon(rx, emitter),
            Kind::Null | Kind::PsPoll => {
                self.acknowledge(rx, emitter, Kind::Ack);
                if kind == Kind::PsPoll {
                    self.on_ps_poll(usize::from(to), from);
                } else {
                    let saving = self.radios[emitter].ppdu.power_management;
                    self.note_power_management(usize::from(to), from, saving);
                }
            }
            other => self.on_management(rx, emitter, other),
        }
    }

    /// Whether the exchange awaits this step's answer from this interface.
    fn awaits(&self, radio: usize, from: u16, step: Step) -> bool {
        let e = &self.radios[radio].exchange;
        e.step == step && self.peers[e.peer as usize].other == from
    }

    fn on_rts(&mut self, rx: usize, emitter: usize) {
        let ppdu = &self.radios[emitter].ppdu;
        // 10.3.2.9: no CTS while the NAV says busy, unless it was set by the one who asks (10.23.2.4).
        let reserved = self.access[rx].nav_until() > self.now && self.radios[rx].nav_holder != ppdu.from;
        if reserved || self.radios[rx].exchange.step != Step::None {
            return;
        }
        let rate = self.radios[rx].answer_rate(ppdu.rate);
        let width = self.frame_width(emitter);
        let reply =
            Reply { kind: Kind::Cts, from: ppdu.to, to: ppdu.from, rate, nav_until: ppdu.nav_until, width };
        self.prepare(rx, reply);
    }

    /// The width that a frame just heard had, for the answer.
    fn frame_width(&self, emitter: usize) -> crate::wifi::phy::Width {
        self.medium.width(emitter)
    }

    fn on_cts(&mut self, rx: usize, from: u16) {
        if self.awaits(rx, from, Step::AwaitCts) {
            self.timers.clear(rx, Cause::AnswerMissing);
            self.radios[rx].exchange.step = Step::GotCts;
            let at = after(self.now, self.radios[rx].sifs_ns);
            self.timers.set(rx, Cause::Respond, at);
        }
    }

    fn on_ack(&mut self, rx: usize, from: u16) {
        if self.awaits(rx, from, Step::AwaitAck) {
            self.on_acknowledged(rx);
        }
    }

    fn on_block_ack_frame(&mut self, rx: usize, from: u16, start: u16, bitmap: u64) {
        if self.awaits(rx, from, Step::AwaitBlockAck) || self.awaits(rx, from, Step::AwaitBarAnswer) {
            self.on_block_ack(rx, start, bitmap);
        }
    }

    /// Prepares an ACK or Block Ack to the frame just heard.
    pub(crate) fn acknowledge(&mut self, rx: usize, emitter: usize, kind: Kind) {
        let ppdu = &self.radios[emitter].ppdu;
        let rate = self.radios[rx].answer_rate(ppdu.rate);
        let width = self.frame_width(emitter);
        // Beyond the answer this is only within a transmit opportunity.
        let nav_until = ppdu.nav_until;
        let reply = Reply { kind, from: ppdu.to, to: ppdu.from, rate, nav_until, width };
        self.prepare(rx, reply);
    }

    /// Data for this radio: what was decoded is acknowledged and handed on.
    fn on_data(&mut self, rx: usize, emitter: usize, decoded: u64) {
        let ppdu = &self.radios[emitter].ppdu;
        let (aggregate, from, to) = (ppdu.aggregate, ppdu.from, ppdu.to);
        let (category, start) = (usize::from(ppdu.category), ppdu.parts[0].seq);
        let receiver = self.ifaces[usize::from(to)].peer(from).filter(|&peer| self.peers[peer].joined);
        if receiver.is_none() && matches!(self.ifaces[usize::from(to)].role, Role::AccessPoint(..)) {
            // Data of a station that is not associated: it is told (11.3.4.1, class 3 frames).
            self.send_frame(usize::from(to), from, Kind::Deauthentication);
        }
        if let Some(receiver) = receiver {
            let airtime = self.medium.signals[emitter].end - self.medium.signals[emitter].start;
            self.peers[receiver].stats.airtime_rx_ns += airtime.as_nanos() as u64;
            let fresh = decoded & !self.handed_on(rx, emitter);
            self.take_parts(rx, emitter, receiver, fresh);
            self.heard_from(usize::from(to), from);
        }
        let kind = match receiver {
            Some(receiver) if aggregate => {
                let bitmap = self.peers[receiver].rx[category].bitmap(start);
                Kind::BlockAck { start, bitmap }
            }
            _ => Kind::Ack,
        };
        self.acknowledge(rx, emitter, kind);
        let ppdu = &self.radios[emitter].ppdu;
        let (saving, more) = (ppdu.power_management, ppdu.more_data);
        self.note_power_management(usize::from(to), from, saving);
        self.fetch_more(usize::from(to), from, more);
    }

    /// Puts MPDUs that were decoded in order and hands on what may go.
    pub(crate) fn take_parts(&mut self, rx: usize, emitter: usize, receiver: usize, decoded: u64) {
        let signal_dbm = dbm_from_mw(self.medium.receivers[rx].lock.signal_mw);
        let ppdu = &mut self.radios[emitter].ppdu;
        let (rate, sender, category) = (ppdu.rate, ppdu.peer as usize, usize::from(ppdu.category));
        let parts = core::mem::take(&mut ppdu.parts);
        let mut arrived = core::mem::take(&mut self.arrived);
        let ordered = self.peers[receiver].bounds.qos && self.peers[sender].aggregates;
        for (_, part) in parts.iter().enumerate().filter(|(n, _)| decoded >> n & 1 == 1) {
            let again = if ordered {
                self.peers[receiver].rx[category].has(part.seq)
            } else {
                part.retry && self.peers[receiver].rx[category].last_seq == Some(part.seq)
            };
            if again {
                self.peers[receiver].stats.duplicates += 1;
                continue;
            }
            let Some(mpdu) = self.peers[sender].tx[category].find(part.seq) else { continue };
            let content = mpdu.content.clone();
            let one = Arrived { content, rate, signal_dbm };
            let order = &mut self.peers[receiver].rx[category];
            if ordered {
                order.insert(self.now, part.seq, one, &mut arrived);
            } else {
                order.last_seq = Some(part.seq);
                arrived.push(one);
            }
        }
        let order = &mut self.peers[receiver].rx[category];
        if order.waiting_since.is_some() && !order.is_watched {
            order.is_watched = true;
            self.watch_reorder(rx, receiver, category);
        }
        self.hand_on(receiver, &mut arrived);
        self.arrived = arrived;
        self.radios[emitter].ppdu.parts = parts;
    }

    /// Looks again when what is missing has been missing for too long.
    fn watch_reorder(&mut self, radio: usize, peer: usize, category: usize) {
        let since = self.peers[peer].rx[category].waiting_since.unwrap_or(self.now);
        let chore = Chore::FlushReorder { peer: peer as u32, category: category as u8 };
        self.schedule(radio, after(since, REORDER_TIMEOUT_NS), chore);
    }

    /// MPDUs that have been missing for too long are given up.
    pub(crate) fn flush_reorder(&mut self, peer: usize, category: usize) {
        let rx = &mut self.peers[peer].rx[category];
        rx.is_watched = false;
        let Some(since) = rx.waiting_since else { return };
        if after(since, REORDER_TIMEOUT_NS) <= self.now {
            let mut arrived = core::mem::take(&mut self.arrived);
            self.peers[peer].rx[category].skip_missing(self.now, &mut arrived);
            self.hand_on(peer, &mut arrived);
            self.arrived = arrived;
        }
        let rx = &mut self.peers[peer].rx[category];
        if rx.waiting_since.is_some() {
            rx.is_watched = true;
            let radio = usize::from(self.peers[peer].radio);
            self.watch_reorder(radio, peer, category);
        }
    }

    /// The sender says where its window begins, and wants to know what has come.
    fn on_request(&mut self, rx: usize, emitter: usize, start: u16) {
        let ppdu = &self.radios[emitter].ppdu;
        let (from, to, category) = (ppdu.from, ppdu.to, usize::from(ppdu.category));
        let Some(receiver) = self.ifaces[usize::from(to)].peer(from) else { return };
        let mut arrived = core::mem::take(&mut self.arrived);
        let order = &mut self.peers[receiver].rx[category];
        order.move_to(self.now, start, &mut arrived);
        let bitmap = order.bitmap(start);
        self.hand_on(receiver, &mut arrived);
        self.arrived = arrived;
        self.acknowledge(rx, emitter, Kind::BlockAck { start, bitmap });
    }

    /// Data to a group, heard by a station of the cell, or by a member of the mesh.
    fn on_group_data(&mut self, rx: usize, emitter: usize) {
        let ppdu = &self.radios[emitter].ppdu;
        let (from, category, sender) = (ppdu.from, usize::from(ppdu.category), ppdu.peer as usize);
        let seq = ppdu.parts[0].seq;
        let rate = ppdu.rate;
        let signal_dbm = dbm_from_mw(self.medium.receivers[rx].lock.signal_mw);
        for place in 0..self.radios[rx].ifaces.len() {
            let iface = self.radios[rx].ifaces[place];
            let Some(receiver) = self.ifaces[usize::from(iface)].peer(from) else { continue };
            if !self.peers[receiver].joined {
                continue;
            }
            let Some(mpdu) = self.peers[sender].tx[category].find(seq) else { continue };
            let one = Arrived { content: mpdu.content.clone(), rate, signal_dbm };
            self.hand_on_to(receiver, one, Mac::BROADCAST);
        }
    }

    fn hand_on(&mut self, receiver: usize, arrived: &mut Vec<Arrived<T>>) {
        let to = self.ifaces[usize::from(self.peers[receiver].iface)].mac;
        for one in arrived.drain(..) {
            self.hand_on_to(receiver, one, to);
        }
    }

    /// The packets of an MPDU leave the air.
    fn hand_on_to(&mut self, receiver: usize, one: Arrived<T>, to: Mac) {
        let p = &mut self.peers[receiver];
        let from = self.ifaces[usize::from(p.other)].mac;
        let (iface, at) = (IfaceId(p.iface), self.now);
        let Arrived { content, rate, signal_dbm } = one;
        let (single, several) = match content {
            Content::Packet(one) => (Some(one), Vec::new()),
            Content::Packets(several) => (None, several),
            Content::Frame(_) => (None, Vec::new()),
        };
        for waiting in single.into_iter().chain(several) {
            p.stats.received_packets += 1;
            p.stats.received_bytes += u64::from(waiting.packet.len_bytes);
            self.out.push_back(Output::Received(Received {
                at,
                iface,
                from,
                to,
                len_bytes: waiting.packet.len_bytes,
                ecn_marked: waiting.marked,
                signal_dbm,
                rate,
                payload: waiting.packet.payload,
            }));
        }
    }
}
