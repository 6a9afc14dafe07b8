//! Saturated cells against closed forms, Bianchi's model and the oracle's ns-3 table.

use super::*;

#[test]
fn one_sender_has_its_closed_form() {
    let cases = [
        (legacy(54), 30.496),
        (ht(7, Width::Mhz20, GuardInterval::Long), 60.886),
        (ht(7, Width::Mhz40, GuardInterval::Short), 137.912),
        (vht(9, Width::Mhz80), 344.94),
    ];
    for (radio, expected) in cases {
        let cell = Cell { radio, stations: 1 };
        let got = saturate(cell.spec(), Offer::Always, (100, 10_000), 1).mbps();
        assert!((got / expected - 1.0).abs() < 0.002, "{got} for {expected}");
    }
}

/// Bianchi (2000) in ns-3's variant, as `oracle/bianchi.py` solves it: 1500-byte packets, retries without end; upper and
/// lower curve, without and with EIFS after collisions.
#[test]
fn many_senders_are_within_1_5_per_cent_of_bianchi() {
    let table = [
        (54, 5, 29.83, 29.29),
        (54, 10, 28.15, 27.38),
        (54, 50, 23.56, 22.42),
        (24, 5, 16.25, 16.08),
        (24, 10, 15.14, 14.92),
        (6, 5, 4.709, 4.690),
        (6, 10, 4.345, 4.320),
    ];
    for (mbps, stations, upper, lower) in table {
        let forever = core::time::Duration::from_secs(1000);
        let queue = WifiQueue { lifetime: forever, ..WifiQueue::default() };
        let radio = RadioSpec { retry_limit: 255, queue, ..as_oracle(legacy(mbps)) };
        let seconds = if mbps == 6 { 60_000 } else { 15_000 };
        let got = saturate(Cell { radio, stations }.spec(), Offer::Always, (2000, seconds), 1).mbps();
        let off = [upper, lower].map(|curve: f64| (got / curve - 1.0).abs());
        assert!(off[0].min(off[1]) < 0.015, "{mbps} Mb/s, n = {stations}: {got} for {upper} or {lower}");
    }
}

/// On a circle neighbours understand parts of collisions and wait longer than others, where Bianchi's model has one wait for
/// all. At n = 50 that shows where frames are long: ns-3 3.44 itself carries 3.63 Mb/s at 6 Mb/s (4 runs of 60 s), 3.6 % above
/// the upper curve.
#[test]
fn fifty_slow_senders_are_above_bianchi_as_in_ns3() {
    for (mbps, upper) in [(24, 12.41), (6, 3.507)] {
        let queue = WifiQueue { lifetime: core::time::Duration::from_secs(1000), ..WifiQueue::default() };
        let radio = RadioSpec { retry_limit: 255, queue, ..as_oracle(legacy(mbps)) };
        let got = saturate(Cell { radio, stations: 50 }.spec(), Offer::Always, (5000, 40_000), 1).mbps();
        assert!((0.0..0.03).contains(&(got / upper - 1.0)), "{mbps} Mb/s: {got} for {upper}");
    }
}

/// `oracle/ns3_dcf.txt`, ns-3 3.44: IP bits of stations that send to an access point as its script has them, with its
/// receivers, its queues of 500 packets and its lifetime of 500 ms.
#[test]
fn as_much_as_in_ns3() {
    let plain = RadioSpec { aggregation: Aggregation::OFF, ..ht(7, Width::Mhz20, GuardInterval::Long) };
    let table = [
        (legacy(54), 45.0, 0.02, [30.4980, 30.8140, 29.5300, 27.9808]),
        (legacy(24), 24.0, 0.02, [17.6136, 17.2692, 16.1620, 15.1348]),
        (legacy(6), 7.5, 0.02, [5.3732, 5.1252, 4.7024, 4.3628]),
        (plain, 55.0, 0.02, [31.3532, 32.1256, 30.8876, 29.2708]),
        (ht(7, Width::Mhz20, GuardInterval::Long), 80.0, 0.03, [60.8860, 56.7348, 49.8684, 42.1152]),
    ];
    for (radio, offered, band, row) in table {
        for (stations, expected) in [1u32, 2, 5, 10].into_iter().zip(row) {
            let each_mbps = offered * if stations == 1 { 1.0 } else { 1.5 } / f64::from(stations);
            let gap_ns = (1472.0 * 8.0 * 1000.0 / each_mbps) as u64;
            let cell = Cell { radio: as_oracle(radio.clone()), stations };
            let got = saturate(cell.spec(), Offer::Every(gap_ns), (1500, 20_000), 1).mbps();
            assert!((got / expected - 1.0).abs() < band, "n = {stations}: {got} for {expected}");
        }
    }
}

#[test]
fn stations_share_evenly() {
    let out = saturate(Cell { radio: legacy(54), stations: 5 }.spec(), Offer::Always, (1000, 30_000), 3);
    let (sum, squares) = out.bps.iter().fold((0.0, 0.0), |(s, q), b| (s + b, q + b * b));
    let jain = sum * sum / (out.bps.len() as f64 * squares);
    assert!(jain > 0.995, "{jain}");
}

#[test]
fn the_same_seed_gives_the_same_outputs() {
    let run = |seed| {
        let out = saturate(Cell { radio: legacy(54), stations: 4 }.spec(), Offer::Always, (10, 500), seed);
        (out.bps.clone(), out.outputs, out.air.radio_stats(RadioId(2)))
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// A driver on a real machine wakes late. What it is told, and the times of it, are those of one that is never late: the medium is
/// not idle meanwhile.
#[test]
fn a_driver_that_is_late_misses_nothing() {
    let run = |wake: &dyn Fn(Time) -> Time| {
        let mut air: Air<u64> = Air::new(Cell { radio: legacy(54), stations: 3 }.spec(), 7).unwrap();
        for (station, n) in (1..=3).flat_map(|s| (0..150).map(move |n| (s, n))) {
            air.send(Time::ZERO, IfaceId(station), AP, packet(n)).unwrap();
        }
        let mut told = Vec::new();
        while let Some(due) = air.next_timeout().filter(|at| *at < Time::from_secs(1)) {
            while let Some(output) = air.poll(wake(due)) {
                match output {
                    Output::Received(r) => told.push((r.at, r.from, r.payload)),
                    Output::Completion(done) => told.push((done.at, done.to, done.token)),
                    _ => {}
                }
            }
        }
        told
    };
    let prompt = run(&|due| due);
    assert_eq!(prompt.len(), 2 * 3 * 150);
    assert_eq!(run(&|due| due + core::time::Duration::from_micros(130)), prompt);
    assert_eq!(run(&|due| due + core::time::Duration::from_millis(10)), prompt);
}
