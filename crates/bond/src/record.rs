//! Records: packets read from the device, from the queue until the last of their bytes is acknowledged.

use crate::pool::{Buf, CLASS_BYTES, Pool};
use crate::time::Time;
use crate::vnet::Vnet;

/// Index of "no record".
pub const NIL: u32 = u32::MAX;

/// Flow identifiers with this bit set belong to the urgent channel: unordered, never held.
pub const URGENT: u16 = 0x8000;

/// A record that has no place in its flow yet: see [`crate::queue`].
pub const UNNUMBERED: u32 = u32::MAX;

/// Longest record: its length travels in 16 bits, and an IP packet is no longer.
const LARGEST: usize = u16::MAX as usize;

/// A peer's packets may take so many times what is left of the memory (dynamic thresholds, Choudhury and Hahne 1998, α = 7):
/// alone seven eighths, with another seven fifteenths, and there is always something left for one that has little.
const SHARE: u32 = 7;

/// Whose packets they are: all peers of an engine share its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner(u32);

/// What an owner's records take, buffers by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    records: usize,
    buffers: [u32; CLASS_BYTES.len()],
}

/// One device packet (often a super-packet) and how far it has come.
#[derive(Debug)]
pub struct Record {
    /// Its bytes; `None` once they are of no more use (dropped, or delivered elsewhere).
    pub buf: Option<Buf>,
    /// Bytes of the packet.
    pub len: u32,
    /// Its offload header.
    pub vnet: Vnet,
    /// Whose it is.
    pub owner: Owner,
    /// Its flow's channel.
    pub flow: u16,
    /// Its place in the flow, modulo 2^24; [`UNNUMBERED`] until it or one behind it is sent.
    pub seq: u32,
    /// Bytes sent for the first time so far.
    pub sent: u32,
    /// Chunks of it in flight or waiting to be sent again.
    pub refs: u32,
    /// Everything before it in its flow was sent at least once.
    pub at_head: bool,
    /// Still linked in a queue.
    pub queued: bool,
    /// When it came from the device.
    pub queued_at: Time,
    /// When its first byte was first sent.
    pub first_sent: Time,
    /// Neighbours in the flow's queue.
    pub prev: u32,
    /// See `prev`.
    pub next: u32,
}

