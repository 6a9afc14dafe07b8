//! Several channels: the slot-overlap model of the multi-AP paper (MA-20).

use std::time::Duration;

use ropewalk_air::wifi::slot_overlap::SlotOverlap;

use super::{Row, Table, theory};

/// Clients that visit three channels in turn, a third of the time each at random phases: how much of the channels' time has a client.
pub(super) fn overlap() -> Table {
    let hour = Duration::from_secs(3600);
    let used = |n| (0..16).map(|seed| SlotOverlap::paper(n).used(hour, seed)).sum::<f64>() / 16.0;
    let row = |n| Row::new(format!("{n} clients"), 100.0 * theory::slots_used(n), 100.0 * used(n), 0.02);
    Table {
        name: "slot-overlap",
        unit: "ours, % used",
        source: "1 − (2/3)ᴺ, %",
        rows: (1..=6).map(row).collect(),
    }
}
