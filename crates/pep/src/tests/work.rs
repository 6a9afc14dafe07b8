//! What a report costs: whoever may name packets sends many.

use super::*;

/// A connection whose receiver acknowledges nothing; its driver asks holders itself.
fn opened() -> Wire {
    let config = Config { fetches: false, ..Config::new(Policy::ProactiveAck { custody: 1 }) };
    let (mut w, options) = (Wire { pep: Pep::new(config), now: Time::ZERO }, syn_options());
    w.sender(Segment { options, ..base(Flags::SYN) });
    w.receiver(Segment { flags: Flags::SYN | Flags::ACK, seq: R_ISN, options, ..ack(1, 60_000) });
    w
}

/// Each report asks what may be sent, and when. Piece by piece this took half a minute.
#[test]
fn a_report_costs_few_steps_however_many_pieces_are_here() {
    let mut w = opened();
    (0..16_000).for_each(|i| drop(w.sender(data(1 + i, 1))));
    assert_eq!(w.pep.holds(), 16_000);
    (0..400_000).for_each(|_| drop(w.held(1..16_001, 1)));
    assert_eq!(offset(&to_sender(&w.put(Input::Repeated))[0]), 16_000, "all but the newest");
}

/// Bytes that are here and bytes of a holder in turn. To walk over all of them each time took longer.
#[test]
fn a_report_costs_few_steps_in_a_patchwork() {
    let mut w = opened();
    (1..=1000).for_each(|i| drop(w.sender(data(2 * i, 1))));
    (1..=1000).for_each(|i| drop(w.held(2 * i - 1..2 * i, 0)));
    (0..200_000).for_each(|_| drop(w.held(1..2, 0)));
    assert_eq!(offset(&to_sender(&w.put(Input::Repeated))[0]), 2000, "all but the newest");
    // The null case: a holder that goes is noticed.
    w.put(Input::HolderGone(Holder(0)));
    assert!(w.run(Time::from_secs(4)).contains(&Output::Reset(Why::Orphaned)));
}
