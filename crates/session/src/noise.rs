//! The handshake proper: Noise_IK_25519_ChaChaPoly_SHA256 (The Noise Protocol Framework, revision 34, sections 5 and 7.5), on aws-lc's
//! primitives.
//!
//! ```text
//! INIT      -> e, es, s, ss     e, then the client's static key and its hello, sealed
//! RESPONSE  <- e, ee, se        e, then the gateway's hello, sealed
//! ```
//!
//! The prologue is `"ropewalk 1"` and the four header bytes of the INIT, so a changed header fails the handshake. Each key of this
//! pattern seals one text, so the nonce is always 0. All state is wiped when dropped.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{Context, SHA256};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::aead::TAG_LEN;
use super::schedule::Split;
use super::wire::INIT_HEADER;
use super::x25519::{KEY_LEN, Pair, Secret};
use super::{PublicKey, StaticKey};

/// The full name of the protocol (Noise, section 8). It has the length of a hash, so it is the first hash itself (section 5.2).
pub const NOISE_NAME: &str = "Noise_IK_25519_ChaChaPoly_SHA256";

const PROLOGUE: &[u8; 10] = b"ropewalk 1";
const HASH_LEN: usize = 32;
/// Bytes of the static key as the INIT carries it.
const SEALED_KEY: usize = KEY_LEN + TAG_LEN;

/// The client between its INIT and the answer.
pub(super) struct Initiation {
    symmetric: Box<Symmetric>,
    local: StaticKey,
    ephemeral: Pair,
}

/// The gateway between an INIT and its answer.
pub(super) struct Response {
    symmetric: Box<Symmetric>,
    client: PublicKey,
    client_ephemeral: [u8; KEY_LEN],
}

impl Initiation {
    /// Appends the first message, which carries `hello`, to `out`. `None` if `gateway` is a point of small order.
    pub(super) fn write(
        local: &StaticKey,
        gateway: &PublicKey,
        header: &[u8; INIT_HEADER],
        ephemeral: Secret,
        hello: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Initiation> {
        let mut symmetric = Symmetric::new(gateway, header);
        let ephemeral = Pair::from_secret(ephemeral)?;
        out.extend_from_slice(ephemeral.public());
        symmetric.mix_hash(ephemeral.public());
        symmetric.mix_secret(&ephemeral, gateway.as_bytes())?;
        symmetric.seal(local.pair().public(), out);
        symmetric.mix_secret(local.pair(), gateway.as_bytes())?;
        symmetric.seal(hello, out);
        Some(Initiation { symmetric, local: local.clone(), ephemeral })
    }

    /// Reads the second message: writes the hello in it to the front of `out`, and returns its length and the keys. A message that fails
    /// changes nothing.
    pub(super) fn read(&self, message: &[u8], out: &mut [u8]) -> Option<(usize, Box<Split>)> {
        let mut symmetric = self.symmetric.clone();
        let (ephemeral, sealed) = message.split_first_chunk()?;
        symmetric.mix_hash(ephemeral);
        symmetric.mix_secret(&self.ephemeral, ephemeral)?;
        symmetric.mix_secret(self.local.pair(), ephemeral)?;
        let len = symmetric.open(sealed, out)?;
        Some((len, symmetric.split()))
    }
}

impl Response {
    /// Reads the first message: writes the hello in it to the front of `out`, and returns its length.
    pub(super) fn read(
        local: &StaticKey,
        header: &[u8; INIT_HEADER],
        message: &[u8],
        out: &mut [u8],
    ) -> Option<(usize, Response)> {
        let mut symmetric = Symmetric::new(&local.public(), header);
        let (client_ephemeral, rest) = message.split_first_chunk()?;
        let (sealed_key, sealed_hello) = rest.split_first_chunk::<SEALED_KEY>()?;
        symmetric.mix_hash(client_ephemeral);
        symmetric.mix_secret(local.pair(), client_ephemeral)?;
        let mut client = PublicKey([0; KEY_LEN]);
        symmetric.open(sealed_key, &mut client.0)?;
        symmetric.mix_secret(local.pair(), client.as_bytes())?;
        let len = symmetric.open(sealed_hello, out)?;
        Some((len, Response { symmetric, client, client_ephemeral: *client_ephemeral }))
    }

    /// Who sent the first message.
    pub(super) fn client(&self) -> PublicKey {
        self.client
    }

