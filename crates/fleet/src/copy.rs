//! What a gateway knows of the store: enough to admit whoever is known already, without asking.

mod change;
mod newest;
mod taken;

use crate::etcd::KeyValue;
use crate::grant::{ClientGrants, GroupExit};
use crate::pool::Pool;
use crate::quota::{Account, Metered, Quota};
use crate::record::{ClientRecord, GatewayRecord, Keys, Serving, Sum, Usage};
use crate::runs::Runs;
use change::What;
pub(crate) use change::{Change, fleet_key, parse};
use jiff::civil::Date;
pub(crate) use newest::Newest;
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Bound;
use std::sync::Arc;
use taken::Taken;

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
    /// Names are many, so each client's is kept once.
    clients: BTreeMap<Arc<str>, Held<ClientRecord>>,
    /// Those of them that are not revoked.
    invited: usize,
    by_key: BTreeMap<PublicKey, Arc<str>>,
    by_invite: BTreeMap<[u8; 16], Arc<str>>,
    taken: Taken,
    /// Clients that are newer here than `revision`: what a claim here brought before the watch.
    ahead: BTreeSet<Arc<str>>,
    gateways: BTreeMap<String, Held<GatewayRecord>>,
    serving: BTreeMap<Arc<str>, Held<Serving>>,
    used: BTreeMap<(Arc<str>, String), Held<Metered>>,
    /// What each gateway serves, and what all have used there.
    sums: BTreeMap<String, Sum>,
    quotas: BTreeMap<String, Held<Quota>>,
    grants: BTreeMap<String, Held<ClientGrants>>,
    group_exits: BTreeMap<String, Held<GroupExit>>,
    /// Goes up with each change of what clients are granted, and of clients that are.
    pub(crate) version: u64,
    /// Keys that nobody can read, and since when: some of them.
    odd: BTreeMap<String, i64>,
    newest: Option<Newest>,
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
    pub whose: (Arc<str>, String),
    /// Since when it is as it is.
    pub revision: i64,
    /// Since when the client's own record is, if there is one.
    pub record: Option<i64>,
}

