//! What the radios of a node tell its programs, as a driver would: queues, completions, stations, channel.
//!
//! ```text
//!  a program in a node ──connects to @ropewalk-radio/wlan0──▶ server (an ordinary thread) ──who reads what──▶ the lab's thread
//!                      ◀──────────────────────── states, whenever something has changed ────────────────────────┘
//! ```
//! The lab's thread sends to readers itself, without waiting: a reader that does not keep up misses states, and as all counters are cumulative it misses nothing else. The
//! protocol is in docs/guide/link.md, for programs in any language; `ropewalk_net::feedback` speaks the other end.

mod message;
mod neighbour;
mod server;

pub(super) use neighbour::{Neighbours, token};
pub(super) use server::{Server, sockets};

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_air::wifi::phy::{Band, Channel, Secondary};
use ropewalk_air::wifi::{Command, IfaceId};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::engine::Engine;
use super::radio::Radios;
use message::State;
use server::Seat;

/// Readers at a time, of all radios of a lab together.
const READERS: usize = 32;
/// A reader of a radio where nothing happens hears so often how busy the channel is.
const QUIET: Duration = Duration::from_millis(100);

/// Somebody who reads what a radio tells.
pub(super) struct Reader {
    socket: OwnedFd,
    /// Of the air.
    iface: usize,
    /// Between two states at least.
    interval: Duration,
    /// When the last was sent.
    last: Option<Time>,
    /// States so far, those included that had no room.
    sequence: u64,
    /// Something has changed since.
    stale: bool,
    _seat: Seat,
}

impl Reader {
    fn due(&self) -> Time {
        let wait = if self.stale { self.interval } else { self.interval.max(QUIET) };
        self.last.map_or(Time::ZERO, |last| last + wait)
    }
}

/// Somebody who wants an access point to announce another channel.
pub(super) struct Switch {
    socket: OwnedFd,
    /// Of the air.
    iface: usize,
    primary_mhz: u32,
    beacons: u8,
}

/// What the server hands on.
pub(super) enum Call {
    Read(Reader),
    Switch(Switch),
}

/// The readers, as the lab's thread knows them.
pub(super) struct Readers {
    all: Vec<Reader>,
    joining: Receiver<Call>,
    /// Rings when somebody calls.
    bell: Arc<OwnedFd>,
    message: Vec<u8>,
}

impl Readers {
    /// Nobody yet; who joins comes by `joining`, and `bell` rings.
    pub(super) fn new(joining: Receiver<Call>, bell: Arc<OwnedFd>) -> Readers {
        Readers { all: Vec::new(), joining, bell, message: Vec::with_capacity(message::LONGEST) }
    }

    /// Readable when somebody joins.
    pub(super) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// When the next state is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.all.iter().map(Reader::due).min()
    }

    /// The bell has rung: readers join, and who wants another channel is returned.
    fn admit(&mut self) -> Vec<Switch> {
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        let mut switches = Vec::new();
        for call in self.joining.try_iter() {
            match call {
                Call::Read(reader) => self.all.push(reader),
                Call::Switch(switch) => switches.push(switch),
            }
        }
        switches
    }

    /// Sends what is due. A reader that is gone is forgotten.
    fn publish(&mut self, now: Time, radios: &mut Radios) {
        let Readers { all, message, .. } = self;
        all.retain_mut(|reader| {
            reader.stale |= radios.neighbours[reader.iface].changed;
            if now < reader.due() {
                return true;
            }
            (reader.stale, reader.last) = (false, Some(now));
            reader.sequence += 1;
            State::of(radios, reader.iface, now, reader.sequence).encode(message);
            let sent = send(&reader.socket, message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            !matches!(sent, Err(e) if !matches!(e, Errno::AGAIN | Errno::NOBUFS | Errno::INTR))
        });
        radios.neighbours.iter_mut().for_each(|n| n.changed = false);
    }
}

impl Engine {
    /// Lets callers in.
    pub(super) fn hear_callers(&mut self) {
        let now = self.now();
        for switch in self.readers.admit() {
            let answer = match self.radios.as_mut().map(|radios| announce(radios, &switch, now)) {
                Some(Ok(())) => message::done(),
                Some(Err(sentence)) => message::refusal(&sentence),
                None => continue,
            };
            let _ = send(&switch.socket, &answer, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    /// Tells readers what has changed.
    pub(super) fn tell_readers(&mut self) {
        let now = self.now();
        let Some(radios) = self.radios.as_mut().filter(|_| !self.readers.all.is_empty()) else { return };
        self.readers.publish(now, radios);
    }
}

/// An access point announces another channel of its band, as wide as its own.
fn announce(radios: &mut Radios, switch: &Switch, now: Time) -> std::result::Result<(), String> {
    if radios.weighted.is_some() {
        return Err("radios of the weighted-fair medium stay on their channel".into());
    }
    let own = radios.channels[usize::from(radios.radio_of[switch.iface].0)];
    let base = match own.band() {
        Band::Ghz2_4 => 2407,
        Band::Ghz5 => 5000,
        Band::Ghz60 => return Err("a radio at 60 GHz announces no other channel".into()),
    };
    let mhz = switch.primary_mhz;
    let number = mhz.checked_sub(base).filter(|d| d % 5 == 0).and_then(|d| u8::try_from(d / 5).ok());
    let secondary = match number {
        Some(n) if own.band() == Band::Ghz2_4 && n > 7 => Some(Secondary::Below),
        _ => Some(Secondary::Above),
    };
    let channel = number.and_then(|n| Channel::new(own.band(), n, own.width(), secondary).ok());
    let channel =
        channel.ok_or_else(|| format!("{mhz} MHz is no channel of this radio's band with its width"))?;
    let iface = IfaceId(switch.iface as u16);
    let command = Command::SwitchChannel { iface, channel, count: switch.beacons };
    radios.air.command(now, command).map(drop).map_err(|e| e.to_string())
}

impl State<'_> {
    fn of(radios: &Radios, iface: usize, now: Time, sequence: u64) -> State<'_> {
        let radio = radios.radio_of[iface];
        State {
            sequence,
            now_ns: now.as_nanos(),
            radio: radios.radio_stats(radio),
            channel: radios.channels[usize::from(radio.0)],
            neighbours: &radios.neighbours[iface],
            peers: radios.peer_stats(IfaceId(iface as u16)),
        }
    }
}
