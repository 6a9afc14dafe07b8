//! The client registry as the engine and the control socket share it.

use crate::config::RoutedSubnets;
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE};
use crate::state::pool::Pool;
use crate::state::saver::Saver;
use ipnet::IpNet;
use ropewalk_bond::api::{Admission, Registry};
use ropewalk_session::{BackhaulEnd, ClientHello, PublicKey, Refusal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle on the one registry, the addresses it gives out, and who writes it to the disk.
#[derive(Clone, Debug)]
pub(crate) struct SharedClients {
    clients: Arc<Mutex<Clients>>,
    pool: Pool,
    saver: Arc<Saver>,
    /// Networks that may lie behind clients, by their names.
    networks: Arc<BTreeMap<String, Vec<IpNet>>>,
}

impl SharedClients {
    /// The registry in `dir`; empty at first.
    pub(crate) fn open(dir: &StateDir, pool: Pool) -> anyhow::Result<SharedClients> {
        let clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
        let clients = Arc::new(Mutex::new(clients));
        let copy = Arc::clone(&clients);
        let saver = Saver::start(dir.clone(), FILE, move || serde_json::to_vec_pretty(&*lock(&copy)))?;
        Ok(SharedClients { clients, pool, saver: Arc::new(saver), networks: Arc::default() })
    }

    /// The same, where networks may lie behind some clients.
    #[must_use]
    pub(crate) fn with_networks(mut self, behind: &[RoutedSubnets]) -> SharedClients {
        let mut all = BTreeMap::<String, Vec<IpNet>>::new();
        behind.iter().for_each(|b| all.entry(b.name.clone()).or_default().extend(&b.networks));
        self.networks = Arc::new(all);
        self
    }

    /// The networks that a client says it has, as far as they are expected.
    fn expected(&self, name: Option<&str>, hello: &ClientHello) -> Result<Vec<IpNet>, Refusal> {
        let told = BackhaulEnd::of(&hello.extensions).map(|h| h.networks).unwrap_or_default();
        let known = name.and_then(|n| self.networks.get(n)).map_or(&[][..], Vec::as_slice);
        let is_known = |n: &IpNet| known.iter().any(|k| k.trunc().contains(n));
        if told.iter().all(is_known) { Ok(told) } else { Err(Refusal::Network) }
    }

    /// Looks something up.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Clients) -> T) -> T {
        look(&lock(&self.clients))
    }

    /// Changes something, for now in memory only.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Clients) -> T) -> T {
        change(&mut lock(&self.clients))
    }

    /// Returns when the registry is on the disk.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        self.saver.save_now()
    }
}

fn lock(clients: &Mutex<Clients>) -> MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry for SharedClients {
    fn admit(&mut self, client: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let admitted = lock(&self.clients).admit(&self.pool, client, hello);
        let said = |refusal: &Refusal| tracing::info!(%client, ?refusal, "a device was refused");
        let (admission, changed) = admitted.inspect_err(said)?;
        if changed {
            self.saver.save_soon();
        }
        let name = self.read(|clients| clients.name_of(client).map(str::to_owned));
        let networks = self.expected(name.as_deref(), hello).inspect_err(said)?;
        Ok(Admission { networks, ..admission })
    }
}
