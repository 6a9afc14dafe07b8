//! What one end sent and the other has not acknowledged.

use std::collections::BTreeMap;
use std::ops::Range;

/// Touching parts are joined up to this size: many small ones would take far more than their bytes.
/// Whole segments stay as they came.
const JOINED: usize = 2048;
/// What a packet takes besides its bytes, rounded up.
const OVERHEAD: usize = 128;

/// Parts of a stream by their offsets. Parts never overlap: the first bytes for an offset stay.
/// There are at most as many parts as gaps, and one for each half of [`JOINED`].
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

    #[cfg(test)]
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
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
            self.put(cursor, part);
            cursor = next;
        }
    }

    /// Puts `bytes` where nothing is, and joins them with what they touch.
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let touches = |start: u64, part: &[u8]| start + part.len() as u64 == at;
        let before = self.parts.range_mut(..at).next_back();
        let before = before.filter(|(s, p)| touches(**s, p) && p.len() + bytes.len() <= JOINED);
        let (start, len) = match before {
            Some((start, part)) => (*start, join(part, bytes)),
            None => {
                self.parts.insert(at, bytes.to_vec());
                (at, bytes.len())
            }
        };
        let end = at + bytes.len() as u64;
        if self.parts.get(&end).is_some_and(|after| len + after.len() <= JOINED) {
            let after = self.parts.remove(&end).unwrap_or_default();
            if let Some(part) = self.parts.get_mut(&start) {
                join(part, &after);
            }
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

/// Adds `bytes`; the new length.
fn join(part: &mut Vec<u8>, bytes: &[u8]) -> usize {
    // A vector that grows by itself would take twice its bytes.
    part.reserve_exact(bytes.len());
    part.extend_from_slice(bytes);
    part.len()
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
        let takes = packet.len() + OVERHEAD;
        if at >= self.base && self.bytes + takes <= self.limit && !self.packets.contains_key(&at) {
            self.bytes += takes;
            self.packets.insert(at, packet.to_vec());
        }
    }

    pub(super) fn get(&self, at: u64) -> Option<&[u8]> {
        self.packets.get(&at).map(Vec::as_slice)
    }

    pub(super) fn release(&mut self, offset: u64) {
        self.base = self.base.max(offset);
        while let Some(first) = self.packets.first_entry().filter(|e| *e.key() < offset) {
            self.bytes -= first.remove().len() + OVERHEAD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_a_stream(
            ops in proptest::collection::vec((1u64..60, 0usize..20, 0u64..40), 0..40),
            scale in prop_oneof![Just(1), Just(150u64)],
        ) {
            let stream: Vec<u8> = (0..100 * scale).map(|o| (o % 251) as u8).collect();
            let limit = 50 * scale;
            let (mut store, mut have) = (Store::new(limit), vec![false; 200 * scale as usize]);
            let mut base = 1u64;
            for (at, len, release) in ops {
                let (at, len, release) = (at * scale, len * scale as usize, release * scale);
                store.insert(at, &stream[at as usize..at as usize + len]);
                let within = |o: &u64| *o >= base && *o < base + limit;
                (at..at + len as u64).filter(within).for_each(|o| have[o as usize] = true);
                base = base.max(release);
                store.release(release);
                for (a, b) in [(base, base + 5 * scale), (base + 3 * scale, base + 30 * scale)] {
                    let whole = (a..b).all(|o| have[o as usize]);
                    let read = store.read(a..b);
                    prop_assert!(read.is_some() == whole, "{}..{}", a, b);
                    prop_assert!(read.is_none_or(|r| r == stream[a as usize..b as usize]));
                }
                let parts: Vec<_> = store.parts.iter().map(|(s, p)| (*s, p.len())).collect();
                let small = |w: &[(u64, usize)]| w[0].0 + w[0].1 as u64 == w[1].0 && w[0].1 + w[1].1 <= JOINED;
                prop_assert!(!parts.windows(2).any(small), "{:?}", parts);
            }
        }
    }

    #[test]
    fn small_parts_take_little_more_than_their_bytes() {
        let forth = (1..=20_000).collect::<Vec<u64>>();
        let back = forth.iter().rev().copied().collect();
        let mixed = (0..20_000).map(|i| 1 + i * 7_919 % 20_000).collect();
        for order in [forth, back, mixed] {
            let mut store = Store::new(1 << 20);
            order.iter().for_each(|at| store.insert(*at, &[7]));
            assert_eq!(store.read(1..20_001), Some(vec![7; 20_000]));
            let takes: usize = store.parts.values().map(Vec::capacity).sum();
            assert!(store.parts() <= 20 && takes <= 20_000, "{} {takes}", store.parts());
        }
        // The null case: whole segments are not copied about.
        let mut store = Store::new(1 << 20);
        (0..10).for_each(|i| store.insert(1 + 1400 * i, &[7; 1400]));
        assert_eq!(store.parts(), 10);
    }

    #[test]
    fn packets_are_bounded() {
        let mut packets = Packets::new(2 * (10 + OVERHEAD) + 5);
        (0..5).for_each(|i| packets.insert(1 + i, &[0; 10]));
        assert_eq!((packets.get(2).is_some(), packets.get(3).is_some()), (true, false));
        packets.release(3);
        packets.insert(3, &[0; 10]);
        assert_eq!((packets.get(2).is_some(), packets.get(3).is_some()), (false, true));
    }
}
