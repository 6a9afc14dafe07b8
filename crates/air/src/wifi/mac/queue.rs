//! What waits for one receiver in one category: packets, then MPDUs with sequence numbers in the Block Ack window.

use std::collections::VecDeque;

use super::backlog::{Backlog, Waiting};
use super::frame::{self, Kind, seq_add, seq_diff};
use crate::Time;
use crate::wifi::api::Status;
use crate::wifi::phy::Rate;
use crate::wifi::rate::{RateChain, TxReport};

/// What an MPDU carries.
#[derive(Debug, Clone)]
pub(crate) enum Content<T> {
    Packet(Waiting<T>),
    /// An A-MSDU.
    Packets(Vec<Waiting<T>>),
    /// A frame of the MAC's own.
    Frame(Kind),
}

impl<T> Content<T> {
    pub(crate) fn packets(&self) -> &[Waiting<T>] {
        match self {
            Content::Packet(one) => core::slice::from_ref(one),
            Content::Packets(many) => many,
            Content::Frame(_) => &[],
        }
    }
}

/// A frame with a sequence number, until it is acknowledged or given up.
#[derive(Debug)]
pub(crate) struct Mpdu<T> {
    pub(crate) seq: u16,
    /// Header and FCS included.
    pub(crate) bytes: u32,
    pub(crate) attempts: u8,
    /// On the air, or waiting for its acknowledgement.
    pub(crate) sent: bool,
    /// Acknowledged or given up, once it is; it leaves when those before it have left.
    pub(crate) fate: Option<Status>,
    pub(crate) airtime_ns: u64,
    pub(crate) rate: Option<Rate>,
    pub(crate) content: Content<T>,
}

/// The queue of one receiver and category.
#[derive(Debug)]
pub(crate) struct TxQueue<T> {
    pub(crate) waiting: Backlog<T>,
    /// Management and Null frames; they go before packets, alone.
    pub(crate) frames: VecDeque<Kind>,
    /// MPDUs in order of sequence numbers, the oldest not yet done first.
    pub(crate) window: VecDeque<Mpdu<T>>,
    pub(crate) next_seq: u16,
    /// The receiver must be told where the window begins: after a missing Block Ack, or when MPDUs were given up.
    pub(crate) bar_due: bool,
    pub(crate) bar_tries: u8,
    /// How the frame at hand is tried, and what has come of it.
    pub(crate) chain: Option<(RateChain, TxReport)>,
    /// Transmissions under this chain.
    pub(crate) tries: u32,
    /// How often the frame at hand is sent before it is given up; none: as the radio has it.
    pub(crate) limit: Option<u8>,
    /// It stands in its radio's list of queues with something to send.
    pub(crate) listed: bool,
    /// Airtime that it may still use before others have their turn, ns; below zero: what it has
    /// used too much.
    pub(crate) deficit_ns: i64,
}

impl<T> Default for TxQueue<T> {
    fn default() -> TxQueue<T> {
        TxQueue {
            waiting: Backlog::default(),
            frames: VecDeque::new(),
            window: VecDeque::new(),
            next_seq: 0,
            bar_due: false,
            bar_tries: 0,
            chain: None,
            tries: 0,
            limit: None,
            listed: false,
            deficit_ns: 0,
        }
    }
}

/// What bounds the MPDUs of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) qos: bool,
    /// Most bytes of an A-MSDU's body; 0: none.
    pub(crate) amsdu_bytes: u32,
    /// Most bytes of an MPDU.
    pub(crate) mpdu_bytes: u32,
}

impl<T> TxQueue<T> {
    /// Whether there is anything to send.
    pub(crate) fn has_work(&self) -> bool {
        self.bar_due || !self.window.is_empty() || !self.waiting.is_empty() || !self.frames.is_empty()
    }

    /// Where the window begins.
    pub(crate) fn start(&self) -> u16 {
        self.window.front().map_or(self.next_seq, |oldest| oldest.seq)
    }

    /// Makes the next MPDU, with this sequence number or the queue's own, if something waits.
    pub(crate) fn make_mpdu(&mut self, now: Time, own_seq: Option<u16>, bounds: &Bounds) -> bool {
        let Some(first) = self.waiting.pop_front(now) else { return false };
        let mut body = first.packet.len_bytes + frame::LLC_BYTES;
        let mut content = Content::Packet(first);
        if bounds.amsdu_bytes > 0 {
            (content, body) = self.make_amsdu(now, content, body, bounds);
        }
        let seq = own_seq.unwrap_or(self.next_seq);
        if own_seq.is_none() {
            self.next_seq = seq_add(seq, 1);
        }
        let bytes = frame::data_mpdu_bytes(body, bounds.qos);
        self.push_mpdu(seq, bytes, content);
        true
    }

    /// Puts more packets into the frame body as long as they fit. Each but the last is padded to 4 bytes (9.3.2.2).
    fn make_amsdu(&mut self, now: Time, first: Content<T>, body: u32, bounds: &Bounds) -> (Content<T>, u32) {
        let subframe = |len: u32| frame::AMSDU_HEADER_BYTES + frame::LLC_BYTES + len;
        let most = bounds.amsdu_bytes.min(bounds.mpdu_bytes.saturating_sub(frame::data_mpdu_bytes(0, true)));
        let Content::Packet(first) = first else { return (first, body) };
        let mut total = subframe(first.packet.len_bytes);
        let mut packets = Vec::new();
        while let Some(next) = self.waiting.front(now) {
            let longer = total.next_multiple_of(4) + subframe(next.packet.len_bytes);
            if longer > most {
                break;
            }
            total = longer;
            packets.extend(self.waiting.pop_front(now));
        }
        if packets.is_empty() {
            return (Content::Packet(first), body);
        }
        packets.insert(0, first);
        (Content::Packets(packets), total)
    }

    pub(crate) fn push_mpdu(&mut self, seq: u16, bytes: u32, content: Content<T>) {
        let fresh =
            Mpdu { seq, bytes, attempts: 0, sent: false, fate: None, airtime_ns: 0, rate: None, content };
        self.window.push_back(fresh);
    }

    /// The MPDU of a sequence number.
    pub(crate) fn find(&self, seq: u16) -> Option<&Mpdu<T>> {
        let place = usize::try_from(seq_diff(seq, self.window.front()?.seq)).ok()?;
        self.window.get(place)
    }

    /// Takes out the oldest if it is done.
    pub(crate) fn pop_done(&mut self) -> Option<Mpdu<T>> {
        if self.window.front()?.fate.is_some() { self.window.pop_front() } else { None }
    }

    /// Since when its oldest packet has waited; the MAC's own frames go before all packets.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let of = |m: &Mpdu<T>| m.content.packets().first().map_or(Time::ZERO, |w| w.since);
        let frame = self.frames.front().map(|_| Time::ZERO);
        frame
            .or_else(|| self.window.iter().find(|m| m.fate.is_none()).map(of))
            .or_else(|| self.waiting.oldest())
    }

    /// MPDUs that have not been acknowledged, and packets behind them: what could go together.
    pub(crate) fn available(&self) -> usize {
        self.window.iter().filter(|m| m.fate.is_none()).count() + self.waiting.len()
    }
}
