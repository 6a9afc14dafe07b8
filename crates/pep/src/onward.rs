//! The copy on its way to the receiver: what may be sent, and what is sent again.

use crate::{MAX_RANGES, Ranges, Time};
use core::ops::Range;
use core::time::Duration;
use ropewalk_packet::{Ecn, Flags};

/// RFC 6298 §2.4 asks for 1 s; Linux takes 200 ms, and so does this.
const RTO_MIN: Duration = Duration::from_millis(200);
/// RFC 6298 §2.1: before the first round trip was measured.
const RTO_FIRST: Duration = Duration::from_secs(1);
/// Timeouts in a row after which the receiver counts as gone: 200 ms doubled nine times are 100 s
/// (RFC 9293 §3.8.3, R2).
const TIMEOUTS: u32 = 9;

/// So many timeouts in a row, or repetitions of the first piece that were lost while others arrive,
/// and longer pieces are taken not to pass: only this box can cut them (RFC 2923 §2.1).
const CUT_AFTER: u32 = 2;
/// Pieces are cut no shorter: 576 bytes pass everywhere (RFC 791), with headers and options.
const SHORTEST: u64 = 512;
/// A shorter way may be longer again after this, or it was an outage; and after twice as long each
/// time, up to the second (RFC 1191 §6.3).
const SHORT: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(600));

/// One segment as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) range: Range<u64>,
    /// FIN, PSH, URG and CWR of the segment.
    pub(crate) flags: Flags,
    pub(crate) urgent: u16,
    pub(crate) ecn: Ecn,
    sent_at: Option<Time>,
    repeated: bool,
    selected: bool,
    /// It was selected once, whatever a timeout made of that.
    told: bool,
    lost: bool,
}

impl Piece {
    pub(crate) fn new(range: Range<u64>, flags: Flags, urgent: u16, ecn: Ecn) -> Piece {
        let (sent_at, repeated, selected, told, lost) = (None, false, false, false, false);
        Piece { range, flags, urgent, ecn, sent_at, repeated, selected, told, lost }
    }

    fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// What of it lies from `at` bytes on, which are left.
    fn split_off(&mut self, at: u64) -> Piece {
        let middle = self.range.start + at;
        let without = |flags: Flags, gone: Flags| Flags(flags.0 & !gone.0);
        let mut rest = Piece { range: middle..self.range.end, ..self.clone() };
        self.range.end = middle;
        self.flags = without(self.flags, Flags::FIN | Flags::PSH);
        rest.flags = without(rest.flags, Flags::CWR);
        rest.pass(at);
        rest
    }

    /// It begins so many bytes later than the segment did that its urgent pointer is of.
    fn pass(&mut self, bytes: u64) {
        let skipped = bytes.min(0xFFFF) as u16;
        match self.urgent.checked_sub(skipped) {
            Some(left) => self.urgent = left,
            // The urgent point lies before it.
            None => (self.urgent, self.flags) = (0, Flags(self.flags.0 & !Flags::URG.0)),
        }
    }

    fn in_flight(&self) -> bool {
        self.sent_at.is_some() && !self.selected && !self.lost
    }

    /// To be sent again.
    fn is_lost(&self) -> bool {
        self.lost && !self.selected
    }
}

/// Of all pieces together: what changes none of them need not walk over them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Tally {
    /// Bytes in flight.
    flight: u64,
    /// Pieces to be sent again.
    lost: usize,
    /// When the first was sent that something sent later has overtaken.
    overtaken: Option<Time>,
}

/// The sender's side of the second connection: pieces, window, round trip.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Onward {
    /// In ascending order, disjoint. They leave in this order: those that were sent are the first.
    pieces: Vec<Piece>,
    tally: Tally,
    /// What is here, released or not.
    pub(crate) have: Ranges,
    /// One past the highest offset that was sent.
    pub(crate) sent_until: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Losses below this were answered by one reduction already.
    recovery_until: u64,
    rtt: Option<Duration>,
    /// Send time and end of the newest piece that is known to have arrived (RFC 8985 §6.2,
    /// `RACK.xmit_ts` and `RACK.end_seq`: of what was sent at one instant the ends decide).
    arrived: Option<(Time, u64)>,
    timeouts: u32,
    /// Repetitions of the first piece that were lost in a row, without a timeout.
    lost_again: u32,
    timer_from: Time,
    mss: u64,
    /// Pieces go in parts of at most so many bytes, until then.
    most: Option<(u64, Time)>,
    /// For how long they will do so the next time.
    short_for: Duration,
    /// The FIN was acknowledged, and all before it.
    pub(crate) finished: bool,
}

impl Onward {
    pub(crate) fn new(mss: u64) -> Onward {
        let mut have = Ranges::default();
        have.insert(0..1, MAX_RANGES);
        Onward {
            pieces: Vec::new(),
            tally: Tally::default(),
            have,
            sent_until: 1,
            cwnd: 10 * mss,
            ssthresh: u64::MAX,
            recovery_until: 0,
            rtt: None,
            arrived: None,
            timeouts: 0,
            lost_again: 0,
            timer_from: Time::ZERO,
            mss,
            most: None,
            short_for: SHORT.0,
            finished: false,
        }
    }

