//! The best rate for the SNR that there is.

use super::{RateChain, RateControl, SelectCtx, TxReport};
use crate::Time;
use crate::wifi::phy::decibel::ratio_from_db;
use crate::wifi::phy::{ErrorModel, Rate};

/// The length for which the table of SNRs is made, bytes: an Ethernet packet with its 802.11 header.
const MODEL_BYTES: u32 = 1536;
/// A rate is taken where it delivers this share at first try. Above it a higher rate brings more than retries cost.
const LEAST_SUCCESS: f64 = 0.9;

/// Knows the SNR at the receiver before it sends, and takes the fastest rate that it supports: ns-3's Ideal manager, and an upper
/// bound of what any rate control can do as long as interference is not the cause of losses.
#[derive(Debug, Clone)]
pub struct Ideal {
    /// Rates with the least SNR over 20 MHz, dB, that they need; slowest first, none slower at higher need.
    table: Vec<(Rate, f64)>,
}

impl Ideal {
    /// Chooses among `rates`, which must not be empty.
    pub fn new(rates: &[Rate], errors: &ErrorModel) -> Ideal {
        let needs = |rate: Rate| {
            let sinr_db = errors.sinr_db_for(rate, 8 * MODEL_BYTES, LEAST_SUCCESS);
            // Power over a wider PPDU meets more noise.
            (rate, sinr_db + wider_db(rate))
        };
        let mut table: Vec<(Rate, f64)> = rates.iter().copied().map(needs).collect();
        // Fastest first; keep a rate only if it needs less than all faster ones.
        table.sort_by(|a, b| b.0.bps().cmp(&a.0.bps()).then(a.1.total_cmp(&b.1)));
        let mut least = f64::INFINITY;
        table.retain(|(_, need)| {
            *need < least && {
                least = *need;
                true
            }
        });
        table.reverse();
        Ideal { table }
    }

    /// The fastest rate that delivers nine of ten frames at this SNR over 20 MHz, or the slowest of all.
    pub fn rate_for(&self, snr_db: f64) -> Rate {
        let fitting = self.table.partition_point(|(_, need)| *need <= snr_db);
        self.table[fitting.max(1) - 1].0
    }
}

/// By how many dB a PPDU's width raises the noise over that of 20 MHz. DMG's SNR is already that of its own width.
fn wider_db(rate: Rate) -> f64 {
    match rate.width().mhz() {
        40 => 10.0 * core::f64::consts::LOG10_2,
        80 => 20.0 * core::f64::consts::LOG10_2,
        _ => 0.0,
    }
}

/// The rate among `rates` that carries the most bits per second of PSDU in the mean, at this SNR over 20 MHz and for
/// frames of this many bytes, retries counted, access times left out. None if `rates` is empty or nothing arrives.
pub fn best_rate(rates: &[Rate], errors: &ErrorModel, snr_db: f64, mpdu_bytes: u32) -> Option<Rate> {
    let goodput = |rate: &Rate| {
        let sinr = ratio_from_db(snr_db - wider_db(*rate));
        rate.bps() as f64 * errors.success(*rate, sinr, 8 * mpdu_bytes)
    };
    let best = rates.iter().max_by(|a, b| goodput(a).total_cmp(&goodput(b)))?;
    (goodput(best) > 0.0).then_some(*best)
}

impl RateControl for Ideal {
    fn name(&self) -> &'static str {
        "ideal"
    }

    fn select(&mut self, _: Time, ctx: &SelectCtx) -> RateChain {
        let rate = self.rate_for(ctx.snr_db.unwrap_or(f64::NEG_INFINITY));
        RateChain::single(rate, u8::MAX)
    }

    fn report(&mut self, _: Time, _: &TxReport) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::phy::{Band, Standard, Width, legacy_rates, mcs_rates};

    #[test]
    fn steps_up_with_snr() {
        let errors = ErrorModel::new();
        let mut ideal = Ideal::new(&legacy_rates(Standard::A, Band::Ghz5), &errors);
        let mut at = |snr_db| {
            let ctx = SelectCtx { mpdu_bytes: 1536, mpdus: 1, snr_db };
            ideal.select(Time::ZERO, &ctx).stages()[0].rate.mbps()
        };
        assert_eq!((at(Some(-9.0)), at(Some(5.0)), at(None)), (6.0, 6.0, 6.0));
        // 9 Mb/s needs no less than 12 and is never chosen.
        let chosen: Vec<f64> = (0..30).map(|snr| at(Some(f64::from(snr)))).collect();
        assert!(chosen.is_sorted() && !chosen.contains(&9.0), "{chosen:?}");
        assert_eq!((at(Some(21.9)), at(Some(23.0))), (48.0, 54.0));
    }

    #[test]
    fn a_wide_channel_is_worth_its_noise_only_when_near() {
        let errors = ErrorModel::new();
        let rates = mcs_rates(Standard::Ac, Width::Mhz80, 2, true);
        let ideal = Ideal::new(&rates, &errors);
        assert_eq!(ideal.rate_for(60.0).to_string(), "VHT80 MCS9 x2 SGI");
        let widths: Vec<u32> = [6.0, 60.0].map(|snr| ideal.rate_for(snr).width().mhz()).to_vec();
        assert_eq!(widths, [20, 80]);
    }

    #[test]
    fn is_close_to_the_best() {
        let errors = ErrorModel::new();
        let rates = mcs_rates(Standard::N, Width::Mhz20, 1, false);
        let ideal = Ideal::new(&rates, &errors);
        for tenth in 50..300 {
            let snr_db = f64::from(tenth) / 10.0;
            let best = best_rate(&rates, &errors, snr_db, MODEL_BYTES).unwrap();
            assert!(ideal.rate_for(snr_db).mcs() + 1 >= best.mcs(), "{snr_db}");
        }
        assert_eq!(best_rate(&rates, &errors, -30.0, MODEL_BYTES), None);
    }
}
