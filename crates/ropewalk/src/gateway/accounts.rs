//! When what clients use is looked at, and handed on.

use ropewalk_bond::engine::{Carried, Engine};
use ropewalk_fleet::Usage;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};

/// How often.
const EVERY: Duration = Duration::from_secs(3);

/// The accounts of a gateway's clients; the engine keeps them.
#[derive(Debug)]
pub(super) struct Accounts {
    /// Somebody wanted to know when it was looked last.
    are_kept: bool,
    due: Time,
}

impl Accounts {
    /// Accounts from now on, if somebody wants to know.
    pub(super) fn new(are_wanted: bool, engine: &mut Engine, now: Time) -> Accounts {
        engine.meter(are_wanted);
        Accounts { are_kept: are_wanted, due: now + EVERY }
    }

    /// When it is to be looked next.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// What every client has used since the last time, if somebody wants to know. What was used
    /// while nobody did is never told.
    pub(super) fn settle(
        &mut self,
        are_wanted: bool,
        engine: &mut Engine,
        now: Time,
    ) -> Vec<(PublicKey, Usage)> {
        self.due = now + EVERY;
        if std::mem::replace(&mut self.are_kept, are_wanted) != are_wanted {
            engine.meter(are_wanted);
        }
        let usage = |(client, carried): (PublicKey, Carried)| {
            (client, Usage { from_client: carried.received, to_client: carried.sent })
        };
        engine.take_carried().into_iter().map(usage).collect()
    }
}
