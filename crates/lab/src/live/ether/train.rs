//! What waits to be written to a device: a run of a frame's pieces, or datagrams of one flow that arrived together. These go into the kernel by one
//! system call, as a receiver with GRO would see them: an aggregate of 40 datagrams that is written one by one makes the last of them
//! 80 µs late.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;

use super::{ETHER_BYTES, Frame, GSO_UDP, NEEDS_CSUM, Piece, Run, VNET_BYTES, fold, sum, word};

/// `UDP_MAX_SEGMENTS` of linux/udp.h before 6.11.
const LONGEST_TRAIN: usize = 64;
/// Bytes of IPv4 without options, and of UDP.
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Where the IP header, and the data of a datagram, begin.
const IP: usize = VNET_BYTES + ETHER_BYTES;
const DATA: usize = IP + IP_BYTES + UDP_BYTES;

/// Runs in the order in which they arrived; all but a lone one are datagrams that [`Train::couple`] has accepted.
#[derive(Debug, Default)]
pub(crate) struct Train {
    runs: Vec<Run>,
    /// Bytes of data of the datagrams.
    data: usize,
}

impl Train {
    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Takes a piece in if it may be written together with what waits; gives it back otherwise. Into an empty train any piece may go.
    pub(crate) fn couple(&mut self, piece: Piece, marked: bool) -> Result<(), Piece> {
        let piece = match &mut self.runs[..] {
            [] => {
                self.data = data_of(&piece.frame).unwrap_or_default();
                self.runs.push(Run::new(piece, marked));
                return Ok(());
            }
            [alone] => match alone.join(piece, marked) {
                Ok(()) => return Ok(()),
                Err(piece) => piece,
            },
            _ => piece,
        };
        if marked || !self.takes(&piece.frame) {
            return Err(piece);
        }
        self.data += piece.frame.len - DATA;
        self.runs.push(Run::new(piece, false));
        Ok(())
    }

    /// Whether this is the next datagram of the flow: as long as the first, or shorter and then the last.
    fn takes(&self, next: &Frame) -> bool {
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else { return false };
        let (Some(length), Some(more)) = (data_of(&first.frame), data_of(next)) else { return false };
        let (a, b) = (&first.frame.bytes, &next.bytes);
        // All headers but the lengths, the identification and the checksums.
        let same = |from: usize, to: usize| a[from..to] == b[from..to];
        let flow = same(VNET_BYTES, IP + 2) && same(IP + 6, IP + 10) && same(IP + 12, IP + IP_BYTES + 4);
        let id = word(a, IP + 4);
        let counted = word(b, IP + 4) == id.wrapping_add(self.runs.len() as u16);
        // That of a datagram that is never cut means nothing (RFC 6864, section 4.1).
        let atomic = a[IP + 6] & 0x40 != 0 && word(b, IP + 4) == id;
        let fits = IP_BYTES + UDP_BYTES + self.data + more <= usize::from(u16::MAX);
        let goes_on = !first.marked && last.frame.len - DATA == length && more <= length;
        flow && (counted || atomic) && goes_on && fits && self.runs.len() < LONGEST_TRAIN
    }

    /// Writes everything to a device, and forgets it; `reclaim` is given each run.
    pub(crate) fn write(&mut self, device: Option<impl AsFd>, reclaim: impl FnMut(Run)) -> io::Result<()> {
        let written = device.map_or(Ok(()), |device| match &self.runs[..] {
            [alone] => alone.write(device),
            // A kernel that does not know such packets gets them one by one.
            several => self.write_together(&device).or_else(|error| match error.kind() {
                io::ErrorKind::InvalidInput => several.iter().try_for_each(|run| run.write(&device)),
                _ => Err(error),
            }),
        });
        self.runs.drain(..).for_each(reclaim);
        written
    }

    fn write_together(&self, device: impl AsFd) -> io::Result<()> {
        let head = self.head();
        let mut parts = [IoSlice::new(&[]); LONGEST_TRAIN + 1];
        parts[0] = IoSlice::new(&head);
        for (part, run) in parts[1..].iter_mut().zip(&self.runs) {
            *part = IoSlice::new(&run.frame.bytes[DATA..run.frame.len]);
        }
        rustix::io::writev(device, &parts[..=self.runs.len()])?;
        Ok(())
    }

    /// The headers of the datagrams as one packet, with the virtio header that says how it is to be cut.
    fn head(&self) -> [u8; DATA] {
        let mut head = [0; DATA];
        let Some(first) = self.runs.first() else { return head };
        head.copy_from_slice(&first.frame.bytes[..DATA]);
        let udp = (UDP_BYTES + self.data) as u16;
        let before = word(&head, IP + IP_BYTES + 4);
        head[1] = GSO_UDP;
        head[2..4].copy_from_slice(&((DATA - VNET_BYTES) as u16).to_ne_bytes());
        head[4..6].copy_from_slice(&((first.frame.len - DATA) as u16).to_ne_bytes());
        head[IP + 2..IP + 4].copy_from_slice(&(IP_BYTES as u16 + udp).to_be_bytes());
        head[IP + 10..IP + 12].fill(0);
        let check = !fold(sum(&head[IP..IP + IP_BYTES]));
        head[IP + 10..IP + 12].copy_from_slice(&check.to_be_bytes());
        head[IP + IP_BYTES + 4..IP + IP_BYTES + 6].copy_from_slice(&udp.to_be_bytes());
        // What is there is the sum of the pseudo-header, which the length is part of.
        let open = u64::from(word(&head, DATA - 2)) + u64::from(!before) + u64::from(udp);
        head[DATA - 2..].copy_from_slice(&fold(open).to_be_bytes());
        head
    }
}

