//! Conformance, by packets.

mod ends;
mod guesses;
mod proxy;
mod snoop;
mod work;

use crate::{Bypass, Config, Holder, Input, Output, Pep, Policy, Time, Why};
use core::time::Duration;
use ropewalk_packet::{Ecn, Flags, ForeignOptions, Options, SackBlocks, Segment, Timestamps};

const S_ISN: u32 = u32::MAX - 15;
const R_ISN: u32 = 7_000;

fn base(flags: Flags) -> Segment {
    Segment {
        source: "10.0.0.1:40000".parse().unwrap(),
        destination: "10.0.0.2:80".parse().unwrap(),
        ecn: Ecn::NotEct,
        flags,
        seq: S_ISN,
        ack: 0,
        window: 1000,
        urgent: 0,
        options: Options::default(),
        payload_bytes: 0,
    }
}

fn data(at: u32, len: u32) -> Segment {
    let (seq, ack) = (S_ISN.wrapping_add(at), R_ISN + 1);
    Segment { seq, ack, payload_bytes: len, ..base(Flags::ACK) }
}

fn ack(at: u32, window: u16) -> Segment {
    let b = base(Flags::ACK);
    let (source, destination) = (b.destination, b.source);
    Segment { source, destination, seq: R_ISN + 1, ack: S_ISN.wrapping_add(at), window, ..b }
}

fn syn_options() -> Options {
    Options { mss: Some(10), window_scale: Some(2), sack_permitted: true, ..Options::default() }
}

struct Wire {
    pep: Pep,
    now: Time,
}

impl Wire {
    fn opened(policy: Policy, options: Options, window: u16) -> Wire {
        let mut wire = Wire { pep: Pep::new(Config::new(policy)), now: Time::ZERO };
        let syn = Segment { options, ..base(Flags::SYN) };
        assert_eq!(wire.sender(syn), [Output::ToReceiver(syn)]);
        let answer = Segment { flags: Flags::SYN | Flags::ACK, seq: R_ISN, options, ..ack(1, window) };
        assert_eq!(wire.receiver(answer), [Output::ToSender(answer)]);
        wire
    }

    fn put(&mut self, input: Input) -> Vec<Output> {
        self.pep.handle(input, self.now);
        core::iter::from_fn(|| Some(self.pep.poll_output()))
            .take_while(|o| !matches!(o, Output::Timeout(..)))
            .collect()
    }

    fn sender(&mut self, s: Segment) -> Vec<Output> {
        self.put(Input::FromSender(s))
    }

    fn receiver(&mut self, s: Segment) -> Vec<Output> {
        self.put(Input::FromReceiver(s))
    }

    fn held(&mut self, range: core::ops::Range<u64>, holder: u8) -> Vec<Output> {
        self.put(Input::Held { range, holder: Holder(holder), timestamp: None })
    }

    /// Fires timers until `until`.
    fn run(&mut self, until: Time) -> Vec<Output> {
        let mut all = Vec::new();
        while let Output::Timeout(Some(at), _) = self.pep.poll_output() {
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            all.extend(self.put(Input::Timer));
        }
        self.now = until;
        all
    }
}

fn to_sender(outputs: &[Output]) -> Vec<Segment> {
    outputs.iter().filter_map(|o| if let Output::ToSender(s) = o { Some(*s) } else { None }).collect()
}

fn to_receiver(outputs: &[Output]) -> Vec<Segment> {
    outputs.iter().filter_map(|o| if let Output::ToReceiver(s) = o { Some(*s) } else { None }).collect()
}

fn offset(s: &Segment) -> u32 {
    s.ack.wrapping_sub(S_ISN)
}

#[test]
fn split_acknowledges_all_but_the_newest_and_the_fin() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    assert_eq!(to_sender(&w.sender(data(1, 10))), [], "the newest may be the last");
    assert_eq!(to_sender(&w.sender(data(11, 10))), [], "every second segment (RFC 5681)");
    assert_eq!(to_sender(&w.sender(data(21, 10))).iter().map(offset).collect::<Vec<_>>(), [21]);
    assert_eq!(to_sender(&w.sender(data(31, 10))), []);
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..data(41, 5) };
    assert_eq!(to_sender(&w.sender(fin)).iter().map(offset).collect::<Vec<_>>(), [41]);
    assert!(to_sender(&w.run(Time::from_millis(150))).is_empty(), "waiting changes nothing");
    let out = w.receiver(ack(47, 1000));
    assert_eq!(to_sender(&out).iter().map(offset).collect::<Vec<_>>(), [47], "the receiver alone");
    assert!(out.contains(&Output::Release { range: 1..47 }));
}

