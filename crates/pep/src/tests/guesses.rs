//! Segments of somebody who sees nothing of the connection and guesses its numbers.

use super::*;

fn stamped(s: Segment, value: u32) -> Segment {
    let timestamps = Some(Timestamps { value, echo: 50 });
    Segment { options: Options { timestamps, ..s.options }, ..s }
}

fn kept(w: &Wire) -> Vec<(u64, u64)> {
    w.pep.kept().unwrap().iter().map(|r| (r.start, r.end)).collect()
}

/// Bytes that went to the receiver.
fn bytes(out: &[Output]) -> u32 {
    to_receiver(out).iter().map(|s| s.payload_bytes).sum()
}

#[test]
fn what_is_refused_is_not_kept() {
    let options = stamped(Segment { options: syn_options(), ..base(Flags::SYN) }, 100).options;
    let mut w = Wire::opened(Policy::Split, options, 1000);
    w.sender(stamped(data(1, 10), 105));
    let at = |at| stamped(data(at, 10), 110);
    let with = |flags, s: Segment| Segment { flags: s.flags | flags, ..s };
    for refused in [
        stamped(data(11, 10), 90),
        data(11, 10),
        Segment { flags: Flags::PSH, ..at(11) },
        Segment { ack: R_ISN + 2, ..at(11) },
        Segment { ack: R_ISN.wrapping_sub(1 << 30), ..at(11) },
        with(Flags::SYN, at(11)),
        with(Flags::RST, at(11)),
        at(9_000_000),
    ] {
        assert_eq!(bytes(&w.sender(refused)), 0, "{refused:?}");
        assert_eq!(kept(&w), [(0, 11)], "{refused:?}");
    }
    assert_eq!(bytes(&w.sender(at(11))), 10, "null case");
    assert_eq!(kept(&w), [(0, 21)]);
    // Known bytes and new ones in one segment, and a gap.
    w.sender(stamped(data(15, 10), 110));
    w.sender(at(41));
    assert_eq!(kept(&w), [(0, 25), (41, 51)]);
}

#[test]
fn acknowledgements_are_near_what_the_receiver_sent() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    // The sender offers 1000 units of four bytes.
    w.sender(data(1, 10));
    let acking = |at, ack| Segment { ack, ..data(at, 10) };
    let old = |by| (R_ISN + 1).wrapping_sub(by);
    let out = w.sender(acking(11, R_ISN + 2));
    assert_eq!((bytes(&out), to_sender(&out).len()), (0, 1), "never sent: challenged (RFC 5961)");
    let out = w.sender(acking(11, old(4001)));
    assert_eq!((bytes(&out), to_sender(&out).len()), (0, 0), "too old; and a flood is not answered");
    w.now += Duration::from_millis(500);
    assert_eq!(to_sender(&w.sender(acking(11, old(1 << 30)))).len(), 1, "half a second later again");
    assert_eq!(bytes(&w.sender(acking(11, old(4000)))), 10, "null case: overtaken on the way");
    w.receiver(Segment { payload_bytes: 10, ..ack(21, 1000) });
    assert_eq!(bytes(&w.sender(acking(21, R_ISN + 11))), 10, "null case: now it was sent");
}

#[test]
fn what_a_holder_brings_may_acknowledge_little() {
    let mut w = Wire::opened(Policy::ProactiveAck { custody: 1 }, syn_options(), 1000);
    let old = Segment { ack: R_ISN.wrapping_sub(1 << 20), ..data(1, 10) };
    assert_eq!(bytes(&w.sender(old)), 10);
    let out = w.sender(Segment { ack: R_ISN + 2, ..data(11, 10) });
    assert_eq!(bytes(&out), 0, "but not what was never sent");
}

/// It goes on at a number that the receiver takes: what that would refuse is not to be mended here.
#[test]
fn an_acknowledgement_out_of_the_window_says_nothing() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.receiver(Segment { payload_bytes: 40, ..ack(1, 1000) });
    w.sender(data(1, 10));
    w.receiver(Segment { seq: R_ISN + 41, ..ack(11, 1000) });
    let says = |w: &mut Wire, at| {
        let out = w.sender(Segment { ack: R_ISN + 21, ..data(at, 0) });
        to_receiver(&out).iter().any(|s| s.ack == R_ISN + 21)
    };
    for at in [9_000_000, 1 << 30, 9] {
        assert!(!says(&mut w, at), "{at}");
    }
    assert!(says(&mut w, 11), "null case");
}

/// Where the receiver's segments come from the network, and not by another proxy (`Duplex`).
#[test]
fn a_guess_in_the_receivers_name_moves_nothing() {
    let mut w = Wire::opened(Policy::Split, syn_options(), 1000);
    w.sender(data(1, 10));
    w.sender(data(11, 10));
    for apart in [1_000_000, 1 << 30, 1 << 31, 3 << 30] {
        let guess = Segment { seq: (R_ISN + 1).wrapping_add(apart), ..ack(11, 1000) };
        assert_eq!(w.receiver(guess), [Output::ToSender(guess)], "the sender judges it");
    }
    let out = to_sender(&w.sender(data(21, 10)));
    assert_eq!(out.iter().map(|s| s.seq).collect::<Vec<_>>(), [R_ISN + 1], "answered where it waits");
    assert!(w.receiver(ack(11, 1000)).contains(&Output::Release { range: 1..11 }), "null case");
}
