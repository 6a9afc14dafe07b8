//! Both directions of many connections.

use super::*;
use crate::{Effect, End, Event, Proxy};
use core::time::Duration;

struct Box {
    proxy: Proxy<u8>,
    now: Time,
}

impl Box {
    fn new(policy: Policy, limit: usize) -> Box {
        Box { proxy: Proxy::new(Config::new(policy), limit), now: Time::ZERO }
    }

    /// What goes on, and to whom; nothing if the packet is to pass as it came.
    fn put(&mut self, key: u8, from: End, s: Segment) -> Option<Vec<(End, Segment)>> {
        self.proxy.handle(key, from, s, self.now).then(|| self.out())
    }

    fn out(&mut self) -> Vec<(End, Segment)> {
        let all = core::iter::from_fn(|| self.proxy.poll_output());
        all.filter_map(|e| match e {
            Event::Effect(_, Effect::Send { to, segment }) => Some((to, segment)),
            _ => None,
        })
        .collect()
    }

    fn opened(policy: Policy) -> Box {
        let mut b = Box::new(policy, 10);
        let (syn, answer) = handshake();
        assert_eq!(b.put(0, End::A, syn), Some(vec![(End::B, syn)]));
        assert_eq!(b.put(0, End::B, answer), Some(vec![(End::A, answer)]));
        let third = data(1, 0);
        let on = Segment { window: if policy == Policy::Split { 0xFFFF } else { 1000 }, ..third };
        assert_eq!(b.put(0, End::A, third), Some(vec![(End::B, on)]));
        b
    }
}

fn handshake() -> (Segment, Segment) {
    let options = syn_options();
    let answer = Segment { flags: Flags::SYN | Flags::ACK, seq: R_ISN, options, ..ack(1, 1000) };
    (Segment { options, ..base(Flags::SYN) }, answer)
}

/// Data of end B at an offset of its stream.
fn theirs(at: u32, len: u32) -> Segment {
    Segment { seq: R_ISN + at, payload_bytes: len, ..ack(1, 1000) }
}

fn acknowledged(out: &[(End, Segment)], to: End) -> Vec<u32> {
    let isn = if to == End::A { S_ISN } else { R_ISN };
    out.iter()
        .filter(|(e, s)| *e == to && s.payload_bytes == 0)
        .map(|(_, s)| s.ack.wrapping_sub(isn))
        .collect()
}

#[test]
fn both_directions_are_split_whoever_opened() {
    let mut b = Box::opened(Policy::Split);
    b.put(0, End::A, data(1, 10));
    b.put(0, End::A, data(11, 10));
    let out = b.put(0, End::A, data(21, 10)).unwrap();
    assert_eq!(acknowledged(&out, End::A), [21]);
    b.put(0, End::B, theirs(1, 10));
    b.put(0, End::B, theirs(11, 10));
    let out = b.put(0, End::B, theirs(21, 10)).unwrap();
    assert_eq!(acknowledged(&out, End::B), [21]);
    let bytes: Vec<_> = out.iter().filter(|(e, _)| *e == End::A).map(|(_, s)| s.payload_bytes).collect();
    assert_eq!(bytes, [10], "and the bytes go on");
    assert_eq!(b.proxy.counts().early_bytes, 40);
    assert_eq!(b.proxy.holds(), (1, 60));
}

#[test]
fn keep_alives_of_both_ends_arrive_and_are_answered() {
    let mut b = Box::opened(Policy::Split);
    b.put(0, End::A, data(1, 10));
    b.put(0, End::B, theirs(1, 0)).unwrap();
    let answer = Segment { ack: S_ISN.wrapping_add(11), ..theirs(1, 0) };
    assert_eq!(acknowledged(&b.put(0, End::B, answer).unwrap(), End::A), [11]);
    let out = b.put(0, End::A, data(10, 0)).unwrap();
    assert_eq!(out.iter().map(|(e, s)| (*e, s.seq.wrapping_sub(S_ISN))).collect::<Vec<_>>(), [(End::B, 10)]);
    assert_eq!(acknowledged(&b.put(0, End::B, answer).unwrap(), End::A), [11], "the answer");
}

