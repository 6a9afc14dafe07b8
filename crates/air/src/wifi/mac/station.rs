//! How stations and access points find each other, and part (802.11-2020, 11.1 and 11.3).
//!
//! ```text
//!  Alone ──seek──▶ Scanning ──a beacon of its network──▶ Joining: Authentication ▶◀, Association ▶◀ ──▶ Joined
//!    ▲                ▲  └── none heard: listens on         │ no answer                                   │
//!    └──told to leave─┼────────────────────────────────────┘◀───── beacons lost, or a deauthentication ───┘
//! ```
//! All frames have their airtime and may be lost. A station listens for beacons only; it sends no probes. Open
//! authentication: what a network's security adds after association is not modelled.

use super::beacon::TU_NS;
use super::exchange::after;
use super::frame::Kind;
use super::radio::{Chore, Role};
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::api::{Event, IfaceId, Mac, Output, PowerSave, Status};
use crate::wifi::phy::Channel;
use crate::wifi::spec::StationStart;

/// How long a station listens before it takes the strongest access point it heard: a little more than the usual beacon interval.
const LISTEN_NS: u64 = 120_000_000;
/// How long the frames of joining may take.
const JOIN_NS: u64 = 200_000_000;
/// Category of management frames: voice (10.2.3.2).
pub(crate) const MANAGEMENT: usize = 3;

/// Where a station stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Alone,
    Scanning,
    /// With this interface.
    Joining(u16),
    Joined(u16),
}

/// A station's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Station {
    pub(crate) phase: Phase,
    /// It joins again by itself when it has lost its access point.
    seeking: bool,
    /// The one access point that it wants, if it wants one.
    bssid: Option<Mac>,
    /// The strongest heard while scanning.
    best: Option<(u16, f64)>,
    /// When a beacon of its access point was heard last, or data, or counting began anew.
    last_beacon: Time,
    /// The channel on which it heard its access point last.
    home: Option<Channel>,
    pub(crate) power: PowerSave,
    /// Counts attempts to join, so that an old one's timer does nothing.
    attempt: u32,
}

impl Default for Station {
    fn default() -> Station {
        Station {
            phase: Phase::Alone,
            seeking: false,
            bssid: None,
            best: None,
            last_beacon: Time::ZERO,
            home: None,
            power: PowerSave::Off,
            attempt: 0,
        }
    }
}

impl<T: Clone> Air<T> {
    /// What a station does when its radio is switched on.
    pub(crate) fn start_station(&mut self, iface: usize) {
        let Role::Station(spec, _) = &self.ifaces[iface].role else { return };
        match spec.start {
            StationStart::Associated(bssid) => {
                if let Some(ap) = self.iface_of(bssid) {
                    self.state(iface).bssid = Some(bssid);
                    self.state(iface).seeking = true;
                    self.join(iface, usize::from(ap));
                    self.joined(iface, ap);
                }
            }
            StationStart::Scan => self.seek(iface, None),
            StationStart::Idle => {}
        }
    }

    pub(crate) fn state(&mut self, iface: usize) -> &mut Station {
        match &mut self.ifaces[iface].role {
            Role::Station(_, state) => state,
            _ => unreachable!("only stations are asked for their state"),
        }
    }

    /// The state of an interface that may not be a station.
    pub(crate) fn station_state(&self, iface: usize) -> Option<&Station> {
        match &self.ifaces[iface].role {
            Role::Station(_, state) => Some(state),
            _ => None,
        }
    }

    /// A station looks for an access point, leaving the one it has without a word.
    pub(crate) fn seek(&mut self, iface: usize, bssid: Option<Mac>) {
        if let Phase::Joined(ap) | Phase::Joining(ap) = self.state(iface).phase {
            self.part(iface, usize::from(ap));
        }
        let state = self.state(iface);
        (state.seeking, state.bssid) = (true, bssid);
        self.scan(iface);
    }

