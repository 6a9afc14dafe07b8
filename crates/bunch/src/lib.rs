//! Uplinks of neighbours bunched for one sender that knows nothing of it (BaPu, paper 002).
//!
//! A sender's packets go over the air to its home access point, and neighbours overhear them. Each
//! access point keeps what it captured and reports it to a gateway near the receiver. The gateway
//! says who forwards which packet, puts the connection together again, and acknowledges in the
//! receiver's name what is safe ([`ropewalk_pep`]).
//!
//! ```text
//!  sender ))) home AP ────── tunnel ──────┐
//!        )))  neighbour ──── tunnel ──── gateway ── receiver
//!        )))  neighbour ──── tunnel ──────┘
//! ```
//!
//! The life of a packet:
//! 1. An access point captures it ([`ap`]), knows it from a repetition by its 802.11 number, holds
//!    it, and lists it in its next report ([`wire`]).
//! 2. The gateway ([`gateway`]) joins the reports: the home access point says which number is which
//!    part of the stream, the others say which numbers they heard.
//! 3. A holder with room forwards it when it is told to, without the headers that the gateway knows
//!    ([`elide`]).
//! 4. The gateway delivers. Holders forget a packet when the receiver has acknowledged it, not before.
//!
//! Both ends are sans-IO: `handle` an input with the time, then `poll_output` until it says
//! `Timeout`. A tunnel is a reliable stream of bytes, and its room is the driver's to tell.

#![forbid(unsafe_code)]

pub mod ap;
pub mod elide;
pub mod gateway;
pub mod hash;
pub mod icmp;
pub mod inner;
pub mod numbers;
pub mod wire;

use std::net::{Ipv4Addr, SocketAddrV4};

pub use ropewalk_time::Time;

/// An address below IP, of an access point or of a station.
pub type Mac = [u8; 6];

/// Destinations that are helped, each with its port; none: all ports. 0.0.0.0 is every address.
pub type Served = Vec<(Ipv4Addr, Option<u16>)>;

/// Whether packets to `to` are helped.
fn is_served(served: &Served, to: SocketAddrV4) -> bool {
    let is_it = |ip: &Ipv4Addr| ip.is_unspecified() || ip == to.ip();
    served.iter().any(|(ip, port)| is_it(ip) && port.is_none_or(|p| p == to.port()))
}

/// A stream of packets of one sender: what a session is for (paper 002 §3.1, with the traffic
/// identifier, since each has its own sequence of numbers on the air).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The home access point's cell.
    pub bssid: Mac,
    /// The sender's station.
    pub station: Mac,
    /// 802.11 traffic identifier, 0 to 7.
    pub tid: u8,
    /// IP protocol: 6 or 17.
    pub protocol: u8,
    /// The sender, as its packets say in its home.
    pub source: SocketAddrV4,
    /// The receiver.
    pub destination: SocketAddrV4,
}
