//! From the end of a handshake to the keys that seal data.
//!
//! Noise leaves two secrets of 32 bytes (its `Split()`, Noise §5.2): `k1` from initiator to responder, `k2` back.
//! Each direction then has
//!
//! ```text
//! key ‖ iv = HKDF-SHA256(salt = Noise handshake hash, ikm = k,
//!                        info = "ropewalk 1 data" ‖ cipher u8 ‖ initiator index u24 ‖ responder index u24)
//! ```
//!
//! (RFC 5869), with a key of 16 or 32 bytes and an IV of 12. Cipher and indices are in it so that two ends which
//! were made to disagree on one of them never confirm the session.

use core::fmt;

use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Cipher, Index, Opener, Sealer};

const LABEL: &[u8] = b"ropewalk 1 data";
const IV_LEN: usize = 12;
const KEY_MAX: usize = 32;

/// Key and IV of one direction. Boxed, because a value that moves leaves copies behind that nobody wipes.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct DirectionKey {
    bytes: [u8; KEY_MAX + IV_LEN],
    key_len: usize,
}

impl DirectionKey {
    pub(super) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len]
    }

    pub(super) fn iv(&self) -> &[u8; IV_LEN] {
        self.bytes[self.key_len..].first_chunk().expect("the IV follows the key")
    }
}

/// Everything a session's data needs after the handshake. Dropping it wipes it.
pub struct SessionKeys {
    /// What seals the data, in both directions.
    pub cipher: Cipher,
    /// The index this end chose; the peer writes it into every packet it sends here.
    pub local_index: Index,
    /// The index the peer chose; this end writes it into every packet it sends there.
    pub peer_index: Index,
    pub(super) send: Box<DirectionKey>,
    pub(super) receive: Box<DirectionKey>,
}

impl SessionKeys {
    /// The keys of two ends to which a third, whom both trust, has given one secret. It is for one
    /// session: whoever starts anew needs another, since packet numbers start anew. `first` is
    /// true at one of the two ends.
    pub fn of_shared(secret: &[u8; 32], cipher: Cipher, first: bool) -> SessionKeys {
        let none = Index::default();
        let derive = |way: u8| expand(&[way; 32], secret, cipher, none, none);
        let (send, receive) = if first { (derive(1), derive(2)) } else { (derive(2), derive(1)) };
        SessionKeys { cipher, local_index: none, peer_index: none, send, receive }
    }

    /// The two working ends of the keys.
    pub fn into_ends(self) -> (Sealer, Opener) {
        (Sealer::new(self.cipher, &self.send), Opener::new(self.cipher, &self.receive))
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cipher, local, peer) = (self.cipher.name(), self.local_index.get(), self.peer_index.get());
        write!(f, "SessionKeys({cipher}, local index {local}, peer index {peer})")
    }
}

/// The two secrets and the handshake hash that Noise ends with.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct Split {
    pub(super) to_gateway: [u8; 32],
    pub(super) to_client: [u8; 32],
    pub(super) hash: [u8; 32],
}

/// Who an end of the handshake is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Initiator,
    Responder,
}

impl Split {
    pub(super) fn keys(&self, role: Role, cipher: Cipher, local: Index, peer: Index) -> SessionKeys {
        let (initiator, responder) = match role {
            Role::Initiator => (local, peer),
            Role::Responder => (peer, local),
        };
        let derive = |secret| expand(&self.hash, secret, cipher, initiator, responder);
        let (out, back) = (derive(&self.to_gateway), derive(&self.to_client));
        let (send, receive) = match role {
            Role::Initiator => (out, back),
            Role::Responder => (back, out),
        };
        SessionKeys { cipher, local_index: local, peer_index: peer, send, receive }
    }
}

fn expand(
    hash: &[u8; 32],
    secret: &[u8; 32],
    cipher: Cipher,
    initiator: Index,
    responder: Index,
) -> Box<DirectionKey> {
    struct Bytes(usize);
    impl KeyType for Bytes {
        fn len(&self) -> usize {
            self.0
        }
    }
    let key_len = cipher.key_len();
    let mut direction = Box::new(DirectionKey { bytes: [0; KEY_MAX + IV_LEN], key_len });
    let out = &mut direction.bytes[..key_len + IV_LEN];
    Salt::new(HKDF_SHA256, hash)
        .extract(secret)
        .expand(
            &[LABEL, &[cipher.id()], &initiator.to_be_bytes(), &responder.to_be_bytes()],
            Bytes(out.len()),
        )
        .and_then(|okm| okm.fill(out))
        .expect("44 bytes are fewer than HKDF's 8160 (RFC 5869 §2.3)");
    direction
}
