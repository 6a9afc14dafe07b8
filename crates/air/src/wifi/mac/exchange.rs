//! The sender's side of an exchange: what goes next, how it goes, and what follows from the answer or its absence.

use super::access::BEACON;
use super::frame::{self, GROUP, Kind, Part, seq_add};
use super::peer::Peer;
use super::queue::{Content, Mpdu, Waiting};
use super::radio::Step;
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::api::{Completion, IfaceId, Mac, Output, Status};
use crate::wifi::medium::Emission;
use crate::wifi::phy::decibel::db_from_ratio;
use crate::wifi::phy::duration::{BLOCK_ACK_WINDOW, ampdu_subframe_bytes};
use crate::wifi::phy::{Format, Rate, Width, duration};
use crate::wifi::rate::{SelectCtx, Stage, TxReport};
use crate::wifi::timers::Cause;

/// A time so many ns later.
#[inline]
pub(crate) fn after(at: Time, ns: u64) -> Time {
    Time::from_nanos(at.as_nanos() + ns)
}

impl<T: Clone> Air<T> {
    /// Enters a queue that has something to send in its radio's list, and asks for access.
    pub(crate) fn offer(&mut self, peer: usize, category: usize) {
        let p = &mut self.peers[peer];
        if p.dozing {
            return;
        }
        let radio = usize::from(p.radio);
        if !p.tx[category].listed {
            p.tx[category].listed = true;
            self.radios[radio].ready[category].push_back(peer as u32);
        }
        self.want(radio, category);
    }

    /// Asks for access for a category.
    pub(crate) fn want(&mut self, radio: usize, category: usize) {
        if !self.radios[radio].up {
            return;
        }
        if self.access[radio].want(category, self.now) {
            self.timers.set(radio, Cause::Access, self.now);
        } else {
            self.arm(radio);
        }
    }

    /// Sets the access timer anew, unless an access is due right now.
    #[inline]
    pub(crate) fn arm(&mut self, radio: usize) {
        if self.timers.get(radio, Cause::Access) != self.now {
            let at = self.access[radio].expiry().max(self.now);
            self.timers.set(radio, Cause::Access, at);
        }
    }

    /// The access timer has fired.
    pub(crate) fn on_access(&mut self, radio: usize) {
        let Some(category) = self.access[radio].grant(self.now) else {
            self.arm(radio);
            return;
        };
        let exchange = &mut self.radios[radio].exchange;
        exchange.category = category;
        let txop = if category == BEACON { 0 } else { self.radios[radio].txop_ns[category] };
        self.radios[radio].exchange.txop_end = after(self.now, txop);
        let began =
            if category == BEACON { self.send_beacon(radio) } else { self.serve(radio, category, false) };
        if !began {
            self.access[radio].release_unused();
            self.arm(radio);
        }
    }

    /// Begins an exchange with the peer whose turn it is. False if nothing is left to send, or if it does not fit what is left of
    /// the transmit opportunity that `continues`.
    pub(crate) fn serve(&mut self, radio: usize, category: usize, continues: bool) -> bool {
        while let Some(&peer) = self.radios[radio].ready[category].front() {
            let index = peer as usize;
            self.expire(index, category);
            if self.peers[index].dozing || !self.peers[index].tx[category].has_work() {
                self.unlist(radio, category);
                continue;
            }
            if !self.plan(radio, index, category) || (continues && !self.fits_txop(radio)) {
                return false;
            }
            self.radios[radio].exchange.peer = peer;
            self.begin(radio, index, category);
            return true;
        }
        false
    }

    fn unlist(&mut self, radio: usize, category: usize) {
        if let Some(peer) = self.radios[radio].ready[category].pop_front() {
            self.peers[peer as usize].tx[category].listed = false;
        }
    }

    /// Drops what has waited too long, from the queue's head on.
    fn expire(&mut self, peer: usize, category: usize) {
        let lifetime = self.radios[usize::from(self.peers[peer].radio)].spec.queue.lifetime;
        while let Some(oldest) = self.peers[peer].tx[category].waiting.front() {
            if self.now.saturating_since(oldest.since) <= lifetime {
                return;
            }
            let Some(oldest) = self.peers[peer].tx[category].waiting.pop_front() else { return };
            self.peers[peer].stats.expired_packets += 1;
            self.leave_queue(peer, 1);
            self.complete(peer, &oldest, Status::Expired, 0, None, 0);
        }
    }

