//! From what length on a radio protects its frames by RTS/CTS (IEEE 802.11-2020, 10.3.2.9).
//!
//! The stations of a repeater often do not hear its access point, and both send to the repeater on one channel. What they send at the same time is lost as a whole
//! aggregate; an RTS is short, and the repeater's answer silences those who did not hear it.

use serde::{Deserialize, Serialize};

use super::{Change, Journal, SetupError};
use crate::feedback::{is_without_ht, rts_threshold, set_rts_threshold};

/// A radio's threshold before, and the one it gets, bytes of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RtsThreshold {
    /// One of its interfaces.
    pub interface: String,
    /// What it was; `u32::MAX`: none.
    pub before: u32,
    /// What it becomes.
    pub after: u32,
}

impl RtsThreshold {
    pub(super) fn set(&self) -> Result<(), SetupError> {
        write(&self.interface, self.after)
    }

    /// Gives the old value back, unless somebody else has changed it since or the radio is gone.
    pub(super) fn restore(&self) -> Result<(), SetupError> {
        match rts_threshold(&self.interface) {
            Some(now) if now == self.after => write(&self.interface, self.before),
            _ => Ok(()),
        }
    }
}

/// Whether RTS/CTS may pay under `interface`: it takes about 90 µs, which is little beside an aggregate, and a tenth of the air where 802.11a or g sends each frame by itself.
pub fn is_worth_protecting(interface: &str) -> bool {
    !is_without_ht(interface)
}

/// Lets the radio under `interface` send an RTS before frames of more than `bytes`. `false`: it is no radio, or its threshold is no higher.
///
/// # Errors
/// The driver does not take a threshold, or the journal cannot be written.
pub fn protect(journal: &mut Journal, interface: &str, bytes: u32) -> Result<bool, SetupError> {
    let Some(before) = rts_threshold(interface).filter(|now| *now > bytes) else { return Ok(false) };
    let interface = interface.to_owned();
    journal.make(Change::RtsThreshold(RtsThreshold { interface, before, after: bytes }))?;
    Ok(true)
}

fn write(interface: &str, bytes: u32) -> Result<(), SetupError> {
    let what = || format!("setting the RTS threshold of {interface}");
    set_rts_threshold(interface, bytes).map_err(|e| SetupError::system(what(), e))
}
