//! The shared-link limiter: the link on the channel that the repeater's clients need takes only the air that they leave (Multifacet, section 3.2).
//!
//! ```text
//!  repeater                                                  access point
//!  Input::ClientQueue ─▶ ClientQueues ─▶ queue report ─────▶ SharedLinkLimiter ─▶ Law (mimd, balance) ─▶ Allowance
//!   (what waits for each client)      every 200 ms or 10 ms       │                                        │
//!                                                                 └── none for two periods: a decrease     ▼
//!                                                                     BurstGate of each shared path: how many datagrams may leave now
//! ```
//!
//! The report says which paths share the clients' channel: the repeater knows its radios. An end that hears no report limits nothing.

mod balance;
mod burst_gate;
mod client_queues;
mod mimd;

pub use balance::Balance;
pub use burst_gate::{Allowance, BurstGate};
pub use client_queues::ClientQueues;
pub use mimd::Mimd;

use crate::path::PathId;
use crate::wire::{MAX_PATHS, QueueFrame};
use ropewalk_time::{Duration, Time};

/// What the repeater makes of its queues towards its clients (MF-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionLevel {
    /// The queues are too long: the shared link takes air from the clients.
    High,
    /// Between the two thresholds.
    Normal,
    /// The queues are short: there is air left.
    Low,
}

impl CongestionLevel {
    /// Its code in a queue report.
    pub fn code(self) -> u8 {
        match self {
            CongestionLevel::High => 0,
            CongestionLevel::Normal => 1,
            CongestionLevel::Low => 2,
        }
    }

    /// What a code means; `None` for an unknown one.
    pub fn from_code(code: u8) -> Option<CongestionLevel> {
        use CongestionLevel::{High, Low, Normal};
        [High, Normal, Low].into_iter().find(|v| v.code() == code)
    }
}

/// A limiter that config and scenarios can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// None: the naive striping that the paper compares with (MF-25).
    Off,
    /// [`Mimd`]: the paper's.
    #[default]
    Mimd,
    /// [`Balance`]: follows the queue itself, within tens of milliseconds.
    Balance,
}

/// No limiter has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no limiter {0:?}; known are off, mimd and balance")]
pub struct UnknownLimiter(pub String);

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Off, Kind::Mimd, Kind::Balance];

    /// The name in config.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Off => "off",
            Kind::Mimd => "mimd",
            Kind::Balance => "balance",
        }
    }

    /// How often the repeater reports.
    pub const fn every(self) -> Duration {
        match self {
            // The paper found 200 ms best (section 6.2): its law reacts to every transient that it is told of.
            Kind::Off | Kind::Mimd => Duration::from_millis(200),
            // Half an aggregate's time would be better; but each takes a turn on the dedicated
            // channel, and one turn in ten collides.
            Kind::Balance => Duration::from_millis(10),
        }
    }
}

impl core::str::FromStr for Kind {
    type Err = UnknownLimiter;

    fn from_str(name: &str) -> Result<Self, UnknownLimiter> {
        Kind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| UnknownLimiter(name.to_owned()))
    }
}

/// Frames of more bytes than this are worth an RTS on a channel that a repeater's clients need: TCP's acknowledgements are shorter, and little is lost with them.
pub const RTS_THRESHOLD: u32 = 500;
/// How often such a radio tries a frame. An RTS that is not answered counts as an attempt at all the frames behind it (802.11-2020, 10.3.3); beside hidden clients the usual
/// seven are soon used up, and TCP takes what is given up for a full queue.
pub const RTS_TRIES: u8 = 14;

/// The choices of a limiter. The paper gives no value for any but the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which.
    pub kind: Kind,
    /// Repeater: how often it reports; `None`: [`Kind::every`].
    pub every: Option<Duration>,
    /// A client's queue shorter than this may be longer, packets. An A-MPDU of 32: with less the clients' radio might find nothing to send.
    pub low: u32,
    /// One longer than this is too long, packets; a repeater hands its radio no more than leaves twice as many there. 192 are some 45 ms at 50 Mb/s: with 128 the
    /// clients' radio found shorter aggregates, and 1 % less came in the thirty places of `scenarios/000/placements.toml` (scratch builds); with 256 TCP had less and waited longer.
    pub high: u32,
    /// Datagrams that leave together where the shared link is to be busy for a part of the time only: half an A-MPDU of 32, so that little air goes into
    /// preambles.
    pub burst: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { kind: Kind::default(), every: None, low: 32, high: 192, burst: 16 }
    }
}

impl Config {
    /// How often the repeater reports.
    pub fn every(&self) -> Duration {
        self.every.unwrap_or(self.kind.every())
    }

    fn law(&self, most: u32) -> Option<Box<dyn Law>> {
        match self.kind {
            Kind::Off => None,
            Kind::Mimd => Some(Box::new(Mimd::new(f64::from(most)))),
            Kind::Balance => Some(Box::new(Balance::new(f64::from(self.low + self.high) / 2.0))),
        }
    }
}

/// What a queue report said, and what the shared links did since the one before.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// When it came.
    pub now: Time,
    /// From when the one before was due at the repeater to when this one was: reports come late, and together.
    pub over: Duration,
    /// The level that the repeater gave.
    pub level: CongestionLevel,
    /// Packets in the longest queue towards a client.
    pub packets: u32,
    /// Datagrams per second that left on the shared links since the last one.
    pub sent_pps: f64,
}

