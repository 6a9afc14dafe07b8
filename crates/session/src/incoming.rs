//! The costly half of a handshake at the gateway: reading an INIT, and the gateway's two possible answers. These are functions of values that
//! own all they need, so a driver may run them on another thread.

use core::fmt;
use core::net::SocketAddr;

use rand::CryptoRng;
use zeroize::Zeroizing;

use super::answers::Network;
use super::hello::{Accept, ClientHello, HelloError, ServerHello};
use super::mac::{Mac, MacKeys};
use super::noise::Response;
use super::responder::DropReason;
use super::schedule::{Role, SessionKeys, Split};
use super::wire::{
    CLIENT_HELLO_LEN, INIT_MAX, INIT_MIN, Index, InitView, MAC_LEN, MessageType, NOISE_RESPONSE_OVERHEAD,
    RESPONSE_HEADER,
};
use super::x25519::{self, Secret};
use super::{Extensions, PublicKey, Refusal, StaticKey};

/// Names one INIT from one network among those of the last seconds, for
/// [`super::Responder::remember`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InitTag {
    pub(super) mac1: Mac,
    /// Where it came from, if its sender has shown that by a cookie.
    pub(super) network: Option<Network>,
}

/// An INIT that may be read.
pub struct Reading {
    init: Box<[u8]>,
    tag: InitTag,
    local: StaticKey,
    proven: bool,
    /// Of the key for the answer.
    ephemeral: Secret,
}

impl Reading {
    pub(super) fn new<R: CryptoRng + ?Sized>(
        rng: &mut R,
        local: &StaticKey,
        (init, tag): (&[u8], InitTag),
        proven: bool,
    ) -> Reading {
        Reading { init: init.into(), tag, local: local.clone(), proven, ephemeral: x25519::secret(rng) }
    }

    /// The name of its INIT.
    pub fn tag(&self) -> InitTag {
        self.tag
    }

    /// Whether the INIT brought a cookie.
    pub fn proven(&self) -> bool {
        self.proven
    }

    /// Reads it: two X25519 operations.
    ///
    /// # Errors
    /// [`DropReason`] if there is nothing to answer.
    pub fn run(self) -> Result<Incoming, DropReason> {
        let view = InitView::parse(&self.init).ok_or(DropReason::Malformed)?;
        // Wiped, for it holds the secret of the invite.
        let mut room = Zeroizing::new([0; CLIENT_HELLO_LEN + INIT_MAX - INIT_MIN]);
        let (len, noise) =
            Response::read(&self.local, view.header, view.noise, &mut *room).ok_or(DropReason::Forged)?;
        let hello = match ClientHello::decode(&room[..len]) {
            Ok(hello) => Ok(hello),
            Err(HelloError::Version(_)) => Err(Refusal::Version),
            Err(_) => return Err(DropReason::BadHello),
        };
        let peer_index = view.sender;
        let Reading { tag, proven, ephemeral, .. } = self;
        Ok(Incoming { hello, peer_index, tag, proven, from: None, noise, ephemeral })
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading({} bytes)", self.init.len())
    }
}

/// A client that asks to come in. It holds its static key and the gateway is the one it means; the INIT may be a
/// replay of an earlier one all the same.
pub struct Incoming {
    pub(super) hello: Result<ClientHello, Refusal>,
    pub(super) peer_index: Index,
    pub(super) tag: InitTag,
    pub(super) proven: bool,
    /// Where its INIT came from, if it may be told.
    from: Option<SocketAddr>,
    pub(super) noise: Response,
    /// Of the key for the answer.
    pub(super) ephemeral: Secret,
}

impl Incoming {
    /// Who it is.
    pub fn client(&self) -> PublicKey {
        self.noise.client()
    }

    /// What it says.
    ///
    /// # Errors
    /// The refusal for a client of another protocol version, whose hello cannot be read.
    pub fn hello(&self) -> Result<&ClientHello, Refusal> {
        self.hello.as_ref().map_err(|refusal| *refusal)
    }

    /// Where its packets are to go.
    pub fn peer_index(&self) -> Index {
        self.peer_index
    }

    /// The name of its INIT.
    pub fn tag(&self) -> InitTag {
        self.tag
    }

    /// Whether its INIT brought a cookie, and so came from where it seems to come from within the last minutes.
    pub fn proven(&self) -> bool {
        self.proven
    }

    /// Its INIT came from `from`: a client that asks for that is told, whether it is let in or not.
    pub fn seen_at(&mut self, from: SocketAddr) {
        self.from = Some(from);
    }

    /// Lets it in: the RESPONSE to send, and the keys. `index` is where the session's packets are to arrive.
    ///
    /// Go on sending under the old keys of a session until [`super::Opener::open`] opened the first packet under
    /// these: only that shows that the INIT was no replay.
    ///
    /// # Errors
    /// [`HelloError::TooLong`] if `accept` has too many extensions, [`HelloError::Malformed`] if the key of the client
    /// is a point of small order.
    pub fn accept(self, mut accept: Accept, index: Index) -> Result<(Vec<u8>, SessionKeys), HelloError> {
        let (cipher, peer_index) = (accept.cipher, self.peer_index);
        self.tell_address(&mut accept.extensions);
        let (datagram, split) = self.answer(&ServerHello::Accept(accept), index)?;
        Ok((datagram, split.keys(Role::Responder, cipher, index, peer_index)))
    }

    /// Keeps it out: the RESPONSE to send.
    ///
    /// # Errors
    /// [`HelloError::Malformed`] as for [`Incoming::accept`].
    pub fn refuse(self, refusal: Refusal) -> Result<Vec<u8>, HelloError> {
        let mut extensions = Extensions::default();
        self.tell_address(&mut extensions);
        Ok(self.answer(&ServerHello::Refuse(refusal, extensions), Index::default())?.0)
    }

    fn tell_address(&self, extensions: &mut Extensions) {
        let asks = self.hello.as_ref().is_ok_and(|hello| hello.extensions.asks_address());
        if let (true, Some(from)) = (asks, self.from) {
            extensions.put_observed(from);
        }
    }

    /// The RESPONSE that carries `hello`, and what the keys are made of: three X25519 operations.
    fn answer(self, hello: &ServerHello, index: Index) -> Result<(Vec<u8>, Box<Split>), HelloError> {
        let (payload, client) = (hello.encode()?, self.client());
        let len = RESPONSE_HEADER + NOISE_RESPONSE_OVERHEAD + payload.len();
        let mut datagram = Vec::with_capacity(len + MAC_LEN);
        datagram.push(MessageType::Response.byte());
        datagram.extend_from_slice(&self.peer_index.to_be_bytes());
        datagram.extend_from_slice(&index.to_be_bytes());
        let split = self.noise.write(self.ephemeral, &payload, &mut datagram).ok_or(HelloError::Malformed)?;
        let mac1 = MacKeys::of(&client).mac1(&datagram);
        datagram.extend_from_slice(&mac1);
        Ok((datagram, split))
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming(client {}, index {})", self.client(), self.peer_index.get())
    }
}
