//! The gateway's secrets behind cookies: a new one every two minutes, and the one before it still counts, so that a
//! cookie holds for two minutes at least and four at most.

use std::net::SocketAddr;

use aws_lc_rs::hmac;
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::answers::Network;
use super::initiator::COOKIE_LIFETIME;
use super::mac::{self, Mac, mac2};
use ropewalk_time::Time;

pub(super) struct CookieSecrets {
    // Boxed, because a value that moves leaves copies behind; the library wipes the key where it lies.
    current: Box<hmac::Key>,
    previous: Box<hmac::Key>,
    changed: Time,
}

impl CookieSecrets {
    pub(super) fn new<R: CryptoRng + ?Sized>(rng: &mut R, now: Time) -> CookieSecrets {
        CookieSecrets { current: fresh(rng), previous: fresh(rng), changed: now }
    }

    /// Changes the secret if it is due.
    pub(super) fn rotate<R: CryptoRng + ?Sized>(&mut self, rng: &mut R, now: Time) {
        let age = now.since(self.changed);
        if age >= COOKIE_LIFETIME {
            let old = core::mem::replace(&mut self.current, fresh(rng));
            // After a long quiet time the secret that was current is too old as well.
            self.previous = if age < 2 * COOKIE_LIFETIME { old } else { fresh(rng) };
            self.changed = now;
        }
    }

    /// The cookie of a source address, now.
    pub(super) fn cookie(&self, from: SocketAddr) -> Mac {
        mac::cookie_of(&self.current, from)
    }

    /// Whether `found` is the mac2 of somebody who has the cookie of `from`.
    pub(super) fn check(&self, from: SocketAddr, covered: &[u8], found: &Mac) -> bool {
        // Zeros say "no cookie": most INITs, and not worth four hashes.
        *found != Mac::default()
            && [&*self.current, &*self.previous]
                .into_iter()
                .any(|secret| mac::same(&mac2(&mac::cookie_of(secret, from), covered), found))
    }

    /// A number for the network `from` is in (IPv4 /32, IPv6 /64) that nobody outside can foresee.
    pub(super) fn hash(&self, from: SocketAddr) -> u16 {
        let tag = hmac::sign(&self.current, Network::of(from).as_bytes());
        u16::from_be_bytes([tag.as_ref()[0], tag.as_ref()[1]])
    }
}

fn fresh<R: CryptoRng + ?Sized>(rng: &mut R) -> Box<hmac::Key> {
    let mut secret = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *secret);
    Box::new(hmac::Key::new(hmac::HMAC_SHA256, &*secret))
}
