//! The air under a path.

use super::{Path, Peer};
use ropewalk_bond::airtime::AirStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

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
}

impl Peer {
    /// What is known of the air under a path, in one line.
    pub(crate) fn air_of(&self, path: &Path) -> Option<String> {
        let air = path.air.as_ref()?;
        let is_beside =
            |p: &&Path| p.name != path.name && p.air.as_ref().is_some_and(|a| a.channel == air.channel);
        let beside: Vec<&str> = self.paths.iter().filter(is_beside).map(|p| p.name.as_str()).collect();
        let mut line = format!("{} us a packet", air.packet_time_us);
        if !beside.is_empty() {
            let _ = write!(line, ", shares its channel with {}", beside.join(" and "));
        }
        if air.rests {
            line.push_str(", rests: a better path fills the channel");
        }
        Some(line)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A session whose paths have this air: by name, packet time, channel, and whether it rests.
    pub(crate) fn peer(paths: &[(&str, u64, u8, bool)]) -> Peer {
        let path = |&(name, packet_time_us, channel, rests): &(&str, u64, u8, bool)| Path {
            name: name.into(),
            air: Some(Air { packet_time_us, channel, rests }),
            ..Path::default()
        };
        Peer { name: "gateway".into(), paths: paths.iter().map(path).collect(), ..Peer::default() }
    }

    #[test]
    fn paths_that_share_a_channel_say_so() {
        let mut peer = peer(&[("roam0", 206, 6, false), ("roam1", 640, 6, true), ("roam2", 300, 11, false)]);
        peer.paths.push(Path { name: "wan0".into(), ..Path::default() });
        let lines: Vec<Option<String>> = peer.paths.iter().map(|p| peer.air_of(p)).collect();
        let lines: Vec<Option<&str>> = lines.iter().map(Option::as_deref).collect();
        let rests = "640 us a packet, shares its channel with roam0, rests: a better path fills the channel";
        let first = "206 us a packet, shares its channel with roam1";
        assert_eq!(lines, [Some(first), Some(rests), Some("300 us a packet"), None]);
    }
}
