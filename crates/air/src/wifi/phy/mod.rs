//! The physical layer: what the standard says about rates, times, channels and errors. Everything here is a function of
//! its arguments; who sends when is the business of `medium` and `mac`.
//!
//! * [`Standard`], [`Band`], [`Timing`] – slots and interframe spaces.
//! * [`Rate`] – every legal combination of MCS, streams, width and guard interval.
//! * [`duration`] – PPDUs, control frames, how much fits, who answers at which rate.
//! * [`Channel`], [`SpectralMask`] – where channels lie, and how much of a transmission falls into another.
//! * [`ErrorModel`] – the probability that a frame is understood at a signal-to-interference-and-noise ratio.
//! * [`decibel`] – dB, dBm, thermal noise.
//!
//! Clauses are those of IEEE 802.11-2020 unless another is named.

mod cck;
mod channel;
pub mod decibel;
pub mod duration;
mod error;
mod rate;
mod spectrum;
mod standard;

pub use channel::{Channel, ChannelError, Secondary};
pub(crate) use error::AtRate;
pub use error::{ErrorModel, PREAMBLE_MIN_SNR_DB};
pub use rate::{Format, GuardInterval, Rate, RateError, Width, legacy_rates, mcs_rates};
pub use spectrum::{Span, SpectralMask};
pub use standard::{Band, SlotLength, Standard, Timing};
