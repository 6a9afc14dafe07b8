//! Snoop (Balakrishnan, Seshan, Amir, Katz, MobiCom 1995, §3): segments pass as they came and a copy
//! stays; what is lost behind this box is sent again from the copy. Nothing is acknowledged here, so
//! an acknowledgement means what it always meant.
//!
//! A repeated segment is the sender's own, byte for byte. Hence no kind of connection has to be left
//! alone: TCP-AO, MD5 and MPTCP cover what they always cover, and no window is offered, so neither
//! its scale nor the handshake has to be known.

use crate::{Config, Input, MAX_RANGES, Output, Time};
use core::ops::Range;
use core::time::Duration;
use ropewalk_packet::{Flags, SackBlocks, Segment, seq};
use std::collections::VecDeque;

/// Longer than Linux delays an acknowledgement (40 ms), far shorter than a sender's own timeout.
const TIMEOUT_MIN: Duration = Duration::from_millis(50);
/// So often a segment is sent again from here; then its duplicates pass, and the sender decides.
const TRIES: u8 = 4;
/// What a copy takes besides its payload, in bytes, rounded up.
const OVERHEAD: u64 = 256;

/// A segment that the receiver has not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Copy {
    range: Range<u64>,
    segment: Segment,
    sent_at: Time,
    tries: u8,
    /// The receiver selected it.
    arrived: bool,
    /// The sender repeated it: from then on it is the sender's to repair.
    by_sender: bool,
}

impl Copy {
    fn is_ours(&self) -> bool {
        !self.by_sender && self.tries < TRIES
    }
}

/// What an acknowledgement that goes on has to differ in, to be none of the duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Passed {
    window: u16,
    mptcp: Option<ropewalk_packet::MptcpOption>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Snoop {
    isn: Option<u32>,
    /// In ascending order, disjoint.
    copies: VecDeque<Copy>,
    bytes: u64,
    /// One past the highest offset that passed.
    sent_until: u64,
    acked: u64,
    /// The largest right edge that the receiver offered.
    edge: Option<u64>,
    /// What the SYNs of sender and receiver say of window scales, as far as they were seen.
    scales: [Option<Option<u8>>; 2],
    /// One past the FIN.
    fin: Option<u64>,
    reset: bool,
    passed: Option<Passed>,
    /// The receiver sends SACK blocks.
    selects: bool,
    rtt: Option<Duration>,
    /// Of the newest segment that is known to have arrived: when it was sent, its end, and how long
    /// it and its acknowledgement took (RFC 8985 §6.2).
    arrived: Option<(Time, u64, Duration)>,
    progress_at: Time,
}

impl Snoop {
    pub(crate) fn isn(&self) -> Option<u32> {
        self.isn
    }

    /// Its FIN was acknowledged, or an end has reset it.
    pub(crate) fn is_finished(&self) -> bool {
        self.reset || self.fin.is_some_and(|fin| self.acked >= fin)
    }

    pub(crate) fn handle(&mut self, config: &Config, input: &Input, now: Time, out: &mut VecDeque<Output>) {
        match input {
            Input::FromSender(s) => {
                self.on_sender(config, s, now, out);
                out.push_back(Output::ToReceiver(*s));
            }
            Input::FromReceiver(s) => {
                let on = self.on_receiver(s, now, out);
                self.repair(now, out);
                out.extend(on.map(Output::ToSender));
            }
            Input::Timer => {
                self.repair(now, out);
                self.on_timeout(now, out);
            }
            Input::Held { .. } | Input::HolderGone(_) | Input::HolderBack(_) | Input::Repeated => {}
        }
    }

