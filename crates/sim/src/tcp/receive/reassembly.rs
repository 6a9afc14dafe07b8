//! Puts segments in order, and knows what to say about those that came early.

use std::collections::BTreeMap;

/// Blocks that are remembered for SACK options.
const REMEMBERED: usize = 4;

/// What a segment was to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It continued the stream; `filled` if data that had come early follows it, or still waits.
    InOrder {
        /// It closed, or moved within, a gap.
        filled: bool,
    },
    /// It came early.
    Early,
    /// It brought nothing new.
    Duplicate,
}

/// Offsets that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// All below has arrived.
    next: u64,
    /// What has arrived beyond: start to end, no two touch.
    early: BTreeMap<u64, u64>,
    /// Starts of the blocks that grew last, latest first (RFC 2018 §4).
    recent: Vec<u64>,
}

impl Reassembly {
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn has_gap(&self) -> bool {
        !self.early.is_empty()
    }

    /// Takes in `start..end`, not empty.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Arrival {
        if end <= self.next {
            return Arrival::Duplicate;
        }
        if start > self.next {
            return self.insert_early(start, end);
        }
        let filled = self.has_gap();
        self.next = end;
        while let Some((&from, &to)) = self.early.first_key_value() {
            if from > self.next {
                break;
            }
            self.next = self.next.max(to);
            self.early.pop_first();
            self.recent.retain(|block| *block != from);
        }
        Arrival::InOrder { filled }
    }

    fn insert_early(&mut self, mut start: u64, mut end: u64) -> Arrival {
        let covered = self.early.range(..=start).next_back().is_some_and(|(_, &to)| to >= end);
        if covered {
            return Arrival::Duplicate;
        }
        while let Some((&from, &to)) = self.early.range(..=end).next_back() {
            if to < start {
                break;
            }
            (start, end) = (start.min(from), end.max(to));
            self.early.remove(&from);
            self.recent.retain(|block| *block != from);
        }
        self.early.insert(start, end);
        self.recent.insert(0, start);
        self.recent.truncate(REMEMBERED);
        Arrival::Early
    }

    /// The blocks to report, the one that changed last first.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent.iter().filter_map(|start| Some((*start, *self.early.get(start)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_data_waits_and_blocks_tell_the_latest_first() {
        let mut r = Reassembly::default();
        assert_eq!(r.insert(0, 1), Arrival::InOrder { filled: false });
        assert_eq!(r.insert(101, 201), Arrival::Early);
        assert_eq!(r.insert(301, 401), Arrival::Early);
        assert_eq!(r.insert(201, 250), Arrival::Early);
        assert_eq!(r.blocks().collect::<Vec<_>>(), [(101, 250), (301, 401)]);
        assert_eq!(r.insert(120, 180), Arrival::Duplicate);
        assert_eq!(r.insert(240, 310), Arrival::Early, "joins both");
        assert_eq!(r.blocks().collect::<Vec<_>>(), [(101, 401)]);
        assert_eq!(r.insert(1, 101), Arrival::InOrder { filled: true });
        assert_eq!((r.next(), r.has_gap()), (401, false));
        assert_eq!(r.insert(300, 401), Arrival::Duplicate);
    }

    #[test]
    fn any_order_gives_the_whole() {
        let mut order: Vec<u64> = (0..200).collect();
        let mut x = 7u64;
        for i in (1..order.len()).rev() {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(i, (x >> 33) as usize % (i + 1));
        }
        let mut r = Reassembly::default();
        for i in order {
            r.insert(10 * i, 10 * i + 10);
            assert!(r.blocks().all(|(start, end)| start > r.next() && end > start));
        }
        assert_eq!((r.next(), r.has_gap()), (2000, false));
    }
}
