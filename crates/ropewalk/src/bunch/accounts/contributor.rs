//! The contributor's end: it claims what it carried, and signs no less.

use super::{Offer, Record, Refused, Signer, Verifier, Words};
use ropewalk_bunch::Time;
use ropewalk_session::PublicKey;
use std::time::Duration;

/// Packets and bytes.
type Carried = (u64, u64);

/// How it stands with the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Records that both have signed, since this start.
    pub agreed: u64,
    /// Claims that the gateway has refused, and offers that were refused here: they said less than
    /// was carried.
    pub refused: u64,
    /// Claims that were not answered.
    pub unanswered: u64,
}

/// An access point's account with its gateway.
#[derive(Debug)]
pub(crate) struct Contributor {
    signer: Signer,
    /// Its key in the gateway's registry.
    key: PublicKey,
    every: Duration,
    head: Option<Record>,
    /// Who signs for the gateway, since its first offer.
    gateway: Option<Verifier>,
    /// What was carried before this tunnel.
    before: Carried,
    /// Of this tunnel, what the last record has.
    agreed: Carried,
    /// The claim that waits for its answer.
    claimed: Option<Carried>,
    next_at: Time,
    counts: Counts,
}

impl Contributor {
    /// With the last record that is kept, if there is one; it claims every so often.
    pub(crate) fn new(
        signer: Signer,
        key: PublicKey,
        head: Option<Record>,
        every: Duration,
        now: Time,
    ) -> Contributor {
        // A record that is not of this key came with another's state directory.
        let head = head.filter(|r| (r.statement.key, r.statement.contributor) == (key, signer.verifier()));
        let gateway = head.as_ref().map(|r| r.statement.gateway);
        Contributor {
            signer,
            key,
            every,
            head,
            gateway,
            before: (0, 0),
            agreed: (0, 0),
            claimed: None,
            next_at: now + every,
            counts: Counts::default(),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn head(&self) -> Option<&Record> {
        self.head.as_ref()
    }

    /// When it wants to claim.
    pub(crate) fn due(&self) -> Time {
        self.next_at
    }

    /// A tunnel begins; so much was carried before. A claim that waits is none any more.
    pub(crate) fn on_tunnel(&mut self, carried: Carried) {
        (self.before, self.agreed, self.claimed) = (carried, (0, 0), None);
    }

    /// A claim, if it is time and there is something to claim.
    pub(crate) fn claim(&mut self, carried: Carried, now: Time) -> Option<Words> {
        if now < self.next_at {
            return None;
        }
        self.next_at = now + self.every;
        if self.claimed.take().is_some() {
            self.counts.unanswered += 1;
            if self.counts.unanswered == 1 {
                tracing::warn!("the gateway does not countersign what was carried (bunch accounts)");
            }
        }
        let (packets, bytes) = (carried.0 - self.before.0, carried.1 - self.before.1);
        if (packets, bytes) == self.agreed {
            return None;
        }
        self.claimed = Some((packets, bytes));
        Some(Words::Claim { signer: self.signer.verifier(), packets, bytes, last: self.head.clone() })
    }

    /// What the gateway says; the answer, and a record that is to be kept.
    pub(crate) fn hear(&mut self, words: Words) -> (Option<Words>, Option<Record>) {
        match words {
            Words::Offer { offer } => match self.check(&offer) {
                Ok(claimed) => {
                    let Some(record) = offer.agreed(&self.signer) else { return (None, None) };
                    self.gateway = Some(record.statement.gateway);
                    (self.agreed, self.claimed) = (claimed, None);
                    self.head = Some(record.clone());
                    self.counts.agreed += 1;
                    (Some(Words::Agreed { record: record.clone() }), Some(record))
                }
                Err(why) => {
                    self.claimed = None;
                    self.refuse(why);
                    (None, None)
                }
            },
            Words::Refused { why, last } => {
                // Without a claim there is nothing to refuse.
                if self.claimed.take().is_none() {
                    return (None, None);
                }
                let newer = last.filter(|r| why == Refused::Outdated && self.is_newer(r));
                match newer {
                    // It is ours: this end had lost it, with a crash or an old backup.
                    Some(record) => {
                        self.gateway = Some(record.statement.gateway);
                        self.head = Some(record.clone());
                        (None, Some(record))
                    }
                    None => {
                        self.refuse(match why {
                            Refused::Numbers => "the gateway has counted something else",
                            Refused::Fork | Refused::Outdated => "the gateway has other records",
                            Refused::Key => "the gateway knows this access point by another signing key",
                            Refused::Full => "the gateway keeps no more accounts",
                        });
                        (None, None)
                    }
                }
            }
            Words::Claim { .. } | Words::Agreed { .. } => (None, None),
        }
    }

    fn refuse(&mut self, why: &str) {
        self.counts.refused += 1;
        if self.counts.refused == 1 {
            tracing::warn!("what was carried is not agreed upon: {why} (bunch accounts)");
        }
    }

    fn is_own(&self, gateway: Verifier, contributor: Verifier, key: PublicKey) -> bool {
        let known = self.gateway.is_none_or(|g| g == gateway);
        known && (contributor, key) == (self.signer.verifier(), self.key)
    }

    fn is_newer(&self, record: &Record) -> bool {
        let s = &record.statement;
        self.is_own(s.gateway, s.contributor, s.key)
            && self.head.as_ref().is_none_or(|head| s.number > head.statement.number)
            && record.is_proved()
    }

    /// What the claim was, if the offer has all of it.
    fn check(&self, offer: &Offer) -> Result<(u64, u64), &'static str> {
        let s = &offer.statement;
        let claimed = self.claimed.ok_or("nothing was claimed")?;
        if !self.is_own(s.gateway, s.contributor, s.key) || !offer.is_signed() {
            return Err("the gateway signs with another key, or for somebody else");
        }
        let head = self.head.as_ref().map(|r| &r.statement);
        if !s.follows(head) {
            return Err("the statement does not follow the last one");
        }
        let before = head.map(|h| h.totals).unwrap_or_default();
        let packets = s.totals.carried_packets - before.carried_packets;
        let bytes = s.totals.carried_bytes - before.carried_bytes;
        if packets < claimed.0 - self.agreed.0 || bytes < claimed.1 - self.agreed.1 {
            return Err("the gateway denies a part of what was carried");
        }
        Ok(claimed)
    }
}
