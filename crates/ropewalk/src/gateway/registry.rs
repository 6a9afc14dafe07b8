//! The book of clients as the engine and the control socket share it.

use super::saver::Saver;
use crate::state::clients::Clients;
use crate::state::pool::Pool;
use ropewalk_bond::api::{Admission, Registry};
use ropewalk_bond::session::{ClientHello, PublicKey, Refusal};
use std::sync::{Arc, Mutex, PoisonError};

/// The book, the addresses it gives out, and who writes it to the disk.
#[derive(Debug)]
pub struct Book {
    clients: Mutex<Clients>,
    pool: Pool,
    saver: Saver,
}

/// A handle on the one book.
#[derive(Clone, Debug)]
pub struct SharedBook(Arc<Book>);

impl SharedBook {
    /// Shares a book.
    pub fn new(clients: Clients, pool: Pool, saver: Saver) -> SharedBook {
        SharedBook(Arc::new(Book { clients: Mutex::new(clients), pool, saver }))
    }

    /// Looks something up.
    pub fn read<T>(&self, look: impl FnOnce(&Clients) -> T) -> T {
        look(&self.0.clients.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes something, and returns when the change is on the disk.
    pub fn change<T>(&self, change: impl FnOnce(&mut Clients) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let (outcome, copy) = {
            let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = change(&mut clients)?;
            (outcome, clients.clone())
        };
        self.0.saver.save_now(copy)?;
        Ok(outcome)
    }
}

impl Registry for SharedBook {
    fn admit(&mut self, client: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let (admission, changed) = clients.admit(&self.0.pool, client, hello).inspect_err(|refusal| {
            tracing::info!(%client, ?refusal, "a device was refused");
        })?;
        if changed {
            self.0.saver.save_soon(clients.clone());
        }
        Ok(admission)
    }
}
