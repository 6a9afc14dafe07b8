//! What a transmission's power is when it arrives.
//!
//! Received power = transmit power + antenna gains − path loss − shadowing + fading − blockage. Each term is a model of its own:
//!
//! * [`LogDistance`] – the mean, by distance, where it is not told pair by pair
//!   ([`AirSpec::path_loss_overrides`](crate::wifi::AirSpec)).
//! * [`Shadowing`] – what stands in the way, drawn once per link.
//! * [`Fading`] – Rayleigh or Rician, correlated in time.
//! * [`sixty`] – sectors, blockage and beam training of 60 GHz.
//!
//! Chance has no state here: shadowing and fading are functions of seed, link and time ([`Link`]), so it does not matter
//! who looks, how often, or in which order.

mod chance;
mod fading;
mod loss;
pub mod sixty;

pub use chance::Link;
pub use fading::{Fading, FadingKind};
pub use loss::{LogDistance, Shadowing};
pub use sixty::SectorAntenna;

/// A value that a propagation model cannot take.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PropagationError {
    /// Not finite, or outside its range.
    #[error("{what} is {value}; it must be {range}")]
    OutOfRange {
        /// The value's name.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What is possible.
        range: &'static str,
    },
}

/// Refuses a value outside `low..=high`, or that is no number.
pub(crate) fn within(
    what: &'static str,
    value: f64,
    (low, high): (f64, f64),
    range: &'static str,
) -> Result<(), PropagationError> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(PropagationError::OutOfRange { what, value, range })
    }
}
