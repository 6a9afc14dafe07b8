//! Who has what, and who noticed that a path was dead.

use super::Engine;
use crate::api::Event;
use crate::flows::{FlowsStatus, Outage};
use crate::path::Path;
use ropewalk_session::PublicKey;
use ropewalk_time::Time;

impl Engine {
    /// The connections of late with the highest rates, `most` of them. Allocates; not for the hot
    /// path.
    pub fn flows(&self, most: usize, now: Time) -> FlowsStatus {
        let keys: Vec<PublicKey> = self.peers.values().map(|p| p.key()).collect();
        self.shared.flows.status(keys.iter(), most, now)
    }

    /// Says of outages that are over, or last for long, which connections noticed.
    pub(super) fn judge_outages(&mut self, now: Time) {
        let outages = self.shared.outages.take_due(now);
        let has_way = |o: &Outage| {
            let sessions = self.peers_of(&o.peer).filter_map(|id| self.peers.get(&id));
            sessions.flat_map(|p| p.paths.iter()).any(Path::is_usable)
        };
        let no_way: Vec<bool> = outages.iter().map(|o| !has_way(o)).collect();
        let counts = self.shared.flows.judge(&outages, &no_way, now);
        for (o, (connections, noticed)) in outages.iter().zip(counts) {
            self.event(Event::Outage {
                peer: o.peer,
                path: o.path.get(),
                remote: o.remote,
                since: o.since,
                until: o.until,
                connections,
                noticed,
            });
        }
    }
}
