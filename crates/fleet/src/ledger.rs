//! The transactions. Each may be done twice without doing more than once: whoever does not know
//! whether it was done reads again and sees.

use crate::copy::{Newest, fleet_key, parse};
use crate::etcd::{Compare, Etcd, KeyValue, Op, StoreError};
use crate::pool::Pool;
use crate::quota::Quota;
use crate::record::{ClientRecord, GatewayRecord, Keys, Serving, is_name};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal, StaticKey};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod accounts;
mod grants;
mod import;
mod pages;
mod usage;

pub use accounts::SignedRecord;

/// How often something is tried anew when another gateway was faster: each time one of them gets
/// on.
const TRIES: usize = 64;

/// Why the ledger was not changed.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The name is taken.
    #[error("`{0}` was invited already: revoke it first (`ropewalk revoke {0}`), or choose another name")]
    NameTaken(String),
    /// The name is unknown.
    #[error("there is no client named `{0}`; `ropewalk clients` lists them")]
    UnknownName(String),
    /// There is nothing to be taken.
    #[error("{0} has no quota")]
    NoQuota(String),
    /// The name is not one.
    #[error("a name has 1 to 64 letters, digits, '-', '_' or '.'")]
    BadName,
    /// Gateways of one fleet have one network inside.
    #[error("the fleet's network inside is {fleet}, and this gateway's is {own}: give it the same --address")]
    Network {
        /// What the store says.
        fleet: String,
        /// What this gateway was given.
        own: String,
    },
    /// The fleet's key in the store is none.
    #[error(
        "what the store has for the fleet's key is no key: `etcdctl del` it to have a new one made, which makes all tokens worthless"
    )]
    Key,
    /// Others were faster each time.
    #[error("other gateways change the same at the same time; try again")]
    Contended,
    /// No gateway of the fleet is there to be named.
    #[error("no gateway of this fleet runs: start one, or name an address with --endpoint HOST:PORT")]
    NoGateway,
    /// No gateway has ever begun there.
    #[error(
        "the store has no fleet of this prefix: start its first gateway, or mend the end of --store etcd://HOST:PORT/PREFIX"
    )]
    NoFleet,
    /// The store itself.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<std::io::Error> for LedgerError {
    fn from(error: std::io::Error) -> LedgerError {
        LedgerError::Store(error.into())
    }
}

/// Why a claim came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The device may not come in.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It is not known whether it may.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A client, and since when it is as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// What it is called.
    pub name: String,
    /// Its record.
    pub record: ClientRecord,
    /// The store's revision at which that was read or written.
    pub revision: i64,
}

/// The client that a device comes by, as it was read.
struct Entry {
    name: String,
    kv: KeyValue,
    record: ClientRecord,
    /// Since when the store has the device's key for somebody's, if it has.
    place: Option<i64>,
}

/// A line to the store.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) caller: crate::etcd::Caller,
    pub(crate) keys: Keys,
    /// The fleet's key: a store without it knows no device, and refuses none. None: not asked.
    pub(crate) fleet: Option<PublicKey>,
}

