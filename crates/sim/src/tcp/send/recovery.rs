//! Where the sender stands between a loss and its repair, as Linux's `tcp_fastretrans_alert` has it: open, reducing for
//! marks, in fast recovery (RFC 6675), or after a timeout; and taking back what proves mistaken.

use super::Sender;
use super::ack::Round;
use super::control::Progress;
use ropewalk_air::Time;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Open,
    /// The window is being reduced without a loss (marks, or a loss that a probe repaired).
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What is needed to take an event back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// Lowest unacknowledged offset when it began.
    marker: u64,
    /// Retransmissions that the receiver has not reported as duplicates; none was made yet if `None`.
    unproven: Option<u64>,
}

/// A tail loss probe that is out (RFC 8985 §7.3).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Next offset to be sent when it left.
    end: u64,
    /// It was a copy, not new data.
    copy: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    pub phase: Phase,
    /// The phase is over when this offset is acknowledged.
    end: u64,
    /// When it began: later losses within it are of the same event.
    began: Time,
    undo: Option<Undo>,
    /// When the first of the copies left that may still be on the way.
    first_copy: Option<Time>,
    /// It may still turn out that the timeout was spurious (RFC 5682).
    frto: bool,
    /// Until the next acknowledgement, new data goes before retransmissions (RFC 5682 §3.1, step 2.b).
    pub new_data_first: bool,
    probe: Option<Probe>,
    probe_due: bool,
}

impl Recovery {
    pub(super) fn has_probe_out(&self) -> bool {
        self.probe.is_some()
    }

    pub(super) fn set_probe_due(&mut self) {
        self.probe_due = true;
    }

    /// True once when a tail loss probe is due.
    pub(super) fn take_probe_due(&mut self) -> bool {
        core::mem::take(&mut self.probe_due)
    }

    /// It ends at this offset.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn probe_end(&self) -> Option<u64> {
        self.probe.map(|probe| probe.end)
    }

    pub(super) fn on_probe(&mut self, end: u64, copy: bool) {
        self.probe = Some(Probe { end, copy });
    }

    /// A retransmission leaves.
    pub(super) fn on_retransmit(&mut self, now: Time) {
        if let Some(undo) = &mut self.undo {
            undo.unproven = Some(undo.unproven.unwrap_or(0) + 1);
        }
        // As timestamps have it: in whole milliseconds.
        self.first_copy.get_or_insert(Time::from_millis(now.as_nanos() / 1_000_000));
    }

    /// The receiver had `start..end` twice; `mss` turns bytes into segments.
    pub(super) fn on_duplicate(&mut self, start: u64, end: u64, una: u64, mss: u64) {
        let Some(undo) = &mut self.undo else { return };
        if end > undo.marker && end <= una {
            let segments = (end - start).div_ceil(mss);
            undo.unproven = undo.unproven.map(|n| n.saturating_sub(segments));
        }
    }
}

impl Sender {
    fn begin_event(&mut self, now: Time, phase: Phase) {
        self.control.begin_event();
        let copies = self.board.copies();
        let unproven = (copies > 0).then_some(copies);
        self.recovery.undo = self.config.undo.then_some(Undo { marker: self.una, unproven });
        self.recovery.began = now;
        self.recovery.phase = phase;
        self.recovery.end = self.next;
    }

    /// Reports losses to the controller as part of the present event.
    fn report_loss(&mut self, now: Time, round: &Round) {
        let newest = match self.recovery.phase {
            // What is lost again in a recovery is no second event.
            Phase::Recovery | Phase::Loss => round.newest_lost.min(self.recovery.began),
            Phase::Open | Phase::Reducing => round.newest_lost,
        };
        self.control.on_loss(now, round.lost, newest, self.board.flight());
    }

