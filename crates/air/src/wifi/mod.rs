//! 802.11: who may speak when, who hears it, and what it costs.
//!
//! * [`phy`] – rates, times, channels, error rates.
//! * [`rate`] – rate control.

pub mod phy;
pub mod propagation;
pub mod rate;
