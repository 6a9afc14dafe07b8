//! What an access point knows of one session.

use super::{Custody, Packet};
use crate::elide::Elision;
use crate::hash::{self, Key};
use crate::inner::TCP;
use crate::numbers::Numbers;
use crate::wire::report::{MAX_RUNS, MAX_SPAN};
use crate::wire::{Heard, List, Message, Register, Run};
use crate::{Flow, Time};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddrV4;

/// A datagram is of no use any more after so long: UDP has no acknowledgement that would say so.
const STALE: Duration = Duration::from_secs(2);

/// A captured packet.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) packet: Packet,
    pub(super) seq: u32,
    pub(super) len: u32,
    pub(super) stamp: Option<u32>,
    pub(super) at: Time,
}

/// What the gateway answered to REGISTER.
#[derive(Clone, Debug)]
struct Registration {
    apid: u8,
    key: Key,
    audit: Option<Key>,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: u8,
    pub(super) flow: Flow,
    pub(super) home: bool,
    pub(super) outer: Option<SocketAddrV4>,
    pub(super) numbers: Numbers,
    pub(super) held: BTreeMap<u64, Held>,
    pub(super) elision: Elision,
    pub(super) native: bool,
    pub(super) heard_at: Time,
    registration: Option<Registration>,
    /// Held and not reported in this tunnel.
    fresh: BTreeSet<u64>,
    scheduled: VecDeque<u64>,
    captured: u64,
    /// Of the packets that it holds.
    bytes: usize,
}

impl Session {
    pub(super) fn new(id: u8, flow: Flow, home: bool, now: Time) -> Session {
        Session {
            id,
            flow,
            home,
            outer: None,
            numbers: Numbers::default(),
            held: BTreeMap::new(),
            elision: Elision::default(),
            native: true,
            heard_at: now,
            registration: None,
            fresh: BTreeSet::new(),
            scheduled: VecDeque::new(),
            captured: 0,
            bytes: 0,
        }
    }

    /// True once.
    pub(super) fn is_new(&mut self) -> bool {
        self.captured += 1;
        self.captured == 1
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn register(&self, boot: u64) -> Register {
        Register { session: self.id, home: self.home, flow: self.flow, outer: self.outer, boot }
    }

    /// The tunnel is gone or new: what is held is to be reported in the next one.
    pub(super) fn unregister(&mut self) {
        (self.registration, self.native, self.elision) = (None, true, Elision::default());
        self.scheduled.clear();
        self.fresh = self.held.keys().copied().collect();
    }

    pub(super) fn registered(&mut self, apid: u8, key: Key, audit: Option<Key>) {
        self.registration = Some(Registration { apid, key, audit });
    }

    pub(super) fn is_registered(&self) -> bool {
        self.registration.is_some()
    }

    pub(super) fn goes_natively(&self) -> bool {
        self.native || self.registration.is_none()
    }

    /// Bytes that were freed: of another packet that had the number.
    pub(super) fn hold(&mut self, number: u64, held: Held) -> usize {
        let freed = self.forget(number);
        self.bytes += held.packet.len();
        self.fresh.insert(number);
        self.held.insert(number, held);
        freed
    }

    /// Bytes that were freed.
    pub(super) fn forget(&mut self, number: u64) -> usize {
        self.fresh.remove(&number);
        let freed = self.held.remove(&number).map_or(0, |h| h.packet.len());
        self.bytes -= freed;
        freed
    }

    fn forget_all(&mut self, gone: impl Fn(u64, &Held) -> bool) -> usize {
        let numbers: Vec<u64> = self.held.iter().filter(|(n, h)| gone(**n, h)).map(|(n, _)| *n).collect();
        numbers.into_iter().map(|n| self.forget(n)).sum()
    }

    pub(super) fn release(&mut self, below: u64) -> usize {
        match self.flow.protocol {
            TCP => self.forget_all(|_, h| (h.seq.wrapping_add(h.len).wrapping_sub(below as u32) as i32) <= 0),
            _ => self.forget_all(|number, _| number < below),
        }
    }

    pub(super) fn expire(&mut self, now: Time) -> usize {
        if self.flow.protocol == TCP { 0 } else { self.forget_all(|_, h| now >= h.at + STALE) }
    }

    /// Numbers to forward, in this order, if `apid` is this access point's. Bytes that were freed.
    pub(super) fn schedule(&mut self, apid: u8, ranges: &[(u64, u64)], custody: Custody) -> usize {
        let mine = self.registration.as_ref().is_some_and(|r| r.apid == apid);
        let mut freed = 0;
        for (first, count) in ranges {
            let numbers: Vec<u64> = self.held.range(*first..first + count).map(|(n, _)| *n).collect();
            match (mine, custody) {
                (true, _) => {
                    // A number that is scheduled again was lost: it is written again.
                    let room = (4 * MAX_SPAN as usize).saturating_sub(self.scheduled.len());
                    self.scheduled.extend(numbers.into_iter().take(room));
                }
                (false, Custody::UntilScheduled) => {
                    freed += numbers.into_iter().map(|n| self.forget(n)).sum::<usize>();
                }
                (false, Custody::UntilAcknowledged) => {}
            }
        }
        freed
    }

    pub(super) fn next_scheduled(&mut self) -> Option<(u64, Held)> {
        while let Some(number) = self.scheduled.pop_front() {
            if let Some(held) = self.held.get(&number) {
                return Some((number, held.clone()));
            }
        }
        None
    }

    /// The next report; none if all is reported.
    pub(super) fn report(&mut self, room: u64) -> Option<Message> {
        let registration = self.registration.clone()?;
        let first = *self.fresh.first()?;
        let (mut runs, mut numbers, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(&number) = self.fresh.first() {
            let Some(held) = self.held.get(&number) else { break };
            let full = marks.len() as u64 >= MAX_RUNS || number - first >= MAX_SPAN;
            if full || (self.home && !extend(&mut runs, number, held, self.flow.protocol == TCP)) {
                break;
            }
            let audited = registration.audit.is_some_and(|key| hash::is_audited(&key, number));
            if hash::is_anchor(number) || audited {
                marks.push((number, hash::packet(&registration.key, &held.packet)));
            }
            numbers.push(number);
            self.fresh.pop_first();
        }
        let session = self.id;
        Some(match self.home {
            true => Message::List(List { session, room, runs, marks }),
            false => Message::Heard(Heard { session, room, numbers, marks }),
        })
    }
}

/// Adds a packet to runs; false if that would be one run too many. Datagrams have no place.
fn extend(runs: &mut Vec<Run>, number: u64, held: &Held, tcp: bool) -> bool {
    if let Some(run) = runs.last_mut() {
        let next = run.seq.wrapping_add(run.len.wrapping_mul(run.count as u32));
        let follows = run.first + run.count == number && run.len == held.len;
        if follows && run.stamp.is_some() == held.stamp.is_some() && (!tcp || next == held.seq) {
            run.count += 1;
            return true;
        }
    }
    let run = Run { first: number, count: 1, seq: held.seq, len: held.len, stamp: held.stamp };
    runs.push(run);
    runs.len() as u64 <= MAX_RUNS || runs.pop().is_none()
}
