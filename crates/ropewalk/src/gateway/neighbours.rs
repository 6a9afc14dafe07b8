//! Clients whose IPv6 addresses neighbours of this machine ask for: it goes on answering for those
//! that there are.
//!
//! The kernel is asked on a thread, a few times a second at most: a client's coming costs the data
//! loop one wish, of which one is as good as many.

use super::SharedClients;
use crate::firewall::SharedJournal;
use anyhow::Context;
use ipnet::Ipv6Net;
use ropewalk_net::setup::{Answers, NeighbourProxies};
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
pub(crate) struct Neighbours {
    wake: SyncSender<()>,
    anew: Arc<AtomicBool>,
}

struct Work {
    journal: SharedJournal,
    clients: SharedClients,
    network: Ipv6Net,
    answers: Answers,
    anew: Arc<AtomicBool>,
    /// It did not work the last time, which was said.
    failed: bool,
}

impl Neighbours {
    /// Answers for those who are known.
    pub(crate) fn start(
        journal: &SharedJournal,
        clients: SharedClients,
        proxies: NeighbourProxies,
    ) -> anyhow::Result<Neighbours> {
        let (wake, wishes) = sync_channel(1);
        let anew = Arc::new(AtomicBool::new(false));
        let (journal, theirs, network) = (Arc::clone(journal), Arc::clone(&anew), proxies.network);
        let answers = Answers::new(proxies);
        let work = Work { journal, clients, network, answers, anew: theirs, failed: false };
        let thread = std::thread::Builder::new().name("neighbours".into());
        thread.spawn(move || work.run(&wishes)).context("a thread cannot be started")?;
        let neighbours = Neighbours { wake, anew };
        neighbours.look();
        Ok(neighbours)
    }

    /// A client came, or is no more. For the data loop.
    pub(crate) fn look(&self) {
        let _ = self.wake.try_send(());
    }

    /// Somebody may have changed the entries. For the data loop.
    pub(crate) fn again(&self) {
        self.anew.store(true, Relaxed);
        self.look();
    }
}

impl Work {
    fn run(mut self, wishes: &Receiver<()>) {
        loop {
            let waited = match wishes.recv_timeout(LOOK) {
                Ok(()) => false,
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let anew = self.anew.swap(false, Relaxed);
            let outcome = self.put(anew, waited);
            if outcome.is_err() && anew {
                // It is tried again at the next look.
                self.anew.store(true, Relaxed);
            }
            if let Err(error) = &outcome
                && !self.failed
            {
                tracing::error!("neighbours are not answered for clients' IPv6 addresses: {error:#}");
            }
            self.failed = outcome.is_err();
            std::thread::sleep(PAUSE);
        }
    }

    /// Answers for all `anew`, or for those who came; where nobody wished it, clients are as they
    /// were.
    fn put(&mut self, anew: bool, waited: bool) -> anyhow::Result<()> {
        // The journal is held: what its end takes back is not made anew behind it.
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if journal.is_none() || (waited && !anew && !self.answers.are_lost()) {
            return Ok(());
        }
        let known = self.clients.inside_of_all();
        let inside = known.iter().flat_map(|c| &c.inside).filter_map(|address| match address {
            IpAddr::V6(address) if self.network.contains(address) => Some(*address),
            _ => None,
        });
        Ok(self.answers.keep(&inside.collect::<BTreeSet<Ipv6Addr>>(), anew)?)
    }
}
