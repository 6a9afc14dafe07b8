//! What is secret is wiped when it is dropped.

use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::super::*;

fn is_wiped<T: ZeroizeOnDrop>() {}

/// A type that loses its wiping does not compile here. Keys that the library holds ([`Sealer`], [`Opener`], X25519, HMAC) it wipes itself
/// (`OPENSSL_free`, `HMAC_CTX_cleanup`).
#[test]
fn secrets_are_of_types_that_wipe_themselves() {
    is_wiped::<noise::Symmetric>();
    is_wiped::<schedule::Split>();
    is_wiped::<schedule::DirectionKey>();
    is_wiped::<Cookie>();
    is_wiped::<InviteSecret>();
    // Every ephemeral and static secret is one.
    fn secret(secret: x25519::Secret) -> Box<Zeroizing<[u8; 32]>> {
        secret
    }
    let _ = secret;
}
