//! CE marks on what arrives by worse access points, so that senders move to better ones
//! (`ropewalk_roam::mark`, paper 001 §5.2).
//!
//! Once a second each MPTCP subflow by which data come gets the share of its segments that is to be
//! marked; a BPF program marks them (`ropewalk_kern::marks`). MP_PRIO follows where a sender
//! does not answer them.

use crate::config;
use ropewalk_kern::KernError;
use ropewalk_kern::marks::{Marks as Program, SUBFLOWS, Subflow, SubflowCounts};
use ropewalk_net::offloads::set_gro;
use ropewalk_net::setup::{Journal, ask_for_marks};
use ropewalk_net::subflows::Busy;
use ropewalk_roam::mark::{Law, Marker, RoundTrips};
use ropewalk_roam::priority::Marks as Rule;
use ropewalk_roam::response::{Response, ResponseTest};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A subflow by which nothing came for this long is forgotten.
const KEPT: Duration = Duration::from_secs(60);
/// A policy is set anew when its share or its round trip has changed by this part.
const CHANGE: f64 = 0.05;

/// An access point in use.
#[derive(Clone, Debug)]
pub(super) struct Uplink {
    /// Its interface's number.
    pub index: u32,
    /// Its interface's name.
    pub name: String,
    /// Addresses by which subflows are known.
    pub addresses: Vec<IpAddr>,
    /// Air of a packet.
    pub packet_time: Duration,
}

/// What marks do by an access point.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MarkStatus {
    /// For the rules of priorities.
    pub rule: Rule,
    /// What `status` shows beside the state; often nothing.
    pub note: String,
    /// Segments that could be marked, and those that were, since the access point was joined.
    pub segments: (u64, u64),
}

impl MarkStatus {
    /// The status from now on: one that rests carries nothing, so it keeps its last note.
    pub(super) fn after(self, before: MarkStatus, rests: bool) -> MarkStatus {
        if rests && self.note.is_empty() { MarkStatus { note: before.note, ..self } } else { self }
    }

    /// A note with its own behind it.
    pub(super) fn with(&self, note: &str) -> String {
        if self.note.is_empty() { note.to_owned() } else { format!("{note}; {}", self.note) }
    }
}

/// Who marks: the BPF program, or a test's.
pub(super) trait Kernel {
    /// Looks at what arrives by an interface.
    fn attach(&mut self, uplink: &Uplink) -> Result<(), KernError>;
    /// Looks at it no more.
    fn detach(&mut self, index: u32) -> Result<(), KernError>;
    /// Has a share marked, at least `spacing` apart; false without room.
    fn set_policy(&mut self, subflow: Subflow, share: f64, spacing: Duration) -> Result<bool, KernError>;
    /// Marks it no more.
    fn forget(&mut self, subflow: Subflow) -> Result<(), KernError>;
    /// What came by a subflow.
    fn subflow_counts(&self, subflow: Subflow) -> Result<Option<SubflowCounts>, KernError>;
    /// Segments of an interface that could be marked, and those that were.
    fn interface_counts(&self, index: u32) -> Result<(u64, u64), KernError>;
}

impl Kernel for Program {
    fn attach(&mut self, uplink: &Uplink) -> Result<(), KernError> {
        Program::attach(self, uplink.index)?;
        // A mark is for one segment, and GRO comes before the program (trap T-14). The interface is
        // ours and ends with the station, so there is nothing to put back.
        if let Err(error) = set_gro(&uplink.name, false) {
            tracing::warn!(interface = uplink.name, %error, "GRO stays on: whole super-packets are marked");
        }
        Ok(())
    }

    fn detach(&mut self, index: u32) -> Result<(), KernError> {
        Program::detach(self, index)
    }

    fn set_policy(&mut self, subflow: Subflow, share: f64, spacing: Duration) -> Result<bool, KernError> {
        Program::set_policy(self, subflow, share, spacing)
    }

    fn forget(&mut self, subflow: Subflow) -> Result<(), KernError> {
        Program::forget(self, subflow)
    }

