//! The promise, over every interleaving of a small street: one sender, three access points, one
//! gateway, one receiver.
//!
//! Four segments and a FIN. Each access point hears any of them in any order, or never. Messages
//! are lost, doubled and overtake each other; up to two access points die. From each state that is
//! reached the rest is also played out without further faults: then the connection has to end well,
//! or both ends have to know within 5 s.
//!
//! The null cases take the paper's rule, that a copy goes with the schedule (trap T-2), and a FIN
//! that is acknowledged early (T-3). The checker has to find both.

use ropewalk_packet::{Ecn, Flags, Options, Segment};
use ropewalk_pep::{Config, Holder, Input, Output, Pep, Policy, Time};
use stateright::{Checker, Model, Property};
use std::time::Duration;

const SEGMENTS: u64 = 4;
const BYTES: u64 = 10;
/// One past the last byte; the FIN's number.
const END: u64 = 1 + SEGMENTS * BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Ours,
    ReleaseBySchedule,
    FinAcknowledgedEarly,
}

struct Street {
    rule: Rule,
    deaths: u8,
    faults: u8,
    timers: u8,
    /// One property to look for, so that the search ends with it.
    only: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    Fetch {
        ap: usize,
        from: u64,
        until: u64,
    },
    /// From an access point through its tunnel; segments by number.
    Data {
        ap: usize,
        segment: u64,
    },
    Gone(usize),
    Fin,
    ToReceiver {
        at: u64,
        end: u64,
        fin: bool,
        rst: bool,
    },
    FromReceiver(u64),
    ToSender {
        ack: u64,
        rst: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    pep: Pep,
    now: Time,
    /// Bit `i` of each: holds segment `i`.
    heard: [u8; 3],
    alive: [bool; 3],
    net: Vec<Message>,
    deaths: u8,
    faults: u8,
    timers: u8,
    /// What the sender saw acknowledged, what the receiver has, bit by segment (the FIN is bit 4),
    /// and who was reset.
    acked: u64,
    got: u8,
    /// Whose turn each segment is, for the rule that drops copies by it.
    scheduled: [Option<usize>; SEGMENTS as usize],
    reset: [bool; 2],
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Hear(usize, u64),
    Deliver(usize),
    Double(usize),
    Lose(usize),
    Kill(usize),
    Timer,
}

fn segment(from_sender: bool, flags: Flags, seq: u64, ack: u64, payload_bytes: u64) -> Segment {
    let (a, b) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
    let (source, destination) = if from_sender { (a, b) } else { (b, a) };
    let options = Options::default();
    let (seq, ack, payload_bytes) = (seq as u32, ack as u32, payload_bytes as u32);
    Segment {
        source,
        destination,
        ecn: Ecn::NotEct,
        flags,
        seq,
        ack,
        window: 1000,
        urgent: 0,
        options,
        payload_bytes,
    }
}

impl State {
    fn put(&mut self, rule: Rule, input: Input) {
        self.pep.handle(input, self.now);
        loop {
            match self.pep.poll_output() {
                Output::ToSender(s) => {
                    let early = rule == Rule::FinAcknowledgedEarly && u64::from(s.ack) >= END - BYTES;
                    let ack = if early { END + 1 } else { u64::from(s.ack) };
                    self.post(Message::ToSender { ack, rst: s.flags.has(Flags::RST) });
                }
                Output::ToReceiver(s) => {
                    let (at, fin) = (u64::from(s.seq), s.flags.has(Flags::FIN));
                    let end = at + u64::from(s.payload_bytes);
                    self.post(Message::ToReceiver { at, end, fin, rst: s.flags.has(Flags::RST) });
                }
                Output::Fetch { range, holder } => {
                    let ap = usize::from(holder.0);
                    self.post(Message::Fetch { ap, from: range.start, until: range.end });
                    for i in (0..SEGMENTS).filter(|i| range.contains(&(1 + i * BYTES))) {
                        self.scheduled[i as usize] = Some(ap);
                    }
                }
                Output::Release { range } => (0..3).for_each(|ap| self.forget(ap, range.start, range.end)),
                Output::Bypass(_) | Output::Reset(_) => {}
                Output::Timeout(..) => break,
            }
        }
        if rule == Rule::ReleaseBySchedule {
            for (i, ap) in self.scheduled.into_iter().enumerate().filter_map(|(i, ap)| Some((i, ap?))) {
                (0..3).filter(|other| *other != ap).for_each(|other| self.heard[other] &= !(1 << i));
            }
        }
    }

