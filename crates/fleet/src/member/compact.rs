//! Has etcd forget what keys were long ago: usage alone would fill its quota in weeks.

use super::Shared;
use crate::etcd::StoreError;
use std::sync::Arc;
use std::time::Duration;

/// How often, and how old what is forgotten is at least.
const INTERVAL: Duration = Duration::from_secs(300);

/// Does it for ever.
pub(super) async fn compact(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    let mut seen = 0;
    loop {
        match ledger.compact(&shared.name, seen).await {
            Ok(revision) => seen = revision,
            Err(error @ StoreError::Gone(_)) => tracing::debug!(%error, "the store is compacted later"),
            Err(error) => tracing::warn!(%error, "etcd cannot be compacted"),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
