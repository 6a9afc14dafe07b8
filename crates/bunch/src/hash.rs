//! The keyed hash by which a packet is known again.

use siphasher::sip::SipHasher24;

/// A key that the gateway gives to the access points of a session.
pub type Key = [u8; 16];

/// Hash of a whole packet but for what routers change: hops to live, header checksum, class and
/// marks of congestion.
pub fn packet(key: &Key, packet: &[u8]) -> u32 {
    let mut head = [0; 20];
    let len = packet.len().min(20);
    head[..len].copy_from_slice(&packet[..len]);
    (head[1], head[8], head[10], head[11]) = (0, 0, 0, 0);
    let head = SipHasher24::new_with_key(key).hash(&head);
    let rest = SipHasher24::new_with_key(key).hash(&packet[len..]);
    (head ^ rest.rotate_left(17)) as u32
}

/// Whether the home access point tells the hash of a number: one of 32, and who forwards cannot
/// know which.
pub fn is_audited(key: &Key, number: u64) -> bool {
    SipHasher24::new_with_key(key).hash(&number.to_le_bytes()) & 31 == 0
}

/// Whether every access point tells the hash of a number, so that the gateway can put their
/// numbers side by side: one of 64.
pub fn is_anchor(number: u64) -> bool {
    number & 63 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_routers_change_does_not_count() {
        let packet_of = |at: usize| {
            let mut p = vec![7; 60];
            p[at] ^= 1;
            packet(&[3; 16], &p)
        };
        let plain = packet(&[3; 16], &[7; 60]);
        for at in [1, 8, 10, 11] {
            assert_eq!(packet_of(at), plain, "{at}");
        }
        for at in [0, 2, 4, 12, 19, 20, 59] {
            assert_ne!(packet_of(at), plain, "{at}");
        }
        assert_ne!(packet(&[4; 16], &[7; 60]), plain, "another key");
        packet(&[0; 16], &[]);
    }

    #[test]
    fn one_of_thirty_two_is_audited() {
        let audited = (0..32_000).filter(|n| is_audited(&[9; 16], *n)).count();
        assert!((900..1100).contains(&audited), "{audited}");
    }
}
