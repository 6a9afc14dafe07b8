//! Quotas, as a gateway of the fleet judges them: by what all gateways have written, and by what
//! it knows itself and has not written yet.

use super::Member;
use crate::ledger::LedgerError;
use crate::quota::{Account, Quota};
use jiff::civil::Date;

/// Clients that are looked at while the data loop may not look.
const AT_ONCE: usize = 64;

impl Member {
    /// Gives a client a quota, or takes it; returns when the store has it. Not for the data loop.
    ///
    /// # Errors
    /// See [`crate::Ledger::set_quota`].
    pub fn set_quota(&self, name: &str, quota: Option<Quota>) -> Result<(), LedgerError> {
        let name = name.to_owned();
        self.order(|mut ledger| async move { ledger.set_quota(&name, quota).await })
    }

    /// How the clients that are served here, and have a quota, stand on the day `today`. Not for
    /// the data loop.
    pub fn accounts_here(&self, today: Date) -> Vec<Account> {
        let here: Vec<String> = {
            let state = self.shared.state();
            state.mine.keys().filter(|name| state.copy.has_quota(name)).cloned().collect()
        };
        let mut all = Vec::with_capacity(here.len());
        for some in here.chunks(AT_ONCE) {
            let state = self.shared.state();
            all.extend(some.iter().filter_map(|name| {
                let written = state.totals.get(name).copied();
                let mut own = written.unwrap_or_else(|| state.copy.metered_at(name, &self.shared.name));
                own.add(state.used.get(name).copied().unwrap_or_default(), today);
                state.copy.account(name, today, Some((&self.shared.name, &own)))
            }));
        }
        all
    }
}
