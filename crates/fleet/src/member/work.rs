//! Writes what the gateway has to tell, and asks what it has to ask.

use super::state::Written;
use super::{Evict, Shared};
use crate::copy::Effect;
use crate::ledger::{ClaimError, Ledger};
use crate::quota::{Metered, today};
use crate::record::Serving;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How often what clients have used is written: so much is lost at most with a gateway.
const USAGE: Duration = Duration::from_secs(5);
/// Steps of one transaction; etcd takes 128.
const BATCH: usize = 100;
/// Clients one by one between two looks at what is more urgent.
const SINGLES: usize = 50;

/// Works for ever.
pub(super) async fn work(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    let mut usage_due = Instant::now();
    loop {
        let _ = timeout(Duration::from_millis(250), shared.work.notified()).await;
        claims(&shared, &mut ledger).await;
        let lease = shared.lease();
        if lease != 0 {
            let _ = serving(&shared, &mut ledger, lease).await;
        }
        leaving(&shared, &mut ledger).await;
        if Instant::now() >= usage_due && shared.lease() != 0 {
            write_usage(&shared, &mut ledger).await;
            usage_due = Instant::now() + USAGE;
        }
    }
}

/// Some of the devices that wait. Where the store does not answer they wait on.
async fn claims(shared: &Arc<Shared>, ledger: &mut Ledger) {
    for _ in 0..SINGLES {
        let Some(claim) = shared.state().claims.next() else { return };
        let taken = || shared.state().copy.taken();
        let outcome = ledger.claim(&shared.pool, taken, &claim.device, (claim.invite, &claim.secret)).await;
        let effect = {
            let mut state = shared.state();
            match outcome {
                Ok(claimed) => {
                    tracing::info!(client = claimed.name, "a device has come by its invite");
                    state.claims.done(&claim);
                    state.copy.put_client(&claimed.name, Some(claimed.record), claimed.revision)
                }
                Err(ClaimError::Refused(refusal)) => {
                    tracing::info!(client = %claim.device, ?refusal, "a device was refused");
                    state.refuse(claim.device, refusal);
                    state.claims.done(&claim);
                    Effect::None
                }
                Err(ClaimError::Store(error)) => {
                    tracing::debug!(%error, "a device has to wait");
                    state.claims.later();
                    return;
                }
            }
        };
        // The name was another device's, and the watch has not said yet that it is no longer.
        if let Effect::Out(key) = effect {
            shared.evict([Evict::Revoked(key)]);
        }
    }
    // The rest after what else there is to do.
    shared.work.notify_one();
}

/// Tells who is served here.
async fn serving(shared: &Arc<Shared>, ledger: &mut Ledger, lease: i64) -> Result<(), crate::StoreError> {
    let who = |wanted: Written, most: usize| -> Vec<(String, Serving)> {
        let state = shared.state();
        let wanted = state.mine.iter().filter(|(_, m)| m.written == wanted).take(most);
        let gateway = || shared.name.clone();
        wanted.map(|(n, m)| (n.clone(), Serving { gateway: gateway(), inside: m.inside.clone() })).collect()
    };
    loop {
        let fresh = who(Written::Fresh, BATCH);
        if fresh.is_empty() {
            break;
        }
        let revision = ledger.serve(&fresh, lease).await?;
        fresh.iter().for_each(|(name, _)| note(shared, name, Written::Fresh, revision));
    }
    for (name, serving) in who(Written::Again, SINGLES) {
        match ledger.serve_on(&name, &serving, lease).await? {
            Some(revision) => note(shared, &name, Written::Again, revision),
            None => {
                let key =
                    shared.state().mine.get(&name).filter(|m| m.written == Written::Again).map(|m| m.key);
                key.into_iter().for_each(|key| (shared.evict)(Evict::Elsewhere(key)));
            }
        }
    }
    Ok(())
}

/// The store knows since `revision` who serves a client. If it has gone meanwhile, the record goes,
/// too.
fn note(shared: &Arc<Shared>, name: &str, was: Written, revision: i64) {
    let mut state = shared.state();
    match state.mine.get_mut(name) {
        Some(mine) if mine.written == was => mine.written = Written::At(revision),
        Some(_) => {}
        None => state.left.push((name.to_owned(), revision)),
    }
}

async fn leaving(shared: &Arc<Shared>, ledger: &mut Ledger) {
    loop {
        let Some((name, revision)) = shared.state().left.last().cloned() else { return };
        // Without the store, the lease ends it.
        if ledger.serve_no_more(&name, revision).await.is_err() {
            return;
        }
        shared.state().left.retain(|entry| *entry != (name.clone(), revision));
    }
}

/// Writes what was used. Totals are written, so that writing twice counts once.
pub(super) async fn write_usage(shared: &Arc<Shared>, ledger: &mut Ledger) {
    loop {
        let today = today();
        let batch: Vec<(String, Metered)> = {
            let mut state = shared.state();
            let state = &mut *state;
            let names: Vec<String> = state.used.keys().take(BATCH).cloned().collect();
            let total = |name: String| {
                let more = state.used.remove(&name).unwrap_or_default();
                let known = || state.copy.metered_at(&name, &shared.name);
                let total = state.totals.entry(name.clone()).or_insert_with(known);
                total.add(more, today);
                state.sum.iter_mut().for_each(|sum| sum.add(more));
                (name, *total)
            };
            names.into_iter().map(total).collect()
        };
        if batch.is_empty() {
            break;
        }
        if let Err(error) = ledger.write_usage(&shared.name, &batch).await {
            tracing::debug!(%error, "what clients have used is written later");
            let mut state = shared.state();
            for (name, _) in batch {
                state.used.entry(name).or_default();
            }
            return;
        }
    }
    let sum = shared.state().sum_to_write(&shared.name);
    if let Some(sum) = sum {
        match ledger.write_sum(&shared.name, sum).await {
            Ok(()) => shared.state().sum_written = Some(sum),
            Err(error) => tracing::debug!(%error, "what clients have used in all is written later"),
        }
    }
}
