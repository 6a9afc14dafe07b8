//! A bunch as a page sees it: who brings how much, and who came and went.

use super::past::{Past, Series, Span};
use super::timeline::Event;
use crate::bunch::report::BunchStatus;
use serde::Serialize;
use std::collections::BTreeMap;

/// Bit/s that a member brought, or of an access point that it sent for the bunch.
const NAMES: [&str; 1] = ["brought"];
/// What an access point's own tunnel is called among the members.
const OWN: &str = "this access point";
/// Members and connections that a page is told of.
const MEMBERS: usize = 256;
const UPLOADS: usize = 100;

/// What is remembered of a bunch.
#[derive(Debug, Default)]
pub(super) struct Members {
    past: Past<String, 1>,
    /// The daemon's clock and its counters of bytes, a second ago or more.
    before: Option<(f64, BTreeMap<String, u64>)>,
    rates: BTreeMap<String, f64>,
    /// Where each member's tunnel came from at the last look.
    remotes: Option<BTreeMap<String, Option<String>>>,
    resets: u64,
}

/// A part of a bunch, now.
#[derive(Debug, Serialize)]
pub(super) struct BunchView {
    pub status: BunchStatus,
    /// Bit/s of each member; of an access point its own.
    pub rates: BTreeMap<String, f64>,
    /// Connections that are left out.
    left_out: usize,
}

impl Members {
    /// A view of a status, with rates over the last second or two.
    pub(super) fn view(&mut self, mut status: BunchStatus) -> BunchView {
        let (clock, bytes) = counters(&status);
        match &self.before {
            Some((then, old)) if clock - then >= 1.0 => {
                let rate = |(name, now): (&String, &u64)| {
                    let grown = now.saturating_sub(*old.get(name)?);
                    Some((name.clone(), grown as f64 * 8.0 / (clock - then)))
                };
                self.rates = bytes.iter().filter_map(rate).collect();
                self.before = Some((clock, bytes));
            }
            Some((then, _)) if clock >= *then => {}
            // The first look, or a daemon that began anew.
            _ => (self.before, self.rates) = (Some((clock, bytes)), BTreeMap::new()),
        }
        let mut left_out = 0;
        if let BunchStatus::Gateway(gateway) = &mut status {
            gateway.contributors.truncate(MEMBERS);
            left_out = gateway.uploads.len().saturating_sub(UPLOADS);
            gateway.uploads.sort_by_key(|u| std::cmp::Reverse(u.sent_bytes));
            gateway.uploads.truncate(UPLOADS);
        }
        BunchView { status, rates: self.rates.clone(), left_out }
    }

    /// What happened since the last look. `at` is seconds since 1970.
    pub(super) fn events(&mut self, now: &BunchStatus, at: f64) -> Vec<Event> {
        let (now, resets): (BTreeMap<String, Option<String>>, u64) = match now {
            BunchStatus::Gateway(g) => {
                let all = g.contributors.iter().map(|c| (c.name.clone(), c.remote.clone()));
                (all.collect(), g.resets)
            }
            BunchStatus::Ap(ap) => ([(OWN.to_owned(), ap.gateway.clone())].into(), 0),
        };
        let lost = resets.saturating_sub(std::mem::replace(&mut self.resets, resets));
        let Some(before) = self.remotes.replace(now) else { return Vec::new() };
        let mut events = Vec::new();
        let mut add = |tone, text| events.push(Event { at, tone, text });
        for (name, remote) in self.remotes.iter().flatten() {
            match (before.get(name).and_then(Option::as_ref), remote) {
                (None, Some(remote)) if name == OWN => add("good", format!("connected to {remote}")),
                (None, Some(remote)) => add("good", format!("{name} connected from {remote}")),
                (Some(_), None) if name == OWN => add("bad", "the gateway is not reached".into()),
                (Some(_), None) => add("bad", format!("{name} disconnected")),
                _ => {}
            }
        }
        match lost {
            0 => {}
            1 => add("bad", "1 connection was lost, and both ends were told".into()),
            n => add("bad", format!("{n} connections were lost, and both ends were told")),
        }
        events
    }

    /// The daemon runs no more, or another one does.
    pub(super) fn daemon_ended(&mut self) {
        let past = std::mem::take(&mut self.past);
        *self = Members { past, ..Members::default() };
    }

    /// Adds what the members brought in the second `now`.
    pub(super) fn remember(&mut self, now: u32) {
        for (name, rate) in &self.rates {
            self.past.add(name.clone(), now, [*rate as f32]);
        }
    }

    /// The past of all members.
    pub(super) fn series(&self, span: Span) -> Vec<Series> {
        self.past.0.iter().map(|(name, ring)| ring.series(name, NAMES, span)).collect()
    }
}

