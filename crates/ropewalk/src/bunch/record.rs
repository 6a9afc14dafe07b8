//! What goes over a tunnel's TCP connection: frames of two bytes of length and a body.
//!
//! ```text
//! at first     length u16 | INIT, COOKIE or RESPONSE       as in docs/protocol.md, section 4
//! from then on length u16 | sealed: channel u8 ‖ payload   packet number: how many went before;
//! path 0
//! ```
//!
//! The number is not sent: TCP keeps the order, and what was left out, repeated or changed does not
//! open, which ends the tunnel.

use ropewalk_session::{Cipher, Opener, Sealer, SessionKeys, TAG_LEN};

/// The longest payload of a record, bytes.
pub(crate) const RECORD_MAX: usize = 16 << 10;
/// Length and body of the longest frame, bytes.
pub(crate) const FRAME_MAX: usize = 2 + 1 + RECORD_MAX + TAG_LEN;

/// What a record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// A part of the stream of bunch messages.
    Stream,
    /// A whole IP packet on its ordinary way.
    Packet,
    /// A message of the daemons, JSON.
    Word,
}

/// Why a tunnel has to end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// A frame is longer than any is.
    #[error("a frame of {0} bytes: the other end is no ropewalk bunch")]
    Long(usize),
    /// It does not open.
    #[error("a record does not open under the tunnel's keys: it was changed on the way")]
    Forged,
    /// It opens, and makes no sense.
    #[error("a record of a kind that this version does not know: update both ends")]
    Unknown,
    /// A key has done what it may.
    #[error("the tunnel's keys are used up; the next one has new ones")]
    Worn,
    /// The other end takes nothing.
    #[error("the other end takes nothing any more")]
    Stuck,
    /// TCP.
    #[error("{0}")]
    Gone(String),
}

/// Cuts a stream of bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    /// So many of them are taken out.
    used: usize,
}

impl Frames {
    /// Takes in; at most a frame and what one read brings is kept, if all that is whole is taken
    /// out.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // Once for all that was taken out: a read may have brought thousands of short frames.
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame's body, of at most `most` bytes.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Vec<u8>>, Broken> {
        let Some((length, rest)) = self.bytes[self.used..].split_first_chunk::<2>() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes(*length));
        if length > most {
            return Err(Broken::Long(length));
        }
        let Some(body) = rest.get(..length).map(<[u8]>::to_vec) else { return Ok(None) };
        self.used += 2 + length;
        Ok(Some(body))
    }
}

/// A frame around a body.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u16).to_be_bytes()[..], body].concat()
}

/// Both directions of a tunnel under its keys.
pub(crate) struct Records {
    sealer: Sealer,
    opener: Opener,
    sent: u64,
    received: u64,
    /// Blocks that each direction's key has done.
    blocks: [u64; 2],
    most: u64,
}

impl Records {
    pub(crate) fn new(keys: SessionKeys) -> Records {
        let most = keys.cipher.limits().blocks;
        let (sealer, opener) = keys.into_ends();
        Records { sealer, opener, sent: 0, received: 0, blocks: [0; 2], most }
    }

    /// Appends a record with this payload, of at most [`RECORD_MAX`] bytes.
    pub(crate) fn seal(&mut self, channel: Channel, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        let length = 1 + payload.len() + TAG_LEN;
        let head = u16::try_from(length).map_err(|_| Broken::Long(length))?.to_be_bytes();
        self.wear(0, length)?;
        let start = out.len() + 2;
        out.extend_from_slice(&head);
        out.push(channel as u8);
        out.extend_from_slice(payload);
        out.extend_from_slice(&[0; TAG_LEN]);
        let sealed = self.sealer.seal(0, self.sent, &head, &mut out[start..]);
        self.sent += 1;
        sealed.map_err(|_| Broken::Worn)
    }

    /// Opens a frame's body.
    pub(crate) fn open(&mut self, mut body: Vec<u8>) -> Result<(Channel, Vec<u8>), Broken> {
        let head = (body.len() as u16).to_be_bytes();
        self.wear(1, body.len())?;
        let text = self.opener.open(0, self.received, &head, &mut body).map_err(|_| Broken::Forged)?;
        self.received += 1;
        let (length, channel) = (text.len(), text.first().copied());
        let channel = match channel {
            Some(0) => Channel::Stream,
            Some(1) => Channel::Packet,
            Some(2) => Channel::Word,
            _ => return Err(Broken::Unknown),
        };
        // In place: no second copy of a secret is left behind.
        body.truncate(length);
        body.remove(0);
        Ok((channel, body))
    }

