//! One station of a client: the access point that it is for, and what is known of it.

use crate::packet::IfIndex;
use ropewalk_air::Time;
use ropewalk_air::wifi::{IfaceId, PeerStats};
use ropewalk_roam::airtime::PacketTime;
use std::net::Ipv4Addr;
use std::time::Duration;

/// A beacon's weight in the mean signal.
const SIGNAL_SHARE: f64 = 0.2;

/// Estimates beside what the access point's radio did, over half seconds that had an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Joins that came to an address.
    pub joins: u64,
    /// Time with an address, ns.
    pub joined_ns: u64,
    /// Half seconds with an estimate.
    pub windows: u64,
    /// Estimated chances that a try arrives, in sum.
    pub delivery: f64,
    /// What the transmitter's counters say, in sum.
    pub truth: f64,
    /// Differences between both, in sum, without their signs.
    pub error: f64,
    /// Packet times, seconds in sum.
    pub packet_s: f64,
    /// The same by the printed equation 1.
    pub printed_s: f64,
}

/// A station of the client.
#[derive(Clone, Debug)]
pub struct Station {
    /// Its interface.
    pub interface: IfIndex,
    /// The same on the air.
    pub iface: IfaceId,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its access point, and the same on the air.
    pub access_point: (IfIndex, IfaceId),
    /// Time between that one's beacons; zero: it sends none.
    pub beacon_interval: Duration,
    /// What was measured.
    pub figures: Figures,
    /// The client wants it joined.
    pub(super) wanted: bool,
    /// Told to join, or joined.
    pub(super) seeking: bool,
    /// A join that waits: a scan goes before it.
    pub(super) join_at: Option<Time>,
    /// Since when it is associated.
    pub(super) joined: Option<Time>,
    /// Since when it has an address.
    pub(super) ready: Option<Time>,
    /// Counts joins, so that one soon after the last is told from it.
    pub(super) generation: u32,
    pub(super) signal_dbm: Option<f64>,
    pub(super) beacon: Time,
    /// Its beacons fade, and another's do not.
    pub(super) fades: bool,
    pub(super) packet_time: PacketTime,
    /// The transmitter's counters half a second ago.
    pub(super) before: PeerStats,
}

impl Station {
    /// A station that has heard nothing; `joined`: it is with its access point from the start, with
    /// an address. The access point sends a beacon each `beacon_interval`.
    pub fn new(
        (interface, iface): (IfIndex, IfaceId),
        (access_point, beacon_interval): ((IfIndex, IfaceId), Duration),
        address: Ipv4Addr,
        joined: bool,
    ) -> Station {
        let since = joined.then_some(Time::ZERO);
        Station {
            interface,
            iface,
            address,
            access_point,
            beacon_interval,
            figures: Figures::default(),
            wanted: joined,
            seeking: joined,
            join_at: None,
            joined: since,
            ready: since,
            generation: 0,
            signal_dbm: None,
            beacon: Time::ZERO,
            fades: false,
            packet_time: PacketTime::default(),
            before: PeerStats::default(),
        }
    }

    pub(super) fn on_beacon(&mut self, signal_dbm: f64, now: Time) {
        let mean = self.signal_dbm.filter(|_| self.missed(now) < 10);
        let mean = mean.map_or(signal_dbm, |mean| mean + SIGNAL_SHARE * (signal_dbm - mean));
        (self.signal_dbm, self.beacon) = (Some(mean), now);
    }

    /// Beacons missed in a row.
    pub(super) fn missed(&self, now: Time) -> u32 {
        let missed = (now - self.beacon).as_nanos().checked_div(self.beacon_interval.as_nanos());
        missed.map_or(0, |n| n.try_into().unwrap_or(u32::MAX))
    }

    /// It is with nobody any more.
    pub(super) fn part(&mut self, now: Time) {
        if let Some(since) = self.ready.take() {
            self.figures.joined_ns += (now - since).as_nanos() as u64;
        }
        (self.joined, self.packet_time, self.fades) = (None, PacketTime::default(), false);
    }

    /// An address has come.
    pub(super) fn get_address(&mut self, now: Time) {
        self.ready = Some(now);
        self.generation += 1;
        self.figures.joins += 1;
    }

    /// Figures until now.
    pub fn figures_at(&self, now: Time) -> Figures {
        let more = self.ready.map_or(0, |since| (now - since).as_nanos() as u64);
        Figures { joined_ns: self.figures.joined_ns + more, ..self.figures }
    }

    /// A half second is over: the estimate beside what the transmitter counted.
    pub(super) fn compare(&mut self, estimate: Option<(f64, f64, f64)>, counters: PeerStats) {
        let before = std::mem::replace(&mut self.before, counters);
        let sent = counters.mpdus_sent.saturating_sub(before.mpdus_sent);
        let came = counters.delivered_packets.saturating_sub(before.delivered_packets);
        let Some((delivery, packet_s, printed_s)) = estimate.filter(|_| sent > 0) else { return };
        let truth = (came as f64 / sent as f64).min(1.0);
        let figures = &mut self.figures;
        figures.windows += 1;
        figures.delivery += delivery;
        figures.truth += truth;
        figures.error += (delivery - truth).abs();
        figures.packet_s += packet_s;
        figures.printed_s += printed_s;
    }
}
