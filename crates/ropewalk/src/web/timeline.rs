//! What happened when: from the daemon's events, and from what differs between two looks at it.

use crate::report::history::{Happened, What};
use crate::report::{Snapshot, Uplink, table};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Entries that are kept.
const ENTRIES: usize = 256;
/// Paths that are silent or dead at a time; beyond, their ends are not noted.
const OUTAGES: usize = 256;
/// A path that was silent for less, seconds, and did not die, is not worth a line.
const WORTH: f64 = 0.5;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Entry {
    /// Its number.
    pub id: u64,
    /// When, seconds since 1970.
    pub at: f64,
    /// `bad`, `good` or `plain`.
    pub tone: &'static str,
    /// What.
    pub text: String,
    /// It lasts still.
    pub lasts: bool,
}

/// A path that does not answer.
#[derive(Debug)]
struct Outage {
    since: f64,
    /// Its line, once it is dead.
    entry: Option<u64>,
}

/// The lines.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    entries: VecDeque<Entry>,
    outages: BTreeMap<(String, String), Outage>,
    uplinks: Option<Vec<Uplink>>,
    last_id: u64,
    /// The daemon's last event that is known.
    seen: u64,
    version: u64,
}

impl Timeline {
    /// Another number than before: something is new.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// All lines, the latest first.
    pub(super) fn entries(&self) -> Vec<&Entry> {
        let mut all: Vec<&Entry> = self.entries.iter().collect();
        all.sort_by(|a, b| b.at.total_cmp(&a.at).then(b.id.cmp(&a.id)));
        all
    }

    /// The number of the daemon's last event that is known.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The daemon runs no more, or another one does.
    pub(super) fn daemon_ended(&mut self, at: f64, text: &str) {
        self.outages.clear();
        (self.seen, self.uplinks) = (0, None);
        self.entries.iter_mut().for_each(|e| e.lasts = false);
        self.add(at, "plain", text.into());
    }

    /// Takes the daemon's events; `wall` gives their times.
    pub(super) fn take(&mut self, events: &[Happened], many_peers: bool, wall: impl Fn(u64) -> f64) {
        for event in events {
            self.seen = event.seq;
            self.happened(&event.what, wall(event.at_ns), many_peers);
        }
    }

    fn happened(&mut self, what: &What, at: f64, many_peers: bool) {
        match what {
            What::Connected {} => self.add(at, "good", "connected".into()),
            What::Refused { why } => self.add(at, "bad", why.clone()),
            What::Unreachable {} => self.add(at, "bad", "no path leads to the gateway".into()),
            What::ClientUp { peer } => self.add(at, "good", format!("{peer} connected")),
            What::ClientDown { peer, why } => self.add(at, "plain", format!("{peer} disconnected: {why}")),
            What::Exhausted { name } => self.add(at, "bad", format!("{name} has used its allowance up")),
            What::Carrier { name, carrier } if carrier == "tls" => {
                self.add(at, "plain", format!("{name} goes by TLS: UDP does not pass"));
            }
            What::Carrier { name, .. } => self.add(at, "good", format!("{name} goes by UDP again")),
            What::Portal { name, at: page } => {
                let text = format!("{name}: a captive portal wants a login ({page})");
                self.add(at, "bad", text);
            }
            What::Path { peer, name, state } => {
                let shown = if many_peers { format!("{peer}'s path {name}") } else { name.clone() };
                self.path((peer, name), &shown, state, at);
            }
        }
    }

    fn path(&mut self, (peer, name): (&str, &str), shown: &str, state: &str, at: f64) {
        let key = (peer.to_owned(), name.to_owned());
        match state {
            "suspect" | "down" => {
                if !self.outages.contains_key(&key) && self.outages.len() >= OUTAGES {
                    return;
                }
                let outage = self.outages.entry(key.clone()).or_insert(Outage { since: at, entry: None });
                if let (None, "down") = (outage.entry, state) {
                    let since = outage.since;
                    let id = self.add_entry(since, "bad", format!("{shown} is dead"), true);
                    if let Some(outage) = self.outages.get_mut(&key) {
                        outage.entry = Some(id);
                    }
                }
            }
            "active" => match self.outages.remove(&key) {
                Some(outage) => self.over(&outage, shown, at),
                None => self.add(at, "good", format!("{shown} works")),
            },
            _ => {}
        }
    }

    fn over(&mut self, outage: &Outage, shown: &str, at: f64) {
        let lasted = (at - outage.since).max(0.0);
        if let Some(entry) = self.entries.iter_mut().find(|e| Some(e.id) == outage.entry) {
            (entry.text, entry.lasts) = (format!("{shown} was dead for {}", span(lasted)), false);
            self.version += 1;
        } else if lasted >= WORTH || outage.entry.is_some() {
            self.add(outage.since, "bad", format!("{shown} was silent for {}", span(lasted)));
        }
    }

