//! What left on a path and is not accounted for yet: acknowledgement and loss (RFC 9002 §6.1).

use crate::wire::AckFrame;
use ropewalk_cc::rate;
use ropewalk_time::{Duration, Time};
use std::collections::VecDeque;

mod numbers;
mod skipped;

use numbers::Numbers;
use rand::Rng;
use skipped::Skipped;

/// RFC 9002 §6.1.1: packets of the same path that must overtake one before it counts as lost.
const PACKET_THRESHOLD: u64 = 3;
/// The threshold grows to this on a path that reorders.
const MAX_THRESHOLD: u64 = 256;
/// RFC 9002 §6.1.2: 9/8 of a round trip.
const TIME_THRESHOLD: (u32, u32) = (9, 8);

/// A part of a packet that travels in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FragmentRef {
    /// The packet.
    pub packet: u32,
    /// First byte.
    pub offset: u32,
    /// Bytes; 0 stands for "this packet is abandoned".
    pub len: u32,
    /// Another path carries the same bytes: not worth sending again.
    pub copy: bool,
}

/// One datagram. What became of it is in [`SentLog::open`] and [`SentLog::in_flight`].
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    bytes: u32,
    /// Its fragments, counted from the first of the path.
    first_fragment: u64,
    fragments: u16,
    probe: Option<u16>,
    snapshot: rate::Snapshot,
    /// Nothing else was on the way when it left.
    is_alone: bool,
    /// It was held lost, and that was a sign of congestion.
    is_sign: bool,
}

/// The datagram with the largest number that an acknowledgement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Largest {
    pub number: u64,
    /// When it left.
    pub at: Time,
    /// Nothing else was on the way then.
    pub is_alone: bool,
}

/// A datagram that was acknowledged or lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    /// When it left.
    pub at: Time,
    /// Its bytes on the wire.
    pub bytes: u32,
    /// It was an MTU probe of this many bytes.
    pub probe: Option<u16>,
    /// The state of the path when it left.
    pub snapshot: rate::Snapshot,
}

/// Result of an acknowledgement. The vectors are the caller's, kept from call to call.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Newly acknowledged datagrams, newest first.
    pub acked: Vec<Resolved>,
    /// Datagrams now held lost.
    pub lost: Vec<Resolved>,
    /// Fragments that arrived.
    pub arrived: Vec<FragmentRef>,
    /// Fragments that are lost.
    pub to_retransmit: Vec<FragmentRef>,
    /// The largest acknowledged, if it is newly so.
    pub largest: Option<Largest>,
    /// Datagrams that were declared lost and arrived after all.
    pub spurious: u32,
    /// Bytes on the wire of those whose loss was told as a sign of congestion.
    pub spurious_bytes: u64,
}

impl Outcome {
    /// Empties it, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.arrived.clear();
        self.to_retransmit.clear();
        (self.largest, self.spurious, self.spurious_bytes) = (None, 0, 0);
    }
}

/// What an acknowledgement was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckCheck {
    /// It was taken.
    Taken,
    /// It names a number that is yet to be sent: nothing was done.
    Absurd,
    /// It names a number that was skipped: the peer acknowledges what it cannot have (RFC 9000 §21.4).
    Invented,
}

/// Datagrams of one path, from the oldest of which it is not known whether it arrived.
///
/// An acknowledgement costs as much as it has news: a step for each datagram that it settles, and one for 64 that were settled before.
#[derive(Debug)]
pub(crate) struct SentLog {
    base: u64,
    sent: VecDeque<Sent>,
    fragments: VecDeque<FragmentRef>,
    /// Number of the first of `fragments`.
    fragment_base: u64,
    /// Datagrams that were not acknowledged: in flight, or declared lost.
    open: Numbers,
    in_flight: Numbers,
    skipped: Skipped,
    inflight: u64,
    /// How many.
    datagrams: u32,
    largest_acked: Option<u64>,
    threshold: u64,
    /// For so long after it left, a datagram that was declared lost is remembered.
    keep_lost: Duration,
    limit: usize,
}

impl SentLog {
    /// A log of at most `limit` datagrams.
    pub(crate) fn new(limit: usize) -> Self {
        SentLog {
            base: 0,
            sent: VecDeque::new(),
            fragments: VecDeque::new(),
            fragment_base: 0,
            open: Numbers::default(),
            in_flight: Numbers::default(),
            skipped: Skipped::default(),
            inflight: 0,
            datagrams: 0,
            largest_acked: None,
            threshold: PACKET_THRESHOLD,
            keep_lost: Duration::ZERO,
            limit,
        }
    }

