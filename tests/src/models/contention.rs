//! Several saturated senders, against Bianchi's analysis and against stored figures of ns-3.

use std::time::Duration;

use ropewalk_air::wifi::phy::{GuardInterval::Long, Standard, Width::Mhz20};

use ropewalk_air::wifi::PathLoss;

use super::cell::{Cell, ht, legacy};
use super::{Row, Table, theory};

/// Bianchi's setting: 11a, tries without end, and window and collisions as there.
pub(super) fn bianchi() -> Table {
    let mut rows = Vec::new();
    for n in [5, 10, 50] {
        for (mbps, ack) in [(54, 24.0), (24, 24.0), (6, 6.0)] {
            let (low, high) = theory::saturation(u32::from(n), mbps as f64, ack);
            let got = persistent(mbps, n).total_mbps(SEEDS, SECONDS);
            rows.push(Row::between(format!("{n} stations, {mbps} Mb/s"), (low, high), got, 0.015));
        }
    }
    Table { name: "bianchi", unit: "ours, Mb/s", source: "Bianchi (EIFS to DIFS), Mb/s", rows }
}

/// Seeds and seconds for figures that are good to 0.3 %.
const SEEDS: u64 = 4;
const SECONDS: u64 = 100;

/// Saturated stations of 11a that never give a frame up.
fn persistent(mbps: u64, n: u16) -> Cell {
    Cell::new(Standard::A, legacy(mbps), n).uplink().each_radio(|radio| radio.retry_limit = u8::MAX)
}

/// SIFS and an ACK at 6 Mb/s, µs: EIFS without its DIFS.
const EIFS_EXTRA: Duration = Duration::from_micros(16 + 44);

/// The cell of the oracle's script: stations on a circle of a metre around the access point, whose receivers notice every preamble.
/// Neighbours on the circle hear one another better than the rest, so bystanders often understand one of the frames that collide.
fn on_a_circle(mut cell: Cell) -> Cell {
    let n = cell.spec.radios.len() - 1;
    cell.spec.path_loss = PathLoss { exponent: 2.0, ..PathLoss::default() };
    cell.spec.capture.margin_db = None;
    for (index, radio) in cell.spec.radios.iter_mut().enumerate() {
        (radio.preamble_min_dbm, radio.preamble_min_snr_db) = (-101.0, -100.0);
        if index > 0 {
            let angle = 2.0 * std::f64::consts::PI * index as f64 / n as f64;
            radio.position = [libm::cos(angle), libm::sin(angle), 0.0];
        }
    }
    cell
}

/// Fifty stations of which some understand a part of each collision and wait for EIFS or the NAV, while others wait for DIFS alone: the
/// analysis knows one wait for all. By the standard's timers those who have collided miss the ACK after 45 µs and count 15 µs before those
/// who wait for EIFS; in the second row of each rate they miss it after 60 µs and count together with them. That makes no difference.
pub(super) fn partly_understood() -> Table {
    let mut rows = Vec::new();
    for (mbps, ack) in [(54, 24.0), (24, 24.0), (6, 6.0)] {
        let expected = theory::saturation(50, mbps as f64, ack);
        for (name, timeout) in [("802.11's", None), ("equal", Some(EIFS_EXTRA))] {
            let cell = on_a_circle(persistent(mbps, 50)).each_radio(|radio| radio.answer_timeout = timeout);
            let got = cell.total_mbps(SEEDS, SECONDS);
            rows.push(Row::between(format!("{mbps} Mb/s, {name} timers"), expected, got, 0.03));
        }
    }
    Table { name: "partly-understood", unit: "ours, Mb/s", source: "Bianchi (EIFS to DIFS), Mb/s", rows }
}

/// The stored figures of ns-3 3.44: `shared/oracle/ns3_dcf.txt` of the project, with what its script offers in all, Mb/s of payload, and Mb/s of
/// IP packets for 1, 2, 5 and 10 stations. With A-MPDU at 10 stations three runs of 10 s differed by 0.8 Mb/s in the stored run; `bench/ns3` has longer ones.
const NS3: [(&str, f64, [f64; 4]); 5] = [
    ("11a 54 Mb/s", 45.0, [30.498, 30.814, 29.530, 27.981]),
    ("11a 24 Mb/s", 24.0, [17.614, 17.269, 16.162, 15.135]),
    ("11a 6 Mb/s", 7.5, [5.373, 5.125, 4.702, 4.363]),
    ("11n MCS 7", 55.0, [31.353, 32.126, 30.888, 29.271]),
    ("11n MCS 7 with A-MPDU", 80.0, [60.886, 56.735, 49.868, 42.115]),
];

/// What ns-3 said of so many stations at 54 Mb/s, if it was asked.
pub(super) fn oracle_54(stations: u16) -> Option<f64> {
    [1, 2, 5, 10].into_iter().zip(NS3[0].2).find(|(n, _)| *n == stations).map(|(_, mbps)| mbps)
}

/// A cell of the oracle's script: its places, and its arrivals, of which most packets grow older than 500 ms and expire. Which those are
/// matters with aggregates, where an MPDU that is to be sent again has often expired before.
fn oracle_cell(index: usize, n: u16, payload_mbps: f64) -> Cell {
    let (standard, rate) = match index {
        0 => (Standard::A, legacy(54)),
        1 => (Standard::A, legacy(24)),
        2 => (Standard::A, legacy(6)),
        _ => (Standard::N, ht(7, 1, Mhz20, Long)),
    };
    let mut cell = on_a_circle(Cell::new(standard, rate, n).uplink()).each_radio(|radio| {
        radio.queue.lifetime = Duration::from_millis(500);
        (radio.queue.station_packets, radio.queue.iface_packets) = (500, 500);
        if index != 4 {
            radio.aggregation.ampdu_bytes = 0;
        }
    });
    let more = if n == 1 { 1.0 } else { 1.5 };
    let each = payload_mbps * more * 1500.0 / 1472.0 / f64::from(n);
    cell.flows.iter_mut().for_each(|flow| flow.mbps = Some(each));
    cell
}

/// The same cells here.
pub(super) fn oracle() -> Table {
    let mut rows = Vec::new();
    for (index, (name, payload_mbps, figures)) in NS3.into_iter().enumerate() {
        for (n, expected) in [1, 2, 5, 10].into_iter().zip(figures) {
            let cell = oracle_cell(index, n, payload_mbps);
            let ampdu = index == 4;
            // With aggregates a run of 40 s is good to 1.3 % at ten stations: sixteen of them to 0.3 %.
            let got = if ampdu { cell.total_mbps(16, 40) } else { cell.total_mbps(3, 20) };
            let band = if ampdu { 0.03 } else { 0.02 };
            rows.push(Row::new(format!("{name}, {n} station(s)"), expected, got, band));
        }
    }
    Table { name: "oracle", unit: "ours, Mb/s", source: "ns-3 3.44, Mb/s", rows }
}
