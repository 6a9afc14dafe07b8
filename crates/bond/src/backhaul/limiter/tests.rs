use super::model::{Model, RADIO_QUEUE};
use super::*;
use crate::feedback::LinkState;
use crate::path::path_id;
use proptest::prelude::*;

const LAWS: [Kind; 2] = [Kind::Mimd, Kind::Balance];
/// Dedicated, shared and client link alone, packets per second: 6 to 96 Mb/s.
const PLACES: [[f64; 3]; 5] = [
    [2000.0, 4000.0, 4000.0],
    [1000.0, 3000.0, 5000.0],
    [500.0, 2000.0, 2000.0],
    [3000.0, 8000.0, 5000.0],
    [1500.0, 1500.0, 3000.0],
];

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// MF-14, zone 1: the dedicated link alone brings more than the client's can take.
#[test]
fn where_nothing_is_left_the_shared_link_ends_blocked() {
    for (kind, rates) in
        LAWS.iter().flat_map(|k| [(k, [4000.0, 4000.0, 3000.0]), (k, [3100.0, 6000.0, 3000.0])])
    {
        let mut model = Model::new(*kind, rates, 1);
        model.run(secs(5));
        let [_, shared, ..] = model.measure(secs(3));
        assert_eq!(
            (shared, model.limiter.allowance()),
            (0.0, Allowance::Blocked),
            "{} {rates:?}",
            kind.name()
        );
    }
}

/// MF-14, zone 2: the client's queue stays bounded and what arrives tends to equation 2. The model's step of 20 µs takes up to two per cent itself.
#[test]
fn where_air_is_left_the_queue_is_bounded_and_throughput_tends_to_equation_2() {
    for (kind, rates) in LAWS.iter().flat_map(|k| PLACES.map(|r| (k, r))) {
        let mut model = Model::new(*kind, rates, 2);
        model.run(secs(4));
        let [_, _, client, dropped] = model.measure(secs(6));
        let share = client / model.optimum();
        assert!(share > 0.94 && share < 1.01, "{} {rates:?}: {share:.3} of equation 2", kind.name());
        assert!(
            model.longest < RADIO_QUEUE / 2 && dropped == 0.0,
            "{} {rates:?}: {}",
            kind.name(),
            model.longest
        );
    }
}

/// T-9: with half of the control frames lost nothing runs over and nobody has less than without the shared link; afterwards all is as before.
#[test]
fn with_half_of_the_control_lost_it_is_never_worse_than_the_dedicated_link() {
    for (kind, rates) in LAWS.iter().flat_map(|k| PLACES.map(|r| (k, r))) {
        let mut model = Model::new(*kind, rates, 3);
        model.control_loss = 0.5;
        model.run(secs(3));
        let [_, _, client, dropped] = model.measure(secs(5));
        assert!(client > model.dedicated * 0.98 && dropped == 0.0, "{} {rates:?}: {client}", kind.name());
        assert!(model.longest < RADIO_QUEUE / 2);
        model.control_loss = 0.0;
        model.run(secs(4));
        let [_, _, client, _] = model.measure(secs(5));
        assert!(client > model.optimum() * 0.94, "{} {rates:?} afterwards: {client}", kind.name());
    }
}

#[test]
fn a_silent_repeater_blocks_the_shared_link() {
    for kind in LAWS {
        let mut model = Model::new(kind, PLACES[0], 4);
        model.run(secs(4));
        model.control_loss = 1.0;
        model.run(secs(5));
        assert_eq!(model.limiter.allowance(), Allowance::Blocked, "{}", kind.name());
        assert!(model.limiter.counters().silences > 3);
    }
}

/// The better law: somebody takes 30 % of the air from one moment to the next. How much of the change of the shared link's rate has been made 50 to 100 ms
/// later, on average over phases of the loop.
#[test]
fn balance_has_answered_interference_50_to_100_ms_after_it_began() {
    let (mut before, mut soon, mut after) = (0.0, 0.0, 0.0);
    let rate = |model: &mut Model, ms| model.measure(Duration::from_millis(ms))[1];
    for seed in 0..16 {
        let mut model = Model::new(Kind::Balance, [1500.0, 4000.0, 4000.0], seed);
        model.run(Duration::from_millis(1500 + 37 * seed));
        before += rate(&mut model, 500);
        model.interference = 0.3;
        model.run(Duration::from_millis(50));
        soon += rate(&mut model, 50);
        after += rate(&mut model, 500);
    }
    let made = (before - soon) / (before - after);
    assert!((0.9..1.3).contains(&made), "{made:.2} of the change");
}

#[test]
fn mimd_multiplies_divides_blocks_and_probes() {
    let mut m = Mimd::new(64.0);
    let mut say = |ms, level| {
        let over = Duration::from_millis(200);
        m.on_report(&Report { now: Time::from_millis(ms), over, level, packets: 0, sent_pps: 0.0 });
        m.allowance()
    };
    assert_eq!(say(0, CongestionLevel::Normal), Allowance::Blocked);
    assert_eq!(say(200, CongestionLevel::Low), Allowance::Held(1.0));
    assert_eq!(say(400, CongestionLevel::Low), Allowance::Held(1.25));
    assert_eq!(say(600, CongestionLevel::Normal), Allowance::Held(1.25));
    assert_eq!(say(800, CongestionLevel::High), Allowance::Blocked);
    assert_eq!(say(1000, CongestionLevel::Normal), Allowance::Blocked);
    assert_eq!(say(1800, CongestionLevel::Normal), Allowance::Held(1.0));
    (0..40).for_each(|_| assert_ne!(say(2000, CongestionLevel::Low), Allowance::Blocked));
    assert_eq!(say(2000, CongestionLevel::Low), Allowance::Held(64.0));
}

