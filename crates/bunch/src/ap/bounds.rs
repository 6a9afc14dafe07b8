//! Whether an access point has room for one more packet of a session.

use super::{Ap, FEW, PACKET, SHARE, Session};
use crate::Mac;

impl Ap {
    /// Sessions of neighbours, or of the one that has this cell.
    pub(super) fn of_others(&self, cell: Option<Mac>) -> impl Iterator<Item = &Session> {
        self.sessions.iter().filter(move |s| !s.home && cell.is_none_or(|cell| s.flow.bssid == cell))
    }

    /// There is no memory for one more packet of so many bytes in a session: half of it is for the
    /// own home, and of the other half each neighbour has a share.
    pub(super) fn is_full_for(&self, i: usize, bytes: usize) -> bool {
        let most = (self.config.memory_bytes, self.config.memory_bytes / PACKET + FEW);
        let all = sum(self.sessions.iter());
        if all.0 + bytes > most.0 || all.1 >= most.1 {
            return true;
        }
        let session = &self.sessions[i];
        if session.home {
            return false;
        }
        let half = |most: usize| if self.has_home { most / 2 } else { most };
        let (others, own) = (sum(self.of_others(None)), sum(self.of_others(Some(session.flow.bssid))));
        let left = (half(most.0).saturating_sub(others.0), half(most.1).saturating_sub(others.1));
        bytes > left.0 || left.1 == 0 || own.0 + bytes > SHARE * left.0 || own.1 >= SHARE * left.1
    }

    /// Whether a packet of so many bytes could be brought, too: the own home's always.
    pub(super) fn may_be_brought(&self, i: usize, bytes: usize) -> bool {
        self.sessions[i].home || self.allowance.has_room(|| sum(self.of_others(None)), bytes)
    }
}

/// Bytes and packets that sessions hold.
fn sum<'a>(of: impl Iterator<Item = &'a Session>) -> (usize, usize) {
    of.fold((0, 0), |(bytes, packets), s| (bytes + s.held_bytes(), packets + s.held.len()))
}
