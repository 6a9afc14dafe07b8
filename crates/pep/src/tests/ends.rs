//! How connections begin and end, and what is odd about it.

use super::*;

/// A port that is used again: what answers the SYN before comes late, or is made up.
#[test]
fn an_answer_to_another_syn_opens_nothing() {
    let mut w = Wire { pep: Pep::new(Config::new(Policy::Split)), now: Time::ZERO };
    let syn = Segment { options: syn_options(), ..base(Flags::SYN) };
    w.sender(syn);
    let (flags, options) = (Flags::SYN | Flags::ACK, syn_options());
    let answer = Segment { flags, seq: R_ISN, options, ..ack(1, 1000) };
    let late = Segment { seq: 5, ack: answer.ack.wrapping_sub(77), ..answer };
    assert_eq!(w.receiver(late), [Output::ToSender(late)], "the sender judges it");
    let rst = Segment { seq: late.ack, ..base(Flags::RST) };
    assert_eq!(w.sender(rst), [Output::ToReceiver(rst)], "and resets it");
    assert_eq!(w.receiver(answer), [Output::ToSender(answer)], "null case");
    assert_eq!(lengths(&w.sender(data(1, 10))), [(1, 10)]);
}

/// Options that came in 40 bytes may take more as they are written here, each by four.
#[test]
fn what_an_acknowledgement_carries_fits_a_header() {
    let timestamps = Some(Timestamps { value: 100, echo: 50 });
    let mut w = Wire::opened(Policy::Split, Options { timestamps, ..syn_options() }, 1000);
    let mut sack = SackBlocks::default();
    (0..3).for_each(|i| assert!(sack.push((R_ISN + 10 * i, R_ISN + 10 * i + 5))));
    let usual = Options { timestamps, sack, ..Options::default() };
    // As bytes 39, with a window scale that no segment but a SYN has.
    let odd = Segment { options: Options { window_scale: Some(3), ..usual }, ..data(5, 0) };
    let out = to_receiver(&w.sender(odd));
    assert_eq!(out.iter().map(|s| s.options).collect::<Vec<_>>(), [usual]);
    assert!(usual.to_bytes().len() <= ropewalk_packet::MAX_OPTIONS_BYTES);
}

/// Where a segment fills the path's packets, nothing passes beside it.
#[test]
fn data_of_the_receiver_go_on_no_longer_than_they_came() {
    let timestamps = Some(Timestamps { value: 100, echo: 50 });
    let mut w = Wire::opened(Policy::Split, Options { timestamps, ..syn_options() }, 1000);
    let stamped = |s: Segment| Segment { options: Options { timestamps, ..s.options }, ..s };
    let told = to_sender(&w.sender(stamped(data(11, 10))));
    assert_eq!(told[0].options.sack.as_slice().len(), 1, "a gap, told by a block");
    let full = stamped(Segment { payload_bytes: 1448, ..ack(1, 1000) });
    let plain = Segment { seq: R_ISN + 1449, payload_bytes: 1460, ..ack(1, 1000) };
    for s in [full, plain] {
        let out = to_sender(&w.receiver(s));
        assert_eq!(out.iter().map(Segment::ip_bytes).collect::<Vec<_>>(), [1500]);
    }
    let fin = stamped(Segment { seq: R_ISN + 2909, flags: Flags::FIN | Flags::ACK, ..ack(1, 1000) });
    assert_eq!(to_sender(&w.receiver(fin))[0].options.sack.as_slice().len(), 1, "where there is room");
}

/// A reset may say why in text (RFC 1122 §4.2.2.12), which no driver keeps.
#[test]
fn a_reset_with_text_reaches_the_receiver() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.sender(data(1, 10));
    w.sender(data(11, 10));
    let out = w.sender(Segment { flags: Flags::RST | Flags::PSH | Flags::ACK, ..data(11, 30) });
    let went: Vec<_> = to_receiver(&out).iter().map(|s| (s.flags, s.seq, s.payload_bytes)).collect();
    assert_eq!(went, [(Flags::RST | Flags::ACK, S_ISN.wrapping_add(1), 0)], "no 30 bytes are here");
    assert!(out.contains(&Output::Reset(Why::ByAnEnd)));
}

/// A download, or an hour of keep-alives: the end that sends nothing is not of another time.
#[test]
fn who_only_acknowledges_is_heard_for_ever() {
    let stamps = |value| Some(Timestamps { value, echo: 50 });
    let mut w = Wire::opened(Policy::Split, Options { timestamps: stamps(100), ..syn_options() }, 1000);
    let stamped = |s: Segment, t| Segment { options: Options { timestamps: stamps(t), ..s.options }, ..s };
    let quarter = |i: u32| 105u32.wrapping_add(i << 30);
    w.sender(stamped(data(1, 10), quarter(0)));
    w.receiver(ack(11, 1000));
    for (i, at) in [(1, 11), (2, 11), (3, 11), (4, 11), (5, 10), (6, 10), (7, 10)] {
        let out = w.sender(stamped(data(at, 0), quarter(i)));
        assert_eq!(to_receiver(&out).len(), 1, "{i}: an acknowledgement, or a keep-alive as a probe");
    }
    assert!(to_receiver(&w.sender(stamped(data(11, 10), quarter(6)))).is_empty(), "PAWS still holds");
    assert_eq!(lengths(&w.sender(stamped(data(11, 10), quarter(7)))), [(11, 10)]);
}

/// The sender is gone, and what it sent last was lost in part.
#[test]
fn what_lies_beyond_a_gap_is_no_promise() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.sender(data(1, 10));
    w.receiver(ack(11, 1000));
    w.sender(data(21, 10));
    assert_eq!(w.pep.holds(), 0);
    assert_eq!(to_receiver(&w.run(Time::from_secs(60))), [], "the receiver cannot help");
    assert_eq!(lengths(&w.sender(data(11, 10))), [(11, 10), (21, 10)], "null case");
    assert_eq!((w.pep.holds(), to_receiver(&w.run(Time::from_secs(62))).is_empty()), (20, false));
}
