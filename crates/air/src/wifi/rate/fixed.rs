//! One rate, whatever happens.

use super::{RateChain, RateControl, SelectCtx, TxReport};
use crate::Time;
use crate::wifi::phy::Rate;

/// Always the same rate; the MAC's retry limit decides how often.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    chain: RateChain,
}

impl Fixed {
    /// Always `rate`.
    pub fn new(rate: Rate) -> Fixed {
        Fixed { chain: RateChain::single(rate, u8::MAX) }
    }
}

impl RateControl for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn select(&mut self, _: Time, _: &SelectCtx) -> RateChain {
        self.chain
    }

    fn report(&mut self, _: Time, _: &TxReport) {}
}
