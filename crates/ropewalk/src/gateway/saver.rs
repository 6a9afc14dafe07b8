//! Writing the book to the disk on a thread of its own: flushing takes milliseconds, which no packet should wait for.

use crate::state::StateDir;
use crate::state::clients::{Clients, FILE};
use anyhow::Context;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

enum Order {
    Save(Box<Clients>),
    SaveAndTell(Box<Clients>, SyncSender<anyhow::Result<()>>),
}

/// The thread that writes; dropping it waits until everything is written.
#[derive(Debug)]
pub struct Saver {
    orders: Mutex<Option<Sender<Order>>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Order")
    }
}

impl Saver {
    /// Starts the thread.
    pub fn start(dir: StateDir) -> anyhow::Result<Saver> {
        let (orders, inbox) = channel();
        let thread = std::thread::Builder::new().name("saver".into()).spawn(move || work(&dir, &inbox));
        let thread = thread.context("a thread cannot be started")?;
        Ok(Saver { orders: Mutex::new(Some(orders)), thread: Some(thread) })
    }

    /// Writes the book in a while.
    pub fn save_soon(&self, clients: Clients) {
        self.order(Order::Save(Box::new(clients)));
    }

    /// Writes the book, and returns when that is done.
    pub fn save_now(&self, clients: Clients) -> anyhow::Result<()> {
        let (tell, told) = sync_channel(1);
        self.order(Order::SaveAndTell(Box::new(clients), tell));
        told.recv().context("the daemon is stopping")?
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &*self.orders.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = orders.send(order);
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Books are whole, so of several that wait only the newest is written.
fn work(dir: &StateDir, inbox: &Receiver<Order>) {
    while let Ok(first) = inbox.recv() {
        let (mut newest, mut waiting) = unpack(first);
        while let Ok(next) = inbox.try_recv() {
            let (book, tell) = unpack(next);
            newest = book;
            waiting.extend(tell);
        }
        let outcome = dir.write_json(FILE, &*newest);
        if let Err(error) = &outcome {
            tracing::error!("{error:#}: clients that came just now will not be known after a restart");
        }
        for tell in waiting {
            let told = outcome.as_ref().map(|()| ()).map_err(|e| anyhow::anyhow!("{e:#}"));
            let _ = tell.send(told);
        }
    }
}

fn unpack(order: Order) -> (Box<Clients>, Vec<SyncSender<anyhow::Result<()>>>) {
    match order {
        Order::Save(book) => (book, Vec::new()),
        Order::SaveAndTell(book, tell) => (book, vec![tell]),
    }
}
