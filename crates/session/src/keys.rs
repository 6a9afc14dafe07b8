//! Static identities: the key pair that a gateway or a client keeps, and the public half that others know it by.

use core::{fmt, str::FromStr};
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::x25519::{self, KEY_LEN, Pair, Secret};

/// Why a text is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not base64, or not 32 bytes of it.
    #[error("this is not a key: a key is 44 characters of base64 that end in '='; copy the whole line again")]
    Text,
    /// The crypto library could not take the key.
    #[error("the crypto library refused the key, most likely for want of memory; free some and start again")]
    Library,
}

/// A static X25519 public key: who somebody is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; KEY_LEN]);

impl PublicKey {
    /// The 32 bytes as they stand on the wire (RFC 7748 §5).
    pub const fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        decode(text).map(|bytes| PublicKey(*bytes))
    }
}

/// A static X25519 key pair. Clones share one copy of the secret, which is wiped when the last of them goes.
#[derive(Clone)]
pub struct StaticKey(Arc<Pair>);

impl StaticKey {
    /// A new key pair out of `rng`, which has to be seeded from the operating system in a driver.
    ///
    /// # Errors
    /// [`KeyError::Library`] if the crypto library is out of memory.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Result<StaticKey, KeyError> {
        StaticKey::from_secret(x25519::secret(rng))
    }

    /// The key pair of a secret of 32 bytes.
    ///
    /// # Errors
    /// [`KeyError::Library`] if the crypto library is out of memory.
    pub fn from_bytes(secret: &[u8; KEY_LEN]) -> Result<StaticKey, KeyError> {
        StaticKey::from_secret(Box::new(Zeroizing::new(*secret)))
    }

    fn from_secret(secret: Secret) -> Result<StaticKey, KeyError> {
        Ok(StaticKey(Arc::new(Pair::from_secret(secret).ok_or(KeyError::Library)?)))
    }

    /// The key pair of a secret written by [`StaticKey::to_base64`]; white space around it is ignored.
    ///
    /// # Errors
    /// [`KeyError::Text`] if the text is not a key, [`KeyError::Library`] as for [`StaticKey::from_bytes`].
    pub fn from_base64(text: &str) -> Result<StaticKey, KeyError> {
        StaticKey::from_bytes(&*decode(text)?)
    }

    /// The secret as 44 characters of base64 (RFC 4648 §4), for a file that only its owner can read.
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.secret()))
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(*self.0.public())
    }

    /// The pair itself, for the handshake.
    pub(super) fn pair(&self) -> &Arc<Pair> {
        &self.0
    }
}

impl fmt::Debug for StaticKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaticKey(public {})", self.public())
    }
}

/// 32 bytes out of base64, without leaving a copy of a secret behind.
fn decode(text: &str) -> Result<Zeroizing<[u8; KEY_LEN]>, KeyError> {
    // The decoder wants room for whole groups of three bytes: 36 for the 44 characters of a key.
    let mut room = Zeroizing::new([0; 36]);
    let len = STANDARD.decode_slice(text.trim(), &mut *room).map_err(|_| KeyError::Text)?;
    let key = room[..len].try_into().map_err(|_| KeyError::Text)?;
    Ok(Zeroizing::new(key))
}

#[cfg(test)]
mod tests {
    use rand_chacha::{ChaCha12Rng, rand_core::SeedableRng};

    use super::*;

    #[test]
    fn public_value_is_that_of_rfc_7748() {
        // RFC 7748 §6.1, Alice.
        let secret = [
            0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
            0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
        ];
        let public = [
            0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7, 0x5a,
            0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a,
        ];
        assert_eq!(StaticKey::from_bytes(&secret).unwrap().public(), PublicKey(public));
    }

    #[test]
    fn text_forms_come_back() {
        let key = StaticKey::generate(&mut ChaCha12Rng::seed_from_u64(1)).unwrap();
        let again = StaticKey::from_base64(&format!(" {}\n", *key.to_base64())).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        assert_eq!(key.public().to_string().len(), 44);
    }

    #[test]
    fn bad_text_is_refused() {
        let good = PublicKey([7; 32]).to_string();
        for bad in ["", "x", &good[..43], &good[1..], &format!("{good}{good}"), &"A".repeat(44)] {
            assert_eq!(bad.parse::<PublicKey>(), Err(KeyError::Text), "{bad}");
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        let key = StaticKey::from_bytes(&[9; 32]).unwrap();
        assert!(!format!("{key:?}").contains(&key.to_base64()[..8]));
    }

    #[test]
    fn points_of_small_order_are_refused() {
        let key = StaticKey::from_bytes(&[9; 32]).unwrap();
        assert!(!key.pair().agree(&[0; 32], &mut [0; 32]));
        assert!(!key.pair().agree(&[1; 31], &mut [0; 32]));
    }
}
