//! `ropewalk roam scan`: what would be joined, and why.

use super::plan::{Bounds, Candidate, plan, shortage, summary};
use super::radio::{Chosen, is_on, networks};
use super::text;
use crate::config;
use crate::report::table::bits;
use ropewalk_net::privileges;
use ropewalk_net::wifi::{self, Bss, link_up, mac_text};
use serde::Serialize;

/// An access point, for a program.
#[derive(Serialize)]
struct Line {
    bssid: String,
    /// Escaped: it is whatever its owner chose.
    ssid: String,
    frequency_mhz: u32,
    width_mhz: u32,
    signal_dbm: Option<f64>,
    expected_bps: u64,
    protected: bool,
    known: bool,
    join: bool,
    why: &'static str,
}

/// The whole, for a program.
#[derive(Serialize)]
struct Scan {
    radio: String,
    stations: u32,
    taken_by_others: u32,
    access_points: Vec<Line>,
}

/// Listens, and prints what it would do.
pub(super) fn run(roam: &config::Roam, json: bool) -> anyhow::Result<()> {
    privileges::check_network()?;
    let chosen = Chosen::find(roam)?;
    let (known, file) = networks(roam, &chosen.interface.name)?;
    let others = chosen.others(&[])?;
    let heard = listen(&chosen)?;
    // The interface that listens is switched off again, or is another program's.
    let room = chosen.radio.capacity.stations.saturating_sub(others.count);
    let channel_mhz = others.channel_mhz.or(roam.channel_mhz());
    let bounds = Bounds { limits: roam.limits(), channel_mhz, room: room as usize };
    let all = plan(&heard, &known, &others.bssids, &bounds);
    let radio = &chosen.radio;
    if json {
        let access_points = all.iter().map(line).collect();
        let (name, stations) = (radio.name.clone(), radio.capacity.stations);
        let scan = Scan { radio: name, stations, taken_by_others: others.count, access_points };
        println!("{}", serde_json::to_string(&scan)?);
        return Ok(());
    }
    print!("{}", table(&all));
    println!("{}; networks of {}", summary(&all), file.display());
    if let Some(words) = shortage(&radio.name, radio.capacity.stations, others.count, roam.most as usize) {
        println!("{words}");
    }
    Ok(())
}

/// All that is heard on all channels; the interface is on for it, and as before afterwards.
fn listen(chosen: &Chosen) -> anyhow::Result<Vec<Bss>> {
    let i = &chosen.interface;
    let was_on = is_on(&i.name);
    if !was_on {
        link_up(&i.name, i.index, true)?;
    }
    let heard = wifi::scan(&i.name, i.index, &[]);
    if !was_on {
        link_up(&i.name, i.index, false)?;
    }
    Ok(heard?)
}

fn line(c: &Candidate) -> Line {
    Line {
        bssid: mac_text(c.bss.bssid),
        ssid: text::ssid(&c.bss.ssid),
        frequency_mhz: c.bss.frequency_mhz,
        width_mhz: c.bss.width_mhz,
        signal_dbm: c.bss.signal_dbm,
        expected_bps: c.rate_bps as u64,
        protected: c.bss.is_protected,
        known: c.network.is_some(),
        join: c.verdict == super::plan::Verdict::Join,
        why: c.verdict.words(),
    }
}

fn table(all: &[Candidate]) -> String {
    let titles = ["access point", "network", "channel", "signal", "expected", "known", ""].map(String::from);
    let row = |c: &Candidate| {
        [
            mac_text(c.bss.bssid),
            text::ssid(&c.bss.ssid),
            format!("{}/{}", text::channel(c.bss.frequency_mhz), c.bss.width_mhz),
            c.bss.signal_dbm.map_or_else(|| "-".into(), |dbm| format!("{dbm:.0} dBm")),
            bits(c.rate_bps),
            if c.network.is_some() { "yes".into() } else { "no".into() },
            c.verdict.words().into(),
        ]
    };
    let rows: Vec<[String; 7]> = all.iter().map(row).collect();
    super::report::columns(&titles, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_roam::choose::Limits;
    use std::time::Duration;

    #[test]
    fn a_scan_reads_like_this() {
        let bss = |last, ssid: &[u8], dbm| Bss {
            bssid: [2, 0, 0, 0, 1, last],
            ssid: ssid.to_vec(),
            frequency_mhz: 2437,
            signal_dbm: Some(dbm),
            beacon_interval: Duration::from_millis(100),
            age: Duration::ZERO,
            is_protected: false,
            width_mhz: 20,
            has_ht: true,
            has_vht: false,
        };
        let known = wifi::known_networks("network={\nssid=\"home\"\nkey_mgmt=NONE\n}\n");
        let bounds = Bounds { limits: Limits::default(), channel_mhz: None, room: 3 };
        let heard = [bss(0, b"evil\x1b[2J", -30.0), bss(1, b"home", -52.0), bss(2, b"home", -75.4)];
        let all = plan(&heard, &known, &[], &bounds);
        let want = "\
access point       network        channel  signal   expected   known
02:00:00:00:01:01  home           6/20     -52 dBm  65.0 Mb/s  yes    join
02:00:00:00:01:02  home           6/20     -75 dBm  19.5 Mb/s  yes    join
02:00:00:00:01:00  evil\\u{1b}[2J  6/20     -30 dBm  65.0 Mb/s  no     not known to wpa_supplicant
";
        assert_eq!(table(&all), want, "\n{}", table(&all));
        assert_eq!(summary(&all), "would join 2 of 3 access points, on channel 6");
    }
}
