//! Keeps the copy true.

use super::served::Written;
use super::state::Anew;
use super::{Evict, GONE, OLD, Shared, State, keep};
use crate::copy::{Change, Copy, Effect};
use crate::etcd::{Ended, KeyValue, StoreError, Watch};
use crate::ledger::Ledger;
use ropewalk_session::PublicKey;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Between a watch that broke and the next; each time twice as long, up to the second.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// A watch that went on for so long was none that breaks at once.
const STEADY: Duration = Duration::from_secs(5);
/// How often it is looked whether a silent watch should have said something.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is said that the store is another, while it stays so.
const SAID: Duration = Duration::from_secs(60);
/// Changes that are taken in while the data loop may not look.
const AT_ONCE: usize = 64;

/// Reads everything anew; sessions that it contradicts end, and those of devices that could come in
/// before and cannot now, whether or not they are known to be here.
pub(super) async fn load(shared: &Arc<Shared>, ledger: &mut Ledger) -> Result<(), StoreError> {
    let asked = Instant::now();
    let mut copy = ledger.copy().await?;
    let before = {
        let mut state = shared.state();
        copy.carry_newer(&state.copy);
        if state.cluster == 0 {
            state.cluster = ledger.caller.cluster;
        }
        if state.anew == Some(Anew::Lapsed) {
            state.anew = None;
        }
        take_over(&mut state, copy, asked)
    };
    end_contradicted(shared, before).await;
    Ok(())
}

/// Reads a store that is another than before, or was set back: nothing of what was known counts.
/// One without this fleet's key is not this fleet's, so far: what is known is kept, and the next
/// look may find it.
async fn load_another(shared: &Arc<Shared>, ledger: &mut Ledger) -> Result<(), StoreError> {
    let asked = Instant::now();
    let copy = ledger.copy().await?;
    let before = {
        let mut state = shared.state();
        state.contact = Instant::now();
        if state.replaced.is_none_or(|at| at.elapsed() >= SAID) {
            tracing::error!(
                "the store was restored from a backup, or is another than before: all of it is read anew"
            );
        }
        state.replaced = Some(Instant::now());
        if copy.key() != state.own_key.as_ref() {
            if std::mem::take(&mut state.has_key) {
                tracing::error!("it has not this fleet's key: what was known before it counts until it has");
            }
            return Ok(());
        }
        state.anew = None;
        state.cluster = ledger.caller.cluster;
        // Who is here is known here, and nobody else has written it into this store.
        state.served.anew();
        take_over(&mut state, copy, asked)
    };
    end_contradicted(shared, before).await;
    shared.work.notify_one();
    Ok(())
}

/// Takes a copy in place of the one that is there, which is returned.
fn take_over(state: &mut State, mut copy: Copy, asked: Instant) -> Copy {
    state.contact = Instant::now();
    state.told = (copy.revision, asked);
    state.forget_sum();
    copy.version = copy.version.max(state.copy.version) + 1;
    std::mem::swap(&mut state.copy, &mut copy);
    state.confirm();
    copy
}

/// Ends the sessions that the new copy contradicts. Of a million devices others have their turn on
/// this thread meanwhile: the lease is to be renewed.
async fn end_contradicted(shared: &Arc<Shared>, before: Copy) {
    let evicted = contradicted(&mut shared.state(), &shared.name);
    shared.evict(evicted);
    look_at_key(shared);
    let mut active = before.active();
    loop {
        let some: Vec<&PublicKey> = active.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let evicted: Vec<Evict> = {
            let state = shared.state();
            let gone = some.into_iter().filter(|key| !state.copy.is_active(key));
            gone.map(|key| Evict::Revoked(*key)).collect()
        };
        shared.evict(evicted);
        tokio::task::yield_now().await;
    }
}

/// Says it when the store has lost the fleet's key, or has it again.
fn look_at_key(shared: &Arc<Shared>) {
    let (was, is) = {
        let mut state = shared.state();
        let is = state.copy.key() == state.own_key.as_ref();
        (std::mem::replace(&mut state.has_key, is), is)
    };
    match (was, is) {
        (true, false) => tracing::error!(
            "the fleet's key is gone from the store, or is another: a gateway that starts now knows no token of this fleet"
        ),
        (false, true) => tracing::info!("the store has the fleet's key again"),
        _ => {}
    }
}

/// Whose sessions a new copy contradicts.
fn contradicted(state: &mut State, own: &str) -> Vec<Evict> {
    let (mut evicted, mut again) = (Vec::new(), Vec::new());
    for (name, mine) in state.served.iter() {
        let client = state.copy.client(name);
        if !client.is_some_and(|c| !c.revoked && c.key == Some(mine.key)) {
            evicted.push(Evict::Revoked(mine.key));
        } else if let Some((by, revision)) = state.copy.server_of(name) {
            if by != own && is_newer(mine.written(), revision) {
                evicted.push(Evict::Elsewhere(mine.key));
            }
        } else if matches!(mine.written(), Written::At(_)) {
            again.push(name.to_owned());
        }
    }
    again.iter().for_each(|name| state.served.mark(name, Written::Again));
    evicted
}

/// Whether what another gateway wrote at `revision` is newer than what this one knows.
fn is_newer(written: Written, revision: i64) -> bool {
    match written {
        Written::Fresh => false,
        Written::Again => true,
        Written::At(own) => revision > own,
    }
}

