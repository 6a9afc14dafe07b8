//! Single losses, bursts, tails, timeouts, reordering: the cases of RFC 6675, 8985, 6298, 5682.

use super::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Fates of the client's data segments by their number, from 1, retransmissions not counted; `fate` is asked once each.
fn data_fates(fate: impl Fn(u64) -> Fate + 'static) -> impl FnMut(Time, bool, &Segment, u64) -> Fate {
    let mut seen = BTreeSet::new();
    move |_, forward, segment, _| {
        let first = forward && segment.payload_bytes > 0 && seen.insert(segment.seq);
        if first { fate(seen.len() as u64) } else { Fate::Pass }
    }
}

/// A transfer of `bytes`, and when the last byte came.
fn transfer(
    config: TcpConfig,
    bytes: u64,
    filter: impl FnMut(Time, bool, &Segment, u64) -> Fate + 'static,
) -> (Pair, f64) {
    let mut p = pair(config, link(50.0, 40, 4.0)).filter(filter);
    p.client.write(bytes);
    p.client.close();
    p.run_while(Time::from_secs(60), |p| p.received() < bytes);
    assert_eq!(p.received(), bytes);
    let took = p.now().as_secs_f64();
    p.run_until(p.now() + ms(400));
    (p, took)
}

#[test]
fn one_loss_costs_one_retransmission_and_one_reduction() {
    for loss_detection in [LossDetection::RackTlp, LossDetection::DupThresh] {
        let config = TcpConfig { loss_detection, ..TcpConfig::default() };
        let (_, clean) = transfer(config.clone(), 3_000_000, |_, _, _, _| Fate::Pass);
        let (p, took) =
            transfer(config, 3_000_000, data_fates(|n| if n == 200 { Fate::Drop } else { Fate::Pass }));
        let send = p.client.stats().send;
        assert_eq!((send.retransmits, send.recoveries, send.timeouts, send.undos), (1, 1, 0, 0), "{send:?}");
        assert!(took < clean + 0.2, "{took} {clean}");
    }
}

#[test]
fn a_burst_is_one_event_and_each_lost_segment_goes_once() {
    let (p, _) = transfer(
        TcpConfig::default(),
        3_000_000,
        data_fates(|n| if (200..215).contains(&n) { Fate::Drop } else { Fate::Pass }),
    );
    let send = p.client.stats().send;
    assert_eq!((send.retransmits, send.recoveries, send.timeouts), (15, 1, 0), "{send:?}");
}

#[test]
fn a_retransmission_that_is_lost_goes_again_without_a_timeout() {
    // RACK sees by time that the copy is lost (RFC 8985 §1): segment 200 is dropped twice.
    let drops = Rc::new(RefCell::new(0));
    let count = Rc::clone(&drops);
    let mut lost = None;
    let mut seen = 0;
    let (p, _) = transfer(TcpConfig::default(), 3_000_000, move |_, forward, segment, _| {
        if !forward || segment.payload_bytes == 0 {
            return Fate::Pass;
        }
        seen += 1;
        if seen == 200 {
            lost = Some(segment.seq);
        }
        let drop = lost == Some(segment.seq) && *count.borrow() < 2;
        *count.borrow_mut() += u32::from(drop);
        if drop { Fate::Drop } else { Fate::Pass }
    });
    let send = p.client.stats().send;
    assert_eq!(*drops.borrow(), 2);
    assert_eq!((send.retransmits, send.recoveries, send.timeouts), (2, 1, 0), "{send:?}");
}

#[test]
fn the_tail_of_a_transfer_is_repaired_by_a_probe() {
    // 20 segments, the last two lost: RFC 8985 §7.1. Two round trips and a little, not a timeout.
    let bytes = 20 * 1448;
    let config = TcpConfig::default();
    let fates = || data_fates(|n| if n >= 19 { Fate::Drop } else { Fate::Pass });
    let (p, took) = transfer(config.clone(), bytes, fates());
    let send = p.client.stats().send;
    assert_eq!((send.probes, send.timeouts, send.retransmits), (1, 0, 2), "{send:?}");
    // Without it, the timeout has to run out.
    let (p, late) =
        transfer(TcpConfig { loss_detection: LossDetection::DupThresh, ..config }, bytes, fates());
    assert_eq!((p.client.stats().send.probes, p.client.stats().send.timeouts), (0, 1));
    assert!(took + 0.03 < late, "{took} {late}");
}

