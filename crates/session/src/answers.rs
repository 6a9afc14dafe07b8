//! The INITs of the last seconds, so that one sent again costs no work: it gets the same answer again.
//!
//! This is for the client whose RESPONSE was lost, and it makes most replays harmless: one INIT makes one pending
//! session, however often it arrives while the gateway remembers it.

use core::time::Duration;

use super::initiator::INIT_LIFETIME;
use super::mac::Mac;
use ropewalk_time::Time;

/// INITs remembered at most, about 160 bytes each.
const PLACES: usize = 1024;

/// Longer than a client sends an INIT again, for those that were long on their way.
const KEPT: Duration = INIT_LIFETIME.saturating_add(Duration::from_secs(5));

struct Known {
    mac1: Mac,
    expires: Time,
    /// `None` while it is worked on, and for one that gets no answer.
    answer: Option<Box<[u8]>>,
}

/// A table with one place per hash, and mac1 is the hash. Who floods can push answers out of it; the owners' next
/// INIT is then handled anew.
pub(super) struct Answers(Box<[Option<Known>]>);

impl Answers {
    pub(super) fn new() -> Answers {
        Answers((0..PLACES).map(|_| None).collect())
    }

    /// What is known of the INIT with this `mac1`: its answer, or `Some(None)` if there is none yet.
    pub(super) fn find(&self, mac1: &Mac, now: Time) -> Option<Option<&[u8]>> {
        let known = self.0[place(mac1)].as_ref()?;
        (known.mac1 == *mac1 && now < known.expires).then_some(known.answer.as_deref())
    }

    pub(super) fn put(&mut self, mac1: Mac, answer: Option<&[u8]>, now: Time) {
        let answer = answer.map(Into::into);
        self.0[place(&mac1)] = Some(Known { mac1, expires: now + KEPT, answer });
    }

    pub(super) fn forget(&mut self, mac1: &Mac) {
        self.0[place(mac1)].take_if(|known| known.mac1 == *mac1);
    }
}

fn place(mac1: &Mac) -> usize {
    usize::from(u16::from_be_bytes([mac1[0], mac1[1]])) % PLACES
}
