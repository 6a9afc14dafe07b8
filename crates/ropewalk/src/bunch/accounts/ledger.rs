//! The gateway's end: it signs what it has counted itself, and nothing else.

use super::{Offer, Record, Refused, Signer, Statement, Totals, Verifier, Words};
use ropewalk_bunch::Time;
use ropewalk_session::PublicKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// Contributors whose account is kept. One's counts go on from the gateway's start, so none can be
/// forgotten and counted anew.
pub(super) const CONTRIBUTORS: usize = 1024;
/// A claim costs signatures and a write to the disk: one in so long is answered.
const PAUSE: Duration = Duration::from_secs(1);

/// What the gateway has counted of a contributor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Since the gateway's start.
    pub totals: Totals,
    /// Packets and bytes that came in this tunnel, up to the claim.
    pub tunnel: (u64, u64),
}

#[derive(Debug, Default)]
struct Ledger {
    head: Option<Record>,
    /// Who signs for the contributor, from its first claim on.
    contributor: Option<Verifier>,
    /// Added to what was counted since the gateway's start: what was signed before, and by others with
    /// its key.
    before: Totals,
    /// What was counted here at the last claim: no record of this gateway has more of it.
    measured: Totals,
    offered: Option<Offer>,
    claimed_at: Option<Time>,
}

/// How often what was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Records that both have signed, since this start.
    pub agreed: u64,
    /// Claims and signatures that were refused.
    pub refused: u64,
}

/// The answer, and a record that is to be kept.
pub(crate) type Answer = (Option<Words>, Option<Record>);

/// A no: why, and with `outdated` the gateway's last record.
type No = Box<(Refused, Option<Record>)>;

fn no<T>(why: Refused) -> Result<T, No> {
    Err(Box::new((why, None)))
}

/// A claim, taken apart.
struct Claim {
    key: PublicKey,
    signer: Verifier,
    carried: (u64, u64),
    last: Option<Record>,
}

/// All contributors' accounts.
#[derive(Debug)]
pub(crate) struct Ledgers {
    signer: Signer,
    all: BTreeMap<PublicKey, Ledger>,
    counts: Counts,
}

