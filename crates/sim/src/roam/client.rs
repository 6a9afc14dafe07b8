//! The client: it hears, decides, joins and leaves.

use super::frame::Channel;
use super::station::Station;
use crate::net::{interface_of, mac_of};
use crate::packet::PacketRef;
use ropewalk_air::Time;
use ropewalk_air::wifi::{CapturedFrame, Command, Event, Mac, PeerStats, RadioId, RadioSpec};
use ropewalk_roam::airtime::Airtimes;
use ropewalk_roam::choose::{Heard, Limits, choose};
use ropewalk_roam::estimate::Estimator;
use ropewalk_roam::fade::{Beacons, Fading};
use ropewalk_roam::handover::Handover;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Decisions are taken this often.
pub(super) const EVERY: Duration = Duration::from_millis(100);
/// Estimates are compared with what the radio did this often: the estimator's window.
const COMPARE: u32 = 5;

/// How a client chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It stays as its stations begin.
    Fixed,
    /// It is with the few best.
    Best,
    /// It is with one, and moves when another leads by beacons.
    Handover,
}

/// What a client is to be like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How it chooses.
    pub policy: Policy,
    /// Most access points at once.
    pub most: usize,
    /// From association to an address.
    pub lease: Duration,
    /// Handover: from leaving to the first frame of joining.
    pub scan: Duration,
}

/// A client with its stations, all on one radio.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    radio: RadioId,
    channel: Channel,
    stations: Vec<Station>,
    estimator: Estimator,
    airtimes: Airtimes,
    handover: Handover,
    fading: Fading,
    /// An access point to move to.
    order: Option<usize>,
    ticks: u32,
    /// Endpoints of connections that follow it.
    followers: Vec<usize>,
}

/// Time since the run began.
fn since_start(now: Time) -> Duration {
    Duration::from_nanos(now.as_nanos())
}

impl Client {
    /// A client on `radio`.
    pub fn new(settings: Settings, radio: RadioId, spec: &RadioSpec, stations: Vec<Station>) -> Client {
        Client {
            settings,
            radio,
            channel: Channel::of(spec),
            stations,
            estimator: Estimator::new(),
            airtimes: Airtimes::new(),
            handover: Handover::new(),
            fading: Fading::new(),
            order: None,
            ticks: 0,
            followers: Vec::new(),
        }
    }

    /// Whether its stations join and leave.
    pub fn moves(&self) -> bool {
        self.settings.policy != Policy::Fixed
    }

    /// Its radio.
    pub fn radio(&self) -> RadioId {
        self.radio
    }

    /// Its stations.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// An endpoint wants its timer called when [`links`](Self::links) change.
    pub fn follow(&mut self, endpoint: usize) {
        self.followers.push(endpoint);
    }

    pub(crate) fn followers(&self) -> &[usize] {
        &self.followers
    }

