//! One connection through its phases: opening, open, left alone, dead.

use crate::open::{Open, reset};
use crate::opening::bypass;
use crate::{Config, Input, Output, Time};
use ropewalk_packet::{Flags, Segment};
use std::collections::VecDeque;

/// How often both ends are reset again, a second apart: an RST can be lost.
const RESETS: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Opening(Option<Segment>),
    Open(Box<Open>),
    Bypassed,
    /// Resets to say again, when the next is due, and their segments.
    Dead(u8, Time, Option<Box<(Segment, Segment)>>),
}

/// One connection. [`handle`](Pep::handle) takes in; then call [`poll_output`](Pep::poll_output)
/// until it says [`Output::Timeout`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pep {
    config: Config,
    phase: Phase,
    out: VecDeque<Output>,
}

impl Pep {
    /// A connection of which nothing was seen yet.
    pub fn new(config: Config) -> Pep {
        Pep { config, phase: Phase::Opening(None), out: VecDeque::new() }
    }

    /// Takes in. Segments are to be whole, their checksums right.
    pub fn handle(&mut self, input: Input, now: Time) {
        match &mut self.phase {
            Phase::Opening(_) => self.open(&input),
            Phase::Bypassed => {}
            Phase::Dead(..) => self.dead(&input, now),
            Phase::Open(open) => {
                if let Some((why, resets)) = open.handle(&self.config, input, now, &mut self.out) {
                    self.out.push_back(Output::Reset(why));
                    let again = if resets.is_some() { RESETS } else { 0 };
                    self.phase = Phase::Dead(again, now + Time::from_secs(1), resets.map(Box::new));
                }
            }
        }
    }

    /// Gives out.
    pub fn poll_output(&mut self) -> Output {
        if let Some(next) = self.out.pop_front() {
            return next;
        }
        let (at, why) = match &self.phase {
            Phase::Open(open) => open.timeout(&self.config).unzip(),
            Phase::Dead(1.., at, _) => (Some(*at), Some("a reset to say again")),
            _ => (None, None),
        };
        Output::Timeout(at, why.unwrap_or("nothing to do"))
    }

    fn open(&mut self, input: &Input) {
        let Phase::Opening(syn) = &mut self.phase else {
            return;
        };
        let (segment, out) = match input {
            Input::FromSender(s) => (s, Output::ToReceiver(*s)),
            Input::FromReceiver(s) => (s, Output::ToSender(*s)),
            _ => return,
        };
        if segment.flags.has(Flags::RST) {
            self.out.push_back(out);
            return;
        }
        if let Some(why) = bypass(segment) {
            (self.phase, self.out) = (Phase::Bypassed, [Output::Bypass(why)].into());
            return;
        }
        self.out.push_back(out);
        match (input, *syn) {
            (Input::FromSender(s), _) => *syn = Some(*s),
            (_, Some(syn)) if segment.flags.has(Flags::ACK) => {
                self.phase = Phase::Open(Box::new(Open::new(&syn, segment)));
            }
            // A SYN of the other side: a simultaneous open, which has no one sender.
            _ => {
                (self.phase, self.out) =
                    (Phase::Bypassed, [Output::Bypass(crate::Bypass::NoHandshake)].into())
            }
        }
    }

    /// RFC 9293 §3.10.7.1: what still comes is answered by a reset at its own acknowledgement.
    fn dead(&mut self, input: &Input, now: Time) {
        let Phase::Dead(left, at, resets) = &mut self.phase else {
            return;
        };
        let answer = |s: &Segment| reset(s.destination, s.source, s.ack);
        match input {
            Input::FromSender(s) if !s.flags.has(Flags::RST) => {
                self.out.push_back(Output::ToSender(answer(s)))
            }
            Input::FromReceiver(s) if !s.flags.has(Flags::RST) => {
                self.out.push_back(Output::ToReceiver(answer(s)))
            }
            Input::Timer if *left > 0 && now >= *at => {
                (*left, *at) = (*left - 1, now + Time::from_secs(1));
                if let Some(both) = resets {
                    self.out.extend([Output::ToSender(both.0), Output::ToReceiver(both.1)]);
                }
            }
            _ => {}
        }
    }
}