    /// Moves between the phases after an acknowledgement, or after the reordering timer.
    pub(super) fn advance_phase(&mut self, now: Time, round: &mut Round) {
        self.recovery.new_data_first = false;
        self.judge_probe(now, round);
        self.leave_if_done(now);
        if self.recovery.phase == Phase::Open && self.board.copies() == 0 {
            self.recovery.first_copy = None;
        }
        match self.recovery.phase {
            Phase::Loss => {
                self.after_timeout(now, round);
                self.find_losses(now, round);
                if round.lost > 0 {
                    self.report_loss(now, round);
                }
            }
            Phase::Recovery => {
                if round.advanced {
                    self.undo_if_delayed(now, round);
                }
                self.undo_if_all_proven(now);
                self.find_losses(now, round);
                self.enter_or_continue(now, round);
            }
            Phase::Open | Phase::Reducing => {
                self.undo_if_all_proven(now);
                self.find_losses(now, round);
                self.enter_or_continue(now, round);
            }
        }
    }

    fn enter_or_continue(&mut self, now: Time, round: &Round) {
        if round.lost == 0 {
            return;
        }
        if self.recovery.phase != Phase::Recovery {
            self.begin_event(now, Phase::Recovery);
            self.stats.recoveries += 1;
        }
        self.report_loss(now, round);
    }

    fn leave_if_done(&mut self, now: Time) {
        match self.recovery.phase {
            // Beyond, not at, the end: the news of the reduction has reached the receiver.
            Phase::Reducing if self.una > self.recovery.end => self.open(),
            Phase::Recovery if self.una >= self.recovery.end => {
                if self.is_mistaken(None) {
                    self.undo(now, false);
                }
                self.rack.on_recovery_end();
                self.open();
            }
            _ => {}
        }
    }

    fn open(&mut self) {
        self.control.end_reduction();
        self.recovery.phase = Phase::Open;
    }

    /// All copies were duplicates (RFC 3708), or the acknowledgement that echoes `echo` was for an original (RFC 3522).
    fn is_mistaken(&self, echo: Option<Time>) -> bool {
        let Some(undo) = self.recovery.undo else { return false };
        let early = matches!((echo, self.recovery.first_copy), (Some(echo), Some(copy)) if echo < copy);
        undo.unproven == Some(0) || early
    }

    fn undo(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        self.control.undo(now);
        self.recovery.undo = None;
        self.stats.undos += 1;
    }

    fn undo_if_all_proven(&mut self, now: Time) {
        if self.is_mistaken(None) {
            self.undo(now, false);
            if self.recovery.phase == Phase::Reducing || self.recovery.phase == Phase::Recovery {
                self.open();
            }
        }
    }

    fn undo_if_delayed(&mut self, now: Time, round: &Round) {
        let only_echo = self.recovery.undo.is_some_and(|undo| undo.unproven != Some(0));
        if only_echo && self.is_mistaken(round.echo) {
            self.undo(now, true);
            self.open();
        }
    }

    /// A timeout was spurious if data that was sent only once arrives first (RFC 5682 §3.1).
    fn after_timeout(&mut self, now: Time, round: &Round) {
        let done = self.una >= self.recovery.end;
        let original = self.recovery.frto && round.original;
        if original || (round.advanced && self.is_mistaken(round.echo)) {
            self.undo(now, true);
            return self.open();
        }
        if self.recovery.frto {
            if self.next > self.recovery.end {
                self.recovery.frto &= round.advanced && !round.sacked;
            } else if round.advanced && !done {
                self.recovery.end = self.next;
                self.recovery.new_data_first = self.next_new().is_some();
                self.recovery.frto = self.recovery.new_data_first;
                return;
            }
        }
        if done {
            self.recovery.phase = Phase::Open;
        }
    }

    /// A retransmission timeout, when the whole flight has to be judged anew (RFC 6298 §5.4 to 5.6, RFC 5681 §3.1).
    pub(super) fn time_out(&mut self, now: Time) {
        if self.una == 0 {
            return self.repeat_syn();
        }
        let again = self.rtt.backoff() > 0;
        let phase = self.recovery.phase;
        let first =
            matches!(phase, Phase::Open) || self.una >= self.recovery.end || !again && phase == Phase::Loss;
        if self.board.head().is_some_and(|head| head.sacked) {
            self.board.forget_sacks();
        }
        let round = self.lose_old_flight(now);
        if first {
            self.begin_event(now, Phase::Loss);
        }
        self.report_loss(now, &round);
        self.recovery.frto = self.config.frto && (phase != Phase::Recovery && phase != Phase::Loss || again);
        self.recovery.phase = Phase::Loss;
        self.recovery.end = self.next;
        self.recovery.probe = None;
        // No acknowledgement came for the new data: the head goes first again.
        self.recovery.new_data_first = false;
        self.control.collapse(self.board.flight());
        self.rtt.back_off();
        self.stats.timeouts += 1;
    }

