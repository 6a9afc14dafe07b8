//! When what clients use is looked at, and handed on.

use super::SharedClients;
use super::quotas::Quotas;
use ropewalk_bond::engine::{Carried, Engine};
use ropewalk_fleet::Usage;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};

/// How often.
const EVERY: Duration = Duration::from_secs(3);

/// The accounts of an engine's clients, who are held to their quotas.
#[derive(Debug)]
pub(super) struct Accounts {
    clients: SharedClients,
    quotas: Quotas,
    /// Somebody wanted to know when it was looked last.
    are_kept: bool,
    due: Time,
}

impl Accounts {
    /// Accounts from now on, if somebody wants to know.
    pub(super) fn new(clients: SharedClients, quotas: Quotas, engine: &mut Engine, now: Time) -> Accounts {
        let are_kept = clients.meters();
        engine.meter(are_kept);
        Accounts { clients, quotas, are_kept, due: now + EVERY }
    }

    /// When it is to be looked next.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// The quotas that clients are held to.
    pub(super) fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Notes what every client has used since the last time, if somebody wants to know. What was
    /// used while nobody did is never told.
    pub(super) fn settle(&mut self, engine: &mut Engine, now: Time) {
        self.due = now + EVERY;
        let are_wanted = self.clients.meters();
        if std::mem::replace(&mut self.are_kept, are_wanted) != are_wanted {
            engine.meter(are_wanted);
        }
        let usage = |(client, carried): (PublicKey, Carried)| {
            (client, Usage { from_client: carried.received, to_client: carried.sent })
        };
        let used: Vec<(PublicKey, Usage)> = engine.take_carried().into_iter().map(usage).collect();
        self.clients.used(&used);
        if !used.is_empty() {
            self.quotas.look();
        }
    }
}
