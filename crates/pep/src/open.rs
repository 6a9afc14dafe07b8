//! An open connection: segments of both ends, and the acknowledgements between them.

mod fetch;
mod guesses;

use crate::custody::Custody;
use crate::onward::{Onward, Piece};
use crate::opening::{Agreed, agree};
use crate::stamps::{Stamps, newer};
use crate::{Config, Holder, Input, MAX_RANGES, Output, Policy, Ranges, Time, Why};
use core::ops::Range;
use ropewalk_packet::{Ecn, Flags, Options, Segment, Timestamps, seq};
use std::collections::VecDeque;
use std::net::SocketAddrV4;

/// Control bits that go on with their bytes.
const PASSED: Flags = Flags(Flags::FIN.0 | Flags::PSH.0 | Flags::URG.0 | Flags::CWR.0);

/// What is known of the sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SenderSide {
    /// All below may be acknowledged to it, and was, but for the last segment of `Split`.
    acked: u64,
    told: u64,
    /// Start of its newest segment: an acknowledgement in the receiver's name goes no further.
    newest_start: u64,
    newest_end: u64,
    /// Start of the segment that came last.
    latest: u64,
    /// The right edge that it was last told.
    offered: u64,
    /// Its latest acknowledgement, window and timestamps.
    ack: u32,
    window: u16,
    /// The most bytes that it ever offered.
    max_window: u32,
    ece: bool,
    timestamps: Timestamps,
    /// Its timestamp at the acknowledged edge (RFC 7323 §4.3, `TS.Recent`).
    recent: u32,
    /// Its newest timestamp below the receiver's own acknowledgement; what is older is of another
    /// time.
    oldest: u32,
    /// Of segments that the receiver has not acknowledged.
    stamps: Stamps,
    gap_since: Option<Time>,
}

