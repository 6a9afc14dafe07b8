//! The sender's side of an exchange: what goes next, how it goes, and what follows from the answer or its absence.

use super::access::BEACON;
use super::backlog::Discipline;
use super::frame;
use super::peer::Peer;
use super::radio::Step;
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::api::Status;
use crate::wifi::phy::duration;
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
        if p.dozing && !p.polled {
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
            let at = self.access[radio].expiry(self.now).max(self.now);
            self.timers.set(radio, Cause::Access, at);
        }
    }

    /// The access timer has fired.
    pub(crate) fn on_access(&mut self, radio: usize) {
        // A radio that was halted and resumed in the midst of a frame still has it on the air; it counts anew when that ends.
        if self.medium.signals[radio].on {
            return;
        }
        let Some(category) = self.access[radio].grant(self.now) else {
            self.arm(radio);
            return;
        };
        let exchange = &mut self.radios[radio].exchange;
        exchange.category = category;
        let txop = if category == BEACON { 0 } else { self.radios[radio].txop_ns[category] };
        let exchange = &mut self.radios[radio].exchange;
        (exchange.txop_end, exchange.continued) = (after(self.now, txop), false);
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
        while let Some(peer) = self.next_peer(radio, category) {
            let index = peer as usize;
            self.expire(index, category);
            let held = self.peers[index].dozing && !self.peers[index].polled;
            if held || !self.peers[index].tx[category].has_work() {
                self.unlist(radio, category);
                continue;
            }
            let planned = self.plan(radio, index, category);
            self.complete_lost(index, category);
            if !planned || (continues && !self.fits_txop(radio, index, category)) {
                return false;
            }
            let exchange = &mut self.radios[radio].exchange;
            (exchange.peer, exchange.continued) = (peer, continues);
            self.begin(radio, index, category);
            return true;
        }
        false
    }

    pub(crate) fn unlist(&mut self, radio: usize, category: usize) {
        if let Some(peer) = self.radios[radio].ready[category].pop_front() {
            self.peers[peer as usize].tx[category].listed = false;
        }
    }

    /// Whether the planned PPDU and its answer end within the transmit opportunity.
    fn fits_txop(&self, radio: usize, peer: usize, category: usize) -> bool {
        let takes_ns = self.exchange_times(radio, peer, category).total_ns();
        after(self.now, takes_ns) <= self.radios[radio].exchange.txop_end
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
            Step::CfEnd => return self.release(radio, true),
            _ => return,
        };
        r.exchange.step = next;
        let rate = r.answer_rate(r.ppdu.rate);
        // 10.3.2.11: SIFS, a slot, and the time after which a reception would have been noticed.
        let standard = r.sifs_ns + r.slot_ns + duration::preamble(rate).as_nanos() as u64;
        let wait = r.spec.answer_timeout.map_or(standard, |told| told.as_nanos() as u64);
        self.timers.set(radio, Cause::AnswerMissing, after(self.now, wait));
    }

    /// The answer's time has passed.
    pub(crate) fn on_answer_missing(&mut self, radio: usize) {
        // Something is being received: it may be the answer, so its end decides.
        if self.medium.receivers[radio].is_receiving() {
            let from = usize::from(self.medium.receivers[radio].lock.from);
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
        let limit = queue.limit.unwrap_or(limit);
        queue.tries = queue.tries.saturating_add(1);
        match e.step {
            // A request is repeated until it is answered or the MPDUs behind it expire, as in ns-3: without the answer
            // nobody knows what has come. Other receivers have their turn in between.
            Step::AwaitBarAnswer => {
                queue.bar_tries = queue.bar_tries.saturating_add(1);
                if queue.bar_tries > limit {
                    queue.bar_due = !queue.window.is_empty();
                    self.rotate(radio, category);
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
                    self.rotate(radio, category);
                }
            }
            _ => {
                count(&mut self.peers[peer], category, e.stage, 1, 0);
                if self.give_up_worn(peer, category, limit) {
                    self.rotate(radio, category);
                }
            }
        }
        self.fail(radio);
    }

    /// An acknowledgement has come for the one MPDU that was sent.
    pub(crate) fn on_acknowledged(&mut self, radio: usize) {
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        count(&mut self.peers[peer], category, e.stage, 1, 1);
        for mpdu in self.peers[peer].tx[category].window.iter_mut().filter(|m| m.sent) {
            mpdu.fate = Some(Status::Delivered);
        }
        self.pop_done(peer, category);
        self.report(peer, category);
        self.succeed(radio);
    }

    /// A Block Ack has come: for an A-MPDU, or for a request.
    pub(crate) fn on_block_ack(&mut self, radio: usize, start: u16, bitmap: u64) {
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        let limit = self.radios[radio].spec.retry_limit;
        let queue = &mut self.peers[peer].tx[category];
        (queue.bar_due, queue.bar_tries) = (false, 0);
        let (mut sent, mut acked, mut worn) = (0, 0, false);
        for mpdu in queue.window.iter_mut().filter(|m| m.sent && m.fate.is_none()) {
            let place = frame::seq_diff(mpdu.seq, start);
            sent += 1;
            if (0..64).contains(&place) && bitmap >> place & 1 == 1 {
                mpdu.fate = Some(Status::Delivered);
                acked += 1;
            } else {
                mpdu.sent = false;
                if mpdu.attempts >= limit {
                    (mpdu.fate, worn) = (Some(Status::Failed), true);
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
        self.report(peer, category);
        self.succeed(radio);
    }

    /// A frame to a group has been sent: that is all.
    pub(crate) fn on_group_sent(&mut self, radio: usize) {
        let e = self.radios[radio].exchange;
        let (peer, category) = (e.peer as usize, e.category);
        for mpdu in self.peers[peer].tx[category].window.iter_mut().filter(|m| m.sent) {
            mpdu.fate = Some(Status::Delivered);
        }
        self.pop_done(peer, category);
        self.succeed(radio);
    }

    /// The frame at hand is done with: rate control learns what came of it.
    pub(crate) fn report(&mut self, peer: usize, category: usize) {
        let p = &mut self.peers[peer];
        p.tx[category].tries = 0;
        if let Some((_, report)) = p.tx[category].chain.take() {
            p.control.report(self.now, &report);
        }
    }

    /// An exchange is over, and was answered. The next peer has its turn, within the transmit opportunity if there is one.
    fn succeed(&mut self, radio: usize) {
        self.timers.clear(radio, Cause::AnswerMissing);
        let category = self.radios[radio].exchange.category;
        self.rotate(radio, category);
        let r = &mut self.radios[radio];
        let next = after(self.now, r.sifs_ns);
        if r.exchange.txop_end > next {
            r.exchange.step = Step::Continue;
            return self.timers.set(radio, Cause::Respond, next);
        }
        self.release(radio, true);
    }

    /// An exchange has failed. The first one of a transmit opportunity ends it; after a later one the holder goes on if
    /// the medium stays idle for PIFS (10.23.2.8).
    fn fail(&mut self, radio: usize) {
        self.timers.clear(radio, Cause::AnswerMissing);
        let r = &mut self.radios[radio];
        let next = after(self.now, r.sifs_ns + r.slot_ns);
        if r.exchange.continued && r.exchange.txop_end > next && !self.medium.receivers[radio].is_busy() {
            r.exchange.step = Step::Recover { since: self.now };
            return self.timers.set(radio, Cause::Respond, next);
        }
        self.release(radio, false);
    }

    /// Goes on within the transmit opportunity, or ends it.
    pub(crate) fn go_on(&mut self, radio: usize) {
        let category = self.radios[radio].exchange.category;
        if !self.serve(radio, category, true) && !self.send_cf_end(radio) {
            self.release(radio, true);
        }
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
    pub(crate) fn rotate(&mut self, radio: usize, category: usize) {
        let discipline = self.radios[radio].spec.queue.discipline;
        let Some(peer) = self.radios[radio].ready[category].pop_front() else { return };
        let p = &mut self.peers[peer as usize];
        p.polled = false;
        if p.tx[category].has_work() && !p.dozing {
            let ready = &mut self.radios[radio].ready[category];
            match discipline {
                // It stays at the head until its airtime is used up.
                Discipline::AirtimeFair => ready.push_front(peer),
                _ => ready.push_back(peer),
            }
        } else {
            p.tx[category].listed = false;
        }
        if p.held_after {
            self.groups_sent(peer as usize);
        }
    }
}

/// Counts what came of one PPDU, for rate control.
pub(crate) fn count<T>(p: &mut Peer<T>, category: usize, stage: usize, sent: u16, acked: u16) {
    if let Some((_, report)) = &mut p.tx[category].chain {
        report.count(stage, sent, acked);
    }
}

pub(crate) fn count_block_ack<T>(
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
