//! Opens a datagram to where its data belong.
//!
//! A super-packet comes as some 45 datagrams, one after the other, each of which goes on with it from the first byte after its frame header to the last
//! before its tag. Opening can write them to the end of the packet at once, and not one of them is copied:
//!
//! ```text
//!  packet  │ what is there …      │ room for the rest                    │
//!  opened       │ timestamp, frame header │ data of the datagram │
//!               └─ put back afterwards ┘
//! ```
//!
//! What a datagram holds is known only when it is open, so this is a guess. A wrong one costs a copy; it is made where the last two fragments would have
//! been guessed right. Bytes after the end of what is there count for nothing until the datagram has proven authentic.

use crate::order::Target;
use crate::pool::Pool;
use crate::wire::{Continuation, GOES_ON, HEADER};
use ropewalk_session::{OpenError, Opener, TAG_LEN};

/// A sealed part, opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opened<'a> {
    /// It lies in the datagram.
    Here(&'a [u8]),
    /// It went on with a packet by so many bytes, and they lie there.
    InPlace(Continuation, Target, usize),
}

/// What opens one datagram: its key, and the numbers that it was sealed under.
#[derive(Debug)]
pub(crate) struct DatagramOpener<'a> {
    pub key: &'a Opener,
    pub path: u8,
    pub number: u64,
}

