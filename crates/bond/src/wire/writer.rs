//! Writes frames into a datagram under construction.

use super::frame::{self, AckFrame, AirFrame, PathStatus, QueueFrame};
use super::{HEADER, Header, TAG, TIMESTAMP, Timestamp};
use crate::vnet::Vnet;

/// A datagram under construction, in a slice as long as the datagram may become.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
    /// Bytes at the end that are counted and not written.
    left_out: usize,
}

/// Data of at least this length that ends a datagram is left out: sealing copies it.
const LEAVE_OUT: usize = 256;
/// A smaller beginning of a packet is not worth its header.
const MIN_CHUNK: usize = 32;

impl<'a> Writer<'a> {
    /// Starts a datagram; `out` is all the room it may use, tag included.
    pub fn new(out: &'a mut [u8], header: Header, timestamp: Timestamp) -> Self {
        out[..HEADER].copy_from_slice(&header.encode());
        out[HEADER..HEADER + TIMESTAMP].copy_from_slice(&timestamp.to_bytes());
        Writer { out, at: HEADER + TIMESTAMP, left_out: 0 }
    }

    /// Bytes still free for frames.
    pub fn room(&self) -> usize {
        self.out.len() - TAG - self.at
    }

    /// No frame was written yet.
    pub fn is_empty(&self) -> bool {
        self.at == HEADER + TIMESTAMP
    }

    /// Length of header, timestamp and frames so far, without the tag.
    pub fn len(&self) -> usize {
        self.at
    }

