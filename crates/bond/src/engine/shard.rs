//! A gateway as several engines, each with a part of its clients. A driver runs each of them on a thread of its own.
//!
//! ```text
//!   INIT ─▶ the first engine: judged, read, admitted ──Visitor──▶ the client's engine: offers keys
//!           RESPONSE, or none, remembered  ◀───────────Reply──────────────┘
//!   DATA ─▶ the engine that its index names
//! ```
//!
//! The engines share nothing. All handshakes begin at the first one, which alone knows cookies and earlier answers. A client's address inside says which
//! engine it belongs to, so its old and its new sessions meet in one place.

use super::{Engine, Role};
use crate::api::Admission;
use crate::path::Route;
use crate::wire::TYPE_DATA;
use ropewalk_session::{Incoming, InitTag, Refusal};
use ropewalk_time::Time;

/// Visitors and replies that may wait for the driver each; beyond, clients ask again.
const WAITING: usize = 1024;

/// Which of how many engines of a gateway one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// The most engines that a gateway can have.
    pub const MOST: u32 = 64;
    /// The one that has all clients.
    pub const WHOLE: Shard = Shard { number: 0, of: 1 };

    /// The one with this number, from 0, of so many; `None` if there is none such, or they are more
    /// than [`Shard::MOST`].
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        (number < of && of <= Shard::MOST).then_some(Shard { number, of })
    }

    /// Its number. The first one, which is 0, takes the handshakes.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// The number of the engine that a datagram is for. What is no datagram of data is for the first.
    pub fn number_for(self, datagram: &[u8]) -> u32 {
        match datagram {
            [kind, i0, i1, i2, ..] if *kind >> 4 == TYPE_DATA => {
                u32::from_be_bytes([0, *i0, *i1, *i2]) % self.of
            }
            _ => 0,
        }
    }

    /// The largest index that is this engine's and not larger than `index`; 0 is no index.
    pub(super) fn own_index(self, index: u32) -> u32 {
        let below = index - index % self.of + self.number;
        if below <= index { below } else { below.saturating_sub(self.of) }
    }

    /// The number of the engine that a client with these addresses belongs to.
    fn number_for_client(self, admission: &Admission) -> u32 {
        let v4 = admission.ipv4.client;
        let address = match &admission.ipv6 {
            Some(v6) if v4.is_unspecified() => u128::from(v6.client),
            _ => u128::from(u32::from(v4)),
        };
        (address % u128::from(self.of)) as u32
    }
}

/// A client that asks at the first engine and belongs to another.
#[derive(Debug)]
pub struct Visitor {
    incoming: Box<Incoming>,
    route: Route,
}

/// What becomes of an INIT. The first engine says it to the client.
#[derive(Debug)]
pub struct Reply(pub(super) Answer);

#[derive(Debug)]
pub(super) enum Answer {
    /// A RESPONSE.
    Response(InitTag, Vec<u8>, Route),
    /// Prove that the INIT is no replay.
    Challenge(Box<Incoming>, Route),
    /// It may not come in.
    Refuse(Box<Incoming>, Refusal, Route),
    /// None; a copy of the INIT gets none either.
    Drop(InitTag),
    /// None; a copy of the INIT is read again.
    Forget(InitTag),
}

impl Engine {
    /// Gateway: from now on this engine has a part of the clients. Before it hears of any.
    pub fn set_shard(&mut self, shard: Shard) {
        if let Role::Gateway(g) = &mut self.role {
            g.shard = shard;
        }
    }

    /// Which of a gateway's engines it is.
    pub fn shard(&self) -> Shard {
        match &self.role {
            Role::Gateway(g) => g.shard,
            Role::Client(_) => Shard::WHOLE,
        }
    }

    /// First engine: the next client that belongs to another, and the number of that one.
    pub fn next_visitor(&mut self) -> Option<(u32, Visitor)> {
        match &mut self.role {
            Role::Gateway(g) => g.visitors.pop_front(),
            Role::Client(_) => None,
        }
    }

