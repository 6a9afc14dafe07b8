//! What of a scenario's traffic no kernel can do, said with the key and the remedy before anything is made.

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Ecn, Flow, FlowKind, MediumModel, MptcpScheduler};
use ropewalk_sim::BuildError;

use crate::live::kernel::Kernel;

/// Everything that this machine's kernel cannot do as the scenario's flows ask, with the keys.
pub fn refusals(scenario: &Scenario) -> Vec<BuildError> {
    refused_by(&Kernel::present(), scenario)
}

pub(crate) fn refused_by(kernel: &Kernel, scenario: &Scenario) -> Vec<BuildError> {
    scenario.flow.iter().flat_map(|flow| of_flow(kernel, scenario, flow)).collect()
}

fn of_flow(kernel: &Kernel, scenario: &Scenario, flow: &Flow) -> Vec<BuildError> {
    let mut found = Vec::new();
    let mut refuse = |key: &str, sentence: String| {
        found.push(BuildError::new(format!("flow.{}.{key}", flow.name), sentence));
    };
    let stream =
        matches!(flow.kind, FlowKind::Tcp | FlowKind::Mptcp | FlowKind::Request | FlowKind::Adaptive);
    if stream {
        let node = flow.from.split(':').next().unwrap_or(&flow.from);
        let of_node = scenario.node.get(node).is_some_and(|n| n.tcp.congestion.is_some());
        // What a machine asks for is told of the machine.
        let control = scenario.transport(flow).congestion;
        if let Some(sentence) = kernel.refuses(control).filter(|_| flow.congestion.is_some() || !of_node) {
            refuse("congestion", format!("{sentence} (--set flow.{}.congestion=…)", flow.name));
        }
    }
    if flow.kind == FlowKind::Adaptive && !flow.paths.is_empty() {
        let sentence =
            "the lab streams over one TCP connection; take `paths` out, or run it in the simulator";
        refuse("paths", sentence.into());
    }
    if flow.kind == FlowKind::Mptcp && !kernel.mptcp {
        refuse(
            "kind",
            "this kernel has no MPTCP; take one with CONFIG_MPTCP, or run it in the simulator".into(),
        );
    }
    if flow.slow_start.is_some() {
        refuse(
            "slow-start",
            "a kernel's controller ends slow start by its own rule; take the key out".into(),
        );
    }
    if flow.spells.is_some() {
        refuse(
            "spells",
            "the lab's senders have no spells; take the table out, or run it in the simulator".into(),
        );
    }
    if flow.ack_hold.is_some() {
        refuse("ack-hold", "a kernel acknowledges by its own rule; take the table out".into());
    }
    if let Some((key, sentence)) = steering(scenario, flow) {
        refuse(key, sentence);
    }
    if matches!(
        flow.scheduler,
        Some(MptcpScheduler::RoundRobin | MptcpScheduler::Blest | MptcpScheduler::Ecf)
    ) {
        let sentence = "Linux has one MPTCP scheduler; say linux, or leave the key out";
        refuse("scheduler", sentence.into());
    }
    found
}

