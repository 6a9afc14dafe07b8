//! One session: the members' reports put together, what is to be forwarded, what has come.

use super::member::Member;
use super::schedule::{Plan, Scheduling, Table, ranges};
use super::stream::{Act, Stream};
use super::{Account, Config, Counts, Output, SessionView, Tunnel};
use crate::hash::{self, Key};
use crate::inner::{self, Inner, TCP, UDP};
use crate::wire::{Data, Message};
use crate::{Flow, Time};
use core::ops::Range;
use core::time::Duration;
use ropewalk_pep::Bypass;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddrV4;

mod members;
mod reports;

/// Packets that are known and not done: a bound of memory. 4 MiB of stream are 3000.
const MAX_ENTRIES: usize = 1 << 16;
/// Hashes that the home access point told of them: one packet of 64, and one of 32.
const MAX_MARKS: usize = MAX_ENTRIES / 16;
/// A sender is answered so often for what one list has again: it needs one answer.
const MAX_ANSWERS: usize = 64;
/// Nobody but the home access point hears the sender, if nobody said so for this long.
const ALONE: Duration = Duration::from_secs(2);
/// A datagram that was asked for and did not come in this time is given up; its holders forget it then.
const STALE: Duration = Duration::from_secs(2);
/// One that nobody had room for in this time is dropped, as a router's queue would drop it.
const QUEUE: Duration = Duration::from_millis(200);
/// A connection that has ended, or a flow without packets, is forgotten. Of one that was reset from
/// here both ends may have missed it, and are told again for as long as a flow is kept.
const DEAD: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(300);
/// Holders are told what they may forget no more often: each message has headers of its own, and is
/// acknowledged over an uplink.
const RELEASES: Duration = Duration::from_millis(100);
/// A shorter way may be longer again after this (RFC 1191 §6.3).
const SHORT: Duration = Duration::from_secs(600);
/// What each host takes whole (RFC 791): whoever says less is not believed, or does not say how
/// much.
const LEAST_MTU: u16 = 576;

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// To be forwarded by somebody.
    Pending,
    /// A member was asked for it.
    Asked(u8),
    /// It came, or is not needed.
    Done,
}

/// A packet that the home access point listed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// TCP: the place of its payload in the stream.
    pub(super) at: u64,
    pub(super) seq: u32,
    pub(super) len: u32,
    pub(super) state: State,
    /// The home access point holds it.
    pub(super) at_home: bool,
    /// The member that was asked and did not bring it.
    pub(super) avoid: Option<u8>,
    listed: Time,
}

impl Entry {
    fn range(&self) -> Range<u64> {
        self.at..self.at + u64::from(self.len)
    }
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) flow: Option<Flow>,
    /// The sender, as its packets say here.
    pub(super) outer: SocketAddrV4,
    pub(super) destination: SocketAddrV4,
    stream: Option<Stream>,
    pub(super) members: Vec<Member>,
    entries: BTreeMap<u64, Entry>,
    pending: BTreeSet<u64>,
    /// By place and length those that are not done; where the proxy is, no two are the same.
    undone: BTreeMap<(u64, u32), u64>,
    /// Hashes that the home access point told.
    marks: BTreeMap<u64, u32>,
    keys: (Key, Key),
    /// Of the home access point, and what is added to its numbers since that start of it.
    boot: Option<(u64, i64)>,
    /// Last time that a neighbour heard something.
    heard_at: Option<Time>,
    active_at: Time,
    pub(super) bypassed: Option<Bypass>,
    /// The longest packet that passes behind this gateway, and until when that is believed.
    mtu: Option<(u16, Time)>,
    sent_bytes: u64,
    /// The receiver's acknowledgement when what it has was last looked for.
    walked: u64,
}

/// What a session may use of the gateway while it is called.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) out: &'a mut VecDeque<Output>,
    pub(super) accounts: &'a mut BTreeMap<u64, Account>,
    pub(super) counts: &'a mut Counts,
    /// There is no memory for more of this session: what it would bring is asked for again later.
    pub(super) full: bool,
    /// There is no memory for more names of packets of this session.
    pub(super) crowded: bool,
    pub(super) now: Time,
}

impl Context<'_> {
    fn tell(&mut self, tunnel: Tunnel, message: &Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        self.out.push_back(Output::ToTunnel(tunnel, bytes));
    }

    /// Writes up what a contributor did, unless there are too many for it to have an account.
    fn note(&mut self, who: u64, what: impl FnOnce(&mut Account)) {
        if let Some(account) = self.accounts.get_mut(&who) {
            what(account);
        }
    }
}