    fn subflow_counts(&self, subflow: Subflow) -> Result<Option<SubflowCounts>, KernError> {
        Program::subflow_counts(self, subflow)
    }

    fn interface_counts(&self, index: u32) -> Result<(u64, u64), KernError> {
        Ok(Program::interface_counts(self, index)?.map_or((0, 0), |c| (c.ect, c.marked)))
    }
}

/// A subflow that is marked, or would be.
#[derive(Debug)]
struct Marked {
    index: u32,
    trips: RoundTrips,
    marker: Marker,
    response: ResponseTest,
    policy: Option<(f64, Duration)>,
    /// Counters of the last update, and what came between the last two.
    seen: SubflowCounts,
    came: SubflowCounts,
    last: Duration,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Marking<K = Program> {
    kernel: K,
    /// Interfaces that are attached, or could not be.
    uplinks: BTreeMap<u32, bool>,
    subflows: BTreeMap<Subflow, Marked>,
}

/// Loads the program and has this machine's connections ask for ECN, if that is wanted; what does
/// not work comes back as a note. Needs root.
pub(super) fn start(
    roam: &config::Roam,
    has_mptcp: bool,
    journal: &mut Journal,
) -> anyhow::Result<(Option<Marking>, Option<String>)> {
    if !roam.marks {
        return Ok((None, None));
    }
    if !has_mptcp {
        return Ok((None, Some("marks need MPTCP: nothing is marked".into())));
    }
    match Program::load() {
        Ok(program) => {
            ask_for_marks(journal)?;
            Ok((Some(Marking::new(program)), None))
        }
        Err(error) => {
            tracing::warn!("nothing is marked: {error}");
            Ok((None, Some(format!("nothing is marked: {error}"))))
        }
    }
}

impl<K: Kernel> Marking<K> {
    fn new(kernel: K) -> Marking<K> {
        Marking { kernel, uplinks: BTreeMap::new(), subflows: BTreeMap::new() }
    }

    /// To be called once a second, with the access points in use and the subflows by which data
    /// come; gives what marks do by each access point.
    pub(super) fn update(&mut self, uplinks: &[Uplink], busy: &[Busy], now: Duration) -> Vec<MarkStatus> {
        self.attach(uplinks);
        let best = uplinks.iter().map(|w| w.packet_time).min().unwrap_or_default();
        let mut without_ecn: BTreeSet<u32> = BTreeSet::new();
        for subflow in busy {
            let Some(uplink) = uplinks.iter().find(|w| w.addresses.contains(&subflow.local.ip())) else {
                continue;
            };
            if !subflow.tcp.has_ecn {
                without_ecn.insert(uplink.index);
                continue;
            }
            if let Err(error) = self.steer(uplink, best, subflow, now) {
                tracing::debug!(%error, "a subflow is not marked");
            }
        }
        let gone = |(name, m): (&Subflow, &Marked)| {
            let stays = now.saturating_sub(m.last) < KEPT && uplinks.iter().any(|w| w.index == m.index);
            (!stays).then_some(*name)
        };
        for name in self.subflows.iter().filter_map(gone).collect::<Vec<_>>() {
            self.subflows.remove(&name);
            log(self.kernel.forget(name));
        }
        uplinks.iter().map(|uplink| self.status(uplink, without_ecn.contains(&uplink.index), now)).collect()
    }

    fn attach(&mut self, uplinks: &[Uplink]) {
        let gone: Vec<u32> =
            self.uplinks.keys().copied().filter(|i| uplinks.iter().all(|w| w.index != *i)).collect();
        for index in gone {
            self.uplinks.remove(&index);
            log(self.kernel.detach(index));
        }
        for uplink in uplinks {
            if self.uplinks.contains_key(&uplink.index) {
                continue;
            }
            // Also if it fails: it is not tried again every second.
            let attached = self.kernel.attach(uplink);
            self.uplinks.insert(uplink.index, attached.is_ok());
            if let Err(error) = attached {
                tracing::warn!(interface = uplink.name, "nothing is marked: {error}");
            }
        }
    }

