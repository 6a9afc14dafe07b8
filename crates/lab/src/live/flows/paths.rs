//! MPTCP: which addresses get a subflow, and what each carried.

use std::net::Ipv4Addr;

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::Flow;
use ropewalk_scenario::report::SubflowRow;

use super::Running;
use super::hosts::Hosts;
use super::record::SubflowCounts;
use crate::{Namespace, Result};

/// Subflows that a connection may have: as many as an endpoint list of Linux has places.
const MOST: u32 = 8;

/// An interface, as `node:interface`, with its address.
pub(crate) type Home = (String, Ipv4Addr);

/// The interfaces of a node that subflows may use.
fn interfaces(scenario: &Scenario, node: &str) -> Vec<Home> {
    let Some(spec) = scenario.node.get(node) else { return Vec::new() };
    let own = spec.interface.iter().filter_map(|(name, i)| Some((name, i.address?)));
    let bridges = spec.bridge.iter().filter_map(|(name, b)| Some((name, b.address?)));
    own.chain(bridges).map(|(name, net)| (format!("{node}:{name}"), net.addr())).collect()
}

/// The interfaces that tell the subflows of a flow apart: those of its `paths`, or all of the machine that has more of them. All are of one
/// machine, `from` or `to`.
pub(crate) fn homes(scenario: &Scenario, flow: &Flow) -> (bool, Vec<Home>) {
    let node = |end: &str| end.split(':').next().unwrap_or(end).to_owned();
    let [from, to] = [&flow.from, &flow.to].map(|end| interfaces(scenario, &node(end)));
    let named = |all: &[Home]| -> Vec<Home> {
        all.iter().filter(|(name, _)| flow.paths.contains(name)).cloned().collect()
    };
    let (from, to) = match flow.paths.is_empty() {
        true => (from, to),
        false => (named(&from), named(&to)),
    };
    if from.len() > to.len() { (true, from) } else { (false, to) }
}

/// Tells a namespace's path manager which of its addresses get a subflow: by opening one itself, or by telling the other end.
pub(crate) fn offer(hosts: &impl Hosts, namespace: &Namespace, homes: &[Home], opens: bool) -> Result<()> {
    let what = if opens { "subflow" } else { "signal" };
    let mut commands = vec![limits()];
    for (name, address) in homes {
        let device = hosts.device(name);
        commands.push(format!("mptcp endpoint add {address} dev {device} {what}"));
    }
    namespace.ip(&commands)
}

/// Lets a namespace take as many subflows as there may be.
pub(crate) fn allow(namespace: &Namespace) -> Result<()> {
    namespace.ip(&[limits()])
}

fn limits() -> String {
    format!("mptcp limits set subflows {MOST} add_addr_accepted {MOST}")
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
        retransmissions: of(|s| s.info.tcp.retransmissions.into()),
        timeouts: of(|s| s.info.tcp.timeouts.into()),
        rtt_ms: (looks > 0).then(|| of(|s| s.rtt.0) as f64 / looks as f64 / 1e3),
        cwnd_bytes: u64::from(now.info.tcp.cwnd) * u64::from(now.info.tcp.mss()),
    }
}
