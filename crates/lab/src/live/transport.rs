//! How the TCP and MPTCP of nodes are set, for every program inside.
//!
//! A namespace may take for its default only a congestion control that the machine's `net.ipv4.tcp_allowed_congestion_control` has, and that list
//! is not the lab's to change. Routes may name any (`congctl`, RTAX_CC_ALGO), for connections that are opened and those that are
//! taken alike: so where the list lacks it, each route of the node does.

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Discipline, Ecn, Link, NodeSpec, NodeTcp, TcpControl};
use ropewalk_sim::BuildError;

use super::kernel::{Kernel, kernel_name};
use super::plan::Port;

/// `tcp_rmem` and `tcp_wmem` as Linux has them, so that windows are what they would be elsewhere.
const LINUX: [(&str, &str); 2] =
    [("net.ipv4.tcp_rmem", "4096 131072 6291456"), ("net.ipv4.tcp_wmem", "4096 16384 4194304")];

/// What of the nodes' settings this machine's kernel cannot do, with the keys.
pub(super) fn refusals(scenario: &Scenario) -> Vec<BuildError> {
    refused_by(&Kernel::present(), scenario)
}

fn refused_by(kernel: &Kernel, scenario: &Scenario) -> Vec<BuildError> {
    let of = |(name, node): (&String, &NodeSpec)| {
        let control = kernel.refuses(node.tcp.congestion?)?;
        Some(BuildError::new(format!("node.{name}.tcp.congestion"), control))
    };
    let mut found: Vec<_> = scenario.node.iter().filter_map(of).collect();
    let several = |(name, node): (&String, &NodeSpec)| {
        let sentence = "this kernel has no MPTCP; take one with CONFIG_MPTCP, or run it in the simulator";
        (!node.mptcp.endpoints.is_empty() && !kernel.mptcp)
            .then(|| BuildError::new(format!("node.{name}.mptcp.endpoints"), sentence))
    };
    found.extend(scenario.node.iter().filter_map(several));
    let proxies = scenario.node.iter().filter(|(_, node)| node.pep.policy.is_some());
    found.extend(proxies.map(|(name, _)| {
        let sentence = "the simulator alone has proxies in nodes; in the lab start `ropewalk pep` with `ropewalk lab exec`";
        BuildError::new(format!("node.{name}.pep.policy"), sentence)
    }));
    let slow = scenario.node.iter().filter(|(_, node)| node.cpu.is_some());
    found.extend(slow.map(|(name, _)| {
        let sentence = "in the lab packets take what this machine's processor takes; take this out, or run it in the simulator";
        BuildError::new(format!("node.{name}.cpu"), sentence)
    }));
    let queues = |link: &Link| {
        let own = [&link.forward, &link.back].map(|direction| direction.queue.as_ref());
        own.into_iter().flatten().chain([&link.queue]).any(|q| q.kind == Discipline::Classes)
    };
    found.extend(scenario.link.iter().filter(|link| queues(link)).map(|link| {
        let sentence =
            "the simulator alone has queues with classes; in the lab start `ropewalk bunch ap --uplink-rate`";
        BuildError::new(format!("link.{}.queue.kind", link.label()), sentence)
    }));
    found
}

/// The settings of one node.
#[derive(Debug, Clone, Default)]
pub(super) struct Transport {
    /// The congestion control that is the namespace's default or its routes'; none: the kernel has not the one that is wanted.
    control: Option<&'static str>,
    by_route: bool,
    tcp: Option<NodeTcp>,
}

impl Transport {
    /// Of a node of this name.
    pub(super) fn new(scenario: &Scenario, node: &str, kernel: &Kernel) -> Transport {
        let tcp = scenario.node.get(node).map(|n| n.tcp.clone());
        let wanted = tcp.as_ref().and_then(|t| t.congestion).unwrap_or(TcpControl::Cubic);
        let control = kernel_name(wanted).filter(|name| kernel.has(name));
        let by_route = control.is_some_and(|name| !kernel.allowed.iter().any(|a| a == name));
        Transport { control, by_route, tcp }
    }

    /// What each route of the node ends in, with a space before it; empty where the namespace's default does.
    pub(super) fn of_routes(&self) -> String {
        self.control.filter(|_| self.by_route).map_or(String::new(), |name| format!(" congctl {name}"))
    }

    /// Sysctls of the node.
    pub(super) fn sysctls(&self) -> Vec<(String, String)> {
        let set = |key: &str, value: String| (key.to_owned(), value);
        let mut all: Vec<_> = LINUX.map(|(key, value)| set(key, value.to_owned())).into();
        all.extend(
            self.control
                .filter(|_| !self.by_route)
                .map(|c| set("net.ipv4.tcp_congestion_control", c.to_owned())),
        );
        let Some(tcp) = &self.tcp else { return all };
        all.push(set("net.ipv4.tcp_ecn", ecn(tcp.ecn).to_owned()));
        // A buffer that does not grow has its first size and its last alike.
        if let Some(bytes) = tcp.receive_buffer {
            let room = receive_room(bytes.0);
            all.push(set("net.ipv4.tcp_rmem", format!("4096 {room} {room}")));
        }
        if let Some(bytes) = tcp.send_buffer {
            // SO_SNDBUF is doubled for what goes with the bytes; the sysctl is not.
            let room = 2 * bytes.0;
            all.push(set("net.ipv4.tcp_wmem", format!("4096 {room} {room}")));
        }
        all
    }
}

