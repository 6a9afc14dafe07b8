//! Several saturated senders, against Bianchi's analysis and against stored figures of ns-3.

use std::time::Duration;

use ropewalk_air::wifi::phy::{GuardInterval::Long, Standard, Width::Mhz20};

use super::cell::{Cell, ht, legacy};
use super::{Row, Table, theory};

/// Bianchi's setting: 11a, tries without end, and window and collisions as there.
pub(super) fn bianchi() -> Table {
    let mut rows = Vec::new();
    for n in [5, 10, 50] {
        for (mbps, ack) in [(54, 24.0), (24, 24.0), (6, 6.0)] {
            let cell = Cell::new(Standard::A, legacy(mbps), n)
                .uplink()
                .each_radio(|radio| radio.retry_limit = u8::MAX);
            let (low, high) = theory::saturation(u32::from(n), mbps as f64, ack);
            let got = cell.total_mbps(2, 30);
            rows.push(Row::between(format!("{n} stations, {mbps} Mb/s"), (low, high), got, 0.015));
        }
    }
    Table { name: "bianchi", unit: "ours, Mb/s", source: "Bianchi (EIFS to DIFS), Mb/s", rows }
}

/// The stored figures of ns-3 3.44: `shared/oracle/ns3_dcf.txt` of the project, Mb/s of IP packets for 1, 2, 5 and 10 stations.
/// Packets waited 500 ms at most. With A-MPDU at 5 and 10 stations the means are uncertain: three runs of 10 s differed by 0.46 and 0.79 Mb/s.
const NS3: [(&str, [f64; 4]); 5] = [
    ("11a 54 Mb/s", [30.498, 30.814, 29.530, 27.981]),
    ("11a 24 Mb/s", [17.614, 17.269, 16.162, 15.135]),
    ("11a 6 Mb/s", [5.373, 5.125, 4.702, 4.363]),
    ("11n MCS 7", [31.353, 32.126, 30.888, 29.271]),
    ("11n MCS 7 with A-MPDU", [60.886, 56.735, 49.868, 42.115]),
];

/// The same cells here.
pub(super) fn oracle() -> Table {
    let mut rows = Vec::new();
    for (index, (name, figures)) in NS3.into_iter().enumerate() {
        for (place, (n, expected)) in [1, 2, 5, 10].into_iter().zip(figures).enumerate() {
            let (standard, rate) = match index {
                0 => (Standard::A, legacy(54)),
                1 => (Standard::A, legacy(24)),
                2 => (Standard::A, legacy(6)),
                _ => (Standard::N, ht(7, 1, Mhz20, Long)),
            };
            let ampdu = index == 4;
            let cell = Cell::new(standard, rate, n).uplink().each_radio(|radio| {
                radio.queue.lifetime = Duration::from_millis(500);
                if !ampdu {
                    radio.aggregation.ampdu_bytes = 0;
                }
            });
            let got = cell.total_mbps(3, if ampdu { 40 } else { 20 });
            // The standard error of the stored mean, from the deviation of its three runs.
            let error = if ampdu { [0.0, 0.09, 0.46, 0.79][place] / 3.0_f64.sqrt() } else { 0.0 };
            let (expected, band) = ((expected - error, expected + error), if ampdu { 0.03 } else { 0.02 });
            rows.push(Row::between(format!("{name}, {n} station(s)"), expected, got, band));
        }
    }
    Table { name: "oracle", unit: "ours, Mb/s", source: "ns-3 3.44, Mb/s", rows }
}