impl DatagramOpener<'_> {
    /// Opens a datagram, header included: to `target`, if its data go there.
    pub(crate) fn open<'a>(
        &self,
        datagram: &'a mut [u8],
        target: Option<Target>,
        pool: &mut Pool,
    ) -> Result<Opened<'a>, OpenError> {
        let (header, body) = datagram.split_at_mut(HEADER);
        let len = body.len().saturating_sub(TAG_LEN);
        let data = len.saturating_sub(GOES_ON);
        let fits =
            |t: &Target| data > 0 && t.at as usize >= GOES_ON && t.at as usize + data <= t.room as usize;
        let Some(t) = target.filter(fits) else {
            return self.key.open(self.path, self.number, header, body).map(|plain| Opened::Here(plain));
        };
        let at = t.at as usize - GOES_ON;
        let out = &mut pool.bytes_mut(t.buf)[at..at + len];
        let (before, _) = out.split_first_chunk::<GOES_ON>().ok_or(OpenError::Short)?;
        let before = *before;
        let opened = self.key.open_into(self.path, self.number, header, body, out);
        let (begin, rest) = out.split_first_chunk_mut::<GOES_ON>().ok_or(OpenError::Short)?;
        let begin = std::mem::replace(begin, before);
        opened?;
        match Continuation::read(&begin) {
            Some(c) if (c.flow, c.seq, u32::from(c.offset)) == (t.flow, t.seq, t.at) => {
                Ok(Opened::InPlace(c, t, data))
            }
            _ => {
                let (front, back) = body[..len].split_at_mut(GOES_ON);
                front.copy_from_slice(&begin);
                back.copy_from_slice(rest);
                Ok(Opened::Here(&body[..len]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshaken::ends;
    use crate::order::{Delivery, Reassembly};
    use crate::vnet::Vnet;
    use crate::wire::{Frame, Frames, Header, TIMESTAMP, Timestamp, Writer};
    use ropewalk_session::{Cipher, Sealer};
    use ropewalk_time::Time;
    use std::collections::VecDeque;

    const LEN: usize = 700;

    /// Two ends of one direction, and the order at the receiving one.
    struct Ends {
        sealer: Sealer,
        opener: Opener,
        pool: Pool,
        order: Reassembly,
        out: VecDeque<Delivery>,
        number: u64,
        in_place: usize,
    }

    impl Ends {
        fn new(cipher: Cipher) -> Ends {
            let (sealer, opener) = ends(cipher);
            let (pool, order) = (Pool::new(1 << 20), Reassembly::default());
            Ends { sealer, opener, pool, order, out: VecDeque::new(), number: 0, in_place: 0 }
        }

        fn seal(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
            let mut datagram = vec![0; LEN];
            let header = Header { path: 0, index: 1, number: 0 };
            let mut w = Writer::new(&mut datagram, header, Timestamp::default());
            write(&mut w);
            w.pad_to(LEN);
            self.number += 1;
            let (head, body) = datagram.split_at_mut(HEADER);
            self.sealer.seal(0, self.number, head, body).unwrap();
            datagram
        }

        /// The next datagram of `packet`, from `offset` on; returns where it ends.
        fn fragment(&mut self, seq: u32, packet: &[u8], offset: usize) -> (Vec<u8>, usize) {
            let (total, mut end) = (packet.len() as u32, 0);
            let datagram = self.seal(|w| {
                let fit = w.fragment_fit(offset as u32, total - offset as u32, total, false) as usize;
                end = offset + fit;
                w.fragment(3, seq, offset as u32, total, &Vnet::default(), true, &packet[offset..end]);
            });
            (datagram, end)
        }

        fn open(&mut self, datagram: &mut [u8]) -> Result<(), OpenError> {
            let opener = DatagramOpener { key: &self.opener, path: 0, number: self.number };
            match opener.open(datagram, self.order.in_place_target(), &mut self.pool)? {
                Opened::InPlace(c, t, len) => {
                    self.in_place += 1;
                    self.order.on_in_place(&t, len, Some(c.timestamp), Time::ZERO, &mut self.out);
                }
                Opened::Here(plain) => {
                    for frame in Frames::new(&plain[TIMESTAMP..]) {
                        if let Frame::Data(c) = frame.unwrap() {
                            let now = Time::ZERO;
                            self.order.on_fragment(
                                &mut self.pool,
                                &c,
                                Timestamp::default(),
                                now,
                                &mut self.out,
                            );
                        }
                    }
                }
            }
            Ok(())
        }

        fn delivered(&mut self) -> Option<Vec<u8>> {
            let d = self.out.pop_front()?;
            let bytes = self.pool.bytes(d.buf)[..d.len as usize].to_vec();
            self.pool.free(d.buf);
            Some(bytes)
        }
    }

    fn packet(len: usize, seed: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 + i / 251 + seed) as u8).collect()
    }

    #[test]
    fn a_long_packet_is_opened_to_its_place() {
        for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
            let mut e = Ends::new(cipher);
            for seq in 0..3 {
                let (packet, mut at) = (packet(20_000, seq as usize), 0);
                while at < packet.len() {
                    let (mut datagram, end) = e.fragment(seq, &packet, at);
                    e.open(&mut datagram).unwrap();
                    at = end;
                }
                assert!(e.delivered() == Some(packet));
            }
            // Of 31 datagrams the first two show that the packet grows, and the last has bytes behind its data.
            assert_eq!((e.in_place, e.pool.used_bytes()), (3 * 28, 0));
        }
    }

    #[test]
    fn wrong_guesses_and_forgeries_change_nothing() {
        let mut e = Ends::new(Cipher::Aes128Gcm);
        let packets = [packet(9000, 1), packet(9000, 2)];
        // One packet after the other for three datagrams each, a ping and a forgery before each, the fifth datagram of a packet before the fourth.
        let (mut at, mut late) = ([0; 2], [None, None]);
        for round in 0..60 {
            let k = (round / 3) % 2;
            let mut ping = e.seal(|w| assert!(w.ping()));
            e.open(&mut ping).unwrap();
            if at[k] == packets[k].len() {
                continue;
            }
            let (datagram, end) = e.fragment(k as u32, &packets[k], at[k]);
            let mut forged = datagram.clone();
            forged[LEN / 2] ^= 1;
            assert_eq!(e.open(&mut forged), Err(OpenError::Forged));
            let fourth = (2600..3300).contains(&end) && late[k].is_none();
            match fourth {
                true => late[k] = Some(at[k]),
                false => e.open(&mut datagram.clone()).unwrap(),
            }
            at[k] = end;
        }
        for k in 0..2 {
            let at = late[k].expect("one datagram of each was kept back");
            let (mut datagram, _) = e.fragment(k as u32, &packets[k], at);
            e.open(&mut datagram).unwrap();
        }
        assert!([e.delivered(), e.delivered()] == packets.map(Some), "both packets, in order");
        assert_eq!((e.delivered(), e.pool.used_bytes()), (None, 0));
        assert!(e.in_place > 0);
    }
}