#[test]
fn a_tail_of_several_segments_is_found_by_the_probes_sack() {
    let bytes = 20 * 1448;
    let (p, _) =
        transfer(TcpConfig::default(), bytes, data_fates(|n| if n >= 17 { Fate::Drop } else { Fate::Pass }));
    let send = p.client.stats().send;
    // The probe repeats segment 20; its SACK shows 17 to 19 as lost.
    assert_eq!((send.probes, send.timeouts, send.retransmits), (1, 0, 4), "{send:?}");
}

#[test]
fn a_probe_that_was_not_needed_does_no_harm() {
    // The acknowledgements come a quarter of a second late, once: original and probe arrive, DSACK says so (§7.4).
    let bytes = 20 * 1448;
    let (p, _) = transfer(TcpConfig::default(), bytes, |now, forward, _, _| {
        let late = !forward && (60..120).contains(&(now.as_nanos() / 1_000_000));
        if late { Fate::Late(ms(120)) } else { Fate::Pass }
    });
    let stats = p.client.stats();
    assert_eq!((stats.send.timeouts, stats.send.recoveries), (0, 0), "{stats:?}");
    assert!(stats.send.probes >= 1 && stats.window_bytes >= 10 * 1448, "{stats:?}");
}

#[test]
fn a_dead_path_backs_off_and_comes_back() {
    for (rto, least) in [(RtoRule::LINUX, 3), (RtoRule::RFC6298, 1)] {
        let config = TcpConfig { rto, ..TcpConfig::default() };
        let mut p = pair(config, link(50.0, 40, 1.0)).filter(|now, _, _, _| {
            let dead = (2_000..5_000).contains(&(now.as_nanos() / 1_000_000));
            if dead { Fate::Drop } else { Fate::Pass }
        });
        p.client.write(u64::MAX);
        p.run_until(Time::from_millis(4_900));
        let send = p.client.stats().send;
        assert!((least..=6).contains(&send.timeouts), "each waits twice as long: {send:?}");
        assert!(goodput(&mut p, 12, 20) > 40.0, "and goes on");
    }
}

/// A path that stands still for a second, without losing anything; the congestion window before and after, and figures.
fn standstill(config: TcpConfig) -> (u64, TcpStats) {
    let mut p = pair(config.fixed_window(200_000), link(50.0, 40, 4.0)).filter(|now, forward, _, _| {
        let at = now.as_nanos() / 1_000_000;
        if forward && (3_000..4_000).contains(&at) { Fate::Late(ms(4_000 - at)) } else { Fate::Pass }
    });
    p.client.write(u64::MAX);
    p.run_until(Time::from_millis(2_990));
    let before = p.client.stats().window_bytes;
    p.run_until(Time::from_millis(4_100));
    (before, p.client.stats())
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    // RFC 5682 by originals that arrive, RFC 3522 by timestamps.
    for (frto, timestamps) in [(true, false), (false, true), (true, true)] {
        let (before, after) = standstill(TcpConfig { frto, timestamps, ..TcpConfig::default() });
        assert!(after.send.timeouts >= 1 && after.send.undos >= 1, "{frto} {timestamps}: {after:?}");
        assert!(after.window_bytes >= before, "{frto} {timestamps}: {after:?} before {before}");
    }
}

#[test]
fn without_undo_a_spurious_timeout_costs_the_window() {
    let (before, after) = standstill(TcpConfig { frto: false, undo: false, ..TcpConfig::default() });
    assert_eq!(after.send.undos, 0);
    assert!((after.window_bytes as f64) < 0.8 * before as f64, "{after:?} {before}");
}

