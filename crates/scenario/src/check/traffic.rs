//! Flows and events: who takes part, and which keys mean anything for which kind.

use super::{Judge, transport};
use crate::file::{AccessCategory, Event, Flow, FlowKind, MediumModel, Standard, TcpControl, What};
use crate::units::BitRate;
use std::time::Duration;

/// The simulator draws one after the other: so many come between two packets at most.
const SPELLS: u32 = 10_000;
/// Length of an IP packet that is not told, bytes.
const FULL_PACKET: u64 = 1500;

pub(super) fn check(judge: &mut Judge) {
    for flow in &judge.scenario.flow {
        check_ends(judge, flow);
        check_keys(judge, flow);
        check_values(judge, flow);
        check_category(judge, flow);
        check_steering(judge, flow);
        check_spells(judge, flow);
        check_segments(judge, flow);
    }
    for (i, event) in judge.scenario.event.iter().enumerate() {
        check_event(judge, &format!("event.{i}"), event);
    }
}

fn check_ends(judge: &mut Judge, flow: &Flow) {
    let node = |end: &str| end.split(':').next().unwrap_or_default().to_owned();
    for (below, end) in [("from", &flow.from), ("to", &flow.to)] {
        let key = format!("flow.{}.{below}", flow.name);
        let nodes = judge.names.nodes.clone();
        if judge.known(&key, "node", &node(end), nodes) && end.contains(':') {
            let mut all = judge.names.interfaces.clone();
            let bonds = judge.scenario.bond.iter();
            all.extend(
                bonds.flat_map(|(name, b)| [format!("{}:{name}", b.client), format!("{}:{name}", b.gateway)]),
            );
            judge.known(&key, "interface", end, all.iter().map(String::as_str));
        }
    }
    judge.fail_if(node(&flow.from) == node(&flow.to), format!("flow.{}.to", flow.name), || {
        "a flow goes from one machine to another; name two".into()
    });
    for path in &flow.paths {
        let all = judge.names.interfaces.clone();
        let key = format!("flow.{}.paths", flow.name);
        let ends = [node(&flow.from), node(&flow.to)];
        if judge.known(&key, "interface", path, all.iter().map(String::as_str)) {
            judge.fail_if(!ends.contains(&node(path)), key, || {
                format!("`{path}` is on neither of the flow's machines")
            });
        }
    }
}

/// The keys that mean something, by kind.
fn honoured(kind: FlowKind) -> &'static [&'static str] {
    match kind {
        FlowKind::Tcp => &[
            "bytes",
            "rate",
            "streams",
            "congestion",
            "receive-buffer",
            "send-buffer",
            "mss",
            "ecn",
            "slow-start",
            "ack-hold",
        ],
        FlowKind::Mptcp => &[
            "bytes",
            "congestion",
            "receive-buffer",
            "send-buffer",
            "mss",
            "ecn",
            "slow-start",
            "ack-hold",
            "paths",
            "scheduler",
            "steering",
        ],
        FlowKind::Udp => &["bytes", "rate", "spells", "packet", "deadline"],
        FlowKind::Ping => &["packet", "interval"],
        FlowKind::Request => &[
            "bytes",
            "interval",
            "congestion",
            "receive-buffer",
            "send-buffer",
            "mss",
            "ecn",
            "slow-start",
            "ack-hold",
        ],
        FlowKind::Video => &["rate", "packet"],
        FlowKind::Adaptive => &[
            "congestion",
            "receive-buffer",
            "send-buffer",
            "mss",
            "ecn",
            "slow-start",
            "ack-hold",
            "paths",
            "scheduler",
            "segments",
        ],
    }
}