impl BunchView {
    /// Who is connected.
    pub(super) fn states(&self) -> Vec<[String; 3]> {
        let state = |up: bool| if up { "connected" } else { "not connected" }.to_owned();
        match &self.status {
            BunchStatus::Gateway(g) => {
                let of = g.contributors.iter().map(|c| (c.name.clone(), c.remote.is_some()));
                of.map(|(name, up)| [name, state(up), String::new()]).collect()
            }
            BunchStatus::Ap(ap) => vec![[OWN.to_owned(), state(ap.gateway.is_some()), String::new()]],
        }
    }
}

/// The daemon's clock, seconds, and what each member brought, bytes.
fn counters(status: &BunchStatus) -> (f64, BTreeMap<String, u64>) {
    match status {
        BunchStatus::Gateway(g) => {
            (g.uptime_s, g.contributors.iter().take(MEMBERS).map(|c| (c.name.clone(), c.bytes)).collect())
        }
        BunchStatus::Ap(ap) => (ap.uptime_s, [(OWN.to_owned(), ap.data_bytes + ap.report_bytes)].into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bunch::report::{ApStatus, Contributor, GatewayStatus, Upload};

    fn gateway(uptime_s: f64, anna: (u64, bool), resets: u64) -> BunchStatus {
        let remote = anna.1.then(|| "192.0.2.1:4000".to_owned());
        let anna = Contributor { name: "anna".into(), bytes: anna.0, remote, ..Contributor::default() };
        let contributors = vec![anna];
        BunchStatus::Gateway(GatewayStatus { uptime_s, contributors, resets, ..GatewayStatus::default() })
    }

    #[test]
    fn rates_are_over_a_second_and_a_new_daemon_has_none() {
        let mut members = Members::default();
        let mut rate = |uptime, bytes| {
            let view = members.view(gateway(uptime, (bytes, true), 0));
            view.rates.get("anna").copied()
        };
        assert_eq!(rate(10.0, 0), None);
        assert_eq!(rate(10.25, 500_000), None, "no second has passed");
        assert_eq!(rate(11.0, 1_000_000), Some(8e6));
        assert_eq!(rate(11.5, 9_000_000), Some(8e6));
        assert_eq!(rate(13.0, 1_000_000), Some(0.0));
        assert_eq!(rate(1.0, 7), None);
        members.view(gateway(2.0, (1_000_007, true), 0));
        members.remember(5);
        let series = serde_json::to_value(members.series(Span::Seconds)).unwrap();
        assert_eq!(series, serde_json::json!([{"path": "anna", "t": [5], "brought": [8_000_000.0]}]));
    }

    #[test]
    fn who_comes_and_goes_has_a_line_and_who_stays_has_none() {
        let mut members = Members::default();
        let mut texts = |status: &BunchStatus| {
            members.events(status, 1.0).into_iter().map(|n| n.text).collect::<Vec<_>>()
        };
        assert!(texts(&gateway(1.0, (0, true), 4)).is_empty(), "the first look knows no before");
        assert!(texts(&gateway(2.0, (0, true), 4)).is_empty());
        let lost = texts(&gateway(3.0, (0, false), 6));
        assert_eq!(lost, ["anna disconnected", "2 connections were lost, and both ends were told"]);
        assert_eq!(texts(&gateway(4.0, (0, true), 6)), ["anna connected from 192.0.2.1:4000"]);
        let mut own = Members::default();
        let ap = |gateway: Option<&str>| {
            BunchStatus::Ap(ApStatus { gateway: gateway.map(str::to_owned), ..ApStatus::default() })
        };
        own.events(&ap(Some("g:1")), 1.0);
        let lines = [None, Some("g:1")].map(|to| own.events(&ap(to), 2.0)[0].text.clone());
        assert_eq!(lines, ["the gateway is not reached", "connected to g:1"]);
    }

    #[test]
    fn a_page_is_told_of_so_many_only() {
        let upload = |n: u64| Upload { sent_bytes: n, ..Upload::default() };
        let status = GatewayStatus {
            contributors: vec![Contributor::default(); 1000],
            uploads: (0..1000).map(upload).collect(),
            ..GatewayStatus::default()
        };
        let view = Members::default().view(BunchStatus::Gateway(status));
        let BunchStatus::Gateway(g) = &view.status else { panic!("{view:?}") };
        assert_eq!((g.contributors.len(), g.uploads.len(), view.left_out), (MEMBERS, UPLOADS, 900));
        assert_eq!(g.uploads[0].sent_bytes, 999, "those that carried most");
    }
}
