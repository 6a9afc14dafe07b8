//! Radios: what a driver and mac80211 would do between a device and the air.

use ropewalk_air::Time;
use ropewalk_air::wifi::abstract_medium::WeightedSource;
use ropewalk_air::wifi::phy::Channel;
use ropewalk_air::wifi::{
    AccessCategory, AirSpec, Dilated, Event, IfaceId, Mac, Mode, Output, Packet, PeerStats, RadioId,
    RadioStats, Received, StationStart, Status,
};
use ropewalk_sim::measure::StationCounts;
use ropewalk_sim::net::{Heard, interface_of};

use super::engine::Engine;
use super::ether::{Frame, Piece};
use super::feedback::{Neighbours, token};
use super::tap;
use super::weighted::WeightedFair;
use crate::{LabError, Result};

/// What an interface on air is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    AccessPoint,
    /// Of this access point, if of any now.
    Station(Option<Mac>),
    Mesh,
}

/// The air, and who is on it.
pub(super) struct Radios {
    pub(super) air: Dilated<Piece>,
    /// Devices by interfaces of the air.
    on_air: Vec<usize>,
    macs: Vec<Mac>,
    roles: Vec<Role>,
    pub(super) radio_of: Vec<RadioId>,
    pub(super) channels: Vec<Channel>,
    /// What waits for neighbours and was last heard of them, by interface of the air.
    pub(super) neighbours: Vec<Neighbours>,
    /// What completions and receptions say of each neighbour, by interface of the air.
    heard: Vec<Vec<(Mac, Heard)>>,
    /// The abstract medium, if it is in the place of 802.11.
    pub(super) weighted: Option<WeightedFair>,
}

impl Radios {
    /// With `sources` by radio they are on the abstract medium.
    pub(super) fn new(
        (spec, seed): (AirSpec, u64),
        dilation: u32,
        on_air: Vec<usize>,
        sources: Option<Vec<Option<WeightedSource>>>,
    ) -> Result<Radios> {
        let role = |mode: &Mode| match mode {
            Mode::AccessPoint(_) => Role::AccessPoint,
            Mode::Station(s) => Role::Station(match s.start {
                StationStart::Associated(mac) => Some(mac),
                _ => None,
            }),
            Mode::Mesh { .. } => Role::Mesh,
        };
        let radio_of: Vec<RadioId> = spec.ifaces.iter().map(|i| i.radio).collect();
        let channels: Vec<Channel> = spec.radios.iter().map(|r| r.channel).collect();
        let weighted = sources.map(|sources| WeightedFair::new(&sources, &channels, &radio_of));
        Ok(Radios {
            macs: spec.ifaces.iter().map(|i| i.mac).collect(),
            roles: spec.ifaces.iter().map(|i| role(&i.mode)).collect(),
            radio_of,
            channels,
            weighted: weighted.transpose()?,
            neighbours: vec![Neighbours::default(); on_air.len()],
            heard: vec![Vec::new(); on_air.len()],
            on_air,
            air: Dilated::new(spec, seed, dilation)
                .map_err(|e| LabError::Build(ropewalk_sim::BuildError::new("medium", e)))?,
        })
    }

    /// Hands a piece to the air, to whom its Ethernet header says; false if nobody there can be reached.
    pub(super) fn send(&mut self, now: Time, iface: IfaceId, piece: Piece) -> bool {
        let to = match self.roles[usize::from(iface.0)] {
            Role::Station(ap) => ap,
            Role::Mesh => Some(piece.to()),
            Role::AccessPoint => {
                Some(piece.to()).filter(|to| to.is_group() || self.is_station_of(*to, iface))
            }
        };
        let Some(to) = to else { return false };
        let to = if to.is_group() { Mac::BROADCAST } else { to };
        if let Some(weighted) = &mut self.weighted {
            weighted.send(now, iface, to, piece);
            return true;
        }
        let d = piece.description();
        let ac = AccessCategory::from_dscp(d.dscp);
        let token = token(ac as usize, piece.len());
        let packet = Packet {
            len_bytes: piece.len(),
            ac,
            token,
            ecn_capable: d.ecn_capable,
            flow: d.flow,
            payload: piece,
        };
        let taken = self.air.send(now, iface, to, packet).is_ok();
        if taken {
            self.neighbours[usize::from(iface.0)].on_taken(to, token);
        }
        taken
    }

