//! A session's TCP connection at the gateway, in the paper's three variants.

use super::Variant;
use crate::Time;
use crate::inner::{self, Inner};
use core::ops::Range;
use core::time::Duration;
use ropewalk_packet::{Flags, Segment, seq, wire};
use ropewalk_pep::{Bypass, Holder, Input, Output, Pep, Policy, Why};
use std::collections::BTreeMap;

/// Most bytes of payload that are kept for the receiver.
pub(super) const MEMORY: u64 = 4 << 20;
/// Pieces of it out of order.
const MAX_PIECES: usize = ropewalk_pep::MAX_RANGES;

/// What follows at the ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    ToReceiver(Vec<u8>),
    ToSender(Vec<u8>),
    /// Nothing is to be done for this connection from now on.
    LeaveAlone(Bypass),
    Over(Why),
}

/// The connection.
#[derive(Debug)]
pub(super) struct Stream {
    kind: Kind,
    /// Number of the SYN, once it was seen.
    isn: Option<u32>,
    /// The receiver's own acknowledgement.
    pub(super) acked: u64,
    /// Payload by its place, until the receiver has acknowledged it.
    store: BTreeMap<u64, Vec<u8>>,
    pub(super) stored: u64,
    /// The newest timestamp of the sender's data, seen or reported.
    newest: Option<u32>,
    pub(super) timeout: Option<Time>,
    pub(super) over: bool,
}

#[derive(Debug)]
enum Kind {
    /// Packets go on as they come.
    Plain,
    /// They go on in order; the next place.
    Ordered(u64, BTreeMap<u64, Vec<u8>>),
    /// What is safe is acknowledged.
    Proxy(Box<Pep>),
}

impl Stream {
    pub(super) fn new(variant: Variant, grace: Duration) -> Stream {
        let kind = match variant {
            Variant::Plain => Kind::Plain,
            Variant::SimpleBuffer => Kind::Ordered(1, BTreeMap::new()),
            Variant::ProactiveAck { custody } => {
                let config = ropewalk_pep::Config {
                    fetches: false,
                    grace,
                    memory_bytes: MEMORY,
                    ..ropewalk_pep::Config::new(Policy::ProactiveAck { custody })
                };
                Kind::Proxy(Box::new(Pep::new(config)))
            }
        };
        Stream {
            kind,
            isn: None,
            acked: 1,
            store: BTreeMap::new(),
            stored: 0,
            newest: None,
            timeout: None,
            over: false,
        }
    }

    /// The place of a byte in the stream.
    pub(super) fn offset(&self, number: u32) -> Option<u64> {
        seq::offset(self.isn?, self.acked, number)
    }

    /// The byte was acknowledged for the receiver, and may be on its way there (RFC 5927 §4.1): a
    /// message about another one is forged, of long ago, or for the sender alone.
    pub(super) fn may_be_on_the_way(&self, number: u32) -> bool {
        let is_kept = |at: u64| at >= self.acked && self.has(&(at..at + 1));
        self.is_proxied() && self.offset(number).is_some_and(is_kept)
    }

    /// The number on the wire of a place.
    pub(super) fn number(&self, offset: u64) -> Option<u32> {
        self.isn.map(|isn| seq::wire(isn, offset))
    }

