//! Devices that wait for the store, in the order in which they are asked for, and who asks.
//!
//! Who shows an invite or a key that is known has a lane of its own, so that outsiders, who may
//! make up as many as they like, cannot be in the way. An invite has one place, whoever shows it
//! how often: one token cannot be in the way of another. Some of the known are asked for beside
//! each other, and one outsider at a time.

use super::{Evict, Shared};
use crate::copy::Effect;
use crate::ledger::{ClaimError, Ledger};
use ropewalk_session::{InviteId, InviteSecret, PublicKey};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Devices that may wait in a lane; whoever comes beside asks again.
const LANE: usize = 256;
/// How many are asked for at once, each on a line of its own. A claim is three round trips.
pub(super) const AT_ONCE: usize = 8;
/// Addresses that turned out to be others', after which a claim looks elsewhere.
const TRIED: usize = 4;
/// After a claim that the store did not answer.
const PAUSE: Duration = Duration::from_millis(250);

/// A device, and the invite with its secret that it showed.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub device: PublicKey,
    pub invite: InviteId,
    pub secret: InviteSecret,
    /// It is none of an outsider.
    pub is_known: bool,
}

#[derive(Debug, Default)]
struct Lane {
    /// Who is not asked for yet.
    order: VecDeque<[u8; 16]>,
    of_invite: BTreeMap<[u8; 16], Claim>,
}

impl Lane {
    fn add(&mut self, claim: Claim) {
        let invite = claim.invite.0;
        if self.of_invite.len() < LANE && !self.of_invite.contains_key(&invite) {
            self.order.push_back(invite);
            self.of_invite.insert(invite, claim);
        }
    }

    /// The first that is not asked for, while fewer than so many are.
    fn next(&mut self, at_once: usize) -> Option<Claim> {
        if self.of_invite.len() - self.order.len() >= at_once {
            return None;
        }
        self.of_invite.get(&self.order.pop_front()?).cloned()
    }
}

/// Who waits.
#[derive(Debug, Default)]
pub(super) struct Claims {
    known: Lane,
    outsiders: Lane,
    /// The outsiders' turn.
    is_theirs: bool,
    /// Addresses that claims ask the store for now.
    promised: BTreeSet<IpAddr>,
}

impl Claims {
    /// Adds a device.
    pub(super) fn add(&mut self, claim: Claim) {
        self.lane(&claim).add(claim);
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.known.of_invite.len() + self.outsiders.of_invite.len()
    }

    fn lane(&mut self, claim: &Claim) -> &mut Lane {
        if claim.is_known { &mut self.known } else { &mut self.outsiders }
    }

    /// Who is to be asked for now, until [`Claims::done`] or [`Claims::later`].
    pub(super) fn next(&mut self) -> Option<Claim> {
        let claim = if self.is_theirs {
            self.outsiders.next(1).or_else(|| self.known.next(AT_ONCE))
        } else {
            self.known.next(AT_ONCE).or_else(|| self.outsiders.next(1))
        }?;
        self.is_theirs = claim.is_known;
        Some(claim)
    }

    /// A device has its answer.
    pub(super) fn done(&mut self, claim: &Claim) {
        self.lane(claim).of_invite.remove(&claim.invite.0);
    }

    /// It has none, and is asked for after the others.
    pub(super) fn later(&mut self, claim: &Claim) {
        self.lane(claim).order.push_back(claim.invite.0);
    }
}