    fn scan(&mut self, iface: usize) {
        let state = self.state(iface);
        (state.phase, state.best) = (Phase::Scanning, None);
        state.attempt += 1;
        let attempt = state.attempt;
        let radio = usize::from(self.ifaces[iface].radio);
        self.schedule(radio, after(self.now, LISTEN_NS), Chore::Join { iface: iface as u16, attempt });
    }

    /// The time of listening, or of joining, is over.
    pub(crate) fn join_due(&mut self, iface: usize, attempt: u32) {
        let state = *self.state(iface);
        if state.attempt != attempt {
            return;
        }
        match (state.phase, state.best) {
            (Phase::Scanning, Some((ap, _))) => self.begin_join(iface, ap),
            (Phase::Scanning, None) => self.scan(iface),
            (Phase::Joining(ap), _) => {
                self.part(iface, usize::from(ap));
                self.scan(iface);
            }
            _ => {}
        }
    }

    fn begin_join(&mut self, iface: usize, ap: u16) {
        let state = self.state(iface);
        state.phase = Phase::Joining(ap);
        state.attempt += 1;
        let attempt = state.attempt;
        let radio = usize::from(self.ifaces[iface].radio);
        self.schedule(radio, after(self.now, JOIN_NS), Chore::Join { iface: iface as u16, attempt });
        self.send_frame(iface, ap, Kind::Authentication);
    }

    /// Queues a frame of the MAC's own.
    pub(crate) fn send_frame(&mut self, iface: usize, other: u16, kind: Kind) {
        let peer = self.ensure_peer(iface, other);
        let frames = &mut self.peers[peer].tx[MANAGEMENT].frames;
        if !frames.contains(&kind) {
            frames.push_back(kind);
        }
        self.offer(peer, MANAGEMENT);
    }

    /// A station hears a beacon.
    pub(crate) fn on_beacon(&mut self, rx: usize, emitter: usize) {
        let ap = self.radios[emitter].ppdu.from;
        let mw = self.medium.receivers[rx].lock.signal_mw;
        for place in 0..self.radios[rx].ifaces.len() {
            let iface = usize::from(self.radios[rx].ifaces[place]);
            if matches!(self.ifaces[iface].role, Role::Station(..)) {
                self.on_beacon_for(iface, ap, mw, emitter);
            }
        }
    }

    fn on_beacon_for(&mut self, iface: usize, ap: u16, mw: f64, emitter: usize) {
        let bssid = self.ifaces[usize::from(ap)].mac;
        let (Role::Station(spec, state), Role::AccessPoint(theirs, _)) =
            (&self.ifaces[iface].role, &self.ifaces[usize::from(ap)].role)
        else {
            return;
        };
        let wanted = theirs.ssid == spec.ssid && state.bssid.is_none_or(|b| b == bssid);
        let (phase, best, reports) = (state.phase, state.best, spec.report_beacons);
        if reports {
            let signal_dbm = crate::wifi::phy::decibel::dbm_from_mw(mw);
            let (at, iface) = (self.now, IfaceId(iface as u16));
            self.out.push_back(Output::Event(Event::Beacon { at, iface, bssid, signal_dbm }));
        }
        match phase {
            Phase::Scanning if wanted && best.is_none_or(|(_, strongest)| mw > strongest) => {
                self.state(iface).best = Some((ap, mw));
            }
            Phase::Joined(own) if own == ap => {
                let home = Some(self.radios[usize::from(self.ifaces[iface].radio)].spec.channel);
                let now = self.now;
                let state = self.state(iface);
                (state.last_beacon, state.home) = (now, home);
                self.look_at_traffic_map(iface, ap);
                self.follow_switch(iface, emitter);
            }
            _ => {}
        }
    }

