//! What of a scenario cannot run on the kernel's radios.

use ropewalk_air::wifi::MAX_FRAME_RADIOS;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{
    Interface, Join, MediumModel, Mode, NamedRateControl, Radio, RadioDiscipline, RateControl, Standard, What,
};
use ropewalk_sim::BuildError;

use crate::live::run;

/// Channels of the regulatory domain that the radios have: without radar, and free to speak in.
const CHANNELS_5: [u16; 9] = [36, 40, 44, 48, 149, 153, 157, 161, 165];
/// Shortest beacon interval of hostapd: 15 time units of 1.024 ms.
const LEAST_BEACON_MS: u128 = 16;
/// Longest name of a network (802.11-2020, 9.4.2.2).
const MAX_SSID: usize = 32;

/// Everything of a scenario that cannot run on the kernel's radios, with keys and remedies.
pub fn refusals(scenario: &Scenario) -> Vec<BuildError> {
    let mut all = run::refusals(scenario);
    let mut refuse = |key: String, sentence: &str| all.push(BuildError::new(key, sentence));
    let radios = scenario.node.values().map(|node| node.radio.len()).sum::<usize>();
    if radios == 0 {
        refuse("node".into(), "there is no radio; run this with `ropewalk lab run`");
    }
    if radios > MAX_FRAME_RADIOS {
        refuse("node".into(), "the kernel's radios are 64 at most; take fewer stations");
    }
    if scenario.medium.time_dilation > 1 {
        refuse("medium.time-dilation".into(), "the kernel's clock goes at its own pace; leave it out");
    }
    if scenario.medium.model != MediumModel::Wifi {
        refuse("medium.model".into(), "the kernel's radios speak 802.11; run this with `ropewalk lab run`");
    }
    for name in scenario.bond.keys() {
        refuse(
            format!("bond.{name}"),
            "no bonds are started over the kernel's radios; run this with `ropewalk lab run`",
        );
    }
    for name in scenario.bunch.keys() {
        refuse(
            format!("bunch.{name}"),
            "no bunches are started over the kernel's radios; run this with `ropewalk lab run`",
        );
    }
    for (name, node) in &scenario.node {
        for (radio, spec) in &node.radio {
            let key = format!("node.{name}.radio.{radio}");
            let here = node.interface.values().filter(|i| i.radio.as_deref() == Some(radio)).count();
            if here != 1 {
                refuse(key.clone(), "one radio has one interface here; give each its own radio");
            }
            of_radio(&key, spec, &mut refuse);
        }
        for (interface, spec) in node.interface.iter().filter(|(_, i)| i.radio.is_some()) {
            let is_port = node.bridge.values().any(|b| b.ports.contains(interface));
            of_interface(&format!("node.{name}.interface.{interface}"), spec, is_port, &mut refuse);
        }
    }
    for (number, event) in scenario.event.iter().enumerate() {
        let of_stations = [What::Associate, What::Disassociate, What::PowerSaveOn, What::PowerSaveOff];
        if of_stations.contains(&event.what) || [What::SwitchChannel, What::Tune].contains(&event.what) {
            refuse(
                format!("event.{number}.what"),
                "stations and channels are wpa_supplicant's and hostapd's here; run this with `ropewalk lab run`",
            );
        }
    }
    all
}

fn of_radio(key: &str, radio: &Radio, refuse: &mut impl FnMut(String, &str)) {
    match radio.standard {
        Standard::A if !CHANNELS_5.contains(&radio.channel) => {
            refuse(
                format!("{key}.channel"),
                "the kernel's radios may speak on 36, 40, 44, 48, 149, 153, 157, 161 and 165 in 5 GHz",
            );
        }
        Standard::B | Standard::G if radio.channel > 11 => {
            refuse(format!("{key}.channel"), "the kernel's radios may speak on 1 to 11 in 2.4 GHz");
        }
        Standard::N | Standard::Ac | Standard::Ad => refuse(
            format!("{key}.standard"),
            "mac80211_hwsim tells rate control nothing of aggregates, so that it would not learn; take 11a, 11b or 11g",
        ),
        Standard::A | Standard::B | Standard::G => {}
    }
    if radio.rate_control != RateControl::Named(NamedRateControl::MinstrelHt) {
        refuse(format!("{key}.rate-control"), "rates are the kernel's choice (minstrel_ht); leave it out");
    }
    if radio.retry_limit.is_some() {
        refuse(
            format!("{key}.retry-limit"),
            "how often a frame is sent is the kernel's choice; leave it out",
        );
    }
    let queue = &radio.queue;
    let is_plain = (queue.packets, queue.total, queue.kind) == (500, 4096, RadioDiscipline::TailDrop);
    if !is_plain || queue.lifetime.is_some() {
        refuse(format!("{key}.queue"), "what waits is the kernel's; leave it out");
    }
}

