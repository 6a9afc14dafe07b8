//! The paths of a session.

use crate::api::PathSpec;
use crate::config::Config;
use crate::engine::Carried;
use crate::path::sent::{AckCheck, Outcome};
use crate::path::{Class, ClockOffset, Path, PathId};
use crate::wire::{AckFrame, MAX_PATHS};
use arrayvec::ArrayVec;
use core::ops::{Index, IndexMut};
use ropewalk_cc::Sibling;
use ropewalk_session::ReplayWindow;
use ropewalk_time::{Duration, Time};
use std::collections::BTreeMap;

/// What a path has carried.
fn carried(path: &Path) -> Carried {
    Carried { sent: path.traffic.sent_bytes, received: path.traffic.received_bytes }
}

/// For so long one path may be the one that probes for bandwidth.
const PROBE_TURN: Duration = Duration::from_millis(600);

/// What outlives a path. The next one with its identifier goes on from there: a number sealed twice under one key would be a nonce used
/// twice, one opened twice a replay, and what a gateway may use the path for is the client's to say.
#[derive(Debug)]
struct Retired {
    next_number: u64,
    /// The peer's totals of CE marks go on as well, and this end's.
    marks: [u16; 2],
    replay: ReplayWindow,
    class: Class,
    status_seen: Option<u16>,
}

/// A session's paths, in the order in which they came, and what they have in common.
#[derive(Debug)]
pub(crate) struct PathSet {
    paths: Vec<Path>,
    retired: BTreeMap<PathId, Retired>,
    /// What paths have carried that are gone.
    carried: Carried,
    /// By identifier.
    weights: [u32; MAX_PATHS],
    /// Makes one-way delays comparable.
    clock: ClockOffset,
    /// What coupled controllers see, filled for each call.
    siblings: Vec<Sibling>,
    /// Number of the last change of a class.
    status_seq: u16,
    /// Position of the path that may probe for more bandwidth, and since when.
    probe_turn: usize,
    probe_since: Time,
}

impl PathSet {
    pub(super) fn new(now: Time) -> PathSet {
        PathSet {
            paths: Vec::new(),
            retired: BTreeMap::new(),
            carried: Carried::default(),
            weights: [1; MAX_PATHS],
            clock: ClockOffset::default(),
            siblings: Vec::new(),
            status_seq: 0,
            probe_turn: 0,
            probe_since: now,
        }
    }

    /// Makes a path; `path` may be one that was there before.
    pub(super) fn insert(
        &mut self,
        id: PathId,
        spec: PathSpec,
        is_client: bool,
        config: &Config,
    ) -> &mut Path {
        let controller = config.congestion.controller(u64::from(crate::path::pmtu::BASE));
        let mut path = Path::new(id, spec.route, spec.interface_mtu, controller, config.in_flight);
        path.class = spec.class;
        let before = self.retired.remove(&id);
        // The gateway may know the identifier with another class.
        let is_told = is_client && (spec.class != Class::default() || before.is_some());
        path.control.status_due = is_told;
        self.status_seq = self.status_seq.wrapping_add(u16::from(is_told));
        if let Some(before) = before {
            path.begin_at(before.next_number, before.marks);
            path.replay = before.replay;
            if !is_client {
                (path.class, path.status_seen) = (before.class, before.status_seen);
            }
        }
        path.address.unproven = (!is_client).then_some(0);
        self.set_weight(id, spec.weight);
        self.paths.push(path);
        self.paths.last_mut().expect("it was pushed")
    }

    /// Takes a path away; what must outlive it is kept.
    pub(super) fn retire(&mut self, id: PathId) {
        let Some(at) = self.paths.iter().position(|p| p.id == id) else { return };
        let path = self.paths.remove(at);
        self.carried.add(carried(&path));
        let (next_number, marks) = (path.sent.next_number(), path.marks());
        let (replay, class, status_seen) = (path.replay, path.class, path.status_seen);
        self.retired.insert(id, Retired { next_number, marks, replay, class, status_seen });
    }

