//! The past of a client of several access points: how it heard each, and when it came and went.

use super::past::{Past, Series, Span, Values};
use super::timeline::Event;
use crate::roam::report::{AccessPoint, RoamStatus};
use std::collections::BTreeMap;

/// Signal, dBm; rate, bit/s; air of a packet, microseconds.
const NAMES: [&str; 3] = ["signal", "rate", "packet"];

/// What is remembered of a walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// By the access points' addresses.
    past: Past<String, 3>,
    /// The states at the last look, by interface and access point.
    states: BTreeMap<(String, String), String>,
    channel: Option<String>,
}

impl Walk {
    /// What happened since the last look. `at` is seconds since 1970.
    pub(super) fn events(&mut self, now: &RoamStatus, at: f64) -> Vec<Event> {
        let mut events = Vec::new();
        let states = now.access_points.iter().map(|a| ((a.interface.clone(), a.bssid.clone()), a));
        let mut seen = BTreeMap::new();
        for (key, access_point) in states {
            if self.states.get(&key) != Some(&access_point.state)
                && let Some((tone, text)) = line(access_point)
            {
                events.push(Event { at: at - access_point.for_s, tone, text });
            }
            seen.insert(key, access_point.state.clone());
        }
        self.states = seen;
        if let Some(new) = &now.channel {
            if let Some(old) = self.channel.as_ref().filter(|old| *old != new) {
                let text = format!("the radio is on channel {new}, and was on {old}");
                events.push(Event { at, tone: "plain", text });
            }
            self.channel = Some(new.clone());
        }
        events.sort_by(|a, b| a.at.total_cmp(&b.at));
        events
    }

    /// The daemon runs no more, or another one does.
    pub(super) fn daemon_ended(&mut self) {
        (self.states, self.channel) = (BTreeMap::new(), None);
    }

    /// Adds what is heard in the second `now`.
    pub(super) fn remember(&mut self, status: &RoamStatus, now: u32) {
        for access_point in status.access_points.iter().filter(|a| a.state != "left") {
            self.past.add(access_point.bssid.clone(), now, values(access_point));
        }
    }

    /// The past of all access points.
    pub(super) fn series(&self, span: Span) -> Vec<Series> {
        self.past.0.iter().map(|(bssid, ring)| ring.series(bssid, NAMES, span)).collect()
    }
}

fn values(a: &AccessPoint) -> Values<3> {
    let number = |n: Option<f64>| n.map_or(f32::NAN, |n| n as f32);
    let (rate, packet) = (a.rate_bps.map(|r| r as f64), a.packet_time_us.map(|t| t as f64));
    [a.signal_dbm, rate, packet].map(number)
}

/// A change of state as a user reads it; none where it is not worth a line.
fn line(a: &AccessPoint) -> Option<(&'static str, String)> {
    let AccessPoint { interface, bssid, ssid, state, why, .. } = a;
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    match state.as_str() {
        "active" => Some(("good", format!("{interface} is with {bssid} ({ssid})"))),
        "backup" => Some(("plain", format!("{interface} keeps {bssid} ({ssid}) as a backup{because}"))),
        "left" => Some(("bad", format!("{interface} left {bssid} ({ssid}){because}"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bssid: &str, state: &str, for_s: f64, signal: f64) -> AccessPoint {
        AccessPoint {
            interface: "roam0".into(),
            bssid: bssid.into(),
            ssid: "home".into(),
            state: state.into(),
            for_s,
            signal_dbm: Some(signal),
            ..AccessPoint::default()
        }
    }

    fn status(access_points: Vec<AccessPoint>, channel: &str) -> RoamStatus {
        RoamStatus { access_points, channel: Some(channel.into()), ..RoamStatus::default() }
    }

    #[test]
    fn who_comes_and_goes_has_a_line_and_who_stays_has_none() {
        let mut walk = Walk::default();
        let mut texts = |status: &RoamStatus, at| {
            let events = walk.events(status, at);
            events.into_iter().map(|n| format!("{} {} {}", n.at, n.tone, n.text)).collect::<Vec<_>>()
        };
        let one = status(vec![heard("a", "active", 60.0, -50.0), heard("b", "joining", 1.0, -70.0)], "6");
        assert_eq!(texts(&one, 100.0), ["40 good roam0 is with a (home)"]);
        assert!(texts(&one, 101.0).is_empty(), "nothing has changed");
        let mut gone = heard("a", "left", 0.5, -80.0);
        gone.why = "the association is lost".into();
        let two = status(vec![gone, heard("b", "active", 2.0, -60.0)], "11");
        assert_eq!(
            texts(&two, 110.0),
            [
                "108 good roam0 is with b (home)",
                "109.5 bad roam0 left a (home): the association is lost",
                "110 plain the radio is on channel 11, and was on 6",
            ]
        );
        walk.daemon_ended();
        assert_eq!(walk.events(&two, 200.0).len(), 2, "another daemon begins anew");
    }

    #[test]
    fn a_walk_keeps_what_was_heard_and_not_what_was_left() {
        let mut walk = Walk::default();
        for second in 0..3 {
            let here = heard("a", "active", 1.0, -50.0 - f64::from(second));
            walk.remember(&status(vec![here, heard("b", "left", 1.0, -90.0)], "6"), second);
        }
        let series = serde_json::to_value(walk.series(Span::Seconds)).unwrap();
        let want = serde_json::json!([{"path": "a", "t": [0, 1, 2], "signal": [-50.0, -51.0, -52.0],
            "rate": [null, null, null], "packet": [null, null, null]}]);
        assert_eq!(series, want);
        assert_eq!(serde_json::to_value(walk.series(Span::Minutes)).unwrap()[0]["t"], serde_json::json!([]));
    }
}