#[test]
fn custody_counts_live_holders() {
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 2 }, syn_options(), 1000);
    w.held(1..11, 1);
    assert_eq!(to_sender(&w.held(11..21, 1)), [], "one neighbour");
    assert_eq!(to_sender(&w.held(1..21, 2)).iter().map(offset).collect::<Vec<_>>(), [11]);
    let out = w.put(Input::HolderGone(Holder(1)));
    assert!(out.contains(&Output::Fetch { range: 1..21, holder: Holder(2) }), "{out:?}");
    assert!(!out.iter().any(|o| matches!(o, Output::Release { .. })), "nothing is released by a schedule");
}

#[test]
fn bytes_without_a_holder_reset_both_ends_within_five_seconds() {
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 1 }, syn_options(), 1000);
    w.held(1..11, 1);
    w.held(11..21, 1);
    let mut out = w.put(Input::HolderGone(Holder(1)));
    out.extend(w.run(Time::from_secs(5)));
    assert!(out.contains(&Output::Reset(Why::Orphaned)), "{out:?}");
    let resets = |all: Vec<Segment>| all.iter().filter(|s| s.flags.has(Flags::RST)).count();
    assert_eq!(
        (resets(to_sender(&out)), resets(to_receiver(&out))),
        (3, 3),
        "said again, should one be lost"
    );
    assert!(to_sender(&w.sender(data(21, 10)))[0].flags.has(Flags::RST), "and whoever still speaks");
    // The null case: the bytes come.
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 1 }, syn_options(), 1000);
    w.held(1..11, 1);
    w.held(11..21, 1);
    w.sender(data(1, 20));
    w.put(Input::HolderGone(Holder(1)));
    assert!(!w.run(Time::from_secs(5)).iter().any(|o| matches!(o, Output::Reset(_))));
}

#[test]
fn the_window_never_passes_the_receivers_edge() {
    // 100 bytes in the SYN-ACK, unscaled; 4-byte units later.
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 2 }, syn_options(), 100);
    for i in 0..10 {
        for s in to_sender(&w.sender(data(1 + 10 * i, 10))) {
            assert!(offset(&s) + (u32::from(s.window) << 2) <= 101, "{s:?}");
        }
    }
    let out = w.sender(data(101, 10));
    assert_eq!(to_receiver(&out).last().map(|s| s.payload_bytes), Some(0), "past the edge: a probe, no byte");
    // A zero window is passed on, and so is its end.
    let closed = to_sender(&w.receiver(ack(101, 0)));
    assert_eq!(closed.last().map(|s| (offset(s), s.window)), Some((101, 0)));
    let opened = to_sender(&w.receiver(ack(101, 50)));
    assert_eq!(opened.last().map(|s| (offset(s), s.window)), Some((101, 50)));
}

#[test]
fn a_split_connection_has_a_window_of_its_own() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 100);
    let told: Vec<_> = (0..3).flat_map(|i| to_sender(&w.sender(data(1 + 10 * i, 10)))).collect();
    let last = told.last().map(|s| (offset(s), s.window));
    assert_eq!(last, Some((21, 0xFFFF)), "as much as the scale can say");
    // What the receiver has no room for waits here, and the receiver is asked.
    (3..10).for_each(|i| drop(w.sender(data(1 + 10 * i, 10))));
    let out = w.sender(data(101, 10));
    assert!(to_receiver(&out).iter().all(|s| s.payload_bytes == 0), "{out:?}");
    w.receiver(ack(101, 0));
    assert!(!to_receiver(&w.run(Time::from_secs(2))).is_empty(), "a probe of the closed window");
    let out = to_receiver(&w.receiver(ack(101, 50)));
    assert_eq!(out.iter().map(|s| s.payload_bytes).collect::<Vec<_>>(), [10]);
}

