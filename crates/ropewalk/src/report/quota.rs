//! A client's quota, as `clients`, `quota list`, `status` and `top` say it.

use super::table::bytes;
use crate::config::BitRate;
use ropewalk_fleet::{Account, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What a client may use, and what it has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QuotaStatus {
    /// What it may use in a period, bytes, both directions together.
    pub bytes: u64,
    /// The period: `day` or `month`, of the calendar in UTC.
    pub per: String,
    /// What it has used in it, bytes, with all headers; in a fleet at all gateways.
    pub used_bytes: u64,
    /// `open`; once that is used up `stopped` or `slowed`.
    pub state: String,
    /// What it is slowed to then, bits per second; none: it is stopped.
    pub then_bps: Option<u64>,
    /// The day on which the next period begins.
    pub until: String,
}

impl QuotaStatus {
    pub(crate) fn new(account: &Account) -> QuotaStatus {
        let quota = account.quota;
        let state = match (account.is_over(), quota.then_bps) {
            (false, _) => "open",
            (true, None) => "stopped",
            (true, Some(_)) => "slowed",
        };
        QuotaStatus {
            bytes: quota.bytes,
            per: quota.per.name().into(),
            used_bytes: account.used,
            state: state.into(),
            then_bps: quota.then_bps,
            until: account.until().to_string(),
        }
    }

    /// It is used up.
    pub(crate) fn is_over(&self) -> bool {
        self.state != "open"
    }

    /// As a user reads it.
    pub(crate) fn line(&self) -> String {
        let when = if self.per == Period::Day.name() { "today" } else { "this month" };
        let mut line = format!("{} of {} {when}", bytes(self.used_bytes), bytes(self.bytes));
        if self.is_over() {
            let _ = write!(line, ", {}", self.state);
            if let Some(bps) = self.then_bps {
                let _ = write!(line, " to {}", BitRate(bps));
            }
            let _ = write!(line, " until {}", self.until);
        }
        line
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ropewalk_fleet::Quota;

    /// A client that has used so much of 100 MB.
    pub(crate) fn quota(used: u64, per: Period, then_bps: Option<u64>) -> QuotaStatus {
        let since = "2026-11-01".parse().unwrap();
        let quota = Quota { bytes: 100_000_000, per, then_bps };
        QuotaStatus::new(&Account { client: "alice".into(), inside: Vec::new(), quota, used, since })
    }

    #[test]
    fn a_quota_reads_like_this() {
        let month = |used, then| quota(used, Period::Month, then).line();
        assert_eq!(month(1_500_000, None), "1.5 MB of 100 MB this month");
        assert_eq!(month(100_000_000, None), "100 MB of 100 MB this month, stopped until 2026-12-01");
        assert_eq!(
            month(2_000_000_000, Some(1_000_000)),
            "2.0 GB of 100 MB this month, slowed to 1Mbit until 2026-12-01"
        );
        assert_eq!(quota(0, Period::Day, None).line(), "0 B of 100 MB today");
    }
}
