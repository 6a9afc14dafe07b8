//! Numbers of the home's frames, by what they carried.

use ropewalk_bunch::{Mac, Time};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Frames that are remembered: those of 100 ms at 500 Mbit/s, some 300 KB.
const MOST: usize = 4096;
/// A packet comes through the kernel within this, or its frame was another's.
const LIFE: Duration = Duration::from_secs(1);
/// Frames of one content that are looked at: a station repeats a frame that often at most.
const ALIKE: usize = 16;

/// What a frame was on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Its cell.
    pub bssid: Mac,
    /// Its transmitter.
    pub station: Mac,
    /// Traffic identifier.
    pub tid: u8,
    /// 802.11 sequence number.
    pub sequence: u16,
}

/// A frame that was heard.
#[derive(Clone, Copy, Debug)]
struct Noted {
    label: Label,
    at: Time,
    /// A packet has it. It stays, so that the next repetition of the frame is known as one.
    taken: bool,
}

/// The newest frames.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// By the hash of what was carried, and in the order in which they came.
    all: BTreeMap<(u32, u64), Noted>,
    order: VecDeque<(u32, u64)>,
    next: u64,
}

impl Labels {
    /// A frame with this content was heard.
    pub(super) fn note(&mut self, hash: u32, label: Label, now: Time) {
        let alike = self.all.range((hash, 0)..=(hash, u64::MAX)).rev().take(ALIKE);
        if alike.map(|(_, noted)| noted).any(|n| n.label == label && now < n.at + LIFE) {
            return;
        }
        if self.order.len() >= MOST {
            self.order.pop_front().map(|oldest| self.all.remove(&oldest));
        }
        let key = (hash, self.next);
        self.next += 1;
        self.order.push_back(key);
        self.all.insert(key, Noted { label, at: now, taken: false });
    }

    /// The frame of a packet with this content: the first that no packet has.
    pub(super) fn take(&mut self, hash: u32, now: Time) -> Option<Label> {
        let alike = self.all.range_mut((hash, 0)..=(hash, u64::MAX)).rev().take(ALIKE);
        let free = alike.map(|(_, noted)| noted).filter(|n| !n.taken && now < n.at + LIFE);
        let noted = free.last()?;
        noted.taken = true;
        Some(noted.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(sequence: u16) -> Label {
        Label { bssid: [1; 6], station: [2; 6], tid: 0, sequence }
    }

    #[test]
    fn a_packet_has_the_number_of_its_frame_and_a_repetition_gives_none() {
        let (mut labels, now) = (Labels::default(), Time::from_millis(5));
        labels.note(7, label(1), now);
        labels.note(7, label(1), now);
        labels.note(8, label(2), now);
        assert_eq!(labels.take(7, now), Some(label(1)));
        assert_eq!(labels.take(7, now), None);
        // The station had not heard the acknowledgement of the air.
        labels.note(7, label(1), now);
        assert_eq!(labels.take(7, now), None);
        // The same bytes in another frame.
        labels.note(7, label(3), now);
        labels.note(7, label(4), now);
        assert_eq!((labels.take(7, now), labels.take(7, now)), (Some(label(3)), Some(label(4))));
        assert_eq!(labels.take(9, now), None);
        assert_eq!(labels.take(8, now + LIFE), None, "long ago");
    }

    #[test]
    fn memory_and_work_have_a_bound() {
        let mut labels = Labels::default();
        for n in 0..3 * MOST as u64 {
            labels.note((n % 5000) as u32, label((n % 4096) as u16), Time::from_millis(n));
        }
        assert_eq!((labels.all.len(), labels.order.len()), (MOST, MOST));
        // Somebody sends one content again and again: the newest still have their numbers.
        let now = Time::from_secs(100);
        (0..4000).for_each(|n| labels.note(1, label(n), now));
        assert_eq!(labels.take(1, now), Some(label(4000 - ALIKE as u16)));
    }
}