    /// What the session has carried, on paths that are gone, too.
    pub(crate) fn carried(&self) -> Carried {
        let mut all = self.carried;
        self.paths.iter().for_each(|path| all.add(carried(path)));
        all
    }

    /// The session begins anew: the same paths, of which nothing is known.
    pub(super) fn restart(&mut self, is_client: bool, config: &Config, mut made: impl FnMut(&mut Path)) {
        self.retired.clear();
        self.clock = ClockOffset::default();
        for old in std::mem::take(&mut self.paths) {
            let weight = self.weight(old.id);
            let spec =
                PathSpec { route: old.route, interface_mtu: old.mtu.interface(), class: old.class, weight };
            let path = self.insert(old.id, spec, is_client, config);
            // That an allowance is used up is no news of the session.
            path.control.exhausted_told = old.control.exhausted_told;
            made(path);
        }
    }

    /// Which numbers of this path, or of one before it with the same identifier, were seen.
    pub(super) fn replay_of(&self, id: PathId) -> Option<&ReplayWindow> {
        let retired = || self.retired.get(&id).map(|r| &r.replay);
        self.get(id).map(|p| &p.replay).or_else(retired)
    }

    /// An identifier that no path has.
    pub(super) fn free_id(&self) -> Option<PathId> {
        PathId::all().find(|id| self.get(*id).is_none())
    }

    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.paths.iter().find(|p| p.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.iter_mut().find(|p| p.id == id)
    }