    /// All of this has been passed to the receiver, or is kept for it.
    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        let mut at = range.start.max(self.acked);
        while at < range.end {
            match self.store.range(..=at).next_back() {
                Some((start, bytes)) if start + bytes.len() as u64 > at => at = start + bytes.len() as u64,
                _ => return false,
            }
        }
        true
    }

    /// There are so many pieces already that only what comes next in order is taken: the proxy's
    /// bounds would drop another one.
    pub(super) fn is_crowded(&self, range: &Range<u64>) -> bool {
        self.store.len() >= MAX_PIECES && !self.has(&(self.acked..range.start))
    }

    pub(super) fn is_proxied(&self) -> bool {
        matches!(self.kind, Kind::Proxy(_))
    }

    /// A packet of the sender, by a tunnel or on its ordinary way.
    pub(super) fn on_sender(&mut self, packet: Vec<u8>, inner: &Inner, now: Time) -> Vec<Act> {
        if inner.flags & Flags::SYN.0 != 0 {
            self.isn = Some(inner.seq);
        }
        let at = self.offset(inner.seq);
        let len = inner.payload.len() as u64;
        match (&mut self.kind, at) {
            (Kind::Proxy(_), at) => {
                let Ok((mut segment, _)) = wire::decode(&packet) else {
                    return Vec::new();
                };
                let raised = len > 0 && raise(&mut segment, &mut self.newest);
                if let Some(at) = at.filter(|_| len > 0) {
                    let too_much = self.stored + len > 2 * MEMORY;
                    if too_much || !self.keep(at, &packet[inner.payload.clone()]) {
                        return Vec::new();
                    }
                }
                let came = (!raised).then_some((segment, packet));
                self.ask(Input::FromSender(segment), came, now)
            }
            (Kind::Ordered(next, waiting), Some(at)) if len > 0 && at > *next && waiting.len() < 4096 => {
                waiting.insert(at, packet);
                Vec::new()
            }
            (Kind::Ordered(next, waiting), Some(at)) if len > 0 => {
                *next = (*next).max(at + len);
                let mut acts = vec![Act::ToReceiver(packet)];
                while let Some(entry) = waiting.first_entry().filter(|e| *e.key() <= *next) {
                    let (at, packet) = entry.remove_entry();
                    let len = inner::parse(&packet).map_or(0, |i| i.payload.len() as u64);
                    *next = (*next).max(at + len);
                    acts.push(Act::ToReceiver(packet));
                }
                acts
            }
            _ => vec![Act::ToReceiver(packet)],
        }
    }

    /// Keeps payload, if it is new and the proxy may take it, whose own window is `MEMORY` at most.
    /// False if it lies so far ahead that even the proxy need not see it.
    fn keep(&mut self, at: u64, payload: &[u8]) -> bool {
        let end = at + payload.len() as u64;
        if end > self.acked && end <= self.acked + MEMORY && !self.has(&(at..end)) {
            if let Some(old) = self.store.insert(at, payload.to_vec()) {
                self.stored -= old.len() as u64;
            }
            self.stored += payload.len() as u64;
        }
        end < self.acked + 2 * MEMORY
    }

    /// A packet of the receiver.
    pub(super) fn on_receiver(&mut self, packet: Vec<u8>, now: Time) -> Vec<Act> {
        let Ok((segment, _)) = wire::decode(&packet) else {
            return Vec::new();
        };
        if self.is_proxied() {
            return self.ask(Input::FromReceiver(segment), Some((segment, packet)), now);
        }
        if segment.flags.has(Flags::ACK)
            && let Some(ack) = self.offset(segment.ack).filter(|a| *a > self.acked)
        {
            self.release(ack);
        }
        vec![Act::ToSender(packet)]
    }

    fn release(&mut self, acked: u64) {
        self.acked = acked;
        while let Some(entry) = self.store.first_entry() {
            if entry.key() + entry.get().len() as u64 > acked {
                break;
            }
            self.stored -= entry.remove().len() as u64;
        }
    }

    /// A live holder has these bytes.
    pub(super) fn held(
        &mut self,
        range: Range<u64>,
        apid: u8,
        timestamp: Option<u32>,
        now: Time,
    ) -> Vec<Act> {
        // The proxy judges by reported timestamps too, and a report may be ahead of its packet.
        let later = |t: &u32| self.newest.is_none_or(|n| (t.wrapping_sub(n) as i32) > 0);
        self.newest = timestamp.filter(later).or(self.newest);
        self.ask(Input::Held { range, holder: Holder(apid), timestamp }, None, now)
    }

    pub(super) fn gone(&mut self, apid: u8, now: Time) -> Vec<Act> {
        self.ask(Input::HolderGone(Holder(apid)), None, now)
    }

    pub(super) fn back(&mut self, apid: u8, now: Time) -> Vec<Act> {
        self.ask(Input::HolderBack(Holder(apid)), None, now)
    }

    pub(super) fn repeated(&mut self, now: Time) -> Vec<Act> {
        self.ask(Input::Repeated, None, now)
    }

    pub(super) fn on_timer(&mut self, now: Time) -> Vec<Act> {
        if self.timeout.is_some_and(|at| at <= now) {
            return self.ask(Input::Timer, None, now);
        }
        Vec::new()
    }

    /// Asks the proxy, and makes packets of what it says. `came` is the packet that the input is
    /// about, with its own bytes.
    fn ask(&mut self, input: Input, came: Option<(Segment, Vec<u8>)>, now: Time) -> Vec<Act> {
        let Kind::Proxy(pep) = &mut self.kind else {
            return Vec::new();
        };
        pep.handle(input, now);
        let mut outputs = Vec::new();
        loop {
            match pep.poll_output() {
                Output::Timeout(at, _) => {
                    self.timeout = at;
                    break;
                }
                output => outputs.push(output),
            }
        }
        let mut acts = Vec::new();
        for output in outputs {
            match output {
                Output::ToSender(s) => acts.push(Act::ToSender(packet_to_sender(&s, came.as_ref()))),
                Output::ToReceiver(s) => acts.extend(self.packet_to_receiver(&s, came.as_ref())),
                Output::Release { range } => self.release(range.end),
                Output::Bypass(why) => {
                    let reply = came.as_ref().map(|c| c.1.clone());
                    acts.extend([Act::LeaveAlone(why)].into_iter().chain(reply.map(Act::ToReceiver)));
                }
                Output::Reset(why) => {
                    self.over = true;
                    acts.push(Act::Over(why));
                }
                Output::Fetch { .. } | Output::Timeout(..) => {}
            }
        }
        acts
    }

    /// A segment for the receiver, with its bytes; none if they are not here, which the proxy then
    /// finds out by its own clock.
    fn packet_to_receiver(&self, s: &Segment, came: Option<&(Segment, Vec<u8>)>) -> Option<Act> {
        if let Some((_, packet)) = came.filter(|c| c.0 == *s) {
            return Some(Act::ToReceiver(packet.clone()));
        }
        let mut data = Vec::with_capacity(s.payload_bytes as usize);
        let start = if s.payload_bytes > 0 { self.offset(s.seq)? } else { 0 };
        while data.len() < s.payload_bytes as usize {
            let at = start + data.len() as u64;
            let (first, bytes) = self.store.range(..=at).next_back()?;
            let rest = bytes.get((at - first) as usize..).filter(|r| !r.is_empty())?;
            let want = s.payload_bytes as usize - data.len();
            data.extend_from_slice(&rest[..rest.len().min(want)]);
        }
        let mut out = Vec::new();
        wire::encode_with(s, &data, &mut out);
        Some(Act::ToReceiver(out))
    }
}

