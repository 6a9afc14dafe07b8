//! Who forwards what.

use super::member::Member;
use super::session::{Entry, State};
use crate::Time;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers that are looked at in one turn: a bound of its work.
const LOOK: usize = 2048;

/// How a packet's holder is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// The first that reports it and whose send buffer has room (paper 002 §3.4).
    FirstCome,
    /// The one by which it is expected first; each is asked for no more than keeps it busy.
    #[default]
    ExpectedDelivery,
}

/// What one access point is to forward, in order.
pub(super) type Plan = BTreeMap<u8, Vec<u64>>;

/// What is chosen from.
pub(super) struct Table<'a> {
    pub(super) members: &'a mut [Member],
    pub(super) entries: &'a mut BTreeMap<u64, Entry>,
    pub(super) pending: &'a mut BTreeSet<u64>,
}

impl Table<'_> {
    /// The first reporter with room: `reporter` has just reported.
    pub(super) fn first_come(&mut self, reporter: u8, now: Time) -> Plan {
        let mut plan = Plan::new();
        let Some(i) = self.members.iter().position(|m| m.apid == reporter) else {
            return plan;
        };
        let numbers: Vec<u64> = self.pending.iter().copied().take(LOOK).collect();
        for number in numbers {
            let Some(entry) = self.entries.get(&number) else { continue };
            let (len, member) = (u64::from(entry.len) + 16, &self.members[i]);
            if member.room < len {
                break;
            }
            if holds(member, number, entry) && entry.avoid != Some(reporter) {
                self.members[i].room -= len;
                self.give(i, number, len, now, &mut plan);
            }
        }
        plan
    }

    /// Each by whom it is expected first. With `copies` a packet may be asked of several at once.
    pub(super) fn expected(&mut self, copies: bool, now: Time) -> Plan {
        let mut plan = Plan::new();
        let windows: Vec<f64> = self.members.iter().map(|m| m.delivery.window(now)).collect();
        let numbers: Vec<u64> = self.pending.iter().copied().take(LOOK).collect();
        // What only the home access point holds would wait for it: others go first if they can.
        let busy = self.pending.len() > 4 * self.members.len();
        let all_in_doubt = self.members.iter().all(|m| m.delivery.is_in_doubt);
        for number in numbers {
            let Some(entry) = self.entries.get(&number) else { continue };
            let len = u64::from(entry.len) + 16;
            let has_room = |i: &usize| {
                (self.members[*i].delivery.outstanding + len) as f64 <= windows[*i].max(len as f64)
            };
            let with_room: Vec<usize> = (0..self.members.len()).filter(has_room).collect();
            // Those in doubt are asked beside others, so where the others are full all wait.
            let counts = |i: &usize| all_in_doubt || !self.members[*i].delivery.is_in_doubt;
            if !with_room.iter().any(counts) {
                break;
            }
            let Some(first) = self.choose(number, entry, &with_room, busy, now) else { continue };
            let others = if copies { self.beside(number, entry, &with_room, first) } else { Vec::new() };
            self.give(first, number, len, now, &mut plan);
            for i in others {
                self.ask(i, false, number, len, now, &mut plan);
            }
        }
        plan
    }

    /// Of those with room the one that is to bring a packet. One in doubt only if nobody else has
    /// the packet.
    fn choose(
        &self,
        number: u64,
        entry: &Entry,
        with_room: &[usize],
        busy: bool,
        now: Time,
    ) -> Option<usize> {
        let len = u64::from(entry.len) + 16;
        let key = |i: &usize| {
            let m = &self.members[*i];
            let last = entry.avoid == Some(m.apid);
            // What has failed once goes to whoever gave the last sign of life: several may be dead.
            let silence = if entry.avoid.is_some() { m.silence(now) } else { Duration::ZERO };
            let expected = m.delivery.expected(len, now);
            (m.delivery.is_in_doubt, last, silence, busy && m.is_home(), expected, m.apid)
        };
        let holders = with_room.iter().copied().filter(|i| holds(&self.members[*i], number, entry));
        let first = holders.min_by_key(key)?;
        let is_sure = |m: &Member| !m.delivery.is_in_doubt && holds(m, number, entry);
        let waits = self.members[first].delivery.is_in_doubt && self.members.iter().any(is_sure);
        (!waits).then_some(first)
    }

    /// Who is asked for a packet beside `first`: each holder in doubt, since only what it brings
    /// shows that it lives; and if the packet has failed once, each that has nothing else to do.
    fn beside(&self, number: u64, entry: &Entry, with_room: &[usize], first: usize) -> Vec<usize> {
        let failed = entry.avoid.is_some();
        let is_free = |m: &Member| m.delivery.outstanding == 0 && (failed || m.delivery.is_in_doubt);
        let is_asked = |m: &Member| is_free(m) && holds(m, number, entry);
        with_room.iter().copied().filter(|i| *i != first && is_asked(&self.members[*i])).collect()
    }

    fn give(&mut self, i: usize, number: u64, bytes: u64, now: Time, plan: &mut Plan) {
        self.pending.remove(&number);
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.state = State::Asked(self.members[i].apid);
        }
        let more = !self.pending.is_empty();
        self.ask(i, more, number, bytes, now, plan);
    }

    /// `more`: there is more to ask this member for.
    fn ask(&mut self, i: usize, more: bool, number: u64, bytes: u64, now: Time, plan: &mut Plan) {
        let member = &mut self.members[i];
        member.delivery.ask(number, bytes, more, now);
        plan.entry(member.apid).or_default().push(number);
    }
}

/// Whether a member says that it holds a number.
fn holds(member: &Member, number: u64, entry: &Entry) -> bool {
    if member.is_home() { entry.at_home } else { member.held.contains(&number) }
}

/// Numbers in order, as first and count.
pub(super) fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match out.last_mut() {
            Some((first, count)) if *first + *count == n => *count += 1,
            _ => out.push((n, 1)),
        }
    }
    out
}