    pub(crate) fn as_slice(&self) -> &[Path] {
        &self.paths
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Path> {
        self.paths.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> core::slice::IterMut<'_, Path> {
        self.paths.iter_mut()
    }

    pub(crate) fn ids(&self) -> ArrayVec<PathId, MAX_PATHS> {
        self.paths.iter().map(|p| p.id).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub(crate) fn weight(&self, id: PathId) -> u32 {
        self.weights[id.index()]
    }

    pub(crate) fn set_weight(&mut self, id: PathId, weight: u32) {
        self.weights[id.index()] = weight.max(1);
    }

    /// A client changes the class of a path, and says so.
    pub(crate) fn set_class(&mut self, id: PathId, class: Class) {
        if let Some(p) = self.get_mut(id) {
            (p.class, p.control.exhausted_told) = (class, false);
        }
        self.tell_class(id);
    }

    /// The gateway is told of a path's class; what was said of it before and comes late is old.
    pub(super) fn tell_class(&mut self, id: PathId) {
        self.status_seq = self.status_seq.wrapping_add(1);
        if let Some(p) = self.get_mut(id) {
            p.control.status_due = true;
        }
    }

    pub(super) fn status_seq(&self) -> u16 {
        self.status_seq
    }

    /// For so long a packet may be under way from its first fragment to its last: past that the receiver no longer waits.
    pub(super) fn repair_time(&self) -> Duration {
        let usable = self.paths.iter().filter(|p| p.is_usable());
        let best = usable.map(|p| p.rtt.smoothed() + p.rtt.deviation() * 2).min();
        let best = best.unwrap_or(Duration::from_millis(100));
        (best * 4 + Duration::from_millis(30)).clamp(Duration::from_millis(60), Duration::from_millis(500))
    }

    /// Difference of delay between the slowest and the fastest path in use.
    pub(super) fn spread(&self) -> Duration {
        spread(self.paths.iter().filter(|p| p.is_usable()))
    }

    /// Fills `siblings` for the coupled controllers; `own` is the path that is called.
    fn snapshot_siblings(&mut self, own: PathId) {
        self.siblings.clear();
        for p in self.paths.iter().filter(|p| p.is_usable()) {
            self.siblings.push(Sibling { is_self: p.id == own, ..p.as_sibling() });
        }
    }

    /// The peer acknowledged datagrams of a path; what became of them is in `out`.
    pub(super) fn on_ack(&mut self, id: PathId, now: Time, ack: &AckFrame, out: &mut Outcome) -> AckCheck {
        self.snapshot_siblings(id);
        let Some(p) = self.paths.iter_mut().find(|p| p.id == id) else { return AckCheck::Absurd };
        p.on_ack(now, ack, &mut self.clock, &self.siblings, out)
    }

    /// Datagrams of a path were declared lost.
    pub(super) fn on_losses(&mut self, id: PathId, now: Time, out: &Outcome) {
        self.snapshot_siblings(id);
        if let Some(p) = self.paths.iter_mut().find(|p| p.id == id) {
            p.on_losses(now, &self.siblings, out);
        }
    }

    /// One path at a time looks for more bandwidth: the others' queues stay short for the low-latency class meanwhile.
    pub(super) fn pass_probe_turn(&mut self, now: Time) {
        let n = self.paths.len();
        if n == 0 || now.since(self.probe_since) < PROBE_TURN {
            return;
        }
        // A path that is starting needs no leave, so it does not hold the turn against the others.
        let holder = &self.paths[self.probe_turn % n].cc;
        if holder.is_probing() && !holder.is_starting() && now.since(self.probe_since) < PROBE_TURN * 4 {
            return;
        }
        let mut order = (1..=n).map(|k| (self.probe_turn + k) % n);
        let next = order.find(|i| !self.paths[*i].cc.is_starting());
        self.probe_turn = next.unwrap_or((self.probe_turn + 1) % n);
        self.probe_since = now;
        for (i, p) in self.paths.iter_mut().enumerate() {
            p.cc.allow_probe(n == 1 || i == self.probe_turn);
        }
    }
}

impl Index<PathId> for PathSet {
    type Output = Path;

    fn index(&self, id: PathId) -> &Path {
        self.get(id).expect("a path of this session")
    }
}

impl IndexMut<PathId> for PathSet {
    fn index_mut(&mut self, id: PathId) -> &mut Path {
        self.get_mut(id).expect("a path of this session")
    }
}

/// Difference of delay between the slowest and the fastest of these paths.
pub(super) fn spread<'a>(paths: impl Iterator<Item = &'a Path>) -> Duration {
    let ranges = paths.filter_map(|p| p.rtt.one_way_us_range());
    let ends = ranges.map(|r| (r[0], r[1])).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let (fastest, slowest) = ends.unwrap_or_default();
    Duration::from_micros(u64::try_from(slowest - fastest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Route, path_id};
    use ropewalk_cc::Algorithm;

    const RTT: Duration = Duration::from_millis(20);

    /// A client takes a path away and adds it again, while the gateway's path goes on.
    #[test]
    fn marks_of_a_path_before_are_not_taken_twice_and_what_came_is_told_in_total() {
        let config = Config { congestion: Algorithm::Cubic, ..Config::default() };
        let (mut set, id, mut now) = (PathSet::new(Time::ZERO), path_id(0), Time::from_secs(1));
        let route = Route { link: 0, remote: "192.0.2.1:4500".parse().unwrap(), local: None };
        let spec = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
        let mut out = Outcome::default();
        for (number, has_news) in [(0u16, true), (1, false)] {
            let path = set.insert(id, spec, true, &config);
            let before = path.cc.window();
            path.on_sent(now, 1200, true, &[], None);
            path.recv.on_packet(number.into(), now, true, true, RTT);
            now += RTT;
            let mut ack = AckFrame { largest: number.into(), ce_total: 7, ..AckFrame::default() };
            ack.ranges.push((0, 1));
            assert_eq!(set.on_ack(id, now, &ack, &mut out), AckCheck::Taken);
            assert_eq!(set[id].cc.window() < before, has_news, "path {number}");
            let told = set[id].recv.acknowledge(0, now).map(|ack| ack.ce_total);
            assert_eq!(told, Some(number + 1));
            set.retire(id);
        }
    }
}
