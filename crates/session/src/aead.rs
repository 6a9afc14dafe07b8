//! Sealing and opening of data packets. No allocation, no state: one object serves every path of a session.
//!
//! The nonce is the IV of the direction, exclusive-or the path and the packet number (as in RFC 9001 §5.3):
//!
//! ```text
//! byte   0         4                      12
//!        | path u32 | packet number u64   |     big endian, xor iv[12]
//! ```
//!
//! A pair of path and packet number may be sealed once under one key. Who seals owns that duty: packet numbers
//! count up per path, a path id is not used again under the same key, and [`super::Cipher::limits`] hold.

use core::fmt;

use aws_lc_rs::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use zeroize::Zeroize;

use super::{Cipher, schedule::DirectionKey};

/// Bytes that sealing adds.
pub const TAG_LEN: usize = 16;

/// Why a packet did not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Shorter than a tag.
    #[error("the packet is too short to be a sealed one; dropped")]
    Short,
    /// Damaged, forged, or sealed under another key, path or packet number.
    #[error("the packet does not open under the key of its session; dropped")]
    Forged,
}

/// Why a packet could not be sealed; a defect of the caller, not of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The buffer has no room for the tag, or the output does not fit the input.
    #[error(
        "the buffer has no room for the {TAG_LEN}-byte tag; this is a defect of ropewalk, please report it"
    )]
    Room,
    /// The crypto library refused: more than 64 GiB in one packet.
    #[error("the crypto library refused to seal a packet; this is a defect of ropewalk, please report it")]
    Library,
}

/// One direction of a session as the sender holds it.
pub struct Sealer(Half);

/// One direction of a session as the receiver holds it.
pub struct Opener(Half);

struct Half {
    key: LessSafeKey,
    iv: [u8; 12],
    cipher: Cipher,
}

/// The library wipes its key by itself.
impl Drop for Half {
    fn drop(&mut self) {
        self.iv.zeroize();
    }
}

impl Half {
    fn new(cipher: Cipher, direction: &DirectionKey) -> Half {
        let algorithm = match cipher {
            Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
            Cipher::Aes128Gcm => &AES_128_GCM,
        };
        let key = UnboundKey::new(algorithm, direction.key()).expect("the key has the length of its cipher");
        Half { key: LessSafeKey::new(key), iv: *direction.iv(), cipher }
    }

