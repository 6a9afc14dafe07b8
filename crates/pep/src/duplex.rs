//! Both directions of a connection: two [`Pep`]s around it, back to back.
//!
//! ```text
//!             forth: sender a, receiver b        back: sender b, receiver a
//!  a ──▶ FromSender ─▶ [forth] ─▶ ToReceiver ──▶ FromReceiver ─▶ [back] ─▶ ToSender ──▶ b
//!  a ◀── ToSender ◀─ [forth] ◀─ FromReceiver ◀── ToReceiver ◀─ [back] ◀─ FromSender ◀── b
//! ```

use crate::{Bypass, Config, Input, Output, Pep, Ranges, Time, Why};
use core::ops::Range;
use ropewalk_packet::Segment;
use std::collections::VecDeque;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// One.
    A,
    /// The other.
    B,
}

impl End {
    /// The other one.
    pub fn other(self) -> End {
        if self == End::A { End::B } else { End::A }
    }
}

/// What a driver is to do for a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Send this to `to`. Its payload is in the store of what the other end sent, which has all of
    /// [`Duplex::kept`].
    Send {
        /// To whom.
        to: End,
        /// What.
        segment: Segment,
    },
    /// These bytes of what `from` sent are no longer needed.
    Release {
        /// Whose stream.
        from: End,
        /// Offsets.
        range: Range<u64>,
    },
    /// The connection is left alone: forward this packet, and all later ones, as they came.
    Bypass(Bypass),
    /// Both ends were reset; why.
    Reset(Why),
}

/// A connection of which both directions are helped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Duplex {
    /// By sender: what `A` sends, what `B` sends.
    peps: [Pep; 2],
    /// Whose reset ended it: that one alone goes on speaking.
    over: Option<End>,
    out: VecDeque<Effect>,
}

impl Duplex {
    /// A connection of which nothing was seen yet.
    pub fn new(config: &Config) -> Duplex {
        Duplex { peps: [(); 2].map(|()| Pep::new(config.clone())), over: None, out: VecDeque::new() }
    }

    fn pep(&mut self, sender: End) -> &mut Pep {
        &mut self.peps[usize::from(sender == End::B)]
    }

    /// A segment of `from`.
    pub fn handle(&mut self, from: End, segment: Segment, now: Time) {
        match self.over {
            Some(end) if end == from => self.run(end, Input::FromSender(segment), now),
            Some(end) => self.run(end, Input::FromReceiver(segment), now),
            None => self.run(from, Input::FromSender(segment), now),
        }
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come.
    pub fn on_timer(&mut self, now: Time) {
        for sender in [End::A, End::B] {
            if self.over.is_none_or(|end| end == sender) {
                self.run(sender, Input::Timer, now);
            }
        }
    }

    /// Both ends are reset, as bytes that one of them saw acknowledged will not come.
    pub fn abort(&mut self, now: Time) {
        let end = if self.peps[0].holds() > 0 { End::A } else { End::B };
        self.pep(end).abort(now);
        self.over = Some(end);
        self.drain(end, &mut VecDeque::new());
    }

    /// What is to be done next.
    pub fn poll_output(&mut self) -> Option<Effect> {
        self.out.pop_front()
    }

    /// When it wants to be called.
    pub fn next_timeout(&mut self) -> Option<Time> {
        let over = self.over;
        let ends = [End::A, End::B].into_iter().filter(|e| over.is_none_or(|o| o == *e));
        let due = ends.filter_map(|e| match self.pep(e).poll_output() {
            Output::Timeout(at, _) => at,
            _ => None,
        });
        due.min()
    }

    /// Bytes that would be lost with it; see [`Pep::holds`].
    pub fn holds(&self) -> u64 {
        if self.over.is_some() { 0 } else { self.peps.iter().map(Pep::holds).sum() }
    }

    /// Both ends have closed it and know so, or it was refused: nothing more comes.
    pub fn is_finished(&self) -> bool {
        self.peps.iter().all(Pep::is_finished)
    }

    /// The sequence number of offset 0 of what `sender` sends, once it is known.
    pub fn sender_isn(&self, sender: End) -> Option<u32> {
        self.peps[usize::from(sender == End::B)].sender_isn()
    }

    /// Whether a segment of `sender` with this number would be taken in; see [`Pep::expects`].
    pub fn expects(&self, sender: End, number: u32) -> bool {
        self.over.is_none() && self.peps[usize::from(sender == End::B)].expects(number)
    }

    /// What of the stream of `sender` a driver keeps; see [`Pep::kept`].
    pub fn kept(&self, sender: End) -> Option<&Ranges> {
        self.peps[usize::from(sender == End::B)].kept()
    }

    fn run(&mut self, sender: End, input: Input, now: Time) {
        let mut todo = VecDeque::from([(sender, input)]);
        while let Some((sender, input)) = todo.pop_front() {
            self.pep(sender).handle(input, now);
            if !self.drain(sender, &mut todo) {
                return;
            }
        }
    }

    /// Takes what one gives out; false if the connection is left alone from now on.
    fn drain(&mut self, sender: End, todo: &mut VecDeque<(End, Input)>) -> bool {
        let from = sender.other();
        loop {
            match self.pep(sender).poll_output() {
                Output::Timeout(..) => return true,
                Output::ToSender(segment) => self.out.push_back(Effect::Send { to: sender, segment }),
                // What goes to the receiver carries acknowledgements of the other direction.
                Output::ToReceiver(s) if self.over.is_none() => {
                    todo.push_back((from, Input::FromReceiver(s)));
                }
                Output::ToReceiver(segment) => self.out.push_back(Effect::Send { to: from, segment }),
                Output::Release { range } => self.out.push_back(Effect::Release { from: sender, range }),
                Output::Bypass(why) => {
                    self.out = [Effect::Bypass(why)].into();
                    return false;
                }
                // The same reset may end the other direction, too.
                Output::Reset(why) => {
                    if *self.over.get_or_insert(sender) == sender {
                        self.out.push_back(Effect::Reset(why));
                    }
                }
                Output::Fetch { .. } => {}
            }
        }
    }
}
