//! Quotas, as a gateway of the fleet judges them: by what all gateways have written, and by what
//! it knows itself and has not written yet.

use super::{Member, State};
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
        let (mut all, mut from) = (Vec::new(), None::<String>);
        loop {
            let state = self.shared.state();
            if !state.copy.has_quotas() {
                return all;
            }
            let mut last = None;
            for name in state.served.after(from.as_deref()).take(AT_ONCE) {
                all.extend(self.account(&state, name, today));
                last = Some(name.to_owned());
            }
            if last.is_none() {
                return all;
            }
            from = last;
        }
    }

    fn account(&self, state: &State, client: &str, today: Date) -> Option<Account> {
        let written = state.totals.get(client).copied();
        let mut own = written.unwrap_or_else(|| state.copy.metered_at(client, &self.shared.name));
        own.add(state.used.get(client).copied().unwrap_or_default(), today);
        state.copy.account(client, today, Some((&self.shared.name, &own)))
    }
}