    /// A management frame has come.
    pub(crate) fn on_management(&mut self, rx: usize, emitter: usize, kind: Kind) {
        let ppdu = &self.radios[emitter].ppdu;
        let (from, to, retry, seq) =
            (ppdu.from, usize::from(ppdu.to), ppdu.parts[0].retry, ppdu.parts[0].seq);
        self.acknowledge(rx, emitter, Kind::Ack);
        let peer = self.ensure_peer(to, from);
        let rx = &mut self.peers[peer].rx[MANAGEMENT];
        if retry && rx.last_management == Some(seq) {
            return;
        }
        rx.last_management = Some(seq);
        let phase = self.station_state(to).map(|s| s.phase);
        match (phase, kind) {
            (None, Kind::Authentication) => self.send_frame(to, from, Kind::Authentication),
            (Some(Phase::Joining(ap)), Kind::Authentication) if ap == from => {
                self.send_frame(to, from, Kind::AssociationRequest);
            }
            (None, Kind::AssociationRequest) => {
                self.part(to, usize::from(from));
                self.send_frame(to, from, Kind::AssociationResponse);
            }
            (Some(Phase::Joining(ap)), Kind::AssociationResponse) if ap == from => {
                self.join(to, usize::from(from));
                self.joined(to, from);
                self.tell_joined(to, from);
            }
            (_, Kind::Deauthentication) => self.on_deauthentication(to, from),
            _ => {}
        }
    }

    /// A frame of the MAC's own has been sent, or given up.
    pub(crate) fn on_frame_done(&mut self, peer: usize, kind: Kind, delivered: bool) {
        let (iface, other) = (usize::from(self.peers[peer].iface), self.peers[peer].other);
        match kind {
            Kind::AssociationResponse if delivered => {
                self.peers[peer].joined = true;
                self.tell_joined(iface, other);
            }
            Kind::Deauthentication => self.part(iface, usize::from(other)),
            Kind::Null => self.on_null_done(iface, other, delivered),
            _ => {}
        }
    }

    fn tell_joined(&mut self, iface: usize, other: u16) {
        let peer = self.ifaces[usize::from(other)].mac;
        let (at, iface) = (self.now, IfaceId(iface as u16));
        self.out.push_back(Output::Event(Event::Associated { at, iface, peer }));
    }

    /// The station is associated, and watches over its access point's beacons.
    fn joined(&mut self, iface: usize, ap: u16) {
        let now = self.now;
        let home = Some(self.radios[usize::from(self.ifaces[iface].radio)].spec.channel);
        let state = self.state(iface);
        state.home = home;
        (state.phase, state.last_beacon, state.power) = (Phase::Joined(ap), now, PowerSave::Off);
        state.attempt += 1;
        let attempt = state.attempt;
        self.watch(iface, ap, attempt);
    }

    fn watch(&mut self, iface: usize, ap: u16, attempt: u32) {
        let Role::AccessPoint(spec, _) = &self.ifaces[usize::from(ap)].role else { return };
        let interval = u64::from(spec.beacon_interval_tu) * TU_NS;
        if interval > 0 {
            let radio = usize::from(self.ifaces[iface].radio);
            self.schedule(radio, after(self.now, interval), Chore::Watch { iface: iface as u16, attempt });
        }
    }

    /// Data has come: whoever sends is there. mac80211 asks an access point whose beacons are missing (`ieee80211_mgd_probe_ap`); one that is heard need not be.
    pub(crate) fn heard_from(&mut self, iface: usize, from: u16) {
        if self.station_state(iface).is_some_and(|s| s.phase == Phase::Joined(from)) {
            self.state(iface).last_beacon = self.now;
        }
    }

    /// An interval has passed: is the access point still there?
    pub(crate) fn watch_due(&mut self, iface: usize, attempt: u32) {
        let now = self.now;
        let state = *self.state(iface);
        let Phase::Joined(ap) = state.phase else { return };
        if state.attempt != attempt {
            return;
        }
        let (Role::Station(spec, _), Role::AccessPoint(theirs, _)) =
            (&self.ifaces[iface].role, &self.ifaces[usize::from(ap)].role)
        else {
            return;
        };
        let patience = u64::from(theirs.beacon_interval_tu) * TU_NS * u64::from(spec.beacon_loss);
        let here = Some(self.radios[usize::from(self.ifaces[iface].radio)].spec.channel);
        if state.power == PowerSave::Away || here != state.home {
            // It is away on purpose: what it does not hear is not missing.
            self.state(iface).last_beacon = now;
        } else if now.since(state.last_beacon).as_nanos() as u64 > patience {
            let peer = self.ifaces[usize::from(ap)].mac;
            let (at, iface_id) = (now, IfaceId(iface as u16));
            self.out.push_back(Output::Event(Event::BeaconLost { at, iface: iface_id, peer }));
            self.lose(iface, ap);
            return;
        }
        self.watch(iface, ap, attempt);
    }

