//! What has to be done before anybody is let in.

use super::{JoinError, LEASE, Shared, follow};
use crate::etcd::StoreError;
use crate::ledger::{Ledger, LedgerError};
use crate::record::GatewayRecord;
use ropewalk_session::StaticKey;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a starting gateway tries to begin before it tells people again that it waits.
const COMPLAIN: Duration = Duration::from_secs(10);
/// A gateway that was killed has its name for so long, at most: the lease, and what etcd adds when
/// it is slow.
pub(super) const NAME: Duration = Duration::from_secs(2 * LEASE);

/// Begins, and returns the fleet's key. Failures that pass are waited for.
pub(super) async fn begin(shared: &Arc<Shared>, new_key: &StaticKey) -> Result<StaticKey, JoinError> {
    let mut ledger = shared.ledger();
    let (mut said, mut waited, mut is_read) = (None::<Instant>, None::<Instant>, false);
    loop {
        match first_look(shared, &mut ledger, new_key, &mut is_read).await {
            Ok(Some(key)) => return Ok(key),
            Ok(None) if waited.is_some_and(|since| since.elapsed() > NAME) => {
                return Err(JoinError::NameTaken(shared.name.clone()));
            }
            Ok(None) => {
                if waited.is_none() {
                    tracing::warn!(
                        "a gateway named `{}` runs in this fleet, or did a moment ago: waiting {} s for the name",
                        shared.name,
                        NAME.as_secs()
                    );
                }
                waited.get_or_insert_with(Instant::now);
            }
            Err(LedgerError::Store(error @ StoreError::Gone(_))) => {
                // Leases last longer by the time that it is gone, and it may be another after it.
                (waited, is_read) = (None, false);
                if said.is_none_or(|at| at.elapsed() >= COMPLAIN) {
                    tracing::warn!("{error}; waiting for it");
                    said = Some(Instant::now());
                }
            }
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The fleet's key, and the first copy, which the watch then follows; `None` while another gateway
/// has this name.
async fn first_look(
    shared: &Arc<Shared>,
    ledger: &mut Ledger,
    new_key: &StaticKey,
    is_read: &mut bool,
) -> Result<Option<StaticKey>, LedgerError> {
    ledger.same_network(&shared.pool).await?;
    let key = ledger.fleet_key(new_key).await?;
    shared.state().own_key = Some(key.public());
    if !*is_read {
        follow::load(shared, ledger).await?;
        *is_read = true;
    }
    let is_named = match take_name(shared, ledger).await {
        // Known clients are served without a lease, too; `keep` goes on trying.
        Err(StoreError::Refused(_)) if ledger.caller.is_full().await? => {
            shared.state().is_full = true;
            let own = ledger.keys.gateway(&shared.name);
            let (all, _) = ledger.all_of(ledger.keys.gateway("")).await?;
            all.iter().all(|kv| kv.key != own)
        }
        outcome => outcome?,
    };
    Ok(is_named.then_some(key))
}

/// Takes the name, under a lease: of two gateways that start at the same time one has it.
async fn take_name(shared: &Arc<Shared>, ledger: &mut Ledger) -> Result<bool, StoreError> {
    let mut lease = shared.lease();
    if lease == 0 || ledger.caller.renew(lease).await?.is_none() {
        lease = ledger.caller.grant(LEASE).await?;
        shared.lease.store(lease, Ordering::Relaxed);
    }
    // Where devices reach it is not known yet.
    let record = GatewayRecord { instance: shared.instance.clone(), ..GatewayRecord::default() };
    Ok(ledger.register(&shared.name, &record, lease).await?.is_some())
}