#[test]
fn a_reset_of_either_end_reaches_the_other_and_ends_both_directions() {
    for (from, rst) in [
        (End::A, Segment { flags: Flags::RST, ..data(1, 0) }),
        (End::B, Segment { flags: Flags::RST, ..theirs(1, 0) }),
    ] {
        let mut b = Box::opened(Policy::Split);
        let out = b.put(0, from, rst).unwrap();
        assert!(out.iter().any(|(to, s)| *to != from && s.flags.has(Flags::RST)), "{out:?}");
        assert_eq!(b.proxy.counts().reset.iter().collect::<Vec<_>>(), [(&Why::ByAnEnd, &1)]);
        assert_eq!(b.proxy.holds(), (1, 0));
        b.now += Duration::from_secs(20);
        b.proxy.on_timer(b.now);
        assert_eq!(b.proxy.holds().0, 0, "and is forgotten");
    }
}

#[test]
fn what_is_left_alone_keeps_no_place() {
    let mut b = Box::new(Policy::Split, 1);
    let (syn, answer) = handshake();
    let mptcp = Some(ropewalk_packet::MptcpOption::Capable { sender: None, receiver: None });
    let other = Segment { options: Options { mptcp, ..syn_options() }, ..syn };
    assert_eq!(b.put(0, End::A, other), None);
    assert_eq!(b.put(0, End::A, data(1, 10)), None);
    assert_eq!(b.proxy.holds().0, 0);
    for (from, s) in [(End::A, syn), (End::B, answer), (End::A, data(1, 0))] {
        assert!(b.put(1, from, s).is_some());
    }
    assert_eq!(b.put(2, End::A, syn), None, "one place alone");
    assert!(b.put(1, End::A, syn).is_some(), "its own");
    let counts = b.proxy.counts();
    assert_eq!((counts.taken, counts.full, counts.bypassed[&Bypass::Mptcp]), (1, 1, 1));
    assert_eq!(counts.bypassed[&Bypass::NoHandshake], 1);
    b.now += Duration::from_secs(400);
    assert!(b.put(2, End::A, syn).is_some(), "who is silent and holds nothing gives his place away");
}

#[test]
fn one_that_holds_bytes_is_not_forgotten() {
    let mut b = Box::opened(Policy::Split);
    b.put(0, End::B, Segment { window: 0, ..theirs(1, 0) });
    (0..110).for_each(|i| drop(b.put(0, End::A, data(1 + 10 * i, 10))));
    assert!(b.proxy.holds().1 >= 1000);
    // The receiver answers its probes with a closed window, for ten minutes.
    for _ in 0..600 {
        b.now += Duration::from_secs(1);
        b.proxy.on_timer(b.now);
        b.put(0, End::B, Segment { window: 0, ..theirs(1, 0) });
    }
    assert!(b.proxy.holds().1 >= 1000);
    // One that answers nothing: both ends are told.
    b.now += Duration::from_secs(300);
    for _ in 0..3000 {
        b.now += Duration::from_secs(1);
        b.proxy.on_timer(b.now);
    }
    assert_eq!(b.proxy.counts().reset.get(&Why::ReceiverSilent), Some(&1));
}

#[test]
fn one_whose_sender_is_gone_before_a_gap_is_forgotten() {
    let mut b = Box::opened(Policy::Split);
    b.put(0, End::A, data(11, 10));
    for _ in 0..400 {
        b.now += Duration::from_secs(1);
        b.proxy.on_timer(b.now);
        // The receiver answers whatever it is asked.
        let asked = b.out().iter().filter(|(to, _)| *to == End::B).count();
        (0..asked).for_each(|_| drop(b.put(0, End::B, theirs(1, 0))));
    }
    assert_eq!(b.proxy.holds(), (0, 0));
}

/// One whose receiver has answered nothing for long.
fn given_up(limit: usize) -> Box {
    let mut b = Box { proxy: Proxy::new(Config::new(Policy::Split), limit), ..Box::opened(Policy::Split) };
    let (syn, answer) = handshake();
    for (from, s) in [(End::A, syn), (End::B, answer), (End::A, data(1, 0)), (End::A, data(1, 10))] {
        b.put(0, from, s);
    }
    for _ in 0..3000 {
        b.now += Duration::from_secs(1);
        b.proxy.on_timer(b.now);
    }
    b.out();
    b
}

