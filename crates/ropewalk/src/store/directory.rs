//! The state directory of one gateway: the registry and the quotas in memory, and who writes them
//! down.

use super::Store;
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE, KnownClient};
use crate::state::pool::Pool;
use crate::state::quotas::{QUOTAS, Quotas, USED};
use crate::state::saver::Saver;
use jiff::civil::Date;
use ropewalk_bond::api::Admission;
use ropewalk_fleet::{Account, Quota, Usage, today};
use ropewalk_session::{ClientHello, Inner, InviteId, InviteSecret, PublicKey, Refusal};
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often what clients have used is written at most: with what is not handed on yet, less than
/// ten seconds of it are lost with the process.
const WRITE: Duration = Duration::from_secs(5);
/// Bytes that are worth a write; less is written after [`REST`]. An idle gateway spares its disk.
const WORTH: u64 = 1_000_000;
const REST: Duration = Duration::from_secs(300);

/// The registry of a gateway that is alone.
#[derive(Debug)]
pub(crate) struct Directory {
    clients: Arc<Mutex<Clients>>,
    pool: Pool,
    saver: Saver,
    quotas: Arc<Mutex<Quotas>>,
    quota_saver: Saver,
    used_saver: Saver,
    /// What was used since that was written last, bytes.
    unwritten: Mutex<(u64, Instant)>,
}

impl Directory {
    /// The registry in `dir`; empty at first.
    pub(crate) fn open(dir: &StateDir, pool: Pool) -> anyhow::Result<Directory> {
        let clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
        let clients = Arc::new(Mutex::new(clients));
        let quotas = Arc::new(Mutex::new(Quotas::read(dir)?));
        let copy = Arc::clone(&clients);
        let saver = Saver::start(dir.clone(), FILE, move || serde_json::to_vec_pretty(&*lock(&copy)))?;
        let copy = Arc::clone(&quotas);
        let quota_saver =
            Saver::start(dir.clone(), QUOTAS, move || serde_json::to_vec_pretty(lock(&copy).quotas()))?;
        let (copy, names) = (Arc::clone(&quotas), Arc::clone(&clients));
        let used_saver = Saver::start(dir.clone(), USED, move || {
            let known = lock(&names).iter().map(|client| client.name.clone()).collect();
            serde_json::to_vec(lock(&copy).used(&known))
        })?;
        let unwritten = Mutex::new((0, Instant::now()));
        Ok(Directory { clients, pool, saver, quotas, quota_saver, used_saver, unwritten })
    }

