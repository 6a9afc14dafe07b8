//! Sealing and opening under the keys of a session.

use super::super::*;
use super::pair::{Pair, accept};

fn ends(cipher: Cipher) -> (Sealer, Opener) {
    let (here, there) = Pair::new().handshake(Accept { cipher, ..accept() });
    (here.into_ends().0, there.into_ends().1)
}

const BOTH: [Cipher; 2] = [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305];

#[test]
fn every_length_comes_back() {
    for cipher in BOTH {
        let (sealer, opener) = ends(cipher);
        for len in (0..300).chain([1440, 9000, 65_535]) {
            let text: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut buf = [&text[..], &[0; TAG_LEN]].concat();
            sealer.seal(3, len as u64, b"head", &mut buf).unwrap();
            let (mut copied, mut opened) = (vec![0; len + TAG_LEN], vec![0; len]);
            sealer.seal_into(3, len as u64, b"head", &text, &mut copied).unwrap();
            assert_eq!(buf, copied);
            opener.open_into(3, len as u64, b"head", &copied, &mut opened).unwrap();
            assert_eq!(opened, text);
            assert_eq!(opener.open(3, len as u64, b"head", &mut buf).unwrap(), text);
        }
    }
}

#[test]
fn anything_changed_is_noticed() {
    for cipher in BOTH {
        let (sealer, opener) = ends(cipher);
        let mut sealed = vec![5; 40 + TAG_LEN];
        sealer.seal(1, 1 << 40, b"header 8", &mut sealed).unwrap();
        let opens =
            |path, pn, aad: &[u8], bytes: &[u8]| opener.open(path, pn, aad, &mut bytes.to_vec()).is_ok();
        assert!(opens(1, 1 << 40, b"header 8", &sealed));
        assert!(!opens(2, 1 << 40, b"header 8", &sealed));
        assert!(!opens(1, 1 << 41, b"header 8", &sealed));
        assert!(!opens(1, 1 << 40, b"header 9", &sealed));
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(!opens(1, 1 << 40, b"header 8", &damaged), "byte {at}");
            assert!(!opens(1, 1 << 40, b"header 8", &sealed[..at]), "cut at {at}");
        }
    }
}

#[test]
fn nonces_of_paths_and_numbers_never_meet() {
    let (sealer, _) = ends(Cipher::Aes128Gcm);
    let sealed = |path, pn| {
        let mut buf = [0; 16 + TAG_LEN];
        sealer.seal(path, pn, b"", &mut buf).unwrap();
        buf
    };
    let mut seen = std::collections::BTreeSet::new();
    for path in [0, 1, 2, 127, 128, 255] {
        for pn in [0, 1, 2, 255, 256, 1 << 24, 1 << 32, 1 << 56, u64::MAX] {
            assert!(seen.insert(sealed(path, pn)), "path {path}, number {pn}");
        }
    }
}

#[test]
fn wrong_buffers_are_errors() {
    let (sealer, opener) = ends(Cipher::Aes128Gcm);
    assert_eq!(sealer.seal(0, 0, b"", &mut [0; TAG_LEN - 1]), Err(SealError::Room));
    assert_eq!(sealer.seal_into(0, 0, b"", &[0; 9], &mut [0; 8 + TAG_LEN]), Err(SealError::Room));
    assert_eq!(opener.open(0, 0, b"", &mut [0; TAG_LEN - 1]).err(), Some(OpenError::Short));
    assert_eq!(opener.open_into(0, 0, b"", &[0; 8 + TAG_LEN], &mut [0; 9]), Err(OpenError::Short));
}

#[test]
fn a_tail_is_sealed_as_if_it_had_been_there() {
    for cipher in BOTH {
        let (sealer, _) = ends(cipher);
        let text: Vec<u8> = (0..1400u32).map(|i| (i * 7) as u8).collect();
        for tail in [0, 1, 15, 16, 17, 700, 1390, 1400] {
            let front = text.len() - tail;
            let (mut whole, mut parts) = (vec![0; text.len() + TAG_LEN], vec![0; text.len() + TAG_LEN]);
            whole[..text.len()].copy_from_slice(&text);
            parts[..front].copy_from_slice(&text[..front]);
            sealer.seal(2, 9, b"header 8", &mut whole).unwrap();
            sealer.seal_with_tail(2, 9, b"header 8", &mut parts, &text[front..]).unwrap();
            assert_eq!(whole, parts, "{tail} bytes of tail");
        }
        assert_eq!(sealer.seal_with_tail(0, 0, b"", &mut [0; 20], &[0; 5]), Err(SealError::Room));
    }
}

#[test]
fn a_secret_that_a_third_has_given_serves_two_ends_and_no_third_role() {
    let keys = |first| SessionKeys::of_shared(&[9; 32], Cipher::ChaCha20Poly1305, first).into_ends();
    let ((sealer, _), (other, opener)) = (keys(true), keys(false));
    let mut sealed = [b"hello".as_slice(), &[0; TAG_LEN]].concat();
    sealer.seal(0, 7, b"head", &mut sealed).unwrap();
    let mut own = sealed.clone();
    assert_eq!(opener.open(0, 7, b"head", &mut sealed).unwrap(), b"hello");
    let back = keys(true).1;
    assert!(back.open(0, 7, b"head", &mut own).is_err(), "what one has sent does not come back to it");
    let mut answer = [b"hi".as_slice(), &[0; TAG_LEN]].concat();
    other.seal(0, 7, b"head", &mut answer).unwrap();
    assert_eq!(back.open(0, 7, b"head", &mut answer).unwrap(), b"hi");
}
