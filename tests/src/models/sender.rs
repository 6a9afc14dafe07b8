//! One sender alone, against the closed form.

use ropewalk_air::wifi::phy::{
    GuardInterval::{Long, Short},
    Rate, Standard,
    Width::{Mhz20, Mhz40, Mhz80},
};

use super::cell::{Cell, ht, legacy, vht};
use super::theory::{Sender, ofdm};
use super::{Row, Table};

/// What the closed form needs to know of an OFDM PHY.
struct Phy {
    preamble: f64,
    bits: f64,
    symbol: f64,
    encoders: u32,
}

fn row(name: &str, standard: Standard, rate: Rate, phy: &Phy, packets: u32) -> Row {
    let aggregated = packets > 1;
    let legacy = matches!(standard, Standard::A | Standard::G);
    // The answer goes at the highest basic rate that is not above the data rate (10.6.6.5.2).
    let response_mbps = [24.0, 12.0, 6.0]
        .into_iter()
        .find(|basic| *basic <= rate.reference_bps() as f64 / 1e6)
        .unwrap_or(6.0);
    let sender = Sender {
        preamble: phy.preamble,
        bits_per_symbol: phy.bits,
        symbol: phy.symbol,
        packets,
        aifs: if legacy { 34.0 } else { 43.0 },
        overhead: if legacy { 36 } else { 38 },
        encoders: phy.encoders,
        response: ofdm(if aggregated { 32 } else { 14 }, response_mbps),
    };
    let cell = Cell::new(standard, rate, 1).uplink().each_radio(|radio| {
        if !aggregated {
            radio.aggregation.ampdu_bytes = 0;
        }
    });
    Row::new(format!("{name}, {packets} per PPDU"), sender.mbps(), cell.total_mbps(4, 20), 0.002)
}

/// All PHYs alone.
pub(super) fn closed_form() -> Table {
    let a = |mbps: u64| Phy { preamble: 20.0, bits: mbps as f64 * 4.0, symbol: 4.0, encoders: 1 };
    let mut rows: Vec<Row> = [6, 9, 12, 18, 24, 36, 48, 54]
        .map(|mbps| row(&format!("11a {mbps} Mb/s"), Standard::A, legacy(mbps), &a(mbps), 1))
        .into();
    let phy = |preamble: f64, bits: f64, short| Phy {
        preamble,
        bits,
        symbol: if short { 3.6 } else { 4.0 },
        encoders: 1,
    };
    let n = Standard::N;
    let ac = Standard::Ac;
    rows.extend([
        row("11n MCS 7", n, ht(7, 1, Mhz20, Long), &phy(36.0, 260.0, false), 1),
        row("11n MCS 0", n, ht(0, 1, Mhz20, Long), &phy(36.0, 26.0, false), 2),
        row("11n MCS 7", n, ht(7, 1, Mhz20, Long), &phy(36.0, 260.0, false), 28),
        row("11n MCS 7, two streams", n, ht(7, 2, Mhz20, Long), &phy(40.0, 520.0, false), 42),
        row(
            "11n MCS 7, 40 MHz, short guard interval",
            n,
            ht(7, 1, Mhz40, Short),
            &phy(36.0, 540.0, true),
            42,
        ),
        row("11ac MCS 8, 20 MHz", ac, vht(8, 1, Mhz20, Long), &phy(40.0, 312.0, false), 34),
        row("11ac MCS 9, 40 MHz", ac, vht(9, 1, Mhz40, Long), &phy(40.0, 720.0, false), 64),
        row("11ac MCS 9, 80 MHz", ac, vht(9, 1, Mhz80, Long), &phy(40.0, 1560.0, false), 64),
    ]);
    Table { name: "closed-form", unit: "ours, Mb/s", source: "closed form, Mb/s", rows }
}