impl Session {
    pub(super) fn new(inner: &Inner, keys: (Key, Key), config: &Config, now: Time) -> Session {
        let stream = (inner.protocol == TCP).then(|| Stream::new(config.variant, config.grace));
        Session {
            flow: None,
            outer: inner.source,
            destination: inner.destination,
            stream,
            members: Vec::new(),
            entries: BTreeMap::new(),
            pending: BTreeSet::new(),
            undone: BTreeMap::new(),
            marks: BTreeMap::new(),
            keys,
            boot: None,
            heard_at: None,
            active_at: now,
            bypassed: None,
            mtu: None,
            sent_bytes: 0,
            walked: 0,
        }
    }

    /// Bytes of payload that are kept for the receiver.
    pub(super) fn stored(&self) -> u64 {
        self.stream.as_ref().map_or(0, |s| s.stored)
    }

    /// Bytes of memory that this takes.
    pub(super) fn memory(&self) -> u64 {
        self.stream.as_ref().map_or(0, Stream::memory)
    }

    /// Packets that are listed, and heard.
    pub(super) fn listed(&self) -> usize {
        self.entries.len() + self.members.iter().map(|m| m.held.len()).sum::<usize>()
    }

    /// When its proxy wants to be called.
    pub(super) fn timeout(&self) -> Option<Time> {
        self.stream.as_ref().and_then(|s| s.timeout)
    }

    /// Whether it can be forgotten.
    pub(super) fn is_over(&self, now: Time) -> bool {
        let by_an_end = self.stream.as_ref().is_some_and(Stream::is_ended);
        // While acknowledged bytes are here the proxy ends it, and tells both ends.
        let holds = self.stream.as_ref().is_some_and(Stream::holds);
        !holds && now >= self.active_at + if by_an_end { DEAD } else { IDLE }
    }

    /// Nothing is to be done for it any more, and when something was last heard of it.
    pub(super) fn dead_since(&self) -> Option<Time> {
        self.stream.as_ref().filter(|s| s.over.is_some() || s.is_ended()).map(|_| self.active_at)
    }

    /// `by` does not bring it. What another was asked for stays its own: else whoever brings rubbish
    /// would have it sent again and again.
    fn again(&mut self, number: u64, by: u8, avoid: Option<u8>) {
        if let Some(entry) = self.entries.get_mut(&number).filter(|e| e.state == State::Asked(by)) {
            (entry.state, entry.avoid) = (State::Pending, avoid);
            self.pending.insert(number);
        }
    }

    /// Chooses who forwards what; `reporter` has just reported.
    fn plan(&mut self, cx: &mut Context<'_>, reporter: Option<u8>) {
        // What is asked for now would be thrown away; the next tick looks again.
        if cx.full {
            return;
        }
        let mut table =
            Table { members: &mut self.members, entries: &mut self.entries, pending: &mut self.pending };
        let plan = match (cx.config.scheduling, reporter) {
            // Where a schedule is heard by all, it makes the others forget.
            (Scheduling::ExpectedDelivery, _) => table.expected(!cx.config.broadcast, cx.now),
            (Scheduling::FirstCome, Some(apid)) => table.first_come(apid, cx.now),
            (Scheduling::FirstCome, None) => Plan::new(),
        };
        for (apid, numbers) in plan {
            let told = self.members.iter().filter(|m| m.apid == apid || cx.config.broadcast);
            for m in told.collect::<Vec<_>>() {
                let own: Vec<u64> = numbers.iter().filter_map(|n| m.own_number(*n)).collect();
                for part in ranges(own.into_iter()).chunks(1024) {
                    let (session, ranges) = (m.wire, part.to_vec());
                    cx.tell(m.tunnel, &Message::Schedule { session, apid, ranges });
                }
            }
        }
    }

    /// A member brings a packet.
    pub(super) fn on_data(&mut self, cx: &mut Context<'_>, tunnel: Tunnel, data: &Data) {
        self.active_at = cx.now;
        let Some(i) = self.members.iter().position(|m| m.tunnel == tunnel && m.wire == data.session) else {
            return;
        };
        let (Some(flow), member) = (self.flow, &mut self.members[i]) else { return };
        let number = member.session_number(data.number);
        let asked = number.is_some_and(|n| member.delivery.brought(n, cx.now));
        let entry = number.and_then(|n| self.entries.get(&n));
        let (seq, len) = entry.map_or((0, 0), |e| (e.seq, e.len));
        let packet = member.elision.decode(&flow, data.number, seq, &data.elided);
        let (Some(number), Some(entry)) = (number, entry) else { return };
        let (who, apid, done) = (member.who, member.apid, entry.state == State::Done);
        let right = |p: &Vec<u8>| {
            let told = self.marks.get(&number);
            is_as_listed(p, &flow, seq, len)
                && inner::is_intact(p)
                && told.is_none_or(|h| hash::packet(&self.keys.0, p) == *h)
        };
        let Some(mut packet) = packet.filter(right) else {
            cx.note(who, |account| account.damaged += 1);
            self.members[i].delivery.damaged(cx.now);
            self.again(number, apid, Some(apid));
            return self.plan(cx, None);
        };
        if done || !asked {
            cx.note(who, |account| account.late += 1);
        }
        if done {
            return self.plan(cx, None);
        }
        let range = self.entries.get(&number).map_or(0..0, Entry::range);
        // Only now: the next packet is read by what was left out of this one.
        if cx.full || self.stream.as_ref().is_some_and(|s| s.is_crowded(&range)) {
            self.again(number, apid, None);
            return self.plan(cx, None);
        }
        cx.note(who, |account| {
            account.packets += 1;
            account.bytes += packet.len() as u64;
            if apid != 0 {
                account.delivered_packets += 1;
                account.delivered_bytes += data.elided.len() as u64;
            }
        });
        self.finish(number);
        if self.outer != flow.source {
            inner::readdress(&mut packet, true, self.outer);
        }
        self.deliver(cx, packet);
        self.plan(cx, None);
    }

