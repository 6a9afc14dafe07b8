//! A cell without encryption, as monitor interfaces hear it, without a model of the air: for tests
//! of who overhears.
//!
//! ```text
//!   station ── TUN ── this thread ── TUN ── access point
//!                          └── a frame of each packet ──▶ monitor interfaces
//! ```
//! Packets go as they come. Frames have radiotap, 802.11 with numbers, LLC and SNAP; some come
//! twice, as where an acknowledgement was lost on the air.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::live::open_monitor;
use crate::{LabError, Namespace, Result, tun};

/// The access point's address on the air.
const BSSID: [u8; 6] = [2, 0, 0, 0, 0x0a, 1];
/// The station's.
const STATION: [u8; 6] = [2, 0, 0, 0, 0x0b, 2];
/// One frame of so many is repeated.
const REPEATED: u64 = 7;
/// The number of the first frame: 802.11 counts to 4095, and this cell soon.
const FIRST: u64 = 4000;
/// Packets of one side before the other is looked at.
const BATCH: usize = 64;

/// A monitor interface whose frames are made up. It ends with the value.
#[derive(Debug)]
pub struct MonitorInterface(File);

impl MonitorInterface {
    /// Makes one in a namespace, and brings it up.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(namespace: &Namespace, name: &str) -> Result<MonitorInterface> {
        Ok(MonitorInterface(open_monitor(namespace, name)?))
    }

    /// It hears this: a radiotap header and a frame, of at least 14 bytes together.
    ///
    /// # Errors
    /// The interface is down.
    pub fn hear(&self, frame: &[u8]) -> io::Result<()> {
        (&self.0).write_all(frame)
    }
}

/// A cell of one station. It ends with the value, and its devices with it.
#[derive(Debug)]
pub struct OpenCell {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OpenCell {
    /// Makes an interface for the station and one for its access point, both up, and carries
    /// packets between them. Each monitor hears the station's frames but one of so many; 0: all.
    ///
    /// # Errors
    /// The kernel refuses a device.
    pub fn open(
        station: (&Namespace, &str),
        access_point: (&Namespace, &str),
        monitors: Vec<(MonitorInterface, u64)>,
    ) -> Result<OpenCell> {
        let end = |(namespace, name): (&Namespace, &str)| -> Result<File> {
            let file = tun::open(namespace, name)?;
            namespace.ip(&[format!("link set {name} up")])?;
            Ok(file)
        };
        let (station, access_point) = (end(station)?, end(access_point)?);
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let carry = move || carry(&station, &access_point, &monitors, &ended);
        let thread = std::thread::Builder::new().name("cell".into()).spawn(carry);
        let thread = thread.map_err(LabError::kernel("start a thread for a cell"))?;
        Ok(OpenCell { stop, thread: Some(thread) })
    }
}

impl Drop for OpenCell {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn carry(station: &File, access_point: &File, monitors: &[(MonitorInterface, u64)], ended: &AtomicBool) {
    let (mut packet, mut count) = (vec![0; 65_535], 0);
    // How soon the end is noticed.
    let patience = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    while !ended.load(Ordering::Relaxed) {
        let mut fds = [PollFd::new(station, PollFlags::IN), PollFd::new(access_point, PollFlags::IN)];
        if poll(&mut fds, Some(&patience)).is_err() {
            continue;
        }
        for (mut from, mut to) in [(station, access_point), (access_point, station)] {
            for _ in 0..BATCH {
                let Ok(length) = from.read(&mut packet) else { break };
                if std::ptr::eq(from, station) {
                    let frame = frame(count, &packet[..length]);
                    monitors.iter().for_each(|(monitor, misses)| heard(monitor, *misses, count, &frame));
                    count += 1;
                }
                // What an interface does not take is lost, as on any link.
                let _ = to.write(&packet[..length]);
            }
        }
    }
}

fn heard(monitor: &MonitorInterface, misses: u64, count: u64, frame: &[u8]) {
    if misses > 0 && count % misses == misses - 1 {
        return;
    }
    let _ = monitor.hear(frame);
    if count.is_multiple_of(REPEATED) {
        let mut again = frame.to_vec();
        // The retry bit, behind radiotap.
        again[9 + 1] |= 8;
        let _ = monitor.hear(&again);
    }
}

/// The frame of a packet: QoS data to the access point, whose checksum stands at its end.
fn frame(count: u64, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, 9, 0, 2, 0, 0, 0, 0x10];
    frame.extend([0x88, 0x01, 0, 0]);
    frame.extend([BSSID, STATION, BSSID].concat());
    let number = ((FIRST + count) % 4096) as u16;
    frame.extend((number << 4).to_le_bytes());
    frame.extend([0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    frame.extend_from_slice(packet);
    frame.extend([0; 4]);
    frame
}
