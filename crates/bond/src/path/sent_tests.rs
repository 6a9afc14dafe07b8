use super::*;
use arrayvec::ArrayVec;

const RTT: Duration = Duration::from_millis(40);

fn log(n: u64) -> SentLog {
    let mut l = SentLog::new(1000);
    for i in 0..n {
        let fragment = FragmentRef { packet: i as u32, offset: 0, len: 100, copy: false };
        l.on_sent(Time::from_millis(i), 1000, true, &[fragment], None, rate::Snapshot::default());
    }
    l
}

fn ack(largest: u32, ranges: &[(u16, u16)]) -> AckFrame {
    AckFrame { largest, ranges: ArrayVec::from_iter(ranges.iter().copied()), ..Default::default() }
}

fn handle(l: &mut SentLog, ms: u64, a: &AckFrame) -> Outcome {
    let mut out = Outcome::default();
    assert_eq!(l.on_ack(Time::from_millis(ms), a, RTT, &mut out), AckCheck::Taken);
    out
}

fn packets(c: &[FragmentRef]) -> Vec<u32> {
    let mut v: Vec<u32> = c.iter().map(|c| c.packet).collect();
    v.sort();
    v
}

#[test]
fn in_order_acknowledgement_frees_everything() {
    let mut l = log(5);
    let out = handle(&mut l, 20, &ack(4, &[(0, 5)]));
    assert_eq!(packets(&out.arrived), [0, 1, 2, 3, 4]);
    assert_eq!(out.largest, Some(Largest { number: 4, at: Time::from_millis(4), is_alone: false }));
    assert_eq!((l.inflight(), l.sent.len(), l.fragments.len()), (0, 0, 0));
}

#[test]
fn a_datagram_is_alone_if_nothing_else_is_on_the_way() {
    let mut l = log(1);
    let out = handle(&mut l, 20, &ack(0, &[(0, 1)]));
    assert!(out.largest.unwrap().is_alone);
    for n in 1..3 {
        l.on_sent(Time::from_millis(20 + n), 1000, true, &[], None, rate::Snapshot::default());
    }
    assert!(handle(&mut l, 40, &ack(1, &[(0, 1)])).largest.unwrap().is_alone);
    assert!(!handle(&mut l, 41, &ack(2, &[(0, 1)])).largest.unwrap().is_alone);
}

#[test]
fn three_later_ones_make_a_loss_and_the_timer_the_rest() {
    let mut l = log(6);
    let out = handle(&mut l, 20, &ack(4, &[(0, 3), (1, 1)]));
    assert_eq!((packets(&out.arrived), packets(&out.to_retransmit)), (vec![0, 2, 3, 4], vec![1]));
    let mut l = log(6);
    let out = handle(&mut l, 20, &ack(2, &[(0, 1), (1, 1)]));
    assert!(out.to_retransmit.is_empty());
    assert_eq!(l.loss_time(RTT), Some(Time::from_millis(46)));
    let mut out = Outcome::default();
    l.on_loss_timer(Time::from_millis(46), RTT, &mut out);
    assert_eq!(packets(&out.to_retransmit), [1]);
    assert_eq!(l.datagrams_in_flight(), 3);
}

#[test]
fn a_path_that_reorders_earns_patience() {
    let mut l = log(20);
    assert_eq!(packets(&handle(&mut l, 20, &ack(9, &[(0, 9)])).to_retransmit), [0]);
    let out = handle(&mut l, 21, &ack(9, &[(0, 10)]));
    assert_eq!((out.spurious, out.arrived.len()), (1, 0));
    assert_eq!(l.threshold, 10);
}

#[test]
fn an_acknowledgement_of_the_future_is_refused() {
    let mut l = log(3);
    for a in [ack(3, &[(0, 1)]), ack(u32::MAX, &[(0, 1)])] {
        assert_eq!(l.on_ack(Time::ZERO, &a, RTT, &mut Outcome::default()), AckCheck::Absurd);
    }
}

#[test]
fn death_loses_all_that_flies() {
    let mut l = log(4);
    handle(&mut l, 10, &ack(0, &[(0, 1)]));
    let mut out = Outcome::default();
    l.lose_all(&mut out);
    assert_eq!(packets(&out.to_retransmit), [1, 2, 3]);
    assert_eq!(l.inflight(), 0);
}

