//! What a gateway answered lately, so that an INIT sent again gets the same answer again at no cost.
//!
//! This is for the client whose RESPONSE was lost, and it makes most replays harmless: one INIT makes one pending
//! session, however often it arrives while the gateway remembers it.

use core::time::Duration;

use super::initiator::INIT_LIFETIME;
use super::mac::Mac;
use crate::time::Time;

/// Answers kept at most, about 160 bytes each.
const PLACES: usize = 1024;

/// Longer than a client sends an INIT again, for those that were long on their way.
const KEPT: Duration = INIT_LIFETIME.saturating_add(Duration::from_secs(5));

struct Answer {
    mac1: Mac,
    expires: Time,
    datagram: Box<[u8]>,
}

/// A table with one place per hash, and mac1 is the hash. Who floods can push answers out of it; the owners' next
/// INIT is then handled anew.
pub(super) struct Answers(Box<[Option<Answer>]>);

impl Answers {
    pub(super) fn new() -> Answers {
        Answers((0..PLACES).map(|_| None).collect())
    }

    pub(super) fn find(&self, mac1: &Mac, now: Time) -> Option<&[u8]> {
        let answer = self.0[place(mac1)].as_ref()?;
        (answer.mac1 == *mac1 && now < answer.expires).then_some(&*answer.datagram)
    }

    pub(super) fn remember(&mut self, mac1: Mac, datagram: &[u8], now: Time) {
        self.0[place(&mac1)] = Some(Answer { mac1, expires: now + KEPT, datagram: datagram.into() });
    }
}

fn place(mac1: &Mac) -> usize {
    usize::from(u16::from_be_bytes([mac1[0], mac1[1]])) % PLACES
}
