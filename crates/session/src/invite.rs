//! What lets a device in the first time: the name of an invite and its secret.

use core::fmt;

use aws_lc_rs::{constant_time, digest};
use rand::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

const LABEL: &[u8] = b"ropewalk 1 invite";

/// Which invite this is. Not secret: the gateway's list of clients has it in the clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InviteId(pub [u8; 16]);

impl InviteId {
    /// A new one, 128 bits out of `rng`.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> InviteId {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        InviteId(id)
    }
}

/// What the holder of an invite knows and nobody else; wiped when dropped, never printed.
///
/// The client sends the secret itself, inside the handshake that only the gateway can read, instead of a proof made
/// from it: so the gateway need keep no more than [`InviteSecret::fingerprint`], and who steals a gateway's list
/// gets into nothing with it.
#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
pub struct InviteSecret(pub [u8; 16]);

impl InviteSecret {
    /// A new one, 128 bits out of `rng`.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> InviteSecret {
        let mut secret = InviteSecret::default();
        rng.fill_bytes(&mut secret.0);
        secret
    }

    /// What the gateway keeps: SHA-256 of a label and the secret. The secret has 128 random bits, so a slow hash
    /// would gain nothing.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(LABEL);
        hash.update(&self.0);
        hash.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Whether this is the secret of `fingerprint`, in constant time.
    pub fn matches(&self, fingerprint: &[u8; 32]) -> bool {
        constant_time::verify_slices_are_equal(&self.fingerprint(), fingerprint).is_ok()
    }
}

impl PartialEq for InviteSecret {
    fn eq(&self, other: &InviteSecret) -> bool {
        constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for InviteSecret {}

impl fmt::Debug for InviteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InviteSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_fits_its_secret_only() {
        let secret = InviteSecret([3; 16]);
        assert!(secret.matches(&secret.fingerprint()));
        assert!(!InviteSecret([4; 16]).matches(&secret.fingerprint()));
        assert_eq!(format!("{secret:?}"), "InviteSecret(..)");
    }
}