    fn leave_queue(&mut self, peer: usize, packets: usize) {
        let iface = usize::from(self.peers[peer].iface);
        self.ifaces[iface].queued -= packets;
    }

    /// Whether the planned PPDU and its answer end within the transmit opportunity.
    fn fits_txop(&self, radio: usize) -> bool {
        let r = &self.radios[radio];
        r.planned.nav_until <= r.exchange.txop_end
    }

    /// Decides what the next PPDU to this peer is: `planned` then holds it, its rate and MPDUs.
    fn plan(&mut self, radio: usize, peer: usize, category: usize) -> bool {
        let Air { peers, radios, ifaces, medium, now, .. } = self;
        let (p, r) = (&mut peers[peer], &mut radios[radio]);
        let queue = &mut p.tx[category];
        let planned = &mut r.planned;
        (planned.from, planned.to, planned.peer) = (p.iface, p.other, peer as u32);
        (planned.category, planned.aggregate, planned.power_management) = (category as u8, false, false);
        r.exchange.stage = 0;
        if queue.bar_due {
            planned.kind = Kind::BlockAckRequest { start: queue.start() };
            planned.rate = queue.chain.as_ref().map_or(r.lowest, |(chain, _)| {
                let stage = chain.stages()[0];
                duration::response_rate(stage.rate, &r.basic)
            });
            let bytes = frame::frame_bytes(planned.kind, r.spec.standard);
            planned.set_single(0, bytes, false);
            return true;
        }
        let iface = &mut ifaces[usize::from(p.iface)];
        if queue.window.is_empty() {
            if let Some(kind) = queue.frames.pop_front() {
                let bytes = frame::frame_bytes(kind, r.spec.standard);
                queue.push_mpdu(iface.next_seq, bytes, Content::Frame(kind));
                iface.next_seq = seq_add(iface.next_seq, 1);
            } else {
                let before = queue.waiting.len();
                let own = (!p.bounds.qos).then_some(iface.next_seq);
                queue.make_mpdu(own, &p.bounds);
                iface.queued -= before - queue.waiting.len();
                if own.is_some() {
                    iface.next_seq = seq_add(iface.next_seq, 1);
                }
            }
        }
        let Some(first) = queue.window.iter().find(|m| !m.done) else { return false };
        if let Content::Frame(kind) = first.content {
            planned.kind = kind;
            planned.rate = p.basic_rate;
            planned.set_single(first.seq, first.bytes, first.attempts > 0);
            return true;
        }
        planned.kind = Kind::Data;
        if p.other == GROUP {
            planned.rate = p.basic_rate;
            planned.set_single(first.seq, first.bytes, false);
            return true;
        }
        let stage = choose(p, category, *now, |p| {
            let mw = medium.paths.received_mw(usize::from(p.radio), usize::from(p.other_radio));
            let noise = medium.ears[usize::from(p.other_radio)].noise_mw;
            db_from_ratio(mw / noise)
        });
        r.exchange.stage = stage.0;
        let stage = stage.1;
        r.planned.rate = stage.rate;
        let probe = p.tx[category].chain.as_ref().is_some_and(|(chain, _)| chain.probe);
        let formats = matches!(stage.rate.format(), Format::Ht | Format::Vht | Format::DmgSc);
        if p.aggregates && formats && !probe {
            let before = p.tx[category].waiting.len();
            aggregate(p, r, category, stage.rate);
            ifaces[usize::from(p.iface)].queued -= before - p.tx[category].waiting.len();
        } else if let Some(first) = p.tx[category].window.iter().find(|m| !m.done) {
            r.planned.set_single(first.seq, first.bytes, first.attempts > 0);
        }
        r.planned.power_management = false;
        true
    }

