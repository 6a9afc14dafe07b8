//! What access points of a bunch carried, as they and gateways have signed it. This crate does not
//! read the records.

use super::{Ledger, LedgerError};
use crate::etcd::{KeyValue, Op, StoreError};
use crate::record::is_name;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ropewalk_session::PublicKey;

/// The last record that an access point and a gateway have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRecord {
    /// The access point.
    pub key: PublicKey,
    /// The gateway.
    pub gateway: String,
    /// The record. Whoever writes to the store may have made it up: its signatures count.
    pub record: String,
}

impl Ledger {
    /// Writes the last records of these at `gateway`.
    pub(crate) async fn write_accounts(
        &mut self,
        gateway: &str,
        of: &[(PublicKey, String)],
    ) -> Result<(), StoreError> {
        let put = |(key, record): &(PublicKey, String)| {
            Op::put(self.keys.bunch_account(key, gateway), record.as_str())
        };
        let then: Vec<Op> = of.iter().map(put).collect();
        self.caller.txn(&[], &then, &[]).await.map(drop)
    }

    /// What all gateways have written.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn signed_records(&mut self) -> Result<Vec<SignedRecord>, LedgerError> {
        let prefix = self.keys.bunch_accounts();
        let (all, _) = self.all_of(prefix.clone()).await?;
        Ok(all.iter().filter_map(|kv| read(&prefix, kv)).collect())
    }
}

fn read(prefix: &str, kv: &KeyValue) -> Option<SignedRecord> {
    let (key, gateway) = kv.key.strip_prefix(prefix)?.split_once('/').filter(|(_, name)| is_name(name))?;
    let key = PublicKey(URL_SAFE_NO_PAD.decode(key).ok()?.try_into().ok()?);
    let record = String::from_utf8(kv.value.clone()).ok()?;
    Some(SignedRecord { key, gateway: gateway.to_owned(), record })
}
