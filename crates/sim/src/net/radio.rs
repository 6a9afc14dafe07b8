//! Interfaces on air: the border between the network and [`ropewalk_air::wifi`].

use super::weighted::WeightedFair;
use super::{Attach, IfIndex, Net, Owner, Work};
use crate::clock::TimerId;
use crate::packet::{Body, Ecn, PacketRef};
use ropewalk_air::wifi::phy::Channel;
use ropewalk_air::wifi::{
    AccessCategory, AirSpec, Command, CommandError, Dilated, Event, IfaceId, IfaceSpec, Mac, Mode, Output,
    Packet, PeerStats, RadioId, RadioStats, Received, SpecError, StationStart, Status,
};

/// What an interface on air is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    AccessPoint,
    /// Of this access point, if of any now.
    Station(Option<IfIndex>),
    Mesh,
}

/// The air of a world, and who is on it.
#[derive(Debug)]
pub struct Radios {
    /// The model.
    pub air: Dilated<PacketRef>,
    /// Interfaces of the world by interfaces of the air.
    pub interfaces: Vec<IfIndex>,
    roles: Vec<Role>,
    /// Places in the queue of each interface, per station.
    places: Vec<u32>,
    /// What completions and receptions say of each neighbour, by interface of the air and then by neighbour.
    heard: Vec<Vec<(IfIndex, Heard)>>,
    /// Radios of interfaces.
    pub(super) radio_of: Vec<RadioId>,
    /// Channels of radios now.
    pub(super) channels: Vec<Channel>,
    pub(super) timer: TimerId,
    /// Saturating senders by endpoint, told when a packet of theirs is done with.
    told: Vec<bool>,
    /// The abstract medium, if it is in the place of 802.11.
    pub(super) weighted: Option<WeightedFair>,
}

/// Sums over packets that went from one interface to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Packets acknowledged.
    pub acknowledged: u64,
    /// Their rates, bit/s in sum.
    pub rate_bps: u64,
    /// Packets received.
    pub received: u64,
    /// Their powers, 1/1000 dBm in sum, negated.
    pub minus_mdbm: u64,
    /// Packets handed to the radio.
    pub handed: u64,
    /// Of these, delivered.
    pub delivered: u64,
    /// Of these, given up, expired or dropped.
    pub failed: u64,
}

/// The address on air of an interface of the world.
pub fn mac_of(interface: IfIndex) -> Mac {
    Mac::local(interface.0)
}

/// The interface of the world that has an address on air.
pub fn interface_of(mac: Mac) -> IfIndex {
    let [_, _, a, b, c, d] = mac.0;
    IfIndex(u32::from_be_bytes([a, b, c, d]))
}

/// The access category of a DSCP. What scenarios ask for by name is mapped to CS1, AF41 and EF (RFC 8325 §4.3).
fn category(dscp: u8) -> AccessCategory {
    AccessCategory::from_dscp(dscp)
}

impl Net {
    /// Puts the air into the world. `interfaces` are the world's, in the order of the specification's, whose addresses must be
    /// [`mac_of`] them. Its time goes `dilation` times slower than the world's.
    ///
    /// # Errors
    /// What no medium can be.
    pub fn add_air(
        &mut self,
        spec: AirSpec,
        interfaces: Vec<IfIndex>,
        seed: u64,
        dilation: u32,
    ) -> Result<(), SpecError> {
        let role = |i: &IfaceSpec| match &i.mode {
            Mode::AccessPoint(_) => Role::AccessPoint,
            Mode::Station(s) => Role::Station(match s.start {
                StationStart::Associated(mac) => Some(interface_of(mac)),
                _ => None,
            }),
            Mode::Mesh { .. } => Role::Mesh,
        };
        let roles = spec.ifaces.iter().map(role).collect();
        let place = |i: &IfaceSpec| {
            spec.radios.get(usize::from(i.radio.0)).map_or(0, |r| r.queue.station_packets as u32)
        };
        let places = spec.ifaces.iter().map(place).collect();
        for (i, interface) in interfaces.iter().enumerate() {
            self.interfaces[interface.index()].attach = Attach::Radio(IfaceId(i as u16));
        }
        let radio_of = spec.ifaces.iter().map(|i| i.radio).collect();
        let channels = spec.radios.iter().map(|r| r.channel).collect();
        let heard = vec![Vec::new(); interfaces.len()];
        let air = Dilated::new(spec, seed, dilation)?;
        let timer = self.add_timer(Owner::Air);
        self.timers.set(timer, air.next_timeout());
        self.radios = Some(Radios {
            air,
            interfaces,
            roles,
            places,
            heard,
            radio_of,
            channels,
            timer,
            told: Vec::new(),
            weighted: None,
        });
        Ok(())
    }