    /// Puts the planned PPDU on the air, behind an RTS if it needs one.
    fn begin(&mut self, radio: usize, peer: usize, category: usize) {
        let now = self.now;
        let p = &self.peers[peer];
        let r = &mut self.radios[radio];
        let (rate, bytes) = (r.planned.rate, r.planned.psdu_bytes);
        let answer_ns = if r.planned.to == GROUP { 0 } else { r.sifs_ns + answer_ns(r) };
        let data_ns = r.ppdu_ns(rate, bytes);
        let stage_rts = p.tx[category].chain.as_ref().is_some_and(|(c, _)| c.stages()[r.exchange.stage].rts);
        let long = r.spec.rts_threshold.is_some_and(|limit| bytes > limit);
        let is_data = r.planned.kind == Kind::Data && r.planned.to != GROUP;
        if !(is_data && (stage_rts || long)) {
            r.planned.nav_until = after(now, data_ns + answer_ns);
            self.send_planned(radio);
            return;
        }
        let rts_rate = r.answer_rate(rate);
        let rts_bytes = frame::frame_bytes(Kind::Rts, r.spec.standard);
        let rts_ns = r.ppdu_ns(rts_rate, rts_bytes);
        let cts_ns = r.ppdu_ns(r.answer_rate(rts_rate), frame::frame_bytes(Kind::Cts, r.spec.standard));
        let until = after(now, rts_ns + cts_ns + data_ns + answer_ns + 2 * r.sifs_ns);
        r.planned.nav_until = until;
        let ppdu = &mut r.ppdu;
        (ppdu.kind, ppdu.from, ppdu.to, ppdu.rate) = (Kind::Rts, r.planned.from, r.planned.to, rts_rate);
        (ppdu.nav_until, ppdu.peer, ppdu.category) = (until, peer as u32, category as u8);
        ppdu.power_management = false;
        ppdu.set_single(0, rts_bytes, false);
        r.exchange.step = Step::Rts;
        r.stats.rts_sent += 1;
        let width = rate.width();
        self.put_on_air(radio, width);
    }

    /// Puts the planned PPDU on the air, and counts the attempt.
    pub(crate) fn send_planned(&mut self, radio: usize) {
        let r = &mut self.radios[radio];
        core::mem::swap(&mut r.ppdu, &mut r.planned);
        r.exchange.step = match r.ppdu.kind {
            _ if r.ppdu.to == GROUP => Step::Unanswered,
            Kind::BlockAckRequest { .. } => Step::Bar,
            _ => Step::Data,
        };
        let airtime = r.ppdu_ns(r.ppdu.rate, r.ppdu.psdu_bytes);
        let p = &mut self.peers[r.ppdu.peer as usize];
        p.stats.airtime_tx_ns += airtime;
        let rate = r.ppdu.rate;
        if r.exchange.step != Step::Bar {
            let queue = &mut p.tx[usize::from(r.ppdu.category)];
            let first = queue.start();
            for part in &r.ppdu.parts {
                let place = frame::seq_diff(part.seq, first);
                let Some(mpdu) = usize::try_from(place).ok().and_then(|n| queue.window.get_mut(n)) else {
                    continue;
                };
                p.stats.retries += u64::from(mpdu.attempts > 0);
                mpdu.attempts = mpdu.attempts.saturating_add(1);
                (mpdu.sent, mpdu.rate) = (true, Some(rate));
                mpdu.airtime_ns += airtime * u64::from(part.bytes) / u64::from(r.ppdu.psdu_bytes.max(1));
            }
            p.stats.mpdus_sent += r.ppdu.parts.len() as u64;
        }
        // Management and control frames are duplicated over the channel, data as wide as their rate says.
        let width = if r.ppdu.kind == Kind::Data { rate.width() } else { Width::Mhz20 };
        self.put_on_air(radio, width);
    }