#[test]
fn acknowledgements_of_the_other_direction_go_on_whole() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.receiver(Segment { payload_bytes: 40, ..ack(1, 1000) });
    let mut sack = SackBlocks::default();
    sack.push((R_ISN + 20, R_ISN + 30));
    let theirs = data(1, 0);
    let theirs =
        Segment { options: Options { sack, ..theirs.options }, flags: Flags::ACK | Flags::ECE, ..theirs };
    assert_eq!(w.sender(theirs), [Output::ToReceiver(theirs)]);
    // Data that wait for the receiver's window do not hold up what they acknowledge.
    w.receiver(ack(1, 0));
    (0..101).for_each(|i| drop(w.sender(data(1 + 10 * i, 10))));
    let out = to_receiver(&w.sender(Segment { ack: R_ISN + 9, ..data(1011, 10) }));
    assert_eq!(out.iter().map(|s| (s.ack, s.payload_bytes)).collect::<Vec<_>>(), [(R_ISN + 9, 0)]);
    // Nor the window, which nothing else may open.
    let out = to_receiver(&w.sender(Segment { ack: R_ISN + 9, window: 2000, ..data(1021, 10) }));
    assert_eq!(out.iter().map(|s| (s.window, s.payload_bytes)).collect::<Vec<_>>(), [(2000, 0)]);
}

#[test]
fn the_receivers_keep_alive_is_the_senders_to_answer() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    let asks = Segment { seq: R_ISN, ..ack(1, 1000) };
    assert_eq!(to_sender(&w.receiver(asks)).iter().map(|s| s.seq).collect::<Vec<_>>(), [R_ISN]);
    assert_eq!(to_sender(&w.receiver(ack(1, 1000))), [], "null case: nothing is asked");
}

#[test]
fn an_answer_to_the_syn_that_was_lost_comes_again() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    let syn = Segment { options: syn_options(), ..base(Flags::SYN) };
    assert_eq!(w.sender(syn), [Output::ToReceiver(syn)]);
    w.sender(data(1, 10));
    let out = w.sender(syn);
    assert!(to_receiver(&out).is_empty() && to_sender(&out).len() == 1, "later it is challenged: {out:?}");
}

#[test]
fn without_scaling_windows_are_bytes() {
    let options = Options { window_scale: None, ..syn_options() };
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 2 }, options, 100);
    w.sender(data(1, 10));
    let out = to_sender(&w.receiver(ack(11, 300)));
    assert_eq!(out.last().map(|s| s.window), Some(300));
}

#[test]
fn gaps_are_told_by_true_blocks_or_three_duplicates() {
    for sack in [true, false] {
        let mut w = Wire::opened(Policy::Split, Options { sack_permitted: sack, ..syn_options() }, 1000);
        w.sender(data(11, 10));
        w.sender(data(31, 10));
        let out = to_sender(&w.run(Time::from_millis(25)));
        assert_eq!(out.len(), 3);
        for s in out {
            let block = |a: u32, b: u32| (S_ISN.wrapping_add(a), S_ISN.wrapping_add(b));
            let all = [block(31, 41), block(11, 21)];
            assert_eq!(s.options.sack.as_slice(), if sack { &all[..] } else { &[] });
            assert_eq!(offset(&s), 1);
        }
    }
}

#[test]
fn every_range_is_told_in_turn_however_many_there_are() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    for i in 0..8 {
        let at = 11 + 20 * i;
        let told = to_sender(&w.sender(data(at, 10)));
        let first = told.last().and_then(|s| s.options.sack.as_slice().first().copied());
        assert_eq!(first, Some((S_ISN.wrapping_add(at), S_ISN.wrapping_add(at + 10))));
    }
}

