//! The handshake proper: Noise_IK_25519_ChaChaPoly_SHA256 (Noise revision 34, §7.5) through the crate `snow`, with the
//! primitives of [`super::resolver`].
//!
//! The prologue is `"ropewalk 1"` and the four header bytes of the INIT, so a changed header fails the handshake.

use rand::CryptoRng;
use snow::params::NoiseParams;
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use super::resolver::Resolver;
use super::schedule::Split;
use super::wire::INIT_HEADER;
use super::{PublicKey, StaticKey};

/// The full name of the protocol (Noise §8).
pub const NOISE_NAME: &str = "Noise_IK_25519_ChaChaPoly_SHA256";

const PROLOGUE: &[u8; 10] = b"ropewalk 1";

/// The randomness of one handshake.
pub(super) type Seed = Zeroizing<[u8; 32]>;

pub(super) fn seed<R: CryptoRng + ?Sized>(rng: &mut R) -> Seed {
    let mut seed = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *seed);
    seed
}

/// The state before the first message: of the initiator if it is told the `remote` key, else of the responder.
pub(super) fn state(
    local: &StaticKey,
    remote: Option<&PublicKey>,
    header: &[u8; INIT_HEADER],
    seed: Seed,
) -> Result<HandshakeState, snow::Error> {
    let mut prologue = [0; PROLOGUE.len() + INIT_HEADER];
    prologue[..PROLOGUE.len()].copy_from_slice(PROLOGUE);
    prologue[PROLOGUE.len()..].copy_from_slice(header);
    let params: NoiseParams = NOISE_NAME.parse()?;
    let resolver = Resolver { local: local.pair().clone(), seed };
    let builder = Builder::with_resolver(params, Box::new(resolver))
        .local_private_key(local.pair().secret())?
        .prologue(&prologue)?;
    match remote {
        Some(remote) => builder.remote_public_key(remote.as_bytes())?.build_initiator(),
        None => builder.build_responder(),
    }
}

/// What is left of a handshake that is over (Noise §5.2, `Split()`).
pub(super) fn split(state: &mut HandshakeState) -> Split {
    let (to_responder, to_initiator) = state.dangerously_get_raw_split();
    let hash = state.get_handshake_hash().try_into().expect("SHA-256 has 32 bytes");
    Split { to_responder, to_initiator, hash }
}
