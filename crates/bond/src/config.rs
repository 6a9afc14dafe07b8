//! Limits and choices of an engine, each with its reason.

use crate::backhaul::limiter;
use crate::schedule::{DeviceThreshold, Kind};
use ropewalk_cc::Algorithm;
use ropewalk_session::{BackhaulEnd, KeyLimits, Layer, ResponderConfig};
use ropewalk_time::Duration;

/// What the paths of an engine are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Ways through the internet, of which each end knows what the other acknowledges.
    Internet,
    /// Radio links between an access point and a repeater ([`crate::backhaul`]).
    Backhaul,
}

/// What an engine is made with. Every bound that a hostile or unlucky network could reach stands here.
#[derive(Clone, Debug)]
pub struct Config {
    /// Packet memory, bytes: queue, flight and held packets of all peers together. 96 MiB holds 300 ms of 1 Gb/s twice over; pages
    /// are only backed when used.
    pub memory_bytes: usize,
    /// Packets in that memory. 32 Ki small ones fill a quarter of it.
    pub max_packets: usize,
    /// Most bytes in one peer's ingress queue (fq_codel of Linux has 32 MB). CoDel keeps it far below this; a burst of one TCP window fits.
    pub queue_bytes: u64,
    /// Most packets there, segments of super-packets counted. If not said, bytes alone count; under the backpressure scheduler 200 packets (MF-3), or 100 ms of what
    /// leaves if that is more: that rides out changes of the links' rates.
    pub queue_packets: Option<u32>,
    /// Most datagrams in flight on one path: 300 ms of 1 Gb/s.
    pub in_flight: usize,
    /// Which path takes the next bytes.
    pub scheduler: Kind,
    /// How many datagrams a link may hold under the backpressure scheduler.
    pub device_threshold: DeviceThreshold,
    /// How links on the channel of a repeater's clients are limited.
    pub limiter: limiter::Config,
    /// Congestion control of each path.
    pub congestion: Algorithm,
    /// A path slower than the fastest by more than this carries no ordered data while a faster one works. At 200 ms the
    /// flow's own queue, which pays for the difference, is as long as TCP's least retransmission timeout.
    pub max_spread: Duration,
    /// No packet waits longer than this for those before it; none: for each of them as long as a
    /// repair takes. On a single backhaul 100 ms; the Multifacet paper has 10 (MF-9).
    pub order_deadline: Option<Duration>,
    /// Lost datagrams are sent again.
    pub recovery: bool,
    /// Packets of a flow are handed on in order. False to measure what that is worth ([`crate::order::Reassembly::unordered`]).
    pub ordered: bool,
    /// MTU of the device, bytes: a full packet fits one datagram of a 1500-byte path over IPv6. A TAP device (layer 2) has 1500, as the bridge that it is in.
    pub tun_mtu: u16,
    /// Keys are renewed after this (WireGuard's REKEY_AFTER_TIME is the same).
    pub rekey_after: Duration,
    /// What one set of keys may do at most, where that is less than its cipher allows. Half of it wears them out.
    pub key_limits: KeyLimits,
    /// An idle path sends something this often: NATs forget UDP after 30 s at the earliest (RFC 4787 §4.3 asks for 120).
    pub keepalive: Duration,
    /// This end is one of the two ends of a backhaul between an access point and a repeater, and
    /// says so. None: a bond like any other.
    pub backhaul: Option<BackhaulEnd>,
    /// Gateway: clients may send to each other. Not on a backhaul, where they always may: its
    /// repeaters extend one network.
    pub client_to_client: bool,
    /// A peer that is silent for this long is forgotten.
    pub idle_timeout: Duration,
    /// Most clients at once, half-open ones included.
    pub max_peers: usize,
    /// Connections that are counted ([`crate::flows`]), all peers' together; the least recently
    /// used make room. 0: none. 4096 take a megabyte.
    pub flows: usize,
    /// Handshake limits of a gateway.
    pub responder: ResponderConfig,
}

impl Config {
    /// An engine's part of what a gateway of `of` engines may use ([`crate::engine::Shard`]).
    #[must_use]
    pub fn part(self, of: u32) -> Config {
        let of = of.max(1) as usize;
        let memory_bytes = self.memory_bytes / of;
        Config {
            memory_bytes,
            max_packets: self.max_packets / of,
            queue_bytes: self.queue_bytes.min(memory_bytes as u64),
            max_peers: self.max_peers.div_ceil(of),
            flows: self.flows.div_ceil(of),
            ..self
        }
    }

    /// What the paths are: the one place where it is decided.
    pub fn profile(&self) -> Profile {
        if self.backhaul.is_some() || self.scheduler.counts_completions() {
            Profile::Backhaul
        } else {
            Profile::Internet
        }
    }

    /// What the device carries.
    pub fn layer(&self) -> Layer {
        self.backhaul.as_ref().map_or(Layer::Three, |h| h.layer)
    }

    /// Whether a gateway carries packets from one client to another.
    pub fn joins_clients(&self) -> bool {
        self.client_to_client || self.backhaul.is_some()
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            memory_bytes: 96 << 20,
            max_packets: 32 << 10,
            queue_bytes: 32_000_000,
            queue_packets: None,
            in_flight: 32 << 10,
            scheduler: Kind::default(),
            device_threshold: DeviceThreshold::default(),
            limiter: limiter::Config::default(),
            congestion: Algorithm::default(),
            max_spread: Duration::from_millis(200),
            order_deadline: None,
            recovery: true,
            ordered: true,
            tun_mtu: 1420,
            rekey_after: Duration::from_secs(120),
            key_limits: KeyLimits::NONE,
            keepalive: Duration::from_secs(20),
            backhaul: None,
            client_to_client: false,
            idle_timeout: Duration::from_secs(300),
            max_peers: 4096,
            flows: 4096,
            responder: ResponderConfig::default(),
        }
    }
}
