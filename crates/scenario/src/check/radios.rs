//! Radios, the interfaces on them, and what disturbs them.

use super::Judge;
use crate::file::{
    AccessCategory, FadingModel, Interface, Mode, NodeSpec, PathLossModel, Radio, Scenario, Standard,
};
use crate::problem::remedy;
use crate::units::Bytes;
use crate::wifi;
use std::collections::BTreeSet;
use std::time::Duration;

/// The shortest mean time that somebody is in the way or out of it.
const SHORTEST_SPELL: Duration = Duration::from_millis(1);

pub(super) fn check(judge: &mut Judge) {
    for (name, node) in &judge.scenario.node {
        judge.fail_if(![0, 2].contains(&node.within.len()), format!("node.{name}.within"), || {
            "a rectangle has two corners; write them as [[0, 0], [40, 25]]".into()
        });
        for (radio, spec) in &node.radio {
            check_radio(judge, &format!("node.{name}.radio.{radio}"), spec);
        }
        for (interface, spec) in &node.interface {
            check_interface(judge, &format!("node.{name}.interface.{interface}"), node, spec);
        }
        let order = node.walk.windows(2).position(|w| w[1].at <= w[0].at);
        judge.fail_if(order.is_some(), format!("node.{name}.walk.{}", order.unwrap_or(0) + 1), || {
            "this point comes before the last one; put them in the order of time".into()
        });
    }
    check_medium(judge);
    check_blockage(judge);
    check_interferers(judge);
}

fn check_radio(judge: &mut Judge, key: &str, radio: &Radio) {
    for (below, sentence) in wifi::check_radio(radio) {
        judge.fail(format!("{key}.{below}"), sentence);
    }
    let most = match radio.standard.name() {
        "11n" => 65_535,
        "11ac" => 1_048_575,
        "11ad" => 262_143,
        _ => 0,
    };
    let aggregation = &radio.aggregation;
    if let Some(Bytes(bytes)) = aggregation.ampdu {
        judge.fail_if(bytes > most, format!("{key}.aggregation.ampdu"), || {
            format!("{} has A-MPDUs of at most {most} bytes", radio.standard.name())
        });
    }
    judge.fail_if(aggregation.amsdu.0 > 0 && most == 0, format!("{key}.aggregation.amsdu"), || {
        format!("{} has no A-MSDU; take it out", radio.standard.name())
    });
    judge.fail_if(aggregation.amsdu.0 > 11_398, format!("{key}.aggregation.amsdu"), || {
        "an A-MSDU has at most 11398 bytes".into()
    });
    judge.fail_if(!(1..=64).contains(&aggregation.frames), format!("{key}.aggregation.frames"), || {
        "an A-MPDU has 1 to 64 frames".into()
    });
    check_antenna(judge, key, radio);
    let time = aggregation.time.as_micros();
    judge.fail_if(!(100..=5484).contains(&time), format!("{key}.aggregation.time"), || {
        "an A-MPDU lasts from 100us to 5484us".into()
    });
    judge.fail_if(radio.retry_limit == Some(0), format!("{key}.retry-limit"), || {
        "a frame is tried at least once; write 1 or more".into()
    });
    judge.fail_if(!(-100.0..=40.0).contains(&radio.preamble_sinr.0), format!("{key}.preamble-sinr"), || {
        "a threshold for preambles is from -100dB to 40dB".into()
    });
    let wait = radio.answer_timeout.map(|told| told.as_nanos());
    judge.fail_if(
        wait.is_some_and(|ns| !(16_001..=10_000_000).contains(&ns)),
        format!("{key}.answer-timeout"),
        || "an answer begins a SIFS after the frame; write more than 16us, and at most 10ms".into(),
    );
    judge.fail_if(radio.queue.packets == 0, format!("{key}.queue.packets"), || {
        "nothing could wait; write 1 or more".into()
    });
    judge.fail_if(radio.queue.total == 0, format!("{key}.queue.total"), || {
        "nothing could wait; write 1 or more".into()
    });
    let categories: Vec<&str> = AccessCategory::ALL.iter().map(|c| c.name()).collect();
    for (category, edca) in &radio.edca {
        let key = format!("{key}.edca.{category}");
        judge.known(&key, "priority", category, categories.iter().copied());
        for (window, below) in [(edca.cw_min, "cw-min"), (edca.cw_max, "cw-max")] {
            let wrong = window.is_some_and(|w| w > 32_767 || !(w + 1).is_power_of_two());
            judge.fail_if(wrong, format!("{key}.{below}"), || {
                "a contention window is one less than a power of two, such as 15 or 1023".into()
            });
        }
        let (least, most) = (edca.cw_min.unwrap_or(0), edca.cw_max.unwrap_or(u16::MAX));
        judge.fail_if(least > most, format!("{key}.cw-min"), || {
            "the least window is larger than the largest".into()
        });
        judge.fail_if(edca.aifsn.is_some_and(|n| !(1..=15).contains(&n)), format!("{key}.aifsn"), || {
            "AIFSN is from 1 to 15".into()
        });
    }
}

