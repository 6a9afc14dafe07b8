//! What the fleet grants, as one of its gateways sees it: all of it, and whom it serves itself.

use super::Member;
use crate::copy::Copy;
use crate::grant::FleetGrants;
use crate::ledger::LedgerError;
use crate::record::ClientRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Clients that are looked at while the data loop may not look.
const AT_ONCE: usize = 64;
/// How long a change waits for the watch to bring it here, too.
const SEEN: Duration = Duration::from_secs(2);
/// Exits of one gateway that are said to lead nowhere.
const LACKS: usize = 64;

/// Tells what is granted, and to whom, from what was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantsVersion {
    copy: u64,
    moves: u64,
}

/// What is granted to clients that may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantsHere {
    /// When it was so.
    pub version: GrantsVersion,
    /// All of it.
    pub grants: FleetGrants,
    /// Addresses inside of the clients that are granted something.
    pub inside: BTreeMap<String, Vec<IpAddr>>,
    /// Those of them that this gateway serves.
    pub here: BTreeSet<String>,
}

impl Member {
    /// What the fleet grants, as far as is known here; `None` if that is as at the version `known`.
    /// Not for the data loop.
    pub fn grants(&self, known: Option<GrantsVersion>) -> Option<GrantsHere> {
        let (version, group_exits) = {
            let state = self.shared.state();
            let version = GrantsVersion { copy: state.copy.version, moves: state.moves };
            if known == Some(version) {
                return None;
            }
            let exits = state.copy.group_exits();
            (version, exits.map(|(group, exit)| (group.to_owned(), exit.clone())).collect())
        };
        let grants = FleetGrants { clients: BTreeMap::new(), group_exits };
        let mut all = GrantsHere { version, grants, inside: BTreeMap::new(), here: BTreeSet::new() };
        let mut last: Option<String> = None;
        // What changes meanwhile has another version, and is read the next time.
        loop {
            let state = self.shared.state();
            let mut name = None;
            for (client, grants, record) in state.copy.granted_after(last.as_deref()).take(AT_ONCE) {
                name = Some(client.to_owned());
                let Some(record) = record else { continue };
                all.grants.clients.insert(client.to_owned(), grants.clone());
                all.inside.insert(client.to_owned(), record.addresses().collect());
                if state.served.get(client).is_some() {
                    all.here.insert(client.to_owned());
                }
            }
            if name.is_none() {
                return Some(all);
            }
            last = name;
        }
    }

    /// Looks at who may come in, by name after this one, some at a time, until `look` has seen enough.
    /// Not for the data loop.
    pub fn each_client(
        &self,
        after: Option<&str>,
        mut look: impl FnMut(&Copy, &str, &ClientRecord) -> ControlFlow<()>,
    ) {
        let mut last = after.map(str::to_owned);
        loop {
            let state = self.shared.state();
            let mut name = None;
            for (client, record) in state.copy.clients_after(last.as_deref()).take(AT_ONCE) {
                if !record.revoked && look(&state.copy, client, record).is_break() {
                    return;
                }
                name = Some(client.to_owned());
            }
            if name.is_none() {
                return;
            }
            last = name;
        }
    }

    /// The same, with their addresses inside alone.
    pub fn inside_of_all(&self) -> Vec<(String, Vec<IpAddr>)> {
        let mut all = Vec::new();
        self.each_client(None, |_, client, record| {
            all.push((client.to_owned(), record.addresses().collect()));
            ControlFlow::Continue(())
        });
        all
    }

    /// The clients that are served here, with their addresses inside. Not for the data loop.
    pub fn inside_here(&self) -> Vec<(String, Vec<IpAddr>)> {
        let (mut all, mut from) = (Vec::new(), None::<String>);
        loop {
            let state = self.shared.state();
            let before = all.len();
            for name in state.served.after(from.as_deref()).take(AT_ONCE) {
                let inside = state.served.get(name).map_or_else(Vec::new, |mine| mine.inside.clone());
                all.push((name.to_owned(), inside));
            }
            if all.len() == before {
                return all;
            }
            from = all.last().map(|(name, _)| name.clone());
        }
    }

