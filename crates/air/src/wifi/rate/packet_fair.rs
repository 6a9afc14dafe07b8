//! A rate control that wants every frame to arrive at first try.
//!
//! It keeps to the fastest rate that nearly never fails. Senders on one channel then lose equally little, draw from equally
//! small contention windows, and get equally many *packets*, however long each takes: a far access point at a low rate
//! takes most of the time. The multi-AP paper names this, rather than Minstrel_HT alone, as what halves the throughput of a client
//! with a subflow per access point (section 4.2; MA-18). The rules are ours: up after a time without losses, down at the first sign
//! of them, and longer waits after each failed step up, as in Adaptive ARF (Lacage et al., MSWiM 2004).

use core::time::Duration;

use super::{RateChain, RateControl, SelectCtx, Stage, TxReport};
use crate::Time;
use crate::wifi::phy::Rate;

/// A rate is left when less than this share of its MPDUs arrives, by a moving average over about 32 MPDUs.
const STAY: f64 = 0.97;
const WEIGHT: f64 = 1.0 / 32.0;
/// MPDUs by which a new rate shows what it can, and the share of them that must arrive for it to be kept.
const TRIAL_MPDUS: u32 = 32;
/// Time at a rate before the next one is tried; it doubles with each failure, up to the other.
const WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_millis(3200);

/// The fastest rate that hardly ever fails.
#[derive(Debug, Clone)]
pub struct PacketFair {
    /// Slowest first, every one faster than the one before.
    rates: Vec<Rate>,
    current: usize,
    share: f64,
    /// (MPDUs sent, acknowledged) at the next rate, while it is on trial.
    trial: Option<(u32, u32)>,
    next_trial: Time,
    wait: Duration,
}

impl PacketFair {
    /// Chooses among `rates`, which must not be empty.
    pub fn new(rates: &[Rate]) -> PacketFair {
        let mut rates = rates.to_vec();
        rates.sort_by_key(|r| r.bps());
        rates.dedup_by_key(|r| r.bps());
        PacketFair { rates, current: 0, share: 1.0, trial: None, next_trial: Time::ZERO + WAIT, wait: WAIT }
    }

    fn settle(&mut self, now: Time, current: usize, wait: Duration) {
        (self.current, self.share, self.trial, self.wait) = (current, 1.0, None, wait);
        self.next_trial = now + wait;
    }

    fn judge_trial(&mut self, now: Time, (sent, acked): (u32, u32)) {
        let missing = f64::from(sent - acked);
        if missing > (1.0 - STAY) * f64::from(TRIAL_MPDUS) + 1.0 {
            let wait = (2 * self.wait).min(LONGEST_WAIT);
            self.settle(now, self.current, wait);
        } else if sent >= TRIAL_MPDUS {
            self.settle(now, self.current + 1, WAIT);
        } else {
            self.trial = Some((sent, acked));
        }
    }
}

impl RateControl for PacketFair {
    fn name(&self) -> &'static str {
        "packet_fair"
    }

    fn select(&mut self, now: Time, _: &SelectCtx) -> RateChain {
        let last = self.rates.len() - 1;
        if self.trial.is_none() && self.current < last && now >= self.next_trial {
            self.trial = Some((0, 0));
        }
        let stage = |i: usize, tries| Stage { rate: self.rates[i], tries, rts: false };
        let below = stage(self.current.saturating_sub(1), 2);
        let lowest = stage(0, u8::MAX);
        match self.trial {
            Some(_) => RateChain::single(self.rates[self.current + 1], 1)
                .then(stage(self.current, 2))
                .then(below)
                .then(lowest),
            None => RateChain::single(self.rates[self.current], 2).then(below).then(lowest),
        }
    }

    fn report(&mut self, now: Time, report: &TxReport) {
        let Some(first) = report.stages().first() else { return };
        let (sent, acked) = (u32::from(first.mpdus_sent), u32::from(first.mpdus_acked));
        if first.rate == self.rates[self.current] {
            for i in 0..sent {
                let arrived = if i < acked { 1.0 } else { 0.0 };
                self.share += WEIGHT * (arrived - self.share);
            }
            if self.share < STAY && self.current > 0 {
                self.settle(now, self.current - 1, WAIT);
            }
        } else if let Some((before, before_acked)) = self.trial
            && self.rates.get(self.current + 1) == Some(&first.rate)
        {
            self.judge_trial(now, (before + sent, before_acked + acked));
        }
    }
}
