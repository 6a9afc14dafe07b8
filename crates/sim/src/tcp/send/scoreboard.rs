//! What has been sent and is not yet acknowledged: RFC 2018's retransmission queue and RFC 6675's scoreboard and pipe.

use ropewalk_air::Time;
use ropewalk_cc::rate::Snapshot;
use std::collections::{BTreeSet, VecDeque};

/// A segment on the way. Segments are never cut or joined again, so a retransmission repeats one exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Offset of its first byte (or SYN).
    pub seq: u64,
    /// Of the sequence space, SYN and FIN counted.
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    /// Latest transmission.
    pub sent: Time,
    /// State of the connection at the latest transmission.
    pub snapshot: Snapshot,
    pub transmissions: u32,
    pub sacked: bool,
    /// Believed lost; if `retransmitting`, its latest copy is not.
    pub lost: bool,
    /// A repeated copy is on the way.
    pub retransmitting: bool,
}

impl Sent {
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    pub(super) fn was_repeated(&self) -> bool {
        self.transmissions > 1
    }

    fn has_copy_out(&self) -> bool {
        self.retransmitting && !self.sacked
    }

    /// How many of its bytes are believed to be in the network (RFC 6675 §4, SetPipe).
    fn pipe(&self) -> u64 {
        let copies = u64::from(!self.lost) + u64::from(self.retransmitting);
        if self.sacked { 0 } else { copies * u64::from(self.len) }
    }
}

