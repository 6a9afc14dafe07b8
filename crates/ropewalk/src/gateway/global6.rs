//! Clients whose IPv6 addresses the world sees: this machine goes on answering for those that there
//! are.
//!
//! The kernel is asked on a thread, a few times a second at most: a client's coming costs the data
//! loop one wish, of which one is as good as many.

use super::SharedClients;
use super::grants::SharedJournal;
use anyhow::Context;
use ropewalk_net::setup::{Answers, Change, GlobalNetwork, NeighbourProxies};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How often it is looked whether the interface is still the same.
const LOOK: Duration = Duration::from_secs(5);
/// The least time between two looks, each of which costs time for every client.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps a machine answering.
#[derive(Debug)]
pub(crate) struct Global6 {
    wake: SyncSender<()>,
    anew: Arc<AtomicBool>,
}

struct Work {
    journal: SharedJournal,
    clients: SharedClients,
    global: GlobalNetwork,
    answers: Option<Answers>,
    anew: Arc<AtomicBool>,
    /// It did not work the last time, which was said.
    failed: bool,
}

impl Global6 {
    /// Answers for those who are known; without proxies the network is routed here, and nobody
    /// asks.
    pub(crate) fn start(
        journal: &SharedJournal,
        clients: SharedClients,
        (global, proxies): (GlobalNetwork, Option<NeighbourProxies>),
    ) -> anyhow::Result<Global6> {
        let (wake, wishes) = sync_channel(1);
        let anew = Arc::new(AtomicBool::new(false));
        let (journal, answers, theirs) = (Arc::clone(journal), proxies.map(Answers::new), Arc::clone(&anew));
        let work = Work { journal, clients, global, answers, anew: theirs, failed: false };
        let thread = std::thread::Builder::new().name("global6".into());
        thread.spawn(move || work.run(&wishes)).context("a thread cannot be started")?;
        let global6 = Global6 { wake, anew };
        global6.look();
        Ok(global6)
    }

    /// A client came, or is no more. For the data loop.
    pub(crate) fn look(&self) {
        let _ = self.wake.try_send(());
    }

    /// Somebody may have changed the firewall, or the entries. For the data loop.
    pub(crate) fn again(&self) {
        self.anew.store(true, Relaxed);
        self.look();
    }
}

impl Work {
    fn run(mut self, wishes: &Receiver<()>) {
        loop {
            let wish = wishes.recv_timeout(LOOK);
            let waited = wish.is_err();
            match wish {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let anew = self.anew.swap(false, Relaxed);
            let outcome = self.put(anew, waited);
            if outcome.is_err() && anew {
                // It is tried again at the next look.
                self.anew.store(true, Relaxed);
            }
            if let Err(error) = &outcome
                && !self.failed
            {
                tracing::error!("clients' IPv6 addresses are not reached as they should be: {error:#}");
            }
            self.failed = outcome.is_err();
            std::thread::sleep(PAUSE);
        }
    }

    /// Puts all in force `anew`, or what lacks; where nobody wished it, clients are as they were.
    fn put(&mut self, anew: bool, waited: bool) -> anyhow::Result<()> {
        // The journal is held: what its end takes back is not made anew behind it.
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = journal.as_mut() else { return Ok(()) };
        if anew {
            let table = Change::GlobalNetwork(self.global.clone());
            journal.replace(&table, table.clone())?;
        }
        let Some(answers) = &mut self.answers else { return Ok(()) };
        if waited && !anew && !answers.are_lost() {
            return Ok(());
        }
        let known = self.clients.known();
        let inside = known.iter().flat_map(|c| &c.inside).filter_map(|address| match address {
            IpAddr::V6(address) if self.global.network.contains(address) => Some(*address),
            _ => None,
        });
        Ok(answers.keep(&inside.collect::<BTreeSet<Ipv6Addr>>(), anew)?)
    }
}
