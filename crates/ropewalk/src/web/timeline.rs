//! What happened when: from the daemon's events, and from what differs between two looks at it.

use crate::report::history::{Happened, What};
use crate::report::{Snapshot, Uplink, table};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::SocketAddr;

/// Entries that are kept.
const ENTRIES: usize = 256;
/// Paths that are silent or dead at a time; beyond, their ends are not noted.
const OUTAGES: usize = 256;
/// A line of an outage is later than the path's last datagram by no more than this, seconds.
const NOTED_WITHIN: f64 = 5.0;
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
    /// Of an outage: whose path it is, and which connections noticed.
    #[serde(skip)]
    about: Option<(String, String)>,
    #[serde(skip)]
    noticed: String,
}

/// A line that is not written yet.
#[derive(Debug)]
pub(super) struct Event {
    /// When, seconds since 1970.
    pub at: f64,
    /// As of an [`Entry`].
    pub tone: &'static str,
    /// What.
    pub text: String,
}

/// A path that does not answer.
#[derive(Debug)]
struct Outage {
    since: f64,
    /// What the path is called in lines.
    shown: String,
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

    /// The daemon does not answer: what lasts is not known.
    pub(super) fn daemon_silent(&mut self, at: f64, text: &str) {
        self.entries.iter_mut().for_each(|e| e.lasts = false);
        self.add(at, "plain", text.into());
    }

    /// It answers again: what lasted does still, until it says otherwise.
    pub(super) fn daemon_answers(&mut self) {
        let dead: HashSet<u64> = self.outages.values().filter_map(|outage| outage.entry).collect();
        for entry in self.entries.iter_mut().filter(|e| !e.lasts && dead.contains(&e.id)) {
            entry.lasts = true;
            self.version += 1;
        }
    }

    /// Another daemon runs: nothing of the one before is known of it.
    pub(super) fn daemon_ended(&mut self, at: f64, text: &str) {
        self.outages.clear();
        (self.seen, self.uplinks) = (0, None);
        self.daemon_silent(at, text);
    }

    /// Takes the daemon's events; `wall` gives their times.
    pub(super) fn take(&mut self, events: &[Happened], many_peers: bool, wall: impl Fn(u64) -> f64) {
        for event in events {
            self.seen = event.seq;
            self.happened(&event.what, wall(event.at_ns), many_peers, &wall);
        }
    }

    fn happened(&mut self, what: &What, at: f64, many_peers: bool, wall: &impl Fn(u64) -> f64) {
        match what {
            What::Connected {} => self.add(at, "good", "connected".into()),
            What::Refused { why } => self.add(at, "bad", why.clone()),
            What::Unreachable {} => self.add(at, "bad", "no path leads to the gateway".into()),
            What::Moved { from, to, why } => {
                self.add(at, "plain", format!("the gateway is at {to} now: {from} {why}"));
            }
            What::ClientUp { peer } => self.add(at, "good", format!("{peer} connected")),
            What::ClientDown { peer, why } => {
                self.end(at, |whose, _| whose == peer);
                self.add(at, "plain", format!("{peer} disconnected: {why}"));
            }
            What::Exhausted { name } => self.add(at, "bad", format!("{name} has used its allowance up")),
            What::Carrier { name, carrier, why } if carrier == "tls" => {
                self.add(at, "plain", format!("{name} goes by TLS: {why}"));
            }
            What::Carrier { name, .. } => self.add(at, "good", format!("{name} goes by UDP again")),
            What::Portal { name, at: page } => {
                let text = format!("{name}: a captive portal wants a login ({page})");
                self.add(at, "bad", text);
            }
            What::Outage { peer, name, since_ns, connections, noticed } => {
                self.noticed((peer, name), wall(*since_ns), *connections, *noticed);
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
                let new = || Outage { since: at, shown: shown.to_owned(), entry: None };
                let outage = self.outages.entry(key.clone()).or_insert_with(new);
                if let (None, "down") = (outage.entry, state) {
                    let since = outage.since;
                    let id = self.add_entry(since, "bad", format!("{shown} is dead"), true);
                    if let Some(outage) = self.outages.get_mut(&key) {
                        outage.entry = Some(id);
                    }
                    if let Some(entry) = self.entries.back_mut() {
                        entry.about = Some(key);
                    }
                }
            }
            "active" => match self.outages.remove(&key) {
                Some(outage) => self.over(&outage, at),
                None => self.add(at, "good", format!("{shown} works")),
            },
            // It answers, so it is dead no more.
            "too narrow" => {
                if let Some(outage) = self.outages.remove(&key) {
                    self.over(&outage, at);
                }
                self.add(
                    at,
                    "bad",
                    format!("{shown} does not pass packets of 1280 bytes: no data goes there"),
                );
            }
            _ => {}
        }
    }

