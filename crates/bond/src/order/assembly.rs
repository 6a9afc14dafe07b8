//! One record put together from its chunks.

use crate::pool::{Buf, Pool};
use crate::time::Time;
use crate::vnet::Vnet;
use crate::wire::Chunk;
use arrayvec::ArrayVec;

/// Separate stretches of one record that may be there at once: alternate chunks of a 64 KiB record over paths of the least MTU.
const MAX_STRETCHES: usize = 32;

/// A record of which at least one chunk is there.
#[derive(Debug)]
pub(super) struct Assembly {
    buf: Buf,
    room: u32,
    total: Option<u32>,
    vnet: Vnet,
    /// When its first chunk came.
    pub since: Time,
    /// Stretches [from, to) that are there, in order, never touching.
    have: ArrayVec<(u32, u32), MAX_STRETCHES>,
}

/// What adding a chunk came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// More is missing.
    Partial,
    /// The record is whole.
    Whole,
    /// All of it was there already.
    Duplicate,
    /// No memory, or it contradicts what is there.
    Refused,
}

impl Assembly {
    /// An empty record with room for `chunk`.
    pub fn new(pool: &mut Pool, chunk: &Chunk<'_>, now: Time) -> Option<Assembly> {
        let end = chunk.offset as usize + chunk.data.len();
        let buf = pool.alloc(chunk.total.map_or(end, |t| t as usize))?;
        let room = pool.bytes(buf).len() as u32;
        Some(Assembly { buf, room, total: None, vnet: Vnet::default(), since: now, have: ArrayVec::new() })
    }

    /// Adds a chunk.
    pub fn add(&mut self, pool: &mut Pool, chunk: &Chunk<'_>) -> Added {
        let (from, to) = (u32::from(chunk.offset), u32::from(chunk.offset) + chunk.data.len() as u32);
        let total = chunk.total.map(u32::from).or(self.total);
        let ends = self.have.last().map_or(0, |s| s.1).max(to);
        if total.is_some_and(|t| ends > t) || self.total.is_some_and(|t| total != Some(t)) {
            return Added::Refused;
        }
        if self.have.iter().any(|s| s.0 <= from && to <= s.1) {
            return Added::Duplicate;
        }
        if !self.make_room(pool, total.unwrap_or(to).max(to)) || !self.note(from, to) {
            return Added::Refused;
        }
        if chunk.offset == 0 {
            (self.total, self.vnet) = (total, chunk.vnet.unwrap_or_default());
        }
        pool.bytes_mut(self.buf)[from as usize..to as usize].copy_from_slice(chunk.data);
        match self.total {
            Some(t) if self.have[..] == [(0, t)] => Added::Whole,
            _ => Added::Partial,
        }
    }

    /// Where it lies, how many bytes of its beginning are there, and how many it may have; `None` if it has not begun, or has gaps.
    pub fn grown(&self) -> Option<(Buf, u32, u32)> {
        match (&self.have[..], self.total) {
            ([(0, to)], Some(total)) => Some((self.buf, *to, total.min(self.room))),
            _ => None,
        }
    }

    /// The `len` bytes after [`Assembly::grown`] were written to their place.
    pub fn grow(&mut self, len: u32) -> Added {
        let Some(to) = self.grown().map(|g| g.1 + len).filter(|to| Some(*to) <= self.total) else {
            return Added::Refused;
        };
        self.have[0].1 = to;
        if self.total == Some(to) { Added::Whole } else { Added::Partial }
    }

