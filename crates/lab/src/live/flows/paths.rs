//! MPTCP: which addresses get a subflow, and what each carried.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::Flow;
use ropewalk_scenario::report::SubflowRow;

use super::Running;
use super::record::SubflowCounts;
use crate::live::transport::limits;
use crate::{Namespace, Result};

/// An interface, as `node:interface`, with its address.
pub(crate) type Home = (String, Ipv4Addr);

/// The interfaces of a node that subflows may use: its endpoints.
fn interfaces(scenario: &Scenario, node: &str) -> Vec<Home> {
    let every = every_interface(scenario, node);
    let endpoints = scenario.node.get(node).map_or(&[][..], |n| &n.mptcp.endpoints);
    let is_one =
        |(name, _): &Home| name.split_once(':').is_some_and(|(_, i)| endpoints.iter().any(|e| e == i));
    if endpoints.is_empty() { every } else { every.into_iter().filter(is_one).collect() }
}

/// The interfaces of a node that have an address.
fn every_interface(scenario: &Scenario, node: &str) -> Vec<Home> {
    let Some(spec) = scenario.node.get(node) else { return Vec::new() };
    let own = spec.interface.iter().filter_map(|(name, i)| Some((name, i.address?)));
    let bridges = spec.bridge.iter().filter_map(|(name, b)| Some((name, b.address?)));
    own.chain(bridges).map(|(name, net)| (format!("{node}:{name}"), net.addr())).collect()
}

/// The interfaces that tell the subflows of a flow apart: those of its `paths`, or all of the machine that has more of them. All are of one
/// machine, `from` or `to`.
pub(crate) fn homes(scenario: &Scenario, flow: &Flow) -> (bool, Vec<Home>) {
    let node = |end: &str| end.split(':').next().unwrap_or(end).to_owned();
    let homes = |end: &String| match flow.paths.is_empty() {
        true => interfaces(scenario, &node(end)),
        false => {
            let all = every_interface(scenario, &node(end));
            all.into_iter().filter(|(name, _)| flow.paths.contains(name)).collect()
        }
    };
    let [from, to] = [&flow.from, &flow.to].map(homes);
    if from.len() > to.len() { (true, from) } else { (false, to) }
}

/// Addresses with their devices, and what they are for.
type Endpoints = BTreeMap<(Ipv4Addr, String), BTreeSet<&'static str>>;

/// What a flow's path managers are to know.
pub(crate) struct Offer {
    /// The machine whose addresses get subflows, by name, with its namespace.
    pub home: (String, Namespace),
    /// The machine at the other end.
    pub other: (String, Namespace),
    /// Addresses with their devices.
    pub endpoints: Vec<(Ipv4Addr, String)>,
    /// It opens subflows itself; otherwise it tells the other end of its addresses.
    pub home_opens: bool,
}

/// Tells path managers which of their addresses get subflows of the scenario's flows, all flows together, and nothing else.
pub(crate) fn tell(scenario: &Scenario, offers: impl IntoIterator<Item = Offer>) -> Result<()> {
    let mut nodes: BTreeMap<String, (Namespace, Endpoints)> = BTreeMap::new();
    for Offer { home, other, endpoints, home_opens } in offers {
        nodes.entry(other.0).or_insert((other.1, Endpoints::new()));
        let known = &mut nodes.entry(home.0).or_insert((home.1, Endpoints::new())).1;
        for endpoint in endpoints {
            known.entry(endpoint).or_default().insert(if home_opens { "subflow" } else { "signal" });
        }
    }
    nodes.into_iter().try_for_each(|(name, (namespace, endpoints))| {
        let add = |((at, device), flags): ((Ipv4Addr, String), BTreeSet<&str>)| {
            let flags: Vec<&str> = flags.into_iter().collect();
            format!("mptcp endpoint add {at} dev {device} {}", flags.join(" "))
        };
        let first = ["mptcp endpoint flush".to_owned(), limits(scenario, &name)];
        namespace.ip(&first.into_iter().chain(endpoints.into_iter().map(add)).collect::<Vec<_>>())
    })
}

/// A subflow's row.
pub(crate) fn row(
    running: &Running,
    now: &SubflowCounts,
    before: &[SubflowCounts],
    seconds: f64,
) -> SubflowRow {
    let same = |s: &&SubflowCounts| (s.info.local, s.info.remote) == (now.info.local, now.info.remote);
    let old = before.iter().find(same);
    let of = |f: fn(&SubflowCounts) -> u64| f(now).saturating_sub(old.map_or(0, f));
    let bytes = of(|s| s.info.tcp.bytes_acked);
    let looks = of(|s| s.rtt.1);
    let home = |address: &Ipv4Addr| running.homes.iter().find(|h| h.1 == *address).map(|h| h.0.clone());
    // Behind an address translation the far end knows another address: that is told then.
    let interface = home(now.info.local.ip())
        .or_else(|| home(now.info.remote.ip()))
        .unwrap_or_else(|| now.info.remote.ip().to_string());
    SubflowRow {
        name: format!("{}:{interface}", running.flow.name),
        flow: running.flow.name.clone(),
        interface,
        bytes,
        goodput_mbps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 },
        retransmissions: of(|s| s.info.tcp.retransmitted.into()),
        timeouts: of(|s| s.info.tcp.timeouts.into()),
        rtt_ms: (looks > 0).then(|| of(|s| s.rtt.0) as f64 / looks as f64 / 1e3),
        cwnd_bytes: u64::from(now.info.tcp.cwnd) * u64::from(now.info.tcp.mss),
    }
}
