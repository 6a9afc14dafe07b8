//! How much air a delivered packet takes by an access point (paper 001, §5.1).
//!
//! The client counts frames that came at the first try, frames that came later and frames that
//! never came. Their shares give the chance that a try succeeds, and that gives the air of a packet
//! with all its retries.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

/// An address of layer 2.
pub type Mac = [u8; 6];

/// Sequence numbers count up to here (IEEE 802.11-2020 §9.2.4.4.2).
const SEQUENCES: u16 = 4096;
/// Frames that a Block Ack of HT and VHT spans; a gap farther back stays one.
const BLOCK_ACK_WINDOW: u16 = 64;
/// A gap is a loss after this time, however little follows.
const GAP_LASTS: Duration = Duration::from_millis(100);
/// A longer jump is a transmitter that began anew, or a client that was away.
const LONGEST_JUMP: u16 = 512;
/// Sliding window of the counts (paper 001, §5.1).
const WINDOW: Duration = Duration::from_millis(500);
/// Fewer frames say too little: with 50 the standard error of a half is 7 %.
const LEAST_SAMPLES: u32 = 50;
/// Frames kept of a link: 600 Mbit/s in packets of 1500 bytes are 25,000 in half a second.
const MOST_RECORDS: usize = 32_768;
/// Links kept: those of a busy channel. Of more, the one that was silent longest goes.
const MOST_LINKS: usize = 256;

/// What a packet costs at one try, and how tries go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tries {
    /// Air of one try without its backoff: payload at its rate, headers, spaces, acknowledgement;
    /// seconds.
    pub frame_s: f64,
    /// Mean backoff before the first try: half of CWmin, in slots; seconds.
    pub backoff_s: f64,
    /// How many times the backoff doubles: 6 from CWmin 15 to CWmax 1023.
    pub doublings: u32,
    /// Tries after the first.
    pub retries: u32,
}

impl Tries {
    /// One MPDU of an A-MPDU of `mean_mpdus` on average: what all share is divided, and a try again
    /// rides on a later aggregate.
    pub fn of_aggregate(
        payload_s: f64,
        overhead_s: f64,
        backoff_s: f64,
        mean_mpdus: f64,
        retries: u32,
    ) -> Tries {
        let mpdus = mean_mpdus.max(1.0);
        let (frame_s, backoff_s) = (payload_s + overhead_s / mpdus, backoff_s / mpdus);
        Tries { frame_s, backoff_s, doublings: 0, retries }
    }

    /// Air of a delivered packet when a try fails with `loss`, that of packets given up included;
    /// seconds. None: nothing is delivered.
    pub fn packet_time_s(&self, loss: f64) -> Option<f64> {
        let loss = loss.clamp(0.0, 1.0);
        let (mut reached, mut air_s) = (1.0, 0.0);
        for i in 0..=self.retries {
            air_s += reached * (self.frame_s + self.backoff_s * doubled(i.min(self.doublings)));
            reached *= loss;
        }
        let delivered = 1.0 - reached;
        (delivered > 0.0).then(|| air_s / delivered)
    }

    /// Equation 1 as the paper prints it, a baseline: no mean over delivered packets, without the
    /// air of packets given up, and the backoff without a bound. At a loss of 1 it is 0, so the
    /// worst access point looks like the best.
    pub fn printed_packet_time_s(&self, loss: f64) -> f64 {
        let loss = loss.clamp(0.0, 1.0);
        let (mut reached, mut time_s) = (1.0, 0.0);
        for i in 0..=self.retries {
            let backoffs = doubled(i + 1) - 1.0;
            time_s += (self.frame_s * f64::from(i + 1) + self.backoff_s * backoffs) * reached * (1.0 - loss);
            reached *= loss;
        }
        time_s
    }
}

/// 2 to the power of `n`.
fn doubled(n: u32) -> f64 {
    (0..n).fold(1.0, |product, _| product * 2.0)
}

/// A data frame that was overheard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Who sent it.
    pub transmitter: Mac,
    /// To whom.
    pub receiver: Mac,
    /// Traffic identifier of a QoS frame, below 16. Other frames are numbered across all receivers,
    /// so their gaps say nothing.
    pub tid: Option<u8>,
    /// Its sequence number.
    pub sequence: u16,
    /// Its retry bit.
    pub retry: bool,
}

/// Frames of a link in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Came at the first try.
    pub first: u32,
    /// Came at a later try.
    pub retried: u32,
    /// Never came.
    pub lost: u32,
}

impl Counts {
    /// Chance that a try succeeds (paper 001, equation 2). None: too few frames to say.
    pub fn delivery(&self) -> Option<f64> {
        let all = self.first + self.retried + self.lost;
        (all >= LEAST_SAMPLES).then(|| f64::from(self.first) / f64::from(all))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    First,
    Retried,
    Lost,
}

/// A frame in the window: 8 bytes, where the paper has 10.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Wraps after 71 minutes, which no record reaches.
    at_us: u32,
    fate: Fate,
}

fn micros(at: Duration) -> u32 {
    at.as_micros() as u32
}

/// The numbers of one transmitter, receiver and TID.
#[derive(Clone, Debug)]
struct Sequence {
    /// One past the newest number.
    next: u16,
    /// Bit i: the number `next - 1 - i` came, or was counted as lost.
    settled: u64,
    /// Numbers that are missing, oldest first, with the time when that showed.
    gaps: VecDeque<(u16, Duration)>,
}

/// What a frame is to its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    New,
    Duplicate,
}

impl Sequence {
    fn beginning(sequence: u16) -> Sequence {
        // What came before the first frame is not known: it counts neither way.
        Sequence { next: (sequence + 1) % SEQUENCES, settled: u64::MAX, gaps: VecDeque::new() }
    }

