//! What an acknowledgement does to the sending half.

use super::Sender;
use super::control::{Feedback, Progress};
use super::recovery::Phase;
use super::scoreboard::Sent;
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_cc::rate::Snapshot;

/// An acknowledgement with its numbers turned into offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledgement {
    /// Next offset that the peer expects.
    pub ack: u64,
    /// SACK blocks, a DSACK not among them.
    pub sack: Vec<(u64, u64)>,
    /// What the peer had twice (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// When the segment that it echoes left, to the millisecond.
    pub echo: Option<Time>,
    /// It echoes a congestion mark.
    pub marked: bool,
    /// It carries data.
    pub has_data: bool,
    /// It changed the window.
    pub window_changed: bool,
}

/// What one acknowledgement, or the reordering timer, brought to light.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Bytes delivered.
    pub delivered: u64,
    /// Bytes believed lost since.
    pub lost: u64,
    /// Latest send time among the lost.
    pub newest_lost: Time,
    /// The lowest unacknowledged offset moved.
    pub advanced: bool,
    pub echo: Option<Time>,
    /// Data that was sent only once, before the present phase began, was delivered.
    pub original: bool,
    /// Something was SACKed.
    pub sacked: bool,
    /// The tail loss probe arrived besides the original.
    pub duplicate_of_probe: bool,
    /// A bare repetition of the last acknowledgement.
    repetition: bool,
    repeated_acknowledged: bool,
    /// Lowest offset of data sent once that something overtook.
    overtaken: Option<u64>,
    /// Send times of the first and last segments acknowledged, sent once.
    acknowledged: Option<(Time, Time)>,
    first_sacked: Option<Time>,
    last_sacked: Option<Time>,
    newest: Option<(Time, Snapshot)>,
}

impl Round {
    /// The acknowledgement says only what was known.
    pub(super) fn nothing_new(&self) -> bool {
        self.repetition
    }

    fn on_delivered(&mut self, sent: &Sent, cumulative: bool) {
        self.delivered += u64::from(sent.len);
        if self.newest.is_none_or(|(at, _)| sent.sent >= at) {
            self.newest = Some((sent.sent, sent.snapshot));
        }
        if sent.was_repeated() {
            self.repeated_acknowledged |= cumulative;
            return;
        }
        if cumulative {
            let first = self.acknowledged.map_or(sent.sent, |a| a.0);
            self.acknowledged = Some((first, sent.sent));
        } else {
            self.first_sacked.get_or_insert(sent.sent);
            self.last_sacked = self.last_sacked.max(Some(sent.sent));
        }
    }
}

