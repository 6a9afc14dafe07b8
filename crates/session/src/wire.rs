//! The handshake datagrams, byte by byte, and checked views of them. All numbers are big endian.
//!
//! ```text
//! INIT      0x10 | sender u24 | e[32] s[32+16] hello[320..1100] tag[16] | mac1[16] | mac2[16]        452 to 1232 bytes
//! RESPONSE  0x20 | receiver u24 | sender u24 | e[32] hello[64..320] tag[16] | mac1[16]               135 to 391 bytes
//! COOKIE    0x30 | receiver u24 | nonce[24] | cookie[16] tag[16]                                     60 bytes
//! DATA      0x4_ | receiver u24 | …                                                                  see crate::wire
//! ```
//!
//! Sender and receiver are indices; e, s, hello and tag are the Noise message. The high half of the first byte is the type. The low half is zero in a handshake and anything else is dropped.
//! A datagram that asks is never shorter than its answer, so a forged source address gains an attacker nothing.

/// Bytes of mac1 and of mac2.
pub(super) const MAC_LEN: usize = 16;
/// Bytes before the Noise message of an INIT.
pub(super) const INIT_HEADER: usize = 4;
/// Bytes before the Noise message of a RESPONSE.
pub(super) const RESPONSE_HEADER: usize = 7;
/// What Noise adds to the payload of its first message: e, s and its tag, the payload's tag (Noise IK, §7.5).
pub(super) const NOISE_INIT_OVERHEAD: usize = 32 + 48 + 16;
/// What Noise adds to the payload of its second message: e and the payload's tag.
pub(super) const NOISE_RESPONSE_OVERHEAD: usize = 32 + 16;
/// Bytes that a client's hello is padded to. An INIT is then 452 bytes: it fits every IPv4 host's 576 (RFC 1122
/// §3.3.2) and every IPv6 link's 1280 bytes.
pub const CLIENT_HELLO_LEN: usize = 320;
/// Most bytes of a gateway's hello.
pub const SERVER_HELLO_MAX: usize = 320;
/// Bytes of the shortest INIT.
pub const INIT_MIN: usize = INIT_HEADER + NOISE_INIT_OVERHEAD + CLIENT_HELLO_LEN + 2 * MAC_LEN;
/// Bytes of the longest INIT: what an IPv6 link must carry (RFC 8200 §5) less IPv6 and UDP headers.
pub const INIT_MAX: usize = 1280 - 48;
/// Bytes of the longest RESPONSE.
pub const RESPONSE_MAX: usize = RESPONSE_HEADER + NOISE_RESPONSE_OVERHEAD + SERVER_HELLO_MAX + MAC_LEN;
/// Bytes of the shortest RESPONSE.
pub(super) const RESPONSE_MIN: usize = RESPONSE_HEADER + NOISE_RESPONSE_OVERHEAD + MAC_LEN;
/// Bytes of the nonce of a COOKIE.
pub(super) const COOKIE_NONCE_LEN: usize = 24;
/// Bytes of a COOKIE.
pub const COOKIE_LEN: usize = 4 + COOKIE_NONCE_LEN + MAC_LEN + 16;

// No amplification.
const _: () =
    assert!(RESPONSE_MAX <= INIT_MIN && COOKIE_LEN <= INIT_MIN && CLIENT_HELLO_LEN <= SERVER_HELLO_MAX);

/// The number by which a receiver finds a session: 24 bits, chosen by that receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(u32);

impl Index {
    /// The largest index.
    pub const MAX: u32 = (1 << 24) - 1;

