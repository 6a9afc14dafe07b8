//! The client's end of a handshake: start, send again, take a cookie, finish.

use core::{fmt, net::SocketAddr, time::Duration};

use rand::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::hello::{ClientHello, HelloError, ServerHello};
use super::mac::{Mac, MacKeys, mac2};
use super::noise::Initiation;
use super::schedule::{Role, SessionKeys};
use super::wire::{
    CookieView, INIT_HEADER, Index, MAC_LEN, MessageType, NOISE_INIT_OVERHEAD, ResponseView, SERVER_HELLO_MAX,
};
use super::{Accept, CipherSet, PublicKey, Refusal, StaticKey, x25519};
use ropewalk_time::Time;

/// How long one INIT is sent again unchanged, so that an answer to any copy of it counts. After that a retry makes
/// a new one. A gateway remembers its answer this long.
pub const INIT_LIFETIME: Duration = Duration::from_secs(10);

/// How long a cookie can be used: as long as a gateway keeps the secret it is made of, at least.
pub const COOKIE_LIFETIME: Duration = Duration::from_secs(120);

/// Why an answer of a gateway was not taken. The handshake goes on waiting after each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Not a handshake message, or too short or too long for one.
    #[error("a datagram is not the answer of a gateway; dropped")]
    Malformed,
    /// For somebody else: its index or its first MAC do not fit.
    #[error("a datagram answers another handshake; dropped")]
    NotOurs,
    /// It fails authentication.
    #[error(
        "an answer is damaged or not from the gateway of the token; dropped. If no other comes, check the token"
    )]
    Forged,
    /// The gateway's greeting cannot be used.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The gateway's key, from the token, is none.
    #[error("the token names a gateway key that no gateway can have; ask its operator for a new token")]
    Key,
}

/// What a gateway gave to a source address under load; holds for later INITs from the same address and port.
#[derive(Clone, Debug, Zeroize, ZeroizeOnDrop)]
pub struct Cookie {
    value: Mac,
    #[zeroize(skip)]
    expires: Time,
}

impl Cookie {
    /// Whether it can still be used.
    pub fn is_fresh(&self, now: Time) -> bool {
        now < self.expires
    }
}

/// How a handshake ended.
#[derive(Debug)]
pub enum Outcome {
    /// The session is up: send a DATA packet soon, for the gateway switches to these keys when it opens the first.
    Accepted(Accept, SessionKeys),
    /// The gateway says no; the sentence of the refusal is for the user.
    Refused(Refusal),
}

/// A handshake that waits for its answer.
pub struct Initiator {
    local: StaticKey,
    gateway: PublicKey,
    /// mac1 and cookie keys of the gateway.
    outward: MacKeys,
    /// mac1 key of this client.
    inward: MacKeys,
    index: Index,
    hello: Zeroizing<Vec<u8>>,
    ciphers: CipherSet,
    cookie: Option<Cookie>,
    attempt: Attempt,
    observed: Option<SocketAddr>,
}

/// One INIT and what its answer is read with.
struct Attempt {
    /// `None` once it was answered.
    noise: Option<Initiation>,
    datagram: Vec<u8>,
    made: Time,
    /// Whether a COOKIE answered it since it was sent last. One is taken each time: who sends a captured one
    /// again and again makes nobody send as often.
    challenged: bool,
}

impl Initiator {
    /// Starts a handshake with `gateway`. `index` is where the session's packets are to arrive, `cookie` one that the
    /// same gateway gave to the same source address before.
    ///
    /// # Errors
    /// [`HandshakeError::Hello`] if `hello` has too many extensions, [`HandshakeError::Key`] if `gateway` is no usable key.
    pub fn start<R: CryptoRng + ?Sized>(
        rng: &mut R,
        local: &StaticKey,
        gateway: &PublicKey,
        index: Index,
        hello: &ClientHello,
        cookie: Option<Cookie>,
        now: Time,
    ) -> Result<Initiator, HandshakeError> {
        let encoded = Zeroizing::new(hello.encode()?);
        let outward = MacKeys::of(gateway);
        let attempt = Attempt::new(rng, local, gateway, index, &encoded, &outward, now)?;
        let mut initiator = Initiator {
            local: local.clone(),
            gateway: *gateway,
            outward,
            inward: MacKeys::of(&local.public()),
            index,
            hello: encoded,
            ciphers: hello.ciphers,
            cookie,
            attempt,
            observed: None,
        };
        initiator.put_mac2(now);
        Ok(initiator)
    }

    /// The INIT to send.
    pub fn datagram(&self) -> &[u8] {
        &self.attempt.datagram
    }

    /// Where this handshake expects its answer.
    pub fn index(&self) -> Index {
        self.index
    }

    /// The cookie that holds, for the next handshake from the same address.
    pub fn cookie(&self) -> Option<&Cookie> {
        self.cookie.as_ref()
    }

