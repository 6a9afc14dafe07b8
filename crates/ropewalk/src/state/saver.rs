//! Writing a file on a thread of its own: flushing to the disk takes milliseconds, which no packet should wait for.

use super::StateDir;
use anyhow::Context;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long something is kept back for which nobody waits.
const SOON: Duration = Duration::from_millis(100);
/// What could not be written is tried again this often: a full disk does not stay full.
const AGAIN: Duration = Duration::from_secs(10);

/// Who wants to know when it is written; `None` if nobody.
type Order = Option<SyncSender<anyhow::Result<()>>>;

/// The thread that writes one file; dropping it waits until everything is written.
#[derive(Debug)]
pub(crate) struct Saver {
    orders: Mutex<Option<Sender<Order>>>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts the thread for a file whose contents are `contents()` at the time of writing.
    pub(crate) fn start(
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
    pub(crate) fn save_soon(&self) {
        self.order(None);
    }

    /// Writes the file, and returns when that is done.
    pub(crate) fn save_now(&self) -> anyhow::Result<()> {
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

/// Orders that wait are served together. What could not be written is owed, and tried again until it is.
fn work(
    dir: &StateDir,
    file: &'static str,
    contents: &impl Fn() -> serde_json::Result<Vec<u8>>,
    inbox: &Receiver<Order>,
) {
    let mut owed = false;
    loop {
        let first = if owed { inbox.recv_timeout(AGAIN) } else { inbox.recv().map_err(Into::into) };
        let (waiting, ends) = match first {
            Ok(first) => (gather(first, inbox), false),
            Err(RecvTimeoutError::Timeout) => (Vec::new(), false),
            Err(RecvTimeoutError::Disconnected) if owed => (Vec::new(), true),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let outcome = contents().map_err(Into::into).and_then(|bytes| dir.write(file, &bytes));
        match (&outcome, owed) {
            (Err(error), false) => {
                tracing::error!(
                    "{error:#}: what changed just now will not be known after a restart; trying again"
                );
            }
            (Ok(()), true) => tracing::info!("{file} is written"),
            _ => {}
        }
        owed = outcome.is_err();
        for tell in waiting.into_iter().flatten() {
            let told = match &outcome {
                Ok(()) => Ok(()),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            let _ = tell.send(told);
        }
        if ends {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    #[test]
    fn what_could_not_be_written_is_written_at_the_end() {
        let scratch = Scratch::new();
        let in_the_way = scratch.0.path().join("file.new");
        std::fs::create_dir(&in_the_way).unwrap();
        let saver = Saver::start(scratch.0.clone(), "file", || Ok(b"[]".to_vec())).unwrap();
        let error = format!("{:#}", saver.save_now().unwrap_err());
        assert!(error.contains("cannot be written"), "{error}");
        assert_eq!(scratch.0.read("file").unwrap(), None);
        std::fs::remove_dir(in_the_way).unwrap();
        drop(saver);
        assert_eq!(scratch.0.read("file").unwrap().as_deref(), Some("[]"));
    }
}
