//! `Split` and `Snoop` over every interleaving of a short connection through one box: four segments
//! and a FIN, messages that are lost, doubled and overtake each other.
//!
//! From each state that is reached the rest is played out without further faults; then all has to be
//! delivered. The wrong rules that have to be found: a copy that goes when it was sent on (trap T-2),
//! a FIN that is acknowledged early (T-3), and for Snoop a box that acknowledges at all.

use core::time::Duration;
use ropewalk_packet::{Ecn, Flags, Options, SackBlocks, Segment};
use ropewalk_pep::{Config, Input, Output, Pep, Policy, Ranges, Time};
use stateright::{Checker, Model, Property};

const SEGMENTS: u64 = 4;
const BYTES: u64 = 10;
/// One past the last byte; the FIN's number.
const END: u64 = 1 + SEGMENTS * BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Ours,
    ReleaseWhenSent,
    FinAcknowledgedEarly,
}

struct Relay {
    policy: Policy,
    rule: Rule,
    faults: u8,
    timers: u8,
    only: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    /// From the sender to the box, and from the box to the receiver: segments by number, 4 is the
    /// FIN.
    In(u64),
    Out(u64),
    /// To the receiver: answer.
    Probe,
    /// From the receiver, and from the box to the sender: what is acknowledged, what is selected by
    /// bit.
    Up(u64, u8),
    Back(u64, u8),
    Reset,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    pep: Pep,
    now: Time,
    net: Vec<Message>,
    faults: u8,
    timers: u8,
    acked: u64,
    /// Bit `i`: the receiver has segment `i`; the box's driver has it.
    got: u8,
    stored: u8,
    /// All below may be forgotten.
    released: u64,
    /// The box sent a segment that its driver no longer had.
    empty_handed: bool,
    reset: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Deliver(usize),
    Double(usize),
    Lose(usize),
    Timer,
}

fn segment(from_sender: bool, flags: Flags, seq: u64, ack: u64, payload_bytes: u64) -> Segment {
    let (a, b) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
    let (source, destination) = if from_sender { (a, b) } else { (b, a) };
    let (seq, ack, payload_bytes) = (seq as u32, ack as u32, payload_bytes as u32);
    let syn = flags.has(Flags::SYN);
    let options = Options { mss: syn.then_some(BYTES as u16), sack_permitted: syn, ..Options::default() };
    let (ecn, window, urgent) = (Ecn::NotEct, 1000, 0);
    Segment { source, destination, ecn, flags, seq, ack, window, urgent, options, payload_bytes }
}

fn of_sender(i: u64) -> Segment {
    match i {
        SEGMENTS => segment(true, Flags::ACK | Flags::FIN, END, 1, 0),
        _ => segment(true, Flags::ACK, 1 + i * BYTES, 1, BYTES),
    }
}

fn of_receiver(ack: u64, selected: u8) -> Segment {
    let mut sack = SackBlocks::default();
    for i in (0..SEGMENTS).filter(|i| selected & 1 << i != 0) {
        sack.push(((1 + i * BYTES) as u32, (1 + (i + 1) * BYTES) as u32));
    }
    let s = segment(false, Flags::ACK, 1, ack, 0);
    Segment { options: Options { sack, ..s.options }, ..s }
}

/// The next expected number of who has the segments `got`.
fn delivered(got: u8) -> u64 {
    match u64::from(got.trailing_ones()) {
        n if n <= SEGMENTS => 1 + n * BYTES,
        _ => END + 1,
    }
}

impl State {
    fn put(&mut self, rule: Rule, input: Input) {
        self.pep.handle(input, self.now);
        self.run(rule);
    }

    fn run(&mut self, rule: Rule) {
        loop {
            match self.pep.poll_output() {
                Output::ToSender(s) if s.flags.has(Flags::RST) => self.post(Message::Reset),
                Output::ToSender(s) => {
                    let early = rule == Rule::FinAcknowledgedEarly && u64::from(s.ack) >= END - BYTES;
                    let ack = if early { END + 1 } else { u64::from(s.ack) };
                    let blocks = s.options.sack.as_slice().iter();
                    let bits = blocks.flat_map(|(a, b)| (u64::from(*a) / BYTES)..(u64::from(*b) / BYTES));
                    self.post(Message::Back(ack, bits.fold(0, |all, i| all | 1 << i)));
                }
                Output::ToReceiver(s) if s.flags.has(Flags::RST) => {}
                Output::ToReceiver(s) if s.sequence_bytes() == 0 => self.post(Message::Probe),
                Output::ToReceiver(s) => self.send(rule, &s),
                Output::Release { range } => {
                    self.released = range.end;
                    self.forget();
                }
                Output::Fetch { .. } | Output::Bypass(_) | Output::Reset(_) => {}
                Output::Timeout(..) => break,
            }
        }
    }

