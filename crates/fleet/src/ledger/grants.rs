//! The change of what is granted: all of it is read, judged, and written if nobody else has
//! changed it meanwhile.

use super::{Ledger, LedgerError, TRIES, json};
use crate::copy::parse;
use crate::etcd::{Compare, KeyValue, Op, StoreError};
use crate::grant::{ClientGrants, FleetGrants, GroupExit};
use crate::record::{About, is_name};
use serde::Serialize;
use std::collections::BTreeMap;

/// Clients of one transaction: each takes up to two comparisons, and etcd takes 128.
const STEPS: usize = 50;
/// Clients that are read at once.
const NAMES: usize = 100;

/// What is granted, and since which revision each of its keys is as it is.
struct Granted {
    all: FleetGrants,
    revisions: BTreeMap<String, i64>,
}

/// A key that changes.
#[derive(Debug)]
struct Step {
    when: Vec<Compare>,
    then: Op,
}

impl Ledger {
    /// All that is granted now.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn grants(&mut self) -> Result<FleetGrants, LedgerError> {
        Ok(self.granted().await?.all)
    }

    /// Changes what is granted as `judge` says, which may be asked more than once: changes come one
    /// after the other, whoever makes them. Clients with these `names` may come in, and no others
    /// may be given their first grant. `tag` is this change's alone. Returns what `judge` had to
    /// say, and the revision at which that counts; or its refusal.
    ///
    /// # Errors
    /// A name is no client's, or the store does not answer; then a part of a change that concerns
    /// more than fifty clients may be done.
    pub async fn change_grants<T, E>(
        &mut self,
        names: &[String],
        tag: &str,
        judge: impl Fn(&FleetGrants) -> Result<(FleetGrants, T), E>,
    ) -> Result<Result<(T, i64), E>, LedgerError> {
        for _ in 0..TRIES {
            // First: what comes after it is as new, and the transaction looks at it again.
            let mark = self.get(self.keys.grants()).await?.map(|kv| kv.revision);
            let now = self.granted().await?;
            let clients = self.all_invited(names).await?;
            let (wanted, said) = match judge(&now.all) {
                Ok(judged) => judged,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let steps = self.steps(&now, &wanted, &clients);
            if let Some(revision) = self.step_by_step(mark, &steps, tag).await? {
                return Ok(Ok((said, revision)));
            }
        }
        Err(LedgerError::Contended)
    }

    async fn granted(&mut self) -> Result<Granted, StoreError> {
        let (mut all, mut revisions) = (FleetGrants::default(), BTreeMap::new());
        for prefix in [self.keys.grant(""), self.keys.group_exit("")] {
            for kv in self.all_of(prefix).await?.0 {
                match self.keys.about(&kv.key) {
                    About::Grant(name) => {
                        let grants = parse(&kv).unwrap_or_else(ClientGrants::damaged);
                        all.clients.insert(name.to_owned(), grants);
                    }
                    About::GroupExit(group) => {
                        let exit = parse(&kv).unwrap_or_else(GroupExit::damaged);
                        all.group_exits.insert(group.to_owned(), exit);
                    }
                    _ => {}
                }
                revisions.insert(kv.key, kv.revision);
            }
        }
        Ok(Granted { all, revisions })
    }

    /// The revisions of clients that may come in, all of these.
    async fn all_invited(&mut self, names: &[String]) -> Result<BTreeMap<String, i64>, LedgerError> {
        let mut all = BTreeMap::new();
        for some in names.chunks(NAMES) {
            let unknown = |name: &String| LedgerError::UnknownName(name.clone());
            if let Some(name) = some.iter().find(|name| !is_name(name)) {
                return Err(unknown(name));
            }
            let places: Vec<Op> = some.iter().map(|name| Op::Get(self.keys.client(name))).collect();
            let found = self.caller.txn(&[], &places, &[]).await?.read;
            for (place, name) in some.iter().enumerate() {
                let kv: Option<&KeyValue> = found.get(place).and_then(Option::as_ref);
                let kv = kv.filter(|kv| super::is_invited(kv)).ok_or_else(|| unknown(name))?;
                all.insert(name.clone(), kv.revision);
            }
        }
        Ok(all)
    }

    /// What is to be written to make `wanted` of what is there: what ends goes first.
    fn steps(&self, now: &Granted, wanted: &FleetGrants, clients: &BTreeMap<String, i64>) -> Vec<Step> {
        let step = |key: String, value: Option<Vec<u8>>, client: Option<(String, i64)>| {
            let mut when = Vec::new();
            match now.revisions.get(&key) {
                // A revocation takes the key: who has it may come in.
                Some(revision) => when.push(Compare::At(key.clone(), *revision)),
                None => {
                    when.push(Compare::Absent(key.clone()));
                    when.extend(client.map(|(client, revision)| Compare::At(client, revision)));
                }
            }
            let then = value.map_or_else(|| Op::Delete(key.clone()), |value| Op::put(key.clone(), value));
            Step { when, then }
        };
        let exits = changes(&now.all.group_exits, &wanted.group_exits, |_: &GroupExit| false);
        let exits = exits.into_iter().map(|(group, value)| step(self.keys.group_exit(&group), value, None));
        let grants = changes(&now.all.clients, &wanted.clients, ClientGrants::is_empty);
        let grants = grants.into_iter().map(|(name, value)| {
            let client = clients.get(&name).map(|revision| (self.keys.client(&name), *revision));
            step(self.keys.grant(&name), value, client)
        });
        let mut all: Vec<Step> = exits.chain(grants).collect();
        all.sort_by_key(|step| !matches!(step.then, Op::Delete(_)));
        all
    }

    /// Takes the steps, while nobody else changes what is granted. `None` if somebody has.
    async fn step_by_step(
        &mut self,
        mark: Option<i64>,
        steps: &[Step],
        tag: &str,
    ) -> Result<Option<i64>, StoreError> {
        let key = self.keys.grants();
        let mut at = mark.unwrap_or(0);
        for (number, some) in steps.chunks(STEPS).enumerate() {
            let own = format!("{tag} {number}");
            let same = if at == 0 { Compare::Absent(key.clone()) } else { Compare::At(key.clone(), at) };
            let when: Vec<Compare> =
                some.iter().flat_map(|step| step.when.iter().cloned()).chain([same]).collect();
            let then: Vec<Op> = some
                .iter()
                .map(|step| step.then.clone())
                .chain([Op::put(key.clone(), own.clone())])
                .collect();
            let mut txn = self.caller.txn(&when, &then, &[Op::Get(key.clone())]).await?;
            at = match txn.read.pop().flatten() {
                _ if txn.succeeded => txn.revision,
                // It was done, and the answer lost.
                Some(kv) if kv.value == own.as_bytes() => kv.revision,
                _ => return Ok(None),
            };
        }
        Ok(Some(at))
    }
}