    fn wear(&mut self, way: usize, bytes: usize) -> Result<(), Broken> {
        self.blocks[way] += Cipher::blocks(bytes);
        if self.blocks[way] > self.most { Err(Broken::Worn) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Records({} sent, {} received)", self.sent, self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Records, Records) {
        let keys = |first| SessionKeys::of_shared(&[3; 32], Cipher::ChaCha20Poly1305, first);
        (Records::new(keys(true)), Records::new(keys(false)))
    }

    /// Three records as they stand on the wire.
    fn three(near: &mut Records) -> Vec<u8> {
        let mut wire = Vec::new();
        for (channel, text) in
            [(Channel::Stream, &b"one"[..]), (Channel::Packet, b"two"), (Channel::Word, b"")]
        {
            near.seal(channel, text, &mut wire).unwrap();
        }
        wire
    }

    fn read(far: &mut Records, wire: &[u8], step: usize) -> Result<Vec<(Channel, Vec<u8>)>, Broken> {
        let (mut frames, mut out) = (Frames::default(), Vec::new());
        for part in wire.chunks(step) {
            frames.push(part);
            while let Some(body) = frames.next(FRAME_MAX)? {
                out.push(far.open(body)?);
            }
        }
        Ok(out)
    }

    #[test]
    fn records_come_back_however_the_stream_is_cut() {
        for step in 1..70 {
            let (mut near, mut far) = pair();
            let wire = three(&mut near);
            let all = read(&mut far, &wire, step).unwrap();
            let expected = [
                (Channel::Stream, b"one".to_vec()),
                (Channel::Packet, b"two".to_vec()),
                (Channel::Word, vec![]),
            ];
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn what_is_changed_repeated_or_left_out_ends_it() {
        let (mut near, mut far) = pair();
        let wire = three(&mut near);
        let first = 2 + 1 + 3 + TAG_LEN;
        for at in 0..wire.len() {
            let mut changed = wire.clone();
            changed[at] ^= 1;
            let (_, mut far) = pair();
            // A length that has grown waits for bytes that do not come; all others are noticed.
            let read = read(&mut far, &changed, 1000);
            assert!(read.is_err() || read.unwrap().len() < 3, "byte {at}");
        }
        let repeated = [&wire[..first], &wire].concat();
        assert_eq!(read(&mut far, &repeated, 1000), Err(Broken::Forged));
        let (_, mut far) = pair();
        assert_eq!(read(&mut far, &wire[first..], 1000), Err(Broken::Forged));
        let mut frames = Frames::default();
        frames.push(&[0xff; 9]);
        assert_eq!(frames.next(FRAME_MAX), Err(Broken::Long(0xffff)));
    }

    #[test]
    fn no_bytes_do_harm() {
        use rand::{Rng, RngCore, SeedableRng};
        let mut rng = rand::rngs::StdRng::seed_from_u64(2026);
        for _ in 0..20_000 {
            let (mut frames, (_, mut far)) = (Frames::default(), pair());
            let mut bytes = vec![0; rng.random_range(0..80)];
            rng.fill_bytes(&mut bytes);
            // Short lengths, so that most are whole.
            bytes.iter_mut().take(1).for_each(|b| *b = 0);
            frames.push(&bytes);
            while let Ok(Some(body)) = frames.next(FRAME_MAX) {
                assert!(far.open(body.clone()).is_err(), "{bytes:?}");
                let _ = super::super::words::Word::read(&body);
            }
            assert!(frames.bytes.len() <= bytes.len());
        }
    }

    #[test]
    fn a_key_ends_in_time() {
        let (mut near, _) = pair();
        near.most = 3;
        let mut out = Vec::new();
        near.seal(Channel::Stream, b"", &mut out).unwrap();
        assert_eq!(near.seal(Channel::Stream, b"", &mut out), Err(Broken::Worn));
    }
}
