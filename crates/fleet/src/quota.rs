//! What a client may use in a day or a month, and what it has used.
//!
//! Periods are those of the calendar in UTC. Each gateway counts for itself, in the record that it
//! alone writes, and the sum over the gateways counts. A period is found by the date alone, never
//! by counting time, and the clock of one gateway may be wrong:
//!
//! * a date before the period on record changes nothing, so a clock that is set back gives nothing
//!   a second time;
//! * a period on record that lies more than two months ahead came from a wrong clock: it is moved
//!   back, and what was used stays used;
//! * a date before this software was written is of a machine that has no clock and does not know
//!   the time yet: the period on record goes on, so a restart gives nothing a second time.

use crate::record::Usage;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Days: longer than any period, so that a clock set back by one is not taken for a correction.
const TOO_FAR: i64 = 62;

/// No clock that is set shows an earlier date.
const FIRST: Date = jiff::civil::date(2026, 1, 1);

/// The date now, in UTC.
pub fn today() -> Date {
    TimeZone::UTC.to_datetime(Timestamp::now()).date()
}

/// How long a quota is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// A day.
    Day,
    /// A month of the calendar.
    Month,
}

impl Period {
    /// The first day of the period that `day` is in.
    pub fn start(self, day: Date) -> Date {
        match self {
            Period::Day => day,
            Period::Month => day.first_of_month(),
        }
    }

    /// The first day of the period after the one that `day` is in.
    pub fn next(self, day: Date) -> Date {
        match self {
            Period::Day => day.saturating_add(1.day()),
            Period::Month => day.last_of_month().saturating_add(1.day()),
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Period::Day => "day",
            Period::Month => "month",
        }
    }
}

/// What a client may use in a period, and what happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Bytes, both directions together, with all headers.
    pub bytes: u64,
    /// In which time.
    pub per: Period,
    /// To how many bits a second it is slowed then, in each direction; `None`: it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then_bps: Option<u64>,
}

/// Bytes of one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Spent {
    /// Its first day.
    since: Date,
    bytes: u64,
}

impl Spent {
    fn is_from_a_wrong_clock(self, start: Date) -> bool {
        self.since > start.saturating_add(TOO_FAR.days())
    }

    /// `bytes` more, in the period that begins on `start`.
    fn add(&mut self, bytes: u64, start: Date) {
        if start < FIRST && self.since >= FIRST {
            // The period on record goes on.
        } else if start > self.since {
            *self = Spent { since: start, bytes: 0 };
        } else if self.is_from_a_wrong_clock(start) {
            self.since = start;
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// What counts in the period that begins on `start`.
    fn of(self, start: Date) -> u64 {
        let goes_on = start < FIRST || !self.is_from_a_wrong_clock(start);
        if self.since >= start && goes_on { self.bytes } else { 0 }
    }
}

/// What a client has used at one gateway: since ever, and in the periods that quotas are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metered {
    /// Since ever.
    #[serde(flatten)]
    pub total: Usage,
    #[serde(default)]
    day: Spent,
    #[serde(default)]
    month: Spent,
}

impl Metered {
    /// `more` was used on the day `today`.
    pub fn add(&mut self, more: Usage, today: Date) {
        self.total.add(more);
        self.day.add(more.total(), Period::Day.start(today));
        self.month.add(more.total(), Period::Month.start(today));
    }

    /// It counts in no period that any gateway's clock may still be in.
    pub(crate) fn is_long_over(&self, today: Date) -> bool {
        today >= FIRST && self.month.since.saturating_add(TOO_FAR.days()) < today
    }

    /// Bytes that count in the period that `today` is in.
    pub fn spent(&self, per: Period, today: Date) -> u64 {
        match per {
            Period::Day => self.day,
            Period::Month => self.month,
        }
        .of(per.start(today))
    }
}

/// How a client with a quota stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub client: String,
    /// Its addresses inside.
    pub inside: Vec<IpAddr>,
    /// What it may use.
    pub quota: Quota,
    /// Bytes used in the period.
    pub used: u64,
    /// The period's first day.
    pub since: Date,
}

impl Account {
    /// Its quota is used up.
    pub fn is_over(&self) -> bool {
        self.used >= self.quota.bytes
    }

