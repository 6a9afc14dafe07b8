//! Many connections: which are taken, which are left alone, which are forgotten.

use crate::{Bypass, Config, Duplex, Effect, End, Policy, Ranges, Time, Why};
use core::time::Duration;
use ropewalk_packet::{Flags, Segment, seq};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A connection of which nothing is held may be forgotten after this silence. Later packets of it
/// pass as they came.
const IDLE: Duration = Duration::from_secs(300);
/// A connection that its ends have closed, or one has reset, is remembered as long as the other may
/// still speak, and so is one whose handshake does not end. Of one that was reset from here both ends may
/// have missed it, and are told again for as long as [`IDLE`].
const GONE: Duration = Duration::from_secs(10);

/// What a driver is to do, by connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<K> {
    /// See [`Effect`]; never a bypass.
    Effect(K, Effect),
    /// All that is kept for this connection may go.
    Forget(K),
}

/// What happened so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were taken.
    pub taken: u64,
    /// Connections that were left alone, by reason. One whose handshake was not seen is counted for
    /// each of its packets, since nothing is kept of it.
    pub bypassed: BTreeMap<Bypass, u64>,
    /// Connections that were left alone because there were too many.
    pub full: u64,
    /// Connections that were reset, by reason.
    pub reset: BTreeMap<Why, u64>,
    /// Bytes of payload that were sent again from here.
    pub repaired_bytes: u64,
    /// Bytes whose sender saw them acknowledged before their receiver had done so.
    pub early_bytes: u64,
    /// Segments that ended here: their meaning went on in others, or they were duplicates.
    pub absorbed: u64,
}

#[derive(Debug)]
struct Entry {
    connection: Duplex,
    due: Option<Time>,
    seen: Time,
    /// It is over since then, and is remembered for so long after its last packet.
    over: Option<(Time, Duration)>,
    /// Which ends have spoken.
    spoke: [bool; 2],
    /// Since when its handshake goes on, until it has ended.
    half_open: Option<Time>,
    traffic: [Traffic; 2],
}

/// What went to one end, for the counts.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// One past the highest sequence number that went to it.
    sent: Option<u32>,
    /// How far its own stream was acknowledged to it, and by its receiver.
    told: u64,
    acked: u64,
}

impl Entry {
    /// `came` is the number of the segment that was taken in, if there was one.
    fn count(&mut self, to: End, segment: &Segment, came: Option<u32>, counts: &mut Counts) {
        let isn = self.connection.sender_isn(to);
        let traffic = &mut self.traffic[usize::from(to == End::B)];
        let end = segment.seq.wrapping_add(segment.sequence_bytes());
        let ahead = |old: u32| end.wrapping_sub(old) as i32 > 0;
        if traffic.sent.is_none_or(ahead) {
            traffic.sent = Some(end);
        } else if came != Some(segment.seq) {
            counts.repaired_bytes += u64::from(segment.payload_bytes);
        }
        let told = isn.and_then(|isn| seq::offset(isn, traffic.told, segment.ack));
        if let Some(told) = told.filter(|t| *t > traffic.told && segment.flags.has(Flags::ACK)) {
            // The handshake's own number is nobody's byte.
            counts.early_bytes += told - traffic.told.max(traffic.acked).max(1).min(told);
            traffic.told = told;
        }
    }
}

/// A proxy of at most so many connections, each called `K` by its driver.
#[derive(Debug)]
pub struct Proxy<K> {
    config: Config,
    limit: usize,
    entries: BTreeMap<K, Entry>,
    due: BTreeSet<(Time, K)>,
    /// Connections that are over, since when.
    over: BTreeSet<(Time, K)>,
    /// Connections whose handshakes go on, since when.
    half_open: BTreeSet<(Time, K)>,
    out: VecDeque<Event<K>>,
    counts: Counts,
    swept: Time,
}