    /// The SYN, or SYN-ACK, was not answered: nothing is known of the path that the window could learn from.
    fn repeat_syn(&mut self) {
        let head = self.board.iter().next().map(|(id, _)| id);
        head.into_iter().for_each(|id| self.board.mark_lost(id));
        self.rtt.back_off();
        self.stats.timeouts += 1;
    }

    /// Marks all that was sent long enough ago, and the head in any case.
    fn lose_old_flight(&mut self, now: Time) -> Round {
        let mut round = Round::default();
        let head = self.board.head().map(|head| head.seq);
        let old: Vec<_> = self
            .board
            .iter()
            .filter(|(_, sent)| !sent.sacked && (!sent.lost || sent.retransmitting))
            .filter(|(_, sent)| Some(sent.seq) == head || !self.uses_rack() || !self.rack.is_fresh(now, sent))
            .map(|(id, sent)| (id, *sent))
            .collect();
        for (id, sent) in old {
            self.board.mark_lost(id);
            round.lost += u64::from(sent.len);
            round.newest_lost = round.newest_lost.max(sent.sent);
        }
        round
    }

    /// The tail loss probe came back, or what it says is known (RFC 8985 §7.4).
    fn judge_probe(&mut self, now: Time, round: &Round) {
        let Some(probe) = self.recovery.probe else { return };
        if self.una < probe.end {
            return;
        }
        if !probe.copy || round.duplicate_of_probe {
            self.recovery.probe = None;
        } else if self.una > probe.end {
            // One loss happened and the probe repaired it: the window must answer (§7.4.2).
            self.recovery.probe = None;
            self.control.on_loss(now, self.mss, now, self.board.flight());
            self.control.end_reduction();
        } else if round.nothing_new() {
            self.recovery.probe = None;
        }
    }

    /// The controller answered a mark: reduce until what is in the network now is acknowledged.
    pub(super) fn begin_reducing(&mut self) {
        if self.recovery.phase == Phase::Open {
            self.recovery.phase = Phase::Reducing;
            self.recovery.end = self.next;
        }
        self.tell_reduced = true;
        self.stats.marks += 1;
    }

    /// The next tail loss probe: new data if there is some, else the last segment again (RFC 8985 §7.3).
    pub(super) fn tail_loss_probe(&mut self, now: Time) -> Option<super::Outgoing> {
        self.stats.probes += 1;
        let end = self.next;
        let sent = match self.next_new() {
            Some(new) => {
                self.recovery.on_probe(end, false);
                Some(self.send_new(now, new))
            }
            None => {
                let tail = self.board.tail()?;
                self.recovery.on_probe(end, true);
                self.retransmit(now, tail)
            }
        };
        self.timers.restart_rto(now, self.rtt.rto());
        sent
    }

    /// The reordering timer: look for losses as an acknowledgement does.
    pub(super) fn on_reordering_timer(&mut self, now: Time) {
        let mut round = Round::default();
        let before = self.board.flight();
        self.recovery.new_data_first = false;
        self.find_losses(now, &mut round);
        if self.recovery.phase == Phase::Loss {
            if round.lost > 0 {
                self.report_loss(now, &round);
            }
        } else {
            self.enter_or_continue(now, &round);
        }
        if self.board.flight() != before {
            let flight = self.board.flight();
            self.control.reduce(&Progress { delivered: self.mss, lost: round.lost, flight, advanced: false });
        }
        self.timers.restart_rto_if_none(now, self.rtt.rto());
    }
}
