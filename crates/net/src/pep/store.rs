//! What one end sent and the other has not acknowledged.

use std::collections::BTreeMap;
use std::ops::Range;

/// Parts of a stream by their offsets. Parts never overlap: the first bytes for an offset stay.
#[derive(Debug)]
pub(super) struct Store {
    /// All below was released.
    base: u64,
    /// Bytes above `base` that are kept.
    limit: u64,
    parts: BTreeMap<u64, Vec<u8>>,
}

impl Store {
    pub(super) fn new(limit: u64) -> Store {
        Store { base: 1, limit, parts: BTreeMap::new() }
    }

    /// The offset that sequence numbers are near to.
    pub(super) fn near(&self) -> u64 {
        self.base
    }

    /// Keeps what is new of `bytes`, as far as it lies within the limit.
    pub(super) fn insert(&mut self, at: u64, bytes: &[u8]) {
        let end = (at + bytes.len() as u64).min(self.base + self.limit);
        let mut cursor = at.max(self.base);
        while cursor < end {
            let before = self.parts.range(..=cursor).next_back();
            if let Some(past) = before.map(|(s, p)| s + p.len() as u64).filter(|past| *past > cursor) {
                cursor = past;
                continue;
            }
            let next = self.parts.range(cursor..).next().map_or(end, |(s, _)| *s).min(end);
            let part = &bytes[(cursor - at) as usize..(next - at) as usize];
            self.parts.insert(cursor, part.to_vec());
            cursor = next;
        }
    }

    /// The bytes of `range`; none if some are not here.
    pub(super) fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity((range.end - range.start) as usize);
        let mut cursor = range.start;
        while cursor < range.end {
            let (start, part) = self.parts.range(..=cursor).next_back()?;
            let from = (cursor - start) as usize;
            let until = part.len().min((range.end - start) as usize);
            out.extend_from_slice(part.get(from..until).filter(|p| !p.is_empty())?);
            cursor = start + until as u64;
        }
        Some(out)
    }

    /// All below `offset` is no longer needed.
    pub(super) fn release(&mut self, offset: u64) {
        self.base = self.base.max(offset);
        while let Some(first) = self.parts.first_entry() {
            if first.key() + first.get().len() as u64 > offset {
                break;
            }
            first.remove();
        }
    }
}

/// Whole packets by the offsets of their first bytes, for a proxy that repeats them as they were.
#[derive(Debug)]
pub(super) struct Packets {
    base: u64,
    limit: usize,
    bytes: usize,
    packets: BTreeMap<u64, Vec<u8>>,
}

impl Packets {
    pub(super) fn new(limit: usize) -> Packets {
        Packets { base: 1, limit, bytes: 0, packets: BTreeMap::new() }
    }

    pub(super) fn near(&self) -> u64 {
        self.base
    }

    /// Keeps the packet, unless there is one for `at`, or no room.
    pub(super) fn insert(&mut self, at: u64, packet: &[u8]) {
        if at >= self.base && self.bytes + packet.len() <= self.limit && !self.packets.contains_key(&at) {
            self.bytes += packet.len();
            self.packets.insert(at, packet.to_vec());
        }
    }

    pub(super) fn get(&self, at: u64) -> Option<&[u8]> {
        self.packets.get(&at).map(Vec::as_slice)
    }

    pub(super) fn release(&mut self, offset: u64) {
        self.base = self.base.max(offset);
        while let Some(first) = self.packets.first_entry().filter(|e| *e.key() < offset) {
            self.bytes -= first.remove().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_a_stream(ops in proptest::collection::vec((1u64..60, 0usize..20, 0u64..40), 0..40)) {
            let stream: Vec<u8> = (0..100).collect();
            let (mut store, mut have, mut base) = (Store::new(50), vec![false; 200], 1u64);
            for (at, len, release) in ops {
                let at = at.max(1);
                store.insert(at, &stream[at as usize..at as usize + len]);
                (at..at + len as u64).filter(|o| *o >= base && *o < base + 50).for_each(|o| have[o as usize] = true);
                base = base.max(release);
                store.release(release);
                for (a, b) in [(base, base + 5), (base + 3, base + 30)] {
                    let whole = (a..b).all(|o| have[o as usize]);
                    let read = store.read(a..b);
                    prop_assert!(read.is_some() == whole, "{}..{}", a, b);
                    prop_assert!(read.is_none_or(|r| r == stream[a as usize..b as usize]));
                }
            }
        }
    }

    #[test]
    fn packets_are_bounded() {
        let mut packets = Packets::new(25);
        (0..5).for_each(|i| packets.insert(1 + i, &[0; 10]));
        assert_eq!((packets.get(2).is_some(), packets.get(3).is_some()), (true, false));
        packets.release(3);
        packets.insert(3, &[0; 10]);
        assert_eq!((packets.get(2).is_some(), packets.get(3).is_some()), (false, true));
    }
}