    /// The INIT to send when no answer came: the same one, or after [`INIT_LIFETIME`] a new one.
    ///
    /// # Errors
    /// [`HandshakeError::Key`] as for [`Initiator::start`].
    pub fn retry<R: CryptoRng + ?Sized>(&mut self, rng: &mut R, now: Time) -> Result<&[u8], HandshakeError> {
        if now.since(self.attempt.made) >= INIT_LIFETIME {
            let Initiator { local, gateway, index, hello, outward, .. } = self;
            self.attempt = Attempt::new(rng, local, gateway, *index, hello, outward, now)?;
        }
        self.attempt.challenged = false;
        self.put_mac2(now);
        Ok(self.datagram())
    }

    /// Takes a COOKIE; the INIT to send at once is returned.
    ///
    /// # Errors
    /// [`HandshakeError`] if it is not an answer to the INIT sent last, or a second one since [`Initiator::retry`].
    pub fn handle_cookie(&mut self, datagram: &[u8], now: Time) -> Result<&[u8], HandshakeError> {
        let view = CookieView::parse(datagram).ok_or(HandshakeError::Malformed)?;
        if view.receiver != self.index || self.attempt.challenged {
            return Err(HandshakeError::NotOurs);
        }
        let value = self.outward.open_cookie(&view, self.attempt.mac1()).ok_or(HandshakeError::Forged)?;
        self.attempt.challenged = true;
        self.cookie = Some(Cookie { value, expires: now + COOKIE_LIFETIME });
        self.put_mac2(now);
        Ok(self.datagram())
    }

    /// Where the gateway received the INIT from, once [`Initiator::finish`] has taken its RESPONSE; if the hello asked for
    /// that ([`super::Extensions::ask_address`]), and the gateway says it.
    pub fn observed(&self) -> Option<SocketAddr> {
        self.observed
    }

    /// Takes a RESPONSE. After `Ok` the handshake is over.
    ///
    /// # Errors
    /// [`HandshakeError`] if it is not the answer; the handshake then still waits for it.
    pub fn finish(&mut self, datagram: &[u8]) -> Result<Outcome, HandshakeError> {
        let view = ResponseView::parse(datagram).ok_or(HandshakeError::Malformed)?;
        if view.receiver != self.index || !self.inward.check_mac1(view.under_mac1, view.mac1) {
            return Err(HandshakeError::NotOurs);
        }
        let mut room = [0; SERVER_HELLO_MAX];
        let noise = self.attempt.noise.as_ref().ok_or(HandshakeError::NotOurs)?;
        let (len, split) = noise.read(view.noise, &mut room).ok_or(HandshakeError::Forged)?;
        let hello = ServerHello::decode(&room[..len])?;
        let observed = hello.extensions().observed();
        let outcome = match hello {
            ServerHello::Refuse(refusal, _) => Outcome::Refused(refusal),
            ServerHello::Accept(accept) if self.ciphers.has(accept.cipher) => {
                let keys = split.keys(Role::Initiator, accept.cipher, self.index, view.sender);
                Outcome::Accepted(accept, keys)
            }
            ServerHello::Accept(_) => return Err(HelloError::Malformed.into()),
        };
        (self.attempt.noise, self.observed) = (None, observed);
        Ok(outcome)
    }

    fn put_mac2(&mut self, now: Time) {
        let (covered, mac) =
            self.attempt.datagram.split_last_chunk_mut::<MAC_LEN>().expect("an INIT ends with mac2");
        *mac = match &self.cookie {
            Some(cookie) if cookie.is_fresh(now) => mac2(&cookie.value, covered),
            _ => [0; MAC_LEN],
        };
    }
}

impl Attempt {
    fn new<R: CryptoRng + ?Sized>(
        rng: &mut R,
        local: &StaticKey,
        gateway: &PublicKey,
        index: Index,
        hello: &[u8],
        outward: &MacKeys,
        now: Time,
    ) -> Result<Attempt, HandshakeError> {
        let [a, b, c] = index.to_be_bytes();
        let header = [MessageType::Init.byte(), a, b, c];
        let len = INIT_HEADER + NOISE_INIT_OVERHEAD + hello.len() + 2 * MAC_LEN;
        let mut datagram = Vec::with_capacity(len);
        datagram.extend_from_slice(&header);
        let ephemeral = x25519::secret(rng);
        let noise = Initiation::write(local, gateway, &header, ephemeral, hello, &mut datagram)
            .ok_or(HandshakeError::Key)?;
        let mac1 = outward.mac1(&datagram);
        datagram.extend_from_slice(&mac1);
        datagram.extend_from_slice(&[0; MAC_LEN]);
        Ok(Attempt { noise: Some(noise), datagram, made: now, challenged: false })
    }

    fn mac1(&self) -> &Mac {
        let (rest, _mac2) = self.datagram.split_last_chunk::<MAC_LEN>().expect("an INIT ends with mac2");
        rest.last_chunk().expect("mac1 stands before mac2")
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Initiator(index {}, gateway {})", self.index.get(), self.gateway)
    }
}