/// Asks about one device after the other, for ever.
pub(super) async fn ask(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    ledger.fleet = shared.state().own_key;
    loop {
        let next = shared.state().claims.next();
        let Some(claim) = next else {
            shared.claims.notified().await;
            continue;
        };
        if !ask_for(&shared, &mut ledger, &claim).await {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Asks about one device. Says whether the store answered.
async fn ask_for(shared: &Arc<Shared>, ledger: &mut Ledger, claim: &Claim) -> bool {
    let mut promised = Vec::new();
    let free = |tried: &BTreeSet<IpAddr>| {
        let mut state = shared.state();
        release(&mut state.claims, &mut promised);
        let is_promised = |a: IpAddr| tried.contains(&a) || state.claims.promised.contains(&a);
        let free = state.copy.free(&shared.pool, turn(&claim.device, tried.len()), is_promised)?;
        promised.extend([IpAddr::from(free.0)].into_iter().chain(free.1.map(IpAddr::from)));
        state.claims.promised.extend(&promised);
        Some(free)
    };
    let outcome = ledger.claim(&shared.pool, free, &claim.device, (claim.invite, &claim.secret)).await;
    let effect = {
        let mut state = shared.state();
        release(&mut state.claims, &mut promised);
        match outcome {
            Ok(claimed) => {
                tracing::info!(client = claimed.name, "a device has come by its invite");
                state.claims.done(claim);
                state.copy.claimed(&claimed.name, claimed.record, claimed.revision)
            }
            Err(ClaimError::Refused(refusal)) => {
                tracing::info!(client = %claim.device, ?refusal, "a device was refused");
                state.refuse(claim, refusal);
                state.claims.done(claim);
                Effect::None
            }
            Err(ClaimError::Store(error)) => {
                tracing::debug!(%error, "a device has to wait");
                state.claims.later(claim);
                return false;
            }
        }
    };
    // The name was another device's, and the watch has not said yet that it is no longer.
    if let Effect::Out(key) = effect {
        shared.evict([Evict::Revoked(key)]);
    }
    true
}

/// A claim asks for these addresses no longer.
fn release(claims: &mut Claims, promised: &mut Vec<IpAddr>) {
    for address in promised.drain(..) {
        claims.promised.remove(&address);
    }
}

/// Where a claim begins to look for addresses: at the lowest. Where others have had so many of them
/// already, at a place of its own, so that gateways do not meet again and again.
fn turn(device: &PublicKey, tried: usize) -> u128 {
    if tried < TRIED {
        return 0;
    }
    let own = device.0.first_chunk::<16>().map_or(0, |own| u128::from_be_bytes(*own));
    own.wrapping_add(tried as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(device: u32, invite: u32, is_known: bool) -> Claim {
        let (mut key, mut id) = ([0; 32], [0; 16]);
        key[..4].copy_from_slice(&device.to_be_bytes());
        id[..4].copy_from_slice(&invite.to_be_bytes());
        Claim { device: PublicKey(key), invite: InviteId(id), secret: InviteSecret([0; 16]), is_known }
    }

    /// In which order devices get their answers.
    fn order(claims: &mut Claims) -> Vec<u32> {
        let mut all = Vec::new();
        while let Some(claim) = claims.next() {
            claims.done(&claim);
            all.push(u32::from_be_bytes(claim.device.0[..4].try_into().unwrap()));
        }
        all
    }

    #[test]
    fn a_flood_of_outsiders_does_not_delay_who_was_invited() {
        let mut claims = Claims::default();
        (0..2000).for_each(|n| claims.add(claim(n, n, false)));
        assert_eq!(claims.len(), LANE);
        claims.add(claim(9001, 9001, true));
        claims.add(claim(9000, 9000, true));
        let order = order(&mut claims);
        assert_eq!(order.iter().filter(|n| **n >= 9000).collect::<Vec<_>>(), [&9001, &9000]);
        assert!(order[..4].contains(&9000), "{:?}", &order[..4]);
        assert_eq!(order.len(), LANE + 2, "outsiders have their turns, too");
    }

    #[test]
    fn one_token_has_one_place_and_who_comes_first_is_first() {
        let mut claims = Claims::default();
        (0..100).for_each(|n| claims.add(claim(n, 1, true)));
        claims.add(claim(500, 2, true));
        assert_eq!(order(&mut claims), [0, 500]);
    }

    #[test]
    fn who_cannot_be_answered_makes_room() {
        let mut claims = Claims::default();
        [1, 2, 3].iter().for_each(|n| claims.add(claim(*n, *n, true)));
        let first = claims.next().unwrap();
        claims.later(&first);
        assert_eq!(order(&mut claims), [2, 3, 1]);
    }

    #[test]
    fn some_are_asked_for_beside_each_other_and_one_outsider() {
        let mut claims = Claims::default();
        (0..100).for_each(|n| claims.add(claim(n, n, n < 50)));
        let all: Vec<Claim> = std::iter::from_fn(|| claims.next()).collect();
        let known = all.iter().filter(|claim| claim.is_known).count();
        assert_eq!((known, all.len(), claims.len()), (AT_ONCE, AT_ONCE + 1, 100));
        claims.add(claim(200, 0, true));
        assert_eq!(claims.len(), 100, "who is asked for keeps the place");
        all.iter().for_each(|claim| claims.done(claim));
        assert_eq!(claims.len(), 100 - all.len());
        assert_eq!(std::iter::from_fn(|| claims.next()).count(), AT_ONCE + 1, "the next ones");
    }
}