    /// Says in the line of an outage which connections noticed.
    fn noticed(&mut self, (peer, name): (&str, &str), since: f64, connections: u32, noticed: u32) {
        let is_its = |e: &&mut Entry| {
            e.about.as_ref().is_some_and(|(p, n)| (p.as_str(), n.as_str()) == (peer, name))
                && (-0.5..NOTED_WITHIN).contains(&(e.at - since))
        };
        let near = |a: &&mut Entry, b: &&mut Entry| a.at.total_cmp(&b.at);
        let Some(entry) = self.entries.iter_mut().filter(is_its).min_by(near) else { return };
        let words = match connections {
            0 => "; no connection was in use".into(),
            1 => format!("; {noticed} of 1 connection noticed"),
            _ => format!("; {noticed} of {connections} connections noticed"),
        };
        entry.text = format!("{}{words}", entry.text.strip_suffix(&entry.noticed).unwrap_or(&entry.text));
        entry.noticed = words;
        self.version += 1;
    }

    /// Ends the outages that `ends` picks by peer and path.
    fn end(&mut self, at: f64, ends: impl Fn(&str, &str) -> bool) {
        let keys: Vec<_> = self.outages.keys().filter(|(peer, name)| ends(peer, name)).cloned().collect();
        for key in keys {
            if let Some(outage) = self.outages.remove(&key) {
                self.over(&outage, at);
            }
        }
    }

    /// Gateway: ends the outages of paths that are gone, as when a client has another port. Call it
    /// before later events are taken: they may be of paths that `now` does not have.
    pub(super) fn end_gone(&mut self, now: &Snapshot, at: f64) {
        if self.outages.is_empty() {
            return;
        }
        let paths =
            now.peers.iter().flat_map(|p| p.paths.iter().map(move |path| (p.name.as_str(), path.remote)));
        let there: HashSet<(&str, Option<SocketAddr>)> = paths.collect();
        self.end(at, |peer, name| !there.contains(&(peer, name.parse::<SocketAddr>().ok())));
    }

