//! What the data loop and the store's thread both know.

use super::claims::{Claim, Claims};
use crate::copy::Copy;
use crate::quota::Metered;
use crate::record::Usage;
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

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

#[derive(Debug)]
pub(super) struct State {
    pub copy: Copy,
    /// Served here, by name.
    pub mine: BTreeMap<String, Mine>,
    /// No longer served here, by the revisions that said so.
    pub left: Vec<(String, i64)>,
    pub claims: Claims,
    refused: BTreeMap<PublicKey, (Refusal, Instant)>,
    /// Used since it was last written.
    pub used: BTreeMap<String, Usage>,
    /// Used in all at this gateway, as the store has it or is to have it.
    pub totals: BTreeMap<String, Metered>,
    pub draining: bool,
    pub reach: Option<Reach>,
    /// When the store was last heard.
    pub contact: Instant,
    /// The copy was true at that time.
    pub true_at: Instant,
    /// The store had that revision at that time, with a change that the copy is to see.
    pub told: (i64, Instant),
    /// Why the watch does not work, if it does not.
    pub blind: Option<String>,
    /// The last watch said nothing where it should have: the copy is read anew now and then.
    pub is_dumb: bool,
    /// etcd has no room.
    pub is_full: bool,
    /// Another gateway has taken the name.
    pub ousted: bool,
}

/// Where devices reach a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// By UDP.
    pub endpoints: Vec<String>,
    /// By TLS over TCP.
    pub tls: Vec<String>,
}

impl State {
    pub(super) fn new() -> State {
        State {
            copy: Copy::default(),
            mine: BTreeMap::new(),
            left: Vec::new(),
            claims: Claims::default(),
            refused: BTreeMap::new(),
            used: BTreeMap::new(),
            totals: BTreeMap::new(),
            draining: false,
            reach: None,
            contact: Instant::now(),
            true_at: Instant::now(),
            told: (0, Instant::now()),
            blind: None,
            is_dumb: false,
            is_full: false,
            ousted: false,
        }
    }

    /// The store is to be asked about a device.
    pub(super) fn ask(&mut self, device: &PublicKey, (invite, secret): (InviteId, &InviteSecret)) {
        let is_known = self.copy.is_known(device, (invite, secret));
        self.claims.add(Claim { device: *device, invite, secret: secret.clone() }, is_known);
    }

    /// The copy has all that is known to be in the store.
    pub(super) fn confirm(&mut self) -> bool {
        let is_true = self.copy.revision >= self.told.0;
        if is_true {
            self.true_at = self.true_at.max(self.told.1);
        }
        is_true
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
            let invite = InviteId(key(n).0[..16].try_into().unwrap());
            state.ask(&key(n), (invite, &InviteSecret([0; 16])));
            state.refuse(key(n), Refusal::UnknownInvite);
        }
        assert_eq!((state.claims.len(), state.refused.len()), (256, REFUSALS));
        assert_eq!(state.take_refusal(&key(5)), Some(Refusal::UnknownInvite));
        assert_eq!(state.refusal(&key(5)), None, "told once");
    }

    #[test]
    fn a_copy_is_as_old_as_what_it_has_not_seen() {
        let mut state = State::new();
        let before = state.true_at;
        let later = before + Duration::from_secs(9);
        state.told = (5, later);
        assert!(!state.confirm() && state.true_at == before);
        state.copy.revision = 5;
        assert!(state.confirm() && state.true_at == later);
    }
}
