//! What may still be carried for neighbours, where an uplink is metered.
//!
//! A packet is held only if it can be brought: all that is held for neighbours fits what is left.
//! So nobody counts on a packet for which there are no bytes, and what was promised is kept.

/// Counted for each message besides its own bytes, where it goes alone: its record, headers of TCP
/// and IP (71 together), and what the gateway says to ask for it (79 in a packet of its own).
const AROUND: u64 = 150;
/// With less than this a full packet is not brought any more.
const LEAST: u64 = 1500 + AROUND;

/// Bytes that may be carried, and those that were.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    /// None: as many as there are.
    left: Option<u64>,
    spent: u64,
}

impl Allowance {
    /// So many bytes from now on.
    pub(super) fn set(&mut self, left: Option<u64>) {
        self.left = left;
    }

    /// There is none for a full packet.
    pub(super) fn is_used_up(&self) -> bool {
        self.left.is_some_and(|left| left < LEAST)
    }

    /// Whether a packet of so many bytes may be held beside what is: bytes, and packets.
    pub(super) fn has_room(&self, held: impl FnOnce() -> (usize, usize), packet: usize) -> bool {
        self.left.is_none_or(|left| {
            let (bytes, packets) = held();
            (bytes + packet) as u64 + AROUND * (packets as u64 + 1) <= left
        })
    }

    /// A message of so many bytes was written for a neighbour.
    pub(super) fn spend(&mut self, message: u64) {
        self.spent += message + AROUND;
        self.left = self.left.map(|left| left.saturating_sub(message + AROUND));
    }

    /// What was carried since this was asked last.
    pub(super) fn take_spent(&mut self) -> u64 {
        core::mem::take(&mut self.spent)
    }
}
