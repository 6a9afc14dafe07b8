//! What an interface knows of another one that it exchanges frames with.

use super::queue::{Bounds, TxQueue};
use super::reorder::Reorder;
use crate::wifi::phy::Rate;
use crate::wifi::rate::RateControl;

/// Counters towards one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeerStats {
    /// MPDUs sent, each attempt counted.
    pub mpdus_sent: u64,
    /// Of these, repetitions.
    pub retries: u64,
    /// Packets delivered: acknowledged, or sent to a group.
    pub delivered_packets: u64,
    /// Their bytes (IP).
    pub delivered_bytes: u64,
    /// Packets given up after the last attempt.
    pub failed_packets: u64,
    /// Packets that waited too long.
    pub expired_packets: u64,
    /// Packets that a queue had no room for.
    pub dropped_packets: u64,
    /// Packets received from it.
    pub received_packets: u64,
    /// Their bytes (IP).
    pub received_bytes: u64,
    /// MPDUs received from it a second time.
    pub duplicates: u64,
    /// Airtime of PPDUs sent to it, RTS included, ns.
    pub airtime_tx_ns: u64,
    /// Airtime of PPDUs received from it, ns.
    pub airtime_rx_ns: u64,
}

/// The other side, as one interface sees it.
#[derive(Debug)]
pub(crate) struct Peer<T> {
    /// Interface here, interface there ([`GROUP`](super::frame::GROUP) for groups).
    pub(crate) iface: u16,
    pub(crate) other: u16,
    pub(crate) radio: u16,
    pub(crate) other_radio: u16,
    /// By EDCA category.
    pub(crate) tx: [TxQueue<T>; 4],
    pub(crate) rx: [Reorder<T>; 4],
    pub(crate) control: Box<dyn RateControl>,
    /// Its control looks at the SNR.
    pub(crate) wants_snr: bool,
    /// QoS frames, and Block Ack agreements for all categories.
    pub(crate) bounds: Bounds,
    pub(crate) aggregates: bool,
    /// The rate of management and Null frames.
    pub(crate) basic_rate: Rate,
    /// It dozes, so nothing is sent to it but what it asks for.
    pub(crate) dozing: bool,
    /// It dozes and has asked for one frame.
    pub(crate) polled: bool,
    /// Frames to groups that were held back are being let go; afterwards waiting begins again.
    pub(crate) held_after: bool,
    /// The two may exchange packets.
    pub(crate) joined: bool,
    pub(crate) stats: PeerStats,
}

impl<T> Peer<T> {
    /// Whether anything waits for it.
    pub(crate) fn has_backlog(&self) -> bool {
        self.tx.iter().any(|q| !q.waiting.is_empty() || !q.window.is_empty())
    }
}