#[test]
fn the_receivers_duplicates_are_repaired_from_the_copy() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.receiver(ack(1, 1000));
    (0..4).for_each(|i| drop(w.sender(data(1 + 10 * i, 10))));
    w.now += Duration::from_millis(8);
    let mut sack = SackBlocks::default();
    sack.push((S_ISN.wrapping_add(11), S_ISN.wrapping_add(41)));
    let gap = ack(1, 1000);
    let mut out = w.receiver(Segment { options: Options { sack, ..gap.options }, ..gap });
    assert!(to_sender(&out).is_empty(), "the sender does not see it");
    out.extend(w.run(Time::from_millis(50)));
    let again: Vec<_> =
        to_receiver(&out).iter().map(|s| (s.seq.wrapping_sub(S_ISN), s.payload_bytes)).collect();
    assert_eq!(again, [(1, 10)]);
    // The null case: all arrived, nothing is sent again.
    assert!(to_receiver(&w.receiver(ack(41, 1000))).is_empty());
    assert!(to_receiver(&w.run(Time::from_secs(3))).is_empty());
}

/// Bytes that the sender saw acknowledged only this box can cut.
#[test]
fn a_way_that_gets_shorter_stops_nothing() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.receiver(ack(1, 1000));
    let urgent = Segment { urgent: 1000, flags: Flags::ACK | Flags::URG | Flags::PSH, ..data(1, 1400) };
    let parts = |out: &[Output]| -> Vec<(u32, u32, u16, bool)> {
        let all = to_receiver(out);
        let one =
            |s: &Segment| (s.seq.wrapping_sub(S_ISN), s.payload_bytes, s.urgent, s.flags.has(Flags::PSH));
        all.iter().map(one).collect()
    };
    assert_eq!(parts(&w.sender(urgent)), [(1, 1400, 1000, true)]);
    assert_eq!(parts(&w.sender(data(1401, 10))), [], "the window is full");
    assert_eq!(parts(&w.run(Time::from_millis(1500))), [(1, 1400, 1000, true)], "null case: lost once");
    assert_eq!(parts(&w.run(Time::from_millis(3500))), [(1, 700, 1000, false)], "cut");
    assert_eq!(parts(&w.receiver(ack(701, 1000))), [(701, 700, 300, true)], "and the rest");
    let rest = parts(&w.receiver(ack(1401, 1000)));
    assert_eq!(rest, [(1401, 10, 0, false)]);
    w.receiver(ack(1411, 1000));
    // It may have been an outage: a while later they go whole again.
    assert_eq!(parts(&w.sender(data(1411, 1400)))[0].1, 700);
    assert_eq!(parts(&w.receiver(ack(2111, 1000))), [(2111, 700, 0, false)]);
    w.receiver(ack(2811, 1000));
    w.now = Time::from_secs(20);
    assert_eq!(parts(&w.sender(data(2811, 1400))), [(2811, 1400, 0, false)]);
}

/// An acknowledgement of `at` that selects `range`.
fn selection(at: u32, range: core::ops::Range<u32>) -> Segment {
    let mut sack = SackBlocks::default();
    sack.push((S_ISN.wrapping_add(range.start), S_ISN.wrapping_add(range.end)));
    let plain = ack(at, 1000);
    Segment { options: Options { sack, ..plain.options }, ..plain }
}

/// Starts and lengths of what goes to the receiver.
fn lengths(out: &[Output]) -> Vec<(u32, u32)> {
    to_receiver(out).iter().map(|s| (s.seq.wrapping_sub(S_ISN), s.payload_bytes)).collect()
}

/// A connection with a window for some segments of 1000 bytes.
fn wide() -> Wire {
    let mut w = Wire::opened(Policy::Split, Options { mss: Some(1000), ..syn_options() }, 1000);
    w.receiver(ack(1, 1000));
    w
}

/// The receiver says its selections in every answer, also to what is no data, such as a probe.
#[test]
fn what_was_selected_before_a_timeout_is_no_progress_after_it() {
    let mut w = wide();
    assert_eq!(lengths(&w.sender(data(1, 1000))), [(1, 1000)]);
    assert_eq!(lengths(&w.sender(data(1001, 1000))), [(1001, 1000)]);
    w.now = Time::from_millis(10);
    w.receiver(selection(1, 1001..2001));
    let again = lengths(&w.run(Time::from_millis(300)));
    assert_eq!(again, [(1, 1000), (1, 1000)], "late, and by the first timeout");
    w.receiver(selection(1, 1001..2001));
    assert_eq!(lengths(&w.run(Time::from_millis(700))), [(1, 512), (513, 488)], "by the second, cut");
    // Nor is it a round trip: the next timeout is as short as one of 10 ms makes it.
    w.run(Time::from_secs(5));
    w.receiver(selection(1, 1001..2001));
    w.receiver(ack(2001, 1000));
    assert_eq!(lengths(&w.sender(data(2001, 500))), [(2001, 500)]);
    assert_eq!(lengths(&w.run(Time::from_millis(5250))), [(2001, 500)]);
}