#[test]
fn who_missed_every_reset_is_answered_by_one_for_minutes() {
    // It was forgotten meanwhile: nothing was said for so long.
    let mut b = given_up(1);
    assert_eq!(b.proxy.holds().0, 0);
    assert_eq!(b.put(0, End::A, data(11, 10)), None, "null case");

    let mut b = Box::opened(Policy::Split);
    b.put(0, End::A, data(1, 10));
    while b.proxy.counts().reset.is_empty() {
        b.now += Duration::from_secs(1);
        b.proxy.on_timer(b.now);
    }
    // All that was said since is lost.
    b.now += Duration::from_secs(100);
    b.proxy.on_timer(b.now);
    b.out();
    for (from, s) in [(End::A, data(11, 10)), (End::B, theirs(1, 10))] {
        let out = b.put(0, from, s).expect("it is remembered");
        assert!(matches!(&out[..], [(to, s)] if *to == from && s.flags.has(Flags::RST)), "{from:?}: {out:?}");
    }
}

#[test]
fn what_is_over_makes_room() {
    let mut b = Box { proxy: Proxy::new(Config::new(Policy::Split), 1), ..Box::opened(Policy::Split) };
    let (syn, answer) = handshake();
    for (from, s) in [(End::A, syn), (End::B, answer), (End::A, data(1, 0))] {
        b.put(0, from, s);
    }
    assert_eq!(b.put(1, End::A, syn), None, "null case: it lives");
    b.put(0, End::A, Segment { flags: Flags::RST, ..data(1, 0) });
    assert!(b.put(1, End::A, syn).is_some());
    assert!(!b.proxy.is_taken(0) && b.proxy.is_taken(1));
}

#[test]
fn one_that_both_ends_have_closed_makes_room() {
    for policy in [Policy::Split, Policy::Snoop] {
        let mut b = Box { proxy: Proxy::new(Config::new(policy), 1), ..Box::opened(policy) };
        let (syn, answer) = handshake();
        let fin = |s: Segment| Segment { flags: Flags::FIN | Flags::ACK, ..s };
        let last = Segment { ack: S_ISN.wrapping_add(2), ..fin(theirs(1, 0)) };
        for (from, s) in [(End::A, syn), (End::B, answer), (End::A, data(1, 0))] {
            b.put(0, from, s);
        }
        for (from, s) in [(End::A, fin(data(1, 0))), (End::B, last)] {
            b.put(0, from, s);
            assert_eq!(b.put(1, End::A, syn), None, "null case: an end may miss the other's FIN");
        }
        b.put(0, End::A, Segment { ack: R_ISN + 2, ..data(2, 0) });
        assert!(b.put(1, End::A, syn).is_some(), "{policy:?}");
        assert!(!b.proxy.is_taken(0));
    }
}

#[test]
fn one_that_was_refused_makes_room() {
    let (syn, _) = handshake();
    let refusal = Segment { flags: Flags::RST | Flags::ACK, seq: 0, ..ack(1, 0) };
    for (by, left) in [(0, [true, false]), (5, [false, true])] {
        let mut b = Box::new(Policy::Split, 2);
        b.put(0, End::A, syn);
        b.now += Duration::from_secs(1);
        b.put(1, End::A, syn);
        b.put(1, End::B, Segment { ack: refusal.ack.wrapping_add(by), ..refusal });
        assert!(b.put(2, End::A, syn).is_some());
        assert_eq!([0, 1].map(|key| b.proxy.is_taken(key)), left, "null case: a guess, so the oldest goes");
    }
}

