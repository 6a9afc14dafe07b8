//! How a gateway stands in its fleet.

use super::count;
use ropewalk_fleet::MemberReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A gateway's fleet, as it knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FleetStatus {
    /// This gateway's name.
    pub name: String,
    /// Where the store is.
    pub store: String,
    /// It answers. While it does not, known clients come and go, and new invites wait.
    pub reachable: bool,
    /// Since it was last heard, seconds.
    pub silent_s: f64,
    /// How long ago what is known here was what the store has, seconds.
    #[serde(default)]
    pub copy_age_s: f64,
    /// Devices that wait for the store to be asked whether they may come in.
    pub waiting: usize,
    /// What somebody has to see to: sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The gateways that live.
    pub gateways: Vec<FleetGateway>,
}

/// One gateway of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FleetGateway {
    /// Its name.
    pub name: String,
    /// Where devices reach it.
    pub endpoints: Vec<String>,
    /// It takes no sessions.
    pub draining: bool,
    /// How many clients it serves.
    pub clients: usize,
}

impl FleetStatus {
    /// Out of what the store's thread knows.
    pub(crate) fn new(report: MemberReport) -> FleetStatus {
        let MemberReport { name, store, reachable, silent_s, copy_age_s, waiting, warnings, gateways } =
            report;
        let one = |g: ropewalk_fleet::FleetReport| FleetGateway {
            name: g.name,
            endpoints: g.endpoints,
            draining: g.draining,
            clients: g.clients,
        };
        let gateways = gateways.into_iter().map(one).collect();
        FleetStatus { name, store, reachable, silent_s, copy_age_s, waiting, warnings, gateways }
    }

    /// As a user reads it.
    pub(crate) fn lines(&self) -> String {
        let mut out = format!("fleet: {} in {}", self.name, self.store);
        if !self.reachable {
            let _ = write!(
                out,
                ", which has not answered for {:.0} s: known clients come and go, new invites wait",
                self.silent_s
            );
        }
        if self.waiting > 0 {
            let verb = if self.waiting == 1 { "waits" } else { "wait" };
            let _ = write!(out, "; {} {verb}", count(self.waiting, "device"));
        }
        out.push('\n');
        for warning in &self.warnings {
            let _ = writeln!(out, "  warning: {warning}");
        }
        for g in &self.gateways {
            let state = if g.draining { ", draining" } else { "" };
            let clients = count(g.clients, "client");
            let _ = writeln!(out, "  {}: {clients}{state}, {}", g.name, g.endpoints.join(" "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_gone_is_said() {
        let gateway =
            FleetGateway { name: "a".into(), endpoints: vec!["gw:1".into()], draining: true, clients: 2 };
        let mut status = FleetStatus {
            name: "a".into(),
            reachable: true,
            gateways: vec![gateway],
            ..FleetStatus::default()
        };
        assert_eq!(status.lines(), "fleet: a in \n  a: 2 clients, draining, gw:1\n");
        status.warnings.push("etcd has no room left".into());
        assert!(status.lines().contains("\n  warning: etcd has no room left\n"));
        (status.reachable, status.silent_s, status.waiting) = (false, 7.2, 1);
        status.gateways[0].clients = 1;
        let lines = status.lines();
        assert!(lines.contains("not answered for 7 s") && lines.contains("; 1 device waits\n"), "{lines}");
        assert!(lines.contains("\n  a: 1 client, draining"), "{lines}");
    }
}
