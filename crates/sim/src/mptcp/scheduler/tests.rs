//! What each rule chooses.

use super::*;

const MSS: u64 = 1000;

fn ready(index: usize, ms: u64, backup: bool) -> Ready {
    // Who is near has much on the way.
    let (srtt, linger) = (Duration::from_millis(ms), Duration::from_millis(100 - ms));
    Ready { index, srtt, linger, window: 100 * MSS, mss: MSS, backup, ..Ready::default() }
}

fn choice<'a>(ready: &'a [Ready], busy: &'a [Ready]) -> Choice<'a> {
    Choice { ready, busy, primaries: 2, last: 0, unsent: 1 << 40, send_window: 1 << 40 }
}

fn chosen(kind: SchedulerKind, choice: &Choice<'_>) -> Option<usize> {
    choose(kind, choice, &mut false)
}

#[test]
fn smallest_round_trip_or_in_turn_and_backups_last() {
    let all = [ready(0, 30, false), ready(1, 10, false), ready(2, 5, true)];
    let whole = choice(&all, &[]);
    for kind in [SchedulerKind::MinRtt, SchedulerKind::Blest, SchedulerKind::Ecf] {
        assert_eq!(chosen(kind, &whole), Some(1), "{kind:?}");
    }
    assert_eq!(chosen(SchedulerKind::LeastLinger, &whole), Some(0));
    assert_eq!(chosen(SchedulerKind::RoundRobin, &whole), Some(1));
    assert_eq!(chosen(SchedulerKind::RoundRobin, &Choice { last: 1, ..whole }), Some(0));
    let backup = choice(&all[2..], &[]);
    assert_eq!(chosen(SchedulerKind::MinRtt, &backup), None, "primaries are only busy");
    assert_eq!(chosen(SchedulerKind::MinRtt, &Choice { primaries: 0, ..backup }), Some(2));
}

#[test]
fn blest_leaves_the_fast_subflow_the_window_that_it_needs() {
    let (slow, fast) = ([ready(0, 50, false)], [ready(1, 10, false)]);
    // In the 5 rounds that the slow one takes the fast one sends 5 · (100 + 2) segments.
    let with = |segments: u64| Choice { send_window: segments * MSS, ..choice(&slow, &fast) };
    assert_eq!(chosen(SchedulerKind::Blest, &with(510)), None);
    assert_eq!(chosen(SchedulerKind::Blest, &with(511)), Some(0));
    assert_eq!(chosen(SchedulerKind::MinRtt, &with(1)), Some(0), "min-rtt never waits");
    // What the slow one holds counts as well.
    let holding = [Ready { flight: 100 * MSS, ..slow[0] }];
    let with = |segments: u64| Choice { send_window: segments * MSS, ..choice(&holding, &fast) };
    assert_eq!(chosen(SchedulerKind::Blest, &with(600)), None);
    assert_eq!(chosen(SchedulerKind::Blest, &with(611)), Some(0));
    // A busy subflow that is slower is no reason.
    let slower = [ready(1, 60, false)];
    assert_eq!(chosen(SchedulerKind::Blest, &Choice { send_window: MSS, ..choice(&slow, &slower) }), Some(0));
}

#[test]
fn ecf_waits_for_the_fast_subflow_with_the_last_segments_alone() {
    let (slow, fast) = ([ready(0, 50, false)], [ready(1, 10, false)]);
    let with = |segments: u64| Choice { unsent: segments * MSS, ..choice(&slow, &fast) };
    // (1 + n/100) · 10 ms < 50 ms up to n = 400, and the slow one takes 50 ms ≥ 2 · 10 ms.
    assert_eq!(chosen(SchedulerKind::Ecf, &with(399)), None);
    assert_eq!(chosen(SchedulerKind::Ecf, &with(400)), Some(0));
    // Who waits goes on up to 1.25 · 50 ms.
    let mut waiting = true;
    assert_eq!(choose(SchedulerKind::Ecf, &with(500), &mut waiting), None);
    assert_eq!(choose(SchedulerKind::Ecf, &with(525), &mut waiting), Some(0));
    assert!(!waiting);
    // Round trips that are nearly alike: the slow one is done before the fast one's next.
    let near = [ready(0, 15, false)];
    assert_eq!(chosen(SchedulerKind::Ecf, &Choice { unsent: MSS, ..choice(&near, &fast) }), Some(0));
}
