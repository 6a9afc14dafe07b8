//! What a gateway knows of the store: enough to admit whoever is known already, without asking.

use crate::etcd::KeyValue;
use crate::grant::{ClientGrants, GroupExit};
use crate::pool::Pool;
use crate::quota::{Account, Metered, Quota};
use crate::record::{About, ClientRecord, GatewayRecord, Keys, Serving, Usage};
use jiff::civil::Date;
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal, StaticKey};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Bound;

/// Something of the store, and the revision at which it was written.
#[derive(Clone, Debug)]
struct Held<T> {
    what: T,
    revision: i64,
}

/// The copy.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    /// The fleet's public key, as far as the store has a key; and since when.
    key: (Option<PublicKey>, i64),
    clients: BTreeMap<String, Held<ClientRecord>>,
    by_key: BTreeMap<PublicKey, String>,
    by_invite: BTreeMap<[u8; 16], String>,
    taken: BTreeMap<IpAddr, String>,
    gateways: BTreeMap<String, Held<GatewayRecord>>,
    serving: BTreeMap<String, Held<Serving>>,
    used: BTreeMap<(String, String), Held<Metered>>,
    quotas: BTreeMap<String, Held<Quota>>,
    grants: BTreeMap<String, Held<ClientGrants>>,
    group_exits: BTreeMap<String, Held<GroupExit>>,
    /// Goes up with each change of clients, or of what they are granted.
    pub(crate) version: u64,
    /// Keys that nobody can read, and since when: some of them.
    odd: BTreeMap<String, i64>,
    /// The store's revision up to which it is true.
    pub(crate) revision: i64,
}

/// What the copy says of a device that asks to come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is known, with what it has.
    Known {
        /// What it is called.
        name: String,
        /// Its addresses inside.
        ipv4: Ipv4Addr,
        /// The same for IPv6.
        ipv6: Option<Ipv6Addr>,
    },
    /// The store has to be asked.
    Ask,
    /// It was revoked, and comes by no other invite.
    Refused(Refusal),
}

/// A record of usage that nobody needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needless {
    /// The client and the gateway.
    pub whose: (String, String),
    /// Since when it is as it is.
    pub revision: i64,
    /// Since when the client's own record is, if there is one.
    pub record: Option<i64>,
}

/// Keys that are remembered for being odd.
const ODD: usize = 64;

/// One key as it is in the store now, read before anybody is made to wait.
#[derive(Debug)]
pub(crate) struct Change {
    key: String,
    revision: i64,
    what: What,
}

/// What it is about; `None` where it is gone or cannot be read.
#[derive(Debug)]
enum What {
    Key(Option<PublicKey>),
    Client(String, Option<ClientRecord>),
    Gateway(String, Option<GatewayRecord>),
    Serving(String, Option<Serving>),
    Usage((String, String), Option<Metered>),
    Quota(String, Option<Quota>),
    Grant(String, Option<ClientGrants>),
    GroupExit(String, Option<GroupExit>),
    Odd,
    Other,
}

