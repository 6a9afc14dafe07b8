//! A client's INIT that passed every check, and the gateway's two possible answers.

use core::fmt;

use snow::HandshakeState;

use super::hello::{Accept, ClientHello, HelloError, ServerHello};
use super::mac::{Mac, MacKeys};
use super::noise;
use super::schedule::{Role, SessionKeys};
use super::wire::{Index, MAC_LEN, MessageType, NOISE_RESPONSE_OVERHEAD, RESPONSE_HEADER};
use super::{PublicKey, Refusal};

/// Names one INIT among those of the last seconds, for [`super::Responder::remember`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InitTag(pub(super) Mac);

/// A client that asks to come in. It holds its static key and the gateway is the one it means; the INIT may be a
/// replay of an earlier one all the same.
pub struct Incoming {
    pub(super) client: PublicKey,
    pub(super) hello: ClientHello,
    pub(super) peer_index: Index,
    pub(super) tag: InitTag,
    pub(super) proven: bool,
    pub(super) state: HandshakeState,
}

impl Incoming {
    /// Who it is.
    pub fn client(&self) -> PublicKey {
        self.client
    }

    /// What it says.
    pub fn hello(&self) -> &ClientHello {
        &self.hello
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

    /// Lets it in: the RESPONSE to send, and the keys. `index` is where the session's packets are to arrive.
    ///
    /// Go on sending under the old keys of a session until [`super::Opener::open`] opened the first packet under
    /// these: only that shows that the INIT was no replay.
    ///
    /// # Errors
    /// [`HelloError::TooLong`] if `accept` has too many extensions, [`HelloError::Malformed`] if the key of the client
    /// is a point of small order.
    pub fn accept(mut self, accept: Accept, index: Index) -> Result<(Vec<u8>, SessionKeys), HelloError> {
        let cipher = accept.cipher;
        let datagram = self.answer(&ServerHello::Accept(accept), index)?;
        let keys = noise::split(&mut self.state).into_keys(Role::Responder, cipher, index, self.peer_index);
        Ok((datagram, keys))
    }

    /// Keeps it out: the RESPONSE to send.
    ///
    /// # Errors
    /// [`HelloError::Malformed`] as for [`Incoming::accept`].
    pub fn refuse(mut self, refusal: Refusal) -> Result<Vec<u8>, HelloError> {
        self.answer(&ServerHello::Refuse(refusal), Index::default())
    }

    fn answer(&mut self, hello: &ServerHello, index: Index) -> Result<Vec<u8>, HelloError> {
        answer(&mut self.state, &self.client, self.peer_index, index, hello)
    }
}

/// The RESPONSE that carries `hello`.
pub(super) fn answer(
    state: &mut HandshakeState,
    client: &PublicKey,
    receiver: Index,
    sender: Index,
    hello: &ServerHello,
) -> Result<Vec<u8>, HelloError> {
    let payload = hello.encode()?;
    let len = RESPONSE_HEADER + NOISE_RESPONSE_OVERHEAD + payload.len();
    let mut datagram = Vec::with_capacity(len + MAC_LEN);
    datagram.push(MessageType::Response.byte());
    datagram.extend_from_slice(&receiver.to_be_bytes());
    datagram.extend_from_slice(&sender.to_be_bytes());
    datagram.resize(len, 0);
    state.write_message(&payload, &mut datagram[RESPONSE_HEADER..]).map_err(|_| HelloError::Malformed)?;
    let mac1 = MacKeys::of(client).mac1(&datagram);
    datagram.extend_from_slice(&mac1);
    Ok(datagram)
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming(client {}, index {})", self.client, self.peer_index.get())
    }
}
