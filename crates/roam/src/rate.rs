//! What rate an access point can be expected to give before anything was sent: by its signal.
//!
//! Receivers have to understand each scheme of modulation and coding down to a level that 802.11 names (IEEE 802.11-2020, tables 17-18, 19-23 and 21-26). A
//! radio at that level loses one frame of ten, so the highest scheme whose level is reached is what rate control comes to. One spatial stream is counted, of
//! which both ends surely are capable.

use core::time::Duration;

use crate::airtime::{Air, Contention};
use crate::estimate::Tries;

/// Levels in 20 MHz, dBm, and rates with a long guard interval, Mbit/s, of HT and VHT.
const HT: [(f64, f64); 8] = [
    (-82.0, 6.5),
    (-79.0, 13.0),
    (-77.0, 19.5),
    (-74.0, 26.0),
    (-70.0, 39.0),
    (-66.0, 52.0),
    (-65.0, 58.5),
    (-64.0, 65.0),
];
/// The one more that VHT has in 20 MHz.
const VHT_256: (f64, f64) = (-59.0, 78.0);
/// The same of OFDM without HT.
const LEGACY: [(f64, f64); 8] = [
    (-82.0, 6.0),
    (-81.0, 9.0),
    (-79.0, 12.0),
    (-77.0, 18.0),
    (-74.0, 24.0),
    (-70.0, 36.0),
    (-66.0, 48.0),
    (-65.0, 54.0),
];
/// Data subcarriers in 40, 80 and 160 MHz over those in 20 (108, 234 and 468 over 52).
const WIDER: [(u32, f64); 3] = [(40, 108.0 / 52.0), (80, 4.5), (160, 9.0)];

/// What an access point is capable of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 802.11a or g.
    Legacy,
    /// 802.11n.
    Ht,
    /// 802.11ac or later.
    Vht,
}

/// The rate to expect at this signal, dBm, over a channel of this width, MHz; bit/s. The least there is below its level.
pub fn expected_bps(signal_dbm: f64, width_mhz: u32, generation: Generation) -> f64 {
    let is_legacy = generation == Generation::Legacy;
    let levels = if is_legacy { &LEGACY } else { &HT };
    let more = (generation == Generation::Vht).then_some(VHT_256);
    let wider = WIDER.iter().rfind(|(mhz, _)| !is_legacy && *mhz <= width_mhz);
    let (width, factor) = wider.copied().unwrap_or((20, 1.0));
    // Twice the width takes in twice the noise.
    let signal_dbm = signal_dbm - 10.0 * (f64::from(width) / 20.0).log10();
    let reached = levels.iter().chain(&more).rfind(|(level, _)| signal_dbm >= *level);
    reached.unwrap_or(&levels[0]).1 * factor * 1e6
}

/// Preamble, spaces, acknowledgement and its own preamble of one try; seconds (IEEE 802.11-2020 §19.3.9, §17.4.3).
const OVERHEAD_S: f64 = 110e-6;
/// Half of CWmin 15 in slots of 9 µs, and AIFS; seconds.
const BACKOFF_S: f64 = 7.5 * 9e-6;
/// Frames of an aggregate that a link in use sends.
const AGGREGATE: f64 = 8.0;
const BITS: f64 = 1500.0 * 8.0;
const RETRIES: u32 = 7;

/// Air of a delivered packet of 1500 bytes at this rate, bit/s, where a try fails with `loss`. With HT eight packets share a preamble. `None`: the rate is
/// none, or nothing arrives.
pub fn packet_time(rate_bps: f64, loss: f64, generation: Generation) -> Option<Duration> {
    if rate_bps <= 0.0 {
        return None;
    }
    let mpdus = if generation == Generation::Legacy { 1.0 } else { AGGREGATE };
    let mut tries = Tries::of_aggregate(BITS / rate_bps, OVERHEAD_S, BACKOFF_S, mpdus, RETRIES);
    tries.doublings = if generation == Generation::Legacy { 6 } else { 0 };
    Duration::try_from_secs_f64(tries.packet_time_s(loss)?).ok()
}

