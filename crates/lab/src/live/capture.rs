//! Monitors: what a radio hears, as files and interfaces that Wireshark opens.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use ropewalk_air::Time;
use ropewalk_air::wifi::monitor::{Captured, encode};
use ropewalk_air::wifi::{CapturedFrame, Command, RadioId};

use super::engine::Engine;
use super::ether::Piece;
use super::node::Node;
use super::plan::{Joint, Plan};
use super::tap;
use crate::{LabError, Result};

/// A frame with the time at which it ended.
pub(super) type Heard = (Time, Captured);

/// The radio that a name means: of an interface, or itself.
pub(super) fn radio_of(plan: &Plan, name: &str) -> Option<RadioId> {
    let port = plan.ports.iter().find(|p| p.name == name).map(|p| p.joint);
    match port {
        Some(Joint::Radio(iface)) => plan.radio_of.get(usize::from(iface.0)).copied(),
        Some(_) => None,
        None => plan.radios.iter().position(|r| r == name).map(|i| RadioId(i as u16)),
    }
}

impl Engine {
    /// Tells somebody what a radio hears. The radio stops reporting when nobody listens any more.
    pub(super) fn listen(&mut self, radio: RadioId, to: Sender<Heard>) {
        self.monitors.push((radio, to));
        self.monitor(radio, true);
    }

    fn monitor(&mut self, radio: RadioId, on: bool) {
        let now = self.now();
        if let Some(radios) = &mut self.radios {
            // The radio is one of the plan's.
            let _ = radios.air.command(now, Command::SetMonitor { radio, on });
        }
    }

    pub(super) fn on_captured(&mut self, frame: &CapturedFrame<Piece>) {
        let captured = encode(frame, Piece::ip_bytes);
        self.monitors
            .retain(|(radio, to)| *radio != frame.radio || to.send((frame.at, captured.clone())).is_ok());
        if !self.monitors.iter().any(|(radio, _)| *radio == frame.radio) {
            self.monitor(frame.radio, false);
        }
    }
}

/// A monitor interface in a node. Dropping it removes it.
#[derive(Debug)]
pub struct Monitor {
    device: File,
}

impl Monitor {
    pub(super) fn new(node: &Node, name: &str) -> Result<Monitor> {
        Ok(Monitor { device: tap::open_monitor(node.namespace(), name)? })
    }
}

/// What a radio hears. Dropping it ends the listening.
#[derive(Debug)]
pub struct Capture {
    heard: Receiver<Heard>,
    wall: SystemTime,
    now: Time,
}

impl Capture {
    pub(super) fn new(heard: Receiver<Heard>, wall: SystemTime, now: Time) -> Capture {
        Capture { heard, wall, now }
    }

    /// Writes frames to `out` as pcapng with radiotap headers, with times to the nanosecond, until `more` says no or the lab ends. `more` is
    /// asked after each frame, and ten times a second. Gives the number of frames.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn write(&self, out: impl Write, mut more: impl FnMut(u64) -> bool) -> Result<u64> {
        let failed =
            |e: pcap_file::PcapError| LabError::kernel("write the capture")(std::io::Error::other(e));
        let mut file = PcapNgWriter::new(out).map_err(failed)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::IEEE802_11_RADIOTAP,
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(9)],
        };
        file.write_pcapng_block(interface).map_err(failed)?;
        let mut frames = 0;
        loop {
            match self.heard.recv_timeout(Duration::from_millis(100)) {
                Ok((at, frame)) => {
                    let block = EnhancedPacketBlock {
                        interface_id: 0,
                        timestamp: self.wall(at),
                        original_len: frame.air_bytes,
                        data: Cow::Owned(frame.bytes),
                        options: Vec::new(),
                    };
                    file.write_pcapng_block(block).map_err(failed)?;
                    frames += 1;
                }
                Err(RecvTimeoutError::Timeout) => {
                    file.get_mut().flush().map_err(LabError::kernel("write the capture"))?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(frames),
            }
            if !more(frames) {
                return Ok(frames);
            }
        }
    }

    /// Hands frames to a monitor interface, each as it is heard, until `more` says no or the lab ends. `more` is asked after each frame, and ten times a
    /// second. Gives the number of frames.
    pub fn feed(&self, monitor: &Monitor, mut more: impl FnMut(u64) -> bool) -> u64 {
        let mut frames = 0;
        loop {
            match self.heard.recv_timeout(Duration::from_millis(100)) {
                Ok((_, frame)) => {
                    // Refused where somebody has taken the interface down: as with real ones, nobody hears then.
                    let _ = rustix::io::write(&monitor.device, &frame.bytes);
                    frames += 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return frames,
            }
            if !more(frames) {
                return frames;
            }
        }
    }

    /// The time of day of an instant of the models.
    fn wall(&self, at: Time) -> Duration {
        let wall = self.wall + (at - self.now);
        let wall = wall.checked_sub(self.now - at).unwrap_or(wall);
        wall.duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