    fn post(&mut self, message: Message) {
        if let Err(at) = self.net.binary_search(&message) {
            self.net.insert(at, message);
        }
    }

    fn forget(&mut self, ap: usize, from: u64, until: u64) {
        for i in 0..SEGMENTS {
            if from <= 1 + i * BYTES && (i + 1) * BYTES < until {
                self.heard[ap] &= !(1 << i);
            }
        }
    }

    fn hear(&mut self, rule: Rule, ap: usize, i: u64) {
        self.heard[ap] |= 1 << i;
        let range = 1 + i * BYTES..1 + (i + 1) * BYTES;
        self.put(rule, Input::Held { range, holder: Holder(ap as u8), timestamp: None });
    }

    fn kill(&mut self, ap: usize) {
        self.alive[ap] = false;
        self.heard[ap] = 0;
        self.net
            .retain(|m| !matches!(m, Message::Data { ap: a, .. } | Message::Fetch { ap: a, .. } if *a == ap));
        self.post(Message::Gone(ap));
    }

    fn take(&mut self, rule: Rule, message: Message) {
        match message {
            Message::Fetch { ap, from, until } => {
                let within = |i: &u64| from < 1 + (i + 1) * BYTES && 1 + i * BYTES < until;
                let has = self.heard[ap];
                (0..SEGMENTS)
                    .filter(within)
                    .filter(|i| has & 1 << i != 0)
                    .for_each(|i| self.post(Message::Data { ap, segment: i }));
            }
            Message::Data { segment: i, .. } => {
                self.put(rule, Input::FromSender(segment(true, Flags::ACK, 1 + i * BYTES, 1, BYTES)));
            }
            Message::Gone(ap) => self.put(rule, Input::HolderGone(Holder(ap as u8))),
            Message::Fin => {
                self.put(rule, Input::FromSender(segment(true, Flags::ACK | Flags::FIN, END, 1, 0)))
            }
            Message::ToReceiver { rst: true, .. } => self.reset[1] = true,
            Message::ToReceiver { at, end, fin, .. } => {
                let of = |at: u64| ((at - 1) / BYTES) as u32;
                if end > at {
                    (of(at)..of(end - 1) + 1).for_each(|i| self.got |= 1 << i);
                }
                self.got |= u8::from(fin) << SEGMENTS;
                if !self.reset[1] {
                    self.post(Message::FromReceiver(self.delivered()));
                }
            }
            Message::FromReceiver(ack) => {
                self.put(rule, Input::FromReceiver(segment(false, Flags::ACK, 1, ack, 0)))
            }
            Message::ToSender { rst: true, .. } => self.reset[0] = true,
            Message::ToSender { ack, .. } => self.acked = self.acked.max(ack),
        }
    }

    /// The receiver's next expected number.
    fn delivered(&self) -> u64 {
        match self.got.trailing_ones() {
            n if u64::from(n) <= SEGMENTS => 1 + u64::from(n) * BYTES,
            _ => END + 1,
        }
    }

    fn fire(&mut self, rule: Rule) -> bool {
        let Output::Timeout(Some(at), _) = self.pep.poll_output() else {
            return false;
        };
        self.now = self.now.max(at);
        self.put(rule, Input::Timer);
        true
    }