impl Record {
    /// The packet was given up: only its number is still to be told to the peer.
    pub fn is_void(&self) -> bool {
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
pub enum Packet<'a> {
    /// It lies with the caller, and is copied.
    Borrowed(&'a [u8]),
    /// It lies in the buffer of [`Store::lend`], so many bytes of it. A large one stays there.
    Lent(usize),
}

impl Packet<'_> {
    fn len(self) -> usize {
        match self {
            Packet::Borrowed(bytes) => bytes.len(),
            Packet::Lent(len) => len,
        }
    }
}

/// All records of an engine and the memory of their packets.
#[derive(Debug)]
pub struct Store {
    /// Packet memory, shared with the receiving side.
    pub pool: Pool,
    slots: Vec<Record>,
    free: Vec<u32>,
    limit: usize,
    lent: Option<Buf>,
    /// By owner.
    held: Vec<Held>,
    /// Owners that are gone.
    gone: Vec<Owner>,
}

impl Store {
    /// A store of at most `records` records over `pool`.
    pub fn new(pool: Pool, records: usize) -> Self {
        let held = vec![Held::default()];
        Store {
            pool,
            slots: Vec::new(),
            free: Vec::new(),
            limit: records,
            lent: None,
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
        let records = self.limit - self.in_use();
        let buffers = self.pool.left_for(len);
        held.records < SHARE as usize * records
            && buffers.is_some_and(|(class, left)| held.buffers[class] < SHARE.saturating_mul(left))
    }

    /// Whether giving up record `i` would make room for a packet of `len` bytes.
    pub fn is_in_the_way(&self, i: u32, len: usize) -> bool {
        let (needed, held) = (self.pool.left_for(len), self.get(i).buf);
        needed.is_none_or(|(class, _)| held.is_some_and(|b| self.pool.class_of(b) == class))
    }

    /// Room of 64 KiB for the next packet, so that a super-packet need not be copied; `None` when there is none.
    pub fn lend(&mut self) -> Option<&mut [u8]> {
        let largest = CLASS_BYTES[CLASS_BYTES.len() - 1];
        let buf = self.lent.take().or_else(|| self.pool.alloc(largest))?;
        self.lent = Some(buf);
        Some(self.pool.bytes_mut(buf))
    }

    /// The bytes of a packet that is not in the store yet; none if it is said to be lent and is not.
    pub fn bytes_of<'a>(&'a self, packet: Packet<'a>) -> &'a [u8] {
        match packet {
            Packet::Borrowed(bytes) => bytes,
            Packet::Lent(len) => self.lent.and_then(|b| self.pool.bytes(b).get(..len)).unwrap_or_default(),
        }
    }

    /// A buffer that holds the packet: a new one of its size, or the one that was lent if the packet would not fit a smaller kind.
    fn keep(&mut self, packet: Packet<'_>) -> Option<(Buf, usize)> {
        match packet {
            Packet::Borrowed(bytes) => {
                let buf = self.pool.alloc(bytes.len())?;
                self.pool.bytes_mut(buf)[..bytes.len()].copy_from_slice(bytes);
                Some((buf, bytes.len()))
            }
            Packet::Lent(len) => {
                if len <= CLASS_BYTES[1]
                    && let Some(buf) = self.pool.alloc(len)
                {
                    let lent = self.lent?;
                    if self.pool.are_unlike(lent, buf) {
                        self.pool.copy(lent, buf, len);
                        return Some((buf, len));
                    }
                    // The smaller kinds are used up; then there is nothing to save.
                    self.pool.free(buf);
                }
                self.lent.take().map(|buf| (buf, len))
            }
        }
    }

    /// Takes `packet` in. The record is linked nowhere yet.
    pub fn insert(&mut self, owner: Owner, packet: Packet<'_>, vnet: Vnet, now: Time) -> Result<u32, Full> {
        if packet.len() > LARGEST || self.free.is_empty() && self.slots.len() >= self.limit {
            return Err(Full);
        }
        let (buf, len) = self.keep(packet).ok_or(Full)?;
        let held = &mut self.held[owner.0 as usize];
        held.records += 1;
        held.buffers[self.pool.class_of(buf)] += 1;
        let record = Record {
            owner,
            buf: Some(buf),
            len: len as u32,
            vnet,
            flow: 0,
            seq: UNNUMBERED,
            sent: 0,
            refs: 0,
            at_head: false,
            queued: false,
            queued_at: now,
            first_sent: Time::NEVER,
            prev: NIL,
            next: NIL,
        };
        Ok(match self.free.pop() {
            Some(i) => {
                self.slots[i as usize] = record;
                i
            }
            None => {
                self.slots.push(record);
                self.slots.len() as u32 - 1
            }
        })
    }

    /// The record `i`.
    pub fn get(&self, i: u32) -> &Record {
        &self.slots[i as usize]
    }

    /// The record `i`, for change.
    pub fn get_mut(&mut self, i: u32) -> &mut Record {
        &mut self.slots[i as usize]
    }

    /// The bytes of record `i`; empty if it is void.
    pub fn packet(&self, i: u32) -> &[u8] {
        let r = self.get(i);
        r.buf.map_or(&[], |b| &self.pool.bytes(b)[..r.len as usize])
    }

    /// The bytes of record `i`, for change.
    pub fn packet_mut(&mut self, i: u32) -> &mut [u8] {
        let (buf, len) = (self.slots[i as usize].buf, self.slots[i as usize].len);
        buf.map_or(&mut [], |b| &mut self.pool.bytes_mut(b)[..len as usize])
    }

    /// Gives up the packet of record `i`; what remains to be sent is its number.
    pub fn void(&mut self, i: u32) {
        let r = &mut self.slots[i as usize];
        if let Some(b) = r.buf.take() {
            self.held[r.owner.0 as usize].buffers[self.pool.class_of(b)] -= 1;
            self.pool.free(b);
        }
        (r.len, r.sent) = (0, 0);
    }

    /// One chunk fewer refers to record `i`; frees it when it was the last and nothing is left to send.
    pub fn release(&mut self, i: u32) {
        let r = &mut self.slots[i as usize];
        debug_assert!(r.refs > 0);
        r.refs -= 1;
        self.reap(i);
    }

    /// Frees record `i` if nothing refers to it.
    pub fn reap(&mut self, i: u32) {
        let r = &mut self.slots[i as usize];
        if r.refs == 0 && !r.queued {
            let held = &mut self.held[r.owner.0 as usize];
            held.records -= 1;
            if let Some(b) = r.buf.take() {
                held.buffers[self.pool.class_of(b)] -= 1;
                self.pool.free(b);
            }
            self.free.push(i);
        }
    }

    /// Records in use.
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
            store.lend().unwrap()[..len].fill(fill);
            let record =
                store.insert(Owner::default(), Packet::Lent(len), Vnet::default(), Time::ZERO).unwrap();
            (record, store.lent.is_some(), store.pool.used_bytes())
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
        assert!(store.bytes_of(Packet::Lent(10)).is_empty());
        assert_eq!(store.insert(Owner::default(), Packet::Lent(10), Vnet::default(), Time::ZERO), Err(Full));
    }

    #[test]
    fn without_small_buffers_the_lent_one_is_kept() {
        let mut store = Store::new(Pool::new(1 << 20), 1000);
        store.lend().unwrap()[..100].fill(7);
        while store.pool.alloc(100).is_some() {}
        let record = store.insert(Owner::default(), Packet::Lent(100), Vnet::default(), Time::ZERO).unwrap();
        assert_eq!(store.packet(record), [7; 100]);
        assert!(store.lend().is_none());
    }
}