/// It is the record of a client that may come in.
fn is_invited(kv: &KeyValue) -> bool {
    parse::<ClientRecord>(kv).is_some_and(|client| !client.revoked)
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

impl Ledger {
    /// A line of its own to the store; `prefix` ends in a slash.
    pub fn new(etcd: &Etcd, prefix: &str) -> Ledger {
        Ledger { caller: etcd.caller(), keys: Keys(prefix.into()), fleet: None }
    }

    async fn get(&mut self, key: String) -> Result<Option<KeyValue>, StoreError> {
        Ok(self.caller.txn(&[], &[Op::Get(key)], &[]).await?.read.pop().flatten())
    }

    /// The fleet's key: the one that is there, else `new`. Of two gateways that start at once one
    /// makes it.
    pub async fn fleet_key(&mut self, new: &StaticKey) -> Result<StaticKey, LedgerError> {
        let Some(kv) = self.first(self.keys.fleet_key(), new.to_base64().as_bytes()).await? else {
            return Ok(new.clone());
        };
        let text = std::str::from_utf8(&kv.value).map_err(|_| LedgerError::Key)?;
        StaticKey::from_base64(text).map_err(|_| LedgerError::Key)
    }

    /// What stands at `key`; if nothing does, `own` is put there, and `None` comes back. What is
    /// there is read without a write, which an etcd without room would refuse.
    async fn first(&mut self, key: String, own: &[u8]) -> Result<Option<KeyValue>, StoreError> {
        if let Some(kv) = self.get(key.clone()).await? {
            return Ok(Some(kv));
        }
        let put = Op::put(key.clone(), own);
        let mut txn = self.caller.txn(&[Compare::Absent(key.clone())], &[put], &[Op::Get(key)]).await?;
        Ok(txn.read.pop().flatten().filter(|_| !txn.succeeded))
    }

    /// The store's revision now, by a read that a majority stands behind: no later one is lower.
    pub(crate) async fn revision(&mut self) -> Result<i64, StoreError> {
        Ok(self.caller.txn(&[], &[Op::Get(self.keys.network())], &[]).await?.revision)
    }

    /// Whether a key was written as it was seen to be: so it was for ever, unless the store was set
    /// back. Of what etcd was told to forget it counts as so.
    pub(crate) async fn was_written(&mut self, seen: &Newest) -> Result<bool, StoreError> {
        let key = seen.key.as_bytes();
        let end = [key, &[0]].concat();
        match self.caller.page((key, &end), 1, seen.revision).await {
            Ok(page) => Ok(page.keys.first().is_some_and(|kv| seen.is(kv))),
            Err(StoreError::Refused(why)) if why.contains("future revision") => Ok(false),
            Err(StoreError::Refused(why)) if why.contains("compacted") => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The fleet's key, if a gateway has made it.
    pub async fn known_key(&mut self) -> Result<Option<PublicKey>, LedgerError> {
        let Some(kv) = self.get(self.keys.fleet_key()).await? else { return Ok(None) };
        let text = std::str::from_utf8(&kv.value).map_err(|_| LedgerError::Key)?;
        Ok(Some(StaticKey::from_base64(text).map_err(|_| LedgerError::Key)?.public()))
    }

    /// Makes sure that the fleet has this network inside.
    pub async fn same_network(&mut self, pool: &Pool) -> Result<(), LedgerError> {
        let own = pool.networks();
        let fleet = self.first(self.keys.network(), own.as_bytes()).await?;
        match fleet.map(|kv| String::from_utf8_lossy(&kv.value).into_owned()) {
            Some(fleet) if fleet != own => Err(LedgerError::Network { fleet, own }),
            _ => Ok(()),
        }
    }

    /// Adds an invite under a name that no client has who may still come in.
    pub async fn invite(
        &mut self,
        name: &str,
        id: InviteId,
        secret: &InviteSecret,
    ) -> Result<(), LedgerError> {
        if !is_name(name) {
            return Err(LedgerError::BadName);
        }
        let fresh = ClientRecord {
            invite: id.0,
            fingerprint: secret.fingerprint(),
            key: None,
            ipv4: None,
            ipv6: None,
            revoked: false,
        };
        let client = self.keys.client(name);
        let mut when = Compare::Absent(client.clone());
        let mut old = None;
        for _ in 0..TRIES {
            let mut then = vec![Op::put(client.clone(), json(&fresh)), Op::put(self.keys.invite(id), name)];
            // What another of that name had is not this one's.
            then.extend([self.keys.quota(name), self.keys.grant(name)].map(Op::Delete));
            then.extend(old.take().map(|old| Op::Delete(self.keys.invite(InviteId(old)))));
            let mut txn = self.caller.txn(&[when], &then, &[Op::Get(client.clone())]).await?;
            if txn.succeeded {
                return Ok(());
            }
            when = match txn.read.pop().flatten() {
                None => Compare::Absent(client.clone()),
                Some(kv) => match parse::<ClientRecord>(&kv) {
                    // It was done, and the answer lost.
                    Some(record) if record.invite == id.0 => return Ok(()),
                    Some(record) if record.revoked => {
                        old = Some(record.invite);
                        Compare::At(client.clone(), kv.revision)
                    }
                    Some(_) => return Err(LedgerError::NameTaken(name.into())),
                    None => Compare::At(client.clone(), kv.revision),
                },
            };
        }
        Err(LedgerError::Contended)
    }

    /// The record of a client that may come in.
    async fn invited(&mut self, name: &str) -> Result<KeyValue, LedgerError> {
        let kv = if is_name(name) { self.get(self.keys.client(name)).await? } else { None };
        kv.filter(is_invited).ok_or_else(|| LedgerError::UnknownName(name.into()))
    }

    /// Gives a client that may come in a quota in place of the one that it has, or takes that.
    pub async fn set_quota(&mut self, name: &str, quota: Option<Quota>) -> Result<(), LedgerError> {
        let place = self.keys.quota(name);
        for _ in 0..TRIES {
            let client = self.invited(name).await?;
            let op = match quota {
                Some(quota) => Op::put(place.clone(), json(&quota)),
                None if self.get(place.clone()).await?.is_none() => {
                    return Err(LedgerError::NoQuota(name.into()));
                }
                None => Op::Delete(place.clone()),
            };
            let when = Compare::At(client.key, client.revision);
            if self.caller.txn(&[when], &[op], &[]).await?.succeeded {
                return Ok(());
            }
        }
        Err(LedgerError::Contended)
    }

    /// Takes a client's right to come in, its addresses, its quota and what it is granted. Returns
    /// its key if it ever came.
    pub async fn revoke(&mut self, name: &str) -> Result<Option<PublicKey>, LedgerError> {
        for _ in 0..TRIES {
            let kv = if is_name(name) { self.get(self.keys.client(name)).await? } else { None };
            let kv = kv.ok_or_else(|| LedgerError::UnknownName(name.into()))?;
            let record = parse::<ClientRecord>(&kv).ok_or_else(|| LedgerError::UnknownName(name.into()))?;
            if record.revoked {
                return Ok(record.key);
            }
            let gone = ClientRecord { revoked: true, ipv4: None, ipv6: None, ..record.clone() };
            let mut then = vec![Op::put(kv.key.clone(), json(&gone)), Op::Delete(self.keys.serving(name))];
            then.extend([self.keys.quota(name), self.keys.grant(name)].map(Op::Delete));
            then.extend(record.key.iter().map(|key| Op::Delete(self.keys.device(key))));
            then.extend(record.addresses().map(|a| Op::Delete(self.keys.address(a))));
            if self.caller.txn(&[Compare::At(kv.key, kv.revision)], &then, &[]).await?.succeeded {
                return Ok(record.key);
            }
        }
        Err(LedgerError::Contended)
    }

    /// Binds a device to its invite and gives it addresses, or reads what it has. `free` says which
    /// addresses are believed to be free, but for those that others turned out to have; what the
    /// store says counts.
    pub async fn claim(
        &mut self,
        pool: &Pool,
        mut free: impl FnMut(&BTreeSet<IpAddr>) -> Option<(Ipv4Addr, Option<Ipv6Addr>)>,
        device: &PublicKey,
        hello: (InviteId, &InviteSecret),
    ) -> Result<Claimed, ClaimError> {
        let mut tried = BTreeSet::new();
        for _ in 0..TRIES {
            let entry = self.entry_of(device, hello).await?;
            let record = &entry.record;
            let has = record.ipv4.is_some_and(|a| pool.holds_v4(a)) && pool.holds_v6(record.ipv6);
            if record.key.is_some() && has {
                let Entry { name, kv, record, .. } = entry;
                return Ok(Claimed { name, record, revision: kv.revision });
            }
            let (ipv4, ipv6) = free(&tried).ok_or(Refusal::PoolFull)?;
            let new = ClientRecord { key: Some(*device), ipv4: Some(ipv4), ipv6, ..record.clone() };
            let (when, then, otherwise) = self.binding(&entry, &new, device);
            let txn = self.caller.txn(&when, &then, &otherwise).await?;
            if txn.succeeded {
                return Ok(Claimed { name: entry.name, record: new, revision: txn.revision });
            }
            let others = new.addresses().zip(&txn.read).filter(|(_, found)| found.is_some());
            tried.extend(others.map(|(address, _)| address));
        }
        Err(ClaimError::Store(StoreError::Gone("other gateways claim at the same time".into())))
    }

    /// The client that a device comes by: the one that has its key, else the one of its invite.
    async fn entry_of(
        &mut self,
        device: &PublicKey,
        (invite, secret): (InviteId, &InviteSecret),
    ) -> Result<Entry, ClaimError> {
        let places = [self.keys.device(device), self.keys.invite(invite), self.keys.fleet_key()];
        let mut found = self.caller.txn(&[], &places.map(Op::Get), &[]).await?.read;
        let fleet = found.pop().flatten().as_ref().and_then(fleet_key);
        let place = found.first().and_then(Option::as_ref).map(|kv| kv.revision);
        let names = found.into_iter().flatten().filter_map(|kv| String::from_utf8(kv.value).ok());
        for name in names {
            let Some(kv) = self.get(self.keys.client(&name)).await? else { continue };
            let Some(record) = parse::<ClientRecord>(&kv) else { continue };
            let is_its_own = record.key == Some(*device);
            // Where the client's record was damaged or deleted, its device's key binds nobody.
            if !is_its_own && (record.invite != invite.0 || !secret.matches(&record.fingerprint)) {
                continue;
            }
            return match record.key {
                _ if record.revoked => Err(Refusal::Revoked.into()),
                Some(_) if !is_its_own => Err(Refusal::TokenInUse.into()),
                _ => Ok(Entry { name, kv, record, place }),
            };
        }
        if self.fleet.is_some() && self.fleet != fleet {
            // What is known in an empty store, or in another fleet's, says nothing of the device.
            return Err(StoreError::Gone("the store has not this fleet's key".into()).into());
        }
        Err(Refusal::UnknownInvite.into())
    }

    /// The transaction that makes `new` of an entry: the client and the device's place are as they
    /// were read, and addresses are nobody else's. The other steps read the addresses.
    fn binding(
        &self,
        Entry { name, kv, record: old, place: known }: &Entry,
        new: &ClientRecord,
        device: &PublicKey,
    ) -> (Vec<Compare>, Vec<Op>, Vec<Op>) {
        let place = self.keys.device(device);
        let same = match known {
            Some(revision) => Compare::At(place.clone(), *revision),
            None => Compare::Absent(place.clone()),
        };
        let mut when = vec![Compare::At(kv.key.clone(), kv.revision), same];
        let mut then = vec![Op::put(kv.key.clone(), json(new)), Op::put(place, name.as_str())];
        let mut otherwise = Vec::new();
        for address in new.addresses() {
            let key = self.keys.address(address);
            when.push(Compare::Absent(key.clone()));
            then.push(Op::put(key.clone(), name.as_str()));
            otherwise.push(Op::Get(key));
        }
        let given_up = old.addresses().filter(|a| new.addresses().all(|b| b != *a));
        then.extend(given_up.map(|a| Op::Delete(self.keys.address(a))));
        (when, then, otherwise)
    }

    /// What the store says now, for commands.
    pub async fn read(&mut self) -> Result<crate::Copy, LedgerError> {
        Ok(self.copy_once().await?)
    }

    /// Forgets the history before what this or another gateway noted at the last call, so that
    /// etcd's quota is not used up. Of gateways that call at the same time, and later than `seen`
    /// was noted, one does it. Returns the revision to call with next.
    pub async fn compact(&mut self, gateway: &str, seen: i64) -> Result<i64, StoreError> {
        let key = self.keys.compaction();
        let noted = self.get(key.clone()).await?.map_or(0, |kv| kv.revision);
        if noted != seen {
            return Ok(noted);
        }
        let when = if noted == 0 { Compare::Absent(key.clone()) } else { Compare::At(key.clone(), noted) };
        let txn = self.caller.txn(&[when], &[Op::put(key, gateway)], &[]).await;
        let won = match &txn {
            Ok(txn) => txn.succeeded,
            // Without room nothing can be noted, and forgetting is needed most.
            Err(StoreError::Refused(_)) => true,
            Err(_) => false,
        };
        if won && noted > 0 {
            match self.caller.compact(noted).await {
                // It was so already.
                Ok(()) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let txn = txn?;
        Ok(if txn.succeeded { txn.revision } else { seen })
    }

    /// Writes a gateway's record under its lease, and returns the revision; `None` if another run
    /// of a gateway with this name lives.
    pub(crate) async fn register(
        &mut self,
        name: &str,
        record: &GatewayRecord,
        lease: i64,
    ) -> Result<Option<i64>, StoreError> {
        let key = self.keys.gateway(name);
        let put = Op::Put { key: key.clone(), value: json(record), lease };
        for _ in 0..TRIES {
            let (when, otherwise) = ([Compare::Absent(key.clone())], [Op::Get(key.clone())]);
            let mut txn = self.caller.txn(&when, std::slice::from_ref(&put), &otherwise).await?;
            let Some(kv) = txn.read.pop().flatten().filter(|_| !txn.succeeded) else {
                if txn.succeeded {
                    return Ok(Some(txn.revision));
                }
                continue;
            };
            // Its own, under an older lease or with other words.
            if parse::<GatewayRecord>(&kv).is_none_or(|other| other.instance != record.instance) {
                return Ok(None);
            }
            let when = Compare::At(key.clone(), kv.revision);
            let again = self.caller.txn(&[when], std::slice::from_ref(&put), &[]).await?;
            if again.succeeded {
                return Ok(Some(again.revision));
            }
        }
        Ok(None)
    }

    /// Writes down that `gateway` serves these clients, whoever did before. Returns the revision.
    pub(crate) async fn serve(&mut self, who: &[(String, Serving)], lease: i64) -> Result<i64, StoreError> {
        let put = |(client, serving): &(String, Serving)| Op::Put {
            key: self.keys.serving(client),
            value: json(serving),
            lease,
        };
        let then: Vec<Op> = who.iter().map(put).collect();
        Ok(self.caller.txn(&[], &then, &[]).await?.revision)
    }

    /// The same where nobody serves any of them. `None` if somebody does.
    pub(crate) async fn serve_unserved(
        &mut self,
        who: &[(String, Serving)],
        lease: i64,
    ) -> Result<Option<i64>, StoreError> {
        let key = |client: &str| self.keys.serving(client);
        let when: Vec<Compare> = who.iter().map(|(client, _)| Compare::Absent(key(client))).collect();
        let put =
            |(client, serving): &(String, Serving)| Op::Put { key: key(client), value: json(serving), lease };
        let then: Vec<Op> = who.iter().map(put).collect();
        let txn = self.caller.txn(&when, &then, &[]).await?;
        Ok(txn.succeeded.then_some(txn.revision))
    }

    /// The same for one that nobody serves, or this gateway by an older record. `None` if another
    /// does.
    pub(crate) async fn serve_on(
        &mut self,
        client: &str,
        serving: &Serving,
        lease: i64,
    ) -> Result<Option<i64>, StoreError> {
        let key = self.keys.serving(client);
        let put = Op::Put { key: key.clone(), value: json(serving), lease };
        for _ in 0..TRIES {
            let mut txn = self
                .caller
                .txn(&[Compare::Absent(key.clone())], std::slice::from_ref(&put), &[Op::Get(key.clone())])
                .await?;
            if txn.succeeded {
                return Ok(Some(txn.revision));
            }
            let Some(kv) = txn.read.pop().flatten() else { continue };
            if parse::<Serving>(&kv).is_some_and(|s| s.gateway != serving.gateway) {
                return Ok(None);
            }
            let again = self
                .caller
                .txn(&[Compare::At(key.clone(), kv.revision)], std::slice::from_ref(&put), &[])
                .await?;
            if again.succeeded {
                return Ok(Some(again.revision));
            }
        }
        Ok(None)
    }

    /// Clients are not served here any more: what was written of each at its revision goes, of all
    /// or, where another gateway has written since, of none. Says whether that was so.
    pub(crate) async fn serve_no_more(&mut self, who: &[(String, i64)]) -> Result<bool, StoreError> {
        let key = |client: &str| self.keys.serving(client);
        let when: Vec<Compare> =
            who.iter().map(|(client, revision)| Compare::At(key(client), *revision)).collect();
        let then: Vec<Op> = who.iter().map(|(client, _)| Op::Delete(key(client))).collect();
        Ok(self.caller.txn(&when, &then, &[]).await?.succeeded)
    }
}
