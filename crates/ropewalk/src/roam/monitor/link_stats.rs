//! Frames to packet times, and whether to believe them.

use ropewalk_net::monitor::{Link, MOST_LINKS, header};
use ropewalk_roam::airtime::{Airtimes, PacketTime};
use ropewalk_roam::estimate::{Estimator, Frame};
use ropewalk_roam::rate::{CONTENTION, air};
use std::collections::BTreeMap;
use std::time::Duration;

/// The monitor is held against the station's counters over this time, or longer if less came.
const OVER: Duration = Duration::from_secs(2);
/// So many packets say whether it hears.
const LEAST: u64 = 200;
/// Windows with too few packets are given up after this long.
const LONGEST: Duration = Duration::from_secs(10);
/// Time between beacons that nobody counts.
const BEACONS: Duration = Duration::from_millis(100);

/// So often mac80211 counts a beacon among the packets: as it receives it, and as it queues it for
/// its worker.
const TIMES: u64 = 2;

/// What was heard of the links that are watched.
#[derive(Debug, Default)]
pub(super) struct LinkStats {
    estimator: Estimator,
    airtimes: Airtimes,
    /// Frames of each link that is watched, at most [`MOST_LINKS`].
    frames: BTreeMap<Link, u64>,
    all: u64,
}

impl LinkStats {
    /// Listens to these links, and forgets others; true if they are not those of before.
    pub(super) fn watch(&mut self, links: &[Link]) -> bool {
        let links = &links[..links.len().min(MOST_LINKS)];
        let gone: Vec<Link> = self.frames.keys().filter(|l| !links.contains(l)).copied().collect();
        for link in &gone {
            self.frames.remove(link);
            self.estimator.forget(link.0, link.1);
            self.airtimes.forget(link.0, link.1);
        }
        let before = self.frames.len();
        for link in links {
            self.frames.entry(*link).or_default();
        }
        !gone.is_empty() || self.frames.len() != before
    }

    /// Those that are watched.
    pub(super) fn links(&self) -> Vec<Link> {
        self.frames.keys().copied().collect()
    }

    /// Frames of links that were watched, since the start.
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// A frame as the monitor interface gives it.
    pub(super) fn take(&mut self, frame: &[u8], now: Duration) {
        let Some(header) = header(frame) else { return };
        let (transmitter, receiver) = (header.transmitter, header.receiver);
        let Some(count) = self.frames.get_mut(&(transmitter, receiver)) else { return };
        (*count, self.all) = (*count + 1, self.all + 1);
        let (tid, sequence, retry) = (header.tid, header.sequence, header.retry);
        self.estimator.on_frame(&Frame { transmitter, receiver, tid, sequence, retry }, now);
        let air = header.rate.and_then(|r| air(r.bps, r.modulation.preamble(), header.aggregate));
        if let Some(air) = air {
            self.airtimes.on_frame(transmitter, receiver, &air, now);
        }
    }

    /// Air of a delivered packet of 1500 bytes over the last half second, seconds; none: too few
    /// frames, or the driver says no rates.
    pub(super) fn packet_time_s(&mut self, (transmitter, receiver): Link, now: Duration) -> Option<f64> {
        let delivery = self.estimator.counts(transmitter, receiver, now).delivery()?;
        let tries = self.airtimes.tries((transmitter, receiver), delivery, &CONTENTION, now)?;
        tries.packet_time_s(1.0 - delivery)
    }
}

/// What a station has of its access point by its driver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::roam) struct StationCounts {
    /// Frames, beacons among them; wraps.
    pub packets: u32,
    /// Beacons, if they are counted.
    pub beacons: Option<u64>,
}

impl StationCounts {
    /// Frames without beacons.
    pub(in crate::roam) fn data(self) -> u64 {
        u64::from(self.packets).saturating_sub(TIMES * self.beacons.unwrap_or_default())
    }
}

/// What the monitor says of an access point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::roam) struct Measured {
    /// Air of a packet, as measured lately.
    pub time: Option<Duration>,
    /// The same as it was last, however long ago.
    pub last: Option<Duration>,
    /// Frames that were heard of it; none without a monitor.
    pub frames: Option<u64>,
}

/// A link, and whether the monitor hears it.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) link: Link,
    station: String,
    time: PacketTime,
    last: Option<Duration>,
    check: Check,
}

impl Watched {
    /// One of the station on this interface.
    pub(super) fn new(link: Link, station: &str) -> Watched {
        let station = station.to_owned();
        Watched { link, station, time: PacketTime::default(), last: None, check: Check::default() }
    }

    /// What is measured now, held against what the station counted.
    pub(super) fn update(
        &mut self,
        stats: &mut LinkStats,
        counts: Option<StationCounts>,
        now: Duration,
    ) -> Measured {
        let frames = stats.frames.get(&self.link).copied().unwrap_or_default();
        if let Some(counts) = counts {
            self.check.update(frames, counts, now);
        }
        if let Some(packet_s) = stats.packet_time_s(self.link, now) {
            self.time.on_sample(packet_s, now);
        }
        if self.check.misses_frames() {
            self.time = PacketTime::default();
        }
        let time = self.time.get(now).filter(|_| self.check.hears());
        self.last = time.or(self.last);
        Measured { time, last: self.last, frames: Some(frames) }
    }

    /// What does not work.
    pub(super) fn note(&self) -> Option<String> {
        let Comparison { heard, received } = self.check.last.filter(|_| self.check.misses_frames())?;
        let station = &self.station;
        Some(match heard {
            0 => format!(
                "monitor hears nothing of what {station} receives ({received} packets meanwhile): it may be off or on another channel, or its driver gives it none of them"
            ),
            _ => format!(
                "monitor hears {heard} of {received} packets that {station} received: its driver may keep some from it"
            ),
        })
    }
}

/// Whether the monitor hears what the station receives. Some drivers keep frames of aggregates
/// from monitors, and what is missing would count as lost.
#[derive(Debug, Default)]
struct Check {
    began: Option<(Duration, u64, StationCounts)>,
    last: Option<Comparison>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Comparison {
    heard: u64,
    received: u64,
}

impl Check {
    fn update(&mut self, heard: u64, counts: StationCounts, now: Duration) {
        let Some((at, heard_before, before)) = self.began else {
            self.began = Some((now, heard, counts));
            return;
        };
        let took = now.saturating_sub(at);
        if took < OVER {
            return;
        }
        let beacons = match (counts.beacons, before.beacons) {
            (Some(now), Some(before)) => TIMES * now.saturating_sub(before),
            _ => (took.as_millis() / BEACONS.as_millis()) as u64,
        };
        let received = u64::from(counts.packets.wrapping_sub(before.packets)).saturating_sub(beacons);
        let enough = received >= LEAST;
        if enough {
            self.last = Some(Comparison { heard: heard.saturating_sub(heard_before), received });
        }
        if enough || took >= LONGEST {
            self.began = Some((now, heard, counts));
        }
    }

    /// Four of five, at least: the station counts what goes to groups, too.
    fn hears(&self) -> bool {
        self.last.is_some_and(|c| c.heard * 5 >= c.received * 4)
    }

    fn misses_frames(&self) -> bool {
        self.last.is_some() && !self.hears()
    }
}

#[cfg(test)]
#[path = "link_stats_tests.rs"]
mod tests;