    fn iface_of(&self, mac: Mac) -> Option<usize> {
        let port = interface_of(mac).0 as usize;
        self.on_air.iter().position(|p| *p == port).filter(|i| self.macs[*i] == mac)
    }

    fn is_station_of(&self, station: Mac, ap: IfaceId) -> bool {
        let own = self.macs[usize::from(ap.0)];
        self.iface_of(station).is_some_and(|i| self.roles[i] == Role::Station(Some(own)))
    }

    /// Who receives what an interface sends to an address, on the abstract medium.
    pub(super) fn receivers(&self, from: IfaceId, to: Mac) -> Vec<usize> {
        if !to.is_group() {
            return self.iface_of(to).into_iter().collect();
        }
        let own = Role::Station(Some(self.macs[usize::from(from.0)]));
        (0..self.roles.len()).filter(|i| self.roles[*i] == own).collect()
    }

    /// When something is due on the air.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        match &self.weighted {
            Some(weighted) => weighted.next_timeout(),
            None => self.air.next_timeout(),
        }
    }

    fn heard_mut(&mut self, iface: usize, neighbour: Mac) -> &mut Heard {
        let list = &mut self.heard[iface];
        let place = list.binary_search_by_key(&neighbour, |h| h.0).unwrap_or_else(|place| {
            list.insert(place, (neighbour, Heard::default()));
            place
        });
        &mut list[place].1
    }

    /// The radios of whom an interface of a radio is joined to now: of its access points, or of its stations.
    pub(super) fn joined(&self, radio: RadioId) -> Vec<RadioId> {
        let pairs = self.roles.iter().enumerate().filter_map(|(i, role)| match role {
            Role::Station(Some(ap)) => Some((self.radio_of[i], self.radio_of[self.iface_of(*ap)?])),
            _ => None,
        });
        pairs.filter_map(|(a, b)| (a == radio).then_some(b).or((b == radio).then_some(a))).collect()
    }

    /// The channel of a radio now: number of its primary, and width.
    pub(super) fn channel(&self, radio: usize) -> String {
        let channel = self.channels.get(radio);
        channel.map_or_else(String::new, |c| format!("{} ({} MHz)", c.primary(), c.width().mhz()))
    }

    /// Counters of a radio.
    pub(super) fn radio_stats(&self, radio: RadioId) -> RadioStats {
        match &self.weighted {
            Some(weighted) => weighted.radio_stats(radio),
            None => self.air.radio_stats(radio).unwrap_or_default(),
        }
    }

    /// Counters of an interface of the air towards each neighbour.
    pub(super) fn peer_stats(&self, iface: IfaceId) -> Vec<(Mac, PeerStats)> {
        match &self.weighted {
            Some(weighted) => weighted.peer_stats(iface),
            None => self.air.peer_stats(iface).collect(),
        }
    }

    pub(super) fn all_radio_stats(&self) -> Vec<RadioStats> {
        (0..self.channels.len()).map(|i| self.radio_stats(RadioId(i as u16))).collect()
    }

    /// Counters of each interface of the air towards its neighbours.
    pub(super) fn station_counts(&self) -> Vec<Vec<StationCounts>> {
        let of = |iface: usize| {
            let heard = |to: Mac| {
                let list = &self.heard[iface];
                list.binary_search_by_key(&to, |h| h.0).map_or(Heard::default(), |place| list[place].1)
            };
            let counts = |(to, peer): (Mac, PeerStats)| StationCounts { to, peer, heard: heard(to) };
            self.peer_stats(IfaceId(iface as u16)).into_iter().map(counts).collect()
        };
        (0..self.on_air.len()).map(of).collect()
    }
}

impl Engine {
    /// Takes what the air has to say.
    pub(super) fn run_air(&mut self) {
        if self.radios.as_ref().is_some_and(|r| r.weighted.is_some()) {
            return self.run_weighted();
        }
        let reactor = std::sync::Arc::clone(&self.reactor);
        while let Some(output) = self.radios.as_mut().and_then(|r| r.air.poll(reactor.now())) {
            match output {
                Output::Received(received) => self.on_received(received),
                Output::Completion(done) => {
                    let Some(radios) = &mut self.radios else { return };
                    let bps = done.rate.map(|rate| radios.air.bps(rate));
                    radios.neighbours[usize::from(done.iface.0)].on_completion(&done, bps);
                    if let (Status::Delivered, Some(bps)) = (done.status, bps) {
                        let heard = radios.heard_mut(usize::from(done.iface.0), done.to);
                        heard.acknowledged += 1;
                        heard.rate_bps += bps;
                    }
                }
                Output::Captured(frame) => self.on_captured(&frame),
                Output::Event(event) => self.on_event(event),
            }
        }
    }