    fn take(&mut self, sequence: u16, now: Duration, lost: &mut u32) -> Place {
        let ahead = sequence.wrapping_sub(self.next) % SEQUENCES;
        let behind = SEQUENCES - 1 - ahead;
        if ahead.min(behind) > LONGEST_JUMP {
            *self = Sequence::beginning(sequence);
            return Place::New;
        }
        if ahead <= LONGEST_JUMP {
            self.advance(ahead, now, lost);
            return Place::New;
        }
        if behind >= BLOCK_ACK_WINDOW || self.settled & (1 << behind) != 0 {
            return Place::Duplicate;
        }
        self.settled |= 1 << behind;
        self.gaps.retain(|gap| gap.0 != sequence);
        Place::New
    }

    /// Moves on to a number `ahead` of the one expected.
    fn advance(&mut self, ahead: u16, now: Duration, lost: &mut u32) {
        for skipped in 0..=ahead {
            *lost += u32::from(self.settled >> 63 == 0);
            self.settled <<= 1;
            if skipped < ahead {
                self.gaps.push_back((self.next, now));
            }
            self.next = (self.next + 1) % SEQUENCES;
        }
        self.settled |= 1;
        let next = self.next;
        self.gaps.retain(|gap| next.wrapping_sub(1).wrapping_sub(gap.0) % SEQUENCES < BLOCK_ACK_WINDOW);
    }

    /// Gives up gaps that have lasted too long.
    fn expire(&mut self, now: Duration, lost: &mut u32) {
        while let Some(&(sequence, _)) =
            self.gaps.front().filter(|gap| now.saturating_sub(gap.1) >= GAP_LASTS)
        {
            self.gaps.pop_front();
            let behind = self.next.wrapping_sub(1).wrapping_sub(sequence) % SEQUENCES;
            self.settled |= 1 << behind;
            *lost += 1;
        }
    }
}

/// One transmitter and one receiver.
#[derive(Clone, Debug, Default)]
struct Link {
    records: VecDeque<Record>,
    counts: Counts,
    /// By TID; at most 17.
    sequences: BTreeMap<Option<u8>, Sequence>,
    heard: Duration,
}

impl Link {
    fn add(&mut self, fate: Fate, now: Duration) {
        if self.records.len() == MOST_RECORDS {
            self.drop_oldest();
        }
        self.records.push_back(Record { at_us: micros(now), fate });
        *self.count(fate) += 1;
    }

    fn count(&mut self, fate: Fate) -> &mut u32 {
        match fate {
            Fate::First => &mut self.counts.first,
            Fate::Retried => &mut self.counts.retried,
            Fate::Lost => &mut self.counts.lost,
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(record) = self.records.pop_front() {
            *self.count(record.fate) -= 1;
        }
    }

    fn on_frame(&mut self, frame: &Frame, now: Duration) {
        self.heard = now;
        self.expire(now);
        let mut lost = 0;
        let sequence = frame.sequence % SEQUENCES;
        let place = match self.sequences.get_mut(&frame.tid) {
            Some(known) => known.take(sequence, now, &mut lost),
            None => {
                self.sequences.insert(frame.tid, Sequence::beginning(sequence));
                Place::New
            }
        };
        self.lose(frame.tid, lost, now);
        if place == Place::New {
            self.add(if frame.retry { Fate::Retried } else { Fate::First }, now);
        }
    }

    fn lose(&mut self, tid: Option<u8>, lost: u32, now: Duration) {
        for _ in 0..if tid.is_some() { lost } else { 0 } {
            self.add(Fate::Lost, now);
        }
    }

    fn expire(&mut self, now: Duration) {
        let mut by_tid = core::mem::take(&mut self.sequences);
        for (tid, sequence) in &mut by_tid {
            let mut lost = 0;
            sequence.expire(now, &mut lost);
            self.lose(*tid, lost, now);
        }
        self.sequences = by_tid;
        let window = WINDOW.as_micros() as u32;
        while self.records.front().is_some_and(|r| micros(now).wrapping_sub(r.at_us) > window) {
            self.drop_oldest();
        }
    }
}

/// Counts frames by link over the last 500 ms.
#[derive(Clone, Debug, Default)]
pub struct Estimator {
    links: BTreeMap<(Mac, Mac), Link>,
}

impl Estimator {
    /// One that has heard nothing.
    pub fn new() -> Estimator {
        Estimator::default()
    }

    /// A data frame was overheard. One with a group address or an impossible TID says nothing and
    /// is left out.
    pub fn on_frame(&mut self, frame: &Frame, now: Duration) {
        let group = frame.receiver[0] & 1 == 1;
        if group || frame.tid.is_some_and(|tid| tid > 15) {
            return;
        }
        let key = (frame.transmitter, frame.receiver);
        if self.links.len() >= MOST_LINKS && !self.links.contains_key(&key) {
            let silent = self.links.iter().min_by_key(|(key, link)| (link.heard, **key)).map(|(key, _)| *key);
            silent.and_then(|key| self.links.remove(&key));
        }
        self.links.entry(key).or_default().on_frame(frame, now);
    }

    /// What the window has of a link at `now`.
    pub fn counts(&mut self, transmitter: Mac, receiver: Mac, now: Duration) -> Counts {
        let Some(link) = self.links.get_mut(&(transmitter, receiver)) else { return Counts::default() };
        link.expire(now);
        link.counts
    }

    /// Drops what is known of a link: nobody asks for it any more.
    pub fn forget(&mut self, transmitter: Mac, receiver: Mac) {
        self.links.remove(&(transmitter, receiver));
    }

    /// Bytes that records of the window take.
    pub fn record_bytes(&self) -> usize {
        self.links.values().map(|link| link.records.len() * size_of::<Record>()).sum()
    }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