    /// The stations that have an address, each with its number, and a count that is another after
    /// each join.
    pub fn links(&self) -> impl Iterator<Item = (usize, Ipv4Addr, u32)> + '_ {
        let ready = self.stations.iter().enumerate().filter(|(_, s)| s.ready.is_some());
        ready.map(|(i, s)| (i, s.address, s.generation))
    }

    /// Air of a packet by the access point of a station.
    pub fn packet_time(&self, address: Ipv4Addr, now: Time) -> Option<Duration> {
        let station = self.stations.iter().find(|s| s.address == address);
        station.and_then(|s| s.packet_time.get(since_start(now)))
    }

    /// The beacons of a station's access point fade, and another's do not.
    pub fn fades(&self, address: Ipv4Addr) -> bool {
        self.stations.iter().any(|s| s.address == address && s.fades)
    }

    /// Its radio has captured a frame.
    pub fn on_frame(&mut self, captured: &CapturedFrame<PacketRef>) {
        let Some((frame, air)) = self.channel.read(captured) else { return };
        let now = since_start(captured.at);
        self.estimator.on_frame(&frame, now);
        self.airtimes.on_frame(frame.transmitter, frame.receiver, &air, now);
    }

    /// Something happened on the air. True if [`links`](Self::links) have changed.
    pub fn on_event(&mut self, event: &Event) -> bool {
        match *event {
            Event::Beacon { at, bssid, signal_dbm, .. } => {
                self.on_beacon(at, bssid, signal_dbm);
                false
            }
            Event::Associated { at, iface, .. } => {
                if let Some(station) = self.stations.iter_mut().find(|s| s.iface == iface) {
                    station.joined = Some(at);
                }
                false
            }
            Event::Disassociated { at, iface, .. } => {
                let station = self.stations.iter_mut().find(|s| s.iface == iface);
                station.is_some_and(|station| {
                    let had = station.ready.is_some();
                    station.part(at);
                    had
                })
            }
            _ => false,
        }
    }

    fn on_beacon(&mut self, at: Time, bssid: Mac, signal_dbm: f64) {
        let heard = interface_of(bssid);
        let Some(index) = self.stations.iter().position(|s| s.access_point.0 == heard) else { return };
        self.stations[index].on_beacon(signal_dbm, at);
        if self.settings.policy == Policy::Handover {
            let order = self.handover.on_beacon(index as u32, since_start(at));
            self.order = order.map(|o| o.to as usize).or(self.order);
        }
    }

    /// Decides, if that is due; `counters` has what each access point counted towards its station.
    /// Gives what the air is to be told, and whether [`links`](Self::links) have changed.
    pub(super) fn on_tick(&mut self, now: Time, counters: &[PeerStats]) -> (Vec<Command>, bool) {
        self.ticks += 1;
        let compares = self.ticks.is_multiple_of(COMPARE);
        for (index, counters) in counters.iter().enumerate() {
            let estimate = self.estimate(index, now);
            if let Some((_, packet_s, _)) = estimate {
                self.stations[index].packet_time.on_sample(packet_s, since_start(now));
            }
            if compares {
                self.stations[index].compare(estimate, *counters);
            }
        }
        match self.settings.policy {
            Policy::Fixed => {}
            Policy::Best => self.choose(now),
            Policy::Handover => self.hand_over(now),
        }
        let changed = self.take_addresses(now);
        self.note_fading(now);
        (self.commands(now), changed)
    }

    /// Chance that a try arrives, packet time, and the same by the printed equation; seconds.
    fn estimate(&mut self, index: usize, now: Time) -> Option<(f64, f64, f64)> {
        let station = &self.stations[index];
        let (from, to) = (mac_of(station.access_point.0).0, mac_of(station.interface).0);
        let now = since_start(now);
        let delivery = self.estimator.counts(from, to, now).delivery()?;
        let tries = self.airtimes.tries((from, to), delivery, &self.channel.contention, now)?;
        let loss = 1.0 - delivery;
        Some((delivery, tries.packet_time_s(loss)?, tries.printed_packet_time_s(loss)))
    }

    fn choose(&mut self, now: Time) {
        let heard = |(index, s): (usize, &Station)| {
            Some(Heard {
                id: index as u32,
                signal_dbm: s.signal_dbm?,
                missed: s.missed(now),
                packet_time: s.packet_time.get(since_start(now)),
                joined: s.wanted,
            })
        };
        let heard: Vec<Heard> = self.stations.iter().enumerate().filter_map(heard).collect();
        let chosen = choose(&heard, &Limits { most: self.settings.most, ..Limits::default() });
        for (index, station) in self.stations.iter_mut().enumerate() {
            station.wanted = chosen.contains(&(index as u32));
            station.join_at = Some(now);
        }
    }

    /// Of the stations that carry, which fade.
    fn note_fading(&mut self, now: Time) {
        let carries = |s: &Station| s.ready.is_some();
        let beacons = |(index, s): (usize, &Station)| {
            let signal_dbm = s.signal_dbm.filter(|_| carries(s))?;
            Some(Beacons { id: index as u32, signal_dbm, missed: s.missed(now) })
        };
        let joined: Vec<Beacons> = self.stations.iter().enumerate().filter_map(beacons).collect();
        let fades = self.fading.decide(&joined, &Limits::default(), since_start(now));
        for (beacons, fades) in joined.iter().zip(fades) {
            self.stations[beacons.id as usize].fades = fades;
        }
    }

    /// It breaks before it makes.
    fn hand_over(&mut self, now: Time) {
        let Some(to) = self.order.take() else { return };
        for (index, station) in self.stations.iter_mut().enumerate() {
            station.wanted = index == to;
            station.join_at = Some(now + self.settings.scan);
        }
    }

    fn take_addresses(&mut self, now: Time) -> bool {
        let lease = self.settings.lease;
        let is_due = |s: &&mut Station| s.ready.is_none() && s.joined.is_some_and(|at| at + lease <= now);
        let mut due = self.stations.iter_mut().filter(is_due).peekable();
        let changed = due.peek().is_some();
        due.for_each(|s| s.get_address(now));
        changed
    }

    fn commands(&mut self, now: Time) -> Vec<Command> {
        let mut commands = Vec::new();
        for station in &mut self.stations {
            let (iface, ap) = (station.iface, mac_of(station.access_point.0));
            match (station.wanted, station.seeking) {
                (true, false) if station.join_at.is_none_or(|at| at <= now) => {
                    station.seeking = true;
                    commands.push(Command::Associate { iface, bssid: Some(ap) });
                }
                (false, true) => {
                    station.seeking = false;
                    commands.push(Command::Disassociate { iface });
                }
                _ => {}
            }
        }
        commands
    }
}
