//! What access points of a bunch carried, as they and this gateway have signed it.

use super::work::BATCH;
use super::{Member, Shared};
use crate::ledger::{Ledger, LedgerError, SignedRecord};
use ropewalk_session::PublicKey;
use std::sync::Arc;

impl Member {
    /// An access point and this gateway have signed a record; it takes the place of the one before.
    pub fn keep_record(&self, key: &PublicKey, record: String) {
        self.shared.state().accounts.insert(*key, record);
    }

    /// The last records of all gateways. Not for the data loop.
    ///
    /// # Errors
    /// See [`Ledger::signed_records`].
    pub fn signed_records(&self) -> Result<Vec<SignedRecord>, LedgerError> {
        self.order(|mut ledger| async move { ledger.signed_records().await })
    }
}

/// Writes the records that the store does not have yet.
pub(super) async fn write(shared: &Arc<Shared>, ledger: &mut Ledger) {
    loop {
        let some: Vec<(PublicKey, String)> = {
            let state = shared.state();
            state.accounts.iter().take(BATCH).map(|(key, record)| (*key, record.clone())).collect()
        };
        if some.is_empty() {
            return;
        }
        if let Err(error) = ledger.write_accounts(&shared.name, &some).await {
            tracing::debug!(%error, "signed accounts are written later");
            return;
        }
        let written = |(key, record): &(PublicKey, String)| {
            // A newer one may have come meanwhile.
            let mut state = shared.state();
            if state.accounts.get(key) == Some(record) {
                state.accounts.remove(key);
            }
        };
        some.iter().for_each(written);
    }
}
