//! What the data loop and the store's thread both know.

use crate::copy::Copy;
use crate::record::Usage;
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Devices that may wait for the store; whoever comes beside asks again.
const CLAIMS: usize = 256;
/// Refusals that are remembered, and for how long: the device asks again within a second.
const REFUSALS: usize = 1024;
const REMEMBERED: Duration = Duration::from_secs(5);

/// A client that is served here.
#[derive(Clone, Debug)]
pub(super) struct Mine {
    pub key: PublicKey,
    pub inside: Vec<IpAddr>,
    pub written: Written,
}

/// Whether the store knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It came just now, so it is here whatever the store says.
    Fresh,
    /// It was here when the record went: it is, unless another gateway says otherwise.
    Again,
    /// Since that revision.
    At(i64),
}

/// An invite with its secret that a device showed.
pub(super) type Claim = (InviteId, InviteSecret);

#[derive(Debug)]
pub(super) struct State {
    pub copy: Copy,
    /// Served here, by name.
    pub mine: BTreeMap<String, Mine>,
    /// No longer served here, by the revisions that said so.
    pub left: Vec<(String, i64)>,
    pub claims: BTreeMap<PublicKey, Claim>,
    refused: BTreeMap<PublicKey, (Refusal, Instant)>,
    /// Used since it was last written.
    pub used: BTreeMap<String, Usage>,
    /// Used in all at this gateway, as the store has it or is to have it.
    pub totals: BTreeMap<String, Usage>,
    pub draining: bool,
    pub endpoints: Option<Vec<String>>,
    /// When the store was last heard.
    pub contact: Instant,
}

impl State {
    pub(super) fn new() -> State {
        State {
            copy: Copy::default(),
            mine: BTreeMap::new(),
            left: Vec::new(),
            claims: BTreeMap::new(),
            refused: BTreeMap::new(),
            used: BTreeMap::new(),
            totals: BTreeMap::new(),
            draining: false,
            endpoints: None,
            contact: Instant::now(),
        }
    }

    /// The store is to be asked about a device.
    pub(super) fn ask(&mut self, device: &PublicKey, (invite, secret): (InviteId, &InviteSecret)) {
        if self.claims.len() < CLAIMS || self.claims.contains_key(device) {
            self.claims.insert(*device, (invite, secret.clone()));
        }
    }

    /// What the store said of a device a moment ago.
    pub(super) fn refusal(&self, device: &PublicKey) -> Option<Refusal> {
        self.refused.get(device).filter(|(_, at)| at.elapsed() < REMEMBERED).map(|(refusal, _)| *refusal)
    }

    /// The same, for the last time.
    pub(super) fn take_refusal(&mut self, device: &PublicKey) -> Option<Refusal> {
        let refusal = self.refusal(device);
        self.refused.remove(device);
        refusal
    }

    pub(super) fn refuse(&mut self, device: PublicKey, refusal: Refusal) {
        if self.refused.len() >= REFUSALS {
            self.refused.retain(|_, (_, at)| at.elapsed() < REMEMBERED);
        }
        if self.refused.len() < REFUSALS {
            self.refused.insert(device, (refusal, Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_and_what_is_remembered_is_bounded() {
        let mut state = State::new();
        let key = |n: u32| {
            let mut bytes = [0; 32];
            bytes[..4].copy_from_slice(&n.to_be_bytes());
            PublicKey(bytes)
        };
        for n in 0..2000 {
            state.ask(&key(n), (InviteId([0; 16]), &InviteSecret([0; 16])));
            state.refuse(key(n), Refusal::UnknownInvite);
        }
        assert_eq!((state.claims.len(), state.refused.len()), (CLAIMS, REFUSALS));
        assert_eq!(state.take_refusal(&key(5)), Some(Refusal::UnknownInvite));
        assert_eq!(state.refusal(&key(5)), None, "told once");
    }
}
