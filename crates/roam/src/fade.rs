//! Whether an access point fades: its subflow rests before it is dead.
//!
//! A sender learns by a timeout that a subflow is dead, and nothing that was sent after the lost
//! packets can be read before they came again. The client knows earlier: beacons get weaker, or
//! stop. So it makes the subflow a backup (MP_PRIO) while the link still carries the request, and
//! what is on the way.

use crate::choose::Limits;
use core::time::Duration;

/// So far above the weakest signal that is worth joining, a link in motion loses bursts: with some
/// direct sight (Rician, 6 dB) it is 8 dB below its mean for one or two hundredths of the time.
const MARGIN_DB: f64 = 8.0;
/// What faded is used again with a signal that is so much better than the one at which it did.
const HYSTERESIS_DB: f64 = 3.0;
/// So many beacons missed in a row are no chance loss: less than half of those after which the
/// access point is left.
const MISSED: u32 = 3;
/// It has to be heard well for this long to be used again: ten beacons.
const HEARD_WELL: Duration = Duration::from_secs(1);
/// Access points kept at most: as many as a radio has stations, and more.
const MOST: usize = 64;

/// What beacons say of an access point that is joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beacons {
    /// The driver's number of it.
    pub id: u32,
    /// Mean signal.
    pub signal_dbm: f64,
    /// Missed in a row.
    pub missed: u32,
}

/// Who fades. Of the access points that are joined at least one does not.
#[derive(Clone, Debug, Default)]
pub struct Fading {
    /// Those that fade, and when they were last heard badly.
    faded: Vec<(u32, Duration)>,
}

impl Fading {
    /// Nobody fades.
    pub fn new() -> Fading {
        Fading::default()
    }

    /// Whether each fades, in the same order: its beacons are missed, or weak while another's are
    /// stronger by the lead of a newcomer. To be called every 100 or 200 ms, with all that are
    /// joined. Where all fade none is said to: one of them has to carry, and nobody knows which.
    pub fn decide(&mut self, joined: &[Beacons], limits: &Limits, now: Duration) -> Vec<bool> {
        self.faded.retain(|(id, _)| joined.iter().any(|b| b.id == *id));
        let heard = joined.iter().filter(|b| b.missed < MISSED);
        let best_dbm = heard.map(|b| b.signal_dbm).fold(f64::NEG_INFINITY, f64::max);
        for beacons in joined {
            let is_weak = |more_db: f64| {
                let lead_db = limits.lead_db - more_db;
                let is_low = beacons.signal_dbm < limits.least_dbm + MARGIN_DB + more_db;
                is_low && beacons.signal_dbm + lead_db <= best_dbm
            };
            let known = self.faded.iter().position(|(id, _)| *id == beacons.id);
            match known {
                Some(at) if beacons.missed > 0 || is_weak(HYSTERESIS_DB) => self.faded[at].1 = now,
                Some(at) if now.saturating_sub(self.faded[at].1) >= HEARD_WELL => {
                    self.faded.swap_remove(at);
                }
                None if (beacons.missed >= MISSED || is_weak(0.0)) && self.faded.len() < MOST => {
                    self.faded.push((beacons.id, now))
                }
                _ => {}
            }
        }
        let fades = |b: &Beacons| self.faded.iter().any(|(id, _)| *id == b.id);
        let all = joined.iter().all(fades);
        joined.iter().map(|b| !all && fades(b)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn beacons(id: u32, signal_dbm: f64, missed: u32) -> Beacons {
        Beacons { id, signal_dbm, missed }
    }

    fn decide(fading: &mut Fading, joined: &[Beacons], now_ms: u64) -> Vec<bool> {
        fading.decide(joined, &Limits::default(), ms(now_ms))
    }

    #[test]
    fn a_weak_one_fades_while_another_leads() {
        let mut fading = Fading::new();
        let strong = beacons(1, -60.0, 0);
        assert_eq!(decide(&mut fading, &[strong, beacons(2, -73.9, 0)], 0), [false, false]);
        assert_eq!(decide(&mut fading, &[beacons(1, -70.0, 0), beacons(2, -75.9, 0)], 0), [false, false]);
        assert_eq!(decide(&mut fading, &[strong, beacons(2, -74.1, 0)], 100), [false, true]);
        // Between both limits it stays as it is.
        for step in 2..50 {
            assert_eq!(decide(&mut fading, &[strong, beacons(2, -72.0, 0)], step * 100), [false, true]);
        }
    }

    #[test]
    fn it_is_used_again_when_it_was_heard_well_for_a_second() {
        let mut fading = Fading::new();
        let strong = beacons(1, -60.0, 0);
        decide(&mut fading, &[strong, beacons(2, -76.0, 0)], 0);
        // One missed beacon begins the second anew.
        let fades = |step: u64, fading: &mut Fading| {
            let missed = u32::from(step == 5);
            decide(fading, &[strong, beacons(2, -70.0, missed)], step * 100)[1]
        };
        let steps: Vec<u64> = (1..30).filter(|step| fades(*step, &mut fading)).collect();
        assert_eq!(steps, (1..15).collect::<Vec<_>>());
    }

    #[test]
    fn a_strong_one_whose_beacons_stop_fades_before_it_is_left() {
        let strong = beacons(1, -60.0, 0);
        let fades = |missed| decide(&mut Fading::new(), &[strong, beacons(2, -50.0, missed)], 0)[1];
        assert!(!fades(2) && fades(3) && Limits::default().beacon_loss > 3);
    }

    #[test]
    fn the_best_of_weak_ones_carries_on() {
        assert_eq!(decide(&mut Fading::new(), &[beacons(1, -90.0, 6)], 0), [false]);
        let mut fading = Fading::new();
        assert_eq!(decide(&mut fading, &[beacons(1, -82.0, 0), beacons(2, -78.0, 0)], 2_000), [false, false]);
        assert_eq!(decide(&mut fading, &[beacons(1, -84.0, 0), beacons(2, -78.0, 0)], 2_100), [true, false]);
        // The other is not heard any more: one of both has to carry.
        assert_eq!(decide(&mut fading, &[beacons(1, -84.0, 0), beacons(2, -78.0, 3)], 2_200), [false, false]);
        assert_eq!(decide(&mut fading, &[], 2_300), []);
    }

    #[test]
    fn one_that_was_left_is_forgotten_and_the_memory_is_bounded() {
        let mut fading = Fading::new();
        let strong = beacons(0, -60.0, 0);
        decide(&mut fading, &[strong, beacons(2, -90.0, 0)], 0);
        decide(&mut fading, &[strong], 100);
        assert_eq!(decide(&mut fading, &[strong, beacons(2, -73.0, 0)], 200), [false, false]);
        let strong = beacons(999, -50.0, 0);
        let many: Vec<Beacons> = (0..200).map(|id| beacons(id, -90.0, 0)).chain([strong]).collect();
        assert_eq!(decide(&mut fading, &many, 300).iter().filter(|f| **f).count(), MOST);
    }
}