/// Memory that makes a window of so many bytes (trap T-19).
fn receive_room(window: u64) -> u64 {
    window * 5 / 3
}

/// The value of `tcp_ecn`.
pub(super) fn ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::Off => "0",
        Ecn::Ask => "1",
        Ecn::Answer => "2",
    }
}

/// `ip` commands that set a node's MPTCP: limits, and the endpoints that its programs' connections take subflows from.
pub(super) fn mptcp(scenario: &Scenario, node: &str, addressed: &[&Port], kernel: &Kernel) -> Vec<String> {
    let Some(spec) = scenario.node.get(node).filter(|_| kernel.mptcp) else { return Vec::new() };
    let mut all = vec![limits(scenario, node)];
    let endpoints = &spec.mptcp.endpoints;
    let mine = addressed.iter().filter(|p| endpoints.is_empty() || endpoints.contains(&p.short));
    // Of a node with one address nothing is to be told, and Linux has eight places.
    if addressed.len() > 1 {
        let few =
            mine.filter_map(|p| Some((p, p.address?.0))).take(ropewalk_scenario::file::MPTCP_PLACES.into());
        all.extend(few.map(|(p, address)| format!("mptcp endpoint add {address} dev {} subflow", p.short)));
    }
    all
}

/// The command that sets the limits of a node's connections.
pub(super) fn limits(scenario: &Scenario, node: &str) -> String {
    use ropewalk_scenario::file::MPTCP_PLACES;
    let of = scenario.node.get(node).map(|n| (n.mptcp.subflows, n.mptcp.add_addr_accepted));
    let (subflows, accepted) = of.unwrap_or((MPTCP_PLACES, MPTCP_PLACES));
    format!("mptcp limits set subflows {subflows} add_addr_accepted {accepted}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;

    fn scenario(node: &str) -> Scenario {
        let text = format!(
            "duration = \"1s\"\n[node.a]\n{node}\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\n[[link]]\nends = [\"a:y\", \"b:y\"]\n"
        );
        Document::parse("test", &text).unwrap().scenario().unwrap_or_else(|e| panic!("{e}"))
    }

    fn kernel(allowed: &[&str]) -> Kernel {
        let words = |all: &[&str]| all.iter().map(|w| (*w).to_owned()).collect();
        Kernel { controls: words(&["reno", "bbr", "cubic"]), allowed: words(allowed), mptcp: true }
    }

    #[test]
    fn what_a_namespace_may_not_have_its_routes_do() {
        let scenario = scenario("");
        let restricted = Transport::new(&scenario, "a", &kernel(&["reno", "bbr"]));
        assert_eq!(restricted.of_routes(), " congctl cubic");
        let free = Transport::new(&scenario, "a", &kernel(&["reno", "cubic"]));
        assert_eq!(free.of_routes(), "");
        let set = |t: &Transport| {
            t.sysctls().iter().any(|(k, v)| k.ends_with("congestion_control") && v == "cubic")
        };
        assert!(set(&free) && !set(&restricted));
    }

    #[test]
    fn keys_become_sysctls_and_limits() {
        let scenario = scenario(
            "tcp = { ecn = \"ask\", receive-buffer = \"16kB\", send-buffer = \"32kB\" }\nmptcp = { subflows = 1 }",
        );
        let sysctls = Transport::new(&scenario, "a", &kernel(&[])).sysctls();
        // The last of a key is the one that holds.
        let value = |key: &str| sysctls.iter().rev().find(|(k, _)| k.ends_with(key)).map(|(_, v)| v.as_str());
        assert_eq!(value("tcp_ecn"), Some("1"));
        assert_eq!(value("tcp_rmem"), Some("4096 26666 26666"));
        assert_eq!(value("tcp_wmem"), Some("4096 64000 64000"));
        assert_eq!(limits(&scenario, "a"), "mptcp limits set subflows 1 add_addr_accepted 8");
    }

    #[test]
    fn what_the_kernel_has_not_is_refused_with_its_key() {
        let scenario = scenario(
            "tcp = { congestion = \"highspeed\" }\nmptcp = { endpoints = [\"x\"] }\nforward = true\npep = { policy = \"snoop\" }\ncpu = { per-packet = \"20us\" }",
        );
        let kernel = Kernel { mptcp: false, ..kernel(&[]) };
        let said: Vec<String> = refused_by(&kernel, &scenario).iter().map(ToString::to_string).collect();
        assert!(said[0].starts_with("node.a.tcp.congestion: this kernel has no highspeed"), "{said:?}");
        assert!(said[1].starts_with("node.a.mptcp.endpoints: this kernel has no MPTCP"), "{said:?}");
        assert!(said[2].starts_with("node.a.pep.policy: the simulator alone"), "{said:?}");
        assert!(said[3].starts_with("node.a.cpu: in the lab packets take"), "{said:?}");
    }
}
