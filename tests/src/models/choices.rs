//! Which rates Minstrel_HT settles on, and how fast, at SNRs that change in steps.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_air::wifi::phy::duration::default_basic_rates;
use ropewalk_air::wifi::phy::{
    Band, ErrorModel, Rate, SlotLength, Standard, Timing, Width, decibel, mcs_rates,
};
use ropewalk_air::wifi::rate::{AccessCost, MinstrelHt, RateControl, SelectCtx, TxReport, best_rate};

use super::{Row, Table};

/// MPDUs of an aggregate, and its length: what a saturated sender has.
const MPDUS: u16 = 24;
const MPDU_BYTES: u32 = 1538;

/// A sender under Minstrel_HT, and a channel at an SNR.
struct Sender {
    control: MinstrelHt,
    errors: ErrorModel,
    rng: ChaCha8Rng,
    now: Time,
}

impl Sender {
    /// Sends for a while at an SNR; returns Mb/s of MPDUs that arrived per Mb/s of time on the air.
    fn send(&mut self, snr_db: f64, length: Duration) -> f64 {
        let (end, mut bits, begin) = (self.now + length, 0.0, self.now);
        while self.now < end {
            let ctx = SelectCtx { mpdu_bytes: MPDU_BYTES, mpdus: MPDUS, snr_db: None };
            let chain = self.control.select(self.now, &ctx);
            let count = if chain.probe { 1 } else { MPDUS };
            let mut report = TxReport::new(&chain, count);
            let mut left = count;
            for transmission in 0..8 {
                let (place, stage) = chain.stage_of(transmission);
                let acked = (0..left).filter(|_| self.arrives(stage.rate, snr_db)).count() as u16;
                report.count(place, left, acked);
                self.now += airtime(stage.rate, left);
                bits += f64::from(acked) * f64::from(MPDU_BYTES) * 8.0;
                left -= acked;
                if left == 0 {
                    break;
                }
            }
            self.control.report(self.now, &report);
        }
        bits / (self.now.since(begin)).as_secs_f64() / 1e6
    }

    fn arrives(&mut self, rate: Rate, snr_db: f64) -> bool {
        let success = self.errors.success(rate, decibel::ratio_from_db(snr_db), MPDU_BYTES * 8);
        self.rng.random::<f64>() < success
    }
}

/// Access, preamble, data and Block Ack.
fn airtime(rate: Rate, mpdus: u16) -> Duration {
    let data = f64::from(mpdus) * f64::from(MPDU_BYTES + 4) * 8.0 / rate.mbps();
    Duration::from_nanos(((110.5 + 40.0 + data + 16.0 + 32.0) * 1e3) as u64)
}

/// After 2 s at each SNR of a staircase: goodput over another 2 s, of what the best single rate gives there.
pub(super) fn minstrel_ht() -> Table {
    let rates = mcs_rates(Standard::N, Width::Mhz20, 2, false);
    let timing = Timing::new(Standard::N, Band::Ghz5, SlotLength::Short);
    let cost = AccessCost { timing, band: Band::Ghz5, basic: default_basic_rates(Standard::N, Band::Ghz5) };
    let control = MinstrelHt::new(&rates, &cost, 1);
    let (errors, rng) = (ErrorModel::new(), ChaCha8Rng::seed_from_u64(2));
    let mut sender = Sender { control, errors, rng, now: Time::ZERO };
    let settle = Duration::from_secs(2);
    let mut rows = Vec::new();
    for snr_db in [30.0, 20.0, 12.0, 7.0, 15.0, 25.0, 35.0] {
        sender.send(snr_db, settle);
        let got = sender.send(snr_db, settle);
        let best = best_rate(&rates, &sender.errors, snr_db, MPDU_BYTES).expect("some rate works at 7 dB");
        let arrives = sender.errors.success(best, decibel::ratio_from_db(snr_db), MPDU_BYTES * 8);
        let expected = f64::from(MPDUS) * f64::from(MPDU_BYTES) * 8.0 * arrives
            / airtime(best, MPDUS).as_secs_f64()
            / 1e6;
        let case = format!("{snr_db} dB ({best})");
        rows.push(Row::between(case, (0.85 * expected, 1.02 * expected), got, 0.0));
    }
    Table { name: "minstrel-ht", unit: "ours, Mb/s", source: "85 to 102 % of the best rate's, Mb/s", rows }
}