    /// Appends the second message, which carries `hello`, to `out`; returns the keys. `None` if a key of the client is a point of small
    /// order.
    pub(super) fn write(mut self, ephemeral: Secret, hello: &[u8], out: &mut Vec<u8>) -> Option<Box<Split>> {
        let ephemeral = Pair::from_secret(ephemeral)?;
        out.extend_from_slice(ephemeral.public());
        self.symmetric.mix_hash(ephemeral.public());
        self.symmetric.mix_secret(&ephemeral, &self.client_ephemeral)?;
        self.symmetric.mix_secret(&ephemeral, self.client.as_bytes())?;
        self.symmetric.seal(hello, out);
        Some(self.symmetric.split())
    }
}

/// The symmetric state (Noise, section 5.2). Always boxed: a value that moves leaves copies behind that nobody wipes.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct Symmetric {
    chaining: [u8; HASH_LEN],
    hash: [u8; HASH_LEN],
    key: [u8; KEY_LEN],
}

impl Symmetric {
    fn new(gateway: &PublicKey, header: &[u8; INIT_HEADER]) -> Box<Symmetric> {
        let mut name = [0; HASH_LEN];
        name.copy_from_slice(NOISE_NAME.as_bytes());
        let mut symmetric = Box::new(Symmetric { chaining: name, hash: name, key: [0; KEY_LEN] });
        let mut prologue = [0; PROLOGUE.len() + INIT_HEADER];
        prologue[..PROLOGUE.len()].copy_from_slice(PROLOGUE);
        prologue[PROLOGUE.len()..].copy_from_slice(header);
        symmetric.mix_hash(&prologue);
        symmetric.mix_hash(gateway.as_bytes());
        symmetric
    }

    fn mix_hash(&mut self, data: &[u8]) {
        let mut hash = Context::new(&SHA256);
        hash.update(&self.hash);
        hash.update(data);
        self.hash.copy_from_slice(hash.finish().as_ref());
    }

    /// `MixKey` with the secret that `own` shares with the owner of `peer`.
    fn mix_secret(&mut self, own: &Pair, peer: &[u8; KEY_LEN]) -> Option<()> {
        let mut shared = Zeroizing::new([0; KEY_LEN]);
        if !own.agree(peer, &mut *shared) {
            return None;
        }
        let out = expand(&self.chaining, &*shared);
        let (chaining, key) = out.split_at(HASH_LEN);
        self.chaining.copy_from_slice(chaining);
        self.key.copy_from_slice(key);
        Some(())
    }

    /// `EncryptAndHash`, at the end of `out`.
    fn seal(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + text.len() + TAG_LEN, 0);
        let (sealed, tag) = out[begin..].split_at_mut(text.len());
        self.cipher()
            .seal_out_of_place_scatter(zero(), Aad::from(self.hash), text, sealed, &[], tag)
            .expect("a handshake message is shorter than 256 GiB");
        self.mix_hash(&out[begin..]);
    }

    /// `DecryptAndHash`, to the front of `out`; returns the length of the text.
    fn open(&mut self, sealed: &[u8], out: &mut [u8]) -> Option<usize> {
        let (text, tag) = sealed.split_last_chunk::<TAG_LEN>()?;
        let out = out.get_mut(..text.len())?;
        if self.cipher().open_separate_gather(zero(), Aad::from(self.hash), text, tag, out).is_err() {
            out.zeroize();
            return None;
        }
        self.mix_hash(sealed);
        Some(text.len())
    }

    fn cipher(&self) -> LessSafeKey {
        let key =
            UnboundKey::new(&CHACHA20_POLY1305, &self.key).expect("a key of 32 bytes is one of ChaCha20");
        LessSafeKey::new(key)
    }

    /// `Split`, and the handshake hash.
    fn split(&self) -> Box<Split> {
        let out = expand(&self.chaining, &[]);
        let (to_gateway, to_client) = out.split_at(HASH_LEN);
        let mut split = Box::<Split>::default();
        split.to_gateway.copy_from_slice(to_gateway);
        split.to_client.copy_from_slice(to_client);
        split.hash.copy_from_slice(&self.hash);
        split
    }
}

/// The HKDF of Noise (section 4.3) with two outputs: that of RFC 5869 without info.
fn expand(chaining: &[u8; HASH_LEN], input: &[u8]) -> Zeroizing<[u8; 2 * HASH_LEN]> {
    struct Two;
    impl KeyType for Two {
        fn len(&self) -> usize {
            2 * HASH_LEN
        }
    }
    let mut out = Zeroizing::new([0; 2 * HASH_LEN]);
    Salt::new(HKDF_SHA256, chaining)
        .extract(input)
        .expand(&[], Two)
        .and_then(|okm| okm.fill(&mut *out))
        .expect("64 bytes are fewer than HKDF's 8160 (RFC 5869, section 2.3)");
    out
}

fn zero() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}
