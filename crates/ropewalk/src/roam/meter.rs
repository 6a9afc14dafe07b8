//! What a packet takes of the air by an access point, by its driver's rates and counters.

use super::plan;
use ropewalk_net::wifi::{Bss, Heard};
use ropewalk_roam::rate::packet_time;
use std::time::Duration;

/// A packet time is measured over this long, and is worth this long.
const MEASURE: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(30);
/// Fewer packets, or bytes, say too little: beacons and group frames come at the lowest rate.
const LEAST_PACKETS: u32 = 20;
const LEAST_BYTES: u64 = 20_000;

/// What a packet costs.
#[derive(Debug, Default)]
pub(super) struct Meter {
    base: Option<(Duration, Heard)>,
    /// When, and what.
    measured: Option<(Duration, Duration)>,
}

impl Meter {
    /// Air of a packet, where that was measured lately.
    pub(super) fn recent(&self, now: Duration) -> Option<Duration> {
        self.measured.filter(|(at, _)| now.saturating_sub(*at) <= MEASURED).map(|(_, time)| time)
    }

    /// The same, however long ago.
    pub(super) fn last(&self) -> Option<Duration> {
        self.measured.map(|(_, time)| time)
    }

    /// By the rate of what comes from the access point. Losses are of what goes to it.
    pub(super) fn take(&mut self, heard: Heard, bss: &Bss, now: Duration) {
        let Some((began, base)) = self.base else {
            self.base = Some((now, heard));
            return;
        };
        if now.saturating_sub(began) < MEASURE {
            return;
        }
        self.base = Some((now, heard));
        let packets = heard.rx_packets.wrapping_sub(base.rx_packets);
        if packets < LEAST_PACKETS || heard.bytes.0.saturating_sub(base.bytes.0) < LEAST_BYTES {
            return;
        }
        let sent = heard.tx_packets.wrapping_sub(base.tx_packets);
        let again = heard.tx_retries.wrapping_sub(base.tx_retries);
        let enough = sent >= LEAST_PACKETS;
        let loss = if enough { f64::from(again) / (f64::from(sent) + f64::from(again)) } else { 0.0 };
        if let Some(time) = packet_time(heard.rx_bps as f64, loss, plan::generation(bss)) {
            // The rate is that of one frame, and rate control tries others now and then.
            let before = self.recent(now);
            self.measured = Some((now, before.map_or(time, |old| (old * 3 + time) / 4)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn packets_are_measured_while_there_are_some() {
        let bss = Bss {
            bssid: [0; 6],
            ssid: Vec::new(),
            frequency_mhz: 2437,
            signal_dbm: None,
            beacon_interval: ms(100),
            age: ms(0),
            is_protected: false,
            width_mhz: 20,
            has_ht: true,
            has_vht: false,
        };
        let heard = |n: u32| Heard {
            rx_bps: 65_000_000,
            rx_packets: n * 100,
            tx_packets: n * 50,
            tx_retries: n * 50,
            bytes: (u64::from(n) * 100_000, 0),
            ..Heard::default()
        };
        let mut meter = Meter::default();
        (0..5).for_each(|n| meter.take(heard(1), &bss, ms(n * 1000)));
        assert_eq!(meter.measured, None, "nothing came");
        meter.take(heard(2), &bss, ms(6_000));
        let (at, time) = meter.measured.unwrap();
        // One try of two fails, so each packet takes twice the 206 µs.
        assert!(at == ms(6_000) && (400..=440).contains(&time.as_micros()), "{time:?}");
    }
}
