//! Snoop: what passes, what is repaired, what is kept from the sender.

use super::*;
use core::time::Duration;

/// A connection with four segments of ten bytes under way, 8 ms old.
fn under_way(policy: Policy) -> Wire {
    let mut w = Wire::opened(policy, syn_options(), 1000);
    w.receiver(ack(1, 1000));
    for i in 0..4 {
        let d = data(1 + 10 * i, 10);
        assert_eq!(w.sender(d), [Output::ToReceiver(d)], "as it came");
    }
    w.now += Duration::from_millis(8);
    w
}

fn selecting(at: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut sack = SackBlocks::default();
    for (a, b) in blocks {
        assert!(sack.push((S_ISN.wrapping_add(*a), S_ISN.wrapping_add(*b))));
    }
    let a = ack(at, 1000);
    Segment { options: Options { sack, ..a.options }, ..a }
}

fn repeated(outputs: &[Output]) -> Vec<u32> {
    to_receiver(outputs).iter().map(|s| s.seq.wrapping_sub(S_ISN)).collect()
}

#[test]
fn nothing_is_acknowledged_here() {
    let mut w = under_way(Policy::Snoop);
    assert_eq!(to_sender(&w.run(Time::from_secs(5))), [], "however long the receiver says nothing");
    let a = ack(21, 1000);
    let out = w.receiver(a);
    assert_eq!(out, [Output::Release { range: 1..21 }, Output::ToSender(a)], "as it came");
    assert_eq!(w.pep.holds(), 0);
}

#[test]
fn a_gap_is_repaired_and_its_duplicates_stay_here() {
    let mut w = under_way(Policy::Snoop);
    assert_eq!(to_sender(&w.receiver(selecting(1, &[(11, 21)]))), []);
    assert_eq!(to_sender(&w.receiver(selecting(1, &[(11, 31)]))), []);
    assert_eq!(repeated(&w.run(w.now + Duration::from_millis(3))), [1], "the first alone, once");
    w.now += Duration::from_millis(8);
    let on = w.receiver(ack(41, 1000));
    assert_eq!(to_sender(&on), [ack(41, 1000)]);
    assert_eq!(repeated(&w.run(w.now + Duration::from_secs(5))), [], "null case: nothing is missing");
}

#[test]
fn blocks_above_a_second_gap_stay_here_too() {
    let mut w = under_way(Policy::Snoop);
    w.receiver(selecting(1, &[(31, 41)]));
    let on = to_sender(&w.receiver(selecting(11, &[(31, 41)])));
    assert_eq!(on, [ack(11, 1000)], "the news without the blocks: the sender would repair by them");
    let foreign = ForeignOptions { authentication: true, ..ForeignOptions::default() };
    let signed = selecting(11, &[(31, 41)]);
    let signed = Segment { window: 999, options: Options { foreign, ..signed.options }, ..signed };
    assert_eq!(to_sender(&w.receiver(signed)), [signed], "a signature covers them");
    assert_eq!(repeated(&w.run(w.now + Duration::from_millis(3))), [11, 21]);
}

#[test]
fn without_blocks_the_first_duplicate_tells() {
    let mut w = under_way(Policy::Snoop);
    let out = w.receiver(ack(1, 1000));
    assert_eq!((repeated(&out), to_sender(&out)), (vec![1], vec![]));
    let out = w.receiver(ack(1, 1000));
    assert_eq!((repeated(&out), to_sender(&out)), (vec![], vec![]), "the others are expected");
}

#[test]
fn the_last_of_a_burst_is_repaired_by_time() {
    let mut w = under_way(Policy::Snoop);
    w.receiver(ack(31, 1000));
    let out = w.run(w.now + Duration::from_millis(60));
    assert_eq!(repeated(&out), [31]);
    assert_eq!(to_sender(&out), []);
}

#[test]
fn what_the_sender_repairs_is_the_senders() {
    let mut w = under_way(Policy::Snoop);
    let d = data(1, 10);
    assert_eq!(w.sender(d), [Output::ToReceiver(d)]);
    let duplicate = selecting(1, &[(11, 21)]);
    assert_eq!(w.receiver(duplicate), [Output::ToSender(duplicate)]);
}