/// What is known of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ReceiverSide {
    acked: u64,
    /// The largest right edge that it offered.
    edge: u64,
    next_seq: u32,
    timestamp: u32,
    ece: bool,
    selected: Vec<Range<u64>>,
    /// The sender asked for a sign of life, and waits for the answer.
    probed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked {
    until: u64,
    from: u64,
    holder: Holder,
    at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Open {
    agreed: Agreed,
    sender: SenderSide,
    receiver: ReceiverSide,
    custody: Custody,
    onward: Onward,
    asked: Vec<Asked>,
    /// Since when acknowledged bytes have no holder; since when the first of them does not come,
    /// and which it is.
    orphaned: Option<Time>,
    missing: Option<(u64, Time)>,
    /// When a guess was last answered.
    challenged: Option<Time>,
}

pub(crate) fn reset(source: SocketAddrV4, destination: SocketAddrV4, seq: u32) -> Segment {
    let (flags, options, ecn) = (Flags::RST, Options::default(), Ecn::NotEct);
    Segment { source, destination, ecn, flags, seq, ack: 0, window: 0, urgent: 0, options, payload_bytes: 0 }
}

/// Why the connection is over, and what to say again of it.
pub(crate) type Ended = Option<(Why, Option<(Segment, Segment)>)>;

impl Open {
    pub(crate) fn new(syn: &Segment, answer: &Segment) -> Open {
        let agreed = agree(syn, answer);
        let edge = 1 + u64::from(answer.window);
        let sent = syn.options.timestamps.unwrap_or(Timestamps { value: 0, echo: 0 });
        let next_seq = answer.seq.wrapping_add(1);
        let timestamp = answer.options.timestamps.map_or(0, |t| t.value);
        let sender = SenderSide {
            acked: 1,
            told: 1,
            newest_start: 1,
            newest_end: 1,
            latest: 1,
            offered: edge,
            ack: next_seq,
            window: syn.window,
            max_window: u32::from(syn.window),
            ece: false,
            timestamps: Timestamps { value: sent.value, echo: timestamp },
            recent: sent.value,
            oldest: sent.value,
            stamps: Stamps::default(),
            gap_since: None,
        };
        let (selected, ece, probed) = (Vec::new(), false, false);
        let receiver = ReceiverSide { acked: 1, edge, next_seq, timestamp, ece, selected, probed };
        let (onward, custody) = (Onward::new(agreed.mss), Custody::default());
        Open {
            agreed,
            sender,
            receiver,
            custody,
            onward,
            asked: Vec::new(),
            orphaned: None,
            missing: None,
            challenged: None,
        }
    }

    pub(crate) fn handle(
        &mut self,
        config: &Config,
        input: Input,
        now: Time,
        out: &mut VecDeque<Output>,
    ) -> Ended {
        let (before, said) = (self.sender.acked, (self.sender.ack, self.sender.window));
        let mut answer = false;
        let carried = matches!(&input, Input::FromSender(s) if s.payload_bytes > 0);
        let gone = matches!(input, Input::HolderGone(_));
        match input {
            // RFC 5961 §3.2: only the exact number resets; one in the window is challenged, others
            // are dropped.
            Input::FromSender(s) if s.flags.has(Flags::RST) && self.at(&s) != Some(before) => {
                let is_guess = self.at(&s).is_some_and(|at| before < at && at < self.limit(config));
                answer = is_guess && self.may_challenge(now);
            }
            // The sender judges it, and challenges the receiver itself.
            Input::FromReceiver(s) if s.flags.has(Flags::RST) && s.seq != self.receiver.next_seq => {
                out.push_back(Output::ToSender(s));
            }
            Input::FromSender(s) if s.flags.has(Flags::RST) => {
                // Bare: what text it may have (RFC 1122 §4.2.2.12) is not kept here.
                let flags = Flags(s.flags.0 & (Flags::RST.0 | Flags::ACK.0));
                let seq = seq::wire(self.agreed.sender_isn, self.receiver.acked);
                let (urgent, options, payload_bytes) = (0, Options::default(), 0);
                let bare = Segment { seq, flags, urgent, options, payload_bytes, ..s };
                out.push_back(Output::ToReceiver(bare));
                return Some((Why::ByAnEnd, None));
            }
            Input::FromReceiver(s) if s.flags.has(Flags::RST) => {
                out.push_back(Output::ToSender(s));
                return Some((Why::ByAnEnd, None));
            }
            Input::FromSender(s) => answer = self.on_sender(config, &s, now, out),
            Input::FromReceiver(s) => answer = self.on_receiver(config, &s, now, out),
            Input::Held { range, holder, timestamp } => {
                let range = range.start.max(self.receiver.acked)..range.end;
                // What lies past the window is nobody's promise (T-5).
                if !range.is_empty()
                    && range.end <= self.limit(config)
                    && matches!(config.policy, Policy::ProactiveAck { .. })
                {
                    self.note(&range, timestamp);
                    self.custody.add(range, holder);
                }
            }
            Input::HolderGone(holder) => {
                self.custody.remove(holder);
                self.asked.retain(|a| a.holder != holder);
            }
            Input::HolderBack(holder) => self.custody.restore(holder),
            Input::Repeated => answer = true,
            Input::Timer => {
                if self.onward.on_timer(now) {
                    out.push_back(Output::ToReceiver(self.probe()));
                }
                if self.sender.gap_since.is_some_and(|t| now >= t + config.gap_timeout) {
                    // RFC 5681 §3.2: three, for a sender without SACK.
                    (0..3).for_each(|_| out.push_back(Output::ToSender(self.acknowledge(config))));
                    self.sender.gap_since = Some(now + config.gap_timeout * 16);
                }
            }
        }
        self.promise(config, now);
        if answer || self.sender.acked > before && self.is_worth_telling(config) {
            out.push_back(Output::ToSender(self.acknowledge(config)));
        }
        self.fetch(config, now, out);
        let sent = self.send(now, out);
        // Data that wait here carried an acknowledgement of the other direction, or its window.
        if carried && !sent && said != (self.sender.ack, self.sender.window) {
            out.push_back(Output::ToReceiver(self.bare()));
        }
        self.verdict(config, gone, now).map(|why| {
            let both = self.resets();
            out.extend([Output::ToSender(both.0), Output::ToReceiver(both.1)]);
            (why, Some(both))
        })
    }

    /// RFC 5681 §4.2: every second segment, and whatever the receiver acknowledges itself.
    fn is_worth_telling(&self, config: &Config) -> bool {
        let told = self.sender.told;
        config.policy != Policy::Split
            || self.receiver.acked > told
            || self.sender.acked > told + self.agreed.mss
    }

    fn at(&self, s: &Segment) -> Option<u64> {
        seq::offset(self.agreed.sender_isn, self.sender.acked, s.seq)
    }

    fn enough(&self, config: &Config) -> usize {
        match config.policy {
            Policy::Split | Policy::Snoop => usize::MAX,
            Policy::ProactiveAck { custody } => usize::from(custody.max(1)),
        }
    }

    /// One past the last byte that the sender may send: the receiver's real edge (T-5), and no
    /// more than memory allows. With `Split` the memory alone: it is a window of its own.
    fn limit(&self, config: &Config) -> u64 {
        let room = self.receiver.acked + config.memory_bytes;
        let edge = if config.policy == Policy::Split { room } else { self.receiver.edge.min(room) };
        edge.max(self.sender.offered)
    }

    fn note(&mut self, range: &Range<u64>, timestamp: Option<u32>) {
        if let Some(value) = timestamp {
            self.sender.stamps.note(range.start, value);
        }
        if range.end > self.sender.newest_end {
            (self.sender.newest_start, self.sender.newest_end) = (range.start, range.end);
        }
    }

    /// True if the sender is to be answered now.
    fn on_sender(&mut self, config: &Config, s: &Segment, now: Time, out: &mut VecDeque<Output>) -> bool {
        let Some(at) = self.at(s) else {
            return false;
        };
        if s.flags.has(Flags::SYN) {
            // The answer to it, or the last packet of the handshake, was lost behind this box.
            let opening = at == 0 && self.onward.sent_until == 1;
            if opening {
                out.push_back(Output::ToReceiver(*s));
            }
            return !opening;
        }
        let stamp = s.options.timestamps.filter(|_| self.agreed.timestamps);
        // RFC 9293 §3.10.7.4 and RFC 7323 §3.2: the sender's own segments have both.
        if !s.flags.has(Flags::ACK) || stamp.is_none() && self.agreed.timestamps {
            return false;
        }
        // RFC 7323 §5.3 (PAWS), by what the receiver has: a holder brings bytes that were
        // acknowledged early.
        if stamp.is_some_and(|t| (t.value.wrapping_sub(self.sender.oldest) as i32) < 0) {
            return true;
        }
        if !self.is_plausible(config, at, s.ack) {
            return self.may_challenge(now);
        }
        let end = at + u64::from(s.payload_bytes);
        let fin = s.flags.has(Flags::FIN);
        if self.is_of_today(end) {
            if let Some(t) = stamp.filter(|t| t.value.wrapping_sub(self.sender.timestamps.value) as i32 >= 0)
            {
                self.sender.timestamps = t;
            }
            if s.ack.wrapping_sub(self.sender.ack) as i32 >= 0 {
                (self.sender.ack, self.sender.window) = (s.ack, s.window);
                let window = u32::from(s.window) << self.agreed.sender_scale;
                self.sender.max_window = self.sender.max_window.max(window);
                self.sender.ece = s.flags.has(Flags::ECE);
            }
        }
        if s.payload_bytes == 0 && !fin {
            self.go_on_by(at, stamp);
            let keep_alive = at < self.sender.acked;
            self.receiver.probed |= keep_alive;
            // An acknowledgement of the other direction goes on with its blocks and echoes. What is
            // for SYNs says nothing here, and all together may be longer as it is written anew.
            let (mss, window_scale, sack_permitted, mptcp) = (None, None, false, None);
            let options = Options { mss, window_scale, sack_permitted, mptcp, ..s.options };
            let passed = Segment { seq: self.bare().seq, options, ..*s };
            out.push_back(Output::ToReceiver(if keep_alive { self.probe() } else { passed }));
            return false;
        }
        let here = self.onward.have.end_from(at).is_some_and(|have| have >= end + u64::from(fin));
        if end > self.limit(config) || here {
            // A probe of a closed window, a keep-alive with a byte, or bytes that came before.
            self.receiver.probed = true;
            out.push_back(Output::ToReceiver(self.probe()));
            return true;
        }
        let flags = Flags(s.flags.0 & PASSED.0);
        let range = at..end + u64::from(fin);
        let safe = self.custody.safe_until(self.sender.acked, &self.onward.have, self.enough(config));
        let new = self.onward.insert(&Piece::new(range, flags, s.urgent, s.ecn), self.receiver.acked);
        self.sender.latest = at;
        if end > at {
            self.note(&(at..end), stamp.map(|t| t.value));
        }
        if at > self.sender.acked && self.sender.gap_since.is_none() {
            self.sender.gap_since = Some(now);
        }
        !new || at > safe
    }

    fn on_receiver(&mut self, config: &Config, s: &Segment, now: Time, out: &mut VecDeque<Output>) -> bool {
        let isn = self.agreed.sender_isn;
        if s.flags.has(Flags::SYN) {
            out.push_back(Output::ToSender(*s));
            return false;
        }
        // The sender judges it, and challenges the receiver itself.
        if !self.is_near(s.seq) {
            out.push_back(Output::ToSender(*s));
            return false;
        }
        let ack = seq::offset(isn, self.receiver.acked, s.ack).filter(|_| s.flags.has(Flags::ACK));
        // An acknowledgement of what was never sent releases nothing.
        let ack = ack.filter(|a| *a <= self.onward.sent_until);
        let old = self.receiver.acked;
        if let Some(a) = ack.filter(|a| *a >= old) {
            self.onward.on_answer();
            self.receiver.edge =
                self.receiver.edge.max(a + (u64::from(s.window) << self.agreed.receiver_scale));
            let near = |n: u32| seq::offset(isn, a, n);
            let blocks = s.options.sack.as_slice().iter();
            let selected = blocks.filter_map(|(x, y)| Some(near(*x)?..near(*y)?)).filter(|r| r.start > a);
            self.receiver.selected = selected.collect();
            self.onward.on_ack(a, &self.receiver.selected, now);
            if a > old {
                self.receiver.acked = a;
                self.custody.remove_below(a);
                self.asked.retain(|k| k.until > a);
                out.push_back(Output::Release { range: old..a });
            }
        }
        if let Some(t) =
            s.options.timestamps.filter(|t| t.value.wrapping_sub(self.receiver.timestamp) as i32 >= 0)
        {
            self.receiver.timestamp = t.value;
        }
        // A keep-alive is the sender's to answer (RFC 9293 §3.8.4).
        let keep_alive = (s.seq.wrapping_sub(self.receiver.next_seq) as i32) < 0;
        let carries = s.payload_bytes > 0 || s.flags.has(Flags::FIN) || keep_alive;
        let turned = core::mem::replace(&mut self.receiver.ece, s.flags.has(Flags::ECE)) != self.receiver.ece;
        let probed = core::mem::take(&mut self.receiver.probed);
        let end = s.seq.wrapping_add(s.sequence_bytes());
        if end.wrapping_sub(self.receiver.next_seq) as i32 >= 0 {
            self.receiver.next_seq = end;
        }
        if carries {
            self.sender.acked = self.sender.acked.max(self.receiver.acked);
            let own = self.acknowledge(config);
            let flags = Flags(s.flags.0 | Flags::ACK.0);
            let (ack, window) = (own.ack, own.window);
            // Data go on no longer than they came: their segments fill the path's packets.
            let stamped = s.options.timestamps.is_some();
            let timestamps = own.options.timestamps.filter(|_| stamped);
            let brief = Options { timestamps, ..Options::default() };
            let options = if s.payload_bytes > 0 { brief } else { own.options };
            out.push_back(Output::ToSender(Segment { flags, ack, window, options, ..*s }));
            return false;
        }
        let sayable = self.sender.acked + (0xFFFF << self.agreed.receiver_scale);
        let edge = self.limit(config).min(sayable);
        let wider = edge >= self.sender.offered + 2 * self.agreed.mss
            || (self.sender.offered <= self.sender.acked && edge > self.sender.offered);
        turned || probed || wider
    }

    /// How far the sender may be told that its bytes are safe.
    fn promise(&mut self, config: &Config, now: Time) {
        let old = self.sender.acked;
        let safe = self.custody.safe_until(old, &self.onward.have, self.enough(config));
        // The newest segment may be the last: it and a FIN are the receiver's to acknowledge (T-3).
        let own = safe.min(self.sender.newest_start);
        self.sender.acked = old.max(own).max(self.receiver.acked);
        let sender = &mut self.sender;
        if sender.acked > old {
            sender.recent =
                sender.stamps.newest_below(sender.acked).map_or(sender.recent, |t| newer(sender.recent, t));
        }
        let real = self.receiver.acked;
        sender.oldest = sender.stamps.newest_below(real).map_or(sender.oldest, |t| newer(sender.oldest, t));
        sender.stamps.remove_below(real);
        let gap = self.sender.newest_start > self.sender.acked && safe < self.sender.newest_start;
        self.sender.gap_since = if gap { self.sender.gap_since.or(Some(now)) } else { None };
    }

    /// The acknowledgement that the sender is to see now.
    fn acknowledge(&mut self, config: &Config) -> Segment {
        let isn = self.agreed.sender_isn;
        let scale = self.agreed.receiver_scale;
        let room = self.limit(config).saturating_sub(self.sender.acked) >> scale;
        let window = room.min(0xFFFF) as u16;
        self.sender.offered = self.sender.offered.max(self.sender.acked + (u64::from(window) << scale));
        self.sender.told = self.sender.acked;
        let mut options = Options::default();
        if self.agreed.timestamps {
            options.timestamps =
                Some(Timestamps { value: self.receiver.timestamp, echo: self.sender.recent });
        }
        if self.agreed.sack {
            for r in self.blocks(config) {
                options.sack.push((seq::wire(isn, r.start), seq::wire(isn, r.end)));
            }
        }
        let ece = if self.receiver.ece { Flags::ECE } else { Flags::default() };
        Segment {
            source: self.agreed.receiver,
            destination: self.agreed.sender,
            ecn: Ecn::NotEct,
            flags: Flags::ACK | ece,
            seq: self.receiver.next_seq,
            ack: seq::wire(isn, self.sender.acked),
            window,
            urgent: 0,
            options,
            payload_bytes: 0,
        }
    }

    /// What is safe above the acknowledgement, while there is a gap: first the range of the segment that came
    /// last, so that the sender learns of every range in turn (RFC 2018 §4).
    fn blocks(&self, config: &Config) -> Vec<Range<u64>> {
        if self.sender.gap_since.is_none() {
            return Vec::new();
        }
        let (from, enough) = (self.sender.acked, self.enough(config));
        let mut all = self.custody.safe_above(from, &self.onward.have, enough, MAX_RANGES);
        if let Some(i) = all.iter().position(|r| r.contains(&self.sender.latest)) {
            all[..=i].rotate_right(1);
        }
        all.truncate(if self.agreed.timestamps { 3 } else { 4 });
        all
    }

    /// An empty segment to the receiver, in the sender's name.
    fn bare(&self) -> Segment {
        let options = Options {
            timestamps: self.agreed.timestamps.then_some(self.sender.timestamps),
            ..Options::default()
        };
        Segment {
            source: self.agreed.sender,
            destination: self.agreed.receiver,
            ecn: Ecn::NotEct,
            flags: Flags::ACK | if self.sender.ece { Flags::ECE } else { Flags::default() },
            seq: seq::wire(self.agreed.sender_isn, self.onward.sent_until),
            ack: self.sender.ack,
            window: self.sender.window,
            urgent: 0,
            options,
            payload_bytes: 0,
        }
    }

    /// One that the receiver has to answer (RFC 9293 §3.8.4), without a byte that it could take for
    /// data.
    fn probe(&self) -> Segment {
        let seq = seq::wire(self.agreed.sender_isn, self.receiver.acked).wrapping_sub(1);
        Segment { seq, ..self.bare() }
    }

    /// True if something went.
    fn send(&mut self, now: Time, out: &mut VecDeque<Output>) -> bool {
        let before = out.len();
        // What lies beyond a gap waits here. At the receiver it would fill a window of one segment
        // and be acknowledged by nobody, and then what fills the gap could not go.
        let here = self.onward.here(self.receiver.acked);
        while let Some((piece, again)) = self.onward.next(self.receiver.edge.min(here), now) {
            let fin = piece.flags.has(Flags::FIN);
            out.push_back(Output::ToReceiver(Segment {
                // RFC 3168 §6.1.5: what is sent again is not marked.
                ecn: if again { Ecn::NotEct } else { piece.ecn },
                flags: piece.flags | self.bare().flags,
                seq: seq::wire(self.agreed.sender_isn, piece.range.start),
                urgent: piece.urgent,
                payload_bytes: (piece.range.end - piece.range.start - u64::from(fin)) as u32,
                ..self.bare()
            }));
        }
        out.len() > before
    }

    /// Whether a promise can no longer be kept. What was promised is safe until a holder goes: only
    /// then is it looked for.
    fn verdict(&mut self, config: &Config, gone: bool, now: Time) -> Option<Why> {
        let promised = self.sender.acked;
        if gone || self.orphaned.is_some() {
            let found = self.custody.safe_until(self.receiver.acked, &self.onward.have, 1);
            self.orphaned = if found < promised { self.orphaned.or(Some(now)) } else { None };
        }
        let here = self.onward.here(self.receiver.acked);
        self.missing = match self.missing {
            _ if here >= promised => None,
            Some((at, since)) if at == here => Some((at, since)),
            _ => Some((here, now)),
        };
        let over = |since: Time| now >= since + config.grace;
        match () {
            () if self.orphaned.is_some_and(over) => Some(Why::Orphaned),
            () if self.missing.is_some_and(|(_, since)| over(since)) => Some(Why::Undelivered),
            () if self.onward.is_silent() => Some(Why::ReceiverSilent),
            () => None,
        }
    }

    /// Bytes that the sender saw acknowledged and the receiver does not have, or that wait for it.
    /// What lies beyond a gap is the sender's still, selected or not (RFC 2018 §8).
    pub(crate) fn holds(&self) -> u64 {
        let promised = self.sender.acked.max(self.onward.here(self.receiver.acked));
        promised - self.receiver.acked.min(promised)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.onward.finished
    }

    pub(crate) fn kept(&self) -> &Ranges {
        &self.onward.have
    }

    pub(crate) fn sender_isn(&self) -> u32 {
        self.agreed.sender_isn
    }

    pub(crate) fn resets(&self) -> (Segment, Segment) {
        let at = seq::wire(self.agreed.sender_isn, self.receiver.acked);
        let (sender, receiver) = (self.agreed.sender, self.agreed.receiver);
        (reset(receiver, sender, self.sender.ack), reset(sender, receiver, at))
    }

    pub(crate) fn timeout(&self, config: &Config) -> Option<(Time, &'static str)> {
        let asked = self.asked.iter().map(|k| k.at + config.fetch_timeout).min();
        [
            self.onward.timeout(),
            asked.map(|t| (t, "a holder that does not bring")),
            self.orphaned.map(|t| (t + config.grace, "acknowledged bytes without a holder")),
            self.missing.map(|(_, t)| (t + config.grace, "acknowledged bytes that do not come")),
            self.sender.gap_since.map(|t| (t + config.gap_timeout, "a gap")),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
