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

    /// Whether bytes wait for more.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// When something is to be taken.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Adds to the stream. Where it matters, `on_the_way` is asked how many bytes that are.
    pub(super) fn push(&mut self, bytes: &[u8], on_the_way: impl FnOnce() -> u64, now: Time) {
        self.bytes.extend_from_slice(bytes);
        if self.due.is_some_and(|due| due <= now) {
            return;
        }
        let wait = if !self.waits || self.bytes.len() >= FULL {
            Duration::ZERO
        } else if on_the_way() >= MUCH {
            BUSY
        } else if self.bytes.len() < LITTLE {
            IDLE
        } else {
            Duration::ZERO
        };
        let at = now + wait;
        self.due = Some(self.due.map_or(at, |old| old.min(at)));
    }

    /// Seals the payloads of records that are due. What does not fill one waits on behind full ones.
    pub(super) fn take_due<E>(
        &mut self,
        on_the_way: impl FnOnce() -> u64,
        now: Time,
        seal: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.due.is_none_or(|due| now < due) {
            return Ok(());
        }
        let rest = self.bytes.len() % FULL;
        let is_on = self.waits && rest > 0 && rest < self.bytes.len() && on_the_way() >= MUCH;
        self.due = is_on.then_some(now + BUSY);
        self.take(self.bytes.len() - if is_on { rest } else { 0 }, seal)
    }

    /// Seals all of it.
    pub(super) fn take_all<E>(&mut self, seal: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.due = None;
        self.take(self.bytes.len(), seal)
    }

    fn take<E>(&mut self, count: usize, seal: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let outcome = self.bytes[..count].chunks(FULL).try_for_each(seal);
        self.bytes.drain(..count);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seal<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), ()>;

    /// The payloads that this seals.
    fn sealed(take: impl FnOnce(Seal<'_>) -> Result<(), ()>) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        take(&mut |payload| {
            all.push(payload.to_vec());
            Ok(())
        })
        .unwrap();
        all
    }

    fn due(cork: &mut Cork, on_the_way: u64, now: Time) -> Vec<Vec<u8>> {
        sealed(|seal| cork.take_due(|| on_the_way, now, seal))
    }

    /// A message of an elided packet of 1350 bytes each so often, on an uplink that has so much to
    /// send; lengths of the records of two seconds.
    fn records(every: Duration, on_the_way: u64) -> Vec<usize> {
        let (mut cork, mut all, mut next) = (Cork::new(true), Vec::new(), Time::ZERO);
        for now in (0..2_000).map(Time::from_millis) {
            while next <= now {
                cork.push(&[1; 1360], || on_the_way, now);
                next += every;
            }
            all.extend(due(&mut cork, on_the_way, now).iter().map(Vec::len));
        }
        all.extend(sealed(|seal| cork.take_all(seal)).iter().map(Vec::len));
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
        cork.push(&[1; 30], || 0, t(0));
        assert_eq!((cork.due(), due(&mut cork, 0, t(4)).len()), (Some(t(5)), 0), "a report");
        assert_eq!(due(&mut cork, 0, t(5)), [vec![1; 30]]);
        assert_eq!((cork.len(), cork.due()), (0, None));
        // The tail of a full record is not forgotten.
        cork.push(&[2; FULL + 9], || unreachable!("a full record waits for nothing"), t(6));
        cork.push(&[], || unreachable!("it is due"), t(6));
        assert_eq!(due(&mut cork, 10_000, t(6)).len(), 1);
        assert_eq!((cork.len(), cork.due()), (9, Some(t(26))));
        cork.push(&[3; 2], || 10_000, t(7));
        assert_eq!(cork.due(), Some(t(26)), "no later for what follows");
        assert_eq!(sealed(|seal| cork.take_all(seal)), [[vec![2; 9], vec![3; 2]].concat()]);
        let mut wide = Cork::new(false);
        wide.push(&[4; FULL + 9], || unreachable!("it does not ask"), t(8));
        assert_eq!(due(&mut wide, 10_000, t(8)).iter().map(Vec::len).collect::<Vec<_>>(), [FULL, 9]);
    }
}
