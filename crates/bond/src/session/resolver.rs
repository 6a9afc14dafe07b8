//! The cryptography that `snow` runs on: X25519, ChaCha20-Poly1305 and SHA-256 of aws-lc, and randomness that
//! comes from the caller's seed. With it a handshake is a function of its inputs, and costs four fast X25519
//! operations instead of snow's slower portable ones.

use std::sync::Arc;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{Context, SHA256};
use rand::RngCore;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use zeroize::{Zeroize, Zeroizing};

use super::aead::TAG_LEN;
use super::x25519::{KEY_LEN, Pair};

/// Hands `snow` its primitives for one handshake.
pub(super) struct Resolver {
    /// The static key of this end, parsed already.
    pub(super) local: Arc<Pair>,
    /// The seed of the ephemeral key.
    pub(super) seed: Zeroizing<[u8; 32]>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Seeded(ChaCha20Rng::from_seed(*self.seed))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        let dh = X25519 { local: self.local.clone(), pair: self.local.clone() };
        (*choice == DHChoice::Curve25519).then(|| Box::new(dh) as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        (*choice == HashChoice::SHA256).then(|| Box::new(Sha256(Context::new(&SHA256))) as Box<dyn Hash>)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        (*choice == CipherChoice::ChaChaPoly).then(|| Box::new(ChaChaPoly(None)) as Box<dyn Cipher>)
    }
}

struct Seeded(ChaCha20Rng);

impl Random for Seeded {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        self.0.fill_bytes(dest);
        Ok(())
    }
}

/// The "25519" functions of Noise §12.1.
///
/// `snow` wants an object that exists before its key does; until it is given one, it holds the static key.
struct X25519 {
    local: Arc<Pair>,
    pair: Arc<Pair>,
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY_LEN
    }

    fn priv_len(&self) -> usize {
        KEY_LEN
    }

    fn set(&mut self, secret: &[u8]) {
        // The only key that is ever set is the static one: take it as it was parsed at start-up.
        if secret == self.local.secret() {
            self.pair = self.local.clone();
            return;
        }
        let secret = Zeroizing::new(secret.try_into().expect("snow passes keys of priv_len bytes"));
        self.pair = Arc::new(Pair::from_secret(secret).expect("every 32 bytes are an X25519 scalar"));
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut secret = Zeroizing::new([0; KEY_LEN]);
        rng.try_fill_bytes(&mut *secret)?;
        self.pair = Arc::new(Pair::from_secret(secret).ok_or(Error::Rng)?);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        self.pair.public()
    }

    fn privkey(&self) -> &[u8] {
        self.pair.secret()
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), Error> {
        // `snow` passes a buffer as long as the longest key it knows.
        if self.pair.agree(&pubkey[..KEY_LEN], out) { Ok(()) } else { Err(Error::Dh) }
    }
}

/// The "SHA256" functions of Noise §12.7.
struct Sha256(Context);

impl Hash for Sha256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Context::new(&SHA256);
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        let done = core::mem::replace(&mut self.0, Context::new(&SHA256)).finish();
        out[..32].copy_from_slice(done.as_ref());
    }
}

/// The "ChaChaPoly" functions of Noise §12.3; `None` until the handshake has a key.
struct ChaChaPoly(Option<LessSafeKey>);

impl ChaChaPoly {
    fn key(&self) -> &LessSafeKey {
        self.0.as_ref().expect("snow sets a key before it uses a cipher")
    }
}

/// Noise §12.3: 32 bits of zeros, then the counter, little endian.
fn nonce(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; 32]) {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key of 32 bytes is one of ChaCha20");
        self.0 = Some(LessSafeKey::new(key));
    }

    fn encrypt(&self, counter: u64, ad: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        let (text, tag) = out[..plaintext.len() + TAG_LEN].split_at_mut(plaintext.len());
        self.key()
            .seal_out_of_place_scatter(nonce(counter), Aad::from(ad), plaintext, text, &[], tag)
            .expect("a handshake message is shorter than 256 GiB");
        plaintext.len() + TAG_LEN
    }

    fn decrypt(&self, counter: u64, ad: &[u8], sealed: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let (text, tag) = sealed.split_last_chunk::<TAG_LEN>().ok_or(Error::Decrypt)?;
        let out = out.get_mut(..text.len()).ok_or(Error::Input)?;
        let opened = self.key().open_separate_gather(nonce(counter), Aad::from(ad), text, tag, out);
        if opened.is_err() {
            out.zeroize();
            return Err(Error::Decrypt);
        }
        Ok(text.len())
    }
}
