//! The journal as several threads have it, and the thread that puts back what others took away of
//! this machine's firewall and rules of routing.
//!
//! Whoever flushes the firewall (`nft flush ruleset`, a restart of nftables.service) takes the
//! tables of all programs along; `nft flush chain` empties one of ours. The kernel tells of it at
//! once; and each second it is looked where it does not, as of rules of routing.

use crate::daemon::Lost;
use crate::state::StateDir;
use anyhow::Context;
use ropewalk_net::clock;
use ropewalk_net::poll::{Events, Interest, Poller};
use ropewalk_net::setup::{Change, Journal, SetupError, TableWatch, keep_held_back, keep_rules, keep_tables};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked where nobody tells of anything: rules of routing, and a kernel that does
/// not tell.
const LOOK: Duration = Duration::from_secs(1);
/// The least time between two looks. Up to [`LOOK`] it doubles while one follows upon another:
/// somebody may flush the firewall all the time.
const PAUSE: Duration = Duration::from_millis(50);

/// The journal of a state directory. What a killed predecessor left is taken back, but for what `stays`.
pub(crate) fn open_journal(dir: &StateDir, stays: impl Fn(&Change) -> bool) -> anyhow::Result<Journal> {
    let (journal, left_behind) = Journal::open_in(dir.handle()?, dir.path(), stays)?;
    if left_behind > 0 {
        tracing::info!(changes = left_behind, "took back what an earlier run had left behind");
    }
    Ok(journal)
}

/// A journal, until the daemon's end takes it back.
pub(crate) type SharedJournal = Arc<Mutex<Option<Journal>>>;

/// A journal that other threads have as well. It ends with this all the same, also on the way out
/// of a panic.
#[derive(Debug)]
pub(crate) struct TakesBack(SharedJournal);

impl TakesBack {
    pub(crate) fn new(journal: Journal) -> TakesBack {
        TakesBack(Arc::new(Mutex::new(Some(journal))))
    }

    /// For others.
    pub(crate) fn shared(&self) -> &SharedJournal {
        &self.0
    }

    /// Takes back what was changed.
    pub(crate) fn restore(self) -> Result<(), SetupError> {
        let journal = lock(&self.0).take();
        journal.map_or(Ok(()), Journal::restore)
    }
}

impl Drop for TakesBack {
    fn drop(&mut self) {
        drop(lock(&self.0).take());
    }
}

fn lock(journal: &SharedJournal) -> MutexGuard<'_, Option<Journal>> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the journal, which is there until the daemon ends.
pub(crate) fn with<T>(journal: &SharedJournal, work: impl FnOnce(&mut Journal) -> T) -> anyhow::Result<T> {
    Ok(work(lock(journal).as_mut().context("the daemon is stopping")?))
}

/// What is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// A gateway's device, whose clients are held back by rules of routing.
    pub device: Option<String>,
    /// What happens while rules of routing are gone; none: others look after them.
    pub without_rules: Option<&'static str>,
    /// What happens while tables of the firewall are.
    pub without_tables: &'static str,
}

/// Starts the thread. It ends with the journal.
pub(crate) fn keep(journal: &SharedJournal, kept: Kept) -> anyhow::Result<()> {
    let journal = Arc::clone(journal);
    let thread = std::thread::Builder::new().name("firewall".into());
    thread.spawn(move || work(&journal, &kept)).context("a thread cannot be started").map(drop)
}

fn work(journal: &SharedJournal, kept: &Kept) {
    let mut events = TableEvents::new();
    let (mut rules, mut tables) = (Lost::rules(), Lost::tables());
    // The first look is soon: what was taken away before this listened was not heard.
    let (mut until, mut is_due) = (Some(LOOK), true);
    let mut pause = PAUSE;
    loop {
        let ready = Instant::now();
        is_due |= events.wait(until);
        pause = next_pause(pause, ready.elapsed());
        let (held, back) = match &mut *lock(journal) {
            Some(journal) => {
                let held = match (kept.without_rules, &kept.device) {
                    (None, _) => Ok(0),
                    (_, Some(device)) => keep_held_back(journal, device),
                    (_, None) => keep_rules(journal),
                };
                // All rules are listed for that: not each second for the sake of those of routing.
                (held, if is_due { keep_tables(journal) } else { Ok(0) })
            }
            // The daemon is stopping.
            None => return,
        };
        is_due = back.is_err();
        let waits_for_event = kept.without_rules.is_none() && !is_due;
        until = if waits_for_event { None } else { Some(LOOK) };
        rules.say(held, kept.without_rules.unwrap_or_default(), clock::now());
        tables.say(back, kept.without_tables, clock::now());
        std::thread::sleep(pause);
    }
}

/// How long nobody looks after this look, which had been waited for so long.
fn next_pause(last: Duration, waited: Duration) -> Duration {
    if waited >= LOOK { PAUSE } else { (last * 2).min(LOOK) }
}

/// What the kernel tells; nothing where it does not.
struct TableEvents(Option<(TableWatch, Poller)>);

impl TableEvents {
    fn new() -> TableEvents {
        let watch = || {
            let (watch, poller) = (TableWatch::new()?, Poller::new()?);
            poller.add(&watch, 0, Interest::Read)?;
            std::io::Result::Ok((watch, poller))
        };
        let watch = watch();
        if let Err(error) = &watch {
            tracing::debug!(%error, "the kernel does not tell who flushes the firewall: it is looked each second");
        }
        TableEvents(watch.ok())
    }

    /// Until something of ours may be gone, which is true, or this time is over; without an end only
    /// where the kernel tells.
    fn wait(&mut self, limit: Option<Duration>) -> bool {
        let until = limit.map(|limit| Instant::now() + limit);
        let mut events = Events::new(1);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let Some((watch, poller)) = &mut self.0 else {
                std::thread::sleep(left.unwrap_or(LOOK));
                return true;
            };
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            let outcome = poller.wait(&mut events, left).and_then(|()| watch.take_events());
            match outcome {
                Ok(false) => {}
                Ok(true) => return true,
                Err(error) => {
                    tracing::debug!(%error, "the kernel's events of the firewall");
                    self.0 = None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_kernel_tells_nothing_something_may_be_gone_each_time() {
        assert!(TableEvents(None).wait(Some(Duration::ZERO)));
    }

    #[test]
    fn looks_are_a_second_apart_however_fast_others_flush_the_firewall() {
        let mut pause = PAUSE;
        let mut after = |waited| {
            pause = next_pause(pause, waited);
            pause.as_millis()
        };
        let busy: Vec<u128> = (0..6).map(|_| after(Duration::ZERO)).collect();
        assert_eq!(busy, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(after(LOOK), 50, "a quiet second ends that");
    }
}
