//! A radio of Ropewalk's lab: one connection to its socket for each question.

use std::time::Duration;

use super::{ChannelError, ChannelSwitch};
use crate::feedback;

/// A radio of the lab.
#[derive(Debug)]
pub struct LabRadio {
    interface: String,
}

impl LabRadio {
    /// The radio of `interface`.
    ///
    /// # Errors
    /// [`ChannelError::Nobody`], where this is no radio of a lab.
    pub fn open(interface: &str) -> Result<LabRadio, ChannelError> {
        let radio = LabRadio { interface: interface.to_owned() };
        radio.state().map(|_| radio)
    }

    fn at(&self) -> String {
        format!("@{}", feedback::socket_name(&self.interface))
    }

    fn state(&self) -> Result<u32, ChannelError> {
        let nobody = |e: feedback::FeedbackError| ChannelError::Nobody {
            at: self.at(),
            why: std::io::Error::other(e.to_string()),
        };
        let mut link = feedback::open_lab(&self.interface, Duration::from_secs(1)).map_err(nobody)?;
        let channel = link.read().map_err(nobody)?.channel;
        Ok(channel.map_or(0, |c| c.frequency_mhz))
    }
}

impl ChannelSwitch for LabRadio {
    fn channel_mhz(&mut self) -> Result<u32, ChannelError> {
        self.state()
    }

    fn announce(&mut self, to_mhz: u32, beacons: u8) -> Result<(), ChannelError> {
        feedback::announce(&self.interface, to_mhz, beacons).map_err(|e| ChannelError::Refused {
            at: self.at(),
            asked: format!("channel {to_mhz} MHz"),
            answer: e.to_string(),
        })
    }
}
