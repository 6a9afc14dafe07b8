//! Signals by which access points are chosen. That of one frame or beacon varies by as much as the
//! lead that a newcomer needs: chosen by those, two of like strength took turns.

use super::plan::UNKNOWN_DBM;
use ropewalk_net::wifi::Bss;
use std::collections::BTreeMap;

/// A new frame counts so much: the loop looks five times a second, so the mean is over three seconds.
const SHARE: f64 = 1.0 / 16.0;

/// The mean signal of an access point that is joined.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeanSignal(Option<f64>);

impl MeanSignal {
    /// As the scan heard it.
    pub(super) fn new(bss: &Bss) -> MeanSignal {
        MeanSignal(bss.signal_dbm)
    }

    /// Takes the signal of the last frame, if the driver tells it.
    pub(super) fn take(&mut self, frame_dbm: Option<f64>) {
        if let Some(dbm) = frame_dbm {
            self.0 = Some(self.0.map_or(dbm, |mean| mean + (dbm - mean) * SHARE));
        }
    }

    /// The mean; a weak one where the driver tells nothing.
    pub(super) fn dbm(self) -> f64 {
        self.0.unwrap_or(UNKNOWN_DBM)
    }
}

/// What the last two scans heard.
#[derive(Debug, Default)]
pub(super) struct Scans {
    last: BTreeMap<[u8; 6], f64>,
    before: BTreeMap<[u8; 6], f64>,
}

impl Scans {
    /// Takes what a scan heard.
    pub(super) fn take(&mut self, heard: &[Bss]) {
        let signals = heard.iter().map(|bss| (bss.bssid, bss.signal_dbm.unwrap_or(UNKNOWN_DBM)));
        self.before = std::mem::replace(&mut self.last, signals.collect());
    }

    /// The weaker signal of the two; none where one of them did not hear the access point.
    pub(super) fn weaker_dbm(&self, bssid: [u8; 6]) -> Option<f64> {
        Some(self.last.get(&bssid)?.min(*self.before.get(&bssid)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_roam::choose::{Heard, Limits, choose};
    use std::time::Duration;

    fn bss(last: u8, signal_dbm: f64) -> Bss {
        Bss {
            bssid: [2, 0, 0, 0, 0, last],
            ssid: b"home".to_vec(),
            frequency_mhz: 2437,
            signal_dbm: Some(signal_dbm),
            beacon_interval: Duration::from_millis(100),
            age: Duration::ZERO,
            is_protected: true,
            width_mhz: 20,
            has_ht: true,
            has_vht: false,
        }
    }

    /// Whether a newcomer takes the place of the only one that is joined.
    fn takes_its_place(joined_dbm: f64, newcomer_dbm: f64) -> bool {
        let heard = |id, signal_dbm, joined| Heard { id, signal_dbm, missed: 0, packet_time: None, joined };
        let both = [heard(0, joined_dbm, true), heard(1, newcomer_dbm, false)];
        choose(&both, &Limits { most: 1, ..Limits::default() }) == [1]
    }

    #[test]
    fn a_frame_in_a_fade_gives_no_place_away_and_a_signal_that_went_does() {
        let mut signal = MeanSignal::new(&bss(1, -60.0));
        assert!(takes_its_place(-70.0, -60.0), "by that frame alone");
        signal.take(Some(-70.0));
        signal.take(None);
        assert!(!takes_its_place(signal.dbm(), -60.0), "{}", signal.dbm());
        // Three seconds of it are no fade.
        (0..16).for_each(|_| signal.take(Some(-70.0)));
        assert!(takes_its_place(signal.dbm(), -60.0), "{}", signal.dbm());
        assert_eq!(MeanSignal::default().dbm(), UNKNOWN_DBM);
    }

    #[test]
    fn a_newcomer_has_to_be_strong_at_two_scans() {
        let mut scans = Scans::default();
        scans.take(&[bss(1, -50.0)]);
        assert_eq!(scans.weaker_dbm(bss(1, 0.0).bssid), None, "heard once");
        scans.take(&[bss(1, -58.0), bss(2, -40.0)]);
        let weaker = |scans: &Scans| [1, 2].map(|n| scans.weaker_dbm(bss(n, 0.0).bssid));
        assert_eq!(weaker(&scans), [Some(-58.0), None]);
        scans.take(&[Bss { signal_dbm: None, ..bss(2, 0.0) }]);
        assert_eq!(weaker(&scans), [None, Some(UNKNOWN_DBM)]);
    }
}