    /// The day on which it may use as much again.
    pub fn until(&self) -> Date {
        self.quota.per.next(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn used(bytes: u64) -> Usage {
        Usage { from_client: bytes / 3, to_client: bytes - bytes / 3 }
    }

    #[test]
    fn periods_are_those_of_the_calendar() {
        let day = date(2026, 12, 31);
        assert_eq!((Period::Day.start(day), Period::Day.next(day)), (day, date(2027, 1, 1)));
        assert_eq!(Period::Month.start(day), date(2026, 12, 1));
        assert_eq!(Period::Month.next(day), date(2027, 1, 1));
        assert_eq!(Period::Month.next(date(2028, 2, 3)), date(2028, 3, 1));
    }

    #[test]
    fn what_was_used_two_months_ago_is_long_over() {
        let mut metered = Metered::default();
        metered.add(used(5), date(2026, 9, 30));
        assert!(!metered.is_long_over(date(2026, 10, 1)) && !metered.is_long_over(date(2026, 11, 1)));
        assert!(metered.is_long_over(date(2026, 11, 10)) && !metered.is_long_over(date(1970, 1, 1)));
        metered.add(used(5), date(2026, 11, 10));
        assert!(!metered.is_long_over(date(2026, 11, 10)));
    }

    #[test]
    fn a_new_period_begins_at_nothing_and_the_total_goes_on() {
        let mut metered = Metered::default();
        for (day, bytes) in [(29, 10), (30, 20), (30, 30)] {
            metered.add(used(bytes), date(2026, 11, day));
        }
        let of = |m: &Metered, day| (m.spent(Period::Day, day), m.spent(Period::Month, day));
        assert_eq!(of(&metered, date(2026, 11, 30)), (50, 60));
        assert_eq!(of(&metered, date(2026, 12, 1)), (0, 0), "though nothing was used since");
        metered.add(used(5), date(2026, 12, 1));
        assert_eq!(of(&metered, date(2026, 12, 1)), (5, 5));
        assert_eq!(metered.total.total(), 65);
    }

    #[test]
    fn clocks_that_jump_give_nothing_twice_and_lock_nobody_out() {
        let (mut metered, today) = (Metered::default(), date(2026, 11, 25));
        metered.add(used(100), today);
        // Set back by a month: it goes on with the period that it has.
        metered.add(used(10), date(2026, 10, 25));
        assert_eq!(metered.spent(Period::Month, today), 110);
        assert_eq!(metered.spent(Period::Month, date(2026, 10, 25)), 110, "a gateway that is behind");
        // A wrong year: nothing of it counts now, until it is moved back with what was used in it.
        metered.add(used(7), date(2031, 1, 1));
        assert_eq!(metered.spent(Period::Month, today), 0);
        metered.add(used(1), today);
        assert_eq!((metered.spent(Period::Month, today), metered.spent(Period::Day, today)), (8, 8));
        // A machine without a clock starts in 1970, until it hears the time.
        metered.add(used(2), date(1970, 1, 1));
        for day in [date(1970, 1, 1), today] {
            assert_eq!(metered.spent(Period::Month, day), 10, "{day}");
        }
        let mut early = Metered::default();
        early.add(used(3), date(1970, 1, 1));
        early.add(used(4), today);
        assert_eq!(early.spent(Period::Day, today), 4);
    }

    #[test]
    fn records_of_before_are_read() {
        let old: Metered = serde_json::from_str(r#"{"from_client":1,"to_client":2}"#).unwrap();
        assert_eq!((old.total.total(), old.spent(Period::Month, date(2026, 11, 25))), (3, 0));
        let mut new = old;
        new.add(used(9), date(2026, 11, 25));
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<Metered>(&text).unwrap(), new, "{text}");
        assert!(serde_json::from_str::<Usage>(&text).is_ok(), "gateways of before read it: {text}");
        let quota = Quota { bytes: 5, per: Period::Month, then_bps: None };
        assert_eq!(serde_json::to_string(&quota).unwrap(), r#"{"bytes":5,"per":"month"}"#);
    }

    #[test]
    fn a_quota_is_used_up_at_its_last_byte() {
        let quota = Quota { bytes: 100, per: Period::Month, then_bps: None };
        let account = |used| Account {
            client: "alice".into(),
            inside: Vec::new(),
            quota,
            used,
            since: date(2026, 12, 1),
        };
        assert!(!account(99).is_over() && account(100).is_over());
        assert_eq!(account(0).until(), date(2027, 1, 1));
    }
}
