//! What left on a path and is not accounted for yet: acknowledgement and loss (RFC 9002 §6.1).

use crate::cc::rate;
use crate::time::{Duration, Time};
use crate::wire::AckFrame;
use std::collections::VecDeque;

/// RFC 9002 §6.1.1: packets of the same path that must overtake one before it counts as lost.
const PACKET_THRESHOLD: u64 = 3;
/// The threshold grows to this on a path that reorders.
const MAX_THRESHOLD: u64 = 256;
/// RFC 9002 §6.1.2: 9/8 of a round trip.
const TIME_THRESHOLD: (u32, u32) = (9, 8);

/// A part of a record that travels in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// The record.
    pub record: u32,
    /// First byte.
    pub offset: u32,
    /// Bytes; 0 stands for "this record is void".
    pub len: u32,
    /// Another path carries the same bytes: not worth sending again.
    pub copy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Flying,
    Acked,
    Lost,
}

/// One datagram on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    bytes: u32,
    chunks: u16,
    fate: Fate,
    probe: Option<u16>,
    stamp: rate::Stamp,
}

/// A datagram that was acknowledged or lost.
#[derive(Clone, Copy, Debug)]
pub struct Settled {
    /// When it left.
    pub at: Time,
    /// Its bytes on the wire.
    pub bytes: u32,
    /// It was an MTU probe of this many bytes.
    pub probe: Option<u16>,
    /// The state of the path when it left.
    pub stamp: rate::Stamp,
}

/// Result of an acknowledgement. The vectors are the caller's, kept from call to call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Newly acknowledged datagrams, newest first.
    pub acked: Vec<Settled>,
    /// Datagrams now held lost.
    pub lost: Vec<Settled>,
    /// Chunks that arrived.
    pub arrived: Vec<ChunkRef>,
    /// Chunks that are lost.
    pub missing: Vec<ChunkRef>,
    /// Packet number and send time of the largest acknowledged, if it is newly so.
    pub largest: Option<(u64, Time)>,
    /// Datagrams that were held lost and arrived after all.
    pub spurious: u32,
}

impl Outcome {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.arrived.clear();
        self.missing.clear();
        (self.largest, self.spurious) = (None, 0);
    }
}

/// Datagrams of one path, from the oldest whose fate is open.
#[derive(Debug)]
pub struct SentLog {
    base: u64,
    sent: VecDeque<Sent>,
    chunks: VecDeque<ChunkRef>,
    inflight: u64,
    flying: u32,
    largest_acked: Option<u64>,
    threshold: u64,
    /// How long after it left a datagram that was held lost is remembered.
    keep_lost: Duration,
    limit: usize,
}

impl SentLog {
    /// A log of at most `limit` datagrams.
    pub fn new(limit: usize) -> Self {
        SentLog {
            base: 0,
            sent: VecDeque::new(),
            chunks: VecDeque::new(),
            inflight: 0,
            flying: 0,
            largest_acked: None,
            threshold: PACKET_THRESHOLD,
            keep_lost: Duration::ZERO,
            limit,
        }
    }

    /// Number of the next datagram.
    pub fn next_number(&self) -> u64 {
        self.base + self.sent.len() as u64
    }

    /// The first datagram of an empty log will have this number.
    pub fn begin_at(&mut self, number: u64) {
        debug_assert!(self.sent.is_empty());
        self.base = number;
    }

    /// Whether the fate of this number is open, or may turn out to be another than was thought.
    #[cfg(test)]
    fn remembers(&self, number: u64) -> bool {
        (self.base..self.next_number()).contains(&number)
    }

    /// Bytes on the way.
    pub fn inflight(&self) -> u64 {
        self.inflight
    }

    /// Datagrams on the way.
    pub fn flying(&self) -> u32 {
        self.flying
    }

    /// No more datagrams fit the log.
    pub fn is_full(&self) -> bool {
        self.sent.len() >= self.limit
    }

    /// Records a datagram; its number is [`SentLog::next_number`] before the call. One that asks for no acknowledgement
    /// (`eliciting` false) has its number, and nothing else.
    pub fn on_sent(
        &mut self,
        at: Time,
        bytes: u32,
        eliciting: bool,
        chunks: &[ChunkRef],
        probe: Option<u16>,
        stamp: rate::Stamp,
    ) {
        let fate = if eliciting { Fate::Flying } else { Fate::Acked };
        self.sent.push_back(Sent { at, bytes, chunks: chunks.len() as u16, fate, probe, stamp });
        self.chunks.extend(chunks);
        if eliciting {
            self.inflight += u64::from(bytes);
            self.flying += 1;
        }
        self.trim(at);
    }

    /// Number and send time of the oldest datagram on the way.
    pub fn oldest_flying(&self) -> Option<(u64, Time)> {
        let k = self.sent.iter().position(|s| s.fate == Fate::Flying)?;
        Some((self.base + k as u64, self.sent[k].at))
    }