#[test]
fn what_arrives_behind_a_long_piece_does_not_keep_it_whole() {
    let mut w = wide();
    assert_eq!(lengths(&w.sender(data(1, 900))), [(1, 900)]);
    assert_eq!(lengths(&w.run(Time::from_millis(1500))), [(1, 900)], "the first timeout");
    assert_eq!(lengths(&w.sender(data(901, 50))), [(901, 50)]);
    w.now = Time::from_millis(1510);
    assert_eq!(lengths(&w.receiver(selection(1, 901..951))), [(1, 900)], "late");
    let cut = lengths(&w.run(Time::from_millis(2000)));
    assert_eq!(cut, [(1, 512), (513, 388), (901, 50)], "the second timeout");
}

/// Short pieces come so often that there is no timeout, for as long as the window lasts.
#[test]
fn a_long_piece_is_cut_while_short_ones_go_on_arriving() {
    let mut w = wide();
    assert_eq!(lengths(&w.sender(data(1, 100))), [(1, 100)]);
    w.now = Time::from_millis(10);
    w.receiver(ack(101, 1000));
    let (begin, mut acked) = (w.now, 101);
    let mut all = lengths(&w.sender(data(101, 900)));
    for i in 0..40 {
        let at = 1001 + 50 * i;
        let after = |ms: u32| begin + Duration::from_millis(u64::from(20 * i + ms));
        all.extend(lengths(&w.sender(data(at, 50))));
        w.now = after(10);
        // The receiver has what is short, in order.
        let passes = |acked: u32, all: &[(u32, u32)]| {
            all.iter().find(|(from, len)| *from == acked && (1..=512).contains(len)).map(|piece| piece.1)
        };
        while let Some(len) = passes(acked, &all) {
            acked += len;
        }
        let answer = if acked > at { ack(acked, 1000) } else { selection(acked, 1001..at + 50) };
        all.extend(lengths(&w.receiver(answer)));
        all.extend(lengths(&w.run(after(20))));
    }
    assert!(all.contains(&(101, 900)) && all.contains(&(101, 512)), "{all:?}");
    assert_eq!(acked, 3001);
}

#[test]
fn more_than_a_few_timestamps_wait_and_each_is_echoed() {
    let stamps = |value, echo| Some(Timestamps { value, echo });
    let options = Options { timestamps: stamps(100, 50), ..syn_options() };
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 1 }, options, 60_000);
    w.receiver(ack(1, 60_000));
    let mut told = None;
    for i in 0..1000u64 {
        let (range, timestamp) = (1 + 10 * i..11 + 10 * i, Some(101 + i as u32));
        let out = w.put(Input::Held { range, holder: Holder(1), timestamp });
        told = to_sender(&out).last().map(|s| (offset(s), s.options.timestamps)).or(told);
    }
    assert_eq!(told, Some((9991, stamps(100, 1099))), "the last but one: the newest may be the last");
}

#[test]
fn timestamps_echo_what_was_acknowledged_and_old_ones_are_refused() {
    let stamps = |value, echo| Some(Timestamps { value, echo });
    let mut w = Wire::opened(Policy::Split, Options { timestamps: stamps(100, 50), ..syn_options() }, 1000);
    let stamped = |at, t| {
        let d = data(at, 10);
        Segment { options: Options { timestamps: stamps(t, 50), ..d.options }, ..d }
    };
    w.sender(stamped(1, 105));
    w.sender(stamped(11, 110));
    let out = to_sender(&w.sender(stamped(21, 120)));
    assert_eq!(
        out[0].options.timestamps,
        stamps(100, 110),
        "no clock of our own, and the acknowledged segment's"
    );
    w.receiver(ack(31, 1000));
    let out = w.sender(stamped(31, 90));
    assert!(to_receiver(&out).is_empty(), "PAWS");
    assert_eq!(to_receiver(&w.sender(stamped(31, 130))).len(), 1, "null case");
}