    /// Takes what is new of `piece`. False if there was nothing new, or no room.
    pub(crate) fn insert(&mut self, piece: &Piece, acked: u64) -> bool {
        let mut at = piece.range.start.max(acked);
        let mut new = false;
        while at < piece.range.end {
            if let Some(end) = self.have.end_from(at) {
                at = end;
                continue;
            }
            let next = self.have.iter().map(|r| r.start).find(|s| *s > at).unwrap_or(u64::MAX);
            let end = piece.range.end.min(next);
            if self.pieces.len() >= 4 * MAX_RANGES || !self.have.insert(at..end, MAX_RANGES) {
                return new;
            }
            let mut part = Piece { range: at..end, ..piece.clone() };
            if end < piece.range.end {
                part.flags = Flags(part.flags.0 & !(Flags::FIN.0 | Flags::PSH.0));
            }
            part.pass(at - piece.range.start);
            let place = self.pieces.partition_point(|p| p.range.start < at);
            self.pieces.insert(place, part);
            (new, at) = (true, end);
        }
        new
    }

    /// Up to where all bytes from `acked` on are here, released or not.
    pub(crate) fn here(&self, acked: u64) -> u64 {
        self.have.end_from(acked).unwrap_or(acked)
    }

    /// The next piece in order is here. What lies beyond a gap waits for the sender, whatever the
    /// receiver says.
    fn has_next(&self) -> bool {
        self.pieces.first().is_some_and(|p| self.have.end_from(0).is_some_and(|end| p.range.start < end))
    }

    fn flight(&self) -> u64 {
        self.pieces.iter().filter(|p| p.in_flight()).map(Piece::bytes).sum()
    }

    /// Counts anew, after what walks over all pieces anyway.
    fn count(&mut self) {
        let mut all = Tally { flight: self.flight(), ..Tally::default() };
        for piece in self.pieces.iter().take_while(|p| p.sent_at.is_some()) {
            all.lost += usize::from(piece.is_lost());
            let flying = piece.sent_at.filter(|_| piece.in_flight());
            let overtaken = flying.filter(|sent| Some((*sent, piece.range.end)) < self.arrived);
            all.overtaken = all.overtaken.into_iter().chain(overtaken).min();
        }
        self.tally = all;
    }

    /// The place of the next piece to send below `edge`, lost ones first.
    fn ready(&self, edge: u64) -> Option<usize> {
        // A FIN takes a number but no room of the window.
        let fits = |p: &Piece| p.range.end - u64::from(p.flags.has(Flags::FIN)) <= edge;
        if self.tally.lost > 0 {
            return self.pieces.iter().position(Piece::is_lost);
        }
        let unsent = self.pieces.partition_point(|p| p.sent_at.is_some());
        self.pieces.get(unsent).is_some_and(fits).then_some(unsent)
    }

    /// The next piece to send below `edge`, lost ones first; it counts as sent. True if it is a
    /// repetition.
    pub(crate) fn next(&mut self, edge: u64, now: Time) -> Option<(Piece, bool)> {
        let (i, flight) = (self.ready(edge)?, self.tally.flight);
        self.most = self.most.filter(|(_, until)| now < *until);
        if let Some((most, _)) = self.most.filter(|(most, _)| self.pieces[i].bytes() > *most) {
            let rest = self.pieces[i].split_off(most);
            self.tally.lost += usize::from(rest.is_lost());
            self.pieces.insert(i + 1, rest);
        }
        let piece = &mut self.pieces[i];
        if flight > 0 && flight + piece.bytes() > self.cwnd {
            return None;
        }
        if flight == 0 {
            self.timer_from = now;
        }
        self.tally.lost -= usize::from(piece.is_lost());
        self.tally.flight += piece.bytes();
        let again = piece.sent_at.replace(now).is_some();
        (piece.repeated, piece.lost) = (again, false);
        self.sent_until = self.sent_until.max(piece.range.end);
        // What it repeats may have been overtaken at this very instant.
        if Some((now, piece.range.end)) < self.arrived {
            self.tally.overtaken.get_or_insert(now);
        }
        Some((piece.clone(), again))
    }