    /// A packet came: nobody need bring it any more.
    fn finish(&mut self, number: u64) {
        self.pending.remove(&number);
        if let Some(entry) = self.entries.get_mut(&number) {
            if let State::Asked(apid) = entry.state {
                let other = self.members.iter_mut().find(|m| m.apid == apid);
                other.into_iter().for_each(|m| m.delivery.forget(number));
            }
            if entry.state != State::Done {
                self.undone.remove(&(entry.at, entry.len));
            }
            entry.state = State::Done;
        }
    }

    fn deliver(&mut self, cx: &mut Context<'_>, packet: Vec<u8>) {
        let Some(inner) = inner::parse(&packet) else { return };
        if self.stream.as_ref().is_some_and(|s| s.is_another(&inner, self.bypassed.is_some())) {
            self.begin_anew(cx);
        }
        let acts = match &mut self.stream {
            Some(stream) if self.bypassed.is_none() => stream.on_sender(packet, &inner, cx.now),
            _ => vec![Act::ToReceiver(packet)],
        };
        self.act(cx, acts);
    }

    /// A packet of the sender that came its ordinary way.
    pub(super) fn on_native(&mut self, cx: &mut Context<'_>, packet: Vec<u8>) {
        if cx.full {
            return;
        }
        self.active_at = cx.now;
        self.deliver(cx, packet);
    }

    /// A packet of the receiver.
    pub(super) fn on_receiver(&mut self, cx: &mut Context<'_>, packet: Vec<u8>) {
        self.active_at = cx.now;
        let acts = match &mut self.stream {
            Some(stream) if self.bypassed.is_none() => stream.on_receiver(packet, cx.now),
            _ => vec![Act::ToSender(packet)],
        };
        self.act(cx, acts);
    }

