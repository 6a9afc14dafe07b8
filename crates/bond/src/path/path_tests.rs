use super::*;
use ropewalk_cc::Algorithm;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// An acknowledgement of the first datagrams.
fn ack(count: u16, ce_total: u16) -> AckFrame {
    let mut ack = AckFrame { largest: u32::from(count) - 1, ce_total, ..AckFrame::default() };
    ack.ranges.push((0, count));
    ack
}

/// Held lost in a silence, acknowledged after all, and four of them had a mark.
#[test]
fn marks_that_come_without_news_are_told_with_the_next() {
    let route = Route { link: 0, remote: "192.0.2.1:4500".parse().unwrap(), local: None };
    let mut path = Path::new(path_id(0), route, 1500, Algorithm::Cubic.controller(1280), 1024);
    let (mut clock, mut out) = (ClockOffset::default(), Outcome::default());
    for n in 0..10 {
        path.on_sent(ms(n), 1200, true, &[], None);
    }
    path.lose_all(&mut out);
    assert_eq!(path.on_ack(ms(40), &ack(10, 4), &mut clock, &[], &mut out), AckCheck::Taken);
    assert_eq!((out.acked.len(), out.spurious), (0, 10));
    let before = path.cc.window();
    path.on_sent(ms(41), 1200, true, &[], None);
    assert_eq!(path.on_ack(ms(61), &ack(11, 4), &mut clock, &[], &mut out), AckCheck::Taken);
    assert!(path.cc.window() < before, "{} after {before}", path.cc.window());
}

/// Datagrams that leave alone take 20 ms and 40 ms in turn: an idle path takes what they take on average, not the least.
#[test]
fn an_idle_path_takes_as_long_as_what_it_carried_alone() {
    let mut rtt = rtt::Rtt::default();
    let us = |n: u64, rtt: &rtt::Rtt, idle| rtt.one_way_us(ms(n), idle).unwrap();
    for n in 0..40 {
        rtt.on_sent_alone(ms(n * 400));
        rtt.on_one_way(ms(n * 400 + 40), true, if n % 2 == 0 { 20_000 } else { 40_000 });
    }
    let alone = us(16_000, &rtt, true);
    assert!((25_000.0..35_000.0).contains(&alone), "{alone}");
    // A queue of 100 ms beside which others were on the way drains as time goes by, and no further.
    for n in 16_000..16_200 {
        rtt.on_one_way(ms(n), false, 130_000);
    }
    assert!(us(16_210, &rtt, false) > 125_000.0);
    let waiting = us(16_249, &rtt, true);
    assert!((75_000.0..85_000.0).contains(&waiting), "{waiting}");
    assert_eq!(us(16_500, &rtt, true), alone);
    rtt.on_sent_alone(ms(16_249));
    assert_eq!(us(16_259, &rtt, true), waiting - 10_000.0, "time counts once, also if it was lost");
    rtt.on_sent_alone(ms(16_500));
    assert_eq!(us(16_500, &rtt, false), alone);
}

/// Others had filled the path's queue; what is quicker than the average pulls it down, alone or not.
#[test]
fn an_idle_path_that_became_quicker_is_soon_known() {
    let mut rtt = rtt::Rtt::default();
    for n in 0..40 {
        rtt.on_sent_alone(ms(n * 400));
        rtt.on_one_way(ms(n * 400 + 40), true, if n < 20 { 400_000 } else { 20_000 });
        let us = rtt.one_way_us(ms(n * 400 + 40), true).unwrap();
        assert!(n < 28 || us < 60_000.0, "{n} {us}");
    }
    let mut rtt = rtt::Rtt::default();
    rtt.on_one_way(ms(0), true, 400_000);
    for n in 1..100 {
        rtt.on_one_way(ms(n), false, 20_000);
    }
    assert!(rtt.one_way_us(ms(100), true).unwrap() < 25_000.0);
}