/// A transmission in the order of time: of which segment, and the how many-th.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    id: u64,
    nth: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    /// Number of the front segment; segments are numbered as they are first sent.
    base: u64,
    queue: VecDeque<Sent>,
    /// Transmissions by time; entries that no longer count are skipped when met.
    order: VecDeque<Transmission>,
    /// Lost segments of which no copy is on the way.
    lost: BTreeSet<u64>,
    flight: u64,
    /// Copies on the way.
    copies: u64,
    sacked_segments: usize,
    /// End of the highest SACKed segment.
    highest_sacked: u64,
    /// SACK blocks seen last, so that a block that has grown is walked only where it is new.
    seen: Vec<(u64, u64)>,
}

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Segments that wait for acknowledgement.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes believed to be in the network.
    pub(super) fn flight(&self) -> u64 {
        self.flight
    }

    /// Copies on the way.
    pub(super) fn copies(&self) -> u64 {
        self.copies
    }

    pub(super) fn sacked_segments(&self) -> usize {
        self.sacked_segments
    }

    /// End of the highest segment that was ever SACKed, an offset.
    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    pub(super) fn head(&self) -> Option<&Sent> {
        self.queue.front()
    }

    /// Number of the newest segment.
    pub(super) fn tail(&self) -> Option<u64> {
        (!self.queue.is_empty()).then(|| self.base + self.queue.len() as u64 - 1)
    }

    pub(super) fn get(&self, id: u64) -> Option<&Sent> {
        self.queue.get(id.checked_sub(self.base)? as usize)
    }

    /// All segments with their numbers, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Sent)> {
        self.queue.iter().enumerate().map(|(i, sent)| (self.base + i as u64, sent))
    }

    /// The lowest lost segment of which no copy is on the way.
    pub(super) fn next_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.order.push_back(Transmission { id: self.base + self.queue.len() as u64, nth: 1 });
        self.flight += sent.pipe();
        self.queue.push_back(sent);
    }

    /// Applies `change` and keeps the pipe right.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Sent)) {
        let Some(sent) = id.checked_sub(self.base).and_then(|i| self.queue.get_mut(i as usize)) else {
            return;
        };
        self.flight -= sent.pipe();
        self.copies -= u64::from(sent.has_copy_out());
        change(sent);
        self.flight += sent.pipe();
        self.copies += u64::from(sent.has_copy_out());
    }

    /// A copy leaves.
    pub(super) fn retransmit(&mut self, id: u64, now: Time, snapshot: Snapshot) {
        self.change(id, |sent| {
            (sent.sent, sent.snapshot, sent.retransmitting) = (now, snapshot, true);
            sent.transmissions += 1;
        });
        self.lost.remove(&id);
        let nth = self.get(id).map_or(0, |sent| sent.transmissions);
        self.order.push_back(Transmission { id, nth });
    }

    /// The segment, or its latest copy, is believed lost.
    pub(super) fn mark_lost(&mut self, id: u64) {
        self.change(id, |sent| (sent.lost, sent.retransmitting) = (true, false));
        self.lost.insert(id);
    }

    /// Nothing is believed lost any more.
    pub(super) fn unmark_lost(&mut self) {
        let mut on_the_way = Vec::new();
        for i in 0..self.queue.len() {
            let id = self.base + i as u64;
            self.change(id, |sent| sent.lost = false);
            let sent = self.queue[i];
            if !sent.sacked {
                on_the_way.push((sent.sent, Transmission { id, nth: sent.transmissions }));
            }
        }
        self.lost.clear();
        on_the_way.sort_by_key(|(at, t)| (*at, t.id));
        self.order = on_the_way.into_iter().map(|(_, t)| t).collect();
    }

    /// All below `upto` has arrived; tells of each segment that leaves the board, and whether it was SACKed before.
    pub(super) fn acknowledge(&mut self, upto: u64, mut delivered: impl FnMut(&Sent)) {
        while self.queue.front().is_some_and(|front| front.end() <= upto) {
            let front = self.queue.pop_front().expect("looked at above");
            self.flight -= front.pipe();
            self.copies -= u64::from(front.has_copy_out());
            self.sacked_segments -= usize::from(front.sacked);
            self.lost.remove(&self.base);
            self.base += 1;
            delivered(&front);
        }
        if self.queue.is_empty() {
            self.order.clear();
        }
        self.seen.retain(|block| block.1 > upto);
    }

    /// The receiver has the bytes of `blocks`; tells of each segment that it had not told of before.
    pub(super) fn sack(&mut self, blocks: &[(u64, u64)], mut delivered: impl FnMut(&Sent)) {
        for &block in blocks {
            let mut at = block.0;
            let mut known: Vec<_> =
                self.seen.iter().copied().filter(|k| k.1 > block.0 && k.0 < block.1).collect();
            known.sort_unstable();
            for k in known {
                self.sack_part((at, k.0), block, &mut delivered);
                at = at.max(k.1);
            }
            self.sack_part((at, block.1), block, &mut delivered);
        }
        if !blocks.is_empty() {
            self.seen.clear();
            self.seen.extend_from_slice(blocks);
        }
    }

    fn sack_part(&mut self, part: (u64, u64), block: (u64, u64), delivered: &mut impl FnMut(&Sent)) {
        if part.0 >= part.1 {
            return;
        }
        let first = self.queue.partition_point(|sent| sent.end() <= part.0);
        for i in first..self.queue.len() {
            let sent = self.queue[i];
            if sent.seq >= part.1 {
                break;
            }
            if sent.sacked || sent.seq < block.0 || sent.end() > block.1 {
                continue;
            }
            delivered(&sent);
            let id = self.base + i as u64;
            self.change(id, |sent| sent.sacked = true);
            self.lost.remove(&id);
            self.sacked_segments += 1;
            self.highest_sacked = self.highest_sacked.max(sent.end());
        }
    }

    /// The receiver has thrown away what it had SACKed (RFC 2018 §8).
    pub(super) fn forget_sacks(&mut self) {
        for i in 0..self.queue.len() {
            self.change(self.base + i as u64, |sent| sent.sacked = false);
        }
        self.sacked_segments = 0;
        self.seen.clear();
    }

    /// Marks lost, oldest transmission first, as long as `is_lost` says so of a transmission that counts; the first that
    /// is not ends the walk. Returns the segments marked.
    pub(super) fn mark_lost_in_order(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> Vec<Sent> {
        let mut marked = Vec::new();
        while let Some(&Transmission { id, nth }) = self.order.front() {
            if let Some(sent) = self.get(id).copied()
                && sent.transmissions == nth
                && !sent.sacked
                && (!sent.lost || sent.retransmitting)
            {
                if !is_lost(&sent) {
                    break;
                }
                self.mark_lost(id);
                marked.push(sent);
            }
            self.order.pop_front();
        }
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..segments {
            board.push(Sent {
                seq: 1 + 100 * i,
                len: 100,
                syn: false,
                fin: false,
                sent: Time::from_millis(i),
                snapshot: Snapshot::default(),
                transmissions: 1,
                sacked: false,
                lost: false,
                retransmitting: false,
            });
        }
        board
    }

    #[test]
    fn pipe_counts_copies_in_the_network() {
        let mut b = board(10);
        assert_eq!(b.flight(), 1000);
        b.sack(&[(301, 501)], |_| ());
        assert_eq!((b.flight(), b.sacked_segments(), b.highest_sacked()), (800, 2, 501));
        b.mark_lost(0);
        assert_eq!((b.flight(), b.next_lost()), (700, Some(0)));
        b.retransmit(0, Time::from_millis(50), Snapshot::default());
        assert_eq!((b.flight(), b.next_lost()), (800, None));
        b.mark_lost(0);
        assert_eq!((b.flight(), b.next_lost()), (700, Some(0)), "the copy is lost as well");
        b.retransmit(1, Time::from_millis(51), Snapshot::default());
        assert_eq!(b.flight(), 800, "a probe: both copies may be on the way");
        b.acknowledge(501, |_| ());
        assert_eq!((b.flight(), b.len(), b.sacked_segments()), (500, 5, 0));
        b.unmark_lost();
        assert_eq!(b.flight(), 500);
    }

    #[test]
    fn each_segment_is_told_of_once_however_blocks_grow_and_move() {
        let mut b = board(20);
        let mut told = Vec::new();
        for blocks in [
            vec![(301u64, 401u64)],
            vec![(301, 601)],
            vec![(901, 1001), (301, 601)],
            vec![(201, 1101), (901, 1001)],
            vec![(1501, 1601), (201, 1101)],
            vec![(201, 1101), (1501, 1601)],
        ] {
            b.sack(&blocks, |sent| told.push(sent.seq));
        }
        told.sort_unstable();
        assert_eq!(told, [201, 301, 401, 501, 601, 701, 801, 901, 1001, 1501]);
        b.sack(&[(1650, 1800)], |sent| assert_eq!(sent.seq, 1701, "a part of a segment is not the segment"));
    }

    #[test]
    fn the_walk_by_time_follows_the_latest_copies() {
        let mut b = board(4);
        b.mark_lost(0);
        b.retransmit(0, Time::from_millis(10), Snapshot::default());
        let marked = b.mark_lost_in_order(|sent| sent.sent < Time::from_millis(3));
        assert_eq!(marked.iter().map(|s| s.seq).collect::<Vec<_>>(), [101, 201]);
        let marked = b.mark_lost_in_order(|sent| sent.sent <= Time::from_millis(10));
        assert_eq!(marked.iter().map(|s| s.seq).collect::<Vec<_>>(), [301, 1], "the copy is newest");
    }
}