    /// Number of the next datagram.
    pub(crate) fn next_number(&self) -> u64 {
        self.base + self.sent.len() as u64
    }

    /// The first datagram of an empty log will have this number.
    pub(crate) fn begin_at(&mut self, number: u64) {
        debug_assert!(self.sent.is_empty());
        self.base = number;
        self.open.begin_at(number);
        self.in_flight.begin_at(number);
    }

    /// Now and then leaves a number out. Whoever acknowledges it has not seen what it acknowledges.
    pub(crate) fn skip_number(&mut self, now: Time, entropy: &mut impl Rng) {
        if self.skipped.is_due(self.next_number(), entropy) {
            self.on_sent(now, 0, false, &[], None, rate::Snapshot::default());
        }
    }

    /// Whether the fate of this number is open, or may turn out to be another than was thought.
    #[cfg(test)]
    fn remembers(&self, number: u64) -> bool {
        (self.base..self.next_number()).contains(&number)
    }

    /// Bytes on the way.
    pub(crate) fn inflight(&self) -> u64 {
        self.inflight
    }

    /// Datagrams on the way.
    pub(crate) fn datagrams_in_flight(&self) -> u32 {
        self.datagrams
    }

    /// No more datagrams fit the log.
    pub(crate) fn is_full(&self) -> bool {
        self.sent.len() >= self.limit
    }

    /// Twice as much is recorded as may be on the way: what asks for no answer has numbers, too.
    pub(crate) fn is_overfull(&self) -> bool {
        self.sent.len() >= 2 * self.limit
    }

    /// Datagrams that are recorded.
    #[cfg(test)]
    pub(crate) fn recorded(&self) -> usize {
        self.sent.len()
    }

    /// Records a datagram; its number is [`SentLog::next_number`] before the call. One that asks for no acknowledgement
    /// (`eliciting` false) has its number, and nothing else.
    pub(crate) fn on_sent(
        &mut self,
        at: Time,
        bytes: u32,
        eliciting: bool,
        fragments: &[FragmentRef],
        probe: Option<u16>,
        snapshot: rate::Snapshot,
    ) {
        let first_fragment = self.fragment_base + self.fragments.len() as u64;
        self.sent.push_back(Sent {
            at,
            bytes,
            first_fragment,
            fragments: fragments.len() as u16,
            probe,
            snapshot,
            is_alone: self.inflight == 0,
            is_sign: false,
        });
        self.fragments.extend(fragments);
        self.open.push(eliciting);
        self.in_flight.push(eliciting);
        if eliciting {
            self.inflight += u64::from(bytes);
            self.datagrams += 1;
        }
        self.trim(at);
    }

    /// Number and send time of the oldest datagram on the way.
    pub(crate) fn oldest_in_flight(&self) -> Option<(u64, Time)> {
        let number = self.in_flight.first()?;
        Some((number, self.get(number).at))
    }

    /// Handles an acknowledgement, unless it is one that cannot be.
    pub(crate) fn on_ack(&mut self, now: Time, ack: &AckFrame, rtt: Duration, out: &mut Outcome) -> AckCheck {
        let next = self.next_number();
        let largest = nearest(ack.largest, next);
        if largest >= next {
            return AckCheck::Absurd;
        }
        if ranges(ack, largest).any(|(bottom, top)| self.skipped.has_any(bottom, top)) {
            return AckCheck::Invented;
        }
        let base = self.base;
        for (bottom, top) in ranges(ack, largest).take_while(|(_, top)| *top >= base) {
            self.acknowledge(bottom, top, largest, out);
        }
        if self.largest_acked.is_none_or(|l| largest > l) {
            self.largest_acked = Some(largest);
        }
        self.find_lost(now, rtt, out);
        self.keep_lost = rtt * 2;
        self.trim(now);
        AckCheck::Taken
    }

    fn get(&self, number: u64) -> &Sent {
        &self.sent[(number - self.base) as usize]
    }

    fn fragments_of(&self, s: &Sent) -> impl Iterator<Item = &FragmentRef> {
        let first = (s.first_fragment - self.fragment_base) as usize;
        self.fragments.range(first..first + s.fragments as usize)
    }