    /// Bytes of the last fragment's data, which are in [`Writer::len`] and were not written; whoever seals the datagram has them from the packet. 0 if all
    /// is written.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    fn put(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn put_all<const N: usize>(&mut self, parts: [&[u8]; N]) -> bool {
        if parts.iter().map(|p| p.len()).sum::<usize>() > self.room() {
            return false;
        }
        parts.into_iter().for_each(|p| self.put(p));
        true
    }

    /// Each of these writes one frame and says whether there was room.
    pub fn ping(&mut self) -> bool {
        self.put_all([&[frame::PING]])
    }

    /// Fills with padding up to `len` bytes of datagram, tag included.
    pub fn pad_to(&mut self, len: usize) {
        let end = len.min(self.out.len()) - TAG;
        if end > self.at {
            self.out[self.at..end].fill(frame::PADDING);
            self.at = end;
        }
    }

    /// Challenges the peer's address.
    pub fn challenge(&mut self, token: u64) -> bool {
        self.put_all([&[frame::CHALLENGE], &token.to_be_bytes()])
    }

    /// Answers a challenge.
    pub fn response(&mut self, token: u64) -> bool {
        self.put_all([&[frame::RESPONSE], &token.to_be_bytes()])
    }

    /// Announces a path's class.
    pub fn status(&mut self, s: &PathStatus) -> bool {
        self.put_all([&[frame::STATUS, s.path], &s.seq.to_be_bytes(), &[s.state], &s.mtu.to_be_bytes()])
    }

    /// Tells of the queues towards clients.
    pub fn queue(&mut self, q: &QueueFrame) -> bool {
        let words = [q.seq, q.shared, q.every_ms, q.packets].map(u16::to_be_bytes);
        self.put_all([&[frame::QUEUE], words.as_flattened(), &[q.verdict]])
    }

    /// Tells of the air under the paths.
    pub fn air(&mut self, a: &AirFrame) -> bool {
        if 4 + 4 * a.paths.len() > self.room() {
            return false;
        }
        self.put(&[frame::AIR]);
        self.put(&a.seq.to_be_bytes());
        self.put(&[a.paths.len() as u8]);
        for entry in &a.paths {
            self.put(&[entry.path, entry.channel]);
            self.put(&entry.packet_time.to_be_bytes());
        }
        true
    }

    /// Ends the session.
    pub fn close(&mut self, code: u8) -> bool {
        self.put_all([&[frame::CLOSE, code]])
    }

    /// Says that a packet will not come.
    pub fn skip(&mut self, flow: u16, seq: u32, no_gap_before: bool) -> bool {
        let v = seq | u32::from(no_gap_before) << 31;
        self.put_all([&[frame::SKIP], &flow.to_be_bytes(), &v.to_be_bytes()])
    }

    /// Acknowledges; leaves out the oldest ranges if room is short.
    pub fn ack(&mut self, a: &AckFrame) -> bool {
        const FIXED: usize = 1 + 1 + 4 + 4 + 3 + 2 + 1;
        let Some(fit) = self.room().checked_sub(FIXED).map(|r| r / 4) else { return false };
        let count = a.ranges.len().min(fit);
        if count == 0 {
            return false;
        }
        let delay = a.delay_us.min(0xff_ffff).to_be_bytes();
        self.put(&[frame::ACK, a.path]);
        self.put(&a.largest.to_be_bytes());
        self.put(&a.received_us.to_be_bytes());
        self.put(&delay[1..]);
        self.put(&a.ce_total.to_be_bytes());
        self.put(&[count as u8]);
        for (gap, len) in &a.ranges[..count] {
            self.put(&gap.to_be_bytes());
            self.put(&len.to_be_bytes());
        }
        true
    }

    /// How many of the `left` bytes from `offset` on of a packet of `total` bytes go into this datagram; 0 if it is not worth a frame.
    /// A frame either leaves room for its length field or ends exactly where the datagram does.
    pub fn fragment_fit(&self, offset: u32, left: u32, total: u32, vnet: bool) -> u32 {
        let vnet = if vnet && offset == 0 { Vnet::LEN } else { 0 };
        let part = if offset == 0 { 10 + vnet } else { 8 };
        // What is sent again may begin a packet without being all of it.
        let end = if left == total { 6 + vnet } else { part };
        let (room, left) = (self.room(), left as usize);
        if end + left + 2 <= room || end + left == room {
            return left as u32;
        }
        let fit = room.saturating_sub(part).min(left - 1);
        if fit < MIN_CHUNK { 0 } else { fit as u32 }
    }

    /// Writes a part of a packet; `total` is the packet's length. The caller kept to [`Writer::fragment_fit`].
    pub fn fragment(
        &mut self,
        flow: u16,
        seq: u32,
        offset: u32,
        total: u32,
        vnet: &Vnet,
        no_gap_before: bool,
        data: &[u8],
    ) {
        self.chunk_header(flow, seq, offset, total, vnet, no_gap_before, data.len());
        self.put(data);
    }

    /// As [`Writer::fragment`], but long data that ends the datagram may be left out: see [`Writer::left_out`].
    pub fn fragment_to_seal(
        &mut self,
        flow: u16,
        seq: u32,
        offset: u32,
        total: u32,
        vnet: &Vnet,
        no_gap_before: bool,
        data: &[u8],
    ) {
        self.chunk_header(flow, seq, offset, total, vnet, no_gap_before, data.len());
        if data.len() == self.room() && data.len() >= LEAVE_OUT {
            self.at += data.len();
            self.left_out = data.len();
        } else {
            self.put(data);
        }
    }

    fn chunk_header(
        &mut self,
        flow: u16,
        seq: u32,
        offset: u32,
        total: u32,
        vnet: &Vnet,
        no_gap_before: bool,
        len: usize,
    ) {
        let whole = len as u32 == total;
        let has_vnet = offset == 0 && !vnet.is_plain();
        let head = 1 + 2 + 3 + if whole { 0 } else { 2 } + if offset == 0 && !whole { 2 } else { 0 };
        let head = head + if has_vnet { Vnet::LEN } else { 0 };
        let rest = head + len == self.room();
        let kind = frame::DATA
            | if rest { frame::D_REST } else { 0 }
            | if whole { frame::D_WHOLE } else { 0 }
            | if has_vnet { frame::D_VNET } else { 0 }
            | if no_gap_before { frame::D_HEAD } else { 0 };
        self.put(&[kind]);
        self.put(&flow.to_be_bytes());
        self.put(&seq.to_be_bytes()[1..]);
        if !whole {
            self.put(&(offset as u16).to_be_bytes());
            if offset == 0 {
                self.put(&(total as u16).to_be_bytes());
            }
        }
        if has_vnet {
            self.put(&vnet.to_wire());
        }
        if !rest {
            self.put(&(len as u16).to_be_bytes());
        }
    }
}