    fn make_room(&mut self, pool: &mut Pool, len: u32) -> bool {
        if len <= self.room {
            return true;
        }
        let Some(bigger) = pool.alloc(len as usize) else { return false };
        for (from, to) in &self.have {
            let (from, to) = (*from as usize, *to as usize);
            let mut copied = 0;
            // Buffers of one pool cannot be borrowed twice; a small stack buffer carries the bytes over.
            let mut hand = [0u8; 1024];
            while from + copied < to {
                let n = hand.len().min(to - from - copied);
                hand[..n].copy_from_slice(&pool.bytes(self.buf)[from + copied..from + copied + n]);
                pool.bytes_mut(bigger)[from + copied..from + copied + n].copy_from_slice(&hand[..n]);
                copied += n;
            }
        }
        pool.free(self.buf);
        self.buf = bigger;
        self.room = pool.bytes(bigger).len() as u32;
        true
    }

    /// Adds [from, to) to the stretches; `false` if there would be too many.
    fn note(&mut self, mut from: u32, mut to: u32) -> bool {
        // The usual case: the record grows at its end.
        if let Some(last) = self.have.last_mut()
            && last.1 == from
        {
            last.1 = to;
            return true;
        }
        let at = self.have.partition_point(|s| s.1 < from);
        let mut gone = 0;
        while let Some(s) = self.have.get(at + gone).filter(|s| s.0 <= to) {
            (from, to) = (from.min(s.0), to.max(s.1));
            gone += 1;
        }
        if gone == 0 && self.have.is_full() {
            return false;
        }
        self.have.drain(at..at + gone);
        self.have.insert(at, (from, to));
        true
    }

    /// Bytes of memory it holds.
    pub fn held_bytes(&self) -> u64 {
        u64::from(self.room)
    }

    /// The whole record: its buffer, length and header. The buffer is the caller's from now on.
    pub fn finish(&self) -> (Buf, u32, Vnet) {
        (self.buf, self.total.unwrap_or(0), self.vnet)
    }

    /// Gives its memory back.
    pub fn drop_into(self, pool: &mut Pool) {
        pool.free(self.buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, seq::SliceRandom};

    #[test]
    fn any_order_of_overlapping_chunks_gives_the_record() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for _ in 0..300 {
            let mut pool = Pool::new(1 << 20);
            let total = rng.random_range(2..20_000usize);
            let record: Vec<u8> = (0..total).map(|i| (i * 7) as u8).collect();
            let step = rng.random_range(total / 25 + 1..total + 1);
            let mut parts: Vec<(usize, usize)> =
                (0..total).step_by(step).map(|o| (o, (o + step + 3).min(total))).collect();
            parts.shuffle(&mut rng);
            let mut assembly: Option<Assembly> = None;
            let mut whole = 0;
            for (from, to) in parts.iter().chain(&parts.clone()) {
                let chunk = Chunk {
                    flow: 0,
                    seq: 0,
                    offset: *from as u16,
                    total: (*from == 0).then_some(total as u16),
                    vnet: None,
                    at_head: false,
                    data: &record[*from..*to],
                };
                let a = assembly.get_or_insert_with(|| Assembly::new(&mut pool, &chunk, Time::ZERO).unwrap());
                whole += (a.add(&mut pool, &chunk) == Added::Whole) as u32;
            }
            let (buf, len, _) = assembly.unwrap().finish();
            assert_eq!((whole, &pool.bytes(buf)[..len as usize]), (1, &record[..]));
            pool.free(buf);
            assert_eq!(pool.used_bytes(), 0);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let mut pool = Pool::new(1 << 20);
        let data = [1u8; 100];
        let chunk =
            |offset, total| Chunk { flow: 0, seq: 0, offset, total, vnet: None, at_head: false, data: &data };
        let mut a = Assembly::new(&mut pool, &chunk(500, None), Time::ZERO).unwrap();
        assert_eq!(a.add(&mut pool, &chunk(500, None)), Added::Partial);
        assert_eq!(a.add(&mut pool, &chunk(0, Some(550))), Added::Refused);
        assert_eq!(a.add(&mut pool, &chunk(0, Some(600))), Added::Partial);
        assert_eq!(a.add(&mut pool, &chunk(0, Some(601))), Added::Refused);
        assert_eq!(a.add(&mut pool, &chunk(501, None)), Added::Refused);
    }
}
