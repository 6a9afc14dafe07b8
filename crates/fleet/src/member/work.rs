//! Writes what the gateway has to tell: who is served here, and what they have used.

use super::served::Written;
use super::{Evict, Shared};
use crate::ledger::Ledger;
use crate::quota::{Metered, today};
use crate::record::Serving;
use ropewalk_session::PublicKey;
use std::net::IpAddr;
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

/// Tells who is served here.
async fn serving(shared: &Arc<Shared>, ledger: &mut Ledger, lease: i64) -> Result<(), crate::StoreError> {
    let records = |some: Vec<(String, Vec<IpAddr>)>| -> Vec<(String, Serving)> {
        let one = |(name, inside)| (name, Serving { gateway: shared.name.clone(), inside });
        some.into_iter().map(one).collect()
    };
    loop {
        let fresh = records(shared.state().served.fresh(BATCH));
        if fresh.is_empty() {
            break;
        }
        let revision = ledger.serve(&fresh, lease).await?;
        note(shared, &fresh, Written::Fresh, revision);
    }
    let gone = records(shared.state().served.gone(BATCH));
    // After a lease has ended, nobody serves most of them.
    if gone.len() > 1
        && let Some(revision) = ledger.serve_unserved(&gone, lease).await?
    {
        note(shared, &gone, Written::Again, revision);
    } else {
        for (name, serving) in gone.iter().take(SINGLES) {
            match ledger.serve_on(name, serving, lease).await? {
                Some(revision) => shared.state().served.note(name, Written::Again, revision),
                None => {
                    let key = served_again(shared, name);
                    key.into_iter().for_each(|key| (shared.evict)(Evict::Elsewhere(key)));
                }
            }
        }
    }
    if gone.len() == BATCH {
        // The rest after what else there is to do.
        shared.work.notify_one();
    }
    Ok(())
}

/// The key of a client that is here and was to be written again.
fn served_again(shared: &Arc<Shared>, name: &str) -> Option<PublicKey> {
    let state = shared.state();
    state.served.get(name).filter(|mine| mine.written() == Written::Again).map(|mine| mine.key)
}

/// The store knows since `revision` who serves these.
fn note(shared: &Arc<Shared>, all: &[(String, Serving)], was: Written, revision: i64) {
    let mut state = shared.state();
    all.iter().for_each(|(name, _)| state.served.note(name, was, revision));
}

async fn leaving(shared: &Arc<Shared>, ledger: &mut Ledger) {
    loop {
        let next = shared.state().served.next_left();
        let Some((name, revision)) = next else { return };
        // Without the store, the lease ends it.
        if ledger.serve_no_more(&name, revision).await.is_err() {
            shared.state().served.left_later((name, revision));
            return;
        }
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