    /// Changes what is granted, and returns when the store has it and, if the watch works, this
    /// gateway knows. Not for the data loop.
    ///
    /// # Errors
    /// See [`crate::Ledger::change_grants`].
    pub fn change_grants<T: Send + 'static, E: Send + 'static>(
        &self,
        names: Vec<String>,
        tag: String,
        judge: impl Fn(&FleetGrants) -> Result<(FleetGrants, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, LedgerError> {
        let outcome =
            self.order(|mut ledger| async move { ledger.change_grants(&names, &tag, judge).await })?;
        if let Ok((_, revision)) = &outcome {
            let until = Instant::now() + SEEN;
            while self.shared.state().copy.revision < *revision && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(outcome.map(|(said, _)| said))
    }

    /// By these exits nothing leaves here: tells the fleet, for its status. Not for the data loop.
    pub fn lacks(&self, mut exits: Vec<String>) {
        exits.truncate(LACKS);
        self.shared.state().lacks = exits;
        self.shared.record.notify_one();
    }
}

/// Exits that lead nowhere at some gateways, in sentences.
pub(super) fn lacking(copy: &Copy) -> Vec<String> {
    let mut at = BTreeMap::<&str, Vec<&str>>::new();
    for (gateway, record) in copy.gateways() {
        record.lacks.iter().take(LACKS).for_each(|exit| at.entry(exit).or_default().push(gateway));
    }
    let words = |(exit, at): (&str, Vec<&str>)| {
        format!(
            "exit {exit} leads nowhere at {}: clients with this exit do not reach other networks while they are served there",
            at.join(", ")
        )
    };
    at.into_iter().take(LACKS).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::Change;
    use crate::etcd::KeyValue;
    use crate::record::Keys;

    fn apply(copy: &mut Copy, key: &str, value: &str, revision: i64, gone: bool) {
        let kv = KeyValue { key: format!("/x/{key}"), value: value.into(), revision, lease: 0 };
        copy.apply(Change::read(&Keys("/x/".into()), &kv, gone));
    }

    fn client(revoked: bool) -> String {
        let (invite, fingerprint) =
            ("AQEBAQEBAQEBAQEBAQEBAQ==", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=");
        format!(r#"{{"invite":"{invite}","fingerprint":"{fingerprint}","revoked":{revoked}}}"#)
    }

    #[test]
    fn grants_are_of_clients_that_may_come_in_and_each_change_has_a_version() {
        let mut copy = Copy::default();
        let granted = |copy: &Copy| {
            let known = copy.granted_after(None).filter(|(.., client)| client.is_some());
            known.map(|(name, ..)| name.to_owned()).collect::<Vec<_>>()
        };
        apply(&mut copy, "grant/alice", r#"{"down_bps":1000000}"#, 2, false);
        assert!(granted(&copy).is_empty(), "nobody has that name");
        assert_eq!(copy.granted_after(None).count(), 1, "one look has a bound all the same");
        let mut last = copy.version;
        let mut is_new = |copy: &Copy| std::mem::replace(&mut last, copy.version) != copy.version;
        apply(&mut copy, "client/alice", &client(false), 3, false);
        assert!(granted(&copy) == ["alice"] && is_new(&copy));
        apply(&mut copy, "usage/alice/g", r#"{"from_client":1,"to_client":2}"#, 4, false);
        assert!(!is_new(&copy), "what is used is no grant");
        let other = client(false).replace("AQEB", "AgIC");
        apply(&mut copy, "client/bob", &other, 4, false);
        assert!(copy.client("bob").is_some() && !is_new(&copy), "nothing is granted to him");
        apply(&mut copy, "grant/alice", "{", 5, false);
        assert!(is_new(&copy) && copy.odd().count() == 1);
        let exit = |copy: &Copy| copy.granted_after(None).find_map(|(_, grants, _)| grants.exit.clone());
        assert_eq!(exit(&copy).as_deref(), Some("damaged-record"), "she leaves by nothing");
        apply(&mut copy, "exit/home", "{", 5, false);
        assert!(copy.group_exits().all(|(_, exit)| exit.interface == "damaged-record"));
        assert!(is_new(&copy) && copy.group_exits().count() == 1 && copy.odd().count() == 2);
        apply(&mut copy, "grant/alice", r#"{"exit":"wan2"}"#, 6, false);
        apply(&mut copy, "exit/home", r#"{"interface":"wan3"}"#, 7, false);
        assert!(granted(&copy) == ["alice"] && is_new(&copy) && copy.odd().count() == 0);
        assert_eq!(exit(&copy).as_deref(), Some("wan2"));
        assert_eq!(copy.granted_after(Some("alice")).count(), 0);
        apply(&mut copy, "client/alice", &client(true), 8, false);
        assert!(granted(&copy).is_empty() && is_new(&copy), "though the record were left behind");
        apply(&mut copy, "exit/home", "", 9, true);
        assert_eq!(copy.group_exits().count(), 0);
    }

    #[test]
    fn gateways_without_an_exit_are_named() {
        let mut copy = Copy::default();
        let record = |lacks: &str| format!(r#"{{"instance":"x","endpoints":[],"lacks":[{lacks}]}}"#);
        apply(&mut copy, "gateway/g1", &record(r#""wan2","wan3""#), 2, false);
        apply(&mut copy, "gateway/g2", &record(r#""wan2""#), 3, false);
        apply(&mut copy, "gateway/g3", &record(""), 4, false);
        let words = lacking(&copy);
        assert!(words.len() == 2 && words[0].starts_with("exit wan2 leads nowhere at g1, g2: "), "{words:?}");
        assert!(words[1].starts_with("exit wan3 leads nowhere at g1: "), "{words:?}");
    }
}