impl<K: Copy + Ord> Proxy<K> {
    /// At most `limit` connections, each by `config`. Memory is bounded by
    /// 2 · `limit` · `config.memory_bytes`.
    pub fn new(config: Config, limit: usize) -> Proxy<K> {
        Proxy {
            config,
            limit,
            entries: BTreeMap::new(),
            due: BTreeSet::new(),
            over: BTreeSet::new(),
            half_open: BTreeSet::new(),
            out: VecDeque::new(),
            counts: Counts::default(),
            swept: Time::ZERO,
        }
    }

    /// A segment of end `from` of connection `key`. False if the connection is left alone: then
    /// the packet is to be forwarded as it came.
    pub fn handle(&mut self, key: K, from: End, segment: Segment, now: Time) -> bool {
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if opens && self.is_another(key, from, &segment) {
            self.forget(key);
        }
        if !self.entries.contains_key(&key) && !self.admit(key, opens, now) {
            return false;
        }
        let Some(entry) = self.entries.get_mut(&key) else { return false };
        entry.seen = now;
        entry.spoke[usize::from(from == End::B)] = true;
        let opens_or_refuses = segment.flags.has(Flags::SYN) || segment.flags.has(Flags::RST);
        if entry.spoke == [true; 2] && !opens_or_refuses {
            entry.half_open.take().map(|since| self.half_open.remove(&(since, key)));
        }
        entry.connection.handle(from, segment, now);
        self.collect(key, Some((from, &segment)), now)
    }

    /// A packet of end `from` that cannot be read, such as a fragment, begins at this number. What
    /// it carries nobody here acknowledges, so the connection is left alone from now on. False if
    /// bytes are held: then the packet is to be dropped, and its sender repeats it.
    pub fn leave_alone(&mut self, key: K, from: End, number: u32) -> bool {
        let entry = self.entries.get(&key).filter(|e| e.connection.expects(from, number));
        let holds = entry.map(|e| e.connection.holds() > 0);
        if holds == Some(false) {
            self.forget(key);
        }
        holds != Some(true)
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come.
    pub fn on_timer(&mut self, now: Time) {
        let later = self.due.iter().take_while(|(at, _)| *at <= now).count();
        // Each once: work is bounded by the connections there are.
        for _ in 0..later {
            let Some((_, key)) = self.due.pop_first() else { break };
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.due = None;
                entry.connection.on_timer(now);
                self.collect(key, None, now);
            }
        }
        self.sweep(now);
    }

