//! Chores of a radio: beacons and whatever else has its time but no hurry.

use super::access::BEACON;
use super::exchange::after;
use super::frame::{self, GROUP, Kind};
use super::radio::{Chore, Role, Step};
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::phy::Width;
use crate::wifi::timers::Cause;

/// A time unit (9.4.1.3), ns.
pub(crate) const TU_NS: u64 = 1_024_000;

impl<T: Clone> Air<T> {
    /// Remembers a chore.
    pub(crate) fn schedule(&mut self, radio: usize, at: Time, chore: Chore) {
        self.radios[radio].chores.push((at, chore));
        if at < self.timers.get(radio, Cause::Housekeeping) {
            self.timers.set(radio, Cause::Housekeeping, at);
        }
    }

    /// Does the chores that are due.
    pub(crate) fn on_housekeeping(&mut self, radio: usize) {
        let now = self.now;
        while let Some(place) = self.radios[radio].chores.iter().position(|(at, _)| *at <= now) {
            let (_, chore) = self.radios[radio].chores.remove(place);
            match chore {
                Chore::Beacon(iface) => self.beacon_due(usize::from(iface)),
                Chore::FlushReorder { peer, category } => {
                    self.flush_reorder(peer as usize, usize::from(category))
                }
                Chore::NavAfterRts { since } => self.nav_after_rts(radio, since),
                Chore::Join { iface, attempt } => self.join_due(usize::from(iface), attempt),
                Chore::Watch { iface, attempt } => self.watch_due(usize::from(iface), attempt),
                Chore::Switch => self.switch_due(radio),
                Chore::Tuned => self.tuned(radio),
                Chore::Trained => self.trained(radio),
            }
        }
        let next = self.radios[radio].chores.iter().map(|(at, _)| *at).min().unwrap_or(Time::NEVER);
        self.timers.set(radio, Cause::Housekeeping, next);
    }

    /// If nothing has been sensed since the RTS, its NAV is forgotten.
    fn nav_after_rts(&mut self, radio: usize, since: Time) {
        let access = &mut self.access[radio];
        if !self.medium.receivers[radio].is_busy() && access.idle_since() <= since && !access.is_held() {
            access.reset_nav(self.now);
            self.arm(radio);
        }
    }

    /// The first beacon comes at a random time of the interval, as access points are switched on at random times.
    pub(crate) fn start_beacons(&mut self, iface: usize) {
        use rand::Rng;
        let Role::AccessPoint(ap, _) = &self.ifaces[iface].role else { return };
        let interval = u64::from(ap.beacon_interval_tu) * TU_NS;
        if interval > 0 {
            let first = self.rng.random_range(0..interval / 1000) * 1000;
            let radio = usize::from(self.ifaces[iface].radio);
            self.schedule(radio, after(self.now, first), Chore::Beacon(iface as u16));
        }
    }

    fn beacon_due(&mut self, iface: usize) {
        let Role::AccessPoint(ap, _) = &self.ifaces[iface].role else { return };
        let interval = u64::from(ap.beacon_interval_tu) * TU_NS;
        let radio = usize::from(self.ifaces[iface].radio);
        self.schedule(radio, after(self.now, interval), Chore::Beacon(iface as u16));
        if !self.radios[radio].up {
            return;
        }
        let waiting = &mut self.radios[radio].beacons;
        if !waiting.contains(&(iface as u16)) {
            waiting.push_back(iface as u16);
        }
        self.want(radio, BEACON);
    }

    /// Access has been granted to the beacon that waits longest.
    pub(crate) fn send_beacon(&mut self, radio: usize) -> bool {
        let r = &mut self.radios[radio];
        let Some(iface) = r.beacons.pop_front() else { return false };
        let bytes = frame::frame_bytes(Kind::Beacon, r.spec.standard);
        let ppdu = &mut r.ppdu;
        (ppdu.kind, ppdu.from, ppdu.to, ppdu.rate) = (Kind::Beacon, iface, GROUP, r.lowest);
        (ppdu.nav_until, ppdu.power_management) = (Time::ZERO, false);
        ppdu.set_single(0, bytes, false);
        (r.exchange.step, r.exchange.iface) = (Step::Beacon, iface);
        self.put_on_air(radio, Width::Mhz20);
        true
    }

    pub(crate) fn on_beacon_sent(&mut self, radio: usize) {
        self.radios[radio].exchange.step = Step::None;
        let iface = usize::from(self.radios[radio].exchange.iface);
        if let Role::AccessPoint(ap, sent) = &mut self.ifaces[iface].role {
            *sent = sent.wrapping_add(1);
            if *sent % u32::from(ap.dtim_period) == 0 {
                self.release_groups(iface);
            }
        }
        self.access[radio].release_after_success(BEACON, self.now);
        if !self.radios[radio].beacons.is_empty() {
            self.want(radio, BEACON);
        }
        self.arm(radio);
    }
}