    /// Tells the air to change something.
    ///
    /// # Errors
    /// What it says.
    pub fn command_air(&mut self, command: Command) -> Result<(), CommandError> {
        let now = self.now;
        let Some(radios) = &mut self.radios else { return Ok(()) };
        let result = radios.air.command(now, command);
        self.timers.set(radios.timer, radios.air.next_timeout());
        result
    }

    /// An endpoint wants [`Work::Left`] for its datagrams.
    pub(crate) fn tell_when_left(&mut self, endpoint: usize) {
        if let Some(radios) = &mut self.radios {
            radios.told.resize(radios.told.len().max(endpoint + 1), false);
            radios.told[endpoint] = true;
        }
    }

    /// Hands a packet to the air.
    pub(super) fn transmit_by_radio(&mut self, out: IfIndex, iface: IfaceId, packet: PacketRef) {
        let now = self.now;
        let Some(radios) = &mut self.radios else { return };
        let neighbour = match radios.roles[usize::from(iface.0)] {
            Role::Station(ap) => ap,
            Role::Mesh => Some(packet.to),
            Role::AccessPoint => {
                Some(packet.to).filter(|to| radios.is_station_of(*to, out, &self.interfaces))
            }
        };
        let Some(to) = neighbour else {
            self.interfaces[out.index()].counters.dropped += 1;
            return;
        };
        let told = match packet.body {
            Body::Udp(_) | Body::Datagram => radios.token(packet.sport),
            _ => 0,
        };
        if radios.weighted.is_some() {
            return self.transmit_weighted(iface, to, told, packet);
        }
        let frame = Packet {
            len_bytes: packet.len,
            ac: category(packet.dscp),
            token: told,
            ecn_capable: packet.ecn != Ecn::NotEct,
            flow: packet.flow_hash(),
            payload: packet,
        };
        radios.heard_mut(iface, to).handed += 1;
        if radios.air.send(now, iface, mac_of(to), frame).is_err() {
            radios.heard_mut(iface, to).failed += 1;
            self.interfaces[out.index()].counters.dropped += 1;
        }
        self.timers.set(radios.timer, radios.air.next_timeout());
    }

    /// Takes what the air has to say.
    pub(crate) fn run_air(&mut self) {
        let now = self.now;
        if self.radios.as_ref().is_some_and(|r| r.weighted.is_some()) {
            return self.run_weighted();
        }
        while let Some(output) = self.radios.as_mut().and_then(|r| r.air.poll(now)) {
            match output {
                Output::Received(received) => self.on_received(received),
                Output::Completion(done) => {
                    if let Some(radios) = &mut self.radios {
                        let heard = radios.heard_mut(done.iface, interface_of(done.to));
                        let delivered = done.status == Status::Delivered;
                        *if delivered { &mut heard.delivered } else { &mut heard.failed } += 1;
                    }
                    if let (Status::Delivered, Some(rate), Some(radios)) =
                        (done.status, done.rate, &mut self.radios)
                    {
                        let bps = radios.air.bps(rate);
                        let heard = radios.heard_mut(done.iface, interface_of(done.to));
                        heard.acknowledged += 1;
                        heard.rate_bps += bps;
                    }
                    if done.token > 0 {
                        let dropped = done.status == Status::Dropped;
                        self.work.push_back(Work::Left { endpoint: done.token as usize - 1, dropped });
                    }
                }
                Output::Captured(frame) => {
                    let hears = |client: &&crate::roam::Shared| client.borrow().radio() == frame.radio;
                    let clients = self.roaming.iter().filter(hears);
                    clients.for_each(|client| client.borrow_mut().on_frame(&frame));
                    self.captures.frame(&frame);
                }
                Output::Event(event) => {
                    self.on_radio_event(event);
                    self.tell_roaming(&event);
                }
            }
        }
        if let Some(radios) = &self.radios {
            self.timers.set(radios.timer, radios.air.next_timeout());
        }
    }