    /// The rest without faults, for `span`: the sender sends again what it does not see
    /// acknowledged.
    fn played_out(&self, rule: Rule, span: Duration) -> State {
        let (mut s, until) = (self.clone(), self.now + span);
        let mut repeated = self.now;
        for _ in 0..400 {
            while !s.net.is_empty() {
                let next = s.net.remove(0);
                s.take(rule, next);
            }
            if s.acked > END || s.reset[0] && s.reset[1] {
                break;
            }
            if s.now >= repeated && !s.reset[0] {
                repeated = s.now + Duration::from_millis(300);
                let home = s.alive.iter().position(|a| *a);
                let acked = s.acked;
                for i in (0..SEGMENTS).filter(|i| 1 + (i + 1) * BYTES > acked) {
                    // With no access point left the sender's packets take the default path.
                    match home {
                        Some(ap) => s.hear(rule, ap, i),
                        None => {
                            s.put(rule, Input::FromSender(segment(true, Flags::ACK, 1 + i * BYTES, 1, BYTES)))
                        }
                    }
                }
                s.post(Message::Fin);
                continue;
            }
            let due = match s.pep.poll_output() {
                Output::Timeout(Some(at), _) if at <= repeated => s.fire(rule),
                _ => false,
            };
            if !due {
                s.now = repeated;
            }
            if s.now > until {
                break;
            }
        }
        s
    }
}

impl Model for Street {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let config = Config::new(Policy::ProactiveAck { custody: 2 });
        let mut pep = Pep::new(config);
        pep.handle(Input::FromSender(segment(true, Flags::SYN, 0, 0, 0)), Time::ZERO);
        pep.handle(Input::FromReceiver(segment(false, Flags::SYN | Flags::ACK, 0, 1, 0)), Time::ZERO);
        while !matches!(pep.poll_output(), Output::Timeout(..)) {}
        let (deaths, faults, timers) = (self.deaths, self.faults, self.timers);
        vec![State {
            pep,
            now: Time::ZERO,
            heard: [0; 3],
            alive: [true; 3],
            net: vec![Message::Fin],
            deaths,
            faults,
            timers,
            acked: 1,
            got: 0,
            scheduled: [None; SEGMENTS as usize],
            reset: [false; 2],
        }]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Action>) {
        for ap in (0..3).filter(|ap| s.alive[*ap]) {
            let unheard = |i: &u64| s.heard[ap] & 1 << i == 0 && 1 + (i + 1) * BYTES > s.acked;
            actions.extend((0..SEGMENTS).filter(unheard).map(|i| Action::Hear(ap, i)));
            if s.deaths > 0 {
                actions.push(Action::Kill(ap));
            }
        }
        actions.extend((0..s.net.len()).map(Action::Deliver));
        // That a tunnel broke is not a message: it is always learnt.
        let losable = |i: &usize| s.faults > 0 && !matches!(s.net[*i], Message::Gone(_));
        actions.extend((0..s.net.len()).filter(losable).flat_map(|i| [Action::Double(i), Action::Lose(i)]));
        if s.timers > 0 {
            actions.push(Action::Timer);
        }
    }

    fn next_state(&self, s: &State, action: Action) -> Option<State> {
        let mut s = s.clone();
        match action {
            Action::Hear(ap, i) => s.hear(self.rule, ap, i),
            Action::Deliver(i) => {
                let message = s.net.remove(i);
                s.take(self.rule, message);
            }
            Action::Double(i) => {
                s.faults -= 1;
                let message = s.net[i].clone();
                s.take(self.rule, message);
            }
            Action::Lose(i) => {
                s.faults -= 1;
                s.net.remove(i);
            }
            Action::Kill(ap) => {
                s.deaths -= 1;
                s.kill(ap);
            }
            Action::Timer => {
                s.timers -= 1;
                s.fire(self.rule).then_some(())?;
            }
        }
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = vec![
            Property::always(CLOSED, |_, s: &State| s.acked <= END || s.delivered() > END),
            Property::always(HELD, |_, s: &State| {
                s.reset[0] || s.acked <= s.delivered().max(safe(s)) || s.deaths < 2
            }),
            Property::always(ENDS, |m: &Street, s: &State| {
                let end = s.played_out(m.rule, Duration::from_secs(5));
                end.acked > END && end.delivered() > END || end.reset == [true; 2]
            }),
            Property::always(ONE_DEATH, |m: &Street, s: &State| {
                let spent = m.deaths - s.deaths;
                spent > 0 && !s.alive[0] || spent > 1 || {
                    let end = s.played_out(m.rule, Duration::from_secs(5));
                    end.acked > END && end.delivered() > END
                }
            }),
            Property::sometimes(WELL, |m: &Street, s: &State| {
                s.played_out(m.rule, Duration::from_secs(5)).acked > END
            }),
            Property::sometimes(LEARNT, |m: &Street, s: &State| {
                s.played_out(m.rule, Duration::from_secs(5)).reset == [true; 2]
            }),
        ];
        all.into_iter().filter(|p| self.only.is_none_or(|only| only == p.name)).collect()
    }
}