    /// Takes a copy of what is new.
    fn on_sender(&mut self, config: &Config, s: &Segment, now: Time, out: &mut VecDeque<Output>) {
        if s.flags.has(Flags::RST) || s.flags.has(Flags::SYN) {
            self.forget(out);
            self.isn = s.flags.has(Flags::SYN).then_some(s.seq);
            (self.acked, self.sent_until) = (1, 1);
            (self.fin, self.reset) = (None, s.flags.has(Flags::RST));
            // A SYN that answers another one comes after it.
            let theirs = self.scales[1].filter(|_| s.flags.has(Flags::ACK));
            let own = s.flags.has(Flags::SYN).then_some(s.options.window_scale);
            (self.edge, self.scales) = (None, [own, theirs]);
            return;
        }
        if s.sequence_bytes() == 0 {
            return;
        }
        let isn = *self.isn.get_or_insert_with(|| {
            (self.acked, self.sent_until) = (1, 1);
            s.seq.wrapping_sub(1)
        });
        let Some(at) = seq::offset(isn, self.sent_until, s.seq) else {
            return;
        };
        // No sender skips the receiver's whole window: somebody guesses, and the receiver judges it.
        let end = at + u64::from(s.payload_bytes);
        if at > self.sent_until && self.edge.is_some_and(|edge| end > edge) {
            return;
        }
        let range = at..at + u64::from(s.sequence_bytes());
        if at < self.sent_until {
            let again = |c: &&mut Copy| c.range.start < range.end && range.start < c.range.end;
            self.copies.iter_mut().filter(again).for_each(|c| (c.by_sender, c.sent_at) = (true, now));
            return;
        }
        if self.copies.is_empty() {
            self.progress_at = now;
        }
        self.sent_until = range.end;
        self.fin = s.flags.has(Flags::FIN).then_some(range.end).or(self.fin);
        let takes = u64::from(s.payload_bytes) + OVERHEAD;
        if self.bytes + takes <= config.memory_bytes && self.copies.len() < 4 * MAX_RANGES {
            self.bytes += takes;
            let (tries, arrived, by_sender) = (0, false, false);
            self.copies.push_back(Copy { range, segment: *s, sent_at: now, tries, arrived, by_sender });
        }
    }

    /// The receiver's SYN, or its answer to the sender's.
    fn on_opening(&mut self, s: &Segment) {
        let answers = s.flags.has(Flags::ACK);
        let is_ours = |isn: u32| answers && s.ack == isn.wrapping_add(1);
        if s.flags.has(Flags::SYN) && self.sent_until <= 1 && self.isn.is_none_or(is_ours) {
            self.scales[1] = Some(s.options.window_scale);
            self.edge = answers.then_some(1 + u64::from(s.window));
        }
    }

    /// Shift of the receiver's windows (RFC 7323 §2.2); the largest where the handshake was not seen.
    fn scale(&self) -> u8 {
        let most = 14;
        match self.scales {
            [Some(own), Some(theirs)] => own.and(theirs).map_or(0, |shift| shift.min(most)),
            _ => most,
        }
    }

    /// What of the receiver's segment goes on to the sender.
    fn on_receiver(&mut self, s: &Segment, now: Time, out: &mut VecDeque<Output>) -> Option<Segment> {
        self.on_opening(s);
        let isn = self.isn.filter(|_| s.flags.has(Flags::ACK) && !s.flags.has(Flags::SYN));
        if s.flags.has(Flags::RST) {
            self.forget(out);
            self.reset = true;
        }
        let ack = isn.and_then(|isn| seq::offset(isn, self.acked, s.ack));
        let Some(ack) = ack.filter(|a| self.acked <= *a && *a <= self.sent_until) else {
            return Some(*s);
        };
        self.edge = self.edge.max(Some(ack + (u64::from(s.window) << self.scale())));
        let news = ack > self.acked;
        if news {
            out.push_back(Output::Release { range: self.acked..ack });
            self.acked = ack;
            self.progress_at = now;
        }
        let above = self.on_blocks(isn.unwrap_or_default(), &s.options.sack, now);
        while self.copies.front().is_some_and(|c| c.range.end <= ack) {
            let took = self.copies.pop_front().map_or(0, |c| u64::from(c.segment.payload_bytes) + OVERHEAD);
            self.bytes -= took;
        }
        let first = self.copies.front_mut().filter(|c| c.range.start <= ack);
        let passed = Passed { window: s.window, mptcp: s.options.mptcp };
        // The answer to a probe of a closed window asks for nothing.
        let empty = s.sequence_bytes() == 0 && s.window > 0 && !s.options.foreign.mptcp;
        let duplicate = !news && empty && self.passed.as_ref() == Some(&passed);
        self.passed = Some(passed);
        let Some(first) = first.filter(|c| c.is_ours()) else {
            return Some(*s);
        };
        if duplicate && !above && !self.selects {
            // Behind this box is one link, which keeps order: the first duplicate tells.
            let due = first.tries == 0 || now >= first.sent_at + self.rtt.unwrap_or(TIMEOUT_MIN);
            if due {
                again(first, now, out);
            }
        }
        let ours = above || !self.selects || first.tries > 0;
        match duplicate && ours {
            true => None,
            // What is repaired here is not the sender's to repair; but a signature covers its blocks.
            false if above && !is_signed(s) => Some(without_blocks(s)),
            false => Some(*s),
        }
    }

