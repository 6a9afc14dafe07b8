//! Ethernet frames as the kernel hands them out and takes them: up to 64 KiB of TCP or UDP in one, with a header that says how to cut it.
//!
//! The models see [`Piece`]s, each an IP packet that fits the MTU; no byte is copied to make one. Pieces that arrive together are written together,
//! as a receiver with GRO would see them ([`Run`]). Checksums that the kernel left open stay open: nothing on the way changes a byte that they cover,
//! except where [`Run::write`] says so.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;

use ropewalk_air::wifi::Mac;

use crate::frame::{self, Description};

mod train;

pub(crate) use train::Train;

/// `struct virtio_net_hdr` of linux/virtio_net.h, in the machine's byte order.
pub(crate) const VNET_BYTES: usize = 10;
/// Ethernet's header.
pub(crate) const ETHER_BYTES: usize = 14;
/// The longest that a device hands out.
pub(crate) const LONGEST: usize = VNET_BYTES + ETHER_BYTES + 65_535;
/// Packets up to this length get a buffer of their own length.
const SMALL: usize = 2048;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_*`.
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP: u8 = 5;
/// `VIRTIO_NET_HDR_GSO_ECN`: the first segment has the CWR bit.
const GSO_ECN: u8 = 0x80;

/// A frame with what the models ask about it.
#[derive(Debug)]
pub(crate) struct Frame {
    bytes: Box<[u8]>,
    len: usize,
    /// Where the headers of the inner transport end, if it is to be cut; else where the frame ends.
    body: usize,
    /// Where the transport header begins.
    transport: usize,
    /// Bytes of payload in each piece; all in one if it is not to be cut.
    segment: usize,
    pieces: u32,
    description: Description,
}

/// A frame's part that travels as one packet. Clones are the same packet.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    frame: Arc<Frame>,
    index: u32,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

impl Frame {
    /// Takes what was read from a device. `buffer` is kept if it is long, else copied; none if it is no frame.
    pub(crate) fn new(
        buffer: &mut Box<[u8]>,
        len: usize,
        fresh: impl FnOnce() -> Box<[u8]>,
    ) -> Option<Frame> {
        if len < VNET_BYTES + ETHER_BYTES {
            return None;
        }
        let bytes = match len {
            ..=SMALL => buffer[..len].into(),
            _ => std::mem::replace(buffer, fresh()),
        };
        let description = match word(&bytes[VNET_BYTES..], 12) {
            0x0800 | 0x86dd => frame::describe(&bytes[VNET_BYTES + ETHER_BYTES..len]),
            _ => Description::default(),
        };
        let mut frame = Frame { bytes, len, body: len, transport: len, segment: 0, pieces: 1, description };
        frame.cut();
        Some(frame)
    }

    /// A frame that nobody sent, such as one that a driver makes up.
    pub(crate) fn made(ether: &[u8]) -> Frame {
        let mut bytes = vec![0; VNET_BYTES];
        bytes.extend_from_slice(ether);
        let len = bytes.len();
        let description = Description::default();
        Frame { bytes: bytes.into(), len, body: len, transport: len, segment: 0, pieces: 1, description }
    }

    /// Finds out how it is to be cut, from its virtio header.
    fn cut(&mut self) {
        let native = |at: usize| usize::from(u16::from_ne_bytes([self.bytes[at], self.bytes[at + 1]]));
        let (kind, segment, transport) = (self.bytes[1] & !GSO_ECN, native(4), VNET_BYTES + native(6));
        let header = match kind {
            GSO_TCPV4 | GSO_TCPV6 if transport + 20 <= self.len => {
                usize::from(self.bytes[transport + 12] >> 4) * 4
            }
            GSO_UDP if transport + 8 <= self.len => 8,
            _ => return,
        };
        let body = transport + header;
        if segment == 0 || body >= self.len {
            return;
        }
        (self.body, self.transport, self.segment) = (body, transport, segment);
        self.pieces = (self.len - body).div_ceil(segment) as u32;
    }

    /// Its pieces, first to last.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Piece> {
        let frame = Arc::new(self);
        (0..frame.pieces).map(move |index| Piece { frame: Arc::clone(&frame), index })
    }

    fn ether(&self) -> &[u8] {
        &self.bytes[VNET_BYTES..self.len]
    }

    fn mac(&self, at: usize) -> Mac {
        let octets = &self.ether()[at..at + 6];
        Mac([octets[0], octets[1], octets[2], octets[3], octets[4], octets[5]])
    }

    /// The payload of pieces `from` to `to`.
    fn payload(&self, from: u32, to: u32) -> &[u8] {
        let at = |piece: u32| (self.body + piece as usize * self.segment).min(self.len);
        let end = if to == self.pieces { self.len } else { at(to) };
        &self.bytes[at(from)..end]
    }
}

impl Piece {
    /// Bytes from its IP header on.
    pub(crate) fn len(&self) -> u32 {
        let headers = self.frame.body - VNET_BYTES - ETHER_BYTES;
        (headers + self.frame.payload(self.index, self.index + 1).len()) as u32
    }

    /// What the models ask about it.
    pub(crate) fn description(&self) -> Description {
        self.frame.description
    }

    /// Who it is for.
    pub(crate) fn to(&self) -> Mac {
        self.frame.mac(0)
    }

    /// Who sent it.
    pub(crate) fn from(&self) -> Mac {
        self.frame.mac(6)
    }

    /// Its bytes from the IP header on, with finished checksums, as a capture shows them.
    pub(crate) fn ip_bytes(&self, out: &mut Vec<u8>) {
        let run = Run { frame: Arc::clone(&self.frame), from: self.index, to: self.index + 1, marked: false };
        let mut head = [0; HEAD];
        let (len, vnet) = run.head(&mut head);
        let start = out.len();
        out.extend_from_slice(&head[VNET_BYTES + ETHER_BYTES..len]);
        out.extend_from_slice(run.rest());
        if vnet[0] & NEEDS_CSUM != 0 {
            let at = usize::from(u16::from_ne_bytes([vnet[6], vnet[7]])).saturating_sub(ETHER_BYTES);
            finish(&mut out[start..], at, usize::from(u16::from_ne_bytes([vnet[8], vnet[9]])));
        }
    }
}

/// Completes a checksum that holds the pseudo-header's sum (RFC 1071).
fn finish(packet: &mut [u8], start: usize, offset: usize) {
    if start + offset + 2 > packet.len() {
        return;
    }
    let sum = !fold(sum(&packet[start..]));
    packet[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
}

fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let whole: u64 = pairs.iter().map(|p| u64::from(u16::from_be_bytes(*p))).sum();
    whole + rest.first().map_or(0, |last| u64::from(*last) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Room for the longest headers that are written anew: virtio, Ethernet, IPv4 with options, TCP with options.
const HEAD: usize = 192;

/// Pieces of one frame that arrived together, in order.
#[derive(Debug)]
pub(crate) struct Run {
    frame: Arc<Frame>,
    from: u32,
    to: u32,
    marked: bool,
}

impl Run {
    /// A piece alone. `marked`: Congestion Experienced is to be set (RFC 3168).
    pub(crate) fn new(piece: Piece, marked: bool) -> Run {
        Run { from: piece.index, to: piece.index + 1, frame: piece.frame, marked }
    }

    /// Takes the piece in if it is the next one; gives it back otherwise. A mark is a piece's own: marked and unmarked ones are not joined.
    pub(crate) fn join(&mut self, piece: Piece, marked: bool) -> Result<(), Piece> {
        let next = Arc::ptr_eq(&self.frame, &piece.frame) && piece.index == self.to && marked == self.marked;
        if !next {
            return Err(piece);
        }
        self.to += 1;
        Ok(())
    }

    /// Writes it to a device.
    pub(crate) fn write(&self, device: impl AsFd) -> io::Result<()> {
        let whole = self.from == 0 && self.to == self.frame.pieces && !self.marked;
        if whole {
            rustix::io::write(device, &self.frame.bytes[..self.frame.len])?;
            return Ok(());
        }
        let mut head = [0; HEAD];
        let (len, vnet) = self.head(&mut head);
        head[..VNET_BYTES].copy_from_slice(&vnet);
        rustix::io::writev(device, &[IoSlice::new(&head[..len]), IoSlice::new(self.rest())])?;
        Ok(())
    }

    /// The frame's memory, if nobody else holds it, for the next one.
    pub(crate) fn reclaim(self) -> Option<Box<[u8]>> {
        Arc::into_inner(self.frame).map(|f| f.bytes).filter(|b| b.len() == LONGEST)
    }

    /// Where the headers end that [`Run::head`] writes.
    fn header_end(&self) -> usize {
        self.frame.body.min(HEAD)
    }

    fn rest(&self) -> &[u8] {
        if self.frame.pieces == 1 {
            return &self.frame.bytes[self.header_end()..self.frame.len];
        }
        self.frame.payload(self.from, self.to)
    }

    /// The headers as they are in this run: lengths, sequence number, flags, identification, IPv4's checksum. Gives their length, virtio header
    /// included, and that header.
    fn head(&self, head: &mut [u8; HEAD]) -> (usize, [u8; VNET_BYTES]) {
        let f = &*self.frame;
        let end = self.header_end();
        head[..end].copy_from_slice(&f.bytes[..end]);
        let mut vnet = [0; VNET_BYTES];
        vnet.copy_from_slice(&f.bytes[..VNET_BYTES]);
        if f.pieces > 1 {
            self.cut_transport(&mut head[..end]);
            if self.to - self.from == 1 {
                vnet[1..6].fill(0);
            } else if self.from > 0 {
                vnet[1] &= !GSO_ECN;
            }
        }
        self.set_ip(&mut head[..end]);
        (end, vnet)
    }

    fn cut_transport(&self, head: &mut [u8]) {
        let f = &*self.frame;
        let at = f.transport;
        let now = (f.body - at + f.payload(self.from, self.to).len()) as u16;
        let before = (f.len - at) as u16;
        let checksum = match f.bytes[1] & !GSO_ECN {
            GSO_UDP => {
                head[at + 4..at + 6].copy_from_slice(&now.to_be_bytes());
                at + 6
            }
            _ => {
                let seq = u32::from_be_bytes([head[at + 4], head[at + 5], head[at + 6], head[at + 7]]);
                let seq = seq.wrapping_add(self.from * f.segment as u32);
                head[at + 4..at + 8].copy_from_slice(&seq.to_be_bytes());
                // FIN and PSH belong to the last segment, CWR to the first (RFC 3168, section 6.1.2).
                if self.to < f.pieces {
                    head[at + 13] &= !0x09;
                }
                if self.from > 0 {
                    head[at + 13] &= !0x80;
                }
                at + 16
            }
        };
        // What is there is the sum of the pseudo-header, which the length is part of.
        let open = u64::from(word(head, checksum)) + u64::from(!before) + u64::from(now);
        head[checksum..checksum + 2].copy_from_slice(&fold(open).to_be_bytes());
    }

    fn set_ip(&self, head: &mut [u8]) {
        let f = &*self.frame;
        let kind = word(head, VNET_BYTES + 12);
        let Some(ip) = head.get_mut(VNET_BYTES + ETHER_BYTES..) else { return };
        let body = if f.pieces > 1 { f.payload(self.from, self.to).len() } else { f.len - f.body };
        let len = f.body - VNET_BYTES - ETHER_BYTES + body;
        match kind {
            0x0800 if ip.len() >= 20 => {
                ip[1] |= if self.marked { 3 } else { 0 };
                ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
                let id = word(ip, 4).wrapping_add(self.from as u16);
                ip[4..6].copy_from_slice(&id.to_be_bytes());
                ip[10..12].fill(0);
                let end = (usize::from(ip[0] & 15) * 4).clamp(20, ip.len());
                let sum = !fold(sum(&ip[..end]));
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            0x86dd if ip.len() >= 40 => {
                ip[1] |= if self.marked { 0x30 } else { 0 };
                ip[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "ether_tests.rs"]
mod tests;
