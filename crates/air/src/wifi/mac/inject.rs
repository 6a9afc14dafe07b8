//! Frames of another MAC, which chooses their rates and how often each is tried.
//! They pass no queue and no rate control here; all else is as with the air's own frames.

use super::backlog::Waiting;
use super::queue::Content;
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::api::{AccessCategory, IfaceId, Packet, Status};
use crate::wifi::rate::{RateChain, TxReport};

/// How a frame is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Injected {
    /// Header and FCS included.
    pub(crate) mpdu_bytes: u32,
    /// What counts as delivered, bytes.
    pub(crate) body_bytes: u32,
    pub(crate) category: AccessCategory,
    pub(crate) chain: RateChain,
}

impl<T: Clone> Air<T> {
    /// Sends a frame from an interface to `other`, an interface or [`GROUP`](super::frame::GROUP).
    /// The caller waits until the category's last frame is done.
    pub(crate) fn inject(
        &mut self,
        now: Time,
        iface: IfaceId,
        other: u16,
        (frame, token): (&Injected, u64),
        payload: T,
    ) {
        self.run(now);
        let index = usize::from(iface.0);
        let Some(peer) = self.ifaces[index].peer(other) else { return };
        let category = frame.category as usize;
        let packet = Packet {
            len_bytes: frame.body_bytes,
            ac: frame.category,
            token,
            ecn_capable: false,
            flow: 0,
            payload,
        };
        self.ifaces[index].outstanding += 1;
        let waiting = Waiting { packet, since: self.now, marked: false };
        if !self.radios[usize::from(self.ifaces[index].radio)].up {
            self.peers[peer].stats.dropped_packets += 1;
            return self.complete(peer, &waiting, Status::Dropped, 0, None, 0);
        }
        let seq = self.ifaces[index].next_seq;
        self.ifaces[index].next_seq = super::frame::seq_add(seq, 1);
        let queue = &mut self.peers[peer].tx[category];
        debug_assert!(queue.window.is_empty(), "one frame at a time");
        queue.push_mpdu(seq, frame.mpdu_bytes, Content::Packet(waiting));
        queue.chain = Some((frame.chain, TxReport::new(&frame.chain, 1)));
        queue.tries = 0;
        queue.limit = Some(u8::try_from(frame.chain.tries()).unwrap_or(u8::MAX));
        self.offer(peer, category);
    }
}
