//! The state directory of one gateway: the registry in memory, and who writes it down.

use super::Store;
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE, KnownClient};
use crate::state::pool::Pool;
use crate::state::saver::Saver;
use ropewalk_bond::api::Admission;
use ropewalk_session::{ClientHello, InviteId, InviteSecret, PublicKey, Refusal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The registry of a gateway that is alone.
#[derive(Debug)]
pub(crate) struct Directory {
    clients: Arc<Mutex<Clients>>,
    pool: Pool,
    saver: Saver,
}

impl Directory {
    /// The registry in `dir`; empty at first.
    pub(crate) fn open(dir: &StateDir, pool: Pool) -> anyhow::Result<Directory> {
        let clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
        let clients = Arc::new(Mutex::new(clients));
        let copy = Arc::clone(&clients);
        let saver = Saver::start(dir.clone(), FILE, move || serde_json::to_vec_pretty(&*lock(&copy)))?;
        Ok(Directory { clients, pool, saver })
    }
}

fn lock(clients: &Mutex<Clients>) -> MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for Directory {
    fn admit(&self, key: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let (admission, changed) = lock(&self.clients).admit(&self.pool, key, hello)?;
        if changed {
            self.saver.save_soon();
        }
        Ok(admission)
    }

    fn name_of(&self, key: &PublicKey) -> Option<String> {
        lock(&self.clients).name_of(key).map(str::to_owned)
    }

    fn known(&self) -> Vec<KnownClient> {
        lock(&self.clients).known()
    }

    fn invite(&self, name: &str, id: InviteId, secret: &InviteSecret) -> anyhow::Result<()> {
        lock(&self.clients).invite(name, id, secret)?;
        let saved = self.saver.save_now();
        if saved.is_err() {
            // Nobody has seen the token.
            lock(&self.clients).uninvite(name);
        }
        saved
    }

    fn revoke(&self, name: &str) -> anyhow::Result<Option<PublicKey>> {
        Ok(lock(&self.clients).revoke(name)?)
    }

    fn save(&self) -> anyhow::Result<()> {
        self.saver.save_now()
    }
}
