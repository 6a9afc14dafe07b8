//! Whether an access point fades: its subflow rests before it is dead.
//!
//! A sender learns by a timeout that a subflow is dead, and nothing that was sent after the lost
//! packets can be read before they came again. The client knows earlier: beacons get weaker, or
//! stop. So it makes the subflow a backup (MP_PRIO) while the link still carries the request, and
//! what is on the way.

use crate::choose::Limits;
use core::time::Duration;

/// Below so much above the weakest signal that is worth joining, a link in motion loses bursts:
/// fades are 10 dB deep now and then (Rician, 6 dB), and the least rate needs some more.
const MARGIN_DB: f64 = 12.0;
/// Another has to be so much stronger. More, and both carry while both lose bursts, and what one
/// lost holds up what the other brings; less is within what means of beacons vary.
const LEAD_DB: f64 = 2.0;
/// What faded is used again with a signal that is so much better than the one at which it did.
const HYSTERESIS_DB: f64 = 3.0;
/// So many beacons missed in a row are no chance loss: less than half of those after which the
/// access point is left.
const MISSED: u32 = 3;
/// It has to be heard well for this long to be used again: five beacons.
const HEARD_WELL: Duration = Duration::from_millis(500);
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

/// Who fades. Of the access points that are joined at least one carries.
#[derive(Clone, Debug, Default)]
pub struct Fading {
    /// Those that fade, and when they were last heard badly.
    faded: Vec<(u32, Duration)>,
    /// Where all fade, the one that carries.
    carries: Option<u32>,
}

impl Fading {
    /// Nobody fades.
    pub fn new() -> Fading {
        Fading::default()
    }

    /// Whether each fades, in the same order: its beacons are missed, or weak while another's are
    /// stronger. To be called every 100 or 200 ms, with all that are joined. Where all fade the
    /// strongest of those that are heard carries, until another is clearly stronger; where none is
    /// heard, all do.
    pub fn decide(&mut self, joined: &[Beacons], limits: &Limits, now: Duration) -> Vec<bool> {
        self.faded.retain(|(id, _)| joined.iter().any(|b| b.id == *id));
        for beacons in joined {
            let others = joined.iter().filter(|b| b.id != beacons.id && b.missed < MISSED);
            let best_dbm = others.map(|b| b.signal_dbm).fold(f64::NEG_INFINITY, f64::max);
            let is_weak = |more_db: f64| {
                let is_low = beacons.signal_dbm < limits.least_dbm + MARGIN_DB + more_db;
                is_low && beacons.signal_dbm + LEAD_DB - more_db <= best_dbm
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
        self.carries = if joined.iter().all(fades) { strongest(joined, self.carries) } else { None };
        let none_is_heard = joined.iter().all(|b| b.missed >= MISSED);
        joined.iter().map(|b| !none_is_heard && fades(b) && self.carries != Some(b.id)).collect()
    }
}

/// Of those that are heard; the one that carries now is left only for one with a lead.
fn strongest(joined: &[Beacons], carries: Option<u32>) -> Option<u32> {
    let dbm = |b: &Beacons| b.signal_dbm + if carries == Some(b.id) { HYSTERESIS_DB } else { 0.0 };
    let heard = joined.iter().filter(|b| b.missed < MISSED);
    heard.max_by(|a, b| dbm(a).total_cmp(&dbm(b)).then(b.id.cmp(&a.id))).map(|b| b.id)
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
        assert_eq!(decide(&mut fading, &[strong, beacons(2, -69.9, 0)], 0), [false, false]);
        assert_eq!(decide(&mut fading, &[beacons(1, -73.0, 0), beacons(2, -74.9, 0)], 0), [false, false]);
        assert_eq!(decide(&mut fading, &[strong, beacons(2, -70.1, 0)], 100), [false, true]);
        // Between both limits it stays as it is.
        for step in 2..50 {
            assert_eq!(decide(&mut fading, &[strong, beacons(2, -68.0, 0)], step * 100), [false, true]);
        }
    }

    #[test]
    fn it_is_used_again_when_it_was_heard_well_for_half_a_second() {
        let mut fading = Fading::new();
        let strong = beacons(1, -60.0, 0);
        decide(&mut fading, &[strong, beacons(2, -76.0, 0)], 0);
        // One missed beacon begins it anew.
        let fades = |step: u64, fading: &mut Fading| {
            let missed = u32::from(step == 5);
            decide(fading, &[strong, beacons(2, -66.0, missed)], step * 100)[1]
        };
        let steps: Vec<u64> = (1..30).filter(|step| fades(*step, &mut fading)).collect();
        assert_eq!(steps, (1..10).collect::<Vec<_>>());
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
        assert_eq!(decide(&mut fading, &[beacons(1, -79.0, 0), beacons(2, -78.0, 0)], 2_000), [false, false]);
        assert_eq!(decide(&mut fading, &[beacons(1, -80.0, 0), beacons(2, -78.0, 0)], 2_100), [true, false]);
        // The other is not heard any more; then neither is.
        assert_eq!(decide(&mut fading, &[beacons(1, -80.0, 0), beacons(2, -78.0, 3)], 2_200), [false, true]);
        assert_eq!(decide(&mut fading, &[beacons(1, -80.0, 3), beacons(2, -78.0, 4)], 2_300), [false, false]);
        assert_eq!(decide(&mut fading, &[], 2_400), []);
    }

    #[test]
    fn of_two_alike_that_fade_one_carries_on() {
        let mut fading = Fading::new();
        // Both lost beacons, and lose one now and then: neither is heard well.
        decide(&mut fading, &[beacons(1, -80.0, 3), beacons(2, -80.0, 3)], 0);
        let mut roles = Vec::new();
        for step in 1..100 {
            let (one, other) = if step % 2 == 0 { (-80.0, -81.0) } else { (-81.0, -80.0) };
            let missed = u32::from(step % 4 == 0);
            let now = decide(&mut fading, &[beacons(1, one, missed), beacons(2, other, missed)], step * 100);
            roles.push(now);
        }
        roles.dedup();
        assert_eq!(roles, [[true, false]], "the second was the stronger one at first");
        // A clear lead moves it.
        let lead = [beacons(1, -76.0, 1), beacons(2, -80.0, 1)];
        assert_eq!(decide(&mut fading, &lead, 10_000), [false, true]);
    }

    #[test]
    fn one_that_was_left_is_forgotten_and_the_memory_is_bounded() {
        let mut fading = Fading::new();
        let strong = beacons(0, -60.0, 0);
        decide(&mut fading, &[strong, beacons(2, -90.0, 0)], 0);
        decide(&mut fading, &[strong], 100);
        assert_eq!(decide(&mut fading, &[strong, beacons(2, -69.0, 0)], 200), [false, false]);
        let strong = beacons(999, -50.0, 0);
        let many: Vec<Beacons> = (0..200).map(|id| beacons(id, -90.0, 0)).chain([strong]).collect();
        assert_eq!(decide(&mut fading, &many, 300).iter().filter(|f| **f).count(), MOST);
    }
}
