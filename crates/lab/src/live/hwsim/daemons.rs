//! hostapd for each access point, wpa_supplicant for each station: configuration, start, wait.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Interface, Mode, Radio, Standard};
use ropewalk_scenario::wifi;

use crate::live::prepared::PreparedLab;
use crate::{LabError, Namespace, Process, Result};

/// How often interfaces are polled while they come up.
const POLL: Duration = Duration::from_millis(200);
/// How much of a daemon's log an error shows, bytes.
const SHOWN: usize = 2000;
/// A time unit (802.11-2020, 3.1), ns.
const TU_NS: u128 = 1_024_000;

/// The daemons. They end with it.
pub(super) struct Daemons {
    _processes: Vec<Process>,
    /// Stations that are with nobody, `node:interface`.
    pub(super) unjoined: Vec<String>,
}

/// A daemon that was started.
struct Started {
    interface: String,
    device: String,
    namespace: Namespace,
    program: &'static str,
    process: Process,
    log: PathBuf,
}

impl Daemons {
    /// Starts access points, which must come up within `patience`, then stations, which may.
    pub(super) fn start(
        scenario: &Scenario,
        prepared: &PreparedLab,
        patience: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Daemons> {
        let mut access_points = start_all(scenario, prepared, Mode::Ap)?;
        for access_point in &mut access_points {
            if !await_up(access_point, Instant::now() + patience, interrupted)? {
                return Err(access_point.failure(format!("did not come up within {patience:?}")));
            }
        }
        let mut stations = start_all(scenario, prepared, Mode::Station)?;
        let (until, mut unjoined) = (Instant::now() + patience, Vec::new());
        for station in &mut stations {
            if !await_up(station, until, interrupted)? {
                tracing::debug!("{} is with nobody: {}", station.interface, tail(&station.log));
                unjoined.push(station.interface.clone());
            }
        }
        let processes = access_points.into_iter().chain(stations).map(|started| started.process);
        Ok(Daemons { _processes: processes.collect(), unjoined })
    }
}

impl Started {
    fn failure(&self, what: String) -> LabError {
        // Errors before its log is open are in its output.
        let said = self.process.stdout() + &self.process.stderr() + &tail(&self.log);
        LabError::Daemon { interface: self.interface.clone(), what, program: self.program, said }
    }
}

fn start_all(scenario: &Scenario, prepared: &PreparedLab, mode: Mode) -> Result<Vec<Started>> {
    let mut all = Vec::new();
    for (node, spec) in &scenario.node {
        for (device, interface) in spec.interface.iter().filter(|(_, i)| i.mode == Some(mode)) {
            let Some(radio) = interface.radio.as_ref().and_then(|name| spec.radio.get(name)) else {
                continue;
            };
            let Some(host) = prepared.nodes.iter().find(|n| n.name() == node) else { continue };
            let (namespace, logs) = (host.namespace().clone(), prepared.site.logs());
            let stem = format!("{}-{}", namespace.label(), device);
            let log = logs.join(format!("{stem}.log"));
            let text = match mode {
                Mode::Ap => access_point(device, interface, radio),
                _ => station(interface, radio),
            };
            let file = logs.join(format!("{stem}.conf"));
            fs::write(&file, text).map_err(LabError::kernel(format!("write {}", file.display())))?;
            let [config, output, name]: [&OsStr; 3] = [file.as_ref(), log.as_ref(), device.as_ref()];
            let flag = |text: &'static str| OsStr::new(text);
            let (program, words) = match mode {
                Mode::Ap => ("hostapd", vec![flag("-f"), output, config]),
                _ => ("wpa_supplicant", vec![flag("-i"), name, flag("-c"), config, flag("-f"), output]),
            };
            let process = namespace.start(program, words)?;
            let (interface, device) = (format!("{node}:{device}"), device.clone());
            all.push(Started { interface, device, namespace, program, process, log });
        }
    }
    Ok(all)
}

/// Waits until the kernel says that an access point sends beacons, or that a station has joined.
/// It is an error if the daemon has ended.
fn await_up(started: &mut Started, until: Instant, interrupted: &AtomicBool) -> Result<bool> {
    loop {
        let said = started.namespace.exec("ip", ["-o", "link", "show", "dev", &started.device])?;
        if String::from_utf8_lossy(&said.stdout).contains(" state UP ") {
            return Ok(true);
        }
        if let Some(status) = started.process.exit_status()? {
            return Err(started.failure(format!("did not come up: {} ended with {status}", started.program)));
        }
        if Instant::now() >= until || interrupted.load(Ordering::Relaxed) {
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
}

/// hostapd's file of an open network without QoS, which 802.11a, b and g have not.
fn access_point(device: &str, interface: &Interface, radio: &Radio) -> String {
    let (mode, rates, basic) = match radio.standard {
        Standard::B => ("b", "10 20 55 110", "10 20 55 110"),
        Standard::A => ("a", "60 90 120 180 240 360 480 540", "60 120 240"),
        _ => ("g", "60 90 120 180 240 360 480 540", "60 120 240"),
    };
    let beacon = (interface.beacon_interval.as_nanos() / TU_NS).max(15);
    format!(
        "interface={device}\ndriver=nl80211\nssid2={}\nhw_mode={mode}\nchannel={}\nbeacon_int={beacon}\n\
         supported_rates={rates}\nbasic_rates={basic}\nwmm_enabled=0\nieee80211n=0\nauth_algs=1\n",
        hex(interface.ssid.as_deref().unwrap_or_default()),
        radio.channel
    )
}

/// wpa_supplicant's file: it scans its radio's channel only, as the scenario's stations do.
fn station(interface: &Interface, radio: &Radio) -> String {
    let mhz = megahertz(radio);
    format!(
        "network={{\n  ssid={}\n  key_mgmt=NONE\n  scan_freq={mhz}\n  freq_list={mhz}\n}}\n",
        hex(interface.ssid.as_deref().unwrap_or_default())
    )
}

/// The centre of a radio's channel, MHz.
fn megahertz(radio: &Radio) -> u32 {
    let number = u32::from(radio.channel);
    match wifi::CHANNELS_2_4.contains(&radio.channel) {
        true => 2407 + 5 * number,
        false => 5000 + 5 * number,
    }
}

/// A name in either daemon's form for any bytes.
fn hex(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn tail(log: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let from = text.len().saturating_sub(SHOWN);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::hwsim::refuse::tests::{CELL, scenario};

    #[test]
    fn files_say_what_the_scenario_says_and_a_name_cannot_add_lines() {
        let text = CELL
            .replace("ssid = \"x\"", "ssid = \"x\\n}\"")
            .replace("11g\", channel = 6", "11a\", channel = 36");
        let scenario = scenario(&text);
        let [ap, sta] = ["ap", "sta"].map(|n| &scenario.node[n]);
        let file = access_point("wlan0", &ap.interface["wlan0"], &ap.radio["r"]);
        for line in
            ["interface=wlan0", "ssid2=780a7d", "hw_mode=a", "channel=36", "beacon_int=100", "wmm_enabled=0"]
        {
            assert!(file.lines().any(|l| l == line), "{line} in\n{file}");
        }
        let file = station(&sta.interface["wlan0"], &sta.radio["r"]);
        assert!(file.contains("ssid=780a7d\n") && file.contains("freq_list=5180\n"), "{file}");
        assert_eq!(file.lines().filter(|l| l.trim() == "}").count(), 1);
    }
}