/// Backoff and tries of best effort (IEEE 802.11-2020 table 9-155), as of [`packet_time`]: what a
/// client does not hear of an access point.
pub const CONTENTION: Contention = Contention { backoff_s: 7.5 * 9e-6, doublings: 6, retries: RETRIES };

/// A packet of 1500 bytes in an encrypted QoS frame: header, LLC, CCMP, checksum.
const FRAME_BITS: u64 = (1500 + 26 + 8 + 16 + 4) * 8;
/// SIFS, with the 6 µs of silence that make it as long in 2.4 GHz, and AIFS with short slots.
const SPACES: Duration = Duration::from_micros(16 + 43);
/// An acknowledgement at 24 Mbit/s, and a Block Ack.
const ACK: Duration = Duration::from_micros(28);
const BLOCK_ACK: Duration = Duration::from_micros(32);

/// What a packet of 1500 bytes takes where a frame was heard at this rate, bit/s, behind this
/// preamble: the frame's own length does not count. `None`: the rate is none.
pub fn air(rate_bps: u64, preamble: Duration, aggregate: Option<u32>) -> Option<Air> {
    let payload_ns = (FRAME_BITS * 1_000_000_000).checked_div(rate_bps)?;
    let answer = if aggregate.is_some() { BLOCK_ACK } else { ACK };
    Some(Air { payload: Duration::from_nanos(payload_ns), overhead: preamble + SPACES + answer, aggregate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_the_levels_of_the_standard() {
        for (dbm, width, generation, mbps) in [
            (-64.0, 20, Generation::Ht, 65.0),
            (-64.1, 20, Generation::Ht, 58.5),
            (-50.0, 20, Generation::Vht, 78.0),
            (-50.0, 20, Generation::Legacy, 54.0),
            (-50.0, 80, Generation::Legacy, 54.0),
            (-61.0, 40, Generation::Ht, 121.5),
            (-60.9, 40, Generation::Ht, 135.0),
            (-52.0, 80, Generation::Vht, 351.0),
            (-95.0, 20, Generation::Ht, 6.5),
        ] {
            let got = expected_bps(dbm, width, generation) / 1e6;
            assert!((got - mbps).abs() < 0.01, "{dbm} dBm {width} MHz {generation:?}: {got}");
        }
    }

    #[test]
    fn a_packet_takes_longer_with_less_rate_and_more_loss() {
        let us = |mbps: f64, loss, g| packet_time(mbps * 1e6, loss, g).unwrap().as_micros();
        // 185 µs of bits, an eighth of 178 µs of overhead and backoff.
        assert_eq!(us(65.0, 0.0, Generation::Ht), 206);
        assert_eq!(us(54.0, 0.0, Generation::Legacy), 399);
        assert!(us(65.0, 0.5, Generation::Ht) >= 2 * 206);
        assert!(us(6.5, 0.0, Generation::Ht) > 1_800);
        assert_eq!(packet_time(0.0, 0.0, Generation::Ht), None);
        assert_eq!(packet_time(1e6, 1.0, Generation::Ht), None);
    }

    #[test]
    fn a_heard_frame_has_the_air_of_a_long_packet_at_its_rate() {
        let us = Duration::from_micros;
        let alone = air(54_000_000, us(20), None).unwrap();
        assert_eq!((alone.payload.as_micros(), alone.overhead), (230, us(107)));
        let one_of_many = air(65_000_000, us(36), Some(7)).unwrap();
        assert_eq!((one_of_many.payload.as_micros(), one_of_many.overhead), (191, us(127)));
        assert_eq!(one_of_many.aggregate, Some(7));
        assert_eq!(air(0, us(20), None), None);
        // Nothing overflows, whatever is said.
        assert_eq!(air(1, us(20), None).unwrap().payload, Duration::from_secs(12_432));
    }
}