    fn over(&mut self, outage: &Outage, at: f64) {
        let (shown, lasted) = (&outage.shown, (at - outage.since).max(0.0));
        if let Some(entry) = self.entries.iter_mut().find(|e| Some(e.id) == outage.entry) {
            entry.text = format!("{shown} was dead for {}{}", span(lasted), entry.noticed);
            entry.lasts = false;
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
                self.end(at, |_, name| name == old.name);
            }
        }
        self.uplinks = Some(now.uplinks.clone());
    }

    /// Lines, the oldest first.
    pub(super) fn tell(&mut self, events: Vec<Event>) {
        events.into_iter().for_each(|n| self.add(n.at, n.tone, n.text));
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
        let noticed = String::new();
        self.entries.push_back(Entry { id: self.last_id, at, tone, text, lasts, about: None, noticed });
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
    use crate::report::{Path, Peer};

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
    fn a_path_that_is_too_narrow_is_said_and_is_dead_no_more() {
        let (mut timeline, wall) = (Timeline::default(), |ns: u64| ns as f64 / 1e9);
        timeline.take(&[state(10, "wan2", "down"), state(20, "wan2", "too narrow")], false, wall);
        let narrow = "wan2 does not pass packets of 1280 bytes: no data goes there";
        assert_eq!(texts(&timeline), [narrow, "wan2 was dead for 1.0 s"]);
        assert!(timeline.entries().iter().all(|e| !e.lasts) && timeline.outages.is_empty());
        let why = "packets of 1280 bytes do not pass by UDP".into();
        let what = What::Carrier { name: "wan2".into(), carrier: "tls".into(), why };
        timeline.take(&[Happened { seq: 25, at_ns: 2_500_000_000, what }], false, wall);
        assert_eq!(texts(&timeline)[0], "wan2 goes by TLS: packets of 1280 bytes do not pass by UDP");
        timeline.take(&[state(30, "wan2", "active")], false, wall);
        assert_eq!(texts(&timeline)[0], "wan2 works");
    }

    #[test]
    fn a_gateway_that_a_client_left_is_said_and_why() {
        let (mut timeline, wall) = (Timeline::default(), |ns: u64| ns as f64 / 1e9);
        let (from, to) = ("10.2.1.2:4500".into(), "10.2.2.2:4500".into());
        let what = What::Moved { from, to, why: "did not answer".into() };
        timeline.take(&[Happened { seq: 1, at_ns: 0, what }], false, wall);
        assert_eq!(texts(&timeline), ["the gateway is at 10.2.2.2:4500 now: 10.2.1.2:4500 did not answer"]);
    }

    fn outage(seq: u64, since_ms: u64, connections: u32, noticed: u32) -> Happened {
        let (peer, name, since_ns) = ("gateway".into(), "wan2".into(), since_ms * 1_000_000);
        let what = What::Outage { peer, name, since_ns, connections, noticed };
        Happened { seq, at_ns: seq * 100_000_000, what }
    }

    #[test]
    fn a_line_says_who_noticed_once_that_is_known() {
        let (mut timeline, wall) = (Timeline::default(), |ns: u64| ns as f64 / 1e9);
        timeline.take(&[state(10, "wan2", "suspect"), state(11, "wan2", "down")], false, wall);
        timeline.take(&[state(22, "wan2", "active"), outage(40, 950, 14, 0)], false, wall);
        assert_eq!(texts(&timeline), ["wan2 was dead for 1.2 s; 0 of 14 connections noticed"]);
        // One that lasts is judged before its end; of two, each has its own.
        timeline.take(&[state(50, "wan2", "suspect"), state(51, "wan2", "down")], false, wall);
        let version = timeline.version();
        timeline.take(&[outage(150, 4900, 1, 1)], false, wall);
        assert_eq!(texts(&timeline)[0], "wan2 is dead; 1 of 1 connection noticed");
        assert!(timeline.version() > version && timeline.entries()[0].lasts);
        timeline.take(&[state(170, "wan2", "active")], false, wall);
        timeline.take(&[state(180, "wan2", "down"), state(190, "wan2", "active")], false, wall);
        timeline.take(&[outage(210, 17_990, 0, 0), outage(211, 30_000, 9, 9)], false, wall);
        let want = [
            "wan2 was dead for 1.0 s; no connection was in use",
            "wan2 was dead for 12.0 s; 1 of 1 connection noticed",
            "wan2 was dead for 1.2 s; 0 of 14 connections noticed",
        ];
        assert_eq!(texts(&timeline), want);
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

    fn of_client(n: u64, state: &str) -> What {
        What::Path { peer: "alice".into(), name: format!("192.0.2.1:{n}"), state: state.into() }
    }

    fn lasting(timeline: &Timeline) -> usize {
        timeline.entries().iter().filter(|e| e.lasts).count()
    }

    #[test]
    fn outages_end_with_their_session() {
        let (mut timeline, mut seq) = (Timeline::default(), 0);
        let mut take = |timeline: &mut Timeline, what: What| {
            seq += 1;
            timeline.take(&[Happened { seq, at_ns: seq * 1_000_000_000, what }], true, |ns| ns as f64 / 1e9);
        };
        for n in 1..=300 {
            take(&mut timeline, of_client(n, "suspect"));
            take(&mut timeline, of_client(n, "down"));
            take(&mut timeline, What::ClientDown { peer: "alice".into(), why: "silent for too long".into() });
        }
        assert_eq!((lasting(&timeline), timeline.outages.len()), (0, 0));
        assert!(texts(&timeline).contains(&"alice's path 192.0.2.1:300 was dead for 2.0 s"));
        take(&mut timeline, of_client(301, "down"));
        take(&mut timeline, What::ClientDown { peer: "bob".into(), why: "it said goodbye".into() });
        assert_eq!((lasting(&timeline), timeline.outages.len()), (1, 1));
    }

    #[test]
    fn outages_end_with_their_address() {
        let mut timeline = Timeline::default();
        let down = Happened { seq: 1, at_ns: 0, what: of_client(5, "down") };
        timeline.take(&[down], true, |_| 1.0);
        let snapshot = |name: &str, port: u16| {
            let remote: Option<SocketAddr> = Some(([192, 0, 2, 1], port).into());
            let paths = vec![Path { remote, ..Path::default() }];
            Snapshot {
                peers: vec![Peer { name: name.into(), paths, ..Peer::default() }],
                ..Snapshot::default()
            }
        };
        timeline.end_gone(&snapshot("alice", 5), 2.0);
        assert_eq!(texts(&timeline), ["alice's path 192.0.2.1:5 is dead"]);
        timeline.end_gone(&snapshot("alice", 6), 3.5);
        assert_eq!(texts(&timeline), ["alice's path 192.0.2.1:5 was dead for 2.5 s"]);
        assert_eq!((lasting(&timeline), timeline.outages.len()), (0, 0));
        timeline.take(&[Happened { seq: 2, at_ns: 0, what: of_client(5, "down") }], true, |_| 4.0);
        timeline.end_gone(&snapshot("bob", 5), 5.0);
        assert!(timeline.outages.is_empty(), "another client has that address now");
    }

    #[test]
    fn an_outage_goes_on_while_the_daemon_does_not_answer() {
        let (mut timeline, wall) = (Timeline::default(), |ns: u64| ns as f64 / 1e9);
        timeline.take(&[state(10, "wan2", "down")], false, wall);
        timeline.daemon_silent(2.0, "the daemon does not answer");
        assert_eq!((lasting(&timeline), timeline.seen()), (0, 10));
        timeline.daemon_answers();
        assert_eq!(lasting(&timeline), 1);
        timeline.take(&[state(50, "wan2", "active")], false, wall);
        assert_eq!(texts(&timeline), ["the daemon does not answer", "wan2 was dead for 4.0 s"]);
        timeline.daemon_ended(6.0, "the daemon started again");
        assert_eq!((lasting(&timeline), timeline.seen()), (0, 0));
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
