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
