//! Keeps the gateway alive in the store's eyes: its lease, and its record under it.

use super::state::Written;
use super::{LEASE, Shared};
use crate::etcd::StoreError;
use crate::ledger::Ledger;
use crate::record::GatewayRecord;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;

/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(1);

/// Keeps it for ever.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    let (mut written, mut failing) = (None, false);
    loop {
        match once(&shared, &mut ledger, &mut written).await {
            Ok(()) => {
                shared.heard();
                if std::mem::take(&mut failing) {
                    tracing::info!("the store is back");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!("{error}: known clients come and go as before, new invites wait");
                }
            }
        }
        let _ = timeout(RENEW, shared.record.notified()).await;
    }
}

async fn once(
    shared: &Arc<Shared>,
    ledger: &mut Ledger,
    written: &mut Option<GatewayRecord>,
) -> Result<(), StoreError> {
    let mut lease = shared.lease();
    if lease != 0 && !ledger.caller.renew(lease).await? {
        tracing::warn!("the store took this gateway for dead: telling it otherwise");
        lease = 0;
    }
    if lease == 0 {
        lease = ledger.caller.grant(LEASE).await?;
        *written = None;
        shared.lease.store(lease, Ordering::Relaxed);
        // What stood under the lease before is gone, or will be.
        let mut state = shared.state();
        state
            .mine
            .values_mut()
            .filter(|m| matches!(m.written, Written::At(_)))
            .for_each(|m| m.written = Written::Again);
    }
    let record = {
        let state = shared.state();
        let instance = shared.instance.clone();
        state.endpoints.clone().map(|endpoints| GatewayRecord {
            instance,
            endpoints,
            draining: state.draining,
        })
    };
    if record != *written
        && let Some(record) = record
    {
        if ledger.register(&shared.name, &record, lease).await? {
            *written = Some(record);
        } else {
            tracing::error!(
                name = shared.name,
                "another gateway of this fleet has the same name: stop one of the two"
            );
        }
    }
    Ok(())
}
