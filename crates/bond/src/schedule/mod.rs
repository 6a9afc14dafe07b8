//! Schedulers: which path takes the next bytes. A path that has no room is never asked; what finds no path waits in the queue.

mod backpressure;
mod earliest;
mod simple;

pub use backpressure::{Backpressure, DeviceThreshold};
pub use earliest::EarliestArrival;
pub use simple::{MinRtt, Redundant, RoundRobin, Weighted};

use crate::path::PathId;
use ropewalk_time::Duration;

/// What a scheduler sees of a path. Only usable paths are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathInfo {
    /// The path's identifier.
    pub id: PathId,
    /// Window and pacing let a datagram go now.
    pub has_room: bool,
    /// What waits was offered to it, and none of it was for a path like this.
    pub nothing_to_send: bool,
    /// Smoothed one-way delay, microseconds; offset by the same unknown amount on every path.
    pub one_way_us: f64,
    /// Its mean deviation.
    pub jitter: Duration,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// What the path carries, bits per second; 0 while unknown.
    pub rate_bps: u64,
    /// Weight that a user gave it; 1 unless said.
    pub weight: u32,
    /// Largest datagram as an IP packet, bytes.
    pub mtu: u16,
    /// Datagrams handed to the link and not complete ([`crate::feedback`]); where the scheduler counts them, what they are in full ones.
    pub outstanding: u32,
    /// How many it may hold.
    pub threshold: u32,
    /// How many it may take now.
    pub slots: u32,
    /// Share of the time in which its link has had work, of late (`backhaul/utilisation.rs`).
    pub utilisation: f64,
    /// Its channel is also the one that the peer's clients need.
    pub is_shared: bool,
}

impl Default for PathInfo {
    /// A path of which nothing is known and that nothing limits.
    fn default() -> PathInfo {
        PathInfo {
            id: PathId::default(),
            has_room: false,
            nothing_to_send: false,
            one_way_us: 0.0,
            jitter: Duration::ZERO,
            srtt: Duration::ZERO,
            rate_bps: 0,
            weight: 1,
            mtu: 0,
            outstanding: 0,
            threshold: u32::MAX,
            slots: u32::MAX,
            utilisation: 1.0,
            is_shared: false,
        }
    }
}

/// Leave to take bytes from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Index into the infos.
    pub path: usize,
    /// How deep in the queue: see `crate::queue::Taker`.
    pub skip_bytes: u64,
    /// Most datagrams before the scheduler is asked again.
    pub datagrams: usize,
    /// Every other usable path carries a copy.
    pub copies: bool,
}

impl PathInfo {
    /// It has room, and there may be something for it.
    fn may_take(&self) -> bool {
        self.has_room && !self.nothing_to_send
    }
}

/// A scheduling algorithm.
pub trait Scheduler: Send + core::fmt::Debug {
    /// The name it is chosen by.
    fn name(&self) -> &'static str;
    /// Who takes ordered bytes next; `None`: nobody now.
    fn next(&mut self, paths: &[PathInfo]) -> Option<Allocation>;
    /// `bytes` were sent on path `path` of the list by its allocation.
    fn on_sent(&mut self, _paths: &[PathInfo], _path: usize, _bytes: u64) {}
    /// Which path of the list takes a packet of the low-latency class. It need not have room: packets of the low-latency class are few and do not wait.
    fn low_latency(&mut self, paths: &[PathInfo]) -> Option<usize> {
        fastest(paths)
    }
    /// Packets of the low-latency class go to every path.
    fn copies_low_latency(&self) -> bool {
        false
    }
    /// It does not see paths that leave a channel's air to a better one ([`crate::airtime`]).
    fn heeds_air(&self) -> bool {
        false
    }
}

/// The path with the least one-way delay.
fn fastest(paths: &[PathInfo]) -> Option<usize> {
    (0..paths.len()).min_by(|a, b| paths[*a].one_way_us.total_cmp(&paths[*b].one_way_us))
}

fn may_take(paths: &[PathInfo]) -> impl Iterator<Item = usize> {
    (0..paths.len()).filter(|i| paths[*i].may_take())
}

/// A scheduler that config and scenarios can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// [`EarliestArrival`]: all paths, bytes in the order of their arrival.
    #[default]
    EarliestArrival,
    /// The same, and packets of the low-latency class go to every path.
    RedundantLowLatency,
    /// [`MinRtt`].
    MinRtt,
    /// [`RoundRobin`].
    RoundRobin,
    /// [`Weighted`].
    Weighted,
    /// [`Redundant`]: everything goes to every path.
    Redundant,
    /// [`Backpressure`]: as the links complete.
    Backpressure,
}

/// No scheduler has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no scheduler {0:?}; known are earliest-arrival, redundant-low-latency, min-rtt, round-robin, weighted, redundant and backpressure"
)]
pub struct UnknownScheduler(pub String);

impl Kind {
    /// Every scheduler, the default first.
    pub const ALL: [Kind; 7] = [
        Kind::EarliestArrival,
        Kind::RedundantLowLatency,
        Kind::MinRtt,
        Kind::RoundRobin,
        Kind::Weighted,
        Kind::Redundant,
        Kind::Backpressure,
    ];

    /// Whether it goes by what the links complete, and needs a backhaul for it.
    pub const fn counts_completions(self) -> bool {
        matches!(self, Kind::Backpressure)
    }

    /// The name in config.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::EarliestArrival => "earliest-arrival",
            Kind::RedundantLowLatency => "redundant-low-latency",
            Kind::MinRtt => "min-rtt",
            Kind::RoundRobin => "round-robin",
            Kind::Weighted => "weighted",
            Kind::Redundant => "redundant",
            Kind::Backpressure => "backpressure",
        }
    }

    /// A fresh scheduler. `max_spread`: see [`EarliestArrival::new`].
    pub fn scheduler(self, max_spread: Duration) -> Box<dyn Scheduler> {
        match self {
            Kind::EarliestArrival => Box::new(EarliestArrival::new(max_spread, false)),
            Kind::RedundantLowLatency => Box::new(EarliestArrival::new(max_spread, true)),
            Kind::MinRtt => Box::new(MinRtt),
            Kind::RoundRobin => Box::new(RoundRobin::default()),
            Kind::Weighted => Box::new(Weighted::default()),
            Kind::Redundant => Box::new(Redundant),
            Kind::Backpressure => Box::new(Backpressure::default()),
        }
    }
}

impl core::str::FromStr for Kind {
    type Err = UnknownScheduler;

    fn from_str(name: &str) -> Result<Self, UnknownScheduler> {
        Kind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| UnknownScheduler(name.to_owned()))
    }
}

#[cfg(test)]
mod tests;