    /// The radio's `ppdu` starts.
    pub(crate) fn put_on_air(&mut self, radio: usize, width: Width) {
        let now = self.now;
        let r = &mut self.radios[radio];
        self.ppdus = self.ppdus.wrapping_add(1);
        r.ppdu.number = self.ppdus;
        let length = r.ppdu_ns(r.ppdu.rate, r.ppdu.psdu_bytes);
        let end = after(now, length);
        r.stats.ppdus_sent += 1;
        r.stats.airtime_tx_ns += length;
        let duplicate = width > Width::Mhz20 && matches!(r.ppdu.rate.format(), Format::Ofdm | Format::Dsss);
        let emission = Emission {
            data: now + duration::preamble(r.ppdu.rate),
            end,
            rate: r.ppdu.rate,
            tuning: r.tuning(width),
            duplicate,
            noise: false,
        };
        self.timers.set(radio, Cause::TransmitEnd, end);
        self.medium.start(now, radio, emission);
        for touch in &self.medium.touched {
            let ear = usize::from(touch.ear);
            self.access[ear].on_busy(now);
            let at = self.timers.get(ear, Cause::Access);
            if at != now && at != Time::MAX {
                self.timers.clear(ear, Cause::Access);
            }
        }
    }

    /// The radio's own PPDU has ended: it waits for the answer, or is done.
    pub(crate) fn on_sent(&mut self, radio: usize) {
        let r = &mut self.radios[radio];
        if core::mem::take(&mut r.replying) {
            return;
        }
        let next = match r.exchange.step {
            Step::Rts => Step::AwaitCts,
            Step::Data if r.ppdu.aggregate => Step::AwaitBlockAck,
            Step::Data => Step::AwaitAck,
            Step::Bar => Step::AwaitBarAnswer,
            Step::Unanswered => return self.on_group_sent(radio),
            Step::Beacon => return self.on_beacon_sent(radio),
            _ => return,
        };
        r.exchange.step = next;
        let rate = r.answer_rate(r.ppdu.rate);
        // 10.3.2.11: SIFS, a slot, and the time after which a reception would have been noticed.
        let wait = r.sifs_ns + r.slot_ns + duration::preamble(rate).as_nanos() as u64;
        self.timers.set(radio, Cause::AnswerMissing, after(self.now, wait));
    }

    /// The answer's time has passed.
    pub(crate) fn on_answer_missing(&mut self, radio: usize) {
        // Something is being received: it may be the answer, so its end decides.
        if self.medium.ears[radio].is_receiving() {
            let from = usize::from(self.medium.ears[radio].lock.from);
            let end = self.medium.signals[from].end;
            if end > self.now {
                self.timers.set(radio, Cause::AnswerMissing, end);
                return;
            }
        }
        self.radios[radio].stats.answers_missing += 1;
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        let limit = self.radios[radio].spec.retry_limit;
        let queue = &mut self.peers[peer].tx[category];
        queue.tries = queue.tries.saturating_add(1);
        match e.step {
            Step::AwaitBarAnswer => {
                queue.bar_tries = queue.bar_tries.saturating_add(1);
                if queue.bar_tries >= limit {
                    self.give_up_sent(radio, peer, category);
                    return self.finish_given_up(radio);
                }
            }
            Step::AwaitBlockAck => {
                queue.bar_due = true;
                queue.bar_tries = 0;
                let sent = self.radios[radio].ppdu.parts.len() as u16;
                count(&mut self.peers[peer], category, e.stage, sent, 0);
            }
            Step::AwaitCts => {
                let sent = self.radios[radio].planned.parts.len() as u16;
                count(&mut self.peers[peer], category, e.stage, sent, 0);
                if self.count_failed_rts(radio, peer, category, limit) {
                    return self.finish_given_up(radio);
                }
            }
            _ => {
                count(&mut self.peers[peer], category, e.stage, 1, 0);
                if self.give_up_worn(radio, peer, category, limit) {
                    return self.finish_given_up(radio);
                }
            }
        }
        self.finish(radio, false);
    }

    /// An RTS without CTS counts as an attempt of the MPDUs behind it (the short retry counter of 10.3.3). True if any was
    /// given up.
    fn count_failed_rts(&mut self, radio: usize, peer: usize, category: usize, limit: u8) -> bool {
        let queue = &mut self.peers[peer].tx[category];
        let first = queue.start();
        for part in &self.radios[radio].planned.parts {
            let place = usize::try_from(frame::seq_diff(part.seq, first)).ok();
            if let Some(mpdu) = place.and_then(|n| queue.window.get_mut(n)) {
                mpdu.attempts = mpdu.attempts.saturating_add(1);
                mpdu.sent = true;
            }
        }
        self.give_up_worn(radio, peer, category, limit)
    }

