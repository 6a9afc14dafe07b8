//! The keys of a session, one set after another without a gap.

use crate::session::{Index, Opener, Sealer, SessionKeys};
use crate::time::{Duration, Time};

/// A retired key still opens what was on its way: a minute covers any network.
const RETIRED_FOR: Duration = Duration::from_secs(60);

/// One set of keys.
#[derive(Debug)]
pub struct Epoch {
    /// Seals what goes out.
    pub sealer: Sealer,
    /// Opens what comes in.
    pub opener: Opener,
    /// The index by which the peer names these keys.
    pub local: Index,
    /// The index by which this end names them.
    pub remote: Index,
    /// When the handshake ended.
    pub since: Time,
    /// Datagrams sealed.
    pub sealed: u64,
}

impl Epoch {
    /// The keys of a handshake that ended at `now`.
    pub fn new(keys: SessionKeys, now: Time) -> Self {
        let (local, remote) = (keys.local_index, keys.peer_index);
        let (sealer, opener) = keys.into_ends();
        Epoch { sealer, opener, local, remote, since: now, sealed: 0 }
    }
}

/// Current keys, the ones before, and at a gateway the ones that the client has not used yet.
#[derive(Debug, Default)]
pub struct Keyring {
    /// What this end seals with.
    pub current: Option<Epoch>,
    /// What the peer may still seal with.
    pub previous: Option<(Epoch, Time)>,
    /// Offered in a RESPONSE. An INIT may be a replay, so only a datagram sealed with them puts them in force.
    pub offered: Option<Epoch>,
}

impl Keyring {
    /// Puts `epoch` in force. Returns an index that fell out of use.
    pub fn install(&mut self, epoch: Epoch, now: Time) -> Option<Index> {
        let old = self.current.replace(epoch)?;
        self.previous.replace((old, now + RETIRED_FOR)).map(|(e, _)| e.local)
    }

    /// Offers `epoch`. Returns the index of an earlier offer, now void.
    pub fn offer(&mut self, epoch: Epoch) -> Option<Index> {
        self.offered.replace(epoch).map(|e| e.local)
    }

    /// The opener that belongs to `index`, and whether it is the offered one.
    pub fn opener(&self, index: Index) -> Option<(&Opener, bool)> {
        if let Some(e) = self.current.as_ref().filter(|e| e.local == index) {
            return Some((&e.opener, false));
        }
        if let Some(e) = self.offered.as_ref().filter(|e| e.local == index) {
            return Some((&e.opener, true));
        }
        self.previous.as_ref().filter(|(e, _)| e.local == index).map(|(e, _)| (&e.opener, false))
    }

    /// Drops retired keys whose time is over. Returns their index.
    pub fn expire(&mut self, now: Time) -> Option<Index> {
        let over = self.previous.as_ref().is_some_and(|(_, until)| now >= *until);
        over.then(|| self.previous.take().map(|(e, _)| e.local)).flatten()
    }

    /// All indices in use.
    pub fn indices(&self) -> impl Iterator<Item = Index> {
        let previous = self.previous.as_ref().map(|(e, _)| e.local);
        [self.current.as_ref().map(|e| e.local), self.offered.as_ref().map(|e| e.local), previous]
            .into_iter()
            .flatten()
    }
}