/// Keys that are remembered for being odd.
const ODD: usize = 64;

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
    /// Takes in a key as it is.
    pub(crate) fn take(&mut self, keys: &Keys, kv: &KeyValue) {
        self.apply(Change::read(keys, kv, false));
    }

    /// Takes over what an older copy knows that was written after this one was read.
    pub(crate) fn carry_newer(&mut self, old: &Copy) {
        for name in &old.ahead {
            if let Some(held) = old.clients.get(name).filter(|held| held.revision > self.revision) {
                self.claimed(name, held.what.clone(), held.revision);
            }
        }
    }

    /// A claim here brought a client, which the watch may not have brought yet.
    pub(crate) fn claimed(&mut self, name: &str, client: ClientRecord, revision: i64) -> Effect {
        let effect = self.put_client(name, Some(client), revision);
        if let Some(name) = self.name(name).filter(|_| revision > self.revision) {
            self.ahead.insert(name);
        }
        effect
    }

    /// The copy is true up to this revision.
    pub(crate) fn reach(&mut self, revision: i64) {
        self.revision = self.revision.max(revision);
        let (clients, reached) = (&self.clients, self.revision);
        self.ahead.retain(|name| clients.get(name).is_some_and(|held| held.revision > reached));
    }

    /// A client's name as it is kept.
    fn name(&self, name: &str) -> Option<Arc<str>> {
        self.clients.get_key_value(name).map(|(name, _)| Arc::clone(name))
    }

    /// The same, or anew where there is no such client.
    fn shared(&self, name: &str) -> Arc<str> {
        self.name(name).unwrap_or_else(|| name.into())
    }

    /// The key that was written last of those that came.
    pub(crate) fn newest(&self) -> Option<Newest> {
        self.newest.clone()
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
                Some(ipv4) => Decision::Known { name: name.to_string(), ipv4, ipv6: client.ipv6 },
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

    /// Addresses of `pool` that no client has and nobody is promised; `turn` is where to begin to
    /// look ([`Pool::free_v4`]). Few are promised: they are walked along.
    pub fn free(
        &self,
        pool: &Pool,
        turn: u128,
        is_promised: impl Fn(IpAddr) -> bool,
    ) -> Option<(Ipv4Addr, Option<Ipv6Addr>)> {
        let v4 = |n: u128| u32::try_from(n).map(|n| IpAddr::from(Ipv4Addr::from(n))).ok();
        let v6 = |n: u128| Some(IpAddr::from(Ipv6Addr::from(n)));
        let next = |runs: &Runs, from: u128, address: &dyn Fn(u128) -> Option<IpAddr>| {
            let mut n = runs.next_free(from)?;
            while is_promised(address(n)?) {
                n = runs.next_free(n.checked_add(1)?)?;
            }
            Some(n)
        };
        let ipv4 = pool.free_v4(turn, |n| next(self.taken.v4(), n, &v4))?;
        Some((ipv4, pool.free_v6(turn, |n| next(self.taken.v6(), n, &v6))?))
    }

    /// What the client with this key is called.
    pub fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.by_key.get(key).map(|name| &**name)
    }

    /// A client.
    pub fn client(&self, name: &str) -> Option<&ClientRecord> {
        self.clients.get(name).map(|held| &held.what)
    }

    /// All clients, by name.
    pub fn clients(&self) -> impl Iterator<Item = (&str, &ClientRecord)> {
        self.clients.iter().map(|(name, held)| (&**name, &held.what))
    }

    /// How many clients may come in.
    pub fn count_invited(&self) -> usize {
        self.invited
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

    /// What each gateway serves, and what all have used there since ever.
    pub(crate) fn sums(&self) -> &BTreeMap<String, Sum> {
        &self.sums
    }

    /// The same of one gateway.
    pub(crate) fn sum_of(&self, gateway: &str) -> Sum {
        self.sums.get(gateway).copied().unwrap_or_default()
    }

    /// Changes the sum of a gateway; one of nothing is not kept.
    fn tally(&mut self, gateway: &str, change: impl FnOnce(&mut Sum)) {
        let mut sum = self.sum_of(gateway);
        change(&mut sum);
        if sum == Sum::default() {
            self.sums.remove(gateway);
        } else {
            self.sums.insert(gateway.to_owned(), sum);
        }
    }

    fn put_serving(&mut self, name: &str, new: Option<Serving>, revision: i64) {
        let gateway = new.as_ref().map(|serving| serving.gateway.clone());
        let client = self.shared(name);
        let Some(old) = put(&mut self.serving, client, new, revision) else { return };
        if let Some(old) = old {
            self.tally(&old.gateway, |sum| sum.clients = sum.clients.saturating_sub(1));
        }
        if let Some(gateway) = gateway {
            self.tally(&gateway, |sum| sum.clients += 1);
        }
    }

    fn put_used(&mut self, (client, gateway): (String, String), new: Option<Metered>, revision: i64) {
        let whose = (self.shared(&client), gateway.clone());
        let Some(old) = put(&mut self.used, whose, new, revision) else { return };
        self.tally(&gateway, |sum| {
            sum.used.take(old.map_or_else(Usage::default, |old| old.total));
            sum.used.add(new.map_or_else(Usage::default, |new| new.total));
        });
    }

    /// What a client has used at each gateway.
    fn metered<'a>(&'a self, client: &'a str) -> impl Iterator<Item = (&'a str, &'a Metered)> {
        let from: (Arc<str>, String) = (client.into(), String::new());
        let of_client = self.used.range(from..).take_while(move |((c, _), _)| &**c == client);
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
        last: Option<&'a (Arc<str>, String)>,
        own: &'a str,
        today: Date,
    ) -> impl Iterator<Item = (&'a (Arc<str>, String), Option<Needless>)> {
        let from = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        self.used.range::<(Arc<str>, String), _>(from).map(move |(whose, held)| {
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
        self.quotas.keys().filter_map(move |client| self.account_of(client, today))
    }

    /// The same of one client, if it has a quota.
    pub fn account_of(&self, client: &str, today: Date) -> Option<Account> {
        self.account(client, today, None)
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

    /// Whether a client is granted something.
    pub(crate) fn is_granted(&self, client: &str) -> bool {
        self.grants.contains_key(client)
    }

    /// The exits of groups.
    pub(crate) fn group_exits(&self) -> impl Iterator<Item = (&str, &GroupExit)> {
        self.group_exits.iter().map(|(group, held)| (group.as_str(), &held.what))
    }

    /// Clients, the first ones by name after this one.
    pub(crate) fn clients_after(&self, name: Option<&str>) -> impl Iterator<Item = (&str, &ClientRecord)> {
        self.clients.range::<str, _>(after(name)).map(|(name, held)| (&**name, &held.what))
    }

    /// Takes in a change. One that cannot be read counts as missing, but for what is granted: a
    /// client's record is not believed on the word of what stood there before.
    pub(crate) fn apply(&mut self, (change, is_odd): (Change, bool)) -> Effect {
        let Change { key, revision, digest, what } = change;
        if !is_odd {
            self.odd.remove(&key);
            self.note_newest(key, revision, digest);
        } else if self.odd.len() < ODD {
            self.odd.insert(key, revision);
        }
        match what {
            What::Key(new) if revision >= self.key.1 => self.key = (new, revision),
            What::Key(_) => {}
            What::Client(name, new) => return self.put_client(&name, new, revision),
            What::Gateway(name, new) => drop(put(&mut self.gateways, name, new, revision)),
            What::Serving(name, new) => {
                self.put_serving(&name, new, revision);
                let by = self.serving.get(&*name).map(|held| (held.what.gateway.clone(), held.revision));
                return Effect::Served { client: name, by };
            }
            What::Usage(whose, new) => self.put_used(whose, new, revision),
            What::Quota(name, new) => drop(put(&mut self.quotas, name, new, revision)),
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

    /// One that is no text cannot be asked for by its name.
    fn note_newest(&mut self, key: String, revision: i64, digest: Option<u64>) {
        let Some(digest) = digest.filter(|_| !key.contains(char::REPLACEMENT_CHARACTER)) else { return };
        if self.newest.as_ref().is_none_or(|newest| revision > newest.revision) {
            self.newest = Some(Newest { key, revision, digest });
        }
    }

    /// A client as it is since `revision`; older news than what is known changes nothing.
    pub(crate) fn put_client(&mut self, name: &str, new: Option<ClientRecord>, revision: i64) -> Effect {
        if self.clients.get(name).is_some_and(|held| held.revision >= revision) {
            return Effect::None;
        }
        self.version += u64::from(self.is_granted(name));
        let (name, old) = match self.clients.remove_entry(name) {
            Some((name, held)) => (name, Some(held.what)),
            None => (name.into(), None),
        };
        if let Some(old) = &old {
            self.invited -= usize::from(!old.revoked);
            self.by_invite.remove(&old.invite);
            if let Some(key) = old.key.filter(|key| self.by_key.get(key).is_some_and(|n| *n == name)) {
                self.by_key.remove(&key);
            }
            old.addresses().for_each(|address| self.taken.remove(address, &name));
        }
        let stays = new.as_ref().filter(|c| !c.revoked).and_then(|c| c.key);
        if let Some(client) = new {
            self.invited += usize::from(!client.revoked);
            self.by_invite.insert(client.invite, Arc::clone(&name));
            if let Some(key) = client.key {
                let elsewhere =
                    self.by_key.get(&key).and_then(|n| self.clients.get(n)).is_some_and(|h| !h.what.revoked);
                // A device that was revoked and came again by another name is that other.
                if !(client.revoked && elsewhere) {
                    self.by_key.insert(key, Arc::clone(&name));
                }
            }
            client.addresses().for_each(|a| self.taken.insert(a, Arc::clone(&name)));
            self.clients.insert(name, Held { what: client, revision });
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

/// What stood there before; `None` where this is older, and changes nothing.
fn put<K: Ord, T>(
    map: &mut BTreeMap<K, Held<T>>,
    key: K,
    new: Option<T>,
    revision: i64,
) -> Option<Option<T>> {
    if map.get(&key).is_some_and(|held| held.revision > revision) {
        return None;
    }
    let old = match new {
        Some(what) => map.insert(key, Held { what, revision }),
        None => map.remove(&key),
    };
    Some(old.map(|held| held.what))
}

#[cfg(test)]
mod tests;