#[test]
fn old_frames_and_unknown_verdicts_are_not_heeded() {
    let config = Config { kind: Kind::Mimd, ..Config::default() };
    let mut t = SharedLinkLimiter::new(&config, 64, Time::ZERO).unwrap();
    let frame = |seq, level| QueueFrame { seq, shared: 2, every_ms: 200, packets: 0, verdict: level };
    t.on_report(Time::from_millis(1), &frame(65_535, 2));
    t.on_report(Time::from_millis(2), &frame(65_535, 2));
    t.on_report(Time::from_millis(2), &frame(65_000, 2));
    t.on_report(Time::from_millis(3), &frame(1, 9));
    assert_eq!(
        (t.allowance(), t.counters().old, t.is_shared(path_id(1)), t.is_shared(path_id(0))),
        (Allowance::Held(1.0), 2, true, false)
    );
    assert_eq!(t.counters().invalid, 1);
    t.on_report(Time::from_millis(4), &frame(0, 2));
    assert_eq!(t.allowance(), Allowance::Held(1.25));
    assert!(SharedLinkLimiter::new(&Config { kind: Kind::Off, ..config }, 64, Time::ZERO).is_none());
}

/// T-12b.
#[test]
fn each_client_is_judged_by_itself_and_a_weak_one_does_not_choke_the_others() {
    let config = Config::default();
    let mut m = ClientQueues::default();
    let tell = |m: &mut ClientQueues, ms, client, backlog_packets, delivered| {
        let state = LinkState { backlog_packets, delivered, ..LinkState::default() };
        m.on_queue(Time::from_millis(ms), client, state);
    };
    assert_eq!(m.congestion(&config), (CongestionLevel::Low, 0));
    // Twelve short queues are no long one.
    (0..12).for_each(|c| tell(&mut m, 0, c, 20, 0));
    assert_eq!(m.congestion(&config), (CongestionLevel::Low, 20));
    for ms in [100, 200] {
        (0..12).for_each(|c| tell(&mut m, ms, c, 20, ms * 10));
        tell(&mut m, ms, 99, 900, ms / 10);
    }
    // One of thirteen drains a hundredth of what the others do.
    assert_eq!(m.congestion(&config), (CongestionLevel::Normal, config.low));
    // Alone its queue counts, as does that of one that drains its share.
    tell(&mut m, 200, 3, 300, 2000);
    assert_eq!(m.congestion(&config), (CongestionLevel::High, 300));
    m.expire(Time::from_millis(2150));
    assert_eq!(m.len(), 13);
    m.expire(Time::from_millis(2201));
    assert!(m.is_empty());
    (0..1000).for_each(|c| tell(&mut m, 3000, c, 0, 0));
    assert_eq!(m.len(), 256);
}

#[test]
fn names_are_known() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        if let Some(t) = SharedLinkLimiter::new(&Config { kind, ..Config::default() }, 64, Time::ZERO) {
            assert_eq!(t.name(), kind.name());
        }
    }
    assert!("aimd".parse::<Kind>().is_err());
}

proptest! {
    /// Whatever a repeater says, what follows is finite, everything is counted, and its silence is
    /// noticed within eleven seconds and blocks the shared links.
    #[test]
    fn any_reports_at_any_time_are_counted_and_leave_a_limiter_that_notices_silence(
        balance in any::<bool>(),
        reports in proptest::collection::vec((any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>(), 0u8..5, 0u64..400), 1..80),
    ) {
        let kind = if balance { Kind::Balance } else { Kind::Mimd };
        let mut t = SharedLinkLimiter::new(&Config { kind, ..Config::default() }, 512, Time::ZERO).unwrap();
        let mut now = Time::from_millis(1);
        for &(seq, shared, every_ms, packets, level, gap_ms) in &reports {
            now += Duration::from_millis(gap_ms);
            t.on_report(now, &QueueFrame { seq, shared, every_ms, packets, verdict: level });
            t.on_timer(now);
            let (held, slots) = t.slots(now, path_id(3), 0, 64);
            t.on_sent(now, path_id(3), slots);
            prop_assert!(held <= 64 && slots <= 64);
            let (least, most) = match t.allowance() {
                Allowance::Blocked => (0.0, 0.0),
                Allowance::Held(held) => (held, 512.0),
                Allowance::Rate(pps) => (pps, 200_000.0),
            };
            prop_assert!((0.0..=most).contains(&least), "{}", least);
        }
        let Counters { levels, old, invalid, .. } = t.counters();
        prop_assert_eq!(levels.iter().sum::<u64>() + old + invalid, reports.len() as u64);
        let end = now + secs(11);
        while t.silent_at() <= end {
            let at = t.silent_at();
            prop_assert!(t.on_timer(at) && t.is_silent());
        }
        prop_assert!(t.counters().silences > 0);
        // Each further silence halves what is left, however large it was.
        for _ in 0..20 {
            let at = t.silent_at();
            t.on_timer(at);
        }
        prop_assert_eq!(t.allowance(), Allowance::Blocked);
    }
}