/// Watches for ever.
pub(super) async fn follow(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    let mut pause = PAUSE;
    loop {
        let begun = Instant::now();
        let is_another = || shared.state().anew == Some(Anew::Another);
        // What another store brings must not get into this copy.
        let ended = if is_another() { Ended::Compacted } else { watch(&shared, &mut ledger).await };
        let error = match ended {
            _ if is_another() => load_another(&shared, &mut ledger).await.err(),
            Ended::Broken(error) => Some(error),
            Ended::Compacted => {
                tracing::info!("the watch cannot bring what came since: reading everything again");
                load(&shared, &mut ledger).await.err()
            }
        };
        if begun.elapsed() >= STEADY {
            pause = PAUSE;
        }
        if let Some(error) = error {
            // A member that went away is no news; one that does not let anybody watch is.
            match &error {
                StoreError::Gone(_) => tracing::debug!(%error, "the watch broke"),
                _ => tracing::warn!(%error, "the store cannot be watched"),
            }
            shared.state().blind = Some(error.to_string());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

async fn watch(shared: &Arc<Shared>, ledger: &mut Ledger) -> Ended {
    match watch_until(shared, ledger).await {
        Ok(never) => match never {},
        Err(ended) => ended,
    }
}

async fn watch_until(shared: &Arc<Shared>, ledger: &mut Ledger) -> Result<std::convert::Infallible, Ended> {
    let (prefix, since) = (&shared.address.prefix, shared.state().copy.revision + 1);
    let keys = ledger.keys.clone();
    let begun = Instant::now();
    let mut watch = Watch::start(&shared.etcd, prefix, since).await?;
    // After it: a restore ends all watches, so this one brings what follows on what is asked about.
    if keep::ask_whether_it_is_another(shared, ledger).await? {
        shared.state().anew = Some(Anew::Another);
        return Err(Ended::Compacted);
    }
    loop {
        let next = timeout(LOOK, watch.next()).await;
        if shared.state().anew.is_some() {
            return Err(Ended::Compacted);
        }
        let Ok(batch) = next else {
            let is_blind = {
                let state = shared.state();
                state.contact.elapsed() < GONE && state.true_at.elapsed() >= OLD && begun.elapsed() >= OLD
            };
            if is_blind {
                // What it kept back may be a revocation, and the next may be as silent.
                tracing::warn!(
                    "the watch says nothing, though the store has changed: reading everything again"
                );
                watch.leave();
                let mut state = shared.state();
                (state.is_dumb, state.blind) = (true, Some("it says nothing".into()));
                return Err(Ended::Compacted);
            }
            continue;
        };
        let batch = batch?;
        let lease = shared.lease();
        let read = |(kv, gone): &(KeyValue, bool)| {
            let is_ours = lease != 0 && kv.lease == lease;
            (Change::read(&keys, kv, *gone), is_ours)
        };
        let mut changes = batch.changes.iter().map(read).peekable();
        while changes.peek().is_some() {
            // Read before the lock is taken.
            let some: Vec<_> = changes.by_ref().take(AT_ONCE).collect();
            let evicted: Vec<Evict> = {
                let mut state = shared.state();
                let consequence = |(change, is_ours)| {
                    let effect = state.copy.apply(change);
                    consequence(&mut state, &shared.name, effect, is_ours)
                };
                some.into_iter().filter_map(consequence).collect()
            };
            shared.evict(evicted);
        }
        {
            let mut state = shared.state();
            (state.contact, state.blind, state.is_dumb) = (Instant::now(), None, false);
            state.copy.reach(batch.revision);
            state.confirm();
        }
        look_at_key(shared);
        shared.work.notify_one();
    }
}

/// What a change means for the sessions here; `is_ours`: it stands under this run's lease.
fn consequence(state: &mut State, own: &str, effect: Effect, is_ours: bool) -> Option<Evict> {
    match effect {
        Effect::Out(key) => Some(Evict::Revoked(key)),
        Effect::Served { client, by } => {
            let mine = state.served.get(&client).map(|mine| (mine.key, mine.written()));
            let Some((key, written)) = mine else {
                // It was written, the answer was lost, and the client left before another try.
                if let Some((_, revision)) = by.filter(|_| is_ours) {
                    state.served.said_to_be_here(client, revision);
                }
                return None;
            };
            match by {
                Some((by, revision)) if by != own && is_newer(written, revision) => {
                    return Some(Evict::Elsewhere(key));
                }
                None if matches!(written, Written::At(_)) => state.served.mark(&client, Written::Again),
                _ => {}
            }
            None
        }
        Effect::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_this_run_for_a_client_that_is_not_here_is_to_go() {
        let mut state = State::new();
        let served = |client: &str, by: &str, revision| {
            let by = Some((by.to_owned(), revision));
            Effect::Served { client: client.into(), by }
        };
        state.served.came("bob".into(), PublicKey([2; 32]), Vec::new());
        let said = [
            // The answer was lost, and she has left.
            consequence(&mut state, "g", served("alice", "g", 5), true),
            // He is here.
            consequence(&mut state, "g", served("bob", "g", 6), true),
            // Of an earlier run, whose lease ends, or of a second gateway of this name.
            consequence(&mut state, "g", served("carol", "g", 7), false),
            consequence(&mut state, "g", served("dave", "h", 8), false),
        ];
        assert!(said.iter().all(Option::is_none));
        assert_eq!(state.served.left(9), [("alice".into(), 5)]);
    }
}