fn check_antenna(judge: &mut Judge, key: &str, radio: &Radio) {
    let antenna = &radio.antenna;
    judge.fail_if(!(1..=64).contains(&antenna.sectors), format!("{key}.antenna.sectors"), || {
        "an antenna has 1 to 64 sectors".into()
    });
    judge.fail_if(
        antenna.sectors > 1 && radio.standard != Standard::Ad,
        format!("{key}.antenna.sectors"),
        || format!("{} has no sectors to choose from; only 11ad has, so take it out", radio.standard.name()),
    );
    judge.fail_if(!(-360.0..=360.0).contains(&antenna.direction), format!("{key}.antenna.direction"), || {
        "a direction is from -360 to 360 degrees".into()
    });
}

fn check_interface(judge: &mut Judge, key: &str, node: &NodeSpec, interface: &Interface) {
    let Some(radio) = &interface.radio else {
        for (set, below) in [(interface.mode.is_some(), "mode"), (interface.ssid.is_some(), "ssid")] {
            judge.fail_if(set, format!("{key}.{below}"), || {
                "this only counts on a radio; name the interface's `radio`, or take this out".into()
            });
        }
        return;
    };
    if !judge.known(&format!("{key}.radio"), "radio", radio, node.radio.keys().map(String::as_str)) {
        return;
    }
    for (missing, below, example) in
        [(interface.mode.is_none(), "mode", "\"station\""), (interface.ssid.is_none(), "ssid", "\"home\"")]
    {
        judge.fail_if(missing, format!("{key}.{below}"), || {
            format!("an interface on a radio needs a `{below}`; give one such as {example}")
        });
    }
    judge.fail_if(
        interface.power_save && interface.mode != Some(Mode::Station),
        format!("{key}.power-save"),
        || "only stations save power".into(),
    );
    if let (Some(Mode::Station), Some(ssid)) = (interface.mode, &interface.ssid) {
        check_access_point(judge, key, ssid, &node.radio[radio]);
    }
}

/// A station needs an access point of its network that it can hear: the same channel, the same band.
fn check_access_point(judge: &mut Judge, key: &str, ssid: &str, radio: &Radio) {
    let points = access_points(judge.scenario);
    let names: BTreeSet<&str> = points.iter().map(|(ssid, _)| *ssid).collect();
    if !names.contains(ssid) {
        let remedy = remedy(ssid, names.iter().copied());
        return judge.fail(format!("{key}.ssid"), format!("no access point has the ssid `{ssid}`; {remedy}"));
    }
    let band = |r: &Radio| wifi::band(r.standard, r.channel);
    let mut there = points.iter().filter(|(name, _)| *name == ssid).map(|(_, r)| *r);
    let heard = there.clone().any(|ap| ap.channel == radio.channel && band(ap) == band(radio));
    if !heard && let Some(ap) = there.next() {
        let sentence = format!(
            "the access point of `{ssid}` is on channel {}, but this radio on {}; put both on one",
            ap.channel, radio.channel
        );
        judge.fail(format!("{key}.ssid"), sentence);
    }
}

fn access_points(scenario: &Scenario) -> Vec<(&str, &Radio)> {
    let of = |node: &'_ NodeSpec| -> Vec<(String, String)> {
        let aps = node.interface.values().filter(|i| i.mode == Some(Mode::Ap));
        aps.filter_map(|i| Some((i.ssid.clone()?, i.radio.clone()?))).collect()
    };
    let mut out = Vec::new();
    for node in scenario.node.values() {
        for (ssid, radio) in of(node) {
            let ssid = node.interface.values().filter_map(|i| i.ssid.as_deref()).find(|s| *s == ssid);
            if let (Some(ssid), Some(radio)) = (ssid, node.radio.get(&radio)) {
                out.push((ssid, radio));
            }
        }
    }
    out
}

