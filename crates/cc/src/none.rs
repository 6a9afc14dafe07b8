//! No congestion control: a window that does not move, for links that limit what is on the way themselves.
//!
//! Under the backpressure scheduler the links' completions say how much may be on the way. A
//! controller above them would answer the link's own queue, which is meant to be there (MF-5), with
//! less. Not for the Internet: nothing here answers loss or delay.

use super::{Ack, Controller, Loss, Sibling};
use ropewalk_time::Time;

/// Datagrams in the window: the largest device threshold and 20 ms of the fastest links, whose acknowledgements come seldom, so that it never binds there, and
/// a bound on what floods the way where nothing else is.
const WINDOW: u64 = 2048;

/// The controller that controls nothing.
#[derive(Clone, Debug)]
pub struct NoControl {
    mtu: u64,
    rate_bps: f64,
}

impl NoControl {
    /// For datagrams of `mtu` bytes on the wire.
    pub fn new(mtu: u64) -> Self {
        NoControl { mtu, rate_bps: 0.0 }
    }
}

impl Controller for NoControl {
    fn name(&self) -> &'static str {
        "none"
    }

    fn listens(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _now: Time, _bytes: u64, _inflight: u64) {}

    fn on_ack(&mut self, ack: &Ack, _siblings: &[Sibling]) {
        let sample = ack.delivery_rate_bps as f64;
        if !ack.app_limited || sample > self.rate_bps {
            self.rate_bps += (sample - self.rate_bps) / 8.0;
        }
    }

    fn on_loss(&mut self, _loss: &Loss, _siblings: &[Sibling]) {}

    fn reset(&mut self, _now: Time) {
        self.rate_bps = 0.0;
    }

    fn set_mtu(&mut self, bytes: u64) {
        self.mtu = bytes.max(1);
    }

    fn window(&self) -> u64 {
        WINDOW * self.mtu
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        None
    }

    fn bandwidth_bps(&self) -> u64 {
        self.rate_bps as u64
    }
}