fn check_keys(judge: &mut Judge, flow: &Flow) {
    let set = [
        ("bytes", flow.bytes.is_some()),
        ("rate", flow.rate.is_some()),
        ("deadline", flow.deadline.is_some()),
        ("spells", flow.spells.is_some()),
        ("packet", flow.packet.is_some()),
        ("interval", flow.interval.is_some()),
        ("streams", flow.streams.is_some()),
        ("congestion", flow.congestion.is_some()),
        ("receive-buffer", flow.receive_buffer.is_some()),
        ("send-buffer", flow.send_buffer.is_some()),
        ("mss", flow.mss.is_some()),
        ("ecn", flow.ecn.is_some()),
        ("slow-start", flow.slow_start.is_some()),
        ("ack-hold", flow.ack_hold.is_some()),
        ("paths", !flow.paths.is_empty()),
        ("scheduler", flow.scheduler.is_some()),
        ("steering", flow.steering.is_some()),
        ("segments", flow.segments.is_some()),
    ];
    let honoured = honoured(flow.kind);
    for (key, _) in set.into_iter().filter(|(key, set)| *set && !honoured.contains(key)) {
        let sentence =
            format!("this means nothing for {}, which takes {}", flow.kind.name(), honoured.join(", "));
        judge.fail(format!("flow.{}.{key}", flow.name), sentence);
    }
}

/// 11a, 11b and 11g know no priorities (DCF). A bond looks at the category too.
fn check_category(judge: &mut Judge, flow: &Flow) {
    let scenario = judge.scenario;
    if flow.category == AccessCategory::BestEffort || !scenario.bond.is_empty() {
        return;
    }
    let node = |end: &str| end.split(':').next().unwrap_or_default().to_owned();
    let radios = [node(&flow.from), node(&flow.to)].into_iter().filter_map(|n| scenario.node.get(&n));
    let legacy = radios
        .flat_map(|n| n.radio.values())
        .find(|r| matches!(r.standard, Standard::A | Standard::B | Standard::G) && r.edca.is_empty());
    if let Some(radio) = legacy {
        let standard = radio.standard.name();
        let sentence = format!(
            "{standard} has one priority for everything; take this out, say what it means by the radio's `edca`, or choose 11n"
        );
        judge.fail(format!("flow.{}.category", flow.name), sentence);
    }
}

fn check_steering(judge: &mut Judge, flow: &Flow) {
    let Some(steering) = &flow.steering else { return };
    let key = |below: &str| format!("flow.{}.steering{below}", flow.name);
    judge.fail_if(steering.marks.is_none() && !steering.priority && !steering.fade, key(""), || {
        "this steers by nothing; say `marks`, `priority = true`, `fade = true` or several".into()
    });
    judge.fail_if(steering.marks.is_some() && flow.ecn != Some(true), key(".marks"), || {
        "only packets whose sender answers marks may get one; say `ecn = true` for the flow".into()
    });
    let receiver = flow.to.split(':').next().unwrap_or(&flow.to);
    let measures = judge.scenario.node.get(receiver).is_some_and(|n| n.roam.is_some());
    let given = judge.scenario.medium.model == MediumModel::WeightedFair;
    judge.fail_if(steering.fade && given, key(".fade"), || {
        "nobody hears beacons on the weighted-fair medium; take this out".into()
    });
    judge.fail_if(!given && !measures, key(""), || {
        format!(
            "on 802.11 the receiver has to measure packet times; write `node.{receiver}.roam = {{}}`, or set `medium.model = \"weighted-fair\"`"
        )
    });
}

fn check_spells(judge: &mut Judge, flow: &Flow) {
    let Some(spells) = &flow.spells else { return };
    let key = |below: &str| format!("flow.{}.spells{below}", flow.name);
    judge.fail_if(flow.rate.is_none(), key(""), || {
        "spells need a rate; give the flow `rate`, or take this out".into()
    });
    judge.fail_if(spells.on.is_zero(), key(".on"), || {
        "a spell of sending has a length above 0; write more, or take `spells` out".into()
    });
    let least = gap(flow).map(|gap| gap / SPELLS).unwrap_or_default();
    judge.fail_if(spells.on.saturating_add(spells.off) < least, key(".on"), || {
        format!("`on` and `off` together are {least:?} at least, a {SPELLS}th of the time between packets")
    });
}