#[test]
fn what_a_holder_brings_late_is_neither_old_nor_known() {
    let stamps = |value| Some(Timestamps { value, echo: 50 });
    let options = Options { timestamps: stamps(100), ..syn_options() };
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 1 }, options, 1000);
    for i in 0..3 {
        let (range, timestamp) = (1 + 10 * i..11 + 10 * i, Some(110 + i as u32));
        w.put(Input::Held { range, holder: Holder(1), timestamp });
    }
    let stamped = |at, t| {
        let d = data(at, 10);
        Segment { options: Options { timestamps: stamps(t), ..d.options }, ..d }
    };
    let brought = w.sender(stamped(1, 110));
    let bytes: Vec<_> = to_receiver(&brought).iter().map(|s| s.payload_bytes).collect();
    assert_eq!(bytes, [10], "acknowledged to the sender, and new here");
    w.receiver(ack(11, 1000));
    assert!(to_receiver(&w.sender(stamped(11, 90))).iter().all(|s| s.payload_bytes == 0), "PAWS still holds");
    assert_eq!(to_receiver(&w.sender(stamped(11, 111))).len(), 1, "null case");
}

#[test]
fn marks_urgent_data_and_echoes_pass() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    let d = data(1, 10);
    let marked = Segment { ecn: Ecn::Ce, urgent: 4, flags: d.flags | Flags::URG | Flags::CWR, ..d };
    let out = to_receiver(&w.sender(marked))[0];
    assert_eq!((out.ecn, out.urgent, out.flags), (Ecn::Ce, 4, marked.flags));
    // What of a segment is new may lie past its urgent point (RFC 9293 §3.8.5).
    let again = Segment { urgent: 4, flags: d.flags | Flags::URG, payload_bytes: 20, ..d };
    let rest = to_receiver(&w.sender(again))[0];
    assert_eq!((rest.payload_bytes, rest.urgent, rest.flags.has(Flags::URG)), (10, 0, false));
    let a = ack(1, 1000);
    let echo = to_sender(&w.receiver(Segment { flags: a.flags | Flags::ECE, ..a }));
    assert!(echo[0].flags.has(Flags::ECE), "at once");
    assert!(to_sender(&w.sender(data(21, 10)))[0].flags.has(Flags::ECE), "and on our own");
    assert!(!to_sender(&w.receiver(ack(31, 1000)))[0].flags.has(Flags::ECE), "until it ends");
}

#[test]
fn a_keep_alive_is_answered_by_the_receiver() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.sender(data(1, 10));
    w.receiver(ack(11, 1000));
    for len in [0, 1] {
        let out = w.sender(data(10, len));
        assert_eq!(
            to_receiver(&out)
                .iter()
                .map(|s| (s.seq.wrapping_sub(S_ISN), s.payload_bytes))
                .collect::<Vec<_>>(),
            [(10, 0)]
        );
        assert_eq!(to_sender(&w.receiver(ack(11, 1000))).len(), 1);
        assert_eq!(to_sender(&w.receiver(ack(11, 1000))).len(), 0, "null case: nobody asked");
    }
}

