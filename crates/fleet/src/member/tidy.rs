//! Deletes what clients have used that are no more, when it counts in no quota any longer: a name
//! that is invited anew within the period goes on from there.

use super::Shared;
use crate::copy::Needless;
use crate::etcd::StoreError;
use crate::quota::today;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked.
const INTERVAL: Duration = Duration::from_secs(3600);
/// Records that are looked at while the data loop may not look.
const AT_ONCE: usize = 64;
/// Records of one transaction: each takes three comparisons, and etcd takes 128.
const BATCH: usize = 40;
/// Records that are deleted at one look.
const MOST: usize = 1000;

/// Does it for ever.
pub(super) async fn tidy(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    loop {
        // By its name it may write only while it has that.
        while shared.lease() == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        for some in needless(&shared).await.chunks(BATCH) {
            match ledger.forget_usage(some, &shared.name).await {
                Ok(true) => {
                    let mut state = shared.state();
                    for own in some.iter().filter(|record| record.whose.1 == shared.name) {
                        state.totals.remove(&*own.whose.0);
                    }
                }
                // Something has changed: the next look sees it.
                Ok(false) => {}
                Err(error @ StoreError::Gone(_)) => tracing::debug!(%error, "usage is tidied later"),
                Err(error) => tracing::warn!(%error, "old usage cannot be deleted"),
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// What can go. Others have their turn on this thread meanwhile.
async fn needless(shared: &Shared) -> Vec<Needless> {
    let (mut all, mut last, today) = (Vec::new(), None, today());
    while all.len() < MOST {
        let mut whose = None;
        {
            let state = shared.state();
            for (this, needless) in state.copy.used_after(last.as_ref(), &shared.name, today).take(AT_ONCE) {
                // What was used a moment ago is not written yet.
                all.extend(needless.filter(|record| !state.used.contains_key(&*record.whose.0)));
                whose = Some(this.clone());
            }
        }
        if whose.is_none() {
            break;
        }
        last = whose;
        tokio::task::yield_now().await;
    }
    all
}