    fn send(&mut self, rule: Rule, s: &Segment) {
        for i in (0..SEGMENTS).filter(|_| s.payload_bytes > 0) {
            if u64::from(s.seq) <= 1 + i * BYTES && (i + 1) * BYTES < u64::from(s.seq + s.payload_bytes) {
                self.empty_handed |= self.stored & 1 << i == 0;
                if self.stored & 1 << i != 0 {
                    self.post(Message::Out(i));
                }
                if rule == Rule::ReleaseWhenSent {
                    self.stored &= !(1 << i);
                }
            }
        }
        if s.flags.has(Flags::FIN) {
            self.post(Message::Out(SEGMENTS));
        }
    }

    fn forget(&mut self) {
        let gone = (0..SEGMENTS).filter(|i| (i + 1) * BYTES < self.released);
        gone.for_each(|i| self.stored &= !(1 << i));
    }

    fn post(&mut self, message: Message) {
        if let Err(at) = self.net.binary_search(&message) {
            self.net.insert(at, message);
        }
    }

    fn take(&mut self, rule: Rule, message: Message) {
        match message {
            Message::In(i) => {
                let s = of_sender(i);
                self.pep.handle(Input::FromSender(s), self.now);
                // What the proxy refused is not kept. For Snoop a packet in hand can pass, even if
                // nothing of it is kept.
                let all = |kept: &Ranges| kept.end_from(s.seq.into()) >= Some(1 + (i + 1) * BYTES);
                self.stored |= u8::from(self.pep.kept().is_none_or(all)) << i & 0x0F;
                self.run(rule);
                self.forget();
            }
            Message::Out(i) => {
                self.got |= 1 << i;
                self.answer();
            }
            Message::Probe => self.answer(),
            Message::Up(ack, selected) => self.put(rule, Input::FromReceiver(of_receiver(ack, selected))),
            Message::Back(ack, _) => self.acked = self.acked.max(ack),
            Message::Reset => self.reset = true,
        }
    }

    fn answer(&mut self) {
        let ack = delivered(self.got);
        let below = self.got.trailing_ones().min(SEGMENTS as u32);
        self.post(Message::Up(ack, self.got & 0x0F & !((1u8 << below) - 1)));
    }

    fn fire(&mut self, rule: Rule) -> bool {
        let Output::Timeout(Some(at), _) = self.pep.poll_output() else {
            return false;
        };
        self.now = self.now.max(at);
        self.put(rule, Input::Timer);
        true
    }

    /// The rest without faults: the sender sends again what it does not see acknowledged.
    fn played_out(&self, rule: Rule) -> State {
        let (mut s, until) = (self.clone(), self.now + Duration::from_secs(20));
        let mut repeated = self.now;
        for _ in 0..400 {
            while !s.net.is_empty() {
                let next = s.net.remove(0);
                s.take(rule, next);
            }
            if s.acked > END || s.reset || s.now > until {
                break;
            }
            if s.now >= repeated {
                repeated = s.now + Duration::from_millis(300);
                let acked = s.acked;
                (0..=SEGMENTS).filter(|i| 1 + i * BYTES >= acked).for_each(|i| s.post(Message::In(i)));
                continue;
            }
            match s.pep.poll_output() {
                Output::Timeout(Some(at), _) if at <= repeated => drop(s.fire(rule)),
                _ => s.now = repeated,
            }
        }
        s
    }

    fn ended_well(&self) -> bool {
        self.acked > END && delivered(self.got) > END
    }
}

const CLOSED: &str = "a closed connection is delivered whole";
const HELD: &str = "what the sender saw acknowledged is at the box or at the receiver";
const AT_HAND: &str = "what is sent is still in the store";
const TRUE: &str = "what the sender saw acknowledged is at the receiver";
const ENDS: &str = "all is delivered within 20 s: timeouts double, from 1 s";
const WELL: &str = "a connection ends well";