#[test]
fn what_was_lost_before_this_box_is_the_senders() {
    let mut w = Wire::opened(Policy::Snoop, syn_options(), 1000);
    w.receiver(ack(1, 1000));
    w.sender(data(11, 10));
    w.now += Duration::from_millis(8);
    let duplicate = selecting(1, &[(11, 21)]);
    assert_eq!(w.receiver(duplicate), [Output::ToSender(duplicate)]);
    assert_eq!(repeated(&w.run(Time::from_secs(5))), []);
}

#[test]
fn it_gives_up_and_says_so_by_letting_duplicates_pass() {
    let mut w = under_way(Policy::Snoop);
    let duplicate = selecting(1, &[(11, 41)]);
    w.receiver(duplicate);
    assert_eq!(repeated(&w.run(Time::from_secs(60))), [1; 4], "four times, further and further apart");
    assert_eq!(to_sender(&w.receiver(duplicate)), [duplicate]);
}

#[test]
fn windows_and_news_of_mptcp_are_no_duplicates() {
    let mut w = under_way(Policy::Snoop);
    let wider = ack(1, 2000);
    assert_eq!(to_sender(&w.receiver(wider)), [wider]);
    let signal = |n| {
        let dss = ropewalk_packet::MptcpOption::Dss { data_ack: Some(n), mapping: None, data_fin: false };
        Segment { options: Options { mptcp: Some(dss), ..Options::default() }, ..ack(1, 2000) }
    };
    assert_eq!(to_sender(&w.receiver(signal(5))), [signal(5)]);
    assert_eq!(to_sender(&w.receiver(signal(5))), [], "the same again is one");
    let closed = ack(1, 0);
    assert_eq!(to_sender(&w.receiver(closed)), [closed]);
    assert_eq!(to_sender(&w.receiver(closed)), [closed], "the answer to a probe");
}

#[test]
fn a_connection_may_be_met_half_way_and_none_is_left_alone() {
    let mut w = Wire { pep: Pep::new(Config::new(Policy::Snoop)), now: Time::ZERO };
    for i in 100..104 {
        let d = data(10 * i, 10);
        assert_eq!(w.sender(d), [Output::ToReceiver(d)]);
    }
    w.receiver(ack(1010, 1000));
    let out = w.receiver(ack(1010, 1000));
    assert_eq!((repeated(&out), to_sender(&out)), (vec![1010], vec![]));
    let signed = ForeignOptions { authentication: true, md5: true, fast_open: true, mptcp: true };
    let syn = Segment { options: Options { foreign: signed, ..syn_options() }, ..base(Flags::SYN) };
    assert_eq!(to_receiver(&w.sender(syn)), [syn], "what is repeated is the sender's own");
}

/// All that the sender sent after it counted as its own repetition, and nothing was repaired here.
#[test]
fn a_guess_past_the_receivers_window_ends_no_help() {
    let mut w = Wire::opened(Policy::Snoop, syn_options(), 1000);
    w.receiver(ack(1, 1000));
    for at in [5_000_000, 1 << 30] {
        let guess = data(at, 10);
        assert_eq!(w.sender(guess), [Output::ToReceiver(guess)], "the receiver judges it");
    }
    (0..4).for_each(|i| drop(w.sender(data(1 + 10 * i, 10))));
    w.now += Duration::from_millis(8);
    assert_eq!(to_sender(&w.receiver(selecting(1, &[(11, 41)]))), []);
    assert_eq!(repeated(&w.run(w.now + Duration::from_millis(3))), [1]);
}

#[test]
fn what_probes_a_closed_window_goes_past_it() {
    let mut w = Wire::opened(Policy::Snoop, syn_options(), 10);
    w.sender(data(1, 10));
    w.receiver(ack(11, 0));
    w.sender(data(11, 1));
    w.receiver(ack(12, 1000));
    w.sender(data(12, 10));
    assert_eq!(repeated(&w.receiver(ack(12, 1000))), [12]);
}

#[test]
fn copies_are_bounded_in_bytes() {
    let mut config = Config::new(Policy::Snoop);
    config.memory_bytes = 3 * 300;
    let mut w = Wire { pep: Pep::new(config), now: Time::ZERO };
    (0..100).for_each(|i| drop(w.sender(data(1 + 10 * i, 10))));
    w.now += Duration::from_millis(8);
    let out = w.receiver(selecting(1, &[(21, 31), (991, 1001)]));
    let all: Vec<_> =
        repeated(&out).into_iter().chain(repeated(&w.run(w.now + Duration::from_millis(5)))).collect();
    assert_eq!(all, [1, 11], "what was not kept is the sender's");
}
