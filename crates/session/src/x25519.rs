//! One X25519 key pair (RFC 7748) over aws-lc, the fastest kept implementation.

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, X25519};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// Bytes of a secret, of a public value and of a shared secret (RFC 7748 §5).
pub(super) const KEY_LEN: usize = 32;

/// A secret scalar. Boxed, because a value that moves leaves copies behind that nobody wipes.
pub(super) type Secret = Box<Zeroizing<[u8; KEY_LEN]>>;

/// A new one out of `rng`.
pub(super) fn secret<R: CryptoRng + ?Sized>(rng: &mut R) -> Secret {
    let mut secret = Secret::default();
    rng.fill_bytes(&mut **secret);
    secret
}

/// A secret scalar, its parsed form and its public value, worked out once.
///
/// Parsing costs a base-point multiplication, so a gateway parses its static key once and not per handshake.
pub(super) struct Pair {
    secret: Secret,
    parsed: PrivateKey,
    public: [u8; KEY_LEN],
}

impl Pair {
    /// The pair of the scalar `secret`; every 32 bytes are one after clamping (RFC 7748 §5), so `None` means
    /// only that the library had no memory.
    pub(super) fn from_secret(secret: Secret) -> Option<Pair> {
        let parsed = PrivateKey::from_private_key(&X25519, &**secret).ok()?;
        let public = parsed.compute_public_key().ok()?.as_ref().try_into().ok()?;
        Some(Pair { secret, parsed, public })
    }

    /// The scalar.
    pub(super) fn secret(&self) -> &[u8; KEY_LEN] {
        &self.secret
    }

    /// The public value.
    pub(super) fn public(&self) -> &[u8; KEY_LEN] {
        &self.public
    }

    /// Writes the shared secret with `peer` into `out`; `false`, and `out` untouched, if `peer` is a point of small
    /// order, whose shared secret anybody knows (RFC 7748 §6.1).
    #[must_use]
    pub(super) fn agree(&self, peer: &[u8], out: &mut [u8]) -> bool {
        let peer = UnparsedPublicKey::new(&X25519, peer);
        let copied = agreement::agree(&self.parsed, peer, (), |shared| {
            out[..KEY_LEN].copy_from_slice(shared);
            Ok(())
        });
        copied.is_ok()
    }
}
