//! What the BPF programs keep: the layouts of `bpf/shared.h` and `bpf/controller.h`, in the machine's byte order.

/// Places in a connection's entry (`RW_SLOTS`).
pub const SLOTS: usize = 10;
/// Connections that a controller couples at once (`RW_CONNECTIONS`); subflows of more are uncoupled.
pub const CONNECTIONS: u32 = 16384;

pub(crate) const KEY: usize = 16;
const SLOT: usize = 24;
pub(crate) const CONNECTION: usize = 24 + SLOTS * SLOT;
pub(crate) const COUNTERS: usize = 40;
pub(crate) const TRIAL: usize = 64;

/// Which MPTCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Cookie of the network namespace.
    pub netns: u64,
    /// The connection's token at this end.
    pub token: u32,
}

impl Key {
    pub(crate) fn bytes(self) -> [u8; KEY] {
        let mut bytes = [0; KEY];
        bytes[..8].copy_from_slice(&self.netns.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.token.to_ne_bytes());
        bytes
    }

    pub(crate) fn from(bytes: &[u8]) -> Key {
        Key { netns: long(bytes, 0), token: word(bytes, 8) }
    }
}

/// One subflow as its siblings see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Not 0 where the slot is taken.
    pub owner: u32,
    /// Smoothed round trip, microseconds.
    pub rtt_us: u32,
    /// Congestion window, bytes.
    pub window: u64,
    /// Bytes acknowledged since the last loss, or between the last two if that was more.
    pub since_loss: u64,
}

/// The slots of an entry that are taken.
pub(crate) fn slots(entry: &[u8]) -> Vec<Slot> {
    let one = |s: &[u8]| Slot {
        owner: word(s, 0),
        rtt_us: word(s, 4),
        window: long(s, 8),
        since_loss: long(s, 16),
    };
    entry[24..].chunks_exact(SLOT).map(one).filter(|s| s.owner != 0).collect()
}

/// An entry with these slots.
pub(crate) fn entry(key: Key, slots: &[Slot]) -> [u8; CONNECTION] {
    let mut bytes = [0; CONNECTION];
    bytes[8..24].copy_from_slice(&key.bytes());
    for (to, slot) in bytes[24..].chunks_exact_mut(SLOT).zip(slots) {
        to[..4].copy_from_slice(&slot.owner.to_ne_bytes());
        to[4..8].copy_from_slice(&slot.rtt_us.to_ne_bytes());
        to[8..16].copy_from_slice(&slot.window.to_ne_bytes());
        to[16..].copy_from_slice(&slot.since_loss.to_ne_bytes());
    }
    bytes
}

/// Counted since a controller was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Subflows that found a place beside their connection's others.
    pub joined: u64,
    /// Attempts that failed because [`CONNECTIONS`] are coupled already.
    pub map_full: u64,
    /// Attempts that failed because a connection has more than [`SLOTS`] subflows.
    pub slots_full: u64,
    /// Subflows that gave their place back: closed, or fallen back to TCP.
    pub left: u64,
}

impl Counters {
    pub(crate) fn from(bytes: &[u8]) -> Counters {
        Counters {
            joined: long(bytes, 8),
            map_full: long(bytes, 16),
            slots_full: long(bytes, 24),
            left: long(bytes, 32),
        }
    }
}

pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at + if cfg!(target_endian = "little") { 0 } else { 4 }))
        | u64::from(word(bytes, at + if cfg!(target_endian = "little") { 4 } else { 0 })) << 32
}

use crate::btf::word;