    /// Packets that the queue of an interface's radio holds for one station.
    pub(super) fn queue_of_radio(&self, iface: IfaceId) -> u32 {
        let places = self.radios.as_ref().map(|r| r.places[usize::from(iface.0)]);
        places.unwrap_or(0)
    }

    /// Whether what an interface of the air sends waits in a queue at all.
    pub(super) fn waits_for_air(&self, iface: IfaceId) -> bool {
        self.radios.as_ref().is_none_or(|r| {
            r.weighted.as_ref().is_none_or(|w| w.takes_time(r.radio_of[usize::from(iface.0)]))
        })
    }

    /// The interface of the air that an interface of the world is.
    pub fn iface_of(&self, interface: IfIndex) -> Option<IfaceId> {
        match self.interfaces[interface.index()].attach {
            Attach::Radio(iface) => Some(iface),
            _ => None,
        }
    }

    fn on_received(&mut self, received: Received<PacketRef>) {
        let Some(radios) = &mut self.radios else { return };
        let iface = usize::from(received.iface.0);
        let by = radios.interfaces[iface];
        // Kept at the sender's, where the rest of what is known about the pair is.
        if let Some(Attach::Radio(sender)) =
            self.interfaces.get(interface_of(received.from).index()).map(|i| i.attach)
        {
            let heard = radios.heard_mut(sender, by);
            heard.received += 1;
            heard.minus_mdbm += (received.signal_dbm * -1000.0) as u64;
        }
        let mut packet = received.payload;
        if received.ecn_marked {
            packet.edit().ecn = Ecn::Ce;
        }
        self.arrive(received.iface, by, packet);
    }

    /// A packet has come in by an interface of the air.
    pub(super) fn arrive(&mut self, iface: IfaceId, by: IfIndex, packet: PacketRef) {
        let Some(radios) = &self.radios else { return };
        // An access point passes on what one of its stations has for another.
        let relay = radios.roles[usize::from(iface.0)] == Role::AccessPoint
            && packet.to != by
            && radios.is_station_of(packet.to, by, &self.interfaces);
        if relay && self.interfaces[by.index()].up {
            return self.transmit(by, packet);
        }
        self.receive(by, packet);
    }

    /// Tells the client whose station an event is of.
    fn tell_roaming(&mut self, event: &Event) {
        let (Event::Associated { iface, .. }
        | Event::Disassociated { iface, .. }
        | Event::Beacon { iface, .. }) = *event
        else {
            return;
        };
        let radio = self.radios.as_ref().and_then(|r| r.radio_of.get(usize::from(iface.0)).copied());
        for client in self.roaming.iter().filter(|c| Some(c.borrow().radio()) == radio) {
            let mut client = client.borrow_mut();
            if client.on_event(event) {
                self.work.extend(client.followers().iter().map(|e| Work::Wake(*e)));
            }
        }
    }

    fn on_radio_event(&mut self, event: Event) {
        let Some(radios) = &mut self.radios else { return };
        let (iface, ap) = match event {
            Event::ChannelSwitched { iface, channel, .. } => {
                let radio = radios.radio_of[usize::from(iface.0)];
                radios.channels[usize::from(radio.0)] = channel;
                return;
            }
            Event::Associated { iface, peer, .. } => (iface, Some(interface_of(peer))),
            Event::Disassociated { iface, .. } => (iface, None),
            _ => return,
        };
        let Role::Station(now_of) = &mut radios.roles[usize::from(iface.0)] else { return };
        *now_of = ap;
        let station = radios.interfaces[usize::from(iface.0)];
        // What bridges had learnt about the station holds no more; its access point's knows it.
        for bridge in &mut self.bridges {
            bridge.forget(station);
        }
        if let Some(ap) = ap
            && let Some(bridge) = self.interfaces[ap.index()].bridge
        {
            self.bridges[bridge].learn(station, ap);
        }
    }
}