impl Model for Relay {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut pep = Pep::new(Config::new(self.policy));
        pep.handle(Input::FromSender(segment(true, Flags::SYN, 0, 0, 0)), Time::ZERO);
        pep.handle(Input::FromReceiver(segment(false, Flags::SYN | Flags::ACK, 0, 1, 0)), Time::ZERO);
        while !matches!(pep.poll_output(), Output::Timeout(..)) {}
        let (faults, timers) = (self.faults, self.timers);
        let net = (0..=SEGMENTS).map(Message::In).collect();
        let (now, acked, got, stored, released) = (Time::ZERO, 1, 0, 0, 0);
        let (empty_handed, reset) = (false, false);
        vec![State { pep, now, net, faults, timers, acked, got, stored, released, empty_handed, reset }]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Action>) {
        actions.extend((0..s.net.len()).map(Action::Deliver));
        if s.faults > 0 {
            actions.extend((0..s.net.len()).flat_map(|i| [Action::Double(i), Action::Lose(i)]));
        }
        if s.timers > 0 {
            actions.push(Action::Timer);
        }
    }

    fn next_state(&self, s: &State, action: Action) -> Option<State> {
        let mut s = s.clone();
        // Each step takes a while, so that what is sent later is known to be.
        s.now += Duration::from_millis(2);
        match action {
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
            Action::Timer => {
                s.timers -= 1;
                s.fire(self.rule).then_some(())?;
            }
        }
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = vec![
            Property::always(CLOSED, |_, s: &State| s.acked <= END || delivered(s.got) > END),
            Property::always(HELD, |_, s: &State| {
                s.acked <= delivered(s.got).max(delivered(s.got | s.stored))
            }),
            Property::always(AT_HAND, |_, s: &State| !s.empty_handed),
            Property::always(TRUE, |_, s: &State| s.acked <= delivered(s.got)),
            Property::always(ENDS, |m: &Relay, s: &State| {
                let end = s.played_out(m.rule);
                end.ended_well() && !end.empty_handed
            }),
            Property::sometimes(WELL, |m: &Relay, s: &State| s.played_out(m.rule).ended_well()),
        ];
        // Split acknowledges early: that is what it is for.
        let asked = |p: &Property<Self>| self.policy == Policy::Snoop || p.name != TRUE;
        all.into_iter().filter(|p| self.only.map_or_else(|| asked(p), |only| only == p.name)).collect()
    }
}

fn explore(policy: Policy, depth: usize) {
    let relay = Relay { policy, rule: Rule::Ours, faults: 2, timers: 2, only: None };
    let checker = relay.checker().threads(2).target_max_depth(depth).spawn_bfs().join();
    println!(
        "{policy:?}: {} states to depth {depth}, {} of them different",
        checker.state_count(),
        checker.unique_state_count()
    );
    for name in
        [CLOSED, HELD, AT_HAND, ENDS, TRUE].into_iter().filter(|n| policy == Policy::Snoop || *n != TRUE)
    {
        let found = checker.discovery(name).map(|path| format!("{:?}", path.into_actions()));
        assert_eq!(found, None, "{name}");
    }
    assert!(checker.discovery(WELL).is_some(), "never seen: {WELL}");
}

#[test]
fn split_loses_nothing_that_it_acknowledged() {
    explore(Policy::Split, 6);
}

#[test]
fn snoop_says_nothing_that_is_not_so() {
    explore(Policy::Snoop, 7);
}

fn broken(policy: Policy, rule: Rule, property: &'static str) -> Option<String> {
    let relay = Relay { policy, rule, faults: 1, timers: 1, only: Some(property) };
    let checker = relay.checker().threads(2).target_max_depth(7).spawn_bfs().join();
    checker.discovery(property).map(|path| format!("{:?}", path.into_actions()))
}

#[test]
fn wrong_rules_are_found() {
    for (policy, rule, property) in [
        (Policy::Split, Rule::ReleaseWhenSent, HELD),
        (Policy::Split, Rule::FinAcknowledgedEarly, CLOSED),
        (Policy::Split, Rule::Ours, TRUE),
    ] {
        let path = broken(policy, rule, property).unwrap_or_else(|| panic!("{rule:?} keeps: {property}"));
        println!("{policy:?} {rule:?}: {path}");
    }
    assert_eq!(broken(Policy::Split, Rule::Ours, HELD), None, "null case: our own rule");
    assert_eq!(broken(Policy::Snoop, Rule::Ours, TRUE), None, "null case: a box that acknowledges nothing");
}
