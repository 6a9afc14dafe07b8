//! One packet put together from its fragments.

use crate::pool::{Buf, Pool};
use crate::vnet::Vnet;
use crate::wire::Fragment;
use arrayvec::ArrayVec;
use ropewalk_time::Time;

/// Separate stretches of one packet that may be there at once: alternate fragments of a 64 KiB packet over paths of the least MTU.
const MAX_STRETCHES: usize = 32;

/// A packet of which at least one fragment is there.
#[derive(Debug)]
pub(super) struct Assembly {
    buf: Buf,
    /// Bytes of its buffer.
    room: u32,
    /// Its length, once its beginning is there.
    len: Option<u16>,
    vnet: Vnet,
    /// When its first fragment came, or, of a whole one, its last.
    pub since: Time,
    /// Stretches [from, to) that are there, in order, never touching.
    have: ArrayVec<(u16, u16), MAX_STRETCHES>,
}

/// What adding a fragment came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// More is missing.
    Partial,
    /// The packet is whole.
    Whole,
    /// All of it was there already.
    Duplicate,
    /// No memory, or it contradicts what is there.
    Refused,
}

impl Assembly {
    /// An empty packet with room for `fragment`.
    pub(super) fn new(pool: &mut Pool, fragment: &Fragment<'_>, now: Time) -> Option<Assembly> {
        let end = usize::from(fragment.offset) + fragment.data.len();
        let buf = pool.alloc(fragment.total.map_or(end, usize::from))?;
        let room = pool.bytes(buf).len() as u32;
        Some(Assembly { buf, room, len: None, vnet: Vnet::default(), since: now, have: ArrayVec::new() })
    }

    /// Adds a fragment. Where that takes a larger buffer there is one only if the packet `may_grow`.
    pub(super) fn add(
        &mut self,
        pool: &mut Pool,
        fragment: &Fragment<'_>,
        may_grow: bool,
        now: Time,
    ) -> Added {
        let from = fragment.offset;
        let Ok(to) = u16::try_from(usize::from(from) + fragment.data.len()) else { return Added::Refused };
        let len = fragment.total.or(self.len);
        let end = self.have.last().map_or(0, |s| s.1).max(to);
        if len.is_some_and(|l| end > l) || self.len.is_some_and(|l| len != Some(l)) {
            return Added::Refused;
        }
        if self.have.iter().any(|s| s.0 <= from && to <= s.1) {
            return Added::Duplicate;
        }
        if !self.make_room(pool, len.unwrap_or(to).max(to), may_grow) || !self.note(from, to) {
            return Added::Refused;
        }
        if from == 0 {
            (self.len, self.vnet) = (len, fragment.vnet.unwrap_or_default());
        }
        pool.bytes_mut(self.buf)[from.into()..to.into()].copy_from_slice(fragment.data);
        self.added(now)
    }

    fn added(&mut self, now: Time) -> Added {
        if !self.is_whole() {
            return Added::Partial;
        }
        self.since = now;
        Added::Whole
    }

    /// Nothing is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.len.is_some_and(|len| self.have[..] == [(0, len)])
    }

    /// Where its next bytes belong if all before them are there: its buffer, how many are there, how many it may have.
    pub(super) fn end(&self) -> Option<(Buf, u32, u32)> {
        match (&self.have[..], self.len) {
            ([(0, to)], Some(len)) if *to < len => {
                Some((self.buf, u32::from(*to), u32::from(len).min(self.room)))
            }
            _ => None,
        }
    }

    /// The `len` bytes after [`Assembly::end`] were written to their place.
    pub(super) fn extend(&mut self, len: usize, now: Time) -> Added {
        let to = self.end().and_then(|(_, at, most)| {
            u16::try_from(at as usize + len).ok().filter(|to| u32::from(*to) <= most)
        });
        match (to, self.have.first_mut()) {
            (Some(to), Some(stretch)) => stretch.1 = to,
            _ => return Added::Refused,
        }
        self.added(now)
    }

    fn make_room(&mut self, pool: &mut Pool, len: u16, may_grow: bool) -> bool {
        if u32::from(len) <= self.room {
            return true;
        }
        let Some(bigger) = (if may_grow { pool.alloc(len.into()) } else { None }) else { return false };
        pool.copy(self.buf, bigger, self.have.last().map_or(0, |s| s.1.into()));
        pool.free(self.buf);
        (self.buf, self.room) = (bigger, pool.bytes(bigger).len() as u32);
        true
    }

    /// Adds [from, to) to the stretches; `false` if there would be too many.
    fn note(&mut self, mut from: u16, mut to: u16) -> bool {
        // The usual case: the packet grows at its end.
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

    /// Bytes of packet memory that it holds.
    pub(super) fn memory(&self) -> u64 {
        self.room.into()
    }

    /// Which size of buffer: see [`crate::pool::CLASS_BYTES`].
    pub(super) fn class(&self) -> usize {
        self.buf.class()
    }

    /// Its buffer, length and header. The buffer is the caller's from now on.
    pub(super) fn finish(self) -> (Buf, u32, Vnet) {
        (self.buf, self.len.unwrap_or(0).into(), self.vnet)
    }

    /// Gives its memory back.
    pub(super) fn drop_into(self, pool: &mut Pool) {
        pool.free(self.buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, seq::SliceRandom};

    #[test]
    fn any_order_of_overlapping_fragments_gives_the_packet() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for _ in 0..300 {
            let mut pool = Pool::new(1 << 20);
            let len = rng.random_range(2..20_000usize);
            let packet: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let step = rng.random_range(len / 25 + 1..len + 1);
            let mut parts: Vec<(usize, usize)> =
                (0..len).step_by(step).map(|o| (o, (o + step + 3).min(len))).collect();
            parts.shuffle(&mut rng);
            let mut assembly: Option<Assembly> = None;
            let mut whole = 0;
            for (from, to) in parts.iter().chain(&parts.clone()) {
                let fragment = Fragment {
                    flow: 0,
                    seq: 0,
                    offset: *from as u16,
                    total: (*from == 0).then_some(len as u16),
                    vnet: None,
                    no_gap_before: false,
                    data: &packet[*from..*to],
                };
                let a =
                    assembly.get_or_insert_with(|| Assembly::new(&mut pool, &fragment, Time::ZERO).unwrap());
                whole += u32::from(a.add(&mut pool, &fragment, true, Time::ZERO) == Added::Whole);
            }
            let (buf, got, _) = assembly.unwrap().finish();
            assert_eq!((whole, &pool.bytes(buf)[..got as usize]), (1, &packet[..]));
            pool.free(buf);
            assert_eq!(pool.used_bytes(), 0);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let mut pool = Pool::new(1 << 20);
        let data = [1u8; 100];
        let fragment = |offset, total| Fragment {
            flow: 0,
            seq: 0,
            offset,
            total,
            vnet: None,
            no_gap_before: false,
            data: &data,
        };
        let mut a = Assembly::new(&mut pool, &fragment(500, None), Time::ZERO).unwrap();
        let mut add = |offset, total| a.add(&mut pool, &fragment(offset, total), true, Time::ZERO);
        assert_eq!(add(500, None), Added::Partial);
        assert_eq!(add(0, Some(550)), Added::Refused);
        assert_eq!(add(0, Some(600)), Added::Partial);
        assert_eq!(add(0, Some(601)), Added::Refused);
        assert_eq!(add(501, None), Added::Refused);
        assert_eq!(add(65_500, None), Added::Refused);
    }
}