    /// The receiver has all below `ack`, and `selected`.
    pub(crate) fn on_ack(&mut self, ack: u64, selected: &[Range<u64>], now: Time) {
        let mut newly = 0;
        for piece in &mut self.pieces {
            let within = |r: &Range<u64>| r.start <= piece.range.start && piece.range.end <= r.end;
            let acked = piece.range.end <= ack;
            if piece.selected || !(acked || selected.iter().any(within)) {
                continue;
            }
            let Some(sent_at) = piece.sent_at else { continue };
            piece.selected = true;
            // A selection that a timeout forgot is told again: nothing arrived, and no round trip.
            let told = core::mem::replace(&mut piece.told, true);
            if told && !acked {
                continue;
            }
            newly += piece.range.end - piece.range.start;
            self.arrived = self.arrived.max(Some((sent_at, piece.range.end)));
            if !piece.repeated && !told {
                let sample = now.since(sent_at);
                self.rtt = Some(self.rtt.map_or(sample, |old| (old * 7 + sample) / 8));
            }
        }
        let before = self.pieces.len();
        self.finished |= self.pieces.iter().any(|p| p.range.end <= ack && p.flags.has(Flags::FIN));
        self.pieces.retain(|p| p.range.end > ack);
        // What arrives behind the first piece is no sign that the first one passes.
        if self.pieces.len() < before {
            (self.timeouts, self.lost_again) = (0, 0);
        }
        if newly > 0 {
            self.timer_from = now;
            if ack >= self.recovery_until {
                self.grow(newly);
            }
        }
        self.detect(now);
        self.count();
    }

    /// RFC 5681 §3.1.
    fn grow(&mut self, newly: u64) {
        let step = if self.cwnd < self.ssthresh { newly } else { (self.mss * newly / self.cwnd).max(1) };
        self.cwnd = (self.cwnd + step).min(1 << 30);
    }

    /// RFC 8985 §6.2: what was sent a reordering window before something that arrived is lost.
    fn detect(&mut self, now: Time) {
        let Some(newest) = self.arrived else {
            return;
        };
        let (rtt, window) = (self.rtt.unwrap_or(RTO_FIRST), self.reordering());
        let late = |sent: Time, end| (sent, end) < newest && now >= sent + rtt + window;
        let is_late = |p: &Piece| p.in_flight() && p.sent_at.is_some_and(|sent| late(sent, p.range.end));
        // What goes on arriving behind the first piece puts its timeout off.
        if self.pieces.first().is_some_and(|p| p.repeated && is_late(p)) {
            self.lost_again = (self.lost_again + 1).min(CUT_AFTER);
            if self.lost_again == CUT_AFTER {
                self.shorten(now);
            }
        }
        let mut lost = None;
        for piece in self.pieces.iter_mut().filter(|p| is_late(p)) {
            piece.lost = true;
            lost = lost.max(Some(piece.range.end));
        }
        if lost > Some(self.recovery_until) {
            self.ssthresh = (self.flight() / 2).max(2 * self.mss);
            self.cwnd = self.ssthresh;
            self.recovery_until = self.sent_until;
        }
    }

    fn reordering(&self) -> Duration {
        (self.rtt.unwrap_or(RTO_FIRST) / 4).max(Duration::from_millis(1))
    }

    fn rto(&self) -> Duration {
        let base = self.rtt.map_or(RTO_FIRST, |rtt| (rtt * 2).max(RTO_MIN));
        base * (1 << self.timeouts.min(TIMEOUTS))
    }

    /// When [`on_timer`](Self::on_timer) has something to do, and what.
    pub(crate) fn timeout(&self) -> Option<(Time, &'static str)> {
        let after = self.rtt.unwrap_or(RTO_FIRST) + self.reordering();
        let late = self.tally.overtaken.map(|sent| (sent + after, "a late piece"));
        let rto = self.has_next().then(|| (self.timer_from + self.rto(), "the receiver's silence"));
        late.into_iter().chain(rto).min()
    }

    /// True if the receiver is to be probed: nothing is on the way, and something waits for its
    /// window or its answer.
    pub(crate) fn on_timer(&mut self, now: Time) -> bool {
        self.detect(now);
        let is_over = self.has_next() && now >= self.timer_from + self.rto();
        let waits = is_over && self.time_out(now);
        self.count();
        waits
    }

    /// The receiver is silent. True if nothing is on the way.
    fn time_out(&mut self, now: Time) -> bool {
        self.timeouts += 1;
        self.timer_from = now;
        let waits = self.pieces.iter().all(|p| p.sent_at.is_none());
        if !waits {
            if self.timeouts >= CUT_AFTER {
                self.shorten(now);
            }
            self.ssthresh = (self.flight() / 2).max(2 * self.mss);
            self.cwnd = self.mss;
            self.recovery_until = self.sent_until;
            // RFC 2018 §8: after a timeout selections count for nothing.
            for piece in self.pieces.iter_mut().filter(|p| p.sent_at.is_some()) {
                (piece.lost, piece.selected) = (true, false);
            }
        }
        waits
    }

    /// The first piece does not arrive, as it is: from now on half of its length at most.
    fn shorten(&mut self, now: Time) {
        let first = self.pieces.first().map_or(0, Piece::bytes);
        if first > SHORTEST {
            self.most = Some(((first / 2).max(SHORTEST), now + self.short_for));
            self.short_for = (self.short_for * 2).min(SHORT.1);
        }
    }

    /// An answer, even one that acknowledges nothing: the receiver lives.
    pub(crate) fn on_answer(&mut self) {
        self.timeouts = self.timeouts.min(TIMEOUTS - 1);
        if self.tally.flight == 0 {
            self.timeouts = self.timeouts.min(4);
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.timeouts > TIMEOUTS
    }
}
