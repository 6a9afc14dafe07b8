//! Addresses that come and go: subflows that are removed, joined, and joined again.

use super::{MptcpConnection, SubflowId, token};
use crate::tcp::{Flags, MptcpOption, Segment};
use ropewalk_air::Time;

impl MptcpConnection {
    /// Ends a subflow, and tells the peer on another; what it had on the way goes to the others.
    pub fn remove_subflow(&mut self, id: SubflowId) {
        let Some(subflow) = self.subflows.get_mut(id.0).filter(|s| !s.gone) else { return };
        subflow.endpoint.abort();
        let address_id = subflow.address_id;
        self.lose_subflow(id.0);
        self.removed.push_back(address_id);
        self.tell_removed();
    }

    /// Tells the peer of addresses that are gone, as soon as a subflow can.
    pub(super) fn tell_removed(&mut self) {
        let other = self.subflows.iter_mut().find(|s| s.is_usable());
        if let Some(part) = other.and_then(|s| s.endpoint.subflow.as_mut()) {
            let gone = self.removed.drain(..).map(|address_id| MptcpOption::RemoveAddress { address_id });
            part.once.extend(gone);
        }
    }

    /// The peer lost a subflow, and joins again between the same addresses and ports.
    pub(super) fn begins_anew(&self, index: usize, segment: &Segment) -> bool {
        let Some(MptcpOption::Join { nonce, token: named, .. }) = segment.options.mptcp else { return false };
        let part = self.subflows[index].endpoint.subflow.as_ref();
        let had = match part.and_then(|part| part.peer_handshake) {
            Some(MptcpOption::Join { nonce, .. }) => Some(nonce),
            _ => None,
        };
        let is_syn = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        is_syn && named == token(self.key) && had != Some(nonce)
    }

    /// A subflow that joins is answered; false if the segment opens none.
    pub(super) fn on_join(&mut self, now: Time, segment: &Segment) -> bool {
        let Some(MptcpOption::Join { address_id, backup, token: named, nonce }) = segment.options.mptcp
        else {
            return false;
        };
        if !segment.flags.has(Flags::SYN) || segment.flags.has(Flags::ACK) || named != token(self.key) {
            return false;
        }
        let option = MptcpOption::Join { address_id, backup, token: named, nonce };
        self.answer(now, segment, option, address_id, backup);
        true
    }

    /// The peer has lost an address.
    pub(super) fn drop_address(&mut self, address_id: u8) {
        let gone = self.subflows.iter().position(|s| s.address_id == address_id && !s.gone);
        if let Some(index) = gone {
            self.subflows[index].endpoint.abort();
            self.lose_subflow(index);
        }
    }
}