    /// Says what differs from the look before, whoever changed it.
    pub(super) fn compare(&mut self, now: &Snapshot, at: f64) {
        if let Some(before) = self.uplinks.take() {
            for new in &now.uplinks {
                match before.iter().find(|old| old.name == new.name) {
                    None => self.add(at, "plain", format!("{} was added", new.name)),
                    Some(old) if (&old.class, old.cap) != (&new.class, new.cap) => {
                        let cap = new.cap.map_or(String::new(), |c| format!(", {} a month", table::bytes(c)));
                        self.add(at, "plain", format!("{} is now {}{cap}", new.name, new.class));
                    }
                    Some(_) => {}
                }
            }
            for old in before.iter().filter(|old| now.uplinks.iter().all(|new| new.name != old.name)) {
                self.add(at, "plain", format!("{} was removed", old.name));
                let gone = |(_, name): &(String, String)| *name == old.name;
                let keys: Vec<_> = self.outages.keys().filter(|k| gone(k)).cloned().collect();
                for key in keys {
                    if let Some(outage) = self.outages.remove(&key) {
                        self.over(&outage, &old.name, at);
                    }
                }
            }
        }
        self.uplinks = Some(now.uplinks.clone());
    }

    /// A line.
    pub(super) fn add(&mut self, at: f64, tone: &'static str, text: String) {
        self.add_entry(at, tone, text, false);
    }

    fn add_entry(&mut self, at: f64, tone: &'static str, text: String, lasts: bool) -> u64 {
        if self.entries.len() >= ENTRIES {
            self.entries.pop_front();
        }
        self.last_id += 1;
        self.version += 1;
        self.entries.push_back(Entry { id: self.last_id, at, tone, text, lasts });
        self.last_id
    }
}

/// `1.2 s`, and from a minute on as the command line has it.
fn span(seconds: f64) -> String {
    match seconds {
        ..0.1 => format!("{:.0} ms", seconds * 1e3),
        ..60.0 => format!("{seconds:.1} s"),
        _ => table::time(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(seq: u64, name: &str, state: &str) -> Happened {
        let what = What::Path { peer: "gateway".into(), name: name.into(), state: state.into() };
        Happened { seq, at_ns: seq * 100_000_000, what }
    }

    fn texts(timeline: &Timeline) -> Vec<&str> {
        timeline.entries().iter().map(|e| e.text.as_str()).collect()
    }

    #[test]
    fn an_outage_is_one_line() {
        let (mut timeline, wall) = (Timeline::default(), |ns: u64| ns as f64 / 1e9);
        timeline.take(&[state(1, "wan2", "active")], false, wall);
        timeline.take(&[state(10, "wan2", "suspect"), state(11, "wan2", "down")], false, wall);
        assert_eq!(texts(&timeline), ["wan2 is dead", "wan2 works"]);
        assert!(timeline.entries()[0].lasts);
        let version = timeline.version();
        timeline.take(&[state(22, "wan2", "active")], false, wall);
        assert_eq!(texts(&timeline), ["wan2 was dead for 1.2 s", "wan2 works"]);
        assert!(timeline.version() > version && !timeline.entries()[0].lasts);
        // A blink is none, a longer silence is.
        timeline.take(&[state(30, "wan2", "suspect"), state(31, "wan2", "active")], false, wall);
        timeline.take(&[state(40, "wan2", "suspect"), state(47, "wan2", "active")], false, wall);
        assert_eq!(texts(&timeline)[0], "wan2 was silent for 0.7 s");
        assert_eq!(timeline.entries().len(), 3);
        assert_eq!(timeline.seen(), 47);
    }

    #[test]
    fn changes_by_anybody_are_seen() {
        let of = |uplinks: &[(&str, &str, Option<u64>)]| Snapshot {
            uplinks: uplinks
                .iter()
                .map(|(name, class, cap)| Uplink {
                    name: (*name).into(),
                    class: (*class).into(),
                    cap: *cap,
                    ..Uplink::default()
                })
                .collect(),
            ..Snapshot::default()
        };
        let mut timeline = Timeline::default();
        timeline.compare(&of(&[("wan1", "active", None)]), 1.0);
        timeline.compare(&of(&[("wan1", "metered", Some(10_000_000_000)), ("wan2", "active", None)]), 2.0);
        timeline.take(&[state(30, "wan2", "down")], false, |_| 3.0);
        timeline.compare(&of(&[("wan1", "metered", Some(10_000_000_000))]), 4.0);
        let want = [
            "wan2 was removed",
            "wan2 was dead for 1.0 s",
            "wan2 was added",
            "wan1 is now metered, 10.0 GB a month",
        ];
        assert_eq!(texts(&timeline), want);
        assert!(timeline.outages.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut timeline = Timeline::default();
        for n in 0..5000 {
            timeline.take(&[state(n, &format!("192.0.2.1:{n}"), "down")], true, |ns| ns as f64);
        }
        assert_eq!((timeline.entries.len(), timeline.outages.len()), (ENTRIES, OUTAGES));
    }
}
