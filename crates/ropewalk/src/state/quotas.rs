//! What clients of a gateway that is alone may use, and what they have used: two files, for one
//! changes when people say so and the other all day.
//!
//! Who has no quota is not counted, so a gateway without quotas writes nothing.

use super::StateDir;
use super::clients::KnownClient;
use crate::exit::{Code, failure};
use crate::report::quota::QuotaStatus;
use jiff::civil::Date;
use ropewalk_fleet::{Account, Metered, Quota, Usage, today};
use std::collections::{BTreeMap, BTreeSet};

/// Quotas, by clients.
pub(crate) const QUOTAS: &str = "quotas.json";
/// What was used, by clients.
pub(crate) const USED: &str = "used.json";

/// Both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    quotas: BTreeMap<String, Quota>,
    used: BTreeMap<String, Metered>,
}

impl Quotas {
    /// What the files in `dir` say.
    pub(crate) fn read(dir: &StateDir) -> anyhow::Result<Quotas> {
        let quotas = dir.read_json(QUOTAS)?.unwrap_or_default();
        Ok(Quotas { quotas, used: dir.read_json(USED)?.unwrap_or_default() })
    }

    /// Somebody has a quota.
    pub(crate) fn are_some(&self) -> bool {
        !self.quotas.is_empty()
    }

    /// The file of quotas.
    pub(crate) fn quotas(&self) -> &BTreeMap<String, Quota> {
        &self.quotas
    }

    /// The file of what was used; without clients that nobody knows by name any more.
    pub(crate) fn used(&mut self, known: &BTreeSet<String>) -> &BTreeMap<String, Metered> {
        self.used.retain(|name, _| known.contains(name));
        &self.used
    }

    /// Gives a client a quota in place of the one that it has, which comes back, or takes that.
    pub(crate) fn set(
        &mut self,
        client: &str,
        quota: Option<Quota>,
        clients: &[KnownClient],
    ) -> anyhow::Result<Option<Quota>> {
        if !clients.iter().any(|c| c.name == client) {
            let words = format!("there is no client named `{client}`; `ropewalk clients` lists them");
            return Err(failure(Code::Usage, words));
        }
        match quota {
            Some(quota) => Ok(self.quotas.insert(client.into(), quota)),
            None => match self.quotas.remove(client) {
                Some(old) => Ok(Some(old)),
                None => Err(failure(Code::Usage, format!("{client} has no quota"))),
            },
        }
    }

    /// Puts back what [`Quotas::set`] has changed.
    pub(crate) fn put_back(&mut self, client: &str, old: Option<Quota>) {
        match old {
            Some(old) => drop(self.quotas.insert(client.into(), old)),
            None => drop(self.quotas.remove(client)),
        }
    }

    /// Takes the quota of a client that is revoked, or whose name is another's now. What was used
    /// by that name stays. Says whether there was one.
    pub(crate) fn forget(&mut self, client: &str) -> bool {
        self.quotas.remove(client).is_some()
    }

    /// A client has used so much more; returns the bytes that count.
    pub(crate) fn count(&mut self, client: &str, more: Usage, today: Date) -> u64 {
        if !self.quotas.contains_key(client) {
            return 0;
        }
        match self.used.get_mut(client) {
            Some(metered) => metered.add(more, today),
            None => self.used.entry(client.into()).or_default().add(more, today),
        }
        more.total()
    }

    /// How a client stands, if it has a quota.
    pub(crate) fn account(&self, client: &KnownClient, today: Date) -> Option<Account> {
        let quota = *self.quotas.get(&client.name)?;
        let used = self.used.get(&client.name).map_or(0, |metered| metered.spent(quota.per, today));
        Some(Account {
            client: client.name.clone(),
            inside: client.inside.clone(),
            quota,
            used,
            since: quota.per.start(today),
        })
    }

    /// Tells of those among `clients` that have a quota how they stand.
    pub(crate) fn tell(&self, clients: &mut [KnownClient]) {
        if self.are_some() {
            let today = today();
            clients.iter_mut().for_each(|c| {
                c.quota = self.account(c, today).as_ref().map(QuotaStatus::new);
            });
        }
    }
}