#[test]
fn both_may_close_at_once_and_either_may_reset() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..data(1, 0) };
    assert_eq!(to_receiver(&w.sender(fin)).len(), 1);
    let theirs = Segment { flags: Flags::FIN | Flags::ACK, ..ack(1, 1000) };
    let out = to_sender(&w.receiver(theirs));
    assert!(out[0].flags.has(Flags::FIN) && offset(&out[0]) == 1, "{out:?}");
    let both = Segment { ack: R_ISN + 2, ..data(2, 0) };
    assert_eq!(to_receiver(&w.sender(both))[0].ack, R_ISN + 2);
    assert_eq!(
        to_sender(&w.receiver(Segment { seq: R_ISN + 2, ..ack(2, 1000) }))
            .iter()
            .map(offset)
            .collect::<Vec<_>>(),
        [2]
    );

    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    let rst = Segment { flags: Flags::RST, ..ack(1, 0) };
    assert_eq!(w.receiver(rst), [Output::ToSender(rst), Output::Reset(Why::ByAnEnd)]);
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.sender(data(1, 10));
    let by_sender = |at| Segment { flags: Flags::RST, ..data(at, 0) };
    let out = w.sender(by_sender(11));
    assert!(to_receiver(&out).is_empty(), "a guess in the window resets nobody (RFC 5961)");
    assert_eq!(to_sender(&out).iter().map(offset).collect::<Vec<_>>(), [1], "it is challenged");
    assert_eq!(w.sender(by_sender(11)), [], "but not each one of a flood (RFC 5961 §7)");
    w.now += Duration::from_millis(500);
    assert_eq!(to_sender(&w.sender(by_sender(11))).len(), 1, "half a second later again");
    assert_eq!(w.sender(by_sender(9_000_000)), [], "one outside is dropped");
    let guess = Segment { flags: Flags::RST, ..ack(1, 0) };
    let guess = Segment { seq: guess.seq.wrapping_add(5), ..guess };
    assert_eq!(w.receiver(guess), [Output::ToSender(guess)], "the sender judges");
    let out = w.sender(by_sender(1));
    assert_eq!(to_receiver(&out)[0].seq, S_ISN.wrapping_add(1), "where the receiver takes it");
    assert!(out.contains(&Output::Reset(Why::ByAnEnd)));
}

#[test]
fn what_cannot_be_acknowledged_for_another_is_left_alone() {
    let with = |foreign| Options { foreign, ..syn_options() };
    let none = ForeignOptions::default();
    let mptcp = ropewalk_packet::MptcpOption::Capable { sender: None, receiver: None };
    let cases = [
        (
            Segment { options: with(ForeignOptions { authentication: true, ..none }), ..base(Flags::SYN) },
            Bypass::Authentication,
        ),
        (Segment { options: with(ForeignOptions { md5: true, ..none }), ..base(Flags::SYN) }, Bypass::Md5),
        (
            Segment { options: Options { mptcp: Some(mptcp), ..syn_options() }, ..base(Flags::SYN) },
            Bypass::Mptcp,
        ),
        (
            Segment { options: with(ForeignOptions { fast_open: true, ..none }), ..base(Flags::SYN) },
            Bypass::FastOpen,
        ),
        (Segment { payload_bytes: 9, ..base(Flags::SYN) }, Bypass::FastOpen),
        (data(1, 10), Bypass::NoHandshake),
    ];
    for (segment, why) in cases {
        let mut w = Wire { pep: Pep::new(Config::new(Policy::Split)), now: Time::ZERO };
        assert_eq!(w.sender(segment), [Output::Bypass(why)]);
        assert_eq!(w.sender(data(1, 10)), [], "the driver forwards");
    }
}

#[test]
fn a_slow_receiver_costs_bounded_memory() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 60_000);
    let Output::Timeout(..) = w.pep.poll_output() else { panic!() };
    let mut config = Config::new(Policy::Split);
    config.memory_bytes = 50;
    let mut small = Wire { pep: Pep::new(config), now: Time::ZERO };
    small.sender(Segment { options: syn_options(), ..base(Flags::SYN) });
    small.receiver(Segment {
        flags: Flags::SYN | Flags::ACK,
        seq: R_ISN,
        options: syn_options(),
        ..ack(1, 40)
    });
    small.receiver(ack(1, 60_000));
    let taken = (0..100)
        .filter(|i| to_receiver(&small.sender(data(1 + 10 * i, 10))).iter().any(|s| s.payload_bytes > 0));
    assert_eq!(taken.count(), 5);
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_releases_nothing() {
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 1 }, syn_options(), 1000);
    w.held(1..11, 1);
    assert!(!w.receiver(ack(11, 1000)).iter().any(|o| matches!(o, Output::Release { .. })));
    w.sender(data(1, 10));
    assert!(w.receiver(ack(11, 1000)).contains(&Output::Release { range: 1..11 }), "null case");
}