    /// Of these numbers the newest first.
    fn acknowledge(&mut self, bottom: u64, top: u64, largest: u64, out: &mut Outcome) {
        let mut above = top + 1;
        while let Some(n) = self.open.last_in(bottom, above) {
            above = n;
            self.open.remove(n);
            let s = *self.get(n);
            if self.in_flight.remove(n) {
                self.inflight -= u64::from(s.bytes);
                self.datagrams -= 1;
                if n == largest {
                    out.largest = Some(Largest { number: n, at: s.at, is_alone: s.is_alone });
                }
                out.acked.push(Resolved { at: s.at, bytes: s.bytes, probe: s.probe, snapshot: s.snapshot });
                out.arrived.extend(self.fragments_of(&s));
            } else {
                out.spurious += 1;
                out.spurious_bytes += if s.is_sign { u64::from(s.bytes) } else { 0 };
                let overtaken = self.largest_acked.unwrap_or(largest).saturating_sub(n);
                self.threshold = (overtaken + 1).clamp(self.threshold, MAX_THRESHOLD);
            }
        }
    }

    /// Overtaken by `threshold` later ones, or by one and 9/8 of a round trip old.
    fn find_lost(&mut self, now: Time, rtt: Duration, out: &mut Outcome) {
        let Some(largest) = self.largest_acked else { return };
        let late = rtt * TIME_THRESHOLD.0 / TIME_THRESHOLD.1;
        let mut from = self.base;
        while let Some(n) = self.in_flight.first_in(from, largest) {
            from = n + 1;
            let overtaken = largest - n >= self.threshold;
            if overtaken || now.since(self.get(n).at) >= late {
                self.lose(n, true, out);
            }
        }
    }

    /// `is_sign`: of congestion, unless it was an MTU probe (RFC 8899 §3).
    fn lose(&mut self, n: u64, is_sign: bool, out: &mut Outcome) {
        let s = &mut self.sent[(n - self.base) as usize];
        s.is_sign = is_sign && s.probe.is_none();
        let s = *s;
        self.in_flight.remove(n);
        self.inflight -= u64::from(s.bytes);
        self.datagrams -= 1;
        out.lost.push(Resolved { at: s.at, bytes: s.bytes, probe: s.probe, snapshot: s.snapshot });
        out.to_retransmit.extend(self.fragments_of(&s));
    }

    /// When the time threshold will declare the next overtaken datagram lost.
    pub(crate) fn loss_time(&self, rtt: Duration) -> Option<Time> {
        let late = rtt * TIME_THRESHOLD.0 / TIME_THRESHOLD.1;
        let oldest = self.in_flight.first_in(self.base, self.largest_acked?)?;
        Some(self.get(oldest).at + late)
    }

    /// The time threshold passed: looks for losses without an acknowledgement.
    pub(crate) fn on_loss_timer(&mut self, now: Time, rtt: Duration, out: &mut Outcome) {
        self.find_lost(now, rtt, out);
    }

    /// The path is dead: everything on the way is lost.
    pub(crate) fn lose_all(&mut self, out: &mut Outcome) {
        while let Some(n) = self.in_flight.first() {
            self.lose(n, false, out);
        }
    }

    /// Forgets datagrams whose fate is settled; lost ones a while later, so that a late arrival is seen.
    fn trim(&mut self, now: Time) {
        while let Some(s) = self.sent.front() {
            let lost = || now.since(s.at) > self.keep_lost || self.sent.len() >= self.limit;
            if self.in_flight.contains(self.base) || self.open.contains(self.base) && !lost() {
                return;
            }
            self.fragments.drain(..s.fragments as usize);
            self.fragment_base += u64::from(s.fragments);
            self.sent.pop_front();
            self.base += 1;
            self.open.pop();
            self.in_flight.pop();
        }
    }
}

/// First and last number of each range, the newest first.
fn ranges(ack: &AckFrame, largest: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut above = Some(largest);
    ack.ranges.iter().enumerate().map_while(move |(i, (gap, len))| {
        let top = if i == 0 { above? } else { above?.checked_sub(u64::from(*gap))? };
        let bottom = (top + 1).saturating_sub(u64::from(*len));
        above = bottom.checked_sub(1);
        Some((bottom, top))
    })
}

/// The 64-bit number that ends in `low` and is closest below or at `next`.
fn nearest(low: u32, next: u64) -> u64 {
    let mut n = (next & !0xffff_ffff) | u64::from(low);
    if n > next + (1 << 31) {
        n = n.wrapping_sub(1 << 32);
    } else if n + (1 << 31) < next {
        n += 1 << 32;
    }
    n
}

#[cfg(test)]
#[path = "sent_tests.rs"]
mod tests;
