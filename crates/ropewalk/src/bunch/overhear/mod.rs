//! What an access point overhears on the air (paper 002 §3.1), at a monitor interface.
//!
//! ```text
//!  monitor ─▶ frame ─┬─ of an upload that the gateway told us of ─▶ Ap: held, reported, forwarded
//!                    └─ any other, where a home is helped ─▶ its number, kept for the packet itself
//! ```
//!
//! A home's own packets come by their ordinary way, through firewall and routes. What the monitor
//! says of them is the number that they had on the air, so that neighbours can name them. A packet
//! whose frame was missed has none, and goes to the gateway as if nobody overheard.
//!
//! | file | what |
//! |---|---|
//! | `labels` | numbers of the home's frames, by what they carried |
//! | `cells` | whose frames are heard here |

mod cells;
mod labels;

use super::report::AirStatus;
use super::words::{AUDIBLE, Address, Audible};
use cells::Cells;
pub(super) use labels::Label;
use labels::Labels;
use ropewalk_bunch::ap::{Frame, Packet};
use ropewalk_bunch::hash::{self, Key};
use ropewalk_bunch::{Flow, Time, inner};
use ropewalk_net::monitor::{self, Batch, Left, Monitor, MonitorError};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Batches in a row before anything else is looked at.
const BATCHES: usize = 16;
/// Packets that wait for the access point: what so many batches bring.
const WAITING: usize = 1024;
/// A monitor interface that went away is looked for so often.
const AGAIN: Duration = Duration::from_secs(5);

/// What is done with a frame, without the socket.
struct Sorter {
    /// This access point helps a home, whose packets need numbers.
    numbers: bool,
    key: Key,
    labels: Labels,
    cells: Cells,
    told: BTreeSet<Flow>,
    heard: VecDeque<(Frame, Packet)>,
    counts: AirStatus,
}

impl Sorter {
    fn new(interface: &str, numbers: bool, key: Key) -> Sorter {
        Sorter {
            numbers,
            key,
            labels: Labels::default(),
            cells: Cells::default(),
            told: BTreeSet::new(),
            heard: VecDeque::new(),
            counts: AirStatus { interface: interface.to_owned(), ..AirStatus::default() },
        }
    }

    fn take(&mut self, frame: &[u8], now: Time) {
        self.counts.frames += 1;
        let frame = match monitor::read(frame) {
            Ok(frame) => frame,
            Err(left) => {
                *self.counter(left) += 1;
                return;
            }
        };
        self.cells.hear(frame.bssid, now);
        let Some(inner) = inner::parse(frame.packet) else {
            self.counts.other += 1;
            return;
        };
        let flow = Flow {
            bssid: frame.bssid,
            station: frame.station,
            tid: frame.tid,
            protocol: inner.protocol,
            source: inner.source,
            destination: inner.destination,
        };
        let (bssid, station, tid, sequence) = (frame.bssid, frame.station, frame.tid, frame.sequence);
        if self.told.contains(&flow) {
            if self.heard.len() < WAITING {
                self.counts.overheard += 1;
                let frame_of = Frame { bssid, station, tid, sequence, home: false };
                self.heard.push_back((frame_of, frame.packet.into()));
            }
        } else if self.numbers {
            let hash = hash::packet(&self.key, frame.packet);
            self.labels.note(hash, Label { bssid, station, tid, sequence }, now);
        }
    }

    fn counter(&mut self, left: Left) -> &mut u64 {
        match left {
            Left::BadChecksum => &mut self.counts.damaged,
            Left::Encrypted => &mut self.counts.encrypted,
            Left::Fragment => &mut self.counts.fragments,
            Left::Aggregate => &mut self.counts.aggregates,
            Left::Malformed | Left::NotToAccessPoint | Left::NotIpv4 => &mut self.counts.other,
        }
    }
}

/// A monitor interface, and what is known of what it hears.
pub(super) struct Overhear {
    interface: String,
    /// None: the interface went away.
    monitor: Option<Monitor>,
    batch: Batch,
    sorter: Sorter,
    again_at: Time,
    /// Dropped by the kernel at monitors of before.
    dropped: u64,
    is_new: bool,
}

