//! The medium for frames of another MAC: bytes and a series of rates in, arrivals and results out.
//!
//! ```text
//!  send_frame ─▶ queue per radio and category ─▶ AIFS, backoff ─▶ [RTS ─▶ CTS ─▶] PPDU ─▶ medium
//!                                                ▲    the next rate of the series ◀─ no ACK ─┤
//!  Done: acknowledged?, tries per rate ◀─ ACK ◀──┴───────────────────────────────────────────┤
//!  Arrived: radio, signal, rate, bytes ◀─ each radio that decodes a try ◀────────────────────┘
//! ```
//! Associations, sequence numbers, rate control, power save and long queues stay with the sender,
//! such as a kernel's mac80211. There are no aggregates. See `docs/models/hwsim.md`.

mod header;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use self::header::Header;
use super::air::Air;
use super::api::{CapturedFrame, Command, CommandError, Completion, IfaceId, Mac, Output, RadioId, Status};
use super::mac::frame::GROUP;
use super::mac::inject::Injected;
use super::mac::{PeerStats, RadioStats};
use super::phy::{Channel, Rate};
use super::rate::{MAX_STAGES, RateChain};
use super::spec::{Aggregation, AirSpec, IfaceSpec, Mode, RadioSpec, RateControlSpec, SpecError, WifiQueue};
use crate::Time;

/// Longest frame, FCS not counted: an MMPDU or MPDU of what is no VHT (802.11-2020, 9.2.4.8.1).
pub const MAX_FRAME_BYTES: usize = 4091;
/// Most radios: each has a peer for each other.
pub const MAX_FRAME_RADIOS: usize = 64;
/// Most frames of a radio that wait or are on the air, all categories together.
pub const WAITING_FRAMES: usize = 64;

/// A frame that is to be sent.
#[derive(Debug, Clone)]
pub struct FrameToSend {
    /// Whatever its sender knows it by.
    pub token: u64,
    /// From Frame Control on, without the FCS.
    pub bytes: Arc<[u8]>,
    /// Rates, and how often each is tried.
    pub series: RateChain,
    /// Nobody is to acknowledge it, though it is for one receiver: it is sent once.
    pub no_ack: bool,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameOutput {
    /// A radio has decoded a frame, whoever it was for. A repetition has its Retry bit set.
    Arrived {
        /// The end of its PPDU.
        at: Time,
        /// Where.
        radio: RadioId,
        /// Who sent it.
        from: RadioId,
        /// From [`FrameToSend::token`].
        token: u64,
        /// As they were sent, but for the Retry bit.
        bytes: Arc<[u8]>,
        /// Received power, dBm.
        signal_dbm: f64,
        /// Rate of this try.
        rate: Rate,
    },
    /// A frame is done with. There is one for each that was taken.
    Done {
        /// When.
        at: Time,
        /// Who sent it.
        radio: RadioId,
        /// From [`FrameToSend::token`].
        token: u64,
        /// Its receiver has acknowledged it; never of frames to groups.
        acknowledged: bool,
        /// Transmissions by place in the series; all 0 if it never left.
        tries: [u8; MAX_STAGES],
        /// The series.
        series: RateChain,
        /// To whom.
        to: Mac,
    },
}

/// Why a frame was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// There is no such radio.
    #[error("there is no radio {0}")]
    NoRadio(u16),
    /// Not the length of a frame.
    #[error("a frame has 10 to 4091 bytes, not {0}")]
    Length(usize),
    /// As many as a radio holds wait already.
    #[error("64 frames of this radio wait already")]
    Full,
}

/// A frame of a radio, and where it is to go.
#[derive(Debug)]
struct Waiting {
    frame: FrameToSend,
    header: Header,
}

/// A frame on its way.
#[derive(Debug)]
struct Sent {
    radio: u16,
    frame: FrameToSend,
    header: Header,
}

/// Radios on a medium, without a MAC above them. Driven as [`Air`] is.
#[derive(Debug)]
pub struct FrameMedium {
    air: Air<u64>,
    /// Interfaces by radio.
    iface_of: Vec<u16>,
    /// Whose answers never come: the receiver of frames to addresses that no radio has.
    nobody: u16,
    /// By radio and category.
    queues: Vec<[VecDeque<Waiting>; 4]>,
    /// Categories with a frame in the air's hands, by radio and bit.
    in_flight: Vec<u8>,
    /// Frames in the air's hands: at most one for each radio and category.
    sent: BTreeMap<u64, Sent>,
    count: u64,
    out: VecDeque<FrameOutput>,
}

