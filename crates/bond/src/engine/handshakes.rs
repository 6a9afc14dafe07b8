//! A gateway's handshakes as work that can be done elsewhere.
//!
//! ```text
//!  INIT ─▶ judged ─▶ queue ─▶ HandshakeJob ─▶ read ─▶ admitted? ─▶ HandshakeJob ─▶ RESPONSE, offered keys
//!          data thread         anywhere        data thread         anywhere        data thread
//! ```
//!
//! What costs a hundred times a datagram is in the jobs: values that own all they need. A driver that has asked for them runs them on
//! another thread and hands the results back; for any other the engine runs each at once, so a simulation is the same either way.

use super::shard::Answer;
use super::{Engine, Role};
use crate::api::Admission;
use crate::path::Route;
use ropewalk_session::{
    Accept, Backlog, Incoming, Index, InitTag, PublicKey, Reading, Refusal, SessionId, SessionKeys,
};
use ropewalk_time::Time;
use std::collections::VecDeque;

/// Copies of INITs that wait for the answer to the first; a client sends one by each of its paths.
const COPIES: usize = 256;
/// Clients of another engine that wait for keys; beyond, they ask again.
const ANSWERS: usize = 256;

/// A part of a handshake to be worked on.
#[derive(Debug)]
pub struct HandshakeJob {
    route: Route,
    tag: InitTag,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Read(Box<Reading>),
    Accept(Box<Incoming>, Box<Offer>),
    Refuse(Box<Incoming>, Refusal),
}

/// What came of a [`HandshakeJob`].
#[derive(Debug)]
pub struct HandshakeResult {
    route: Route,
    tag: InitTag,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Nothing,
    Asked(Box<Incoming>),
    Accepted(Vec<u8>, Box<(SessionKeys, Offer)>),
    Refused(Vec<u8>),
}

/// What a client that may come in is offered.
#[derive(Debug)]
pub(super) struct Offer {
    pub client: PublicKey,
    /// MTU of its device.
    pub client_mtu: u16,
    /// It reads QUEUE frames.
    pub reads_queue: bool,
    pub accept: Accept,
    pub index: Index,
    pub admission: Admission,
    /// The session that it resumes.
    pub resumed: Option<u32>,
    /// Its INIT brought a cookie.
    pub proven: bool,
    /// How often somebody had been expelled when it was let in.
    pub expulsions: u64,
}

impl HandshakeJob {
    /// Works on it: some hundred microseconds. A function of nothing but the job.
    #[must_use]
    pub fn run(self) -> HandshakeResult {
        let HandshakeJob { route, tag, work } = self;
        let outcome = match work {
            Work::Read(reading) => reading.run().map_or(Outcome::Nothing, |incoming| {
                let mut incoming = Box::new(incoming);
                // The far end of a stream's connection may be a proxy.
                if !route.is_stream() {
                    incoming.seen_at(route.remote);
                }
                Outcome::Asked(incoming)
            }),
            Work::Refuse(incoming, refusal) => {
                incoming.refuse(refusal).map_or(Outcome::Nothing, Outcome::Refused)
            }
            Work::Accept(incoming, offer) => match incoming.accept(offer.accept.clone(), offer.index) {
                Ok((answer, keys)) => Outcome::Accepted(answer, Box::new((keys, *offer))),
                Err(_) => Outcome::Nothing,
            },
        };
        HandshakeResult { route, tag, outcome }
    }
}

/// A gateway's handshakes under way.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    /// The driver asks for jobs.
    elsewhere: bool,
    /// Answers, which complete what was begun, go before INITs, and INITs of proven sources before others.
    answers: VecDeque<HandshakeJob>,
    proven: VecDeque<HandshakeJob>,
    unproven: VecDeque<HandshakeJob>,
    copies: Vec<(InitTag, Route)>,
    /// How often somebody was expelled.
    pub expulsions: u64,
}

impl Handshakes {
    /// Whether as many answers wait as may.
    pub(super) fn is_full(&self) -> bool {
        self.answers.len() >= ANSWERS
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { proven: self.proven.len(), unproven: self.unproven.len() }
    }

    pub(super) fn read(&mut self, route: Route, reading: Box<Reading>) {
        let queue = if reading.proven() { &mut self.proven } else { &mut self.unproven };
        queue.push_back(HandshakeJob { route, tag: reading.tag(), work: Work::Read(reading) });
    }