/// A law by which shared links are limited. The start is no traffic on them (MF-13).
pub trait Law: Send + core::fmt::Debug {
    /// The name it is chosen by.
    fn name(&self) -> &'static str;
    /// A queue report came.
    fn on_report(&mut self, signal: &Report);
    /// None came for two periods of the repeater: it, or the way, may be drowned.
    fn on_silence(&mut self, now: Time);
    /// What the shared links may do.
    fn allowance(&self) -> Allowance;
}

/// Counts of one limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reports of a high, a normal and a low level.
    pub levels: [u64; 3],
    /// Reports that came twice or too late.
    pub old: u64,
    /// Times that none came for two periods.
    pub silences: u64,
    /// Reports that were invalid.
    pub invalid: u64,
}

/// Silence of so many periods is a decrease.
const SILENT_PERIODS: u32 = 2;
/// If it lasts at least this long: reports that wait for their turn on a busy channel are late by tens of milliseconds, and say so when they come.
const SILENCE: Duration = Duration::from_millis(100);
/// A repeater that says it will report less often than config lets it (`report-period-ms`) is not
/// believed: its silence would go unnoticed for minutes.
const LONGEST_PERIOD: Duration = Duration::from_secs(5);

/// The access point's end: the repeater's last report and what follows from it for each shared path.
#[derive(Debug)]
pub struct SharedLinkLimiter {
    law: Box<dyn Law>,
    burst: u32,
    seq: Option<u16>,
    packets: u32,
    shared: u16,
    every: Duration,
    last: Time,
    silent_at: Time,
    is_silent: bool,
    sent: u64,
    gates: [BurstGate; MAX_PATHS],
    counters: Counters,
}

impl SharedLinkLimiter {
    /// One that has heard nothing yet; `most` bounds what a link may hold. `None` if config says so.
    pub fn new(config: &Config, most: u32, now: Time) -> Option<SharedLinkLimiter> {
        Some(SharedLinkLimiter {
            law: config.law(most)?,
            burst: config.burst.max(1),
            seq: None,
            packets: 0,
            shared: 0,
            every: config.every(),
            last: now,
            silent_at: now + (config.every() * SILENT_PERIODS).max(SILENCE),
            is_silent: false,
            sent: 0,
            gates: [BurstGate::default(); MAX_PATHS],
            counters: Counters::default(),
        })
    }

    /// A queue report. Old ones are not heeded (serial numbers, RFC 1982).
    pub fn on_report(&mut self, now: Time, f: &QueueFrame) {
        let Some(level) = CongestionLevel::from_code(f.verdict) else {
            self.counters.invalid += 1;
            return;
        };
        if self.seq.is_some_and(|seen| (f.seq.wrapping_sub(seen) as i16) <= 0) {
            self.counters.old += 1;
            return;
        }
        let periods = self.seq.map_or(1, |seen| u32::from(f.seq.wrapping_sub(seen)));
        (self.seq, self.shared, self.packets) = (Some(f.seq), f.shared, u32::from(f.packets));
        self.every = Duration::from_millis(u64::from(f.every_ms.max(1))).min(LONGEST_PERIOD);
        let over = self.every * periods;
        let sent_pps = std::mem::take(&mut self.sent) as f64
            / now.since(self.last).max(Duration::from_millis(1)).as_secs_f64();
        self.law.on_report(&Report { now, over, level, packets: u32::from(f.packets), sent_pps });
        self.counters.levels[level.code() as usize] += 1;
        (self.last, self.silent_at, self.is_silent) = (now, now + self.silence(), false);
    }

    /// Looks whether the repeater has gone silent; `true`: it has, and shared paths may do something else now.
    pub fn on_timer(&mut self, now: Time) -> bool {
        let is_due = now >= self.silent_at;
        if is_due {
            self.law.on_silence(now);
            self.counters.silences += 1;
            self.is_silent = true;
            self.silent_at = now + self.every.max(SILENCE / 2);
        }
        is_due
    }

    /// No report has come for longer than it should have taken.
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    fn silence(&self) -> Duration {
        (self.every * SILENT_PERIODS).max(SILENCE)
    }

    /// When [`SharedLinkLimiter::on_timer`] has something to do.
    pub fn silent_at(&self) -> Time {
        self.silent_at
    }

    /// Whether path `id` shares the clients' channel.
    pub fn is_shared(&self, id: PathId) -> bool {
        self.shared & id.bit() != 0
    }

    /// What a shared path that holds `outstanding` datagrams may hold, and take now; `most` is what it might hold by itself.
    pub fn slots(&mut self, now: Time, id: PathId, outstanding: u32, most: u32) -> (u32, u32) {
        let allowance = self.law.allowance();
        self.gates[id.index()].slots(now, allowance, self.burst, outstanding, most)
    }

    /// Datagrams left on a shared path.
    pub fn on_sent(&mut self, now: Time, id: PathId, datagrams: u32) {
        self.sent += u64::from(datagrams);
        self.gates[id.index()].on_sent(now, datagrams);
    }

    /// When a path that waits for leave gets it.
    pub fn ready_at(&self) -> Option<Time> {
        PathId::all()
            .filter(|id| self.is_shared(*id))
            .filter_map(|id| self.gates[id.index()].ready_at())
            .min()
    }

    /// What shared paths may do now.
    pub fn allowance(&self) -> Allowance {
        self.law.allowance()
    }

    /// The longest queue towards a client, as the repeater said last, packets.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// The law's name.
    pub fn name(&self) -> &'static str {
        self.law.name()
    }

    /// Totals.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
