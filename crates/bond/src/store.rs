//! Packets: read from the device, from the queue until the last of their bytes is acknowledged.

use crate::pool::{Buf, CLASS_BYTES, Pool};
use crate::vnet::Vnet;
use ropewalk_time::Time;

/// Index of "no packet".
pub const NIL: u32 = u32::MAX;

/// Flow identifiers with this bit set belong to the low-latency channel: unordered, never held.
pub const LOW_LATENCY: u16 = 0x8000;

/// A packet that has no place in its flow yet: see `crate::queue`.
pub const UNNUMBERED: u32 = u32::MAX;

/// Longest packet: its length travels in 16 bits, and an IP packet is no longer.
const LARGEST: usize = u16::MAX as usize;

/// A peer's packets may take so many times what is left of the memory (dynamic thresholds, Choudhury and Hahne 1998, α = 7):
/// alone seven eighths, with another seven fifteenths, and there is always something left for one that has little.
const SHARE: u32 = 7;

/// Whose packets they are: all peers of an engine share its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner(u32);

/// What an owner's packets take, buffers by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    packets: usize,
    buffers: [u32; CLASS_BYTES.len()],
}

/// One device packet (often a super-packet) and how far it has come.
#[derive(Debug)]
pub struct StoredPacket {
    /// Its bytes; `None` once they are of no more use (dropped, or delivered elsewhere).
    pub buf: Option<Buf>,
    /// Bytes of the packet.
    pub len: u32,
    /// Its offload header.
    pub vnet: Vnet,
    /// Whose it is.
    pub owner: Owner,
    /// Its flow's number.
    pub flow: u16,
    /// Its place in the flow, modulo 2^24; [`UNNUMBERED`] until it or one behind it is sent.
    pub seq: u32,
    /// Bytes sent for the first time so far.
    pub sent: u32,
    /// Fragments of it in flight or waiting to be sent again.
    pub refs: u32,
    /// Everything before it in its flow was sent at least once.
    pub no_gap_before: bool,
    /// Still linked in a queue.
    pub queued: bool,
    /// When it came from the device.
    pub queued_at: Time,
    /// When its first byte was first sent.
    pub first_sent: Time,
    /// When a part of it was last found lost.
    pub lost_at: Time,
    /// Neighbours in the flow's queue.
    pub prev: u32,
    /// See `prev`.
    pub next: u32,
}

impl StoredPacket {
    /// The packet was given up: only its number is still to be told to the peer.
    pub fn is_abandoned(&self) -> bool {
        self.buf.is_none()
    }

    /// Bytes that were never sent.
    pub fn unsent(&self) -> u32 {
        self.len - self.sent
    }
}

/// Why a packet found no place: too many, or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A packet of the device on its way into a [`Store`].
#[derive(Clone, Copy, Debug)]
pub enum DevicePacket<'a> {
    /// It lies with the caller, and is copied.
    Borrowed(&'a [u8]),
    /// It lies in the buffer of [`Store::device_buffer`], so many bytes of it. A large one stays
    /// there.
    InBuffer(usize),
}

impl DevicePacket<'_> {
    fn len(self) -> usize {
        match self {
            DevicePacket::Borrowed(bytes) => bytes.len(),
            DevicePacket::InBuffer(len) => len,
        }
    }
}

/// All packets of an engine and their memory.
#[derive(Debug)]
pub struct Store {
    /// Packet memory, shared with the receiving side.
    pub pool: Pool,
    slots: Vec<StoredPacket>,
    free: Vec<u32>,
    limit: usize,
    device_buffer: Option<Buf>,
    /// By owner.
    held: Vec<Held>,
    /// Owners that are gone.
    gone: Vec<Owner>,
}

impl Store {
    /// A store of at most `packets` packets over `pool`.
    pub fn new(pool: Pool, packets: usize) -> Self {
        let held = vec![Held::default()];
        Store {
            pool,
            slots: Vec::new(),
            free: Vec::new(),
            limit: packets,
            device_buffer: None,
            held,
            gone: Vec::new(),
        }
    }

