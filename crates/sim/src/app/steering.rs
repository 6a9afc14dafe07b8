//! A receiver on several access points of one channel that steers the sender: [`ropewalk_roam`] on
//! subflows of the model.

use super::transport::Stream;
use crate::roam::Shared;
use crate::tcp::{Ecn, Segment};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_roam::mark::{Law, Marker, RoundTrips};
use ropewalk_roam::priority::{Marks, Path, Priorities};
use std::net::Ipv4Addr;
use std::time::Duration;

/// How often rates and priorities are worked out anew (paper 001, §5.1: by packet or by timer).
const EVERY: Duration = Duration::from_millis(100);

/// A station of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steered {
    /// Its address, by which its subflow is known.
    pub address: Ipv4Addr,
    /// Air of a packet by its access point; none: not measured yet.
    pub packet_time: Option<Duration>,
}

/// A subflow, and what is known of it.
#[derive(Clone, Copy, Debug)]
struct Subflow {
    of: Steered,
    /// Its station has an address, and which count of joins that has.
    joined: Option<u32>,
    trips: RoundTrips,
    samples: u64,
    packets: u64,
    marker: Marker,
    /// It rests for its packet time.
    rests: bool,
    /// It rests since its access point's beacons fade.
    fades: bool,
    /// What the sender was told.
    backup: bool,
}

impl Subflow {
    fn new(of: Steered, joined: Option<u32>, law: Law) -> Subflow {
        Subflow {
            of,
            joined,
            trips: RoundTrips::default(),
            samples: 0,
            packets: 0,
            marker: Marker::new(law),
            rests: false,
            fades: false,
            backup: false,
        }
    }

    /// One that was not measured yet is left alone, as one that is as good as the best.
    fn packet_time(&self, best: Duration) -> Duration {
        self.of.packet_time.unwrap_or(best)
    }
}

/// Marks packets that arrive, and makes subflows backups.
#[derive(Debug)]
pub struct Steering {
    subflows: Vec<Subflow>,
    law: Option<Law>,
    priorities: Option<Priorities>,
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
        let subflow = |of: &Steered| Subflow::new(*of, Some(0), marks.unwrap_or_default());
        Steering {
            subflows: stations.iter().map(subflow).collect(),
            law: marks,
            priorities: priority.then(Priorities::new),
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
        let Some(subflow) = self.subflows.iter_mut().find(|s| s.of.address == address) else {
            return segment;
        };
        subflow.packets += u64::from(segment.payload_bytes > 0);
        let is_ect = matches!(segment.ecn, Ecn::Ect0 | Ecn::Ect1);
        let marked = self.law.is_some() && subflow.marker.marks(is_ect, self.rng.random(), since_start(now));
        Segment { ecn: if marked { Ecn::Ce } else { segment.ecn }, ..segment }
    }

    /// Takes the round trips that the stream has measured.
    pub(super) fn on_measured(&mut self, now: Time, stream: &Stream) {
        for subflow in &mut self.subflows {
            let Some((rtt, samples)) = stream.rtt_at_receiver(subflow.of.address) else { continue };
            if samples > subflow.samples {
                subflow.samples = samples;
                subflow.trips.on_sample(rtt, since_start(now));
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
        let times = self.subflows.iter().filter(|s| s.joined.is_some()).filter_map(|s| s.of.packet_time);
        if let Some(best) = times.min() {
            for subflow in &mut self.subflows {
                subflow.marker.update(subflow.packet_time(best), best, &subflow.trips);
            }
            self.prioritise(best, now);
        }
        for subflow in self.subflows.iter_mut().filter(|s| s.joined.is_some()) {
            let backup = subflow.rests || subflow.fades;
            if subflow.backup != backup && stream.set_backup(subflow.of.address, backup) {
                subflow.backup = backup;
            }
        }
    }

    /// Who rests for its packet time, among those that do not fade.
    fn prioritise(&mut self, best: Duration, now: Time) {
        let Some(priorities) = &mut self.priorities else { return };
        let path = |s: &Subflow| Path {
            packet_time: s.packet_time(best),
            least_rtt: s.trips.least(),
            packets: s.packets,
            marks: Marks::None,
        };
        let carries = |s: &&mut Subflow| s.joined.is_some() && !s.fades;
        let mut carrying: Vec<&mut Subflow> = self.subflows.iter_mut().filter(carries).collect();
        let paths: Vec<Path> = carrying.iter().map(|s| path(s)).collect();
        let rests = priorities.decide(&paths, since_start(now));
        carrying.iter_mut().zip(rests).for_each(|(subflow, rests)| subflow.rests = rests);
    }

    /// What the client has measured, and which of its stations have come, gone or fade: nothing is
    /// known of a subflow that is new, and priorities are of those that carry.
    fn ask_client(&mut self, now: Time) {
        let Some(client) = &self.client else { return };
        let client = client.borrow();
        let mut others = false;
        for subflow in &mut self.subflows {
            let link = client.links().find(|link| link.1 == subflow.of.address).map(|link| link.2);
            let packet_time = client.packet_time(subflow.of.address, now);
            if link != subflow.joined {
                others = true;
                *subflow = Subflow::new(subflow.of, link, self.law.unwrap_or_default());
            }
            subflow.of.packet_time = packet_time;
            let fades = self.heeds_fading && client.fades(subflow.of.address);
            others |= std::mem::replace(&mut subflow.fades, fades) != fades;
        }
        if others && self.priorities.is_some() {
            self.priorities = Some(Priorities::new());
        }
    }

    /// When it wants to be called.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.next
    }
}