#[test]
fn a_reordering_path_is_learned() {
    // Every tenth segment comes 4 ms late on a path of 40: within RACK's quarter of a round trip once it is known.
    let mut p = pair(TcpConfig::default(), link(50.0, 40, 4.0)).filter(|_, forward, segment, number| {
        if forward && segment.payload_bytes > 0 && number % 10 == 0 { Fate::Late(ms(4)) } else { Fate::Pass }
    });
    p.client.write(u64::MAX);
    let rate = goodput(&mut p, 3, 13);
    let send = p.client.stats().send;
    assert!(rate > 44.0, "{rate:.2} {send:?}");
    assert!(send.retransmits < 60, "hardly any after the first: {send:?}");
}

#[test]
fn duplicates_are_reported_and_harmless() {
    let (p, _) = transfer(TcpConfig::default(), 1_000_000, |_, forward, _, number| {
        if forward && number % 3 == 0 { Fate::Twice } else { Fate::Pass }
    });
    let stats = p.client.stats();
    assert_eq!((stats.send.retransmits, stats.send.recoveries), (0, 0), "{stats:?}");
    assert!(stats.send.duplicates > 50);
}

#[test]
fn a_lost_handshake_is_repeated_after_a_second() {
    for lost in [true, false] {
        // The first packet of one direction: the SYN, or the SYN-ACK.
        let fate = move |_: Time, forward: bool, _: &Segment, number: u64| {
            if forward == lost && number == 1 { Fate::Drop } else { Fate::Pass }
        };
        let (p, took) = transfer(TcpConfig::default(), 10_000, fate);
        assert!((1.0..1.4).contains(&took), "RFC 6298 §2.1: {took}");
        assert_eq!(p.client_events.first(), Some(&Event::Connected));
    }
}

#[test]
fn nobody_there_is_given_up() {
    let mut p = pair(TcpConfig::default(), link(50.0, 40, 1.0)).filter(|_, _, _, _| Fate::Drop);
    p.client.write(1);
    p.run_until(Time::from_secs(1000));
    assert_eq!(p.client_events, [Event::Failed(Failure::TimedOut)]);
    assert_eq!((p.client.state(), p.client.next_timeout()), (State::Closed, None));
}

#[test]
fn a_shut_window_is_probed_and_opens() {
    let config = TcpConfig::default().fixed_window(20_000);
    // The acknowledgement that opens the window is lost.
    let mut p = pair(config, link(50.0, 40, 1.0)).filter(|now, forward, _, _| {
        let lost = !forward && (5_000..5_050).contains(&(now.as_nanos() / 1_000_000));
        if lost { Fate::Drop } else { Fate::Pass }
    });
    p.server_reads = false;
    p.client.write(100_000);
    p.run_until(Time::from_secs(5));
    assert!((18_000..=20_000).contains(&p.received()), "{}", p.received());
    let now = p.now();
    p.server.as_mut().unwrap().read(now, u64::MAX);
    p.server_reads = true;
    p.flush();
    p.run_until(Time::from_millis(5_060));
    assert!(p.received() <= 20_000, "the news was lost");
    p.run_until(Time::from_secs(20));
    assert_eq!(p.received(), 100_000);
}

#[test]
fn both_sides_close_in_order() {
    let (mut p, _) = transfer(TcpConfig::default(), 100_000, |_, _, _, _| Fate::Pass);
    assert_eq!(p.server_events, [Event::Connected, Event::PeerClosed]);
    assert_eq!(p.client.state(), State::FinWait2);
    p.server.as_mut().unwrap().close();
    p.flush();
    p.run_until(p.now() + ms(200));
    assert_eq!((p.client.state(), p.server.as_ref().unwrap().state()), (State::TimeWait, State::Closed));
    assert_eq!(p.client_events, [Event::Connected, Event::PeerClosed, Event::Closed]);
    p.run_until(p.now() + Duration::from_secs(61));
    assert_eq!((p.client.state(), p.client.next_timeout()), (State::Closed, None));
}

#[test]
fn a_reset_ends_the_other_side() {
    let (mut p, _) = transfer(TcpConfig::default(), 100_000, |_, _, _, _| Fate::Pass);
    p.server.as_mut().unwrap().abort();
    p.flush();
    p.run_until(p.now() + ms(200));
    assert_eq!(p.client_events.last(), Some(&Event::Failed(Failure::Reset)));
}