    /// A new owner, who holds nothing.
    pub fn add_owner(&mut self) -> Owner {
        self.gone.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            Owner(self.held.len() as u32 - 1)
        })
    }

    /// The owner is gone, and has given everything back.
    pub fn remove_owner(&mut self, owner: Owner) {
        debug_assert_eq!(self.held[owner.0 as usize], Held::default());
        if owner != Owner::default() {
            self.gone.push(owner);
        }
    }

    /// Whether the owner's share of the memory has room for a packet of `len` bytes.
    pub fn has_share(&self, owner: Owner, len: usize) -> bool {
        let held = &self.held[owner.0 as usize];
        let packets = self.limit - self.in_use();
        let buffers = self.pool.left_for(len);
        held.packets < SHARE as usize * packets
            && buffers.is_some_and(|(class, left)| held.buffers[class] < SHARE.saturating_mul(left))
    }

    /// Whether giving up packet `i` would make room for a packet of `len` bytes.
    pub fn is_in_the_way(&self, i: u32, len: usize) -> bool {
        let (needed, held) = (self.pool.left_for(len), self.get(i).buf);
        needed.is_none_or(|(class, _)| held.is_some_and(|b| b.class() == class))
    }

    /// Room of 64 KiB for the next packet, so that a super-packet need not be copied; `None` when there is none.
    pub fn device_buffer(&mut self) -> Option<&mut [u8]> {
        let largest = CLASS_BYTES[CLASS_BYTES.len() - 1];
        let buf = self.device_buffer.take().or_else(|| self.pool.alloc(largest))?;
        self.device_buffer = Some(buf);
        Some(self.pool.bytes_mut(buf))
    }

    /// The bytes of a packet that is not in the store yet; none if it is said to lie in the device
    /// buffer and does not.
    pub fn bytes_of<'a>(&'a self, packet: DevicePacket<'a>) -> &'a [u8] {
        match packet {
            DevicePacket::Borrowed(bytes) => bytes,
            DevicePacket::InBuffer(len) => {
                self.device_buffer.and_then(|b| self.pool.bytes(b).get(..len)).unwrap_or_default()
            }
        }
    }

    /// A buffer that holds the packet: a new one of its size, or the device buffer itself if the
    /// packet would not fit a smaller kind.
    fn keep(&mut self, packet: DevicePacket<'_>) -> Option<(Buf, usize)> {
        match packet {
            DevicePacket::Borrowed(bytes) => {
                let buf = self.pool.alloc(bytes.len())?;
                self.pool.bytes_mut(buf)[..bytes.len()].copy_from_slice(bytes);
                Some((buf, bytes.len()))
            }
            DevicePacket::InBuffer(len) => {
                if len <= CLASS_BYTES[1]
                    && let Some(buf) = self.pool.alloc(len)
                {
                    let buffer = self.device_buffer?;
                    if self.pool.are_unlike(buffer, buf) {
                        self.pool.copy(buffer, buf, len);
                        return Some((buf, len));
                    }
                    // The smaller kinds are used up; then there is nothing to save.
                    self.pool.free(buf);
                }
                self.device_buffer.take().map(|buf| (buf, len))
            }
        }
    }

    /// Takes `packet` in; it is linked nowhere yet.
    pub fn insert(
        &mut self,
        owner: Owner,
        packet: DevicePacket<'_>,
        vnet: Vnet,
        now: Time,
    ) -> Result<u32, Full> {
        if packet.len() > LARGEST || self.free.is_empty() && self.slots.len() >= self.limit {
            return Err(Full);
        }
        let (buf, len) = self.keep(packet).ok_or(Full)?;
        let held = &mut self.held[owner.0 as usize];
        held.packets += 1;
        held.buffers[buf.class()] += 1;
        let packet = StoredPacket {
            owner,
            buf: Some(buf),
            len: len as u32,
            vnet,
            flow: 0,
            seq: UNNUMBERED,
            sent: 0,
            refs: 0,
            no_gap_before: false,
            queued: false,
            queued_at: now,
            first_sent: Time::NEVER,
            lost_at: Time::NEVER,
            prev: NIL,
            next: NIL,
        };
        Ok(match self.free.pop() {
            Some(i) => {
                self.slots[i as usize] = packet;
                i
            }
            None => {
                self.slots.push(packet);
                self.slots.len() as u32 - 1
            }
        })
    }

    /// The packet `i`.
    pub fn get(&self, i: u32) -> &StoredPacket {
        &self.slots[i as usize]
    }

    /// The packet `i`, for change.
    pub fn get_mut(&mut self, i: u32) -> &mut StoredPacket {
        &mut self.slots[i as usize]
    }

    /// The bytes of packet `i`; empty if it is abandoned.
    pub fn packet(&self, i: u32) -> &[u8] {
        let r = self.get(i);
        r.buf.map_or(&[], |b| &self.pool.bytes(b)[..r.len as usize])
    }

    /// The bytes of packet `i`, for change.
    pub fn packet_mut(&mut self, i: u32) -> &mut [u8] {
        let (buf, len) = (self.slots[i as usize].buf, self.slots[i as usize].len);
        buf.map_or(&mut [], |b| &mut self.pool.bytes_mut(b)[..len as usize])
    }

    /// Gives packet `i` up; what remains to be sent is its number.
    pub fn abandon(&mut self, i: u32) {
        let r = &mut self.slots[i as usize];
        if let Some(b) = r.buf.take() {
            self.held[r.owner.0 as usize].buffers[b.class()] -= 1;
            self.pool.free(b);
        }
        (r.len, r.sent) = (0, 0);
    }

    /// One fragment fewer refers to packet `i`; frees it when it was the last and nothing is left to send.
    pub fn release(&mut self, i: u32) {
        let r = &mut self.slots[i as usize];
        debug_assert!(r.refs > 0);
        r.refs -= 1;
        self.reap(i);
    }

    /// Frees packet `i` if nothing refers to it.
    pub fn reap(&mut self, i: u32) {
        let r = &mut self.slots[i as usize];
        if r.refs == 0 && !r.queued {
            let held = &mut self.held[r.owner.0 as usize];
            held.packets -= 1;
            if let Some(b) = r.buf.take() {
                held.buffers[b.class()] -= 1;
                self.pool.free(b);
            }
            self.free.push(i);
        }
    }

    /// Packets in use.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_buffer_stays_with_a_large_packet_only() {
        let mut store = Store::new(Pool::new(1 << 20), 8);
        let mut packet = |len: usize, fill: u8| {
            store.device_buffer().unwrap()[..len].fill(fill);
            let packet = store
                .insert(Owner::default(), DevicePacket::InBuffer(len), Vnet::default(), Time::ZERO)
                .unwrap();
            (packet, store.device_buffer.is_some(), store.pool.used_bytes())
        };
        let (small, kept, used) = packet(100, 1);
        assert!(kept && used == CLASS_BYTES[0] + CLASS_BYTES[2]);
        let (large, kept, used) = packet(60_000, 2);
        assert!(!kept && used == CLASS_BYTES[0] + CLASS_BYTES[2]);
        packet(60_000, 3);
        assert_eq!((store.packet(small), store.packet(large)), (&[1; 100][..], &[2; 60_000][..]));
    }

    #[test]
    fn a_packet_that_was_not_lent_is_empty() {
        let mut store = Store::new(Pool::new(1 << 20), 8);
        assert!(store.bytes_of(DevicePacket::InBuffer(10)).is_empty());
        assert_eq!(
            store.insert(Owner::default(), DevicePacket::InBuffer(10), Vnet::default(), Time::ZERO),
            Err(Full)
        );
    }

    #[test]
    fn without_small_buffers_the_lent_one_is_kept() {
        let mut store = Store::new(Pool::new(1 << 20), 1000);
        store.device_buffer().unwrap()[..100].fill(7);
        while store.pool.alloc(100).is_some() {}
        let packet =
            store.insert(Owner::default(), DevicePacket::InBuffer(100), Vnet::default(), Time::ZERO).unwrap();
        assert_eq!(store.packet(packet), [7; 100]);
        assert!(store.device_buffer().is_none());
    }
}