impl FrameMedium {
    /// A medium. Each radio has the address of its one interface in `spec`. Modes, rate controls,
    /// aggregates and queues of `spec` have no effect.
    ///
    /// # Errors
    /// `spec` is invalid; more than [`MAX_FRAME_RADIOS`]; a radio without exactly one interface.
    pub fn new(mut spec: AirSpec, seed: u64) -> Result<FrameMedium, SpecError> {
        let radios = spec.radios.len();
        super::check::range(
            "medium",
            "number of radios",
            radios as f64,
            (1.0, MAX_FRAME_RADIOS as f64),
            "1 to 64",
        )?;
        let mut iface_of = vec![GROUP; radios];
        for (index, iface) in (0..).zip(&spec.ifaces) {
            match iface_of.get_mut(usize::from(iface.radio.0)) {
                Some(known) if *known == GROUP => *known = index,
                Some(_) => return Err(interfaces(iface.radio.0, 2.0)),
                None => {}
            }
        }
        if let Some(radio) = iface_of.iter().position(|iface| *iface == GROUP) {
            return Err(interfaces(radio as u16, 0.0));
        }
        spec.radios.iter_mut().for_each(bare);
        let nobody = add_nobody(&mut spec);
        for iface in &mut spec.ifaces {
            iface.mode = Mode::Mesh { id: String::from("frames") };
        }
        Ok(FrameMedium {
            air: Air::new(spec, seed)?,
            iface_of,
            nobody,
            queues: (0..radios).map(|_| Default::default()).collect(),
            in_flight: vec![0; radios],
            sent: BTreeMap::new(),
            count: 0,
            out: VecDeque::new(),
        })
    }

    /// Sends a frame of a radio. [`FrameOutput::Done`] says what became of it.
    ///
    /// # Errors
    /// The frame was not taken: its radio has as many as it holds, or it is none.
    pub fn send_frame(&mut self, now: Time, radio: RadioId, frame: FrameToSend) -> Result<(), FrameError> {
        let index = usize::from(radio.0);
        let queues = self.queues.get(index).ok_or(FrameError::NoRadio(radio.0))?;
        let length = frame.bytes.len();
        let header = Header::read(&frame.bytes).filter(|_| length <= MAX_FRAME_BYTES);
        let header = header.ok_or(FrameError::Length(length))?;
        let held =
            queues.iter().map(VecDeque::len).sum::<usize>() + self.in_flight[index].count_ones() as usize;
        if held >= WAITING_FRAMES {
            return Err(FrameError::Full);
        }
        let category = header.category as usize;
        self.queues[index][category].push_back(Waiting { frame, header });
        self.offer(now, radio.0, category);
        Ok(())
    }

    /// Changes something from outside, as [`Air::command`] does. Nothing associates here.
    ///
    /// # Errors
    /// As there.
    pub fn command(&mut self, now: Time, command: Command) -> Result<(), CommandError> {
        self.air.command(now, command)
    }

    /// The next thing that has happened by `now`.
    pub fn poll(&mut self, now: Time) -> Option<FrameOutput> {
        loop {
            if let Some(output) = self.out.pop_front() {
                return Some(output);
            }
            match self.air.poll(now)? {
                Output::Captured(frame) => self.on_captured(&frame),
                Output::Completion(done) => self.on_completion(&done),
                // What the air's own MAC makes of arrivals is nobody's here.
                Output::Received(_) | Output::Event(_) => {}
            }
        }
    }

    /// When to poll again; none if nothing will happen without input.
    pub fn next_timeout(&self) -> Option<Time> {
        if self.out.is_empty() { self.air.next_timeout() } else { Some(self.air.now()) }
    }

    /// The channel that a radio is on, or tunes to.
    pub fn channel(&self, radio: RadioId) -> Option<Channel> {
        self.queues.get(usize::from(radio.0))?;
        self.air.radio_spec(radio).map(|spec| spec.channel)
    }

    /// Counters of a radio.
    pub fn radio_stats(&self, radio: RadioId) -> Option<RadioStats> {
        self.queues.get(usize::from(radio.0))?;
        self.air.radio_stats(radio)
    }

    /// Counters of a radio by receiver; groups count as [`Mac::BROADCAST`]. Bytes are those after
    /// the LLC header of data frames; other frames count none.
    pub fn peer_stats(&self, radio: RadioId) -> impl Iterator<Item = (Mac, PeerStats)> {
        let iface = self.iface_of.get(usize::from(radio.0)).copied().unwrap_or(GROUP);
        let nobody = self.air.ifaces[usize::from(self.nobody)].mac;
        self.air
            .peer_stats(IfaceId(iface))
            .filter(move |(mac, _)| *mac != nobody)
            .map(|(mac, stats)| (mac, *stats))
    }