    /// The access point is gone: the station tells, and looks for one again if it was told to.
    fn lose(&mut self, iface: usize, ap: u16) {
        self.part(iface, usize::from(ap));
        self.state(iface).phase = Phase::Alone;
        self.tell_parted(iface, ap);
        if self.state(iface).seeking {
            self.scan(iface);
        }
    }

    fn tell_parted(&mut self, iface: usize, other: u16) {
        let peer = self.ifaces[usize::from(other)].mac;
        let (at, iface) = (self.now, IfaceId(iface as u16));
        self.out.push_back(Output::Event(Event::Disassociated { at, iface, peer }));
    }

    fn on_deauthentication(&mut self, iface: usize, from: u16) {
        let joined = self.ifaces[iface].peer(from).is_some_and(|peer| self.peers[peer].joined);
        if let Some(Phase::Joined(ap)) = self.station_state(iface).map(|s| s.phase) {
            if ap == from {
                self.lose(iface, ap);
            }
        } else if joined {
            self.part(iface, usize::from(from));
            self.tell_parted(iface, from);
        }
    }

    /// A station says good-bye, and is alone from now on.
    pub(crate) fn leave(&mut self, iface: usize) {
        let state = self.state(iface);
        state.seeking = false;
        state.attempt += 1;
        if let Phase::Joined(ap) | Phase::Joining(ap) = core::mem::replace(&mut state.phase, Phase::Alone) {
            self.part(iface, usize::from(ap));
            self.tell_parted(iface, ap);
            self.send_frame(iface, ap, Kind::Deauthentication);
        }
    }

    /// One side forgets the other: queues are emptied, sequence numbers begin anew.
    pub(crate) fn part(&mut self, iface: usize, other: usize) {
        let Some(peer) = self.ifaces[iface].peer(other as u16) else { return };
        self.peers[peer].joined = false;
        self.peers[peer].dozing = false;
        self.clear_queues(peer, Status::Dropped);
        self.peers[peer].rx = Default::default();
    }

    /// Both sides know each other from now on, with nothing of former times.
    pub(crate) fn join(&mut self, station: usize, ap: usize) {
        for (here, there) in [(station, ap), (ap, station)] {
            self.ensure_peer(here, there as u16);
        }
        self.part(station, ap);
        let peer = self.ensure_peer(station, ap as u16);
        self.peers[peer].joined = true;
        if self.now == Time::ZERO {
            let peer = self.ensure_peer(ap, station as u16);
            self.peers[peer].joined = true;
        }
    }

    /// A radio was switched off: what its interfaces knew of others is gone, and those are not told.
    pub(crate) fn forget_iface(&mut self, iface: usize) {
        for (other, _) in self.ifaces[iface].peers.clone() {
            if other == super::frame::GROUP {
                if let Some(peer) = self.ifaces[iface].peer(other) {
                    self.clear_queues(peer, Status::Dropped);
                }
                continue;
            }
            let was = self.ifaces[iface].peer(other).is_some_and(|peer| self.peers[peer].joined);
            let mesh = matches!(self.ifaces[iface].role, Role::Mesh(_));
            self.part(iface, usize::from(other));
            if mesh {
                let peer = self.ensure_peer(iface, other);
                self.peers[peer].joined = true;
            } else if was {
                self.tell_parted(iface, other);
            }
        }
        if self.station_state(iface).is_some() {
            let state = self.state(iface);
            state.phase = Phase::Alone;
            state.attempt += 1;
        }
    }

    /// A radio was switched on again.
    pub(crate) fn restart_iface(&mut self, iface: usize) {
        if self.station_state(iface).is_some() && self.state(iface).seeking {
            self.scan(iface);
        }
    }
}
