//! What each client has used, out of counters that begin anew with each path.

use ropewalk_bond::engine::Status;
use ropewalk_fleet::Usage;
use ropewalk_session::PublicKey;
use std::collections::BTreeMap;

/// What was counted last, by client and path: sent and received.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    last: BTreeMap<(PublicKey, u8), (u64, u64)>,
}

impl Accounts {
    /// What every client has used since the last call. What a path carried after that, before it
    /// went, is not known: some seconds' worth.
    pub(super) fn settle(&mut self, status: &Status) -> Vec<(PublicKey, Usage)> {
        let mut now = BTreeMap::new();
        let mut used = BTreeMap::<PublicKey, Usage>::new();
        for peer in &status.peers {
            for path in &peer.paths {
                let count = (path.traffic.sent_bytes, path.traffic.received_bytes);
                now.insert((peer.key, path.id), count);
                let last = self.last.get(&(peer.key, path.id)).copied().unwrap_or_default();
                let usage = used.entry(peer.key).or_default();
                usage.to_client += since(last.0, count.0);
                usage.from_client += since(last.1, count.1);
            }
        }
        self.last = now;
        used.into_iter().filter(|(_, usage)| usage.total() > 0).collect()
    }
}

/// A counter that is smaller than it was has begun anew.
fn since(last: u64, now: u64) -> u64 {
    now.checked_sub(last).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_began_anew_is_counted_from_zero() {
        assert_eq!([since(0, 5), since(5, 9), since(9, 3), since(3, 3)], [5, 4, 3, 0]);
    }
}
