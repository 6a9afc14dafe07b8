//! Rates against the tables of 802.11-2020.

use super::*;

fn every_rate() -> Vec<Rate> {
    let mut rates = legacy_rates(Standard::G, Band::Ghz2_4);
    rates.extend(mcs_rates(Standard::N, Width::Mhz40, 4, true));
    rates.extend(mcs_rates(Standard::Ac, Width::Mhz80, 4, true));
    rates.extend((0..=12).map(|mcs| Rate::dmg(mcs).unwrap()));
    rates
}

#[test]
fn mbps_as_the_tables_print_them() {
    use GuardInterval::{Long, Short};
    let ht = |mcs, streams, width, gi| Rate::ht(mcs, streams, width, gi).unwrap().mbps();
    let vht = |mcs, streams, width, gi| Rate::vht(mcs, streams, width, gi).unwrap().mbps();
    let cases = [
        (ht(0, 1, Width::Mhz20, Long), 6.5),
        (ht(7, 1, Width::Mhz20, Long), 65.0),
        (ht(7, 1, Width::Mhz20, Short), 72.2),
        (ht(7, 1, Width::Mhz40, Short), 150.0),
        (ht(7, 4, Width::Mhz40, Short), 600.0),
        (ht(4, 3, Width::Mhz40, Long), 243.0),
        (vht(8, 1, Width::Mhz20, Long), 78.0),
        (vht(9, 1, Width::Mhz80, Long), 390.0),
        (vht(9, 4, Width::Mhz80, Short), 1733.3),
        (vht(9, 3, Width::Mhz20, Short), 288.9),
        (Rate::dmg(1).unwrap().mbps(), 385.0),
        (Rate::dmg(5).unwrap().mbps(), 1251.25),
        (Rate::dmg(12).unwrap().mbps(), 4620.0),
        (Rate::dmg(0).unwrap().mbps(), 27.5),
        (Rate::legacy(5_500_000).unwrap().mbps(), 5.5),
        (Rate::legacy(54_000_000).unwrap().mbps(), 54.0),
    ];
    for (i, (got, printed)) in cases.into_iter().enumerate() {
        assert!((got - printed).abs() < 0.05, "case {i}: {got} for {printed}");
    }
}

#[test]
fn vht_leaves_out_what_the_standard_leaves_out() {
    let mut missing = Vec::new();
    for width in [Width::Mhz20, Width::Mhz40, Width::Mhz80] {
        for streams in 1..=4 {
            for mcs in 0..=9 {
                if Rate::vht(mcs, streams, width, GuardInterval::Long).is_err() {
                    missing.push((width.mhz(), streams, mcs));
                }
            }
        }
    }
    // Tables 21-30 to 21-41: 20 MHz MCS 9 but for three streams, 80 MHz MCS 6 of three streams.
    assert_eq!(missing, [(20, 1, 9), (20, 2, 9), (20, 4, 9), (80, 3, 6)]);
}

#[test]
fn encoders_as_in_the_tables() {
    use GuardInterval::Long;
    let ht = |mcs, streams| Rate::ht(mcs, streams, Width::Mhz40, Long).unwrap().encoders();
    assert_eq!((ht(7, 2), ht(4, 3), ht(5, 3), ht(3, 4), ht(4, 4)), (1, 1, 2, 1, 2));
    let vht = |mcs, streams| Rate::vht(mcs, streams, Width::Mhz80, Long).unwrap().encoders();
    assert_eq!((vht(9, 1), vht(7, 2), vht(9, 2), vht(9, 3), vht(9, 4)), (1, 2, 2, 3, 3));
}

#[test]
fn refuses_what_does_not_exist() {
    assert!(matches!(Rate::legacy(33_000_000), Err(RateError::NoLegacyRate { .. })));
    assert!(matches!(Rate::dmg(13), Err(RateError::NoMcs { .. })));
    let gi = GuardInterval::Long;
    assert!(matches!(Rate::ht(8, 1, Width::Mhz20, gi), Err(RateError::NoMcs { .. })));
    assert!(matches!(Rate::ht(0, 5, Width::Mhz20, gi), Err(RateError::Streams { .. })));
    assert!(matches!(Rate::ht(0, 1, Width::Mhz80, gi), Err(RateError::NoWidth { .. })));
    assert!(matches!(Rate::vht(0, 0, Width::Mhz20, gi), Err(RateError::Streams { .. })));
}

#[test]
fn indices_differ_and_stay_in_bounds() {
    let mut seen = vec![false; Rate::COUNT];
    for rate in every_rate() {
        assert!(!core::mem::replace(&mut seen[rate.index()], true), "{rate}");
    }
}

#[test]
fn reference_rates() {
    let gi = GuardInterval::Long;
    assert_eq!(Rate::ht(0, 2, Width::Mhz40, gi).unwrap().reference_bps(), 6_000_000);
    assert_eq!(Rate::ht(3, 1, Width::Mhz20, gi).unwrap().reference_bps(), 24_000_000);
    assert_eq!(Rate::vht(9, 1, Width::Mhz80, gi).unwrap().reference_bps(), 54_000_000);
}