/// What differs, with the values that are to be there: none where nothing is.
fn changes<T: PartialEq + Serialize>(
    old: &BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
    is_nothing: impl Fn(&T) -> bool,
) -> Vec<(String, Option<Vec<u8>>)> {
    let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), None));
    let other = new.iter().filter(|(name, value)| old.get(*name) != Some(*value));
    let other = other.map(|(name, value)| (name.clone(), (!is_nothing(value)).then(|| json(value))));
    // What was nothing and is nothing is no change.
    gone.chain(other.filter(|(name, value)| value.is_some() || old.contains_key(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written() {
        let caps = |down_bps| ClientGrants { down_bps, ..ClientGrants::default() };
        let old: BTreeMap<String, ClientGrants> =
            [("a", caps(Some(1))), ("b", caps(Some(2))), ("c", caps(Some(3))), ("d", caps(Some(4)))]
                .map(|(name, grants)| (name.into(), grants))
                .into();
        let mut new = old.clone();
        new.remove("a");
        new.insert("b".into(), caps(None));
        new.insert("c".into(), caps(Some(5)));
        new.insert("e".into(), caps(None));
        let found: Vec<(String, bool)> = changes(&old, &new, ClientGrants::is_empty)
            .into_iter()
            .map(|(name, value)| (name, value.is_some()))
            .collect();
        let expected = [("a", false), ("b", false), ("c", true)].map(|(name, is)| (name.to_owned(), is));
        assert_eq!(found, expected);
        assert!(changes(&old, &old, ClientGrants::is_empty).is_empty());
    }
}
