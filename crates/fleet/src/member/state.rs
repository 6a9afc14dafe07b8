//! What the data loop and the store's thread both know.

use super::begin::NAME;
use super::claims::{Claim, Claims};
use super::served::Served;
use crate::copy::Copy;
use crate::quota::Metered;
use crate::record::{Sum, Usage};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Refusals that are remembered, and for how long: the device asks again within a second.
const REFUSALS: usize = 1024;
const REMEMBERED: Duration = Duration::from_secs(5);

/// Why all is to be read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anew {
    /// The store took this gateway for dead. If it was restored meanwhile, its revisions may be
    /// further already than those that are known here.
    Lapsed,
    /// The store is another, or was set back: what is known says nothing about it.
    Another,
}

#[derive(Debug)]
pub(super) struct State {
    pub copy: Copy,
    /// The cluster that the copy is of; 0: not known.
    pub cluster: u64,
    pub anew: Option<Anew>,
    /// When the store was found to be another last.
    pub replaced: Option<Instant>,
    /// The key of this gateway, and whether the store was seen to have it.
    pub own_key: Option<PublicKey>,
    pub has_key: bool,
    pub served: Served,
    pub claims: Claims,
    /// Who was refused by which invite.
    refused: BTreeMap<PublicKey, (InviteId, Refusal, Instant)>,
    /// Used since it was last written.
    pub used: BTreeMap<String, Usage>,
    /// Used in all at this gateway, as the store has it or is to have it.
    pub totals: BTreeMap<String, Metered>,
    /// The sum of what all clients have used at this gateway; it is found anew where it is not
    /// known.
    pub sum: Option<Usage>,
    pub sum_written: Option<Sum>,
    /// Signed by access points of a bunch, and not in the store yet.
    pub accounts: BTreeMap<PublicKey, String>,
    pub draining: bool,
    /// Exits that lead nowhere here.
    pub lacks: Vec<String>,
    /// How often a client came or went who is granted something.
    pub moves: u64,
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
            cluster: 0,
            anew: None,
            replaced: None,
            own_key: None,
            has_key: true,
            served: Served::default(),
            claims: Claims::default(),
            refused: BTreeMap::new(),
            used: BTreeMap::new(),
            totals: BTreeMap::new(),
            sum: None,
            sum_written: None,
            accounts: BTreeMap::new(),
            draining: false,
            lacks: Vec::new(),
            moves: 0,
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
        self.claims.add(Claim { device: *device, invite, secret: secret.clone(), is_known });
    }

    /// What the gateway `own` has of its clients in all, if the store does not have it so.
    pub(super) fn sum_to_write(&mut self, own: &str) -> Option<Sum> {
        let (copy, totals) = (&self.copy, &self.totals);
        let used = *self.sum.get_or_insert_with(|| {
            // What is known here takes the place of what the copy has of the same clients.
            let mut sum = copy.sum_of(own).used;
            totals.keys().for_each(|client| sum.take(copy.metered_at(client, own).total));
            totals.values().for_each(|metered| sum.add(metered.total));
            sum
        });
        let sum = Sum { clients: self.served.len(), used };
        (self.sum_written != Some(sum)).then_some(sum)
    }

    /// What stands under this gateway's name may be another's by now.
    pub(super) fn forget_sum(&mut self) {
        (self.sum, self.sum_written) = (None, None);
    }

    /// The cluster that answered until now, and a revision that it has reached.
    pub(super) fn known(&self) -> (u64, i64) {
        (self.cluster, self.copy.revision.max(self.told.0))
    }

    /// Whether an answer of this cluster, at this revision, says that it is another store than the
    /// `known` one, or that it was set back.
    pub(super) fn is_another((cluster, revision): (u64, i64), known: (u64, i64)) -> bool {
        (known.0 != 0 && cluster != 0 && cluster != known.0) || revision < known.1
    }

    /// The store was set back a moment ago: what stands under this gateway's name may be a run's of
    /// before the backup, and then goes when its lease ends.
    pub(super) fn was_set_back(&self) -> bool {
        self.anew == Some(Anew::Another) || self.replaced.is_some_and(|at| at.elapsed() < NAME)
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
    pub(super) fn refusal(&self, device: &PublicKey, invite: InviteId) -> Option<Refusal> {
        let (by, refusal, at) = self.refused.get(device)?;
        (*by == invite && at.elapsed() < REMEMBERED).then_some(*refusal)
    }

    /// The same, for the last time.
    pub(super) fn take_refusal(&mut self, device: &PublicKey, invite: InviteId) -> Option<Refusal> {
        let refusal = self.refusal(device, invite);
        self.refused.remove(device);
        refusal
    }

    /// Outsiders, who may be many, leave room for those who show something that is known.
    pub(super) fn refuse(&mut self, claim: &Claim, refusal: Refusal) {
        let room = if claim.is_known { REFUSALS } else { REFUSALS / 2 };
        if self.refused.len() >= room {
            self.refused.retain(|_, (.., at)| at.elapsed() < REMEMBERED);
        }
        if self.refused.len() < room {
            self.refused.insert(claim.device, (claim.invite, refusal, Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::KeyValue;
    use crate::record::Keys;

    #[test]
    fn what_waits_and_what_is_remembered_is_bounded() {
        let mut state = State::new();
        let key = |n: u32| {
            let mut bytes = [0; 32];
            bytes[..4].copy_from_slice(&n.to_be_bytes());
            PublicKey(bytes)
        };
        let invite = |n: u32| InviteId(key(n).0[..16].try_into().unwrap());
        let claim = |n: u32, is_known| Claim {
            device: key(n),
            invite: invite(n),
            secret: InviteSecret([0; 16]),
            is_known,
        };
        for n in 0..2000 {
            state.ask(&key(n), (invite(n), &InviteSecret([0; 16])));
            state.refuse(&claim(n, false), Refusal::UnknownInvite);
        }
        assert_eq!((state.claims.len(), state.refused.len()), (256, REFUSALS / 2));
        state.refuse(&claim(3000, true), Refusal::TokenInUse);
        let told = state.refusal(&key(3000), invite(3000));
        assert_eq!(told, Some(Refusal::TokenInUse), "a flood hides no answer");
        (4000..6000).for_each(|n| state.refuse(&claim(n, true), Refusal::TokenInUse));
        assert_eq!(state.refused.len(), REFUSALS);
        assert_eq!(state.refusal(&key(5), invite(6)), None, "what another invite was told");
        assert_eq!(state.take_refusal(&key(5), invite(5)), Some(Refusal::UnknownInvite));
        assert_eq!(state.refusal(&key(5), invite(5)), None, "told once");
    }

    #[test]
    fn a_sum_counts_what_is_known_here_in_place_of_what_the_copy_has() {
        let (mut state, keys) = (State::new(), Keys("/x/".into()));
        for (key, bytes) in [("a/g", 5), ("b/g", 7), ("a/h", 100)] {
            let value = format!(r#"{{"from_client":{bytes},"to_client":0}}"#).into_bytes();
            let kv = KeyValue { key: format!("/x/usage/{key}"), value, revision: 2, lease: 0 };
            state.copy.take(&keys, &kv);
        }
        let mut metered = Metered::default();
        metered.add(Usage { from_client: 9, to_client: 1 }, jiff::civil::date(2026, 11, 26));
        state.totals.insert("a".into(), metered);
        assert_eq!(state.sum_to_write("g").map(|sum| sum.used.total()), Some(17));
    }

    #[test]
    fn another_store_has_another_name_or_a_lower_revision() {
        assert!(!State::is_another((7, 20), (7, 20)) && !State::is_another((7, 21), (7, 20)));
        assert!(State::is_another((7, 19), (7, 20)), "set back");
        assert!(State::is_another((8, 21), (7, 20)), "another cluster");
        assert!(!State::is_another((8, 21), (0, 0)), "the first that answers");
        assert!(!State::is_another((0, 21), (7, 20)), "an answer without a name");
        let mut state = State::new();
        (state.cluster, state.copy.revision, state.told.0) = (7, 5, 9);
        assert_eq!(state.known(), (7, 9), "a lease told of a later one");
    }

    #[test]
    fn a_name_is_waited_for_after_the_store_was_set_back() {
        let mut state = State::new();
        assert!(!state.was_set_back());
        state.anew = Some(Anew::Another);
        assert!(state.was_set_back(), "it is not read yet");
        (state.anew, state.replaced) = (None, Some(Instant::now()));
        assert!(state.was_set_back());
        state.replaced = Instant::now().checked_sub(NAME);
        assert!(!state.was_set_back());
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