/// Takes a client's quota from the files of a gateway that does not run.
pub(crate) fn forget_in(dir: &StateDir, client: &str) -> anyhow::Result<()> {
    let mut quotas = Quotas::read(dir)?;
    if quotas.forget(client) { dir.write_json(QUOTAS, quotas.quotas()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use jiff::civil::date;
    use ropewalk_fleet::Period;

    const QUOTA: Quota = Quota { bytes: 100, per: Period::Month, then_bps: None };

    fn clients() -> Vec<KnownClient> {
        let client = |name: &str| KnownClient { name: name.into(), came: true, ..KnownClient::default() };
        vec![client("alice"), client("bob")]
    }

    fn use_of(bytes: u64) -> Usage {
        Usage { from_client: bytes, to_client: 0 }
    }

    #[test]
    fn a_quota_is_used_up_outlasts_a_restart_and_ends_with_the_month() {
        let (scratch, clients, today) = (Scratch::new(), clients(), date(2026, 11, 25));
        let mut quotas = Quotas::default();
        assert_eq!(quotas.count("alice", use_of(70), today), 0, "who has no quota is not counted");
        quotas.set("alice", Some(QUOTA), &clients).unwrap();
        let over = |q: &Quotas, today| q.account(&clients[0], today).unwrap().is_over();
        assert_eq!(quotas.count("alice", use_of(99), today), 99);
        assert_eq!(quotas.count("bob", use_of(99), today), 0);
        assert!(!over(&quotas, today));
        quotas.count("alice", use_of(1), today);
        let known = BTreeSet::from(["alice".to_owned()]);
        scratch.0.write_json(QUOTAS, quotas.quotas()).unwrap();
        scratch.0.write_json(USED, quotas.used(&known)).unwrap();
        let mut quotas = Quotas::read(&scratch.0).unwrap();
        assert!(over(&quotas, today) && !over(&quotas, date(2026, 12, 1)), "a new month lifts it");
        assert!(quotas.account(&clients[1], today).is_none());
        // Raised, it goes on from what was used.
        let old = quotas.set("alice", Some(Quota { bytes: 150, ..QUOTA }), &clients).unwrap();
        assert!(!over(&quotas, today) && old == Some(QUOTA));
        quotas.put_back("alice", old);
        assert!(over(&quotas, today), "as when the disk was full");
    }

    #[test]
    fn a_quota_ends_with_its_client_and_what_was_used_with_the_name() {
        let (clients, today) = (clients(), date(2026, 11, 25));
        let mut quotas = Quotas::default();
        assert!(quotas.set("eve", Some(QUOTA), &clients).is_err(), "nobody is called so");
        assert!(quotas.set("alice", None, &clients).is_err(), "there is none");
        quotas.set("alice", Some(QUOTA), &clients).unwrap();
        quotas.count("alice", use_of(100), today);
        assert!(quotas.forget("alice") && !quotas.forget("alice") && !quotas.are_some());
        quotas.set("alice", Some(QUOTA), &clients).unwrap();
        assert!(quotas.account(&clients[0], today).unwrap().is_over(), "her name's use is not forgotten");
        assert!(quotas.used(&BTreeSet::new()).is_empty(), "but ends with the registry's memory of it");
    }

    #[test]
    fn files_of_a_gateway_that_does_not_run_are_changed() {
        let scratch = Scratch::new();
        let mut quotas = Quotas::default();
        quotas.set("alice", Some(QUOTA), &clients()).unwrap();
        scratch.0.write_json(QUOTAS, quotas.quotas()).unwrap();
        forget_in(&scratch.0, "bob").unwrap();
        assert!(Quotas::read(&scratch.0).unwrap().are_some());
        forget_in(&scratch.0, "alice").unwrap();
        assert!(!Quotas::read(&scratch.0).unwrap().are_some());
    }
}
