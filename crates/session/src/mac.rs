//! The two MACs in front of the handshake, and cookies: what lets a gateway spend nothing on most of a flood.
//!
//! The idea is WireGuard's, the construction is of HMAC-SHA256 and ChaCha20-Poly1305, which are here anyway:
//!
//! ```text
//! mac1 key    = SHA-256("ropewalk 1 mac1" ‖ public key of the receiver)
//! mac1        = HMAC-SHA256(mac1 key, datagram before mac1), first 16 bytes
//! cookie      = HMAC-SHA256(secret of the gateway, source address[16] ‖ port u16), first 16 bytes
//! mac2        = HMAC-SHA256(cookie, datagram before mac2), first 16 bytes; zeros while there is no cookie
//! sealing key = HMAC-SHA256(SHA-256("ropewalk 1 cookie" ‖ public key of the gateway), nonce[24])
//! COOKIE      = ChaCha20-Poly1305(sealing key, nonce 0, aad = mac1 of the INIT, cookie)
//! ```
//!
//! IPv4 addresses are mapped into IPv6 (RFC 4291 §2.5.5.2). A cookie is sealed so that only who saw the INIT can
//! make the client believe one; each has its own key, so 24 random bytes cannot repeat a nonce.

use std::net::{IpAddr, SocketAddr};

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{constant_time, digest, hmac};

use super::PublicKey;
use super::wire::{COOKIE_LEN, COOKIE_NONCE_LEN, CookieView, Index, MAC_LEN, MessageType};

/// A MAC, and also a cookie.
pub(super) type Mac = [u8; MAC_LEN];

/// The keys that follow from the public key of a receiver.
pub(super) struct MacKeys {
    mac1: hmac::Key,
    cookie: hmac::Key,
}

impl MacKeys {
    pub(super) fn of(receiver: &PublicKey) -> MacKeys {
        let key = |label: &[u8]| {
            let mut hash = digest::Context::new(&digest::SHA256);
            hash.update(label);
            hash.update(receiver.as_bytes());
            hmac::Key::new(hmac::HMAC_SHA256, hash.finish().as_ref())
        };
        MacKeys { mac1: key(b"ropewalk 1 mac1"), cookie: key(b"ropewalk 1 cookie") }
    }

    pub(super) fn mac1(&self, covered: &[u8]) -> Mac {
        mac(&self.mac1, covered)
    }

    pub(super) fn check_mac1(&self, covered: &[u8], mac1: &Mac) -> bool {
        same(&self.mac1(covered), mac1)
    }

    /// The COOKIE datagram that brings `cookie` to the sender of an INIT with `mac1`.
    pub(super) fn seal_cookie(
        &self,
        receiver: Index,
        nonce: [u8; COOKIE_NONCE_LEN],
        mac1: &Mac,
        cookie: &Mac,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(COOKIE_LEN);
        out.push(MessageType::Cookie.byte());
        out.extend_from_slice(&receiver.to_be_bytes());
        out.extend_from_slice(&nonce);
        let mut sealed = *cookie;
        let tag = self
            .sealing_key(&nonce)
            .seal_in_place_separate_tag(zero_nonce(), Aad::from(mac1), &mut sealed)
            .expect("16 bytes are fewer than 256 GiB");
        out.extend_from_slice(&sealed);
        out.extend_from_slice(tag.as_ref());
        out
    }

    /// The cookie in a COOKIE that answers an INIT with `mac1`.
    pub(super) fn open_cookie(&self, view: &CookieView<'_>, mac1: &Mac) -> Option<Mac> {
        let mut sealed = view.sealed.to_vec();
        let key = self.sealing_key(view.nonce);
        let cookie = key.open_in_place(zero_nonce(), Aad::from(mac1), &mut sealed).ok()?;
        Mac::try_from(&*cookie).ok()
    }

    fn sealing_key(&self, nonce: &[u8; COOKIE_NONCE_LEN]) -> LessSafeKey {
        let key = hmac::sign(&self.cookie, nonce);
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_ref()).expect("an HMAC-SHA256 has 32 bytes");
        LessSafeKey::new(key)
    }
}

/// mac2 of an INIT whose sender holds `cookie`.
pub(super) fn mac2(cookie: &Mac, covered: &[u8]) -> Mac {
    mac(&hmac::Key::new(hmac::HMAC_SHA256, cookie), covered)
}

/// The cookie of `from` under `secret`.
pub(super) fn cookie_of(secret: &hmac::Key, from: SocketAddr) -> Mac {
    let mut covered = [0; 18];
    let (address, port) = covered.split_at_mut(16);
    address.copy_from_slice(&octets(from.ip()));
    port.copy_from_slice(&from.port().to_be_bytes());
    mac(secret, &covered)
}

/// An address as 16 bytes; the same for an IPv4 address and its mapped form, which one socket may mix.
pub(super) fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Whether two MACs are the same, in constant time.
pub(super) fn same(a: &Mac, b: &Mac) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}

fn mac(key: &hmac::Key, covered: &[u8]) -> Mac {
    *hmac::sign(key, covered).as_ref().first_chunk().expect("an HMAC-SHA256 has 32 bytes")
}

fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}
