//! Error rates by SNR.

use ropewalk_air::wifi::phy::{ErrorModel, GuardInterval, Rate, Width};

use super::{Row, Table};

const BITS: u32 = 1536 * 8;

fn rates() -> Vec<(&'static str, Rate, f64)> {
    let legacy = |mbps: u64| Rate::legacy(mbps * 1_000_000).expect("a legacy rate");
    let ht = Rate::ht(7, 1, Width::Mhz20, GuardInterval::Long).expect("an HT rate");
    let vht = |mcs, width| Rate::vht(mcs, 1, width, GuardInterval::Long).expect("a VHT rate");
    vec![
        ("6 Mb/s", legacy(6), 3.43),
        ("9 Mb/s", legacy(9), 6.29),
        ("12 Mb/s", legacy(12), 6.44),
        ("18 Mb/s", legacy(18), 9.30),
        ("24 Mb/s", legacy(24), 12.92),
        ("36 Mb/s", legacy(36), 16.02),
        ("48 Mb/s", legacy(48), 20.76),
        ("54 Mb/s", legacy(54), 22.00),
        ("HT MCS 7", ht, 23.16),
        ("VHT MCS 8", vht(8, Width::Mhz20), 27.83),
        ("VHT MCS 9, 80 MHz", vht(9, Width::Mhz80), 29.05),
    ]
}

/// The SNR at which half of all frames of 1536 B are lost.
pub(super) fn half_loss() -> Table {
    let errors = ErrorModel::new();
    let row = |(name, rate, snr): (&str, Rate, f64)| {
        Row::new(name, snr, errors.sinr_db_for(rate, BITS, 0.5), 0.003)
    };
    let rows = rates().into_iter().map(row).collect();
    Table { name: "half-loss", unit: "ours, dB", source: "NIST model in ns-3, dB", rows }
}

/// How many dB lie between 90 % and 1 % loss.
pub(super) fn slope() -> Table {
    let errors = ErrorModel::new();
    let span = |rate| errors.sinr_db_for(rate, BITS, 0.99) - errors.sinr_db_for(rate, BITS, 0.1);
    let row = |(name, rate, _)| Row::between(name, (1.5, 1.9), span(rate), 0.0);
    Table {
        name: "slope",
        unit: "ours, dB",
        source: "NIST model in ns-3, dB",
        rows: rates().into_iter().map(row).collect(),
    }
}