    pub(super) fn refuse(&mut self, route: Route, incoming: Box<Incoming>, refusal: Refusal) {
        let tag = incoming.tag();
        self.answers.push_back(HandshakeJob { route, tag, work: Work::Refuse(incoming, refusal) });
    }

    pub(super) fn accept(&mut self, route: Route, incoming: Box<Incoming>, offer: Offer) {
        let (tag, work) = (incoming.tag(), Work::Accept(incoming, Box::new(offer)));
        self.answers.push_back(HandshakeJob { route, tag, work });
    }

    /// A copy of an INIT that is under way came by `route`.
    pub(super) fn note_copy(&mut self, tag: InitTag, route: Route) {
        if self.copies.contains(&(tag, route)) {
            return;
        }
        // The oldest may wait for an answer that never comes: its INIT was dropped.
        if self.copies.len() >= COPIES {
            self.copies.remove(0);
        }
        self.copies.push((tag, route));
    }

    /// An INIT is done with: by which routes copies of it came.
    pub(super) fn take_copies(&mut self, tag: InitTag) -> Vec<Route> {
        self.copies.extract_if(.., |(t, _)| *t == tag).map(|(_, route)| route).collect()
    }

    fn next(&mut self) -> Option<HandshakeJob> {
        self.answers.pop_front().or_else(|| self.proven.pop_front()).or_else(|| self.unproven.pop_front())
    }
}

impl Engine {
    /// From now on the driver asks for the work of handshakes ([`Engine::next_handshake`]) and hands the results back.
    pub fn hand_out_handshakes(&mut self) {
        if let Role::Gateway(g) = &mut self.role {
            g.handshakes.elsewhere = true;
        }
    }

    /// The next work to be done for a handshake. Any number may be under way at once; they may end in any order.
    pub fn next_handshake(&mut self) -> Option<HandshakeJob> {
        match &mut self.role {
            Role::Gateway(g) => g.handshakes.next(),
            Role::Client(_) => None,
        }
    }

    /// Takes what came of a [`HandshakeJob`]. Poll afterwards.
    pub fn finish_handshake(&mut self, result: HandshakeResult, now: Time) {
        let HandshakeResult { route, tag, outcome } = result;
        match outcome {
            Outcome::Nothing => self.reply(Answer::Drop(tag), now),
            Outcome::Asked(incoming) => self.on_asked(incoming, route, now),
            Outcome::Accepted(answer, boxed) => {
                let (keys, offer) = *boxed;
                let is_offered = self.offer(keys, offer, route, now);
                let said =
                    if is_offered { Answer::Response(tag, answer, route) } else { Answer::Forget(tag) };
                self.reply(said, now);
            }
            Outcome::Refused(answer) => self.reply(Answer::Response(tag, answer, route), now),
        }
    }

    /// Without a driver that does it, the work is done here.
    pub(super) fn run_handshakes(&mut self, now: Time) {
        let here = matches!(&self.role, Role::Gateway(g) if !g.handshakes.elsewhere);
        while here && let Some(job) = self.next_handshake() {
            self.finish_handshake(job.run(), now);
        }
    }

    /// Sends a RESPONSE by all routes by which its INIT came.
    pub(super) fn answer(&mut self, tag: InitTag, answer: Vec<u8>, route: Route, now: Time) {
        let Role::Gateway(g) = &mut self.role else { return };
        g.responder.remember(tag, &answer, now);
        let copies = g.handshakes.take_copies(tag);
        for copy in copies.into_iter().filter(|copy| *copy != route) {
            self.queue_handshake(copy, answer.clone());
        }
        self.queue_handshake(route, answer);
    }

    /// An INIT gets no answer, and a copy of it none either.
    pub(super) fn drop_init(&mut self, tag: InitTag) {
        self.shared.drops.handshakes += 1;
        if let Role::Gateway(g) = &mut self.role {
            g.handshakes.take_copies(tag);
        }
    }

    /// An INIT came at a bad moment: a copy of it is read again.
    pub(super) fn forget_init(&mut self, tag: InitTag) {
        self.drop_init(tag);
        if let Role::Gateway(g) = &mut self.role {
            g.responder.forget(tag);
        }
    }

    /// A session of the client `key` that goes on with a new handshake.
    pub(super) fn resumed(&self, key: &PublicKey, session: Option<SessionId>) -> Option<u32> {
        let is_it =
            |id: &u32| self.peers.get(id).is_some_and(|p| session.is_some() && p.session.id() == session);
        self.peers_of(key).find(is_it)
    }
}
