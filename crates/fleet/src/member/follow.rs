//! Keeps the copy true.

use super::state::Written;
use super::{Evict, Shared, State};
use crate::copy::{Copy, Effect};
use crate::etcd::{Ended, StoreError, Watch, range_end};
use crate::ledger::Ledger;
use std::sync::Arc;
use std::time::Duration;

/// Between a watch that broke and the next.
const PAUSE: Duration = Duration::from_millis(200);

/// Reads everything anew; sessions that it contradicts end.
pub(super) async fn load(shared: &Arc<Shared>, ledger: &mut Ledger) -> Result<(), StoreError> {
    let (all, revision) = ledger.everything().await?;
    let mut copy = Copy::of(&ledger.keys, &all, revision);
    drop(all);
    let evicted = {
        let mut state = shared.state();
        state.contact = std::time::Instant::now();
        std::mem::swap(&mut state.copy, &mut copy);
        contradicted(&mut state, &shared.name)
    };
    // The old copy may be large: it is dropped without the lock.
    drop(copy);
    evicted.into_iter().for_each(&shared.evict);
    Ok(())
}

/// Whose sessions a new copy contradicts.
fn contradicted(state: &mut State, own: &str) -> Vec<Evict> {
    let mut evicted = Vec::new();
    for (name, mine) in &mut state.mine {
        let client = state.copy.client(name);
        if !client.is_some_and(|c| !c.revoked && c.key == Some(mine.key)) {
            evicted.push(Evict::Revoked(mine.key));
        } else if let Some((by, revision)) = state.copy.server_of(name) {
            if by != own && is_newer(mine.written, revision) {
                evicted.push(Evict::Elsewhere(mine.key));
            }
        } else if matches!(mine.written, Written::At(_)) {
            mine.written = Written::Again;
        }
    }
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
    loop {
        if let Err(Ended::Compacted) = watch(&shared).await {
            tracing::info!("the store has forgotten what came since: reading everything again");
            if let Err(error) = load(&shared, &mut ledger).await {
                tracing::debug!(%error, "the store cannot be read");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn watch(shared: &Arc<Shared>) -> Result<(), Ended> {
    let (prefix, since) = (&shared.address.prefix, shared.state().copy.revision + 1);
    let keys = shared.ledger().keys;
    let mut watch = Watch::start(&shared.etcd, prefix, &range_end(prefix), since).await?;
    loop {
        let batch = match watch.next().await {
            Ok(batch) => batch,
            Err(Ended::Broken(error)) => {
                tracing::debug!(%error, "the watch broke");
                return Ok(());
            }
            Err(compacted) => return Err(compacted),
        };
        let mut evicted = Vec::new();
        {
            let mut state = shared.state();
            state.contact = std::time::Instant::now();
            for (kv, gone) in &batch.changes {
                let effect = state.copy.apply(&keys, kv, *gone);
                evicted.extend(consequence(&mut state, &shared.name, effect));
            }
            state.copy.revision = state.copy.revision.max(batch.revision);
        }
        shared.work.notify_one();
        evicted.into_iter().for_each(&shared.evict);
    }
}

/// What a change means for the sessions here.
fn consequence(state: &mut State, own: &str, effect: Effect) -> Option<Evict> {
    match effect {
        Effect::Out(key) => Some(Evict::Revoked(key)),
        Effect::Served { client, by } => {
            let mine = state.mine.get_mut(&client)?;
            match by {
                Some((by, revision)) if by != own && is_newer(mine.written, revision) => {
                    Some(Evict::Elsewhere(mine.key))
                }
                Some(_) => None,
                None => {
                    if matches!(mine.written, Written::At(_)) {
                        mine.written = Written::Again;
                    }
                    None
                }
            }
        }
        Effect::None => None,
    }
}
