//! Clients of several access points, and what their flows may be.

use super::Judge;
use crate::file::{Flow, FlowKind, Interface, Join, MediumModel, Mode, NodeSpec, Roam, RoamPolicy};
use std::collections::BTreeSet;

pub(super) fn check(judge: &mut Judge) {
    let scenario = judge.scenario;
    for (name, node) in &scenario.node {
        let Some(roam) = &node.roam else { continue };
        let key = format!("node.{name}.roam");
        judge.fail_if(scenario.medium.model != MediumModel::Wifi, key.clone(), || {
            "the weighted-fair medium has no beacons and no frames to measure; take this out, or set `medium.model = \"802.11\"`".into()
        });
        check_keys(judge, &key, roam);
        check_stations(judge, name, node, roam);
        if roam.policy != RoamPolicy::Fixed {
            for flow in &scenario.flow {
                check_flow(judge, name, flow);
            }
        }
    }
}

/// Keys that would do nothing.
fn check_keys(judge: &mut Judge, key: &str, roam: &Roam) {
    let (best, fixed) = (roam.policy == RoamPolicy::Best, roam.policy == RoamPolicy::Fixed);
    let set = [
        ("most", roam.most.is_some() && !best),
        ("lease", roam.lease.is_some() && fixed),
        ("scan", roam.scan.is_some() && roam.policy != RoamPolicy::Handover),
    ];
    for (below, wrong) in set {
        judge.fail_if(wrong, format!("{key}.{below}"), || {
            format!("this means nothing for the policy {}; take it out", roam.policy.name())
        });
    }
    judge.fail_if(roam.most == Some(0), format!("{key}.most"), || {
        "a client of no access point has no link; write 1 or more".into()
    });
}

fn check_stations(judge: &mut Judge, name: &str, node: &NodeSpec, roam: &Roam) {
    let stations: Vec<(&String, &Interface)> =
        node.interface.iter().filter(|(_, i)| i.mode == Some(Mode::Station)).collect();
    let key = format!("node.{name}.roam");
    let radios: BTreeSet<_> = stations.iter().map(|(_, i)| &i.radio).collect();
    judge.fail_if(radios.len() != 1, key.clone(), || {
        "it needs station interfaces, all on one radio; write one for each access point".into()
    });
    let networks: BTreeSet<_> = stations.iter().map(|(_, i)| &i.ssid).collect();
    judge.fail_if(networks.len() != stations.len(), key, || {
        "two stations have one `ssid`; give each access point its own".into()
    });
    let idle = roam.policy == RoamPolicy::Fixed;
    for (interface, _) in stations.iter().filter(|(_, i)| !idle && i.join != Join::Idle) {
        judge.fail(
            format!("node.{name}.interface.{interface}.join"),
            "the client decides when it joins; write `join = \"idle\"`",
        );
    }
}

/// Its addresses come and go, which a connection of TCP does not outlive.
fn check_flow(judge: &mut Judge, name: &str, flow: &Flow) {
    // The address inside a bond stays.
    let bonds = &judge.scenario.bond;
    let inside =
        |end: &str| end.split_once(':').is_some_and(|(_, i)| bonds.iter().any(|(bond, _)| bond == i));
    let of = |end: &str| end.split(':').next() == Some(name) && !inside(end);
    let takes_part = of(&flow.from) || of(&flow.to);
    let follows = flow.kind == FlowKind::Mptcp && of(&flow.to);
    judge.fail_if(takes_part && !follows, format!("flow.{}.kind", flow.name), || {
        format!("addresses of `{name}` come and go; only mptcp to it follows them")
    });
    judge.fail_if(follows && !flow.paths.is_empty(), format!("flow.{}.paths", flow.name), || {
        format!("`{name}` decides which access points it uses; take this out")
    });
    judge.fail_if(follows && flow.to.contains(':'), format!("flow.{}.to", flow.name), || {
        format!("write `{name}` alone: it decides which interfaces it uses")
    });
}
