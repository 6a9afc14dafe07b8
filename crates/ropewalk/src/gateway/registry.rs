//! The book of clients as the engine and the control socket share it.

use crate::state::StateDir;
use crate::state::clients::{Clients, FILE};
use crate::state::pool::Pool;
use crate::state::saver::Saver;
use ropewalk_bond::api::{Admission, Registry};
use ropewalk_bond::session::{ClientHello, PublicKey, Refusal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle on the one book, the addresses it gives out, and who writes it to the disk.
#[derive(Clone, Debug)]
pub struct SharedBook {
    clients: Arc<Mutex<Clients>>,
    pool: Pool,
    saver: Arc<Saver>,
}

impl SharedBook {
    /// The book in `dir`; empty at first.
    pub fn open(dir: &StateDir, pool: Pool) -> anyhow::Result<SharedBook> {
        let clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
        let clients = Arc::new(Mutex::new(clients));
        let copy = Arc::clone(&clients);
        let saver = Saver::start(dir.clone(), FILE, move || serde_json::to_vec_pretty(&*lock(&copy)))?;
        Ok(SharedBook { clients, pool, saver: Arc::new(saver) })
    }

    /// Looks something up.
    pub fn read<T>(&self, look: impl FnOnce(&Clients) -> T) -> T {
        look(&lock(&self.clients))
    }

    /// Changes something, and returns when the change is on the disk.
    pub fn change<T>(&self, change: impl FnOnce(&mut Clients) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let outcome = change(&mut lock(&self.clients))?;
        self.saver.save_now()?;
        Ok(outcome)
    }
}

fn lock(clients: &Mutex<Clients>) -> MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry for SharedBook {
    fn admit(&mut self, client: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let admitted = lock(&self.clients).admit(&self.pool, client, hello);
        let (admission, changed) = admitted.inspect_err(|refusal| {
            tracing::info!(%client, ?refusal, "a device was refused");
        })?;
        if changed {
            self.saver.save_soon();
        }
        Ok(admission)
    }
}