    /// One subflow: its round trips, its share, and what came of it.
    fn steer(
        &mut self,
        uplink: &Uplink,
        best: Duration,
        busy: &Busy,
        now: Duration,
    ) -> Result<(), KernError> {
        let name = Subflow { from: plain(busy.remote), to: plain(busy.local) };
        if !self.subflows.contains_key(&name) && self.subflows.len() >= SUBFLOWS {
            return Ok(());
        }
        let marked = self.subflows.entry(name).or_insert_with(|| Marked {
            index: uplink.index,
            trips: RoundTrips::default(),
            marker: Marker::new(Law::Corrected),
            response: ResponseTest::default(),
            policy: None,
            seen: SubflowCounts::default(),
            came: SubflowCounts::default(),
            last: now,
        });
        marked.last = now;
        let least = busy.tcp.rtt_min;
        if least.as_micros() < u32::MAX.into() {
            marked.trips.on_least(least);
        }
        marked.trips.on_sample(busy.tcp.rtt_at_receiver, now);
        marked.marker.update(uplink.packet_time, best, &marked.trips);
        let rtt = marked.trips.smoothed().unwrap_or_default();
        let wanted = (marked.marker.rate(), rtt);
        if marked.policy.is_none_or(|policy| has_changed(policy, wanted))
            && self.kernel.set_policy(name, wanted.0, rtt)?
        {
            marked.policy = Some(wanted);
        }
        let seen = self.kernel.subflow_counts(name)?.unwrap_or_default();
        let since = |new: u64, old: u64| new.saturating_sub(old);
        marked.came = SubflowCounts {
            ect: since(seen.ect, marked.seen.ect),
            marked: since(seen.marked, marked.seen.marked),
            not_ect: since(seen.not_ect, marked.seen.not_ect),
        };
        marked.seen = seen;
        if wanted.0 > 0.0 {
            marked.response.on_counts(seen.ect, seen.marked, rtt, now);
        } else {
            marked.response.pause();
        }
        Ok(())
    }

