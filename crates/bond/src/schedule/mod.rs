//! Schedulers: which path takes the next bytes. A path that has no room is never asked; what finds no path waits in the queue.

mod earliest;
mod simple;

pub use earliest::EarliestArrival;
pub use simple::{MinRtt, Redundant, RoundRobin, Weighted};

use crate::time::Duration;

/// What a scheduler sees of a path. Only usable paths are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View {
    /// The path's identifier.
    pub id: u8,
    /// Window and pacing let a datagram go now.
    pub has_room: bool,
    /// Smoothed one-way delay, microseconds; offset by the same unknown amount on every path.
    pub one_way_us: f64,
    /// Its mean deviation.
    pub jitter: Duration,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// What the path carries, bits per second; 0 while unknown.
    pub rate_bps: u64,
    /// Weight that a person gave it; 1 unless said.
    pub weight: u32,
    /// Largest datagram as an IP packet, bytes.
    pub mtu: u16,
}

/// Leave to take bytes from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Index into the views.
    pub path: usize,
    /// How deep in the queue: see [`crate::queue::Taker`].
    pub skip_bytes: u64,
    /// Most datagrams before the scheduler is asked again.
    pub datagrams: usize,
    /// Every other usable path carries a copy.
    pub copies: bool,
}

/// A scheduling algorithm.
pub trait Scheduler: Send + core::fmt::Debug {
    /// The name it is chosen by.
    fn name(&self) -> &'static str;
    /// Who takes ordered bytes next. `declined` has a bit for each view that had its chance since the queue last changed and found
    /// nothing for itself. `None`: nobody now.
    fn next(&mut self, paths: &[View], declined: u16) -> Option<Grant>;
    /// `bytes` were sent on view `path` by its grant.
    fn on_sent(&mut self, _paths: &[View], _path: usize, _bytes: u64) {}
    /// Which view takes an urgent packet. It need not have room: urgent packets are few and do not wait.
    fn urgent(&mut self, paths: &[View]) -> Option<usize> {
        fastest(paths)
    }
    /// Urgent packets go to every path.
    fn copies_urgent(&self) -> bool {
        false
    }
}

/// The view with the least one-way delay.
fn fastest(paths: &[View]) -> Option<usize> {
    (0..paths.len()).min_by(|a, b| paths[*a].one_way_us.total_cmp(&paths[*b].one_way_us))
}

fn may_take(paths: &[View], declined: u16) -> impl Iterator<Item = usize> {
    (0..paths.len()).filter(move |i| paths[*i].has_room && declined & 1 << i == 0)
}

/// Names that [`by_name`] knows, the default first.
pub const NAMES: [&str; 6] = ["earliest-arrival", "min-rtt", "round-robin", "weighted", "redundant", "redundant-urgent"];

/// The scheduler of that name.
pub fn by_name(name: &str, max_spread: Duration) -> Option<Box<dyn Scheduler>> {
    Some(match name {
        "earliest-arrival" => Box::new(EarliestArrival::new(max_spread, false)),
        "redundant-urgent" => Box::new(EarliestArrival::new(max_spread, true)),
        "min-rtt" => Box::new(MinRtt),
        "round-robin" => Box::new(RoundRobin::default()),
        "weighted" => Box::new(Weighted::default()),
        "redundant" => Box::new(Redundant),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
