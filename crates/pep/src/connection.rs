//! One connection through its phases: opening, open, left alone, dead.

use crate::open::{Open, reset};
use crate::opening::bypass;
use crate::snoop::Snoop;
use crate::{Config, Input, Output, Policy, Ranges, Time, Why};
use core::time::Duration;
use ropewalk_packet::{Flags, Segment};
use std::collections::VecDeque;

/// How often both ends are reset again, a second apart: an RST can be lost.
const RESETS: u8 = 2;

/// Whether a segment is about this very SYN.
fn is_answer(segment: &Segment, syn: &Segment) -> bool {
    segment.flags.has(Flags::ACK) && segment.ack == syn.seq.wrapping_add(1)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The SYN of the end that opens, and whether that is the sender.
    Opening(Option<(Segment, bool)>),
    Open(Box<Open>),
    Snoop(Box<Snoop>),
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
    /// Nobody listens there.
    refused: bool,
    out: VecDeque<Output>,
}

impl Pep {
    /// A connection of which nothing was seen yet.
    pub fn new(config: Config) -> Pep {
        let phase = match config.policy {
            Policy::Snoop => Phase::Snoop(Box::default()),
            _ => Phase::Opening(None),
        };
        Pep { config, phase, refused: false, out: VecDeque::new() }
    }

    /// Bytes that this connection would lose if it were forgotten now: those that the sender saw
    /// acknowledged and the receiver does not have, and those that wait here in order. None with
    /// [`Policy::Snoop`], which acknowledges nothing.
    pub fn holds(&self) -> u64 {
        if let Phase::Open(open) = &self.phase { open.holds() } else { 0 }
    }

    /// The receiver has all that the sender sent, its FIN too, or has refused the connection.
    pub fn is_finished(&self) -> bool {
        match &self.phase {
            Phase::Opening(_) => self.refused,
            Phase::Open(open) => open.is_finished(),
            Phase::Snoop(snoop) => snoop.is_finished(),
            Phase::Bypassed | Phase::Dead(..) => false,
        }
    }

    /// Resets both ends: whoever kept the bytes goes away. Does nothing to a connection that is not
    /// open.
    pub fn abort(&mut self, now: Time) {
        if let Phase::Open(open) = &self.phase {
            let both = open.resets();
            self.out.extend([Output::ToSender(both.0), Output::ToReceiver(both.1)]);
            self.out.push_back(Output::Reset(Why::Orphaned));
            let next = now + Duration::from_secs(1);
            self.phase = Phase::Dead(RESETS, next, Some(Box::new(both)));
        }
    }

    /// The sequence number of offset 0 of the sender's stream, once it is known.
    pub fn sender_isn(&self) -> Option<u32> {
        match &self.phase {
            Phase::Open(open) => Some(open.sender_isn()),
            Phase::Snoop(snoop) => snoop.isn(),
            _ => None,
        }
    }

    /// What of the sender's stream was taken in, released or not. Of a segment that was just taken
    /// in, a driver keeps these bytes alone: the rest was refused, and may be somebody else's. None
    /// unless the connection is open; with [`Policy::Snoop`] whole packets are kept.
    pub fn kept(&self) -> Option<&Ranges> {
        if let Phase::Open(open) = &self.phase { Some(open.kept()) } else { None }
    }

    /// Whether the sender may send a segment with this number now, which the proxy is to take in.
    pub fn expects(&self, number: u32) -> bool {
        if let Phase::Open(open) = &self.phase { open.expects(&self.config, number) } else { false }
    }

    /// Takes in. Segments are to be whole, their checksums right.
    pub fn handle(&mut self, input: Input, now: Time) {
        match &mut self.phase {
            Phase::Opening(_) => self.open(&input),
            Phase::Bypassed => {}
            Phase::Dead(..) => self.dead(&input, now),
            Phase::Snoop(snoop) => snoop.handle(&self.config, &input, now, &mut self.out),
            Phase::Open(open) => {
                if let Some((why, resets)) = open.handle(&self.config, input, now, &mut self.out) {
                    self.out.push_back(Output::Reset(why));
                    let again = if resets.is_some() { RESETS } else { 0 };
                    self.phase = Phase::Dead(again, now + Duration::from_secs(1), resets.map(Box::new));
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
            Phase::Snoop(snoop) => snoop.timeout().unzip(),
            Phase::Dead(1.., at, _) => (Some(*at), Some("a reset to say again")),
            _ => (None, None),
        };
        Output::Timeout(at, why.unwrap_or("nothing to do"))
    }

    fn open(&mut self, input: &Input) {
        let Phase::Opening(syn) = &mut self.phase else {
            return;
        };
        let (segment, by_sender, out) = match input {
            Input::FromSender(s) => (s, true, Output::ToReceiver(*s)),
            Input::FromReceiver(s) => (s, false, Output::ToSender(*s)),
            _ => return,
        };
        let asked = syn.filter(|(_, asker)| *asker != by_sender);
        if segment.flags.has(Flags::RST) {
            self.refused |= asked.is_some_and(|(asked, _)| is_answer(segment, &asked));
            self.out.push_back(out);
            return;
        }
        self.refused = false;
        if let Some(why) = bypass(segment) {
            (self.phase, self.out) = (Phase::Bypassed, [Output::Bypass(why)].into());
            return;
        }
        let answers = segment.flags.has(Flags::ACK);
        match *syn {
            // An answer to another SYN is for the asker to reset (RFC 9293 §3.10.7.3).
            Some((asked, asker)) if answers && asker != by_sender && !is_answer(segment, &asked) => {}
            Some((asked, asker)) if answers && asker != by_sender => {
                let (ours, theirs) = if by_sender { (segment, &asked) } else { (&asked, segment) };
                self.phase = Phase::Open(Box::new(Open::new(ours, theirs)));
            }
            Some((_, asker)) if !answers && asker == by_sender => *syn = Some((*segment, by_sender)),
            None if !answers => *syn = Some((*segment, by_sender)),
            // A SYN of either side, or an answer to what was not seen.
            _ => {
                let why = Output::Bypass(crate::Bypass::NoHandshake);
                (self.phase, self.out) = (Phase::Bypassed, [why].into());
                return;
            }
        }
        self.out.push_back(out);
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
                (*left, *at) = (*left - 1, now + Duration::from_secs(1));
                if let Some(both) = resets {
                    self.out.extend([Output::ToSender(both.0), Output::ToReceiver(both.1)]);
                }
            }
            _ => {}
        }
    }
}