impl Radios {
    /// Whether `station` is joined to the access point `ap`.
    fn is_station_of(&self, station: IfIndex, ap: IfIndex, interfaces: &[super::Interface]) -> bool {
        let attach = interfaces.get(station.index()).map(|i| i.attach);
        let Some(Attach::Radio(iface)) = attach else { return false };
        self.roles[usize::from(iface.0)] == Role::Station(Some(ap))
    }

    fn heard_mut(&mut self, iface: IfaceId, neighbour: IfIndex) -> &mut Heard {
        let list = &mut self.heard[usize::from(iface.0)];
        let place = match list.binary_search_by_key(&neighbour, |h| h.0) {
            Ok(place) => place,
            Err(place) => {
                list.insert(place, (neighbour, Heard::default()));
                place
            }
        };
        &mut list[place].1
    }

    /// Counters of a radio.
    pub fn radio_stats(&self, radio: RadioId) -> RadioStats {
        match &self.weighted {
            Some(weighted) => weighted.radio_stats(radio),
            None => self.air.radio_stats(radio).unwrap_or_default(),
        }
    }

    /// Counters of an interface of the air towards each neighbour.
    pub fn peer_stats(&self, iface: IfaceId) -> Vec<(Mac, PeerStats)> {
        match &self.weighted {
            Some(weighted) => weighted.peer_stats(iface).to_vec(),
            None => self.air.peer_stats(iface).collect(),
        }
    }

    /// The radio of an interface of the air.
    pub fn radio_of_iface(&self, iface: IfaceId) -> RadioId {
        self.radio_of[usize::from(iface.0)]
    }

    /// The channel of the radio of an interface of the air now.
    pub fn channel_of(&self, iface: IfaceId) -> Option<Channel> {
        self.channels.get(usize::from(self.radio_of.get(usize::from(iface.0))?.0)).copied()
    }

    /// The channel of a radio now: number of its primary, and width.
    pub fn channel(&self, radio: usize) -> String {
        let channel = self.channels.get(radio);
        channel.map_or_else(String::new, |c| format!("{} ({} MHz)", c.primary(), c.width().mhz()))
    }

    /// What is known about packets from an interface of the air to a neighbour.
    pub fn heard(&self, iface: IfaceId, neighbour: IfIndex) -> Heard {
        let list = self.heard.get(usize::from(iface.0)).map_or(&[][..], |l| l);
        let found = list.binary_search_by_key(&neighbour, |h| h.0);
        found.map_or(Heard::default(), |place| list[place].1)
    }

    /// The neighbours of an interface of the air to which anything was handed, and their sums.
    pub fn neighbours(&self, iface: IfaceId) -> impl Iterator<Item = (IfIndex, Heard)> {
        let list = self.heard.get(usize::from(iface.0)).map_or(&[][..], |l| l);
        list.iter().copied().filter(|(_, heard)| heard.handed > 0)
    }

    /// Interfaces of the world that are access points on the radio of `iface`, with their own numbers on the air.
    pub fn access_points_beside(&self, iface: IfaceId) -> impl Iterator<Item = IfaceId> {
        let radio = self.radio_of[usize::from(iface.0)];
        let on_it = move |i: &usize| self.radio_of[*i] == radio && self.roles[*i] == Role::AccessPoint;
        (0..self.roles.len()).filter(on_it).map(|i| IfaceId(i as u16))
    }

    /// Number of the endpoint with this port, plus one, if it wants to be told; 0 otherwise.
    fn token(&self, port: u16) -> u64 {
        let endpoint = usize::from(port.wrapping_sub(crate::app::FIRST_PORT));
        if self.told.get(endpoint).copied().unwrap_or(false) { endpoint as u64 + 1 } else { 0 }
    }
}
