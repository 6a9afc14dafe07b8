//! Devices that wait for the store, in the order in which they are asked for.
//!
//! Who shows an invite or a key that is known has a lane of its own, so that outsiders, who may
//! make up as many as they like, cannot be in the way. An invite has one place, whoever shows it
//! how often: one token cannot be in the way of another.

use ropewalk_session::{InviteId, InviteSecret, PublicKey};
use std::collections::{BTreeMap, VecDeque};

/// Devices that may wait in a lane; whoever comes beside asks again.
const LANE: usize = 256;

/// A device, and the invite with its secret that it showed.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub device: PublicKey,
    pub invite: InviteId,
    pub secret: InviteSecret,
}

#[derive(Debug, Default)]
struct Lane {
    order: VecDeque<[u8; 16]>,
    of_invite: BTreeMap<[u8; 16], Claim>,
}

impl Lane {
    fn add(&mut self, claim: Claim) {
        let invite = claim.invite.0;
        if self.order.len() < LANE && !self.of_invite.contains_key(&invite) {
            self.order.push_back(invite);
            self.of_invite.insert(invite, claim);
        }
    }

    fn first(&self) -> Option<&Claim> {
        self.of_invite.get(self.order.front()?)
    }
}

/// Who waits.
#[derive(Debug, Default)]
pub(super) struct Claims {
    known: Lane,
    outsiders: Lane,
    /// The outsiders' turn.
    is_theirs: bool,
}

impl Claims {
    /// Adds a device.
    pub(super) fn add(&mut self, claim: Claim, is_known: bool) {
        if is_known { &mut self.known } else { &mut self.outsiders }.add(claim);
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.known.order.len() + self.outsiders.order.len()
    }

    fn turn(&mut self) -> &mut Lane {
        let is_theirs = self.known.order.is_empty() || self.is_theirs && !self.outsiders.order.is_empty();
        if is_theirs { &mut self.outsiders } else { &mut self.known }
    }

    /// Whose turn it is; it stays where it is until [`Claims::done`] or [`Claims::later`].
    pub(super) fn next(&mut self) -> Option<Claim> {
        self.turn().first().cloned()
    }

    /// The one whose turn it was has its answer.
    pub(super) fn done(&mut self, claim: &Claim) {
        for lane in [&mut self.known, &mut self.outsiders] {
            if lane.order.front() == Some(&claim.invite.0) {
                lane.order.pop_front();
                lane.of_invite.remove(&claim.invite.0);
            }
        }
        self.is_theirs = !self.is_theirs;
    }

    /// It has none, and is asked for after the others.
    pub(super) fn later(&mut self) {
        let order = &mut self.turn().order;
        order.rotate_left(1.min(order.len()));
        self.is_theirs = !self.is_theirs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(device: u32, invite: u32) -> Claim {
        let (mut key, mut id) = ([0; 32], [0; 16]);
        key[..4].copy_from_slice(&device.to_be_bytes());
        id[..4].copy_from_slice(&invite.to_be_bytes());
        Claim { device: PublicKey(key), invite: InviteId(id), secret: InviteSecret([0; 16]) }
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
        (0..2000).for_each(|n| claims.add(claim(n, n), false));
        assert_eq!(claims.len(), LANE);
        claims.add(claim(9001, 9001), true);
        claims.add(claim(9000, 9000), true);
        let order = order(&mut claims);
        assert_eq!(order.iter().filter(|n| **n >= 9000).collect::<Vec<_>>(), [&9001, &9000]);
        assert!(order[..4].contains(&9000), "{:?}", &order[..4]);
        assert_eq!(order.len(), LANE + 2, "outsiders have their turns, too");
    }

    #[test]
    fn one_token_has_one_place_and_who_comes_first_is_first() {
        let mut claims = Claims::default();
        (0..100).for_each(|n| claims.add(claim(n, 1), true));
        claims.add(claim(500, 2), true);
        assert_eq!(order(&mut claims), [0, 500]);
    }

    #[test]
    fn who_cannot_be_answered_makes_room() {
        let mut claims = Claims::default();
        [1, 2, 3].iter().for_each(|n| claims.add(claim(*n, *n), true));
        claims.later();
        assert_eq!(order(&mut claims), [2, 3, 1]);
    }
}