fn of_interface(key: &str, interface: &Interface, is_port: bool, refuse: &mut impl FnMut(String, &str)) {
    let ssid = interface.ssid.as_deref().unwrap_or_default();
    if ssid.is_empty() || ssid.len() > MAX_SSID {
        refuse(format!("{key}.ssid"), "a network's name has 1 to 32 bytes");
    }
    match interface.mode {
        Some(Mode::Ap) => {
            let beacons = interface.beacon_interval.as_millis();
            if !(LEAST_BEACON_MS..=60_000).contains(&beacons) {
                refuse(
                    format!("{key}.beacon-interval"),
                    "hostapd sends a beacon each 16ms to 60s; leave it out",
                );
            }
        }
        Some(Mode::Station) => {
            if interface.join == Join::Idle {
                refuse(format!("{key}.join"), "wpa_supplicant joins at once; leave it out");
            }
            if interface.power_save {
                refuse(format!("{key}.power-save"), "the kernel's stations stay awake here; leave it out");
            }
            if is_port {
                refuse(key.to_owned(), "the kernel bridges no station; give it an address and routes");
            }
        }
        _ => {
            refuse(format!("{key}.mode"), "access points and stations only; run this with `ropewalk lab run`")
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A cell that runs.
    pub(in crate::live::hwsim) const CELL: &str = "duration = \"9s\"\n\
        [node.ap]\nradio.r = { standard = \"11g\", channel = 6 }\n\
        interface.wlan0 = { radio = \"r\", mode = \"ap\", ssid = \"x\" }\n\
        [node.sta]\nradio.r = { standard = \"11g\", channel = 6 }\n\
        interface.wlan0 = { radio = \"r\", mode = \"station\", ssid = \"x\" }\n";

    pub(in crate::live::hwsim) fn scenario(text: &str) -> Scenario {
        ropewalk_scenario::Document::parse("test", text).unwrap().scenario().unwrap()
    }

    fn keys(text: &str) -> Vec<String> {
        refusals(&scenario(text)).into_iter().map(|e| e.key).collect()
    }

    #[test]
    fn a_plain_cell_runs_and_what_is_not_to_be_had_is_named() {
        assert_eq!(keys(CELL), Vec::<String>::new());
        let changed = |from: &str, to: &str| keys(&CELL.replace(from, to));
        for (from, to, key) in [
            ("11g\", channel = 6", "11n\", channel = 6", "standard"),
            ("channel = 6", "channel = 13", "channel"),
            ("11g\", channel = 6", "11a\", channel = 100", "channel"),
            ("channel = 6", "channel = 6, retry-limit = 4", "retry-limit"),
            ("channel = 6", "channel = 6, queue = { packets = 9 }", "queue"),
            ("channel = 6", "channel = 6, rate-control = { fixed = \"54Mbit/s\" }", "rate-control"),
        ] {
            let expected = ["ap", "sta"].map(|node| format!("node.{node}.radio.r.{key}"));
            assert_eq!(changed(from, to), expected, "{to}");
        }
        let ap = |more: &str| changed("mode = \"ap\",", &format!("mode = \"ap\", {more},"));
        assert_eq!(ap("beacon-interval = \"0s\""), ["node.ap.interface.wlan0.beacon-interval"]);
        let station = |more: &str| changed("mode = \"station\",", &format!("mode = \"station\", {more},"));
        assert_eq!(station("power-save = true"), ["node.sta.interface.wlan0.power-save"]);
        assert_eq!(station("join = \"idle\""), ["node.sta.interface.wlan0.join"]);
        let event = "[[event]]\nat = \"1s\"\nwhat = \"disassociate\"\ninterface = \"sta:wlan0\"\n";
        assert_eq!(keys(&format!("{CELL}{event}")), ["event.0.what"]);
        assert_eq!(keys("duration = \"1s\"\n[node.a]\n"), ["node"]);
        let weighted = format!("{CELL}[medium]\nmodel = \"weighted-fair\"\n");
        assert_eq!(keys(&weighted), ["medium.model"]);
        assert_eq!(keys(&format!("{CELL}[medium]\ntime-dilation = 8\n")), ["medium.time-dilation"]);
    }
}
