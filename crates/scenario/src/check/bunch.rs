//! Bunches: who takes part.

use super::Judge;
use crate::file::{Bunch, BunchVariant};
use std::collections::BTreeSet;
use std::time::Duration;

/// Access points of a session: the proxy's bound on holders.
const MOST: usize = 31;

pub(super) fn check(judge: &mut Judge) {
    let mut used = BTreeSet::new();
    for (name, bunch) in &judge.scenario.bunch {
        let key = format!("bunch.{name}");
        check_nodes(judge, &key, bunch, &mut used);
        check_values(judge, &key, bunch);
    }
}

fn check_nodes<'a>(judge: &mut Judge, key: &str, bunch: &'a Bunch, used: &mut BTreeSet<&'a str>) {
    let roles = [("gateway", &bunch.gateway), ("home", &bunch.home), ("receiver", &bunch.receiver)];
    let all = roles.into_iter().chain(bunch.neighbours.iter().map(|n| ("neighbours", n)));
    for (below, node) in all {
        let key = format!("{key}.{below}");
        let nodes = judge.names.nodes.clone();
        if !judge.known(&key, "node", node, nodes) {
            continue;
        }
        judge.fail_if(!used.insert(node), &key, || {
            format!("`{node}` has a part in a bunch already; name another")
        });
        let routes = matches!(below, "gateway" | "home");
        judge.fail_if(routes && !judge.scenario.node[node].forward, &key, || {
            format!("`{node}` passes nothing on; write node.{node}.forward = true")
        });
    }
    judge.fail_if(bunch.neighbours.len() >= MOST, format!("{key}.neighbours"), || {
        format!("a session has at most {MOST} access points")
    });
}

fn check_values(judge: &mut Judge, key: &str, bunch: &Bunch) {
    judge.fail_if(bunch.custody == 0, format!("{key}.custody"), || {
        "somebody has to hold a packet; write 1 or more".into()
    });
    judge.fail_if(bunch.send_buffer.0 < 4096, format!("{key}.send-buffer"), || {
        "a send buffer has at least 4096B".into()
    });
    let interval = Duration::from_millis(1)..=Duration::from_secs(1);
    judge.fail_if(!interval.contains(&bunch.report_interval), format!("{key}.report-interval"), || {
        "reports are made each 1ms to 1s".into()
    });
    judge.fail_if(
        bunch.churn.is_some_and(|c| c < Duration::from_millis(100)),
        format!("{key}.churn"),
        || "an access point is there for 100ms at least".into(),
    );
    let changes = bunch.churn.map_or(0, |churn| judge.changes(churn) * bunch.neighbours.len() as u128);
    judge.refuse_many(changes, format!("{key}.churn"));
    judge.fail_if(bunch.grace > Duration::from_secs(3600), format!("{key}.grace"), || {
        "a run is over before that; write 1h at most".into()
    });
    let lossy = bunch.share && bunch.monitor_loss.0 > 0.0;
    judge.fail_if(lossy, format!("{key}.monitor-loss"), || {
        "with `share` nothing is overheard, so nothing is missed; leave one of the two out".into()
    });
    let scheduled = bunch.release == crate::file::BunchRelease::Scheduled;
    judge.fail_if(scheduled && bunch.variant != BunchVariant::ProactiveAck, format!("{key}.release"), || {
        "only proactive-ack acknowledges what could then be lost; take it, or release = \"acknowledged\""
            .into()
    });
}
