//! How MPDUs end: given up, delivered, expired; and what the driver is told.

use super::backlog::Waiting;
use super::frame;
use super::queue::{Content, Mpdu};
use crate::wifi::air::Air;
use crate::wifi::api::{Completion, IfaceId, Mac, Output, Status};
use crate::wifi::phy::Rate;

impl<T: Clone> Air<T> {
    /// An RTS without CTS counts as an attempt of the MPDUs behind it (the short retry counter of 10.3.3). True if any was
    /// given up.
    pub(crate) fn count_failed_rts(&mut self, radio: usize, peer: usize, category: usize, limit: u8) -> bool {
        let queue = &mut self.peers[peer].tx[category];
        let first = queue.start();
        for part in &self.radios[radio].planned.parts {
            let place = usize::try_from(frame::seq_diff(part.seq, first)).ok();
            if let Some(mpdu) = place.and_then(|n| queue.window.get_mut(n)) {
                mpdu.attempts = mpdu.attempts.saturating_add(1);
                mpdu.sent = true;
            }
        }
        self.give_up_worn(peer, category, limit)
    }

    /// Gives up those of the last MPDUs that were tried as often as allowed. True if there were any.
    pub(crate) fn give_up_worn(&mut self, peer: usize, category: usize, limit: u8) -> bool {
        let queue = &mut self.peers[peer].tx[category];
        let mut worn = false;
        for mpdu in queue.window.iter_mut().filter(|m| m.sent && m.fate.is_none()) {
            mpdu.sent = false;
            if mpdu.attempts >= limit {
                (mpdu.fate, worn) = (Some(Status::Failed), true);
            }
        }
        if worn {
            self.fail_done(peer, category);
            self.report(peer, category);
        }
        worn
    }

    /// Completes MPDUs that were given up, and tells the receiver not to wait for them.
    pub(crate) fn fail_done(&mut self, peer: usize, category: usize) {
        let p = &mut self.peers[peer];
        p.tx[category].bar_due |= p.aggregates;
        self.pop_done(peer, category);
    }

    /// Takes MPDUs whose fate is known out of the window, in order, and completes what they carried.
    pub(crate) fn pop_done(&mut self, peer: usize, category: usize) {
        while let Some(mpdu) = self.peers[peer].tx[category].pop_done() {
            let status = mpdu.fate.unwrap_or(Status::Failed);
            self.complete_mpdu(peer, mpdu, status);
        }
    }

    pub(crate) fn complete_mpdu(&mut self, peer: usize, mpdu: Mpdu<T>, status: Status) {
        let packets = mpdu.content.packets().len() as u64;
        for waiting in mpdu.content.packets() {
            let stats = &mut self.peers[peer].stats;
            match status {
                Status::Delivered => {
                    stats.delivered_packets += 1;
                    stats.delivered_bytes += u64::from(waiting.packet.len_bytes);
                }
                Status::Expired => stats.expired_packets += 1,
                Status::Failed => stats.failed_packets += 1,
                Status::Dropped => stats.dropped_packets += 1,
            }
            self.complete(peer, waiting, status, mpdu.attempts, mpdu.rate, mpdu.airtime_ns / packets.max(1));
        }
        if let Content::Frame(kind) = mpdu.content {
            self.on_frame_done(peer, kind, status == Status::Delivered);
        }
    }

    /// Completes what a managed queue has dropped.
    pub(crate) fn complete_lost(&mut self, peer: usize, category: usize) {
        if self.peers[peer].tx[category].waiting.lost.is_empty() {
            return;
        }
        for one in core::mem::take(&mut self.peers[peer].tx[category].waiting.lost) {
            self.peers[peer].stats.dropped_packets += 1;
            self.leave_queue(peer, 1);
            self.complete(peer, &one, Status::Dropped, 0, None, 0);
        }
    }

    /// Tells the driver what became of a packet.
    pub(crate) fn complete(
        &mut self,
        peer: usize,
        waiting: &Waiting<T>,
        status: Status,
        attempts: u8,
        rate: Option<Rate>,
        airtime_ns: u64,
    ) {
        let p = &self.peers[peer];
        let iface = &mut self.ifaces[usize::from(p.iface)];
        iface.outstanding = iface.outstanding.saturating_sub(1);
        let to = self.ifaces.get(usize::from(p.other)).map_or(Mac::BROADCAST, |i| i.mac);
        self.out.push_back(Output::Completion(Completion {
            at: self.now,
            iface: IfaceId(p.iface),
            to,
            token: waiting.packet.token,
            status,
            attempts,
            rate,
            airtime: core::time::Duration::from_nanos(airtime_ns),
        }));
    }
}
