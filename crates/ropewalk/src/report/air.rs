//! The air under a path.

use ropewalk_bond::airtime::AirStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The air that packets take on a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Air {
    /// Air of a delivered packet of 1500 bytes, microseconds.
    pub packet_time_us: u64,
    /// The client's number of the radio channel; paths of one number share its air.
    pub channel: u8,
    /// It carries nothing but control: a better path of its channel has use for all the air.
    pub rests: bool,
}

impl Air {
    pub(super) fn new(status: AirStatus) -> Air {
        let packet_time_us = status.air.packet_time.as_micros().try_into().unwrap_or(u64::MAX);
        Air { packet_time_us, channel: status.air.channel, rests: status.rests }
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        let rests = if self.rests { ", rests: a better path fills the channel" } else { "" };
        format!("{} us a packet{rests}", self.packet_time_us)
    }
}