    /// Takes a client in that asked at the first engine. Poll afterwards, for the reply as well.
    pub fn on_visitor(&mut self, visitor: Visitor, now: Time) {
        // The first engine reads more than this one may have time to answer.
        if matches!(&self.role, Role::Gateway(g) if g.handshakes.is_full()) {
            return self.forget_visitor(visitor, now);
        }
        self.on_asked(visitor.incoming, visitor.route, now);
    }

    /// A client cannot be passed on, or taken in now. It asks again.
    pub fn forget_visitor(&mut self, visitor: Visitor, now: Time) {
        self.reply(Answer::Forget(visitor.incoming.tag()), now);
    }

    /// Other engines: the next reply for the first one.
    pub fn next_reply(&mut self) -> Option<Reply> {
        match &mut self.role {
            Role::Gateway(g) => g.replies.pop_front(),
            Role::Client(_) => None,
        }
    }

    /// First engine: says what another one replies. Poll afterwards.
    pub fn on_reply(&mut self, reply: Reply, now: Time) {
        match reply.0 {
            Answer::Response(tag, bytes, route) => self.answer(tag, bytes, route, now),
            Answer::Challenge(incoming, route) => {
                let Role::Gateway(g) = &mut self.role else { return };
                let bytes = g.responder.challenge(&mut self.shared.entropy, &incoming, route.remote, now);
                g.handshakes.take_copies(incoming.tag());
                self.queue_handshake(route, bytes);
            }
            Answer::Refuse(incoming, refusal, route) => {
                let Role::Gateway(g) = &mut self.role else { return };
                if g.responder.may_refuse(now) {
                    g.handshakes.refuse(route, incoming, refusal);
                } else {
                    self.drop_init(incoming.tag());
                }
            }
            Answer::Drop(tag) => self.drop_init(tag),
            Answer::Forget(tag) => self.forget_init(tag),
        }
        self.run_handshakes(now);
    }

    /// Says what becomes of an INIT, or has the first engine say it.
    pub(super) fn reply(&mut self, answer: Answer, now: Time) {
        let Role::Gateway(g) = &mut self.role else { return };
        if g.shard.number() == 0 {
            self.on_reply(Reply(answer), now);
        } else if g.replies.len() < WAITING {
            g.replies.push_back(Reply(answer));
        }
    }

    /// Whether a client that was admitted belongs to another engine. If so, it is on its way there.
    pub(super) fn pass_on(
        &mut self,
        incoming: Box<Incoming>,
        admission: &Admission,
        route: Route,
        now: Time,
    ) -> Option<Box<Incoming>> {
        let Role::Gateway(g) = &mut self.role else { return Some(incoming) };
        let number = g.shard.number_for_client(admission);
        if number == g.shard.number() {
            return Some(incoming);
        }
        // Only the first one sends clients on, so none goes in circles.
        if g.shard.number() == 0 && g.visitors.len() < WAITING {
            g.visitors.push_back((number, Visitor { incoming, route }));
        } else {
            let tag = incoming.tag();
            self.reply(Answer::Forget(tag), now);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Header;

    #[test]
    fn an_index_leads_back_to_its_engine() {
        for of in [1, 2, 3, 7, 64] {
            for shard in (0..of).map(|number| Shard::new(number, of).unwrap()) {
                for drawn in [1, 2, 63, 64, 65, 4711, 0xff_fffe, 0xff_ffff] {
                    let index = shard.own_index(drawn);
                    assert!(index <= drawn && index + of > drawn || index == 0, "{shard:?} {drawn}: {index}");
                    let header = Header { path: 3, index, number: 5 }.encode();
                    assert!(index == 0 || shard.number_for(&header) == shard.number(), "{shard:?} {drawn}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_data_is_for_the_first() {
        let shard = Shard::new(1, 2).unwrap();
        for other in [&[][..], &[0x40], &[0x40, 0, 0], &[0x10, 0, 0, 1, 0], &[0xff, 0, 0, 1, 0]] {
            assert_eq!(shard.number_for(other), 0, "{other:?}");
        }
        assert_eq!(shard.number_for(&[0x4f, 0, 0, 1]), 1);
        assert_eq!((Shard::new(2, 2), Shard::new(0, 65), Shard::new(0, 0)), (None, None, None));
    }
}
