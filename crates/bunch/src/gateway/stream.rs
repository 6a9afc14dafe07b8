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
/// What a segment takes besides its payload, in bytes: here, and in the proxy.
const OVERHEAD: u64 = 192;
/// Pieces of it out of order, and packets.
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
    /// Both ends were reset, and why.
    pub(super) over: Option<Why>,
}

/// A packet that the proxy is asked about.
struct Came<'a> {
    segment: Segment,
    packet: &'a [u8],
    /// The sender's: the place of its payload.
    at: Option<u64>,
    /// Its bytes have another timestamp than the segment.
    raised: bool,
}

impl Came<'_> {
    fn data(&self) -> Option<(u64, &[u8])> {
        Some((self.at?, self.packet.get(inner::parse(self.packet)?.payload)?))
    }
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
            over: None,
        }
    }

    /// Bytes of memory that its payload takes: segments of one byte are mostly what goes with them.
    pub(super) fn memory(&self) -> u64 {
        let waiting = if let Kind::Ordered(_, waiting) = &self.kind { waiting.len() } else { 0 };
        self.stored + OVERHEAD * (self.store.len() + waiting) as u64
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

    /// All of this has been passed to the receiver, or is kept for it: what the proxy took in.
    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        let from = range.start.max(self.acked);
        let kept = if let Kind::Proxy(pep) = &self.kind { pep.kept() } else { None };
        from >= range.end || kept.and_then(|k| k.end_from(from)) >= Some(range.end)
    }

    /// There are so many pieces already that only what comes next in order is taken: the proxy's
    /// bounds would drop another one.
    pub(super) fn is_crowded(&self, range: &Range<u64>) -> bool {
        self.store.len() >= MAX_PIECES && !self.has(&(self.acked..range.start))
    }

    pub(super) fn is_proxied(&self) -> bool {
        matches!(self.kind, Kind::Proxy(_))
    }

    /// Acknowledged bytes would be lost with it.
    pub(super) fn holds(&self) -> bool {
        matches!(&self.kind, Kind::Proxy(pep) if pep.holds() > 0)
    }

    /// Its ends have ended it, by a reset or a refusal, or the receiver has all and the FIN.
    pub(super) fn is_ended(&self) -> bool {
        self.over == Some(Why::ByAnEnd) || matches!(&self.kind, Kind::Proxy(pep) if pep.is_finished())
    }

    /// A packet opens another connection of the same ends: nothing of this one is held, or it is
    /// over, or left alone.
    pub(super) fn is_another(&self, inner: &Inner, is_left_alone: bool) -> bool {
        let opens = inner.flags & (Flags::SYN.0 | Flags::ACK.0) == Flags::SYN.0;
        let is_done = self.over.is_some() || is_left_alone || !self.holds();
        opens && is_done && self.isn.is_some_and(|isn| isn != inner.seq)
    }

    /// A packet of the sender, by a tunnel or on its ordinary way.
    pub(super) fn on_sender(&mut self, packet: Vec<u8>, inner: &Inner, now: Time) -> Vec<Act> {
        let (syn, len) = (inner.flags & Flags::SYN.0 != 0, inner.payload.len() as u64);
        let Kind::Proxy(pep) = &self.kind else { return self.on_sender_unproxied(packet, inner) };
        // Once it is open, a SYN is a guess, and changes no place in the stream.
        self.isn = pep.sender_isn().or(syn.then_some(inner.seq)).or(self.isn);
        let Ok((mut segment, _)) = wire::decode(&packet) else {
            return Vec::new();
        };
        let at = self.offset(inner.seq).filter(|_| len > 0);
        // So far ahead that even the proxy need not see it.
        if at.is_some_and(|at| at + len >= self.acked + 2 * MEMORY) {
            return Vec::new();
        }
        let raised = len > 0 && raise(&mut segment, &mut self.newest);
        let came = Came { segment, packet: &packet, at, raised };
        self.ask(Input::FromSender(segment), Some(came), now)
    }

    /// The same where nobody acknowledges for the receiver.
    fn on_sender_unproxied(&mut self, packet: Vec<u8>, inner: &Inner) -> Vec<Act> {
        if inner.flags & Flags::SYN.0 != 0 && self.isn.is_none() {
            self.isn = Some(inner.seq);
        }
        let (at, len) = (self.offset(inner.seq), inner.payload.len() as u64);
        let Kind::Ordered(next, waiting) = &mut self.kind else { return vec![Act::ToReceiver(packet)] };
        let Some(at) = at.filter(|_| len > 0) else { return vec![Act::ToReceiver(packet)] };
        let size = packet.len() as u64;
        if at > *next && waiting.len() < MAX_PIECES && self.stored + size <= MEMORY {
            self.stored += size;
            let old = waiting.insert(at, packet);
            self.stored -= old.map_or(0, |old| old.len() as u64);
            return Vec::new();
        }
        *next = (*next).max(at + len);
        let mut acts = vec![Act::ToReceiver(packet)];
        while let Some(entry) = waiting.first_entry().filter(|e| *e.key() <= *next) {
            let (at, packet) = entry.remove_entry();
            self.stored -= packet.len() as u64;
            let len = inner::parse(&packet).map_or(0, |i| i.payload.len() as u64);
            *next = (*next).max(at + len);
            acts.push(Act::ToReceiver(packet));
        }
        acts
    }

    /// Keeps of a payload what the proxy has taken in, and where nothing is: what it refused may be
    /// somebody else's, and the first bytes for a place stay.
    fn keep(&mut self, at: u64, payload: &[u8]) {
        let Kind::Proxy(pep) = &self.kind else { return };
        let taken = pep.kept().into_iter().flat_map(|k| k.within(at..at + payload.len() as u64));
        for part in taken.collect::<Vec<_>>() {
            let mut from = part.start.max(self.acked);
            while from < part.end {
                let before = self.store.range(..=from).next_back().map(|(s, b)| s + b.len() as u64);
                if let Some(past) = before.filter(|past| *past > from) {
                    from = past;
                    continue;
                }
                let next = self.store.range(from..).next().map_or(part.end, |(s, _)| *s).min(part.end);
                let bytes = payload[(from - at) as usize..(next - at) as usize].to_vec();
                self.stored += bytes.len() as u64;
                self.store.insert(from, bytes);
                from = next;
            }
        }
    }

    /// A packet of the receiver.
    pub(super) fn on_receiver(&mut self, packet: Vec<u8>, now: Time) -> Vec<Act> {
        let Ok((segment, _)) = wire::decode(&packet) else {
            return Vec::new();
        };
        if self.is_proxied() {
            let came = Came { segment, packet: &packet, at: None, raised: false };
            return self.ask(Input::FromReceiver(segment), Some(came), now);
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
    /// about.
    fn ask(&mut self, input: Input, came: Option<Came<'_>>, now: Time) -> Vec<Act> {
        let Kind::Proxy(pep) = &mut self.kind else {
            return Vec::new();
        };
        pep.handle(input, now);
        if let Some((at, payload)) = came.as_ref().and_then(Came::data) {
            self.keep(at, payload);
        }
        let Kind::Proxy(pep) = &mut self.kind else {
            return Vec::new();
        };
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
                    let reply = came.as_ref().map(|c| c.packet.to_vec());
                    acts.extend([Act::LeaveAlone(why)].into_iter().chain(reply.map(Act::ToReceiver)));
                }
                Output::Reset(why) => {
                    self.over = Some(why);
                    self.store.clear();
                    self.stored = 0;
                    acts.push(Act::Over(why));
                }
                Output::Fetch { .. } | Output::Timeout(..) => {}
            }
        }
        acts
    }

    /// A segment for the receiver, with its bytes; none if they are not here, which the proxy then
    /// finds out by its own clock.
    fn packet_to_receiver(&self, s: &Segment, came: Option<&Came<'_>>) -> Option<Act> {
        if let Some(c) = came.filter(|c| c.segment == *s && !c.raised) {
            return Some(Act::ToReceiver(with_classic_ecn(c.packet)));
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

/// What is acknowledged here has no counter of marks: of ECN the ends are to agree on the classic kind.
fn with_classic_ecn(packet: &[u8]) -> Vec<u8> {
    wire::without_accecn(packet).unwrap_or_else(|| packet.to_vec())
}

fn packet_to_sender(s: &Segment, came: Option<&Came<'_>>) -> Vec<u8> {
    if let Some(c) = came.filter(|c| c.segment == *s && !c.raised) {
        return with_classic_ecn(c.packet);
    }
    // Data of the receiver go on with their own bytes.
    let payload = came.filter(|c| s.payload_bytes > 0 && c.segment.seq == s.seq);
    let bytes = payload.and_then(|c| Some(c.packet.get(inner::parse(c.packet)?.payload)?.to_vec()));
    let mut out = Vec::new();
    wire::encode_with(s, &bytes.unwrap_or_default(), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::tests::segment;
    use ropewalk_packet::{Options, SackBlocks, Timestamps};

    const ISN: u32 = u32::MAX - 50;

    /// A connection whose receiver offers 64 units of 1024 bytes.
    fn opened(variant: Variant) -> Stream {
        let mut stream = Stream::new(variant, Duration::from_secs(5));
        let (plain, _) = wire::decode(&segment(ISN, 0, None)).unwrap();
        let options = Options { mss: Some(1400), window_scale: Some(10), ..Options::default() };
        let syn = Segment { flags: Flags::SYN, ack: 0, options, ..plain };
        let ends = (plain.destination, plain.source);
        let (source, destination) = ends;
        let answer = Segment { source, destination, seq: 98, ack: ISN.wrapping_add(1), ..plain };
        let flags = Flags::SYN | Flags::ACK;
        put(&mut stream, &syn);
        stream.on_receiver(bytes(&Segment { flags, window: 64, options, ..answer }), Time::ZERO);
        stream.on_receiver(bytes(&Segment { seq: 99, window: 64, ..answer }), Time::ZERO);
        stream
    }

    fn bytes(segment: &Segment) -> Vec<u8> {
        let mut out = Vec::new();
        wire::encode(segment, wire::Payload::Pattern, &mut out);
        out
    }

    fn put(stream: &mut Stream, segment: &Segment) -> Vec<Act> {
        let packet = bytes(segment);
        let inner = inner::parse(&packet).unwrap();
        stream.on_sender(packet, &inner, Time::ZERO)
    }

    fn data(at: u32, len: u32) -> Segment {
        wire::decode(&segment(ISN.wrapping_add(at), len, None)).unwrap().0
    }

    const ONE: Variant = Variant::ProactiveAck { custody: 1 };

    #[test]
    fn what_the_proxy_refuses_is_not_kept() {
        let mut stream = opened(ONE);
        put(&mut stream, &data(1, 1000));
        assert_eq!(stream.stored, 1000);
        // Beyond the receiver's edge, and far beyond; without an acknowledgement, or of what was
        // never sent.
        put(&mut stream, &data(65_000, 1000));
        put(&mut stream, &data(1_000_000, 1000));
        put(&mut stream, &data(MEMORY as u32 - 2000, 1000));
        put(&mut stream, &Segment { flags: Flags::PSH, ..data(1001, 1000) });
        put(&mut stream, &Segment { ack: 5_000_000, ..data(1001, 1000) });
        assert_eq!((stream.stored, stream.store.len()), (1000, 1));
        // The null case, out of order.
        put(&mut stream, &data(2001, 1000));
        assert_eq!((stream.stored, stream.store.len()), (2000, 2));
    }

    /// Each listed number asks this, and may stand for all that is here: piece by piece this many would
    /// take ten minutes.
    #[test]
    fn what_is_here_is_known_in_few_steps() {
        let mut stream = opened(ONE);
        (0..3000).for_each(|i| drop(put(&mut stream, &data(1 + i, 1))));
        assert_eq!((stream.stored, stream.store.len()), (3000, 3000));
        assert!((0..2_000_000).all(|_| stream.has(&(1..3001))));
        assert!(!stream.has(&(1..3002)) && stream.has(&(7..7)) && !stream.has(&(3001..3002)));
    }

    #[test]
    fn the_first_bytes_for_a_place_stay() {
        let mut stream = opened(ONE);
        put(&mut stream, &data(1001, 1000));
        let first = stream.store[&1001].clone();
        // The same place again, and more.
        let mut out = Vec::new();
        wire::encode_with(&data(501, 2000), &[7; 2000], &mut out);
        let inner = inner::parse(&out).unwrap();
        stream.on_sender(out, &inner, Time::ZERO);
        assert_eq!(stream.store.keys().copied().collect::<Vec<_>>(), [501, 1001, 2001]);
        assert_eq!((&stream.store[&1001], stream.stored), (&first, 2000));
        assert_eq!((&stream.store[&501], &stream.store[&2001]), (&vec![7; 500], &vec![7; 500]));
    }

    #[test]
    fn a_syn_in_an_open_connection_moves_no_byte() {
        let mut stream = opened(ONE);
        put(&mut stream, &data(1, 1000));
        let syn = Segment { flags: Flags::SYN, seq: ISN.wrapping_add(777), ack: 0, ..data(0, 0) };
        put(&mut stream, &syn);
        assert_eq!(stream.offset(ISN.wrapping_add(1001)), Some(1001));
        // It is another connection's only when nothing of this one is held. What lies beyond a gap is
        // the sender's still.
        let is_another =
            |stream: &Stream, left| stream.is_another(&inner::parse(&bytes(&syn)).unwrap(), left);
        assert!(!is_another(&stream, false) && is_another(&stream, true));
        assert!(is_another(&opened(ONE), false));
        let mut beyond = opened(ONE);
        put(&mut beyond, &data(1001, 1000));
        assert!(is_another(&beyond, false));
        put(&mut beyond, &data(1, 1000));
        assert!(!is_another(&beyond, false), "no gap any more");
        let same = inner::parse(&bytes(&Segment { seq: ISN, ..syn })).unwrap();
        assert!(!opened(ONE).is_another(&same, true), "the SYN once more");
    }

    /// Writes the checksum of a short packet.
    fn sum_up(packet: &mut [u8]) {
        packet[36..38].fill(0);
        let length = [0, inner::TCP, 0, (packet.len() - 20) as u8];
        let sum = inner::icmp_sum(&[&packet[12..20], &length, &packet[20..]].concat());
        packet[36..38].copy_from_slice(&sum.to_be_bytes());
    }

    #[test]
    fn of_an_offer_of_accecn_classic_ecn_goes_on() {
        let offer = |variant| {
            let syn = Segment { flags: Flags::SYN | Flags::ECE | Flags::CWR, ack: 0, ..data(0, 0) };
            let classic = bytes(&syn);
            let mut offer = classic.clone();
            offer[32] |= 1;
            sum_up(&mut offer);
            let inner = inner::parse(&offer).unwrap();
            let went = Stream::new(variant, Duration::ZERO).on_sender(offer.clone(), &inner, Time::ZERO);
            [classic, offer].map(|packet| went == [Act::ToReceiver(packet)])
        };
        assert_eq!(offer(ONE), [true, false]);
        assert_eq!(offer(Variant::Plain), [false, true], "null case: as it came");
    }

    /// A timestamp, three blocks and a window scale take 39 bytes, and more where each is padded.
    #[test]
    fn options_that_are_longer_as_they_are_written_here_do_no_harm() {
        let mut stream = opened(ONE);
        let mut sack = SackBlocks::default();
        (0..3).for_each(|i| assert!(sack.push((10 * i, 10 * i + 5))));
        let timestamps = Some(Timestamps { value: 7, echo: 9 });
        let options = Options { timestamps, sack, ..Options::default() };
        let mut packet = bytes(&Segment { options, ..data(5, 0) });
        let (stamp, blocks) = (packet[42..52].to_vec(), packet[54..80].to_vec());
        let odd = [&stamp[..], &blocks, &[3, 3, 7], &[0]].concat();
        packet[40..80].copy_from_slice(&odd);
        sum_up(&mut packet);
        let (read, _) = wire::decode(&packet).unwrap();
        assert_eq!(read.options, Options { window_scale: Some(7), ..options });
        let inner = inner::parse(&packet).unwrap();
        let acts = stream.on_sender(packet, &inner, Time::ZERO);
        let [Act::ToReceiver(went)] = &acts[..] else { panic!("{acts:?}") };
        assert_eq!(wire::decode(went).unwrap().0.options, options);
    }

    #[test]
    fn what_waits_for_its_turn_has_a_bound_in_bytes() {
        let mut stream = opened(Variant::SimpleBuffer);
        let mut passed = 0;
        for i in 0..4000u32 {
            passed += put(&mut stream, &data(10_001 + 1400 * i, 1400)).len();
            assert!(stream.stored <= MEMORY, "{i}");
        }
        assert_eq!((passed, stream.stored), (4000, 0), "when there is no room they go on as they are");
    }

    #[test]
    fn only_bytes_that_are_kept_for_the_receiver_may_be_on_the_way() {
        let stream = |variant| {
            let mut stream = opened(variant);
            put(&mut stream, &data(1, 100));
            stream
        };
        let kept = stream(ONE);
        let at = |offset: u32| ISN.wrapping_add(offset);
        assert!(kept.may_be_on_the_way(at(1)) && kept.may_be_on_the_way(at(100)));
        assert!(!kept.may_be_on_the_way(at(0)), "before the first byte");
        assert!(!kept.may_be_on_the_way(at(101)), "not sent yet");
        assert!(!stream(Variant::Plain).may_be_on_the_way(at(1)), "its sender hears of it itself");
    }
}