    #[inline]
    fn nonce(&self, path: u8, pn: u64) -> Nonce {
        let mut nonce = self.iv;
        nonce[3] ^= path;
        for (byte, pn) in nonce[4..].iter_mut().zip(pn.to_be_bytes()) {
            *byte ^= pn;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

impl Sealer {
    pub(super) fn new(cipher: Cipher, direction: &DirectionKey) -> Sealer {
        Sealer(Half::new(cipher, direction))
    }

    /// The cipher in use.
    pub fn cipher(&self) -> Cipher {
        self.0.cipher
    }

    /// Seals `buf` in place: plaintext, then [`TAG_LEN`] bytes of room that receive the tag. `aad` is
    /// authenticated and not encrypted.
    ///
    /// # Errors
    /// [`SealError::Room`] if `buf` is shorter than a tag.
    #[inline]
    pub fn seal(&self, path: u8, pn: u64, aad: &[u8], buf: &mut [u8]) -> Result<(), SealError> {
        let (text, room) = buf.split_last_chunk_mut::<TAG_LEN>().ok_or(SealError::Room)?;
        let nonce = self.0.nonce(path, pn);
        let tag = self.0.key.seal_in_place_separate_tag(nonce, Aad::from(aad), text);
        room.copy_from_slice(tag.map_err(|_| SealError::Library)?.as_ref());
        Ok(())
    }

    /// As [`Sealer::seal`], where the end of the plaintext is not in `buf` yet but in `tail`: `buf` has room for it before the tag. Sealing is then
    /// what copies it.
    ///
    /// # Errors
    /// [`SealError::Room`] if `buf` is shorter than `tail` and a tag.
    #[inline]
    pub fn seal_with_tail(
        &self,
        path: u8,
        pn: u64,
        aad: &[u8],
        buf: &mut [u8],
        tail: &[u8],
    ) -> Result<(), SealError> {
        let front = buf.len().checked_sub(tail.len() + TAG_LEN).ok_or(SealError::Room)?;
        let (text, rest) = buf.split_at_mut(front);
        match self.cipher() {
            Cipher::Aes128Gcm => {
                let (nonce, aad) = (self.0.nonce(path, pn), Aad::from(aad));
                let done = self.0.key.seal_in_place_scatter(nonce, aad, text, tail, rest);
                done.map_err(|_| SealError::Library)
            }
            // The library seals a second part of ChaCha20 64 bytes at a time; a copy is cheaper.
            Cipher::ChaCha20Poly1305 => {
                rest[..tail.len()].copy_from_slice(tail);
                self.seal(path, pn, aad, buf)
            }
        }
    }

    /// Seals `text` into `out`, which is [`TAG_LEN`] bytes longer: for a plaintext that has to be copied anyway.
    ///
    /// # Errors
    /// [`SealError::Room`] if `out` has another length.
    #[inline]
    pub fn seal_into(
        &self,
        path: u8,
        pn: u64,
        aad: &[u8],
        text: &[u8],
        out: &mut [u8],
    ) -> Result<(), SealError> {
        let (sealed, tag) = out.split_last_chunk_mut::<TAG_LEN>().ok_or(SealError::Room)?;
        if sealed.len() != text.len() {
            return Err(SealError::Room);
        }
        let (nonce, aad) = (self.0.nonce(path, pn), Aad::from(aad));
        let done = self.0.key.seal_out_of_place_scatter(nonce, aad, text, sealed, &[], tag);
        done.map_err(|_| SealError::Library)
    }
}

impl Opener {
    pub(super) fn new(cipher: Cipher, direction: &DirectionKey) -> Opener {
        Opener(Half::new(cipher, direction))
    }

    /// The cipher in use.
    pub fn cipher(&self) -> Cipher {
        self.0.cipher
    }

    /// Opens `buf`, ciphertext and tag, in place; the plaintext is the front part that is returned.
    ///
    /// # Errors
    /// [`OpenError`]; what `buf` holds is then of no use.
    #[inline]
    pub fn open<'a>(
        &self,
        path: u8,
        pn: u64,
        aad: &[u8],
        buf: &'a mut [u8],
    ) -> Result<&'a mut [u8], OpenError> {
        let (text, tag) = buf.split_last_chunk_mut::<TAG_LEN>().ok_or(OpenError::Short)?;
        let (nonce, aad) = (self.0.nonce(path, pn), Aad::from(aad));
        let opened = self.0.key.open_in_place_separate_tag(nonce, aad, tag, text);
        opened.map_err(|_| OpenError::Forged)
    }

    /// Opens `sealed` into `out`, which is [`TAG_LEN`] bytes shorter: for a plaintext that has to be copied anyway.
    ///
    /// # Errors
    /// [`OpenError`], [`OpenError::Short`] also if `out` has another length; what `out` holds is then of no use.
    #[inline]
    pub fn open_into(
        &self,
        path: u8,
        pn: u64,
        aad: &[u8],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpenError> {
        let (sealed, tag) = sealed.split_last_chunk::<TAG_LEN>().ok_or(OpenError::Short)?;
        if sealed.len() != out.len() {
            return Err(OpenError::Short);
        }
        let (nonce, aad) = (self.0.nonce(path, pn), Aad::from(aad));
        self.0.key.open_separate_gather(nonce, aad, sealed, tag, out).map_err(|_| OpenError::Forged)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({})", self.0.cipher.name())
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener({})", self.0.cipher.name())
    }
}