    fn on_received(&mut self, received: Received<Piece>) {
        let Some(radios) = &mut self.radios else { return };
        let iface = usize::from(received.iface.0);
        let own = radios.macs[iface];
        radios.neighbours[iface].on_received(&received, radios.air.bps(received.rate));
        // Kept at the sender's, where the rest of what is known about the pair is.
        if let Some(sender) = radios.iface_of(received.from) {
            let heard = radios.heard_mut(sender, own);
            heard.received += 1;
            heard.minus_mdbm += (received.signal_dbm * -1000.0) as u64;
        }
        self.deliver(iface, received.payload, received.ecn_marked, received.at);
    }

    /// A piece has come to an interface of the air.
    pub(super) fn deliver(&mut self, iface: usize, piece: Piece, marked: bool, at: Time) {
        let Some(radios) = &self.radios else { return };
        let (by, own, to) = (radios.on_air[iface], radios.macs[iface], piece.to());
        match radios.roles[iface] {
            // A group's frame that comes back from the access point (802.11-2020, 9.3.2.1: stations drop their own).
            Role::Station(_) if piece.from() == own => {}
            // An access point passes on what one of its stations has for others.
            Role::AccessPoint if to != own && radios.is_station_of(to, IfaceId(iface as u16)) => {
                self.transmit(by, piece)
            }
            Role::AccessPoint if to.is_group() => {
                self.transmit(by, piece.clone());
                self.arrive(by, piece, marked, at);
            }
            _ => self.arrive(by, piece, marked, at),
        }
    }

    fn on_event(&mut self, event: Event) {
        let Some(radios) = &mut self.radios else { return };
        let (iface, ap) = match event {
            Event::ChannelSwitched { iface, channel, .. } => {
                let radio = radios.radio_of[usize::from(iface.0)];
                radios.channels[usize::from(radio.0)] = channel;
                return;
            }
            Event::Associated { iface, peer, .. } => (usize::from(iface.0), Some(peer)),
            Event::Disassociated { iface, .. } => (usize::from(iface.0), None),
            _ => return,
        };
        let Role::Station(now_of) = &mut radios.roles[iface] else { return };
        *now_of = ap;
        let (station, own) = (radios.macs[iface], radios.on_air[iface]);
        let device = ap.and_then(|ap| radios.iface_of(ap)).map(|i| radios.on_air[i]);
        self.set_carrier(own, ap.is_some());
        if let Some(device) = device.filter(|d| self.plan.ports[*d].master.is_some()) {
            let update = Frame::made(&layer_2_update(station));
            let now = self.now();
            update.pieces().for_each(|piece| self.arrive(device, piece, false, now));
        }
    }
}

impl Engine {
    /// Tells a node's kernel whether an interface has a link, as drivers do.
    fn set_carrier(&self, device: usize, on: bool) {
        self.devices[device].file.iter().for_each(|file| tap::set_carrier(file, on));
    }

    /// Stations that are of no access point have no link, from the beginning.
    pub(super) fn set_carriers(&self) {
        let Some(radios) = &self.radios else { return };
        for (iface, role) in radios.roles.iter().enumerate() {
            self.set_carrier(radios.on_air[iface], *role != Role::Station(None));
        }
    }

    /// An access point or a mesh point has a link as long as its radio works; of stations, events tell.
    pub(super) fn on_switched(&self, radio: RadioId, up: bool) {
        let Some(radios) = &self.radios else { return };
        let of_radio = (0..radios.roles.len()).filter(|i| radios.radio_of[*i] == radio);
        let own = of_radio.filter(|i| !matches!(radios.roles[*i], Role::Station(_)));
        own.for_each(|iface| self.set_carrier(radios.on_air[iface], up));
    }
}

/// The frame by which an access point tells bridges where a station is now, as hostapd does (IEEE 802.11F-2003, 6.1): a broadcast in the
/// station's name, with an LLC exchange-identification response.
fn layer_2_update(station: Mac) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend(station.0);
    frame.extend([0, 6, 0, 1, 0xaf, 0x81, 1, 0]);
    frame
}
