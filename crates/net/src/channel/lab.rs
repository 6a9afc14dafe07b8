//! A radio of Ropewalk's lab: its states are read as they come, and each switch is asked for by a connection of its own.

use std::fmt;
use std::time::Duration;

use super::{ChannelError, ChannelSwitch};
use crate::feedback::{self, FeedbackError, LinkFeedback};

/// Between two states at least.
const EVERY: Duration = Duration::from_millis(5);

/// A radio of the lab.
pub struct LabRadio {
    interface: String,
    states: Box<dyn LinkFeedback>,
}

impl LabRadio {
    /// The radio of `interface`.
    ///
    /// # Errors
    /// [`ChannelError::Nobody`], where this is no radio of a lab.
    pub fn open(interface: &str) -> Result<LabRadio, ChannelError> {
        let states = feedback::open_lab(interface, EVERY).map_err(|e| nobody(interface, &e))?;
        Ok(LabRadio { interface: interface.to_owned(), states })
    }
}

impl ChannelSwitch for LabRadio {
    fn channel_mhz(&mut self) -> Result<u32, ChannelError> {
        let report = self.states.read().map_err(|e| nobody(&self.interface, &e))?;
        Ok(report.channel.map_or(0, |c| c.frequency_mhz))
    }

    fn announce(&mut self, to_mhz: u32, beacons: u8) -> Result<(), ChannelError> {
        feedback::announce(&self.interface, to_mhz, beacons).map_err(|e| ChannelError::Refused {
            at: at(&self.interface),
            asked: format!("channel {to_mhz} MHz"),
            answer: e.to_string(),
        })
    }
}

impl fmt::Debug for LabRadio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabRadio").field("interface", &self.interface).finish_non_exhaustive()
    }
}

fn at(interface: &str) -> String {
    format!("@{}", feedback::socket_name(interface))
}

fn nobody(interface: &str, error: &FeedbackError) -> ChannelError {
    ChannelError::Nobody { at: at(interface), why: std::io::Error::other(error.to_string()) }
}
