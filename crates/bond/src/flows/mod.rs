//! Who has what: the connections that packets belong to, counted at both ends of a bond.
//!
//! A bounded table (`table`) has an entry for each five-tuple of late. Each packet of a device, or
//! for one, costs a look at it; a super-packet of 64 KiB costs one too. What an entry counts is in
//! `entry`, when its packets come and when they fail to in `pauses`, and which paths were dead
//! meanwhile in `outages`.

mod entry;
mod outages;
mod pauses;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use outages::{Outage, Outages};
pub use pauses::NOTICED_AFTER;
pub(crate) use table::{Flows, Packet};

use core::net::IpAddr;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};

/// What went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Bytes of IP packets.
    pub bytes: u64,
    /// Packets as the device has them: a super-packet is one.
    pub packets: u64,
    /// Bits per second, over about a second.
    pub bps: u64,
}

/// One connection, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStatus {
    /// Whose: the peer at the other end of the bond.
    pub peer: PublicKey,
    /// IP protocol number.
    pub protocol: u8,
    /// Address and port at this end of the bond; the port is an identifier for ICMP, and 0 where
    /// there is none.
    pub here: (IpAddr, u16),
    /// Address and port at the other end.
    pub there: (IpAddr, u16),
    /// From this end to the other.
    pub sent: Way,
    /// From the other end to this.
    pub received: Way,
    /// Most of its bytes travelled in the low-latency class.
    pub low_latency: bool,
    /// When its first packet was seen.
    pub first: Time,
    /// When its last packet was seen.
    pub last: Time,
    /// The longest time between two packets that were handed to the device.
    pub longest_gap: Duration,
}

/// The connections of an engine, now.
#[derive(Clone, Debug, Default)]
pub struct FlowsStatus {
    /// They are counted at all.
    pub counted: bool,
    /// How many there are.
    pub total: usize,
    /// Of these, those with the highest rates, the highest first.
    pub flows: Vec<FlowStatus>,
}
