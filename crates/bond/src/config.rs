//! Limits and choices of an engine, each with its reason.

use crate::cc::Algorithm;
use crate::schedule::Kind;
use crate::session::ResponderConfig;
use crate::time::Duration;

/// What an engine is made with. Every bound that a hostile or unlucky network could reach stands here.
#[derive(Clone, Debug)]
pub struct Config {
    /// Packet memory, bytes: queue, flight and held packets of all peers together. 96 MiB holds 300 ms of 1 Gb/s twice over; pages
    /// are only backed when used.
    pub memory_bytes: usize,
    /// Packets in that memory. 32 Ki small ones fill a quarter of it.
    pub records: usize,
    /// Most bytes in one peer's ingress queue. CoDel keeps it far below this; a burst of one TCP window fits.
    pub queue_bytes: u64,
    /// Most datagrams in flight on one path: 300 ms of 1 Gb/s.
    pub in_flight: usize,
    /// Which path takes the next bytes.
    pub scheduler: Kind,
    /// Congestion control of each path.
    pub congestion: Algorithm,
    /// A path slower than the fastest by more than this carries no ordered data while a faster one works. At 200 ms the
    /// flow's own queue, which pays for the difference, is as long as TCP's least retransmission timeout.
    pub max_spread: Duration,
    /// Lost datagrams are sent again.
    pub recovery: bool,
    /// MTU of the TUN device, bytes: a full packet fits one datagram of a 1500-byte path over IPv6.
    pub tun_mtu: u16,
    /// Keys are renewed after this (WireGuard's REKEY_AFTER_TIME is the same).
    pub rekey_after: Duration,
    /// And after this many datagrams; well under the 2^32 that a path's number on the wire can count.
    pub rekey_after_datagrams: u64,
    /// An idle path sends something this often: NATs forget UDP after 30 s at the earliest (RFC 4787 §4.3 asks for 120).
    pub keepalive: Duration,
    /// A peer that is silent for this long is forgotten.
    pub idle_timeout: Duration,
    /// Most clients at once, half-open ones included.
    pub max_peers: usize,
    /// Handshake limits of a gateway.
    pub responder: ResponderConfig,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            memory_bytes: 96 << 20,
            records: 32 << 10,
            queue_bytes: 16 << 20,
            in_flight: 32 << 10,
            scheduler: Kind::default(),
            congestion: Algorithm::default(),
            max_spread: Duration::from_millis(200),
            recovery: true,
            tun_mtu: 1420,
            rekey_after: Duration::from_secs(120),
            rekey_after_datagrams: 1 << 30,
            keepalive: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(300),
            max_peers: 4096,
            responder: ResponderConfig::default(),
        }
    }
}
