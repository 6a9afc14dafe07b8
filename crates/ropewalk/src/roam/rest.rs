//! Access points that are not tried for a while: those that could not be joined, and those whose
//! portals stay shut.

use ropewalk_net::wifi::Bss;
use std::collections::BTreeMap;
use std::time::Duration;

/// One that could not be joined is not tried again for this long, and twice as long after each failure, up to the second.
const REST: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(320));
/// One whose portal stayed shut is tried again after this.
const SHUT: Duration = Duration::from_secs(600);
/// Access points kept at most.
const MOST: usize = 64;

/// Who rests.
#[derive(Debug, Default)]
pub(super) struct Resting {
    /// Until when, and for how long after the next failure.
    one: BTreeMap<[u8; 6], (Duration, Duration)>,
    /// Names of networks, and until when: other access points of one have the same portal.
    networks: BTreeMap<Vec<u8>, Duration>,
}

impl Resting {
    /// It could not be joined.
    pub(super) fn fail(&mut self, bssid: [u8; 6], now: Duration) {
        let next = self.one.get(&bssid).map_or(REST.0, |(_, next)| *next);
        self.put(bssid, (now + next, (next * 2).min(REST.1)), now);
    }

    /// It gave its place up, since its portal stayed shut.
    pub(super) fn shut(&mut self, bss: &Bss, now: Duration) {
        self.put(bss.bssid, (now + SHUT, REST.0), now);
        self.networks.retain(|_, until| *until > now);
        self.networks.insert(bss.ssid.clone(), now + SHUT);
    }

    /// The internet is behind an access point of this network: others may be tried.
    pub(super) fn open(&mut self, ssid: &[u8]) {
        self.networks.remove(ssid);
    }

    /// Whether it is not tried now.
    pub(super) fn has(&self, bss: &Bss, now: Duration) -> bool {
        self.one.get(&bss.bssid).is_some_and(|(until, _)| *until > now)
            || self.networks.get(&bss.ssid).is_some_and(|until| *until > now)
    }

    fn put(&mut self, bssid: [u8; 6], rest: (Duration, Duration), now: Duration) {
        self.one.retain(|_, (until, _)| *until + REST.1 > now);
        let first = self.one.iter().min_by_key(|(_, (until, _))| *until).map(|(bssid, _)| *bssid);
        if let Some(first) = first.filter(|_| self.one.len() >= MOST) {
            self.one.remove(&first);
        }
        self.one.insert(bssid, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bss(last: u8, ssid: &str) -> Bss {
        Bss {
            bssid: [2, 0, 0, 0, 0, last],
            ssid: ssid.into(),
            frequency_mhz: 2437,
            signal_dbm: Some(-50.0),
            beacon_interval: Duration::from_millis(100),
            age: Duration::ZERO,
            is_protected: false,
            width_mhz: 20,
            has_ht: true,
            has_vht: false,
        }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn who_could_not_be_joined_rests_ever_longer() {
        let (mut resting, one) = (Resting::default(), bss(1, "home"));
        let mut now = at(0);
        for rest in [10, 20, 40, 80, 160, 320, 320] {
            resting.fail(one.bssid, now);
            assert!(resting.has(&one, now + at(rest - 1)) && !resting.has(&bss(2, "home"), now));
            now += at(rest);
            assert!(!resting.has(&one, now));
        }
    }

    #[test]
    fn a_network_whose_portal_stays_shut_rests_with_all_its_access_points() {
        let mut resting = Resting::default();
        let rest = |resting: &Resting, seconds| {
            [bss(1, "cafe"), bss(2, "cafe"), bss(3, "home")].map(|bss| resting.has(&bss, at(seconds)))
        };
        resting.shut(&bss(1, "cafe"), at(0));
        assert_eq!(rest(&resting, 599), [true, true, false]);
        // Somebody has logged in by another access point, but not by this one.
        resting.open(b"cafe");
        assert_eq!(rest(&resting, 599), [true, false, false]);
        assert_eq!(rest(&resting, 600), [false; 3]);
    }

    #[test]
    fn those_that_rest_longest_are_kept() {
        let mut resting = Resting::default();
        resting.shut(&bss(0, "cafe"), at(0));
        resting.open(b"cafe");
        (1..=200).for_each(|last| resting.fail([2, 0, 0, 0, 0, last], at(1)));
        assert_eq!(resting.one.len(), MOST);
        assert!(resting.has(&bss(0, "cafe"), at(1)));
    }
}
