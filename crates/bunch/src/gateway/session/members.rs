//! Who takes part in a session, and what is left of it when somebody goes.

use super::{ALONE, Context, Session, Stream};
use crate::gateway::Tunnel;
use crate::gateway::member::Member;
use crate::wire::{Message, Register};

/// Numbers of a home access point that has started anew go on above all there were by a whole lap
/// of 802.11.
const LAP: u64 = 4096;

impl Session {
    /// Takes a member in, unless its place is taken by somebody else: then nothing changes.
    pub(in crate::gateway) fn register(
        &mut self,
        cx: &mut Context<'_>,
        tunnel: Tunnel,
        who: u64,
        m: &Register,
    ) {
        let is_it = |old: &Member| {
            (old.tunnel, old.wire, old.boot, old.is_home()) == (tunnel, m.session, m.boot, m.home)
        };
        if let Some(i) = self.members.iter().position(is_it) {
            // It is said anew, with another name for its sender: what it holds and was asked for
            // stays.
            return self.welcome(cx, i, m);
        }
        // One contributor is one holder, whatever it calls the session and by whichever tunnel.
        let stays = |other: &&Member| other.who != who;
        let free = |n: &u8| self.members.iter().filter(stays).all(|other| other.apid != *n);
        let apid = if m.home { Some(0) } else { (1..32).find(free) };
        let Some(apid) = apid.filter(free) else {
            return;
        };
        while let Some(i) = self.members.iter().position(|old| old.who == who) {
            self.part(cx, i);
        }
        let score = cx.accounts.get(&who).map_or(1.0, |a| a.score);
        let mut member = Member::new((tunnel, m.session), who, apid, m.boot, score, cx.now);
        if m.home {
            member.shift = Some(self.home_shift(m.boot));
        }
        self.members.push(member);
        self.welcome(cx, self.members.len() - 1, m);
        let acts = self.stream.as_mut().map(|s| s.back(apid, cx.now)).unwrap_or_default();
        self.act(cx, acts);
        self.tell_mode(cx);
    }

    /// What is added to the home access point's numbers: one that has started anew counts anew.
    fn home_shift(&mut self, boot: u64) -> i64 {
        let shift = match self.boot {
            None => 0,
            Some((old, shift)) if old == boot => shift,
            Some(_) => {
                let newest = |n: Option<&u64>| n.map_or(0, |n| n & !(LAP - 1));
                let entries = newest(self.entries.last_key_value().map(|e| e.0));
                let marks = newest(self.marks.last_key_value().map(|m| m.0));
                self.members.iter_mut().for_each(|other| other.shift = None);
                (entries.max(marks) + LAP) as i64
            }
        };
        self.boot = Some((boot, shift));
        shift
    }

    fn welcome(&mut self, cx: &mut Context<'_>, i: usize, m: &Register) {
        if m.home {
            (self.flow, self.outer) = (Some(m.flow), m.outer.unwrap_or(self.outer));
        }
        let (tunnel, apid) = (self.members[i].tunnel, self.members[i].apid);
        let audit = m.home.then_some(self.keys.1);
        cx.tell(tunnel, &Message::Registered { session: m.session, apid, key: self.keys.0, audit });
    }

    /// A member's tunnel is gone, and all that it held.
    pub(in crate::gateway) fn leave(&mut self, cx: &mut Context<'_>, tunnel: Tunnel) {
        self.leave_if(cx, |m| m.tunnel == tunnel);
    }

    /// A member calls another session by the number that it had for this one.
    pub(in crate::gateway) fn leave_as(&mut self, cx: &mut Context<'_>, tunnel: Tunnel, wire: u8) {
        self.leave_if(cx, |m| (m.tunnel, m.wire) == (tunnel, wire));
    }

    fn leave_if(&mut self, cx: &mut Context<'_>, leaves: impl Fn(&Member) -> bool) {
        while let Some(i) = self.members.iter().position(&leaves) {
            self.part(cx, i);
        }
        self.tell_mode(cx);
        self.plan(cx, None);
    }

    /// A member is none any more: what it held is gone, and what it was asked for others bring.
    fn part(&mut self, cx: &mut Context<'_>, i: usize) {
        let member = self.members.remove(i);
        if let Some(account) = cx.accounts.get_mut(&member.who) {
            account.score = member.delivery.score();
        }
        for number in member.delivery.asked_for() {
            self.again(number, member.apid, None);
        }
        if member.is_home() {
            self.entries.values_mut().for_each(|e| e.at_home = false);
        }
        let acts = self.stream.as_mut().map(|s| s.gone(member.apid, cx.now)).unwrap_or_default();
        self.act(cx, acts);
    }

    /// Its ports are another connection's by now: nothing of the old one counts.
    pub(super) fn begin_anew(&mut self, cx: &mut Context<'_>) {
        self.stream = self.stream.is_some().then(|| Stream::new(cx.config.variant, cx.config.grace));
        self.forget_packets();
        (self.bypassed, self.walked) = (None, 0);
        for m in &mut self.members {
            m.held.clear();
            m.released = 0;
            m.delivery.forget_all();
        }
        self.tell_mode(cx);
    }

    /// No packet of it is of use any more.
    pub(super) fn forget_packets(&mut self) {
        self.entries.clear();
        self.pending.clear();
        self.undone.clear();
        self.marks.clear();
    }

    /// Packets go their ordinary way while nobody else hears the sender.
    pub(super) fn tell_mode(&mut self, cx: &mut Context<'_>) {
        let alone = self.members.len() < 2 || self.heard_at.is_none_or(|at| cx.now >= at + ALONE);
        let native = alone || self.bypassed.is_some();
        if let Some(home) = self.members.iter_mut().find(|m| m.is_home() && m.told_native != native) {
            home.told_native = native;
            cx.tell(home.tunnel, &Message::Native { session: home.wire, on: native });
        }
    }
}
