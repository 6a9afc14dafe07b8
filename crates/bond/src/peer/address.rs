//! The peer's address on a path, as a gateway follows it (NAT rebinding; RFC 9000, section 9.3).
//!
//! ```text
//!            a datagram from B                      the challenge to B is answered
//!  A proven ──────────────────▶ A proven, B asked ─────────────────────────────────▶ B proven
//!     ▲                              │ the challenge to A is answered, or neither for 3 s
//!     └──────────────────────────────┘ no other address is asked for a second
//! ```
//!
//! Both addresses are asked, and data goes on to the proven one meanwhile. So whoever copies datagrams and wins races from an address of
//! his own gets nothing but challenges, and the path carries on. While no address of a path is proven, a copy that loses the race is looked
//! at too: the other one may have been the false one.

use super::{Peer, Shared};
use crate::path::pmtu::Mtu;
use crate::path::{AMPLIFICATION, Path, PathId, Route, State};
use crate::wire::{HEADER, Header, TAG, TIMESTAMP, Timestamp, Writer};
use rand::Rng;
use ropewalk_session::Index;
use ropewalk_time::{Duration, Time};

/// An address that does not prove itself in this time, or in two round trips, was no address of the peer.
const VALIDATION: Duration = Duration::from_secs(3);
/// After the proven address has answered, no other is asked for so long; nor in place of one that was asked so lately.
const HOLD: Duration = Duration::from_secs(1);
/// Header, timestamp, challenge and tag.
const CHALLENGE: usize = HEADER + TIMESTAMP + 9 + TAG;

/// An address that the peer may have moved to.
#[derive(Debug)]
pub(crate) struct Candidate {
    route: Route,
    token: u64,
    /// Since when it is asked, and when again.
    since: Time,
    due: Time,
    /// Bytes that may still go there (RFC 9000, section 8.1).
    allowance: u64,
}

/// How long an address is asked alone: its answer takes a round trip.
fn answer_time(p: &Path) -> Duration {
    HOLD.max(p.rtt.smoothed() * 2)
}

impl Candidate {
    /// When the next challenge may leave.
    pub(crate) fn due(&self) -> Option<Time> {
        (self.allowance >= CHALLENGE as u64).then_some(self.due)
    }
}

impl Peer {
    /// A datagram of `len` bytes that is the newest of its path came by `route`.
    pub(crate) fn follow_address(
        &mut self,
        path: PathId,
        route: Route,
        len: usize,
        now: Time,
        shared: &mut Shared,
    ) {
        let p = &mut self.paths[path];
        if self.is_client || p.route == route {
            return;
        }
        let allowance = AMPLIFICATION * len as u64;
        let answer_time = answer_time(p);
        match &mut p.address.candidate {
            Some(c) if c.route == route => return c.allowance += allowance,
            Some(c) if now.since(c.since) < answer_time => return,
            _ if now < p.address.stays_until => return,
            _ => {}
        }
        let token = shared.entropy.random();
        p.address.candidate = Some(Candidate { route, token, since: now, due: now, allowance });
        if p.address.challenge.is_none() {
            self.challenge_path(path, shared);
        }
    }

    /// A datagram came by `route` on path `i` that was received before.
    pub(crate) fn on_copy(
        &mut self,
        i: PathId,
        (header, number): (Header, u64),
        datagram: &mut [u8],
        route: Route,
        now: Time,
        shared: &mut Shared,
    ) {
        let p = &self.paths[i];
        let is_asked = |c: &Candidate| c.route == route || now.since(c.since) < answer_time(p);
        let is_asked = p.address.candidate.as_ref().is_some_and(is_asked);
        if p.address.unproven.is_none() || p.route == route || is_asked {
            return;
        }
        let index = Index::new(header.index).unwrap_or_default();
        let Some((epoch, _)) = self.session.keys.opening(index, now) else { return };
        let len = datagram.len();
        let (head, body) = datagram.split_at_mut(HEADER);
        let is_authentic = epoch.opener.open(header.path, number, head, body).is_ok();
        epoch.on_arrived(len, is_authentic);
        if is_authentic {
            self.follow_address(i, route, len, now, shared);
        }
    }

    /// The peer has answered a challenge on path `i`: whichever address it went to is the peer's.
    pub(crate) fn on_response(&mut self, i: PathId, token: u64, now: Time, shared: &mut Shared) {
        let p = &mut self.paths[i];
        if p.address.challenge.is_some_and(|(t, _)| t == token) {
            (p.address.challenge, p.address.unproven) = (None, None);
            if p.address.candidate.take().is_some() {
                p.address.stays_until = now + HOLD;
            }
        } else if let Some(new) = p.address.candidate.take_if(|c| c.token == token) {
            self.move_path(i, new.route, now, shared);
        } else {
            return;
        }
        let p = &mut self.paths[i];
        if p.live.state == State::Validating {
            p.live.on_validated(now);
            self.emit_event(i, now, shared);
            self.on_queue_changed();
        }
    }

    /// Path `i` leads to another address now, which is proven. What was on its way to the old one is lost.
    fn move_path(&mut self, i: PathId, route: Route, now: Time, shared: &mut Shared) {
        self.declare_all_lost(i, now, shared);
        let p = &mut self.paths[i];
        let old = std::mem::replace(&mut p.route, route);
        (p.address.challenge, p.address.unproven) = (None, None);
        p.live.state = State::Validating;
        if old.remote.ip() != route.remote.ip() {
            forget_the_way(p, now);
        }
    }

    /// Gives up addresses that were asked in vain.
    pub(crate) fn expire_candidates(&mut self, now: Time) {
        for p in self.paths.iter_mut() {
            let patience = VALIDATION.max(answer_time(p));
            if p.address.candidate.take_if(|c| now.since(c.since) >= patience).is_some()
                && p.address.unproven.is_none()
            {
                p.address.challenge = None;
            }
        }
    }

    /// The next challenge to an address that is not the path's: its route and its length; it is at the beginning of `tx`.
    pub(crate) fn challenge_candidate(&mut self, now: Time, tx: &mut [u8]) -> Option<(Route, usize)> {
        let is_due =
            |p: &Path| p.address.candidate.as_ref().and_then(Candidate::due).is_some_and(|t| t <= now);
        let i = self.paths.iter().find(|p| is_due(p))?.id;
        let (header, number) = self.header(i, now)?;
        let p = &mut self.paths[i];
        let again = p.challenge_interval();
        let c = p.address.candidate.as_mut()?;
        let mut w = Writer::new(&mut tx[..CHALLENGE], header, Timestamp::of(now));
        w.challenge(c.token);
        c.due = now + again;
        c.allowance -= CHALLENGE as u64;
        let (route, end) = (c.route, w.len());
        let len = self.seal(i, number, &mut tx[..end + TAG], &[])?;
        // Nobody may be there: an answer that does not come says nothing of the path.
        self.paths[i].on_sent(now, len, false, &[], None);
        Some((route, len))
    }
}

/// Another address is another way: RFC 9000, section 9.4.
fn forget_the_way(p: &mut Path, now: Time) {
    p.cc.reset(now);
    p.rtt.reset();
    p.mtu = Mtu::new(p.mtu.interface());
    p.cc.set_mtu(u64::from(p.mtu.current()));
}
