//! Which AEADs a data packet may be sealed with, and how two ends agree on one.

/// An AEAD for data packets. Both have a key of at least 128 bits, a nonce of 12 bytes and a tag of 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// ChaCha20-Poly1305 (RFC 8439): fast on every CPU.
    ChaCha20Poly1305,
    /// AES-128-GCM (NIST SP 800-38D): several times faster where the CPU has instructions for it.
    Aes128Gcm,
}

impl Cipher {
    /// The number of this cipher on the wire.
    pub const fn id(self) -> u8 {
        match self {
            Cipher::ChaCha20Poly1305 => 1,
            Cipher::Aes128Gcm => 2,
        }
    }

    /// The cipher with this number on the wire.
    pub const fn from_id(id: u8) -> Option<Cipher> {
        match id {
            1 => Some(Cipher::ChaCha20Poly1305),
            2 => Some(Cipher::Aes128Gcm),
            _ => None,
        }
    }

    /// A name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Cipher::ChaCha20Poly1305 => "ChaCha20-Poly1305",
            Cipher::Aes128Gcm => "AES-128-GCM",
        }
    }

    /// Bytes of the key.
    pub const fn key_len(self) -> usize {
        match self {
            Cipher::ChaCha20Poly1305 => 32,
            Cipher::Aes128Gcm => 16,
        }
    }

    /// What one key of this cipher may do.
    ///
    /// AES-GCM: 2^35 blocks, whatever the length of the datagrams (RFC 9001, appendix B.1.1: q · l), and 2^52 forgeries of up to 2^16 bytes
    /// (B.1.2). ChaCha20-Poly1305: more datagrams than a packet number should count, and 2^36 forgeries (section 6.6).
    pub const fn limits(self) -> KeyLimits {
        match self {
            Cipher::Aes128Gcm => KeyLimits { blocks: 1 << 35, forgeries: 1 << 52 },
            Cipher::ChaCha20Poly1305 => KeyLimits { blocks: 1 << 62, forgeries: 1 << 36 },
        }
    }

    /// The blocks of 16 bytes that `len` bytes fill.
    #[inline]
    pub const fn blocks(len: usize) -> u64 {
        len.div_ceil(16) as u64
    }
}

/// What one key may do before it has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLimits {
    /// Blocks of 16 bytes that it seals, or opens.
    pub blocks: u64,
    /// Datagrams that it may fail to open.
    pub forgeries: u64,
}

impl KeyLimits {
    /// None.
    pub const NONE: KeyLimits = KeyLimits { blocks: u64::MAX, forgeries: u64::MAX };

    /// The narrower of both.
    #[must_use]
    pub fn at_most(self, other: KeyLimits) -> KeyLimits {
        KeyLimits { blocks: self.blocks.min(other.blocks), forgeries: self.forgeries.min(other.forgeries) }
    }
}

/// What a node can do at full speed; it stands in [`super::ClientHello`] as one byte of bits.
///
/// Every node can do both ciphers, so the bit of AES means "has instructions for it". AES in software is
/// slow and leaks its key through the cache, so nobody is asked to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CipherSet(u8);

impl CipherSet {
    /// Only ChaCha20-Poly1305: bit 0.
    pub const CHACHA: CipherSet = CipherSet(1);
    /// Both: bits 0 and 1.
    pub const BOTH: CipherSet = CipherSet(3);

    /// What the CPU this runs on is fast at. A simulation hands in its own set instead, to be the same everywhere.
    pub fn of_this_cpu() -> CipherSet {
        if cpu_has_aes_gcm() { CipherSet::BOTH } else { CipherSet::CHACHA }
    }

    /// The set as bits on the wire.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of these bits; bits of ciphers not invented yet are dropped.
    pub const fn from_bits(bits: u8) -> CipherSet {
        CipherSet(bits & CipherSet::BOTH.0)
    }

    /// Whether `cipher` is in the set.
    pub const fn has(self, cipher: Cipher) -> bool {
        self.0 & cipher.id() != 0
    }

    /// The cipher for a session between a node with this set and one with `other`.
    pub const fn choose(self, other: CipherSet) -> Cipher {
        if self.has(Cipher::Aes128Gcm) && other.has(Cipher::Aes128Gcm) {
            Cipher::Aes128Gcm
        } else {
            Cipher::ChaCha20Poly1305
        }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn cpu_has_aes_gcm() -> bool {
    std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq")
}

#[cfg(target_arch = "aarch64")]
fn cpu_has_aes_gcm() -> bool {
    std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
fn cpu_has_aes_gcm() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_and_are_the_bits_of_the_set() {
        for cipher in [Cipher::ChaCha20Poly1305, Cipher::Aes128Gcm] {
            assert_eq!(Cipher::from_id(cipher.id()), Some(cipher));
            assert!(CipherSet::BOTH.has(cipher));
        }
        assert_eq!(Cipher::from_id(0), None);
        assert_eq!(CipherSet::from_bits(0xff), CipherSet::BOTH);
    }

    #[test]
    fn aes_needs_both_ends() {
        let (one, both) = (CipherSet::CHACHA, CipherSet::BOTH);
        assert_eq!(both.choose(both), Cipher::Aes128Gcm);
        for (a, b) in [(one, both), (both, one), (one, one), (CipherSet::from_bits(0), both)] {
            assert_eq!(a.choose(b), Cipher::ChaCha20Poly1305);
        }
    }
}
