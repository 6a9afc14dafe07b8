//! Cables between interfaces: two directions of [`ropewalk_air::wired`].

use crate::clock::TimerId;
use crate::packet::{IfIndex, PacketRef};
use ropewalk_air::wired::Link;

/// One direction.
#[derive(Debug)]
pub struct Direction {
    /// The model.
    pub link: Link<PacketRef>,
    /// Interface at its end.
    pub to: IfIndex,
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
