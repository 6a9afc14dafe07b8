//! Rate control: which rate a frame to a peer is sent at, how often it is tried, and what follows.
//!
//! One [`RateControl`] serves one peer of one radio. It is asked before a frame (or aggregate) is first sent, and answers
//! with a chain of up to [`MAX_STAGES`] stages, as Linux's multi-rate retry does. Once the frame is done, it is told
//! what each stage came to.
//!
//! | algorithm | what it does |
//! |---|---|
//! | [`Fixed`] | one rate |
//! | [`Drawn`] | one of two rates in each step of time, by their shares in a log |
//! | [`Ideal`] | knows the SNR and takes the rate that carries most; an upper bound |
//! | [`Minstrel`] | Linux's for 802.11a/b/g: by measured throughput, many retries at high rates |
//! | [`MinstrelHt`] | Linux's for 802.11n/ac |
//! | [`PacketFair`] | the fastest rate that hardly ever fails; the multi-AP paper's bad case |

mod cost;
mod drawn;
mod fixed;
mod ideal;
mod minstrel;
mod minstrel_ht;
mod packet_fair;

use core::fmt;

pub use cost::AccessCost;
pub use drawn::{Draw, Drawn};
pub use fixed::Fixed;
pub use ideal::{Ideal, best_rate};
pub use minstrel::Minstrel;
pub use minstrel_ht::MinstrelHt;
pub use packet_fair::PacketFair;

use super::phy::Rate;
use crate::Time;

/// Stages of a chain (mac80211's `IEEE80211_TX_MAX_RATES`).
pub const MAX_STAGES: usize = 4;

/// What is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectCtx {
    /// MPDU length with header and FCS, bytes; of an aggregate the longest one's.
    pub mpdu_bytes: u32,
    /// MPDUs that wait and could go together, at least 1. How many do is decided by the rate's longest PPDU.
    pub mpdus: u16,
    /// The mean SNR that the peer has of this radio over 20 MHz, dB, with fading as it is now; none if unknown. Only
    /// [`Ideal`] looks at it: a real sender is not told.
    pub snr_db: Option<f64>,
}

/// One step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Rate.
    pub rate: Rate,
    /// Transmissions at this rate before the next stage is taken, at least 1.
    pub tries: u8,
    /// Whether RTS and CTS go before each of them, whatever the RTS threshold says.
    pub rts: bool,
}

/// What to try, in this order. If the MAC's retry limit comes first it ends the chain; if the chain ends first, the MAC goes
/// on with its last stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateChain {
    stages: [Stage; MAX_STAGES],
    len: u8,
    /// The first stage is a probe: the frame goes alone, not in an aggregate.
    pub probe: bool,
}

impl RateChain {
    /// A chain of one stage.
    pub fn single(rate: Rate, tries: u8) -> RateChain {
        let stage = Stage { rate, tries: tries.max(1), rts: false };
        RateChain { stages: [stage; MAX_STAGES], len: 1, probe: false }
    }

    /// These stages, the first four; none if there are none.
    pub fn of(stages: &[Stage]) -> Option<RateChain> {
        let first = stages.first()?;
        let mut chain = RateChain::single(first.rate, first.tries);
        chain.stages[0].rts = first.rts;
        Some(stages[1..].iter().fold(chain, |chain, stage| chain.then(*stage)))
    }

    /// Transmissions in all.
    pub fn tries(&self) -> u32 {
        self.stages().iter().map(|stage| u32::from(stage.tries)).sum()
    }

    /// One more stage behind the others; ignored when the chain is full.
    pub fn then(mut self, stage: Stage) -> RateChain {
        if let Some(place) = self.stages.get_mut(usize::from(self.len)) {
            *place = Stage { tries: stage.tries.max(1), ..stage };
            self.len += 1;
        }
        self
    }

    /// The stages, at least one.
    pub fn stages(&self) -> &[Stage] {
        &self.stages[..usize::from(self.len)]
    }

