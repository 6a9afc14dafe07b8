//! Durations against figures worked out by hand, and the closed form of one saturated sender.

use super::*;
use crate::wifi::phy::{SlotLength, Timing, Width};

const LONG: GuardInterval = GuardInterval::Long;
const SHORT: GuardInterval = GuardInterval::Short;

fn mbps(rate: u64) -> Rate {
    Rate::legacy(rate * 1_000_000).unwrap()
}

fn us(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

#[test]
fn legacy_ppdus() {
    assert_eq!(us(ppdu(mbps(54), 1536, Band::Ghz5)), 248.0);
    assert_eq!(us(ppdu(mbps(6), 1536, Band::Ghz5)), 20.0 + 4.0 * 513.0);
    assert_eq!(us(ppdu(mbps(54), 1536, Band::Ghz2_4)), 254.0);
    assert_eq!(us(ppdu(mbps(11), 1536, Band::Ghz2_4)), 192.0 + 1118.0);
    assert_eq!(us(ppdu(Rate::legacy(5_500_000).unwrap(), 14, Band::Ghz2_4)), 192.0 + 21.0);
    assert_eq!((us(ack(mbps(24), Band::Ghz5)), us(ack(mbps(6), Band::Ghz5))), (28.0, 44.0));
    assert_eq!((us(rts(mbps(6), Band::Ghz5)), us(block_ack(mbps(24), Band::Ghz5))), (52.0, 32.0));
}

#[test]
fn preambles_by_streams() {
    let ht = |streams| us(preamble(Rate::ht(0, streams, Width::Mhz20, LONG).unwrap()));
    let vht = |streams| us(preamble(Rate::vht(0, streams, Width::Mhz80, LONG).unwrap()));
    assert_eq!((ht(1), ht(2), ht(3), ht(4)), (36.0, 40.0, 48.0, 48.0));
    assert_eq!((vht(1), vht(2), vht(3), vht(4)), (40.0, 44.0, 52.0, 52.0));
}

#[test]
fn short_guard_interval_rounds_the_sum_up() {
    let rate = Rate::ht(7, 1, Width::Mhz20, SHORT).unwrap();
    // ceil((16 + 8·1538 + 6)/260) = 48 symbols, 172.8 µs, rounded to 176.
    assert_eq!(us(ppdu(rate, 1538, Band::Ghz5)), 36.0 + 176.0);
}

#[test]
fn dmg_ppdus() {
    let dmg = |mcs, bytes| us(ppdu(Rate::dmg(mcs).unwrap(), bytes, Band::Ghz60));
    // (3328 + 1024 + 2·512 + 64) chips.
    assert_eq!(dmg(1, 14), 3.091);
    // ceil(8000·8/504) = 127 codewords in 48 blocks.
    assert_eq!(
        dmg(12, 8000),
        ((3328.0 + 1024.0 + 48.0 * 512.0 + 64.0) * 1000.0_f64 / 1760.0).round() / 1000.0
    );
    // 7552 chips, then 32 chips for each of 88 + 168 + 64 + 168 bits.
    assert_eq!(dmg(0, 14), 13.164);
    // The header of the control PHY is 8192 chips, 4.654 µs, the preamble before it 4.291 µs.
    assert_eq!(us(preamble(Rate::dmg(0).unwrap())), 4.291 + 4.654);
}

/// 12000·k/(AIFS + 67.5 + PPDU + SIFS + response), as in wifi-model.md.
fn closed_form(rate: Rate, k: u32) -> f64 {
    let basic = default_basic_rates(Standard::A, Band::Ghz5);
    let timing = Timing::new(Standard::A, Band::Ghz5, SlotLength::Short);
    let response = response_rate(rate, &basic);
    let (aifs, data, answer) = if k == 0 {
        (timing.difs(), ppdu(rate, 1536, Band::Ghz5), ack(response, Band::Ghz5))
    } else {
        (timing.aifs(3), ppdu(rate, ampdu_bytes(1538, k), Band::Ghz5), block_ack(response, Band::Ghz5))
    };
    12_000.0 * f64::from(k.max(1)) / (us(aifs) + 67.5 + us(data) + us(timing.sifs) + us(answer))
}

#[test]
fn one_sender_in_closed_form() {
    let cases = [
        (mbps(54), 0, 30.496),
        (Rate::ht(7, 1, Width::Mhz20, LONG).unwrap(), 28, 60.886),
        (Rate::ht(7, 1, Width::Mhz40, SHORT).unwrap(), 42, 137.912),
        (Rate::vht(9, 1, Width::Mhz80, LONG).unwrap(), 64, 344.94),
    ];
    for (rate, k, expected) in cases {
        let got = closed_form(rate, k);
        assert!((got / expected - 1.0).abs() < 2e-5, "{rate}: {got} for {expected}");
    }
}

#[test]
fn as_many_mpdus_fit_as_the_closed_form_says() {
    let fit = |rate, most: u32| {
        let room = psdu_bytes_within(rate, MAX_PPDU, Band::Ghz5);
        (1..=most).take_while(|&k| ampdu_bytes(1538, k) <= room).count()
    };
    let window = u32::from(BLOCK_ACK_WINDOW);
    assert_eq!(fit(Rate::ht(7, 1, Width::Mhz20, LONG).unwrap(), window), 28);
    assert_eq!(fit(Rate::ht(7, 1, Width::Mhz40, SHORT).unwrap(), window), 42);
    assert_eq!(fit(Rate::vht(9, 1, Width::Mhz80, LONG).unwrap(), window), 64);
}

#[test]
fn psdu_bytes_within_is_the_most() {
    for (rate, limit) in [
        (mbps(54), 300),
        (Rate::ht(0, 1, Width::Mhz20, SHORT).unwrap(), 5484),
        (Rate::dmg(3).unwrap(), 500),
        (mbps(6), 21),
    ] {
        let limit = Duration::from_micros(limit);
        let bytes = psdu_bytes_within(rate, limit, Band::Ghz5);
        assert!(bytes == 0 || ppdu(rate, bytes, Band::Ghz5) <= limit, "{rate}");
        assert!(ppdu(rate, bytes + 1, Band::Ghz5) > limit, "{rate}");
    }
}

#[test]
fn responses() {
    let a = default_basic_rates(Standard::A, Band::Ghz5);
    let of = |rate| response_rate(rate, &a).mbps();
    assert_eq!((of(mbps(54)), of(mbps(18)), of(mbps(9))), (24.0, 12.0, 6.0));
    let ht = |mcs| Rate::ht(mcs, 1, Width::Mhz40, LONG).unwrap();
    assert_eq!((of(ht(0)), of(ht(1)), of(ht(2)), of(ht(3)), of(ht(7))), (6.0, 12.0, 12.0, 24.0, 24.0));
    let b = default_basic_rates(Standard::B, Band::Ghz2_4);
    assert_eq!(response_rate(mbps(11), &b).mbps(), 11.0);
    // A cell whose basic rates are of the other family answers at the family's lowest.
    assert_eq!((response_rate(mbps(11), &a).mbps(), response_rate(mbps(54), &b).mbps()), (1.0, 6.0));
    let ad = default_basic_rates(Standard::Ad, Band::Ghz60);
    assert_eq!(response_rate(Rate::dmg(12).unwrap(), &ad).mcs(), 4);
}
