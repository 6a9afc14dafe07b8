//! A gateway's place in its fleet, if it is to have one.

use super::SharedClients;
use super::control::choose;
use super::endpoints::{Listening, by_tls};
use crate::control::protocol::Request;
use crate::daemon::Outbox;
use crate::state::pool::Pool;
use crate::state::{StateDir, identity};
use crate::store::{Fleet, Reach, StoreSettings};
use ropewalk_fleet::Evict;
use ropewalk_session::StaticKey;
use std::sync::Arc;

/// Joins the fleet of this store, if one is named, and returns the gateway's key: before anything is
/// changed on this machine, for the store may have to be waited for.
pub(crate) fn join(
    settings: Option<StoreSettings>,
    name: Option<String>,
    pool: Pool,
    outbox: &Outbox,
    dir: &StateDir,
) -> anyhow::Result<(Option<Fleet>, StaticKey)> {
    let Some(settings) = settings else { return Ok((None, identity::load_or_make(dir)?)) };
    let outbox = outbox.clone();
    let evict = move |evict| match evict {
        Evict::Revoked(client) => outbox.tell(Request::Expel { client }),
        Evict::Elsewhere(client) => outbox.tell(Request::Dismiss { client }),
    };
    let (fleet, key) = Fleet::join(&settings, name, pool, evict)?;
    Ok((Some(fleet), key))
}

/// Where the clients are kept: in the fleet's store, or in the state directory.
pub(crate) fn registry(
    fleet: Option<Fleet>,
    dir: &StateDir,
    pool: Pool,
    listening: &Listening,
) -> anyhow::Result<SharedClients> {
    let Some(fleet) = fleet else { return SharedClients::open(dir, pool) };
    let endpoints = choose(&[], listening).unwrap_or_else(|error| {
        tracing::warn!("{error:#}: tokens of the fleet do not name this gateway");
        Vec::new()
    });
    let tls = by_tls(listening, &endpoints)?;
    fleet.start(&Reach { endpoints, tls })?;
    Ok(SharedClients::of(Arc::new(fleet)))
}
