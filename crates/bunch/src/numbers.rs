//! Numbers of frames: the 12 bits of 802.11, continued, and repetitions told by them.

use crate::Time;
use core::time::Duration;

/// 802.11 numbers a station's frames modulo this (802.11-2020 §9.2.4.4.2).
const LAP: u64 = 4096;
/// How long a number stands for the same frame. A retransmission on the air takes some ms; at
/// 200 Mb/s a lap takes 240.
const LIFE: Duration = Duration::from_millis(100);

/// Continues the numbers of one station and traffic identifier.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// The newest; none yet.
    newest: Option<u64>,
    /// When each of the last lap came.
    seen: Vec<Option<Time>>,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers { newest: None, seen: vec![None; LAP as usize] }
    }
}

impl Numbers {
    /// The continued number of a frame, or none if it came before: a repetition on the air.
    pub fn take(&mut self, sequence: u16, now: Time) -> Option<u64> {
        let low = u64::from(sequence) % LAP;
        let newest = *self.newest.get_or_insert(LAP + low);
        let ahead = (low + LAP - newest % LAP) % LAP;
        let number = if ahead < LAP / 2 { newest + ahead } else { newest + ahead - LAP };
        let place = &mut self.seen[low as usize];
        if place.is_some_and(|at| now < at + LIFE) {
            return None;
        }
        // The same place of the lap, long after: the station has gone round.
        let number = if place.is_some() && number <= newest { number + LAP } else { number };
        *place = Some(now);
        self.newest = Some(newest.max(number));
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_are_counted_and_repetitions_are_none() {
        let mut n = Numbers::default();
        let at = |i: u64| Time::from_millis(i);
        let first = n.take(4000, at(0)).unwrap();
        assert_eq!(n.take(4000, at(1)), None, "a retransmission");
        for i in 1..10_000 {
            assert_eq!(n.take(((4000 + i) % 4096) as u16, at(i)), Some(first + i));
        }
        let late = n.take(((4000 + 9_990) % 4096) as u16, at(10_000));
        assert_eq!(late, None, "late repetition");
    }

    #[test]
    fn a_frame_that_was_overtaken_has_its_own_number() {
        let mut n = Numbers::default();
        let first = n.take(4095, Time::ZERO).unwrap();
        assert_eq!(n.take(1, Time::ZERO), Some(first + 2));
        assert_eq!(n.take(0, Time::ZERO), Some(first + 1));
    }

    #[test]
    fn an_old_number_is_another_frame() {
        let mut n = Numbers::default();
        let first = n.take(7, Time::ZERO).unwrap();
        assert_eq!(n.take(7, Time::from_secs(1)), Some(first + 4096), "a station that slept for a lap");
    }
}