impl Change {
    /// Reads a key that was written, or is `gone`.
    pub(crate) fn read(keys: &Keys, kv: &KeyValue, gone: bool) -> (Change, bool) {
        fn value<T: DeserializeOwned>(kv: &KeyValue, gone: bool) -> Option<T> {
            (!gone).then(|| parse::<T>(kv)).flatten()
        }
        // Who may have an exit does not leave by another for a record that is damaged.
        let mut is_damaged = false;
        let what = match keys.about(&kv.key) {
            About::Key => What::Key(fleet_key(kv).filter(|_| !gone)),
            About::Client(name) => What::Client(name.into(), value(kv, gone)),
            About::Gateway(name) => What::Gateway(name.into(), value(kv, gone)),
            About::Serving(name) => What::Serving(name.into(), value(kv, gone)),
            About::Usage(client, gateway) => What::Usage((client.into(), gateway.into()), value(kv, gone)),
            About::Quota(name) => What::Quota(name.into(), value(kv, gone)),
            About::Grant(name) => {
                let read = value(kv, gone);
                is_damaged = read.is_none() && !gone;
                What::Grant(name.into(), read.or_else(|| is_damaged.then(ClientGrants::damaged)))
            }
            About::GroupExit(group) => {
                let read = value(kv, gone);
                is_damaged = read.is_none() && !gone;
                What::GroupExit(group.into(), read.or_else(|| is_damaged.then(GroupExit::damaged)))
            }
            About::Odd => What::Odd,
            About::Other => What::Other,
        };
        let is_odd = is_damaged
            || !gone
                && matches!(
                    what,
                    What::Key(None)
                        | What::Client(_, None)
                        | What::Gateway(_, None)
                        | What::Serving(_, None)
                        | What::Usage(_, None)
                        | What::Quota(_, None)
                        | What::Odd
                );
        (Change { key: kv.key.clone(), revision: kv.revision, what }, is_odd)
    }
}

/// What a change means for sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// This key has no client any more.
    Out(PublicKey),
    /// Another gateway may serve the client now.
    Served {
        client: String,
        by: Option<(String, i64)>,
    },
}

impl Copy {
    /// Everything as it was at `revision`.
    pub(crate) fn of(keys: &Keys, all: &[KeyValue], revision: i64) -> Copy {
        let mut copy = Copy { revision, ..Copy::default() };
        all.iter().for_each(|kv| drop(copy.apply(Change::read(keys, kv, false))));
        copy
    }

    /// Takes over what an older copy knows that was written after this one was read.
    pub(crate) fn carry_newer(&mut self, old: &Copy) {
        let newer: Vec<_> = old.clients.iter().filter(|(_, held)| held.revision > self.revision).collect();
        newer.into_iter().for_each(|(name, held)| {
            self.put_client(name, Some(held.what.clone()), held.revision);
        });
    }

    /// The public half of the key that the store has for the fleet's.
    pub(crate) fn key(&self) -> Option<&PublicKey> {
        self.key.0.as_ref()
    }

    /// Devices that may come in.
    pub(crate) fn active(&self) -> impl Iterator<Item = &PublicKey> {
        self.clients.values().filter(|held| !held.what.revoked).filter_map(|held| held.what.key.as_ref())
    }

    /// Whether this device may come in, by what is known.
    pub(crate) fn is_active(&self, key: &PublicKey) -> bool {
        let client = self.by_key.get(key).and_then(|name| self.client(name));
        client.is_some_and(|c| !c.revoked && c.key.as_ref() == Some(key))
    }

    /// Whether somebody shows an invite that is known, or a key that is: an outsider can have
    /// neither.
    pub(crate) fn is_known(&self, key: &PublicKey, (invite, secret): (InviteId, &InviteSecret)) -> bool {
        let client = self.by_invite.get(&invite.0).and_then(|name| self.client(name));
        self.is_active(key) || client.is_some_and(|c| secret.matches(&c.fingerprint))
    }

    /// Keys of the store that cannot be read, and are skipped.
    pub fn odd(&self) -> impl Iterator<Item = &str> {
        self.odd.keys().map(String::as_str)
    }

    /// May this device come in? `hello` is its invite with the secret.
    pub fn decide(&self, pool: &Pool, key: &PublicKey, hello: (InviteId, &InviteSecret)) -> Decision {
        let of_key = self.by_key.get(key).and_then(|name| Some((name, &self.clients.get(name)?.what)));
        if let Some((name, client)) = of_key.filter(|(_, c)| !c.revoked) {
            return match client.ipv4.filter(|a| pool.holds_v4(*a) && pool.holds_v6(client.ipv6)) {
                Some(ipv4) => Decision::Known { name: name.clone(), ipv4, ipv6: client.ipv6 },
                // The fleet's network is another than when it came.
                None => Decision::Ask,
            };
        }
        let (invite, secret) = hello;
        let by_invite = self.by_invite.get(&invite.0).and_then(|name| self.clients.get(name));
        match by_invite.map(|held| &held.what).filter(|c| secret.matches(&c.fingerprint)) {
            Some(c) if c.revoked => Decision::Refused(Refusal::Revoked),
            // A claim of another gateway's, or a new invite, may be on its way here: only the store
            // says no.
            _ => Decision::Ask,
        }
    }