    /// Gives up those of the last MPDUs that were tried as often as allowed. True if there were any.
    fn give_up_worn(&mut self, radio: usize, peer: usize, category: usize, limit: u8) -> bool {
        let queue = &mut self.peers[peer].tx[category];
        let mut worn = false;
        for mpdu in queue.window.iter_mut().filter(|m| m.sent && !m.done) {
            mpdu.sent = false;
            if mpdu.attempts >= limit {
                (mpdu.done, worn) = (true, true);
            }
        }
        if worn {
            self.fail_done(peer, category);
            self.report(radio, peer, category);
        }
        worn
    }

    /// The receiver does not answer at all: whatever was sent and is worn out is given up, and the rest begins anew.
    fn give_up_sent(&mut self, radio: usize, peer: usize, category: usize) {
        let limit = self.radios[radio].spec.retry_limit;
        let queue = &mut self.peers[peer].tx[category];
        (queue.bar_due, queue.bar_tries) = (false, 0);
        if !self.give_up_worn(radio, peer, category, limit) {
            self.report(radio, peer, category);
        }
    }

    /// Completes MPDUs that were marked done without an acknowledgement, and tells the receiver not to wait for them.
    fn fail_done(&mut self, peer: usize, category: usize) {
        let p = &mut self.peers[peer];
        // An MPDU leaves the window in its order; until then `done` ones stay, and what they carry is completed when they go.
        let tell = p.aggregates && p.tx[category].window.iter().any(|m| m.done && !acknowledged(m));
        p.tx[category].bar_due |= tell;
        self.pop_done(peer, category);
    }

    /// Takes MPDUs that are done out of the window, and completes what they carried.
    fn pop_done(&mut self, peer: usize, category: usize) {
        while let Some(mpdu) = self.peers[peer].tx[category].pop_done() {
            let status = if acknowledged(&mpdu) { Status::Delivered } else { Status::Failed };
            self.complete_mpdu(peer, mpdu, status);
        }
    }

    fn complete_mpdu(&mut self, peer: usize, mpdu: Mpdu<T>, status: Status) {
        let packets = mpdu.content.packets().len() as u64;
        for waiting in mpdu.content.packets() {
            let stats = &mut self.peers[peer].stats;
            if status == Status::Delivered {
                stats.delivered_packets += 1;
                stats.delivered_bytes += u64::from(waiting.packet.len_bytes);
            } else {
                stats.failed_packets += 1;
            }
            self.complete(peer, waiting, status, mpdu.attempts, mpdu.rate, mpdu.airtime_ns / packets.max(1));
        }
        if let Content::Frame(kind) = mpdu.content {
            self.on_frame_done(peer, kind, status == Status::Delivered);
        }
    }

    /// Tells the driver what became of a packet.
    pub(crate) fn complete(
        &mut self,
        peer: usize,
        waiting: &Waiting<T>,
        status: Status,
        attempts: u8,
        rate: Option<Rate>,
        airtime_ns: u64,
    ) {
        let p = &self.peers[peer];
        let iface = &mut self.ifaces[usize::from(p.iface)];
        iface.outstanding = iface.outstanding.saturating_sub(1);
        let to = self.ifaces.get(usize::from(p.other)).map_or(Mac::BROADCAST, |i| i.mac);
        self.out.push_back(Output::Completion(Completion {
            at: self.now,
            iface: IfaceId(p.iface),
            to,
            token: waiting.packet.token,
            status,
            attempts,
            rate,
            airtime: core::time::Duration::from_nanos(airtime_ns),
        }));
    }

    /// An acknowledgement has come for the one MPDU that was sent.
    pub(crate) fn on_acknowledged(&mut self, radio: usize) {
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        count(&mut self.peers[peer], category, e.stage, 1, 1);
        for mpdu in self.peers[peer].tx[category].window.iter_mut().filter(|m| m.sent) {
            mpdu.done = true;
        }
        self.pop_done(peer, category);
        self.report(radio, peer, category);
        self.finish(radio, true);
    }