    /// The stage of the n-th transmission, from 0, and its place in the chain.
    pub fn stage_of(&self, transmission: u32) -> (usize, Stage) {
        let mut left = transmission;
        for (place, stage) in self.stages().iter().enumerate() {
            if left < u32::from(stage.tries) {
                return (place, *stage);
            }
            left -= u32::from(stage.tries);
        }
        let last = self.stages().len() - 1;
        (last, self.stages[last])
    }
}

/// What came of one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageReport {
    /// Rate.
    pub rate: Rate,
    /// PPDUs sent at it, failed RTS exchanges included.
    pub attempts: u16,
    /// MPDUs in them, each counted as often as it was sent. An RTS that failed counts as all of its MPDUs.
    pub mpdus_sent: u16,
    /// MPDUs that were acknowledged.
    pub mpdus_acked: u16,
}

/// What came of a frame or aggregate, once it is delivered or given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxReport {
    stages: [StageReport; MAX_STAGES],
    len: u8,
    /// MPDUs of the aggregate when it was first sent.
    pub mpdus: u16,
    /// Whether the chain was a probe.
    pub probe: bool,
}

impl TxReport {
    /// An empty report for a chain.
    pub fn new(chain: &RateChain, mpdus: u16) -> TxReport {
        let empty = |s: Stage| StageReport { rate: s.rate, attempts: 0, mpdus_sent: 0, mpdus_acked: 0 };
        TxReport { stages: chain.stages.map(empty), len: chain.len, mpdus, probe: chain.probe }
    }

    /// Counts one transmission in stage `place`.
    pub fn count(&mut self, place: usize, sent: u16, acked: u16) {
        if let Some(stage) = self.stages[..usize::from(self.len)].get_mut(place) {
            stage.attempts = stage.attempts.saturating_add(1);
            stage.mpdus_sent = stage.mpdus_sent.saturating_add(sent);
            stage.mpdus_acked = stage.mpdus_acked.saturating_add(acked);
        }
    }

    /// The stages in order; those that were not reached have no attempts.
    pub fn stages(&self) -> &[StageReport] {
        &self.stages[..usize::from(self.len)]
    }

    /// MPDUs acknowledged in all.
    pub fn acked(&self) -> u16 {
        self.stages().iter().map(|s| s.mpdus_acked).sum()
    }
}

/// An algorithm, for one peer.
pub trait RateControl: fmt::Debug + Send {
    /// Its name in scenarios and reports.
    fn name(&self) -> &'static str;

    /// How to send what `ctx` describes. Called once per frame or aggregate, when it is first put on the air.
    fn select(&mut self, now: Time, ctx: &SelectCtx) -> RateChain;

    /// What came of it.
    fn report(&mut self, now: Time, report: &TxReport);
}

#[cfg(test)]
mod steps;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_end_with_their_last_stage() {
        let rate = |mbps: u64| Rate::legacy(mbps * 1_000_000).unwrap();
        let chain = RateChain::single(rate(54), 2).then(Stage { rate: rate(6), tries: 0, rts: true });
        let at = |n| (chain.stage_of(n).0, chain.stage_of(n).1.rate);
        assert_eq!((at(0), at(1), at(2), at(9)), ((0, rate(54)), (0, rate(54)), (1, rate(6)), (1, rate(6))));
        assert_eq!(chain.stages()[1].tries, 1);
        let full = (0..9).fold(chain, |c, _| c.then(Stage { rate: rate(12), tries: 1, rts: false }));
        assert_eq!(full.stages().len(), MAX_STAGES);
    }

    #[test]
    fn reports_add_up() {
        let rate = Rate::legacy(54_000_000).unwrap();
        let mut report = TxReport::new(&RateChain::single(rate, 4), 8);
        report.count(0, 8, 5);
        report.count(0, 3, 3);
        report.count(7, 1, 1);
        assert_eq!(report.stages(), [StageReport { rate, attempts: 2, mpdus_sent: 11, mpdus_acked: 8 }]);
        assert_eq!(report.acked(), 8);
    }
}