    /// What another of that name had is not this one's.
    fn forget_quota(&self, name: &str) {
        if lock(&self.quotas).forget(name) {
            self.quota_saver.save_soon();
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for Directory {
    fn admit(&self, key: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let (admission, changed) = lock(&self.clients).admit(&self.pool, key, hello)?;
        if changed {
            self.saver.save_soon();
            let lacks_network = |v6: Inner<Ipv6Addr>| self.pool.network_behind(v6.client).is_none();
            if self.pool.delegates() && admission.ipv6.is_none_or(lacks_network) {
                tracing::warn!(
                    client = self.name_of(key),
                    "no network is left for the hosts behind this client: give --address a shorter prefix, or revoke clients that are gone, and restart the gateway"
                );
            }
        }
        Ok(admission)
    }

    fn name_of(&self, key: &PublicKey) -> Option<String> {
        lock(&self.clients).name_of(key).map(str::to_owned)
    }

    fn meters(&self) -> bool {
        lock(&self.quotas).are_some()
    }

    fn used(&self, of: &[(PublicKey, Usage)]) {
        let today = today();
        let count = {
            let clients = lock(&self.clients);
            let mut quotas = lock(&self.quotas);
            let named = of.iter().filter_map(|(key, usage)| Some((clients.name_of(key)?, usage)));
            named.map(|(name, usage)| quotas.count(name, *usage, today)).sum::<u64>()
        };
        let mut unwritten = lock(&self.unwritten);
        unwritten.0 += count;
        let (bytes, since) = (unwritten.0, unwritten.1.elapsed());
        if bytes >= WORTH && since >= WRITE || bytes > 0 && since >= REST {
            *unwritten = (0, Instant::now());
            self.used_saver.save_soon();
        }
    }

    fn known(&self) -> Vec<KnownClient> {
        let mut known = lock(&self.clients).known();
        lock(&self.quotas).tell(&mut known);
        known
    }

    fn page(&self, after: Option<&str>, most: usize) -> (Vec<KnownClient>, usize) {
        let (mut clients, total) = lock(&self.clients).page(after, most);
        lock(&self.quotas).tell(&mut clients);
        (clients, total)
    }

    fn accounts(&self, today: Date) -> Vec<Account> {
        if !self.meters() {
            return Vec::new();
        }
        let (clients, quotas) = (lock(&self.clients), lock(&self.quotas));
        let known = clients.known_of(|name| quotas.quotas().contains_key(name));
        known.iter().filter_map(|client| quotas.account(client, today)).collect()
    }

    fn set_quota(&self, client: &str, quota: Option<Quota>) -> anyhow::Result<()> {
        let known = lock(&self.clients).known();
        let old = lock(&self.quotas).set(client, quota, &known)?;
        let saved = self.quota_saver.save_now();
        if saved.is_err() {
            lock(&self.quotas).put_back(client, old);
        }
        saved
    }

    fn leave(&self) {
        if lock(&self.unwritten).0 > 0
            && let Err(error) = self.used_saver.save_now()
        {
            tracing::warn!("{error:#}: what clients used last is not known after a restart");
        }
    }

    fn invite(&self, name: &str, id: InviteId, secret: &InviteSecret) -> anyhow::Result<()> {
        lock(&self.clients).invite(name, id, secret)?;
        let saved = self.saver.save_now();
        if saved.is_err() {
            // Nobody has seen the token.
            lock(&self.clients).uninvite(name);
            return saved;
        }
        self.forget_quota(name);
        Ok(())
    }

    fn revoke(&self, name: &str) -> anyhow::Result<Option<PublicKey>> {
        let key = lock(&self.clients).revoke(name)?;
        self.forget_quota(name);
        Ok(key)
    }

    fn save(&self) -> anyhow::Result<()> {
        self.saver.save_now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{Scratch, hello};
    use ropewalk_fleet::Period;

    const ALICE: PublicKey = PublicKey([7; 32]);

    fn pool() -> Pool {
        Pool::new(&["10.77.0.1/24".parse().unwrap()]).unwrap()
    }

    /// Invites Alice, and lets her in.
    fn let_in(store: &Directory) {
        let (invite, secret) = (InviteId([1; 16]), InviteSecret([2; 16]));
        store.invite("alice", invite, &secret).unwrap();
        store.admit(&ALICE, &hello(invite, secret)).unwrap();
    }

    fn quota(bytes: u64) -> Option<Quota> {
        Some(Quota { bytes, per: Period::Month, then_bps: None })
    }

    fn over(store: &Directory) -> Vec<(bool, usize)> {
        store.accounts(today()).iter().map(|a| (a.is_over(), a.inside.len())).collect()
    }

    #[test]
    fn what_was_used_outlasts_a_proper_end_and_ends_with_the_revocation() {
        let scratch = Scratch::new();
        let store = Directory::open(&scratch.0, pool()).unwrap();
        let_in(&store);
        assert!(!store.meters() && over(&store).is_empty());
        store.set_quota("alice", quota(1000)).unwrap();
        assert!(store.meters());
        assert!(store.set_quota("eve", quota(1000)).is_err());
        let use_of = |bytes| [(ALICE, Usage { from_client: bytes, to_client: 0 })];
        store.used(&use_of(999));
        store.used(&[(PublicKey([8; 32]), Usage { from_client: 1, to_client: 0 })]);
        assert_eq!(over(&store), [(false, 1)]);
        store.leave();
        drop(store);
        let store = Directory::open(&scratch.0, pool()).unwrap();
        store.used(&use_of(1));
        assert_eq!(over(&store), [(true, 1)], "it goes on after a restart");
        let told = store.known()[0].quota.clone().unwrap();
        assert!(told.is_over() && told.used_bytes == 1000, "{told:?}");
        store.revoke("alice").unwrap();
        assert!(!store.meters());
        drop(store);
        assert!(!Quotas::read(&scratch.0).unwrap().are_some(), "on the disk, too");
    }

    #[test]
    fn a_quota_that_cannot_be_written_is_not_in_force() {
        let scratch = Scratch::new();
        let store = Directory::open(&scratch.0, pool()).unwrap();
        let_in(&store);
        let in_the_way = scratch.0.path().join(format!("{QUOTAS}.new"));
        std::fs::create_dir(&in_the_way).unwrap();
        assert!(store.set_quota("alice", quota(1000)).is_err() && !store.meters());
        std::fs::remove_dir(in_the_way).unwrap();
        store.set_quota("alice", quota(1000)).unwrap();
    }

    #[test]
    fn much_that_was_used_is_written_soon_and_little_is_not() {
        let scratch = Scratch::new();
        let store = Directory::open(&scratch.0, pool()).unwrap();
        let_in(&store);
        store.set_quota("alice", quota(u64::MAX)).unwrap();
        let long_ago = |store: &Directory| lock(&store.unwritten).1 -= WRITE;
        long_ago(&store);
        store.used(&[(ALICE, Usage { from_client: WORTH - 1, to_client: 0 })]);
        assert_eq!(lock(&store.unwritten).0, WORTH - 1);
        store.used(&[(ALICE, Usage { from_client: 1, to_client: 0 })]);
        assert_eq!(lock(&store.unwritten).0, 0, "it is being written");
        store.used(&[(ALICE, Usage { from_client: WORTH, to_client: 0 })]);
        assert_eq!(lock(&store.unwritten).0, WORTH, "not again at once");
        drop(store);
        assert!(scratch.0.read(USED).unwrap().is_some());
    }
}
