//! The gateway's end of a handshake: from an INIT to a client that may be let in.
//!
//! ```text
//! length, type → mac1 → came just now? → rate, backlog: free ─────────────→ Reading → Incoming
//!   Drop          Drop    Again, Wait         under load: cookie → rate for its source
//!                         from elsewhere:       none: Cookie         none: Drop
//!                         Cookie
//! ```
//!
//! Everything left of `Reading` costs about two microseconds and keeps no memory but a mark.

use std::net::SocketAddr;

use rand::CryptoRng;

use super::answers::{Answers, Found, Network};
use super::cookie::CookieSecrets;
use super::incoming::InitTag;
use super::load::{Backlog, Load};
use super::mac::{Mac, MacKeys};
use super::wire::{COOKIE_NONCE_LEN, InitView};
use super::{Incoming, Index, PublicKey, Reading, StaticKey};
use ropewalk_time::Time;

/// Limits on handshakes. At the defaults even a flood of whole handshakes, with cookies, takes under half a core.
#[derive(Clone, Debug)]
pub struct ResponderConfig {
    /// Handshakes started per second before cookies are asked for, and as many again with cookies. 2000: a
    /// thousand clients are back within a second after a gateway restarts.
    pub handshakes_per_second: u32,
    /// Handshakes that may start at once after a quiet time. 1000: as many clients without one cookie.
    pub burst: u32,
    /// Handshakes per second from one IPv4 address or IPv6 /64, under load and with cookies. 50: clients behind one
    /// NAT can all come in within seconds, one attacker gets a fortieth of the whole.
    pub per_source_per_second: u32,
}

impl Default for ResponderConfig {
    fn default() -> ResponderConfig {
        ResponderConfig { handshakes_per_second: 2000, burst: 1000, per_source_per_second: 50 }
    }
}

/// Why an INIT got no answer; each is a counter in the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DropReason {
    /// Not an INIT, or too short or too long for one.
    #[error("not a handshake: wrong type or length")]
    Malformed,
    /// Its first MAC is wrong: damaged, or the sender does not know this gateway's public key.
    #[error("meant for another gateway, or damaged (mac1)")]
    Mac,
    /// Too many handshakes, and its source has had its share.
    #[error("too many handshakes from its address while the gateway is under load")]
    Busy,
    /// It fails authentication.
    #[error("damaged, or its sender does not hold the key it names (Noise)")]
    Forged,
    /// Its greeting breaks the protocol.
    #[error("its greeting breaks the protocol")]
    BadHello,
}

/// What to do about an INIT.
#[derive(Debug)]
pub enum Verdict {
    /// Nothing.
    Drop(DropReason),
    /// Under load, or copies of it came from networks that have shown themselves and this one has
    /// not: send this COOKIE back to where the INIT came from.
    Cookie(Vec<u8>),
    /// It was answered before, for the network that it came from or for anybody: send the same
    /// RESPONSE again, to where this copy came from.
    Again(Vec<u8>),
    /// It came before and is worked on: when there is an answer, send it to where this copy came from, too.
    Wait(InitTag),
    /// It may be read ([`Reading::run`]). When that has led to something, call [`Responder::remember`] or [`Responder::forget`].
    Read(Box<Reading>),
}

/// A gateway that listens. Its memory has a bound: some 250 KB, 600 KB at most, most of it answers
/// to remember.
pub struct Responder {
    local: StaticKey,
    macs: MacKeys,
    load: Load,
    secrets: CookieSecrets,
    answers: Answers,
}

impl Responder {
    /// A gateway with this static key.
    pub fn new<R: CryptoRng + ?Sized>(
        rng: &mut R,
        local: StaticKey,
        config: &ResponderConfig,
        now: Time,
    ) -> Responder {
        Responder {
            macs: MacKeys::of(&local.public()),
            local,
            load: Load::new(config),
            secrets: CookieSecrets::new(rng, now),
            answers: Answers::new(),
        }
    }

    /// Its public key.
    pub fn public(&self) -> PublicKey {
        self.local.public()
    }

    /// Changes the limits, as at a reload of the configuration.
    pub fn set_config(&mut self, config: &ResponderConfig) {
        self.load = Load::new(config);
    }

    /// Judges an INIT that came from `from` while `backlog` waits to be read.
    pub fn handle<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        datagram: &[u8],
        from: SocketAddr,
        backlog: Backlog,
        now: Time,
    ) -> Verdict {
        let Some(view) = InitView::parse(datagram) else { return Verdict::Drop(DropReason::Malformed) };
        if !self.macs.check_mac1(view.under_mac1, view.mac1) {
            return Verdict::Drop(DropReason::Mac);
        }
        self.secrets.rotate(rng, now);
        let proven = self.secrets.check(from, view.under_mac2, view.mac2);
        let tag = InitTag { mac1: *view.mac1, network: proven.then(|| Network::of(from)) };
        match self.answers.find(&tag, now) {
            Found::Answered(answer) => return Verdict::Again(answer.to_vec()),
            Found::Waits => return Verdict::Wait(tag),
            // Somebody else may have been first with a copy, under a cookie of his own.
            Found::Elsewhere => return Verdict::Cookie(self.cookie(rng, view.sender, view.mac1, from)),
            Found::New => {}
        }
        if !self.load.admit(backlog, now) {
            if !proven {
                return Verdict::Cookie(self.cookie(rng, view.sender, view.mac1, from));
            }
            if !self.load.admit_proven(self.secrets.hash(from), backlog, now) {
                return Verdict::Drop(DropReason::Busy);
            }
        }
        self.answers.put(tag, None, now);
        let init = (datagram, tag);
        Verdict::Read(Box::new(Reading::new(rng, &self.local, init, proven)))
    }

    /// The COOKIE that asks the sender of `incoming` for [`Incoming::proven`], where the engine wants that of one
    /// client although the gateway is not under load.
    pub fn challenge<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        incoming: &Incoming,
        from: SocketAddr,
        now: Time,
    ) -> Vec<u8> {
        self.secrets.rotate(rng, now);
        let tag = incoming.tag();
        self.answers.forget(&tag);
        self.cookie(rng, incoming.peer_index(), &tag.mac1, from)
    }

    /// Whether a client may be told now that it is refused. If not, it gets no answer: a refusal is not to cost more than it has cost to read
    /// the INIT, whoever sends many.
    pub fn may_refuse(&mut self, now: Time) -> bool {
        self.load.refuse(now)
    }

    /// Keeps the RESPONSE to an INIT for the copies of it that may come.
    pub fn remember(&mut self, tag: InitTag, response: &[u8], now: Time) {
        self.answers.put(tag, Some(response), now);
    }

    /// The INIT led to nothing, and a copy of it may be read again. Without this, copies of it are dropped for as long as a client sends them.
    pub fn forget(&mut self, tag: InitTag) {
        self.answers.forget(&tag);
    }

    fn cookie<R: CryptoRng + ?Sized>(&self, rng: &mut R, to: Index, mac1: &Mac, from: SocketAddr) -> Vec<u8> {
        let mut nonce = [0; COOKIE_NONCE_LEN];
        rng.fill_bytes(&mut nonce);
        self.macs.seal_cookie(to, nonce, mac1, &self.secrets.cookie(from))
    }
}