const CLOSED: &str = "a closed connection is delivered whole";
const HELD: &str = "before a death, what the sender saw acknowledged is somewhere";
const WELL: &str = "a connection ends well";
const LEARNT: &str = "both ends learn of a failure";
const ENDS: &str = "all is delivered, or both ends know within 5 s";
const ONE_DEATH: &str =
    "while the home access point lives and one neighbour at most is dead, nobody is reset";

/// Up to where the access points and the tunnels have the bytes.
fn safe(s: &State) -> u64 {
    let sent = s
        .net
        .iter()
        .filter_map(|m| if let Message::Data { segment, .. } = m { Some(1 << segment) } else { None });
    let all = sent.fold(s.heard.iter().fold(s.got, |all, h| all | h), |all, bit: u8| all | bit);
    1 + u64::from(all.trailing_ones().min(SEGMENTS as u32)) * BYTES
}

/// Explores to `depth` and holds every property against what was reached.
fn explore(depth: usize) {
    let street = Street { rule: Rule::Ours, deaths: 2, faults: 2, timers: 3, only: None };
    let checker = street.checker().threads(3).target_max_depth(depth).spawn_bfs().join();
    println!(
        "{} states to depth {depth}, {} of them different",
        checker.state_count(),
        checker.unique_state_count()
    );
    for name in [CLOSED, HELD, ENDS, ONE_DEATH] {
        let found = checker.discovery(name).map(|path| format!("{:?}", path.into_actions()));
        assert_eq!(found, None, "{name}");
    }
    for name in [WELL, LEARNT] {
        assert!(checker.discovery(name).is_some(), "never seen: {name}");
    }
}

#[test]
fn no_acknowledged_byte_is_lost_in_silence() {
    explore(6);
}

/// How `rule` breaks `property` within `depth`, as actions.
fn broken(rule: Rule, deaths: u8, depth: usize, property: &'static str) -> Option<String> {
    let street = Street { rule, deaths, faults: 0, timers: 0, only: Some(property) };
    let checker = street.checker().threads(3).target_max_depth(depth).spawn_bfs().join();
    checker.discovery(property).map(|path| format!("{:?}", path.into_actions()))
}

#[test]
fn a_copy_that_goes_with_the_schedule_is_found() {
    let path = broken(Rule::ReleaseBySchedule, 1, 5, ONE_DEATH).expect("T-2 loses bytes with one death");
    println!("found: {path}");
    assert_eq!(broken(Rule::ReleaseBySchedule, 0, 5, ONE_DEATH), None, "without a death nothing is lost");
    assert_eq!(broken(Rule::Ours, 1, 5, ONE_DEATH), None, "null case: our own rule");
}

#[test]
fn a_fin_that_is_acknowledged_early_is_found() {
    let path = broken(Rule::FinAcknowledgedEarly, 0, 7, CLOSED).expect("T-3 closes what is not delivered");
    println!("found: {path}");
    assert_eq!(broken(Rule::Ours, 0, 6, CLOSED), None, "null case: our own rule");
}