    /// Addresses that clients have, sorted.
    pub fn taken(&self) -> (Vec<Ipv4Addr>, Vec<Ipv6Addr>) {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for address in self.taken.keys() {
            match address {
                IpAddr::V4(a) => v4.push(*a),
                IpAddr::V6(a) => v6.push(*a),
            }
        }
        (v4, v6)
    }

    /// What the client with this key is called.
    pub fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.by_key.get(key).map(String::as_str)
    }

    /// A client.
    pub fn client(&self, name: &str) -> Option<&ClientRecord> {
        self.clients.get(name).map(|held| &held.what)
    }

    /// All clients, by name.
    pub fn clients(&self) -> impl Iterator<Item = (&str, &ClientRecord)> {
        self.clients.iter().map(|(name, held)| (name.as_str(), &held.what))
    }

    /// The gateways that live, by name.
    pub fn gateways(&self) -> impl Iterator<Item = (&str, &GatewayRecord)> {
        self.gateways.iter().map(|(name, held)| (name.as_str(), &held.what))
    }

    /// Which gateway serves a client.
    pub fn serving(&self, client: &str) -> Option<&Serving> {
        self.serving.get(client).map(|held| &held.what)
    }

    /// The same, and since which revision.
    pub(crate) fn server_of(&self, client: &str) -> Option<(&str, i64)> {
        self.serving.get(client).map(|held| (held.what.gateway.as_str(), held.revision))
    }

    /// How many clients each gateway serves.
    pub(crate) fn served(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.serving.values().for_each(|held| *counts.entry(held.what.gateway.as_str()).or_default() += 1);
        counts
    }

    /// What a client has used at each gateway.
    fn metered<'a>(&'a self, client: &'a str) -> impl Iterator<Item = (&'a str, &'a Metered)> {
        let from = (client.to_owned(), String::new());
        let of_client = self.used.range(from..).take_while(move |((c, _), _)| c == client);
        of_client.map(|((_, gateway), held)| (gateway.as_str(), &held.what))
    }

    /// What a client has used, at one gateway or at all.
    pub fn used(&self, client: &str, gateway: Option<&str>) -> Usage {
        let mut sum = Usage::default();
        let these = self.metered(client).filter(|(g, _)| gateway.is_none_or(|only| only == *g));
        these.for_each(|(_, metered)| sum.add(metered.total));
        sum
    }

    /// What was used, the first by client and gateway after this one. On the day `today` nobody
    /// needs a record of a client that may not come in, at `own` or a gateway that does not live.
    pub(crate) fn used_after<'a>(
        &'a self,
        last: Option<&'a (String, String)>,
        own: &'a str,
        today: Date,
    ) -> impl Iterator<Item = (&'a (String, String), Option<Needless>)> {
        let from = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        self.used.range::<(String, String), _>(from).map(move |(whose, held)| {
            let client = self.clients.get(&whose.0);
            let is_over = client.is_none_or(|c| c.what.revoked) && held.what.is_long_over(today);
            let is_ours = whose.1 == own || !self.gateways.contains_key(&whose.1);
            let record = client.map(|held| held.revision);
            let is = is_over && is_ours;
            (whose, is.then(|| Needless { whose: whose.clone(), revision: held.revision, record }))
        })
    }

    /// The record of a client at one gateway.
    pub(crate) fn metered_at(&self, client: &str, gateway: &str) -> Metered {
        self.metered(client).find(|(g, _)| *g == gateway).map(|(_, m)| *m).unwrap_or_default()
    }

    /// What was used, by client and gateway.
    pub(crate) fn usage(&self) -> impl Iterator<Item = (&str, &str, Usage)> {
        self.used.iter().map(|((client, gateway), held)| (client.as_str(), gateway.as_str(), held.what.total))
    }

    /// How a client stands on the day `today`, if it has a quota. What was used at a gateway is by
    /// its record, but at the one whose name and record are given.
    pub(crate) fn account(
        &self,
        client: &str,
        today: Date,
        own: Option<(&str, &Metered)>,
    ) -> Option<Account> {
        let quota = self.quotas.get(client)?.what;
        let record = self.client(client).filter(|c| !c.revoked)?;
        let others = self.metered(client).filter(|(gateway, _)| own.is_none_or(|(name, _)| name != *gateway));
        let all = others.map(|(_, metered)| metered).chain(own.map(|(_, metered)| metered));
        let used = all.fold(0, |sum: u64, metered| sum.saturating_add(metered.spent(quota.per, today)));
        let inside = record.addresses().collect();
        Some(Account { client: client.into(), inside, quota, used, since: quota.per.start(today) })
    }

    /// Somebody has a quota.
    pub(crate) fn has_quotas(&self) -> bool {
        !self.quotas.is_empty()
    }

    /// How the clients with a quota stand on the day `today`, as far as gateways have written it.
    pub fn accounts(&self, today: Date) -> impl Iterator<Item = Account> {
        self.quotas.keys().filter_map(move |client| self.account(client, today, None))
    }

    /// What is granted, the first ones by name after this one, and to which client; `None` where
    /// none of that name may come in.
    pub(crate) fn granted_after(
        &self,
        name: Option<&str>,
    ) -> impl Iterator<Item = (&str, &ClientGrants, Option<&ClientRecord>)> {
        let all = self.grants.range::<str, _>(after(name));
        all.map(|(name, held)| {
            let client = self.client(name).filter(|client| !client.revoked);
            (name.as_str(), &held.what, client)
        })
    }

    /// The exits of groups.
    pub(crate) fn group_exits(&self) -> impl Iterator<Item = (&str, &GroupExit)> {
        self.group_exits.iter().map(|(group, held)| (group.as_str(), &held.what))
    }

    /// Clients, the first ones by name after this one.
    pub(crate) fn clients_after(&self, name: Option<&str>) -> impl Iterator<Item = (&str, &ClientRecord)> {
        self.clients.range::<str, _>(after(name)).map(|(name, held)| (name.as_str(), &held.what))
    }

    /// Takes in a change. One that cannot be read counts as missing, but for what is granted: a
    /// client's record is not believed on the word of what stood there before.
    pub(crate) fn apply(&mut self, (change, is_odd): (Change, bool)) -> Effect {
        let Change { key, revision, what } = change;
        if !is_odd {
            self.odd.remove(&key);
        } else if self.odd.len() < ODD {
            self.odd.insert(key, revision);
        }
        match what {
            What::Key(new) if revision >= self.key.1 => self.key = (new, revision),
            What::Key(_) => {}
            What::Client(name, new) => return self.put_client(&name, new, revision),
            What::Gateway(name, new) => put(&mut self.gateways, name, new, revision),
            What::Serving(name, new) => {
                put(&mut self.serving, name.clone(), new, revision);
                let by = self.serving.get(&name).map(|held| (held.what.gateway.clone(), held.revision));
                return Effect::Served { client: name, by };
            }
            What::Usage(whose, new) => put(&mut self.used, whose, new, revision),
            What::Quota(name, new) => put(&mut self.quotas, name, new, revision),
            What::Grant(name, new) => {
                self.version += 1;
                put(&mut self.grants, name, new, revision);
            }
            What::GroupExit(group, new) => {
                self.version += 1;
                put(&mut self.group_exits, group, new, revision);
            }
            What::Odd | What::Other => {}
        }
        Effect::None
    }

    /// A client as it is since `revision`; older news than what is known changes nothing.
    pub(crate) fn put_client(&mut self, name: &str, new: Option<ClientRecord>, revision: i64) -> Effect {
        if self.clients.get(name).is_some_and(|held| held.revision >= revision) {
            return Effect::None;
        }
        self.version += 1;
        let old = self.clients.remove(name).map(|held| held.what);
        if let Some(old) = &old {
            self.by_invite.remove(&old.invite);
            if let Some(key) = old.key.filter(|key| self.by_key.get(key).is_some_and(|n| n == name)) {
                self.by_key.remove(&key);
            }
            for address in old.addresses() {
                if self.taken.get(&address).is_some_and(|n| n == name) {
                    self.taken.remove(&address);
                }
            }
        }
        let stays = new.as_ref().filter(|c| !c.revoked).and_then(|c| c.key);
        if let Some(client) = new {
            self.by_invite.insert(client.invite, name.to_owned());
            if let Some(key) = client.key {
                let elsewhere =
                    self.by_key.get(&key).and_then(|n| self.clients.get(n)).is_some_and(|h| !h.what.revoked);
                // A device that was revoked and came again by another name is that other.
                if !(client.revoked && elsewhere) {
                    self.by_key.insert(key, name.to_owned());
                }
            }
            client.addresses().for_each(|a| drop(self.taken.insert(a, name.to_owned())));
            self.clients.insert(name.to_owned(), Held { what: client, revision });
        }
        match old.filter(|c| !c.revoked).and_then(|c| c.key).filter(|key| stays != Some(*key)) {
            Some(key) => Effect::Out(key),
            None => Effect::None,
        }
    }
}