impl Overhear {
    /// Listens at a monitor interface. `numbers`: for the packets of a home that is helped here.
    ///
    /// # Errors
    /// There is no such interface, or it is no monitor.
    pub(super) fn open(interface: &str, numbers: bool, key: Key) -> Result<Overhear, MonitorError> {
        Ok(Overhear {
            interface: interface.to_owned(),
            monitor: Some(Monitor::open(interface)?),
            batch: Batch::default(),
            sorter: Sorter::new(interface, numbers, key),
            again_at: Time::ZERO,
            dropped: 0,
            is_new: true,
        })
    }

    /// The interface, if it is there.
    pub(super) fn monitor(&self) -> Option<&Monitor> {
        self.monitor.as_ref()
    }

    /// Takes what waits, a batch; true if there may be more.
    fn receive(&mut self, now: Time) -> bool {
        let Some(monitor) = &self.monitor else { return false };
        match monitor.receive(&mut self.batch) {
            Ok(0) => false,
            Ok(_) => {
                if std::mem::replace(&mut self.is_new, false) {
                    tracing::info!(interface = self.interface, "overhears");
                }
                self.batch.frames().for_each(|frame| self.sorter.take(frame, now));
                true
            }
            Err(error) => {
                self.lose(&error, now);
                false
            }
        }
    }

    fn lose(&mut self, error: &std::io::Error, now: Time) {
        // Said once, however often it is looked for.
        if !self.is_new || self.again_at == Time::ZERO {
            tracing::warn!(interface = self.interface, %error, "nothing is overheard: is the monitor interface up?");
        }
        self.dropped = self.dropped();
        (self.monitor, self.is_new, self.again_at) = (None, true, now + AGAIN);
    }

    /// Takes what waits, and gives the packets of uploads that others may name.
    pub(super) fn hear(&mut self, now: Time) -> VecDeque<(Frame, Packet)> {
        let mut left = BATCHES;
        while left > 0 && self.receive(now) {
            left -= 1;
        }
        self.heard()
    }

    /// What was heard while numbers were looked for.
    pub(super) fn heard(&mut self) -> VecDeque<(Frame, Packet)> {
        std::mem::take(&mut self.sorter.heard)
    }

    /// What a packet of the home was on the air, if its frame was heard. The frame comes first:
    /// the kernel shows it to monitors before it looks into it.
    pub(super) fn number(&mut self, packet: &[u8], now: Time) -> Option<Label> {
        let hash = hash::packet(&self.sorter.key, packet);
        let mut left = BATCHES;
        loop {
            if let Some(label) = self.sorter.labels.take(hash, now) {
                self.sorter.counts.numbered += 1;
                return Some(label);
            }
            if left == 0 || !self.receive(now) {
                self.sorter.counts.unnumbered += 1;
                return None;
            }
            left -= 1;
        }
    }

    /// The gateway says which uploads are to be kept.
    pub(super) fn listen(&mut self, all: &[Audible]) {
        self.sorter.told = all.iter().take(AUDIBLE).map(Flow::from).collect();
    }

    /// The tunnel is gone or new: the next gateway has told us nothing, and has to be told all.
    pub(super) fn forget(&mut self) {
        self.sorter.told.clear();
        self.sorter.cells.say_again();
    }

    /// The cells that are heard, if they have to be told.
    pub(super) fn cells(&mut self, now: Time) -> Option<Vec<Address>> {
        Some(self.sorter.cells.news(now)?.into_iter().map(Address).collect())
    }

    /// When [`Overhear::open_again`] is due and, with a tunnel, when [`Overhear::cells`] may have
    /// something.
    pub(super) fn due(&self, is_connected: bool) -> Option<Time> {
        let again = self.monitor.is_none().then_some(self.again_at);
        let cells = self.sorter.cells.due().filter(|_| is_connected);
        [again, cells].into_iter().flatten().min()
    }

    /// Looks for an interface that went away; true if there is a new socket to watch.
    pub(super) fn open_again(&mut self, now: Time) -> bool {
        if self.monitor.is_some() || now < self.again_at {
            return false;
        }
        self.again_at = now + AGAIN;
        self.monitor = Monitor::open(&self.interface).ok();
        self.monitor.is_some()
    }

    fn dropped(&mut self) -> u64 {
        self.dropped + self.monitor.as_mut().map_or(0, |m| m.statistics().dropped)
    }

    /// For people.
    pub(super) fn status(&mut self) -> AirStatus {
        AirStatus {
            is_up: self.monitor.is_some(),
            cells: self.sorter.cells.count(),
            uploads: self.sorter.told.len(),
            dropped: self.dropped(),
            ..self.sorter.counts.clone()
        }
    }
}

#[cfg(test)]
mod tests;