/// What of a flow's steering no receiver of the lab can do, with the key below the flow's.
fn steering(scenario: &Scenario, flow: &Flow) -> Option<(&'static str, String)> {
    let steering = flow.steering.as_ref()?;
    if scenario.medium.model != MediumModel::WeightedFair {
        let sentence =
            "the lab's stations do not measure packet times; set `medium.model = \"weighted-fair\"`";
        return Some(("steering", sentence.into()));
    }
    let node = |end: &str| end.split(':').next().unwrap_or(end).to_owned();
    let receiver = node(&flow.to);
    let ends_here = |other: &&Flow| [&other.from, &other.to].into_iter().any(|end| node(end) == receiver);
    if scenario.flow.iter().filter(|f| f.kind == FlowKind::Mptcp).filter(ends_here).count() > 1 {
        let sentence = format!(
            "a kernel's path manager has one priority for all connections; give {receiver} one flow of MPTCP"
        );
        return Some(("steering", sentence));
    }
    // The kernel opens further subflows by itself, and asks for ECN as its node says.
    (steering.marks.is_some() && scenario.ecn_of(&receiver) != Ecn::Ask).then(|| {
        let sentence =
            format!("subflows ask for ECN as their node does; write `node.{receiver}.tcp.ecn = \"ask\"`");
        ("steering.marks", sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;

    fn refused(flow: &str) -> Vec<String> {
        let text = format!(
            "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:y\"]\nrate = \"1Mbit/s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        let scenario = Document::parse("test", &text).unwrap().scenario().unwrap();
        let kernel =
            Kernel { controls: vec!["reno".into(), "cubic".into()], mptcp: true, ..Kernel::default() };
        refused_by(&kernel, &scenario).iter().map(ToString::to_string).collect()
    }

    /// A client on two access points of one channel.
    const STEERED: &str = r#"
        duration = "1s"
        medium.model = "weighted-fair"
        [node.ap1]
        radio.r = { standard = "11g", channel = 1, packet-time = "3ms" }
        interface.wlan0 = { radio = "r", mode = "ap", ssid = "one" }
        [node.ap2]
        radio.r = { standard = "11g", channel = 1, packet-time = "500us" }
        interface.wlan0 = { radio = "r", mode = "ap", ssid = "two" }
        [node.sta]
        radio.r = { standard = "11g", channel = 1 }
        interface.wlan1 = { radio = "r", mode = "station", ssid = "one" }
        interface.wlan2 = { radio = "r", mode = "station", ssid = "two" }
        tcp.ecn = "ask"
        [[flow]]
        name = "f"
        kind = "mptcp"
        from = "ap1"
        to = "sta"
        ecn = true
        steering = { marks = "corrected", priority = true }
    "#;

    fn keys(text: &str) -> Vec<String> {
        let scenario = Document::parse("test", text).unwrap().scenario().unwrap_or_else(|e| panic!("{e}"));
        let kernel = Kernel { controls: vec!["cubic".into()], mptcp: true, ..Kernel::default() };
        refused_by(&kernel, &scenario).into_iter().map(|e| e.key).collect()
    }

    #[test]
    fn a_receiver_steers_where_its_kernel_can() {
        assert_eq!(keys(STEERED), [""; 0]);
        assert_eq!(keys(&STEERED.replace("tcp.ecn = \"ask\"", "")), ["flow.f.steering.marks"]);
        let priority = STEERED.replace("marks = \"corrected\", ", "");
        assert_eq!(keys(&priority.replace("tcp.ecn = \"ask\"", "")), [""; 0]);
        let other = "[[flow]]\nname = \"g\"\nkind = \"mptcp\"\nfrom = \"sta\"\nto = \"ap1\"\n";
        assert_eq!(keys(&format!("{STEERED}{other}")), ["flow.f.steering"]);
    }

    #[test]
    fn what_the_kernel_has_not_is_refused_with_key_and_remedy() {
        for kind in ["tcp", "mptcp", "udp", "ping", "request", "adaptive"] {
            let more = match kind {
                "udp" => "rate = \"1Mbit/s\"",
                "request" => "bytes = \"1kB\"",
                _ => "",
            };
            assert_eq!(refused(&format!("kind = \"{kind}\"\n{more}")), [""; 0], "{kind}");
        }
        let coupled = refused("kind = \"mptcp\"\ncongestion = \"olia\"");
        assert!(coupled[0].starts_with("flow.f.congestion: this kernel has no rw_olia"), "{coupled:?}");
        assert!(coupled[0].contains("ropewalk mptcp cc load olia"), "{coupled:?}");
        let fast = refused("kind = \"tcp\"\ncongestion = \"highspeed\"");
        assert!(fast[0].contains("modprobe tcp_highspeed"), "{fast:?}");
        let robin = refused("kind = \"mptcp\"\nscheduler = \"round-robin\"");
        assert!(robin[0].starts_with("flow.f.scheduler"), "{robin:?}");
        let spells = refused("kind = \"udp\"\nrate = \"1Mbit/s\"\nspells = { on = \"1s\", off = \"1s\" }");
        assert!(spells.len() == 1 && spells[0].starts_with("flow.f.spells"), "{spells:?}");
        for (key, line) in [
            ("scheduler", "scheduler = \"blest\""),
            ("congestion", "congestion = \"tidal\""),
            ("slow-start", "slow-start = \"hystart\""),
            ("ack-hold", "ack-hold = { clear = \"1s\", held = \"1s\", segments = 9 }"),
        ] {
            let found = refused(&format!("kind = \"mptcp\"\n{line}"));
            assert!(found.len() == 1 && found[0].starts_with(&format!("flow.f.{key}")), "{found:?}");
        }
    }
}
