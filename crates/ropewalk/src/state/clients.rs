//! A gateway's client registry: who was invited, who came with the invite, and which addresses they
//! have.
//!
//! One registry is shared by the engine, which asks at each handshake, and the control socket,
//! which invites and revokes. It is held for microseconds at a time; writing it to the disk is the
//! business of the state's saver.

mod index;

use super::pool::Pool;
use crate::report::quota::QuotaStatus;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use index::Index;
use ipnet::IpNet;
use ropewalk_bond::api::Admission;
use ropewalk_fleet::is_name;
use ropewalk_session::{ClientHello, InviteId, InviteSecret, PublicKey, Refusal};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The file in the state directory.
pub(crate) const FILE: &str = "clients.json";
/// Revoked clients that are remembered, so that they are told so; the oldest are forgotten first.
const REVOKED_KEPT: usize = 4096;

/// The registry.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Written")]
pub(crate) struct Clients {
    clients: Vec<Client>,
    #[serde(skip_serializing)]
    index: Index,
}

/// The registry as it lies in its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    clients: Vec<Client>,
}

impl From<Written> for Clients {
    /// What two have in a file that somebody changed is the first one's; the other is given new
    /// addresses when it comes.
    fn from(Written { mut clients }: Written) -> Clients {
        let (mut v4, mut v6, mut devices) = (HashSet::new(), HashSet::new(), HashSet::new());
        for client in &mut clients {
            let may = !client.revoked;
            client.ipv4 = client.ipv4.filter(|a| may && (a.is_unspecified() || v4.insert(*a)));
            client.ipv6 = client.ipv6.filter(|a| may && (a.is_unspecified() || v6.insert(*a)));
            client.device = client.device.filter(|n| may && devices.insert(*n));
        }
        Clients { index: Index::of(&clients), clients }
    }
}

/// One entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    /// What the gateway's people call it.
    pub name: String,
    /// The invite that it comes by.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    invite: [u8; 16],
    /// Proves the invite's secret without holding it.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    fingerprint: [u8; 32],
    /// Whose invite it became at first contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    /// Its addresses inside, from first contact on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ipv4: Option<Ipv4Addr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ipv6: Option<Ipv6Addr>,
    /// The number of its device, from first contact on, where each client has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<u32>,
    /// It may not come in any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    revoked: bool,
    /// No network behind it was left in the pool when it came. It keeps its address until a restart.
    #[serde(skip)]
    lacks_network: bool,
}

/// A client as others may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownClient {
    /// What it is called.
    pub name: String,
    /// It has used its invite.
    pub came: bool,
    /// Its addresses inside.
    pub inside: Vec<IpAddr>,
    /// In a fleet: which gateway serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// In a fleet: what it has used, both directions together, with all headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// Its quota, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaStatus>,
    /// The network behind it that the gateway gives it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<IpNet>,
}

impl KnownClient {
    /// Its name, with its addresses inside.
    pub(crate) fn named(&self) -> (&str, &[IpAddr]) {
        (&self.name, &self.inside)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(PublicKey);

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Key, D::Error> {
        String::deserialize(d)?.parse().map(Key).map_err(serde::de::Error::custom)
    }
}

fn to_text<S: Serializer, const N: usize>(bytes: &[u8; N], s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&STANDARD.encode(bytes))
}

fn from_text<'de, D: Deserializer<'de>, const N: usize>(d: D) -> Result<[u8; N], D::Error> {
    let bytes = STANDARD.decode(String::deserialize(d)?).map_err(serde::de::Error::custom)?;
    bytes.try_into().map_err(|_| serde::de::Error::custom("a value has the wrong length"))
}

/// Why the registry was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientsError {
    /// The name is taken.
    #[error("`{0}` was invited already: revoke it first (`ropewalk revoke {0}`), or choose another name")]
    NameTaken(String),
    /// The name is unknown.
    #[error("there is no client named `{0}`; `ropewalk clients` lists them")]
    UnknownName(String),
    /// The name is not one.
    #[error("a client's name has 1 to 64 letters, digits, '-', '_' or '.'")]
    BadName,
}

