//! What the members say that they hold: the home access point's lists, and what others heard.

use super::{Context, Entry, MAX_ANSWERS, MAX_ENTRIES, MAX_MARKS, Session, State, Stream};
use crate::gateway::member::shifted;
use crate::gateway::schedule::ranges;
use crate::gateway::{FEW, Tunnel};
use crate::wire::{Heard, List};
use core::ops::Range;
use std::collections::BTreeMap;

impl Session {
    /// The home access point says what it holds.
    pub(in crate::gateway) fn on_list(&mut self, cx: &mut Context<'_>, tunnel: Tunnel, list: &List) {
        self.active_at = cx.now;
        let Some(i) = self.members.iter().position(|m| m.tunnel == tunnel && m.is_home()) else {
            return;
        };
        (self.members[i].room, self.members[i].reported_at) = (list.room, cx.now);
        // What it holds may have been released before.
        self.members[i].released = 0;
        let Some(shift) = self.members[i].shift else { return };
        let (mut fresh, mut answers) = (Vec::new(), 0);
        for run in &list.runs {
            // Datagrams have no place in a stream.
            let (seq, step) = if self.stream.is_some() { (run.seq, run.len) } else { (0, 0) };
            for k in 0..run.count {
                let seq = seq.wrapping_add(step.wrapping_mul(k as u32));
                let Some(number) = shifted(run.first + k, shift) else { continue };
                let Some(state) = self.enter(cx, number, seq, run.len) else { continue };
                fresh.push(number);
                if state == State::Done && answers < MAX_ANSWERS {
                    answers += 1;
                    let acts = self.stream.as_mut().map(|s| s.repeated(cx.now)).unwrap_or_default();
                    self.act(cx, acts);
                }
            }
            if let Some(first) = shifted(run.first, shift) {
                self.tell_held(cx, 0, first..first.saturating_add(run.count), run.stamp);
            }
        }
        let marks = list.marks.iter().filter_map(|(n, h)| Some((shifted(*n, shift)?, *h)));
        // Those of packets that are listed, and the newest of them: a bound of memory.
        let marks: BTreeMap<u64, u32> = marks.filter(|(n, _)| self.entries.contains_key(n)).collect();
        self.marks.extend(&marks);
        while self.marks.len() > MAX_MARKS {
            self.marks.pop_first();
        }
        // What waits was held beside the others when it came.
        for m in self.members.iter_mut().filter(|m| !m.is_home() && !marks.is_empty()) {
            m.align(&[], &marks);
        }
        let heard: Vec<(u8, Vec<u64>)> = self
            .members
            .iter()
            .map(|m| (m.apid, fresh.iter().copied().filter(|n| m.held.contains(n)).collect()))
            .collect();
        for (apid, numbers) in heard {
            self.tell_numbers(cx, apid, &numbers);
        }
        self.plan(cx, Some(0));
    }

    /// Notes a listed packet. None if it was known, or cannot be noted.
    fn enter(&mut self, cx: &Context<'_>, number: u64, seq: u32, len: u32) -> Option<State> {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.at_home = true;
            return None;
        }
        let most = if cx.crowded { FEW } else { MAX_ENTRIES };
        if self.entries.len() >= most {
            return None;
        }
        let at = match &self.stream {
            None => 0,
            // Without the SYN its place is not known: it goes as a plain packet would.
            Some(stream) => stream.offset(seq)?,
        };
        let mut entry =
            Entry { at, seq, len, state: State::Pending, at_home: true, avoid: None, listed: cx.now };
        if self.stream.as_ref().is_some_and(|s| s.is_proxied()) && self.is_known(&entry) {
            entry.state = State::Done;
        }
        let state = entry.state;
        if state == State::Pending {
            self.pending.insert(number);
            self.undone.insert((at, len), number);
        } else if self.stream.as_ref().is_some_and(|s| entry.range().end <= s.acked) {
            // The receiver has it.
            return Some(state);
        }
        self.entries.insert(number, entry);
        Some(state)
    }

    /// The same bytes are here, or on their way: the sender repeats them. What a home access point
    /// that started anew has lost is not on its way: the repetition takes its place.
    fn is_known(&mut self, entry: &Entry) -> bool {
        let here = self.stream.as_ref().is_some_and(|s| s.has(&entry.range()));
        let before = self.undone.get(&(entry.at, entry.len)).copied().filter(|_| !here);
        let lost = before.filter(|n| self.entries.get(n).is_none_or(|e| !e.at_home));
        lost.into_iter().for_each(|n| self.finish(n));
        here || before.is_some() && lost.is_none()
    }

    /// Tells the proxy who holds which bytes, as ranges.
    fn tell_held(&mut self, cx: &mut Context<'_>, apid: u8, numbers: Range<u64>, stamp: Option<u32>) {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for entry in self.entries.range(numbers).map(|e| e.1).filter(|e| e.len > 0) {
            match ranges.last_mut() {
                Some(r) if r.end == entry.at => r.end = entry.range().end,
                _ => ranges.push(entry.range()),
            }
        }
        for range in ranges {
            let acts = self.stream.as_mut().map(|s| s.held(range, apid, stamp, cx.now)).unwrap_or_default();
            self.act(cx, acts);
        }
    }

    fn tell_numbers(&mut self, cx: &mut Context<'_>, apid: u8, numbers: &[u64]) {
        if self.stream.as_ref().is_some_and(Stream::is_proxied) {
            for (first, count) in ranges(numbers.iter().copied()) {
                self.tell_held(cx, apid, first..first.saturating_add(count), None);
            }
        }
    }

    /// Another access point says what it holds.
    pub(in crate::gateway) fn on_heard(&mut self, cx: &mut Context<'_>, tunnel: Tunnel, heard: &Heard) {
        let Some(i) = self.members.iter().position(|m| m.tunnel == tunnel && m.wire == heard.session) else {
            return;
        };
        let member = &mut self.members[i];
        (member.room, member.reported_at, member.released) = (heard.room, cx.now, 0);
        member.align(&heard.marks, &self.marks);
        let lowest = self.entries.first_key_value().map_or(0, |e| *e.0);
        let (mut numbers, held) = (member.believed(&heard.numbers), &mut member.held);
        let most = if cx.crowded { FEW } else { MAX_ENTRIES };
        // What has no room here would never be asked for: the proxy must not count on it.
        let is_held = |n: &u64| *n >= lowest && (held.contains(n) || held.len() < most && held.insert(*n));
        numbers.retain(is_held);
        let apid = member.apid;
        if !heard.numbers.is_empty() {
            self.heard_at = Some(cx.now);
            self.tell_mode(cx);
        }
        self.tell_numbers(cx, apid, &numbers);
        self.plan(cx, Some(apid));
    }
}