    /// A Block Ack has come: for an A-MPDU, or for a request.
    pub(crate) fn on_block_ack(&mut self, radio: usize, start: u16, bitmap: u64) {
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        let limit = self.radios[radio].spec.retry_limit;
        let queue = &mut self.peers[peer].tx[category];
        (queue.bar_due, queue.bar_tries) = (false, 0);
        let (mut sent, mut acked, mut worn) = (0, 0, false);
        for mpdu in queue.window.iter_mut().filter(|m| m.sent && !m.done) {
            let place = frame::seq_diff(mpdu.seq, start);
            sent += 1;
            if (0..64).contains(&place) && bitmap >> place & 1 == 1 {
                mpdu.done = true;
                acked += 1;
            } else {
                mpdu.sent = false;
                if mpdu.attempts >= limit {
                    (mpdu.done, worn) = (true, true);
                }
            }
        }
        // What a request is answered with was counted as lost when the Block Ack was missing; it is set right here.
        count_block_ack(
            &mut self.peers[peer],
            category,
            e.stage,
            e.step == Step::AwaitBarAnswer,
            (sent, acked),
        );
        if worn {
            self.fail_done(peer, category);
        } else {
            self.pop_done(peer, category);
        }
        self.report(radio, peer, category);
        self.finish(radio, true);
    }

    /// A frame to a group has been sent: that is all.
    fn on_group_sent(&mut self, radio: usize) {
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        for mpdu in self.peers[peer].tx[category].window.iter_mut().filter(|m| m.sent) {
            mpdu.done = true;
        }
        self.pop_done(peer, category);
        self.finish(radio, true);
    }

    /// The frame at hand is done with: rate control learns what came of it.
    fn report(&mut self, _radio: usize, peer: usize, category: usize) {
        let p = &mut self.peers[peer];
        p.tx[category].tries = 0;
        if let Some((_, report)) = p.tx[category].chain.take() {
            p.control.report(self.now, &report);
        }
    }

    /// An exchange is over. After a good one the next peer has its turn, within the transmit opportunity if there is one.
    pub(crate) fn finish(&mut self, radio: usize, good: bool) {
        self.timers.clear(radio, Cause::AnswerMissing);
        let r = &mut self.radios[radio];
        let category = r.exchange.category;
        if good {
            self.rotate(radio, category);
            let r = &mut self.radios[radio];
            let more = !r.ready[category].is_empty();
            if more && r.exchange.txop_end > after(self.now, r.sifs_ns) {
                r.exchange.step = Step::Continue;
                self.timers.set(radio, Cause::Respond, after(self.now, r.sifs_ns));
                return;
            }
        }
        self.release(radio, good);
    }

    /// An exchange failed once too often: the next peer has its turn, and the window goes on as after any failure.
    fn finish_given_up(&mut self, radio: usize) {
        self.timers.clear(radio, Cause::AnswerMissing);
        self.rotate(radio, self.radios[radio].exchange.category);
        self.release(radio, false);
    }

    /// The radio lets the medium go.
    pub(crate) fn release(&mut self, radio: usize, good: bool) {
        let category = self.radios[radio].exchange.category;
        self.radios[radio].exchange.step = Step::None;
        if good {
            self.access[radio].release_after_success(category, self.now);
        } else {
            self.access[radio].release_after_failure(category, self.now);
        }
        if !self.radios[radio].ready[category].is_empty() {
            self.want(radio, category);
        }
        self.arm(radio);
    }

    /// The peer at the head of the list goes behind the others, or out of it if it has nothing left.
    fn rotate(&mut self, radio: usize, category: usize) {
        let Some(peer) = self.radios[radio].ready[category].pop_front() else { return };
        let p = &mut self.peers[peer as usize];
        if p.tx[category].has_work() && !p.dozing {
            self.radios[radio].ready[category].push_back(peer);
        } else {
            p.tx[category].listed = false;
        }
    }
}

/// Whether an MPDU that is done was acknowledged: one given up is not marked as sent any more.
fn acknowledged<T>(mpdu: &Mpdu<T>) -> bool {
    mpdu.done && mpdu.sent
}

