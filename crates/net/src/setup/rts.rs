//! From what length on a radio protects its frames by RTS/CTS (IEEE 802.11-2020, 10.3.2.9), and how often it tries them (10.3.3).
//!
//! The stations of a repeater often do not hear its access point, and both send to the repeater on one channel. What they send at the same time is lost as a whole
//! aggregate; an RTS is short, and the repeater's answer silences those who did not hear it.

use serde::{Deserialize, Serialize};

use super::{Change, Journal, SetupError};
use crate::feedback::{is_without_ht, rts_threshold, set_rts_threshold, set_tries, tries};

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

/// How often a radio tried a short frame and a long one before, and how often it does now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// One of its interfaces.
    pub interface: String,
    /// What it was.
    pub before: (u8, u8),
    /// What it becomes.
    pub after: (u8, u8),
}

impl Tries {
    pub(super) fn set(&self) -> Result<(), SetupError> {
        self.write(self.after)
    }

    /// Gives the old values back, unless somebody else has changed them since or the radio is gone.
    pub(super) fn restore(&self) -> Result<(), SetupError> {
        match tries(&self.interface) {
            Some(now) if now == self.after => self.write(self.before),
            _ => Ok(()),
        }
    }

    fn write(&self, to: (u8, u8)) -> Result<(), SetupError> {
        let what = || format!("setting how often {} tries a frame", self.interface);
        set_tries(&self.interface, to).map_err(|e| SetupError::system(what(), e))
    }
}

/// Whether RTS/CTS may pay under `interface`: it takes about 90 µs, which is little beside an aggregate, and a tenth of the air where 802.11a or g sends each frame by itself.
pub fn is_worth_protecting(interface: &str) -> bool {
    !is_without_ht(interface)
}

/// Lets the radio under `interface` send an RTS before frames of more than `bytes`, and try frames `at_least` so often. `false`: it is no radio, or its threshold is no
/// higher; then nothing is changed.
///
/// # Errors
/// The driver does not take a threshold or a number of tries, or the journal cannot be written.
pub fn protect(journal: &mut Journal, interface: &str, bytes: u32, at_least: u8) -> Result<bool, SetupError> {
    let Some(before) = rts_threshold(interface).filter(|now| *now > bytes) else { return Ok(false) };
    let interface = interface.to_owned();
    // Also of a radio that went and came: it is noted once.
    journal.make_again(Change::RtsThreshold(RtsThreshold {
        interface: interface.clone(),
        before,
        after: bytes,
    }))?;
    if let Some(before) = tries(&interface) {
        let after = (before.0.max(at_least), before.1.max(at_least));
        if after != before {
            journal.make_again(Change::Tries(Tries { interface, before, after }))?;
        }
    }
    Ok(true)
}

fn write(interface: &str, bytes: u32) -> Result<(), SetupError> {
    let what = || format!("setting the RTS threshold of {interface}");
    set_rts_threshold(interface, bytes).map_err(|e| SetupError::system(what(), e))
}
