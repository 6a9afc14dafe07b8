//! What a frame costs in time, for algorithms that weigh rates against each other and bound their retries.

use core::time::Duration;

use crate::wifi::phy::{Band, Rate, Timing, duration};

/// Packets on which Linux bases its choice: 1200 bytes, by sixteen in aggregates (minstrel_ht, `AVG_PKT_SIZE`).
pub(super) const MODEL_BYTES: u32 = 1200;
/// See [`MODEL_BYTES`].
pub(super) const MODEL_MPDUS: u32 = 16;
/// Time that one stage of a chain may take: longer retries at one rate make TCP see a delay (Minstrel's documentation).
const STAGE_TIME: Duration = Duration::from_micros(6000);
/// Most tries of a stage.
const MAX_TRIES: u8 = 7;

/// The cell's timing, as rate control knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessCost {
    /// Slots and spaces.
    pub timing: Timing,
    /// Band.
    pub band: Band,
    /// Rates at which answers come.
    pub basic: Vec<Rate>,
}

impl AccessCost {
    /// Everything around the data of an exchange but the backoff: DIFS, SIFS, and the answer.
    pub(super) fn overhead(&self, rate: Rate, aggregated: bool) -> Duration {
        let answer_rate = duration::response_rate(rate, &self.basic);
        let answer = if aggregated {
            duration::block_ack(answer_rate, self.band)
        } else {
            duration::ack(answer_rate, self.band)
        };
        self.timing.difs() + self.timing.sifs + answer
    }

    /// RTS, CTS and their spaces, which come before.
    fn rts_cts(&self, rate: Rate) -> Duration {
        let control = duration::response_rate(rate, &self.basic);
        duration::rts(control, self.band) + duration::cts(control, self.band) + 2 * self.timing.sifs
    }

    /// A PPDU of so many model packets at this rate.
    pub(super) fn data(&self, rate: Rate, mpdus: u32) -> Duration {
        let bytes = if mpdus > 1 { duration::ampdu_bytes(MODEL_BYTES, mpdus) } else { MODEL_BYTES };
        duration::ppdu(rate, bytes, self.band)
    }

    /// How often a stage tries: twice, and as often more as its time allows, counting that the contention window
    /// doubles from try to try.
    pub(super) fn tries(&self, rate: Rate, mpdus: u32, rts: bool) -> u8 {
        let protection = if rts { self.rts_cts(rate) } else { Duration::ZERO };
        let exchange = self.data(rate, mpdus) + self.overhead(rate, mpdus > 1) + protection;
        let (mut window, mut time) = (u32::from(self.timing.cw_min), Duration::ZERO);
        for tries in 0..MAX_TRIES {
            time += exchange + self.timing.slot * (window / 2);
            if tries >= 2 && time > STAGE_TIME {
                return tries;
            }
            window = (2 * window + 1).min(u32::from(self.timing.cw_max));
        }
        MAX_TRIES
    }
}

#[cfg(test)]
pub(super) fn in_5_ghz() -> AccessCost {
    use crate::wifi::phy::{SlotLength, Standard};
    AccessCost {
        timing: Timing::new(Standard::Ac, Band::Ghz5, SlotLength::Short),
        band: Band::Ghz5,
        basic: duration::default_basic_rates(Standard::Ac, Band::Ghz5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rates_get_fewer_tries() {
        let cost = in_5_ghz();
        let tries = |mbps: u64| cost.tries(Rate::legacy(mbps * 1_000_000).unwrap(), 1, false);
        // 6 Mb/s: 1624 µs of data, 94 of overhead; with windows of 15, 31, 63: 1786, 1858, 1997 µs: three fit.
        // 54 Mb/s: 276 µs and 63, 135, 279, 567, 1143 and 2295 µs of backoff: five fit, not six.
        assert_eq!((tries(6), tries(54)), (3, 5));
        assert!(cost.tries(Rate::legacy(6_000_000).unwrap(), 1, true) <= 3);
    }
}
