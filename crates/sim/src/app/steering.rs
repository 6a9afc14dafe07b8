//! A receiver on several access points of one channel that steers the sender: [`ropewalk_roam`] on
//! subflows of the model.

use super::transport::Stream;
use crate::roam::Shared;
use crate::tcp::{Ecn, Segment};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_roam::mark::Law;
use ropewalk_roam::steer::{EVERY, Steer};
use std::net::Ipv4Addr;
use std::time::Duration;

/// A station of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steered {
    /// Its address, by which its subflow is known.
    pub address: Ipv4Addr,
    /// Air of a packet by its access point; none: not measured yet.
    pub packet_time: Option<Duration>,
}

/// A station, and what was taken of its subflow so far.
#[derive(Clone, Copy, Debug)]
struct Station {
    address: Ipv4Addr,
    /// It has an address, and which count of joins that has.
    joined: Option<u32>,
    /// Round trips that were taken.
    samples: u64,
}

/// Marks packets that arrive, and makes subflows backups.
#[derive(Debug)]
pub struct Steering {
    stations: Vec<Station>,
    /// Subflows in the order of stations.
    steer: Steer,
    /// Subflows rest whose access points fade.
    heeds_fading: bool,
    /// Who measures packet times; none where they are given.
    client: Option<Shared>,
    rng: ChaCha8Rng,
    /// None before the first packet.
    next: Option<Time>,
}

/// Time since the run began.
fn since_start(now: Time) -> Duration {
    Duration::from_nanos(now.as_nanos())
}

impl Steering {
    /// Of the receiver with these stations, which share a channel.
    pub fn new(stations: &[Steered], marks: Option<Law>, priority: bool, seed: u64) -> Steering {
        let times: Vec<Option<Duration>> = stations.iter().map(|s| s.packet_time).collect();
        let station = |of: &Steered| Station { address: of.address, joined: Some(0), samples: 0 };
        Steering {
            stations: stations.iter().map(station).collect(),
            steer: Steer::new(&times, marks, priority),
            heeds_fading: false,
            client: None,
            rng: ChaCha8Rng::seed_from_u64(seed),
            next: None,
        }
    }

    /// The same by packet times that this client measures.
    pub fn measured_by(self, client: Shared) -> Steering {
        Steering { client: Some(client), ..self }
    }

    /// The same; subflows rest whose access points fade, as far as a client hears them.
    pub fn heeds_fading(self, heeds_fading: bool) -> Steering {
        Steering { heeds_fading, ..self }
    }

    /// The segment as the receiver sees it: with a mark, if it gets one.
    pub(super) fn mark(&mut self, now: Time, segment: Segment) -> Segment {
        self.next.get_or_insert(now + EVERY);
        let address = *segment.destination.ip();
        let Some(index) = self.stations.iter().position(|s| s.address == address) else {
            return segment;
        };
        let has_marks = self.steer.has_marks();
        let subflow = self.steer.subflow(index);
        subflow.packets += u64::from(segment.payload_bytes > 0);
        let is_ect = matches!(segment.ecn, Ecn::Ect0 | Ecn::Ect1);
        let marked = has_marks && subflow.marker.marks(is_ect, self.rng.random(), since_start(now));
        Segment { ecn: if marked { Ecn::Ce } else { segment.ecn }, ..segment }
    }

    /// Takes the round trips that the stream has measured.
    pub(super) fn on_measured(&mut self, now: Time, stream: &Stream) {
        for (index, station) in self.stations.iter_mut().enumerate() {
            let Some((rtt, samples)) = stream.rtt_at_receiver(station.address) else { continue };
            if samples > station.samples {
                station.samples = samples;
                self.steer.subflow(index).trips.on_sample(rtt, since_start(now));
            }
        }
    }

    /// Works rates and priorities out anew, when that is due.
    pub(super) fn on_timer(&mut self, now: Time, stream: &mut Stream) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + EVERY);
        self.ask_client(now);
        for (index, backup) in self.steer.decide(since_start(now)) {
            if stream.set_backup(self.stations[index].address, backup) {
                self.steer.on_backup(index, backup);
            }
        }
    }

    /// What the client has measured, and which of its stations have come, gone or fade: nothing is
    /// known of a subflow that is new, and priorities are of those that carry.
    fn ask_client(&mut self, now: Time) {
        let Some(client) = &self.client else { return };
        let client = client.borrow();
        for (index, station) in self.stations.iter_mut().enumerate() {
            let link = client.links().find(|link| link.1 == station.address).map(|link| link.2);
            if link != station.joined {
                (station.joined, station.samples) = (link, 0);
                self.steer.begin_anew(index, link.is_some());
            }
            self.steer.subflow(index).packet_time = client.packet_time(station.address, now);
            self.steer.set_fading(index, self.heeds_fading && client.fades(station.address));
        }
    }

    /// When it wants to be called.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.next
    }
}
