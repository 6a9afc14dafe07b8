//! Writing a file on a thread of its own: flushing to the disk takes milliseconds, which no packet should wait for.

use super::StateDir;
use anyhow::Context;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long something is kept back for which nobody waits.
const SOON: Duration = Duration::from_millis(100);

/// Who wants to know when it is written; `None` if nobody.
type Order = Option<SyncSender<anyhow::Result<()>>>;

/// The thread that writes one file; dropping it waits until everything is written.
#[derive(Debug)]
pub struct Saver {
    orders: Mutex<Option<Sender<Order>>>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts the thread for a file whose contents are `contents()` at the time of writing.
    pub fn start(
        dir: StateDir,
        file: &'static str,
        contents: impl Fn() -> serde_json::Result<Vec<u8>> + Send + 'static,
    ) -> anyhow::Result<Saver> {
        let (orders, inbox) = channel();
        let thread = std::thread::Builder::new().name("saver".into());
        let thread = thread.spawn(move || work(&dir, file, &contents, &inbox));
        let thread = thread.context("a thread cannot be started")?;
        Ok(Saver { orders: Mutex::new(Some(orders)), thread: Some(thread) })
    }

    /// Writes the file in a while: a tenth of a second, and at the latest when the daemon ends.
    pub fn save_soon(&self) {
        self.order(None);
    }

    /// Writes the file, and returns when that is done.
    pub fn save_now(&self) -> anyhow::Result<()> {
        let (tell, told) = sync_channel(1);
        self.order(Some(tell));
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

/// An order and those that come with it. Nobody waits for a thousand clients to be written down one by one.
fn gather(first: Order, inbox: &Receiver<Order>) -> Vec<Order> {
    let until = Instant::now() + SOON;
    let mut waiting = vec![first];
    while waiting.iter().all(Option::is_none)
        && let Ok(order) = inbox.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        waiting.push(order);
    }
    waiting.extend(inbox.try_iter());
    waiting
}

/// Orders that wait are served together.
fn work(
    dir: &StateDir,
    file: &'static str,
    contents: &impl Fn() -> serde_json::Result<Vec<u8>>,
    inbox: &Receiver<Order>,
) {
    while let Ok(first) = inbox.recv() {
        let waiting = gather(first, inbox);
        let outcome = contents().map_err(Into::into).and_then(|bytes| dir.write(file, &bytes));
        if let Err(error) = &outcome {
            tracing::error!("{error:#}: what changed just now will not be known after a restart");
        }
        for tell in waiting.into_iter().flatten() {
            let told = match &outcome {
                Ok(()) => Ok(()),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            let _ = tell.send(told);
        }
    }
}
