//! What of a scenario's traffic no kernel can do, said with the key and the remedy before anything is made.

use std::fs;

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Flow, FlowKind, MptcpScheduler, TcpControl};
use ropewalk_sim::BuildError;

/// What this machine's kernel can do.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Congestion controls, by its own names.
    pub controls: Vec<String>,
    /// It has MPTCP.
    pub mptcp: bool,
}

impl Kernel {
    /// The running one.
    fn present() -> Kernel {
        let controls = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        Kernel {
            controls: controls.unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
            mptcp: fs::exists("/proc/sys/net/mptcp/enabled").unwrap_or(false),
        }
    }
}

/// The kernel's name of a congestion control; none for those that it has not.
pub(crate) fn kernel_name(control: TcpControl) -> Option<&'static str> {
    match control {
        TcpControl::Cubic => Some("cubic"),
        TcpControl::NewReno => Some("reno"),
        TcpControl::HighSpeed => Some("highspeed"),
        // Upstream Linux couples no subflows (trap T-15).
        TcpControl::Lia | TcpControl::Olia | TcpControl::Balia => None,
    }
}

/// Everything that this machine's kernel cannot do as the scenario's flows ask, with the keys.
pub fn refusals(scenario: &Scenario) -> Vec<BuildError> {
    refused_by(&Kernel::present(), scenario)
}

pub(crate) fn refused_by(kernel: &Kernel, scenario: &Scenario) -> Vec<BuildError> {
    scenario.flow.iter().flat_map(|flow| of_flow(kernel, flow)).collect()
}

fn of_flow(kernel: &Kernel, flow: &Flow) -> Vec<BuildError> {
    let mut found = Vec::new();
    let mut refuse = |key: &str, sentence: String| {
        found.push(BuildError::new(format!("flow.{}.{key}", flow.name), sentence));
    };
    let stream =
        matches!(flow.kind, FlowKind::Tcp | FlowKind::Mptcp | FlowKind::Request | FlowKind::Adaptive);
    if stream {
        let control = flow.congestion.unwrap_or(TcpControl::Cubic);
        match kernel_name(control) {
            None => refuse(
                "congestion",
                format!(
                    "Linux has no coupled congestion control, so `{}` runs in the simulator alone; in the lab take \"cubic\" (--set flow.{}.congestion=cubic)",
                    control.name(),
                    flow.name
                ),
            ),
            Some(name) if !kernel.controls.iter().any(|c| c == name) => refuse(
                "congestion",
                format!(
                    "this kernel has no {name}, only {}; load it (modprobe tcp_{name}), or take another",
                    kernel.controls.join(", ")
                ),
            ),
            Some(_) => {}
        }
    }
    if flow.kind == FlowKind::Mptcp && !kernel.mptcp {
        refuse(
            "kind",
            "this kernel has no MPTCP; take one with CONFIG_MPTCP, or run it in the simulator".into(),
        );
    }
    if flow.scheduler == Some(MptcpScheduler::RoundRobin) {
        let sentence = "Linux has one MPTCP scheduler, akin to min-rtt; leave the key out in the lab";
        refuse("scheduler", sentence.into());
    }
    found
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
        let kernel = Kernel { controls: vec!["reno".into(), "cubic".into()], mptcp: true };
        refused_by(&kernel, &scenario).iter().map(ToString::to_string).collect()
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
        assert!(coupled[0].starts_with("flow.f.congestion: Linux has no coupled"), "{coupled:?}");
        let fast = refused("kind = \"tcp\"\ncongestion = \"highspeed\"");
        assert!(fast[0].contains("modprobe tcp_highspeed"), "{fast:?}");
        let robin = refused("kind = \"mptcp\"\nscheduler = \"round-robin\"");
        assert!(robin[0].starts_with("flow.f.scheduler"), "{robin:?}");
    }
}