    /// The subflows by an access point together, each with the weight of what came by it.
    fn status(&self, uplink: &Uplink, without_ecn: bool, now: Duration) -> MarkStatus {
        let segments = self.kernel.interface_counts(uplink.index).unwrap_or_default();
        let status = |rule, note: String| MarkStatus { rule, note, segments };
        if self.uplinks.get(&uplink.index) != Some(&true) {
            return status(Rule::None, "marks: cannot be set".into());
        }
        let now_busy = self.subflows.values().filter(|m| m.index == uplink.index && m.last == now);
        let (mut all, mut unresponsive, mut tried) = (0, 0, 0);
        let (mut share, mut most) = (0.0_f64, 0.0_f64);
        for m in now_busy {
            all += m.came.ect;
            let rate = m.marker.rate();
            most = most.max(rate);
            share += rate * m.came.ect as f64;
            match m.response.response() {
                Response::Unresponsive => unresponsive += m.came.ect,
                Response::Pending if rate > 0.0 => tried += m.came.ect,
                _ => {}
            }
        }
        if all == 0 {
            let note = if without_ecn { "marks: not ECN" } else { "" };
            return status(Rule::None, note.into());
        }
        if 2 * unresponsive > all {
            return status(Rule::Unanswered, "marks: does not answer".into());
        }
        let rule = if 2 * tried > all { Rule::Tried } else { Rule::None };
        // It is as good as the best, or has no queue to take away.
        if most == 0.0 {
            return status(rule, String::new());
        }
        status(rule, format!("marks: {:.1} %", 100.0 * share / all as f64))
    }
}

fn log(done: Result<(), KernError>) {
    if let Err(error) = done {
        tracing::debug!(%error, "the program that marks");
    }
}

fn has_changed((share, rtt): (f64, Duration), (new_share, new_rtt): (f64, Duration)) -> bool {
    let differs = |a: f64, b: f64| (a - b).abs() > CHANGE * a.max(b);
    differs(share, new_share) || differs(rtt.as_secs_f64(), new_rtt.as_secs_f64())
}

/// Without what belongs to a socket alone: scope and flow label of IPv6.
fn plain(end: SocketAddr) -> SocketAddr {
    SocketAddr::new(end.ip(), end.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::tcp_info::TcpInfo;

    /// A sender, and a program that marks by its policies.
    #[derive(Debug, Default)]
    struct Fake {
        attached: BTreeSet<u32>,
        policies: BTreeMap<Subflow, (f64, Duration)>,
        seen: BTreeMap<Subflow, SubflowCounts>,
        full: bool,
    }

    impl Kernel for Fake {
        fn attach(&mut self, uplink: &Uplink) -> Result<(), KernError> {
            assert!(self.attached.insert(uplink.index), "twice");
            if uplink.name == "bad" { Err(KernError::Damaged("it")) } else { Ok(()) }
        }

        fn detach(&mut self, index: u32) -> Result<(), KernError> {
            assert!(self.attached.remove(&index));
            Ok(())
        }

        fn set_policy(&mut self, subflow: Subflow, share: f64, spacing: Duration) -> Result<bool, KernError> {
            if !self.full {
                self.policies.insert(subflow, (share, spacing));
            }
            Ok(!self.full)
        }

        fn forget(&mut self, subflow: Subflow) -> Result<(), KernError> {
            self.policies.remove(&subflow);
            self.seen.remove(&subflow);
            Ok(())
        }

        fn subflow_counts(&self, subflow: Subflow) -> Result<Option<SubflowCounts>, KernError> {
            Ok(self.seen.get(&subflow).copied())
        }

        fn interface_counts(&self, _: u32) -> Result<(u64, u64), KernError> {
            Ok(self.seen.values().fold((0, 0), |sum, s| (sum.0 + s.ect, sum.1 + s.marked)))
        }
    }

    fn uplink(n: u8, packet_us: u64) -> Uplink {
        Uplink {
            index: n.into(),
            name: format!("roam{n}"),
            addresses: vec![[10, 0, n, 2].into()],
            packet_time: Duration::from_micros(packet_us),
        }
    }

    fn busy(n: u8, port: u16, rtt_ms: u64, has_ecn: bool) -> Busy {
        let tcp = TcpInfo {
            rtt_min: Duration::from_millis(25),
            rtt_at_receiver: Duration::from_millis(rtt_ms),
            has_ecn,
            ..TcpInfo::default()
        };
        Busy { local: ([10, 0, n, 2], 4000).into(), remote: ([192, 0, 2, 1], port).into(), tcp }
    }

    fn name(n: u8, port: u16) -> Subflow {
        Subflow { from: ([192, 0, 2, 1], port).into(), to: ([10, 0, n, 2], 4000).into() }
    }

    /// Looks for so many seconds; `per_s` segments a second come by the worse access point.
    fn run(
        marking: &mut Marking<Fake>,
        seconds: std::ops::Range<u64>,
        (per_s, rtt_ms, has_ecn): (u64, u64, bool),
    ) -> Vec<MarkStatus> {
        let mut status = Vec::new();
        for n in seconds {
            let flows = [busy(1, 80, rtt_ms, has_ecn), busy(2, 80, 25, has_ecn)];
            status = marking.update(&[uplink(1, 3_000), uplink(2, 500)], &flows, Duration::from_secs(n));
            for (port, came) in [(1, per_s), (2, 1_000)] {
                let policy = marking.kernel.policies.get(&name(port, 80)).copied();
                if let Some((share, spacing)) = policy {
                    let seen = marking.kernel.seen.entry(name(port, 80)).or_default();
                    let most = 1.0 / spacing.as_secs_f64().max(1e-3);
                    seen.ect += came;
                    seen.marked += (share * came as f64).min(most) as u64;
                }
            }
        }
        status
    }

    #[test]
    fn the_worse_one_alone_is_marked_and_its_share_is_said() {
        let mut marking = Marking::new(Fake::default());
        // A queue of 100 packets, and a window of 13: it answers.
        let status = run(&mut marking, 0..60, (40, 325, true));
        let (share, spacing) = marking.kernel.policies[&name(1, 80)];
        assert!((share - 0.0286).abs() < 0.002 && spacing > Duration::from_millis(300), "{share}");
        assert_eq!(marking.kernel.policies[&name(2, 80)].0, 0.0);
        assert_eq!((status[0].note.as_str(), status[0].rule), ("marks: 2.9 %", Rule::None));
        assert_eq!((status[1].note.as_str(), status[1].rule), ("", Rule::None));
        // Without a queue there is nothing to take away.
        let status = run(&mut Marking::new(Fake::default()), 0..60, (30, 25, true));
        assert_eq!((status[0].note.as_str(), status[0].rule), ("", Rule::None));
    }

    #[test]
    fn who_does_not_answer_is_said_and_left_to_mp_prio() {
        let mut marking = Marking::new(Fake::default());
        // 330 segments a second over 325 ms: a window of 107, whatever is marked.
        let status = run(&mut marking, 0..40, (330, 325, true));
        assert_eq!((status[0].note.as_str(), status[0].rule), ("marks: does not answer", Rule::Unanswered));
        assert_eq!(status[1].rule, Rule::None);
        // At first it is tried.
        let status = run(&mut Marking::new(Fake::default()), 0..4, (330, 325, true));
        assert_eq!(status[0].rule, Rule::Tried);
    }

    #[test]
    fn one_that_rests_still_says_why() {
        let unresponsive = MarkStatus { note: "marks: does not answer".into(), ..MarkStatus::default() };
        let rests =
            MarkStatus { segments: (5, 1), ..MarkStatus::default() }.after(unresponsive.clone(), true);
        assert_eq!(rests.with("too much air"), "too much air; marks: does not answer");
        assert_eq!((rests.segments, rests.rule), ((5, 1), Rule::None));
        assert_eq!(MarkStatus::default().after(unresponsive, false).with("too much air"), "too much air");
    }

    #[test]
    fn without_ecn_nothing_is_told_to_the_program() {
        let mut marking = Marking::new(Fake::default());
        let status = run(&mut marking, 0..10, (330, 325, false));
        assert_eq!((status[0].note.as_str(), status[0].rule), ("marks: not ECN", Rule::None));
        assert!(marking.kernel.policies.is_empty() && marking.subflows.is_empty());
    }

    #[test]
    fn what_has_gone_is_forgotten_and_there_is_a_bound() {
        let mut marking = Marking::new(Fake::default());
        run(&mut marking, 0..2, (330, 325, true));
        assert_eq!(marking.kernel.attached, [1, 2].into());
        let update = |marking: &mut Marking<Fake>, uplinks: &[Uplink], flows: &[Busy], s: u64| {
            marking.update(uplinks, flows, Duration::from_secs(s))
        };
        update(&mut marking, &[uplink(2, 500)], &[busy(2, 80, 25, true)], 2);
        assert_eq!((marking.kernel.attached.clone(), marking.subflows.len()), ([2].into(), 1));
        update(&mut marking, &[uplink(2, 500)], &[], 63);
        assert!(marking.subflows.is_empty() && marking.kernel.policies.is_empty());
        let many: Vec<Busy> = (0..1_000).map(|port| busy(2, port, 25, true)).collect();
        update(&mut marking, &[uplink(2, 500)], &many, 64);
        assert_eq!(marking.subflows.len(), SUBFLOWS);
        // A subflow of nobody's address, and an interface that cannot be attached.
        update(&mut marking, &[uplink(2, 500)], &[busy(9, 80, 25, true)], 65);
        let bad = Uplink { name: "bad".into(), ..uplink(3, 500) };
        assert_eq!(update(&mut marking, std::slice::from_ref(&bad), &[], 66)[0].note, "marks: cannot be set");
        update(&mut marking, &[bad], &[], 67);
    }

    #[test]
    fn a_program_without_room_is_asked_again() {
        let mut marking = Marking::new(Fake { full: true, ..Fake::default() });
        run(&mut marking, 0..3, (330, 325, true));
        assert!(marking.subflows.values().all(|m| m.policy.is_none()));
        marking.kernel.full = false;
        run(&mut marking, 3..4, (330, 325, true));
        assert_eq!(marking.kernel.policies.len(), 2);
    }
}
