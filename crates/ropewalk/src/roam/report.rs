//! What the daemon says of itself. Its JSON is stable: fields are added, never changed.

use crate::report::table::{self, bits, time};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Everything, now.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RoamStatus {
    /// Version of this layout.
    pub version: u32,
    /// The radio.
    pub radio: String,
    /// Its channel; none while nothing is joined.
    pub channel: Option<String>,
    /// Stations that the radio can be at once.
    pub stations: u32,
    /// How long the daemon has been running, seconds.
    pub uptime_s: f64,
    /// The monitor interface that hears them, if there is one.
    pub monitor: Option<MonitorStatus>,
    /// Access points that are joined or being joined, and those that were left in the last minute.
    pub access_points: Vec<AccessPoint>,
    /// What does not work, and why.
    pub notes: Vec<String>,
}

/// A monitor interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MonitorStatus {
    /// Its name.
    pub interface: String,
    /// Data frames of joined access points to us that were heard.
    pub frames: u64,
    /// Frames that the kernel dropped because the daemon was slow.
    pub dropped_frames: u64,
}

/// Who says what a packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PacketBy {
    /// Frames that a monitor interface heard.
    Monitor,
    /// Rates and counters of the driver.
    Driver,
    /// Nobody: what is to be expected at this signal.
    #[default]
    Signal,
}

impl PacketBy {
    fn word(self) -> &'static str {
        match self {
            PacketBy::Monitor => "monitor",
            PacketBy::Driver => "driver",
            PacketBy::Signal => "signal",
        }
    }
}

/// One access point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AccessPoint {
    /// The interface that is with it.
    pub interface: String,
    /// Its address.
    pub bssid: String,
    /// Its network's name, escaped.
    pub ssid: String,
    /// Centre of its channel, MHz.
    pub frequency_mhz: u32,
    /// `joining`, `active`, `backup` or `left`.
    pub state: String,
    /// Why it is so.
    pub why: String,
    /// How long it is so, seconds.
    pub for_s: f64,
    /// Signal of its last frame, dBm.
    pub signal_dbm: Option<f64>,
    /// Rate of the last frame from it, bit/s.
    pub rate_bps: Option<u64>,
    /// Air of a delivered packet of 1500 bytes by it, microseconds; by its signal until it has carried packets.
    pub packet_time_us: Option<u64>,
    /// The packet time is measured.
    pub measured: bool,
    /// By whom: `monitor`, `driver`, or `signal` where it is not measured.
    #[serde(default)]
    pub packet_by: PacketBy,
    /// Data frames from it to us that the monitor interface heard; none without one.
    pub monitor_frames: Option<u64>,
    /// Least round trip of MPTCP's subflows by it, milliseconds; none while there are none.
    pub least_rtt_ms: Option<f64>,
    /// TCP segments from it whose sender understands marks; none while nothing is marked.
    #[serde(default)]
    pub ect_segments: u64,
    /// Of these, marked here.
    #[serde(default)]
    pub marked_segments: u64,
    /// Address of the interface.
    pub address: Option<String>,
    /// Bytes from it.
    pub received_bytes: u64,
    /// Bytes to it.
    pub sent_bytes: u64,
    /// MPTCP opens subflows by it.
    pub mptcp: bool,
}

/// For people.
pub(crate) fn render(status: &RoamStatus) -> String {
    let mut out = format!("{}, up {}", status.radio, time(status.uptime_s));
    match &status.channel {
        Some(channel) => out.push_str(&format!(", channel {channel}")),
        None => out.push_str(", with no access point"),
    }
    let _ = writeln!(out, "; it can be {} stations at once\n", status.stations);
    let titles =
        ["interface", "access point", "network", "signal", "rate", "packet", "by", "address", "state", ""];
    let row = |a: &AccessPoint| {
        let none = || "-".to_owned();
        [
            a.interface.clone(),
            a.bssid.clone(),
            a.ssid.clone(),
            a.signal_dbm.map_or_else(none, |dbm| format!("{dbm:.0} dBm")),
            a.rate_bps.map_or_else(none, |bps| bits(bps as f64)),
            a.packet_time_us.map_or_else(none, |us| format!("{}{us} us", if a.measured { "" } else { "~" })),
            a.packet_time_us.map_or_else(none, |_| a.packet_by.word().to_owned()),
            a.address.clone().unwrap_or_else(none),
            format!("{} {}", a.state, time(a.for_s)),
            a.why.clone(),
        ]
    };
    let rows: Vec<[String; 10]> = status.access_points.iter().map(row).collect();
    out.push_str(&columns(&titles.map(String::from), &rows));
    for note in &status.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// A table with a line of titles.
pub(super) fn columns<const N: usize>(titles: &[String; N], rows: &[[String; N]]) -> String {
    let mut out = String::new();
    table::columns(&mut out, "", &[std::slice::from_ref(titles), rows].concat());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_like_this() {
        let one = AccessPoint {
            interface: "roam0".into(),
            bssid: "02:00:00:00:01:00".into(),
            ssid: "home".into(),
            frequency_mhz: 2437,
            state: "active".into(),
            for_s: 65.0,
            signal_dbm: Some(-52.0),
            rate_bps: Some(65_000_000),
            packet_time_us: Some(206),
            measured: true,
            packet_by: PacketBy::Monitor,
            address: Some("10.1.0.5/24".into()),
            mptcp: true,
            ..AccessPoint::default()
        };
        let left = AccessPoint {
            interface: "roam1".into(),
            bssid: "02:00:00:00:02:00".into(),
            ssid: "home".into(),
            state: "left".into(),
            why: "the association is lost".into(),
            packet_time_us: Some(640),
            ..AccessPoint::default()
        };
        let status = RoamStatus {
            radio: "phy0".into(),
            channel: Some("6".into()),
            stations: 4,
            uptime_s: 70.0,
            access_points: vec![one, left],
            notes: vec!["something is missing".into()],
            ..RoamStatus::default()
        };
        let want = "\
phy0, up 1 min 10 s, channel 6; it can be 4 stations at once

interface  access point       network  signal   rate       packet   by       address      state
roam0      02:00:00:00:01:00  home     -52 dBm  65.0 Mb/s  206 us   monitor  10.1.0.5/24  active 1 min 5 s
roam1      02:00:00:00:02:00  home     -        -          ~640 us  signal   -            left 0 s          the association is lost
note: something is missing
";
        assert_eq!(render(&status), want, "\n{}", render(&status));
    }
}