    /// This box goes away: connections of which it holds bytes are reset at both ends, the others
    /// go on without it.
    pub fn close(&mut self, now: Time) {
        self.limit = 0;
        let held = self.entries.iter_mut().filter(|(_, e)| e.connection.holds() > 0);
        let keys: Vec<K> = held.map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.connection.abort(now);
                self.collect(key, None, now);
            }
        }
    }

    /// What is to be done next.
    pub fn poll_output(&mut self) -> Option<Event<K>> {
        self.out.pop_front()
    }

    /// When it wants to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Connections now, and the bytes that would be lost with them.
    pub fn holds(&self) -> (usize, u64) {
        (self.entries.len(), self.entries.values().map(|e| e.connection.holds()).sum())
    }

    /// Whether there is such a connection.
    pub fn is_taken(&self, key: K) -> bool {
        self.entries.contains_key(&key)
    }

    /// The sequence number of offset 0 of what `sender` sends, once it is known.
    pub fn sender_isn(&self, key: K, sender: End) -> Option<u32> {
        self.entries.get(&key)?.connection.sender_isn(sender)
    }

    /// What of the stream of `sender` a driver keeps; see [`Pep::kept`](crate::Pep::kept).
    pub fn kept(&self, key: K, sender: End) -> Option<&Ranges> {
        self.entries.get(&key)?.connection.kept(sender)
    }

    /// A port that is used again: nothing of the old connection is held.
    fn is_another(&self, key: K, from: End, syn: &Segment) -> bool {
        let Some(entry) = self.entries.get(&key) else { return false };
        let isn = entry.connection.sender_isn(from);
        entry.over.is_some() || isn.is_some_and(|isn| isn != syn.seq) && entry.connection.holds() == 0
    }

    fn admit(&mut self, key: K, opens: bool, now: Time) -> bool {
        // Nothing is kept of a connection whose handshake was not seen.
        if !opens && self.config.policy != Policy::Snoop {
            *self.counts.bypassed.entry(Bypass::NoHandshake).or_default() += 1;
            return false;
        }
        self.sweep(now);
        if self.entries.len() >= self.limit && !self.make_room() {
            self.counts.full += 1;
            return false;
        }
        self.counts.taken += 1;
        let entry = Entry {
            connection: Duplex::new(&self.config),
            due: None,
            seen: now,
            over: None,
            spoke: [false; 2],
            half_open: Some(now),
            traffic: Default::default(),
        };
        self.entries.insert(key, entry);
        self.half_open.insert((now, key));
        true
    }

    /// Takes what a connection gives out; false if it is left alone from now on.
    fn collect(&mut self, key: K, came: Option<(End, &Segment)>, now: Time) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else { return false };
        let mut went = came.is_none();
        while let Some(effect) = entry.connection.poll_output() {
            match &effect {
                Effect::Bypass(why) => {
                    *self.counts.bypassed.entry(*why).or_default() += 1;
                    self.counts.taken -= 1;
                    self.forget(key);
                    return false;
                }
                Effect::Reset(why) => {
                    *self.counts.reset.entry(*why).or_default() += 1;
                    let remembered = if *why == Why::ByAnEnd { GONE } else { IDLE };
                    let (since, _) = *entry.over.get_or_insert((now, remembered));
                    self.over.insert((since, key));
                    // From now on, however long it was silent before.
                    entry.seen = now;
                }
                Effect::Send { to, segment } => {
                    went |= came.is_some_and(|(from, _)| *to != from);
                    let came = came.map(|(_, segment)| segment.seq);
                    entry.count(*to, segment, came, &mut self.counts);
                }
                Effect::Release { from, range } => {
                    entry.traffic[usize::from(*from == End::B)].acked = range.end;
                }
            }
            self.out.push_back(Event::Effect(key, effect));
        }
        self.counts.absorbed += u64::from(!went);
        if entry.over.is_none() && entry.connection.is_finished() {
            entry.over = Some((now, GONE));
            self.over.insert((now, key));
        }
        let due = entry.connection.next_timeout();
        if due != entry.due {
            entry.due.map(|at| self.due.remove(&(at, key)));
            due.map(|at| self.due.insert((at, key)));
            entry.due = due;
        }
        true
    }

    fn forget(&mut self, key: K) {
        if let Some(entry) = self.entries.remove(&key) {
            entry.due.map(|at| self.due.remove(&(at, key)));
            entry.over.map(|(since, _)| self.over.remove(&(since, key)));
            entry.half_open.map(|since| self.half_open.remove(&(since, key)));
            self.out.push_back(Event::Forget(key));
        }
    }

    /// One that is over makes room, or one whose handshake goes on: that which is for longest. False
    /// if none is. Few steps, however many there are: each SYN of a flood asks.
    fn make_room(&mut self) -> bool {
        let oldest = self.over.first().or(self.half_open.first()).map(|(_, key)| *key);
        oldest.into_iter().for_each(|key| self.forget(key));
        oldest.is_some()
    }

    /// Once a second at most: forgets who is silent and holds nothing, and who was over long ago.
    fn sweep(&mut self, now: Time) {
        if now < self.swept + Duration::from_secs(1) {
            return;
        }
        self.swept = now;
        let old = self.entries.iter().filter(|(_, e)| {
            let age = now.since(e.seen);
            let silence = if e.half_open.is_none() { IDLE } else { GONE };
            match e.over {
                Some((_, span)) => age >= span,
                None => age >= silence && e.connection.holds() == 0,
            }
        });
        for key in old.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.forget(key);
        }
    }
}
