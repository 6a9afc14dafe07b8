//! Power save and absence: what an access point holds back, and how stations fetch it (802.11-2020, 11.2.3).
//!
//! A station announces by the power management bit of a Null frame that it dozes or is away. From then on its access point
//! keeps what comes for it, as much as a station's queue holds. A dozing station looks at each beacon's traffic map, and
//! fetches packets one by one with PS-Polls. Frames to groups wait for a DTIM beacon while any station dozes. How much energy
//! this saves is not modelled, nor are unscheduled service periods (U-APSD).

use super::frame::{GROUP, Kind};
use super::radio::Role;
use super::station::Phase;
use crate::wifi::air::Air;
use crate::wifi::api::{Event, IfaceId, Output, PowerSave};

impl<T: Clone> Air<T> {
    /// A station goes into a mode of power save, and tells its access point. None if it has none.
    pub(crate) fn save_power(&mut self, iface: usize, mode: PowerSave) -> Option<()> {
        let state = self.state(iface);
        let Phase::Joined(ap) = state.phase else { return None };
        state.power = mode;
        self.send_frame(iface, ap, Kind::Null);
        Some(())
    }

    /// The Null frame was acknowledged, so the access point knows; or it was given up, and the station tries again.
    pub(crate) fn on_null_done(&mut self, iface: usize, ap: u16, delivered: bool) {
        let Some(state) = self.station_state(iface).copied() else { return };
        if state.phase != Phase::Joined(ap) {
            return;
        }
        if !delivered {
            return self.send_frame(iface, ap, Kind::Null);
        }
        let saving = state.power != PowerSave::Off;
        let (at, iface) = (self.now, IfaceId(iface as u16));
        self.out.push_back(Output::Event(Event::PowerSaveChanged { at, iface, saving }));
    }

    /// Whether an interface sets the power management bit.
    pub(crate) fn is_saving(&self, iface: u16) -> bool {
        self.station_state(usize::from(iface)).is_some_and(|s| s.power != PowerSave::Off)
    }

    /// A frame from a station has come, with or without the power management bit.
    pub(crate) fn note_power_management(&mut self, iface: usize, from: u16, saving: bool) {
        if !matches!(self.ifaces[iface].role, Role::AccessPoint(..)) {
            return;
        }
        let Some(peer) = self.ifaces[iface].peer(from) else { return };
        if self.peers[peer].dozing == saving || !self.peers[peer].joined {
            return;
        }
        self.peers[peer].dozing = saving;
        self.peers[peer].polled = false;
        if !saving {
            self.offer_all(peer);
        }
        self.hold_groups(iface);
    }

    fn offer_all(&mut self, peer: usize) {
        for category in 0..4 {
            if self.peers[peer].tx[category].has_work() {
                self.offer(peer, category);
            }
        }
    }

    /// Frames to groups wait while any station dozes.
    fn hold_groups(&mut self, iface: usize) {
        let dozes = |&(_, peer): &(u16, u32)| {
            let p = &self.peers[peer as usize];
            p.other != GROUP && p.joined && p.dozing
        };
        let any = self.ifaces[iface].peers.iter().any(dozes);
        if let Some(group) = self.ifaces[iface].peer(GROUP) {
            self.peers[group].dozing = any;
            if !any {
                self.offer_all(group);
            }
        }
    }

    /// A DTIM beacon has gone: what waited for groups follows, then waiting begins again.
    pub(crate) fn release_groups(&mut self, iface: usize) {
        let Some(group) = self.ifaces[iface].peer(GROUP) else { return };
        if self.peers[group].dozing {
            self.peers[group].dozing = false;
            self.offer_all(group);
            // Nothing is sent at this very instant, so the release holds for what waits now.
            self.peers[group].held_after = self.peers[group].has_backlog();
            self.peers[group].dozing = !self.peers[group].held_after;
        }
    }

    /// The last of the frames to groups that a DTIM let go has been sent.
    pub(crate) fn groups_sent(&mut self, group: usize) {
        let p = &mut self.peers[group];
        if p.held_after && !p.has_backlog() {
            p.held_after = false;
            let iface = usize::from(p.iface);
            self.hold_groups(iface);
        }
    }

    /// A dozing station reads in the beacon whether something waits for it.
    pub(crate) fn look_at_traffic_map(&mut self, iface: usize, ap: u16) {
        if self.state(iface).power == PowerSave::Doze && self.waits_for(iface, ap) {
            self.send_frame(iface, ap, Kind::PsPoll);
        }
    }

    fn waits_for(&self, station: usize, ap: u16) -> bool {
        let peer = self.ifaces[usize::from(ap)].peer(station as u16);
        peer.is_some_and(|peer| self.peers[peer].has_backlog())
    }

    /// A PS-Poll: one frame may go to the station that dozes.
    pub(crate) fn on_ps_poll(&mut self, iface: usize, from: u16) {
        let Some(peer) = self.ifaces[iface].peer(from) else { return };
        if self.peers[peer].dozing && self.peers[peer].has_backlog() {
            self.peers[peer].polled = true;
            // The most urgent that waits.
            let waits = |p: &super::peer::Peer<T>, c: usize| {
                !p.tx[c].waiting.is_empty() || !p.tx[c].window.is_empty()
            };
            if let Some(category) = (0..4).rev().find(|&c| waits(&self.peers[peer], c)) {
                self.offer(peer, category);
            }
        }
    }

    /// A dozing station has got a frame: if more waits, it asks again.
    pub(crate) fn fetch_more(&mut self, iface: usize, ap: u16, more: bool) {
        let dozes = self.station_state(iface).is_some_and(|s| s.power == PowerSave::Doze);
        if dozes && more {
            self.send_frame(iface, ap, Kind::PsPoll);
        }
    }
}