/// The stage of the rate chain for the next transmission; a new chain for a new frame.
fn choose<T>(
    p: &mut Peer<T>,
    category: usize,
    now: Time,
    snr_db: impl Fn(&Peer<T>) -> f64,
) -> (usize, Stage) {
    if p.tx[category].chain.is_none() {
        let snr_db = p.wants_snr.then(|| snr_db(p));
        let queue = &p.tx[category];
        let mpdu_bytes = queue.window.iter().find(|m| !m.done).map_or(0, |m| m.bytes);
        let mpdus = if p.aggregates { queue.available().clamp(1, 64) as u16 } else { 1 };
        let chain = p.control.select(now, &SelectCtx { mpdu_bytes, mpdus, snr_db });
        let queue = &mut p.tx[category];
        queue.tries = 0;
        queue.chain = Some((chain, TxReport::new(&chain, mpdus)));
    }
    let queue = &p.tx[category];
    match &queue.chain {
        Some((chain, _)) => chain.stage_of(queue.tries),
        None => unreachable!("a chain was just chosen"),
    }
}

/// Counts what came of one PPDU, for rate control.
fn count<T>(p: &mut Peer<T>, category: usize, stage: usize, sent: u16, acked: u16) {
    if let Some((_, report)) = &mut p.tx[category].chain {
        report.count(stage, sent, acked);
    }
}

fn count_block_ack<T>(
    p: &mut Peer<T>,
    category: usize,
    stage: usize,
    asked: bool,
    (sent, acked): (u16, u16),
) {
    // The MPDUs were counted as sent when their Block Ack was missing; the late answer only adds those that had come.
    let sent = if asked { acked } else { sent };
    if !asked || acked > 0 {
        count(p, category, stage, sent, acked);
    }
}

/// How long the answer to the planned PPDU takes, ns.
fn answer_ns(r: &super::radio::Radio) -> u64 {
    let block = r.planned.aggregate || matches!(r.planned.kind, Kind::BlockAckRequest { .. });
    let bytes = if block { duration::BLOCK_ACK_BYTES } else { duration::ACK_BYTES };
    r.ppdu_ns(r.answer_rate(r.planned.rate), bytes)
}

/// Plans an A-MPDU: MPDUs of the window that are not done, oldest first, then new ones, as many as fit.
fn aggregate<T>(p: &mut Peer<T>, r: &mut super::radio::Radio, category: usize, rate: Rate) {
    let most = r.most_bytes(rate);
    let most_mpdus = usize::from(r.spec.aggregation.ampdu_mpdus);
    let queue = &mut p.tx[category];
    let planned = &mut r.planned;
    planned.parts.clear();
    planned.psdu_bytes = 0;
    let (start, mut next) = (queue.start(), 0);
    while planned.parts.len() < most_mpdus {
        if next == queue.window.len() {
            let room = next < usize::from(BLOCK_ACK_WINDOW);
            if !room || !queue.frames.is_empty() || !queue.make_mpdu(None, &p.bounds) {
                break;
            }
        }
        let mpdu = &queue.window[next];
        next += 1;
        if mpdu.done || matches!(mpdu.content, Content::Frame(_)) {
            continue;
        }
        // Every subframe but the last is padded (9.7.1).
        let offset =
            planned.parts.last().map_or(0, |last: &Part| last.offset - 4 + ampdu_subframe_bytes(last.bytes));
        let whole = offset + 4 + mpdu.bytes;
        if whole > most && !planned.parts.is_empty() {
            break;
        }
        planned.psdu_bytes = whole;
        let retry = mpdu.attempts > 0;
        planned.parts.push(Part { seq: mpdu.seq, offset: offset + 4, bytes: mpdu.bytes, retry });
    }
    debug_assert!(planned.parts.iter().all(|part| frame::seq_diff(part.seq, start) < 64));
    match planned.parts[..] {
        [only] if rate.format() == Format::Ht => planned.set_single(only.seq, only.bytes, only.retry),
        [_] => planned.aggregate = false,
        _ => planned.aggregate = true,
    }
}