    /// Handles an acknowledgement; `false` if it acknowledges what was never sent.
    pub fn on_ack(&mut self, now: Time, ack: &AckFrame, rtt: Duration, out: &mut Outcome) -> bool {
        let next = self.next_number();
        let largest = nearest(ack.largest, next);
        if largest >= next {
            return false;
        }
        let mut top = largest;
        for (i, (gap, len)) in ack.ranges.iter().enumerate() {
            if i > 0 {
                match top.checked_sub(u64::from(*gap)) {
                    Some(t) => top = t,
                    None => break,
                }
            }
            let bottom = (top + 1).saturating_sub(u64::from(*len));
            self.acknowledge(bottom, top, largest, out);
            match bottom.checked_sub(1) {
                Some(t) if t >= self.base => top = t,
                _ => break,
            }
        }
        if self.largest_acked.is_none_or(|l| largest > l) {
            self.largest_acked = Some(largest);
        }
        self.find_lost(now, rtt, out);
        self.keep_lost = rtt * 2;
        self.trim(now);
        true
    }

    fn acknowledge(&mut self, bottom: u64, top: u64, largest: u64, out: &mut Outcome) {
        if top < self.base {
            return;
        }
        let mut n = top;
        // The chunks of a datagram are found by counting from the front; ranges are walked once, from the back.
        let mut chunk_end = self.chunks_before(n + 1);
        while n >= bottom.max(self.base) {
            let s = &mut self.sent[(n - self.base) as usize];
            let first = chunk_end - s.chunks as usize;
            match s.fate {
                Fate::Flying => {
                    s.fate = Fate::Acked;
                    self.inflight -= u64::from(s.bytes);
                    self.flying -= 1;
                    if n == largest {
                        out.largest = Some((n, s.at));
                    }
                    out.acked.push(Settled { at: s.at, bytes: s.bytes, probe: s.probe, stamp: s.stamp });
                    out.arrived.extend(self.chunks.range(first..chunk_end));
                }
                Fate::Lost => {
                    s.fate = Fate::Acked;
                    out.spurious += 1;
                    let overtaken = self.largest_acked.unwrap_or(largest).saturating_sub(n);
                    self.threshold = (overtaken + 1).clamp(self.threshold, MAX_THRESHOLD);
                }
                Fate::Acked => {}
            }
            chunk_end = first;
            match n.checked_sub(1) {
                Some(m) => n = m,
                None => break,
            }
        }
    }

    /// Chunks of all datagrams before number `n`.
    fn chunks_before(&self, n: u64) -> usize {
        let after: usize = self.sent.range((n - self.base) as usize..).map(|s| s.chunks as usize).sum();
        self.chunks.len() - after
    }

    /// Overtaken by `threshold` later ones, or by one and 9/8 of a round trip old.
    fn find_lost(&mut self, now: Time, rtt: Duration, out: &mut Outcome) {
        let Some(largest) = self.largest_acked else { return };
        let late = rtt * TIME_THRESHOLD.0 / TIME_THRESHOLD.1;
        let mut chunk_at = 0;
        for k in 0..self.sent.len() {
            let n = self.base + k as u64;
            if n >= largest {
                break;
            }
            let s = &mut self.sent[k];
            let chunks = chunk_at..chunk_at + s.chunks as usize;
            chunk_at = chunks.end;
            let overtaken = largest - n >= self.threshold;
            if s.fate == Fate::Flying && (overtaken || now.since(s.at) >= late) {
                s.fate = Fate::Lost;
                self.inflight -= u64::from(s.bytes);
                self.flying -= 1;
                out.lost.push(Settled { at: s.at, bytes: s.bytes, probe: s.probe, stamp: s.stamp });
                out.missing.extend(self.chunks.range(chunks));
            }
        }
    }

    /// When the time threshold will hold the next overtaken datagram lost.
    pub fn loss_time(&self, rtt: Duration) -> Option<Time> {
        let largest = self.largest_acked?;
        let late = rtt * TIME_THRESHOLD.0 / TIME_THRESHOLD.1;
        let before = largest.checked_sub(self.base)? as usize;
        self.sent.iter().take(before).find(|s| s.fate == Fate::Flying).map(|s| s.at + late)
    }

    /// The time threshold passed: looks for losses without an acknowledgement.
    pub fn on_loss_timer(&mut self, now: Time, rtt: Duration, out: &mut Outcome) {
        self.find_lost(now, rtt, out);
    }

    /// The path is dead: everything on the way is lost.
    pub fn lose_all(&mut self, out: &mut Outcome) {
        let mut chunk_at = 0;
        for s in &mut self.sent {
            let chunks = chunk_at..chunk_at + s.chunks as usize;
            chunk_at = chunks.end;
            if s.fate == Fate::Flying {
                s.fate = Fate::Lost;
                out.lost.push(Settled { at: s.at, bytes: s.bytes, probe: s.probe, stamp: s.stamp });
                out.missing.extend(self.chunks.range(chunks));
            }
        }
        (self.inflight, self.flying) = (0, 0);
    }

    /// Forgets datagrams whose fate is settled; lost ones a while later, so that a late arrival is seen.
    fn trim(&mut self, now: Time) {
        while let Some(s) = self.sent.front() {
            let settled = match s.fate {
                Fate::Flying => false,
                Fate::Acked => true,
                Fate::Lost => now.since(s.at) > self.keep_lost || self.sent.len() >= self.limit,
            };
            if !settled {
                return;
            }
            self.chunks.drain(..s.chunks as usize);
            self.sent.pop_front();
            self.base += 1;
        }
    }
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