    fn act(&mut self, cx: &mut Context<'_>, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::ToReceiver(packet) => self.send_on(cx, packet),
                Act::ToSender(packet) => self.send_back(cx, packet),
                Act::LeaveAlone(why) => {
                    self.bypassed = Some(why);
                    *cx.counts.bypassed.entry(why).or_default() += 1;
                    self.tell_mode(cx);
                }
                Act::Over(why) => {
                    self.active_at = cx.now;
                    cx.out.push_back(Output::Ended { destination: self.destination, why });
                    for m in core::mem::take(&mut self.members) {
                        cx.tell(m.tunnel, &Message::Close { session: m.wire });
                    }
                    self.forget_packets();
                }
            }
        }
    }

    /// To the receiver, cut where the way is known to be shorter. What is left alone is not cut:
    /// its sender hears of it itself.
    fn send_on(&mut self, cx: &mut Context<'_>, packet: Vec<u8>) {
        self.sent_bytes += packet.len() as u64;
        self.mtu = self.mtu.filter(|(_, until)| cx.now < *until);
        let mtu = self.mtu.filter(|(mtu, _)| packet.len() > usize::from(*mtu) && self.bypassed.is_none());
        let Some((mtu, _)) = mtu else { return cx.out.push_back(Output::ToReceiver(packet)) };
        cx.counts.cut_packets += 1;
        cx.out.extend(inner::cut(packet, mtu.into()).into_iter().map(Output::ToReceiver));
    }

    /// A router behind this gateway takes only shorter packets.
    pub(super) fn on_too_long(&mut self, cx: &mut Context<'_>, mtu: u16, seq: Option<u32>) {
        let stream = self.stream.as_ref().zip(seq);
        if stream.is_some_and(|(s, seq)| s.may_be_on_the_way(seq)) {
            cx.counts.too_long += 1;
            let least = self.mtu.map_or(u16::MAX, |m| m.0).min(mtu.max(LEAST_MTU));
            self.mtu = Some((least, cx.now + SHORT));
        }
    }

    /// What it looks like from outside.
    pub(super) fn view(&self) -> SessionView {
        SessionView {
            protocol: if self.stream.is_some() { TCP } else { UDP },
            sender: self.outer,
            receiver: self.destination,
            access_points: self.members.len(),
            is_native: self.members.iter().all(|m| !m.is_home() || m.told_native),
            bypassed: self.bypassed,
            sent_bytes: self.sent_bytes,
            kept_bytes: self.stored(),
        }
    }

    /// By the home access point's tunnel, so that no address translation on the way wonders at an
    /// acknowledgement of what it has not seen (T-7); else as a router would.
    fn send_back(&mut self, cx: &mut Context<'_>, mut packet: Vec<u8>) {
        let inside = self.flow.map_or(self.outer, |f| f.source);
        match self.members.iter().find(|m| m.is_home() && self.bypassed.is_none()).map(|m| m.tunnel) {
            Some(tunnel) => {
                if inside != self.outer {
                    inner::readdress(&mut packet, false, inside);
                }
                cx.tell(tunnel, &Message::Down { packet });
            }
            None => cx.out.push_back(Output::ToSender(packet)),
        }
    }

    /// What is done by the clock, each tick.
    pub(super) fn on_tick(&mut self, cx: &mut Context<'_>) {
        let late: Vec<(u64, u8)> = self
            .members
            .iter_mut()
            .flat_map(|m| {
                let apid = m.apid;
                m.delivery.overdue(cx.now).into_iter().map(move |n| (n, apid))
            })
            .collect();
        for (number, apid) in late {
            let who = self.members.iter().find(|m| m.apid == apid).map(|m| m.who);
            who.into_iter().for_each(|who| cx.note(who, |account| account.failed += 1));
            self.again(number, apid, Some(apid));
        }
        self.release(cx);
        self.tell_mode(cx);
        self.plan(cx, None);
    }

    pub(super) fn on_timer(&mut self, cx: &mut Context<'_>) {
        let acts = self.stream.as_mut().map(|s| s.on_timer(cx.now)).unwrap_or_default();
        self.act(cx, acts);
    }

    /// Holders forget what the receiver has acknowledged (T-2).
    fn release(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        let acked = self.stream.as_ref().map(|s| s.acked);
        let kept = |e: &Entry| match acked {
            Some(acked) => e.range().end > acked,
            None => match e.state {
                State::Pending => now < e.listed + QUEUE,
                State::Asked(_) => now < e.listed + STALE,
                State::Done => false,
            },
        };
        // A TCP packet goes when the acknowledgement moves, and not before.
        let is_proxied = self.stream.as_ref().is_some_and(Stream::is_proxied);
        let walks = !is_proxied || acked.is_some_and(|acked| acked > self.walked);
        let listed = self.entries.iter().filter(|(_, e)| walks && !kept(e));
        for number in listed.map(|(n, _)| *n).collect::<Vec<u64>>() {
            self.finish(number);
            self.entries.remove(&number);
        }
        self.walked = acked.unwrap_or_default();
        let newest = self.members.iter().filter_map(|m| m.held.last()).max().copied().unwrap_or(0);
        let lowest = self.entries.first_key_value().map_or(newest, |e| *e.0);
        let below = match &self.stream {
            Some(s) => s.number(s.acked).map(u64::from),
            None => Some(lowest),
        };
        self.marks.retain(|n, _| *n + 4096 > lowest);
        let tcp = self.stream.is_some();
        for m in &mut self.members {
            m.held = m.held.split_off(&lowest);
            let own = if tcp { below } else { below.and_then(|n| m.own_number(n)) };
            let is_due = now >= m.released_at + RELEASES;
            if let Some(below) = own.filter(|b| is_due && *b != m.released) {
                (m.released, m.released_at) = (below, now);
                cx.tell(m.tunnel, &Message::Release { session: m.wire, below });
            }
        }
    }
}

/// Whether a packet is the flow's, and what an access point holds of it: what opens, ends or resets
/// a connection goes its ordinary way.
fn is_as_listed(packet: &[u8], flow: &Flow, seq: u32, len: u32) -> bool {
    const FIN_SYN_RST_URG: u8 = 0x27;
    let Some(i) = inner::parse(packet) else { return false };
    let ends = (i.protocol, i.source, i.destination) == (flow.protocol, flow.source, flow.destination);
    let held = i.protocol == UDP || i.flags & FIN_SYN_RST_URG == 0 && len > 0;
    ends && held && i.seq == seq && i.payload.len() == len as usize
}

#[cfg(test)]
mod tests;
