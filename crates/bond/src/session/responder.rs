//! The gateway's end of a handshake: from an INIT to a client that may be let in.
//!
//! ```text
//! length, type → mac1 → answered just now? → rate: free ──────────────→ Noise → greeting → Hello
//!   Drop          Drop    Again                    under load: cookie → rate for its source
//!                                                    none: Cookie         none: Drop
//! ```
//!
//! Everything left of "Noise" costs about two microseconds and keeps no memory.

use std::net::SocketAddr;

use rand::CryptoRng;
use zeroize::Zeroizing;

use super::answers::Answers;
use super::cookie::CookieSecrets;
use super::hello::{ClientHello, HelloError, ServerHello};
use super::incoming::{self, InitTag};
use super::load::Load;
use super::mac::{Mac, MacKeys};
use super::noise;
use super::wire::{CLIENT_HELLO_LEN, COOKIE_NONCE_LEN, INIT_MAX, INIT_MIN, InitView};
use super::{Incoming, Index, PublicKey, Refusal, StaticKey};
use crate::time::Time;

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
    /// The crypto library failed.
    #[error("the crypto library failed, most likely for want of memory")]
    Library,
}

/// What to do about an INIT.
#[derive(Debug)]
pub enum Verdict {
    /// Nothing.
    Drop(DropReason),
    /// Under load: send this COOKIE back to where the INIT came from.
    Cookie(Vec<u8>),
    /// It was answered before: send the same RESPONSE again, to where this copy came from.
    Again(Vec<u8>),
    /// A client of another protocol version: send this refusal.
    Refused(Vec<u8>),
    /// A client asks to come in: answer it with [`Incoming::accept`] or [`Incoming::refuse`], and then call
    /// [`Responder::remember`].
    Hello(Box<Incoming>),
}

/// A gateway that listens. Its memory has a bound: about 250 KB, most of it answers to remember.
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

    /// Judges an INIT that came from `from`.
    pub fn handle<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        datagram: &[u8],
        from: SocketAddr,
        now: Time,
    ) -> Verdict {
        let Some(view) = InitView::parse(datagram) else { return Verdict::Drop(DropReason::Malformed) };
        if !self.macs.check_mac1(view.under_mac1, view.mac1) {
            return Verdict::Drop(DropReason::Mac);
        }
        if let Some(answer) = self.answers.find(view.mac1, now) {
            return Verdict::Again(answer.to_vec());
        }
        if !self.load.admit(now) {
            self.secrets.rotate(rng, now);
            if !self.secrets.check(from, view.under_mac2, view.mac2) {
                return Verdict::Cookie(self.cookie(rng, view.sender, view.mac1, from));
            }
            if !self.load.admit_proven(self.secrets.hash(from), now) {
                return Verdict::Drop(DropReason::Busy);
            }
        }
        self.read(rng, &view, from).unwrap_or_else(Verdict::Drop)
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
        self.cookie(rng, incoming.peer_index(), &incoming.tag().0, from)
    }

    /// Keeps the RESPONSE to an INIT for the copies of it that may come. Not needed, but without it each copy makes
    /// another [`Verdict::Hello`].
    pub fn remember(&mut self, tag: InitTag, response: &[u8], now: Time) {
        self.answers.remember(tag.0, response, now);
    }

    fn cookie<R: CryptoRng + ?Sized>(&self, rng: &mut R, to: Index, mac1: &Mac, from: SocketAddr) -> Vec<u8> {
        let mut nonce = [0; COOKIE_NONCE_LEN];
        rng.fill_bytes(&mut nonce);
        self.macs.seal_cookie(to, nonce, mac1, &self.secrets.cookie(from))
    }

    /// The costly part: Noise and what is inside.
    fn read<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        view: &InitView<'_>,
        from: SocketAddr,
    ) -> Result<Verdict, DropReason> {
        let mut state = noise::state(&self.local, None, view.header, noise::seed(rng))
            .map_err(|_| DropReason::Library)?;
        // Wiped, for it holds the secret of the invite.
        let mut room = Zeroizing::new([0; CLIENT_HELLO_LEN + INIT_MAX - INIT_MIN]);
        let len = state.read_message(view.noise, &mut *room).map_err(|_| DropReason::Forged)?;
        let client = state.get_remote_static().and_then(|key| key.try_into().ok()).map(PublicKey);
        let client = client.ok_or(DropReason::Forged)?;
        match ClientHello::decode(&room[..len]) {
            Ok(hello) => {
                let proven = self.secrets.check(from, view.under_mac2, view.mac2);
                let (peer_index, tag) = (view.sender, InitTag(*view.mac1));
                Ok(Verdict::Hello(Box::new(Incoming { client, hello, peer_index, tag, proven, state })))
            }
            Err(HelloError::Version(_)) => {
                let no = ServerHello::Refuse(Refusal::Version);
                incoming::answer(&mut state, &client, view.sender, Index::default(), &no)
                    .map(Verdict::Refused)
                    .map_err(|_| DropReason::Forged)
            }
            Err(_) => Err(DropReason::BadHello),
        }
    }
}