    /// Marks what arrived; true if some of it lies above the acknowledgement.
    fn on_blocks(&mut self, isn: u32, blocks: &SackBlocks, now: Time) -> bool {
        let near = |n: u32| seq::offset(isn, self.acked, n);
        let read = blocks.as_slice().iter().filter_map(|(a, b)| Some(near(*a)?..near(*b)?));
        let above: Vec<Range<u64>> = read.filter(|r| r.start > self.acked).collect();
        self.selects |= !blocks.as_slice().is_empty();
        let acked = self.acked;
        for c in self.copies.iter_mut().filter(|c| !c.arrived) {
            let within = |r: &Range<u64>| r.start <= c.range.start && c.range.end <= r.end;
            if c.range.end > acked && !above.iter().any(within) {
                continue;
            }
            c.arrived = true;
            if c.tries == 0 && !c.by_sender {
                let took = now.since(c.sent_at);
                self.arrived = self.arrived.max(Some((c.sent_at, c.range.end, took)));
                self.rtt = Some(self.rtt.map_or(took, |old| (old * 7 + took) / 8));
            }
        }
        !above.is_empty()
    }

    /// RFC 8985 §6.2, with a reordering window of a quarter of the round trip: when `copy` is lost
    /// if it has not arrived by then. None if nothing that was sent after it has arrived.
    fn lost_at(&self, copy: &Copy) -> Option<Time> {
        let (sent, end, took) = self.arrived.filter(|_| self.selects)?;
        let open = !copy.arrived && copy.is_ours() && (copy.sent_at, copy.range.end) < (sent, end);
        open.then(|| copy.sent_at + took + (took / 4).max(Duration::from_millis(1)))
    }

    fn repair(&mut self, now: Time, out: &mut VecDeque<Output>) {
        for i in 0..self.copies.len() {
            if self.lost_at(&self.copies[i]).is_some_and(|at| now >= at) {
                again(&mut self.copies[i], now, out);
            }
        }
    }

    /// The first segment, when nobody says anything: the last of a burst may be lost.
    fn on_timeout(&mut self, now: Time, out: &mut VecDeque<Output>) {
        if self.silence().is_some_and(|at| now >= at)
            && let Some(first) = self.copies.front_mut()
        {
            again(first, now, out);
        }
    }

    fn silence(&self) -> Option<Time> {
        let first = self.copies.front().filter(|c| c.is_ours() && !c.arrived)?;
        let wait = self.rtt.map_or(Duration::from_millis(200), |rtt| (2 * rtt).max(TIMEOUT_MIN));
        Some(first.sent_at.max(self.progress_at) + wait * (1 << first.tries))
    }

    pub(crate) fn timeout(&self) -> Option<(Time, &'static str)> {
        let late = self.copies.iter().filter_map(|c| self.lost_at(c)).min();
        let late = late.map(|at| (at, "a late segment"));
        late.into_iter().chain(self.silence().map(|at| (at, "the receiver's silence"))).min()
    }

    fn forget(&mut self, out: &mut VecDeque<Output>) {
        if self.sent_until > self.acked {
            out.push_back(Output::Release { range: self.acked..self.sent_until });
        }
        self.copies.clear();
        self.bytes = 0;
    }
}

fn again(copy: &mut Copy, now: Time, out: &mut VecDeque<Output>) {
    (copy.tries, copy.sent_at) = (copy.tries + 1, now);
    out.push_back(Output::ToReceiver(copy.segment));
}

fn is_signed(s: &Segment) -> bool {
    s.options.foreign.authentication || s.options.foreign.md5
}

fn without_blocks(s: &Segment) -> Segment {
    let mut s = *s;
    s.options.sack = SackBlocks::default();
    s
}
