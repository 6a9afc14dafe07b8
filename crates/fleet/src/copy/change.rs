//! A key of the store, read: what it says now.

use super::newest::digest;
use crate::etcd::KeyValue;
use crate::grant::{ClientGrants, GroupExit};
use crate::quota::{Metered, Quota};
use crate::record::{About, ClientRecord, GatewayRecord, Keys, Serving};
use ropewalk_session::{PublicKey, StaticKey};
use serde::de::DeserializeOwned;

/// One key as it is in the store now, read before anybody is made to wait.
#[derive(Debug)]
pub(crate) struct Change {
    pub(super) key: String,
    pub(super) revision: i64,
    /// Of what was written; `None` where it is gone.
    pub(super) digest: Option<u64>,
    pub(super) what: What,
}

/// What it is about; `None` where it is gone or cannot be read.
#[derive(Debug)]
pub(super) enum What {
    Key(Option<PublicKey>),
    Client(String, Option<ClientRecord>),
    Gateway(String, Option<GatewayRecord>),
    Serving(String, Option<Serving>),
    Usage((String, String), Option<Metered>),
    Quota(String, Option<Quota>),
    Grant(String, Option<ClientGrants>),
    GroupExit(String, Option<GroupExit>),
    Odd,
    Other,
}

impl Change {
    /// Reads a key that was written, or is `gone`.
    pub(crate) fn read(keys: &Keys, kv: &KeyValue, gone: bool) -> (Change, bool) {
        fn value<T: DeserializeOwned>(kv: &KeyValue, gone: bool) -> Option<T> {
            (!gone).then(|| parse::<T>(kv)).flatten()
        }
        // Who may have an exit does not leave by another for a record that is damaged.
        let mut is_damaged = false;
        let what = match keys.about(&kv.key) {
            About::Key => What::Key(fleet_key(kv).filter(|_| !gone)),
            About::Client(name) => What::Client(name.into(), value(kv, gone)),
            About::Gateway(name) => What::Gateway(name.into(), value(kv, gone)),
            About::Serving(name) => What::Serving(name.into(), value(kv, gone)),
            About::Usage(client, gateway) => What::Usage((client.into(), gateway.into()), value(kv, gone)),
            About::Quota(name) => What::Quota(name.into(), value(kv, gone)),
            About::Grant(name) => {
                let read = value(kv, gone);
                is_damaged = read.is_none() && !gone;
                What::Grant(name.into(), read.or_else(|| is_damaged.then(ClientGrants::damaged)))
            }
            About::GroupExit(group) => {
                let read = value(kv, gone);
                is_damaged = read.is_none() && !gone;
                What::GroupExit(group.into(), read.or_else(|| is_damaged.then(GroupExit::damaged)))
            }
            About::Odd => What::Odd,
            About::Other => What::Other,
        };
        let is_odd = is_damaged
            || !gone
                && matches!(
                    what,
                    What::Key(None)
                        | What::Client(_, None)
                        | What::Gateway(_, None)
                        | What::Serving(_, None)
                        | What::Usage(_, None)
                        | What::Quota(_, None)
                        | What::Odd
                );
        let digest = (!gone).then(|| digest(kv));
        (Change { key: kv.key.clone(), revision: kv.revision, digest, what }, is_odd)
    }
}

/// The public half of the fleet's key.
pub(crate) fn fleet_key(kv: &KeyValue) -> Option<PublicKey> {
    let text = std::str::from_utf8(&kv.value).ok()?;
    Some(StaticKey::from_base64(text).ok()?.public())
}

/// What a value says. One that nobody can read is as good as none, and is said.
pub(crate) fn parse<T: DeserializeOwned>(kv: &KeyValue) -> Option<T> {
    let parsed = serde_json::from_slice(&kv.value);
    if let Err(error) = &parsed {
        tracing::warn!(key = kv.key, %error, "a record of the store cannot be read");
    }
    parsed.ok()
}