    /// The index `value`, if it has no more than 24 bits.
    pub const fn new(value: u32) -> Option<Index> {
        if value <= Index::MAX { Some(Index(value)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its three bytes on the wire.
    pub const fn to_be_bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    /// The index of three bytes on the wire.
    pub const fn from_be_bytes([a, b, c]: [u8; 3]) -> Index {
        Index(u32::from_be_bytes([0, a, b, c]))
    }
}

/// What a datagram is by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageType {
    /// A client starts a handshake, or a new one for a live session.
    Init,
    /// A gateway ends a handshake.
    Response,
    /// A gateway under load asks a client to show that it has its address.
    Cookie,
    /// Data of a session.
    Data,
}

impl MessageType {
    /// The type of `datagram`; `None` if it is none of ours.
    pub fn of(datagram: &[u8]) -> Option<MessageType> {
        match datagram.first()? {
            0x10 => Some(MessageType::Init),
            0x20 => Some(MessageType::Response),
            0x30 => Some(MessageType::Cookie),
            0x40..=0x4f => Some(MessageType::Data),
            _ => None,
        }
    }

    /// The first byte of a handshake message.
    pub(super) const fn byte(self) -> u8 {
        match self {
            MessageType::Init => 0x10,
            MessageType::Response => 0x20,
            MessageType::Cookie => 0x30,
            MessageType::Data => 0x40,
        }
    }
}

/// The index in bytes 1 to 3 of a datagram: whom a RESPONSE, COOKIE or DATA is for, whom an INIT is from.
pub fn index_of(datagram: &[u8]) -> Option<Index> {
    datagram.get(1..)?.first_chunk().copied().map(Index::from_be_bytes)
}

/// The parts of an INIT.
#[derive(Clone, Copy)]
pub(super) struct InitView<'a> {
    pub(super) header: &'a [u8; INIT_HEADER],
    pub(super) sender: Index,
    pub(super) noise: &'a [u8],
    /// What mac1 covers: everything before it.
    pub(super) under_mac1: &'a [u8],
    pub(super) mac1: &'a [u8; MAC_LEN],
    /// What mac2 covers: everything before it.
    pub(super) under_mac2: &'a [u8],
    pub(super) mac2: &'a [u8; MAC_LEN],
}

impl<'a> InitView<'a> {
    pub(super) fn parse(datagram: &'a [u8]) -> Option<InitView<'a>> {
        if MessageType::of(datagram) != Some(MessageType::Init)
            || !(INIT_MIN..=INIT_MAX).contains(&datagram.len())
        {
            return None;
        }
        let (under_mac2, mac2) = datagram.split_last_chunk()?;
        let (under_mac1, mac1) = under_mac2.split_last_chunk()?;
        let (header, noise) = under_mac1.split_first_chunk::<INIT_HEADER>()?;
        Some(InitView { header, sender: index_of(header)?, noise, under_mac1, mac1, under_mac2, mac2 })
    }
}

/// The parts of a RESPONSE.
#[derive(Clone, Copy)]
pub(super) struct ResponseView<'a> {
    pub(super) receiver: Index,
    pub(super) sender: Index,
    pub(super) noise: &'a [u8],
    pub(super) under_mac1: &'a [u8],
    pub(super) mac1: &'a [u8; MAC_LEN],
}

impl<'a> ResponseView<'a> {
    pub(super) fn parse(datagram: &'a [u8]) -> Option<ResponseView<'a>> {
        if MessageType::of(datagram) != Some(MessageType::Response)
            || !(RESPONSE_MIN..=RESPONSE_MAX).contains(&datagram.len())
        {
            return None;
        }
        let (under_mac1, mac1) = datagram.split_last_chunk()?;
        let (header, noise) = under_mac1.split_first_chunk::<RESPONSE_HEADER>()?;
        let [_, receiver @ .., a, b, c] = *header;
        let (receiver, sender) = (Index::from_be_bytes(receiver), Index::from_be_bytes([a, b, c]));
        Some(ResponseView { receiver, sender, noise, under_mac1, mac1 })
    }
}

/// The parts of a COOKIE.
#[derive(Clone, Copy)]
pub(super) struct CookieView<'a> {
    pub(super) receiver: Index,
    pub(super) nonce: &'a [u8; COOKIE_NONCE_LEN],
    pub(super) sealed: &'a [u8],
}

impl<'a> CookieView<'a> {
    pub(super) fn parse(datagram: &'a [u8]) -> Option<CookieView<'a>> {
        if MessageType::of(datagram) != Some(MessageType::Cookie) || datagram.len() != COOKIE_LEN {
            return None;
        }
        let (nonce, sealed) = datagram[4..].split_first_chunk()?;
        Some(CookieView { receiver: index_of(datagram)?, nonce, sealed })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn indices_have_24_bits() {
        assert_eq!(Index::new(1 << 24), None);
        let index = Index::new(0x01_02_03).unwrap();
        assert_eq!(index.to_be_bytes(), [1, 2, 3]);
        assert_eq!(index_of(&[0x40, 1, 2, 3, 9]), Some(index));
        assert_eq!(index_of(&[0x40, 1, 2]), None);
    }

    #[test]
    fn lengths_are_those_of_the_protocol_page() {
        assert_eq!((INIT_MIN, INIT_MAX, RESPONSE_MIN, RESPONSE_MAX, COOKIE_LEN), (452, 1232, 71, 391, 60));
    }

    proptest! {
        #[test]
        fn views_take_any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..1400), kind in 0u8..6) {
            if let Some(first) = bytes.first_mut() {
                *first = kind << 4;
            }
            let length = bytes.len();
            let init = InitView::parse(&bytes).is_some();
            prop_assert_eq!(init, kind == 1 && (INIT_MIN..=INIT_MAX).contains(&length));
            let response = ResponseView::parse(&bytes).is_some();
            prop_assert_eq!(response, kind == 2 && (RESPONSE_MIN..=RESPONSE_MAX).contains(&length));
            prop_assert_eq!(CookieView::parse(&bytes).is_some(), kind == 3 && length == COOKIE_LEN);
            index_of(&bytes);
        }
    }
}
