//! Keeps the gateway alive in the store's eyes: its lease, and its record under it.

use super::state::{Anew, State};
use super::{Evict, LEASE, Shared};
use crate::etcd::StoreError;
use crate::ledger::Ledger;
use crate::record::GatewayRecord;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(1);
/// The gateway's record is written anew when the copy was not seen to be true for so long: the
/// watch has to bring that.
const BEAT: Duration = Duration::from_secs(2);
/// How often it is asked whether etcd has room.
const ROOM: Duration = Duration::from_secs(10);

/// Keeps it for ever.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    let mut kept = Kept { lease: shared.lease(), written: None, doubt: None };
    let (mut failing, mut room_due) = (false, Instant::now());
    loop {
        let outcome = once(&shared, &mut ledger, &mut kept).await;
        let answered = !matches!(outcome, Err(StoreError::Gone(_)));
        if answered {
            shared.heard();
        }
        match outcome {
            Ok(()) => {
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
        if answered && (failing || Instant::now() >= room_due) {
            room_due = Instant::now() + ROOM;
            look_for_room(&shared, &mut ledger).await;
        }
        let _ = timeout(RENEW, shared.record.notified()).await;
    }
}

async fn look_for_room(shared: &Arc<Shared>, ledger: &mut Ledger) {
    match ledger.caller.is_full().await {
        Ok(is_full) => {
            let was = std::mem::replace(&mut shared.state().is_full, is_full);
            if is_full && !was {
                tracing::error!("etcd has no room left (NOSPACE): nothing is written until it has");
            }
        }
        Err(error) => tracing::debug!(%error, "it is not known whether etcd has room"),
    }
}

/// What this gateway has in the store.
struct Kept {
    lease: i64,
    written: Option<GatewayRecord>,
    /// Whether it still is the store that it was is to be asked.
    doubt: Option<Anew>,
}

async fn once(shared: &Arc<Shared>, ledger: &mut Ledger, kept: &mut Kept) -> Result<(), StoreError> {
    renew(shared, ledger, kept).await?;
    if let Some(why) = kept.doubt {
        look_whether_it_is_the_same(shared, ledger, why).await?;
        kept.doubt = None;
    }
    write(shared, ledger, kept).await
}

/// Renews the lease, or takes another.
async fn renew(shared: &Arc<Shared>, ledger: &mut Ledger, kept: &mut Kept) -> Result<(), StoreError> {
    let (asked, known) = (Instant::now(), shared.state().known());
    if kept.lease != 0 {
        match ledger.caller.renew(kept.lease).await? {
            // A member that is behind the others may say less, too.
            Some(revision) if State::is_another((ledger.caller.cluster, revision), known) => {
                kept.doubt.get_or_insert(Anew::Another);
            }
            Some(revision) => heard(&mut shared.state(), revision, asked),
            None => {
                tracing::warn!("the store took this gateway for dead: telling it otherwise");
                kept.doubt = Some(Anew::Lapsed);
                kept.lease = 0;
            }
        }
    }
    if kept.lease == 0 {
        // The name may be another's by now.
        shared.lease.store(0, Ordering::Relaxed);
        kept.written = None;
        kept.lease = ledger.caller.grant(LEASE).await?;
    }
    Ok(())
}

/// Asks a majority whether the store is another than the one that the copy is of, or was set back.
/// Others may have written more since than was lost, so what came last is looked for where it was.
pub(super) async fn ask_whether_it_is_another(
    shared: &Arc<Shared>,
    ledger: &mut Ledger,
) -> Result<bool, StoreError> {
    let (known, newest) = {
        let state = shared.state();
        (state.known(), state.copy.newest())
    };
    let revision = ledger.revision().await?;
    if State::is_another((ledger.caller.cluster, revision), known) {
        return Ok(true);
    }
    match newest {
        Some(newest) => Ok(!ledger.was_written(&newest).await?),
        None => Ok(false),
    }
}

/// Has the copy made anew where the store is not the one that it is of, or where the lease has
/// ended.
async fn look_whether_it_is_the_same(
    shared: &Arc<Shared>,
    ledger: &mut Ledger,
    why: Anew,
) -> Result<(), StoreError> {
    let is_another = ask_whether_it_is_another(shared, ledger).await?;
    let mut state = shared.state();
    match (is_another, state.anew) {
        (true, None | Some(Anew::Lapsed)) => state.anew = Some(Anew::Another),
        (false, None) if why == Anew::Lapsed => state.anew = Some(Anew::Lapsed),
        _ => {}
    }
    Ok(())
}

/// Writes the gateway's record where it is to be written.
async fn write(shared: &Arc<Shared>, ledger: &mut Ledger, kept: &mut Kept) -> Result<(), StoreError> {
    let (record, is_doubtful) = {
        let state = shared.state();
        let record = state.reach.clone().map(|reach| GatewayRecord {
            instance: shared.instance.clone(),
            endpoints: reach.endpoints,
            tls: reach.tls,
            draining: state.draining,
            lacks: state.lacks.clone(),
        });
        let is_late = state.true_at.elapsed() >= BEAT && state.told.1.elapsed() >= BEAT;
        // Whether a watch that was silent works now shows only when it has something to bring.
        let is_to_be_tried = state.is_dumb && state.copy.revision >= state.told.0;
        // Somebody took it away or wrote another, or an older one came back with a restored store.
        let is_own = |(name, own): (&str, &GatewayRecord)| {
            name == shared.name.as_str() && Some(own) == record.as_ref()
        };
        let is_known = state.anew.is_none() && state.copy.revision >= state.told.0;
        let is_lost = is_known && !state.copy.gateways().any(is_own);
        (record, is_late || is_to_be_tried || is_lost)
    };
    if let Some(record) = record.filter(|record| is_doubtful || Some(record) != kept.written.as_ref()) {
        let asked = Instant::now();
        let revision = ledger.register(&shared.name, &record, kept.lease).await?;
        kept.written = revision.map(|_| record);
        match revision {
            Some(revision) => {
                let mut state = shared.state();
                (state.told, state.ousted) = ((revision, asked), false);
                state.confirm();
                shared.is_registered.store(true, Ordering::Relaxed);
                if shared.lease() != kept.lease {
                    // What stood under the lease before is gone, or will be.
                    state.served.again();
                    shared.lease.store(kept.lease, Ordering::Relaxed);
                }
            }
            // It is waited for, as at a start: known clients are served meanwhile.
            None if shared.state().was_set_back() => {}
            None => ousted(shared),
        }
    }
    Ok(())
}

/// The store has this revision. Changes that are none of the fleet's count there, too, so one that
/// the copy does not reach says nothing yet.
fn heard(state: &mut State, revision: i64, at: Instant) {
    if state.confirm() {
        state.told = (revision, at);
        state.confirm();
    }
}

/// Another gateway took the name while this one was cut off: who is served by which could not be
/// told apart, so this one serves nobody until the name is free.
fn ousted(shared: &Arc<Shared>) {
    shared.lease.store(0, Ordering::Relaxed);
    let evicted: Vec<Evict> = {
        let mut state = shared.state();
        // The other's figures are under this name now.
        state.totals.clear();
        state.forget_sum();
        if std::mem::replace(&mut state.ousted, true) {
            return;
        }
        state.served.iter().map(|(_, mine)| Evict::Elsewhere(mine.key)).collect()
    };
    tracing::error!(
        name = shared.name,
        "another gateway of this fleet has the same name: this one takes no sessions; stop one of the two"
    );
    shared.evict(evicted);
}
