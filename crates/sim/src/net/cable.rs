//! Cables between interfaces: two directions of [`ropewalk_air::wired`].

use crate::clock::TimerId;
use crate::measure::Spans;
use crate::packet::{IfIndex, PacketRef};
use ropewalk_air::wired::Link;

/// One direction.
#[derive(Debug)]
pub struct Direction {
    /// The model.
    pub link: Link<PacketRef>,
    /// Interface at its end.
    pub to: IfIndex,
    /// How long packets waited for the transmitter, since the end of the warm-up.
    pub wait: Spans,
    /// In sum since the start, ns.
    pub wait_ns: u64,
    pub(super) timer: TimerId,
}

/// A cable: what its first end sends goes by direction 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Its two ends.
    pub ends: [IfIndex; 2],
    /// Index of its first direction; the other follows it.
    pub first: usize,
}