fn check_medium(judge: &mut Judge) {
    let medium = &judge.scenario.medium;
    judge.fail_if(!(0.0..=10.0).contains(&medium.path_loss.exponent), "medium.path-loss.exponent", || {
        "an exponent is from 0 (the same loss everywhere) to 10; free space is 2".into()
    });
    for (key, negative) in [
        ("medium.path-loss.reference-loss", medium.path_loss.reference_loss.0 < 0.0),
        ("medium.shadowing", medium.shadowing.0 < 0.0),
    ] {
        judge.fail_if(negative, key, || "this cannot be negative".into());
    }
    judge.fail_if(
        medium.fading.model != FadingModel::None && medium.fading.coherence.is_zero(),
        "medium.fading.coherence",
        || "fading that changes all the time averages out; write a time above 0".into(),
    );
    check_dilation(judge);
    let matrix = medium.path_loss.model == PathLossModel::Matrix;
    judge.fail_if(
        matrix && medium.loss.is_empty() && !judge.names.radios.is_empty(),
        "medium.path-loss.model",
        || "nobody hears anybody: a matrix needs [[medium.loss]] entries".into(),
    );
    let mut seen = BTreeSet::new();
    for (i, pair) in medium.loss.iter().enumerate() {
        let key = format!("medium.loss.{i}.between");
        if judge.two_radios(&key, &pair.between) {
            let mut ends = pair.between.clone();
            ends.sort();
            judge.fail_if(!seen.insert(ends), key, || {
                "this pair has a loss already; take one of them out".into()
            });
        }
    }
}

fn check_blockage(judge: &mut Judge) {
    let (mut seen, mut changes) = (BTreeSet::new(), 0);
    for (i, pair) in judge.scenario.medium.blockage.iter().enumerate() {
        let key = format!("medium.blockage.{i}");
        if judge.two_radios(&format!("{key}.between"), &pair.between) {
            let mut ends = pair.between.clone();
            ends.sort();
            judge.fail_if(!seen.insert(ends), format!("{key}.between"), || {
                "this pair has somebody in the way already; take one of them out".into()
            });
        }
        for (time, below) in [(pair.clear, "clear"), (pair.blocked, "blocked")] {
            judge.fail_if(time < SHORTEST_SPELL, format!("{key}.{below}"), || {
                "nobody comes and goes that fast; write at least \"1ms\"".into()
            });
        }
        judge.fail_if(!(0.0..=100.0).contains(&pair.loss.0), format!("{key}.loss"), || {
            "a body takes 0 to 100 dB".into()
        });
        changes += 2 * judge.changes(pair.clear + pair.blocked);
        judge.refuse_many(changes, format!("{key}.clear"));
    }
}

impl Judge<'_> {
    /// Says what keeps a list from being two radios.
    pub(super) fn two_radios(&mut self, key: &str, ends: &[String]) -> bool {
        if ends.len() != 2 || ends[0] == ends[1] {
            self.fail(key, "this takes two different radios, such as [\"ap:r0\", \"sta:r0\"]");
            return false;
        }
        ends.iter().all(|end| self.radio(key, end))
    }

    /// Says that there is no such radio, unless there is.
    pub(super) fn radio(&mut self, key: &str, name: &str) -> bool {
        let radios = self.names.radios.clone();
        self.known(key, "radio", name, radios.iter().map(String::as_str))
    }
}

fn check_interferers(judge: &mut Judge) {
    for interferer in &judge.scenario.interferer {
        let key = format!("interferer.{}", interferer.name);
        let channel = interferer.channel;
        let known = wifi::CHANNELS_2_4.contains(&channel) || wifi::CHANNELS_5.contains(&channel);
        judge.fail_if(!known, format!("{key}.channel"), || {
            format!("there is no channel {channel}; write one of 2.4 GHz (1 to 13) or 5 GHz (36 to 177)")
        });
        judge.fail_if(![20, 40, 80].contains(&interferer.width), format!("{key}.width"), || {
            "a width is 20, 40 or 80 MHz".into()
        });
        judge.fail_if(interferer.on.is_zero(), format!("{key}.on"), || {
            "it never sends; write a time above 0, or take it out".into()
        });
        judge.fail_if(
            interferer.stop.is_some_and(|stop| stop <= interferer.start),
            format!("{key}.stop"),
            || "it stops before it starts".into(),
        );
    }
}

fn check_dilation(judge: &mut Judge) {
    let (scenario, key) = (judge.scenario, "medium.time-dilation");
    let factor = scenario.medium.time_dilation;
    judge.fail_if(!(1..=1000).contains(&factor), key, || "the air goes 1 to 1000 times slower".into());
    let is_timed = |node: &NodeSpec| node.roam.is_some() || node.cpu.is_some() || !node.walk.is_empty();
    let is_timed = scenario.node.values().any(is_timed)
        || !scenario.interferer.is_empty()
        || !scenario.medium.blockage.is_empty();
    judge.fail_if(factor > 1 && is_timed, key, || {
        "interferers, blockages, walks, processors and clients that roam go by real time; take them out, or this key"
            .into()
    });
}
