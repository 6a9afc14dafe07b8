//! A made-up record, to try the report on: no home was measured for it.

use ropewalk_table::harvest::Interval;

/// What homes do in each hour of the day, as shares of the time somebody is there: by feeling.
const PRESENT: [f64; 24] = [
    0.25, 0.15, 0.1, 0.1, 0.1, 0.1, 0.15, 0.25, 0.3, 0.3, 0.3, 0.3, 0.35, 0.35, 0.3, 0.3, 0.35, 0.4, 0.5,
    0.5, 0.5, 0.5, 0.45, 0.35,
];
/// Seconds of a record's interval.
pub(super) const EVERY: u32 = 10;
/// Intervals for which what somebody does lasts, at most.
const LONGEST: u64 = 60;

/// A home's days. The same seed gives the same ones.
pub(super) fn days(days: u32, rate_mbps: f64, from_s: i64, seed: u64) -> Vec<Interval> {
    let mut draws = Draws(seed);
    let (mut out, mut used, mut left) = (Vec::new(), 0.0, 0);
    for n in 0..i64::from(days) * 86_400 / i64::from(EVERY) {
        let second = n * i64::from(EVERY);
        if left == 0 {
            left = 1 + draws.below(LONGEST);
            let present = PRESENT[(second / 3600 % 24) as usize];
            used = match draws.unit() {
                // Somebody sends pictures.
                d if d < present * 0.05 => rate_mbps * (0.5 + 0.5 * draws.unit()),
                // Acknowledgements of downloads, calls, games.
                d if d < present => 0.02 + 0.15 * draws.unit(),
                _ => 0.0,
            };
        }
        left -= 1;
        out.push(Interval {
            at_s: from_s + second,
            length_s: EVERY.into(),
            uplink: "made-up".into(),
            rate_mbps,
            used_mbps: used,
        });
    }
    out
}

/// SplitMix64 (Steele et al. 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::stats::harvests;
    use super::*;

    #[test]
    fn a_made_up_home_sleeps_at_night() {
        let all = days(16, 4.0, 0, 1);
        assert_eq!((all.len(), &all), (138_240, &days(16, 4.0, 0, 1)), "the same seed, the same days");
        assert_ne!(all, days(16, 4.0, 0, 2));
        let harvest = &harvests(all, &(18..=22), |at| (at / 3600 % 24) as u8)[0];
        let idle = |hour: usize| harvest.by_hour[hour].idle;
        assert!(idle(3) > 0.8 && idle(19) < 0.6, "{} {}", idle(3), idle(19));
        assert!(harvest.by_hour.iter().all(|h| (0.0..=1.0).contains(&h.idle) && h.used_mbps <= 4.0));
    }
}