/// A holder may bring what was sent before something that the receiver has already, such as a
/// repetition with a newer timestamp: neither the proxy nor the receiver may take it for a packet of
/// long ago (PAWS, RFC 7323 §5). True if the timestamp was raised.
fn raise(segment: &mut Segment, newest: &mut Option<u32>) -> bool {
    let Some(stamp) = &mut segment.options.timestamps else {
        return false;
    };
    let old = newest.is_some_and(|n| (stamp.value.wrapping_sub(n) as i32) < 0);
    stamp.value = newest.filter(|_| old).unwrap_or(stamp.value);
    *newest = Some(stamp.value);
    old
}

fn packet_to_sender(s: &Segment, came: Option<&(Segment, Vec<u8>)>) -> Vec<u8> {
    if let Some((_, packet)) = came.filter(|c| c.0 == *s) {
        return packet.clone();
    }
    // Data of the receiver go on with their own bytes.
    let payload = came.filter(|c| s.payload_bytes > 0 && c.0.seq == s.seq);
    let bytes = payload.and_then(|c| Some(c.1.get(inner::parse(&c.1)?.payload)?.to_vec()));
    let mut out = Vec::new();
    wire::encode_with(s, &bytes.unwrap_or_default(), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::tests::segment;

    #[test]
    fn what_the_proxy_cannot_take_is_not_kept() {
        let mut stream = Stream::new(Variant::ProactiveAck { custody: 1 }, Duration::from_secs(5));
        stream.isn = Some(0);
        for (at, kept) in [(1, 1000), (MEMORY as u32 - 999, 2000), (MEMORY as u32 - 998, 2000)] {
            let packet = segment(at, 1000, None);
            let inner = inner::parse(&packet).unwrap();
            stream.on_sender(packet, &inner, Time::ZERO);
            assert_eq!(stream.stored, kept, "{at}");
        }
    }

    #[test]
    fn only_bytes_that_are_kept_for_the_receiver_may_be_on_the_way() {
        let stream = |variant| {
            let mut stream = Stream::new(variant, Duration::from_secs(5));
            stream.isn = Some(u32::MAX - 50);
            let packet = segment(u32::MAX - 49, 100, None);
            let inner = inner::parse(&packet).unwrap();
            stream.on_sender(packet, &inner, Time::ZERO);
            stream
        };
        let kept = stream(Variant::ProactiveAck { custody: 1 });
        let at = |offset: u32| (u32::MAX - 50).wrapping_add(offset);
        assert!(kept.may_be_on_the_way(at(1)) && kept.may_be_on_the_way(at(100)));
        assert!(!kept.may_be_on_the_way(at(0)), "before the first byte");
        assert!(!kept.may_be_on_the_way(at(101)), "not sent yet");
        assert!(!stream(Variant::Plain).may_be_on_the_way(at(1)), "its sender hears of it itself");
    }
}
