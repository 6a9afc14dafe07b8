//! How machines' TCP and MPTCP are set.

use super::Judge;
use crate::file::{MPTCP_PLACES, NodeSpec, TcpControl};
use crate::units::Bytes;
use std::collections::BTreeSet;

/// Bounds of a buffer, bytes: Linux's least, and a fourth of what its integers hold, since it doubles what it is told.
const BUFFERS: std::ops::RangeInclusive<u64> = 4096..=500_000_000;

pub(super) fn check(judge: &mut Judge) {
    for (name, node) in &judge.scenario.node {
        let key = |below: &str| format!("node.{name}.tcp.{below}");
        let coupled =
            matches!(node.tcp.congestion, Some(TcpControl::Lia | TcpControl::Olia | TcpControl::Balia));
        let own = node.tcp.congestion == Some(TcpControl::Tidal);
        judge.fail_if(own, key("congestion"), || {
            "tidal is for single flows of the simulator (flow.NAME.congestion); a machine takes cubic, newreno or highspeed".into()
        });
        judge.fail_if(coupled, key("congestion"), || {
            "this couples subflows of MPTCP, so it is for flows of that kind (flow.NAME.congestion); a machine takes cubic, newreno or highspeed"
                .into()
        });
        check_buffer(judge, key("receive-buffer"), node.tcp.receive_buffer);
        check_buffer(judge, key("send-buffer"), node.tcp.send_buffer);
        check_endpoints(judge, name, node);
    }
}

/// A buffer's size, of a machine or of a flow.
pub(super) fn check_buffer(judge: &mut Judge, key: String, buffer: Option<Bytes>) {
    let what = key.rsplit('.').next().unwrap_or(&key).replace('-', " ");
    judge.fail_if(buffer.is_some_and(|b| !BUFFERS.contains(&b.0)), key, || {
        format!("a {what} has from 4096B to 500MB")
    });
}

fn check_endpoints(judge: &mut Judge, name: &str, node: &NodeSpec) {
    let key = |below: &str| format!("node.{name}.mptcp.{below}");
    let mut seen = BTreeSet::new();
    for interface in &node.mptcp.endpoints {
        let key = key("endpoints");
        let all = node.interface.keys().chain(node.bridge.keys()).map(String::as_str);
        if !judge.known(&key, "interface", interface, all) {
            continue;
        }
        judge.fail_if(!seen.insert(interface), &key, || format!("`{interface}` is there twice"));
        let is_port = node.bridge.values().any(|b| b.ports.contains(interface));
        judge.fail_if(is_port, &key, || {
            format!("`{interface}` is a port of a bridge and has no address; name the bridge")
        });
    }
    judge.fail_if(node.mptcp.endpoints.len() > MPTCP_PLACES.into(), key("endpoints"), || {
        format!("Linux has places for {MPTCP_PLACES} endpoints; name fewer")
    });
    for (below, number) in
        [("subflows", node.mptcp.subflows), ("add-addr-accepted", node.mptcp.add_addr_accepted)]
    {
        judge.fail_if(number > MPTCP_PLACES, key(below), || format!("Linux takes 0 to {MPTCP_PLACES} here"));
    }
}
