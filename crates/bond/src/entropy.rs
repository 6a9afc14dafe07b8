//! Randomness that is handed in.

use core::fmt;
use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// Where an engine's randomness comes from: it is asked for every draw, and the engine keeps no generator of its own. So what an engine
/// holds tells nobody which ephemeral keys it made before, nor which it will make.
pub struct Entropy(Box<dyn CryptoRng + Send>);

impl Entropy {
    /// Randomness of `source`: in a driver that of the operating system, whose generator re-keys itself after each draw.
    pub fn new(source: impl CryptoRng + Send + 'static) -> Entropy {
        Entropy(Box::new(source))
    }

    /// The same again for the same seed: for simulations and tests, and for nothing else.
    pub fn repeatable(seed: [u8; 32]) -> Entropy {
        Entropy::new(ChaCha12Rng::from_seed(seed))
    }
}

impl RngCore for Entropy {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

impl CryptoRng for Entropy {}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}
