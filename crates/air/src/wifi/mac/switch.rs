//! Channel switch announcements (802.11-2020, 11.8.8), and a radio's halt and resumption.

use super::beacon::TU_NS;
use super::exchange::after;
use super::queue::Content;
use super::radio::{Chore, Role, Step};
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::api::Status;
use crate::wifi::phy::Channel;
use crate::wifi::timers::Cause;

/// A switch that a radio's beacons announce.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch {
    pub(crate) channel: Channel,
    /// When: at the beacon time after the last announcement.
    pub(crate) at: Time,
}

impl<T: Clone> Air<T> {
    /// An access point will switch after `count` more of its beacons.
    pub(crate) fn announce_switch(&mut self, iface: usize, channel: Channel, count: u8) {
        let Role::AccessPoint(ap, _) = &self.ifaces[iface].role else { return };
        let radio = usize::from(self.ifaces[iface].radio);
        let interval = u64::from(ap.beacon_interval_tu) * TU_NS;
        let own = Chore::Beacon(iface as u16);
        let next = self.radios[radio].chores.iter().find(|(_, chore)| *chore == own).map(|(at, _)| *at);
        // Without beacons nobody is told, and nothing is waited for.
        let at = next.map_or(self.now, |next| after(next, interval * u64::from(count)));
        self.radios[radio].switch = Some(Switch { channel, at });
        self.radios[radio].chores.retain(|(_, chore)| *chore != Chore::Switch);
        self.schedule(radio, at, Chore::Switch);
    }

    /// A station has heard in a beacon that its access point will switch: it goes along.
    pub(crate) fn follow_switch(&mut self, iface: usize, emitter: usize) {
        let Some(switch) = self.radios[emitter].switch else { return };
        let radio = usize::from(self.ifaces[iface].radio);
        let known =
            self.radios[radio].switch.is_some_and(|s| s.at == switch.at && s.channel == switch.channel);
        if !known && switch.channel != self.radios[radio].spec.channel {
            self.radios[radio].switch = Some(switch);
            self.schedule(radio, switch.at, Chore::Switch);
        }
    }

    /// The time of the switch has come.
    pub(crate) fn switch_due(&mut self, radio: usize) {
        if let Some(switch) = self.radios[radio].switch.take_if(|s| s.at <= self.now) {
            self.tune(radio, switch.channel);
        }
    }

    /// A radio stops what it is doing: exchanges are broken off, answers not given.
    pub(crate) fn halt(&mut self, radio: usize) {
        self.timers.clear(radio, Cause::AnswerMissing);
        self.timers.clear(radio, Cause::Respond);
        let r = &mut self.radios[radio];
        r.reply = None;
        let step = core::mem::replace(&mut r.exchange.step, Step::None);
        if !matches!(step, Step::None | Step::Beacon) {
            let (peer, category) = (r.exchange.peer as usize, r.exchange.category);
            let aggregates = self.peers[peer].aggregates;
            let queue = &mut self.peers[peer].tx[category];
            let mut lost = false;
            for mpdu in queue.window.iter_mut().filter(|m| m.sent && m.fate.is_none()) {
                (mpdu.sent, lost) = (false, true);
            }
            queue.bar_due |= lost && aggregates;
        }
        self.access[radio].reset(self.now);
        self.timers.clear(radio, Cause::Access);
    }

    /// A radio goes on with what waits.
    pub(crate) fn resume(&mut self, radio: usize) {
        for category in 0..4 {
            if !self.radios[radio].ready[category].is_empty() {
                self.want(radio, category);
            }
        }
        if !self.radios[radio].beacons.is_empty() {
            self.want(radio, super::access::BEACON);
        }
        self.arm(radio);
    }

    /// Empties the queues towards a peer.
    pub(crate) fn clear_queues(&mut self, peer: usize, status: Status) {
        for category in 0..4 {
            let waiting = self.peers[peer].tx[category].waiting.take_all(self.now);
            let window = core::mem::take(&mut self.peers[peer].tx[category].window);
            let queue = &mut self.peers[peer].tx[category];
            queue.frames.clear();
            (queue.bar_due, queue.next_seq, queue.chain) = (false, 0, None);
            let iface = usize::from(self.peers[peer].iface);
            self.ifaces[iface].queued -= waiting.len();
            self.peers[peer].stats.dropped_packets += waiting.len() as u64;
            for one in &waiting {
                self.complete(peer, one, status, 0, None, 0);
            }
            for mpdu in window.iter().filter(|m| !matches!(m.content, Content::Frame(_))) {
                for one in mpdu.content.packets() {
                    self.peers[peer].stats.dropped_packets += 1;
                    self.complete(peer, one, status, mpdu.attempts, mpdu.rate, mpdu.airtime_ns);
                }
            }
        }
    }
}