fn check_segments(judge: &mut Judge, flow: &Flow) {
    let Some(segments) = &flow.segments else { return };
    let key = |below: &str| format!("flow.{}.segments.{below}", flow.name);
    judge.fail_if(segments.qualities.windows(2).any(|w| w[1] <= w[0]), key("qualities"), || {
        "write qualities from the lowest up".into()
    });
    judge.fail_if(segments.length.is_some_and(|s| s.is_zero()), key("length"), || {
        "a segment has a length above 0".into()
    });
}

/// The time between the packets of a sender of UDP that has a rate.
fn gap(flow: &Flow) -> Option<Duration> {
    let rate = flow.rate.filter(|rate| flow.kind == FlowKind::Udp && rate.bps > 0)?;
    let bytes = flow.packet.map_or(FULL_PACKET, |packet| packet.0);
    let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate.bps);
    Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
}

fn check_values(judge: &mut Judge, flow: &Flow) {
    let key = |below: &str| format!("flow.{}.{below}", flow.name);
    let duration = judge.scenario.duration;
    judge.fail_if(flow.start >= duration, key("start"), || "it starts after the run has ended".into());
    judge.fail_if(flow.stop.is_some_and(|stop| stop <= flow.start), key("stop"), || {
        "it stops before it starts".into()
    });
    judge.fail_if(gap(flow).is_some_and(|gap| gap.is_zero()), key("rate"), || {
        "packets would come closer than a nanosecond; write less, or make them longer".into()
    });
    judge.fail_if(flow.bytes.is_some_and(|b| b.0 == 0), key("bytes"), || {
        "0 bytes are no flow; write more, or take this out".into()
    });
    judge.fail_if(flow.kind == FlowKind::Request && flow.bytes.is_none(), key("bytes"), || {
        "how long is a response? give `bytes`, such as \"100kB\"".into()
    });
    judge.fail_if(flow.rate == Some(BitRate { bps: 0 }), key("rate"), || {
        "a rate of 0 sends nothing; write more".into()
    });
    judge.fail_if(flow.kind == FlowKind::Video && flow.rate.is_none(), key("rate"), || {
        "how fast is the video in the mean? give `rate`, such as \"20Mbit/s\"".into()
    });
    judge.fail_if(flow.packet.is_some_and(|p| !(29..=2304).contains(&p.0)), key("packet"), || {
        "an IP packet of a flow is from 29B to 2304B long, a frame's limit".into()
    });
    judge.fail_if(flow.streams.is_some_and(|n| !(1..=256).contains(&n)), key("streams"), || {
        "1 to 256 connections can run at once".into()
    });
    judge.fail_if(flow.mss.is_some_and(|m| !(88..=8960).contains(&m)), key("mss"), || {
        "a segment carries from 88 to 8960 bytes".into()
    });
    transport::check_buffer(judge, key("receive-buffer"), flow.receive_buffer);
    transport::check_buffer(judge, key("send-buffer"), flow.send_buffer);
    let coupled = matches!(flow.congestion, Some(TcpControl::Lia | TcpControl::Olia | TcpControl::Balia));
    let multipath = flow.kind == FlowKind::Mptcp || flow.kind == FlowKind::Adaptive && !flow.paths.is_empty();
    judge.fail_if(coupled && !multipath, key("congestion"), || {
        "this couples subflows of MPTCP; take cubic, newreno, highspeed or tidal".into()
    });
    if let Some(hold) = &flow.ack_hold {
        judge.fail_if(hold.segments < 2, key("ack-hold.segments"), || {
            "every second segment is acknowledged anyway; write 2 or more".into()
        });
        judge.fail_if(hold.held.is_zero(), key("ack-hold.held"), || {
            "a held spell has a length above 0".into()
        });
    }
    judge.fail_if(
        flow.kind == FlowKind::Ping && flow.interval.is_some_and(|i| i.is_zero()),
        key("interval"),
        || "echo requests without a pause are a flood; write a time above 0".into(),
    );
}

