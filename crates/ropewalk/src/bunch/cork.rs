//! When bytes of the stream of messages become records.
//!
//! A record has 19 bytes besides its payload, and the segment that it goes in 66. So at an access
//! point bytes wait for more, as long as that costs the uplink nothing:
//!
//! * while it is busy, until a record is full, or [`BUSY`] has passed;
//! * else no longer than [`IDLE`], and a packet not at all.

use ropewalk_bunch::Time;
use std::time::Duration;

/// Payload of a full record: with its head and tag two segments. Longer ones hold up their first
/// byte on a slow uplink, shorter ones cost more.
const FULL: usize = 2 * 1448 - 19;
/// How long less than a quarter of that waits on an idle uplink: the headers of a report that goes
/// alone are thrice its length.
const IDLE: Duration = Duration::from_millis(5);
const LITTLE: usize = FULL / 4;
/// An uplink that has so much to send does not wait for us: four segments.
const MUCH: u64 = 4 * 1448;
/// What waits on a busy uplink waits no longer: three packets take 17 ms at 2 Mbit/s.
const BUSY: Duration = Duration::from_millis(20);

/// What waits to be sealed.
#[derive(Debug)]
pub(super) struct Cork {
    bytes: Vec<u8>,
    /// When all of it is due.
    due: Option<Time>,
    waits: bool,
}

impl Cork {
    /// `waits`: the way out is narrow. Else everything is due at once.
    pub(super) fn new(waits: bool) -> Cork {
        Cork { bytes: Vec::new(), due: None, waits }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it asks how much is on the way.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// When something is to be taken.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Adds to the stream, while so many bytes are on the way.
    pub(super) fn push(&mut self, bytes: &[u8], on_the_way: u64, now: Time) {
        self.bytes.extend_from_slice(bytes);
        let wait = if !self.waits || self.bytes.len() >= FULL {
            Duration::ZERO
        } else if on_the_way >= MUCH {
            BUSY
        } else if self.bytes.len() < LITTLE {
            IDLE
        } else {
            Duration::ZERO
        };
        let at = now + wait;
        self.due = Some(self.due.map_or(at, |old| old.min(at)));
    }

    /// The payloads of records that are due. What does not fill one waits on behind full ones.
    pub(super) fn take_due(&mut self, on_the_way: u64, now: Time) -> Vec<Vec<u8>> {
        if self.due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        let rest = self.bytes.len() % FULL;
        let is_on = self.waits && rest > 0 && rest < self.bytes.len() && on_the_way >= MUCH;
        let tail = if is_on { self.bytes.split_off(self.bytes.len() - rest) } else { Vec::new() };
        let all = self.take_all();
        (self.bytes, self.due) = (tail, is_on.then_some(now + BUSY));
        all
    }

    /// The payloads of records with all of it.
    pub(super) fn take_all(&mut self) -> Vec<Vec<u8>> {
        self.due = None;
        std::mem::take(&mut self.bytes).chunks(FULL).map(<[u8]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of an elided packet of 1350 bytes each so often, on an uplink that has so much to
    /// send; lengths of the records of two seconds.
    fn records(every: Duration, on_the_way: u64) -> Vec<usize> {
        let (mut cork, mut all, mut next) = (Cork::new(true), Vec::new(), Time::ZERO);
        for now in (0..2_000).map(Time::from_millis) {
            while next <= now {
                cork.push(&[1; 1360], on_the_way, now);
                next += every;
            }
            all.extend(cork.take_due(on_the_way, now).iter().map(Vec::len));
        }
        all.extend(cork.take_all().iter().map(Vec::len));
        all
    }

    fn packets(at: Duration) -> usize {
        (Duration::from_secs(2).as_micros()).div_ceil(at.as_micros()) as usize
    }

    #[test]
    fn on_a_busy_uplink_records_are_full_and_on_an_idle_one_nothing_waits() {
        let often = Duration::from_micros(5700);
        let busy = records(often, 10_000);
        assert_eq!(busy.iter().sum::<usize>(), packets(often) * 1360, "all of it, once");
        assert!(busy[..busy.len() - 1].iter().all(|n| *n == FULL), "{busy:?}");
        let idle = records(often, 0);
        assert_eq!(idle, vec![1360; packets(often)], "null case: a record for each packet");
        // A slow one: nothing waits longer than it may.
        let slow = Duration::from_millis(30);
        assert_eq!(records(slow, 10_000), vec![1360; packets(slow)]);
    }

    #[test]
    fn what_waits_is_due_in_time_and_a_wide_way_out_waits_for_nothing() {
        let t = Time::from_millis;
        let mut cork = Cork::new(true);
        cork.push(&[1; 30], 0, t(0));
        assert_eq!((cork.due(), cork.take_due(0, t(4)).len()), (Some(t(5)), 0), "a report");
        assert_eq!(cork.take_due(0, t(5)), [vec![1; 30]]);
        assert_eq!((cork.len(), cork.due()), (0, None));
        // The tail of a full record is not forgotten.
        cork.push(&[2; FULL + 9], 10_000, t(6));
        assert_eq!(cork.take_due(10_000, t(6)).len(), 1);
        assert_eq!((cork.len(), cork.due()), (9, Some(t(26))));
        cork.push(&[3; 2], 10_000, t(7));
        assert_eq!(cork.due(), Some(t(26)), "no later for what follows");
        assert_eq!(cork.take_all(), [[vec![2; 9], vec![3; 2]].concat()]);
        let mut wide = Cork::new(false);
        wide.push(&[4; FULL + 9], 10_000, t(8));
        assert_eq!(wide.take_due(10_000, t(8)).iter().map(Vec::len).collect::<Vec<_>>(), [FULL, 9]);
    }
}