    /// Gives the air the next frame of a category, if it has none of it.
    fn offer(&mut self, now: Time, radio: u16, category: usize) {
        let index = usize::from(radio);
        if self.in_flight[index] >> category & 1 == 1 {
            return;
        }
        let Some(Waiting { frame, header }) = self.queues[index][category].pop_front() else { return };
        self.in_flight[index] |= 1 << category;
        let other = match header.to.is_group() || frame.no_ack {
            true => GROUP,
            false => {
                self.air.iface_of(header.to).filter(|i| *i != self.iface_of[index]).unwrap_or(self.nobody)
            }
        };
        let injected = Injected {
            mpdu_bytes: frame.bytes.len() as u32 + 4,
            body_bytes: header.body_bytes,
            category: header.category,
            chain: frame.series,
        };
        self.count += 1;
        self.sent.insert(self.count, Sent { radio, frame, header });
        self.air.inject(now, IfaceId(self.iface_of[index]), other, (&injected, self.count), self.count);
    }

    fn on_captured(&mut self, captured: &CapturedFrame<u64>) {
        // Answers and RTS are the medium's own, and carry nothing.
        let Some(sent) = captured.payloads.first().and_then(|number| self.sent.get_mut(number)) else {
            return;
        };
        if captured.retry {
            header::set_retry(&mut sent.frame.bytes);
        }
        self.out.push_back(FrameOutput::Arrived {
            at: captured.at,
            radio: captured.radio,
            from: RadioId(sent.radio),
            token: sent.frame.token,
            bytes: Arc::clone(&sent.frame.bytes),
            signal_dbm: captured.signal_dbm,
            rate: captured.rate,
        });
    }

    fn on_completion(&mut self, done: &Completion) {
        let Some(Sent { radio, frame, header }) = self.sent.remove(&done.token) else { return };
        let answered = !header.to.is_group() && !frame.no_ack;
        self.out.push_back(FrameOutput::Done {
            at: done.at,
            radio: RadioId(radio),
            token: frame.token,
            acknowledged: answered && done.status == Status::Delivered,
            tries: spread(&frame.series, done.attempts),
            series: frame.series,
            to: header.to,
        });
        self.in_flight[usize::from(radio)] &= !(1 << header.category as u8);
        self.offer(done.at, radio, header.category as usize);
    }
}

/// Transmissions by place in a series, which is gone through in order.
fn spread(series: &RateChain, attempts: u8) -> [u8; MAX_STAGES] {
    let (mut left, mut tries) = (attempts, [0; MAX_STAGES]);
    for (place, stage) in tries.iter_mut().zip(series.stages()) {
        *place = left.min(stage.tries);
        left -= *place;
    }
    tries
}

/// Without what belongs to a MAC of the air's own.
fn bare(radio: &mut RadioSpec) {
    let forever = core::time::Duration::from_secs(1 << 30);
    radio.queue = WifiQueue { lifetime: forever, ..WifiQueue::default() };
    radio.aggregation = Aggregation::OFF;
    radio.rate_control = RateControlSpec::Fixed(radio.rates()[0]);
    radio.switch_time = core::time::Duration::ZERO;
    radio.monitor = true;
}

/// Adds a radio that hears nobody and is heard by nobody; gives its interface.
fn add_nobody(spec: &mut AirSpec) -> u16 {
    let (radio, iface) = (RadioId(spec.radios.len() as u16), spec.ifaces.len() as u16);
    spec.path_loss_overrides.extend((0..radio.0).map(|other| (RadioId(other), radio, 1000.0)));
    spec.radios.push(RadioSpec { monitor: false, ..spec.radios[0].clone() });
    let free = |mac: &Mac| spec.ifaces.iter().all(|i| i.mac != *mac);
    let mac = (0..).map(|n| Mac::local(u32::MAX - n)).find(free).unwrap_or(Mac::local(u32::MAX));
    spec.ifaces.push(IfaceSpec { radio, mac, mode: Mode::Mesh { id: String::new() } });
    iface
}

fn interfaces(radio: u16, value: f64) -> SpecError {
    super::check::out_of_range(
        &format!("radio {radio}"),
        "number of interfaces",
        value,
        "1 for a medium of frames",
    )
}

#[cfg(test)]
mod tests;