impl Client {
    /// The device has connected at least once.
    pub(crate) fn has_come(&self) -> bool {
        self.key.is_some()
    }

    fn known(&self) -> KnownClient {
        let addresses = self.ipv4.map(IpAddr::from).into_iter().chain(self.ipv6.map(IpAddr::from));
        KnownClient {
            name: self.name.clone(),
            came: self.key.is_some(),
            inside: addresses.filter(|a| !a.is_unspecified()).collect(),
            ..KnownClient::default()
        }
    }
}

impl Clients {
    /// Everybody who was invited and not forgotten.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.clients.iter()
    }

    /// Adds an invite under a name that no client has who may still come in.
    pub(crate) fn invite(
        &mut self,
        name: &str,
        invite: InviteId,
        secret: &InviteSecret,
    ) -> Result<(), ClientsError> {
        if !is_name(name) {
            return Err(ClientsError::BadName);
        }
        if self.clients.iter().any(|c| c.name == name && !c.revoked) {
            return Err(ClientsError::NameTaken(name.into()));
        }
        self.clients.push(Client {
            name: name.into(),
            invite: invite.0,
            fingerprint: secret.fingerprint(),
            key: None,
            ipv4: None,
            ipv6: None,
            device: None,
            revoked: false,
            lacks_network: false,
        });
        let last = self.clients.len() - 1;
        self.index.add(last, &self.clients[last]);
        Ok(())
    }

    /// Takes back an invite that nobody has used.
    pub(crate) fn uninvite(&mut self, name: &str) {
        self.clients.retain(|c| c.name != name || c.key.is_some() || c.revoked);
        self.index = Index::of(&self.clients);
    }

    /// Takes a client's right to come in, its addresses and its device. Returns its key if it ever
    /// came. Twice is once, so that a revocation that could not be written can be repeated.
    pub(crate) fn revoke(&mut self, name: &str) -> Result<Option<PublicKey>, ClientsError> {
        let found = self.clients.iter_mut().filter(|c| c.name == name).min_by_key(|c| c.revoked);
        let client = found.ok_or_else(|| ClientsError::UnknownName(name.into()))?;
        (client.revoked, client.ipv4, client.ipv6, client.device) = (true, None, None, None);
        let key = client.key.map(|k| k.0);
        let revoked = self.clients.iter().filter(|c| c.revoked).count();
        if revoked > REVOKED_KEPT
            && let Some(oldest) = self.clients.iter().position(|c| c.revoked)
        {
            self.clients.remove(oldest);
        }
        self.index = Index::of(&self.clients);
        Ok(key)
    }

    /// Who may come in.
    pub(crate) fn known(&self) -> Vec<KnownClient> {
        self.known_of(|_| true)
    }

    /// Who of those names may come in.
    pub(crate) fn known_of(&self, is_asked_for: impl Fn(&str) -> bool) -> Vec<KnownClient> {
        self.clients.iter().filter(|c| !c.revoked && is_asked_for(&c.name)).map(Client::known).collect()
    }

    /// Those who may come in, by name after this one, so many at most; and how many there are in all.
    pub(crate) fn page(&self, after: Option<&str>, most: usize) -> (Vec<KnownClient>, usize) {
        let (mut page, mut total) = (BTreeMap::<&str, &Client>::new(), 0);
        for client in self.clients.iter().filter(|c| !c.revoked) {
            total += 1;
            let name = client.name.as_str();
            // Of a million no more are sorted than are asked for.
            let fits = page.len() < most || page.last_key_value().is_some_and(|(last, _)| name < *last);
            if fits && after.is_none_or(|after| name > after) {
                page.insert(name, client);
                if page.len() > most {
                    page.pop_last();
                }
            }
        }
        (page.into_values().map(Client::known).collect(), total)
    }

    /// The name of the client with this key. A device that came by several is the one that may come
    /// in.
    pub(crate) fn name_of(&self, key: &PublicKey) -> Option<&str> {
        self.index.of_key(key).map(|at| self.clients[at].name.as_str())
    }

    /// May this client come in? The first contact binds its key to the invite, and gives it
    /// addresses, or on layer 2 a device. The flag says whether the registry changed.
    pub(crate) fn admit(
        &mut self,
        pool: &Pool,
        key: &PublicKey,
        hello: &ClientHello,
    ) -> Result<(Admission, bool), Refusal> {
        let found = self.find(key, hello)?;
        let client = &self.clients[found];
        let kept = client.key.is_some()
            && client.ipv4.is_some_and(|a| pool.holds_v4(a))
            && (pool.holds_v6(client.ipv6) || client.lacks_network)
            && pool.has_addresses() != client.device.is_some();
        if !kept {
            self.give(pool, found, key)?;
        }
        let client = &self.clients[found];
        let ipv4 = pool.inner_v4(client.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED));
        let (ipv6, device) = (pool.inner_v6(client.ipv6), client.device.unwrap_or(0));
        Ok((Admission { ipv4, ipv6, networks: Vec::new(), device }, !kept))
    }

    /// Which entry a client comes by: the one that has its key, else the one that its invite names.
    fn find(&self, key: &PublicKey, hello: &ClientHello) -> Result<usize, Refusal> {
        let known = self.index.of_key(key);
        if let Some(found) = known.filter(|at| !self.clients[*at].revoked) {
            return Ok(found);
        }
        let is_proven = |at: &usize| hello.secret.matches(&self.clients[*at].fingerprint);
        let Some(found) = self.index.of_invite(&hello.invite.0).filter(is_proven) else {
            return Err(if known.is_some() { Refusal::Revoked } else { Refusal::UnknownInvite });
        };
        match (&self.clients[found].key, self.clients[found].revoked) {
            (_, true) => Err(Refusal::Revoked),
            (Some(_), false) => Err(Refusal::TokenInUse),
            (None, false) => Ok(found),
        }
    }

    /// Binds a key to the entry at `found`, and gives it addresses, or a device: those it had as far
    /// as the pool still holds them, else free ones.
    fn give(&mut self, pool: &Pool, found: usize, key: &PublicKey) -> Result<(), Refusal> {
        let client = &mut self.clients[found];
        self.index.release(client);
        let given = self.index.free(pool, client);
        if let Some((ipv4, ipv6, device)) = given {
            (client.key, client.ipv4, client.ipv6) = (Some(Key(*key)), Some(ipv4), ipv6);
            (client.device, client.lacks_network) = (device, !pool.holds_v6(ipv6));
        }
        self.index.add(found, client);
        given.map(|_| ()).ok_or(Refusal::PoolFull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use ropewalk_session::{CipherSet, Extensions};

    fn pool(text: &str) -> Pool {
        Pool::new(&[text.parse().unwrap(), "fd77::1/64".parse().unwrap()]).unwrap()
    }

    fn invited(clients: &mut Clients, name: &str) -> ClientHello {
        let number = clients.clients.len() as u8;
        let (invite, secret) = (InviteId([number; 16]), InviteSecret([number + 100; 16]));
        clients.invite(name, invite, &secret).unwrap();
        hello(invite, secret)
    }

    fn hello(invite: InviteId, secret: InviteSecret) -> ClientHello {
        ClientHello {
            ciphers: CipherSet::from_bits(7),
            tun_mtu: 1420,
            resume: None,
            invite,
            secret,
            extensions: Extensions::default(),
        }
    }

    fn key(n: u8) -> PublicKey {
        PublicKey([n; 32])
    }

    #[test]
    fn the_first_contact_binds_a_key_and_later_ones_keep_the_address() {
        let (mut registry, pool) = (Clients::default(), pool("10.77.0.1/24"));
        let hello = invited(&mut registry, "alice");
        let (first, changed) = registry.admit(&pool, &key(1), &hello).unwrap();
        assert!(changed && first.ipv4.client == Ipv4Addr::new(10, 77, 0, 2));
        assert_eq!(first.ipv6.unwrap().client, "fd77::2".parse::<Ipv6Addr>().unwrap());
        let text = serde_json::to_string(&registry).unwrap();
        let mut registry: Clients = serde_json::from_str(&text).unwrap();
        // Later the key counts, whatever invite is shown.
        let unknown = ClientHello { invite: InviteId([99; 16]), ..hello.clone() };
        assert_eq!(registry.admit(&pool, &key(1), &unknown), Ok((first, false)));
        assert_eq!(registry.name_of(&key(1)), Some("alice"));
        assert!(!text.contains(&STANDARD.encode([100u8; 16])), "the secret itself is not kept");
    }

    #[test]
    fn who_is_not_let_in_is_told_why() {
        let (mut registry, pool) = (Clients::default(), pool("10.77.0.1/24"));
        let hello = invited(&mut registry, "alice");
        let guess = ClientHello { secret: InviteSecret([0; 16]), ..hello.clone() };
        assert_eq!(registry.admit(&pool, &key(1), &guess).unwrap_err(), Refusal::UnknownInvite);
        registry.admit(&pool, &key(1), &hello).unwrap();
        assert_eq!(registry.admit(&pool, &key(2), &hello).unwrap_err(), Refusal::TokenInUse);
        assert_eq!(registry.revoke("alice"), Ok(Some(key(1))));
        assert_eq!(registry.admit(&pool, &key(1), &hello).unwrap_err(), Refusal::Revoked);
        assert_eq!(registry.admit(&pool, &key(2), &hello).unwrap_err(), Refusal::Revoked);
        let unknown = ClientHello { invite: InviteId([9; 16]), ..hello };
        assert_eq!(registry.admit(&pool, &key(1), &unknown).unwrap_err(), Refusal::Revoked);
    }

    #[test]
    fn a_revoked_name_and_device_can_be_invited_again() {
        let (mut registry, pool) = (Clients::default(), pool("10.77.0.1/24"));
        let old = invited(&mut registry, "alice");
        registry.admit(&pool, &key(1), &old).unwrap();
        assert_eq!(
            registry.invite("alice", InviteId([7; 16]), &InviteSecret([7; 16])),
            Err(ClientsError::NameTaken("alice".into()))
        );
        registry.revoke("alice").unwrap();
        assert_eq!(registry.revoke("alice"), Ok(Some(key(1))), "again, which changes nothing");
        assert_eq!(registry.revoke("bob"), Err(ClientsError::UnknownName("bob".into())));
        let new = invited(&mut registry, "bob");
        assert!(registry.admit(&pool, &key(1), &new).is_ok());
        assert_eq!(registry.name_of(&key(1)), Some("bob"), "what it is now");
        registry.invite("alice", InviteId([9; 16]), &InviteSecret([9; 16])).unwrap();
        assert_eq!(
            registry.invite("no blanks", InviteId([8; 16]), &InviteSecret([8; 16])),
            Err(ClientsError::BadName)
        );
    }

    #[test]
    fn pages_have_each_client_once_by_name() {
        let mut registry = Clients::default();
        for name in ["dora", "alice", "eve", "carol", "bob"] {
            invited(&mut registry, name);
        }
        registry.revoke("carol").unwrap();
        let page = |after: Option<&str>, most: usize| {
            let (clients, total) = registry.page(after, most);
            assert_eq!(total, 4);
            clients.into_iter().map(|c| c.name).collect::<Vec<_>>()
        };
        assert_eq!(page(None, 9), ["alice", "bob", "dora", "eve"]);
        assert_eq!(page(None, 2), ["alice", "bob"]);
        assert_eq!(page(Some("bob"), 2), ["dora", "eve"]);
        assert_eq!(page(Some("carol"), 1), ["dora"], "who was shown last may be gone");
        assert!(page(Some("eve"), 2).is_empty() && page(None, 0).is_empty());
    }

    #[test]
    fn a_full_pool_refuses_and_a_revoked_address_is_free() {
        let (mut registry, pool) = (Clients::default(), pool("10.77.0.1/30"));
        let (a, b) = (invited(&mut registry, "a"), invited(&mut registry, "b"));
        let (first, _) = registry.admit(&pool, &key(1), &a).unwrap();
        assert_eq!(registry.admit(&pool, &key(2), &b).unwrap_err(), Refusal::PoolFull);
        registry.revoke("a").unwrap();
        assert_eq!(registry.admit(&pool, &key(2), &b).unwrap().0.ipv4, first.ipv4);
    }

    #[test]
    fn without_addresses_each_client_has_a_device_that_it_keeps_until_it_is_revoked() {
        let (mut registry, pool) = (Clients::default(), Pool::none());
        let hellos = ["a", "b", "c"].map(|name| invited(&mut registry, name));
        let device = |registry: &mut Clients, n: usize| {
            registry.admit(&pool, &key(n as u8), &hellos[n]).map(|a| (a.0.device, a.1))
        };
        assert_eq!([0, 1].map(|n| device(&mut registry, n)), [Ok((0, true)), Ok((1, true))]);
        let text = serde_json::to_string(&registry).unwrap();
        let mut registry: Clients = serde_json::from_str(&text).unwrap();
        assert_eq!([1, 0].map(|n| device(&mut registry, n)), [Ok((1, false)), Ok((0, false))]);
        registry.revoke("a").unwrap();
        assert_eq!([2, 1].map(|n| device(&mut registry, n)), [Ok((0, true)), Ok((1, false))]);
        let routed = self::pool("10.77.0.1/24");
        let (moved, changed) = registry.admit(&routed, &key(1), &hellos[1]).unwrap();
        assert_eq!((moved.device, changed), (0, true), "with addresses all have one device");
    }

    #[test]
    fn a_network_behind_a_client_is_its_own_until_it_is_revoked() {
        let pool = Pool::new(&["2001:db8:100::1/62".parse().unwrap()]).unwrap();
        let mut registry = Clients::default();
        let hellos = ["a", "b", "c", "d"].map(|name| invited(&mut registry, name));
        let admit = |registry: &mut Clients, pool: &Pool, n: usize| {
            let (admission, changed) = registry.admit(pool, &key(n as u8), &hellos[n]).unwrap();
            (admission.ipv6.unwrap().client.to_string(), changed)
        };
        let again = |registry: &Clients| -> Clients {
            serde_json::from_str(&serde_json::to_string(registry).unwrap()).unwrap()
        };
        let is = |address: &str, changed: bool| (address.to_owned(), changed);
        assert_eq!(admit(&mut registry, &pool, 0), is("2001:db8:100::2", true), "without networks");
        let pool = pool.delegating();
        for n in 0..3 {
            let own = format!("2001:db8:100:{}::7277", n + 1);
            assert_eq!(admit(&mut registry, &pool, n), is(&own, true));
            assert_eq!(admit(&mut registry, &pool, n), is(&own, false), "the same when it comes again");
        }
        let mut registry = again(&registry);
        assert_eq!(admit(&mut registry, &pool, 1), is("2001:db8:100:2::7277", false), "after a restart, too");
        // None is left for the last. It keeps its address while this process runs.
        assert_eq!(admit(&mut registry, &pool, 3), is("2001:db8:100::2", true));
        registry.revoke("b").unwrap();
        assert_eq!(admit(&mut registry, &pool, 3), is("2001:db8:100::2", false));
        let mut registry = again(&registry);
        assert_eq!(admit(&mut registry, &pool, 3), is("2001:db8:100:2::7277", true), "b's is free");
    }

    #[test]
    fn an_address_that_two_have_in_the_file_is_the_first_ones() {
        for (pool, shared) in [(pool("10.77.0.1/24"), "10.77.0.3"), (Pool::none(), "\"device\":1")] {
            let mut registry = Clients::default();
            let hellos = ["a", "b"].map(|name| invited(&mut registry, name));
            let admit =
                |registry: &mut Clients, n: usize| registry.admit(&pool, &key(n as u8), &hellos[n]).unwrap();
            let first = [0, 1].map(|n| admit(&mut registry, n).0);
            let text = serde_json::to_string(&registry).unwrap();
            assert!(text.contains(shared), "{text}");
            let same = text.replace(shared, &shared.replace(".3", ".2").replace(":1", ":0"));
            let mut registry: Clients = serde_json::from_str(&same).unwrap();
            // The second comes first, and has what is free.
            assert_eq!(
                [1, 0].map(|n| admit(&mut registry, n)),
                [(first[1].clone(), true), (first[0].clone(), false)]
            );
        }
    }

    #[test]
    fn what_is_looked_up_is_what_a_walk_along_all_would_find() {
        let mut rng = StdRng::seed_from_u64(2026);
        let pools = [pool("10.77.0.1/28"), pool("10.77.0.1/29"), pool("10.99.0.1/28"), Pool::none()];
        let (mut registry, mut hellos, mut in_force) = (Clients::default(), Vec::new(), 0);
        let mut outcomes = BTreeMap::<String, usize>::new();
        for n in 0..4000u32 {
            let name = format!("c{}", rng.random_range(0..12));
            let outcome = match rng.random_range(0..20) {
                0..4 => {
                    let mut bytes = [0; 16];
                    bytes[..4].copy_from_slice(&n.to_be_bytes());
                    let (invite, secret) = (InviteId(bytes), InviteSecret(bytes));
                    let done = registry.invite(&name, invite, &secret);
                    hellos.push(hello(invite, secret));
                    done.map(|()| "invited").map_err(|_| "name taken")
                }
                4 => Ok("taken back").inspect(|_| registry.uninvite(&name)),
                5 => registry.revoke(&name).map(|_| "revoked").map_err(|_| "no such name"),
                6 => {
                    in_force = rng.random_range(0..pools.len());
                    let text = serde_json::to_string(&registry).unwrap();
                    registry = serde_json::from_str(&text).unwrap();
                    Ok("restarted")
                }
                _ if hellos.is_empty() => continue,
                _ => {
                    let back = rng.random_range(1..=hellos.len().min(20));
                    let hello = &hellos[hellos.len() - back];
                    let came = registry.admit(&pools[in_force], &key(rng.random_range(0..20)), hello);
                    match came {
                        Ok((_, true)) => Ok("given addresses"),
                        Ok((_, false)) => Ok("known"),
                        Err(Refusal::PoolFull) => Err("pool full"),
                        Err(Refusal::Revoked) => Err("revoked before"),
                        Err(Refusal::TokenInUse) => Err("another's"),
                        Err(_) => Err("unknown"),
                    }
                }
            };
            *outcomes.entry(outcome.unwrap_or_else(|e| e).to_owned()).or_default() += 1;
            assert_eq!(registry.index, Index::of(&registry.clients), "after {outcome:?}");
            let may_come: Vec<&Client> = registry.clients.iter().filter(|c| !c.revoked).collect();
            for client in &may_come {
                let same = |c: &&&Client| c.key.is_some() && c.key == client.key;
                assert_eq!(may_come.iter().filter(same).count(), usize::from(client.key.is_some()));
                let key = client.key.map(|k| registry.name_of(&k.0));
                assert!(key.is_none_or(|name| name == Some(&client.name)));
                if pools[in_force].has_addresses() && client.ipv4.is_some_and(|a| pools[in_force].holds_v4(a))
                {
                    assert_eq!(may_come.iter().filter(|c| c.ipv4 == client.ipv4).count(), 1);
                }
            }
        }
        assert_eq!(outcomes.len(), 12, "all that can happen happened: {outcomes:?}");
    }

    #[test]
    fn another_network_gives_new_addresses() {
        let mut registry = Clients::default();
        let hello = invited(&mut registry, "alice");
        registry.admit(&pool("10.77.0.1/24"), &key(1), &hello).unwrap();
        let (moved, changed) = registry.admit(&pool("10.99.0.1/24"), &key(1), &hello).unwrap();
        assert!(changed && moved.ipv4.client == Ipv4Addr::new(10, 99, 0, 2) && moved.ipv6.is_some());
    }
}
