//! Error rates against the figures of wifi-model.md, and the tables against the formulas that they stand for.

use super::*;
use crate::wifi::phy::{GuardInterval, Width};

fn rate_of(name: &str) -> Rate {
    let gi = GuardInterval::Long;
    match name.split_once(' ') {
        Some(("HT", mcs)) => Rate::ht(mcs.parse().unwrap(), 1, Width::Mhz20, gi).unwrap(),
        Some(("VHT", mcs)) => Rate::vht(mcs.parse().unwrap(), 1, Width::Mhz80, gi).unwrap(),
        _ => Rate::legacy(name.parse::<u64>().unwrap() * 1_000_000).unwrap(),
    }
}

#[test]
fn half_of_1536_bytes_is_lost_where_the_reference_says() {
    let model = ErrorModel::new();
    let table = [
        ("6", 3.43),
        ("9", 6.29),
        ("12", 6.44),
        ("18", 9.30),
        ("24", 12.92),
        ("36", 16.02),
        ("48", 20.76),
        ("54", 22.00),
        ("HT 7", 23.16),
        ("VHT 8", 27.83),
        ("VHT 9", 29.05),
    ];
    for (name, expected) in table {
        let got = model.sinr_db_for(rate_of(name), 8 * 1536, 0.5);
        assert!((got - expected).abs() < 0.006, "{name}: {got} dB for {expected}");
    }
}

#[test]
fn from_ninety_per_cent_to_one() {
    let model = ErrorModel::new();
    for name in ["6", "12", "24", "54", "HT 7", "VHT 9"] {
        let at = |success| model.sinr_db_for(rate_of(name), 8 * 1536, success);
        let span = at(0.99) - at(0.1);
        assert!((1.45..1.95).contains(&span), "{name}: {span} dB");
    }
}

#[test]
fn tables_follow_the_formulas() {
    let model = ErrorModel::new();
    let mut worst: f64 = 0.0;
    for (class, (size, code)) in CONVOLUTIONAL.iter().enumerate() {
        for step in 0..40_000 {
            let sinr = ratio_from_db(-5.0 + f64::from(step) * 0.001_017);
            let error = decoded_bit_error(*size, code, sinr);
            for bits in [24.0, 112.0, 12_288.0, 524_280.0] {
                let exact = if error >= 1.0 { 0.0 } else { libm::exp(bits * libm::log1p(-error)) };
                let got = survival(model.shared.tables[class].loss_per_bit(sinr) * bits);
                worst = worst.max((got - exact).abs());
            }
        }
    }
    assert!(worst < 1e-6, "{worst}");
}

#[test]
fn certain_ends() {
    let model = ErrorModel::new();
    for name in ["6", "54", "VHT 9", "1", "11"] {
        let rate = rate_of(name);
        assert_eq!(model.success(rate, 0.0, 112), 0.0, "{name}");
        assert_eq!(model.success(rate, f64::NAN, 112), 0.0, "{name}");
        assert_eq!(model.success(rate, 1e6, u32::MAX), 1.0, "{name}");
        assert_eq!(model.success(rate, f64::INFINITY, 112), 1.0, "{name}");
        assert_eq!(model.header_success(rate, 1e6), 1.0, "{name}");
        assert!(model.header_success(rate, 1e-3) < 1e-6, "{name}");
    }
}

#[test]
fn success_grows_with_sinr_and_falls_with_length() {
    let model = ErrorModel::new();
    for name in ["1", "2", "11", "6", "24", "HT 7", "VHT 9"] {
        let rate = rate_of(name);
        let mut before = 0.0;
        for tenth in -200..400 {
            let sinr = ratio_from_db(f64::from(tenth) / 10.0);
            let now = model.success(rate, sinr, 12_288);
            assert!(now >= before - 1e-12, "{name} at {tenth}");
            assert!(model.success(rate, sinr, 24_576) <= now, "{name} at {tenth}");
            before = now;
        }
        assert_eq!(before, 1.0, "{name}");
    }
}

#[test]
fn pieces_of_a_frame_multiply() {
    let model = ErrorModel::new();
    let rate = rate_of("54");
    let sinr = ratio_from_db(22.0);
    let pieces = model.success(rate, sinr, 4_288) * model.success(rate, sinr, 8_000);
    assert!((pieces - model.success(rate, sinr, 12_288)).abs() < 1e-12);
}

#[test]
fn dsss_needs_less_at_lower_rates() {
    let model = ErrorModel::new();
    let needed = |bps| model.sinr_db_for(Rate::legacy(bps).unwrap(), 8 * 1024, 0.92);
    let at = [1_000_000, 2_000_000, 5_500_000, 11_000_000].map(needed);
    // 2 Mb/s is detected differentially, CCK coherently, so 5.5 Mb/s needs no more than it.
    assert!(at[0] < at[1] && at[0] < at[2] && at[1] < at[3] && at[2] < at[3], "{at:?}");
    // 8 % loss of 1024 bytes: DBPSK at E_b/N_0 = ln(1/2p), p = 1.02e-5, which is 10.33 dB over 20 MHz/1 Mb/s.
    assert!((at[0] - (10.33 - 13.01)).abs() < 0.02, "{at:?}");
    // 24 nearest words at 8 chips' energy: 24·Q(√(4·E_c/N_0)) = 8 %/1024.
    assert!((4.0..5.0).contains(&at[3]), "{at:?}");
}

#[test]
fn dmg_meets_its_sensitivity() {
    let model = ErrorModel::new();
    for mcs in 1..=12 {
        let rate = Rate::dmg(mcs).unwrap();
        let at = ratio_from_db(DMG_SENSITIVITY_DBM[usize::from(mcs)] - DMG_NOISE_DBM);
        let loss = 1.0 - model.success(rate, at, 8 * 4096);
        assert!((0.003..0.03).contains(&loss), "MCS {mcs}: {loss}");
    }
    let control = 1.0 - model.success(Rate::dmg(0).unwrap(), ratio_from_db(-78.0 - DMG_NOISE_DBM), 8 * 256);
    assert!((control - 0.05).abs() < 0.005, "{control}");
}
