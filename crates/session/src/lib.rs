//! Sessions: who is at the other end, and the keys that only the two ends have.
//!
//! # The life of a session
//!
//! 1. A gateway makes a [`StaticKey`] at its first start. `ropewalk invite` makes an [`InviteId`] and an
//!    [`InviteSecret`], keeps the secret's fingerprint and prints a [`Token`]: the gateway's [`PublicKey`], the invite,
//!    and where to reach the gateway.
//! 2. A client makes its own static key, and an [`Initiator`] from the token. It sends
//!    [`Initiator::datagram`], an INIT, and again ([`Initiator::retry`]) until it is answered.
//! 3. The gateway hands every INIT to [`Responder::handle`]. Under load the answer is a COOKIE, which only the true owner
//!    of the source address receives; the client takes it ([`Initiator::handle_cookie`]) and sends its INIT with it.
//! 4. Else a [`Reading`] comes out, work that may be done elsewhere ([`Reading::run`]), and then an [`Incoming`]: a client that
//!    holds the key it names. The engine looks it up by its key, or at first contact by its invite, and answers yes or no
//!    ([`Incoming::accept`], [`Incoming::refuse`]: work, too), both under encryption.
//! 5. [`Initiator::finish`] reads the RESPONSE. Both ends now have [`SessionKeys`], and from them a [`Sealer`] and
//!    an [`Opener`] that serve all paths, with a [`ReplayWindow`] per path.
//! 6. Keys are renewed before they are worn ([`Cipher::limits`]) and with time by the same handshake, whose hello
//!    names the session ([`ClientHello::resume`]).
//!
//! # No clock, so: key confirmation
//!
//! An INIT has no timestamp, because neither end's clock can be trusted to be right or to go forward. So one that
//! was recorded can be sent to the gateway again, and passes. It gains nothing as long as the gateway goes by
//! this rule: **keys that an INIT led to are pending, one pair per client at most, and change nothing (not the keys in
//! use, not the addresses of paths) until the first DATA packet opens under them.** Who replays an INIT cannot
//! make that packet, because the gateway put a fresh ephemeral key into the RESPONSE. Whether an invite is used up is
//! decided at the same moment.
//!
//! That leaves one thing to gain: replays that push a true client's pending keys out before they are confirmed. So
//! while a client has pending keys, another INIT under its name that is not [`Incoming::proven`] is answered by
//! [`Responder::challenge`], and a client's own copies of one INIT by [`Verdict::Again`].
//!
//! # What the handshake gives
//!
//! Noise IK (revision 34, §7.5 and §7.7): the client's key is hidden from everybody but the gateway; both ends are
//! authenticated; data is forward secret from the RESPONSE on. The greeting in the INIT is readable by whoever
//! later steals the gateway's static key. Who does not know the gateway's public key gets no answer at all.
//!
//! Everything here is a function of its arguments: time and randomness are handed in. Secrets are wiped when dropped.
#![forbid(unsafe_code)]

mod aead;
mod answers;
mod backhaul;
mod cipher;
mod cookie;
mod endpoint;
mod extensions;
mod hello;
mod incoming;
mod initiator;
mod invite;
mod keys;
mod load;
mod mac;
mod noise;
mod observed;
mod reader;
mod refusal;
mod replay;
mod responder;
mod schedule;
mod token;
mod wire;
mod x25519;

#[cfg(test)]
mod tests;

pub use aead::{OpenError, Opener, SealError, Sealer, TAG_LEN};
pub use backhaul::{BACKHAUL, BackhaulEnd, Layer, NETWORKS, NETWORKS_MAX, Role as BackhaulRole};
pub use cipher::{Cipher, CipherSet, KeyLimits};
pub use endpoint::{Endpoint, EndpointError, HOST_MAX, Host, HostName};
pub use extensions::{Extensions, READS_AIR, READS_QUEUE};
pub use hello::{Accept, ClientHello, HelloError, Inner, PROTOCOL_VERSION, ServerHello, SessionId};
pub use incoming::{Incoming, InitTag, Reading};
pub use initiator::{COOKIE_LIFETIME, Cookie, HandshakeError, INIT_LIFETIME, Initiator, Outcome};
pub use invite::{InviteId, InviteSecret};
pub use keys::{KeyError, PublicKey, StaticKey};
pub use load::Backlog;
pub use noise::NOISE_NAME;
pub use observed::OBSERVED;
pub use refusal::Refusal;
pub use replay::{DEFAULT_WINDOW, ReplayError, ReplayWindow};
pub use responder::{DropReason, Responder, ResponderConfig, Verdict};
pub use schedule::SessionKeys;
pub use token::{ENDPOINTS_MAX, TLS_ENDPOINTS_MAX, TOKEN_TEXT_MAX, Token, TokenError};
pub use wire::{
    CLIENT_HELLO_LEN, COOKIE_LEN, INIT_MAX, INIT_MIN, Index, MessageType, RESPONSE_MAX, SERVER_HELLO_MAX,
    index_of,
};