/// As a scan does, or a program that looks for many others.
#[test]
fn one_that_nobody_answers_is_forgotten_soon() {
    let mut b = Box::new(Policy::Split, 10);
    let (syn, answer) = handshake();
    // One is not answered, one knows nothing of its answer, and one has ended its handshake.
    for (key, count) in [(0, 1), (1, 2), (2, 3)] {
        let all = [(End::A, syn), (End::B, answer), (End::A, data(1, 0))];
        all.into_iter().take(count).for_each(|(from, s)| drop(b.put(key, from, s)));
    }
    let mut taken_after = |seconds| {
        b.now += Duration::from_secs(seconds);
        b.proxy.on_timer(b.now);
        [0, 1, 2].map(|key| b.proxy.is_taken(key))
    };
    assert_eq!(taken_after(5), [true; 3], "null case: it may be under way");
    assert_eq!(taken_after(6), [false, false, true]);
}

/// Each SYN that nobody answers had a place for ten seconds.
#[test]
fn a_flood_of_syns_leaves_room_for_who_is_answered() {
    for policy in [Policy::Split, Policy::Snoop] {
        let mut b = Box { proxy: Proxy::new(Config::new(policy), 20), ..Box::opened(policy) };
        let (syn, answer) = handshake();
        let open = |b: &mut Box, key: u8| {
            for (from, s) in [(End::A, syn), (End::B, answer), (End::A, data(1, 0))] {
                assert!(b.put(key, from, s).is_some(), "{policy:?}, {key}");
            }
        };
        open(&mut b, 0);
        (100..150).for_each(|key| drop(b.put(key, End::A, syn)));
        open(&mut b, 1);
        (150..200).for_each(|key| drop(b.put(key, End::A, syn)));
        assert_eq!([0, 1].map(|key| b.proxy.is_taken(key)), [true; 2]);
        assert_eq!(b.proxy.holds().0, 20);
    }
}

#[test]
fn what_is_over_for_longest_makes_room_first() {
    let mut b = Box { proxy: Proxy::new(Config::new(Policy::Split), 2), ..Box::opened(Policy::Split) };
    let (syn, answer) = handshake();
    for key in [1, 0] {
        for (from, s) in [(End::A, syn), (End::B, answer), (End::A, data(1, 0))] {
            b.put(key, from, s);
        }
        b.put(key, End::A, Segment { flags: Flags::RST, ..data(1, 0) });
        b.now += Duration::from_secs(1);
    }
    assert!(b.put(2, End::A, syn).is_some());
    assert_eq!([0, 1, 2].map(|key| b.proxy.is_taken(key)), [true, false, true]);
    assert!(b.put(3, End::A, syn).is_some());
    assert_eq!([0, 2, 3].map(|key| b.proxy.is_taken(key)), [false, true, true]);
    for key in [2, 3] {
        for (from, segment) in [(End::B, answer), (End::A, data(1, 0))] {
            b.put(key, from, segment);
        }
    }
    assert_eq!(b.put(4, End::A, syn), None, "those that are left live");
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    let mut b = Box::opened(Policy::Split);
    let (syn, _) = handshake();
    let again = Segment { seq: 5, ..syn };
    assert_eq!(b.put(0, End::A, again), Some(vec![(End::B, again)]));
    let mut b = Box::opened(Policy::Split);
    b.put(0, End::A, data(1, 10));
    let out = b.put(0, End::A, again).unwrap();
    assert!(out.iter().all(|(to, _)| *to == End::A), "bytes are held: challenged (RFC 5961)");
}

#[test]
fn snoop_takes_both_directions_and_acknowledges_nothing() {
    let mut b = Box::opened(Policy::Snoop);
    for (from, s) in
        [(End::A, data(1, 10)), (End::A, data(11, 10)), (End::B, theirs(1, 10)), (End::B, theirs(11, 10))]
    {
        assert_eq!(b.put(0, from, s), Some(vec![(from.other(), s)]));
    }
    for (from, a) in [
        (End::B, Segment { seq: R_ISN + 21, ..ack(1, 1000) }),
        (End::A, Segment { ack: R_ISN + 1, ..data(21, 0) }),
    ] {
        let out = b.put(0, from, a).unwrap();
        assert_eq!(
            out.iter().map(|(to, s)| (*to, s.payload_bytes)).collect::<Vec<_>>(),
            [(from, 10)],
            "{from:?}"
        );
    }
    let counts = b.proxy.counts();
    assert_eq!((counts.early_bytes, counts.repaired_bytes, counts.absorbed), (0, 20, 2));
}
