//! What clients carry, for a gateway that keeps accounts. Counters of a path end with it, and a
//! session ends whenever its client makes another: so what they had is kept until it is asked for.

use super::Engine;
use ropewalk_session::PublicKey;
use std::collections::BTreeMap;

/// Bytes on the paths of a client, IP and UDP headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// To it.
    pub sent: u64,
    /// From it.
    pub received: u64,
}

impl Carried {
    pub(crate) fn add(&mut self, more: Carried) {
        self.sent = self.sent.saturating_add(more.sent);
        self.received = self.received.saturating_add(more.received);
    }

    /// What is more than `before`.
    fn since(self, before: Carried) -> Carried {
        Carried {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
        }
    }
}

/// What was told, and what is to be told.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Of the sessions that there are, while somebody wants to know.
    told: Option<BTreeMap<u32, Carried>>,
    /// Of sessions that are over: as many entries as clients had one since it was asked.
    over: BTreeMap<PublicKey, Carried>,
}

impl Meter {
    /// Begins with sessions that have carried so much already.
    fn begin(&mut self, sessions: impl Iterator<Item = (u32, Carried)>) {
        self.told = Some(sessions.collect());
    }

    /// A session is over, which had carried so much.
    pub(super) fn on_over(&mut self, session: u32, client: PublicKey, carried: Carried) {
        let Some(told) = &mut self.told else { return };
        let more = carried.since(told.remove(&session).unwrap_or_default());
        if more != Carried::default() {
            self.over.entry(client).or_default().add(more);
        }
    }

    /// What is more than at the last call, by client.
    fn take(
        &mut self,
        sessions: impl Iterator<Item = (u32, PublicKey, Carried)>,
    ) -> Vec<(PublicKey, Carried)> {
        let Some(told) = &mut self.told else { return Vec::new() };
        let mut all = std::mem::take(&mut self.over);
        for (session, client, carried) in sessions {
            let more = carried.since(told.insert(session, carried).unwrap_or_default());
            if more != Carried::default() {
                all.entry(client).or_default().add(more);
            }
        }
        all.into_iter().collect()
    }
}

impl Engine {
    /// Gateway: keeps accounts of what clients carry from now on, or keeps none.
    pub fn meter(&mut self, on: bool) {
        self.meter = Meter::default();
        if on {
            self.meter.begin(self.peers.iter().map(|(id, peer)| (*id, peer.paths.carried())));
        }
    }

    /// Gateway: what each client has carried since the last call, or since [`Engine::meter`];
    /// those who have carried nothing are left out. Nothing where no accounts are kept.
    pub fn take_carried(&mut self) -> Vec<(PublicKey, Carried)> {
        self.meter.take(self.peers.iter().map(|(id, peer)| (*id, peer.key(), peer.paths.carried())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: PublicKey = PublicKey([1; 32]);

    fn carried(sent: u64, received: u64) -> Carried {
        Carried { sent, received }
    }

    #[test]
    fn two_sessions_of_a_client_are_told_apart_and_what_one_had_last_is_told() {
        let mut meter = Meter::default();
        assert!(meter.take([(1, ALICE, carried(9, 9))].into_iter()).is_empty(), "nobody wanted to know");
        meter.begin([(1, carried(100, 10))].into_iter());
        let both = |old, new| [(1, ALICE, old), (2, ALICE, new)].into_iter();
        assert_eq!(meter.take(both(carried(150, 10), carried(5, 0))), [(ALICE, carried(55, 0))]);
        assert!(meter.take(both(carried(150, 10), carried(5, 0))).is_empty());
        meter.on_over(1, ALICE, carried(170, 30));
        meter.on_over(1, ALICE, carried(0, 0));
        let new = || [(2, ALICE, carried(6, 0))].into_iter();
        assert_eq!(meter.take(new()), [(ALICE, carried(21, 20))]);
        assert!(meter.take(new()).is_empty());
        assert!(meter.over.is_empty() && meter.told.is_some_and(|told| told.len() == 1));
    }
}
