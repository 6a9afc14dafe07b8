use super::*;
use crate::path::path_id;

fn info(id: u8, one_way_ms: f64, rate_mbps: u64) -> PathInfo {
    PathInfo {
        id: path_id(id),
        has_room: true,
        one_way_us: one_way_ms * 1000.0,
        srtt: Duration::from_micros((one_way_ms * 2000.0) as u64),
        rate_bps: rate_mbps * 1_000_000,
        weight: 1,
        mtu: 1500,
        ..PathInfo::default()
    }
}

fn earliest() -> Box<dyn Scheduler> {
    Kind::EarliestArrival.scheduler(Duration::from_millis(200))
}

#[test]
fn every_name_is_known_and_its_own() {
    for kind in Kind::ALL {
        assert_eq!(kind.scheduler(Duration::ZERO).name(), kind.name());
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    assert!("fastest".parse::<Kind>().is_err());
}

#[test]
fn earliest_takes_the_fast_path_from_the_head_and_the_slow_one_from_as_deep_as_it_is_slow() {
    let mut s = earliest();
    let mut v = [info(0, 70.0, 50), info(1, 20.0, 50)];
    assert_eq!(s.next(&v).map(|g| (g.path, g.skip_bytes)), Some((1, 0)));
    v[1].has_room = false;
    // 50 Mb/s for 50 ms, and for the margin of 2 ms.
    assert_eq!(s.next(&v).map(|g| (g.path, g.skip_bytes)), Some((0, 325_000)));
    v[0].nothing_to_send = true;
    assert_eq!(s.next(&v), None);
}

#[test]
fn earliest_leaves_out_a_path_that_is_too_slow_unless_it_is_alone() {
    let mut s = earliest();
    let mut v = [info(0, 320.0, 50), info(1, 20.0, 50)];
    v[1].has_room = false;
    assert_eq!(s.next(&v), None);
    assert_eq!(s.next(&v[..1]).map(|g| g.skip_bytes), Some(0));
    assert_eq!(s.low_latency(&v), Some(1));
}

#[test]
fn three_paths_add_what_all_faster_ones_will_carry() {
    let mut s = earliest();
    let mut v = [info(0, 10.0, 80), info(1, 20.0, 40), info(2, 60.0, 10)];
    (v[0].has_room, v[1].has_room) = (false, false);
    // 80 Mb/s for 50 ms and the margin, 40 Mb/s for 40 ms.
    assert_eq!(s.next(&v).map(|g| g.skip_bytes), Some(520_000 + 200_000));
}

#[test]
fn of_equal_paths_one_is_the_main_one_and_noise_does_not_change_it() {
    let mut s = earliest();
    let mut v = [info(0, 20.0, 50), info(1, 19.0, 50)];
    assert_eq!(s.next(&v).map(|g| g.path), Some(0));
    v[1].one_way_us = 17_900.0;
    assert_eq!(s.next(&v).map(|g| g.path), Some(1));
    v[1].one_way_us = 21_000.0;
    assert_eq!(s.next(&v).map(|g| g.path), Some(1));
    v[1].jitter = Duration::from_millis(9);
    (v[0].one_way_us, v[0].jitter) = (14_000.0, Duration::from_millis(9));
    assert_eq!(s.next(&v).map(|g| g.path), Some(1));
    v[0].one_way_us = 11_000.0;
    assert_eq!(s.next(&v).map(|g| g.path), Some(0));
}

#[test]
fn weights_are_kept_to() {
    let mut s = Kind::Weighted.scheduler(Duration::ZERO);
    let mut v = [info(0, 1.0, 1), info(1, 1.0, 1)];
    v[0].weight = 3;
    let mut sent = [0; 2];
    for _ in 0..4000 {
        let g = s.next(&v).unwrap();
        s.on_sent(&v, g.path, 1500);
        sent[g.path] += 1;
    }
    assert_eq!(sent, [3000, 1000]);
}

#[test]
fn round_robin_turns() {
    let mut s = Kind::RoundRobin.scheduler(Duration::ZERO);
    let v = [info(0, 1.0, 1), info(1, 9.0, 1), info(5, 1.0, 1)];
    let turns: Vec<usize> = (0..6)
        .map(|_| {
            let g = s.next(&v).unwrap();
            s.on_sent(&v, g.path, 1500);
            g.path
        })
        .collect();
    assert_eq!(turns, [1, 2, 0, 1, 2, 0]);
}

#[test]
fn round_robin_gives_each_path_long_datagrams_where_packets_leave_rests() {
    let mut s = Kind::RoundRobin.scheduler(Duration::ZERO);
    let mut v = [info(0, 1.0, 1), info(1, 9.0, 1)];
    let mut sent = [0; 2];
    let mut send = |s: &mut dyn Scheduler, v: &[PathInfo], times: usize| {
        for bytes in [1450, 80].into_iter().cycle().take(times) {
            let g = s.next(v).unwrap();
            s.on_sent(v, g.path, bytes);
            sent[g.path] += bytes;
        }
        sent
    };
    let even = send(&mut *s, &v, 400);
    assert!(even[0].abs_diff(even[1]) <= 1450, "{even:?}");
    // One without room has no turns, and is owed none when it has room again.
    v[0].has_room = false;
    let alone = send(&mut *s, &v, 400);
    v[0].has_room = true;
    let after = send(&mut *s, &v, 400);
    assert_eq!(alone[0], even[0]);
    assert!((after[0] - alone[0]).abs_diff(after[1] - alone[1]) <= 2 * 1450, "{after:?}");
}