/// A controller that was told of a loss takes its answer back if there was none; what it was not
/// told of must not undo another answer.
#[test]
fn bytes_that_were_no_loss_are_those_that_were_told_as_congestion() {
    let all = ack(9, &[(0, 10)]);
    let mut l = log(10);
    assert_eq!(handle(&mut l, 20, &ack(9, &[(0, 9)])).lost.len(), 1);
    let out = handle(&mut l, 21, &all);
    assert_eq!((out.spurious, out.spurious_bytes), (1, 1000), "it was overtaken");
    let mut l = log(10);
    l.lose_all(&mut Outcome::default());
    let out = handle(&mut l, 21, &all);
    assert_eq!((out.spurious, out.spurious_bytes), (10, 0), "the path was silent for a moment");
    let mut l = SentLog::new(1000);
    for i in 0..10 {
        let probe = (i == 0).then_some(1000);
        l.on_sent(Time::from_millis(i), 1000, true, &[], probe, rate::Snapshot::default());
    }
    assert_eq!(handle(&mut l, 20, &ack(9, &[(0, 9)])).lost.len(), 1);
    let out = handle(&mut l, 21, &all);
    assert_eq!((out.spurious, out.spurious_bytes), (1, 0), "a probe for the MTU");
}

#[test]
fn what_was_lost_is_remembered_for_two_round_trips() {
    let mut l = log(10);
    handle(&mut l, 20, &ack(2, &[(0, 3)]));
    // 3 and 4 are overtaken by enough to be held lost; 4 comes late.
    assert_eq!(handle(&mut l, 30, &ack(7, &[(0, 3)])).lost.len(), 2);
    assert_eq!(handle(&mut l, 32, &ack(9, &[(0, 6)])).spurious, 1);
    let send = |l: &mut SentLog, ms| {
        l.on_sent(Time::from_millis(ms), 1000, true, &[], None, rate::Snapshot::default())
    };
    send(&mut l, 83);
    assert!(l.remembers(3));
    send(&mut l, 84);
    assert!(!l.remembers(3) && l.remembers(10));
}

#[test]
fn a_full_log_forgets_what_was_lost_at_once() {
    let mut l = log(10);
    l.limit = 10;
    assert_eq!(handle(&mut l, 20, &ack(9, &[(0, 9)])).lost.len(), 1);
    assert!(!l.remembers(9) && !l.is_full());
}

/// The first of a full log is missing and all others were acknowledged: what is said of them again costs a word for 64, not a step for each.
#[test]
fn an_acknowledgement_costs_what_it_tells() {
    const SENT: u32 = 32_000;
    let mut l = SentLog::new(SENT as usize);
    for i in 0..SENT {
        let fragment = FragmentRef { packet: i, offset: 0, len: 100, copy: false };
        l.on_sent(Time::from_millis(0), 1000, true, &[fragment], None, rate::Snapshot::default());
    }
    l.threshold = MAX_THRESHOLD;
    let news = ack(SENT - 1, &[(0, SENT as u16 - 200), (100, 1)]);
    handle(&mut l, 1, &news);
    let work = |l: &SentLog| l.open.looked_at.get() + l.in_flight.looked_at.get();
    let before = work(&l);
    assert!(handle(&mut l, 2, &news).acked.is_empty());
    assert!(work(&l) - before < 600 + 2 * MAX_THRESHOLD as usize, "{}", work(&l) - before);
}

/// RFC 9000 §21.4: a peer that acknowledges all numbers in advance names one that was left out.
#[test]
fn who_acknowledges_what_was_never_sent_is_found_out() {
    let mut entropy = crate::entropy::Entropy::repeatable([7; 32]);
    let mut l = SentLog::new(20_000);
    let mut left_out = Vec::new();
    for i in 0..20_000 {
        let number = l.next_number();
        l.skip_number(Time::from_millis(i), &mut entropy);
        if l.next_number() > number {
            left_out.push(number as u32);
        }
        l.on_sent(Time::from_millis(i), 1000, true, &[], None, rate::Snapshot::default());
        let honest = ack(l.next_number() as u32 - 1, &[(0, 1)]);
        handle(&mut l, i, &honest);
    }
    assert!(left_out[0] < 512 && (3..12).contains(&left_out.len()), "{left_out:?}");
    for n in left_out {
        let check = l.on_ack(Time::NEVER, &ack(n + 50, &[(0, 60)]), RTT, &mut Outcome::default());
        assert_eq!(check, AckCheck::Invented);
    }
}