fn after(name: Option<&str>) -> (Bound<&str>, Bound<&str>) {
    (name.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)
}

fn put<K: Ord, T>(map: &mut BTreeMap<K, Held<T>>, key: K, new: Option<T>, revision: i64) {
    if map.get(&key).is_some_and(|held| held.revision > revision) {
        return;
    }
    match new {
        Some(what) => drop(map.insert(key, Held { what, revision })),
        None => drop(map.remove(&key)),
    }
}

/// The public half of the fleet's key.
fn fleet_key(kv: &KeyValue) -> Option<PublicKey> {
    let text = std::str::from_utf8(&kv.value).ok()?;
    Some(StaticKey::from_base64(text).ok()?.public())
}

/// What a value says. One that nobody can read is as good as none, and is said.
pub(crate) fn parse<T: DeserializeOwned>(kv: &KeyValue) -> Option<T> {
    let parsed = serde_json::from_slice(&kv.value);
    if let Err(error) = &parsed {
        tracing::warn!(key = kv.key, %error, "a record of the store cannot be read");
    }
    parsed.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::new(&["10.77.0.1/24".parse().unwrap()]).unwrap()
    }

    fn client(n: u8, key: Option<u8>) -> ClientRecord {
        ClientRecord {
            invite: [n; 16],
            fingerprint: InviteSecret([n; 16]).fingerprint(),
            key: key.map(|k| PublicKey([k; 32])),
            ipv4: key.map(|_| Ipv4Addr::new(10, 77, 0, n)),
            ipv6: None,
            revoked: false,
        }
    }

    fn decide(copy: &Copy, key: u8, n: u8) -> Decision {
        copy.decide(&pool(), &PublicKey([key; 32]), (InviteId([n; 16]), &InviteSecret([n; 16])))
    }

    #[test]
    fn who_is_known_comes_in_and_who_is_not_is_asked_for() {
        let mut copy = Copy::default();
        assert_eq!(decide(&copy, 1, 5), Decision::Ask);
        copy.put_client("a", Some(client(5, None)), 2);
        assert_eq!(decide(&copy, 1, 5), Decision::Ask, "an invite is claimed in the store");
        copy.put_client("a", Some(client(5, Some(1))), 3);
        let known = Decision::Known { name: "a".into(), ipv4: Ipv4Addr::new(10, 77, 0, 5), ipv6: None };
        assert_eq!(decide(&copy, 1, 5), known);
        assert_eq!(decide(&copy, 1, 9), known, "the key counts");
        assert_eq!(decide(&copy, 2, 5), Decision::Ask, "the store says to whom it belongs");
        assert_eq!(copy.put_client("a", Some(client(5, None)), 2), Effect::None, "old news");
        assert_eq!(decide(&copy, 1, 5), known);
    }

    #[test]
    fn a_revocation_puts_out_and_frees() {
        let mut copy = Copy::default();
        copy.put_client("a", Some(client(5, Some(1))), 3);
        assert_eq!(copy.taken().0.len(), 1);
        let revoked = ClientRecord { revoked: true, ipv4: None, ..client(5, Some(1)) };
        assert_eq!(copy.put_client("a", Some(revoked), 4), Effect::Out(PublicKey([1; 32])));
        assert_eq!(decide(&copy, 1, 5), Decision::Refused(Refusal::Revoked));
        assert_eq!(decide(&copy, 2, 5), Decision::Refused(Refusal::Revoked));
        assert_eq!(decide(&copy, 1, 6), Decision::Ask, "the new invite may not have come here yet");
        assert!(copy.taken().0.is_empty());
        copy.put_client("b", Some(client(6, None)), 5);
        assert_eq!(decide(&copy, 1, 6), Decision::Ask, "by another invite it may come in again");
        assert_eq!(copy.put_client("a", None, 6), Effect::None, "it was out already");
    }

    #[test]
    fn an_address_that_went_from_one_to_another_stays_taken_in_any_order() {
        let mut copy = Copy::default();
        copy.put_client("a", Some(client(5, Some(1))), 3);
        let taken = ClientRecord { ipv4: Some(Ipv4Addr::new(10, 77, 0, 5)), ..client(6, Some(2)) };
        copy.put_client("b", Some(taken), 5);
        copy.put_client("a", None, 4);
        assert_eq!(copy.taken().0, [Ipv4Addr::new(10, 77, 0, 5)]);
    }

    #[test]
    fn a_damaged_record_counts_as_missing() {
        let (mut copy, keys) = (Copy::default(), Keys("/x/".into()));
        let apply = |copy: &mut Copy, key: &str, value: &[u8], revision: i64, gone: bool| {
            let kv = KeyValue { key: key.into(), value: value.into(), revision, lease: 0 };
            copy.apply(Change::read(&keys, &kv, gone))
        };
        let used = "/x/usage/a/g";
        apply(&mut copy, used, br#"{"from_client":1,"to_client":2}"#, 2, false);
        assert_eq!(copy.used("a", None).total(), 3);
        apply(&mut copy, used, b"{", 3, false);
        assert_eq!(copy.used("a", Some("g")).total(), 0);
        apply(&mut copy, "/x/client/a b", b"{}", 4, false);
        assert_eq!(copy.odd().collect::<Vec<_>>(), ["/x/client/a b", used]);
        apply(&mut copy, used, br#"{"from_client":1,"to_client":2}"#, 5, false);
        apply(&mut copy, "/x/client/a b", b"", 6, true);
        assert_eq!(copy.odd().count(), 0, "mended");
    }

    #[test]
    fn what_was_claimed_while_everything_was_read_stays() {
        let mut old = Copy::default();
        old.put_client("a", Some(client(5, Some(1))), 7);
        old.put_client("b", Some(client(6, Some(2))), 3);
        let mut new = Copy { revision: 5, ..Copy::default() };
        new.carry_newer(&old);
        assert!(new.is_active(&PublicKey([1; 32])) && !new.is_active(&PublicKey([2; 32])));
        assert_eq!(old.active().count(), 2);
    }
}