/// The keys that an event needs, and those that it takes besides.
fn event_keys(what: What) -> (&'static [&'static str], &'static [&'static str]) {
    match what {
        What::LinkDown | What::LinkUp => (&["link"], &[]),
        What::LinkSet => (&["link"], &["rate", "delay", "packet-loss"]),
        What::Move => (&["node", "position"], &[]),
        What::TxPower => (&["radio", "power"], &[]),
        What::PathLoss => (&["between", "loss"], &[]),
        What::SwitchChannel => (&["interface", "channel"], &["countdown"]),
        What::Tune => (&["radio", "channel"], &[]),
        What::RadioDown | What::RadioUp => (&["radio"], &[]),
        What::Associate | What::Disassociate | What::PowerSaveOn | What::PowerSaveOff => {
            (&["interface"], &[])
        }
        What::Blockage => (&["between", "loss"], &["duration"]),
        What::ApDown | What::ApUp => (&["node"], &[]),
    }
}

fn check_event(judge: &mut Judge, key: &str, event: &Event) {
    judge.fail_if(event.at >= judge.scenario.duration, format!("{key}.at"), || {
        "this is after the run has ended".into()
    });
    let set = [
        ("link", event.link.is_some()),
        ("node", event.node.is_some()),
        ("radio", event.radio.is_some()),
        ("interface", event.interface.is_some()),
        ("between", !event.between.is_empty()),
        ("position", event.position.is_some()),
        ("power", event.power.is_some()),
        ("loss", event.loss.is_some()),
        ("duration", event.duration.is_some()),
        ("channel", event.channel.is_some()),
        ("countdown", event.countdown.is_some()),
        ("rate", event.rate.is_some()),
        ("delay", event.delay.is_some()),
        ("packet-loss", event.packet_loss.is_some()),
    ];
    let (needed, besides) = event_keys(event.what);
    for (below, set) in set {
        let (needs, takes) = (needed.contains(&below), besides.contains(&below));
        judge.fail_if(needs && !set, format!("{key}.{below}"), || {
            format!("{} needs `{below}`", event.what.name())
        });
        judge.fail_if(set && !needs && !takes, format!("{key}.{below}"), || {
            format!(
                "this means nothing for {}, which takes {}",
                event.what.name(),
                [needed, besides].concat().join(", ")
            )
        });
    }
    judge.fail_if(event.rate == Some(BitRate { bps: 0 }), format!("{key}.rate"), || {
        "a rate of 0 carries nothing; write more, or what = \"link-down\"".into()
    });
    let changes = set.iter().any(|(below, set)| *set && besides.contains(below));
    judge.fail_if(event.what == What::LinkSet && !changes, key, || {
        "nothing is set; give rate, delay or packet-loss".into()
    });
    event_names(judge, key, event);
}

fn event_names(judge: &mut Judge, key: &str, event: &Event) {
    if let Some(link) = &event.link {
        let all = judge.names.links.clone();
        judge.known(&format!("{key}.link"), "link", link, all.iter().map(String::as_str));
    }
    if let Some(node) = &event.node {
        let all = judge.names.nodes.clone();
        judge.known(&format!("{key}.node"), "node", node, all);
        let access_point = matches!(event.what, What::ApDown | What::ApUp);
        let of_bunch = judge.scenario.bunch.values().any(|b| b.home == *node || b.neighbours.contains(node));
        judge.fail_if(access_point && !of_bunch, format!("{key}.node"), || {
            format!("`{node}` is no access point of a bunch; name a `home` or one of `neighbours`")
        });
    }
    if let Some(radio) = &event.radio {
        judge.radio(&format!("{key}.radio"), radio);
    }
    if let Some(interface) = &event.interface {
        let all = judge.names.interfaces.clone();
        judge.known(&format!("{key}.interface"), "interface", interface, all.iter().map(String::as_str));
    }
    if !event.between.is_empty() {
        judge.two_radios(&format!("{key}.between"), &event.between);
    }
    judge.fail_if(event.countdown == Some(0), format!("{key}.countdown"), || {
        "at least one beacon announces a switch".into()
    });
}
