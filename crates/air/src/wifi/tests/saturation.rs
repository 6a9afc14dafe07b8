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
        let cell = Cell { radio, stations: 1, packet_bytes: 1500 };
        let got = saturate(cell.spec(), 1500, 100, 10_000, 1).mbps();
        assert!((got / expected - 1.0).abs() < 0.002, "{got} for {expected}");
    }
}