/// Bytes of data of a whole UDP datagram over IPv4 without options whose checksum is open; none of anything else.
fn data_of(frame: &Frame) -> Option<usize> {
    let bytes = &frame.bytes[..frame.len];
    let native = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    let is_open = frame.pieces == 1
        && bytes.len() > DATA
        && bytes[0] == NEEDS_CSUM
        && (native(6), native(8)) == (ETHER_BYTES + IP_BYTES, 6);
    let is_udp = is_open
        && word(bytes, VNET_BYTES + 12) == 0x0800
        && bytes[IP] == 0x45
        && word(bytes, IP + 6) & 0x3fff == 0
        && bytes[IP + 9] == 17;
    let data = bytes.len().checked_sub(DATA)?;
    let is_whole = is_udp
        && usize::from(word(bytes, IP + 2)) == IP_BYTES + UDP_BYTES + data
        && usize::from(word(bytes, IP + IP_BYTES + 4)) == UDP_BYTES + data;
    is_whole.then_some(data)
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST;
    use super::*;

    /// A datagram as the kernel hands it out, its checksum open.
    fn datagram(id: u16, port: u8, data: &[u8]) -> Piece {
        let udp = (UDP_BYTES + data.len()) as u16;
        let mut bytes = vec![NEEDS_CSUM, 0, 42, 0, 0, 0];
        bytes.extend(34u16.to_ne_bytes().into_iter().chain(6u16.to_ne_bytes()));
        bytes.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
        let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        ip[2..4].copy_from_slice(&(20 + udp).to_be_bytes());
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        let pseudo = fold(sum(&ip[12..20]) + 17 + u64::from(udp));
        bytes.extend(ip);
        bytes.extend([0, port, 0, 7]);
        bytes.extend(udp.to_be_bytes().into_iter().chain(pseudo.to_be_bytes()));
        bytes.extend(data);
        let (len, mut buffer) = (bytes.len(), bytes.into_boxed_slice());
        Frame::new(&mut buffer, len, || vec![0; LONGEST].into()).unwrap().pieces().next().unwrap()
    }

    #[test]
    fn datagrams_of_a_flow_become_one_packet_whose_open_checksum_is_that_of_its_length() {
        let mut train = Train::default();
        for (id, data) in [[1u8; 100], [2; 100]].iter().enumerate() {
            assert!(train.couple(datagram(7 + id as u16, 5, data), false).is_ok());
        }
        assert!(train.couple(datagram(9, 5, &[3; 40]), false).is_ok(), "a shorter one ends it");
        assert!(train.couple(datagram(10, 5, &[4; 40]), false).is_err());
        let head = train.head();
        assert_eq!((head[1], word(&head, IP + 2), word(&head, DATA - 4)), (GSO_UDP, 268, 248));
        assert_eq!(u16::from_ne_bytes([head[4], head[5]]), 100);
        assert_eq!(fold(sum(&head[IP..IP + IP_BYTES])), 0xffff);
        assert_eq!(word(&head, DATA - 2), fold(sum(&head[IP + 12..IP + 20]) + 17 + 248));
    }

    #[test]
    fn what_differs_travels_alone() {
        let first = || {
            let mut train = Train::default();
            assert!(train.couple(datagram(7, 5, &[0; 100]), false).is_ok());
            train
        };
        assert!(first().couple(datagram(8, 6, &[0; 100]), false).is_err(), "another flow");
        assert!(first().couple(datagram(8, 5, &[0; 101]), false).is_err(), "a longer one");
        assert!(first().couple(datagram(9, 5, &[0; 100]), false).is_err(), "one is missing");
        assert!(first().couple(datagram(8, 5, &[0; 100]), true).is_err(), "a mark is a datagram's own");
        assert!(first().couple(datagram(7, 5, &[0; 100]), false).is_ok(), "nobody counts what is not cut");
        let mut marked = Train::default();
        assert!(marked.couple(datagram(7, 5, &[0; 100]), true).is_ok());
        assert!(marked.couple(datagram(8, 5, &[0; 100]), false).is_err());
        let mut many = first();
        let taken = (1..100).take_while(|i| many.couple(datagram(7 + i, 5, &[0; 100]), false).is_ok());
        assert_eq!(taken.count(), LONGEST_TRAIN - 1);
        let mut long = first();
        long.runs.clear();
        let taken = (0..100).take_while(|i| long.couple(datagram(*i, 5, &[0; 1472]), false).is_ok());
        assert_eq!(taken.count(), 44, "a packet is no longer than 64 KiB");
    }
}
