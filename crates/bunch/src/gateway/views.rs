//! What a gateway says of contributors, connections and itself.

use ropewalk_pep::Bypass;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;

/// What a contributor did: the record by which it can be thanked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// Packets that it brought first.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Packets that it was asked for and did not bring in time.
    pub failed: u64,
    /// Packets that came when they were no longer needed.
    pub late: u64,
    /// Packets that were not what the home access point captured.
    pub damaged: u64,
    /// Packets of others' senders that came by its tunnels, whatever they were good for.
    pub carried_packets: u64,
    /// Their bytes, without headers that were left out.
    pub carried_bytes: u64,
    /// Of these, packets that it brought first.
    pub delivered_packets: u64,
    /// Their bytes, likewise.
    pub delivered_bytes: u64,
    /// Bytes of its messages with packets.
    pub data_bytes: u64,
    /// Bytes of its other messages: reports, registrations, signs of life.
    pub report_bytes: u64,
    /// 1/8 to 1: how much of its window it is trusted with.
    pub score: f64,
}

impl Default for Account {
    fn default() -> Account {
        Account {
            packets: 0,
            bytes: 0,
            failed: 0,
            late: 0,
            damaged: 0,
            carried_packets: 0,
            carried_bytes: 0,
            delivered_packets: 0,
            delivered_bytes: 0,
            data_bytes: 0,
            report_bytes: 0,
            score: 1.0,
        }
    }
}

/// What happened so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// TCP connections that were left alone, by reason.
    pub bypassed: BTreeMap<Bypass, u64>,
    /// Packets of connections for which there was no session left: they went on without help.
    pub unhelped_packets: u64,
    /// Times that a home which overhears named a cell that another had named before it.
    pub cells_of_others: u64,
    /// Messages of routers that a packet was too long for their next link.
    pub too_long: u64,
    /// Packets that were cut for such a link.
    pub cut_packets: u64,
}

/// One session, for people to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// IP protocol.
    pub protocol: u8,
    /// The sender, as it is called here.
    pub sender: SocketAddrV4,
    /// The receiver.
    pub receiver: SocketAddrV4,
    /// Access points that take part.
    pub access_points: usize,
    /// Packets go their ordinary way: nobody else hears the sender.
    pub is_native: bool,
    /// Why the connection is left alone, if it is.
    pub bypassed: Option<Bypass>,
    /// Bytes that went to the receiver, repetitions and headers included.
    pub sent_bytes: u64,
    /// Bytes of payload that are kept for the receiver.
    pub kept_bytes: u64,
}
