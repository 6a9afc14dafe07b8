//! Datagrams in a stream: each after its length, two bytes, big endian (docs/protocol.md, section
//! 14).

/// The longest datagram, bytes: what a jumbo frame carries. A longer one, or an empty one, is the
/// end of the stream.
pub const DATAGRAM_MAX: usize = 9000;
/// Bytes of the length.
const HEADER: usize = 2;

/// A length that no datagram has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLength;

/// Puts a datagram at the end of `out`. `false` if it has no or too many bytes, and was left out.
pub fn put(out: &mut Vec<u8>, datagram: &[u8]) -> bool {
    let fits = (1..=DATAGRAM_MAX).contains(&datagram.len());
    if fits {
        out.extend_from_slice(&(datagram.len() as u16).to_be_bytes());
        out.extend_from_slice(datagram);
    }
    fits
}

/// Finds the datagrams in a stream that comes in pieces.
#[derive(Debug, Default)]
pub struct Deframer {
    /// The beginning of one: no more than the longest.
    partial: Vec<u8>,
}

impl Deframer {
    /// Takes the next piece; `each` gets the datagrams that are whole with it.
    ///
    /// # Errors
    /// A length is impossible: nothing that follows can be found.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), BadLength> {
        while !self.partial.is_empty() && !bytes.is_empty() {
            let want = match length(&self.partial)? {
                Some(len) => HEADER + len,
                None => HEADER,
            };
            let (front, rest) = bytes.split_at((want - self.partial.len()).min(bytes.len()));
            self.partial.extend_from_slice(front);
            bytes = rest;
            if let Some(len) = length(&self.partial)?
                && self.partial.len() == HEADER + len
            {
                each(&self.partial[HEADER..]);
                self.partial.clear();
            }
        }
        while let Some(len) = length(bytes)?
            && let Some(datagram) = bytes.get(HEADER..HEADER + len)
        {
            each(datagram);
            bytes = &bytes[HEADER + len..];
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}

/// The length at the front, once it is there.
fn length(bytes: &[u8]) -> Result<Option<usize>, BadLength> {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let len = usize::from(u16::from_be_bytes(*header));
    if (1..=DATAGRAM_MAX).contains(&len) { Ok(Some(len)) } else { Err(BadLength) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, BadLength> {
        let (mut deframer, mut found) = (Deframer::default(), Vec::new());
        for piece in pieces {
            deframer.push(piece, |d| found.push(d.to_vec()))?;
        }
        Ok(found)
    }

    /// The vector of docs/protocol.md, section 14.
    #[test]
    fn the_framing_is_the_published_one() {
        let mut out = Vec::new();
        assert!(put(&mut out, b"hemp") && put(&mut out, b"!") && !put(&mut out, b""));
        assert_eq!(out, [0, 4, b'h', b'e', b'm', b'p', 0, 1, b'!']);
        assert_eq!(all(&[&out]).unwrap(), [b"hemp".to_vec(), b"!".to_vec()]);
        let mut long = Vec::new();
        assert!(put(&mut long, &[7; 1472]) && !put(&mut long, &[7; DATAGRAM_MAX + 1]));
        assert_eq!((long[..2].to_vec(), long.len()), (vec![0x05, 0xc0], 1474));
    }

    #[test]
    fn impossible_lengths_end_the_stream() {
        for bad in [&[0, 0][..], &[0x23, 0x29], &[0xff, 0xff, 1], &[0, 1, 9, 0, 0]] {
            assert_eq!(all(&[bad]), Err(BadLength), "{bad:?}");
            let single: Vec<&[u8]> = bad.chunks(1).collect();
            assert_eq!(all(&single), Err(BadLength), "{bad:?} byte by byte");
        }
        assert_eq!(all(&[&[0x23, 0x28]]), Ok(vec![]), "9000 is the longest");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_datagrams(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20),
            cuts in prop::collection::vec(1usize..400, 1..60),
        ) {
            let mut stream = Vec::new();
            datagrams.iter().for_each(|d| assert!(put(&mut stream, d)));
            let (mut pieces, mut rest) = (Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle().take(stream.len()) {
                let (front, behind) = rest.split_at((*cut).min(rest.len()));
                pieces.push(front);
                rest = behind;
            }
            pieces.push(rest);
            prop_assert_eq!(all(&pieces), Ok(datagrams));
        }

        #[test]
        fn any_bytes_are_taken(bytes: Vec<u8>) {
            let _ = all(&[&bytes, &bytes]);
        }
    }
}