impl Ledgers {
    /// Of nobody yet.
    pub(crate) fn new(signer: Signer) -> Ledgers {
        Ledgers { signer, all: BTreeMap::new(), counts: Counts::default() }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The last record of a contributor, if its account was opened since the start.
    pub(crate) fn head(&self, key: &PublicKey) -> Option<&Record> {
        self.all.get(key).and_then(|l| l.head.as_ref())
    }

    /// What a contributor says. `kept` is asked for its last record at its first claim; `at` is the
    /// wall clock, seconds since 1970.
    pub(crate) fn hear(
        &mut self,
        (key, measured): (PublicKey, Measured),
        words: Words,
        kept: impl FnOnce() -> Option<Record>,
        (now, at): (Time, u64),
    ) -> Answer {
        match words {
            Words::Claim { signer, packets, bytes, last } => {
                let claim = Claim { key, signer, carried: (packets, bytes), last };
                self.claimed(claim, measured, kept, (now, at)).unwrap_or_else(|refused| {
                    let (why, last) = *refused;
                    self.counts.refused += 1;
                    tracing::debug!(?why, %key, "an account is not agreed upon");
                    (Some(Words::Refused { why, last }), None)
                })
            }
            Words::Agreed { record } => (None, self.agreed(key, record)),
            Words::Offer { .. } | Words::Refused { .. } => (None, None),
        }
    }

    fn claimed(
        &mut self,
        claim: Claim,
        measured: Measured,
        kept: impl FnOnce() -> Option<Record>,
        (now, at): (Time, u64),
    ) -> Result<Answer, No> {
        let Claim { key, signer, carried, last } = claim;
        let gateway = self.signer.verifier();
        let is_ours = |r: &Record| (r.statement.gateway, r.statement.key) == (gateway, key);
        let is_first = !self.all.contains_key(&key);
        if is_first {
            if self.all.len() >= CONTRIBUTORS {
                return no(Refused::Full);
            }
            let head = kept().filter(is_ours);
            let contributor = head.as_ref().map(|r| r.statement.contributor);
            let before = head.as_ref().map(|r| r.statement.totals).unwrap_or_default();
            self.all.insert(key, Ledger { head, contributor, before, ..Ledger::default() });
        }
        let Some(ledger) = self.all.get_mut(&key) else { return no(Refused::Full) };
        if ledger.claimed_at.is_some_and(|then| now < then + PAUSE) {
            return Ok((None, None));
        }
        (ledger.claimed_at, ledger.offered) = (Some(now), None);
        if *ledger.contributor.get_or_insert(signer) != signer {
            return no(Refused::Key);
        }
        let adopted = ledger.catch_up(last, |r| is_ours(r) && r.statement.contributor == signer)?;
        let agreed = ledger.head.as_ref().map(|h| h.statement.totals).unwrap_or_default();
        // Signed before this start, it has nothing of what was counted since.
        ledger.before = if is_first { agreed } else { ledger.before_of(&agreed) };
        ledger.measured = measured.totals;
        self.counts.agreed += u64::from(adopted.is_some());
        let totals = ledger.before.zip(measured.totals, u64::saturating_add);
        let head = ledger.head.as_ref().map(|r| &r.statement);
        let started = at.saturating_sub(now.since(Time::ZERO).as_secs());
        let statement = Statement {
            gateway,
            contributor: signer,
            key,
            number: head.map_or(1, |h| h.number.saturating_add(1)),
            previous: head.map(Statement::hash).unwrap_or_default(),
            from: head.map_or(started, |h| h.until),
            // A clock that went back stands still.
            until: head.map_or(at, |h| at.max(h.until)),
            totals,
        };
        let is_right = carried == measured.tunnel;
        let signature = is_right.then(|| self.signer.sign(&statement)).flatten();
        let answer = match signature {
            Some(by_gateway) => {
                let offer = Offer { statement, by_gateway };
                ledger.offered = Some(offer.clone());
                Words::Offer { offer }
            }
            None => {
                self.counts.refused += 1;
                Words::Refused { why: Refused::Numbers, last: None }
            }
        };
        Ok((Some(answer), adopted))
    }

    /// The contributor has signed. A record that was not offered last counts for nothing: it was
    /// here before, or is made up. One answer for each offer: a signature takes long to check.
    fn agreed(&mut self, key: PublicKey, record: Record) -> Option<Record> {
        let ledger = self.all.get_mut(&key)?;
        let is_it = |offer: &mut Offer| {
            (&offer.statement, &offer.by_gateway) == (&record.statement, &record.by_gateway)
        };
        if ledger.offered.take_if(is_it).is_none() || !record.is_proved() {
            self.counts.refused += 1;
            return None;
        }
        ledger.head = Some(record.clone());
        self.counts.agreed += 1;
        Some(record)
    }
}

impl Ledger {
    /// Takes the contributor's last record over where it is newer: it was signed here, and its
    /// answer was lost or this end's state is an old one. Some if it was.
    fn catch_up(
        &mut self,
        last: Option<Record>,
        is_ours: impl Fn(&Record) -> bool,
    ) -> Result<Option<Record>, No> {
        let own = self.head.as_ref().map_or(0, |h| h.statement.number);
        let outdated = || Err(Box::new((Refused::Outdated, self.head.clone())));
        let Some(last) = last else { return if own == 0 { Ok(None) } else { outdated() } };
        if !is_ours(&last) {
            return no(Refused::Key);
        }
        if last.statement.number < own {
            return outdated();
        }
        if last.statement.number == own {
            let same = self.head.as_ref().is_some_and(|h| h.statement == last.statement);
            return if same { Ok(None) } else { no(Refused::Fork) };
        }
        if !last.is_proved() {
            return no(Refused::Key);
        }
        self.head = Some(last.clone());
        Ok(Some(last))
    }

    /// What has to be added so that totals do not go back behind what was agreed upon. Of that, what
    /// was counted here came before the last claim: the rest was carried to others with this key.
    fn before_of(&self, agreed: &Totals) -> Totals {
        self.before.zip(agreed.zip(self.measured, u64::saturating_sub), u64::max)
    }
}