impl Sender {
    /// Takes in an acknowledgement. Offsets beyond what was sent are for the caller to refuse.
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Acknowledgement) {
        let mut round = Round { echo: ack.echo, ..Round::default() };
        let flight_before = self.board.flight();
        let high_before = self.board.highest_sacked();
        self.note_duplicate(ack, flight_before, &mut round);
        self.take_sacks(now, ack, high_before, &mut round);
        self.take_cumulative(now, ack, high_before, &mut round);
        round.repetition = !round.advanced
            && !round.sacked
            && !ack.has_data
            && !ack.window_changed
            && ack.ack == self.una
            && !self.board.is_empty();
        if let Some(low) = round.overtaken {
            self.rack.on_reordering(low, high_before, self.mss);
        }
        self.sample_rtt(now, &round);
        let was_open = self.recovery.phase == Phase::Open;
        self.advance_phase(now, &mut round);
        self.tell_control(now, &round, ack.marked && was_open && self.recovery.phase == Phase::Open);
        self.set_timers(now, &round);
    }

    fn note_duplicate(&mut self, ack: &Acknowledgement, flight: u64, round: &mut Round) {
        let Some((start, end)) = ack.duplicate else { return };
        self.stats.duplicates += 1;
        round.duplicate_of_probe = self.recovery.probe_end() == Some(end);
        self.recovery.on_duplicate(start, end, ack.ack.max(self.una), self.mss);
        self.rack.on_duplicate(self.control.delivered(), flight);
    }

    fn take_sacks(&mut self, now: Time, ack: &Acknowledgement, high: u64, round: &mut Round) {
        let (rack, control, rtt) = (&mut self.rack, &mut self.control, &self.rtt);
        let end = self.recovery.end();
        self.board.sack(&ack.sack, |sent| {
            rack.on_delivered(now, sent, rtt.min());
            control.on_delivered(now, u64::from(sent.len), sent.sent, &sent.snapshot);
            round.on_delivered(sent, false);
            round.sacked = true;
            note_original(sent, high, end, round);
        });
    }

    fn take_cumulative(&mut self, now: Time, ack: &Acknowledgement, high: u64, round: &mut Round) {
        if ack.ack <= self.una {
            return;
        }
        round.advanced = true;
        self.una = ack.ack;
        let (rack, control, rtt) = (&mut self.rack, &mut self.control, &self.rtt);
        let end = self.recovery.end();
        self.board.acknowledge(ack.ack, |sent| {
            if sent.sacked {
                return;
            }
            rack.on_delivered(now, sent, rtt.min());
            control.on_delivered(now, u64::from(sent.len), sent.sent, &sent.snapshot);
            round.on_delivered(sent, true);
            note_original(sent, high, end, round);
        });
        if round.repeated_acknowledged {
            // Which copy arrived is not known.
            round.original = false;
            round.overtaken = None;
        }
        while self.mappings.front().is_some_and(|m| m.offset + m.len <= ack.ack) {
            self.mappings.pop_front();
        }
        self.rtt.end_backoff();
        self.timers.reset_window_probe();
    }

    /// RFC 6298 §3 (no sample from what was repeated), except that an echoed timestamp tells which copy it was.
    fn sample_rtt(&mut self, now: Time, round: &Round) {
        let echoed = || round.echo.filter(|_| round.advanced).map(|at| now - at);
        let smooth =
            round.acknowledged.map(|(first, _)| now - first).or(round.first_sacked.map(|at| now - at));
        if let Some(rtt) = smooth.or_else(echoed) {
            self.rtt.sample(rtt, self.una, self.next);
            self.stats.rtt_sum += rtt;
            self.stats.rtt_samples += 1;
        }
        let last = round.acknowledged.map(|(_, last)| last).max(round.last_sacked);
        if let Some(rtt) = last.map(|at| now - at).or_else(echoed) {
            self.rtt.freshest(now, rtt.max(Duration::from_nanos(1)));
        }
    }

    /// Finds losses among what has been sent, and sets the reordering timer.
    pub(super) fn find_losses(&mut self, now: Time, round: &mut Round) {
        self.timers.reordering = None;
        let lost = if self.uses_rack() { self.lost_by_time(now) } else { self.lost_by_count() };
        for sent in lost {
            round.lost += u64::from(sent.len);
            round.newest_lost = round.newest_lost.max(sent.sent);
        }
    }

    fn lost_by_time(&mut self, now: Time) -> Vec<Sent> {
        let recovering = matches!(self.recovery.phase, Phase::Recovery | Phase::Loss);
        let judge = self.rack.judge(&self.rtt, self.board.sacked_segments(), recovering);
        let mut wait = None;
        let lost = self.board.mark_lost_in_order(|sent| match judge.lost_at(sent) {
            Some(at) if at <= now => true,
            Some(at) => {
                wait = Some(at);
                false
            }
            None => false,
        });
        self.timers.reordering = wait;
        lost
    }

    /// RFC 6675 §4, IsLost: so many segments' worth of SACKed data lies above.
    fn lost_by_count(&mut self) -> Vec<Sent> {
        let thresh = self.rack.reordering as usize;
        let mut above = 0;
        let mut lost = Vec::new();
        for (id, sent) in self.board.iter().rev() {
            if sent.sacked {
                above += 1;
            } else if above >= thresh && !sent.lost && !sent.was_repeated() {
                lost.push((id, *sent));
            }
            if above == self.board.sacked_segments() && above < thresh {
                break;
            }
        }
        lost.iter().for_each(|(id, _)| self.board.mark_lost(*id));
        lost.into_iter().map(|(_, sent)| sent).collect()
    }

    fn tell_control(&mut self, now: Time, round: &Round, marked: bool) {
        let flight = self.board.flight();
        let progress =
            Progress { delivered: round.delivered, lost: round.lost, flight, advanced: round.advanced };
        if let Some((newest_sent, snapshot)) = round.newest {
            let rtt = self.rtt.latest();
            let feedback = Feedback { newest_sent, rtt, app_limited: snapshot.app_limited, marked };
            if self.control.on_ack(now, feedback, &progress) {
                self.begin_reducing();
            }
        }
        if round.delivered > 0 || round.advanced || round.lost > 0 {
            self.control.reduce(&progress);
        }
    }
}

/// Notes that data sent once has arrived, and whether something that was sent later had overtaken it.
fn note_original(sent: &Sent, high: u64, phase_end: u64, round: &mut Round) {
    if sent.was_repeated() {
        return;
    }
    if sent.end() <= phase_end {
        round.original = true;
    }
    if sent.seq < high {
        round.overtaken = Some(round.overtaken.map_or(sent.seq, |low| low.min(sent.seq)));
    }
}
