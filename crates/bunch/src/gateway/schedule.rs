//! Who forwards what.

use super::member::Member;
use super::session::{Entry, State};
use crate::Time;
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

    /// Each by whom it is expected first.
    pub(super) fn expected(&mut self, now: Time) -> Plan {
        let mut plan = Plan::new();
        let windows: Vec<f64> = self.members.iter().map(|m| m.delivery.window(now)).collect();
        let numbers: Vec<u64> = self.pending.iter().copied().take(LOOK).collect();
        // What only the home access point holds would wait for it: others go first if they can.
        let busy = self.pending.len() > 4 * self.members.len();
        for number in numbers {
            let Some(entry) = self.entries.get(&number) else { continue };
            let len = u64::from(entry.len) + 16;
            let has_room =
                |i: usize| (self.members[i].delivery.outstanding + len) as f64 <= windows[i].max(len as f64);
            let with_room: Vec<usize> = (0..self.members.len()).filter(|i| has_room(*i)).collect();
            if with_room.is_empty() {
                break;
            }
            let holders = with_room.iter().filter(|i| holds(&self.members[**i], number, entry));
            let key = |i: &usize| {
                let m = &self.members[*i];
                let last = entry.avoid == Some(m.apid);
                (last, busy && m.is_home(), m.delivery.expected(len, now), m.apid)
            };
            if let Some(i) = holders.copied().min_by_key(key) {
                self.give(i, number, len, now, &mut plan);
            }
        }
        plan
    }

    fn give(&mut self, i: usize, number: u64, bytes: u64, now: Time, plan: &mut Plan) {
        let member = &mut self.members[i];
        self.pending.remove(&number);
        member.delivery.ask(number, bytes, !self.pending.is_empty(), now);
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.state = State::Asked(member.apid);
        }
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
